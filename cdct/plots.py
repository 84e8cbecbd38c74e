"""Figures: frames in, `Axes` out. Every estimate shows its interval; what papers published is grey; one colour per model."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cdct.core import digest, resolve, write_text
from cdct.models import load_models

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5C00", "#332288")
"""Told apart by colour-blind readers (after Okabe and Ito 2008, without their yellow, which is too faint on white)."""
MARKERS = ("o", "s", "^", "D", "v", "P")
PUBLISHED = "#8A8A8A"
STYLE = {
    "figure.dpi": 120,
    "savefig.dpi": 160,
    "figure.figsize": (6.4, 3.8),
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


def save(axes: Axes, path: str | os.PathLike[str]) -> None:
    """Write the figure that holds these axes as SVG, byte-stable: same data, same file."""
    figure = axes.figure
    buffer = io.StringIO()
    assert isinstance(figure, Figure)  # noqa: S101 - for the type checker
    with mpl.rc_context({"svg.hashsalt": "cdct"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    write_text(resolve(path), buffer.getvalue())


def _levels(table: pd.DataFrame, words: pd.Series | None) -> tuple[dict[float, int], list[str]]:
    levels = sorted(table["c"].unique())
    named = [f"{c:g}" if words is None or c not in words.index else f"{c:g}\n{words[c]:g} words" for c in levels]
    return {c: place for place, c in enumerate(levels)}, named


def plot_levels(
    table: pd.DataFrame,
    ylabel: str,
    words: pd.Series | None = None,
    published: pd.DataFrame | None = None,
    reference: float | None = None,
    reference_label: str = "",
) -> Axes:
    """Estimates with intervals by level of compression, a line per model, published values in grey.

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
        _line(axes, known["c"].map(places), known, color=PUBLISHED, marker="o", label="paper, mean of nine models")
    for number, model in enumerate(models):
        part = table[table["model"] == model].sort_values("c")
        shift = 0.12 * (number - (len(models) - 1) / 2) / max(1, len(models) / 4)
        _line(
            axes, part["c"].map(places) + shift, part, label=f"{model} (n = {_span(part['n'])} a level)", **look(model)
        )
    axes.set_xticks(list(places.values()), named)
    axes.set(xlabel="level c (and words of context left)", ylabel=ylabel)
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
    """The legend above the axes, where it hides no data."""
    axes.legend(frameon=False, fontsize=8.5, loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=2, columnspacing=1.2)


def _line(axes: Axes, x: pd.Series, table: pd.DataFrame, **looks: Any) -> None:
    y = table["estimate"].to_numpy(dtype=float)
    ends = np.vstack([y - table["low"].to_numpy(dtype=float), table["high"].to_numpy(dtype=float) - y])
    axes.errorbar(x, y, yerr=np.clip(np.nan_to_num(ends), 0, None), capsize=3, linewidth=1.6, markersize=5, **looks)


def _span(numbers: pd.Series) -> str:
    low, high = int(numbers.min()), int(numbers.max())
    return str(low) if low == high else f"{low}-{high}"


def plot_words(rows: pd.DataFrame, limit: int, words: pd.Series | None = None) -> Axes:
    """Every reply's length by level, with the limit as a line. The axis is logarithmic: twice and half look alike."""
    _, axes = plt.subplots()
    places, named = _levels(rows, words)
    scored = rows[rows["unscored"] == ""]
    models = list(dict.fromkeys(scored["model"]))
    axes.axhline(limit, color="#444444", linestyle="--", linewidth=1, label=f"limit, {limit} words")
    for number, model in enumerate(models):
        part = scored[scored["model"] == model]
        # points of one level are spread by their rank, so that equal ones stay visible and a rerun draws the same
        rank = part.groupby("c")["words"].rank(method="first") / part.groupby("c")["words"].transform("size")
        x = part["c"].map(places) + 0.5 * (rank - 0.5) * 0.6 + 0.2 * (number - (len(models) - 1) / 2)
        cut = part["flags"].str.contains("truncated")
        shape = look(model)
        y = part["words"].clip(lower=0.8)
        axes.scatter(x[~cut], y[~cut], s=22, alpha=0.75, label=f"{model} ({len(part)} replies)", **shape)
        if cut.any():
            axes.scatter(
                x[cut],
                y[cut],
                s=30,
                facecolors="none",
                edgecolors=shape["color"],
                marker="^",
                label="cut by the token limit",
            )
        medians = part.groupby("c")["words"].median()
        axes.plot(medians.index.map(places), medians, color=shape["color"], linewidth=1.2, alpha=0.6)
    axes.set_yscale("log")
    ticks = [tick for tick in (1, 5, 10, 20, 35, 50, 100, 200, 400, 800) if tick <= 1.5 * scored["words"].max()]
    axes.set_yticks(ticks, list(map(str, ticks)))
    axes.minorticks_off()
    axes.set_ylim(bottom=max(0.7, 0.7 * min(limit, scored["words"].min())))
    axes.set_xticks(list(places.values()), named)
    axes.set(xlabel="level c (and words of context left)", ylabel="words written")
    _legend(axes)
    return axes


def plot_curves(rows: pd.DataFrame, metric: str, label: str, number: str = "words") -> Axes:
    """A map of one metric (0-1) by concept and level, for each model; the cells print another column's mean."""
    scored = rows[rows["unscored"] == ""]
    models = list(dict.fromkeys(rows["model"]))
    concepts = list(dict.fromkeys(rows.sort_values(["domain", "concept"])["concept"]))
    _, panels = plt.subplots(
        1, len(models), figsize=(2.2 + 3.6 * len(models), 0.8 + 0.38 * len(concepts)), sharey=True, squeeze=False
    )
    for place, (axes, model) in enumerate(zip(panels[0], models, strict=True)):
        cells = scored[scored["model"] == model].groupby(["concept", "c"])[[metric, number]].mean()
        colours = cells[metric].unstack().reindex(concepts)
        numbers = cells[number].unstack().reindex(concepts)
        sns.heatmap(
            colours,
            vmin=0,
            vmax=1,
            cmap="viridis",
            annot=numbers,
            fmt=".0f",
            ax=axes,
            cbar=place == len(models) - 1,
            cbar_kws={"label": label},
            linewidths=0.6,
        )
        axes.set_title(model)
        axes.set(xlabel="level c", ylabel="")
        axes.set_yticklabels([name.replace("_", " ") for name in concepts], rotation=0)
    return panels[0][0]


def plot_dips(table: pd.DataFrame, summary: pd.DataFrame, published: dict[str, float] | None = None) -> Axes:
    """The magnitude of every concept's dip, and each model's mean with its interval, against 0.

    Args:
        table: `dips` rows. summary: `dip_summary` rows by model. published: label -> magnitude, as grey lines.
    """
    concepts = list(dict.fromkeys(table.sort_values(["domain", "concept"])["concept"]))
    models = list(dict.fromkeys(table["model"]))
    _, axes = plt.subplots(figsize=(6.4, 1.6 + 0.3 * (len(concepts) + len(models))))
    axes.axvline(0, color="#444444", linewidth=1)
    for (name, value), dashes in zip((published or {}).items(), ("--", ":", "-."), strict=False):
        axes.axvline(value, color=PUBLISHED, linestyle=dashes, linewidth=1.2, label=name)
    for number, model in enumerate(models):
        shape = look(model)
        part = table[(table["model"] == model) & table["dips"].notna()]
        shift = 0.16 * (number - (len(models) - 1) / 2)
        y = part["concept"].map(concepts.index) + shift
        dipping = part["dips"].astype(bool)
        axes.scatter(part["magnitude"][dipping], y[dipping], s=30, label=f"{model}: dips", **shape)
        axes.scatter(
            part["magnitude"][~dipping],
            y[~dipping],
            s=30,
            facecolors="none",
            edgecolors=shape["color"],
            marker=shape["marker"],
            label=f"{model}: does not dip",
        )
        mean = summary[(summary["model"] == model) & (summary["measure"] == "magnitude")].iloc[0]
        ends = np.nan_to_num([[mean["estimate"] - mean["low"]], [mean["high"] - mean["estimate"]]])
        axes.errorbar(
            mean["estimate"], len(concepts) + number, xerr=ends, capsize=4, markersize=8, linewidth=2, **shape
        )
    labels = [name.replace("_", " ") for name in concepts] + [f"mean, {model}" for model in models]
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.grid(axis="x")
    axes.set(xlabel="dip magnitude: mean of both ends minus the middle (compliance, 0-1)")
    _legend(axes)
    return axes


def plot_null(table: pd.DataFrame) -> Axes:
    """The exact chance of every number of dips if levels did not matter, with what was observed in colour."""
    models = list(dict.fromkeys(table["model"]))
    _, panels = plt.subplots(
        1, max(1, len(models)), figsize=(max(5.0, 3.4 * len(models)), 2.8), sharey=True, squeeze=False
    )
    for axes, model in zip(panels[0], models, strict=False):
        part = table[table["model"] == model]
        colours = np.where(part["observed"], look(model)["color"], "#D0D0D0")
        axes.bar(part["dips"], part["chance"], color=colours, width=0.85)
        seen = part[part["observed"]].iloc[0]
        axes.annotate(
            "observed", (seen["dips"], seen["chance"]), ha="center", xytext=(0, 4), textcoords="offset points"
        )
        axes.set_title(f"{model}, {int(seen['n'])} concepts")
        axes.set(xlabel="concepts that dip", ylabel="chance if levels don't matter")
        axes.set_xticks(part["dips"])
        axes.margins(y=0.15)
    return panels[0][0]


def plot_cards(cards: pd.DataFrame, groups: Sequence[str] | None = None) -> Axes:
    """Every share-like estimate of the model cards with its interval, a row per line of a card; published values grey."""
    shown = cards[cards["unit"].fillna("").isin(["share", ""])]
    shown = shown if groups is None else shown[shown["group"].isin(groups)]
    lines = list(dict.fromkeys(zip(shown["group"], shown["label"], strict=True)))
    models = list(dict.fromkeys(shown["model"]))
    _, axes = plt.subplots(figsize=(6.8, 1.2 + 0.42 * len(lines)))
    axes.axvline(0, color="#444444", linewidth=1)
    for number, model in enumerate(models):
        part = shown[shown["model"] == model]
        y = np.array([lines.index(line) for line in zip(part["group"], part["label"], strict=True)], dtype=float)
        y += 0.2 * (number - (len(models) - 1) / 2)
        x = part["estimate"].to_numpy(dtype=float)
        ends = np.vstack([x - part["low"].to_numpy(dtype=float), part["high"].to_numpy(dtype=float) - x])
        axes.errorbar(
            x, y, xerr=np.clip(np.nan_to_num(ends), 0, None), linestyle="none", capsize=3, label=model, **look(model)
        )
    grey = shown.dropna(subset=["published"]).drop_duplicates(["group", "label"])
    if len(grey):
        y = [lines.index(line) for line in zip(grey["group"], grey["label"], strict=True)]
        axes.scatter(grey["published"], y, color=PUBLISHED, marker="|", s=200, linewidths=2.5, label="published")
    axes.set_yticks(range(len(lines)), [f"{group}: {label}" for group, label in lines])
    axes.invert_yaxis()
    axes.grid(axis="x")
    axes.set(xlabel="estimate with 95 % interval (0-1)")
    _legend(axes)
    return axes
