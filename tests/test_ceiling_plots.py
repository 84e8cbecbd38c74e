"""CCB beside its paper, arms against each other, and their figures: every one draws what it is given and no more."""

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
from matplotlib.container import ErrorbarContainer

from cdct import ceiling, plots
from cdct.ceiling import contrasts, fits, trace_plots
from cdct.ceiling import plots as ccb_plots
from cdct.core import stream
from cdct.stats import decay, rivals, survival

mpl.use("Agg")
DOMAINS = ("D1", "D2", "D3", "D3-churn")
CELL = ["domain", "model"]


def rows_of(p: dict[str, float], depths: range = range(1, 6), trials: int = 4, lost: str = "") -> pd.DataFrame:
    """Rows of models that keep the state with chance p a step; what is in `lost` fails, or can't be read."""
    rows = []
    for model, chance in p.items():
        for domain in DOMAINS:
            for depth in depths:
                for index in range(trials):
                    rng = stream("test", model, domain, depth, index)
                    k = int(rng.geometric(1 - chance)) if chance < 1 else depth + 1
                    right, item = k > depth, f"{domain}/{depth}/{index}"
                    row = {"benchmark": "ccb", "arm": "baseline", "item": item, "model": model, "sample": 0, "turn": 0}
                    row |= {"last": True, "domain": domain, "depth": depth, "effective_depth": min(depth, 3)}
                    row |= {"correct": float(right), "parsed": float(right), "unscored": "", "completion_tokens": 20.0}
                    row |= {"k_star": -1.0 if right else float(k), "outcome": "correct" if right else "reasoning"}
                    row |= {"trace_status": "intact" if right else "diverged"}
                    if lost == "calls":
                        row |= dict.fromkeys(("correct", "parsed", "k_star", "completion_tokens"), math.nan)
                        row |= {"unscored": "failed", "outcome": "api", "trace_status": None}
                    if lost == "answers" and index == 0:
                        row |= {"correct": 0.0, "parsed": math.nan, "outcome": "format", "k_star": math.nan}
                    rows.append(row)
    return pd.DataFrame(rows)


def tables_of(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    counted = fits.with_published(rows)
    fitted = decay.fit_many(counted, fits.CELL, draws=50)
    return {"counted": counted, "cells": decay.by_depth(counted, fits.CELL), "fits": fitted}


def draw_decay(rows: pd.DataFrame) -> Axes:
    tables = tables_of(rows)
    return ccb_plots.plot_decay(tables["cells"], tables["fits"])


def draw_p(rows: pd.DataFrame) -> Axes:
    return ccb_plots.plot_cells(fits.marked(tables_of(rows)["fits"]), "p", scale="retention")


def draw_horizons(rows: pd.DataFrame) -> Axes:
    return ccb_plots.plot_cells(decay.horizons(tables_of(rows)["fits"]), "steps", scale="log")


def draw_gamma(rows: pd.DataFrame) -> Axes:
    return ccb_plots.plot_cells(rivals.fit_gamma(tables_of(rows)["counted"], fits.CELL, draws=50), "gamma", 1.0)


def draw_residuals(rows: pd.DataFrame) -> Axes:
    tables = tables_of(rows)
    return ccb_plots.plot_residuals(fits.residuals(tables["cells"], tables["fits"]))


def draw_forms(rows: pd.DataFrame) -> Axes:
    tables = tables_of(rows)
    return ccb_plots.plot_forms(rivals.compare_forms(tables["counted"], fits.CELL), tables["fits"])


def draw_survival(rows: pd.DataFrame) -> Axes:
    traces = ceiling.traced(rows)
    return trace_plots.plot_steps(survival.survival(traces, CELL), "intact", survival.implied_p(traces, CELL))


def draw_hazards(rows: pd.DataFrame) -> Axes:
    return trace_plots.plot_steps(survival.hazards(ceiling.traced(rows), CELL), "hazard", survival=False)


def draw_sizes(rows: pd.DataFrame) -> Axes:
    return trace_plots.plot_sizes(fits.k_stars(rows), {"a": 0.5, "LLaMA-3.3": 70.0}, "k*")


def draw_both(rows: pd.DataFrame) -> Axes:
    return trace_plots.plot_both_depths(decay.by_depth(fits.both_depths(rows), ["model", "domain", "measure"]))


FIGURES: dict[str, Callable[[pd.DataFrame], Axes]] = {
    "decay": draw_decay,
    "p": draw_p,
    "horizons": draw_horizons,
    "gamma": draw_gamma,
    "residuals": draw_residuals,
    "forms": draw_forms,
    "survival": draw_survival,
    "hazards": draw_hazards,
    "sizes": draw_sizes,
    "both": draw_both,
    "tokens": lambda rows: trace_plots.plot_tokens(fits.tokens_with_published(rows)),
}
WORLDS = {
    "one that fails at once": rows_of({"a": 0.02}),
    "one that never fails": rows_of({"a": 1.0}),
    "three": rows_of({"a": 0.5, "b": 0.9, "local/smollm2-135m": 0.2}),
    "unreadable replies": rows_of({"a": 0.8, "b": 0.5}, lost="answers"),
    "no answer to any call": rows_of({"a": 0.8}, lost="calls"),
    "one domain that the paper does not have": rows_of({"a": 0.7}).query("domain == 'D3-churn'"),
    "one trial": rows_of({"a": 0.7}, range(3, 4), 1).query("domain == 'D1'"),
    "many steps": rows_of({"a": 0.97}, range(10, 31, 10)),
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
def test_a_figure_is_drawn_whatever_is_missing(figure: str, world: str, tmp_path: Path) -> None:
    """And the same rows give the same file."""
    files = []
    for name in ("one.svg", "other.svg"):
        axes = FIGURES[figure](WORLDS[world])
        plots.save(axes, tmp_path / name)
        files.append(hashlib.sha256((tmp_path / name).read_bytes()).hexdigest())
        plt.close("all")
    assert files[0] == files[1]


def bars(axes: Axes) -> list[np.ndarray]:
    """The ends of every interval in the axes, as x, low, high."""
    found = []
    for container in axes.containers:
        if isinstance(container, ErrorbarContainer):
            for segment in container[2][0].get_segments():
                if len(segment) and np.isfinite(segment).all():
                    found.append((segment[0, 0], segment[0, 1], segment[1, 1]))
    return found


# -------------------------------------------------------------------------------------------------------------- figures


def test_decay_shows_every_interval_and_the_papers_curves_in_grey() -> None:
    rows = rows_of({"a": 0.9}).query("domain == 'D1'")
    tables = tables_of(rows)
    axes = ccb_plots.plot_decay(tables["cells"], tables["fits"])
    own = tables["cells"].query("source == @fits.RUN")
    assert np.array(sorted(bars(axes))) == pytest.approx(own[["depth", "low", "high"]].to_numpy(dtype=float))
    grey = [line for line in axes.lines if line.get_color() == plots.PUBLISHED and len(line.get_xdata())]
    assert len(grey) == 5
    gemini = next(line for line in grey if line.get_label() == "paper: Gemini 2.0F")
    assert gemini.get_ydata()[0] == 0.65  # 26 of 40 at depth 5
    p = tables["fits"].query("source == @fits.RUN")["estimate"].item()
    curve = next(line for line in axes.lines if line.get_linestyle() == "--" and len(line.get_xdata()) > 100)
    assert curve.get_ydata()[-1] == pytest.approx(p ** curve.get_xdata()[-1])


def test_a_curve_at_the_bound_is_the_upper_end_of_its_interval_and_dotted() -> None:
    tables = tables_of(WORLDS["one that fails at once"].query("domain == 'D3-churn'"))
    axes = ccb_plots.plot_decay(tables["cells"], tables["fits"])
    curves = [line for line in axes.lines if len(line.get_xdata()) > 100]
    assert [line.get_linestyle() for line in curves] == [":"]
    high = tables["fits"]["high"].item()
    assert curves[0].get_ydata() == pytest.approx(high ** curves[0].get_xdata())


def test_shares_stand_on_the_whole_scale_and_nothing_is_said_to_be_nothing() -> None:
    row = {"domain": "D1", "model": "a", "kind": "lucky", "estimate": 0.5, "low": 0.4, "high": 0.6, "n": 4}
    axes = trace_plots.plot_shares(pd.DataFrame([row]), ["domain", "kind"], "share")
    assert axes.get_xlim() == (-0.03, 1.03)
    assert axes.get_title(loc="left") == ""
    empty = pd.DataFrame([row | dict.fromkeys(("estimate", "low", "high"), math.nan) | {"n": 0}])
    axes = trace_plots.plot_shares(empty, ["domain", "kind"], "share")
    assert axes.get_title(loc="left") == "no estimate: there is nothing to share out"


def test_readable_replies_are_drawn_where_they_differ_alone() -> None:
    def hollow(rows: pd.DataFrame) -> list[float]:
        axes = draw_decay(rows.query("domain == 'D1'"))
        lines = [line for line in axes.lines if str(line.get_label()).endswith(fits.READABLE)]
        return [float(y) for line in lines for y in line.get_ydata()]

    assert hollow(WORLDS["three"]) == []
    rows = WORLDS["unreadable replies"].query("model == 'a'")
    shares = rows.query("domain == 'D1'").groupby("depth")["parsed"].mean()
    assert hollow(rows) == pytest.approx(shares.tolist())


def test_p_is_drawn_by_factors_of_its_error_with_its_bound_and_its_freedom() -> None:
    """p = .5 on its bound stands at -lg .5, without it at 0; the upper end at -lg(1 - high); hollow, since doubtful."""
    rows = rows_of({"a": 0.0001}).query("domain == 'D3-churn'")
    table = fits.marked(tables_of(rows)["fits"])
    assert table[["estimate", "free", "low", "bound"]].to_numpy().tolist() == [[0.5, 0.0, 0.0, "lower"]]
    axes = ccb_plots.plot_cells(table, "p", scale="retention")
    point = next(container for container in axes.containers if isinstance(container, ErrorbarContainer))
    assert point[0].get_xdata() == pytest.approx([-math.log10(0.5)])
    assert point[0].get_markerfacecolor() == "white"
    (left, _), (right, _) = point[2][0].get_segments()[0]
    assert (left, right) == pytest.approx((0, -math.log10(1 - table["high"].item())))
    cross = next(line for line in axes.lines if line.get_marker() == "x")
    assert cross.get_xdata() == pytest.approx([0])


def test_an_end_that_is_infinite_leaves_the_figure() -> None:
    row = {"source": fits.RUN, "domain": "D1", "model": "a", "counted": fits.ALL, "n": 4}
    table = pd.DataFrame(
        [
            row | {"estimate": 1.0, "low": 0.5, "high": math.inf},
            row | {"estimate": math.inf, "low": 2.0, "high": math.inf},
        ]
    )
    axes = ccb_plots.plot_cells(table, "gamma", 1.0)
    edge = axes.get_xlim()[1]
    ends = [container[2][0].get_segments()[0][1, 0] for container in axes.containers]
    marks = [container[0].get_xdata()[0] for container in axes.containers]
    assert min(ends) > edge
    assert marks[1] < edge


def test_the_paper_prints_what_its_counts_give() -> None:
    table = fits.marked(tables_of(WORLDS["three"])["fits"])
    paper = table[table["source"] == fits.PAPER]
    assert len(paper) == 15
    assert (paper["printed"] - paper["estimate"]).abs().max() < 6e-4
    assert table[table["source"] == fits.RUN]["printed"].isna().all()


def test_aic_differences_are_those_of_the_forms() -> None:
    """Claude in D1: 27 below p^N for p^(N^gamma), 24 for a p^N."""
    tables = tables_of(WORLDS["one that fails at once"].query("domain == 'D1'"))
    forms = rivals.compare_forms(tables["counted"], fits.CELL)
    axes = ccb_plots.plot_forms(forms, tables["fits"])
    names = [label.get_text() for label in axes.get_yticklabels()]
    place = names.index("D1: Claude 3.7 (n = 400)")
    drawn = {one.get_offsets()[place][0] for one in axes.collections if len(one.get_offsets()) == len(names)}
    claude = forms.query("domain == 'D1' and model == 'Claude 3.7'").set_index("form")["aic"]
    expected = {claude[form] - claude["geometric"] for form in ("stretched", "lapse", "linear")}
    assert sorted(drawn) == pytest.approx(sorted(expected))


@pytest.mark.parametrize(("world", "banded"), [("three", False), ("many steps", True)])
def test_few_steps_have_bars_and_many_a_band(world: str, banded: bool) -> None:
    axes = draw_survival(WORLDS[world].query("model == 'a' and domain == 'D1'"))
    bands = [one for one in axes.collections if isinstance(one, FillBetweenPolyCollection)]
    assert bool(bands) == banded
    assert bool(bars(axes)) != banded


def test_effective_depths_are_counted_in_the_items() -> None:
    items = ceiling.generate(domain=["D2", "D3"], depths=[2, 20], trials=5)
    table = fits.effective_depths(items).set_index(["domain", "depth"])
    assert table.loc[("D2", 20), "estimate"] == 20
    assert math.isnan(table.loc[("D2", 20), "low"])  # all alike: no interval
    expected = np.mean([item.truth["effective_depth"] for item in items if item.id.startswith("ccb-v1/D3/n20")])
    assert table.loc[("D3", 20), "estimate"] == pytest.approx(expected)
    assert expected <= 9
    axes = trace_plots.plot_effective(table.reset_index())
    plots.save(axes, "/dev/null")


def test_operations_are_named_and_those_that_change_nothing_apart() -> None:
    row = {"domain": "D3", "model": "a", "estimate": 0.5, "low": 0.1, "high": 0.9, "n": 4}
    table = pd.DataFrame(
        [row | {"operation": "shift_row", "changed": True}, row | {"operation": "ally", "changed": False}]
    )
    axes = trace_plots.plot_operations(table)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["D3: shift row", "D3: ally that changes nothing"]


# --------------------------------------------------------------------------------------------------- beside the paper


def test_counts_of_the_run_and_of_the_paper_stand_in_one_frame() -> None:
    rows = WORLDS["unreadable replies"]
    table = fits.with_published(rows)
    assert set(table["source"]) == {fits.RUN, fits.PAPER}
    own = table[table["source"] == fits.RUN]
    everything, readable = (own[own["counted"] == name] for name in (fits.ALL, fits.READABLE))
    assert len(everything) == len(readable) == len(rows)
    assert int(readable["correct"].isna().sum()) == 2 * 4 * 5  # one a cell and depth
    assert everything["correct"].notna().all()
    assert set(fits.with_published(WORLDS["one domain that the paper does not have"])["source"]) == {fits.RUN}


def test_mixed_arms_and_repeated_items_are_refused() -> None:
    rows = WORLDS["three"]
    with pytest.raises(ValueError, match="mix the arms 'baseline', 'slots'"):
        fits.with_published(pd.concat([rows, rows.assign(arm="slots")]))
    with pytest.raises(ValueError, match="take one sample, and more trials instead"):
        fits.with_published(pd.concat([rows, rows.assign(sample=1)]))


def test_residuals_are_pearsons() -> None:
    """Depth 1 with 3 of 4, depth 2 with 0 of 4: expected 4p and 4p^2."""
    rows = rows_of({"a": 0.5}, range(1, 3)).query("domain == 'D3-churn'").assign(correct=[1.0, 1, 1, 0, 0, 0, 0, 0])
    tables = tables_of(rows)
    found = fits.residuals(tables["cells"], tables["fits"]).set_index("depth")
    p = tables["fits"]["estimate"].item()
    assert found.loc[1, "residual"] == pytest.approx((3 - 4 * p) / math.sqrt(4 * p * (1 - p)))
    assert found.loc[2, "residual"] == pytest.approx((0 - 4 * p**2) / math.sqrt(4 * p**2 * (1 - p**2)))
    sure = tables_of(WORLDS["one that never fails"])
    own = fits.residuals(sure["cells"], sure["fits"]).query("source == @fits.RUN")
    assert own["residual"].isna().all()


def test_tokens_of_all_turns_count_and_a_missing_count_is_no_zero() -> None:
    rows = rows_of({"a": 0.5}, range(2, 3), 2).query("domain == 'D1'")
    earlier = rows.assign(last=False, turn=-1, completion_tokens=[5.0, math.nan])
    own = fits.tokens_with_published(pd.concat([earlier, rows])).query("source == @fits.RUN")
    assert own[["estimate", "n", "n_unscored"]].to_numpy().tolist() == [[25.0, 1, 1]]
    paper = fits.tokens_with_published(rows).query("source == @fits.PAPER and depth == 50")
    assert paper["estimate"].tolist() == [1497]


def test_k_star_is_over_wrong_answers() -> None:
    rows = rows_of({"a": 0.5}, range(5, 6), 4).query("domain == 'D1'")
    rows = rows.assign(correct=[1.0, 0, 0, 0], k_star=[2.0, 1, 4, math.nan])
    table = fits.k_stars(rows)
    assert table.query("source == @fits.RUN")[["estimate", "n", "n_unscored"]].to_numpy().tolist() == [[2.5, 2, 1]]
    assert table.query("model == 'Claude 3.7'")["estimate"].tolist() == [8.45]  # Table 3


def test_both_depths_hold_every_trial_twice() -> None:
    table = fits.both_depths(WORLDS["three"])
    assert table.groupby("measure").size().tolist() == [240, 240]
    effective = table[table["measure"] == "effective_depth"]
    assert effective["depth"].max() == 3


def test_sizes_are_those_of_the_file_and_of_the_paper() -> None:
    sizes = fits.model_sizes()
    assert sizes["local/smollm2-135m"] == 0.135
    assert sizes["LLaMA-3.3"] == 70


# ----------------------------------------------------------------------------------------------------------------- arms


def in_arms(right: dict[str, list[float]], domain: str = "D3") -> pd.DataFrame:
    """Scored rows of the same items in several arms."""
    row = {"benchmark": "ccb", "model": "m", "sample": 0, "turn": 0, "last": True, "domain": domain, "depth": 15}
    return pd.DataFrame(
        row | {"arm": arm, "item": f"{domain}/{number}", "correct": value, "parsed": value, "strict": value}
        for arm, values in right.items()
        for number, value in enumerate(values)
    )


def test_the_papers_arms_as_pairs() -> None:
    """20 pairs: 4 against 0 has p = .125 and an interval that holds 0; 0 against 0 is no information.

    Without a pair that differs, the share of such pairs is below 1 - .0125^(1/20) = .197 with 97.5 %.
    """
    effects = contrasts.arm_effects(
        in_arms({"trace": [0.0] * 20, "slots": [1.0] * 4 + [0.0] * 16, "schema": [0.0] * 20})
    )
    slots, schema = effects.to_dict("records")
    assert (slots["estimate"], slots["p"], slots["p_holm"], slots["note"]) == (0.2, 0.125, 0.25, "")
    assert slots["low"] < 0 < slots["high"]
    assert (schema["p"], schema["note"]) == (1.0, "no information")
    assert (schema["low"], schema["high"]) == pytest.approx((-0.1968, 0.1968), abs=1e-4)
    texts = contrasts.effect_findings(effects)["text"]
    assert texts[0] == (
        f"D3, slots instead of trace: no change of right answers can be told from chance: +0.20 [{slots['low']:+.2f}, "
        f"{slots['high']:+.2f}] (exact McNemar p = 0.25, Holm-corrected for 2 comparisons; of 20 pairs right in slots "
        "alone 4 times, in trace alone 0)."
    )
    assert texts[1] == (
        "D3, schema instead of trace: no information: all 20 pairs are wrong in both arms, and a change of "
        "[-0.20, +0.20] is possible."
    )
    card = contrasts.effect_card(effects)
    assert list(card) == list(ceiling.card(WORLDS["one trial"].assign(tfbc=math.nan)))
    assert card["group"].tolist() == ["CCB D3: slots against trace", "CCB D3: schema against trace"]


def test_a_large_change_is_spoken_of_and_its_direction_is_right() -> None:
    effects = contrasts.arm_effects(in_arms({"trace": [0.0] * 12 + [1.0] * 8, "slots": [1.0] * 20}))
    row = effects.iloc[0]
    assert (row["baseline"], row["treated"], row["estimate"]) == (0.4, 1.0, 0.6)
    assert 0 < row["low"] < 0.6 < row["high"]
    assert "right answers rise by +0.60 [" in contrasts.effect_findings(effects)["text"][0]
    turned = contrasts.arm_effects(in_arms({"trace": [1.0] * 20, "slots": [0.0] * 12 + [1.0] * 8}))
    assert "right answers fall by -0.60 [" in contrasts.effect_findings(turned)["text"][0]
    assert (turned["low"][0], turned["high"][0]) == pytest.approx((-row["high"], -row["low"]))


def test_an_arm_that_can_be_guessed_is_no_effect_of_its_prompt() -> None:
    effects = contrasts.arm_effects(in_arms({"trace": [0.0] * 20, "query": [1.0] * 17 + [0.0] * 3}))
    (text,) = contrasts.effect_findings(effects)["text"]
    assert text.startswith(
        "D3, query instead of trace: no effect of the prompt can be told, since in query a guess is right in 50 % of "
        "cases: "
    )
    (line,) = contrasts.effect_card(effects).to_dict("records")
    assert line["label"] == "change of right answers (in query a guess is right in 50 % of cases)"
    assert line["unit"] == "points"


def test_pairs_with_a_hole_are_counted_and_none_are_nothing() -> None:
    effects = contrasts.arm_effects(in_arms({"trace": [0.0, math.nan], "slots": [math.nan, 1.0]}))
    row = effects.iloc[0]
    assert (row["n"], row["n_unscored"]) == (0, 2)
    assert math.isnan(row["p"])
    assert math.isnan(row["estimate"])
    assert contrasts.effect_findings(effects)["text"].tolist() == [
        "D3, slots instead of trace: nothing is known: no pair of replies could be scored."
    ]


@pytest.mark.parametrize(("theta", "favour"), [(0.1, 0.5), (0.4, 0.8), (0.9, 0.5), (0.02, 1.0)])
def test_the_interval_of_a_difference_holds_the_truth(theta: float, favour: float) -> None:
    """400 simulations of 20 pairs; fewer than 372 hits of 400 at 95 % have a chance below 1 in 20."""
    rng = stream("test", "difference", theta, favour)
    differ = rng.binomial(20, theta, 400)
    only_arm = rng.binomial(differ, favour)
    ends = [contrasts._difference_ends(int(a), int(d), 20) for a, d in zip(only_arm, differ, strict=True)]
    hits = sum(low - 1e-12 <= theta * (2 * favour - 1) <= high + 1e-12 for low, high in ends)
    assert hits >= 372
