"""What goes with a constraint's decline: its gap, its rate alone, its dimension. Constraints are the units here.

All functions take a frame with a row per constraint, be it `profiles` of a run or the paper's
(`cdct.saturation.published.published_profiles`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cdct.core import unknown
from cdct.saturation.analysis import summarise
from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.hierarchy import LATE, SLOPES, half_lives, immune, retention, slopes
from cdct.saturation.rates import cells
from cdct.stats import resample

if TYPE_CHECKING:
    import pandas as pd

PROFILE = [
    *("constraint", "dimension", "name", "k1", "mCSR", "score", "gap"),
    *(f"slope_{name}" for name in SLOPES),
    *("t_half", "rate_late", "retention_late", "immune", "n", "n_first", "few"),
]
TERCILES = ("easy", "medium", "hard")
RELATED = (("gap", ""), ("k1", ""), ("mCSR", ""), ("gap", "k1"), ("gap", "mCSR"))
"""What is set beside the slope, and what is held fixed: the gap predicts decline in the paper, but both the slope and
the gap hang on how often a constraint is kept at all."""


def profiles(checks: pd.DataFrame, by: Sequence[str] = (), late: int = LATE) -> pd.DataFrame:
    """One row per constraint in each cell of `by`: `by` and `PROFILE`, estimates without intervals, in table order.

    k1: rate at k = 1; mCSR, score, gap over all checks; slopes of `hierarchy.SLOPES`; t_half (inf: never); rate_late
    and retention_late from k = `late` on; immune; n (checks), n_first (at k = 1), few. For intervals see the functions
    of `cdct.saturation.hierarchy`.
    """
    key = [*by, "constraint"]
    late_rates, kept = immune(checks, by, late), retention(checks, by)
    table = late_rates.rename(columns={"rate_first": "k1", "estimate": "retention_late"})
    table = table[[*key, "dimension", "k1", "rate_late", "retention_late", "immune", "n_first", "few"]]
    found = summarise(checks, key, ["mCSR", "score", "gap"])
    wide = found.pivot_table("estimate", key, "metric", observed=True).join(found.groupby(key)["n"].max())
    wide = wide.join(
        slopes(checks, by).assign(slope=lambda t: "slope_" + t["slope"]).pivot_table("estimate", key, "slope")
    )
    wide = wide.join(half_lives(kept, by).set_index(key)["estimate"].rename("t_half"))
    table = table.merge(wide.reset_index(), on=key, how="left")
    table["name"] = [CONSTRAINTS[id].name for id in table["constraint"]]
    order = {id: place for place, id in enumerate(CONSTRAINTS)}
    table = table.reindex(columns=[*by, *PROFILE])
    return table.sort_values(
        key, key=lambda some: some.map(order) if some.name == "constraint" else some, ignore_index=True
    )


def _slope(table: pd.DataFrame, slope: str) -> pd.Series:
    if slope not in SLOPES:
        raise ValueError(unknown("slope", slope, SLOPES))
    return table[f"slope_{slope}"].astype(float)


def spearman(x: np.ndarray, y: np.ndarray, given: np.ndarray | None = None) -> tuple[float, float, float, float]:
    """Spearman's rho, its 95 % interval and the p of rho = 0; with `given`, the partial rho of the ranks.

    The interval is Fisher's z with variance (1 + rho^2 / 2) / (n - 3 - what is held fixed) (Bonett and Wright, Sample
    Size Requirements for Estimating Pearson, Kendall and Spearman Correlations, 2000), p Student's t. 36 pairs of
    normal values with rho 0 to .8: the interval held the truth 95 to 96 times in 100.
    """
    from scipy import stats

    fixed = 0 if given is None else 1
    ranks = [stats.rankdata(one) for one in (x, y, *([] if given is None else [given]))]
    n = len(x)
    if n < 4 + fixed or min(np.ptp(rank) for rank in ranks) == 0:
        return (math.nan,) * 4
    r = np.corrcoef(ranks)
    rho = r[0, 1]
    if fixed:
        rest = (1 - r[0, 2] ** 2) * (1 - r[1, 2] ** 2)
        rho = (rho - r[0, 2] * r[1, 2]) / math.sqrt(rest) if rest > 1e-12 else math.nan
    if not abs(rho) < 1 - 1e-12:
        return float(rho), math.nan, math.nan, math.nan
    half = stats.norm.ppf(0.975) * math.sqrt((1 + rho**2 / 2) / (n - 3 - fixed))
    p = 2 * stats.t.sf(abs(rho) * math.sqrt((n - 2 - fixed) / (1 - rho**2)), n - 2 - fixed)
    return float(rho), *(math.tanh(math.atanh(rho) + side * half) for side in (-1, 1)), float(p)


def related(table: pd.DataFrame, slope: str = "relative", by: Sequence[str] = ()) -> pd.DataFrame:
    """Spearman's rho of each of `RELATED` with a slope over constraints, a row each and cell of `by`.

    Columns: `by`, slope, with, given, estimate, low, high, p, n (constraints), n_unscored (without a slope or value),
    method. Slopes are negative: a negative rho says that constraints with more of it decline faster. The sign can hang
    on the definition: in the paper's tables rho of the gap is -.60 with the slope of retention and +.10 with the
    absolute one, since the first is divided by the rate at k = 1. Constraints are taken as drawn from others like them.
    Values that rest on few checks are noisy, which draws every rho towards 0, and k1 stands in two slopes itself.
    """
    import pandas as pd

    out = []
    for names, cell in cells(table.assign(_slope=_slope(table, slope)), by):
        for name, given in RELATED:
            used = cell[["_slope", name, *([given] if given else [])]].astype(float).dropna()
            found = spearman(
                used[name].to_numpy(), used["_slope"].to_numpy(), used[given].to_numpy() if given else None
            )
            row = {"slope": slope, "with": name, "given": given}
            row |= dict(zip(("estimate", "low", "high", "p"), found, strict=True))
            row |= {"n": len(used), "n_unscored": len(cell) - len(used)}
            out.append(names | row | {"method": "Fisher z, constraints as units"})
    columns = ["slope", "with", "given", "estimate", "low", "high", "p", "n", "n_unscored", "method"]
    return pd.DataFrame(out, columns=[*by, *columns])


def slope_by_dimension(table: pd.DataFrame, slope: str = "relative", by: Sequence[str] = ()) -> pd.DataFrame:
    """The mean slope of the constraints of each dimension, every constraint with the same weight; steepest first.

    Columns: `by`, dimension, slope, estimate, low, high (t over constraints), n (constraints), n_unscored, method.
    """
    import pandas as pd

    out = []
    for names, cell in cells(table.assign(_slope=_slope(table, slope)), [*by, "dimension"]):
        known = cell["_slope"].dropna()
        found = resample.mean(known.to_numpy())._asdict()
        method = found.pop("method").replace("cluster", "constraint")
        out.append(names | {"slope": slope} | found | {"n_unscored": len(cell) - len(known), "method": method})
    columns = ["dimension", "slope", "estimate", "low", "high", "n", "n_unscored", "method"]
    return pd.DataFrame(out, columns=[*by, *columns]).sort_values([*by, "estimate"], kind="stable", ignore_index=True)


def slope_ratio(
    table: pd.DataFrame,
    slope: str = "relative",
    dimensions: tuple[str, str] = ("structural", "lexical"),
    by: Sequence[str] = (),
) -> pd.DataFrame:
    """How many times as fast the constraints of one dimension decline as those of another: the ratio of mean slopes.

    Columns: `by`, slope, dimensions, estimate, low, high, n (constraints of both), n_unscored, method. The interval is
    Fieller's over constraints, with Welch's degrees of freedom: six and six of them carry it, whatever the number of
    checks (the paper's 1.9 to 2.3 takes checks for independent). Where the second mean can't be told from 0 there is no
    finite one: the ends are -inf and inf.
    """
    import pandas as pd

    out = []
    for names, cell in cells(table.assign(_slope=_slope(table, slope)), by):
        both = [cell.loc[cell["dimension"] == name, "_slope"] for name in dimensions]
        known = [one.dropna().to_numpy() for one in both]
        row: dict[str, Any] = {"slope": slope, "dimensions": " / ".join(dimensions)} | _fieller(*known)
        row |= {"n": sum(map(len, known)), "n_unscored": sum(map(len, both)) - sum(map(len, known))}
        out.append(names | row)
    columns = ["slope", "dimensions", "estimate", "low", "high", "n", "n_unscored", "method"]
    return pd.DataFrame(out, columns=[*by, *columns])


def _fieller(x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """The ratio of the means of two independent groups, with Fieller's interval."""
    from scipy import stats

    nothing = {"low": math.nan, "high": math.nan}
    if not (len(x) and len(y)) or y.mean() == 0:
        return {"estimate": math.nan, **nothing, "method": "undefined: a mean is missing or 0"}
    q = float(x.mean() / y.mean())
    if min(len(x), len(y)) < 2:
        return {"estimate": q, **nothing, "method": "a single constraint: no interval"}
    v, w = (float(one.var(ddof=1) / len(one)) for one in (x, y))
    if v + q * q * w == 0:
        return {"estimate": q, **nothing, "method": "no spread: no interval"}
    freedom = (v + q * q * w) ** 2 / (v**2 / (len(x) - 1) + (q * q * w) ** 2 / (len(y) - 1))
    t2 = float(stats.t.ppf(0.975, freedom)) ** 2
    a, b, c = y.mean() ** 2 - t2 * w, x.mean() * y.mean(), x.mean() ** 2 - t2 * v
    method = f"Fieller, t, {freedom:.1f} degrees of freedom, {len(x)} and {len(y)} constraints"
    if a <= 0:
        return {
            "estimate": q,
            "low": -math.inf,
            "high": math.inf,
            "method": f"{method}; the second can't be told from 0",
        }
    root = math.sqrt(max(b * b - a * c, 0.0))
    return {"estimate": q, "low": (b - root) / a, "high": (b + root) / a, "method": method}


def profile_terciles(table: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """The mean rate at k = 1 of the thirds of constraints by overall mCSR, easy to hard; a row per cell and third.

    Columns: `by`, tercile, estimate, low, high (t over constraints), n (constraints), n_unscored (without a rate at
    k = 1), method, constraints (ids).
    """
    import pandas as pd

    out = []
    for names, cell in cells(table, by):
        ordered = cell.sort_values("mCSR", ascending=False, kind="stable")
        for number, name in enumerate(TERCILES):
            part = ordered.iloc[len(ordered) * number // 3 : len(ordered) * (number + 1) // 3]
            known = part["k1"].astype(float).dropna()
            found = resample.mean(known.to_numpy(), bounds=(0.0, 1.0))._asdict()
            method = found.pop("method").replace("cluster", "constraint")
            row = {"tercile": name} | found | {"n_unscored": len(part) - len(known), "method": method}
            out.append(names | row | {"constraints": " ".join(part["constraint"])})
    columns = ["tercile", "estimate", "low", "high", "n", "n_unscored", "method", "constraints"]
    return pd.DataFrame(out, columns=[*by, *columns])
