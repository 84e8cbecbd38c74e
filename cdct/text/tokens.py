"""What a word is. Every count of words in the workbench comes from here, and the prompts state the same rule."""

from __future__ import annotations

import re
import string
import unicodedata

WORD_RULE = "Words are separated by spaces."
"""The rule as the prompts tell it to the model."""
APOSTROPHES = "\u2019\u2018\u02bc\uff07"
"""What is compared like the plain apostrophe. Unicode calls the third a letter; here it is none."""
WORDLIKE = re.compile(r"[^\W_\u02bc]")
"""A letter or digit."""

_BARE = re.compile(r"[^\W_\u02bc](?:.*[^\W_\u02bc])?", re.DOTALL)
_ASCII_OUTER = string.punctuation + "".join(map(chr, range(32))) + "\x7f"
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
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text
    if not overloaded(text):
        return unicodedata.normalize("NFC", text)
    parts = re.split(r"(\s+)", text)
    return "".join(part if overloaded(part) else unicodedata.normalize("NFC", part) for part in parts)


def normalise(text: str) -> str:
    """`text` in Unicode form NFC with line feeds as the only line ends and no outer white space."""
    return _nfc(text).replace("\r\n", "\n").replace("\r", "\n").strip()


def folded(text: str) -> str:
    """`text` as letters and words are compared in it: casefolded, apostrophes made plain."""
    if text.isascii():
        return text.lower()
    text = text.casefold()  # first, since it makes an apostrophe of a ŉ
    for apostrophe in APOSTROPHES:
        text = text.replace(apostrophe, "'")
    return text


def has_digit(text: str) -> bool:
    """Whether one of the digits 0-9 is in a text: ten searches for a character are faster than one for a set."""
    return any(map(text.__contains__, string.digits))


def words(text: str) -> list[str]:
    """The words of a text: tokens between white space with at least one letter or digit, in order.

    So "state-of-the-art" is one word, and "-", "|", "---" and a lone apostrophe are none. Emphasis marks never change
    the count.
    """
    return split_words(normalise(text))[0]


def split_words(text: str) -> tuple[list[str], list[str]]:
    """The words of a text in normal form, and the same without outer punctuation, in their own case."""
    tokens = text.split()
    if text.isascii():
        bare = [token if token.isalnum() else token.strip(_ASCII_OUTER) for token in tokens]
    elif "\u02bc" in text:  # which Python takes for a letter
        bare = list(map(_bare, tokens))
    else:
        bare = [token if token.isalnum() else _bare(token) for token in tokens]
    if all(bare):
        return tokens, bare
    return [token for token, word in zip(tokens, bare, strict=True) if word], [word for word in bare if word]


def word_form(word: str) -> str:
    """The form in which words are compared: casefolded, outer punctuation stripped, apostrophes made plain."""
    return _form(_bare(_nfc(word)))


def _form(bare: str) -> str:
    return bare.lower() if bare.isascii() else _bare(_nfc(folded(bare)))


def _bare(word: str) -> str:
    word = word.strip(_ASCII_OUTER)
    if word.isascii():
        return word
    found = _BARE.search(word)
    return found[0] if found else ""


def word_forms(text: str) -> list[str]:
    """The compared forms of all words of a text, in order."""
    return [word_form(word) for word in words(text)]


def bare_forms(bare: list[str]) -> list[str]:
    """The compared forms of words that have lost their outer punctuation."""
    return [word.lower() if word.isascii() else _form(word) for word in bare]
