"""Parameters of probes: within each type's range, free of conflicts when drawn together, the same for the same seed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from cdct.core import stream
from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.constraints.vocabulary import topics, vocabulary
from cdct.saturation.probes.compatibility import conflicts
from cdct.saturation.probes.draws import MODES, draw
from cdct.saturation.probes.hard import HARD
from cdct.saturation.probes.sampler import subsets

TOPIC = "keeping bees"


def within(id: str, params: Mapping[str, Any]) -> bool:
    """Whether the type draws such parameters."""
    kind = CONSTRAINTS[id]
    if kind.joint is None:
        for name, parameter in kind.parameters.items():
            choices = parameter.choices() if callable(parameter.choices) else parameter.choices
            if params[name] not in list(choices):
                return False
        return params.keys() == kind.parameters.keys()
    kind.read(params)
    return _JOINT[id](**params)


def _topic_words(words: list[str]) -> bool:
    return len(set(words)) == 3 and any(set(words) <= set(own) for own in topics().values())


def _band(low: float, high: float) -> bool:
    return round(100 * low) in range(50, 71, 5) and round(100 * (high - low)) == 15


def _scene(objects: Mapping[str, Mapping[str, str]], relations: list[list[str]]) -> bool:
    known = {"colour": vocabulary("colours"), "size": vocabulary("sizes")}
    right = all(own.keys() == known.keys() and all(own[key] in known[key] for key in own) for own in objects.values())
    return right and len(objects) == 3 <= len(set(objects) & set(vocabulary("things"))) and len(relations) == 2


def _race(comparisons: list[list[str]], order: list[str]) -> bool:
    return len(order) in (5, 6) and set(order) <= set(vocabulary("names")) and len(comparisons) == len(order) - 1


def _grid(people: list[str], pets: list[str], colours: list[str], clues: list[list[str]]) -> bool:
    groups = ((people, "names"), (pets, "pets"), (colours, "colours"))
    return all(len(words) == 3 and set(words) <= set(vocabulary(name)) for words, name in groups) and bool(clues)


_JOINT = {"L2": _topic_words, "L6": _band, "R1": _scene, "R2": _race, "R3": _grid}


def test_every_type_that_draws_its_parameters_together_is_looked_at() -> None:
    assert set(_JOINT) == {id for id, kind in CONSTRAINTS.items() if kind.joint is not None}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("k", [1, 4, 8, 12])
def test_every_value_lies_in_its_range_and_joint_draws_have_no_conflict(mode: str, k: int) -> None:
    drawn = 0
    for number, ids in enumerate(subsets(k, 40, stream("draws", k))):
        params = draw(ids, stream("draws", k, number), TOPIC, mode)
        if params is None:
            assert mode == "joint"
            continue
        drawn += 1
        chosen = list(zip(ids, params, strict=True))
        assert all(within(id, own) for id, own in chosen)
        assert mode == "independent" or conflicts(chosen) == []
    assert drawn >= 32


def test_mandatory_words_are_those_of_the_topic() -> None:
    for topic in topics():
        for mode in MODES:
            (own, _) = draw(("L2", "S1"), stream("topic", topic), topic, mode) or ({}, {})
            assert set(own["words"]) <= set(topics()[topic])
    free = [draw(("L2",), stream("free", i))[0]["words"] for i in range(40)]  # type: ignore[index]
    assert len({topic for words in free for topic, own in topics().items() if set(words) <= set(own)}) > 6


@pytest.mark.parametrize("ids", list(HARD)[:16])
def test_hard_sets_have_no_joint_parameters(ids: str) -> None:
    assert draw(ids.split(), stream("hard", ids)) is None


@pytest.mark.parametrize("id", ["S1", "S2", "L4", "W2", "O1", "N3"])
def test_a_type_alone_is_drawn_from_its_whole_range(id: str) -> None:
    """With equal chances: the whole range comes up, and no value much more often than others."""
    found = Counter(str(draw([id], stream("alone", id, i))) for i in range(1200))
    choices = 1
    for parameter in CONSTRAINTS[id].parameters.values():
        choices *= len(parameter.choices() if callable(parameter.choices) else parameter.choices)  # type: ignore[arg-type]
    assert len(found) == choices
    assert max(found.values()) < 2.2 * 1200 / choices


def test_what_clashes_adapts_and_what_does_not_keeps_its_range() -> None:
    sets = [draw(("S2", "L4", "M1", "W3", "S1", "M3"), stream("adapt", i)) for i in range(300)]
    for params in sets:
        assert params is not None
        count, initial, final, least, words, divisor = params
        assert count["n"] == len(initial["word"]) == len(final["word"])
        assert words["n"] >= count["n"] * least["n"]
        assert words["n"] % divisor["n"] == 0
    assert {params[0]["n"] for params in sets if params} == {3, 4, 5, 6}
    assert {params[3]["n"] for params in sets if params} == {5, 6, 7, 8}
    multiples = {n for n in range(40, 61) if any(n % divisor == 0 for divisor in range(3, 8))}
    assert {params[4]["n"] for params in sets if params} == multiples


def test_orders_of_lengths_leave_room_for_words_and_characters() -> None:
    """S1 and S4 get more than the least possible where the set allows it."""
    for i in range(60):
        params = draw(("S1", "S4", "O3", "S2", "F2"), stream("room", i))
        assert params is not None
        words, characters, _, _, bullets = params
        assert characters["n"] >= 4 * words["n"]
        assert words["n"] >= 14 + bullets["n"]


@pytest.mark.parametrize("mode", MODES)
def test_same_seed_same_draws_under_any_hash_seed(mode: str) -> None:
    ids = ("R1", "R2", "R3", "L1", "L2", "L4", "M1", "S4", "S1", "N1", "W2", "O2")
    code = (
        "from cdct.core import stream\nfrom cdct.saturation.probes.draws import draw\nimport sys\n"
        f"sys.stdout.write(repr([draw({ids}, stream('hash', i), {TOPIC!r}, {mode!r}) for i in range(4)]))"
    )
    run = [sys.executable, "-c", code]
    found = {
        subprocess.run(
            run, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("0", "4711")
    }
    assert found == {repr([draw(ids, stream("hash", i), TOPIC, mode) for i in range(4)])}
    one, other = (draw(ids, stream(name), TOPIC, mode) for name in "ab")
    assert one != other


def test_the_order_of_the_ids_is_the_order_of_the_answer() -> None:
    ids = ["M1", "S2", "L4", "W1"]
    for order in (ids, ids[::-1]):
        params = draw(order, stream("order"))
        assert params is not None
        for id, own in zip(order, params, strict=True):
            assert own.keys() == CONSTRAINTS[id].parameters.keys()


def test_marginals_of_a_crowded_set_keep_both_ends_of_the_ranges() -> None:
    """At k = 12 every letter of L1 and every length of W3 still comes up."""
    letters, least, counts = Counter(), Counter(), Counter()
    for number, ids in enumerate(subsets(12, 250, stream("marginals"), "marginal")):
        own = dict(zip(ids, draw(ids, stream("marginals", number), TOPIC) or [{}] * 12, strict=True))
        letters.update(own["L1"].values() if "L1" in own else ())
        least.update(own["W3"].values() if "W3" in own else ())
        counts.update(own["S6"].values() if "S6" in own else ())
    assert len(letters) >= 8
    assert set(least) == {5, 6, 7, 8}
    assert set(counts) == {3, 5, 7}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: draw(("S1",), stream("x"), mode="jiont"), "draw: mode 'jiont' is not known; did you mean 'joint'"),
        (
            lambda: draw(("S1",), stream("x"), topic="keeping bee"),
            "draw: topic 'keeping bee' is not known; did you mean",
        ),
        (lambda: draw(("S1", "S1"), stream("x")), "draw: at most one of each type, got S1, S1"),
    ],
)
def test_errors(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
