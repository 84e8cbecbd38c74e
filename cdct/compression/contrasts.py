"""What differs between levels, arms and sources of variance. Frame in, frame out.

Replies are compared in pairs: the same model and concept (and level) under two conditions, samples averaged first. A
pair with a side that could not be scored is left out and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cdct.compression.analysis import CLUSTER, bounds_of, dips, final
from cdct.compression.prompts import BASELINE
from cdct.stats import association, permutation, ratios, resample, variance
from cdct.stats.correlation import correlation

if TYPE_CHECKING:
    import pandas as pd

PAIR = ["model", CLUSTER, "c"]
"""What a pair of replies has in common, the condition apart."""


def mean_cells(rows: pd.DataFrame, metric: str, by: Sequence[str] = ()) -> pd.DataFrame:
    """The mean over samples of a metric for every model, concept, level (and `by`), missing ones as NaN."""
    bounds_of(metric, rows)
    names = list(dict.fromkeys([*by, *PAIR, "domain"]))
    return final(rows, by).groupby(names, sort=True)[metric].mean().reset_index()


FEW_MODELS = 3
"""With fewer models than this, the spread between them says nothing: intervals and p rest on concepts, for these
models. From this number on they rest on models and concepts (two-way clusters), and speak of others of both."""


def _clusters(cells: pd.DataFrame) -> list[pd.Series]:
    """What values are alike within: concepts, or models and concepts where there are `FEW_MODELS` or more."""
    return [cells[name] for name in (["model"] if cells["model"].nunique() >= FEW_MODELS else []) + [CLUSTER]]


def _mean(values: pd.Series, cells: pd.DataFrame, bounds: tuple[float, float] | None) -> resample.Estimate:
    """A mean over models and concepts, with an interval that rests on the clusters of `_clusters`."""
    first, *second = _clusters(cells)
    return association.mean_two_way(values, first, *second, bounds) if second else resample.mean(values, first, bounds)


def _paired(differences: pd.DataFrame, metric_range: tuple[float, float] | None) -> dict[str, Any]:
    """A mean difference with its interval and the p of the same clusters; `test` says which p it is.

    Of one model, or two, p is exact: the signs of whole concepts are turned, which says nothing of other models. Where
    three or more are pooled, that would take the luck of these models for an effect (random effects of nine models gave
    p < .05 in 81 of 100 sets), so p is that of the two-way clustered t that the interval rests on.
    """
    found = differences.dropna(subset=["difference"])
    span = None if metric_range is None else (metric_range[0] - metric_range[1], metric_range[1] - metric_range[0])
    estimate, (first, *second) = _mean(found["difference"], found, span), _clusters(found)
    if second:
        p, test = association.mean_test(found["difference"], first, *second, span)
    else:
        p, models = permutation.sign_flip(found["difference"], first), found["model"].nunique()
        test = f"exact, signs of {first.nunique()} concepts{', for these 2 models' if models > 1 else ''}"
    numbers = {name: getattr(estimate, name) for name in ("estimate", "low", "high", "n", "method")}
    return numbers | {"n_unscored": len(differences) - len(found), "p": p, "test": test if len(found) else ""}


def level_differences(rows: pd.DataFrame, metric: str = "cc", by: Sequence[str] = ()) -> pd.DataFrame:
    """Each level against the middle one, paired within model and concept, in each cell of `by`.

    Columns: `by`, metric, c, against (the middle level), estimate (value at c minus value in the middle), low, high, n
    (pairs), n_unscored, p (two-sided), p_holm (corrected for the levels of the cell), test (which p: exact within one
    model, two-way clustered t over several, see `_paired`), method (of the interval).
    """
    import pandas as pd

    out = []
    for names, cell in _groups(mean_cells(rows, metric, by), by):
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
    columns = ["metric", "c", "against", "estimate", "low", "high", "n", "n_unscored", "p", "p_holm", "test", "method"]
    return pd.DataFrame(out, columns=[*by, *columns])


def arm_effects(
    rows: pd.DataFrame, by: Sequence[str] = ("model",), metric: str = "cc", baseline: str = BASELINE, of: str = "arm"
) -> pd.DataFrame:
    """What each other arm (or compressor: `of`) changes against the baseline, paired by model, concept and level.

    Rows per cell of `by` and arm, one for each measure. "difference": arm minus baseline in units of the metric, with
    p, p_holm corrected for all arms and cells of the table, and test (which p, see `_paired`). For metrics on 0-1 also
    "log odds", the difference of the logits of the two means, and "ratio" of the means with Fieller's interval. The
    ratio, and any percent, is no summary of a baseline near 0: method says where it can't be told from 0, and an end is
    then infinite. Columns: `by`, arm, metric, measure, baseline, treated (means over pairs), estimate, low, high, n,
    n_unscored, p, p_holm, test, method.
    """
    import pandas as pd

    if len(rows) and baseline not in set(rows[of]):
        raise ValueError(f"no rows of the {of} {baseline!r} to compare with; there are {sorted(set(rows[of]))}")
    out: list[dict[str, Any]] = []
    for names, cell in _groups(mean_cells(rows, metric, [*by, of]), by):
        there = set(cell[of])
        for arm in [name for name in dict.fromkeys(rows[of]) if name != baseline and name in there]:
            asked = cell[cell[of] == arm].merge(cell[cell[of] == baseline], on=PAIR, suffixes=("_arm", "_base"))
            pairs = asked.assign(difference=asked[f"{metric}_arm"] - asked[f"{metric}_base"])
            whole = pairs.dropna(subset=["difference"])
            means = {"baseline": whole[f"{metric}_base"].mean(), "treated": whole[f"{metric}_arm"].mean()}
            shared = {**names, of: arm, "metric": metric} | means
            out.append(shared | {"measure": "difference"} | _paired(pairs, bounds_of(metric, rows)))
            if bounds_of(metric, rows) == (0.0, 1.0):
                sides = (whole[f"{metric}_arm"], whole[f"{metric}_base"], *_clusters(whole))
                for measure, found in (("log odds", association.log_odds(*sides)), ("ratio", ratios.ratio(*sides))):
                    numbers = {"measure": measure, "n_unscored": len(pairs) - len(whole)} | found._asdict()
                    out.append(shared | numbers | {"test": ""})
    tested = _with_holm([row for row in out if row["measure"] == "difference"])
    rest = [row for measure in ("log odds", "ratio") for row in out if row["measure"] == measure]
    columns = ["metric", "measure", "baseline", "treated", "estimate", "low", "high", "n", "n_unscored", "p", "p_holm"]
    return pd.DataFrame([*tested, *rest], columns=[*by, of, *columns, "test", "method"])


def kept_flips(
    rows: pd.DataFrame, by: Sequence[str] = ("model",), metric: str = "near", baseline: str = BASELINE
) -> pd.DataFrame:
    """How many pairs keep the limit in one arm alone, with the exact McNemar test (metric "exact" or "near").

    Columns: `by`, arm, metric, only_arm, only_baseline, both, neither, odds_ratio, low, high, p, note ("no information"
    where no pair differs), n, n_unscored. With several samples each makes a pair of its own. The test takes pairs for
    independent, those of one concept or model too: where effects differ between these, p is too small.
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
    tables = {metric: mean_cells(rows, metric, by) for metric in ("cc", second)}
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
            estimates["ratio"] = ratios.ratio(sizes["cc"], sizes[second], *_clusters(sizes))
            for measure, estimate in estimates.items():
                out.append(shared | {"measure": measure, "n_unscored": len(found) - len(whole)} | estimate._asdict())
    columns = ["contrast", "measure", "estimate", "low", "high", "n", "n_unscored", "method"]
    return pd.DataFrame(out, columns=[*by, *columns])


def orthogonality(rows: pd.DataFrame, second: str = "coverage") -> pd.DataFrame:
    """Pearson's r of compliance with meaning: over all replies, and within each level.

    Levels may move both, so the correlation over all mixes levels with replies; those within a level don't.
    Intervals and p are clustered by concept, and by model where there are three or more; there is none where one of the
    two differs from its commonest value in fewer than three concepts or models. Columns: c ("all" or a level),
    estimate, low, high, p, n, n_unscored, method.
    """
    import pandas as pd

    rows = final(rows, [])
    bounds_of(second, rows)
    out = []
    for name, cell in all_and_each_level(rows):
        found = cell.dropna(subset=["cc", second])
        r = correlation(found["cc"], found[second], *reversed(_clusters(found)))
        out.append({"c": name, "p": r.p, "n_unscored": len(cell) - len(found)} | r.estimate._asdict())
    return pd.DataFrame(out, columns=["c", "estimate", "low", "high", "p", "n", "n_unscored", "method"])


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
            at = _mean((found["trough"] == c).astype(float), found, (0.0, 1.0))
            out.append({**names, "c": c, "n_unscored": len(cell) - len(found)} | at._asdict())
    return pd.DataFrame(out, columns=[*by, "c", "estimate", "low", "high", "n", "n_unscored", "method"])


def all_and_each_level(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The rows as "all" and level by level, each with its name; none where there are no rows."""
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
