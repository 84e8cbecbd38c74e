"""What a word is, on one table; every count of words in the workbench rests on it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdct.text import Text, normalise, word_form, word_forms, words

CASES = [
    ("", []),
    (" \n\t ", []),
    ("one", ["one"]),
    ("Water boils.", ["Water", "boils."]),
    ("two  spaces\tand a\nline", ["two", "spaces", "and", "a", "line"]),
    ("a state-of-the-art tool", ["a", "state-of-the-art", "tool"]),
    ("light—energy", ["light—energy"]),
    ("light — energy", ["light", "energy"]),
    ("light - energy – or -- heat", ["light", "energy", "or", "heat"]),
    ("input/output and/or both", ["input/output", "and/or", "both"]),
    ("it's don't o’clock", ["it's", "don't", "o’clock"]),
    ("| a | b |\n|---|:-:|\n| 1 | 2 |", ["a", "b", "1", "2"]),
    ("**Recursion** is *a* __function__ `f(x)`", ["**Recursion**", "is", "*a*", "__function__", "`f(x)`"]),
    ("* one\n- two\n• three\n> four", ["one", "two", "three", "four"]),
    ("1. first\n2) second", ["1.", "first", "2)", "second"]),
    ("# Heading\n---\n***\ntext", ["Heading", "text"]),
    ("P → Q , 3.14 = π", ["P", "Q", "3.14", "π"]),
    ("good 👍 job 🎉🎉", ["good", "job"]),
    ("... ?! «» “”", []),
    ("a\u00a0b\u202fc\u3000d\u2003e", ["a", "b", "c", "d", "e"]),
    ("one\u200bword and\ufeff another\u2060", ["one\u200bword", "and\ufeff", "another\u2060"]),
    ("\u200b \ufeff \u200d", []),
    ("a\r\nb\rc", ["a", "b", "c"]),
    ("a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g", list("abcdefg")),
    ("cafe\u0301 nai\u0308ve", ["café", "naïve"]),
    ("光合作用 是", ["光合作用", "是"]),
    ("x² ½ ① Ⅳ", ["x²", "½", "①", "Ⅳ"]),
    ("snake_case __ _", ["snake_case"]),
    ("AT&T R&D & more", ["AT&T", "R&D", "more"]),
    ("rock \u02bc n \u02bcn\u02bc", ["rock", "n", "\u02bcn\u02bc"]),  # an apostrophe, though Unicode calls it a letter
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[ascii(text)[:40] for text, _ in CASES])
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize("mark", ["**", "*", "_", "__", "`", '"', "(", "“"])
def test_emphasis_never_changes_the_count(mark: str) -> None:
    text = "Recursion is a function that calls itself"
    assert len(words(f"{mark}{text}{mark}")) == len(words(" ".join(f"{mark}{w}{mark}" for w in text.split()))) == 7


def test_one_edit_moves_the_count_by_one_word_or_by_none() -> None:
    text = " ".join(f"word{number}" for number in range(35))
    assert len(words(text)) == 35
    for inside in (
        text + ".",
        text.replace(" ", " - ", 1),
        text + "\n\n***\n",
        f"**{text}**",
        text.replace(" ", "\n", 3),
    ):
        assert len(words(inside)) == 35
    for outside, count in ((text + " x", 36), (text.replace(" ", "-", 1), 34), (text.rsplit(" ", 1)[0], 34)):
        assert len(words(outside)) == count


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("Water", "water"),
        ("**Water,**", "water"),
        ("(“Water”)!", "water"),
        ("__init__", "init"),
        ("state-of-the-art.", "state-of-the-art"),
        ("Mill’s", "mill's"),
        ("‘Mill＇s’", "mill's"),
        ("rock ʼnʼ roll", "rock 'n' roll"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("cafe\u0301", "café"),
        ("CAFÉ", "café"),
        ("ǰ", "ǰ"),  # its casefold has two code points, and NFC puts them together again
        ("CO2", "co2"),
        ("\u0149", "n"),  # its casefold begins with an apostrophe
        ("AL\u0130", "ali"),  # its casefold ends with a dot above
        ("\u02bc", ""),
        ("---", ""),
        ("", ""),
    ],
)
def test_word_forms(word: str, form: str) -> None:
    assert word_form(word) == form


def test_the_forms_of_a_text() -> None:
    assert word_forms("The *Sun’s* light – light!") == ["the", "sun's", "light", "light"]


def test_a_token_with_endless_marks_stays_as_it_is_and_the_others_are_normalised() -> None:
    heap = "e" + "\u0301\u0327" * 20
    assert normalise(f"cafe\u0301 {heap} nai\u0308ve") == f"café {heap} naïve"
    assert len(words(f"cafe\u0301 {heap} nai\u0308ve")) == 3


TEXTS = st.text(st.one_of(st.characters(), st.sampled_from("ab1 -_*|\n\r\u00a0\u0301\u200b’")))


@given(TEXTS, TEXTS)
def test_words_add_up(a: str, b: str) -> None:
    assert len(words(a + " " + b)) == len(words(a)) + len(words(b))


@given(TEXTS)
def test_normalising_twice_is_normalising_once(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert "\r" not in once
    assert unicodedata.is_normalized("NFC", once)
    assert words(once) == words(text)


@given(TEXTS)
def test_a_form_is_its_own_form_and_never_empty(text: str) -> None:
    for form in word_forms(text):
        assert form
        assert word_form(form) == form


@pytest.mark.parametrize(
    ("source", "text", "count"),
    [
        ("B011 notepad-plus-plus/notepad-plus-plus#8100", "Ana's dog won't.", 3),
        ("B012 tgeczy/TGSpeechBox#76", "12:00\u202fAM now", 3),
        ("B012 tgeczy/TGSpeechBox#76", "12:00\u200bAM \u200b now", 2),
    ],
)
def test_B011_B012_words_of_a_parsed_reply(source: str, text: str, count: int) -> None:
    assert len(Text(text).words) == len(words(text)) == count


def test_B014_characters_are_code_points() -> None:
    """sinclairzx81/typebox#1648."""
    assert Text("❤️").characters == 2
    assert Text(" cafe\u0301\r\n").characters == 4


def test_B010_apostrophes_compare_alike() -> None:
    """ruby-no-kai/sponsor-app#93."""
    assert Text("I don’t know yet.").forms == ["i", "don't", "know", "yet"]


def test_B016_words_compare_without_case_and_punctuation() -> None:
    """modelscope/evalscope#1675."""
    assert Text("Blue sky, BLUE sea.").forms == ["blue", "sky", "blue", "sea"]


def test_B008_words_are_compared_whole() -> None:
    """modelscope/evalscope#1755."""
    assert "cat" not in Text("This category is broad.").forms


def test_B015_a_reply_without_letters_has_no_words() -> None:
    """modelscope/evalscope#1761."""
    text = Text("... --- !!!")
    assert (text.words, text.sentences, text.characters) == ([], [], 11)


def test_B020_B023_an_empty_reply_has_nothing() -> None:
    """scitix/sieval#105."""
    for empty in ("", " \n\t", "\r\n"):
        text = Text(empty)
        assert (text.words, text.sentences, text.paragraphs, text.lines, text.characters) == ([], [], [], [], 0)


def test_the_plain_view_folded() -> None:
    assert Text("**It\u2019s** CAF\u00c9\u02bc").folded == "it's caf\u00e9'"


def test_a_sentence_needs_a_letter_or_digit() -> None:
    assert [unit.text for unit in Text("Rain fell. \u02bc! Snow came.").sentences] == ["Rain fell.", "Snow came."]


def test_words_of_a_sentence_that_ends_within_a_word() -> None:
    text = Text("\u96e8\u3002\u96ea came. Rain fell.")
    assert len(text.words) == 4
    assert text.sentence_forms == [["\u96e8"], ["\u96ea", "came"], ["rain", "fell"]]


def test_spans_are_found_one_by_one_or_in_slices() -> None:
    text = Text(" One **two** three")
    assert text.word_spans[1] == (7, 10)
    assert list(text.word_spans[-2:]) == [(7, 10), (13, 18)]


def test_escapes_are_read_as_what_they_stand_for() -> None:
    r"""arXiv:2608.12426, figure 4: words made unique by writing \u0070et for pet."""
    text = Text(r"pet \u0070et p\x65t &#112;et p&#x65;t \ud800 &nothing; \U00110000")
    assert text.decoded_forms[:5] == ["pet"] * 5
    assert len(text.decoded_forms) == 8
    assert Text("plain \\ & text").decoded_forms == ["plain", "text"]


def test_a_parsed_reply_is_passed_on() -> None:
    text = Text("Rain fell.")
    assert Text.of(text) is text
    assert Text.of("Rain fell.").words == ["Rain", "fell."]


@given(TEXTS)
def test_the_views_count_the_same_words(text: str) -> None:
    parsed = Text(text)
    assert parsed.clean == normalise(text)
    assert len(parsed.words) == len(words(text))
    assert parsed.forms == word_forms(parsed.plain)
    assert len(parsed.bare) == len(parsed.words)
    for bare, word in zip(parsed.bare, parsed.words, strict=True):
        assert bare in word
        assert not bare or (bare[0].isalnum() and bare[-1].isalnum())
