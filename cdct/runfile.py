"""Run files: one YAML file in notebooks/runs/ is one run or ablation of a notebook, with its parameters per profile."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import yaml

from cdct.core import root, unknown
from cdct.parameters import RunError, check_value, read_parameters

PROFILES = ("smoke", "quick", "full")
TIMEOUT_S = 3600
_KEYS = ("notebook", "title", "summary", "parameters", "profiles", "after", "timeout_s")


@dataclass(frozen=True)
class Run:
    """One run file as read. `profiles` maps a profile to its overrides; one that is not there leaves the run out."""

    name: str
    notebook: str
    title: str
    summary: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    profiles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    after: tuple[str, ...] | str = ()
    timeout_s: float = TIMEOUT_S

    @property
    def source(self) -> Path:
        return root() / "notebooks" / f"{self.notebook}.ipynb"


# ------------------------------------------------------------------------------------------------------------ run files


class _Loader(yaml.SafeLoader):
    """YAML as version 1.2 reads it, in which a key that stands twice in one mapping is an error.

    By version 1.1, PyYAML's, `no` is false, `010` is 8, `1:30` is 90 and `1e-3` a text: wrong values, in silence.
    """

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} stands twice", key.start_mark)
            if isinstance(key.value, str):
                seen.add(key.value)
        return super().construct_mapping(node, deep)


for _tag, _shape in {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?(0|[1-9][0-9]*)",
    "float": r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
}.items():
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_shape})$"), None)


def load_runs() -> dict[str, Run]:
    """Every run of the workbench by name, in the order of the names; RunError names the file and what is wrong."""
    folder = root() / "notebooks" / "runs"
    paths = sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")])
    if not paths:
        raise RunError("notebooks/runs: no run files; a run is a file notebooks/runs/<name>.yaml")
    runs = {path.stem: _load(path) for path in paths}
    for run in runs.values():
        for name in () if run.after == "all" else run.after:
            if name not in runs or name == run.name:
                raise RunError(
                    f"runs/{run.name}.yaml: after: {unknown('run', name, [n for n in runs if n != run.name])}"
                )
    return runs


def _load(path: Path) -> Run:
    where = f"runs/{path.name}"
    if path.suffix != ".yaml" or not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", path.stem):
        raise RunError(f"{where}: a run's file is <name>.yaml, its name of lower-case letters, digits, - and _")
    try:
        entry = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # a SafeLoader
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise RunError(f"{where}, line {line}: {error.problem or error.context}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RunError(f"{where}: {' '.join(str(error).split())}") from None
    if not isinstance(entry, dict):
        raise RunError(f"{where}: must be a mapping with the keys notebook and title, got {type(entry).__name__}")
    for key in entry:
        if key not in _KEYS:
            raise RunError(f"{where}: {unknown('key', key, _KEYS)}")
    for key in ("notebook", "title"):
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            raise RunError(f"{where}: {key} must be a text, got {entry.get(key)!r}")
    run = Run(
        name=path.stem,
        notebook=entry["notebook"].removesuffix(".ipynb"),
        title=entry["title"].strip(),
        summary=_of_type(where, "summary", entry.get("summary") or "", str).strip(),
        parameters=_of_type(where, "parameters", entry.get("parameters") or {}, dict),
        profiles=_profiles(where, entry.get("profiles") or {}),
        after=_after(where, entry.get("after") or []),
        timeout_s=entry.get("timeout_s", TIMEOUT_S),
    )
    if (
        isinstance(run.timeout_s, bool)
        or not isinstance(run.timeout_s, int | float)
        or not 0 < run.timeout_s < math.inf
    ):
        raise RunError(f"{where}: timeout_s must be a number of seconds above 0, got {run.timeout_s!r}")
    if not run.source.is_file() or run.source.parent != root() / "notebooks":
        known = [p.stem for p in sorted((root() / "notebooks").glob("*.ipynb"))]
        raise RunError(f"{where}: {unknown('notebook', run.notebook, known)}")
    return run


def _of_type(where: str, key: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise RunError(f"{where}: {key} must be {_name(kind)}, got {value!r}")
    return value


def _name(kind: type) -> str:
    return {dict: "a mapping", str: "a text"}[kind]


def _profiles(where: str, given: Any) -> dict[str, dict[str, Any]]:
    profiles: dict[str, dict[str, Any]] = {}
    for profile, overrides in _of_type(where, "profiles", given, dict).items():
        if profile not in PROFILES:
            raise RunError(f"{where}: {unknown('profile', profile, PROFILES)}")
        if overrides is not False:
            overrides = {} if overrides is None or overrides is True else overrides
            profiles[profile] = _of_type(where, f"profiles.{profile}", overrides, dict)
    if "full" not in given:  # `full` holds everything that is not taken out of it by name
        profiles["full"] = {}
    return profiles


def _after(where: str, given: Any) -> tuple[str, ...] | str:
    if given == "all":
        return "all"
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise RunError(f"{where}: after must be `all` or a list of run names, got {given!r}")
    return tuple(names)


# -------------------------------------------------------------------------------------------------- profiles and choice


def final_parameters(run: Run, profile: str, lists: Mapping[str, list[str]]) -> dict[str, Any]:
    """What the notebook gets: its defaults, then the run's values, the profile's, and the command line's lists."""
    parameters = read_parameters(run.source)
    values = {name: parameter.default for name, parameter in parameters.items()}
    where = f"runs/{run.name}.yaml"
    for name, value in [*run.parameters.items(), *run.profiles[profile].items()]:
        if name not in parameters:
            hint = unknown("parameter", name, parameters).partition("; ")[2]
            raise RunError(f"{where}: {run.source.name} has no parameter {name!r}; {hint}")
        if name == "tables":
            raise RunError(f"{where}: tables is set for each run to data/tables/<profile>/<run>; leave it out")
        check_value(where, parameters[name], value)
        values[name] = value
    for name, value in lists.items():
        if name in parameters:
            check_value(f"--{name}", parameters[name], value)
            values[name] = value
    return values | {"tables": f"data/tables/{profile}/{run.name}"}


def chosen(runs: Mapping[str, Run], profile: str, names: Iterable[str] = ()) -> dict[str, Run]:
    """The runs of a profile: all of them, or those of these names together with the runs whose tables they read."""
    inside = {name: run for name, run in runs.items() if profile in run.profiles}
    for name, run in inside.items():
        for other in before(run, inside):
            if other not in inside:
                raise RunError(f"runs/{name}.yaml: after: run {other!r} is not in profile {profile}")
    todo, found = list(names) or list(inside), {}
    for name in todo:
        if name not in runs:
            raise RunError(unknown("run", name, runs))
    while todo:
        name = todo.pop()
        if name not in inside:
            others = ", ".join(runs[name].profiles) or "no profile"
            raise RunError(f"run {name!r} is not in profile {profile}; it is in: {others}")
        if name not in found:
            found[name] = runs[name]
            todo += before(runs[name], inside)
    return {name: run for name, run in inside.items() if name in found}


def before(run: Run, inside: Mapping[str, Run]) -> list[str]:
    """The names of the runs whose tables `run` reads; `all` means every other one that does not itself read all."""
    if run.after == "all":
        return [name for name, other in inside.items() if other.after != "all"]
    return list(run.after)
