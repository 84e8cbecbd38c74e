"""What a constraint is: one block with its instruction, its parameters, its check and its examples.

    @constraint("S1", "Exact word count", {"n": whole(range(40, 61))})
    def exact_word_count(text: Text, n: int) -> Verdict:
        \"""The whole reply must contain exactly {n:word}. ...

        What the score is, and why these ranges.
        \"""

The first paragraph of the docstring is the instruction; its blanks, the parameters and the signature must agree.
"""

from __future__ import annotations

import inspect
import operator
import pickle
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cdct.core import Verdict, unknown
from cdct.text import Span, Text, Unit

if TYPE_CHECKING:
    import numpy as np

DIMENSIONS = {
    "S": "structural",
    "L": "lexical",
    "W": "word-level",
    "R": "relational",
    "F": "format",
    "M": "meta",
    "N": "numerical",
    "O": "ordering",
}
"""The dimensions in the order of the paper's Table 7, by the letter with which the ids begin."""
MOST = 10**6
"""No count goes beyond it: a larger one is a slip, and scores of one missing unit would round to 1."""
LETTERS = frozenset(string.ascii_lowercase)
MOST_KNOWN = 4096
"""For how many parameters of a type their reading is kept."""

# ---------------------------------------------------------------------------------------------------------- parameters


@dataclass(frozen=True)
class Parameter:
    """One parameter: what is drawn, what is accepted (more than is drawn), and how the instruction shows it.

    `choices` are drawn from with equal chances, or made by the constraint's own `sample` where they are None; a
    function in their place is called when something is drawn. `read` gives the value as the check wants it, or raises
    a ValueError whose message goes on after the parameter's name. A `hidden` parameter, such as a solution, stands in
    no instruction.
    """

    choices: Sequence[Any] | Callable[[], Sequence[Any]] | None
    read: Callable[[Any], Any]
    show: Callable[[Any], str] = str
    hidden: bool = False

    def draw(self, rng: np.random.Generator) -> Any:
        """One of the choices."""
        choices = self.choices() if callable(self.choices) else self.choices
        return choices[int(rng.integers(len(choices)))]


def whole(choices: Sequence[int] | None, least: int = 1, most: int = MOST) -> Parameter:
    """A whole number from `least` to `most`, drawn from `choices`."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise ValueError(f"must be a whole number, got {value!r}")
        number = operator.index(value)
        if number < least:
            raise ValueError(f"must be at least {least}, got {number}")
        if number > most:
            raise ValueError(f"must be at most {most}, got {number}")
        return number

    return Parameter(choices, read)


def letter(choices: str) -> Parameter:
    """A letter from a to z, in either case, drawn from `choices`."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or value.lower() not in LETTERS:
            raise ValueError(f"must be one letter from a to z, got {value!r}")
        return value.lower()

    return Parameter(choices, read, quoted)


def spelling(choices: Sequence[str] | Callable[[], Sequence[str]]) -> Parameter:
    """A word of the letters a to z to be spelt out by initials, shown in capitals, drawn from `choices`."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or not value or not LETTERS.issuperset(value.lower()):
            raise ValueError(f"must be a word of the letters a to z, got {value!r}")
        return value.lower()

    return Parameter(choices, read, lambda value: quoted(value.upper()))


def one_of(choices: Sequence[str]) -> Parameter:
    """One of these names and nothing else."""

    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"must be one of {', '.join(map(quoted, choices))}, got {value!r}")
        return value

    return Parameter(choices, read)


def quoted(value: str) -> str:
    """The value in straight double quotes, as the instructions show words and letters."""
    return f'"{value}"'


# --------------------------------------------------------------------------------------------------------- constraints


@dataclass(frozen=True, eq=False)
class Constraint:
    """A type of constraint. `examples` holds (text, params, passes); `notes` says how it is scored and why its ranges.

    `version` changes with every change that can move a verdict. A reply without a letter or digit passes nothing,
    unless the type counts what is no word (`wordless`).
    """

    id: str
    name: str
    version: str
    template: str
    notes: str
    parameters: Mapping[str, Parameter]
    verify: Callable[..., Verdict]
    joint: Callable[[np.random.Generator], dict[str, Any]] | None = None
    rule: Callable[..., str] | None = None
    wordless: bool = False
    examples: list[tuple[str, dict[str, Any], bool]] = field(default_factory=list, repr=False)
    _known: dict[bytes, Mapping[str, Any]] = field(default_factory=dict, init=False, repr=False)

    @property
    def dimension(self) -> str:
        return DIMENSIONS[self.id[0]]

    def sample(self, rng: np.random.Generator) -> dict[str, Any]:
        """Parameters drawn from the ranges; the same state of `rng` gives the same ones."""
        if self.joint is not None:
            return self.joint(rng)
        return {name: parameter.draw(rng) for name, parameter in self.parameters.items()}

    def instruction(self, **params: Any) -> str:
        """What the model is told."""
        values = self._values(params)
        shown = {name: _Shown(parameter, values[name]) for name, parameter in self.parameters.items()}
        return self.template.format_map(shown)

    def check(self, text: str | Text, **params: Any) -> Verdict:
        """The verdict on a reply, given as a string or already parsed."""
        values = self._values(params)
        if isinstance(text, str):
            text = Text(text)
        elif not isinstance(text, Text):
            raise TypeError(f"{self.id}: the reply must be a str or a Text, got {type(text).__name__}")
        if not (text.plain if self.wordless else text.has_word):
            return Verdict(False, 0.0, "the reply has no character" if self.wordless else "the reply has no word")
        return self.verify(text, **values)

    def read(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters as `check` uses them; ValueError for a missing, unknown or bad one."""
        if params.keys() != self.parameters.keys():
            for name in params:
                if name not in self.parameters:
                    raise ValueError(f"{self.id}: {unknown('parameter', name, self.parameters)}")
            missing = [name for name in self.parameters if name not in params]
            raise ValueError(f"{self.id}: parameter {missing[0]} is missing")
        values = {}
        for name, parameter in self.parameters.items():
            try:
                values[name] = parameter.read(params[name])
            except ValueError as error:
                raise ValueError(f"{self.id}: {name} {error}") from None
        if self.rule is not None and (wrong := self.rule(**values)):
            raise ValueError(f"{self.id}: {wrong}")
        return values

    def _values(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """The same, kept between replies by the pickle of the parameters, which tells 1 from True and 1.0."""
        try:
            key = pickle.dumps(params)
        except (pickle.PicklingError, AttributeError, TypeError, RecursionError):
            return self.read(params)
        values = self._known.get(key)
        if values is None:
            values = self.read(params)
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = values
        return values

    def passes(self, text: str, **params: Any) -> None:
        """Put down a reply that keeps the constraint."""
        self.examples.append((text, params, True))

    def fails(self, text: str, **params: Any) -> None:
        """Put down a reply that breaks the constraint."""
        self.examples.append((text, params, False))


class _Shown:
    """A value in an instruction: `{n}` shows it, `{n:word}` counts words with it ("1 word", "2 words")."""

    def __init__(self, parameter: Parameter, value: Any) -> None:
        self.parameter, self.value = parameter, value

    def __format__(self, noun: str) -> str:
        return number_of(self.value, noun) if noun else self.parameter.show(self.value)


def constraint(
    id: str,
    name: str,
    parameters: Mapping[str, Parameter],
    *,
    version: str = "1",
    sample: Callable[[np.random.Generator], dict[str, Any]] | None = None,
    rule: Callable[..., str] | None = None,
    wordless: bool = False,
) -> Callable[[Callable[..., Verdict]], Constraint]:
    """A decorator that makes a `Constraint` of a check: `check(text, **parameters) -> Verdict`.

    `sample` draws all parameters where they depend on each other; `rule` says what is wrong with parameters that are
    right one by one, or "". ValueError where the instruction's blanks, the parameters and the signature disagree.
    """

    def build(verify: Callable[..., Verdict]) -> Constraint:
        head, _, notes = inspect.cleandoc(verify.__doc__ or "").partition("\n\n")
        template = " ".join(head.split())
        blanks = {blank for _, blank, _, _ in string.Formatter().parse(template) if blank is not None}
        shown = {key for key, parameter in parameters.items() if not parameter.hidden}
        arguments = list(inspect.signature(verify).parameters)
        if id[:1] not in DIMENSIONS or not id[1:].isdigit():
            raise ValueError(f"{id}: an id is one of the letters {' '.join(DIMENSIONS)} and a number")
        if not template:
            raise ValueError(f"{id}: the docstring must begin with the instruction, got none")
        if blanks != shown:
            raise ValueError(
                f"{id}: the instruction has the blanks {sorted(blanks)}, the parameters are {sorted(shown)}"
            )
        if arguments != ["text", *parameters]:
            raise ValueError(f"{id}: the check takes {arguments}, should take {['text', *parameters]}")
        if sample is None and any(parameter.choices is None for parameter in parameters.values()):
            raise ValueError(f"{id}: a parameter without choices needs `sample`")
        return Constraint(id, name, version, template, notes, parameters, verify, sample, rule, wordless)

    return build


# -------------------------------------------------------------------------------------------------------------- scores


def number_of(count: int, noun: str) -> str:
    """ "1 word", "2 words"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(values: Sequence[Any], show: Callable[[Any], str] = str, most: int = 12, longest: int = 40) -> str:
    """The values with commas between them, cut to what a person reads: `most` of them, `longest` characters each."""
    shown = [text if len(text := show(value)) <= longest else f"{text[: longest - 1]}…" for value in values[:most]]
    more = len(values) - most
    return ", ".join(shown) if more <= 0 else f"{', '.join(shown)} and {more} more"


def count_score(found: int, wanted: int) -> float:
    """1 - |found - wanted| / wanted, not below 0: the paper's example scores 48 words of 50 at 0.96 (section 3.1)."""
    return max(0.0, (wanted - abs(found - wanted)) / wanted)


def share(right: int, of: int) -> float:
    """The share of the units that are right, 0.0 where there is none: nothing passes for want of units."""
    return right / of if of else 0.0


def counted(units: Sequence[Unit], wanted: int, noun: str) -> Verdict:
    """The verdict where exactly `wanted` units must stand. Surplus ones offend; of too few, the last is shown."""
    found = len(units)
    detail = f"{number_of(found, noun)}, {wanted} wanted"
    return Verdict.of(count_score(found, wanted), detail, lambda: [unit.span for unit in off_count(units, wanted)])


def off_count(units: Sequence[Any], wanted: int) -> Sequence[Any]:
    """The units that come after the wanted number, or the last one where some are missing."""
    return units[wanted:] if len(units) > wanted else units[-1:] if len(units) < wanted else ()


def spans_of(units: Sequence[Unit]) -> Callable[[], list[Span]]:
    """A function that finds the spans of these units when they are asked for."""
    return lambda: [unit.span for unit in units]
