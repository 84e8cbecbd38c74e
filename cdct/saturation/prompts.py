"""What a model is told in each arm of the saturation benchmark. An arm is one entry of `ARMS`.

The prompt names a topic and lists the item's instructions in the item's order; a numbered list lets a plan refer to
them. Interventions are those of the CSE paper (section 5), in words of our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cdct.core import Arm, Item, Messages
from cdct.saturation.constraints import CONSTRAINTS

BASELINE = "direct"
SAMPLING = {"temperature": 0, "max_tokens": 4_096}
"""Request defaults: greedy, with the paper's output budget (appendix J)."""
LARGE_BUDGET = {"max_tokens": 8_192}
"""What `plan` and its control may both write: a plan takes tokens of its own, and the paper found that the budget alone
moves the threshold (section 5)."""
RETRIES = {"temperature": 0.7}

_TAGS = (
    "Put the text between <answer> and </answer>. What the instructions say of your reply holds for what stands "
    "between these two marks; nothing else counts."
)
_PLAN = (
    "Before you write, plan. For each instruction, in the order of the list, note in one line what it asks of the text "
    "and how you will keep it; say which instructions bear on each other. Then write the text, go through the list "
    "once more, and mend what is not kept."
)
_CONTROL = (
    "Some remarks on this task. It is one of many that are given in the same form, and the list of instructions "
    "differs from one to the next. The text is read once and is not published anywhere. It need not be long, it need "
    "not be elegant, and the facts in it will not be looked up."
)
"""As long as the plan's words, and silent on how to go about the task."""
_AGAIN = (
    "Check this text against each instruction of the list, one by one. Then give the whole text again, with everything "
    "mended that is not kept; if all is kept, give it unchanged."
)


def instructions(item: Item) -> list[str]:
    """The instruction of each of an item's constraints, in the item's order."""
    return [CONSTRAINTS[one["id"]].instruction(**one["params"]) for one in item.params["constraints"]]


def _prompt(item: Item, *more: str, ordered: bool = False) -> str:
    told = instructions(item)
    if ordered:
        table = list(CONSTRAINTS)
        places = [table.index(one["id"]) for one in item.params["constraints"]]
        told = [told[i] for i in sorted(range(len(told)), key=lambda i: (places[i], i))]
    listed = "\n".join(f"{number}. {text}" for number, text in enumerate(told, start=1))
    head = f"Write a short text about {item.params['topic']}. Keep to each of these instructions:"
    return "\n\n".join([head, listed, *more])


def _arm(name: str, summary: str, *more: str, ordered: bool = False, sampling: dict[str, Any] | None = None) -> Arm:
    def messages(item: Item, previous: Sequence[str]) -> Messages | None:
        return None if previous else [{"role": "user", "content": _prompt(item, *more, ordered=ordered)}]

    return Arm(name, summary, messages, sampling or {})


def _self_correct(item: Item, previous: Sequence[str]) -> Messages | None:
    first: Messages = [{"role": "user", "content": _prompt(item, _TAGS)}]
    if not previous:
        return first
    if len(previous) > 1:
        return None
    asked = {"role": "user", "content": f"{_AGAIN} {_TAGS}"}
    return [*first, {"role": "assistant", "content": previous[0]}, asked]


ARMS = {
    arm.name: arm
    for arm in (
        _arm(BASELINE, "topic and instructions, the text between answer tags", _TAGS),
        _arm("no-tags", "as `direct`, without a word on answer tags: the whole reply counts"),
        _arm(
            "table-order",
            "as `direct`, the instructions always in the order of the table of types",
            _TAGS,
            ordered=True,
        ),
        _arm("plan", "a plan for each instruction before the text", _PLAN, _TAGS, sampling=LARGE_BUDGET),
        _arm("plan-control", "the budget and length of `plan`, no plan", _CONTROL, _TAGS, sampling=LARGE_BUDGET),
        Arm("self-correct", "a second turn on the model's own text; the second text counts", _self_correct),
        _arm("best-of-5", "as `direct` at temperature 0.7, to be asked five times", _TAGS, sampling=RETRIES),
    )
}


def messages(item: Item, arm: str = "baseline", previous: Sequence[str] = ()) -> Messages | None:
    """The next chat messages for an item in an arm, or None when the arm has no further turn."""
    from cdct.core import BENCHMARKS

    return BENCHMARKS["cse"].arm(arm).messages(item, previous)
