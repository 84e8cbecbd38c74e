"""Replies made to pass a constraint, and edits of them that must or must not break it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cdct.saturation.constraints import CONSTRAINTS

NOUNS = """
rain sea moon river stone light winter garden market island story dream forest copper silver morning evening paper
window garlic harbor lantern meadow needle orchard pepper rocket saddle timber velvet walnut yellow zebra basket
candle dragon engine falcon guitar hammer insect jacket kettle ladder magnet napkin oyster pillow rabbit salmon tunnel
urchin violin wagon apple beetle cactus daisy eagle fabric goblet hazel ivory jungle kernel lemon mitten nectar olive
pearl quartz radish sparrow tulip umbrella vapor willow
"""
WORDS = NOUNS.split()


class Edit(NamedTuple):
    """A reply and whether it keeps the constraint."""

    id: str
    params: dict[str, Any]
    text: str
    passes: bool


def judge(edit: Edit) -> None:
    """The verifier says what the edit was made for."""
    verdict = CONSTRAINTS[edit.id].check(edit.text, **edit.params)
    assert verdict.passed is edit.passes, f"{edit.id} {edit.params}: {verdict.detail}\n{edit.text}"


def some_words(rng: np.random.Generator, length: int) -> list[str]:
    """Words of lower-case letters, none of them twice."""
    return [WORDS[int(i)] for i in rng.permutation(len(WORDS))[:length]]


def sentence(rng: np.random.Generator, length: int) -> str:
    """A capital, that many words, a full stop."""
    return " ".join(some_words(rng, length)).capitalize() + "."


def prose(rng: np.random.Generator, sentences: int) -> str:
    """Sentences of 4 to 9 words in one paragraph."""
    return " ".join(sentence(rng, int(rng.integers(4, 10))) for _ in range(sentences))
