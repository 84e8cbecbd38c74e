"""What a domain of the ceiling benchmark is, and all of them by name.

A domain is one `Domain` of pure functions. Each module of this package lists its own in `DOMAINS`; a new file is all
that a new domain needs.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cdct.core import Registry

if TYPE_CHECKING:
    import numpy as np

State = Any
"""What is tracked, as JSON. Two states are the same when they are equal."""
Operation = Mapping[str, Any]
"""One step, as JSON; `kind` says which definition it follows."""


@dataclass(frozen=True)
class Definition:
    """What an operation does, in words, and a state and an operation that show it; the result is computed."""

    text: str
    before: State
    operation: Operation


@dataclass(frozen=True)
class Reading:
    """A state as it was read, and how its text differed from the canonical layout.

    Of a state that was read: layout (spacing, quotes, brackets, separators, lines, markdown, JSON), order (keys, pairs,
    or the two agents of a pair in another order), wording (a relation in another form, or pairs listed as having none),
    told (in the words of one operation, which a step only restates), repeated (something twice, with the same value),
    prose (other words around it), several (more than one state: the last was taken). No flag: the text is canonical.

    Where there is no state, one reason: absent (nothing like a state), shape (begun, but not whole or not of the right
    form), conflict (one thing with two values), ambiguous (more than one state, and nothing says which one is meant).
    """

    state: State | None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Domain:
    """One kind of state and of steps. All functions are pure, states and operations are JSON and never changed.

    name, title: as in ids and as people read it.
    task, rules, layout: what the prompt says of what is tracked, of its laws, and of how a state is written.
    definitions: every operation.
    example: a start and a few operations, shown in every prompt with the right reply.
    start(rng): state 0. draw(state, rng): an operation that may follow; how often each kind comes depends neither on
        the step nor on the depth.
    apply(state, operation): the state after it. ValueError for an operation that can't follow.
    describe(operation): the operation as the prompt lists it.
    render(state): its canonical layout, on one line.
    read(text): the one state that a text holds, without the label before it. Values are never repaired: a wrong one is
        read as it stands. Takes time linear in the text.
    integrity(state): how a state, be it one that a model wrote, breaks the domain's rule; empty where it keeps it.
    """

    name: str
    title: str
    task: str
    rules: tuple[str, ...]
    layout: str
    definitions: tuple[Definition, ...]
    example: tuple[State, tuple[Operation, ...]]
    start: Callable[[np.random.Generator], State]
    draw: Callable[[State, np.random.Generator], Operation]
    apply: Callable[[State, Operation], State]
    describe: Callable[[Operation], str]
    render: Callable[[State], str]
    read: Callable[[str], Reading]
    integrity: Callable[[State], list[str]]


def _load() -> None:
    modules = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    for domain in sorted((domain for module in modules for domain in module.DOMAINS), key=lambda domain: domain.name):
        DOMAINS.add(domain.name, domain)


DOMAINS = Registry("domain", load=_load)


# ------------------------------------------------------------------------------------- what all readings have in common

_MARKER = re.compile(r"^([ \t]{0,20}\*{0,3})\d{1,3}[.)][ \t]", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]{0,20}```[ \t]*\w{0,20}[ \t]*$", re.MULTILINE)
BORDER = "¦"
"""What a code fence becomes: no two parts of one state lie on both sides of it."""
_AROUND = r"[\s\"'`*_]{0,6}"
OR = rf"{_AROUND}[,(]?{_AROUND}(?:/|(?:and/)?or(?![^\W_])(?:\s(?:maybe|perhaps|possibly|else|even))?){_AROUND}"
"""What stands between two values of which either may be meant."""
_EITHER = re.compile(
    r"(?<![^\W_])(?:or(?!\srather)|either|alternatively|maybe|perhaps|possibly)(?![^\W_])", re.IGNORECASE
)
_REMARK = re.compile(r"\([^()]*\)")
_PLAIN = re.compile(
    r"(?:[\s,;|/\\&\[\](){}\"'`*_#•·“”‘’，；、]|\band\b|[.。](?=\s|$|[\"'`*\])}])|:?-+:?(?=\s|\||$))*+", re.IGNORECASE
)
"""What may stand between two parts of one state: blanks, separators, brackets, quotes, marks of lists and tables."""


def without_marks(text: str, remark: re.Pattern[str]) -> tuple[str, bool]:
    """`text` without numbers of list items and such remarks in brackets; whether it had a remark.

    Code fences become `BORDER`. A remark that names another possibility stays.
    """
    text = _MARKER.sub(r"\1", _FENCE.sub(BORDER, text))
    cut = _REMARK.sub(lambda match: " " if remark.search(match[0]) and not _EITHER.search(match[0]) else match[0], text)
    return cut, cut != text


def undecided(one: Sequence[re.Match[str]], other: Sequence[re.Match[str]], text: str) -> bool:
    """Whether the words between two runs leave open which of them is meant."""
    return _EITHER.search(text, one[-1].end(), other[0].start()) is not None


def runs(part: re.Pattern[str], text: str) -> list[list[re.Match[str]]]:
    """The matches of `part` in order, in runs: within a run only separators stand between two of them."""
    found: list[list[re.Match[str]]] = []
    end = 0
    for match in part.finditer(text):
        if found and _PLAIN.fullmatch(text, end, match.start()):
            found[-1].append(match)
        else:
            found.append([match])
        end = match.end()
    return found


def stands_alone(run: Sequence[re.Match[str]], text: str) -> bool:
    """Whether no word and no digit stands before or after a run."""
    outside = text[: run[0].start()] + text[run[-1].end() :]
    return not any(map(str.isalnum, outside))
