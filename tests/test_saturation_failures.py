"""How CSE replies fail: refusals, tags, cut replies, classes of lipogram failures, shortcuts; hand-made replies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from saturation_worlds import filled
from scipy import stats
from test_saturation_score import item, reply
from test_stats_decay import none_falls_short

from cdct.core import stream
from cdct.saturation.analysis import summarise
from cdct.saturation.failures import (
    L1_CLASSES,
    READINGS,
    SHORTCUTS,
    TAGS,
    budget_use,
    failure_classes,
    first_violation,
    refusals,
    reread,
    shortcuts,
    tag_use,
    violations,
)
from cdct.saturation.score import score

LIPOGRAM = [item(("L1", {"letter": "n"}), id=f"cse-v1/k01/{number:03d}") for number in range(12)]
REFUSED = "<answer>I cannot fulfil this request.</answer>"


def frames(*texts: str | dict[str, Any] | None, **more: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Checks and replies: the n-th text answers the n-th item; a dictionary holds more of its reply."""
    rows = []
    for number, text in enumerate(texts):
        given = text if isinstance(text, dict) else {"text": text}
        rows.append(reply(None, LIPOGRAM[number]) | more | given)
    replies = pd.DataFrame(rows)
    return score(LIPOGRAM, replies), replies


# ------------------------------------------------------------------------------------------------------------- refusals


def test_refusals_are_counted_of_all_and_of_failed_replies() -> None:
    """Five replies and a lost one: two refusals, of which one passes, since it holds no n; two further failures."""
    passing = "<answer>I am afraid it is impossible to satisfy all of these rules.</answer>"
    lost = {"text": None, "status": "failed"}
    table, _ = frames(REFUSED, passing, "<answer>Owls eat.</answer>", "<answer>No owl.</answer>", "", lost)
    assert table["answer_status"].tolist() == ["refused", "refused", "ok", "ok", "empty", ""]
    assert table["passed"].tolist()[:5] == [0, 1, 1, 0, 0]
    found = refusals(table).set_index("of")
    assert found.loc["all replies", ["count", "n", "n_unscored"]].tolist() == [2, 5, 1]
    assert found.loc["all replies", "estimate"] == pytest.approx(2 / 5)
    assert found.loc["failed probes", ["count", "n", "n_unscored"]].tolist() == [1, 3, 1]
    exact = stats.binomtest(1, 3).proportion_ci()
    assert found.loc["failed probes", ["low", "high"]].tolist() == pytest.approx([exact.low, exact.high])


# ----------------------------------------------------------------------------------------------------------------- tags


def test_how_the_tags_are_used() -> None:
    texts = [
        *("<answer>Owls eat.</answer>", "<answer>An owl.</answer>", "<answer>Owls</answer> or <answer>bats</answer>"),
        *("<answer>Owls eat", "Owls eat.", "", {"text": None, "status": "filtered"}),
    ]
    table, _ = frames(*texts)
    found = tag_use(table).set_index("tag")
    assert list(found.index) == list(TAGS)
    assert found["count"].tolist() == [2, 1, 1, 2]
    assert found["estimate"].tolist() == pytest.approx([2 / 6, 1 / 6, 1 / 6, 2 / 6])
    assert set(found["n"]) == {6}
    assert set(found["n_unscored"]) == {1}
    assert found["mCSR"].tolist() == [0.5, 1, 1, 0.5]
    with pytest.raises(ValueError, match="the arm 'no-tags' asks for no tags"):
        tag_use(table.assign(arm="no-tags"))


def test_where_replies_are_cut() -> None:
    cut = {"status": "truncated", "finish_reason": "length"}
    texts = [
        "<answer>Owls</answer>",
        {"text": "<answer>Ow"} | cut,
        {"text": "<think>let me"} | cut,
        {"text": "Ow"} | cut,
    ]
    found = budget_use(frames(*texts, completion_tokens=100.0)[0]).set_index("end")
    assert found["count"].to_dict() == {"complete": 1, "cut in the answer": 1, "cut before the answer": 2}
    assert found["tokens"].tolist() == [100] * 3
    assert found["estimate"].sum() == pytest.approx(1)
    untagged = budget_use(frames(*texts[:2], arm="no-tags")[0]).set_index("end")
    assert untagged["count"]["cut in the answer"] == 1


# ------------------------------------------------------------------------------------------------------------ lipograms

FAILED = {
    "in the text": ("<answer>Owls hunt.</answer>", "genuine"),
    "a capital alone": (f"<answer>{'Owls eat. ' * 30}No.</answer>", "case"),
    "a capital first": (f"<answer>{'Owls eat. ' * 30}No one.</answer>", "genuine"),
    "a capital at the start": ("<answer>Nobody eats.</answer>", "case"),
    "speaks of the letter": ('<answer>Here is a text that avoids the letter "n": Owls eat.</answer>', "meta"),
    "speaks of its constraint": ("<answer>Constraint L1 kept. Owls eat.</answer>", "meta"),
    "speaks of it late": (f"<answer>{'Owls eat. ' * 30}The letter n is out.</answer>", "genuine"),
    "speaks far from it": (f"<answer>A lipogram. {'Owls eat. ' * 8}Then rest.</answer>", "genuine"),
    "speaks near it": ("<answer>A lipogram. Owls eat. Then rest.</answer>", "meta"),
    "refuses": (REFUSED, "refusal"),
    "says nothing": ("<answer>...</answer>", "empty"),
    "empty": ("", "empty"),
    "a letter inside another one": ("<answer>\u0149 owls</answer>", "genuine"),
}


@pytest.mark.parametrize("name", FAILED)
def test_the_class_of_a_failure_and_where_it_begins(name: str) -> None:
    text, kind = FAILED[name]
    found = violations(*frames(text)).iloc[0]
    assert found["class"] == kind
    answer = text.removeprefix("<answer>").removesuffix("</answer>")
    first = next((at for at, char in enumerate(answer) if "n" in char.casefold()), None)
    if first is None:
        assert math.isnan(found["place"])
    else:
        assert found["at"] == first
        assert found["place"] == pytest.approx(first / len(answer))
        assert answer[first] in found["near"]


def test_only_failures_have_a_row_and_every_class_a_share() -> None:
    texts = [FAILED[name][0] for name in ("in the text", "a capital at the start", "refuses", "says nothing")]
    texts += ["<answer>Owls eat.</answer>", {"text": None, "status": "failed"}, "<answer>An owl.</answer>"]
    found = violations(*frames(*texts))
    assert len(found) == 5
    classes = failure_classes(found).set_index("class")
    assert list(classes.index) == list(L1_CLASSES)
    assert classes["count"].to_dict() == {"genuine": 2, "meta": 0, "refusal": 1, "case": 1, "empty": 1}
    assert set(classes["n"]) == {5}
    assert classes["estimate"].sum() == pytest.approx(1)


def test_the_median_place_by_hand() -> None:
    """Nine places: the third and the seventh of them bound the median with more than 95 % (binomial of 9: 96.1 %)."""
    places = np.arange(1, 10) / 10
    found = pd.DataFrame({"model": "m", "item": [f"{n}" for n in range(9)], "class": "genuine", "place": places})
    table = first_violation(found).set_index("measure")
    assert table.loc["median", ["estimate", "low", "high", "n"]].tolist() == pytest.approx([0.5, 0.2, 0.8, 9])
    assert stats.binom.cdf(7, 9, 0.5) - stats.binom.cdf(1, 9, 0.5) > 0.95
    assert table.loc["first fifth", "estimate"] == pytest.approx(1 / 9)
    few = first_violation(found[:5]).set_index("measure")
    assert few.loc["median", ["low", "high"]].tolist() == [0.0, 1.0]
    assert len(first_violation(found.assign(**{"class": "meta"}))) == 0


@pytest.mark.parametrize("n", [6, 12, 41])
def test_the_interval_of_the_median_holds_it(n: int) -> None:
    places = stream("test", "median", n).beta(0.5, 3, 400 * n)
    frame = pd.DataFrame({"run": np.arange(400 * n) // n, "item": np.arange(400 * n), "place": places})
    table = first_violation(frame.assign(model="m", **{"class": "genuine"}), ["run"])
    table = table[table["measure"] == "median"]
    truth = stats.beta.median(0.5, 3)
    none_falls_short({f"median of {n}": ((table["low"] <= truth) & (truth <= table["high"])).to_numpy()})


def test_other_constraints_have_places_too() -> None:
    probe = item(("S2", {"n": 1}), ("L5", {"word": "owls"}))
    replies = pd.DataFrame([reply("<answer>Bats rest. Owls hunt.</answer>", probe)])
    table = score([probe], replies)
    assert violations(table, replies, "L5")[["class", "at"]].to_numpy().tolist() == [["genuine", 11]]
    assert violations(table, replies, "S2")[["class", "at"]].to_numpy().tolist() == [["genuine", 11]]
    with pytest.raises(ValueError, match="constraint 'L9' is not known"):
        violations(table, replies, "L9")


def test_what_does_not_fit_together_is_refused() -> None:
    table, replies = frames("<answer>Owls hunt.</answer>")
    with pytest.raises(ValueError, match="the reply of m to cse-v1/k01/000 is not among the replies"):
        violations(table, replies.assign(sample=1))
    with pytest.raises(ValueError, match="L1 passes when it is checked again"):
        violations(table, replies.assign(text="Owls eat."))


@settings(max_examples=80, deadline=None)
@given(st.text(alphabet=st.sampled_from("nN aoletr.,'\"<>/\nñ\u0149"), max_size=200))
def test_any_text_has_one_class(text: str) -> None:
    table, replies = frames(f"<answer>{text}</answer>")
    found = violations(table, replies)
    assert len(found) == (table["passed"] == 0).sum()
    assert set(found["class"]) <= set(L1_CLASSES)
    assert found["place"].dropna().between(0, 1).all()


# ------------------------------------------------------------------------------------------------------------ shortcuts


def flagged(*rows: tuple[str, float, str]) -> pd.DataFrame:
    """Checks of one model: constraint, passed, flags."""
    table = pd.DataFrame(rows, columns=["constraint", "passed", "flags"])
    table = table.assign(item=[f"{n}" for n in range(len(rows))], model="m", k=1, position=1, score=table["passed"])
    return filled(table.assign(dimension="format"))


GAPS = flagged(
    *[("F3", 0, "empty_code_blocks")] * 4,
    *[("F3", 1, ""), ("F3", 0, "")],
    *[("S6", 1, "mirror_copies"), ("S6", 0, "mirror_copies"), ("S6", 1, ""), ("S6", 1, "")],
)


def test_a_shortcut_passes_in_one_reading_and_fails_in_the_other() -> None:
    """F3: 1 of 6 as scored, 5 of 6 with empty blocks allowed. S6: 3 of 4, and 2 of 4 with copies refused."""
    rates = {}
    for name in READINGS:
        rates[name] = (
            summarise(reread(GAPS, name), ["constraint"], ["mCSR"]).set_index("constraint")["estimate"].to_dict()
        )
    assert rates["as scored"] == pytest.approx({"F3": 1 / 6, "S6": 3 / 4})
    assert rates["allowed"] == pytest.approx({"F3": 5 / 6, "S6": 3 / 4})
    assert rates["refused"] == pytest.approx({"F3": 1 / 6, "S6": 2 / 4})
    refused = reread(GAPS, "refused")
    assert refused["score"].isna().sum() == 1
    allowed = reread(GAPS, "allowed")
    assert (allowed.loc[allowed["passed"] == 1, "score"] == 1).all()
    with pytest.raises(ValueError, match="reading 'allow' is not known"):
        reread(GAPS, "allow")


def test_how_often_a_shortcut_is_used() -> None:
    found = shortcuts(GAPS).set_index("constraint")
    assert found["shortcut"].to_dict() == {"F3": "empty_code_blocks", "S6": "mirror_copies"}
    assert found["count"].tolist() == [4, 2]
    assert found["estimate"].tolist() == pytest.approx([4 / 6, 2 / 4])
    assert found["of_passes"].tolist() == pytest.approx([4 / 5, 1 / 3])
    assert found[["passed", "passed_allowed", "passed_refused"]].to_numpy().tolist() == [
        pytest.approx([1 / 6, 5 / 6, 1 / 6]),
        pytest.approx([3 / 4, 3 / 4, 2 / 4]),
    ]
    assert len(shortcuts(flagged(("F3", 1, "")))) == 0


TAKEN = {
    "empty_code_blocks": (("F3", {"n": 1}), "Run it.\n```\n```"),
    "empty_items": (("F2", {"n": 2}), "Owls:\n- \n- \n\nEnd."),
    "too_few_sentences": (("F4", {}), "Owls hunt."),
    "escape_sequences": (("W1", {}), "pet \\u0070et"),
    "mirror_copies": (("S6", {"n": 3}), "Owls hunt. Rain. Owls hunt."),
}


@pytest.mark.parametrize("name", SHORTCUTS)
def test_every_shortcut_that_a_verifier_sees_has_both_readings(name: str) -> None:
    asked, text = TAKEN[name]
    probe = item(asked)
    table = score(
        [probe], pd.DataFrame([reply(f"<answer>x {text}</answer>" if name == "empty_items" else text, probe)])
    )
    assert table["flags"].item() == name
    assert reread(table, "allowed")["passed"].item() == 1
    assert reread(table, "refused")["passed"].item() == 0
