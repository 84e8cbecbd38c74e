"""Items of the saturation benchmark: satisfiable by their witnesses, the same on any machine, even over types."""

from __future__ import annotations

from collections import Counter

import pytest

from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.items import generate, generated
from cdct.saturation.prompts import instructions


def kept(item) -> bool:
    witness = item.truth["witness"]
    return all(CONSTRAINTS[one["id"]].check(witness, **one["params"]).passed for one in item.params["constraints"])


@pytest.mark.parametrize("k", [1, 3, 7, 11])
def test_every_item_holds_k_types_and_a_witness_that_keeps_them(k: int) -> None:
    items = generate(seed=7, k=k, per_k=6)
    assert [item.id for item in items] == [f"cse-v1/k{k:02d}/{index:03d}-s7" for index in range(6)]
    for item in items:
        ids = [one["id"] for one in item.params["constraints"]]
        assert len(set(ids)) == item.params["k"] == len(instructions(item)) == k
        assert kept(item), item.id


def test_single_types_come_equally_often_and_never_twice_alike() -> None:
    items = generate(k=1, per_k=2 * len(CONSTRAINTS))
    assert set(Counter(item.params["constraints"][0]["id"] for item in items).values()) == {2}
    contents = [(item.params["topic"], str(item.params["constraints"])) for item in items]
    assert len(set(contents)) == len(contents)


def test_raising_the_number_only_adds_items_and_processes_change_none() -> None:
    few, more = generate(k=[2, 5], per_k=3), generate(k=[5, 2], per_k=5)
    assert few == more[:3] + more[5:8]
    assert generate(k=[2, 5], per_k=5, processes=2) == more


def test_the_order_of_the_constraints_is_shuffled() -> None:
    table = list(CONSTRAINTS)
    items = generate(k=6, per_k=8)
    orders = [[table.index(one["id"]) for one in item.params["constraints"]] for item in items]
    assert sum(order == sorted(order) for order in orders) < 3


def test_what_was_tried_is_counted() -> None:
    (row,) = generated(k=9, per_k=10).counts
    assert row["items"] == 10
    assert row["attempts"] == row["items"] + row["dropped"] + row["repeated"]
    assert 0 <= row["plain"] <= 10


def test_fewer_types_can_be_drawn_from() -> None:
    items = generate(k=2, per_k=4, types=["S1", "S2", "L5", "N2"])
    assert {one["id"] for item in items for one in item.params["constraints"]} <= {"S1", "S2", "L5", "N2"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "k must be a whole number of at least 1, got 0"),
        ({"k": True}, "k must be a whole number"),
        ({"per_k": 0}, "per_k must be a whole number of at least 1, got 0"),
        ({"k": 36}, "no 36 of the 36 types can hold together"),
        ({"k": 3, "types": ["N1", "N2", "N3"]}, "no 3 of the 3 types can hold together"),
        ({"k": 1, "balance": "even"}, "balance"),
        ({"k": 1, "draws": "free"}, "free"),
    ],
)
def test_what_can_not_be_generated_is_refused(arguments: dict, message: str) -> None:
    with pytest.raises((ValueError, KeyError), match=message):
        generate(**{"per_k": 1} | arguments)


def test_an_unknown_type_is_named() -> None:
    with pytest.raises(KeyError, match="S9"):
        generate(k=1, per_k=1, types=["S9"])
