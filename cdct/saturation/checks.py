"""One reply against a list of constraints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cdct.core import to_json
from cdct.saturation.constraints import CONSTRAINTS
from cdct.text import Text

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["number", "constraint", "dimension", "params", "passed", "score", "detail", "flags"]


def check_all(reply: str | Text, constraints: Iterable[tuple[str, Mapping[str, Any]]]) -> pd.DataFrame:
    """One row per constraint (an id and its parameters), in the order given; two of one type are two rows.

    Columns: `COLUMNS`. The mean of `passed` is the share of constraints kept, its `all()` whether every one is. The
    reply is parsed once. KeyError for an unknown id, ValueError for a bad parameter or pair.
    """
    import pandas as pd

    text, rows = Text.of(reply), []
    for number, pair in enumerate(constraints, start=1):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(
                f"check_all: a constraint is an id and its parameters, as in ('S1', {{'n': 50}}), got {pair!r}"
            )
        id, params = pair
        kind = CONSTRAINTS[id]
        verdict = kind.check(text, **params)
        judged = (verdict.passed, verdict.score, verdict.detail, ", ".join(verdict.flags))
        rows.append((number, id, kind.dimension, to_json(params), *judged))
    return pd.DataFrame(rows, columns=COLUMNS)
