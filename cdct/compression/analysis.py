"""What the CDCT rows say: means by level, dips with their null, examples. Frame in, frame out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cdct.compression.score import JUDGED, METRICS
from cdct.core import KEYS, Item, scored, unknown
from cdct.stats import dip as dip_stats
from cdct.stats import resample
from cdct.text import words

if TYPE_CHECKING:
    import pandas as pd

CLUSTER = "concept"
"""Levels, samples, arms and models share a concept's texts, so their replies are not independent: intervals rest on the
spread between concepts, and speak of other concepts for the same models."""


def bounds_of(metric: str, rows: pd.DataFrame) -> tuple[float, float] | None:
    """The range of a metric, None where it has none. ValueError for one that is not known or not in the rows."""
    known = METRICS | JUDGED
    if metric not in known:
        raise ValueError(unknown("metric", metric, known))
    if metric not in rows:
        raise ValueError(f"the rows have no {metric!r}; what a jury gives is added by `with_jury`")
    return known[metric]


CONDITION = ["arm", "mode", "limit", "compressor"]
"""What a model was asked under. Numbers of different conditions are never averaged."""
CURVE = ["model", *CONDITION, "concept"]
"""What names a curve over the levels."""


def final(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The rows that a statistic by these columns rests on: last turns, unless it is by turn; one condition per cell."""
    for name in CONDITION:
        found = rows[name].unique()
        if name not in by and len(found) > 1:
            values = ", ".join(map(repr, found))
            raise ValueError(
                f"the rows mix {name} {values}, which can't be averaged; add {name!r} to `by`, or take one"
            )
    return rows if "turn" in by else rows[rows["last"].astype(bool)]


def summarise(rows: pd.DataFrame, by: Sequence[str] = ("model", "c"), metric: str = "cc") -> pd.DataFrame:
    """The mean of a metric in each cell of `by`, with its interval from the spread between concepts.

    Columns: `by`, metric, estimate, low, high, n, n_unscored, n_truncated, estimate_all, method. The estimate is over
    scored replies; `estimate_all` counts each unscored one as 0 (NaN for a metric without bounds). A truncated reply is
    scored on what is there: its words are a lower bound, and `n_truncated` says how many there were. Of a conversation
    the last turn counts, unless `turn` is in `by`; ValueError when a cell would mix conditions.
    """
    import pandas as pd

    bounds = bounds_of(metric, rows)
    out = []
    for names, cell in final(rows, by).groupby(list(by), sort=True, observed=True):
        found, n_all = cell[cell[metric].notna()], len(cell)
        estimate = resample.mean(found[metric], found[CLUSTER], bounds)
        out.append(
            dict(zip(by, names, strict=True))
            | {"metric": metric, "estimate": estimate.estimate, "low": estimate.low, "high": estimate.high}
            | {"n": estimate.n, "n_unscored": n_all - len(found)}
            | {"n_truncated": int(found["flags"].astype(str).str.contains("truncated", na=False).sum())}
            | {"estimate_all": float(found[metric].sum() / n_all) if bounds else float("nan")}
            | {"method": estimate.method}
        )
    columns = ["metric", "estimate", "low", "high", "n", "n_unscored", "n_truncated", "estimate_all", "method"]
    return pd.DataFrame(out, columns=[*by, *columns])


def _curve(cell: pd.DataFrame, metric: str) -> tuple[pd.Series, str]:
    """The curve of one cell, the samples of a level averaged, and the reason why it can't be judged ("" if it can)."""
    # rounded, since the mean of equal samples in another order may differ in the last bit, and a dip is a strict order
    levels = sorted(cell["c"].unique())
    curve = cell.groupby("c")[metric].mean().astype(float).reindex(levels).round(12)
    if len(curve) < 3 or len(curve) % 2 == 0:
        return curve, f"{len(curve)} levels: a dip needs an odd number, three or more"
    missing = ", ".join(f"{c:g}" for c in curve.index[curve.isna()])
    return curve, f"no scored reply at c = {missing}" if missing else ""


def dips(rows: pd.DataFrame, metric: str = "cc") -> pd.DataFrame:
    """One row per model, condition and concept: the curve's ends and middle, whether it dips, how deep, where lowest.

    Columns: model, arm, mode, limit, concept, domain, metric, levels, start, middle, end, dips (True, False, None),
    arches (the middle strictly above both ends; likewise), magnitude, trough (c; NaN where several levels are equally
    low), n, n_unscored, unscored. Samples of a level are averaged first. A curve with a level without any scored reply
    has no dip: `dips` is None and `unscored` says which level is missing.
    """
    import pandas as pd

    bounds_of(metric, rows)
    out = []
    for names, cell in final(rows, CURVE).groupby(CURVE, sort=True):
        curve, unscored = _curve(cell, metric)
        n = int(cell[metric].notna().sum())
        row: dict[str, Any] = dict(zip(CURVE, names, strict=True)) | {
            "domain": cell["domain"].iloc[0],
            "metric": metric,
        }
        row |= {
            "levels": len(curve),
            "dips": None,
            "arches": None,
            "n": n,
            "n_unscored": len(cell) - n,
            "unscored": unscored,
        }
        if not unscored:
            found = dip_stats.dip(curve.tolist())
            row |= {"start": curve.iloc[0], "middle": curve.iloc[len(curve) // 2], "end": curve.iloc[-1]}
            row |= {"dips": found.dips, "arches": dip_stats.dip((-curve).tolist()).dips, "magnitude": found.magnitude}
            row |= {} if found.trough is None else {"trough": curve.index[found.trough]}
        out.append(row)
    columns = [*CURVE, "domain", "metric", "levels", "start", "middle", "end", "dips", "arches", "magnitude"]
    return pd.DataFrame(out, columns=[*columns, "trough", "n", "n_unscored", "unscored"])


def _null(rows: pd.DataFrame, metric: str, sign: int = 1) -> dip_stats.Null:
    """The exact null of all whole curves; those of one concept answer the same texts, so their levels move together.

    With the sign -1 it is that of the curves turned over, whose dips are the arches of the curves.
    """
    found = [(names[-1], *_curve(cell, metric)) for names, cell in final(rows, CURVE).groupby(CURVE, sort=True)]
    whole = [(concept, (sign * curve).tolist()) for concept, curve, unscored in found if not unscored]
    # a curve with other levels than the rest of its concept can't be put into their order
    return dip_stats.exact_null([curve for _, curve in whole], [(concept, len(curve)) for concept, curve in whole])


def dip_summary(rows: pd.DataFrame, by: Sequence[str] = ("model",), metric: str = "cc") -> pd.DataFrame:
    """Prevalence and mean magnitude of dips in each cell, and prevalence of arches, with the exact permutation null.

    Three rows per cell: `measure` is prevalence (share of curves that dip, exact binomial interval), magnitude (mean
    over curves, t interval) or arches (share of curves that arch, as for prevalence), all from the spread between
    concepts. Columns: `by`, metric, measure, estimate, low, high, n (curves), n_unscored (curves with a hole), null
    (what exchangeable levels would show on average), p_more and p_less (exact one-sided chances of at least, and at
    most, as much under that null, one cell at a time), method. That curves dip, or arch, is said by two measures
    together: see `cdct.stats.dip.Null`.
    """
    import pandas as pd

    out = []
    for names, cell in final(rows, by).groupby(list(by), sort=True, observed=True):
        table = dips(cell, metric)
        whole = table[table["dips"].notna()]
        null, turned = _null(cell, metric), _null(cell, metric, -1)
        low, high = bounds_of(metric, rows) or (None, None)
        span = None if low is None or high is None else (low - high, high - low)
        measures = {
            "prevalence": (
                resample.mean(whole["dips"].astype(float), whole[CLUSTER], (0.0, 1.0)),
                null.expected_share,
                null.p_share,
                null.p_share_less,
            ),
            "magnitude": (
                resample.mean(whole["magnitude"], whole[CLUSTER], span),
                0.0,
                null.p_magnitude,
                null.p_magnitude_less,
            ),
            "arches": (
                resample.mean(whole["arches"].astype(float), whole[CLUSTER], (0.0, 1.0)),
                turned.expected_share,
                turned.p_share,
                turned.p_share_less,
            ),
        }
        for measure, (estimate, expected, more, fewer) in measures.items():
            out.append(
                dict(zip(by, names, strict=True))
                | {"metric": metric, "measure": measure, "estimate": estimate.estimate, "low": estimate.low}
                | {"high": estimate.high, "n": estimate.n, "n_unscored": len(table) - len(whole)}
                | {"null": expected, "p_more": more, "p_less": fewer, "method": estimate.method}
            )
    columns = ["metric", "measure", "estimate", "low", "high", "n", "n_unscored", "null", "p_more", "p_less", "method"]
    return pd.DataFrame(out, columns=[*by, *columns])


def null_table(rows: pd.DataFrame, metric: str = "cc") -> pd.DataFrame:
    """For each model: the chance of every possible number of dips if levels don't matter, and the number observed.

    Columns: model, dips (0..n), chance, observed (bool), n.
    """
    import pandas as pd

    out = []
    for model, cell in final(rows, ["model"]).groupby("model", sort=True):
        table = dips(cell, metric)
        found = table["dips"].dropna()
        for number, chance in enumerate(_null(cell, metric).shares):
            seen = bool(number == found.sum())
            out.append({"model": model, "dips": number, "chance": chance, "observed": seen, "n": len(found)})
    return pd.DataFrame(out, columns=["model", "dips", "chance", "observed", "n"])


def published_means() -> pd.DataFrame:
    """The paper's mean compliance by level on 0-1 with its printed interval (section 4.1): c, estimate, low, high."""
    from cdct.core import read_table

    table = read_table("data/published/cdct_means_by_level.csv")
    table = table[(table["quantity"] == "CC") & table["c_or_contrast"].str.fullmatch(r"c=[\d.]+")]
    c = table["c_or_contrast"].str.removeprefix("c=").astype(float)
    means = table[["mean", "ci95_lo", "ci95_hi"]].astype(float) / 10
    return means.set_axis(["estimate", "low", "high"], axis=1).assign(c=c).reset_index(drop=True)


def published_dips() -> dict[str, float]:
    """What the paper says of its dips on 0-1: prevalence (70 of 72), magnitude, and the magnitude of its own means.

    The printed magnitude, .381 (section 4.1), does not follow from the printed means at c = 0, 0.5 and 1.
    """
    from cdct.core import read_table

    scalars = read_table("data/published/cdct_scalars.csv").set_index("quantity")["value"].astype(float)
    printed = read_table("data/published/cdct_means_by_level.csv").set_index("quantity")["mean"]
    means = published_means().set_index("c")["estimate"]
    return {
        "prevalence": scalars["u_curve_prevalence_a"] / 100,
        "magnitude": float(printed["U_magnitude"]),
        "magnitude of its means": dip_stats.dip(means.loc[[0.0, 0.5, 1.0]].tolist()).magnitude,
    }


def context_words(items: Sequence[Item]) -> pd.Series:
    """The mean number of words of the context by level c, counted in the texts that there are."""
    import pandas as pd

    texts = [(item.params["c"], item.meta["context"]) for item in items if item.meta["context"] is not None]
    counts = pd.DataFrame([(c, len(words(text))) for c, text in texts], columns=["c", "words"])
    return counts.groupby("c")["words"].mean().round()


def examples(rows: pd.DataFrame, replies: pd.DataFrame) -> pd.DataFrame:
    """For each model and level the reply that comes nearest to the limit and the one that misses it most.

    A reply that no limit binds neither keeps nor misses one, and is not among them.
    Columns: model, c, which, concept, words, cc, coverage, text (to be escaped by whoever shows it, as pandas does).
    """
    import pandas as pd

    texts = replies.set_index(KEYS)["text"]
    bound = scored(final(rows, ["model"])).dropna(subset=["deviation"])
    out = []
    for (model, c), cell in bound.groupby(["model", "c"], sort=True):
        ranked = cell.assign(off=cell["deviation"].abs()).sort_values(["off", "concept"])
        for which, row in (("nearest", ranked.iloc[0]), ("farthest", ranked.iloc[-1])):
            shown = row[["concept", "words", "cc", "coverage"]].to_dict() | {"text": texts.loc[tuple(row[KEYS])]}
            out.append({"model": model, "c": c, "which": which} | shown)
    columns = ["model", "c", "which", "concept", "words", "cc", "coverage", "text"]
    return pd.DataFrame(out, columns=columns).round(2)
