"""Asking an OpenAI-compatible endpoint: one asynchronous client with limits per endpoint and rules for asking again."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import aiolimiter
import httpx
import httpx_aiohttp

from cdct.answers import RENAMED, CallFailed, Reply, fault_of, filtered_answer, read_answer, text_of
from cdct.core import to_json
from cdct.models import LOOPBACK, Model
from cdct.redact import printable, without_key

CONNECT_S = 10
"""The longest wait for a connection, in seconds."""
MOST_BYTES = 32 * 2**20
"""A bigger answer is refused while it comes: no chat completion has that size, and it would be held in memory."""
UNREADABLE_CALLS = 3
"""The most calls for an answer that is none: what sends it is seldom passing, and each of them may be billed."""
DOWN_S = 30
"""For so long an address that could not be reached is passed over, where a model has others."""


@dataclass(frozen=True)
class Retry:
    """When a failed call is made again: at most `attempts` calls within `total_s` seconds.

    The wait grows from `first_s` by doubling up to `most_s`, with up to the same again of jitter. A server's
    Retry-After is the least wait; one that is longer than `total_s` stops the model, and so does `total_s` in which
    nothing of it was answered.
    """

    attempts: int = 8
    total_s: float = 900.0
    first_s: float = 0.5
    most_s: float = 60.0


class _Endpoint:
    """One address: its limits, until when it asked everybody to wait, and until when a copy of it is better asked."""

    def __init__(self, url: str, http: httpx.AsyncClient) -> None:
        self.url, self.http = url, http
        self.address = httpx.URL(f"{url}/chat/completions")
        self.open = self.most = 0
        self.slots = asyncio.Semaphore(0)
        self.quiet_until = self.down_until = 0.0

    def allow(self, concurrency: int) -> None:
        """Let at least so many calls be open: models that share an address may name different limits."""
        for _ in range(concurrency - self.most):
            self.slots.release()
        self.most = max(self.most, concurrency)

    async def quiet(self) -> None:
        while (wait := self.quiet_until - time.monotonic()) > 0:
            await asyncio.sleep(wait)


class Client:
    """Asks models; holds the connections, the limits per endpoint, and what each model turned out to refuse.

    Use as an asynchronous context manager, within one event loop. `on_notice` hears what a user must know. Proxies are
    taken from the environment (HTTPS_PROXY, NO_PROXY), but never for this machine.
    """

    def __init__(
        self,
        concurrency: int = 8,
        retry: Retry = Retry(),
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        self.concurrency, self.retry = concurrency, retry
        self._on_notice = on_notice
        self._endpoints: dict[str, _Endpoint] = {}
        self._limits: dict[tuple[str, str], tuple[aiolimiter.AsyncLimiter | None, aiolimiter.AsyncLimiter | None]] = {}
        self._refused: dict[str, set[str]] = {}
        self._https: dict[str | None, httpx.AsyncClient] = {}

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        for http in self._https.values():
            await http.aclose()

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
        while True:
            calls += 1
            endpoint = self._pick(urls, model)
            try:
                return replace(await self._once(model, endpoint, request, key), attempts=calls)
            except CallFailed as fault:
                gone = fault.kind == "connection"
                # a server on this machine that gives no connection has died: it does not come back by waiting
                wait = None if gone and model.gguf else self._wait(fault, calls, time.monotonic() - started)
                if gone:
                    endpoint.down_until = time.monotonic() + DOWN_S
                if fault.kind == "busy" and wait is not None and fault.wait:
                    endpoint.quiet_until = max(endpoint.quiet_until, time.monotonic() + fault.wait)
                if on_fault:
                    on_fault(endpoint.url, fault, wait)
                if wait is None:
                    raise
                await asyncio.sleep(wait)

    def _wait(self, fault: CallFailed, calls: int, elapsed: float) -> float | None:
        """The seconds after which a failed call is made again, or None when it is not."""
        if not fault.retry:
            return None
        if fault.wait is not None and fault.wait > self.retry.total_s:
            fault.stops = True  # nobody else will be answered sooner
            fault.args = (f"{fault} (asks to wait {fault.wait:.0f} s; at most {self.retry.total_s:.0f} s are waited)",)
            return None
        attempts = self.retry.attempts
        if calls >= (min(attempts, UNREADABLE_CALLS) if fault.kind == "unreadable" else attempts):
            return None
        grown = min(self.retry.most_s, self.retry.first_s * 2 ** (calls - 1))
        wait = max(grown, fault.wait or 0.0) + random.uniform(0, grown)
        return None if elapsed + wait > self.retry.total_s else wait

    def _key(self, model: Model) -> str | None:
        try:
            return model.key()
        except LookupError as error:
            raise CallFailed(str(error), "no key", stops=True) from None

    def _pick(self, urls: tuple[str, ...], model: Model) -> _Endpoint:
        """The least busy of a model's endpoints; one that is down or asked for a pause only when all are."""
        for url in urls:
            if url not in self._endpoints:
                try:
                    self._endpoints[url] = _Endpoint(url, self._http(url))
                except httpx.InvalidURL as error:
                    raise CallFailed(f"{url}: {error}", "refused", stops=True) from error
            self._endpoints[url].allow(model.open_at_most(self.concurrency))
        now = time.monotonic()
        return min(
            (self._endpoints[url] for url in urls),
            key=lambda endpoint: (max(endpoint.quiet_until, endpoint.down_until) > now, endpoint.open),
        )

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
                        if fault.refused is None or fault.refused not in sent:
                            raise
                        self._refuse(model, fault.refused)
        finally:
            endpoint.open -= 1

    def _refuse(self, model: Model, parameter: str) -> None:
        refused = self._refused.setdefault(model.name, set())
        if parameter not in refused and self._on_notice:
            instead = RENAMED.get(parameter)
            how = f"sent as {instead!r}" if instead else "left out"
            self._on_notice(f"{model.name} refuses the parameter {parameter!r}: {how} from now on")
        refused.add(parameter)

    def _sent(self, model: Model, request: Mapping[str, Any]) -> dict[str, Any]:
        """The request as this model takes it, by what it has refused so far in this run."""
        refused = self._refused.get(model.name, ())
        sent: dict[str, Any] = {}
        for name, value in request.items():
            if name in refused:
                name = RENAMED.get(name, "")
            if name and name not in refused:
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
        headers = {"content-type": "application/json", "user-agent": "cdct", "accept": "application/json"}
        if key:
            headers["authorization"] = f"Bearer {key}"
        timeout = httpx.Timeout(connect=CONNECT_S, read=model.timeout_s, write=30, pool=None)
        call = httpx.Request(
            "POST",
            endpoint.address,
            headers=headers,
            content=to_json(sent).encode("utf-8", "replace"),
            extensions={"timeout": timeout.as_dict()},
        )
        started = time.perf_counter()
        try:
            async with asyncio.timeout(model.timeout_s):  # the whole answer: a server may send blanks for ever
                response = await endpoint.http.send(call, stream=True)
                try:
                    content = bytearray()
                    async for part in response.aiter_bytes():
                        content += part
                        if len(content) > MOST_BYTES:
                            told = f"the answer of {endpoint.url} is larger than {MOST_BYTES / 2**20:g} MB"
                            raise CallFailed(told, "too large", status=response.status_code)
                finally:
                    await response.aclose()
            body = content.decode("utf-8-sig", "replace")
        except httpx.UnsupportedProtocol as error:
            raise CallFailed(f"{endpoint.url}: {error}", "refused", stops=True) from error
        except (httpx.HTTPError, aiohttp.ClientError, OSError) as error:
            # what the transport raised itself says more than what it calls it
            cause = error.__cause__ if isinstance(error, httpx.HTTPError) and error.__cause__ else error
            if isinstance(cause, TimeoutError | httpx.TimeoutException):
                told = f"no answer from {endpoint.url} within {model.timeout_s:g} s"
                if isinstance(cause, aiohttp.ConnectionTimeoutError):
                    told = f"no connection to {endpoint.url} within {CONNECT_S} s"
                raise CallFailed(told, "timeout", retry=True) from error
            told = f"no connection to {endpoint.url}: {type(cause).__name__} {cause}".strip()
            raise CallFailed(printable(told), "connection", retry=True) from error
        latency = time.perf_counter() - started
        try:
            if response.status_code != 200:
                raise fault_of(response.status_code, response.headers, body)
            answer = read_answer(body)
        except CallFailed as fault:
            fault.args = (without_key(str(fault), key, pieces=True),)
            if fault.kind != "filtered":
                raise
            answer = filtered_answer()
        answer = {name: without_key(value, key) if isinstance(value, str) else value for name, value in answer.items()}
        if answer["cost"] is None:
            answer["cost"] = _cost(model, answer)
        parameters = to_json({name: value for name, value in sent.items() if name not in ("messages", "model")})
        raw = without_key(body, key)
        return Reply(latency_s=latency, endpoint=endpoint.url, parameters=parameters, attempts=1, raw=raw, **answer)

    def _http(self, url: str) -> httpx.AsyncClient:
        """The connections to an address, through the proxy that the environment names for it."""
        parts = urlsplit(url)
        here = parts.hostname in LOOPBACK or proxy_bypass(parts.hostname or "")
        proxy = None if here else getproxies().get(parts.scheme) or getproxies().get("all")
        if proxy not in self._https:
            # the semaphores bound what is open: httpx's own pool slows down with its size, aiohttp's doesn't
            limits = httpx.Limits(max_connections=0, max_keepalive_connections=None, keepalive_expiry=30)
            through = httpx.Proxy(proxy) if proxy else None
            self._https[proxy] = httpx.AsyncClient(
                transport=httpx_aiohttp.AiohttpTransport(limits=limits, proxy=through)
            )
        return self._https[proxy]


def _cost(model: Model, answer: Mapping[str, Any]) -> float | None:
    if answer["prompt_tokens"] is None or answer["completion_tokens"] is None:
        return 0.0 if model.price is None and model.is_local else None
    return model.price_of(answer["prompt_tokens"], answer["completion_tokens"], answer["cached_tokens"] or 0)


def estimate_tokens(messages: list[dict[str, Any]]) -> int:
    """About how many tokens a prompt has: a token for every four characters, and four for each message."""
    return sum(len(text_of(message.get("content"))) // 4 + 4 for message in messages)
