"""Figures of traces: survival and hazard by step, size of models, steps that change the state, tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from cdct import plots
from cdct.ceiling.domains import DOMAINS
from cdct.ceiling.fits import PAPER, RUN
from cdct.ceiling.plots import domains_of, log_steps, models_of, one_legend, panels_of, paper_look, rows_of, title_of

FEW_STEPS = 12
"""Up to so many steps have bars as intervals, more have a band."""


def plot_steps(table: pd.DataFrame, ylabel: str, implied: pd.DataFrame | None = None, survival: bool = True) -> Axes:
    """A share by step with its interval, as bars or where there are many steps as a band, a panel per domain.

    Args:
        table: domain, model, step, estimate, low, high, n (of survival: trials; of a hazard: traces at risk).
        implied: domain, model, estimate: the p per step of a constant hazard, as a dashed curve.
        survival: whether the curve falls from 1 by p^step, or stands at 1 - p.
    """
    domains = domains_of(table)
    panels = panels_of(domains, [title_of(name) for name in domains])
    models = list(dict.fromkeys(table["model"]))
    last = max([5, *table["step"]])
    grid = np.geomspace(1, last, 100)
    for domain, axes in panels.items():
        for model in models:
            part = table[(table["domain"] == domain) & (table["model"] == model)].sort_values("step")
            looks, count = plots.look(model), table.loc[table["model"] == model, "n"]
            label = f"{model} (n = {plots.span(count)} a {'domain' if survival else 'step'})" if len(part) else None
            if len(part) <= FEW_STEPS:
                plots.line(axes, part["step"], part, label, looks)
            else:
                axes.fill_between(
                    part["step"], part["low"], part["high"], color=looks["color"], alpha=0.15, linewidth=0
                )
                axes.plot(part["step"], part["estimate"], markersize=3, linewidth=1.4, label=label, **looks)
            if implied is not None:
                fit = implied[(implied["domain"] == domain) & (implied["model"] == model)]
                for p in fit["estimate"].dropna():
                    curve = p**grid if survival else np.full(len(grid), 1 - p)
                    axes.plot(grid, curve, linestyle="--", linewidth=1, color=looks["color"])
        log_steps(axes, last, "step")
        axes.set_ylim(-0.04, 1.04)
    first = next(iter(panels.values()))
    first.set_ylabel(ylabel)
    one_legend(first)
    return first


def plot_sizes(table: pd.DataFrame, sizes: Mapping[str, float], ylabel: str) -> Axes:
    """An estimate against the number of parameters, a panel per domain; models of unknown size stand at the right.

    Args:
        table: source, domain, model, estimate, low, high, n. sizes: parameters in billions, where they are known.
    """
    domains = domains_of(table)
    panels = panels_of(domains, [title_of(name) for name in domains])
    models, papers = models_of(table)
    known = sorted({sizes[name] for name in [*models, *papers] if name in sizes}) or [1.0]
    unknown = known[-1] * 5
    for domain, axes in panels.items():
        for source, names in ((PAPER, papers), (RUN, models)):
            for model in names:
                number = [*papers, *models].index(model) - len([*papers, *models]) / 2
                part = rows_of(table, source, domain, model)
                own = source == RUN
                looks = (plots.look(model) if own else paper_look(model, papers)) | {"linestyle": "none"}
                count = table.loc[table["model"] == model, "n"]
                label = f"{model} (n = {plots.span(count)} a domain)" if own else f"paper: {model}"
                at = sizes.get(model, unknown * 1.12**number)  # beside each other
                plots.line(axes, pd.Series(at, index=part.index), part, label if len(part) else None, looks)
        axes.set_xscale("log")
        ticks = {size: f"{size:g}" for size in known} | {unknown: "not known"}
        axes.set_xlim(known[0] / 2, unknown * 2.5)
        axes.xaxis.set_major_locator(FixedLocator(list(ticks)))
        axes.xaxis.set_major_formatter(FixedFormatter(list(ticks.values())))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("parameters (billions)")
    first = next(iter(panels.values()))
    first.set_ylabel(ylabel)
    one_legend(first)
    return first


def plot_shares(table: pd.DataFrame, rows: Sequence[str], xlabel: str) -> Axes:
    """Shares with their intervals as rows, on the whole of 0-1 so that figures can be compared: `plot_estimates`."""
    axes = plots.plot_estimates(table, rows, None, xlabel)
    axes.set_xlim(-0.03, 1.03)
    if table["estimate"].isna().all():
        axes.set_title("no estimate: there is nothing to share out", fontsize=9.5)
    return axes


def plot_operations(table: pd.DataFrame) -> Axes:
    """How often a right trace goes wrong at each kind of operation, with intervals; see `analysis.by_operation`."""
    names = table["operation"].where(table["changed"].astype(bool), table["operation"] + " that changes nothing")
    shown = table.assign(operation=[plots.spaced(name) for name in names])
    return plot_shares(shown, ["domain", "operation"], "chance of the first divergence, 95 % interval (n: times met)")


def plot_effective(table: pd.DataFrame) -> Axes:
    """The mean number of steps that change the state, by depth, with the interval of the mean; the line is y = x.

    Domains stand a little apart, so that those that share a curve are seen.

    Args:
        table: domain, depth, estimate, low, high, n (items).
    """
    _, axes = plt.subplots(figsize=(6.4, 3.6))
    last = float(max([5, *table["depth"]]))
    axes.plot([0, last], [0, last], color="#444444", linewidth=1, label="every step changes the state")
    domains = domains_of(table)
    for number, domain in enumerate(domains):
        part = table[table["domain"] == domain].sort_values("depth")
        shift = 0.004 * last * (number - (len(domains) - 1) / 2)
        place = list(DOMAINS).index(domain) if domain in DOMAINS else len(DOMAINS)
        looks = {
            "color": plots.COLOURS[place % len(plots.COLOURS)],
            "marker": plots.MARKERS[place % len(plots.MARKERS)],
        }
        label = f"{title_of(domain)} (n = {plots.span(part['n'])} a depth)"
        plots.line(axes, part["depth"] + shift, part, label, looks)
    axes.set(xlabel="depth N (operations)", ylabel="steps that change the state")
    axes.set_ylim(0, None)
    plots.legend(axes)
    return axes


def plot_both_depths(table: pd.DataFrame) -> Axes:
    """Accuracy against the number of operations, and against the steps that change the state: D3 and its variants.

    A row of two panels per model; here colour and mark tell domains.

    Args:
        table: model, domain, measure ("depth" or "effective_depth"), depth, estimate, low, high, n.
    """
    models = list(dict.fromkeys(table["model"]))
    names = {"depth": "depth N (operations)", "effective_depth": "steps that change the state"}
    places = [(model, measure) for model in models for measure in names]
    panels = panels_of([f"{model}, {measure}" for model, measure in places], [model for model, _ in places])
    for axes, (model, measure) in zip(panels.values(), places, strict=False):
        for number, domain in enumerate(domains_of(table)):
            here = (table["model"] == model) & (table["measure"] == measure) & (table["domain"] == domain)
            part = table[here].sort_values("depth")
            place = list(DOMAINS).index(domain) if domain in DOMAINS else len(DOMAINS)
            looks = {"color": plots.COLOURS[place % len(plots.COLOURS)]}
            looks |= {"marker": plots.MARKERS[place % len(plots.MARKERS)]}
            count = table.loc[(table["model"] == model) & (table["domain"] == domain), "n"]
            label = f"{title_of(domain)} (n = {plots.span(count)} a mark)" if model == models[0] else None
            plots.line(axes, part["depth"] * 1.04**number, part, label, looks)
        log_steps(axes, max([5, *table["depth"]]), names[measure])
        axes.set_ylim(-0.04, 1.04)
    first = next(iter(panels.values()))
    first.set_ylabel("share of right answers")
    one_legend(first)
    return first


def plot_tokens(table: pd.DataFrame) -> Axes:
    """Mean tokens of a reply by depth with intervals, a panel per domain, both axes logarithmic.

    Args:
        table: `cdct.ceiling.fits.tokens_with_published`.
    """
    domains = domains_of(table)
    panels = panels_of(domains, [title_of(name) for name in domains])
    (models, papers), last = models_of(table), max([5, *table["depth"]])
    for domain, axes in panels.items():
        for source, names in ((PAPER, papers), (RUN, models)):
            for model in names:
                part = rows_of(table, source, domain, model)
                part = part[part["estimate"].notna()]
                own = source == RUN
                looks = plots.look(model) if own else paper_look(model, papers) | {"linestyle": ":"}
                label = f"{model} (n = {plots.span(part['n'])} a depth)" if own and len(part) else f"paper: {model}"
                plots.line(axes, part["depth"], part, label if len(part) else None, looks)
        log_steps(axes, last, "depth N (operations)")
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    first = next(iter(panels.values()))
    first.set_ylabel("tokens of a reply")
    one_legend(first)
    return first
