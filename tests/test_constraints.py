"""What holds for every constraint, whatever it demands: one set of tests over the registry."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import pickle
import re
import unicodedata
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdct.core import Verdict, stream
from cdct.saturation.constraints import CONSTRAINTS, DIMENSIONS, Constraint, Parameter, constraint
from cdct.saturation.constraints.base import one_of, whole
from cdct.text import Text

each = pytest.mark.parametrize("id", list(CONSTRAINTS))
EXAMPLES = [(id, *example) for id in CONSTRAINTS for example in CONSTRAINTS[id].examples]
COUNTING_MORE_THAN_WORDS = ["S4", "S5"]
READING_PROSE = ["S2", "S3", "S6", "L3", "L4", "W3", "W4", "W5", "R4", "F4", "M1", "O1", "O2", "O3", "O4"]
NO_SENTENCES = (
    "Headings, bullet items, tables, code blocks and JSON are no sentences; numbered lines are sentences only where "
    "they have an end mark, and their numbers are no words."
)

EMPTY = ["", " ", "\n\t \r\n", "\u3000\u2028\x85"]
WORDLESS = [
    "🎉🎉🎉",
    "❤️ 👍🏽",
    "...",
    "— – -",
    "***\n\n***",
    "\u200b\u200d",
    "| |\n|-|\n| |",
    "\x00\x01\x1b[",
    "```\n```",
    "{}",
]
HOSTILE = [
    "\x00\xff\xfe\x00PNG\r\n\x1a\n\x00\x00\x00",
    "\ud800 lone \udfff surrogates",
    "ʼ ʼ. ʼ!",
    "e\u0301" * 50 + "a" + "\u0301" * 40,
    "ǅ ŉ ﬃ İ ẞ ß ΐ. Ünïcödé! ½ ① Ⅳ 光。合成！",
    "\u202eright to left\u202c. שלום עולם! مرحبا بالعالم؟",
    '<answer></answer> {"a": {"b": [1, 2]}} | a | b |\n|---|\n- x\n* y\n1. z\n```\ncode',
    "&#97; \\u0061 \\x61 &amp; &nbsp;&#32; \\U0010ffff \\ud800 &#xd800;",
    "{" * 300 + "|" * 300 + "`" * 300 + "." * 300 + "*" * 300 + "_x_" * 100,
    "nan inf -0 1e999 1,2,3 --5 3-5 1+1=2=2 १२३",
]
MEGABYTE = 2**20


@lru_cache
def large() -> tuple[Text, ...]:
    """Replies of 1 MB, parsed once for all types."""
    kinds = ["a" * MEGABYTE, "*_." * (MEGABYTE // 3) + "a", "Rain fell. " * (MEGABYTE // 11), "\n" * MEGABYTE + "a\nb"]
    return tuple(map(Text, kinds))


def sampled(id: str, how_many: int = 20) -> list[dict[str, Any]]:
    return [CONSTRAINTS[id].sample(stream("constraints", id, number)) for number in range(how_many)]


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from (key, *leaves(inner))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


def alike(one: Verdict, other: Verdict) -> bool:
    return (one.passed, one.score, one.detail, one.flags) == (other.passed, other.score, other.detail, other.flags)


# ------------------------------------------------------------------------------------------------------------ registry


def test_the_registry_is_in_the_order_of_the_papers_table():
    letters = [id[0] for id in CONSTRAINTS]
    assert letters == sorted(letters, key=list(DIMENSIONS).index)
    assert all(CONSTRAINTS[id].id == id for id in CONSTRAINTS)
    for dimension in set(letters):
        numbers = [int(id[1:]) for id in CONSTRAINTS if id[0] == dimension]
        assert numbers == list(range(1, len(numbers) + 1))


@each
def test_a_constraint_says_what_it_is(id):
    kind = CONSTRAINTS[id]
    assert kind.name
    assert kind.version
    assert kind.dimension in DIMENSIONS.values()
    assert "Score" in kind.notes
    assert kind.instruction(**kind.sample(stream("a"))).endswith((".", "}", "`", '"'))


def test_B001_an_unknown_id_is_an_error_and_no_pass():
    """thinking-machines-lab/tinker-cookbook#897."""
    with pytest.raises(KeyError, match="constraint 'L9' is not known; did you mean 'L"):
        CONSTRAINTS["L9"]
    with pytest.raises(KeyError, match="constraint 's1' is not known; did you mean 'S1'"):
        CONSTRAINTS["s1"]
    with pytest.raises(KeyError, match=f"known: {', '.join(CONSTRAINTS)}"):
        CONSTRAINTS["?"]


# ------------------------------------------------------------------------------------------------------------ examples


@pytest.mark.parametrize(("id", "text", "params", "passes"), EXAMPLES)
def test_every_example_is_judged_as_it_says(id, text, params, passes):
    verdict = CONSTRAINTS[id].check(text, **params)
    assert verdict.passed is passes, verdict.detail


@each
def test_there_are_two_examples_of_either_kind(id):
    kinds = [passes for _, _, passes in CONSTRAINTS[id].examples]
    assert kinds.count(True) >= 2
    assert kinds.count(False) >= 2
    assert len({(text, json.dumps(params)) for text, params, _ in CONSTRAINTS[id].examples}) == len(kinds)


# -------------------------------------------------------------------------------------------------- what passes nothing


@each
def test_an_empty_reply_passes_nothing(id):
    for params in sampled(id, 3):
        for text in EMPTY:
            verdict = CONSTRAINTS[id].check(text, **params)
            assert (verdict.passed, verdict.score, verdict.spans) == (False, 0.0, ()), text


@each
def test_a_reply_without_a_word_passes_nothing_that_counts_words(id):
    for params in sampled(id, 3):
        for text in WORDLESS:
            verdict = CONSTRAINTS[id].check(text, **params)
            assert verdict.passed is False, text
            assert verdict.score == 0.0 or id in COUNTING_MORE_THAN_WORDS, text


@each
def test_hostile_replies_get_a_verdict(id):
    for params in sampled(id, 3):
        for text in HOSTILE:
            verdict = CONSTRAINTS[id].check(text, **params)
            assert verdict.passed == (verdict.score == 1.0)
            assert all(0 <= start < end <= len(text) for start, end in verdict.spans)


@each
def test_a_reply_of_a_megabyte_gets_a_short_verdict(id):
    for reply in large():
        verdict = CONSTRAINTS[id].check(reply, **sampled(id, 1)[0])
        assert verdict.passed == (verdict.score == 1.0)
        assert len(verdict.detail) < 1000


@each
@pytest.mark.parametrize("reply", [None, 3, b"bytes", ["list"]], ids=str)
def test_only_text_is_checked(id, reply):
    with pytest.raises(TypeError, match=rf"{id}: the reply must be a str or a Text, got {type(reply).__name__}"):
        CONSTRAINTS[id].check(reply, **sampled(id, 1)[0])


# ------------------------------------------------------------------------------------------------ what changes nothing


def variants(text: str) -> Iterator[str]:
    yield f" \n{text}\t\n\n"
    yield re.sub("\r?\n", "\r\n", text)
    yield unicodedata.normalize("NFC", text)
    yield unicodedata.normalize("NFD", text)


@pytest.mark.parametrize(("id", "text", "params", "passes"), EXAMPLES)
def test_white_space_around_line_ends_and_normal_forms_change_nothing(id, text, params, passes):
    verdict = CONSTRAINTS[id].check(text, **params)
    for variant in variants(text):
        assert alike(CONSTRAINTS[id].check(variant, **params), verdict), repr(variant)


PIECES = [
    *(
        "Rain fell",
        "the sea ",
        ". ",
        "! ",
        "? ",
        "\n",
        "\n\n",
        "- ",
        "* ",
        "**",
        "_",
        "`",
        "```\n",
        "| a | b |\n",
        "|---|---|\n",
    ),
    *(
        "# ",
        "{",
        '{"a": 1}',
        "}",
        "1. ",
        "(2) ",
        "3 + 4 = 7",
        "1,250",
        "é",
        "ñ",
        "ß",
        "“",
        "”",
        "’",
        "e.g. ",
        "...",
        "…",
    ),
    *("\\u0061", "&amp;", "A", "strong", " ", "one. Two", "🎉", "ʼ", "\u0301"),
]
replies = st.one_of(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), st.text(max_size=60))


@each
@given(text=replies, seed=st.integers(0, 50))
@settings(max_examples=60, deadline=None)
def test_what_holds_for_any_reply(id, text, seed):
    kind, params = CONSTRAINTS[id], CONSTRAINTS[id].sample(stream("any", seed))
    verdict = kind.check(text, **params)
    assert verdict.passed == (verdict.score == 1.0)
    assert verdict == kind.check(Text(text), **params) == kind.check(text, **params)
    assert all(0 <= start < end <= len(text) for start, end in verdict.spans)
    assert sorted(verdict.spans) == list(verdict.spans)
    assert verdict.passed is False or verdict.spans == ()
    if "\r" not in text:
        for variant in variants(text):
            assert alike(kind.check(variant, **params), verdict), repr(variant)


# ---------------------------------------------------------------------------------------------------------- parameters


@each
def test_a_sample_comes_from_the_ranges_and_from_nothing_but_its_generator(id):
    kind = CONSTRAINTS[id]
    before = np.random.get_state()[1].tolist()  # noqa: NPY002 - to see that nobody touches it
    for number in range(50):
        params = kind.sample(stream(id, number))
        assert params == kind.sample(stream(id, number))
        assert list(params) == list(kind.parameters)
        assert json.loads(json.dumps(params)) == params, "parameters are JSON"
        assert list(kind.read(params)) == list(params), "what is drawn is accepted"
        for name, parameter in kind.parameters.items():
            if parameter.choices is not None:
                choices = parameter.choices() if callable(parameter.choices) else parameter.choices
                assert params[name] in choices
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


@each
def test_samples_differ_and_so_do_their_instructions(id):
    kind = CONSTRAINTS[id]
    drawn = {json.dumps(params): kind.instruction(**params) for params in sampled(id, 40)}
    varied = [parameter for parameter in kind.parameters.values() if not parameter.hidden]
    assert len(drawn) > 1 or not varied
    assert len(set(drawn.values())) == len(drawn)


@each
def test_the_instruction_holds_the_parameters_and_no_other_number_or_quoted_word(id):
    kind = CONSTRAINTS[id]
    for params in sampled(id):
        text = kind.instruction(**params)
        shown = [leaf for name, value in params.items() if not kind.parameters[name].hidden for leaf in leaves(value)]
        numbers = sorted(float(leaf) for leaf in shown if not isinstance(leaf, str))
        assert sorted(float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)) == numbers, text
        words = {leaf.casefold() for leaf in shown if isinstance(leaf, str)}
        assert all(word in text.casefold() for word in words), text
        if kind.dimension != "relational":  # whose instructions quote the keys of their JSON
            assert {word.casefold() for word in re.findall(r'"([^"]*)"', text)} <= words, text


@each
def test_all_that_read_sentences_say_in_the_same_words_what_is_none(id):
    assert (NO_SENTENCES in CONSTRAINTS[id].template) is (id in READING_PROSE)
    assert "sentences" not in CONSTRAINTS[id].template or id in READING_PROSE


def test_B006_a_prompt_with_another_number_is_told_from_the_right_one():
    """google-research/google-research#3361."""
    prompt = CONSTRAINTS["S1"].instruction(n=40)
    assert re.findall(r"\d+", prompt) == ["40"]
    assert prompt.replace("40", "45") != prompt
    assert prompt.replace("40", "45") == CONSTRAINTS["S1"].instruction(n=45)


def test_one_is_not_put_in_the_plural():
    assert "exactly 1 sentence." in CONSTRAINTS["S2"].instruction(n=1)
    assert "exactly 2 sentences." in CONSTRAINTS["S2"].instruction(n=2)


WRONG = [
    None,
    "",
    [],
    {},
    object(),
    float("nan"),
    float("inf"),
    -1,
    0,
    True,
    10**9,
    "two words",
    "1",
    ["a", "a"],
    [""],
    [None],
    b"a",
]


@each
def test_bad_parameters_raise_and_never_pass(id):
    kind, params = CONSTRAINTS[id], sampled(id, 1)[0]
    for verb in (kind.instruction, lambda **given: kind.check("Rain fell.", **given)):
        for name in params:
            with pytest.raises(ValueError, match=rf"{id}: parameter {name} is missing"):
                verb(**{key: value for key, value in params.items() if key != name})
            refused = 0
            for value in WRONG:
                try:
                    verb(**params | {name: value})
                except ValueError as error:
                    assert str(error).startswith(f"{id}: ")  # noqa: PT017 - one of many values
                    refused += 1
            assert refused >= len(WRONG) - 5, name
        with pytest.raises(ValueError, match=rf"{id}: parameter 'wrds' is not known"):
            verb(**params, wrds=1)


@each
def test_numpy_numbers_are_numbers(id):
    for params in sampled(id, 2):
        whole_numbers = {k: np.int64(v) if type(v) is int else v for k, v in params.items()}
        assert CONSTRAINTS[id].instruction(**whole_numbers) == CONSTRAINTS[id].instruction(**params)


# --------------------------------------------------------------------------------------------------------- a new block


def block(parameters, *, id="S9", instruction="Write {n:word}.", sample=None, rule=None):
    def check(text: Text, n: int) -> Verdict:
        return Verdict.of(1.0, "fine")

    check.__doc__ = instruction
    return constraint(id, "Test", parameters, sample=sample, rule=rule)(check)


def test_a_block_is_a_constraint():
    made = block({"n": whole(range(1, 3))}, rule=lambda n: "n must not be 2" if n == 2 else "")
    assert isinstance(made, Constraint)
    assert made.instruction(n=1) == "Write 1 word."
    assert made.check("x", n=1).passed
    with pytest.raises(ValueError, match="S9: n must not be 2"):
        made.check("x", n=2)
    assert "S9" not in CONSTRAINTS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"instruction": "Write words."}, r"S9: the instruction has the blanks \[\], the parameters are \['n'\]"),
        ({"instruction": "Write {n} of {m}."}, r"blanks \['m', 'n'\], the parameters are \['n'\]"),
        ({"instruction": None}, "S9: the docstring must begin with the instruction, got none"),
        ({"parameters": {}, "instruction": "Write."}, r"S9: the check takes \['text', 'n'\], should take \['text'\]"),
        ({"parameters": {"n": Parameter(None, int)}}, "S9: a parameter without choices needs `sample`"),
        ({"id": "X1"}, "X1: an id is one of the letters S L W R F M N O and a number"),
        ({"id": "S"}, "S: an id is one of the letters"),
    ],
)
def test_a_block_that_contradicts_itself_fails_when_it_is_made(change, message):
    with pytest.raises(ValueError, match=message):
        block(**{"parameters": {"n": whole(range(1, 3))}} | change)


def test_hidden_parameters_stand_in_no_instruction():
    assert block({"n": Parameter((1, 2), int, hidden=True)}, instruction="Write.").instruction(n=2) == "Write."


def test_one_of_takes_nothing_else():
    with pytest.raises(ValueError, match='must be one of "up", "down", got \'left\''):
        one_of(("up", "down")).read("left")


# ------------------------------------------------------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("passed", "score", "message"),
    [
        (True, 0.5, "passed must be"),
        (False, 1.0, "passed must be"),
        (None, 0.5, "passed must be"),
        (True, None, "passed must be"),
        (False, None, "passed must be"),
        (False, -0.1, "score must be None or between 0 and 1, got -0.1"),
        (True, 1.1, "score must be None or between 0 and 1"),
        (False, math.nan, "score must be None or between 0 and 1, got nan"),
    ],
)
def test_a_verdict_that_contradicts_itself_is_refused(passed, score, message):
    with pytest.raises(ValueError, match=message):
        Verdict(passed, score, "")


def test_what_could_not_be_scored_is_neither_passed_nor_failed():
    verdict = Verdict(None, None, "no reply")
    assert (verdict.passed, verdict.score, verdict.spans, verdict.flags) == (None, None, (), ())


def test_spans_are_found_when_they_are_read_and_only_once():
    calls = []
    verdict = Verdict.of(0.5, "x", lambda: calls.append(1) or [(1, 2)])
    assert calls == []
    assert verdict.spans == ((1, 2),)
    assert verdict.spans is verdict.spans
    assert calls == [1]
    with pytest.raises(AttributeError, match="a Verdict has no attribute 'span'"):
        verdict.span  # noqa: B018
    with pytest.raises(dataclasses.FrozenInstanceError):
        verdict.score = 1.0


def test_a_verdict_is_a_value_whether_its_spans_were_read_or_not():
    plain = Verdict(False, 0.5, "x", ((1, 2),), ("gap",))
    for change in (lambda v: v, lambda v: pickle.loads(pickle.dumps(v)), copy.copy, copy.deepcopy, dataclasses.replace):
        late = change(Verdict.of(0.5, "x", lambda: [(1, 2)], ("gap",)))
        assert late == plain
        assert hash(late) == hash(plain)
        assert (
            repr(late) == repr(plain) == "Verdict(passed=False, score=0.5, detail='x', spans=((1, 2),), flags=('gap',))"
        )
        assert dataclasses.asdict(late) == dataclasses.asdict(plain)
    assert plain != Verdict(False, 0.5, "x", ((1, 3),), ("gap",))


# --------------------------------------------------------------------------------------------------------- determinism


@each
def test_B005_the_same_parameters_judge_every_view(id):
    """allenai/olmo-eval#296: a checker that draws anew for each view scored the lenient one lower."""
    kind = CONSTRAINTS[id]
    for text, params, _ in kind.examples:
        before = copy.deepcopy(params)
        verdicts = [kind.check(view, **params) for view in (text, Text(text), text, f"\n{text}\n")]
        assert all(alike(verdict, verdicts[0]) for verdict in verdicts)
        assert params == before
    bold = CONSTRAINTS["S1"].check("**Rain** falls all day.", n=4)
    assert (bold.passed, CONSTRAINTS["S1"].check("Rain falls all day.", n=4).passed) == (True, True)


def test_B143_threads_share_a_reply():
    """modelscope/evalscope#394: 50 workers score the same parsed replies."""
    parsed = [Text(text) for _, text, _, _ in EXAMPLES]
    jobs = [(id, params, reply) for id, _, params, _ in EXAMPLES for reply in parsed[::7]]

    def score(job: tuple[str, dict[str, Any], Text]) -> Verdict:
        id, params, reply = job
        verdict = CONSTRAINTS[id].check(reply, **params)
        assert verdict.spans == verdict.spans
        return verdict

    with ThreadPoolExecutor(50) as pool:
        found = list(pool.map(score, jobs))
    assert found == [CONSTRAINTS[id].check(reply.raw, **params) for id, params, reply in jobs]
