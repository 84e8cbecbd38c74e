"""What a card and a report say of effects: never more than p and interval together, and no percent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cdct.compression import arm_effects, card, generate, score
from cdct.compression.card import effect_card, effect_findings

ITEMS = generate()
TEST = "exact two-sided p = "


def effect(**other: Any) -> dict[str, Any]:
    """A row of `arm_effects` with other values in some columns."""
    row = {"model": "m", "arm": "plain", "metric": "cc", "measure": "difference", "baseline": 0.2, "treated": 0.3}
    row |= {"estimate": 0.1, "low": 0.05, "high": 0.15, "n": 40, "n_unscored": 0, "p": 0.01, "p_holm": 0.01}
    return row | {"method": "t, 8 clusters"} | other


def said(*rows: dict[str, Any], **options: Any) -> list[str]:
    return effect_findings(pd.DataFrame(rows), **options)["text"].tolist()


@pytest.mark.parametrize(
    ("row", "text"),
    [
        pytest.param({}, "compliance rises: +0.10 of 1 [+0.05, +0.15] (" + TEST + "0.01).", id="rises"),
        pytest.param(
            {"estimate": -0.1, "low": -0.15, "high": -0.05},
            "compliance falls: -0.10 of 1 [-0.15, -0.05] (" + TEST + "0.01).",
            id="falls",
        ),
        pytest.param(
            {"low": -0.02, "p_holm": 0.3},
            "no change of compliance can be told from chance: +0.10 of 1 [-0.02, +0.15] (" + TEST + "0.3).",
            id="neither",
        ),
        pytest.param(
            {"p_holm": 0.05},
            "a change of compliance is in doubt, its interval leaves out 0 but p does not say so: "
            "+0.10 of 1 [+0.05, +0.15] (" + TEST + "0.05).",
            id="the interval alone, and p at the limit",
        ),
        pytest.param(
            {"low": 0.0},
            "a change of compliance is in doubt, p is small but the interval does not say so: "
            "+0.10 of 1 [+0.00, +0.15] (" + TEST + "0.01).",
            id="p alone, and an interval that ends at 0",
        ),
        pytest.param(
            {"low": math.nan, "high": math.nan, "p_holm": 1.0},
            "no change of compliance can be told from chance: +0.10 of 1 (no interval) (" + TEST + "1).",
            id="one concept",
        ),
        pytest.param(
            {"estimate": math.nan, "low": math.nan, "high": math.nan, "n": 0, "p": math.nan, "p_holm": math.nan},
            "nothing is known of compliance: no pair of replies could be scored.",
            id="nothing scored",
        ),
        pytest.param(
            {"c": 0.5}, "compliance at c = 0.5 rises: +0.10 of 1 [+0.05, +0.15] (" + TEST + "0.01).", id="at a level"
        ),
        pytest.param(
            {"metric": "words", "estimate": 12.0, "low": 4.0, "high": 20.0},
            "words written rises: +12.00 words [+4.00, +20.00] (" + TEST + "0.01).",
            id="words",
        ),
    ],
)
def test_a_sentence_says_what_p_and_interval_say_together(row: dict[str, Any], text: str) -> None:
    assert said(effect(**row)) == [f"With plain instead of fixed {text}"]


def test_the_corrected_p_decides_and_the_number_of_comparisons_is_told() -> None:
    texts = said(
        effect(p=0.03, p_holm=0.06), effect(arm="bold", p=0.5, p_holm=0.5), effect(arm="last", p=math.nan, n=0)
    )
    assert "is in doubt" in texts[0]
    assert texts[0].endswith(f"({TEST}0.06, Holm-corrected for 2 comparisons).")


def test_what_the_effects_are_of_and_against_is_told() -> None:
    row = {"compressor" if name == "arm" else name: value for name, value in effect(arm="drop").items()}
    assert said(row, against="written", levels=[0.25, 0.5])[0].startswith(
        "With drop instead of written compliance at c = 0.25, 0.5 rises"
    )
    line = effect_card(pd.DataFrame([row]), "written", [0.5]).iloc[0]
    assert (line["group"], line["label"]) == ("CDCT: drop against written", "change of compliance at c = 0.5 (0-1)")


def rows_of(words: dict[str, int]) -> pd.DataFrame:
    """Replies of so many words in each arm, a concept's differing from another's by a word or two."""
    replies = []
    for arm, n in words.items():
        for place, item in enumerate(ITEMS):
            row = {"benchmark": "cdct", "arm": arm, "item": item.id, "model": "m", "sample": 0, "turn": 0}
            replies.append(row | {"text": "word " * (n + place // 5 % 3), "status": "ok", "finish_reason": "stop"})
    return score(ITEMS, pd.DataFrame(replies))


def test_planted_effects_reach_card_and_findings() -> None:
    """60 to 62 words in `fixed` and 36 to 38 in `plain`; `bold` is as `fixed`."""
    effects = arm_effects(rows_of({"fixed": 60, "plain": 36, "bold": 60}))
    plain, bold = effect_findings(effects)["text"]
    assert plain.startswith("With plain instead of fixed compliance rises: +0.")
    assert plain.endswith(f"({TEST}0.016, Holm-corrected for 2 comparisons).")  # 2 * 2 / 2^8
    assert bold.startswith("With bold instead of fixed no change of compliance can be told from chance: +0.00 of 1 [")
    assert "%" not in plain + bold
    lines = effect_card(effects)
    assert list(lines) == list(card(rows_of({"fixed": 60})))
    assert lines["unit"].tolist() == ["", "", "log odds", "log odds"]
    assert lines["label"].unique().tolist() == ["change of compliance (0-1)", "change of compliance"]
    assert np.allclose(lines["estimate"], effects["estimate"])
    assert lines["n"].tolist() == [40] * 4


def test_no_effects_are_no_lines_and_no_sentences() -> None:
    none = arm_effects(rows_of({"fixed": 60}))
    assert effect_findings(none).to_dict("records") == []
    assert effect_card(none).to_dict("records") == []
    assert list(effect_card(none)) == list(card(rows_of({"fixed": 60})))
