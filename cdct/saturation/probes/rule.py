"""What a rule of compatibility is: one block with its condition, its proof and its check.

    @rule("divisibility", "S1 M3")
    def divisibility(chosen: Chosen) -> str:
        \"""S1's number of words is no multiple of M3's n.

        S1 fixes the number of words, M3 wants a multiple of n.
        \"""
        ...
        return "S1 wants 41 words, M3 a multiple of 3"  # or "" where there is no conflict

The first paragraph of the docstring is the condition on the parameters, the second the proof. Proofs are about replies
that are `ordinary` (`cdct.saturation.probes.compatibility`). A rule that holds for some constraints holds for more.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

from cdct.saturation.probes.bounds import Chosen


@dataclass(frozen=True)
class Rule:
    """Why constraints of the types `ids` can't be kept together: `check` gives the reason in this case, or ""."""

    name: str
    ids: frozenset[str]
    condition: str
    proof: str
    check: Callable[[Chosen], str]


def rule(name: str, ids: str) -> Callable[[Callable[[Chosen], str]], Rule]:
    """A decorator that makes a `Rule` of a check; `ids` are the types that it reads."""

    def build(check: Callable[[Chosen], str]) -> Rule:
        condition, _, proof = inspect.cleandoc(check.__doc__ or "").partition("\n\n")
        if not condition or not proof:
            raise ValueError(f"rule {name!r}: the docstring must hold the condition and, after a blank line, the proof")
        return Rule(name, frozenset(ids.split()), " ".join(condition.split()), " ".join(proof.split()), check)

    return build
