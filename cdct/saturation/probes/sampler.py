"""Which types stand in a probe: exact counts of the compatible subsets, and draws from them without rejection.

A subset of types is compatible when it holds no hard set (`cdct.saturation.probes.hard`). All compatible subsets are
the paths of one layered graph: layer by layer a type is skipped or taken, and a state is the hard sets of which all
types so far were taken. Counts, inclusion rates and draws are sums over its paths, so none of them is simulated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from cdct.core import unknown
from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.probes.hard import HARD_SETS

if TYPE_CHECKING:
    from numpy.typing import NDArray

BALANCES = ("uniform", "marginal")
EVEN = 1.001
"""How far apart the largest and the smallest inclusion rate may be when the weights count as fitted."""
ROUNDS = 2000
LEAST_WEIGHT = 1e-9
"""Of the largest; where conflicts keep rates apart, weights would otherwise go to nothing."""
MOST_TYPES = 60
"""With more types the number of their subsets may be too large for 64 bits."""


class Layers:
    """The graph of the compatible subsets of `ids`, for subsets of up to `most` types.

    `skip` and `take` hold, for each layer, the state in the next layer that each state leads to (take: -1 where the
    type would complete a hard set). The arrays of `below` and `above` have shape (states, most + 1): the weight of all
    ways with j types taken, from a state to the end or from the start to a state. With weights of one these are exact
    counts, as long as they stay below 2**63.
    """

    def __init__(self, ids: Sequence[str], hard: Iterable[Collection[str]], most: int) -> None:
        self.ids, self.most = tuple(ids), most
        edges = [frozenset(map(self.ids.index, edge)) for edge in hard if set(edge) <= set(self.ids)]
        self.skip: list[NDArray[np.int64]] = []
        self.take: list[NDArray[np.int64]] = []
        states: dict[frozenset[int], int] = {frozenset(): 0}
        for layer in range(len(self.ids)):
            after: dict[frozenset[int], int] = {}
            skip, take = [], []
            for state in states:
                skip.append(after.setdefault(frozenset(e for e in state if layer not in edges[e]), len(after)))
                begun = {e for e, edge in enumerate(edges) if layer in edge and (e in state or min(edge) == layer)}
                full = any(max(edges[e]) == layer for e in begun)
                taken = frozenset(e for e in state | begun if max(edges[e]) > layer)
                take.append(-1 if full else after.setdefault(taken, len(after)))
            self.skip.append(np.array(skip))
            self.take.append(np.array(take))
            states = after

    def below(self, weights: NDArray) -> list[NDArray]:
        """For each layer and the end: the weight of the ways from each state to the end, by types taken on them."""
        last = np.zeros((max(self.skip[-1].max(), self.take[-1].max()) + 1, self.most + 1), dtype=weights.dtype)
        last[:, 0] = 1
        found = [last]
        for layer in reversed(range(len(self.ids))):
            free, rest = self.take[layer] >= 0, found[-1]
            ways = rest[self.skip[layer]]
            ways[free, 1:] += weights[layer] * rest[self.take[layer][free], :-1]
            found.append(ways)
        return found[::-1]

    def rates(self, weights: NDArray, k: int) -> NDArray:
        """The inclusion rate of each type in subsets of k types drawn with chances in proportion to their weights."""
        below = self.below(weights)
        above = np.zeros_like(below[0])
        above[0, 0] = 1
        found = []
        for layer, (skip, take) in enumerate(zip(self.skip, self.take, strict=True)):
            after, free = np.zeros_like(below[layer + 1]), take >= 0
            np.add.at(after, skip, above)
            taken = weights[layer] * above[free, :k]
            found.append((taken * below[layer + 1][take[free], :k][:, ::-1]).sum())
            np.add.at(after[:, 1:], take[free], weights[layer] * above[free, :-1])
            above = after
        return np.array(found) / below[0][0, k]

    @cached_property
    def ones(self) -> NDArray[np.int64]:
        return np.ones(len(self.ids), dtype=np.int64)


@lru_cache(maxsize=64)
def _layers(ids: tuple[str, ...], hard: frozenset[frozenset[str]], most: int) -> Layers:
    # types of many hard sets first keep the states few; the order decides nothing else
    order = sorted(ids, key=lambda id: (-sum(id in edge for edge in hard), ids.index(id)))
    return Layers(order, sorted(hard, key=sorted), most)


def _checked(k: int, ids: Sequence[str] | None, hard: Iterable[Collection[str]] | None) -> Layers:
    ids = tuple(CONSTRAINTS) if ids is None else tuple(ids)
    if len(set(ids)) < len(ids):
        raise ValueError(f"sampler: the ids must be different, got {list(ids)}")
    if len(ids) > MOST_TYPES:
        raise ValueError(f"sampler: counts are exact for up to {MOST_TYPES} types, got {len(ids)}")
    if not 1 <= k <= len(ids):
        raise ValueError(f"sampler: k must be from 1 to {len(ids)}, the number of types, got {k}")
    return _layers(ids, frozenset(map(frozenset, HARD_SETS if hard is None else hard)), k)


def count_subsets(k: int, ids: Sequence[str] | None = None, hard: Iterable[Collection[str]] | None = None) -> int:
    """How many sets of k types hold no hard set, exactly; `ids` and `hard` are the registry and `HARD_SETS`."""
    layers = _checked(k, ids, hard)
    return int(layers.below(layers.ones)[0][0, k])


def _weights(layers: Layers, k: int, balance: str) -> NDArray:
    if balance not in BALANCES:
        raise ValueError(f"sampler: {unknown('balance', balance, BALANCES)}")
    if not layers.below(layers.ones)[0][0, k]:
        raise ValueError(f"sampler: there is no compatible subset of {k} types")
    return layers.ones if balance == "uniform" else _fitted(layers, k)


@lru_cache(maxsize=64)
def _ways(layers: Layers, k: int, balance: str) -> list[tuple[str, list[int], list[int], list[list], list[list]]]:
    """For each layer its type, where skipping and taking lead, the weight of all ways, and of those that take."""
    weights = _weights(layers, k, balance)
    below = layers.below(weights)
    found = []
    for layer, (id, skip, take) in enumerate(zip(layers.ids, layers.skip, layers.take, strict=True)):
        taking = np.zeros_like(below[layer])
        taking[take >= 0, 1:] = weights[layer] * below[layer + 1][take[take >= 0], :-1]
        found.append((id, skip.tolist(), take.tolist(), below[layer].tolist(), taking.tolist()))
    return found


@lru_cache(maxsize=64)
def _fitted(layers: Layers, k: int) -> NDArray[np.float64]:
    """Weights under which all types are included equally often, as nearly as `ROUNDS` updates bring them there.

    Each update multiplies a weight by the root of wanted over found rate. A type that is in no compatible subset keeps
    its weight. Rounded to six digits, so that they are the same everywhere.
    """
    weights, wanted = layers.ones.astype(float), k / len(layers.ids)
    for _ in range(ROUNDS):
        rates = layers.rates(weights, k)
        there = rates > 0
        if rates[there].max() <= EVEN * rates[there].min():
            break
        weights[there] *= np.sqrt(wanted / rates[there])
        weights = np.maximum(weights / weights[there].max(), LEAST_WEIGHT)
    return np.array([float(f"{weight:.6g}") for weight in weights])


def inclusion(
    k: int, balance: str = "uniform", ids: Sequence[str] | None = None, hard: Iterable[Collection[str]] | None = None
) -> dict[str, float]:
    """For each type the exact rate at which `subsets` includes it in a set of k; the rates add up to k."""
    layers = _checked(k, ids, hard)
    rates = dict(zip(layers.ids, layers.rates(_weights(layers, k, balance).astype(float), k).tolist(), strict=True))
    return {id: rates[id] for id in (CONSTRAINTS if ids is None else ids)}


def subsets(
    k: int,
    n: int,
    rng: np.random.Generator,
    balance: str = "uniform",
    ids: Sequence[str] | None = None,
    hard: Iterable[Collection[str]] | None = None,
) -> list[tuple[str, ...]]:
    """`n` compatible sets of k types, each in the order of the registry, drawn independently and without rejection.

    "uniform": every compatible set with the same chance. "marginal": with chances in proportion to the product of its
    types' weights, which are fitted so that all types are included equally often as far as the conflicts allow.
    """
    layers = _checked(k, ids, hard)
    steps = _ways(layers, k, balance)
    places = {id: place for place, id in enumerate(CONSTRAINTS if ids is None else ids)}
    found = []
    for chances in rng.random((n, len(steps))).tolist():
        state, left, taken = 0, k, []
        for chance, (id, skip, take, ways, taking) in zip(chances, steps, strict=True):
            if chance * ways[state][left] < taking[state][left]:
                taken.append(id)
                state, left = take[state], left - 1
            else:
                state = skip[state]
        found.append(tuple(sorted(taken, key=places.__getitem__)))
    return found
