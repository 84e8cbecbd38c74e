"""What the CDCT paper says of its ablation (section 4.6, Table 3), computed again from the trials."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cdct.compression.public import gains
from cdct.core import read_table
from cdct.stats import resample

if TYPE_CHECKING:
    import pandas as pd

MEANS = {"baseline": (0.0, 1.0), "ablated": (0.0, 1.0), "difference": (-1.0, 1.0)}
"""What is averaged over trials, and its range."""
NAMELESS = "models and concepts not given: no interval"
CLAIM_COLUMNS = ["claim", "model", "estimate", "low", "high", "n", "n_unscored", "published", "method"]
PRINTED = {"Llama-4-Maverick-17B-128E-Instruct-FP8": "Llama-4-Maverick"}
"""Models of the trials that the paper's Table 3 prints under another name."""


def trial_summary(trials: pd.DataFrame, papers: bool = True) -> pd.DataFrame:
    """The claims about the ablation, beside summaries that are sound.

    Columns: claim, model ("" for all trials), estimate, low, high, n, n_unscored, published, method. Claims:

    - mean percent, median percent: of the gains in percent of a baseline above 0. No sound summary, since it weighs a
      trial by how near 0 its baseline is: from .06 to 1 counts three times as much as from .16 to 1.
    - positive, perfect: the number of trials with a gain, and of those ablated to 1.
    - baseline, ablated, difference: means of CC on 0-1, over all trials with intervals clustered by model and concept,
      and for each model from the spread between concepts.
    - log odds: how far those of the two means lie apart (`cdct.stats.association.log_odds`), with the wider of the
      intervals clustered by model and by concept.

    `trials` are those of `read_trials`, or the pairs of `load_summary`: without names no intervals and no models. What
    the paper prints is `published` beside its own trials alone (`papers`).
    """
    import numpy as np
    import pandas as pd

    named = "model" in trials
    table = gains(trials if named else trials.loc[trials.index.repeat(trials["n"])])
    found = table[table["difference"].notna()]
    percent = found["percent"][np.isfinite(found["percent"])]
    lines = [
        ("mean percent", "", _bare(percent.mean(), len(percent), "mean")),
        ("median percent", "", _bare(percent.median(), len(percent), "median")),
        ("positive", "", _bare((found["difference"] > 0).sum(), len(found), "count")),
        ("perfect", "", _bare((found["ablated"] == 1).sum(), len(found), "count")),
        *((name, "", _clustered(found, found[name], bounds)) for name, bounds in MEANS.items()),
        ("log odds", "", _log_odds(found)),
    ]
    for model, cell in table.groupby("model") if named else ():
        whole = cell[cell["difference"].notna()]
        lines += [(name, model, resample.mean(whole[name], bounds=bounds)) for name, bounds in MEANS.items()]
    published = _published() if papers else {}
    out = []
    for claim, model, estimate in lines:
        size = len(table) if not model else int((table["model"] == model).sum())
        says = published.get((claim, PRINTED.get(model, model)), math.nan)
        out.append(
            {"claim": claim, "model": model, "n_unscored": size - estimate.n, "published": says} | estimate._asdict()
        )
    return pd.DataFrame(out, columns=CLAIM_COLUMNS)


def _published() -> dict[tuple[str, str], float]:
    """What the paper prints for a claim and a model ("" for all)."""
    scalars = read_table("data/published/cdct_scalars.csv").set_index("quantity")["value"].astype(float)
    table = read_table("data/published/cdct_t3_ablation.csv")
    return {
        ("mean percent", ""): scalars["ablation_mean_improvement"],
        ("median percent", ""): scalars["ablation_median_improvement"],
        ("positive", ""): scalars["ablation_positive"],
        ("perfect", ""): scalars["ablation_perfect"],
        **{("baseline", row.model): row.baseline_CC_0_1 for row in table.itertuples()},
        **{("ablated", row.model): row.ablated_CC_0_1 for row in table.itertuples()},
    }


def _bare(value: float, n: int, method: str) -> resample.Estimate:
    """An estimate without an interval."""
    return resample.Estimate(float(value), math.nan, math.nan, n, method) if n else resample.NOTHING


def _clustered(trials: pd.DataFrame, values: pd.Series, bounds: tuple[float, float]) -> resample.Estimate:
    """The mean of one value a trial, with an interval that respects models and concepts where they are known."""
    if "model" not in trials:
        return _bare(values.mean(), len(values), NAMELESS)
    from cdct.stats.association import mean_two_way

    return mean_two_way(values, trials["model"], trials["concept"], bounds)


def _log_odds(trials: pd.DataFrame) -> resample.Estimate:
    """The wider of the estimates clustered by model and by concept."""
    from cdct.stats.association import log_odds

    if "model" not in trials:
        value = log_odds(trials["ablated"], trials["baseline"], [0] * len(trials)).estimate
        return _bare(value, len(trials), NAMELESS)
    found = [
        found._replace(method=f"{found.method} ({name})")
        for name in ("model", "concept")
        for found in [log_odds(trials["ablated"], trials["baseline"], trials[name])]
    ]
    return max(found, key=lambda estimate: 0 if math.isnan(estimate.low) else estimate.high - estimate.low)
