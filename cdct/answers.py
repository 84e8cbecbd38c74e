"""Reading what an OpenAI-compatible endpoint sent: a `Reply` with an honest status, or the fault that it is.

A `Reply` may be truncated, refused, filtered or empty; a `CallFailed` says that the infrastructure failed. There is
nothing in between: an error is never turned into a reply.
"""

from __future__ import annotations

import email.utils
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cdct.core import to_json
from cdct.redact import printable

RETRIED = frozenset({408, 409, 425, 429})
"""HTTP statuses below 500 after which a call is made again; from 500 on all are."""
OUT_OF_MONEY = (
    *("insufficient_quota", "billing", "credit", "spend limit", "spending limit", "payment"),
    "exceeded your current quota",
)
PER_DAY = ("per-day", "per day", "perday", "daily")
"""A limit of this kind does not pass while a run waits, unless the answer says how long."""
FOR_A_WHILE = ("rate limit", "rate_limit", "per min", "per-min", "perminute", "try again in", "retry in")
"""A 429 that says so is a pause, even where it goes on to speak of credit and billing, as several providers do."""
TOO_LONG = (
    *("context length", "context_length", "context size", "maximum context", "too many tokens", "prompt is too long"),
)
RENAMED = {"max_tokens": "max_completion_tokens"}
OPTIONAL = ("temperature", "seed", "top_p", "response_format", "frequency_penalty", "presence_penalty", "logprobs")
"""Parameters that are left out when an endpoint refuses them."""
FINISH = {"end_turn": "stop"} | dict.fromkeys(
    ("max_tokens", "model_length", "max_output_tokens", "model_context_window_exceeded"), "length"
)
BROKEN_OFF = ("error", "abort")
"""Finish reasons of servers that gave up in the middle: no answer of the model, whatever text is there."""
NOT_TAKEN = (
    *("unsupported", "not support", "unrecognized", "unknown", "not permitted", "deprecated", "extra inputs"),
    *("does not match", "invalid", "may only", "cannot", "not allowed", "not available"),
)
FILTERED = ("content_filter", "safety", "recitation", "prohibited_content", "blocklist", "spii", "image_safety")
PROMPT_FILTERED = ("content_filter", "content management policy", "flagged", "content policy", "usage policy")
"""An error that says so is the provider's filter at work on the prompt: a status of the reply, not a failure."""


@dataclass(frozen=True)
class Reply:
    """An answered call. `status` is ok, truncated, refused, filtered or empty; token counts are None where not told."""

    text: str | None
    reasoning: str | None
    status: str
    finish_reason: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    cached_tokens: int | None
    latency_s: float
    cost: float | None
    served_model: str | None
    fingerprint: str | None
    provider: str | None
    endpoint: str
    parameters: str
    attempts: int
    raw: str


class CallFailed(Exception):
    """A call that got no answer. `kind` says how it failed; `stops` that no other call of this model can do better."""

    def __init__(
        self,
        message: str,
        kind: str,
        *,
        status: int | None = None,
        retry: bool = False,
        wait: float | None = None,
        stops: bool = False,
        refused: str | None = None,
    ) -> None:
        super().__init__(message)
        self.kind, self.status, self.retry, self.wait, self.stops = kind, status, retry, wait, stops
        self.refused = refused


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """The seconds to wait that a response asks for (`retry-after-ms`, seconds or an HTTP date), or None."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name, "")
        try:
            seconds = float(value) / scale
        except ValueError:
            try:
                seconds = email.utils.parsedate_to_datetime(value).timestamp() - (time.time() if now is None else now)
            except (ValueError, OverflowError):
                continue
        if seconds == seconds:  # NaN is no wait
            return max(0.0, seconds)
    return None


def fault_of(status: int, headers: Mapping[str, str], body: str) -> CallFailed:
    """What an error answer means: whether to call again, after how long, and whether the model is out of reach."""
    message, code, parameter = _error_parts(body)
    told = f"HTTP {status}: {message}" if message else f"HTTP {status}"
    lowered = f"{message} {code}".lower()
    wait = retry_after(headers)
    out = _says(lowered, OUT_OF_MONEY)
    if status == 429:
        out = (out and not _says(body.lower(), FOR_A_WHILE)) or (wait is None and _says(body.lower(), PER_DAY))
    if status == 402 or (status in (400, 403, 429) and out):
        return CallFailed(told, "money", status=status, stops=True)
    if status in RETRIED or status >= 500:
        kind = "busy" if status in (429, 529) else "server"
        return CallFailed(told, kind, status=status, retry=True, wait=wait)
    if status == 413:
        return CallFailed(told, "too long", status=status)
    if status in (400, 403, 422) and _says(lowered, PROMPT_FILTERED):
        return CallFailed(told, "filtered", status=status)
    if status in (400, 422):
        refused = _refused_parameter(lowered, parameter)
        if refused:
            return CallFailed(told, "parameter", status=status, refused=refused, stops=True)
        if _says(lowered, TOO_LONG):
            return CallFailed(told, "too long", status=status)
    remedy = {401: " (check the key)", 403: " (check the key's rights)", 404: " (check base_url and model)"}
    if 300 <= status < 400:
        told += f": redirects to {headers.get('location', 'elsewhere')!r} are not followed; correct base_url"
    return CallFailed(told + remedy.get(status, ""), "refused", status=status, stops=True)


def _says(text: str, marks: tuple[str, ...]) -> bool:
    return any(mark in text for mark in marks)


def _error_parts(body: str) -> tuple[str, str, str]:
    """Message, code or type, and parameter of an error body in any of the usual shapes."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return printable(" ".join(body.split())[:300]), "", ""
    error = data[0] if isinstance(data, list) and data else data
    error = error.get("error") or error if isinstance(error, dict) else error
    if not isinstance(error, dict):
        return printable(str(error)[:300]), "", ""
    message = error.get("message") or error.get("detail") or error.get("msg") or ""
    code = f"{error.get('code') or ''} {error.get('type') or ''}"
    return printable(str(message)[:500]), code, str(error.get("param") or "")


def _refused_parameter(lowered: str, parameter: str) -> str | None:
    """The request parameter that an error says it does not take, if it is one that we can do without or rename."""
    if not _says(lowered, NOT_TAKEN):
        return None
    known = (*RENAMED, *OPTIONAL)
    if parameter in known:
        return parameter
    return next(
        (
            name
            for name in known
            if f"'{name}'" in lowered or f"`{name}`" in lowered or f'"{name}"' in lowered or lowered.startswith(name)
        ),
        None,
    )


def read_answer(body: str) -> dict[str, Any]:
    """The fields of a `Reply` that stand in a chat completion. Raises CallFailed when the body is none."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise CallFailed(f"the answer is not JSON: {body[:200]!r}", "unreadable", status=200, retry=True) from None
    if not isinstance(data, dict):
        raise CallFailed(f"the answer is not a chat completion: {body[:200]!r}", "unreadable", status=200, retry=True)
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
    error = data.get("error") or (choice or {}).get("error")
    if error:
        code = error.get("code") if isinstance(error, dict) else None
        status = int(code) if str(code).isdecimal() and 300 <= int(code) < 600 else 502
        raise fault_of(status, {}, json.dumps({"error": error}))
    message = (choice or {}).get("message")
    if choice is None or not isinstance(message, dict):
        raise CallFailed(f"the answer has no choices: {body[:200]!r}", "unreadable", status=200, retry=True)
    told = choice.get("finish_reason")
    finish = None if told is None else FINISH.get(str(told).lower(), str(told).lower())
    if finish in BROKEN_OFF:
        raise CallFailed(f"the server broke the answer off: finish_reason {told!r}", "server", status=200, retry=True)
    text, refusal = text_of(message.get("content")), text_of(message.get("refusal"))
    reasoning = text_of(message.get("reasoning_content")) or text_of(message.get("reasoning"))
    if finish in FILTERED:
        status, finish = "filtered", "content_filter"
    elif refusal or finish == "refusal":
        status, text = "refused", text or refusal
    elif finish == "length":
        status = "truncated"
    else:
        status = "ok" if text.strip() else "empty"
    usage = _part(data, "usage")
    return {
        "text": text,
        "reasoning": reasoning or None,
        "status": status,
        "finish_reason": finish,
        **_tokens(usage),
        "cost": _money(usage.get("cost")),
        "served_model": _name(data.get("model")),
        "fingerprint": _name(data.get("system_fingerprint")),
        "provider": _name(data.get("provider")),
    }


def filtered_answer() -> dict[str, Any]:
    """The fields of a `Reply` to a prompt that the provider's filter did not let through."""
    return read_answer('{"choices": [{"message": {}, "finish_reason": "content_filter"}]}')


def simulated_reply(answer: Callable[..., str], name: str, request: Mapping[str, Any], sample: int) -> Reply:
    """The `Reply` of a simulated subject to a request; no time passes and no tokens are counted.

    Whatever its function raises is a CallFailed with that text.
    """
    try:
        text = answer(json.loads(to_json(request)), sample)
    except Exception as error:  # it is the subject's own, and this call's alone
        raise CallFailed(f"{type(error).__name__}: {error}", "simulated") from error
    if not isinstance(text, str):
        raise CallFailed(f"answered with {type(text).__name__}, not with a text", "simulated")
    message = {"role": "assistant", "content": text_of(text)}
    raw = to_json({"choices": [{"message": message}], "provider": "simulated", "usage": {"cost": 0}})
    parameters = to_json({name: value for name, value in request.items() if name not in ("messages", "model")})
    return Reply(latency_s=0.0, endpoint=name, parameters=parameters, attempts=1, raw=raw, **read_answer(raw))


def text_of(content: Any) -> str:
    """Message content as one string: a string itself, the text parts of a list of parts, "" for anything else."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(text for text in texts if isinstance(text, str))
    # half of a surrogate pair has no place in UTF-8: it stands as its escape from here on, in the frame as in the store
    return content.encode("utf-8", "backslashreplace").decode() if isinstance(content, str) else ""


def _part(mapping: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = mapping.get(name)
    return part if isinstance(part, Mapping) else {}


def _tokens(usage: Mapping[str, Any]) -> dict[str, int | None]:
    """The token counts of a call. What was thought counts as completion, since it is billed as that.

    Some count the thinking in the total alone (Gemini), or beside the completion: what the total has above prompt and
    completion is then taken to be it.
    """
    prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    reasoning = _count(_part(usage, "completion_tokens_details").get("reasoning_tokens"))
    total = _count(usage.get("total_tokens"))
    if total is not None and prompt is not None and total > prompt + (completion or 0):
        if reasoning is None and completion is not None:
            reasoning = total - prompt - completion
        completion = total - prompt
    cached = _count(_part(usage, "prompt_tokens_details").get("cached_tokens"))
    counts = (prompt, completion, reasoning, cached)
    return dict(zip(("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens"), counts, strict=True))


def _name(value: Any) -> str | None:
    return None if value is None else text_of(value) or str(value)


def _count(value: Any) -> int | None:
    ok = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9
    return int(value) if ok else None


def _money(value: Any) -> float | None:
    ok = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e6
    return float(value) if ok else None
