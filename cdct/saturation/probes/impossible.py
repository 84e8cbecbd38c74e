"""Probes that no reply can keep, each with its proof: designed ones, hidden ones, and sets whose counts don't add up.

They measure what a model gives up when something has to go (paper, section R). The families:

- "designed": a contradiction alone; 19 types in three topics each, as many as the paper has;
- "hidden": one of these contradictions among fillers, 4, 6 or 8 constraints in all;
- "budget": no two of the constraints clash, but three or more together need more words, lines or characters than there
  are, or lengths that no sentences can have.

`source` is "paper" where the paper names the type, else "ours". What the paper names and a reply can keep is left out
or narrowed: M2 with W1, two sentences for O1 with O3 or S6, rows of three for O4 with O3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from cdct.core import stream, to_json, unknown
from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.constraints.puzzles import race
from cdct.saturation.constraints.vocabulary import topics as known_topics
from cdct.saturation.probes.compatibility import RULES, Conflict, conflicts
from cdct.saturation.probes.draws import draw
from cdct.saturation.probes.sampler import subsets
from cdct.saturation.probes.witness import witness

if TYPE_CHECKING:
    import numpy as np

Chosen = Sequence[tuple[str, Mapping[str, Any]]]
FAMILIES = ("designed", "hidden", "budget")
ANIMALS = ("rabbit", "raccoon", "raven", "rooster", "ram", "robin")
"""The items of the paper's ordering puzzle against the letter r (section R.1)."""
TOPICS = 3
"""How many topics each designed type comes in."""
HIDDEN_K = (4, 6, 8)
BUDGET_K = range(4, 13)
BUDGET = 306
"""How many budget probes there are, equally many of each k."""
BUDGET_RULES = ("words", "lines", "characters", "sentence lengths")
"""The rules that count; budget probes take them in turn."""
LASTS = 5
"""How often each type is drawn that might overdraw a set."""
EFFORT = 1000
"""What the witness builder may spend on a set without one of the core."""
TRIES = 1000


@dataclass(frozen=True)
class Impossible:
    """A probe without an answer. `core` holds the positions in `chosen` of the constraints that contradict each other.

    `proof` has every rule that holds, with its types and the reason. Without any one of the core no rule holds. `freed`
    holds the positions in the core without which the witness builder finds a text: all of them in designed and hidden
    probes, at least one in the others.
    """

    type: str
    family: str
    source: str
    topic: str
    chosen: tuple[tuple[str, Mapping[str, Any]], ...]
    core: tuple[int, ...]
    freed: tuple[int, ...]
    proof: tuple[Conflict, ...]


def impossible(seed: int | str = 0, topics: Sequence[str] | None = None, budget: int = BUDGET) -> list[Impossible]:
    """All impossible probes of a seed: 57 designed ones, 62 hidden ones and `budget` others, in this order.

    `topics` are at least three of those in the word lists (None: all), and designed types go round them. The same
    arguments give the same probes. ValueError for an unknown topic or too few of them.
    """
    names = list(known_topics() if topics is None else topics)
    for name in names:
        if name not in known_topics():
            raise ValueError(f"impossible: {unknown('topic', name, known_topics())}")
    if len(set(names)) < max(TOPICS, len(names)):
        raise ValueError(f"impossible: needs at least {TOPICS} topics, all different, got {len(set(names))}")
    return [*_designed(seed, names), *_hidden(seed, names), *_budget(seed, names, budget)]


# ------------------------------------------------------------------------------------------------------------- designs

Given = Callable[["np.random.Generator", str], Mapping[str, dict[str, Any]]]


@dataclass(frozen=True)
class Design:
    """A type of contradiction: `ids` without an answer, `source`, and `given` parameters; the others are drawn.

    `core` are the types that contradict each other, where they are not all of them.
    """

    ids: tuple[str, ...]
    source: str
    given: Given
    core: frozenset[str]

    @property
    def name(self) -> str:
        return "+".join(self.ids)


def _design(ids: str, source: str, given: Given | None = None, core: str = "") -> Design:
    return Design(tuple(ids.split()), source, given or (lambda rng, topic: {}), frozenset((core or ids).split()))


def _animals(rng: np.random.Generator, topic: str) -> dict[str, dict[str, Any]]:
    drawn = race(rng)
    while len(drawn["order"]) < len(ANIMALS):
        drawn = race(rng)
    order = [ANIMALS[int(i)] for i in rng.permutation(len(ANIMALS))]
    named = dict(zip(drawn["order"], order, strict=True))
    comparisons = [[named[one], relation, named[other]] for one, relation, other in drawn["comparisons"]]
    return {"L1": {"letter": "r"}, "R2": {"comparisons": comparisons, "order": order}}


def _wanted_and_forbidden(rng: np.random.Generator, topic: str) -> dict[str, dict[str, Any]]:
    (wanted,) = draw(["L2"], rng, topic, "independent")
    return {"L2": wanted, "L5": {"word": wanted["words"][int(rng.integers(len(wanted["words"])))]}}


DESIGNS = (
    _design("L1 L2", "paper"),
    _design("N1 N2", "paper"),
    _design("N2 N3", "paper"),
    _design("N2 N4", "paper"),
    _design("O1 O3", "paper"),
    _design("O3 O4", "paper", lambda rng, topic: {"O4": {"n": 4}}),
    _design("O1 S6", "paper"),
    _design("R4 W1", "paper"),
    _design("S2 S6", "paper"),
    _design("S2 L4", "paper", lambda rng, topic: {"S2": {"n": 3}}),
    _design("L1 M1", "paper"),
    _design("L1 R2", "paper", _animals),
    _design("L1 L2 W1 S1", "paper", lambda rng, topic: {"L1": {"letter": "e"}}, core="L1 L2"),
    _design("M2 N2", "ours"),
    _design("L3 L4", "ours"),
    _design("L2 L5", "ours", _wanted_and_forbidden),
    _design("L4 O2", "ours"),
    _design("O1 O4", "ours", lambda rng, topic: {"O1": {"direction": "decreasing"}}),
    _design("L3 M1 R4", "ours"),
)
"""The designed types. The paper's are those that its section R.1 and figure 3 name; ours bring them to its 19."""


# --------------------------------------------------------------------------------------------------------------- draws

Draw = Callable[["np.random.Generator", str], "Chosen | None"]


def _designed(seed: int | str, topics: Sequence[str]) -> Iterator[Impossible]:
    for number, design in enumerate(DESIGNS):
        for place in range(TOPICS):
            topic = topics[(number * TOPICS + place) % len(topics)]
            rng = stream("cse", "impossible", seed, "designed", design.name, place)
            yield _made(design, "designed", design.source, partial(_contradiction, design), rng, topic)


def _hidden(seed: int | str, topics: Sequence[str]) -> Iterator[Impossible]:
    """Each design at each k in one topic; the one that the paper hides in three."""
    number = 0
    for design in DESIGNS:
        paper = design is DESIGNS[0]
        for k in HIDDEN_K:
            for place in range(TOPICS if paper else k > len(design.ids)):
                topic, number = topics[number % len(topics)], number + 1
                rng = stream("cse", "impossible", seed, "hidden", design.name, k, place)
                yield _made(design, "hidden", "paper" if paper else "ours", partial(_buried, design, k), rng, topic)


def _budget(seed: int | str, topics: Sequence[str], count: int) -> Iterator[Impossible]:
    seen: set[str] = set()
    for number in range(count):
        k, rule = BUDGET_K[number % len(BUDGET_K)], BUDGET_RULES[number % len(BUDGET_RULES)]
        rng, topic = stream("cse", "impossible", seed, "budget", number), topics[number % len(topics)]
        found = _made(None, "budget", "ours", partial(_overdrawn, k, rule), rng, topic)
        while (content := to_json(found.chosen)) in seen:
            found = _made(None, "budget", "ours", partial(_overdrawn, k, rule), rng, topic)
        seen.add(content)
        yield found


def _made(
    design: Design | None, family: str, source: str, draw_set: Draw, rng: np.random.Generator, topic: str
) -> Impossible:
    """The first set drawn that has a proof and, without any one of the core, an answer. ValueError if none has."""
    for _ in range(TRIES):
        chosen = draw_set(rng, topic) or ()
        order = [chosen[int(i)] for i in rng.permutation(len(chosen))]
        proof = conflicts(order)
        if not proof or (design and set(proof[0].ids) != design.core):
            continue
        core = tuple(place for place, (id, _) in enumerate(order) if id in proof[0].ids)
        rests = [[one for number, one in enumerate(order) if number != place] for place in core]
        if any(map(conflicts, rests)):
            continue
        freed = tuple(place for place, rest in zip(core, rests, strict=True) if witness(rest, topic, effort=EFFORT))
        if freed == core or (freed and not design):
            name = design.name if design else "+".join(id for id in CONSTRAINTS if id in proof[0].ids)
            return Impossible(name, family, source, topic, tuple(order), core, freed, tuple(proof))
    raise ValueError(f"impossible: {TRIES} draws of a {family} probe gave none; draw it from wider ranges")


def _sampled(id: str, rng: np.random.Generator, topic: str) -> dict[str, Any]:
    (params,) = draw([id], rng, topic, "independent") or ({},)
    return params


def _contradiction(design: Design, rng: np.random.Generator, topic: str) -> Chosen:
    given = design.given(rng, topic)
    return [(id, given[id] if id in given else _sampled(id, rng, topic)) for id in design.ids]


def _buried(design: Design, k: int, rng: np.random.Generator, topic: str) -> Chosen | None:
    """A contradiction among fillers: types in random order, each taken if it clashes with neither side."""
    chosen = list(_contradiction(design, rng, topic))
    if {id for conflict in conflicts(chosen) for id in conflict.ids} != design.core:
        return None
    sides = [[one for one in chosen if one[0] != id] for id in CONSTRAINTS if id in design.core]
    others = [id for id in CONSTRAINTS if id not in design.ids]
    for id in (others[int(i)] for i in rng.permutation(len(others))):
        if len(chosen) == k:
            break
        filler = (id, _sampled(id, rng, topic))
        if not any(conflicts([*side, filler]) for side in sides):
            chosen.append(filler)
            sides = [[*side, filler] for side in sides]
    return chosen if len(chosen) == k else None


def _overdrawn(k: int, rule: str, rng: np.random.Generator, topic: str) -> Chosen | None:
    """A set in which all is well until its last type comes: then this rule holds, for three types or more together."""
    (ids,) = subsets(k - 1, 1, rng)
    base = draw(ids, rng, topic)
    if base is None:
        return None
    chosen = list(zip(ids, base, strict=True))
    others = [id for id in CONSTRAINTS if id in RULES[rule].ids and id not in ids]
    for id in (others[int(i)] for i in rng.permutation(LASTS * len(others)) % len(others)):
        last = (id, _sampled(id, rng, topic))
        found = [*chosen, last]
        proof = conflicts(found)
        if [conflict.rule for conflict in proof] != [rule] or any(conflicts([one, last]) for one in chosen):
            continue
        if not any(conflicts([one for one in found if one[0] != out]) for out in proof[0].ids):
            return found
    return None
