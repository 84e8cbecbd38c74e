"""Figures: every one draws what it is given and no more, whatever is missing, and the same data give the same file."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer

from cdct import plots
from cdct.compression import (
    card,
    context_words,
    dip_summary,
    dips,
    generate,
    null_table,
    published_dips,
    published_means,
    score,
    summarise,
)
from cdct.compression import plots as cdct_plots
from cdct.core import stream

mpl.use("Agg")
ITEMS = generate()
CONTEXT = context_words(ITEMS)
SHAPES = ([35, 38, 60, 38, 36], [90, 60, 38, 60, 80], [35, 36, 34, 35, 36])


def rows_of(models: list[str], lost: str = "") -> pd.DataFrame:
    """Scored rows of simulated models; replies whose `model item` matches the pattern `lost` failed."""
    replies = []
    for number, model in enumerate(models):
        for item in ITEMS:
            n = SHAPES[number % 3][round(4 * item.params["c"])] + int(stream("test", model, item.id).integers(-4, 5))
            row = {"benchmark": "cdct", "arm": "baseline", "item": item.id, "model": model, "sample": 0, "turn": 0}
            failed = bool(lost) and pd.Series([f"{model} {item.id}"]).str.contains(lost)[0]
            row |= {"text": None if failed else "word " * n, "status": "failed" if failed else "ok"}
            replies.append(row | {"finish_reason": "length" if n > 90 else "stop"})
    return score(ITEMS, pd.DataFrame(replies))


def in_arms(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows as if of two arms, which differ."""
    plain = rows.assign(arm="plain", cc=rows["cc"].astype(float) / 2)
    return summarise(pd.concat([plain, rows.assign(arm="fixed")]), ["model", "arm", "c"])


Figure = Callable[[pd.DataFrame], Axes]
FIGURES: dict[str, Figure] = {
    "words": lambda rows: cdct_plots.plot_words(rows, 35, CONTEXT),
    "levels": lambda rows: cdct_plots.plot_levels(
        summarise(rows), "compliance (0-1)", CONTEXT, published_means(), 0.5, "half"
    ),
    "counts": lambda rows: cdct_plots.plot_levels(summarise(rows, metric="words"), "words"),
    "curves": lambda rows: cdct_plots.plot_curves(rows, "cc", "compliance (0-1)"),
    "dips": lambda rows: cdct_plots.plot_dips(dips(rows), dip_summary(rows), published_dips()),
    "null": lambda rows: cdct_plots.plot_null(null_table(rows)),
    "cards": lambda rows: plots.plot_cards(card(rows)),
    "conditions": lambda rows: cdct_plots.plot_conditions(
        in_arms(rows), "arm", ["fixed", "plain"], "compliance (0-1)", CONTEXT, 0.5, "half"
    ),
    "estimates": lambda rows: plots.plot_estimates(summarise(rows), ["c"]),
}
MODELS = ["local/smollm2-135m", "openrouter/one", "vllm/two"]


@pytest.fixture(autouse=True)
def _house_style() -> Iterator[None]:
    with mpl.rc_context():
        plots.style()
        yield
    plt.close("all")


def bars(axes: Axes) -> list[np.ndarray]:
    """The interval segments drawn in these axes."""
    drawn = [box.lines[2] for box in axes.containers if isinstance(box, ErrorbarContainer)]
    return [segment for groups in drawn for group in groups for segment in group.get_segments() if len(segment)]


# ---------------------------------------------------------------------------------------------------- whatever is there


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize(
    ("models", "lost"),
    [
        pytest.param(MODELS[:1], "", id="one model"),
        pytest.param(MODELS, "", id="three models"),
        pytest.param(MODELS, "/c050", id="no middle level"),
        pytest.param(MODELS, "one .*/c025|vllm/two ", id="a hole, and a model without any reply"),
        pytest.param(MODELS[:1], ".", id="nothing at all"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_figure_is_drawn_whatever_is_missing(figure: str, models: list[str], lost: str) -> None:
    axes = FIGURES[figure](rows_of(models, lost))
    assert isinstance(axes, Axes)
    axes.figure.set_dpi(30)
    axes.figure.canvas.draw()


@pytest.mark.parametrize("figure", FIGURES)
def test_nine_models_fit(figure: str) -> None:
    axes = FIGURES[figure](rows_of([f"host/model-{number}" for number in range(9)]))
    axes.figure.set_dpi(30)
    axes.figure.canvas.draw()
    width, height = axes.figure.get_size_inches()
    assert width <= 11
    assert height <= 14
    box = axes.get_window_extent().transformed(axes.figure.dpi_scale_trans.inverted())
    assert box.height > 1.2  # the legend has not eaten the axes


@pytest.mark.parametrize("levels", [[0.0, 0.5, 1.0], [0.25, 0.5, 0.75]])
def test_other_levels_are_drawn_at_equal_distances(levels: list[float]) -> None:
    rows = rows_of(MODELS)
    axes = FIGURES["levels"](rows[rows["c"].isin(levels)])
    assert axes.get_xticks().tolist() == [0, 1, 2]
    assert [label.get_text() for label in axes.get_xticklabels()] == [f"{c:g}\n{CONTEXT[c]:g}" for c in levels]


# ------------------------------------------------------------------------------------------------------------ intervals


def test_levels_show_every_interval() -> None:
    table = summarise(rows_of(MODELS))
    axes = cdct_plots.plot_levels(table, "compliance (0-1)")
    drawn = sorted((round(segment[0, 1], 9), round(segment[1, 1], 9)) for segment in bars(axes))
    assert drawn == sorted((round(row.low, 9), round(row.high, 9)) for row in table.itertuples())
    assert axes.get_ylim() == (-0.03, 1.03)


def test_no_interval_is_drawn_where_there_is_none() -> None:
    """An estimate on one concept has no interval: a bar of no length would look certain."""
    rows = rows_of(MODELS[:1])
    axes = cdct_plots.plot_levels(summarise(rows[rows["concept"] == "recursion"]), "compliance (0-1)")
    assert [segment for segment in bars(axes) if np.isfinite(segment).all()] == []
    line = axes.containers[0].lines[0]
    assert np.isfinite(line.get_ydata()).all()  # the marks are there
    lone = dip_summary(rows[rows["concept"] == "recursion"])
    axes = cdct_plots.plot_dips(dips(rows[rows["concept"] == "recursion"]), lone)
    assert [segment for segment in bars(axes) if np.isfinite(segment).all()] == []


def test_dips_show_every_curve_and_the_mean_with_its_interval() -> None:
    rows = rows_of(MODELS)
    table, summary = dips(rows), dip_summary(rows)
    axes = cdct_plots.plot_dips(table, summary, published_dips())
    clouds = [group for group in axes.collections if isinstance(group, PathCollection) and len(group.get_offsets())]
    points = np.concatenate([cloud.get_offsets()[:, 0] for cloud in clouds])
    assert sorted(points.round(9)) == sorted(table["magnitude"].round(9))
    means = summary[summary["measure"] == "magnitude"]
    drawn = sorted((round(segment[0, 0], 9), round(segment[1, 0], 9)) for segment in bars(axes))
    assert drawn == sorted((round(row.low, 9), round(row.high, 9)) for row in means.itertuples())
    assert sum(len(cloud.get_facecolors()) and (cloud.get_facecolors()[:, 3] > 0).sum() for cloud in clouds) == (
        table["dips"].sum()
    )
    grey = [line.get_xdata()[0] for line in axes.lines if to_hex(line.get_color()).upper() == plots.PUBLISHED]
    assert grey == [published_dips()["magnitude"], published_dips()["magnitude of its means"]]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[-3:] == [f"mean, {model}" for model in sorted(MODELS)]
    assert "harm principle" in labels


def test_conditions_show_every_interval_with_the_baseline_in_black() -> None:
    table = in_arms(rows_of(MODELS[:1]))
    axes = cdct_plots.plot_conditions(table, "arm", ["fixed", "plain", "bold"], "compliance (0-1)", CONTEXT)
    drawn = sorted((round(segment[0, 1], 9), round(segment[1, 1], 9)) for segment in bars(axes))
    assert drawn == sorted((round(row.low, 9), round(row.high, 9)) for row in table.itertuples())
    named = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    assert list(named) == ["fixed (n = 8 a level)", "plain (n = 8 a level)"]  # bold was not asked
    assert [to_hex(box.lines[0].get_color()) for box in named.values()] == ["#222222", plots.COLOURS[1].lower()]


def test_an_arm_looks_the_same_beside_whatever_others() -> None:
    table = in_arms(rows_of(MODELS[:1])).replace({"arm": {"fixed": "first"}})

    def colour(order: list[str]) -> str:
        axes = cdct_plots.plot_conditions(table, "arm", order, "compliance (0-1)")
        named = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        return to_hex(named["plain (n = 8 a level)"].lines[0].get_color())

    assert colour(["first", "plain"]) == colour(["first", "bold", "plain"])


ESTIMATES = pd.DataFrame(
    [
        ("local/smollm2-135m", "plain", 0.5, 0.2, 0.1, 0.3, 8),
        ("local/smollm2-135m", "plain", np.nan, -0.1, np.nan, np.nan, 40),
        ("local/smollm2-135m", "bold", 0.5, np.nan, np.nan, np.nan, 0),
        ("vllm/two", "plain", 0.5, 0.4, 0.0, np.inf, 8),
    ],
    columns=["model", "arm", "c", "estimate", "low", "high", "n"],
)


def test_estimates_stand_in_named_rows_with_their_intervals() -> None:
    axes = plots.plot_estimates(ESTIMATES, ["arm", "c"], 0.25, "change")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["plain: c = 0.5", "plain: all c", "bold: c = 0.5"]
    assert axes.get_legend_handles_labels()[1] == ["local/smollm2-135m (n = 8-40)", "vllm/two (n = 8)"]
    marks = [box.lines[0] for box in axes.containers]
    assert [mark.get_xdata().tolist() for mark in marks] == [[0.2, -0.1], [0.4]]
    assert [mark.get_ydata().round().tolist() for mark in marks] == [[0, 1], [0]]
    assert [to_hex(mark.get_color()).upper() for mark in marks] == [
        plots.look(model)["color"] for model in ("local/smollm2-135m", "vllm/two")
    ]
    closed, endless = (segment[:, 0] for segment in bars(axes) if np.isfinite(segment).all())
    assert closed.tolist() == pytest.approx([0.1, 0.3])
    assert endless[0] == pytest.approx(0.0)
    assert endless[1] > axes.get_xlim()[1] > 0.4  # it leaves the figure
    assert axes.lines[0].get_xdata() == [0.25, 0.25]


def test_estimates_without_a_model_and_with_published_values() -> None:
    table = ESTIMATES.drop(columns=["model", "n"]).assign(published=[0.3, np.nan, np.nan, 0.3])
    axes = plots.plot_estimates(table, ["arm"], None)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["plain", "bold"]
    assert axes.collections[-1].get_offsets().tolist() == [[0.3, 0]]
    assert axes.get_legend_handles_labels()[1] == ["published"]


@pytest.mark.filterwarnings("error")
def test_no_estimates_are_an_empty_figure() -> None:
    axes = plots.plot_estimates(ESTIMATES[:0], ["arm", "c"])
    axes.figure.canvas.draw()
    assert axes.containers == []


def test_cards_show_every_interval_and_what_was_published() -> None:
    table = card(rows_of(MODELS))
    axes = plots.plot_cards(table)
    shown = table[table["unit"] != "words"]
    drawn = sorted((round(segment[0, 0], 9), round(segment[1, 0], 9)) for segment in bars(axes))
    assert drawn == sorted((round(row.low, 9), round(row.high, 9)) for row in shown.itertuples())
    grey = axes.collections[-1].get_offsets()[:, 0]
    assert sorted(grey) == pytest.approx([0.381, 0.654, 0.972])


def test_cards_of_chosen_groups() -> None:
    table = pd.concat([card(rows_of(MODELS[:1])), card(rows_of(MODELS[:1])).assign(group="Other")])
    labels = [label.get_text() for label in plots.plot_cards(table, ["Other"]).get_yticklabels()]
    assert labels
    assert all(label.startswith("Other: ") for label in labels)


def test_words_show_every_reply_and_the_cut_ones_hollow() -> None:
    rows = rows_of(MODELS[1::-1])
    axes = cdct_plots.plot_words(rows, 35, CONTEXT)
    for panel, model in zip(axes.figure.axes, rows["model"].unique(), strict=False):
        part = rows[rows["model"] == model]
        whole, cut = panel.collections
        heights = np.concatenate([whole.get_offsets()[:, 1], cut.get_offsets()[:, 1]])
        assert sorted(heights) == sorted(part["words"])
        assert len(cut.get_offsets()) == (part["flags"] == "truncated").sum()
        assert panel.get_title(loc="left").startswith(f"{model}\nn = 40")
        assert panel.get_yscale() == "log"


def test_a_reply_without_a_word_stands_at_the_foot() -> None:
    rows = rows_of(MODELS[:1])
    rows.loc[0, "words"] = 0
    axes = cdct_plots.plot_words(rows, 35)
    ticks = dict(zip([label.get_text() for label in axes.get_yticklabels()], axes.get_yticks(), strict=True))
    assert ticks["0"] == axes.collections[0].get_offsets()[:, 1].min() < ticks["1"]
    assert axes.get_ylim()[0] < ticks["0"]


def test_the_null_shows_what_was_observed() -> None:
    table = null_table(rows_of(MODELS[:1]))
    axes = cdct_plots.plot_null(table)
    heights = [bar.get_height() for bar in axes.patches if hasattr(bar, "get_height")]
    assert heights == pytest.approx(table["chance"].tolist())
    seen = int(table.loc[table["observed"], "dips"].iloc[0])
    assert axes.get_title(loc="left") == f"{MODELS[0]}: {seen} of 8 dip"
    assert [to_hex(bar.get_facecolor()) for bar in axes.patches].count("#d0d0d0") == 8


def test_a_cell_without_a_reply_is_empty() -> None:
    axes = cdct_plots.plot_curves(rows_of(MODELS[:1], "recursion/c050"), "cc", "compliance (0-1)")
    numbers = [text.get_text() for text in axes.texts]
    assert len(numbers) == 39
    assert all(text.isdigit() for text in numbers)


# -------------------------------------------------------------------------------------------------------------- colours


def test_a_model_looks_the_same_in_whatever_company() -> None:
    def colours(models: list[str]) -> dict[str, Any]:
        axes = cdct_plots.plot_levels(summarise(rows_of(models)), "compliance (0-1)")
        named = zip(*axes.get_legend_handles_labels(), strict=True)
        return {label.split(" (")[0]: to_hex(handle.lines[0].get_color()) for handle, label in named}

    together = colours(MODELS)
    for model in MODELS:
        assert colours([model])[model] == together[model]
        assert together[model].upper() == plots.look(model)["color"]
    assert colours(MODELS[::-1]) == together


def test_no_model_of_the_file_looks_like_another(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {f"model {number}": None for number in range(len(plots.COLOURS) * len(plots.MARKERS))}
    monkeypatch.setattr(plots, "load_models", lambda: names)
    assert len({tuple(plots.look(name).values()) for name in names}) == len(names)
    assert plots.PUBLISHED not in plots.COLOURS


def test_colours_can_be_told_from_white() -> None:
    for colour in (*plots.COLOURS, plots.PUBLISHED):
        red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (red, green, blue)]
        luminance = float(np.dot([0.2126, 0.7152, 0.0722], linear))
        assert 1.05 / (luminance + 0.05) >= 2  # WCAG's contrast; lines and marks are large


# ---------------------------------------------------------------------------------------------------------- same bytes

DRAW = """
import sys
sys.path.insert(0, sys.argv[1])
import test_plots as t
t.plots.style()
for name, figure in t.FIGURES.items():
    t.plots.save(figure(t.rows_of(t.MODELS)), f"{sys.argv[2]}/{name}.svg")
"""


def test_two_processes_draw_the_same_bytes(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    drawing = []
    for seed, run in enumerate(("one", "two"), start=1):
        (tmp_path / run).mkdir()
        arguments = [sys.executable, "-c", DRAW, str(Path(__file__).parent), str(tmp_path / run)]
        drawing.append(subprocess.Popen(arguments, env=environment | {"PYTHONHASHSEED": str(seed)}))
    assert [process.wait() for process in drawing] == [0, 0]
    found = [
        {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted((tmp_path / run).glob("*.svg"))}
        for run in ("one", "two")
    ]
    assert len(found[0]) == len(FIGURES)
    assert found[0] == found[1]
    text = (tmp_path / "one" / "levels.svg").read_text(encoding="utf-8")
    assert "<dc:date>" not in text
    assert "Matplotlib v" not in text


# --------------------------------------------------------------------------------------------------------------- tables


def test_a_table_is_rounded_whole_and_escaped() -> None:
    frame = pd.DataFrame({"model": ["<b>m</b>", "m"], "n": [8, 0], "c": [1.0, np.nan], "p": [0.12345, np.nan]})
    html = plots.table(frame, 2).data
    assert "&lt;b&gt;m&lt;/b&gt;" in html
    for cell in ("<td>8</td>", "<td>1</td>", "<td>0.12</td>", "<td>–</td>"):
        assert cell in html
    assert "0.123" not in html


def test_long_texts_are_cut_and_stand_on_one_line() -> None:
    html = plots.table(pd.DataFrame({"text": ["x" * 500, "a\n\nb", "y" * 400]})).data
    assert f"<td>{'x' * 400} …</td>" in html
    assert "<td>a b</td>" in html
    assert f"<td>{'y' * 400}</td>" in html


def test_what_is_not_zero_does_not_look_like_it() -> None:
    html = plots.table(pd.DataFrame({"p": [1.2e-6, 0.5, 0.0]}), 4).data
    assert [f"<td>{cell}</td>" in html for cell in ("1.2e-06", "0.5000", "0.0000")] == [True] * 3


def test_an_empty_table_keeps_its_columns() -> None:
    assert "<th>level</th>" in plots.table(pd.DataFrame(columns=["level", "text"])).data
