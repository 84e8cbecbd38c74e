"""What a card and a report say of CCB: numbers with their intervals, and no word more than these carry."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pytest

from cdct.ceiling.card import card, condition, findings
from cdct.ceiling.published import published_arms, published_cells, published_counts, published_tokens
from cdct.stats.decay import fit_many

COLUMNS = ["model", "group", "label", "unit", "estimate", "low", "high", "n", "n_unscored", "method"]
DEPTHS = range(5, 51, 5)


def rows_of(
    correct: Mapping[int, Sequence[float]],
    domain: str = "D1",
    arm: str = "baseline",
    k_star: float = 1,
    tfbc: float = 0,
) -> pd.DataFrame:
    """Rows of one model: for each depth the trials, 1, 0 or NaN; every wrong trace leaves the truth at k_star."""
    rows = []
    for depth, trials in correct.items():
        for index, right in enumerate(trials):
            row = {"benchmark": "ccb", "arm": arm, "item": f"{domain}/{depth}/{index}", "model": "m", "sample": 0}
            row |= {"turn": 0, "last": True, "domain": domain, "depth": depth, "correct": float(right)}
            unknown = math.isnan(right)
            row |= {"k_star": math.nan if unknown else -1.0 if right and not tfbc else float(k_star)}
            row |= {"tfbc": math.nan if unknown else float(bool(right) and tfbc)}
            row |= {"parsed": float(right), "strict": float(right), "outcome": "correct" if right == 1 else "reasoning"}
            row |= {"trace_status": None if unknown else "diverged" if row["k_star"] > 0 else "intact"}
            rows.append(row | {"unscored": "failed" if unknown else ""})
    return pd.DataFrame(rows)


def counts(domain: str, model: str) -> dict[int, list[float]]:
    """The paper's trials of a cell."""
    table = published_counts()
    cell = table[(table["domain"] == domain) & (table["model"] == model)]
    return {row.depth: [1.0] * row.correct + [0.0] * (row.n - row.correct) for row in cell.itertuples()}


def said(*frames: pd.DataFrame) -> list[str]:
    return findings(pd.concat(frames, ignore_index=True))["text"].tolist()


def line(rows: pd.DataFrame, label: str) -> pd.Series:
    table = card(rows)
    return table[table["label"].str.startswith(label)].iloc[0]


# ----------------------------------------------------------------------------------------------------------------- card


def test_the_card_of_a_cell_of_the_paper() -> None:
    """D1, Gemini: 88 of 400, p_d = .930 (Table 5); H_0.5 = ln .5 / ln .9300 = 9.55; 4 lines of which n is 400."""
    rows = rows_of(counts("D1", "Gemini 2.0F"))
    table = card(rows)
    assert list(table) == [*COLUMNS, "published", "published_label"]
    assert set(table["group"]) == {"CCB D1"}
    p, half = line(rows, "p per step (from answers)"), line(rows, "H_0.5")
    assert p["estimate"] == pytest.approx(0.930, abs=6e-4)
    assert p["low"] < 0.930 < p["high"]
    assert half["estimate"] == pytest.approx(math.log(0.5) / math.log(p["estimate"]))
    assert (half["low"], half["high"]) == pytest.approx(
        (math.log(0.5) / math.log(p["low"]), math.log(0.5) / math.log(p["high"]))
    )
    right = line(rows, "right answers, N = 5 to 50")
    assert right["estimate"] == pytest.approx(0.22)
    assert (p["n"], half["n"], right["n"]) == (400, 400, 400)
    # beside them the best of the paper's models, Gemini in D1
    assert (p["published"], right["published"]) == pytest.approx((0.930, 0.220))
    assert p["published_label"] == "CCB paper, best of five models, depths 5 to 50"


def test_p_from_traces_is_one_minus_divergences_over_steps() -> None:
    """Two wrong traces of depth 5 that leave the truth at step 3 and three intact ones: 2 errors in 2*3 + 3*5 steps."""
    rows = rows_of({5: [1, 1, 1, 0, 0]}, k_star=3)
    found = line(rows, "p per step (from traces)")
    assert found["estimate"] == pytest.approx(1 - 2 / 21)
    assert found["n"] == 5


def test_right_answers_on_broken_traces_are_a_share_of_the_right_ones() -> None:
    both = pd.concat([rows_of({5: [1, 0, 0]}, tfbc=1), rows_of({6: [1, 1, 1]})], ignore_index=True)
    found = line(both, "right answers on a trace that is not intact")
    assert (found["estimate"], found["n"]) == (0.25, 4)
    assert (found["low"], found["high"]) == pytest.approx((0.00631, 0.80588), abs=1e-4)  # Clopper and Pearson, 1 of 4


def test_without_successes_the_bound_is_told_and_the_interval_begins_at_zero() -> None:
    rows = rows_of({1: [0, 0], 2: [0, 0]})
    found = line(rows, "p per step (from answers)")
    assert (found["estimate"], found["low"]) == (0.0, 0.0)
    assert found["method"].endswith("on [.5, 1], as the paper has it, p lies on its lower bound")
    assert math.isnan(line(rows, "right answers on a trace")["estimate"])


def test_what_could_not_be_scored_is_counted_and_no_zero() -> None:
    nothing, some = rows_of({5: [math.nan] * 3}), rows_of({5: [1, math.nan, math.nan]})
    for label in ("p per step (from answers)", "right answers, N = 5", "H_0.5"):
        assert math.isnan(line(nothing, label)["estimate"])
        assert line(nothing, label)["n_unscored"] == 3
        assert line(some, label)["n_unscored"] == 2
    assert line(some, "right answers, N = 5")["estimate"] == 1.0


def test_arms_have_groups_of_their_own_and_nothing_published() -> None:
    rows = pd.concat([rows_of({5: [1, 0]}, "D3"), rows_of({5: [1, 0]}, "D3", "slots")], ignore_index=True)
    table = card(rows)
    assert table["group"].unique().tolist() == ["CCB D3", "CCB D3: slots"]
    assert table[table["group"] == "CCB D3: slots"]["published"].isna().all()
    assert condition("trace") == condition("baseline") == ""


def test_earlier_turns_of_a_conversation_are_no_trials() -> None:
    rows = rows_of({5: [1, 0]})
    earlier = rows.assign(last=False, correct=math.nan, unscored="not the last turn")
    pd.testing.assert_frame_equal(card(pd.concat([earlier, rows], ignore_index=True)), card(rows))


def test_no_rows_are_no_lines() -> None:
    none = rows_of({5: [1.0]}).iloc[:0]
    assert card(none).to_dict("records") == findings(none).to_dict("records") == []
    assert list(card(none)) == [*COLUMNS, "published", "published_label"]


# ------------------------------------------------------------------------------------------------------------- findings


def test_a_form_that_does_not_hold_is_said_not_to_hold() -> None:
    """D1, Claude: deviance 42.0 on 9, dispersion 5.7, gamma .48 below 1."""
    text = said(rows_of(counts("D1", "Claude 3.7")))[0]
    assert text.startswith("D1, N = 5 to 50: 73 of 400 answers are right, but not as p^N has it (deviance 42.0 on 9 ")
    assert "dispersion 5.7" in text
    assert "success falls more slowly than any p^N, as rarer errors at depth, lucky answers or recovered" in text
    assert "gamma 0.48 [0.30" in text
    assert "H_" not in text  # no horizon of a form that does not hold
    assert "half the answers" not in text


def test_a_form_that_is_not_rejected_is_not_said_to_hold() -> None:
    text = said(rows_of(counts("D1", "Gemini 2.0F")))[0]
    assert (
        "p per step is 0.930 [0.920, 0.939], so that half the answers would be right at depth 9.5 [8.3, 10.9]" in text
    )
    assert "p^N is not rejected (deviance 12.6 on 9 degrees of freedom, bootstrap p = 0.2" in text


def test_another_form_with_less_aic_is_told_where_the_deviance_alone_rejects_nothing() -> None:
    """D2, Gemini: p = .024, after Holm's correction for two cells below .05, for eight above."""
    one = rows_of(counts("D2", "Gemini 2.0F"), "D2")
    others = [rows_of(counts("D1", "Gemini 2.0F"), arm=f"arm {number}") for number in range(7)]
    assert "but not as p^N has it" in said(one)[0]
    text = said(one, *others)[0]
    assert "p^N is not rejected" in text
    assert "Holm-corrected for 8 cells); by AIC a p^N describes it better" in text


def test_a_horizon_outside_the_depths_is_told() -> None:
    """D2, Claude: H_0.5 = 53.4 beyond 50."""
    assert "right at depth 53.4 [44.5, 64.4], outside the depths asked" in said(rows_of(counts("D2", "Claude 3.7")))[0]


@pytest.mark.parametrize(
    ("correct", "text"),
    [
        pytest.param(
            {1: [0, 0], 2: [0, 0]},
            "D1, N = 1 to 2: 0 of 4 answers are right; p per step is at most 0.69, and no form of decay can be told.",
            id="no success: the upper end that solves (1-p)^2 (1-p^2)^2 = .025",
        ),
        pytest.param(
            {1: [1, 1], 2: [1, 1]},
            "D1, N = 1 to 2: 4 of 4 answers are right; p per step is at least 0.54, and no form of decay can be told.",
            id="no failure: p^6 = .025",
        ),
        pytest.param({3: [math.nan]}, "D1, N = 3: no reply could be scored.", id="nothing scored"),
    ],
)
def test_little_is_said_of_little(correct: dict[int, list[float]], text: str) -> None:
    assert said(rows_of(correct))[0] == text


@pytest.mark.parametrize(("model", "kept"), [("DeepSeek", "0.68 ["), ("GPT-4o-mini", "on its lower bound [")])
def test_successes_at_one_depth_tell_no_form(model: str, kept: str) -> None:
    text = said(rows_of(counts("D3", model), "D3"))[0]
    assert f"at fewer than three depths: p per step, {kept}" in text
    assert text.endswith("rests on too little.")


def test_traces_are_spoken_of_by_themselves() -> None:
    found = said(rows_of({5: [1, 1, 1, 0, 0]}, k_star=3))[1]
    assert found.startswith("D1, N = 5: 2 of 5 traces left the truth, in 21 steps; if every step were alike")
    assert "would be 0.905 [0.696, 0.988]" in found  # Clopper and Pearson, 2 of 21
    assert "0 of 3 right answers stand on a trace that is not intact, a share of 0.00 [0.000, 0.708]" in found
    assert "1 of 1 right answers stands on" in said(rows_of({5: [1, 0]}, tfbc=1))[1]


# ----------------------------------------------------------------------------------------------------- what was printed


def test_the_paper_as_frames() -> None:
    """150 cells of 40; 850 right answers; printed p_d within .0006 of those of the counts."""
    table = published_counts()
    assert (len(table), set(table["n"]), int(table["correct"].sum())) == (150, {40}, 850)
    fits = fit_many(table, ["domain", "model"], draws=10)
    both = fits.merge(published_cells(), on=["domain", "model"])
    assert len(both) == 15
    assert (both["estimate_x"] - both["estimate_y"]).abs().max() < 6e-4
    assert set(both.loc[both["bound_x"] == "lower", "model"]) == set(both.loc[both["bound_y"], "model"])
    assert published_cells()["tfbc"].isna().sum() == 2
    assert published_tokens().groupby("domain")["estimate"].max().to_dict() == {"D1": 1497, "D2": 1755, "D3": 4317}


def test_the_papers_ablation_holds_no_information_but_in_one_arm() -> None:
    """4 of 20 against 0 of 20: exact McNemar p = 2 / 2^4 = .125; Clopper and Pearson 5.7 to 43.7 %."""
    table = published_arms().set_index("arm")
    assert table.loc["slots", ["correct", "n", "p"]].tolist() == [4, 20, 0.125]
    assert (table.loc["slots", "low"], table.loc["slots", "high"]) == pytest.approx((0.057, 0.437), abs=5e-4)
    rest: dict[str, Any] = table.loc[["verbose", "schema", "mapping"], "note"].to_dict()
    assert set(rest.values()) == {"no information"}
