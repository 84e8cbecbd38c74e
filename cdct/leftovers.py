"""A report has its profile to itself and leaves behind what holds: not what stopped reports and deleted runs left.

While a run is made anew its former results lie aside, in notebooks/executed/<profile>/.previous/<run>.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from cdct.core import root
from cdct.parameters import RunError

_SCRATCH = "cdct-report-"
_NOTEBOOK = re.compile(r"([a-z0-9][a-z0-9_-]*)((?:\.failed|\.partial)?\.ipynb)")
_RECORD = "stamp.json"


def executed(profile: str) -> Path:
    """The folder of a profile's executed notebooks."""
    return root() / "notebooks" / "executed" / profile


def tables(profile: str) -> Path:
    """The folder that holds the folder of tables of each run of a profile."""
    return root() / "data" / "tables" / profile


@contextmanager
def alone(profile: str) -> Iterator[Path]:
    """A scratch folder for one driver; a second in the same profile is refused: each would empty the other's tables."""
    folder = executed(profile)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(f"another report of profile {profile} is running here; wait for it or stop it") from None
        _remove_scratch_of_the_dead()
        for previous in sorted((folder / ".previous").glob("*")):
            put_back(profile, previous.name)  # its report was killed
        with tempfile.TemporaryDirectory(prefix=f"{_SCRATCH}{os.getpid()}-") as scratch:
            local = Path(scratch) / "local"
            try:
                yield Path(scratch)
            finally:
                if local.exists():
                    from cdct.local import shutdown

                    shutdown(local)


def _remove_scratch_of_the_dead() -> None:
    import psutil

    for folder in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*"):
        owner = re.fullmatch(rf"{_SCRATCH}(\d{{1,9}})-.+", folder.name)
        if owner is not None and not psutil.pid_exists(int(owner[1])):
            shutil.rmtree(folder, ignore_errors=True)  # somebody else's stays: it can't be removed


# ----------------------------------------------------------------------------------------------------- former results


def _kept(profile: str, name: str) -> list[tuple[Path, Path]]:
    """Where a run's results lie, each with its place aside."""
    aside = executed(profile) / ".previous" / name
    notebooks = [executed(profile) / f"{name}{state}.ipynb" for state in ("", ".failed")]
    return [(tables(profile) / name, aside / "tables"), *((path, aside / path.name) for path in notebooks)]


def set_aside(profile: str, name: str) -> None:
    """Keep the results of a run that is now made anew, until `forget` or `put_back`."""
    for place, aside in _kept(profile, name):
        if place.exists():
            aside.parent.mkdir(parents=True, exist_ok=True)
            place.replace(aside)


def forget(profile: str, name: str) -> None:
    """Remove the former results of a run: it has ended, well or not."""
    shutil.rmtree(executed(profile) / ".previous" / name, ignore_errors=True)


def put_back(profile: str, name: str) -> None:
    """The former results of a run that was stopped, in their place again; those of a run that has ended are removed."""
    ended = (tables(profile) / name / _RECORD).is_file() or (executed(profile) / f"{name}.failed.ipynb").is_file()
    for place, aside in () if ended else _kept(profile, name):
        if aside.exists():
            shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
            aside.replace(place)
    (executed(profile) / f"{name}.partial.ipynb").unlink(missing_ok=True)
    forget(profile, name)


# ------------------------------------------------------------------------------------------------------- runs that went


def sweep(profile: str, names: Collection[str]) -> list[str]:
    """The runs that are in the profile no more (`names` are those that are) and whose results were removed.

    Only what a run wrote is removed: in a folder of tables with a stamp.json the files that it lists, and executed
    notebooks with the cell of parameters that the report puts in. What somebody laid beside them stays.
    """
    gone: set[str] = set()
    for record in tables(profile).glob(f"*/{_RECORD}"):
        folder = record.parent
        if folder.name not in names and not folder.is_symlink():
            _remove_listed(folder, record)
            gone.add(folder.name)
    for path in executed(profile).glob("*.ipynb"):
        found = _NOTEBOOK.fullmatch(path.name)
        if found is None or found[1] in names:
            continue
        if '"injected-parameters"' in path.read_text(encoding="utf-8", errors="replace"):
            path.unlink()
            gone.add(found[1])
            empty = tables(profile) / found[1]
            if empty.is_dir() and not any(empty.iterdir()):
                empty.rmdir()
    return sorted(gone)


def _remove_listed(folder: Path, record: Path) -> None:
    try:
        listed = json.loads(record.read_text(encoding="utf-8"))["tables"]
    except (ValueError, TypeError, KeyError):
        listed = ()
    for path in sorted(folder.rglob("*"), reverse=True):  # what lies in a folder comes before it
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif path.relative_to(folder).as_posix() in listed or path == record:
            path.unlink()
    if not any(folder.iterdir()):
        folder.rmdir()
