"""The dip of a curve over ordered levels, and its exact null: what the same values show when levels don't matter.

A curve dips when both its ends lie strictly above its middle; its magnitude is the mean of the ends minus the middle.
For more than five levels there is also the test of Simonsohn, Two Lines: A Valid Alternative to the Invalid Testing of
U-Shaped Relationships With Quadratic Regressions, 2018.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cdct.stats.resample import Estimate, clustered_se


class Dip(NamedTuple):
    """One curve's dip. `trough` is the index of its lowest level, None where several levels are equally low."""

    dips: bool
    magnitude: float
    trough: int | None


class Null(NamedTuple):
    """How often, and how deep, curves dip when the levels are exchangeable within each curve.

    `expected_share` is the mean of the null; the mean magnitude of the null is 0, since every value is as likely an
    end as a middle. `p_share` and `p_magnitude` are the exact one-sided chances of at least as many dips, and of at
    least as large a mean magnitude, as observed; `p_share_less` and `p_magnitude_less` those of at most as many and as
    large. No p alone says that curves dip or arch. A curve that is flat and rises at one end has a positive magnitude,
    one that rises to the middle and stays there a negative one, and neither dips nor arches; curves that rise or fall
    all the way have a small `p_share_less`. A dip needs a small `p_share` and `p_magnitude`; an arch needs the same of
    the curves turned over. `shares` holds the chance of 0, 1, ..., n dips.
    """

    expected_share: float
    p_share: float
    p_share_less: float
    p_magnitude: float
    p_magnitude_less: float
    shares: np.ndarray


def dip(values: Sequence[float]) -> Dip:
    """The dip of one curve, whose values are in the order of the levels (an odd number, at least three)."""
    if len(values) < 3 or len(values) % 2 == 0:
        raise ValueError(f"dip: a curve needs an odd number of levels, three or more, got {len(values)}")
    if any(math.isnan(value) for value in values):
        raise ValueError("dip: a level is missing; a curve with a hole has no dip")
    start, middle, end = values[0], values[len(values) // 2], values[-1]
    lowest = np.flatnonzero(np.asarray(values) == min(values))
    trough = int(lowest[0]) if len(lowest) == 1 else None
    return Dip(bool(min(start, end) > middle), (start + end) / 2 - middle, trough)


MOST_SUMS = 150_000
"""So many different sums of magnitudes are kept apart. Eight concepts scored by the rubric have fewer, whatever the
replies; beyond it, sums are rounded to a grid as coarse as it must be."""


def exact_null(curves: Sequence[Sequence[float]], blocks: Sequence[Hashable] | None = None) -> Null:
    """The permutation null of a set of curves, by enumeration and convolution, without simulation.

    Within each curve every order of its values is equally likely, so the three levels that matter are an ordered
    triple of distinct ones. Curves of one block (several models on the same texts) are not independent: they are put
    into the same order together, and must have equally many levels; without `blocks` each curve stands alone. The
    number of dips and the sum of magnitudes are sums of independent parts, one per block, whose distributions are added
    up. Sums that differ by less than what rounding can do (1e-9 of the range of a curve, more only where there are more
    than `MOST_SUMS` of them) count as equal to the observed one, in both tails, so that no p is too small.
    """
    if not curves:
        return Null(*[math.nan] * 5, np.array([]))
    observed = [dip(curve) for curve in curves]
    names = range(len(curves)) if blocks is None else blocks
    together: dict[Hashable, list[Sequence[float]]] = {}
    for name, curve in zip(names, curves, strict=True):
        together.setdefault(name, []).append(curve)
    shares, sums = np.array([1.0]), _Sums(max(max(curve) - min(curve) for curve in curves) or 1.0)
    for name, block in together.items():
        if len({len(curve) for curve in block}) > 1:
            raise ValueError(f"exact_null: the curves of block {name!r} have different numbers of levels")
        values = np.array(block, dtype=float)
        start, middle, end = np.moveaxis(values[:, list(itertools.permutations(range(values.shape[1]), 3))], 2, 0)
        shares = np.convolve(shares, _chances((np.minimum(start, end) > middle).sum(axis=0), len(block) + 1))
        sums.add(((start + end) / 2 - middle).sum(axis=0))
    count = sum(one.dips for one in observed)
    at_least, at_most = sums.tails(math.fsum(one.magnitude for one in observed))
    return Null(
        float(shares @ np.arange(len(shares))) / len(curves),
        _sum(shares[count:]),
        _sum(shares[: count + 1]),
        at_least,
        at_most,
        shares,
    )


class _Sums:
    """The distribution of a sum of independent parts, each equally likely to have any of its values."""

    def __init__(self, span: float) -> None:
        self.tick = 1e-9 * span
        self.slack = 0.0
        self.support, self.chances = np.array([0]), np.array([1.0])

    def add(self, values: np.ndarray) -> None:
        """Add a part. Values are kept as whole ticks, and ticks grow where there would be too many sums."""
        ticks, times = np.unique(np.rint(values / self.tick).astype(np.int64), return_counts=True)
        self.slack += self.tick
        sums = (self.support[:, None] + ticks).ravel()
        self._merge(sums, np.outer(self.chances, times / len(values)).ravel())
        while len(self.support) > MOST_SUMS:
            self.tick, coarser = 2 * self.tick, np.rint(self.support / 2).astype(np.int64)
            self.slack += self.tick
            self._merge(coarser, self.chances)

    def _merge(self, support: np.ndarray, chances: np.ndarray) -> None:
        self.support, places = np.unique(support, return_inverse=True)
        self.chances = np.bincount(places, chances)

    def tails(self, seen: float) -> tuple[float, float]:
        """The chances of at least, and of at most, the sum that was seen; sums too near to tell apart are in both."""
        off = self.support * self.tick - seen
        return _sum(self.chances[off >= -self.slack]), _sum(self.chances[off <= self.slack])


def _chances(values: np.ndarray, least: int = 0) -> np.ndarray:
    return np.bincount(values, minlength=least) / len(values)


def _sum(chances: np.ndarray) -> float:
    return float(np.clip(chances.sum(), 0.0, 1.0))


class TwoLines(NamedTuple):
    """Whether values fall up to a break and rise after it, the slopes of both lines, and their two-sided p."""

    u: bool
    at: float
    first: Estimate
    second: Estimate
    p_first: float
    p_second: float


def two_lines(x: ArrayLike, y: ArrayLike, clusters: ArrayLike) -> TwoLines:
    """A U is claimed only if y falls significantly up to a break and rises significantly from it on (each p < .05).

    Two straight lines with intercepts of their own, the level of the break in both, slopes in y per unit of x, with
    cluster-robust errors and Student's t with one degree of freedom less than clusters. Turn y over to test for an
    arch. The break: of the levels that leave three or more on either side (themselves included), those whose mean of y
    lies within one standard error of the lowest; from their middle one, the break moves among them towards the side
    whose slope has the larger |t|, so that the weaker line gets more of the data. Standard errors of level means are of
    deviations from the cluster's own mean, since clusters that differ in height say nothing about the shape.

    In simulations (8 or 20 clusters, 6 or 9 levels) a U was claimed in 0 to 2 of 100 sets where the truth is flat,
    falls or rises all the way, and in 0 to 6 where it falls and stays, stays and rises, or is a step: there one slope
    alone is in doubt.

    ValueError at five levels or fewer, or with a missing value. With fewer than three clusters, or a slope without
    spread, p is NaN and no U is claimed.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if np.isnan(x).any() or np.isnan(y).any():
        raise ValueError("two_lines: a value is NaN; take missing values out and count them as unscored")
    levels, groups = np.unique(x, return_inverse=True)
    if len(levels) <= 5:
        raise ValueError(f"two_lines: needs more than five levels, got {len(levels)}; use dip and exact_null")
    _, places = np.unique(np.asarray(clusters), return_inverse=True)
    centered = y - (np.bincount(places, y) / np.bincount(places))[places]
    means = np.bincount(groups, centered) / np.bincount(groups)
    inner = range(2, len(levels) - 2)
    lowest = min(inner, key=lambda level: means[level])
    at_lowest = groups == lowest
    error = clustered_se(centered[at_lowest], places[at_lowest])
    near = [level for level in inner if level == lowest or means[level] <= means[lowest] + error]
    first, second = (_line(x, y, places, side) for side in _sides(groups, near[(len(near) - 1) // 2]))
    weights = abs(first[2]), abs(second[2])
    if len(near) > 1 and np.isfinite(sum(weights)) and sum(weights) > 0:
        chosen = near[round(weights[1] / sum(weights) * (len(near) - 1))]
    else:
        chosen = near[(len(near) - 1) // 2]
    (first, p_first, _), (second, p_second, _) = (_line(x, y, places, side) for side in _sides(groups, chosen))
    u = first.estimate < 0 < second.estimate and p_first < 0.05 and p_second < 0.05
    return TwoLines(u, float(levels[chosen]), first, second, p_first, p_second)


def _sides(groups: np.ndarray, at: int) -> tuple[np.ndarray, np.ndarray]:
    return groups <= at, groups >= at


def _line(x: np.ndarray, y: np.ndarray, clusters: np.ndarray, rows: np.ndarray) -> tuple[Estimate, float, float]:
    """The slope of y on x in some rows with its interval, its p and its t."""
    from scipy import stats

    x, y, clusters = x[rows] - x[rows].mean(), y[rows] - y[rows].mean(), clusters[rows]
    slope, g = float(x @ y / (x @ x)), len(np.unique(clusters))
    # the mean of these is 0, and its standard error is that of the slope
    se = clustered_se(x * (y - slope * x) / np.mean(x * x), clusters)
    if g < 3 or not se > 1e-12 * max(1.0, abs(slope)):
        reason = f"{g} clusters: no interval" if g < 3 else "no spread: no interval"
        return Estimate(slope, math.nan, math.nan, len(x), reason), math.nan, math.nan
    half = float(stats.t.ppf(0.975, g - 1)) * se
    t = slope / se
    estimate = Estimate(slope, slope - half, slope + half, len(x), f"t, {g} clusters")
    return estimate, 2 * float(stats.t.sf(abs(t), g - 1)), t
