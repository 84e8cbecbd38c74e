"""How long the decay statistics take; the bar is 1 s on one core for 2,000 bootstraps of all 15 published cells."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from cdct.core import read_table, stream
from cdct.stats.decay import fit_many
from cdct.stats.rivals import compare_forms, fit_gamma
from cdct.stats.survival import hazards, implied_p, survival

CELL = ["domain", "model"]


@pytest.fixture
def counts() -> pd.DataFrame:
    table = read_table("data/published/ccb_t8_t10_depth_counts.csv")
    return table.rename(columns={"depth_N": "depth", "n_trials": "n"})


def test_2000_bootstraps_of_15_published_cells(benchmark: Callable[..., object], counts: pd.DataFrame) -> None:
    benchmark.pedantic(fit_many, (counts, CELL), {"draws": 2000}, rounds=5, warmup_rounds=1)
    benchmark.extra_info["bar_in_seconds"] = 1


@pytest.mark.parametrize("work", [compare_forms, fit_gamma], ids=lambda work: work.__name__)
def test_rival_forms_of_15_published_cells(
    benchmark: Callable[..., object], counts: pd.DataFrame, work: Callable[..., pd.DataFrame]
) -> None:
    benchmark.pedantic(work, (counts, CELL), rounds=3, warmup_rounds=1)


@pytest.mark.parametrize("work", [hazards, survival, implied_p], ids=lambda work: work.__name__)
def test_survival_of_6000_trials(benchmark: Callable[..., object], work: Callable[..., pd.DataFrame]) -> None:
    """15 cells of 400 trials, as in the paper."""
    rng = stream("benchmark", "survival")
    depth = np.tile(np.repeat(np.arange(5, 51, 5), 40), 15)
    first = rng.geometric(0.08, len(depth))
    cell = np.repeat(np.arange(15), 400)
    rows = pd.DataFrame({"cell": cell, "depth": depth, "k_star": np.where(first <= depth, first, -1)})
    benchmark.pedantic(work, (rows, ["cell"]), rounds=3, warmup_rounds=1)
