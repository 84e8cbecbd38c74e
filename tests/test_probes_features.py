"""Each edit of a text turns the verdicts of exactly the types that read the feature it changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from cdct.core import stream
from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.probes.features import EDITS, signatures
from cdct.saturation.probes.witness import witness
from cdct.text import Text

TOGETHER = ["F1 S4", "F1 S5", "S2 S5", "O3 S1", "R2 F3", "N4 M2", "W4 S1"]
"""Sets in which an edit must turn a verdict that it leaves alone where the type stands by itself."""
WRITTEN = [
    ("W4", {}, "We saw red old cars. They sold old red vans."),
    ("W4", {}, "Red foxes came near us. Few foxes red at dawn slept."),
    ("W4", {}, "We saw big dogs run. There run dogs of note."),
    ("W4", {}, "Few saw the new cat. Men had the day cat. All fed the use cat. We met the old cat."),
    ("W4", {}, "We saw the red cat here. Few had the old cat there."),
    ("L1", {"letter": "n"}, "Old cars race past tall trees daily."),
    ("L5", {"word": "part"}, "Some cats rest here near that tree."),
    ("W4", {}, "Rain fell on the sea. Then sea then rose."),
    ("F4", {}, "Roads shone in the rain. Nights of rain fell."),
    ("F4", {}, "Old rain fell on the hills. Then night fell."),
    ("W1", {}, "We make time, find work, keep good life and help many part days pass."),
    ("L2", {"words": ["wind", "rain"]}, "We like wind and rain when cool days come."),
    ("N3", {"n": 2}, "We saw 4 owls, 4 bats and 12 mice."),
    ("R4", {}, "Rain fell on the sea. Sea winds rise."),
    ("L6", {"low": 1.25, "high": 1.4}, "Some area made noise here at noon."),
]
"""Texts with repeated words or at a limit, which the builder writes only where it must."""
PAPER = {
    "sentence_structure": "S2 S3 S5 S6 L3 L4 M1 O1 O2 O3 O4 R4 F4 W3",
    "word_inventory": "W1 W2 W4 L1 L2 L5",
    "number_content": "N1 N2 N3 N4",
    "document_format": "F1 F2 F3",
    "relational_json": "R1 R3",
    "global_statistics": "S1 S4 M2 M3 L6 W5",
    "ordered_list": "R2",
}
"""The output-feature clusters of the paper (section 5.3)."""


def chosen_sets() -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    for id in CONSTRAINTS:
        for number in range(10):
            yield f"{id} {number}", [(id, CONSTRAINTS[id].sample(stream("features", id, number)))]
    for ids in TOGETHER:
        for number in range(8):
            rng = stream("features", ids, number)
            yield f"{ids} {number}", [(id, CONSTRAINTS[id].sample(rng)) for id in ids.split()]


@lru_cache
def turned() -> dict[str, set[str]]:
    """By edit, the types of which a passing text failed after it."""
    found: dict[str, set[str]] = defaultdict(set)
    texts = [(name, chosen, text) for name, chosen in chosen_sets() if (text := witness(chosen))]
    texts += [(text, [(id, params)], text) for id, params, text in WRITTEN for _ in range(30)]
    for number, (name, chosen, text) in enumerate(texts):
        rng, read = stream("edit", name, number), Text(text)
        for edit in EDITS.values():
            changed = edit(read, rng)
            parsed = Text(changed) if changed is not None else None
            found[edit.name] |= {
                id for id, params in chosen if parsed and not CONSTRAINTS[id].check(parsed, **params).passed
            }
    return found


@pytest.mark.parametrize(("id", "params", "text"), WRITTEN)
def test_written_texts_pass(id, params, text):
    assert CONSTRAINTS[id].check(text, **params).passed


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_turns_the_types_that_read_its_feature_and_no_others(name):
    assert turned()[name] == EDITS[name].reads


def test_every_type_is_read_by_an_edit():
    assert set(signatures()) == set(CONSTRAINTS)
    assert all(signatures().values())


def test_an_edit_finds_nothing_to_change_in_a_text_without_its_feature():
    rng = np.random.default_rng(1)
    assert EDITS["table row added"]("Rain fell.", rng) is None
    assert EDITS["names of a list swapped"]("1. Rain fell.", rng) is None
    assert EDITS["relation turned"]('{"relations": []}', rng) is None
    assert EDITS["number changed"]("1. Owls\n2. Bats", rng) is None
    assert EDITS["word added"]("Rain fell.", rng) is None


@pytest.mark.parametrize(
    ("name", "text", "changed"),
    [
        ("comma added", "Rain fell hard today.", ["Rain fell, hard today.", "Rain fell hard, today."]),
        ("inner words swapped", "Rain fell hard today.", ["Rain hard fell today."]),
        ("first word changed", "Rain fell hard today.", ["Fell rain hard today."]),
        ("last word changed", "Rain fell hard today.", ["Rain fell today hard."]),
        ("sentences joined", "Rain fell. Roads shone.", ["Rain fell, roads shone."]),
        ("sentence split", "Rain fell hard today.", ["Rain fell. Hard today."]),
        ("words joined", "Rain fell hard today.", ["Rain fell-hard today."]),
        ("paragraph broken", "Rain fell. Roads shone.", ["Rain fell.\n\nRoads shone."]),
        ("number changed", "We saw 19 owls.", [f"We saw 1{digit} owls." for digit in range(1, 9)]),
        ("relation turned", '{"relations": [["cup", "on", "box"]]}', ['{"relations": [["box", "on", "cup"]]}']),
        ("names of a list swapped", "1. Ada\n2. Ben\n3. Cleo", ["1. Ben\n2. Ada\n3. Cleo"]),
        ("table row added", "| a | b |\n|---|---|", ["| a | b |\n|---|---|\n| | |"]),
        ("bullet item added", "Rain.", ["Rain.\n\n- ωμ"]),
    ],
)
def test_edits(name, text, changed):
    assert EDITS[name](text, np.random.default_rng(3)) in changed


def test_same_seed_same_edit():
    text = "Rain fell hard and long today. Roads shone like a glass pane."
    for edit in EDITS.values():
        assert edit(text, np.random.default_rng(5)) == edit(text, np.random.default_rng(5))


def test_types_of_one_cluster_of_the_paper_share_more_edits():
    """The mean overlap (Jaccard) of two types within a cluster is well above that of two types of different ones."""
    cluster = {id: name for name, ids in PAPER.items() for id in ids.split()}
    assert set(cluster) == set(CONSTRAINTS)
    own = signatures()
    overlap = {
        (one, two): len(own[one] & own[two]) / len(own[one] | own[two]) for one, two in combinations(CONSTRAINTS, 2)
    }
    within = [value for (one, two), value in overlap.items() if cluster[one] == cluster[two]]
    between = [value for (one, two), value in overlap.items() if cluster[one] != cluster[two]]
    assert np.mean(within) > 2 * np.mean(between)
