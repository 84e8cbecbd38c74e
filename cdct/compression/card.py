"""What a report says of the CDCT rows: the lines of each model's card, and findings as sentences made by rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cdct.compression.analysis import CONDITION, dip_summary, published_dips, published_means, summarise
from cdct.compression.items import LEVELS, LIMIT, WRITTEN, limit_words
from cdct.compression.prompts import BASELINE

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05
"""A dip or an arch is spoken of when its exact two-sided p (twice the smaller tail) is below this."""


def condition(arm: str, mode: str, limit: int, compressor: str = WRITTEN) -> str:
    """What sets a condition apart from the baseline, "" for the baseline itself: "at most 35 words", "plain"."""
    parts = [arm] if arm not in ("baseline", BASELINE) else []
    if (mode, limit) != ("exactly", LIMIT):
        parts.append(limit_words(limit, mode))
    if compressor != WRITTEN:
        parts.append(f"texts by {compressor}")
    return ", ".join(parts)


def card(rows: pd.DataFrame) -> pd.DataFrame:
    """The lines of each model's card, one set for each condition: dips, compliance in the middle, length, coverage.

    Columns: model, group, label, unit, estimate, low, high, n, n_unscored, method, published, published_label. What the
    paper printed (over its nine models) stands beside the baseline at the paper's levels, where it has it on 0-1.
    """
    import pandas as pd

    lines: list[dict[str, Any]] = []
    for names, part in rows.groupby(CONDITION, sort=False):
        told = condition(*names)
        middle = sorted(part["c"].unique())[part["c"].nunique() // 2]
        summary = dip_summary(part)
        paper = "" if told or sorted(part["c"].unique()) != list(LEVELS) else "CDCT paper, nine models"
        printed, means = published_dips(), published_means().set_index("c")["estimate"]
        for label, unit, table, published, source in (
            ("curves that dip", "share", summary[summary["measure"] == "prevalence"], printed["prevalence"], paper),
            (
                "dip magnitude (0-1)",
                "",
                summary[summary["measure"] == "magnitude"],
                printed["magnitude"],
                f"{paper}; its means give {printed['magnitude of its means']:.2f}",
            ),
            (
                f"compliance at c = {middle:g} (0-1)",
                "",
                summarise(part[part["c"] == middle], ["model"]),
                means.get(middle),
                paper,
            ),
            ("replies that keep the limit", "share", summarise(part, ["model"], "exact"), None, ""),
            ("words written", "words", summarise(part, ["model"], "words"), None, ""),
            ("key points covered", "share", summarise(part, ["model"], "coverage"), None, ""),
        ):
            known = bool(paper) and published is not None
            for row in table.to_dict("records"):
                lines.append(
                    {"model": row["model"], "group": f"CDCT: {told}" if told else "CDCT", "label": label, "unit": unit}
                    | {name: row[name] for name in ("estimate", "low", "high", "n", "n_unscored", "method")}
                    | {"published": published if known else None, "published_label": source if known else ""}
                )
    return pd.DataFrame(lines)


def findings(rows: pd.DataFrame) -> pd.DataFrame:
    """One or two sentences per model and condition: columns model, text.

    The first says whether compliance dips at the middle level, arches, or does neither as far as can be told. A dip,
    and likewise an arch, is claimed only when both measures say so: more curves that dip (or arch), and a deeper mean,
    than levels that do not matter give. The second says how long replies are, and how often the limit is kept.
    """
    import pandas as pd

    out = []
    for (model, *names), cell in rows.groupby(["model", *CONDITION], sort=True):
        told = condition(*names)
        summary = dip_summary(cell).set_index("measure").to_dict("index")
        middle = sorted(cell["c"].unique())[cell["c"].nunique() // 2]
        # the second sentence names the limit itself
        for text, named in (
            (_dip(summary, middle), told),
            (_length(cell), condition(names[0], "exactly", LIMIT, names[-1])),
        ):
            if text:
                out.append({"model": model, "text": f"{text}{named and f' ({named})'}."})
    return pd.DataFrame(out, columns=["model", "text"])


def _dip(summary: dict[str, dict[str, Any]], middle: float) -> str:
    share, depth, arches = (summary[measure] for measure in ("prevalence", "magnitude", "arches"))
    n = int(share["n"])
    if n == 0:
        return ""
    dip, arch = (
        f"{round(one['estimate'] * n)} of {n} curves {verb}, {one['null'] * n:.1f} would by chance"
        for one, verb in ((share, "dip"), (arches, "arch"))
    )
    below = f"{depth['estimate']:.2f} of 1 {_interval(depth)}"
    above = f"{-depth['estimate']:.2f} of 1 {_interval({'low': -depth['high'], 'high': -depth['low']})}"
    deeper, shallower = min(1.0, 2 * depth["p_more"]), min(1.0, 2 * depth["p_less"])
    at, one_way = f"c = {middle:g}", "that is a rise or a fall, not"
    if deeper < ALPHA and share["p_more"] < ALPHA:
        return f"Compliance dips at {at}, by {below} against the mean of the ends ({_p(deeper)}); {dip}"
    if deeper < ALPHA:
        told = f"The middle, {at}, lies below the mean of the ends by {below} ({_p(deeper)}), but not below both "
        return f"{told}more often than by chance: {dip}; {one_way} a dip"
    if shallower < ALPHA and arches["p_more"] < ALPHA:
        told = f"Compliance does not dip at {at} but arches, by {above} against the mean of the ends ({_p(shallower)})"
        return f"{told}; {arch}; {dip}"
    if shallower < ALPHA:
        told = f"The middle, {at}, lies above the mean of the ends by {above} ({_p(shallower)}), but not above both "
        return f"{told}more often than by chance: {arch}; {one_way} an arch"
    told = (
        f"No dip and no arch can be told from chance at {at}: magnitude {depth['estimate']:+.2f} {_interval(depth)}, "
    )
    return f"{told}{_p(min(deeper, shallower))}; {dip}"


def _length(cell: pd.DataFrame) -> str:
    words = summarise(cell, ["model"], "words").iloc[0]
    kept, near = (summarise(cell, ["model"], metric).iloc[0] for metric in ("exact", "near"))
    if not words["n"]:
        return ""
    n, told = int(kept["n"]), cell["told"].unique()
    keep, close = (round(share["estimate"] * n) if n else 0 for share in (kept, near))
    asked = f"Asked for {told[0]}" if len(told) == 1 else "Told other limits at other levels,"
    return (
        f"{asked} it writes {words['estimate']:.0f} words on average {_interval(words, '.0f')}; "
        f"of {n} replies {keep} keep the limit, and {close} come within 3 words"
    )


def _interval(row: Any, form: str = ".2f") -> str:
    return "(no interval)" if row["low"] != row["low"] else f"[{row['low']:{form}}, {row['high']:{form}}]"


def _p(value: float) -> str:
    # the convolution behind it is right to about twelve digits of the whole, not of so small a tail
    return "exact two-sided p " + (f"= {value:.2g}" if value >= 1e-10 else "< 1e-10")
