"""Reading a reply takes time in proportion to it, and how long it takes for real ones. Times are process times."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import cdct
from cdct.extract import extract_answer
from cdct.text import Text

SHARED = Path(cdct.__file__).resolve().parents[2] / "shared"
REPLIES = Path(os.environ.get("CDCT_REPLIES") or SHARED / "data" / "real_replies.jsonl")
UNITS = [
    "words",
    "bare",
    "forms",
    "decoded_forms",
    "word_spans",
    "sentences",
    "sentence_words",
    "sentence_forms",
    "paragraphs",
    "lines",
    "bullets",
    "tables",
    "fences",
    "json_objects",
    "integers",
    "equations",
    "numbered",
]
MEGABYTE = 2**20
HOSTILE = {
    "prose": "Light drives the reactions that split water. ",
    "brackets": "(",
    "marks": "a.",
    "pipes": "|",
    "braces": "{",
    "fences": "```\n",
    "commas": "1,",
    "digits": "1",
    "chain": "1+",
    "equals": "1=",
    "quotes": '"',
    "stars": "*_a ",
    "pairs of stars": "**a** ",
    "ticks": "`a``b",
    "combining": "e\u0301\u0327",
    "initials": "A. ",
    "dots": ". ",
    "closers": '."',
    "keys": '{"a":',
    "objects": '{"a":1} ',
    "empty objects": "{}",
    "bullets": "- a\n",
    "numbers": "1. a\n",
    "inline": "(1) a (2) b ",
    "words": "first second ",
    "rows": "|a|b|\n",
    "tables": "|a|b|\n|-|-|\n",
    "ends": "a\r\n",
    "bold lines": "**a**\n",
    "quoted": "> ",
    "hashes": "# a #",
    "escapes": "\\u0061&#1;",
    "blanks": " \n",
    "titles": "a\n---\n",
    "tags": "<answer>",
    "pairs": "<answer>a</answer>",
    "quoted tags": "in <answer> tags ",
    "wide": "あ。",
    "notes": ".[1]",
}


def read(text: str, splitter: str = "rules") -> None:
    """Reads every unit, and the answer."""
    parsed = Text(text, splitter)
    for name in UNITS:
        getattr(parsed, name)
    extract_answer(text)


def seconds(work: Callable[[], object], rounds: int) -> float:
    found = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


@pytest.mark.parametrize("kind", HOSTILE)
def test_time_is_linear(benchmark: Callable[..., object], kind: str) -> None:
    """The ratio of the time for 1 MB to the time for 1/4 MB is about 4."""
    row = HOSTILE[kind]
    small, large = row * (MEGABYTE // 4 // len(row)), row * (MEGABYTE // len(row))
    benchmark.pedantic(read, (large,), rounds=1)
    ratio = seconds(lambda: read(large), 2) / seconds(lambda: read(small), 3)
    benchmark.extra_info["ratio_of_times_for_4_times_the_text"] = round(ratio, 1)
    assert ratio < 4 * 2.5


@pytest.mark.skipif(not REPLIES.exists(), reason="the real replies are not here")
@pytest.mark.parametrize("what", ["words and sentences", "all"])
def test_time_for_real_replies(benchmark: Callable[..., object], what: str) -> None:
    """`extra_info` has microseconds for a reply, also as a multiple of splitting it into words and sentences once."""
    replies = [json.loads(line)["text"] or "" for line in REPLIES.read_text(encoding="utf-8").splitlines()]
    plain = re.compile(r"(?<=[.!?])\s+")
    names = (
        ("words", "sentences") if what == "words and sentences" else [name for name in UNITS if name != "word_spans"]
    )

    def all_of_them() -> None:
        for reply in replies:
            parsed = Text(reply)
            for name in names:
                getattr(parsed, name)

    benchmark.pedantic(all_of_them, rounds=1)
    once = seconds(lambda: [(reply.split(), plain.split(reply)) for reply in replies], 5)
    took = seconds(all_of_them, 3)
    benchmark.extra_info["microseconds_per_reply"] = round(took / len(replies) * 1e6, 1)
    benchmark.extra_info["times_a_plain_split"] = round(took / once, 1)
    assert took < 30 * once
