"""Slow second readings of the constraints, by other ways than the package's: from the rules, with no parse in common.

A reference takes a reply as `Plainly` reads it and the parameters, and gives the score as an exact fraction; 1 is a
pass.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import groupby

from reference_views import Views, alphanumeric, wordlike


def bare(word: str) -> str:
    """A word without what stands around its first and last letter or digit."""
    places = [i for i, char in enumerate(word) if alphanumeric(char)]
    return word[places[0] : places[-1] + 1]


@lru_cache(maxsize=100_000)
def form(word: str) -> str:
    return "".join("'" if char in "’‘" else char for char in bare(word)).casefold()


class Plainly:
    """A reply read slowly: the plain view as `text`, its words and their forms, and the paragraphs of its prose."""

    def __init__(self, reply: str) -> None:
        views = Views(reply)
        self.raw = reply
        self.text = views.plain
        self.words = [token for token in re.findall(r"\S+", views.plain) if wordlike(token)]
        self.forms = [form(word) for word in self.words]
        self.paragraphs = views.paragraphs
        self.sentences = [sentence for paragraph in self.paragraphs for sentence in paragraph]


def near(found: int, wanted: int) -> Fraction:
    return max(Fraction(0), 1 - Fraction(abs(found - wanted), wanted))


def part(right: int, of: int) -> Fraction:
    return Fraction(right, of) if of else Fraction(0)


def s6(reply: Plainly, n: int) -> Fraction:
    lengths = [len(sentence) for sentence in reply.sentences]
    found, right, pairs = len(lengths), 0, 0
    while len(lengths) > 1:
        first, last = lengths.pop(0), lengths.pop()
        pairs += 1
        right += first == last
    return part(right, pairs) * near(found, n)


def l1(reply: Plainly, letter: str) -> Fraction:
    """A character with an accent, in it or behind it, is another letter; ligatures hold the letters they fold into."""
    hits = 0
    for char, behind in zip(reply.text, [*reply.text[1:], " "], strict=True):
        parts = unicodedata.normalize("NFD", char.casefold())
        accent = any(unicodedata.category(part) == "Mn" for part in parts)
        hits += letter.lower() in parts and not accent and unicodedata.combining(behind) == 0
    return 1 - part(hits, len(reply.text))


def whole(word: str, text: str) -> int:
    """How often the word stands by itself, by a pattern."""
    word, text = (re.sub("[’‘]", "'", part.casefold()) for part in (word, text))
    return len(re.findall(r"(?<![\w\u0300-\u036f])" + re.escape(word) + r"(?![\w\u0300-\u036f])", text))


def l4(reply: Plainly, word: str) -> Fraction:
    initials = [form(sentence[0])[0] for sentence in reply.sentences]
    longest = max(len(initials), len(word))
    padded = zip([*initials, *"." * longest][:longest], [*word.lower(), *"," * longest][:longest], strict=True)
    return part(sum(a == b for a, b in padded), longest)


def l6(reply: Plainly, low: float, high: float) -> Fraction:
    vowels = consonants = 0
    for char in reply.text:
        if char in "aeiouAEIOU":
            vowels += 1
        elif "a" <= char <= "z" or "A" <= char <= "Z":
            consonants += 1
    if consonants == 0:
        return Fraction(0)
    ratio, least, most = Fraction(vowels, consonants), Fraction(str(low)), Fraction(str(high))
    if ratio < least:
        return ratio / least
    return Fraction(1) if ratio <= most else max(Fraction(0), 1 - (ratio - most) / most)


def distinct(things: list[str]) -> Fraction:
    """The share that is left when equal neighbours in alphabetical order are one."""
    return part(sum(1 for _ in groupby(sorted(things))), len(things))


def w4(reply: Plainly) -> Fraction:
    pairs = []
    for sentence in reply.sentences:
        for i in range(len(sentence) - 1):
            pairs.append(form(sentence[i]) + " " + form(sentence[i + 1]))
    return distinct(pairs)


@lru_cache(maxsize=100_000)
def clustered(word: str) -> bool:
    row = 0
    for char in form(word):
        row = row + 1 if "a" <= char <= "z" and char not in "aeiouy" else 0
        if row == 3:
            return True
    return False


REFERENCE: dict[str, Callable[..., Fraction]] = {
    "S1": lambda reply, n: near(len(reply.words), n),
    "S2": lambda reply, n: near(len(reply.sentences), n),
    "S3": lambda reply, paragraphs, min_sentences: (
        near(len(reply.paragraphs), paragraphs)
        * part(sum(len(paragraph) >= min_sentences for paragraph in reply.paragraphs), len(reply.paragraphs))
    ),
    "S4": lambda reply, n: near(len(list(reply.text)), n),
    "S5": lambda reply, n: near(sum(not re.fullmatch(r"\s*", line) for line in reply.text.split("\n")), n),
    "S6": s6,
    "L1": l1,
    "L2": lambda reply, words: part(sum(whole(word, reply.text) > 0 for word in words), len(words)),
    "L3": lambda reply, letter: part(
        sum(form(sentence[0])[0] == letter.lower() for sentence in reply.sentences), len(reply.sentences)
    ),
    "L4": l4,
    "L5": lambda reply, word: max(Fraction(0), 1 - part(whole(word, reply.text), len(reply.words))),
    "L6": l6,
    "W1": lambda reply: distinct(reply.forms),
    "W2": lambda reply, low, high: part(sum(low <= len(bare(word)) <= high for word in reply.words), len(reply.words)),
    "W3": lambda reply, n: part(sum(len(sentence) >= n for sentence in reply.sentences), len(reply.sentences)),
    "W4": w4,
    "W5": lambda reply, n: part(
        sum(sum(map(clustered, sentence)) >= n for sentence in reply.sentences), len(reply.sentences)
    ),
}


def reference(id: str, reply: Plainly, params: dict) -> Fraction:
    """The score of a reply; without a letter or digit it is 0 but for S4 and S5, which count more than words."""
    if not (reply.text if id in ("S4", "S5") else reply.words):
        return Fraction(0)
    return REFERENCE[id](reply, **params)
