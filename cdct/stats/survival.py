"""When a trace first goes wrong: the hazard at each step, survival through it, the p that a constant hazard implies.

Rows are trials with `depth`, the number N of steps asked, and `k_star`: the step at which the trace first differs from
the truth, -1 where it is intact through N, so that its first divergence, if any, lies beyond (censored at N), None or
NaN where there is no trace to read. Where an item stands more than once in a cell (several samples, several models),
its trials are not independent, and intervals are clustered by item. k* is defined in the CCB paper, section 3.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cdct.stats.resample import Estimate, mean, share

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05
EARLY, LATE = 3, 10
"""k* up to 3 is early, beyond 10 late (paper, Figure 5)."""


class Trials(NamedTuple):
    """The trials of a cell: last step seen, whether the trace diverged there, clusters (None: each trial is one)."""

    time: np.ndarray
    diverged: np.ndarray
    clusters: np.ndarray | None
    n_unscored: int


def read_trials(rows: pd.DataFrame) -> Trials:
    """The trials of one cell; ValueError where k_star is neither -1 nor a step of 1..depth."""
    import pandas as pd

    k, depth = (pd.to_numeric(rows[name]).to_numpy(dtype=float, na_value=math.nan) for name in ("k_star", "depth"))
    known = ~np.isnan(k)
    wrong = known & ~((k == -1) | ((k >= 1) & (k <= depth) & (k % 1 == 0)))
    if wrong.any() or not (depth >= 1).all():
        at = int(np.argmax(wrong | ~(depth >= 1)))
        raise ValueError(
            f"survival: k_star must be -1 or a step of 1..depth, got k_star {k[at]:g}, depth {depth[at]:g}"
        )
    clusters = None
    if "item" in rows and rows.loc[known, "item"].duplicated().any():
        clusters = pd.factorize(rows.loc[known, "item"], use_na_sentinel=False)[0]
    time = np.where(k == -1, depth, k)[known].astype(int)
    return Trials(time, k[known] > 0, clusters, int((~known).sum()))


def _cells(rows: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    if not by:
        yield {}, rows
        return
    for names, cell in rows.groupby(list(by), sort=False, observed=True, dropna=False):
        yield dict(zip(by, names, strict=True)), cell


def _counts(trials: Trials) -> tuple[np.ndarray, np.ndarray]:
    """How many were at risk at each step from 1 on, and how many diverged there."""
    last = int(trials.time.max(initial=0))
    ended = np.bincount(trials.time, minlength=last + 1)[1:]
    return ended[::-1].cumsum()[::-1], np.bincount(trials.time[trials.diverged], minlength=last + 1)[1:]


def _share(values: np.ndarray, clusters: np.ndarray | None) -> Estimate:
    if clusters is None:
        return share(int(values.sum()), len(values))
    return mean(values, clusters, (0.0, 1.0))


# ------------------------------------------------------------------------------------------------------------- hazards


def hazards(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The chance of the first divergence at a step for traces intact before it, one row per cell and step.

    Columns: `by`, step, estimate, low, high, n (at risk: intact before the step and asked for it), diverged, n_unscored
    (trials of the cell), method. Exact binomial intervals; clustered ones as in `cdct.stats.resample.mean`.
    """
    import pandas as pd

    out = []
    for names, cell in _cells(rows, by):
        trials = read_trials(cell)
        for step, (at_risk, diverged) in enumerate(zip(*_counts(trials), strict=True), start=1):
            if trials.clusters is None:
                found = share(int(diverged), int(at_risk))
            else:
                there = trials.time >= step
                found = mean((trials.diverged & (trials.time == step))[there], trials.clusters[there], (0.0, 1.0))
            out.append(
                {**names, "step": step, **found._asdict(), "diverged": int(diverged), "n_unscored": trials.n_unscored}
            )
    columns = ["step", "estimate", "low", "high", "n", "diverged", "n_unscored", "method"]
    return pd.DataFrame(out, columns=[*by, *columns])


def implied_p(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The p per step that traces imply where the hazard is constant: 1 - divergences / steps at risk, a row per cell.

    Columns: `by`, estimate, low, high (of p), hazard, diverged, steps (at risk), n (trials), n_unscored, method. Unlike
    the p of `cdct.stats.decay` it does not need correct answers, counts no lucky guess and is cut at no bound. The
    interval is exact binomial over the steps (each step's error is then independent, given that it was reached).
    """
    import pandas as pd

    out = []
    for names, cell in _cells(rows, by):
        trials = read_trials(cell)
        steps = int(trials.time.sum())
        values = np.zeros(steps)
        values[(np.cumsum(trials.time) - 1)[trials.diverged]] = 1
        clusters = None if trials.clusters is None else np.repeat(trials.clusters, trials.time)
        h = _share(values, clusters)
        out.append(
            {**names, "estimate": 1 - h.estimate, "low": 1 - h.high, "high": 1 - h.low, "hazard": h.estimate}
            | {"diverged": int(values.sum()), "steps": steps, "n": len(trials.time), "n_unscored": trials.n_unscored}
            | {"method": h.method}
        )
    columns = ["estimate", "low", "high", "hazard", "diverged", "steps", "n", "n_unscored", "method"]
    return pd.DataFrame(out, columns=[*by, *columns])


def phases(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The shares of first divergences that come early (k* <= 3), in the middle and late (k* > 10), three rows per cell.

    Columns: `by`, phase, estimate, low, high, n (diverged traces), n_unscored, method. As in the paper's Figure 5 they
    hang on the depths that were asked, since a trace of ten steps can't diverge late; `survival` at steps 3 and 10 does
    not. Each interval is that of one share by itself.
    """
    import pandas as pd

    out = []
    for names, cell in _cells(rows, by):
        trials = read_trials(cell)
        k = trials.time[trials.diverged]
        clusters = None if trials.clusters is None else trials.clusters[trials.diverged]
        for phase, inside in (("early", k <= EARLY), ("middle", (k > EARLY) & (k <= LATE)), ("late", k > LATE)):
            out.append({**names, "phase": phase, **_share(inside, clusters)._asdict(), "n_unscored": trials.n_unscored})
    return pd.DataFrame(out, columns=[*by, "phase", "estimate", "low", "high", "n", "n_unscored", "method"])


# ------------------------------------------------------------------------------------------------------------- survival


def survival(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The chance that a trace is intact through a step (Kaplan and Meier), one row per cell and step.

    Columns: `by`, step, estimate, low, high, n (trials), at_risk, diverged, n_unscored, method. Intervals are beta
    products (Fay, Brittain and Proschan, Biostatistics 2013), which are Clopper and Pearson's where all trials have one
    depth and hold the truth where nothing has diverged yet; the usual ones have no width there. Clustered trials count
    as fewer: by the ratio of the clustered to the Greenwood variance, and of the squared t to the normal quantile.
    """
    import pandas as pd

    out = []
    for names, cell in _cells(rows, by):
        trials = read_trials(cell)
        at_risk, diverged = _counts(trials)
        estimate = np.cumprod(1 - diverged / at_risk)
        fewer, method = np.ones(len(at_risk)), "beta product"
        if trials.clusters is not None:
            groups = int(trials.clusters.max()) + 1
            fewer, method = _fewer(trials, at_risk, diverged), f"beta product, {groups} clusters"
        low, high = _beta_products(at_risk, diverged, fewer)
        table = pd.DataFrame({"step": np.arange(1, len(at_risk) + 1), "estimate": estimate})
        table = table.assign(low=np.minimum(low, estimate), high=np.maximum(high, estimate), n=len(trials.time))
        table = table.assign(at_risk=at_risk, diverged=diverged, n_unscored=trials.n_unscored, method=method)
        out.append(table.assign(**names))
    columns = ["step", "estimate", "low", "high", "n", "at_risk", "diverged", "n_unscored", "method"]
    return (pd.concat(out) if out else pd.DataFrame()).reindex(columns=[*by, *columns]).reset_index(drop=True)


def _beta_products(at_risk: np.ndarray, diverged: np.ndarray, fewer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ends for survival through each step, quantiles of beta products, as of betas of equal mean and variance.

    A step at which d of r diverge gives Beta(r - d + 1, d); the lower end has Beta(r - d, 1) of the last step as well.
    """
    from scipy.special import betaincinv

    r, d = at_risk / fewer[:, None], diverged / fewer[:, None]  # row: through which step; column: step
    past = np.tri(len(at_risk), dtype=bool) & (d > 0)
    first = np.prod(np.where(past, (r - d + 1) / (r + 1), 1), axis=1)
    second = np.prod(np.where(past, (r - d + 1) * (r - d + 2) / ((r + 1) * (r + 2)), 1), axis=1)
    left = np.diag(r - d)

    def quantile(chance: float, m: np.ndarray, m2: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            size = (m - m2) / (m2 - m * m)
            return betaincinv(m * size, (1 - m) * size, chance)

    low = np.where(left > 0, quantile(ALPHA / 2, first * left / (left + 1), second * left / (left + 2)), 0)
    return low, np.where(past.any(axis=1), quantile(1 - ALPHA / 2, first, second), 1)


def _fewer(trials: Trials, at_risk: np.ndarray, diverged: np.ndarray) -> np.ndarray:
    """By how much clustered trials count as fewer for survival through each step, at least 1."""
    from scipy.special import ndtri, stdtrit

    clusters = trials.clusters
    groups = int(clusters.max()) + 1
    most = np.full(len(at_risk), len(clusters) / groups)
    if groups < 2:
        return most
    hazard, steps = diverged / at_risk, np.arange(1, len(at_risk) + 1)
    there = trials.time[:, None] >= steps
    pulls = np.cumsum(((trials.diverged[:, None] & (trials.time[:, None] == steps)) - hazard * there) / at_risk, axis=1)
    sums = np.zeros((groups, len(steps)))
    np.add.at(sums, clusters, pulls)
    naive, clustered = (pulls**2).sum(axis=0), groups / (groups - 1) * (sums**2).sum(axis=0)
    wider = (stdtrit(groups - 1, 1 - ALPHA / 2) / ndtri(1 - ALPHA / 2)) ** 2
    spread = (naive > 1e-15) & (clustered > 1e-15)  # else nothing has diverged, or all alike: a cluster counts as one
    return np.where(spread, np.maximum(wider * clustered / np.where(spread, naive, 1), 1), most)


def log_rank(rows: pd.DataFrame, group: str, by: Sequence[str] = ()) -> pd.DataFrame:
    """Whether traces of two groups survive alike (log-rank), one row per cell and pair of values of `group`.

    Columns: `by`, a, b, statistic (above 0: a diverges earlier than b), p_value (two-sided), diverged, expected (those
    of a, and what they would be if alike), n, n_unscored, method. Where an item stands more than once among the two
    groups, for instance because both answered it, the variance is that of sums over items (Lin and Wei, JASA 1989), and
    t has G-1 degrees of freedom. The p values are not corrected for the number of pairs.
    """
    import pandas as pd

    out = []
    for names, cell in _cells(rows, by):
        for a, b in itertools.combinations(list(dict.fromkeys(cell[group])), 2):
            pair = cell[cell[group].isin([a, b])]
            trials = read_trials(pair)
            scored = pd.to_numeric(pair["k_star"]).notna().to_numpy()
            found = _score(trials, (pair[group] == a).to_numpy()[scored])
            out.append({**names, "a": a, "b": b} | found | {"n": len(trials.time), "n_unscored": trials.n_unscored})
    columns = ["a", "b", "statistic", "p_value", "diverged", "expected", "n", "n_unscored", "method"]
    return pd.DataFrame(out, columns=[*by, *columns])


def _score(trials: Trials, in_a: np.ndarray) -> dict[str, Any]:
    """The log-rank statistic: divergences of a beyond those expected, over its standard deviation."""
    from scipy.special import ndtr, stdtr

    at_risk, diverged = _counts(trials)
    of_a = np.array([(in_a & (trials.time >= step)).sum() for step in range(1, len(at_risk) + 1)])
    hazard, part = diverged / at_risk, of_a / at_risk
    seen, expected = int((in_a & trials.diverged).sum()), float((hazard * of_a).sum())
    if trials.clusters is None:
        some = at_risk > 1
        left = (at_risk - diverged)[some] / (at_risk[some] - 1)
        variance, method = float((diverged * part * (1 - part))[some] @ left), "log-rank"
    else:
        total, weighted = np.cumsum(hazard), np.cumsum(hazard * part)
        at = trials.time - 1
        pulls = trials.diverged * (in_a - part[at]) - in_a * total[at] + weighted[at]
        sums = np.bincount(trials.clusters, weights=pulls)
        variance = len(sums) / (len(sums) - 1) * float((sums**2).sum()) if len(sums) > 1 else 0.0
        method = f"log-rank, {len(sums)} clusters"
    if variance <= 1e-12:
        return {"statistic": math.nan, "p_value": math.nan, "diverged": seen, "expected": expected, "method": "no test"}
    z = (seen - expected) / math.sqrt(variance)
    p = 2 * float(ndtr(-abs(z)) if trials.clusters is None else stdtr(len(sums) - 1, -abs(z)))
    return {"statistic": z, "p_value": p, "diverged": seen, "expected": expected, "method": method}
