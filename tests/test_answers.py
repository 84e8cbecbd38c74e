"""What an endpoint sent: a reply with an honest status, or a fault with what to do about it."""

from __future__ import annotations

import email.utils
import json

import pytest
from conftest import completion, failure
from hypothesis import given
from hypothesis import strategies as st

from cdct.answers import CallFailed, fault_of, filtered_answer, read_answer, retry_after, text_of

NOW = 1_800_000_000.0

# ---------------------------------------------------------------------------------------------------------- Retry-After

WAITS = {
    "none": ({}, None),
    "seconds": ({"retry-after": "7"}, 7.0),
    "part of a second": ({"retry-after": "0.25"}, 0.25),
    "milliseconds": ({"retry-after-ms": "1500"}, 1.5),
    "milliseconds first": ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
    "milliseconds that are none": ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
    "a date": ({"retry-after": email.utils.formatdate(NOW + 90, usegmt=True)}, 90.0),
    "a date gone by": ({"retry-after": email.utils.formatdate(NOW - 90, usegmt=True)}, 0.0),
    "a date beyond all": ({"retry-after": "Mon, 01 Jan 99999 00:00:00 GMT"}, None),
    "less than nothing": ({"retry-after": "-5"}, 0.0),
    "a year": ({"retry-after": "31536000"}, 31536000.0),
    "for ever": ({"retry-after": "inf"}, float("inf")),
    "not a number": ({"retry-after": "nan"}, None),
    "a word": ({"retry-after": "soon"}, None),
    "empty": ({"retry-after": ""}, None),
}


@pytest.mark.parametrize(("headers", "seconds"), WAITS.values(), ids=WAITS.keys())
def test_the_wait_that_a_server_asks_for(headers, seconds):
    assert retry_after(headers, now=NOW) == seconds


@given(st.text(max_size=40))
def test_no_header_is_too_odd(value):
    wait = retry_after({"retry-after": value, "retry-after-ms": value})
    assert wait is None or wait >= 0


# --------------------------------------------------------------------------------------------------------------- faults

OPENAI_RATE = (
    "Rate limit reached for gpt-4o-mini in organization org-1 on requests per min (RPM): Limit 3, Used 3, Requested 1. "
    "Please try again in 20s. You can increase your rate limit by adding a payment method to your account at "
    "https://platform.openai.com/account/billing."
)
OPENAI_QUOTA = "You exceeded your current quota, please check your plan and billing details."
GEMINI_MINUTE = (
    f"{OPENAI_QUOTA} Quota exceeded for metric: generate_content_free_tier_requests. Please retry in 34.07s."
)
GEMINI_DAY = [
    {
        "error": {
            "code": 429,
            "message": OPENAI_QUOTA,
            "status": "RESOURCE_EXHAUSTED",
            "details": [{"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}],
        }
    }
]
AGAIN, STOP, ITEM = (True, False), (False, True), (False, False)
"""(asked again, stops the model); ITEM: neither, the fault is this request's own."""

FAULTS = {
    # status, headers, body, kind, (asked again, stops the model), wait
    "408": (408, {}, failure(), "server", AGAIN, None),
    "409": (409, {}, failure(), "server", AGAIN, None),
    "425": (425, {}, failure(), "server", AGAIN, None),
    "429": (429, {}, failure("slow down"), "busy", AGAIN, None),
    "429 with Retry-After": (429, {"retry-after": "7"}, failure("slow down"), "busy", AGAIN, 7.0),
    "429 of a minute that speaks of billing": (
        429,
        {},
        failure(OPENAI_RATE, "rate_limit_exceeded"),
        "busy",
        AGAIN,
        None,
    ),
    "429 of a minute that speaks of quota": (429, {}, [failure(GEMINI_MINUTE)], "busy", AGAIN, None),
    "429 out of quota": (429, {}, failure(OPENAI_QUOTA, "insufficient_quota"), "money", STOP, None),
    "429 spend limit": (429, {}, failure("Monthly spend limit reached"), "money", STOP, None),
    "429 of a day": (429, {}, GEMINI_DAY, "money", STOP, None),
    "429 of a day, rate": (
        429,
        {},
        failure("Rate limit exceeded: free-models-per-day. Add 10 credits"),
        "money",
        STOP,
        None,
    ),
    "429 of a day that soon ends": (429, {"retry-after": "60"}, failure("on tokens per day"), "busy", AGAIN, 60.0),
    "402": (402, {}, failure("Insufficient credits"), "money", STOP, None),
    "400 credit": (400, {}, failure("Your credit balance is too low"), "money", STOP, None),
    "403 payment": (403, {}, failure("Payment required"), "money", STOP, None),
    "500": (500, {}, failure(), "server", AGAIN, None),
    "502": (502, {}, "<html>Bad Gateway</html>", "server", AGAIN, None),
    "503 with a wait": (503, {"retry-after-ms": "250"}, failure("Loading model"), "server", AGAIN, 0.25),
    "504": (504, {}, "", "server", AGAIN, None),
    "529": (529, {"retry-after": "3"}, failure("Overloaded"), "busy", AGAIN, 3.0),
    "599": (599, {}, "", "server", AGAIN, None),
    "401": (401, {}, failure("bad key"), "refused", STOP, None),
    "403": (403, {}, failure("no rights"), "refused", STOP, None),
    "403 moderated": (403, {}, failure("Your input was flagged for violence"), "filtered", ITEM, None),
    "404": (404, {}, failure("no such model"), "refused", STOP, None),
    "405": (405, {}, "", "refused", STOP, None),
    "400": (400, {}, failure("messages must be a list"), "refused", STOP, None),
    "400 too long": (
        400,
        {},
        failure("maximum context length is 8192", "context_length_exceeded"),
        "too long",
        ITEM,
        None,
    ),
    "400 llama.cpp": (400, {}, failure("the request exceeds the available context size"), "too long", ITEM, None),
    "413": (413, {}, "Payload Too Large", "too long", ITEM, None),
    "400 filtered": (400, {}, failure("The response was filtered", "content_filter"), "filtered", ITEM, None),
    "400 policy": (400, {}, failure("Invalid prompt: flagged as violating our usage policy"), "filtered", ITEM, None),
    "301": (301, {"location": "https://else.where/"}, "", "refused", STOP, None),
    "204": (204, {}, "", "refused", STOP, None),
}


def body_text(body) -> str:
    return body if isinstance(body, str) else json.dumps(body)


@pytest.mark.parametrize(("status", "headers", "body", "kind", "then", "wait"), FAULTS.values(), ids=FAULTS.keys())
def test_what_an_error_means(status, headers, body, kind, then, wait):
    fault = fault_of(status, headers, body_text(body))
    assert (fault.kind, (fault.retry, fault.stops), fault.wait) == (kind, then, wait)
    assert fault.status == status
    assert str(fault).startswith(f"HTTP {status}")


TEMPERATURE_0 = "Unsupported value: 'temperature' does not support 0 with this model."
RENAME = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
REFUSALS = {
    "OpenAI, value": (failure(TEMPERATURE_0, param="temperature"), "temperature"),
    "OpenAI, name": (failure(RENAME, param="max_tokens"), "max_tokens"),
    "OpenAI, name in the text alone": (failure(RENAME), "max_tokens"),
    "by param alone": (failure("Unsupported value", "unsupported_value", param="temperature"), "temperature"),
    "Gemini": ([failure('Invalid JSON payload received. Unknown name "seed": Cannot find field.')], "seed"),
    "Anthropic": (failure("`temperature` may only be set to 1 when thinking is enabled."), "temperature"),
    "Anthropic, both": (failure("`temperature` and `top_p` cannot both be specified for this model."), "temperature"),
    "Bedrock": (failure("temperature is deprecated for this model"), "temperature"),
    "FastAPI": ({"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}, "seed"),
    "an unknown one": (failure("Unsupported parameter: 'frobnicate'"), None),
    "a word in passing": (failure("the message says temperature, which is hot"), None),
}


@pytest.mark.parametrize(("body", "parameter"), REFUSALS.values(), ids=REFUSALS.keys())
@pytest.mark.parametrize("status", [400, 422])
def test_which_parameter_is_refused(status, body, parameter):
    fault = fault_of(status, {}, json.dumps(body))
    assert fault.refused == parameter
    assert not fault.retry
    assert fault.stops


MESSAGES = {
    "OpenAI": (401, {}, failure("Incorrect API key"), "HTTP 401: Incorrect API key (check the key)"),
    "Gemini": (404, {}, [failure("no model")], "HTTP 404: no model (check base_url and model)"),
    "FastAPI": (403, {}, {"detail": "Forbidden"}, "HTTP 403: Forbidden (check the key's rights)"),
    "a null error": (500, {}, {"error": None, "message": "broken"}, "HTTP 500: broken"),
    "a text": (500, {}, {"error": "broken"}, "HTTP 500: broken"),
    "a web page": (502, {}, "<html>\n  <h1>Bad Gateway</h1>", "HTTP 502: <html> <h1>Bad Gateway</h1>"),
    "nothing": (503, {}, "", "HTTP 503"),
    "a redirection": (
        308,
        {"location": "https://api.example/v2"},
        "",
        "HTTP 308: redirects to 'https://api.example/v2' are not followed; correct base_url",
    ),
}


@pytest.mark.parametrize(("status", "headers", "body", "message"), MESSAGES.values(), ids=MESSAGES.keys())
def test_what_the_user_reads(status, headers, body, message):
    assert str(fault_of(status, headers, body_text(body))) == message


@pytest.mark.parametrize("shape", ["JSON", "a text", "plain", "a list"])
def test_no_message_steers_a_terminal(shape):
    told = "\x1b[31mred\x1b]0;title\x07 \u202eback\nnext\x9b"
    body = {
        "JSON": json.dumps(failure(told)),
        "a text": json.dumps({"error": told}),
        "plain": told,
        "a list": json.dumps([failure(told)]),
    }[shape]
    message = str(fault_of(500, {}, body))
    assert message.isprintable()
    assert message.startswith("HTTP 500:  [31mred ]0;title ")
    assert "back next" in message


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.integers(300, 599), st.text(max_size=60) | json_values.map(json.dumps))
def test_no_error_is_too_odd(status, body):
    assert isinstance(fault_of(status, {}, body), CallFailed)


# -------------------------------------------------------------------------------------------------------------- answers

STATUSES = {
    "plain": (completion("fine"), "ok", "fine", "stop"),
    "no finish reason": (completion("fine", finish=None), "ok", "fine", None),
    "cut": (completion("fi", finish="length"), "truncated", "fi", "length"),
    "cut, Gemini": (completion("fi", finish="MAX_TOKENS"), "truncated", "fi", "length"),
    "cut, capitals": (completion("fi", finish="LENGTH"), "truncated", "fi", "length"),
    "cut, Anthropic": (completion("fi", finish="model_context_window_exceeded"), "truncated", "fi", "length"),
    "cut while thinking": (completion("", finish="length"), "truncated", "", "length"),
    "empty": (completion(""), "empty", "", "stop"),
    "blank": (completion(" \n"), "empty", " \n", "stop"),
    "null": (completion(None), "empty", "", "stop"),
    "filtered": (completion(None, finish="content_filter"), "filtered", "", "content_filter"),
    "filtered, Gemini": (completion("half", finish="SAFETY"), "filtered", "half", "content_filter"),
    "refused, Anthropic": (completion("", finish="refusal"), "refused", "", "refusal"),
    "a tool call": (completion(None, finish="tool_calls"), "empty", "", "tool_calls"),
}


@pytest.mark.parametrize(("body", "status", "text", "finish"), STATUSES.values(), ids=STATUSES.keys())
def test_the_status_of_a_reply(body, status, text, finish):
    answer = read_answer(json.dumps(body))
    assert (answer["status"], answer["text"], answer["finish_reason"]) == (status, text, finish)


def with_message(**message):
    return completion(choices=[{"message": {"content": None} | message, "finish_reason": "stop"}])


def test_a_refusal_field_is_a_refusal_in_words():
    answer = read_answer(json.dumps(with_message(refusal="I can't help with that.")))
    assert (answer["status"], answer["text"]) == ("refused", "I can't help with that.")


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_stands_apart(field):
    answer = read_answer(json.dumps(with_message(content="4", **{field: "2 + 2"})))
    assert (answer["text"], answer["reasoning"]) == ("4", "2 + 2")


def test_parts_are_joined_and_thinking_is_none_of_them():
    parts = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "fi"},
        {"text": "ne"},
        {"text": None},
        "x",
    ]
    assert text_of(parts) == "fine"


def test_what_is_told_of_the_call_is_kept():
    usage = {"prompt_tokens": 9, "completion_tokens": 7, "cost": 0.5} | {
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    answer = read_answer(json.dumps(completion(usage=usage, provider="Azure")))
    names = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "cost", "provider")
    assert [answer[name] for name in names] == [9, 7, 4, 3, 0.5, "Azure"]
    assert (answer["served_model"], answer["fingerprint"]) == ("stub-2026-01-01", "fp-1")


@pytest.mark.parametrize(
    "usage", [None, [], "many", {"prompt_tokens": "9"}, {"prompt_tokens": -1}, {"prompt_tokens": True}]
)
def test_odd_usage_is_no_usage(usage):
    answer = read_answer(json.dumps(completion() | {"usage": usage}))
    assert answer["prompt_tokens"] is None
    assert answer["cost"] is None


USAGES = {
    # prompt, completion, total, reasoning as told -> completion, reasoning
    "thinking in the total alone, Gemini": ((10, 5, 2015, None), (2005, 2000)),
    "thinking beside the completion": ((10, 5, 25, 10), (15, 10)),
    "thinking within the completion": ((10, 50, 60, 40), (50, 40)),
    "no thinking": ((10, 5, 15, None), (5, None)),
    "no completion": ((10, None, 30, None), (20, None)),
    "no prompt": ((None, 5, 30, None), (5, None)),
    "no total": ((10, 5, None, None), (5, None)),
    "a total that is too small": ((10, 5, 12, None), (5, None)),
}


@pytest.mark.parametrize(("usage", "counted"), USAGES.values(), ids=USAGES.keys())
def test_what_was_thought_counts_as_completion(usage, counted):
    prompt, written, total, reasoning = usage
    told = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": total}
    told["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    answer = read_answer(json.dumps(completion(usage=told)))
    assert (answer["completion_tokens"], answer["reasoning_tokens"]) == counted
    assert answer["prompt_tokens"] == prompt


def test_odd_details_are_none():
    usage = {"prompt_tokens": 9, "prompt_tokens_details": [1], "completion_tokens_details": "x"}
    assert read_answer(json.dumps(completion(usage=usage)))["cached_tokens"] is None


def test_names_that_are_no_text_become_text():
    answer = read_answer(json.dumps(completion(provider={"name": "x"}, system_fingerprint=7)))
    assert (answer["provider"], answer["fingerprint"]) == ("{'name': 'x'}", "7")


def test_half_of_a_surrogate_pair_becomes_its_escape():
    answer = read_answer('{"choices": [{"message": {"content": "a\\ud800b \\ud83d\\ude00"}}]}')
    assert answer["text"] == "a\\ud800b 😀"


NO_ANSWERS = {
    "not JSON": ("<html>", "unreadable", True, "the answer is not JSON: '<html>'"),
    "empty": ("", "unreadable", True, "the answer is not JSON: ''"),
    "nested without end": ("[" * 100_000, "unreadable", True, "the answer is not JSON: "),
    "a list": ("[]", "unreadable", True, "the answer is not a chat completion: '[]'"),
    "no choices": ('{"choices": []}', "unreadable", True, "the answer has no choices: "),
    "null choices": ('{"choices": null}', "unreadable", True, "the answer has no choices: "),
    "no message": ('{"choices": [{"text": "x"}]}', "unreadable", True, "the answer has no choices: "),
    "an error": ('{"error": {"message": "upstream"}}', "server", True, "HTTP 502: upstream"),
    "an error with a status": ('{"error": {"code": 429, "message": "slow"}}', "busy", True, "HTTP 429: slow"),
    "an error with an odd status": ('{"error": {"code": "²", "message": "x"}}', "server", True, "HTTP 502: x"),
    "an error that stops": ('{"error": {"code": 401, "message": "key"}}', "refused", False, "HTTP 401: key"),
    "an error in a choice": (
        '{"choices": [{"error": {"code": 503, "message": "gone"}, "message": {"content": "hal"}}]}',
        "server",
        True,
        "HTTP 503: gone",
    ),
    "broken off": (json.dumps(completion("hal", finish="error")), "server", True, "the server broke the answer off"),
    "aborted": (json.dumps(completion("hal", finish="abort")), "server", True, "the server broke the answer off"),
}


@pytest.mark.parametrize(("body", "kind", "retry", "message"), NO_ANSWERS.values(), ids=NO_ANSWERS.keys())
def test_an_error_is_never_a_reply(body, kind, retry, message):
    with pytest.raises(CallFailed) as caught:
        read_answer(body)
    assert (caught.value.kind, caught.value.retry) == (kind, retry)
    assert str(caught.value).startswith(message)


@given(json_values.map(json.dumps) | json_values.map(lambda value: json.dumps(completion() | {"choices": [value]})))
def test_no_answer_is_too_odd(body):
    try:
        answer = read_answer(body)
    except CallFailed:
        return
    assert answer["status"] in ("ok", "truncated", "refused", "filtered", "empty")


@given(json_values, json_values, json_values)
def test_no_message_is_too_odd(content, finish, usage):
    body = completion() | {"choices": [{"message": {"content": content}, "finish_reason": finish}], "usage": usage}
    try:
        answer = read_answer(json.dumps(body))
    except CallFailed:
        return
    answer["text"].encode()


def test_a_prompt_that_was_filtered_is_a_filtered_reply():
    answer = filtered_answer()
    assert (answer["status"], answer["text"], answer["finish_reason"]) == ("filtered", "", "content_filter")
    assert set(answer) == set(read_answer(json.dumps(completion())))
