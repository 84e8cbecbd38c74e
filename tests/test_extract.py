"""Reasoning goes, whatever its marks look like, and what was odd about a reply is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdct.extract import extract_text, strip_reasoning

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
