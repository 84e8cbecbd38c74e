"""D2, the pointers: seven variables with different digits, shifted, swapped and set by sums modulo 10.

Only operations that keep the digits different and change something are drawn. States are spread evenly over all
604,800 from the start on, and every kind of operation keeps them so: hence all steps are alike, whatever the depth.
"""

from __future__ import annotations

import re
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

Values = dict[str, int]
NAMES = "ABCDEFG"
KINDS = ("shift_right", "shift_left", "swap", "set to a sum with a digit", "set to a sum of two variables")


def start(rng: np.random.Generator) -> Values:
    """Seven different digits, each choice and order with the same chance."""
    return dict(zip(NAMES, rng.permutation(10)[:7].tolist(), strict=True))


def draw(state: Values, rng: np.random.Generator) -> Operation:
    """Each of five kinds with the same chance. A variable is set to one of the three digits that no variable holds.

    Any digit is the sum of two different variables: of seven digits, at least four have the partner that it needs
    among the seven, and at most two of them are their own partner.
    """
    kind = KINDS[rng.integers(len(KINDS))]
    if kind.startswith("shift"):
        return {"kind": kind}
    if kind == "swap":
        x, y = sorted(rng.choice(7, size=2, replace=False))
        return {"kind": kind, "x": NAMES[x], "y": NAMES[y]}
    free = sorted(set(range(10)) - set(state.values()))
    x, digit = NAMES[rng.integers(7)], free[rng.integers(3)]
    if kind == "set to a sum with a digit":
        y = NAMES[rng.integers(7)]
        return {"kind": "set", "x": x, "y": y, "z": (digit - state[y]) % 10}
    sums = [y + z for y in NAMES for z in NAMES if y != z and (state[y] + state[z]) % 10 == digit]
    y, z = sums[rng.integers(len(sums))]
    return {"kind": "set", "x": x, "y": y, "z": z}


def apply(state: Values, operation: Operation) -> Values:
    """The values after one operation."""
    kind = operation["kind"]
    if kind in ("shift_right", "shift_left"):
        by = 1 if kind == "shift_right" else -1
        return {name: state[NAMES[(place - by) % 7]] for place, name in enumerate(NAMES)}
    if kind == "swap":
        x, y = operation["x"], operation["y"]
        return state | {x: state[y], y: state[x]}
    if kind == "set":
        z = operation["z"]
        return state | {operation["x"]: (state[operation["y"]] + (state[z] if isinstance(z, str) else z)) % 10}
    raise ValueError(f"D2: {kind!r} is no kind of operation; known: shift_right, shift_left, swap, set")


def describe(operation: Operation) -> str:
    """The operation in a few words, e.g. "set D to A plus 4 mod 10"."""
    kind = operation["kind"]
    if kind == "swap":
        return f"swap {operation['x']} and {operation['y']}"
    if kind == "set":
        return f"set {operation['x']} to {operation['y']} plus {operation['z']} mod 10"
    return kind.replace("_", " ")


def render(state: Values) -> str:
    """`A:3, B:0, C:7, D:1, E:9, F:4, G:5`."""
    return ", ".join(f"{name}:{state[name]}" for name in sorted(state))


_PAIR = re.compile(
    r"(?<![^\W_])(?:var[ _]?)?([A-Z])[\s\"'`*_,|)\]]{0,6}(?:(?::|=|->|→|\bis\b)[\s\"'`*_|(\[]{0,6})?"
    r"(?<![^\W_])(-?\d{1,4})(?![^\W_])(?!\.\d|[\s\"'`*_]{0,6}(?:(?:->|→|=)\s?-?\d|\+|%|-\d|mod\b|plus\b))",
    re.ASCII,
)
_OR = re.compile(rf"{OR}-?\d|[\s\"'`*_]{{0,6}}\?")
_CHANGED = re.compile(
    r"(?<![^\W_])([A-Z])[\s\"'`*_]{0,6}[:=][\s\"'`*_]{0,6}-?\d{1,4}[\s\"'`*_]{0,6}(?:->|→)[\s\"'`*_]{0,6}(-?\d{1,4})(?!\w)",
    re.ASCII,
)
"""A variable with its old value and its new one."""
_REMARK = re.compile(r"[^\W\d_]{2}")
_GAP = r"[ \t|,;*`\"']{1,9}"
_EDGE = r"[ \t|>*`\"']{0,9}"
_COLUMNS = re.compile(
    rf"^{_EDGE}([A-Z](?:{_GAP}[A-Z]){{6}}){_EDGE}\n(?:[ \t|:+-]{{1,99}}\n)?"
    rf"{_EDGE}(-?\d{{1,4}}(?:{_GAP}-?\d{{1,4}}){{6}}){_EDGE}$(?!\n[ \t|:*`-]{{0,9}}\d)",
    re.ASCII | re.MULTILINE,
)
"""A table whose columns are seven variables, with one row of values."""


def _by_column(table: re.Match[str]) -> str:
    names, values = re.findall(r"[A-Z]", table[1]), re.findall(r"-?\d+", table[2])
    return ", ".join(f"{name}:{value}" for name, value in zip(names, values, strict=True))


def read(text: str) -> Reading:
    """The last whole list of variables in a text, each with an integer; other single letters are read as variables."""
    body, remarks = without_marks(text, _REMARK)
    body = _COLUMNS.sub(_by_column, body)
    lists: list[list[re.Match[str]]] = []
    for run in runs(_PAIR, body):
        names: set[str] = set()
        lists.append([])
        for pair in run:
            if pair[1] in names and names.issuperset(NAMES):  # what follows a whole list is another one
                names = set()
                lists.append([])
            names.add(pair[1])
            lists[-1].append(pair)
    begun = [pairs for pairs in lists if len(pairs) > 2]
    if not begun:
        return Reading(None, ("absent" if not lists else "shape",))
    states = [{pair[1]: int(pair[2]) for pair in pairs} for pairs in begun]
    pairs, state = begun[-1], states[-1]
    if any(state[pair[1]] != int(pair[2]) for pair in pairs):
        return Reading(None, ("conflict",))
    if not set(NAMES) <= set(state) or _OR.match(body, pairs[-1].end()):
        return Reading(None, ("shape",))
    for match in (*_PAIR.finditer(body, pairs[-1].end()), *_CHANGED.finditer(body, pairs[-1].end())):
        if state.get(match[1]) != int(match[2]):
            return Reading(None, ("conflict",))
    if any(
        other != state and undecided(one, pairs, body) for one, other in zip(begun[-2:-1], states[-2:-1], strict=True)
    ):
        return Reading(None, ("ambiguous",))
    flags = ["layout"] if text.strip() != render(state) else []
    if [*state] != sorted(state):
        flags.append("order")
    if len(pairs) > len(state):
        flags.append("repeated")
    if remarks or not stands_alone(pairs, body):
        flags.append("prose")
    if any(set(NAMES) <= set(other) and other != state for other in states):
        flags.append("several")
    return Reading(dict(sorted(state.items())), tuple(flags))


def integrity(state: Values) -> list[str]:
    """Which values are no digit, which variables share one, and which names there are too many or too few."""
    wrong = [f"{name}:{value} is no digit" for name, value in state.items() if not 0 <= value <= 9]
    for value in sorted(set(state.values())):
        names = [name for name in state if state[name] == value]
        if len(names) > 1:
            wrong.append(f"{' and '.join(names)} both hold {value}")
    wrong += [f"there is no variable {name}" for name in state if name not in NAMES]
    return wrong + [f"{name} has no value" for name in NAMES if name not in state]


_EXAMPLE: Values = dict(zip(NAMES, (1, 2, 3, 4, 5, 6, 7), strict=True))

DOMAINS = (
    Domain(
        name="D2",
        title="Pointers",
        task="You track seven variables, A to G, that hold seven different digits from 0 to 9.",
        rules=(
            "Each operation works on the values that the one before it left.",
            "No two variables ever hold the same digit: the operations are chosen so that this stays true.",
        ),
        layout="The values are written in the order of the letters: A:1, B:2, C:3, D:4, E:5, F:6, G:7.",
        definitions=(
            Definition(
                "every value moves on to the next letter. A's value goes to B, B's to C, C's to D, D's to E, E's to F, "
                "F's to G, and G's to A.",
                _EXAMPLE,
                {"kind": "shift_right"},
            ),
            Definition(
                "every value moves back to the letter before. B's value goes to A, C's to B, D's to C, E's to D, F's "
                "to E, G's to F, and A's to G.",
                _EXAMPLE,
                {"kind": "shift_left"},
            ),
            Definition(
                "the two named variables exchange their values. All others stay.",
                _EXAMPLE,
                {"kind": "swap", "x": "B", "y": "F"},
            ),
            Definition(
                "add the number to the value that the second variable has before the operation, and give the last "
                "digit of the sum to the first variable. All others stay. Both variables may be the same.",
                _EXAMPLE,
                {"kind": "set", "x": "C", "y": "F", "z": 4},
            ),
            Definition(
                "add the values that the second and the third variable have before the operation, and give the last "
                "digit of the sum to the first variable. All others stay. The first may be one of the other two.",
                _EXAMPLE,
                {"kind": "set", "x": "D", "y": "B", "z": "G"},
            ),
        ),
        example=(_EXAMPLE, ({"kind": "shift_left"}, {"kind": "set", "x": "A", "y": "C", "z": 6})),
        start=start,
        draw=draw,
        apply=apply,
        describe=describe,
        render=render,
        read=read,
        integrity=integrity,
    ),
)
