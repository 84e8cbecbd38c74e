"""Other readings of a reply: each finds what it is said to find, and the shares count what changed."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from scipy.stats import beta

from cdct.core import stream
from cdct.extract import extract_answer
from cdct.saturation import CONSTRAINTS, READINGS, or_examples, readings, sensitivity
from cdct.saturation.sensitivity import ROW_COLUMNS, Marked, Raw, first_tagged
from cdct.text import Text

PAPER, FIRST, WHOLE, MARKS, RAW = READINGS


def frame(*texts: str | None) -> pd.DataFrame:
    return pd.DataFrame({"text": list(texts), "finish_reason": None})


def one(reply: str, id: str) -> pd.DataFrame:
    """What each reading makes of one reply, by its name."""
    return readings(frame(reply), [id]).set_index("reading")


# ------------------------------------------------------------------------------------------------------------- readings


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("<answer>one</answer> or <answer>two</answer>", "one"),
        ("<answer>one</answer>", "one"),
        ("no tags", "no tags"),
        ("open <answer>one", "open <answer>one"),
        ("</answer> <answer>one</answer>", "one"),
        ("<think><answer>no</answer></think><answer>yes</answer>", "yes"),
    ],
)
def test_the_first_tag(reply, expected):
    assert first_tagged(reply) == expected


def test_many_open_tags_take_linear_time():
    assert first_tagged("<answer>" * 131072).startswith("<answer>")


STRUCTURED = "# Rain\n\nIt **rains** now.\n\n- a b. c d.\n\n| x | y |\n|---|---|\n| 1 | 2 |"


def test_marks_that_are_kept_are_characters():
    scored, kept = Text(STRUCTURED), Marked(STRUCTURED)
    assert (scored.plain[:4], kept.plain[:6]) == ("Rain", "# Rain")
    assert [sentence.text for sentence in scored.sentences] == ["It rains now."]
    assert [sentence.text for sentence in kept.sentences] == ["It **rains** now."]
    assert (len(kept.bullets), len(kept.tables)) == (len(scored.bullets), len(scored.tables)) == (1, 1)


def test_raw_text_is_all_prose():
    raw = Raw(STRUCTURED)
    assert raw.prose == raw.plain == STRUCTURED
    assert "It **rains** now." in [sentence.text for sentence in raw.sentences]
    assert len(raw.sentences) > 3
    assert len(raw.tables) == 1


@pytest.mark.parametrize(
    ("id", "reply", "changed"),
    [
        ("W1", "Rain fell. <answer> Rain fell </answer>", {WHOLE}),
        ("W1", "<answer>Rain, rain.</answer> <answer>Rain fell.</answer>", {FIRST, WHOLE}),
        ("R4", "Go to Dr. Li. Li goes.", {PAPER}),
        ("F4", "All is well.\n\n- It is good.", {RAW}),
        ("F4", "All is well. It is good.", set()),
        ("N2", "**No** digits.", set()),
    ],
)
def test_a_reading_changes_the_verdicts_that_hang_on_it(id, reply, changed):
    rows = one(reply, id)
    assert set(rows.index[rows["changed"] == 1]) == changed
    assert set(rows.index[rows["differs"] == 1]) >= changed


def test_the_verdict_as_scored_is_that_of_the_extracted_answer_with_the_parameters_of_the_row():
    reply = "Well: <answer>Rain fell. Roads shone all night. We slept.</answer> Done."
    rows = readings(frame("Other.", reply), seed=4)
    assert list(rows) == ROW_COLUMNS
    assert len(rows) == 2 * len(CONSTRAINTS) * len(READINGS)
    text = Text(extract_answer(reply).answer)
    for row in rows[rows["reply"] == 1].to_dict("records"):
        kind = CONSTRAINTS[row["constraint"]]
        verdict = kind.check(text, **kind.sample(stream("cse", "sensitivity", 4, kind.id, 1)))
        assert (row["passed"], row["score"], row["detail"]) == (verdict.passed, verdict.score, verdict.detail)


def test_where_nothing_differs_checking_again_changes_nothing():
    """The verdict is not computed again then; here it is, for every type."""
    for id, kind in CONSTRAINTS.items():
        for reply, _, _ in kind.examples:
            rows = one(reply, id)
            params = kind.sample(stream("cse", "sensitivity", 0, id, 0))
            answer = extract_answer(reply).answer
            texts = [Text(answer, "paper"), Text(first_tagged(reply)), Text(reply), Marked(answer), Raw(answer)]
            for name, text in zip(READINGS, texts, strict=True):
                verdict = kind.check(text, **params)
                assert (rows.loc[name, "other_passed"], rows.loc[name, "other_score"]) == (
                    verdict.passed,
                    verdict.score,
                )


def test_a_missing_text_is_unscored_and_counted():
    rows = readings(frame("Rain fell.", None, float("nan")), ["S1", "W1"])
    assert rows.groupby("unscored").size().to_dict() == {"": 10, "no text": 20}
    missing = rows[rows["unscored"] != ""]
    assert missing[["changed", "differs", "score", "other_score"]].isna().all(axis=None)
    table = sensitivity(rows)
    assert set(table["n"]) == {1}
    assert set(table["n_unscored"]) == {2}


def test_parameters_hang_on_the_seed_and_on_nothing_else():
    texts = frame(*(f"Rain fell {number} times." for number in range(8)))
    rows = readings(texts)
    pd.testing.assert_frame_equal(rows, readings(texts))
    assert rows["params"].tolist() != readings(texts, seed=1)["params"].tolist()
    few = readings(texts, ["O1", "S1"], most=3)
    assert few["reply"].nunique() == 3
    both = few.merge(rows, on=["reply", "constraint", "reading"], suffixes=("", "_all"))
    assert (both["params"] == both["params_all"]).all()
    assert len(both) == len(few)
    assert set(few["reply"]) != set(readings(texts, ["S1"], most=3, seed=2)["reply"])


def test_an_unknown_constraint_is_an_error():
    with pytest.raises(ValueError, match="readings: constraint 'S0' is not known"):
        readings(frame("Rain."), ["S0"])


def test_examples_stand_in_where_there_are_no_replies_and_say_so():
    texts = or_examples(frame())
    assert set(texts["source"]) == {"no replies: example texts of the constraints"}
    assert texts["text"].is_unique
    assert "Rain fell all night." in set(texts["text"])
    given = frame("Rain.")
    assert or_examples(given) is given


# --------------------------------------------------------------------------------------------------------------- shares


def table(changed: list[float], replies: list[int] | None = None) -> pd.Series:
    rows = pd.DataFrame({"changed": changed, "reply": replies or range(len(changed)), "reading": "r"})
    rows = rows.assign(differs=rows["changed"].notna().astype(float), passed=False, other_passed=rows["changed"] == 1)
    rows = rows.assign(score=0.5, other_score=0.5 + 0.1 * rows["changed"].fillna(0))
    return sensitivity(rows, ["reading"]).iloc[0]


def test_a_share_has_its_exact_interval():
    """Clopper and Pearson: the quantiles of Beta(3, 8) and Beta(4, 7)."""
    found = table([1, 1, 1, 0, 0, 0, 0, 0, 0, 0, math.nan])
    assert found["estimate"] == 0.3
    assert found["low"] == pytest.approx(beta.ppf(0.025, 3, 8))
    assert found["high"] == pytest.approx(beta.ppf(0.975, 4, 7))
    assert (found["n"], found["n_unscored"], found["to_pass"], found["to_fail"]) == (10, 1, 3, 0)
    assert (found["n_differ"], found["scores_changed"], found["method"]) == (10, 0.3, "exact binomial")


def test_several_checks_of_one_reply_are_not_independent():
    alone = table([1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0])
    together = table([1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    assert together["estimate"] == alone["estimate"]
    assert together["high"] - together["low"] > alone["high"] - alone["low"]


def test_nothing_scored_is_nan():
    found = table([math.nan, math.nan])
    assert math.isnan(found["estimate"])
    assert math.isnan(found["scores_changed"])
    assert (found["n"], found["n_unscored"]) == (0, 2)


def test_a_reading_that_finds_nothing_else_has_no_estimate():
    found = sensitivity(readings(frame("Rain fell. Roads shone.", "Snow fell."), ["S2"])).set_index("reading")
    assert found.loc[FIRST, ["estimate", "low", "high"]].isna().all()
    assert found.loc[FIRST, ["n", "n_differ", "to_pass", "to_fail"]].tolist() == [2, 0, 0, 0]
    tagged = frame("Rain fell. <answer>Rain fell.</answer>", "Snow fell.")
    found = sensitivity(readings(tagged, ["S2"])).set_index("reading")
    assert found.loc[WHOLE, ["n", "n_differ"]].tolist() == [2, 1]
    assert found.loc[WHOLE, "estimate"] >= 0


def test_no_rows_give_no_cells():
    assert sensitivity(readings(frame())).empty


def test_the_order_is_that_of_the_registry():
    found = sensitivity(readings(frame("Rain fell.")))
    assert list(dict.fromkeys(found["constraint"])) == list(CONSTRAINTS)
    assert list(found["reading"][: len(READINGS)]) == list(READINGS)
