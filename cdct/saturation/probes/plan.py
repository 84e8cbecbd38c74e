"""The plan of a text: which parts in which forms, how many sentences of how many words, on how many lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice

from cdct.saturation.probes.assemble import Frame, Skeleton, assemble
from cdct.saturation.probes.blocks import (
    BELOW_ZERO,
    BULLET,
    CELL,
    FENCE,
    GAP,
    HEADING,
    OWN,
    PROSE,
    TAIL,
    word_count,
    written,
)
from cdct.saturation.probes.figures import Figures, figures
from cdct.saturation.probes.fill import MEAN
from cdct.saturation.probes.layout import MORE, Layout, limits, order
from cdct.saturation.probes.lengths import sentence_lengths
from cdct.saturation.probes.lexicon import pool
from cdct.saturation.probes.needs import MANY, Needs

USUAL = 7
"""Words of a sentence, where nothing else decides."""
SHORT = 3.2
"""Letters of a word where that fills the cells of a table."""
_TOTALS, _CLAIMED = 8, 40
"""Word counts that are tried for one number of sentences, and where the count is one of the numbers to be added."""


def skeletons(needs: Needs, layout: Layout) -> Iterator[Skeleton | None]:
    """Skeletons in this layout, for the likeliest numbers of sentences and words; None for what came to nothing."""
    fewest, most = needs.sentences
    counts = range(fewest, min(most, fewest + MORE) + 1)
    for count in sorted(counts, key=lambda count: abs(count - 3)):
        base = _fewest_words(needs, layout, count)
        if base is None:
            continue
        found, most = 0, _CLAIMED if needs.claim and needs.sum else _TOTALS
        for words in islice(_totals(needs, layout, count, *base), most):
            skeleton = _skeleton(needs, layout, count, words)
            yield skeleton
            found += skeleton is not None
            if found == 2:
                break
        if not found:
            yield None


def _skeleton(needs: Needs, layout: Layout, count: int, words: int) -> Skeleton | None:
    """A skeleton of `count` sentences and `words` words in this layout; None if the numbers do not work out."""
    frame = _frame(needs, layout, words)
    if frame is None:
        return None
    lengths, _ = _lengths(needs, layout.terse, frame.phrases, count, None)
    room = words - frame.words - sum(lengths or ())
    for filled in range(min(frame.spare, room), -1, -1) if lengths is not None else ():
        lengths, inside = _lengths(needs, layout.terse, frame.phrases, count, words - frame.words - filled)
        if lengths is not None:
            return assemble(needs, frame, lengths, inside, frame.spare - filled, layout.tight, layout.odd)
    rest = words - frame.words - frame.spare
    padded = _padded(frame, rest) if not count and not frame.phrases and rest > 0 else None
    return padded and assemble(needs, padded, (), (), 0, layout.tight, layout.odd)


def _padded(frame: Frame, words: int) -> Frame | None:
    """The frame with so many more words in its bullet items or cells; None where it has none."""
    name = "bullets" if frame.bullets else "cells"
    hosts = list(getattr(frame, name))
    for i in range(words if hosts else 0):
        hosts[i % len(hosts)] += f" {GAP}"
    return frame._replace(**{name: hosts}) if hosts else None


def _totals(needs: Needs, layout: Layout, count: int, fewest: int, outside: int, spare: int) -> Iterator[int]:
    """Word counts to be tried, the likeliest first; `outside` stand outside of sentences, `spare` more can."""
    step = needs.divisor
    if needs.words is not None:
        if needs.words >= fewest and needs.words % step == 0:
            yield needs.words
        return
    usual = max(fewest + spare, outside + spare + USUAL * count)
    if needs.characters is not None:
        usual = _usual(needs, layout, count, fewest, usual)
        if usual is None:
            return
    low = -(-fewest // step) * step
    middle, high = max(low, round(usual / step) * step), low + MANY
    if needs.claim and needs.sum and BELOW_ZERO not in layout.figures.label:
        high = needs.sum[1] - sum(layout.race.numbers) - sum(layout.json.numbers)  # the claim is one of the numbers
        middle = max(low, min(middle, (high - 3 * needs.sum[0]) // step * step))
    for distance in range(0, MANY, step):
        for words in dict.fromkeys((middle + distance, middle - distance)):
            if low <= words <= high:
                yield words


def _usual(needs: Needs, layout: Layout, count: int, fewest: int, usual: int) -> int | None:
    """How many words the characters are right for; None where even the fewest words are too many."""
    for words in (*range(fewest, fewest + 3), usual):
        skeleton = _skeleton(needs, layout, count, words)
        if skeleton is not None:
            break
    else:
        return fewest
    gaps = len(skeleton.gaps)
    letters = needs.characters - skeleton.letters
    if pool(needs.forbidden, *needs.lengths, True).least(gaps, not needs.unique) > letters:
        return None
    more = math.floor((letters - MEAN * gaps) / (MEAN + 1))
    if more < skeleton.empty:
        more = max(0, min(skeleton.empty, math.floor((letters - SHORT * gaps) / (SHORT + 1))))
    return words + more


# ------------------------------------------------------------------------------------------------------------ the parts


def _frame(needs: Needs, layout: Layout, words: int) -> Frame | None:
    """Where every part stands in a text of so many words; None if there are no such numbers."""
    found = _numbers(needs, layout, words)
    if found is None:
        return None
    by_place: dict[str, list[str]] = {place: [] for place in (OWN, FENCE, BULLET, CELL, HEADING, PROSE, TAIL)}
    if layout.json.place:
        by_place[layout.json.place] += layout.json.pieces
    if layout.claim.place:
        by_place[layout.claim.place].append(layout.claim.pieces[0].format(words))
    if layout.race.place:
        by_place[layout.race.place] += layout.race.pieces
    pieces: list[str] = []
    if layout.figures.place:
        fixed = " ".join(piece for own in by_place.values() for piece in own)
        pieces = written(needs, found, layout.figures.pieces[0], fixed)
        by_place[layout.figures.place] = pieces + by_place[layout.figures.place]
    cells = needs.table[0] * (needs.table[1] + 1) if needs.table else 0
    return Frame(
        by_place[OWN],
        [" ".join(by_place[HEADING])] if by_place[HEADING] else [],
        [own or [GAP] for own in _shared(by_place[FENCE], needs.fences, pieces)],
        [" ".join(own) or GAP for own in _shared(by_place[BULLET], needs.bullets, [])],
        [" ".join(own) or GAP for own in _shared(by_place[CELL], cells, [])],
        by_place[PROSE],
        by_place[TAIL],
    )


def _shared(pieces: Sequence[str], hosts: int, joined: Sequence[str]) -> list[list[str]]:
    """The pieces shared out among hosts in their order; those of `joined` stand together."""
    own = [piece for piece in pieces if piece in joined]
    pieces = [piece for piece in pieces if piece not in joined]
    pieces = [", ".join(own), *pieces] if own else pieces
    shares = [[piece] for piece in pieces[: max(0, hosts - 1)]] + ([list(pieces[hosts - 1 :])] if hosts else [])
    return shares + [[] for _ in range(hosts - len(shares))]


def _numbers(needs: Needs, layout: Layout, words: int) -> Figures | None:
    fixed = layout.json.numbers + layout.race.numbers + ((words,) if needs.claim else ())
    spaced = needs.equations > 0 and " " in layout.figures.pieces[0]
    return figures(
        fixed,
        needs.equations,
        needs.sum,
        needs.different,
        apart=needs.unique and spaced,
        least=10 if needs.lengths[0] > 1 and spaced else 1,
        below_zero=BELOW_ZERO in layout.figures.label,
    )


def _fewest_words(needs: Needs, layout: Layout, count: int) -> tuple[int, int, int] | None:
    """The fewest words of a text of `count` sentences in this layout, those of them outside of sentences, and how many
    more the cells and code blocks can hold; None if there is no such text."""
    for guess in (needs.words,) if needs.words else (60, 40, 25, 15, 12, 10, 8, 80):
        frame = _frame(needs, layout, guess)
        if frame is not None:
            lengths, _ = _lengths(needs, layout.terse, frame.phrases, count, None)
            return None if lengths is None else (frame.words + sum(lengths), frame.words, frame.spare)
    return None


def _lengths(
    needs: Needs, terse: bool, phrases: Sequence[str], count: int, total: int | None
) -> tuple[tuple[int, ...] | None, list[list[str]]]:
    """The sentence lengths for this total (None: the least), and the phrases within each sentence."""
    inside: list[list[str]] = [[] for _ in range(count)]
    if not count:
        return ((), inside) if not phrases and not total else (None, inside)
    least, most = limits(needs, count, terse)
    rules = order(needs)
    loads = [0] * count
    for phrase in sorted(phrases, key=word_count, reverse=True):
        now = sentence_lengths(tuple(least), tuple(most), None, *rules)
        if now is None:
            return None, inside
        room = [now[i] - loads[i] if most[i] >= loads[i] + 2 + word_count(phrase) else -1 for i in range(count)]
        place = max(range(count), key=room.__getitem__)
        if room[place] < 0:
            return None, inside
        inside[place].append(phrase)
        loads[place] += word_count(phrase)
        least[place] = max(least[place], loads[place] + max(2, needs.clusters))
    waiting: dict[int, list[str]] = {}
    for phrase in phrases:
        waiting.setdefault(word_count(phrase), []).append(phrase)
    inside = [[waiting[word_count(phrase)].pop(0) for phrase in own] for own in inside]  # a list stays in order
    return sentence_lengths(tuple(least), tuple(most), total, *rules), inside
