"""Small puzzles: a scene to write down (R1), a race to put in order (R2), clues that leave one solution (R3).

All facts are triples of words: ["cup", "above", "box"], ["Ada", "before", "Ben"], ["Ada", "does not like", "red"].
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, permutations
from typing import TYPE_CHECKING, Any

from cdct.saturation.constraints.base import quoted
from cdct.saturation.constraints.vocabulary import vocabulary
from cdct.text import normalise

if TYPE_CHECKING:
    import numpy as np

BEFORE, AFTER = "before", "after"
COLOUR, SIZE, PET = "colour", "size", "pet"
CLUES = {
    "has": (0, 1, True),
    "does not have": (0, 1, False),
    "likes": (0, 2, True),
    "does not like": (0, 2, False),
    "owner likes": (1, 2, True),
    "owner does not like": (1, 2, False),
}
"""What a clue may say: of which kind are its two words (person 0, pet 1, colour 2), and whether they go together."""

Triple = tuple[str, str, str]


def scene(rng: np.random.Generator) -> dict[str, Any]:
    """Three things with a colour and a size each, and two relations between two different pairs of them."""
    things = _some("things", 3, rng)
    objects = {thing: {COLOUR: _some("colours", 1, rng)[0], SIZE: _some("sizes", 1, rng)[0]} for thing in things}
    relations = []
    for pair in pairwise(things):
        first, second = pair if rng.integers(2) else pair[::-1]
        relations.append([first, _some("relations", 1, rng)[0], second])
    return {"objects": objects, "relations": _shuffled(relations, rng)}


def race(rng: np.random.Generator) -> dict[str, Any]:
    """Five or six runners, the order in which they finished, and comparisons that leave only this order.

    Every two neighbours are compared, half of them from behind, and nobody else: without any one of the comparisons
    two orders would be left.
    """
    order = _some("names", 5 + int(rng.integers(2)), rng)
    comparisons = [
        [first, BEFORE, second] if rng.integers(2) else [second, AFTER, first] for first, second in pairwise(order)
    ]
    return {"comparisons": _shuffled(comparisons, rng), "order": order}


@lru_cache(maxsize=1024)  # every reply to a race asks for the same one
def proves(comparisons: tuple[Triple, ...], order: tuple[str, ...]) -> bool:
    """Whether the comparisons are about these names and leave this order and no other.

    They do when none contradicts it and all neighbours are compared: two neighbours who are not can change places.
    """
    place = {name: number for number, name in enumerate(order)}
    pairs = {(left, right) if relation == BEFORE else (right, left) for left, relation, right in comparisons}
    if not all(one in place and other in place and place[one] < place[other] for one, other in pairs):
        return False
    return pairs.issuperset(pairwise(order))


@lru_cache(maxsize=1024)  # every reply to a puzzle asks for the same one
def _names(order: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str], dict[str, str]]:
    """A pattern of any of the names as a whole word, one of a further name, and the names by their folded form."""
    longest_first = sorted(order, key=len, reverse=True)
    name = rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)"
    further = rf"[\W_]*+(?:(?:and|or|then|also|plus|with|but|not)\b[\W_]*+)*+{name}"
    return re.compile(name, re.IGNORECASE), re.compile(further, re.IGNORECASE), {one.casefold(): one for one in order}


_REMARK = re.compile(r"[.!?…\n]|[(\[{:;,–—/|&>→=]|\s[-+<]")
_NOT = re.compile(r"\b(?:not|never|neither|nor)\b|n[’']t\b", re.IGNORECASE)


def named(items: Sequence[str], order: tuple[str, ...]) -> list[str | None]:
    """The one name that each item of a list stands for, or None; R2 says which items name more than one."""
    return [_name_of(item, *_names(order)) for item in items]


def _name_of(item: str, name: re.Pattern[str], further: re.Pattern[str], by_form: dict[str, str]) -> str | None:
    first = name.search(item)
    if first is None:
        return None
    mark = _REMARK.search(item, first.end())
    end = mark.start() if mark else len(item)
    if name.search(item, first.end(), end) or _NOT.search(item, 0, end):
        return None
    if mark and mark[0] not in ".!?…\n" and further.match(item, mark.end()):
        return None
    return by_form.get(first[0].casefold())


def grid(rng: np.random.Generator) -> dict[str, Any]:
    """Three people with a pet and a colour each, and clues that leave one solution, none of which can be spared."""
    kinds = [sorted(_some(name, 3, rng)) for name in ("names", "pets", "colours")]
    solution = int(rng.integers(36))
    clues = _shuffled([clue for clue, allowed in _statements().items() if solution in allowed], rng)
    for clue in list(clues):
        rest = [other for other in clues if other != clue]
        if len(set.intersection(*(_statements()[other] for other in rest))) == 1:
            clues = rest
    worded = [[kinds[one][i], relation, kinds[other][j]] for (one, i), relation, (other, j) in clues]
    return {"people": kinds[0], "pets": kinds[1], "colours": kinds[2], "clues": worded}


@lru_cache
def _statements() -> dict[tuple[tuple[int, int], str, tuple[int, int]], set[int]]:
    """All that can be said of three people, and in which of the 36 assignments it holds; a word is (kind, number)."""
    kinds = [[(kind, number) for number in range(3)] for kind in range(3)]
    assignments = _assignments(*kinds)
    return {
        (left, relation, right): {i for i, groups in enumerate(assignments) if _holds((left, relation, right), groups)}
        for relation, (one, other, _) in CLUES.items()
        for left in kinds[one]
        for right in kinds[other]
    }


@lru_cache(maxsize=1024)  # every reply to a puzzle asks for the same ones
def solutions(
    people: tuple[str, ...], pets: tuple[str, ...], colours: tuple[str, ...], clues: tuple[Triple, ...]
) -> tuple[tuple[Triple, ...], ...]:
    """All assignments that keep the clues, each a (person, pet, colour) by person, found by trying every one."""
    return tuple(
        groups for groups in _assignments(people, pets, colours) if all(_holds(clue, groups) for clue in clues)
    )


def _assignments(people: Sequence[Any], pets: Sequence[Any], colours: Sequence[Any]) -> list[tuple[Any, ...]]:
    return [
        tuple(zip(people, some_pets, some_colours, strict=True))
        for some_pets in permutations(pets)
        for some_colours in permutations(colours)
    ]


def _holds(clue: tuple[Any, str, Any], groups: Sequence[tuple[Any, ...]]) -> bool:
    left, relation, right = clue
    return any(left in group and right in group for group in groups) == CLUES[relation][2]


def _some(name: str, how_many: int, rng: np.random.Generator) -> list[str]:
    words = vocabulary(name)
    return [words[int(i)] for i in rng.permutation(len(words))[:how_many]]


def _shuffled(things: list[Any], rng: np.random.Generator) -> list[Any]:
    return [things[int(i)] for i in rng.permutation(len(things))]


# ----------------------------------------------------------------------------------- facts as parameters and as words


def read_names(value: Any) -> tuple[str, ...]:
    """Different words; ValueError for anything else, as from all readers of parameters."""
    names = tuple(map(_read_word, _list_of(value, "words")))
    if len({name.casefold() for name in names}) < len(names):
        raise ValueError(f"must be different words, got {value!r}")
    return names


def read_group(value: Any) -> tuple[str, ...]:
    """Two to four different words: with more of them, to try all assignments takes long."""
    names = read_names(value)
    if not 2 <= len(names) <= 4:
        raise ValueError(f"must be 2 to 4 words, got {len(names)}")
    return names


def triples(*relations: str) -> Callable[[Any], tuple[Triple, ...]]:
    """A reader of triples, with one of these relations in the middle of each, or any where none is given."""

    @lru_cache(maxsize=1024)  # the same few are read with every reply
    def known(triple: tuple[Any, ...]) -> Triple:
        if len(triple) != 3:
            raise ValueError(f"must hold lists of three words, got {list(triple)}")
        left, relation, right = map(_read_word, triple)
        if relations and relation not in relations:
            raise ValueError(f"must relate with one of {', '.join(map(quoted, relations))}, got {relation!r}")
        return left, relation, right

    def read(value: Any) -> tuple[Triple, ...]:
        found = [tuple(_list_of(triple, "words")) for triple in _list_of(value, "lists of three words")]
        try:
            return tuple(map(known, found))
        except TypeError:  # lists within, which cannot be kept
            raise ValueError(f"must hold lists of three words, got {value!r}") from None

    return read


def read_objects(value: Any) -> dict[str, dict[str, str]]:
    """Names, and for each its properties and their values."""
    if not isinstance(value, dict) or not value or not all(isinstance(own, dict) for own in value.values()):
        raise ValueError(f"must map names to their properties, got {value!r}")
    return {
        _read_word(name): {_read_word(key): _read_word(word) for key, word in own.items()}
        for name, own in value.items()
    }


def _list_of(value: Any, what: str) -> Sequence[Any]:
    if not isinstance(value, list | tuple) or not value:
        raise ValueError(f"must be a list of {what}, got {value!r}")
    return value


def _read_word(value: Any) -> str:
    word = _word(value) if isinstance(value, str) else ""
    if not word:
        raise ValueError(f"must hold words without quotation marks, got {value!r}")
    return word


@lru_cache(maxsize=1024)  # the same few words are read with every reply
def _word(value: str) -> str:
    return normalise(value) if any(map(str.isalnum, value)) and '"' not in value and "\n" not in value else ""


def joined(words: Sequence[str]) -> str:
    """ "red", "red and blue", "red, blue and green"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def show_objects(objects: Mapping[str, Mapping[str, str]]) -> str:
    """ "the cup (colour red, size small) and the box (colour blue, size tiny)"."""
    properties = {name: ", ".join(f"{key} {word}" for key, word in own.items()) for name, own in objects.items()}
    return joined([f"the {name} ({words})" if words else f"the {name}" for name, words in properties.items()])


def show_relations(relations: Sequence[Triple]) -> str:
    """ "the cup is above the box and the box is behind the hat"."""
    return joined([f"the {left} is {relation} the {right}" for left, relation, right in relations])


def show_comparisons(comparisons: Sequence[Triple]) -> str:
    """ "Ada finished before Ben; Cleo finished after Ben"."""
    return "; ".join(f"{left} finished {relation} {right}" for left, relation, right in comparisons)


def show_clues(clues: Sequence[Triple]) -> str:
    """ "Ada has the cat. Ben does not like red. The dog’s owner likes blue."."""
    return " ".join(map(_show_clue, clues))


def _show_clue(clue: Triple) -> str:
    left, relation, right = clue
    of_a_person, of_a_colour = CLUES[relation][0] == 0, CLUES[relation][1] == 2
    return f"{left if of_a_person else f'The {left}’s'} {relation} {right if of_a_colour else f'the {right}'}."
