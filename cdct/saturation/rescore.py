"""Scoring the same replies again, with another reading or other verifiers, and which verdicts that changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cdct.core import Item
from cdct.saturation.constraints import Constraint
from cdct.saturation.score import CHECK, score
from cdct.stats.resample import mean

if TYPE_CHECKING:
    import pandas as pd


class Rescored(NamedTuple):
    """The checks as they are judged now, and a row for each verdict that differs, with `FLIP_COLUMNS`."""

    checks: pd.DataFrame
    flips: pd.DataFrame


FLIP_COLUMNS = [
    *CHECK,
    *("k", "constraint", "change", "passed_before", "passed", "score_before", "score", "detail_before", "detail"),
    *("version_before", "version"),
]


def rescore(
    items: Sequence[Item],
    replies: pd.DataFrame,
    splitter: str = "rules",
    extraction: str = "last tag",
    versions: Mapping[str, Constraint] | None = None,
    before: pd.DataFrame | None = None,
) -> Rescored:
    """Score the same replies another way, and say which verdicts differ; nobody is asked anything.

    `before` is a checks frame of an earlier scoring, such as a table that a run saved; None: as `score` judges now.
    """
    before = score(items, replies) if before is None else before
    after = score(items, replies, splitter, extraction, versions)
    return Rescored(after, flips(before, after))


def flips(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """The checks of two scorings of the same replies whose verdict differs, with `FLIP_COLUMNS`.

    `change` is "to pass", "to fail", "scored now" or "unscored now". ValueError where the frames are not of the same
    checks, or a check is another constraint in one of them.
    """
    names = ["constraint", "params", "passed", "score", "detail", "version"]
    both = before[[*CHECK, *names]].merge(
        after[[*CHECK, "k", *names]], on=CHECK, how="outer", suffixes=("_before", ""), indicator=True
    )
    if (odd := both["_merge"] != "both").any():
        one = both[odd].iloc[0]
        where = "before" if one["_merge"] == "left_only" else "after"
        check = f"{one['model']}, {one['item']}, position {one['position']}"
        raise ValueError(f"flips: {int(odd.sum())} checks stand in one frame alone, such as {check} ({where})")
    if (other := (both["constraint"] != both["constraint_before"]) | (both["params"] != both["params_before"])).any():
        one = both[other].iloc[0]
        raise ValueError(
            f"flips: {one['item']}, position {one['position']} is {one['constraint_before']} {one['params_before']} "
            f"before and {one['constraint']} {one['params']} after: these are not the same items"
        )
    changed = {
        "to pass": (both["passed_before"] == 0) & (both["passed"] == 1),
        "to fail": (both["passed_before"] == 1) & (both["passed"] == 0),
        "scored now": both["passed_before"].isna() & both["passed"].notna(),
        "unscored now": both["passed_before"].notna() & both["passed"].isna(),
    }
    both["change"] = ""
    for name, rows in changed.items():
        both.loc[rows, "change"] = name
    return both.loc[both["change"] != "", FLIP_COLUMNS].reset_index(drop=True)


def flip_counts(rescored: Rescored, by: Sequence[str] = ("constraint",)) -> pd.DataFrame:
    """How many verdicts differ in each cell of `by`: to_pass, to_fail, n (checks scored both times) and the share.

    Columns: `by`, to_pass, to_fail, estimate, low, high, n, method. The interval is clustered by probe.
    """
    import pandas as pd

    changes = rescored.flips.set_index(CHECK)["change"]
    checks = rescored.checks[rescored.checks["passed"].notna()]
    checks = checks.assign(change=changes.reindex(pd.MultiIndex.from_frame(checks[CHECK])).to_numpy())
    out = []
    for cell_names, cell in checks[checks["change"] != "scored now"].groupby(list(by), sort=False, observed=True):
        to_pass, to_fail = (cell["change"] == "to pass"), (cell["change"] == "to fail")
        found = mean((to_pass | to_fail).to_numpy(float), cell["item"].to_numpy(), (0.0, 1.0))._asdict()
        counts = {"to_pass": int(to_pass.sum()), "to_fail": int(to_fail.sum())}
        out.append(dict(zip(by, cell_names, strict=True)) | counts | found)
    return pd.DataFrame(out, columns=[*by, "to_pass", "to_fail", "estimate", "low", "high", "n", "method"])
