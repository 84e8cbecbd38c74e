"""Means of what lies between 0 and 1, of checks and of probes, with intervals that mind probes and models.

Checks of one reply fail together, and all models answer the same probes: clusters are the items and, where models are
averaged, the models too. Source of the interval: Korn and Graubard, Confidence Intervals for Proportions with Small
Expected Number of Positive Counts, 1998, here for any mean of values in 0-1, whose variance is at most p(1-p).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cdct.stats import resample
from cdct.stats.association import count, mean_se, mean_two_way
from cdct.stats.resample import NOTHING, Estimate

if TYPE_CHECKING:
    import pandas as pd

FEW = 5
"""An estimate that rests on fewer probes is marked as one of a small cell."""
NEVER_MIXED = {"arm": "arms", "kind": "kinds of probes"}
"""What is never averaged: prompts differ, and an impossible probe can't be passed."""


def final(rows: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """The rows of replies that count (last turns). ValueError where a cell of `by` would mix arms, or kinds of probes.

    rows: a checks or a probes frame (`cdct.saturation.score`).
    """
    for name, told in NEVER_MIXED.items():
        found = rows[name].unique()
        if name not in by and len(found) > 1:
            raise ValueError(
                f"the rows mix the {told} {', '.join(map(repr, found))}, which can't be averaged; "
                f"add {name!r} to `by`, or take one"
            )
    return rows[rows["last"].astype(bool)] if "last" in rows else rows


def cells(rows: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The cells of `by` with their names, one cell without a name where `by` is empty."""
    if not by:
        if len(rows):
            yield {}, rows
        return
    for names, cell in rows.groupby(list(by), sort=True, observed=True):
        yield dict(zip(by, names, strict=True)), cell


def bounded_mean(values: ArrayLike, items: ArrayLike, models: ArrayLike) -> Estimate:
    """The mean of values in 0-1, its interval clustered by item and, where there are several models, by model as well.

    Of one model it is that of `cell_means`. Of several, values that are 0 or 1 alone are a share
    (`association.mean_two_way`), others have the interval of `cell_means` with the two-way standard error and t of one
    degree of freedom less than there are models, or items if these are fewer.
    """
    x = np.asarray(values, dtype=float)
    if len(x) == 0:
        return NOTHING
    numbered, g_models = np.unique(np.asarray(items), return_inverse=True)[1], count(models)
    if g_models == 1:
        found = cell_means(x, np.zeros(len(x), dtype=int), numbered, 1)
        return Estimate(*map(float, (found.mean[0], found.low[0], found.high[0])), len(x), found.methods()[0])
    if np.isin(x, (0.0, 1.0)).all():
        return mean_two_way(x, items, models, (0.0, 1.0))
    # with one item nothing is known of others: only the spread of the models is
    se, g = mean_se(x, items, models) if numbered.max() else mean_se(x, models)
    if se <= 1e-12:
        return resample.mean_with(x, se, g, (0.0, 1.0))
    low, high, trials = (float(one) for one in _beta_ends(x.mean(), se**2, g))
    told = f"beta, {trials:.3g} effective values, {numbered.max() + 1} probes x {g_models} models"
    return Estimate(float(x.mean()), low, high, len(x), told)


def _beta_ends(p: Any, variance: Any, g: Any) -> tuple[Any, Any, Any]:
    """The ends for a mean with this variance, over g clusters, and the trials of a share with the same."""
    from scipy import special, stats

    wider = stats.t.ppf(0.975, g - 1) / stats.norm.ppf(0.975)
    trials = p * (1 - p) / (wider**2 * variance)
    low = special.betaincinv(p * trials, trials - p * trials + 1, 0.025)
    return low, special.betaincinv(p * trials + 1, trials - p * trials, 0.975), trials


class CellMeans(NamedTuple):
    """The mean of each cell with the ends of its interval, the number of values and of items, and how it was made.

    kind: 0 no data, 1 exact binomial, 2 binomial, 3 beta, 4 exact bound; trials: the effective number of values.
    """

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: np.ndarray
    items: np.ndarray
    kind: np.ndarray
    trials: np.ndarray

    def methods(self) -> list[str]:
        """The method of each cell in words."""
        told = []
        for kind, trials, items in zip(self.kind, self.trials, self.items, strict=True):
            probes = f"{items:.0f} probe" + ("s" if items != 1 else "")
            name = f"{'beta' if kind == 3 else 'binomial'}, {trials:.3g} effective values, {probes}"
            told.append(["no data", "exact binomial", name, name, f"exact bound, no spread, {probes}"][int(kind)])
        return told


def cell_means(values: np.ndarray, cell: np.ndarray, item: np.ndarray, number: int) -> CellMeans:
    """The mean of values in 0-1 in each of `number` cells, with intervals that are clustered by item.

    cell, item: whole numbers from 0 on. What varies are the items, whatever the models. Where all values are 0 or 1 and
    each is its own item, the interval is exact binomial. Other values of 0 and 1 are a share of an effective number of
    trials, as in `resample.mean`. All others have the interval of a share of as many trials as give the same standard
    error, p(1-p) / se^2, widened by Student's t with G-1 degrees of freedom. Where items do not differ, or there is one
    alone, at most 1 - .025^(1/G) of the items can be unlike what was seen.

    Four to 40 probes of one to eight checks, scores and gaps that often lie at a bound: it held the truth 93 to 100
    times in 100 (Student's t, cut at the bounds: 87 to 100).
    """
    from scipy import special, stats

    pairs, at = np.unique(cell * (item.max(initial=0) + 1) + item, return_inverse=True)
    of_pair = pairs // (item.max(initial=0) + 1)
    sums, sizes = np.bincount(at, values, len(pairs)), np.bincount(at, minlength=len(pairs))
    n, g = np.bincount(cell, minlength=number).astype(float), np.bincount(of_pair, minlength=number).astype(float)
    between = np.bincount(cell, (values != 0) & (values != 1), number) > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.bincount(cell, values, number) / n
        variance = g / (g - 1) * np.bincount(of_pair, (sums - sizes * p[of_pair]) ** 2, number) / n**2
        wider = stats.t.ppf(0.975, g - 1) / stats.t.ppf(0.975, n - 1)
        trials = np.where(g == n, n, np.minimum(n, p * (1 - p) / (wider**2 * variance)))
        low = np.where(p > 0, special.betaincinv(p * trials, trials - p * trials + 1, 0.025), 0.0)
        high = np.where(p < 1, special.betaincinv(p * trials + 1, trials - p * trials, 0.975), 1.0)
        beta = _beta_ends(p, variance, g)
        low, high, trials = (np.where(between, *pair) for pair in zip(beta, (low, high, trials), strict=True))
        alike = ((g < n) | between) & ~(variance > 1e-24)
        other = 1 - 0.025 ** (1 / g)
        low, high = np.where(alike, p - other * p, low), np.where(alike, p + other * (1 - p), high)
    low, high = np.where(n > 0, np.where(low < 1e-12, 0.0, low), math.nan), np.where(n > 0, high, math.nan)
    kind = np.select([n == 0, alike, between, g < n], [0, 4, 3, 2], 1)
    return CellMeans(p, low, high, n, g, kind, trials)


RATE_COLUMNS = ["estimate", "low", "high", "n", "n_unscored", "n_probes", "few", "estimate_all", "method"]


def rate_table(rows: pd.DataFrame, by: Sequence[str], column: str) -> pd.DataFrame:
    """The mean of a column of values in 0-1, NaN where not scored, in each cell of `by`: `by` and `RATE_COLUMNS`.

    estimate, low, high, n, n_unscored, n_probes (items with a scored value), few (fewer than `FEW` of them),
    estimate_all (each unscored one as 0), method. rows: `by`, item, model and the column.
    """
    import pandas as pd

    code = rows.groupby(list(by), observed=True).ngroup().to_numpy() if by else np.zeros(len(rows), dtype=int)
    rows, code = rows[code >= 0], code[code >= 0]
    place, first = np.unique(code, return_index=True)
    number = len(place)
    values = rows[column].to_numpy(dtype=float)
    known = ~np.isnan(values)
    items, models = (rows[name].factorize()[0] for name in ("item", "model"))
    found = cell_means(values[known], code[known], items[known], number)
    names = rows.iloc[first][list(by)].reset_index(drop=True)
    every = np.bincount(code, minlength=number)
    table = names.assign(estimate=found.mean, low=found.low, high=found.high, n=found.n.astype(int))
    table["n_unscored"] = every - found.n.astype(int)
    table["n_probes"] = found.items.astype(int)
    table["few"] = found.items < FEW
    table["estimate_all"] = np.bincount(code[known], values[known], number) / np.maximum(every, 1)
    table["method"] = pd.Series(found.methods(), dtype=object)
    pairs = np.unique(code[known] * (models.max(initial=0) + 1) + models[known]) // (models.max(initial=0) + 1)
    for one in np.flatnonzero(np.bincount(pairs, minlength=number) > 1):
        inside = known & (code == one)
        again = bounded_mean(values[inside], items[inside], models[inside])
        table.loc[one, ["low", "high", "method"]] = [again.low, again.high, again.method]
    return table[[*by, *RATE_COLUMNS]]


def rate_row(values: pd.Series, cell: pd.DataFrame) -> dict[str, Any]:
    """The columns of `rate_table` for one cell: values of the rows of `cell`, which has item and model."""
    if not len(cell):
        nothing = dict.fromkeys(RATE_COLUMNS, math.nan) | {"n": 0, "n_unscored": 0, "n_probes": 0, "few": True}
        return nothing | {"method": "no data"}
    return rate_table(cell[["item", "model"]].assign(value=values), [], "value").iloc[0].to_dict()
