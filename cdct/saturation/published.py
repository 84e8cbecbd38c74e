"""What the CSE paper printed, as frames with the columns of a run's: shares on 0-1, no intervals unless it gave some.

`DOUBTS` says what a reader must know before setting a table beside another one; `cdct.saturation.claims` computes what
the tables allow.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

PAPER = "CSE paper"
MEAN = "mean of 15 models"
AS_PRINTED = "as printed"
DOUBTS = {
    "published_rates": "mCSR weighs checks and sCSR probes, so that their difference is no penalty; the 42.8 % that "
    "the text calls the mCSR of satisfiable probes is that of all checks, impossible probes included",
    "published_k_star": "by the text GPT-5.5 has 7 or 8 and Claude 4.7 Opus 5 or 6: subsets of probes",
    "published_tags": "the column is a picture; three values and two statements stand in the text",
    "published_curves": "sCSR by k is printed at k = 1, 8 and 12 alone; what lies between is the paper's fit",
    "published_profiles": "the slopes of Table 2 and figure 6 differ, most for L1 (-.052 and -.008); W4 has a third "
    "one in appendix F; dimensions are compared by figure 6 over the rate at k = 1",
    "published_classes": "Table 5 has 210 meta failures, the text 114; refusals are counted of failed checks",
    "published_first_violations": "genuine failures alone; GPT-5.5 is left out, having eight",
    "published_rankings": "ranks without uncertainty",
    "published_pool": "the text quotes 2.76 million sets at k = 6, which is 38 choose 6",
    "published_survival": "the row of L3 is missing: by the total it has 1,228 checks, some 25 % of them passed",
    "published_heatmap": "read from the text layer of figure 5: whole percents, the order certain by its margins",
    "published_sacrifice": "three probes by 15 models each: all values are counts of 45",
    "published_interventions": "k* before differs from Table 1 for two models; the predicted lift takes p for equal",
}


def answered() -> pd.Series:
    """Answered calls by model (Table 8), of 4,527."""
    return _read("t8_api").set_index("model")["success"]


def _read(name: str) -> pd.DataFrame:
    from cdct.core import read_table

    return read_table(f"data/published/cse_{name}.csv")


def _ours(table: pd.DataFrame, *names: str, **columns: Any) -> pd.DataFrame:
    """These columns, then those of an estimate: no interval, nothing unscored, unless the table has it."""
    usual = {"low": math.nan, "high": math.nan, "n": math.nan, "n_unscored": math.nan, "method": AS_PRINTED}
    table = table.assign(**columns)
    table = table.assign(**{name: value for name, value in usual.items() if name not in table})
    return table[[*names, "estimate", *usual]].reset_index(drop=True)


def published_doubts() -> pd.DataFrame:
    """What each of these tables leaves in doubt: columns table, doubt."""
    import pandas as pd

    return pd.DataFrame([{"table": name, "doubt": text} for name, text in DOUBTS.items()])


# --------------------------------------------------------------------------------------------------------------- models


def published_rates() -> pd.DataFrame:
    """mCSR, sCSR and score of each of the 15 models over all k (Table 1), as `summarise` by model gives them."""
    import pandas as pd

    table = _read("t1_models")
    parts = [table.assign(metric=name, estimate=table[f"{name}_pct"] / 100) for name in ("mCSR", "sCSR", "score")]
    return _ours(pd.concat(parts), "model", "metric")


def published_k_star() -> pd.DataFrame:
    """k* of each model (Table 1), as `k_star` gives it."""
    return _ours(_read("t1_models").rename(columns={"kstar": "estimate"}), "model")


def published_tags() -> pd.DataFrame:
    """Compliance with the answer tags of each model (Table 1, text), as `tag_use` gives it; low: what the text grants.

    Two statements and three values are printed: the Llama models always comply, all others at least 90 times in 100.
    """
    table = _read("t1_models")
    known = table["tag_compliance_pct"].astype(float) / 100
    return _ours(table, "model", "tag", tag="tag_ok", estimate=known, low=known.fillna(0.9), high=known.fillna(1.0))


def published_curves() -> pd.DataFrame:
    """Rates by k, as `summarise` gives them: mCSR of each model (Table 4) and its mean, and what is known of sCSR.

    Rows of the mean of the models: mCSR is that of Table 4, sCSR is printed at k = 1, 8 and 12 ("as printed"), and at
    the other k it is the paper's fit, 1.000 exp(-.376 k) + .003 ("the paper's fit").
    """
    import numpy as np
    import pandas as pd

    table = _read("t4_mcsr_by_k")
    table = table.assign(metric="mCSR", estimate=table["mCSR_pct"] / 100, method=AS_PRINTED)
    pooled = table.groupby("k", as_index=False)["estimate"].mean()
    pooled = pooled.assign(
        model=MEAN, metric="mCSR", method="mean of the models of Table 4", n=table["model"].nunique()
    )
    told = scalars()
    k = np.array(sorted(table["k"].unique()))
    printed = [told.get(f"agg_sCSR_k{one}_pct", math.nan) / 100 for one in k]
    fitted = told["sCSR_fit_a"] * np.exp(-told["sCSR_fit_beta"] * k) + told["sCSR_fit_c"]
    strict = pd.DataFrame(
        {"k": k, "model": MEAN, "metric": "sCSR", "estimate": np.where(np.isnan(printed), fitted, printed)}
    )
    strict["method"] = np.where(np.isnan(printed), "the paper's fit", AS_PRINTED)
    parts = [part.assign(n=part.get("n", math.nan)) for part in (table, pooled, strict)]
    return _ours(pd.concat(parts), "model", "k", "metric")


def published_decay() -> pd.DataFrame:
    """The decay factor r of each model (Table 4), fitted on k = 1 to 8."""
    return _ours(_read("t4_decay_r").rename(columns={"r_printed": "estimate"}), "model")


def published_rankings() -> pd.DataFrame:
    """The models by mCSR, sCSR and their geometric mean (Tables 9 and 10), as `rankings` gives them: with `rank`."""
    import pandas as pd

    table = _read("t10_geometric_mean")
    columns = {"mCSR": ("mCSR_pct", "mCSR_rank"), "sCSR": ("sCSR_pct", "sCSR_rank")}
    columns["geometric"] = ("geom_mean_pct", "geom_rank")
    parts = [
        table.assign(metric=name, estimate=table[value] / 100, rank=table[rank])
        for name, (value, rank) in columns.items()
    ]
    return _ours(pd.concat(parts).sort_values(["metric", "rank"]), "metric", "model", "rank")


def published_interventions() -> pd.DataFrame:
    """Table 3: intervention, model, k_before, k_after (k*), effect (what is measured), estimate, predicted (lift)."""
    table = _read("t3_interventions").rename(
        columns={"kstar_before": "k_before", "kstar_after": "k_after", "effect_kind": "effect"}
    )
    scale = table["effect"].str.endswith("_pp").map({True: 100.0, False: 1.0})
    table = table.assign(
        estimate=table["effect_value"] / scale,
        effect=table["effect"].str.removesuffix("_pp"),
        predicted=table["predicted_lift_pp"].astype(float) / 100,
    )
    return _ours(table, "intervention", "model", "k_before", "k_after", "effect", "predicted")


# ---------------------------------------------------------------------------------------------------------- constraints


def published_profiles() -> pd.DataFrame:
    """A row per constraint as `cdct.saturation.profiles.profiles` gives it (Table 2, figure 6, appendix F).

    slope_absolute is that of figure 6, slope_relative the same over the rate at k = 1, slope_retention the column of
    Table 2. t_half is inf where it lies beyond 12. rate_late is printed for six constraints, and where it is,
    retention_late follows from it. Rates are rounded to 1 %, so that slopes of what is rare at k = 1 are coarse.
    """
    from cdct.saturation.profiles import PROFILE

    table, told = _read("t2_fig6_constraint_profiles"), scalars()
    k1 = table["k1_mCSR_pct"] / 100
    late = table["constraint"].map(lambda id: told.get(f"rate_kge8_{id}_pct", math.nan)) / 100
    table = table.assign(
        dimension=table["dimension"].str.lower(),
        k1=k1,
        mCSR=table["mCSR_pct"] / 100,
        gap=table["delta_pp"] / 100,
        slope_absolute=table["fig6_slope_per_k"],
        slope_relative=table["fig6_slope_per_k"] / k1,
        slope_retention=table["slope_retention_per_k"],
        t_half=table["t_half_k"].astype(float).fillna(math.inf),
        rate_late=late,
        retention_late=late / k1,
        immune=table["immune_star"] == 1,
    )
    return table.assign(score=table["mCSR"] + table["gap"]).reindex(columns=PROFILE)


def published_heatmap() -> pd.DataFrame:
    """mCSR of each constraint and model over all k (figure 5), as `summarise` by constraint and model gives it."""
    table = _read("fig5_heatmap")
    table = table.assign(estimate=table["mCSR_pct"] / 100, dimension=table["dimension"].str.lower(), metric="mCSR")
    return _ours(table, "constraint", "dimension", "model", "metric")


def published_positions() -> pd.DataFrame:
    """r of position and pass at the four k for which it is printed (appendix N), as `positions` gives it."""
    import pandas as pd

    told = scalars()
    rows = [{"k": k, "estimate": told[f"position_rho_k{k}"]} for k in (3, 5, 10, 11)]
    return _ours(pd.DataFrame(rows), "k")


def published_pool() -> pd.DataFrame:
    """Sets of constraints by k (Table 11): k, combinations (36 choose k), rejected (share), compatible (about)."""
    table = _read("t11_pool")
    columns = {"combinations_printed": "combinations", "compatible_approx": "compatible"}
    table = table.rename(columns=columns).assign(rejected=table["rejection_pct_approx"] / 100)
    return table[["k", "combinations", "rejected", "compatible"]]


# ---------------------------------------------------------------------------------------------- failures, impossibility


def published_classes() -> pd.DataFrame:
    """Classes of failures of L1 by model (Table 5), as `failure_classes` gives them: count, estimate, n (failures)."""
    table = _read("t5_l1_failures")
    table = table[table["model"] != "TOTAL"].rename(columns={"total": "n"})
    long = table.melt(["model", "n"], ["genuine", "meta", "refusal", "case"], "class", "count")
    return _ours(long.assign(estimate=long["count"] / long["n"]), "model", "class", "count")


def published_first_violations() -> pd.DataFrame:
    """The median place of the first violation in genuine failures of L1 (Table 6), as `first_violation` gives it."""
    columns = {"median_first_violation_position": "estimate", "n_genuine": "n"}
    return _ours(_read("t6_l1_positions").rename(columns=columns), "model", "measure", measure="median")


def published_survival() -> pd.DataFrame:
    """What is kept on impossible probes (Table 12): constraint, metric (mCSR, score), estimate, n (checks).

    L3, which is missing in print, has the number of checks that the total leaves for it, and no estimate.
    """
    import pandas as pd

    table, told = _read("t12_impossible_survival"), scalars()
    rest = {"constraint": "L3", "n_checks": told["checks_impossible"] - table["n_checks"].sum()}
    table = pd.concat([table, pd.DataFrame([rest])], ignore_index=True).astype({"n_checks": int})
    table = table.rename(columns={"n_checks": "n"})
    parts = [
        table.assign(metric=name, estimate=table[column] / 100)
        for name, column in (("mCSR", "pass_pct"), ("score", "score_pct"))
    ]
    both = pd.concat(parts)
    return _ours(
        both, "constraint", "metric", method=both["estimate"].notna().map({True: AS_PRINTED, False: "not printed"})
    )


def published_sacrifice() -> pd.DataFrame:
    """What is kept of pairs that can't be (figure 3): pair, constraint, estimate, count, n (probes by models: 45)."""
    import pandas as pd

    table = _read("fig3_sacrifice")
    sides = [
        table.assign(constraint=table[f"constraint_{side}"], estimate=table[f"pass_pct_{side}"] / 100) for side in "ab"
    ]
    both = pd.concat(sides).sort_index(kind="stable")
    return _ours(both.assign(n=45, count=(both["estimate"] * 45).round().astype(int)), "pair", "constraint", "count")


def scalars() -> dict[str, float]:
    """The numbers of the text by the names of `data/published/cse_scalars.csv`; percents stay percents."""
    table = _read("scalars")
    return dict(zip(table["quantity"], table["value"].astype(float), strict=True))
