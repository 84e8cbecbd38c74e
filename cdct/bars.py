"""Showing how a run goes: a bar per model for a person, or the file that a report's driver reads meanwhile."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdct.core import write_text

EVERY_S = 1.0
_totals: Counter[str] = Counter()
"""What all runs of this process have done: a notebook may hold several, its driver shows one line."""


class Progress:
    """Hears of every finished conversation; shows tqdm bars, or writes the file CDCT_PROGRESS, or does nothing."""

    def __init__(self, shown: bool = True) -> None:
        self.file = os.environ.get("CDCT_PROGRESS")
        self.shown = shown and not self.file and not os.environ.get("CDCT_HEADLESS")
        self._bars: dict[str, Any] = {}
        self._counts: dict[str, Counter[str]] = {}
        self._label = ""
        self._written = 0.0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        for bar in self._bars.values():
            bar.close()
        self._write(now=True)

    def start(self, model: str, total: int) -> None:
        """A model's run of `total` conversations begins."""
        self._counts[model] = Counter()
        self._label = model
        _totals["total"] += total
        if self.shown:
            from tqdm.auto import tqdm

            self._bars[model] = tqdm(total=total, desc=model, unit="item", dynamic_ncols=True, mininterval=0.3)
        self._write(now=True)

    def step(self, model: str, outcome: Mapping[str, Any]) -> None:
        """One conversation ended, with this as its last row."""
        counts, status = self._counts[model], outcome.get("status")
        kind = status if status in ("failed", "skipped") else "cached" if outcome.get("cached") else "new"
        for tally in (counts, _totals):
            tally["done"] += 1
            tally[kind] += 1
            tally["cost"] += outcome.get("cost_new") or 0
        self._label = model
        if model in self._bars:
            told = {"recorded": "cached", "failed": "failed", "skipped": "skipped", "retried": "retried"}
            parts = [f"{counts[name]} {word}" for word, name in told.items() if counts[name]]
            self._bars[model].set_postfix_str(", ".join([*parts, f"${counts['cost']:.4f}"]), refresh=False)
            self._bars[model].update()
        self._write()

    def trouble(self, model: str) -> None:
        """A call failed; it may be made again."""
        for tally in (self._counts[model], _totals):
            tally["retried"] += 1

    def say(self, text: str) -> None:
        """Tell the person something now, without breaking a bar."""
        if self.shown:
            from tqdm.auto import tqdm

            tqdm.write(f"cdct: {text}", file=sys.stderr)

    def _write(self, now: bool = False) -> None:
        if self.file and (now or time.monotonic() - self._written >= EVERY_S):
            self._written = time.monotonic()
            names = ("done", "total", "cached", "failed", "skipped", "retried", "cost")
            write_text(Path(self.file), json.dumps({"label": self._label, **{name: _totals[name] for name in names}}))
