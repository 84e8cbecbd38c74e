"""What a model is told in each arm of CDCT, and by which limit it is judged. An arm is one entry of `ARMS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cdct.compression.items import limit_words
from cdct.core import Arm, Item, Messages
from cdct.text import WORD_RULE

BASELINE = "fixed"
SAMPLING = {"temperature": 0, "max_tokens": 300}
"""Request defaults. 300 tokens are some 200 words, where a limit of 35 gives no compliance from 70 on: a cut of visible
text changes no score. A limit above 150 words or a model that thinks before it answers needs more tokens."""

HELPFUL = "You are a helpful assistant. Your explanations are comprehensive and detailed."
"""The baseline's system prompt: the paper's baseline has such wording, and its ablation takes it out (section 4.6)."""
PLAIN = "You explain concepts."
"""The system prompt without helpfulness wording. There has to be one: where a conversation has none, some chat
templates put in their own, which says "helpful"."""
EMPHASIS = ("capitals", "bold", "repeated", "first", "last")
"""The arms that make the limit more visible without changing it (the paper's prediction 2)."""


@dataclass(frozen=True)
class Limit:
    """How many words are allowed. `words` None: as many as one likes, so that nothing can break it."""

    words: int | None
    mode: str = "at most"
    wording: str = ""

    def __str__(self) -> str:
        return self.wording or ("none" if self.words is None else limit_words(self.words, self.mode))


def limit_of(item: Item) -> str:
    """The item's limit in words: "exactly 35 words"."""
    return limit_words(item.params["limit"], item.params["mode"])


_ALONE = f"{WORD_RULE} Reply with the explanation alone."


def limit_sentence(item: Item, limit: str | None = None) -> str:
    """The task with its limit, as it stands outside the compressed text."""
    return f"Explain {item.meta['name']} in {limit or limit_of(item)}. {_ALONE}"


def _background(item: Item, *after: str) -> str:
    return f"Background:\n{item.meta['context']}\n\n{' '.join(after)}"


def _arm(name: str, summary: str, write: Callable[[Item], str], system: str = HELPFUL) -> Arm:
    def messages(item: Item, previous: Sequence[str]) -> Messages | None:
        if previous or item.meta["context"] is None:  # no text of this length was accepted: there is nothing to ask
            return None
        return [{"role": "system", "content": system}, {"role": "user", "content": write(item)}]

    return Arm(name, summary, messages)


def _inside(item: Item) -> str:
    if item.meta["inside"] is None:
        raise ValueError(
            f"{item.id}: arm `inside` needs a prompt of its own at each level: [[inside]] in "
            f"data/concepts/{item.params['concept']}.toml, and the compressor 'written'"
        )
    return item.meta["inside"]


def _released(item: Item) -> str:
    c, name = item.params["c"], item.meta["name"]
    if c < 0.2:
        task = f"With nothing but these words, say what {name} is, in fewer than 20 words."
    elif c < 0.5:
        task = f"From this information alone, explain {name} in 2 to 3 sentences."
    else:
        task = f"Explain {name}. You may elaborate."
    return _background(item, task)


def _told_as_released(item: Item) -> Limit | None:
    c = item.params["c"]
    return Limit(19, wording="under 20 words") if c < 0.2 else None if c < 0.5 else Limit(None)


def _judged_as_released(item: Item) -> Limit:
    c = item.params["c"]
    if c < 0.3:
        return Limit(19, wording="under 20 words")
    return Limit(49, wording="under 50 words") if c < 0.6 else Limit(None)


ARMS = {
    arm.name: arm
    for arm in (
        _arm(
            "fixed",
            "the limit stands outside the compressed text, in the same words at every level",
            lambda item: _background(item, limit_sentence(item)),
        ),
        _arm(
            "plain",
            "as `fixed`, with a system prompt that asks for no helpfulness",
            lambda item: _background(item, limit_sentence(item)),
            PLAIN,
        ),
        _arm(
            "capitals",
            "as `fixed`, the limit in capitals",
            lambda item: _background(item, limit_sentence(item, limit_of(item).upper())),
        ),
        _arm(
            "bold",
            "as `fixed`, the limit in bold",
            lambda item: _background(item, limit_sentence(item, f"**{limit_of(item)}**")),
        ),
        _arm(
            "repeated",
            "as `fixed`, the limit said three times",
            lambda item: _background(
                item, limit_sentence(item), f"The limit is {limit_of(item)}. Keep to it: {limit_of(item)}."
            ),
        ),
        _arm(
            "first",
            "as `fixed`, the task and its limit before the background",
            lambda item: f"{limit_sentence(item)}\n\n{_background(item).rstrip()}",
        ),
        _arm(
            "last",
            "as `fixed`, the limit as the very last words",
            lambda item: _background(item, f"Explain {item.meta['name']}. {_ALONE} Use {limit_of(item)}."),
        ),
        _arm("inside", "the limit stands only inside the compressed prompt, and at c = 0 nowhere", _inside),
        _arm(
            "as-released",
            "limits by level as in the paper's public code: the judge's is not always the one that the model was told",
            _released,
        ),
        _arm(
            "as-released-short",
            "as `as-released`, but told 2 to 3 sentences at every level: the public code's ablation",
            lambda item: _background(item, f"Explain {item.meta['name']} in 2 to 3 sentences."),
        ),
    )
}


def told_and_judged(arm: str, item: Item) -> tuple[Limit | None, Limit | None]:
    """The limit on words that the model is told in an arm, and the one that its reply is judged by.

    None where there is none to be counted: in `inside` where the prompt doesn't hold it, in `as-released` where
    sentences are limited and not words. The facts of `as-released`: told under 20 words at c = 0, 2 to 3 sentences at
    c = .25, free to elaborate from c = .5; judged by 20 words below c = .3, 50 below .6, none above. That code's
    questions ask for more detail at higher levels, too, which is not repeated here: the limits alone are to differ.
    """
    own = Limit(item.params["limit"], item.params["mode"])
    if arm == "inside" and not item.meta["limit_inside"]:
        return None, None
    if arm.startswith("as-released"):
        return _told_as_released(item) if arm == "as-released" else None, _judged_as_released(item)
    return own, own


def messages(item: Item, arm: str = "baseline", previous: Sequence[str] = ()) -> Messages | None:
    """The next chat messages for an item in an arm, or None when the arm has no further turn."""
    from cdct.core import BENCHMARKS

    return BENCHMARKS["cdct"].arm(arm).messages(item, previous)
