"""Figures: frames in, `Axes` out. Estimates show their intervals, papers' values are grey, a model keeps its colour."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns
from IPython.display import HTML
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from cdct.core import digest, resolve, write_text
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


MOST_CHARACTERS = 400
"""Longer texts are cut in a table to be read; the CSV files hold them whole."""


def table(frame: pd.DataFrame, digits: int = 3) -> HTML:
    """A frame as a table to be read: no row numbers, rounded, a dash for what is missing; texts cut and escaped."""
    shown = frame.copy()
    for name in shown.select_dtypes("float"):
        values = shown[name]
        places = 0 if (values.dropna() % 1 == 0).all() else digits
        shown[name] = [_cell(value, places) for value in values]
    for name in shown.select_dtypes(["str", "object"]):
        shown[name] = [_cut(value) if isinstance(value, str) else value for value in shown[name]]
    with pd.option_context("display.max_colwidth", None):
        return HTML(shown.to_html(index=False, border=0, na_rep="–"))


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]} …"


def _cell(value: float, places: int) -> str:
    if value != value:
        return "–"
    # what is not zero must not look like it
    return f"{value:.1e}" if 0 < abs(value) < 0.5 * 10**-places else f"{value:.{places}f}"


def save(axes: Axes, path: str | os.PathLike[str]) -> None:
    """Write the figure that holds these axes as SVG, byte-stable: same data, same file."""
    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "cdct"}):
        axes.figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    write_text(resolve(path), buffer.getvalue())


def unit_range(table: pd.DataFrame) -> tuple[float | None, float | None]:
    """The whole of 0-1 for values that lie in it, so that figures can be compared by eye; else what the data need."""
    values = table[["estimate", "low", "high"]].to_numpy(dtype=float)
    inside = np.nanmin(values) >= 0 and np.nanmax(values) <= 1 if np.isfinite(values).any() else True
    return (-0.03, 1.03) if inside else (None, None)


def legend(axes: Axes) -> None:
    """The legend above the axes, where it hides no data; the figure grows by its height."""
    handles, labels = axes.get_legend_handles_labels()
    columns = 2 if max(map(len, labels), default=0) < 48 else 1
    axes.figure.set_figheight(axes.figure.get_figheight() + 0.17 * math.ceil(len(labels) / columns))
    axes.figure.legend(
        handles, labels, frameon=False, fontsize=8.5, loc="outside upper left", ncols=columns, columnspacing=1.2
    )


def interval_ends(table: pd.DataFrame) -> np.ndarray:
    """How far the interval reaches below and above each estimate. NaN where there is none: then no bar is drawn."""
    low, middle, high = (table[name].to_numpy(dtype=float) for name in ("low", "estimate", "high"))
    return np.maximum(np.vstack([middle - low, high - middle]), 0)


def line(axes: Axes, x: pd.Series, table: pd.DataFrame, label: str, looks: Mapping[str, Any]) -> None:
    """Draw estimates with their intervals, joined by a line."""
    y = table["estimate"].to_numpy(dtype=float)
    axes.errorbar(x, y, yerr=interval_ends(table), capsize=3, linewidth=1.6, markersize=5, label=label, **looks)


def panels(number: int, width: float, height: float, least: float = 0.0) -> list[Axes]:
    """So many axes of that size, at most three in a row, at least one; the outer scales are shared."""
    columns = min(3, max(1, number))
    rows = max(1, math.ceil(number / columns))
    size = (max(least, width * columns), height * rows)
    _, panels = plt.subplots(rows, columns, figsize=size, sharey=True, squeeze=False)
    for spare in panels.flat[max(1, number) :]:
        spare.set_visible(False)
    return list(panels.flat[: max(1, number)])


def spaced(name: str) -> str:
    """A name for people: "harm principle" for "harm_principle"."""
    return name.replace("_", " ")


def span(numbers: pd.Series) -> str:
    """The range of whole numbers: "8", or "7-8"."""
    low, high = int(numbers.min()), int(numbers.max())
    return str(low) if low == high else f"{low}-{high}"


def row_names(table: pd.DataFrame, rows: Sequence[str]) -> list[str]:
    """What to call each row by these columns: "plain: c = 0.5"; "all c" where a column with numbers holds none."""

    def part(name: str, value: Any) -> str:
        if isinstance(value, str):
            return spaced(value) if name in ("concept", "domain") else value
        return f"all {name}" if value is None or value != value else f"{name} = {value:g}"

    columns = [[part(name, value) for value in table[name]] for name in rows]
    return [": ".join(parts) for parts in zip(*columns, strict=True)]


def plot_estimates(
    table: pd.DataFrame,
    rows: Sequence[str],
    reference: float | None = 0.0,
    xlabel: str = "estimate with 95 % interval",
) -> Axes:
    """Estimates with their intervals as rows, the models of a row beside each other in their colours.

    A mark without a bar has no interval, a row without a mark no estimate; a bar without an end leaves the figure.

    Args:
        table: estimate, low, high and the columns of `rows`; model, n and published (a grey bar) where there are any.
        rows: columns that name a row, in the order of the table; numbers are shown with the column's name.
        reference: value to be drawn as a line.
    """
    named = table.assign(row=row_names(table, rows), model=table.get("model", ""))
    lines, models = (list(dict.fromkeys(named[name])) for name in ("row", "model"))
    _, axes = plt.subplots(figsize=(6.8, 0.9 + (0.3 + 0.1 * len(models)) * len(lines)))
    if reference is not None:
        axes.axvline(reference, color="#444444", linewidth=1)
    ends = named[["low", "estimate", "high"]].to_numpy(dtype=float)
    least, most = (pick(ends[np.isfinite(ends)], initial=reference or 0.0) for pick in (np.min, np.max))
    reach = most - least or 1.0
    # what has no end is drawn to far outside the axes, and the axes end where the numbers do
    drawn = {name: named[name].astype(float).clip(least - reach, most + reach) for name in ("low", "high")}
    cut = named.assign(**drawn)[np.isfinite(ends[:, 1])]
    for number, model in enumerate(models):
        part = cut[cut["model"] == model]
        y = np.array([lines.index(line) for line in part["row"]], dtype=float)
        y += 0.7 / max(3, len(models)) * (number - (len(models) - 1) / 2)
        x = part["estimate"].to_numpy(dtype=float)
        counts = part["n"].dropna() if "n" in part else part["estimate"][:0]
        label = f"{model} (n = {span(counts)})".strip() if len(counts) else model
        axes.errorbar(x, y, xerr=interval_ends(part), linestyle="none", capsize=3, label=label, **look(model))
    if np.isinf(ends).any():
        axes.set_xlim(least - 0.05 * reach, most + 0.05 * reach)
    if "published" in named and len(grey := named.dropna(subset=["published"]).drop_duplicates("row")):
        y = [lines.index(line) for line in grey["row"]]
        axes.scatter(grey["published"], y, color=PUBLISHED, marker="|", s=200, linewidths=2.5, label="published")
    axes.set_yticks(range(len(lines)), lines)
    axes.set_ylim(max(1, len(lines)) - 0.5, -0.5)
    axes.grid(axis="x")
    axes.set(xlabel=xlabel)
    legend(axes)
    return axes


def plot_cards(cards: pd.DataFrame, groups: Sequence[str] | None = None) -> Axes:
    """Every estimate of the model cards on 0-1 with its interval, a row per line of a card; published values grey."""
    shown = cards[cards["unit"].fillna("").isin(["share", ""])]
    shown = shown if groups is None else shown[shown["group"].isin(groups)]
    return plot_estimates(shown, ["group", "label"], xlabel="estimate with 95 % interval (0-1)")
