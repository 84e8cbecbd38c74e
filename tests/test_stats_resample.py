"""Means and shares: the numbers of statsmodels and scipy, planted truth, and NaN where nothing is known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cdct.core import stream
from cdct.stats.resample import clustered_se, mean, rate, share

# ------------------------------------------------------------------------------------------------------ standard errors


def test_five_levels_of_one_concept_are_not_five_observations() -> None:
    # inspect_ai #1251: two clusters that agree within and differ between; by hand: s = sqrt(8/7 * .25), s / sqrt(8);
    # clustered: the cluster sums of deviations are +2 and -2, sqrt(2 / 1 * 8) / 8
    scores, clusters = [1, 1, 1, 1, 0, 0, 0, 0], list("aaaabbbb")
    assert clustered_se(scores) == pytest.approx(0.189, abs=5e-4)
    assert clustered_se(scores, clusters) == pytest.approx(0.5)


def clustered(seed: int, groups: int, size: int, spread: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    rng = stream("test", "clustered", seed)
    centers = rng.normal(0.5, spread, groups)
    return rng.normal(np.repeat(centers, size), 0.1), np.repeat(np.arange(groups), size)


@pytest.mark.parametrize(("groups", "size"), [(2, 5), (8, 1), (8, 5), (30, 3)])
def test_the_interval_is_that_of_statsmodels(groups: int, size: int) -> None:
    x, clusters = clustered(1, groups, size)
    x, clusters = x[:-1], clusters[:-1]  # clusters of unequal size
    model = sm.OLS(x, np.ones(len(x)))
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": clusters, "df_correction": True}, use_t=True)
    # statsmodels' factor is G/(G-1) (N-1)/(N-k), which for a mean (k = 1) is G/(G-1)
    assert clustered_se(x, clusters) == pytest.approx(fit.bse[0])
    found = mean(x, clusters)
    assert (found.low, found.high) == pytest.approx(tuple(fit.conf_int()[0]))
    assert found.estimate == pytest.approx(x.mean())
    g = len(set(clusters))
    assert (found.n, found.method) == (len(x), f"t, {g} clusters")


def test_without_clusters_it_is_the_interval_of_student() -> None:
    x = [0.1, 0.5, 0.3, 0.9]
    expected = stats.ttest_1samp(x, 0).confidence_interval()
    found = mean(x)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    alone = mean(x, ["a", "b", "c", "d"])  # each value its own cluster
    assert (alone.low, alone.high) == pytest.approx((expected.low, expected.high))
    narrower = mean(x, confidence=0.5)
    assert found.low < narrower.low < narrower.high < found.high


def test_names_and_order_of_clusters_do_not_matter() -> None:
    x, clusters = clustered(2, 6, 4)
    order = stream("test", "order").permutation(len(x))
    other = mean(x[order], [f"c{clusters[i]}" for i in order])
    assert mean(x, clusters)[:4] == pytest.approx(other[:4])


# ---------------------------------------------------------------------------------------------------- degenerate cells


@pytest.mark.parametrize(
    ("values", "clusters", "bounds", "low", "high", "method"),
    [
        ([], None, (0, 1), math.nan, math.nan, "no data"),
        ([], [], (0, 1), math.nan, math.nan, "no data"),
        ([0.5], None, (0, 1), math.nan, math.nan, "one cluster: no interval"),
        ([0.5, 0.7, 0.2], ["a", "a", "a"], (0, 1), math.nan, math.nan, "one cluster: no interval"),
        ([7, 7, 7], None, None, math.nan, math.nan, "no spread: no interval"),
        # nothing in eight: 1 - .025 ** (1/8), as Clopper and Pearson have it
        ([0.0] * 8, None, (0, 1), 0, 0.36942, "exact binomial"),
        ([1.0] * 8, None, (0, 1), 1 - 0.36942, 1, "exact binomial"),
        ([0.0] * 40, list("abcdefgh") * 5, (0, 1), 0, 0.36942, "exact bound, no spread, 8 clusters"),
        ([0.5] * 8, None, (0, 1), 0.5 - 0.18471, 0.5 + 0.18471, "exact bound, no spread, 8 clusters"),
        (
            [0.1 + 0.2, 0.3, 0.3],
            None,
            (0, 1),
            0.3 - 0.3 * 0.7076,
            0.3 + 0.7 * 0.7076,
            "exact bound, no spread, 3 clusters",
        ),
        # within each cluster something, between them nothing: no zero-width interval
        ([0, 1, 0, 1, 0, 1], list("aabbcc"), (0, 1), 0.5 - 0.3538, 0.5 + 0.3538, "exact bound, no spread, 3 clusters"),
        ([3, 5, 3, 5], list("aabb"), None, math.nan, math.nan, "no spread: no interval"),
    ],
)
def test_cells_that_say_little(values: Any, clusters: Any, bounds: Any, low: float, high: float, method: str) -> None:
    found = mean(values, clusters, bounds)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4, nan_ok=True)
    assert found.method == method
    assert found.n == len(values)
    assert math.isnan(found.estimate) if len(values) == 0 else found.estimate == pytest.approx(np.mean(values))


def test_the_interval_is_cut_at_the_bounds() -> None:
    found = mean([0, 0, 0, 0.1, 0.9], None, (0, 1))
    assert found.low == 0
    assert found.high < 1
    assert mean([0, 0, 0, 0.1, 0.9]).low < 0
    assert found.method == "t, 5 clusters"


def test_a_missing_value_is_an_error_and_not_dropped() -> None:
    with pytest.raises(ValueError) as caught:
        mean([1.0, math.nan])
    assert str(caught.value) == "mean: a value is NaN; take missing values out and count them as unscored"


BOUNDED = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4)), max_size=30)


@given(BOUNDED)
def test_an_interval_holds_its_estimate_and_keeps_to_the_bounds(data: list[tuple[float, int]]) -> None:
    values, clusters = [value for value, _ in data], [cluster for _, cluster in data]
    found = mean(values, clusters, (0, 1))
    if not math.isnan(found.low):
        assert -1e-12 <= found.low <= found.estimate + 1e-12
        assert found.estimate - 1e-12 <= found.high <= 1 + 1e-12
        assert found.high > found.low  # never certain


# --------------------------------------------------------------------------------------------------------------- shares


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 8), (3, 8), (8, 8), (70, 72), (57, 72)])
def test_a_share_is_that_of_scipy(k: int, n: int) -> None:
    exact = stats.binomtest(k, n).proportion_ci(method="exact")
    found = share(k, n)
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high))
    assert (found.estimate, found.n, found.method) == (k / n, n, "exact binomial")
    assert mean([1] * k + [0] * (n - k), None, (0, 1))[:4] == pytest.approx(found[:4], nan_ok=True) or n == 1


def test_a_share_of_nothing_is_not_a_number() -> None:
    found = share(0, 0)
    assert math.isnan(found.estimate)
    assert (found.n, found.method) == (0, "no data")
    for k, n in ((-1, 5), (6, 5)):
        with pytest.raises(ValueError, match=rf"^share: successes must lie in 0\.\.{n}, got {k}$"):
            share(k, n)


def test_a_share_of_clustered_values_counts_effective_ones() -> None:
    # by hand: p = .5, se = sqrt(4/3 * (1 + 1 + 1 + 1)) / 8, n* = .25 / se^2 * (t(7) / t(3))^2
    values, clusters = [1, 1, 1, 1, 0, 0, 0, 0], list("aabbccdd")
    se = math.sqrt(4 / 3 * 4) / 8
    effective = 0.25 / se**2 * (stats.t.ppf(0.975, 7) / stats.t.ppf(0.975, 3)) ** 2
    found = mean(values, clusters, (0, 1))
    low, high = stats.beta.ppf([0.025, 0.975], [effective / 2, effective / 2 + 1], [effective / 2 + 1, effective / 2])
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.method == "binomial, 1.66 effective values, 4 clusters"
    # clusters that are more alike than chance give no more values than there are
    assert mean([1, 0, 1, 0, 1, 0, 0, 0], clusters, (0, 1)).method == "binomial, 8 effective values, 4 clusters"
    # the same on another range
    scaled = mean([10 * value for value in values], clusters, (0, 10))
    assert (scaled.low, scaled.high) == pytest.approx((10 * low, 10 * high))


# ------------------------------------------------------------------------------------------------------------- coverage


def covered(draw: Any, truth: float, bounds: tuple[float, float] | None, runs: int = 400) -> float:
    """How often the interval holds the truth; with 400 runs, give or take .022 at .95."""
    hits = 0
    for run in range(runs):
        values, clusters = draw(stream("test", "coverage", run))
        found = mean(values, clusters, bounds)
        hits += found.low <= truth <= found.high
    return hits / runs


def test_the_interval_holds_the_truth_where_clusters_differ() -> None:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return rng.normal(np.repeat(rng.normal(0.5, 0.2, 8), 5), 0.1), np.repeat(np.arange(8), 5)

    assert 0.92 <= covered(draw, 0.5, None) <= 0.98
    assert covered(lambda rng: (draw(rng)[0], None), 0.5, None) < 0.75  # what ignoring the clusters would do


@pytest.mark.parametrize("p", [0.05, 0.1, 0.5])
def test_the_interval_holds_the_share_where_clusters_differ(p: float) -> None:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return (rng.random(40) < np.repeat(rng.beta(4 * p, 4 * (1 - p), 8), 5)).astype(float), np.repeat(
            np.arange(8), 5
        )

    assert covered(draw, p, (0, 1)) >= 0.94


@pytest.mark.parametrize(("zeros", "least"), [(0.0, 0.92), (0.5, 0.87), (0.9, 0.87)])
def test_the_interval_of_values_at_a_bound_is_as_good_as_its_docstring_says(zeros: float, least: float) -> None:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, None]:
        return np.where(rng.random(8) < zeros, 0, rng.random(8)), None

    assert covered(draw, (1 - zeros) / 2, (0, 1)) >= least


# ---------------------------------------------------------------------------------------------------------------- rates


def test_a_rate_has_both_denominators() -> None:
    # inspect_ai #2914: eight calls, two right, two in error
    found = rate([True, True, False, False, False, False, None, None])
    assert found.all.estimate == 0.25
    assert found.scored.estimate == pytest.approx(1 / 3)
    assert (found.all.n, found.scored.n, found.n_unscored) == (8, 6, 2)


def test_a_rate_takes_nan_as_unscored_and_never_as_right() -> None:
    found = rate([1.0, math.nan, np.nan, 0.0])
    assert (found.scored.estimate, found.all.estimate, found.n_unscored) == (0.5, 0.25, 2)
    nothing = rate([None, None])
    assert math.isnan(nothing.scored.estimate)
    assert nothing.all.estimate == 0
    assert math.isnan(rate([]).all.estimate)
