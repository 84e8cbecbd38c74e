"""The tables beside every result: what was asked and what it cost, and what a reader must be warned of."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from conftest import completion, failure

from cdct.account import FEW, STATUSES, calls, items_table, warnings
from cdct.client import Retry
from cdct.models import Model
from cdct.run import COLUMNS, run

DOLLAR = {"input": 1_000_000, "output": 1_000_000}


def reply(**more):
    """A row of a replies frame, of a new call that was answered."""
    return (
        dict.fromkeys(COLUMNS)
        | {
            "benchmark": "toy",
            "arm": "baseline",
            "item": "toy-v1/1",
            "model": "stub",
            "sample": 0,
            "turn": 0,
            "text": "fine",
            "status": "ok",
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "cost": 0.25,
            "cost_new": 0.25,
            "cached": False,
            "latency_s": 1.0,
            "parameters": "{}",
            "endpoint": "e",
        }
        | more
    )


def row(**more):
    """A scored row, as far as the warnings look at it."""
    return {"model": "stub", "unscored": "", "flags": ""} | more


# ---------------------------------------------------------------------------------------------------------------- calls


def test_every_status_is_counted_and_nothing_twice():
    lost = {"text": None, "cost": None, "cost_new": 0.0}
    replies = [
        reply(),
        reply(cached=True, cost_new=0.0),
        reply(status="truncated", text="half"),
        reply(status="empty", text=""),
        reply(status="failed", **lost),
        reply(status="skipped", **lost),
    ]
    table = calls(pd.DataFrame(replies, columns=COLUMNS)).iloc[0]
    counted = {status: table[status] for status in STATUSES}
    assert counted == dict.fromkeys(STATUSES, 0) | dict.fromkeys(("truncated", "empty", "failed", "skipped"), 1) | {
        "ok": 2
    }
    assert table["calls"] == 6
    assert (table["prompt_tokens"], table["completion_tokens"]) == (40, 20)
    assert table["cost"] == 1.0


def test_what_is_not_known_is_not_0():
    unknown = reply(cost=None, cost_new=None, prompt_tokens=None, completion_tokens=None)
    some = calls(pd.DataFrame([reply(), unknown], columns=COLUMNS)).iloc[0]
    assert (some["prompt_tokens"], some["completion_tokens"], some["cost"], some["unpriced"]) == (10, 5, 0.25, 1)
    none = calls(pd.DataFrame([unknown, unknown], columns=COLUMNS)).iloc[0]
    assert all(math.isnan(none[column]) for column in ("prompt_tokens", "completion_tokens", "cost"))


def test_where_nothing_was_answered_nothing_was_paid():
    failed = reply(status="failed", text=None, cost=None, prompt_tokens=None, completion_tokens=None)
    table = calls(pd.DataFrame([failed], columns=COLUMNS)).iloc[0]
    assert (table["prompt_tokens"], table["completion_tokens"], table["cost"]) == (0, 0, 0)


def test_what_was_really_sent_and_served_is_named_in_full():
    replies = [reply(served_model="b"), reply(served_model="a", parameters='{"temperature":1}'), reply()]
    table = calls(pd.DataFrame(replies, columns=COLUMNS)).iloc[0]
    assert table["served_model"] == "a | b"
    assert table["parameters"] == '{"temperature":1} | {}'
    assert table["fingerprint"] == ""


def test_models_keep_their_order():
    replies = pd.DataFrame([reply(model="b"), reply(model="a"), reply(model="b")], columns=COLUMNS)
    assert calls(replies)["model"].tolist() == ["b", "a"]


def test_nothing_asked_is_an_empty_table_with_its_columns():
    table = calls(pd.DataFrame(columns=COLUMNS))
    assert len(table) == 0
    assert {"model", "calls", "cost", *STATUSES} <= set(table.columns)


def test_the_account_of_a_run_agrees_with_the_endpoint(toy, endpoint, store_path):
    endpoint.answer = lambda request: (
        (400, failure("maximum context length")) if request.prompt[-1] == "3" else completion("fine")
    )
    model = endpoint.model(price=DOLLAR)
    first = calls(run(toy.items(5), [model], store=store_path, retry=Retry(first_s=0), progress=False))
    again = calls(run(toy.items(5), [model], store=store_path, retry=Retry(first_s=0), progress=False))
    assert (first["ok"].item(), first["failed"].item(), first["cost"].item()) == (4, 1, 60)
    assert first.to_csv() == again.to_csv()  # what was asked does not depend on when


# ------------------------------------------------------------------------------------------------------------- warnings


def told(replies=(), rows=(), cells=None, notices=()):
    frame = pd.DataFrame(list(replies), columns=COLUMNS)
    frame.attrs["notices"] = list(notices)
    table = warnings(frame, pd.DataFrame(list(rows), columns=["model", "unscored", "flags"]), cells)
    return list(table.itertuples(index=False, name=None))


def test_nothing_odd_is_nothing_said():
    assert told([reply()], [row()]) == []


def test_replies_of_more_than_one_kind_are_one_warning_per_model():
    replies = [
        *(reply(served_model="gpt-1", fingerprint=f"fp-{n % 2}") for n in range(3)),
        reply(served_model="gpt-2", parameters='{"temperature":0}'),
        reply(served_model="gpt-2", status="failed", text=None),
        reply(model="b", served_model="gpt-3"),
        reply(model="b"),  # not told
    ]
    assert told(replies) == [
        (
            "warning",
            "stub: the replies are not of one kind: 2 served models (gpt-1: 3, gpt-2: 1); "
            "2 fingerprints (fp-0: 2, fp-1: 1); "
            '2 sets of parameters in toy, baseline ({}: 3, {"temperature":0}: 1)',
        )
    ]


def test_arms_may_have_parameters_of_their_own():
    assert told([reply(), reply(arm="hot", parameters='{"temperature":1}')]) == []


def test_many_kinds_are_not_all_named():
    [(_, text)] = told([reply(fingerprint=f"fp-{n}") for n in range(8)])
    assert text.endswith("8 fingerprints (fp-0: 1, fp-1: 1, fp-2: 1, fp-3: 1, fp-4: 1, 3 more)")


def test_sums_that_leave_something_out_are_told():
    unknown = {"completion_tokens": None, "cost": None}
    assert told([reply(), reply(), reply(**unknown), reply(status="failed", text=None, **unknown)]) == [
        ("warning", "stub: 1 of 3 replies came without token counts: the sums leave them out"),
        ("warning", "stub: 1 of 3 replies came without a known cost: the sums leave them out"),
    ]
    assert told([reply(**unknown)]) == []  # the table shows no sum then


def test_a_simulated_subject_is_told_from_a_model(toy, store_path):
    frame = run(toy.items(2), [Model("norm", answer=lambda request, sample: "x")], store=store_path, progress=False)
    table = warnings(frame, pd.DataFrame(columns=["model", "unscored", "flags"], dtype=object))
    assert table.to_numpy().tolist() == [["warning", "norm is simulated"]]
    assert math.isnan(calls(frame)["completion_tokens"].item())


def test_notices_of_the_run_come_first_and_once():
    assert told([reply()], [row(unscored="failed")], notices=["stub: stopped", "stub: stopped"]) == [
        ("warning", "stub: stopped"),
        ("warning", "stub: 1 of 1 replies could not be scored (failed)"),
    ]


def test_what_could_not_be_scored_is_counted_by_model_and_reason():
    rows = [row(), row(unscored="failed"), row(unscored="failed"), row(unscored="filtered"), row(model="b")]
    assert told(rows=rows) == [
        ("warning", "stub: 2 of 4 replies could not be scored (failed)"),
        ("warning", "stub: 1 of 4 replies could not be scored (filtered)"),
    ]


def test_flags_are_told_in_words():
    rows = [row(flags="truncated reasoning"), row(flags="truncated"), row(flags="odd")]
    assert told(rows=rows) == [
        (
            "note",
            "stub: 2 of 3 replies hit their token limit: scored on what is there, their words are a lower bound",
        ),
        ("note", "stub: 1 of 3 replies held reasoning blocks, which were removed before scoring"),
        ("note", "stub: 1 of 3 replies flagged 'odd'"),
    ]


@pytest.mark.parametrize(("n", "said"), [([FEW, 100], 0), ([FEW - 1, 100], 1)])
def test_cells_on_few_values_are_pointed_out(n, said):
    notes = told([reply()], [row()], pd.DataFrame({"n": n}))
    assert len(notes) == said
    if said:
        assert notes[0] == ("note", "1 of 2 cells rest on fewer than 5 values: read their intervals")


# ---------------------------------------------------------------------------------------------------------------- items


def test_items_are_known_by_one_digest_whatever_their_order(toy):
    items = toy.items(5)
    table = items_table(items).iloc[0]
    assert (table["benchmark"], table["items"]) == ("toy", 5)
    assert table["sha256"] == items_table(items[::-1]).iloc[0]["sha256"]
    assert table["sha256"] != items_table(items[1:]).iloc[0]["sha256"]


def test_earlier_turns_of_a_conversation_are_not_missing():
    frame = pd.DataFrame([], columns=COLUMNS)
    rows = pd.DataFrame([row(last=False, unscored="not the last turn"), row(last=True)])
    assert warnings(frame, rows).empty
