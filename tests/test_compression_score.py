"""Scoring CDCT replies: the paper's bands on every word count, key points by words, and what can't be scored."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cdct
from cdct.compression import compliance_score, concepts, coverage, dips, generate, score, summarise
from cdct.compression.score import COLUMNS, JUDGED, METRICS
from cdct.core import KEYS, Item
from cdct.models import Model
from cdct.plan import plan
from cdct.run import run
from cdct.text import words

# ----------------------------------------------------------------------------------------------------- the word count

BANDS = {  # paper, section 3.5.1: words off the target -> lowest and highest score
    range(0, 1): (10, 10),
    range(1, 4): (8, 9),
    range(4, 8): (6, 7),
    range(8, 16): (4, 5),
    range(16, 500): (0, 3),
}


@pytest.mark.parametrize("n_words", range(1, 121))
def test_every_word_count_lies_in_its_band(n_words: int) -> None:
    off = abs(n_words - 35)
    low, high = next(ends for band, ends in BANDS.items() if off in band)
    assert low <= compliance_score(n_words) <= high
    if off < 35:
        assert compliance_score(35 - off) == compliance_score(35 + off)


@pytest.mark.parametrize(
    ("n_words", "points"),
    [
        *((35, 10), (34, 9), (36, 9), (33, 8.5), (37, 8.5), (32, 8), (38, 8)),
        *((31, 7), (39, 7), (30, 6 + 2 / 3), (28, 6), (42, 6)),
        *(
            (27, 5),
            (43, 5),
            (24, 5 - 3 / 7),
            (20, 4),
            (50, 4),
        ),  # 24 words, the paper's "near-perfect" example, are 11 off
        *(
            (19, 3),
            (51, 3),
            (18, 3 - 3 / 19),
            (1, 3 / 19),
            (69, 3 / 19),
            (70, 0),
            (0, 0),
            (71, 0),
            (149, 0),
            (10**9, 0),
        ),
    ],
)
def test_the_score_of_a_word_count(n_words: int, points: float) -> None:
    assert compliance_score(n_words) == pytest.approx(points, abs=1e-12)


def test_further_off_is_never_better_and_bands_are_linear_inside() -> None:
    above = [compliance_score(35 + off) for off in range(60)]
    assert above == sorted(above, reverse=True)
    for low, high in ((1, 3), (4, 7), (8, 15), (16, 35)):
        assert np.diff(above[low : high + 1], n=2) == pytest.approx(0, abs=1e-12)
        assert above[low - 1] > above[low]


@given(st.integers(1, 300), st.integers(0, 600))
def test_the_bands_are_in_words_whatever_the_target(target: int, n_words: int) -> None:
    points = compliance_score(n_words, target)
    assert 0 <= points <= 10
    assert (points == 10) == (n_words == target)
    if n_words > 0 and 35 + n_words - target > 0:
        assert points == compliance_score(35 + n_words - target)


@pytest.mark.parametrize(
    ("n_words", "points"), [(0, 0), (1, 10), (20, 10), (35, 10), (36, 9), (38, 8), (51, 3), (70, 0)]
)
def test_at_most_counts_only_the_words_above(n_words: int, points: float) -> None:
    assert compliance_score(n_words, mode="at most") == points


@pytest.mark.parametrize("number", [np.int64(34), np.int8(34), np.uint16(34)])
def test_whole_numbers_of_numpy_count(number: Any) -> None:
    assert compliance_score(number) == 9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1,), "compliance_score: n_words must be a whole number of at least 0, got -1"),
        ((35.0,), "compliance_score: n_words must be a whole number of at least 0, got 35.0"),
        ((True,), "compliance_score: n_words must be a whole number of at least 0, got True"),
        ((math.nan,), "compliance_score: n_words must be a whole number of at least 0, got nan"),
        ((None,), "compliance_score: n_words must be a whole number of at least 0, got None"),
        (("35",), "compliance_score: n_words must be a whole number of at least 0, got '35'"),
        ((35, 0), "compliance_score: target must be a whole number of at least 1, got 0"),
        ((35, 35.0), "compliance_score: target must be a whole number of at least 1, got 35.0"),
        ((35, 35, "at_most"), "compliance_score: mode must be one of 'exactly', 'at most', got 'at_most'"),
    ],
)
def test_what_is_no_word_count_is_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        compliance_score(*arguments)
    assert str(caught.value) == message


def test_a_boolean_of_numpy_is_no_word_count() -> None:
    with pytest.raises(ValueError, match="n_words must be a whole number"):
        compliance_score(np.True_)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------- key points

POINTS = [{"any": [["light", "energy"], ["photon*"]]}, {"any": [["co2"]]}, {"any": [["sun's"]]}, {"any": [["starch"]]}]


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("", 0),
        ("Nothing of that.", 0),
        ("Light alone.", 0),
        ("LIGHT gives **energy**!", 1),
        ("energy comes from light", 1),
        ("photons", 1),
        ("photon", 1),
        ("a biphoton", 0),
        ("light-energy", 1),
        ("light‑energy", 1),  # U+2011, a hyphen that does not break
        ("light—energy", 1),
        ("light/energy", 1),
        ("(light)/“energy”", 1),
        ("lightenergy", 0),
        ("lights energy", 0),
        ("CO2.", 1),
        ("CO₂", 0),
        ("the Sun’s rays", 1),
        ("the sun", 0),
        ("no starch, photons, CO2", 3),  # counted, not understood: a denied point is covered
    ],
)
def test_coverage_counts_words(text: str, covered: int) -> None:
    assert coverage(text, POINTS) == covered / 4


def test_coverage_needs_key_points() -> None:
    with pytest.raises(ValueError, match=r"^coverage: no key points given$"):
        coverage("text", [])


@given(st.text(), st.text())
def test_more_text_covers_no_less(a: str, b: str) -> None:
    assert coverage(f"{a} {b}", POINTS) >= max(coverage(a, POINTS), coverage(b, POINTS))


def points(slug: str) -> list[dict[str, Any]]:
    return [{"any": point.any} for point in concepts()[slug].key_points]


@pytest.mark.parametrize("slug", concepts())
def test_the_texts_of_a_concept_cover_its_key_points(slug: str) -> None:
    covered = {c: round(5 * coverage(text, points(slug))) for c, (_, text) in concepts()[slug].levels.items()}
    assert covered[1.0] == 5
    assert covered[0.75] >= 4
    assert covered[0.0] <= 1
    assert list(covered.values()) == sorted(covered.values())


@pytest.mark.parametrize("slug", concepts())
def test_the_texts_of_other_concepts_do_not(slug: str) -> None:
    """Long explanations of something else cover next to nothing: the words are the concept's own."""
    others = [coverage(other.levels[1.0][1], points(slug)) for name, other in concepts().items() if name != slug]
    assert max(others) <= 0.4
    assert np.mean(others) <= 0.1


# -------------------------------------------------------------------------------------------------------- the replies


def reply(
    text: Any, status: str = "ok", finish: str | None = "stop", item: str = "cdct-v1/recursion/c050"
) -> dict[str, Any]:
    keys = {"benchmark": "cdct", "arm": "baseline", "item": item, "model": "m", "sample": 0, "turn": 0}
    return keys | {"text": text, "status": status, "finish_reason": finish, "cached": False}


def score_one(text: Any, status: str = "ok", finish: str | None = "stop", **item: Any) -> dict[str, Any]:
    items = generate(**item)
    chosen = next(item for item in items if item.params["concept"] == "recursion" and item.params["c"] == 0.5)
    return score(items, pd.DataFrame([reply(text, status, finish, chosen.id)])).iloc[0].to_dict()


def count(number: int) -> str:
    return " ".join(["word"] * number)


def test_a_row_carries_keys_parameters_and_counts() -> None:
    row = score_one(count(36))
    assert list(row) == COLUMNS
    assert {key: row[key] for key in KEYS} == {key: reply("")[key] for key in KEYS}
    assert (row["concept"], row["domain"], row["c"], row["level_words"]) == ("recursion", "formal", 0.5, 27)
    assert (row["limit"], row["mode"], row["status"], row["flags"], row["unscored"]) == (35, "exactly", "ok", "", "")
    assert (row["compressor"], row["told"], row["judged"]) == ("written", "exactly 35 words", "exactly 35 words")
    assert (row["words"], row["deviation"], row["compliance"], row["cc"]) == (36, 1, 9, 0.9)
    assert (row["exact"], row["near"], row["cc_told"], row["coverage"]) == (0, 1, 0.9, 0)


@pytest.mark.parametrize(
    ("n", "exact", "near"), [(35, 1, 1), (34, 0, 1), (32, 0, 1), (38, 0, 1), (31, 0, 0), (39, 0, 0)]
)
def test_exact_and_near(n: int, exact: int, near: int) -> None:
    row = score_one(count(n))
    assert (row["exact"], row["near"], row["deviation"]) == (exact, near, n - 35)


@pytest.mark.parametrize(
    ("n", "deviation", "compliance", "exact"), [(20, 0, 10, 1), (35, 0, 10, 1), (36, 1, 9, 0), (0, 0, 0, 0)]
)
def test_a_row_with_at_most(n: int, deviation: int, compliance: float, exact: int) -> None:
    row = score_one(count(n), mode="at most")
    assert (row["deviation"], row["compliance"], row["exact"]) == (deviation, compliance, exact)


@pytest.mark.parametrize("status", ["failed", "skipped", "filtered"])
@pytest.mark.parametrize("text", [None, math.nan, "a piece of text"])
def test_a_call_without_an_answer_is_unscored_and_never_zero(status: str, text: Any) -> None:
    row = score_one(text, status, None)
    assert row["unscored"] == row["status"] == status
    assert all(math.isnan(row[metric]) for metric in METRICS)


@pytest.mark.parametrize("text", [None, math.nan, ""])
@pytest.mark.parametrize(
    ("status", "finish", "flags"), [("empty", "stop", "empty"), ("truncated", "length", "truncated")]
)
def test_a_reply_without_text_fails(text: Any, status: str, finish: str, flags: str) -> None:
    row = score_one(text, status, finish)
    assert (row["unscored"], row["flags"], row["words"], row["cc"], row["exact"], row["coverage"]) == (
        "",
        flags,
        0,
        0,
        0,
        0,
    )


def test_a_refusal_in_words_is_a_reply() -> None:
    row = score_one("I cannot help with that.", "refused")
    assert (row["unscored"], row["words"], row["cc"], row["status"]) == ("", 5, compliance_score(5) / 10, "refused")


def test_an_answer_whose_text_is_lost_is_told() -> None:
    assert score_one(None)["unscored"] == "ok, but without a text"


def test_a_cut_reply_is_scored_on_what_is_there_and_flagged() -> None:
    row = score_one(count(35), "truncated", "length")
    assert (row["flags"], row["cc"]) == ("truncated", 1)


def test_reasoning_is_not_counted() -> None:
    row = score_one(f"<think>{count(100)}</think>\n{count(35)}")
    assert (row["words"], row["flags"]) == (35, "reasoning")
    row = score_one(f"<think>{count(100)}", "truncated", "length")
    assert (row["words"], row["flags"], row["cc"]) == (0, "reasoning_unclosed truncated", 0)


def test_markdown_does_not_move_the_count() -> None:
    assert score_one(f"**{count(34)}** — end.")["words"] == 35


def test_a_reply_to_another_item_is_an_error() -> None:
    with pytest.raises(ValueError) as caught:
        score(generate(concepts=["derivative"]), pd.DataFrame([reply("x")]))
    assert str(caught.value) == "score: the reply to 'cdct-v1/recursion/c050' belongs to none of the 5 items given"


def test_rows_are_in_the_order_of_the_replies_and_scoring_is_pure() -> None:
    items = generate(concepts=["recursion"])
    replies = pd.DataFrame([reply(count(30 + i), item=item.id) for i, item in enumerate(items[::-1])])
    before = replies.copy()
    rows = score(items, replies)
    pd.testing.assert_frame_equal(rows, score(items, replies))
    pd.testing.assert_frame_equal(replies, before)
    assert rows["item"].tolist() == [item.id for item in items[::-1]]
    assert rows["words"].tolist() == [30, 31, 32, 33, 34]
    assert rows.dtypes[["words", "cc", "coverage"]].map(lambda kind: kind.kind).tolist() == ["i", "f", "f"]


def test_no_replies_are_no_rows() -> None:
    rows = score(generate(), pd.DataFrame(columns=list(reply(""))))
    assert (len(rows), list(rows.columns)) == (0, COLUMNS)


def test_an_item_is_scored_by_its_own_parameters() -> None:
    item = Item(
        "cdct",
        "x",
        {"concept": "q", "c": 0.5, "level_words": 27, "limit": 3, "mode": "exactly", "compressor": "written"},
        {"key_points": [{"any": [["blue"]]}]},
        {"domain": "formal", "context": "Sky"},
    )
    row = score([item], pd.DataFrame([reply("Blue sky today.", item="x")])).iloc[0]
    assert (row["cc"], row["coverage"], row["limit"]) == (1, 1, 3)


# ---------------------------------------------------------------------------------------- told one limit, judged by one


def score_in(arm: str, c: float, text: Any, status: str = "ok", **wishes: Any) -> dict[str, Any]:
    """The row of a reply to recursion at level c in an arm."""
    items = generate(concepts=["recursion"], levels=[c], **wishes)
    return score(items, pd.DataFrame([reply(text, status, item=items[0].id) | {"arm": arm}])).iloc[0].to_dict()


BY_LIMIT = ("deviation", "compliance", "cc", "exact", "near", "cc_told")


@pytest.mark.parametrize(("limit", "n"), [({}, 35), ({"limit": 42, "mode": "at most"}, 42)])
def test_where_the_prompt_holds_no_limit_none_is_scored(limit: dict[str, Any], n: int) -> None:
    row = score_in("inside", 0.0, f"A base case. {count(n)}", **limit)
    assert (row["unscored"], row["told"], row["judged"]) == ("limit absent", "none", "none")
    assert (row["words"], row["coverage"], row["status"], row["flags"]) == (n + 3, 0.2, "ok", "")
    assert all(math.isnan(row[metric]) for metric in BY_LIMIT)
    other = score_in("inside", 0.25, count(n), **limit)
    assert (other["unscored"], other["cc"], other["cc_told"], other["exact"]) == ("", 1, 1, 1)
    assert other["told"] == other["judged"] == ("at most 42 words" if limit else "exactly 35 words")


def test_a_reply_that_is_lost_is_lost_before_a_limit_is_absent() -> None:
    row = score_in("inside", 0.0, None, "failed")
    assert row["unscored"] == "failed"
    assert math.isnan(row["words"])
    row = score_in("inside", 0.0, "", "empty")
    assert (row["unscored"], row["flags"], row["words"], row["coverage"]) == ("limit absent", "empty", 0, 0)


AS_RELEASED = [  # level, words written -> deviation, cc, cc_told, told, judged
    (0.0, 19, 0, 1.0, 1.0, "under 20 words", "under 20 words"),
    (0.0, 1, 0, 1.0, 1.0, "under 20 words", "under 20 words"),
    (0.0, 20, 1, 0.9, 0.9, "under 20 words", "under 20 words"),
    (0.0, 0, 0, 0.0, 0.0, "under 20 words", "under 20 words"),
    (0.25, 19, 0, 1.0, None, "none", "under 20 words"),
    (0.25, 26, 7, 0.6, None, "none", "under 20 words"),
    (0.5, 49, 0, 1.0, 1.0, "none", "under 50 words"),
    (0.5, 50, 1, 0.9, 1.0, "none", "under 50 words"),
    (0.5, 700, 651, 0.0, 1.0, "none", "under 50 words"),
    (0.5, 0, 0, 0.0, 0.0, "none", "under 50 words"),
    (0.75, 700, None, 1.0, 1.0, "none", "none"),
    (0.75, 0, None, 0.0, 0.0, "none", "none"),
    (1.0, 1, None, 1.0, 1.0, "none", "none"),
]


@pytest.mark.parametrize(("c", "n", "deviation", "cc", "cc_told", "told", "judged"), AS_RELEASED)
def test_as_released_is_scored_by_the_judges_limit(
    c: float, n: int, deviation: int | None, cc: float, cc_told: float | None, told: str, judged: str
) -> None:
    row = score_in("as-released", c, count(n), "ok" if n else "empty")
    found = {name: None if math.isnan(row[name]) else row[name] for name in ("deviation", "cc", "cc_told")}
    assert found == {"deviation": deviation, "cc": pytest.approx(cc), "cc_told": cc_told}
    assert (row["told"], row["judged"], row["unscored"]) == (told, judged, "")
    assert row["exact"] == (cc == 1)
    assert row["near"] == (cc >= 0.8)
    short = score_in("as-released-short", c, count(n), "ok" if n else "empty")
    assert (short["told"], short["judged"], short["cc"]) == ("none", judged, row["cc"])
    assert math.isnan(short["cc_told"])


def test_numbers_stay_numbers_where_none_is_there() -> None:
    items = generate(concepts=["recursion"])
    for arm in ("as-released-short", "inside"):
        rows = score(items[:1], pd.DataFrame([reply(count(3), item=items[0].id) | {"arm": arm}]))
        assert {metric: rows[metric].dtype.kind for metric in METRICS} == dict.fromkeys(METRICS, "f") | {"words": "i"}


def test_a_jurys_metrics_are_other_ones() -> None:
    assert not set(METRICS) & set(JUDGED)
    assert set(METRICS) <= set(COLUMNS)
    assert not set(JUDGED) & set(COLUMNS)
    assert {name for name, bounds in METRICS.items() if bounds is None} == {"words"}
    assert set((METRICS | JUDGED).values()) == {None, (0.0, 1.0)}


# ------------------------------------------------------------------------------------------------ items without a text


def test_an_item_without_a_text_has_a_row_for_each_model_arm_and_sample(store_path: str) -> None:
    texts = {("recursion", 0.0): "Recursive self-calls", ("recursion", 0.5): None}  # nothing at .25 and .75 either
    items = generate(concepts=["recursion"], compressor="maker", texts=texts)
    asked: list[str] = []

    def answer(request: Mapping[str, Any], sample: int) -> str:
        asked.append(request["messages"][-1]["content"])
        return count(35 + sample)

    models = [Model(name, answer=answer) for name in ("one", "two")]
    arms = ["fixed", "plain"]
    planned = plan(items, models, arms, samples=2, store=store_path)
    assert planned["calls"].tolist() == planned["new"].tolist() == [4] * 4
    replies = run(items, models, arms, samples=2, store=store_path, progress=False)
    assert len(replies) == len(asked) == 16  # two items with a text, two models, arms, samples
    assert not any("None" in text for text in asked)
    rows = score(items, replies)
    unmade = rows[rows["status"] == "unmade"]
    keys = unmade[["arm", "model", "sample", "item"]].itertuples(index=False, name=None)
    assert sorted(keys) == sorted(
        (arm, model, sample, f"cdct-v1/recursion/{c}-maker")
        for arm in arms
        for model in ("one", "two")
        for sample in (0, 1)
        for c in ("c025", "c050", "c075")
    )
    assert (len(rows), len(rows.drop_duplicates(KEYS))) == (40, 40)
    assert set(unmade["unscored"]) == {"no text was accepted"}
    assert unmade[list(METRICS)].isna().all(axis=None)
    assert unmade["last"].all()
    assert set(zip(unmade["benchmark"], unmade["turn"], unmade["compressor"], strict=True)) == {("cdct", 0, "maker")}
    assert set(unmade["told"]) == {"exactly 35 words"}
    table = summarise(rows, ["model", "arm", "c"])
    assert table["n"].tolist() == [2, 0, 0, 0, 2] * 4
    assert table["n_unscored"].tolist() == [0, 2, 2, 2, 0] * 4
    assert dips(rows)["unscored"].tolist() == ["no scored reply at c = 0.25, 0.5, 0.75"] * 4
    only = items[1:2]
    assert plan(only, models, arms, store=store_path)["calls"].tolist() == [0] * 4
    assert len(run(only, models, arms, store=store_path, progress=False)) == 0


def test_replies_to_texts_of_one_compressor_are_not_rows_of_another() -> None:
    items = generate(concepts=["recursion"], levels=[0.5])
    gaps = generate(concepts=["recursion"], levels=[0.5], compressor="maker", texts={})
    rows = score([*items, *gaps], pd.DataFrame([reply(count(35), item=items[0].id)]))
    assert rows[["compressor", "status"]].to_numpy().tolist() == [["written", "ok"], ["maker", "unmade"]]
    with pytest.raises(ValueError, match="the rows mix compressor 'written', 'maker', which can't be averaged"):
        summarise(rows)


# ------------------------------------------------------------------------------------------------------- real replies

PUBLIC = Path(
    os.environ.get("CDCT_PUBLIC") or Path(cdct.__file__).resolve().parents[2] / "shared" / "data" / "cdct_public"
)
"""The result files of the paper's public code, which carry no licence and are hence not in this repository."""


@pytest.mark.skipif(
    not PUBLIC.is_dir(), reason="the public CDCT result files are absent; CDCT_PUBLIC names their folder"
)
def test_the_public_replies_follow_their_instructions_and_not_the_limit() -> None:
    """Real replies of eleven models: at c = 0.5 the baseline was told that it may elaborate, the ablation was not."""
    rows = [
        {"arm": folder, "c": trial["compression_level"], "told": trial["response_length"], "text": trial["response"]}
        for folder in ("results_jury", "results_jury_ablation")
        for file in sorted((PUBLIC / folder).glob("*.json"))
        for trial in json.loads(file.read_text(encoding="utf-8"))["performance"]
    ]
    table = pd.DataFrame(rows)
    table["words"] = [len(words(text)) for text in table["text"]]
    assert len(table) == 880
    # blanks part their words too, but a lone mark is a word of theirs
    assert (table["words"] <= table["told"]).all()
    assert ((table["told"] - table["words"]) <= 0.25 * table["told"]).all()
    means = table.groupby(["arm", "c"])["words"].mean()
    for c, theirs in {0.0: 5, 0.25: 22, 0.5: 528, 0.75: 703, 1.0: 781}.items():
        assert means["results_jury", c] == pytest.approx(theirs, rel=0.12)
    for c, theirs in {0.0: 19, 0.25: 23, 0.5: 30, 0.75: 52, 1.0: 67}.items():
        assert means["results_jury_ablation", c] == pytest.approx(theirs, rel=0.12)
    # the limit of 35 words was in no prompt: ten replies have it by chance, by the count of blanks
    assert (table["told"] == 35).sum() == 10
    assert 5 <= (table["words"] == 35).sum() <= 15
    # the judges' limit at c = 0.5 was 50 words: no baseline reply keeps it, and all but one of the ablation do
    at_middle = table[table["c"] == 0.5].groupby("arm")["words"]
    kept = at_middle.apply(lambda counts: int((counts <= 50).sum()))
    assert kept["results_jury"] == 0
    assert kept["results_jury_ablation"] >= 87
    assert at_middle.median()["results_jury"] > 200
