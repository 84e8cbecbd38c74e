"""What a model is told in each arm of CDCT. An arm is one entry of `ARMS`."""

from __future__ import annotations

from collections.abc import Sequence

from cdct.core import Arm, Item, Messages
from cdct.text import WORD_RULE

BASELINE = "fixed"
SAMPLING = {"temperature": 0, "max_tokens": 300}
"""Request defaults. 300 tokens are some 200 words, where a limit of 35 gives no compliance from 70 on: a cut of visible
text changes no score. A limit above 150 words or a model that thinks before it answers needs more tokens."""

HELPFUL = "You are a helpful assistant. Your explanations are comprehensive and detailed."
"""The baseline's system prompt: the paper's baseline has such wording, and its ablation takes it out (section 4.6)."""


def limit_sentence(item: Item) -> str:
    """The task with its limit, as it stands outside the compressed text."""
    limit, mode = item.params["limit"], item.params["mode"]
    return f"Explain {item.meta['name']} in {mode} {limit} words. {WORD_RULE} Reply with the explanation alone."


def _fixed(item: Item, previous: Sequence[str]) -> Messages | None:
    if previous:
        return None
    text = f"Background:\n{item.meta['context']}\n\n{limit_sentence(item)}"
    return [{"role": "system", "content": HELPFUL}, {"role": "user", "content": text}]


ARMS = {
    arm.name: arm
    for arm in (Arm("fixed", "the limit stands outside the compressed text, in the same words at every level", _fixed),)
}


def messages(item: Item, arm: str = "baseline", previous: Sequence[str] = ()) -> Messages | None:
    """The next chat messages for an item in an arm, or None when the arm has no further turn."""
    from cdct.core import BENCHMARKS

    return BENCHMARKS["cdct"].arm(arm).messages(item, previous)
