"""Vetting of registered types and of one that is not: conflicts, what is read, survival, pilot replies."""

from __future__ import annotations

from math import comb

import pytest

from cdct.core import Verdict
from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.constraints.base import constraint, whole
from cdct.saturation.probes.bounds import Chosen
from cdct.saturation.probes.hard import HARD_SETS
from cdct.saturation.probes.rules import rule
from cdct.saturation.probes.sampler import count_subsets
from cdct.saturation.probes.vetting import COLUMNS, vet
from cdct.text import Text


@constraint("W9", "Exclamations", {"n": whole(range(2, 10))})
def exclamations(text: Text, n: int) -> Verdict:
    """Exactly {n:sentence} of your reply must end with an exclamation mark.

    A type that is not registered.
    """
    found = sum(sentence.text.endswith("!") for sentence in text.sentences)
    return Verdict.of(float(found == n), f"{found} found")


exclamations.passes("Go! Stay! Why?", n=2)
exclamations.fails("Go! Why?", n=2)


@rule("too few to exclaim", "W9 S2")
def too_few(chosen: Chosen) -> str:
    """S2 wants fewer sentences than W9 exclamations.

    An exclamation is a sentence.
    """
    if not {"W9", "S2"} <= chosen.keys() or chosen["W9"]["n"] <= chosen["S2"]["n"]:
        return ""
    return f"W9 wants {chosen['W9']['n']} exclamations, S2 {chosen['S2']['n']} sentences"


@rule("no exclamation without words", "W9 S4")
def never(chosen: Chosen) -> str:
    """W9 with S4.

    So it is said, for this test.
    """
    return "never" if {"W9", "S4"} <= chosen.keys() else ""


def test_a_registered_type() -> None:
    found = vet(CONSTRAINTS["N2"], draws=40)
    assert found.hard == (("M2",), ("N1",), ("N3",), ("N4",))
    assert set(found.others["constraint"]) == {"M2", "N1", "N3", "N4"}
    assert found.others["always"].all()
    assert found.reads == ("characters", "plain")
    ids = [id for id in CONSTRAINTS if id not in ("N2", "M2", "N1", "N3", "N4")]
    assert found.graph == pytest.approx(count_subsets(11, ids) / comb(35, 11))
    assert found.alone.method == "no data"


def test_hard_sets_of_a_type_are_those_of_the_table() -> None:
    found = vet(CONSTRAINTS["O1"], draws=10, k=5)
    assert {frozenset({"O1", *ids}) for ids in found.hard} == {edge for edge in HARD_SETS if "O1" in edge}
    (length,) = found.others[found.others["constraint"] == "S6"].itertuples()
    assert length.always
    assert length.rules == "sentence lengths"


def test_a_type_that_is_not_registered() -> None:
    free = vet(exclamations, draws=60)
    assert free.hard == ()
    assert len(free.others) == 0
    assert free.reads == ("sentences",)
    found = vet(exclamations, [too_few, never], draws=200)
    assert found.hard == (("S4",),)
    assert list(found.others.columns) == COLUMNS
    shares = dict(zip(found.others["constraint"], found.others["share"], strict=True))
    assert shares["S4"] == 1.0
    assert shares["S2"] == pytest.approx(18 / 32, abs=0.12)  # of 8 by 4 draws, 4 + 5 + ... are above
    assert found.graph < free.graph
    assert found.survival.estimate <= found.survival.high <= 1


def test_pilot_replies() -> None:
    replies = [("Go! Stay!", {"n": 2}), ("Go! Stay!", {"n": 3}), ("Go.", {"n": 2}), ("No! No!", {"n": 2})]
    found = vet(exclamations, replies=replies, draws=5)
    assert found.alone.estimate == 0.5
    assert found.alone.n == 4
    table = found.table().set_index("question")
    assert table.loc["pass rate alone", "answer"] == 0.5
    assert table.loc["hard conflicts", "detail"] == "none"
    assert "sentences" in table.loc["output dimensions", "detail"]
    assert "<table" in found._repr_html_()


def test_same_seed_same_answer() -> None:
    one, same, other = (vet(CONSTRAINTS["W3"], draws=30, seed=seed) for seed in (1, 1, 2))
    assert one.others.equals(same.others)
    assert one.survival == same.survival
    assert not one.others.equals(other.others)


def test_a_size_beyond_the_types_is_refused() -> None:
    with pytest.raises(ValueError, match="vet: k must be from 2 to 36, got 40"):
        vet(exclamations, k=40)
