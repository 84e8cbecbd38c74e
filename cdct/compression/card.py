"""What a report says of the CDCT rows: the lines of each model's card, and findings as sentences made by rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        # a second sentence that says which limit was told need not name it again
        said = set(cell["told"]) == {limit_words(names[2], names[1])}
        for text, named in (
            (_dip(summary, middle), told),
            (_length(cell), condition(names[0], "exactly", LIMIT, names[-1]) if said else told),
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
    if not words["n"]:
        return ""
    bound = cell[cell["deviation"].notna()]  # what no limit binds keeps none
    n, told = len(bound), cell["told"].unique()
    asked = f"Asked for {told[0]}" if len(told) == 1 else "Told other limits at other levels,"
    asked = "Told no number of words," if set(told) == {"none"} else asked
    writes = f"{asked} it writes {words['estimate']:.0f} words on average {_interval(words, '.0f')}"
    if not n:  # no limit to be kept
        return writes
    keep, close = (int(bound[metric].sum()) for metric in ("exact", "near"))
    limit = "the limit" if (cell["told"] == cell["judged"]).all() else "the limit that they are judged by"
    return f"{writes}; of {n} replies {keep} keep {limit}, and {close} come within 3 words"


def effect_card(effects: pd.DataFrame, against: str = BASELINE, levels: Sequence[float] = ()) -> pd.DataFrame:
    """A line for each row of `arm_effects`, with the columns of `card`: what a condition changes `against` another.

    `levels`: those that the effects rest on, where these are not all; they stand in the label.
    """
    import pandas as pd

    of, lines = _of(effects), []
    for row in effects.to_dict("records"):
        unit = "log odds" if row["measure"] == "log odds" else _METRICS.get(row["metric"], ("", ""))[1]
        label = f"change of {_metric(row)}{_where(row, levels)}{' (0-1)' if not unit else ''}"
        lines.append(
            {"model": row.get("model", ""), "group": f"CDCT: {row[of]} against {against}", "label": label, "unit": unit}
            | {name: row[name] for name in ("estimate", "low", "high", "n", "n_unscored", "method")}
            | {"published": None, "published_label": ""}
        )
    columns = ["model", "group", "label", "unit", "estimate", "low", "high", "n", "n_unscored", "method"]
    return pd.DataFrame(lines, columns=[*columns, "published", "published_label"])


def effect_findings(effects: pd.DataFrame, against: str = BASELINE, levels: Sequence[float] = ()) -> pd.DataFrame:
    """Sentences on the differences in rows of `arm_effects`: columns model, text.

    That a condition changes something is said where p, corrected for all rows of the table, and the interval both say
    so; where only one of them does, the sentence says which. Percents are never given: see `log_odds`.
    """
    import pandas as pd

    of, out = _of(effects), []
    tested = effects[effects["measure"] == "difference"]
    tests = int(tested["p"].notna().sum())
    corrected = f", Holm-corrected for {tests} comparisons" if tests > 1 else ""
    for row in tested.to_dict("records"):
        name, what = f"With {row[of]} instead of {against}", f"{_metric(row)}{_where(row, levels)}"
        unit = _METRICS.get(row["metric"], ("", ""))[1] or "of 1"
        size = f"{row['estimate']:+.2f} {unit} {_interval(row, '+.2f')} ({_p(row['p_holm'])}{corrected})"
        apart, rare = row["low"] > 0 or row["high"] < 0, row["p_holm"] < ALPHA
        if not row["n"]:
            text = f"{name} nothing is known of {what}: no pair of replies could be scored"
        elif apart and rare:
            text = f"{name} {what} {'rises' if row['estimate'] > 0 else 'falls'}: {size}"
        elif apart:
            text = f"{name} a change of {what} is in doubt, its interval leaves out 0 but p does not say so: {size}"
        elif rare:
            text = f"{name} a change of {what} is in doubt, p is small but the interval does not say so: {size}"
        else:
            text = f"{name} no change of {what} can be told from chance: {size}"
        out.append({"model": row.get("model", ""), "text": f"{text}."})
    return pd.DataFrame(out, columns=["model", "text"])


_METRICS = {"cc": ("compliance", ""), "words": ("words written", "words"), "coverage": ("key points covered", "")}


def _of(effects: pd.DataFrame) -> str:
    """What the effects are of, such as "arm": the column that `arm_effects` puts before the metric."""
    return list(effects)[list(effects).index("metric") - 1]


def _metric(row: Mapping[str, Any]) -> str:
    return _METRICS.get(row["metric"], (row["metric"], ""))[0]


def _where(row: Mapping[str, Any], levels: Sequence[float]) -> str:
    at = [row["c"]] if row.get("c") is not None and row["c"] == row["c"] else levels
    return f" at c = {', '.join(f'{c:g}' for c in at)}" if len(at) else ""


def _interval(row: Any, form: str = ".2f") -> str:
    return "(no interval)" if row["low"] != row["low"] else f"[{row['low']:{form}}, {row['high']:{form}}]"


def _p(value: float) -> str:
    # the convolution behind it is right to about twelve digits of the whole, not of so small a tail
    return "exact two-sided p " + (f"= {value:.2g}" if value >= 1e-10 else "< 1e-10")
