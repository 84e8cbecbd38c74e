"""Pearson's r of values that are alike within clusters of one kind or of two, where enough of them vary."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cdct.core import stream
from cdct.stats import resample
from cdct.stats.association import columns_of, count, mean_se
from cdct.stats.resample import NOTHING, Estimate


class Correlation(NamedTuple):
    """Pearson's r with its interval, and the two-sided p of r = 0."""

    estimate: Estimate
    p: float


LEAST_VARYING = 3
"""Where a column differs from its commonest value in fewer clusters than these, its correlation has no interval and no
p: they would rest on one or two clusters, whose luck a bootstrap can't show."""


def correlation(
    x: ArrayLike, y: ArrayLike, first: ArrayLike, second: ArrayLike | None = None, seed: int = 0, draws: int = 2000
) -> Correlation:
    """Pearson's r of two columns whose rows are alike within clusters of one kind, or of two.

    The interval: percentiles of a cluster bootstrap, widened for few clusters; with `second`, plain percentiles of the
    pigeonhole bootstrap, which draws clusters of both kinds and is wide by itself. p: Student's t with one degree of
    freedom less than clusters (of the kind with fewer), of Fisher's z over its cluster-robust standard error; that is
    the test of the regression slope, made alike in x and y. Where each row is a cluster, p is the classical exact one.
    The two are made apart and may differ on r = 0; with two kinds of clusters the interval is the more cautious.

    Eight or more clusters of normal values: the interval held the truth 94 to 96 times in 100 (two kinds: 94 to 100),
    and p fell below .05 in 5 to 9 of 100 sets without correlation. NaN where a column does not vary, with fewer than
    three clusters of either kind, and interval and p too where a column has other values than its commonest in fewer
    than `LEAST_VARYING` of them; draws in which a column does not vary are left out and counted. Where a fifth of the
    values of a column differ from the rest and the guard lets an interval stand, it held the truth 86 to 92 times in
    100, with two kinds of clusters 99 times; without the guard it would be 64 times.
    """
    from scipy import stats

    x, y = columns_of("correlation", x, y)
    if len(x) == 0:
        return Correlation(NOTHING, math.nan)
    n, kinds = len(x), [first] if second is None else [first, second]
    if min(np.ptp(x), np.ptp(y)) <= 1e-12 * max(1.0, np.abs(x).max(), np.abs(y).max()):
        return Correlation(Estimate(math.nan, math.nan, math.nan, n, "undefined: a column does not vary"), math.nan)
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    r = float(np.clip(np.mean(x * y), -1, 1))
    g = min(map(count, kinds))
    if g < 3:
        few = "one cluster" if g == 1 else f"{g} clusters"
        return Correlation(Estimate(r, math.nan, math.nan, n, f"{few}: no interval"), math.nan)
    varied = min(_varied(column, kind) for column in (x, y) for kind in kinds)
    if varied < LEAST_VARYING:
        told = f"a column varies in {varied} of {g} clusters: no interval"
        return Correlation(Estimate(r, math.nan, math.nan, n, told), math.nan)
    if abs(r) >= 1 - 1e-12:
        return Correlation(Estimate(r, math.nan, math.nan, n, "all on one line: no interval"), math.nan)
    if second is None and g == n:
        statistic, freedom = r * math.sqrt((n - 2) / (1 - r * r)), n - 2
    else:
        se, _ = mean_se((x * y - r * (x * x + y * y) / 2) / (1 - r * r), first, second)
        statistic, freedom = (math.atanh(r) / se if se > 0 else math.nan), g - 1
    p = 2 * float(stats.t.sf(abs(statistic), freedom))
    columns = [np.ones(n), x, y, x * x, y * y, x * y]
    drawn = _r_of_sums(resample.bootstrap_sums(columns, first, second, stream("correlation", seed), draws))
    kept = drawn[~np.isnan(drawn)]
    how = (
        f"{'cluster' if second is None else 'pigeonhole'} bootstrap, {' x '.join(str(count(kind)) for kind in kinds)} "
    )
    how += "clusters" + (f", {draws - len(kept)} of {draws} draws undefined and left out" if len(kept) < draws else "")
    if len(kept) < draws / 2 or np.ptp(kept) <= 1e-12:
        return Correlation(Estimate(r, math.nan, math.nan, n, "too few draws that differ: no interval"), p)
    low, high = resample.percentile_ends(kept, g) if second is None else map(float, np.quantile(kept, [0.025, 0.975]))
    return Correlation(Estimate(r, low, high, n, how), p)


def _varied(column: np.ndarray, clusters: ArrayLike) -> int:
    """In how many clusters a column has other values than its commonest."""
    values, times = np.unique(column.round(9), return_counts=True)
    return count(np.asarray(clusters)[column.round(9) != values[times.argmax()]])


def _r_of_sums(sums: np.ndarray) -> np.ndarray:
    n, x, y, xx, yy, xy = np.where(sums[:, :1] > 0, sums, np.nan).T
    spread = np.stack([xx / n - (x / n) ** 2, yy / n - (y / n) ** 2])
    spread[spread <= 1e-12] = np.nan
    return (xy / n - x * y / n**2) / np.sqrt(spread.prod(axis=0))
