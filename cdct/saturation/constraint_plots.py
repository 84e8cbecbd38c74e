"""Figures of CSE by constraint: heat maps, retention, the gap beside the slope. Frames in, `Axes` out.

As in `cdct.saturation.plots` what the paper printed is grey, and a hollow mark is an estimate of a small cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import Colormap

from cdct import plots
from cdct.saturation.constraints import CONSTRAINTS, DIMENSIONS
from cdct.saturation.hierarchy import KEPT
from cdct.saturation.plots import beside, names_of, over_k, points

FEW_COLUMNS = 16
"""Up to so many columns a heat map has its numbers written in it."""


def plot_heat(table: pd.DataFrame, columns: str = "k", published: pd.DataFrame | None = None) -> Axes:
    """The share passed of each constraint (row) by k or by model (column), in percent; the paper's in grey beside it.

    An empty cell was not asked; a number with a dot rests on few probes. Intervals stand in the table behind it.

    Args:
        table: constraint, `columns`, estimate, few. published: `published_heatmap`: constraint, model, estimate.
    """
    tables = [table] if published is None else [table, published.assign(few=False)]
    heads = [columns, "model"][: len(tables)]
    widths = [max(3, len(names_of(one, head))) for one, head in zip(tables, heads, strict=True)]
    size = (1.3 + 0.36 * sum(widths), 9.4 if len(names_of(table, "constraint")) > 18 else 5.4)
    _, grid = plt.subplots(1, len(tables), figsize=size, squeeze=False, sharey=True, width_ratios=widths)
    rows = [id for id in CONSTRAINTS if id in set(pd.concat(tables)["constraint"])]
    for axes, one, head, colours in zip(grid.flat, tables, heads, ("viridis", "Greys"), strict=False):
        image = _heat(axes, one, head, rows, plt.get_cmap(colours))
        axes.figure.colorbar(image, ax=axes, location="bottom", fraction=0.04, pad=0.01, label="share passed")
    grid[0, 0].set_yticks(range(len(rows)), [f"{id} {CONSTRAINTS[id].name}" for id in rows], fontsize=7.5)
    if published is not None:
        grid[0, 1].set_title("paper", fontsize=9.5)
    return grid[0, 0]


def _heat(axes: Axes, table: pd.DataFrame, columns: str, rows: Sequence[str], colours: Colormap) -> Any:
    heads = sorted(table[columns].unique()) if columns == "k" else names_of(table, columns)
    values = table.pivot_table("estimate", "constraint", columns, observed=True).reindex(index=rows, columns=heads)
    few = table.pivot_table("few", "constraint", columns, aggfunc="max", observed=True)
    small = few.reindex(index=rows, columns=heads).fillna(0).astype(bool).to_numpy()
    axes.set_facecolor("white")
    axes.grid(visible=False)
    image = axes.imshow(values.to_numpy(dtype=float), cmap=colours, vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(
        range(len(heads)), [str(head) for head in heads], rotation=0 if columns == "k" else 90, fontsize=7.5
    )
    axes.set_xlabel("constraints k" if columns == "k" else "")
    if len(heads) > FEW_COLUMNS:
        return image
    for (row, column), value in np.ndenumerate(values.to_numpy(dtype=float)):
        if value == value:
            text = f"{100 * value:.0f}" + ("·" if small[row, column] else "")
            dark = sum(colours(value)[:3]) < 1.5
            looks = {"fontsize": 6, "color": "white" if dark else "black", "in_layout": False}
            axes.text(column, row, text, ha="center", va="center", **looks)
    return image


def plot_retention(table: pd.DataFrame, most: float = 1.5) -> Axes:
    """Retention over k with intervals, a panel per dimension, a line per constraint.

    Dashed lines: 1 (nothing lost), .8 (the paper's immune), .5 (t0.5). What lies above `most` is cut off.

    Args:
        table: `retention` of one cell: constraint, dimension, k, estimate, low, high, n, few.
    """
    dimensions = [name for name in DIMENSIONS.values() if name in set(table["dimension"])]
    panels = plots.panels(len(dimensions), 3.2, 2.6, least=6.4)
    for axes, dimension in zip(panels, dimensions, strict=False):
        inside = table[table["dimension"] == dimension]
        units = names_of(inside, "constraint" if "constraint" in table else "dimension")
        for line in (1.0, KEPT, 0.5):
            axes.axhline(line, color="#888888", linewidth=0.7, linestyle="--")
        for number, unit in enumerate(units):
            part = inside[inside["constraint"] == unit] if "constraint" in table else inside
            part = part[part["estimate"].notna()].sort_values("k")
            part = part.assign(high=part["high"].clip(upper=10 * most))
            looks = {"color": plots.COLOURS[number], "marker": plots.MARKERS[number], "linestyle": "-"}
            points(axes, part["k"] + beside(number, len(units)), part, unit if len(part) else None, looks, faint=True)
        axes.set(title=dimension, ylim=(-0.05, most))
        over_k(axes, table["k"])
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=6.5, frameon=False, ncols=2, loc="lower left")
        else:
            axes.text(0.5, 0.5, "no rate at k = 1", transform=axes.transAxes, ha="center", va="center", fontsize=8)
    panels[0].set_ylabel("retention")
    return panels[0]


def plot_gap_slope(
    table: pd.DataFrame,
    slope: str = "relative",
    ends: pd.DataFrame | None = None,
    published: pd.DataFrame | None = None,
) -> Axes:
    """The slope of each constraint against its gap, named by its id, coloured by dimension; the paper's in grey.

    Bars are the intervals of the slopes, where there is room for them: what reaches beyond the figure is cut off.

    Args:
        table, published: `profiles` of one cell, and `published_profiles`: constraint, dimension, gap, slope_*, few.
        ends: `slopes` of the same cell, for the bars.
    """
    _, axes = plt.subplots(figsize=(6.4, 4.4))
    axes.axhline(0, color="#444444", linewidth=0.8)
    column = f"slope_{slope}"
    if published is not None:
        axes.scatter(published["gap"], published[column], s=16, color=plots.PUBLISHED, marker="x", label="paper")
    for number, dimension in enumerate(DIMENSIONS.values()):
        part = table[(table["dimension"] == dimension) & table[column].notna()]
        colour = plots.COLOURS[number]
        faces = ["white" if few else colour for few in part["few"].astype(bool)]
        axes.scatter(part["gap"], part[column], s=30, facecolors=faces, edgecolors=colour, zorder=3)
        axes.scatter([], [], s=30, color=colour, label=dimension)
        for row in part.to_dict("records"):
            place = {"xytext": (3, 3), "textcoords": "offset points", "fontsize": 6.5}
            axes.annotate(row["constraint"], (row["gap"], row[column]), **place)
    limits = axes.get_ylim()
    if ends is not None:
        both = table.merge(ends[ends["slope"] == slope][["constraint", "low", "high"]], on="constraint")
        both = both[np.isfinite(both[["low", "high"]]).all(axis=1)]
        axes.vlines(both["gap"], both["low"], both["high"], color="#BBBBBB", linewidth=0.7, zorder=1)
        axes.set_ylim(*limits)
    axes.set(xlabel="gap: mean score minus share passed", ylabel=f"{slope} slope per constraint added")
    plots.legend(axes)
    return axes
