"""How success falls with depth: the geometric form p^N per cell, whether it fits, and the horizons that it implies.

A cell is a model in a domain, or whatever `by` names. With u = -ln p the log-likelihood sum c ln p^N + (n-c) ln(1-p^N)
is concave in u, so its maximum is the only root of the score. Source of the form, of the bound p >= .5 and of the
percentile bootstrap: the CCB paper, section 3. The rival forms stand in `cdct.stats.rivals`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cdct.core import stream
from cdct.stats.exact import ALPHA, exact_ends
from cdct.stats.resample import share

if TYPE_CHECKING:
    import pandas as pd

LEAST_P = 0.5
"""The lower bound of p in the paper."""
FEWEST_DEPTHS = 3
"""With successes at fewer depths any curve through one or two points fits: the cell doesn't identify the form."""


class GeometricFit(NamedTuple):
    """The fit of p^N to one cell. `p` is the paper's number, `low` and `high` are an interval that holds the truth.

    p: maximum likelihood on [.5, 1]; `p_free`: the same on [0, 1]. `bound`: "lower" or "upper" where p lies on .5 or 1.
    low, high: exact 95 % interval of the chance per step on [0, 1] (see `cdct.stats.exact`), widened to p at a bound.
    boot_low, boot_high: the paper's, percentiles of the parametric bootstrap at p. They hold the truth less often:
    about 94 times in 100 in rich cells, 91 in sparse ones, hardly ever near p = 1, where they have no width.
    deviance against a free share per depth, on `df` degrees of freedom; p_value: the share of bootstrap samples, fitted
    again, that deviate at least as much, the observed one among them; dispersion: Pearson's statistic over df, 1 where
    the form holds and trials are independent. Far above 1, all intervals are too narrow by about its root.
    r2: 1 - sum n (y - p^N)^2 / sum n (y - mean)^2 over depths, y the share correct and the mean that of all trials;
    negative where a constant describes the cell better; NaN where all shares are equal.
    identifiable: False where fewer than three depths have successes. n: trials scored.
    """

    p: float
    low: float
    high: float
    boot_low: float
    boot_high: float
    p_free: float
    bound: str
    deviance: float
    df: int
    p_value: float
    dispersion: float
    r2: float
    identifiable: bool
    n: int
    n_unscored: int
    first: float
    last: float
    method: str


# ------------------------------------------------------------------------------------------------------------- counting


def by_depth(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The share correct per cell and depth with its exact (Clopper-Pearson) interval.

    Rows have `depth` and `correct`: trials (None or NaN could not be scored), or with a column `n` counts of n trials
    (and `n_unscored` beside them). Columns: `by`, depth, correct, estimate, low, high, n, n_unscored, method.
    """
    table = _counts(rows, by)
    cells = [share(int(c), int(n))._asdict() for c, n in zip(table["correct"], table["n"], strict=True)]
    for name in ("estimate", "low", "high", "method"):
        table[name] = [cell[name] for cell in cells]
    return table[[*by, "depth", "correct", "estimate", "low", "high", "n", "n_unscored", "method"]]


def _counts(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """One row per cell and depth: `by`, depth, correct, n, n_unscored."""
    import pandas as pd

    correct = pd.to_numeric(rows["correct"]).astype(float)
    n = rows["n"].astype(float) if "n" in rows else pd.Series(1.0, index=rows.index)
    unscored = n.where(correct.isna(), 0.0) + rows.get("n_unscored", 0)
    n = n.where(correct.notna(), 0.0)
    depth = rows["depth"].astype(float)
    wrong = (correct < 0) | (correct > n) | (correct % 1 > 0) | (n % 1 > 0) | ~(depth > 0)
    if wrong.any():
        at = wrong[wrong].index[0]
        raise ValueError(
            f"decay: counts must be whole, 0 <= correct <= n, at depths above 0, got depth {depth[at]:g}, "
            f"correct {correct[at]:g}, n {n[at]:g}"
        )
    table = rows[list(by)].assign(depth=depth, correct=correct.fillna(0), n=n, n_unscored=unscored)
    table = table.groupby([*by, "depth"], sort=False, observed=True, dropna=False).sum().reset_index()
    return table.astype(dict.fromkeys(("correct", "n", "n_unscored"), int))


class Grid(NamedTuple):
    """Cells as arrays: correct and n are (cells, depths) over the union of all depths, n = 0 where a cell has none."""

    cells: pd.DataFrame
    depths: np.ndarray
    correct: np.ndarray
    n: np.ndarray
    n_unscored: np.ndarray


def grid(rows: pd.DataFrame, by: Sequence[str]) -> Grid:
    """The counts of all cells of `by`, in the order in which they come; rows as in `by_depth`."""
    table = _counts(rows, by)
    depths, column = np.unique(table["depth"], return_inverse=True)
    if by:
        groups = table.groupby(list(by), sort=False, observed=True, dropna=False)
        row, cells = groups.ngroup().to_numpy(), table[list(by)].drop_duplicates(ignore_index=True)
    else:
        row, cells = np.zeros(len(table), dtype=int), table.head(1)[[]].reset_index(drop=True)
    correct, n, unscored = np.zeros((3, len(cells), len(depths)))
    for array, name in ((correct, "correct"), (n, "n"), (unscored, "n_unscored")):
        array[row, column] = table[name]
    return Grid(cells, depths, correct, n, unscored.sum(axis=1).astype(int))


# --------------------------------------------------------------------------------------------------- the geometric form


def rate(depths: np.ndarray, correct: np.ndarray, n: np.ndarray, near: np.ndarray | None = None) -> np.ndarray:
    """The maximum-likelihood u >= 0 of success exp(-u N), one per row; 0 without failures, inf without successes.

    depths: (depths,) or (rows, depths), correct and n: (rows, depths). `near`: guesses, for speed. The score
    sum (n-c) N / (exp(uN) - 1) - sum c N falls and is convex in u: a Newton step from anywhere lands left of its root,
    and steps from there rise to it. The least guess, failures / (sum c N + sum (n-c) N / 2), lies left of the root too,
    since x / (exp(x) - 1) >= 1 - x/2.
    """
    depths = np.broadcast_to(depths, correct.shape)
    failed = n - correct
    steps, failures = (correct * depths).sum(axis=1), failed.sum(axis=1)
    u = np.where(failures > 0, math.inf, 0.0)
    left = np.flatnonzero((steps > 0) & (failures > 0))
    x, weighted, target = depths[left], (failed * depths)[left], steps[left]
    least = failures[left] / (target + weighted.sum(axis=1) / 2)
    v = least if near is None else np.clip(near[left], least, 20.0)
    with np.errstate(over="ignore", divide="ignore"):
        for _ in range(200):
            e = 1 / np.expm1(v[:, None] * x)
            pull = weighted * e
            slope = np.einsum("ij,ij,ij->i", pull, x, 1 + e)
            after = np.maximum(v + (pull.sum(axis=1) - target) / slope, least)
            u[left], moving = after, np.abs(after - v) > 1e-9 * after
            if not moving.any():
                break
            if moving.mean() < 0.5:
                left, x, weighted, target, least, after = (
                    part[moving] for part in (left, x, weighted, target, least, after)
                )
            v = after
    return u


def log_likelihood(depths: np.ndarray, u: np.ndarray, correct: np.ndarray, n: np.ndarray) -> np.ndarray:
    """sum c ln q + (n-c) ln(1-q) with q = exp(-u N), one per row; binomial coefficients are left out."""
    from scipy.special import xlogy

    x = np.where(np.isinf(u), 1e9, u)[:, None] * depths  # without successes all but 0 x inf
    return (xlogy(n - correct, -np.expm1(-x)) - correct * x).sum(axis=1)


def saturated(correct: np.ndarray, n: np.ndarray) -> np.ndarray:
    """The log-likelihood of a free share per depth, one per row."""
    from scipy.special import xlogy

    some = np.maximum(n, 1)
    return (xlogy(correct, correct / some) + xlogy(n - correct, (n - correct) / some)).sum(axis=1)


def resampled(u: np.ndarray, depths: np.ndarray, n: np.ndarray, seed: int, draws: int) -> np.ndarray:
    """Parametric bootstrap counts (cells, draws, depths) at success exp(-u N); no cell's hang on the other cells."""
    out = np.zeros((len(u), draws, len(depths)))
    for cell, rate_of_cell in enumerate(u):
        asked = n[cell] > 0
        rng = stream("stats", "decay", seed)
        chance = np.exp(-np.minimum(rate_of_cell, 1e9) * depths[asked])
        out[cell][:, asked] = rng.binomial(n[cell, asked].astype(int), chance, (draws, int(asked.sum())))
    return out


def fit_many(rows: pd.DataFrame, by: Sequence[str], seed: int = 0, draws: int = 2000) -> pd.DataFrame:
    """One row per cell of `by`: the fields of `GeometricFit`, p as the column `estimate`; rows as in `by_depth`.

    Cells without a scored trial have NaN and method "no data". The same seed gives the same row for a cell, whatever
    other cells there are.
    """
    g = grid(rows, by)
    depths, c, n = g.depths, g.correct, g.n
    free = rate(depths, c, n)
    u = np.minimum(free, -math.log(LEAST_P))
    fitted, asked, total = np.exp(-u[:, None] * depths), n > 0, n.sum(axis=1)
    deviance = np.maximum(2 * (saturated(c, n) - log_likelihood(depths, u, c, n)), 0)
    df = asked.sum(axis=1) - 1
    samples = resampled(u, depths, n, seed, draws).reshape(len(u) * draws, len(depths))
    trials = np.repeat(n, draws, axis=0)
    again = np.minimum(rate(depths, samples, trials, np.repeat(u, draws)), -math.log(LEAST_P))
    off = 2 * (saturated(samples, trials) - log_likelihood(depths, again, samples, trials)).reshape(len(u), draws)
    with np.errstate(divide="ignore", invalid="ignore"):
        pearson = np.where(c == n * fitted, 0, (c - n * fitted) ** 2 / (n * fitted * (1 - fitted))).sum(axis=1)
        y, mean = np.where(asked, c / np.maximum(n, 1), 0), (c.sum(axis=1) / total)[:, None]
        spread = (n * (y - mean) ** 2).sum(axis=1)
        r2 = np.where(spread > 0, 1 - (n * (y - fitted) ** 2).sum(axis=1) / spread, math.nan)
        dispersion = np.where(df > 0, pearson / df, math.nan)
        boot = np.quantile(np.exp(-again).reshape(len(u), draws), [ALPHA / 2, 1 - ALPHA / 2], axis=1)
    low, high = exact_ends(depths, c, n, free)
    p = np.exp(-u)
    empty = total == 0
    numbers = {
        "estimate": p,
        "low": np.minimum(low, p),
        "high": np.maximum(high, p),
        "boot_low": boot[0],
        "boot_high": boot[1],
        "p_free": np.exp(-free),
        "bound": np.select([empty, free >= -math.log(LEAST_P), free == 0], ["", "lower", "upper"], ""),
        "deviance": deviance,
        "df": np.maximum(df, 0),
        "p_value": (1 + (off >= deviance[:, None] - 1e-9).sum(axis=1)) / (1 + draws),
        "dispersion": dispersion,
        "r2": r2,
        "identifiable": (c > 0).sum(axis=1) >= FEWEST_DEPTHS,
        "n": total.astype(int),
        "n_unscored": g.n_unscored,
        "first": np.where(asked, depths, math.inf).min(axis=1, initial=math.inf),
        "last": np.where(asked, depths, -math.inf).max(axis=1, initial=-math.inf),
        "method": np.where(empty, "no data", f"binomial ML, exact interval, {draws} parametric bootstraps"),
    }
    table = g.cells.assign(**numbers)
    table.loc[df < 1, "p_value"] = math.nan  # one depth is always fitted, unless p is at a bound
    nothing = [name for name in numbers if table[name].dtype.kind == "f"]
    table.loc[empty, nothing] = math.nan
    return table


def fit_geometric(
    depths: ArrayLike, correct: ArrayLike, n: ArrayLike, seed: int = 0, draws: int = 2000
) -> GeometricFit:
    """The fit of p^N to the counts of one cell: `correct` of `n` trials at each of `depths` (steps).

    A depth may stand more than once; trials are counts with n = 1. Where `correct` is NaN its n trials are unscored.
    ValueError where counts are not whole, not within 0..n, or a depth is not above 0.
    """
    import pandas as pd

    rows = pd.DataFrame(dict(zip(("depth", "correct", "n"), np.broadcast_arrays(depths, correct, n), strict=True)))
    if rows.empty:
        raise ValueError("fit_geometric: there are no depths")
    row = fit_many(rows, [], seed, draws).iloc[0]
    kinds = {"df": int, "identifiable": bool, "n": int, "n_unscored": int, "bound": str, "method": str}
    values = {name: row["estimate" if name == "p" else name] for name in GeometricFit._fields}
    return GeometricFit(**{name: kinds.get(name, float)(value) for name, value in values.items()})


# ------------------------------------------------------------------------------------------------------------- horizons


def horizon(p: ArrayLike, s: float = 0.5) -> np.ndarray:
    """The depth at which success falls to s: ln s / ln p steps; inf at p = 1 and 0 at p = 0 (paper, section 3)."""
    if not 0 < s < 1:
        raise ValueError(f"horizon: s must lie between 0 and 1, got {s}")
    with np.errstate(divide="ignore"):
        steps = math.log(s) / np.log(np.asarray(p, dtype=float))
    return np.abs(steps)


def horizons(fits: pd.DataFrame, thresholds: Iterable[float] = (0.5,)) -> pd.DataFrame:
    """The horizons of the fits of `fit_many` in steps, one row per cell and threshold s; intervals from those of p.

    `within` is False where the horizon lies outside the depths that were asked, so that it rests on the form alone.
    Columns: those that name the cell, s, estimate, low, high, within, identifiable, n, n_unscored, method.
    """
    import pandas as pd

    names = [name for name in fits.columns if name not in {*GeometricFit._fields, "estimate"}]
    tables = []
    for s in thresholds:
        ends = {name: horizon(fits[name], s) for name in ("estimate", "low", "high")}
        table = fits[names].assign(s=s, **ends)
        table["within"] = table["estimate"].between(fits["first"], fits["last"])
        tables.append(table.join(fits[["identifiable", "n", "n_unscored", "method"]]))
    return pd.concat(tables, ignore_index=True)
