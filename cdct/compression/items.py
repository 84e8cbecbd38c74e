"""The concepts of CDCT, each with its texts at the levels of compression, and the items made of them.

A concept is one TOML file in `data/concepts/`; a new file is a new concept. The level c runs from 0 (about two words
left) to 1 (the whole text); it is an ordinal label, not a share of the words (paper, section 3.3).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from cdct.core import Item, resolve, unknown
from cdct.text import word_form, words

CONCEPT_FOLDER = "data/concepts"
DOMAINS = ("formal", "natural", "applied")
LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
LIMIT = 35
MODES = ("exactly", "at most")
TOLERANCE = 0.1
"""A text may miss its target by a tenth; one of two words or fewer must have exactly as many."""
WRITTEN = "written"
"""The compressor of the committed texts: people."""
PLACE = "{limit_words}"
"""Where a text of the arm `inside` holds its limit."""
_PLACES = re.compile(r"\{\w+\}")
_TERM = re.compile(r"[^\s*]+\*?")


@dataclass(frozen=True)
class KeyPoint:
    """A fact that a good explanation states, covered when all terms of any alternative occur (see `coverage`)."""

    id: str
    text: str
    any: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Concept:
    """A concept: its reference definition, its key points, and its text at each level: c -> (target words, text).

    `inside` holds whole prompts of the same lengths with the limit among their words, at `PLACE`; it may be empty.
    """

    slug: str
    name: str
    domain: str
    field: str
    definition: str
    key_points: tuple[KeyPoint, ...]
    levels: Mapping[float, tuple[int, str]]
    inside: Mapping[float, tuple[int, str]] = field(default_factory=dict)


def limit_words(limit: int, mode: str) -> str:
    """The limit in words, as every arm tells it: "exactly 35 words"."""
    return f"{mode} {limit} words"


def within_tolerance(n_words: int, target: int) -> bool:
    """Whether a text of so many words may stand at a level of so many."""
    return n_words == target if target <= 2 else abs(n_words - target) <= TOLERANCE * target


def _table(where: str, data: Any, fields: Mapping[str, type | tuple[type, ...]]) -> None:
    """Raise ValueError unless `data` is a table with exactly these fields, each of its type and none empty."""
    if not isinstance(data, dict):
        raise ValueError(f"{where}: must be a table with the fields {', '.join(fields)}, got {data!r}")
    for key in data:
        if key not in fields:
            raise ValueError(f"{where}: {unknown('field', key, fields)}")
    for key, kind in fields.items():
        if key not in data or data[key] in ("", []):
            raise ValueError(f"{where}: {key} is missing or empty")
        if not isinstance(data[key], kind) or isinstance(data[key], bool):
            raise ValueError(f"{where}: {key} has a value of the wrong type: {data[key]!r}")


def read_concept(path: Path) -> Concept:
    """The concept in a TOML file. Raises ValueError that names file, field and value when anything is wrong."""
    where = f"{path.parent.name}/{path.name}"
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{where}: not valid TOML: {error}") from None
    texts: dict[str, type | tuple[type, ...]] = dict.fromkeys(("name", "domain", "field", "definition"), str)
    inside = {"inside": list} if "inside" in data else {}
    _table(where, data, texts | {"key_points": list, "levels": list} | inside)
    if data["domain"] not in DOMAINS:
        raise ValueError(f"{where}: domain must be one of {', '.join(DOMAINS)}, got {data['domain']!r}")
    points: dict[str, KeyPoint] = {}
    for number, point in enumerate(data["key_points"], start=1):
        _table(f"{where}: key point {number}", point, {"id": str, "text": str, "any": list})
        here = f"{where}: key point {point['id']!r}"
        if point["id"] in points:
            raise ValueError(f"{here} stands twice")
        for alternative in point["any"]:
            if not isinstance(alternative, list) or not alternative:
                raise ValueError(f"{here}: `any` must hold lists of terms, none empty, got {alternative!r}")
            for term in alternative:
                if not isinstance(term, str) or not _TERM.fullmatch(term) or word_form(term) != term.removesuffix("*"):
                    raise ValueError(
                        f"{here}: a term is one lower-case word, with * at its end for a prefix, got {term!r}"
                    )
        points[point["id"]] = KeyPoint(point["id"], point["text"], tuple(map(tuple, point["any"])))
    levels = _levels(where, "level", data["levels"])
    prompts = _levels(f"{where}: inside", "level", data.get("inside", []))
    for c, (_, text) in prompts.items():
        for place in _PLACES.findall(text):
            if place != PLACE:
                raise ValueError(f"{where}: inside: the text at c = {c:g}: {unknown('place', place, [PLACE])}")
    if held := [f"{c:g}" for c, (_, text) in levels.items() if PLACE in text]:
        raise ValueError(f"{where}: {PLACE} stands in the text at c = {', '.join(held)}; its place is in [[inside]]")
    targets, lengths = ({c: target for c, (target, _) in texts.items()} for texts in (prompts, levels))
    if prompts and targets != lengths:
        found = ", ".join(f"{c:g} ({target})" for c, target in targets.items())
        raise ValueError(f"{where}: inside must have the levels c, and words, of `levels`, got {found}")
    return Concept(
        path.stem,
        data["name"],
        data["domain"],
        data["field"],
        data["definition"],
        tuple(points.values()),
        levels,
        prompts,
    )


def _levels(where: str, what: str, tables: Sequence[Any]) -> dict[float, tuple[int, str]]:
    """c -> (target words, text), rising; every text within tolerance of its target, a limit in it being counted."""
    levels: dict[float, tuple[int, str]] = {}
    for number, level in enumerate(tables, start=1):
        _table(f"{where}: {what} {number}", level, {"c": (int, float), "words": int, "text": str})
        c, target, text = float(level["c"]), level["words"], level["text"].strip()
        if not 0 <= c <= 1 or round(100 * c) in {round(100 * other) for other in levels}:
            raise ValueError(f"{where}: level c must lie in 0..1 and differ from others by 0.01 or more, got {c:g}")
        count = len(words(text.replace(PLACE, limit_words(LIMIT, MODES[0]))))
        if not within_tolerance(count, target):
            raise ValueError(f"{where}: the text at c = {c:g} has {count} words, target {target}")
        levels[c] = (target, text)
    return dict(sorted(levels.items()))


@cache
def _read_all(folder: Path, state: tuple[tuple[str, int, int], ...]) -> dict[str, Concept]:
    return {concept.slug: concept for concept in (read_concept(folder / name) for name, _, _ in state)}


def concepts(folder: str | Path = CONCEPT_FOLDER) -> Mapping[str, Concept]:
    """All concepts by slug (their file's name), in alphabetic order."""
    path = resolve(folder)
    files = sorted(path.glob("*.toml"))
    if not files:
        raise FileNotFoundError(f"no concepts (*.toml) in {folder}")
    state = tuple((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files)
    return dict(_read_all(path, state))  # a copy: what a caller does to it is not remembered


_concepts = concepts  # `generate` has a parameter of the same name


def generate(
    seed: int = 0,
    concepts: Sequence[str] | None = None,
    levels: Sequence[float] | None = None,
    limit: int = LIMIT,
    mode: str = "exactly",
    compressor: str = WRITTEN,
    texts: Mapping[tuple[str, float], str | None] | None = None,
) -> list[Item]:
    """One item per concept and level, concepts in the order given and levels rising; what is named twice comes once.

    Args:
        seed: not used, since nothing is drawn; all benchmarks take it.
        concepts: slugs; None takes all.
        levels: values of c; None takes all that a concept has.
        limit: the number of words to be kept.
        mode: "exactly" or "at most" that many.
        compressor: who made the texts below c = 1: "written" (the committed ones), "lead" or "drop" (see
            `compressors`), or a model's name, whose texts are then given.
        texts: (concept, c) -> text, as `compressors.accepted_texts` gives them. None, or no entry, where no text was
            accepted: that item has the context None, is never asked, and stays in the scored rows as unscored.
    """
    from cdct.compression.compressors import COMPRESSORS

    known = _concepts()
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ValueError(f"limit must be a whole number of at least 1 word, got {limit!r}")
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(map(repr, MODES))}, got {mode!r}")
    if texts is None and compressor not in (WRITTEN, *COMPRESSORS):
        message = unknown("compressor", compressor, [WRITTEN, *COMPRESSORS])
        raise ValueError(f"{message}; a model's texts have to be given as `texts`")
    if texts is not None and compressor in (WRITTEN, *COMPRESSORS):
        raise ValueError(
            f"the texts of the compressor {compressor!r} are made here; name the model whose texts they are"
        )
    variant = "" if (limit, mode) == (LIMIT, "exactly") else f"-{'max' if mode == 'at most' else ''}{limit}"
    variant += "" if compressor == WRITTEN else f"-{compressor}"
    items = []
    for slug in known if concepts is None else dict.fromkeys(concepts):
        if slug not in known:
            raise ValueError(unknown("concept", slug, known))
        concept: Concept = known[slug]
        for c in concept.levels if levels is None else sorted(set(levels)):
            if c not in concept.levels:
                named = ", ".join(map(str, concept.levels))
                raise ValueError(f"concept {slug}: level {c!r} is not known; known: {named}")
            c = float(c)
            target, context = concept.levels[c]
            if c != max(concept.levels) and compressor != WRITTEN:
                whole = concept.levels[max(concept.levels)][1]
                context = COMPRESSORS[compressor](whole, target) if texts is None else texts.get((slug, c))
            params = {"concept": slug, "c": c, "level_words": target, "limit": limit, "mode": mode}
            inside = concept.inside.get(c, (0, None))[1] if compressor == WRITTEN else None
            items.append(
                Item(
                    benchmark="cdct",
                    id=f"cdct-v1/{slug}/c{round(c * 100):03d}{variant}",
                    params=params | {"compressor": compressor},
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
                        "inside": inside and inside.replace(PLACE, limit_words(limit, mode)),
                        "limit_inside": bool(inside and PLACE in inside),
                    },
                )
            )
    return items
