"""D1, the grid: nine numbers in three rows, moved about.

Every operation rearranges them, and none leaves the grid as it was: each step counts, and no number is ever lost, which
is the integrity rule (CCB paper, section 3).
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from cdct.ceiling.domains import (
    OR,
    Definition,
    Domain,
    Operation,
    Reading,
    runs,
    stands_alone,
    undecided,
    without_marks,
)

if TYPE_CHECKING:
    import numpy as np

Grid = list[list[int]]
START: Grid = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
CORNERS = {"top-left": (0, 0), "top-right": (0, 2), "bottom-left": (2, 0), "bottom-right": (2, 2)}
KINDS = ("rotate", "shift_row", "shift_column", "swap_corners", "reverse", "flip", "transpose")


def start(rng: np.random.Generator) -> Grid:
    """Always the numbers 1 to 9 in order, as in the paper."""
    return [list(row) for row in START]


def draw(state: Grid, rng: np.random.Generator) -> Operation:
    """Each kind with the same chance, then its lines, directions and corners with the same chances."""
    kind = KINDS[rng.integers(len(KINDS))]
    if kind in ("shift_row", "shift_column"):
        directions = ("left", "right") if kind == "shift_row" else ("up", "down")
        return {"kind": kind, "line": int(rng.integers(3)) + 1, "to": directions[rng.integers(2)]}
    if kind == "swap_corners":
        first, second = sorted(rng.choice(4, size=2, replace=False))
        return {"kind": kind, "corners": [list(CORNERS)[first], list(CORNERS)[second]]}
    return {"kind": kind}


def _transposed(grid: Grid) -> Grid:
    return [list(column) for column in zip(*grid, strict=True)]


def apply(state: Grid, operation: Operation) -> Grid:
    """The grid after one operation."""
    kind = operation["kind"]
    if kind == "rotate":
        return _transposed(state[::-1])
    if kind == "transpose":
        return _transposed(state)
    if kind == "flip":
        return [row[::-1] for row in state]
    if kind == "reverse":
        return [row[::-1] for row in state[::-1]]
    if kind == "shift_row":
        grid, row = [list(row) for row in state], operation["line"] - 1
        grid[row] = grid[row][1:] + grid[row][:1] if operation["to"] == "left" else grid[row][-1:] + grid[row][:-1]
        return grid
    if kind == "shift_column":
        to = {"up": "left", "down": "right"}[operation["to"]]
        return _transposed(apply(_transposed(state), {"kind": "shift_row", "line": operation["line"], "to": to}))
    if kind == "swap_corners":
        grid = [list(row) for row in state]
        (a, b), (c, d) = (CORNERS[corner] for corner in operation["corners"])
        grid[a][b], grid[c][d] = grid[c][d], grid[a][b]
        return grid
    raise ValueError(f"D1: {kind!r} is no kind of operation; known: {', '.join(KINDS)}")


def describe(operation: Operation) -> str:
    """The operation in a few words, e.g. "shift row 2 left"."""
    kind = operation["kind"]
    if kind in ("shift_row", "shift_column"):
        return f"shift {kind.removeprefix('shift_')} {operation['line']} {operation['to']}"
    if kind == "swap_corners":
        return "swap the {} and {} corners".format(*operation["corners"])
    return {"rotate": "rotate clockwise", "flip": "flip left to right"}.get(kind, kind)


def render(state: Grid) -> str:
    """`[[7,4,1],[8,5,2],[9,6,3]]`."""
    return str(state).replace(" ", "")


_NUMBER = re.compile(r"(?<![^\W_])(?<!\d\.)-?\d{1,4}(?![^\W_])(?!\.\d)", re.ASCII)
_ROW_NAME = re.compile(
    r"\b(?:(?:top|middle|bottom|first|second|third|1st|2nd|3rd)[ \t_]?row|row[ \t_]?[123]|r[123])\b"
    r"[\"'`*]{0,4}[ \t]?[:=]?",
    re.IGNORECASE,
)
_REMARK = re.compile(r"[^\W\d_]{2}")
_NEXT = re.compile(r"[\[({]\s{0,9}[\[({]|[\])}]\s{0,9}[\])}]")
"""Two brackets opened or closed at once: between two numbers, one grid ends and another begins."""
_OR = re.compile(rf"{OR}-?\d|[\s\"'`*_]{{0,6}}\?")
_ROWS = (re.compile(r"[\])}]"), re.compile(r"\n|\\\\"), re.compile(r"[;/]"), re.compile(r"\|"))
"""What parts two rows, the clearest first: a closing bracket, a new line, a semicolon or slash, a bar."""


def _grid(run: list[re.Match[str]], text: str) -> Grid | None:
    """The grid that nine numbers in a run make, None where they don't stand as three rows of three or as one row."""
    numbers = [int(match[0]) for match in run]
    if len(numbers) != 9:
        return None
    gaps = [text[a.end() : b.start()] for a, b in pairwise(run)]
    bounds: list[int] = []
    for mark in _ROWS:
        bounds = [place for place, gap in enumerate(gaps, start=1) if mark.search(gap)]
        if bounds:
            break
    if bounds and bounds not in ([3, 6], list(range(1, 9))):
        return None
    return [numbers[:3], numbers[3:6], numbers[6:]]


def read(text: str) -> Reading:
    """The last grid in a text: nine integers in three rows, or in one row by row."""
    body, remarks = without_marks(_ROW_NAME.sub(" ", text), _REMARK)
    parts: list[list[re.Match[str]]] = []
    for run in runs(_NUMBER, body):
        parts.append([run[0]])
        for before, number in pairwise(run):
            if number.start() - before.end() > 1 and _NEXT.search(body, before.end(), number.start()):
                parts.append([])
            parts[-1].append(number)
    begun = [(run, _grid(run, body)) for run in parts if len(run) > 3]
    if not begun:
        return Reading(None, ("absent",))
    run, grid = begun[-1]
    if grid is None or _OR.match(body, run[-1].end()):
        return Reading(None, ("shape",))
    if any(other != grid and undecided(one, run, body) for one, other in begun[-2:-1]):
        return Reading(None, ("ambiguous",))
    flags = ["layout"] if text.strip() != render(grid) else []
    if remarks or not stands_alone(run, body):
        flags.append("prose")
    if any(other not in (None, grid) for _, other in begun):
        flags.append("several")
    return Reading(grid, tuple(flags))


def integrity(state: Grid) -> list[str]:
    """Which of the numbers 1 to 9 do not stand in the grid exactly once, and which other numbers do."""
    numbers = [number for row in state for number in row]
    wrong = [f"{n} stands {numbers.count(n)} times" for n in range(1, 10) if numbers.count(n) != 1]
    return wrong + [f"{n} is none of 1 to 9" for n in sorted(set(numbers) - set(range(1, 10)))]


DOMAINS = (
    Domain(
        name="D1",
        title="Grid",
        task="You track a grid of three rows and three columns that holds the numbers 1 to 9.",
        rules=(
            "Row 1 is the top row and row 3 the bottom row; column 1 is the left column and column 3 the right column.",
            "Each operation works on the grid that the one before it left. No number is ever lost or doubled.",
        ),
        layout="A grid is written row by row, from the top, each row from left to right: [[1,2,3],[4,5,6],[7,8,9]].",
        definitions=(
            Definition(
                "turn the whole grid a quarter turn clockwise. Row 1 becomes column 3, row 2 becomes column 2, row 3 "
                "becomes column 1, and what stood from left to right then stands from top to bottom.",
                START,
                {"kind": "rotate"},
            ),
            Definition(
                "in the named row, each number moves one place to the left, and the leftmost one to the right end. The "
                "other rows stay.",
                START,
                {"kind": "shift_row", "line": 2, "to": "left"},
            ),
            Definition(
                "in the named row, each number moves one place to the right, and the rightmost one to the left end. "
                "The other rows stay.",
                START,
                {"kind": "shift_row", "line": 1, "to": "right"},
            ),
            Definition(
                "in the named column, each number moves one place up, and the topmost one to the bottom. The "
                "other columns stay.",
                START,
                {"kind": "shift_column", "line": 1, "to": "up"},
            ),
            Definition(
                "in the named column, each number moves one place down, and the lowest one to the top. The "
                "other columns stay.",
                START,
                {"kind": "shift_column", "line": 3, "to": "down"},
            ),
            Definition(
                "the numbers in the two named corners change places. All others stay.",
                START,
                {"kind": "swap_corners", "corners": ["top-left", "bottom-right"]},
            ),
            Definition(
                "read all nine numbers row by row and write them back in the opposite order, so that the first becomes "
                "the last.",
                START,
                {"kind": "reverse"},
            ),
            Definition(
                "in every row, the first and the third number change places.",
                START,
                {"kind": "flip"},
            ),
            Definition(
                "rows become columns. Row 1 becomes column 1, row 2 becomes column 2, row 3 becomes column 3, and what "
                "stood from left to right then stands from top to bottom.",
                START,
                {"kind": "transpose"},
            ),
        ),
        example=(START, ({"kind": "rotate"}, {"kind": "shift_row", "line": 3, "to": "left"})),
        start=start,
        draw=draw,
        apply=apply,
        describe=describe,
        render=render,
        read=read,
        integrity=integrity,
    ),
)
