"""Other forms of decay beside p^N: which describes a cell best, and whether the hazard changes with depth.

The stretched form q = p^(N^gamma) is ln(-ln q) = ln u + gamma ln N, a binomial model with complementary log-log link;
a p^N is ln q = ln a - u N, one with log link. Both log-likelihoods are concave. With gamma below 1 the chance of an
error at a step falls with depth, above 1 it grows.
Source of the forms: the CCB paper, section 3, which leaves the comparison to future work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cdct.stats.decay import FEWEST_DEPTHS, LEAST_P, Grid, grid, log_likelihood, rate, resampled, saturated
from cdct.stats.exact import ALPHA

if TYPE_CHECKING:
    import pandas as pd

FORMS = {"geometric": 1, "stretched": 2, "lapse": 2, "linear": 1}
"""p^N, p^(N^gamma), a p^N and 1 - lambda N (never below 0), each with the number of its parameters."""


FLOOR = 1e-12
"""1 - lambda N is never below it, so that one success beyond 1 / lambda doesn't forbid the form. Where there is such a
success its AIC hangs on this number, and is large whatever the number."""
MARGIN = 2.0
"""Smaller differences in AIC are no evidence (Burnham and Anderson, Model Selection and Multimodel Inference, 2002)."""
FAR = 60.0
"""A gamma beyond all that data can tell from an infinite one."""


class Form(NamedTuple):
    """A form fitted to each row: its two numbers (the second NaN where it has one) and its log-likelihood."""

    first: np.ndarray
    second: np.ndarray
    log_likelihood: np.ndarray


def compare_forms(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Each form's fit to each cell of `by`, one row per cell and form; rows as in `cdct.stats.decay.by_depth`.

    Columns: `by`, form, p, gamma, a, lambda (NaN where the form has none), log_likelihood (without binomial
    coefficients), deviance, parameters, aic, bic (n = scored trials), preferred, n, n_unscored.

    Preferred is the geometric form unless the AIC of another is lower by more than `MARGIN`, then the form with the
    least AIC; none where fewer than three depths have successes, since any steep curve fits there. p of the geometric
    form lies on [.5, 1] as in the paper, that of the others on [0, 1]. gamma is inf and p NaN where no success stands
    behind a failure in depth: no form is too steep then. Without successes, or without failures, there is no gamma.
    """
    import pandas as pd

    g = grid(rows, by)
    fits = {name: fit(g.depths, g.correct, g.n) for name, fit in FITS.items()}
    top, n = saturated(g.correct, g.n), g.n.sum(axis=1)
    tables = []
    for name, fit in fits.items():
        first = {"linear": "lambda"}.get(name, "p")
        numbers = dict.fromkeys(("p", "gamma", "a", "lambda"), math.nan) | {first: fit.first}
        numbers |= {"stretched": {"gamma": fit.second}, "lapse": {"a": fit.second}}.get(name, {})
        size = FORMS[name]
        numbers |= {
            "log_likelihood": fit.log_likelihood,
            "deviance": np.maximum(2 * (top - fit.log_likelihood), 0),
            "parameters": size,
            "aic": 2 * size - 2 * fit.log_likelihood,
            "bic": size * np.log(np.maximum(n, 1)) - 2 * fit.log_likelihood,
        }
        tables.append(g.cells.assign(form=name, **numbers, n=n.astype(int), n_unscored=g.n_unscored))
    aic = np.stack([np.where(n > 0, table["aic"], math.nan) for table in tables], axis=1)  # (cells, forms)
    beaten = aic < aic[:, :1] - MARGIN
    best = np.argmin(np.where(beaten.any(axis=1, keepdims=True), aic, np.arange(len(FORMS))), axis=1)
    known = (g.correct > 0).sum(axis=1) >= FEWEST_DEPTHS
    for place, table in enumerate(tables):
        table.insert(table.columns.get_loc("n"), "preferred", known & (best == place))
        numbers = ["log_likelihood", "deviance", "aic", "bic"]
        table[numbers] = table[numbers].where(table["n"] > 0)
    return pd.concat(tables).sort_index(kind="stable").reset_index(drop=True)


def fit_gamma(rows: pd.DataFrame, by: Sequence[str], seed: int = 0, draws: int = 2000) -> pd.DataFrame:
    """gamma of p^(N^gamma) per cell of `by`, and the test of gamma = 1; rows as in `cdct.stats.decay.by_depth`.

    Columns: `by`, estimate, low, high, ratio (the likelihood-ratio statistic against p^N with p on [0, 1]), p_value
    (the share of parametric bootstrap samples at gamma = 1 with at least that ratio, the cell among them), p_chi2 (from
    chi-square with one degree of freedom), n, n_unscored, method. The 95 % interval holds every gamma at which twice
    the log-likelihood, p fitted again, lies below its maximum by no more than 95 % of the bootstrap ratios, or 3.84 if
    that is more (chi-square alone holds the truth 93 times in 100 where trials are few). An end is infinite where the
    likelihood does not fall so far. Without successes, without failures, or with one depth there is no gamma: NaN.
    """
    from scipy.special import chdtrc, chdtri

    g = grid(rows, by)
    fit, ratio, u = _ratio(g.depths, g.correct, g.n)
    samples = resampled(np.where(np.isfinite(u), u, 20.0), g.depths, g.n, seed, draws)
    samples = samples.reshape(len(u) * draws, len(g.depths))
    _, other, _ = _ratio(g.depths, samples, np.repeat(g.n, draws, axis=0))
    other = other.reshape(len(u), draws)
    low, high = _profile_ends(g, fit, np.maximum(np.quantile(other, 1 - ALPHA, axis=1), chdtri(1, ALPHA)) / 2)
    known = ~np.isnan(fit.second) & ((g.n > 0).sum(axis=1) > 1)
    reached = (other >= ratio[:, None] - 1e-9).sum(axis=1)
    return g.cells.assign(
        estimate=np.where(known, fit.second, math.nan),
        low=np.where(known, low, math.nan),
        high=np.where(known, high, math.nan),
        ratio=np.where(known, ratio, math.nan),
        p_value=np.where(known, (1 + reached) / (1 + draws), math.nan),
        p_chi2=np.where(known, chdtrc(1, ratio), math.nan),
        n=g.n.sum(axis=1).astype(int),
        n_unscored=g.n_unscored,
        method=np.where(known, f"profile likelihood, {draws} parametric bootstraps", "no gamma"),
    )


def _ratio(depths: np.ndarray, correct: np.ndarray, n: np.ndarray) -> tuple[Form, np.ndarray, np.ndarray]:
    """The stretched fit, twice its gain over p^N with free p, and the u of the latter."""
    fit, u = stretched(depths, correct, n), rate(depths, correct, n)
    return fit, np.maximum(2 * (fit.log_likelihood - log_likelihood(depths, u, correct, n)), 0), u


def _profile_ends(g: Grid, fit: Form, fall: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The gammas on both sides where the log-likelihood has fallen by `fall` below its maximum."""
    from scipy.optimize import elementwise

    logs = np.log(g.depths)

    def short(gamma: np.ndarray, row: np.ndarray) -> np.ndarray:
        """How far the log-likelihood at gamma is from where the interval ends; positive inside."""
        x, c, n = gamma[:, None] * logs, g.correct[row], g.n[row]
        x = np.exp(x - x.min(axis=1, initial=math.inf, keepdims=True))
        return log_likelihood(x, rate(x, c, n), c, n) - fit.log_likelihood[row] + fall[row]

    ends = np.array([[-math.inf], [math.inf]]) * np.ones(len(fit.second))
    inside = np.clip(fit.second, -FAR, FAR)
    for side, limit in ((0, -FAR), (1, FAR)):
        row = np.flatnonzero((inside != limit) & ~np.isnan(inside))
        row = row[short(np.full(len(row), limit), row) < 0]
        if len(row):
            found = elementwise.find_root(short, (inside[row], np.full(len(row), limit)), args=(row,))
            if not found.success.all():
                raise ArithmeticError(f"rivals: no end of the interval of gamma was found for cell {row[0]}")
            ends[side, row] = found.x
    return ends[0], ends[1]


# ------------------------------------------------------------------------------------------------------------ the fits


def geometric(depths: np.ndarray, correct: np.ndarray, n: np.ndarray) -> Form:
    """p^N with p on [.5, 1], one per row."""
    u = np.minimum(rate(depths, correct, n), -math.log(LEAST_P))
    return Form(np.exp(-u), np.full(len(u), math.nan), log_likelihood(depths, u, correct, n))


def stretched(depths: np.ndarray, correct: np.ndarray, n: np.ndarray) -> Form:
    """p^(N^gamma), one per row: p and gamma.

    No finite gamma is best exactly where no success stands behind a failure in depth (gamma is inf), or no failure
    behind a success (-inf): one depth is then fitted as it is and the others fully.
    """
    failed = n - correct
    out = np.full((3, len(n)), math.nan)
    last_success, first_failure = _edge(depths, correct, np.max), _edge(depths, failed, np.min)
    first_success, last_failure = _edge(depths, correct, np.min), _edge(depths, failed, np.max)
    none = ~(correct.any(axis=1) & failed.any(axis=1))
    steep, rising = last_success <= first_failure, first_success >= last_failure
    out[1] = np.select([none, steep & rising, steep, rising], [math.nan, math.nan, math.inf, -math.inf], math.nan)
    out[2] = saturated(correct, n)
    rest = np.flatnonzero(~(none | steep | rising))
    x = np.log(depths)
    start = np.stack([np.log(rate(depths, correct[rest], n[rest])), np.ones(len(rest))], axis=1)
    beta, value = _newton(_cloglog, x, start, correct[rest], failed[rest])
    out[0, rest], out[1, rest], out[2, rest] = np.exp(-np.exp(beta[:, 0])), beta[:, 1], value
    return Form(*out)


def lapse(depths: np.ndarray, correct: np.ndarray, n: np.ndarray) -> Form:
    """a p^N with a and p on [0, 1], one per row: p and a. At an edge, a = 1 or p = 1, one number is left."""
    failed = n - correct
    u = rate(depths, correct, n)
    p, a, value = np.exp(-u), np.ones(len(u)), log_likelihood(depths, u, correct, n)
    mixed = np.flatnonzero(correct.any(axis=1) & failed.any(axis=1))
    c, f = correct[mixed], failed[mixed]
    q = np.exp(-u[mixed, None] * depths)
    with np.errstate(divide="ignore", invalid="ignore"):
        rises = (c - np.where(f > 0, f * q / (1 - q), 0)).sum(axis=1) >= 0  # the likelihood still grows with a at a = 1
    flat = (c.sum(axis=1) / n[mixed].sum(axis=1))[:, None]
    falls = ((c - f * flat / (1 - flat)) * depths).sum(axis=1) >= 0  # and falls with u at u = 0
    constant = falls & ~rises
    p[mixed[constant]], a[mixed[constant]] = 1, flat[constant, 0]
    value[mixed[constant]] = (c * np.log(flat) + f * np.log(1 - flat)).sum(axis=1)[constant]
    inside = ~rises & ~falls
    start = np.stack([np.full(inside.sum(), -0.1), u[mixed[inside]]], axis=1)
    beta, best = _newton(_log, -depths, start, c[inside], f[inside])
    at = mixed[inside]
    p[at], a[at], value[at] = np.exp(-beta[:, 1]), np.exp(beta[:, 0]), best
    return Form(p, a, value)


def linear(depths: np.ndarray, correct: np.ndarray, n: np.ndarray) -> Form:
    """1 - lambda N, never below `FLOOR`, one per row: lambda. `depths` rise.

    Between the places where a further depth comes to the floor the log-likelihood is concave: halving finds where its
    slope turns, and the best of these places counts.
    """
    from scipy.special import xlogy

    failed = n - correct
    best, value = np.zeros(len(n)), np.where(failed.any(axis=1), -math.inf, 0.0)
    edges = [*(1 / depths[::-1]), 2 / depths[0]] if len(depths) else []
    start = 0.0
    for end, above in zip(edges, range(len(depths), -1, -1), strict=False):  # so many depths are above the floor
        low, high = np.full(len(n), start), np.full(len(n), end)
        x, c, f = depths[:above], correct[:, :above], failed[:, :above]
        for _ in range(50):
            middle = (low + high) / 2
            with np.errstate(divide="ignore", invalid="ignore"):  # middle has come to the end: 0 / 0 without successes
                grows = (f / middle[:, None] - np.where(c > 0, c * x / (1 - middle[:, None] * x), 0)).sum(axis=1) > 0
            low, high = np.where(grows, middle, low), np.where(grows, high, middle)
        kept = np.clip(1 - middle[:, None] * depths, FLOOR, 1)
        found = (xlogy(correct, kept) + xlogy(failed, 1 - kept)).sum(axis=1)
        best, value = np.where(found > value, middle, best), np.maximum(found, value)
        start = end
    return Form(best, np.full(len(n), math.nan), value)


FITS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], Form]] = {
    "geometric": geometric,
    "stretched": stretched,
    "lapse": lapse,
    "linear": linear,
}


def _edge(depths: np.ndarray, counts: np.ndarray, which: Callable[..., np.ndarray]) -> np.ndarray:
    """The first or last depth of each row where something was counted."""
    return which(
        np.broadcast_to(depths, counts.shape),
        axis=1,
        where=counts > 0,
        initial=-math.inf if which is np.max else math.inf,
    )


Parts = tuple[np.ndarray, np.ndarray, np.ndarray]


def _cloglog(eta: np.ndarray, c: np.ndarray, f: np.ndarray) -> Parts:
    """The log-likelihood of q = exp(-exp(eta)) and its first and second derivative in eta."""
    t = np.exp(np.clip(eta, -700, 30))
    e = np.expm1(np.minimum(t, 700))
    pull = t / e
    value = f * np.log(-np.expm1(-t)) - c * t
    return value, f * pull - c * t, f * pull * (1 - pull * (1 + e)) - c * t


def _log(eta: np.ndarray, c: np.ndarray, f: np.ndarray) -> Parts:
    """The same of q = exp(eta); -inf where eta is above 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = 1 / np.expm1(-eta)
        value = c * eta + np.where(f > 0, f * np.log(-np.expm1(eta)), 0)
    return np.where(eta < 0, value, -math.inf), c - f * odds, -f * odds * (1 + odds)


def _newton(
    link: Callable[[np.ndarray, np.ndarray, np.ndarray], Parts],
    x: np.ndarray,
    beta: np.ndarray,
    c: np.ndarray,
    f: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The coefficients of 1 and x with the largest log-likelihood, per row, and its value: Newton's steps, halved until
    they lead uphill."""
    beta, row = beta.copy(), np.arange(len(beta))
    best = np.full(len(beta), math.nan)
    now = beta.copy()
    value, first, second = link(now[:, :1] + now[:, 1:] * x, c, f)
    best = value.sum(axis=1)
    for _ in range(100):
        a, b, d = -second.sum(axis=1), -(second @ x), -(second @ x**2)
        g, h = first.sum(axis=1), first @ x
        det = np.maximum(a * d - b * b, 1e-12 * a * d)
        step = np.stack([d * g - b * h, a * h - b * g], axis=1) / det[:, None]
        gain = g * step[:, 0] + h * step[:, 1]
        moving = gain > 1e-9
        if not moving.any():
            break
        row, now, step, gain, c, f = row[moving], now[moving], step[moving], gain[moving], c[moving], f[moving]
        size = np.ones(len(row))
        for _ in range(40):
            tried = now + size[:, None] * step
            value, first, second = link(tried[:, :1] + tried[:, 1:] * x, c, f)
            worse = ~(value.sum(axis=1) >= best[row] + 1e-4 * size * gain)
            if not worse.any():
                break
            size[worse] /= 2
        now = tried
        beta[row], best[row] = now, value.sum(axis=1)
    return beta, best
