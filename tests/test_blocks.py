"""Blocks, views and JSON objects of a reply: tables of cases, and what holds for hostile ones."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdct.text import Text

PLAIN = [
    ("**Bold**, *it*, __bold__, _it_ and `code`", "Bold, it, bold, it and code"),
    ("***both*** and **bold *inner* bold**", "both and bold inner bold"),
    ("**S**un and un*frigging*believable", "Sun and unfriggingbelievable"),
    ("snake_case, __init__, 2*3*4, 2 * 3 * 4, a \\*star\\*", "snake_case, init, 2*3*4, 2 * 3 * 4, a \\*star\\*"),
    ("**never closed and * alone", "**never closed and * alone"),
    ("`a*b*c` and ``x ` y``", "a*b*c and x ` y"),
    ("*over a\nline end*", "over a\nline end"),
    ("*not over\n\na blank line*", "*not over\n\na blank line*"),
    ("# Title #\n## *Two*\n#tag", "Title\nTwo\n#tag"),
    ("* star item with *it*\n* two", "* star item with it\n* two"),
    ("Name: ____ and _____.", "Name: ____ and _____."),
    ("```py\n# no *mark* __here__\n```", "```py\n# no *mark* __here__\n```"),
    ('{"a_b": "**x**"} and **y**', '{"a_b": "**x**"} and y'),
    ("***\n---", "***\n---"),
    ("**a*b**", "a*b"),
]


@pytest.mark.parametrize(("text", "plain"), PLAIN, ids=[ascii(case[0])[:40] for case in PLAIN])
def test_the_plain_view(text: str, plain: str) -> None:
    assert Text(text).plain == plain
    assert Text(text).characters == len(plain)


PROSE = [
    ("fence", "One.\n```\nx. y.\n```\nTwo.", ["One.", "Two."]),
    ("open fence", "One.\n~~~\nx. y.", ["One."]),
    ("table", "One.\n\n| a. | b |\n|--|--|\n| c. | d |\n\nTwo.", ["One.", "Two."]),
    ("JSON on its lines", 'One.\n{\n "a": "x. y."\n}\nTwo.', ["One.", "Two."]),
    ("JSON in a line", 'One {"a": 1} here.', ["One  here."]),
    ("bullets", "One:\n- x.\n  goes on.\n* y.\nTwo.", ["One:", "Two."]),
    ("headings", "# A.\nOne.\n\nTitle\n=====\nTwo.\n**Bold title**\nThree.", ["One.", "Two.\nBold title\nThree."]),
    ("bold titles", "**Bold title:**\nOne.\n\n__Other__\n\nTwo.", ["One.", "Two."]),
    ("all bold is prose", "**Rain fell**", ["Rain fell"]),
    ("bold sentence", "**Rain fell.**\n\nOne.", ["Rain fell.", "One."]),
    ("rules", "One.\n\n***\n\nTwo.\n---\nThree.", ["One.", "Two.", "Three."]),
    ("quotes", "> One.\n> goes on.\n>\n> Two.", ["One.\ngoes on.", "Two."]),
    ("fence in an item", "One:\n\n- ```\n  x. y.\n  ```\n\nTwo.", ["One:", "Two."]),
    ("open fence in an item", "- ```\n  x. y.\nTwo. Three.", ["Two. Three."]),
    ("fence in a quotation", "> ```\n> x. y.\n> ```\n> One.", ["One."]),
    ("blocks in a quotation", "> # Title\n> - x. y.\n> | a. | b. |\n> 1. One.\n> 2. Two\n> Three.", ["One.", "Three."]),
    ("numbers", "1. One.\n2. Two\n3. Three.", ["One.", "Three."]),
]


@pytest.mark.parametrize(("text", "paragraphs"), [case[1:] for case in PROSE], ids=[case[0] for case in PROSE])
def test_the_prose_view(text: str, paragraphs: list[str]) -> None:
    parsed = Text(text)
    assert parsed.prose == "\n\n".join(paragraphs)
    assert [paragraph.text for paragraph in parsed.paragraphs] == paragraphs


def test_B018_blank_lines_are_no_paragraphs() -> None:
    """scitix/sieval#104."""
    parsed = Text("\n\nRain fell. Roads shone.\n\n\n\nSnow came. Ice held.")
    assert [len(paragraph.sentences) for paragraph in parsed.paragraphs] == [2, 2]


def test_B019_a_thematic_break_is_no_paragraph() -> None:
    """allenai/open-instruct#1765."""
    assert len(Text("Rain fell.\n\n***\n\nSnow came.").paragraphs) == 2


def test_B020_lines_are_the_lines_that_hold_something() -> None:
    """scitix/sieval#105."""
    assert [line.text for line in Text("a\n\n\nb\n \n\nc\n").lines] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("case", "source", "text", "markers"),
    [
        ("B039", "thinking-machines-lab/tinker-cookbook#911", "- a\n- b\n- c\n- d", "----"),
        ("B041", "mlcommons/mobile_app_open#1093", "* one\n* two", "**"),
    ],
)
def test_bullets_keep_their_marker(case: str, source: str, text: str, markers: str) -> None:
    assert "".join(bullet.marker for bullet in Text(text).bullets) == markers


def test_bullets_in_their_levels() -> None:
    text = (
        "- a\n  goes on\n  - b\n    + c\n  * d\n- e\n•f\n- \n-5 no\n--- \n**no** \n- - -\nText.\n  - g\n```\n- no\n```"
    )
    found = [(bullet.marker, bullet.level, bullet.text) for bullet in Text(text).bullets]
    assert found == [
        ("-", 0, "a\n  goes on"),
        ("-", 1, "b"),
        ("+", 2, "c"),
        ("*", 1, "d"),
        ("-", 0, "e"),
        ("•", 0, "f"),
        ("-", 0, ""),
        ("-", 0, "g"),
    ]


def test_B043_ticks_do_not_protect_pipes() -> None:
    """DavidAnson/markdownlint#1206."""
    (table,) = Text("| op | use |\n|---|---|\n| `a||b` | or |").tables
    assert (table.columns, table.ruled, [len(row) for row in table.rows]) == (2, True, [4])


TABLES = [
    ("outer pipes", "| a | b |\n|:--|:-:|\n| 1 | 2 |", [(["a", "b"], [["1", "2"]], True)]),
    ("no outer pipes", "a | b\n--|--:\n1 | 2\n3 | 4", [(["a", "b"], [["1", "2"], ["3", "4"]], True)]),
    ("escaped", "|a|b|\n|-|-|\n|x \\| y||", [(["a", "b"], [["x | y", ""]], True)]),
    ("one column", "|a|\n|-|\n|1|", [(["a"], [["1"]], True)]),
    ("no rows", "|a|b|\n|-|-|", [(["a", "b"], [], True)]),
    ("ends at text", "|a|b|\n|-|-|\n|1|2|\nAnd so on.", [(["a", "b"], [["1", "2"]], True)]),
    ("two", "|a|\n|-|\n|1|\n\n|b|\n|-|", [(["a"], [["1"]], True), (["b"], [], True)]),
    ("no rule", "|a|b|\n|1|2|", [(["a", "b"], [["1", "2"]], False)]),
    ("rule of another width", "|a|b|\n|-|\n|1|2|", [(["a", "b"], [["-"], ["1", "2"]], False)]),
    ("one line", "|a|b|", []),
    ("a row of dashes alone", "a | b\n---", []),
    ("absolute values", "If |x| > 1 or |y| > 2, stop.\nElse |z| counts.", []),
    ("in a fence", "```\n|a|\n|-|\n```", []),
]


@pytest.mark.parametrize(("text", "tables"), [case[1:] for case in TABLES], ids=[case[0] for case in TABLES])
def test_tables(text: str, tables: list) -> None:
    assert [(table.header, table.rows, table.ruled) for table in Text(text).tables] == tables


FENCES = [
    ("```py\nx = 1\n```", [("py", "x = 1", True, False)]),
    ("~~~ a b\nx\n~~~~ \n```\ny\n```", [("a b", "x", True, False), ("", "y", True, False)]),
    ("```\n```", [("", "", True, True)]),  # P151, arXiv:2608.12426, appendix Q: four in five passes of F3 were empty
    ("```\n \n\n```", [("", " \n", True, True)]),
    ("````\n```\n````", [("", "```", True, False)]),
    ("```\nx\n~~~", [("", "x\n~~~", False, False)]),
    ("- item\n   ```\n   x\n   ```", [("", "   x", True, False)]),
    ("- ```py\n  x\n  ```\n\nEnd.", [("py", "  x", True, False)]),
    ("- ```\nx\n```\nEnd.", [("", "x", True, False)]),
    ("1. ```\n   x\n   ```\n2. ~~~\n   y\n   ~~~", [("", "   x", True, False), ("", "   y", True, False)]),
    ("- ```\n  x\nEnd.\n- y", [("", "  x", False, False)]),
    ("> ```\n> x\n>  y\n> ```\n> End.", [("", "x\n y", True, False)]),
    ("> ```\n> x\nEnd.", [("", "x", False, False)]),
    ("- ```inline``` code", []),
    ("```inline``` code", []),
    ("``\nx\n``", []),
]


@pytest.mark.parametrize(("text", "fences"), FENCES, ids=[ascii(case[0]) for case in FENCES])
def test_fences(text: str, fences: list) -> None:
    assert [(fence.info, fence.code, fence.closed, fence.blank) for fence in Text(text).fences] == fences


PET = {"Ann": {"pet": "cat"}}
OBJECTS = [
    ("B044 PCIRCLE", 'Fill {name} first: {"Ann":{"pet":"cat"}}', [PET]),
    (
        "B045 OpenNSWM-Lab/FAROS#70",
        '{"Ann":{"pet":"cat"}} or maybe {"Ann":{"pet":"dog"}}',
        [PET, {"Ann": {"pet": "dog"}}],
    ),
    (
        "B046 memesh#72",
        '{"relations":[["a","above","b"],["b","left of","c"]]} [end]',
        [{"relations": [["a", "above", "b"], ["b", "left of", "c"]]}],
    ),
    ("B049 guardrails#548", '{"objects": {"o1": {"color": "red"}', []),
    ("B050 mobile_app_open#1093", '```json\n{"objects":{},"relations":[]}\n```', [{"objects": {}, "relations": []}]),
    ("braces in strings", '{"a": "} \\" {"} {"b": "\\\\"}', [{"a": '} " {'}, {"b": "\\"}]),
    ("in a list", '[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
    ("not repaired", '{\'a\': {"b": 1}} {a: {"b": 1}} {"a": 1,}', []),
    ("after one not valid", '{"a": "no end\n"} {"b": 1}', [{"b": 1}]),
    ("an open brace in prose", 'Keys look like {"name": and so on.\n{"b": {"c": 1}}', [{"b": {"c": 1}}]),
    ("an open brace and quote", 'Keys like {"name and {"b": {"c": 1}} ok', [{"b": {"c": 1}}]),
    ("one that is not closed, then a whole one", '{"a": {"b": 1}, "c": 2\nSorry: {"b": {"c": 1}}', [{"b": {"c": 1}}]),
    ("the same without a word", '{"a": {"b": 1}\n{"b": {"c": 1}}', [{"b": {"c": 1}}]),
    ("many that are not closed", '{"a": x ' * 9 + '{"b": 1}', [{"b": 1}]),
    ("cut within", '{"scene": {"b": {"c": 1}}', []),
    ("no number", '{"a": NaN} {"a": -Infinity} {"b": 1e5}', [{"b": 1e5}]),
    ("LaTeX", "\\frac{a}{b} and \\text{x}", []),
    ("empty", "Use {} here.", [{}]),
]


@pytest.mark.parametrize(("text", "objects"), [case[1:] for case in OBJECTS], ids=[case[0] for case in OBJECTS])
def test_json_objects(text: str, objects: list) -> None:
    assert [unit.value for unit in Text(text).json_objects] == objects
    assert [json.loads(text[unit.start : unit.end]) for unit in Text(text).json_objects] == objects


def test_deep_nesting_is_not_read_and_raises_nothing() -> None:
    assert len(Text('{"a":' * 99 + "{}" + "}" * 99).json_objects) == 1
    assert Text('{"a":' * 100_000 + "1" + "}" * 100_000).json_objects == []
    assert Text('{"a":' + "[" * 100_000 + "]" * 100_000 + "}").json_objects == []
    assert Text('{"b": x ' + '{"a":' * 100_000 + "1" + "}" * 100_000).json_objects == []
    assert Text('{"a":' + "9" * 5000 + "}").json_objects == []


def test_units_point_at_the_reply_as_it_came() -> None:
    raw = "\r\n # Ti*t*le\r\n\r\nCafe\u0301 **o\u0301pens** at 5.\r\nWell.\r\n\r\n"
    raw += "- a\r\n\r\n|x|\r\n|-|\r\n```\r\nc\r\n```\r\n"
    text = Text(raw)
    assert [raw[slice(*unit.span)] for unit in text.sentences] == ["Cafe\u0301 **o\u0301pens** at 5.", "Well."]
    assert [raw[slice(*span)] for span in text.word_spans][:4] == ["Ti*t*le", "Cafe\u0301", "o\u0301pens", "at"]
    assert [raw[slice(*span)] for span in text.sentence_word_spans(1)] == ["Well."]
    assert [raw[unit.start : unit.end] for unit in text.bullets] == ["- a"]
    assert [raw[unit.start : unit.end] for unit in text.tables] == ["|x|\r\n|-|"]
    assert [raw[unit.start : unit.end] for unit in text.fences] == ["```\r\nc\r\n```"]
    assert [raw[unit.start : unit.end] for unit in text.integers] == ["5"]
    assert [raw[line.start : line.end] for line in text.lines][:2] == ["Ti*t*le", "Cafe\u0301 **o\u0301pens** at 5."]
    at = text.plain.index("ópens")
    assert raw[slice(*text.plain_span(at, at + 2))] == "o\u0301p"


PIECES = st.sampled_from(
    [
        *'aB1. !?\n|-#>*_`~{}[]"\\:,',
        "```",
        "~~~\n",
        "|a|b|\n",
        "|-|-|\n",
        '{"a": 1}',
        '{"',
        "- ",
        "\n- ",
        "\n1. ",
        "**",
        "e\u0301",
        "\r\n",
        "\u1112\u1161",
        "# ",
    ]
)
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=80).map("".join))


@given(TEXTS)
def test_no_text_breaks_it_and_every_unit_lies_in_the_reply(raw: str) -> None:
    text = Text(raw)
    units = [*text.sentences, *text.paragraphs, *text.lines, *text.bullets, *text.tables, *text.fences]
    units += [*text.json_objects, *text.integers, *text.equations, *text.numbered]
    for unit in units:
        start, end = unit.span
        assert 0 <= start <= end <= len(raw)
        assert start < end
    assert len(text.words) == len(text.bare) == len(text.forms) == len(text.word_spans)
    for word, (start, end) in zip(text.words, text.word_spans, strict=True):
        rest = iter(Text(raw[start:end]).clean)
        assert all(char in rest for char in word)


@given(TEXTS)
def test_line_ends_outer_space_and_forms_of_letters_change_nothing(raw: str) -> None:
    def read(text: str) -> tuple:
        parsed = Text(text)
        objects = [unit.value for unit in parsed.json_objects]
        return parsed.plain, parsed.prose, parsed.forms, parsed.sentence_forms, objects, len(parsed.bullets)

    raw = raw.replace("\r", "")
    expected = read(raw)
    assert read("\n " + raw + "\t\n") == expected
    assert read(raw.replace("\n", "\r\n")) == expected
    assert read(unicodedata.normalize("NFD", raw)) == read(unicodedata.normalize("NFC", raw)) == expected


HOSTILE = {
    "brackets": "(",
    "marks": "a.",
    "pipes": "|",
    "braces": "{",
    "fences": "```\n",
    "commas": "1,",
    "quotes": '"',
    "stars": "*_a ",
    "combining": "e\u0301\u0327",
    "initials": "A. ",
    "dots": ". ",
    "keys": '{"a":',
    "objects": '{"a":1} ',
    "broken": '{"a":x',
    "open quotes": '{"',
    "cut objects": '{"a":{} ',
    "cut in lines": '{"a\n',
    "bullets": "- a\n",
    "fences in items": "- ```\n",
    "fences in quotations": "> ```\n",
    "numbers": "1. a\n",
    "inline": "(1) a (2) b ",
    "ticks": "`a``b",
    "chain": "1+",
    "words": "first second ",
    "rows": "|a|b|\n",
    "ends": "a\r\n",
    "bold lines": "**a**\n",
    "quoted": "> ",
    "hashes": "# a #",
    "escapes": "\\u0061&#1;",
    "blanks": " \n",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_long_row_of_anything_ends(kind: str) -> None:
    text = Text(HOSTILE[kind] * (200_000 // len(HOSTILE[kind])))
    for name in (
        "words",
        "forms",
        "decoded_forms",
        "sentence_forms",
        "paragraphs",
        "lines",
        "bullets",
        "tables",
        "fences",
    ):
        getattr(text, name)
    for unit in [*text.json_objects, *text.integers, *text.equations, *text.numbered]:
        assert unit.start < unit.end
