"""Replies to probes of size k as counts per probe, and the curves of rates over k that they make, with their noise.

A probe is an item: k checks that one reply has to pass together. Checks of a reply are alike, and so are samples of one
item, so that the item is the unit of all noise here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

PRINTED = "estimate"
"""The column of a table of curves, which has rates and no counts."""


def answered(rows: pd.DataFrame, by: Sequence[str], who: str, average: str | None = None) -> pd.DataFrame:
    """The rows of last turns. ValueError where a cell of `by` mixes arms, kinds, or models that are not averaged."""
    for name in ("arm", "kind", "model"):
        if name in rows and name not in by and name != average and len(rows[name].unique()) > 1:
            mixed = ", ".join(map(repr, rows[name].unique()[:5]))
            more = ", or average over it" if name == "model" else ""
            raise ValueError(f"{who}: the rows mix the {name}s {mixed}; add {name!r} to `by`, take one{more}")
    return rows[rows["last"].astype(bool)] if "last" in rows else rows


def numbered(rows: pd.DataFrame, by: Sequence[str]) -> tuple[pd.DataFrame, np.ndarray]:
    """The cells of `by` in the order in which they come, and the number of each row's."""
    if not by:
        return rows.head(1)[[]].reset_index(drop=True), np.zeros(len(rows), dtype=int)
    groups = rows.groupby(list(by), sort=False, observed=True, dropna=False)
    return rows[list(by)].drop_duplicates(ignore_index=True), groups.ngroup().to_numpy()


def binomial_ends(successes: float, trials: float, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of Clopper and Pearson for a share; the numbers need not be whole (Korn and Graubard, 1998)."""
    from scipy import special

    tail = (1 - confidence) / 2
    low = float(special.betaincinv(successes, trials - successes + 1, tail)) if successes > 0 else 0.0
    high = float(special.betaincinv(successes + 1, trials - successes, 1 - tail)) if successes < trials else 1.0
    return low, high


class Counts(NamedTuple):
    """What was passed, one entry per item of a cell and size: `cell` and `size` are places in `cells` and `ks`.

    passed and n: sums over the scored rows of that item (checks, or replies); n_unscored: a cell's rows without a
    value. Items are numbered alike in all cells.
    """

    cells: pd.DataFrame
    ks: np.ndarray
    cell: np.ndarray
    size: np.ndarray
    item: np.ndarray
    passed: np.ndarray
    n: np.ndarray
    n_unscored: np.ndarray

    def sums(self, values: np.ndarray) -> np.ndarray:
        """The sums of a value of each entry, (cells, sizes)."""
        shape = len(self.cells), len(self.ks)
        return np.bincount(self.cell * shape[1] + self.size, values, shape[0] * shape[1]).reshape(shape)


def counts(rows: pd.DataFrame, by: Sequence[str], value: str) -> Counts:
    """The counts of a column of 1, 0 and NaN (not scored) in rows with `item` and `k`, for each cell of `by`.

    ValueError for another value.
    """
    import pandas as pd

    numbers = pd.to_numeric(rows[value]).astype(float)
    wrong = ~(numbers.isna() | numbers.isin((0.0, 1.0)))
    if wrong.any():
        raise ValueError(f"counts: {value} must be 1, 0 or NaN, got {numbers[wrong].iloc[0]:g}")
    cells, cell = numbered(rows, by)
    ks, size = np.unique(rows["k"].to_numpy(dtype=float), return_inverse=True)
    items, item = np.unique(rows["item"].to_numpy(dtype=object).astype(str), return_inverse=True)
    known = numbers.notna().to_numpy()
    entries, where = np.unique(((cell * len(ks) + size) * len(items) + item)[known], return_inverse=True)
    places, item = np.divmod(entries, max(len(items), 1))
    of_cell, of_size = np.divmod(places, max(len(ks), 1))
    passed = np.bincount(where, numbers.to_numpy()[known], len(entries))
    n = np.bincount(where, minlength=len(entries)).astype(float)
    return Counts(cells, ks, of_cell, of_size, item, passed, n, np.bincount(cell[~known], minlength=len(cells)))


# -------------------------------------------------------------------------------------------------------------- curves


class Curves(NamedTuple):
    """Rates over k per cell, (cells, sizes), NaN where nothing was scored, and how uncertain they are.

    covariance: (cells, sizes, sizes), NaN where it can't be told; freedom: degrees of freedom, (cells, sizes) where the
    rates are independent, (cells, 1) where all share them; n: what was averaged, probes or models, (cells, sizes).
    """

    cells: pd.DataFrame
    ks: np.ndarray
    rates: np.ndarray
    covariance: np.ndarray
    freedom: np.ndarray
    n: np.ndarray
    n_unscored: np.ndarray
    unit: str

    def ends(self, value: np.ndarray, slopes: np.ndarray, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """The ends of Student's t interval of a number of each cell that moves with its rates by `slopes`.

        To first order in the rates, with Satterthwaite's degrees of freedom. NaN where the noise can't be told.
        """
        from scipy import stats

        slopes = np.where(np.isnan(self.rates), 0, slopes)
        covariance = np.where((slopes[:, :, None] * slopes[:, None, :]) == 0, 0, self.covariance)
        variance = np.einsum("ci,cij,cj->c", slopes, covariance, slopes)
        freedom = self.freedom[:, 0]
        if self.freedom.shape[1] == len(self.ks) > 1:
            parts = slopes**2 * np.einsum("cii->ci", covariance)
            with np.errstate(divide="ignore", invalid="ignore"):
                freedom = variance**2 / (parts**2 / self.freedom).sum(axis=1)
        with np.errstate(invalid="ignore"):
            half = stats.t.ppf((1 + confidence) / 2, freedom) * np.sqrt(variance)
        return value - half, value + half

    def noise(self, cell: int, rng: np.random.Generator, draws: int, student: bool = False) -> np.ndarray:
        """Normal noise of one cell's rates, (draws, sizes); 0 where there is no rate. `student`: t, as its variance is
        itself uncertain."""
        there = ~np.isnan(self.rates[cell])
        values, axes = np.linalg.eigh(self.covariance[cell][np.ix_(there, there)])
        out = np.zeros((draws, len(self.ks)))
        out[:, there] = rng.normal(size=(draws, len(values))) * np.sqrt(np.maximum(values, 0)) @ axes.T
        if student:
            out /= np.sqrt(rng.chisquare(self.freedom[cell], (draws, self.freedom.shape[1])) / self.freedom[cell])
        return out


def curves(
    rows: pd.DataFrame, by: Sequence[str], value: str, average: str | None = None, who: str = "curves"
) -> Curves:
    """The rates of a value over k for each cell of `by`, or their plain means over what `average` names.

    rows: checks or probes with k, item and a value of 1, 0 or NaN, or a table with k and rates in a column `estimate`.
    The variance of a rate is that between its items, but never below that of independent checks with the chance
    (passed + 1) / (n + 2): a few items that happen to agree are not certainty. A table gives none. The covariance of
    means is that between what was averaged; where it shares items, with what these add at each k. Means are taken at
    those k that all of it has. ValueError where cells would mix arms or models.
    """
    rows = answered(rows, by, who, average)
    cell_of = [*by, average] if average else by
    single = _printed(rows, cell_of, who) if value == PRINTED else _counted(counts(rows, cell_of, value))
    if not average:
        return single
    shared = None if value == PRINTED else counts(rows, by, value)
    return _averaged(single, by, shared)


def _printed(rows: pd.DataFrame, by: Sequence[str], who: str) -> Curves:
    twice = rows.duplicated([*by, "k"])
    if twice.any():
        raise ValueError(f"{who}: k = {rows.loc[twice, 'k'].iloc[0]:g} comes twice in a cell of {[*by]}")
    cells, cell = numbered(rows, by)
    ks, size = np.unique(rows["k"].to_numpy(dtype=float), return_inverse=True)
    rates = np.full((len(cells), len(ks)), np.nan)
    rates[cell, size] = rows[PRINTED]
    missing = np.bincount(cell, rows[PRINTED].isna(), len(cells)).astype(int)
    unknown = np.full((*rates.shape, len(ks)), np.nan)
    return Curves(cells, ks, rates, unknown, np.ones(rates.shape), 1 - np.isnan(rates), missing, "no counts")


def _counted(found: Counts) -> Curves:
    n, probes = found.sums(found.n), found.sums(np.ones(len(found.n)))
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = found.sums(found.passed) / n
        off = (found.passed - found.n * rates[found.cell, found.size]) / n[found.cell, found.size]
        spread = np.where(probes > 1, probes / (probes - 1), 0) * found.sums(off**2)
        chance = (found.sums(found.passed) + 1) / (n + 2)
        variance = np.maximum(spread, chance * (1 - chance) / n)
    covariance = variance[:, :, None] * np.eye(len(found.ks))
    freedom = np.maximum(probes - 1, 1)
    return Curves(found.cells, found.ks, rates, covariance, freedom, probes.astype(int), found.n_unscored, "probes")


def _averaged(single: Curves, by: Sequence[str], shared: Counts | None) -> Curves:
    """The means over the cells of `single` that agree in `by`."""
    cells, cell = numbered(single.cells, by)
    shape = len(cells), len(single.ks)
    rates, covariance = np.full(shape, np.nan), np.full((*shape, shape[1]), np.nan)
    freedom, n = np.ones((shape[0], 1)), np.zeros(shape, dtype=int)
    for number in range(len(cells)):
        these = single.rates[cell == number]
        whole = ~np.isnan(these).any(axis=0)
        rates[number, whole], n[number, whole] = these[:, whole].mean(axis=0), len(these)
        if len(these) > 1:
            covariance[np.ix_([number], whole, whole)] = np.cov(these[:, whole], rowvar=False, ddof=1) / len(these)
            freedom[number] = len(these) - 1
    if shared is not None:  # what items that several have in common add
        pooled = _counted(shared)
        alone = np.einsum("cii->ci", single.covariance)
        for number in range(len(cells)):
            of_models = np.nan_to_num(alone[cell == number]).sum(axis=0) / n[number].clip(1) ** 2
            more = np.maximum(np.einsum("ii->i", pooled.covariance[number]) - of_models, 0)
            covariance[number] += np.diag(np.nan_to_num(more))
    missing = np.bincount(cell, single.n_unscored, len(cells)).astype(int)
    return Curves(cells, single.ks, rates, covariance, freedom, n, missing, "models")
