"""From a judge's text to its ballot. What is not stated plainly is missing, with a reason; nothing is guessed.

A JSON object is wanted; where there is none, labels in words are read (see `cdct.verdict`). Linear time.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cdct.extract import strip_reasoning
from cdct.verdict import BEGINS, METRICS, Verdict, in_words, judged, judged_text, label_of, masked, number_alone


@dataclass(frozen=True)
class Ballot:
    """What one judge says of one reply, each value on the judge's scale, None where it states none.

    `score` is the verdict of a ballot without metric labels. `status` is the first of these that holds:

    - empty: nothing is left once the reasoning is taken out (truncated, where that used up the token limit)
    - truncated: a verdict was cut off, by the token limit or within a JSON object
    - out_of_range: a verdict lies outside 0..scale
    - parse_error: a verdict is no plain number, or there is no verdict at all
    - partial: only some of the three metrics are stated
    - ok: all three are, or the one score

    Metrics that could be read are kept whatever the status; the reason of each missing one is a flag, "SA:missing".
    The other flags: words (labels in words, no JSON), number (nothing but a number), repaired (an object that is not
    valid JSON), string ("7"), fraction ("7/10" on a scale of 10), other_scale (the label names another range), wide
    (full-width digits), duplicate (one object says it twice, differently), revised (a later verdict replaced another),
    contradicted (words after the JSON say something else), truncated (the token limit, or an object that is never
    closed), and those of `strip_reasoning`.
    """

    cc: float | None = None
    sa: float | None = None
    fc: float | None = None
    score: float | None = None
    status: str = "ok"
    flags: tuple[str, ...] = ()

    def value(self, metric: str) -> float | None:
        """The value of CC, SA or FC."""
        return {"CC": self.cc, "SA": self.sa, "FC": self.fc}[metric]

    def reason(self, metric: str) -> str:
        """Why CC, SA or FC has no value; "" where it has one."""
        if self.value(metric) is not None:
            return ""
        told = [flag.removeprefix(f"{metric}:") for flag in self.flags if flag.startswith(f"{metric}:")]
        return told[0] if told else "missing" if self.status == "ok" else self.status


def parse_ballot(text: str, scale: float = 10, finish_reason: str | None = None) -> Ballot:
    """The verdicts that a judge's text states on 0..scale. Never raises for a text; ValueError for a senseless scale.

    Reasoning blocks go first. JSON objects come before words: the last complete one that carries a verdict wins, with
    those before it as long as no label repeats. Else labels in words: the last explicit verdict of each. Else a text
    that is nothing but a number. Never a verdict: a range ("0-10"), a fraction without a label, a number in prose, a
    number that goes on in another way ("8,5", "8.5.2", "70%", "7-8", "1O"). "7/10" states 7 where the scale is 10.
    "1e1" is 10, "+7" is 7, "-0" is 0. Nothing is rescaled, clamped or completed: an object that is never closed is cut
    off, and what else stands there may be a draft that the lost part was to replace.
    """
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 < scale < math.inf:
        raise ValueError(f"parse_ballot: scale must be a number above 0, got {scale!r}")
    kept, told = strip_reasoning(text)
    flags, cut = list(told), finish_reason == "length"
    if not kept:
        return Ballot(status="truncated" if cut else "empty", flags=told)
    spans, unfinished = _objects(kept)
    if unfinished:
        return Ballot(status="truncated", flags=(*told, "truncated"))
    if cut:
        flags.append("truncated")
    verdicts = _in_objects(kept, spans, scale)
    words = in_words(masked(kept, spans), scale, cut)
    if verdicts:
        later = {verdict.label: verdict.says for verdict in words if verdict.at >= verdicts[-1].at}
        if any(verdict.label in later and later[verdict.label] != verdict.says for verdict in verdicts):
            flags.append("contradicted")
    elif words:
        verdicts = words
        flags.append("words")
    elif alone := number_alone(kept, scale):
        # cut off, it may be the beginning of another number
        verdicts = [alone._replace(value=None, reason="truncated") if cut else alone]
    return _ballot(verdicts, flags, cut)


def _ballot(verdicts: list[Verdict], flags: list[str], cut: bool) -> Ballot:
    last: dict[str, Verdict] = {}
    for verdict in verdicts:
        if verdict.label in last and last[verdict.label].says != verdict.says:
            flags.append("revised")
        last[verdict.label] = verdict
    for verdict in last.values():
        flags += verdict.flags
    if not set(METRICS) & set(last):
        only = last.get("score", Verdict(0, "score", None, "truncated" if cut else "parse_error"))
        return Ballot(score=only.value, status=only.reason or "ok", flags=tuple(dict.fromkeys(flags)))
    absent = Verdict(0, "", None, "truncated" if cut else "missing")
    found = [last.get(metric, absent) for metric in METRICS]
    reasons = [verdict.reason for verdict in found]
    flags += [f"{metric}:{reason}" for metric, reason in zip(METRICS, reasons, strict=True) if reason]
    status = next((name for name in ("truncated", "out_of_range", "parse_error") if name in reasons), "")
    status = status or ("parse_error" if all(reasons) else "partial" if any(reasons) else "ok")
    cc, sa, fc = (verdict.value for verdict in found)
    return Ballot(cc, sa, fc, None, status, tuple(dict.fromkeys(flags)))


# -------------------------------------------------------------------------------------------------------------- objects

_TOKEN = re.compile(r'\\.|"(?:[^"\\\n]++|\\.)*+"|[{}]', re.DOTALL)
DEEPEST = 20
"""Objects and lists that are nested deeper than this hold no verdict."""


class _Pairs(list):
    """The pairs of a JSON object, those with the same key included."""


class _Token(str):
    """A number, or NaN or Infinity, as it stands in a JSON text."""

    __slots__ = ()


_READ = {"object_pairs_hook": _Pairs, "parse_int": _Token, "parse_float": _Token, "parse_constant": _Token}
_DECODERS = [json.JSONDecoder(**_READ, strict=strict) for strict in (True, False)]  # type: ignore[arg-type]


def _objects(text: str) -> tuple[list[tuple[int, int]], bool]:
    """Where the outermost closed braces stand, and whether an object is begun that is never closed."""
    stack: list[int] = []
    closed: list[tuple[int, int]] = []
    at = 0
    while True:
        if not stack:  # outside of braces a quotation mark begins no string
            at = text.find("{", at) + 1
            if at == 0:
                break
            stack.append(at - 1)
        token = _TOKEN.search(text, at)
        if token is None:
            break
        at = token.end()
        if token[0] == "{":
            stack.append(token.start())
        elif token[0] == "}":
            start = stack.pop()
            while closed and closed[-1][0] > start:
                closed.pop()
            closed.append((start, at))
    return closed, any(BEGINS.match(text, start + 1) for start in stack)


def _in_objects(text: str, spans: list[tuple[int, int]], scale: float) -> list[Verdict]:
    """The verdicts of the last object that carries any, and of those before it as long as no label repeats.

    Their place is the end of their object.
    """
    kept: dict[str, Verdict] = {}
    for start, end in spans:
        found: dict[str, Verdict] = {}
        for verdict in _in_object(text[start:end], scale):
            before = found.get(verdict.label)
            if before and before.says != verdict.says:
                verdict = verdict._replace(flags=(*verdict.flags, "duplicate"))
                if "repaired" in verdict.flags:  # in what is no JSON, nothing says which of the two is the key's
                    verdict = verdict._replace(value=None, reason="parse_error")
            found[verdict.label] = verdict._replace(at=end)
        again = set(found) & set(kept)
        if any(kept[label].says != found[label].says for label in again):
            found = {label: verdict._replace(flags=(*verdict.flags, "revised")) for label, verdict in found.items()}
        kept = found if again else kept | found
    return list(kept.values())


def _in_object(text: str, scale: float) -> list[Verdict]:
    for decoder in _DECODERS:
        try:
            node = decoder.decode(text)
        except (ValueError, RecursionError):
            continue
        flags = () if decoder.strict else ("repaired",)
        found = [_scalar(label, value, scale) for label, value in _labelled(node, None)]
        return [verdict._replace(flags=(*verdict.flags, *flags)) for verdict in found]
    return [verdict._replace(flags=(*verdict.flags, "repaired")) for verdict in in_words(text, scale)]


def _labelled(node: Any, outer: str | None, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The labels of an object and their values, as they may be nested: {"CC": {"score": 7}}, {"scores": [...]}."""
    if depth > DEEPEST:
        return
    if isinstance(node, _Pairs):
        labels = [label_of(key) for key, _ in node]
        named = [label_of(value) for _, value in node if isinstance(value, str) and label_of(value) in METRICS]
        if len(named) == 1 and not set(METRICS) & set(labels):
            outer = named[0]  # {"metric": "CC", "score": 7}
        for label, (key, value) in zip(labels, node, strict=True):
            if label == "score" or (key.lower() == "value" and outer):
                label = outer or "score"
            nested = isinstance(value, list) and any(isinstance(part, list | tuple) for part in value)
            if isinstance(value, _Pairs) or nested:
                yield from _labelled(value, label if label in METRICS else outer, depth + 1)
            elif label:
                yield label, value
    elif isinstance(node, list):
        for part in node:
            yield from _labelled(part, outer, depth + 1)


def _scalar(label: str, value: Any, scale: float) -> Verdict:
    """The verdict of a value of a JSON object."""
    if value is None:
        return Verdict(0, label, None, "missing")
    if isinstance(value, _Token):
        plain = value[-1].isdigit() and len(value) <= 400  # NaN and Infinity are no numbers
        return judged(label, value, scale) if plain else Verdict(0, label, None, "parse_error")
    if isinstance(value, str):
        verdict = judged_text(label, value, scale)
        return verdict._replace(flags=(*verdict.flags, "string"))
    return Verdict(0, label, None, "parse_error")
