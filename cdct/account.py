"""What a run asked, what it cost, and what a reader of its numbers must know: the tables beside every result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cdct.core import BENCHMARKS, Item, items_hash

if TYPE_CHECKING:
    import pandas as pd

STATUSES = ("ok", "truncated", "refused", "filtered", "empty", "failed", "skipped")
FEW = 5
"""Cells that rest on fewer values than this are pointed out."""

MOST_NAMED = 5


def calls(replies: pd.DataFrame) -> pd.DataFrame:
    """What was asked: one row per model, with counts by status, tokens, cost, and what was really sent and served.

    Columns: model, calls, one per status, prompt_tokens, completion_tokens, cost, unpriced (answers without a known
    cost), served_model, fingerprint, endpoint, parameters (every distinct value, joined by " | "). Cost is what the
    replies cost when they were first asked for.
    A sum is over the replies whose count or cost is known (`warnings` tells how many are not), NaN where none is.
    What of it was new in this run is not here: the table of a run and of its repetition are the same.
    """
    import pandas as pd

    def distinct(values: pd.Series) -> str:
        return " | ".join(sorted({str(value) for value in values.dropna()}))

    def known(values: pd.Series) -> float:
        return float(values.astype(float).sum(min_count=min(1, len(values))))

    sums = ("prompt_tokens", "completion_tokens")
    texts = ("served_model", "fingerprint", "endpoint", "parameters")
    rows = []
    for name, group in replies.groupby("model", sort=False):
        answered = group[group["text"].notna()]
        counts = {status: int((group["status"] == status).sum()) for status in STATUSES}
        rows.append(
            {"model": name, "calls": len(group), **counts}
            | {column: int(total) if (total := known(answered[column])) == total else total for column in sums}
            | {"cost": known(answered["cost"]), "unpriced": int(answered["cost"].isna().sum())}
            | {column: distinct(answered[column]) for column in texts}
        )
    return pd.DataFrame(rows, columns=["model", "calls", *STATUSES, *sums, "cost", "unpriced", *texts])


def warnings(replies: pd.DataFrame, rows: pd.DataFrame, cells: pd.DataFrame | None = None) -> pd.DataFrame:
    """What is missing or odd, in sentences: level ("warning" or "note") and text.

    Args:
        replies: what `run` returned, with its notices.
        rows: scored rows with the columns model, unscored and flags.
        cells: estimate rows with n; those on few values are pointed out.
    """
    import pandas as pd

    found: list[tuple[str, str]] = [("warning", notice) for notice in replies.attrs.get("notices", ())]
    words = dict(FLAGS)
    for name in replies["benchmark"].unique():
        words |= BENCHMARKS[name].flags if name in BENCHMARKS else {}
    for model, group in replies[replies["text"].notna()].groupby("model", sort=False):
        found += [("warning", f"{model}{text}") for text in _oddities(group)]
    rows = rows[rows["last"].astype(bool)] if "last" in rows else rows  # earlier turns are not scored
    for model, group in rows.groupby("model", sort=False):
        for reason, number in group["unscored"][group["unscored"] != ""].value_counts().items():
            found.append(("warning", f"{model}: {number} of {len(group)} replies could not be scored ({reason})"))
        for flag, number in group["flags"].str.split().explode().dropna().value_counts().items():
            text = words.get(flag, f"replies flagged {flag!r}")
            found.append(("note", f"{model}: {number} of {len(group)} {text}"))
    if cells is not None and len(cells):
        few = int((cells["n"] < FEW).sum())
        if few:
            found.append(("note", f"{few} of {len(cells)} cells rest on fewer than {FEW} values: read their intervals"))
    return pd.DataFrame(list(dict.fromkeys(found)), columns=["level", "text"])


def _oddities(replies: pd.DataFrame) -> Iterator[str]:
    """What is odd about where one model's answered replies came from."""
    if replies["endpoint"].astype(str).str.startswith("simulated:").any():
        yield " is simulated"
    mixed = [
        f"{len(counts)} {what} ({_named(counts)})"
        for what, column in (("served models", "served_model"), ("fingerprints", "fingerprint"))
        if len(counts := replies[column].value_counts()) > 1
    ]
    for (benchmark, arm), group in replies.groupby(["benchmark", "arm"], sort=False):  # arms may differ by design
        if len(counts := group["parameters"].value_counts()) > 1:
            mixed.append(f"{len(counts)} sets of parameters in {benchmark}, {arm} ({_named(counts)})")
    if mixed:
        yield f": the replies are not of one kind: {'; '.join(mixed)}"
    for what, columns in (("token counts", ["prompt_tokens", "completion_tokens"]), ("a known cost", ["cost"])):
        missing = int(replies[columns].isna().any(axis=1).sum())
        if 0 < missing < len(replies):
            yield f": {missing} of {len(replies)} replies came without {what}: the sums leave them out"


def _named(counts: pd.Series) -> str:
    """Values with how often they stand, the most frequent first, MOST_NAMED at most."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0])))
    more = [f"{len(ordered) - MOST_NAMED} more"] if len(ordered) > MOST_NAMED else []
    return ", ".join([f"{value}: {number}" for value, number in ordered[:MOST_NAMED]] + more)


FLAGS = {
    "truncated": "replies hit their token limit: scored on what is there, their words are a lower bound",
    "empty": "replies are empty: they count as failures",
    "reasoning": "replies held reasoning blocks, which were removed before scoring",
    "reasoning_unclosed": "replies held a reasoning block that never ended",
    "reasoning_unopened": "replies held the end of a reasoning block without its beginning",
}


def items_table(items: Sequence[Item]) -> pd.DataFrame:
    """One row per benchmark: benchmark, items, sha256 of the set, which tells whether two runs asked the same."""
    import pandas as pd

    names = dict.fromkeys(item.benchmark for item in items)
    sets = {name: [item for item in items if item.benchmark == name] for name in names}
    return pd.DataFrame(
        [{"benchmark": name, "items": len(chosen), "sha256": items_hash(chosen)} for name, chosen in sets.items()]
    )
