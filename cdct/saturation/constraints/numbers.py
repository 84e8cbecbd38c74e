"""N1-N4, which numbers stand in the reply: their count and sum, none at all, different ones, and equations."""

from __future__ import annotations

import re

from cdct.core import Verdict
from cdct.saturation.constraints.base import (
    constraint,
    count_score,
    listed,
    number_of,
    off_count,
    share,
    spans_of,
    whole,
)
from cdct.text import Integer, Span, Text


@constraint("N1", "Embedded integer sum", {"count": whole(range(3, 8)), "total": whole(range(20, 101))}, version="2")
def embedded_integer_sum(text: Text, count: int, total: int) -> Verdict:
    """Your reply must contain exactly {count:whole number} written in digits, and together they must add up to {total}.
    Every whole number in digits counts, also in lists, dates and tables, and as often as it occurs, and a minus sign
    before it makes it negative; numbers with a decimal point and digits right after a letter do not count.

    Rules: `cdct.text.numbers.integers`. Score: (1 - |found - count| / count) times (1 - |sum - total| / total), neither
    below 0. Where only the sum is wrong, all the numbers are shown. Range: 3 to 7 numbers, few enough for one short
    text, and up to the 6 of two equations, so that N4 can be met in the same probe; a sum of 20 to 100, which small
    numbers reach.
    """
    found = text.integers
    values = [unit.value for unit in found]
    sum_ = sum(values)
    score = count_score(len(found), count) * (count_score(sum_, total) if 0 < sum_ < 2 * total else 0.0)
    detail = f"{number_of(len(found), 'whole number')}, {count} wanted; sum {listed([sum_])}, {total} wanted"
    detail += f"; found {listed(values)}" if values else ""
    wrong = off_count(found, count) or (found if sum_ != total else ())
    return Verdict.of(score, detail, spans_of(wrong))


embedded_integer_sum.passes("Sold 1,250 pears and 50 plums.", count=2, total=1300)
embedded_integer_sum.passes("From 3-5 a.m., 3.5 km on the 2nd of May.", count=3, total=10)
embedded_integer_sum.fails("We saw 4 owls, 5 bats and 11 mice.", count=3, total=21)
embedded_integer_sum.fails("1. We saw 4 owls.\n2. And 5 bats.", count=2, total=9)


@constraint("N2", "No digits", {}, version="2")
def no_digits(text: Text) -> Verdict:
    """Your reply must not contain any of the ten digits, not even in lists or dates; write all numbers in words.

    Only the characters from 0 to 9 are digits. Score: one minus the share of characters that are.
    """
    hits = sum(map(text.plain.count, "0123456789"))
    detail = f"{number_of(hits, 'digit')} in {number_of(text.characters, 'character')}"

    def wrong() -> list[Span]:
        return [text.plain_span(*digit.span()) for digit in re.finditer("[0-9]", text.plain)]

    return Verdict.of(share(text.characters - hits, text.characters), detail, wrong)


no_digits.passes("Two owls and one hundred bats.")
no_digits.passes("Half: ½; squared: m².")
no_digits.fails("Two owls and 100 bats.")
no_digits.fails("1. Two owls\n2. One bat")


@constraint("N3", "Distinct number count", {"n": whole(range(3, 7))}, version="2")
def distinct_number_count(text: Text, n: int) -> Verdict:
    """Your reply must contain exactly {n:different whole number} written in digits. Every whole number in digits
    counts, also in lists, dates and tables, but the same one only once, and a minus sign before it makes it another
    one; numbers with a decimal point and digits right after a letter do not count.

    Rules: `cdct.text.numbers.integers`; "007" is 7, and -5 is not 5. Score: 1 - |different - n| / n, not below 0.
    Range: 3 to 6, what one short text, or a numbered list, can hold.
    """
    different: dict[int, Integer] = {}
    for unit in text.integers:
        different.setdefault(unit.value, unit)
    first = list(different.values())
    detail = f"{number_of(len(first), 'different whole number')}, {n} wanted"
    detail += f"; found {listed([unit.value for unit in first])}" if first else ""
    return Verdict.of(count_score(len(first), n), detail, spans_of(off_count(first, n)))


distinct_number_count.passes("We saw 4 owls, 12 bats, 4 mice and 1,000 ants.", n=3)
distinct_number_count.passes("1. Owls\n2. Bats\n3. 3.5 mice", n=3)
distinct_number_count.fails("We saw 4 owls, 4 bats and 12 mice.", n=3)
distinct_number_count.fails("On 3 May we saw 4 owls, 5 bats and 6 mice.", n=3)


@constraint("N4", "Embedded arithmetic", {"n": whole(range(2, 4))}, version="2")
def embedded_arithmetic(text: Text, n: int) -> Verdict:
    """Your reply must contain exactly {n:equation} of the form ‘X + Y = Z’, with whole numbers in digits for X, Y and
    Z, and all of them must be correct. Sums of three or more numbers and chains with a further equals sign do not
    count.

    Rules: `cdct.text.numbers.equations`; of these count the ones with a plus sign and no decimals that are no part of a
    chain. Others are neither wanted nor forbidden. Score: 1 - |found - n| / n, not below 0, times the share that is
    correct. Range: 2 or 3, with six to nine numbers.
    """
    found = [one for one in text.equations if one.operator == "+" and not one.chain and "." not in one.text]
    false = [one for one in found if not one.true]
    score = count_score(len(found), n) * share(len(found) - len(false), len(found))
    detail = f"{number_of(len(found), 'equation')}, {n} wanted; {len(false)} not correct"
    detail += f": {listed([one.text for one in false])}" if false else ""
    wrong = {one.place: one for one in [*false, *off_count(found, n)]}
    return Verdict.of(score, detail, spans_of([wrong[place] for place in sorted(wrong)]))


embedded_arithmetic.passes("We know that 2 + 3 = 5, and 10+-4=6.", n=2)
embedded_arithmetic.passes("1 + 2 + 3 = 6, but **1,000 + 250 = 1,250**; 3 * 4 = 12.", n=1)
embedded_arithmetic.fails("We know that 2 + 3 = 5, and 10 + 4 = 15.", n=2)
embedded_arithmetic.fails("2 + 3 = 5. 4 + 4 = 8 = 8.", n=2)
