"""Integers, equations and numbered lists, on tables of cases."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdct.text import STYLES, Text

INTEGERS = [
    ("B051 jundot/omlx#3484", "We saw 72, then left.", [72]),
    ("B052 open-compass/opencompass#2647", "Sold 1,250 pears and 50 plums.", [1250, 50]),
    ("range", "pages 3-5 and 10–12", [3, 5, 10, 12]),
    ("signs", "-5 (−6) = -7 and +8, 3 - 5, 9-4, 10%-20%", [-5, -6, -7, 8, 3, 5, 9, 4, 10, 20]),
    ("decimals", "3.14, .5, 1,250.75 and -0.5 are none", []),
    ("dotted", "1.2.3 and 192.168.0.1", []),
    ("end of a sentence", "It was 1976. Then 5.", [1976, 5]),
    ("list numbers", "1. a\n2) b\n(3) c", [1, 2, 3]),
    ("a list of digits", "1,2,3 and 1,250,3 and 0,123", [1, 2, 3, 1, 250, 3, 0, 123]),
    ("millions", "1,250,000 or 12\u202f500 or 7\u00a0000", [1250000, 12500, 7000]),
    ("units", "5km, 50%, $20, 2nd, 1st, 3D", [5, 50, 20, 2, 1, 3]),
    ("names", "CO2, x2, B12, v3 and a_1", []),
    ("hyphen in a name", "GPT-4 and COVID-19", [4, 19]),
    ("time and date", "12:00 on 2024-05-06, 1/2", [12, 0, 2024, 5, 6, 1, 2]),
    ("after a dot", "end.5", [5]),
    ("leading zeros", "007", [7]),
    ("other digits", "x² ½ ٣ 光", []),
    ("a comma at the end", "5, 6,", [5, 6]),
    ("decimal comma", "3,5", [3, 5]),
    ("bold", "**42** pears", [42]),
    ("powers are not bold", "2**3 = 8, 3**2 = 9", [2, 3, 8, 3, 2, 9]),
    ("too long", "9" * 301 + " " + "0" * 299 + "1", [1]),
]


@pytest.mark.parametrize(("text", "values"), [case[1:] for case in INTEGERS], ids=[case[0] for case in INTEGERS])
def test_integers(text: str, values: list[int]) -> None:
    assert [unit.value for unit in Text(text).integers] == values


@given(st.lists(st.integers(-(10**12), 10**12)), st.sampled_from([" ", ", ", "; ", " and ", "\n"]), st.booleans())
def test_all_planted_integers_are_found(values: list[int], joint: str, grouped: bool) -> None:
    text = joint.join(f"{value:,}" if grouped else str(value) for value in values)
    assert [unit.value for unit in Text(text).integers] == values


EQUATIONS = [
    ("2 + 3 = 5", [(2, "+", 3, 5, True, False)]),
    (
        "7-4=3, 2*3=6; 8/2=4 and 2 × 2 = 5",
        [
            (7, "-", 4, 3, True, False),
            (2, "*", 3, 6, True, False),
            (8, "/", 2, 4, True, False),
            (2, "*", 2, 5, False, False),
        ],
    ),
    ("\\(2 + 3 = 5\\) and $4 \\times 2 = 8$", [(2, "+", 3, 5, True, False), (4, "*", 2, 8, True, False)]),
    ("**2 + 3 = 5** or 2 + 3 = **5**.", [(2, "+", 3, 5, True, False)] * 2),
    (
        "10 − 4 = 6; 9 ÷ 3 = 3; 3 x 4 = 12; 5 – 1 = 4",
        [
            (10, "-", 4, 6, True, False),
            (9, "/", 3, 3, True, False),
            (3, "*", 4, 12, True, False),
            (5, "-", 1, 4, True, False),
        ],
    ),
    ("1 + 2 + 3 = 6", [(2, "+", 3, 6, False, True)]),
    ("1+1=2=2", [(1, "+", 1, 2, True, True)]),
    ("x = 1 + 1 = 2", [(1, "+", 1, 2, True, True)]),
    ("1 + 1 = 2 + 0", [(1, "+", 1, 2, True, True)]),
    ("0.1 + 0.2 = 0.3", [(Fraction(1, 10), "+", Fraction(1, 5), Fraction(3, 10), True, False)]),
    ("1,000 + 250 = 1,250", [(1000, "+", 250, 1250, True, False)]),
    ("10\u202f000 + 1 = 10\u202f001", [(10000, "+", 1, 10001, True, False)]),
    ("1\u00a0000\u00a0000 + 2,000 = 1,002,000.", [(1000000, "+", 2000, 1002000, True, False)]),
    ("see 5\u00a02 + 3 = 5", [(2, "+", 3, 5, True, False)]),
    ("12345\u202f000 + 1 = 1", []),
    ("\\$2 + \\$3 = \\$5", [(2, "+", 3, 5, True, False)]),
    ("$1 + $1 = $2 + $0; $1 + $2 + $3 = $6", [(1, "+", 1, 2, True, True), (2, "+", 3, 6, False, True)]),
    ("$2 + $3 = $5", [(2, "+", 3, 5, True, False)]),
    ("5 + (-3) = 2", [(5, "+", -3, 2, True, False)]),
    ("10 / 3 = 3.33", [(10, "/", 3, Fraction(333, 100), False, False)]),
    ("5 / 0 = 0", [(5, "/", 0, 0, False, False)]),
    ("1. 2 + 3 = 5\n2. 4 + 4 = 8 - yes", [(2, "+", 3, 5, True, False), (4, "+", 4, 8, True, False)]),
    ("2 +\n3 = 5; x + 1 = 2; 2 + 3 is 5; 2 = 1 + 1", []),
]


@pytest.mark.parametrize(("text", "expected"), EQUATIONS, ids=[ascii(case[0])[:40] for case in EQUATIONS])
def test_equations(text: str, expected: list) -> None:
    found = [
        (unit.left, unit.operator, unit.right, unit.result, unit.true, unit.chain) for unit in Text(text).equations
    ]
    assert found == expected


CITIES = ["Oslo", "Rome", "Bern"]
LISTS = [
    ("line", "1. Oslo\n2. Rome\n3. Bern"),
    ("line", "1\\. Oslo\n2\\. Rome\n3\\. Bern"),
    ("line", "1) Oslo\n2) Rome\n\n3) Bern"),
    ("line", "(1) Oslo\n(2) Rome\n(3) Bern"),
    ("line", "**1.** Oslo\n**2.** Rome\n**3.** Bern"),
    ("line", "- 1. Oslo\n- 2. Rome\n- 3. Bern"),
    ("line", "1: Oslo\n2: Rome\n3: Bern"),
    ("line", "1 - Oslo\n2 - Rome\n3 - Bern"),
    ("line", "1.Oslo\n2.Rome\n3.Bern"),
    ("line", "1st: Oslo\n2nd: Rome\n3rd: Bern"),
    ("line", "1️⃣ Oslo\n2️⃣ Rome\n3️⃣ Bern"),
    ("line", "Step 1: Oslo\nStep 2: Rome\nStep 3: Bern"),
    ("line", "I. Oslo\nII. Rome\nIII. Bern"),
    ("line", "4. Oslo\n5. Rome\n6. Bern"),
    ("inline", "(1) Oslo (2) Rome (3) Bern"),  # P150, arXiv:2608.12426, appendix Q, judge audit 4
    ("inline", "1) Oslo, 2) Rome, and 3) Bern"),
    ("inline", "1. Oslo 2. Rome 3. Bern"),
    ("inline", "[1] Oslo [2] Rome [3] Bern"),
    ("inline", "1. Oslo > 2. Rome > 3. Bern"),
    ("bare", "1 Oslo\n2 Rome\n3 Bern"),
    ("bare", "1 Oslo 2 Rome 3 Bern"),
    ("words", "First, Oslo\nSecond, Rome\nThird, Bern"),
    ("words", "Firstly Oslo, secondly Rome, finally Bern"),
    ("words", "One. Oslo\nTwo. Rome\nThree. Bern"),
]


@pytest.mark.parametrize(("style", "text"), LISTS, ids=[ascii(case[1])[:40] for case in LISTS])
def test_numbered_lists_in_every_shape(style: str, text: str) -> None:
    (found,) = Text(text).numbered
    assert (found.style, [item.text for item in found.items]) == (style, CITIES)


def test_every_style_has_a_place_in_the_order_from_sure_to_accidental() -> None:
    assert {style for style, _ in LISTS} == set(STYLES)
    text = Text("2 figs and 3 pears, at first. 1 fig a second later: (1) Oslo (2) Rome\n1. Bern")
    assert sorted({unit.style for unit in text.numbered}, key=STYLES.index) == ["line", "inline", "words"]


def test_lists_that_start_again_are_several() -> None:
    found = Text("1. a\n2. b\n\nThen:\n1. c\n2. d\n1. e").numbered
    assert [[item.text for item in unit.items] for unit in found] == [["a", "b"], ["c", "d"], ["e"]]
    assert [[item.number for item in unit.items] for unit in Text("1. a\n1. b").numbered] == [[1, 1]]
    assert [[item.number for item in unit.items] for unit in Text("0. a\n1. b\n2. c").numbered] == [[0, 1, 2]]
    assert [[item.number for item in unit.items] for unit in Text("First a, second b, last c.").numbered] == [[1, 2, 3]]
    assert Text("He paid $1.50 at 12:30 for 2 pears.").numbered == []
