"""The word lists from which constraints draw, read from a table that people can edit."""

from __future__ import annotations

import tomllib
from functools import lru_cache

from cdct.core import resolve

WORDS = "data/constraint_words.toml"


@lru_cache
def vocabulary(name: str) -> tuple[str, ...]:
    """The list of that name, in its order."""
    return tuple(_lists()[name])


@lru_cache
def topics() -> dict[str, tuple[str, ...]]:
    """The topics, each with the words that a text on it uses easily."""
    return {topic: tuple(words) for topic, words in _lists()["topics"].items()}


@lru_cache
def _lists() -> dict:
    with open(resolve(WORDS), "rb") as file:
        return tomllib.load(file)
