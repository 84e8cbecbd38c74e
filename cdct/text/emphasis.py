"""Which characters of a Markdown text are emphasis marks, by CommonMark's rules of what may open and close."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque

from cdct.text.spans import Span

_RUN = re.compile(r"([*_`])\1*+")
_LONGEST = 3
"""A longer row of stars or underlines is a rule or a blank to fill in, no emphasis."""
_DEPTH = 8
"""How many open marks a closing one may look past; keeps the time linear, and nobody nests deeper."""


def rows(text: str) -> list[Span]:
    """The spans of the rows of one mark that may be emphasis, in order."""
    return [row.span() for row in _RUN.finditer(text)]


def marks(text: str, runs: list[Span], start: int, end: int) -> list[Span]:
    """The spans of the emphasis marks and code ticks that come in pairs within `text[start:end]`, in order.

    `runs` are the `rows` of the text; none of them lies across an end.

    A star between two digits is a times sign; one after a backslash is a star. What stands between code ticks is left
    alone. Linear time.
    """
    first = bisect_left(runs, (start, 0))
    if first + 1 >= len(runs) or runs[first + 1][0] >= end:
        return []
    runs = runs[first : bisect_left(runs, (end, 0))]
    closings: dict[int, deque[int]] = {}
    for number, (a, b) in enumerate(runs):
        if text[a] == "`":
            closings.setdefault(b - a, deque()).append(number)
    found: list[Span] = []
    stacks: dict[str, list[list]] = {"*": [], "_": []}
    after = 0  # the first run that no code span holds
    for number, (a, b) in enumerate(runs):
        if number < after or text[a - 1 : a] == "\\":
            continue
        if text[a] == "`":
            same = closings[b - a]
            while same and same[0] <= number:
                same.popleft()
            if same:
                found += [(a, b), runs[same[0]]]
                after = same[0] + 1
            continue
        if b - a > _LONGEST:
            continue
        opens, closes = _flanks(text, a, b, start, end)
        stack, other = (stacks["*"], stacks["_"]) if text[a] == "*" else (stacks["_"], stacks["*"])
        while closes and a < b:
            depth = _opener(stack, b - a, opens)
            if depth is None:
                break
            del stack[depth + 1 :]
            opener = stack[depth]
            while other and other[-1][0] > opener[0]:
                other.pop()
            used = min(opener[1] - opener[0], b - a)
            found += [(opener[1] - used, opener[1]), (a, a + used)]
            opener[1] -= used
            a += used
            if opener[0] == opener[1]:
                stack.pop()
        if opens and a < b:
            stack.append([a, b, closes])
    return sorted(found)


def _opener(stack: list[list], length: int, both: bool) -> int | None:
    """The place in the stack of the nearest mark that a mark of this length may close (CommonMark's rule of three)."""
    for place in range(len(stack) - 1, max(-1, len(stack) - 1 - _DEPTH), -1):
        left = stack[place][1] - stack[place][0]
        if not ((both or stack[place][2]) and (left + length) % 3 == 0 and (left % 3 or length % 3)):
            return place
    return None


def _flanks(text: str, a: int, b: int, start: int, end: int) -> tuple[bool, bool]:
    """Whether the marks at `text[a:b]` may open and may close."""
    before = text[a - 1] if a > start else " "
    after = text[b] if b < end else " "
    if before.isspace() or after.isspace():
        return not after.isspace(), not before.isspace()
    left = after.isalnum() or not before.isalnum()
    right = before.isalnum() or not after.isalnum()
    if text[a] == "*":
        return (False, False) if before.isdigit() and after.isdigit() else (left, right)
    return left and not (right and before.isalnum()), right and not (left and after.isalnum())
