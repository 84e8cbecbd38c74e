"""The record of replies: one SQLite file in WAL mode. A reply is committed to disk before it counts as answered.

`replies` holds one row per answered request, under the digest of the request; rows are added, never changed. `attempts`
logs the calls that failed. Threads and processes share a file; each process writes through one thread, which commits
what is waiting in one transaction.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import queue
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

import stamina

from cdct.core import resolve
from cdct.jsonl import append_jsonl, read_jsonl

if TYPE_CHECKING:
    import pandas as pd

DEFAULT = "data/replies.sqlite"

REPLY_COLUMNS = {
    "key": "TEXT PRIMARY KEY NOT NULL",
    "created": "REAL NOT NULL",
    "benchmark": "TEXT NOT NULL",
    "arm": "TEXT NOT NULL",
    "item": "TEXT NOT NULL",
    "model": "TEXT NOT NULL",
    "sample": "INTEGER NOT NULL",
    "turn": "INTEGER NOT NULL",
    "request": "TEXT NOT NULL",
    "text": "TEXT",
    "reasoning": "TEXT",
    "status": "TEXT NOT NULL",
    "finish_reason": "TEXT",
    "prompt_tokens": "INTEGER",
    "completion_tokens": "INTEGER",
    "reasoning_tokens": "INTEGER",
    "cached_tokens": "INTEGER",
    "latency_s": "REAL NOT NULL",
    "cost": "REAL",
    "served_model": "TEXT",
    "fingerprint": "TEXT",
    "provider": "TEXT",
    "endpoint": "TEXT NOT NULL",
    "parameters": "TEXT NOT NULL",
    "attempts": "INTEGER NOT NULL",
    "raw": "TEXT NOT NULL",
}
"""Columns of `replies`. The first asker's benchmark, arm, item, model, sample and turn stand beside the key for people;
another item with the same request is answered from the same row. `request` is the canonical request that the key is the
digest of, `parameters` what was really sent beside the messages, `raw` the provider's answer as it came."""

ATTEMPT_COLUMNS = {
    "id": "INTEGER PRIMARY KEY",
    "created": "REAL NOT NULL",
    "key": "TEXT NOT NULL",
    "model": "TEXT NOT NULL",
    "endpoint": "TEXT NOT NULL",
    "kind": "TEXT NOT NULL",
    "http_status": "INTEGER",
    "error": "TEXT NOT NULL",
    "wait_s": "REAL",
}


def _table(name: str, columns: Mapping[str, str]) -> str:
    return f"CREATE TABLE {name} ({', '.join(f'{column} {kind}' for column, kind in columns.items())})"


MIGRATIONS = (
    (
        _table("replies", REPLY_COLUMNS),
        _table("attempts", ATTEMPT_COLUMNS),
        "CREATE INDEX replies_model ON replies (model, benchmark)",
        "CREATE INDEX attempts_key ON attempts (key)",
    ),
)
"""Statements that lead from schema version i to i + 1. A released entry is never edited; a change adds one."""

_STOP = object()
_BAD_ROW = (
    *(sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.DataError),
    OverflowError,  # a whole number beyond 64 bits
)


def _is_locked(error: Exception) -> bool:
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def _insert(table: str, columns: Mapping[str, str], row: Mapping[str, Any]) -> tuple[str, list[Any]]:
    names = [name for name in columns if name in row]
    marks = ", ".join("?" * len(names))
    # a lone surrogate in a reply can't be encoded by SQLite: written as its escape, so that the reply is kept
    values = [
        row[name].encode("utf-8", "backslashreplace").decode() if isinstance(row[name], str) else row[name]
        for name in names
    ]
    # only a key that is there already is passed over; a row with a hole is an error, not a loss in silence
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks}) ON CONFLICT DO NOTHING", values


class Store:
    """Replies by key. Use as a context manager, or call `close`; a store left open loses nothing that was answered."""

    def __init__(self, path: str | os.PathLike[str] = DEFAULT) -> None:
        if os.fspath(path).startswith((":memory:", "file:")):  # names of SQLite, which would become those of files
            raise ValueError(f"store {os.fspath(path)!r}: a record is a file that stays; name one, such as {DEFAULT!r}")
        self.path: Path = resolve(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        with contextlib.ExitStack() as undo:
            try:
                self._reader = self._connect()
                undo.callback(self._reader.close)
                self._migrate()
                self._connection = self._connect()
            except sqlite3.OperationalError as error:  # no such folder, read-only, full, locked for minutes, ...
                raise OSError(f"store {self.path}: can't be opened for writing: {error}") from error
            except sqlite3.DatabaseError as error:
                raise ValueError(f"store {self.path}: not a store of replies ({error}); name another file") from error
            undo.pop_all()
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="cdct-store", daemon=True)
        self._writer.start()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=120, isolation_level=None, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _migrate(self) -> None:
        connection = self._reader
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > len(MIGRATIONS):
            raise ValueError(
                f"store {self.path}: made by a newer cdct (schema {version}, this one knows {len(MIGRATIONS)}); "
                "update cdct"
            )
        if version < len(MIGRATIONS):
            connection.execute("BEGIN IMMEDIATE")  # another process may be doing the same
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version == 0 and connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
                raise ValueError(f"store {self.path}: a database of something else; name another file")
            for number, statements in enumerate(MIGRATIONS[version:], start=version + 1):
                for statement in statements:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")
            connection.execute("COMMIT")
        # switching a new file to WAL does not wait for another process that does the same
        for attempt in stamina.retry_context(on=_is_locked, attempts=None, timeout=60, wait_max=0.2):
            with attempt:
                connection.execute("PRAGMA journal_mode = WAL")

    # ------------------------------------------------------------------------------------------------------- writing

    def put(self, row: Mapping[str, Any]) -> Future[None]:
        """Add a reply; the future is done when it is on disk. A reply that is there already stays as it is."""
        return self._enqueue(*_insert("replies", REPLY_COLUMNS, {"created": time.time(), **row}))

    def log_attempt(self, row: Mapping[str, Any]) -> Future[None]:
        """Add a failed call to the log."""
        return self._enqueue(*_insert("attempts", ATTEMPT_COLUMNS, {"created": time.time(), **row}))

    def _enqueue(self, statement: str, values: list[Any]) -> Future[None]:
        if not self._writer.is_alive():
            raise ValueError(f"store {self.path}: closed")
        done: Future[None] = Future()
        self._queue.put((statement, values, done))
        return done

    def _write(self) -> None:
        connection = self._connection
        while True:
            batch = [self._queue.get()]
            while not self._queue.empty() and len(batch) < 1000:
                batch.append(self._queue.get())
            jobs = [job for job in batch if job is not _STOP]
            errors: dict[int, Exception] = {}
            try:
                connection.execute("BEGIN IMMEDIATE")
                for number, (statement, values, _) in enumerate(jobs):
                    try:
                        connection.execute(statement, values)
                    except _BAD_ROW as error:  # this one can't be stored; the others can
                        errors[number] = error
                connection.execute("COMMIT")
            except sqlite3.Error as error:  # disk full, file removed, ...: all that wait for it are told
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                errors = dict.fromkeys(range(len(jobs)), error)
            for number, (_, _, done) in enumerate(jobs):
                if number in errors:
                    done.set_exception(OSError(f"store {self.path}: a row could not be written: {errors[number]}"))
                else:
                    done.set_result(None)
            if len(jobs) < len(batch):
                connection.close()
                return

    def close(self) -> None:
        """Write what is waiting and let the file go."""
        if self._writer.is_alive():
            self._queue.put(_STOP)
            self._writer.join()
            self._reader.close()

    # ------------------------------------------------------------------------------------------------------- reading

    def get(self, key: str) -> dict[str, Any] | None:
        """The reply under a key, without its request and raw answer, or None."""
        with self._lock:
            row = self._reader.execute(f"SELECT {_READ} FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else dict(row)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every reply with all its columns, oldest first."""
        connection = self._connect()
        try:
            yield from map(dict, connection.execute("SELECT * FROM replies ORDER BY created, key"))
        finally:
            connection.close()

    def frame(self, query: str, values: tuple[Any, ...] = ()) -> pd.DataFrame:
        """The result of a SELECT over `replies` and `attempts` as a frame."""
        import pandas as pd

        with self._lock:
            cursor = self._reader.execute(query, values)
            return pd.DataFrame([tuple(row) for row in cursor], columns=[column[0] for column in cursor.description])

    def status(self) -> pd.DataFrame:
        """One row per model and benchmark: replies, those not "ok", tokens, cost, failed calls, when last answered."""
        return self.frame(
            """SELECT model, benchmark, COUNT(*) AS replies, SUM(status != 'ok') AS not_ok,
                      SUM(prompt_tokens) AS prompt_tokens, SUM(completion_tokens) AS completion_tokens,
                      SUM(cost) AS cost, SUM(cost IS NULL) AS without_price,
                      (SELECT COUNT(*) FROM attempts WHERE attempts.model = replies.model) AS failed_calls_of_model,
                      datetime(MAX(created), 'unixepoch') AS last_utc
               FROM replies GROUP BY model, benchmark ORDER BY model, benchmark"""
        )

    # ---------------------------------------------------------------------------------------------------- exchanging

    def export(self, path: str | os.PathLike[str]) -> int:
        """Append every reply that the JSONL file does not hold yet; the number appended."""
        target = resolve(path)
        held = {row.get("key") for row in read_jsonl(target)} if target.exists() else set()
        return append_jsonl(target, (row for row in self.rows() if row["key"] not in held))

    def merge(self, path: str | os.PathLike[str]) -> int:
        """Add the replies of another store (.sqlite) or export (.jsonl) that are not here yet; the number added."""
        source = resolve(path)
        if not source.exists():
            raise FileNotFoundError(f"store: no file {source} to merge")
        before = self._count()
        with contextlib.ExitStack() as opened:
            jsonl = source.suffix == ".jsonl"
            rows = read_jsonl(source) if jsonl else opened.enter_context(Store(source)).rows()
            while some := [self.put(row) for row in itertools.islice(rows, 1000)]:
                for done in some:
                    done.result()
        return self._count() - before

    def _count(self) -> int:
        with self._lock:
            return self._reader.execute("SELECT COUNT(*) FROM replies").fetchone()[0]


_READ = ", ".join(name for name in REPLY_COLUMNS if name not in ("request", "raw"))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m cdct.store", description="Look at, export and merge recorded replies."
    )
    parser.add_argument("--store", default=DEFAULT, help=f"the store's file (default {DEFAULT})")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("status", help="replies, tokens, cost and failed calls per model and benchmark")
    commands.add_parser("export", help="append all replies to a JSONL file").add_argument("path")
    commands.add_parser("merge", help="add the replies of another store or export").add_argument("path")
    options = parser.parse_args(arguments)
    if options.command == "status" and not resolve(options.store).exists():
        sys.stdout.write(f"no replies recorded yet ({options.store} does not exist); `make report` makes some\n")
        return
    with Store(options.store) as store:
        if options.command == "status":
            table = store.status()
            sys.stdout.write((table.to_string(index=False) if len(table) else "no replies recorded yet") + "\n")
        elif options.command == "export":
            sys.stdout.write(f"{store.export(options.path)} replies appended to {options.path}\n")
        else:
            sys.stdout.write(f"{store.merge(options.path)} replies added from {options.path}\n")


if __name__ == "__main__":
    main()
