"""From a raw reply to what is scored: reasoning blocks go, and what was odd about the reply is said, never repaired."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MARK = re.compile(r"<(/?)(think|thinking|reasoning|thought)>", re.IGNORECASE)


@dataclass(frozen=True)
class Extraction:
    """The text to score, its status ("ok", "truncated" or "empty") and the flags that say how it was found."""

    answer: str
    status: str
    flags: tuple[str, ...] = ()


def strip_reasoning(text: str) -> tuple[str, tuple[str, ...]]:
    """`text` without its reasoning blocks, and flags: reasoning, reasoning_unopened, reasoning_unclosed.

    A closing mark without an opening one ends a block that began with the reply (some servers cut the opening mark).
    A block that is never closed goes on to the end. Nested marks belong to the outermost block. Where a block stood
    inside the text, a space parts what it parted. Linear time.
    """
    kept: list[str] = []
    flags: list[str] = []
    depth, start = 0, 0
    for mark in _MARK.finditer(text):
        if not mark[1]:
            if depth == 0:
                kept.append(text[start : mark.start()])
            depth += 1
            continue
        if depth == 0:
            kept.clear()
            flags.append("reasoning_unopened")
        else:
            flags.append("reasoning")
        depth = max(0, depth - 1)
        if depth == 0:
            start = mark.end()
    if depth:
        flags.append("reasoning_unclosed")
    else:
        kept.append(text[start:])
    return " ".join(kept).strip(), tuple(dict.fromkeys(flags))


def extract_text(reply: str | None, finish_reason: str | None = None) -> Extraction:
    """The whole reply but its reasoning blocks, for tasks that ask for no answer tags.

    A reply that hit its token limit is "truncated" and scored on what is there; one with nothing left is "empty".
    """
    answer, flags = strip_reasoning(reply or "")
    if finish_reason == "length":
        return Extraction(answer, "truncated", flags)
    return Extraction(answer, "ok" if answer else "empty", flags)
