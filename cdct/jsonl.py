"""Files of rows, one JSON object a line, that may have been cut off in the middle of a line."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cdct.core import resolve, to_json


def read_jsonl(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The rows of a JSONL file. A line that is not whole (a writer was killed) is passed over, with one warning."""
    torn = 0
    with resolve(path).open("rb") as file:
        for line in file:
            try:
                row = json.loads(line)
            except ValueError:  # cut in the object, or within a character
                row = None
            if isinstance(row, dict):
                yield row
            elif line.strip():
                torn += 1
    if torn:
        warnings.warn(f"{path}: {torn} line(s) are not whole and were passed over", stacklevel=2)


def append_jsonl(path: str | os.PathLike[str], rows: Iterable[Mapping[str, Any]]) -> int:
    """Append rows, one JSON object a line; how many. A torn last line is ended first, so that no row is glued to it."""
    file = resolve(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab+") as output:
        if output.tell():
            output.seek(-1, os.SEEK_END)
            if output.read(1) != b"\n":
                output.write(b"\n")
        number = 0
        for row in rows:
            output.write(to_json(row).encode("utf-8", "backslashreplace") + b"\n")
            number += 1
    return number
