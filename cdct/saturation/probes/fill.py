"""Words for the gaps of a skeleton, so that letters, characters, clusters and repetitions are as they should be."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from cdct.saturation.probes.assemble import Skeleton
from cdct.saturation.probes.blocks import GAP, forms
from cdct.saturation.probes.lexicon import LETTERS, VOWELS, Word, pool
from cdct.saturation.probes.needs import Needs

MEAN = 4.7
"""Letters of a word, where nothing else decides."""
_SHARE = 0.4
"""Vowels among the letters, where nothing else decides."""
_LOOKED_AT = 40
"""Candidates for the place of one word, of which the best is taken."""
_SWAPS = 100
"""Words exchanged to reach a number of characters or vowels before giving up."""


class NoWord(Exception):
    """No word is left that could stand in some gap."""


class Filling:
    """A skeleton being filled: the words found so far, and the sums that steer the next ones.

    `chance` gives numbers from 0 to 1. With `again` a word may occur more than once, with `short` scraps are words;
    `nouns` are taken before others where they fit.
    """

    def __init__(
        self,
        needs: Needs,
        skeleton: Skeleton,
        chance: Iterator[float],
        again: bool = False,
        short: bool = False,
        nouns: Sequence[str] = (),
    ) -> None:
        self.needs, self.skeleton, self.chance, self.again = needs, skeleton, chance, again
        self.pool = pool(needs.forbidden, *needs.lengths, short)
        self.rows = skeleton.sentences
        self.words: dict[int, Word] = {}
        self.kept: set[int] = set()
        self.clusters: set[int] = set()
        self.used = {needs.banned, *forms(skeleton.text)}
        self.target = None if needs.characters is None else needs.characters - skeleton.letters
        letters = [char for char in skeleton.text.lower() if char in LETTERS]
        self.vowels = sum(map(VOWELS.__contains__, letters))
        self.others = len(letters) - self.vowels
        self.length, self.left = 0, len(skeleton.gaps)
        self.share = sum(needs.ratio) / (2 + sum(needs.ratio)) if needs.ratio else _SHARE
        self.places = {gap: (row, i) for row in self.rows for i, gap in enumerate(row) if isinstance(gap, int)}
        self.pairs: set[tuple[str | None, str | None]] = set()
        low, high = needs.lengths
        self.nouns = [
            Word.of(noun)
            for noun in nouns
            if low <= len(noun) <= high and not (needs.forbidden and needs.forbidden in noun)
        ]

    @property
    def hopeless(self) -> bool:
        """Whether even the shortest words are too long for the characters left for them, or there are none to fill."""
        gaps = len(self.skeleton.gaps)
        return self.target is not None and (self.pool.least(gaps, self.again) > self.target or gaps == 0 < self.target)

    def roll(self, sides: int) -> int:
        """A whole number from 0 to below `sides`."""
        return int(next(self.chance) * sides)

    def put(self, gap: int, word: Word, keep: bool = False) -> None:
        """Sets or replaces the word in a gap, for good with `keep`."""
        old = self.words.get(gap)
        for one, sign in ((old, -1), (word, 1)):
            if one is not None:
                self.vowels += sign * one.vowels
                self.others += sign * (len(one.text) - one.vowels)
                self.length += sign * len(one.text)
                self.left -= sign
        self.words[gap] = word
        if old is not None and not self.again:
            self.used.discard(old.text)
        self.used.add(word.text)
        if keep:
            self.kept.add(gap)

    def wish(self) -> tuple[float, float]:
        """The length and the vowels of a next word that would keep all sums on their way."""
        left = max(1, self.left)
        length = MEAN if self.target is None else (self.target - self.length) / left
        if self.needs.ratio is None:
            return length, _SHARE * length
        return length, (self.share * (self.vowels + self.others + length * left) - self.vowels) / left

    def best(self, words: Sequence[Word]) -> Word:
        """The unused one among some of these words that comes nearest to the wish."""
        length, vowels = self.wish()
        start = self.roll(len(words)) if words else 0
        most = len(words) if length < 3.5 or length > 6.5 else _LOOKED_AT
        unused = [word for word in (*words[start:], *words[:start]) if word.text not in self.used][:most]
        if not unused:
            raise NoWord
        return min(unused, key=lambda word: abs(len(word.text) - length) + abs(word.vowels - vowels))

    def take(self, length: float, vowels: float, cluster: bool, allowed: Callable[[str], bool]) -> Word:
        """An allowed word about so long with about so many vowels."""
        for words in self.pool.near(max(1, round(length)), max(0, round(vowels)), cluster):
            start = self.roll(len(words))
            for i in range(len(words)):
                if allowed(words[start - i].text):
                    return words[start - i]
        raise NoWord

    # ----------------------------------------------------------------------------------------------------- repetitions

    def rule(self, gap: int) -> Callable[[str], bool]:
        """Whether a word may stand in a gap: a new one, or with `again` one that makes no pair of words twice."""
        if not self.again:
            return lambda text: text not in self.used
        before, after = self.neighbours(gap)
        return lambda text: (
            text not in (before, after, self.needs.banned)
            and (before is None or (before, text) not in self.pairs)
            and (after is None or (text, after) not in self.pairs)
        )

    def neighbours(self, gap: int) -> tuple[str | None, str | None]:
        """The words before and behind a gap in its sentence, None where there is none or not yet."""
        row, i = self.places.get(gap, ([], 0))
        around = [row[j] if 0 <= j < len(row) else None for j in (i - 1, i + 1)]
        found = [self.words[one].text if one in self.words else one for one in around]
        return tuple(one if isinstance(one, str) else None for one in found)

    def note(self, gap: int) -> None:
        """Remembers the pairs that the word in a gap makes."""
        before, after = self.neighbours(gap)
        self.pairs |= {(before, self.words[gap].text), (self.words[gap].text, after)}

    # ----------------------------------------------------------------------------------------------------------- steps

    def fill_mandatory(self) -> None:
        """Gives the mandatory words gaps within sentences, or where there is room."""
        text, gaps = self.skeleton.text.lower(), self.skeleton.gaps
        for word in map(str.lower, self.needs.mandatory):
            if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text):
                continue
            inner = [[gap for gap in row[1:-1] if isinstance(gap, int) and gap not in self.words] for row in self.rows]
            room = [gap for row in inner if len(row) > self.needs.clusters for gap in row]
            room += [i for i, gap in enumerate(gaps) if gap.sentence < 0 and i not in self.words] if not room else []
            room += [gap for row in inner for gap in row] if not room else []
            room += self._ends_for(word) if not room else []
            if not room:
                raise NoWord
            self.put(room[self.roll(len(room))], Word.of(word), keep=True)

    def _ends_for(self, word: str) -> list[int]:
        """The gaps at the ends of sentences that this word can fill."""
        needs, found = self.needs, []
        if needs.bridge:
            return found
        for i, row in enumerate(self.rows):
            last, firsts = needs.lasts[i : i + 1], {needs.initial, needs.firsts[i : i + 1]} - {""}
            found += [row[-1]] if last in ("", word[0]) else []
            found += [row[0]] if firsts <= {word[0]} and not needs.sorted else []
        return [gap for gap in found if gap not in self.words]

    def fill_rest(self) -> None:
        """Finds words with clusters for the gaps that want one, then words for all others."""
        for gap in sorted(self.clusters):
            self.put(gap, self.take(*self.wish(), True, self.rule(gap)))
        for gap in sorted(self.words) if self.again else ():
            self.note(gap)
        for gap in range(len(self.skeleton.gaps)):
            if gap in self.words:
                continue
            length, vowels = self.wish()
            spread = 0 if length < 3.2 else self.roll(5) - 2
            allowed = self.rule(gap)
            nouns = [noun for noun in self.nouns if abs(len(noun.text) - length) < 2.5 and noun.text not in self.used]
            if nouns and self.roll(3) == 0 and allowed(nouns[0].text):
                self.put(gap, nouns[0])
            else:
                self.put(gap, self.take(length + spread, vowels + _SHARE * spread, False, allowed))
            if self.again:
                self.note(gap)

    def settle(self) -> int:
        """Exchanges words until characters and vowels are right; the characters that are still missing."""
        gaps = [gap for gap in range(len(self.skeleton.gaps)) if gap not in self.kept]
        for _ in range(_SWAPS if gaps else 0):
            missing = 0 if self.target is None else self.target - self.length
            tilt = self._tilt()
            if not missing and not tilt:
                break
            gap = gaps[self.roll(len(gaps))]
            old = self.words[gap]
            step = max(-3, min(3, missing))
            length, vowels = len(old.text) + step, old.vowels + tilt + round(_SHARE * step)
            allowed = self.rule(gap)
            new = next(
                (word for word in self.pool.shelf(gap in self.clusters, length, vowels) if allowed(word.text)), None
            )
            if new is not None:
                self.put(gap, new)
                if self.again:
                    self.note(gap)
        if self._tilt():
            raise NoWord
        return 0 if self.target is None else self.target - self.length

    def _tilt(self) -> int:
        """1 where vowels are missing, -1 where there are too many of them."""
        if self.needs.ratio is None:
            return 0
        low, high = self.needs.ratio
        return int(self.vowels < low * self.others) - int(self.vowels > high * self.others)

    def written(self, missing: int) -> tuple[str, bool]:
        """The text, with commas for the missing characters, and whether dashes were needed as well."""
        if missing < 0:
            raise NoWord
        inner = [i for i, gap in enumerate(self.skeleton.gaps) if gap.sentence >= 0 and not gap.last]
        dashes = max(0, -(-(missing - len(inner)) // 2))
        commas = missing - 2 * dashes
        if dashes > len(inner) or (missing and not inner):
            raise NoWord
        marks = dict.fromkeys(inner, "")
        for number in range(commas):
            marks[inner[number * len(inner) // commas]] = ","
        for number in range(dashes):
            marks[inner[number * len(inner) // dashes]] += " -"
        pieces = self.skeleton.text.split(GAP)
        text = pieces[0]
        for i, gap in enumerate(self.skeleton.gaps):
            word = self.words[i].text
            text += (word.capitalize() if gap.first else word) + marks.get(i, "") + pieces[i + 1]
        return text, dashes > 0
