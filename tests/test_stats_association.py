"""Means, correlations, ratios, contrasts: scipy and statsmodels, values by hand, planted truth, NaN with a reason."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.multitest import multipletests

from cdct.core import stream
from cdct.stats import resample
from cdct.stats.association import correlation, holm, log_odds, mcnemar, mean_two_way, ratio, two_groups


def crossed(seed: int, models: int, concepts: int, size: float = 0.5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values with an effect of each model and of each concept, and which they belong to."""
    rng = stream("test", "crossed", seed)
    table = (
        0.5
        + size * (rng.normal(size=(models, 1)) + rng.normal(size=(1, concepts)))
        + rng.normal(size=(models, concepts))
    )
    return table.ravel(), np.repeat(np.arange(models), concepts), np.tile(np.arange(concepts), models)


def covers(found: Any, truth: float) -> bool:
    return found.low <= truth <= found.high


# ------------------------------------------------------------------------------------------------------- two-way means


def test_two_way_variance_is_that_of_statsmodels() -> None:
    x, models, concepts = crossed(1, 6, 8)
    x, models, concepts = (np.tile(one, 2)[:-5] for one in (x, models, concepts))  # two samples a cell, some missing
    x = x + 0.1 * stream("test", "noise").normal(size=len(x))
    fit = sm.OLS(x, np.ones(len(x))).fit(cov_type="cluster", cov_kwds={"groups": np.stack([models, concepts], axis=1)})
    found = mean_two_way(x, models, concepts)
    half = stats.t.ppf(0.975, 5) * fit.bse[0]
    assert found[:3] == pytest.approx((x.mean(), x.mean() - half, x.mean() + half))
    assert (found.n, found.method) == (91, "t, 6 clusters, two-way (6 x 8)")


def test_two_way_variance_by_hand() -> None:
    # deviations 1, 0 / 0, -1: sums by row 1, -1 and by column 1, -1: V = 2/1 * 2 / 16 for either, V both = 4/3 * 2 / 16
    found = mean_two_way([2, 1, 1, 0], list("aabb"), list("xyxy"))
    half = stats.t.ppf(0.975, 1) * math.sqrt(0.25 + 0.25 - 1 / 6)
    assert (found.low, found.high) == pytest.approx((1 - half, 1 + half))
    # 1, -1 / -1, 1: both one-way variances are 0, and without bounds there is nothing to go by
    found = mean_two_way([2, 0, 0, 2], list("aabb"), list("xyxy"))
    assert found.method == "no spread: no interval, two-way (2 x 2)"
    assert math.isnan(found.low)
    # 1, 0 / -1, 0: V of rows is 1/4, of columns 0, of both 1/6; the larger one-way variance is taken and not 1/12
    found = mean_two_way([2, 1, 0, 1], list("aabb"), list("xyxy"))
    assert found.high - 1 == pytest.approx(stats.t.ppf(0.975, 1) * math.sqrt(0.25))


def test_one_cluster_of_a_kind_leaves_the_other() -> None:
    x, models, concepts = crossed(2, 1, 8)
    for found, kind in ((mean_two_way(x, models, concepts), "second"), (mean_two_way(x, concepts, models), "first")):
        assert found[:4] == pytest.approx(resample.mean(x, concepts)[:4])
        assert found.method == f"t, 8 clusters of the {kind} kind alone"
    assert mean_two_way([0.5], ["a"], ["x"]).method == "one cluster: no interval"
    assert mean_two_way([], [], []) == pytest.approx(resample.NOTHING, nan_ok=True)


def test_values_at_the_bounds_fall_back_to_exact_intervals() -> None:
    found = mean_two_way([1.0] * 72, np.repeat(np.arange(9), 8), np.tile(np.arange(8), 9), (0, 1))
    assert (found.low, found.high) == pytest.approx((0.025 ** (1 / 8), 1))
    assert found.method == "exact bound, no spread, 8 clusters, two-way (9 x 8)"
    with pytest.raises(ValueError, match=r"^mean_two_way: a value is NaN; take missing values out"):
        mean_two_way([1, math.nan], ["a", "b"], ["x", "y"])


def test_the_two_way_interval_holds_the_truth_and_that_without_clusters_does_not() -> None:
    hits = np.zeros(2)
    for run in range(200):
        x, models, concepts = crossed(100 + run, 9, 8)
        hits += [covers(mean_two_way(x, models, concepts), 0.5), covers(resample.mean(x), 0.5)]
    assert 0.91 <= hits[0] / 200 <= 0.99
    assert hits[1] / 200 < 0.8


# --------------------------------------------------------------------------------------------------------- correlations


def with_r(r: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two columns whose correlation is exactly r."""
    x, e = stream("test", "r", n).normal(size=(2, n))
    x = (x - x.mean()) / x.std()
    e = e - e.mean() - x * np.mean(e * x)
    return x, r * x + math.sqrt(1 - r * r) * e / e.std()


@pytest.mark.parametrize(("n", "p"), [(81, 0.0843), (72, 0.104)])
def test_where_each_row_is_a_cluster_p_is_the_classical_one(n: int, p: float) -> None:
    x, y = with_r(0.193, n)
    found = correlation(x, y, np.arange(n))
    assert found.estimate.estimate == pytest.approx(0.193)
    assert found.p == pytest.approx(p, abs=5e-4)
    assert found.p == pytest.approx(stats.pearsonr(x, y).pvalue)
    classical = stats.pearsonr(x, y).confidence_interval()
    assert (found.estimate.low, found.estimate.high) == pytest.approx((classical.low, classical.high), abs=0.06)
    assert found.estimate.method == f"cluster bootstrap, {n} clusters"


def test_the_cluster_robust_p_is_near_that_of_the_slope() -> None:
    rng = stream("test", "slope")
    names = np.repeat(np.arange(20), 6)
    x, y = rng.normal(size=(2, 20))[:, names] + rng.normal(size=(2, 120))
    y = y + 0.3 * x
    fit = sm.OLS(y, sm.add_constant(x)).fit(cov_type="cluster", cov_kwds={"groups": names}, use_t=True)
    found = correlation(x, y, names)
    assert found.p == pytest.approx(fit.pvalues[1], rel=0.5)
    assert found.p == pytest.approx(correlation(y, x, names).p)
    assert found.p > 3 * correlation(x, y, np.arange(120)).p  # rows of a cluster are not independent
    assert correlation(3 * x - 7, y / 9, names)[0][:3] == pytest.approx(found.estimate[:3])


def test_two_kinds_of_clusters_widen_the_interval() -> None:
    rng, models, concepts = stream("test", "pigeons"), np.repeat(np.arange(9), 8), np.tile(np.arange(8), 9)
    x, y = rng.normal(size=(2, 9))[:, models] + rng.normal(size=(2, 8))[:, concepts] + rng.normal(size=(2, 72))
    two = correlation(x, y, models, concepts).estimate
    alone = correlation(x, y, np.arange(72)).estimate
    assert two.method == "pigeonhole bootstrap, 9 x 8 clusters"
    assert two.estimate == alone.estimate
    assert two.high - two.low > 1.3 * (alone.high - alone.low)
    swapped = correlation(x, y, concepts, models).estimate
    assert (swapped.low, swapped.high) == pytest.approx((two.low, two.high), abs=0.1)
    assert correlation(x, y, models, concepts, seed=1).estimate.low != two.low


@pytest.mark.parametrize(
    ("x", "y", "names", "method"),
    [
        ([], [], [], "no data"),
        ([1, 1, 1, 1], [1, 2, 3, 5], [1, 2, 3, 4], "undefined: a column does not vary"),
        ([0.1 + 0.2, 0.3, 0.3, 0.3], [1, 2, 3, 5], [1, 2, 3, 4], "undefined: a column does not vary"),
        ([1, 2, 3, 4], [1, 2, 3, 5], [1, 1, 2, 2], "2 clusters: no interval"),
        ([1, 2, 3, 4], [1, 2, 3, 5], [1, 1, 1, 1], "one cluster: no interval"),
        ([1, 2, 3, 4], [2, 4, 6, 8], [1, 2, 3, 4], "all on one line: no interval"),
    ],
)
def test_correlations_that_say_little(x: Sequence[float], y: Sequence[float], names: list[int], method: str) -> None:
    found = correlation(x, y, names)
    assert found.estimate.method == method
    assert all(math.isnan(value) for value in (found.estimate.low, found.estimate.high, found.p))
    assert math.isnan(found.estimate.estimate) == (method.startswith(("undefined", "no data")))


def test_the_interval_holds_the_correlation() -> None:
    hits, rejected, names = 0, 0, np.repeat(np.arange(12), 6)
    for run in range(200):
        rng = stream("test", "correlation", run)
        pairs = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 12)[names] + 1.5 * rng.multivariate_normal(
            [0, 0], [[1, 0.5], [0.5, 1]], 72
        )
        hits += covers(correlation(*pairs.T, names, draws=400).estimate, 0.5)
        none = rng.normal(size=(12, 2))[names] + 1.5 * rng.normal(size=(72, 2))
        rejected += correlation(*none.T, names, draws=2).p < 0.05
    assert 0.9 <= hits / 200 <= 0.99
    assert rejected / 200 <= 0.11


# --------------------------------------------------------------------------------------------------------------- ratios


def test_a_ratio_has_the_interval_of_fieller() -> None:
    x, y = np.array([3.0, 3.1, 2.9, 6.0]), np.array([1.0, 1.2, 0.9, 2.0])
    found = ratio(x, y, [1, 2, 3, 4])
    assert found.estimate == pytest.approx(x.mean() / y.mean())
    for end in (found.low, found.high):  # by its definition: at the ends, the t test of x - q y says p = .05
        assert stats.ttest_1samp(x - end * y, 0).pvalue == pytest.approx(0.05)
    assert found.method == "Fieller, t, 4 clusters"
    clustered = ratio(np.repeat(x, 5), np.repeat(y, 5), np.repeat([1, 2, 3, 4], 5))
    assert clustered[:3] == pytest.approx(found[:3])


def test_a_denominator_near_zero_leaves_the_ratio_open() -> None:
    note = "Fieller, t, 4 clusters; the denominator's mean can't be told from 0"
    either = ratio([3, 3, 2, 6], [1, -1, 0.9, 2], [1, 2, 3, 4])
    assert (either.low, either.high, either.method) == (-math.inf, math.inf, note)
    sizes = ratio([3, 3, 2, 6], [0, 0, 0, 2], [1, 2, 3, 4])
    assert (sizes.high, sizes.method) == (math.inf, note)
    # the ratios below the end are ruled out, and those just above are not
    x, y = np.array([3, 3, 2, 6]), np.array([0, 0, 0, 2])
    assert stats.ttest_1samp(x - sizes.low * y, 0).pvalue == pytest.approx(0.05)
    assert ratio([0, 0, 0, 1], [0, 0, 0, 2.1], [1, 2, 3, 4]).method == "no spread: no interval"
    assert ratio([0, 0, 1, 0], [0, 0, 0, 2], [1, 2, 3, 4])[1:3] == (0, math.inf)


@pytest.mark.parametrize(
    ("x", "y", "names", "estimate", "method"),
    [
        ([], [], [], math.nan, "no data"),
        ([1, 2], [0, 0], [1, 2], math.nan, "undefined: the denominator's mean is 0"),
        ([1, 2], [1, -1], [1, 2], math.nan, "undefined: the denominator's mean is 0"),
        ([1, 2], [1, 3], [1, 1], 0.75, "one cluster: no interval"),
        ([2, 4, 6], [1, 2, 3], [1, 2, 3], 2, "no spread: no interval"),
    ],
)
def test_ratios_that_say_little(x: Any, y: Any, names: Any, estimate: float, method: str) -> None:
    found = ratio(x, y, names)
    assert found == pytest.approx((estimate, math.nan, math.nan, len(x), method), nan_ok=True) or (
        found.estimate == pytest.approx(estimate, nan_ok=True) and found.method == method and math.isnan(found.low)
    )


def test_the_interval_holds_the_ratio_however_weak_the_denominator() -> None:
    for mean, least_open in ((5.0, 0.0), (0.3, 0.5)):
        hits = opened = 0
        for run in range(200):
            rng = stream("test", "ratio", str(mean), run)
            found = ratio(1 + rng.normal(size=8), mean + rng.normal(size=8), range(8))
            hits += covers(found, 1 / mean)
            opened += math.isinf(found.high)
        assert hits / 200 >= 0.92
        assert opened / 200 >= least_open


# ----------------------------------------------------------------------------------------------------------- two groups


def test_two_groups_by_hand_and_by_scipy() -> None:
    # means 2.5 and 6, squares 5 and 26: pooled s = sqrt(31 / 7); g = -3.5 / s * (1 - 3 / 27 nearly)
    a, b = [1, 2, 3, 4], [3, 4, 6, 8, 9]
    found = two_groups(a, b)
    welch = stats.ttest_ind(a, b, equal_var=False)
    ends = welch.confidence_interval()
    assert found.difference[:4] == pytest.approx((-3.5, ends.low, ends.high, 9))
    assert found.difference.method == "Welch t, 6.1 degrees of freedom"
    assert found.p == pytest.approx(welch.pvalue)
    assert found.hedges_g.estimate == pytest.approx(-3.5 / math.sqrt(31 / 7) * (1 - 3 / 27), rel=2e-3)
    # the ends: the noncentralities under which this t is at the 97.5th and at the 2.5th percentile
    t, size = stats.ttest_ind(a, b).statistic, math.sqrt(20 / 9)
    factor = found.hedges_g.estimate / (-3.5 / math.sqrt(31 / 7))
    ends = [stats.nct.cdf(t, 7, end / factor * size) for end in (found.hedges_g.low, found.hedges_g.high)]
    assert ends == pytest.approx([0.975, 0.025], abs=1e-4)
    turned = two_groups(b, a)
    assert turned.hedges_g[:3] == pytest.approx([-found.hedges_g[i] for i in (0, 2, 1)])


def test_groups_that_are_worlds_apart() -> None:
    found = two_groups([100.001, 100.002, 100.003], [0, 0.001, 0.002])
    assert 0 < found.hedges_g.low < found.hedges_g.estimate < found.hedges_g.high < math.inf


@pytest.mark.parametrize(
    ("a", "b", "difference", "method"),
    [
        ([], [1, 2], math.nan, "fewer than two values in a group"),
        ([1], [2, 4], -2, "fewer than two values in a group"),
        ([1, 1], [2, 2], -1, "no spread: no interval"),
    ],
)
def test_groups_that_say_little(a: Any, b: Any, difference: float, method: str) -> None:
    found = two_groups(a, b)
    assert found.difference.estimate == pytest.approx(difference, nan_ok=True)
    assert found.difference.method == found.hedges_g.method == method
    assert all(math.isnan(x) for x in (found.p, found.difference.low, *found.hedges_g[:3]))


def test_the_interval_holds_the_effect() -> None:
    hits = np.zeros(2)
    for run in range(200):
        rng = stream("test", "groups", run)
        found = two_groups(1 + rng.normal(size=4), rng.normal(size=5))
        hits += [covers(found.difference, 1), covers(found.hedges_g, 1)]
    assert ((hits / 200 >= 0.91) & (hits / 200 <= 0.99)).all()


# ---------------------------------------------------------------------------------------------------------------- pairs


def test_B104_two_runs_on_the_same_items_are_paired() -> None:
    """EleutherAI/lm-evaluation-harness#3831: 12 right in one alone, 3 in the other; 2 * 576 / 2^15 = .0352."""
    found = mcnemar(12, 3)
    assert found.p == pytest.approx(2 * (455 + 105 + 15 + 1) / 2**15)
    assert round(found.p, 4) == 0.0352
    share = stats.binomtest(12, 15).proportion_ci()
    assert found[1:4] == pytest.approx((4, share.low / (1 - share.low), share.high / (1 - share.high)))
    assert found.note == ""
    assert mcnemar(3, 12)[:4] == pytest.approx((found.p, 1 / 4, 1 / found.high, 1 / found.low))


def test_B104_no_discordant_pair_is_no_information() -> None:
    """EleutherAI/lm-evaluation-harness#3831."""
    found = mcnemar(0, 0)
    assert (found.p, found.low, found.high, found.note) == (1, 0, math.inf, "no information")
    assert math.isnan(found.odds_ratio)
    one_sided = mcnemar(5, 0)
    assert (one_sided.p, one_sided.odds_ratio, one_sided.high) == (0.0625, math.inf, math.inf)
    assert one_sided.low == pytest.approx(0.025**0.2 / (1 - 0.025**0.2))
    with pytest.raises(ValueError, match=r"^mcnemar: counts must not be negative, got -1 and 2$"):
        mcnemar(-1, 2)


# ----------------------------------------------------------------------------------------------------------- many tests


def test_holm_by_hand() -> None:
    # .005 * 4, then .01 * 3, then .03 * 2, then .04 * 1 < .06; the missing one is no test
    assert holm([0.01, 0.04, 0.03, math.nan, 0.005]) == pytest.approx([0.03, 0.06, 0.06, math.nan, 0.02], nan_ok=True)
    assert holm([]).tolist() == []
    assert np.isnan(holm([math.nan])).all()


def test_holm_is_that_of_statsmodels() -> None:
    values = stream("test", "holm").random((5, 9)).round(1) ** 3  # with ties
    values[:, 4] = math.nan
    for row in values:
        assert np.delete(holm(row), 4) == pytest.approx(multipletests(np.delete(row, 4), method="holm")[1])
        assert math.isnan(holm(row)[4])


# ------------------------------------------------------------------------------------------------------------- log odds


def test_log_odds_by_hand() -> None:
    # means of (3 + .5) / 5 and (1 + .5) / 5: log(3.5 / 1.5) - log(1.5 / 3.5)
    treated, control = [1, 1, 1, 0], [0, 0, 1, 0]
    found = log_odds(treated, control, [1, 2, 3, 4])
    assert found.estimate == pytest.approx(2 * math.log(3.5 / 1.5))
    # leaving one out: (2, 1), (2, 1), (2, 0), (3, 1) of 3
    without = [
        math.log((t + 0.5) / (3.5 - t)) - math.log((c + 0.5) / (3.5 - c)) for t, c in ((2, 1), (2, 1), (2, 0), (3, 1))
    ]
    half = stats.t.ppf(0.975, 3) * math.sqrt(3 / 4 * np.sum((np.array(without) - np.mean(without)) ** 2))
    assert (found.low, found.high) == pytest.approx((found.estimate - half, found.estimate + half))
    assert (found.n, found.method) == (4, "jackknife, t, 4 clusters")
    turned = log_odds(control, treated, [1, 2, 3, 4])
    assert turned[:3] == pytest.approx((-found.estimate, -found.high, -found.low))


def test_log_odds_from_nothing_to_all_are_not_certain() -> None:
    # each mean's own 97.5 % interval: at least .0125 ** (1/8), at most one minus that
    found = log_odds([1] * 72, [0] * 72, np.arange(72) % 8)
    least = 0.0125 ** (1 / 8)
    assert found.estimate == pytest.approx(2 * math.log(72.5 / 0.5))
    assert (found.low, found.high) == pytest.approx((2 * math.log(least / (1 - least)), math.inf))
    assert found.method == "from the intervals of both means, no spread, 8 clusters"
    assert log_odds([1, 1], [0, 1], [1, 1]).method == "one cluster: no interval"
    assert log_odds([], [], []).method == "no data"
    with pytest.raises(ValueError, match=r"^log_odds: values must lie in 0-1$"):
        log_odds([2], [0], [1])
    with pytest.raises(ValueError, match=r"^log_odds: columns must be equally long, got 2, 1$"):
        log_odds([1, 0], [0], [1, 1])


def test_the_interval_holds_the_log_odds() -> None:
    draws = stream("test", "big").normal(size=200_000)

    def mean(p: float) -> float:
        return float(np.mean(1 / (1 + np.exp(-(math.log(p / (1 - p)) + 0.7 * draws)))))

    truth = math.log(mean(0.6) / (1 - mean(0.6))) - math.log(mean(0.1) / (1 - mean(0.1)))
    hits, names = 0, np.repeat(np.arange(8), 9)
    for run in range(200):
        rng = stream("test", "log odds", run)
        shift = 0.7 * rng.normal(size=8)[names]
        treated, control = (rng.random(72) < 1 / (1 + np.exp(-(math.log(p / (1 - p)) + shift))) for p in (0.6, 0.1))
        hits += covers(log_odds(treated, control, names), truth)
    assert 0.91 <= hits / 200 <= 0.99
