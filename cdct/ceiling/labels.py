"""Where a reply's labels stand: "Step 3:", "State 3 =", "3.", "ANSWER:", "TRACE", and what else begins a new part.

A number in running prose ("as in step 3 above") is no label. What is looked at around a match is short,
so that it all takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Label(NamedTuple):
    """A label: where it stands, of which kind it is, and its number (0 where it has none)."""

    start: int
    end: int
    kind: str
    number: int = 0


NOUNS = ("step", "state", "operation")
"""Kinds of numbered labels, the plainest first: the first one that any state follows holds the trace. After them come
bare numbers, "3." or "(3)"."""

_NOUN = re.compile(
    r"(?<![^\W_])(?:(?P<step>steps?(?:[ \t_]{0,3}(?:no|number|id|n)\b)?[ \t_.#:=\"'*-]{0,5})"
    r"|(?P<state>(?:states?|grids?|values|relations|result)[ \t_#-]{0,2}|s_?)"
    r"|(?P<operation>(?:operations?|op|event|update)[ \t_#-]{0,2})"
    r"|(?P<other>agents?[ \t_#-]{0,2}))(?P<number>\d{1,4})(?![^\W_]|\.\d)",
    re.IGNORECASE | re.ASCII,
)
_DELIMITER = r"=>|-{1,2}>?|[:=：|→⇒–—]"
_AFTER = re.compile(
    rf"(?:[ \t]{{0,3}}(?:of|/)[ \t]{{0,3}}\d{{1,4}})?"
    rf"[ \t\"'`*_)\]]{{0,8}}(?P<mark>{_DELIMITER}|>|[.,](?=\s|[\"'\[{{]))?"
)
_BARE_STATE = re.compile(r"[ \t]*(?:\n|\Z|[\[({<])|[ \t]+(?:[A-J]{1,2}[ \t]?[:=]|none\b)")
_RANGE = re.compile(r"[ \t]{0,3}(?:to|through|and|&|,)[ \t]{0,3}\d|[-–]\d", re.IGNORECASE)
_NUMBERED = re.compile(
    r"^[ \t>*_#\"'`•|(-]{0,8}(?P<number>\d{1,4})(?:[\"'`*_]{0,4}[.:)]{1,2}[\"'`*_)]{0,3}(?=[\s\[({\"'`*A-Z<]|\Z)"
    r"|[\"'`*_ \t]{0,4}(?:=>|->|[→⇒–—|-])[ \t]{0,4}(?![\s\d]))|\"(?P<key>\d{1,4})\"[ \t]{0,4}:",
    re.MULTILINE | re.ASCII,
)
_ANSWER = re.compile(
    r"(?<![^\W_])(?<!/)(?:final[ \t_-]{1,2})?answers?(?![^\W_])[ \t\"'`*_)\]]{0,8}(?:\([^()\n]{0,60}\)[ \t*_]{0,3})?"
    rf"(?P<mark>{_DELIMITER}|>|is\b[ \t]{{0,3}}:?|(?=\n|\Z))",
    re.IGNORECASE | re.ASCII,
)
_FINAL = re.compile(
    r"(?<![^\W_])(?:final|resulting)[ \t_]{1,3}(?:state|grid|values?|relations?|result|configuration|list)(?![^\W_])"
    r"[ \t\"'`*_)]{0,8}(?:(?:is|are)\b[ \t]{0,3}:?|=>|->|[:=→]|(?=\n))",
    re.IGNORECASE | re.ASCII,
)
_HEADING = re.compile(
    r"^[ \t>*_#\"'`{(\[-]{0,12}(?:(?P<trace>trace[ \t\"'`*_)]{0,6}(?:[:={]|$))"
    r"|(?P<other>operations(?![^\W_])[^:\n]{0,30}:)"
    r"|(?P<start>(?:start(?:ing)?|initial)(?:[ \t]{1,3}(?:state|grid|values|relations))?[ \t\"'*_]{0,4}[:=]))"
    r"|[\"'](?P<key>trace)[\"']\s{0,9}:",
    re.IGNORECASE | re.MULTILINE | re.ASCII,
)
_LINE_START = re.compile(r"[\W_]*(?:\d{1,3}[.)][\W_]*)?", re.ASCII)
_WORD_BEFORE = re.compile(r"(\bend of|\bresult of|[A-Za-z]+)[\s\"'`*_(\[{<#]*\Z")
_INLINE = {"after", "following", "at", "for", "end of", "result of", "ally", "allies", "rival", "rivals", "none"}


def labels_of(text: str) -> list[Label]:
    """The labels of a text in their order, but for bare numbers."""
    return _without_references(text, sorted([*_nouns(text), *_answers(text), *_headings(text)]))


def numbers_of(text: str) -> list[Label]:
    """The bare numbers at the start of lines, or as keys of JSON."""
    found = _NUMBERED.finditer(text)
    return [Label(match.start(), match.end(), "number", int(match["number"] or match["key"])) for match in found]


def _place(text: str, start: int) -> str:
    """Where a label stands: "line" (first on one), "inline" (something ended), "before" (that word), "" (in prose)."""
    left = text[max(0, start - 40) : start]
    line = left[left.rfind("\n") + 1 :]
    if ("\n" in left or start <= 40) and _LINE_START.fullmatch(line):
        return "line"
    word = _WORD_BEFORE.search(line)
    if word is None or word[1].lower() in _INLINE:
        return "inline"
    return "before" if re.search(r"\b(?:before|prior to|start of|beginning of)\W*\Z", line, re.IGNORECASE) else ""


def _nouns(text: str) -> Iterator[Label]:
    for match in _NOUN.finditer(text):
        after = _AFTER.match(text, match.end())
        kind = next(kind for kind in (*NOUNS, "other") if match[kind])
        place, mark = _place(text, match.start()), after and after["mark"]
        if kind != "step" and mark in (".", ","):
            mark = None
        end = after.end() if after and mark else match.end()
        bare = _BARE_STATE.match(text, after.end() if after else match.end()) is not None
        if not place or not (mark or (place == "line" and bare) or text.startswith(" (", match.end())):
            continue
        if place == "before" or (kind == "step" and _RANGE.match(text, match.end())):
            kind = "other"  # a state before a step is none after it, and one for several steps is none of theirs
        yield Label(match.start(), end, kind, int(match["number"]))


def _answers(text: str) -> Iterator[Label]:
    for match in _ANSWER.finditer(text):
        place, mark = _place(text, match.start()), match["mark"]
        if mark == "" and place != "line":
            continue
        plain = not mark.startswith("is") and (place in ("line", "inline") or match[0].startswith("ANSWER"))
        yield Label(match.start(), match.end(), "answer" if plain else "final")
    for match in _FINAL.finditer(text):
        yield Label(match.start(), match.end(), "final")


def _headings(text: str) -> Iterator[Label]:
    for match in _HEADING.finditer(text):
        kind = "trace" if match["trace"] or match["key"] else "other" if match["other"] else "start"
        yield Label(match.start(), match.end(), kind)


def _without_references(text: str, labels: list[Label]) -> list[Label]:
    """The labels but those that only say which state an answer is: "ANSWER (after step 5):"."""
    kept: list[Label] = []
    answer = Label(0, -1, "")
    for label in labels:
        if label.kind in NOUNS and label.start < answer.end + 60:
            between = text[answer.end : label.start]
            if label.start < answer.end or ("\n" not in between and re.search(r"\b(?:after|of|following) \Z", between)):
                continue
        if label.kind in ("answer", "final"):
            answer = label
        kept.append(label)
    return kept
