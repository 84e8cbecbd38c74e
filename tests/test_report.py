"""The driver: what runs get, what is refused, what is skipped, and how every way of failing ends."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import cdct
from cdct import leftovers, report
from cdct.board import LINE_EVERY_S, Board
from cdct.core import BENCHMARKS, Benchmark, read_tables
from cdct.parameters import MODEL_LISTS, RunError, check_value, read_parameters
from cdct.results import (
    TORN,
    Job,
    conclude,
    find_failure,
    prepare,
    read_record,
    stamp,
    started,
    state,
    world,
    write_record,
)
from cdct.runfile import final_parameters, load_runs

PACKAGE = Path(cdct.__file__).resolve().parents[1]
PARAMETERS = 'tables: str = ""  # folder for its tables\n'

# ------------------------------------------------------------------------------------------------------------ workbench


def write_notebook(home: Path, name: str, *cells: str, parameters: str = PARAMETERS) -> None:
    """A notebook in the workbench `home` with this parameters cell and these code cells."""
    code = {"cell_type": "code", "execution_count": None, "outputs": []}
    notebook = {
        "cells": [
            {"cell_type": "markdown", "id": "title", "metadata": {}, "source": f"# {name}"},
            code | {"id": "parameters", "metadata": {"tags": ["parameters"]}, "source": parameters},
            *(code | {"id": f"cell-{i}", "metadata": {}, "source": source} for i, source in enumerate(cells)),
        ],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path = home / "notebooks" / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook), encoding="utf-8")


def write_run(home: Path, name: str, text: str) -> None:
    """A run file in the workbench `home`; a title and the smoke profile are added where the text has none."""
    text += "" if "title:" in text else f"\ntitle: The run {name}"
    text += "" if "profiles:" in text else "\nprofiles: {smoke: true}"
    path = home / "notebooks" / "runs" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.lstrip("\n") + "\n", encoding="utf-8")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CDCT_HOME", str(tmp_path))
    return tmp_path


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "cdct.report", "--profile", "smoke", "--no-index", *arguments]


def environment(home: Path) -> dict[str, str]:
    """The variables of a driver of this workbench.

    Its package is a copy, which nobody edits while a test runs. Its scratch folder lies in it: its kernels can be told.
    """
    scratch, package = home / "scratch", home / "package"
    scratch.mkdir(exist_ok=True)
    if not package.exists():
        shutil.copytree(PACKAGE / "cdct", package / "cdct", ignore=shutil.ignore_patterns("__pycache__"))
    return {**os.environ, "CDCT_HOME": str(home), "PYTHONPATH": str(package), "TMPDIR": str(scratch)}


def drive(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments),
        env=environment(home),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def executed(home: Path, name: str) -> Path:
    return home / "notebooks" / "executed" / "smoke" / f"{name}.ipynb"


def table(home: Path, run: str, name: str) -> str:
    return (home / "data" / "tables" / "smoke" / run / name).read_text(encoding="utf-8")


def load(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


# --------------------------------------------------------------------------------------------------- run files, refused


def refused(home: Path, profile: str = "smoke", **lists: list[str]) -> str:
    with pytest.raises(RunError) as caught:
        report.plan(load_runs(), profile, lists, [])
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("notebook: constraints\nparameters: {n_itmes: 4}",
         "runs/x.yaml: constraints.ipynb has no parameter 'n_itmes'; did you mean 'n_items'?"),
        ("notebook: constraints\nprofiles: {smoke: {zzz: 4}}",
         "runs/x.yaml: constraints.ipynb has no parameter 'zzz'; known: tables, n_items, rate, levels, budget, note"),
        ("notebook: constraints\nparameters: {n_items: 4.5}", "runs/x.yaml: n_items must be int, got 4.5 (float)"),
        ("notebook: constraints\nparameters: {n_items: true}", "runs/x.yaml: n_items must be int, got True (bool)"),
        ("notebook: constraints\nparameters: {n_items: '4'}", "runs/x.yaml: n_items must be int, got '4' (str)"),
        ("notebook: constraints\nparameters: {note: 7}", "runs/x.yaml: note must be str, got 7 (int)"),
        ("notebook: constraints\nparameters: {n_items: 010}", "runs/x.yaml: n_items must be int, got '010' (str)"),
        ("notebook: constraints\nparameters: {levels: [1, a]}",
         "runs/x.yaml: levels must be list[int], got [1, 'a'] (list)"),
        ("notebook: constraints\nparameters: {rate: .nan}",
         "runs/x.yaml: rate must be a finite number, got nan; leave it out or write null"),
        ("notebook: constraints\nparameters: {rate: -.inf}",
         "runs/x.yaml: rate must be a finite number, got -inf; leave it out or write null"),
        ("notebook: constraints\nparameters: {note: !!timestamp 2026-01-31}",
         "runs/x.yaml: note must be a JSON value, got datetime.date(2026, 1, 31) (date); quote it to mean a text"),
        ("notebook: constraints\nparameters: {tables: here}",
         "runs/x.yaml: tables is set for each run to data/tables/<profile>/<run>; leave it out"),
        ("notebook: constraints\nparametres: {}",
         "runs/x.yaml: key 'parametres' is not known; did you mean 'parameters'?"),
        ("notebook: constraint", "runs/x.yaml: notebook 'constraint' is not known; did you mean 'constraints'?"),
        ("notebook: constraints\nprofiles: {qick: {}}",
         "runs/x.yaml: profile 'qick' is not known; did you mean 'quick'?"),
        ("notebook: constraints\nafter: [y]", "runs/x.yaml: after: run 'y' is not known; known: none"),
        ("notebook: constraints\nafter: 3", "runs/x.yaml: after must be `all` or a list of run names, got 3"),
        ("notebook: constraints\ntimeout_s: 0", "runs/x.yaml: timeout_s must be a number of seconds above 0, got 0"),
        ("notebook: constraints\nparameters: [1]", "runs/x.yaml: parameters must be a mapping, got [1]"),
        ("notebook: constraints\ntitle: [1]", "runs/x.yaml: title must be a text, got [1]"),
        ("notebook: constraints\nparameters: {rate: 1, rate: 2}", "runs/x.yaml, line 2: 'rate' stands twice"),
        ("notebook: constraints\ntitle: a: b", "runs/x.yaml, line 2: mapping values are not allowed here"),
        ("- notebook\n#title:\n#profiles:",
         "runs/x.yaml: must be a mapping with the keys notebook and title, got list"),
    ],
)  # fmt: skip
def test_a_wrong_run_file_is_refused_with_its_name_and_what_to_do(home: Path, text: str, message: str) -> None:
    lines = "n_items: int = 3\nrate: float = 1\nlevels: list[int] = []\nbudget: float = None\nnote: str = 'a'\n"
    write_notebook(home, "constraints", parameters=PARAMETERS + lines)
    write_run(home, "x", text)
    assert refused(home) == message


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("n: int = 3\n", 'n.ipynb: the parameters cell needs `tables: str = "..."`, the folder for its tables'),
        (PARAMETERS + "n = 2 * 3", "n.ipynb: parameters cell, line 2: n must be a literal, got 2 * 3"),
        (PARAMETERS + "import os", "n.ipynb: parameters cell, line 2: expected `name: type = literal  # help`"),
        (PARAMETERS + "n: int", "n.ipynb: parameters cell, line 2: expected `name: type = literal  # help`"),
        (PARAMETERS + "n = 1\nn = 2", "n.ipynb: parameters cell, line 3: n stands twice"),
        (PARAMETERS + "n: int = 'a'", "n.ipynb: parameters cell, line 2: n must be int, got 'a' (str)"),
        (PARAMETERS + "n = (1, 2)",
         "n.ipynb: parameters cell, line 2: n must be a JSON value, got (1, 2) (tuple); quote it to mean a text"),
        (PARAMETERS + "n: set = 3", "n.ipynb: parameters cell, line 2: n has the annotation set; use str, int, float, "
         "bool, None, list[...], dict[str, ...] or a union of them"),
        (PARAMETERS + "n ==", "n.ipynb: parameters cell, line 2: invalid syntax"),
    ],
)  # fmt: skip
def test_a_wrong_parameters_cell_is_refused(home: Path, cell: str, message: str) -> None:
    write_notebook(home, "n", parameters=cell)
    with pytest.raises(RunError) as caught:
        read_parameters(home / "notebooks" / "n.ipynb")
    assert str(caught.value) == message


def test_parameters_are_read_with_type_and_help(home: Path) -> None:
    write_notebook(home, "n", parameters=PARAMETERS + 'filter_expr = "k=3 # no help"\nseed: int = -7  # of the draw\n')
    parameters = read_parameters(home / "notebooks" / "n.ipynb")
    assert [(p.name, p.default, p.annotation, p.help) for p in parameters.values()] == [
        ("tables", "", "str", "folder for its tables"),
        ("filter_expr", "k=3 # no help", "str", ""),
        ("seed", -7, "int", "of the draw"),
    ]


def test_plain_words_in_a_run_file_mean_themselves(home: Path) -> None:
    write_notebook(home, "n", parameters=PARAMETERS + "values: list = []\n")
    write_run(
        home, "x", "notebook: n\nparameters: {values: [no, on, 1e-3, 1E5, 1:30, 010, 2026-01-31, true, ~, 0, -.5]}"
    )
    values = final_parameters(load_runs()["x"], "smoke", {})["values"]
    assert values == ["no", "on", 0.001, 1e5, "1:30", "010", "2026-01-31", True, None, 0, -0.5]


@pytest.mark.parametrize("annotation", ["list[dict[str, float]] | None", "dict[str, list[int]] | list | None", "list"])
def test_nested_types_fit(home: Path, annotation: str) -> None:
    write_notebook(home, "n", parameters=f"{PARAMETERS}n: {annotation} = []")
    check_value("here", read_parameters(home / "notebooks" / "n.ipynb")["n"], [{"a": 1, "b": 2.5}, {}])


def test_precedence_of_parameters(home: Path) -> None:
    write_notebook(home, "n", parameters=PARAMETERS + "a: int = 1\nb: int = 1\nc: int = 1\nmodels: list[str] = []\n")
    write_run(home, "x", "notebook: n.ipynb\nparameters: {b: 2, c: 2}\nprofiles: {smoke: {c: 3}, quick: false}")
    runs = load_runs()
    assert final_parameters(runs["x"], "smoke", {"models": ["m"], "judges": ["j"]}) == {
        "tables": "data/tables/smoke/x", "a": 1, "b": 2, "c": 3, "models": ["m"]
    }  # fmt: skip
    assert final_parameters(runs["x"], "full", {})["c"] == 2  # a profile that is not named means: in `full` as it is
    assert list(report.plan(runs, "quick", {}, [])) == []


def test_runs_that_read_each_other_in_a_circle_are_refused(home: Path) -> None:
    write_notebook(home, "n")
    write_run(home, "x", "notebook: n\nafter: [y]")
    write_run(home, "y", "notebook: n\nafter: [x]")
    assert "is a circle" in refused(home)


def test_a_run_that_reads_one_outside_the_profile_is_refused(home: Path) -> None:
    write_notebook(home, "n")
    write_run(home, "x", "notebook: n\nafter: [y]")
    write_run(home, "y", "notebook: n\nprofiles: {smoke: false}")
    assert refused(home) == "runs/x.yaml: after: run 'y' is not in profile smoke"


def test_a_chosen_run_brings_those_that_it_reads(home: Path) -> None:
    write_notebook(home, "n")
    for name, after in {"a": "[]", "b": "[a]", "c": "[]", "all": "all"}.items():
        write_run(home, name, f"notebook: n\nafter: {after}")
    jobs = report.plan(load_runs(), "smoke", {}, ["b"])
    assert list(jobs).index("a") < list(jobs).index("b")
    assert [job.name for job in jobs["all"].after] == ["a", "b", "c"]
    assert list(report.chosen(load_runs(), "smoke", ["b"])) == ["a", "b"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--run", "y"], "error: run 'y' is not known; did you mean 'xy'?"),
        (["--run", "xy", "--profile", "quick"], "error: run 'xy' is not in profile quick; it is in: smoke, full"),
        (["--models", "local/b"], "error: run xy, models: model 'local/b' is not known; did you mean 'local/a'?"),
        (["--judges", "local/b"], "error: run xy, judges: model 'local/b' is not known; did you mean 'local/a'?"),
        (["--compressor_models", "local/a,local/b"],
         "error: run xy, compressor_models: model 'local/b' is not known; did you mean 'local/a'?"),
        (["--concepts", "fotosynthesis"],
         "error: run xy, concepts: concept 'fotosynthesis' is not known; did you mean 'photosynthesis'?"),
    ],
)  # fmt: skip
def test_unknown_names_end_before_anything_runs(
    home: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lists = "".join(f"{name}: list[str] = []\n" for name in ("models", "judges", "compressor_models", "concepts"))
    write_notebook(home, "n", parameters=PARAMETERS + lists)
    write_run(home, "xy", "notebook: n")
    shutil.copytree(PACKAGE / "data" / "concepts", home / "data" / "concepts")
    (home / "data" / "models.toml").write_text('["local/a"]\nbase_url = "http://127.0.0.1:1/v1"\n', encoding="utf-8")
    assert report.main(["--profile", "smoke", "--no-index", *arguments]) == 2
    assert capsys.readouterr().err.strip() == message
    assert not (home / "notebooks" / "executed").exists()


@pytest.mark.parametrize("key", MODEL_LISTS)
def test_every_list_of_models_can_be_set_for_all_runs_that_have_it(home: Path, key: str) -> None:
    (home / "data").mkdir()
    (home / "data" / "models.toml").write_text('["local/a"]\nbase_url = "http://127.0.0.1:1/v1"\n', encoding="utf-8")
    write_notebook(home, "n", parameters=f"{PARAMETERS}{key}: list = ['local/other']\n")
    write_notebook(home, "o")
    write_run(home, "with", "notebook: n")
    write_run(home, "without", "notebook: o")
    options = report._options([f"--{key}", "local/a"], report.choices())
    jobs = report.plan(load_runs(), "smoke", {key: getattr(options, key)}, [])
    assert jobs["with"].parameters[key] == ["local/a"]
    assert key not in jobs["without"].parameters
    report.check_names(list(jobs.values()))
    with pytest.raises(
        RunError, match=f"^run with, {key}: model 'local/other' is not known; did you mean 'local/a'\\?$"
    ):
        report.check_names(list(report.plan(load_runs(), "smoke", {}, []).values()))


def test_what_a_benchmark_offers_can_be_chosen_by_name(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paints = Benchmark("paints", "Paints", {}, "", {}, {"colours": lambda: ["red", "blue"]})
    assert set(BENCHMARKS["cdct"].choices) == {"concepts"}
    monkeypatch.setitem(BENCHMARKS._entries, "paints", paints)
    write_notebook(home, "n", parameters=PARAMETERS + "colours: list[str] = []\nmodels: str = ''\n")
    write_run(home, "xy", "notebook: n")
    assert report.main(["--profile", "smoke", "--no-index", "--colours", "blue,rad"]) == 2
    assert capsys.readouterr().err == "error: run xy, colours: colour 'rad' is not known; did you mean 'red'?\n"


def test_a_broken_list_of_models_ends_before_anything_runs(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_notebook(home, "n", parameters=PARAMETERS + "models: str = 'm'\n")
    write_run(home, "xy", "notebook: n")
    (home / "data").mkdir()
    (home / "data" / "models.toml").write_text("[", encoding="utf-8")
    assert report.main(["--profile", "smoke", "--no-index"]) == 2
    assert capsys.readouterr().err.startswith("error: data/models.toml: not valid TOML in UTF-8: ")


# ------------------------------------------------------------------------------------------------------------ one drive

TRICKY = {
    "path": "C:\\new\\table",
    "filter_expr": "k=4",
    "quotes": '"it\'s" \'\'\'and\'\'\' """so""" {on} %s \\',
    "letters": "naïve – Ω 漢字 🙂\n\ttab",
    "nested": {"a": [1, -2.5, 1e-300, None, True, {"b=": "c\\d"}], "": ""},
    "big": 12345678901234567890,
}

ASKS = """
from cdct import compression
from cdct.run import run
items = compression.generate(concepts=["photosynthesis"])
replies = run(items, ["stub"], ["baseline"])
assert (replies["status"] == "ok").all()
"""


class Stub(BaseHTTPRequestHandler):
    """A model on loopback that answers every question alike and counts them."""

    asked = 0

    def do_POST(self) -> None:
        type(self).asked += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": "One two three."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        reply = json.dumps(
            {"model": "stub", "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}
        )
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def stub() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Stub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory, stub: str) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A workbench whose runs were all driven once, each ending in its own way."""
    home = tmp_path_factory.mktemp("workbench")
    lines = "".join(f"{name} = {value!r}\n" for name, value in (TRICKY | {"filter_expr": "k=3", "path": ""}).items())
    tell = "import json\nfrom cdct.core import write_text, resolve\n"
    tell += "told = {name: globals()[name] for name in ('path filter_expr quotes letters nested big'.split())}\n"
    tell += "write_text(resolve(tables) / 'told.json', json.dumps(told))\n"
    write_notebook(home, "exact", tell, parameters=PARAMETERS + lines)
    write_run(home, "exact", f"notebook: exact\nparameters: {json.dumps(TRICKY, ensure_ascii=False)}")
    here = "import os\nfrom cdct.core import resolve\n"
    here += "(resolve(tables) / 'here.csv').write_text(os.getcwd() + '\\n' + os.environ['CDCT_HEADLESS'])"
    write_notebook(home, "base", here)
    write_run(home, "base", "notebook: base")
    copy = "from cdct.core import resolve\n"
    copy += "(resolve(tables) / 'copy.csv').write_text((resolve(tables).parent / 'base' / 'here.csv').read_text())"
    write_notebook(home, "a_reader", copy)
    write_run(home, "a_reader", "notebook: a_reader\nafter: [base]")
    write_notebook(home, "flood", "for i in range(100_000):\n    print(i, flush=i % 10 == 0)")
    write_run(home, "flood", "notebook: flood")
    write_notebook(home, "fails", "x = 1", "# the cell\n1/0", "print('never')")
    write_run(home, "fails", "notebook: fails")
    write_notebook(home, "killed", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "print('never')")
    write_run(home, "killed", "notebook: killed")
    tear = "open('executed/smoke/torn.partial.ipynb', 'w').write('{\"cells\": [')"
    write_notebook(home, "torn", f"import os, signal\n{tear}\nos.kill(os.getppid(), signal.SIGKILL)")
    write_run(home, "torn", "notebook: torn")
    write_notebook(home, "leaves", "import sys\nsys.exit(0)")
    write_run(home, "leaves", "notebook: leaves")
    write_notebook(home, "slow", "import threading\nthreading.Event().wait()")
    write_run(home, "slow", "notebook: slow\ntimeout_s: 5")
    write_notebook(home, "waits")
    write_run(home, "waits", "notebook: waits\nafter: [fails]")
    told = {"label": "m", "done": 5, "total": 9, "cached": 1, "failed": 3, "skipped": 1, "cost": 0.0}
    tell = "import os, json\nfrom cdct.core import resolve\n"
    tell += f"open(os.environ['CDCT_PROGRESS'], 'w').write(json.dumps({told}))\n"
    tell += "(resolve(tables) / 'warnings.csv').write_text('level,text\\nnote,some\\nwarning,m: stopped: HTTP 401\\n')"
    write_notebook(home, "unfinished", tell)
    write_run(home, "unfinished", "notebook: unfinished")
    shutil.copytree(PACKAGE / "data" / "concepts", home / "data" / "concepts")
    (home / "data" / "models.toml").write_text(f'[stub]\nbase_url = "{stub}"\n', encoding="utf-8")
    check = "from cdct.core import resolve\nif not resolve('data/repaired').exists():\n    raise RuntimeError('stop')"
    write_notebook(home, "resumes", ASKS, check)
    write_run(home, "resumes", "notebook: resumes")
    done = drive(home)
    assert "error:" not in done.stderr, done.stderr
    return home, done


def test_values_arrive_exactly(driven: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    home, done = driven
    assert json.loads(table(home, "exact", "told.json")) == TRICKY
    assert "unknown" not in done.stderr.casefold()  # a default that holds "=" is still a parameter


def test_non_finite_values_never_reach_a_notebook(home: Path) -> None:
    write_notebook(home, "n", parameters=PARAMETERS + "temperature: float = 0\n")
    write_run(home, "x", "notebook: n\nparameters: {temperature: .NaN}")
    assert report.main(["--profile", "smoke", "--no-index"]) == 2
    assert not list(home.glob("**/executed/**/*.ipynb"))


def test_notebooks_run_in_their_folder_with_a_note_that_nobody_looks_on(
    driven: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    home, _ = driven
    assert table(home, "base", "here.csv").split() == [str(home / "notebooks"), "1"]


def test_a_run_starts_after_those_that_it_reads(driven: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    home, _ = driven
    assert table(home, "a_reader", "copy.csv") == table(home, "base", "here.csv")


def test_an_error_is_a_failure_that_is_kept_and_told(driven: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    home, done = driven
    assert done.returncode == 1
    assert not executed(home, "fails").exists()
    failure = find_failure(load(executed(home, "fails.failed")))
    assert failure is not None
    assert (failure.cell, failure.source) == (4, "# the cell\n1/0")
    assert failure.error == "ZeroDivisionError: division by zero"
    assert "----> 2 1/0" in failure.traceback
    assert "fails failed in code cell 4: ZeroDivisionError: division by zero" in done.stderr
    assert "kept: notebooks/executed/smoke/fails.failed.ipynb" in done.stderr
    assert not list(home.glob("notebooks/executed/smoke/*.partial.ipynb"))


def test_a_killed_kernel_is_a_failure_and_no_hang(driven: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    home, done = driven
    told = "killed failed in code cell 3: DeadKernelError: the kernel died; out of memory, or killed from outside"
    assert told in done.stderr
    failure = find_failure(load(executed(home, "killed.failed")))
    assert failure is not None
    assert failure.cell == 3


def test_a_notebook_torn_by_the_death_of_its_worker_is_a_failure_of_its_run_alone(
    driven: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    home, done = driven
    assert "torn failed: the worker died while its notebook was being saved\n" in done.stderr
    failure = find_failure(load(executed(home, "torn.failed")))
    assert failure is not None
    assert (failure.cell, failure.error) == (0, TORN)


def test_leaving_with_code_0_is_a_failure(driven: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    home, done = driven
    assert "leaves failed in code cell 3: SystemExit: 0" in done.stderr
    assert executed(home, "leaves.failed").exists()


def test_a_notebook_past_its_limit_is_stopped(driven: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    home, done = driven
    assert "stopped after 5 s; raise timeout_s in notebooks/runs/slow.yaml" in done.stderr
    assert executed(home, "slow.failed").exists()
    assert kernels(home) == []


def test_a_run_whose_source_failed_is_not_run(driven: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    home, done = driven
    assert "waits: not run: it reads the tables of a run that has none" in done.stderr
    assert not executed(home, "waits").exists()
    assert "smoke: 5 executed (1 unfinished), 0 skipped, 6 failed, 1 not run in " in done.stderr


def test_much_output_arrives_whole_in_one_piece(driven: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    home, done = driven
    (output,) = load(executed(home, "flood"))["cells"][-1]["outputs"]
    assert "".join(output["text"]).split() == [str(i) for i in range(100_000)]
    lines = [line for line in done.stderr.splitlines() if line.startswith("flood:")]
    assert len(lines) < 12  # a line every 15 s, whatever is printed


def test_answered_calls_are_not_made_again_after_a_failure(
    driven: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    home, _ = driven
    assert find_failure(load(executed(home, "resumes.failed"))).error == "RuntimeError: stop"
    assert Stub.asked == 5
    (home / "data" / "repaired").touch()
    done = drive(home, "--run", "resumes")
    assert done.returncode == 0
    assert "resumes: done, 5/5 calls of stub (5 recorded)" in done.stderr
    assert Stub.asked == 5


def test_what_has_not_changed_is_skipped_without_loading_papermill(
    driven: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    home, _ = driven
    times = {name: executed(home, name).stat().st_mtime_ns for name in ("exact", "base", "a_reader")}
    program = "import sys; from cdct.report import main; code = main(sys.argv[1:]); "
    program += "print(code, {'papermill', 'nbformat', 'zmq'} & set(sys.modules))"
    arguments = ["--profile", "smoke", "--no-index", "--run", "exact", "a_reader"]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment(home),
        cwd=home,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "0 set()"
    assert "smoke: 0 executed, 3 skipped, 0 failed" in done.stderr
    assert times == {name: executed(home, name).stat().st_mtime_ns for name in times}


def test_a_run_with_unfinished_calls_is_run_again(driven: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    home, done = driven
    assert "unfinished: done, 5/9 calls of m (1 recorded, 3 failed, 1 not made)" in done.stderr
    told = (
        "unfinished: made, but 4 model calls have no answer; the same command asks them again\n  m: stopped: HTTP 401\n"
    )
    assert told in done.stderr
    again = drive(home, "--run", "unfinished")
    assert again.returncode == 3
    assert "smoke: 1 executed (1 unfinished), 0 skipped, 0 failed" in again.stderr


def test_a_failure_takes_the_place_of_the_former_result(driven: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    home, _ = driven
    write_notebook(home, "turns", "from cdct.core import resolve", "(resolve(tables) / 'x.csv').write_text('1')")
    write_run(home, "turns", "notebook: turns")
    assert drive(home, "--run", "turns").returncode == 0
    write_notebook(home, "turns", "raise ValueError('turned')")
    done = drive(home, "--run", "turns")
    (home / "notebooks" / "runs" / "turns.yaml").unlink()
    assert done.returncode == 1
    assert "turns failed in code cell 3: ValueError: turned" in done.stderr
    assert not executed(home, "turns").exists()
    assert list((home / "data" / "tables" / "smoke" / "turns").iterdir()) == []


# --------------------------------------------------------------------------------------------------------------- stamps


@pytest.fixture
def jobs(home: Path) -> dict[str, Job]:
    """Two runs, the second reading the first, with results that hold; nothing was executed for them."""
    write_notebook(home, "n", "1 + 1", parameters=PARAMETERS + "n: int = 1\n")
    write_run(home, "a", "notebook: n")
    write_run(home, "b", "notebook: n\nafter: [a]")
    return finish(report.plan(load_runs(), "smoke", {}, []))


def finish(jobs: dict[str, Job]) -> dict[str, Job]:
    """Give each job results as an execution would, those that are read before those that read them."""
    for job in jobs.values():
        prepare(job)
        (job.tables / "t.csv").write_text("x\n1\n")
        job.notebook("partial").replace(job.notebook())
        write_record(job, stamp(job, world()), {}, 1.0)
    return jobs


def states(profile: str = "smoke", **lists: list[str]) -> list[str]:
    return [state(job, stamp(job, world())) for job in report.plan(load_runs(), profile, lists, []).values()]


def test_results_hold_while_nothing_changes(home: Path, jobs: dict[str, Job]) -> None:
    assert states() == ["current", "current"]
    write_run(home, "a", "notebook: n\ntitle: Another title\nsummary: Another one.")  # only words of the page
    assert states() == ["current", "current"]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("notebooks/runs/b.yaml", "notebook: n\ntitle: t\nafter: [a]\nparameters: {n: 2}", ["current", "older"]),
        ("notebooks/runs/a.yaml", "notebook: n\ntitle: t\nprofiles: {smoke: {n: 2}}", ["older", "older"]),
        ("data/tables/smoke/a/t.csv", "x\n2\n", ["older", "older"]),
        ("data/tables/smoke/b/t.csv", "x\n2\n", ["current", "older"]),
        ("data/tables/smoke/b/more.csv", "x\n2\n", ["current", "older"]),
        ("notebooks/executed/smoke/b.ipynb", "{}", ["current", "older"]),
        ("notebooks/executed/smoke/b.failed.ipynb", "{}", ["current", "failed"]),
        ("data/tables/smoke/b/stamp.json", "{", ["current", "absent"]),
        ("data/models.toml", "", ["current", "current"]),
        ("data/published/x/y.csv", "", ["older", "older"]),
        ("requirements.lock", "", ["older", "older"]),
    ],
)
def test_what_results_were_made_from_is_watched(
    home: Path, jobs: dict[str, Job], path: str, text: str, expected: list[str]
) -> None:
    (home / path).parent.mkdir(parents=True, exist_ok=True)
    if path.endswith("b.yaml"):
        text += "\nprofiles: {smoke: {}}"
    (home / path).write_text(text)
    assert states() == expected


MODELS = """["m"]
gguf = "{home}/m.gguf"
["j"]
base_url = "http://127.0.0.1:1/v1"
body = {{ provider = {{ only = ["x"] }} }}
["other"]
base_url = "http://127.0.0.1:1/v1"
"""


@pytest.fixture
def outside(home: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files outside the workbench. The runs: `named` reads it, `open` whatever folder the variable names,
    `none` no folder; all have results that hold, without the variable.
    """
    monkeypatch.delenv("CDCT_PUBLIC", raising=False)
    folder = tmp_path_factory.mktemp("outside")
    (folder / "results_jury").mkdir()
    for name in ("a.json", "results_jury/b.json", "notes.txt"):
        (folder / name).write_text("{}")
    write_notebook(home, "reads", parameters=PARAMETERS + "folder: str = ''\n")
    write_notebook(home, "n")
    write_run(home, "named", f"notebook: reads\nparameters: {{folder: {folder}}}")
    write_run(home, "none", "notebook: n")
    write_run(home, "open", "notebook: reads")
    finish(report.plan(load_runs(), "smoke", {}, []))
    return folder


def test_a_run_that_reads_a_folder_holds_while_its_files_do(outside: Path) -> None:
    assert states() == ["current"] * 3
    for path in outside.rglob("*.json"):
        path.touch()  # the same bytes
    (outside / "notes.txt").write_text("other words")
    (outside / "empty").mkdir()
    assert states() == ["current"] * 3


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda folder: (folder / "a.json").write_text("{} "), id="changed"),
        pytest.param(lambda folder: (folder / "results_jury" / "b.json").write_text("[]"), id="changed, in a folder"),
        pytest.param(lambda folder: (folder / "c.json").write_text("{}"), id="added"),
        pytest.param(lambda folder: (folder / "a.json").unlink(), id="removed"),
        pytest.param(lambda folder: (folder / "a.json").rename(folder / "z.json"), id="renamed"),
        pytest.param(shutil.rmtree, id="all gone"),
    ],
)
def test_a_changed_file_in_its_folder_makes_a_run_old(outside: Path, change: Callable[[Path], object]) -> None:
    change(outside)
    assert states() == ["older", "current", "current"]


def test_the_variable_counts_for_runs_whose_folder_is_open(outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDCT_PUBLIC", str(outside))
    assert states() == ["current", "current", "older"]
    finish(report.plan(load_runs(), "smoke", {}, []))
    assert states() == ["current"] * 3
    (outside / "a.json").write_text("[]")
    assert states() == ["older", "current", "older"]
    monkeypatch.setenv("CDCT_PUBLIC", "")
    finish(report.plan(load_runs(), "smoke", {}, []))
    monkeypatch.delenv("CDCT_PUBLIC")
    assert states() == ["current"] * 3  # empty is as good as not set
    monkeypatch.setenv("CDCT_PUBLIC", str(outside / "nowhere"))
    assert states() == ["current", "current", "older"]  # the run will say that it is not there


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ["current", "current", "current"]),
        ('["m"]', '# a comment\n["m"]', ["current", "current", "current"]),
        ('["other"]', '["other"]\ntimeout_s = 5', ["current", "current", "current"]),
        ('["j"]', '["j"]\ntimeout_s = 5', ["current", "older", "current"]),
        ('["x"]', '["y"]', ["current", "older", "current"]),
        ('["m"]', '["n"]', ["older", "older", "current"]),
        ('["m"]', "[", ["older", "older", "current"]),
    ],
)
def test_only_runs_that_name_a_model_watch_its_entry(home: Path, old: str, new: str, expected: list[str]) -> None:
    file = home / "data" / "models.toml"
    lists = "models: list = []\njudges: list = []\ncompressor_models: list = []\n"
    write_notebook(home, "n", parameters=PARAMETERS + lists)
    write_run(home, "a", "notebook: n\nparameters: {compressor_models: [m]}")
    write_run(home, "b", "notebook: n\nparameters: {models: [m], judges: [j]}")
    write_run(home, "c", "notebook: n")
    file.parent.mkdir()
    file.write_text(MODELS.format(home=home), encoding="utf-8")
    (home / "m.gguf").write_text("weights")
    finish(report.plan(load_runs(), "smoke", {}, []))
    file.write_text(file.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    assert states() == expected
    (home / "m.gguf").write_text("other weights")
    assert states() == ["older", "older", "current"]
    (home / "m.gguf").unlink()
    assert states() == ["older", "older", "current"]


def test_code_that_makes_no_result_is_no_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(PACKAGE / "cdct", tmp_path / "cdct")
    monkeypatch.setattr("cdct.results.__file__", str(tmp_path / "cdct" / "results.py"))
    before = world()
    for name in ("report.py", "leftovers.py", "board.py", "environment.py", "page.py", "page_body.py"):
        (tmp_path / "cdct" / name).write_text("")
    (tmp_path / "cdct" / "templates" / "report.html.j2").write_text("")
    assert world() == before
    (tmp_path / "cdct" / "run.py").write_text("")
    assert world() != before


def test_a_changed_cell_or_tag_makes_results_old(home: Path, jobs: dict[str, Job]) -> None:
    write_notebook(home, "n", "1 + 2", parameters=PARAMETERS + "n: int = 1\n")
    assert states() == ["older", "older"]


def test_outputs_of_the_source_do_not_count(home: Path, jobs: dict[str, Job]) -> None:
    path = home / "notebooks" / "n.ipynb"
    notebook = load(path)
    output = {"output_type": "stream", "name": "stdout", "text": "2"}
    notebook["cells"][-1] |= {"execution_count": 7, "outputs": [output]}
    path.write_text(json.dumps(notebook))
    assert states() == ["current", "current"]


def test_the_record_lists_files_with_digests(jobs: dict[str, Job]) -> None:
    record = read_record(jobs["a"])
    assert record is not None
    assert record["stamp"] == record["made_from"] == stamp(jobs["a"], world())
    assert record["tables"] == {"t.csv": hashlib.sha256(b"x\n1\n").hexdigest()}
    assert record["notebook"] == hashlib.sha256(jobs["a"].notebook().read_bytes()).hexdigest()


def test_calls_that_failed_leave_no_stamp(jobs: dict[str, Job]) -> None:
    write_record(jobs["a"], stamp(jobs["a"], world()), {"failed": 1}, 1.0)
    assert states()[0] == "unfinished"


def test_a_notebook_that_was_not_run_to_its_end_is_no_success(jobs: dict[str, Job]) -> None:
    prepare(jobs["a"])
    failure = conclude(jobs["a"], 0, "", "")
    assert failure is not None
    assert (failure.cell, failure.error) == (0, "the worker ended with exit code 0")
    assert find_failure(load(jobs["a"].notebook("failed"))) == failure


@pytest.mark.parametrize("torn", ["", '{"cells": [', None])
def test_a_torn_or_missing_notebook_is_a_failure(jobs: dict[str, Job], torn: str | None) -> None:
    prepare(jobs["a"])
    partial = jobs["a"].notebook("partial")
    partial.unlink() if torn is None else partial.write_text(torn)
    assert started(jobs["a"])  # it is not tried once more
    failure = conclude(jobs["a"], -9, "", "")
    assert failure is not None
    assert (failure.cell, failure.error) == (0, "the worker died while its notebook was being saved")
    assert find_failure(load(jobs["a"].notebook("failed"))) == failure
    assert not partial.exists()


# ------------------------------------------------------------------------------------------------------------ leftovers


def test_the_results_of_a_deleted_run_go(home: Path, jobs: dict[str, Job], capsys: pytest.CaptureFixture[str]) -> None:
    stays = [
        home / "data/tables/explore/b/stamp.json",
        home / "data/tables/quick/b/stamp.json",
        home / "data/tables/smoke/mine/t.csv",  # no report wrote these
        home / "notebooks/executed/smoke/mine.ipynb",
        home / "notebooks/executed/quick/b.ipynb",
    ]
    for path in stays:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    jobs["b"].notebook().with_name("b.failed.ipynb").write_text(jobs["b"].notebook().read_text())
    assert read_tables("data/tables/smoke/overview", "t")["run"].tolist() == ["a", "b"]
    (home / "notebooks" / "runs" / "b.yaml").unlink()
    assert report.main(["--profile", "smoke", "--no-index"]) == 0
    assert capsys.readouterr().err.splitlines()[0] == "removed what runs wrote that are not in profile smoke now: b"
    assert read_tables("data/tables/smoke/overview", "t")["run"].tolist() == ["a"]
    assert not jobs["b"].tables.exists()
    assert [path.name for path in sorted(executed(home, "a").parent.glob("*.ipynb"))] == ["a.ipynb", "mine.ipynb"]
    assert all(path.exists() for path in stays)
    assert report.main(["--profile", "smoke", "--no-index"]) == 0
    assert "removed" not in capsys.readouterr().err


def test_what_somebody_laid_beside_tables_stays(home: Path, jobs: dict[str, Job]) -> None:
    (jobs["b"].tables / "notes").mkdir()
    (jobs["b"].tables / "notes" / "mine.txt").touch()
    assert leftovers.sweep("smoke", ["a"]) == ["b"]
    assert [path.name for path in sorted(jobs["b"].tables.rglob("*"))] == ["notes", "mine.txt"]
    assert leftovers.sweep("smoke", ["a"]) == []


def test_scratch_folders_of_dead_drivers_go(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        pass
    names = [f"cdct-report-{dead.pid}-abc", f"cdct-report-{os.getpid()}-abc", "cdct-report-abc", "cdct-local-1-abc"]
    for name in names:
        (tmp_path / name / "ipython").mkdir(parents=True)
    with leftovers.alone("smoke") as scratch:
        assert scratch.name.startswith(f"cdct-report-{os.getpid()}-")
        assert [name for name in names if not (tmp_path / name).exists()] == names[:1]


@pytest.mark.parametrize("stopped", [True, False])
def test_former_results_are_kept_until_there_are_new_ones(jobs: dict[str, Job], stopped: bool) -> None:
    def files() -> dict[str, bytes]:
        places = [*job.tables.rglob("*"), *job.notebook().parent.rglob("a*.ipynb")]
        return {str(path): path.read_bytes() for path in places if path.is_file()}

    job = jobs["a"]
    former = files()
    leftovers.set_aside("smoke", "a")
    prepare(job)
    (job.tables / "new.csv").touch()
    assert state(job, stamp(job, world())) == "absent"
    if not stopped:
        job.notebook("partial").replace(job.notebook())
        write_record(job, stamp(job, world()), {}, 1.0)
    new = files()
    with leftovers.alone("smoke"):
        pass  # a report puts back what one that was killed left aside
    assert files() == (former if stopped else {name: text for name, text in new.items() if ".previous" not in name})


# --------------------------------------------------------------------------------------------------- stopping, progress


def kernels(home: Path) -> list[list[str]]:
    """The command lines of living processes that belong to drivers of this workbench."""
    import psutil

    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = process.info["cmdline"] or []
        if process.info["status"] != psutil.STATUS_ZOMBIE and any(str(home / "scratch") in word for word in line):
            found.append(line)
    return found


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_nothing_lingers_when_the_driver_is_stopped(
    home: Path, number: signal.Signals, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(120)
        call = f"import socket\nline = socket.create_connection(('127.0.0.1', {server.getsockname()[1]}))\nline.recv(1)"
        write_notebook(home, "n", call)
        write_run(home, "x", "notebook: n")
        (former,) = finish(report.plan(load_runs(), "smoke", {}, [])).values()
        (former.tables / "t.csv").write_text("x\n2\n")  # they hold no more
        driver = subprocess.Popen(
            command(), env=environment(home), cwd=home, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        kernel, _ = server.accept()
        with kernel, driver:
            kernel.settimeout(120)
            driver.send_signal(number)
            assert kernel.recv(1) == b""  # the kernel's end of the line is closed: it is gone
            _, told = driver.communicate(timeout=60)
    assert driver.returncode == code
    if code == 130:
        assert "answered replies are kept in data/replies.sqlite and the same command goes on from there" in told
        assert list((home / "scratch").iterdir()) == []
    else:
        assert list(home.glob("scratch/cdct-report-*"))
        monkeypatch.setattr("tempfile.tempdir", str(home / "scratch"))
        with leftovers.alone("smoke") as scratch:
            assert list(home.glob("scratch/cdct-report-*")) == [scratch]
    assert [path.name for path in (home / "notebooks" / "executed" / "smoke").glob("*.ipynb")] == ["x.ipynb"]
    assert (former.tables / "t.csv").read_text() == "x\n2\n"


def test_a_kernel_that_does_not_start_is_tried_once_more(home: Path) -> None:
    write_notebook(home, "n", "print('came up')")
    write_run(home, "x", "notebook: n")
    # kernels start in the notebook's folder, so this file is found first: it gives up once, then steps aside
    launcher = "import os, runpy, sys\nif os.path.exists('first'):\n    os.remove('first')\n    sys.exit(1)\n"
    launcher += "sys.path = [p for p in sys.path if p not in ('', os.getcwd())]\n"
    launcher += "runpy.run_module('ipykernel_launcher', run_name='__main__')\n"
    (home / "notebooks" / "ipykernel_launcher.py").write_text(launcher, encoding="utf-8")
    (home / "notebooks" / "first").touch()
    done = drive(home)
    assert done.returncode == 0, done.stderr
    assert not (home / "notebooks" / "first").exists()
    assert done.stderr.count("x: ") == 2  # started and done, told once


def test_two_drivers_do_not_share_a_profile(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_notebook(home, "n")
    write_run(home, "x", "notebook: n")
    with leftovers.alone("smoke"):
        assert report.main(["--profile", "smoke", "--no-index"]) == 2
    told = "error: another report of profile smoke is running here; wait for it or stop it"
    assert capsys.readouterr().err.strip() == told


def test_a_list_that_no_run_takes_is_told(home: Path, jobs: dict[str, Job], capsys: pytest.CaptureFixture[str]) -> None:
    assert report.main(["--profile", "smoke", "--no-index", "--judges", "j", "--run", ""]) == 0
    assert "note: no chosen run has a parameter 'judges'; --judges changes nothing" in capsys.readouterr().err


def test_lines_are_throttled(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("cdct.board.time.monotonic", lambda: now[0])
    board = Board()
    board.start("x")
    for _ in range(1000):
        now[0] += LINE_EVERY_S / 250
        board.update("x", {"label": "m", "done": 1, "total": 2, "cached": 1, "cost": 0.5})
    assert capsys.readouterr().err.splitlines()[:2] == ["x: started", "x: 1/2 calls of m (1 recorded, $0.50), 15 s"]
    board.update("x", {})
    assert capsys.readouterr().err == ""
