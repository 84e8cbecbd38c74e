"""The two views of a reply in which constraints read: plain (without Markdown's marks) and prose (sentences only)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import dropwhile
from typing import NamedTuple

from cdct.text.blocks import BLANK, BREAK, FENCE, HEADING, NUMBERED, TEXT, Blocks, Line
from cdct.text.boundaries import ends
from cdct.text.emphasis import marks, rows
from cdct.text.objects import Json
from cdct.text.spans import Clean, Span, View

_QUOTE = re.compile(r"(?:[ \t]*+>)++[ \t]*+")
_INLINE = re.compile(r"(?<=[\s,;:*])(?:(\()?(\d{1,3})(?(1)\)|\\?([.)])))(?:\*\*)?+[ \t]++(?=\S)")
_DIGITS = re.compile(r"\d++")
_OPENS = re.compile(r"[.!?…:;][\"'”’)*_]*+\s*+(?:\*\*)?+\Z")
_GOES_ON = re.compile(r"[.!?…,;)\]][\"'”’)*_]*+\s*+(?:(?:and|or|then)\s++)?+(?:\*\*)?+\Z")
_AFTER_END = re.compile(r"[.!?…][\"'”’)*_]*+\s*+(?:\*\*)?+\Z")
_GAP = re.compile(r"\n\s*\n")
_ENOUGH = 2
"""One number by itself makes no list within a line."""
_REACH = 20
"""How far before a number its place is looked for: an end mark, closing quotes and brackets, a word like "and"."""


class Prose(NamedTuple):
    """The prose view, the spans of its paragraphs in it, and the places in it where a sentence must end."""

    view: Clean | View
    paragraphs: list[Span]
    breaks: list[int]


def unstructured(clean: Clean) -> Prose:
    """The prose of a reply without any Markdown: all of it, in paragraphs between blank lines."""
    text, ranges, start = clean.text, [], 0
    for gap in _GAP.finditer(text) if "\n" in text else ():
        ranges.append((start, gap.start()))
        start = gap.end()
    if text:
        ranges.append((start, len(text)))
    return _assemble(clean, ranges, [], []) if len(ranges) > 1 else Prose(clean, ranges, [])


def plain_holes(clean: Clean, blocks: Blocks, objects: list[Json]) -> list[Span]:
    """What the plain view leaves out: heading hashes and emphasis marks, none in fences, rules and JSON objects."""
    holes: list[Span] = []
    text = clean.text
    runs = rows(text) if "*" in text or "_" in text or "`" in text else []
    spans = [unit.place for unit in objects]

    def look_in(start: int, end: int) -> None:
        for low, high in _cut((start, end), spans) if spans else ((start, end),):
            holes.extend(marks(text, runs, low, high))

    stretch = end = -1  # where the lines of text lie that are one stretch, since emphasis may go over a line end
    for line in blocks.lines:
        if line.kind == TEXT:
            stretch = line.start if stretch < 0 else stretch
            end = line.end
            continue
        if stretch >= 0:
            look_in(stretch, end)
            stretch = -1
        if line.kind == HEADING:
            holes.append((line.start, line.body))
            look_in(line.body, line.tail)
            holes.append((line.tail, line.end))
        elif line.kind not in (FENCE, BREAK, BLANK):
            look_in(line.start, line.tail)
    if stretch >= 0:
        look_in(stretch, end)
    return [hole for hole in holes if hole[0] < hole[1]]


def plain_view(clean: Clean, holes: list[Span]) -> Clean | View:
    """The text without these holes."""
    return View.of(clean, _cut((0, len(clean.text)), holes)) if holes else clean


def prose(clean: Clean, blocks: Blocks, objects: list[Json], holes: list[Span]) -> Prose:
    """The sentences of a reply: its plain view without fences, tables, JSON objects, bullet items, headings and rules.

    The numbers of numbered items are left out, and so are numbered lines that hold no end of a sentence. A new
    numbered item and a JSON object at the end of a line end a sentence. What is left out as whole lines parts
    paragraphs, as it does when the reply is shown.
    """
    text, spans = clean.text, [unit.place for unit in objects]
    ranges: list[Span] = []
    gone: list[Span] = []
    breaks: list[int] = []
    first = last = None
    for line in [*blocks.lines, None]:
        kept = line is not None and _keep(text, line, spans, gone, breaks)
        if kept:
            first, last = first or line, line
        elif first:
            ranges.append((first.start, last.end))
            first = None
    return _assemble(clean, ranges, _merged([*holes, *spans, *gone]), sorted(breaks))


def _keep(text: str, line: Line, objects: list[Span], gone: list[Span], breaks: list[int]) -> bool:
    """Whether a line is prose; what is not prose in it goes to `gone`, ends of sentences that it forces to `breaks`."""
    if line.kind not in (TEXT, NUMBERED):
        return False
    start = line.start
    if line.kind == TEXT and ">" in line.text and (quote := _QUOTE.match(text, line.start, line.end)):
        gone.append(quote.span())
        start = quote.end()
    left = text[start : line.end]
    if objects:
        left = "".join(text[low:high] for low, high in _cut((start, line.end), objects))
    if not left or left.isspace():
        return False
    last = objects[max(0, bisect_right(objects, (line.end, -1)) - 1)][1] if objects else 0
    if line.start < last <= line.end and not text[last : line.end].strip(" \t.,;"):
        breaks.append(line.end)
    numbers = _inline_numbers(text, line, start)
    if line.kind == NUMBERED:
        content = " ".join(text[low:high].strip() for low, high in _cut((line.body, line.end), numbers))
        if not ends(content) or not ends(_without_numbers(content, text[line.start : line.body])):
            return False
        gone.append((line.start, line.body))
        breaks.append(line.start)
    for low, high in numbers:
        gone.append((low, high))
        if _AFTER_END.search(text[max(line.start, low - 12) : low]):
            breaks.append(low)
    return True


_NUMBER_END = re.compile(r"(?<= )(\d{1,3})[.)](?= )")


def _without_numbers(content: str, marker: str) -> str:
    """The content of a numbered line without the numbers that go on from its own ("1. Oslo 2. Rome" ends nothing)."""
    digits = _DIGITS.search(marker)
    parts, start, expected = [], 0, int(digits[0]) + 1 if digits else 0
    for found in _NUMBER_END.finditer(content):
        if int(found[1]) == expected:
            parts.append(content[start : found.start()])
            start, expected = found.end(), expected + 1
    return "".join([*parts, content[start:]])


def _inline_numbers(text: str, line: Line, start: int) -> list[Span]:
    """The spans of list numbers within a line ("Steps: 1. Boil. 2. Stir.", "1. Boil. 2. Stir.").

    The first stands at the start of the line or after an end mark, a colon or a semicolon, and is 1, or follows the
    line's own number. The next ones go on by one in the same shape and stand after an end mark, a comma, a semicolon
    or a closing bracket. Each has an item behind it, and there must be two, the line's own number among them. So a
    number at the end of a sentence ("We won 1. They won 2.", "The score: 1. The other one: 2.") is a word, and so is
    the one in "step (1)". In "How many? 1. Why? 2. Who?" nobody could tell; it is read as a list.
    """
    own = text[line.start : line.body].strip(" \t*\\>") if line.kind == NUMBERED else ""
    number = own.strip("().\\")
    if own and not number.isdigit():
        return []  # Roman
    style = ("()" if own[0] == "(" else own[-1]) if own else ""
    lists: list[list[Span]] = [[(line.start, line.body)]] if own else []
    expected = int(number) + 1 if own else 1
    for digits in _DIGITS.finditer(text, line.body if own else start, line.end):
        at = digits.start()
        found = _INLINE.match(text, at - (text[at - 1] == "("), line.end)
        if not found:
            continue
        shape, low = "()" if found[1] else found[3], found.start()
        before = text[max(start, low - _REACH) : low]
        if lists and int(found[2]) == expected and shape == style and _GOES_ON.search(before):
            if any(map(str.isalnum, text[lists[-1][-1][1] : low])):
                lists[-1].append(found.span())
                expected += 1
            else:  # a number without an item
                lists.pop()
                expected = 0
        elif int(found[2]) == 1 and (not before.strip(" \t*") or _OPENS.search(before)):
            lists.append([found.span()])
            style, expected = shape, 2
    return [span for one in lists if len(one) >= _ENOUGH for span in one if span[1] != line.body]


def _assemble(clean: Clean, ranges: list[Span], holes: list[Span], breaks: list[int]) -> Prose:
    """Paragraphs of these ranges without these holes, with a blank line between them. Everything is in order."""
    text = clean.text
    kept: list[Span] = []
    joints: dict[int, str] = {}
    paragraphs: list[Span] = []
    placed: list[int] = []
    length, due = 0, 0
    for span in ranges:
        pieces = _trimmed(text, _cut(span, holes))
        if not pieces:
            continue
        if kept:
            joints[pieces[0][0]] = "\n\n"
            length += 2
        start = length
        for begin, end in pieces:
            while due < len(breaks) and breaks[due] < end:
                placed.append(length + max(0, breaks[due] - begin))
                due += 1
            length += end - begin
        kept += pieces
        paragraphs.append((start, length))
    view = View.of(clean, kept, joints)
    return Prose(clean if view.text == text else view, paragraphs, placed)


def _trimmed(text: str, pieces: Iterable[Span]) -> list[Span]:
    """The pieces without white space at the outer ends."""

    def blank(piece: Span) -> bool:
        return text[piece[0] : piece[1]].isspace()

    pieces = [*dropwhile(blank, pieces)]
    if not pieces:
        return []
    while blank(pieces[-1]):
        pieces.pop()
    low, high = pieces[0]
    pieces[0] = (high - len(text[low:high].lstrip()), high)
    low, high = pieces[-1]
    pieces[-1] = (low, low + len(text[low:high].rstrip()))
    return pieces


def _merged(holes: list[Span]) -> list[Span]:
    """The holes in order, those that overlap made one."""
    found: list[Span] = []
    for low, high in sorted(holes):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return found


def _cut(span: Span, holes: list[Span]) -> Iterator[Span]:
    """What is left of a span without these holes, which are in order and apart."""
    start, end = span
    for number in range(max(0, bisect_right(holes, (start, end)) - 1), len(holes)) if holes else ():
        low, high = holes[number]
        if low >= end:
            break
        if high <= start:
            continue
        if low > start:
            yield start, low
        start = high
    if start < end:
        yield start, end
