"""The edits of a blind search: words, marks, white space, sentences and lines are added, dropped, moved and changed."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any

from cdct.core import resolve
from cdct.saturation.constraints.vocabulary import topics
from cdct.saturation.probes.attack_blocks import Block, Blocks, Chosen
from cdct.text import words

if TYPE_CHECKING:
    import numpy as np

Tokens = list[tuple[str, str]]
"""A text as pairs: what stands between white space, or a whole block, and the white space after it."""

LEXICON = "data/lexicon.txt"
PROSE = (
    "The old town lies on a hill above the river. Every spring its people open the gates and clean the narrow streets. "
    "Why do they work so hard? Visitors come from far away, and some of them stay for the whole summer! A small shop "
    "near the bridge sells bread, fruit and warm socks. Nobody there is ever in a hurry. When night falls, lamps glow "
    "behind each window. Then it is quiet again."
)
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ODD_LETTERS = "éıſ"
ENDS = ".!?…。"
SHAPES = ("even", "rising", "falling", "turns", "mirror", "growing", "any", "any")
"""How the lengths of the first sentences go together."""
_TOKEN = re.compile(r"(\S+)(\s*)")
_CORE = re.compile(r"(\W*)(.*?)(\W*)\Z", re.DOTALL)


def written(tokens: Tokens) -> str:
    """The text of these tokens."""
    return "".join(chain.from_iterable(tokens))


@lru_cache
def _lexicon() -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Words, and the same by their first letter."""
    lines = resolve(LEXICON).read_text(encoding="utf-8").splitlines()
    every = tuple(line for line in lines if line.isalpha())
    return every, {letter: tuple(word for word in every if word[0] == letter) or (letter,) for letter in LETTERS}


def _ends(pair: tuple[str, str]) -> bool:
    return "\n" in pair[1] or pair[0][-1:] in ENDS


def _whole(tokens: Tokens) -> bool:
    """Whether a block is among them."""
    return any(isinstance(token, Block) for token, _ in tokens)


class Edits:
    """Draws a first text for these constraints, and edits of texts. All chance comes from `rng`."""

    def __init__(self, chosen: Chosen, topic: str | None, rng: np.random.Generator, odd: bool) -> None:
        self._rng, self._odd = rng, odd
        params = dict(chosen)
        self._words, self._by_letter = _lexicon()
        self._hints = [*params.get("L2", {}).get("words", ())] * 3 + list(topics().get(topic or "", ()))
        spelt = [str(params[id]["word"]).lower() for id in ("L4", "M1") if id in params]
        first = str(params["L3"]["letter"]).lower() if "L3" in params else ""
        self._letters = ("".join(spelt) + 3 * first) or LETTERS
        self._sizes = [params[id]["n"] for id in ("S2", "S6", "O4") if id in params] + list(map(len, spelt))
        if "S3" in params:
            self._sizes.append(params["S3"]["paragraphs"] * params["S3"]["min_sentences"])
        self._numbers = 0.2 if {"N1", "N3", "N4"} & params.keys() else 0.02
        self._blocks = Blocks(chosen, rng, self._word, odd)
        self._marks = (".", ".", ".", "", "", "!", "?", ",", "…") + ("。",) * odd
        self._gaps = (" ", " ", "\n", "\n\n", "") + ("\u2003",) * odd
        table = (
            (self._reword, 28),
            (self._insert, 6),
            (self._drop, 6),
            (self._swap, 8),
            (self._mark, 8),
            (self._space, 8),
            (self._join, 1),
            (self._lead, 2),
            (self._resize, 9),
            (self._copy, 3),
            (self._cut, 4),
            (self._move, 5),
        )
        self._kinds = [kind for kind, _ in table]
        self._shares = list(accumulate(weight for _, weight in table))
        self._text: Tokens = []

    # ------------------------------------------------------------------------------------------------------------ draws

    def _chance(self, share: float) -> bool:
        return self._rng.random() < share

    def _below(self, most: int) -> int:
        return int(self._rng.random() * most)

    def _pick(self, things: Sequence[Any]) -> Any:
        return things[self._below(len(things))]

    def depth(self) -> int:
        """How many edits to make at once: one, now and then two or three."""
        return self._pick((1, 1, 1, 1, 2, 3))

    def _word(self) -> str:
        """A word of the lexicon, one that begins with a wanted letter, one of the text, or one that is asked for."""
        kind = self._rng.random()
        if kind < self._numbers:
            return str(self._below(self._pick((10, 30, 100))))
        if kind < 0.6:
            return self._pick(self._words)
        if kind < 0.8:
            return self._pick(self._by_letter[self._pick(self._letters)])
        if kind < 0.85 and self._text:
            return _CORE.match(self._pick(self._text)[0])[2] or "so"
        return self._pick(self._hints or self._words)

    # ------------------------------------------------------------------------------------------------------- first text

    def start(self) -> Tokens:
        """Sentences and blocks in any order."""
        whole, loose = self._blocks.draw()
        count = self._pick(self._sizes) if self._sizes and self._chance(0.7) else 1 + self._below(7)
        if (whole or loose) and self._chance(0.15):
            count = 0
        pieces = [self._sentence(length) for length in self._lengths(count)]
        if self._chance(0.25):
            for one, other in pairwise(pieces):  # each begins as the one before ends
                other[0] = (_CORE.match(one[-1][0])[2].capitalize(), other[0][1])
        gap = self._pick((" ", " ", "\n", "\n\n", None))
        for piece in pieces:
            piece[-1] = (piece[-1][0], gap or self._pick((" ", " ", "\n", "\n\n")))
        apart = self._chance(0.8)
        for block in [*whole, *loose]:
            inline = not apart and "\n" not in block
            piece = [(block, "")] if isinstance(block, Block) else _TOKEN.findall(block)
            at = self._below(len(pieces) + 1)
            piece[-1] = (piece[-1][0], " " if inline else self._pick(("\n", "\n\n")))
            if at and not inline:
                pieces[at - 1][-1] = (pieces[at - 1][-1][0], self._pick(("\n", "\n\n")))
            pieces.insert(at, piece)
        return list(chain.from_iterable(pieces))

    def _lengths(self, count: int) -> list[int]:
        shape, least = self._pick(SHAPES), 1 + self._below(8)
        if shape == "even":
            return [least] * count
        if shape in ("rising", "falling"):
            found = list(range(least, least + count))
            return found if shape == "rising" else found[::-1]
        if shape == "turns":
            return [least + (10 if i % 2 else 0) for i in range(count)]
        if shape == "growing":
            return [min(24, self._below(3) + 2**i) for i in range(count)]
        found = [1 + self._below(self._pick((4, 10, 20))) for _ in range(count)]
        return [found[min(i, count - 1 - i)] for i in range(count)] if shape == "mirror" else found

    def _sentence(self, length: int) -> Tokens:
        prose = _TOKEN.findall(PROSE)
        if self._chance(0.3):
            at = self._below(len(prose) - length)
            own = [(_CORE.match(token)[2], " ") for token, _ in prose[at : at + length]]
        else:
            own = [(self._word(), " ") for _ in range(length)]
        own[0] = (own[0][0].capitalize(), " ")
        own[-1] = (own[-1][0] + self._pick((".", ".", "!", "?")), " ")
        return own

    # ------------------------------------------------------------------------------------------------------------ edits

    def edited(self, tokens: Tokens, places: Sequence[int]) -> Tokens:
        """The tokens after an edit at each of these places, some of which may come to nothing."""
        self._text = tokens
        new = list(tokens)
        for place in places:
            at = min(place, len(new) - 1)
            if isinstance(new[at][0], Block) and self._chance(0.5):
                new[at] = (self._rewritten(new[at][0], new), new[at][1])
            else:
                self._kinds[bisect_right(self._shares, self._below(self._shares[-1]))](new, at)
        return new

    def _reword(self, tokens: Tokens, at: int) -> None:
        """Another word, the neighbour's word, a letter changed, or another number."""
        token, gap = tokens[at]
        if isinstance(token, Block):
            return
        before, core, after = _CORE.match(token).groups()
        kind = self._rng.random()
        if core.isdigit() and kind < 0.8:
            step = self._pick((1, -1, 2, -2, 10, -10, self._below(60), -self._below(60)))
            core = str(max(0, int(core[:9]) + step))
        elif kind < 0.25:
            tokens[at] = (self._respelt(token), gap)
            return
        elif kind < 0.35:
            core = _CORE.match(tokens[at - 1 if at and self._chance(0.5) else (at + 1) % len(tokens)][0])[2]
        else:
            new = self._word()
            core = new.capitalize() if core[:1].isupper() else new
        tokens[at] = (before + core + after, gap)

    def _respelt(self, token: str) -> str:
        """The token with one letter changed, added or left out."""
        places = [i for i, char in enumerate(token) if char.isalnum()]
        if not places:
            return token
        at, kind = self._pick(places), self._rng.random()
        if kind < 0.3 and len(places) > 1:
            return token[:at] + token[at + 1 :]
        new = self._pick(ODD_LETTERS) if self._odd and self._chance(0.1) else self._pick(LETTERS)
        return token[:at] + new + token[at + (kind < 0.65) :]

    def _insert(self, tokens: Tokens, at: int) -> None:
        token, gap = tokens[at]
        tokens[at : at + 1] = (
            [(token, " "), (self._word(), gap)] if self._chance(0.5) else [(self._word(), " "), (token, gap)]
        )

    def _drop(self, tokens: Tokens, at: int) -> None:
        """Drop a token; its end mark and the white space after it mostly stay with the one before."""
        if len(tokens) < 2 or isinstance(tokens[at][0], Block):
            return
        token, gap = tokens.pop(at)
        if at and not isinstance(tokens[at - 1][0], Block) and self._chance(0.7):
            mark = _CORE.match(token)[3]
            tokens[at - 1] = ((tokens[at - 1][0].rstrip(ENDS) + mark) if mark else tokens[at - 1][0], gap)

    def _swap(self, tokens: Tokens, at: int) -> None:
        """Let two tokens change places; the marks around words stay where they are."""
        other = self._below(len(tokens))
        (first, gap), (second, other_gap) = tokens[at], tokens[other]
        if not _whole([tokens[at], tokens[other]]):
            (a, b, c), (d, e, f) = _CORE.match(first).groups(), _CORE.match(second).groups()
            first, second = d + b + f, a + e + c
        tokens[at], tokens[other] = (second, gap), (first, other_gap)

    def _mark(self, tokens: Tokens, at: int) -> None:
        token, gap = tokens[at]
        if not isinstance(token, Block):
            tokens[at] = (token.rstrip(ENDS + ",") + self._pick(self._marks), gap)

    def _space(self, tokens: Tokens, at: int) -> None:
        tokens[at] = (tokens[at][0], self._pick(self._gaps))

    def _join(self, tokens: Tokens, at: int) -> None:
        """Make one word of two, with a hyphen."""
        if at + 1 < len(tokens) and not _whole(tokens[at : at + 2]):
            tokens[at : at + 2] = [(f"{tokens[at][0]}-{tokens[at + 1][0]}", tokens[at + 1][1])]

    def _lead(self, tokens: Tokens, at: int) -> None:
        """Begin a line of another kind."""
        tokens.insert(at, (self._pick(("#", "-", ">", "1.", "*")), " "))
        if at:
            tokens[at - 1] = (tokens[at - 1][0], "\n")

    # -------------------------------------------------------------------------------------------- sentences and lines

    def _stretch(self, tokens: Tokens, at: int) -> tuple[int, int]:
        """The sentence or line in which a token stands, by the look of it."""
        start, end = at, at + 1
        while start and not _ends(tokens[start - 1]):
            start -= 1
        while end < len(tokens) and not _ends(tokens[end - 1]):
            end += 1
        return start, end

    def _run(self, tokens: Tokens, at: int) -> tuple[int, int]:
        """A sentence or line, or a few words."""
        return self._stretch(tokens, at) if self._chance(0.7) else (at, min(len(tokens), at + 1 + self._below(8)))

    def _resize(self, tokens: Tokens, at: int) -> None:
        """Make a sentence as long as another, or somewhat longer or shorter."""
        start, end = self._stretch(tokens, at)
        other = self._pick((max(0, start - 1), min(end, len(tokens) - 1), self._below(len(tokens))))
        low, high = self._stretch(tokens, other)
        length = end - start
        more = max(1, high - low + self._pick((0, 0, 1, -1, 1 + self._below(9)))) - length
        place = start + self._below(length + min(0, more))
        if more > 0:
            tokens[place:place] = [(self._word(), " ") for _ in range(more)]
        elif not _whole(tokens[place : place - more]):
            del tokens[place : place - more]

    def _copy(self, tokens: Tokens, at: int) -> None:
        start, end = self._run(tokens, at)
        if not _whole(tokens[start:end]):
            to = self._stretch(tokens, self._below(len(tokens)))[0]
            tokens[to:to] = tokens[start:end]

    def _cut(self, tokens: Tokens, at: int) -> None:
        start, end = self._run(tokens, at)
        if end - start < len(tokens) and not _whole(tokens[start:end]):
            del tokens[start:end]

    def _move(self, tokens: Tokens, at: int) -> None:
        start, end = self._run(tokens, at)
        run = tokens[start:end]
        del tokens[start:end]
        to = self._below(len(tokens) + 1)
        to = self._stretch(tokens, to)[0] if to < len(tokens) and self._chance(0.7) else to
        tokens[to:to] = run

    def _rewritten(self, block: Block, tokens: Tokens) -> Block:
        """The block in another form; one that states a number of words mostly states the right one."""
        count = len(words(written(tokens))) + self._pick((0, 0, 0, 1, -1)) if self._chance(0.8) else None
        return block.again(count)
