"""Figures of CCB: decay with depth and its fits, rival forms, traces by step, effective depth. Frames in, `Axes` out.

Tables of decay are of both the run and the paper, as `cdct.ceiling.fits` makes them. What the paper printed, or what
follows from its counts, is grey, each of its models with a mark of its own. Depths and steps stand on logarithmic axes:
the first steps, where small models fail, are then as wide as the last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from cdct import plots
from cdct.ceiling.domains import DOMAINS
from cdct.ceiling.fits import ALL, PAPER, READABLE, RUN

TICKS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
FORM_LOOKS = {"stretched": (plots.COLOURS[0], "o"), "lapse": (plots.COLOURS[1], "s"), "linear": (plots.COLOURS[2], "^")}
"""Colour and mark of each form that is compared with p^N."""
FORM_NAMES = {"stretched": "p^(N^γ)", "lapse": "a p^N", "linear": "1 - λN"}


def domains_of(table: pd.DataFrame) -> list[str]:
    """The domains of a table in the order of the registry."""
    order = list(DOMAINS)
    found = dict.fromkeys(table["domain"])
    return sorted(found, key=lambda name: order.index(name) if name in order else len(order))


def title_of(domain: str) -> str:
    """The name of a domain for people: "D1: Grid"."""
    return f"{domain}: {DOMAINS[domain].title}" if domain in DOMAINS else domain


def panels_of(names: Sequence[str], titles: Sequence[str] = ()) -> dict[str, Axes]:
    """Axes by name, two beside each other, the scales shared; one without a name where there are none."""
    rows, columns = max(1, math.ceil(len(names) / 2)), 1 if len(names) < 2 else 2
    size = (max(6.4, 3.4 * columns), 2.5 * rows + 0.2)
    _, grid = plt.subplots(rows, columns, figsize=size, sharey=True, sharex=True, squeeze=False)
    for spare in grid.flat[max(1, len(names)) :]:
        spare.set_visible(False)
    for axes, title in zip(grid.flat, titles or names, strict=False):
        axes.set_title(title, fontsize=9.5)
        axes.tick_params(labelbottom=True)
    return dict(zip(names or [""], grid.flat, strict=False))


def log_steps(axes: Axes, last: float, label: str) -> None:
    """A logarithmic axis of steps from 1 on, with whole numbers as ticks."""
    ticks = [tick for tick in TICKS if tick <= max(last, 5)]
    axes.set_xscale("log")
    axes.set_xlim(0.85, 1.2 * max(last, 5))
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FixedFormatter([str(tick) for tick in ticks]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(label)


def paper_look(model: str, models: Sequence[str]) -> dict[str, Any]:
    """Grey, and a mark by the model's place among those of the paper."""
    return {"color": plots.PUBLISHED, "marker": plots.MARKERS[list(models).index(model) % len(plots.MARKERS)]}


def one_legend(axes: Axes) -> None:
    """The legend of a figure with several panels: every label once, from whichever panel has it."""
    have = set(axes.get_legend_handles_labels()[1])
    for other in axes.figure.axes:
        for handle, label in zip(*other.get_legend_handles_labels(), strict=True):
            if label not in have:
                have.add(label)
                drawn = handle[0] if isinstance(handle, ErrorbarContainer) else handle
                looks = {"marker": drawn.get_marker(), "linestyle": drawn.get_linestyle(), "color": drawn.get_color()}
                axes.plot([], [], label=label, markerfacecolor=drawn.get_markerfacecolor(), **looks)
    plots.legend(axes)


def rows_of(table: pd.DataFrame, source: str, domain: str | None = None, model: str | None = None) -> pd.DataFrame:
    """The rows of a source, a domain and a model, by depth."""
    table = table[table["source"] == source]
    table = table if domain is None else table[table["domain"] == domain]
    table = table if model is None else table[table["model"] == model]
    return table.sort_values("depth") if "depth" in table and domain is not None else table


def models_of(table: pd.DataFrame) -> tuple[list[str], list[str]]:
    """The models of the run, and those of the paper."""
    own, papers = (list(dict.fromkeys(rows_of(table, source)["model"])) for source in (RUN, PAPER))
    return own, papers


# ----------------------------------------------------------------------------------------------------- decay with depth


def plot_decay(cells: pd.DataFrame, fits: pd.DataFrame) -> Axes:
    """Accuracy by depth with exact intervals, a panel per domain, and the fitted p^N of the run as dashed curves.

    Hollow marks leave out unreadable replies; they stand a little to the right, where there are such replies. Where p
    lies on its lower bound, the curve is dotted and that of the upper end of its interval: the data only limit p.

    Args:
        cells: source, domain, model, counted, depth, estimate, low, high, n, n_unscored.
        fits: source, domain, model, counted, estimate (p), high, bound.
    """
    domains = domains_of(cells)
    panels = panels_of(domains, [title_of(name) for name in domains])
    (models, papers), last = models_of(cells), max([5, *cells["depth"]])
    grid = np.geomspace(1, last, 200)
    for domain, axes in panels.items():
        for paper in papers:
            part = rows_of(cells, PAPER, domain, paper)
            looks = paper_look(paper, papers) | {"linewidth": 0.8, "markersize": 3.2, "linestyle": ":"}
            axes.plot(part["depth"], part["estimate"], label=f"paper: {paper}" if len(part) else None, **looks)
        for number, model in enumerate(models):
            apart = 1.05 ** (number - (len(models) - 1) / 2)
            found, looks = rows_of(cells, RUN, domain, model), plots.look(model) | {"linestyle": "none"}
            part, rest = (found[found["counted"] == name] for name in (ALL, READABLE))
            count = cells.loc[(cells["model"] == model) & (cells["counted"] == ALL), "n"]
            label = f"{model} (n = {plots.span(count)} a depth)"
            plots.line(axes, part["depth"] * apart, part, label if len(part) else None, looks)
            looks |= {"markerfacecolor": "white", "markersize": 4}
            label = f"{model}, {READABLE}" if len(rest) else None
            axes.plot(rest["depth"] * apart * 1.08, rest["estimate"], label=label, **looks)
            fit = rows_of(fits, RUN, domain, model)
            for row in fit[fit["counted"] == ALL].dropna(subset=["estimate"]).to_dict("records"):
                p, dashes = (row["high"], ":") if row["bound"] == "lower" else (row["estimate"], "--")
                axes.plot(grid, p**grid, color=looks["color"], linestyle=dashes, linewidth=1)
        log_steps(axes, last, "depth N (operations)")
        axes.set_ylim(-0.04, 1.04)
    first = next(iter(panels.values()))
    first.set_ylabel("share of right answers")
    one_legend(first)
    return first


SCALES: dict[str, tuple[Callable[[Any], Any], tuple[float, ...]]] = {
    "linear": (lambda x: x, ()),
    "log": (np.log10, (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, *TICKS)),
    "retention": (lambda p: -np.log10(1 - p), (0, 0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)),
}
"""How an axis is stretched, and its ticks. On "retention" a step to the right is the same factor less error 1 - p."""


def _rows(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Cells in the order of domains, the run's before the paper's, and what to call them."""
    own, papers = models_of(table)
    named = [*((RUN, model) for model in own), *((PAPER, model) for model in papers)]
    parts = [rows_of(table, source, domain, model) for domain in domains_of(table) for source, model in named]
    shown = pd.concat([part for part in parts if len(part)] or [table], ignore_index=True)
    names = []
    for row in shown.to_dict("records"):
        note = ", readable" if row.get("counted") == READABLE else ""
        names.append(f"{row['domain']}: {row['model']} (n = {int(row['n'])}{note})")
    return shown, names


def _row_axes(shown: pd.DataFrame, names: Sequence[str]) -> Axes:
    """Axes with a named row for each cell, the paper's names in grey."""
    _, axes = plt.subplots(figsize=(6.8, 0.9 + 0.235 * max(1, len(names))))
    axes.set_yticks(range(len(names)), names, fontsize=8.5)
    for label, source in zip(axes.get_yticklabels(), shown["source"], strict=True):
        label.set_color("#000000" if source == RUN else "#6A6A6A")
    axes.set_ylim(max(1, len(names)) - 0.4, -0.6)
    axes.grid(axis="x")
    axes.grid(axis="y", visible=False)
    return axes


def plot_cells(table: pd.DataFrame, xlabel: str, reference: float | None = None, scale: str = "linear") -> Axes:
    """One number per cell with its interval, a row each; the paper's cells in grey below the run's.

    A bar that reaches the edge of the figure ends beyond it, and so does a mark at the edge.

    Args:
        table: source, domain, model, counted, estimate, low, high, n; where there are any, `doubtful` (True: a hollow
            mark), `free` (a cross: the estimate without bounds) and `printed` (a stroke: what the paper has).
        reference: value to be drawn as a line. scale: a name in `SCALES`.
    """
    shown, names = _rows(table)
    stretch, ticks = SCALES[scale]
    drawn = shown.reindex(columns=["estimate", "low", "high", "free", "printed"]).astype(float)
    with np.errstate(divide="ignore"):
        drawn = stretch(drawn)
        marks = {float(stretch(np.float64(tick))): f"{tick:g}" for tick in ticks}
        line = [] if reference is None else [float(stretch(np.float64(reference)))]
    values = drawn[["estimate", "low", "high"]].to_numpy()
    known = [*values[np.isfinite(values)], *line]
    least, most = (min(known), max(known)) if known else (0.0, 1.0)
    reach = most - least or 1.0
    edges = (least - 0.06 * reach, most + 0.06 * reach)
    drawn[["low", "high"]] = drawn[["low", "high"]].clip(edges[0] - reach, edges[1] + reach)
    drawn[["estimate", "free"]] = drawn[["estimate", "free"]].clip(edges[0] + 0.02 * reach, edges[1] - 0.02 * reach)
    axes = _row_axes(shown, names)
    for place in line:
        axes.axvline(place, color="#444444", linewidth=1)
    for place, row in enumerate(shown.to_dict("records")):
        looks = plots.look(row["model"]) if row["source"] == RUN else {"color": plots.PUBLISHED, "marker": "o"}
        looks |= {"markerfacecolor": "white" if row.get("doubtful") is True else looks["color"], "linestyle": "none"}
        at = drawn.iloc[[place]]
        if at["estimate"].notna().all():
            axes.errorbar(at["estimate"], [place], xerr=plots.interval_ends(at), capsize=3, markersize=5, **looks)
        axes.plot(at["free"], [place], marker="x", color=looks["color"], linestyle="none", markersize=6)
        axes.plot(at["printed"], [place], marker="|", markersize=11, mew=1.8, color="#333333", linestyle="none")
    axes.set_xlim(*edges)
    if marks:
        inside = {at: name for at, name in marks.items() if edges[0] <= at <= edges[1]}
        axes.set_xticks(list(inside), list(inside.values()))
    axes.set_xlabel(xlabel)
    return axes


def plot_residuals(table: pd.DataFrame) -> Axes:
    """Residuals of p^N by depth, a panel per domain; between the dashed lines lie 95 in 100 if the form holds.

    Args:
        table: `cdct.ceiling.fits.residuals`; of the run, all replies are drawn.
    """
    domains = domains_of(table)
    panels = panels_of(domains, [title_of(name) for name in domains])
    (models, papers), last = models_of(table), max([5, *table["depth"]])
    for domain, axes in panels.items():
        axes.axhline(0, color="#444444", linewidth=1)
        for edge in (-2, 2):
            axes.axhline(edge, color="#444444", linewidth=0.8, linestyle="--")
        for source, names in ((PAPER, papers), (RUN, models)):
            for model in names:
                part = rows_of(table, source, domain, model)
                part = part[part["counted"] == ALL]
                looks = plots.look(model) if source == RUN else paper_look(model, papers)
                looks |= {"markersize": 4, "linewidth": 1.6 if source == RUN else 1.0}
                label = model if source == RUN else f"paper: {model}"
                axes.plot(part["depth"], part["residual"], label=label if len(part) else None, **looks)
        log_steps(axes, last, "depth N (operations)")
        axes.set_yscale("symlog", linthresh=3)
        ticks = [-50, -20, -10, -5, -2, 0, 2, 5, 10, 20, 50]
        axes.yaxis.set_major_locator(FixedLocator(ticks))
        axes.yaxis.set_major_formatter(FixedFormatter([str(tick) for tick in ticks]))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.set_ylim(*_wide(table["residual"]))
    first = next(iter(panels.values()))
    first.set_ylabel("Pearson residual")
    one_legend(first)
    return first


def _wide(values: pd.Series) -> tuple[float, float]:
    """Limits that hold -3 to 3 and all values."""
    return 1.15 * min([-3, *values.dropna()]), 1.15 * max([3, *values.dropna()])


def plot_forms(forms: pd.DataFrame, fits: pd.DataFrame) -> Axes:
    """How much lower (left) or higher the AIC of each rival form is than that of p^N, a row per cell.

    Inside the grey band, differences up to 2, no form is preferred. Hollow: too few depths with successes to tell.

    Args:
        forms: rows of `compare_forms`, fits: of `fit_many`, both by source, domain, model, counted.
    """
    cell = ["source", "domain", "model", "counted"]
    wide = forms.pivot_table(index=cell, columns="form", values="aic", sort=False).reset_index()
    shown, names = _rows(fits.merge(wide, on=cell, how="left"))
    axes = _row_axes(shown, names)
    axes.axvspan(-2, 2, color="#E4E4E4", linewidth=0)
    axes.axvline(0, color="#444444", linewidth=1)
    for form, (colour, mark) in FORM_LOOKS.items():
        x = (shown[form] - shown["geometric"]).to_numpy(dtype=float) if form in shown else np.full(len(shown), np.nan)
        faces = np.where(shown["identifiable"].astype(bool), colour, "white")
        looks = {"s": 28, "marker": mark, "edgecolors": colour, "zorder": 3}
        axes.scatter(x, range(len(shown)), facecolors=faces, **looks)
        axes.scatter([], [], s=28, marker=mark, color=colour, label=FORM_NAMES[form])
    axes.set_xscale("symlog", linthresh=10)
    axes.xaxis.set_major_locator(FixedLocator([-500, -100, -50, -20, -10, -5, 0, 5, 10, 20, 50, 100, 500]))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("AIC minus that of p^N (left: this form describes the cell better)")
    plots.legend(axes)
    return axes
