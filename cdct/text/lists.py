"""Numbered lists in all shapes in which models write them: "1.", "1)", "(1)", inline, bare numbers, words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cdct.text.spans import Unit, View
from cdct.text.tokens import has_digit


def _count(words: str) -> dict[str, int]:
    return {word: number for number, word in enumerate(words.split(), 1)}


_CARDINALS = _count("one two three four five six seven eight nine ten")
_ORDINALS = _count("first second third fourth fifth sixth seventh eighth ninth tenth")
_END = -1
_LAST = dict.fromkeys(("finally", "last", "lastly"), _END)
_ROMANS = _count("I II III IV V VI VII VIII IX X XI XII")
_DIGITS = re.compile(
    r"(?:[(\[](?P<paren>\d{1,3})[)\]]|#?(?P<number>\d{1,3})(?:\\?(?P<mark>[.):]++)(?!\d)|\ufe0f?(?P<key>\u20e3)"
    r"|[ \t]*+(?P<dash>[-–—])(?=[ \t])|(?P<th>st|nd|rd|th)\b[.:,)]*+|(?=[ \t])))[ \t]*+",
    re.ASCII,
)
_NO_MARKER_AFTER = frozenset(".,:/$€£+=^-_")
_ANY_DIGIT = re.compile(r"[0-9][0-9]*+")
_SPELLED = re.compile(
    rf"\b(?:(?P<ordinal>(?:{'|'.join(_ORDINALS)})(?:ly)?|{'|'.join(_LAST)})\b[,:.)]*+"
    rf"|(?P<cardinal>{'|'.join(_CARDINALS)})[.:)]++)\s*+",
    re.IGNORECASE,
)
_ROMAN = re.compile(r"([IVX]{1,4})([.):]++)[ \t]++")
_PREFIX = re.compile(
    r"[ \t>]*+(?:[-*+•][ \t]++)?+(?:(?:step|rank|place|position|item|number|no\.?)[ \t]++)?+#?", re.IGNORECASE
)


STYLES = ("line", "inline", "words", "bare")
"""How a numbered list is written, from the surest to what is most often no list at all: "line", a mark after each
number, at the start of lines; "inline", the same within lines; "words", which also stand in tales ("at first ... a
second"); "bare", numbers without a mark ("1 pear and 2 figs"). Who needs one list takes the first style that fits."""


class Item(Unit):
    """One item of a numbered list: its `number` as written and its text without number and closing comma."""

    __slots__ = ("number",)


class Numbered(Unit):
    """A numbered list: `items`, and its `style`, one of STYLES."""

    __slots__ = ("items", "style")


class _Marker:
    __slots__ = ("end", "first", "line_end", "number", "shape", "start")

    def __init__(self, start: int, end: int, line_end: int, number: int, shape: str, first: bool) -> None:
        self.start, self.end, self.line_end = start, end, line_end
        self.number, self.shape, self.first = number, shape, first


def numbered(view: View) -> list[Numbered]:
    """The numbered lists of a text, by where they start; lists of different shapes may overlap.

    A list goes on with the next number in the same shape. One with a mark ("1.", "1)", "(1)", "1:", "1st", "#1",
    keycaps) at the start of its lines may start at any number and have one item, or have the number 1 on all of them;
    all others start at 1 and have two or more. In words: first, second, ..., finally; or "One.", "Two:". An item's
    text ends at the next number or at the end of its line.
    """
    found: list[Numbered] = []
    open_lists: dict[str, list[_Marker]] = {}
    for marker in _markers(view.text):
        current = open_lists.get(marker.shape, [])
        if current and _goes_on(current, marker):
            current.append(marker)
        elif marker.number == 1 or (marker.first and marker.shape in _FREE):
            _close(found, view, current, marker.start)
            open_lists[marker.shape] = [marker]
    for current in open_lists.values():
        _close(found, view, current, len(view.text))
    return sorted(found, key=lambda unit: unit.place)


_FREE = frozenset([".", ")", "()", ":"])


def _goes_on(current: list[_Marker], marker: _Marker) -> bool:
    last = current[-1]
    if marker.number == _END:  # "finally"
        return len(current) > 1
    return marker.number == last.number + 1 or (marker.number == last.number == 1 and marker.first and last.first)


def _markers(text: str) -> Iterator[_Marker]:
    low = text.lower()
    spelled = ("first" in low and "second" in low) or (_marked("one", low) and _marked("two", low))
    every_line = spelled or _marked("I", text)
    if not (every_line or has_digit(text)):
        return
    end = -1
    for line in text.split("\n"):
        start, end = end + 1, end + 1 + len(line)
        if not (every_line or has_digit(line)):
            continue
        body = _PREFIX.match(text, start, end).end()
        for digits in _ANY_DIGIT.finditer(text, start, end):
            at = digits.start()
            at -= at > start and text[at - 1] in "([#"
            before = text[at - 1] if at > start else " "
            found = None if before.isalnum() or before in _NO_MARKER_AFTER else _DIGITS.match(text, at, end)
            if found:
                number = int(found["paren"] or found["number"])
                shape = found["key"] or found["dash"] or (found["mark"] or " ")[0]
                shape = "()" if found["paren"] else "th" if found["th"] else shape
                yield _Marker(at, found.end(), end, number, shape, at <= body <= found.end())
        if (roman := _ROMAN.match(text, body, end)) and roman[1] in _ROMANS:
            yield _Marker(body, roman.end(), end, _ROMANS[roman[1]], "roman", True)
        for found in _SPELLED.finditer(text, start, end) if spelled else ():
            word = (found["cardinal"] or found["ordinal"] or found[0]).lower().rstrip(" ,:.)\t")
            number = (_CARDINALS if found["cardinal"] else _ORDINALS | _LAST).get(word)
            number = _ORDINALS[word.removesuffix("ly")] if number is None else number
            shape = "cardinal" if found["cardinal"] else "ordinal"
            yield _Marker(found.start(), found.end(), end, number, shape, found.start() == body)


def _marked(word: str, text: str) -> bool:
    return word in text and any(word + mark in text for mark in ".:)")


def _close(found: list[Numbered], view: View, markers: list[_Marker], before: int) -> None:
    """Adds the list of these markers, if it is one; it ends before `before`, where the next one starts."""
    free = bool(markers) and markers[0].first and markers[0].shape in _FREE
    if len(markers) < (1 if free else 2):
        return
    items = []
    for number, marker in enumerate(markers):
        end = min(marker.line_end, markers[number + 1].start if number + 1 < len(markers) else before)
        text = view.text[marker.end : end].rstrip(" \t,;>→")
        text = text.removesuffix(" and").rstrip(" \t,;") if end < marker.line_end else text
        item = Item(view, marker.start, end, text)
        item.number = len(items) + 1 if marker.number == _END else marker.number
        items.append(item)
    unit = Numbered(view, markers[0].start, items[-1].place[1])
    unit.items = items
    spelled = markers[0].shape in ("ordinal", "cardinal")
    lines = all(marker.first for marker in markers)
    unit.style = "words" if spelled else "bare" if markers[0].shape == " " else "line" if lines else "inline"
    found.append(unit)
