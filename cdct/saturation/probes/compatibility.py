"""Which constraints no reply can keep together: `conflicts` of a probe, and `vet` for a type before it joins.

The proofs of the rules are about `ordinary` replies. What that leaves out are shortcuts through the verifiers that no
instruction means: escapes and entities, sentences that end within a word, JSON glued to a word or with a key twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.probes.hard import HARD, HARD_PAIRS, HARD_SETS
from cdct.saturation.probes.rules import RULES, Rule
from cdct.text import Text

__all__ = ["HARD", "HARD_PAIRS", "HARD_SETS", "RULES", "Conflict", "Rule", "conflicts", "found_by", "ordinary"]

_TYPOGRAPHY = str.maketrans("’‘“”–—…é", "''\"\"--.e")


@dataclass(frozen=True)
class Conflict:
    """Constraints that no reply can keep together: the rule that proves it, the types, and the reason in this case."""

    rule: str
    ids: tuple[str, ...]
    why: str


def conflicts(chosen: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Conflict]:
    """All rules that hold for these constraints, (id, parameters) pairs with at most one of each type.

    Each names as few of the types as it still holds for. An empty list is no proof that there is a reply. KeyError for
    an unknown id, ValueError for a type that occurs twice or a bad parameter.
    """
    if len({id for id, _ in chosen}) < len(chosen):
        raise ValueError(f"conflicts: at most one of each type, got {', '.join(id for id, _ in chosen)}")
    return found_by(RULES.values(), {id: CONSTRAINTS[id].read(params) for id, params in chosen})


def found_by(rules: Iterable[Rule], chosen: Mapping[str, Mapping[str, Any]]) -> list[Conflict]:
    """The same by these rules, for parameters by id as the verifiers read them."""
    found = []
    for rule in rules:
        own = {id: params for id, params in chosen.items() if id in rule.ids}
        if not rule.check(own):
            continue
        for id in list(own):
            fewer = {other: params for other, params in own.items() if other != id}
            own = fewer if rule.check(fewer) else own
        found.append(Conflict(rule.name, tuple(own), rule.check(own)))
    return found


def ordinary(reply: str | Text) -> bool:
    """Whether a reply is written as the proofs of the rules assume.

    - It is in ASCII, but for typographic quotation marks, apostrophes, dashes and dots, and holds no backslash and no
      HTML entity.
    - Each word of a sentence is a word of the reply, at the same place and of the same form: no sentence ends within a
      word, and no JSON object or list number touches one.
    - No JSON object has a key twice, or an underscore.
    - The three numbers of each equation are whole numbers of the reply: in " .2 + 3 = 5" one is none.
    """
    text = Text.of(reply)
    ascii = text.clean.translate(_TYPOGRAPHY)
    if not ascii.isascii() or "\\" in ascii or text.decoded_forms != text.forms:
        return False
    forms = dict(zip(text.word_spans, text.forms, strict=True))
    for number, words in enumerate(text.sentence_forms):
        places = text.sentence_word_spans(number)
        if any(forms.get(place) != form for place, form in zip(places, words, strict=True)):
            return False
    if any("_" in unit.text or _twice(unit.text) for unit in text.json_objects):
        return False
    numbers = [number.place[0] for number in text.integers]
    return all(sum(low <= at < high for at in numbers) == 3 for low, high in (one.place for one in text.equations))


def _twice(text: str) -> bool:
    """Whether an object in this JSON has a key twice."""
    found: list[bool] = []
    json.loads(text, object_pairs_hook=lambda pairs: found.append(len(dict(pairs)) < len(pairs)))
    return any(found)
