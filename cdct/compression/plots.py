"""Figures of CDCT: levels of compression, words written, curves, dips and their null. Frames in, `Axes` out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from cdct import plots
from cdct.compression.prompts import ARMS


def _levels(table: pd.DataFrame, words: pd.Series | None) -> tuple[dict[float, int], list[str]]:
    levels = sorted(table["c"].unique())
    named = [f"{c:g}" if words is None or c not in words.index else f"{c:g}\n{words[c]:g}" for c in levels]
    return {c: place for place, c in enumerate(levels)}, named


_LEVELS = "level c, and words of context"


def plot_levels(
    table: pd.DataFrame,
    ylabel: str,
    words: pd.Series | None = None,
    published: pd.DataFrame | None = None,
    reference: float | None = None,
    reference_label: str = "",
) -> Axes:
    """Estimates with intervals by level of compression, a line per model, published values in grey.

    A mark without a bar has no interval.

    Args:
        table: model, c, estimate, low, high, n.
        words: words of the context by c, for the axis; levels are ordinal, so they stand at equal distances.
        published: c, estimate, low, high of a paper.
        reference: value to be drawn as a dashed line.
    """
    _, axes = plt.subplots()
    places, named = _levels(table, words)
    models = list(dict.fromkeys(table["model"]))
    if reference is not None:
        axes.axhline(reference, color="#444444", linestyle="--", linewidth=1, label=reference_label)
    if published is not None:
        known = published[published["c"].isin(places)].sort_values("c")
        looks = {"color": plots.PUBLISHED, "marker": "o", "linestyle": ":"}
        plots.line(axes, known["c"].map(places), known, "paper (exactly 35 words), mean of nine models", looks)
    for number, model in enumerate(models):
        part = table[table["model"] == model].sort_values("c")
        shift = 0.12 * (number - (len(models) - 1) / 2) / max(1, len(models) / 4)
        label = f"{model} (n = {plots.span(part['n'])} a level)"
        plots.line(axes, part["c"].map(places) + shift, part, label, plots.look(model))
    axes.set_xticks(list(places.values()), named)
    axes.set(xlabel=_LEVELS, ylabel=ylabel)
    axes.margins(x=0.08)
    axes.set_ylim(*plots.unit_range(table))
    plots.legend(axes)
    return axes


def plot_conditions(
    table: pd.DataFrame,
    by: str,
    order: Sequence[str],
    ylabel: str,
    words: pd.Series | None = None,
    reference: float | None = None,
    reference_label: str = "",
) -> Axes:
    """Estimates with intervals by level of compression, a panel per model, a line per condition.

    Here colour and mark tell conditions and not models: the first of `order` is black, an arm keeps its look.

    Args:
        table: model, `by`, c, estimate, low, high, n.
        by: "arm" or "compressor". order: its values as they are to be listed, the baseline first.
        words: words of the context by c, for the axis.
        reference: value to be drawn as a dashed line.
    """
    places, named = _levels(table, words)
    models = list(dict.fromkeys(table["model"]))
    shown = [name for name in order if name in set(table[by])]
    panels = plots.panels(len(models), 3.6, 3.2, least=6.4)
    for axes, model in zip(panels, models, strict=False):
        if reference is not None:
            axes.axhline(reference, color="#444444", linestyle="--", linewidth=1, label=reference_label)
        for number, name in enumerate(shown):
            part = table[(table["model"] == model) & (table[by] == name)].sort_values("c")
            shift = 0.5 / max(4, len(shown)) * (number - (len(shown) - 1) / 2)
            label = f"{name} (n = {plots.span(table.loc[table[by] == name, 'n'])} a level)"
            plots.line(axes, part["c"].map(places) + shift, part, label, _condition_look(name, order))
        axes.set_title(model, fontsize=9.5)
        axes.set(xlabel=_LEVELS, xlim=(-0.5, len(places) - 0.5), ylim=plots.unit_range(table))
        axes.set_xticks(list(places.values()), named)
    panels[0].set_ylabel(ylabel)
    plots.legend(panels[0])
    return panels[0]


def _condition_look(name: str, order: Sequence[str]) -> dict[str, str]:
    place = list(order).index(name)
    if place == 0:
        return {"color": "#222222", "marker": "o", "linestyle": "-"}
    place = list(ARMS).index(name) if name in ARMS else place
    colour, marker = plots.COLOURS[place % len(plots.COLOURS)], plots.MARKERS[place % len(plots.MARKERS)]
    return {"color": colour, "marker": marker, "linestyle": ("--", "-.", ":")[place % 3]}


def plot_words(rows: pd.DataFrame, limit: int, words: pd.Series | None = None) -> Axes:
    """Every reply's length by level, a panel per model, the limit as a line. The axis is logarithmic, so that twice and
    half look alike; a reply without a word stands at its foot, at the tick 0.
    """
    found = rows[rows["words"].notna()]
    models = list(dict.fromkeys(rows["model"]))
    places, named = _levels(rows, words)
    lengths = [limit, *found["words"]]
    foot = 0.7 * min(lengths) or 0.5
    ticks = {tick: str(tick) for tick in (1, 2, 5, 10, 20, 35, 50, 100, 200, 400, 800, 1600)}
    ticks = {tick: name for tick, name in ticks.items() if foot < tick <= 1.5 * max(lengths)}
    ticks |= {} if min(lengths) else {foot: "0"}
    panels = plots.panels(len(models), 3.2, 3.0, least=6.4)
    for axes, model in zip(panels, models, strict=True):
        part, colour = found[found["model"] == model], plots.look(model)["color"]
        # points of one level are spread by their rank, so that equal ones stay visible and a rerun draws the same
        rank = part.groupby("c")["words"].rank(method="first") / part.groupby("c")["words"].transform("size")
        x, y = part["c"].map(places) + 0.6 * (rank - 0.5), part["words"].clip(lower=foot)
        cut = part["flags"].astype(str).str.contains("truncated", na=False)
        medians = part.groupby("c")["words"].median().clip(lower=foot)
        axes.axhline(limit, color="#444444", linestyle="--", linewidth=1)
        axes.plot(medians.index.map(places), medians, color=colour, linewidth=1.2, alpha=0.6)
        axes.scatter(x[~cut], y[~cut], s=20, alpha=0.75, **plots.look(model))
        axes.scatter(x[cut], y[cut], s=26, facecolors="none", edgecolors=colour, marker="^")
        axes.set_title(f"{model}\nn = {len(part)}{f', {cut.sum()} cut' if cut.any() else ''}", fontsize=9.5)
        axes.set_yscale("log")
        axes.set_yticks(list(ticks), list(ticks.values()))
        axes.minorticks_off()
        axes.set(xlim=(-0.5, len(places) - 0.5), xlabel=_LEVELS, ylim=(0.9 * foot, 1.3 * max(lengths)))
        axes.set_xticks(list(places.values()), named)
    panels[0].set_ylabel(f"words written (limit {limit})")
    return panels[0]


def plot_curves(rows: pd.DataFrame, metric: str, label: str, number: str = "words") -> Axes:
    """A map of one metric (0-1) by concept and level, a panel per model; the cells print another column's mean.

    A cell without any scored reply is grey and empty.
    """
    found = rows[rows[metric].notna()]
    models = list(dict.fromkeys(rows["model"]))
    concepts = list(dict.fromkeys(rows.sort_values(["domain", "concept"])["concept"]))
    levels = sorted(rows["c"].unique())
    panels = plots.panels(len(models), 3.4, 1.0 + 0.36 * len(concepts), least=5.8)
    cells = found.groupby(["model", "concept", "c"])[[metric, number]].mean().astype(float).reset_index()
    whole = pd.MultiIndex.from_product([concepts, levels], names=["concept", "c"])
    for axes, model in zip(panels, models, strict=True):
        part = cells[cells["model"] == model].set_index(["concept", "c"]).reindex(whole)
        colours, numbers = (part[name].to_numpy().reshape(len(concepts), len(levels)) for name in (metric, number))
        sns.heatmap(
            pd.DataFrame(colours, index=[plots.spaced(name) for name in concepts], columns=[f"{c:g}" for c in levels]),
            vmin=0,
            vmax=1,
            cmap="viridis",
            annot=numbers,
            fmt=".0f",
            ax=axes,
            cbar=False,
            linewidths=0.6,
        )
        axes.set_title(model, fontsize=9.5)
        axes.set(xlabel="level c", ylabel="", facecolor="#E8E8E8")
        axes.grid(False)
        axes.tick_params(axis="y", rotation=0)
    panels[0].figure.colorbar(panels[0].collections[0], ax=panels, label=label, shrink=0.8, aspect=25, pad=0.02)
    return panels[0]


def plot_dips(table: pd.DataFrame, summary: pd.DataFrame, published: Mapping[str, float] | None = None) -> Axes:
    """The magnitude of every concept's dip, and each model's mean with its interval, against 0.

    Args:
        table: `dips` rows. summary: `dip_summary` rows by model. published: what `published_dips` gives, as grey lines.
    """
    concepts = list(dict.fromkeys(table.sort_values(["domain", "concept"])["concept"]))
    models = list(dict.fromkeys(table["model"]))
    rows = len(concepts) * (0.85 + 0.15 * len(models)) + len(models)
    _, axes = plt.subplots(figsize=(6.4, 1.0 + 0.28 * rows))
    axes.axvline(0, color="#444444", linewidth=1)
    printed = {"magnitude": ("paper, as printed", "--"), "magnitude of its means": ("paper, from its means", ":")}
    for measure, (name, dashes) in printed.items() if published else ():
        value = published[measure]
        axes.axvline(value, color=plots.PUBLISHED, linestyle=dashes, linewidth=1.2, label=f"{name}: {value:.3f}")
    axes.axhline(len(concepts) - 0.5, color="#CCCCCC", linewidth=1)
    for number, model in enumerate(models):
        shape = plots.look(model)
        part = table[(table["model"] == model) & table["dips"].notna()]
        shift = 0.6 / max(4, len(models)) * (number - (len(models) - 1) / 2)
        y = part["concept"].map(concepts.index).astype(float) + shift
        faces = np.where(part["dips"].astype(bool), shape["color"], "none")
        axes.scatter(part["magnitude"], y, s=30, facecolors=faces, edgecolors=shape["color"], marker=shape["marker"])
        mean = summary[(summary["model"] == model) & (summary["measure"] == "magnitude")]
        x, bars = mean["estimate"].to_numpy(dtype=float), {"capsize": 4, "markersize": 7, "linewidth": 2}
        axes.errorbar(
            x, [len(concepts) + number] * len(x), xerr=plots.interval_ends(mean), linestyle="none", **bars, **shape
        )
    axes.scatter([], [], s=30, color="#444444", label="dips: both ends above the middle")
    axes.scatter([], [], s=30, facecolors="none", edgecolors="#444444", label="does not dip")
    labels = [*map(plots.spaced, concepts), *(f"mean, {model}" for model in models)]
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.grid(axis="x")
    axes.set(xlabel="mean of both ends minus the middle (0-1)")
    plots.legend(axes)
    return axes


def plot_null(table: pd.DataFrame) -> Axes:
    """The exact chance of every number of dips if levels did not matter; an arrow and colour show what was seen."""
    models = list(dict.fromkeys(table["model"]))
    panels = plots.panels(len(models), 3.2, 2.7, least=5.0)
    for axes, model in zip(panels, models, strict=False):
        part = table[table["model"] == model]
        colours = np.where(part["observed"], plots.look(model)["color"], "#D0D0D0")
        axes.bar(part["dips"], part["chance"], color=colours, width=0.85)
        seen = part[part["observed"]].iloc[0]
        arrow = {
            "arrowprops": {"arrowstyle": "-|>", "color": plots.look(model)["color"]},
            "textcoords": "offset points",
        }
        axes.annotate("", (seen["dips"], seen["chance"]), xytext=(0, 18), **arrow)
        axes.set_title(f"{model}: {seen['dips']} of {seen['n']} dip", fontsize=9.5)
        axes.set(xlabel="curves that dip", xlim=(-0.7, part["dips"].max() + 0.7))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.margins(y=0.2)
    if not models:
        panels[0].set_title("no whole curve, hence nothing to judge")
    panels[0].set(ylabel="chance if levels don't matter")
    return panels[0]
