"""What the CSE checks say of models: rates by the number of constraints, half-lives, and who is better than whom.

Frame in, frame out. Per constraint: `cdct.saturation.hierarchy`; confounds: `cdct.saturation.controls`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cdct.core import KEYS, unknown
from cdct.saturation.rates import RATE_COLUMNS, cells, final, rate_table
from cdct.saturation.score import probes
from cdct.stats import resample

if TYPE_CHECKING:
    import pandas as pd

METRICS = {
    "mCSR": "share of checks that are passed; each check counts once, as in the paper (equation 2)",
    "mCSR by probe": "mean over probes of the share of their checks that are passed; each probe counts once",
    "sCSR": "share of probes that pass all their checks (equation 1)",
    "score": "mean score over checks",
    "gap": "mean over checks of score minus passed, the paper's comprehension-maintenance gap (equation 3)",
    "penalty": "mean over probes of the share passed minus whether all are: mCSR by probe minus sCSR",
}
"""What can be averaged. At one k the two mCSR are the same. Over several k the first has more weight on large k than
sCSR has, so that their difference is no penalty; `penalty` compares like with like."""


def _values(checks: pd.DataFrame, metrics: Sequence[str], by: Sequence[str]) -> dict[str, tuple[pd.DataFrame, str]]:
    """For each metric a frame and the column to be averaged in it."""
    for name in metrics:
        if name not in METRICS:
            raise ValueError(unknown("metric", name, METRICS))
    checks = checks.assign(gap=checks["score"] - checks["passed"])
    found = {name: (checks, column) for name, column in (("mCSR", "passed"), ("score", "score"), ("gap", "gap"))}
    if set(metrics) - set(found):
        rows = probes(checks)
        for name in (name for name in by if name not in rows):
            of_reply = checks.groupby(KEYS, sort=False, observed=True)[name]
            if (checks[name] != of_reply.transform("first")).where(checks[name].notna(), False).any():
                raise ValueError(f"{', '.join(set(metrics) - set(found))}: a probe as a whole has no {name!r}")
            rows[name] = of_reply.first().to_numpy()
        rows = rows.assign(penalty=rows["share"] - rows["passed_all"])
        columns = (("mCSR by probe", "share"), ("sCSR", "passed_all"), ("penalty", "penalty"))
        found |= {name: (rows, column) for name, column in columns}
    return {name: found[name] for name in metrics}


def summarise(
    checks: pd.DataFrame, by: Sequence[str] = ("model", "k"), metrics: Sequence[str] = ("mCSR", "sCSR", "score")
) -> pd.DataFrame:
    """Each of the metrics (see `METRICS`) in each cell of `by`, one row per cell and metric.

    Columns: `by`, metric, estimate, low, high, n (checks, or probes), n_unscored, n_probes, few (fewer than
    `rates.FEW` probes), estimate_all (what could not be scored as failed), method. Intervals are clustered by item and,
    where a cell has several models, by model (`rates.bounded_mean`). Of a conversation the last turn counts.
    ValueError where a cell would mix arms, or satisfiable and impossible probes.
    """
    import pandas as pd

    found = _values(final(checks, by), metrics, by)
    tables = [rate_table(rows, by, column).assign(metric=metric) for metric, (rows, column) in found.items()]
    table = pd.concat(tables, ignore_index=True)[[*by, "metric", *RATE_COLUMNS]]
    return table.sort_values(list(by), kind="stable", ignore_index=True) if by else table


# ----------------------------------------------------------------------------------------------------------- half-lives


def first_below(curve: pd.DataFrame, threshold: float) -> dict[str, Any]:
    """The smallest k at which a curve lies below a threshold, with an interval and how far it is known.

    curve: k, estimate, low, high. Gives: estimate (inf where no k asked lies below), low, high, above (the largest k
    asked before it, 0 if none), censored ("": it is known to the unit; "right": beyond the largest k asked; "left":
    the smallest k asked is above 1 and lies below already; "interval": k between `above` and the estimate were not
    asked), last (the largest k asked). A k without an estimate counts as not asked.

    The interval turns those of the curve: below its low end all k asked lie above the threshold with their whole
    interval, and at its high end the first one lies below with the whole interval. Where the curve falls, each end errs
    in at most about 2.5 of 100 cases; one that stays at the threshold for several k can have its high end too low more
    often.
    """
    curve = curve[curve["estimate"].notna()].sort_values("k")
    ks = [0, *curve["k"].astype(int)]

    def first(below: pd.Series) -> int | None:
        return int(below.to_numpy().argmax()) + 1 if below.any() else None

    at, late = (first(curve[name] < threshold) for name in ("estimate", "high"))
    early = first(~(curve["low"] >= threshold))  # an end that is not known rules nothing out
    last = ks[-1]
    if at is None:
        censored, above = "right" if len(curve) else "no data", last
    else:
        above = ks[at - 1]
        censored = "" if ks[at] == above + 1 else "left" if at == 1 else "interval"
    return {
        "estimate": math.nan if not last else math.inf if at is None else ks[at],
        "low": math.nan if not last else last + 1 if early is None else ks[early - 1] + 1,
        "high": math.nan if not last else math.inf if late is None else ks[late],
        "above": above,
        "censored": censored,
        "last": last,
    }


CROSSING_COLUMNS = ["estimate", "low", "high", "above", "censored", "last", "n", "n_unscored", "few", "method"]


def crossings(curves: pd.DataFrame, by: Sequence[str], threshold: float) -> pd.DataFrame:
    """`first_below` in each cell of `by`; curves: `by`, k, estimate, low, high, n, n_unscored, few."""
    import pandas as pd

    out = []
    for names, cell in cells(curves, by):
        counts = {
            "n": int(cell["n"].sum()),
            "n_unscored": int(cell["n_unscored"].sum()),
            "few": bool(cell["few"].any()),
        }
        out.append(names | first_below(cell, threshold) | counts | {"method": "from the intervals at each k"})
    return pd.DataFrame(out, columns=[*by, *CROSSING_COLUMNS])


def k_star(checks: pd.DataFrame, by: Sequence[str] = ("model",), threshold: float = 0.5) -> pd.DataFrame:
    """k*, the smallest k at which sCSR falls below one half (paper, section 3.1), in each cell of `by`.

    Columns: `by`, estimate, low, high, above, censored, last, n (probes), n_unscored, few (at some k), method; see
    `first_below`. k* = 1 means that not even single constraints are kept half of the time.
    """
    return crossings(summarise(checks, [*by, "k"], ["sCSR"]), by, threshold)


def largest_k_at(
    checks: pd.DataFrame, share: float = 0.9, by: Sequence[str] = ("model",), metric: str = "sCSR"
) -> pd.DataFrame:
    """The largest k up to which a metric never falls below a share, in each cell of `by`; 0 where k = 1 lies below.

    Columns: those of `k_star`, and share, metric. It is the k before the first one below: where k were left out, the
    largest one asked. "right" in `censored`: all k asked lie at or above, and the estimate is the last of them.
    """
    table = crossings(summarise(checks, [*by, "k"], [metric]), by, share)
    ends = {name: table[name] - 1 for name in ("low", "high")}
    return table.assign(
        estimate=table["above"].astype(float).where(table["last"] > 0), share=share, metric=metric, **ends
    )


# ------------------------------------------------------------------------------------------------------------- rankings

RANKED = ("sCSR", "mCSR", "score")


def ranked(table: pd.DataFrame, metrics: Sequence[str] = RANKED) -> pd.DataFrame:
    """The table (a row per model, a column per metric) with its ranks, 1 for the highest; equal values share a rank.

    New columns: `<metric> rank` and, where both are there, geometric and `geometric rank`: the geometric mean of mCSR
    and sCSR, which is high only where both are (paper, section L).
    """
    table = table.copy()
    if {"mCSR", "sCSR"} <= set(table):
        table["geometric"] = (table["mCSR"] * table["sCSR"]) ** 0.5
    for name in [*metrics, *(["geometric"] if "geometric" in table else [])]:
        table[f"{name} rank"] = table[name].rank(ascending=False, method="min")
    return table


def rankings(checks: pd.DataFrame, metrics: Sequence[str] = RANKED) -> pd.DataFrame:
    """The models in the order of each metric, with the ranks that can't be ruled out; a row per metric and model.

    Columns: metric, model, estimate, low, high, rank, rank_low, rank_high, n, n_unscored, n_probes, few, estimate_all,
    method. A model's best possible rank is 1 + the models that are better beyond chance, its worst the number of models
    minus those that are worse. Better means: the difference on the same items, clustered by item, leaves out 0 at 95 %
    with Bonferroni's correction for all comparisons of the model with another, so that its rank lies in the range at
    least 95 times in 100. ValueError for other metrics than those of checks or probes, and where arms or kinds are
    mixed.
    """
    import pandas as pd

    rows, models = final(checks), list(dict.fromkeys(checks["model"]))
    out = []
    for metric, (frame, column) in _values(rows, metrics, []).items():
        key = [name for name in ("item", "sample", "turn", "position") if name in frame]
        row = frame.groupby(key, sort=False, observed=True).ngroup().to_numpy()
        values = np.full((row.max(initial=-1) + 1, len(models)), np.nan)
        values[row, frame["model"].map(models.index).to_numpy(dtype=int)] = frame[column]
        items = frame["item"].factorize()[0][np.unique(row, return_index=True)[1]]
        found = rate_table(frame, ["model"], column).set_index("model")
        rank = found["estimate"].rank(ascending=False, method="min")
        for place, model in enumerate(models):
            signs = [_sign(values[:, place] - values[:, one], items, len(models)) for one in range(len(models))]
            bounds = {"rank_low": 1 + signs.count(-1), "rank_high": len(models) - signs.count(1)}
            out.append({"metric": metric, "model": model, "rank": rank[model], **bounds, **found.loc[model]})
    columns = ["metric", "model", *RATE_COLUMNS[:3], "rank", "rank_low", "rank_high", *RATE_COLUMNS[3:]]
    order = {name: place for place, name in enumerate(metrics)}
    return pd.DataFrame(out, columns=columns).sort_values(
        ["metric", "rank"], key=lambda some: some.map(order) if some.name == "metric" else some, ignore_index=True
    )


def _sign(differences: np.ndarray, items: np.ndarray, models: int) -> int:
    """1 or -1 where the mean difference lies above or below 0 beyond chance, else 0."""
    known = ~np.isnan(differences)
    if not differences[known].any():
        return 0
    found = resample.mean(differences[known], items[known], (-1.0, 1.0), 1 - 0.05 / (models - 1))
    return 1 if found.low > 0 else -1 if found.high < 0 else 0
