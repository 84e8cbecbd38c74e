"""What is drawn for R1, R2 and R3 can be answered in one way, proven by trying all, and tells nothing twice."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product

import pytest

from cdct.core import stream
from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.constraints.puzzles import CLUES, grid, proves, race, scene, solutions
from cdct.saturation.constraints.vocabulary import vocabulary

NUMBERS = range(300)


def orders(comparisons: list, names: list) -> list[tuple]:
    """All orders that agree with the comparisons, by trying every one."""
    return [
        order
        for order in permutations(names)
        if all(
            (order.index(left) < order.index(right)) == (relation == "before") for left, relation, right in comparisons
        )
    ]


def told(clue: list, owner: dict, fan: dict) -> bool:
    """Whether a clue is true where `owner` has the pet's owner and `fan` who likes the colour."""
    left, relation, right = clue
    positive = "not" not in relation.split()
    if relation.startswith("owner"):
        return (owner[left] == fan[right]) == positive
    return ((owner if "ha" in relation else fan)[right] == left) == positive


def answers(puzzle: dict, clues: list) -> int:
    """How many assignments keep the clues, by trying every one."""
    return sum(
        all(
            told(clue, dict(zip(puzzle["pets"], owners, strict=True)), dict(zip(puzzle["colours"], fans, strict=True)))
            for clue in clues
        )
        for owners, fans in product(permutations(puzzle["people"]), repeat=2)
    )


def test_comparisons_leave_one_order_and_all_are_needed():
    for number in NUMBERS:
        made = race(stream("race", number))
        names = sorted(made["order"])
        assert orders(made["comparisons"], names) == [tuple(made["order"])]
        for left_out in range(len(names) - 1):
            rest = [*made["comparisons"][:left_out], *made["comparisons"][left_out + 1 :]]
            assert len(orders(rest, names)) > 1


def test_clues_leave_one_solution_and_none_can_be_spared():
    for number in NUMBERS:
        made = grid(stream("grid", number))
        assert answers(made, made["clues"]) == 1
        for clue in made["clues"]:
            assert answers(made, [other for other in made["clues"] if other != clue]) > 1


def test_a_scene_relates_two_different_pairs():
    for number in NUMBERS:
        made = scene(stream("scene", number))
        assert len(made["objects"]) == 3
        assert all(list(own) == ["colour", "size"] for own in made["objects"].values())
        pairs = [frozenset((left, right)) for left, _, right in made["relations"]]
        assert len(set(pairs)) == 2
        assert all(len(pair) == 2 and pair <= set(made["objects"]) for pair in pairs)


def test_relations_say_nothing_of_sizes_and_hold_in_one_direction():
    """A huge thing is not inside a tiny one; what is above, below, behind or beyond another may have any size."""
    assert set(vocabulary("relations")) == {"above", "below", "behind", "beyond"}


@pytest.mark.parametrize("made", [scene, race, grid])
def test_what_is_drawn_depends_on_the_stream_alone_and_varies(made):
    drawn = [str(made(stream("puzzles", number))) for number in range(50)]
    assert drawn == [str(made(stream("puzzles", number))) for number in range(50)]
    assert len(set(drawn)) == 50


def test_nothing_in_a_puzzle_tells_its_solution_by_its_place():
    """Each person has the first, second and third pet equally often, and first and last runner come first in clues."""
    places: Counter[int] = Counter()
    for number in range(600):
        made = grid(stream("places", number))
        assert made["people"] == sorted(made["people"])
        (groups,) = solutions(
            *(tuple(made[kind]) for kind in ("people", "pets", "colours")), tuple(map(tuple, made["clues"]))
        )
        places[made["pets"].index(groups[0][1])] += 1
    assert min(places.values()) > 150
    first = Counter(race(stream("first", number))["comparisons"][0][1] for number in range(400))
    assert min(first["before"], first["after"]) > 150


@pytest.mark.parametrize(
    ("comparisons", "order", "proven"),
    [
        ([("a", "before", "b")], ("a", "b"), True),
        ([("b", "after", "a")], ("a", "b"), True),
        ([("a", "before", "b"), ("a", "before", "b")], ("a", "b"), True),
        ([("a", "before", "b"), ("b", "before", "c"), ("a", "before", "c")], ("a", "b", "c"), True),
        ([("a", "before", "b"), ("a", "before", "c")], ("a", "b", "c"), False),
        ([("b", "before", "a")], ("a", "b"), False),
        ([("a", "before", "b"), ("b", "before", "a")], ("a", "b"), False),
        ([("a", "before", "b"), ("b", "before", "x")], ("a", "b"), False),
    ],
)
def test_an_order_is_proven_or_not(comparisons, order, proven):
    assert proves(tuple(comparisons), order) is proven
    if {name for left, _, right in comparisons for name in (left, right)} == set(order):
        assert (orders(comparisons, list(order)) == [order]) is proven


def test_clues_say_six_things():
    for relation, (one, other, positive) in CLUES.items():
        assert positive == ("not" not in relation)
        assert one < other


def test_the_word_lists_do_not_meet():
    lists = [vocabulary(name) for name in ("things", "sizes", "relations", "colours", "names", "pets")]
    words = [word.casefold() for words in lists for word in words]
    assert len(set(words)) == len(words)
    assert all(2 <= len(word) <= 8 for word in words)
    assert {len(CONSTRAINTS["R2"].sample(stream("n", number))["order"]) for number in range(30)} == {5, 6}
