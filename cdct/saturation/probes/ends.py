"""The first and last words of the sentences: their initials, their order, the bridges between them, their clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cdct.saturation.probes.fill import Filling, NoWord
from cdct.saturation.probes.lexicon import LETTERS, Word, has_cluster


@dataclass(eq=False)
class Group:
    """Gaps that hold the same word: the last of a sentence and the first of the next where a bridge is wanted.

    The word comes from one `segment` of those with its initial, in their order: (2, 3) is the last third.
    """

    gaps: list[int]
    initials: str = LETTERS
    cluster: bool = False
    segment: tuple[int, int] = (0, 1)


def fill_ends(filling: Filling) -> None:
    """Finds the first and last words of all sentences, and marks the gaps that need a cluster."""
    firsts, lasts = _groups(filling)
    _place_clusters(filling, firsts, lasts)
    if filling.needs.sorted:
        _sort(filling, firsts)
    for group in dict.fromkeys([*firsts, *lasts]):
        if filling.words.keys() >= set(group.gaps):
            continue
        if group.initials == LETTERS:
            word = filling.take(*filling.wish(), group.cluster, lambda text: text not in filling.used)
        else:
            letters = _initials(filling, group)
            if not letters:
                raise NoWord
            word = filling.best(_candidates(filling, letters[filling.roll(len(letters))], group))
        for gap in group.gaps:
            filling.put(gap, word, keep=True)


def _groups(filling: Filling) -> tuple[list[Group], list[Group]]:
    """The groups of the first and of the last words, with the initials that they may have."""
    needs = filling.needs
    firsts: list[Group] = []
    lasts: list[Group] = []
    for i, row in enumerate(filling.rows):
        first = lasts[-1] if needs.bridge and lasts else Group([])
        first.gaps.append(row[0])
        last = Group([row[-1]]) if len(row) > 1 else first
        for group, letters in (
            (first, needs.initial),
            (first, needs.firsts[i : i + 1]),
            (last, needs.lasts[i : i + 1]),
        ):
            if letters:
                group.initials = letters if letters in group.initials else ""
        firsts.append(first)
        lasts.append(last)
    return firsts, lasts


def _place_clusters(filling: Filling, firsts: Sequence[Group], lasts: Sequence[Group]) -> None:
    """Marks enough gaps of each sentence, those inside before those at its ends."""
    for row, first, last in zip(filling.rows, firsts, lasts, strict=True):
        inner = [gap for gap in row[1:-1] if isinstance(gap, int) and gap not in filling.words]
        there = [has_cluster(filling.words[word].text if word in filling.words else str(word)) for word in row]
        wanted = filling.needs.clusters - sum(there) - first.cluster - (last.cluster and last is not first)
        for _ in range(min(wanted, len(inner))):
            filling.clusters.add(inner.pop(filling.roll(len(inner))))
            wanted -= 1
        for group in (last, first):
            if wanted > 0 and not group.cluster and group.gaps[0] not in filling.words:
                group.cluster = True
                wanted -= 1


def _sort(filling: Filling, firsts: Sequence[Group]) -> None:
    """Gives the groups initials in alphabetical order, and those with the same one their places in it."""
    limit, limits = "z", []
    for group in reversed(firsts):
        limit = max((letter for letter in _initials(filling, group) if letter <= limit), default="")
        limits.append(limit)
    low = "a"
    for group, high in zip(firsts, reversed(limits), strict=True):
        letters = [letter for letter in _initials(filling, group) if low <= letter <= high]
        if not letters:
            raise NoWord
        group.initials = low = letters[filling.roll((len(letters) + 1) // 2)]
    for letter in dict.fromkeys(group.initials for group in firsts):
        same = [group for group in firsts if group.initials == letter]
        for place, group in enumerate(same):
            group.segment = (place, len(same))


def _initials(filling: Filling, group: Group) -> list[str]:
    """The letters with which the word of a group can begin."""
    return [letter for letter in group.initials if _candidates(filling, letter, group)]


def _candidates(filling: Filling, letter: str, group: Group) -> list[Word]:
    words = filling.pool.initials.get(letter, [])
    part, parts = group.segment
    words = words[len(words) * part // parts : len(words) * (part + 1) // parts]
    return [word for word in words if word.cluster] if group.cluster else words
