"""Output features, found from the code: small edits of a text, and for each the types whose verdict it can turn.

An edit changes one feature and leaves the rest as it is. `EDITS[name].reads` are the types that read that feature: of a
text that passes, the edit can make these fail, and no others. Two types share an output feature where an edit names
both (compare the paper's clusters, section 5.3).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.constraints.lexical import VOWELS
from cdct.saturation.constraints.vocabulary import vocabulary
from cdct.text import Span, Text

if TYPE_CHECKING:
    import numpy as np

NEW_WORD = "ωμ"
"""A word without a vowel, a consonant or a digit, as the constraints count them, and of a length that all allow."""
NEW_NUMBER = "907"
_RARE = "nshrdlcmw"
"""The consonants that L1 can forbid."""
_FIXED = {
    *("this", "text", "contains", "exactly", "words"),
    *("first", "second", "third", "fourth", "fifth", "sixth", "finally"),
    *("one", "two", "three", "four", "five", "six", "last", "lastly"),
}
_RELATION = re.compile(r'\[\s*"(\w+)"\s*,\s*"\w+"\s*,\s*"(\w+)"\s*\]')
_COLOUR_OF_A_PERSON = re.compile(r'"pet"[^{}]*?"colou?r"\s*:\s*"(\w+)"')


@dataclass(frozen=True)
class Edit:
    """One edit: `change` gives the new text, or None where there is nothing to change; `reads` are the types by id."""

    name: str
    reads: frozenset[str]
    change: Callable[[Text, np.random.Generator], str | None]

    def __call__(self, text: str | Text, rng: np.random.Generator) -> str | None:
        return self.change(Text.of(text), rng)


EDITS: dict[str, Edit] = {}


def edit(name: str, reads: str) -> Callable[[Callable[[Text, np.random.Generator], str | None]], Edit]:
    """A decorator that makes an edit of a function, for these types; KeyError for an unknown id."""

    def build(change: Callable[[Text, np.random.Generator], str | None]) -> Edit:
        EDITS[name] = Edit(name, frozenset(CONSTRAINTS[id].id for id in reads.split()), change)
        return EDITS[name]

    return build


def signatures() -> dict[str, frozenset[str]]:
    """For each type the names of the edits that can turn its verdict."""
    return {id: frozenset(name for name, one in EDITS.items() if id in one.reads) for id in CONSTRAINTS}


# ---------------------------------------------------------------------------------------------------- places in a text


def _inner(text: Text, fewest: int = 4) -> list[list[Span]]:
    """By sentence, the small-letter words that are neither its first nor its last, in sentences that are long enough.

    Words that are part of a claim or of a numbered list in words are left out.
    """
    found = []
    for number, words in enumerate(text.sentence_words):
        spans = text.sentence_word_spans(number)[1:-1] if len(words) >= fewest else []
        plain = [span for span in spans if re.fullmatch("[a-z]+", _at(text, span)) and _at(text, span) not in _FIXED]
        found.append(plain)
    return found


def _at(text: Text, span: Span) -> str:
    return text.raw[span[0] : span[1]]


def _neighbours(text: Text) -> list[tuple[Span, Span]]:
    """Inner words with nothing but a space between them."""
    return [(one, two) for spans in _inner(text) for one, two in pairwise(spans) if _at(text, (one[1], two[0])) == " "]


def _one(things: Sequence[Any], rng: np.random.Generator) -> Any:
    """One of these, or None where there is none."""
    return things[int(rng.integers(len(things)))] if things else None


def _changed(text: Text, *changes: tuple[Span, str]) -> str:
    """The text with other characters at these places."""
    raw = text.raw
    for (start, end), new in sorted(changes, reverse=True):
        raw = raw[:start] + new + raw[end:]
    return raw


def _swapped(text: Text, one: Span, two: Span) -> str:
    return _changed(text, (one, _at(text, two)), (two, _at(text, one)))


def _behind_a_word(text: Text, rng: np.random.Generator, new: str) -> str | None:
    place = _one([span for spans in _inner(text) for span in spans], rng)
    return place and _changed(text, ((place[1], place[1]), new))


def _replaced(text: Text, rng: np.random.Generator, words: Callable[[str], Sequence[str]]) -> str | None:
    """The text with one inner word replaced by one of the words that a function gives for it."""
    places = [(span, new) for spans in _inner(text) for span in spans for new in words(_at(text, span))]
    place = _one(places, rng)
    return place and _changed(text, place)


def _gaps(text: Text) -> list[tuple[Span, Span]]:
    """The last character of a sentence, a full stop, and the white space behind it, within one paragraph."""
    found = []
    for paragraph in text.paragraphs:
        for one, two in pairwise(paragraph.sentences):
            end, start = one.span[1], two.span[0]
            if text.raw[end - 1] == "." and text.raw[end:start] in (" ", "\n"):
                found.append(((end - 1, end), (end, start)))
    return found


def _ended(text: Text, new: str) -> str:
    return f"{text.raw.rstrip()}\n{new}"


@edit("line broken", "S5")
def _(text: Text, rng: np.random.Generator) -> str | None:
    place = _one(_neighbours(text), rng)
    return place and _changed(text, ((place[0][1], place[1][0]), "\n"))


@edit("paragraph broken", "S3 S4 S5")
def _(text: Text, rng: np.random.Generator) -> str | None:
    place = _one(_gaps(text), rng)
    return place and _changed(text, (place[1], "\n\n"))


@edit("comma added", "S4")
def _(text: Text, rng: np.random.Generator) -> str | None:
    return _behind_a_word(text, rng, ",")


@edit("word in capitals", "")
def _(text: Text, rng: np.random.Generator) -> str | None:
    return _replaced(text, rng, lambda word: [word.upper()])


@edit("sentences joined", "S2 S3 S6 L4 W4 R4 F4 M1 O1 O2 O3 O4")
def _(text: Text, rng: np.random.Generator) -> str | None:
    place = _one(_gaps(text), rng)
    if place is None:
        return None
    after = place[1][1]
    return _changed(text, (place[0], ","), ((after, after + 1), text.raw[after].lower()))


@edit("sentence split", "S2 S4 S6 L3 L4 W3 W5 R4 F4 M1 O1 O2 O3 O4")
def _(text: Text, rng: np.random.Generator) -> str | None:
    place = _one(_neighbours(text), rng)
    if place is None:
        return None
    one, two = place
    return _changed(text, ((one[1], one[1]), "."), ((two[0], two[0] + 1), text.raw[two[0]].upper()))


@edit("word added", "S1 S4 S6 M2 M3 O1 O3 O4")
def _(text: Text, rng: np.random.Generator) -> str | None:
    return _behind_a_word(text, rng, f" {NEW_WORD}")


@edit("words joined", "S1 S6 W2 W3 W5 M2 M3 O1 O3 O4")
def _(text: Text, rng: np.random.Generator) -> str | None:
    place = _one(_neighbours(text), rng)
    return place and _changed(text, ((place[0][1], place[1][0]), "-"))


@edit("inner words swapped", "W4")
def _(text: Text, rng: np.random.Generator) -> str | None:
    place = _one(_neighbours(text), rng)
    return place and _swapped(text, *place)


@edit("first word changed", "L3 L4 W4 R4 O2")
def _(text: Text, rng: np.random.Generator) -> str | None:
    """The first word of a sentence and the one behind it change places."""
    places = []
    for number, spans in enumerate(_inner(text)):
        first, second = text.sentence_word_spans(number)[0], spans[0] if spans else None
        if second and re.fullmatch("[A-Z][a-z]*", _at(text, first)) and _at(text, (first[1], second[0])) == " ":
            places.append((first, second))
    place = _one(places, rng)
    if place is None:
        return None
    first, second = place
    return _changed(text, (first, _at(text, second).capitalize()), (second, _at(text, first).lower()))


@edit("last word changed", "W4 R4 F4 M1")
def _(text: Text, rng: np.random.Generator) -> str | None:
    """The last word of a sentence and the one before it change places; the full stop stays."""
    places = []
    for number, spans in enumerate(_inner(text)):
        start, end = text.sentence_word_spans(number)[-1]
        last = (start, end - 1)
        if spans and re.fullmatch("[a-z]+", _at(text, last)) and _at(text, (spans[-1][1], start)) == " ":
            places.append((spans[-1], last))
    place = _one(places, rng)
    return place and _swapped(text, *place)


@edit("word repeated", "L2 L6 W1 W4 W5")
def _(text: Text, rng: np.random.Generator) -> str | None:
    """An inner word is replaced by another one that is as long."""
    words = dict.fromkeys(_at(text, span) for spans in _inner(text) for span in spans)
    return _replaced(text, rng, lambda word: [other for other in words if other != word and len(other) == len(word)])


@edit("letter replaced", "L1 L2")
def _(text: Text, rng: np.random.Generator) -> str | None:
    """A consonant of an inner word becomes another one, so that the word is a new one."""
    known = {*text.forms, *vocabulary("content_words")}

    def new(word: str) -> list[str]:
        places = [i for i, letter in enumerate(word) if letter not in {*VOWELS, "y"}]
        found = [word[:i] + letter + word[i + 1 :] for i in places for letter in _RARE if letter != word[i]]
        return [other for other in found if other not in known]

    return _replaced(text, rng, new)


@edit("common word used", "L1 L2 L5 L6 W1 W4 W5")
def _(text: Text, rng: np.random.Generator) -> str | None:
    """An inner word is replaced by a content word that is as long."""
    common = [word for word in vocabulary("content_words") if word not in _FIXED]
    return _replaced(text, rng, lambda word: [other for other in common if other != word and len(other) == len(word)])


@edit("vowels replaced", "L2 L6")
def _(text: Text, rng: np.random.Generator) -> str | None:
    """In a part of the inner words, y stands for every vowel: a consonant for L6, no part of a cluster for W5."""
    known, changes = set(text.forms), []
    for span in [span for spans in _inner(text) for span in spans]:
        new = re.sub("[aeiou]", "y", _at(text, span))
        if new not in known and rng.random() < 0.7:
            known.add(new)
            changes.append((span, new))
    return _changed(text, *changes) if changes else None


@edit("number added", "S1 S4 S6 M2 M3 N1 N2 N3 O1 O3 O4")
def _(text: Text, rng: np.random.Generator) -> str | None:
    return _behind_a_word(text, rng, f" {NEW_NUMBER}")


@edit("number changed", "M2 N1 N3 N4")
def _(text: Text, rng: np.random.Generator) -> str | None:
    """The last digit of a number changes, so that it is one that did not occur; numbers of lists stay."""
    listed = {item.place[0] + bracket for unit in text.numbered for item in unit.items for bracket in (0, 1)}
    objects = [unit.place for unit in text.json_objects]
    places = []
    for unit in text.integers:
        start, end = unit.span
        if unit.place[0] in listed or any(low <= start < high for low, high in objects):
            continue
        known = {*(str(abs(other.value)) for other in text.integers), *text.forms}
        new = [text.raw[start : end - 1] + digit for digit in "123456789"]
        places += [(unit.span, number) for number in new if number.lstrip("-+0") not in known]
    place = _one(places, rng)
    return place and _changed(text, place)


@edit("bullet item added", "S1 S4 S5 F2 M2 M3")
def _(text: Text, rng: np.random.Generator) -> str | None:
    return _ended(text, f"\n- {NEW_WORD}")


@edit("table row added", "S4 S5 F1")
def _(text: Text, rng: np.random.Generator) -> str | None:
    table = _one(text.tables, rng)
    return table and _changed(text, ((table.span[1], table.span[1]), "\n|" + " |" * table.columns))


@edit("code block added", "S4 S5 F3")
def _(text: Text, rng: np.random.Generator) -> str | None:
    return _ended(text, "\n```\n=\n```")


@edit("relation turned", "R1")
def _(text: Text, rng: np.random.Generator) -> str | None:
    found = _RELATION.search(text.raw)
    return found and _swapped(text, found.span(1), found.span(2))


@edit("colours of people swapped", "R3")
def _(text: Text, rng: np.random.Generator) -> str | None:
    found = list(_COLOUR_OF_A_PERSON.finditer(text.raw))[:2]
    return _swapped(text, found[0].span(1), found[1].span(1)) if len(found) == 2 else None


@edit("names of a list swapped", "R2")
def _(text: Text, rng: np.random.Generator) -> str | None:
    """The last words of the first two items change places, in a list that has lines of its own."""
    for unit in text.numbered:
        lines = [item.span for item in unit.items[:2]]
        names = [re.search(r"[A-Z][\w']*\s*$", _at(text, span)) for span in lines]
        if unit.style == "line" and len(unit.items) > 2 and all(names):
            places = [(start + name.start(), start + name.end()) for (start, _), name in zip(lines, names, strict=True)]
            return _swapped(text, *places)
    return None
