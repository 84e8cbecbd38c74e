"""The Rasch (1PL) model of subjects and probes: abilities by conditional maximum likelihood, and difficulties.

A subject m passes probe i with logit theta_m - b_i. Given how many subjects pass a probe, its difficulty drops out of
the likelihood, which leaves a conditional logit of the abilities: with few subjects and many probes these are found
without bias, which joint estimation does not do. Sources: Rasch, 1960; Andersen, Asymptotic Properties of Conditional
Maximum-Likelihood Estimators, 1970; when there is a maximum: Fischer, On the Existence and Uniqueness of
Maximum-Likelihood Estimates in the Rasch Model, 1981.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cdct.stats.counts import answered

if TYPE_CHECKING:
    import pandas as pd

NOTE = (
    "Where all subjects answered the same probes, the order of the abilities is that of the raw scores, whatever the "
    "data: the raw score is all that the model reads of a subject. That the two orders agree validates nothing."
)


class Abilities(NamedTuple):
    """theta (mean 0), its covariance (clustered by probe), and whether a maximum exists; NaN where it does not."""

    theta: np.ndarray
    covariance: np.ndarray
    exists: bool


def conditional(passed: np.ndarray, steps: int = 100) -> Abilities:
    """The abilities of subjects from passed (subjects, probes): 1, 0 or NaN where a subject was not scored.

    The covariance is the sandwich over probes, so that it holds too where a probe's difficulty is not all that its
    replies have in common. There is no maximum where the subjects fall into two groups of which one never fails a probe
    that the other passes.
    """
    x = np.asarray(passed, dtype=float)
    x = x[:, _informative(x)]
    known, totals = ~np.isnan(x), np.nansum(x, axis=0).astype(int)
    m, n = x.shape
    if m < 2 or not _connected(x):
        return Abilities(np.full(m, np.nan), np.full((m, m), np.nan), False)
    x = np.nan_to_num(x)
    # probes that were scored for the same subjects, and passed by as many, have the same expectations
    kinds, which = np.unique(np.vstack([known, totals]).T, axis=0, return_inverse=True)
    which, times = which.ravel(), np.bincount(which.ravel())
    theta = np.zeros(m)
    for _ in range(steps):
        mean, spread = _expected(theta, kinds, times)
        score = x.sum(axis=1) - mean @ times
        # any constant can be added to theta: a ridge along it picks the mean 0
        step = np.linalg.solve(spread + np.ones((m, m)) / m, score)
        theta = theta + step * min(1.0, 2 / np.abs(step).max(initial=1e-300))
        if np.abs(step).max() < 1e-9:
            break
    theta = theta - theta.mean()
    mean, spread = _expected(theta, kinds, times)
    centred = np.eye(m) - 1 / m
    bread = centred @ np.linalg.inv(spread + np.ones((m, m)) / m) @ centred
    off = x - mean[:, which]
    meat = off @ off.T * n / max(n - m + 1, 1)
    return Abilities(theta, bread @ meat @ bread, True)


def _connected(x: np.ndarray) -> bool:
    """Whether each subject passes, by way of others, a probe that each other one fails."""
    from scipy.sparse.csgraph import connected_components

    beats = (np.nan_to_num(x) @ (x == 0).T) > 0
    return connected_components(beats, directed=True, connection="strong")[0] == 1


def _expected(theta: np.ndarray, kinds: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The expected answers given each kind of probe, (subjects, kinds), and their summed covariance.

    By elementary symmetric functions of exp(theta): g[r] sums the products of all sets of r subjects, and that a set
    of `total` subjects passes is as likely as its product.
    """
    m, at, totals = len(theta), np.arange(len(kinds)), kinds[:, -1]
    e = np.exp(theta - theta.mean()) * kinds[:, :-1]  # one who was not scored is in no set
    g = _symmetric(e)[at, totals]
    mean, pairs = np.zeros((m, len(kinds))), np.zeros((m, m))
    for one in range(m):
        mean[one] = e[:, one] * _symmetric(np.delete(e, one, axis=1))[at, totals - 1] / g
        for two in range(one + 1, m):
            rest = np.hstack([np.zeros((len(e), 1)), _symmetric(np.delete(e, [one, two], axis=1))])
            pairs[one, two] = pairs[two, one] = (e[:, one] * e[:, two] * rest[at, totals - 1] / g) @ times
    weighted = mean * times
    pairs[np.diag_indices(m)] = weighted.sum(axis=1)
    return mean, pairs - weighted @ mean.T


def _symmetric(e: np.ndarray) -> np.ndarray:
    """The elementary symmetric functions of orders 0 to columns of each row."""
    g = np.zeros((len(e), e.shape[1] + 1))
    g[:, 0] = 1
    for place in range(e.shape[1]):
        g[:, 1 : place + 2] += e[:, place, None] * g[:, : place + 1]
    return g


def difficulties(theta: np.ndarray, passed: np.ndarray) -> np.ndarray:
    """The b of each probe at which as many subjects are expected to pass as did; inf or -inf where none or all did."""
    x = np.asarray(passed, dtype=float)
    known, totals = ~np.isnan(x), np.nansum(x, axis=0)
    low, high = np.full(x.shape[1], theta.min() - 40.0), np.full(x.shape[1], theta.max() + 40.0)
    for _ in range(60):
        b = (low + high) / 2
        more = (known / (1 + np.exp(-(theta[:, None] - b)))).sum(axis=0) > totals
        low, high = np.where(more, b, low), np.where(more, high, b)
    n = known.sum(axis=0)
    return np.select([n == 0, totals == 0, totals == n], [math.nan, math.inf, -math.inf], (low + high) / 2)


def ability_rows(probes: pd.DataFrame, value: str = "passed_all", subject: str = "model") -> pd.DataFrame:
    """The ability of each subject, in logits around a mean of 0, best first.

    probes: one row for each subject and item, with item and `value` (1, 0 or NaN). Columns: `subject`, estimate, low,
    high (t, clustered by probe), score (share passed of the informative probes), n (informative probes scored: passed
    by some and failed by others), n_left_out (scored probes that all passed or all failed), n_unscored, method.

    A subject that passes none of the informative probes has -inf, one that passes all inf, and the others are fitted
    without it. NaN where no maximum exists. See `NOTE`. ValueError where an item comes more than once for a subject.
    """
    import pandas as pd
    from scipy import stats

    probes = answered(probes, [subject], "ability_rows")
    if probes.duplicated([subject, "item"]).any():
        again = probes.loc[probes.duplicated([subject, "item"]), [subject, "item"]].iloc[0].tolist()
        raise ValueError(f"ability_rows: {again[0]!r} has {again[1]!r} more than once; take one sample")
    wide = probes.pivot_table(index=subject, columns="item", values=value, dropna=False).astype(float)
    x, kept = wide.to_numpy(), np.ones(len(wide), dtype=bool)
    theta, half = np.full(len(wide), np.nan), np.full(len(wide), np.nan)
    while True:
        informative = _informative(x[kept])
        n, scored = (~np.isnan(x[:, informative])).sum(axis=1), (~np.isnan(x)).sum(axis=1)
        score = np.divide(np.nansum(x[:, informative], axis=1), n, out=np.full(len(x), np.nan), where=n > 0)
        extreme = kept & ((score == 0) | (score == 1))
        if kept.sum() < 2 or not extreme.any():
            break
        theta[extreme] = np.where(score[extreme] == 0, -math.inf, math.inf)
        kept = kept & ~extreme
    found = conditional(x[kept])
    theta[kept] = found.theta
    freedom = max(int(informative.sum()) - int(kept.sum()), 1)
    half[kept] = np.sqrt(np.diag(found.covariance)) * float(stats.t.ppf(0.975, freedom))
    none = "no maximum: some never fail what the others pass" if kept.sum() > 1 else "fewer than two to compare"
    ends = np.where(theta > 0, "never failed", "never passed")
    table = pd.DataFrame(
        {
            subject: wide.index,
            "estimate": theta,
            "low": np.where(np.isinf(theta), np.nan, theta - half),
            "high": np.where(np.isinf(theta), np.nan, theta + half),
            "score": score,
            "n": n,
            "n_left_out": scored - n,
            "n_unscored": probes[value].isna().groupby(probes[subject]).sum().reindex(wide.index).to_numpy(),
            "method": np.where(np.isinf(theta), ends, "conditional ML, clustered by probe" if found.exists else none),
        }
    )
    return table.sort_values(["estimate", "score"], ascending=False, kind="stable", ignore_index=True)


def _informative(x: np.ndarray) -> np.ndarray:
    """Which probes some subject passed and another failed."""
    totals = np.nansum(x, axis=0)
    return (totals > 0) & (totals < (~np.isnan(x)).sum(axis=0))
