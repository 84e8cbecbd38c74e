"""The record of replies: what is committed stays, whatever the texts are, whoever writes beside us, however it ends."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from cdct import store as store_module
from cdct.jsonl import append_jsonl, read_jsonl
from cdct.store import MIGRATIONS, REPLY_COLUMNS, Store, main

ODD_TEXTS = {
    "empty": "",
    "a NUL": "one\0two",
    "emoji": "👩‍🔬 and 𝒳",
    "right to left": "\u202eabc\u202c",
    "line ends": "a\r\nb\rc\u2028d",
    "quotes": "Robert'); DROP TABLE replies;--",
    "a megabyte": "word " * 200_000,
}


def row(key: str, **more: Any) -> dict[str, Any]:
    """A whole row of `replies`."""
    return {
        "key": key,
        "benchmark": "toy",
        "arm": "baseline",
        "item": f"toy-v1/{key}",
        "model": "stub",
        "sample": 0,
        "turn": 0,
        "request": "{}",
        "text": "fine",
        "status": "ok",
        "latency_s": 0.5,
        "endpoint": "http://127.0.0.1:9/v1",
        "parameters": "{}",
        "attempts": 1,
        "raw": "{}",
    } | more


def keys(path: str) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        return [key for (key,) in connection.execute("SELECT key FROM replies ORDER BY key")]
    finally:
        connection.close()


# -------------------------------------------------------------------------------------------------- writing and reading


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS.keys())
def test_a_text_comes_back_as_it_was(store_path, text):
    with Store(store_path) as store:
        store.put(row("k", text=text)).result()
        assert store.get("k")["text"] == text
        assert next(store.rows())["text"] == text


def test_half_of_a_surrogate_pair_is_kept_as_its_escape(store_path):
    with Store(store_path) as store:
        store.put(row("k", text="a\ud800b")).result()
        assert store.get("k")["text"] == "a\\ud800b"


def test_a_finished_put_can_be_read_by_everybody(store_path):
    with Store(store_path) as store:
        store.put(row("k")).result()
        assert keys(store_path) == ["k"]


def test_what_is_committed_is_on_disk(store_path):
    """FULL: a commit waits for the disk; in WAL mode the default would lose the last ones when the power fails."""
    with Store(store_path) as store:
        assert store._connection.execute("PRAGMA synchronous").fetchone()[0] == 2
        assert store._connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_a_reply_is_never_replaced(store_path):
    with Store(store_path) as store:
        store.put(row("k", text="first")).result()
        store.put(row("k", text="second")).result()
        assert store.get("k")["text"] == "first"


def test_a_missing_key_is_none(store_path):
    with Store(store_path) as store:
        assert store.get("k") is None


def test_get_leaves_the_bulky_columns_out(store_path):
    with Store(store_path) as store:
        store.put(row("k")).result()
        assert set(store.get("k")) == set(REPLY_COLUMNS) - {"request", "raw"}


def test_closing_writes_what_is_waiting(store_path):
    store = Store(store_path)
    for number in range(500):
        store.put(row(f"{number:03d}"))
    store.close()
    store.close()
    assert len(keys(store_path)) == 500


def test_a_closed_store_says_so(store_path):
    store = Store(store_path)
    store.close()
    with pytest.raises(ValueError, match=r"^store .*replies\.sqlite: closed$"):
        store.put(row("k"))


BAD_ROWS = {
    "a hole": row("bad", status=None),
    "no key": row("bad") | {"key": None},
    "an object": row("bad", fingerprint={"a": 1}),
    "a number of 70 bits": row("bad", prompt_tokens=2**70),
}


@pytest.mark.parametrize("bad", BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_a_bad_row_is_an_error_and_its_neighbours_are_kept(store_path, bad):
    with Store(store_path) as store:
        first, second, third = store.put(row("a")), store.put(bad), store.put(row("b"))
        assert first.result(10) is None
        with pytest.raises(OSError, match=r"^store .*replies\.sqlite: a row could not be written: "):
            second.result(10)
        assert third.result(10) is None
        store.put(row("c")).result(10)
    assert keys(store_path) == ["a", "b", "c"]


def test_failed_calls_are_logged_apart(store_path):
    with Store(store_path) as store:
        attempt = {
            "key": "k",
            "model": "stub",
            "endpoint": "e",
            "kind": "busy",
            "http_status": 429,
            "error": "HTTP 429",
        }
        store.log_attempt(attempt | {"wait_s": 7.0}).result()
        assert store.get("k") is None
        logged = store.frame("SELECT * FROM attempts").iloc[0]
        assert (logged["kind"], logged["http_status"], logged["wait_s"]) == ("busy", 429, 7.0)


def test_rows_come_oldest_first(store_path):
    with Store(store_path) as store:
        for created, key in ((2.0, "a"), (1.0, "b"), (1.0, "a2")):
            store.put(row(key, created=created)).result()
        assert [found["key"] for found in store.rows()] == ["a2", "b", "a"]


def test_writes_that_come_together_share_a_commit(store_path, monkeypatch):
    """The writer is held up while 200 rows come in: they need two transactions, not 200."""
    begun: list[str] = []
    held, go_on = threading.Event(), threading.Event()

    class Connection(sqlite3.Connection):
        def execute(self, statement, *values):
            if statement == "BEGIN IMMEDIATE" and threading.current_thread().name == "cdct-store":
                begun.append(statement)
                held.set()
                go_on.wait(10)
            return super().execute(statement, *values)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **kwargs: connect(*args, factory=Connection, **kwargs))
    with Store(store_path) as store:
        first = store.put(row("first"))
        assert held.wait(10)
        rest = [store.put(row(f"{number:03d}")) for number in range(200)]
        go_on.set()
        for done in [first, *rest]:
            done.result(10)
        assert len(begun) == 2


# ------------------------------------------------------------------------------------------------------ files that fail


def test_a_file_that_is_no_database_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to be read as one " * 100, encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"^store .*notes\.txt: not a store of replies \(file is not a database\); name another file$"
    ):
        Store(path)
    assert path.read_text(encoding="utf-8").startswith("not a database")


def test_a_database_of_something_else_is_left_alone(tmp_path):
    path = tmp_path / "bookmarks.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"a database of something else; name another file$"):
        Store(path)
    assert path.read_bytes() == before


def test_a_folder_is_no_store(tmp_path):
    with pytest.raises(OSError, match=r"^store .*: can't be opened for writing: unable to open database file$"):
        Store(tmp_path)


@pytest.mark.parametrize("name", [":memory:", "file:replies.sqlite?mode=memory"])
def test_a_record_in_memory_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.setenv("CDCT_HOME", str(tmp_path))
    with pytest.raises(ValueError, match="a record is a file that stays") as error:
        Store(name)
    assert str(error.value) == f"store {name!r}: a record is a file that stays; name one, such as 'data/replies.sqlite'"
    assert list(tmp_path.iterdir()) == []


def test_a_newer_schema_is_refused(store_path):
    Store(store_path).close()
    connection = sqlite3.connect(store_path)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 3}")
    connection.close()
    with pytest.raises(ValueError, match=r": made by a newer cdct \(schema 4, this one knows 1\); update cdct$"):
        Store(store_path)


def test_an_older_schema_is_brought_up_to_date(store_path, monkeypatch):
    with Store(store_path) as store:
        store.put(row("old")).result()
    added = (*MIGRATIONS, ("ALTER TABLE attempts ADD COLUMN hint TEXT",), ("CREATE TABLE more (x)",))
    monkeypatch.setattr(store_module, "MIGRATIONS", added)
    with Store(store_path) as store:
        assert store.get("old")["text"] == "fine"
        assert "hint" in store.frame("SELECT * FROM attempts").columns
        assert store.frame("PRAGMA user_version").iloc[0, 0] == 3
    Store(store_path).close()


def test_a_migration_that_fails_changes_nothing(store_path, monkeypatch):
    Store(store_path).close()
    broken = (*MIGRATIONS, ("CREATE TABLE more (x)", "CREATE TABLE more (x)"))
    monkeypatch.setattr(store_module, "MIGRATIONS", broken)
    with pytest.raises(OSError, match="table more already exists"):
        Store(store_path)
    monkeypatch.setattr(store_module, "MIGRATIONS", MIGRATIONS)
    with Store(store_path) as store:
        assert store.frame("SELECT name FROM sqlite_master WHERE name = 'more'").empty


@pytest.mark.parametrize(
    ("pragma", "told"),
    [("max_page_count = 12", "database or disk is full"), ("query_only = 1", "attempt to write a readonly database")],
)
def test_a_disk_that_takes_no_more_is_told_to_all_who_wait(store_path, pragma, told):
    with Store(store_path) as store:
        store._connection.execute(f"PRAGMA {pragma}")
        waiting = [store.put(row(f"{number}", text="x" * 50_000)) for number in range(3)]
        for done in waiting:
            with pytest.raises(OSError, match=rf"^store .*: a row could not be written: {told}$"):
                done.result(10)
        store._connection.execute("PRAGMA query_only = 0")
        store._connection.execute("PRAGMA max_page_count = 100000")
        store.put(row("later")).result(10)
        assert [found["key"] for found in store.rows()] == ["later"]


# -------------------------------------------------------------------------------------------------------------- company


def test_many_can_make_a_new_store_at_once(store_path):
    failed: list[Exception] = []

    def make() -> None:
        try:
            Store(store_path).close()
        except (OSError, ValueError, sqlite3.Error) as error:
            failed.append(error)

    makers = [threading.Thread(target=make) for _ in range(16)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert failed == []


# ----------------------------------------------------------------------------------------------------------- exchanging


def test_an_export_holds_everything_and_grows_by_what_is_new(store_path, tmp_path):
    file = tmp_path / "out" / "replies.jsonl"
    with Store(store_path) as store:
        store.put(row("a", text="’ 👍 \u2028")).result()
        assert store.export(file) == 1
        store.put(row("b")).result()
        assert store.export(file) == 1
        assert store.export(file) == 0
        assert list(read_jsonl(file)) == list(store.rows())


@pytest.mark.parametrize("kind", ["sqlite", "jsonl"])
def test_merging_adds_what_is_missing_once(store_path, tmp_path, kind):
    source = tmp_path / f"shard.{kind}"
    with Store(tmp_path / "shard.sqlite") as shard:
        for key in ("a", "b", "c"):
            shard.put(row(key, text=f"shard {key}", latency_s=4.2)).result()
        if kind == "jsonl":
            shard.export(source)
    with Store(store_path) as store:
        store.put(row("a", text="own")).result()
        assert store.merge(source) == 2
        assert store.merge(source) == 0
        assert [store.get(key)["text"] for key in "abc"] == ["own", "shard b", "shard c"]
        assert store.get("b")["latency_s"] == 4.2


def test_merging_more_than_one_batch(store_path, tmp_path):
    append_jsonl(tmp_path / "many.jsonl", (row(f"{number:05d}", created=1.0) for number in range(2500)))
    with Store(store_path) as store:
        assert store.merge(tmp_path / "many.jsonl") == 2500


def test_merging_a_file_that_is_not_there_names_it(store_path):
    with Store(store_path) as store, pytest.raises(FileNotFoundError, match=r"^store: no file .*gone\.jsonl to merge$"):
        store.merge("/gone.jsonl")


def test_a_line_torn_within_a_letter_costs_only_itself(tmp_path):
    file = tmp_path / "replies.jsonl"
    file.write_bytes('{"id":1}\n{"text":"’'.encode()[:-1])
    with pytest.warns(UserWarning, match="not whole"):
        assert list(read_jsonl(file)) == [{"id": 1}]


# --------------------------------------------------------------------------------------------------------- command line


def test_status_counts_by_model_and_benchmark(store_path):
    with Store(store_path) as store:
        store.put(row("a", prompt_tokens=10, completion_tokens=5, cost=0.25, created=0.0))
        store.put(row("b", prompt_tokens=1, completion_tokens=1, status="truncated", created=time.time()))
        store.put(row("c", model="other", cost=0.0))
        store.log_attempt({"key": "d", "model": "stub", "endpoint": "e", "kind": "busy", "error": "no"}).result()
        table = store.status().set_index("model")
    assert table.loc["stub", ["replies", "not_ok", "prompt_tokens", "cost", "without_price"]].tolist() == [
        2,
        1,
        11,
        0.25,
        1,
    ]
    assert table["failed_calls_of_model"].to_dict() == {"stub": 1, "other": 0}


def test_the_command_line_shows_exports_and_merges(store_path, tmp_path, capsys):
    main(["--store", store_path, "status"])
    assert "no replies recorded yet" in capsys.readouterr().out
    assert not Path(store_path).exists()
    with Store(store_path) as store:
        store.put(row("a")).result()
    main(["--store", store_path, "export", str(tmp_path / "out.jsonl")])
    main(["--store", str(tmp_path / "other.sqlite"), "merge", str(tmp_path / "out.jsonl")])
    main(["--store", str(tmp_path / "other.sqlite"), "status"])
    out = capsys.readouterr().out
    assert "1 replies appended" in out
    assert "1 replies added" in out
    assert "stub" in out
    assert json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8"))["key"] == "a"
