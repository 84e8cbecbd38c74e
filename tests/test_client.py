"""One call: what is sent, when it is made again, what is left out, and that a key never comes back."""

from __future__ import annotations

import asyncio
import json
import re
import time
from typing import Any

import pytest
from conftest import CUT, Endpoint, completion, failure, in_turn

from cdct.answers import CallFailed, Reply
from cdct.client import Client, Retry, estimate_tokens
from cdct.models import Model
from cdct.redact import without_key

REQUEST = {"model": "stub", "messages": [{"role": "user", "content": "hello"}], "temperature": 0, "max_tokens": 50}
QUICK = Retry(first_s=0)
KEY = "sk-test/abc+def=0123456789"


class Calls:
    """What `ask` did: its reply or fault, what it was told, and the waits it chose."""

    def __init__(self) -> None:
        self.faults: list[tuple[str, str, float | None]] = []
        self.notices: list[str] = []

    def ask(self, model: Model, request: Any = REQUEST, retry: Retry = QUICK, times: int = 1) -> list[Any]:
        async def main() -> list[Any]:
            async with Client(8, retry, self.notices.append) as client:
                asked = [client.ask(model, model.base_url, request, self._heard) for _ in range(times)]
                return await asyncio.gather(*asked, return_exceptions=True)

        return asyncio.run(main())

    def reply(self, *args: Any, **kwargs: Any) -> Reply:
        answer = self.ask(*args, **kwargs)[0]
        assert isinstance(answer, Reply), answer
        return answer

    def fault(self, *args: Any, **kwargs: Any) -> CallFailed:
        answer = self.ask(*args, **kwargs)[0]
        assert isinstance(answer, CallFailed), answer
        return answer

    def _heard(self, url: str, fault: CallFailed, wait: float | None) -> None:
        self.faults.append((url, fault.kind, wait))


@pytest.fixture
def calls() -> Calls:
    return Calls()


# --------------------------------------------------------------------------------------------------------- what is sent


def test_the_request_goes_out_as_it_is(endpoint, calls, monkeypatch):
    monkeypatch.setenv("STUB_KEY", KEY)
    reply = calls.reply(endpoint.model(key_env="STUB_KEY"))
    sent = endpoint.requests[0]
    assert sent.path == "/v1/chat/completions"
    assert sent.body == REQUEST
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert (reply.text, reply.status, reply.attempts) == ("fine: hello", "ok", 1)
    assert json.loads(reply.parameters) == {"temperature": 0, "max_tokens": 50}
    assert json.loads(reply.raw)["choices"][0]["message"]["content"] == "fine: hello"
    assert reply.latency_s > 0


def test_without_a_key_no_authorization_is_sent(endpoint, calls):
    calls.reply(endpoint.model())
    assert "authorization" not in endpoint.requests[0].headers


@pytest.mark.parametrize(
    "text", ["\ud800 alone", "NUL \0", "👩‍🔬", "x" * 1_000_000], ids=["surrogate", "NUL", "emoji", "1 MB"]
)
def test_odd_texts_go_out_and_come_back(endpoint, calls, text):
    endpoint.answer = lambda request: completion(request.prompt)
    request = REQUEST | {"messages": [{"role": "user", "content": text}]}
    assert calls.reply(endpoint.model(), request).text == text.replace("\ud800", "?")


def test_an_answer_is_read_as_utf_8_whatever_its_header_says(endpoint, calls):
    body = json.dumps(completion("’"), ensure_ascii=False).encode("utf-8-sig")
    endpoint.answer = lambda request: (200, body, {"content-type": "text/plain; charset=latin-1"})
    assert calls.reply(endpoint.model()).text == "’"


def test_usage_is_priced(endpoint, calls):
    assert calls.reply(endpoint.model(price={"input": 100_000, "output": 200_000})).cost == 2.0
    endpoint.answer = lambda request: completion(usage={"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.125})
    assert calls.reply(endpoint.model(price={"input": 1, "output": 1})).cost == 0.125
    endpoint.answer = lambda request: completion(usage=None)
    assert calls.reply(endpoint.model(price={"input": 1, "output": 1})).cost is None
    assert calls.reply(endpoint.model()).cost == 0.0


# --------------------------------------------------------------------------------------------------------- asking again

FAULTY = {
    "429": (429, failure("slow")),
    "500": (500, failure()),
    "503": (503, "plain text"),
    "408": (408, ""),
    "529": (529, ""),
    "cut": CUT,
    "no JSON": (200, "<html>"),
    "no choices": {"choices": []},
    "an error inside": {"error": {"message": "upstream", "code": 502}},
    "broken off": completion("half", finish="error"),
}


@pytest.mark.parametrize("bad", FAULTY.values(), ids=FAULTY.keys())
def test_infrastructure_is_asked_again(endpoint, calls, bad):
    endpoint.answer = in_turn(bad, bad, "fine")
    reply = calls.reply(endpoint.model())
    assert (reply.text, reply.attempts) == ("fine", 3)
    assert len(endpoint.requests) == 3
    assert [wait for _, _, wait in calls.faults] == [0, 0]


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 413, 422, 301])
def test_all_else_is_not(endpoint, calls, status):
    endpoint.answer = lambda request: (status, failure("no"))
    assert not calls.fault(endpoint.model()).retry
    assert len(endpoint.requests) == 1
    assert [wait for _, _, wait in calls.faults] == [None]


def test_a_redirection_is_not_followed(endpoint, calls):
    endpoint.answer = lambda request: (307, "", {"location": f"{endpoint.url}/elsewhere"})
    assert calls.fault(endpoint.model()).stops
    assert len(endpoint.requests) == 1


def test_attempts_are_limited(endpoint, calls):
    endpoint.answer = lambda request: (500, failure("down"))
    assert str(calls.fault(endpoint.model(), retry=Retry(attempts=4, first_s=0))) == "HTTP 500: down"
    assert len(endpoint.requests) == 4
    assert [wait for _, _, wait in calls.faults] == [0, 0, 0, None]


@pytest.mark.parametrize("bad", ["no JSON", "no choices"])
def test_what_can_not_be_read_is_asked_for_twice_more(endpoint, calls, bad):
    endpoint.answer = lambda request: FAULTY[bad]
    assert calls.fault(endpoint.model()).kind == "unreadable"
    assert [wait for _, _, wait in calls.faults] == [0, 0, None]


def test_fewer_attempts_hold_for_what_can_not_be_read_too(endpoint, calls):
    endpoint.answer = lambda request: FAULTY["no JSON"]
    calls.fault(endpoint.model(), retry=Retry(attempts=2, first_s=0))
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize("status", [200, 500])
def test_an_answer_without_measure_is_refused(endpoint, calls, monkeypatch, status):
    body = json.dumps(completion("word " * 100))
    endpoint.answer = lambda request: (status, body)
    monkeypatch.setattr("cdct.client.MOST_BYTES", len(body) - 1)
    fault = calls.fault(endpoint.model())
    assert (fault.kind, fault.retry, fault.stops) == ("too large", False, False)
    assert re.match(rf"the answer of {endpoint.url} is larger than 0\.\d+ MB$", str(fault))
    assert len(endpoint.requests) == 1
    monkeypatch.setattr("cdct.client.MOST_BYTES", len(body))
    endpoint.answer = lambda request: (200, body)
    assert calls.reply(endpoint.model()).status == "ok"


def test_an_answer_without_end_is_refused_while_it_comes(calls, monkeypatch):
    monkeypatch.setattr("cdct.client.MOST_BYTES", 10_000)

    async def main() -> CallFailed:
        closed = asyncio.Event()

        async def pour(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            try:
                while True:
                    writer.write(b"400\r\n" + b"x" * 1024 + b"\r\n")
                    await writer.drain()
            except ConnectionError:
                closed.set()

        server = await asyncio.start_server(pour, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        async with Client(1, Retry()) as client:
            try:
                await client.ask(Model("stub", base_url=url), (url,), REQUEST)
            except CallFailed as fault:
                await closed.wait()  # nothing more is taken from it
                return fault
            finally:
                server.close()
        raise AssertionError

    assert asyncio.run(asyncio.wait_for(main(), 10)).kind == "too large"


def waits_of(retry: Retry, fault: CallFailed, elapsed: float = 0.0) -> list[float | None]:
    client = Client(1, retry)
    return [client._wait(fault, calls, elapsed) for calls in range(1, retry.attempts + 1)]


def test_the_wait_doubles_with_jitter_up_to_its_most():
    for _ in range(50):
        waits = waits_of(Retry(attempts=6, first_s=1, most_s=5), CallFailed("", "server", retry=True))
        for wait, least in zip(waits, (1, 2, 4, 5, 5), strict=False):
            assert least <= wait <= 2 * least
        assert waits[-1] is None


def test_retry_after_is_the_least_wait():
    for _ in range(50):
        first, *_, last = waits_of(Retry(), CallFailed("", "busy", retry=True, wait=7.0))
        assert 7 <= first <= 8
        assert last is None


def test_the_whole_time_is_limited():
    fault = CallFailed("", "server", retry=True)
    assert waits_of(Retry(attempts=2, total_s=10, first_s=4), fault, elapsed=7)[0] is None
    assert not fault.stops


@pytest.mark.parametrize("header", ["901", "31536000", "inf", "1e400"])
def test_a_wait_beyond_all_patience_stops_the_model(endpoint, calls, header):
    endpoint.answer = lambda request: (429, failure("slow down"), {"retry-after": header})
    fault = calls.fault(endpoint.model())
    assert fault.stops
    assert str(fault).startswith("HTTP 429: slow down (asks to wait ")
    assert str(fault).endswith(" s; at most 900 s are waited)")
    assert len(endpoint.requests) == 1


def test_a_wait_beyond_all_patience_does_not_hold_the_others_up(endpoint, calls):
    """One gets an absurd Retry-After; the next on the same endpoint is asked at once."""
    endpoint.answer = in_turn((429, failure(), {"retry-after": "99999999"}), "fine")
    first, second = [], []

    async def main() -> None:
        async with Client(1, QUICK) as client:
            model = endpoint.model()
            first.extend(await asyncio.gather(client.ask(model, model.base_url, REQUEST), return_exceptions=True))
            second.append(await client.ask(model, model.base_url, REQUEST))

    asyncio.run(asyncio.wait_for(main(), 10))
    assert isinstance(first[0], CallFailed)
    assert second[0].text == "fine"


def test_a_wait_that_one_is_asked_for_holds_for_all(endpoint):
    """By Retry-After one call waits; another one of the same endpoint is not sent before that time is over."""
    arrived: list[float] = []

    def answer(request):
        arrived.append(time.monotonic())
        return (429, failure(), {"retry-after-ms": "200"}) if len(arrived) == 1 else "fine"

    async def main() -> None:
        endpoint.answer = answer
        model = endpoint.model()
        refused = asyncio.Event()
        async with Client(8, QUICK) as client:
            first = asyncio.create_task(client.ask(model, model.base_url, REQUEST, lambda *_: refused.set()))
            await refused.wait()
            await client.ask(model, model.base_url, REQUEST)
            await first

    asyncio.run(main())
    assert len(arrived) == 3
    assert min(arrived[1:]) - arrived[0] >= 0.2


# -------------------------------------------------------------------------------------------------------- no connection


def test_a_server_that_is_not_there(calls):
    fault = calls.fault(Model("stub", base_url="http://127.0.0.1:9/v1"), retry=Retry(attempts=3, first_s=0))
    assert fault.kind == "connection"
    assert str(fault).startswith("no connection to http://127.0.0.1:9/v1: ClientConnectorError Cannot connect to host")
    assert [kind for _, kind, _ in calls.faults] == ["connection"] * 3


def test_a_name_that_is_not_known(calls):
    fault = calls.fault(Model("stub", base_url="http://nowhere.invalid/v1"), retry=Retry(attempts=1))
    assert (fault.kind, fault.retry) == ("connection", True)


def test_a_server_that_is_killed_in_the_middle(endpoint, calls):
    endpoint.answer = lambda request: CUT
    fault = calls.fault(endpoint.model(), retry=Retry(attempts=2, first_s=0))
    assert fault.kind == "connection"
    assert "ServerDisconnectedError" in str(fault)


def test_a_server_that_never_answers(endpoint, calls):
    endpoint.answer = lambda request: asyncio.Event().wait()
    fault = calls.fault(endpoint.model(timeout_s=0.05), retry=Retry(attempts=2, first_s=0))
    assert (fault.kind, str(fault)) == ("timeout", f"no answer from {endpoint.url} within 0.05 s")
    assert len(endpoint.requests) == 2


def test_a_server_that_speaks_something_else(calls):
    async def main() -> CallFailed:
        async def babble(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"SSH-2.0-OpenSSH_9.2 \x1b[31m\x07\r\n")
            writer.close()

        server = await asyncio.start_server(babble, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        async with server, Client(1, Retry(attempts=2, first_s=0)) as client:
            try:
                await client.ask(Model("stub", base_url=url), (url,), REQUEST)
            except CallFailed as fault:
                return fault
        raise AssertionError

    fault = asyncio.run(main())
    assert fault.kind == "connection"
    assert str(fault).isprintable()


def test_a_server_that_sends_blanks_for_ever(calls):
    """Some gateways keep a connection alive with blanks; the timeout is for the whole answer, not for the next byte."""

    async def main() -> CallFailed:
        async def dribble(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            while not writer.is_closing():
                writer.write(b"1\r\n \r\n")
                await writer.drain()
                await asyncio.sleep(0.01)

        server = await asyncio.start_server(dribble, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        async with Client(1, Retry(attempts=1)) as client:
            try:
                await client.ask(Model("stub", base_url=url, timeout_s=0.2), (url,), REQUEST)
            except CallFailed as fault:
                return fault
            finally:
                server.close()
        raise AssertionError

    assert asyncio.run(asyncio.wait_for(main(), 10)).kind == "timeout"


def test_copies_share_the_work_and_a_dead_one_is_passed_over(endpoint, second_endpoint, calls):
    model = Model("stub", base_url=(endpoint.url, second_endpoint.url, "http://127.0.0.1:9/v1"))
    answers = calls.ask(model, times=24)
    assert all(isinstance(answer, Reply) for answer in answers)
    # each copy gets a third at first; those of the dead one go to the others
    assert 8 <= len(endpoint.requests) <= 16
    assert 8 <= len(second_endpoint.requests) <= 16
    assert {url for url, _, _ in calls.faults} == {"http://127.0.0.1:9/v1"}
    assert len(calls.faults) == 8


def test_a_proxy_of_the_environment_is_used_but_not_for_this_machine(endpoint, calls, monkeypatch):
    monkeypatch.setenv("http_proxy", endpoint.url.removesuffix("/v1"))
    assert calls.reply(Model("far", base_url="http://far.invalid/v1")).text == "fine: hello"
    assert endpoint.requests[0].headers["host"] == "far.invalid"
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert calls.reply(endpoint.model()).text == "fine: hello"
    monkeypatch.setenv("no_proxy", "far.invalid")
    fault = calls.fault(Model("far", base_url="http://far.invalid/v1"), retry=Retry(attempts=1))
    assert "Cannot connect to host far.invalid" in str(fault)


# ------------------------------------------------------------------------------------------------------ what is refused


def refusing(*names: str):
    """An endpoint that refuses these parameters, one at a time, in OpenAI's words."""

    def answer(request):
        for name in names:
            if name in request.body:
                return 400, failure(f"Unsupported parameter: '{name}' is not supported.", "unsupported", param=name)
        return "fine"

    return answer


def test_a_refused_parameter_is_left_out(endpoint, calls):
    endpoint.answer = refusing("temperature")
    replies = calls.ask(endpoint.model(), times=8)
    assert [json.loads(reply.parameters) for reply in replies] == [{"max_tokens": 50}] * 8
    assert [reply.attempts for reply in replies] == [1] * 8
    assert calls.notices == ["stub refuses the parameter 'temperature': left out from now on"]
    assert calls.faults == []


def test_a_refused_token_limit_is_renamed(endpoint, calls):
    endpoint.answer = refusing("max_tokens")
    assert json.loads(calls.reply(endpoint.model()).parameters) == {"temperature": 0, "max_completion_tokens": 50}
    assert calls.notices == ["stub refuses the parameter 'max_tokens': sent as 'max_completion_tokens' from now on"]


def test_several_parameters_can_be_refused(endpoint, calls):
    endpoint.answer = refusing("temperature", "max_tokens", "seed", "top_p")
    reply = calls.reply(endpoint.model(), REQUEST | {"seed": 1, "top_p": 1})
    assert json.loads(reply.parameters) == {"max_completion_tokens": 50}
    assert len(endpoint.requests) == 5


def test_what_was_refused_once_is_not_sent_again(endpoint):
    endpoint.answer = refusing("temperature")

    async def main() -> None:
        async with Client(1) as client:
            for _ in range(3):
                await client.ask(endpoint.model(), (endpoint.url,), REQUEST)

    asyncio.run(main())
    assert ["temperature" in request.body for request in endpoint.requests] == [True, False, False, False]


def test_what_one_model_refuses_another_may_take(endpoint):
    endpoint.answer = lambda request: refusing("temperature")(request) if request.body["model"] == "a" else "fine"

    async def main() -> list[Reply]:
        async with Client(1) as client:
            models = [endpoint.model(name, model=name) for name in "ab"]
            return [await client.ask(model, model.base_url, REQUEST | {"model": model.model}) for model in models]

    assert [json.loads(reply.parameters).get("temperature") for reply in asyncio.run(main())] == [None, 0]


def test_a_parameter_that_is_refused_although_it_is_not_sent_stops_the_model(endpoint, calls):
    endpoint.answer = lambda request: (400, failure("Unsupported parameter: 'seed'", param="seed"))
    assert calls.fault(endpoint.model()).stops
    assert len(endpoint.requests) == 1


def test_a_renamed_limit_that_is_refused_too_stops_the_model(endpoint, calls):
    endpoint.answer = refusing("max_tokens", "max_completion_tokens")
    assert calls.fault(endpoint.model()).stops
    assert len(endpoint.requests) == 2


def test_a_filtered_prompt_is_a_reply(endpoint, calls):
    endpoint.answer = lambda request: (400, failure("filtered", "content_filter"))
    reply = calls.reply(endpoint.model())
    assert (reply.status, reply.text, reply.finish_reason, reply.prompt_tokens) == (
        "filtered",
        "",
        "content_filter",
        None,
    )
    assert json.loads(reply.raw)["error"]["code"] == "content_filter"


# --------------------------------------------------------------------------------------------------------------- limits


def hold(endpoint: Endpoint, until: int):
    """An answer that waits until so many calls are open, or all that will be."""
    full = asyncio.Event()

    async def answer(request):
        if endpoint.open >= until:
            full.set()
        await full.wait()
        return "fine"

    return answer


@pytest.mark.parametrize(("run_allows", "model_allows", "most"), [(4, None, 4), (4, 2, 2), (2, 6, 6)])
def test_the_open_calls_of_an_endpoint_are_limited(endpoint, run_allows, model_allows, most):
    endpoint.answer = hold(endpoint, most)

    async def main() -> None:
        async with Client(run_allows) as client:
            model = endpoint.model(concurrency=model_allows)
            await asyncio.gather(*(client.ask(model, model.base_url, REQUEST) for _ in range(12)))

    asyncio.run(main())
    assert endpoint.most_open == most


@pytest.mark.parametrize("answer", ["fine", (500, failure()), (401, failure()), CUT], ids=["ok", "500", "401", "cut"])
def test_a_call_that_has_ended_is_not_open(endpoint, answer):
    endpoint.answer = lambda request: answer

    async def main() -> tuple[int, int]:
        async with Client(4, Retry(attempts=2, first_s=0)) as client:
            model = endpoint.model()
            asked = [asyncio.create_task(client.ask(model, model.base_url, REQUEST)) for _ in range(12)]
            await asyncio.sleep(0)
            during = client._endpoints[endpoint.url].open
            await asyncio.gather(*asked, return_exceptions=True)
            return during, client._endpoints[endpoint.url].open

    assert asyncio.run(main()) == (12, 0)


def test_models_of_one_endpoint_share_its_limit(endpoint):
    endpoint.answer = hold(endpoint, 3)

    async def main() -> None:
        async with Client(3) as client:
            models = [endpoint.model("a"), endpoint.model("b")]
            await asyncio.gather(*(client.ask(model, model.base_url, REQUEST) for model in models for _ in range(6)))

    asyncio.run(main())
    assert endpoint.most_open == 3


def test_a_call_that_waits_to_be_made_again_holds_no_place(endpoint):
    """With one place, a call in its wait lets the other one go first."""
    endpoint.answer = lambda request: "fine" if request.prompt == "hello" or len(endpoint.requests) > 2 else (500, "")
    slow = REQUEST | {"messages": [{"role": "user", "content": "slow"}]}

    async def main() -> None:
        async with Client(1, Retry(first_s=0.05)) as client:
            model = endpoint.model()
            await asyncio.gather(*(client.ask(model, model.base_url, request) for request in (slow, REQUEST)))

    asyncio.run(main())
    assert endpoint.prompts == ["slow", "hello", "slow"]


def test_rates_are_kept_per_model(endpoint, monkeypatch):
    taken: list[tuple[float, float]] = []

    async def acquire(limiter, amount=1):
        taken.append((limiter.max_rate, amount))

    monkeypatch.setattr("aiolimiter.AsyncLimiter.acquire", acquire)
    Calls().reply(endpoint.model(requests_per_minute=30, tokens_per_minute=40))
    # 50 tokens of answer and 5 of prompt are more than a minute holds: all of it is taken
    assert taken == [(30, 1), (40, 40)]


def test_a_prompt_is_estimated_by_its_letters():
    assert estimate_tokens([{"role": "system", "content": "x" * 40}, {"role": "user", "content": None}]) == 18


# ----------------------------------------------------------------------------------------------------------------- keys

ECHOES = {
    "plain": KEY,
    "in a sentence": f"Incorrect API key provided: {KEY}. You can find it",
    "URL-encoded": "bad query key=sk-test%2Fabc%2Bdef%3D0123456789",
    "its beginning": f"Incorrect API key provided: {KEY[:18]}...",
    "its end": f"Incorrect API key: ***{KEY[-12:]}",
    "cut by our own limit": "x" * 480 + KEY,
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES.keys())
@pytest.mark.parametrize("shape", ["JSON", "escaped JSON", "text"])
def test_an_echoed_key_is_not_in_the_error(endpoint, calls, monkeypatch, echo, shape):
    monkeypatch.setenv("STUB_KEY", KEY)
    body = json.dumps(failure(echo)) if shape != "text" else echo
    if shape == "escaped JSON":
        body = body.replace("/", "\\/").replace("+", "\\u002b")
    endpoint.answer = lambda request: (401, body)
    message = str(calls.fault(endpoint.model(key_env="STUB_KEY")))
    assert "0123456789" not in message
    assert "abc" not in message
    assert "check the key" in message


def test_an_echoed_key_is_not_in_the_reply(endpoint, calls, monkeypatch):
    monkeypatch.setenv("STUB_KEY", KEY)
    body = json.dumps(completion(f"the key is {KEY}", model=KEY, provider=KEY)).replace("/", "\\/")
    endpoint.answer = lambda request: (200, body)
    reply = calls.reply(endpoint.model(key_env="STUB_KEY"))
    assert reply.text == "the key is [key]"
    assert reply.served_model == "[key]"
    assert "0123456789" not in str(vars(reply))


@pytest.mark.parametrize("key", ["x", "EMPTY", "none"])
def test_a_key_that_is_no_secret_spoils_no_reply(endpoint, calls, monkeypatch, key):
    monkeypatch.setenv("STUB_KEY", key)
    endpoint.answer = lambda request: completion(f"the index is {key}")
    assert calls.reply(endpoint.model(key_env="STUB_KEY")).text == f"the index is {key}"


def test_pieces_of_a_key_stay_in_replies():
    assert without_key(f"{KEY[:9]} for all", KEY) == f"{KEY[:9]} for all"
    assert without_key(f"{KEY[:9]} for all", KEY, pieces=True) == "[key] for all"


def test_a_missing_key_stops_the_model_before_any_call(endpoint, calls):
    model = Model("far", base_url="http://far.invalid/v1", key_env="STUB_KEY")
    fault = calls.fault(model)
    assert (fault.kind, fault.stops) == ("no key", True)
    assert calls.faults == []
