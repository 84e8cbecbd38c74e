"""The split of variance: the analysis of variance by hand and by statsmodels, holes, planted truth."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from cdct.core import stream
from cdct.stats.variance import variance_split


def table(seed: int, models: int, concepts: int, parts: tuple[float, float, float]) -> pd.DataFrame:
    """A whole table of normal effects with these variances."""
    rng = stream("test", "variance", seed)
    model, concept = np.repeat(np.arange(models), concepts), np.tile(np.arange(concepts), models)
    sizes = np.sqrt(parts)
    value = sizes[0] * rng.normal(size=models)[model] + sizes[1] * rng.normal(size=concepts)[concept]
    return pd.DataFrame({"value": value + sizes[2] * rng.normal(size=len(model)), "model": model, "concept": concept})


def split(frame: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    return variance_split(frame["value"], frame["model"], frame["concept"], seed=seed)


def test_a_table_by_hand() -> None:
    # means of models 1.5 and 5.5, of concepts 2 and 5, of all 3.5; what is left is 1 in every cell:
    # mean squares 16, 9 and 4, hence rest 4, model (16 - 4) / 2, concept (9 - 4) / 2
    found = variance_split([1, 2, 3, 8], list("aabb"), list("xyxy"))
    assert found.columns.tolist() == [
        "component", "estimate", "raw", "share", "low", "high", "n", "n_missing", "method",
    ]  # fmt: skip
    assert found["component"].tolist() == ["model", "concept", "rest"]
    assert found["estimate"].tolist() == pytest.approx([6, 2.5, 4])
    assert found["share"].tolist() == pytest.approx([6 / 12.5, 2.5 / 12.5, 4 / 12.5])
    assert set(found["n"]) == {4}
    assert set(found["method"]) == {"moments, generalised interval, 2 models x 2 concepts"}
    assert ((found["low"] <= found["share"]) & (found["share"] <= found["high"])).all()


def test_a_negative_component_is_shown_as_nothing_and_kept() -> None:
    # models do not differ at all: mean square 0, raw component (0 - 4) / 2
    found = variance_split([1, 4, 4, 1], list("aabb"), list("xyxy"))
    assert found["raw"].tolist() == pytest.approx([-4.5, -4.5, 9])
    assert found["estimate"].tolist() == pytest.approx([0, 0, 9])
    assert found["share"].tolist() == pytest.approx([0, 0, 1])


@pytest.mark.parametrize("holes", [0, 7])
def test_the_mean_squares_are_those_of_statsmodels(holes: int) -> None:
    frame = table(1, 6, 8, (0.3, 0.3, 0.4))
    frame.loc[stream("test", "holes").choice(48, holes, replace=False), "value"] = np.nan
    found = split(frame)
    anova = anova_lm(ols("value ~ C(model) + C(concept)", frame.dropna()).fit(), typ=2)
    n = 48 - holes
    rest = anova.loc["Residual", "sum_sq"] / (n - 13)
    model = (anova.loc["C(model)", "sum_sq"] - 5 * rest) / (n - 8)
    concept = (anova.loc["C(concept)", "sum_sq"] - 7 * rest) / (n - 6)
    assert found["raw"].tolist() == pytest.approx([model, concept, rest])
    assert (set(found["n"]), set(found["n_missing"])) == ({n}, {holes})
    # a row that is not there is as missing as one without a value
    pd.testing.assert_frame_equal(found, split(frame.dropna()))


def test_the_wording_and_order_of_names_do_not_matter() -> None:
    frame = table(2, 5, 8, (0.5, 0.2, 0.3))
    mixed = frame.sample(frac=1, random_state=3).assign(model=lambda rows: "m" + rows["model"].astype(str))
    columns = ["estimate", "share", "low", "high"]
    assert split(mixed)[columns].to_numpy() == pytest.approx(split(frame)[columns].to_numpy())
    assert split(frame, seed=1)["low"].tolist() != split(frame)["low"].tolist()
    scaled = split(frame.assign(value=10 * frame["value"] + 3))
    assert scaled["estimate"].to_numpy() == pytest.approx(100 * split(frame)["estimate"].to_numpy())
    assert scaled[["share", "low", "high"]].to_numpy() == pytest.approx(
        split(frame)[["share", "low", "high"]].to_numpy()
    )


@pytest.mark.parametrize(
    ("values", "models", "concepts", "reasons", "rest"),
    [
        ([], [], [], ["no data"] * 3, math.nan),
        ([1], ["a"], ["x"], ["one value: nothing varies"] * 3, math.nan),
        (
            [1, 2, 3], list("aaa"), list("xyz"),
            ["one model: models can't differ", "one model: not told from the rest", "concept and rest together"], 1.0,
        ),
        (
            [1, 2, 3], list("abc"), list("xxx"),
            ["one concept: not told from the rest", "one concept: concepts can't differ", "model and rest together"],
            1.0,
        ),
        (
            [1, 2, math.nan, 4], list("aabb"), list("xyxy"),
            ["too few cells are filled to tell three components apart"] * 3, math.nan,
        ),
        # two tables that share no model and no concept
        (
            [1, 2, 3, 8, 2, 3, 1, 7], list("aabbccdd"), list("xyxyzwzw"),
            ["too few cells are filled to tell three components apart"] * 3, math.nan,
        ),
        ([1, 2, 3, 4], list("aabb"), list("xyxy"), ["nothing is left for the rest: no interval"] * 3, 0.0),
        ([2, 2, 2, 2], list("aabb"), list("xyxy"), ["no spread: no shares"] * 3, 0.0),
    ],
)  # fmt: skip
def test_tables_that_say_little(
    values: list[float], models: list[str], concepts: list[str], reasons: list[str], rest: float
) -> None:
    found = variance_split(values, models, concepts)
    assert found["method"].tolist() == reasons
    assert found[["low", "high"]].isna().all(axis=None)
    assert found["estimate"].iloc[2] == pytest.approx(rest, abs=1e-12, nan_ok=True)
    assert found["n"].iloc[0] == sum(value == value for value in values)


def test_two_values_in_a_cell_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^variance_split: \{'model': 'a', 'concept': 'x'\} has two values; take their"
    ):
        variance_split([1, 2, 3], ["a", "a", "b"], ["x", "x", "x"])


@pytest.mark.parametrize("holes", [0, 12])
def test_planted_variances_are_found(holes: int) -> None:
    truth, raw, hits = np.array([0.2, 0.3, 0.5]), [], np.zeros(3)
    for run in range(150):
        frame = table(100 + run, 9, 8, tuple(truth))
        frame = frame.drop(index=stream("test", "holes", run).choice(72, holes, replace=False))
        found = split(frame)
        raw.append(found["raw"].to_numpy())
        hits += ((found["low"] <= truth) & (truth <= found["high"])).to_numpy()
    assert np.mean(raw, axis=0) == pytest.approx(truth, abs=0.05)
    assert (hits / 150 >= 0.9).all(), hits
