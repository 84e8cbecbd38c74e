"""What others sent, made fit to be shown and kept: without API keys, and without what steers a terminal."""

from __future__ import annotations

import json
import re
from urllib.parse import quote


def printable(text: str) -> str:
    """`text` with blanks for what would steer a terminal or hide in it: escapes, line ends, turned directions."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def without_key(text: str, key: str | None, pieces: bool = False) -> str:
    """`text` with [key] for the API key as it is, URL-encoded or JSON-escaped; if wanted, also for any 8 letters of it.

    A key of fewer than 8 characters ("EMPTY", "x") is no secret, and taking it out would spoil replies.
    """
    if not key or len(key) < 8:
        return text
    forms = {key, quote(key, safe=""), json.dumps(key)[1:-1], key.replace("/", r"\/")}
    for form in forms:
        text = text.replace(form, "[key]")
    if pieces:
        parts = {form[i : i + 8] for form in forms for i in range(len(form) - 7)}
        found = {i + n for i in range(len(text) - 7) if text[i : i + 8] in parts for n in range(8)}
        text = re.sub("\0+", "[key]", "".join("\0" if i in found else letter for i, letter in enumerate(text)))
    return text
