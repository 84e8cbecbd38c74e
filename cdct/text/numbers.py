"""Numbers in the plain view of a reply: integers and equations, in the digits 0-9 and with exact arithmetic."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator
from fractions import Fraction

from cdct.text.spans import Unit, View
from cdct.text.tokens import has_digit

_NUMBER = re.compile(r"[0-9][0-9]*+(?:[.,\u00a0\u202f\u2009][0-9]++)*+")
_PART = re.compile(r"[0-9]++(?:\.[0-9]++)*+")
_GROUPS = re.compile(r"[1-9][0-9]{0,2}(?:(?:,[0-9]{3})++|(?:[\u00a0\u202f\u2009][0-9]{3})++)(\.[0-9]++)?+")
_SEPARATORS = str.maketrans("", "", ",\u00a0\u202f\u2009")
_SIGNS = "-+\u2212"
_BEFORE_SIGN = "([{<>=,;:|\"'“‘*/~≈≤≥×÷·"
_LONGEST = 300
"""Nobody writes numbers with more digits, and to read them takes more than linear time."""


class Integer(Unit):
    """An integer written in digits: `value`."""

    __slots__ = ("value",)


class Equation(Unit):
    """`left operator right = result`, in fractions; `true` by exact arithmetic, `chain` if part of a longer one."""

    __slots__ = ("chain", "left", "operator", "result", "right")

    @property
    def true(self) -> bool:
        """Whether the equation holds. A division by zero does not."""
        if self.operator == "/" and self.right == 0:
            return False
        return _OPERATIONS[self.operator](self.left, self.right) == self.result


_OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def integers(view: View) -> list[Integer]:
    """The integers of a text, in order.

    Every whole number in digits counts, also in list numbers ("1."), dates, times, ranges ("3-5" gives 3 and 5),
    fractions ("1/2" gives 1 and 2), and before a unit, a percent sign or an ordinal ending ("5km", "50%", "2nd").
    Digits right after a letter or underline are part of a name and do not count ("CO2", "x2", "v3"). Decimals and
    longer dotted numbers ("3.5", ".5", "1.2.3") do not count, as a whole. Thousands separators (comma, no-break and
    thin space) join groups of three after a first group of one to three digits that is not 0; other commas part a
    list ("1,2,3" gives three). A sign counts at the start of a word or after an opening bracket, an equals sign and
    the like ("-5", "(-5)", not "GPT-4"). Only 0-9 are digits. Longer runs than 300 digits are no numbers.
    """
    text = view.text
    found: list[Integer] = []
    for number in _NUMBER.finditer(text) if has_digit(text) else ():
        start, token = number.start(), number[0]
        if token.isdigit():
            _add(found, view, start, number.end())
        elif groups := _GROUPS.fullmatch(token):
            if not groups[1]:
                _add(found, view, start, number.end())
        else:
            for part in _PART.finditer(text, start, number.end()):
                if part[0].isdigit():
                    _add(found, view, *part.span())
    return found


def _add(found: list[Integer], view: View, start: int, end: int) -> None:
    text = view.text
    before = text[start - 1] if start else " "
    if end - start > _LONGEST or before.isalpha() or before == "_":
        return
    further = text[start - 2] if start > 1 else " "
    if before == "." and (further.isspace() or further in "-+\u2212($€£"):
        return
    value = int(text[start:end].translate(_SEPARATORS))
    if before in _SIGNS and (further.isspace() or further in _BEFORE_SIGN):
        start -= 1
        value = value if before == "+" else -value
    unit = Integer(view, start, end)
    unit.value = value
    found.append(unit)


_GAP = r"[ \t\u00a0\u2009\u202f]{0,20}"
_SPACE = "[\u00a0\u202f\u2009]"
_DIGITS = (
    rf"(?:(?:[1-9]\d{{0,2}}(?:(?:,\d{{3}}){{1,6}}|(?:{_SPACE}\d{{3}}){{1,6}})(?!(?:,|{_SPACE})?\d))|\d{{1,40}})(?!\d)"
    r"(?:\.\d{1,40}(?!\d))?"
)
_VALUE = rf"[-+−]?(?:\\?[$€£¥])?{_DIGITS}|\({_GAP}[-−]{_DIGITS}{_GAP}\)"
_TIMES = r"\\?\*|[×·∙⋅]|\\times|\\cdot|[xX](?=[ \t]{0,20}[-+(\d])"
_EQUATION = re.compile(
    rf"(?<![\w\\])(?<!\d\.)(?!(?<=\d,)\d{{3}}(?!\d))(?!(?<=\d{_SPACE})\d{{3}}(?!\d))"  # within no longer number
    rf"(?P<left>{_VALUE}){_GAP}(?P<operator>{_TIMES}|[-+−–/÷]|\\div){_GAP}(?P<right>{_VALUE})"
    rf"{_GAP}=={{0,1}}{_GAP}(?P<result>{_VALUE})",
    re.ASCII,
)
_EQUALS = re.compile(rf"[\d)]{_GAP}=={{0,1}}{_GAP}\\?[-+−$€£¥(\d]", re.ASCII)
_GOES_ON = re.compile(rf"{_GAP}(?:=|(?:{_TIMES}|[-+−–/÷^]){_GAP}(?:\\?[$€£¥])?[\d(])", re.ASCII)
_CAME_ON = re.compile(rf"(?:=|[\d)]{_GAP}(?:[-+*/×÷·∙⋅−–^xX]|\\times|\\cdot|\\div)){_GAP}\Z", re.ASCII)
_KINDS = {"−": "-", "–": "-", "÷": "/", "\\div": "/", "+": "+", "-": "-", "/": "/"}


def equations(view: View) -> list[Equation]:
    r"""The equations "a op b = c" of a text, in order, each on one line.

    Numbers are integers or decimals, with thousands commas or spaces as in `integers`, a sign or a currency sign, which
    may have a backslash; operators are + - − – * × · x
    / ÷ and \times, \cdot, \div. One that goes on on either side ("1 + 2 + 3 = 6", "1 + 1 = 2 = 2", "x = 1 + 1 = 2")
    is a chain.
    """
    text, found = view.text, []
    for match in _candidates(text) if "=" in text else ():
        unit = Equation(view, *match.span())
        unit.left, unit.right, unit.result = (_fraction(match[name]) for name in ("left", "right", "result"))
        unit.operator = _KINDS.get(match["operator"], "*")
        unit.chain = bool(
            _GOES_ON.match(text, match.end()) or _CAME_ON.search(text[max(0, match.start() - 50) : match.start()])
        )
        found.append(unit)
    return found


def _candidates(text: str) -> Iterator[re.Match[str]]:
    """The matches of _EQUATION, looked for only in lines with an equals sign between numbers: it is slow."""
    end = 0
    while (sign := _EQUALS.search(text, end)) is not None:
        start, end = text.rfind("\n", 0, sign.start()) + 1, text.find("\n", sign.end())
        end = len(text) if end < 0 else end
        yield from _EQUATION.finditer(text, start, end)


def _fraction(number: str) -> Fraction:
    return Fraction(number.translate(_PLAIN_NUMBER))


_PLAIN_NUMBER = str.maketrans({"−": "-", **dict.fromkeys("\\()$€£¥, \t\u00a0\u2009\u202f")})
