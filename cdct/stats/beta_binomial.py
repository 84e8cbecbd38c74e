"""Counts of successes whose chance differs from case to case: the beta-binomial model, its overdispersion and its test.

A case is n trials with one chance p, and p has a beta distribution over cases with mean pi and intraclass correlation
rho: 0 where all cases are alike (binomial), 1 where each is all or nothing. With theta = rho / (1 - rho) the
log-likelihood is sum_j S_j ln(pi + j theta) + F_j ln(1 - pi + j theta) - N_j ln(1 + j theta), where S_j, F_j and N_j
count the cases with more than j successes, failures and trials. Source: Griffiths, Maximum Likelihood Estimation for
the Beta-Binomial Distribution, 1973.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

MOST = 1 - 1e-6
GRID = np.concatenate([[0.0], np.geomspace(1e-4, 0.3, 24), np.linspace(0.35, 0.95, 13), [0.99, MOST]])


class BetaBinomial(NamedTuple):
    """rho with its 95 % interval and the p of rho = 0, (groups,); the mean pi, (cells,), and the group of each cell."""

    rho: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    pi: np.ndarray
    group: np.ndarray


def fit_beta_binomial(
    successes: ArrayLike, trials: ArrayLike, cell: ArrayLike | None = None, group: ArrayLike | None = None
) -> BetaBinomial:
    """Maximum likelihood; each cell has its own mean, and the cells of a group share one rho.

    successes, trials: (cases,); cell: (cases,) numbers from 0 on (all one cell when None); group: (cells,) numbers from
    0 on (each cell its own when None). The interval holds every rho whose profile log-likelihood lies below the maximum
    by no more than half the square of Student's 97.5 % quantile with one degree of freedom less than cases. p is that
    of the likelihood ratio, half a chi-square with one degree of freedom since rho can't be below 0. NaN where nothing
    could differ: no case with two trials, or no success or no failure in any cell of the group.

    ValueError where successes do not lie within 0 and trials.
    """
    from scipy import stats

    x, n = np.asarray(successes, dtype=float), np.asarray(trials, dtype=float)
    if ((x < 0) | (x > n) | (x % 1 > 0) | (n % 1 > 0)).any():
        at = int(np.argmax((x < 0) | (x > n) | (x % 1 > 0) | (n % 1 > 0)))
        raise ValueError(
            f"fit_beta_binomial: successes must be whole and within 0 and trials, got {x[at]:g} of {n[at]:g}"
        )
    at = np.zeros(len(x), dtype=int) if cell is None else np.asarray(cell, dtype=int)
    cells = max(int(at.max(initial=-1)) + 1, 0 if group is None else len(np.asarray(group)))
    of = np.arange(cells) if group is None else np.asarray(group, dtype=int)
    groups = int(of.max(initial=-1)) + 1
    above = [_more_than(part, at, cells, int(n.max(initial=1))) for part in (x, n - x, n)]
    tells = (above[0][:, 0] > 0) & (above[1][:, 0] > 0) & (above[2][:, 1:].sum(axis=1) > 0)
    known = np.bincount(of, tells, groups) > 0
    cases = np.bincount(of[at], tells[at], groups)

    def profile(rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        likelihood, pi = _profile(rho[of], *above)
        return np.bincount(of, np.where(tells, likelihood, 0), groups), pi

    table = np.stack([profile(np.full(groups, rho))[0] for rho in GRID])
    best = table.argmax(axis=0)
    low, high = GRID[np.maximum(best - 1, 0)], GRID[np.minimum(best + 1, len(GRID) - 1)]
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(30):
        first, second = high - golden * (high - low), low + golden * (high - low)
        left = profile(first)[0] >= profile(second)[0]
        low, high = np.where(left, low, first), np.where(left, second, high)
    rho = (low + high) / 2
    top, pi = profile(rho)
    flat = table[0] >= top - 1e-9
    rho, top = np.where(flat, 0.0, rho), np.maximum(top, table[0])
    pi = np.where(flat[of], profile(np.zeros(groups))[1], pi)
    cut = top - stats.t.ppf(0.975, np.maximum(cases - 1, 1)) ** 2 / 2
    ends = []
    for outer in (0.0, MOST):
        out, inside = np.full(groups, outer), rho
        beyond = profile(out)[0] < cut
        for _ in range(25):
            middle = (out + inside) / 2
            far = profile(middle)[0] < cut
            out, inside = np.where(far, middle, out), np.where(far, inside, middle)
        ends.append(np.where(known, np.where(beyond, inside, round(outer)), np.nan))
    ratio = 2 * (top - table[0])
    p = np.where(flat, 1.0, stats.chi2.sf(ratio, 1) / 2)
    return BetaBinomial(np.where(known, rho, np.nan), *ends, np.where(known, p, np.nan), pi, of)


def _more_than(counts: np.ndarray, cell: np.ndarray, cells: int, most: int) -> np.ndarray:
    """How many cases of each cell have more than j, (cells, most)."""
    table = np.bincount(cell * (most + 1) + counts.astype(int), minlength=cells * (most + 1))
    return table.reshape(cells, most + 1)[:, :0:-1].cumsum(axis=1)[:, ::-1].astype(float)


def _profile(rho: np.ndarray, more: np.ndarray, fewer: np.ndarray, all_: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest log-likelihood of each cell at its rho, and the mean at which it is reached."""
    from scipy.special import xlog1py, xlogy

    step = (rho / (1 - rho))[:, None] * np.arange(more.shape[1])
    low, high = np.zeros(len(rho)), np.ones(len(rho))
    n = more.sum(axis=1) + fewer.sum(axis=1)
    pi = np.clip(more.sum(axis=1) / np.maximum(n, 1), 1e-9, 1 - 1e-9)
    for _ in range(60):
        up, down = 1 / (pi[:, None] + step), 1 / (1 - pi[:, None] + step)
        score = (more * up - fewer * down).sum(axis=1)
        low, high = np.where(score > 0, pi, low), np.where(score > 0, high, pi)
        after = pi + score / np.maximum((more * up**2 + fewer * down**2).sum(axis=1), 1e-300)
        after = np.clip(np.where((after > low) & (after < high), after, (low + high) / 2), 1e-12, 1 - 1e-12)
        still, pi = np.abs(after - pi).max(initial=0) < 1e-11, after
        if still:
            break
    pi = np.select([fewer[:, 0] == 0, more[:, 0] == 0], [1.0, 0.0], pi)
    at, other = pi[:, None] + step, 1 - pi[:, None] + step
    return (xlogy(more, at) + xlogy(fewer, other) - xlog1py(all_, step)).sum(axis=1), pi


def all_of(pi: ArrayLike, rho: ArrayLike, n: int) -> np.ndarray:
    """The chance that all of n trials of one case succeed, under mean pi and intraclass correlation rho.

    prod_j (pi + j theta) / (1 + j theta). That at least one succeeds is 1 - all_of(1 - pi, rho, n).
    """
    pi, rho = np.broadcast_arrays(np.asarray(pi, dtype=float), np.clip(np.asarray(rho, dtype=float), 0, MOST))
    step = (rho / (1 - rho))[..., None] * np.arange(n)
    return ((pi[..., None] + step) / (1 + step)).prod(axis=-1)
