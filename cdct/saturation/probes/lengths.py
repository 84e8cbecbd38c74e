"""How many words each sentence gets: the least row of lengths that keeps the rules of order, then raised to a total."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache


@lru_cache(maxsize=4096)
def sentence_lengths(
    least: tuple[int, ...],
    most: tuple[int, ...],
    total: int | None = None,
    direction: str = "",
    mirrored: bool = False,
    growth: int = 0,
) -> tuple[int, ...] | None:
    """Lengths between `least` and `most` that add up to `total`, or the least ones there are; None if there are none.

    `direction` ("increasing", "decreasing") makes them strictly so, `mirrored` the same from both ends, and `growth`
    asks for so many in a row of which each from the third on is longer than the two before together.
    """
    found = []
    for start in range(len(least) - growth + 1) if growth else [0]:
        rules = (direction, mirrored, range(start + 2, start + growth) if growth else range(0))
        row = _settled(list(least), most, rules)
        if row is not None:
            found.append((sum(row), row, rules))
    for _, row, rules in sorted(found, key=lambda entry: entry[0]):
        raised = row if total is None else _raised(row, most, rules, total)
        if raised is not None:
            return tuple(raised)
    return None


_Rules = tuple[str, bool, range]


def _settled(row: list[int], most: Sequence[int], rules: _Rules) -> list[int] | None:
    """The least row that keeps the rules and is nowhere below this one: every rule only asks for longer sentences."""
    direction, mirrored, growing = rules
    last = len(row) - 1
    changed = True
    while changed:
        before = row.copy()
        for i in range(last) if direction == "increasing" else ():
            row[i + 1] = max(row[i + 1], row[i] + 1)
        for i in range(last, 0, -1) if direction == "decreasing" else ():
            row[i - 1] = max(row[i - 1], row[i] + 1)
        for i in range(last + 1) if mirrored else ():
            row[i] = max(row[i], row[last - i])
        for i in growing:
            row[i] = max(row[i], row[i - 1] + row[i - 2] + 1)
        if any(length > limit for length, limit in zip(row, most, strict=True)):
            return None
        changed = row != before
    return row


def _raised(row: list[int], most: Sequence[int], rules: _Rules, total: int) -> list[int] | None:
    """The row made longer until it adds up, the shortest sentences first if that works; None where it cannot.

    In a mirrored row, all but the middle grow by two words at a time: where that ends at the wrong count, the middle
    begins with a word more, or the longest go first.
    """
    middle = len(row) // 2
    for sign in (1, -1):
        for start in (row, [*row[:middle], row[middle] + 1, *row[middle + 1 :]]):
            now = _settled(start.copy(), most, rules)
            while now is not None and sum(now) < total:
                for i in sorted(range(len(now)), key=lambda i: sign * now[i]):
                    more = _settled([*now[:i], now[i] + 1, *now[i + 1 :]], most, rules)
                    if more is not None and sum(more) <= total:
                        now = more
                        break
                else:
                    now = None
            if now is not None and sum(now) == total:
                return now
    return None
