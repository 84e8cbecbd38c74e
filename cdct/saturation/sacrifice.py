"""What is given up on probes that can't be passed: which constraint of a contradiction, and which of many.

Source: the CSE paper, appendix R (Table 12, Figure 3). Two regimes: a choice between two constraints that contradict
each other, and a set that is impossible only as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cdct.core import KEYS, Item, stream
from cdct.saturation.rates import RATE_COLUMNS, bounded_mean, cells, final, rate_row
from cdct.saturation.score import probes
from cdct.stats.association import holm, mean_test

if TYPE_CHECKING:
    import pandas as pd

IMPOSSIBLE = "impossible"
CHOICE, BUDGET = "binary choice", "budget"
"""Regimes: the contradiction that the proof names has two constraints, or more."""


def with_cores(checks: pd.DataFrame, items: Sequence[Item]) -> pd.DataFrame:
    """The checks of impossible probes with `core` (True: one of the contradicting constraints) and `regime`.

    ValueError for checks of an impossible probe that is none of the items, and where there are none at all.
    """
    rows = final(checks[checks["kind"] == IMPOSSIBLE], ["arm"])
    if rows.empty:
        raise ValueError("sacrifice: there is no impossible probe among the checks")
    cores = {item.id: frozenset(item.truth["core"]) for item in items if item.truth["kind"] == IMPOSSIBLE}
    if strange := sorted(set(rows["item"]) - set(cores)):
        raise ValueError(f"sacrifice: {strange[0]!r} is none of the {len(cores)} impossible items given")
    core = [place - 1 in cores[item] for item, place in zip(rows["item"], rows["position"], strict=True)]
    regime = [CHOICE if len(cores[item]) == 2 else BUDGET for item in rows["item"]]
    return rows.assign(core=core, regime=regime)


def passed_impossible(checks: pd.DataFrame) -> pd.DataFrame:
    """The replies that pass all checks of an impossible probe: KEYS, k, family. Each refutes a proof, or a verifier."""
    rows = probes(checks[checks["kind"] == IMPOSSIBLE])
    return rows.loc[rows["passed_all"] == 1, [*KEYS, "k", "family"]].reset_index(drop=True)


def survival(rows: pd.DataFrame, by: Sequence[str] = ("regime",), seed: int = 0, draws: int = 2000) -> pd.DataFrame:
    """How often each constraint type is kept on impossible probes, most often kept first, in each cell of `by`.

    rows: of `with_cores`, or checks. Columns: `by`, constraint, dimension, count (checks passed), estimate, low, high,
    n (checks), n_unscored, n_probes, few, estimate_all, method (as in `cdct.saturation.analysis.summarise`: clustered
    by probe, and by model where there are several), mean_score, rank (1: kept most often), rank_low, rank_high (2.5 and
    97.5 % of the ranks in a bootstrap of probes; ties share their mean). Ranks compare the types of one cell, each on
    the probes that have it: a type that comes with easy company has a better one.
    """
    import pandas as pd
    from scipy import stats

    out = []
    for names, cell in cells(final(rows, by), by):
        part = []
        for (constraint, dimension), mine in cell.groupby(["constraint", "dimension"], sort=True):
            row = {"constraint": constraint, "dimension": dimension, "count": int(mine["passed"].sum())}
            part.append(names | row | rate_row(mine["passed"], mine) | {"mean_score": mine["score"].mean()})
        rates = np.array([row["estimate"] for row in part])
        drawn = _drawn_rates(cell, [row["constraint"] for row in part], stream("cse", "survival", seed), draws)
        ranks = stats.rankdata(-drawn, axis=1, nan_policy="omit")
        place = stats.rankdata(-rates, nan_policy="omit")
        for number, row in enumerate(part):
            low, high = np.nanquantile(ranks[:, number], [0.025, 0.975]) if len(rates) > 1 else (1.0, 1.0)
            row |= {"rank": float(place[number]), "rank_low": float(low), "rank_high": float(high)}
        out += sorted(part, key=lambda row: row["rank"] if row["rank"] == row["rank"] else math.inf)
    columns = ["constraint", "dimension", "count", *RATE_COLUMNS[:-1], "method", "mean_score"]
    return pd.DataFrame(out, columns=[*by, *columns, "rank", "rank_low", "rank_high"])


def _drawn_rates(rows: pd.DataFrame, types: Sequence[str], rng: np.random.Generator, draws: int) -> np.ndarray:
    """The rate of each type in every draw of the probes with replacement, (draws, types); NaN where none has it."""
    known = rows[rows["passed"].notna()]
    items, item = np.unique(known["item"].to_numpy(dtype=object).astype(str), return_inverse=True)
    place = {name: number for number, name in enumerate(types)}
    at = known["constraint"].map(place).to_numpy()
    sums = np.zeros((2, len(items), len(types)))
    np.add.at(sums, (0, item, at), known["passed"].to_numpy(dtype=float))
    np.add.at(sums, (1, item, at), 1)
    times = rng.multinomial(len(items), np.full(len(items), 1 / max(len(items), 1)), draws).astype(float)
    passed, n = times @ sums[0], times @ sums[1]
    return np.divide(passed, n, out=np.full(n.shape, np.nan), where=n > 0)


def choices(
    rows: pd.DataFrame, by: Sequence[str] = ("family",), satisfiable: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Which of two contradicting constraints is kept, for each cell of `by` and each pair of types.

    rows: of `with_cores`; those of binary choices are read. satisfiable: checks of probes that can be passed, which say
    which of the two is easier. Columns: `by`, a, b (types; a the one that is kept more often), kept_a, kept_b (shares
    of replies that keep it), only_a, only_b, neither, both (replies; one that keeps both refutes the proof), estimate
    (share that keeps a among those that keep one alone), low, high (clustered by probe and, with several, by model), p
    (of one half, over the same clusters), p_holm, easier (the type with the higher rate on satisfiable probes, "" if
    that is not known), n (replies that keep one alone), n_probes, n_models, n_unscored (replies), method.

    a is chosen by looking, so that its share is at least one half by construction: p, of two sides, allows for that.
    The paper has three probes of a family, few however many models answer them.
    """
    import pandas as pd

    pairs = rows[(rows["regime"] == CHOICE) & rows["core"]].sort_values([*KEYS, "constraint", "position"])
    ease = {} if satisfiable is None else satisfiable.groupby("constraint")["passed"].mean().to_dict()
    first, second = pairs.iloc[::2].reset_index(drop=True), pairs.iloc[1::2].reset_index(drop=True)
    replies = first.assign(a=first["constraint"], b=second["constraint"], other=second["passed"])
    out = []
    for names, cell in cells(replies, [*by, "a", "b"]):
        known = cell[cell["passed"].notna() & cell["other"].notna()]
        one, other = known["passed"].to_numpy(dtype=float), known["other"].to_numpy(dtype=float)
        row = {**names, "n_unscored": len(cell) - len(known)}
        if other.sum() > one.sum():
            one, other = other, one
            row |= {"a": names["b"], "b": names["a"]}
        apart = one != other
        items, models = (known.loc[apart, name].to_numpy() for name in ("item", "model"))
        row |= {"kept_a": _mean(one), "kept_b": _mean(other), "both": int((one * other).sum())}
        row |= {"only_a": int((one > other).sum()), "only_b": int((other > one).sum())}
        row |= {"neither": int(((one + other) == 0).sum()), **bounded_mean(one[apart], items, models)._asdict()}
        row["p"] = mean_test(one[apart] - 0.5, items, models, (-0.5, 0.5))[0]
        row |= {"n_probes": len(np.unique(items)), "n_models": len(np.unique(models))}
        rates = [ease.get(row[name], math.nan) for name in ("a", "b")]
        row["easier"] = "" if rates[0] == rates[1] or math.isnan(sum(rates)) else row["ab"[rates[1] > rates[0]]]
        out.append(row)
    columns = ["a", "b", "kept_a", "kept_b", "only_a", "only_b", "neither", "both", "estimate", "low", "high", "p"]
    table = pd.DataFrame(out, columns=[*by, *columns, "easier", "n", "n_probes", "n_models", "n_unscored", "method"])
    table.insert(table.columns.get_loc("p") + 1, "p_holm", holm(table["p"].to_numpy(dtype=float)))
    return table


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else math.nan


def order_kept(rows: pd.DataFrame, satisfiable: pd.DataFrame, seed: int = 0, draws: int = 2000) -> pd.DataFrame:
    """Whether what is easy on satisfiable probes is what survives on impossible ones, in each regime.

    rows: of `with_cores`; satisfiable: checks of probes that can be passed, of the same models. Of a binary choice the
    two contradicting constraints are read, of the others all. Columns: regime, estimate (Spearman's rho over types, of
    rates on both kinds of probes; 1: the order is kept, -1: turned round), low, high (bootstrap of the probes of both
    kinds), n (types), n_probes, few (fewer than four types), method. Noise of the rates draws rho towards 0.
    """
    import pandas as pd
    from scipy import stats

    satisfiable = final(satisfiable, [])
    out = []
    for regime in (CHOICE, BUDGET):
        mine = rows[(rows["regime"] == regime) & (rows["core"] | (regime == BUDGET)) & rows["passed"].notna()]
        types = sorted(set(mine["constraint"]) & set(satisfiable.loc[satisfiable["passed"].notna(), "constraint"]))
        row: dict[str, Any] = {
            "regime": regime,
            "n": len(types),
            "n_probes": mine["item"].nunique(),
            "few": len(types) < 4,
        }
        if len(types) < 3:
            out.append(row | {"method": "fewer than three types: no correlation"})
            continue
        both = [frame[frame["constraint"].isin(types)] for frame in (mine, satisfiable)]
        rates = [frame.groupby("constraint")["passed"].mean().loc[types] for frame in both]
        rng = stream("cse", "order", seed)
        drawn = [_drawn_rates(frame, types, rng, draws) for frame in both]
        rhos = np.array([_spearman(*pair) for pair in zip(*drawn, strict=True)])
        rhos = rhos[~np.isnan(rhos)]
        ends = np.quantile(rhos, [0.025, 0.975]) if len(rhos) > draws / 2 else (math.nan, math.nan)
        row |= {"estimate": float(stats.spearmanr(*rates).statistic), "low": ends[0], "high": ends[1]}
        out.append(row | {"method": "Spearman, bootstrap of probes"})
    return pd.DataFrame(out, columns=["regime", "estimate", "low", "high", "n", "n_probes", "few", "method"])


def _spearman(x: np.ndarray, y: np.ndarray) -> float:
    from scipy import stats

    known = ~(np.isnan(x) | np.isnan(y))
    if known.sum() < 3:
        return math.nan
    one, other = (stats.rankdata(part[known]) for part in (x, y))
    if not (one.std() and other.std()):
        return math.nan
    return float(np.corrcoef(one, other)[0, 1])
