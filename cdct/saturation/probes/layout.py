"""Layouts: which form each part of a text has, the plainest first, as far as words, lines and characters allow."""

from __future__ import annotations

from itertools import product
from operator import add
from typing import NamedTuple

from cdct.saturation.probes.blocks import (
    BULLET,
    FENCE,
    PROSE,
    Part,
    claim_parts,
    json_parts,
    number_parts,
    race_parts,
)
from cdct.saturation.probes.lengths import sentence_lengths
from cdct.saturation.probes.lexicon import pool
from cdct.saturation.probes.needs import MANY, Needs

MORE = 5
"""How many sentences more than the fewest are tried."""


class Layout(NamedTuple):
    """The forms of all parts, and whether blank lines and spaces between them are spared."""

    json: Part
    race: Part
    figures: Part
    claim: Part
    tight: bool = False
    terse: bool = False
    """Whether sentences may have a single word."""
    least: int = 0
    """The fewest characters, about."""

    @property
    def parts(self) -> tuple[Part, ...]:
        return self[:4]

    @property
    def cost(self) -> int:
        return sum(part.cost for part in self.parts) + self.tight + 3 * self.terse

    @property
    def odd(self) -> list[str]:
        return [part.label for part in self.parts if part.label]


def layouts(needs: Needs) -> list[Layout]:
    """All layouts that may have room, those without anything odd first, then by their cost."""
    races, claims, tight = race_parts(needs), claim_parts(needs), (False, True) if needs.characters else (False,)
    figures: dict[int, list[tuple[Part, _Share]]] = {}
    proses = [prose for terse in (False, True) if (prose := _least_prose(needs, terse)) is not None]
    if len(proses) > 1 and (proses[0].words <= proses[1].words or not (needs.words or needs.characters)):
        proses.pop()
    found: list[Layout] = []
    for json, race in product(json_parts(needs), races):
        loose = _numbers_left(needs, len(json.numbers) + len(race.numbers))
        if loose < 0:
            continue
        if loose not in figures:
            figures[loose] = [(part, _figures_share(needs, part, loose)) for part in number_parts(needs)]
        fixed = _share(json).plus(_share(race))
        for (part, share), claim in product(figures[loose], claims):
            whole = fixed.plus(share).plus(_claim_share(needs, claim))
            for prose in proses:
                least = _fewest_characters(needs, whole, prose)
                if least is not None:
                    found += [Layout(json, race, part, claim, dense, prose.terse, least) for dense in tight]
    found.sort(key=lambda layout: (bool(layout.odd), layout.cost))
    return found


def limits(needs: Needs, count: int, terse: bool) -> tuple[list[int], list[int]]:
    """The fewest and the most words of each of `count` sentences; with `terse`, one is enough where nothing forbids."""
    least = [max(needs.sentence_words, needs.clusters, 1 if terse else 2)] * count
    for i in range(count):
        firsts = {needs.initial, needs.firsts[i : i + 1]} - {""}
        if (needs.bridge and i) or (needs.lasts[i : i + 1] and firsts - {needs.lasts[i : i + 1]}):
            least[i] = max(least[i], 2)
    most = [MANY] * count
    if needs.alternating:
        short, long = needs.alternating
        least = [max(length, long) if i % 2 else length for i, length in enumerate(least)]
        most = [MANY if i % 2 else short for i in range(count)]
    return least, most


def order(needs: Needs) -> tuple[str, bool, int]:
    """What `sentence_lengths` has to know of the order of lengths."""
    return needs.direction, "S6" in needs.ids, needs.growth


# -------------------------------------------------------------------------------------------------------- room for them


class _Share(NamedTuple):
    """What parts take up at least: words in sentences and outside, characters with those between pieces, pieces in
    bullet items, lines in code blocks, other lines."""

    inside: int = 0
    outside: int = 0
    characters: int = 0
    items: int = 0
    code: int = 0
    lines: int = 0

    def plus(self, other: _Share) -> _Share:
        return _Share(*map(add, self, other))


def _share(part: Part, words: int | None = None, characters: int = 0, pieces: int = 0, code: int = 0) -> _Share:
    """The share of a part, whose numbers are given where its pieces do not have them yet."""
    if words is None:
        words, characters, pieces, code = part.words, part.characters, len(part.pieces), len(part.pieces)
    place = part.place
    return _Share(
        words if place == PROSE else 0,
        0 if place == PROSE else words,
        characters,
        pieces if place == BULLET else 0,
        code if place == FENCE else 0,
        part.lines,
    )


def _figures_share(needs: Needs, part: Part, loose: int) -> _Share:
    sums = needs.equations
    if not sums + loose:
        return _Share()
    compact = sums > 0 and " " not in part.pieces[0]
    words, characters = sums * (1 if compact else 3) + loose, sums * (6 if compact else 10) + 2 * loose
    return _share(part, words, characters, sums + loose, 1)


def _claim_share(needs: Needs, part: Part) -> _Share:
    return _share(part, 6, 36, 1, 1) if needs.claim else _Share()


def _numbers_left(needs: Needs, listed: int) -> int:
    """How many numbers stand alone, at least; below 0 where there are too many others."""
    others = listed + needs.claim + 3 * needs.equations
    return needs.sum[0] - others if needs.sum else max(0, (needs.different or 0) - others)


class _Prose(NamedTuple):
    """The fewest sentences and the fewest words that they can have, some of them with a single one if `terse`."""

    count: int
    words: int
    terse: bool


def _least_prose(needs: Needs, terse: bool) -> _Prose | None:
    fewest, most = needs.sentences
    for count in range(fewest, min(most, fewest + MORE) + 1):
        lengths = sentence_lengths(*map(tuple, limits(needs, count, terse)), None, *order(needs)) if count else ()
        if lengths is not None:
            return _Prose(count, sum(lengths), terse)
    return None


def _fewest_characters(needs: Needs, share: _Share, least: _Prose) -> int | None:
    """A lower limit of the characters; None where it, or that of words or lines, is above what is wanted."""
    prose = max(least.words, share.inside + 2 if share.inside else 0)
    bullets = max(0, needs.bullets - share.items)
    if needs.words is not None and share.outside + bullets + prose > needs.words:
        return None
    columns, rows = needs.table or (0, -2)
    if needs.lines is not None:
        lines = needs.paragraphs[0] if needs.paragraphs else min(1, prose)
        lines += needs.bullets + rows + 2 + 2 * needs.fences + max(share.code, needs.fences) + share.lines
        if lines > needs.lines:
            return None
    if needs.characters is None:
        return 0
    free = max(prose - share.inside + bullets, (needs.words or 0) - share.inside - share.outside)
    total = pool(needs.forbidden, *needs.lengths, True).least(free, not needs.unique) + free + least.count
    total += share.characters + 2 * needs.bullets + (rows + 2) * (columns + 1) + columns
    total += 8 * needs.fences + 2 * max(0, needs.fences - share.code) - 1
    return total if total <= needs.characters else None
