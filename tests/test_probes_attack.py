"""The blind search: what it finds, what it must not know, and that its edits keep whole what they must not break."""

from __future__ import annotations

import ast
from itertools import combinations
from pathlib import Path

import pytest

from cdct.core import stream
from cdct.saturation import CONSTRAINTS, check_all
from cdct.saturation.probes import attack as attack_module
from cdct.saturation.probes.attack import attack
from cdct.saturation.probes.attack_blocks import Block, Blocks
from cdct.saturation.probes.attack_edits import Edits, written
from cdct.saturation.probes.draws import draw
from cdct.saturation.probes.hard import HARD_SETS
from cdct.text import Text

FOLDER = Path(attack_module.__file__).parent
CHOSEN = [("S2", {"n": 4}), ("W1", {}), ("L1", {"letter": "w"})]


def drawn(ids: tuple[str, ...], *name: str | int) -> list[tuple[str, dict]]:
    params = draw(ids, stream("attack test", *ids, *name))
    assert params is not None
    return list(zip(ids, params, strict=True))


@pytest.mark.parametrize("module", ["attack", "attack_edits", "attack_blocks"])
def test_it_shares_nothing_with_the_rules_and_the_builder(module: str) -> None:
    tree = ast.parse((FOLDER / f"{module}.py").read_text(encoding="utf-8"))
    names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    probes = {name for name in names if name and name.startswith("cdct.saturation.probes")}
    assert probes <= {"cdct.saturation.probes.attack_edits", "cdct.saturation.probes.attack_blocks"}


@pytest.mark.parametrize("id", CONSTRAINTS)
def test_every_type_alone_is_found(id: str) -> None:
    chosen = drawn((id,))
    text = attack(chosen)
    assert text is not None
    assert check_all(text, chosen)["passed"].all()


def test_most_pairs_are_found() -> None:
    pairs = [ids for ids in combinations(CONSTRAINTS, 2) if frozenset(ids) not in HARD_SETS]
    picked = [pairs[int(i)] for i in stream("attack test", "pairs").permutation(len(pairs))[:24]]
    found = 0
    for ids in picked:
        chosen = drawn(ids)
        text = attack(chosen, tries=4)
        assert text is None or check_all(text, chosen)["passed"].all()
        found += text is not None
    assert found >= 22


@pytest.mark.parametrize(
    "chosen",
    [
        [("N1", {"count": 3, "total": 20}), ("N2", {})],
        [("S2", {"n": 3}), ("S6", {"n": 5})],
        [("O1", {"direction": "increasing"}), ("O3", {"short": 6, "long": 12})],
        [("L1", {"letter": "c"}), ("L2", {"words": ["crab", "rock", "sand"]})],
        [("S1", {"n": 41}), ("M3", {"n": 3})],
    ],
    ids=lambda chosen: "+".join(id for id, _ in chosen),
)
def test_what_can_not_be_kept_is_not_found(chosen: list[tuple[str, dict]]) -> None:
    assert attack(chosen, tries=1) is None
    assert attack(chosen, tries=1, odd=True) is None


def test_the_same_arguments_give_the_same_text() -> None:
    text = attack(CHOSEN, seed=1)
    assert text is not None
    assert attack(CHOSEN, seed=1) == text
    assert attack(CHOSEN, seed=2) != text
    assert attack(CHOSEN, seed=1, topic="keeping bees") != text


def test_a_text_that_is_not_accepted_is_searched_on_from() -> None:
    first = attack(CHOSEN, accept=lambda text: "z" in text.plain)
    assert first is not None
    assert "z" in first
    assert attack(CHOSEN, tries=1, accept=lambda text: False) is None


def test_no_tries_find_nothing() -> None:
    assert attack(CHOSEN, tries=0) is None


# -------------------------------------------------------------------------------------------------------------- blocks

FORCED = {
    "R1": CONSTRAINTS["R1"].sample(stream("attack test", "R1")),
    "R3": CONSTRAINTS["R3"].sample(stream("attack test", "R3")),
    "R2": CONSTRAINTS["R2"].sample(stream("attack test", "R2")),
    "F1": {"columns": 3, "rows": 2},
    "F2": {"n": 4},
    "F3": {"n": 2},
    "N4": {"n": 3},
}


def pieces(ids: list[str], number: int, odd: bool = False, **more: dict) -> list[str]:
    chosen = [(id, FORCED[id]) for id in ids] + list(more.items())
    whole, loose = Blocks(chosen, stream("attack test", "blocks", number), lambda: "word", odd).draw()
    return [*whole, *loose]


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("id", FORCED)
def test_blocks_keep_what_they_are_written_for(id: str, odd: bool) -> None:
    seen = set()
    for number in range(60):
        text = "\n".join(["Well.\n", *pieces([id], number, odd)])
        assert CONSTRAINTS[id].check(text, **FORCED[id]).passed, text
        seen.add(text)
    assert len(seen) > (1 if id == "F2" else 5)


def test_two_puzzles_share_an_object_or_not() -> None:
    texts = ["\n".join(pieces(["R1", "R3"], number)) for number in range(40)]
    assert {len(Text(text).json_objects) for text in texts} == {1, 2}
    for text in texts:
        assert all(CONSTRAINTS[id].check(text, **FORCED[id]).passed for id in ("R1", "R3"))


def test_code_and_a_puzzle_may_share_a_fence() -> None:
    texts = ["\n".join(pieces(["R1"], number, F3={"n": 1})) for number in range(40)]
    assert {len(Text(text).fences) for text in texts} == {1, 2}


def test_odd_json_spells_a_forbidden_letter_with_an_escape() -> None:
    texts = ["\n".join(pieces(["R1"], number, odd=True, L1={"letter": "c"})) for number in range(20)]
    escaped = [text for text in texts if "c" not in text]
    assert escaped
    assert all(CONSTRAINTS["R1"].check(text, **FORCED["R1"]).passed for text in escaped)
    assert all("c" in "\n".join(pieces(["R1"], number, L1={"letter": "c"})) for number in range(20))


def test_a_claim_is_written_again_with_the_right_number() -> None:
    (claim,), _ = Blocks([("M2", {})], stream("attack test", "claim"), lambda: "word", False).draw()
    text = f"Indeed, {claim.again(7)}."
    assert CONSTRAINTS["M2"].check(text).passed
    assert not CONSTRAINTS["M2"].check(text + " Yes.").passed


# --------------------------------------------------------------------------------------------------------------- edits


@pytest.mark.parametrize("odd", [False, True])
def test_edits_keep_blocks_and_never_leave_nothing(odd: bool) -> None:
    chosen = [("R1", FORCED["R1"]), ("F3", {"n": 1}), ("M2", {}), ("L4", {"word": "SUN"})]
    rng = stream("attack test", "edits", int(odd))
    edits = Edits(chosen, "keeping bees", rng, odd)
    tokens = edits.start()
    writers = sorted(token.write.__qualname__ for token, _ in tokens if isinstance(token, Block))
    texts = {written(tokens)}
    for _ in range(600):
        tokens = edits.edited(tokens, [int(rng.integers(len(tokens))) for _ in range(edits.depth())])
        texts.add(written(tokens))
        assert tokens
        assert sorted(token.write.__qualname__ for token, _ in tokens if isinstance(token, Block)) == writers
    assert len(texts) > 300


def test_an_edit_leaves_the_tokens_that_it_was_given_alone() -> None:
    rng = stream("attack test", "same")
    edits = Edits([("S2", {"n": 3})], None, rng, True)
    tokens = edits.start()
    before = list(tokens)
    for _ in range(200):
        edits.edited(tokens, [int(rng.integers(len(tokens)))])
        assert tokens == before
