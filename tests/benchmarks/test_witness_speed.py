"""How long witnesses take; the bar is 30 ms on average at k = 12 on one core, verification included."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest

from cdct.core import stream
from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.probes.compatibility import HARD_PAIRS, HARD_SETS
from cdct.saturation.probes.draws import draw
from cdct.saturation.probes.witness import build

SETS = 60
IDS = list(CONSTRAINTS)


@lru_cache
def joint_sets(k: int) -> list[list[tuple[str, dict[str, Any]]]]:
    """Compatible sets of k types, uniformly drawn, with parameters drawn together."""
    hard = [*map(frozenset, HARD_PAIRS), *map(frozenset, HARD_SETS)]
    found: list[list[tuple[str, dict[str, Any]]]] = []
    number = 0
    while len(found) < SETS:
        rng = stream("witness speed", k, number)
        number += 1
        ids = [IDS[int(i)] for i in sorted(rng.permutation(len(IDS))[:k])]
        if any(pair <= set(ids) for pair in hard):
            continue
        params = draw(ids, rng)
        if params is not None:
            found.append(list(zip(ids, params, strict=True)))
    return found


@pytest.mark.parametrize("k", [1, 4, 8, 12])
def test_witnesses_of_joint_draws(benchmark: Callable[..., object], k: int) -> None:
    sets = joint_sets(k)
    build(sets[0])  # the lexicon is read once
    times: list[float] = []
    layouts: list[str] = []

    def work() -> None:
        times.clear()
        layouts.clear()
        for chosen in sets:
            start = time.process_time()
            found = build(chosen)
            times.append(time.process_time() - start)
            layouts.append(found.layout if found else "")

    benchmark.pedantic(work, rounds=1, iterations=1)
    benchmark.extra_info |= {
        "sets": SETS,
        "witnessed": sum(map(bool, layouts)),
        "plain": layouts.count("plain"),
        "mean_ms": round(1000 * sum(times) / SETS, 1),
        "most_ms": round(1000 * max(times), 1),
        "bar_mean_ms": 30,
    }
