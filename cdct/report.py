"""The report: runs the notebooks of a profile side by side, skips what has not changed, and assembles the page.

    python -m cdct.report --profile quick [--run NAME ...] [--models A,B] [--judges A,B] [--concepts A,B]
                          [--jobs N] [--force] [--no-index]

Exit codes:
    0    every chosen run has a result, and every model call in it an answer
    1    a run has no result
    2    the input is wrong
    3    made, but model calls have no answer; the same command asks them again
    130  stopped by Ctrl-C; what was made before holds
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from cdct import execute, leftovers
from cdct.board import Board, counts
from cdct.core import BENCHMARKS, root, unknown
from cdct.parameters import MODEL_LISTS, RunError
from cdct.results import Failure, Job, conclude, prepare, stamp, started, state, told_warnings, world, write_record
from cdct.runfile import PROFILES, Run, before, chosen, final_parameters, load_runs

POLL_S = 0.5


@dataclass
class Outcome:
    """What became of a job: "executed", "skipped" (its results hold), "failed" or "blocked" (by what it reads)."""

    job: Job
    state: str
    seconds: float = 0.0
    calls: Mapping[str, Any] = field(default_factory=dict)
    failure: Failure | None = None

    @property
    def unanswered(self) -> int:
        """Model calls that failed or were not made."""
        return (self.calls.get("failed") or 0) + (self.calls.get("skipped") or 0)


@dataclass
class _Running:
    job: Job
    stamp: str
    folder: Path
    worker: BaseProcess
    began: float
    attempt: int = 1

    @property
    def progress(self) -> Path:
        return self.folder / "progress.json"

    @property
    def log(self) -> Path:
        return self.folder / "log.txt"

    @property
    def late(self) -> bool:
        return time.monotonic() - self.began > self.job.run.timeout_s


# ------------------------------------------------------------------------------------------------------------- planning


def plan(runs: Mapping[str, Run], profile: str, lists: Mapping[str, list[str]], names: Sequence[str]) -> dict[str, Job]:
    """The jobs of a profile in an order in which each stands behind those that it reads, with their final parameters.

    `lists` replaces parameters such as models of the runs of these names (all when there are none).
    """
    inside = chosen(runs, profile)
    graph = {name: before(run, inside) for name, run in inside.items()}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise RunError(f"runs/{error.args[1][0]}.yaml: after: {' -> '.join(error.args[1])} is a circle") from None
    own = chosen(runs, profile, names)
    jobs: dict[str, Job] = {}
    for name in order:
        parameters = final_parameters(inside[name], profile, lists if name in own else {})
        jobs[name] = Job(inside[name], profile, parameters, [jobs[other] for other in graph[name]])
    return jobs


def choices() -> dict[str, list[Callable[[], Iterable[str]]]]:
    """Parameters that choose by name -> what lists the names: models, judges, and what the benchmarks offer."""
    from cdct.models import load_models

    found: dict[str, list[Callable[[], Iterable[str]]]] = {key: [load_models] for key in MODEL_LISTS}
    for benchmark in BENCHMARKS.values():
        for key, names in benchmark.choices.items():
            found.setdefault(key, []).append(names)
    return found


def check_names(jobs: Sequence[Job]) -> None:
    """Raise RunError for a model, judge, concept or the like that there is none of, before anything runs."""
    for key, sources in choices().items():
        wanted = [(job.name, name) for job in jobs for name in job.names(key)]
        if not wanted:
            continue
        try:
            known = [name for names in sources for name in names()]
        except (OSError, ValueError) as error:
            raise RunError(str(error)) from None
        for run, name in wanted:
            if name not in known:
                kind = "model" if key in MODEL_LISTS else key.removesuffix("s")
                raise RunError(f"run {run}, {key}: {unknown(kind, name, known)}")


# ------------------------------------------------------------------------------------------------------------ execution


def drive(jobs: Sequence[Job], workers: int, force: bool, board: Board, scratch: Path) -> list[Outcome]:
    """The outcome of every job, in the order in which they ended; no worker or kernel is left, however this ends."""
    by_name = {job.name: job for job in jobs}
    graph = TopologicalSorter({job.name: [other.name for other in job.after if other.name in by_name] for job in jobs})
    graph.prepare()
    surroundings = world()
    queue: list[Job] = []
    running: list[_Running] = []
    outcomes: list[Outcome] = []
    try:
        while graph.is_active():
            queue += [by_name[name] for name in graph.get_ready()]
            skipped = False
            while queue and len(running) < workers and not skipped:
                job = queue.pop(0)
                stamped = stamp(job, surroundings)
                if not force and state(job, stamped) == "current":
                    outcomes.append(Outcome(job, "skipped"))
                    graph.done(job.name)
                    board.skip()
                    skipped = True  # what waits for this one may come first now
                    continue
                running.append(_launch(job, stamped, scratch / job.name))
                board.start(job.name)
            if skipped:
                continue
            if not running:
                break  # what is left waits for a run that failed
            wait([one.worker.sentinel for one in running], timeout=POLL_S)
            for one in list(running):
                board.update(one.job.name, counts(one.progress))
                if one.worker.is_alive() and not one.late:
                    continue
                outcome = _settle(one)
                if outcome is None:
                    continue
                running.remove(one)
                outcomes.append(outcome)
                board.end(outcome.job.name, outcome.state, outcome.seconds, outcome.calls)
                if outcome.state == "executed":
                    graph.done(outcome.job.name)
    finally:
        for one in running:
            execute.stop(one.worker)
            leftovers.put_back(one.job.profile, one.job.name)
    ended = {outcome.job.name for outcome in outcomes}
    return outcomes + [Outcome(job, "blocked") for job in jobs if job.name not in ended]


def _launch(job: Job, stamped: str, folder: Path, attempt: int = 1) -> _Running:
    folder.mkdir(parents=True, exist_ok=True)
    if attempt == 1:
        leftovers.set_aside(job.profile, job.name)
    prepare(job)
    package = str(Path(__file__).resolve().parents[1])
    environment = {
        "CDCT_HOME": str(root()),
        "CDCT_HEADLESS": "1",
        "CDCT_PROGRESS": str(folder / "progress.json"),
        "CDCT_LOCAL_DIR": str(folder.parent / "local"),
        "CDCT_LOCAL_OWNER": str(os.getpid()),
        "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")])),
        # a user's start-up files and a kernel of the name python3 in another environment must not change a result
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_DATA_DIR": str(folder / "jupyter"),
        "TMPDIR": str(folder),  # what a stopped kernel leaves behind goes with the scratch folder
    } | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    worker = execute.start(job, environment, folder / "log.txt")
    return _Running(job, stamped, folder, worker, time.monotonic(), attempt)


def _settle(one: _Running) -> Outcome | None:
    """The outcome of a job whose worker has ended or is late; None when it was started once more."""
    job, reason = one.job, ""
    if one.worker.is_alive():
        reason = f"stopped after {job.run.timeout_s:g} s; raise timeout_s in notebooks/runs/{job.name}.yaml"
    execute.stop(one.worker)
    if one.worker.exitcode != 0 and not reason and one.attempt == 1 and not started(job):
        again = _launch(job, one.stamp, one.folder, attempt=2)
        one.worker, one.began, one.attempt = again.worker, again.began, again.attempt
        return None
    seconds = time.monotonic() - one.began
    log = one.log.read_text(encoding="utf-8", errors="replace") if one.log.exists() else ""
    failure = conclude(job, one.worker.exitcode or 0, reason, log)
    calls = counts(one.progress)
    if failure is None:
        write_record(job, one.stamp, calls, seconds)
    leftovers.forget(job.profile, job.name)
    return Outcome(job, "failed" if failure else "executed", seconds, calls, failure)


# --------------------------------------------------------------------------------------------------------- command line


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the report as the command line says and give its exit code."""
    began = time.monotonic()
    board = Board()
    keys = tuple(choices())
    options = _options(arguments, keys)
    try:
        runs = load_runs()
        lists = {key: value for key in keys if (value := getattr(options, key))}
        jobs = plan(runs, options.profile, lists, options.run)
        own = [jobs[name] for name in jobs if name in chosen(runs, options.profile, options.run)]
        check_names(own)
        for key in lists:
            if not any(key in job.parameters for job in own):
                board.say(f"note: no chosen run has a parameter {key!r}; --{key} changes nothing")
        with leftovers.alone(options.profile) as scratch:
            if gone := leftovers.sweep(options.profile, jobs):
                board.say(f"removed what runs wrote that are not in profile {options.profile} now: {', '.join(gone)}")
            board.open(len(own))
            outcomes = drive(own, options.jobs, options.force, board, scratch)
        page = "" if options.no_index else _page(options.profile, jobs, runs)
    except RunError as error:
        board.say(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        board.close()
        board.say("\nstopped; answered replies are kept in data/replies.sqlite and the same command goes on from there")
        return 130
    finally:
        board.close()
    for outcome in outcomes:
        _tell(board, outcome)
    tally = {state: sum(outcome.state == state for outcome in outcomes) for state in ("executed", "skipped", "failed")}
    blocked = sum(outcome.state == "blocked" for outcome in outcomes)
    unfinished = sum(outcome.state == "executed" and outcome.unanswered > 0 for outcome in outcomes)
    notes = {"executed": f" ({unfinished} unfinished)"} if unfinished else {}
    told = ", ".join(f"{n} {state}{notes.get(state, '')}" for state, n in tally.items())
    told += f", {blocked} not run" if blocked else ""
    board.say(f"{options.profile}: {told} in {(time.monotonic() - began) / 60:.1f} min{page}")
    return 1 if tally["failed"] or blocked else 3 if unfinished else 0


def _page(profile: str, jobs: Mapping[str, Job], runs: Mapping[str, Run]) -> str:
    from cdct.page import build

    path = build(profile, list(jobs.values()), [run for run in runs.values() if run.name not in jobs])
    return f"; {path.relative_to(root()).as_posix()}"


def _tell(board: Board, outcome: Outcome) -> None:
    job, failure = outcome.job, outcome.failure
    if outcome.unanswered and failure is None:
        calls = f"{outcome.unanswered} model call{'s have' if outcome.unanswered > 1 else ' has'} no answer"
        board.say(f"{job.name}: made, but {calls}; the same command asks them again")
        for reason in told_warnings(job)[:3]:
            board.say(f"  {reason}")
    if outcome.state == "blocked":
        board.say(f"{job.name}: not run: it reads the tables of a run that has none")
    if failure is None:
        return
    kept = job.notebook("failed").relative_to(root()).as_posix()
    where = f" in code cell {failure.cell}" if failure.cell else ""
    board.say(f"\n{job.name} failed{where}: {failure.error}\n  kept: {kept}")
    source = failure.source.splitlines()
    tail = [line for line in failure.traceback.splitlines() if line.strip()][-12:]
    board.say("\n".join(f"    {line}" for line in [*source[:8], *(["..."] if len(source) > 8 else []), "", *tail]))


def _options(arguments: Sequence[str] | None, keys: Iterable[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m cdct.report", description=__doc__.splitlines()[0])
    parser.add_argument("--profile", choices=PROFILES, default="quick")
    parser.add_argument("--run", nargs="*", action="extend", default=[], metavar="NAME", help="only these runs")
    for key in keys:
        parser.add_argument(
            f"--{key}", type=_names, default=[], metavar="A,B", help=f"{key} of all runs that take them"
        )
    parser.add_argument("--jobs", type=_count, default=os.cpu_count() or 1, metavar="N", help="at a time")
    parser.add_argument("--force", action="store_true", help="also run what has not changed")
    parser.add_argument("--no-index", action="store_true", help="leave the page as it is")
    options = parser.parse_args(arguments)
    options.run = [name for name in options.run if name]
    return options


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, got {text!r}")
    return int(text)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # `kill` and `timeout` end it as cleanly as Ctrl-C
    sys.exit(main())
