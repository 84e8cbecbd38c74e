"""The JSON objects in a reply: only complete and valid ones, at any place, found in one pass."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from cdct.text.spans import Clean, Unit

_OPENING = re.compile(r"""\{(?=\s*+(?:["'}]|[\w-]++\s*+:))""")
"""A brace that opens an object, not a placeholder: a quotation mark, a name with a colon or a brace follows."""
_PART = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\]]', re.DOTALL)
_DEEPEST = 100


class Json(Unit):
    """A complete JSON object: `value` is the dict."""

    __slots__ = ("value",)


def json_objects(clean: Clean) -> list[Json]:
    """The outermost complete JSON objects, in order, also those in fences and in lists.

    Nothing is repaired: an object that is cut or not valid JSON is none, and so is what it holds. Objects with more
    than 100 levels, and NaN or Infinity, are not read. Linear time.
    """
    text = clean.text
    found: list[Json] = []
    start = 0
    while (opening := _OPENING.search(text, start)) is not None:
        end, depth = _closing(text, opening.start())
        if end is None:
            break
        value = _value(text[opening.start() : end]) if depth <= _DEEPEST else None
        if value is not None:
            unit = Json(clean, opening.start(), end)
            unit.value = value
            found.append(unit)
        start = end
    return found


def _closing(text: str, start: int) -> tuple[int | None, int]:
    """Where the object that starts here ends (None: nowhere), and how many levels it has."""
    depth = braces = deepest = 0
    for part in _PART.finditer(text, start):
        mark = part[0]
        if mark == "{":
            depth += 1
            braces += 1
            deepest = max(deepest, depth)
        elif mark == "[":
            depth += 1
            deepest = max(deepest, depth)
        elif mark == "]":
            depth -= 1
        elif mark == "}":
            depth -= 1
            braces -= 1
            if braces == 0:
                return part.end(), deepest
    return None, deepest


def _value(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text, parse_constant=_refuse)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
