"""Parameters for the types of a probe: each from its own range, or all drawn together so that no rule is broken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cdct.core import unknown
from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.constraints.vocabulary import topics
from cdct.saturation.probes.room import ROOMS, room_for
from cdct.saturation.probes.rules import RULES

if TYPE_CHECKING:
    import numpy as np

MODES = ("joint", "independent")
TRIES, LAST_TRIES = 8, 40
"""How often a joint draw begins for each of `ROOMS`, and for the last of them."""
DRAWS = 60
"""How often a type is drawn before a joint draw begins again."""
_ORDER = "S6 L4 M1 S2 S3 O4 O3 O1 W3 W5 L3 L1 R1 R3 R2 L2 L5 W2 M3 F1 F2 F3 N4 N3 S1 S5 N1 S4"
PLACES = {id: place for place, id in enumerate(_ORDER.split())}
"""The order of joint draws: the number of sentences first, then their lengths, letters, words, and sums over all."""


def draw(
    ids: Sequence[str], rng: np.random.Generator, topic: str | None = None, mode: str = "joint"
) -> list[dict[str, Any]] | None:
    """Parameters for each of these types, in their order, all from the types' own ranges; L2's words from the topic.

    "independent": each type by itself, as in the paper (section 3.2); they may clash. "joint": type after type, each
    drawn anew until no rule holds for it and those before, so that `conflicts` of all is empty, and until there is some
    room (`probes.room`); what can be drawn is drawn with equal chances. None where `TRIES` beginnings for each of
    `ROOMS`, and `LAST_TRIES` for none, lead to no end.
    """
    if mode not in MODES:
        raise ValueError(f"draw: {unknown('mode', mode, MODES)}")
    if topic is not None and topic not in topics():
        raise ValueError(f"draw: {unknown('topic', topic, topics())}")
    if len(set(ids)) < len(ids):
        raise ValueError(f"draw: at most one of each type, got {', '.join(ids)}")
    if mode == "independent":
        return [_sample(id, rng, topic) for id in ids]
    order = sorted(ids, key=lambda id: PLACES.get(id, -1))  # first what has no parameters
    for room in ROOMS:
        for _ in range(TRIES if room else LAST_TRIES):
            found = _together(order, rng, topic, room)
            if found is not None:
                return [found[id] for id in ids]
    return None


def _sample(id: str, rng: np.random.Generator, topic: str | None) -> dict[str, Any]:
    if id == "L2" and topic is not None:
        words = topics()[topic]
        return {"words": [words[int(i)] for i in rng.permutation(len(words))[:3]]}
    return CONSTRAINTS[id].sample(rng)


def _together(
    order: Sequence[str], rng: np.random.Generator, topic: str | None, room: float
) -> dict[str, dict[str, Any]] | None:
    drawn: dict[str, dict[str, Any]] = {}
    read: dict[str, dict[str, Any]] = {}
    for id in order:
        rules = [rule for rule in RULES.values() if id in rule.ids]
        roomy, refused = room_for(id, order, read, room), set()
        for _ in range(DRAWS if CONSTRAINTS[id].parameters else 1):
            drawn[id] = _sample(id, rng, topic)
            if (name := str(drawn[id])) in refused:
                continue
            read[id] = CONSTRAINTS[id].read(drawn[id])
            if roomy(read[id]) and not any(rule.check(read) for rule in rules):
                break
            refused.add(name)
        else:
            return None
    return drawn
