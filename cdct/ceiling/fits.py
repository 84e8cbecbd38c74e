"""A run's trials beside the paper's counts, in the form that `cdct.stats.decay` and `cdct.stats.rivals` take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cdct.ceiling.analysis import final, tokens
from cdct.ceiling.published import published_cells, published_counts, published_tokens

if TYPE_CHECKING:
    import pandas as pd

    from cdct.core import Item

RUN, PAPER = "this run", "CCB paper"
ALL, READABLE = "all replies", "readable replies"
"""Denominators: an unreadable or truncated reply is a failure, or it is left out, as the paper's text says (section 3).
Its numbers count unreadable replies as failures: its tables by depth have the first alone."""
CELL = ["source", "domain", "model", "counted"]
"""What names a cell: `source` is this run or the paper, `counted` the denominator."""


def with_published(rows: pd.DataFrame) -> pd.DataFrame:
    """The scored trials, one arm's, and the paper's counts in the same domains: CELL, depth, correct, n, n_unscored.

    Trials stand once under "all replies", and in cells with unreadable replies once more under "readable replies". What
    got no reply is unscored in both. ValueError where rows mix arms or hold an item of a model more than once: the fits
    take trials for independent.
    """
    import pandas as pd

    last = final(rows, [])
    if last.duplicated(["model", "item"]).any():
        raise ValueError(
            "with_published: an item was answered more than once by a model, and the fits take trials for independent; "
            "take one sample, and more trials instead"
        )
    trials = last[["domain", "model", "depth", "correct"]].assign(source=RUN, counted=ALL, n=1, n_unscored=0)
    readable = trials.assign(correct=last["parsed"], counted=READABLE)
    differs = (trials["correct"].notna() & readable["correct"].isna()).groupby([last["domain"], last["model"]])
    paper = published_counts().assign(source=PAPER, counted=ALL, n_unscored=0)
    paper = paper[paper["domain"].isin(last["domain"])]
    return pd.concat([trials, readable[differs.transform("any").astype(bool)], paper], ignore_index=True)[
        [*CELL, "depth", "correct", "n", "n_unscored"]
    ]


def marked(fits: pd.DataFrame) -> pd.DataFrame:
    """Fits of `cdct.stats.decay.fit_many` by CELL with what a figure has to tell of them.

    New columns: doubtful (fewer than three depths have successes, or p^N is rejected at an uncorrected 5 %), free (p
    without bounds, where p lies on one), printed (the paper's p_d).
    """
    printed = published_cells()[["domain", "model", "estimate"]].rename(columns={"estimate": "printed"})
    table = fits.merge(printed.assign(source=PAPER), on=["source", "domain", "model"], how="left")
    return table.assign(
        doubtful=~table["identifiable"].astype(bool) | (table["p_value"] < 0.05),
        free=table["p_free"].where(table["bound"] != ""),
    )


def residuals(cells: pd.DataFrame, fits: pd.DataFrame) -> pd.DataFrame:
    """How far the share of right answers at each depth is from p^N, in standard deviations of a share that is p^N.

    cells: of `cdct.stats.decay.by_depth`; fits: of `fit_many`, both by CELL. Columns: CELL, depth, correct, n, expected
    (right answers), residual (Pearson's; NaN at p = 0 or 1, and without a scored trial). Where fewer than one right
    answer is expected, a single one makes a large residual: two standard deviations mean little there.
    """
    import numpy as np

    both = cells.merge(fits[[*CELL, "estimate"]], on=CELL, suffixes=("", "_fit"))
    chance = both["estimate_fit"] ** both["depth"]
    spread = np.sqrt(both["n"] * chance * (1 - chance))
    residual = (both["correct"] - both["n"] * chance) / spread.where(spread > 0)
    both = both.assign(expected=both["n"] * chance, residual=residual)
    return both[[*CELL, "depth", "correct", "n", "expected", "residual"]]


def both_depths(rows: pd.DataFrame) -> pd.DataFrame:
    """The trials once by the number of operations and once by the number of steps that change the state.

    Columns: model, domain, item, measure ("depth" or "effective_depth"), depth (that measure), correct, for
    `cdct.stats.decay` by model, domain and measure. Their log-likelihoods can be compared: the trials are the same.
    """
    import pandas as pd

    last = final(rows, [])
    parts = [
        last[["model", "domain", "item", "correct"]].assign(measure=measure, depth=last[measure])
        for measure in ("depth", "effective_depth")
    ]
    return pd.concat(parts, ignore_index=True)


def effective_depths(items: Sequence[Item]) -> pd.DataFrame:
    """The mean number of steps that change the state, in columns domain, depth, estimate, low, high, n, method.

    Without an interval where all items of a depth have the same number, as they do where every step changes the state.
    """
    import pandas as pd

    from cdct.stats.resample import mean

    table = pd.DataFrame(
        [(item.params["domain"], item.params["depth"], item.truth["effective_depth"]) for item in items],
        columns=["domain", "depth", "steps"],
    )
    out = []
    for (domain, depth), cell in table.groupby(["domain", "depth"], sort=False):
        out.append({"domain": domain, "depth": depth} | mean(cell["steps"])._asdict())
    return pd.DataFrame(out, columns=["domain", "depth", "estimate", "low", "high", "n", "method"])


def tokens_with_published(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean tokens of a trial by depth, and the paper's means over its five models.

    Columns: source and those of `cdct.ceiling.analysis.tokens` by domain, model and depth.
    """
    own = tokens(rows, ["domain", "model", "depth"]).assign(source=RUN)
    return _beside(own, published_tokens().assign(model="mean of five models", method="as printed"), rows)


def k_stars(rows: pd.DataFrame) -> pd.DataFrame:
    """The mean step of the first divergence, of trials with a wrong answer, and the paper's means (Table 3).

    Columns: source, domain, model, estimate, low, high, n, n_unscored (wrong trials without a divergence that could be
    seen), method. It hangs on the depths that were asked: no trace diverges later than at its last step.
    """
    import pandas as pd

    from cdct.stats.resample import mean

    last = final(rows, [])
    wrong = last[last["correct"] == 0]
    out = []
    for (model, domain), cell in wrong.groupby(["model", "domain"], sort=False):
        found = cell[cell["k_star"] > 0]
        clusters = found["item"] if found["item"].duplicated().any() else None
        numbers = mean(found["k_star"], clusters)._asdict() | {"n_unscored": len(cell) - len(found)}
        out.append({"source": RUN, "domain": domain, "model": model} | numbers)
    own = pd.DataFrame(
        out, columns=["source", "domain", "model", "estimate", "low", "high", "n", "n_unscored", "method"]
    )
    printed = published_cells()[["domain", "model", "k_star"]].rename(columns={"k_star": "estimate"})
    return _beside(own, printed.assign(method="as printed"), rows)


def _beside(own: pd.DataFrame, paper: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The run's table with the paper's below it, in the domains that were asked."""
    import pandas as pd

    paper = paper[paper["domain"].isin(rows["domain"])].assign(source=PAPER)
    both = [*own.to_dict("records"), *paper.to_dict("records")]  # columns that the paper lacks would change their types
    return pd.DataFrame(both, columns=list(own))


def model_sizes() -> dict[str, float]:
    """Billions of parameters of each model where they are known: from `data/models.toml`, and LLaMA's 70 (Table 3)."""
    from cdct.models import load_models

    sizes = {name: model.parameters for name, model in load_models().items()}
    return {name: float(size) for name, size in sizes.items() if size} | {"LLaMA-3.3": 70.0}
