"""What the CDCT numbers say, as sentences: made by rule from the estimates, with the numbers that they rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cdct.compression.analysis import dip_summary, summarise

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05
"""A dip or an arch is spoken of when its exact two-sided p (twice the smaller tail) is below this."""


def findings(rows: pd.DataFrame) -> pd.DataFrame:
    """One or two sentences per model and condition: columns model, text.

    The first says whether compliance dips at the middle level, arches, or does neither as far as can be told. A dip is
    claimed only when both measures say so: more dipping concepts, and a deeper mean, than levels that do not matter give.
    The second says how long replies are, and how often the limit is kept.
    """
    import pandas as pd

    out = []
    for (model, arm, mode, limit), cell in rows.groupby(["model", "arm", "mode", "limit"], sort=True):
        condition = "" if (arm, mode) in (("baseline", "exactly"), ("fixed", "exactly")) else f" ({arm}, {mode})"
        summary = dip_summary(cell).set_index("measure").to_dict("index")
        middle = sorted(cell["c"].unique())[cell["c"].nunique() // 2]
        for text in (_dip(summary, middle), _length(cell, mode, limit)):
            if text:
                out.append({"model": model, "text": text + condition + "."})
    return pd.DataFrame(out, columns=["model", "text"])


def _dip(summary: dict[str, dict[str, Any]], middle: float) -> str:
    share, depth = summary["prevalence"], summary["magnitude"]
    n = int(share["n"])
    if n == 0:
        return ""
    seen = f"{round(share['estimate'] * n)} of {n} curves dip, {share['null'] * n:.1f} would by chance"
    size = f"{depth['estimate']:.2f} of 1 {_interval(depth)}"
    turned = {"low": -depth["high"], "high": -depth["low"]}
    deeper, shallower = min(1.0, 2 * depth["p_more"]), min(1.0, 2 * depth["p_less"])
    if deeper < ALPHA and share["p_more"] < ALPHA:
        return f"Compliance dips at c = {middle:g}, by {size} against the ends (exact two-sided p = {deeper:.2g}); {seen}"
    if shallower < ALPHA:
        return (
            f"Compliance does not dip at c = {middle:g} but arches: the middle lies {-depth['estimate']:.2f} of 1 "
            f"{_interval(turned)} above the ends (exact two-sided p = {shallower:.2g}); {seen}"
        )
    p_value = min(deeper, shallower)
    return f"No dip and no arch can be told from chance at c = {middle:g}: magnitude {depth['estimate']:+.2f} " + (
        f"{_interval(depth)}, exact two-sided p = {p_value:.2g}; {seen}"
    )


def _length(cell: pd.DataFrame, mode: str, limit: int) -> str:
    words = summarise(cell, ["model"], "words").iloc[0]
    kept, near = (summarise(cell, ["model"], metric).iloc[0] for metric in ("exact", "near"))
    if not words["n"]:
        return ""
    n = int(kept["n"])
    return (
        f"Asked for {mode} {limit} words it writes {words['estimate']:.0f} on average {_interval(words, '.0f')}; "
        f"of {n} replies {round(kept['estimate'] * n)} keep the limit, and {round(near['estimate'] * n)} come within 3 words"
    )


def _interval(row: Any, form: str = ".2f") -> str:
    return f"[{row['low']:{form}}, {row['high']:{form}}]"
