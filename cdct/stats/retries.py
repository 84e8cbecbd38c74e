"""What several draws of a reply are worth: pass@m, best-of-n, and the lift that independent draws would give.

A probe that is drawn n times passes c times. With one chance p for all probes the best of n would pass with
1 - (1-p)^n, the CSE paper's prediction (section 5), which overstates: where chances differ between probes, further
draws of a hopeless one are lost. Here p has a beta distribution over probes (`cdct.stats.beta_binomial`), and draws of
one probe are independent given its p. Source of the estimator of pass@m: Chen et al., Evaluating Large Language Models
Trained on Code, 2021.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from cdct.core import stream
from cdct.stats import resample
from cdct.stats.beta_binomial import all_of, fit_beta_binomial
from cdct.stats.counts import answered, counts, numbered

if TYPE_CHECKING:
    import pandas as pd


def pass_at(n: ArrayLike, c: ArrayLike, m: int) -> np.ndarray:
    """The chance that one of m draws passes, of probes of which c of n draws did: 1 - C(n-c, m) / C(n, m), unbiased.

    n, c: (probes,). ValueError where fewer than m were drawn: what m draws would have given can't be told from fewer.
    """
    n, c = np.broadcast_arrays(np.asarray(n, dtype=float), np.asarray(c, dtype=float))
    if m < 1:
        raise ValueError(f"pass_at: m must be at least 1, got {m}")
    if ((c < 0) | (c > n) | (n % 1 > 0) | (c % 1 > 0)).any():
        raise ValueError("pass_at: n and c must be whole numbers with 0 <= c <= n")
    if n.size and n.min() < m:
        raise ValueError(
            f"pass_at: pass@{m} needs {m} draws of each probe, got one with {n.min():g}; draw more, or lower m"
        )
    missed = np.ones(n.shape)
    for i in range(m):
        missed *= np.maximum(n - c - i, 0) / (n - i)
    return 1 - missed


def pass_rows(
    probes: pd.DataFrame, ms: Sequence[int], by: Sequence[str] = ("model", "k"), value: str = "passed_all"
) -> pd.DataFrame:
    """pass@m in each cell of `by`, a row for each m: the mean over probes, which are the clusters.

    probes: one row a draw, with item, k and `value` (1, 0 or NaN: not scored). Columns: `by`, m, estimate, low, high, n
    (probes), n_short (probes with fewer than m scored draws, left out), n_unscored (draws), method. ValueError where no
    probe at all has m draws.
    """
    import pandas as pd

    found = counts(answered(probes, by, "pass_rows"), by, value)
    out = []
    for cell in range(len(found.cells)):
        mine = found.cell == cell
        n, c = found.n[mine], found.passed[mine]
        for m in ms:
            enough = n >= m
            if not enough.any():
                pass_at(n, c, m)  # says why not
            estimate = resample.mean(pass_at(n[enough], c[enough], m), None, (0.0, 1.0))
            row = {"cell": cell, "m": m} | estimate._asdict() | {"n_short": int((~enough).sum())}
            out.append(row | {"n_unscored": int(found.n_unscored[cell])})
    columns = ["m", "estimate", "low", "high", "n", "n_short", "n_unscored", "method"]
    table = pd.DataFrame(out, columns=["cell", *columns])
    return pd.concat([found.cells.iloc[table["cell"].astype(int)].reset_index(drop=True), table[columns]], axis=1)


# --------------------------------------------------------------------------------------------------------------- lifts

LIFT = ["draws", "single", "best", "estimate", "low", "high", "pooled", "pooled_lift", "delivered", "delivered_low"]
GIVEN = ["delivered_high", "rho", "rho_low", "rho_high", "p_rho", "heterogeneous", "heterogeneous_lift"]
FEWEST_PASSED, FEWEST_EACH = 5, 10
"""The share of the predicted lift has no interval where fewer probes passed in any draw, nor over several k where one
has fewer probes."""


def lift_rows(
    probes: pd.DataFrame,
    draws: int,
    by: Sequence[str] = ("model", "k"),
    value: str = "passed_all",
    seed: int = 0,
    bootstraps: int = 4000,
) -> pd.DataFrame:
    """What the best of `draws` draws gains over one, seen and predicted, in each cell of `by`.

    probes: as in `pass_rows`; probes with fewer scored draws are left out (n_short), with more, all are used. Columns:
    `by`, draws, single (mean share of draws that pass, so pass@1), best (pass@draws), estimate (best - single), low,
    high, pooled (1 - (1-p)^draws at p = single, the paper's prediction; with few probes a little more, since that falls
    short by draws (draws-1) / 2 (1-p)^(draws-2) var(p) when p is estimated), pooled_lift, delivered (lift over pooled
    lift), delivered_low, delivered_high, rho, rho_low, rho_high, p_rho (how alike the draws of a probe are:
    `cdct.stats.beta_binomial`), heterogeneous (the best that independent draws give where chances differ so),
    heterogeneous_lift, n (probes), n_short, n_unscored, method. In a cell of several k each k has its own p,
    predictions are means over the probes' k, and rho is one for all k.

    Intervals come from a bootstrap of the probes that draws random weights (Rubin, The Bayesian Bootstrap, 1981), with
    half a probe that always fails, half one that always passes, and one in between added, so that a few probes which
    happen to agree are no certainty; widened for few probes. Four to 300 probes of one k, or at each of twelve: they
    held the truth 92 to 100 times in 100.

    The heterogeneous prediction is fitted to the same draws and is no forecast: where it comes near `best`, chances
    that differ between probes, as a beta distribution has it, are enough to tell why retries give less than the pooled
    prediction. rho of 0 is that prediction. It is drawn down
    where probes are few, since rho can't be below 0; rho itself where few probes at each of many k have own means.
    """
    import pandas as pd

    if draws < 2:
        raise ValueError(f"lift_rows: draws must be at least 2, got {draws}")
    found = counts(answered(probes, by, "lift_rows"), by, value)
    enough, number, ks = found.n >= draws, len(found.cells), len(found.ks)
    n, c, at = found.n[enough], found.passed[enough], (found.cell * ks + found.size)[enough]
    fit = fit_beta_binomial(c, n, at, np.repeat(np.arange(number), ks))
    alike = {"rho": fit.rho, "rho_low": fit.low, "rho_high": fit.high, "p_rho": fit.p}
    best, single = pass_at(n, c, draws), c / np.maximum(n, 1)
    out = []
    for cell in range(number):
        mine = found.cell[enough] == cell
        row: dict[str, Any] = {"draws": draws, "n": int(mine.sum()), "method": f"no probe has {draws} scored draws"}
        row |= {"n_short": int((found.cell == cell).sum()) - row["n"], "n_unscored": int(found.n_unscored[cell])}
        if mine.any():
            row |= _lift(best[mine], single[mine], at[mine], draws, stream("stats", "retries", seed), bootstraps)
            row |= {name: float(values[cell]) for name, values in alike.items()}
            rho = 0.0 if math.isnan(row["rho"]) else row["rho"]  # nothing passed, or all did: no draw can differ
            row["heterogeneous"] = float((1 - all_of(1 - fit.pi, rho, draws))[at[mine]].mean())
            row["heterogeneous_lift"] = row["heterogeneous"] - float(fit.pi[at[mine]].mean())
        out.append(row)
    table = pd.DataFrame(out, columns=[*LIFT, *GIVEN, "n", "n_short", "n_unscored", "method"])
    return pd.concat([found.cells.reset_index(drop=True), table], axis=1)


def _lift(
    best: np.ndarray, single: np.ndarray, k: np.ndarray, draws: int, rng: np.random.Generator, bootstraps: int
) -> dict[str, Any]:
    g, sizes = len(best), np.unique(k)
    added = np.column_stack([np.arange(draws + 1) > 0, np.arange(draws + 1) / draws])
    mass = np.r_[0.5, np.full(draws - 1, 1 / (draws - 1)), 0.5] / len(sizes)
    pooled, gains, predicted = 0.0, np.zeros(bootstraps), np.zeros(bootstraps)
    for size in sizes:
        both = np.column_stack([best, single])[k == size]
        n, weight, p = len(both), len(both) / g, float(both[:, 1].mean())
        bend = draws * (draws - 1) / 2 * (1 - p) ** (draws - 2)
        at = 1 - (1 - p) ** draws + (bend * both[:, 1].var(ddof=1) / n if n > 1 else 0.0)
        pooled += weight * min(at, 1.0)
        kinds, times = np.unique(both, axis=0, return_counts=True)
        drawn = rng.dirichlet(np.r_[times, mass], bootstraps) @ np.vstack([kinds, added])
        if len(sizes) > 1:  # few probes at each of many k: their spread falls short of the chances' by 1 - 1/n
            middle = np.r_[times, mass] @ np.vstack([kinds, added]) / (n + mass.sum())
            drawn = middle + (drawn - middle) * math.sqrt(n / max(n - 1, 0.5))
        gains += weight * (drawn[:, 0] - drawn[:, 1])
        slope = draws * (1 - p) ** (draws - 1)
        predicted += weight * (at + slope * (drawn[:, 1] - p) - drawn[:, 1])
    row = {"single": float(single.mean()), "best": float(best.mean()), "pooled": pooled}
    row["estimate"], row["pooled_lift"] = row["best"] - row["single"], pooled - row["single"]
    if row["pooled_lift"] > 1e-12:
        row["delivered"] = row["estimate"] / row["pooled_lift"]
    if g < 2:
        return row | {"method": "one probe: no interval"}
    row |= dict(zip(("low", "high"), resample.percentile_ends(gains, g), strict=True))
    few = (best > 0).sum() < FEWEST_PASSED or (len(sizes) > 1 and np.bincount(k)[sizes].min() < FEWEST_EACH)
    if row["pooled_lift"] > 1e-12 and not few and (predicted > 0).all():
        ends = resample.percentile_ends(gains / predicted, g)
        row |= dict(zip(("delivered_low", "delivered_high"), ends, strict=True))
    return row | {"method": f"Bayesian bootstrap of {g} probes and two added"}


# -------------------------------------------------------------------------------------------------------- distinctness


def distinct_rows(replies: pd.DataFrame, by: Sequence[str] = ("model",), text: str = "text") -> pd.DataFrame:
    """How many of the draws of an item are different texts, in each cell of `by`: the mean over items.

    replies: one row a draw, with item and `text`; texts that differ in white space alone are the same. Columns: `by`,
    draws (of each item), estimate (distinct texts), low, high, share (of draws, the paper's 4.98 of 5 is .996), n
    (items), n_unscored (items with a draw that has no text, left out), method. ValueError where items of a cell were
    drawn unequally often.
    """
    import pandas as pd

    replies = answered(replies, by, "distinct_rows")
    cells, cell = numbered(replies, by)
    words = replies[text].where(replies[text].notna()).map(lambda one: " ".join(one.split()), na_action="ignore")
    frame = pd.DataFrame({"cell": cell, "item": replies["item"].to_numpy(), "text": words.to_numpy()})
    groups = frame.groupby(["cell", "item"], sort=False)["text"]
    items = pd.DataFrame({"distinct": groups.nunique(), "known": groups.count(), "draws": groups.size()}).reset_index()
    out = []
    for number in range(len(cells)):
        mine = items[items["cell"] == number]
        if mine["draws"].min() < mine["draws"].max():
            raise ValueError(
                f"distinct_rows: items were drawn {mine['draws'].min()} to {mine['draws'].max()} times; take those "
                "that were drawn equally often"
            )
        whole = mine[mine["known"] == mine["draws"]]
        draws = int(mine["draws"].iloc[0])
        found = resample.mean(whole["distinct"], None, (1.0, float(draws)) if draws > 1 else None)
        out.append(
            {"draws": draws, **found._asdict(), "share": found.estimate / draws, "n_unscored": len(mine) - len(whole)}
        )
    columns = ["draws", "estimate", "low", "high", "share", "n", "n_unscored", "method"]
    return pd.concat([cells.reset_index(drop=True), pd.DataFrame(out, columns=columns)], axis=1)
