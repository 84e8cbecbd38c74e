"""Exact counts, inclusion rates and draws of compatible sets, against brute force and a second algorithm."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from functools import cache
from itertools import combinations
from math import comb, prod

import numpy as np
import pytest
from scipy import stats

from cdct.core import stream
from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.probes.hard import HARD_PAIRS, HARD_SETS
from cdct.saturation.probes.sampler import (
    BALANCES,
    MOST_TYPES,
    Layers,
    _fitted,
    _layers,
    count_subsets,
    inclusion,
    subsets,
)

IDS = tuple(CONSTRAINTS)
SMALL = ("S2", "S6", "L3", "L4", "R4", "M1", "W1", "O1", "O3", "N1", "N2")
WORLDS = {
    "small": (SMALL, HARD_SETS),
    "triangle": (tuple("abcde"), [{"a", "b"}, {"b", "c"}, {"a", "c"}]),
    "large edges": (tuple("abcdefg"), [{"a", "c", "e"}, {"b", "c", "d", "f"}, {"g", "a"}, {"e"}]),
    "free": (tuple("abcd"), []),
}


def allowed(ids: tuple[str, ...], hard: object, k: int) -> list[tuple[str, ...]]:
    return [one for one in combinations(ids, k) if not any(set(edge) <= set(one) for edge in hard)]  # type: ignore[attr-defined]


# --------------------------------------------------------------------------------------------------------------- counts


@pytest.mark.parametrize("k", range(1, 6))
def test_counts_are_those_of_brute_force(k: int) -> None:
    """All 36 types, up to 376,992 subsets: as bits, each against every hard set."""
    masks = np.array([sum(1 << i for i in one) for one in combinations(range(len(IDS)), k)], dtype=np.int64)
    good = np.ones(len(masks), dtype=bool)
    for edge in HARD_SETS:
        mask = sum(1 << IDS.index(id) for id in edge)
        good &= (masks & mask) != mask
    assert count_subsets(k) == good.sum()


@pytest.mark.parametrize("world", WORLDS)
def test_counts_of_small_worlds(world: str) -> None:
    ids, hard = WORLDS[world]
    for k in range(1, len(ids) + 1):
        assert count_subsets(k, ids, hard) == len(allowed(ids, hard, k))


@cache
def polynomial(edges: frozenset[frozenset[str]]) -> tuple[int, ...]:
    """Coefficients: how many sets of k of the edges' nodes hold no edge. By taking or leaving one node at a time.

    An independent second way: it knows no order of layers, and multiplies what has no edge in common.
    """
    if frozenset() in edges:
        return ()
    if not edges:
        return (1,)
    nodes = Counter(node for edge in sorted(edges, key=sorted) for node in sorted(edge))
    part, rest = set(min(edges, key=sorted)), set(edges)
    while near := {edge for edge in rest if edge & part}:
        part, rest = part.union(*near), rest - near
    if rest:
        return tuple(map(round, np.convolve(polynomial(edges - rest), polynomial(frozenset(rest)))))
    node = max(sorted(nodes), key=nodes.__getitem__)
    without = frozenset(edge for edge in edges if node not in edge)
    taken = minimal(frozenset(edge - {node} for edge in edges))
    others = set(nodes) - {node}
    left = padded(without, others)
    right = padded(taken, others) if frozenset() not in taken else ()
    return tuple(a + b for a, b in zip([*left, 0], [0, *right] + [0] * (len(left) - len(right)), strict=True))


def minimal(edges: frozenset[frozenset[str]]) -> frozenset[frozenset[str]]:
    return frozenset(edge for edge in edges if not any(other < edge for other in edges))


def padded(edges: frozenset[frozenset[str]], nodes: set[str]) -> tuple[int, ...]:
    """The polynomial of these edges over all the nodes: those that stand in no edge are free to be taken."""
    free = len(nodes) - len(frozenset().union(*edges))
    binomials = [comb(free, k) for k in range(free + 1)]
    return tuple(sum(a * b for a, b in pairs) for pairs in _products(polynomial(edges), binomials))


def _products(one: tuple[int, ...], other: list[int]) -> list[list[tuple[int, int]]]:
    size = len(one) + len(other) - 1
    return [[(one[i], other[k - i]) for i in range(len(one)) if 0 <= k - i < len(other)] for k in range(size)]


def test_counts_are_those_of_a_second_algorithm() -> None:
    expected = padded(HARD_SETS, set(IDS))
    assert [count_subsets(k) for k in range(1, 13)] == list(expected[1:13])
    assert [count_subsets(k, hard=HARD_PAIRS) for k in range(1, 13)] == list(padded(HARD_PAIRS, set(IDS))[1:13])


def test_larger_conflicts_count_too() -> None:
    assert count_subsets(2) == comb(36, 2) - len(HARD_PAIRS)
    assert count_subsets(12) < count_subsets(12, hard=HARD_PAIRS) < comb(36, 12)


# ------------------------------------------------------------------------------------------------------------ inclusion


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("balance", BALANCES)
def test_inclusion_is_exact(world: str, balance: str) -> None:
    """Under the weights that were fitted, every set has a chance in proportion to the product of its types' weights."""
    ids, hard = WORLDS[world]
    for k in (1, 2, 3):
        sets = allowed(ids, hard, k)
        if not sets:
            continue
        layers = _layers(ids, frozenset(map(frozenset, hard)), k)
        weights = dict(zip(layers.ids, _fitted(layers, k) if balance == "marginal" else layers.ones, strict=True))
        chances = [prod(weights[id] for id in one) for one in sets]
        for id, rate in inclusion(k, balance, ids, hard).items():
            expected = sum(chance for chance, one in zip(chances, sets, strict=True) if id in one) / sum(chances)
            assert rate == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("k", range(1, 13))
def test_marginal_balance_evens_inclusion_out(k: int) -> None:
    uniform, even = inclusion(k), inclusion(k, "marginal")
    assert list(uniform) == list(even) == list(IDS)
    assert sum(uniform.values()) == pytest.approx(k)
    assert sum(even.values()) == pytest.approx(k)
    assert max(even.values()) <= 1.01 * min(even.values())
    assert max(uniform.values()) / min(uniform.values()) <= 4.5


def test_uniform_draws_at_k_12_include_some_types_four_times_as_often_as_others() -> None:
    rates = inclusion(12)
    assert min(rates, key=rates.__getitem__) == "N2"
    assert max(rates.values()) / min(rates.values()) == pytest.approx(4.2254, abs=0.001)


def test_what_cannot_be_even_is_as_even_as_it_can_be() -> None:
    hard = [{"a", "b"}, {"a", "c"}, {"a", "d"}, {"e"}]
    rates = inclusion(2, "marginal", tuple("abcde"), hard)
    assert rates["e"] == 0.0
    assert rates["a"] == pytest.approx(0.0, abs=1e-9)
    assert rates["b"] == pytest.approx(rates["c"]) == pytest.approx(2 / 3)


# ---------------------------------------------------------------------------------------------------------------- draws


@pytest.mark.parametrize("balance", BALANCES)
def test_draws_are_compatible_and_in_order(balance: str) -> None:
    for k in (1, 4, 12):
        for ids in subsets(k, 50, stream("sampler", k), balance):
            assert len(ids) == k
            assert list(ids) == [id for id in IDS if id in ids]
            assert not any(edge <= set(ids) for edge in HARD_SETS)


@pytest.mark.parametrize("balance", BALANCES)
@pytest.mark.parametrize("world", ["small", "large edges"])
def test_every_set_is_drawn_as_often_as_its_weight_says(world: str, balance: str) -> None:
    ids, hard = WORLDS[world]
    k, n = 3, 20_000
    sets = allowed(ids, hard, k)
    layers = _layers(ids, frozenset(map(frozenset, hard)), k)
    weights = dict(zip(layers.ids, _fitted(layers, k) if balance == "marginal" else layers.ones, strict=True))
    chances = np.array([prod(weights[id] for id in one) for one in sets], dtype=float)
    drawn = Counter(subsets(k, n, stream("law", world), balance, ids, hard))
    assert set(drawn) <= set(sets)
    found = stats.chisquare([drawn[one] for one in sets], n * chances / chances.sum())
    assert found.pvalue > 1e-3


def dependence(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Inclusion rates and the exact covariance of inclusion of two types in uniform sets of k, in the layers' order."""
    layers: Layers = _layers(IDS, HARD_SETS, k)
    total, ones = count_subsets(k), layers.ones.astype(float)
    single = layers.rates(ones, k) * total
    both = np.empty((len(IDS), len(IDS)))
    for i in range(len(IDS)):
        twice = ones.copy()
        twice[i] = 2  # sets with type i count twice, which tells how many of a type's sets have it
        weighed = layers.rates(twice, k) * (total + single[i])
        both[i] = weighed - single
        both[i, i] = single[i]
    rates = single / total
    return rates, both / total - np.outer(rates, rates)


@pytest.mark.parametrize("k", [3, 12])
def test_uniform_draws_pass_a_chi_square_test_of_dependent_counts(k: int) -> None:
    """Inclusion counts depend on each other: they add up to n k, and types in conflict shun each other.

    With their exact covariance C the statistic (x - n p)' C⁺ (x - n p) / n has a chi-square law with the rank of C as
    degrees of freedom. Draws that are balanced, so not uniform, do not pass.
    """
    n = 4000
    rates, covariance = dependence(k)
    order = _layers(IDS, HARD_SETS, k).ids
    inverse = np.linalg.pinv(covariance, rcond=1e-9, hermitian=True)
    rank = np.linalg.matrix_rank(covariance, tol=1e-9, hermitian=True)
    assert rank == len(IDS) - 1
    p = {}
    for balance in BALANCES:
        drawn = Counter(id for ids in subsets(k, n, stream("chi-square", k), balance) for id in ids)
        off = np.array([drawn[id] for id in order]) - n * rates
        p[balance] = stats.chi2.sf(off @ inverse @ off / n, rank)
    assert 1e-3 < p["uniform"] < 1 - 1e-3
    assert p["marginal"] < 1e-3


def test_the_covariance_is_that_of_all_sets() -> None:
    rates, covariance = dependence(2)
    order = _layers(IDS, HARD_SETS, 2).ids
    sets = allowed(IDS, HARD_SETS, 2)
    there = np.array([[id in one for id in order] for one in sets], dtype=float)
    np.testing.assert_allclose(there.mean(axis=0), rates, atol=1e-12)
    np.testing.assert_allclose(np.cov(there.T, bias=True), covariance, atol=1e-12)


def test_same_seed_same_sets_under_any_hash_seed() -> None:
    code = (
        "from cdct.core import stream\nfrom cdct.saturation.probes.sampler import subsets\n"
        "import sys\nsys.stdout.write(repr([subsets(12, 5, stream('x'), b) for b in ('uniform', 'marginal')]))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "31337")
    }
    here = repr([subsets(12, 5, stream("x"), balance) for balance in ("uniform", "marginal")])
    assert found == {here}
    assert here != repr([subsets(12, 5, stream("y"), balance) for balance in ("uniform", "marginal")])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: count_subsets(0), "sampler: k must be from 1 to 36, the number of types, got 0"),
        (lambda: count_subsets(3, ("a", "b")), "sampler: k must be from 1 to 2, the number of types, got 3"),
        (lambda: count_subsets(1, ("a", "a")), r"sampler: the ids must be different, got \['a', 'a'\]"),
        (lambda: count_subsets(1, range(61)), f"sampler: counts are exact for up to {MOST_TYPES} types, got 61"),
        (lambda: inclusion(2, "margin"), "sampler: balance 'margin' is not known; did you mean 'marginal'"),
        (
            lambda: subsets(2, 1, stream("x"), ids=("N1", "N2")),
            "sampler: there is no compatible subset of 2 types",
        ),
    ],
)
def test_errors(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
