"""What another prompt, a second pass or more draws change, on the same probes: sCSR, mCSR, decay and half-life.

Source of the comparisons: the CSE paper, section 5. `plan` is compared with a control that has its budget and length,
the others with the baseline.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cdct.core import stream, unknown
from cdct.saturation.prompts import BASELINE
from cdct.saturation.rates import FEW
from cdct.stats import resample
from cdct.stats.association import holm, mcnemar, mean_test
from cdct.stats.counts import answered, binomial_ends
from cdct.stats.multiplicative import TRAIN, fits

if TYPE_CHECKING:
    import pandas as pd

CONTROLS = {"plan": "plan-control"}
"""What an arm is compared with, where that is not the baseline."""
RETRIES = ("best-of-5",)
"""Arms whose draws are retries: of a probe's draws that with most passed checks counts, the first of several."""
ALL_K = 0
HALF = 0.975
"""Two intervals of this confidence hold both truths in 95 cases of 100."""


def _pairs(checks: pd.DataFrame, arm: str, control: str, by: Sequence[str]) -> pd.DataFrame:
    """One row per check of an arm and what its control passed: `by`, item, k, position, arm, control (1, 0 or NaN)."""
    sides = []
    for side, name in (("arm", arm), ("control", control)):
        if name not in set(checks["arm"]):
            raise ValueError(f"interventions: {unknown('arm', name, checks['arm'].unique())}")
        mine = checks[checks["arm"] == name]
        if name in RETRIES:
            passed = mine.groupby([*by, "item", "sample"], sort=True)["passed"].sum(min_count=1).reset_index()
            best = passed.sort_values("passed", ascending=False, kind="stable").drop_duplicates([*by, "item"])
            mine = mine.merge(best[[*by, "item", "sample"]], on=[*by, "item", "sample"])
        if mine.duplicated([*by, "item", "position"]).any():
            raise ValueError(f"interventions: an item of arm {name!r} was drawn more than once; take one sample")
        sides.append(mine.set_index([*by, "item", "k", "position"])["passed"].rename(side))
    return sides[0].to_frame().join(sides[1], how="left").reset_index()


def interventions(
    checks: pd.DataFrame, by: Sequence[str] = ("model",), controls: Mapping[str, str] = CONTROLS
) -> pd.DataFrame:
    """Each arm against its control on the same probes, at each k and over all, sCSR and mCSR.

    Columns: `by`, arm, control, k (0: over all), metric, control_rate, arm_rate, estimate (their difference), low,
    high, only_arm, only_control (probes, or checks, that one side alone passed), p, p_holm, note, n (pairs of probes),
    n_unscored (probes of the arm without a scored pair), few, method.

    sCSR: p is McNemar's exact one, and the interval comes from the exact intervals of how many pairs differ and which
    way, at 97.5 % each; it has a width where no pair differs. mCSR: all checks of a pair of replies, the mean of the
    differences clustered by probe, Student's t. p_holm is Holm's over the arms and cells of one metric, for the rows
    over all k; and over all rows of single k. Of an arm of `RETRIES` the best draw counts, picked knowing the verdicts.
    ValueError for an arm without its control, and for an item that was drawn more than once.
    """
    import pandas as pd

    checks = answered(checks, [*by, "arm"], "interventions")
    out = []
    for arm in dict.fromkeys(checks["arm"]):
        control = controls.get(arm, BASELINE)
        if arm == BASELINE or arm in controls.values():
            continue
        for names, cell in _pairs(checks, arm, control, by).groupby(list(by), sort=False, observed=True):
            for k in (ALL_K, *sorted(cell["k"].unique())):
                part = cell if k == ALL_K else cell[cell["k"] == k]
                named = dict(zip(by, names, strict=True)) | {"arm": arm, "control": control, "k": int(k)}
                out += [named | row for row in _compared(part)]
    columns = ["arm", "control", "k", "metric", "control_rate", "arm_rate", "estimate", "low", "high", "only_arm"]
    columns += ["only_control", "p", "p_holm", "note", "n", "n_unscored", "few", "method"]
    table = pd.DataFrame(out, columns=[*by, *columns])
    for metric in ("sCSR", "mCSR"):
        for rows in (table["k"] == ALL_K, table["k"] != ALL_K):
            rows = rows & (table["metric"] == metric)
            table.loc[rows, "p_holm"] = holm(table.loc[rows, "p"].to_numpy(dtype=float))
    return table


def _compared(pairs: pd.DataFrame) -> list[dict[str, Any]]:
    """The row of sCSR and that of mCSR of some pairs of replies."""
    whole = (
        pairs.groupby("item")[["arm", "control"]]
        .transform("count")
        .eq(pairs.groupby("item")["position"].transform("size"), axis=0)
    )
    known = pairs[whole.all(axis=1)]
    both = known.groupby("item", sort=False)[["arm", "control"]].min()
    n, missed = len(both), pairs["item"].nunique() - len(both)
    counted = {"n": n, "n_unscored": missed, "few": n < FEW}
    if not n:
        return [{"metric": metric, "note": "", "method": "no data"} | counted for metric in ("sCSR", "mCSR")]
    out = []
    for metric, frame in (("sCSR", both), ("mCSR", known)):
        arm, control = (frame[name].to_numpy(dtype=float) for name in ("arm", "control"))
        only = int(((arm == 1) & (control == 0)).sum()), int(((arm == 0) & (control == 1)).sum())
        row = {"metric": metric, "control_rate": control.mean(), "arm_rate": arm.mean(), "note": ""}
        row |= {"only_arm": only[0], "only_control": only[1]}
        if metric == "sCSR":
            low, high = paired_ends(*only, n)
            test = mcnemar(*only)
            row |= {"estimate": (only[0] - only[1]) / n, "low": low, "high": high, "p": test.p, "note": test.note}
            row["method"] = "exact McNemar, exact intervals of two shares"
        else:
            items = frame["item"].to_numpy()
            row |= resample.mean(arm - control, items, (-1.0, 1.0))._asdict()
            row["p"], told = mean_test(arm - control, items, np.zeros(len(items)), (-1.0, 1.0))
            row["note"] = "no information" if not any(only) else ""
            row["method"] = f"{row['method']}, by probe; p: {told.removesuffix(' of the first kind alone')}"
        out.append(row | counted)
    return out


def paired_ends(only_arm: int, only_control: int, n: int) -> tuple[float, float]:
    """The ends of an interval of (only_arm - only_control) / n that holds the truth at least 95 times in 100.

    The difference is the share of pairs that differ, times twice the share of these that favour the arm less one; each
    share has its exact interval at 97.5 %.
    """
    differ = only_arm + only_control
    size, way = binomial_ends(differ, n, HALF), binomial_ends(only_arm, differ, HALF) if differ else (0.0, 1.0)
    ends = [share * (2 * side - 1) for share in size for side in way]
    return min(ends), max(ends)


# --------------------------------------------------------------------------------------------------- decay, half-lives


def shifts(
    checks: pd.DataFrame,
    by: Sequence[str] = ("model",),
    controls: Mapping[str, str] = CONTROLS,
    threshold: float = 0.5,
    seed: int = 0,
    draws: int = 4000,
) -> pd.DataFrame:
    """How each arm moves the decay of mCSR and the half-life k* of sCSR against its control, on the same probes.

    Two rows per cell and arm. Columns: `by`, arm, control, quantity ("r" of a r^(k-1) over k = 1 to 8, "k*"),
    control_at, arm_at (their values; inf for a k* beyond the k asked), estimate (their difference), low, high, censored
    (a k* lies beyond the largest k, and counts as the next), n (pairs of probes), n_unscored, method.

    r: first order, with the covariance of both arms on one probe, Student's t with Satterthwaite's degrees of freedom;
    no variance below that of independent checks of which (differing + 1) / (checks + 2) differ. k*: percentiles of a
    bootstrap of pairs by random weights with one added pair, a quarter of each kind; discrete, so that it holds the
    truth more often than 95 times in 100 away from the threshold.
    """
    import pandas as pd

    checks = answered(checks, [*by, "arm"], "shifts")
    out = []
    for arm in dict.fromkeys(checks["arm"]):
        control = controls.get(arm, BASELINE)
        if arm == BASELINE or arm in controls.values():
            continue
        for names, cell in _pairs(checks, arm, control, by).groupby(list(by), sort=False, observed=True):
            named = dict(zip(by, names, strict=True)) | {"arm": arm, "control": control}
            known = cell.groupby("item")[["arm", "control"]].transform("count").min(axis=1) == cell["k"]
            both = cell[known].groupby(["k", "item"])[["arm", "control"]].agg(["sum", "min"]).reset_index("k")
            counted = {"n": len(both), "n_unscored": cell["item"].nunique() - len(both)}
            rng = stream("cse", "shifts", seed)
            differ = cell[known].assign(differ=lambda rows: rows["arm"] != rows["control"]).groupby("k")["differ"].sum()
            out.append(named | {"quantity": "r"} | _rate_shift(both, differ) | counted)
            out.append(named | {"quantity": "k*"} | _star_shift(both, threshold, rng, draws) | counted)
    columns = ["arm", "control", "quantity", "control_at", "arm_at", "estimate", "low", "high", "censored", "n"]
    return pd.DataFrame(out, columns=[*by, *columns, "n_unscored", "method"])


def _rate_shift(both: pd.DataFrame, differ: pd.Series) -> dict[str, Any]:
    from scipy import stats

    ks = np.unique(both["k"].to_numpy(dtype=float))
    empty = {"censored": False, "method": "fewer than two k: no fit"}
    if np.isin(ks, TRAIN).sum() < 2:
        return empty
    shares = {side: both[(side, "sum")].to_numpy() / both["k"].to_numpy() for side in ("arm", "control")}
    sizes = [both["k"].to_numpy() == k for k in ks]
    found = {side: fits(ks, np.array([[x[some].mean() for some in sizes]])) for side, x in shares.items()}
    variance, freedom = np.zeros(len(ks)), np.zeros(len(ks))
    for place, some in enumerate(sizes):
        slopes = {side: fit.of_r[0, place] for side, fit in found.items()}
        n = int(some.sum())
        moved = slopes["arm"] * shares["arm"][some] - slopes["control"] * shares["control"][some]
        checks = n * ks[place]
        least = max(slopes["arm"] ** 2, slopes["control"] ** 2) * (differ[ks[place]] + 1) / (checks + 2) / checks
        variance[place] = max(moved.var(ddof=1) / n if n > 1 else 0.0, least)
        freedom[place] = max(n - 1, 1)
    r = {side: float(fit.r[0]) for side, fit in found.items()}
    row = {"control_at": r["control"], "arm_at": r["arm"], "estimate": r["arm"] - r["control"], "censored": False}
    if math.isnan(row["estimate"]):
        return row | {"method": "nothing passed: no fit"}
    t = stats.t.ppf(0.975, variance.sum() ** 2 / (variance**2 / freedom).sum())
    half = float(t * math.sqrt(variance.sum()))
    return row | {"low": row["estimate"] - half, "high": row["estimate"] + half, "method": "first order, t over pairs"}


def _star_shift(both: pd.DataFrame, threshold: float, rng: np.random.Generator, draws: int) -> dict[str, Any]:
    ks = np.unique(both["k"].to_numpy(dtype=int))
    if not len(ks):
        return {"censored": False, "method": "no data"}
    seen, drawn = np.zeros((2, len(ks))), np.zeros((2, draws, len(ks)))
    kinds = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    for place, k in enumerate(ks):
        some = both[both["k"] == k]
        number = (2 * some[("arm", "min")] + some[("control", "min")]).to_numpy(dtype=int)
        times = np.bincount(number, minlength=4)
        seen[:, place] = times @ kinds / times.sum()
        drawn[:, :, place] = (rng.dirichlet(times + 0.25, draws) @ kinds).T
    at = np.r_[ks, ks[-1] + 1]

    def star(rates: np.ndarray) -> np.ndarray:
        below = rates < threshold
        return at[np.where(below.any(axis=-1), below.argmax(axis=-1), len(ks))]

    arm, control = (int(value) for value in star(seen))
    moved = star(drawn[0]) - star(drawn[1])
    low, high = np.quantile(moved, 0.025, method="lower"), np.quantile(moved, 0.975, method="higher")
    beyond = [value > ks[-1] for value in (arm, control)]
    return {
        "control_at": math.inf if beyond[1] else control,
        "arm_at": math.inf if beyond[0] else arm,
        "estimate": arm - control,
        "low": int(low),
        "high": int(high),
        "censored": any(beyond),
        "method": "Bayesian bootstrap of pairs",
    }
