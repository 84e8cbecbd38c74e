"""What a run asks, before it is run: its conversations in order, and each request with its key and highest price."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cdct.core import BENCHMARKS, Arm, Benchmark, Item, Messages, digest, to_json
from cdct.models import Model, pick_models
from cdct.store import DEFAULT, Store

if TYPE_CHECKING:
    import pandas as pd

KEY_VERSION = 1
"""Part of every reply's key: a change of what a request means starts a new record instead of misreading the old one."""
MOST_TURNS = 50
PLAN_COLUMNS = ["model", "arm", "calls", "recorded", "new", "prompt_tokens", "completion_tokens_most", "cost_most"]
Models = str | Model | Sequence[str | Model]


@dataclass(frozen=True)
class Unit:
    """One conversation to have: an item, in an arm, with a model, for the n-th time."""

    order: int
    item: Item
    arm_name: str
    arm: Arm
    sampling: Mapping[str, Any]
    sample: int


def request_of(model: Model, messages: Messages, sampling: Mapping[str, Any]) -> dict[str, Any]:
    """The request that a model is first sent: what it is known to refuse is left out, `max_tokens` renamed."""
    request: dict[str, Any] = {"model": model.model, "messages": messages}
    for name, value in sampling.items():
        if name == "max_tokens" and name in model.refuses:
            name = "max_completion_tokens"
        if value is not None and name not in model.refuses:
            request[name] = value
    sent = {**request, **model.body}
    return {name: value if name == "messages" else _one_number(value) for name, value in sent.items()}


def _one_number(value: Any) -> Any:
    """0 and 0.0 are one number to a model, so they must be one to the key, however deep they stand."""
    if isinstance(value, Mapping):
        return {name: _one_number(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_one_number(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def key_of(model: Model, request: Mapping[str, Any], sample: int) -> str:
    """SHA-256 of the canonical request: a parameter that is absent, zero or different gives another key.

    Of a model with several addresses the first one names the record: with another first one all is asked again. Neither
    the arm nor the turn is in the key. Arms that ask the same share one reply, and so would two turns of one arm with
    exactly the same messages: an arm that wants another answer has to show the earlier ones, or to ask in other words.
    """
    return digest({"version": KEY_VERSION, "endpoint": model.endpoint, "request": request, "sample": sample})


def units_of(items: Sequence[Item], arms: Sequence[str], samples: int, sampling: Mapping[str, Any]) -> Iterator[Unit]:
    """The conversations in the order of arms, items and samples; `sampling` goes over the arm's and benchmark's."""
    order = 0
    for name in arms:
        arms_of: dict[str, tuple[Arm, dict[str, Any]]] = {}  # one object for all units: a run can have many thousands
        for item in items:
            if item.benchmark not in arms_of:
                benchmark: Benchmark = BENCHMARKS[item.benchmark]
                arm = benchmark.arm(name)
                arms_of[item.benchmark] = arm, _sensible({**benchmark.sampling, **arm.sampling, **sampling})
            for sample in range(samples):
                yield Unit(order, item, name, *arms_of[item.benchmark], sample)
                order += 1


def _sensible(sampling: dict[str, Any]) -> dict[str, Any]:
    """The request parameters as they are; ValueError for a value that no model can make sense of."""
    rules: dict[str, tuple[type | tuple[type, ...], Callable[[Any], bool], str]] = {
        "temperature": ((int, float), lambda value: 0 <= value < math.inf, "a number of at least 0"),
        "top_p": ((int, float), lambda value: 0 <= value <= 1, "a number in 0-1"),
        "max_tokens": (int, lambda value: value >= 1, "a whole number of at least 1"),
        "max_completion_tokens": (int, lambda value: value >= 1, "a whole number of at least 1"),
    }
    for name, (kind, holds, wanted) in rules.items():
        value = sampling.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, kind) or not holds(value)):
            raise ValueError(f"{name} must be {wanted}, or None to leave it out, got {value!r}")
    return sampling


def next_messages(unit: Unit, previous: Sequence[str]) -> Messages | None:
    """The messages of a conversation's next turn, or None at its end. ValueError where an arm finds no end."""
    messages = unit.arm.messages(unit.item, previous)
    if messages is not None and len(previous) >= MOST_TURNS:
        raise ValueError(
            f"{unit.item.benchmark}: arm {unit.arm_name!r} has not ended after {MOST_TURNS} turns with item "
            f"{unit.item.id!r}; its `messages` must give None after the last turn"
        )
    return messages


def checked(items: Sequence[Item], models: Models, arms: Sequence[str], samples: int) -> tuple[list[Item], list[Model]]:
    """The items and the models of a run, or ValueError where its parts make no sense together.

    There may be no items (nothing is left to be judged, say), but not items and nobody to be asked, or in no way.
    """
    items = list(items)
    chosen = pick_models(list(models) if not isinstance(models, str | Model) else models)
    if isinstance(arms, str):
        raise ValueError(f"arms must be a list of names, got {arms!r}; write [{arms!r}]")
    for what, names in (("models", chosen), ("arms", arms)):
        if items and not names:
            raise ValueError(f"{what} is empty, so that nothing would be asked; name one or more")
    if samples < 1:
        raise ValueError(f"samples must be at least 1, got {samples}")
    for what, names in (("item", [i.id for i in items]), ("model", [m.name for m in chosen]), ("arm", list(arms))):
        name, times = Counter(names).most_common(1)[0] if names else ("", 0)
        if times > 1:
            raise ValueError(f"{what} {name!r} is given {times} times; each may stand once")
    for name in arms:
        for benchmark in {item.benchmark for item in items}:
            BENCHMARKS[benchmark].arm(name)
    return items, chosen


def token_limit(request: Mapping[str, Any]) -> int | None:
    """The most tokens that the request lets an answer have, None where it sets no limit."""
    return request.get("max_completion_tokens") or request.get("max_tokens")


def highest_price(model: Model, request: Mapping[str, Any], unseen: int = 0) -> tuple[float | None, int | None]:
    """The highest price and token count that a call can have, None where there is no bound.

    A token is at least one byte, so bytes bound the prompt; `unseen` tokens of it do not stand in the request yet.
    """
    limit = token_limit(request)
    if limit is None:
        return (0.0 if model.price_of(10**6, 10**6) == 0 else None), None
    prompt = unseen + len(to_json(request["messages"]).encode("utf-8", "replace")) + 16 * len(request["messages"])
    return model.price_of(prompt, limit), prompt + limit


@contextlib.contextmanager
def opened(store: str | Store) -> Iterator[Store]:
    """The store itself where it is open already, else the one in that file, closed afterwards."""
    if isinstance(store, Store):
        yield store
    else:
        with Store(store) as own:
            yield own


def plan(
    items: Sequence[Item],
    models: Models,
    arms: Sequence[str] = ("baseline",),
    samples: int = 1,
    store: str | Store = DEFAULT,
    sampling: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """What a run would ask, before it is run: one row per model and arm.

    Columns: model, arm, calls (all turns), recorded (answered before: free), new, prompt_tokens (estimated, of the new
    calls, without the answers that later turns repeat), completion_tokens_most (their token limits) and cost_most, the
    highest price in US dollars, by which a budget goes too: well above what a run will cost, since each byte of a
    prompt counts as a token and each answer as long as it may be. Both are NaN where a request has no token limit, the
    cost also where no price is known. Later turns of an arm depend on the answers to the earlier ones: they are
    counted, and taken as new. A model whose GGUF file is absent has no new calls, and a UserWarning says why.
    """
    import pandas as pd

    from cdct.client import estimate_tokens

    items, chosen = checked(items, models, arms, samples)
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    with opened(store) as recorded:
        for model in chosen:
            absent = model.absent()
            if absent:
                warnings.warn(f"{model.name}: can't be asked: {absent}", stacklevel=2)
            for unit in units_of(items, arms, samples, sampling or {}):
                empty = dict.fromkeys(PLAN_COLUMNS, 0) | {"model": model.name, "arm": unit.arm_name, "cost_most": 0.0}
                row = rows.setdefault((model.name, unit.arm_name), empty)
                previous: list[str] = []
                known, unseen = True, 0
                while (messages := next_messages(unit, previous)) is not None:
                    row["calls"] += 1
                    if absent:
                        previous.append("")
                        continue
                    request = request_of(model, messages, unit.sampling)
                    reply = recorded.get(key_of(model, request, unit.sample)) if known else None
                    if reply is not None:
                        row["recorded"] += 1
                        if reply["status"] == "filtered":
                            break
                        previous.append(reply["text"] or "")
                        continue
                    known = False
                    most = token_limit(request)
                    cost, _ = highest_price(model, request, unseen)
                    unseen += most or 0
                    row["new"] += 1
                    row["prompt_tokens"] += estimate_tokens(messages)
                    row["completion_tokens_most"] += float("nan") if most is None else most
                    row["cost_most"] += float("nan") if cost is None else cost
                    previous.append("")
    return pd.DataFrame(rows.values(), columns=PLAN_COLUMNS)
