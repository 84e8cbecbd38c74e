"""Summaries of trials: hand-made rows with known shares, planted subjects, and what must not be averaged."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, hypergeom
from test_ceiling_score import of, reply

from cdct.ceiling import generate, right_replies, score
from cdct.ceiling.analysis import (
    by_operation,
    divergences,
    final,
    outcomes,
    paired,
    successes,
    summarise,
    tfbc,
    tokens,
    traced,
)
from cdct.core import Item, read_table, save_tables, stream
from cdct.models import Model
from cdct.run import run
from cdct.stats import decay, survival

KINDS = {  # outcome, correct, parsed, trace_status, k_star, tfbc, success
    "faithful": ("correct", 1, 1, "intact", -1, 0, "faithful"),
    "lucky": ("correct", 1, 1, "diverged", 2, 1, "lucky"),
    "recovered": ("correct", 1, 1, "diverged", 4, 1, "recovered"),
    "untraced": ("correct", 1, 1, "absent", np.nan, np.nan, "untraced"),
    "reasoning": ("reasoning", 0, 0, "diverged", 12, 0, None),
    "constraint": ("constraint", 0, 0, "diverged", 1, 0, None),
    "format": ("format", 0, np.nan, "absent", np.nan, np.nan, None),
    "truncation": ("truncation", 0, np.nan, "short", 8, 0, None),
    "api": ("api", np.nan, np.nan, None, np.nan, np.nan, None),
    "skipped": (None, np.nan, np.nan, None, np.nan, np.nan, None),
}
NAMES = ["outcome", "correct", "parsed", "trace_status", "k_star", "tfbc", "success"]


def rows(counts: dict[str, int], **columns: Any) -> pd.DataFrame:
    kinds = [kind for kind, count in counts.items() for _ in range(count)]
    table = pd.DataFrame([dict(zip(NAMES, KINDS[kind], strict=True)) for kind in kinds])
    table["item"] = [f"ccb-v1/D2/n20/{number:03d}" for number in range(len(kinds))]
    fixed = {"benchmark": "ccb", "arm": "trace", "model": "m", "sample": 0, "turn": 0, "domain": "D2", "depth": 20}
    fixed |= {"last": True, "strict": table["correct"], "completion_tokens": 10.0}
    return table.assign(**(fixed | columns))


MIXED = {"faithful": 6, "lucky": 2, "recovered": 1, "untraced": 1, "reasoning": 4, "constraint": 2}
MIXED |= {"format": 3, "truncation": 1, "api": 2, "skipped": 1}


def test_both_denominators_stand_side_by_side() -> None:
    """10 right of 20 replies, of which 16 have a readable answer; three of the 23 calls have no reply."""
    (row,) = summarise(rows(MIXED)).to_dict("records")
    assert (row["estimate"], row["n"], row["n_unscored"]) == (0.5, 20, 3)
    assert (row["estimate_parsed"], row["n_parsed"]) == (10 / 16, 16)
    assert row["estimate_all"] == 10 / 23
    for end, n in (("", 20), ("_parsed", 16)):
        exact = binomtest(10, n).proportion_ci(method="exact")
        assert (row[f"low{end}"], row[f"high{end}"]) == pytest.approx((exact.low, exact.high), abs=1e-9)
    assert (row["method"], row["metric"], row["model"], row["depth"]) == ("exact binomial", "correct", "m", 20)


def test_without_a_scored_trial_there_is_no_number() -> None:
    (row,) = summarise(rows({"api": 2})).to_dict("records")
    assert math.isnan(row["estimate"])
    assert (row["n"], row["n_unscored"], row["estimate_all"], row["method"]) == (0, 2, 0, "no data")
    assert summarise(rows({"api": 1}).iloc[:0]).empty


def test_an_item_that_comes_twice_counts_as_one_cluster() -> None:
    """Five samples of each of eight items that always agree are eight values, not forty."""
    once = rows({"faithful": 4, "reasoning": 4})
    many = pd.concat([once.assign(sample=sample) for sample in range(5)])
    one, five = (summarise(table).iloc[0] for table in (once, many))
    assert (one["estimate"], five["estimate"], five["n"]) == (0.5, 0.5, 40)
    assert five["high"] - five["low"] >= one["high"] - one["low"] - 1e-9
    assert "8 clusters" in five["method"]


def test_arms_are_never_averaged() -> None:
    both = pd.concat([rows({"faithful": 2}), rows({"reasoning": 2}, arm="slots")])
    for table in (summarise, outcomes, successes, tfbc, divergences, tokens):
        with pytest.raises(ValueError) as error:
            table(both)
        told = "the rows mix the arms 'trace', 'slots', which can't be averaged; add 'arm' to `by`, or take one"
        assert str(error.value) == told
    assert summarise(both, by=["arm"])["estimate"].tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"^metric 'corect' is not known; did you mean 'correct'\?$"):
        summarise(both, metric="corect")


def test_only_last_turns_are_trials() -> None:
    turns = pd.concat([rows({"skipped": 3}, last=False), rows({"faithful": 3}, turn=1)])
    assert len(final(turns)) == 3
    assert summarise(turns).iloc[0][["estimate", "n", "n_unscored"]].tolist() == [1, 3, 0]


def test_the_shares_of_outcomes_and_successes() -> None:
    table = outcomes(rows(MIXED)).set_index("outcome")
    assert table["count"].to_dict() == {
        **{"correct": 10, "reasoning": 4, "constraint": 2, "format": 3, "truncation": 1, "api": 2},
    }
    assert set(table["n"]) == {22}
    assert set(table["n_unscored"]) == {1}
    assert table["estimate"].sum() == pytest.approx(1)
    table = successes(rows(MIXED)).set_index("success")
    assert table["count"].to_dict() == {"faithful": 6, "recovered": 1, "lucky": 2, "short": 0, "untraced": 1}
    assert set(table["n"]) == {10}
    (row,) = tfbc(rows(MIXED)).to_dict("records")
    assert (row["estimate"], row["n"], row["n_unscored"]) == (3 / 9, 9, 1)


def test_tables_say_the_same_when_they_are_read_back(tmp_path: Any) -> None:
    save_tables(tmp_path, rows=rows(MIXED))
    again = read_table(tmp_path / "rows.csv")
    for table in (summarise, outcomes, successes, tfbc, divergences):
        pd.testing.assert_frame_equal(table(again), table(rows(MIXED)), check_dtype=False)


def test_a_cut_in_a_right_trace_is_no_divergence() -> None:
    """Cut after seven right steps: at risk for seven, then out of sight. Cut before the first: nothing is known."""
    early = rows({"truncation": 1}).assign(k_star=1.0, item="x")
    table = traced(pd.concat([rows({"truncation": 1, "reasoning": 1, "faithful": 1}), early], ignore_index=True))
    assert table["depth"].tolist() == [7, 20, 20, 20]
    assert table["k_star"].fillna(0).tolist() == [-1, 12, -1, 0]
    assert traced(rows({"truncation": 2}).set_axis([0, 0]))["depth"].tolist() == [7, 7]
    (implied,) = survival.implied_p(table, ["model"]).to_dict("records")
    assert (implied["diverged"], implied["steps"], implied["n_unscored"]) == (1, 7 + 12 + 20, 1)


def test_early_middle_and_late_divergences() -> None:
    """k* of the diverged traces: 2 twice, 4 once, 12 four times, 1 twice."""
    table = divergences(rows(MIXED)).set_index("phase")
    assert table["estimate"].to_dict() == pytest.approx({"early": 4 / 9, "middle": 1 / 9, "late": 4 / 9})
    assert set(table["n"]) == {9}


def test_arms_are_compared_on_the_same_items() -> None:
    """Of 12 pairs 5 are right with slots alone and 1 with the baseline alone: p = 2 (1 + 6) / 2^6 = .21875."""
    base = rows({"faithful": 4, "reasoning": 7, "api": 1, "format": 1})
    slots = base.assign(arm="slots", correct=[1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0, 1, 0])
    (row,) = paired(pd.concat([base, slots]), ["slots"]).to_dict("records")
    assert (row["both"], row["only_arm"], row["only_control"], row["neither"]) == (3, 5, 1, 3)
    assert (row["n"], row["n_unscored"], row["estimate"]) == (12, 1, 4 / 12)
    assert (row["p"], row["odds_ratio"], row["note"]) == (pytest.approx(0.21875), 5, "")
    assert (row["arm"], row["control"], row["metric"]) == ("slots", "trace", "correct")


def test_a_comparison_without_a_discordant_pair_says_nothing() -> None:
    """The paper's Table 4: 20 pairs, all wrong in both conditions, p = 1."""
    both = pd.concat([rows({"reasoning": 20}), rows({"reasoning": 20}, arm="verbose")])
    (row,) = paired(both, ["verbose"]).to_dict("records")
    assert (row["n"], row["neither"], row["p"], row["note"]) == (20, 20, 1, "no information")
    twice = pd.concat([both, rows({"faithful": 20}, arm="verbose", sample=1), rows({"reasoning": 20}, sample=1)])
    assert paired(twice, ["verbose"]).iloc[0]["note"] == "an item comes more than once: p is too small"
    with pytest.raises(ValueError, match=r"^paired: arm 'slot' is not known; known: trace, verbose$"):
        paired(both, ["slot"])


def test_tokens_are_those_of_all_turns() -> None:
    base = rows({"faithful": 3})
    turns = pd.concat([base.assign(last=False, completion_tokens=[1, 2, 3]), base.assign(turn=1)])
    (row,) = tokens(turns).to_dict("records")
    assert (row["estimate"], row["n"], row["n_unscored"]) == (12, 3, 0)
    turns.iloc[0, turns.columns.get_loc("completion_tokens")] = np.nan
    (row,) = tokens(turns).to_dict("records")
    assert (row["estimate"], row["n"], row["n_unscored"]) == (12.5, 2, 1)


# -------------------------------------------------------------------------------------------------------------- planted


def wrong(state: dict[str, int]) -> dict[str, int]:
    return state | {"A": state["B"], "B": state["A"]}


def subject(name: str, items: list[Item], p: float, p_set: float | None = None, **rates: float) -> Model:
    """Each step is right with p (p_set where the operation sets a value) while all before were; then all are wrong.

    rates: lucky (the answer is right after a wrong trace), recovered (from a step on the trace is right again), format
    (no answer), truncated (no answer, and a bracket left open).
    """

    def answer(request: Any, sample: int) -> str:
        item = of(request, items)
        rng = stream("planted", name, item.id)
        states, right = list(item.truth["states"]), True
        for step, operation in enumerate(item.truth["operations"]):
            right = right and rng.random() < (p_set if p_set and operation["kind"] == "set" else p)
            states[step] = states[step] if right else wrong(states[step])
        last = states[-1]
        if not right and rng.random() < rates.get("lucky", 0):
            last = item.truth["answer"]
            if rng.random() < rates.get("recovered", 0):
                states[-1] = last
        ending = rng.random()
        text = reply(dict(enumerate(states, start=1)), last, item)
        if ending < rates.get("format", 0):
            return text.replace("ANSWER:", "That is all, thank you")
        if ending < rates.get("format", 0) + rates.get("truncated", 0):
            return text[: text.index("ANSWER")] + "ANSWER: ["
        return text

    return Model(name, answer=answer)


def scored(store_path: str, items: list[Item], *models: Model) -> pd.DataFrame:
    return score(items, run(items, list(models), store=store_path, progress=False))


def test_a_planted_p_per_step_comes_back(store_path: str) -> None:
    """From the traces and from the answers; the intervals hold it."""
    items = generate(seed=51, domain="D2", depths=[2, 5, 10, 20], trials=60)
    table = scored(store_path, items, subject("p90", items, 0.9))
    (implied,) = survival.implied_p(traced(table), ["model"]).to_dict("records")
    assert implied["low"] < 0.9 < implied["high"]
    assert implied["high"] - implied["low"] < 0.04
    (fit,) = decay.fit_many(table, ["model"]).to_dict("records")
    assert fit["low"] < 0.9 < fit["high"]
    assert outcomes(table).set_index("outcome")["estimate"][["format", "truncation", "api"]].tolist() == [0, 0, 0]
    shares = summarise(table).set_index("depth")
    assert ((shares["low"] < 0.9**shares.index) & (0.9**shares.index < shares["high"])).all()


def test_planted_rates_of_lucky_and_recovered_answers_formats_and_cuts_come_back(store_path: str) -> None:
    items = generate(seed=52, domain="D2", depths=[6], trials=400)
    rates = {"lucky": 0.5, "recovered": 0.3, "format": 0.2, "truncated": 0.1}
    table = scored(store_path, items, subject("rates", items, 0.8, **rates))
    found = outcomes(table).set_index("outcome")
    for outcome, rate in (("format", 0.2), ("truncation", 0.1)):
        assert found.loc[outcome, "low"] < rate < found.loc[outcome, "high"]
    intact = 0.8**6
    right = intact + (1 - intact) * 0.5
    kinds = successes(table).set_index("success")
    for kind, share in {"faithful": intact, "recovered": (1 - intact) * 0.15, "lucky": (1 - intact) * 0.35}.items():
        assert kinds.loc[kind, "low"] < share / right < kinds.loc[kind, "high"], kind
    (row,) = tfbc(table).to_dict("records")
    assert row["low"] < 1 - intact / right < row["high"]
    (row,) = summarise(table).to_dict("records")
    assert row["low"] < 0.7 * right < row["high"]
    assert row["low_parsed"] < right < row["high_parsed"]
    # formats and cuts leave the trace alone
    (implied,) = survival.implied_p(traced(table), ["model"]).to_dict("records")
    assert implied["low"] < 0.8 < implied["high"]
    assert implied["n"] == 400


def test_the_operation_that_a_subject_fails_at_comes_back(store_path: str) -> None:
    items = generate(seed=53, domain="D2", depths=[10], trials=120)
    table = scored(store_path, items, subject("sets", items, 0.99, p_set=0.7))
    found = by_operation(table, items).set_index("operation")
    for operation, hazard in {"set": 0.3, "swap": 0.01, "shift_left": 0.01, "shift_right": 0.01}.items():
        assert found.loc[operation, "low"] <= hazard <= found.loc[operation, "high"]
    assert found["diverged"].sum() == (table["k_star"] > 0).sum() == table["operation"].notna().sum()
    assert found["n"].sum() == survival.implied_p(traced(table), ["model"])["steps"].sum()
    with pytest.raises(ValueError, match=r"^by_operation: 'ccb-v1/D2/n10/000-s53' is none of the 0 items given$"):
        by_operation(table, [])


def test_operations_that_change_nothing_are_told_apart(store_path: str) -> None:
    items = generate(seed=54, domain="D3", depths=[30], trials=10)
    model = Model("perfect-d3", answer=lambda request, sample: right_replies(of(request, items))[0])
    found = by_operation(scored(store_path, items, model), items)
    assert found.groupby("changed")["n"].sum()[True] == sum(item.truth["effective_depth"] for item in items)
    assert found["n"].sum() == 300
    assert found["diverged"].sum() == 0


def test_two_planted_arms_differ_as_planted(store_path: str) -> None:
    """The same items with p = .95 and .8: the difference of the shares is that of the powers."""
    items = generate(seed=55, domain="D2", depths=[5], trials=300)
    one, other = (scored(store_path, items, subject(name, items, p)) for name, p in (("arm-95", 0.95), ("arm-80", 0.8)))
    both = pd.concat([one.assign(model="m", arm="slots"), other.assign(model="m", arm="trace")])
    (row,) = paired(both, ["slots"]).to_dict("records")
    assert row["estimate"] == pytest.approx(0.95**5 - 0.8**5, abs=3 * math.sqrt(0.5 / 300))
    assert (row["p"] < 1e-6, row["low"] > 1, row["n"]) == (True, True, 300)
    assert hypergeom(300, row["both"] + row["only_arm"], row["both"] + row["only_control"]).cdf(row["both"]) > 1e-4
