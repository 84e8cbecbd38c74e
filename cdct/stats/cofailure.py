"""Which constraints fail together: phi of each pair of types among probes that have both, given k.

Source: the CSE paper, section 4 and appendix M: phi per model, at one k at a time, then the median over models. Tables
of a pair over several k are put together as Mantel and Haenszel do: deviations from each k's own rates, so that a k at
which everything fails makes no phi.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cdct.stats.association import holm
from cdct.stats.counts import answered, numbered

if TYPE_CHECKING:
    import pandas as pd

K_MIN = 4
"""Below, most pairs come together in one probe or none (paper, appendix M)."""
LEAST = 10
"""A pair that fewer scored replies of a model have in common is left out, and counted."""


class Tables(NamedTuple):
    """Sums over replies that hold both types of a pair, (cells, ks, types, types), the first type along the third axis.

    n: replies; a: passed the first, b: the second, both: both. Only a pair's upper half is meant to be read.
    """

    cells: pd.DataFrame
    ks: np.ndarray
    types: np.ndarray
    n: np.ndarray
    a: np.ndarray
    b: np.ndarray
    both: np.ndarray
    n_unscored: np.ndarray


def tables(checks: pd.DataFrame, by: Sequence[str] = ("model",), types: Sequence[str] | None = None) -> Tables:
    """The two-by-two tables of all pairs of types, for each cell of `by` and each k.

    checks: rows with item, k, constraint and passed (1, 0 or NaN: not counted), and sample and turn where there are
    several. `types`: names in the order wanted; all that there are, sorted, when None. Of two checks of one type in a
    reply the reply's table has one, passed if both are.
    """
    checks = answered(checks, by, "tables")
    cells, cell = numbered(checks, by)
    names = checks["constraint"].to_numpy(dtype=object).astype(str)
    types = np.unique(names) if types is None else np.asarray(list(types))
    known = np.isin(names, types) & checks["passed"].notna().to_numpy()
    order = np.argsort(types, kind="stable")
    at = order[np.searchsorted(types, names[known], sorter=order).clip(0, len(types) - 1)]
    reply = [name for name in ("item", "sample", "turn") if name in checks]
    keys = checks.loc[known, reply].assign(cell=cell[known])
    row = keys.groupby([*reply, "cell"], sort=False, observed=True).ngroup().to_numpy()
    ks, size = np.unique(checks["k"].to_numpy(dtype=float)[known], return_inverse=True)
    n_rows = int(row.max(initial=-1)) + 1
    has, ok = np.zeros((2, n_rows, len(types)), dtype=np.float32)
    has[row, at] = 1
    ok[row, at] = 1
    failed = checks["passed"].to_numpy(dtype=float)[known] == 0
    ok[row[failed], at[failed]] = 0
    place = np.zeros(n_rows, dtype=int)
    place[row] = cell[known] * max(len(ks), 1) + size
    shape = (len(cells), len(ks), len(types), len(types))
    n, a, both = np.zeros((3, len(cells) * len(ks), len(types), len(types)))
    for number in np.unique(place):
        some = place == number
        h, p = has[some], ok[some]
        n[number], a[number], both[number] = h.T @ h, p.T @ h, p.T @ p
    unscored = np.bincount(cell[checks["passed"].isna().to_numpy()], minlength=len(cells))
    n, a, both = (part.reshape(shape) for part in (n, a, both))
    return Tables(cells.reset_index(drop=True), ks, types, n, a, a.transpose(0, 1, 3, 2), both, unscored)


class Phi(NamedTuple):
    """phi of each pair, its interval, and the p of none; arrays of one shape. n: replies, ks: at how many k."""

    estimate: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    n: np.ndarray
    ks: np.ndarray


def phi(n: np.ndarray, a: np.ndarray, b: np.ndarray, both: np.ndarray, least: int = LEAST) -> Phi:
    """phi given k from tables whose first axis are the k; NaN where fewer than `least` replies or no variation.

    phi = sum_k cov_k / sqrt(sum_k var_k(a) sum_k var_k(b)), with sums of squares and products of the deviations from
    the pair's own rates at each k; with one k it is the usual phi. Interval: Student's t in Fisher's z, its variance to
    first order from the pair's four kinds of replies at each k, but not below 1 / (n - K), that of two independent
    types, K the number of k. p: two-sided, of the Mantel-Haenszel statistic, whose variance is exact when all rates are
    given.
    """
    from scipy import stats

    some = np.maximum(n, 1)
    pa, pb = a / some, b / some
    cov, va, vb = both - a * pb, a * (1 - pa), b * (1 - pb)
    varied = (va > 0) & (vb > 0)
    total, replies = n.sum(axis=0), varied.sum(axis=0)
    down = np.sqrt(va.sum(axis=0) * vb.sum(axis=0))
    known = (total >= least) & (down > 0) & (replies > 0)
    down = np.where(known, down, 1)
    r = np.where(known, np.clip(cov.sum(axis=0) / down, -1, 1), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        given = (a * (n - a) * b * (n - b) / (some**2 * np.maximum(n - 1, 1))).sum(axis=0)
        z = cov.sum(axis=0) / np.sqrt(given)
        p = np.where(known & (given > 0), 2 * stats.norm.sf(np.abs(z)), np.nan)
        sa, sb = (np.sqrt(np.where(known, part.sum(axis=0), 1)) for part in (va, vb))
        spread = np.zeros(r.shape)
        for x in (0, 1):
            for y in (0, 1):
                count = np.abs(n - a - b + both if x == y == 0 else both if x == y == 1 else (a if x else b) - both)
                da, db = (x - pa) / sa, (y - pb) / sb
                spread += (count * (da * db - r * (da * da + db * db) / 2) ** 2).sum(axis=0)
        freedom = np.maximum(total - (n > 0).sum(axis=0), 1)
        corrected = total / freedom
        width = np.maximum(spread * corrected / np.maximum(1 - r * r, 1e-12) ** 2, 1 / freedom)
        half = stats.t.ppf(0.975, freedom) * np.sqrt(width)
        middle = np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12))
        low, high = np.tanh(middle - half), np.tanh(middle + half)
    edge = np.abs(r) > 1 - 1e-9
    low, high = np.where(edge, np.nan, low), np.where(edge, np.nan, high)
    return Phi(r, low, high, p, total, (n > 0).sum(axis=0))


# -------------------------------------------------------------------------------------------------------------- frames


def pairs_of(found: Tables, least: int = LEAST) -> Phi:
    """phi given k of each cell and pair, (cells, pairs), pairs in the order of the upper triangle of the types."""
    first, second = np.triu_indices(len(found.types), 1)
    upper = (part[:, :, first, second].swapaxes(0, 1) for part in (found.n, found.a, found.b, found.both))
    return phi(*upper, least)


def phi_rows(
    checks: pd.DataFrame, by: Sequence[str] = ("model",), k_min: int = K_MIN, least: int = LEAST
) -> pd.DataFrame:
    """phi of each pair of constraint types, given k, in each cell of `by`, a row for each cell and pair.

    checks: as in `tables`; those of k below `k_min` are left out. With k in `by`, phi of each k by itself. Columns:
    `by`, a, b (types), estimate, low, high, p (see `phi`), p_holm and p_fdr (Holm's, and that of Benjamini and
    Hochberg, over the pairs of a cell), n (replies that hold both), n_unscored (checks of the cell), method. Pairs that
    never come together have no row; one with fewer than `least` replies in common, or that does not vary, has NaN.
    """
    import pandas as pd

    found = tables(checks[checks["k"] >= k_min], by)
    numbers = pairs_of(found, least)
    first, second = np.triu_indices(len(found.types), 1)
    cell, pair = np.nonzero(numbers.n)
    told = np.where(numbers.n < least, f"fewer than {least} replies in common", "no variation")
    columns = {
        "a": found.types[first[pair]],
        "b": found.types[second[pair]],
        **{name: getattr(numbers, name)[cell, pair] for name in ("estimate", "low", "high", "p")},
        "p_holm": _by_cell(numbers.p, holm)[cell, pair],
        "p_fdr": _by_cell(numbers.p, false_discovery)[cell, pair],
        "n": numbers.n[cell, pair].astype(int),
        "n_unscored": found.n_unscored[cell],
        "method": np.where(np.isnan(numbers.estimate), told, "phi given k, Fisher z")[cell, pair],
    }
    return pd.concat([found.cells.iloc[cell].reset_index(drop=True), pd.DataFrame(columns)], axis=1)


def _by_cell(p: np.ndarray, adjust: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    return np.stack([adjust(row) for row in p]) if len(p) else p


def false_discovery(p_values: np.ndarray) -> np.ndarray:
    """Benjamini and Hochberg's adjusted p values; NaN stays NaN and does not count as a test."""
    from scipy import stats

    out, known = np.full(len(p_values), np.nan), ~np.isnan(p_values)
    if known.any():
        out[known] = stats.false_discovery_control(p_values[known])
    return out


def median_rows(rows: pd.DataFrame, over: str = "model", fewest: int = 1) -> pd.DataFrame:
    """The median over models of the phi of each pair; rows of `phi_rows` by model.

    Columns: a, b, estimate, low, high, p, p_holm, p_fdr, n (models with a phi), n_left_out (models without), positive
    (how many are above 0), method. The interval lies between two of the models' phi, so that it holds the median of a
    population of models at least 95 times in 100 (it needs six); p is that of the sign test. Models that answer the
    same probes are less independent than both take them to be. Pairs with fewer than `fewest` models have no row.
    """
    import pandas as pd
    from scipy import stats

    out = []
    for (a, b), part in rows.groupby(["a", "b"], sort=True):
        values = np.sort(part["estimate"].dropna().to_numpy())
        m = len(values)
        if m < max(fewest, 1):
            continue
        depth = int(stats.binom.ppf(0.025, m, 0.5))  # the interval leaves out so many models at each end
        row = {"a": a, "b": b, "estimate": float(np.median(values)), "n": m, "n_left_out": len(part) - m}
        if depth > 0:
            row |= {"low": values[depth - 1], "high": values[m - depth]}
        signs = values[values != 0]
        positive = int((values > 0).sum())
        row |= {"positive": positive, "method": f"median over {over}s, order statistics and sign test"}
        out.append(row | {"p": stats.binomtest(positive, len(signs)).pvalue if len(signs) > 1 else np.nan})
    columns = ["a", "b", "estimate", "low", "high", "p", "p_holm", "p_fdr", "n", "n_left_out", "positive", "method"]
    table = pd.DataFrame(out, columns=columns)
    p = table["p"].to_numpy(dtype=float)
    return table.assign(p_holm=holm(p), p_fdr=false_discovery(p))
