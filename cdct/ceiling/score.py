"""Scoring of CCB replies: is the answer right, where does the trace first differ from the truth, and what went wrong.

Outcome and trace are judged apart: an answer can be right after a wrong trace. `ccb` is the paper (section 3).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cdct.ceiling.domains import DOMAINS, State
from cdct.ceiling.items import RELATIONAL
from cdct.ceiling.prompts import rendered, right_replies
from cdct.ceiling.trace import ReplyTrace, read_reply
from cdct.core import BENCHMARKS, KEYS, Item

if TYPE_CHECKING:
    import pandas as pd

VERSION = "2"
OUTCOMES = ("correct", "reasoning", "constraint", "format", "truncation", "api")
STATUSES = ("intact", "diverged", "short", "absent")
UNSCORED = ("failed", "skipped", "filtered")
"""Statuses of a call that leave nothing to score. A refusal in words and an empty reply are replies, and fail."""
NO_TEXT = ("empty", "truncated", "refused")
"""Statuses of replies that may come without a text: they are scored as empty."""


@dataclass(frozen=True)
class TraceVerdict:
    """What became of one trial.

    outcome: the first of these that holds. api: there is no reply. correct: the answer is right, whatever the trace.
        constraint: the answer is wrong, and the first state that differs from the truth (a step's, else the answer's)
        breaks the domain's rule; reasoning: it does not. truncation: there is no whole answer, and the reply hit its
        token limit or ends inside a structure. format: no answer could be read.
    answer_correct: None without a reply.
    trace_status: absent (no step could be read), diverged (a step differs from the truth), short (none differs, but
        some are missing), intact.
    k_star: the first step that differs or is missing; -1 for an intact trace, None for an absent one.
    tfbc: whether the answer is right although the trace is not intact; None where the trace is absent.
    missing: steps without a readable state; none are listed where the trace is absent.
    first_wrong: the first step whose state is there and differs.
    constraint_step: the step of the first differing state where that breaks the rule; the depth where it is the answer.
    rejoined: whether the last step that is there is right again after one that differs.
    strict_outcome: the same under the paper's strict reading: a reply that is not laid out exactly as asked, every step
        there and in order, is a format failure.
    flags: see `cdct.ceiling.trace.ReplyTrace`; and steps_extra (numbers beyond the depth), more_than_asked (arm
        `query`: other pairs too), truncated (the token limit was hit), layout (where nothing else says what is odd).
    """

    outcome: str
    answer_correct: bool | None = None
    trace_status: str | None = None
    k_star: int | None = None
    tfbc: bool | None = None
    missing: tuple[int, ...] = ()
    first_wrong: int | None = None
    constraint_step: int | None = None
    rejoined: bool | None = None
    strict_outcome: str = "api"
    flags: tuple[str, ...] = ()


def score_trial(
    item: Item,
    text: str | Sequence[str] | None,
    finish_reason: str | None = None,
    error: str | None = None,
    arm: str = "trace",
) -> TraceVerdict:
    """The verdict on a reply, or in the arm `scratchpad` on a conversation: one text a turn, turn i being step i + 1.

    finish_reason: of the last turn. error: why there is no reply. ValueError for an arm that is not known, and for one
    text in the arm `scratchpad` or several in another.
    """
    arm = BENCHMARKS["ccb"].arm(arm).name
    if error is not None or text is None:
        return TraceVerdict("api")
    if (arm == "scratchpad") == isinstance(text, str):
        raise ValueError(
            f"{item.id}: the arm {arm!r} has {'one text' if arm != 'scratchpad' else 'a text for each turn'}"
        )
    read = _conversation(item, text) if not isinstance(text, str) else read_reply(item.params["domain"], text, arm)
    domain, truth, depth = DOMAINS[item.params["domain"]], item.truth["states"], item.params["depth"]
    flags = list(read.flags)
    steps = {number: state for number, state in read.steps.items() if number <= depth}
    flags += ["steps_extra"] if len(steps) < len(read.steps) else []
    flags += ["truncated"] if finish_reason == "length" else []

    # what a limit ended may have been cut: a list of relations anywhere, another state unless a bracket closes it
    if finish_reason == "length" and (domain.name in RELATIONAL or not read.text.rstrip().endswith(("]", "}", ")"))):
        steps |= {read.last: None} if read.last in steps else {}
        read = replace(read, answer=None, answer_text="") if read.last == 0 else read
    answer, right, more = _judged(item, arm, read)
    flags += more
    there = {number: state for number, state in sorted(steps.items()) if state is not None}
    wrong = [number for number, state in there.items() if state != truth[number - 1]]
    missing = tuple(number for number in range(1, depth + 1) if number not in there) if there else ()
    if not there:
        status, k_star = "absent", None
    else:
        status = "diverged" if wrong else "short" if missing else "intact"
        k_star = min([*wrong[:1], *missing[:1]], default=-1)
    if wrong:
        broken = wrong[0] if domain.integrity(there[wrong[0]]) else None
    else:
        broken = depth if not right and arm != "query" and answer is not None and domain.integrity(answer) else None

    if right:
        outcome = "correct"
    elif answer is not None:
        outcome = "constraint" if broken else "reasoning"
    else:
        outcome = "truncation" if finish_reason == "length" or read.unfinished else "format"
    strict = _is_strict(item, arm, text, read, steps)
    if strict:  # what is odd in one arm may be what another one asks for
        flags = [flag for flag in flags if flag.startswith(("reasoning", "truncated"))]
    return TraceVerdict(
        outcome=outcome,
        answer_correct=right,
        trace_status=status,
        k_star=k_star,
        tfbc=None if status == "absent" else right and status != "intact",
        missing=missing,
        first_wrong=wrong[0] if wrong else None,
        constraint_step=broken,
        rejoined=None if not wrong else max(there) not in wrong,
        strict_outcome=outcome if strict or outcome == "truncation" else "format",
        flags=tuple(
            dict.fromkeys(flags or (["layout"] if not strict and there and not missing and answer is not None else []))
        ),
    )


def _conversation(item: Item, texts: Sequence[str]) -> ReplyTrace:
    turns = [read_reply(item.params["domain"], text, "scratchpad") for text in texts]
    # an operation that is restated is the state of no step; as an answer it may be one
    steps = {number: turn.answer for number, turn in enumerate(turns, start=1) if "told" not in turn.flags}
    flags = tuple(dict.fromkeys(flag for turn in turns for flag in turn.flags))
    if not turns:
        return ReplyTrace({}, None)
    return replace(turns[-1], steps=steps, flags=flags)


_ONE_WORD = re.compile(r"\W*(?:(?:they|the two)\s+)?(?:are\s+)?(ally|allies|allied|rivals?)\W*", re.IGNORECASE)


def _judged(item: Item, arm: str, read: ReplyTrace) -> tuple[State | None, bool, list[str]]:
    """The answer, whether it is right, and flags; in the arm `query` the relation of the one pair decides."""
    if arm != "query":
        return read.answer, read.answer is not None and read.answer == item.truth["answer"], []
    pair, relation = item.truth["query"]["pair"], item.truth["query"]["relation"]
    if read.answer is None:
        word = _ONE_WORD.fullmatch(read.answer_text[:60])
        if not word or len(read.answer_text) > 60:
            return None, False, []
        return (answer := {pair: "ally" if word[1][0] in "aA" else "rival"}), answer[pair] == relation, ["wording"]
    more = ["more_than_asked"] if set(read.answer) - {pair} else []
    return read.answer, read.answer.get(pair) == relation, more


def _is_strict(item: Item, arm: str, text: str | Sequence[str], read: ReplyTrace, steps: dict[int, Any]) -> bool:
    """Whether a reply is laid out exactly as asked: the same states, written as they should be, give the same text."""
    name, depth = item.params["domain"], item.params["depth"]
    states = [steps.get(number) for number in range(1, depth + 1)]
    if any(state is None for state in states) or read.answer is None or len(read.steps) > depth:
        return False
    if arm == "scratchpad":
        return [one.strip() for one in text] == [rendered(name, arm, state) for state in states]
    told = replace(item, truth={**item.truth, "states": states})
    if arm == "query":
        if len(read.answer) != 1:
            return False
        pair, relation = next(iter(read.answer.items()))
        told = replace(told, truth={**told.truth, "query": {"pair": pair, "relation": relation}})
        return read.text == right_replies(told, arm)[0]
    head, label, tail = right_replies(told, arm)[0].rpartition("ANSWER")
    asked = head + label + tail.replace(rendered(name, arm, states[-1]), rendered(name, arm, read.answer))
    return read.text == asked or (arm == "schema" and _same_json(read.text, asked))


def _same_json(one: str, other: str) -> bool:
    """Whether two texts are the same JSON but for blanks; keys in another order, or twice, are not the same."""
    try:
        return json.loads(one, object_pairs_hook=list) == json.loads(other, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return False


# ---------------------------------------------------------------------------------------------------------------- frame

COLUMNS = [
    *KEYS,
    *("domain", "depth", "effective_depth", "status", "last", "unscored", "flags", "outcome", "correct", "parsed"),
    *("trace_status", "k_star", "first_wrong", "tfbc", "success", "missing", "constraint_step", "operation"),
    *("strict_outcome", "strict", "prompt_tokens", "completion_tokens", "reasoning_tokens"),
]
METRICS = {
    "correct": "the answer is right; a format failure fails, a reply that was cut before its answer is missing",
    "parsed": "the answer is right, among replies whose answer could be read",
    "strict": "the answer is right and the reply laid out exactly as asked; what was cut before its answer is missing",
}
CUT = "cut before its answer"
"""Why a reply has no verdict: its token limit, or its end inside a structure, says nothing of the state (ccb 3.3)."""


def score(items: Sequence[Item], replies: pd.DataFrame) -> pd.DataFrame:
    """One row per reply: KEYS, the item's domain and depths, and what became of the trial.

    The verdict stands in the row of the last turn (`last`); earlier turns carry their tokens, unscored "not the last
    turn". Columns: status (of the call), unscored ("" or the reason why there is no verdict), flags (joined by spaces),
    outcome (None for a call that was not made, or filtered), correct, parsed and strict (1, 0 or NaN, see `METRICS`),
    trace_status, k_star (-1 intact), first_wrong, tfbc (1, 0, NaN), constraint_step, strict_outcome as in
    `TraceVerdict`; success (of a right answer: faithful, its trace is intact; recovered, the trace differed and was
    right again at its last step; lucky, it was not; short, nothing differed but steps are missing; untraced), missing
    (how many steps have no readable state), operation (kind of the one at k_star), tokens of the turn. ValueError for a
    reply to none of the items.
    """
    import pandas as pd

    known = {item.id: item for item in items}
    trial = [key for key in KEYS if key != "turn"]
    rows = []
    for _, turns in replies.groupby(trial, sort=False):
        turns = turns.sort_values("turn").to_dict("records")
        item = known.get(turns[0]["item"])
        if item is None:
            raise ValueError(
                f"score: the reply to {turns[0]['item']!r} belongs to none of the {len(known)} items given"
            )
        for reply in turns:
            row = {name: reply.get(name) for name in (*KEYS, "status", *COLUMNS[-3:])}
            row |= {name: item.params[name] for name in ("domain", "depth")}
            row |= {"effective_depth": item.truth["effective_depth"], "last": reply is turns[-1], "flags": ""}
            row |= _trial(item, turns) if row["last"] else {"unscored": "not the last turn"}
            rows.append(row)
    frame = pd.DataFrame(rows, columns=COLUMNS)
    for name in ("outcome", "trace_status", "success", "operation", "strict_outcome"):  # None stays None
        frame[name] = pd.Series([row.get(name) for row in rows], dtype=object)
    return frame.astype(dict.fromkeys((*METRICS, "k_star", "first_wrong", "tfbc", "constraint_step"), float))


def _trial(item: Item, turns: Sequence[dict[str, Any]]) -> dict[str, Any]:
    last, arm = turns[-1], BENCHMARKS["ccb"].arm(turns[-1]["arm"]).name
    # a table holds NaN where there is no text
    texts = [turn["text"] if isinstance(turn["text"], str) else None for turn in turns]
    if last["status"] in UNSCORED:
        return {"unscored": last["status"], "outcome": "api" if last["status"] == "failed" else None}
    if texts[-1] is None and last["status"] not in NO_TEXT:
        return {"unscored": f"{last['status']}, but without a text"}
    if arm == "scratchpad" and [turn["turn"] for turn in turns] != list(range(item.params["depth"])):
        return {"unscored": f"{len(turns)} of {item.params['depth']} turns"}
    texts = [text or "" for text in texts]
    found = score_trial(item, texts if arm == "scratchpad" else texts[-1], last["finish_reason"], arm=arm)
    cut = found.outcome == "truncation"
    right, at = math.nan if cut else float(bool(found.answer_correct)), found.k_star or -1
    return {
        "unscored": CUT if cut else "",
        "flags": " ".join([*found.flags, *([last["status"]] if last["status"] in ("empty", "refused") else [])]),
        "outcome": found.outcome,
        "correct": right,
        "parsed": math.nan if found.outcome == "format" else right,
        "trace_status": found.trace_status,
        "k_star": found.k_star,
        "first_wrong": found.first_wrong,
        "tfbc": found.tfbc,
        "success": _success(found) if right == 1 else None,
        "missing": len(found.missing),
        "constraint_step": found.constraint_step,
        "operation": item.truth["operations"][at - 1]["kind"] if at > 0 else None,
        "strict_outcome": found.strict_outcome,
        "strict": math.nan if cut else float(found.strict_outcome == "correct"),
    }


def _success(found: TraceVerdict) -> str:
    named = {"intact": "faithful", "short": "short", "absent": "untraced"}
    return named.get(str(found.trace_status)) or ("recovered" if found.rejoined else "lucky")
