"""Where a run's results lie, the stamp that says what they were made from, and whether they still hold.

The executed notebook, its tables and their record belong together: `<run>.ipynb` is there only when the last execution
succeeded, and `stamp.json`, written last, lists the digest of every file.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdct.core import digest, resolve, root, to_json, write_text
from cdct.parameters import MODEL_LISTS, RunError, has_tag, read_notebook
from cdct.runfile import Run

TORN = "the worker died while its notebook was being saved"
_MARKER = "papermill-error-cell-tag"
_NOT_INPUTS = (
    "report.py",
    "leftovers.py",
    "board.py",
    "page.py",
    "page_body.py",
    "page_numbers.py",
    "environment.py",
)
_DATA = ("data/concepts/**/*", "data/items/**/*", "data/published/**/*", "requirements.lock")


@dataclass(frozen=True)
class Job:
    """A run in a profile with its final parameters and the jobs whose tables it reads."""

    run: Run
    profile: str
    parameters: Mapping[str, Any]
    after: Sequence[Job] = ()

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def tables(self) -> Path:
        return root() / "data" / "tables" / self.profile / self.name

    @property
    def record(self) -> Path:
        return self.tables / "stamp.json"

    def names(self, key: str) -> list[Any]:
        """The names in a parameter that chooses by name: one or a list of them; [] where it is empty or not there."""
        value = self.parameters.get(key) or []
        return list(value) if isinstance(value, list) else [value]

    def notebook(self, state: str = "") -> Path:
        """The executed notebook, or with the state "partial" or "failed" the one that is not (yet) a result."""
        return root() / "notebooks" / "executed" / self.profile / f"{self.name}{state and '.' + state}.ipynb"


@dataclass(frozen=True)
class Failure:
    """Why a run has no result: the cell where it ended (counted from 1 over code cells; 0 when in none)."""

    cell: int
    source: str
    error: str
    traceback: str = ""


# --------------------------------------------------------------------------------------------------------------- stamps


def world() -> str:
    """One digest of all that every run can read: the package's code, the committed data and the locked environment.

    The models are not in it: a stamp holds those that its run names. Code that makes no result (it starts runs, shows
    them or makes the page) is not in it either.
    """
    package = Path(__file__).resolve().parent
    code = [path for path in package.rglob("*.py") if path.relative_to(package).as_posix() not in _NOT_INPUTS]
    files = {f"cdct/{path.relative_to(package).as_posix()}": path for path in code}
    for pattern in _DATA:
        files |= {path.relative_to(root()).as_posix(): path for path in root().glob(pattern) if path.is_file()}
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return digest({"python": python, "files": {name: sha256(path) for name, path in files.items()}})


def sha256(path: Path) -> str:
    """The SHA-256 of a file as 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stamp(job: Job, surroundings: str) -> str:
    """The digest of all that the job's results are made from; `surroundings` is what `world()` gives."""
    cells = [
        [cell["cell_type"], cell["source"], sorted(cell.get("metadata", {}).get("tags", []))]
        for cell in read_notebook(job.run.source)["cells"]
    ]
    after = {other.name: [stamp(other, surroundings), _tables(other)] for other in job.after}
    made_from = {"world": surroundings, "cells": cells, "parameters": job.parameters, "after": after}
    return digest(made_from | {"models": _models(job), "folder": _folder(job)})


def _folder(job: Job) -> dict[str, str]:
    """The files that a run reads from outside: those in its parameter `folder`, where empty in CDCT_PUBLIC's."""
    named = (job.parameters.get("folder") or os.environ.get("CDCT_PUBLIC")) if "folder" in job.parameters else None
    files = sorted(resolve(named).rglob("*.json")) if named else []
    return {str(named): ""} | {path.as_posix(): sha256(path) for path in files if path.is_file()}


def _models(job: Job) -> dict[str, list[str]]:
    """The entry of every model that the job names, and what answers for it: an address, or the digest of a GGUF file.

    An entry that can't be read or whose file is missing stands as its error: the run will say it, and once the entry
    is mended, the run is made again.
    """
    from cdct.models import load_models

    named = {str(name) for key in MODEL_LISTS for name in job.names(key)}
    entries: dict[str, list[str]] = {name: [] for name in named}
    try:
        models = load_models() if named else {}
    except (OSError, ValueError) as error:
        return {name: [str(error)] for name in named}
    for name, entry in entries.items():
        try:
            entry.append(repr(models[name]))
            entry.append(models[name].endpoint)
        except (LookupError, OSError, ValueError, ImportError) as error:
            entry.append(str(error))
    return entries


def _tables(job: Job) -> dict[str, str]:
    files = sorted(path for path in job.tables.rglob("*") if path.is_file() and path != job.record)
    return {path.relative_to(job.tables).as_posix(): sha256(path) for path in files}


def read_record(job: Job) -> dict[str, Any] | None:
    """What `write_record` wrote, or None where there is nothing readable."""
    try:
        record = json.loads(job.record.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def write_record(job: Job, stamped: str, counts: Mapping[str, Any], seconds: float) -> None:
    """Record a success. Where calls failed or were not made the stamp is null: the next report asks them again."""
    unfinished = bool(counts.get("failed") or counts.get("skipped"))
    record = {
        "stamp": None if unfinished else stamped,
        "made_from": stamped,
        "calls": dict(counts),
        "seconds": round(seconds, 1),
        "parameters": dict(job.parameters),
        "notebook": sha256(job.notebook()),
        "tables": _tables(job),
    }
    write_text(job.record, json.dumps(json.loads(to_json(record)), indent=1, ensure_ascii=False) + "\n")


def state(job: Job, stamped: str) -> str:
    """The state of a job's results on disk.

    Returns:
        "current"; "unfinished" when made from the same, but with calls that failed or were not made; "older" when made
        from other code, data or parameters, or changed since; "failed"; "absent".
    """
    if job.notebook("failed").is_file():
        return "failed"
    record = read_record(job)
    if record is None or not job.notebook().is_file():
        return "absent"
    intact = record.get("tables") == _tables(job) and record.get("notebook") == sha256(job.notebook())
    if not intact or record.get("made_from") != stamped:
        return "older"
    return "current" if record.get("stamp") == stamped else "unfinished"


def told_warnings(job: Job) -> list[str]:
    """The warnings that a run wrote for its readers (not its notes), in their order; none where it wrote no table."""
    try:
        with (job.tables / "warnings.csv").open(encoding="utf-8", newline="") as file:
            return [row["text"] for row in csv.DictReader(file) if row.get("level") == "warning" and row.get("text")]
    except FileNotFoundError:
        return []


# ------------------------------------------------------------------------------------------------------------ notebooks


def prepare(job: Job) -> None:
    """Remove the run's former results and write the notebook to be executed, its parameters put in as literals.

    The values go in as Python literals in a cell of their own after the parameters cell, so every one arrives as it is.
    """
    for old in ("", "failed", "partial"):
        job.notebook(old).unlink(missing_ok=True)
    shutil.rmtree(job.tables, ignore_errors=True)
    job.tables.mkdir(parents=True)
    write_text(job.notebook("partial"), _to_text(_with_values(job)))


def _with_values(job: Job) -> dict[str, Any]:
    notebook = read_notebook(job.run.source)
    at = next(i for i, cell in enumerate(notebook["cells"]) if has_tag(cell, "parameters"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    cell = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {"tags": ["injected-parameters"]},
        "outputs": [],
        "source": "\n".join(f"{name} = {value!r}" for name, value in job.parameters.items()),
    }
    if notebook["nbformat_minor"] >= 5:
        cell["id"] = "injected-parameters"
    notebook["cells"].insert(at + 1, cell)
    return notebook


def _to_text(notebook: Mapping[str, Any]) -> str:
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def conclude(job: Job, exit_code: int, reason: str, log: str) -> Failure | None:
    """None and the notebook in its place when the execution was a success; else why not, and the notebook set aside.

    A success is an exit code of 0 of the worker, every cell completed, and no error among the outputs: `sys.exit(0)` in
    a cell, a dead kernel and a stopped worker are none. `reason` is what the driver knows, `log` what the worker said.
    """
    partial = job.notebook("partial")
    try:
        notebook = read_notebook(partial)
    except (RunError, FileNotFoundError):
        notebook, reason = _with_values(job), "; ".join(filter(None, [reason, TORN]))
    notebook["cells"] = [cell for cell in notebook["cells"] if not has_tag(cell, _MARKER)]
    failure = find_failure(notebook)
    if failure is None and (exit_code != 0 or not completed(notebook)):
        error = reason or _died(log) or f"the worker ended with exit code {exit_code}"
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        begun = [i for i, cell in enumerate(cells) if _note(cell, "start_time")]
        trace = [] if reason else _before_traceback(log)
        if begun:
            name, _, message = error.partition(": ") if not reason else ("Stopped", "", error)
            output = {"output_type": "error", "ename": name, "evalue": message, "traceback": trace or [error]}
            cells[begun[-1]]["outputs"] = [*cells[begun[-1]]["outputs"], output]
        else:
            notebook["metadata"]["cdct"] = {"failure": error}  # no cell to show it in
        source = cells[begun[-1]]["source"] if begun else ""
        failure = Failure(begun[-1] + 1 if begun else 0, source, error, "\n".join(trace))
    if failure is None:
        partial.replace(job.notebook())
        return None
    write_text(job.notebook("failed"), _to_text(notebook))
    partial.unlink(missing_ok=True)
    return failure


def find_failure(notebook: Mapping[str, Any]) -> Failure | None:
    """The first cell of an executed notebook that shows an error, what ended it before its first cell, or None."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, start=1):
        for output in cell["outputs"]:
            if output["output_type"] == "error":
                error = f"{output['ename']}: {output['evalue']}".rstrip(": ")
                return Failure(number, cell["source"], error, plain("\n".join(output["traceback"])))
    told = notebook["metadata"].get("cdct", {}).get("failure")
    return Failure(0, "", told) if told else None


def completed(notebook: Mapping[str, Any]) -> bool:
    """Whether every code cell of an executed notebook ran to its end."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return all(_note(cell, "end_time") and _note(cell, "status") == "completed" for cell in cells)


def started(job: Job) -> bool:
    """Whether the kernel came up: a cell of the notebook in work was begun, or it was torn while it was saved."""
    try:
        return any(_note(cell, "start_time") for cell in read_notebook(job.notebook("partial"))["cells"])
    except (RunError, FileNotFoundError):
        return True


def _note(cell: Mapping[str, Any], key: str) -> str:
    # papermill's notes on a cell; the times are the honest ones, a status "completed" also stands where nothing ran
    return cell.get("metadata", {}).get("papermill", {}).get(key) or ""


def _died(log: str) -> str:
    if "DeadKernelError" in log:
        return "DeadKernelError: the kernel died; out of memory, or killed from outside"
    errors = re.findall(r"^(?:\w+\.)*(\w+(?:Error|Exception|Exit|Interrupt)\b.*)", log, re.MULTILINE)
    return errors[-1] if errors else ""


def _before_traceback(log: str) -> list[str]:
    """The last lines that the kernel itself wrote past its cells, such as what a C library said when it gave up."""
    return re.split(r"^(?:Traceback|Process )", log, maxsplit=1, flags=re.MULTILINE)[0].strip().splitlines()[-15:]


def plain(text: str) -> str:
    """`text` without terminal colours."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
