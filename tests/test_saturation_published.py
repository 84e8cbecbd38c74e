"""The CSE paper's numbers: what was read is what was printed, and recomputing them gives what it should."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from saturation_worlds import rates, world

from cdct.saturation import CONSTRAINTS, DIMENSIONS, published
from cdct.saturation.claims import overall, published_claims
from cdct.saturation.controls import terciles
from cdct.saturation.failures import failure_classes, first_violation
from cdct.saturation.profiles import PROFILE, profiles, related, slope_by_dimension, slope_ratio
from cdct.saturation.rates import RATE_COLUMNS

TABLES = list(published.DOUBTS)


@pytest.fixture(scope="module")
def claims() -> pd.Series:
    table = published_claims()
    assert not table["claim"].duplicated().any()
    return table.set_index("claim")["recomputed"]


# ----------------------------------------------------------------------------------------------------------- as printed


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_the_columns_of_an_estimate_on_0_to_1(name: str) -> None:
    table = getattr(published, name)()
    assert len(table)
    if name not in ("published_profiles", "published_pool"):
        assert {"estimate", "low", "high", "n", "n_unscored", "method"} <= set(table)
        if name not in ("published_k_star", "published_interventions"):
            assert table["estimate"].dropna().between(0, 1).all()
    assert not table.duplicated().any()
    assert published.published_doubts().set_index("table")["doubt"][name]


def test_every_table_of_models_has_the_same_fifteen() -> None:
    names = set(published.published_rates()["model"])
    assert len(names) == 15
    for name in TABLES:
        table = getattr(published, name)()
        if "model" in table:
            assert set(table["model"]) - {published.MEAN} <= names, name
    assert set(published.published_decay()["model"]) == names
    assert set(published.answered().index) == names


def test_constraints_are_those_of_the_registry() -> None:
    for name in ("published_profiles", "published_heatmap", "published_survival", "published_sacrifice"):
        table = getattr(published, name)()
        assert set(table["constraint"]) <= set(CONSTRAINTS), name
    table = published.published_profiles()
    assert list(table.columns) == PROFILE
    assert set(table["constraint"]) == set(CONSTRAINTS)
    assert (table["dimension"] == [CONSTRAINTS[id].dimension for id in table["constraint"]]).all()
    assert set(table["dimension"]) == set(DIMENSIONS.values())


CELLS = [
    ("published_rates", {"model": "GPT-5.5", "metric": "sCSR"}, "estimate", 0.642),
    ("published_rates", {"model": "Kimi K2.6", "metric": "score"}, "estimate", 0.353),
    ("published_k_star", {"model": "GPT-5.5"}, "estimate", 7),
    ("published_tags", {"model": "Gemini 3.1 Pro"}, "estimate", 0.469),
    ("published_tags", {"model": "GPT-5.5"}, "low", 0.9),
    ("published_curves", {"model": "Claude 4.7 Opus", "k": 3, "metric": "mCSR"}, "estimate", 0.848),
    ("published_curves", {"model": published.MEAN, "k": 8, "metric": "sCSR"}, "estimate", 0.057),
    ("published_curves", {"model": published.MEAN, "k": 9, "metric": "sCSR"}, "estimate", math.exp(-0.376 * 9) + 0.003),
    ("published_profiles", {"constraint": "L1"}, "slope_retention", -0.052),
    ("published_profiles", {"constraint": "L1"}, "slope_absolute", -0.008),
    ("published_profiles", {"constraint": "S1"}, "t_half", 5),
    ("published_profiles", {"constraint": "R1"}, "t_half", math.inf),
    ("published_classes", {"model": "GPT-5.2", "class": "refusal"}, "count", 443),
    ("published_classes", {"model": "GPT-5.2", "class": "refusal"}, "estimate", 443 / 493),
    ("published_first_violations", {"model": "GPT-5.4 Pro"}, "estimate", 0.439),
    ("published_rankings", {"model": "Gemini 3.1 Pro", "metric": "mCSR"}, "rank", 11),
    ("published_rankings", {"model": "Gemini 3.1 Pro", "metric": "geometric"}, "rank", 4),
    ("published_pool", {"k": 6}, "combinations", math.comb(36, 6)),
    ("published_survival", {"constraint": "L5", "metric": "mCSR"}, "estimate", 0.927),
    ("published_survival", {"constraint": "L3", "metric": "mCSR"}, "n", 1228),
    ("published_heatmap", {"constraint": "S1", "model": "GPT-5.5"}, "estimate", 0.75),
    ("published_sacrifice", {"pair": "N1 vs N2", "constraint": "N2"}, "count", 41),
    ("published_interventions", {"intervention": "Best-of-5", "model": "GPT-5.2"}, "estimate", 0.22),
    ("published_interventions", {"intervention": "Planning", "model": "GPT-5.5"}, "estimate", 0.021),
]


@pytest.mark.parametrize(("name", "where", "column", "value"), CELLS)
def test_a_cell_is_what_was_printed(name: str, where: dict[str, object], column: str, value: float) -> None:
    table = getattr(published, name)()
    for key, one in where.items():
        table = table[table[key] == one]
    assert table[column].item() == pytest.approx(value)


def test_sizes_of_tables() -> None:
    sizes = {name: len(getattr(published, name)()) for name in TABLES}
    assert sizes["published_heatmap"] == 540
    assert sizes["published_curves"] == 15 * 12 + 2 * 12
    assert sizes["published_rates"] == sizes["published_rankings"] == 45
    assert sizes["published_survival"] == 72
    assert published.published_survival()["estimate"].isna().sum() == 2


def test_a_heat_map_agrees_with_the_profiles_and_the_models() -> None:
    """Its rows average to Table 2, its columns to Table 1, within rounding and weights."""
    table = published.published_heatmap()
    rows = table.groupby("constraint")["estimate"].mean()
    printed = published.published_profiles().set_index("constraint")["mCSR"]
    assert (rows - printed).abs().max() < 0.01
    rates = published.published_rates()
    models = rates[rates["metric"] == "mCSR"].set_index("model")["estimate"]
    assert (table.groupby("model")["estimate"].mean() - models).abs().max() < 0.014


def test_the_columns_are_those_of_a_run() -> None:
    table = world("columns", [rates(lambda id, k: 0.8, [1, 2, 3])], [1, 2, 3], 60)
    assert set(published.published_profiles()) == set(profiles(table))
    assert set(terciles(table)) > {"model", "k", "tercile", *RATE_COLUMNS}
    found = pd.DataFrame({"model": ["m"], "item": ["a"], "class": ["genuine"], "place": [0.2]})
    assert {"model", "class", "count", "estimate", "n"} <= set(failure_classes(found)) & set(
        published.published_classes()
    )
    assert {"model", "measure", "estimate"} <= set(first_violation(found)) & set(published.published_first_violations())


# ----------------------------------------------------------------------------------------------------------- recomputed

# claim, what an independent recomputation of the printed tables gave, how near it must come
RECOMPUTED = [
    ("geometric means: largest deviation of 15", 0.00047, 5e-4),
    ("mCSR of all checks", 0.4281, 5e-4),
    ("mCSR of satisfiable checks", 0.4539, 5e-4),
    ("slope of structural constraints", -0.0731, 5e-4),
    ("slope of lexical constraints", -0.0363, 5e-4),
    ("structural over lexical slope (relative)", 2.01, 0.05),
    ("structural over lexical slope (retention)", 1.59, 0.05),
    ("rho of gap and slope (retention)", -0.596, 5e-3),
    ("rho of k1 and slope (retention)", 0.56, 5e-3),
    ("rho of gap and slope (absolute)", 0.10, 5e-3),
    ("rho of k1 and slope (absolute)", -0.63, 6e-3),
    ("rate at k = 1, easy third", 0.938, 5e-3),
    ("rate at k = 1, hard third", 0.44, 5e-3),
    ("checks of Table 12", 54417, 0),
    ("mCSR of impossible probes", 0.283, 5e-4),
    ("sets of 12 of 36", 1251677700, 0),
    ("retention of L1 from k = 8", 0.957, 5e-4),
    ("retention of L5 from k = 8", 0.892, 5e-4),
    ("retention of W4 from k = 8", 0.857, 5e-4),
    ("floor from immune constraints", 0.396, 5e-4),
    ("p of difficulty over 12 k", 0.858, 5e-4),
    ("meta failures of L1", 210, 0),
    ("a of the mean of 15 models", 0.7199, 5e-4),
    ("r of the mean of 15 models", 0.9216, 5e-4),
    ("held-out error of the mean", 0.00238, 5e-4),
    ("held-out error of a model", 0.065, 5e-4),
    ("models above their forecast at k = 12", 7, 0),
    ("a of the fit with a floor", 0.782, 1e-3),
    ("b of the fit with a floor", 0.0821, 5e-4),
    ("floor of the mean", 0.0, 1e-6),
    ("floor, mean of 12 leave-one-out fits", 0.0078, 5e-4),
    ("floor, deviation of these", 0.0270, 5e-4),
    ("floor without k = 1", 0.0937, 5e-4),
]


@pytest.mark.parametrize(("claim", "value", "near"), RECOMPUTED)
def test_a_claim_recomputed(claims: pd.Series, claim: str, value: float, near: float) -> None:
    assert claims[claim] == pytest.approx(value, abs=near or 1e-9)


def test_the_fifteen_decay_factors(claims: pd.Series) -> None:
    printed = published.published_decay().set_index("model")["estimate"]
    apart = {model: abs(claims[f"r of {model}"] - r) for model, r in printed.items()}
    assert len(apart) == 15
    assert max(apart.values()) <= 0.0007


def test_what_the_printed_number_is_an_average_of() -> None:
    found = overall()
    assert round(found["all"], 3) == 0.428
    assert found["satisfiable"] - found["all"] > 0.025


def test_the_paper_s_relations_hang_on_the_definition_of_a_slope() -> None:
    table = published.published_profiles()
    found = {name: related(table, name).set_index(["with", "given"]) for name in ("retention", "absolute")}
    assert found["retention"].loc[("gap", ""), "p"] == pytest.approx(1.3e-4, abs=2e-5)
    assert found["retention"].loc[("gap", ""), ["low", "high"]].tolist() == pytest.approx([-0.784, -0.306], abs=1e-3)
    assert found["retention"].loc[("gap", "k1"), "estimate"] == pytest.approx(-0.45, abs=5e-3)
    assert found["retention"].loc[("gap", "mCSR"), "estimate"] == pytest.approx(-0.28, abs=5e-3)
    assert found["retention"].loc[("mCSR", ""), "estimate"] == pytest.approx(0.81, abs=5e-3)
    assert found["absolute"].loc[("gap", ""), "estimate"] > 0


def test_twelve_constraints_carry_the_ratio() -> None:
    row = slope_ratio(published.published_profiles()).iloc[0]
    assert row["n"] == 12
    assert (row["low"], row["high"]) == (pytest.approx(1.19, abs=0.01), pytest.approx(5.88, abs=0.01))
    order = slope_by_dimension(published.published_profiles(), "retention")["dimension"].tolist()
    assert order.index("relational") > 3  # the text calls it the fastest
    assert np.isfinite(slope_by_dimension(published.published_profiles())[["low", "high"]]).all(axis=None)
