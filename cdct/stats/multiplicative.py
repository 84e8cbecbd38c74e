"""How the rate of passed checks falls with the number k of constraints: a r^(k-1), its intervals and its forecasts.

Source of the form and of the fit: the CSE paper, section 4, Figure 1 and Table 4. Its r come out by unweighted
non-linear least squares over k = 1 to 8 with a free, and by none of the other usual ways; k = 9 to 12 are held out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cdct.core import stream
from cdct.stats.counts import Curves, curves

if TYPE_CHECKING:
    import pandas as pd

TRAIN = tuple(range(1, 9))
"""The k of the fit; all others that a table has are held out."""
MOST_R = 2.0
"""r is looked for in [0, 2]; an r on an end is flagged."""


class DecayFit(NamedTuple):
    """a r^(k-1) fitted to one curve. a and the errors have the unit of the rates.

    mae: mean absolute residual of the fit; heldout_mae: of its forecast at the other k; bias: mean of what was seen
    there minus what was forecast (a forecast that is too high has a negative one). NaN where there is no such k.
    bound: "lower" or "upper" where r lies on 0 or 2.
    """

    a: float
    r: float
    mae: float
    heldout_mae: float
    bias: float
    bound: str


def fit_decay(ks: ArrayLike, rates: ArrayLike, train: Iterable[int] = TRAIN) -> DecayFit:
    """The unweighted least-squares fit of a r^(k-1) to a curve. NaN rates are left out.

    ks: (n,) numbers of constraints; rates: (n,) in any unit. ValueError for fewer than two rates at k in `train`.
    """
    k, y = np.asarray(ks, dtype=float), np.asarray(rates, dtype=float)
    if k.shape != y.shape or k.ndim != 1:
        raise ValueError(f"fit_decay: ks and rates must be two lists of one length, got {k.shape} and {y.shape}")
    known = ~np.isnan(y)
    inside = known & np.isin(k, list(train))
    if inside.sum() < 2:
        raise ValueError(f"fit_decay: two rates at k in {list(train)} are the least, got {int(inside.sum())}")
    a, r = least_squares(k[inside] - 1, y[inside][None])
    off = y - a[0] * r[0] ** (k - 1)
    out = known & ~inside
    seen = (float(np.abs(off[out]).mean()), float(off[out].mean())) if out.any() else (math.nan, math.nan)
    return DecayFit(float(a[0]), float(r[0]), float(np.abs(off[inside]).mean()), *seen, str(_bounds(r)[0]))


def least_squares(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a and r of the fit of a r^x to each row of y (rows, len(x)); NaN in both where a row is 0 throughout.

    For a given r the best a is S / Q with S = sum y r^x and Q = sum r^2x, and the sum of squares falls by S^2 / Q. Of
    this the best of 40 r is taken, and the root of its derivative next to it, by Newton's method between two ends.
    """
    grid = np.linspace(0, MOST_R, 41)
    powers = grid[1:, None] ** x
    best = ((y @ powers.T) ** 2 / (powers**2).sum(axis=1)).argmax(axis=1)
    low, high, r = grid[best], grid[np.minimum(best + 2, 40)], grid[best + 1].copy()
    for _ in range(100):
        p = r[:, None] ** x
        p1 = x * r[:, None] ** np.maximum(x - 1, 0)
        p2 = x * (x - 1) * r[:, None] ** np.maximum(x - 2, 0)
        s, s1, s2 = (np.einsum("ij,ij->i", y, part) for part in (p, p1, p2))
        q, q1, q2 = (p * p).sum(axis=1), 2 * (p * p1).sum(axis=1), 2 * (p1 * p1 + p * p2).sum(axis=1)
        rise = s * (2 * s1 * q - s * q1)  # of the sign of the derivative
        low, high = np.where(rise > 0, r, low), np.where(rise > 0, high, r)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = r - (2 * s1 * q - s * q1) / (2 * s2 * q + s1 * q1 - s * q2)
        step = np.where((step > low) & (step < high), step, (low + high) / 2)
        still, r = np.abs(step - r).max(initial=0) <= 1e-10, step
        if still:
            break
    p = r[:, None] ** x
    a = (y * p).sum(axis=1) / (p * p).sum(axis=1)
    empty = ~y.any(axis=1)
    return np.where(empty, np.nan, a), np.where(empty, np.nan, r)


def _bounds(r: np.ndarray) -> np.ndarray:
    return np.select([r < 1e-6, r > MOST_R - 1e-6], ["lower", "upper"], "")


# -------------------------------------------------------------------------------------------------------------- frames


class Fits(NamedTuple):
    """Fits of a r^(k-1) to several curves, which may have other k, and how their numbers move with the rates.

    inside, fitted and of_*: (cells, sizes); a, r, mae and bias: (cells,), the errors at the held-out k.
    """

    inside: np.ndarray
    a: np.ndarray
    r: np.ndarray
    fitted: np.ndarray
    of_a: np.ndarray
    of_r: np.ndarray
    of_bias: np.ndarray
    mae: np.ndarray
    bias: np.ndarray


def fits(ks: np.ndarray, rates: np.ndarray, train: Iterable[int] = TRAIN) -> Fits:
    """The fits of rates (cells, sizes) with NaN where a cell has no such k; all NaN where it has fewer than two."""
    there, x = ~np.isnan(rates), ks - 1
    inside = there & np.isin(ks, list(train))
    out = there & ~inside
    a, r = np.full((2, len(rates)), np.nan)
    weights = np.zeros((len(rates), 2, len(ks)))
    patterns, which = np.unique(inside, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        some = np.flatnonzero(which.ravel() == number)
        if pattern.sum() > 1:
            a[some], r[some] = least_squares(x[pattern], rates[np.ix_(some, pattern)])
            weights[np.ix_(some, [0, 1], pattern)] = _gradients(
                x[pattern], rates[np.ix_(some, pattern)], a[some], r[some]
            )
    slopes = _slopes(x, a, r)
    fitted = a[:, None] * r[:, None] ** x
    share = out / np.maximum(out.sum(axis=1), 1)[:, None]
    moved = np.einsum("cik,ci->ck", weights, np.einsum("cik,ck->ci", slopes, share))
    off = np.where(out, rates - fitted, 0) * np.where(out.any(axis=1), 1.0, np.nan)[:, None]
    mae, bias = (np.abs(off) * share).sum(axis=1), (off * share).sum(axis=1)
    return Fits(inside, a, r, fitted, weights[:, 0], weights[:, 1], share - moved, mae, bias)


def _slopes(x: np.ndarray, a: np.ndarray, r: np.ndarray) -> np.ndarray:
    """How a r^x moves with a and with r, (cells, 2, len(x)); 0 where there is no fit."""
    of_r = a[:, None] * x * r[:, None] ** np.maximum(x - 1, 0)
    return np.nan_to_num(np.stack([r[:, None] ** x, of_r], axis=1))


def _gradients(x: np.ndarray, y: np.ndarray, a: np.ndarray, r: np.ndarray) -> np.ndarray:
    """How a and r move with each rate y, (cells, 2, len(x)): the derivative of where the sum of squares is least."""
    slopes = _slopes(x, a, r)
    bend = np.zeros((len(a), 2, 2))
    off = np.nan_to_num(y - a[:, None] * r[:, None] ** x)
    bend[:, 0, 1] = bend[:, 1, 0] = (off * x * r[:, None] ** np.maximum(x - 1, 0)).sum(axis=1)
    bend[:, 1, 1] = (off * a[:, None] * x * (x - 1) * r[:, None] ** np.maximum(x - 2, 0)).sum(axis=1)
    curved = np.einsum("cik,cjk->cij", slopes, slopes) - np.nan_to_num(bend)
    return np.linalg.pinv(curved, hermitian=True) @ slopes


def fit_decay_rows(
    rows: pd.DataFrame,
    by: Sequence[str] = ("model",),
    value: str = "passed",
    average: str | None = None,
    train: Iterable[int] = TRAIN,
    seed: int = 0,
    draws: int = 2000,
) -> pd.DataFrame:
    """a r^(k-1) for each cell of `by`, with intervals, and what its forecast is worth at the held-out k.

    rows and `value`: as in `cdct.stats.counts.curves`. `passed` of checks is the rate mCSR, `passed_all` of probes is
    sCSR, and `estimate` of a table of curves has no counts, hence no noise that could be told. `average`="model" fits
    the plain mean over models, as the paper's 72.0 % x .922^(k-1) does.

    Columns: `by`, a, a_low, a_high, estimate (r), low, high, bound, heldout_mae, mae_expected, p_heldout, bias,
    bias_low, bias_high, n (probes or models of the fit), n_unscored, method; see `DecayFit`. mae_expected is the mean
    held-out error that noise alone makes where the form holds, and p_heldout the share of `draws` in which it makes one
    as large as was seen: noise of the rates' own variances on the fitted curve, fitted again.

    Intervals: Student's t, to first order in the rates. Three to 200 probes at each k: they held the truth 94 to 100
    times in 100, where the percentiles of a bootstrap of probes did 78 to 96 times. They say how far off the numbers
    of the best a r^(k-1) may be, not whether the form holds.
    """
    table = curves(rows, by, value, average, "fit_decay_rows")
    found = fits(table.ks, table.rates, train)
    ends = {
        name: table.ends(estimate, slopes)
        for name, estimate, slopes in (
            ("a", found.a, found.of_a),
            ("r", found.r, found.of_r),
            ("bias", found.bias, found.of_bias),
        )
    }
    expected, p = _by_noise(table, found, seed, draws)
    n = np.where(found.inside, table.n, 0)
    told = "no counts: no interval" if table.unit == "no counts" else f"first order, t over {table.unit}"
    return table.cells.assign(
        a=found.a,
        a_low=ends["a"][0],
        a_high=ends["a"][1],
        estimate=found.r,
        low=ends["r"][0],
        high=ends["r"][1],
        bound=_bounds(found.r),
        heldout_mae=found.mae,
        mae_expected=expected,
        p_heldout=p,
        bias=found.bias,
        bias_low=ends["bias"][0],
        bias_high=ends["bias"][1],
        n=(n.max(axis=1, initial=0) if table.unit == "models" else n.sum(axis=1)).astype(int),
        n_unscored=table.n_unscored,
        method=np.where(np.isnan(found.r), "fewer than two k: no fit", f"least squares, {told}"),
    )


def _by_noise(table: Curves, found: Fits, seed: int, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean held-out error of the fitted curves under noise alone, and how often it is as large as was seen."""
    expected, p = np.full((2, len(found.r)), np.nan)
    for cell in np.flatnonzero(~np.isnan(found.mae)):
        there = ~np.isnan(table.rates[cell])
        if np.isnan(table.covariance[cell][np.ix_(there, there)]).any():
            continue
        inside, out = found.inside[cell], there & ~found.inside[cell]
        drawn = found.fitted[cell] + table.noise(cell, stream("stats", "multiplicative", seed), draws)
        a, r = least_squares(table.ks[inside] - 1, drawn[:, inside])
        mae = np.abs(drawn[:, out] - a[:, None] * r[:, None] ** (table.ks[out] - 1)).mean(axis=1)
        expected[cell] = np.nanmean(mae)
        p[cell] = (1 + (mae >= found.mae[cell]).sum()) / (1 + draws)
    return expected, p
