"""A judge's text gives the verdicts that it states and no others: cases, hostile texts, time."""

from __future__ import annotations

import math
import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdct.ballot import Ballot, parse_ballot

# ------------------------------------------------------------------------------------------------- public bug reports


def test_B073_the_last_bracketed_score_wins():
    """lm-sys/FastChat#3921: the first bracketed score won over the verdict."""
    assert parse_ballot("At first [[4]] seemed fair. Final: [[8]]").score == 8


def test_B075_a_score_is_read_from_the_completion_alone():
    """prometheus-eval/prometheus-eval#58: the parser matched the prompt's template, always with the top mark."""
    assert parse_ballot("Fine work. [RESULT] 2").score == 2
    assert parse_ballot("... end with [RESULT] (1 to 5)").score is None
    assert parse_ballot("... end with [RESULT] (1 to 5)\nFine work. [RESULT] 2").score == 2


def test_B076_a_number_in_prose_is_no_score():
    """OpenAgentHQ/openagent-eval#74: the first number in prose was taken, and what did not parse became 0.5."""
    assert parse_ballot("There are 5 issues. Score: 9").score == 9
    assert parse_ballot("There are 5 issues. Not excellent.") == Ballot(status="parse_error")


def test_B077_digits_are_not_put_together():
    """cvs-health/uqlm#468: 0.8 became 8 percent."""
    assert parse_ballot("8.5").score == 8.5


def test_B078_a_decimal_may_begin_with_its_point():
    """traceroot-ai/traceroot-py#149: .8 was read as 8."""
    assert parse_ballot(".8", scale=1).score == 0.8


def test_B079_a_big_bracketed_number_is_out_of_range():
    """IBM/unitxt#1960: it was normalised to above 1."""
    assert parse_ballot("[[85]]") == Ballot(status="out_of_range", flags=("words",))


def test_B080_nothing_is_clamped():
    """petersimmons1972/proving-ground#7: a value that was not clamped poisoned means; clamping hides it as well."""
    found = parse_ballot("CC: 85")
    assert (found.cc, found.status) == (None, "out_of_range")


def test_B081_the_range_in_a_label_is_not_the_score():
    """kyegomez/swarms#2105."""
    assert parse_ballot("Score (0-10): 4").score == 4


def test_B083_the_last_number_is_not_the_score():
    """truera/trulens#862."""
    assert parse_ballot("Score: 6. I compared 2 drafts.").score == 6


def test_B084_nan_is_no_score():
    """modelscope/evalscope#1575: NaN passed every check of bounds."""
    assert parse_ballot('{"score": NaN}') == Ballot(status="parse_error")


def test_B085_prose_and_fences_may_stand_around_json():
    """nupsea/luminary#34: a strict parse failed, and 0 was recorded."""
    found = parse_ballot('Here you go: ```json\n{"CC": 7}\n``` Hope it helps')
    assert (found.cc, found.status, found.reason("SA")) == (7, "partial", "missing")


# ---------------------------------------------------------------------------------------------------------------- cases

ALL = '{"CC": 7, "SA": 8, "FC": 9}'
CUT = {"finish_reason": "length"}
N = None

THREE = [  # text, (CC, SA, FC), status, flags
    (ALL, (7, 8, 9), "ok", ()),
    (f"```json\n{ALL}\n```", (7, 8, 9), "ok", ()),
    (f"Sure! The ballot is {ALL}. Hope {{this}} helps.", (7, 8, 9), "ok", ()),
    ('{"CC": 0, "SA": 0.0, "FC": -0.0}', (0, 0, 0), "ok", ()),
    ('{"cc": 7.5, "sa": 0, "fc": 10.0}', (7.5, 0, 10), "ok", ()),
    ('{"CC": 1e1, "SA": -0, "FC": 0.50}', (10, 0, 0.5), "ok", ()),
    ('{"Constraint Compliance": 7, "semantic_accuracy": 8, "functional-completeness": 9}', (7, 8, 9), "ok", ()),
    ('{"constraintCompliance": 7, "SA (Semantic Accuracy)": 8, "FC_score": 9}', (7, 8, 9), "ok", ()),
    ('{"CC": {"score": 7, "reason": "41 words"}, "SA": {"value": 8}, "FC": 9}', (7, 8, 9), "ok", ()),
    ('{"scores": {"CC": 7, "SA": 8, "FC": 9}, "words": 41}', (7, 8, 9), "ok", ()),
    ('[{"metric": "CC", "score": 7}, {"metric": "SA", "score": 8}, {"name": "FC", "rating": 9}]', (7, 8, 9), "ok", ()),
    ('{"ballot": [{"metric": "CC", "score": 7}, {"metric": "SA", "score": 8}]}', (7, 8, N), "partial", ("FC:missing",)),
    ('{"CC": 7}\n{"SA": 8}\n{"FC": 9}', (7, 8, 9), "ok", ()),
    ('Draft {"CC": 3, "SA": 3, "FC": 3}, final ' + ALL, (7, 8, 9), "ok", ("revised",)),
    ('{"CC": 3, "SA": 3, "FC": 3} {"CC": 7}', (7, N, N), "partial", ("revised", "SA:missing", "FC:missing")),
    (f'{ALL} and {{"note": "CC: 3"}}', (7, 8, 9), "ok", ()),
    (f"{ALL}\nOn second thoughts CC: 5", (7, 8, 9), "ok", ("contradicted",)),
    (f"CC: 5 comes to mind, so {ALL}", (7, 8, 9), "ok", ()),
    (f"{ALL}\nCC: 7 since it has 41 words.", (7, 8, 9), "ok", ()),
    ('{"CC": 3, "CC": 7, "SA": 8, "FC": 9}', (7, 8, 9), "ok", ("duplicate",)),
    ('{"CC": 7, "CC": 7, "SA": 8, "FC": 9}', (7, 8, 9), "ok", ()),
    ('{"CC": "7", "SA": "8/10", "FC": "９"}', (7, 8, 9), "ok", ("string", "fraction", "wide")),
    ('{"CC": "7 points", "SA": "high", "FC": "4/5"}', (N, N, N), "parse_error", ("CC:parse_error", "FC:parse_error")),
    ('{"CC": true, "SA": [8], "FC": null}', (N, N, N), "parse_error", ("SA:parse_error", "FC:missing")),
    ('{"CC": 7, "SA": 11, "FC": -1}', (7, N, N), "out_of_range", ("SA:out_of_range", "FC:out_of_range")),
    ('{"CC": 7, "SA": 1e999, "FC": Infinity}', (7, N, N), "out_of_range", ("SA:out_of_range", "FC:parse_error")),
    ('{"CC": 7, "SA": 10.000001, "FC": 9}', (7, N, 9), "out_of_range", ("SA:out_of_range",)),
    ('{"CC": 7, "SA": 8, "FC": 9,}', (7, 8, 9), "ok", ("repaired",)),
    ("{'CC': 7, 'SA': 8, 'FC': 9}", (7, 8, 9), "ok", ("repaired",)),
    ("{CC: 7, SA: 8, FC: 9}", (7, 8, 9), "ok", ("repaired",)),
    ("{{" + ALL[1:-1] + "}}", (7, 8, 9), "ok", ("repaired",)),
    ('"{\\"CC\\": 7, \\"SA\\": 8, \\"FC\\": 9}"', (7, 8, 9), "ok", ("repaired",)),
    ('{"CC": 7 "SA": 8 "FC": 9}', (7, 8, 9), "ok", ("repaired",)),
    ('{"CC": +7, "SA": .8, "FC": 9.}', (7, 0.8, 9), "ok", ("repaired",)),
    ('{"CC": 8,5, "SA": 1O, "FC": 9}', (N, N, 9), "parse_error", ("repaired", "CC:parse_error", "SA:parse_error")),
    ('{"CC": 7, "SA": 8, "FC": 9, "why": "two\nlines"}', (7, 8, 9), "ok", ("repaired",)),
    ('{"CC": 7, "SA": 8, "FC": 9, "why": "6" pipe"}', (7, 8, 9), "ok", ("repaired",)),
    ('{"CC": 7, "why": "CC: 3, harsh", "SA": 8,}', (N, 8, N), "parse_error", ("duplicate", "CC:parse_error")),
    ('{"CC": 7, "why": "CC: 3 is harsh", "SA": 8}', (7, 8, N), "partial", ("FC:missing",)),
    ("CC: 7\nSA: 8\nFC: 9", (7, 8, 9), "ok", ("words",)),
    ("CC: 7, SA: 8, FC: 9", (7, 8, 9), "ok", ("words",)),
    ("CC 7, SA 8, FC 9", (7, 8, 9), "ok", ("words",)),
    ("CC=7 SA=8 FC=9.", (7, 8, 9), "ok", ("words",)),
    ("cc: 7; sa: 8; fc: 9", (7, 8, 9), "ok", ("words",)),
    ("**CC** = 7\n**SA:** 8\n**FC**: **9**", (7, 8, 9), "ok", ("words",)),
    ("- CC - 7\n- SA – 8\n- FC -> 9", (7, 8, 9), "ok", ("words",)),
    (
        "1. Constraint compliance: 7\n2. Semantic accuracy: 8\n3. Functional completeness: 9",
        (7, 8, 9),
        "ok",
        ("words",),
    ),
    (
        "Constraint Compliance (CC): 7/10\nSemantic Accuracy (SA): 8 / 10\nFC: 9 out of 10",
        (7, 8, 9),
        "ok",
        ("fraction",),
    ),
    ("CC (0-10): 7\nSA [0-10]: 8\nFC score (out of 10): 9", (7, 8, 9), "ok", ("words",)),
    ("CC: 7 (41 words)\nSA: 8 - sound\nFC: 9 because it has all", (7, 8, 9), "ok", ("words",)),
    ("CC: 4/5\nSA: 8\nFC: 9", (N, 8, 9), "parse_error", ("CC:parse_error", "fraction")),
    ("CC: 7%\nSA: 70 %\nFC: 9", (N, N, 9), "parse_error", ("CC:parse_error", "SA:parse_error")),
    ("CC: 8,5\nSA: 8.5.2\nFC: 1O", (N, N, N), "parse_error", ("CC:parse_error", "FC:parse_error")),
    ("CC: 7-8\nSA: 7 to 8\nFC: 7 or 8", (N, N, N), "parse_error", ("SA:parse_error",)),
    ("CC: -3\nSA: NaN\nFC: inf", (N, N, N), "out_of_range", ("CC:out_of_range", "SA:parse_error")),
    ("CC: ８\nSA：7\nFC: +9", (8, 7, 9), "ok", ("wide",)),
    ("CC: −1\nSA: 8\nFC: 9", (N, 8, 9), "out_of_range", ("CC:out_of_range",)),
    ("CC: 4, no, CC: 7. SA: 8. FC: 9.", (7, 8, 9), "ok", ("revised",)),
    ("CC: 7\nSA: 8\nFC: 9\nOverall score: 8", (7, 8, 9), "ok", ("words",)),
    ("CC: 7\nSA: n/a\nFC: none", (7, N, N), "partial", ("SA:missing", "FC:missing")),
    ("| CC | 7 |\n| SA | 8 |\n| FC | 9 |", (7, 8, 9), "ok", ("words",)),
    ("| Metric | Score | Why |\n|:--|--|--|\n| CC | **7** | 41 words |\n| SA | 8/10 | |", (7, 8, N), "partial", ()),
    ("| CC | SA | FC |\n|---|---|---|\n| 7 | 8 | 9 |", (7, 8, 9), "ok", ("words",)),
    ("| Metric | Max | Score |\n|--|--|--|\n| CC | 10 | 7 |", (N, N, N), "parse_error", ("CC:parse_error",)),
    ("CC | 7\nSA | 8\nFC | 9", (7, 8, 9), "ok", ("words",)),
    ("<CC>7</CC><SA>8</SA>\n<FC> 9 </FC>", (7, 8, 9), "ok", ("words",)),
    ("[CC] 7 [SA] 8 [FC] 9", (7, 8, 9), "ok", ("words",)),
    ("### Constraint Compliance (CC)\nScore: 7\n\n### SA\n**Score:** 8/10\nSound.\n### FC\n9\n", (7, 8, 9), "ok", ()),
    ("CC:\n7\n\nSA:\n8\n\nFC:\n9", (7, 8, 9), "ok", ("words",)),
    ("CC is 7. SA is 8. The FC is 9.", (7, 8, 9), "ok", ("words",)),
    ("<think>CC: 1, SA: 1, FC: 1</think>" + ALL, (7, 8, 9), "ok", ("reasoning",)),
    ("so CC: 2 then</think>CC: 7, SA: 8, FC: 9", (7, 8, 9), "ok", ("reasoning_unopened",)),
    ("CC: 7\nSA:", (7, N, N), "partial", ("SA:missing",)),
    # what stands in the rubric, in a template or in prose is no verdict
    ("CC 10: exact, 8-9: 1 to 3 words off\nCC: 7\nSA: 8\nFC: 9", (7, 8, 9), "ok", ()),
    ("CC: 7\nSA: 8\nFC: 9\nCC: 0-10, SA: 0-10, FC: 0-10", (7, 8, 9), "ok", ()),
    ("max CC: 10\nCC: 7\nSA: 8\nFC: 9\nMaximum FC: 10", (7, 8, 9), "ok", ()),
    ("CC: 7\nSA: 8\nFC: 9\nCC: 6 words too many, SA: 2 facts wrong, FC: 3 points off", (7, 8, 9), "ok", ()),
]


@pytest.mark.parametrize(("text", "values", "status", "flags"), THREE, ids=range(len(THREE)))
def test_three_metrics(text: str, values: tuple, status: str, flags: tuple[str, ...]) -> None:
    found = parse_ballot(text)
    assert ((found.cc, found.sa, found.fc), found.score, found.status) == (values, None, status)
    assert set(flags) <= set(found.flags)
    if status == "ok" and not flags:
        assert not {"repaired", "string", "duplicate", "contradicted"} & set(found.flags)
    for metric, value in zip(("CC", "SA", "FC"), values, strict=True):
        assert found.value(metric) == value
        assert bool(found.reason(metric)) == (value is None)


ONE = [  # text, score, status
    ("8", 8, "ok"),
    (" **8** \n", 8, "ok"),
    ("8.", 8, "ok"),
    ("`8.5`", 8.5, "ok"),
    ("10.0", 10, "ok"),
    ("-0", 0, "ok"),
    ("+7", 7, "ok"),
    ("1e1", 10, "ok"),
    ("８", 8, "ok"),
    ("11", N, "out_of_range"),
    ("-1", N, "out_of_range"),
    ("7/10", N, "parse_error"),
    ("7 out of 10", N, "parse_error"),
    ("7-8", N, "parse_error"),
    ("0-10", N, "parse_error"),
    ("8,5", N, "parse_error"),
    ("8.5.2", N, "parse_error"),
    ("1O", N, "parse_error"),
    ("٧", N, "parse_error"),
    ("VIII", N, "parse_error"),
    ("80%", N, "parse_error"),
    ("NaN", N, "parse_error"),
    ("Infinity", N, "parse_error"),
    ("True", N, "parse_error"),
    ("[7, 8, 9]", N, "parse_error"),
    ("8 9", N, "parse_error"),
    ("I'd give it an 8.", N, "parse_error"),
    ('{"score": 8}', 8, "ok"),
    ('{"score": 0}', 0, "ok"),
    ("Score: 0", 0, "ok"),
    ("Score: 7 (out of 10)", 7, "ok"),
    ("Score: 4 (out of 5)", N, "parse_error"),
    ("Score: 7 points out of 10.", 7, "ok"),
    ('{"rating": "8"}', 8, "ok"),
    ('{"score": 8, "max_score": 10, "words": 41}', 8, "ok"),
    ('{"overall": 8}', 8, "ok"),
    ('{"score": false}', N, "parse_error"),
    ('{"points": 8}', N, "parse_error"),
    ("Rating: 6", 6, "ok"),
    ("Final score: 8/10", 8, "ok"),
    ("**Score:** 8", 8, "ok"),
    ("Score 8/10", 8, "ok"),
    ("Score out of 10: 8", 8, "ok"),
    ("Score on a scale of 0-10: 8", 8, "ok"),
    ("Score [0 to 10] = 8", 8, "ok"),
    ("Rating (1 to 5): 3", 3, "ok"),
    ("[[8.5]]", 8.5, "ok"),
    ("[[8/10]]", 8, "ok"),
    ("[[7-8]]", N, "parse_error"),
    ("[[rating]] [[0-10]]", N, "parse_error"),
    ("[[8", N, "parse_error"),
    ("My score is 8.", 8, "ok"),
    ("If the score is 5, it fails.", N, "parse_error"),
    ("A score of 8 would need more.", N, "parse_error"),
    ("The maximum score: 10. Score: 3", 3, "ok"),
    ("max_score: 10", N, "parse_error"),
    ("Quality score: 3", N, "parse_error"),
    ("Score: 8, 7, 9", N, "parse_error"),
    ("CC, SA and FC: 7, 8, 9", N, "parse_error"),
    ("CC/SA/FC: 7/8/9", N, "parse_error"),
    ("Score:\n1. It is short.\n2. It is right.", N, "parse_error"),
    ("Score: 3 errors were found", N, "parse_error"),
    ("result: 35 words", N, "parse_error"),
    ("Example: 3! = 6.\n\n**Result:** 6\n", N, "parse_error"),
    ("Final result: 6", 6, "ok"),
    ("I can't grade this.", N, "parse_error"),
    ("", N, "empty"),
    (" \n\t", N, "empty"),
    ("<think>Score: 3</think>", N, "empty"),
    ("{", N, "truncated"),
    ('{"score": 8', N, "truncated"),
    ("{score: 8", N, "truncated"),
    ('Draft {"score": 8}, final {"score": ', N, "truncated"),
    ('{"draft": {"score": 8}, "final": ', N, "truncated"),
    ("The set {1, 2 is open. Score: 8", 8, "ok"),
]


@pytest.mark.parametrize(("text", "score", "status"), ONE, ids=range(len(ONE)))
def test_one_score(text: str, score: float | None, status: str) -> None:
    found = parse_ballot(text)
    assert (found.cc, found.sa, found.fc) == (None, None, None)
    assert (found.score, found.status) == (score, status)


AT_THE_LIMIT = [  # text that hit the token limit, values, status
    (ALL, (7, 8, 9, N), "ok"),
    (f"{ALL} It is", (7, 8, 9, N), "ok"),
    (ALL[:-1], (N, N, N, N), "truncated"),
    (ALL[:12], (N, N, N, N), "truncated"),
    ("CC: 7\nSA: 8\nFC: 9", (7, 8, N, N), "truncated"),
    ("CC: 7\nSA: 8\nFC: 9\n", (7, 8, N, N), "truncated"),  # outer white space is gone from replies
    ("CC: 7\nSA: 8\nFC: 9 because", (7, 8, 9, N), "ok"),
    ("CC: 7\nSA", (7, N, N, N), "truncated"),
    ("8", (N, N, N, N), "truncated"),
    ("Score: 1", (N, N, N, N), "truncated"),
    ("The reply has", (N, N, N, N), "truncated"),
    ("<think>Well", (N, N, N, N), "truncated"),
    ("", (N, N, N, N), "truncated"),
]


@pytest.mark.parametrize(("text", "values", "status"), AT_THE_LIMIT, ids=range(len(AT_THE_LIMIT)))
def test_what_the_token_limit_cut_is_not_completed(text: str, values: tuple, status: str) -> None:
    found = parse_ballot(text, finish_reason="length")
    assert ((found.cc, found.sa, found.fc, found.score), found.status) == (values, status)


@pytest.mark.parametrize(("text", "scale", "score"), [("0.8", 1, 0.8), ("8", 1, N), ("Score: 4/5", 5, 4), ("6", 5, N)])
def test_other_scales(text: str, scale: float, score: float | None) -> None:
    assert parse_ballot(text, scale).score == score


@pytest.mark.parametrize("scale", [0, -1, math.inf, math.nan, True, "10"])
def test_a_senseless_scale_is_an_error(scale: object) -> None:
    with pytest.raises(ValueError, match="scale must be a number above 0, got"):
        parse_ballot("8", scale)  # type: ignore[arg-type]


def test_a_label_that_names_another_range_is_told() -> None:
    assert "other_scale" in parse_ballot("Rating (1 to 5): 3").flags
    assert "other_scale" not in parse_ballot("Rating (0-10): 3").flags


# -------------------------------------------------------------------------------------------------------- hostile texts

BIG = 10**6
HOSTILE = {
    "brackets": "[" * BIG,
    "braces": "{" * BIG,
    "closed braces": "{" * (BIG // 2) + "}" * (BIG // 2),
    "empty objects": "{}" * (BIG // 2),
    "labels": '"CC":' * 10**5,
    "headings": "CC\n" * (BIG // 4),
    "digits": "CC: " + "1" * BIG,
    "digits of an object": '{"CC": ' + "1" * BIG + "}",
    "points": "0." * (BIG // 2),
    "nested objects": '{"a":' * (BIG // 6) + "}" * (BIG // 6),
    "nested lists": '{"CC": ' + "[" * (BIG // 2) + "]" * (BIG // 2) + "}",
    "deep objects": '{"a":' * 900 + '{"CC":7}' + "}" * 900,
    "quotation marks": '{"' * (BIG // 2),
    "escapes": '{"' + '\\"' * (BIG // 2),
    "an open string on each line": '{"\n' * (BIG // 3),
    "bars": "|" * BIG,
    "cells": "| CC | 7 " * (BIG // 9),
    "parentheses": "CC (" * (BIG // 4),
    "blanks": "CC" + " " * BIG + "7",
    "emphasis": "CC: *_`" * (BIG // 7),
    "score brackets": "[[1 " * (BIG // 4),
    "verdicts": "CC: 7\n" * (BIG // 6),
    "one long word": "a" * BIG,
    "line ends": "CC:" + "\n" * BIG + "7",
    "marks": "<think>" * (BIG // 7),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_of_anything_takes_linear_time(name: str) -> None:
    """None of these states more than CC 7. What takes quadratic time here does not end within hours."""
    found = parse_ballot(HOSTILE[name])
    assert (found.cc, found.sa, found.fc, found.score) in ((None,) * 4, (7, None, None, None))


NUMBERS = [
    *map(str, range(-1, 13)),
    *("35", "85", "100", "0.5", "7.25", "9.99", "10.0", "10.01", "-0.5", "NaN", "Infinity", "1e1", "1e999", ".5", "7."),
    *("8,5", "8.5.2", "1O", "８", "７．５", "٣", "½", "0x7", "1_0", "7/10", "4/5", "10/10", "0-10", "7-8", "7%", "-0"),
    *("+7", '"7"', "[[9]]", "true", "null"),
]
PIECES = [
    *NUMBERS,
    *map("CC: {}, ".format, NUMBERS),
    *map('{{"SA": {}}}'.format, NUMBERS),
    *(
        "CC",
        "SA",
        "FC",
        "score",
        "Score (0-10)",
        "[RESULT]",
        "Rating",
        "Constraint compliance",
        "**SA**",
        "CC,",
        "Final",
    ),
    *(": ", " = ", "/", " ", "\n", ", ", "|", " - ", " is ", ". ", "\r\n", "\n\n### ", "%", " out of ", "\n| CC | "),
    *('{"CC": ', '"SA": ', "{", "}", "[", "]", "[[", "]]", '"', "'", "\\", '{"score": ', ALL, "```json\n", "(", ")"),
    *(
        "<think>",
        "</think>",
        "words",
        "The reply has",
        " because ",
        "\u202e",
        "\ud800",
        "\x00",
        "👍",
        "ﬀ",
        "²",
        "\u2028",
    ),
]
ballots = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=20).map("".join)
TOKEN = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@settings(max_examples=10_000, deadline=None)
@given(ballots, st.sampled_from([None, "stop", "length"]), st.sampled_from([10, 5, 1]))
def test_no_score_that_the_text_does_not_state(text: str, finish: str | None, scale: float) -> None:
    found = parse_ballot(text, scale, finish)
    plain = unicodedata.normalize("NFKC", text.replace("−", "-"))
    stated = {abs(float(token)) for token in TOKEN.findall(plain) if 0 <= float(token) <= scale}
    values = [value for value in (found.cc, found.sa, found.fc, found.score) if value is not None]
    assert set(values) <= stated
    assert found.score is None or values == [found.score]
    assert (found.status == "ok") == (len(values) == 3 or found.score is not None)
    assert found == parse_ballot(text, scale, finish)
