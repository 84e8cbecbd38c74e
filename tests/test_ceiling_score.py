"""Scoring trials: outcomes and trace statuses apart, the strict reading, missing calls, conversations."""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd
import pytest
from conftest import Endpoint, completion, failure

from cdct.ceiling import applies, generate, read_reply, rendered, right_replies, score, score_trial
from cdct.ceiling.score import COLUMNS, CUT, TraceVerdict
from cdct.core import KEYS, Item, stream
from cdct.models import Model
from cdct.run import run

NAMES = ["D1", "D2", "D3", "D3-churn"]
ITEM = generate(seed=41, domain="D1", depths=[3], trials=1)[0]
RIGHT = ITEM.truth["states"]
SWAPPED = [[row[1], row[0], row[2]] for row in RIGHT[0]]  # a permutation that is no state of the item
DOUBLED = [[1, 1, 3], [4, 5, 6], [7, 8, 9]]  # breaks the rule of the grid


def reply(states: dict[int, Any], answer: Any = None, item: Item = ITEM) -> str:
    name = item.params["domain"]
    steps = [f"Step {number}: {rendered(name, 'trace', state)}" for number, state in states.items()]
    return "\n".join(["TRACE", *steps] + ([] if answer is None else [f"ANSWER: {rendered(name, 'trace', answer)}"]))


def whole(**changed: Any) -> dict[int, Any]:
    return {number: changed.get(f"s{number}", state) for number, state in enumerate(RIGHT, start=1)}


def without(*steps: int) -> dict[int, Any]:
    return {number: state for number, state in whole().items() if number not in steps}


END = RIGHT[-1]


@pytest.mark.parametrize(
    ("states", "answer", "outcome", "status", "k_star", "tfbc", "missing", "constraint_step"),
    [
        (whole(), END, "correct", "intact", -1, False, (), None),
        (whole(), SWAPPED, "reasoning", "intact", -1, False, (), None),
        (whole(), DOUBLED, "constraint", "intact", -1, False, (), 3),
        (whole(s2=SWAPPED), END, "correct", "diverged", 2, True, (), None),
        (whole(s2=SWAPPED), SWAPPED, "reasoning", "diverged", 2, False, (), None),
        (whole(s2=DOUBLED), SWAPPED, "constraint", "diverged", 2, False, (), 2),
        (whole(s2=SWAPPED, s3=DOUBLED), DOUBLED, "reasoning", "diverged", 2, False, (), None),
        (whole(s3=DOUBLED), END, "correct", "diverged", 3, True, (), 3),
        (without(2), END, "correct", "short", 2, True, (2,), None),
        (without(2, 3), END, "correct", "short", 2, True, (2, 3), None),
        (without(1), SWAPPED, "reasoning", "short", 1, False, (1,), None),
        ({1: RIGHT[0], 3: SWAPPED}, END, "correct", "diverged", 2, True, (2,), None),
        ({1: SWAPPED, 3: END}, END, "correct", "diverged", 1, True, (2,), None),
        ({}, END, "correct", "absent", None, None, (), None),
        ({}, SWAPPED, "reasoning", "absent", None, None, (), None),
        ({}, DOUBLED, "constraint", "absent", None, None, (), 3),
        (whole(), None, "format", "intact", -1, False, (), None),
        (whole(s1=SWAPPED), None, "format", "diverged", 1, False, (), None),
    ],
)
def test_outcome_and_trace_are_judged_apart(
    states: dict[int, Any],
    answer: Any,
    outcome: str,
    status: str,
    k_star: int | None,
    tfbc: bool | None,
    missing: tuple[int, ...],
    constraint_step: int | None,
) -> None:
    found = score_trial(ITEM, reply(states, answer), "stop")
    assert (found.outcome, found.trace_status, found.k_star) == (outcome, status, k_star)
    assert (found.tfbc, found.missing, found.constraint_step) == (tfbc, missing, constraint_step)
    assert found.answer_correct is (answer == END)


@pytest.mark.parametrize(
    ("text", "finish", "outcome"),
    [
        (reply(without(3)), "length", "truncation"),
        (reply(without(3)), "stop", "format"),
        (reply(without(3)), None, "format"),
        (reply(without(3)) + "\nStep 3: [[1,2,3],[4", "stop", "truncation"),
        (reply(without(3)) + "\nStep 3:", None, "truncation"),
        (reply(whole()) + "\nANSWER:", "stop", "truncation"),
        (reply(whole()) + "\nANSWER: [[1,2,3]]", "stop", "format"),
        (reply(whole(), END), "length", "correct"),
        (reply(whole(), SWAPPED), "length", "reasoning"),
        (reply(whole(), END) + "\nANSWER: [[1,2", "length", "truncation"),
        ("", "length", "truncation"),
        ("", "stop", "format"),
        ("<think>First I turn", "stop", "truncation"),
        ("TRACE", "stop", "truncation"),
        ("I can't help with that.", "stop", "format"),
    ],
)
def test_truncation_needs_a_limit_or_an_unfinished_structure(text: str, finish: str | None, outcome: str) -> None:
    assert score_trial(ITEM, text, finish).outcome == outcome


def test_without_a_reply_there_is_no_verdict() -> None:
    assert score_trial(ITEM, None) == TraceVerdict("api")
    assert score_trial(ITEM, reply(whole(), END), error="timeout") == TraceVerdict("api")
    assert TraceVerdict("api").answer_correct is None


def test_a_list_that_a_limit_cut_may_have_gone_on() -> None:
    """Relations have no fixed number, and numbers no fixed length: what stands before the cut can look whole."""
    item = generate(seed=41, domain="D3", depths=[4], trials=1)[0]
    text = right_replies(item)[0]
    found = score_trial(item, text, "length")
    assert (found.outcome, found.answer_correct, found.trace_status) == ("truncation", False, "intact")
    assert score_trial(item, text, "stop").outcome == "correct"
    lines = text.splitlines()
    cut = "\n".join(lines[:4]) + "\n" + lines[4][: lines[4].index(",")]
    assert score_trial(item, cut, "stop").k_star == 4
    found = score_trial(item, cut, "length")
    assert (found.trace_status, found.k_star, found.missing) == ("short", 4, (4,))
    other = generate(seed=41, domain="D2", depths=[4], trials=1)[0]
    found = score_trial(other, right_replies(other)[0], "length")  # G:5 may have become G:51
    assert (found.outcome, found.trace_status) == ("truncation", "intact")
    assert score_trial(other, right_replies(other)[0] + "\nStep 5: ", "length").outcome == "correct"
    found = score_trial(ITEM, right_replies(ITEM)[0], "length")  # closed by its brackets
    assert (found.outcome, found.flags) == ("correct", ("truncated",))


@pytest.mark.parametrize(
    ("change", "strict"),
    [
        (lambda text: text, "correct"),
        (lambda text: f"\n{text}\n\n", "correct"),
        (lambda text: f"<think>hm</think>{text}", "correct"),
        (lambda text: text.replace("Step 1: ", "Step 1:"), "format"),
        (lambda text: text.replace(",", ", "), "format"),
        (lambda text: f"Sure.\n{text}", "format"),
        (lambda text: f"```\n{text}\n```", "format"),
        (lambda text: text.replace("TRACE\n", ""), "format"),
        (lambda text: text.replace("ANSWER", "Answer"), "format"),
        (lambda text: text + "\nDone.", "format"),
    ],
)
def test_the_strict_reading_takes_the_layout_that_was_asked_for_and_no_other(change: Any, strict: str) -> None:
    found = score_trial(ITEM, change(right_replies(ITEM)[0]), "stop")
    assert (found.outcome, found.k_star, found.strict_outcome) == ("correct", -1, strict)
    assert bool(found.flags) == (strict == "format" or "<think>" in change(""))


def test_the_strict_reading_judges_states_as_the_tolerant_one_does() -> None:
    assert score_trial(ITEM, reply(whole(s2=SWAPPED), END)).strict_outcome == "correct"
    assert score_trial(ITEM, reply(whole(s2=DOUBLED), SWAPPED)).strict_outcome == "constraint"
    assert score_trial(ITEM, reply(whole(), SWAPPED)).strict_outcome == "reasoning"
    assert score_trial(ITEM, reply(without(2), END)).strict_outcome == "format"
    assert score_trial(ITEM, reply(dict(reversed(whole().items())), END)).strict_outcome == "format"
    assert score_trial(ITEM, reply(whole() | {4: END}, END)).strict_outcome == "format"
    assert "steps_extra" in score_trial(ITEM, reply(whole() | {4: END}, END)).flags


def test_a_schema_is_kept_whatever_the_blanks() -> None:
    item = generate(seed=41, domain="D3", depths=[3], trials=1)[0]
    (text,) = right_replies(item, "schema")
    data = json.loads(text)
    assert score_trial(item, json.dumps(data, indent=4), arm="schema").strict_outcome == "correct"
    turned = json.dumps({"ANSWER": data["ANSWER"], "TRACE": data["TRACE"]})
    found = score_trial(item, turned, arm="schema")
    assert (found.outcome, found.k_star, found.strict_outcome) == ("correct", -1, "format")
    assert score_trial(item, f"```json\n{text}\n```", arm="schema").strict_outcome == "format"
    assert score_trial(item, "[" * 100_000, arm="schema").outcome == "truncation"


QUERY = generate(seed=41, domain="D3", depths=[4], trials=1)[0]
PAIR, RELATION = QUERY.truth["query"]["pair"], QUERY.truth["query"]["relation"]
OPPOSITE = {"ally": "rival", "rival": "ally"}[RELATION]


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        *((f"{PAIR}:{RELATION}", "correct"), (f"{PAIR[::-1]} = {RELATION}", "correct"), (RELATION, "correct")),
        *((f"{PAIR}:{OPPOSITE}", "reasoning"), (OPPOSITE, "reasoning"), (f"**{RELATION}**.", "correct")),
        *((f"{PAIR[0]} and {PAIR[1]} are {RELATION}s".replace("allys", "allies"), "correct"), ("neither", "format")),
        *((f"{PAIR}:{RELATION}, {PAIR}:{OPPOSITE}", "format"), (f"not {RELATION}", "format"), ("none", "reasoning")),
        (", ".join(f"{pair}:{kind}" for pair, kind in QUERY.truth["answer"].items()), "correct"),
    ],
)
def test_the_query_arm_asks_for_one_pair(answer: str, outcome: str) -> None:
    text = right_replies(QUERY, "query")[0].rpartition("ANSWER: ")[0] + f"ANSWER: {answer}"
    found = score_trial(QUERY, text, "stop", arm="query")
    assert (found.outcome, found.k_star) == (outcome, -1)
    assert found.strict_outcome == (outcome if answer in (f"{PAIR}:{RELATION}", f"{PAIR}:{OPPOSITE}") else "format")


@pytest.mark.parametrize("name", NAMES)
def test_a_conversation_is_a_trace_of_its_turns(name: str) -> None:
    item = generate(seed=42, domain=name, depths=[5], trials=1)[0]
    texts = right_replies(item, "scratchpad")
    found = score_trial(item, texts, "stop", arm="scratchpad")
    assert (found.outcome, found.k_star, found.strict_outcome, found.flags) == ("correct", -1, "correct", ())
    other = generate(seed=43, domain=name, depths=[9], trials=1)[0].truth["answer"]
    wrong = [*texts[:2], f"It is {rendered(name, 'trace', other)}", "no idea", texts[4]]
    found = score_trial(item, wrong, "stop", arm="scratchpad")
    assert (found.outcome, found.k_star, found.missing, found.rejoined) == ("correct", 3, (4,), True)
    assert found.strict_outcome == "format"
    assert score_trial(item, [*texts[:4], "no idea"], "stop", arm="scratchpad").outcome == "format"
    with pytest.raises(ValueError) as error:
        score_trial(item, texts[0], arm="scratchpad")
    assert str(error.value) == f"{item.id}: the arm 'scratchpad' has a text for each turn"


def test_a_turn_that_restates_its_operation_is_no_step() -> None:
    item = generate(seed=42, domain="D3", depths=[1], trials=1)[0]
    (told,) = item.meta["operations"]
    found = score_trial(item, [told], "stop", arm="scratchpad")
    assert (found.outcome, found.trace_status, found.tfbc, "told" in found.flags) == ("correct", "absent", None, True)
    found = score_trial(item, f"TRACE\nStep 1: {told}\nANSWER: {told}", "stop")
    assert (found.outcome, found.trace_status, found.tfbc) == ("correct", "absent", None)
    assert {"told", "steps_empty"} <= set(found.flags)


# -------------------------------------------------------------------------------------------------------------- reports


def test_B064_the_last_answer_wins() -> None:
    """openai/frontier-evals#125: the first ANSWER won over the corrected one."""
    text = "ANSWER: [[1,2,3],[4,5,6],[7,8,9]]\nWait.\nANSWER: [[7,4,1],[8,5,2],[9,6,3]]"
    assert read_reply("D1", text).answer == [[7, 4, 1], [8, 5, 2], [9, 6, 3]]


def test_B066_steps_go_by_their_number() -> None:
    """NVIDIA-NeMo/RL#3635: pairing by place slid by one after a gap."""
    found = score_trial(ITEM, reply(without(2), END), "stop")
    assert (found.k_star, found.missing, found.tfbc, found.outcome) == (2, (2,), True, "correct")


def test_B068_ids_are_those_of_one_domain(store_path: str) -> None:
    """LongHorizonReasoning/longcot#5: ids collided across domains, replies were graded against another task."""
    items = generate(seed=100003, domain=["D1", "D2"], depths=[3], trials=1)
    assert len({item.id for item in items}) == len(items) == 2
    model = Model("planted-b068", answer=lambda request, sample: right_replies(of(request, items))[0])
    rows = score(items, run(items, model, store=store_path, progress=False))
    assert rows["correct"].tolist() == [1, 1]


def test_B069_numbers_are_compared_as_numbers() -> None:
    """PrimeIntellect-ai/verifiers#401: integer truth met a textual answer."""
    item = generate(seed=41, domain="D2", depths=[1], trials=1)[0]
    values = ", ".join(f'"{key}": "{value}"' for key, value in item.truth["answer"].items())
    assert score_trial(item, "ANSWER: {" + values + "}").answer_correct is True


def test_B070_only_failed_calls_are_asked_again(endpoint: Endpoint, tmp_path: Any) -> None:
    """UKGovernmentBEIS/inspect_ai#1712: asking again after a format failure shifts the distribution."""
    items = generate(seed=41, domain="D1", depths=[2], trials=2)
    broken = True

    def answer(request: Any) -> Any:
        if of(request.body, items) is items[0]:
            return completion("no idea")
        return (400, failure("broken")) if broken else completion(right_replies(items[1])[0])

    endpoint.answer = answer
    model = Model("stub", base_url=endpoint.url)
    store = str(tmp_path / "replies.sqlite")
    first = score(items, run(items, model, store=store, progress=False))
    assert first["outcome"].tolist() == ["format", "api"]
    asked, broken = len(endpoint.requests), False
    second = score(items, run(items, model, store=store, progress=False))
    assert second["outcome"].tolist() == ["format", "correct"]
    assert len(endpoint.requests) == asked + 1


# ---------------------------------------------------------------------------------------------------------------- frame


def of(request: Any, items: list[Item]) -> Item:
    """The item that a request asks, found by its operations and its start."""
    said = request["messages"][-1]["content"]
    return next(
        item
        for item in items
        if said.startswith(f"Start: {item.meta['start']}\n")
        and "\n".join(f"{n}. {words}" for n, words in enumerate(item.meta["operations"], start=1)) + "\n\n" in said
    )


def replies(item: Item = ITEM, **columns: Any) -> pd.DataFrame:
    base = {"benchmark": "ccb", "arm": "trace", "item": item.id, "model": "m", "sample": 0, "turn": 0}
    base |= {"text": right_replies(item)[0], "status": "ok", "finish_reason": "stop", "completion_tokens": 7}
    return pd.DataFrame([base | columns])


def test_a_row_says_what_became_of_a_trial() -> None:
    (row,) = score([ITEM], replies()).to_dict("records")
    assert list(row) == COLUMNS
    assert [row[name] for name in KEYS] == ["ccb", "trace", ITEM.id, "m", 0, 0]
    assert (row["domain"], row["depth"], row["effective_depth"], row["last"]) == ("D1", 3, 3, True)
    assert (row["outcome"], row["correct"], row["parsed"], row["strict"]) == ("correct", 1, 1, 1)
    assert (row["k_star"], row["tfbc"], row["success"], row["operation"]) == (-1, 0, "faithful", None)
    assert (row["unscored"], row["flags"], row["completion_tokens"]) == ("", "", 7)


@pytest.mark.parametrize(
    ("columns", "unscored", "outcome", "correct", "parsed"),
    [
        ({"status": "failed", "text": None}, "failed", "api", None, None),
        ({"status": "skipped", "text": None}, "skipped", None, None, None),
        ({"status": "filtered", "text": ""}, "filtered", None, None, None),
        ({"status": "ok", "text": None}, "ok, but without a text", None, None, None),
        ({"status": "empty", "text": ""}, "", "format", 0, None),
        ({"status": "empty", "text": float("nan")}, "", "format", 0, None),
        ({"status": "refused", "text": "I must not."}, "", "format", 0, None),
        ({"status": "truncated", "text": "TRACE\nStep", "finish_reason": "length"}, CUT, "truncation", None, None),
        ({"text": reply(whole(), SWAPPED)}, "", "reasoning", 0, 0),
    ],
)
def test_what_could_not_be_scored_says_why(
    columns: dict[str, Any], unscored: str, outcome: str | None, correct: float | None, parsed: float | None
) -> None:
    (row,) = score([ITEM], replies(**columns)).to_dict("records")
    assert (row["unscored"], row["outcome"]) == (unscored, outcome)
    for name, expected in (("correct", correct), ("parsed", parsed), ("strict", correct)):
        assert math.isnan(row[name]) if expected is None else row[name] == expected


@pytest.mark.parametrize(
    ("states", "success"),
    [
        *((whole(), "faithful"), (whole(s1=SWAPPED), "recovered"), (whole(s3=SWAPPED), "lucky")),
        *((without(2), "short"), ({}, "untraced"), ({1: SWAPPED}, "lucky"), ({1: SWAPPED, 2: RIGHT[1]}, "recovered")),
    ],
)
def test_right_answers_differ_by_their_traces(states: dict[int, Any], success: str) -> None:
    row = score([ITEM], replies(text=reply(states, END))).iloc[0]
    assert (row["success"], row["correct"]) == (success, 1)
    assert score([ITEM], replies(text=reply(states, SWAPPED))).iloc[0]["success"] is None


def test_where_a_trace_diverges_stands_with_the_operation() -> None:
    row = score([ITEM], replies(text=reply(whole(s2=SWAPPED), END))).iloc[0]
    assert row["operation"] == ITEM.truth["operations"][1]["kind"]


def test_a_reply_to_no_item_is_an_error() -> None:
    with pytest.raises(ValueError) as error:
        score([], replies())
    assert str(error.value) == f"score: the reply to {ITEM.id!r} belongs to none of the 0 items given"
    assert score([ITEM], replies().iloc[:0]).empty


def test_a_conversation_counts_at_its_last_turn() -> None:
    texts = right_replies(ITEM, "scratchpad")
    turns = [replies(arm="scratchpad", turn=turn, text=text) for turn, text in enumerate(texts)]
    rows = score([ITEM], pd.concat(turns[::-1], ignore_index=True))
    assert rows["turn"].tolist() == [0, 1, 2]
    assert rows["last"].tolist() == [False, False, True]
    assert rows["unscored"].tolist() == ["not the last turn", "not the last turn", ""]
    assert rows["correct"].isna().tolist() == [True, True, False]
    assert rows.iloc[2][["outcome", "k_star"]].tolist() == ["correct", -1]
    broken = [*turns[:1], replies(arm="scratchpad", turn=1, text=None, status="failed")]
    rows = score([ITEM], pd.concat(broken, ignore_index=True))
    assert rows.iloc[1][["unscored", "outcome"]].tolist() == ["failed", "api"]
    rows = score([ITEM], pd.concat(turns[:2], ignore_index=True))
    assert rows.iloc[1]["unscored"] == "2 of 3 turns"


@pytest.mark.parametrize(
    ("arm", "name"),
    [
        (arm, name)
        for arm in ("trace", "scratchpad", "verbose", "schema", "slots", "mapping", "query")
        for name in NAMES
        if applies(arm, name)
    ],
)
def test_right_replies_of_every_arm_come_through_a_run_as_right(arm: str, name: str, store_path: str) -> None:
    items = generate(seed=44, domain=name, depths=[1, 4], trials=1)
    queue = {item.id: iter(right_replies(item, arm)) for item in items}
    current = iter([text for item in items for text in queue[item.id]])
    model = Model(f"planted-{arm}-{name}", answer=lambda request, sample: next(current), concurrency=1)
    rows = score(items, run(items, model, arms=[arm], store=store_path, progress=False))
    last = rows[rows["last"]]
    assert last["outcome"].tolist() == ["correct", "correct"]
    assert last["strict"].tolist() == [1, 1]
    assert last["k_star"].tolist() == [-1, -1]


# -------------------------------------------------------------------------------------------------------------- planted


def test_a_subject_with_planted_faults_comes_back_as_planted(store_path: str) -> None:
    """Each of 400 items is given a fate; the counts of outcomes, k*, TFBC and successes are exactly those."""
    items = generate(seed=45, domain="D2", depths=[6], trials=400)
    rng = stream("fates")
    fates = ["right", "wrong", "lucky", "recovered", "format", "truncated", "breaks"]
    fate = {item.id: (fates[rng.integers(7)], int(rng.integers(1, 6))) for item in items}

    def bad(state: dict[str, int], breaks: bool = False) -> dict[str, int]:
        return state | ({"A": state["B"]} if breaks else {"A": state["B"], "B": state["A"]})

    def answer(request: Any, sample: int) -> str:
        item = of(request, items)
        (kind, k), states = fate[item.id], list(item.truth["states"])
        if kind != "right":
            until = k if kind == "recovered" else 6
            states[k - 1 : until] = [bad(state, kind == "breaks") for state in states[k - 1 : until]]
        last = bad(item.truth["answer"]) if kind in ("wrong", "breaks") else item.truth["answer"]
        text = reply(dict(enumerate(states, start=1)), last, item)
        head = text.rpartition("\n")[0]
        return {"format": head + "\nThe end.", "truncated": head + "\nANSWER: A:1, B:"}.get(kind, text)

    rows = score(items, run(items, Model("planted-fates", answer=answer), store=store_path, progress=False))
    assert len(rows) == 400
    outcome = dict(
        zip(fates, ("correct", "reasoning", "correct", "correct", "format", "truncation", "constraint"), strict=True)
    )
    for row in rows.to_dict("records"):
        kind, k = fate[row["item"]]
        assert row["outcome"] == outcome[kind]
        assert row["k_star"] == (-1 if kind == "right" else k)
        assert row["tfbc"] == (kind in ("lucky", "recovered"))
        assert row["success"] == {"right": "faithful", "lucky": "lucky", "recovered": "recovered"}.get(kind)
        assert row["constraint_step"] == k if kind == "breaks" else math.isnan(row["constraint_step"])
