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
_NUMBERS = _CARDINALS | _ORDINALS | {f"{word}ly": number for word, number in _ORDINALS.items()} | _LAST
_ROMANS = _count("I II III IV V VI VII VIII IX X XI XII")
_DIGITS = re.compile(
    r"(?:[(\[](?P<paren>\d{1,3})[)\]]|#?(?P<number>\d{1,3})(?:\\?(?P<mark>[.):]++)(?!\d)|\ufe0f?(?P<key>\u20e3)"
    r"|[ \t]*+(?P<dash>[-–—])(?=[ \t])|(?P<th>st|nd|rd|th)\b[.:,)]*+|(?=[ \t])))[ \t]*+",
    re.ASCII,
)
_NO_MARKER_AFTER = frozenset(".,:/$€£+=^-_")
_ANY_DIGIT = re.compile(r"[0-9][0-9]*+")
_INITIAL = re.compile(r"[EFLNOSTeflnost](?<!\w.)")
_SPELLED = re.compile(
    rf"(?:(?P<ordinal>(?ai:(?:{'|'.join(_ORDINALS)})(?:ly)?|{'|'.join(_LAST)}))\b[,:.)]*+"
    rf"|(?P<cardinal>(?ai:{'|'.join(_CARDINALS)}))[.:)]++)[^\S\n]*+"
)
"""A number in words. It starts with an _INITIAL; to try it everywhere is slow."""
_PREFIX = r"[ \t>]*+(?:[-*+•][ \t]++)?+(?i:(?:step|rank|place|position|item|number|no\.?)[ \t]++)?+#?"
_BODY = re.compile(_PREFIX)
_ROMAN_ONE = re.compile(r"I[.):]")
_ROMAN = re.compile(rf"^{_PREFIX}([IVX]{{1,4}})([.):]++)[ \t]++", re.MULTILINE)


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
    """A number that may start an item; `first` says that in its line nothing but a bullet or "step" is before it."""

    __slots__ = ("end", "first", "line_end", "number", "shape", "start")

    def __init__(self, start: int, end: int, number: int, shape: str) -> None:
        self.start, self.end, self.number, self.shape = start, end, number, shape


def numbered(view: View, low: str) -> list[Numbered]:
    """The numbered lists of a text, of which `low` is the lower case, by where they start; those of different shapes
    may overlap.

    A list goes on with the next number in the same shape. One with a mark ("1.", "1)", "(1)", "1:", "1st", "#1",
    keycaps) at the start of its lines may start at any number and have one item, or have the number 1 on all of them;
    all others start at 1 and have two or more. In words: first, second, ..., finally; or "One.", "Two:". An item's
    text ends at the next number or at the end of its line.
    """
    found: list[Numbered] = []
    open_lists: dict[str, list[_Marker]] = {}
    for marker in _markers(view.text, low):
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


def _markers(text: str, low: str) -> Iterator[_Marker]:
    """The numbers that may start an item: first those in digits, then Roman ones, then words, each in order."""
    if has_digit(text):
        yield from _in_lines(text, _digits(text))
    if _ROMAN_ONE.search(text):
        romans = [roman for roman in _ROMAN.finditer(text) if roman[1] in _ROMANS]
        yield from _in_lines(text, (_Marker(one.start(1), one.end(), _ROMANS[one[1]], "roman") for one in romans))
    if ("second" in low and "first" in low) or (_marked("two", low) and _marked("one", low)):
        yield from _in_lines(text, _spelled(text))


def _in_lines(text: str, markers: Iterator[_Marker]) -> Iterator[_Marker]:
    """These markers, which are in order, with what depends on their lines."""
    body, end = 0, -1
    for marker in markers:
        if marker.start > end:
            start, end = text.rfind("\n", 0, marker.start) + 1, text.find("\n", marker.start)
            end = len(text) if end < 0 else end
            body = _BODY.match(text, start, end).end()
        marker.line_end, marker.first = end, marker.start <= body <= marker.end
        yield marker


def _digits(text: str) -> Iterator[_Marker]:
    for digits in _ANY_DIGIT.finditer(text):
        at = digits.start()
        at -= at > 0 and text[at - 1] in "([#"
        before = text[at - 1] if at else " "
        found = None if before.isalnum() or before in _NO_MARKER_AFTER else _DIGITS.match(text, at)
        if found:
            shape = found["key"] or found["dash"] or (found["mark"] or " ")[0]
            shape = "()" if found["paren"] else "th" if found["th"] else shape
            yield _Marker(at, found.end(), int(found["paren"] or found["number"]), shape)


def _spelled(text: str) -> Iterator[_Marker]:
    for initial in _INITIAL.finditer(text):
        if found := _SPELLED.match(text, initial.start()):
            shape = found.lastgroup
            yield _Marker(found.start(), found.end(), _NUMBERS[found[shape].lower()], shape)


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
