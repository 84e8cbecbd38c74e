"""Reading replies: right ones in many layouts come back intact and flagged, and no layout makes a wrong state right."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdct import account
from cdct.ceiling import DOMAINS, applies, generate, read_reply, right_replies, score_trial
from cdct.core import BENCHMARKS, Item, stream, to_json
from cdct.extract import strip_reasoning

NAMES = ["D1", "D2", "D3", "D3-churn"]
each_domain = pytest.mark.parametrize("name", NAMES)


def item_of(name: str, depth: int = 6, index: int = 0, seed: int = 31) -> Item:
    return generate(seed=seed, domain=name, depths=[depth], trials=index + 1)[index]


# -------------------------------------------------------------------------------------------------------------- layouts
# How one state is written. Each takes a domain's name and a state, and keeps every value.


def plain(name: str, state: Any) -> str:
    return DOMAINS[name].render(state)


def spaced(name: str, state: Any) -> str:
    return re.sub(r"([,:])\s*", r"\1  ", plain(name, state))


def tight(name: str, state: Any) -> str:
    return plain(name, state).replace(" ", "")


def compact_json(name: str, state: Any) -> str:
    return to_json(state)


def indented_json(name: str, state: Any) -> str:
    return json.dumps(state, indent=2)


def quoted(name: str, state: Any) -> str:
    return str(state)


def shuffled(name: str, state: Any) -> str:
    """Other order of keys and pairs, and the two letters of a pair turned round; a grid has no order to change."""
    if name == "D1":
        return str(state)
    keys = sorted(state, key=lambda key: (sum(map(ord, key)) * 7 % 5, key))
    return ", ".join(f"{key[::-1]}:{state[key]}" for key in keys) or "none"


def lines(name: str, state: Any) -> str:
    """One part a line."""
    if name == "D1":
        return "\n" + "\n".join(" ".join(map(str, row)) for row in state)
    return "\n" + "\n".join(f"{key}: {value}" for key, value in state.items())


def bullets(name: str, state: Any) -> str:
    if name == "D1":
        return "\n" + "\n".join("- " + ", ".join(map(str, row)) for row in state)
    return "\n" + "\n".join(f"- {key} = {value}" for key, value in state.items())


def fenced(name: str, state: Any) -> str:
    return "\n```\n" + plain(name, state) + "\n```"


def fenced_json(name: str, state: Any) -> str:
    return "\n```json\n" + json.dumps(state, indent=1) + "\n```"


def ticked(name: str, state: Any) -> str:
    return f"`{plain(name, state)}`"


def bold(name: str, state: Any) -> str:
    return f"**{plain(name, state)}**"


def bracketed(name: str, state: Any) -> str:
    return "[" + plain(name, state) + "]" if name != "D1" else str(tuple(map(tuple, state)))


def semicolons(name: str, state: Any) -> str:
    if name == "D1":
        return "; ".join(" ".join(map(str, row)) for row in state)
    return "; ".join(f"{key}={value}" for key, value in state.items())


def table(name: str, state: Any) -> str:
    if name == "D1":
        return "\n" + "\n".join("| " + " | ".join(map(str, row)) + " |" for row in state)
    return "\n" + "\n".join(f"| {key} | {value} |" for key, value in state.items())


def broken(name: str, state: Any) -> str:
    """A line break in the middle of the state."""
    text = plain(name, state)
    middle = text.find(",", len(text) // 2) + 1
    return text[:middle] + "\n   " + text[middle:].lstrip() if middle else " " + text


# How the steps are laid out. Each takes the written states, the written answer and words for the operations.

Frame = Callable[[list[str], str, list[str]], str]


def numbered(step: str, answer: str = "ANSWER: {}", head: str = "TRACE\n", joined: str = "\n") -> Frame:
    def frame(states: list[str], last: str, operations: list[str]) -> str:
        steps = [
            step.format(n=n, s=state, op=words, N=len(states))
            for n, (state, words) in enumerate(zip(states, operations, strict=True), start=1)
        ]
        return head + joined.join(steps) + "\n" + answer.format(last)

    return frame


def backwards(states: list[str], last: str, operations: list[str]) -> str:
    steps = [f"Step {n}: {state}" for n, state in enumerate(states, start=1)]
    return "\n".join(["TRACE", *reversed(steps), f"ANSWER: {last}"])


def answer_first(states: list[str], last: str, operations: list[str]) -> str:
    steps = [f"Step {n}: {state}" for n, state in enumerate(states, start=1)]
    return "\n".join([f"ANSWER: {last}", "TRACE", *steps])


def twice(states: list[str], last: str, operations: list[str]) -> str:
    text = numbered("Step {n}: {s}")(states, last, operations)
    return f"{text}\n\nLet me write this down once more.\n\n{text}"


def echoed(states: list[str], last: str, operations: list[str]) -> str:
    asked = "\n".join(f"{n}. {words}" for n, words in enumerate(operations, start=1))
    template = "TRACE\nStep 1: <state>\nStep 2: <state>\n...\nANSWER: <the last state>\n\n"
    return (
        f"The operations, in this order:\n{asked}\n\n"
        + template
        + numbered("Step {n}: {s}")(states, last, [""] * len(states))
    )


def reasoned(states: list[str], last: str, operations: list[str]) -> str:
    wrong = numbered("Step {n}: {s}")([states[0]] * len(states), states[0], operations)
    return f"<think>First try:\n{wrong}\nNo.</think>\n" + numbered("Step {n}: {s}")(states, last, operations)


def windows(states: list[str], last: str, operations: list[str]) -> str:
    return numbered("Step {n}:{s}")(states, last, operations).replace("\n", "\r\n")


def objects(states: list[str], last: str, operations: list[str]) -> str:
    steps = [{"step": n, "operation": words, "state": "@"} for n, words in enumerate(operations, start=1)]
    text = json.dumps({"trace": steps, "answer": "@"})
    for state in (*states, last):
        text = text.replace('"@"', state, 1)
    return text


def keyed(key: str, indent: int | None = None) -> Frame:
    def frame(states: list[str], last: str, operations: list[str]) -> str:
        steps = {key.format(n): "@" for n in range(1, len(states) + 1)}
        text = json.dumps({"TRACE": steps, "ANSWER": "@"}, indent=indent)
        for state in (*states, last):
            text = text.replace('"@"', state, 1)
        return text

    return frame


DEFAULT = numbered("Step {n}: {s}")
LAYOUTS: dict[str, tuple[Frame, Callable[[str, Any], str]]] = {
    **{
        f"state {write.__name__}": (DEFAULT, write) for write in (spaced, compact_json, indented_json, quoted, shuffled)
    },
    **{f"state {write.__name__}": (DEFAULT, write) for write in (lines, bullets, fenced, fenced_json, ticked, bold)},
    **{f"state {write.__name__}": (DEFAULT, write) for write in (bracketed, semicolons, table, broken)},
    "no head": (numbered("Step {n}: {s}", head=""), plain),
    "small letters": (numbered("step {n}: {s}", "answer: {}", "trace\n"), plain),
    "capitals": (numbered("STEP {n}: {s}", "FINAL ANSWER: {}"), plain),
    "bold labels": (numbered("**Step {n}:** {s}", "**ANSWER:** {}", "**TRACE**\n"), plain),
    "bold labels, colon outside": (numbered("**Step {n}**: {s}", "**Answer**: {}", "## TRACE\n\n"), plain),
    "headings": (numbered("### Step {n}\n\n{s}\n", "## Final answer\n\n{}", "# Trace\n\n"), plain),
    "headings with operations": (numbered("### Step {n}: {op}\n\n{s}\n", "### ANSWER\n{}"), plain),
    "operations in brackets": (numbered("Step {n} ({op}): {s}"), plain),
    "operations before": (numbered("Step {n}: {op}. New state: {s}"), plain),
    "operations on lines of their own": (numbered("Operation {n}: {op}\nStep {n}: {s}"), plain),
    "bullets": (numbered("- Step {n}: {s}", "- ANSWER: {}"), plain),
    "numbered twice": (numbered("{n}. Step {n}: {s}"), plain),
    "numbers with a dot": (numbered("{n}. {s}"), plain),
    "numbers with a bracket": (numbered("{n}) {s}"), plain),
    "numbers in brackets": (numbered("({n}) {s}"), plain),
    "numbers with a colon": (numbered("{n}: {s}"), plain),
    "numbers and arrows": (numbered("{n} -> {s}"), plain),
    "bold numbers": (numbered("**{n}.** {s}"), plain),
    "numbered operations": (numbered("{n}. {op}: {s}"), plain),
    "S and arrows": (numbered("S{n} -> {s}"), plain),
    "hash": (numbered("Step #{n} = {s}", "ANSWER = {}"), plain),
    "of all": (numbered("Step {n} of {N}: {s}"), plain),
    "a dash": (numbered("Step {n} - {s}", "Answer - {}"), plain),
    "state after": (numbered("State after step {n}: {s}", "Final answer: {}"), plain),
    "states by number": (numbered("State {n}: {s}", "The final state is: {}"), plain),
    "operations and states": (numbered("Operation {n}: {op}\nState {n}: {s}"), plain),
    "a table": (numbered("| Step {n} | {s} |", head="| Step | State |\n|---|---|\n"), plain),
    "a table of numbers": (numbered("| {n} | {s} |", head="| Step | State |\n|---|---|\n"), plain),
    "a quotation": (numbered("> Step {n}: {s}", "> ANSWER: {}", "> TRACE\n"), plain),
    "all on one line": (numbered("Step {n}: {s}", joined=" "), plain),
    "all on one line, with semicolons": (numbered("Step {n}: {s}", joined="; "), tight),
    "empty lines": (numbered("Step {n}:\n\n{s}\n", "ANSWER:\n\n{}"), plain),
    "a fence around all": (numbered("Step {n}: {s}", "ANSWER: {}\n```", "```text\nTRACE\n"), plain),
    "words around": (
        numbered("Step {n}: {s}", "ANSWER: {}\n\nI hope that this helps you.", "Sure, here it is.\n\nTRACE\n"),
        plain,
    ),
    "words between": (numbered("Step {n}: {s}\nNext I go on with the list.", "So the answer is:\nANSWER: {}"), plain),
    "the answer after a step": (numbered("Step {n}: {s}", "ANSWER (after step 6): {}"), plain),
    "tags": (numbered('<step n="{n}">{s}</step>', "<answer>{}</answer>", ""), plain),
    "leading zeros": (numbered("Step 0{n}: {s}"), plain),
    "Windows lines": (windows, plain),
    "backwards": (backwards, plain),
    "the answer first": (answer_first, plain),
    "written twice": (twice, plain),
    "the question and a template first": (echoed, plain),
    "a reasoning block first": (reasoned, plain),
    "JSON by step": (keyed("Step {}"), compact_json),
    "JSON by number": (keyed("{}"), compact_json),
    "JSON with line breaks": (keyed("step_{}", 2), indented_json),
    "JSON list of objects": (objects, compact_json),
    "JSON of texts": (keyed("Step {}"), lambda name, state: to_json(plain(name, state))),
}
WORDED = frozenset({**account.FLAGS, **BENCHMARKS["ccb"].flags})
"""The flags of which a report says what they mean."""
each_layout = pytest.mark.parametrize("layout", LAYOUTS)


def written(item: Item, layout: str, states: list[Any] | None = None, answer: Any = None) -> str:
    frame, write = LAYOUTS[layout]
    name, states = item.params["domain"], item.truth["states"] if states is None else states
    answer = item.truth["answer"] if answer is None else answer
    return frame([write(name, state) for state in states], write(name, answer), item.meta["operations"])


def test_there_are_more_than_fifty_layouts_and_no_two_are_the_same() -> None:
    for name in NAMES:
        texts = {written(item_of(name), layout) for layout in LAYOUTS}
        assert len(texts) >= 60, name


@each_layout
@each_domain
def test_a_right_reply_in_any_layout_is_intact_and_flagged(name: str, layout: str) -> None:
    for index in range(4):
        item = item_of(name, index=index)
        text = written(item, layout)
        found = score_trial(item, text, "stop")
        assert (found.outcome, found.trace_status, found.k_star, found.missing) == ("correct", "intact", -1, ()), text
        canonical = strip_reasoning(text)[0] == right_replies(item)[0]
        assert found.flags or canonical, text
        assert WORDED.issuperset(found.flags)
        assert found.strict_outcome == ("correct" if canonical else "format")


ARM_PAIRS = [(arm, name) for arm in ("trace", "verbose", "schema", "slots", "mapping", "query") for name in NAMES]


@pytest.mark.parametrize(("arm", "name"), [(arm, name) for arm, name in ARM_PAIRS if applies(arm, name)])
def test_the_right_reply_of_each_arm_is_read_without_a_flag(arm: str, name: str) -> None:
    for depth in (1, 2, 12, 50):
        item = item_of(name, depth)
        (text,) = right_replies(item, arm)
        read = read_reply(name, text, arm)
        assert read.steps == dict(enumerate(item.truth["states"], start=1))
        found = score_trial(item, text, "stop", arm=arm)
        assert (found.outcome, found.strict_outcome, found.k_star, found.flags) == ("correct", "correct", -1, ())


# --------------------------------------------------------------------------------------------------------- wrong states


def corrupted(name: str, state: Any, rng: Any) -> Any:
    """A state that differs in one place: another value, two values exchanged, a pair more or less."""
    state = json.loads(json.dumps(state))
    if name == "D1":
        (a, b), (c, d) = ((int(rng.integers(3)), int(rng.integers(3))) for _ in range(2))
        if (a, b) == (c, d):
            state[a][b] = state[a][b] % 9 + 1
        else:
            state[a][b], state[c][d] = state[c][d], state[a][b]
    elif name == "D2":
        key = "ABCDEFG"[rng.integers(7)]
        state[key] = (state[key] + 1 + int(rng.integers(12))) % 14
    else:
        key = sorted(state)[rng.integers(len(state))]
        kind = rng.integers(3)
        if kind == 0 and len(state) > 1:
            del state[key]
        elif kind == 1 and (free := [a + b for a, b in combinations("ABCDEFGHIJ", 2) if a + b not in state]):
            state[free[rng.integers(len(free))]] = "ally"
        else:
            state[key] = "rival" if state[key] == "ally" else "ally"
    return dict(sorted(state.items())) if isinstance(state, dict) else state


@each_layout
@each_domain
def test_a_corruption_of_one_step_is_found_at_that_step(name: str, layout: str) -> None:
    item, rng = item_of(name, index=1), stream("corrupt", name, layout)
    for step in range(1, 7):
        states = list(item.truth["states"])
        states[step - 1] = corrupted(name, states[step - 1], rng)
        found = score_trial(item, written(item, layout, states), "stop")
        assert (found.outcome, found.tfbc, found.trace_status) == ("correct", True, "diverged")
        assert (found.k_star, found.first_wrong) == (step, step), written(item, layout, states)
        integrity = DOMAINS[name].integrity(states[step - 1])
        assert found.constraint_step == (step if integrity else None)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(NAMES), st.sampled_from(sorted(LAYOUTS)), st.integers(0, 2**32), st.data())
def test_no_layout_turns_a_wrong_state_into_a_right_one(name: str, layout: str, seed: int, data: Any) -> None:
    """What is read is what was written, state by state; of a text that is cut, also nothing."""
    item, rng = item_of(name, index=int(seed % 5)), stream("wrong", seed)
    states = [corrupted(name, state, rng) if rng.random() < 0.5 else state for state in item.truth["states"]]
    answer = corrupted(name, states[-1], rng)
    text = written(item, layout, states, answer)
    read = read_reply(name, text)
    assert read.steps == dict(enumerate(states, start=1)), text
    assert read.answer == answer
    cut = text[: data.draw(st.integers(0, len(text)))]
    found = score_trial(item, cut, "length")
    read = read_reply(name, cut)
    for step, state in read.steps.items():
        assert state in (None, states[step - 1]) or step == read.last, cut
    if answer != item.truth["answer"] and not found.answer_correct:
        assert found.outcome in ("truncation", "reasoning", "constraint")
    assert not (found.answer_correct and answer != item.truth["answer"] and states[-1] != item.truth["answer"])


# ------------------------------------------------------------------------------------------------------------ precision

G, H = "[[7,4,1],[8,5,2],[9,6,3]]", "[[1,2,3],[4,5,6],[7,8,9]]"
GRID, OTHER = json.loads(G), json.loads(H)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (f"Step 3 (from Step 2: {H}): {G}", {3: GRID}),
        (f"Before step 1: {H}\nAfter step 1: {G}", {1: GRID}),
        (f"Before step 2: {H}", {}),
        (f"Start: {H}\nStep 0: {H}\nStep 1: {G}", {1: GRID}),
        (f"Steps 1-3: {H}\nStep 4: {G}", {4: GRID}),
        (f"Steps 1 to 3: {H}", {}),
        (f"Step 1.5: {H}", {}),
        (f"As said in step 1: {H}\nStep 2: {G}", {2: GRID}),
        (f"Step 1: {H}\nSo after all of this we have {G}.", {1: OTHER}),
        (f"Step 1: turn {H}\nso that it becomes {G}", {1: GRID}),
        (f"Step 1: {H}\nFinal state: {G}", {1: OTHER}),
        (f"Step 1: Final state: {G}", {1: GRID}),
        (f"Step 1: <state>\nStep 2: <state>\nTRACE\nStep 1: {G}", {1: GRID}),
        (f"Step 1: {H}\nStep 1: {G}", {1: GRID}),
        (f"Step 1: {G}\nStep 2: {H}\nANSWER: {H}\nTRACE\nStep 1: {H}", {1: OTHER}),
        (f"Step 1: {G}\nTrace the next one with care.\nStep 2: {H}", {1: GRID, 2: OTHER}),
        (f"Step 1: {G}\nStep 2: unchanged\nStep 3: same as Step 1", {1: GRID}),
        (f"Step 1: {G}\nStep 2: [[1,2,3],[4,5", {1: GRID, 2: None}),
        (f"Step 1: {G}\nStep 2: [[1,2,3],[4,5,6]]", {1: GRID, 2: None}),
        (f'[{{"step": 1, "state": {H}}}, {{"step": 2, "state": {G}}}]', {1: OTHER, 2: GRID}),
        (f'[{{"state": {H}, "step": 1}}, {{"state": {G}, "step": 2}}]', {}),
        (f'[{{"state": {H}, "step": 1, "note": ""}}, {{"state": {G}, "step": 2, "note": ""}}]', {}),
        (f"TRACE\n{H}\n{G}", {}),  # no numbers: no steps, and no guess at them
        (f"1. turn\n2. flip\n\nTRACE\n1. {G}\n2. {H}", {1: GRID, 2: OTHER}),
        ("ANSWER:\n1. 7 4 1\n2. 8 5 2\n3. 9 6 3", {}),
        ("Step 1:\n7 | 4 | 1\n8 | 5 | 2\n9 | 6 | 3\n\n2. Step 2:\n1 2 3\n4 5 6\n7 8 9", {1: GRID, 2: OTHER}),
        ("", {}),
    ],
)
def test_which_states_are_steps(text: str, steps: dict[int, Any]) -> None:
    assert read_reply("D1", text).steps == steps


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (f"ANSWER: {H}\nWait.\nANSWER: {G}", GRID),
        (f"ANSWER: {G}\nANSWER: <the final grid>", GRID),
        (f"ANSWER: {G}\nANSWER: I can't say.", None),
        (f"ANSWER: {G}\nANSWER: [[1,2,3]]", None),
        (f"ANSWER: {G}\n\nNote that the start was {H}.", GRID),
        (f"ANSWER: {G}\n\nStart: {H}\nOperations, in this order:\n1. rotate", GRID),
        (f"ANSWER (after step 3): {G}", GRID),
        (f"ANSWER: the grid after step 3: {G}", GRID),
        (f"Answer: let us see.\nStep 1: {H}\nFinal grid: {G}", GRID),
        (f"So the answer is {G}", GRID),
        (f"The answer is {H}, I think.\nANSWER: {G}", GRID),
        (f"ANSWER: {G}\nThe answer is {H} in the example.", GRID),
        (f"<answer>{G}</answer>", GRID),
        (f"Step 1: {G}", None),
        (f"TRACE\n{G}", None),
        ("ANSWER:", None),
        (G, None),
    ],
)
def test_which_state_is_the_answer(text: str, answer: Any) -> None:
    assert read_reply("D1", text).answer == answer


@pytest.mark.parametrize(
    ("text", "unfinished"),
    [
        *((f"Step 1: {G}\nStep 2: [[1,2", True), (f"Step 1: {G}\nStep 2:", True), (f"Step 1: {G}\nStep 2", True)),
        *((f"Step 1: {G},", True), ('{"TRACE": {"Step 1": ' + G, True), ("<think>Let me see", True)),
        *((f"Step 1: {G}", False), (f"Step 1: {G}\nANSWER: {G}.", False), ("I can't do that :-)", False), ("", False)),
        *(("1) one\n2) two", False), (f"```\nANSWER: {G}\n```", False)),
    ],
)
def test_when_a_text_ends_inside_a_structure(text: str, unfinished: bool) -> None:
    assert read_reply("D1", text).unfinished is unfinished


@pytest.mark.parametrize(
    ("text", "steps", "answer"),
    [
        # only as the answer it may be the state
        ("Step 1: E and J are now rivals\n\nANSWER: E and J are now rivals", {}, "EJ:rival"),
        ("### Step 1\n**E and J are now rivals.**\nANSWER: EJ:rival", {}, "EJ:rival"),
        ("State 1: E and J are now rivals\nState 2: EJ:rival, AB:ally", {2: "EJ:rival, AB:ally"}, None),
        ("Step 1: A and B are now allies\nStep 2: B and C are now rivals\nANSWER: AB:ally", {}, "AB:ally"),
        ("Step 1: A and B are now allies (AB:ally)\nStep 2: none", {1: "AB:ally", 2: "none"}, None),
        ("1. E and J are now rivals\n2. A and B are now allies\nANSWER: EJ:rival", {}, "EJ:rival"),
        ("Operation 1: E and J are now rivals\nANSWER: EJ:rival", {}, "EJ:rival"),
        ("1. E and J are now rivals: EJ:rival\n2. A and B are now allies", {1: "EJ:rival"}, None),
        (
            "Step 1: Allies: AC\nRivals: BC\nANSWER:\nAllies: AC\nRivals: BC",
            {1: "AC:ally, BC:rival"},
            "AC:ally, BC:rival",
        ),
    ],
)
def test_an_operation_in_words_is_no_state_of_a_step(text: str, steps: dict[int, str], answer: str | None) -> None:
    read, d3 = read_reply("D3", text), DOMAINS["D3"].read
    assert read.steps == {number: d3(state).state for number, state in steps.items()}
    assert read.answer == (answer and d3(answer).state)


INTRODUCED = [
    *("The new state is:\n{}", "Now the relations are {}", "So we have {}", "Applying this operation gives:\n{}"),
    *("The relations now are:\n{}", "{}", "The relations now are:\n{}\nNext I go on with the list."),
]
WRITTEN = [
    *("AB:ally, CD:rival", "AB: ally\nCD: rival", "- AB:ally\n- CD:rival", "```\nAB:ally, CD:rival\n```"),
    *(
        "A and B are allies.\nC and D are rivals.",
        "- A and B are allies\n- C and D are rivals",
        "Allies: AB\nRivals: CD",
    ),
    *("A and B are allies, C and D are rivals", '{"AB": "ally", "CD": "rival"}'),
]


@pytest.mark.parametrize("name", ["D3", "D3-churn"])
@pytest.mark.parametrize("state", WRITTEN)
def test_a_state_after_an_operation_and_words_is_the_state(name: str, state: str) -> None:
    for words in INTRODUCED:
        for label in ("Step 2:", "### Step 2:", "**Step 2**:"):
            said = words.format("\n" + state if "\n" in state and "\n" not in words[:-3] else state)
            text = f"Step 1: A and B are now allies: AB:ally\n{label} C and D are now rivals\n{said}\nANSWER: AB:ally"
            assert read_reply(name, text).steps == {1: {"AB": "ally"}, 2: {"AB": "ally", "CD": "rival"}}, text


@pytest.mark.parametrize(
    "wrong", ["AB:rival", "AC:ally", "A and B are rivals", "A and C are allies.\nE and F are rivals."]
)
@pytest.mark.parametrize("words", INTRODUCED)
def test_the_words_of_an_operation_make_no_wrong_state_right(words: str, wrong: str) -> None:
    text = f"Step 1: A and B are now allies\n{words.format(wrong)}\nStep 2: AB:ally"
    state = read_reply("D3", text).steps[1]
    assert state is None or "AB" not in state or state["AB"] == "rival", text


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("A and B are allies.\nC and D are rivals.", "AB:ally, CD:rival"),
        (
            "A and B are allies\nA and C are rivals\nB and C are rivals\nThat is all so far.",
            "AB:ally, AC:rival, BC:rival",
        ),
        ("AB:ally\nC and D are now rivals", "AB:ally"),
        ("AB:ally\nC and D are rivals", None),
        ("A and B are allies.\nC and D are now rivals.", None),  # the next operation, or a part of the list
        ("C and D are now rivals.\nA and B are allies.", None),
        ("A and B are allies, C and D are now rivals", "AB:ally, CD:rival"),
    ],
)
def test_a_line_in_words_can_be_a_part_of_a_state(text: str, state: str | None) -> None:
    d3 = DOMAINS["D3"].read
    assert read_reply("D3", f"Step 1: {text}\nStep 2: none").steps[1] == (state and d3(state).state)


def test_how_numbers_and_answers_came_is_flagged() -> None:
    text = f"Step 2: {G}\nStep 1: {G}\nStep 1: {H}\nStep 3: [[1,2,3],[4\nStep 4: same\nANSWER: {H}\nANSWER: {G}"
    flags = {"steps_unordered", "steps_repeated", "steps_revised", "steps_unreadable", "steps_empty"}
    assert set(read_reply("D1", text).flags) == flags | {"answer_repeated", "answer_revised"}


def test_other_parts_are_no_states() -> None:
    text = "Agents 1: A: allies B\nStep 1: AB:ally\nAgents 2: A: allies B, rivals C\nStep 2: AB:ally\nANSWER: AB:ally"
    read = read_reply("D3", text, "verbose")
    assert (read.steps, read.answer, read.flags) == ({1: {"AB": "ally"}, 2: {"AB": "ally"}}, {"AB": "ally"}, ())
    text = "Operation 2: A and C are rivals\nStep 1: AB:ally\nOperation 2: A and C are rivals\nANSWER: AB:ally"
    assert read_reply("D3", text).steps == {1: {"AB": "ally"}}


# -------------------------------------------------------------------------------------------------------------- hostile

PIECES = (
    *(
        "Step 1: ",
        "Step ",
        "step 1",
        "S1 ",
        "ANSWER: ",
        "ANSWER",
        "answer is ",
        "Final state: ",
        "TRACE\n",
        "Agents 1: ",
    ),
    *(
        "1. ",
        "\n1. ",
        '"1": ',
        '{"step": 1, ',
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        "|",
        "\n| 1 | ",
        "-",
        "->",
        "*",
        "\n",
        " ",
    ),
    *("7", "7,", "7 4 1\n", "A:3, ", "A", "AB:ally, ", "AB", "Before step 1: ", "<think>", "</think>", "Operation 1: "),
    *("Start: ", "\nThis is prose\n", "State 1: ", "\u00e9", "\u0301", "`", '"', "Steps 1-", "after step 1", "0" * 9),
    *("Step 1: Operation 1: State 1: Final state: ", "Step 1: A and B are now allies\n", "ANSWER (", "Step 1 of "),
)


@each_domain
def test_the_domain_reads_no_part_of_a_text_many_times(name: str) -> None:
    """The domain's own reading is linear, so all is, as long as the blocks it is given are no longer than the text."""
    counted = 0

    def read(text: str) -> Any:
        nonlocal counted
        counted += len(text)
        return DOMAINS[name].read(text)

    domain = replace(DOMAINS[name], read=read)
    for piece in PIECES:
        counted, text = 0, piece * (10_000 // len(piece))
        read_reply(domain, text)
        assert counted <= 8 * len(text), piece


@pytest.mark.parametrize("piece", ["Step 1: ", "\n1. ", "ANSWER: ", "["])
def test_a_long_text_of_labels_is_read(piece: str) -> None:
    """A walk over the labels that took quadratic time would be stuck here."""
    for name in ("D1", "D3"):
        read_reply(name, piece * (200_000 // len(piece)))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(NAMES), st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=60))
def test_any_text_is_read_without_an_error(name: str, parts: list[str]) -> None:
    text = "".join(parts)
    read = read_reply(name, text)
    assert all(number > 0 for number in read.steps)
    item = item_of(name, 3)
    for finish in ("stop", "length", None):
        found = score_trial(item, text, finish)
        assert (found.outcome == "correct") == bool(found.answer_correct)
        assert (found.trace_status == "intact") == (found.k_star == -1)
        assert (found.trace_status == "absent") == (found.k_star is None) == (found.tfbc is None)
        assert found.strict_outcome in (found.outcome, "format")
        assert WORDED.issuperset(found.flags)


def test_a_single_long_line_of_states_is_one_step() -> None:
    item = item_of("D1", 3)
    found = score_trial(item, "Step 1: " + f"{H} " * 5_000, "length")
    assert (found.outcome, found.trace_status, found.missing) == ("truncation", "diverged", (2, 3))
