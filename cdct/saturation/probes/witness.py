"""Witnesses: texts that pass every verifier of a set of constraints, built from a plan. They need not mean anything."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import NamedTuple

from cdct.core import stream, unknown
from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.constraints.vocabulary import topics
from cdct.saturation.probes.assemble import Skeleton
from cdct.saturation.probes.ends import fill_ends
from cdct.saturation.probes.fill import Filling, NoWord
from cdct.saturation.probes.layout import layouts
from cdct.saturation.probes.needs import Chosen, Needs, read_needs
from cdct.saturation.probes.plan import skeletons
from cdct.text import Text

EFFORT = 4000
"""How much work is done before a set is given up: a plan that comes to nothing counts 1."""
_SKELETON, _TEXT = 4, 30
"""What a skeleton and what a text counts; 10 is about a millisecond."""
_ODD = 60
"""Odd skeletons that are tried before the shortest ones, where the number of characters is given."""
_NEW, _AGAIN, _SHORT, _BOTH = (False, False), (True, False), (False, True), (True, True)
"""How words are found: new ones, some of them again, rows of one or two letters among them, or both."""
_EITHER = (_NEW, _AGAIN)
"""New words if there may be room for them, else some of them again, but not one after the other."""


class Witness(NamedTuple):
    """A text and its layout: "plain", or what is odd about it."""

    text: str
    layout: str


def witness(chosen: Chosen, topic: str | None = None, seed: int = 0, effort: int = EFFORT) -> str | None:
    """A text that passes the verifier of every chosen constraint, or None where none was found; see `build`."""
    found = build(chosen, topic, seed, effort)
    return found and found.text


def build(chosen: Chosen, topic: str | None = None, seed: int = 0, effort: int = EFFORT) -> Witness | None:
    """A witness in the plainest layout for which one was found, or None.

    `chosen` holds (id, parameters), at most one of each type; else ValueError, as for an unknown topic. The topic's
    nouns are among the words. The same arguments give the same text on any machine. None is no proof that there is no
    witness.
    """
    needs, work = read_needs(chosen), 0
    if topic is not None and topic not in topics():
        raise ValueError(f"witness: {unknown('topic', topic, topics())}")
    nouns = topics().get(topic or "", ())
    for skeleton, modes in _attempts(needs):
        work += _SKELETON if skeleton else 1
        if work > effort:
            return None
        for again, short in modes if skeleton else ():
            filling = Filling(needs, skeleton, _chance(seed, work), again, short, nouns)
            if (again and needs.unique) or filling.hopeless:
                continue
            work += _TEXT
            found = _filled(filling)
            if found and passes(found[0], chosen):
                odd = [*skeleton.odd, *["dashes"] * found[1], *["rows of letters as words"] * short]
                return Witness(found[0], ", ".join(odd) or "plain")
            if modes is _EITHER:
                break
    return None


_Attempt = tuple[Skeleton | None, tuple[tuple[bool, bool], ...]]


def _attempts(needs: Needs) -> Iterator[_Attempt]:
    """Skeletons and how to find words for them: plain ones, odd ones, and for few characters the shortest ones."""
    found = layouts(needs)
    odd: list[Skeleton] = []
    for layout in found:
        for skeleton in skeletons(needs, layout) if not layout.odd else ():
            if skeleton and skeleton.odd:
                odd.append(skeleton)
                yield None, ()
            else:
                yield skeleton, (_NEW, _NEW, _AGAIN)
    rest = (skeleton for layout in found if layout.odd for skeleton in skeletons(needs, layout))
    for skeleton in islice(chain(odd, rest), None if needs.characters is None else _ODD):
        yield skeleton, _EITHER
    for layout in sorted(found, key=lambda layout: layout.least) if needs.characters is not None else ():
        for skeleton in skeletons(needs, layout):
            yield skeleton, (_AGAIN, _SHORT, _BOTH)


def passes(text: str, chosen: Chosen) -> bool:
    """Whether a text passes the verifier of every chosen constraint."""
    parsed = Text(text)
    return all(CONSTRAINTS[id].check(parsed, **params).passed for id, params in chosen)


def _chance(seed: int, number: int) -> Iterator[float]:
    rng = stream("witness", seed, number)
    while True:
        yield from rng.random(256).tolist()


def _filled(filling: Filling) -> tuple[str, bool] | None:
    """The text with all words, and whether it has dashes; None where no words were found for some gap."""
    try:
        filling.fill_mandatory()
        fill_ends(filling)
        filling.fill_rest()
        return filling.written(filling.settle())
    except NoWord:
        return None
