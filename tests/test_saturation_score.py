"""Scoring of CSE replies: a row per check, a row per reply, and what another reading of the same replies changes."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdct.core import KEYS, Item, Verdict, read_table, save_tables, stream
from cdct.saturation import CONSTRAINTS, check_all
from cdct.saturation.rescore import FLIP_COLUMNS, flip_counts, flips, rescore
from cdct.saturation.score import COLUMNS, EXTRACTIONS, PROBE_COLUMNS, answer_of, probes, score


def item(*constraints: tuple[str, dict[str, Any]], id: str = "cse-v1/k02/000", kind: str = "satisfiable") -> Item:
    listed = [{"id": one, "params": params} for one, params in constraints]
    params = {"k": len(listed), "topic": "owls", "constraints": listed, "seed": 0}
    truth = {"kind": kind} | ({"family": "numbers", "core": [0, 1]} if kind == "impossible" else {"witness": ""})
    return Item("cse", id, params, truth)


def reply(text: str | None, of: Item | None = None, **more: Any) -> dict[str, Any]:
    row = {"benchmark": "cse", "arm": "direct", "item": (of or PAIR).id, "model": "m", "sample": 0, "turn": 0}
    return row | {"text": text, "status": "ok", "finish_reason": "stop", "completion_tokens": 12.0} | more


WORDS, NO_DIGITS = ("S1", {"n": 3}), ("N2", {})
PAIR = item(WORDS, NO_DIGITS)


def scored(*replies: dict[str, Any], items: tuple[Item, ...] = (PAIR,), **more: Any) -> pd.DataFrame:
    return score(items, pd.DataFrame(replies), **more)


# --------------------------------------------------------------------------------------------------------------- checks

# text, more of the reply, passed, score of S1, answer_status, answer_flags
REPLIES = {
    "both kept": ("<answer>Owls hunt mice.</answer>", {}, [1, 1], 1.0, "ok", "tag_ok"),
    "one kept": ("<answer>Owls hunt.</answer>", {}, [0, 1], 2 / 3, "ok", "tag_ok"),
    "none": ("<answer>3 owls</answer>", {}, [0, 0], 2 / 3, "ok", "tag_ok"),
    "the text around tags does not count": (
        "Here are 2 tags: <answer>Owls hunt mice.</answer>",
        *({}, [1, 1], 1.0, "ok", "tag_ok outside_text"),
    ),
    "without tags all of it counts": ("Owls hunt mice.", {}, [1, 1], 1.0, "ok", "no_tag"),
    "cut": ("<answer>Owls hunt", {"finish_reason": "length", "status": "truncated"}, [0, 1], 2 / 3, "truncated", None),
    "cut and kept": ("<answer>Owls hunt mice", {"finish_reason": "length"}, [1, 1], 1.0, "truncated", "tag_unclosed"),
    "empty": ("", {"status": "empty"}, [0, 0], 0.0, "empty", "no_tag"),
    "no text": (None, {"status": "empty"}, [0, 0], 0.0, "empty", "no_tag"),
    "NaN is no text": (
        math.nan,
        {"status": "truncated", "finish_reason": "length"},
        [0, 0],
        0.0,
        "truncated",
        "no_tag",
    ),
    "refused in words": ("I cannot fulfil this request.", {}, [0, 1], 1 / 3, "refused", "no_tag"),
    "refused by the server": (None, {"status": "refused"}, [0, 0], 0.0, "refused", "no_tag"),
    "reasoning is no answer": ("<think>1 2</think><answer>Owls hunt mice.</answer>", {}, [1, 1], 1.0, "ok", None),
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_is_scored_on_what_is_there(name: str) -> None:
    text, more, passed, of_words, status, flags = REPLIES[name]
    table = scored(reply(text, **more))
    assert table["passed"].tolist() == passed
    assert table["score"].iloc[0] == pytest.approx(of_words)
    assert set(table["answer_status"]) == {status}
    assert flags is None or set(table["answer_flags"]) == {flags}
    assert set(table["unscored"]) == {""}


@pytest.mark.parametrize(
    ("status", "text", "reason"),
    [
        ("failed", None, "failed"),
        ("skipped", None, "skipped"),
        ("filtered", None, "filtered"),
        ("filtered", "half a text", "filtered"),
        ("ok", None, "ok, but without a text"),
    ],
)
def test_a_call_without_a_reply_has_a_row_per_check_and_a_reason(status: str, text: str | None, reason: str) -> None:
    table = scored(reply(text, status=status, finish_reason=None, completion_tokens=None))
    assert len(table) == 2
    assert table["passed"].isna().all()
    assert table["score"].isna().all()
    assert set(table["unscored"]) == {reason}
    row = probes(table).iloc[0]
    assert row[["passed_all", "share", "mean_score"]].isna().all()
    assert row["unscored"] == reason


def test_a_row_says_what_was_checked() -> None:
    probe = item(("S1", {"n": 3}), ("L1", {"letter": "i"}), kind="impossible", id="cse-v1/impossible/3")
    table = scored(reply("<answer>This is it.</answer>", probe, arm="plan", sample=4), items=(probe,))
    assert list(table.columns) == COLUMNS
    row = table.iloc[1].to_dict()
    assert row.pop("detail") == '"i" occurs in 3 of 11 characters'
    assert row == {
        **{"benchmark": "cse", "arm": "plan", "item": probe.id, "model": "m", "sample": 4, "turn": 0, "last": True},
        **{"k": 2, "topic": "owls", "kind": "impossible", "family": "numbers", "position": 2, "constraint": "L1"},
        **{"dimension": "lexical", "params": '{"letter":"i"}', "passed": 0.0, "score": pytest.approx(8 / 11)},
        **{"flags": "", "version": CONSTRAINTS["L1"].version, "status": "ok", "answer_status": "ok"},
        **{"answer_flags": "tag_ok", "unscored": "", "completion_tokens": 12.0},
    }


def test_two_constraints_of_one_type_are_two_rows() -> None:
    probe = item(("L5", {"word": "owls"}), ("L5", {"word": "bats"}), ("L5", {"word": "mice"}))
    table = scored(reply("<answer>Owls hunt mice.</answer>", probe), items=(probe,))
    assert table[["position", "passed"]].to_numpy().tolist() == [[1, 0], [2, 1], [3, 0]]
    assert probes(table)["share"].item() == pytest.approx(1 / 3)


def test_the_last_turn_counts_and_earlier_ones_are_scored() -> None:
    turns = [reply("<answer>Owls hunt.</answer>", arm="self-correct"), reply("x", arm="self-correct", turn=1)]
    turns[1]["text"] = "<answer>Owls hunt mice.</answer>"
    table = scored(*turns[::-1])
    assert table.sort_values(["turn", "position"])[["turn", "last", "passed"]].to_numpy().tolist() == [
        *([0, False, 0], [0, False, 1]),
        *([1, True, 1], [1, True, 1]),
    ]
    assert probes(table)[["turn", "passed_all"]].to_numpy().tolist() == [[1, 1]]
    turns[1] |= {"text": None, "status": "failed"}
    assert probes(scored(*turns))["unscored"].tolist() == ["failed"]


def test_an_arm_without_a_word_on_tags_has_the_whole_reply_scored() -> None:
    text = "Well: <answer>Owls hunt mice.</answer>"
    assert scored(reply(text))["passed"].tolist() == [1, 1]
    table = scored(reply(text, arm="no-tags"))
    assert table["passed"].tolist() == [0, 1]
    assert set(table["answer_flags"]) == {""}
    assert set(scored(reply("I cannot fulfil this request.", arm="no-tags"))["answer_status"]) == {"refused"}


def test_a_shortcut_is_a_flag() -> None:
    probe = item(("F3", {"n": 1}), ("F4", {}))
    table = scored(reply("<answer>Owls hunt.\n```\n```</answer>", probe), items=(probe,))
    assert table["flags"].tolist() == ["empty_code_blocks", "too_few_sentences"]
    assert probes(table)["flags"].item() == "empty_code_blocks too_few_sentences"


def test_a_verifier_that_can_not_tell_leaves_its_check_and_its_probe_unscored() -> None:
    unsure = dataclasses.replace(CONSTRAINTS["N2"], verify=lambda text: Verdict(None, None, "who knows"))
    table = scored(reply("<answer>Owls hunt mice.</answer>"), versions={"N2": unsure})
    assert table["passed"].tolist() == [1, pytest.approx(math.nan, nan_ok=True)]
    assert table["unscored"].tolist() == ["", "the verifier could not tell"]
    assert math.isnan(probes(table)["passed_all"].item())


ALL = [id for id in CONSTRAINTS if id != "R3"]


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=300), st.integers(0, 10**6), st.integers(1, 12))
def test_the_frame_says_what_the_single_checks_say(text: str, seed: int, k: int) -> None:
    rng = stream("test", "score", seed)
    drawn = [(id, CONSTRAINTS[id].sample(rng)) for id in rng.choice(ALL, k)]
    probe = item(*drawn)
    table = scored(reply(text, probe), items=(probe,))
    alone = check_all(answer_of(text, "stop").answer, drawn)
    for name in ("constraint", "params", "passed", "score", "detail"):
        assert table[name].tolist() == alone[name].tolist()
    row = probes(table).iloc[0]
    assert row["passed_all"] == float(alone["passed"].all())
    assert row["share"] == pytest.approx(alone["passed"].mean())
    assert row["mean_score"] == pytest.approx(alone["score"].mean())
    assert row["n_checks"] == k


def test_the_index_of_the_replies_does_not_matter() -> None:
    other = item(("S1", {"n": 2}), id="cse-v1/k01/001")
    rows = [reply("<answer>Owls hunt mice.</answer>"), reply("<answer>Owls hunt.</answer>", other)]
    plain = score([PAIR, other], pd.DataFrame(rows))
    odd = score([PAIR, other], pd.DataFrame(rows, index=[7, 7]))
    pd.testing.assert_frame_equal(plain, odd)
    shuffled = probes(plain.sample(frac=1, random_state=1)).sort_values("item", ignore_index=True)
    pd.testing.assert_frame_equal(shuffled, probes(plain).sort_values("item", ignore_index=True))


def test_no_reply_gives_no_row() -> None:
    empty = score([PAIR], pd.DataFrame(columns=list(reply(""))))
    assert list(empty.columns) == COLUMNS
    assert len(empty) == 0
    assert list(probes(empty).columns) == PROBE_COLUMNS


def test_a_saved_table_gives_the_same_probes(tmp_path: Path) -> None:
    rows = [reply("<answer>Owls hunt mice.</answer>"), reply(None, status="failed", sample=1)]
    table = scored(*rows)
    save_tables(tmp_path, checks=table)
    again = probes(read_table(tmp_path / "checks.csv"))
    shown = ["passed_all", "share", "mean_score", "n_checks", "unscored", "answer_flags"]
    pd.testing.assert_frame_equal(again[shown], probes(table)[shown], check_dtype=False)


@pytest.mark.parametrize(
    ("items", "replies", "more", "said"),
    [
        ((PAIR,), [reply("x", item(NO_DIGITS, id="other"))], {}, "the reply to 'other' belongs to none of the 1 items"),
        ((PAIR,), [reply("x"), reply("y")], {}, "is there twice"),
        ((item(("S9", {})),), [reply("x")], {}, "cse-v1/k02/000: constraint 'S9' is not known"),
        ((item(("S1", {"m": 3})),), [reply("x")], {}, "cse-v1/k02/000: S1: parameter 'm' is not known"),
        ((item(("S1", {"n": 0})),), [reply("x")], {}, "cse-v1/k02/000: S1: n must be at least 1, got 0"),
        ((PAIR,), [reply("x")], {"splitter": "mine"}, "splitter must be"),
        ((PAIR,), [reply("x")], {"extraction": "last tags"}, "did you mean 'last tag'"),
        ((PAIR,), [reply("x")], {"versions": {"S1": CONSTRAINTS["S2"]}}, "must be a verifier of S1, got one of S2"),
    ],
)
def test_what_can_not_be_scored_is_said(items: tuple[Item, ...], replies: list[Any], more: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        score(items, pd.DataFrame(replies), **more)


def test_k_is_the_number_of_constraints() -> None:
    wrong = dataclasses.replace(PAIR, params=PAIR.params | {"k": 3})
    with pytest.raises(ValueError, match="k must be the number of constraints, 2, got 3"):
        score([wrong], pd.DataFrame([reply("x")]))


# ------------------------------------------------------------------------------------------------------------ rescoring

SENTENCES = item(("S2", {"n": 2}), NO_DIGITS)
DOCTOR = reply("<answer>Dr. Owl hunts. Mice hide.</answer>", SENTENCES)


def test_another_splitter_is_a_table_of_flips() -> None:
    """ "Dr. Owl hunts. Mice hide." has two sentences; by the paper's rule "Dr." is one too."""
    version = CONSTRAINTS["S2"].version
    found = rescore([SENTENCES], pd.DataFrame([DOCTOR]), splitter="paper")
    assert list(found.flips.columns) == FLIP_COLUMNS
    row = found.flips.iloc[0]
    assert len(found.flips) == 1
    assert row[["constraint", "change", "passed_before", "passed", "score"]].tolist() == ["S2", "to fail", 1, 0, 0.5]
    version = CONSTRAINTS["S2"].version
    assert (row["version_before"], row["version"]) == (version, f"{version}, paper")
    assert found.checks["passed"].tolist() == [0, 1]
    back = flips(found.checks, scored(DOCTOR, items=(SENTENCES,)))
    assert back["change"].tolist() == ["to pass"]


EXTRACTED = {
    "last tag": "two words",
    "first tag": "one",
    "whole text": "<answer>one</answer> <answer>two words</answer>",
}


@pytest.mark.parametrize("extraction", EXTRACTIONS)
def test_each_extraction_finds_what_it_says(extraction: str) -> None:
    text = "<think>no</think><answer>one</answer> <answer>two words</answer>"
    assert answer_of(text, "stop", "direct", extraction).answer == EXTRACTED[extraction]


def test_another_extraction_is_a_table_of_flips() -> None:
    text = "<answer>Owls hunt mice.</answer> Or: <answer>Owls.</answer>"
    found = rescore([PAIR], pd.DataFrame([reply(text)]), extraction="first tag")
    assert found.flips[["constraint", "change"]].to_numpy().tolist() == [["S1", "to pass"]]
    assert answer_of("", "stop", "direct", "first tag").status == "empty"
    assert answer_of("<answer></answer><answer>x</answer>", "stop", "direct", "first tag").status == "empty"


def test_another_version_of_a_verifier_is_told_by_its_version() -> None:
    lenient = dataclasses.replace(
        CONSTRAINTS["S1"], version="mine", verify=lambda text, n: Verdict.of(float(len(text.words) <= n), "at most")
    )
    found = rescore([PAIR], pd.DataFrame([reply("<answer>Owls hunt.</answer>")]), versions={"S1": lenient})
    assert found.flips[["change", "version_before", "version", "detail"]].to_numpy().tolist() == [
        ["to pass", CONSTRAINTS["S1"].version, "mine", "at most"]
    ]


def test_a_saved_scoring_is_compared_with_a_new_one(tmp_path: Path) -> None:
    old = scored(DOCTOR, items=(SENTENCES,), splitter="paper")
    save_tables(tmp_path, checks=old)
    found = rescore([SENTENCES], pd.DataFrame([DOCTOR]), before=read_table(tmp_path / "checks.csv"))
    assert found.flips["change"].tolist() == ["to pass"]


def test_what_is_scored_only_once_is_a_flip_too() -> None:
    lost, there = scored(reply(None, status="failed")), scored(reply("<answer>Owls hunt mice.</answer>"))
    assert flips(lost, there)["change"].tolist() == ["scored now"] * 2
    assert flips(there, lost)["change"].tolist() == ["unscored now"] * 2
    assert len(flips(there, there)) == 0


def test_frames_of_other_checks_are_refused() -> None:
    one, other = scored(reply("x")), scored(reply("x", sample=1))
    with pytest.raises(ValueError, match=r"4 checks stand in one frame alone, such as m, cse-v1/k02/000, position 1"):
        flips(one, other)
    changed = item(("S1", {"n": 4}), NO_DIGITS)
    with pytest.raises(ValueError, match=r'position 1 is S1 \{"n":3\} before and S1 \{"n":4\} after'):
        flips(one, scored(reply("x"), items=(changed,)))


def test_flips_are_counted_of_what_both_times_was_scored() -> None:
    rows = [DOCTOR, DOCTOR | {"sample": 1, "text": "<answer>Owls hunt. Mice hide.</answer>"}]
    rows.append(DOCTOR | {"sample": 2, "text": None, "status": "failed"})
    found = rescore([SENTENCES], pd.DataFrame(rows), splitter="paper")
    counted = flip_counts(found).set_index("constraint")
    assert counted.loc["S2", ["to_pass", "to_fail", "estimate", "n"]].tolist() == [0, 1, 0.5, 2]
    assert counted.loc["N2", ["to_pass", "to_fail", "estimate", "n"]].tolist() == [0, 0, 0, 2]
    by_model = flip_counts(found, ["model"])
    assert by_model[["to_fail", "estimate", "n"]].to_numpy().tolist() == [[1, 0.25, 4]]


def test_keys_stand_in_every_frame() -> None:
    table = scored(reply("x"))
    assert set(KEYS) <= set(table)
    assert set(KEYS) <= set(probes(table))
