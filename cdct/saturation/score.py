"""Scoring of CSE replies: one verdict for each constraint of a probe, and one row for each reply.

Each reply is read once: the answer is found in it (`cdct.extract`), parsed (`cdct.text`), and every constraint of its
probe is checked on that parse. `cse` is the paper (section 3.1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from cdct.core import KEYS, Item, to_json, unknown
from cdct.extract import Extraction, extract_answer, extract_text
from cdct.saturation.constraints import CONSTRAINTS, Constraint
from cdct.saturation.sensitivity import first_tagged
from cdct.text import Text

if TYPE_CHECKING:
    import pandas as pd

UNSCORED = ("failed", "skipped", "filtered")
"""Statuses of a call that leave nothing to score. A refusal in words and an empty reply are replies, and fail."""
NO_TEXT = ("empty", "truncated", "refused")
"""Statuses of replies that may come without a text: they are scored as empty."""
UNTAGGED = ("no-tags",)
"""Arms that speak of no answer tags: the whole reply counts."""
EXTRACTIONS = {
    "last tag": "the last complete pair of answer tags; without tags the whole reply",
    "first tag": "the first <answer> and the next </answer>; without them the whole reply",
    "whole text": "the whole reply but its reasoning, whatever tags stand in it",
}
"""Ways to find the answer in a reply; the first is how replies are scored."""
COLUMNS = [
    *KEYS,
    *("last", "k", "topic", "kind", "family", "position", "constraint", "dimension", "params", "passed", "score"),
    *("detail", "flags", "version", "status", "answer_status", "answer_flags", "unscored", "completion_tokens"),
]
PROBE_COLUMNS = [
    *KEYS,
    *("k", "topic", "kind", "family", "passed_all", "share", "mean_score", "n_checks", "status", "answer_status"),
    *("answer_flags", "flags", "unscored", "completion_tokens"),
]
CHECK = [*KEYS, "position"]
"""What names a check: two constraints of one type in a probe differ in their position."""
_TRIAL = [key for key in KEYS if key != "turn"]


def answer_of(
    text: str | None, finish_reason: str | None = None, arm: str = "direct", extraction: str = "last tag"
) -> Extraction:
    """The answer in a reply, as one of `EXTRACTIONS` finds it; in the arms of `UNTAGGED` always the whole text.

    Status and flags are those of `extract_answer`; of a whole text the flags say nothing on tags. A table holds NaN
    where there is no text or no finish reason.
    """
    if extraction not in EXTRACTIONS:
        raise ValueError(unknown("extraction", extraction, EXTRACTIONS))
    text, finish_reason = (value if isinstance(value, str) else None for value in (text, finish_reason))
    found = extract_answer(text, finish_reason)
    if arm in UNTAGGED or extraction == "whole text":
        whole = extract_text(text, finish_reason)
        refused = whole.status == "ok" and found.status == "refused"
        return Extraction(whole.answer, "refused" if refused else whole.status, whole.flags, whole.answer_start)
    if extraction == "last tag":
        return found
    first = first_tagged(text or "")
    status = found.status if found.status == "truncated" else "ok" if first else "empty"
    return Extraction(first, found.status if first == found.answer else status, found.flags)


class _Asked(NamedTuple):
    """The constraints of an item, ready to be checked, and what its rows repeat."""

    checks: list[tuple[Constraint, Mapping[str, Any]]]
    columns: dict[str, list[Any]]


def _asked(item: Item, versions: Mapping[str, Constraint], reading: str) -> _Asked:
    checks = []
    for one in item.params["constraints"]:
        if one["id"] not in CONSTRAINTS:
            raise ValueError(f"{item.id}: {unknown('constraint', one['id'], CONSTRAINTS)}")
        checks.append((versions.get(one["id"], CONSTRAINTS[one["id"]]), one["params"]))
    k = len(checks)
    if k != item.params["k"]:
        raise ValueError(f"{item.id}: k must be the number of constraints, {k}, got {item.params['k']}")
    repeated = {"k": k, "topic": item.params["topic"], "kind": item.truth["kind"]}
    repeated |= {"family": item.truth.get("family", "")}
    columns = {name: [value] * k for name, value in repeated.items()} | {
        "position": list(range(1, k + 1)),
        "constraint": [kind.id for kind, _ in checks],
        "dimension": [kind.dimension for kind, _ in checks],
        "params": [to_json(params) for _, params in checks],
        "version": [kind.version + reading for kind, _ in checks],
    }
    return _Asked(checks, columns)


def score(
    items: Sequence[Item],
    replies: pd.DataFrame,
    splitter: str = "rules",
    extraction: str = "last tag",
    versions: Mapping[str, Constraint] | None = None,
) -> pd.DataFrame:
    """One row per check, k for each reply, with `COLUMNS`; two constraints of one type are two rows.

    `last` marks the last turn of a conversation, the one that counts; earlier turns are texts too, and are scored. A
    call without a reply (failed, not made, filtered) has k rows that are NaN, with the reason in `unscored`. An empty
    reply and a refusal in words fail what they don't keep, and `answer_status` says what they are (ok, truncated,
    refused, empty); a truncated one is scored on what is there. `flags` are shortcuts that a verifier saw,
    `answer_flags` how the answer was found, both with blanks between. `version` is the verifier's, with the way of
    reading where that is another than the usual.

    Args:
        splitter: "rules", or "paper": sentences end at . ! ? before white space and nowhere else.
        extraction: a name in `EXTRACTIONS`.
        versions: verifiers to be used in place of the registry's, by id.

    ValueError for a reply to none of the items, for one that is there twice, and for an item with unknown constraints
    or bad parameters.
    """
    import pandas as pd

    versions = versions or {}
    Text("", splitter)  # an unknown splitter is refused before anything is read
    for id, kind in versions.items():
        if kind.id != id:
            raise ValueError(f"score: versions[{id!r}] must be a verifier of {id}, got one of {kind.id}")
    reading = "".join(f", {name}" for name, usual in ((splitter, "rules"), (extraction, "last tag")) if name != usual)
    replies = replies.reset_index(drop=True)
    if (again := replies.duplicated(KEYS)).any():
        raise ValueError(f"score: the reply {replies.loc[again.idxmax(), KEYS].to_dict()} is there twice")
    known = {item.id: item for item in items}
    asked: dict[str, _Asked] = {}
    told, verdicts = [], []
    columns = [replies[name].tolist() for name in ("item", "arm", "text", "status", "finish_reason")]
    for id, arm, text, status, reason in zip(*columns, strict=True):
        if id not in asked:
            if id not in known:
                raise ValueError(f"score: the reply to {id!r} belongs to none of the {len(known)} items given")
            asked[id] = _asked(known[id], versions, reading)
        checks, missing = asked[id].checks, status if status in UNSCORED else ""
        if not missing and not isinstance(text, str) and status not in NO_TEXT:
            missing = f"{status}, but without a text"
        if missing:
            told.append(("", "", missing))
            verdicts += [(math.nan, math.nan, "", "")] * len(checks)
        else:
            found = answer_of(text, reason, arm, extraction)
            told.append(("refused" if status == "refused" else found.status, " ".join(found.flags), ""))
            try:
                verdicts += _verdicts(Text(found.answer, splitter), checks)
            except ValueError as error:
                raise ValueError(f"{id}: {error}") from None
    rows = replies[[*KEYS, "status"]].assign(completion_tokens=replies.get("completion_tokens", math.nan))
    rows["last"] = rows["turn"] == rows.groupby(_TRIAL, sort=False)["turn"].transform("max")
    names = ["answer_status", "answer_flags", "unscored"]
    rows = rows.join(pd.DataFrame(told, columns=names, dtype=object))
    parts = [asked[id].columns for id in columns[0]]
    frame = rows.loc[rows.index.repeat([len(part["k"]) for part in parts])].reset_index(drop=True)
    for name in ("k", "topic", "kind", "family", "position", "constraint", "dimension", "params", "version"):
        frame[name] = list(chain.from_iterable(part[name] for part in parts))
    names = ["passed", "score", "detail", "flags"]
    frame = frame.join(pd.DataFrame(verdicts, columns=names, dtype=object))[COLUMNS]
    unjudged = frame["passed"].isna() & (frame["unscored"] == "")
    frame["unscored"] = frame["unscored"].where(~unjudged, "the verifier could not tell")
    return frame.astype({"passed": float, "score": float, "k": int, "position": int, "last": bool})


def _verdicts(
    text: Text, checks: Sequence[tuple[Constraint, Mapping[str, Any]]]
) -> Iterator[tuple[float, float, str, str]]:
    for kind, params in checks:
        verdict = kind.check(text, **params)
        if verdict.score is None:
            yield math.nan, math.nan, verdict.detail, " ".join(verdict.flags)
        else:
            yield float(verdict.passed), verdict.score, verdict.detail, " ".join(verdict.flags)


def texts(column: pd.Series) -> pd.Series:
    """The column with "" for what is missing: an empty column of a saved table is read as one of numbers."""
    return column.astype(object).where(column.notna(), "")


def probes(checks: pd.DataFrame) -> pd.DataFrame:
    """One row per reply that counts (the last turn), with `PROBE_COLUMNS`.

    passed_all: 1 where every check is passed, else 0; share and mean_score: means over the checks; all NaN where one of
    them could not be scored, with its reason in `unscored`. `flags` are those of all checks, each once.
    """

    last = checks[checks["last"].astype(bool)].reset_index(drop=True)
    first = last[~last.duplicated(KEYS)].reset_index(drop=True)
    by_reply = last.groupby(last.groupby(KEYS, sort=False, observed=True).ngroup())
    known = by_reply["passed"].count() == by_reply.size()
    flagged = texts(last["flags"]).where(lambda some: some != "").dropna()
    flags = flagged.groupby(by_reply.ngroup()[flagged.index]).agg(" ".join)
    reasons = texts(last["unscored"]).where(lambda some: some != "").groupby(by_reply.ngroup()).first()
    return first.assign(
        passed_all=by_reply["passed"].min().where(known),
        share=by_reply["passed"].mean().where(known),
        mean_score=by_reply["score"].mean().where(known),
        n_checks=by_reply.size(),
        flags=flags.map(lambda some: " ".join(dict.fromkeys(some.split()))).reindex(first.index, fill_value=""),
        unscored=reasons.fillna("").where(~known, ""),
    )[PROBE_COLUMNS]
