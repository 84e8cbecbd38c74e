"""Whole numbers and sums for a text: how many, how many different ones, what they add up to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, islice
from typing import NamedTuple

Equation = tuple[int, int, int]
_TRIES = 4000
"""Sums that are looked at before giving up."""
_ROWS = 200
"""Rows of other numbers that are looked at for each row of sums."""


class Figures(NamedTuple):
    """The sums, each (left, right, result), and the numbers that stand alone."""

    equations: tuple[Equation, ...]
    loose: tuple[int, ...]


@lru_cache(maxsize=4096)
def figures(
    fixed: tuple[int, ...],
    equations: int,
    total: tuple[int, int] | None,
    different: int | None,
    *,
    apart: bool = False,
    least: int = 1,
    below_zero: bool = False,
) -> Figures | None:
    """Sums and numbers that, with the `fixed` ones, are as many as wanted and add up; None where none were found.

    `total` is (how many numbers, their sum), `different` how many different ones. With `apart` no number occurs twice.
    `least` is the least of the new numbers; with `below_zero` the last loose one may be negative.
    """
    if apart and len(set(fixed)) < len(fixed):
        return None
    if total:
        loose = [total[0] - len(fixed) - 3 * equations]
    else:
        loose = list(range(max(0, (different or 0) - len(set(fixed))) + 1)) if different else [0]
    left = total[1] - sum(fixed) if total else None
    for count in loose:
        if count < 0 or (apart and different not in (None, len(fixed) + 3 * equations + count)):
            continue
        tries = iter(range(_TRIES))
        for sums in _sums(equations, left, count, set(fixed), different, apart, least, tries):
            known = {*fixed, *(number for one in sums for number in one)}
            rest = None if left is None else left - sum(map(sum, sums))
            found = _loose(count, rest, known, different, apart, least, below_zero)
            if found is not None:
                return Figures(sums, found)
    return None


def _sums(
    equations: int,
    left: int | None,
    loose: int,
    known: set[int],
    different: int | None,
    apart: bool,
    least: int,
    tries: Iterator[int],
) -> Iterator[tuple[Equation, ...]]:
    """Rows of sums that may do, while there are `tries`; where no other number can, the last takes up the rest."""
    if different is not None and not len(known) <= different <= len(known) + 3 * equations + loose:
        return
    if not equations:
        yield ()
        return
    most = max([2 * least + 14, *known]) if left is None else left // 2
    if left is not None and not loose and left % 2:
        return
    plain = max(3, 2 * least)  # smaller results need a 0 or the same number twice
    results = [most] if left is not None and equations == 1 and not loose else [*range(plain, most + 1), *range(plain)]
    for result in results:
        for one in _parts(result, least):
            if next(tries, None) is None:
                return
            if apart and (len(set(one)) < 3 or not known.isdisjoint(one)):
                continue
            rest = None if left is None else left - 2 * result
            for more in _sums(equations - 1, rest, loose, known | {*one}, different, apart, least, tries):
                if one not in more:
                    yield (one, *more)


def _parts(result: int, least: int) -> Iterator[Equation]:
    """The sums with this result, those of two different numbers first and those with a 0 last."""
    low = min(least, 1)
    for left in range(max(low, least), (result + 1) // 2):
        yield left, result - left, result
    for left in range(result // 2, result - max(low, least) + 1):
        if left:
            yield left, result - left, result
    if least <= 1:
        yield from ((0, result, result), (result, 0, result)) if result else ((0, 0, 0),)


def _loose(
    count: int, rest: int | None, known: set[int], different: int | None, apart: bool, least: int, below_zero: bool
) -> tuple[int, ...] | None:
    """`count` numbers that add up to `rest` and bring the different ones to as many as wanted."""
    if rest is not None and not below_zero and rest < count * min([least, *known]):
        return None
    new_ones = [different - len(known)] if different is not None else [count] if apart else range(count, -1, -1)
    fresh = [number for number in (*range(max(least, 2), least + 16), max(least, 1)) if number not in known]
    fresh = list(dict.fromkeys(fresh))  # 1 comes last: by itself it may look like the start of a list
    for new in new_ones:
        if not 0 <= new <= count or (apart and new < count):
            continue
        for again in islice(combinations_with_replacement([*sorted(known), *fresh], count - new), _ROWS):
            own = [number for number in dict.fromkeys(again) if number not in known]
            left = new - len(own)
            if left == 0 and rest in (None, sum(again) + sum(own)):
                return (*again, *own)
            others = [number for number in fresh if number not in own]
            for some in islice(combinations(others, left - 1), _ROWS) if left > 0 else ():
                last = others[left - 1] if rest is None else rest - sum(again) - sum(own) - sum(some)
                allowed = last >= least or (below_zero and last < 0)
                if allowed and last not in known and last not in own and last not in some:
                    return (*again, *own, *some, last)
    return None
