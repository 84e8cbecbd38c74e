"""L1-L6: letters and words at their limits, what counts as whole, scores and places, and public bug reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from mutations import Edit, judge, prose, sentence, some_words

from cdct.core import stream
from cdct.extract import extract_answer
from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.constraints.vocabulary import topics, vocabulary


def check(id: str, text: str, **params):
    return CONSTRAINTS[id].check(text, **params)


def marked(text: str, verdict) -> list[str]:
    return [text[start:end] for start, end in verdict.spans]


# ----------------------------------------------------------------------------------------------------- whole or part


@pytest.mark.parametrize(
    ("word", "text", "times"),
    [
        ("cat", "A cat.", 1),
        ("cat", "CAT, Cat; cat", 3),
        ("cat", "category, bobcat, scatter", 0),
        ("cat", "cat-like cat/dog (cat) cat’s", 4),
        ("cat", "cat_tail 2cat cat2", 0),
        ("cat", "ca**t** _cat_", 2),
        ("cat", "catcat cat", 1),
        ("don't", "I don’t. Don't!", 2),
        ("don’t", "I don't", 1),
        ("c++", "C++ and C, c+", 1),
        (".net", "Use .NET or ASP.NET.", 1),
        ("a.b", "axb a.b", 1),
        ("a.a", "xa.a.a", 1),
        ("[x]*", "x [x]* xx", 1),
        ("café", "CAFE\u0301 cafe", 1),
        ("x", "x\u0302 x", 1),
        ("straße", "STRASSE Straße", 2),
        ("42", "42 420 4,2 42.", 2),
    ],
)
def test_whole_words_and_nothing_else(word, text, times):
    assert check("L2", text, words=[word]).passed is (times > 0)
    verdict = check("L5", text, word=word)
    assert verdict.passed is (times == 0)
    assert f" occurs {times} time" in verdict.detail
    assert len(verdict.spans) == times


@pytest.mark.parametrize(
    ("id", "params", "text", "score"),
    [
        ("L1", {"letter": "e"}, "eel.", 0.5),
        ("L1", {"letter": "E"}, "eel.", 0.5),
        ("L1", {"letter": "e"}, "# **eel**.", 0.5),
        ("L1", {"letter": "s"}, "ſß", 0.0),  # both fold into s
        ("L1", {"letter": "e"}, "é ë", 1.0),
        ("L1", {"letter": "i"}, "İ ï", 1.0),
        ("L1", {"letter": "m"}, "m\u0302m", 2 / 3),
        ("L1", {"letter": "s"}, "Weiß", 3 / 4),
        ("L2", {"words": ["rain", "snow", "ice"]}, "Rain or ICE.", 2 / 3),
        ("L3", {"letter": "r"}, "Rain. “Roads shone.” Ice.", 2 / 3),
        ("L3", {"letter": "r"}, "- rain\n- road", 0.0),
        ("L4", {"word": "rain"}, "Rose. Apple. In.", 3 / 4),
        ("L4", {"word": "in"}, "Inside. No. Now. Never.", 2 / 4),
        ("L4", {"word": "in"}, "No. Inside.", 0.0),
        ("L5", {"word": "cat"}, "A cat, a dog.", 3 / 4),
        ("L5", {"word": "cat"}, "cat-cat", 0.0),
        ("L6", {"low": 0.5, "high": 0.8}, "abcd", 2 / 3),  # 1/3 of 0.5
        ("L6", {"low": 0.5, "high": 0.8}, "ab", 0.75),  # 0.2 above 0.8
        ("L6", {"low": 0.5, "high": 0.8}, "aab", 0.0),
        ("L6", {"low": 0.5, "high": 0.5}, "ABC é 42 ß ﬁ İ", 1.0),
    ],
)
def test_scores(id, params, text, score):
    assert check(id, text, **params).score == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize(
    ("id", "params", "text", "places"),
    [
        ("L1", {"letter": "n"}, "Rain\r\nNow.", ["n", "N"]),
        ("L1", {"letter": "s"}, "ﬆ ß x", ["ﬆ", "ß"]),
        ("L1", {"letter": "c"}, "e\u0301c", ["c"]),
        ("L1", {"letter": "i"}, "**İ**i ß I", ["i", "I"]),
        ("L2", {"words": ["snow"]}, "Rain.", []),
        ("L3", {"letter": "r"}, "Rain. “Snow fell.” (Ice.)", ["“Snow", "(Ice.)"]),
        ("L4", {"word": "rs"}, "Rain. **Ice** fell. Snow.", ["Ice", "Snow."]),
        ("L5", {"word": "cat"}, "A **cat**, CAT-like; ßcat ß cat", ["cat", "CAT", "cat"]),
        ("L6", {"low": 1, "high": 2}, "bcd", []),
    ],
)
def test_the_spans_show_what_offends(id, params, text, places):
    assert marked(text, check(id, text, **params)) == places


def test_bounds_of_the_ratio_are_allowed_and_exact():
    """11 vowels to 20 consonants is 0.55, whatever binary fractions make of it."""
    text = "a" * 11 + "b" * 20
    assert check("L6", text, low=0.55, high=0.7).passed
    assert check("L6", text, low=0.4, high=0.55).passed
    assert not check("L6", text + "b", low=0.55, high=0.7).passed
    assert not check("L6", text + "a", low=0.4, high=0.55).passed
    assert check("L6", "y" * 10 + "e" * 5, low=0.5, high=0.5).passed


@pytest.mark.parametrize(
    ("id", "params", "message"),
    [
        ("L1", {"letter": "é"}, "L1: letter must be one letter from a to z, got 'é'"),
        ("L1", {"letter": "ab"}, "L1: letter must be one letter from a to z, got 'ab'"),
        ("L2", {"words": "rain"}, "L2: words must be a list of words, got 'rain'"),
        ("L2", {"words": []}, r"L2: words must be a list of words, got \[\]"),
        ("L2", {"words": ["rain", "RAIN"]}, "L2: words must be different words"),
        ("L2", {"words": ["two words"]}, "L2: words must be one word with a letter or digit, got 'two words'"),
        ("L4", {"word": "naïf"}, "L4: word must be a word of the letters a to z, got 'naïf'"),
        ("L5", {"word": "--"}, "L5: word must be one word with a letter or digit, got '--'"),
        ("L6", {"low": 0.7, "high": 0.6}, "L6: low must not be above high, got 0.7 and 0.6"),
        ("L6", {"low": 0, "high": 0.6}, "L6: low must be a number above 0, got 0"),
        ("L6", {"low": float("nan"), "high": 0.6}, "L6: low must be a number above 0, got nan"),
    ],
)
def test_bad_parameters_say_what_is_wrong(id, params, message):
    with pytest.raises(ValueError, match=message):
        check(id, "Rain fell.", **params)


def test_the_lists_hold_what_the_types_can_use():
    assert all(3 <= len(word) <= 6 and word.isalpha() for word in vocabulary("acrostics"))
    assert len(set(vocabulary("content_words"))) == len(vocabulary("content_words")) >= 20
    for words in topics().values():
        assert len(set(words)) == len(words) >= 6
        assert all(word.isalpha() and 3 <= len(word) <= 9 for word in words)
    drawn = [CONSTRAINTS["L6"].sample(stream("band", number)) for number in range(40)]
    bands = {(band["low"], band["high"]) for band in drawn}
    assert bands == {(0.5, 0.65), (0.55, 0.7), (0.6, 0.75), (0.65, 0.8), (0.7, 0.85)}


# ----------------------------------------------------------------------------------------------------------- mutations


def letters(rng) -> Iterator[Edit]:
    letter = "inshrdlucmw"[int(rng.integers(11))]
    words = [word for word in some_words(rng, 60) if letter not in word]
    text = " ".join(words)
    yield Edit("L1", {"letter": letter}, text, True)
    yield Edit("L1", {"letter": letter}, f"{text} {letter}", False)
    yield Edit("L1", {"letter": letter}, f"{letter.upper()}{text}", False)
    yield Edit("L1", {"letter": letter}, text[:-1] + f"**{letter}**", False)
    yield Edit("L1", {"letter": letter}, text + ". 7!", True)


def mandatory(rng) -> Iterator[Edit]:
    words = some_words(rng, 9)
    wanted, rest = words[:3], words[3:]
    params = {"words": wanted}
    yield Edit("L2", params, " ".join([*rest, *wanted]), True)
    yield Edit("L2", params, ", ".join([*wanted, *rest]).upper(), True)
    yield Edit("L2", params, f"{wanted[0]}-{rest[0]} “{wanted[1]}” | {wanted[2]} |", True)
    yield Edit("L2", params, " ".join([*rest, *wanted[1:]]), False)
    yield Edit("L2", params, " ".join([*rest, *wanted[1:], wanted[0] + "x"]), False)
    yield Edit("L2", params, " ".join([*rest, *wanted[1:], wanted[0][:-1]]), False)


def initials(rng) -> Iterator[Edit]:
    n = int(rng.integers(3, 7))
    letter = "abcfhimopstw"[int(rng.integers(12))]
    all_ = [f"{letter}{sentence(rng, 5)}".capitalize() for _ in range(n)]
    other = "Z" + all_[0][1:]
    yield Edit("L3", {"letter": letter}, " ".join(all_), True)
    yield Edit("L3", {"letter": letter}, "“" + all_[0] + "” (" + " ".join(all_[1:]) + ")", True)
    yield Edit("L3", {"letter": letter}, " ".join(all_) + "\n\n- Zebra.\n\n# Zoo", True)
    yield Edit("L3", {"letter": letter}, " ".join([other, *all_[1:]]), False)
    yield Edit("L3", {"letter": letter}, " ".join([*all_[1:], "7 " + all_[0]]), False)


def acrostics(rng) -> Iterator[Edit]:
    word = vocabulary("acrostics")[int(rng.integers(len(vocabulary("acrostics"))))]
    all_ = [f"{letter}{sentence(rng, 4)}".capitalize() for letter in word]
    yield Edit("L4", {"word": word}, " ".join(all_), True)
    yield Edit("L4", {"word": word.upper()}, "\n\n".join(f"**{s[0]}**{s[1:]}" for s in all_), True)
    yield Edit("L4", {"word": word}, "# Title\n\n" + " ".join(all_) + "\n\n- item", True)
    yield Edit("L4", {"word": word}, " ".join(all_[:-1]), False)
    yield Edit("L4", {"word": word}, " ".join(["Xa.", *all_]), False)
    yield Edit("L4", {"word": word}, " ".join([*all_, all_[-1]]), False)
    yield Edit("L4", {"word": word}, " ".join([*all_[:-1], "Q" + all_[-1]]), False)


def forbidden(rng) -> Iterator[Edit]:
    words = some_words(rng, 12)
    word, text = words[0], " ".join(words[1:])
    yield Edit("L5", {"word": word}, text, True)
    yield Edit("L5", {"word": word}, f"{word}x {text} x{word}", True)
    yield Edit("L5", {"word": word}, f"{text} {word.capitalize()}.", False)
    yield Edit("L5", {"word": word}, f"{word}-{text}", False)
    yield Edit("L5", {"word": word}, f"{text} {word}’s", False)
    yield Edit("L5", {"word": word}, f"{text} **{word[0]}**{word[1:]}", False)


def ratios(rng) -> Iterator[Edit]:
    low = [0.5, 0.55, 0.6, 0.65, 0.7][int(rng.integers(5))]
    high = round(low + 0.15, 2)
    params = {"low": low, "high": high}
    hundreds = int(rng.integers(1, 4))
    consonants = 100 * hundreds
    least, most = round(low * consonants), round(high * consonants)

    def text(vowels: int, consonants: int) -> str:
        return "ae" * (vowels // 2) + " U" * (vowels % 2) + "Yb c" * (consonants // 3) + "z" * (consonants % 3)

    for vowels, count, passes in (
        (least, consonants, True),
        (most, consonants, True),
        (least - 1, consonants, False),
        (most + 1, consonants, False),
        (least, consonants + 1, False),
        (most, consonants - 1, False),
    ):
        yield Edit("L6", params, text(vowels, count), passes)
        yield Edit("L6", params, text(vowels, count) + " 42 é – ñ", passes)


@pytest.mark.parametrize("edits", [letters, mandatory, initials, acrostics, forbidden, ratios])
def test_every_edit_is_judged_as_the_rule_says(edits: Callable[..., Iterator[Edit]]):
    for number in range(60):
        for edit in edits(stream("lexical", edits.__name__, number)):
            judge(edit)


# --------------------------------------------------------------------------------------------------- public bug reports


def test_B008_a_longer_word_is_not_the_forbidden_one():
    """modelscope/evalscope#1755."""
    assert check("L5", "This category is broad.", word="cat").passed


def test_B010_typographic_apostrophes_match():
    """ruby-no-kai/sponsor-app#93."""
    assert check("L2", "I don’t know yet.", words=["don't"]).passed


def test_B015_no_letters_have_no_ratio_and_spoil_nothing_else():
    """modelscope/evalscope#1761."""
    verdict = check("L6", "... --- !!!", low=0.5, high=0.9)
    assert (verdict.passed, verdict.score) == (False, 0.0)
    assert check("S1", "... --- !!!", n=40).score == 0.0
    assert check("L6", "42", low=0.5, high=0.9).score == 0.0


def test_B038_quotes_brackets_and_case_do_not_hide_the_first_letter():
    """allenai/open-instruct#1778."""
    assert check("L3", "“Winds rise,” he says. (Waves fall.)", letter="w").passed


def test_P144_a_remark_outside_the_answer_does_not_count():
    """arXiv:2608.12426, appendix Q, class 1."""
    reply = "<answer>Calm seas.</answer> Note: no letter j used."
    assert check("L1", extract_answer(reply).answer, letter="j").passed
    assert not check("L1", reply, letter="j").passed


def test_P145_bold_marks_are_no_first_letters():
    """arXiv:2608.12426, appendix Q, class 2."""
    assert check("L4", "**S**un rises. **O**wls sleep.", word="SO").passed


def test_prose_in_the_mutations_is_prose():
    text = prose(stream("prose"), 5)
    assert check("S2", text, n=5).passed
