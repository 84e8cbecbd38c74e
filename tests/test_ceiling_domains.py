"""The domains against solvers written from the prompt's words alone, their laws at any depth, and reading states."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare

from cdct.ceiling import DOMAINS, generate
from cdct.ceiling.domains import alliances, grid, pointers
from cdct.core import to_json

NAMES = ["D1", "D2", "D3", "D3-churn"]
each_domain = pytest.mark.parametrize("name", NAMES)


def test_the_four_domains_are_there() -> None:
    assert list(DOMAINS) == NAMES
    assert all(DOMAINS[name].name == name for name in NAMES)


# ------------------------------------------------------------------------------------------------ a second opinion each
# These solvers take an operation as the prompt lists it, in English: what they can follow, a reader can.


def solve_grid(state: list[list[int]], words: str) -> list[list[int]]:
    """Each cell of the new grid looks up the cell that its number comes from."""

    def corner(name: str) -> tuple[int, int]:
        return (0 if name.startswith("top") else 2, 0 if name.endswith("left") else 2)

    def source(row: int, column: int) -> tuple[int, int]:
        match words.split():
            case ["rotate", "clockwise"]:  # the top row was the left column, read upwards
                return 2 - column, row
            case ["transpose"]:
                return column, row
            case ["reverse"]:
                return 2 - row, 2 - column
            case ["flip", "left", "to", "right"]:
                return row, 2 - column
            case ["shift", "row", number, to]:
                return (row, (column + {"left": 1, "right": -1}[to]) % 3) if row == int(number) - 1 else (row, column)
            case ["shift", "column", number, to]:
                return ((row + {"up": 1, "down": -1}[to]) % 3, column) if column == int(number) - 1 else (row, column)
            case ["swap", "the", one, "and", other, "corners"]:
                pair = [corner(one), corner(other)]
                return pair[1 - pair.index((row, column))] if (row, column) in pair else (row, column)
        raise AssertionError(words)

    return [[state[r][c] for r, c in (source(row, column) for column in range(3))] for row in range(3)]


def solve_pointers(state: dict[str, int], words: str) -> dict[str, int]:
    """Walks over the seven letters on a ring, and adds up digits as text."""
    ring = "ABCDEFGA"
    after = dict(state)
    if words in ("shift right", "shift left"):
        for here, there in pairwise(ring):
            giver, taker = (here, there) if words.endswith("right") else (there, here)
            after[taker] = state[giver]
    elif match := re.fullmatch("swap (.) and (.)", words):
        after[match[1]], after[match[2]] = state[match[2]], state[match[1]]
    else:
        taker, first, second = re.fullmatch(r"set (.) to (.) plus (.) mod 10", words).groups()  # type: ignore[union-attr]
        total = state[first] + (int(second) if second.isdigit() else state[second])
        after[taker] = int(str(total)[-1])
    return after


TRIANGLES = [(a + b, a + c, b + c) for a, b, c in combinations("ABCDEFGHIJ", 3)]


def solve_alliances(state: dict[str, str], words: str) -> dict[str, str]:
    """Applies the three rules as they stand until nothing new follows."""
    first, second, kind = re.fullmatch(r"(.) and (.) are now (allies|rivals)", words).groups()  # type: ignore[union-attr]
    said = {"allies": "ally", "rivals": "rival"}[kind]
    known = dict(state)
    pair = "".join(sorted(first + second))
    if known.get(pair, said) != said:
        known = {two: relation for two, relation in known.items() if first not in two}
    known[pair] = said
    more = True
    while more:
        more = False
        for ab, ac, bc in TRIANGLES:
            for one, two, new in ((ab, ac, bc), (ab, bc, ac), (ac, bc, ab)):
                if one in known and two in known and new not in known:
                    known[new] = "ally" if known[one] == known[two] else "rival"
                    more = True
    return dict(sorted(known.items()))


SOLVERS: dict[str, Callable[[Any, str], Any]] = {
    "D1": solve_grid,
    "D2": solve_pointers,
    "D3": solve_alliances,
    "D3-churn": solve_alliances,
}


@each_domain
def test_a_second_solver_agrees_on_twenty_thousand_operations(name: str) -> None:
    solve, count = SOLVERS[name], 0
    for item in generate(seed=11, domain=name, depths=[50], trials=400):
        state = item.truth["start"]
        for words, after in zip(item.meta["operations"], item.truth["states"], strict=True):
            state = solve(state, words)
            assert state == after, (item.id, words)
            count += 1
        assert state == item.truth["answer"]
    assert count == 20_000


def test_the_relations_are_those_that_the_events_as_a_whole_imply() -> None:
    """D3 again, without any state: two agents are related if events connect them, by the rivalries on the way."""
    for item in generate(seed=12, domain="D3", depths=[4, 8, 30], trials=60):
        edges = [(*operation["pair"], operation["kind"] == "rival") for operation in item.truth["operations"]]
        expected = {}
        for root in "ABCDEFGHIJ":
            odd = {root: False}
            for _ in range(9):
                for a, b, rival in edges:
                    for here, there in ((a, b), (b, a)):
                        if here in odd:
                            odd.setdefault(there, odd[here] ^ rival)
            expected |= {root + other: "rival" if odd[other] else "ally" for other in odd if other > root}
        assert item.truth["answer"] == expected


# ---------------------------------------------------------------------------------------------------- laws at any depth


@each_domain
def test_every_state_keeps_the_rule_at_depth_200(name: str) -> None:
    domain = DOMAINS[name]
    for item in generate(seed=13, domain=name, depths=[200], trials=25):
        assert [domain.integrity(state) for state in item.truth["states"]] == [[]] * 200
        if name != "D3":  # every operation changes something
            assert item.truth["changed"] == [True] * 200
            assert item.truth["effective_depth"] == 200


def test_the_alliances_saturate_and_with_churn_they_do_not() -> None:
    plain, churn = (generate(seed=14, domain=name, depths=[200], trials=40) for name in ("D3", "D3-churn"))
    assert {item.truth["effective_depth"] for item in plain} == {9}
    assert {len(item.truth["answer"]) for item in plain + churn} == {45}
    late = [to_json(item.truth["states"][-50:]).count("ally") / (50 * 45) for item in churn]
    assert 0.4 < sum(late) / 40 < 0.55  # two even camps of ten have 20 of 45 pairs allied


@each_domain
def test_nothing_is_changed_in_place(name: str) -> None:
    domain = DOMAINS[name]
    for item in generate(seed=15, domain=name, depths=[12], trials=5):
        state = item.truth["start"]
        for operation in item.truth["operations"]:
            before = to_json([state, operation])
            after = domain.apply(state, operation)
            assert to_json([state, operation]) == before
            assert domain.apply(state, operation) == after
            state = after


def kinds(items: list[Any], steps: slice) -> Counter[str]:
    """What the operations of some steps are, as fine as their counts allow."""

    def kind(operation: dict[str, Any]) -> str:
        if "pair" in operation:
            return to_json(operation)
        return to_json({key: value if key != "z" else type(value).__name__ for key, value in operation.items()})

    return Counter(kind(operation) for item in items for operation in item.truth["operations"][steps])


def same(one: Counter[str], other: Counter[str]) -> float:
    names = sorted({*one, *other})
    return chi2_contingency([[one[name] for name in names], [other[name] for name in names]]).pvalue


@each_domain
def test_operations_are_alike_at_every_step_and_depth(name: str) -> None:
    short = generate(seed=16, domain=name, depths=[5], trials=1600)
    long = generate(seed=16, domain=name, depths=[40], trials=400)
    early, late = kinds(long, slice(0, 20)), kinds(long, slice(20, 40))
    assert same(early, late) > 0.001
    assert same(kinds(short, slice(0, 5)), early + late) > 0.001


def test_the_test_of_likeness_sees_a_drift() -> None:
    """What an operation does in D3 drifts, as it saturates: an axis of N alone would hide that."""
    items = generate(seed=16, domain="D3", depths=[40], trials=100)
    early, late = (Counter(str(c) for i in items for c in i.truth["changed"][s]) for s in (slice(0, 5), slice(35, 40)))
    assert same(early, late) < 1e-9


def test_operations_have_the_chances_that_they_are_said_to_have() -> None:
    def flat(counts: Counter[str], number: int) -> float:
        assert len(counts) == number
        return chisquare(list(counts.values())).pvalue

    operations = {
        name: [o for item in generate(seed=17, domain=name, depths=[50], trials=200) for o in item.truth["operations"]]
        for name in NAMES
    }
    assert flat(Counter(o["kind"] for o in operations["D1"]), 7) > 0.001
    assert flat(Counter(to_json(o) for o in operations["D1"] if o["kind"].startswith("shift")), 12) > 0.001
    assert flat(Counter(to_json(o) for o in operations["D1"] if o["kind"] == "swap_corners"), 6) > 0.001
    assert flat(Counter(o["kind"] + type(o.get("z")).__name__ for o in operations["D2"]), 5) > 0.001
    assert flat(Counter(o["x"] for o in operations["D2"] if o["kind"] == "set"), 7) > 0.001
    for name in ("D3", "D3-churn"):
        assert flat(Counter("".join(o["pair"]) for o in operations[name]), 90) > 0.001
        assert flat(Counter(o["kind"] for o in operations[name]), 2) > 0.001


def test_the_digits_are_spread_evenly_at_the_start_and_after_many_steps() -> None:
    items = generate(seed=18, domain="D2", depths=[30], trials=1000)
    for states in ([item.truth["start"] for item in items], [item.truth["answer"] for item in items]):
        for name in "ADG":
            assert chisquare(list(Counter(state[name] for state in states).values())).pvalue > 0.001


def test_any_seven_digits_can_be_set_to_any_other_as_a_sum_of_two() -> None:
    for digits in combinations(range(10), 7):
        for wanted in set(range(10)) - set(digits):
            assert any((y + z) % 10 == wanted for y, z in combinations(digits, 2))


def test_an_operation_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^D1: 'spin' is no kind of operation; known: rotate, shift_row, "):
        grid.apply(grid.START, {"kind": "spin"})
    with pytest.raises(ValueError, match=r"^D2: 'spin' is no kind of operation; known: shift_right, "):
        pointers.apply({}, {"kind": "spin"})
    with pytest.raises(ValueError, match=r"^D3: an event must agree with the relation AB:ally, got 'rival'$"):
        alliances.apply({"AB": "ally"}, {"kind": "rival", "pair": ["B", "A"]})


# ------------------------------------------------------------------------------------------------------------ integrity

BROKEN = {
    "D1": {
        "[[1,1,3],[4,5,6],[7,8,9]]": ["1 stands 2 times", "2 stands 0 times"],
        "[[1,2,3],[4,5,6],[7,8,12]]": ["9 stands 0 times", "12 is none of 1 to 9"],
    },
    "D2": {
        "A:1, B:2, C:3, D:4, E:5, F:6, G:6": ["F and G both hold 6"],
        "A:10, B:2, C:3, D:4, E:5, F:6, G:7": ["A:10 is no digit"],
        "A:1, B:2, C:3, D:4, E:5, F:6, G:-3": ["G:-3 is no digit"],
        "A:1, B:2, C:3, D:4, E:5, F:6, G:7, H:8": ["there is no variable H"],
    },
    "D3": {
        "AB:ally, AC:ally": ["BC follows from AB and AC and is left out"],
        "AB:ally, AC:ally, BC:rival": ["AB, AC and BC contradict each other"],
        "AB:rival, AC:rival, BC:rival": ["AB, AC and BC contradict each other"],
        "AK:ally": ["AK is no pair of agents"],
        "AA:ally": ["AA is no pair of agents"],
    },
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name in BROKEN for text in BROKEN[name]])
def test_a_wrong_state_is_read_as_it_stands_and_its_faults_are_named(name: str, text: str) -> None:
    reading = DOMAINS[name].read(text)
    assert reading.flags == ()
    assert DOMAINS[name].integrity(reading.state) == BROKEN[name][text]


# -------------------------------------------------------------------------------------------------------------- layouts


def lines(rows: Any) -> str:
    return "\n".join(rows)


def of_grid(join: Callable[[list[str]], str], row: Callable[[list[int]], str]) -> Callable[[Any], str]:
    return lambda state: join([row(numbers) for numbers in state])


def spaced(numbers: list[int]) -> str:
    return " ".join(map(str, numbers))


GRIDS = {
    "canonical": grid.render,
    "spaced": str,
    "brackets on lines": of_grid(lambda rows: "[\n  " + ",\n  ".join(rows) + "\n]", str),
    "no outer brackets": of_grid(", ".join, str),
    "rows of brackets": of_grid(lines, str),
    "round": lambda state: str(tuple(map(tuple, state))),
    "braces": lambda state: str(state).replace("[", "{").replace("]", "}"),
    "strings": lambda state: to_json([[str(n) for n in row] for row in state]),
    "plain lines": of_grid(lines, spaced),
    "commas on lines": of_grid(lines, lambda row: ", ".join(map(str, row))),
    "table": of_grid(lambda r: lines([r[0], "|---|:-:|---|", *r[1:]]), lambda row: f"| {' | '.join(map(str, row))} |"),
    "slashes": of_grid(" / ".join, spaced),
    "semicolons": of_grid("; ".join, spaced),
    "bars": of_grid(" | ".join, spaced),
    "named rows": lambda state: lines(f"Row {n}: {spaced(row)}" for n, row in enumerate(state, start=1)),
    "named in words": lambda s: lines(f"{n} row: {r}" for n, r in zip(("Top", "Middle", "Bottom"), s, strict=True)),
    "object of rows": lambda state: to_json({f"row{n}": row for n, row in enumerate(state, start=1)}),
    "object": lambda state: to_json({"grid": state}),
    "one list": lambda state: str([n for row in state for n in row]),
    "one line": of_grid(" ".join, spaced),
    "matrix": of_grid(
        lambda r: "\\begin{bmatrix} " + " \\\\ ".join(r) + " \\end{bmatrix}", lambda r: " & ".join(map(str, r))
    ),
    "numbered": lambda state: lines(f"{n}. {spaced(row)}" for n, row in enumerate(state, start=1)),
    "bullets": of_grid(lines, lambda row: f"- {spaced(row)}"),
    "bold numbers": of_grid(lines, lambda row: " ".join(f"**{n}**" for n in row)),
}


def of_pairs(join: str, pair: str, last_first: bool = False) -> Callable[[Any], str]:
    """All entries of a state in a form of `{k}` (`{a}`, `{b}` its letters) and `{v}`."""

    def write(state: dict[str, Any]) -> str:
        parts = [pair.format(k=k, v=v, a=k[0], b=k[-1], n=n) for n, (k, v) in enumerate(sorted(state.items()), start=1)]
        return join.join(parts[::-1] if last_first else parts)

    return write


VALUES = {
    "canonical": pointers.render,
    "equals": of_pairs(", ", "{k}={v}"),
    "equals spaced": of_pairs(", ", "{k} = {v}"),
    "colons spaced": of_pairs(", ", "{k}: {v}"),
    "lines": of_pairs("\n", "{k}: {v}"),
    "windows lines": of_pairs("\r\n", "{k}: {v}"),
    "object": to_json,
    "object on lines": lambda state: "{\n" + ",\n".join(f'  "{k}": {v}' for k, v in state.items()) + "\n}",
    "strings": lambda state: to_json({k: str(v) for k, v in state.items()}),
    "python": str,
    "arrows": of_pairs(", ", "{k}->{v}"),
    "signs": of_pairs(", ", "{k} → {v}"),
    "words": of_pairs(", ", "{k} is {v}"),
    "words and": lambda state: of_pairs(", ", "{k} is {v}")(state).replace(", G", " and G"),
    "brackets": of_pairs(" ", "({k}:{v})"),
    "table": lambda state: "|---|---|\n" + of_pairs("\n", "| {k} | {v} |")(state),
    "columns": lambda s: lines(f"| {' | '.join(map(str, row))} |" for row in (s, ["---"] * len(s), s.values())),
    "columns turned": lambda s: lines(" ".join(map(str, row)) for row in ([*s][::-1], [*s.values()][::-1])),
    "bullets": of_pairs("\n", "- {k}: {v}"),
    "stars": of_pairs("\n", "* {k}: {v}"),
    "numbered": of_pairs("\n", "{n}. {k}: {v}"),
    "backwards": of_pairs(", ", "{k}:{v}", last_first=True),
    "blanks alone": of_pairs(" ", "{k} {v}"),
    "var": of_pairs(", ", "var_{k} = {v}"),
    "semicolons": of_pairs("; ", "{k}:{v}"),
    "tuples": lambda state: str(list(state.items())),
    "tight": of_pairs(",", "{k}:{v}"),
    "no commas": of_pairs(" ", "{k}:{v}"),
    "bold": of_pairs(", ", "**{k}**: {v}"),
    "code": of_pairs(", ", "`{k}`: `{v}`"),
    "sentences": of_pairs(". ", "{k}: {v}"),
}


def of_groups(join: str, group: str, pair: str = "{a}{b}", between: str = ", ") -> Callable[[Any], str]:
    """All pairs of a state under the relation that they have, in a form of `{kind}` and `{pairs}`."""

    def write(state: dict[str, str]) -> str:
        groups = []
        for kind, name in (("Allies", "ally"), ("Rivals", "rival")):
            pairs = [pair.format(a=key[0], b=key[1]) for key in sorted(state) if state[key] == name]
            groups.append(group.format(kind=kind, low=kind.lower(), pairs=between.join(pairs) or "none"))
        return join.join(groups)

    return write


RELATIONS = {
    "canonical": alliances.render,
    "groups on lines": of_groups("\n", "{kind}: {pairs}"),
    "groups by slashes": of_groups(" / ", "{kind}: {pairs}"),
    "groups in sentences": of_groups(". ", "{kind}: {pairs}"),
    "groups in bold": of_groups("\n", "**{kind}:** {pairs}"),
    "groups under titles": of_groups("\n\n", "### {kind}\n{pairs}", between="\n"),
    "groups in bullets": of_groups("\n", "- {kind}: {pairs}", "{a}-{b}"),
    "bullets under groups": of_groups("\n", "{kind}\n- {pairs}", between="\n- "),
    "groups in a table": of_groups("\n", "| {kind} | {pairs} |"),
    "groups with and": of_groups("; ", "{kind}: {pairs}", "{a} and {b}"),
    "groups of tuples": of_groups("; ", "{low}: {pairs}", "({a},{b})"),
    "groups in sets": of_groups(", ", "{kind} = {{{pairs}}}"),
    "object of groups": lambda s: to_json({f"{k}s": [p for p in s if s[p] == k] for k in ("rival", "ally")}).replace(
        "allys", "allies"
    ),
    "object of lists": lambda s: to_json({k: [[*p] for p in s if s[p] == k] for k in ("ally", "rival")}),
    "slots": alliances.render_slots,
    "pairs turned": of_pairs(", ", "{b}{a}:{v}"),
    "colons spaced": of_pairs(", ", "{k}: {v}"),
    "lines": of_pairs("\n", "{k}: {v}"),
    "bullets": of_pairs("\n", "- {k}: {v}"),
    "numbered": of_pairs("\n", "{n}) {k}: {v}"),
    "object": to_json,
    "object on lines": lambda state: "{\n" + ",\n".join(f'  "{k}": "{v}"' for k, v in state.items()) + "\n}",
    "triples": lambda state: to_json([[*k, v] for k, v in state.items()]),
    "dashes": of_pairs(", ", "{a}-{b}: {v}"),
    "tuples": of_pairs(", ", "({a},{b}): {v}"),
    "words": lambda s: of_pairs(", ", "{a} and {b} are {v}")(s).replace("ally", "allies").replace("rival", "rivals"),
    "words now": lambda s: (
        of_pairs(". ", "{a} and {b} are now {v}")(s).replace("ally", "allies").replace("rival", "rivals")
    ),
    "equals": of_pairs(", ", "{k} = {v}"),
    "table": of_pairs("\n", "| {k} | {v} |"),
    "wide table": of_pairs("\n", "| {a} | {b} | {v} |"),
    "backwards": of_pairs(", ", "{k}:{v}", last_first=True),
    "brackets": of_pairs(" ", "[{k}:{v}]"),
    "semicolons": of_pairs("; ", "{k}:{v}"),
    "blanks alone": of_pairs(", ", "{k} {v}"),
    "ampersands": of_pairs(", ", "{a} & {b}: {v}"),
    "slashes": of_pairs(", ", "{a}/{b}: {v}"),
    "arrows": of_pairs(", ", "{k} -> {v}"),
    "capitals": lambda state: of_pairs(", ", "{k}:{v}")(state).upper(),
    "of": of_pairs(", ", "{k}({v})"),
    "twice": lambda state: alliances.render(state) + ", " + of_pairs(", ", "{b}{a}:{v}")(state),
    "with none": lambda state: of_pairs(", ", "{k}:{v}")({p: state.get(p, "none") for p in ("AB", "IJ", *state)}),
    "sentences": of_pairs(". ", "{k}: {v}"),
    "bold": of_pairs(", ", "**{k}**: {v}"),
}
WRAPS = {
    "bare": "{}",
    "indented": "\n   {}\n\n",
    "fence": "```json\n{}\n```",
    "bold": "**{}**",
    "prose": "After that, this is what holds:\n{}\nThat is all.",
    "remark": "{} (nothing else has changed)",
}
LAYOUTS = {"D1": GRIDS, "D2": VALUES, "D3": RELATIONS, "D3-churn": RELATIONS}
CASES = [(name, layout, wrap) for name in NAMES for layout in LAYOUTS[name] for wrap in WRAPS]


def states_of(name: str, trials: int) -> list[Any]:
    return [
        s for item in generate(seed=19, domain=name, depths=[3, 30], trials=trials) for s in item.truth["states"][1:]
    ]


STATES = {name: states_of(name, 2) for name in NAMES}


@pytest.mark.parametrize(("name", "layout", "wrap"), CASES)
def test_a_state_is_read_back_from_any_layout_and_flagged(name: str, layout: str, wrap: str) -> None:
    domain = DOMAINS[name]
    for state in STATES[name]:
        text = WRAPS[wrap].format(LAYOUTS[name][layout](state))
        reading = domain.read(text)
        assert reading.state == state, (text, reading)
        assert to_json(reading.state) == to_json(state)
        assert (reading.flags == ()) is (text.strip() == domain.render(state))
        if wrap in ("prose", "remark"):
            assert "prose" in reading.flags


def test_there_are_at_least_fifty_layouts_of_a_state() -> None:
    assert all(Counter(name for name, _, _ in CASES)[name] >= 50 for name in NAMES)


def spoilt(name: str, state: Any, rng: random.Random) -> Any:
    """A state that differs in one place."""
    if name == "D1":
        wrong = [list(row) for row in state]
        row, column = rng.randrange(3), rng.randrange(3)
        wrong[row][column] = rng.choice([n for n in range(10) if n != state[row][column]])
        return wrong
    key = rng.choice(sorted(state))
    if name == "D2":
        return state | {key: rng.choice([n for n in range(12) if n != state[key]])}
    if rng.random() < 0.5 and len(state) > 1:
        return {pair: kind for pair, kind in state.items() if pair != key}
    return state | {key: {"ally": "rival", "rival": "ally"}[state[key]]}


@given(st.sampled_from(CASES), st.integers(0, 2**32))
def test_no_layout_makes_a_wrong_state_right(case: tuple[str, str, str], seed: int) -> None:
    name, layout, wrap = case
    rng = random.Random(seed)
    state = rng.choice(STATES[name])
    wrong = spoilt(name, state, rng)
    reading = DOMAINS[name].read(WRAPS[wrap].format(LAYOUTS[name][layout](wrong)))
    assert reading.state == wrong


@given(st.sampled_from(CASES), st.integers(0, 2**32))
def test_a_part_of_a_text_never_gives_another_whole_state(case: tuple[str, str, str], seed: int) -> None:
    """Cut anywhere, a grid or a list of values is that state or none; a list of relations may be a shorter one."""
    name, layout, wrap = case
    rng = random.Random(seed)
    state = rng.choice(STATES[name])
    text = WRAPS[wrap].format(LAYOUTS[name][layout](state))
    read = DOMAINS[name].read(text[: rng.randrange(len(text))]).state
    if name in ("D1", "D2"):
        assert read in (None, state)
    else:
        assert read is None or read.items() <= state.items()


JOINTS = [
    "\n",
    "\n\n",
    ", ",
    "; ",
    " ",
    " and ",
    " / ",
    ", also ",
    ". Moreover, ",
    " (as before) ",
    "\nThe others:\n",
    " | ",
    " -> ",
]


APART = sorted(set(RELATIONS) - {"with none"})  # the layout that says of two pairs more than its state does


@given(
    st.sampled_from(APART),
    st.sampled_from(APART),
    st.sampled_from(JOINTS),
    st.integers(0, 2**32),
)
def test_no_relation_is_passed_over(one: str, other: str, joint: str, seed: int) -> None:
    """Of two parts of a state, each in a layout of its own, both are read as they stand, or nothing is.

    But for the second alone where the first is an operation told in a sentence before it.
    """
    rng = random.Random(seed)
    state = rng.choice(STATES["D3-churn"])
    first = {pair: kind for pair, kind in state.items() if rng.random() < 0.3}
    second = {pair: kind for pair, kind in state.items() if pair not in first}
    if first and second:
        text = RELATIONS[one](first) + joint + RELATIONS[other](second)
        read = alliances.read(text).state
        assert read in (None, state) or (one == "words now" and len(first) == 1 and read == second), text


# ------------------------------------------------------------------------------------------------- what is read as what
GRID, TURNED = "[[1,2,3],[4,5,6],[7,8,9]]", "[[7,4,1],[8,5,2],[9,6,3]]"
SEVEN, OTHER = "A:1, B:2, C:3, D:4, E:5, F:6, G:7", "A:7, B:1, C:2, D:3, E:4, F:5, G:6"
THREE = "AB:ally, AC:rival, BC:rival"
READINGS: list[tuple[str, str, str | None, str]] = [
    ("D1", f"{GRID} -> {TURNED}", TURNED, "several"),
    ("D1", f"{GRID}\n{TURNED}", TURNED, "several"),
    ("D1", f"{TURNED}, {TURNED}", TURNED, "layout"),
    ("D1", f"{TURNED} (before: {GRID})", TURNED, "prose"),
    ("D1", f"swap the corners 1 and 9: {TURNED}", TURNED, "prose"),
    ("D1", f"3. {TURNED}", TURNED, "layout"),
    ("D1", "", None, "absent"),
    ("D1", "<state after operation 1>", None, "absent"),
    ("D1", "[[?,?,?],[?,?,?],[?,?,?]]", None, "absent"),
    ("D1", "[[7,4,1],[8,5,2],[9,6]]", None, "shape"),
    ("D1", "[[7,4,1],[8,5,2],[9,6,3,0]]", None, "shape"),
    ("D1", "[[7,4],[1,8,5,2],[9,6,3]]", None, "shape"),  # nine numbers, but not three rows of three
    ("D1", "7 4\n1 8 5 2\n9 6 3", None, "shape"),
    ("D1", f"{GRID} -> [[7,4,1],[8,5", None, "shape"),  # cut: the grid before is not the one after
    ("D1", "[[7.5,4,1],[8,5,2],[9,6,3]]", None, "shape"),
    ("D2", f"{SEVEN} -> {OTHER}", OTHER, "several"),
    ("D2", f"{SEVEN}\n{OTHER}", OTHER, "several"),
    ("D2", f"{SEVEN}\nB is unchanged: B:2", SEVEN, "prose"),
    ("D2", "D:4 (was 3), A:1, B:2, C:3, E:5, F:6, G:7", SEVEN, "order"),
    ("D2", SEVEN + ", A:1", SEVEN, "layout"),
    ("D2", "A:1, B:2, A:1, C:3, D:4, E:5, F:6, G:7", SEVEN, "repeated"),
    ("D2", "A:1, B:2, A:3, C:3, D:4, E:5, F:6, G:7", None, "conflict"),
    ("D2", "A:1, B:2, C:3, D:4, E:5, F:6", None, "shape"),
    ("D2", "D:4", None, "shape"),
    ("D2", "A:1, B:2, C:3, D:3+1, E:5, F:6, G:7", None, "shape"),
    ("D2", "A:1, B:2, C:3, D:3 -> 4, E:5, F:6, G:7", None, "shape"),
    ("D2", "A:1, B:2, C:3, D:4.5, E:5, F:6, G:7", None, "shape"),
    ("D2", "A:1, B:2, C:3, D:12345, E:5, F:6, G:7", None, "shape"),
    ("D2", f"{SEVEN} -> A:7, B:1, C:2, D:", None, "shape"),
    ("D2", "A, B, C, D, E, F, G", None, "absent"),
    ("D2", f"{SEVEN} but B:0", None, "conflict"),
    ("D2", f"{SEVEN} -> B:9", None, "conflict"),
    ("D2", f"B:0, then {SEVEN}, where B: 0 -> 2", SEVEN, "prose"),
    ("D2", f"{OTHER}, or rather {SEVEN}", SEVEN, "several"),
    ("D3", "none", "none", ""),
    ("D3", "None.", "none", "layout"),
    ("D3", "{}", "none", "layout"),
    ("D3", "", None, "absent"),
    ("D3", "no changes", None, "absent"),
    ("D3", f"C and A are now rivals. So: {THREE}", THREE, "prose"),
    ("D3", f"AB:ally -> {THREE}", THREE, "several"),
    ("D3", f"{THREE}. New: AC:rival", None, "ambiguous"),
    ("D3", "AB:ally, AC:rival, BC:friend", None, "shape"),
    ("D3", "AB:ally, AC:rival, BC:", None, "shape"),
    ("D3", "AB:ally, AC:ally -> rival, BC:rival", None, "shape"),
    ("D3", "AB, AC: ally", None, "shape"),
    ("D3", "AB:ally, BA:rival", None, "conflict"),
    ("D3", "AB:ally, BA:ally", "AB:ally", "repeated"),
    ("D3", "AB:allies", "AB:ally", "wording"),
    ("D3", "AB:not ally", None, "shape"),
    ("D3", "AB:A, AC:R", None, "shape"),
    ("D3", "A and B could be allies", None, "absent"),
    # one word can be the relation of what stands before it or the heading of what follows
    ("D3", "Allies: AC\nRivals: BC", "AC:ally, BC:rival", "layout"),
    ("D3", "Allies: AB, CD\nRivals: none", "AB:ally, CD:ally", "layout"),
    ("D3", '{"allies": [], "rivals": []}', "none", "layout"),
    ("D3", "Allied pairs: AB, CD. Rival pairs: EF.", "AB:ally, CD:ally, EF:rival", "layout"),
    ("D3", "Allies and rivals: AB:ally, CD:rival", "AB:ally, CD:rival", "prose"),
    ("D3", "Allies: AB\nRivals: CD\nSo now: AB:rival, CD:rival", "AB:rival, CD:rival", "several"),
    ("D3", "C and A are now rivals.\nAllies: AB\nRivals: AC, BC", THREE, "prose"),
    ("D3", "Allies AB, Rivals CD", None, "shape"),
    ("D3", "Allies (AB), Rivals (CD)", None, "shape"),
    ("D3", "Allies: AB\nRivals:", None, "shape"),
    ("D3", "Allies: AB\nRivals: AB", None, "conflict"),
    ("D3", "Allies: A, B, C\nRivals: D", None, "shape"),
    ("D3", "Allies: A-B-C", None, "shape"),
    ("D3", "Allies: AB. The rivals are: EF", None, "ambiguous"),
    ("D3", "Allies: AB\nRivals: CD\nBF ally", None, "shape"),
    ("D3", "Rivals: A-E -> Allies = {GI}, Rivals = {CI}", None, "ambiguous"),
    ("D3", "Allies: AB:ally, CD:ally\nRivals: EF:rival", None, "ambiguous"),
    ("D3", "AB, CD are allies; EF are rivals", None, "shape"),
    ("D3", "AB as well as CD are allies", None, "ambiguous"),
    # a relation of something that is no pair, and a pair without a relation
    ("D3", "F:rival, FG:rival", None, "shape"),
    ("D3", "A:rival, AB:ally", None, "shape"),
    ("D3", "A is rival, AB:ally", None, "shape"),
    ("D3", "ABC:ally, AB:ally", None, "shape"),
    ("D3", "ab:ally", None, "shape"),
    ("D3", '{"A": {"B": "ally"}, "CD": "rival"}', None, "shape"),
    ("D3", "| | A | B |\n|---|---|---|\n| A | - | ally |\n| B | ally | - |", None, "shape"),
    ("D3", "A: allies B, rivals C", None, "shape"),
    ("D3", "AB:ally\nA: allies B\nB: allies A", "AB:ally", "prose"),
    ("D3", "AB:ally\nA: allies B\nC: rivals D", None, "ambiguous"),
    ("D3", "AB:ally, CD", None, "shape"),
    ("D3", "AB:ally, C:", None, "shape"),
    ("D3", "AB:ally, also CD:rival", None, "ambiguous"),
    ("D3", "AB:ally (also CD:rival)", None, "ambiguous"),
    ("D3", "AB:ally. CD:rival", "AB:ally, CD:rival", "layout"),
    # sentences are a list of their own, and an operation that is told is no state beside one
    ("D3", "E and J are now rivals", "EJ:rival", "told"),
    ("D3", "E and J are rivals", "EJ:rival", "wording"),
    ("D3", "A and B are now allies, A and C are now rivals, B and C are now rivals", THREE, "wording"),
    ("D3", f"C and A are now rivals\n{THREE}", THREE, "prose"),
    ("D3", "C and A are now rivals\nAB:ally, BC:rival", "AB:ally, BC:rival", "prose"),
    ("D3", "(C and A are now rivals): AB:ally", "AB:ally", "prose"),
    ("D3", "C and A are now rivals, AB:ally", None, "ambiguous"),
    ("D3", "C and A are now rivals. D and E are now allies. AB:ally", None, "ambiguous"),
    ("D3", "AB:ally. A and B are now rivals", None, "ambiguous"),
    # a table with the variables as columns
    (
        "D2",
        "| A | B | C | D | E | F | G |\n|---|---|---|---|---|---|---|\n| 1 | 2 | 3 | 4 | 5 | 6 | 7 |",
        SEVEN,
        "layout",
    ),
    ("D2", "A B C D E F G\n1 2 3 4 5 6 7\n7 1 2 3 4 5 6", None, "shape"),
    ("D2", "A B C D E F G\n1 2 3 4 5 6", None, "shape"),
    ("D2", "A B C D E F A\n1 2 3 4 5 6 7", None, "conflict"),
]


@pytest.mark.parametrize(("name", "text", "expected", "flag"), READINGS)
def test_what_is_read_as_what(name: str, text: str, expected: str | None, flag: str) -> None:
    domain = DOMAINS[name]
    reading = domain.read(text)
    assert reading.state == (None if expected is None else domain.read(expected).state)
    assert flag in reading.flags or (flag == "" and reading.flags == ())
    if expected is None:
        assert len(reading.flags) == 1


HEDGED = [
    *(
        ("D3", f"AB:ally{one}")
        for one in (" or rival", "/rival", " / rival", ", or rival", " (or rival)", "|rival", "?")
    ),
    *(
        ("D3", text)
        for text in ("A and B are allies or rivals", "AB:ally or maybe rival, CD:rival", "AB:ally or AB:rival")
    ),
    *(
        ("D3", text)
        for text in ("either AB:rival or AB:ally", "A and B are either allies or rivals", "AB:ally and/or rival")
    ),
    *(("D3", text) for text in ("AB:ally (or maybe AB:rival)", "AB:ally, CD:ally or rival", "Are A and B allies? Yes")),
    *(("D1", text) for text in (f"either {GRID} or {TURNED}", f"{GRID} or {TURNED}", f"{GRID} (or {TURNED})")),
    *(
        ("D1", text)
        for text in ("[[1,2,3],[4,5,6],[7,8,9 or 8]]", "[[1,2,3],[4,5,6 or 7],[7,8,9]]", f"{GRID}, perhaps {TURNED}")
    ),
    *(("D2", text) for text in (f"either {SEVEN} or {OTHER}", f"{SEVEN}, or maybe {OTHER}", f"{SEVEN} (or {OTHER})")),
    *(
        ("D2", SEVEN + one)
        for one in (" or 8", "/8", "?", ", B:0", " but B:0", " -> B:9", "\nB = 9", ". B:2 -> 9", " (or B:9)")
    ),
    *(("D2", text) for text in ("A:1 or 2, B:2, C:3, D:4, E:5, F:6, G:7", "A:1/2, B:2, C:3, D:4, E:5, F:6, G:7")),
]


@pytest.mark.parametrize(("name", "text"), HEDGED)
def test_what_leaves_a_value_open_is_no_state(name: str, text: str) -> None:
    assert DOMAINS[name].read(text).state is None


SIDE_BY_SIDE = {
    **{"cells": "| 2 | {} | {} |", "bar": "{} | {}", "fences": "```\n{}\n```\n```\n{}\n```"},
    **{"fences and a word": "```\n{}\n``` becomes\n```\n{}\n```", "brackets": "[{}] [{}]", "braces": "{{{}}}, {{{}}}"},
    **{"brackets on lines": "[{}]\n[{}]", "one bracket": "({}; {})", "slash": "{} / {}", "dash": "{} - {}"},
    **{"lines": "{}\n{}", "apart": "{}\n\n{}", "bullets": "- {}\n- {}", "and": "{} and {}", "semicolon": "{}; {}"},
}
BEFORE = "AB:ally, AC:rival, BC:rival"


@pytest.mark.parametrize("form", SIDE_BY_SIDE)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        *((BEFORE, BEFORE + ", DE:ally"), (BEFORE, BEFORE), ("AB:ally", "AB:ally, CD:rival"), ("none", "AB:ally")),
        *((BEFORE, "AB:ally, AC:rival, DE:ally"), (BEFORE, "AC:rival, BC:rival, DE:ally"), (BEFORE, "AB:ally")),
    ],
)
def test_of_a_state_before_and_one_after_no_pair_is_carried_over(form: str, before: str, after: str) -> None:
    read = alliances.read
    kept = read(before).state.items() <= read(after).state.items()  # type: ignore[union-attr]
    found = read(SIDE_BY_SIDE[form].format(before, after)).state
    assert found == (read(after).state if kept else None)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "| 2 | AB:ally | CD:rival |",
            "| 2 | AB:ally | C and D are now rivals | CD:rival |",
            "```\nAB:ally\n```\nCD:rival",
        ),
        *("[AB:ally, AC:rival] [BC:rival]", "P01[AB:ally] P02[] P03[]\nP01[] P02[] P03[CD:rival]", "AB:ally\nAB:rival"),
        "| 2 | C and D are now rivals | AB:ally | CD:rival |",
    ],
)
def test_lists_of_different_pairs_are_not_joined(text: str) -> None:
    assert alliances.read(text).state is None


# -------------------------------------------------------------------------------------------------------- hostile texts

PIECES = [
    "A",
    "B",
    "AB",
    ":",
    "=",
    " ",
    "\n",
    "1",
    "23",
    "[[",
    "]]",
    ",",
    "(",
    ")",
    "ally",
    "rival",
    "->",
    "-",
    "*",
    "P01",
    "é",
]
texts = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=60).map("".join))


@given(st.sampled_from(NAMES), texts)
def test_any_text_is_read_as_a_state_or_a_reason(name: str, text: str) -> None:
    domain = DOMAINS[name]
    reading = domain.read(text)
    if reading.state is None:
        assert reading.flags in [("absent",), ("shape",), ("conflict",), ("ambiguous",)]
    else:
        assert set(reading.flags) <= {"layout", "order", "wording", "told", "repeated", "prose", "several"}
        assert domain.read(domain.render(reading.state)).state == reading.state
        assert all(isinstance(fault, str) for fault in domain.integrity(reading.state))
        to_json(reading.state)


PILES = [
    "AB:ally" + "]" * 999,
    "AB:ally" + "|" * 999 + "\n",
    "P01",
    "AB:ally\n",
    "(",
    "[[1,",
    "A:1,",
    "AB:ally,",
    "AB",
    "A ",
    "1 ",
    "-",
    " ",
    "1.\n",
    "`",
    "((1)",
    "none",
    "|-",
    "P01[",
]


@each_domain
@pytest.mark.parametrize("piece", PILES)
def test_a_megabyte_is_read_in_linear_time(name: str, piece: str) -> None:
    """In quadratic time it would take hours."""
    DOMAINS[name].read(DOMAINS[name].render(STATES[name][0]) + piece * (10**6 // len(piece)) + "x")
