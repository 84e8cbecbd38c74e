"""What a set of constraints asks of a text, by the parts of the text: the builder's own reading of their parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.constraints.puzzles import COLOUR, PET, solutions

Chosen = Sequence[tuple[str, Mapping[str, Any]]]
MANY = 200
"""More words than any sentence gets."""


@dataclass(frozen=True)
class Needs:
    """What the whole text must have; None or an empty value where nothing is asked.

    `sentences` is the fewest and the most of them. `objects` are the JSON objects that must stand somewhere, by id.
    """

    ids: frozenset[str]
    words: int | None = None
    divisor: int = 1
    characters: int | None = None
    lines: int | None = None
    sentences: tuple[int, int] = (0, MANY)
    paragraphs: tuple[int, int] | None = None
    forbidden: str = ""
    banned: str = ""
    mandatory: tuple[str, ...] = ()
    initial: str = ""
    firsts: str = ""
    lasts: str = ""
    ratio: tuple[float, float] | None = None
    lengths: tuple[int, int] = (1, MANY**2)
    sentence_words: int = 1
    clusters: int = 0
    objects: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    race: tuple[str, ...] = ()
    table: tuple[int, int] | None = None
    bullets: int = 0
    fences: int = 0
    sum: tuple[int, int] | None = None
    different: int | None = None
    equations: int = 0
    direction: str = ""
    alternating: tuple[int, int] | None = None
    growth: int = 0

    @property
    def unique(self) -> bool:
        return "W1" in self.ids

    @property
    def claim(self) -> bool:
        return "M2" in self.ids

    @property
    def bridge(self) -> bool:
        return "R4" in self.ids

    @property
    def sorted(self) -> bool:
        return "O2" in self.ids


def read_needs(chosen: Chosen) -> Needs:
    """What these constraints ask for. KeyError for an unknown id, ValueError for a bad parameter or a type twice."""
    read: dict[str, dict[str, Any]] = {}
    for id, params in chosen:
        if id in read:
            raise ValueError(f"witness: {id} is there twice, at most one of each type can be witnessed")
        read[id] = CONSTRAINTS[id].read(params)

    def given(id: str, *names: str) -> Any:
        """The parameter of a type, the tuple of several, or None where the type is not chosen."""
        values = tuple(read[id][name] for name in names) if id in read else None
        return values[0] if values and len(names) == 1 else values

    return Needs(
        ids=frozenset(read),
        words=given("S1", "n"),
        divisor=given("M3", "n") or 1,
        characters=given("S4", "n"),
        lines=given("S5", "n"),
        sentences=_sentences(read),
        paragraphs=given("S3", "paragraphs", "min_sentences"),
        forbidden=given("L1", "letter") or "",
        banned=given("L5", "word") or "",
        mandatory=tuple(given("L2", "words") or ()),
        initial=given("L3", "letter") or "",
        firsts=given("L4", "word") or "",
        lasts=given("M1", "word") or "",
        ratio=given("L6", "low", "high"),
        lengths=given("W2", "low", "high") or (1, MANY**2),
        sentence_words=given("W3", "n") or 1,
        clusters=given("W5", "n") or 0,
        objects=_objects(read),
        race=given("R2", "order") or (),
        table=given("F1", "columns", "rows"),
        bullets=given("F2", "n") or 0,
        fences=given("F3", "n") or 0,
        sum=given("N1", "count", "total"),
        different=given("N3", "n"),
        equations=given("N4", "n") or 0,
        direction=given("O1", "direction") or "",
        alternating=given("O3", "short", "long"),
        growth=given("O4", "n") or 0,
    )


_FEWEST = {"L3": 1, "W3": 1, "W4": 1, "W5": 1, "R4": 2, "F4": 2, "O1": 3, "O2": 3, "O3": 3}


def _sentences(read: Mapping[str, dict[str, Any]]) -> tuple[int, int]:
    fewest = max([count for id, count in _FEWEST.items() if id in read], default=0)
    if "O4" in read:
        fewest = max(fewest, read["O4"]["n"])
    if "S3" in read:
        fewest = max(fewest, read["S3"]["paragraphs"] * read["S3"]["min_sentences"])
    exact = [read[id]["n"] for id in ("S2", "S6") if id in read]
    exact += [len(read[id]["word"]) for id in ("L4", "M1") if id in read]
    return max([fewest, *exact]), min(exact, default=MANY)


def _objects(read: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The JSON objects that answer R1 and R3."""
    found: dict[str, dict[str, Any]] = {}
    if "R1" in read:
        found["R1"] = {
            "objects": {name: dict(own) for name, own in read["R1"]["objects"].items()},
            "relations": [list(relation) for relation in read["R1"]["relations"]],
        }
    if "R3" in read:
        ((*groups,),) = solutions(**read["R3"])
        found["R3"] = {person: {PET: pet, COLOUR: colour} for person, pet, colour in groups}
    return found
