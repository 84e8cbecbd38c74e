"""The items of the ceiling benchmark: a start, N operations, and every state that they lead through.

An item is drawn from a stream named by seed, domain, depth and index: no other item, depth or domain moves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from cdct.ceiling.domains import DOMAINS, Domain, Operation, State, alliances
from cdct.core import Item, stream, unknown
from cdct.frozen import read_frozen, write_frozen

VERSION = "ccb-v1"
DEPTHS = tuple(range(5, 51, 5))
TRIALS = 40
FROZEN = f"data/items/{VERSION}.jsonl.gz"
FROZEN_DOMAINS = ("D1", "D2", "D3", "D3-churn")
"""The domains of the frozen set: a further one makes no other set under the same name."""
RELATIONAL = tuple(domain.name for domain in alliances.DOMAINS)
"""The domains whose state is a list of relations: D3's arms are theirs, and one pair can be asked for."""


def generate(
    seed: int = 0,
    domain: str | Sequence[str] | None = None,
    depths: Sequence[int] = DEPTHS,
    trials: int = TRIALS,
) -> list[Item]:
    """`trials` items per domain and depth, in the order of domains, depths (rising) and trials.

    Args:
        seed: another seed gives other items; their ids name it unless it is 0.
        domain: a name or several; None takes all. What is named twice comes once.
        depths: numbers of operations, of any size from 1 on.
        trials: how many per domain and depth; raising it only adds items.

    An item's truth: `start` (state 0), `operations`, `states` (after operation 1, 2, ..., N), `answer` (the last one),
    `changed` (whether each operation changed the state) and `effective_depth` (how many did); where the state is a list
    of relations also `query`, one pair of its answer. ValueError for an unknown domain or a depth below 1.
    """
    names = list(DOMAINS) if domain is None else [domain] if isinstance(domain, str) else list(dict.fromkeys(domain))
    for name in names:
        if name not in DOMAINS:
            raise ValueError(unknown("domain", name, DOMAINS))
    for what, value in (("trials", trials), *(("a depth", depth) for depth in depths)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{what} must be a whole number of at least 1, got {value!r}")
    return [
        _item(DOMAINS[name], depth, index, seed)
        for name in names
        for depth in sorted(set(depths))
        for index in range(trials)
    ]


def _item(domain: Domain, depth: int, index: int, seed: int) -> Item:
    rng = stream("ccb", "items", seed, domain.name, depth, index)
    start = state = domain.start(rng)
    operations = []
    for _ in range(depth):
        operations.append(domain.draw(state, rng))
        state = domain.apply(state, operations[-1])
    name = f"n{depth:02d}/{index:03d}" + (f"-s{seed}" if seed else "")
    return _worked(domain, name, {"depth": depth, "index": index, "seed": seed}, start, operations)


def example(domain: Domain) -> Item:
    """The item that every prompt of a domain shows with its right reply; its id is no other item's."""
    start, operations = domain.example
    return _worked(domain, "example", {"depth": len(operations), "index": None, "seed": None}, start, list(operations))


def _worked(domain: Domain, name: str, params: dict[str, Any], start: State, operations: list[Operation]) -> Item:
    states = [start]
    for operation in operations:
        states.append(domain.apply(states[-1], operation))
    changed = [before != after for before, after in pairwise(states)]
    answer = states[-1]
    truth = {
        "start": start,
        "operations": operations,
        "states": states[1:],
        "answer": answer,
        "changed": changed,
        "effective_depth": sum(changed),
    }
    if domain.name in RELATIONAL:
        pairs = sorted(answer)
        pair = pairs[stream("ccb", "query", domain.name, name).integers(len(pairs))]
        named = any(sorted(operation["pair"]) == [*pair] for operation in operations)
        truth["query"] = {"pair": pair, "relation": answer[pair], "chance": 0.5, "named": named}
    return Item(
        benchmark="ccb",
        id=f"{VERSION}/{domain.name}/{name}",
        params={"domain": domain.name, **params},
        truth=truth,
        meta={
            "title": domain.title,
            "start": domain.render(start),
            "operations": list(map(domain.describe, operations)),
            "answer": domain.render(answer),
        },
    )


def freeze(path: str | Path = FROZEN) -> None:
    """Write the set of the paper's size, 40 trials at ten depths in each domain; see `cdct.frozen`."""
    write_frozen(path, generate(domain=FROZEN_DOMAINS))


def frozen(path: str | Path = FROZEN) -> list[Item]:
    """The frozen items, whatever the installed numpy draws. ValueError where the file is not that of its manifest."""
    return read_frozen(path)
