"""Replies to be read again without asking anybody: those of a JSONL file, or those on record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cdct.core import resolve, unknown
from cdct.jsonl import read_jsonl
from cdct.store import DEFAULT, Store

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["source", "text", "finish_reason"]
_BALLOTS = "jury"
"""The benchmark under which ballots are on record."""


def read_replies(path: str = "", field: str = "text", store: str = DEFAULT) -> pd.DataFrame:
    """One row per reply, with `COLUMNS`: from the JSONL file, or from the record where `path` is "".

    `field` names the texts in the file; a text that is missing (null) stays a row without one. Of the record, judges'
    ballots are left out, and the order is that of the keys, which does not hang on when something was asked. Where
    there is no record there is no row, and none is made. FileNotFoundError for a file that is not there, ValueError
    for a line without the field or with something else than a text in it.
    """
    import pandas as pd

    if not path:
        if not resolve(store).is_file():
            return pd.DataFrame(columns=COLUMNS)
        with Store(store) as record:
            query = "SELECT ? AS source, text, finish_reason FROM replies WHERE benchmark != ? ORDER BY key"
            return record.frame(query, (f"on record in {store}", _BALLOTS))
    rows = []
    for number, row in enumerate(read_jsonl(path), start=1):
        if field not in row:
            raise ValueError(f"{path}: reply {number}: {unknown('field', field, row)}")
        if not isinstance(row[field], str | None):
            kind = type(row[field]).__name__
            raise ValueError(f"{path}: reply {number}: {field} must be a text or null, got {kind}; name another field")
        rows.append((path, row[field], row.get("finish_reason")))
    return pd.DataFrame(rows, columns=COLUMNS)
