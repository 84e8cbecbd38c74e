"""Scoring of CDCT replies: words are counted in code, so compliance with the limit needs no judge.

`compliance_score` owns the bands of the paper's rubric (section 3.5.1); `coverage` counts key points.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cdct.compression.items import LIMIT, MODES
from cdct.compression.prompts import Limit, told_and_judged
from cdct.core import KEYS, Item
from cdct.extract import extract_text
from cdct.text import word_forms, words

if TYPE_CHECKING:
    import pandas as pd

VERSION = "2"
UNSCORED = ("failed", "skipped", "filtered")
"""Statuses of a call that leave nothing to score. A refusal in words and an empty reply are replies, and fail."""
NO_TEXT = ("empty", "truncated", "refused")
"""Statuses of replies that may come without a text: they are scored as empty."""

_JOINTS = re.compile("[-\u2010-\u2015/]")
"""Hyphens, dashes and slashes, with no space beside them part of one word."""

# deviation in words -> score at both ends of the paper's bands; linear within a band and past the last one down to 0
_BANDS = ((1, 3, 9.0, 8.0), (4, 7, 7.0, 6.0), (8, 15, 5.0, 4.0), (16, 35, 3.0, 0.0))


def compliance_score(n_words: int, target: int = LIMIT, mode: str = "exactly") -> float:
    """How well a reply of `n_words` words keeps the limit, from 0 to 10.

    Bands of the paper's rubric on the deviation d = |n_words - target|: 0 -> 10; 1-3 -> 9..8; 4-7 -> 7..6; 8-15 ->
    5..4; from 16 on 3, falling to 0 at d = 35. The paper gives whole bands; inside one the score is linear in d. Mode
    "at most" counts only the words above the target, so one word keeps any limit. The bands are in words whatever the
    target; a reply without a word scores 0.
    """
    n_words, target = _whole("n_words", n_words, 0), _whole("target", target, 1)
    if mode not in MODES:
        raise ValueError(f"compliance_score: mode must be one of {', '.join(map(repr, MODES))}, got {mode!r}")
    if n_words == 0:
        return 0.0
    deviation = n_words - target
    deviation = max(0, deviation) if mode == "at most" else abs(deviation)
    if deviation == 0:
        return 10.0
    for low, high, first, last in _BANDS:
        if deviation <= high:
            return first - (first - last) * (deviation - low) / (high - low)
    return 0.0


def _whole(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or number < least:
        raise ValueError(f"compliance_score: {name} must be a whole number of at least {least}, got {value!r}")
    return number


def coverage(text: str, key_points: Sequence[Mapping[str, Any]]) -> float:
    """The share of key points that a text covers, from 0 to 1.

    A key point is covered when for one of its alternatives every term equals a word form of the text, or, with a * at
    its end, begins one. Which words occur counts, not what is said with them: a reply that denies a point covers it.
    """
    forms = set(word_forms(text))
    # parts of joined words count as words too, so that "light-energy" and "sugar/starch" hold "light" and "starch"
    forms |= {part for form in forms for part in word_forms(_JOINTS.sub(" ", form))}

    def occurs(term: str) -> bool:
        return any(form.startswith(term[:-1]) for form in forms) if term.endswith("*") else term in forms

    if not key_points:
        raise ValueError("coverage: no key points given")
    return sum(any(all(map(occurs, terms)) for terms in point["any"]) for point in key_points) / len(key_points)


def score(items: Sequence[Item], replies: pd.DataFrame) -> pd.DataFrame:
    """One row per reply: KEYS, the item's parameters, and what was counted.

    Columns: told and judged (the limit that the model was told and the one that it is judged by, in words, "none" where
    there is none), status (of the call), flags (what was odd, joined by spaces), unscored ("" or the reason why numbers
    are missing), last (whether the conversation ended with this turn), words, deviation (words minus the judged limit;
    where that is an upper one, the words above it), compliance (0-10), cc (the same on 0-1), exact (limit kept to the
    word), near (within 3 words), cc_told (cc by the limit that the model was told), coverage (0-1). A reply that no
    limit binds complies. Where the prompt holds no limit on words (arm `inside` at c = 0), words and coverage are
    counted and the rest is missing, unscored "limit absent". An item without a text, since none of the right length was
    accepted, has a row for each model, arm and sample with the status "unmade".
    """
    import pandas as pd

    known = {item.id: item for item in items}
    last = replies.groupby([key for key in KEYS if key != "turn"])["turn"].transform("max") == replies["turn"]
    rows = []
    for reply, ends in zip(replies.to_dict("records"), last, strict=True):
        item = known.get(reply["item"])
        if item is None:
            raise ValueError(f"score: the reply to {reply['item']!r} belongs to none of the {len(known)} items given")
        row = _named(item, {key: reply[key] for key in KEYS}) | {"status": reply["status"], "last": ends}
        text = reply["text"] if isinstance(reply["text"], str) else None  # a table holds NaN where there is none
        if reply["status"] in UNSCORED:
            row["unscored"] = reply["status"]
        elif text is None and reply["status"] not in NO_TEXT:
            row["unscored"] = f"{reply['status']}, but without a text"
        else:
            row |= _counted(item, reply["arm"], text, reply["finish_reason"])
        rows.append(row)
    for asked in replies[["benchmark", "arm", "model", "sample"]].drop_duplicates().to_dict("records"):
        for item in items:
            if item.meta["context"] is None:
                keys = {key: asked.get(key, item.id if key == "item" else 0) for key in KEYS}
                rows.append(_named(item, keys) | {"status": "unmade", "last": True, "unscored": "no text was accepted"})
    return pd.DataFrame(rows, columns=COLUMNS)


def _named(item: Item, keys: dict[str, Any]) -> dict[str, Any]:
    told, judged = told_and_judged(keys["arm"], item)
    names = {name: item.params[name] for name in ("concept", "c", "level_words", "limit", "mode", "compressor")}
    limits = {"told": str(told or "none"), "judged": str(judged or "none")}
    return keys | names | limits | {"domain": item.meta["domain"], "flags": "", "unscored": ""}


def _counted(item: Item, arm: str, text: str | None, finish_reason: str | None) -> dict[str, Any]:
    found = extract_text(text, finish_reason)
    count, (told, judged) = len(words(found.answer)), told_and_judged(arm, item)
    row = {
        "flags": " ".join([*found.flags, *([found.status] if found.status != "ok" else [])]),
        "words": count,
        "coverage": coverage(found.answer, item.truth["key_points"]),
        "cc_told": math.nan if told is None else _points(count, told) / 10,
    }
    if judged is None:
        return row | {"unscored": "limit absent"}
    points = _points(count, judged)
    if judged.words is not None:
        over = count - judged.words
        row["deviation"] = max(0, over) if judged.mode == "at most" else over
    return row | {"compliance": points, "cc": points / 10, "exact": float(points == 10), "near": float(points >= 8)}


def _points(count: int, limit: Limit) -> float:
    if limit.words is None:
        return 10.0 if count else 0.0
    return compliance_score(count, limit.words, limit.mode)


COLUMNS = [
    *KEYS,
    *("concept", "domain", "c", "level_words", "limit", "mode", "compressor", "told", "judged", "status", "last"),
    *("flags", "unscored", "words", "deviation", "compliance", "cc", "exact", "near", "cc_told", "coverage"),
]
_UNIT = (0.0, 1.0)
METRICS = {"words": None} | dict.fromkeys(("cc", "exact", "near", "cc_told", "coverage"), _UNIT)
"""What can be averaged, and the range that its values have."""
JUDGED = dict.fromkeys(("sa", "fc", "cc_judged"), _UNIT)
"""What a jury adds to it (see `calibration.with_jury`)."""
