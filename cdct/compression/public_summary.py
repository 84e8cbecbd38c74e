"""What the public CDCT files say, as tables of counts, and what the paper says of its ablation, computed again.

The counts are committed as `data/published/cdct_public_*.csv`: the files themselves carry no licence, and the paper's
numbers can be checked where they are absent.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from cdct.compression.public import METRICS, TRIAL_COLUMNS, find_folder, gains, read_results, read_trials
from cdct.core import KEYS, read_table, resolve
from cdct.stats import resample
from cdct.stats.agreement import cut
from cdct.stats.dip import dip

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

PUBLISHED = "data/published"
TABLES = ("cdct_public_levels", "cdct_public_votes", "cdct_public_dips", "cdct_public_trials")
CUTS = {">=0.7": True, ">0.7": False}
"""What a high score is in the paper's kappa, and whether .7 itself is one: section 3.7 does not say."""
MEANS = {"baseline": (0.0, 1.0), "ablated": (0.0, 1.0), "difference": (-1.0, 1.0)}
"""What is averaged over trials, and its range."""
NAMELESS = "models and concepts not given: no interval"
CLAIM_COLUMNS = ["claim", "model", "estimate", "low", "high", "n", "n_unscored", "published", "method"]
PRINTED = {"Llama-4-Maverick-17B-128E-Instruct-FP8": "Llama-4-Maverick"}
"""Models of the trials that the paper's Table 3 prints under another name."""


def summary_tables(rows: pd.DataFrame, ballots: pd.DataFrame, trials: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The tables of counts by name, as `cdct.core.save_tables` writes and `load_summary` reads them.

    - levels, by arm and c: told; limit; n replies, n_unscored levels without one; mean and median of `words` and of
      `words_reported`; n_inside (fewer words than the limit; NaN where there is none); n_35 (exactly 35 words); n_cc
      replies with a CC, their mean_cc, and mean_cc_published.
    - votes, by arm, c, metric, cut and judges (the size of the jury): `high` judges above the cut, n such replies; a
      number that does not occur has no line. Where `high` is missing, n counts levels with an incomplete jury or none.
    - dips, by arm and metric (cc, cc_published): curves that dip (`cdct.stats.dip`), n curves, n_unscored with a hole.
    - trials: the distinct pairs of baseline and ablated, and n of each.
    """
    pairs = trials.groupby(["baseline", "ablated"], dropna=False).size().rename("n").reset_index()
    return dict(zip(TABLES, (_levels(rows), _votes(rows, ballots), _dips(rows), pairs), strict=True))


def load_summary(folder: str | os.PathLike[str] = PUBLISHED) -> dict[str, pd.DataFrame]:
    """The committed counts of the public files, by table name; see `summary_tables`."""
    return {name: read_table(resolve(folder) / f"{name}.csv") for name in TABLES}


def public_tables(folder: str | None = None) -> dict[str, pd.DataFrame]:
    """The tables of `summary_tables` for the files of a folder, else (without any) the committed counts; and `source`.

    The folder is that of `find_folder`. `cdct_public_source` has one row, which says in `text` what was read;
    `cdct_public_claims` holds `trial_summary`. Without a per-trial file in the folder its two tables are empty.
    """
    import pandas as pd

    place = find_folder(folder)
    if place is None:
        tables, text = (
            load_summary(),
            (
                "The public result files are not on this machine (parameter `folder`, or the environment variable "
                "CDCT_PUBLIC): what follows is computed from the committed counts of them."
            ),
        )
        trials = tables["cdct_public_trials"]
    else:
        rows, ballots = read_results(place)
        file = place / "ablation_comparison.json"
        trials = read_trials(file) if file.is_file() else pd.DataFrame(columns=TRIAL_COLUMNS)
        tables = summary_tables(rows, ballots, trials)
        files = len(rows.groupby(["arm", "model", "concept"]))
        text = f"Read: {len(rows)} levels of {files} result files, {len(trials)} trials."
    claims = trial_summary(trials) if len(trials) else pd.DataFrame(columns=CLAIM_COLUMNS)
    return tables | {"cdct_public_claims": claims, "cdct_public_source": pd.DataFrame({"text": [text]})}


def inside_shares(levels: pd.DataFrame) -> pd.DataFrame:
    """The share of replies inside the judge's limit, by arm and level, with its exact interval.

    Columns: arm, c, told, limit, words (their mean), estimate, low, high, n, n_unscored, method. Levels without a limit
    have no share.
    """
    import pandas as pd

    out = []
    for row in levels.to_dict("records"):
        bound = not math.isnan(row["limit"])
        found = resample.share(int(row["n_inside"]), int(row["n"])) if bound else resample.NOTHING
        named = {
            "arm": row["arm"],
            "c": row["c"],
            "told": row["told"],
            "limit": row["limit"],
            "words": row["mean_words"],
        }
        method = found.method if bound else "no limit"
        out.append(named | found._asdict() | {"n_unscored": row["n_unscored"], "method": method})
    columns = ["arm", "c", "told", "limit", "words", "estimate", "low", "high", "n", "n_unscored", "method"]
    return pd.DataFrame(out, columns=columns)


def public_findings(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """What the tables of `public_tables` say, as sentences: columns model ("public files"), text."""
    import pandas as pd

    texts = []
    for row in inside_shares(tables["cdct_public_levels"]).to_dict("records"):
        if row["c"] == 0.5 and row["n"]:
            texts.append(
                f"At c = 0.5 {round(row['estimate'] * row['n'])} of {row['n']} replies are inside the judges' "
                f"{row['limit']:g} words; the models were told: {row['told']} ({row['arm']})."
            )
    for row in tables["cdct_public_dips"].query("metric == 'cc'").to_dict("records"):
        texts.append(f"{row['dips']} of {row['n']} curves of judged compliance dip ({row['arm']}).")
    return pd.DataFrame({"model": "public files", "text": texts})


def high_counts(votes: pd.DataFrame) -> np.ndarray:
    """For each reply with a complete jury, how many judges gave a high score: what `agreement` takes.

    `votes` are lines of that table; ValueError where they mix metrics, cuts or sizes of juries.
    """
    for name in ("metric", "cut", "judges"):
        found = votes[name].unique()
        if len(found) > 1:
            raise ValueError(f"high_counts: the lines mix {name} {', '.join(map(str, found))}; take one")
    whole = votes[votes["high"].notna()]
    return whole["high"].repeat(whole["n"]).to_numpy(dtype=int)


def _levels(rows: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    out = []
    for (arm, c), cell in rows.groupby(["arm", "c"]):
        replies = cell[cell["words"].notna()]
        limit = cell["limit"].iloc[0]
        out.append(
            {"arm": arm, "c": c, "told": cell["told"].iloc[0], "limit": limit}
            | {"n": len(replies), "n_unscored": len(cell) - len(replies)}
            | {
                f"{how}_{name}": replies[name].agg(how)
                for name in ("words", "words_reported")
                for how in ("mean", "median")
            }
            | {"n_inside": math.nan if math.isnan(limit) else int((replies["words"] < limit).sum())}
            | {"n_35": int((replies["words"] == 35).sum()), "n_cc": int(cell["cc"].notna().sum())}
            | {"mean_cc": cell["cc"].mean(), "mean_cc_published": cell["cc_published"].mean()}
        )
    return pd.DataFrame(out)


def _votes(rows: pd.DataFrame, ballots: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    every = rows[[*KEYS, "c"]].merge(pd.Series(METRICS, name="metric"), how="cross")
    votes = every.merge(ballots[[*KEYS, "metric", "judge", "score"]], how="left", on=[*KEYS, "metric"])
    tables = []
    for name, inclusive in CUTS.items():
        juries = (
            votes.assign(cut=name, vote=cut(votes["score"], inclusive=inclusive))
            .groupby([*KEYS, "c", "metric", "cut"])
            .agg(judges=("judge", "count"), given=("vote", "count"), high=("vote", "sum"))
            .reset_index()
        )
        whole = (juries["given"] == juries["judges"]) & (juries["judges"] > 0)
        tables.append(juries.assign(high=juries["high"].where(whole)))
    by = ["arm", "c", "metric", "cut", "judges", "high"]
    return pd.concat(tables).groupby(by, dropna=False).size().rename("n").reset_index()


def _dips(rows: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    out = []
    for arm, cell in rows.groupby("arm"):
        for metric in ("cc", "cc_published"):
            # rounded: a dip is a strict order, and equal means may differ in their last bit
            curves = [
                curve.sort_values("c")[metric].round(12).tolist() for _, curve in cell.groupby(["model", "concept"])
            ]
            whole = [curve for curve in curves if len(curve) > 2 and len(curve) % 2 and not any(map(math.isnan, curve))]
            found = {"dips": sum(dip(curve).dips for curve in whole), "n": len(whole)}
            out.append({"arm": arm, "metric": metric} | found | {"n_unscored": len(curves) - len(whole)})
    return pd.DataFrame(out)


# ------------------------------------------------------------------------------------------------ the ablation's claims


def trial_summary(trials: pd.DataFrame) -> pd.DataFrame:
    """What the paper says of its ablation (section 4.6, Table 3), computed again, beside summaries that are sound.

    Columns: claim, model ("" for all trials), estimate, low, high, n, n_unscored, published, method. Claims:

    - mean percent, median percent: of the gains in percent of a baseline above 0. No sound summary, since it weighs a
      trial by how near 0 its baseline is: from .06 to 1 counts three times as much as from .16 to 1.
    - positive, perfect: the number of trials with a gain, and of those ablated to 1.
    - baseline, ablated, difference: means of CC on 0-1, over all trials with intervals clustered by model and concept,
      and for each model from the spread between concepts.
    - log odds: how far those of the two means lie apart (`cdct.stats.association.log_odds`), with the wider of the
      intervals clustered by model and by concept.

    `trials` are those of `read_trials`, or the pairs of `load_summary`: without names no intervals and no models.
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
    published = _published()
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
    scalars = read_table(f"{PUBLISHED}/cdct_scalars.csv").set_index("quantity")["value"].astype(float)
    table = read_table(f"{PUBLISHED}/cdct_t3_ablation.csv")
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
