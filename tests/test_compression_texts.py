"""Texts that compressors made: how many are accepted, the items of several compressors, and what the texts hold."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from cdct.compression import COMPRESSORS, coverage, generate, score, summarise
from cdct.compression.compressors import acceptance, generate_by, text_rows
from cdct.text import words

CONCEPTS = ["photosynthesis", "recursion"]


def table(texts: dict[tuple[str, float], str]) -> pd.DataFrame:
    """What `accepted` gives for a model "m" whose accepted texts these are, the others refused after five attempts."""
    rows = []
    for concept in CONCEPTS:
        for c, target in ((0.0, 2), (0.25, 13), (0.5, 27), (0.75, 69)):
            text = texts.get((concept, c), "")
            row = {"model": "m", "concept": concept, "c": c, "target": target, "accepted": bool(text), "text": text}
            rows.append(row | {"attempts": 1 if text else 5, "words": len(text.split()) or math.nan, "reason": ""})
    return pd.DataFrame(rows)


def test_acceptance_is_the_share_of_concepts_at_each_level() -> None:
    found = acceptance(table({("recursion", 0.0): "self calls", ("recursion", 0.25): "word " * 13}))
    assert found["c"].tolist() == [0.0, 0.25, 0.5, 0.75]
    assert found["estimate"].tolist() == [0.5, 0.5, 0.0, 0.0]
    assert found["n"].tolist() == [2] * 4
    assert found["attempts"].tolist() == [3, 3, 5, 5]
    assert found["target"].tolist() == [2, 13, 27, 69]
    assert found.loc[2, "high"] == pytest.approx(1 - 0.025**0.5)  # Clopper and Pearson, 0 of 2
    assert found["words"].fillna(-1).tolist() == [2, 13, -1, -1]


def test_the_items_of_several_compressors() -> None:
    items = generate_by(["written", "lead", "m"], table({("recursion", 0.0): "self calls"}), CONCEPTS, [0.0, 1.0], 60)
    assert [item.params["compressor"] for item in items] == ["written"] * 4 + ["lead"] * 4 + ["m"] * 4
    assert items[:4] == generate(concepts=CONCEPTS, levels=[0.0, 1.0], limit=60)
    assert [item.meta["context"] for item in items[8:] if item.params["c"] == 0] == [None, "self calls"]
    assert len({item.id for item in items}) == 12
    with pytest.raises(ValueError, match=r"model 'n' is not known"):
        generate_by(["n"], table({}))


def test_texts_are_counted_as_replies_would_be() -> None:
    items = generate_by(["lead", "m"], table({("recursion", 0.0): "self calls"}), CONCEPTS)
    rows = text_rows(items)
    assert len(rows) == 20
    known = {item.id: item for item in items}
    there = rows[rows["text"].notna()]
    for row in there.to_dict("records"):
        item = known[row["item"]]
        assert row["text"] == item.meta["context"]
        assert row["words"] == len(words(row["text"]))
        assert row["coverage"] == coverage(row["text"], item.truth["key_points"])
    missing = rows[rows["text"].isna()]
    assert len(missing) == 7  # of the four levels below 1 of two concepts, one was accepted
    assert (missing["unscored"] == "no text was accepted").all()
    assert missing["coverage"].isna().all()
    means = summarise(rows, ["compressor", "c"], "coverage")
    assert means.loc[means["compressor"] == "m", "n_unscored"].tolist() == [1, 2, 2, 2, 0]


def test_no_text_at_all_is_no_number() -> None:
    assert text_rows(generate_by(["m"], table({}), ["recursion"], [0.0])).empty


def test_every_plain_compressor_has_the_length_that_was_asked() -> None:
    rows = text_rows(generate_by(list(COMPRESSORS), table({})))
    below = rows[rows["c"] < 1]
    assert (below["words"] == below["level_words"]).all()


def test_the_scorer_of_replies_is_the_one_of_texts() -> None:
    items = generate(concepts=["recursion"])
    replies = [
        {"benchmark": "cdct", "arm": "baseline", "item": item.id, "model": "texts", "sample": 0, "turn": 0}
        | {"text": item.meta["context"], "status": "ok", "finish_reason": "stop"}
        for item in items
    ]
    expected = score(items, pd.DataFrame(replies))
    pd.testing.assert_frame_equal(text_rows(items).drop(columns="text"), expected)
