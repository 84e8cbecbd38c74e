"""Groups of models against each other: reasoning against efficient ones, in rows and as the paper printed them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cdct.compression.analysis import CLUSTER
from cdct.compression.contrasts import all_and_each_level, mean_cells
from cdct.stats import association, resample

if TYPE_CHECKING:
    import pandas as pd


def tiers(rows: pd.DataFrame, tier_of: Mapping[str, str], metric: str = "cc") -> pd.DataFrame:
    """Reasoning against efficient models, over all levels and at each: an unpaired comparison of model means.

    The two groups are different models, so nothing is paired; a model is one value, its mean over the texts (concepts
    at levels) that every compared model has scored. A text that one of them lacks is left out for all: levels differ,
    so that a reply missing at one level would move a mean. Columns: c ("all" or a level), measure ("difference"
    reasoning minus efficient, "hedges g" of model means), estimate, low, high, p, n_reasoning, n_efficient, n_unscored
    (models without a tier or any scored reply there), levels (which the texts are of), texts (compared),
    texts_left_out, method. NaN where a group has fewer than two models, or no text is shared by all.
    """
    import pandas as pd

    cells = mean_cells(rows, metric)
    out = []
    for name, cell in all_and_each_level(cells):
        wide = cell.set_index(["c", CLUSTER, "model"])[metric].unstack("model")  # noqa: PD010 - pivot_table drops what is missing
        known = wide[[model for model in wide if tier_of.get(model, "") in ("reasoning", "efficient")]]
        known = known.dropna(axis="columns", how="all")
        shared = known.dropna() if len(known.columns) else known.iloc[:0]
        means = shared.mean() if len(shared) else pd.Series(dtype=float)
        groups = [
            means[[model for model in means.index if tier_of[model] == tier]] for tier in ("reasoning", "efficient")
        ]
        found = association.two_groups(*(group.to_numpy() for group in groups))
        counts = {
            "n_reasoning": len(groups[0]),
            "n_efficient": len(groups[1]),
            "n_unscored": wide.shape[1] - len(means),
        }
        counts |= {"levels": ", ".join(f"{c:g}" for c in sorted(set(shared.index.get_level_values("c"))))}
        counts |= {"texts": len(shared), "texts_left_out": len(wide) - len(shared)}
        for measure, estimate in (("difference", found.difference), ("hedges g", found.hedges_g)):
            out.append({"c": name, "measure": measure, "p": found.p} | estimate._asdict() | counts)
    columns = ["c", "measure", "estimate", "low", "high", "p", "n_reasoning", "n_efficient", "n_unscored"]
    return pd.DataFrame(out, columns=[*columns, "levels", "texts", "texts_left_out", "method"])


def published_tiers() -> pd.DataFrame:
    """The same comparison of what the paper prints, on 0-1: reasoning minus efficient models, from its Table 1.

    Columns: measure, estimate, low, high, p (Welch, of the difference), n_reasoning, n_efficient, printed, method.
    Printed are 27.5 % and d = .96, for all levels (section 4.4) and for c = .5 (4.3.1). The means give 12.4 %; "above
    7.5" and about 6.0 at c = .5 give more than 25 %, and 7.65 would give 27.5 %. d over replies, from the standard
    deviations beside the means, is .79; Hedges g takes for its values the nine means, which spread less than replies.
    """
    import pandas as pd

    from cdct.core import read_table

    table = read_table("data/published/cdct_t1_models.csv").set_index("group")
    groups = [table.loc[tier, "CC_mean_0_10"].to_numpy() / 10 for tier in ("reasoning", "efficient")]
    printed = read_table("data/published/cdct_scalars.csv").set_index("quantity")["value"]
    found, (one, other) = association.two_groups(*groups), (group.mean() for group in groups)
    half = printed["reasoning_cc_at_half_gt"] / printed["efficient_cc_at_half"]
    d = (one - other) / ((table["CC_sd"] / 10) ** 2).mean() ** 0.5
    percent, nothing = printed["reasoning_advantage"], float("nan")
    out = [("difference", nothing, found.difference), ("hedges g of model means", nothing, found.hedges_g)]
    for name, says, value, method in (
        ("percent", percent, 100 * (one / other - 1), "ratio of the means of Table 1"),
        ("percent at c = 0.5", percent, 100 * (half - 1), "at least: above 7.5 against about 6.0"),
        ("d over replies", printed["cohens_d"], d, "means over pooled deviations of Table 1"),
    ):
        out.append((name, says, resample.NOTHING._replace(estimate=value, method=method)))
    sizes = {"n_reasoning": len(groups[0]), "n_efficient": len(groups[1])}
    p = {"difference": found.p, "hedges g of model means": found.p}
    rows = [
        {"measure": name, "printed": says, "p": p.get(name)} | sizes | estimate._asdict()
        for name, says, estimate in out
    ]
    columns = ["measure", "estimate", "low", "high", "p", "n_reasoning", "n_efficient", "printed", "method"]
    return pd.DataFrame(rows, columns=columns)
