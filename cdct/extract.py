"""From a raw reply to what is scored: reasoning blocks go, and what was odd about the reply is said, never repaired.

Flags of `strip_reasoning`

| flag | what it says |
|---|---|
| reasoning | a reasoning block was taken out |
| reasoning_unopened | only its closing mark was there; what stood before it was taken out |
| reasoning_unclosed | it was never closed; all after its opening mark was taken out |

Further flags of `extract_answer`; exactly one of the first four is there

| flag | what it says |
|---|---|
| tag_ok | the answer stood in one pair of tags as asked for, and no other answer tag was there |
| tag_odd | it stood in a pair of tags, with one of the oddities below |
| tag_unclosed | its tag was never closed; it goes on to the end |
| no_tag | no usable tag was there; the answer is the whole text |
| tag_unopened | with no_tag: a closing tag was there and was taken out |
| tag_repeated | several pairs; the last one with a letter or digit counts |
| tag_nested | a pair within the pair; all of the outer one counts, the inner tags are taken out |
| tag_stray | unpaired answer tags beside the answer or in it |
| tag_loose | a tag with blanks, capitals, attributes or the slash in a wrong place |
| tag_quoted | tags only spoken of ("in <answer> tags", "between <answer> and </answer>") were passed over |
| outside_text | words outside the tags, which do not count |
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_MARK = re.compile(r"<(/?)(think|thinking|reasoning|thought)>", re.IGNORECASE)


@dataclass(frozen=True)
class Extraction:
    """The text to score, its status ("ok", "truncated", "refused" or "empty") and flags that say how it was found.

    `answer_start` is where it starts in the reply, in code points, to be added to spans of `Text(answer)`; None where
    the answer is no contiguous piece of the reply, or is empty.
    """

    answer: str
    status: str
    flags: tuple[str, ...] = ()
    answer_start: int | None = field(default=None, compare=False)


def strip_reasoning(text: str) -> tuple[str, tuple[str, ...]]:
    """`text` without its reasoning blocks, and flags: reasoning, reasoning_unopened, reasoning_unclosed.

    Marks that are only spoken of are none: in quotation marks or ticks, or followed by a word like "tags" in the middle
    of a sentence. A closing mark without an opening one ends a block that began with the reply (some servers cut the
    opening mark). A block that is never closed goes on to the end. Nested marks belong to the outermost block. Where a
    block stood inside the text, a space parts what it parted. Linear time.
    """
    joined, _, flags = _outside_reasoning(text)
    return joined.strip(), flags


def _outside_reasoning(text: str) -> tuple[str, list[tuple[int, int]], tuple[str, ...]]:
    """The stretches of the text that are outside of reasoning blocks: joined, and their places; and the flags."""
    kept: list[tuple[int, int]] = []
    flags: list[str] = []
    depth, start = 0, 0
    for mark in _reasoning_marks(text):
        if not mark[1]:
            if depth == 0:
                kept.append((start, mark.start()))
            depth += 1
            continue
        if depth == 0:
            kept.clear()
            flags.append("reasoning_unopened")
        else:
            flags.append("reasoning")
        depth = max(0, depth - 1)
        if depth == 0:
            start = mark.end()
    if depth:
        flags.append("reasoning_unclosed")
    else:
        kept.append((start, len(text)))
    return " ".join(text[start:end] for start, end in kept), kept, tuple(dict.fromkeys(flags))


def _reasoning_marks(text: str) -> list[re.Match[str]]:
    """The marks of reasoning blocks that are not only spoken of."""
    marks: list[re.Match[str]] = []
    named = False  # whether the mark before opens a pair that a sentence names
    every = list(_MARK.finditer(text))
    for number, mark in enumerate(every):
        start, end = mark.span()
        if mark[1] and named:
            named = False
            continue
        prose = not mark[1] and _in_prose(text, start)
        after = every[number + 1] if number + 1 < len(every) else mark
        named = prose and bool(after[1]) and _JOINED.fullmatch(text, end, after.start()) is not None
        if not (named or _is_quoted(text, start, end) or (prose and _SPOKEN_OF.match(text, end))):
            marks.append(mark)
    return marks


def _start(answer: str, joined: str, kept: list[tuple[int, int]], low: int = 0) -> int | None:
    """Where in the reply the answer starts, which stands from `low` on in the reply's kept stretches, joined."""
    place = joined.find(answer, low) if answer else -1
    for start, end in kept:
        if 0 <= place <= end - start - len(answer):
            return start + place
        place -= end - start + 1
    return None


def extract_text(reply: str | None, finish_reason: str | None = None) -> Extraction:
    """The whole reply but its reasoning blocks, for tasks that ask for no answer tags.

    A reply that hit its token limit is "truncated" and scored on what is there; one with nothing left is "empty".
    """
    joined, kept, flags = _outside_reasoning(reply or "")
    answer = joined.strip()
    status = "truncated" if finish_reason == "length" else "ok" if answer else "empty"
    return Extraction(answer, status, flags, _start(answer, joined, kept))


_LEAD_IN = 20
"""How far before a tag the words of its sentence are looked for."""


def _is_quoted(text: str, start: int, end: int) -> bool:
    """Whether a tag stands in quotation marks or ticks by itself."""
    return text[max(0, start - 1) : start] + text[end : end + 1] in _QUOTES


def _in_prose(text: str, start: int) -> bool:
    """Whether what starts here stands in the middle of a sentence."""
    return text[max(0, start - _LEAD_IN) : start].rstrip(" \t\"'`")[-1:] not in ("", *"\n.!?:>")


_TAG = re.compile(r"<\s{0,9}([/\\]?)\s{0,9}answer(\s[^<>]{0,200}|/)?\s{0,9}>", re.IGNORECASE)
_SPOKEN_OF = re.compile(r"[\"'”’`]?[ \t]+(?:tags?|blocks?|elements?|markers?|pairs?)\b", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s.…]{0,9}(?:and|or|to|/|,)?[\"'”’“‘`\s]{0,9}", re.IGNORECASE)
_JOINED = re.compile(r"[ \t](?:and|or|to|then)\b[^<>\n.!?]{0,40}[ \t]")
"""What parts two tags that a sentence names: "between <answer> and </answer>", "open with <answer> and close with"."""
_QUOTES = frozenset({"``", "''", '""', "“”", "‘’"})
_WORD = re.compile(r"[^\W_]")
_CUT_TAG = re.compile(r"(?:</a?n?s?w?e?r?)?\Z", re.IGNORECASE)


def extract_answer(reply: str | None, finish_reason: str | None = None) -> Extraction:
    """What stands in the last complete pair of answer tags, once reasoning blocks are gone.

    A tag that is opened and never closed counts to the end; without a tag the whole text counts. A pair that holds no
    letter or digit is passed over when another one does, and so are tags that are only spoken of: in quotation marks
    or ticks, followed by a word like "tags", or joined by "and" in the middle of a sentence. The status is "truncated"
    when the reply hit its token limit, else "empty" when nothing is left, "refused" when the answer begins by saying
    that it can't be given, else "ok". It changes no score: each of them is scored on what is there. Linear time, and
    no text makes it raise. Source: the paper's sections 3.2 and appendix Q.
    """
    joined, kept, flags = _outside_reasoning(reply or "")
    answer, low, found = _tagged(joined.strip())
    if finish_reason == "length":
        status = "truncated"
    elif not answer:
        status = "empty"
    else:
        status = "refused" if _refuses(answer) else "ok"
    start = _start(answer, joined, kept, low + len(joined) - len(joined.lstrip()))
    return Extraction(answer, status, (*found, *flags), start)


def _tagged(text: str) -> tuple[str, int, tuple[str, ...]]:
    """The answer, a place in the text that is not behind its start, and the flags."""
    tags, spoken_of = _answer_tags(text)
    pairs, strays = _pairs(tags)
    flags = ["tag_loose"] if any(_is_loose(tag) for tag in tags) else []
    if spoken_of:
        flags.append("tag_quoted")
    kept = [pair for pair in pairs if _WORD.search(text, pair[0].end(), pair[1].start())] or pairs
    if kept:
        first, last = kept[-1]
        inner = [tag for tag in tags if first.end() <= tag.start() and tag.end() <= last.start()]
        answer = _without(text, first.end(), last.start(), inner)
        flags += ["tag_repeated"] * (len(pairs) > 1) + ["tag_nested"] * (len(inner) > 1) + ["tag_stray"] * bool(strays)
        outside = _without(text, 0, first.start(), tags) + _without(text, last.end(), len(text), tags)
        flags.insert(0, "tag_odd" if flags and flags != ["tag_quoted"] else "tag_ok")
        return answer, first.end(), (*flags, *["outside_text"] * bool(_WORD.search(outside)))
    opening = _last_opening(text, tags)
    if opening is None:
        flags = ["no_tag", *["tag_unopened"] * bool(tags), *flags]
        return _without(text, 0, len(text), tags), 0, tuple(flags)
    outside = _without(text, 0, opening.start(), tags)
    flags = ["tag_unclosed", *flags, *["tag_stray"] * (len(tags) > 1), *["outside_text"] * bool(_WORD.search(outside))]
    end = len(text) - len(_CUT_TAG.search(text[-8:])[0])
    return _without(text, opening.end(), end, tags), opening.end(), tuple(flags)


def _answer_tags(text: str) -> tuple[list[re.Match[str]], bool]:
    """The answer tags of a text that are not only spoken of, and whether some are."""
    every = list(_TAG.finditer(text))
    tags: list[re.Match[str]] = []
    named_after = False  # whether the tag behind is spoken of, and with it one that only "and" or dots part from it
    for number in range(len(every) - 1, -1, -1):
        tag = every[number]
        start, end = tag.span()
        joined = named_after and any(one.fullmatch(text, end, every[number + 1].start()) for one in (_BETWEEN, _JOINED))
        named_after = joined or _is_quoted(text, start, end)
        if not named_after and _SPOKEN_OF.match(text, end):
            if _closes(tag):
                named_after = number == 0 or _BETWEEN.fullmatch(text, every[number - 1].end(), start) is not None
            else:  # in the middle of a sentence
                named_after = _in_prose(text, start)
        if not named_after and _closes(tag) and number and not _closes(every[number - 1]):
            opening = every[number - 1]
            named_after = bool(_JOINED.fullmatch(text, opening.end(), start)) and _in_prose(text, opening.start())
        if not named_after:
            tags.append(tag)
    return tags[::-1], len(tags) < len(every)


def _pairs(tags: list[re.Match[str]]) -> tuple[list[tuple[re.Match[str], re.Match[str]]], list[re.Match[str]]]:
    """The outermost complete pairs, and the tags that belong to no pair."""
    pairs: list[tuple[re.Match[str], re.Match[str]]] = []
    opened: list[re.Match[str]] = []
    strays: list[re.Match[str]] = []
    for tag in tags:
        if not _closes(tag):
            opened.append(tag)
        elif opened:
            opening = opened.pop()
            while pairs and pairs[-1][0].start() > opening.start():
                pairs.pop()
            pairs.append((opening, tag))
        else:
            strays.append(tag)
    return pairs, strays + opened


def _last_opening(text: str, tags: list[re.Match[str]]) -> re.Match[str] | None:
    """The last opening tag with a word before the next tag, else the first one, else None."""
    ends = [tag.start() for tag in tags[1:]] + [len(text)]
    opening = [(tag, end) for tag, end in zip(tags, ends, strict=True) if not _closes(tag)] if tags else []
    with_words = [tag for tag, end in opening if _WORD.search(text, tag.end(), end)]
    return with_words[-1] if with_words else opening[0][0] if opening else None


def _closes(tag: re.Match[str]) -> bool:
    return bool(tag[1]) or (tag[2] or "").endswith("/")


def _is_loose(tag: re.Match[str]) -> bool:
    return tag[0] not in ("<answer>", "</answer>")


def _without(text: str, start: int, end: int, tags: list[re.Match[str]]) -> str:
    """`text[start:end]` without these tags and without white space around it."""
    parts = []
    for tag in tags:
        if start <= tag.start() and tag.end() <= end:
            parts.append(text[start : tag.start()])
            start = tag.end()
    return "".join([*parts, text[start:end]]).strip()


_THING = r"(?:response|text|reply|answer|paragraph|sentence|request|constraint|condition|requirement)"
_TASK = rf"""(?:(?:fulfil|satisfy|comply|produce|generate|provide|complete|meet|answer|assist\ with
          | help\ (?:you\ )?with)
          | (?:write|create|give|construct|compose|make|do)\ (?:(?:this|that|so|it|such)\b
          | (?:an?|the|any)\ .{{0,60}}?{_THING}))"""
_UNABLE = re.compile(
    rf"""(?:sorry|apologi[sz]e|apologies|unfortunately|afraid|regret|as\ an?\ (?:ai|(?:large\ )?language\ model))
        .{{0,99}}?\b(?:(?:can(?:not|'t|\ not)|unable\ to|not\ able\ to|will\ not|won't|decline\ to)
            (?:\ {_TASK}|[.,!]|\Z)
          | (?:impossible|not\ (?:possible|feasible))(?:[.,!]|\Z|\ (?:for\ me\ )?to\ {_TASK}))
      | (?:i|we)(?:\ am|'m|\ are|'re)?\ (?:cannot|can't|can\ not|unable\ to|not\ able\ to|won't|will\ not)\ {_TASK}
      | (?:it|this|that)(?:'s|\ is)\ (?:logically\ |simply\ )?(?:impossible|not\ (?:possible|feasible))(?:\ for\ me)?
        \ to\ {_TASK}
      | (?:the|these|those|your)\ (?:\w+\ ){{0,2}}(?:constraint|requirement|instruction)s?\ (?:\w+\ ){{0,2}}
        (?:cannot\ |can't\ |contradict|conflict|impossible|incompatible|unsatisfiable|mutually\ exclusive)""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_LEAD = 60
"""How many characters of the first sentence may stand before the words that refuse ("I have tried, but ")."""


def _refuses(answer: str) -> bool:
    """Whether an answer begins with the words of a refusal. Narrow: better to miss one than to see one in a story."""
    beginning = " ".join(answer[:600].split())[:300].replace("’", "'").lstrip("*_> ")
    if beginning[:1] in "\"“'‘":
        return False  # somebody in a story speaks
    refusal = _UNABLE.search(beginning)
    return refusal is not None and refusal.start() <= _LEAD and not set(".!?") & set(beginning[: refusal.start()])
