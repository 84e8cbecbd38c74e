"""An exact interval for the p of success p^N at several depths, as Clopper and Pearson's is one for a single share."""

from __future__ import annotations

import math

import numpy as np

ALPHA = 0.05
SIZE = 2048
"""Points of the lattice on which distributions are computed; a power of two."""


def exact_ends(depths: np.ndarray, correct: np.ndarray, n: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ends of an interval of p on [0, 1] that holds the true p at least 95 % of the time, one per row.

    depths: (depths,); correct, n: (rows, depths), n = 0 where a row has no such depth; u: the estimates of -ln p.
    NaN for a row without trials.

    An estimate is at most the observed one exactly when T = sum a c is at most its observed value t, where
    a = N / (1 - p^N) at the observed estimate. T is a sum of independent binomials and grows with p, so that the p at
    which P(T >= t) = 2.5 % and that at which P(T <= t) = 2.5 % are the ends, as Clopper and Pearson have them. Weights
    are rounded to a lattice that is fine against the spread of T. (Any weights give a valid interval.) On it the
    distribution is exact, from the Fourier transform of its characteristic function, over six standard deviations on
    either side.
    """
    from scipy.optimize import elementwise
    from scipy.special import ndtri

    ends = np.full((2, len(u)), math.nan)
    ends[0, (correct.sum(axis=1) == 0) & (n.sum(axis=1) > 0)] = 0
    ends[1, (correct == n).all(axis=1) & (n.sum(axis=1) > 0)] = 1
    weights = np.where(n > 0, depths / -np.expm1(-np.clip(u, 1e-9, 20)[:, None] * depths), 0)
    # where P(T >= t) can be 2.5 or 97.5 %: a grid of ln u, six orders of magnitude wide
    first_depth = np.where(n > 0, depths, math.inf).min(axis=1, initial=math.inf)
    middle = np.where(np.isinf(u), 1 / first_depth, u)  # without successes the end can be close to p = 1
    near = np.log(np.clip(middle, 0.1 / np.maximum(n @ depths, 1e-9), 20))
    tried = near[:, None] + np.linspace(-7, 7, 113)
    chance = np.exp(-np.exp(tried)[:, :, None] * depths)
    spread = np.sqrt(np.einsum("ij,ikj->ik", n * weights**2, chance * (1 - chance)))
    off = np.einsum("ij,ikj->ik", weights * n, chance) - (weights * correct).sum(axis=1)[:, None]
    possible = np.abs(off) < 6 * spread + weights.max(axis=1, initial=0)[:, None]
    scale = SIZE / 14 / np.max(spread, axis=1, where=possible, initial=1e-9)
    whole = np.where(n > 0, np.maximum(np.rint(weights * scale[:, None]), 1), 0).astype(int)
    seen = (whole * correct).sum(axis=1)
    roots = np.exp(-2j * math.pi * np.arange(SIZE) / SIZE)
    angle = np.arange(SIZE // 2 + 1)

    def tail(log_u: np.ndarray, row: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """P(T >= t) where `upper`, else P(T <= t), at p = exp(-exp(log_u))."""
        q = np.exp(-np.exp(log_u)[:, None] * depths)
        start = np.floor((n[row] * whole[row] * q).sum(axis=1) - SIZE / 2).astype(int)
        wave = roots[-start[:, None] * angle & SIZE - 1]
        for times in np.unique(n[n > 0]):
            factor = np.ones_like(wave)
            for depth in np.flatnonzero((n[row] == times).any(axis=0)):
                chance = np.where(n[row, depth] == times, q[:, depth], 0)[:, None]
                factor *= 1 + chance * (roots[whole[row, depth, None] * angle & SIZE - 1] - 1)
            wave *= factor ** int(times)
        below = np.cumsum(np.fft.irfft(wave, SIZE, axis=1), axis=1)
        at = np.clip(seen[row] - start - upper, -1, SIZE - 1).astype(int)
        less = np.where(at < 0, 0, below[np.arange(len(row)), at])
        return np.where(upper, 1 - less, less)

    for side, upper in ((0, True), (1, False)):
        for some in np.array_split(np.flatnonzero(np.isnan(ends[side]) & (n.sum(axis=1) > 0)), 1 + len(u) // 64):
            if not len(some):
                continue
            first, last = possible[some].argmax(axis=1), possible.shape[1] - 1 - possible[some, ::-1].argmax(axis=1)
            found = elementwise.find_root(
                lambda log_u, row, upper: ndtri(np.clip(tail(log_u, row, upper), 1e-12, 1)) - ndtri(ALPHA / 2),
                (tried[some, np.maximum(first - 1, 0)], tried[some, np.minimum(last + 1, tried.shape[1] - 1)]),
                args=(some, np.full(len(some), upper)),
                tolerances={"xatol": 1e-6, "xrtol": 0, "fatol": 1e-5, "frtol": 0},
            )
            if not found.success.all():
                raise ArithmeticError(f"decay: no end of the interval was found for cell {some[~found.success][0]}")
            ends[side, some] = np.exp(-np.exp(found.x))
    return ends[0], ends[1]
