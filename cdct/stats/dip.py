"""The dip of a curve over ordered levels, and its exact null: what the same values show when levels don't matter.

A curve dips when both its ends lie strictly above its middle; its magnitude is the mean of the ends minus the middle.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Dip(NamedTuple):
    """One curve's dip. `trough` is the index of its lowest level (the first of equals)."""

    dips: bool
    magnitude: float
    trough: int


class Null(NamedTuple):
    """How often, and how deep, curves dip when the levels are exchangeable within each curve.

    `expected_share` is the mean of the null; the mean magnitude of the null is 0, since every value is as likely an end as
    a middle. `p_share` and `p_magnitude` are the exact one-sided chances of at least as many dips, and of at least as large
    a mean magnitude, as observed; `p_share_less` and `p_magnitude_less` those of at most as many and as large (a small one
    says that the curves arch instead). `shares` holds the chance of 0, 1, ..., n dips.
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
    return Dip(min(start, end) > middle, (start + end) / 2 - middle, int(np.argmin(values)))


def exact_null(curves: Sequence[Sequence[float]], step: float = 1e-4) -> Null:
    """The permutation null of a set of curves, by enumeration and convolution, without simulation.

    Within each curve every order of its values is equally likely, so the three levels that matter are an ordered triple of
    distinct ones. The number of dips is a sum of independent yes-or-no's; the sum of magnitudes is convolved on a grid of
    `step` (values are rounded to it, so the p of the magnitude counts everything within a grid step as tied).
    """
    if not curves:
        return Null(*[math.nan] * 5, np.array([]))
    observed = [dip(curve) for curve in curves]
    shares = np.array([1.0])
    total, offset = np.array([1.0]), 0
    mean_share = 0.0
    for curve in curves:
        triples = np.array(list(itertools.permutations(curve, 3)), dtype=float)
        start, middle, end = triples.T
        chance = float(np.mean(np.minimum(start, end) > middle))
        shares = np.convolve(shares, [1 - chance, chance])
        magnitudes = (start + end) / 2 - middle
        mean_share += chance / len(curves)
        ticks = np.rint(magnitudes / step).astype(int)
        pmf = np.bincount(ticks - ticks.min()) / len(ticks)
        total, offset = _convolve(total, pmf), offset + int(ticks.min())
    count = sum(d.dips for d in observed)
    # each curve is rounded by at most half a step, and so is the sum per curve: what lies within that is a tie
    seen = sum(int(np.rint(d.magnitude / step)) for d in observed) - offset
    return Null(
        mean_share,
        _tail(shares, count, None),
        _tail(shares, None, count + 1),
        _tail(total, max(0, seen), None),
        _tail(total, None, seen + 1),
        shares,
    )


def _tail(chances: np.ndarray, start: int | None, stop: int | None) -> float:
    return float(np.clip(chances[start:stop].sum(), 0.0, 1.0))


def _convolve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    from scipy import signal

    return np.clip(signal.fftconvolve(a, b), 0, None) if min(len(a), len(b)) > 500 else np.convolve(a, b)
