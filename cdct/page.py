"""The report page: figures/report/index.html, one file that needs and asks for nothing else, made from results.

Every table that a run may write for the page (findings, card, calls, warnings, items) is read as plain text and
escaped: a cell can hold what a model wrote.
"""

from __future__ import annotations

import csv
import json
import math
import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

import cdct
from cdct.core import root, write_text
from cdct.page_numbers import Total, count, number, share, size, to_number, total
from cdct.parameters import RunError, read_notebook, read_parameters
from cdct.results import Failure, Job, find_failure, read_record, stamp, state, world
from cdct.runfile import PROFILES, Run

PAGE = Path("figures", "report", "index.html")
_PACKAGES = (
    *("cdct", "jupyterlab", "papermill", "nbclient", "nbconvert", "ipykernel", "numpy", "pandas", "scipy"),
    *("statsmodels", "matplotlib", "seaborn", "pyarrow", "httpx", "httpx-aiohttp", "xllamacpp"),
)
_COUNTS = ("calls", "failed", "skipped", "truncated", "refused", "filtered", "empty")
_SUMS = (*_COUNTS, "prompt_tokens", "completion_tokens", "cost")
_SERVED = ("served_model", "fingerprint", "endpoint", "parameters")
_ITEMS = ("benchmark", "items", "sha256")
Row = Mapping[str, str]


@dataclass
class Section:
    """One run on the page: its state on disk and, where it has results, its body, its tables and what it was given."""

    job: Job
    state: str
    failure: Failure | None = None
    waits_for: list[str] = field(default_factory=list)
    body: Markup | str = ""
    record: Mapping[str, Any] = field(default_factory=dict)
    parameters: list[tuple[str, str, str]] = field(default_factory=list)
    files: list[tuple[str, int]] = field(default_factory=list)
    ended: datetime | None = None

    @property
    def anchor(self) -> str:
        return f"run-{self.job.name}"

    @property
    def has_results(self) -> bool:
        return self.state in ("current", "unfinished", "older")

    def table(self, name: str) -> list[Row]:
        path = self.job.tables / f"{name}.csv"
        return read_rows(path) if self.has_results and path.is_file() else []


def build(profile: str, jobs: Sequence[Job], left_out: Sequence[Run] = ()) -> Path:
    """Write the page of a profile from what is on disk and give its path; what is missing is said, not passed over."""
    surroundings = world()
    sections = [_section(job, stamp(job, surroundings)) for job in in_order(jobs)]
    by_name = {section.job.name: section for section in sections}
    for job in jobs:  # those that are read stand before those that read them
        section = by_name[job.name]
        section.waits_for = [other.run.title for other in job.after if not by_name[other.name].has_results]
        if section.waits_for and section.state != "failed":
            section.state = "absent"  # older results of its own would rest on results that are gone
    asked, (n_asked, answered, cost, unpriced) = calls(sections), totals(sections)
    ended = [section.ended for section in sections if section.has_results and section.ended]
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "count": count, "total": total, "size": size, "share": share}
    html = environment.get_template("report.html.j2").render(
        profile=profile,
        sections=sections,
        date=max(ended) if ended else None,
        warnings=warnings(sections),
        findings=findings(sections),
        cards=cards(sections),
        left_out=[(run, ", ".join(name for name in PROFILES if name in run.profiles) or "none") for run in left_out],
        calls=asked,
        models=len({row["model"] for row in asked if row["role"] == "subject"}),
        asked=n_asked,
        answered=answered,
        cost=cost,
        unpriced=unpriced,
        served=served(sections),
        items=sorted({tuple(row.get(name, "") for name in _ITEMS) for row in _all(sections, "items")}),
        seeds=_seeds(sections),
        versions=[(name, _version(name)) for name in _PACKAGES if _version(name)],
        python=platform.python_version(),
        cores=os.cpu_count(),
        machine=f"{platform.system()} {platform.machine()}",
        version=cdct.__version__,
    )
    path = root() / PAGE
    write_text(path, html)
    return path


def in_order(jobs: Sequence[Job]) -> list[Job]:
    """Overviews first (they read all others), then notebook by notebook, its baseline before its ablations."""

    def place(job: Job) -> tuple[bool, str, bool, bool, str]:
        ablation = job.name != job.run.notebook and "baseline" not in job.name
        return job.run.after != "all", job.run.notebook, bool(job.run.after), ablation, job.name

    return sorted(jobs, key=place)


def _section(job: Job, stamped: str) -> Section:
    section = Section(job, state(job, stamped))
    if section.state == "failed":
        try:
            failure = find_failure(read_notebook(job.notebook("failed")))
        except RunError as error:
            failure = Failure(0, "", str(error))
        section.failure = failure or Failure(0, "", "the kernel did not start")
    if section.has_results:
        from cdct.page_body import notebook_body

        path = job.notebook()
        section.body = notebook_body(path, job.run.title, path.relative_to(root()).as_posix())
        section.record = read_record(job) or {}
        help_texts = {name: parameter.help for name, parameter in read_parameters(job.run.source).items()}
        section.parameters = [
            (name, json.dumps(value, ensure_ascii=False), help_texts.get(name, ""))
            for name, value in section.record.get("parameters", {}).items()
        ]
        files = sorted(file for file in job.tables.rglob("*") if file.is_file() and file != job.record)
        section.files = [(file.relative_to(root()).as_posix(), file.stat().st_size) for file in files]
        section.ended = _ended(path)
    return section


def _ended(path: Path) -> datetime | None:
    told = read_notebook(path)["metadata"].get("papermill", {}).get("end_time")
    if not told:
        return None
    moment = datetime.fromisoformat(told)
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


# --------------------------------------------------------------------------------------------------------------- tables


def read_rows(path: Path) -> list[Row]:
    """The rows of a CSV table as texts; a short row has "" for what is missing."""
    csv.field_size_limit(2**31 - 1)  # a cell can hold a whole reply
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        rows = csv.DictReader((line.replace("\0", "�") for line in file), restval="")
        return [{key: value for key, value in row.items() if isinstance(key, str)} for row in rows]


def _all(sections: Iterable[Section], name: str) -> list[Row]:
    return [row for section in sections for row in section.table(name)]


def findings(sections: Sequence[Section]) -> list[dict[str, str]]:
    """The sentences of all runs, each with its model and the anchor of the run that it comes from."""
    return [
        {"model": row.get("model", ""), "text": row["text"], "anchor": section.anchor}
        for section in sections
        for row in section.table("findings")
        if row.get("text")
    ]


def cards(sections: Sequence[Section]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Model -> group -> lines, each once, with the run that it comes from; lines of one label stand together."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    seen: set[tuple[str, ...]] = set()
    for section in sections:
        for row in section.table("card"):
            key = tuple(row.get(name, "") for name in ("model", "group", "label", "estimate", "low", "high", "n"))
            if key in seen:
                continue
            seen.add(key)
            numbers = ("estimate", "low", "high", "published", "n", "n_unscored")
            line: dict[str, Any] = {name: to_number(row.get(name, "")) for name in numbers}
            line |= {name: row.get(name, "") for name in ("label", "method", "published_label", "unit")}
            clusters = re.search(r"(\d+) clusters", line["method"])  # what an interval really rests on
            line |= {"clusters": clusters[1] if clusters and float(clusters[1]) != line["n"] else ""}
            line |= {"anchor": section.anchor, "run": section.job.run.title}
            groups = found.setdefault(row.get("model", "") or "(no model named)", {})
            groups.setdefault(row.get("group", ""), []).append(line)
    for lines in (lines for groups in found.values() for lines in groups.values()):
        labels = [line["label"] for line in lines]
        lines.sort(key=lambda line, labels=labels: labels.index(line["label"]))
        for line in lines:
            line["shared"] = labels.count(line["label"]) > 1
    return found


def warnings(sections: Sequence[Section]) -> list[dict[str, Any]]:
    """What a reader must know, each text once: failures, then results that are not whole, warnings, notes."""
    found: dict[tuple[str, str], list[Section]] = {}
    for section in sections:
        for level, text in _own_warnings(section):
            found.setdefault((level, text), []).append(section)
    for section in sections:
        for row in section.table("warnings"):
            level = "warning" if row.get("level") == "warning" else "note"
            if row.get("text"):
                found.setdefault((level, row["text"]), []).append(section)
    order = {"failure": 0, "missing": 1, "warning": 2, "note": 3}
    rows = [{"level": level, "text": text, "sections": where} for (level, text), where in found.items()]
    return sorted(rows, key=lambda row: order[row["level"]])


def _own_warnings(section: Section) -> Iterable[tuple[str, str]]:
    if section.failure:
        cell = f" in code cell {section.failure.cell}" if section.failure.cell else ""
        yield "failure", f"A run ended{cell}: {section.failure.error.rstrip('.')}. It has no results on this page."
    elif section.waits_for:
        yield "missing", f"Not run: it reads the tables of a run that has none ({', '.join(section.waits_for)})."
    elif section.state == "absent":
        yield "missing", "Not run yet in this profile."
    elif section.state == "older":
        yield "missing", "Made from other code, data or parameters than are here now, or changed since; run it again."
    told = section.record.get("calls", {})
    if section.has_results and (told.get("failed") or told.get("skipped")):
        failed, skipped = told.get("failed") or 0, told.get("skipped") or 0
        yield "missing", f"{failed} model calls failed and {skipped} were not made; the same command asks them again."
    asked, answered, _, _ = totals([section])
    if asked.sum and answered.known and not answered.sum and not answered.missing:
        yield "failure", f"Not one of {asked.sum:,.0f} model calls has an answer: nothing in this run was measured."


def calls(sections: Sequence[Section]) -> list[dict[str, Any]]:
    """Model calls by model and role, summed over runs; every number is a `Total`."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in _all(sections, "calls"):
        role = "judge" if row.get("judge", "").casefold() in ("true", "1") else "subject"
        sums = found.setdefault((row.get("model", ""), role), {name: Total() for name in _SUMS})
        for name in _SUMS:
            sums[name].add(to_number(row.get(name, "")))
        if to_number(row.get("unpriced", "")) > 0 and row.get("cost"):
            sums["cost"].missing += 1
    return [{"model": model, "role": role, **sums} for (model, role), sums in found.items()]


def totals(sections: Sequence[Section]) -> tuple[Total, Total, Total, Total]:
    """Over all models: the calls, those with an answer, their cost, and the answered calls whose cost is not known."""
    asked, answered, cost, unpriced = Total(), Total(), Total(), Total()
    for row in _all(sections, "calls"):
        n, failed, skipped, paid = (to_number(row.get(name, "")) for name in ("calls", "failed", "skipped", "cost"))
        asked.add(n)
        answered.add(n - failed - skipped)
        cost.add(paid)
        part = to_number(row.get("unpriced", ""))  # answered calls that the cost of this row leaves out
        if part > 0:
            cost.missing += not math.isnan(paid)
            unpriced.add(part)
        elif math.isnan(paid):
            unpriced.add(n - sum(part for part in (failed, skipped) if not math.isnan(part)))
    return asked, answered, cost, unpriced


def served(sections: Sequence[Section]) -> list[dict[str, str]]:
    """What answered and what it was sent: every distinct combination, by model."""
    names = ("model", *_SERVED)
    rows = {tuple(row.get(name, "") for name in names): None for row in _all(sections, "calls")}
    return [dict(zip(names, row, strict=True)) for row in rows if any(row[1:])]


def _seeds(sections: Sequence[Section]) -> list[tuple[str, str, str]]:
    return [
        (section.job.run.title, name, value)
        for section in sections
        for name, value, _ in section.parameters
        if name == "seed" or name.endswith("_seed")
    ]


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return cdct.__version__ if package == "cdct" else ""
