"""Reading what an OpenAI-compatible endpoint sent: a `Reply` with an honest status, or the fault that it is.

A `Reply` may be truncated, refused, filtered or empty; a `CallFailed` says that the infrastructure failed. There is nothing
in between: an error is never turned into a reply.
"""

from __future__ import annotations

import email.utils
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

RETRIED = frozenset({408, 409, 425, 429})
"""HTTP statuses below 500 after which a call is made again; from 500 on all are."""
OUT_OF_MONEY = (
    "insufficient_quota",
    "billing",
    "credit",
    "spend limit",
    "spending limit",
    "payment",
    "exceeded your current quota",
)
TOO_LONG = (
    "context length",
    "context_length",
    "context size",
    "maximum context",
    "too many tokens",
    "prompt is too long",
)
RENAMED = {"max_tokens": "max_completion_tokens"}
OPTIONAL = ("temperature", "seed", "top_p", "response_format", "frequency_penalty", "presence_penalty", "logprobs")
"""Parameters that are left out when an endpoint refuses them."""
FINISH = {"max_tokens": "length", "model_length": "length", "max_output_tokens": "length", "end_turn": "stop"}
FILTERED = ("content_filter", "safety", "recitation", "prohibited_content", "blocklist", "spii", "image_safety")


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


class CallFailed(Exception):  # noqa: N818 - it names the outcome
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
    value = headers.get("retry-after-ms")
    scale = 1000.0
    if value is None:
        value, scale = headers.get("retry-after"), 1.0
    if value is None:
        return None
    try:
        seconds = float(value) / scale
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - (time.time() if now is None else now)
        except ValueError:
            return None
    return max(0.0, seconds) if seconds == seconds else None  # NaN is no wait


def fault_of(status: int, headers: Mapping[str, str], body: str) -> CallFailed:
    """What an error answer means: whether to call again, after how long, and whether the model is out of reach."""
    message, code, parameter = _error_parts(body)
    told = f"HTTP {status}: {message}" if message else f"HTTP {status}"
    lowered = f"{message} {code}".lower()
    if status == 402 or (status in (400, 403, 429) and any(mark in lowered for mark in OUT_OF_MONEY)):
        return CallFailed(told, "money", status=status, stops=True)
    if status in RETRIED or status >= 500:
        return CallFailed(
            told, "busy" if status in (429, 529) else "server", status=status, retry=True, wait=retry_after(headers)
        )
    if status in (400, 422):
        refused = _refused_parameter(lowered, parameter)
        if refused:
            return CallFailed(told, "parameter", status=status, refused=refused, stops=True)
        if any(mark in lowered for mark in TOO_LONG):
            return CallFailed(told, "too long", status=status)
        if "content_filter" in lowered or "content management policy" in lowered:
            return CallFailed(told, "filtered", status=status)
    remedy = {401: " (check the key)", 403: " (check the key's rights)", 404: " (check base_url and model)"}
    if 300 <= status < 400:
        told += f": redirects to {headers.get('location', 'elsewhere')!r} are not followed; correct base_url"
    return CallFailed(told + remedy.get(status, ""), "refused", status=status, stops=True)


def _error_parts(body: str) -> tuple[str, str, str]:
    """Message, code or type, and parameter of an error body in any of the usual shapes."""
    try:
        data = json.loads(body)
    except ValueError:
        return " ".join(body.split())[:300], "", ""
    error = data[0] if isinstance(data, list) and data else data
    error = error.get("error", error) if isinstance(error, dict) else error
    if not isinstance(error, dict):
        return str(error)[:300], "", ""
    message = error.get("message") or error.get("detail") or error.get("msg") or ""
    return str(message)[:500], f"{error.get('code') or ''} {error.get('type') or ''}", str(error.get("param") or "")


def _refused_parameter(lowered: str, parameter: str) -> str | None:
    """The request parameter that an error says it does not take, if it is one that we can do without or rename."""
    if not any(
        mark in lowered
        for mark in (
            "unsupported",
            "not support",
            "unrecognized",
            "unknown",
            "not permitted",
            "deprecated",
            "extra inputs",
            "does not match",
            "invalid",
        )
    ):
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
    except ValueError:
        raise CallFailed(f"the answer is not JSON: {body[:200]!r}", "unreadable", status=200, retry=True) from None
    if not isinstance(data, dict):
        raise CallFailed(f"the answer is not a chat completion: {body[:200]!r}", "unreadable", status=200, retry=True)
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
    error = data.get("error") or (choice or {}).get("error")
    if error:
        code = error.get("code") if isinstance(error, dict) else None
        status = int(code) if str(code).isdigit() and 300 <= int(code) < 600 else 502
        raise fault_of(status, {}, json.dumps({"error": error}))
    message = (choice or {}).get("message")
    if choice is None or not isinstance(message, dict):
        raise CallFailed(f"the answer has no choices: {body[:200]!r}", "unreadable", status=200, retry=True)
    text, refusal = text_of(message.get("content")), text_of(message.get("refusal"))
    reasoning = text_of(message.get("reasoning_content")) or text_of(message.get("reasoning"))
    told = choice.get("finish_reason")
    finish = None if told is None else FINISH.get(str(told).lower(), str(told))
    if finish is not None and finish.lower() in FILTERED:
        status, finish = "filtered", "content_filter"
    elif refusal:
        status, text = "refused", text or refusal
    elif finish == "length":
        status = "truncated"
    else:
        status = "ok" if text.strip() else "empty"
    usage = data.get("usage") if isinstance(data.get("usage"), dict) else {}
    prompt_details, completion_details = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    return {
        "text": text,
        "reasoning": reasoning or None,
        "status": status,
        "finish_reason": finish,
        "prompt_tokens": _count(usage.get("prompt_tokens")),
        "completion_tokens": _count(usage.get("completion_tokens")),
        "reasoning_tokens": _count((completion_details or {}).get("reasoning_tokens")),
        "cached_tokens": _count((prompt_details or {}).get("cached_tokens")),
        "cost": _money(usage.get("cost")),
        "served_model": data.get("model"),
        "fingerprint": data.get("system_fingerprint"),
        "provider": data.get("provider"),
    }


def text_of(content: Any) -> str:
    """Message content as one string: a string itself, the text parts of a list of parts, "" for anything else."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(
            part.get("text") or "" for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    return ""


def _count(value: Any) -> int | None:
    ok = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9
    return int(value) if ok else None


def _money(value: Any) -> float | None:
    ok = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e6
    return float(value) if ok else None
