"""What a word is. Every count of words in the workbench comes from here, and the prompts state the same rule."""

from __future__ import annotations

import re
import string
import unicodedata

WORD_RULE = "Words are separated by spaces."
"""The rule as the prompts tell it to the model."""

_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\uff07": "'"})


_MOST_MARKS = 30
"""The longest row of combining marks that a text in any language has (Unicode Annex 15, Stream-Safe Text Format)."""


def overloaded(text: str) -> bool:
    """Whether more combining marks stand in a row than any language has."""
    row = 0
    for mark in map(unicodedata.combining, text):
        row = row + 1 if mark else 0
        if row > _MOST_MARKS:
            return True
    return False


def _nfc(text: str) -> str:
    """`text` in NFC, but for tokens with more marks in a row than any language has: sorting these is quadratic."""
    if unicodedata.is_normalized("NFC", text):
        return text
    if not overloaded(text):
        return unicodedata.normalize("NFC", text)
    parts = re.split(r"(\s+)", text)
    return "".join(part if overloaded(part) else unicodedata.normalize("NFC", part) for part in parts)


def normalise(text: str) -> str:
    """`text` in Unicode form NFC with line feeds as the only line ends and no outer white space."""
    return _nfc(text).replace("\r\n", "\n").replace("\r", "\n").strip()


def words(text: str) -> list[str]:
    """The words of a text: tokens between white space with at least one letter or digit, in order.

    So "state-of-the-art" is one word, and "-", "|" and "---" are none. Emphasis marks never change the count.
    """
    return split_words(normalise(text))


def split_words(text: str) -> list[str]:
    """`words` of a text in normal form."""
    return [token for token in text.split() if token[0].isalnum() or any(map(str.isalnum, token))]


def word_form(word: str) -> str:
    """The form in which words are compared: casefolded, outer punctuation stripped, apostrophes made plain."""
    word = _nfc(word).translate(_APOSTROPHES)
    start, end = 0, len(word)  # by hand: a pattern anchored at the end takes quadratic time on a long row of dashes
    while start < end and not word[start].isalnum():
        start += 1
    while start < end and not word[end - 1].isalnum():
        end -= 1
    return _nfc(word[start:end].casefold())


def word_forms(text: str) -> list[str]:
    """The compared forms of all words of a text, in order."""
    return [word_form(word) for word in words(text)]


_OUTER = string.punctuation + "".join(map(chr, range(32))) + "\x7f“”‘’«»‹›—–…¿¡•→✓"
"""What is most often stripped from words, in ASCII all of it; no letter or digit."""


def bare_words(text: str) -> list[str]:
    """The words of a text in normal form without outer punctuation, in their own case; as many as `words` has."""
    if "\u02bc" in text:
        return [_bare(word) for word in split_words(text)]
    bare = [token.strip(_OUTER) for token in text.split()]
    if not text.isascii():
        bare = [word if word.isascii() else _bare(word) for word in bare]
    return [word for word in bare if word]


def _bare(word: str) -> str:
    start, end = 0, len(word)
    while start < end and (not word[start].isalnum() or word[start] == "\u02bc"):
        start += 1
    while start < end and (not word[end - 1].isalnum() or word[end - 1] == "\u02bc"):
        end -= 1
    return word[start:end]


def bare_forms(bare: list[str]) -> list[str]:
    """The compared forms of words that have lost their outer punctuation."""
    return [word.lower() if word.isascii() else _form(word) for word in bare]


def _form(word: str) -> str:
    simple = word.replace("\u2019", "'")  # nearly all that is not ASCII in English
    return simple.lower() if simple.isascii() else word_form(word)
