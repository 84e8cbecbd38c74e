"""Evidence for the rules of compatibility: every pair is proven or witnessed, and no rule is refuted by two searches.

`make evidence` (python -m cdct.saturation.probes.evidence) writes two tables beside the frozen items:

- cse-evidence.csv, one row per pair of types, columns `PAIRS`: of so many draws of parameters, each from its own range,
  how many are proven in conflict and by which rules, for how many a text was found, and how many are open;
- cse-evidence-attacks.csv, one row per attacked collection of constraint sets, columns `ATTACKS`: sets in which a rule
  holds (kind "rule"), impossible probes (kind "impossible"), for which no text may be found, and satisfiable sets (kind
  "satisfiable"), which show how much an attack that finds nothing says.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import combinations, cycle, islice, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from cdct.core import save_tables, stream, to_json
from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.constraints.vocabulary import topics
from cdct.saturation.probes.attack import TRIES, attack
from cdct.saturation.probes.compatibility import RULES, Rule, conflicts, found_by, ordinary
from cdct.saturation.probes.draws import draw
from cdct.saturation.probes.impossible import FAMILIES, impossible
from cdct.saturation.probes.sampler import subsets
from cdct.saturation.probes.witness import witness

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

Chosen = Sequence[tuple[str, Mapping[str, Any]]]
Probe = tuple[Chosen, str | None]
"""Constraints and a topic."""

FOLDER = "data/items"
PAIRS = ["a", "b", "draws", "proven", "rules", "witnessed", "open"]
ATTACKS = ["kind", "name", "sets", "near", "attempts", "builder", "search", "odd"]
"""`near`: how many of the sets one step of one parameter would free; `builder`, `search`: in how many attempts these
found an ordinary text; `odd`: in how many the search with odd edits found one that is not ordinary."""
DRAWS = 20
ATTEMPTS = 200
POWER_K = (2, 3, 4)
MOST_TYPES = 10
"""How many types a set may have in which a rule is looked for; the rule itself then says which of them it needs."""
CANDIDATES = 40
FEWEST = 25
"""How many sets are drawn for each one that is attacked, of which there count at least so many."""


# --------------------------------------------------------------------------------------------------------------- pairs


def pairs(draws: int = DRAWS, seed: int = 0, processes: int = 1, ids: Sequence[str] | None = None) -> pd.DataFrame:
    """One row per pair of types, columns `PAIRS`: each of `draws` draws is proven, witnessed or open.

    A draw is proven where a rule holds, witnessed where the builder or, if it fails, the blind search finds an ordinary
    text. `ids` are the types to pair; None takes all 36. The number of processes changes nothing.
    """
    import pandas as pd

    types = [id for id in CONSTRAINTS if ids is None or id in ids]
    rows = _spread(partial(_pair, draws, seed), list(combinations(types, 2)), processes)
    return pd.DataFrame(rows, columns=PAIRS)


def _pair(draws: int, seed: int, pair: tuple[str, str]) -> tuple[Any, ...]:
    rules: dict[str, None] = {}
    proven = witnessed = 0
    for number in range(draws):
        topic = list(topics())[number % len(topics())]
        params = draw(pair, stream("cse", "evidence", seed, *pair, number), topic, "independent")
        chosen = list(zip(pair, params, strict=True))
        if found := conflicts(chosen):
            proven += 1
            rules.update(dict.fromkeys(conflict.rule for conflict in found))
        elif _built(chosen, topic) or attack(chosen, topic, accept=ordinary) is not None:
            witnessed += 1
    return (*pair, draws, proven, ", ".join(sorted(rules)), witnessed, draws - proven - witnessed)


def _built(chosen: Chosen, topic: str | None, seed: int = 0) -> bool:
    """Whether the witness builder finds a text, and an ordinary one."""
    text = witness(chosen, topic, seed)
    return text is not None and ordinary(text)


# ------------------------------------------------------------------------------------------------------------- attacks


class Attacked(NamedTuple):
    """Which searches found a text for a set; see `ATTACKS`."""

    builder: bool
    search: bool
    odd: bool


def attacked(chosen: Chosen, topic: str | None = None, seed: int = 0, tries: int = 1) -> Attacked:
    """What builder and blind search find for these constraints."""
    search = attack(chosen, topic, seed, tries, accept=ordinary)
    odd = attack(chosen, topic, seed, tries, odd=True)
    return Attacked(_built(chosen, topic, seed), search is not None, odd is not None and not ordinary(odd))


def refute(
    rule: str | Rule, attempts: int = ATTEMPTS, seed: int = 0, processes: int = 1, tries: int = 1
) -> dict[str, Any]:
    """What `attempts` attacks find on sets in which a rule holds: one row of the table of attacks.

    A sound rule has 0 in `builder` and `search`. The sets have random types of the rule and parameters each from its
    own range, cut down to the types that the rule needs; those that one step of one parameter would free come first,
    as a slip in the rule shows there. Where there are fewer sets than attempts, they are attacked again from other
    seeds.
    """
    rule = RULES[rule] if isinstance(rule, str) else rule
    sets = _instances(rule, attempts, stream("cse", "refute", seed, rule.name))
    near = sum(_near(rule, chosen) for chosen in sets)
    return _row("rule", rule.name, [(chosen, None) for chosen in sets], attempts, near, seed, processes, tries)


def _row(
    kind: str, name: str, sets: Sequence[Probe], attempts: int, near: int, seed: int, processes: int, tries: int
) -> dict[str, Any]:
    turns = [(probe, seed + number // len(sets)) for number, probe in enumerate(islice(cycle(sets), attempts))]
    found = _spread(partial(_attacked, tries), turns, processes)
    totals = (sum(one.builder for one in found), sum(one.search for one in found), sum(one.odd for one in found))
    return dict(zip(ATTACKS, (kind, name, len(sets), near, len(found), *totals), strict=True))


def _attacked(tries: int, turn: tuple[Probe, int]) -> Attacked:
    (chosen, topic), seed = turn
    return attacked(chosen, topic, seed, tries)


def _instances(rule: Rule, count: int, rng: np.random.Generator) -> list[Chosen]:
    """Up to `count` sets in which a rule holds, with no more types than it needs.

    All combinations of types by turns, those first that one step of a parameter would free.
    """
    types = [id for id in CONSTRAINTS if id in rule.ids]
    kinds: dict[tuple[str, ...], tuple[dict[str, Chosen], dict[str, Chosen]]] = {}
    for _ in range(CANDIDATES * max(count, FEWEST)):
        size = 2 + int(rng.integers(min(MOST_TYPES, len(types)) - 1))
        ids = [types[int(i)] for i in sorted(rng.permutation(len(types))[:size])]
        params = dict(zip(ids, draw(ids, rng, None, "independent") or (), strict=True))
        for conflict in found_by([rule], {id: CONSTRAINTS[id].read(own) for id, own in params.items()}):
            chosen = [(id, params[id]) for id in ids if id in conflict.ids]
            near, far = kinds.setdefault(tuple(id for id, _ in chosen), ({}, {}))
            if len(near) < count:
                (near if _near(rule, chosen) else far).setdefault(to_json(chosen), chosen)
    rows = [[*near.values(), *far.values()] for _, (near, far) in sorted(kinds.items())]
    return [one for turn in zip_longest(*rows) for one in turn if one is not None][:count]


def _near(rule: Rule, chosen: Chosen) -> bool:
    """Whether a rule ceases to hold where one whole number among the parameters is one more or one less."""
    own = {id: CONSTRAINTS[id].read(params) for id, params in chosen}
    for id, params in own.items():
        for name, value in params.items():
            if isinstance(value, int):
                for other in (value - 1, value + 1):
                    if not rule.check(own | {id: {**params, name: other}}):
                        return True
    return False


def attacks(attempts: int = ATTEMPTS, seed: int = 0, processes: int = 1) -> Iterator[dict[str, Any]]:
    """The rows of the table of attacks: each rule, each family of impossible probes, satisfiable sets of k types."""
    for rule in RULES:
        yield refute(rule, attempts, seed, processes)
    probes = impossible(seed)
    for family in FAMILIES:
        sets = [(probe.chosen, probe.topic) for probe in probes if probe.family == family]
        yield _row("impossible", family, sets, len(sets), 0, seed, processes, 1)
    for k in POWER_K:
        yield _row("satisfiable", f"k = {k}", _satisfiable(k, attempts, seed), attempts, 0, seed, processes, TRIES)


def _satisfiable(k: int, count: int, seed: int) -> list[Probe]:
    """Sets of k types in which no rule holds, parameters drawn together."""
    rng = stream("cse", "power", seed, k)
    found: list[Probe] = []
    while len(found) < count:
        (ids,) = subsets(k, 1, rng)
        params = draw(ids, rng)
        if params is not None:
            found.append((list(zip(ids, params, strict=True)), None))
    return found


# ----------------------------------------------------------------------------------------------------------------- run


def _spread(work: Callable[[Any], Any], things: Sequence[Any], processes: int) -> list[Any]:
    """The results in the order of the things, worked out in as many processes."""
    if processes == 1:
        return list(map(work, things))
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as executor:
        return list(executor.map(work, things, chunksize=4))


def main(arguments: Iterable[str] | None = None) -> None:
    """Write both tables."""
    import pandas as pd

    parser = argparse.ArgumentParser(prog="python -m cdct.saturation.probes.evidence", description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS, help="draws of parameters for each pair")
    parser.add_argument("--attempts", type=int, default=ATTEMPTS, help="sets attacked for each rule")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--folder", default=FOLDER)
    options = parser.parse_args(arguments)
    table = pairs(options.draws, processes=options.processes)
    save_tables(options.folder, **{"cse-evidence": table})
    sums = ", ".join(f"{table[name].sum()} {name}" for name in ("draws", "proven", "witnessed", "open"))
    sys.stdout.write(f"{len(table)} pairs: {sums}\n")
    rows = []
    for row in attacks(options.attempts, processes=options.processes):
        rows.append(row)
        sys.stdout.write(", ".join(f"{name} {value}" for name, value in row.items()) + "\n")
        sys.stdout.flush()
    save_tables(options.folder, **{"cse-evidence-attacks": pd.DataFrame(rows, columns=ATTACKS)})


if __name__ == "__main__":
    main()
