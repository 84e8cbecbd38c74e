"""How constraints act on each other, and how draws of a reply do: independence, co-failure and best-of-n.

Frame in, frame out; the methods stand in `cdct.stats`: overdispersion, cofailure, cofailure_groups, retries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cdct.saturation.rates import FEW
from cdct.stats import cofailure as pairs
from cdct.stats.association import holm
from cdct.stats.cofailure_groups import Groups, within_across
from cdct.stats.overdispersion import ALL_K, joint_rows
from cdct.stats.retries import lift_rows

if TYPE_CHECKING:
    import pandas as pd


def independence(checks: pd.DataFrame, by: Sequence[str] = ("model",), seed: int = 0, draws: int = 999) -> pd.DataFrame:
    """Joint success over the product of the model's own rates at each k, given which constraints each probe has.

    checks: one arm, one sample, satisfiable probes. Columns: those of `cdct.stats.overdispersion.joint_rows` (a row for
    each k, and one over all k from 2 on, whose k is 0), p_holm and p_coupling_holm (Holm's over the cells of `by`, of
    the rows over all k; and over the rows of k from 2 on, all cells together), few (fewer than `rates.FEW` replies).
    """
    table = joint_rows(checks, by, seed, draws)
    for name in ("p", "p_coupling"):
        for rows in (table["k"] == ALL_K, table["k"] > 1):
            table.loc[rows, f"{name}_holm"] = holm(table.loc[rows, name].to_numpy(dtype=float))
    return table.assign(few=table["n"] < FEW)


def cofailure(checks: pd.DataFrame, k_min: int = pairs.K_MIN, least: int = pairs.LEAST) -> pd.DataFrame:
    """phi of each pair of constraint types given k, the median over models where there are several.

    checks: one arm. Columns: a, b, estimate, low, high, p, p_holm, p_fdr, n (models, or replies of the single model),
    n_models, method; see `cdct.stats.cofailure.phi_rows` and `median_rows`, whose p are of other tests. Pairs with too
    few replies in common, or without variation, in all models are left out.
    """
    rows = pairs.phi_rows(checks, ["model"], k_min, least)
    columns = ["a", "b", "estimate", "low", "high", "p", "p_holm", "p_fdr", "n", "n_models", "method"]
    if len(rows["model"].unique()) > 1:
        medians = pairs.median_rows(rows)
        return medians.assign(n_models=medians["n"])[columns]
    known = rows.dropna(subset=["estimate"]).reset_index(drop=True)
    return known.assign(n_models=1)[columns]


def cofailure_groups(
    checks: pd.DataFrame,
    features: Groups,
    k_min: int = pairs.K_MIN,
    least: int = pairs.LEAST,
    seed: int = 0,
    draws: int = 10_000,
) -> pd.DataFrame:
    """Whether types of one dimension, and types that read the same feature of the text, fail together more than others.

    features: the label or labels of each type. Columns: grouping ("dimension", "feature"), and those of
    `cdct.stats.cofailure_groups.within_across`; p_holm is over the labels of one grouping.
    """
    import pandas as pd

    dimensions = dict(zip(checks["constraint"], checks["dimension"], strict=True))
    found = [
        within_across(checks, groups, k_min, least, seed, draws).assign(grouping=name)
        for name, groups in (("dimension", dimensions), ("feature", features))
    ]
    table = pd.concat(found, ignore_index=True)
    return table[["grouping", *[name for name in table if name != "grouping"]]]


def best_of(
    probes: pd.DataFrame,
    draws: int = 5,
    arm: str = "best-of-5",
    by: Sequence[str] = ("model",),
    seed: int = 0,
) -> pd.DataFrame:
    """What the best of `draws` draws gains over one draw of the same arm, seen and predicted, at each k and over all.

    probes: rows of `cdct.saturation.score.probes`, one a draw. Columns: `by`, k (0: over all k), and those of
    `cdct.stats.retries.lift_rows`, few (fewer than `rates.FEW` probes). ValueError for an arm that is not there, and
    one whose probes have fewer draws.
    """
    import pandas as pd

    mine = probes[probes["arm"] == arm]
    if mine.empty:
        known = ", ".join(map(repr, probes["arm"].unique())) or "none"
        raise ValueError(f"best_of: there is no arm {arm!r}; the rows have {known}")
    most = int(mine.groupby(["model", "item"]).size().max())
    if most < draws:
        raise ValueError(
            f"best_of: {arm!r} has at most {most} draws of a probe, {draws} are needed; run it with samples={draws}"
        )
    table = pd.concat(
        [lift_rows(mine, draws, [*by, "k"], seed=seed), lift_rows(mine, draws, by, seed=seed).assign(k=ALL_K)],
        ignore_index=True,
    )
    table = table[[*by, "k", *[name for name in table if name not in {*by, "k"}]]]
    table = table.sort_values([*by, "k"], kind="stable", ignore_index=True)
    return table.assign(few=table["n"] < FEW)
