"""Do judges agree: at each level, and pooled over levels, where kappa may only show that levels differ.

Each table holds both cuts that "0.7" can mean (paper, section 3.7), since many scores are exactly .7.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cdct.compression.public_summary import CUTS, high_counts
from cdct.core import KEYS
from cdct.stats.agreement import agreement, pooling, reliability

if TYPE_CHECKING:
    import pandas as pd

POOLED = "all"
LEAST = 5
_COLUMNS = ["cut", "c", "n", "n_unscored", "measure", "estimate", "low", "high", "method"]


def agreement_by_level(ballots: pd.DataFrame, rows: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """How far judges agree on each metric, told the count or not, by level and over all levels ("all").

    Columns: shown, metric, cut, c, n (replies that all judges scored), n_unscored, measure (those of
    `cdct.stats.agreement.reliability`), estimate, low, high (clustered by concept), method. `rows` are those of
    `score`, which say where a reply belongs.
    """
    import pandas as pd

    placed = ballots.merge(rows[[*KEYS, "c", "concept"]], on=KEYS, how="left", validate="many_to_one")
    if placed["concept"].isna().any():
        raise ValueError("agreement_by_level: a ballot is on a reply that is not in the rows")
    by, tables = ["shown", "metric"], []
    for name, inclusive in CUTS.items():
        options = {"inclusive": inclusive, "cluster": "concept", "seed": seed}
        pooled = reliability(placed, KEYS, by, **options).assign(c=POOLED, cut=name)
        levels = reliability(placed, KEYS, [*by, "c"], **options).assign(cut=name)
        tables += [levels.assign(c=levels["c"].map("{:g}".format)), pooled]
    return pd.concat(tables, ignore_index=True)[[*by, *_COLUMNS]]


def votes_by_level(votes: pd.DataFrame) -> pd.DataFrame:
    """The same from counted votes (`public_summary.summary_tables`), with the column arm in place of shown.

    The counts don't say which concept a reply belongs to, so the intervals take replies for independent.
    """
    import pandas as pd

    by, tables = ["arm", "metric", "cut"], []
    for names, cell in votes.groupby(by, sort=True):
        judges = int(cell["judges"].max())
        complete = cell[(cell["judges"] == judges) & cell["high"].notna()]
        for c in [*sorted(cell["c"].unique()), POOLED]:
            part, whole = (one if c == POOLED else one[one["c"] == c] for one in (complete, cell))
            found = agreement(high_counts(part), judges) if len(part) else agreement([], judges)
            named = dict(zip(by, names, strict=True)) | {"c": POOLED if c == POOLED else f"{c:g}"}
            tables.append(found.assign(**named, n_unscored=int(whole["n"].sum()) - int(found["n"].iloc[0])))
    columns = ["arm", "metric", *_COLUMNS]
    return pd.concat(tables, ignore_index=True)[columns] if tables else pd.DataFrame(columns=columns)


def pooling_notes(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Where the pooled kappa says more than the levels do: `by` (such as shown, metric, cut) and text, a row for each.

    The rule is that of `cdct.stats.agreement.pooling`, for cells with `LEAST` complete juries a level on average: with
    fewer, kappas differ by chance alone. An empty table says that pooling inflates nothing.
    """
    import pandas as pd

    out = []
    for names, cell in table.groupby(list(by), sort=True):
        parts = cell[["c", "n", "n_unscored", "measure", "estimate", "low", "high", "method"]]
        pooled, strata = parts[parts["c"] == POOLED], parts[parts["c"] != POOLED]
        if int(pooled["n"].max()) < LEAST * strata["c"].nunique():
            continue
        if text := pooling(pooled.drop(columns="c"), strata.assign(c="c = " + strata["c"])):
            named = ", ".join(map(str, names))
            out.append(dict(zip(by, names, strict=True)) | {"text": f"{named}: {text}"})
    return pd.DataFrame(out, columns=[*by, "text"])


def jury_card(calibration: pd.DataFrame) -> pd.DataFrame:
    """The lines of a judge's card from the rows of `calibration`: bias, slope and error, the count hidden and shown."""
    lines = calibration.assign(
        model=calibration["judge"],
        group="CDCT judge, count " + calibration["shown"],
        label=calibration["measure"].map(LABELS),
        unit=calibration["measure"].map({"slope": "judged per counted"}).fillna(""),
        published=None,
        published_label="",
    )
    columns = ["model", "group", "label", "unit", "estimate", "low", "high", "n", "n_unscored", "method"]
    return lines[[*columns, "published", "published_label"]]


LABELS = {
    "bias": "bias of judged compliance (0-1)",
    "slope": "slope of judged on counted compliance",
    "error": "mean error of judged compliance (0-1)",
}


def jury_findings(calibration: pd.DataFrame) -> pd.DataFrame:
    """How each judge marks compliance against the count, as sentences: columns model (the judge), text."""
    import pandas as pd

    out = []
    for (judge, shown), cell in calibration.groupby(["judge", "shown"], sort=True):
        found = cell.set_index("measure").to_dict("index")
        bias, slope, error = (found[measure] for measure in ("bias", "slope", "error"))
        if not bias["n"]:
            continue
        known = bias["low"] > 0 or bias["high"] < 0
        lean = ("lenient" if bias["estimate"] > 0 else "strict") if known else "neither lenient nor strict for certain"
        follows = "the slope can't be told" if pd.isna(slope["low"]) else _follows(slope)
        marks = f"bias {bias['estimate']:+.2f} of 1 {_ends(bias)}, mean error {error['estimate']:.2f}"
        counts = f"n = {bias['n']}, {bias['n_unscored']} unscored"
        text = f"As a judge of compliance with the count {shown} it is {lean}: {marks} ({counts}); {follows}."
        out.append({"model": judge, "text": text})
    return pd.DataFrame(out, columns=["model", "text"])


def _follows(slope: dict[str, float]) -> str:
    told = f"slope {slope['estimate']:.2f} {_ends(slope)}"
    if slope["low"] <= 0 <= slope["high"]:
        return f"its marks can't be told from ones that ignore the count ({told})"
    return f"its marks rise with the count ({told}, 1 would follow it)" if slope["low"] > 0 else f"they fall ({told})"


def _ends(row: dict[str, float]) -> str:
    return "(no interval)" if row["low"] != row["low"] else f"[{row['low']:.2f}, {row['high']:.2f}]"
