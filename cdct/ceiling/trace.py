"""What a reply says: the state after each step, by the number that the reply gives it, the answer, and what was odd.

Regular expressions find labels ("Step 3:", "ANSWER:"), the domain reads what stands between them. A label must be plain
before a looser one counts, and nothing is repaired: what can't be read is no state. Linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from cdct.ceiling.domains import DOMAINS, Domain, Reading, State
from cdct.ceiling.labels import NOUNS, Label, labels_of, numbers_of
from cdct.extract import strip_reasoning


@dataclass(frozen=True)
class ReplyTrace:
    """What a reply says.

    steps: declared number (from 1) -> state; None where a state was begun and can't be read. A number without anything
        like a state (an echoed template, a restated operation, "unchanged") is not in it.
    answer: the state after the last ANSWER; None where there is none, or none that can be read.
    flags: of the states as in `cdct.ceiling.domains.Reading`; of the reply: label (labels other than "Step 3:" and
        "ANSWER:"), steps_unordered, steps_repeated (a number twice: the last state counts), steps_revised (twice, with
        different states), steps_unreadable, steps_empty (a number without a state), answer_repeated, answer_revised,
        answer_unreadable, those of `cdct.extract.strip_reasoning`.
    unfinished: whether the text ends inside a structure: an open bracket or block, a separator, a label without more.
    last: the step whose state ends the text, 0 for the answer, None for neither: a cut may have shortened it.
    answer_text: what stands after the label of the answer. text: the reply without its reasoning blocks.
    """

    steps: dict[int, State | None]
    answer: State | None
    flags: tuple[str, ...] = ()
    unfinished: bool = False
    last: int | None = None
    answer_text: str = ""
    text: str = ""


_BLANKS = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u200b": None, "\ufeff": None})
_STOPS = (*NOUNS, "other", "trace", "start", "answer")
_PROSE = re.compile(r"\n[ \t>*_#-]{0,9}(?!(?:and|or|are|is|none)\b)(?:[A-Za-z][\w'’-]{0,30},?[ \t]{1,9}){2}[A-Za-z]")
"""A line that begins with three words: what was stated before it is over."""
_LIST_MARK = re.compile(r"\n[ \t>*_#-]{0,9}\d{1,3}[.)]\Z")
_TEMPLATE = re.compile(r"[\W_]*(?:<[^<>\n]{0,80}>|(?:the )?(?:final )?state)?[\W_]*", re.ASCII | re.IGNORECASE)


def read_reply(domain: str | Domain, text: str, arm: str = "trace") -> ReplyTrace:
    """The steps and the answer of a reply, whatever its layout; see `ReplyTrace`.

    The last ANSWER wins. Steps go by their declared number, never by their place; of one number the last state counts.
    Where the word TRACE heads several traces, the last one counts. In the arm `scratchpad` a reply is one state, its
    answer.
    """
    domain = DOMAINS[domain] if isinstance(domain, str) else domain
    body, odd = strip_reasoning(text)
    cut = "reasoning_unclosed" in odd
    if arm == "scratchpad":  # read just as the prompt of the next turn reads it
        reading = domain.read(body)
        flags = ("answer_unreadable",) if reading.state is None else reading.flags
        return ReplyTrace({}, reading.state, (*odd, *flags), cut or _ends_inside(body, body), 0, body, body)
    body = body.replace("\r\n", "\n").replace("\r", "\n").translate(_BLANKS)
    labels = labels_of(body)
    steps, last, step_flags = _trace(domain, body, labels)
    answer, ends, said, answer_flags = _answer(domain, body, labels)
    rest = body[labels[-1].end :] if labels else body
    unfinished = cut or _ends_inside(body, rest) or (bool(labels) and not rest.strip("\n \t\"'`*_"))
    flags = tuple(dict.fromkeys([*odd, *step_flags, *answer_flags]))
    return ReplyTrace(steps, answer, flags, unfinished, 0 if ends else last, said, body)


def _ends_inside(text: str, rest: str) -> bool:
    """Whether a text ends inside a structure; `rest` is what stands after its last label."""
    end = rest[-40:].rstrip("\n \t\"'`*_")
    # a state may lie in a JSON object that began long before it; other brackets in prose need not be closed
    return (
        end.endswith((",", ":", "=", "[", "{", "(", "->", "→"))
        or any(rest.count(one) > rest.count(other) for one, other in ("[]", "()"))
        or text.count("{") > text.count("}")
    )


# --------------------------------------------------------------------------------------------------------------- trace


def _trace(domain: Domain, text: str, labels: list[Label]) -> tuple[dict[int, State | None], int | None, list[str]]:
    """The states of the trace by number, the one that ends the text, and what was odd."""
    empty: list[str] = []
    for kind in (*NOUNS, "number"):
        if kind == "number":
            # after an answer, such numbers count its parts
            until = next((label.start for label in labels if label.kind == "answer"), len(text))
            labels = sorted([*labels, *numbers_of(text[:until])])
        found = [block for block in _blocks(domain, text, labels, kind) if block.label.number]
        # an operation that is restated is no state, whatever the label
        read = [block for block in found if not {"absent", "told"} & set(block.reading.flags)]
        if read:
            break
        empty = ["steps_empty"] if found and kind == NOUNS[0] else empty
    else:
        return {}, None, empty
    heads = [label.start for label in labels if label.kind == "trace" and label.start < read[-1].label.start]
    flags = ["steps_repeated"] if heads and read[0].label.start < heads[-1] else []
    steps: dict[int, State | None] = {}
    for label, reading, _, _ in read:
        if heads and label.start < heads[-1]:
            continue
        if label.number in steps:
            flags += ["steps_repeated"] + ["steps_revised"] * (steps[label.number] != reading.state)
        steps[label.number] = reading.state
        flags += _odd(reading, "steps_unreadable") + ["label"] * (_written(text, label) != f"Step {label.number}:")
    flags += ["steps_unordered"] if [*steps] != sorted(steps) else []
    flags += ["steps_empty"] if any(block.label.number not in steps for block in found) else []
    return steps, read[-1].label.number if read[-1].ends else None, flags


class Block(NamedTuple):
    """A label, what is read after it, whether that ends the text, and its words."""

    label: Label
    reading: Reading
    ends: bool
    said: str


ABSENT = ("absent",)


def _blocks(domain: Domain, text: str, labels: list[Label], kind: str) -> Iterator[Block]:
    """The steps of a kind of label, each with all that stands up to the next label of another step or part."""
    for place, label in enumerate(labels):
        if label.kind != kind:
            continue
        parts, at, end, looked = [], label.end, len(text), False
        for after in range(place + 1, len(labels)):
            other = labels[after]
            if other.start < at or other.kind == "start":
                continue
            if other.kind == "final":  # it may introduce the state of this step, or another one after it
                if looked or _state(domain, text[at : other.start])[0].flags == ABSENT:
                    looked = True
                    continue
            elif other.kind != kind and other.number == label.number and other.kind in NOUNS:
                parts.append(text[at : other.start])
                at = other.end
                continue
            end = other.start
            break
        block = "\n".join([*parts, text[at:end]])
        if text[label.start - 1 : label.start] in ('"', "'"):
            block = _enclosed(block)
        reading, over = _state(domain, block)
        yield Block(label, reading, end == len(text) and not over, block)


def _enclosed(block: str) -> str:
    """A block up to where the object closes that holds its label, so that no state of the next object is taken."""
    depth = 0
    for match in re.finditer(r"[\[\]{}]", block):
        depth += 1 if match[0] in "[{" else -1
        if depth < 0:
            return block[: match.start()]
    return block


def _state(domain: Domain, block: str, answer: bool = False) -> tuple[Reading, bool]:
    """What a block says, and whether prose follows: it does not undo a state that stands whole in the lines before."""
    restated = False
    for match in islice(_PROSE.finditer(block), 4):
        before = block[: match.start()].rstrip()
        if before and before[-1] not in ",;:&|-":
            reading = domain.read(_clean(before))
            if "told" in reading.flags:  # an operation: its state is yet to come
                restated = True
            elif (
                reading.state is not None
                and (answer or restated or "prose" not in reading.flags)
                and not _goes_on(domain, reading, block[match.start() : _line_end(block, match.end())])
            ):
                return Reading(reading.state, tuple(dict.fromkeys((*reading.flags, "prose")))), True
    return domain.read(_clean(block)), False


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _goes_on(domain: Domain, reading: Reading, line: str) -> bool:
    """Whether a line of words after a state is more of it: sentences can be its parts."""
    after = domain.read(_clean(line))
    if "wording" in reading.flags:
        return after.flags != ABSENT
    return after.state is not None and not {"told", "prose"} & set(after.flags)


def _clean(block: str) -> str:
    """A block without the marks that belong to the label after it."""
    block = block.rstrip(" \t\n,;\"'`*_|>#(<-")
    mark = _LIST_MARK.search(block, max(0, len(block) - 20))
    return block[: mark.start()] if mark else block


def _odd(reading: Reading, unreadable: str) -> list[str]:
    return [unreadable] if reading.state is None else list(reading.flags)


def _written(text: str, label: Label) -> str:
    """A label with all that stands before it on its line."""
    return text[text.rfind("\n", max(0, label.start - 40), label.start) + 1 : label.end]


# --------------------------------------------------------------------------------------------------------------- answer


def _answer(domain: Domain, text: str, labels: list[Label]) -> tuple[State | None, bool, str, list[str]]:
    """The state of the last answer, whether it ends the text, its words, and what was odd."""
    said = [
        block
        for block in _answer_blocks(domain, text, labels, "answer")
        if block.reading.flags != ABSENT or not _TEMPLATE.fullmatch(block.said[:200])
    ]
    if not said or said[-1].reading.flags == ABSENT:  # no plain answer: a final state in other words will do
        after = said[-1].label.start if said else -1
        loose = _answer_blocks(domain, text, labels, "final")
        said = [block for block in loose if block.label.start > after and block.reading.flags != ABSENT] or said
    if not said:
        return None, False, "", []
    label, reading, ends, block = said[-1]
    earlier = [block.reading.state for block in said[:-1] if block.reading.flags != ABSENT]
    flags = ["label"] if _written(text, label) != "ANSWER:" else []
    flags += ["answer_repeated"] * bool(earlier) + ["answer_revised"] * any(one != reading.state for one in earlier)
    return reading.state, ends, block, flags + _odd(reading, "answer_unreadable")


def _answer_blocks(domain: Domain, text: str, labels: list[Label], kind: str) -> Iterator[Block]:
    """The answers of a kind of label, each with all that stands up to the next label that is no "final"."""
    for place, label in enumerate(labels):
        if label.kind == kind:
            after = (labels[index] for index in range(place + 1, len(labels)))
            stops = (other.start for other in after if other.kind in (kind, *_STOPS) and other.start >= label.end)
            end = next(stops, len(text))
            reading, over = _state(domain, text[label.end : end], answer=True)
            yield Block(label, reading, end == len(text) and not over, text[label.end : end].strip())
