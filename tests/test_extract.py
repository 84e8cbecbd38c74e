"""Reasoning goes, whatever its marks look like, and what was odd about a reply is told."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cdct
from cdct.extract import Extraction, extract_answer, extract_text, strip_reasoning

SHARED = Path(cdct.__file__).resolve().parents[2] / "shared"
REPLIES = Path(os.environ.get("CDCT_REPLIES") or SHARED / "data" / "real_replies.jsonl")

CASES = [
    ("plain", "Blue sky.", "Blue sky.", ()),
    ("empty", "", "", ()),
    ("block first", "<think>plan</think>Blue sky.", "Blue sky.", ("reasoning",)),
    ("line breaks", "<think>\nplan\n</think>\n\nBlue sky.\n", "Blue sky.", ("reasoning",)),
    ("block in the middle", "Blue<think>plan</think>sky.", "Blue sky.", ("reasoning",)),
    ("several", "<think>a</think>Blue <think>b</think>sky.", "Blue  sky.", ("reasoning",)),
    ("only reasoning", "<think>plan</think>", "", ("reasoning",)),
    ("empty block", "<think></think>Blue sky.", "Blue sky.", ("reasoning",)),
    ("nested", "<think>a<think>b</think>c</think>Blue sky.", "Blue sky.", ("reasoning",)),
    ("mixed names", "<thinking>a<reasoning>b</reasoning></thinking>Blue sky.", "Blue sky.", ("reasoning",)),
    ("thought", "<thought>a</thought>Blue sky.", "Blue sky.", ("reasoning",)),
    ("upper case", "<THINK>plan</Think>Blue sky.", "Blue sky.", ("reasoning",)),
    # LifeOS #568: a template that pre-fills the opening mark
    ("only closing", "plan plan plan</think>Blue sky.", "Blue sky.", ("reasoning_unopened",)),
    # benchlocal-cli #13
    ("two closing", "</think></think>Blue sky.", "Blue sky.", ("reasoning_unopened",)),
    ("closing, then a block", "a</think>Blue <think>b</think>sky.", "Blue  sky.", ("reasoning_unopened", "reasoning")),
    ("block, then closing", "<think>a</think>b</think>Blue sky.", "Blue sky.", ("reasoning", "reasoning_unopened")),
    ("text, block, closing", "X <think>a</think>b</think>Blue sky.", "Blue sky.", ("reasoning", "reasoning_unopened")),
    ("never closed", "Blue sky.<think>and on", "Blue sky.", ("reasoning_unclosed",)),
    ("never closed, nothing before", "<think>and on", "", ("reasoning_unclosed",)),
    ("outer never closed", "<think>a<think>b</think>c", "", ("reasoning", "reasoning_unclosed")),
    (
        "closed, then never closed",
        "<think>a</think>Blue sky.<think>b",
        "Blue sky.",
        ("reasoning", "reasoning_unclosed"),
    ),
    ("other tags stay", "<answer>Blue</answer> <b>sky</b>.", "<answer>Blue</answer> <b>sky</b>.", ()),
    ("no mark", "I think < thinking > and <thinks> stay", "I think < thinking > and <thinks> stay", ()),
    ("attributes are no mark", '<think lang="en">x', '<think lang="en">x', ()),
    ("in ticks", "Models use `<think>` and `</think>`. Rain.", "Models use `<think>` and `</think>`. Rain.", ()),
    ("in quotes", 'The "<think>" mark opens it. Rain.', 'The "<think>" mark opens it. Rain.', ()),
    ("named in a sentence", "They use <think> tags. Rain.", "They use <think> tags. Rain.", ()),
    (
        "a pair named",
        "All between <think> and </think> goes. Rain.",
        "All between <think> and </think> goes. Rain.",
        (),
    ),
    ("named within", "<think>no `</think>` yet</think>Blue sky.", "Blue sky.", ("reasoning",)),
    # tpu-inference #3518: scoring looked into the reasoning block
    ("answer inside reasoning", "<think>maybe <answer>no</answer></think> Yes indeed.", "Yes indeed.", ("reasoning",)),
]


@pytest.mark.parametrize(("text", "answer", "flags"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_reasoning_goes(text: str, answer: str, flags: tuple[str, ...]) -> None:
    assert strip_reasoning(text) == (answer, flags)


@pytest.mark.parametrize(
    ("reply", "finish", "answer", "status"),
    [
        ("Blue sky.", "stop", "Blue sky.", "ok"),
        ("  Blue sky.\n", None, "Blue sky.", "ok"),
        ("Blue", "length", "Blue", "truncated"),
        ("<think>so far", "length", "", "truncated"),
        ("", "length", "", "truncated"),
        ("", "stop", "", "empty"),
        (" \n ", "stop", "", "empty"),
        (None, "stop", "", "empty"),
        ("<think>plan</think>", "stop", "", "empty"),
        ("...", "stop", "...", "ok"),
        ("Blue sky.", float("nan"), "Blue sky.", "ok"),  # as a table gives a missing finish_reason
    ],
)
def test_the_status_of_a_reply(reply: str | None, finish: str | None, answer: str, status: str) -> None:
    found = extract_text(reply, finish)
    assert (found.answer, found.status) == (answer, status)


MARKED = st.lists(st.sampled_from(["<think>", "</think>", "<THOUGHT>", "</reasoning>", "<", ">", "word ", "\n"])).map(
    "".join
)


@given(st.one_of(st.text(), MARKED))
def test_no_text_breaks_it_and_nothing_is_made_up(text: str) -> None:
    answer, flags = strip_reasoning(text)
    assert len(answer) <= len(text)
    assert not set(flags) - {"reasoning", "reasoning_unopened", "reasoning_unclosed"}
    if not flags:
        assert answer == text.strip()
    again, _ = strip_reasoning(answer)
    assert len(again) <= len(answer)


@given(st.lists(st.sampled_from(["alpha", "beta", "gamma"]), min_size=1), st.integers(0, 5))
def test_a_block_anywhere_leaves_the_words_around_it(kept: list[str], place: int) -> None:
    place = min(place, len(kept))
    text = " ".join([*kept[:place], "<think>some plan</think>", *kept[place:]])
    assert strip_reasoning(text)[0].split() == kept


ANSWERS = [
    ("one pair", "<answer>Blue sky.</answer>", "Blue sky.", ("tag_ok",)),
    ("words around it", "Sure: <answer> Blue. </answer> Done!", "Blue.", ("tag_ok", "outside_text")),
    ("no tag", "Blue sky.", "Blue sky.", ("no_tag",)),
    ("capitals and blanks", "<ANSWER >Blue.</ Answer>", "Blue.", ("tag_odd", "tag_loose")),
    ("attributes", '<answer id="1">Blue.</answer>', "Blue.", ("tag_odd", "tag_loose")),
    ("slash at the end", "<answer>Blue.<answer/>", "Blue.", ("tag_odd", "tag_loose")),
    ("never closed", "So: <answer>Blue. Red", "Blue. Red", ("tag_unclosed", "outside_text")),
    ("cut in the closing tag", "<answer>Blue.</answ", "Blue.", ("tag_unclosed",)),
    ("opened twice", "<answer>Blue.<answer>", "Blue.", ("tag_unclosed", "tag_stray")),
    ("pair, then opened", "<answer>A</answer> no: <answer>B", "A", ("tag_odd", "tag_stray", "outside_text")),
    ("opened, then pair", "<answer>A <answer>B</answer>", "B", ("tag_odd", "tag_stray", "outside_text")),
    ("empty pair", "<answer> </answer>", "", ("tag_ok",)),
    ("an empty pair later", "<answer>A</answer> <answer>...</answer>", "A", ("tag_odd", "tag_repeated")),
    ("a blank pair later", "<answer>A</answer> <answer> </answer>", "A", ("tag_odd", "tag_repeated")),
    (
        "a pair named in a sentence",
        "Put it between <answer> and </answer>: B two.",
        "Put it between <answer> and </answer>: B two.",
        ("no_tag", "tag_quoted"),
    ),
    (
        "named, then used",
        "I open with <answer> and close with </answer>. <answer>B</answer>",
        "B",
        ("tag_ok", "tag_quoted", "outside_text"),
    ),
    ("a word that joins is an answer", "The word: <answer> and </answer>", "and", ("tag_ok", "outside_text")),
    ("nothing but a word that joins", "<answer> and </answer>", "and", ("tag_ok",)),
    ("reasoning in ticks", "<answer>Models use `<think>` tags.</answer>", "Models use `<think>` tags.", ("tag_ok",)),
    ("spoken of", "I use <answer> tags: <answer>Blue.</answer>", "Blue.", ("tag_ok", "tag_quoted", "outside_text")),
    (
        "spoken of as a pair",
        "In <answer></answer> tags. <answer>A</answer>",
        "A",
        ("tag_ok", "tag_quoted", "outside_text"),
    ),
    (
        "spoken of with dots",
        "In <answer>...</answer> tags. <answer>A",
        "A",
        ("tag_unclosed", "tag_quoted", "outside_text"),
    ),
    ("spoken of after it", '<answer>A</answer> I used "<answer>" tags.', "A", ("tag_ok", "tag_quoted", "outside_text")),
    ("in ticks", "Use `<answer>` and `</answer>`.", "Use `<answer>` and `</answer>`.", ("no_tag", "tag_quoted")),
    ("tags named after it", "<answer>A.</answer> tags end here.", "A.", ("tag_ok", "outside_text")),
    (
        "both named",
        "between <answer> and </answer> tags <answer>A</answer>",
        "A",
        ("tag_ok", "tag_quoted", "outside_text"),
    ),
    ("an answer about tags", "<answer> Tags are labels.</answer>", "Tags are labels.", ("tag_ok",)),
    ("in a fence", "```\n<answer>\nBlue.\n</answer>\n```", "Blue.", ("tag_ok",)),
    ("fences in it", "<answer>\n```\nx\n```\n</answer>", "```\nx\n```", ("tag_ok",)),
    ("other tags", "<answers>A</answers> <b>x</b>", "<answers>A</answers> <b>x</b>", ("no_tag",)),
    ("three deep", "<answer>a<answer>b<answer>c</answer></answer></answer>", "abc", ("tag_odd", "tag_nested")),
]


@pytest.mark.parametrize(("text", "answer", "flags"), [case[1:] for case in ANSWERS], ids=[case[0] for case in ANSWERS])
def test_the_answer_and_how_it_was_found(text: str, answer: str, flags: tuple[str, ...]) -> None:
    assert extract_answer(text) == Extraction(answer, "ok" if answer else "empty", flags)


def test_B054_the_last_pair_wins() -> None:
    """databricks/officeqa#39."""
    found = extract_answer("<answer>first try</answer> No. <answer>second try</answer>")
    assert (found.answer, found.flags) == ("second try", ("tag_odd", "tag_repeated", "outside_text"))


def test_B056_nested_tags_are_told() -> None:
    """stanfordnlp/dspy#10106."""
    found = extract_answer("<answer>Type <answer>x</answer> here.</answer>")
    assert (found.answer, found.flags) == ("Type x here.", ("tag_odd", "tag_nested"))


def test_B057_a_stray_closing_tag_goes() -> None:
    """langroid/langroid#619."""
    assert extract_answer("Sea air.</answer>") == Extraction("Sea air.", "ok", ("no_tag", "tag_unopened"))


@pytest.mark.parametrize(
    ("case", "source", "text", "answer", "flag"),
    [
        (
            "B058",
            "vllm-project/tpu-inference#3518",
            "<think>maybe <answer>no</answer></think> Yes indeed.",
            "Yes indeed.",
            "no_tag",
        ),
        ("B059", "noonghunna/benchlocal-cli#13", "</think></think><answer>Blue sky.</answer>", "Blue sky.", "tag_ok"),
        ("B060", "nbramia/LifeOS#568", "plan plan plan</think>Blue sky.", "Blue sky.", "reasoning_unopened"),
        (
            "P144",
            "arXiv:2608.12426 App.Q class 1",
            "<answer>Calm seas.</answer> Note: no letter j used.",
            "Calm seas.",
            "tag_ok",
        ),
    ],
)
def test_answers_of_public_bug_reports(case: str, source: str, text: str, answer: str, flag: str) -> None:
    found = extract_answer(text)
    assert found.answer == answer
    assert flag in found.flags


def test_B063_no_content_is_an_empty_answer() -> None:
    """ai-twinkle/Eval#23."""
    assert extract_answer(None, "stop") == Extraction("", "empty", ("no_tag",))


@pytest.mark.parametrize(
    ("text", "finish", "status"),
    [
        ("<answer>Blue", "length", "truncated"),
        ("", "length", "truncated"),
        ("I'm sorry, but I cannot write such a text.", "stop", "refused"),
        ("<answer>I can't satisfy all of these constraints.</answer>", "stop", "refused"),
        ("Unfortunately, it is not possible to meet them all.", None, "refused"),
        ("It’s impossible to write this without the letter e.", None, "refused"),
        ("These constraints contradict each other.", None, "refused"),
        ("As an AI, I am unable to do that.", None, "refused"),
        ("Sorry, I cannot. Rain fell.", "length", "truncated"),
        ("I cannot help loving rain.", None, "ok"),
        ('"I cannot write a response," said Ann.', None, "ok"),
        ("Rain fell. I cannot provide more.", None, "ok"),
        ("We can satisfy them.", None, "ok"),
        ("She is sorry to leave the sea.", None, "ok"),
        ("<answer>It is impossible to see the sea and not smile.</answer>", None, "ok"),
        ("Unfortunately, the dog cannot swim.", None, "ok"),
        ("I'm afraid the rain won't stop. We wait.", None, "ok"),
        ("It is not possible for owls to sleep at night.", None, "ok"),
        ("We cannot give the sea a name.", None, "ok"),
        ("I'm sorry, but this is impossible.", None, "refused"),
        ("It is not possible to write a text under all of these constraints.", None, "refused"),
    ],
)
def test_the_status_of_an_answer(text: str, finish: str | None, status: str) -> None:
    assert extract_answer(text, finish).status == status


TAGGED = st.lists(
    st.sampled_from(
        [
            "<answer>",
            "</answer>",
            "<Answer >",
            "<answer/>",
            "`",
            " tags",
            "</think>",
            "<think>",
            "word ",
            "\n",
            "<",
            "...",
            " and ",
        ]
    ),
    max_size=30,
).map("".join)
FIRST = {"tag_ok", "tag_odd", "tag_unclosed", "no_tag"}


@given(st.one_of(st.text(), TAGGED))
def test_no_reply_breaks_the_extraction(text: str) -> None:
    found = extract_answer(text)
    assert len(FIRST & set(found.flags)) == 1
    assert found.flags[0] in FIRST
    assert len(set(found.flags)) == len(found.flags)
    assert (found.status == "empty") == (not found.answer)
    rest = iter(text)
    assert all(
        char in rest for char in found.answer if not char.isspace()
    )  # nothing is made up: the answer is what is left of the reply


@given(st.text(alphabet="ab .\n"), st.text(alphabet="ab .\n"))
def test_an_answer_in_tags_is_found_whatever_stands_around(before: str, after: str) -> None:
    assert extract_answer(f"{before}<answer>Blue sky.</answer>{after}").answer == "Blue sky."


@pytest.mark.skipif(not REPLIES.exists(), reason="the real replies are not here")
def test_real_replies_that_refuse_are_few_and_none_has_tags() -> None:
    found = [extract_answer(json.loads(line)["text"]) for line in REPLIES.read_text(encoding="utf-8").splitlines()]
    assert sum(extraction.status == "refused" for extraction in found) == 4  # read by hand
    assert {extraction.flags for extraction in found} == {("no_tag",)}


@pytest.mark.parametrize(
    ("reply", "start"),
    [
        (" \n Sea air.", 3),
        ("Sure: <answer> Sea air. </answer> Sea air.", 15),
        ("Sea air. <answer><answer>Sea air.</answer></answer>", 25),
        ("<think>Sea air.</think> <answer>Sea air.</answer>", 32),
        ("Well <think>x</think> so: <answer>Sea air.", 34),
        ("Sea air.</answer>", 0),
        ("Sea <think>so</think> air.", None),
        ("<answer>Sea <answer>air.</answer>", 20),
        ("<answer>Sea</answer> <answer>", 8),
        ("<answer>Sea </answer>a</answer>", 8),
        ("<answer> </answer>", None),
        ("", None),
    ],
)
def test_where_the_answer_starts_in_the_reply(reply: str, start: int | None) -> None:
    found = extract_answer(reply)
    assert found.answer_start == start
    assert start is None or reply[start:].startswith(found.answer)


def test_where_a_whole_reply_starts() -> None:
    assert extract_text(" <think>x</think>\n Sea air. ").answer_start == 19
    assert extract_text("Sea <think>x</think> air.").answer_start is None


@given(
    st.lists(st.sampled_from(["<answer>", "</answer>", "<think>", "</think>", "Sea", " ", "\n", "air."]), max_size=12)
)
def test_an_answer_with_a_start_stands_there(pieces: list[str]) -> None:
    reply = "".join(pieces)
    for found in (extract_answer(reply), extract_text(reply)):
        if found.answer_start is not None:
            assert found.answer
            assert reply[found.answer_start :].startswith(found.answer)
