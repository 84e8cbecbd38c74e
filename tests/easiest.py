"""Parameters with which a set of types is easiest to keep: if they break a rule, all parameters in the ranges do.

The rules of compatibility ask for least numbers and for letters. So of numbers only the end of the range is tried that
asks for least, unless two rules pull it both ways; of words the shortest ones without L1's letter; and all letters,
acrostics, sentence counts and directions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from itertools import pairwise, product
from typing import Any

from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.constraints.vocabulary import topics, vocabulary
from cdct.saturation.probes.bounds import least_words
from cdct.saturation.probes.rules import RULES

EASIEST = {
    "S3": {"paragraphs": 2, "min_sentences": 2},
    "S4": {"n": 400},
    "S5": {"n": 10},
    "L5": {"word": "people"},
    "L6": {"low": 0.5, "high": 0.65},
    "W2": {"low": 1, "high": 10},
    "W3": {"n": 5},
    "W5": {"n": 1},
    "F1": {"columns": 2, "rows": 2},
    "F2": {"n": 3},
    "F3": {"n": 1},
    "N3": {"n": 3},
    "N4": {"n": 2},
    "O3": {"short": 8, "long": 12},
    "O4": {"n": 3},
}
NUMBERS = 7
"""The most whole numbers that N1 asks for: the more, the easier N3 and N4."""


def without(words: Collection[str], letter: str) -> list[str]:
    """The words without a letter, the shortest first."""
    return sorted(
        (word for word in words if not letter or letter not in word.lower()), key=lambda word: (len(word), word)
    )


@cache
def spellings(letter: str) -> dict[str, list[dict[str, Any]]]:
    """For L2, R1, R2 and R3 the parameters with the fewest letters and without this one; a word may serve two types."""
    things, colours, sizes, relations, names, pets = (
        without(vocabulary(name), letter) for name in ("things", "colours", "sizes", "relations", "names", "pets")
    )
    found: dict[str, list[dict[str, Any]]] = {"L2": [], "R1": [], "R2": [], "R3": []}
    for triple in (things[:3], ["cup", *[thing for thing in things if thing != "cup"][:2]]):
        objects = {thing: {"colour": colours[0], "size": sizes[0]} for thing in triple}
        found["R1"].append({"objects": objects, "relations": [[a, relations[0], b] for a, b in pairwise(triple)]})
    order = names[:5]
    found["R2"].append({"order": order, "comparisons": [[a, "before", b] for a, b in pairwise(order)]})
    for triple in (pets[:3], ["crab", *[pet for pet in pets if pet != "crab"][:2]]):
        clues = [[names[0], "has", triple[0]], [names[1], "has", triple[1]]]
        clues += [[names[0], "likes", colours[0]], [names[1], "likes", colours[1]]]
        found["R3"].append({"people": names[:3], "pets": triple, "colours": colours[:3], "clues": clues})
    for words in topics().values():
        left = without(words, letter)
        found["L2"] += [{"words": left[:3]}] if len(left) > 2 else []
        for shared in ("cup", "crab"):
            found["L2"] += (
                [{"words": [shared, *[word for word in left if word != shared][:2]]}] if shared in left else []
            )
    return found


@cache
def firsts(letter: str, count: int, wanted: frozenset[str]) -> dict[str, Any] | None:
    """Words for L4 and M1 and a letter for L3 that agree with each other, with O2 and R4, and without L1's letter."""
    words = [word for word in vocabulary("acrostics") if count in (0, len(word)) and (not letter or letter not in word)]
    letters = [one for one in CONSTRAINTS["L3"].parameters["letter"].choices if one != letter]
    choices = {"L4": [{"word": word} for word in words], "M1": [{"word": word} for word in words]}
    choices["L3"] = [{"letter": one} for one in letters]
    ids = [id for id in ("L4", "M1", "L3") if id in wanted]
    for chosen in product(*(choices[id] for id in ids)):
        own = dict(zip(ids, chosen, strict=True))
        if not RULES["initials"].check(own | {id: {} for id in ("O2", "R4") if id in wanted}):
            return own
    return None


def candidates(ids: frozenset[str]) -> Iterator[dict[str, Any]]:
    """The parameters to try for these types."""
    base = {id: EASIEST.get(id, {}) for id in CONSTRAINTS if id in ids}
    fixed = ids & {"S2", "S6", "L4", "M1"}
    counts = [n for n in (3, 4, 5, 6, 7) if ("S2" not in ids or n < 7) and ("S6" not in ids or n % 2)] if fixed else [0]
    letters = CONSTRAINTS["L1"].parameters["letter"].choices if "L1" in ids else [""]
    directions = [{"O1": {"direction": one}} for one in ("increasing", "decreasing")] if "O1" in ids else [{}]
    totals = [{"N1": {"count": NUMBERS, "total": total}} for total in (50, 51)] if "N1" in ids else [{}]
    spelling = [id for id in ("L2", "R1", "R2", "R3") if id in ids]
    for count, letter in product(counts, letters):
        initials = firsts(letter, count, ids & {"L3", "L4", "M1", "O2", "R4"})
        if initials is None:
            continue
        own = base | initials | {id: {"n": count} for id in ("S2", "S6") if id in ids}
        own |= {"L1": {"letter": letter}} if letter else {}
        for words, direction, total in product(
            product(*(spellings(letter)[id] for id in spelling)), directions, totals
        ):
            chosen = own | dict(zip(spelling, words, strict=True)) | direction | total
            yield chosen | _number_of_words(chosen)


def _number_of_words(chosen: dict[str, Any]) -> dict[str, Any]:
    """The least n of S1 that has room for all words, and is a multiple that M3 can want."""
    found = {"M3": {"n": 3}} if "M3" in chosen else {}
    if "S1" in chosen:
        others = {id: CONSTRAINTS[id].read(own) for id, own in chosen.items() if id not in ("S1", "M3")}
        n = min(60, max(40, sum(least_words(others).values())))
        while "M3" in chosen and n < 60 and all(n % divisor for divisor in range(3, 8)):
            n += 1
        found["S1"] = {"n": n}
        found |= {"M3": {"n": next(divisor for divisor in range(3, 8) if n % divisor == 0)}} if "M3" in chosen else {}
    return found


@cache
def easiest(ids: frozenset[str]) -> dict[str, Any] | None:
    """Parameters for these types that break no rule, or None, which proves that there are none in the ranges."""
    rules = [rule for rule in RULES.values() if rule.ids & ids]
    for chosen in candidates(ids):
        read = {id: CONSTRAINTS[id].read(params) for id, params in chosen.items()}
        if not any(rule.check({id: read[id] for id in read if id in rule.ids}) for rule in rules):
            return chosen
    return None
