"""The JSON objects in a reply: only complete and valid ones, at any place, found in one pass."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, NoReturn

from cdct.text.spans import Clean, Unit

_OPENING = re.compile(r"""\{(?=\s*+(?:["'}]|[\w-]++\s*+:))""")
"""A brace that opens an object, not a placeholder: a quotation mark, a name with a colon or a brace follows."""
_PART = re.compile(r'"(?:[^"\\\n]++|\\.)*+"?|[{}\[\]]', re.DOTALL)
_KEYED = re.compile(r'\{\s*+"(?:[^"\\\x00-\x1f]++|\\.)*+"\s*+:', re.DOTALL)
_VALID = re.compile(
    r'\s*+(?:(?P<opens>[{\[])|(?P<closes>[}\]])|(?P<joins>[,:])|(?:"(?:[^"\\\x00-\x1f]++|\\.)*+"|-?[0-9][0-9.eE+-]*+'
    r"|true|false|null))",
    re.DOTALL,
)
_DEEPEST = 100
_TRIES = 4
"""How often what follows an unclosed brace is searched again for closing ones; keeps the time linear."""


class Json(Unit):
    """A complete JSON object: `value` is the dict."""

    __slots__ = ("value",)


def json_objects(clean: Clean) -> list[Json]:
    """The outermost complete JSON objects, in order, also those in fences and in lists.

    Nothing is repaired: an object that is not valid JSON is none, and so is what it holds. One whose brace is never
    closed goes up to where it stops being JSON ("Keys look like {"name": and so on"), so that a cut one takes what it
    holds with it, and a complete one behind it is read. Objects with more than 100 levels, and NaN or Infinity, are
    not read. Linear time.
    """
    text = clean.text
    found: list[Json] = []
    closings: dict[int, int | None] = {}  # of the braces behind one that is never closed
    start, tries = 0, 0
    while (opening := _OPENING.search(text, start)) is not None:
        first = opening.start()
        end, depth = None, 0
        if closings.get(first, -1) is not None and (first in closings or tries < _TRIES):
            end, depth = _closing(text, first)
            if end is None:
                closings |= _matches(text, first)
                tries += 1
        if end is None:
            start = _broken(text, first)
            continue
        value = _value(text[first:end]) if depth <= _DEEPEST else None
        if value is not None:
            unit = Json(clean, first, end)
            unit.value = value
            found.append(unit)
        start = end
    return found


def first_fitting(
    units: Iterable[Json], fits: Callable[[Mapping[str, Any]], bool]
) -> tuple[Json | None, Mapping[str, Any]]:
    """The first object that fits, with the unit it stands in; of objects within each other, the outermost one."""
    for unit in units:
        layer: list[Any] = [unit.value]
        while layer:
            for value in layer:
                if isinstance(value, dict) and fits(value):
                    return unit, value
            inner = chain.from_iterable(value.values() if isinstance(value, dict) else value for value in layer)
            layer = [value for value in inner if isinstance(value, dict | list)]
    return None, {}


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


def _matches(text: str, start: int) -> dict[int, int | None]:
    """Where each brace from here on is closed, read as `_closing` reads from here."""
    found: dict[int, int | None] = {}
    opened: list[int] = []
    for part in _PART.finditer(text, start):
        if part[0] == "{":
            opened.append(part.start())
            found[part.start()] = None
        elif part[0] == "}" and opened:
            found[opened.pop()] = part.end()
    return found


def _broken(text: str, start: int) -> int:
    """Where the object that starts here stops being JSON; what has no key and colon is no object at all."""
    if not _KEYED.match(text, start):
        return start + 1
    after_value, at = False, start
    while (token := _VALID.match(text, at)) is not None:
        if after_value and token.lastgroup not in ("closes", "joins"):
            break
        after_value = token.lastgroup in (None, "closes")
        at = token.end()
    return max(at, start + 1)


def _value(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text, parse_constant=_refuse)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
