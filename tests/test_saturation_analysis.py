"""What CSE checks say: hand-computed tables, published numbers, planted truth, and what must not be averaged."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from saturation_worlds import IDS, SCORE_OF_FAILED, filled, rates, world
from scipy import stats
from test_saturation_score import item as probe_of
from test_saturation_score import reply
from test_stats_decay import none_falls_short, tell

from cdct.core import stream
from cdct.saturation.analysis import METRICS, first_below, k_star, largest_k_at, ranked, rankings, summarise
from cdct.saturation.controls import difficulties, difficulty_by_k, drift, positions, terciles
from cdct.saturation.hierarchy import half_lives, immune, retention, slopes
from cdct.saturation.profiles import profile_terciles, profiles, related, slope_by_dimension, slope_ratio, spearman
from cdct.saturation.rates import FEW, bounded_mean, cell_means
from cdct.saturation.score import score
from cdct.stats import resample

RUNS = 400


def checks(*probes: tuple[Any, ...], **more: Any) -> pd.DataFrame:
    """A frame of probes (item, ids, passed) of one model; k is the number of ids, a failed check scores one half."""
    rows = []
    for item, ids, passed in probes:
        for place, (id, one) in enumerate(zip(ids.split(), passed, strict=True), start=1):
            score = one if one != one else 1.0 if one else 0.5
            rows.append({"item": item, "k": len(passed), "position": place, "constraint": id, "passed": float(one)})
            rows[-1] |= {"score": score, "unscored": "" if one == one else "failed"}
    names = {"S": "structural", "L": "lexical", "N": "numerical", "F": "format", "O": "ordering", "W": "word-level"}
    table = pd.DataFrame(rows)
    return filled(table.assign(model="m", dimension=table["constraint"].str[0].map(names))).assign(**more)


NAN = math.nan
HAND = checks(
    *[("a", "S1", [1]), ("b", "S2", [1]), ("c", "S1", [0]), ("d", "N2", [1])],
    *[("e", "S1 N2", [1, 1]), ("f", "S2 N2", [0, 1]), ("g", "L1 S1", [0, 0]), ("h", "L1 N1", [NAN, NAN])],
)


# ------------------------------------------------------------------------------------------------------------ summaries


def test_every_metric_by_hand() -> None:
    """k = 1: 3 of 4 pass. k = 2: 3 of 6 checks, one of three probes whole; a fourth probe has no reply."""
    table = summarise(HAND, ["k"], list(METRICS)).set_index(["k", "metric"])
    shown = {name: table["estimate"][2][name] for name in METRICS}
    assert shown == pytest.approx(
        {"mCSR": 1 / 2, "mCSR by probe": 1 / 2, "sCSR": 1 / 3, "score": 3 / 4, "gap": 1 / 4, "penalty": 1 / 6}
    )
    assert {name: table["estimate"][1][name] for name in METRICS} == pytest.approx(
        {"mCSR": 3 / 4, "mCSR by probe": 3 / 4, "sCSR": 3 / 4, "score": 7 / 8, "gap": 1 / 8, "penalty": 0}
    )
    assert table.loc[2, ["n", "n_unscored", "n_probes"]].loc["mCSR"].tolist() == [6, 2, 3]
    assert table.loc[2, ["n", "n_unscored", "n_probes"]].loc["sCSR"].tolist() == [3, 1, 3]
    assert table["estimate_all"][2]["mCSR"] == pytest.approx(3 / 8)
    assert table["estimate_all"][2]["sCSR"] == pytest.approx(1 / 4)
    assert table["few"].all()


def test_the_two_weightings_differ_over_several_k_and_the_penalty_compares_like_with_like() -> None:
    """4 single checks with 3 passes, 3 pairs with 3: 6 of 10 checks, but (3 + 1.5) of 7 probes; 4 of 7 whole."""
    table = summarise(HAND, [], list(METRICS)).set_index("metric")["estimate"]
    assert table["mCSR"] == pytest.approx(6 / 10)
    assert table["mCSR by probe"] == pytest.approx(4.5 / 7)
    assert table["sCSR"] == pytest.approx(4 / 7)
    assert table["penalty"] == pytest.approx(table["mCSR by probe"] - table["sCSR"])
    assert table["mCSR"] - table["sCSR"] != pytest.approx(table["penalty"])


def test_the_metrics_are_what_plain_pandas_says() -> None:
    table = world("oracle", [rates(lambda id, k: 0.9**k, range(1, 6))], range(1, 6), 30)
    found = summarise(table, ["k"], list(METRICS)).set_index(["metric", "k"])["estimate"]
    by_probe = table.groupby(["k", "item"])["passed"].agg(["mean", "min"]).groupby("k").mean()
    assert found["mCSR"].to_numpy() == pytest.approx(table.groupby("k")["passed"].mean().to_numpy())
    assert found["sCSR"].to_numpy() == pytest.approx(by_probe["min"].to_numpy())
    assert found["penalty"].to_numpy() == pytest.approx((by_probe["mean"] - by_probe["min"]).to_numpy())
    assert found["gap"].to_numpy() == pytest.approx((table["score"] - table["passed"]).groupby(table["k"]).mean())


def test_a_column_of_the_whole_reply_can_be_a_cell_and_one_of_checks_can_not() -> None:
    marked = HAND.assign(third=HAND["item"].map(lambda name: "early" if name < "c" else "late"))
    found = summarise(marked, ["third"], ["sCSR"]).set_index("third")["estimate"]
    assert found.to_dict() == pytest.approx({"early": 1.0, "late": 2 / 5})
    with pytest.raises(ValueError, match="a probe as a whole has no 'constraint'"):
        summarise(HAND, ["constraint"], ["sCSR"])


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [("arm", ["direct", "plan"], "mix the arms 'direct', 'plan'"), ("kind", ["satisfiable", "impossible"], "kinds of")],
)
def test_arms_and_kinds_are_never_averaged(column: str, values: list[str], said: str) -> None:
    mixed = pd.concat([HAND.assign(**{column: value}) for value in values])
    for statistic in (summarise, k_star, rankings, retention, immune, difficulties, positions):
        with pytest.raises(ValueError, match=said):
            statistic(mixed)
    assert len(summarise(mixed, [column], ["mCSR"])) == 2


def test_of_a_conversation_the_last_turn_counts() -> None:
    first = HAND.assign(last=False, passed=0.0)
    both = pd.concat([first, HAND.assign(turn=1)])
    pd.testing.assert_frame_equal(summarise(both), summarise(HAND.assign(turn=1)))


def test_a_metric_that_is_not_known_is_named() -> None:
    with pytest.raises(ValueError, match="metric 'mcsr' is not known"):
        summarise(HAND, ["k"], ["mcsr"])


def test_no_data_gives_no_number() -> None:
    lost = HAND.assign(passed=NAN, score=NAN, unscored="failed")
    table = summarise(lost, ["k"], list(METRICS))
    assert table[["estimate", "low", "high"]].isna().all(axis=None)
    assert (table["n"] == 0).all()
    assert k_star(lost)[["estimate", "low", "high"]].isna().all(axis=None)
    assert k_star(lost)["censored"].item() == "no data"
    assert len(summarise(HAND[:0], ["k"])) == 0


# ------------------------------------------------------------------------------------------------------------ intervals


def test_shares_have_the_interval_of_resample() -> None:
    """Its rules for 0 and 1, for many cells at once; a single probe has an interval here."""
    rng = stream("test", "shares")
    for _ in range(60):
        n = int(rng.integers(2, 30))
        item, passed = rng.integers(0, rng.integers(2, 12), n), (rng.random(n) < rng.choice([0, 0.3, 1])) * 1.0
        if len(np.unique(item)) > 1:
            found = bounded_mean(passed, item, np.zeros(n))
            assert found[:4] == pytest.approx(resample.mean(passed, item, (0.0, 1.0))[:4], abs=1e-9)


def test_cells_are_what_each_is_alone() -> None:
    rng = stream("test", "cells")
    cell, item, values = rng.integers(0, 9, 300), rng.integers(0, 40, 300), rng.random(300).round(1)
    values[cell < 4] = values[cell < 4].round()
    together = cell_means(values, cell, item, 10)
    for one in range(9):
        alone = bounded_mean(values[cell == one], item[cell == one], np.zeros((cell == one).sum()))
        assert alone[:3] == pytest.approx((together.mean[one], together.low[one], together.high[one]))
        assert alone.method == together.methods()[one]
    assert math.isnan(together.mean[9])
    assert together.methods()[9] == "no data"


def test_a_mean_of_scores_has_the_width_of_its_spread() -> None:
    """40 values of mean .5 and deviation .1: about the t interval, a fifth of that of a share."""
    values = np.tile([0.4, 0.6], 20)
    found, t = bounded_mean(values, np.arange(40), np.zeros(40)), resample.mean(values, np.arange(40))
    assert (found.low, found.high) == (pytest.approx(t.low, abs=2e-3), pytest.approx(t.high, abs=2e-3))


def test_a_single_probe_has_an_exact_bound() -> None:
    alone = bounded_mean([1.0], ["a"], ["m"])
    assert (alone.low, alone.high, alone.method) == (pytest.approx(0.025), 1.0, "exact binomial")
    twice = bounded_mean([1.0, 1.0], ["a", "a"], ["m", "m"])
    assert (twice.low, twice.high, twice.method) == (pytest.approx(0.025), 1.0, "exact bound, no spread, 1 probe")
    half = bounded_mean([0.5], ["a"], ["m"])
    assert (half.low, half.high) == (pytest.approx(0.0125), pytest.approx(0.9875))


def test_models_are_clusters_where_they_are_averaged() -> None:
    """Ten models that always or never pass: 50 probes say no more of other models than one does."""
    table = world("all or none", [np.full((36, 1), m % 2 * 1.0) for m in range(10)], [1], 50)
    row = summarise(table, ["k"], ["mCSR"]).iloc[0]
    exact = stats.binomtest(5, 10).proportion_ci()
    assert row["high"] - row["low"] > 0.9 * (exact.high - exact.low)
    assert summarise(table, ["k", "model"], ["mCSR"])["estimate"].isin([0, 1]).all()


# ----------------------------------------------------------------------------------------------------------- half-lives


def curve(*rows: tuple[float, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["k", "estimate", "low", "high"])


CROSSINGS = {
    "between two k": ([(1, 0.9, 0.8, 1), (2, 0.6, 0.4, 0.7), (3, 0.4, 0.3, 0.6), (4, 0.1, 0, 0.2)], (3, 2, 4, 2, "")),
    "sure": ([(1, 0.9, 0.8, 1), (2, 0.1, 0, 0.2)], (2, 2, 2, 1, "")),
    "at once": ([(1, 0.4, 0.3, 0.45), (2, 0.1, 0, 0.2)], (1, 1, 1, 0, "")),
    "never": ([(1, 0.9, 0.8, 1), (2, 0.8, 0.6, 0.9)], (math.inf, 3, math.inf, 2, "right")),
    "never for sure": ([(1, 0.9, 0.8, 1), (2, 0.6, 0.4, 0.9)], (math.inf, 2, math.inf, 2, "right")),
    "before the first k": ([(4, 0.2, 0.1, 0.3), (5, 0.1, 0, 0.2)], (4, 1, 4, 0, "left")),
    "in a gap": ([(1, 0.9, 0.8, 1), (4, 0.2, 0.1, 0.3)], (4, 2, 4, 1, "interval")),
    "one half is not below": ([(1, 0.5, 0.4, 0.6), (2, 0.1, 0, 0.2)], (2, 1, 2, 1, "")),
    "an end that is not known": ([(1, 0.9, NAN, NAN), (2, 0.1, 0, 0.2)], (2, 1, 2, 1, "")),
    "a k without an estimate": ([(1, 0.9, 0.8, 1), (2, NAN, NAN, NAN), (3, 0.1, 0, 0.2)], (3, 2, 3, 1, "interval")),
}


@pytest.mark.parametrize("name", CROSSINGS)
def test_where_a_curve_falls_below_one_half(name: str) -> None:
    rows, expected = CROSSINGS[name]
    found = first_below(curve(*rows).sample(frac=1, random_state=3), 0.5)
    assert tuple(found[key] for key in ("estimate", "low", "high", "above", "censored")) == expected


def test_k_star_and_the_largest_k_of_counts() -> None:
    """20 probes a k, passed whole 20, 19, 12, 9, 1 times: below 1/2 from k = 4, below .9 from k = 3."""
    rows = []
    for k, whole in enumerate((20, 19, 12, 9, 1), start=1):
        for number in range(20):
            rows.append((f"{k}/{number}", " ".join(IDS[:k]), [1] * (k - 1) + [int(number < whole)]))
    table = checks(*rows)
    row = k_star(table).iloc[0]
    assert row[["estimate", "above", "censored", "last", "n"]].tolist() == [4, 3, "", 5, 100]
    low = [stats.binomtest(n, 20).proportion_ci().low for n in (20, 19, 12, 9, 1)]
    assert [low[1] > 0.5, low[2] < 0.5] == [True, True]
    assert (row["low"], row["high"]) == (3, 5)
    most = largest_k_at(table).iloc[0]
    assert most[["estimate", "share", "metric"]].tolist() == [2, 0.9, "sCSR"]
    assert (most["low"], most["high"]) == (0, 2)
    assert largest_k_at(table, 0.5)["estimate"].item() == 3
    assert largest_k_at(table, 0.9, metric="mCSR")["censored"].item() == ""


def test_the_largest_k_where_nothing_falls_is_the_last_and_says_so() -> None:
    table = world("sure", [np.ones((36, 3))], [1, 2, 4], 60)
    row = largest_k_at(table).iloc[0]
    assert row[["estimate", "low", "high", "censored"]].tolist() == [4, 4, math.inf, "right"]
    assert largest_k_at(table.assign(passed=0.0))["estimate"].item() == 0


# ------------------------------------------------------------------------------------------------------------- rankings


def test_ranks_share_ties_and_the_geometric_mean_wants_both() -> None:
    table = pd.DataFrame({"model": list("abc"), "mCSR": [0.9, 0.5, 0.5], "sCSR": [0.1, 0.4, 0.2], "score": [1, 1, 0.5]})
    found = ranked(table)
    assert found["mCSR rank"].tolist() == [1, 2, 2]
    assert found["score rank"].tolist() == [1, 1, 3]
    assert found["geometric rank"].tolist() == [3, 1, 2]
    assert found["geometric"].tolist() == pytest.approx([0.3, math.sqrt(0.2), math.sqrt(0.1)])


def test_a_rank_says_which_others_can_not_be_ruled_out() -> None:
    """a and b pass the same number of probes, c far fewer: c is last for sure, a and b first or second."""
    items = [f"i{n:02d}" for n in range(40)]
    frames = []
    for model, passes in (("a", range(30)), ("b", range(10, 40)), ("c", range(4))):
        frames.append(checks(*[(one, "S1", [int(n in passes)]) for n, one in enumerate(items)]).assign(model=model))
    table = rankings(pd.concat(frames), ["sCSR"]).set_index("model")
    assert table[["rank", "rank_low", "rank_high"]].to_numpy().tolist() == [[1, 1, 2], [1, 1, 2], [3, 3, 3]]


def test_differences_are_those_on_the_same_items() -> None:
    """b fails one more of 60 probes of very unequal difficulty, and never passes what a fails: that is no luck."""
    rng = stream("test", "paired")
    hard = rng.random(300) < 0.5
    a = checks(*[(f"{n}", "S1", [int(not one)]) for n, one in enumerate(hard)])
    lost = np.flatnonzero(~hard)[:12]
    b = checks(*[(f"{n}", "S1", [int(not one and n not in lost)]) for n, one in enumerate(hard)]).assign(model="b")
    table = rankings(pd.concat([a, b]), ["sCSR"]).set_index("model")
    assert table["rank_high"]["m"] == 1
    overlap = table.loc["b", "high"] > table.loc["m", "low"]
    assert overlap  # apart, their intervals would say nothing


# ------------------------------------------------------------------------------------------------------------ hierarchy

FALLING = checks(
    *[(f"1/{n}", "S1", [int(n < 8)]) for n in range(10)],
    *[(f"2/{n}", "S1 N2", [int(n < 6), 1]) for n in range(10)],
    *[(f"3/{n}", "S1 N2 L1", [int(n < 3), 1, 0]) for n in range(10)],
)


def test_retention_half_life_and_slopes_by_hand() -> None:
    """S1: .8, .6, .3. Slope (.3 - .8) / 2 = -.25, over .8 it is -.3125; retention 1, .75, .375; below one half at 3."""
    kept = retention(FALLING)
    of_s1 = kept[kept["constraint"] == "S1"]
    assert of_s1["estimate"].tolist() == pytest.approx([1, 0.75, 0.375])
    assert of_s1["rate"].tolist() == pytest.approx([0.8, 0.6, 0.3])
    assert of_s1[["n", "n_first"]].to_numpy().tolist() == [[10, 10]] * 3
    assert (of_s1["low"] <= of_s1["estimate"]).all()
    assert (of_s1["estimate"] <= of_s1["high"]).all()
    assert half_lives(kept).set_index("constraint")["estimate"]["S1"] == 3
    found = slopes(FALLING).set_index(["constraint", "slope"])["estimate"]["S1"]
    assert found.to_dict() == pytest.approx({"absolute": -0.25, "relative": -0.3125, "retention": -0.3125})


def test_without_a_rate_at_k_1_there_is_no_retention() -> None:
    kept = retention(FALLING)
    of_l1 = kept[kept["constraint"] == "L1"]
    assert of_l1["estimate"].isna().all()
    assert set(of_l1["method"]) == {"no check at k = 1"}
    assert half_lives(kept).set_index("constraint").loc["L1", "censored"] == "no data"
    never = checks(("a", "S1", [0]), ("b", "S1 N2", [1, 1]), ("c", "S1 N2 L1", [1, 1, 1]))
    assert set(retention(never).query("constraint == 'S1'")["method"]) == {"the rate at k = 1 is 0"}
    table = slopes(never).set_index(["constraint", "slope"])
    assert math.isnan(table["estimate"]["S1"]["relative"])
    assert table["estimate"]["S1"]["absolute"] == pytest.approx(0.5)
    assert table["method"]["L1"]["absolute"] == "fewer than three k"


def test_the_relative_slope_is_that_of_the_pooled_retention() -> None:
    """And that of each model's own retention is another number where models differ."""
    ks = range(1, 7)
    chances = [rates(lambda id, k: 0.9 * 0.95 ** (k - 1), ks), rates(lambda id, k: 0.4 * 0.7 ** (k - 1), ks)]
    table = world("two", chances, ks, 400)
    kept, found = retention(table), slopes(table).set_index(["constraint", "slope"])["estimate"]
    for id in ("S1", "L5"):
        line = np.polyfit(kept.loc[kept["constraint"] == id, "k"], kept.loc[kept["constraint"] == id, "estimate"], 1)
        assert found[id]["relative"] == pytest.approx(line[0])
        own = []
        for model in ("m0", "m1"):
            alone = retention(table[table["model"] == model]).query("constraint == @id")
            own.append(np.polyfit(alone["k"], alone["estimate"], 1)[0])
        assert found[id]["retention"] == pytest.approx(np.mean(own))
    assert abs(found["S1"]["retention"] - found["S1"]["relative"]) > 0.01


def test_the_immune_are_those_that_keep_their_rate() -> None:
    ks = range(1, 13)

    def chance(id: str, k: int) -> float:
        return {"L5": 0.97, "S1": 0.8 * 0.75 ** (k - 1), "M3": 0.03}.get(id, 0.9 * 0.9 ** (k - 1))

    table = immune(world("immune", [rates(chance, ks)], ks, 900)).set_index("constraint")
    assert table.index[0] in ("L5", "M3")
    assert table.loc["L5", ["immune", "surely", "flat"]].tolist() == [True, True, True]
    assert table.loc["S1", ["immune", "flat"]].tolist() == [False, False]
    assert not table.loc["M3", "flat"]  # flat, and next to nothing
    late = FALLING.assign(k=FALLING["k"].replace({3: 9}))
    row = immune(late).set_index("constraint").loc["S1"]
    assert row[["rate_first", "rate_late", "estimate", "n"]].tolist() == pytest.approx([0.8, 0.3, 0.375, 10])


def test_dimensions_can_be_the_units() -> None:
    kept = retention(FALLING, unit="dimension")
    assert kept.loc[kept["dimension"] == "structural", "estimate"].tolist() == pytest.approx([1, 0.75, 0.375])
    with pytest.raises(ValueError, match="unit must be 'constraint' or 'dimension', got 'k'"):
        retention(FALLING, unit="k")


def test_profiles_hold_what_the_single_tables_hold() -> None:
    ks = range(1, 9)
    table = world("profile", [rates(lambda id, k: 0.9 * 0.9 ** (k - 1), ks)], ks, 200)
    found = profiles(table)
    assert found["constraint"].tolist() == list(IDS)
    row = found.set_index("constraint").loc["W2"]
    by_hand = table[table["constraint"] == "W2"]
    assert row["k1"] == pytest.approx(by_hand.loc[by_hand["k"] == 1, "passed"].mean())
    assert row["mCSR"] == pytest.approx(by_hand["passed"].mean())
    assert row["gap"] == pytest.approx((by_hand["score"] - by_hand["passed"]).mean())
    own = slopes(table).set_index(["constraint", "slope"])["estimate"]["W2"]
    assert row[["slope_absolute", "slope_relative"]].tolist() == pytest.approx(own[["absolute", "relative"]].tolist())
    assert row["t_half"] == half_lives(retention(table)).set_index("constraint")["estimate"]["W2"]
    by_model = profiles(pd.concat([table, table.assign(model="other")]), ["model"])
    assert len(by_model) == 72


# ------------------------------------------------------------------------------------------------- constraints as units

SIX = pd.DataFrame(
    {
        "constraint": ["S1", "S2", "S3", "L1", "L2", "L3"],
        "dimension": ["structural"] * 3 + ["lexical"] * 3,
        "k1": [0.4, 1.0, 0.9, 0.5, 0.98, 0.93],
        "mCSR": [0.1, 0.5, 0.4, 0.5, 0.8, 0.5],
        "gap": [0.4, 0.2, 0.3, 0.1, 0.02, 0.15],
        "slope_relative": [-0.08, -0.06, -0.07, -0.03, -0.02, -0.04],
    }
)


def test_rho_of_gap_and_slope_by_hand() -> None:
    """Ranks of the gaps 6 4 5 2 1 3, of the slopes 1 3 2 5 6 4: rho = -1, and partial rhos are -1 too."""
    table = related(SIX).set_index(["with", "given"])["estimate"]
    assert table["gap"][""] == pytest.approx(-1)
    assert table["k1"][""] == pytest.approx(stats.spearmanr(SIX["k1"], SIX["slope_relative"])[0])
    assert related(SIX)["n"].tolist() == [6] * 5
    with pytest.raises(ValueError, match="slope 'relativ' is not known"):
        related(SIX, "relativ")


def test_a_partial_rho_is_the_correlation_of_what_is_left() -> None:
    rng = stream("test", "partial")
    z = rng.normal(size=40)
    x, y = z + rng.normal(size=40), z + rng.normal(size=40)
    ranks = [stats.rankdata(one) for one in (x, y, z)]
    left = [one - np.polyval(np.polyfit(ranks[2], one, 1), ranks[2]) for one in ranks[:2]]
    assert spearman(x, y, z)[0] == pytest.approx(np.corrcoef(left)[0, 1])
    assert spearman(x, y)[0] == pytest.approx(stats.spearmanr(x, y)[0])
    assert spearman(x, y)[3] == pytest.approx(stats.spearmanr(x, y)[1])


def test_means_and_ratio_of_dimensions_by_hand() -> None:
    """-.07 and -.03; Fieller with 2 and 2 degrees, both deviations .01: Welch's are 2 (1 + q^2)^2 / (1 + q^4)."""
    means = slope_by_dimension(SIX).set_index("dimension")
    assert means["estimate"].to_dict() == pytest.approx({"structural": -0.07, "lexical": -0.03})
    assert means.index[0] == "structural"
    row = slope_ratio(SIX).iloc[0]
    q, v = 7 / 3, 1e-4 / 3
    t = stats.t.ppf(0.975, 2 * (1 + q * q) ** 2 / (1 + q**4))
    for end in (row["low"], row["high"]):
        assert (0.07 - end * 0.03) ** 2 == pytest.approx(t * t * v * (1 + end * end))
    assert row["estimate"] == pytest.approx(q)
    assert row["low"] < q < row["high"]
    flat = slope_ratio(SIX.assign(slope_relative=[-0.08, -0.06, -0.07, -0.03, 0.03, 0.01])).iloc[0]
    assert (flat["low"], flat["high"]) == (-math.inf, math.inf)
    assert math.isnan(slope_ratio(SIX[:3])["estimate"].item())


def test_thirds_of_constraints() -> None:
    found = profile_terciles(SIX).set_index("tercile")
    assert found["constraints"].to_dict() == {"easy": "L2 S2", "medium": "L1 L3", "hard": "S3 S1"}
    assert found["estimate"].to_dict() == pytest.approx({"easy": 0.99, "medium": 0.715, "hard": 0.65})


# ------------------------------------------------------------------------------------------------------------- controls


def test_difficulty_is_measured_alone_and_by_others() -> None:
    """S1 alone passes 1 of 2, N2 2 of 2; each single probe is measured by the other one."""
    table = checks(
        *[("a", "S1", [1]), ("b", "S1", [0]), ("c", "N2", [1]), ("d", "N2", [1])],
        *[("e", "S1 N2", [0, 0]), ("f", "S1 L1", [1, 1])],
    )
    found = difficulties(table).set_index("item")
    assert found["difficulty"][["a", "b", "c", "e"]].tolist() == pytest.approx([1.0, 0.0, 0.0, 0.25])
    assert math.isnan(found["difficulty"]["f"])
    assert found["unknown"]["f"] == 1
    plain = difficulties(table, leave_out=False).set_index("item")
    assert plain["difficulty"][["a", "b"]].tolist() == [0.5, 0.5]


def test_kruskal_and_wallis_over_k_is_scipys_with_the_right_degrees_of_freedom() -> None:
    ks = range(1, 7)
    chance = rates(lambda id, k: 0.3 + 0.6 * (list(IDS).index(id) / 35), ks)
    table = world("difficulty", [chance], ks, 80)
    row = difficulty_by_k(table).iloc[0]
    alone = table[table["k"] == 1].groupby("constraint")["passed"].mean()
    groups = table.assign(d=1 - table["constraint"].map(alone)).groupby(["k", "item"])["d"]
    means = groups.agg(lambda some: some.mean(skipna=False)).round(12)
    expected = stats.kruskal(*[group.dropna() for _, group in means.groupby("k")])
    assert row[["H", "p"]].tolist() == pytest.approx([expected.statistic, expected.pvalue])
    assert row["df"] == 5
    assert row["n"] + row["n_unscored"] == 480


def test_harder_constraints_at_large_k_are_found() -> None:
    easy, hard = IDS[:18], IDS[18:]
    chance = rates(lambda id, k: 0.9 if id in easy else 0.2, [1])
    alone = world("alone", [chance], [1], 300)
    for pool, low, high in ((hard, 0.0, 1e-6), (IDS, 0.001, 1.0)):
        more = world("more", [rates(lambda id, k: 0.5, [5])], [5], 100, ids=pool)
        row = difficulty_by_k(pd.concat([alone, more])).iloc[0]
        assert low <= row["p"] <= high, pool


def test_terciles_part_easy_from_hard_and_know_what_they_can_not_tell() -> None:
    ks = range(1, 5)
    chance = rates(lambda id, k: 0.95 if id[0] in "SLN" else 0.3, ks)
    table = world("terciles", [chance], ks, 300)
    found = terciles(table).set_index(["k", "tercile"])
    assert found["estimate"][2]["easy"] > found["estimate"][2]["medium"] > found["estimate"][2]["hard"]
    assert found["difficulty"][2]["easy"] < found["difficulty"][2]["hard"]
    assert found.groupby("k")["n"].sum().tolist() == [300] * 4
    few = terciles(table[table["item"].str.endswith(("1", "2"))])
    assert "unknown" in set(few["tercile"])
    left = terciles(table, without=["S1"])
    assert left["n"].sum() == table.groupby("item")["constraint"].agg(lambda some: "S1" not in set(some)).sum()


def test_the_chance_of_a_position_is_that_of_all_orders() -> None:
    """One probe of three, passed as 1, 0, 0: its six orders give position sums with the variance of the formula."""
    table = checks(("a", "S1 S2 N1", [1, 0, 0]), ("b", "S1 S2 N1", [1, 1, 0]))
    row = positions(table).iloc[0]
    assert row["estimate"] == pytest.approx(np.corrcoef([1, 2, 3, 1, 2, 3], [1, 0, 0, 1, 1, 0])[0, 1])
    orders = [-1, 0, 1]  # where the odd one out can stand, centred; both probes have the same three
    sums = np.array([one + other for one in orders for other in orders])
    z = 2 / math.sqrt(sums.var())
    assert row["p"] == pytest.approx(2 * stats.norm.sf(z))


def test_positions_that_matter_are_found_and_others_are_not() -> None:
    ks = [4]
    table = world("positions", [np.full((36, 1), 0.5)], ks, 400)
    first = positions(table).iloc[0]
    assert first["p"] > 0.01
    assert abs(first["estimate"]) < 4 * first["by_chance"]
    rng = stream("test", "late")
    late = table.assign(passed=(rng.random(len(table)) < 0.7 - 0.1 * table["position"]) * 1.0)
    row = positions(late).iloc[0]
    assert row["p_holm"] < 1e-6
    assert row["high"] < 0
    with pytest.raises(ValueError, match="in the arm 'table-order' constraints are not shuffled"):
        positions(table.assign(arm="table-order"))


def test_p_of_positions_is_uniform_where_they_do_not_matter() -> None:
    """400 sets of 12 probes whose checks fail together: at most 5 in 100 below .05 beyond Monte-Carlo error."""
    table = world("uniform", [np.full((36, 1), 0.5), np.full((36, 1), 0.7)], [5], 12, RUNS, shift=0.6)
    p = positions(table, ["run"], draws=2)["p"]
    assert len(p) == RUNS
    assert stats.binom.sf((p < 0.05).sum() - 1, RUNS, 0.05) > 0.01
    tell(f"positions: {(p < 0.05).mean():.3f} of p below .05")


def test_drift_of_parameters_is_found_per_parameter() -> None:
    rng = stream("test", "drift")
    table = world("drift", [np.full((36, 6), 0.5)], range(1, 7), 120, ids=["S1", "L1", "L5", "L2", "S5", "O1", "F3"])
    letters = np.array(list("inshrdlu"))

    def params(row: dict[str, Any]) -> dict[str, Any]:
        if row["constraint"] == "S1":
            return {"n": int(40 + rng.integers(20))}
        if row["constraint"] == "S5":
            return {"n": int(3 + row["k"] + rng.integers(3))}
        if row["constraint"] == "L1":
            return {"letter": str(rng.choice(letters))}
        if row["constraint"] == "L5":
            return {"word": str(rng.choice(letters[: 2 + row["k"]]))}
        return {"words": [str(one) for one in rng.integers(0, 10**6, 3)]}

    table["params"] = [json.dumps(params(row)) for row in table.to_dict("records")]
    found = drift(table, draws=300).set_index(["constraint", "parameter"])
    assert found["p_holm"][("S5", "n")] < 1e-6
    assert found["mean_first"][("S5", "n")] < found["mean_last"][("S5", "n")]
    assert found["p_holm"][("L5", "word")] < 0.05
    assert found["p_holm"][("S1", "n")] > 0.05
    assert found["p_holm"][("L1", "letter")] > 0.05
    assert found["measure"].to_dict()[("L1", "letter")] == "V"
    assert math.isnan(found["p"][("L2", "words")])
    pd.testing.assert_frame_equal(drift(table, draws=300), drift(table, draws=300))
    assert drift(table, draws=300, seed=1)["p"].tolist() != drift(table, draws=300)["p"].tolist()


# -------------------------------------------------------------------------------------------------------- planted truth

KS, ALL_KS = (1, 2, 3, 4, 6, 8), np.arange(1, 13)


def holds(table: pd.DataFrame, truth: Any) -> np.ndarray:
    found = table.dropna(subset=["estimate"])
    truth = found["run"].map(truth) if isinstance(truth, dict) else truth
    return ((found["low"] <= truth + 1e-9) & (truth - 1e-9 <= found["high"])).to_numpy()


@pytest.mark.parametrize(("start", "fall", "probes"), [(0.95, 0.93, 10), (0.7, 0.85, 10), (0.98, 0.97, 40)])
def test_intervals_hold_the_planted_rates(start: float, fall: float, probes: int) -> None:
    """400 subjects whose checks have one chance at each k, and fail together within a probe."""
    p = start * fall ** (np.array(KS) - 1.0)
    shift = 0.5
    table = world(f"rates {start} {fall}", [np.tile(p, (36, 1))], KS, probes, RUNS, shift)
    spread = shift * np.minimum(p, 1 - p)
    whole = ((p + spread) ** np.array(KS) + (p - spread) ** np.array(KS)) / 2
    truths = {"mCSR": p, "sCSR": whole, "score": p + (1 - p) * SCORE_OF_FAILED, "gap": (1 - p) * SCORE_OF_FAILED}
    truths["penalty"] = p - whole
    found = summarise(table[table["k"].isin((1, 3, 8))], ["run", "k"], list(truths))
    covered = {}
    for name, truth in truths.items():
        for k in (1, 3, 8):
            rows = found[(found["metric"] == name) & (found["k"] == k)]
            covered[f"{name} at k = {k}, {probes} probes"] = holds(rows, truth[KS.index(k)])
    overall = summarise(table, ["run"], ["mCSR", "mCSR by probe", "penalty"]).set_index("metric")
    covered["mCSR over k"] = holds(overall.loc["mCSR"], float(np.average(p, weights=KS)))
    covered["mCSR by probe over k"] = holds(overall.loc["mCSR by probe"], float(p.mean()))
    covered["penalty over k"] = holds(overall.loc["penalty"], float((p - whole).mean()))
    below = [k for k, one in zip(KS, whole, strict=True) if one < 0.5]
    covered["k*"] = holds(k_star(table, ["run"]), below[0] if below else math.inf)
    at = [k for k, one in zip(KS, whole, strict=True) if one < 0.9]
    covered["largest k at .9"] = holds(largest_k_at(table, by=["run"]), at[0] - 1 if at else math.inf)
    none_falls_short(covered)


@pytest.mark.parametrize(("start", "fall", "probes"), [(0.9, 0.93, 9), (0.5, 0.93, 9), (0.9, 0.8, 30)])
def test_intervals_hold_the_planted_decline_of_a_constraint(start: float, fall: float, probes: int) -> None:
    """400 subjects; nine probes of a constraint at each k is what 340 probes give each of 36."""
    p = start * fall ** (ALL_KS - 1.0)
    table = world(f"decline {start} {fall}", [np.tile(p, (36, 1))], ALL_KS, probes, RUNS, keep=1)
    table = table.assign(constraint="L1", dimension="lexical")
    line = float(np.polyfit(ALL_KS, p, 1)[0])
    truths = {"absolute": line, "relative": line / start, "retention": line / start}
    found, kept = slopes(table, ["run"]), retention(table, ["run"])
    covered = {f"{name} slope": holds(found[found["slope"] == name], truth) for name, truth in truths.items()}
    for k in (2, 6, 12):
        covered[f"retention at {k}"] = holds(kept[kept["k"] == k], fall ** (k - 1.0))
    covered["late retention"] = holds(immune(table, ["run"]), float(p[7:].mean() / p[0]))
    covered["t0.5"] = holds(half_lives(kept, ["run"]), next((k for k in ALL_KS if fall ** (k - 1.0) < 0.5), math.inf))
    none_falls_short(covered)


def test_intervals_hold_over_models_that_differ() -> None:
    """400 times eight models from a population whose starts and falls differ, on the same nine probes a k."""
    rng = stream("test", "models")

    def drawn(n: int) -> np.ndarray:
        start, fall = rng.normal(0.8, 0.08, n).clip(0.3, 0.99), rng.normal(0.93, 0.02, n).clip(0.7, 1)
        return start[:, None] * fall[:, None] ** (ALL_KS - 1.0)

    population = drawn(200_000)
    mean = population.mean(axis=0)
    chances = [np.repeat(drawn(RUNS)[:, None], 36, axis=1) for _ in range(8)]
    table = world("population", chances, ALL_KS, 9, RUNS, 0.4, keep=1).assign(constraint="L1", dimension="lexical")
    found, kept = slopes(table, ["run"]), retention(table, ["run"])
    line = np.polyfit(ALL_KS, population.T, 1)[0]
    truths = {"absolute": line.mean(), "relative": line.mean() / mean[0], "retention": (line / population[:, 0]).mean()}
    covered = {f"{name} slope": holds(found[found["slope"] == name], truth) for name, truth in truths.items()}
    covered["retention at 12"] = holds(kept[kept["k"] == 12], mean[11] / mean[0])
    covered["late retention"] = holds(immune(table, ["run"]), mean[7:].mean() / mean[0])
    rates_at = summarise(table[table["k"].isin((1, 8))], ["run", "k"], ["mCSR", "score"])
    for metric, truth in (("mCSR", mean), ("score", mean + (1 - mean) * SCORE_OF_FAILED)):
        for k in (1, 8):
            rows = rates_at[(rates_at["metric"] == metric) & (rates_at["k"] == k)]
            covered[f"{metric} at k = {k}"] = holds(rows, truth[k - 1])
    none_falls_short(covered)


def test_the_range_of_a_rank_holds_the_true_rank() -> None:
    """400 times four models, two of them close, on 40 probes: 95 in 100 for each model."""
    chances = [np.full((36, 1), level) for level in (0.9, 0.84, 0.82, 0.6)]
    table = world("ranks", chances, [2], 40, RUNS, 0.4)
    found = pd.concat([rankings(cell, ["mCSR"]) for _, cell in table.groupby("run")])
    covered = {}
    for (metric, model), cell in found.groupby(["metric", "model"]):
        true = int(model[1]) + 1
        covered[f"rank of {model} by {metric}"] = ((cell["rank_low"] <= true) & (true <= cell["rank_high"])).to_numpy()
        tell(f"mean width of the range of {model} by {metric}: {(cell['rank_high'] - cell['rank_low']).mean():.2f}")
    none_falls_short(covered)


def test_the_interval_of_rho_and_of_the_ratio_hold_the_truth_over_constraints() -> None:
    rng = stream("test", "rho")
    covered = {}
    for rho in (0.0, -0.6, 0.8):
        z = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], (RUNS, 36))
        truth = 6 / math.pi * math.asin(rho / 2)
        ends = [spearman(*one.T) for one in z]
        covered[f"rho {rho}"] = np.array([low <= truth <= high for _, low, high, _ in ends])
    for deviation in (0.01, 0.02):
        hits = []
        for _ in range(RUNS):
            slope = np.concatenate([rng.normal(-0.07, 0.015, 6), rng.normal(-0.04, deviation, 6)])
            frame = pd.DataFrame({"dimension": ["structural"] * 6 + ["lexical"] * 6, "slope_relative": slope})
            row = slope_ratio(frame).iloc[0]
            hits.append(row["low"] <= 7 / 4 <= row["high"])
        covered[f"ratio, deviation {deviation}"] = np.array(hits)
    none_falls_short(covered)


def test_a_subject_that_writes_texts_comes_out_with_its_chances() -> None:
    """From items and texts to estimates: N2 kept with .9 at k = 1 and .6 at k = 2, L5 with .5 and .5, L2 always."""
    rng, items, replies = stream("test", "writer"), [], []
    chances = {("N2", 1): 0.9, ("N2", 2): 0.6, ("L5", 1): 0.5, ("L5", 2): 0.5, ("L2", 1): 1.0, ("L2", 2): 1.0}
    params = {"N2": {}, "L5": {"word": "moon"}, "L2": {"words": ["tide", "sea"]}}
    for number in range(900):
        k = 1 + number % 2
        ids = rng.permutation(list(params))[:k]
        items.append(probe_of(*[(str(id), params[id]) for id in ids], id=f"cse-v1/k{k:02d}/{number:03d}"))
        kept = {id: id not in ids or rng.random() < chances[(id, k)] for id in params}
        words = ["Owls hunt", "" if kept["N2"] else "7 mice", "" if kept["L5"] else "by the moon"]
        words += ["at sea with the tide" if "L2" in ids else ""]
        replies.append(reply(f"<answer>{' '.join(filter(None, words))}.</answer>", items[-1]))
    table = score(items, pd.DataFrame(replies))
    found = summarise(table, ["constraint", "k"], ["mCSR"]).set_index(["constraint", "k"])
    for (id, k), chance in chances.items():
        row = found.loc[(id, k)]
        assert row["low"] <= chance <= row["high"], (id, k)
        assert row["estimate"] == pytest.approx(chance, abs=0.12)
    kept = retention(table).set_index(["constraint", "k"])
    for id, left in (("N2", 2 / 3), ("L5", 1.0), ("L2", 1.0)):
        assert kept.loc[(id, 2), "low"] <= left <= kept.loc[(id, 2), "high"]
    pairs = (0.6 * 0.5 + 0.6 * 1.0 + 0.5 * 1.0) / 3
    whole = summarise(table, ["k"], ["sCSR"]).set_index("k").loc[2]
    assert whole["low"] <= pairs <= whole["high"]


def test_planted_constraints_come_out_of_the_whole() -> None:
    """Many probes of one subject: slopes, gaps, half-lives and the order of dimensions are the planted ones."""
    falls = dict(zip("SOWMFRNL", (0.80, 0.83, 0.86, 0.88, 0.90, 0.92, 0.94, 0.995), strict=True))
    table = world("whole", [rates(lambda id, k: 0.9 * falls[id[0]] ** (k - 1), ALL_KS)], ALL_KS, 1500, shift=0.3)
    found = profiles(table).set_index("constraint")
    for id in IDS:
        p = 0.9 * falls[id[0]] ** (ALL_KS - 1.0)
        assert found["slope_relative"][id] == pytest.approx(np.polyfit(ALL_KS, p, 1)[0] / 0.9, abs=0.02)
    assert slope_by_dimension(found.reset_index())["dimension"].tolist()[:2] == ["structural", "ordering"]
    assert slope_by_dimension(found.reset_index())["dimension"].tolist()[-1] == "lexical"
    assert set(immune(table).query("immune")["constraint"]) == {f"L{n}" for n in range(1, 7)}
    assert found["n_first"].min() > FEW
