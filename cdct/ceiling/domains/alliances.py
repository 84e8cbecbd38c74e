"""D3, the alliances: ten agents, pairs of them made allies or rivals, and all that follows from it.

An ally's ally and a rival's rival are allies, an ally's rival is a rival: so those whom events connect, directly or
not, fall into two camps, and each pair of them has a relation. In D3, as in the paper's public code, an event about
such a pair agrees with it: after nine joining events nothing changes any more, whatever the depth. In D3-churn such an
event contradicts, and its first agent leaves all ties for the new one: every event changes the state.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from cdct.ceiling.domains import Definition, Domain, Operation
from cdct.ceiling.relations import ALLY, RIVAL, Relations, pair_of, read, render

if TYPE_CHECKING:
    import numpy as np

AGENTS = "ABCDEFGHIJ"
_SIGN = {ALLY: 1, RIVAL: -1}
_OPPOSITE = {ALLY: RIVAL, RIVAL: ALLY}


def start(rng: np.random.Generator) -> Relations:
    """No relation at all."""
    return {}


def _drawn(state: Relations, rng: np.random.Generator, agree: bool) -> Operation:
    a, b = rng.choice(len(AGENTS), size=2, replace=False)
    drawn = (ALLY, RIVAL)[rng.integers(2)]  # drawn in any case, so that no state moves what is drawn after it
    known = state.get(pair_of(AGENTS[a], AGENTS[b]))
    kind = drawn if known is None else known if agree else _OPPOSITE[known]
    return {"kind": kind, "pair": [AGENTS[a], AGENTS[b]]}


def draw(state: Relations, rng: np.random.Generator) -> Operation:
    """Each pair with the same chance; one without a relation gets either, each with the same chance, else its own."""
    return _drawn(state, rng, agree=True)


def draw_churn(state: Relations, rng: np.random.Generator) -> Operation:
    """As `draw`, but an event about a pair that has a relation contradicts it."""
    return _drawn(state, rng, agree=False)


def _ties(state: Relations, agent: str) -> dict[str, int]:
    """The agents that have a relation to one, with its sign; itself with +1."""
    return {agent: 1} | {pair.replace(agent, ""): _SIGN[kind] for pair, kind in state.items() if agent in pair}


def apply(state: Relations, operation: Operation) -> Relations:
    """The relations after one event. ValueError where it contradicts: that is for `apply_churn`."""
    a, b = operation["pair"]
    known = state.get(pair_of(a, b))
    if known is not None and known != operation["kind"]:
        raise ValueError(
            f"D3: an event must agree with the relation {pair_of(a, b)}:{known}, got {operation['kind']!r}"
        )
    joined = {
        pair_of(x, y): ALLY if mine * theirs * _SIGN[operation["kind"]] > 0 else RIVAL
        for x, mine in _ties(state, a).items()
        for y, theirs in _ties(state, b).items()
        if known is None
    }
    return dict(sorted((state | joined).items()))


def apply_churn(state: Relations, operation: Operation) -> Relations:
    """The relations after one event; where it contradicts, its first agent has first lost all of its own."""
    a, b = operation["pair"]
    if state.get(pair_of(a, b), operation["kind"]) != operation["kind"]:
        state = {pair: kind for pair, kind in state.items() if a not in pair}
    return apply(state, operation)


def describe(operation: Operation) -> str:
    """The event in a few words, e.g. "C and A are now rivals"."""
    a, b = operation["pair"]
    return f"{a} and {b} are now {'allies' if operation['kind'] == ALLY else 'rivals'}"


def render_slots(state: Relations) -> str:
    """`P01[AB:ally AC:rival] P02[BC:rival] P03[] ...`: ten slots, each with the pairs that its agent begins."""
    own = [" ".join(f"{pair}:{state[pair]}" for pair in sorted(state) if pair[0] == agent) for agent in AGENTS]
    return " ".join(f"P{place:02d}[{pairs}]" for place, pairs in enumerate(own, start=1))


def integrity(state: Relations) -> list[str]:
    """Which pairs are none of the agents', and which three agents' relations contradict or leave one out."""
    wrong = [f"{pair} is no pair of agents" for pair in state if not set(pair) <= set(AGENTS) or pair[0] == pair[1]]
    for three in combinations(AGENTS, 3):
        pairs = ["".join(two) for two in combinations(three, 2)]
        known = [pair for pair in pairs if pair in state]
        if len(known) == 2:
            wrong.append(f"{(set(pairs) - set(known)).pop()} follows from {known[0]} and {known[1]} and is left out")
        elif len(known) == 3 and sum(state[pair] == RIVAL for pair in pairs) % 2:
            wrong.append(f"{pairs[0]}, {pairs[1]} and {pairs[2]} contradict each other")
    return wrong


_TWO: Relations = {"AB": ALLY, "CD": RIVAL}
_FOUR: Relations = {"AB": ALLY, "AC": RIVAL, "AD": ALLY, "BC": RIVAL, "BD": ALLY, "CD": RIVAL}
_TASK = "You track which pairs of ten agents, A to J, are allies and which are rivals."
_LAYOUT = (
    "The relations are written as a list of all pairs that have one, the two letters of a pair and the pairs "
    "themselves in alphabetical order: AB:ally, AC:rival, BC:rival. Pairs without a relation are left out."
)
_RULES = (
    "At the start no pair has a relation. Relations hold in both directions.",
    "Each operation gives a relation to a pair of agents. After it, add every relation that follows by these rules, "
    "until nothing new follows: two allies of one agent are allies; two rivals of one agent are allies; an ally and a "
    "rival of one agent are rivals.",
)
_KEPT = (
    "A relation, once there, never changes. An operation about a pair that has one already says the same, and changes "
    "nothing."
)
_LEFT = (
    "An operation can contradict the relation that its pair has. Then the agent that it names first breaks with "
    "everybody: all relations of this agent are deleted, and those among the others stay. Then the operation's "
    "relation is added, and the rules are applied again."
)


def _event(kind: str, a: str, b: str) -> Operation:
    return {"kind": kind, "pair": [a, b]}


def _definition(text: str, before: Relations, kind: str, a: str, b: str) -> Definition:
    return Definition(text, before, _event(kind, a, b))


_NEW = (
    _definition("the two become allies, and what follows is added.", _TWO, ALLY, "C", "B"),
    _definition("the two become rivals, and what follows is added.", _TWO, RIVAL, "A", "C"),
)


_SHOWN = (_event(ALLY, "A", "B"), _event(RIVAL, "D", "C"), _event(RIVAL, "B", "D"))


def _domain(name: str, title: str, rule: str, last: Definition, churn: bool) -> Domain:
    return Domain(
        name=name,
        title=title,
        task=_TASK,
        rules=(*_RULES, rule),
        layout=_LAYOUT,
        definitions=(*_NEW, last),
        example=({}, (*_SHOWN, _event(RIVAL, "A", "B") if churn else _event(ALLY, "C", "B"))),
        start=start,
        draw=draw_churn if churn else draw,
        apply=apply_churn if churn else apply,
        describe=describe,
        render=render,
        read=read,
        integrity=integrity,
    )


DOMAINS = (
    _domain(
        "D3",
        "Alliances",
        _KEPT,
        _definition("they are rivals already, so nothing changes.", _FOUR, RIVAL, "B", "C"),
        churn=False,
    ),
    _domain(
        "D3-churn",
        "Alliances with churn",
        _LEFT,
        _definition(
            "they were allies, so this contradicts. D loses all its relations; AB, AC and BC stay; then D and B become "
            "rivals, and what follows is added.",
            _FOUR,
            RIVAL,
            "D",
            "B",
        ),
        churn=True,
    ),
)
