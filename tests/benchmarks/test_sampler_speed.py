"""How long it takes to draw a compatible set of twelve types: along the layers, and by drawing until one fits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import numpy as np

from cdct.core import stream
from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.probes.draws import draw
from cdct.saturation.probes.hard import HARD_SETS
from cdct.saturation.probes.sampler import count_subsets, inclusion, subsets

K, N = 12, 200


def rejected(n: int, rng: np.random.Generator) -> tuple[list[tuple[str, ...]], int]:
    """`n` sets by naive rejection, and how many were drawn for them."""
    ids, found = list(CONSTRAINTS), []
    for drawn in count(1):
        one = tuple(ids[int(i)] for i in np.sort(rng.permutation(len(ids))[:K]))
        if not any(edge <= set(one) for edge in HARD_SETS):
            found.append(one)
            if len(found) == n:
                return found, drawn
    raise AssertionError


def test_sets_along_the_layers(benchmark: Callable[..., object]) -> None:
    inclusion(K)  # the graph is made once
    found = benchmark(lambda: subsets(K, N, stream("benchmark")))
    assert len(found) == N  # type: ignore[arg-type]


def test_balanced_sets_along_the_layers(benchmark: Callable[..., object]) -> None:
    inclusion(K, "marginal")
    found = benchmark(lambda: subsets(K, N, stream("benchmark"), "marginal"))
    assert len(found) == N  # type: ignore[arg-type]


def test_sets_by_rejection(benchmark: Callable[..., object]) -> None:
    """`extra_info` has the number of sets drawn for one that fits; by exact counts it is 36 over 12 by the pool."""
    found, drawn = rejected(N, stream("benchmark"))
    benchmark.extra_info["drawn_for_one"] = drawn / len(found)  # type: ignore[attr-defined]
    benchmark(lambda: rejected(N, stream("benchmark")))
    assert 1_251_677_700 / count_subsets(K) / 2 < drawn / N < 2 * 1_251_677_700 / count_subsets(K)


def test_joint_parameters(benchmark: Callable[..., object]) -> None:
    """Parameters for 50 balanced sets of twelve types."""
    sets = subsets(K, 50, stream("benchmark"), "marginal")
    benchmark.pedantic(lambda: [draw(ids, stream("benchmark")) for ids in sets], rounds=3)


def test_rejection_of_sets_with_independent_parameters(benchmark: Callable[..., object]) -> None:
    """The paper's way: a set and parameters, drawn again until no rule rejects them. `extra_info`: draws for one."""
    from cdct.saturation.probes.compatibility import conflicts

    def until_it_fits() -> int:
        ids, rng = list(CONSTRAINTS), stream("benchmark")
        for drawn in count(1):
            one = [ids[int(i)] for i in rng.permutation(len(ids))[:K]]
            params = draw(one, rng, mode="independent") or []
            if not conflicts(list(zip(one, params, strict=True))):
                return drawn
        raise AssertionError

    benchmark.extra_info["drawn_for_one"] = benchmark.pedantic(until_it_fits, rounds=3)  # type: ignore[attr-defined]
