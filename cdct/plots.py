"""Figures: frames in, `Axes` out. Estimates show their intervals, papers' values are grey, a model keeps its colour."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns
from IPython.display import HTML
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from cdct.core import digest, resolve, scored, write_text
from cdct.models import load_models

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5C00", "#332288")
"""Told apart by colour-blind readers (after Okabe and Ito 2008, without their yellow, which is too faint on white)."""
MARKERS = ("o", "s", "^", "D", "v", "P")
PUBLISHED = "#8A8A8A"
STYLE = {
    "figure.dpi": 120,
    "savefig.dpi": 160,
    "figure.figsize": (6.4, 3.5),
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.grid.axis": "y",
    "svg.hashsalt": "cdct",
    "svg.fonttype": "path",
}


def style() -> None:
    """Set the house style for all figures that follow, and let notebooks show them sharp and whole."""
    sns.set_theme(context="paper", style="whitegrid", rc=STYLE)
    mpl.rcParams["figure.constrained_layout.use"] = True


def look(model: str) -> dict[str, Any]:
    """Colour and marker of a model: by its place in `data/models.toml`, so that they are the same in every figure."""
    names = list(load_models())
    place = names.index(model) if model in names else len(names) + int(digest(model)[:8], 16) % 40
    return {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place // len(COLOURS) % len(MARKERS)]}


def table(frame: pd.DataFrame, digits: int = 3) -> HTML:
    """A frame as a table to be read: no row numbers, rounded, a dash for what is missing; texts are escaped."""
    shown = frame.copy()
    for name in shown.select_dtypes("float"):
        values = shown[name]
        places = 0 if (values.dropna() % 1 == 0).all() else digits
        shown[name] = [f"{value:.{places}f}" if value == value else "–" for value in values]
    with pd.option_context("display.max_colwidth", 600):
        return HTML(shown.to_html(index=False, border=0, na_rep="–"))


def save(axes: Axes, path: str | os.PathLike[str]) -> None:
    """Write the figure that holds these axes as SVG, byte-stable: same data, same file."""
    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "cdct"}):
        axes.figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    write_text(resolve(path), buffer.getvalue())


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
        looks = {"color": PUBLISHED, "marker": "o", "linestyle": ":"}
        _line(axes, known["c"].map(places), known, label="paper (exactly 35 words), mean of nine models", **looks)
    for number, model in enumerate(models):
        part = table[table["model"] == model].sort_values("c")
        shift = 0.12 * (number - (len(models) - 1) / 2) / max(1, len(models) / 4)
        label = f"{model} (n = {_span(part['n'])} a level)"
        _line(axes, part["c"].map(places) + shift, part, label=label, **look(model))
    axes.set_xticks(list(places.values()), named)
    axes.set(xlabel=_LEVELS, ylabel=ylabel)
    axes.margins(x=0.08)
    axes.set_ylim(*_unit_range(table))
    _legend(axes)
    return axes


def _unit_range(table: pd.DataFrame) -> tuple[float | None, float | None]:
    """The whole of 0-1 for values that lie in it, so that figures can be compared by eye; else what the data need."""
    values = table[["estimate", "low", "high"]].to_numpy(dtype=float)
    inside = np.nanmin(values) >= 0 and np.nanmax(values) <= 1 if np.isfinite(values).any() else True
    return (-0.03, 1.03) if inside else (None, None)


def _legend(axes: Axes) -> None:
    """The legend above the axes, where it hides no data; the figure grows by its height."""
    handles, labels = axes.get_legend_handles_labels()
    columns = 2 if max(map(len, labels), default=0) < 48 else 1
    axes.figure.set_figheight(axes.figure.get_figheight() + 0.17 * math.ceil(len(labels) / columns))
    axes.figure.legend(
        handles, labels, frameon=False, fontsize=8.5, loc="outside upper left", ncols=columns, columnspacing=1.2
    )


def _ends(table: pd.DataFrame) -> np.ndarray:
    """How far the interval reaches below and above each estimate. NaN where there is none: then no bar is drawn."""
    low, middle, high = (table[name].to_numpy(dtype=float) for name in ("low", "estimate", "high"))
    return np.maximum(np.vstack([middle - low, high - middle]), 0)


def _line(axes: Axes, x: pd.Series, table: pd.DataFrame, **looks: Any) -> None:
    y = table["estimate"].to_numpy(dtype=float)
    axes.errorbar(x, y, yerr=_ends(table), capsize=3, linewidth=1.6, markersize=5, **looks)


def _panels(number: int, width: float, height: float, least: float = 0.0) -> list[Axes]:
    """So many axes of that size, at most three in a row, at least one; the outer scales are shared."""
    columns = min(3, max(1, number))
    rows = max(1, math.ceil(number / columns))
    size = (max(least, width * columns), height * rows)
    _, panels = plt.subplots(rows, columns, figsize=size, sharey=True, squeeze=False)
    for spare in panels.flat[max(1, number) :]:
        spare.set_visible(False)
    return list(panels.flat[: max(1, number)])


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _span(numbers: pd.Series) -> str:
    low, high = int(numbers.min()), int(numbers.max())
    return str(low) if low == high else f"{low}-{high}"


def plot_words(rows: pd.DataFrame, limit: int, words: pd.Series | None = None) -> Axes:
    """Every reply's length by level, a panel per model, the limit as a line. The axis is logarithmic, so that twice and
    half look alike; a reply without a word stands at its foot, at the tick 0.
    """
    found = scored(rows)
    models = list(dict.fromkeys(rows["model"]))
    places, named = _levels(rows, words)
    lengths = [limit, *found["words"]]
    foot = 0.7 * min(lengths) or 0.5
    ticks = {tick: str(tick) for tick in (1, 2, 5, 10, 20, 35, 50, 100, 200, 400, 800, 1600)}
    ticks = {tick: name for tick, name in ticks.items() if foot < tick <= 1.5 * max(lengths)}
    ticks |= {} if min(lengths) else {foot: "0"}
    panels = _panels(len(models), 3.2, 3.0, least=6.4)
    for axes, model in zip(panels, models, strict=True):
        part, colour = found[found["model"] == model], look(model)["color"]
        # points of one level are spread by their rank, so that equal ones stay visible and a rerun draws the same
        rank = part.groupby("c")["words"].rank(method="first") / part.groupby("c")["words"].transform("size")
        x, y = part["c"].map(places) + 0.6 * (rank - 0.5), part["words"].clip(lower=foot)
        cut = part["flags"].astype(str).str.contains("truncated", na=False)
        medians = part.groupby("c")["words"].median().clip(lower=foot)
        axes.axhline(limit, color="#444444", linestyle="--", linewidth=1)
        axes.plot(medians.index.map(places), medians, color=colour, linewidth=1.2, alpha=0.6)
        axes.scatter(x[~cut], y[~cut], s=20, alpha=0.75, **look(model))
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
    found = scored(rows)
    models = list(dict.fromkeys(rows["model"]))
    concepts = list(dict.fromkeys(rows.sort_values(["domain", "concept"])["concept"]))
    levels = sorted(rows["c"].unique())
    panels = _panels(len(models), 3.4, 1.0 + 0.36 * len(concepts), least=5.8)
    cells = found.groupby(["model", "concept", "c"])[[metric, number]].mean().astype(float).reset_index()
    whole = pd.MultiIndex.from_product([concepts, levels], names=["concept", "c"])
    for axes, model in zip(panels, models, strict=True):
        part = cells[cells["model"] == model].set_index(["concept", "c"]).reindex(whole)
        colours, numbers = (part[name].to_numpy().reshape(len(concepts), len(levels)) for name in (metric, number))
        sns.heatmap(
            pd.DataFrame(colours, index=[_spaced(name) for name in concepts], columns=[f"{c:g}" for c in levels]),
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


def plot_dips(table: pd.DataFrame, summary: pd.DataFrame, published: dict[str, float] | None = None) -> Axes:
    """The magnitude of every concept's dip, and each model's mean with its interval, against 0.

    Args:
        table: `dips` rows. summary: `dip_summary` rows by model. published: label -> magnitude, as grey lines.
    """
    concepts = list(dict.fromkeys(table.sort_values(["domain", "concept"])["concept"]))
    models = list(dict.fromkeys(table["model"]))
    rows = len(concepts) * (0.85 + 0.15 * len(models)) + len(models)
    _, axes = plt.subplots(figsize=(6.4, 1.0 + 0.28 * rows))
    axes.axvline(0, color="#444444", linewidth=1)
    for (name, value), dashes in zip((published or {}).items(), ("--", ":", "-."), strict=False):
        axes.axvline(value, color=PUBLISHED, linestyle=dashes, linewidth=1.2, label=name)
    axes.axhline(len(concepts) - 0.5, color="#CCCCCC", linewidth=1)
    for number, model in enumerate(models):
        shape = look(model)
        part = table[(table["model"] == model) & table["dips"].notna()]
        shift = 0.6 / max(4, len(models)) * (number - (len(models) - 1) / 2)
        y = part["concept"].map(concepts.index).astype(float) + shift
        faces = np.where(part["dips"].astype(bool), shape["color"], "none")
        axes.scatter(part["magnitude"], y, s=30, facecolors=faces, edgecolors=shape["color"], marker=shape["marker"])
        mean = summary[(summary["model"] == model) & (summary["measure"] == "magnitude")]
        x, bars = mean["estimate"].to_numpy(dtype=float), {"capsize": 4, "markersize": 7, "linewidth": 2}
        axes.errorbar(x, [len(concepts) + number] * len(x), xerr=_ends(mean), linestyle="none", **bars, **shape)
    axes.scatter([], [], s=30, color="#444444", label="dips: both ends above the middle")
    axes.scatter([], [], s=30, facecolors="none", edgecolors="#444444", label="does not dip")
    labels = [*map(_spaced, concepts), *(f"mean, {model}" for model in models)]
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.grid(axis="x")
    axes.set(xlabel="mean of both ends minus the middle (0-1)")
    _legend(axes)
    return axes


def plot_null(table: pd.DataFrame) -> Axes:
    """The exact chance of every number of dips if levels did not matter; an arrow and colour show what was seen."""
    models = list(dict.fromkeys(table["model"]))
    panels = _panels(len(models), 3.2, 2.7, least=5.0)
    for axes, model in zip(panels, models, strict=False):
        part = table[table["model"] == model]
        colours = np.where(part["observed"], look(model)["color"], "#D0D0D0")
        axes.bar(part["dips"], part["chance"], color=colours, width=0.85)
        seen = part[part["observed"]].iloc[0]
        arrow = {"arrowprops": {"arrowstyle": "-|>", "color": look(model)["color"]}, "textcoords": "offset points"}
        axes.annotate("", (seen["dips"], seen["chance"]), xytext=(0, 18), **arrow)
        axes.set_title(f"{model}: {seen['dips']} of {seen['n']} dip", fontsize=9.5)
        axes.set(xlabel="curves that dip", xlim=(-0.7, part["dips"].max() + 0.7))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.margins(y=0.2)
    if not models:
        panels[0].set_title("no whole curve, hence nothing to judge")
    panels[0].set(ylabel="chance if levels don't matter")
    return panels[0]


def plot_cards(cards: pd.DataFrame, groups: Sequence[str] | None = None) -> Axes:
    """Every estimate of the model cards on 0-1 with its interval, a row per line of a card; published values grey."""
    shown = cards[cards["unit"].fillna("").isin(["share", ""])]
    shown = shown if groups is None else shown[shown["group"].isin(groups)]
    lines = list(dict.fromkeys(zip(shown["group"], shown["label"], strict=True)))
    models = list(dict.fromkeys(shown["model"]))
    _, axes = plt.subplots(figsize=(6.8, 0.9 + (0.3 + 0.1 * len(models)) * len(lines)))
    axes.axvline(0, color="#444444", linewidth=1)
    for number, model in enumerate(models):
        part = shown[shown["model"] == model]
        y = np.array([lines.index(line) for line in zip(part["group"], part["label"], strict=True)], dtype=float)
        y += 0.7 / max(3, len(models)) * (number - (len(models) - 1) / 2)
        x = part["estimate"].to_numpy(dtype=float)
        axes.errorbar(x, y, xerr=_ends(part), linestyle="none", capsize=3, label=model, **look(model))
    grey = shown.dropna(subset=["published"]).drop_duplicates(["group", "label"])
    if len(grey):
        y = [lines.index(line) for line in zip(grey["group"], grey["label"], strict=True)]
        axes.scatter(grey["published"], y, color=PUBLISHED, marker="|", s=200, linewidths=2.5, label="published")
    axes.set_yticks(range(len(lines)), [f"{group}: {label}" for group, label in lines])
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.grid(axis="x")
    axes.set(xlabel="estimate with 95 % interval (0-1)")
    _legend(axes)
    return axes
