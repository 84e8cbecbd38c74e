"""Compressors: plain ones keep to the word what they are asked for, and models are held to the protocol."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdct.compression import COMPRESSORS, accepted, accepted_texts, concepts, generate, protocol_items, score
from cdct.compression.compressors import ATTEMPTS, drop, lead, whole_text
from cdct.core import BENCHMARKS, Item, read_table, save_tables
from cdct.models import Model
from cdct.plan import MOST_TURNS, plan
from cdct.run import run
from cdct.text import WORD_RULE, word_forms, words

CONCEPTS = concepts()
BELOW = [(slug, c) for slug, concept in CONCEPTS.items() for c in concept.levels if c < 1]

# -------------------------------------------------------------------------------------------------------- plain ones


def is_within(part: list[str], whole: list[str]) -> bool:
    """Whether the words stand in the text in this order."""
    left = iter(whole)
    return all(word in left for word in part)


@pytest.mark.parametrize("name", COMPRESSORS)
@pytest.mark.parametrize(("slug", "c"), BELOW)
def test_a_plain_compressor_keeps_words_of_the_text_in_their_order(name: str, slug: str, c: float) -> None:
    whole, target = whole_text(CONCEPTS[slug]), CONCEPTS[slug].levels[c][0]
    made = COMPRESSORS[name](whole, target)
    assert len(words(made)) == len(made.split()) == target
    assert is_within(words(made), words(whole))
    assert COMPRESSORS[name](whole, target) == made


@pytest.mark.parametrize("name", COMPRESSORS)
@pytest.mark.parametrize("slug", CONCEPTS)
def test_the_ends_of_a_plain_compressor(name: str, slug: str) -> None:
    whole = whole_text(CONCEPTS[slug])
    assert COMPRESSORS[name](whole, 0) == ""
    assert COMPRESSORS[name](whole, 10**6) == " ".join(words(whole)) == COMPRESSORS[name](whole, 135)


@settings(max_examples=60, deadline=None)
@given(st.text(), st.integers(0, 30), st.sampled_from(sorted(COMPRESSORS)))
def test_any_text_is_compressed_to_as_many_words_as_it_has_at_most(text: str, n_words: int, name: str) -> None:
    made = COMPRESSORS[name](text, n_words)
    assert words(made) == made.split()
    assert len(words(made)) == min(n_words, len(words(text)))
    assert is_within(words(made), words(text))


def test_lead_is_the_beginning() -> None:
    assert lead("One - two,\n\nthree four.", 3) == "One two, three"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        # quokka, zymurgy and xylophone stand in no concept, "the", "of", "a" and "is" in all
        ("The zymurgy of a quokka is", ["zymurgy", "zymurgy quokka"]),
        ("quokka zymurgy xylophone", ["quokka", "quokka zymurgy"]),  # equally rare: the earlier first
        ("quokka quokka zymurgy", ["quokka", "quokka zymurgy", "quokka quokka zymurgy"]),  # a new form before one seen
        ("Quokka, the QUOKKA", ["Quokka,", "Quokka, QUOKKA"]),  # one form, however it is written
    ],
)
def test_drop_keeps_the_rare_words(text: str, kept: list[str]) -> None:
    assert [drop(text, n) for n in range(1, len(kept) + 1)] == kept


def test_drop_asks_other_concepts_what_is_common(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a text says often itself is not common by that."""
    folder = tmp_path / "data" / "concepts"
    folder.mkdir(parents=True)
    for name, text in (("a", "tide, tide, tide sky"), ("b", "sky sand sand")):
        n = len(words(text))
        levels = f'[[levels]]\nc = 1.0\nwords = {n}\ntext = "{text}"\n'
        points = '[[key_points]]\nid = "x"\ntext = "x"\nany = [["x"]]\n'
        head = f'name = "{name}"\ndomain = "formal"\nfield = "x"\ndefinition = "x"\n'
        (folder / f"{name}.toml").write_text(head + points + levels, encoding="utf-8")
    monkeypatch.setenv("CDCT_HOME", str(tmp_path))
    assert drop("tide, tide, tide sky", 1) == "tide,"  # sky stands in b, tide nowhere else
    assert drop("sky sand sand", 1) == "sand"  # and sky in a
    assert drop("tide sand sky", 2) == "sand sky"  # a third text: tide thrice in a, sand and sky twice each


@pytest.mark.parametrize("slug", CONCEPTS)
def test_what_drop_keeps_is_rarer_than_what_it_drops(slug: str) -> None:
    whole = whole_text(CONCEPTS[slug])
    others = [form for name, other in CONCEPTS.items() if name != slug for form in word_forms(whole_text(other))]
    kept = word_forms(drop(whole, 27))
    left = [form for form in word_forms(whole) if form not in kept]
    assert max(map(others.count, kept)) <= min(map(others.count, left))


# ------------------------------------------------------------------------------------------------------------- protocol


def test_the_protocol_asks_for_every_level_but_the_whole_text() -> None:
    items = protocol_items()
    assert [(item.params["concept"], item.params["c"]) for item in items] == BELOW
    assert len({item.id for item in items}) == len(items)
    assert items[2].id == "cdct-texts-v1/derivative/c050"
    assert {item.benchmark for item in items} == {"cdct-texts"}
    for item in items:
        assert item.params["level_words"] == CONCEPTS[item.params["concept"]].levels[item.params["c"]][0]
        assert item.meta["whole"] == whole_text(CONCEPTS[item.params["concept"]])
    few = protocol_items(["recursion", "derivative", "recursion"], [0.5, 1.0])
    assert [item.id for item in few] == ["cdct-texts-v1/recursion/c050", "cdct-texts-v1/derivative/c050"]


def test_an_unknown_concept_is_told() -> None:
    with pytest.raises(ValueError, match=r"^concept 'recusion' is not known; did you mean 'recursion'\?$"):
        protocol_items(["recusion"])


def ask(item: Item, *previous: str) -> list[dict[str, Any]] | None:
    return BENCHMARKS["cdct-texts"].arm("baseline").messages(item, previous)


def count(n: int) -> str:
    return " ".join(["word"] * n)


def test_the_conversation_word_by_word() -> None:
    (item,) = protocol_items(["recursion"], [0.5])
    (first,) = ask(item)
    assert first["role"] == "user"
    task, text = first["content"].split("\n\nText:\n")
    assert task.startswith("Shorten the text below to 27 words. ")
    assert "for explaining recursion" in task
    assert WORD_RULE in task
    assert text == item.meta["whole"]
    assert "35" not in first["content"]  # the limit of what is made of it later
    again = ask(item, count(40), count(20))
    assert [message["role"] for message in again] == ["user", "assistant", "user", "assistant", "user"]
    assert again[0] == first
    assert again[1]["content"] == count(40)
    assert again[2]["content"].startswith("That has 40 words; it must have 27. Attempt 2: ")
    assert again[4]["content"].startswith("That has 20 words; it must have 27. Attempt 3: ")


@pytest.mark.parametrize(
    ("c", "right", "wrong"), [(0.0, [2], [0, 1, 3]), (0.25, [12, 13, 14], [11, 15]), (0.5, [25, 27, 29], [24, 30])]
)
def test_the_conversation_ends_with_a_text_of_the_right_length(c: float, right: list[int], wrong: list[int]) -> None:
    (item,) = protocol_items(["recursion"], [c])
    assert all(ask(item, count(n)) is None for n in right)
    assert all(ask(item, count(n)) is not None for n in wrong)
    assert ask(item, f"<think>{count(500)}</think>{count(right[0])}") is None  # what was thought does not count
    assert ask(item, count(right[0]), count(wrong[0])) is not None  # the last attempt is the one that counts


def test_the_conversation_ends_with_the_last_attempt() -> None:
    assert 1 < ATTEMPTS < MOST_TURNS
    (item,) = protocol_items(["recursion"], [0.5])
    assert [ask(item, *[count(99)] * n) is None for n in range(ATTEMPTS + 2)] == [False] * ATTEMPTS + [True] * 2


# ------------------------------------------------------------------------------------------------ simulated compressors


def compressing(right_at: int) -> Callable[[Mapping[str, Any], int], str]:
    """A subject that keeps the first words of the text, the right number of them from the n-th attempt on."""

    def answer(request: Mapping[str, Any], sample: int) -> str:
        messages = request["messages"]
        task, text = messages[0]["content"].split("\n\nText:\n")
        target = int(re.search(r"to (\d+) words", task)[1])
        attempt = 1 + sum(message["role"] == "assistant" for message in messages)
        if attempt > 1:  # it is told how many words its last attempt had
            assert messages[-1]["content"].startswith(f"That has {len(words(messages[-2]['content']))} words")
        return lead(text, target if attempt >= right_at else target + 10 * attempt)

    return answer


def made_by(store: str, **models: Callable[[Mapping[str, Any], int], str]) -> pd.DataFrame:
    items = protocol_items(["recursion", "derivative"])
    subjects = [Model(name, answer=answer) for name, answer in models.items()]
    return accepted(items, run(items, subjects, store=store, progress=False))


def test_a_model_that_is_right_at_once_or_at_the_third_attempt_or_never(store_path: str) -> None:
    table = made_by(store_path, soon=compressing(1), late=compressing(3), last=compressing(5), never=compressing(6))
    assert list(table.columns) == [
        *("model", "concept", "c", "target", "attempts", "words", "accepted", "text", "reason"),
    ]
    by_model = table.groupby("model", sort=False)
    assert by_model.size().to_dict() == dict.fromkeys(("soon", "late", "last", "never"), 8)
    assert by_model["attempts"].unique().map(list).to_dict() == {"soon": [1], "late": [3], "last": [5], "never": [5]}
    assert by_model["accepted"].all().to_dict() == {"soon": True, "late": True, "last": True, "never": False}
    never = table[table["model"] == "never"].set_index(["concept", "c"])
    assert never.loc[("recursion", 0.5), "reason"] == "77 words instead of 27"
    assert (never["words"] == never["target"] + 50).all()
    assert (never["text"] == "").all()
    for row in table[table["accepted"]].itertuples():
        assert row.text == lead(whole_text(CONCEPTS[row.concept]), row.target)
        assert (row.words, row.reason) == (row.target, "")
    assert accepted_texts(table, "never") == dict.fromkeys(
        [key for key in BELOW if key[0] in ("recursion", "derivative")]
    )
    texts = accepted_texts(table, "late")
    assert texts == {key: lead(whole_text(CONCEPTS[key[0]]), CONCEPTS[key[0]].levels[key[1]][0]) for key in texts}
    # what "late" made is what `lead` makes, so that the items differ in the compressor's name alone
    own = generate(concepts=["recursion"], compressor="late", texts=texts)
    plain = generate(concepts=["recursion"], compressor="lead")
    assert [item.meta["context"] for item in own] == [item.meta["context"] for item in plain]


def test_a_call_without_an_answer_makes_no_text(store_path: str) -> None:
    def answer(request: Mapping[str, Any], sample: int) -> str:
        if "recursion" in request["messages"][0]["content"].split("\n\n")[0]:
            if len(request["messages"]) == 3:
                raise ConnectionError("gone")
            return "too short" if "to 2 words" not in request["messages"][0]["content"] else "Recursive self-calls"
        return ""

    table = made_by(store_path, m=answer).set_index(["concept", "c"])
    assert table.loc[("recursion", 0.0), ["attempts", "accepted", "text"]].tolist() == [1, True, "Recursive self-calls"]
    lost = table.loc[("recursion", 0.5)]
    assert (lost["attempts"], lost["accepted"], lost["text"], lost["reason"]) == (2, False, "", "failed: no text")
    assert math.isnan(lost["words"])
    empty = table.loc[("derivative", 0.5)]
    assert not empty["accepted"]
    assert empty["text"] == ""


def replies_of(*turns: tuple[str | None, str]) -> tuple[list[Item], pd.DataFrame]:
    (item,) = protocol_items(["recursion"], [0.25])
    keys = {"benchmark": "cdct-texts", "arm": "baseline", "item": item.id, "model": "m", "sample": 0}
    rows = [keys | {"turn": turn, "text": text, "status": status} for turn, (text, status) in enumerate(turns)]
    return [item], pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("turns", "ok", "n", "reason"),
    [
        ([(count(13), "ok")], True, 13, ""),
        ([(count(30), "ok"), (count(12), "ok")], True, 12, ""),
        ([(count(13), "ok"), (count(30), "ok")], False, 30, "30 words instead of 13"),
        ([(f"<think>{count(99)}</think> {count(13)}", "ok")], True, 13, ""),
        ([(count(13), "truncated")], False, 13, "truncated: no text"),
        ([(count(13), "filtered")], False, 13, "filtered: no text"),
        ([(count(13), "refused")], False, 13, "refused: no text"),
        ([("", "empty")], False, 0, "empty: no text"),
        ([(None, "empty")], False, None, "empty: no text"),
        ([(math.nan, "skipped")], False, None, "skipped: no text"),
        ([(count(30), "ok"), (None, "failed")], False, None, "failed: no text"),
    ],
)
def test_what_is_accepted(turns: list[Any], ok: bool, n: int | None, reason: str) -> None:
    items, replies = replies_of(*turns)
    (row,) = accepted(items, replies.sample(frac=1, random_state=0)).to_dict("records")
    assert (row["accepted"], row["reason"], row["attempts"]) == (ok, reason, len(turns))
    assert row["words"] == n if n is not None else math.isnan(row["words"])
    assert row["text"] == (count(n) if ok else "")
    assert accepted_texts(pd.DataFrame([row]), "m") == {("recursion", 0.25): count(n) if ok else None}


def test_the_first_sample_is_the_one_that_counts() -> None:
    items, replies = replies_of((count(13), "ok"))
    more = replies.assign(sample=1, text=count(99))
    for frames in ([more, replies], [replies, more]):
        assert accepted(items, pd.concat(frames))[["words", "attempts"]].to_numpy().tolist() == [[13, 1]]


def test_no_replies_make_an_empty_table() -> None:
    items, replies = replies_of((count(13), "ok"))
    table = accepted(items, replies.iloc[:0])
    assert len(table) == 0
    assert "reason" in table


def test_a_reply_to_another_item_and_an_unknown_model_are_told() -> None:
    items, replies = replies_of((count(13), "ok"))
    with pytest.raises(ValueError) as caught:
        accepted(items, replies.assign(item="x"))
    assert str(caught.value) == "accepted: the reply to 'x' belongs to none of the 1 items given"
    with pytest.raises(ValueError, match=r"^model 'n' is not known; known: m$"):
        accepted_texts(accepted(items, replies), "n")


def test_the_table_can_be_saved_and_read(tmp_path: Path, store_path: str) -> None:
    table = made_by(store_path, late=compressing(3), never=compressing(6))
    save_tables(tmp_path, texts=table)
    back = read_table(tmp_path / "texts.csv")
    for model in ("late", "never"):
        assert accepted_texts(back, model) == accepted_texts(table, model)


def test_a_plan_counts_as_many_attempts_as_there_can_be(store_path: str) -> None:
    items = protocol_items(["recursion"])
    planned = plan(items, [Model("m", answer=compressing(1))], store=store_path)
    assert planned["calls"].tolist() == [4 * ATTEMPTS]


def test_from_texts_to_scores(store_path: str) -> None:
    """A model makes texts, misses one, and another is asked with them: the hole stays to be seen."""

    def maker(request: Mapping[str, Any], sample: int) -> str:
        target = int(re.search(r"to (\d+) words", request["messages"][0]["content"])[1])
        return count(target if target != 69 else 40)

    questions = protocol_items(["recursion"])
    table = accepted(questions, run(questions, [Model("maker", answer=maker)], store=store_path, progress=False))
    items = generate(concepts=["recursion"], compressor="maker", texts=accepted_texts(table, "maker"))
    reader = Model("reader", answer=lambda request, sample: count(35))
    rows = score(items, run(items, [reader], store=store_path, progress=False)).set_index("c")
    assert rows["status"].to_dict() == {0.0: "ok", 0.25: "ok", 0.5: "ok", 0.75: "unmade", 1.0: "ok"}
    assert rows["compressor"].unique().tolist() == ["maker"]
