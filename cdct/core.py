"""The words every part speaks: items, benchmarks, named random streams, canonical JSON, tables and the key columns.

Nothing here knows a benchmark. A benchmark is a module that offers the four verbs and registers itself in `BENCHMARKS`.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # numpy and pandas are imported where they are used: `import cdct` stays light
    import numpy as np
    import pandas as pd

KEYS = ["benchmark", "arm", "item", "model", "sample", "turn"]
"""The columns that every row of every frame carries."""
NAMES = ("benchmark", "arm", "item", "model", "run", "concept", "domain", "served_model", "fingerprint")
"""Columns that hold names: text in every table, so that a model named "1e5" or "007" stays that."""

Message = dict[str, Any]
Messages = list[Message]


def root() -> Path:
    """The workbench's folder: the environment variable CDCT_HOME, else the folder that holds the package."""
    return Path(os.environ.get("CDCT_HOME") or Path(__file__).resolve().parent.parent)


def resolve(path: str | os.PathLike[str]) -> Path:
    """`path` itself when absolute, else below `root()`: notebooks and scripts mean the same file from any folder."""
    return root() / Path(path).expanduser()


# ---------------------------------------------------------------------------------------------------------------- names


def unknown(what: str, got: object, known: Iterable[str]) -> str:
    """The message for a name that is not there, with the nearest known one or, where none is near, all of them."""
    names = list(known)
    near = [n for n in names if n.lower() == str(got).lower()] or difflib.get_close_matches(str(got), names, 1, 0.5)
    hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(names) or 'none'}"
    return f"{what} {got!r} is not known{hint}"


class Registry(Mapping[str, Any]):
    """Names to things, in the order in which they came. A name is taken once; an unknown one is an error with a hint.

    `load` fills the registry when it is first read; where it fails, the next reading tries again.
    """

    def __init__(self, what: str, load: Callable[[], None] | None = None) -> None:
        self.what = what
        self._entries: dict[str, Any] = {}
        self._load = load

    def _ready(self) -> dict[str, Any]:
        if self._load is not None:
            self._load()
            self._load = None
        return self._entries

    def add(self, name: str, thing: Any) -> Any:
        if name in self._entries:
            raise ValueError(f"{self.what} {name!r} is registered twice")
        self._entries[name] = thing
        return thing

    def __getitem__(self, name: str) -> Any:
        entries = self._ready()
        if name not in entries:
            raise KeyError(unknown(self.what, name, entries))
        return entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._ready()

    def __iter__(self) -> Iterator[str]:
        return iter(self._ready())

    def __len__(self) -> int:
        return len(self._ready())


# ---------------------------------------------------------------------------------------------------------------- items


@dataclass(frozen=True)
class Item:
    """One question, with the truth that scores its answer. All fields are JSON.

    `params` repeats every drawn or chosen value, `truth` holds what the scorer needs, `meta` what people want to see.
    """

    benchmark: str
    id: str
    params: Mapping[str, Any] = field(default_factory=dict)
    truth: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {
            "benchmark": self.benchmark,
            "id": self.id,
            "params": dict(self.params),
            "truth": dict(self.truth),
            "meta": dict(self.meta),
        }

    @property
    def sha256(self) -> str:
        return digest(self.to_dict())


def items_hash(items: Sequence[Item]) -> str:
    """One SHA-256 for a set of items, whatever their order: two runs with the same hash asked the same questions."""
    return digest(sorted(item.sha256 for item in items))


@dataclass(frozen=True)
class Arm:
    """A named condition: `messages(item, previous)` gives the next chat messages, or None when no turn is left.

    `previous` holds the texts that the model answered in the earlier turns. An arm ends by itself, within 50 turns, and
    never sends the same messages twice: the same request is the same reply. `sampling` overrides request parameters
    (temperature, max_tokens, ...) for this arm.
    """

    name: str
    summary: str
    messages: Callable[[Item, Sequence[str]], Messages | None]
    sampling: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Benchmark:
    """A benchmark as `run` sees it: its arms by name, the baseline among them, and its request defaults.

    `choices` says what runs can choose from by name: a notebook's parameter -> what lists the names it can hold. Each
    is an option of the report's command line too. `flags` words the flags of its rows, as what follows "3 of 40".
    """

    name: str
    title: str
    arms: Mapping[str, Arm]
    baseline: str
    sampling: Mapping[str, Any]
    choices: Mapping[str, Callable[[], Iterable[str]]] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)

    def arm(self, name: str) -> Arm:
        """The arm of that name; "baseline" names the benchmark's baseline arm."""
        name = self.baseline if name == "baseline" else name
        if name not in self.arms:
            raise ValueError(f"{self.name}: {unknown('arm', name, ['baseline', *self.arms])}")
        return self.arms[name]


def _load_benchmarks() -> None:
    import cdct.ceiling  # noqa: F401 - importing a benchmark registers it
    import cdct.compression  # noqa: F401
    import cdct.jury  # noqa: F401


BENCHMARKS = Registry("benchmark", load=_load_benchmarks)


# ------------------------------------------------------------------------------------------------------------- verdicts

Spans = tuple[tuple[int, int], ...] | Callable[[], Iterable[tuple[int, int]]]


@dataclass(frozen=True)
class Verdict:
    """What a verifier found: `passed` is `score == 1.0`, and both are None together when nothing could be scored.

    `score` lies in [0, 1], `detail` says for a person what was counted, `flags` name the specification gaps used.
    `spans` are half-open code-point offsets in the raw reply; a function in their place is called when first read.
    """

    passed: bool | None
    score: float | None
    detail: str
    spans: tuple[tuple[int, int], ...] = field(default_factory=tuple)
    flags: tuple[str, ...] = ()

    def __init__(
        self, passed: bool | None, score: float | None, detail: str, spans: Spans = (), flags: tuple[str, ...] = ()
    ) -> None:
        if score is not None and not 0.0 <= score <= 1.0:
            raise ValueError(f"Verdict: score must be None or between 0 and 1, got {score}")
        if passed != (None if score is None else score == 1.0):
            raise ValueError(f"Verdict: passed must be (score == 1.0), or both None, got {passed} and {score}")
        values = self.__dict__  # the setters of a frozen dataclass would take twice as long
        values["passed"], values["score"], values["detail"], values["flags"] = passed, score, detail, flags
        values["_find" if callable(spans) else "spans"] = spans if callable(spans) else tuple(spans)

    @classmethod
    def of(cls, score: float, detail: str, spans: Spans = (), flags: tuple[str, ...] = ()) -> Verdict:
        """The verdict for a score: passed when it is 1.0."""
        return cls(score == 1.0, score, detail, spans, flags)

    def __getattr__(self, name: str) -> Any:  # asked only for what is not there: spans that nobody has read yet
        if name != "spans":
            raise AttributeError(f"a Verdict has no attribute {name!r}")
        return self.__dict__.setdefault("spans", tuple(self._find()))

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


# --------------------------------------------------------------------------------------------------------------- random


def stream(*name: str | int) -> np.random.Generator:
    """A generator seeded from the SHA-256 of its name, e.g. `stream("cse", "items", seed, k, index)`.

    Streams with different names are independent, so adding a draw in one place moves no draw in another. A part is
    taken as its text: 1 and "1" are the same name.
    """
    import numpy as np

    seed = hashlib.sha256(json.dumps([str(part) for part in name]).encode()).digest()
    return np.random.default_rng(int.from_bytes(seed, "big"))


# ----------------------------------------------------------------------------------------------------------------- json


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} has no place in JSON: {value!r}")


def to_json(value: Any) -> str:
    """Canonical JSON: keys sorted, no blanks, UTF-8, numpy scalars as plain numbers; NaN and infinities are refused."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain)


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON of a value, as 64 hex digits."""
    # a lone surrogate can't be encoded as UTF-8 but can stand in what a model wrote; it still needs a stable hash
    return hashlib.sha256(to_json(value).encode("utf-8", "surrogatepass")).hexdigest()


# --------------------------------------------------------------------------------------------------------------- tables


def write_text(path: Path, text: str) -> None:
    """Write a file in one step, so that a reader or a crash never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def save_tables(folder: str | os.PathLike[str], **frames: pd.DataFrame) -> None:
    """Write each frame as `folder/<name>.csv`: UTF-8, no index, floats to 10 significant digits, byte-stable."""
    for name, frame in frames.items():
        write_text(
            resolve(folder) / f"{name}.csv", frame.to_csv(index=False, float_format="%.10g", lineterminator="\n")
        )


def read_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    """A CSV table of this workbench; the columns of `NAMES` are text, the others what all their cells are.

    An empty cell is "" in a column that holds any text, and NaN in all others.
    """
    import pandas as pd

    # no word means "missing": a model called "None" or a reply "NA" stays what it is
    names = dict.fromkeys(NAMES, str)
    table = pd.read_csv(resolve(path), encoding="utf-8", dtype=names, keep_default_na=False, na_values=[""])
    texts = [name for name in table if pd.api.types.is_string_dtype(table[name].dtype) and table[name].notna().any()]
    return table.fillna(dict.fromkeys(texts, ""))


def scored(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that could be scored: those whose `unscored` is empty, be they fresh or read from a table."""
    return rows[rows["unscored"].isna() | (rows["unscored"] == "")]


def read_tables(folder: str | os.PathLike[str], name: str) -> pd.DataFrame:
    """The tables of that name of all runs whose folders lie beside `folder`, stacked, with a column `run`.

    Where a report made any of them, only those of runs that ended well count: the folders with a stamp.json.
    FileNotFoundError when there is none.
    """
    import pandas as pd

    beside = resolve(folder).parent
    stamped = {path.parent for path in beside.glob("*/stamp.json")}
    files = sorted(path for path in beside.glob(f"*/{name}.csv") if not stamped or path.parent in stamped)
    frames = [read_table(file).assign(run=file.parent.name) for file in files]
    filled = [frame for frame in frames if len(frame)]  # pandas warns where an empty one is among them
    if not frames:
        raise FileNotFoundError(
            f"no {name}.csv in the folders beside {folder}; run another notebook, or `make report`, first"
        )
    return pd.concat(filled or frames, ignore_index=True)
