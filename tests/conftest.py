"""What tests of asking models share: a real endpoint on loopback that a function scripts, and a clean environment."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cdct.core import BENCHMARKS, Arm, Benchmark, Item, Messages
from cdct.models import Model

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the keys, the settings or the proxies of whoever runs it."""
    for name in list(os.environ):
        if name.startswith("CDCT_") or name.endswith("_API_KEY") or name.lower() in PROXIES:
            monkeypatch.delenv(name)


# --------------------------------------------------------------------------------------------------------- the endpoint


@dataclass
class Request:
    """One request as the endpoint got it: the JSON body, the headers (lower case) and the path."""

    body: dict[str, Any]
    headers: dict[str, str]
    path: str

    @property
    def prompt(self) -> str:
        return self.body["messages"][-1]["content"]


def completion(text: str | None = "fine", finish: str | None = "stop", **more: Any) -> dict[str, Any]:
    """The body of a chat completion; `more` adds or replaces top-level fields, None takes one out."""
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "stub-2026-01-01",
        "system_fingerprint": "fp-1",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    } | more
    return {name: value for name, value in body.items() if value is not None}


def failure(message: str = "no", code: str = "", **more: Any) -> dict[str, Any]:
    """The body of an error as OpenAI writes it."""
    return {"error": {"message": message, "type": "stub_error", "code": code} | more}


Answer = Any
"""What a script gives: a text, the JSON of a body, a status, or a tuple (status, body) or (status, body, headers)."""


class Endpoint:
    """An OpenAI-compatible server on loopback. `answer`, a function of the request, plain or async, scripts it."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self.answer: Callable[[Request], Answer] = lambda request: f"fine: {request.prompt}"
        self.requests: list[Request] = []
        self.open = self.most_open = 0
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def prompts(self) -> list[str]:
        return [request.prompt for request in self.requests]

    def model(self, name: str = "stub", **more: Any) -> Model:
        return Model(name, **{"base_url": self.url, "model": "stub"} | more)

    def close(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
        self._loop.run_until_complete(runner.setup())
        site = web.TCPSite(runner, "127.0.0.1", self.port, backlog=1024)
        self._loop.run_until_complete(site.start())
        self.port = runner.addresses[0][1]
        self._ready.set()
        self._loop.run_forever()
        left = asyncio.all_tasks(self._loop)  # answers that a script holds back for ever
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.run_until_complete(runner.cleanup())
        self._loop.close()

    async def _handle(self, got: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in got.headers.items()}
        request = Request(json.loads(await got.read() or b"{}"), headers, got.path)
        self.requests.append(request)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            answer = self.answer(request)
            if inspect.isawaitable(answer):
                answer = await answer
        finally:
            self.open -= 1
        if answer is CUT:
            got.transport.abort()
            return web.Response()
        status, body, *more = answer if isinstance(answer, tuple) else (200, answer)
        if isinstance(body, int):
            status, body = body, failure(f"status {body}")
        if isinstance(body, str) and status == 200 and not isinstance(answer, tuple):
            body = completion(body)
        data = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
        return web.Response(status=status, body=data, headers={"content-type": "application/json"} | dict(*more))


CUT = object()
"""As an answer: the connection is cut without one."""


def in_turn(*answers: Answer) -> Callable[[Request], Answer]:
    """A script that gives these answers one after the other, and the last one from then on."""
    left = list(answers)
    return lambda request: left.pop(0) if len(left) > 1 else left[0]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    server = Endpoint()
    yield server
    server.close()


@pytest.fixture
def second_endpoint() -> Iterator[Endpoint]:
    server = Endpoint()
    yield server
    server.close()


# ------------------------------------------------------------------------------------------------------------- the toys


def _once(item: Item, previous: Sequence[str]) -> Messages | None:
    return None if previous else [{"role": "user", "content": f"question {item.id}"}]


def _talk(item: Item, previous: Sequence[str]) -> Messages | None:
    if len(previous) == 3:
        return None
    turns: Messages = [{"role": "user", "content": f"question {item.id}"}]
    for number, text in enumerate(previous, start=1):
        turns += [{"role": "assistant", "content": text}, {"role": "user", "content": f"turn {number} of {item.id}"}]
    return turns


@dataclass
class Toy:
    """A benchmark of one question: the arms `plain`, `same` and `also` (the same request), `talk` (3 turns), `hot`."""

    benchmark: Benchmark = field(
        default_factory=lambda: Benchmark(
            "toy",
            "Toy",
            {
                arm.name: arm
                for arm in (
                    Arm("plain", "one question", _once),
                    Arm("same", "the same question", _once),
                    Arm("also", "the same question", _once),
                    Arm("talk", "three turns", _talk),
                    Arm("hot", "one question, sampled", _once, {"temperature": 0.7}),
                )
            },
            "plain",
            {"temperature": 0, "max_tokens": 50},
        )
    )

    def items(self, n: int, first: int = 0) -> list[Item]:
        return [Item("toy", f"toy-v1/{number:05d}") for number in range(first, first + n)]


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Toy:
    made = Toy()
    monkeypatch.setitem(BENCHMARKS._entries, "toy", made.benchmark)
    return made


@pytest.fixture
def store_path(tmp_path: Path) -> str:
    return str(tmp_path / "replies.sqlite")
