"""What people see of the constraints: everything escaped, what offends marked, nothing left out."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from bs4 import BeautifulSoup

from cdct.core import Verdict, root, stream
from cdct.page_body import _TAGS, _clean
from cdct.saturation import CONSTRAINTS, DIMENSIONS, check_all, constraint, gallery, marked, shown, type_table
from cdct.saturation.constraints.base import counted, whole
from cdct.saturation.gallery import MOST_CHARACTERS
from cdct.text import Text

MARKED = re.compile(r"<mark[^>]*>(.*?)</mark>", re.DOTALL)


def marks(html: str) -> list[str]:
    return [unescape(found) for found in MARKED.findall(html)]


# ------------------------------------------------------------------------------------------------------------- checking


def test_B003_two_constraints_of_one_type_are_two():
    """thinking-machines-lab/tinker-cookbook#893: results kept by id lost one of them."""
    table = check_all("The tide turns.", [("L2", {"words": ["tide"]}), ("L2", {"words": ["moon"]})])
    assert table["passed"].tolist() == [True, False]
    assert (table["passed"].mean(), bool(table["passed"].all())) == (0.5, False)
    assert table["number"].tolist() == [1, 2]


def test_check_all_says_what_it_found():
    table = check_all("Rain fell. Rain. Rain fell.", [("S1", {"n": 4}), ("S6", {"n": 3})])
    assert table["constraint"].tolist() == ["S1", "S6"]
    assert table["dimension"].tolist() == ["structural", "structural"]
    assert table["params"].tolist() == ['{"n":4}', '{"n":3}']
    assert table["score"].tolist() == [0.75, 1.0]
    assert table["detail"].iloc[0] == "5 words, 4 wanted"
    assert table["flags"].tolist() == ["", "mirror_copies"]
    assert check_all("Rain.", []).empty


@pytest.mark.parametrize("pair", [("S1",), "S1", ("S1", {"n": 3}, 2), 7])
def test_a_constraint_is_an_id_and_its_parameters(pair):
    with pytest.raises(ValueError, match="check_all: a constraint is an id and its parameters, as in"):
        check_all("Rain fell.", [pair])


@pytest.mark.parametrize(("constraint", "error"), [(("Z1", {}), KeyError), (("S1", {"n": 0}), ValueError)])
def test_what_can_not_be_checked_is_an_error(constraint, error):
    with pytest.raises(error):
        check_all("Rain fell.", [constraint])


# --------------------------------------------------------------------------------------------------------------- marks


@pytest.mark.parametrize(
    ("reply", "spans", "expected"),
    [
        ("Rain fell.", [], []),
        ("Rain fell.", [(0, 4)], ["Rain"]),
        ("Rain fell.", [(0, 6), (3, 9)], ["Rain f", "ell"]),  # overlapping: each character once
        ("Rain fell.", [(0, 6), (2, 4)], ["Rain f"]),
        ("a<b>&", [(1, 4)], ["<b>"]),
        ("cut", [(0, 99)], ["cut"]),
    ],
)
def test_marks_lie_where_the_spans_are_and_the_text_is_whole(reply, spans, expected):
    html = marked(reply, spans)
    assert marks(html) == expected
    assert BeautifulSoup(html, "html.parser").get_text() == reply


@pytest.mark.parametrize(
    ("character", "expected"),
    [("\u202e", "\\u202e"), ("\x00", "\\x00"), ("\ud800", "\\ud800"), ("\u200b", "\\u200b"), ("\r", "\\r")],
)
def test_what_can_not_be_seen_is_written_out(character, expected):
    assert marked(f"a{character}b") == f"a{expected}b"


@pytest.mark.parametrize("kept", ["e\u0301 ß 光 🎉", "two\nlines"])
def test_what_can_be_seen_stays(kept):
    assert marked(kept) == kept


def test_a_long_reply_is_cut_and_says_so():
    html = marked("a" * (MOST_CHARACTERS + 1234), [(0, MOST_CHARACTERS + 9)])
    assert "… 1,234 more characters" in html
    assert marks(html) == ["a" * MOST_CHARACTERS]


# ------------------------------------------------------------------------------------------------------------- gallery


def test_every_type_is_shown_once_with_its_instruction_and_all_its_examples():
    html = "".join(gallery(letter).data for letter in DIMENSIONS)
    soup = BeautifulSoup(html, "html.parser")
    assert [h3.get_text().split()[0] for h3 in soup.find_all("h3")] == list(CONSTRAINTS)
    text = soup.get_text()
    for kind in CONSTRAINTS.values():
        assert kind.instruction(**kind.sample(stream("cse", "gallery", 0, kind.id))) in text
    signs = [row.td.get_text() for row in soup.select("tbody tr")]
    examples = [passes for kind in CONSTRAINTS.values() for _, _, passes in kind.examples]
    assert signs.count("✓ passes") == examples.count(True)
    assert signs.count("✗ fails") == examples.count(False)


@pytest.mark.parametrize("letter", DIMENSIONS)
def test_one_of_either_kind_is_open_and_something_is_marked_where_it_can_be(letter):
    html = gallery(letter).data
    assert gallery(DIMENSIONS[letter]).data == html
    kinds = [kind for kind in CONSTRAINTS.values() if kind.id[0] == letter]
    for kind, card in zip(kinds, html.split("<h3>")[1:], strict=True):
        opened = card.partition("<details>")[0]
        assert (opened.count("✓ passes"), opened.count("✗ fails")) == (1, 1)
        spans = [kind.check(text, **params).spans for text, params, _ in kind.examples]
        assert bool(marks(opened)) == any(spans)


def test_the_seed_names_the_parameters():
    assert gallery("S", 0).data == gallery("S", 0).data
    assert gallery("S", 0).data != gallery("S", 1).data
    assert type_table(0).equals(type_table(0))
    assert not type_table(0).equals(type_table(1))


def test_an_unknown_dimension_is_an_error_with_a_hint():
    with pytest.raises(ValueError, match="gallery: dimension 'lexcal' is not known; did you mean 'lexical'"):
        gallery("lexcal")


def test_hostile_replies_and_words_are_escaped():
    reply = '<script>alert(1)</script><img src=x onerror="alert(1)"> & done'
    html = shown(reply, "L5", {"word": "<b>alert</b>"}).data
    soup = BeautifulSoup(html, "html.parser")
    assert {tag.name for tag in soup.find_all(True)} <= _TAGS
    assert soup.pre.get_text() == reply
    assert "<b>alert</b>" in soup.get_text()


def test_the_report_page_keeps_it_all():
    """The page passes outputs through a list of what is allowed: marks keep their colours, folded examples fold."""
    html = gallery("W").data
    kept = _clean(html)
    assert marks(kept) == marks(html)
    assert kept.count("<details>") == html.count("<details>")
    styles = {
        mark["style"].replace(" ", "").rstrip(";") for mark in BeautifulSoup(kept, "html.parser").find_all("mark")
    }
    assert styles == {mark["style"] for mark in BeautifulSoup(html, "html.parser").find_all("mark")}
    assert "http" not in html


def test_the_table_of_types_has_the_drawn_parameters_in_its_instructions():
    table = type_table(3)
    assert table["id"].tolist() == list(CONSTRAINTS)
    for row in table.to_dict("records"):
        assert row["instruction"] == CONSTRAINTS[row["id"]].instruction(**json.loads(row["params"]))
    ranges = table.set_index("id")["parameters"]
    assert ranges["S1"] == "n: 40 to 60"
    assert ranges["S3"] == "paragraphs: 2 to 3; min_sentences: 2"
    assert ranges["O1"] == "direction: increasing, decreasing"
    assert ranges["W1"] == "none"


def test_the_block_in_the_guide_is_a_constraint():
    guide = (root() / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = re.search(r"## Add your own constraint.*?```python\n(.*?)```", guide, re.DOTALL)[1]
    names = {"constraint": constraint, "whole": whole, "counted": counted, "Text": Text, "Verdict": Verdict}
    exec(compile(block, "CONTRIBUTING.md", "exec"), names)
    made = names["question_count"]
    assert made.id not in CONSTRAINTS or CONSTRAINTS[made.id].template == made.template, "choose a free id"
    assert made.instruction(n=2) == "Exactly 2 sentences of your reply must end with a question mark."
    assert [made.check(text, **params).passed for text, params, _ in made.examples] == [True, True, False, False]
