"""Verdicts that a text states in words: a label with a plain number, "CC: 7". What is not plain is told, never guessed.

Every pattern is bounded, so time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

METRICS = ("CC", "SA", "FC")
"""Constraint compliance, semantic accuracy, functional completeness (paper, section 3.5.1)."""


class Verdict(NamedTuple):
    """A stated verdict: its place, the metric or "score", the value or the reason why there is none, and flags."""

    at: int
    label: str
    value: float | None
    reason: str = ""
    flags: tuple[str, ...] = ()

    @property
    def says(self) -> tuple[float | None, str]:
        """What two verdicts that agree have in common."""
        return self.value, self.reason


# -------------------------------------------------------------------------------------------------------------- numbers

_J = r"[ \t*_`\"'~\\]{0,6}"  # what may stand around a label or a number: blanks, emphasis, quotation marks
_DIGITS = r"(?:[0-9]{1,20}(?:\.[0-9]{1,20})?|\.[0-9]{1,20})"
_NUMBER = rf"[+-]?{_DIGITS}(?:[eE][+-]?[0-9]{{1,3}}(?![0-9A-Za-z]))?"
_ALONE = re.compile(rf"\s{{0,9}}{_J}(?P<number>{_NUMBER}){_J}\.?{_J}\s{{0,9}}")
_WHOLE = re.compile(rf"\s{{0,9}}{_J}(?P<number>{_NUMBER}){_J}(?:(?:/|out of\b){_J}(?P<of>{_DIGITS}){_J})?\s{{0,9}}")
_VALUE = re.compile(
    rf"[ \t*_`\"'~\\\[(]{{0,8}}(?:(?P<number>{_NUMBER})|(?P<none>(?:null|none|n/?a)\b)|[+-]?(?:nan|inf|true|false))",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"[*_`\"'~]{0,6}[^\W_]|[.,][0-9]|[ \t]?%|[ \t]{1,2}percent\b")
_RANGE = re.compile(rf"{_J}(?:-|to\b|or\b|and\b|~|\.\.){_J}(?P<high>{_DIGITS})")
_FRACTION = re.compile(
    rf"{_J}(?:(?:points?|pts)\b{_J})?\(?(?:/|out of\b|of\b){_J}(?:(?P<of>{_DIGITS})(?!{_J}[0-9A-Za-z/%]|[.,][0-9]))?"
)
_RUBRIC = re.compile(rf"{_J}[:=]")
_LIST = re.compile(rf"{_J},[ \t]{{0,3}}{_NUMBER}[ \t]{{0,3}}(?:[,;.\n]|$)")
_ENDS = re.compile(
    rf"{_J}(?:(?:points?|pts|marks?)\b)?{_J}(?:[.,;)\]}}|<(!\r\n]|-{_J}[^\W\d]|$|(?:because|since|as|due)\b)"
)
_LINE_ENDS = re.compile(rf"{_J}\r?(?:\n|$)")
_SKIP = re.compile(rf"{_J}[\[<]?{_J}")
_WIDE = re.compile("[\uff10-\uff19]")
# each sign becomes one sign, so that places stay: full-width forms, dashes and minus signs, typographic quotation marks
_PLAIN = {0xFF01 + n: 0x21 + n for n in range(94)} | dict.fromkeys((*range(0x2010, 0x2015), 0x2212), "-")
_PLAIN |= {0x3000: " ", 0xA0: " ", 0x201C: '"', 0x201D: '"', 0x2018: "'", 0x2019: "'", 0x2192: ">", 0x21D2: ">"}


def _wide(text: str) -> tuple[str, ...]:
    return ("wide",) if _WIDE.search(text) else ()


def judged(label: str, number: str, scale: float, of: str | None = None, at: int = 0) -> Verdict:
    """The verdict of a number, with the denominator that it may have."""
    flags = () if of is None else ("fraction",)
    if of is not None and float(of) != scale:
        return Verdict(at, label, None, "parse_error", flags)
    value = float(number)
    if not 0 <= value <= scale:
        return Verdict(at, label, None, "out_of_range", flags)
    return Verdict(at, label, abs(value), "", flags)  # "-0" is 0


def judged_text(label: str, text: str, scale: float, at: int = 0) -> Verdict:
    """The verdict of a text that is to be one number, or a fraction of the scale, and nothing else."""
    number = _WHOLE.fullmatch(text.translate(_PLAIN)) if len(text) <= 80 else None
    if number is None:
        return Verdict(at, label, None, "parse_error")
    verdict = judged(label, number["number"], scale, number["of"], at)
    return verdict._replace(flags=(*verdict.flags, *_wide(text)))


def number_alone(text: str, scale: float) -> Verdict | None:
    """The verdict of a text that is nothing but a number, without any label."""
    number = _ALONE.fullmatch(text.translate(_PLAIN)) if len(text) <= 80 else None
    if number is None:
        return None
    return judged("score", number["number"], scale)._replace(flags=("number", *_wide(text)))


def _stated(text: str, at: int, label: str, scale: float, cut: bool, alone: bool = False) -> Verdict | None:
    """The verdict that begins here, None where what stands here is none. `alone`: it must end its line."""
    value = _VALUE.match(text, at)
    if value is None:
        return None
    end, number, of = value.end(), value["number"], None
    bad = Verdict(at, label, None, "parse_error")
    if number is None:
        return bad._replace(reason="missing") if value["none"] else bad
    if _GOES_ON.match(text, end):
        return bad
    if span := _RANGE.match(text, end):
        scale_itself = number in ("0", "1") and float(span["high"]) == scale
        return None if scale_itself or _RUBRIC.match(text, span.end()) else bad  # a band of the rubric is no verdict
    if fraction := _FRACTION.match(text, end):
        if fraction["of"] is None:
            return bad
        end, of = fraction.end(), fraction["of"]
    if _LIST.match(text, end):
        return bad
    if alone and not _LINE_ENDS.match(text, end):
        return None
    blank = _SKIP.match(text, end)
    if not _ENDS.match(text, end) and not (blank and _LABEL.match(text, blank.end())):
        return None  # a line of the rubric, "CC 10: exact", or a number in prose, "CC: 6 words too many"
    if cut and len(text) - end <= 20 and not text[end:].strip(" \t.,/-*_`\"'"):
        return bad._replace(reason="truncated")
    return judged(label, number, scale, of, at)


# --------------------------------------------------------------------------------------------------------------- labels

_SCORE = r"(?:(?:final|overall)[ _-]{1,2})?(?:score|rating|grade|verdict)|final|overall|(?<=\[)result(?=\])"
_LABEL = re.compile(
    r"(?<![^\W_])(?<!/)(?:(?P<CC>CC|constraint[ _-]{0,2}compliance)|(?P<SA>SA|semantic[ _-]{0,2}accuracy)|"
    rf"(?P<FC>FC|functional[ _-]{{0,2}}completeness)|(?P<score>{_SCORE}))(?![^\W_])",
    re.IGNORECASE,
)
_ASIDE = rf"(?:[(\[][^()\[\]\n]{{0,60}}[)\]]{_J}){{0,2}}"  # "(0-10)", "[1 to 5]", "(CC)"
_SPAN = (  # "0-10", "from 0 to 10", "out of 10", where a mark follows
    r"(?:(?:(?:on|from|out|of|a|the|scale|in)[ \t]{1,3}){0,5}"
    rf"[0-9]{{1,3}}{_J}(?:(?:-|to){_J}[0-9]{{1,3}}{_J})?(?=[:=|]))?"
)
_MARK = rf"(?P<mark>\]?{_J}(?::=|[:=]|[-=]?>|\|)|\]|is\b|-(?=[ \t]))?"
_AFTER = re.compile(
    rf"{_J}{_ASIDE}(?:(?:score|rating|grade|value|verdict|result){_J}){{0,2}}{_ASIDE}{_SPAN}{_MARK}"
    r"(?P<line>[ \t*_]{0,9}\r?\n\s{0,9})?",
    re.IGNORECASE,
)
_HEADING = re.compile(rf"{_J}{_ASIDE}:?{_J}\r?(?:\n|$)")
_LINE_STARTS = re.compile(r"\n[ \t*_`#>0-9.()-]{0,10}$")
_OPENS = re.compile(
    r"(?:[.!?;:\n(\[<{|][ \t*_`\"'#>0-9.)\\-]{0,8}(?:(?:so|the|my|thus|hence|therefore|final|overall)[ ,*_]{1,4}){0,3}"
    r"|,\s{0,9}[\"'\\]{1,2})$",
    re.IGNORECASE,
)
_NOT_THIS = re.compile(
    r"\b(?:max|maximum|min|minimum|possible|average|mean|ideal|perfect|example|e\.g\.)[ _:,-]{0,3}$", re.IGNORECASE
)
_JOINED = re.compile(r"[ ,/&|+*_`\"')(]{0,9}(?:and|or)?[ |*_`\"'(]{0,5}")
_BRACKETS = re.compile(r"\[\[([^\[\]\n]{1,40})\]\]")
_IN_LABEL = re.compile(r"[0-9]+(?=[ \t)\]*_:=|]*$)")
_NEAR = 20  # between labels of one list


def in_words(text: str, scale: float, cut: bool = False) -> list[Verdict]:
    """The labelled verdicts of a text, in order. `cut`: the text broke off, so a number at its very end may go on.

    A score's label must open its clause ("maximum score: 10" is none of ours); so must one with "is" for a mark, or
    without any.
    """
    plain = text.translate(_PLAIN)
    found, tables = _in_tables(plain, scale)
    plain = masked(plain, tables)
    for match in _BRACKETS.finditer(plain):
        if verdict := _stated(match[1], 0, "score", scale, cut=False):
            found.append(verdict._replace(at=match.start()))
    section, before, before_end, before_read = "", "", -_NEAR, False
    for match in _LABEL.finditer(plain):
        label, start, end = str(match.lastgroup), match.start(), match.end()
        ahead = "\n" * (start < 50) + plain[max(0, start - 50) : start]
        after = _AFTER.match(plain, end)
        near = start - before_end < _NEAR
        listed = near and before_read
        joined = near and before not in ("", label) and _JOINED.fullmatch(plain, before_end, start)
        if label != "score":
            before, before_end, before_read = label, end, False
        if joined or after is None or _NOT_THIS.search(ahead):
            continue  # "CC, SA and FC: 7" does not say whose it is
        opens, heading = _OPENS.search(ahead), _LINE_STARTS.search(ahead) and _HEADING.match(plain, end)
        mark, alone = after["mark"], bool(after["line"])
        if heading and label != "score":
            section = label
        if mark and mark.lower() != "is":
            read = opens or label != "score"
        elif after["line"] and not mark:
            read = heading
        else:
            short = match[0] in METRICS
            read, alone = opens or (listed and short), alone or not (mark or short)
        verdict = _stated(plain, after.end(), label, scale, cut, alone) if read else None
        if verdict is None:
            continue
        if label == "score" and section and match[0].lower() in ("score", "rating", "grade"):
            verdict = verdict._replace(label=section)  # the heading names the metric, "Score: 7" below it the value
        section, before_read = "", True
        told = _IN_LABEL.search(after[0][: after.end("mark") - end] if mark else after[0])
        if told and float(told[0]) != scale:
            verdict = verdict._replace(flags=(*verdict.flags, "other_scale"))
        found.append(verdict)
    wide = _wide(text)
    return [v._replace(flags=(*v.flags, *wide)) for v in sorted(found, key=lambda verdict: verdict.at)]


def _in_tables(text: str, scale: float) -> tuple[list[Verdict], list[tuple[int, int]]]:
    """The verdicts of rows "| CC | 7 | ... |" and of values below a row of labels, and where these rows stand."""
    found: list[Verdict] = []
    rows: list[tuple[int, int]] = []
    header: list[str | None] = []
    at = 0
    for line in text.split("\n"):
        tabular = len(line) < 2000 and "|" in line
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if tabular else []
        labels = [label_of(cell) for cell in cells]
        numbers = [cell for cell in cells if len(cell) <= 80 and _WHOLE.fullmatch(cell)]
        row = list(_verdict_cells(header, labels, cells, numbers))
        found += [judged_text(label, cell, scale, at) for label, cell in row]
        if row:
            rows.append((at, at + len(line)))
        if sum(label in METRICS for label in labels) > 1:
            header = labels
        elif not cells or row:
            header = []
        at += len(line) + 1
    return found, rows


def _verdict_cells(
    header: list[str | None], labels: list[str | None], cells: list[str], numbers: list[str]
) -> Iterator[tuple[str, str]]:
    if numbers and len(header) == len(cells):
        yield from ((label, cell) for label, cell in zip(header, cells, strict=True) if label)
    elif numbers and labels[0]:
        # of several numbers in a row nothing says which is the verdict
        yield labels[0], numbers[0] if len(numbers) == 1 else ""


_LABEL_LETTERS = re.compile(
    r"(?:the|my|final)*(?:(?P<CC>(?:cc|constraintcompliance)+)|(?P<SA>(?:sa|semanticaccuracy)+)|"
    r"(?P<FC>(?:fc|functionalcompleteness)+)|(?P<score>(?:overall)?(?:score|rating|grade|verdict|result)|overall))"
    r"(?:score|rating|grade|value|verdict)?"
)
_IN_BRACKETS = re.compile(r"[(\[][^()\[\]]{0,80}[)\]]")


def label_of(text: str) -> str | None:
    """The metric or "score" that a key of an object, or a cell of a table, names by itself."""
    if len(text) > 80:
        return None
    letters = "".join(filter(str.isalpha, _IN_BRACKETS.sub("", text))).lower()
    match = _LABEL_LETTERS.fullmatch(letters)
    return match.lastgroup if match else None


def masked(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with blanks in these places."""
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], " " * (end - start)]
        at = end
    return "".join([*parts, text[at:]])


BEGINS = re.compile(rf"\s{{0,9}}(?:\\?[\"']|$|{_LABEL.pattern})", re.IGNORECASE)
"""What follows the brace of a JSON object, and hardly ever one in prose."""
