"""The parts of a text that are fixed: JSON, a numbered list, numbers, a claim, each in several forms and places.

A form is a `Part`. Its `label` is empty where people write so, and else says what is odd about it.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from cdct.saturation.constraints.puzzles import COLOUR, PET
from cdct.saturation.probes.figures import Figures
from cdct.saturation.probes.needs import Needs

GAP = "\0"
"""Where a word is still to be found."""
OWN, FENCE, BULLET, CELL, HEADING, PROSE, TAIL = "own", "fence", "bullet", "cell", "heading", "prose", "tail"
"""Where a part stands: on lines of its own, in a code block, in bullet items, in the cells of the table, in a heading,
within a sentence, or behind the last sentence of a paragraph."""
BELOW_ZERO = "a number below zero"
_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth"]
_CARDINALS = ["one", "two", "three", "four", "five", "six"]
_ROMANS = ["I", "II", "III", "IV", "V", "VI"]
_UNITS = ("", "km", "lb", "ft", "cm", "h", "kg")
_PLACES = {FENCE: "a code block", BULLET: "a bullet item", CELL: "a cell", HEADING: "a heading", PROSE: "prose"}


class Part(NamedTuple):
    """One form of a part: what is odd about it, how odd (0 is plain), where it stands, and its lines or pieces."""

    label: str = ""
    cost: int = 0
    place: str = ""
    pieces: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    """The whole numbers in digits that stand in it."""

    @property
    def words(self) -> int:
        return sum(map(word_count, self.pieces))

    @property
    def characters(self) -> int:
        return sum(map(len, self.pieces)) + len(self.pieces)

    @property
    def lines(self) -> int:
        """How many lines it adds."""
        return len(self.pieces) if self.place == OWN else 1 if self.place == HEADING else 0


@lru_cache(maxsize=4096)
def word_count(piece: str) -> int:
    """How many words stand in a piece, gaps among them."""
    return sum(GAP in token or any(map(str.isalnum, token)) for token in piece.split())


def forms(piece: str) -> list[str]:
    """Its words as they are compared."""
    bare = (token.strip(string.punctuation).lower() for token in piece.split() if GAP not in token)
    return [token for token in bare if token]


def fits(needs: Needs, *pieces: str) -> bool:
    """Whether no rule about letters, words and digits speaks against these pieces standing in one text."""
    text = "\n".join(pieces)
    if needs.forbidden and needs.forbidden in text.lower():
        return False
    if needs.banned and re.search(rf"(?<!\w){re.escape(needs.banned)}(?!\w)", text, re.IGNORECASE):
        return False
    if "N2" in needs.ids and any(map(text.__contains__, string.digits)):
        return False
    words = forms(text)
    low, high = needs.lengths
    if not all(low <= len(word) <= high for word in words):
        return False
    return not needs.unique or len(set(words)) == len(words)


# ---------------------------------------------------------------------------------------------------------------- JSON


def json_parts(needs: Needs) -> list[Part]:
    """The forms of the JSON objects: with spaces or without, in one object or two, on lines of their own or not."""
    found: list[Part] = []
    objects = list(needs.objects.values())
    if not objects:
        return [Part()]
    merged = [{key: value for one in objects for key, value in one.items()}]
    for values, joint in ((objects, 0), (merged, 1)) if len(objects) > 1 else ((objects, 0),):
        for cost, write in enumerate((json.dumps, _compact, partial(_narrow, needs.lengths[1]))):
            for short in (0, 1):
                pieces = [write(value) for value in values]
                pieces = [piece.replace('"colour"', '"color"') for piece in pieces] if short else pieces
                label = "one JSON object for both" if joint else ""
                found += _json_places(needs, pieces, label, 2 * cost + joint + (short and needs.forbidden != "u"))
    if needs.unique and "R1" not in needs.ids:
        found += _spare_keys(needs)
    return found


def _compact(value: dict[str, Any]) -> str:
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"))


def _narrow(most: int, value: dict[str, Any]) -> str:
    """JSON with as few spaces as words of `most` characters need."""
    words = [""]
    for piece in re.findall("[^,:]+[,:]?", _compact(value)):
        if len((words[-1] + piece).strip(string.punctuation)) <= most:
            words[-1] += piece
        else:
            words.append(piece)
    return " ".join(words)


def _json_places(
    needs: Needs, pieces: list[str], label: str, cost: int, numbers: tuple[int, ...] = ()
) -> Iterator[Part]:
    if not fits(needs, *pieces):
        return
    places = [(OWN, 0)] + [(FENCE, -1)] * (needs.fences > 0) + [(BULLET, 4)] * (needs.bullets > 0)
    places += [(CELL, 5)] * (needs.table is not None) + [(TAIL, 6)]
    for place, more in places:
        where = {BULLET: "JSON in a bullet item", CELL: "JSON in a cell", TAIL: "JSON behind a sentence"}.get(place, "")
        yield Part(", ".join(filter(None, [label, where])), cost + more, place, tuple(pieces), numbers)


def _spare_keys(needs: Needs) -> Iterator[Part]:
    """R3's object in short words of which none occurs twice: a repeated key shares its word with a spare value.

    A spare value is a letter; where that makes too long a word, the one before the third "color" is a number.
    """
    letters = iter([letter for letter in string.ascii_lowercase if letter not in {*"ivx", needs.forbidden}])
    digits = needs.lengths[1] < 9
    first = "color" if needs.forbidden == "u" else COLOUR
    numbers: list[int] = []
    people, alone = [], 0
    for number, (person, own) in enumerate(needs.objects["R3"].items()):
        pet, color = f'"{PET}":"{own[PET]}"', f'"{"color" if number else first}": "{own[COLOUR]}"'
        if len(pet) - 2 > needs.lengths[1]:
            pet = f'"{PET}": "{own[PET]}"'
            pet = f'"{next(letters) * needs.lengths[0]}": "{next(letters)}",{pet}' if alone else pet
            alone += 1
        if number > (first == COLOUR):
            numbers += [number] * digits
            spare = f"{number}" if digits else f'"{next(letters)}"'
            color = f'"{next(letters) * needs.lengths[0]}": {spare},{color}'
        people.append(f'"{person}": {{{pet}, {color}}}')
    yield from _json_places(needs, [f"{{{', '.join(people)}}}"], "JSON with spare keys", 8, tuple(numbers))


# ------------------------------------------------------------------------------------------------------- numbered list


def race_parts(needs: Needs) -> list[Part]:
    """The forms of the numbered list of runners: digits on lines, Roman numbers, words, bare numbers, in hosts."""
    if not needs.race:
        return [Part()]
    taken = set(needs.objects.get("R3", ())) if needs.unique else set()
    ending = "'d" if needs.forbidden == "s" else "'s"
    names = [name + ending if name in taken else name for name in needs.race]
    count = len(names)
    digits, ones = tuple(range(1, count + 1)), (1,) * count
    found: list[Part] = []

    def add(
        place: str,
        label: str,
        cost: int,
        marks: Sequence[object],
        between: str,
        numbers: Sequence[int] = (),
        joint: str | None = None,
    ) -> None:
        pieces = [f"{mark}{between}{name}" for mark, name in zip(marks, names, strict=False)]
        pieces = [joint.join(pieces)] if joint is not None and place != PROSE else pieces
        found.append(Part(label, cost, place, tuple(pieces), tuple(numbers)))

    add(OWN, "", 0, digits, ". ", digits)
    add(OWN, "", 2, _ROMANS, ". ")
    add(OWN, "the same number for all", 4, ones, ". ", ones)
    mark = "*" if needs.bullets else "-"  # an item with an asterisk is none of F2's
    for numbers, cost in ((digits, 3), (ones, 6)):
        marks = [f"{mark} {number}" for number in numbers]
        add(OWN, "numbered list in bullet items of its own", cost, marks, ".", numbers)
    if needs.lengths[0] > 1:
        for place in (OWN, FENCE) if needs.fences else (OWN,):
            add(place, "", 1, [f"{number:02}" for number in digits], ". ", digits)
    for place, cost in _hosts(needs):
        where = f"numbered list in {_PLACES[place]}"
        if place in (FENCE, BULLET):
            add(place, "" if place == FENCE else where, cost, digits, ". ", digits)
            add(place, f"{where}, without spaces", cost + 2, digits, ".", digits)
            add(place, "" if place == FENCE else f"{where}, Roman numbers", cost + 2, _ROMANS, ". ")
            add(place, f"{where}, the same number for all", cost + 4, ones, ". ", ones)
            add(place, f"{where}, the same number for all", cost + 5, ones, ".", ones)
        if place == PROSE:
            add(place, f"{where}, bare numbers", cost + 3, digits, " ", digits)
        else:
            bracketed = [f"({number})" for number in digits]
            add(place, f"{where}, on one line", cost + 3, bracketed, " ", digits, " ")
            add(place, f"{where}, on one line without spaces", cost + 4, bracketed, "", digits, " ")
        add(place, f"{where}, ordinal words", cost + 4, _ORDINALS, " ", joint=", ")
        add(place, f"{where}, cardinal words", cost + 4, _CARDINALS, ": ", joint=", ")
    return [part for part in found if fits(needs, *part.pieces)]


def _hosts(needs: Needs) -> list[tuple[str, int]]:
    """The places for what does not stand on lines of its own, and what they cost."""
    hosts = [(FENCE, 1)] * (needs.fences > 0) + [(BULLET, 2)] * (needs.bullets > 0)
    return hosts + [(CELL, 3)] * (needs.table is not None) + [(PROSE, 3), (HEADING, 3)]


# --------------------------------------------------------------------------------------------------- numbers and claim


def number_parts(needs: Needs) -> list[Part]:
    """Where numbers and sums may stand; `pieces` tell how a sum is written, the numbers come later."""
    if not (needs.equations or needs.sum or needs.different):
        return [Part()]
    found = []
    for place, cost in [(PROSE, 0)] + [pair for pair in _hosts(needs) if pair[0] != PROSE]:
        where = "" if place in (PROSE, FENCE) else f"numbers in {_PLACES[place]}"
        found.append(Part(where, cost, place, ("{} + {} = {}",)))
        if needs.equations:
            found.append(Part(where, cost + 1, place, ("{}+{}={}",)))
    if needs.sum:
        found += [
            Part(", ".join(filter(None, [part.label, BELOW_ZERO])), part.cost + 6, part.place, part.pieces)
            for part in found
        ]
    return found


def written(needs: Needs, numbers: Figures, equation: str, fixed: str) -> list[str]:
    """The sums and then the numbers as they are written; one gets a unit where by itself it would be no new word."""
    pieces = [equation.format(*one) for one in numbers.equations]
    used = set(forms(" ".join([fixed, *pieces])))
    units = [unit for unit in _UNITS if not needs.forbidden or needs.forbidden not in unit]
    for number in numbers.loose:
        ways = [f"{number}{unit}" for unit in units if len(f"{abs(number)}{unit}") >= needs.lengths[0]]
        free = [way for way in ways if way not in used] if needs.unique else ways
        pieces.append(free[0] if free else str(number))
        used.add(pieces[-1])
    return pieces


def claim_parts(needs: Needs) -> list[Part]:
    """Where the phrase with the word count may stand; the count comes later."""
    if not needs.claim:
        return [Part()]
    phrase = "this text contains exactly {} words"
    if not fits(needs, phrase.format("")):
        return []
    found = [Part("", 0, PROSE, (phrase,))]
    for place, cost in _hosts(needs):
        if place != PROSE:
            found.append(Part(f"claim in {_PLACES[place]}", cost, place, (phrase,)))
    return found
