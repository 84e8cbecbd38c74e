"""Means and contrasts of values that are alike within clusters of one kind or of two.

Sources. Two-way clusters: Cameron, Gelbach and Miller, Robust Inference with Multiway Clustering, 2011. Hedges g:
Hedges, Distribution Theory for Glass's Estimator of Effect Size, 1981. Many tests: Holm, A Simple Sequentially
Rejective Multiple Test Procedure, 1979.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cdct.stats import resample
from cdct.stats.resample import NOTHING, Estimate, clustered_se


class TwoGroups(NamedTuple):
    """The difference of two means (Welch) with its p, and Hedges g, the difference in standard deviations."""

    difference: Estimate
    p: float
    hedges_g: Estimate


class McNemar(NamedTuple):
    """The exact two-sided p of a paired test, the odds ratio with its exact interval, and a note if it says nothing."""

    p: float
    odds_ratio: float
    low: float
    high: float
    note: str


def columns_of(who: str, *columns: ArrayLike) -> list[np.ndarray]:
    """The columns as numbers; ValueError where a value is missing or their lengths differ."""
    found = [np.asarray(column, dtype=float) for column in columns]
    if any(np.isnan(column).any() for column in found):
        raise ValueError(f"{who}: a value is NaN; take missing values out and count them as unscored")
    if len({len(column) for column in found}) > 1:
        raise ValueError(f"{who}: columns must be equally long, got {', '.join(str(len(one)) for one in found)}")
    return found


def count(names: ArrayLike) -> int:
    """How many clusters there are."""
    return len(np.unique(np.asarray(names)))


def crossed(first: ArrayLike, second: ArrayLike) -> list[np.ndarray]:
    """The numbers of the clusters of either kind, and of those of both kinds at once."""
    one, two = (np.unique(np.asarray(names), return_inverse=True)[1] for names in (first, second))
    return [one, two, one * (two.max() + 1) + two]


def _two_way(variance: Callable[[ArrayLike], float], first: ArrayLike, second: ArrayLike | None) -> tuple[float, int]:
    """A standard error that is clustered one way or two, and the lesser number of clusters."""
    if second is None:
        return math.sqrt(variance(first)), count(first)
    by_first, by_second, by_both = map(variance, crossed(first, second))
    larger = max(by_first, by_second)
    return math.sqrt(max(by_first + by_second - by_both, larger)), min(count(first), count(second))


def mean_se(values: np.ndarray, first: ArrayLike, second: ArrayLike | None = None) -> tuple[float, int]:
    """The standard error of a mean that is clustered one way or two, and the lesser number of clusters."""
    return _two_way(lambda names: clustered_se(values, names) ** 2, first, second)


def mean_two_way(
    values: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    bounds: tuple[float, float] | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """The mean of values that are alike within clusters of two crossed kinds, such as models and texts.

    V = V(first) + V(second) - V(first and second), or the larger of the first two where that is more; Student's t with
    one degree of freedom less than the kind with fewer clusters has. `bounds` and the exceptions for values at them or
    without spread are those of `resample.mean`. Where one kind has a single cluster, it is clustered by the other
    alone, and says nothing about other clusters of the first kind.

    Nine by eight clusters of normal values, with effects of either kind, both or none: the interval held the truth 95
    to 99 times in 100; with two or three clusters of one kind 98 to 100 times, since t is then very wide.
    """
    (x,) = columns_of("mean_two_way", values)
    if len(x) == 0:
        return NOTHING
    if 1 in (count(first), count(second)):
        other, kind = (second, "second") if count(first) == 1 else (first, "first")
        found = resample.mean(x, other, bounds, confidence)
        return found if count(other) == 1 else found._replace(method=f"{found.method} of the {kind} kind alone")
    se, g = mean_se(x, first, second)
    found = resample.mean_with(x, se, g, bounds, confidence)
    return found._replace(method=f"{found.method}, two-way ({count(first)} x {count(second)})")


def mean_test(
    values: ArrayLike, first: ArrayLike, second: ArrayLike, bounds: tuple[float, float] | None = None
) -> tuple[float, str]:
    """The two-sided p of a mean of 0 that goes with the interval of `mean_two_way`, and the test in words.

    Student's t over the same standard error, with the same degrees of freedom, so that it minds clusters of both kinds.
    Where clusters do not differ, p says how likely it would be to see none of those that must be unlike the others if
    the mean is 0: u = m / (m - b) of all at least, with b the bound beyond 0, and p = 2 (1-u)^G, at most 1. NaN without
    bounds and spread, or with one cluster. Nine by eight clusters, effects of either kind, both or none, and no true
    mean: p fell below .05 in 1 to 5 of 100 sets.
    """
    from scipy import stats

    (x,) = columns_of("mean_test", values)
    if len(x) == 0:
        return math.nan, "no data"
    sizes = count(first), count(second)
    if 1 in sizes:
        se, g = mean_se(x, second if sizes[0] == 1 else first, None)
        told = f"t, {g} clusters of the {'second' if sizes[0] == 1 else 'first'} kind alone"
    else:
        se, g = mean_se(x, first, second)
        told = f"t, {g} clusters, two-way ({sizes[0]} x {sizes[1]})"
    center = float(x.mean())
    if g < 2:
        return math.nan, "one cluster: no p"
    if se > 1e-12 * max(1.0, abs(center)):
        return 2 * float(stats.t.sf(abs(center) / se, g - 1)), told
    if bounds is None:
        return math.nan, "no spread: no p"
    unlike = center / (center - bounds[0 if center > 0 else 1]) if center else 0.0
    return min(1.0, 2 * (1 - unlike) ** g), f"exact bound, no spread, {g} clusters"


def two_groups(a: ArrayLike, b: ArrayLike) -> TwoGroups:
    """The mean of a minus that of b, of unpaired independent values, and Hedges g.

    The difference has Welch's interval and p. g is the difference over the pooled standard deviation, times the exact
    small-sample factor; its interval comes from the noncentral t distribution, for groups of equal variance (where one
    has twice the other's deviation, it held the truth 86 times in 100). NaN where a group has fewer than two values, or
    no group has any spread.
    """
    from scipy import optimize, special, stats

    (a,), (b,) = columns_of("two_groups", a), columns_of("two_groups", b)
    n = len(a) + len(b)
    value = float(a.mean() - b.mean()) if len(a) and len(b) else math.nan
    few = min(len(a), len(b)) < 2
    if few or max(a.std(), b.std()) <= 1e-12 * max(1.0, np.abs(a).max(), np.abs(b).max()):
        reason = "fewer than two values in a group" if few else "no spread: no interval"
        none = Estimate(value, math.nan, math.nan, n, reason)
        return TwoGroups(none, math.nan, none._replace(estimate=math.nan))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Precision loss")  # one group without any spread is no fault
        welch = stats.ttest_ind(a, b, equal_var=False)
    ends = welch.confidence_interval()
    difference = Estimate(value, float(ends.low), float(ends.high), n, f"Welch t, {welch.df:.1f} degrees of freedom")
    freedom = n - 2
    pooled = math.sqrt((a.var(ddof=1) * (len(a) - 1) + b.var(ddof=1) * (len(b) - 1)) / freedom)
    factor = math.exp(special.gammaln(freedom / 2) - special.gammaln((freedom - 1) / 2)) * math.sqrt(2 / freedom)
    size = math.sqrt(len(a) * len(b) / n)
    t = value / pooled * size

    # the chance of a smaller t under a noncentrality; scipy's own is NaN where t is large
    spread = np.sqrt(stats.chi2.ppf((np.arange(4000) + 0.5) / 4000, freedom) / freedom)

    def noncentral(level: float) -> float:
        far = 2 * abs(t) * spread[-1] + 10
        return float(optimize.brentq(lambda at: special.ndtr(t * spread - at).mean() - level, -far, far))

    low, high = (noncentral(level) / size for level in (0.975, 0.025))  # of the true effect: the factor is g's own
    g = Estimate(factor * value / pooled, low, high, n, f"noncentral t, {freedom} degrees of freedom")
    return TwoGroups(difference, float(welch.pvalue), g)


def mcnemar(only_a: int, only_b: int) -> McNemar:
    """The exact two-sided McNemar test of pairs in which only a, or only b, succeeded.

    The odds ratio is only_a / only_b, its interval that of Clopper and Pearson for the share of a among the discordant
    pairs; an end may be 0 or inf. Without a discordant pair p is 1 and the note "no information": nothing was shown.
    """
    from scipy import stats

    if min(only_a, only_b) < 0:
        raise ValueError(f"mcnemar: counts must not be negative, got {only_a} and {only_b}")
    if only_a + only_b == 0:
        return McNemar(1.0, math.nan, 0.0, math.inf, "no information")
    found = resample.share(only_a, only_a + only_b)
    low, high = (end / (1 - end) if end < 1 else math.inf for end in (found.low, found.high))
    odds = only_a / only_b if only_b else math.inf
    return McNemar(float(stats.binomtest(only_a, only_a + only_b).pvalue), odds, low, high, "")


def holm(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Holm's adjusted p values in the order they came in; NaN stays NaN and does not count as a test."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p)[: int(np.sum(~np.isnan(p)))]
    adjusted = np.full(len(p), np.nan)
    steps = p[order] * (len(order) - np.arange(len(order)))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def log_odds(treated: ArrayLike, control: ArrayLike, clusters: ArrayLike, second: ArrayLike | None = None) -> Estimate:
    """The logit of the mean of `treated` minus that of `control`, on 0-1, of paired rows.

    Each mean is drawn towards one half by half a success and half a failure, (sum + 0.5) / (n + 1), so that means of
    0 and 1 have a logit too. The interval leaves out one cluster at a time (jackknife), t with G-1 degrees of freedom;
    with clusters of a `second` kind the variances are put together as in `mean_two_way`.
    Where a column does not differ between clusters the jackknife would be too sure; the ends are then those of the two
    means' own 97.5 % intervals at their worst, and can be infinite. Five to 20 clusters, means of .02
    to .98: the interval held the truth 95 to 98 times in 100. NaN with fewer than two clusters.

    The percent by which a mean grew is no summary where it grew from near 0: it has no upper limit, a success more in
    the control changes it several fold, and from 0 it is not defined.
    """
    from scipy import stats

    t, c = columns_of("log_odds", treated, control)
    if len(t) == 0:
        return NOTHING
    if min(t.min(), c.min()) < 0 or max(t.max(), c.max()) > 1:
        raise ValueError("log_odds: values must lie in 0-1")
    n, kinds = len(t), [clusters] if second is None else [clusters, second]

    def difference(n: np.ndarray | int, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.log((one + 0.5) / (n - one + 0.5)) - np.log((other + 0.5) / (n - other + 0.5))

    def sums(names: ArrayLike) -> list[np.ndarray]:
        groups = np.unique(np.asarray(names), return_inverse=True)[1]
        return [np.bincount(groups, column) for column in (np.ones(n), t, c)]

    def jackknifed(names: ArrayLike) -> float:
        size, *both = sums(names)
        without = difference(n - size, *(column.sum() - column for column in both))
        return (len(size) - 1) / len(size) * float(np.sum((without - without.mean()) ** 2))

    value, g = float(difference(n, t.sum(), c.sum())), min(map(count, kinds))
    if g < 2:
        return Estimate(value, math.nan, math.nan, n, "one cluster: no interval")
    crossing = "" if second is None else f", two-way ({count(clusters)} x {count(second)})"
    means = [[column / size for column in both] for size, *both in map(sums, kinds)]
    if any(all(np.ptp(column) <= 1e-12 for column in one) for one in zip(*means, strict=True)):
        one, other = (
            resample.mean(column, clusters, (0.0, 1.0), 0.975)
            if second is None
            else mean_two_way(column, clusters, second, (0.0, 1.0), 0.975)
            for column in (t, c)
        )
        low, high = _logit(one.low) - _logit(other.high), _logit(one.high) - _logit(other.low)
        return Estimate(value, low, high, n, f"from the intervals of both means, no spread, {g} clusters{crossing}")
    se, _ = _two_way(jackknifed, clusters, second)
    if se <= 1e-12:
        return Estimate(value, math.nan, math.nan, n, "no spread: no interval")
    half = float(stats.t.ppf(0.975, g - 1)) * se
    return Estimate(value, value - half, value + half, n, f"jackknife, t, {g} clusters{crossing}")


def _logit(p: float) -> float:
    if p <= 0 or p >= 1:
        return -math.inf if p <= 0 else math.inf
    return math.log(p / (1 - p))
