"""Impossible probes: how many of which kind, that each proof holds, and that nothing but the core stands in the way."""

from __future__ import annotations

from collections import Counter

import pytest

from cdct.core import to_json
from cdct.saturation import CONSTRAINTS, check_all
from cdct.saturation.constraints.vocabulary import topics
from cdct.saturation.probes.attack import attack
from cdct.saturation.probes.compatibility import conflicts, ordinary
from cdct.saturation.probes.impossible import (
    ANIMALS,
    BUDGET_K,
    BUDGET_RULES,
    DESIGNS,
    HIDDEN_K,
    Impossible,
    impossible,
)
from cdct.saturation.probes.witness import witness

NAMED = {
    "L1+L2", "N1+N2", "O1+O3", "R4+W1", "S2+L4", "L1+M1", "S2+S6", "L1+R2", "L1+L2+W1+S1",
    "N2+N3", "N2+N4", "O3+O4", "O1+S6",
}  # fmt: skip
"""What the paper's section R.1 and figure 3 name."""
KEPT = [
    ("This text contains exactly 6 words.", [("M2", {}), ("W1", {})]),
    ("Go on. One of these long ways will do. Rest.", [("O3", {"short": 2, "long": 5}), ("S2", {"n": 3})]),
    ("Go.\n- 1. Ada\n- 2. Ben", [("F2", {"n": 2}), ("S2", {"n": 1})]),
]


@pytest.fixture(scope="module")
def probes() -> list[Impossible]:
    return impossible(budget=18)


def of(family: str, probes: list[Impossible]) -> list[Impossible]:
    return [probe for probe in probes if probe.family == family]


def test_there_are_as_many_as_the_paper_has_and_more(probes: list[Impossible]) -> None:
    designed, hidden = of("designed", probes), of("hidden", probes)
    assert Counter(probe.type for probe in designed) == {design.name: 3 for design in DESIGNS}
    assert len(designed) == 57
    assert len(hidden) == 62
    assert len(of("budget", probes)) == 18
    assert {probe.type for probe in designed if probe.source == "paper"} == NAMED
    assert Counter((probe.type, len(probe.chosen)) for probe in hidden if probe.source == "paper") == {
        ("L1+L2", k): 3 for k in HIDDEN_K
    }


def test_every_proof_holds_and_names_the_core(probes: list[Impossible]) -> None:
    for probe in probes:
        assert probe.proof == tuple(conflicts(probe.chosen)) != ()
        core = {probe.chosen[place][0] for place in probe.core}
        assert any(set(conflict.ids) == core for conflict in probe.proof)
        assert all(core <= set(conflict.ids) for conflict in probe.proof)
        assert len({id for id, _ in probe.chosen}) == len(probe.chosen)


def test_without_one_of_the_core_no_rule_holds_and_there_is_a_text(probes: list[Impossible]) -> None:
    for probe in probes[::5]:
        for place in probe.core:
            rest = [one for number, one in enumerate(probe.chosen) if number != place]
            assert not conflicts(rest)
            if place in probe.freed:
                text = witness(rest, probe.topic)
                assert text is not None
                assert check_all(text, rest)["passed"].all()
    assert all(probe.freed == probe.core for probe in probes if probe.family != "budget")
    assert all(set() != set(probe.freed) <= set(probe.core) for probe in probes)


def test_no_search_finds_a_text(probes: list[Impossible]) -> None:
    for probe in probes[::3]:
        assert witness(probe.chosen, probe.topic, effort=400) is None
    for probe in probes[::15]:
        assert attack(probe.chosen, probe.topic, tries=1, accept=ordinary) is None


def test_parameters_are_accepted_and_words_are_the_topics(probes: list[Impossible]) -> None:
    for probe in probes:
        assert probe.topic in topics()
        for id, params in probe.chosen:
            CONSTRAINTS[id].instruction(**params)
            assert id != "L2" or set(params["words"]) < set(topics()[probe.topic])


def test_designed_types_come_in_three_topics(probes: list[Impossible]) -> None:
    by_type: dict[str, set[str]] = {}
    for probe in of("designed", probes):
        by_type.setdefault(probe.type, set()).add(probe.topic)
    assert {len(own) for own in by_type.values()} == {3}
    assert set.union(*by_type.values()) == set(topics())


def test_the_papers_tests_are_as_it_tells_them(probes: list[Impossible]) -> None:
    designed = {probe.type: dict(probe.chosen) for probe in of("designed", probes)}
    assert set(designed["L1+R2"]["R2"]["order"]) == set(ANIMALS)
    assert designed["L1+R2"]["L1"] == {"letter": "r"}
    assert all("r" in name for name in ANIMALS)
    assert designed["L1+L2+W1+S1"]["L1"] == {"letter": "e"}
    assert designed["S2+L4"]["S2"] == {"n": 3}
    assert designed["O3+O4"]["O4"] == {"n": 4}


def test_hidden_ones_have_their_fillers(probes: list[Impossible]) -> None:
    cores = {design.name: design.core for design in DESIGNS}
    for probe in of("hidden", probes):
        assert len(probe.chosen) in HIDDEN_K
        assert {probe.chosen[place][0] for place in probe.core} == cores[probe.type]
    orders = {tuple(probe.core) for probe in of("hidden", probes)}
    assert len(orders) > 10, "the core must not always stand at the same places"


def test_budgets_run_out_for_three_or_more_together(probes: list[Impossible]) -> None:
    budget = of("budget", probes)
    assert {len(probe.chosen) for probe in budget} == set(BUDGET_K)
    assert {conflict.rule for probe in budget for conflict in probe.proof} == set(BUDGET_RULES)
    for probe in budget:
        assert len(probe.core) >= 3
        assert not any(conflicts([one, other]) for one in probe.chosen for other in probe.chosen if one[0] < other[0])
    assert len({to_json(probe.chosen) for probe in budget}) == len(budget)


@pytest.mark.parametrize(("text", "chosen"), KEPT, ids=["M2+W1", "O3", "F2+R2"])
def test_what_a_reply_can_keep_is_not_called_impossible(text: str, chosen: list[tuple[str, dict]]) -> None:
    assert check_all(text, chosen)["passed"].all()
    assert not conflicts(chosen)


def test_the_same_seed_gives_the_same_probes(probes: list[Impossible]) -> None:
    assert impossible(budget=2)[:121] == probes[:121]
    other = impossible(1, budget=0)
    assert [probe.type for probe in other] == [probe.type for probe in probes[:119]]
    assert sum(one.chosen == another.chosen for one, another in zip(other, probes, strict=False)) < 20


def test_topics_are_those_asked_for() -> None:
    names = list(topics())[:3]
    assert {probe.topic for probe in impossible(topics=names, budget=0)} == set(names)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["keeping beess"] * 3, "impossible: topic 'keeping beess' is not known; did you mean 'keeping bees'?"),
        (["keeping bees"] * 3, "impossible: needs at least 3 topics, all different, got 1"),
        (["keeping bees", "growing tomatoes"], "impossible: needs at least 3 topics, all different, got 2"),
    ],
)
def test_wrong_topics_are_refused(names: list[str], message: str) -> None:
    with pytest.raises(ValueError) as error:
        impossible(topics=names)
    assert str(error.value) == message
