"""Frozen sets of items: one JSON object a line, compressed, with a manifest that says whether the file is whole."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cdct.core import Item, items_hash, resolve, to_json, write_text


def write_frozen(path: str | Path, items: Sequence[Item], manifest: Mapping[str, Any] | None = None) -> None:
    """Write the items to `path` (.jsonl.gz) and their manifest beside it; the same items give the same files.

    The manifest holds the number of items, the SHA-256 of the lines before they are compressed (another zlib gives
    other bytes), `items_hash` of the set, and what `manifest` adds.
    """
    lines = "".join(to_json(item.to_dict()) + "\n" for item in items).encode()
    file = resolve(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(lines, 9, mtime=0))
    told = {"items": len(items), "lines_sha256": hashlib.sha256(lines).hexdigest(), "items_hash": items_hash(items)}
    write_text(manifest_of(file), json.dumps(told | dict(manifest or {}), indent=2) + "\n")


def manifest_of(path: str | Path) -> Path:
    """The manifest of a frozen set."""
    file = resolve(path)
    return file.with_name(file.name.removesuffix(".jsonl.gz") + ".manifest.json")


def read_frozen(path: str | Path) -> list[Item]:
    """The items of a frozen set, whatever numpy is installed. ValueError where the file is not that of its manifest."""
    manifest = json.loads(manifest_of(path).read_text(encoding="utf-8"))
    lines = gzip.decompress(resolve(path).read_bytes())
    if (digest := hashlib.sha256(lines).hexdigest()) != manifest["lines_sha256"]:
        raise ValueError(
            f"{path}: its lines have the SHA-256 {digest}, the manifest says {manifest['lines_sha256']}; "
            "restore both files, or make the set again"
        )
    return [Item(**json.loads(line)) for line in lines.splitlines()]
