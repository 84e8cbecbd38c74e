"""A slow second reading of numbered lists, and of the one name that an item of a race stands for."""

from __future__ import annotations

import re
from typing import NamedTuple

CARDINALS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
ROMANS = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"]
LAST = -1
BEFORE = re.compile(
    r"[ \t>]*(?:[-*+•][ \t]+)?(?:(?:step|rank|place|position|item|number|no\.?)[ \t]+)?[#(\[]?", re.IGNORECASE
)
FREE = (".", ")", "()", ":")
"""The marks with which a list may start at any number, at the start of its lines."""


class Step(NamedTuple):
    number: int
    start: int
    end: int
    shape: str
    leads: bool


def steps(line: str) -> list[Step]:
    """All that may be a number of a list in a line, from the left."""
    found: list[Step] = []

    def put(number: int, start: int, end: int, shape: str) -> None:
        found.append(Step(number, start, end, shape, BEFORE.fullmatch(line[:start]) is not None))

    for match in re.finditer(r"[0-9]+", line):
        at, end, number = match.start(), match.end(), match[0]
        opened = line[at - 1] if at and line[at - 1] in "([#" else ""
        at -= len(opened)
        before = line[at - 1] if at else " "
        rest = line[end:]
        if len(number) > 3 or before.isalnum() or before in ".,:/$€£+=^-_":
            continue
        if opened in ("(", "["):
            if rest[:1] in (")", "]"):
                put(int(number), at, end + 1, "()")
        elif mark := re.match(r"\\?([.):])[.):]*(?![0-9])", rest):
            put(int(number), at, end + mark.end(), mark[1])
        elif re.match("\ufe0f?\u20e3", rest):
            put(int(number), at, end + rest.index("\u20e3") + 1, "key")
        elif mark := re.match(r"[ \t]*([-–—])[ \t]", rest):
            put(int(number), at, end + mark.end(), mark[1])
        elif mark := re.match(r"(st|nd|rd|th)\b[.:,)]*", rest):
            put(int(number), at, end + mark.end(), "th")
        elif rest[:1] in (" ", "\t"):
            put(int(number), at, end, " ")
    for number, roman in enumerate(ROMANS, 1):
        if (match := re.search(rf"{roman}[.):]+[ \t]", line)) and BEFORE.fullmatch(line[: match.start()]):
            put(number, match.start(), match.end(), "roman")
    for words, shape, mark in ((CARDINALS, "one", "[.:)]+"), (ORDINALS, "first", r"(?:ly)?\b[,:.)]*")):
        for number, word in enumerate(words, 1):
            for match in re.finditer(rf"\b{word}{mark}", line, re.IGNORECASE):
                put(number, *match.span(), shape)
    for match in re.finditer(r"\b(?:finally|lastly|last)\b[,:.)]*", line, re.IGNORECASE):
        put(LAST, *match.span(), "first")
    return sorted(found, key=lambda step: step.start)


def numbered(text: str) -> list[list[str]]:
    """The items of each list that starts at 1, in the order of their starts."""
    lines = text.split("\n")
    every = [(row, step) for row, line in enumerate(lines) for step in steps(line)]
    found: list[tuple[int, int, list[str]]] = []
    for shape in {step.shape for _, step in every}:
        if shape in ("one", "first") and not spelled(text):
            continue
        own = [(row, step) for row, step in every if step.shape == shape]
        rows: list[list[tuple[int, Step]]] = []
        for row, step in own:
            last = rows[-1][-1][1] if rows and rows[-1] else None
            if last and (
                (step.number == LAST and len(rows[-1]) > 1)
                or (step.number != LAST and step.number == last.number + 1)
                or (step.number == last.number == 1 and step.leads and last.leads)
            ):
                rows[-1].append((row, step))
            elif step.number == 1 or (step.leads and shape in FREE and step.number != LAST):
                rows.append([(row, step)])
        for number, steps_ in enumerate(rows):
            if len(steps_) == 1 and not (steps_[0][1].leads and shape in FREE):
                continue
            ends = [(row, step.start) for row, step in steps_[1:]] + [
                (rows[number + 1][0][0], rows[number + 1][0][1].start) if number + 1 < len(rows) else (len(lines), 0)
            ]
            items = []
            for (row, step), (next_row, next_start) in zip(steps_, ends, strict=True):
                cut = next_row == row
                item = lines[row][step.end : next_start if cut else len(lines[row])].rstrip(" \t,;>→")
                items.append(item.removesuffix(" and") if cut else item)
            if steps_[0][1].number == 1:
                found.append((steps_[0][0], steps_[0][1].start, items))
    return [items for _, _, items in sorted(found)]


def spelled(text: str) -> bool:
    """Whether two numbers in words stand anywhere: one alone makes no list."""
    low = text.lower()
    return ("first" in low and "second" in low) or all(re.search(rf"{word}[.:)]", low) for word in ("one", "two"))


def runner(item: str, names: list[str]) -> str:
    """The one name before the first mark, or "?"; another name at once behind the mark makes two."""
    low = item.lower()
    spots = sorted(
        (found.start(), found.end(), name)
        for name in names
        for found in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", low)
    )
    if not spots:
        return "?"
    end, name = spots[0][1:]
    stop = end
    while stop < len(low) and low[stop] not in ".!?…\n([{:;,–—/|&>→=":
        if low[stop].isspace() and low[stop + 1 : stop + 2] in ("-", "+", "<"):
            break
        stop += 1
    if any(spot[0] < stop for spot in spots[1:]) or re.search(r"\b(?:not|never|neither|nor)\b|n[’']t\b", low[:stop]):
        return "?"
    if low[stop : stop + 1] not in (".", "!", "?", "…", "\n", ""):
        words = re.findall(r"[^\W_]+", low[stop:])
        while words and words[0] in ("and", "or", "then", "also", "plus", "with", "but", "not"):
            words.pop(0)
        if words and words[0] in names:
            return "?"
    return name
