"""What a run would ask and cost, what is one request and what is another, and the budget that is never overspent."""

from __future__ import annotations

import asyncio
import hashlib
import math
import re

import pandas as pd
import pytest
from conftest import completion

from cdct.budget import Budget, Ledger
from cdct.core import Item, to_json
from cdct.models import Model
from cdct.plan import PLAN_COLUMNS, checked, highest_price, key_of, plan, request_of
from cdct.run import run

STUB = Model("stub", base_url="http://127.0.0.1:9/v1", model="stub")
MESSAGES = [{"role": "user", "content": "hello"}]
DOLLAR = {"input": 1_000_000, "output": 1_000_000}
"""A dollar a token: sums are easy to see."""


def key(model: Model = STUB, sample: int = 0, messages=MESSAGES, **sampling) -> str:
    return key_of(model, request_of(model, messages, sampling), sample)


# ----------------------------------------------------------------------------------------------------------------- keys

OTHERS = {
    "a parameter that is absent": lambda: key(),
    "another value": lambda: key(temperature=0.7),
    "one more parameter": lambda: key(temperature=0, max_tokens=16),
    "another token limit": lambda: key(temperature=0, max_tokens=4000),
    "another sample": lambda: key(temperature=0, sample=1),
    "another message": lambda: key(temperature=0, messages=[{"role": "user", "content": "hello "}]),
    "another role": lambda: key(temperature=0, messages=[{"role": "system", "content": "hello"}]),
    "another model id": lambda: key(Model("stub", base_url="http://127.0.0.1:9/v1", model="b"), temperature=0),
    "another path": lambda: key(Model("stub", base_url="http://127.0.0.1:9/V1", model="stub"), temperature=0),
    "another endpoint": lambda: key(Model("stub", base_url="http://127.0.0.1:8/v1", model="stub"), temperature=0),
    "extra body": lambda: key(
        Model("stub", base_url="http://127.0.0.1:9/v1", model="stub", body={"top_k": 1}), temperature=0
    ),
    "false": lambda: key(temperature=False),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS.keys())
def test_another_request_has_another_key(other):
    assert other() != key(temperature=0)


def test_all_of_these_are_different():
    assert len({other() for other in OTHERS.values()}) == len(OTHERS)


SAME = {
    "0.0": lambda: key(temperature=0.0),
    "the order of parameters": lambda: key_of(STUB, {"temperature": 0, "messages": MESSAGES, "model": "stub"}, 0),
    "another name for the same model": lambda: key(
        Model("other", base_url="http://127.0.0.1:9/v1/", model="stub"), temperature=0
    ),
    "a further copy": lambda: key(
        Model("stub", base_url=("http://127.0.0.1:9/v1", "http://127.0.0.1:8/v1"), model="stub"), temperature=0
    ),
    "capitals in the scheme": lambda: key(Model("stub", base_url="HTTP://127.0.0.1:9/v1", model="stub"), temperature=0),
    "how fast it is asked": lambda: key(
        Model("stub", base_url="http://127.0.0.1:9/v1", model="stub", concurrency=2, timeout_s=1), temperature=0
    ),
    "what it costs": lambda: key(
        Model("stub", base_url="http://127.0.0.1:9/v1", model="stub", price=DOLLAR), temperature=0
    ),
    "a key": lambda: key(Model("stub", base_url="http://127.0.0.1:9/v1", model="stub", key_env="K"), temperature=0),
}


@pytest.mark.parametrize("same", SAME.values(), ids=SAME.keys())
def test_the_same_request_has_the_same_key(same):
    assert same() == key(temperature=0)


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: {"b": x}, lambda x: [{"b": (x, 0.5)}]])
def test_whole_floats_in_the_body_are_whole_numbers(wrap):
    models = [Model("stub", base_url="http://x/v1", body={"a": wrap(value)}) for value in (5, 5.0, 6, True)]
    keys = [key(model) for model in models]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


def test_numbers_in_the_body_stay_what_they_are():
    model = Model("stub", base_url="http://x/v1", body={"a": {"b": [1.0, 0.5, True, "1.0", None]}})
    assert to_json(request_of(model, MESSAGES, {})["a"]) == '{"b":[1,0.5,true,"1.0",null]}'


def test_the_key_has_a_version(monkeypatch):
    before = key()
    monkeypatch.setattr("cdct.plan.KEY_VERSION", 2)
    assert key() != before


def test_the_key_is_stable():
    """Written down once: if this changes, everything that was ever recorded is asked again. Raise KEY_VERSION then."""
    canonical = (
        '{"endpoint":"http://127.0.0.1:9/v1","request":{"max_tokens":300,"messages":[{"content":"hello","role":"user"}],'
        '"model":"stub","temperature":0},"sample":0,"version":1}'
    )
    assert key(temperature=0, max_tokens=300) == hashlib.sha256(canonical.encode()).hexdigest()


def test_a_local_model_is_known_by_its_file_and_not_by_its_port():
    digest = "b" * 64
    assert Model("a", gguf="x.gguf", sha256=digest).endpoint == f"gguf:{digest}"
    assert key(Model("a", gguf="x.gguf", sha256=digest)) != key(Model("a", gguf="x.gguf", sha256="c" * 64))


def test_an_odd_message_has_a_key_too():
    assert key(messages=[{"role": "user", "content": "\ud800"}]) != key(messages=[{"role": "user", "content": "?"}])


# ------------------------------------------------------------------------------------------------------------- requests


def test_none_leaves_a_parameter_out_and_known_refusals_are_heeded():
    model = Model("stub", base_url="http://x/v1", refuses=("temperature", "max_tokens"))
    request = request_of(model, MESSAGES, {"temperature": 0, "max_tokens": 50, "seed": None, "top_p": 1.0})
    assert request == {"model": "stub", "messages": MESSAGES, "max_completion_tokens": 50, "top_p": 1}


def test_the_body_goes_last():
    model = Model("stub", base_url="http://x/v1", body={"temperature": 1, "reasoning_effort": "low"})
    request = request_of(model, MESSAGES, {"temperature": 0})
    assert (request["temperature"], request["reasoning_effort"]) == (1, "low")


BAD_RUNS = {
    "an item twice": ({"items": 2 * [Item("toy", "toy-v1/1")]}, ValueError, "item 'toy-v1/1' is given 2 times; each"),
    "a model twice": ({"models": [STUB, STUB]}, ValueError, "model 'stub' is given 2 times"),
    "an arm twice": ({"arms": ["plain", "plain"]}, ValueError, "arm 'plain' is given 2 times"),
    "arms as one text": (
        {"arms": "plain"},
        ValueError,
        r"arms must be a list of names, got 'plain'; write \['plain'\]",
    ),
    "an unknown arm": ({"arms": ["pain"]}, ValueError, "toy: arm 'pain' is not known; did you mean 'plain'"),
    "no model": ({"models": []}, ValueError, "models is empty, so that nothing would be asked; name one or more"),
    "no arm": ({"arms": []}, ValueError, "arms is empty, so that nothing would be asked"),
    "no sample": ({"samples": 0}, ValueError, "samples must be at least 1, got 0"),
    "an unknown benchmark": (
        {"items": [Item("toi", "1")]},
        KeyError,
        "benchmark 'toi' is not known; did you mean 'toy'",
    ),
}


@pytest.mark.parametrize(("change", "kind", "message"), BAD_RUNS.values(), ids=BAD_RUNS.keys())
def test_a_run_that_makes_no_sense_is_refused(toy, change, kind, message):
    whole = {"items": toy.items(2), "models": [STUB], "arms": ["baseline"], "samples": 1} | change
    with pytest.raises(kind, match=message):
        checked(**whole)


@pytest.mark.parametrize(
    ("sampling", "message"),
    [
        ({"max_tokens": -1}, "max_tokens must be a whole number of at least 1, or None to leave it out, got -1"),
        ({"max_tokens": 0}, "max_tokens must be"),
        ({"max_tokens": 2.5}, "max_tokens must be"),
        ({"max_tokens": True}, "max_tokens must be"),
        ({"max_tokens": "300"}, "max_tokens must be"),
        ({"max_completion_tokens": 0}, "max_completion_tokens must be"),
        ({"temperature": -0.1}, "temperature must be a number of at least 0, or None to leave it out, got -0.1"),
        ({"temperature": math.nan}, "temperature must be"),
        ({"temperature": math.inf}, "temperature must be"),
        ({"temperature": "hot"}, "temperature must be"),
        ({"top_p": 1.5}, "top_p must be a number in 0-1"),
    ],
)
@pytest.mark.parametrize("call", [plan, run])
def test_sampling_that_makes_no_sense_is_refused_before_anything_is_asked(
    call, toy, endpoint, store_path, sampling, message
):
    with pytest.raises(ValueError, match=re.escape(message)):
        call(toy.items(1), [endpoint.model()], store=store_path, sampling=sampling)
    assert endpoint.requests == []


def test_sampling_that_makes_sense_stays_as_it_is(toy, store_path):
    for sampling in ({"max_tokens": None, "temperature": None}, {"max_tokens": 1, "temperature": 2, "top_p": 0.5}):
        assert len(plan(toy.items(1), [STUB], store=store_path, sampling=sampling)) == 1


# ----------------------------------------------------------------------------------------------------------------- plan


def test_a_plan_counts_calls_tokens_and_money(toy, store_path):
    model = Model("stub", base_url="http://127.0.0.1:9/v1", price=DOLLAR)
    table = plan(toy.items(3), [model], arms=("baseline", "talk"), samples=2, store=store_path).set_index("arm")
    # "question toy-v1/00000" has 21 letters: 5 tokens, and 4 for the message. At most, each of its bytes is a token, in
    # JSON [{"content":"...","role":"user"}] 51, and 16 for the message, and the answer has its 50
    assert table.loc["baseline"].to_dict() == {
        "model": "stub",
        "calls": 6,
        "recorded": 0,
        "new": 6,
        "prompt_tokens": 6 * 9,
        "completion_tokens_most": 6 * 50,
        "cost_most": 6.0 * (51 + 16 + 50),
    }
    assert table.loc["talk", "calls"] == 18
    # the second and third turn have 136 and 221 bytes with empty answers, which may have 50 tokens each
    assert table.loc["talk", "cost_most"] == 6.0 * (117 + (136 + 3 * 16 + 50 + 50) + (221 + 5 * 16 + 2 * 50 + 50))


def test_a_plan_asks_nothing(toy, store_path, endpoint):
    plan(toy.items(3), [endpoint.model()], store=store_path)
    assert endpoint.requests == []


def test_what_is_recorded_is_free(toy, store_path, endpoint):
    model = endpoint.model(price=DOLLAR)
    run(toy.items(2), [model], arms=["talk"], store=store_path, progress=False)
    row = plan(toy.items(3), [model], arms=["talk"], store=store_path).iloc[0]
    assert (row["calls"], row["recorded"], row["new"]) == (9, 6, 3)
    assert plan(toy.items(2), [model], arms=["talk"], store=store_path)["cost_most"].item() == 0


def test_a_conversation_that_was_filtered_has_no_further_calls(toy, store_path, endpoint):
    endpoint.answer = lambda request: completion(None, finish="content_filter")
    run(toy.items(1), [endpoint.model()], arms=["talk"], store=store_path, progress=False)
    row = plan(toy.items(1), [endpoint.model()], arms=["talk"], store=store_path).iloc[0]
    assert (row["calls"], row["recorded"], row["new"]) == (1, 1, 0)


def test_an_unknown_price_is_nan_and_not_0(toy, store_path):
    model = Model("far", base_url="https://far.invalid/v1", model="no-such-model")
    assert math.isnan(plan(toy.items(1), [model], store=store_path)["cost_most"].item())


def test_without_a_token_limit_a_plan_names_no_number_that_could_be_passed(toy, store_path):
    for price, cost in ((DOLLAR, float("nan")), (None, 0.0)):
        model = Model("stub", base_url="http://127.0.0.1:9/v1", price=price)
        row = plan(toy.items(2), [model], store=store_path, sampling={"max_tokens": None}).iloc[0]
        assert (row["calls"], row["new"], row["prompt_tokens"]) == (2, 2, 18)
        assert math.isnan(row["completion_tokens_most"])
        assert row["cost_most"] == pytest.approx(cost, nan_ok=True)


def test_no_run_costs_more_than_its_plan_said(toy, store_path, endpoint):
    """A model that counts a token for every byte, and answers with as many as it may; later turns repeat them."""

    def answer(request):
        prompt = sum(len(message["content"].encode()) for message in request.body["messages"])
        return completion("x" * 50, usage={"prompt_tokens": prompt, "completion_tokens": 50})

    endpoint.answer = answer
    model = endpoint.model(price=DOLLAR)
    most = plan(toy.items(3), [model], arms=["plain", "talk"], store=store_path).set_index("arm")["cost_most"]
    frame = run(toy.items(3), [model], arms=["plain", "talk"], store=store_path, progress=False)
    cost = frame.groupby("arm")["cost"].sum()
    assert (cost <= most[cost.index]).all()
    assert (most <= 2 * cost[most.index]).all()


@pytest.mark.parametrize("arm", ["plain", "talk"])
def test_a_plan_says_which_model_is_absent_and_counts_the_others(toy, store_path, arm):
    told = r"^lost: can't be asked: gguf: no file '/no/such\.gguf'; give a path"
    with pytest.warns(UserWarning, match=told):
        table = plan(toy.items(2), [Model("lost", gguf="/no/such.gguf"), STUB], [arm], store=store_path)
    turns = {"plain": 1, "talk": 3}[arm]
    assert table[["model", "calls", "new"]].to_numpy().tolist() == [
        ["lost", 2 * turns, 0],
        ["stub", 2 * turns, 2 * turns],
    ]


def test_a_plan_of_nothing_has_its_columns(store_path):
    table = plan([], [STUB], store=store_path)
    pd.testing.assert_frame_equal(table, pd.DataFrame(columns=PLAN_COLUMNS))


# --------------------------------------------------------------------------------------------------------------- budget


def test_the_highest_price_bounds_every_price():
    request = request_of(STUB, [{"role": "user", "content": "’’"}], {"max_tokens": 50})
    usd, tokens = highest_price(Model("stub", base_url="http://x/v1", price=DOLLAR), request)
    # at least a token for each of the 6 bytes that the two quotation marks have
    assert tokens >= 6 + 50
    assert usd == tokens


def test_without_a_token_limit_there_is_no_bound_but_what_is_free_stays_free():
    request = request_of(STUB, MESSAGES, {})
    assert highest_price(Model("stub", base_url="http://x/v1", price=DOLLAR), request) == (None, None)
    assert highest_price(STUB, request) == (0.0, None)


BUDGETS = {
    "nothing": (None, Budget()),
    "dollars": (2.5, Budget(usd=2.5)),
    "a mapping": ({"usd": 1, "tokens": 100}, Budget(1, 100)),
    "a budget": (Budget(tokens=5), Budget(tokens=5)),
    "zero": (0, Budget(usd=0)),
}


@pytest.mark.parametrize(("value", "budget"), BUDGETS.values(), ids=BUDGETS.keys())
def test_how_a_budget_can_be_given(value, budget):
    assert Budget.of(value) == budget


@pytest.mark.parametrize("value", [-1, float("nan"), {"tokens": -5}])
def test_a_budget_below_0_is_refused(value):
    with pytest.raises(ValueError, match=r"^budget: (usd|tokens) must be a number from 0, or None for no limit, got "):
        Budget.of(value)


REFUSALS = {
    "no price": (Budget(usd=1), None, 10, "no price is known, so that a budget in dollars can't be kept; set price in"),
    "no bound": (Budget(tokens=1), 0.0, None, "the request sets no max_tokens, so that its price has no upper bound"),
    "too dear": (Budget(usd=1), 2.0, 10, r"\$0.0000 of \$1.0000 spent, the call could cost \$2.0000"),
    "too long": (Budget(tokens=5), 0.0, 10, "0 of 5 tokens spent, the call could take 10"),
}


@pytest.mark.parametrize(("budget", "usd", "tokens", "message"), REFUSALS.values(), ids=REFUSALS.keys())
def test_why_a_call_is_not_made(budget, usd, tokens, message):
    async def main() -> str | None:
        return await Ledger(budget).reserve(usd, tokens)

    assert re.match(f"budget: {message}", asyncio.run(main()))


def test_a_call_waits_for_what_open_calls_may_free():
    """Of $10, $6 are set aside; a call for $6 waits, and goes when the first has cost only $4. A third does not fit."""

    async def main() -> None:
        ledger = Ledger(Budget(usd=10))
        assert await ledger.reserve(6, 0) is None
        waiting = asyncio.create_task(ledger.reserve(6, 0))
        await asyncio.sleep(0)
        assert not waiting.done()
        await ledger.settle(6, 0, 4, 0)
        assert await waiting is None
        await ledger.settle(6, 0, 6, 0)
        assert (await ledger.reserve(0.01, 0)).startswith("budget: $10.0000 of $10.0000 spent")

    asyncio.run(asyncio.wait_for(main(), 10))


@pytest.mark.parametrize(("price", "budget"), [(DOLLAR, {"usd": 500}), (None, {"tokens": 500})])
def test_a_budget_is_kept_by_many_at_once(toy, store_path, endpoint, price, budget):
    """15 tokens a call; each could take 50 and its prompt. Spending stops when the next highest price does not fit."""
    model = endpoint.model(price=price)
    _, most = highest_price(
        model, request_of(model, [{"role": "user", "content": "question toy-v1/00000"}], {"max_tokens": 50})
    )
    frame = run(toy.items(60), [model], store=store_path, concurrency=8, budget=budget, progress=False)
    made = len(endpoint.requests)
    assert made * 15 <= 500
    assert (made + 1) * 15 + most > 500, "it could have asked more"
    assert frame["status"].value_counts().to_dict() == {"ok": made, "skipped": 60 - made}
    skipped = frame[frame["status"] == "skipped"]
    assert skipped["text"].isna().all()
    assert skipped["error"].str.startswith("budget: ").all()
    assert [notice for notice in frame.attrs["notices"] if "have no answer" in notice] == [
        f"stub: {60 - made} calls have no answer; running again asks only these"
    ]
    again = run(toy.items(60), [model], store=store_path, progress=False)
    assert (again["status"] == "ok").all()
    assert len(endpoint.requests) == 60


def test_a_budget_is_kept_when_usage_is_not_told(toy, store_path, endpoint):
    """Then each call counts as its highest price."""
    endpoint.answer = lambda request: completion(usage=None)
    model = endpoint.model(price=DOLLAR)
    usd, _ = highest_price(
        model, request_of(model, [{"role": "user", "content": "question toy-v1/00000"}], {"max_tokens": 50})
    )
    run(toy.items(20), [model], store=store_path, budget=3.5 * usd, progress=False)
    assert len(endpoint.requests) == 3


def test_a_budget_counts_what_the_provider_bills(toy, store_path, endpoint):
    endpoint.answer = lambda request: completion(usage={"prompt_tokens": 1, "completion_tokens": 1, "cost": 400.0})
    run(toy.items(20), [endpoint.model(price=DOLLAR)], store=store_path, budget=500, concurrency=1, progress=False)
    assert len(endpoint.requests) == 1


def test_a_budget_counts_what_was_thought(toy, store_path, endpoint):
    """As Gemini tells it: 10 and 5 tokens, 2015 in all."""
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 2015}
    endpoint.answer = lambda request: completion(usage=usage)
    model = endpoint.model(price=DOLLAR)
    frame = run(toy.items(5), [model], store=store_path, budget=2000, concurrency=1, progress=False)
    assert frame["status"].tolist() == ["ok"] + ["skipped"] * 4
    assert (frame["cost"][0], frame["completion_tokens"][0], frame["reasoning_tokens"][0]) == (2015, 2005, 2000)


def test_without_a_price_a_budget_in_money_asks_nothing(toy, store_path):
    model = Model("far", base_url="https://far.invalid/v1", model="no-such-model")
    frame = run(toy.items(3), [model], store=store_path, budget=1, progress=False)
    assert frame["status"].tolist() == ["skipped"] * 3
    assert "far: budget: no price is known" in frame.attrs["notices"][0]


def test_what_is_free_needs_no_budget(toy, store_path, endpoint):
    frame = run(toy.items(3), [endpoint.model()], store=store_path, budget=0, progress=False)
    assert (frame["status"] == "ok").all()


def test_recorded_replies_cost_nothing(toy, store_path, endpoint):
    model = endpoint.model(price=DOLLAR)
    run(toy.items(3), [model], store=store_path, progress=False)
    frame = run(toy.items(3), [model], store=store_path, budget=0, progress=False)
    assert (frame["status"] == "ok").all()
    assert frame["cost_new"].sum() == 0
    assert frame["cost"].sum() == 45


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("x", "budget: usd must be a number from 0, or None for no limit, got 'x'"),
        (True, "budget: usd must be a number from 0, or None for no limit, got True"),
        ({"tokns": 5}, "budget: limit 'tokns' is not known; did you mean 'tokens'?"),
    ],
)
def test_what_is_no_budget_is_refused(value, told):
    with pytest.raises(ValueError, match="^" + re.escape(told) + "$"):
        Budget.of(value)
