"""L1-L6, which letters and words may, must or must not occur, and how sentences begin."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from math import isfinite
from typing import TYPE_CHECKING, Any
from unicodedata import combining

from cdct.core import Verdict
from cdct.saturation.constraints.base import (
    LETTERS,
    Parameter,
    constraint,
    letter,
    listed,
    number_of,
    quoted,
    share,
    spelling,
)
from cdct.saturation.constraints.vocabulary import topics, vocabulary
from cdct.text import Span, Text, folded, normalise

if TYPE_CHECKING:
    import numpy as np

VOWELS = "aeiou"
_NOT_LETTERS = bytes(set(range(256)) - set(map(ord, string.ascii_letters)))
_NOT_VOWELS = bytes(set(range(256)) - set(map(ord, VOWELS + VOWELS.upper())))


# ------------------------------------------------------------------------------------------------------------ matching


def occurrences(word: str, text: str) -> Iterator[int]:
    """Where a folded word stands whole in a folded text: no letter, digit, underscore or combining mark touches it."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        whole = not (at and _joins(text[at - 1])) and not (end < len(text) and _joins(text[end]))
        if whole:
            yield at
        at = text.find(word, end if whole else at + 1)


def _joins(char: str) -> bool:
    return char.isalnum() or char == "_" or combining(char) != 0


def _spans(text: Text, places: Sequence[Span]) -> list[Span]:
    """The spans in the reply of places in its folded plain view."""
    if places and len(text.folded) != len(text.plain):  # a few characters fold into two or three
        origins = [i for i, char in enumerate(text.plain) for _ in char.casefold()]
        places = [(origins[start], origins[end - 1] + 1) for start, end in places]
    return [text.plain_span(start, end) for start, end in dict.fromkeys(places)]


# ---------------------------------------------------------------------------------------------------------- parameters


def _read_word(value: Any) -> str:
    word = _word(value) if isinstance(value, str) else ""
    if not word:
        raise ValueError(f"must be one word with a letter or digit, got {value!r}")
    return word


@lru_cache(maxsize=1024)  # the same few words are read with every reply
def _word(value: str) -> str:
    return normalise(value) if len(value.split()) == 1 and any(map(str.isalnum, value)) else ""


def _read_words(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise ValueError(f"must be a list of words, got {value!r}")
    words = tuple(map(_read_word, value))
    if len(set(map(folded, words))) < len(words):
        raise ValueError(f"must be different words, got {value!r}")
    return words


def _read_ratio(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (isfinite(value) and value > 0):
        raise ValueError(f"must be a number above 0, got {value!r}")
    return float(value)


def _topic_words(rng: np.random.Generator) -> dict[str, Any]:
    words = list(topics().values())[int(rng.integers(len(topics())))]
    return {"words": [words[int(i)] for i in rng.permutation(len(words))[:3]]}


def _band(rng: np.random.Generator) -> dict[str, Any]:
    low = 50 + 5 * int(rng.integers(5))
    return {"low": low / 100, "high": (low + 15) / 100}


# --------------------------------------------------------------------------------------------------------- constraints


@constraint("L1", "Forbidden letter", {"letter": letter("inshrdlucmw")}, version="2")
def forbidden_letter(text: Text, letter: str) -> Verdict:
    """The letter {letter} must not occur anywhere in your reply, neither as a capital nor as a small letter. A letter
    with an accent is a letter of its own; ‘ß’ and ligatures such as ‘ﬁ’ hold the letters that they stand for.

    Score: one minus the share of characters that are or hold the letter, once casefolded. Choices: English frequency
    ranks 5 to 15 (paper, section 3.2); commoner ones leave too few words, rarer ones are avoided unawares.
    """
    plain = text.plain
    found = None if plain.isascii() else _holders(letter).findall(plain)
    hits = text.folded.count(letter) if found is None else len(found)
    detail = f"{quoted(letter)} occurs in {hits} of {number_of(len(plain), 'character')}"

    def wrong() -> list[Span]:
        return [text.plain_span(*place.span()) for place in _holders(letter).finditer(plain)]

    return Verdict.of(share(len(plain) - hits, len(plain)), detail, wrong)


@lru_cache
def _folds() -> list[tuple[str, str]]:
    """The characters that fold into letters from a to z without an accent, and what they fold into."""
    folds = [(char, char.casefold()) for char in map(chr, range(0x10000))]
    return [(char, fold) for char, fold in folds if not LETTERS.isdisjoint(fold) and not any(map(combining, fold))]


@lru_cache
def _holders(letter: str) -> re.Pattern[str]:
    """The characters that are a letter or hold it, casefolded, without an accent on it or behind it."""
    chars = "".join(char for char, fold in _folds() if letter in fold)
    return re.compile(f"[{chars}](?![\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff])")


forbidden_letter.passes("Calm seas.", letter="d")
forbidden_letter.passes("Sen\u0303or Vega.", letter="n")
forbidden_letter.fails("Calm seas. Dark sky.", letter="d")
forbidden_letter.passes("\u0130stanbul.", letter="i")
forbidden_letter.fails("A \ufb01sh.", letter="i")


@constraint(
    "L2",
    "Mandatory words",
    {"words": Parameter(None, _read_words, lambda words: ", ".join(map(quoted, words)))},
    sample=_topic_words,
    version="2",
)
def mandatory_words(text: Text, words: tuple[str, ...]) -> Verdict:
    """Your reply must contain each of these words, exactly as spelt but in capitals or not: {words}. Each must stand by
    itself or between punctuation marks, hyphens and apostrophes among them; inside a row of further letters or digits
    it does not count.

    Score: the share of the words that occur. What touches a word may be no letter, digit or underscore, so hyphens,
    slashes and apostrophes end one ("solar-powered" holds "solar"); all characters of the words are literal. A missing
    word has no span. Choice: three words of one topic, short nouns that any text on it can use.
    """
    view = text.folded
    missing = [word for word in words if next(occurrences(folded(word), view), None) is None]
    detail = f"words present: {len(words) - len(missing)} of {len(words)}"
    if missing:
        detail += f", missing {listed(missing, quoted)}"
    return Verdict.of(share(len(words) - len(missing), len(words)), detail)


mandatory_words.passes("Solar-powered fans make no WIND.", words=["solar", "wind"])
mandatory_words.passes("I don’t write C++.", words=["don't", "C++"])
mandatory_words.fails("The category is broad.", words=["cat"])
mandatory_words.fails("Wind turns windmills.", words=["wind", "mill"])


@constraint("L3", "Sentence-initial letter", {"letter": letter("abcfhimopstw")}, version="2")
def sentence_initial_letter(text: Text, letter: str) -> Verdict:
    """Every sentence of your reply must begin with a word whose first letter is {letter}, as a capital or a small
    letter. Quotation marks and brackets before the word do not matter. Headings, bullet items, tables, code blocks and
    JSON are no sentences; numbered lines are sentences only where they have an end mark, and their numbers are no
    words.

    Score: the share of sentences that do. Choices: the letters that begin most English words.
    """
    forms = text.sentence_forms
    wrong = [i for i, words in enumerate(forms) if not words[0].startswith(letter)]
    detail = f"sentences that begin with {quoted(letter)}: {len(forms) - len(wrong)} of {len(forms)}"
    return Verdict.of(share(len(forms) - len(wrong), len(forms)), detail, partial(_first_words, text, wrong))


sentence_initial_letter.passes("“Winds rise,” he says. (Waves fall.)", letter="w")
sentence_initial_letter.passes("**W**inds rise. We wait.\n\n- a list item", letter="W")
sentence_initial_letter.fails("Winds rise. Ships wait.", letter="w")
sentence_initial_letter.fails("| Wind | Wave |\n|---|---|\n| a | b |", letter="w")


def _first_words(text: Text, sentences: Sequence[int]) -> list[Span]:
    return [text.sentence_word_spans(i)[0] for i in sentences]


@constraint("L4", "Initial acrostic", {"word": spelling(lambda: vocabulary("acrostics"))}, version="2")
def initial_acrostic(text: Text, word: str) -> Verdict:
    """The first letters of your sentences, read in order, must spell {word}: one sentence for each letter and no
    further ones. Headings, bullet items, tables, code blocks and JSON are no sentences; numbered lines are sentences
    only where they have an end mark, and their numbers are no words.

    Score: the share of letters in place among the letters or the sentences, whichever are more. Choice: common words of
    3 to 6 letters without one that few words begin with.
    """
    found = "".join([words[0][0] for words in text.sentence_forms])
    wrong = [i for i, initial in enumerate(found) if initial != word[i : i + 1]]
    right = len(found) - len(wrong)
    shown = found[:24].upper() + ("…" if len(found) > 24 else "")
    detail = f"{number_of(len(found), 'sentence')} spell {quoted(shown)}, {quoted(word.upper())} wanted"
    return Verdict.of(share(right, max(len(found), len(word))), detail, partial(_first_words, text, wrong))


initial_acrostic.passes("**S**un rises. **O**wls sleep.", word="SO")
initial_acrostic.passes("“Art” is old. Really? Time tells.", word="art")
initial_acrostic.fails("Sun rises. Owls sleep. No one wakes.", word="so")
initial_acrostic.fails("Sun rises. Birds sleep.", word="so")


@constraint(
    "L5", "Forbidden word", {"word": Parameter(lambda: vocabulary("content_words"), _read_word, quoted)}, version="2"
)
def forbidden_word(text: Text, word: str) -> Verdict:
    """The word {word} must not occur in your reply, in capitals or not, nor as a part of a hyphenated word or with an
    apostrophe behind it. Longer words that merely contain it are allowed.

    Score: one minus occurrences over words, not below 0; what touches an occurrence may be no letter, digit or
    underscore, and all characters of the word are literal. Choice: common content words that a text on any topic is
    tempted to use.
    """
    view, needle = text.folded, folded(word)
    hits = list(occurrences(needle, view))
    detail = f"{quoted(word)} occurs {number_of(len(hits), 'time')} in {number_of(len(text.words), 'word')}"
    score = max(0.0, share(len(text.words) - len(hits), len(text.words)))
    return Verdict.of(score, detail, lambda: _spans(text, [(at, at + len(needle)) for at in hits]))


forbidden_word.passes("This category is broad.", word="cat")
forbidden_word.passes("A kitten sleeps.", word="cat")
forbidden_word.fails("The CAT sleeps.", word="cat")
forbidden_word.fails("A cat-like cat’s paw.", word="cat")


@constraint(
    "L6",
    "Vowel-consonant ratio",
    {"low": Parameter(None, _read_ratio), "high": Parameter(None, _read_ratio)},
    sample=_band,
    rule=lambda low, high: "" if low <= high else f"low must not be above high, got {low} and {high}",
    version="2",
)
def vowel_consonant_ratio(text: Text, low: float, high: float) -> Verdict:
    """In your whole reply, the number of vowels divided by the number of consonants must be at least {low} and at most
    {high}. The vowels are a, e, i, o and u; all other letters from a to z are consonants; nothing else counts.

    Capitals count, letters with accents and ligatures do not. Score: 1 - the distance to the nearer bound / that
    bound, not below 0; no letter or no consonant scores 0. No part of the reply offends, so there are no spans.
    Choice: a band 0.15 wide inside 0.5 to 0.85.
    """
    letters = text.plain.encode("ascii", "ignore").translate(None, _NOT_LETTERS)
    vowels = len(letters.translate(None, _NOT_VOWELS))
    consonants = len(letters) - vowels
    detail = f"{number_of(vowels, 'vowel')}, {number_of(consonants, 'consonant')}"
    if not consonants:
        return Verdict.of(0.0, f"{detail}: no ratio")
    ratio = vowels / consonants
    bound = min(max(ratio, low), high)
    return Verdict.of(max(0.0, 1 - abs(ratio - bound) / bound), f"{detail}, ratio {ratio:.4f}, {low} to {high} wanted")


vowel_consonant_ratio.passes("One banana a day.", low=0.8, high=1.2)
vowel_consonant_ratio.passes("Ba ba ba ... 42 na?", low=1, high=1)
vowel_consonant_ratio.fails("Rhythms.", low=0.5, high=0.65)
vowel_consonant_ratio.fails("Ou, eau, aia!", low=0.5, high=0.65)
