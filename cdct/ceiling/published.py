"""What the CCB paper printed, as frames: counts and tokens by depth, its summaries by cell, and its D3 ablation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

ARMS_OF_PAPER = {"Standard": "trace", "Verbose": "verbose", "Var A": "schema", "Var B": "slots", "Var C": "mapping"}
"""The paper's conditions on D3 and the arms that ask for the same here, in words of our own."""


def published_counts() -> pd.DataFrame:
    """Right answers of 40 trials by domain, model and depth (Tables 8 to 10): model, domain, depth, correct, n.

    The paper's denominators are 40 throughout, so that replies it could not parse count as failures (where some were
    left out of a model's total, as LLaMA's 395 on D1, the tables by depth do not say at which depths).
    """
    from cdct.core import read_table

    table = read_table("data/published/ccb_t8_t10_depth_counts.csv").rename(columns={"depth_N": "depth"})
    table = table.rename(columns={"n_trials": "n"})[["model", "domain", "depth", "correct", "n"]]
    return table.sort_values(["domain", "depth"], kind="stable", ignore_index=True)


def published_cells() -> pd.DataFrame:
    """What the paper prints for each of its 15 cells (Tables 1, 3 and 5 to 7), shares on 0-1.

    Columns: domain, model, n, accuracy, estimate (p_d), low, high (its 95 % bootstrap interval), bound (p_d lies on the
    lower bound .5), tfbc (share of right answers; NaN where the paper has none), k_star (mean over wrong trials).
    """
    from cdct.core import read_table

    table = read_table("data/published/ccb_t1_t7_summary.csv")
    return table.assign(
        accuracy=table["acc_pct"] / 100,
        bound=table["p_d_at_lower_bound"].astype(bool),
        tfbc=table["tfbc_pct"].astype(float) / 100,
    ).rename(
        columns={
            "n_total": "n",
            "p_d": "estimate",
            "p_d_ci95_lo": "low",
            "p_d_ci95_hi": "high",
            "mean_kstar_incorrect_table3": "k_star",
        }
    )[["domain", "model", "n", "accuracy", "estimate", "low", "high", "bound", "tfbc", "k_star"]]


def published_tokens() -> pd.DataFrame:
    """Mean tokens of a reply over the paper's five models (Tables 8 to 10): domain, depth, estimate."""
    from cdct.core import read_table

    table = read_table("data/published/ccb_t8_t10_avg_tokens.csv")
    return table.rename(columns={"depth_N": "depth", "avg_response_tokens": "estimate"})[
        ["domain", "depth", "estimate"]
    ]


def published_arms() -> pd.DataFrame:
    """The paper's prompt ablation on D3 at depth 15 with Claude 3.7 (Figure 6), exact intervals added.

    Columns: model, domain, depth, arm (as here), estimate, low, high, n, correct, and against `trace`: only_arm,
    only_baseline, p (exact McNemar), note. The pairs follow from the counts, since the baseline has no right answer.
    """
    import pandas as pd

    from cdct.core import read_table
    from cdct.stats.association import mcnemar
    from cdct.stats.resample import share

    table = read_table("data/published/ccb_ablation_prompt_structure.csv")
    if table.loc[table["condition"] == "Standard", "correct"].item() != 0:
        raise ValueError("published_arms: pairs follow from counts only where the baseline has no right answer")
    out = []
    for row in table.to_dict("records"):
        found, test = share(row["correct"], row["n"]), mcnemar(row["correct"], 0)
        arm = ARMS_OF_PAPER[row["condition"]]
        tested = (
            {"only_arm": row["correct"], "only_baseline": 0, "p": test.p, "note": test.note} if arm != "trace" else {}
        )
        out.append(
            {"model": row["model"], "domain": "D3", "depth": row["depth_N"], "arm": arm}
            | {"estimate": found.estimate, "low": found.low, "high": found.high, "n": row["n"]}
            | {"correct": row["correct"], "p": float("nan"), "note": ""}
            | tested
        )
    return pd.DataFrame(out)
