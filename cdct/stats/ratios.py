"""How many times as much: the ratio of the means of two paired columns, clustered one way or two.

Source: Fieller, Some Problems in Interval Estimation, 1954.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from cdct.stats.association import columns_of, count, crossed
from cdct.stats.resample import NOTHING, Estimate, clustered_se

OPEN = "the denominator's mean can't be told from 0"
"""In the method of a ratio that is no summary: no finite interval holds it often enough."""


def ratio(
    numerator: ArrayLike, denominator: ArrayLike, clusters: ArrayLike, second: ArrayLike | None = None
) -> Estimate:
    """The ratio of the means of two paired columns with Fieller's interval: clustered variances, t with G-1 degrees.

    The interval has all ratios q for which the mean of numerator - q denominator can't be told from 0. Where the
    denominator's own mean can't be told from 0, no finite interval holds the truth often enough: the ends are -inf and
    inf, or, where no value of either column is negative, 0 (or more) and inf; method says so (`OPEN`). With clusters of
    a `second` kind, a ratio is ruled out only if it is by V(first), by V(second) and by V(first) + V(second) - V(both),
    with one degree of freedom less than the kind with fewer clusters has.

    With five to 72 clusters it held the truth 90 to 96 times in 100, and 85 to 89 times with very skewed sizes
    (log-normal, sigma 1.2), never less often than a cluster bootstrap. NaN for fewer than two clusters, or a
    denominator of 0.
    """
    from scipy import stats

    x, y = columns_of("ratio", numerator, denominator)
    if len(x) == 0:
        return NOTHING
    n, kinds = len(x), [clusters] if second is None else [clusters, second]
    if not y.any() or abs(y.mean()) <= 1e-12 * np.abs(y).max():
        return Estimate(math.nan, math.nan, math.nan, n, "undefined: the denominator's mean is 0")
    q, g = float(x.mean() / y.mean()), min(map(count, kinds))
    if g < 2:
        return Estimate(q, math.nan, math.nan, n, "one cluster: no interval")
    t = float(stats.t.ppf(0.975, g - 1))
    least = 1e-12 * max(np.abs(x).max(), np.abs(q * y).max())
    if all(clustered_se(x - q * y, names) <= least for names in kinds):
        return Estimate(q, math.nan, math.nan, n, "no spread: no interval")
    parts = np.array([_variances(x, y, names) for names in (kinds if second is None else crossed(clusters, second))])
    if second is not None:
        parts[2] = parts[0] + parts[1] - parts[2]
    sets = [
        _ends(float(x.mean()), float(y.mean()), *(t * t * part), min(x.min(), y.min()) < 0)
        for part in parts
        if part[0] - 2 * q * part[2] + q * q * part[1] > 0  # a sum with a part taken away need not be a variance
    ]
    crossing = "" if second is None else f", two-way ({count(clusters)} x {count(second)})"
    note = f"; {OPEN}" if any(math.isinf(high) for _, high in sets) else ""
    low, high = min(low for low, _ in sets), max(high for _, high in sets)
    return Estimate(q, low, high, n, f"Fieller, t, {g} clusters{crossing}{note}")


def _variances(x: np.ndarray, y: np.ndarray, names: ArrayLike) -> list[float]:
    """The variances of both means, and their covariance."""
    of_x, of_y, of_sum = (clustered_se(column, names) ** 2 for column in (x, y, x + y))
    return [of_x, of_y, (of_sum - of_x - of_y) / 2]


def _ends(x: float, y: float, v_x: float, v_y: float, v_xy: float, negative: bool) -> tuple[float, float]:
    """The ends of the ratios that can't be told from the truth: a q^2 - 2 b q + c <= 0 holds for them."""
    a, b, c = y * y - v_y, x * y - v_xy, x * x - v_x
    root = math.sqrt(max(b * b - a * c, 0.0))
    if a > 0:
        return (b - root) / a, (b + root) / a
    if negative:
        return -math.inf, math.inf
    # the ratios that are ruled out lie between the roots, if at all; a part of them below 0 can't be anyway
    ruled_out = a < 0 and (b + root) / a < 0 < (b - root) / a
    return ((b - root) / a if ruled_out else 0.0), math.inf
