"""D3, the alliances: ten agents, pairs of them made allies or rivals, and all that follows from it.

An ally's ally and a rival's rival are allies, an ally's rival is a rival: so those whom events connect, directly or
not, fall into two camps, and each pair of them has a relation. In D3, as in the paper's public code, an event about
such a pair agrees with it: after nine joining events nothing changes any more, whatever the depth. In D3-churn such an
event contradicts, and its first agent leaves all ties for the new one: every event changes the state.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from cdct.ceiling.domains import Definition, Domain, Operation, Reading, runs, stands_alone, without_marks

if TYPE_CHECKING:
    import numpy as np

Relations = dict[str, str]
AGENTS = "ABCDEFGHIJ"
ALLY, RIVAL = "ally", "rival"
_SIGN = {ALLY: 1, RIVAL: -1}
_OPPOSITE = {ALLY: RIVAL, RIVAL: ALLY}


def start(rng: np.random.Generator) -> Relations:
    """No relation at all."""
    return {}


def _pair(a: str, b: str) -> str:
    return min(a, b) + max(a, b)


def _drawn(state: Relations, rng: np.random.Generator, agree: bool) -> Operation:
    a, b = rng.choice(len(AGENTS), size=2, replace=False)
    drawn = (ALLY, RIVAL)[rng.integers(2)]  # drawn in any case, so that no state moves what is drawn after it
    known = state.get(_pair(AGENTS[a], AGENTS[b]))
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
    known = state.get(_pair(a, b))
    if known is not None and known != operation["kind"]:
        raise ValueError(f"D3: an event must agree with the relation {_pair(a, b)}:{known}, got {operation['kind']!r}")
    joined = {
        _pair(x, y): ALLY if mine * theirs * _SIGN[operation["kind"]] > 0 else RIVAL
        for x, mine in _ties(state, a).items()
        for y, theirs in _ties(state, b).items()
        if known is None
    }
    return dict(sorted((state | joined).items()))


def apply_churn(state: Relations, operation: Operation) -> Relations:
    """The relations after one event; where it contradicts, its first agent has first lost all of its own."""
    a, b = operation["pair"]
    if state.get(_pair(a, b), operation["kind"]) != operation["kind"]:
        state = {pair: kind for pair, kind in state.items() if a not in pair}
    return apply(state, operation)


def describe(operation: Operation) -> str:
    """The event in a few words, e.g. "C and A are now rivals"."""
    a, b = operation["pair"]
    return f"{a} and {b} are now {'allies' if operation['kind'] == ALLY else 'rivals'}"


def render(state: Relations) -> str:
    """`AB:ally, AC:rival, BC:rival`; `none` where no pair has a relation."""
    return ", ".join(f"{pair}:{state[pair]}" for pair in sorted(state)) or "none"


def render_slots(state: Relations) -> str:
    """`P01[AB:ally AC:rival] P02[BC:rival] P03[] ...`: ten slots, each with the pairs that its agent begins."""
    own = [" ".join(f"{pair}:{state[pair]}" for pair in sorted(state) if pair[0] == agent) for agent in AGENTS]
    return " ".join(f"P{place:02d}[{pairs}]" for place, pairs in enumerate(own, start=1))


_FORMS = {"ally": ALLY, "allies": ALLY, "allied": ALLY, "rival": RIVAL, "rivals": RIVAL}
_FORMS |= dict.fromkeys(("none", "undetermined", "unknown"), "none")
_FORM = rf"(?i:{'|'.join(_FORMS)})(?![^\W_])"
_PART = re.compile(
    r"(?<![^\W_])([A-Z])[\s\"'`*_]{0,4}(?:[-–,&/|]|and\b)?[\s\"'`*_]{0,4}([A-Z])(?![^\W_])[\s\"'`*_,|()\[\]]{0,8}"
    rf"(?:[:=][\s\"'`*_|(\[]{{0,6}}(\w{{0,20}})|(?:(?:->|→|are\b)[\s\"'`*_|(\[]{{0,6}}|(?<=[\W_]))({_FORM}))",
    re.ASCII,
)
"""Two agents and a relation: after a colon any word, so that a value that is none is not passed over."""
_CHANGED = re.compile(rf"[\s\"'`*_]{{0,6}}(?:->|→|=)[\s\"'`*_]{{0,6}}{_FORM}")
_BARE = re.compile(r"(?<![^\W_])[A-Z]{2,10}[\s,;&|\"'`*\])}]{1,9}(?:and\s)?\Z")
"""Agents before the first pair without a relation of their own: one value for several pairs."""
_SLOT = re.compile(r"\bP[ \t]?\d{1,2}\b[ \t]?[:=]?")
_REMARK = re.compile(rf"\b(?!{_FORM})(?!and\b|are\b)[^\W\d_]*[a-z]{{2}}")
_AROUND = " \t\r\n\"'`*_[](){}."


def _relations(run: Sequence[re.Match[str]], body: str) -> Relations | str:
    """The relations that a run of pairs states, undetermined ones as "none", or the reason why there are none."""
    if _BARE.search(body, max(0, run[0].start() - 25), run[0].start()):
        return "shape"
    stated: Relations = {}
    for part in run:
        kind = _FORMS.get((part[3] or part[4] or "").lower())
        if kind is None:
            return "shape"
        if stated.setdefault(_pair(part[1], part[2]), kind) != kind:
            return "conflict"
    return stated


def read(text: str) -> Reading:
    """The list of relations in a text; "none" or empty brackets alone are the empty one.

    A list has no fixed length: of several with words between them the last one is taken only if none is longer, since a
    shorter one could be the state, or a remark about what has changed. Other letters are read as agents.
    """
    core = text.strip(_AROUND)
    if core.lower() == "none" or (not core and ("[" in text or "{" in text)):
        return Reading({}, () if text.strip() == render({}) else ("layout",))
    body, remarks = without_marks(_SLOT.sub(" ", text), _REMARK)
    found = runs(_PART, body)
    if not found:
        return Reading(None, ("absent",))
    if any(_CHANGED.match(body, run[-1].end()) for run in found):
        return Reading(None, ("shape",))
    lists = [_relations(run, body) for run in found]
    run, stated = found[-1], lists[-1]
    if isinstance(stated, str):
        return Reading(None, (stated,))
    if any(len(other) > len(run) for other in found):
        return Reading(None, ("ambiguous",))
    state = {pair: kind for pair, kind in sorted(stated.items()) if kind != "none"}
    flags = ["layout"] if text.strip() != render(state) else []
    if [*stated] != sorted(stated) or any(part[1] > part[2] for part in run):
        flags.append("order")
    if any((part[3] or part[4]) not in (ALLY, RIVAL) for part in run):
        flags.append("wording")
    if len(run) > len(stated):
        flags.append("repeated")
    if remarks or not stands_alone(run, body):
        flags.append("prose")
    if any(other != stated for other in lists):
        flags.append("several")
    return Reading(state, tuple(flags))


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
