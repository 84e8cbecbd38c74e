"""Replies read again: from a file, from the record, or none."""

from __future__ import annotations

import re

import pytest
from test_store import row

from cdct.replies import COLUMNS, read_replies
from cdct.store import Store


def test_a_file_of_replies(tmp_path):
    file = tmp_path / "r.jsonl"
    file.write_text('{"text": "Räin.", "finish_reason": "length"}\n\n{"text": null, "model": "m"}\n', "utf-8")
    found = read_replies(str(file))
    assert list(found) == COLUMNS
    assert found.iloc[0].tolist() == [str(file), "Räin.", "length"]
    assert (len(found), found["source"].iloc[1]) == (2, str(file))
    assert found[["text", "finish_reason"]].iloc[1].isna().all()


def test_another_field(tmp_path):
    (tmp_path / "r.jsonl").write_text('{"reply": "Rain.", "text": 3}\n', "utf-8")
    assert read_replies(str(tmp_path / "r.jsonl"), "reply")["text"].tolist() == ["Rain."]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"txt": "Rain."}', "r.jsonl: reply 2: field 'text' is not known; did you mean 'txt'?"),
        ('{"text": ["Rain."]}', "r.jsonl: reply 2: text must be a text or null, got list; name another field"),
    ],
)
def test_a_line_without_a_text_is_named(tmp_path, line, message):
    (tmp_path / "r.jsonl").write_text(f'{{"text": "Snow."}}\n{line}\n', "utf-8")
    with pytest.raises(ValueError, match=re.escape(message)):
        read_replies(str(tmp_path / "r.jsonl"))


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_replies(str(tmp_path / "none.jsonl"))


def test_the_record_without_ballots_in_the_order_of_its_keys(tmp_path):
    path = str(tmp_path / "replies.sqlite")
    with Store(path) as store:
        store.put(row("b", text="Snow.", finish_reason="stop")).result()
        store.put(row("a", text="Rain.", finish_reason="length")).result()
        store.put(row("c", text='{"CC": 7}', benchmark="jury")).result()
    found = read_replies(store=path)
    assert found["text"].tolist() == ["Rain.", "Snow."]
    assert found["finish_reason"].tolist() == ["length", "stop"]
    assert set(found["source"]) == {f"on record in {path}"}


def test_no_record_is_no_reply_and_none_is_made(tmp_path):
    path = tmp_path / "replies.sqlite"
    found = read_replies(store=str(path))
    assert (len(found), list(found)) == (0, COLUMNS)
    assert not path.exists()
