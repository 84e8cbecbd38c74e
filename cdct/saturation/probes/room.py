"""How much more than the least possible a set of constraints is given when its parameters are drawn together.

The bounds of the rules hold for replies that nobody writes: sentences of one word, words of one letter. Room is what
usual sentences, words and numbers take beyond that, as far as the ranges allow. It proves nothing and rejects nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from cdct.saturation.probes.bounds import (
    Chosen,
    compact,
    least_characters,
    least_lengths,
    least_lines,
    least_sentences,
    least_words,
    spelt,
)

ROOMS = (1.0, 0.8, 0.65, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0)
"""The shares of the usual room that are tried, by turns: at last no more than the rules want."""
SENTENCE, LETTERS, EQUATION = 4, 3.5, 13
"""The words of a short sentence, the letters of a short word, the sum of the numbers of an equation."""


def room_for(id: str, ids: Collection[str], chosen: Chosen, share: float) -> Callable[[Mapping[str, Any]], bool]:
    """Whether parameters of type `id` leave that share of the usual room, with `chosen` before it and `ids` in all."""
    if share and id in _ROOM:
        return _ROOM[id](ids, chosen, share)
    return lambda own: True


def _words(ids: Collection[str], chosen: Chosen, share: float) -> Callable[[Mapping[str, Any]], bool]:
    least = sum(least_words(chosen).values())
    least += round(share * (usual_words(ids, chosen) - least))
    return lambda own: own["n"] >= least


def _characters(ids: Collection[str], chosen: Chosen, share: float) -> Callable[[Mapping[str, Any]], bool]:
    least = sum(least_characters(chosen).values())
    least += round(share * (usual_characters(ids, chosen) - least))
    return lambda own: own["n"] >= least


def _lines(ids: Collection[str], chosen: Chosen, share: float) -> Callable[[Mapping[str, Any]], bool]:
    """A line each for the JSON of R1 and R3 and for R2's list."""
    least = sum(least_lines(chosen).values()) + round(share * sum(id in ids for id in ("R1", "R2", "R3")))
    return lambda own: own["n"] >= least


def _total(ids: Collection[str], chosen: Chosen, share: float) -> Callable[[Mapping[str, Any]], bool]:
    """No negative numbers: M2's numeral, small equations and 1, 2, ... for the rest."""
    equations = chosen["N4"]["n"] if "N4" in chosen else 0
    least = EQUATION * equations + ("M2" in ids and usual_words(ids, chosen))
    forced = 3 * equations + ("M2" in ids)
    return lambda own: own["total"] >= least + sum(range(1, own["count"] - forced + 1))


def _letter(ids: Collection[str], chosen: Chosen, share: float) -> Callable[[Mapping[str, Any]], bool]:
    """Where digits are counted or forbidden, R2's list has ordinals, cardinals or, on lines of its own, Roman numbers.

    Both kinds of words have the letters i, n, s, h, r and u; Roman numbers have i, and are words of one letter.
    """
    avoided = ""
    if "R2" in ids and not {"N1", "N2", "N3"}.isdisjoint(ids):
        avoided = "i" if {"W2", "S5"}.isdisjoint(ids) else "inshru"
    return lambda own: own["letter"] not in avoided


def _width(ids: Collection[str], chosen: Chosen, share: float) -> Callable[[Mapping[str, Any]], bool]:
    """With W1, R3's key "color" is joined with a letter for one of the people, which makes nine characters."""
    return lambda own: own["high"] > 8 or not {"W1", "R3"} <= set(ids)


def _short(id: str, most: int) -> Callable[..., Callable[[Mapping[str, Any]], bool]]:
    """With S4, R1 and R3 leave little of 400 characters for words: then each is one of its shortest fifth."""

    def room(ids: Collection[str], chosen: Chosen, share: float) -> Callable[[Mapping[str, Any]], bool]:
        return lambda own: not {"S4", "R1", "R3"} <= set(ids) or len(compact(id, own)) <= most

    return room


_ROOM = {
    "R1": _short("R1", 188),
    "R3": _short("R3", 110),
    "S1": _words,
    "S4": _characters,
    "S5": _lines,
    "N1": _total,
    "L1": _letter,
    "W2": _width,
}


def usual_words(ids: Collection[str], chosen: Chosen) -> int:
    """How many words a reply has at least whose sentences, lists and numbers are written in the usual way."""
    if "S1" in chosen:
        return chosen["S1"]["n"]
    least = least_words(chosen)
    sentences = sum(max(SENTENCE, length) for length in least_lengths(chosen) or ())
    beside = 2 * len(chosen["R2"]["order"]) if "R2" in chosen else 0
    beside += SENTENCE * ("M2" in ids) + SENTENCE * ("N1" in ids or "N4" in ids)
    return sentences + least["bullets"] + least["JSON"] + beside


def usual_characters(ids: Collection[str], chosen: Chosen) -> float:
    """About how many characters these words need, with a letter less than in English prose."""
    parts, words = least_characters(chosen), usual_words(ids, chosen) - least_words(chosen)["JSON"]
    if "S1" in chosen:  # JSON parted at spaces has as many words as strings
        others = {id: own for id, own in chosen.items() if id != "S1"}
        parted = sum(len(spelt(chosen).get(id, ())) for id in ("R1", "R3"))
        outside = usual_words(ids, others) - least_words(chosen)["JSON"]
        words = min(words, max(outside, chosen["S1"]["n"] - parted))
    known = sum(len(own) for id, own in spelt(chosen).items() if id in ("L2", "M2", "R2"))
    marks = least_sentences(chosen) + 3 * ("S3" in chosen) + 8 * (chosen["N4"]["n"] if "N4" in chosen else 0)
    fixed = sum(parts.get(part, 0) for part in ("JSON", "spelt words", "table", "bullets", "code"))
    return fixed + marks + max(words, parts.get("spaces", 0)) + LETTERS * max(0, words - known)
