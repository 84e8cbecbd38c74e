"""What a set of constraints forces on every reply: sentences and their lengths, words, lines, characters, spelt words.

All bounds hold for every layout of a reply that is `ordinary` (see `cdct.saturation.probes.compatibility`): words and
JSON may stand in bullets, cells may be empty, a code block may hold no word, a sentence may be one word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import permutations, product
from typing import Any

from cdct.saturation.constraints.puzzles import solutions
from cdct.saturation.constraints.relations import fold
from cdct.text import word_form

Chosen = Mapping[str, Mapping[str, Any]]
"""The constraints of a probe, at most one of each type: parameters by id, as `Constraint.read` gives them."""

PHRASE = ("this", "text", "contains", "exactly", "words")
"""M2's phrase without its numeral."""
MOST_SENTENCES = 100
MOST_FACTS = 4

# ----------------------------------------------------------------------------------------------------------- sentences


def counts(chosen: Chosen) -> dict[str, int]:
    """The exact number of sentences that each of S2, S6, L4 and M1 wants."""
    found = {id: chosen[id]["n"] for id in ("S2", "S6") if id in chosen}
    return found | {id: len(chosen[id]["word"]) for id in ("L4", "M1") if id in chosen}


def minima(chosen: Chosen) -> dict[str, int]:
    """The least number of sentences that each type wants which judges sentences; none passes without one."""
    fixed = {"O1": 3, "O2": 3, "O3": 3, "R4": 2, "F4": 2, "L3": 1, "W3": 1, "W4": 1, "W5": 1}
    found = {id: least for id, least in fixed.items() if id in chosen}
    if "S3" in chosen:
        found["S3"] = chosen["S3"]["paragraphs"] * chosen["S3"]["min_sentences"]
    if "O4" in chosen:
        found["O4"] = chosen["O4"]["n"]
    return found


def least_sentences(chosen: Chosen) -> int:
    """How many sentences a reply has at least; 0 where none needs to stand."""
    return max([*counts(chosen).values(), *minima(chosen).values()], default=0)


def least_lengths(chosen: Chosen) -> tuple[int, ...] | None:
    """The shortest sentences that keep W3, W5, O1, O3, O4, S6 and R4 with F4: words by sentence, or None.

    Where no number of sentences is fixed, the least one and the next are tried. No more are needed: of more sentences,
    one after O4's row, or the first two, can be left out, and the rest still keeps all of it.
    """
    least = least_sentences(chosen)
    floor = max(chosen["W3"]["n"] if "W3" in chosen else 1, chosen["W5"]["n"] if "W5" in chosen else 1)
    direction = chosen["O1"]["direction"] if "O1" in chosen else ""
    short, long = (chosen["O3"]["short"], chosen["O3"]["long"]) if "O3" in chosen else (0, 0)
    growth = chosen["O4"]["n"] if "O4" in chosen else 0
    linked = "R4" in chosen and "F4" in chosen
    tried = [
        _lengths(count, floor, direction, short, long, growth, "S6" in chosen, linked)
        for count in ([least] if counts(chosen) else [least, least + 1])
    ]
    return min((found for found in tried if found is not None), key=sum, default=None)


@lru_cache(maxsize=4096)
def _lengths(
    count: int, floor: int, direction: str, short: int, long: int, growth: int, mirrored: bool, linked: bool
) -> tuple[int, ...] | None:
    """The componentwise least lengths of `count` sentences, or None where there are none.

    Every rule but O3's limit says "this sentence has at least so many words", given others; so raising lengths from
    the floor until all hold gives the least ones that hold, and they are tested against the limit. Where a solution is
    there, every raise follows a chain of sentences without a repeat, so 2 * count rounds suffice.
    """
    if count > MOST_SENTENCES:
        return (floor,) * count
    best: tuple[int, ...] | None = None
    for start in range(count - growth + 1) if growth else (count,):
        found = [max(floor, 2 if linked and i else 1) for i in range(count)]
        for _ in range(2 * count + 1):
            before = list(found)
            for i in range(count):
                least = [found[i], long if i % 2 else 1]
                least += [found[i - 1] + 1] if direction == "increasing" and i else []
                least += [found[i + 1] + 1] if direction == "decreasing" and i + 1 < count else []
                least += [found[-1 - i]] if mirrored else []
                least += [found[i - 1] + found[i - 2] + 1] if start + 2 <= i < start + growth else []
                found[i] = max(least)
            if found == before:
                break
        else:
            continue
        if (not short or max(found[::2]) <= short) and (best is None or sum(found) < sum(best)):
            best = tuple(found)
    return best


# --------------------------------------------------------------------------------------------------------- spelt words


def spelt(chosen: Chosen) -> dict[str, tuple[str, ...]]:
    """The words that L2, M2, R1, R2 and R3 force, folded, by id; "color" for "colour", the shorter one of the two."""
    found: dict[str, list[str]] = {}
    if "L2" in chosen:
        found["L2"] = list(chosen["L2"]["words"])
    if "M2" in chosen:
        found["M2"] = list(PHRASE)
    if "R2" in chosen:
        found["R2"] = list(chosen["R2"]["order"])
    for id in ("R1", "R3"):
        if id in chosen:
            found[id] = list(strings(facts(id, chosen[id])))
    return {id: tuple(part for word in words for part in _shortest(word).split()) for id, words in found.items()}


@lru_cache(maxsize=1024)
def _shortest(word: str) -> str:
    return (fold(word) or "").replace("colour", "color")


def facts(id: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object that R1 or R3 wants."""
    if id == "R1":
        return {"objects": params["objects"], "relations": [list(triple) for triple in params["relations"]]}
    (groups,) = solutions(params["people"], params["pets"], params["colours"], params["clues"])
    return {person: {"pet": pet, "colour": colour} for person, pet, colour in groups}


def strings(value: Any) -> Iterator[str]:
    """All keys and strings of a JSON value, in its order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from strings(inner)
    else:
        for inner in value:
            yield from strings(inner)


def forms(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words without outer punctuation, as W2 measures them."""
    return tuple(map(word_form, words))


# --------------------------------------------------------------------------------------------------------------- words


def fewest_json_words(chosen: Chosen) -> int:
    """How many words the JSON of R1 and R3 has at least: one, but for W2, which parts its strings."""
    ids = [id for id in ("R1", "R3") if id in chosen]
    if not ids or "W2" not in chosen:
        return min(len(ids), 1)
    high, known = chosen["W2"]["high"], spelt(chosen)
    fewest = [_fewest_words(json.dumps(facts(id, chosen[id])), high) for id in ids]
    shortest = min(len(word) for id in ids for word in known[id])
    # in one object, five marks and two strings, or four and "objects", stand where one type's strings meet the other's
    return sum(fewest) if high < min(2 * shortest + 5, shortest + 11) else max(fewest)


@lru_cache(maxsize=4096)
def _fewest_words(value: str, high: int) -> int:
    """The fewest words of up to `high` characters into which the strings of this JSON value fall, in any order.

    In compact JSON a word reaches from the first to the last letter of neighbouring strings, so taking as many strings
    into each word as fit gives the fewest for an order, and all orders are tried. (Large values: no more than 1.)
    """
    value = json.loads(value)
    if max(map(len, value.values())) > MOST_FACTS or len(value) > MOST_FACTS:
        return 1
    fewest = []
    for text in _orders(value):
        words, start, at = 0, -high - 1, 0
        for string in text.split('"')[1::2]:
            at = text.index(f'"{string}"', at) + 1
            if at + len(string) - start > high:
                words, start = words + 1, at
            at += len(string)
        fewest.append(words)
    return min(fewest)


def _orders(value: Any) -> Iterator[str]:
    """Compact JSON of a value with its keys, and the members of lists of lists, in every order."""
    if isinstance(value, str):
        yield f'"{_shortest(value)}"'
    elif isinstance(value, dict):
        for items in permutations(value.items()):
            for inner in product(*(list(_orders(own)) for _, own in items)):
                pairs = zip(items, inner, strict=True)
                yield "{" + ",".join(f'"{_shortest(key)}":{text}' for (key, _), text in pairs) + "}"
    else:
        for members in permutations(value) if isinstance(value[0], list) else [value]:
            for inner in product(*(list(_orders(member)) for member in members)):
                yield "[" + ",".join(inner) + "]"


def least_words(chosen: Chosen) -> dict[str, int]:
    """How many words a reply has at least: those of sentences, of bullet items that hold no JSON, and of the JSON."""
    lengths = least_lengths(chosen)
    jsons = sum(id in chosen for id in ("R1", "R3"))
    bullets = max(0, chosen["F2"]["n"] - jsons) if "F2" in chosen else 0
    return {"sentences": sum(lengths or ()), "bullets": bullets, "JSON": fewest_json_words(chosen)}


# --------------------------------------------------------------------------------------------------- lines, characters


def least_lines(chosen: Chosen) -> dict[str, int]:
    """How many lines that are not empty a reply has at least.

    A line is of one kind, but the first of a code block may stand behind the hyphen of an item; JSON can stand on any.
    """
    found = {}
    if least_sentences(chosen):
        found["prose"] = chosen["S3"]["paragraphs"] if "S3" in chosen else 1
    if "F1" in chosen:
        found["table"] = chosen["F1"]["rows"] + 2
    if "F2" in chosen:
        found["bullets"] = chosen["F2"]["n"]
    if "F3" in chosen:
        found["code"] = 3 * chosen["F3"]["n"] - min(chosen["F3"]["n"], found.get("bullets", 0))
    return found


def least_characters(chosen: Chosen) -> dict[str, int]:
    """How many characters a reply has at least, by what they are for."""
    words, known = least_words(chosen), spelt(chosen)
    outside, json_words = words["sentences"] + words["bullets"], words["JSON"]
    # whole words of letters and digits alone share no character, unless they are the same word
    inside = {part for id in ("R1", "R3") for word in known.get(id, ()) for part in re.findall(r"[^\W_]+", word)}
    spelt_out = dict.fromkeys(word for id in ("L2", "M2", "R2") for word in known.get(id, ()) if word.isalnum())
    free = [word for word in spelt_out if word not in inside]
    total = outside + json_words
    if "S1" in chosen:
        total = max(total, chosen["S1"]["n"])
        # a word more is cheapest where JSON is parted at a space; it can be parted once before each string
        outside = max(outside, total - sum(len(known.get(id, ())) for id in ("R1", "R3")))
    low = chosen["W2"]["low"] if "W2" in chosen else 1
    found = {
        "JSON": sum(len(compact(id, chosen[id])) - 1 for id in ("R1", "R3") if id in chosen),  # may be one object
        "spelt words": sum(map(len, free)),
        "other words": max(0, outside - len(free)) * low,
        "spaces": max(0, total - 1),
    }
    if "F1" in chosen:
        columns, rows = chosen["F1"]["columns"], chosen["F1"]["rows"]
        found["table"] = (rows + 1) * (columns - 1) + 2 * columns
    if "F2" in chosen:
        found["bullets"] = 2 * chosen["F2"]["n"]
    if "F3" in chosen:
        found["code"] = 7 * chosen["F3"]["n"]
    return {part: count for part, count in found.items() if count > 0}


def compact(id: str, params: Mapping[str, Any]) -> str:
    """The JSON of R1 or R3 without a blank, with "color" for "colour"."""
    text = json.dumps(facts(id, params), separators=(",", ":"), ensure_ascii=False)
    return text.replace("colour", "color")
