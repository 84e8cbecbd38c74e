"""The items of the saturation benchmark: k constraints that can hold together, with a text in which they do.

An attempt is drawn from a stream named by seed, k and number, and depends on nothing else: raising `per_k` only adds
items. A set of types is drawn first (`probes.sampler`), then parameters (`probes.draws`), and a witness is built; a set
without one is dropped and counted, and the next attempt takes its place.
"""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from itertools import combinations, count
from typing import Any, NamedTuple

from cdct.core import Item, stream, to_json, unknown
from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.constraints.vocabulary import topics
from cdct.saturation.probes.compatibility import conflicts
from cdct.saturation.probes.draws import draw
from cdct.saturation.probes.hard import HARD_SETS
from cdct.saturation.probes.sampler import BALANCES, count_subsets, subsets
from cdct.saturation.probes.witness import build

VERSION = "cse-v1"
KS = tuple(range(1, 13))
PER_K = 340
TRIES = 3
"""So often parameters are drawn for a set of types, as in the paper (appendix I)."""
LISTED = 1000
"""A pool of at most so many sets is gone through in shuffled passes: no set comes twice before all came once."""
AT_A_TIME = 32


class Attempt(NamedTuple):
    """What became of one attempt: what makes an item, or None; clashing draws, draws without a witness."""

    params: dict[str, Any] | None
    truth: dict[str, Any] | None
    clashes: int
    unwitnessed: int


class Generated(NamedTuple):
    """Items in the order of k, and one row per k of what was tried for them.

    A row: k, items, attempts (sets of types drawn), clashes (draws of parameters that can't hold together), unwitnessed
    (draws without a witness), dropped (sets given up), repeated (items that were there already), plain (items whose
    witness has a plain layout).
    """

    items: list[Item]
    counts: list[dict[str, int]]


def generate(
    seed: int | str = 0,
    k: int | Sequence[int] = KS,
    per_k: int = PER_K,
    balance: str = "marginal",
    draws: str = "joint",
    types: Sequence[str] | None = None,
    processes: int = 1,
) -> list[Item]:
    """`per_k` satisfiable items for each k, in the order of k.

    Args:
        seed: another seed gives other items; their ids name it unless it is 0.
        k: how many constraints, each from 1 to as many as can hold together.
        balance: "marginal" (every type equally often at each k, as far as conflicts allow) or "uniform" (every
            compatible set equally often, as in the paper).
        draws: "joint" (parameters drawn for the set) or "independent" (each from its own range, as in the paper).
        types: ids to draw from; None takes all 36.
        processes: how many work on it; their number changes no item.

    ValueError for a k of which no set exists, and where hardly any attempt succeeds.
    """
    return generated(seed, k, per_k, balance, draws, types, processes).items


def generated(
    seed: int | str = 0,
    k: int | Sequence[int] = KS,
    per_k: int = PER_K,
    balance: str = "marginal",
    draws: str = "joint",
    types: Sequence[str] | None = None,
    processes: int = 1,
) -> Generated:
    """The items of `generate`, and what was tried for them."""
    for one in types or ():
        CONSTRAINTS[one]  # KeyError for one that is not known
    chosen = tuple(one for one in CONSTRAINTS if types is None or one in types)
    ks = sorted({k} if isinstance(k, int) else set(k))
    for name, value in (("per_k", per_k), ("processes", processes), *(("k", one) for one in ks)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"generate: {name} must be a whole number of at least 1, got {value!r}")
    if balance not in BALANCES:
        raise ValueError(f"generate: {unknown('balance', balance, BALANCES)}")
    works = [partial(_attempt, seed, one, balance, draws, chosen) for one in ks]
    for one in ks:
        if one > len(chosen) or not count_subsets(one, chosen):
            raise ValueError(f"generate: no {one} of the {len(chosen)} types can hold together; lower k")
    if processes == 1:
        found = [_collect(seed, one, per_k, map(work, count())) for one, work in zip(ks, works, strict=True)]
    else:
        with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as executor:
            spread = [_spread(executor, work, per_k) for work in works]
            found = [_collect(seed, one, per_k, attempts) for one, attempts in zip(ks, spread, strict=True)]
    return Generated([item for items, _ in found for item in items], [row for _, row in found])


def _spread(executor: ProcessPoolExecutor, work: partial[Attempt], per_k: int) -> Iterator[Attempt]:
    """The attempts in their order, made elsewhere: first as many as are wanted, then a few more at a time."""
    start, size = 0, per_k
    while True:
        yield from executor.map(work, range(start, start + size), chunksize=max(1, min(AT_A_TIME, size // 8)))
        start, size = start + size, AT_A_TIME


def _collect(seed: int | str, k: int, per_k: int, attempts: Iterator[Attempt]) -> tuple[list[Item], dict[str, int]]:
    found: dict[str, Item] = {}
    tally: Counter[str] = Counter()
    for attempt in attempts:
        tally.update(attempts=1, clashes=attempt.clashes, unwitnessed=attempt.unwitnessed)
        if tally["attempts"] > 10 * (len(found) + 100):
            raise ValueError(f"generate: {tally['attempts']} attempts at k = {k} gave {len(found)} items; lower k")
        if attempt.params is None or attempt.truth is None:
            tally["dropped"] += 1
            continue
        content = to_json([attempt.params["topic"], attempt.params["constraints"]])
        if content in found:
            tally["repeated"] += 1
            continue
        index = len(found)
        name = f"{VERSION}/k{k:02d}/{index:03d}" + (f"-s{seed}" if seed else "")
        tally["plain"] += attempt.truth["layout"] == "plain"
        found[content] = Item("cse", name, attempt.params, attempt.truth, {"set": "primary", "index": index})
        if len(found) == per_k:
            break
    names = ("attempts", "clashes", "unwitnessed", "dropped", "repeated", "plain")
    return list(found.values()), {"k": k, "items": len(found)} | {name: tally[name] for name in names}


def _attempt(seed: int | str, k: int, balance: str, draws: str, types: tuple[str, ...], number: int) -> Attempt:
    rng = stream("cse", "items", seed, k, balance, draws, number, *types)
    ids, topic = _types(seed, k, balance, types, number, rng)
    clashes = unwitnessed = 0
    for _ in range(TRIES):
        drawn = draw(ids, rng, topic, draws)
        chosen = [] if drawn is None else list(zip(ids, drawn, strict=True))
        if not chosen or conflicts(chosen):
            clashes += 1
            continue
        witness = build(chosen, topic, seed=int(rng.integers(2**31)))
        if witness is None:
            unwitnessed += 1
            continue
        order = [chosen[int(i)] for i in rng.permutation(k)]
        params = {"k": k, "topic": topic, "constraints": [{"id": id, "params": own} for id, own in order], "seed": seed}
        truth = {"kind": "satisfiable", "witness": witness.text, "layout": witness.layout}
        return Attempt(params, truth, clashes, unwitnessed)
    return Attempt(None, None, clashes, unwitnessed)


def _types(
    seed: int | str, k: int, balance: str, types: tuple[str, ...], number: int, rng: Any
) -> tuple[tuple[str, ...], str]:
    """The types of an attempt and its topic; of a small pool, another topic in each pass."""
    names = list(topics())
    size = count_subsets(k, types)
    if size > LISTED:
        (ids,) = subsets(k, 1, rng, balance, types)
        return ids, names[int(rng.integers(len(names)))]
    passes, place = divmod(number, size)
    at = int(stream("cse", "pass", seed, k, passes, *types).permutation(size)[place])
    return _pool(k, types)[at], names[(at + passes) % len(names)]


@lru_cache
def _pool(k: int, types: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [ids for ids in combinations(types, k) if not any(map(set(ids).issuperset, HARD_SETS))]
