"""The parameters of a notebook: the literals of its one cell tagged `parameters`, and the values that fit them."""

from __future__ import annotations

import ast
import io
import json
import math
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODEL_LISTS = ("models", "judges", "compressor_models")
"""Parameters that hold names of models: checked before a run, and part of what its results are made from."""
_TYPES = {"str": str, "int": int, "float": (int, float), "bool": bool, "list": list, "dict": dict, "None": type(None)}


class RunError(ValueError):
    """A run file, a notebook's parameters or the command line is wrong; the text says which, and what to do."""


@dataclass(frozen=True)
class Parameter:
    """One line of a notebook's parameters cell: `name: annotation = default  # help`."""

    name: str
    default: Any
    annotation: str
    help: str = ""


def read_notebook(path: Path) -> dict[str, Any]:
    """The notebook as JSON (format 4), every cell's source one string; RunError where the file is something else."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RunError(f"{path.name}: not a notebook: {error}") from None
    if not isinstance(notebook, dict) or notebook.get("nbformat") != 4:
        raise RunError(f"{path.name}: not a notebook of format 4; open and save it in JupyterLab")
    for cell in notebook["cells"]:
        if isinstance(cell["source"], list):
            cell["source"] = "".join(cell["source"])
    return notebook


def has_tag(cell: Mapping[str, Any], tag: str) -> bool:
    """Whether a notebook cell carries this tag."""
    return tag in cell.get("metadata", {}).get("tags", [])


def read_parameters(path: Path) -> dict[str, Parameter]:
    """The parameters of a notebook by name, from its one cell tagged `parameters`, which holds literals only."""
    cells = [cell for cell in read_notebook(path)["cells"] if has_tag(cell, "parameters")]
    if len(cells) != 1:
        raise RunError(f"{path.name}: exactly one cell must be tagged `parameters`, got {len(cells)}")
    source = cells[0]["source"]
    try:
        lines = ast.parse(source).body
    except SyntaxError as error:
        raise RunError(f"{path.name}: parameters cell, line {error.lineno}: {error.msg}") from None
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
    parameters: dict[str, Parameter] = {}
    for line in lines:
        where = f"{path.name}: parameters cell, line {line.lineno}"
        target = line.targets[0] if isinstance(line, ast.Assign) and len(line.targets) == 1 else None
        target = line.target if isinstance(line, ast.AnnAssign) else target
        if not isinstance(target, ast.Name) or line.value is None:
            raise RunError(f"{where}: expected `name: type = literal  # help`")
        try:
            default = ast.literal_eval(line.value)
        except ValueError:
            raise RunError(f"{where}: {target.id} must be a literal, got {ast.unparse(line.value)}") from None
        if target.id in parameters:
            raise RunError(f"{where}: {target.id} stands twice")
        annotation = ast.unparse(line.annotation) if isinstance(line, ast.AnnAssign) else _implied(default)
        help_text = comments.get(line.end_lineno or 0, "")
        parameters[target.id] = Parameter(target.id, default, annotation, help_text)
        check_value(where, parameters[target.id], default)
    if "tables" not in parameters:
        raise RunError(f'{path.name}: the parameters cell needs `tables: str = "..."`, the folder for its tables')
    return parameters


def _implied(default: Any) -> str:
    return "" if default is None else type(default).__name__  # a bare None says nothing about the type


def check_value(where: str, parameter: Parameter, value: Any) -> None:
    """Raise RunError unless `value` is JSON, finite, and of the parameter's type.

    An int passes as a float, and None where None is the default.
    """
    if problem := _not_json(value):
        raise RunError(f"{where}: {parameter.name} {problem}")
    if value is None and parameter.default is None:
        return
    if parameter.annotation and not _fits(value, ast.parse(parameter.annotation, mode="eval").body, where, parameter):
        got = f"{value!r} ({type(value).__name__})"
        raise RunError(f"{where}: {parameter.name} must be {parameter.annotation}, got {got}")


def _not_json(value: Any) -> str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return f"must be a finite number, got {value!r}; leave it out or write null"
    if isinstance(value, str):
        lone = any("\ud800" <= letter <= "\udfff" for letter in value)
        return f"must be valid Unicode, got {value!r}" if lone else None
    if value is None or isinstance(value, bool | int | float):
        return None
    if isinstance(value, list):
        return next((problem for item in value if (problem := _not_json(item))), None)
    if isinstance(value, dict):
        wrong = next((key for key in value if not isinstance(key, str)), None)
        if wrong is not None:
            return f"must have texts as keys, got the key {wrong!r}; quote it"
        return next((problem for item in value.values() if (problem := _not_json(item))), None)
    return f"must be a JSON value, got {value!r} ({type(value).__name__}); quote it to mean a text"


def _fits(value: Any, node: ast.expr, where: str, parameter: Parameter) -> bool:
    match node:
        case ast.Constant(value=None):
            return value is None
        case ast.Name(id=name) if name in _TYPES:
            return isinstance(value, _TYPES[name]) and (name == "bool" or not isinstance(value, bool))
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return _fits(value, left, where, parameter) or _fits(value, right, where, parameter)
        case ast.Subscript(value=ast.Name(id="list"), slice=item):
            return isinstance(value, list) and all(_fits(one, item, where, parameter) for one in value)
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[ast.Name(id="str"), item])):
            return isinstance(value, dict) and all(_fits(one, item, where, parameter) for one in value.values())
    raise RunError(
        f"{where}: {parameter.name} has the annotation {parameter.annotation}; use str, int, float, bool, None, "
        "list[...], dict[str, ...] or a union of them"
    )
