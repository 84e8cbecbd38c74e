"""N1-N4 at their limits: which numbers count, sums, digits, different numbers, equations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from mutations import Edit, judge, prose

from cdct.core import stream
from cdct.saturation.constraints import CONSTRAINTS


def check(id: str, text: str, **params):
    return CONSTRAINTS[id].check(text, **params)


def marked(text: str, verdict) -> list[str]:
    return [text[start:end] for start, end in verdict.spans]


@pytest.mark.parametrize(
    ("id", "params", "text", "score"),
    [
        ("N1", {"count": 2, "total": 10}, "We saw 3 and 7.", 1.0),
        ("N1", {"count": 2, "total": 10}, "We saw 3 and 6.", 0.9),
        ("N1", {"count": 4, "total": 10}, "We saw 3 and 7.", 0.5),
        ("N1", {"count": 4, "total": 10}, "We saw 3 and 6.", 0.45),
        ("N1", {"count": 2, "total": 10}, "We saw -3 and 13, 2.5 of them in CO2.", 1.0),
        ("N1", {"count": 2, "total": 10}, "We saw 3 and 70.", 0.0),
        ("N1", {"count": 2, "total": 10}, "We saw -3 and -7.", 0.0),
        ("N1", {"count": 2, "total": 10}, "We saw none.", 0.0),
        ("N1", {"count": 2, "total": 12}, "We saw _5_ owls and **7** bats.", 1.0),
        ("N1", {"count": 6, "total": 16}, "2 + 3 = 5 and 1 + 2 = 3.", 1.0),
        ("N1", {"count": 1, "total": 9}, "We saw " + "9" * 300 + ".", 0.0),
        ("N2", {}, "No.", 1.0),
        ("N2", {}, "**1** No.", 4 / 5),
        ("N2", {}, "_1_ No.", 4 / 5),
        ("N2", {}, "²½٣①", 1.0),
        ("N2", {}, "1234", 0.0),
        ("N3", {"n": 2}, "We saw 3 and 7, 7, 3 and 3.0.", 1.0),
        ("N3", {"n": 2}, "We saw 3 and -3.", 1.0),
        ("N3", {"n": 2}, "We saw _5_ owls, *7* bats and 5 mice.", 1.0),
        ("N3", {"n": 2}, "We saw 07 and 7.", 0.5),
        ("N3", {"n": 2}, "1. One\n2. Two\n3. Three", 0.5),
        ("N3", {"n": 2}, "None.", 0.0),
        ("N4", {"n": 2}, "2 + 3 = 5 and 1+1=2.", 1.0),
        ("N4", {"n": 2}, "2 + 3 = 5 and 1+1=3.", 0.5),
        ("N4", {"n": 2}, "2 + 3 = 5 and 1+1=3. 5 + 5 = 10.", 0.5 * 2 / 3),
        ("N4", {"n": 2}, "2 + 3 = 5.", 0.5),
        ("N4", {"n": 1}, "2 + 3 = 5. 1 + 1 + 1 = 3. 2 = 1 + 1. x = 1 + 1 = 2. 1 + 1 = 2 = 2.", 1.0),
        ("N4", {"n": 1}, "2 + 3 = 5. 3 - 1 = 2. 2 * 2 = 5. 6 / 2 = 3. 0.5 + 0.5 = 1.0. 0.5 + 0.5 = 2.", 1.0),
        ("N4", {"n": 2}, "-2 + 5 = 3, 2 + (-5) = -3.", 1.0),
        ("N4", {"n": 1}, "| sum |\n|---|\n| 1,000 + 1 = 1,001 |", 1.0),
        ("N4", {"n": 1}, "10\u202f000 + 1 = 10\u202f001", 1.0),
        ("N4", {"n": 1}, "\\$2 + \\$3 = \\$5", 1.0),
        ("N4", {"n": 1}, "2 plus 3 equals 5", 0.0),
    ],
)
def test_scores(id, params, text, score):
    assert check(id, text, **params).score == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize(
    ("id", "params", "text", "places"),
    [
        ("N1", {"count": 1, "total": 3}, "We saw **3** and -7, 8.", ["-7", "8"]),
        ("N1", {"count": 4, "total": 3}, "We saw 3 and 1,000.", ["1,000"]),
        ("N1", {"count": 2, "total": 9}, "We saw 3 and 7.", ["3", "7"]),
        ("N1", {"count": 2, "total": 10}, "We saw 3 and 7.", []),
        ("N2", {}, "Saw **12** in 3D", ["1", "2", "3"]),
        ("N3", {"n": 1}, "Saw 3, 3, 4, 3, 5, 4.", ["4", "5"]),
        ("N3", {"n": 3}, "Saw 3, 4, 3, 4.", ["4"]),
        ("N4", {"n": 2}, "See 2 + 3 = 6, 1 + 1 = 2 and **4** + 4 = 8.", ["2 + 3 = 6", "4** + 4 = 8"]),
        ("N4", {"n": 3}, "See 1 + 1 = 2.", ["1 + 1 = 2"]),
    ],
)
def test_the_spans_show_what_is_wrong(id, params, text, places):
    assert marked(text, check(id, text, **params)) == places


def test_details_name_the_numbers():
    assert check("N1", "Saw 3 and 4.", count=3, total=9).detail == (
        "2 whole numbers, 3 wanted; sum 7, 9 wanted; found 3, 4"
    )
    assert check("N3", "Saw 3, 3 and 4.", n=1).detail == "2 different whole numbers, 1 wanted; found 3, 4"
    assert check("N4", "So 1 + 1 = 3.", n=1).detail == "1 equation, 1 wanted; 1 not correct: 1 + 1 = 3"


# ---------------------------------------------------------------------------------------------------------- mutations


def summed(rng) -> Iterator[Edit]:
    count, total = int(rng.integers(3, 8)), int(rng.integers(20, 101))
    cuts = sorted(int(i) + 1 for i in rng.permutation(total - 1)[: count - 1])
    values = [end - start for start, end in zip([0, *cuts], [*cuts, total], strict=True)]
    params = {"count": count, "total": total}

    def told(values: list[int]) -> str:
        return " ".join(f"{prose(rng, 1)[:-1]} {value}." for value in values)

    yield Edit("N1", params, told(values), True)
    yield Edit("N1", params, told(values) + " It took 2.5 hours in CO2.", True)
    yield Edit("N1", params, "\n".join(f"**{value}** {prose(rng, 1)}" for value in values), True)
    yield Edit("N1", params, told([*values[:-1], values[-1] + 1]), False)
    yield Edit("N1", params, told([*values[:-1], values[-1] - 1]), False)
    yield Edit("N1", params, told([*values, 0]), False)
    yield Edit("N1", params, told([*values[:-2], values[-2] + values[-1]]), False)
    yield Edit("N1", params, "1. " + told(values), False)
    yield Edit("N1", params, told([*values[:-1], -values[-1]]), False)


def digitless(rng) -> Iterator[Edit]:
    text = prose(rng, int(rng.integers(2, 6)))
    words = text.split()
    place = int(rng.integers(len(words)))
    digit = "0123456789"[int(rng.integers(10))]
    yield Edit("N2", {}, text, True)
    yield Edit("N2", {}, text + " Some ½ and m² and ٣.", True)
    yield Edit("N2", {}, " ".join([*words[:place], digit, *words[place:]]), False)
    yield Edit("N2", {}, " ".join([*words[:place], words[place] + digit, *words[place + 1 :]]), False)
    yield Edit("N2", {}, f"{text}\n\n```\nx{digit}\n```", False)


def different(rng) -> Iterator[Edit]:
    n = int(rng.integers(3, 7))
    values = [int(i) + 1 for i in rng.permutation(50)[:n]]
    text = ", ".join(map(str, values))
    yield Edit("N3", {"n": n}, f"We saw {text}.", True)
    yield Edit("N3", {"n": n}, f"We saw {text}, and {values[0]} again, {values[1]}.0 and {values[1]}.5.", True)
    yield Edit("N3", {"n": n}, "\n".join(f"- {value} of them" for value in values), True)
    yield Edit("N3", {"n": n}, f"We saw {text} and 51.", False)
    yield Edit("N3", {"n": n}, f"We saw {text} and -{values[0]}.", False)
    yield Edit("N3", {"n": n}, f"We saw {', '.join(map(str, [values[1], *values[1:]]))}.", False)
    yield Edit("N3", {"n": n}, f"We saw {', '.join(map(str, values[1:]))}.", False)
    yield Edit("N3", {"n": n}, f"We saw {', '.join(map(str, values[1:]))} and x{values[0]}.", False)


def equations(rng) -> Iterator[Edit]:
    n = int(rng.integers(2, 4))
    pairs = [(int(a), int(b)) for a, b in rng.integers(-20, 100, (n, 2))]
    all_ = [f"{a} + {f'({b})' if b < 0 else b} = {a + b}" for a, b in pairs]
    a, b = pairs[0]
    yield Edit("N4", {"n": n}, f"So {'; '.join(all_)}.", True)
    yield Edit("N4", {"n": n}, f"So {'; '.join(all_)}. And 2 * 3 = 6, 1 + 1 + 1 = 3 and 0.5 + 0.5 = 1.5.", True)
    yield Edit("N4", {"n": n}, "\n".join(f"- **{one.replace(' ', '')}**" for one in all_), True)
    yield Edit("N4", {"n": n}, f"So {'; '.join(all_[1:])}.", False)
    yield Edit("N4", {"n": n}, f"So {'; '.join(all_)}; 1 + 1 = 2.", False)
    yield Edit("N4", {"n": n}, f"So {'; '.join([*all_[1:], f'7 + 5 = {12 + int(rng.choice([-1, 1]))}'])}.", False)
    yield Edit("N4", {"n": n}, f"So {'; '.join([*all_[1:], '1 + 2 + 3 = 6'])}.", False)
    yield Edit("N4", {"n": n}, f"So {'; '.join([*all_[1:], all_[0] + f' = {a + b}'])}.", False)
    yield Edit("N4", {"n": n}, f"So {'; '.join([*all_[1:], '7 - 5 = 2'])}.", False)


@pytest.mark.parametrize("edits", [summed, digitless, different, equations])
def test_every_edit_is_judged_as_the_rule_says(edits: Callable[..., Iterator[Edit]]):
    for number in range(60):
        for edit in edits(stream("numbers", edits.__name__, number)):
            judge(edit)


# --------------------------------------------------------------------------------------------------- public bug reports


def test_B051_a_comma_is_no_number():
    """jundot/omlx#3484."""
    assert check("N1", "We saw 72, then left.", count=1, total=72).passed


def test_B052_a_thousands_comma_does_not_cut_a_number():
    """open-compass/opencompass#2647."""
    assert check("N1", "Sold 1,250 pears and 50 plums.", count=2, total=1300).passed
