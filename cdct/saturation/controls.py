"""Is it the number of constraints, or which ones, in what order, with what parameters? The controls of section 4.

The difficulty of a constraint is one minus its rate at k = 1 alone; that of a probe is the mean over its constraints.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cdct.core import stream
from cdct.saturation.analysis import summarise
from cdct.saturation.profiles import TERCILES, spearman
from cdct.saturation.rates import RATE_COLUMNS, cells, final
from cdct.stats.association import count, holm
from cdct.stats.correlation import correlation

if TYPE_CHECKING:
    import pandas as pd

ORDERED = ("table-order",)
"""Arms that list constraints in the order of the table: there a position is a type."""
DRAWS = 2000


def difficulties(checks: pd.DataFrame, leave_out: bool = True) -> pd.DataFrame:
    """One row per item: item, k, difficulty, n (checks at k = 1 that it rests on), constraints, unknown.

    difficulty: the mean over the item's constraints of one minus their pass rate at k = 1, over the models given. With
    `leave_out` an item at k = 1 is measured by others alone: its own replies must not say how hard it is. NaN where
    one of its constraints (`unknown` of them) has no other check at k = 1.
    """
    rows = final(checks)
    alone = rows[(rows["k"] == 1) & rows["passed"].notna()]
    of_item = alone.groupby(["constraint", "item"], observed=True)["passed"].agg(["sum", "count"])
    of_type = of_item.groupby("constraint", observed=True).sum()
    table = rows.drop_duplicates(["item", "position"])[["item", "k", "constraint"]]
    hits, n = (of_type[name].reindex(table["constraint"]).fillna(0).to_numpy() for name in ("sum", "count"))
    if leave_out:
        own = of_item.reindex(list(zip(table["constraint"], table["item"], strict=True))).fillna(0)
        hits, n = hits - own["sum"].to_numpy(), n - own["count"].to_numpy()
    table = table.assign(difficulty=1 - hits / np.where(n > 0, n, np.nan), n=n, unknown=n == 0)
    groups = table.groupby(["item", "k"], sort=False, observed=True)
    out = groups.agg(n=("n", "sum"), constraints=("n", "size"), unknown=("unknown", "sum"), mean=("difficulty", "mean"))
    out["difficulty"] = out["mean"].where(out["unknown"] == 0).round(12)  # equal ones are equal, whatever their sums
    columns = ["item", "k", "difficulty", "n", "constraints", "unknown"]
    return out.reset_index()[columns].astype({"n": int, "unknown": int})


def difficulty_by_k(checks: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Whether probes with more constraints have harder ones: Kruskal and Wallis' test of difficulty over k.

    Columns: `by`, H, df, p, estimate (epsilon squared: the share of the variance of ranks that k explains), n (items),
    n_unscored (items of unknown difficulty), lowest and highest (the least and the greatest mean difficulty of a k),
    method. Units are items. H has one degree of freedom less than there are k (the paper's p of .96 for its H of 6.23
    needs 14, while it has 12 k: 11 give .86).
    """
    import pandas as pd
    from scipy import stats

    out = []
    for names, cell in cells(checks, by):
        table = difficulties(cell, leave_out=False)
        known = table[table["difficulty"].notna()]
        groups = [group["difficulty"].to_numpy() for _, group in known.groupby("k")]
        row: dict[str, Any] = {"H": math.nan, "df": len(groups) - 1, "p": math.nan, "estimate": math.nan}
        method = "undefined: fewer than two k, or no spread"
        if len(groups) > 1 and np.ptp(known["difficulty"]) > 0:
            found = stats.kruskal(*groups)
            row |= {"H": float(found.statistic), "p": float(found.pvalue)}
            row["estimate"] = row["H"] / (len(known) - 1)
            method = "Kruskal and Wallis, items as units"
        means = known.groupby("k")["difficulty"].mean()
        row |= {"n": len(known), "n_unscored": len(table) - len(known), "lowest": means.min(), "highest": means.max()}
        out.append(names | row | {"method": method})
    columns = ["H", "df", "p", "estimate", "n", "n_unscored", "lowest", "highest", "method"]
    return pd.DataFrame(out, columns=[*by, *columns])


def terciles(
    checks: pd.DataFrame, by: Sequence[str] = ("model",), metric: str = "sCSR", without: Sequence[str] = ()
) -> pd.DataFrame:
    """A metric by thirds of the probes of each k, from easy to hard, one row per cell of `by`, k and tercile.

    Columns: `by`, k, tercile (easy, medium, hard; unknown: an item with a constraint that was never asked alone),
    difficulty (mean), metric, and those of `summarise`. The thirds are of items, the same for all models; equally hard
    ones are not parted, so that thirds can differ in size. Easy and hard differ at k = 1 because they were told apart
    there; what they do at larger k is the finding.

    Args:
        without: constraints whose items are left out, such as the immune ones.
    """
    rows = final(checks, by)
    rows = rows[~rows["item"].isin(rows.loc[rows["constraint"].isin(without), "item"])]
    table = difficulties(rows).set_index("item")
    table["tercile"] = "unknown"
    for _, group in table[table["difficulty"].notna()].groupby("k"):
        place = (group["difficulty"].rank(method="average") - 0.5) / len(group)
        named = np.select([place < 1 / 3, place < 2 / 3], TERCILES[:2], TERCILES[2])
        table.loc[group.index, "tercile"] = named
    marked = rows.assign(**{name: rows["item"].map(table[name]) for name in ("tercile", "difficulty")})
    cell = [*by, "k", "tercile"]
    found = summarise(marked, cell, [metric])
    means = marked.drop_duplicates([*by, "item"]).groupby(cell)["difficulty"].mean().reset_index()
    columns = [*cell, "difficulty", "metric", *RATE_COLUMNS]
    order = {name: place for place, name in enumerate((*TERCILES, "unknown"))}
    both = found.merge(means, on=cell, how="left").assign(_place=lambda t: t["tercile"].map(order))
    return both.sort_values([*by, "k", "_place"], ignore_index=True)[columns]


# ------------------------------------------------------------------------------------------------ order and parameters


def positions(checks: pd.DataFrame, by: Sequence[str] = ("model",), draws: int = DRAWS, seed: int = 0) -> pd.DataFrame:
    """Whether a constraint's place in the prompt matters: r of position and pass, one row per cell of `by` and k > 1.

    Columns: `by`, k, estimate, low, high, p, p_holm (over all rows), by_chance (the mean |r| where position does not
    matter), n (checks), n_unscored, method. Positions are shuffled within each probe, so r (which is Spearman's rho
    too, positions being even and passes 0 or 1) is not confounded with types, and p is that of the shuffling itself:
    each probe's passes, summed over models, in every order, by their exact variance. The interval is that of
    `cdct.stats.correlation`. A mean |r| near `by_chance` shows nothing. ValueError for arms that order constraints.
    """
    import pandas as pd
    from scipy import stats

    rows = final(checks, by)
    if ordered := sorted(set(rows["arm"]) & set(ORDERED)):
        raise ValueError(
            f"positions: in the arm {ordered[0]!r} constraints are not shuffled; a position is a type there"
        )
    out = []
    for names, cell in cells(rows[rows["k"] > 1], [*by, "k"]):
        known = cell[cell["passed"].notna()]
        models = known["model"] if count(known["model"]) > 1 else None
        x, y = known["position"].to_numpy(dtype=float), known["passed"].to_numpy(dtype=float)
        found = correlation(x, y, known["item"], models, seed, draws).estimate
        sums = known.groupby(["item", "position"], observed=True)["passed"].sum().reset_index()
        groups = sums.groupby("item", observed=True)
        centred = {name: sums[name] - groups[name].transform("mean") for name in ("position", "passed")}
        apart = (centred["position"] * centred["passed"]).sum()
        squares = [(one**2).groupby(sums["item"]).sum() for one in centred.values()]
        variance = float((squares[0] * squares[1] / (groups.size() - 1).clip(lower=1)).sum())
        scale = math.sqrt(len(x) * x.var() * len(y) * y.var()) if len(x) else 0.0
        row = {"p": 2 * float(stats.norm.sf(abs(apart) / math.sqrt(variance))) if variance else math.nan}
        row |= {"by_chance": math.sqrt(2 / math.pi * variance) / scale if scale else math.nan}
        row |= found._asdict() | {"n_unscored": len(cell) - len(known)}
        out.append(names | row)
    columns = ["estimate", "low", "high", "p", "p_holm", "by_chance", "n", "n_unscored", "method"]
    table = pd.DataFrame(out, columns=[*by, "k", *columns])
    return table.assign(p_holm=holm(table["p"].to_numpy(dtype=float)))


def drift(checks: pd.DataFrame, draws: int = DRAWS, seed: int = 0) -> pd.DataFrame:
    """Whether parameters change with k: what can hold together at a large k may need other ones. A row per parameter.

    Columns: constraint, parameter, measure, estimate, low, high, p, p_holm (over all rows), mean_first and mean_last
    (numbers: at the smallest and the largest k), n (checks of different items), n_unscored, method. Numbers: Spearman's
    rho with k. Letters, words and lists: Cramer's V with k, p by permuting k, no interval; NaN where more than half of
    the values are all different. Units are items; models and replies play no part.
    """
    import pandas as pd

    asked = final(checks, ["arm"]).drop_duplicates(["item", "position"])
    out = []
    for id, cell in asked.groupby("constraint", sort=True, observed=True):
        told, k = [json.loads(one) for one in cell["params"]], cell["k"].to_numpy(dtype=float)
        for name in told[0]:
            values = [one[name] for one in told]
            row = {"constraint": id, "parameter": name, "n": len(values), "n_unscored": 0}
            if all(isinstance(one, int | float) and not isinstance(one, bool) for one in values):
                x = np.array(values, dtype=float)
                found = dict(zip(("estimate", "low", "high", "p"), spearman(x, k), strict=True))
                ends = {"mean_first": float(x[k == k.min()].mean()), "mean_last": float(x[k == k.max()].mean())}
                row |= found | ends | {"measure": "rho", "method": "Fisher z, items as units"}
            else:
                row |= _cramer([json.dumps(one) for one in values], k, draws, stream("cse", "drift", seed, id, name))
            out.append(row)
    columns = [
        "constraint",
        "parameter",
        "measure",
        "estimate",
        "low",
        "high",
        "p",
        "p_holm",
        "mean_first",
        "mean_last",
    ]
    table = pd.DataFrame(out, columns=[*columns, "n", "n_unscored", "method"])
    return table.assign(p_holm=holm(table["p"].to_numpy(dtype=float)))


def _cramer(values: Sequence[str], k: np.ndarray, draws: int, rng: np.random.Generator) -> dict[str, Any]:
    kinds, value = np.unique(values, return_inverse=True)
    levels, level = np.unique(k, return_inverse=True)
    shape = (len(kinds), len(levels))
    if len(kinds) > len(values) / 2 or min(shape) < 2:
        why = "a single value, or k" if min(shape) < 2 else "more than half of the values are all different"
        return {"measure": "V", "estimate": math.nan, "p": math.nan, "method": f"undefined: {why}"}
    expected = np.outer(np.bincount(value), np.bincount(level)) / len(k)

    def chi2(level: np.ndarray) -> float:
        counts = np.bincount(value * shape[1] + level, minlength=shape[0] * shape[1]).reshape(shape)
        return float(((counts - expected) ** 2 / expected).sum())

    seen = chi2(level)
    more = sum(chi2(rng.permutation(level)) >= seen - 1e-9 for _ in range(draws))
    found = {"estimate": math.sqrt(seen / len(k) / (min(shape) - 1)), "p": (more + 1) / (draws + 1)}
    return {"measure": "V"} | found | {"method": f"permutation of k, {draws} draws"}
