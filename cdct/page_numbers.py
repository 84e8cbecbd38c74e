"""The numbers of the report page: read from the cells of tables, added up, and written for people."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class Total:
    """A sum that knows how much of it is missing: the numbers added up, how many there were, and how many were not."""

    sum: float = 0.0
    known: int = 0
    missing: int = 0

    def add(self, value: float) -> None:
        if math.isnan(value):
            self.missing += 1
        else:
            self.sum, self.known = self.sum + value, self.known + 1


def to_number(text: str) -> float:
    """The number that a table's cell holds, NaN for anything else."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def number(value: float, unit: str = "") -> str:
    """A value to three significant digits; shares and their differences in percent; an en dash for what is missing."""
    if math.isnan(value):
        return "–"
    parts = unit in ("share", "points")
    value = value * 100 if parts else value
    text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if parts else f"{value:.3g}"
    return text.replace("-", "−")


def count(value: float) -> str:
    """A whole number with separators; an en dash for what is missing."""
    return "–" if math.isnan(value) else f"{value:,.0f}"


def total(value: Total, digits: int = 0, least: str = "≥ ") -> str:
    """A sum for people: with `least` before it where a part of it is missing, an en dash where all of it is."""
    if not value.known:
        return "–" if value.missing else "0"
    return f"{least if value.missing else ''}{value.sum:,.{digits}f}"


def share(value: float, unit: str = "share") -> str:
    """A share (0 to 1), or a difference of two ("points", -1 to 1), as a place on the small plot, in percent."""
    value = (value + 1) / 2 if unit == "points" else value
    return f"{min(1.0, max(0.0, value)) * 100:.2f}"


def size(n_bytes: int) -> str:
    """A file's size for people."""
    return f"{n_bytes / 1e6:,.1f} MB" if n_bytes >= 1e6 else f"{max(1, round(n_bytes / 1e3)):,} kB"
