"""First divergences: hand-made traces, the numbers of scipy and statsmodels, and planted hazards."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.duration.survfunc import survdiff
from test_stats_decay import none_falls_short, tell

from cdct.core import stream
from cdct.stats.survival import hazards, implied_p, log_rank, phases, read_trials, survival

# five traces: two diverge at step 2, one at 5, one is intact through 3, one through 5; one can't be read
SMALL = pd.DataFrame({"depth": [5, 3, 5, 3, 5, 5], "k_star": [2, 2, 5, -1, -1, None], "item": list("abcdef")})


def drawn(
    name: str,
    hazard: np.ndarray | float,
    depths: np.ndarray,
    trials: int,
    runs: int = 400,
    samples: int = 1,
    spread: float = 0.0,
) -> pd.DataFrame:
    """Traces whose chance of diverging at a step is `hazard`; items differ by a gamma factor of variance `spread`."""
    rng = stream("test", "survival", name)
    hazard = np.broadcast_to(hazard, int(depths.max()))
    depth = np.tile(np.repeat(depths, trials), runs)
    factor = rng.gamma(1 / spread, spread, len(depth)) if spread else np.ones(len(depth))
    total = np.cumsum(-np.log1p(-hazard))
    tables = []
    for sample in range(samples):
        first = np.searchsorted(total, rng.exponential(size=len(depth)) / factor) + 1
        k_star = np.where(first <= depth, first, -1)
        table = {"run": np.repeat(np.arange(runs), len(depth) // runs), "item": np.arange(len(depth)), "sample": sample}
        tables.append(pd.DataFrame({**table, "depth": depth, "k_star": k_star}))
    return pd.concat(tables, ignore_index=True)


PAPER, QUICK = np.arange(5, 51, 5), np.arange(1, 6)

# --------------------------------------------------------------------------------------------------------- small traces


def test_hazards_by_hand() -> None:
    found = hazards(SMALL, []).set_index("step")
    assert found["n"].tolist() == [5, 5, 3, 2, 2]
    assert found["diverged"].tolist() == [0, 2, 0, 0, 1]
    assert found["estimate"].tolist() == pytest.approx([0, 2 / 5, 0, 0, 1 / 2])
    exact = stats.binomtest(2, 5).proportion_ci(method="exact")
    assert found.loc[2, ["low", "high"]].tolist() == pytest.approx([exact.low, exact.high])
    assert set(found["n_unscored"]) == {1}


def test_survival_by_hand() -> None:
    found = survival(SMALL, [])
    assert found["estimate"].tolist() == pytest.approx([1, 3 / 5, 3 / 5, 3 / 5, 3 / 10])
    assert found["low"].iloc[0] == pytest.approx(0.025 ** (1 / 5))  # nothing in five
    assert found["high"].iloc[0] == 1
    assert (found["n"].unique().tolist(), found["n_unscored"].unique().tolist()) == ([5], [1])
    assert found["at_risk"].tolist() == [5, 5, 3, 2, 2]


def test_the_implied_p_by_hand() -> None:
    """Three divergences in 2 + 2 + 5 + 3 + 5 steps."""
    row = implied_p(SMALL, []).iloc[0]
    exact = stats.binomtest(3, 17).proportion_ci(method="exact")
    assert (row["diverged"], row["steps"], row["n"], row["n_unscored"]) == (3, 17, 5, 1)
    assert row[["estimate", "low", "high"]].tolist() == pytest.approx([14 / 17, 1 - exact.high, 1 - exact.low])


def test_phases_by_hand() -> None:
    rows = pd.DataFrame({"depth": 50, "k_star": [1, 3, 4, 10, 11, -1, math.nan]})
    found = phases(rows, []).set_index("phase")
    assert found["estimate"].to_dict() == pytest.approx({"early": 2 / 5, "middle": 2 / 5, "late": 1 / 5})
    assert set(found["n"]) == {5}
    assert set(found["n_unscored"]) == {1}


@pytest.mark.parametrize("function", [hazards, survival, implied_p, phases])
def test_cells_are_computed_one_by_one(function) -> None:
    other = drawn("cells", 0.2, QUICK, 5, runs=1)
    both = pd.concat([SMALL.assign(m="a"), other.assign(m="b")])
    found = function(both, ["m"])
    for name, rows in (("a", SMALL), ("b", other)):
        alone = function(rows, [])
        pd.testing.assert_frame_equal(found[found["m"] == name].drop(columns="m").reset_index(drop=True), alone)


@pytest.mark.parametrize("function", [hazards, survival, implied_p, phases])
def test_a_cell_without_a_trace_has_no_number(function) -> None:
    found = function(pd.DataFrame({"depth": [5, 5], "k_star": [None, math.nan]}), [])
    assert found["estimate"].isna().all()
    assert (found["n_unscored"] == 2).all()
    assert len(found) == {hazards: 0, survival: 0, implied_p: 1, phases: 3}[function]


@pytest.mark.parametrize(("k_star", "depth"), [(0, 5), (6, 5), (-2, 5), (1.5, 5), (-1, 0)])
def test_what_is_no_step_is_refused(k_star: float, depth: int) -> None:
    with pytest.raises(ValueError) as caught:
        read_trials(pd.DataFrame({"k_star": [2, k_star], "depth": [5, depth]}))
    assert str(caught.value) == (
        f"survival: k_star must be -1 or a step of 1..depth, got k_star {k_star:g}, depth {depth:g}"
    )


# --------------------------------------------------------------------------------------- numbers of other programs


def censored(rows: pd.DataFrame) -> stats.CensoredData:
    went = rows["k_star"] > 0
    return stats.CensoredData(uncensored=rows.loc[went, "k_star"], right=rows.loc[~went, "depth"])


def test_survival_is_that_of_scipy() -> None:
    rows = drawn("scipy", 0.1, PAPER, 40, runs=1)
    found = survival(rows, [])
    theirs = stats.ecdf(censored(rows)).sf
    assert found["estimate"].to_numpy() == pytest.approx(theirs.evaluate(found["step"].to_numpy()))
    ends = theirs.confidence_interval(method="log-log")  # another interval, near ours where there are many trials
    ours = found[found["step"].isin(theirs.quantiles[:20])]
    assert ours["low"].to_numpy() == pytest.approx(ends.low.evaluate(ours["step"].to_numpy()), abs=0.015)
    assert ours["high"].to_numpy() == pytest.approx(ends.high.evaluate(ours["step"].to_numpy()), abs=0.015)


@pytest.mark.parametrize("k", [[2, 2, 3, -1, -1, -1, -1], [1, 2, 3, 4, -1], [-1, -1, -1], [1, 1], [4, 2]])
def test_with_one_depth_survival_is_a_share(k: list[int]) -> None:
    found = survival(pd.DataFrame({"depth": 4, "k_star": k}), [])
    for row in found.itertuples():
        intact = sum(value == -1 or value > row.step for value in k)
        exact = stats.binomtest(intact, len(k)).proportion_ci(method="exact")
        assert (row.estimate, row.low, row.high) == pytest.approx((intact / len(k), exact.low, exact.high), abs=1e-6)


def test_the_log_rank_is_that_of_scipy_and_statsmodels() -> None:
    a, b = drawn("one", 0.1, PAPER, 40, runs=1), drawn("two", 0.13, PAPER, 40, runs=1)
    rows = pd.concat([a.assign(model="a"), b.assign(model="b", item=b["item"] + 1000)])
    found = log_rank(rows, "model").iloc[0]
    theirs = stats.logrank(censored(a), censored(b))
    assert (found["statistic"], found["p_value"]) == pytest.approx((theirs.statistic, theirs.pvalue))
    time = np.where(rows["k_star"] == -1, rows["depth"], rows["k_star"])
    squared, p = survdiff(time, (rows["k_star"] > 0).astype(int), rows["model"])
    assert (found["statistic"] ** 2, found["p_value"]) == pytest.approx((squared, p))
    assert found["statistic"] < 0  # a diverges later
    assert found[["a", "b", "n", "method"]].tolist() == ["a", "b", 800, "log-rank"]


def test_three_groups_make_three_pairs() -> None:
    rows = pd.concat([drawn(name, 0.2, QUICK, 8, runs=1).assign(model=name) for name in "xyz"])
    found = log_rank(rows, "model")
    assert found[["a", "b"]].to_numpy().tolist() == [["x", "y"], ["x", "z"], ["y", "z"]]
    assert (found["method"] == "log-rank, 40 clusters").all()
    nothing = log_rank(rows.assign(k_star=-1), "model")
    assert nothing["p_value"].isna().all()
    assert (nothing["method"] == "no test").all()


def test_an_item_asked_again_is_no_new_item() -> None:
    """Every trial twice: as many clusters as before, and intervals as wide as those of the single trials."""
    once = drawn("twice", 0.1, PAPER, 10, runs=1)
    twice = pd.concat([once, once.assign(sample=1)])
    for function in (hazards, implied_p, survival):
        a, b = function(once, []).head(10), function(twice, []).head(10)
        assert a["estimate"].to_numpy() == pytest.approx(b["estimate"].to_numpy())
        # taken for twice as many trials they would be narrower by the root of 2, to .71
        assert (b["high"] - b["low"] >= 0.8 * (a["high"] - a["low"])).all()
        assert b["method"].str.contains("cluster").all()


# ------------------------------------------------------------------------------------------------------- planted truth


@pytest.mark.parametrize("samples", [1, 3])
def test_the_interval_holds_the_implied_p(samples: int) -> None:
    covered = {}
    for p, depths, trials in (
        (0.9, PAPER, 40),
        (0.99, PAPER, 40),
        (0.9995, PAPER, 10),
        (0.5, QUICK, 8),
        (0.9, QUICK, 8),
    ):
        found = implied_p(drawn(f"p {p} {samples}", 1 - p, depths, trials, samples=samples), ["run"])
        name = f"p {p}, {depths.max()} steps, {samples} samples"
        covered[name] = ((found["low"] <= p) & (p <= found["high"])).to_numpy()
    none_falls_short(covered)


HAZARD = np.array([0.02, 0.3, 0.1, 0.0, 0.05])


@pytest.mark.parametrize(("samples", "spread"), [(1, 0.0), (3, 0.0), (3, 1.0)])
def test_the_intervals_hold_planted_hazards_and_survival(samples: int, spread: float) -> None:
    """With items that differ (spread 1) survival is 1 / (1 + H), H the summed rate; the hazard follows from it."""
    rows = drawn(f"hazard {samples} {spread}", HAZARD, QUICK, 10, samples=samples, spread=spread)
    total = np.cumsum(-np.log1p(-HAZARD))
    truth = 1 / (1 + total) if spread else np.exp(-total)
    hazard = 1 - truth / np.concatenate([[1], truth[:-1]])
    covered = {}
    for name, table, value in (
        ("hazard", hazards(rows, ["run"]), hazard),
        ("survival", survival(rows, ["run"]), truth),
    ):
        for step in range(1, 6):
            # a step that no trace of a run has reached has no estimate
            there = table[(table["step"] == step)].dropna(subset=["low"])
            true = value[step - 1]
            hits = (there["low"] <= true + 1e-12) & (true - 1e-12 <= there["high"])
            covered[f"{name} at {step}, {samples} samples"] = hits.to_numpy()
    none_falls_short(covered)


def test_the_log_rank_finds_no_difference_where_there_is_none() -> None:
    """Both groups answer the same items, which differ: without clusters the test would be too shy or too bold."""
    rows = drawn("null", 0.15, QUICK, 8, samples=4, spread=1.0).assign(
        model=lambda x: np.where(x["sample"] < 2, "a", "b")
    )
    found = log_rank(rows, "model", ["run"])
    rejected = int((found["p_value"] <= 0.05).sum())
    tell(f"log-rank of items in both groups: p <= .05 in {rejected / len(found):.3f}")
    assert stats.binom.sf(rejected - 1, len(found), 0.05) > 0.01
    unlike = drawn("other", 0.3, QUICK, 8, samples=2, spread=1.0).assign(model="b")
    found = log_rank(pd.concat([rows[rows["model"] == "a"], unlike]), "model", ["run"])
    assert (found["p_value"] <= 0.05).mean() > 0.3
    assert found["statistic"].mean() < 0


def test_a_model_that_diverges_early_has_early_phases() -> None:
    early, late = (phases(drawn(f"phase {p}", 1 - p, PAPER, 40, runs=1), []).set_index("phase") for p in (0.6, 0.97))
    assert early.loc["early", "low"] > late.loc["early", "high"]
    assert late.loc["late", "low"] > early.loc["late", "high"]
    assert early["estimate"].sum() == pytest.approx(1)
