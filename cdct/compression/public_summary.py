"""What the public CDCT files say, as tables of counts.

The counts are committed as `data/published/cdct_public_*.csv`: the files themselves carry no licence, and the paper's
numbers can be checked where they are absent. Beside each count stands how it is spread over models and over concepts,
in their alphabetical order ("[8, 7, 8]"), so that intervals can be clustered by either.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cdct.compression.public import METRICS, TRIAL_COLUMNS, find_folder, read_results, read_trials
from cdct.compression.public_claims import CLAIM_COLUMNS, trial_summary
from cdct.core import KEYS, read_table, resolve
from cdct.stats import resample
from cdct.stats.agreement import cut
from cdct.stats.dip import dip

if TYPE_CHECKING:
    import pandas as pd

PUBLISHED = "data/published"
TABLES = ("cdct_public_levels", "cdct_public_votes", "cdct_public_dips", "cdct_public_trials")
CUTS = {">=0.7": True, ">0.7": False}
"""What a high score is in the paper's kappa, and whether .7 itself is one: section 3.7 does not say."""

KINDS = ("model", "concept")
"""What replies are alike within."""


def summary_tables(rows: pd.DataFrame, ballots: pd.DataFrame, trials: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The tables of counts by name, as `cdct.core.save_tables` writes and `load_summary` reads them.

    - levels, by arm and c: told; limit; n replies, n_unscored levels without one; mean and median of `words` and of
      `words_reported`; n_inside (fewer words than the limit; NaN where there is none); n_35 (exactly 35 words); n_cc
      replies with a CC, their mean_cc, and mean_cc_published; n_by_model, n_by_concept, inside_by_model and
      inside_by_concept.
    - votes, by arm, c, metric, cut and judges (the size of the jury): `high` judges above the cut, n such replies,
      by_model, by_concept; a number that does not occur has no line. Where `high` is missing, n counts levels with an
      incomplete jury or none.
    - dips, by arm and metric (cc, cc_published): curves that dip (`cdct.stats.dip`), n curves, n_unscored with a hole,
      and the first two by model and by concept.
    - trials: the distinct pairs of baseline and ablated, and n of each.
    """
    pairs = trials.groupby(["baseline", "ablated"], dropna=False).size().rename("n").reset_index()
    return dict(zip(TABLES, (_levels(rows), _votes(rows, ballots), _dips(rows), pairs), strict=True))


def load_summary(folder: str | os.PathLike[str] = PUBLISHED) -> dict[str, pd.DataFrame]:
    """The committed counts of the public files, by table name; see `summary_tables`."""
    return {name: read_table(resolve(folder) / f"{name}.csv") for name in TABLES}


def public_tables(folder: str | None = None) -> dict[str, pd.DataFrame]:
    """The tables of `summary_tables` for the files of a folder, else (without any) the committed counts; and more.

    The folder is that of `find_folder`. `cdct_public_source` has one row: `text` says what was read, `papers` whether
    it is the paper's own files, beside whose numbers alone the paper's belong; `cdct_public_claims` holds
    `trial_summary`, `cdct_public_missing` the columns level and text on each score that is missing, and why. Without a
    per-trial file in the folder the tables on trials are empty.
    """
    import pandas as pd

    place, missing = find_folder(folder), pd.DataFrame(columns=["level", "text"])
    if place is None:
        tables, papers = load_summary(), True
        trials, named = tables["cdct_public_trials"], os.environ.get("CDCT_PUBLIC")
        where = "parameter `folder`, or the environment variable CDCT_PUBLIC"
        where = f"the environment variable CDCT_PUBLIC names {named}, which is no folder" if named else where
        text = f"The public result files are not on this machine ({where}): "
        text += "what follows is computed from the committed counts of them."
    else:
        rows, ballots = read_results(place)
        file = place / "ablation_comparison.json"
        trials = read_trials(file) if file.is_file() else pd.DataFrame(columns=TRIAL_COLUMNS)
        tables, missing = summary_tables(rows, ballots, trials), _missing(rows, ballots)
        papers = _equal(tables, load_summary())
        files = len(rows.groupby(["arm", "model", "concept"]))
        text = f"Read: {len(rows)} levels of {files} result files, {len(trials)} trials."
    claims = trial_summary(trials, papers) if len(trials) else pd.DataFrame(columns=CLAIM_COLUMNS)
    source = pd.DataFrame({"text": [text], "papers": [papers]})
    return tables | {"cdct_public_claims": claims, "cdct_public_source": source, "cdct_public_missing": missing}


def _equal(tables: Mapping[str, pd.DataFrame], others: Mapping[str, pd.DataFrame]) -> bool:
    import pandas as pd

    try:
        for name, table in tables.items():
            pd.testing.assert_frame_equal(table, others[name], check_dtype=False, rtol=1e-9)
    except AssertionError:
        return False
    return True


def _missing(rows: pd.DataFrame, ballots: pd.DataFrame) -> pd.DataFrame:
    """Each kind of score that the files lack, with its reason: columns level, text."""
    import pandas as pd

    texts = []
    for model, cell in rows.groupby("model", sort=True):
        for reason, n in cell["unscored"][cell["unscored"] != ""].value_counts().items():
            texts.append(f"{model}: {n} of {len(cell)} levels could not be scored ({reason})")
    asked = ballots[ballots["unscored"] != "no reply to judge"]
    for judge, cell in asked.groupby("judge", sort=True):
        reasons = cell["unscored"][cell["unscored"] != ""].str.split(": ").str[:2].str.join(": ")
        for reason, n in reasons.value_counts().items():
            texts.append(f"judge {judge}: {n} of {len(cell)} scores are missing ({reason})")
    return pd.DataFrame({"level": "warning", "text": texts})


def inside_shares(levels: pd.DataFrame) -> pd.DataFrame:
    """The share of replies inside the judge's limit, by arm and level.

    Columns: arm, c, told, limit, words (their mean), estimate, low, high (the wider of the intervals clustered by model
    and by concept), n, n_unscored, method. Levels without a limit have no share.
    """
    import pandas as pd

    out = []
    for row in levels.to_dict("records"):
        found = clustered_share(row, "inside") if not math.isnan(row["limit"]) else resample.NOTHING
        named = {name: row[name] for name in ("arm", "c", "told", "limit")} | {"words": row["mean_words"]}
        method = "no limit" if math.isnan(row["limit"]) else found.method
        out.append(named | found._asdict() | {"n_unscored": row["n_unscored"], "method": method})
    columns = ["arm", "c", "told", "limit", "words", "estimate", "low", "high", "n", "n_unscored", "method"]
    return pd.DataFrame(out, columns=columns)


def dip_shares(dips: pd.DataFrame) -> pd.DataFrame:
    """The share of curves that dip, with the wider of the intervals clustered by model and by concept.

    Columns: arm, metric, dips, estimate, low, high, n, n_unscored, method.
    """
    import pandas as pd

    columns = ["arm", "metric", "dips", "estimate", "low", "high", "n", "n_unscored", "method"]
    out = [row | clustered_share(row, "dips")._asdict() for row in dips.to_dict("records")]
    return pd.DataFrame(out, columns=columns)


def clustered_share(row: Mapping[str, Any], name: str) -> resample.Estimate:
    """The share of successes in a row of counts, from its columns such as inside_by_model and n_by_model."""
    found = {}
    for kind in KINDS:
        hits, sizes = (json.loads(row[f"{column}_by_{kind}"]) for column in (name, "n"))
        values = [float(i < hit) for hit, n in zip(hits, sizes, strict=True) for i in range(n)]
        found[kind] = resample.mean(values, members(sizes), (0.0, 1.0))
    return widest(found)


def members(sizes: Sequence[int]) -> list[int]:
    """The number of its cluster for each of the values that clusters of these sizes hold."""
    return [number for number, n in enumerate(sizes) for _ in range(n)]


def widest(found: Mapping[str, resample.Estimate]) -> resample.Estimate:
    """Of an estimate clustered by several kinds the one with the widest interval, or with none, the kind in `method`.

    A kind with a single cluster tells nothing of others and is left out where another has more.
    """
    told = {kind: one for kind, one in found.items() if one.method != "one cluster: no interval"} or found
    kind = max(told, key=lambda kind: math.inf if math.isnan(told[kind].low) else told[kind].high - told[kind].low)
    return told[kind]._replace(
        method=f"{told[kind].method} ({kind})" if "clusters" in told[kind].method else told[kind].method
    )


def high_counts(votes: pd.DataFrame, kind: str = "") -> tuple[list[int], list[int]]:
    """For each reply with a complete jury, how many judges gave a high score, and the number of its model or concept.

    `votes` are lines of that table; `kind` is model, concept, or "" where each reply is its own. ValueError where the
    lines mix metrics, cuts or sizes of juries.
    """
    for name in ("metric", "cut", "judges"):
        found = votes[name].unique()
        if len(found) > 1:
            raise ValueError(f"high_counts: the lines mix {name} {', '.join(map(str, found))}; take one")
    whole = votes[votes["high"].notna()]
    high = [int(high) for high, n in zip(whole["high"], whole["n"], strict=True) for _ in range(n)]
    if not kind:
        return high, list(range(len(high)))
    return high, [number for sizes in whole[f"by_{kind}"] for number in members(json.loads(sizes))]


def _spread(cell: pd.DataFrame, rows: pd.DataFrame, kind: str) -> str:
    """How many rows of the cell each model or concept of all rows has."""
    counts = cell[kind].value_counts()
    return json.dumps([int(counts.get(name, 0)) for name in sorted(rows[kind].unique())])


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
            | {
                f"{name}_by_{kind}": _spread(part, rows, kind)
                for name, part in (("n", replies), ("inside", replies[replies["words"] < limit]))
                for kind in KINDS
            }
        )
    return pd.DataFrame(out)


def _votes(rows: pd.DataFrame, ballots: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    every = rows[[*KEYS, "c", "concept"]].merge(pd.Series(METRICS, name="metric"), how="cross")
    votes = every.merge(ballots[[*KEYS, "metric", "judge", "score"]], how="left", on=[*KEYS, "metric"])
    tables = []
    for name, inclusive in CUTS.items():
        juries = (
            votes.assign(cut=name, vote=cut(votes["score"], inclusive=inclusive))
            .groupby([*KEYS, "c", "concept", "metric", "cut"])
            .agg(judges=("judge", "count"), given=("vote", "count"), high=("vote", "sum"))
            .reset_index()
        )
        whole = (juries["given"] == juries["judges"]) & (juries["judges"] > 0)
        tables.append(juries.assign(high=juries["high"].where(whole)))
    by = ["arm", "c", "metric", "cut", "judges", "high"]
    return pd.DataFrame(
        [
            dict(zip(by, names, strict=True))
            | {"n": len(cell)}
            | {f"by_{kind}": _spread(cell, rows, kind) for kind in KINDS}
            for names, cell in pd.concat(tables).groupby(by, dropna=False)
        ]
    )


def _dips(rows: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    out = []
    for arm, cell in rows.groupby("arm"):
        for metric in ("cc", "cc_published"):
            curves = pd.DataFrame(
                [
                    # rounded: a dip is a strict order, and equal means may differ in their last bit
                    {"model": model, "concept": concept, "curve": curve.sort_values("c")[metric].round(12).tolist()}
                    for (model, concept), curve in cell.groupby(["model", "concept"])
                ]
            )
            whole = curves[
                curves["curve"].map(lambda c: len(c) > 2 and len(c) % 2 == 1 and not any(map(math.isnan, c)))
            ]
            dipping = whole[whole["curve"].map(lambda c: dip(c).dips).astype(bool)]
            found = {"dips": len(dipping), "n": len(whole), "n_unscored": len(curves) - len(whole)}
            spread = {
                f"{name}_by_{kind}": _spread(part, rows, kind)
                for name, part in (("dips", dipping), ("n", whole))
                for kind in KINDS
            }
            out.append({"arm": arm, "metric": metric} | found | spread)
    return pd.DataFrame(out)
