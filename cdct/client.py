"""Asking an OpenAI-compatible endpoint: one asynchronous client with limits per endpoint and explicit rules for asking again."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import aiolimiter
import httpx
import httpx_aiohttp
import stamina

from cdct.answers import RENAMED, CallFailed, Reply, fault_of, read_answer, text_of
from cdct.core import to_json
from cdct.models import Model


@dataclass(frozen=True)
class Retry:
    """When a failed call is made again: at most `attempts` calls within `total_s` seconds.

    The wait grows from `first_s` by doubling up to `most_s`, with up to the same again of jitter; a server's Retry-After
    is the least wait.
    """

    attempts: int = 8
    total_s: float = 900.0
    first_s: float = 0.5
    most_s: float = 60.0


class _Endpoint:
    """One address: its limits, and until when it asked everybody to wait."""

    def __init__(self, url: str, concurrency: int) -> None:
        self.url = url
        self.open = 0
        self.slots = asyncio.Semaphore(concurrency)
        self.quiet_until = 0.0

    async def quiet(self) -> None:
        while (wait := self.quiet_until - time.monotonic()) > 0:
            await asyncio.sleep(wait)


class Client:
    """Asks models; holds the connections, the limits per endpoint, and what each model turned out to refuse.

    Use as an asynchronous context manager, within one event loop. `on_notice` hears what a user must know.
    """

    def __init__(
        self,
        concurrency: int = 8,
        retry: Retry = Retry(),  # noqa: B008 - frozen
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        self.concurrency, self.retry = concurrency, retry
        self._on_notice = on_notice
        self._endpoints: dict[str, _Endpoint] = {}
        self._limits: dict[tuple[str, str], tuple[aiolimiter.AsyncLimiter | None, aiolimiter.AsyncLimiter | None]] = {}
        self._refused: dict[str, set[str]] = {}
        # the semaphores bound what is open: httpx's own pool slows down with its size, aiohttp's doesn't
        limits = httpx.Limits(max_connections=0, max_keepalive_connections=None, keepalive_expiry=30)
        self._http = httpx.AsyncClient(
            transport=httpx_aiohttp.AiohttpTransport(limits=limits), follow_redirects=False, trust_env=True
        )

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def ask(
        self,
        model: Model,
        urls: tuple[str, ...],
        request: Mapping[str, Any],
        on_fault: Callable[[str, CallFailed, float | None], None] | None = None,
    ) -> Reply:
        """The reply to one request, asked again by the rules of `Retry`. Raises CallFailed when there is none.

        `on_fault(endpoint, fault, wait)` hears of every call that failed; `wait` is None when it was the last.
        """
        key = self._key(model)
        started, calls = time.monotonic(), 0

        def again(error: Exception) -> bool | float:
            """Whether to call again, and after how many seconds."""
            if not isinstance(error, CallFailed):
                return False
            wait = None
            if error.retry and calls < self.retry.attempts:
                grown = min(self.retry.most_s, self.retry.first_s * 2 ** (calls - 1))
                wait = max(grown, error.wait or 0.0) + random.uniform(0, grown)
                if time.monotonic() - started + wait > self.retry.total_s:
                    wait = None
                    error.stops = error.stops or (error.wait or 0.0) > self.retry.total_s
            if on_fault:
                on_fault(endpoint.url, error, wait)
            return False if wait is None else wait

        endpoint = self._pick(urls, model)
        async for attempt in stamina.retry_context(on=again, attempts=None, timeout=None):
            with attempt:
                calls += 1
                endpoint = self._pick(urls, model)
                reply = await self._once(model, endpoint, request, key)
                return replace(reply, attempts=calls)
        raise AssertionError("unreachable")

    def _key(self, model: Model) -> str | None:
        try:
            return model.key()
        except LookupError as error:
            raise CallFailed(str(error), "no key", stops=True) from None

    def _pick(self, urls: tuple[str, ...], model: Model) -> _Endpoint:
        """The least busy of a model's endpoints."""
        for url in urls:
            if url not in self._endpoints:
                self._endpoints[url] = _Endpoint(url, model.open_at_most(self.concurrency))
        return min((self._endpoints[url] for url in urls), key=lambda endpoint: endpoint.open)

    async def _once(self, model: Model, endpoint: _Endpoint, request: Mapping[str, Any], key: str | None) -> Reply:
        """One call, and at most a few more with the parameters left out or renamed that the endpoint refuses."""
        endpoint.open += 1
        try:
            async with endpoint.slots:
                await self._within_limits(model, endpoint, request)
                while True:
                    sent = self._sent(model, request)
                    try:
                        return await self._post(model, endpoint, sent, key)
                    except CallFailed as fault:
                        if fault.kind == "busy" and fault.wait:
                            endpoint.quiet_until = max(endpoint.quiet_until, time.monotonic() + fault.wait)
                        if fault.refused is None or fault.refused not in sent:
                            raise
                        self._refused.setdefault(model.name, set()).add(fault.refused)
                        if self._on_notice:
                            instead = RENAMED.get(fault.refused)
                            how = f"sent as {instead!r}" if instead else "left out"
                            self._on_notice(f"{model.name} refuses the parameter {fault.refused!r}: {how} from now on")
        finally:
            endpoint.open -= 1

    def _sent(self, model: Model, request: Mapping[str, Any]) -> dict[str, Any]:
        """The request as this model takes it, by what it has refused so far in this run."""
        refused = self._refused.get(model.name, ())
        sent: dict[str, Any] = {}
        for name, value in request.items():
            if name in refused:
                name = RENAMED.get(name, "")
            if name and not (name in refused):
                sent[name] = value
        return sent

    async def _within_limits(self, model: Model, endpoint: _Endpoint, request: Mapping[str, Any]) -> None:
        await endpoint.quiet()
        if model.requests_per_minute is None and model.tokens_per_minute is None:
            return
        name = (model.name, endpoint.url)
        if name not in self._limits:
            rates = (model.requests_per_minute, model.tokens_per_minute)
            self._limits[name] = tuple(aiolimiter.AsyncLimiter(rate, 60) if rate else None for rate in rates)  # type: ignore[assignment]
        requests, tokens = self._limits[name]
        if requests:
            await requests.acquire()
        if tokens:
            wanted = estimate_tokens(request["messages"]) + (
                request.get("max_completion_tokens") or request.get("max_tokens") or 0
            )
            await tokens.acquire(min(wanted, tokens.max_rate))

    async def _post(self, model: Model, endpoint: _Endpoint, sent: Mapping[str, Any], key: str | None) -> Reply:
        headers = {"content-type": "application/json", "user-agent": "cdct"}
        if key:
            headers["authorization"] = f"Bearer {key}"
        started = time.perf_counter()
        timeout = httpx.Timeout(connect=10, read=model.timeout_s, write=30, pool=None)
        try:
            response = await self._http.post(
                f"{endpoint.url}/chat/completions",
                content=to_json(sent).encode("utf-8", "replace"),
                headers=headers,
                timeout=timeout,
            )
            body = response.text
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise CallFailed(f"{endpoint.url}: {error}", "refused", stops=True) from error
        except httpx.TimeoutException as error:
            raise CallFailed(f"no answer from {endpoint.url}: {_reason(error)}", "timeout", retry=True) from error
        except (httpx.HTTPError, aiohttp.ClientError, OSError) as error:
            raise CallFailed(f"no connection to {endpoint.url}: {_reason(error)}", "connection", retry=True) from error
        latency = time.perf_counter() - started
        body = body.replace(key, "[key]") if key else body
        if response.status_code != 200:
            raise fault_of(response.status_code, response.headers, body)
        answer = read_answer(body)
        if answer["cost"] is None:
            answer["cost"] = _cost(model, answer)
        parameters = to_json({name: value for name, value in sent.items() if name not in ("messages", "model")})
        return Reply(latency_s=latency, endpoint=endpoint.url, parameters=parameters, attempts=1, raw=body, **answer)


def _reason(error: Exception) -> str:
    return f"{type(error).__name__} {error}".strip()


def _cost(model: Model, answer: Mapping[str, Any]) -> float | None:
    if answer["prompt_tokens"] is None or answer["completion_tokens"] is None:
        return 0.0 if model.price is None and model.is_local else None
    return model.price_of(answer["prompt_tokens"], answer["completion_tokens"], answer["cached_tokens"] or 0)


def estimate_tokens(messages: list[dict[str, Any]]) -> int:
    """About how many tokens a prompt has: a token for every four characters, and four for each message."""
    return sum(len(text_of(message.get("content"))) // 4 + 4 for message in messages)
