"""Decay to a floor, a e^(-bk) + c, beside the multiplicative form: fits, leave-one-out forecasts, and which form wins.

Source of the form: the CSE paper, section 4 and appendix F, where c is not below 0 and k is 1 to 12.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cdct.core import stream
from cdct.stats.counts import Curves, curves
from cdct.stats.multiplicative import least_squares

if TYPE_CHECKING:
    import pandas as pd

RATES = np.concatenate([[0.0], np.geomspace(1e-3, 12, 80)])
"""The b that are tried first; b lies within them. At 12 the first k alone is above the floor."""
FEWEST = 4
"""Three numbers are fitted: with fewer k than this there is nothing left to judge them by."""

STEPS = 8
"""How often the range in which an end of the interval of c lies is halved."""


class FloorFit(NamedTuple):
    """a e^(-bk) + c fitted to one curve; a, c and the errors have the unit of the rates.

    bound: "c" where c is 0 because it may not be below, "b" where all but the first k is floor, "a" where the curve
    does not fall: a is then 0 and b, of which nothing can be said, NaN. mae: mean absolute residual. loo_mae: the mean
    absolute error with which each k is forecast from all others; loo_multiplicative: that of a r^(k-1). loo_c_mean and
    loo_c_sd: of the floors of these fits (n-1 in the deviation); loo_c: the floor without k, for each k.
    """

    a: float
    b: float
    c: float
    bound: str
    mae: float
    loo_mae: float
    loo_multiplicative: float
    loo_c_mean: float
    loo_c_sd: float
    loo_c: dict[float, float]


def floor_squares(
    x: np.ndarray, y: np.ndarray, floor: bool = True, there: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """a, b and c of the least-squares fit of a e^(-bx) + c with a, b, c >= 0 to each row of y (rows, len(x)).

    there: (rows, len(x)), False where a row has no such x. Without `floor` c is 0. For a given b the best a and c have
    a closed form; of a range of b the best is taken and its neighbourhood narrowed by golden section.
    """
    w = np.ones(y.shape) if there is None else there.astype(float)
    y = np.where(w > 0, y, 0.0)
    best = _given(np.exp(-RATES[:, None] * x), w, y, floor)[0].argmin(axis=1)
    low, high = RATES[np.maximum(best - 1, 0)], RATES[np.minimum(best + 1, len(RATES) - 1)]
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(40):
        first, second = high - golden * (high - low), low + golden * (high - low)
        at = [_given(np.exp(-b[:, None] * x)[:, None], w, y, floor)[0][:, 0] for b in (first, second)]
        left = at[0] <= at[1]
        low, high = np.where(left, low, first), np.where(left, second, high)
    b = (low + high) / 2
    _, a, c = _given(np.exp(-b[:, None] * x)[:, None], w, y, floor)
    return a[:, 0], b, c[:, 0]


def _given(e: np.ndarray, w: np.ndarray, y: np.ndarray, floor: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sum of squares that is left, and the best a and c, none below 0, for each row and each e^(-bx): (rows, b).

    e: (b, len(x)), the same for all rows, or (rows, b, len(x)).
    """
    if e.ndim == 2:
        ew, eew, ey = w @ e.T, w @ (e * e).T, y @ e.T
    else:
        ew, eew, ey = (np.einsum("rbx,rx->rb", part, of) for part, of in ((e, w), (e * e, w), (e, y)))
    n, total, squares = w.sum(axis=1, keepdims=True), y.sum(axis=1, keepdims=True), (y * y).sum(axis=1, keepdims=True)
    a, c = np.maximum(ey / eew, 0), np.zeros(ey.shape)
    if floor:
        spread = eew - ew * ew / n
        steep = spread > 1e-12
        free = np.where(steep, (ey - ew * total / n) / np.where(steep, spread, 1), 0)
        at = (total - free * ew) / n
        flat = ~steep | (free <= 0)
        both = (free > 0) & (at > 0)
        a, c = (
            np.where(both, free, np.where(flat, 0, a)),
            np.where(both, at, np.where(flat, np.maximum(total / n, 0), 0)),
        )
    return squares - 2 * a * ey - 2 * c * total + a * a * eew + 2 * a * c * ew + c * c * n, a, c


def fit_floor(ks: ArrayLike, rates: ArrayLike) -> FloorFit:
    """The unweighted least-squares fit of a e^(-bk) + c to a curve, over all its k. NaN rates are left out.

    ks: (n,) numbers of constraints; rates: (n,) in any unit. ValueError for fewer than four rates.
    """
    k, y = np.asarray(ks, dtype=float), np.asarray(rates, dtype=float)
    if k.shape != y.shape or k.ndim != 1:
        raise ValueError(f"fit_floor: ks and rates must be two lists of one length, got {k.shape} and {y.shape}")
    k, y = k[~np.isnan(y)], y[~np.isnan(y)]
    if len(k) < FEWEST:
        raise ValueError(f"fit_floor: {FEWEST} rates are the least for three numbers, got {len(k)}")
    a, b, c = (float(part[0]) for part in floor_squares(k, y[None]))
    off, other, floors = _left_out(k, y)
    mae = float(np.abs(y - a * np.exp(-b * k) - c).mean())
    bound = "a" if a == 0 else "b" if b > RATES[-1] - 1e-6 else "c" if c == 0 else ""
    numbers = (float(part) for part in (off.mean(), other.mean(), floors.mean(), floors.std(ddof=1)))
    by_k = dict(zip(k.tolist(), floors.tolist(), strict=True))
    return FloorFit(a, math.nan if bound == "a" else b, c, bound, mae, *numbers, by_k)


def _left_out(k: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each k, fitted without it: the absolute error of its forecast, that of a r^(k-1), and the floor."""
    rest = ~np.eye(len(k), dtype=bool)
    a, b, c = floor_squares(k, np.broadcast_to(y, rest.shape), there=rest)
    other = np.empty(len(k))
    for left, there in enumerate(rest):
        start, r = (np.nan_to_num(part[0]) for part in least_squares(k[there] - 1, y[None, there]))
        other[left] = start * r ** (k[left] - 1)
    return np.abs(y - a * np.exp(-b * k) - c), np.abs(y - other), c


def fit_floor_rows(
    rows: pd.DataFrame,
    by: Sequence[str] = ("model",),
    value: str = "passed",
    average: str | None = None,
    seed: int = 0,
    draws: int = 400,
) -> pd.DataFrame:
    """a e^(-bk) + c for each cell of `by`, and the test of c = 0; rows and `value` as in `cdct.stats.counts.curves`.

    Columns: `by`, a, b, estimate (c), low, high, p_floor, bound, mae, loo_mae, loo_multiplicative, loo_c_mean, loo_c_sd
    (see `FloorFit`), n (probes or models), n_unscored, method. p_floor: the share of `draws` in which the curve that
    was fitted without a floor, with noise of the rates' own variances, shows a floor as large. low and high: the
    smallest and the largest floor under which one as large, or as small, as was seen comes in 2.5 % of the draws, with
    a and b fitted to it. A floor speaks of more constraints than were asked: `loo_c_sd` says how much it hangs on
    single k. NaN for fewer than four k, and without counts for what needs their noise.
    """
    import pandas as pd

    table = curves(rows, by, value, average, "fit_floor_rows")
    there = ~np.isnan(table.rates)
    noisy = ~np.isnan(np.where(there[:, :, None] & there[:, None, :], table.covariance, 0)).any(axis=(1, 2))
    some = np.flatnonzero(noisy & (there.sum(axis=1) >= FEWEST))
    tails = _ends(table, there, some, seed, draws)
    out = []
    for cell in range(len(table.cells)):
        n = int(table.n[cell].max(initial=0) if table.unit == "models" else table.n[cell].sum())
        counted = {"n": n, "n_unscored": int(table.n_unscored[cell])}
        if there[cell].sum() < FEWEST:
            out.append(counted | {"bound": "", "method": f"fewer than {FEWEST} k: no fit"})
            continue
        fit = fit_floor(table.ks, table.rates[cell])
        numbers = {"a": fit.a, "b": fit.b, "estimate": fit.c, "bound": fit.bound, "mae": fit.mae}
        numbers |= {name: getattr(fit, name) for name in ("loo_mae", "loo_multiplicative", "loo_c_mean", "loo_c_sd")}
        told = "no counts: no interval"
        if cell in tails:
            numbers |= dict(zip(("low", "high", "p_floor"), tails[cell], strict=True))
            told = f"inverted test, {draws} draws of noise over {table.unit}"
        out.append(numbers | counted | {"method": f"least squares, {told}"})
    names = ["a", "b", "estimate", "low", "high", "p_floor", "bound", "mae", "loo_mae", "loo_multiplicative"]
    fitted = pd.DataFrame(out, columns=[*names, "loo_c_mean", "loo_c_sd", "n", "n_unscored", "method"])
    return pd.concat([table.cells.reset_index(drop=True), fitted], axis=1)


def _ends(
    table: Curves, there: np.ndarray, some: np.ndarray, seed: int, draws: int
) -> dict[int, tuple[float, float, float]]:
    """The ends of the interval of c and the p of c = 0, for each of some cells."""
    k, y, inside = table.ks, np.nan_to_num(table.rates[some]), there[some]
    seen = floor_squares(k, y, there=inside)[2]
    noise = np.stack([table.noise(cell, stream("stats", "floors", seed), draws, True) for cell in some] or [y[:0]])

    def shares(c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How often a floor as large and as small as was seen comes where c is the floor."""
        a, b, _ = floor_squares(k, y - c[:, None], floor=False, there=inside)
        drawn = (a[:, None] * np.exp(-b[:, None] * k) + c[:, None])[:, None] + noise
        again = floor_squares(k, drawn.reshape(-1, len(k)), there=np.repeat(inside, draws, axis=0))[2]
        again = again.reshape(len(c), draws)
        large = (again >= seen[:, None] - 1e-12).sum(axis=1)
        return (1 + large) / (1 + draws), (1 + (again <= seen[:, None] + 1e-12).sum(axis=1)) / (1 + draws)

    if not len(some):
        return {}
    p = shares(np.zeros(len(some)))[0]
    low, high = (np.zeros(len(some)), seen), (seen, y.max(axis=1))
    for _ in range(STEPS):
        middle = [(ends[0] + ends[1]) / 2 for ends in (low, high)]
        left, right = shares(middle[0])[0] > 0.025, shares(middle[1])[1] > 0.025
        low = np.where(left, low[0], middle[0]), np.where(left, middle[0], low[1])
        high = np.where(right, middle[1], high[0]), np.where(right, high[1], middle[1])
    low_end = np.where(p > 0.025, 0, low[0])
    return {int(cell): ends for cell, *ends in zip(some, low_end, high[1], p, strict=True)}
