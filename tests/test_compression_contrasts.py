"""Contrasts of CDCT rows: by hand on few rows, and planted effects found again where many differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cdct.compression import LEVELS, concepts, dips, generate, score
from cdct.compression.contrasts import (
    arm_effects,
    changes,
    dip_variance,
    kept_flips,
    level_differences,
    orthogonality,
    tiers,
    troughs,
)
from cdct.core import stream
from cdct.stats.association import correlation, log_odds

NAN = math.nan
DOMAIN = {"a": "formal", "b": "formal", "c": "natural", "d": "applied"}
BASE = {"arm": "fixed", "mode": "exactly", "limit": 35, "compressor": "written", "sample": 0, "turn": 0, "last": True}


def curves(
    values: Mapping[str, Sequence[float]], levels: Sequence[float] = (0.0, 0.5, 1.0), **more: Any
) -> pd.DataFrame:
    """One row per concept and level, of the model m in the baseline; `more` sets columns, also the metric's name."""
    metric = more.pop("metric", "cc")
    rows = [
        BASE | {"model": "m", "concept": concept, "domain": DOMAIN[concept], "c": c, metric: value} | more
        for concept, curve in values.items()
        for c, value in zip(levels, curve, strict=True)
    ]
    return pd.DataFrame(rows)


def planted(
    cc: Callable[[str, str, float], float], models: int = 6, levels: Sequence[float] = LEVELS, **more: Any
) -> pd.DataFrame:
    """Eight concepts by models: a function of model, concept and level, with noise of sd 0.05."""
    rng = stream("test", "contrasts", *map(str, more.values()))
    rows = [
        BASE
        | {"model": model, "concept": concept, "domain": "formal", "c": c, "cc": cc(model, concept, c) + noise}
        | more
        for model in (f"m{number}" for number in range(models))
        for concept in concepts()
        for c, noise in zip(levels, rng.normal(0, 0.05, len(levels)), strict=True)
    ]
    return pd.DataFrame(rows)


def only(table: pd.DataFrame, **named: Any) -> dict[str, Any]:
    for name, value in named.items():
        table = table[table[name] == value]
    (row,) = table.to_dict("records")
    return row


# --------------------------------------------------------------------------------------------------------------- levels


def test_levels_against_the_middle_by_hand() -> None:
    table = level_differences(curves({"a": [0.8, 0.4, 0.6], "b": [1.0, 0.2, 0.6]}))
    assert list(table.columns) == [
        *("metric", "c", "against", "estimate", "low", "high", "n", "n_unscored", "p", "p_holm", "method"),
    ]
    assert table[["c", "against"]].to_numpy().tolist() == [[0.0, 0.5], [1.0, 0.5]]
    # 0.4 and 0.8, and 0.2 and 0.4; two concepts can be turned in four ways, of which two are as far from 0
    assert table["estimate"].tolist() == pytest.approx([0.6, 0.3])
    assert table["p"].tolist() == [0.5, 0.5]
    assert table["p_holm"].tolist() == [1, 1]
    assert table[["n", "n_unscored"]].to_numpy().tolist() == [[2, 0]] * 2
    # 0.3 -+ t x 0.1, where t of one degree of freedom is 12.70620, cut at 1
    assert table.loc[1, ["low", "high"]].tolist() == pytest.approx([0.3 - 1.270620, 1])


def test_a_planted_middle_is_found_and_nothing_else() -> None:
    rows = planted(lambda model, concept, c: 0.7 - 0.2 * (c == 0.5) + 0.02 * len(concept) % 0.1)
    table = level_differences(rows).set_index("c")
    assert table.index.tolist() == [0.0, 0.25, 0.75, 1.0]
    assert ((table["low"] < 0.2) & (table["high"] > 0.2)).all()
    assert table["estimate"].tolist() == pytest.approx([0.2] * 4, abs=0.03)
    assert (table["n"] == 48).all()
    assert table["p"].tolist() == [2 / 2**8] * 4  # the smallest that eight concepts can give, whatever the models
    assert table["p_holm"].tolist() == pytest.approx([8 / 2**8] * 4)
    flat = level_differences(planted(lambda model, concept, c: 0.5 + 0.1 * (model == "m1")))
    assert ((flat["low"] < 0) & (flat["high"] > 0)).all()
    assert (flat["p_holm"] > 0.05).all()


def test_levels_are_corrected_in_each_cell_of_its_own() -> None:
    deep = planted(lambda model, concept, c: 0.7 - 0.3 * (c == 0.5), models=1)
    flat = planted(lambda model, concept, c: 0.7, models=1).assign(model="flat")
    table = level_differences(pd.concat([deep, flat]), by=["model"])
    assert table["model"].tolist() == ["flat"] * 4 + ["m0"] * 4
    assert table.loc[table["model"] == "m0", "p_holm"].tolist() == pytest.approx([8 / 2**8] * 4)
    assert (table.loc[table["model"] == "flat", "p"] > 2 / 2**8).any()


def test_a_missing_level_takes_its_pairs_out_and_is_counted() -> None:
    table = level_differences(curves({"a": [0.8, 0.4, NAN], "b": [1.0, NAN, 0.6], "c": [0.5, 0.5, 0.7]})).set_index("c")
    assert table.loc[0.0, ["estimate", "n", "n_unscored"]].tolist() == pytest.approx([0.2, 2, 1])
    assert table.loc[1.0, ["estimate", "n", "n_unscored"]].tolist() == pytest.approx([0.2, 1, 2])
    assert math.isnan(table.loc[1.0, "low"])
    none = level_differences(curves({"a": [0.8, NAN, 0.5]}))
    assert none[["n", "n_unscored"]].to_numpy().tolist() == [[0, 1]] * 2
    assert none[["estimate", "low", "high", "p", "p_holm"]].isna().all(axis=None)


def test_what_nobody_was_asked_is_no_pair() -> None:
    rows = pd.concat([curves({"a": [0.8, 0.4, 0.6]}), curves({"b": [1.0, 0.2, 0.6]}, model="n")])
    assert level_differences(rows)[["n", "n_unscored"]].to_numpy().tolist() == [[2, 0]] * 2


def test_samples_are_averaged_before_they_are_paired() -> None:
    rows = pd.concat(
        [
            curves({"a": [0.8, 0.4, 0.6], "b": [1.0, 0.2, 0.6]}),
            curves({"a": [0.6, NAN, 0.2], "b": [1.0, 0.2, NAN]}, sample=1),
        ]
    )
    table = level_differences(rows).set_index("c")
    assert table["estimate"].to_dict() == pytest.approx({0.0: (0.3 + 0.8) / 2, 1.0: (0.0 + 0.4) / 2})
    assert table[["n", "n_unscored"]].to_numpy().tolist() == [[2, 0]] * 2


def test_words_have_no_bounds() -> None:
    table = level_differences(curves({"a": [80, 40, 60], "b": [100, 20, 60]}, metric="words"), "words")
    assert table["estimate"].tolist() == [60, 30]
    assert table["high"].tolist()[1] == pytest.approx(30 + 127.062047)


# ----------------------------------------------------------------------------------------------------------------- arms


def test_an_arm_against_the_baseline_by_hand() -> None:
    rows = pd.concat(
        [
            curves({"a": [0.2], "b": [0.4], "c": [0.9], "d": [0.0]}, [0.5]),
            # a pair with a side that could not be scored is counted, one that was not asked is none
            curves({"a": [0.6], "b": [1.0], "c": [NAN]}, [0.5], arm="plain"),
        ]
    )
    table = arm_effects(rows)
    assert list(table.columns) == [
        *("model", "arm", "metric", "measure", "baseline", "treated", "estimate", "low", "high", "n", "n_unscored"),
        *("p", "p_holm", "method"),
    ]
    assert table[["model", "arm"]].to_numpy().tolist() == [["m", "plain"]] * 2
    assert table[["baseline", "treated"]].to_numpy().tolist() == [pytest.approx([0.3, 0.8])] * 2
    assert table[["n", "n_unscored"]].to_numpy().tolist() == [[2, 1]] * 2
    difference, odds = (only(table, measure=measure) for measure in ("difference", "log odds"))
    assert difference["estimate"] == pytest.approx(0.5)
    assert (difference["p"], difference["p_holm"]) == (0.5, 0.5)
    # sums 1.6 and 0.6 of two, half a success and half a failure added
    assert odds["estimate"] == pytest.approx(math.log(2.1 / 0.9) - math.log(1.1 / 1.9))
    assert math.isnan(odds["p"])
    assert not [name for name in table if "percent" in name]


def test_an_arm_is_paired_only_where_both_were_run() -> None:
    rows = pd.concat(
        [
            curves({"a": [0.9, 0.2, 0.9], "b": [0.9, 0.4, 0.9]}),
            curves({"a": [0.4, 0.5], "b": [0.4, 0.7]}, [0.5, 0.75], arm="bold"),
        ]
    )
    table = arm_effects(rows)
    assert only(table, measure="difference")["estimate"] == pytest.approx(0.1)
    assert (table["n"] == 2).all()
    assert (table["n_unscored"] == 0).all()
    apart = arm_effects(pd.concat([curves({"a": [0.9]}, [0.0]), curves({"a": [0.4]}, [0.5], arm="bold")]))
    assert apart[["n", "n_unscored"]].to_numpy().tolist() == [[0, 0]] * 2
    assert apart[["estimate", "baseline", "treated"]].isna().all(axis=None)


def test_planted_arms_are_found_and_corrected_together() -> None:
    def cc(model: str, concept: str, c: float) -> float:
        return 0.4 + 0.1 * (model == "m1")

    rows = pd.concat(
        [
            planted(cc, models=2, arm="fixed"),
            planted(lambda *names: cc(*names) + 0.3, models=2, arm="plain"),
            planted(cc, models=2, arm="bold"),
        ]
    )
    table = arm_effects(rows)
    assert table["measure"].tolist() == ["difference"] * 4 + ["log odds"] * 4
    plain = table[table["arm"] == "plain"]
    for row in plain.itertuples():
        base = 0.4 + 0.1 * (row.model == "m1")
        truth = (
            0.3 if row.measure == "difference" else math.log((base + 0.3) / (0.7 - base)) - math.log(base / (1 - base))
        )
        assert row.low < truth < row.high
        assert row.estimate == pytest.approx(truth, abs=0.1)
    bold = table[(table["arm"] == "bold") & (table["measure"] == "difference")]
    assert ((bold["low"] < 0) & (bold["high"] > 0)).all()
    found = table[table["measure"] == "difference"]
    # four tests in one table: two models by two arms
    assert found.loc[found["arm"] == "plain", "p_holm"].tolist() == pytest.approx([4 * 2 / 2**8, 4 * 2 / 2**8])
    assert (found["p_holm"] >= found["p"]).all()


@pytest.mark.parametrize(("by", "cells"), [((), 1), (("model",), 2), (("c",), 5), (("domain", "model"), 2)])
def test_effects_in_any_cell_are_those_of_pandas(by: Sequence[str], cells: int) -> None:
    base, bold = (planted(lambda model, concept, c: 0.5, models=2, arm=arm) for arm in ("fixed", "bold"))
    table = arm_effects(pd.concat([base, bold]), by)
    found = table[table["measure"] == "difference"]
    assert len(found) == cells
    merged = base.merge(bold, on=["model", "concept", "c", "domain"])
    merged = merged.assign(estimate=merged["cc_y"] - merged["cc_x"])
    oracle = merged.groupby(list(by))["estimate"].mean().tolist() if by else [merged["estimate"].mean()]
    assert found["estimate"].tolist() == pytest.approx(oracle)
    assert found["n"].sum() == 80


def test_log_odds_are_those_of_the_pairs() -> None:
    rows = pd.concat(
        [
            curves({"a": [0.2, 0.3], "b": [0.4, 0.1]}, [0.0, 0.5]),
            curves({"a": [0.9, 0.6], "b": [0.7, 1.0]}, [0.0, 0.5], arm="x"),
        ]
    )
    odds = only(arm_effects(rows), measure="log odds")
    oracle = log_odds([0.9, 0.6, 0.7, 1.0], [0.2, 0.3, 0.4, 0.1], ["a", "a", "b", "b"])
    assert [odds[name] for name in ("estimate", "low", "high", "n", "method")] == list(oracle)


def test_samples_of_an_arm_are_averaged() -> None:
    rows = pd.concat(
        [
            curves({"a": [0.2], "b": [0.4]}, [0.5]),
            curves({"a": [0.4], "b": [NAN]}, [0.5], sample=1),
            curves({"a": [0.8], "b": [1.0]}, [0.5], arm="plain"),
        ]
    )
    assert only(arm_effects(rows), measure="difference")["estimate"] == pytest.approx((0.5 + 0.6) / 2)


def test_compressors_are_compared_like_arms() -> None:
    rows = pd.concat([curves({"a": [0.2, 0.5, 1.0]}), curves({"a": [0.4, 0.7, 1.0]}, compressor="lead")])
    table = arm_effects(rows, baseline="written", of="compressor")
    assert only(table, measure="difference")["estimate"] == pytest.approx(0.4 / 3)
    assert table["compressor"].tolist() == ["lead"] * 2


def test_words_have_no_odds() -> None:
    rows = pd.concat(
        [curves({"a": [60]}, [0.5], metric="words"), curves({"a": [35]}, [0.5], metric="words", arm="bold")]
    )
    assert arm_effects(rows, metric="words")[["measure", "estimate"]].to_numpy().tolist() == [["difference", -25]]


def test_a_baseline_that_is_not_there_is_told() -> None:
    rows = curves({"a": [0.2]}, [0.5], arm="plain")
    with pytest.raises(ValueError) as caught:
        arm_effects(rows)
    assert str(caught.value) == "no rows of the arm 'fixed' to compare with; there are ['plain']"


def test_an_arm_without_its_baseline_in_a_cell_has_no_pairs() -> None:
    rows = pd.concat([curves({"a": [0.2]}, [0.5]), curves({"a": [0.7]}, [0.5], arm="plain", model="n")])
    table = arm_effects(rows)
    assert table[["model", "n"]].to_numpy().tolist() == [["n", 0]] * 2


def test_the_papers_ablation_as_difference_and_log_odds() -> None:
    """Table 3, at c = 0.5 on 0-1: 0.182 and 0.989. The gain that the paper prints, 598 %, has no place here."""
    printed = {
        "gpt-oss-120b": (0.08, 1.0),
        "o4-mini": (0.16, 0.99),
        "mistral-medium-2505": (0.16, 0.99),
        "claude-haiku-4-5": (0.17, 0.99),
        "gpt-5": (0.17, 1.0),
        "phi-4": (0.18, 1.0),
        "Llama-4-Maverick": (0.21, 0.98),
        "grok-4-fast-non-reasoning": (0.22, 0.95),
        "o3": (0.29, 1.0),
    }
    arms = [("fixed", 0), ("plain", 1)]
    rows = pd.concat(
        [curves({"a": [cc[side]]}, [0.5], model=model, arm=arm) for model, cc in printed.items() for arm, side in arms]
    )
    table = arm_effects(rows, by=())
    difference = only(table, measure="difference")
    assert (difference["baseline"], difference["treated"]) == pytest.approx((0.1822, 0.9889), abs=5e-5)
    assert difference["estimate"] == pytest.approx(0.8067, abs=5e-5)
    assert difference["p"] == 1  # one cluster of texts says nothing of others, however many models
    assert only(table, measure="log odds")["estimate"] == pytest.approx(math.log(9.4 / 0.6) - math.log(2.14 / 7.86))


# ---------------------------------------------------------------------------------------------------------------- flips


def test_flips_by_hand() -> None:
    levels = [0.0, 0.25, 0.5, 0.75, 1.0]
    rows = pd.concat(
        [
            curves({"a": [0, 0, 0, 1, 1], "b": [0, NAN, 1, 1, 0]}, levels, metric="near"),
            curves({"a": [1, 1, 1, 0, 1], "b": [0, 1, NAN, 1, 0]}, levels, metric="near", arm="bold"),
        ]
    )
    row = only(kept_flips(rows))
    assert [row[name] for name in ("only_arm", "only_baseline", "both", "neither")] == [3, 1, 2, 2]
    assert (row["n"], row["n_unscored"]) == (8, 2)
    assert (row["odds_ratio"], row["p"], row["note"]) == (pytest.approx(3), pytest.approx(0.625), "")
    assert (row["model"], row["arm"], row["metric"]) == ("m", "bold", "near")


def test_pairs_that_never_differ_say_nothing() -> None:
    rows = pd.concat([curves({"a": [1, 0, 1]}, metric="exact"), curves({"a": [1, 0, 1]}, metric="exact", arm="bold")])
    row = only(kept_flips(rows, metric="exact"))
    assert (row["p"], row["note"], row["both"], row["neither"]) == (1, "no information", 2, 1)


def test_each_sample_makes_a_pair_of_its_own() -> None:
    rows = pd.concat(
        [
            curves({"a": [near]}, [0.5], metric="near", arm=arm, sample=sample)
            for arm, values in (("fixed", [0, 0, 1]), ("bold", [1, 1, 1]))
            for sample, near in enumerate(values)
        ]
    )
    row = only(kept_flips(rows))
    assert (row["only_arm"], row["both"], row["n"]) == (2, 1, 3)
    more = pd.concat([rows, curves({"a": [1]}, [0.5], metric="near", arm="bold", sample=3)])
    assert only(kept_flips(more))["n"] == 3  # the fourth sample has no other side


def test_only_what_is_kept_or_not_can_flip() -> None:
    with pytest.raises(ValueError) as caught:
        kept_flips(curves({"a": [0.5]}, [0.5]), metric="cc")
    assert str(caught.value) == "kept_flips: metric must be 'exact' or 'near', which are kept or not, got 'cc'"


# -------------------------------------------------------------------------------------------------------------- changes


def both_of(cc: Mapping[str, Sequence[float]], coverage: Mapping[str, Sequence[float]], **more: Any) -> pd.DataFrame:
    rows = curves(cc, **more)
    return rows.assign(coverage=curves(coverage, **more)["cc"])


def test_changes_by_hand_on_one_scale() -> None:
    rows = both_of({"a": [0.9, 0.5, 1.0], "b": [0.7, 1.0, 0.9]}, {"a": [0.2, 0.4, 0.8], "b": [0.2, 0.6, 0.8]})
    table = changes(rows)
    assert list(table.columns) == [
        *("model", "contrast", "measure", "estimate", "low", "high", "n", "n_unscored", "method"),
    ]
    found = {(row.contrast, row.measure): row.estimate for row in table.itertuples()}
    assert found == pytest.approx(
        {
            ("c = 1 to 0.5", "cc"): (-0.5 + 0.1) / 2,
            ("c = 1 to 0.5", "coverage"): (-0.4 - 0.2) / 2,
            ("c = 1 to 0.5", "|cc|"): 0.3,  # changes of opposite signs do not cancel
            ("c = 1 to 0.5", "|coverage|"): 0.3,
            ("c = 1 to 0.5", "ratio"): 1.0,
            ("c = 1 to 0", "cc"): -0.15,
            ("c = 1 to 0", "coverage"): -0.6,
            ("c = 1 to 0", "|cc|"): 0.15,
            ("c = 1 to 0", "|coverage|"): 0.6,
            ("c = 1 to 0", "ratio"): 0.25,
        }
    )
    assert (table["n"] == 2).all()
    assert (table["n_unscored"] == 0).all()


def test_the_ratio_of_planted_changes_is_one_of_sizes_on_one_scale() -> None:
    """Compliance falls by 0.6, coverage by 0.2: three times as much, and not the 33 times of two scales."""
    rows = planted(lambda model, concept, c: 0.9 - 0.6 * (c < 1), models=4, levels=(0.0, 0.5, 1.0))
    other = planted(lambda model, concept, c: 0.8 - 0.2 * (c < 1), models=4, levels=(0.0, 0.5, 1.0), arm="fixed")
    table = changes(rows.assign(coverage=other["cc"]), by=())
    for contrast in ("c = 1 to 0.5", "c = 1 to 0"):
        row = only(table, contrast=contrast, measure="ratio")
        assert row["low"] < 3 < row["high"]
        assert row["estimate"] == pytest.approx(3, abs=0.3)
        size = only(table, contrast=contrast, measure="cc")
        assert size["low"] < -0.6 < size["high"]


def test_a_curve_with_a_hole_is_left_out_of_all_measures_and_counted() -> None:
    rows = both_of({"a": [0.9, NAN, 1.0], "b": [0.7, 0.3, 0.9]}, {"a": [0.2, 0.4, 0.8], "b": [0.2, 0.6, NAN]})
    table = changes(rows).set_index(["contrast", "measure"])
    assert (table.loc["c = 1 to 0.5", "n"] == 0).all()
    assert (table.loc["c = 1 to 0.5", "n_unscored"] == 2).all()
    assert (table.loc["c = 1 to 0", "n"] == 1).all()
    assert table.loc[("c = 1 to 0", "cc"), "estimate"] == pytest.approx(-0.1)


def test_a_level_does_not_change_against_itself() -> None:
    rows = both_of({"a": [0.9, 0.5, 1.0]}, {"a": [0.2, 0.4, 0.8]})
    assert changes(rows[rows["c"] >= 0.5])["contrast"].unique().tolist() == ["c = 1 to 0.5"]
    assert len(changes(rows[rows["c"] == 1.0])) == 0


# -------------------------------------------------------------------------------------------------------- orthogonality


def test_levels_that_move_both_make_a_correlation_that_no_level_has() -> None:
    """At each level the four combinations of high and low: r = 0; between levels both rise together."""
    signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    rows = both_of(
        {name: [base + 0.05 * x for base in (0.2, 0.5, 0.8)] for name, (x, _) in zip("abcd", signs, strict=True)},
        {name: [base + 0.05 * y for base in (0.2, 0.5, 0.8)] for name, (_, y) in zip("abcd", signs, strict=True)},
    )
    table = orthogonality(rows)
    assert list(table.columns) == ["c", "estimate", "low", "high", "p", "n", "n_unscored", "method"]
    assert table["c"].tolist() == ["all", "0", "0.5", "1"]
    # variance between levels 0.06, within 0.0025 in each: r = 0.06 / 0.0625
    assert table["estimate"].tolist() == pytest.approx([0.96, 0, 0, 0], abs=1e-12)
    assert table["n"].tolist() == [12, 4, 4, 4]
    assert (table["p"][1:] > 0.9).all()


def test_a_correlation_within_a_level_is_that_of_numpy_and_clustered() -> None:
    rng = stream("test", "orthogonality")
    rows = planted(lambda model, concept, c: 0.5, models=4)
    rows = rows.assign(coverage=0.5 * rows["cc"] + rng.normal(0, 0.03, len(rows)))
    rows.loc[rows.index[:3], "coverage"] = NAN
    for row in orthogonality(rows).itertuples():
        cell = rows if row.c == "all" else rows[rows["c"] == float(row.c)]
        whole = cell.dropna(subset=["coverage"])
        assert row.estimate == pytest.approx(np.corrcoef(whole["cc"], whole["coverage"])[0, 1])
        assert (row.n, row.n_unscored) == (len(whole), len(cell) - len(whole))
        oracle = correlation(whole["cc"], whole["coverage"], whole["concept"], whole["model"])
        assert (row.low, row.high, row.p) == (*oracle.estimate[1:3], oracle.p)


@pytest.mark.parametrize("models", [1, 2])
def test_of_one_or_two_models_concepts_alone_are_the_clusters(models: int) -> None:
    rng = stream("test", "few models")
    rows = planted(lambda model, concept, c: 0.5, models=models)
    rows = rows.assign(coverage=rows["cc"] + rng.normal(0, 0.03, len(rows)))
    row = only(orthogonality(rows), c="all")
    assert row["method"] == "cluster bootstrap, 8 clusters"
    assert row["low"] < row["estimate"] < row["high"]
    assert row["p"] < 0.05


# ---------------------------------------------------------------------------------------------------------------- tiers

TABLE_1 = {  # the paper's mean CC of each model, on 0-10
    "O3": ("reasoning", 8.32),
    "GPT-5": ("reasoning", 8.18),
    "O4-Mini": ("reasoning", 8.09),
    "GPT-4.5": ("efficient", 7.21),
    "Claude Sonnet 4": ("efficient", 7.45),
    "Claude Opus 4.1": ("efficient", 7.67),
    "Gemini 2.5 Flash": ("efficient", 6.98),
    "Llama 4.1 405B": ("efficient", 7.12),
    "DeepSeek-v3": ("efficient", 7.34),
}
TIERS = {model: tier for model, (tier, _) in TABLE_1.items()}


def test_the_papers_tiers_differ_by_nine_hundredths_and_not_by_27_5_percent() -> None:
    rows = pd.concat([curves({"a": [cc / 10]}, [0.5], model=model) for model, (_, cc) in TABLE_1.items()])
    table = tiers(rows, TIERS)
    assert table["c"].tolist() == ["all", "all", "0.5", "0.5"]
    row = only(table, c="all", measure="difference")
    assert row["estimate"] == pytest.approx(0.0902, abs=5e-5)
    assert 100 * row["estimate"] / np.mean([cc / 10 for tier, cc in TABLE_1.values() if tier == "efficient"]) == (
        pytest.approx(12.36, abs=0.005)
    )
    assert (row["n_reasoning"], row["n_efficient"], row["n_unscored"]) == (3, 6, 0)
    welch = stats.ttest_ind(
        *([cc for tier, cc in TABLE_1.values() if tier == one] for one in ("reasoning", "efficient")), equal_var=False
    )
    assert row["p"] == pytest.approx(welch.pvalue)
    assert [row["low"], row["high"]] == pytest.approx([end / 10 for end in welch.confidence_interval()])
    size = only(table, c="all", measure="hedges g")
    # pooled sd of the nine means .0217, g = .0902 / .0217 x .8882 (gamma-function factor for 7 degrees of freedom)
    assert size["estimate"] == pytest.approx(3.70, abs=0.02)
    assert size["low"] < size["estimate"] < size["high"]


def test_a_model_is_one_value_however_many_replies_it_has() -> None:
    rows = planted(lambda model, concept, c: 0.8 if model in ("m0", "m1") else 0.5)
    tier_of = dict.fromkeys(("m0", "m1"), "reasoning") | dict.fromkeys(("m2", "m3", "m4"), "efficient")
    table = tiers(rows, tier_of)
    assert table["c"].unique().tolist() == ["all", "0", "0.25", "0.5", "0.75", "1"]
    assert set(zip(table["n_reasoning"], table["n_efficient"], table["n_unscored"], strict=True)) == {(2, 3, 1)}
    row = only(table, c="all", measure="difference")
    means = rows.groupby("model")["cc"].mean()
    assert row["estimate"] == pytest.approx(means[:2].mean() - means[2:5].mean())
    assert row["estimate"] == pytest.approx(0.3, abs=0.02)


def test_one_model_in_a_group_gives_no_interval_and_none_no_difference() -> None:
    rows = pd.concat([curves({"a": [cc]}, [0.5], model=model) for model, cc in (("x", 0.9), ("y", 0.5), ("z", NAN))])
    row = only(tiers(rows, {"x": "reasoning", "y": "efficient", "z": "efficient"}), c="all", measure="difference")
    assert (row["estimate"], row["n_unscored"], row["n_efficient"]) == (pytest.approx(0.4), 1, 1)
    assert math.isnan(row["low"])
    assert math.isnan(row["p"])
    none = only(tiers(rows, {"x": "reasoning"}), c="all", measure="difference")
    assert math.isnan(none["estimate"])
    assert (none["n_reasoning"], none["n_efficient"], none["n_unscored"]) == (1, 0, 2)


# ------------------------------------------------------------------------------------------- variance, and where it is


def test_planted_magnitudes_split_into_models_and_concepts() -> None:
    by_model, by_concept = {"m": 0.0, "n": 0.1, "o": 0.3}, {"a": 0.1, "b": 0.2, "c": 0.4, "d": 0.2}
    rows = pd.concat(
        [
            curves({concept: [0.2 + m + k, 0.2, 0.2 + m + k] for concept, k in by_concept.items()}, model=model)
            for model, m in by_model.items()
        ]
    )
    table = dip_variance(rows).set_index("component")
    variances = [np.var(list(effects.values()), ddof=1) for effects in (by_model, by_concept)]
    assert table["estimate"].to_dict() == pytest.approx(
        {"model": variances[0], "concept": variances[1], "rest": 0}, abs=1e-12
    )
    assert table.loc["model", "share"] == pytest.approx(variances[0] / sum(variances))
    assert (table["n"] == 12).all()
    hole = rows.assign(cc=rows["cc"].mask((rows["concept"] == "b") & (rows["c"] == 0.5)))
    lost = dip_variance(hole)
    assert set(zip(lost["n"], lost["n_missing"], strict=True)) == {(9, 3)}


def test_troughs_by_hand() -> None:
    rows = curves({"a": [0.9, 0.2, 0.9], "b": [0.3, 0.2, 0.9], "c": [0.1, 0.2, 0.9], "d": [0.2, 0.2, 0.9]})
    table = troughs(dips(rows))
    assert list(table.columns) == ["model", "c", "estimate", "low", "high", "n", "n_unscored", "method"]
    assert table[["c", "estimate", "n", "n_unscored"]].to_numpy().tolist() == [
        pytest.approx([0.0, 1 / 3, 3, 1]),
        pytest.approx([0.5, 2 / 3, 3, 1]),
    ]
    exact = stats.binomtest(2, 3).proportion_ci(method="exact")
    assert table.loc[1, ["low", "high"]].tolist() == pytest.approx([exact.low, exact.high])
    hole = troughs(dips(rows.assign(cc=rows["cc"].mask((rows["concept"] == "a") & (rows["c"] == 0)))))
    assert hole[["n", "n_unscored"]].to_numpy().tolist() == [[2, 2]] * 2


def test_troughs_of_all_models_together_are_clustered_by_concept() -> None:
    rows = pd.concat([curves({"a": [0.9, 0.2, 0.9], "b": [0.1, 0.2, 0.9]}, model=model) for model in "mno"])
    table = troughs(dips(rows), by=())
    assert table["n"].tolist() == [6, 6]
    assert table["estimate"].tolist() == [0.5, 0.5]
    assert table["method"].str.endswith("2 clusters").all()


# ---------------------------------------------------------------------------------------- conditions, and empty tables

CALLS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "level_differences": level_differences,
    "arm_effects": arm_effects,
    "kept_flips": kept_flips,
    "changes": changes,
    "orthogonality": orthogonality,
    "tiers": lambda rows: tiers(rows, {}),
    "dip_variance": dip_variance,
    "troughs": lambda rows: troughs(dips(rows)),
}


def scored_rows(arms: Sequence[str] = ("fixed",), **wishes: Any) -> pd.DataFrame:
    """Rows of real scoring: a model that writes 35 words, and five more in the middle of the baseline."""
    items = generate(**wishes)
    keys = {"benchmark": "cdct", "model": "m", "sample": 0, "turn": 0, "status": "ok", "finish_reason": "stop"}
    lengths = {item.id: 35 + len(item.params["concept"]) % 3 + 5 * (item.params["c"] == 0.5) for item in items}
    replies = [
        keys | {"arm": arm, "item": item.id, "text": "word " * (lengths[item.id] if arm == "fixed" else 35)}
        for arm in arms
        for item in items
        if item.meta["context"] is not None
    ]
    return score(items, pd.DataFrame(replies))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("column", "value"), [("arm", "plain"), ("mode", "at most"), ("limit", 60), ("compressor", "lead")]
)
def test_conditions_are_never_mixed_in_silence(name: str, column: str, value: Any) -> None:
    rows = scored_rows()
    both = pd.concat([rows, rows.assign(**{column: value})])
    if (name, column) in (("arm_effects", "arm"), ("kept_flips", "arm")):
        assert len(CALLS[name](both)) > 0  # what they are made for
        return
    with pytest.raises(ValueError, match=f"^the rows mix {column} .*; add '{column}' to `by`, or take one$"):
        CALLS[name](both)


@pytest.mark.parametrize("column", ["mode", "limit", "compressor"])
def test_a_condition_in_by_is_compared_within_itself(column: str) -> None:
    rows = scored_rows(["fixed", "plain"])
    other = rows.assign(**{column: {"mode": "at most", "limit": 60, "compressor": "lead"}[column]})
    both = pd.concat([rows, other.assign(cc=other["cc"] / 2)])
    table = arm_effects(both, by=[column])
    found = table[table["measure"] == "difference"].set_index(column)["estimate"]
    whole = only(arm_effects(rows), measure="difference")["estimate"]
    assert sorted(found) == pytest.approx(sorted([whole, whole / 2]))
    assert len(level_differences(both[both["arm"] == "fixed"], by=[column])) == 8
    assert set(kept_flips(both, by=[column])["n"]) == {40}
    assert set(changes(both[both["arm"] == "fixed"], by=[column])["n"]) == {8}


@pytest.mark.parametrize("name", [name for name in CALLS if name != "dip_variance"])
@pytest.mark.parametrize("made", ["scored", "by hand"])
def test_no_rows_give_an_empty_table_with_its_columns(name: str, made: str) -> None:
    rows = scored_rows(["fixed", "bold"])
    one = rows if name in ("arm_effects", "kept_flips") else rows[rows["arm"] == "fixed"]
    empty = rows.iloc[:0] if made == "scored" else pd.DataFrame(columns=rows.columns)
    table = CALLS[name](empty)
    assert len(table) == 0
    assert list(table.columns) == list(CALLS[name](one).columns)


def test_no_rows_give_no_variance() -> None:
    table = dip_variance(scored_rows().iloc[:0])
    assert table["component"].tolist() == ["model", "concept", "rest"]
    assert table["estimate"].isna().all()
    assert (table["n"] == 0).all()


def test_rows_of_real_scoring_go_through_all_of_it() -> None:
    rows = scored_rows(["fixed", "bold", "inside", "as-released-short"])
    table = arm_effects(rows)
    bold = only(table, arm="bold", measure="difference")
    assert bold["treated"] == 1
    assert bold["n"] == 40
    inside = only(table, arm="inside", measure="difference")
    assert (inside["n"], inside["n_unscored"]) == (32, 8)  # c = 0 holds no limit
    flips = kept_flips(rows, metric="exact").set_index("arm")
    assert flips.loc["bold", ["only_arm", "only_baseline", "n"]].tolist() == [
        int((rows.loc[rows["arm"] == "fixed", "words"] != 35).sum()),
        *(0, 40),
    ]
    told = only(arm_effects(rows, metric="cc_told"), arm="as-released-short", measure="difference")
    assert (told["n"], told["n_unscored"]) == (0, 40)
    gaps = scored_rows(compressor="maker", texts={})
    both = pd.concat([rows[rows["arm"] == "fixed"], gaps])
    found = only(arm_effects(both, baseline="written", of="compressor"), measure="difference")
    assert (found["n"], found["n_unscored"]) == (8, 32)  # only the whole text could be asked


def test_of_a_conversation_the_last_turn_is_compared() -> None:
    rows = pd.concat(
        [
            curves({"a": [0.1, 0.1, 0.1]}, last=False),
            curves({"a": [0.8, 0.4, 0.6]}, turn=1),
        ]
    )
    assert level_differences(rows)["estimate"].tolist() == pytest.approx([0.4, 0.2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rows: level_differences(rows, "ccc"), "metric 'ccc' is not known; did you mean 'cc'?"),
        (
            lambda rows: arm_effects(rows, metric="sa"),
            "the rows have no 'sa'; what a jury gives is added by `with_jury`",
        ),
        (lambda rows: changes(rows, "fc"), "the rows have no 'fc'; what a jury gives is added by `with_jury`"),
        (lambda rows: orthogonality(rows, "sa"), "the rows have no 'sa'; what a jury gives is added by `with_jury`"),
        (lambda rows: dip_variance(rows, "sa"), "the rows have no 'sa'; what a jury gives is added by `with_jury`"),
    ],
)
def test_a_metric_that_is_not_there_is_told(call: Callable[[pd.DataFrame], Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        call(scored_rows())
    assert str(caught.value) == message
