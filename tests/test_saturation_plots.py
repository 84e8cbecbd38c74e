"""Figures of CSE: every one draws what it is given, whatever is missing, and no more."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer
from saturation_worlds import rates, world

from cdct import plots
from cdct.saturation import constraint_plots, published
from cdct.saturation import plots as cse_plots
from cdct.saturation.analysis import rankings, summarise
from cdct.saturation.controls import positions, terciles
from cdct.saturation.failures import refusals, tag_use
from cdct.saturation.hierarchy import retention, slopes
from cdct.saturation.profiles import profiles

mpl.use("Agg")


def models(table: pd.DataFrame, *names: str) -> pd.DataFrame:
    return table.assign(model=table["model"].map({f"m{n}": name for n, name in enumerate(names)}))


def falling(fall: float, ks: range) -> np.ndarray:
    return rates(lambda id, k: 0.9 * fall ** (k - 1), ks)


SHORT, LONG = range(1, 4), range(1, 13)
TWO = models(world("two", [falling(0.9, LONG), falling(0.7, LONG)], LONG, 6), "local/smollm2-135m", "simulated fall")
LOST = TWO.assign(passed=math.nan, score=math.nan, unscored="failed", answer_status="", answer_flags="")
WORLDS = {
    "two models": TWO,
    "one model, few probes": models(world("few", [falling(0.8, SHORT)], SHORT, 2), "a"),
    "all fail": TWO.assign(passed=0.0, score=0.0),
    "all pass": TWO.assign(passed=1.0, score=1.0),
    "no answer to any call": LOST,
    "one k": TWO[TWO["k"] == 2],
    "no single constraints": TWO[TWO["k"] > 1],
    "one check": TWO.head(1),
}


def draw_gap(rows: pd.DataFrame) -> Axes:
    one = rows[rows["model"] == rows["model"].iloc[0]]
    return constraint_plots.plot_gap_slope(profiles(one), "retention", slopes(one), published.published_profiles())


def draw_heat(rows: pd.DataFrame) -> Axes:
    return constraint_plots.plot_heat(summarise(rows, ["constraint", "k"], ["mCSR"]))


def draw_heat_of_models(rows: pd.DataFrame) -> Axes:
    table = summarise(rows, ["constraint", "model"], ["mCSR"])
    return constraint_plots.plot_heat(table, "model", published.published_heatmap())


PENALTY = ["mCSR by probe", "sCSR"]
FIGURES: dict[str, Callable[[pd.DataFrame], Axes]] = {
    "curves": lambda rows: cse_plots.plot_curves(summarise(rows), ("mCSR", "sCSR"), published.published_curves()),
    "curves without the paper": lambda rows: cse_plots.plot_curves(summarise(rows), ("score",)),
    "penalty": lambda rows: cse_plots.plot_penalty(summarise(rows, metrics=PENALTY)),
    "heat": draw_heat,
    "heat of models": draw_heat_of_models,
    "retention": lambda rows: constraint_plots.plot_retention(retention(rows)),
    "retention of dimensions": lambda rows: constraint_plots.plot_retention(retention(rows, unit="dimension")),
    "gap": draw_gap,
    "positions": lambda rows: cse_plots.plot_positions(positions(rows, draws=20), published.published_positions()),
    "terciles": lambda rows: cse_plots.plot_terciles(terciles(rows)),
    "tags": lambda rows: cse_plots.plot_by_model(tag_use(rows), "tag", published.published_tags()),
    "refusals": lambda rows: cse_plots.plot_by_model(refusals(rows), "of"),
    "rankings": lambda rows: cse_plots.plot_rankings(rankings(rows), published.published_rankings()),
}


@pytest.fixture(autouse=True)
def _house_style() -> Iterator[None]:
    with mpl.rc_context():
        plots.style()
        yield
    plt.close("all")


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.filterwarnings("error")
def test_a_figure_is_drawn_whatever_is_missing(figure: str, world: str) -> None:
    axes = FIGURES[figure](WORLDS[world])
    if world in ("one model, few probes", "no answer to any call"):
        axes.figure.canvas.draw()


@pytest.mark.parametrize("figure", FIGURES)
def test_the_same_rows_give_the_same_file(figure: str, tmp_path: Path) -> None:
    files = []
    for name in ("one.svg", "other.svg"):
        plots.save(FIGURES[figure](WORLDS["one model, few probes"]), tmp_path / name)
        files.append(hashlib.sha256((tmp_path / name).read_bytes()).hexdigest())
        plt.close("all")
    assert files[0] == files[1]


def bars(axes: Axes) -> list[tuple[float, float]]:
    """The ends of every vertical interval in the axes."""
    found = []
    for container in axes.containers:
        if isinstance(container, ErrorbarContainer):
            segments = container[2][0].get_segments()
            found += [(one[0, 1], one[1, 1]) for one in segments if len(one) and np.isfinite(one).all()]
    return found


def panel(axes: Axes, title: str) -> Axes:
    return next(one for one in axes.figure.axes if one.get_title(loc="left") == title)


def test_curves_show_every_interval_and_the_papers_in_grey_behind() -> None:
    table = summarise(TWO)
    axes = cse_plots.plot_curves(table, ("mCSR", "sCSR"), published.published_curves())
    for metric in ("mCSR", "sCSR"):
        own = table.loc[table["metric"] == metric, ["low", "high"]].to_numpy().tolist()
        assert np.array(sorted(bars(panel(axes, metric)))) == pytest.approx(np.array(sorted(own)))
    grey = [
        one for one in panel(axes, "mCSR").lines if one.get_color() == plots.PUBLISHED and one.get_linestyle() == "-"
    ]
    assert len(grey) == 16  # fifteen models and their mean
    assert {len(one.get_xdata()) for one in grey} == {12}
    best = max(grey, key=lambda one: one.get_ydata()[0])
    assert best.get_ydata()[0] == pytest.approx(0.984)
    fitted = [one for one in panel(axes, "sCSR").lines if one.get_linestyle() == ":"]
    assert len(fitted) == 1  # the paper's fit is not taken for its numbers
    printed = [
        one for one in panel(axes, "sCSR").lines if one.get_color() == plots.PUBLISHED and one.get_marker() == "o"
    ]
    assert [one.get_xdata().tolist() for one in printed] == [[1, 8, 12]]


def test_a_simulated_subject_is_dashed_and_keeps_its_name() -> None:
    axes = cse_plots.plot_curves(summarise(TWO), ("mCSR",))
    lines = {c.get_label().split(" (")[0]: c[0] for c in axes.containers if isinstance(c, ErrorbarContainer)}
    assert lines["simulated fall"].get_linestyle() == "--"
    assert lines["local/smollm2-135m"].get_linestyle() == "-"
    assert all("n = 6 probes a k" in c.get_label() for c in axes.containers)


def test_an_estimate_of_few_probes_is_hollow() -> None:
    def hollow(rows: pd.DataFrame) -> int:
        axes = cse_plots.plot_curves(summarise(rows), ("mCSR",))
        return sum(len(one.get_xdata()) for one in axes.lines if one.get_markerfacecolor() == "white")

    assert hollow(WORLDS["one model, few probes"]) == 3
    assert hollow(TWO) == 0


def test_the_penalty_is_what_is_shaded() -> None:
    table = summarise(TWO, metrics=PENALTY)
    axes = cse_plots.plot_penalty(table)
    shade = next(one for one in axes.collections if isinstance(one, FillBetweenPolyCollection))
    y = shade.get_paths()[0].vertices[:, 1]
    first = table[table["model"] == axes.get_title(loc="left")]
    assert y.min() == pytest.approx(first["estimate"].min())
    assert y.max() == pytest.approx(first["estimate"].max())


def test_a_heat_map_has_its_numbers_in_its_cells() -> None:
    table = summarise(TWO, ["constraint", "k"], ["mCSR"])
    axes = draw_heat(TWO)
    written = {}
    rows = [label.get_text().split()[0] for label in axes.get_yticklabels()]
    for text in axes.texts:
        column, row = text.get_position()
        written[(rows[row], column + 1)] = text.get_text()
    assert len(written) == len(table)
    for row in table.to_dict("records"):
        shown = written[(row["constraint"], row["k"])]
        assert shown.removesuffix("·") == f"{100 * row['estimate']:.0f}"
        assert shown.endswith("·") == row["few"]


def test_the_papers_heat_map_stands_beside_in_grey() -> None:
    axes = draw_heat_of_models(TWO)
    paper = panel_of(axes, "paper")
    image = paper.images[0]
    assert image.get_cmap().name == "Greys"
    assert image.get_array().shape == (36, 15)
    assert len(paper.texts) == 540


def panel_of(axes: Axes, title: str) -> Axes:
    return next(one for one in axes.figure.axes if title in (one.get_title(), one.get_title(loc="left")))


def test_retention_has_a_panel_per_dimension_and_a_line_per_constraint_that_has_one() -> None:
    kept = retention(TWO)
    axes = constraint_plots.plot_retention(kept)
    for dimension in ("structural", "lexical"):
        inside = kept[(kept["dimension"] == dimension) & kept["estimate"].notna()]
        labels = panel(axes, dimension).get_legend_handles_labels()[1]
        assert labels == list(dict.fromkeys(inside["constraint"]))
    silent = constraint_plots.plot_retention(retention(WORLDS["no single constraints"]))
    assert silent.texts[0].get_text() == "no rate at k = 1"


def test_gaps_and_slopes_are_named() -> None:
    one = TWO[TWO["model"] == "simulated fall"]
    table = profiles(one)
    axes = draw_gap(one)
    known = table[table["slope_retention"].notna()]
    assert {text.get_text() for text in axes.texts} == set(known["constraint"])
    assert axes.get_ylabel() == "retention slope per constraint added"


def test_chance_stands_beside_positions() -> None:
    table = positions(TWO, draws=20)
    axes = cse_plots.plot_positions(table)
    dotted = [one for one in axes.lines if one.get_linestyle() == ":"]
    assert len(dotted) == 4
    upper = max(dotted, key=lambda one: one.get_ydata()[0])
    assert upper.get_ydata()[0] == pytest.approx(table.loc[table["k"] == 2, "by_chance"].max())


def test_rows_by_model_have_own_ones_first_and_the_papers_in_grey() -> None:
    axes = cse_plots.plot_by_model(tag_use(TWO), "tag", published.published_tags())
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names[:2] == ["local/smollm2-135m (n = 72)", "simulated fall (n = 72)"]
    assert all(name.startswith("paper: ") for name in names[2:])
    drawn = [one[0] for one in axes.containers]
    grey = [one for one in drawn if to_hex(one.get_color()) == plots.PUBLISHED.lower()]
    assert len(drawn) - len(grey) == 2
    assert {round(float(one.get_xdata()[0]), 3) for one in grey} == {0.469, 0.67, 0.729, 1.0}


def test_ranks_show_what_can_not_be_ruled_out() -> None:
    table = rankings(TWO)
    axes = cse_plots.plot_rankings(table)
    sharp = table[(table["metric"] == "mCSR")].set_index("model")
    ends = {}
    for container, model in zip(panel_of(axes, "mCSR").containers, dict.fromkeys(table["model"]), strict=True):
        (left, _), (right, _) = container[2][0].get_segments()[0]
        ends[model] = (left, right)
    assert ends == {model: (row["rank_low"], row["rank_high"]) for model, row in sharp.iterrows()}
