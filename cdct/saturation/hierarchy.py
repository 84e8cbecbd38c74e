"""How each constraint fares when others are added: retention, half-lives, slopes, the immune, and what goes with them.

The rate of a constraint at k is the share of its checks at k that are passed, its retention that rate over the rate at
k = 1 (paper, section 4). Everything rests on few probes at k = 1: of 340, some nine have a given constraint.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cdct.saturation.analysis import CROSSING_COLUMNS, crossings
from cdct.saturation.constraints import CONSTRAINTS, DIMENSIONS
from cdct.saturation.rates import FEW, cell_means, final

if TYPE_CHECKING:
    import pandas as pd

LATE = 8
"""The paper speaks of immune constraints by their rate from this k on."""
KEPT, FLAT, TRIVIAL = 0.8, -0.02, 0.05
"""The paper's criteria: retention above .8 (Table 2); or a slope above -.02 and a late rate above .05 (appendix F)."""
SLOPES = {
    "absolute": "least squares slope of the rate over k, in points per constraint (the paper's figure 6)",
    "relative": "the absolute slope over the rate at k = 1, which is the slope of the pooled retention",
    "retention": "mean over models of the slope of each model's own retention; with one model the same as relative",
}
"""The paper's slopes differ: figure 6 has absolute ones, section 4 gives relative ones by dimension, and Table 2 has a
column that is neither; the mean over models is the reading of its "retention" that is left."""


class _Rates(NamedTuple):
    """The rates of one constraint by k: pooled over models, with limits clustered by item, and without each model."""

    k: np.ndarray
    p: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: np.ndarray
    first_probes: int
    n_unscored: int
    each: np.ndarray  # models x k, NaN where a model has no check
    without: np.ndarray  # models x k; no rows for a single model


def _units(checks: pd.DataFrame, by: Sequence[str], unit: str) -> Iterator[tuple[dict[str, Any], _Rates]]:
    """The rates of each constraint (or dimension) in each cell of `by`, in the order in which they come."""
    if unit not in ("constraint", "dimension"):
        raise ValueError(f"unit must be 'constraint' or 'dimension', got {unit!r}")
    rows = final(checks, by)
    named = list(dict.fromkeys([*by, unit, "dimension"]))
    groups = rows.groupby(list(dict.fromkeys([*by, unit])), sort=False, observed=True)
    of, names = groups.ngroup().to_numpy(), rows.loc[(groups.cumcount() == 0).to_numpy(), named]
    passed = rows["passed"].to_numpy(dtype=float)
    known = ~np.isnan(passed)
    ks, k = np.unique(rows["k"].to_numpy(dtype=int), return_inverse=True)
    items, models = (rows[name].factorize()[0] for name in ("item", "model"))
    units, m = len(names), models.max(initial=0) + 1
    cell = of * len(ks) + k
    rates = cell_means(passed[known], cell[known], items[known], units * len(ks))
    found = np.column_stack(rates[:5]).reshape(units, len(ks), 5)
    place = (of * m + models) * len(ks) + k
    sums, counts = (
        np.bincount(place[known], weights, units * m * len(ks)).reshape(units, m, len(ks))
        for weights in (passed[known], None)
    )
    unscored = np.bincount(of[~known], minlength=units)
    present = np.bincount(of * m + models, minlength=units * m).reshape(units, m) > 0
    for number, name in enumerate(names.to_dict("records")):
        asked, own = found[number, :, 3] > 0, present[number]
        hits, n = sums[number][own][:, asked], counts[number][own][:, asked]
        with np.errstate(invalid="ignore", divide="ignore"):
            each, without = hits / n, (hits.sum(axis=0) - hits) / (n.sum(axis=0) - n)
        p, low, high, total, probes = found[number, asked].T
        first = int(probes[0]) if len(p) and ks[asked][0] == 1 else 0
        without = without if len(each) > 1 else without[:0]
        yield name, _Rates(ks[asked], p, low, high, total, first, int(unscored[number]), each, without)


def _spread(of: Callable[[np.ndarray], np.ndarray], rates: _Rates) -> tuple[float, float, float]:
    """A function of the rates by k with its 95 % interval.

    The rates at different k come from different probes. Each is moved to either end of its interval while the others
    stay, and the distances by which the function moves are added in squares (MOVER; Zou and Donner, Construction of
    Confidence Limits about Effect Measures, 2008). With several models the variance between them, from leaving out one
    at a time, is added, with Student's t of one degree of freedom less.

    With nine probes of a constraint at each k, which is what 340 probes give, it held the truth 95 to 100 times in 100;
    percentiles of a bootstrap of probes 72 to 94 times for retention and 93 for slopes, since rates near 0 and 1 have
    too little spread in a sample.
    """
    from scipy import stats

    p, k = rates.p, len(rates.p)
    value = float(of(p))
    if not math.isfinite(value):
        return math.nan, math.nan, math.nan
    moved = np.repeat(p[None], 2 * k, axis=0)
    moved[range(k), range(k)], moved[range(k, 2 * k), range(k)] = rates.low, rates.high
    with np.errstate(invalid="ignore", divide="ignore"):
        distances = (of(moved) - value).reshape(2, k)
        one_out = of(rates.without) - value
    distances = np.nan_to_num(distances, nan=0.0, posinf=math.inf, neginf=-math.inf)
    between, m = 0.0, len(rates.without)
    if m:
        t = float(stats.t.ppf(0.975, m - 1))
        finite = bool(np.isfinite(one_out).all())  # without one model there may be no rate at k = 1
        between = t * t * (m - 1) / m * float(np.sum((one_out - one_out.mean()) ** 2)) if finite else math.inf
    down = math.sqrt(float(np.sum(np.minimum(distances.min(axis=0), 0) ** 2)) + between)
    up = math.sqrt(float(np.sum(np.maximum(distances.max(axis=0), 0) ** 2)) + between)
    return value, value - down, value + up


def _kept(of: Callable[[np.ndarray], np.ndarray], rates: _Rates) -> tuple[float, float, float]:
    """`_spread` of what can't be negative."""
    value, low, high = _spread(of, rates)
    return value, max(low, 0.0) if low == low else low, high


def _counts(rates: _Rates) -> dict[str, Any]:
    return {"n": int(rates.n.sum()), "n_unscored": rates.n_unscored, "few": rates.first_probes < FEW}


def _method(rates: _Rates) -> str:
    models = len(rates.without)
    return f"MOVER over {len(rates.k)} k" + (f", jackknife over {models} models" if models else "")


def _first(rates: _Rates) -> float:
    return float(rates.p[0]) if len(rates.k) and rates.k[0] == 1 else math.nan


def _no_first(rates: _Rates) -> str:
    """Why there is no retention, "" where there is one."""
    return "no check at k = 1" if math.isnan(_first(rates)) else "the rate at k = 1 is 0" if not _first(rates) else ""


def retention(checks: pd.DataFrame, by: Sequence[str] = (), unit: str = "constraint") -> pd.DataFrame:
    """The rate of each constraint at each k over its rate at k = 1, one row per cell of `by`, constraint and k.

    Columns: `by`, constraint (or `unit`), dimension, k, rate, estimate (1 at k = 1 by definition; may lie above 1),
    low, high, n (checks at k), n_first (at k = 1), n_unscored (of the constraint), few (fewer than `rates.FEW` probes
    at k = 1), method. NaN where there is no check at k = 1, or none is passed; the high end is infinite where the rate
    at k = 1 can't be told from 0.
    """
    import pandas as pd

    out = []
    for names, rates in _units(checks, by, unit):
        why = _no_first(rates)
        for place, k in enumerate(rates.k):
            found = (math.nan, math.nan, math.nan)
            if not why:
                found = (1.0, 1.0, 1.0) if k == 1 else _kept(lambda p, at=place: p[..., at] / p[..., 0], rates)
            ends = dict(zip(("estimate", "low", "high"), found, strict=True)) | {"low": max(found[1], 0.0)}
            counts = _counts(rates) | {"n": int(rates.n[place]), "n_first": 0 if why[:2] == "no" else int(rates.n[0])}
            out.append(
                names | {"k": int(k), "rate": rates.p[place]} | ends | counts | {"method": why or _method(rates)}
            )
    names = [*by, *dict.fromkeys((unit, "dimension"))]
    columns = ["k", "rate", "estimate", "low", "high", "n", "n_first", "n_unscored", "few", "method"]
    return in_table_order(pd.DataFrame(out, columns=[*names, *columns]), by)


def in_table_order(table: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """The rows by the cells of `by`, and in them constraints or dimensions as the paper's Table 7 lists them."""
    unit, listed = ("constraint", CONSTRAINTS) if "constraint" in table else ("dimension", DIMENSIONS.values())
    place = table[unit].map({name: place for place, name in enumerate(listed)})
    return (
        table.assign(_place=place).sort_values([*by, "_place"], kind="stable", ignore_index=True).drop(columns="_place")
    )


def half_lives(kept: pd.DataFrame, by: Sequence[str] = (), unit: str = "constraint") -> pd.DataFrame:
    """t0.5, the smallest k at which retention falls below one half; kept: of `retention`.

    Columns: `by`, constraint, and those of `cdct.saturation.analysis.k_star`: inf and "right" where it never does.
    """
    table = crossings(kept, [*by, unit], 0.5)
    # a retention that is not known is no retention of 1
    known = kept[kept["k"] == 1].set_index([*by, unit])["estimate"].notna()
    names = list(map(tuple, table[[*by, unit]].to_numpy())) if by else table[unit]
    lost = ~known.reindex(names, fill_value=False).to_numpy(dtype=bool)
    ends = {name: table[name].astype(float).mask(lost) for name in ("estimate", "low", "high")}
    return in_table_order(table.assign(**ends)[[*by, unit, *CROSSING_COLUMNS]], by)


def _weights(k: np.ndarray) -> np.ndarray:
    """What least squares gives each rate in a slope over k."""
    centred = k - k.mean()
    return centred / np.sum(centred**2)


def slopes(checks: pd.DataFrame, by: Sequence[str] = (), unit: str = "constraint") -> pd.DataFrame:
    """The slope over k of each constraint in the three definitions of `SLOPES`, one row per cell, constraint and one.

    Every k counts the same, as in the paper, whatever the number of its checks. Columns: `by`, constraint (or `unit`),
    dimension, slope (the definition), estimate, low, high (per constraint added), n (checks), n_unscored, few (fewer
    than `rates.FEW` probes at k = 1), n_models (in "retention": models with a rate at k = 1 above 0), method. NaN with
    fewer than three k, and for the last two without a rate at k = 1.
    """
    import pandas as pd

    out = []
    for names, rates in _units(checks, by, unit):
        c = _weights(rates.k) if len(rates.k) > 2 else np.full(len(rates.k), math.nan)
        why = "fewer than three k" if len(rates.k) < 3 else ""
        absolute = _spread(lambda p, c=c: p @ c, rates) if not why else (math.nan,) * 3
        why_not = why or _no_first(rates)
        relative = _spread(lambda p, c=c: p @ c / p[..., 0], rates) if not why_not else (math.nan,) * 3
        averaged, models = _averaged(rates, relative) if not why_not else ((math.nan,) * 3, 0)
        rows = (("absolute", absolute, why, 0), ("relative", relative, why_not, 0), ("retention", averaged, why_not, 1))
        for name, found, reason, own in rows:
            row = names | {"slope": name} | dict(zip(("estimate", "low", "high"), found, strict=True)) | _counts(rates)
            out.append(row | {"n_models": models if own else len(rates.each), "method": reason or _method(rates)})
    columns = ["slope", "estimate", "low", "high", "n", "n_unscored", "few", "n_models", "method"]
    return in_table_order(pd.DataFrame(out, columns=[*by, *dict.fromkeys((unit, "dimension")), *columns]), by)


def _averaged(rates: _Rates, relative: Sequence[float]) -> tuple[Sequence[float], int]:
    """The mean over models of the slope of their own retention, and their number; probes add what they do to it pooled.

    Models that never keep the constraint at k = 1 have no retention and are left out.
    """
    from scipy import stats

    found = []
    for p in rates.each:
        known = ~np.isnan(p)
        if known[0] and p[0] > 0 and known.sum() > 2:
            found.append(float(p[known] @ _weights(rates.k[known]) / p[0]))
    if len(rates.each) == 1:
        return relative, len(found)
    if len(found) < 2:
        return (found[0] if found else math.nan, math.nan, math.nan), len(found)
    value, low, high = _spread(lambda p: p @ _weights(rates.k) / p[..., 0], rates._replace(without=rates.without[:0]))
    mean = float(np.mean(found))
    between = float(stats.t.ppf(0.975, len(found) - 1) * np.std(found, ddof=1)) / math.sqrt(len(found))
    return (mean, mean - math.hypot(value - low, between), mean + math.hypot(high - value, between)), len(found)


def immune(checks: pd.DataFrame, by: Sequence[str] = (), late: int = LATE) -> pd.DataFrame:
    """The constraints by how much of their rate at k = 1 is left from k = `late` on: the immune set.

    Columns: `by`, constraint, dimension, rate_first, rate_late (over all checks from that k on), estimate (the late
    over the first rate), low, high, immune (estimate above .8, the paper's Table 2), surely (its whole interval above),
    flat (absolute slope above -.02 and late rate above .05, appendix F), n (late checks), n_first, n_unscored, few,
    method. Highest first. A constraint that is never kept at k = 1 has no retention and is not immune.
    """
    import pandas as pd

    out = []
    for names, rates in _units(checks, by, "constraint"):
        at, why = rates.k >= late, _no_first(rates)
        why = why or ("" if at.any() else f"no check at k >= {late}")
        share = np.where(at, rates.n, 0) / max(rates.n[at].sum(), 1)
        found = _kept(lambda p, w=share: p @ w / p[..., 0], rates) if not why else (math.nan,) * 3
        slope = float(rates.p @ _weights(rates.k)) if len(rates.k) > 2 else math.nan
        rate = float(rates.p @ share) if at.any() else math.nan
        row = {"rate_first": _first(rates), "rate_late": rate, "estimate": found[0], "low": found[1], "high": found[2]}
        row |= {"immune": found[0] > KEPT, "surely": found[1] > KEPT, "flat": slope > FLAT and rate > TRIVIAL}
        row |= _counts(rates) | {"n": int(rates.n[at].sum()), "n_first": int(rates.n[rates.k == 1].sum())}
        out.append(names | row | {"method": why or _method(rates)})
    columns = ["rate_first", "rate_late", "estimate", "low", "high", "immune", "surely", "flat"]
    columns = [*by, "constraint", "dimension", *columns, "n", "n_first", "n_unscored", "few", "method"]
    return pd.DataFrame(out, columns=columns).sort_values(
        [*by, "estimate"], ascending=[*[True] * len(by), False], kind="stable", ignore_index=True
    )
