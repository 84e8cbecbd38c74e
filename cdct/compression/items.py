"""The concepts of CDCT, each with its texts at the levels of compression, and the items made of them.

A concept is one TOML file in `data/concepts/`; a new file is a new concept. The level c runs from 0 (about two words
left) to 1 (the whole text); it is an ordinal label, not a share of the words (paper, section 3.3).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cdct.core import Item, resolve, unknown
from cdct.text import words

CONCEPT_FOLDER = "data/concepts"
DOMAINS = ("formal", "natural", "applied")
LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
LIMIT = 35
MODES = ("exactly", "at most")
TOLERANCE = 0.1
"""A text may miss its target by a tenth; one of two words or fewer must have exactly as many."""
_TERM = re.compile(r"[^\s*]+\*?")


@dataclass(frozen=True)
class KeyPoint:
    """A fact that a good explanation states. It is covered when all terms of any alternative occur (see `coverage`)."""

    id: str
    text: str
    any: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Concept:
    """A concept with its reference definition, its key points, and its text at each level: c -> (target words, text)."""

    slug: str
    name: str
    domain: str
    field: str
    definition: str
    key_points: tuple[KeyPoint, ...]
    levels: Mapping[float, tuple[int, str]]


def within_tolerance(n_words: int, target: int) -> bool:
    """Whether a text of so many words may stand at a level of so many."""
    return n_words == target if target <= 2 else abs(n_words - target) <= TOLERANCE * target


def read_concept(path: Path) -> Concept:
    """The concept in a TOML file. Raises ValueError that names file, field and value when anything is not as it must be."""
    where = f"{path.parent.name}/{path.name}"
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{where}: not valid TOML: {error}") from None
    wanted = ("name", "domain", "field", "definition", "key_points", "levels")
    for key in data:
        if key not in wanted:
            raise ValueError(f"{where}: {unknown('field', key, wanted)}")
    for key in wanted:
        if not data.get(key):
            raise ValueError(f"{where}: {key} is missing or empty")
    if data["domain"] not in DOMAINS:
        raise ValueError(f"{where}: domain must be one of {', '.join(DOMAINS)}, got {data['domain']!r}")
    points = []
    for point in data["key_points"]:
        alternatives = tuple(tuple(alternative) for alternative in point.get("any", ()))
        for term in (term for alternative in alternatives for term in alternative):
            if not isinstance(term, str) or not _TERM.fullmatch(term) or term != term.casefold():
                raise ValueError(
                    f"{where}: key point {point.get('id')!r}: a term is one lower-case word, with * at its end for a "
                    f"prefix, got {term!r}"
                )
        if not alternatives or not all(alternatives):
            raise ValueError(f"{where}: key point {point.get('id')!r} needs `any`: lists of terms, none empty")
        points.append(KeyPoint(point["id"], point["text"], alternatives))
    levels: dict[float, tuple[int, str]] = {}
    for level in data["levels"]:
        c, target, text = float(level["c"]), int(level["words"]), level["text"].strip()
        if not 0 <= c <= 1 or c in levels:
            raise ValueError(f"{where}: level c must lie in 0..1 and stand once, got {c}")
        if not within_tolerance(len(words(text)), target):
            raise ValueError(f"{where}: the text at c = {c} has {len(words(text))} words, target {target}")
        levels[c] = (target, text)
    return Concept(
        path.stem,
        data["name"],
        data["domain"],
        data["field"],
        data["definition"],
        tuple(points),
        dict(sorted(levels.items())),
    )


@cache
def _read_all(folder: Path, state: tuple[tuple[str, int], ...]) -> dict[str, Concept]:
    return {concept.slug: concept for concept in (read_concept(folder / name) for name, _ in state)}


def concepts(folder: str | Path = CONCEPT_FOLDER) -> Mapping[str, Concept]:
    """All concepts by slug (their file's name), in alphabetic order."""
    path = resolve(folder)
    files = sorted(path.glob("*.toml"))
    if not files:
        raise FileNotFoundError(f"no concepts (*.toml) in {folder}")
    return dict(_read_all(path, tuple((file.name, file.stat().st_mtime_ns) for file in files)))


def generate(
    seed: int = 0,
    concepts: Sequence[str] | None = None,
    levels: Sequence[float] | None = None,
    limit: int = LIMIT,
    mode: str = "exactly",
) -> list[Item]:
    """One item per concept and level, in that order.

    Args:
        seed: not used, since nothing is drawn; all benchmarks take it.
        concepts: slugs; None takes all.
        levels: values of c; None takes all that a concept has.
        limit: the number of words to be kept.
        mode: "exactly" or "at most" that many.
    """
    known = globals()["concepts"]()
    if limit < 1:
        raise ValueError(f"limit must be at least 1 word, got {limit}")
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(map(repr, MODES))}, got {mode!r}")
    variant = "" if (limit, mode) == (LIMIT, "exactly") else f"-{'max' if mode == 'at most' else ''}{limit}"
    items = []
    for slug in known if concepts is None else concepts:
        if slug not in known:
            raise ValueError(unknown("concept", slug, known))
        concept: Concept = known[slug]
        for c in concept.levels if levels is None else levels:
            if c not in concept.levels:
                raise ValueError(f"concept {slug}: {unknown('level', c, map(str, concept.levels))}")
            target, context = concept.levels[c]
            items.append(
                Item(
                    benchmark="cdct",
                    id=f"cdct-v1/{slug}/c{round(c * 100):03d}{variant}",
                    params={"concept": slug, "c": c, "level_words": target, "limit": limit, "mode": mode},
                    truth={
                        "limit": limit,
                        "mode": mode,
                        "key_points": [{"id": p.id, "text": p.text, "any": p.any} for p in concept.key_points],
                    },
                    meta={
                        "name": concept.name,
                        "domain": concept.domain,
                        "definition": concept.definition,
                        "context": context,
                    },
                )
            )
    return items
