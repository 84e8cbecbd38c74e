"""Figures of CSE: rates over the number of constraints, controls, failures, ranks. Frames in, `Axes` out.

What the paper printed is grey. A hollow mark is an estimate of a small cell, one that rests on few probes. Simulated
subjects, whose names begin with "simulated", are dashed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.ticker import MaxNLocator

from cdct import plots
from cdct.saturation.profiles import TERCILES
from cdct.saturation.published import AS_PRINTED, MEAN

THIRDS = dict(zip(TERCILES, ((plots.COLOURS[2], "^"), (plots.COLOURS[4], "s"), (plots.COLOURS[1], "v")), strict=True))


def look(model: str) -> dict[str, Any]:
    """Colour, mark and line of a model: dashed where it is a simulated subject."""
    return plots.look(model) | {"linestyle": "--" if model.lower().startswith("simulated") else "-"}


def names_of(table: pd.DataFrame, column: str = "model") -> list[str]:
    """What stands in a column, each once, in the order of the table."""
    return list(dict.fromkeys(table[column]))


def points(
    axes: Axes, x: Any, part: pd.DataFrame, label: str | None, looks: dict[str, Any], faint: bool = False
) -> None:
    """A line of estimates with intervals, thin and pale ones where there are many; hollow where they rest on few."""
    bars = {"elinewidth": 0.7, "capsize": 0, "ecolor": (*to_rgb(looks["color"]), 0.4)} if faint else {"capsize": 3}
    y = part["estimate"].to_numpy(dtype=float)
    ends = plots.interval_ends(part)
    axes.errorbar(x, y, yerr=ends, linewidth=1.6, markersize=5, label=label, **bars, **looks)
    small = part.get("few", pd.Series(False, part.index)).astype(bool).to_numpy()
    face = {"marker": looks["marker"], "color": looks["color"], "markerfacecolor": "white", "markersize": 5}
    axes.plot(np.asarray(x, dtype=float)[small], y[small], linestyle="none", zorder=4, **face)


def over_k(axes: Axes, ks: Sequence[int]) -> None:
    """A horizontal axis of numbers of constraints."""
    axes.set(xlabel="constraints k", xlim=(min(ks, default=1) - 0.6, max(ks, default=1) + 0.6))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.tick_params(labelbottom=True)


def beside(number: int, of: int) -> float:
    """How far one of so many lines is moved aside, so that intervals can be told apart."""
    return 0.5 / max(4, of) * (number - (of - 1) / 2)


def plot_curves(
    table: pd.DataFrame, metrics: Sequence[str] = ("mCSR", "sCSR"), published: pd.DataFrame | None = None
) -> Axes:
    """Rates over k with intervals, a panel per metric, a line per model; the paper's curves in grey behind.

    Thin grey lines are the paper's models, the thick one is their mean, dotted where it is the paper's fit.

    Args:
        table: `summarise` by model and k: model, k, metric, estimate, low, high, n, few.
        published: `published_curves`: model, k, metric, estimate, method.
    """
    panels, models = plots.panels(len(metrics), 3.9, 3.4, least=6.4), names_of(table)
    for axes, metric in zip(panels, metrics, strict=False):
        if published is not None:
            _grey_curves(axes, published[published["metric"] == metric])
        for number, model in enumerate(models):
            part = table[(table["model"] == model) & (table["metric"] == metric)].sort_values("k")
            label = f"{model} (n = {plots.span(table.loc[table['model'] == model, 'n_probes'])} probes a k)"
            points(axes, part["k"] + beside(number, len(models)), part, label, look(model))
        axes.set(title=metric, ylim=(-0.03, 1.03))
        over_k(axes, table["k"])
    panels[0].set_ylabel("share, or mean score")
    plots.legend(panels[0])
    return panels[0]


def _grey_curves(axes: Axes, table: pd.DataFrame) -> None:
    for model, part in table[table["model"] != MEAN].groupby("model"):
        label = "paper: its models" if model == table["model"].iloc[0] else None
        axes.plot(part["k"], part["estimate"], color=plots.PUBLISHED, linewidth=0.6, alpha=0.7, label=label)
    mean = table[table["model"] == MEAN].sort_values("k")
    fitted = mean["method"].str.contains("fit").any()
    label = f"paper: {MEAN}" if len(mean) else None
    looks = {"color": plots.PUBLISHED, "linewidth": 2.2, "linestyle": ":" if fitted else "-"}
    axes.plot(mean["k"], mean["estimate"], label=label, **looks)
    printed = mean[mean["method"] == AS_PRINTED]
    axes.plot(printed["k"], printed["estimate"], color=plots.PUBLISHED, marker="o", markersize=6, linestyle="none")


def plot_penalty(table: pd.DataFrame) -> Axes:
    """What passing all costs: the share passed and the share of probes passed whole, over k, a panel per model.

    The shaded height between them is the penalty. Both are means over probes, so that it compares like with like.

    Args:
        table: `summarise` by model and k of the metrics "mCSR by probe" and "sCSR".
    """
    models = names_of(table)
    panels = plots.panels(len(models), 3.4, 3.0, least=6.4)
    for axes, model in zip(panels, models, strict=False):
        upper, lower = (
            table[(table["model"] == model) & (table["metric"] == name)].sort_values("k")
            for name in ("mCSR by probe", "sCSR")
        )
        looks = look(model)
        both = upper.merge(lower, on="k", suffixes=("", "_strict"))
        shade = {"color": looks["color"], "alpha": 0.15, "linewidth": 0}
        axes.fill_between(both["k"], both["estimate_strict"], both["estimate"], **shade)
        points(axes, upper["k"], upper, f"{model}: mCSR by probe", looks)
        points(axes, lower["k"], lower, f"{model}: sCSR", looks | {"linestyle": ":"})
        axes.set(title=model, ylim=(-0.03, 1.03))
        over_k(axes, table["k"])
    panels[0].set_ylabel("share")
    plots.legend(panels[0])
    return panels[0]


def plot_positions(table: pd.DataFrame, published: pd.DataFrame | None = None) -> Axes:
    """r of a constraint's place in the prompt and its pass, by k with intervals; dotted: the mean |r| of mere chance.

    Args:
        table: `positions`: model, k, estimate, low, high, by_chance, n. published: k, estimate.
    """
    _, axes = plt.subplots()
    axes.axhline(0, color="#444444", linewidth=1)
    models = names_of(table)
    if published is not None:
        axes.scatter(
            published["k"],
            published["estimate"],
            color=plots.PUBLISHED,
            marker="_",
            s=160,
            linewidths=2.5,
            label="paper",
        )
    for number, model in enumerate(models):
        part, looks = table[table["model"] == model].sort_values("k"), look(model)
        label = f"{model} (n = {plots.span(part['n'])} checks a k)"
        points(axes, part["k"] + beside(number, len(models)), part, label, looks | {"linestyle": "none"})
        for side in (-1, 1):
            axes.plot(part["k"], side * part["by_chance"], color=looks["color"], linestyle=":", linewidth=1)
    axes.set_ylabel("r of position and pass")
    over_k(axes, table["k"])
    plots.legend(axes)
    return axes


def plot_terciles(table: pd.DataFrame) -> Axes:
    """A rate over k for easy, medium and hard probes with intervals, a panel per model.

    Args:
        table: `terciles`: model, k, tercile, metric, estimate, low, high, n, few.
    """
    models = names_of(table)
    panels = plots.panels(len(models), 3.4, 3.0, least=6.4)
    for axes, model in zip(panels, models, strict=False):
        for number, (name, (colour, marker)) in enumerate(THIRDS.items()):
            part = table[(table["model"] == model) & (table["tercile"] == name)].sort_values("k")
            looks = {"color": colour, "marker": marker, "linestyle": look(model)["linestyle"]}
            label = f"{name} (n = {plots.span(part['n'])} a k)" if len(part) else None
            points(axes, part["k"] + beside(number, 3), part, label, looks)
        axes.set(title=model, ylim=(-0.03, 1.03))
        over_k(axes, table["k"])
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=7, frameon=False)
        else:
            axes.text(
                0.5, 0.5, "no difficulty is known", transform=axes.transAxes, ha="center", va="center", fontsize=8
            )
    panels[0].set_ylabel(" / ".join(names_of(table, "metric")))
    return panels[0]


# ------------------------------------------------------------------------------------------------------- rows by model


def plot_by_model(
    table: pd.DataFrame, panel: str, published: pd.DataFrame | None = None, xlabel: str = "share with 95 % interval"
) -> Axes:
    """An estimate of each model as a row, a panel per value of a column; the paper's models in grey below.

    For failure classes, tag use, refusals, first violations.

    Args:
        table, published: model, `panel`, estimate, low, high, n, few; the paper's may lack intervals.
    """
    kinds, models = names_of(table, panel), names_of(table)
    papers = [] if published is None else names_of(published)
    panels = plots.panels(len(kinds), 3.1, 0.9 + 0.19 * (len(models) + len(papers)), least=6.4)
    for axes, kind in zip(panels, kinds, strict=False):
        for place, model in enumerate([*models, *papers]):
            own = place < len(models)
            source = table if own else published
            part = source[(source["model"] == model) & (source[panel] == kind) & source["estimate"].notna()]
            looks = look(model) if own else {"color": plots.PUBLISHED, "marker": "o"}
            _row(axes, place, part, looks)
        axes.set_title(kind, fontsize=9.5)
        axes.set_xlabel(xlabel, fontsize=8)
        axes.grid(axis="x")
    n = table.groupby("model")["n"].max()
    names = [f"{model} (n = {n[model]:g})" for model in models] + [f"paper: {model}" for model in papers]
    panels[0].set_yticks(range(len(names)), names, fontsize=7.5)
    panels[0].set_ylim(max(1, len(names)) - 0.4, -0.6)
    return panels[0]


def _row(axes: Axes, place: float, part: pd.DataFrame, looks: dict[str, Any]) -> None:
    if not len(part):
        return
    small = bool(part["few"].iloc[0]) if "few" in part else False
    looks = {
        "color": looks["color"],
        "marker": looks["marker"],
        "markerfacecolor": "white" if small else looks["color"],
    }
    ends = plots.interval_ends(part.fillna({"low": part["estimate"].iloc[0], "high": part["estimate"].iloc[0]}))
    axes.errorbar(part["estimate"], [place], xerr=ends, capsize=2, markersize=4.5, linestyle="none", **looks)


def plot_rankings(table: pd.DataFrame, published: pd.DataFrame | None = None) -> Axes:
    """The ranks of the models with those that can't be ruled out, a panel per metric; the paper's models in grey.

    Args:
        table: `rankings`; published: `published_rankings`. Ranks are among the models of one source alone.
    """
    columns = {"estimate": "rank", "low": "rank_low", "high": "rank_high"}
    shown = table.assign(**{name: table[column].astype(float) for name, column in columns.items()})
    if published is not None:
        published = published.assign(estimate=published["rank"].astype(float))
        published = published[published["metric"].isin(shown["metric"])]
    axes = plot_by_model(shown, "metric", published, xlabel="rank (1 is best)")
    for panel in axes.figure.axes:
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    return axes
