"""The words of which witnesses are made, by their lengths, letters and clusters."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from cdct.core import resolve
from cdct.text import sentences

LEXICON = "data/lexicon.txt"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
VOWELS = frozenset("aeiou")
_CLUSTER = re.compile("[bcdfghjklmnpqrstvwxz]{3}")


class Word(NamedTuple):
    """A word, how many of its letters are vowels, and whether three consonants stand in a row in it."""

    text: str
    vowels: int
    cluster: bool

    @classmethod
    def of(cls, text: str) -> Word:
        return cls(text, sum(map(VOWELS.__contains__, text)), has_cluster(text))


def has_cluster(word: str) -> bool:
    """Whether three consonants stand in a row, y being a vowel."""
    return _CLUSTER.search(word) is not None


@lru_cache
def lexicon() -> tuple[Word, ...]:
    """All words of the lexicon, sorted."""
    with open(resolve(LEXICON), encoding="utf-8") as file:
        return tuple(Word.of(line.strip()) for line in file if not line.startswith("#"))


@lru_cache
def scraps() -> tuple[Word, ...]:
    """Rows of one to three letters: words only in that they stand between spaces, for texts that have to be short.

    Those of three are consonants. None of them is an abbreviation behind which a sentence goes on.
    """
    known = {word.text for word in lexicon()}
    rows = [*LETTERS, *(one + two for one in LETTERS for two in LETTERS)]
    rows += [one + two for one in LETTERS if one not in "aeiouy" for two in ("sk", "st", "th")]
    return tuple(Word.of(row) for row in rows if row not in known and len(sentences(f"As {row}. As {row}.")) == 2)


class Pool:
    """The words that may be used, in order, and found by initial letter or by cluster, length and vowels."""

    def __init__(self, words: Iterable[Word]) -> None:
        self.words = sorted(words)
        self.initials: dict[str, list[Word]] = {}
        self._shelves: dict[tuple[bool, int, int], list[Word]] = {}
        for word in self.words:
            self.initials.setdefault(word.text[0], []).append(word)
            for cluster in {False, word.cluster}:
                self._shelves.setdefault((cluster, len(word.text), word.vowels), []).append(word)
        lengths = sorted(len(word.text) for word in self.words)
        self._least = [0, *accumulate(lengths)]
        self._nearest: dict[tuple[bool, int, int], list[list[Word]]] = {}

    def least(self, count: int, again: bool) -> int:
        """The fewest letters that so many words can have, all of them different unless `again`."""
        if again or count >= len(self._least):
            return count * (self._least[1] if self.words else 1)
        return self._least[count]

    def shelf(self, cluster: bool, length: int, vowels: int) -> list[Word]:
        """The words (with a cluster if wanted) of exactly this length with exactly these vowels."""
        return self._shelves.get((cluster, length, vowels), [])

    def near(self, length: int, vowels: int, cluster: bool) -> list[list[Word]]:
        """The shelves of words (with a cluster if wanted), those nearest to this length and these vowels first."""
        key = (cluster, length, vowels)
        if key not in self._nearest:
            shelves = [(shelf, words) for shelf, words in self._shelves.items() if shelf[0] == cluster]
            shelves.sort(key=lambda pair: (2 * abs(pair[0][1] - length) + abs(pair[0][2] - vowels), pair[0]))
            self._nearest[key] = [words for _, words in shelves]
        return self._nearest[key]


@lru_cache(maxsize=512)
def pool(forbidden: str, low: int, high: int, short: bool = False) -> Pool:
    """The words of `low` to `high` letters without the `forbidden` one ("" for none); with `short`, scraps as well."""
    return Pool(
        word
        for word in (lexicon() + scraps() if short else lexicon())
        if low <= len(word.text) <= high and not (forbidden and forbidden in word.text)
    )
