"""Counting words and removing reasoning take time in proportion to the reply, hostile or not: compare the pairs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cdct.compression import coverage
from cdct.extract import strip_reasoning
from cdct.text import word_forms, words

MEGABYTE = 2**20
HOSTILE = {
    "prose": lambda n: "Light drives the reactions that split water. " * (n // 45),
    "dashes in one word": lambda n: "a" + "-" * n + "a",
    "marks in one word": lambda n: "*_" * (n // 2) + "a" + "_*" * (n // 2) + "a",
    "blanks": lambda n: " \n" * (n // 2),
    "one letter words": lambda n: "a " * (n // 2),
    "combining marks": lambda n: "e" + "\u0301\u0327" * (n // 2),
    "opening marks": lambda n: "<think>" * (n // 7),
    "closing marks": lambda n: "</think>" * (n // 8),
    "broken marks": lambda n: "<think" * (n // 6),
}
POINTS = [{"any": [[f"term{number}*", "water"], ["light"]]} for number in range(20)]
WORK: dict[str, Callable[[str], object]] = {
    "words": words,
    "word_forms": word_forms,
    "strip_reasoning": strip_reasoning,
    "coverage": lambda text: coverage(text, POINTS),
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("work", WORK)
def test_time_is_linear(benchmark: Callable[..., object], work: str, kind: str) -> None:
    """The ratio of the time for 1 MB to the time for 1/8 MB is about 8; the benchmark's extra_info holds it."""
    import timeit

    small, large = HOSTILE[kind](MEGABYTE // 8), HOSTILE[kind](MEGABYTE)
    once = min(timeit.repeat(lambda: WORK[work](small), number=1, repeat=5))
    benchmark.pedantic(WORK[work], (large,), rounds=3)
    ratio = benchmark.stats.stats.min / once
    benchmark.extra_info["ratio_of_times_for_8_times_the_text"] = round(ratio, 1)
    assert ratio < 8 * 4
