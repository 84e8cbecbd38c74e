"""The contract of every notebook and run file: numbers and pictures, no logic, and nothing that a run left behind."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cdct
from cdct import ceiling, compression, plots, saturation
from cdct.ceiling import plots as ccb_plots
from cdct.ceiling import trace_plots
from cdct.core import root
from cdct.parameters import has_tag, read_parameters
from cdct.runfile import PROFILES, final_parameters, load_runs

FOLDER = Path(cdct.__file__).resolve().parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MOST_LINES = 60
PARAMETER = re.compile(r"[a-z_][a-z0-9_]*: [a-z]+(\[.+\])? = .+  # \S.*")

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def code_cells(path: Path) -> list[dict[str, Any]]:
    return [cell for cell in read(path)["cells"] if cell["cell_type"] == "code"]


def test_there_are_notebooks() -> None:
    assert {"cdct_dip", "overview"} <= {path.stem for path in NOTEBOOKS}
    assert root() / "notebooks" == FOLDER


# --------------------------------------------------------------------------------------------------------- what is kept


@each_notebook
def test_nothing_of_a_run_is_kept(path: Path) -> None:
    for cell in code_cells(path):
        assert cell["outputs"] == []
        assert cell["execution_count"] is None
        assert set(cell["metadata"]) <= {"tags"}
    text = path.read_text(encoding="utf-8")
    assert text.endswith("}\n")
    assert "papermill" not in read(path)["metadata"]
    assert "\\u" not in text  # written as people read it


@each_notebook
def test_the_format_and_kernel_are_the_usual(path: Path) -> None:
    notebook = read(path)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert notebook["metadata"]["language_info"] == {"name": "python"}  # no version that changes from saver to saver


@each_notebook
def test_every_cell_has_a_name_of_its_own(path: Path) -> None:
    names = [cell["id"] for cell in read(path)["cells"]]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names)


# ------------------------------------------------------------------------------------------------------------ the words


@each_notebook
def test_it_begins_with_its_question(path: Path) -> None:
    first = read(path)["cells"][0]
    assert first["cell_type"] == "markdown"
    assert re.match(r"# \S", source(first))
    assert re.search(r"\*\*Question\.\*\* .*\?", source(first), flags=re.DOTALL)
    headings = [line for cell in read(path)["cells"] for line in source(cell).splitlines() if line.startswith("# ")]
    assert len([line for line in headings if line == source(first).splitlines()[0]]) == 1


@each_notebook
def test_every_figure_is_saved_and_followed_by_how_to_read_it(path: Path) -> None:
    cells = read(path)["cells"]
    figures = 0
    for cell, after in zip(cells, [*cells[1:], None], strict=True):
        if cell["cell_type"] == "code" and "plots.plot_" in source(cell):
            figures += 1
            assert source(cell).count("plots.plot_") == source(cell).count("plots.save(axes, ") == 1
            assert after is not None
            assert after["cell_type"] == "markdown"
            assert source(after).startswith("**Reading this figure.** ")
    readings = sum(source(cell).startswith("**Reading this figure.**") for cell in cells)
    assert readings == figures


@each_notebook
def test_what_it_names_exists(path: Path) -> None:
    """A word in code marks that looks like a path, a parameter or a function of a benchmark is one."""
    names = set(read_parameters(path))
    text = "\n".join(source(cell) for cell in read(path)["cells"] if cell["cell_type"] == "markdown")
    for name in re.findall(r"`([a-z_/]+)/`", text):
        assert (FOLDER.parent / name).is_dir(), name
    for name in re.findall(r"`([a-z_]+) = ", text):
        assert name in names, name
    for arm in re.findall(r"arm `([a-z_-]+)`", text):
        assert arm in {**compression.ARMS, **ceiling.ARMS}, arm


# ------------------------------------------------------------------------------------------------------------- the code


@each_notebook
def test_the_parameters_come_first_as_literals_with_a_type_and_help(path: Path) -> None:
    cells = code_cells(path)
    assert [has_tag(cell, "parameters") for cell in cells] == [True] + [False] * (len(cells) - 1)
    for line in source(cells[0]).splitlines():
        assert PARAMETER.fullmatch(line), line
    for parameter in read_parameters(path).values():
        assert parameter.help
        assert parameter.annotation


@each_notebook
def test_it_has_no_logic(path: Path) -> None:
    banned = (
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.ClassDef,
        ast.Lambda,
        ast.For,
        ast.While,
        ast.If,
        ast.Try,
        ast.With,
    )
    banned += (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.Global, ast.Delete)
    for cell in code_cells(path):
        assert not re.search(r"^\s*[%!?]", source(cell), flags=re.MULTILINE), "a magic or a shell command"
        for node in ast.walk(ast.parse(source(cell))):
            assert not isinstance(node, banned), f"line {getattr(node, 'lineno', '?')} of {cell['id']}"


@each_notebook
def test_it_is_short(path: Path) -> None:
    lines = [line for cell in code_cells(path) for line in source(cell).splitlines() if line.strip()]
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= 120


@each_notebook
def test_every_name_of_the_package_that_it_uses_is_there(path: Path) -> None:
    modules = {"plots": plots, "compression": compression, "ceiling": ceiling, "saturation": saturation}
    modules |= {"ccb_plots": ccb_plots, "trace_plots": trace_plots}
    for cell in code_cells(path):
        for node in ast.walk(ast.parse(source(cell))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
                assert hasattr(modules[node.value.id], node.attr), f"{node.value.id}.{node.attr}"


@each_notebook
def test_parameters_are_used(path: Path) -> None:
    rest = "\n".join(source(cell) for cell in code_cells(path)[1:])
    used = {node.id for node in ast.walk(ast.parse(rest)) if isinstance(node, ast.Name)}
    assert set(read_parameters(path)) <= used


def test_ruff_finds_nothing() -> None:
    for arguments in (["check", "--quiet"], ["format", "--check", "--quiet"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *arguments, *map(str, NOTEBOOKS)],
            capture_output=True,
            text=True,
            check=False,
            cwd=FOLDER.parent,
        )
        assert done.returncode == 0, done.stdout + done.stderr


# ------------------------------------------------------------------------------------------------------------ the runs


def test_every_notebook_has_a_run_and_every_run_a_notebook() -> None:
    runs = load_runs()
    assert {run.notebook for run in runs.values()} == {path.stem for path in NOTEBOOKS}
    assert len({run.title for run in runs.values()}) == len(runs)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_run_fits_its_notebook(profile: str) -> None:
    for run in load_runs().values():
        if profile in run.profiles:
            values = final_parameters(run, profile, {})
            assert set(values) == set(read_parameters(run.source))
            assert values["tables"] == f"data/tables/{profile}/{run.name}"


def test_the_whole_profile_leaves_nothing_out() -> None:
    runs = load_runs()
    assert all("full" in run.profiles for run in runs.values())
    assert "quick" in runs["cdct_dip"].profiles
    assert "smoke" in runs["cdct_dip"].profiles
    for name in ("ccb_decay", "ccb_traces", "ccb_prompt_ablation", "ccb_effective_depth"):
        assert "quick" in runs[name].profiles


@pytest.mark.parametrize("profile", PROFILES)
def test_the_items_of_every_run_can_be_made(profile: str) -> None:
    for run in load_runs().values():
        if profile in run.profiles and run.notebook.startswith("cdct"):
            values = final_parameters(run, profile, {})
            if "concepts" not in values:  # it asks no model
                continue
            items = compression.generate(
                concepts=values["concepts"] or None,
                levels=values["levels"] or None,
                limit=values["limit"],
                mode=values["mode"],
            )
            assert items
            for arm in values.get("arms") or [values.get("arm", "baseline")]:
                assert compression.messages(items[-1], arm)


CHARACTERS = 1.5
"""At least so many characters a token of states and operations has there (measured: 1.6 to 2.2)."""


@pytest.mark.parametrize("profile", PROFILES)
def test_the_ceiling_items_of_every_run_can_be_asked(profile: str) -> None:
    """Each arm can ask each domain; in `full` at the paper's size, below it so that a right reply is not cut."""
    for run in load_runs().values():
        if profile in run.profiles and run.notebook.startswith("ccb"):
            values = final_parameters(run, profile, {})
            asked = (values["seed"], values["domains"] or None, values["depths"])
            for item in ceiling.generate(*asked, trials=1):
                for arm in values.get("arms") or [values["arm"]]:
                    assert ceiling.messages(item, arm)
                    if profile == "quick":
                        most = max(map(len, ceiling.right_replies(item, arm)))
                        assert most / CHARACTERS <= values["max_tokens"], (run.name, item.id, arm)


def test_quick_runs_share_their_replies() -> None:
    """The baseline is asked once: the other ccb runs of the profile ask the same items with the same limit."""
    runs = {name: final_parameters(run, "quick", {}) for name, run in load_runs().items() if "quick" in run.profiles}
    ours = {name: values for name, values in runs.items() if name.startswith("ccb")}
    keys = ("depths", "trials", "seed", "temperature", "max_tokens", "models", "store")
    assert len({json.dumps([values[key] for key in keys]) for values in ours.values()}) == 1
    calls = 4 * len(ours["ccb_decay"]["depths"]) * ours["ccb_decay"]["trials"]
    assert calls <= 40  # about 8 s a call on one thread
