"""The board of a report: bars on a terminal while notebooks run, a line now and then elsewhere."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tqdm import tqdm

LINE_EVERY_S = 15.0


def counts(path: Path) -> dict[str, Any]:
    """What the code in a notebook says of its model calls so far; empty while it has said nothing."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


class Board:
    """Shows which runs are at work and how far their model calls are; throttled, whatever the notebooks print."""

    def __init__(self) -> None:
        # a terminal without a size, as some recorders are, shows no bar at all
        self.live = sys.stderr.isatty() and min(os.get_terminal_size(sys.stderr.fileno())) > 0
        self._total: tqdm | None = None
        self._bars: dict[str, tqdm] = {}
        self._began: dict[str, float] = {}
        self._told: dict[str, float] = {}

    def say(self, text: str) -> None:
        """One text to the person, above the bars."""
        tqdm.write(text, file=sys.stderr)

    def open(self, runs: int) -> None:
        if self.live:
            self._total = tqdm(total=runs, desc="runs", unit="run", position=0, file=sys.stderr)

    def start(self, name: str) -> None:
        self._began[name] = self._told[name] = time.monotonic()
        if self.live:
            taken = {bar.pos for bar in self._bars.values()}
            place = next(i for i in range(1, len(taken) + 2) if -i not in taken)
            self._bars[name] = tqdm(desc=name, unit="call", position=place, leave=False, file=sys.stderr)
        else:
            self.say(f"{name}: started")

    def update(self, name: str, told: Mapping[str, Any]) -> None:
        if self.live:
            bar = self._bars[name]
            bar.total, bar.n = told.get("total") or None, told.get("done") or 0
            bar.set_postfix_str(_extras(told), refresh=False)
            bar.refresh()
        elif time.monotonic() - self._told[name] >= LINE_EVERY_S:
            self._told[name] = time.monotonic()
            self.say(f"{name}: {_calls(told)}, {time.monotonic() - self._began[name]:.0f} s")

    def end(self, name: str, state: str, seconds: float, told: Mapping[str, Any]) -> None:
        if self.live:
            self._bars.pop(name).close()
            if self._total is not None:
                self._total.update()
        if not self.live or state != "executed":
            self.say(f"{name}: {'done' if state == 'executed' else state}, {_calls(told)}, {seconds:.1f} s")

    def skip(self) -> None:
        if self._total is not None:
            self._total.update()

    def close(self) -> None:
        for bar in [*self._bars.values(), *([self._total] if self._total is not None else [])]:
            bar.close()
        self._bars, self._total = {}, None


def _calls(told: Mapping[str, Any]) -> str:
    if not told:
        return "no model calls"
    label = f" of {told['label']}" if told.get("label") else ""
    extras = _extras(told)
    return f"{told.get('done', 0)}/{told.get('total', 0)} calls{label}{f' ({extras})' if extras else ''}"


def _extras(told: Mapping[str, Any]) -> str:
    words = {"cached": "recorded", "failed": "failed", "skipped": "not made"}
    parts = [f"{told[key]} {word}" for key, word in words.items() if told.get(key)]
    if told.get("cost"):
        parts.append(f"${told['cost']:.2f}")
    return ", ".join(parts)
