"""What a word is. Every count of words in the workbench comes from here, and the prompts state the same rule."""

from __future__ import annotations

import re
import unicodedata

WORD_RULE = "Words are separated by spaces."
"""The rule as the prompts tell it to the model."""

_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\uff07": "'"})
_OUTER = re.compile(r"^[\W_]+|[\W_]+$")


def normalise(text: str) -> str:
    """`text` in Unicode form NFC with line feeds as the only line ends and no outer white space."""
    return unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n").strip()


def words(text: str) -> list[str]:
    """The words of a text: tokens between white space with at least one letter or digit, in order.

    So "state-of-the-art" is one word, and "-", "|" and "---" are none. Emphasis marks never change the count.
    """
    return [token for token in normalise(text).split() if any(map(str.isalnum, token))]


def word_form(word: str) -> str:
    """The form in which words are compared: casefolded, outer punctuation stripped, apostrophes made plain."""
    return _OUTER.sub("", word.translate(_APOSTROPHES)).casefold()


def word_forms(text: str) -> list[str]:
    """The compared forms of all words of a text, in order."""
    return [word_form(word) for word in words(text)]
