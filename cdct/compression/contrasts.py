"""What differs between levels, arms, groups of models and sources of variance. Frame in, frame out.

Replies are compared in pairs: the same model and concept (and level) under two conditions, samples averaged first. A
pair with a side that could not be scored is left out and counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cdct.compression.analysis import CLUSTER, bounds_of, dips, final
from cdct.compression.prompts import BASELINE
from cdct.stats import association, permutation, resample, variance

if TYPE_CHECKING:
    import pandas as pd

PAIR = ["model", CLUSTER, "c"]
"""What a pair of replies has in common, the condition apart."""


def _cells(rows: pd.DataFrame, metric: str, by: Sequence[str] = ()) -> pd.DataFrame:
    """The mean over samples of a metric for every model, concept, level (and `by`), missing ones as NaN."""
    bounds_of(metric, rows)
    names = list(dict.fromkeys([*by, *PAIR, "domain"]))
    return final(rows, by).groupby(names, sort=True)[metric].mean().reset_index()


FEW_MODELS = 3
"""With fewer models than this, the spread between them says nothing: intervals rest on concepts, for these models."""


def _mean(values: pd.Series, cells: pd.DataFrame, bounds: tuple[float, float] | None) -> resample.Estimate:
    """A mean over models and concepts: clustered by both, by concept alone where there are fewer than `FEW_MODELS`."""
    if len(cells["model"].unique()) < FEW_MODELS:
        return resample.mean(values, cells[CLUSTER], bounds)
    return association.mean_two_way(values, cells["model"], cells[CLUSTER], bounds)


def _paired(differences: pd.DataFrame, metric_range: tuple[float, float] | None) -> dict[str, Any]:
    """A mean difference with its interval (see `_mean`) and its exact p (signs turned by concept)."""
    found = differences.dropna(subset=["difference"])
    span = None if metric_range is None else (metric_range[0] - metric_range[1], metric_range[1] - metric_range[0])
    estimate = _mean(found["difference"], found, span)
    p = permutation.sign_flip(found["difference"], found[CLUSTER])
    numbers = {name: getattr(estimate, name) for name in ("estimate", "low", "high", "n")}
    return numbers | {"n_unscored": len(differences) - len(found), "p": p, "method": estimate.method}


def level_differences(rows: pd.DataFrame, metric: str = "cc", by: Sequence[str] = ()) -> pd.DataFrame:
    """Each level against the middle one, paired within model and concept, in each cell of `by`.

    Columns: `by`, metric, c, against (the middle level), estimate (value at c minus value in the middle), low, high, n
    (pairs), n_unscored, p (exact, two-sided), p_holm (corrected for the levels of the cell), method.
    """
    import pandas as pd

    out = []
    for names, cell in _groups(_cells(rows, metric, by), by):
        wide = cell.set_index(PAIR)[metric].unstack("c")  # noqa: PD010 - pivot_table adds pairs that nobody asked
        levels = list(wide.columns)
        middle = levels[len(levels) // 2]
        table = [
            {**names, "metric": metric, "c": c, "against": middle}
            | _paired((wide[c] - wide[middle]).rename("difference").reset_index(), bounds_of(metric, rows))
            for c in levels
            if c != middle
        ]
        out += _with_holm(table)
    columns = ["metric", "c", "against", "estimate", "low", "high", "n", "n_unscored", "p", "p_holm", "method"]
    return pd.DataFrame(out, columns=[*by, *columns])


def arm_effects(
    rows: pd.DataFrame, by: Sequence[str] = ("model",), metric: str = "cc", baseline: str = BASELINE, of: str = "arm"
) -> pd.DataFrame:
    """What each other arm (or compressor: `of`) changes against the baseline, paired by model, concept and level.

    Two rows per cell of `by` and arm. Measure "difference": arm minus baseline in units of the metric, with an exact p,
    and p_holm corrected for all arms and cells of the table. Measure "log odds" (metrics on 0-1): the difference of the
    logits of the two means. The percent change of a baseline near 0 is no summary and is not given. Columns: `by`, arm,
    metric, measure, baseline, treated (means over pairs), estimate, low, high, n, n_unscored, p, p_holm, method.
    """
    import pandas as pd

    if len(rows) and baseline not in set(rows[of]):
        raise ValueError(f"no rows of the {of} {baseline!r} to compare with; there are {sorted(set(rows[of]))}")
    out: list[dict[str, Any]] = []
    for names, cell in _groups(_cells(rows, metric, [*by, of]), by):
        found = set(cell[of])
        for arm in [name for name in dict.fromkeys(rows[of]) if name != baseline and name in found]:
            asked = cell[cell[of] == arm].merge(cell[cell[of] == baseline], on=PAIR, suffixes=("_arm", "_base"))
            pairs = asked.assign(difference=asked[f"{metric}_arm"] - asked[f"{metric}_base"])
            whole = pairs.dropna(subset=["difference"])
            means = {"baseline": whole[f"{metric}_base"].mean(), "treated": whole[f"{metric}_arm"].mean()}
            shared = {**names, of: arm, "metric": metric} | means
            out.append(shared | {"measure": "difference"} | _paired(pairs, bounds_of(metric, rows)))
            if bounds_of(metric, rows) == (0.0, 1.0):
                odds = association.log_odds(whole[f"{metric}_arm"], whole[f"{metric}_base"], whole[CLUSTER])
                numbers = {name: getattr(odds, name) for name in ("estimate", "low", "high", "n", "method")}
                out.append(shared | {"measure": "log odds", "n_unscored": len(pairs) - len(whole)} | numbers)
    tested = _with_holm([row for row in out if row["measure"] == "difference"])
    rest = [row for row in out if row["measure"] != "difference"]
    columns = ["metric", "measure", "baseline", "treated", "estimate", "low", "high", "n", "n_unscored", "p", "p_holm"]
    return pd.DataFrame([*tested, *rest], columns=[*by, of, *columns, "method"])


def kept_flips(
    rows: pd.DataFrame, by: Sequence[str] = ("model",), metric: str = "near", baseline: str = BASELINE
) -> pd.DataFrame:
    """How many pairs keep the limit in one arm alone, with the exact McNemar test (metric "exact" or "near").

    Columns: `by`, arm, metric, only_arm, only_baseline, both, neither, odds_ratio, low, high, p, note ("no information"
    where no pair differs), n, n_unscored. With several samples each makes a pair of its own.
    """
    import pandas as pd

    keys = [*PAIR, "sample"]
    if metric not in ("exact", "near"):
        raise ValueError(f"kept_flips: metric must be 'exact' or 'near', which are kept or not, got {metric!r}")
    rows = final(rows, [*by, "arm"])
    out = []
    for names, cell in _groups(rows, by):
        base = cell[cell["arm"] == baseline]
        for arm in [name for name in dict.fromkeys(rows["arm"]) if name != baseline]:
            pairs = cell[cell["arm"] == arm].merge(base, on=keys, suffixes=("", "_base"))
            whole = pairs.dropna(subset=[metric, f"{metric}_base"])
            treated, control = (whole[name].astype(bool) for name in (metric, f"{metric}_base"))
            only_arm, only_base = int((treated & ~control).sum()), int((~treated & control).sum())
            test = association.mcnemar(only_arm, only_base)
            out.append(
                {**names, "arm": arm, "metric": metric, "only_arm": only_arm, "only_baseline": only_base}
                | {"both": int((treated & control).sum()), "neither": int((~treated & ~control).sum())}
                | {"odds_ratio": test.odds_ratio, "low": test.low, "high": test.high, "p": test.p, "note": test.note}
                | {"n": len(whole), "n_unscored": len(pairs) - len(whole)}
            )
    columns = [
        "arm",
        "metric",
        "only_arm",
        "only_baseline",
        "both",
        "neither",
        "odds_ratio",
        "low",
        "high",
        "p",
        "note",
    ]
    return pd.DataFrame(out, columns=[*by, *columns, "n", "n_unscored"])


def changes(rows: pd.DataFrame, second: str = "coverage", by: Sequence[str] = ("model",)) -> pd.DataFrame:
    """How much compliance and meaning change from the whole text to the middle and to the shortest, on one scale (0-1).

    Rows per cell of `by` and contrast: measure "cc" and `second` (mean change, value at the shorter level minus value
    at the highest), "|cc|" and its like (mean size of the change), and "ratio" of the two sizes. A size is above 0 by
    noise alone, and so is a ratio of sizes no proof that either changes. Columns: `by`, contrast, measure, estimate,
    low, high, n (curves), n_unscored, method.
    """
    import pandas as pd

    out = []
    tables = {metric: _cells(rows, metric, by) for metric in ("cc", second)}
    merged = tables["cc"].assign(**{second: tables[second][second]})
    for names, cell in _groups(merged, by):
        wide = cell.set_index(PAIR)[["cc", second]].unstack("c")  # noqa: PD010 - as above
        levels = sorted(cell["c"].unique())
        for low in [c for c in dict.fromkeys([levels[len(levels) // 2], levels[0]]) if c != levels[-1]]:
            found = pd.DataFrame({metric: wide[metric][low] - wide[metric][levels[-1]] for metric in ("cc", second)})
            whole = found.dropna().reset_index()
            shared = {**names, "contrast": f"c = {levels[-1]:g} to {low:g}"}
            sizes = whole.assign(cc=whole["cc"].abs(), **{second: whole[second].abs()})
            estimates = {metric: _mean(whole[metric], whole, (-1.0, 1.0)) for metric in ("cc", second)} | {
                f"|{metric}|": _mean(sizes[metric], sizes, (0.0, 1.0)) for metric in ("cc", second)
            }
            estimates["ratio"] = association.ratio(sizes["cc"], sizes[second], sizes[CLUSTER])
            for measure, estimate in estimates.items():
                out.append(shared | {"measure": measure, "n_unscored": len(found) - len(whole)} | estimate._asdict())
    columns = ["contrast", "measure", "estimate", "low", "high", "n", "n_unscored", "method"]
    return pd.DataFrame(out, columns=[*by, *columns])


def orthogonality(rows: pd.DataFrame, second: str = "coverage") -> pd.DataFrame:
    """Pearson's r of compliance with meaning: over all replies, and within each level.

    Levels may move both, so the correlation over all mixes levels with replies; those within a level don't.
    Intervals and p are clustered by concept, and by model where there are three or more. Columns: c ("all" or a level),
    estimate, low, high, p, n, n_unscored, method.
    """
    import pandas as pd

    rows = final(rows, [])
    bounds_of(second, rows)
    out = []
    for name, cell in _all_and_each_level(rows):
        found = cell.dropna(subset=["cc", second])
        several = found["model"].nunique() > 2
        r = association.correlation(found["cc"], found[second], found[CLUSTER], found["model"] if several else None)
        out.append({"c": name, "p": r.p, "n_unscored": len(cell) - len(found)} | r.estimate._asdict())
    return pd.DataFrame(out, columns=["c", "estimate", "low", "high", "p", "n", "n_unscored", "method"])


def tiers(rows: pd.DataFrame, tier_of: Mapping[str, str], metric: str = "cc") -> pd.DataFrame:
    """Reasoning against efficient models, over all levels and at each: an unpaired comparison of model means.

    The two groups are different models, so nothing is paired; a model is one value. Columns: c ("all" or a level),
    measure ("difference" reasoning minus efficient, "hedges g"), estimate, low, high, p, n_reasoning, n_efficient,
    n_unscored (models without a tier or a scored reply), method. NaN where a group has fewer than two models.
    """
    import pandas as pd

    cells = _cells(rows, metric)
    cells = cells.assign(tier=[tier_of.get(model, "") for model in cells["model"]])
    out = []
    for name, cell in _all_and_each_level(cells):
        means = cell.groupby(["tier", "model"])[metric].mean().dropna()
        groups = [means[means.index.get_level_values("tier") == tier] for tier in ("reasoning", "efficient")]
        left = cell["model"].nunique() - sum(map(len, groups))
        found = association.two_groups(*(group.to_numpy() for group in groups))
        for measure, estimate in (("difference", found.difference), ("hedges g", found.hedges_g)):
            out.append(
                {"c": name, "measure": measure, "p": found.p}
                | estimate._asdict()
                | {"n_reasoning": len(groups[0]), "n_efficient": len(groups[1]), "n_unscored": left}
            )
    columns = ["c", "measure", "estimate", "low", "high", "p", "n_reasoning", "n_efficient", "n_unscored", "method"]
    return pd.DataFrame(out, columns=columns)


def published_tiers() -> pd.DataFrame:
    """The same comparison of the means that the paper prints in its Table 1, on 0-1: reasoning minus efficient models.

    Columns: measure, estimate, low, high, p, n_reasoning, n_efficient, printed, method. The paper prints 27.5 % and
    d = .96 for them (section 4.4), which do not follow.
    """
    import pandas as pd

    from cdct.core import read_table

    means = read_table("data/published/cdct_t1_models.csv")
    groups = [means.loc[means["group"] == tier, "CC_mean_0_10"] / 10 for tier in ("reasoning", "efficient")]
    found = association.two_groups(*groups)
    sizes = {"p": found.p, "n_reasoning": len(groups[0]), "n_efficient": len(groups[1])}
    percent = resample.NOTHING._replace(
        estimate=100 * (groups[0].mean() / groups[1].mean() - 1), method="ratio of the means"
    )
    measures = (("difference", found.difference, None), ("percent", percent, 27.5), ("hedges g", found.hedges_g, 0.96))
    rows = [{"measure": name, "printed": says} | sizes | one._asdict() for name, one, says in measures]
    columns = ["measure", "estimate", "low", "high", "p", "n_reasoning", "n_efficient", "printed", "method"]
    return pd.DataFrame(rows, columns=columns)


def dip_variance(rows: pd.DataFrame, metric: str = "cc") -> pd.DataFrame:
    """How the magnitude of dips splits into models, concepts and the rest (the paper's prediction 4).

    One row per component: see `cdct.stats.variance.variance_split`.
    """
    table = dips(final(rows, []), metric)
    return variance.variance_split(table["magnitude"], table["model"], table[CLUSTER])


def troughs(table: pd.DataFrame, by: Sequence[str] = ("model",)) -> pd.DataFrame:
    """At which level curves are lowest: the share of `dips` rows whose trough is there, with its interval.

    Columns: `by`, c, estimate, low, high, n (curves with one lowest level), n_unscored (with a hole, or with several
    equally low levels), method.
    """
    import pandas as pd

    out = []
    for names, cell in _groups(final(table, [*by, "turn"]), by):  # its rows are curves, which have no turns
        found = cell.dropna(subset=["trough"])
        for c in sorted(table["trough"].dropna().unique()):
            at = resample.mean((found["trough"] == c).astype(float), found[CLUSTER], (0.0, 1.0))
            out.append({**names, "c": c, "n_unscored": len(cell) - len(found)} | at._asdict())
    return pd.DataFrame(out, columns=[*by, "c", "estimate", "low", "high", "n", "n_unscored", "method"])


def _all_and_each_level(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    levels = [(f"{c:g}", cell) for c, cell in rows.groupby("c", sort=True)]
    return [("all", rows), *levels] if levels else []


def _groups(table: pd.DataFrame, by: Sequence[str]) -> list[tuple[dict[str, Any], pd.DataFrame]]:
    if not by:
        return [({}, table)] if len(table) else []
    return [
        (dict(zip(by, names, strict=True)), cell) for names, cell in table.groupby(list(by), sort=True, observed=True)
    ]


def _with_holm(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    corrected = association.holm([row["p"] for row in table])
    return [row | {"p_holm": float(p)} for row, p in zip(table, corrected, strict=True)]
