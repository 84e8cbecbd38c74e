"""Joint success against what independent checks would give, knowing which constraints each probe has.

The baseline of a reply is the product of the rates of its own constraints among the same model's probes of the same k.
At k = 1 the mean of the baseline is the joint rate itself. The CSE paper (appendix O) takes rates that are pooled over
all k instead, and finds "synergy" at k = 1, where one check has nothing to be joint with: an artefact of those rates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cdct.core import stream
from cdct.stats.beta_binomial import all_of, fit_beta_binomial
from cdct.stats.counts import answered, binomial_ends, numbered

if TYPE_CHECKING:
    import pandas as pd

LEAST_HELD = 4


class Replies(NamedTuple):
    """Replies to probes of one size whose checks are all scored: type numbers and 0/1, both (replies, k)."""

    types: np.ndarray
    passed: np.ndarray


class Joint(NamedTuple):
    """What `joint_success` finds.

    joint: the share of replies that pass all; expected: the mean product of the rates of each one's types; ratio, low,
    high: joint / expected; p: of independence, two-sided; coupling, coupling_low, coupling_high: the correlation of two
    checks of a reply around their types' rates, the sum of covariances over that of products of deviations; p_coupling:
    of none, two-sided; held: how many replies hold the type of a check, on average.
    """

    joint: float
    expected: float
    ratio: float
    low: float
    high: float
    p: float
    coupling: float
    coupling_low: float
    coupling_high: float
    p_coupling: float
    held: float
    method: str


class _Told(NamedTuple):
    """What each reply of a part adds: joint success, the product and how it moves, covariances and deviations."""

    joint: np.ndarray
    product: np.ndarray
    moved: np.ndarray
    together: np.ndarray
    apart: np.ndarray
    off: np.ndarray
    held: np.ndarray


def joint_success(parts: Sequence[Replies], seed: int = 0, draws: int = 999) -> Joint:
    """Joint success against independence over replies to different probes, one part for each k.

    p and p_coupling come from permutations: the outcomes of each type are dealt anew among the probes of one k that
    have it, which keeps every rate and breaks every tie within a reply. The mean product of the rates is the mean joint
    success over all such deals, so that baseline and test agree. They are exact where the checks of one type are alike;
    parameters that are drawn together for a probe, as easy ones with easy ones, can make checks go together as well.

    The variance of the ratio is to first order in outcomes and rates, and not below that of an exact share of joint
    success. Its interval is the wider of two: normal on the log scale, and that of a share with as many trials as have
    this variance (Korn and Graubard). Student's t, here and for the coupling, has as many degrees of freedom as replies
    hold a type, less one: the rates are what is least certain. Without a joint success the high end is that of an exact
    share. NaN where the baseline is 0, nothing failed, or fewer than `LEAST_HELD` replies hold a type: the rates of the
    baseline are then the reply's own outcomes. (The test holds nevertheless.)

    30 or 340 probes of two to twelve checks, coupling 0 to .2: the interval of the ratio held the truth 95 to 100 times
    in 100, that of the coupling 92 to 99 times; with a coupling of .4, 89 to 97 and 97 to 100 times. With none, p fell
    below .05 in 1 to 5 of 100 sets, p_coupling in 3 to 6.
    """
    n = sum(len(part.passed) for part in parts)
    if n == 0:
        return Joint(*[math.nan] * 11, "no data")
    told = [_told(part) for part in parts]
    seen, expected = (float(sum(getattr(one, name).sum() for one in told)) for name in ("joint", "product"))
    together, apart = (np.concatenate([getattr(one, name) for one in told]) for name in ("together", "apart"))
    held = float(np.mean(np.concatenate([one.held.ravel() for one in told])))
    widest, pairs = max(part.passed.shape[1] for part in parts), float(apart.sum())
    coupling = float(together.sum()) / pairs if pairs > 0 else math.nan
    ends = (math.nan, math.nan)
    if held < LEAST_HELD:
        coupling = math.nan
    elif pairs > 0:
        half = _t(held) * math.sqrt(n / (n - 1) * ((together - coupling * apart) ** 2).sum()) / pairs
        ends = coupling - half, coupling + half
    p, p_coupling = _dealt(parts, told, seed, draws) if widest > 1 else (1.0, math.nan)
    low, high, method = _ratio_ends(told, seen, expected, held, widest)
    ratio = seen / expected if expected > 0 else math.nan
    return Joint(seen / n, expected / n, ratio, low, high, p, coupling, *ends, p_coupling, held, method)


def _told(part: Replies) -> _Told:
    types, at = np.unique(part.types, return_inverse=True)
    at = at.reshape(part.types.shape)
    held = np.bincount(at.ravel(), minlength=len(types)).astype(float)
    rates = (np.bincount(at.ravel(), part.passed.ravel(), len(types)) / held)[at]
    one = np.ones((len(rates), 1))
    before = np.hstack([one, rates[:, :-1]]).cumprod(axis=1)
    after = np.hstack([rates[:, 1:], one])[:, ::-1].cumprod(axis=1)[:, ::-1]
    gain = (np.bincount(at.ravel(), (before * after).ravel(), len(types)) / held)[at]
    product, off = rates.prod(axis=1), part.passed - rates
    # the mean of deviations from means that hold them is short of the covariance by what the two means take away
    spread = np.sqrt(rates * (1 - rates) * (held / np.maximum(held - 1, 1))[at])
    has = np.zeros((len(at), len(types)))
    np.put_along_axis(has, at, 1.0, axis=1)
    both = (has.T @ has)[at[:, :, None], at[:, None, :]]
    each = held[at]
    left = 1 - 1 / each[:, :, None] - 1 / each[:, None, :] + both / (each[:, :, None] * each[:, None, :])
    apart = np.einsum("ic,id,icd->i", spread, spread, left) - np.einsum("ic,icc->i", spread**2, left)
    together = off.sum(axis=1) ** 2 - (off**2).sum(axis=1)
    moved = product + (gain * off).sum(axis=1)
    return _Told(part.passed.all(axis=1).astype(float), product, moved, together, apart, off, each)


def _t(held: float) -> float:
    from scipy import stats

    return float(stats.t.ppf(0.975, max(held - 1, 1)))


def _ratio_ends(told: list[_Told], seen: float, expected: float, held: float, k: int) -> tuple[float, float, str]:
    n = sum(len(one.joint) for one in told)
    if expected <= 0:
        return math.nan, math.nan, "undefined: each probe has a type that was never passed"
    if k == 1:
        return 1.0, 1.0, "k = 1: equal by definition"
    if expected >= n:
        return math.nan, math.nan, "all checks passed: no interval"
    if seen == 0:
        return 0.0, binomial_ends(0, n)[1] * n / expected, "exact binomial, no joint success, over the product"
    if held < LEAST_HELD:
        return math.nan, math.nan, f"only {held:.3g} replies hold a type: no interval"
    off = [one.joint / seen - one.moved / expected for one in told]
    variance = sum(len(part) / max(len(part) - 1, 1) * ((part - part.mean()) ** 2).sum() for part in off)
    share, ratio, t = seen / n, seen / expected, _t(held)
    least = (1 - share) / (share * n)
    half = t * math.sqrt(max(variance, least))
    trials = (1 - share) / (share * max(variance, least) * (t / 1.96) ** 2) if share < 1 else float(n)
    low, high = (end * n / expected for end in binomial_ends(share * trials, trials))
    ends = min(low, ratio * math.exp(-half)), max(high, ratio * math.exp(half))
    return *ends, f"first order, log t or binomial, {held:.3g} replies hold a type"


def _dealt(parts: Sequence[Replies], told: list[_Told], seed: int, draws: int) -> tuple[float, float]:
    """The p of joint success and of the sum of covariances, from outcomes dealt anew within types."""
    rng = stream("stats", "overdispersion", seed)
    drawn, at = np.zeros((2, draws)), np.zeros(2)
    for part, one in zip(parts, told, strict=True):
        dealt = np.broadcast_to(one.off.astype(np.float32).ravel(), (draws, one.off.size)).copy()
        order = np.argsort(part.types.ravel(), kind="stable")
        held = np.unique(part.types, return_counts=True)[1]
        for places in np.split(order, held.cumsum()[:-1]):
            if np.ptp(part.passed.ravel()[places]) > 0:  # others are all alike
                dealt[:, places] = rng.permuted(dealt[:, places], axis=1)
        dealt = dealt.reshape(draws, *one.off.shape)
        sure = (part.passed == 1) & (one.off == 0)  # of a type that is always passed
        drawn += ((dealt > 0) | sure).all(axis=2).sum(axis=1), (dealt.sum(axis=2, dtype=float) ** 2).sum(axis=1)
        at += one.joint.sum(), (one.off.sum(axis=1) ** 2).sum()
    near = 1e-5 * np.maximum(1, np.abs(at))[:, None]
    tails = np.minimum((drawn >= at[:, None] - near).sum(axis=1), (drawn <= at[:, None] + near).sum(axis=1))
    p = np.minimum(1, 2 * (1 + tails) / (1 + draws))
    return float(p[0]), float(p[1])


# -------------------------------------------------------------------------------------------------------------- frames

ALL_K = 0
"""The k of a row over all k from 2 on."""
JOINT = [
    "joint",
    "expected",
    "estimate",
    "low",
    "high",
    "p",
    "coupling",
    "coupling_low",
    "coupling_high",
    "p_coupling",
    "held",
]


def joint_rows(checks: pd.DataFrame, by: Sequence[str] = ("model",), seed: int = 0, draws: int = 999) -> pd.DataFrame:
    """Joint success against independence for each cell of `by`: a row for each k, and one over all k from 2 on.

    checks: rows with item, k, constraint and passed (1, 0 or NaN), k rows for each item of a cell. A reply with a NaN
    is left out and counted. Columns: `by`, k (0: all from 2 on), joint, expected, estimate (their ratio), low, high, p,
    coupling, coupling_low, coupling_high, p_coupling, held (see `Joint`), rho, rho_low, rho_high, p_rho (of a
    beta-binomial number of checks passed, rate of each k its own; `cdct.stats.beta_binomial`), expected_beta_binomial
    (joint success that it gives), expected_by_rate (the cell's rate at k to the power k, whatever the constraints),
    expected_pooled (the mean product of rates that are pooled over all k: the paper's baseline, which is wrong),
    synergy_published (joint less that), n (replies), n_unscored, method.

    coupling is what of rho is left when the types are known. ValueError where an item of a cell comes more than once:
    replies to one probe are no independent ones.
    """
    import pandas as pd

    checks = answered(checks, by, "joint_rows")
    cells, cell = numbered(checks, by)
    types = np.unique(checks["constraint"].to_numpy(dtype=object).astype(str), return_inverse=True)[1]
    items = np.unique(checks["item"].to_numpy(dtype=object).astype(str), return_inverse=True)[1]
    k, passed = checks["k"].to_numpy(dtype=int), checks["passed"].to_numpy(dtype=float)
    order = np.lexsort((items, k, cell))
    cell, k, items, types, passed = (part[order] for part in (cell, k, items, types, passed))
    out = []
    for number in range(len(cells)):
        mine = cell == number
        known = mine & ~np.isnan(passed)
        rates = np.bincount(types[known], passed[known], types.max() + 1)
        rates /= np.maximum(np.bincount(types[known], minlength=types.max() + 1), 1)
        parts, rows = [], []
        for size in np.unique(k[mine]):
            some = mine & (k == size)
            names = items[some]
            if len(names) % size or (names.reshape(-1, size) != names[::size, None]).any() or _twice(names[::size]):
                at = cells.iloc[number].to_dict()
                raise ValueError(f"joint_rows: an item of k = {size} in {at} has not {size} checks; take one sample")
            whole = passed[some].reshape(-1, size)
            scored = ~np.isnan(whole).any(axis=1)
            part = Replies(types[some].reshape(-1, size)[scored], whole[scored])
            parts.append(part)
            row = _row([part], seed, draws) | {"k": int(size), "n_unscored": int((~scored).sum())}
            pooled = float(rates[part.types].prod(axis=1).mean()) if scored.any() else math.nan
            rows.append(row | {"expected_pooled": pooled, "synergy_published": row["joint"] - pooled})
        several = [part for part in parts if part.passed.shape[1] > 1]
        if several:
            missed = sum(row["n_unscored"] for row in rows if row["k"] > 1)
            rows.append(_row(several, seed, draws) | {"k": ALL_K, "n_unscored": missed})
        out += [row | {"cell": number} for row in rows]
    more = ["rho", "rho_low", "rho_high", "p_rho", "expected_beta_binomial", "expected_by_rate", "expected_pooled"]
    columns = ["k", *JOINT, *more, "synergy_published", "n", "n_unscored", "method"]
    table = pd.DataFrame(out, columns=["cell", *columns])
    names = cells.iloc[table["cell"].astype(int)].reset_index(drop=True)
    return pd.concat([names, table[columns]], axis=1)


def _twice(names: np.ndarray) -> bool:
    return bool((np.diff(np.sort(names)) == 0).any())


def _row(parts: Sequence[Replies], seed: int, draws: int) -> dict[str, float | int | str]:
    found = joint_success(parts, seed, draws)
    numbers = found._asdict()
    row = {name: numbers["ratio" if name == "estimate" else name] for name in JOINT} | {"method": found.method}
    sizes = [len(part.passed) for part in parts]
    n = sum(sizes)
    if n == 0:
        return row | {"n": 0}
    widths = [part.passed.shape[1] for part in parts]
    sums, trials = np.concatenate([part.passed.sum(axis=1) for part in parts]), np.repeat(widths, sizes)
    fit = fit_beta_binomial(sums, trials, np.repeat(np.arange(len(parts)), sizes), np.zeros(len(parts), dtype=int))
    row |= {"rho": fit.rho[0], "rho_low": fit.low[0], "rho_high": fit.high[0], "p_rho": fit.p[0]}
    rho = np.nan_to_num(fit.rho[0])
    joint = [float(all_of(pi, rho, k)) for pi, k in zip(fit.pi, widths, strict=True)]
    rates = [part.passed.mean() ** k if len(part.passed) else 0.0 for part, k in zip(parts, widths, strict=True)]
    row |= {"expected_beta_binomial": float(np.dot(joint, sizes) / n), "expected_by_rate": np.dot(rates, sizes) / n}
    return row | {"n": n}
