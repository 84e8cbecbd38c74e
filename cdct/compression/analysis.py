"""What the CDCT rows say: means by level, dips with their null, and the lines of the model card. Frame in, frame out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cdct.compression.score import METRICS
from cdct.core import KEYS, Item
from cdct.stats import dip as dip_stats
from cdct.stats import resample
from cdct.text import words

if TYPE_CHECKING:
    import pandas as pd

CLUSTER = "concept"
"""Levels and samples of one concept are not independent: intervals rest on the spread between concepts."""


def _metric(metric: str) -> tuple[float, float] | None:
    if metric not in METRICS:
        from cdct.core import unknown

        raise ValueError(unknown("metric", metric, METRICS))
    return METRICS[metric]


def summarise(rows: pd.DataFrame, by: Sequence[str] = ("model", "c"), metric: str = "cc") -> pd.DataFrame:
    """The mean of a metric in each cell: `by`, metric, estimate, low, high, n, n_unscored, n_truncated, estimate_all, method.

    The estimate is over scored replies; `estimate_all` counts each unscored one as 0 (NaN for a metric without bounds). A
    truncated reply is scored on what is there: its words are a lower bound, and `n_truncated` says how many there were.
    """
    import pandas as pd

    bounds = _metric(metric)
    out = []
    for names, cell in rows.groupby(list(by), sort=True, observed=True):
        scored = cell[cell["unscored"] == ""]
        estimate = resample.mean(scored[metric], scored[CLUSTER] if len(scored) else None, bounds)
        n_all = len(cell)
        out.append(
            dict(zip(by, names, strict=True))
            | {"metric": metric, "estimate": estimate.estimate, "low": estimate.low, "high": estimate.high}
            | {"n": estimate.n, "n_unscored": n_all - len(scored)}
            | {"n_truncated": int(scored["flags"].str.contains("truncated").sum())}
            | {
                "estimate_all": float(scored[metric].sum() / n_all) if bounds else float("nan"),
                "method": estimate.method,
            }
        )
    return pd.DataFrame(out)


def dips(rows: pd.DataFrame, metric: str = "cc") -> pd.DataFrame:
    """One row per model, arm and concept: the curve's ends and middle, whether it dips, how deep, where its trough lies.

    Columns: model, arm, concept, domain, levels, start, middle, end, dips (True, False, None), magnitude, trough (c), n,
    n_unscored, unscored. Samples of a level are averaged first. A curve with a level without any scored reply has no dip:
    `dips` is None and `unscored` says which level is missing.
    """
    import pandas as pd

    _metric(metric)
    out = []
    for (model, arm, concept), cell in rows.groupby(["model", "arm", "concept"], sort=True):
        scored = cell[cell["unscored"] == ""]
        curve = scored.groupby("c")[metric].mean().reindex(sorted(cell["c"].unique()))
        row: dict[str, Any] = {"model": model, "arm": arm, "concept": concept, "domain": cell["domain"].iloc[0]}
        row |= {"metric": metric, "levels": len(curve), "dips": None, "magnitude": float("nan"), "trough": float("nan")}
        row |= {"n": len(scored), "n_unscored": len(cell) - len(scored), "unscored": ""}
        missing = curve.index[curve.isna()]
        if len(curve) < 3 or len(curve) % 2 == 0:
            row["unscored"] = f"{len(curve)} levels: a dip needs an odd number, three or more"
        elif len(missing):
            row["unscored"] = "no scored reply at c = " + ", ".join(f"{c:g}" for c in missing)
        else:
            found = dip_stats.dip(curve.tolist())
            row |= {"start": curve.iloc[0], "middle": curve.iloc[len(curve) // 2], "end": curve.iloc[-1]}
            row |= {"dips": found.dips, "magnitude": found.magnitude, "trough": curve.index[found.trough]}
        out.append(row)
    columns = ["model", "arm", "concept", "domain", "metric", "levels", "start", "middle", "end", "dips", "magnitude"]
    return pd.DataFrame(out, columns=[*columns, "trough", "n", "n_unscored", "unscored"])


def _curves(rows: pd.DataFrame, metric: str) -> list[list[float]]:
    scored = rows[rows["unscored"] == ""]
    return [
        curve.tolist()
        for (_, _, _), cell in scored.groupby(["model", "arm", "concept"], sort=True)
        if len(curve := cell.groupby("c")[metric].mean()) == rows["c"].nunique() and len(curve) >= 3 and len(curve) % 2
    ]


def dip_summary(rows: pd.DataFrame, by: Sequence[str] = ("model",), metric: str = "cc") -> pd.DataFrame:
    """Prevalence and mean magnitude of dips in each cell, with intervals and the exact permutation null.

    Two rows per cell: `measure` is prevalence (share of concepts, exact binomial interval) or magnitude (mean over
    concepts, t interval). Columns: `by`, metric, measure, estimate, low, high, n (curves), n_unscored (curves with a hole),
    null (what exchangeable levels would show on average), p_more and p_less (exact one-sided chances of at least, and at
    most, as much under that null), method.
    """
    import pandas as pd

    out = []
    for names, cell in rows.groupby(list(by), sort=True, observed=True):
        table = dips(cell, metric)
        whole = table[table["dips"].notna()]
        null = dip_stats.exact_null(_curves(cell, metric))
        low, high = _metric(metric) or (None, None)
        span = None if low is None or high is None else (low - high, high - low)
        measures = {
            "prevalence": (
                resample.share(int(whole["dips"].sum()), len(whole)),
                null.expected_share,
                null.p_share,
                null.p_share_less,
            ),
            "magnitude": (
                resample.mean(whole["magnitude"], whole[CLUSTER] if len(whole) else None, span),
                0.0,
                null.p_magnitude,
                null.p_magnitude_less,
            ),
        }
        for measure, (estimate, expected, more, fewer) in measures.items():
            out.append(
                dict(zip(by, names, strict=True))
                | {"metric": metric, "measure": measure, "estimate": estimate.estimate, "low": estimate.low}
                | {"high": estimate.high, "n": estimate.n, "n_unscored": len(table) - len(whole)}
                | {"null": expected, "p_more": more, "p_less": fewer, "method": estimate.method}
            )
    return pd.DataFrame(out)


def null_table(rows: pd.DataFrame, metric: str = "cc") -> pd.DataFrame:
    """For each model: the chance of every possible number of dips if levels don't matter, and the number observed.

    Columns: model, dips (0..n), chance, observed (bool), n.
    """
    import pandas as pd

    out = []
    for model, cell in rows.groupby("model", sort=True):
        curves = _curves(cell, metric)
        seen = sum(dip_stats.dip(curve).dips for curve in curves)
        for number, chance in enumerate(dip_stats.exact_null(curves).shares if curves else []):
            out.append({"model": model, "dips": number, "chance": chance, "observed": number == seen, "n": len(curves)})
    return pd.DataFrame(out, columns=["model", "dips", "chance", "observed", "n"])


def card(rows: pd.DataFrame) -> pd.DataFrame:
    """The CDCT lines of each model's card: dip, compliance at the middle level, exact share, words, coverage.

    Published values are the paper's means over its nine models and are given where it has one on the same scale.
    """
    import pandas as pd

    middle = sorted(rows["c"].unique())[rows["c"].nunique() // 2]
    means = published_means().set_index("c")["estimate"]
    lines: list[dict[str, Any]] = []

    def add(
        label: str, table: pd.DataFrame, unit: str, published: float | None = None, published_label: str = ""
    ) -> None:
        for row in table.to_dict("records"):
            lines.append(
                {"model": row["model"], "group": "CDCT", "label": label, "unit": unit}
                | {name: row[name] for name in ("estimate", "low", "high", "n", "n_unscored", "method")}
                | {"published": published, "published_label": published_label}
            )

    summary = dip_summary(rows)
    paper = "CDCT paper, nine models"
    add("concepts whose compliance dips", summary[summary["measure"] == "prevalence"], "share", 0.972, paper)
    add(
        "dip magnitude (0-1)", summary[summary["measure"] == "magnitude"], "", 0.381, f"{paper}; its own means give .15"
    )
    at_middle = rows[rows["c"] == middle]
    add(f"compliance at c = {middle:g} (0-1)", summarise(at_middle, ["model"]), "", means.get(middle), paper)
    add("replies with exactly the limit", summarise(rows, ["model"], "exact"), "share")
    add("words written", summarise(rows, ["model"], "words"), "words")
    add("key points covered", summarise(rows, ["model"], "coverage"), "share")
    return pd.DataFrame(lines)


def published_means() -> pd.DataFrame:
    """The paper's mean compliance by level on 0-1 with its printed interval (section 4.1): c, estimate, low, high."""
    from cdct.core import read_table

    table = read_table("data/published/cdct_means_by_level.csv")
    table = table[(table["quantity"] == "CC") & table["c_or_contrast"].str.fullmatch(r"c=[\d.]+")]
    c = table["c_or_contrast"].str.removeprefix("c=").astype(float)
    means = table[["mean", "ci95_lo", "ci95_hi"]].astype(float) / 10
    return means.set_axis(["estimate", "low", "high"], axis=1).assign(c=c).reset_index(drop=True)


PUBLISHED_DIPS = {"paper, as printed: .381": 0.381, "paper, from its means: .154": 0.1535}
"""The paper's dip magnitude: printed (section 4.1), and (8.12 + 8.03) / 2 - 6.54 of its own means, on 0-1."""


def context_words(items: Sequence[Item]) -> pd.Series:
    """The mean number of words of the context by level c, counted in the texts."""
    import pandas as pd

    counts = pd.DataFrame([{"c": item.params["c"], "words": len(words(item.meta["context"]))} for item in items])
    return counts.groupby("c")["words"].mean().round()


def examples(rows: pd.DataFrame, replies: pd.DataFrame) -> pd.DataFrame:
    """For each model and level the reply that comes nearest to the limit and the one that misses it most.

    Columns: model, c, which, concept, words, cc, coverage, text (to be escaped by whoever shows it, as pandas does).
    """
    import pandas as pd

    texts = replies.set_index(KEYS)["text"]
    out = []
    for (model, c), cell in rows[rows["unscored"] == ""].groupby(["model", "c"], sort=True):
        ranked = cell.sort_values(["cc", "words", "concept"], ascending=[False, True, True])
        for which, row in (("nearest", ranked.iloc[0]), ("farthest", ranked.iloc[-1])):
            out.append({"model": model, "c": c, "which": which} | row[["concept", "words", "cc", "coverage"]].to_dict())
            out[-1]["text"] = texts.loc[tuple(row[KEYS])]
    return pd.DataFrame(out).round(2)
