"""The constraints as people read them: HTML printed from the registry. Everything in it is escaped and nothing loads.

What offends is marked by colour and underlined, or the last unit where some are missing; a verdict is a sign and a
word, so no reader needs the colour.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from cdct.core import Verdict, stream, unknown
from cdct.saturation.constraints import CONSTRAINTS, DIMENSIONS, Constraint, Parameter
from cdct.saturation.constraints.base import listed

if TYPE_CHECKING:
    import pandas as pd
    from IPython.display import HTML

    from cdct.text import Span

MOST_CHARACTERS = 4000
"""Of a longer reply only the beginning is shown, and the page says so."""
# both colours are given, so that a dark page shows the same contrast
_MARK = "background-color:#ffd97a;color:#16191b;text-decoration:underline;font-weight:600"
_LEFT = ' style="text-align:left"'  # notebooks align the cells of a table to the right
_BY_NAME = {name: letter for letter, name in DIMENSIONS.items()}


def gallery(dimension: str, seed: int = 0) -> HTML:
    """Every type of a dimension ("S" or "structural"): what it asks, with drawn parameters, and what it says of texts.

    The parameters of the instruction come from the stream ("cse", "gallery", seed, id); those of an example are its
    own. One text that passes and one that fails are open, the others folded.
    """
    from IPython.display import HTML

    letter = _BY_NAME.get(dimension, dimension)
    if letter not in DIMENSIONS:
        raise ValueError(f"gallery: {unknown('dimension', dimension, [*DIMENSIONS, *_BY_NAME])}")
    return HTML("\n".join(_card(kind, seed) for id, kind in CONSTRAINTS.items() if id[0] == letter))


def shown(reply: str, id: str, params: Mapping[str, Any]) -> HTML:
    """A reply with its verdict by one constraint, and marked what offends or is the last where some are missing.

    KeyError and ValueError as `check` raises them.
    """
    from IPython.display import HTML

    kind = CONSTRAINTS[id]
    table = _table([(reply, params, kind.check(reply, **params))], kind)
    return HTML(f"<p><strong>Instruction.</strong> {escape(kind.instruction(**params))}</p>{table}")


def type_table(seed: int = 0) -> pd.DataFrame:
    """One row per type: id, name, dimension, version, parameters (from what they are drawn), params, instruction.

    `params` are drawn as in `gallery`, as JSON in the order in which they stand in the instruction.
    """
    import pandas as pd

    rows = []
    for id, kind in CONSTRAINTS.items():
        params = _drawn(kind, seed)
        ranges = "; ".join(f"{name}: {_range(parameter)}" for name, parameter in kind.parameters.items())
        rows.append(
            (
                id,
                kind.name,
                kind.dimension,
                kind.version,
                ranges or "none",
                json.dumps(params, ensure_ascii=False),
                kind.instruction(**params),
            )
        )
    columns = ["id", "name", "dimension", "version", "parameters", "params", "instruction"]
    return pd.DataFrame(rows, columns=columns)


def marked(reply: str, spans: Iterable[Span] = ()) -> str:
    """The reply as HTML, escaped, with these stretches marked. Characters that have no shape are shown as escapes."""
    parts, at = [], 0
    for start, end in spans:
        start, end = max(start, at), min(end, MOST_CHARACTERS)
        if start < end:
            parts += [_plain(reply[at:start]), f'<mark style="{_MARK}">{_plain(reply[start:end])}</mark>']
            at = end
    parts.append(_plain(reply[at : max(at, MOST_CHARACTERS)]))
    if len(reply) > MOST_CHARACTERS:
        parts.append(f"\n<em>… {len(reply) - MOST_CHARACTERS:,} more characters</em>")
    return "".join(parts)


def _plain(text: str) -> str:
    """Escaped. What is invisible, turns the direction of writing or has no UTF-8 form is written out."""
    return escape("".join(c if c == "\n" or c.isprintable() else c.encode("unicode_escape").decode() for c in text))


def _card(kind: Constraint, seed: int) -> str:
    params = _drawn(kind, seed)
    ranges = [f"<code>{name}</code>: {_value(kind, name, params)}" for name in kind.parameters]
    judged = [(text, own, kind.check(text, **own)) for text, own, _ in kind.examples]
    right, wrong = ([one for one in judged if one[2].passed is passed] for passed in (True, False))
    wrong.sort(key=lambda one: not one[2].spans)  # one in which something can be marked comes first
    return "\n".join(
        [
            f"<h3>{escape(kind.id)} {escape(kind.name)}</h3>",
            f"<p><strong>Instruction.</strong> {escape(kind.instruction(**params))}</p>",
            f"<p><strong>Parameters.</strong> {'; '.join(ranges) or 'None'}.</p>",
            f"<p><strong>Rule, version {escape(kind.version)}.</strong> {_prose(kind.notes)}</p>",
            _table([*right[:1], *wrong[:1]], kind),
            f"<details><summary>{len(judged) - 2} more examples</summary>",
            _table([*right[1:], *wrong[1:]], kind),
            "</details>",
        ]
    )


def _table(judged: Iterable[tuple[str, Mapping[str, Any], Verdict]], kind: Constraint) -> str:
    heads = "".join(f"<th{_LEFT}>{head}</th>" for head in ("verdict", "reply", "asked", "counted", "score"))
    rows = []
    for reply, params, verdict in judged:
        asked = "; ".join(f"{name} = {_short(kind, name, params)}" for name in kind.parameters) or "–"
        counted = escape(verdict.detail) + "".join(f"; flag <code>{escape(flag)}</code>" for flag in verdict.flags)
        sign = "✓ passes" if verdict.passed else "✗ fails"
        pre = f"<pre{_LEFT}>{marked(reply, verdict.spans)}</pre>"
        cells = (sign, pre, escape(asked), counted, f"{verdict.score:.2f}")
        rows.append("<tr>" + "".join(f"<td{_LEFT}>{cell}</td>" for cell in cells) + "</tr>")
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _drawn(kind: Constraint, seed: int) -> dict[str, Any]:
    return kind.sample(stream("cse", "gallery", seed, kind.id))


def _range(parameter: Parameter) -> str:
    """From what a parameter is drawn, in words."""
    choices = parameter.choices() if callable(parameter.choices) else parameter.choices
    if choices is None:
        return "drawn by a rule of its own"
    if isinstance(choices, range) and len(choices) > 1:
        return f"{choices[0]} to {choices[-1]}"
    return listed(choices, most=16)


def _short(kind: Constraint, name: str, params: Mapping[str, Any]) -> str:
    parameter = kind.parameters[name]
    value = parameter.read(params[name])
    parts = value if parameter.show is str and isinstance(value, tuple) else [parameter.show(value)]
    return listed(parts, longest=100)


def _value(kind: Constraint, name: str, params: Mapping[str, Any]) -> str:
    hidden = " (not told)" if kind.parameters[name].hidden else ""
    return f"{escape(_range(kind.parameters[name]))}, here {escape(_short(kind, name, params))}{hidden}"


def _prose(notes: str) -> str:
    """The notes of a docstring: paragraphs joined, names in code marks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(" ".join(notes.split())))
