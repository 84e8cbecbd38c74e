"""Figures of judges and of the public result files. Frames in, `Axes` out."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from cdct import plots
from cdct.compression.calibration import slope
from cdct.core import KEYS


def plot_calibration(ballots: pd.DataFrame, rows: pd.DataFrame) -> Axes:
    """Judged against counted compliance, a panel per judge and whether it saw the count; the diagonal is a right judge.

    Equal points are spread sideways by their rank, so that all are seen; the line is the least-squares line.
    """
    marks = ballots[(ballots["metric"] == "CC") & ballots["score"].notna()]
    found = marks.merge(rows[[*KEYS, "cc", "concept"]], on=KEYS).dropna(subset=["cc"])
    cells = list(found.groupby(["judge", "shown"], sort=True))
    panels = plots.panels(len(cells), 2.9, 2.9, least=6.4)
    for axes, ((judge, shown), part) in zip(panels, cells, strict=False):
        looks = plots.look(judge.partition(" #")[0])
        axes.plot([0, 1], [0, 1], color="#444444", linestyle="--", linewidth=1)
        equal = part.groupby(["cc", "score"])["cc"]
        spread = 0.012 * (equal.rank(method="first") - (equal.transform("size") + 1) / 2)
        axes.scatter(part["cc"] + spread, part["score"], s=16, alpha=0.5, **looks)
        fitted = slope(part["cc"], part["score"], part["concept"]).estimate
        if np.isfinite(fitted):
            ends = np.array([part["cc"].min(), part["cc"].max()])
            axes.plot(ends, part["score"].mean() + fitted * (ends - part["cc"].mean()), color=looks["color"])
        axes.set_title(f"{judge}\ncount {shown}, n = {len(part)}", fontsize=9)
        axes.set(xlim=(-0.06, 1.06), ylim=(-0.04, 1.04), xlabel="counted compliance")
    panels[0].set_ylabel("judged compliance")
    if not cells:
        panels[0].set_title("no ballot on a reply whose compliance can be counted", fontsize=9.5)
    return panels[0]


def plot_public_words(levels: pd.DataFrame) -> Axes:
    """Mean words written by level in the public files, a line per arm, and the limit that the judges were told.

    The axis is logarithmic. `levels` are those of `public_summary.summary_tables`.
    """
    axes = plots.panels(1, 6.4, 3.4)[0]
    places = {c: place for place, c in enumerate(sorted(levels["c"].unique()))}
    looks = (("#222222", "o", "-"), (plots.COLOURS[0], "s", "--"), (plots.COLOURS[1], "^", ":"))
    for (arm, part), (colour, marker, dashes) in zip(levels.groupby("arm", sort=True), looks, strict=False):
        named = f"{arm} (n = {plots.span(part['n'])} a level)"
        axes.plot(part["c"].map(places), part["mean_words"], color=colour, marker=marker, linestyle=dashes, label=named)
    limits = levels.dropna(subset=["limit"]).drop_duplicates("c")
    for number, (c, limit) in enumerate(zip(limits["c"], limits["limit"], strict=True)):
        label = "the judges' limit (none above)" if number == 0 else None
        axes.hlines(limit, places[c] - 0.4, places[c] + 0.4, color=plots.COLOURS[3], linewidth=3, label=label)
    axes.set_yscale("log")
    ticks = [tick for tick in (2, 5, 10, 20, 50, 100, 200, 500, 1000) if tick <= 1.5 * levels["mean_words"].max()]
    axes.set_yticks(ticks, list(map(str, ticks)))
    axes.minorticks_off()
    axes.set_xticks(list(places.values()), [f"{c:g}" for c in places])
    axes.set(xlabel="level c", ylabel="words written (mean)")
    plots.legend(axes)
    return axes
