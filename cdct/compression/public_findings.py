"""What the public CDCT files show, as sentences made by rule, and what a reader must know of what they lack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cdct.compression.public import ARMS
from cdct.compression.public_summary import dip_shares, inside_shares
from cdct.compression.reliability import POOLED, pooling_notes, votes_by_level

if TYPE_CHECKING:
    import pandas as pd

MIDDLE = 0.5
CUT = ">=0.7"
PRINTED_KAPPA = 0.90
"""The paper's kappa on compliance (section 3.7), from judges whose votes are not public."""


def public_kappas(agreement: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The kappas on compliance of the baseline, by cut and level, to be drawn; the paper's beside its own files alone.

    `agreement` is the table of `votes_by_level`, to whose columns come level, model and published.
    """
    baseline = agreement["arm"] == ARMS[""]
    kappa = agreement[baseline & (agreement["metric"] == "CC") & (agreement["measure"] == "kappa")]
    papers = bool(tables["cdct_public_source"]["papers"].iloc[0])
    published = kappa["c"].eq(POOLED).map({True: PRINTED_KAPPA if papers else None, False: None}).astype(float)
    return kappa.assign(level="c = " + kappa["c"].astype(str), model="all judges of a file", published=published)


def public_findings(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """What the tables of `public_tables` say: columns model ("public files"), text.

    Words in the middle against the judges' limit; dips, with what the models were told of that limit; kappa over levels
    and within them; the gain of the ablation in percent and by sound summaries. What has no data is not spoken of.
    """
    import pandas as pd

    texts = [*_inside(tables), *_dips(tables), *_kappas(tables), *_gains(tables["cdct_public_claims"])]
    return pd.DataFrame({"model": "public files", "text": texts}, columns=["model", "text"])


def _inside(tables: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    for row in inside_shares(tables["cdct_public_levels"]).to_dict("records"):
        if row["c"] == MIDDLE and row["n"]:
            yield (
                f"At c = {MIDDLE} replies have {row['words']:.0f} words on average, and "
                f"{round(row['estimate'] * row['n'])} of {row['n']} are inside the judges' {row['limit']:g} "
                f"({_ends(row)}); the models were told: {row['told']} ({row['arm']})."
            )


def _dips(tables: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    levels = tables["cdct_public_levels"]
    middle = levels[levels["c"] == MIDDLE].set_index("arm").to_dict("index")
    for row in dip_shares(tables["cdct_public_dips"]).query("metric == 'cc' and n > 0").to_dict("records"):
        text = f"{row['dips']} of {row['n']} curves of judged compliance dip ({row['arm']}; {_ends(row)})"
        cause = middle.get(row["arm"])
        if cause:
            text += (
                f": the limit that judges were told at c = {MIDDLE}, under {cause['limit']:g} words, was never told to "
                f"the models ({cause['told']})"
            )
        yield f"{text}."


def _kappas(tables: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    votes = tables["cdct_public_votes"]
    table = votes_by_level(votes[(votes["metric"] == "CC") & (votes["cut"] == CUT)])
    inflated = set(pooling_notes(table, ["arm", "metric", "cut"])["arm"])
    for arm, cell in table[table["measure"] == "kappa"].groupby("arm", sort=True):
        pooled, levels = cell[cell["c"] == POOLED].iloc[0], cell[cell["c"] != POOLED]
        if pooled["estimate"] != pooled["estimate"] or not len(levels) > 1:
            continue
        values = zip(levels["c"], levels["estimate"], strict=True)
        within = ", ".join(f"{'undefined' if k != k else f'{k:.2f}'} at c = {c}" for c, k in values)
        yield (
            f"Kappa of the judges on compliance (high: {CUT}) is {pooled['estimate']:.2f} over all levels, and within "
            f"them {within} ({arm}; {_ends(pooled)}, n = {pooled['n']})"
            f"{': levels differ, which pooling takes for agreement' if arm in inflated else ''}."
        )


def _gains(claims: pd.DataFrame) -> Iterator[str]:
    found = claims[claims["model"] == ""].set_index("claim").to_dict("index")
    if not found or not found["difference"]["n"]:
        return
    percent, difference, odds = (found[claim] for claim in ("mean percent", "difference", "log odds"))
    paper = "" if percent["published"] != percent["published"] else f" (paper: {percent['published']:.0f} %)"
    mean = f"{percent['estimate']:.0f} %{paper} over {percent['n']} trials" if percent["n"] else "undefined"
    yield (
        f"The ablation's mean gain in compliance at c = {MIDDLE} in percent of the baseline is {mean}, which is no "
        f"sound summary, since it weighs a trial by how near 0 its baseline is. The difference is "
        f"{difference['estimate']:+.2f} of 1 ({_ends(difference)}, n = {difference['n']}), the log odds "
        f"{odds['estimate']:+.2f} ({_ends(odds)}). It sets a prompt with a limit against one without."
    )


def _ends(row: Mapping[str, Any]) -> str:
    known = row["low"] == row["low"]
    interval = f"95 % interval {row['low']:.2f} to {row['high']:.2f}" if known else "no interval"
    return f"{interval}, {row['n_unscored']} unscored"


def public_warnings(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """What a reader of the tables of `public_tables` must know: columns level ("warning") and text.

    Each kind of missing score with its reason, where the files are there; how many juries are not complete; juries of
    different sizes; and, where nothing at all could be scored, that.
    """
    import pandas as pd

    levels, votes = tables["cdct_public_levels"], tables["cdct_public_votes"]
    lost = int(levels["n_unscored"].sum())
    texts = [f"{lost} of {lost + int(levels['n'].sum())} levels have no reply"] if lost else []
    if not levels["n_cc"].sum():
        texts.insert(0, "no judge gave any reply of these files a compliance: nothing can be said of it")
    for (arm, metric), cell in votes[votes["cut"] == CUT].groupby(["arm", "metric"], sort=True):
        whole = cell[cell["high"].notna()]
        total, complete = int(cell["n"].sum()), int(whole["n"].sum())
        if complete < total:
            lack = f"{arm}: {total - complete} of {total} levels lack a judge's {metric}"
            share = f"coverage {100 * complete / total:.1f} %"
            texts.append(f"{lack} ({share}): means are of the judges present, agreement is of complete juries")
        sizes = whole.groupby("judges")["n"].sum()
        if len(sizes) > 1:
            told = ", ".join(f"{n} of {size}" for size, n in sizes.items())
            texts.append(f"{arm}: juries differ in size ({metric}: {told} judges); agreement is of one size alone")
    found = pd.DataFrame({"level": "warning", "text": texts}, columns=["level", "text"])
    return pd.concat([found, tables["cdct_public_missing"]], ignore_index=True)
