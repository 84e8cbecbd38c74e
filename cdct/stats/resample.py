"""Means and shares with intervals that respect clusters, and fall back to exact ones where there is no spread.

Source of the cluster-robust variance: Cameron and Miller, A Practitioner's Guide to Cluster-Robust Inference, 2015
(the small-sample factor G/(G-1), Student's t with G-1 degrees of freedom).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Estimate(NamedTuple):
    """A number, the ends of its 95 % interval, how many values it rests on, and how the interval was made."""

    estimate: float
    low: float
    high: float
    n: int
    method: str


NOTHING = Estimate(math.nan, math.nan, math.nan, 0, "no data")


def clustered_se(values: ArrayLike, clusters: ArrayLike | None = None) -> float:
    """The standard error of a mean whose values are alike within clusters; without clusters the usual one.

    NaN for fewer than two clusters: one cluster tells nothing about how clusters differ.
    """
    x = np.asarray(values, dtype=float)
    if clusters is None:
        return float(np.std(x, ddof=1) / math.sqrt(len(x))) if len(x) > 1 else math.nan
    _, groups = np.unique(np.asarray(clusters), return_inverse=True)
    g = int(groups.max()) + 1 if len(groups) else 0
    if g < 2:
        return math.nan
    sums = np.bincount(groups, weights=x - x.mean())
    return float(math.sqrt(g / (g - 1) * np.sum(sums**2)) / len(x))


def mean(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """The mean of the values with a t interval from the spread between clusters (each value its own when None).

    Missing values must be taken out first, and counted. `bounds` is the range that values can have: the interval is cut
    at it, and when all values are equal it gives an exact interval. Then at most u = 1 - (alpha/2)^(1/G) of the clusters
    can differ from what was seen, and these by no more than the bounds allow. Without bounds and spread, or with a single
    cluster, the ends are NaN.
    """
    from scipy import stats

    x = np.asarray(values, dtype=float)
    if len(x) == 0:
        return NOTHING
    if np.isnan(x).any():
        raise ValueError("mean: a value is NaN; take missing values out and count them as unscored")
    g = len(x) if clusters is None else len(np.unique(np.asarray(clusters)))
    center = float(x.mean())
    if g < 2:
        return Estimate(center, math.nan, math.nan, len(x), "one cluster: no interval")
    if np.ptp(x) < 1e-12:
        if bounds is None:
            return Estimate(center, math.nan, math.nan, len(x), "no spread: no interval")
        other = 1 - ((1 - confidence) / 2) ** (1 / g)
        low, high = center + other * (bounds[0] - center), center + other * (bounds[1] - center)
        return Estimate(center, low, high, len(x), f"exact bound, no spread, {g} clusters")
    half = float(stats.t.ppf((1 + confidence) / 2, g - 1)) * clustered_se(
        x, range(len(x)) if clusters is None else clusters
    )
    low, high = center - half, center + half
    if bounds is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return Estimate(center, low, high, len(x), f"t, {g} clusters")


def share(successes: int, n: int, confidence: float = 0.95) -> Estimate:
    """A share of independent trials with its exact (Clopper-Pearson) interval; NaN when there was no trial."""
    from scipy import stats

    if not 0 <= successes <= n:
        raise ValueError(f"share: successes must lie in 0..{n}, got {successes}")
    if n == 0:
        return NOTHING
    interval = stats.binomtest(successes, n).proportion_ci(confidence, method="exact")
    return Estimate(successes / n, float(interval.low), float(interval.high), n, "exact binomial")


class Rate(NamedTuple):
    """The same count over two denominators: those that could be scored, and all."""

    scored: Estimate
    all: Estimate
    n_unscored: int


def rate(outcomes: Sequence[bool | None]) -> Rate:
    """The share of True over the scored outcomes and over all of them, where None is one that could not be scored."""
    right = sum(bool(outcome) for outcome in outcomes if outcome is not None)
    unscored = sum(outcome is None for outcome in outcomes)
    return Rate(share(right, len(outcomes) - unscored), share(right, len(outcomes)), unscored)
