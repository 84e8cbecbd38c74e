"""S1-S6: counts at their limits, what the words for them mean, scores and places, and public bug reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from mutations import Edit, judge, prose, sentence

from cdct.core import stream
from cdct.saturation.constraints import CONSTRAINTS


def check(id: str, text: str, **params):
    return CONSTRAINTS[id].check(text, **params)


def marked(text: str, verdict) -> list[str]:
    return [text[start:end] for start, end in verdict.spans]


# -------------------------------------------------------------------------------------------------- what is counted


@pytest.mark.parametrize(
    ("id", "text", "count"),
    [
        ("S1", "state-of-the-art – don't - | 3.14 ***", 3),
        ("S1", "one\u200btwo three\u00a0four", 3),
        ("S1", "| a | b |\n|---|---|\n| 1 | 2 |\n\n- x\n1. y", 7),
        ("S2", "One. Two! Three? Four… Five", 5),
        ("S2", "He said “go now.” She went.", 2),
        ("S2", "# Title. Not one.\n\nText here.\n\n- item. item.\n\n| a. | b. |\n|---|---|", 1),
        ("S2", 'Look:\n\n{"a": "One. Two."}\n\nDone.', 2),
        ("S2", "A line without an end mark\n\nAnother one", 2),
        ("S4", "a", 1),
        ("S4", "**a** `b`\n\n# c", 6),
        ("S4", "a\r\nb", 3),
        ("S4", "e\u0301", 1),
        ("S4", "👍🏽", 2),
        ("S5", "a\n \n\t\nb", 2),
        ("S5", "- a\n- b\n\n| c |\n|---|", 4),
        ("S5", "```\n\nx\n```", 3),
        ("S5", "Rain.\n#\nSnow.\n## \n# Ice", 3),
        ("S4", "Rain.\n# Hi.", 9),
    ],
)
def test_the_count_decides(id, text, count):
    assert check(id, text, n=count).passed
    assert not check(id, text, n=count + 1).passed
    assert count == 1 or not check(id, text, n=count - 1).passed


@pytest.mark.parametrize(
    ("id", "text", "n", "score"),
    [
        ("S1", "w " * 48, 50, 0.96),  # the paper's own example (section 3.1)
        ("S1", "w " * 52, 50, 0.96),
        ("S1", "w " * 150, 50, 0.0),
        ("S2", "One. Two.", 5, 0.4),
        ("S4", "abcd", 5, 0.8),
        ("S5", "a\nb\nc", 2, 0.5),
        (
            "S6",
            "Go on. Go. Go now. Go. Go. Go. Go on then.",
            7,
            1 / 3,
        ),  # the paper's case study: one pair of three (appendix S)
        ("S6", "Go on. Go. Go on.", 5, 0.6),
        ("S6", "Go on. Go on. Go. Go.", 4, 0.0),
        ("S6", "Only one.", 3, 0.0),
        ("S6", "| a | b |\n|---|---|\n| c | d |", 3, 0.0),
    ],
)
def test_partial_scores(id, text, n, score):
    assert check(id, text, n=n).score == pytest.approx(score, abs=1e-12)


def test_paragraphs_lose_for_their_number_and_for_their_sentences():
    three = "Go on. See it.\n\nTry it.\n\nRun up. Sit by."
    assert check("S3", three, paragraphs=3, min_sentences=2).score == pytest.approx(2 / 3)
    assert check("S3", three, paragraphs=2, min_sentences=1).score == pytest.approx(1 / 2)
    assert check("S3", three, paragraphs=2, min_sentences=2).score == pytest.approx(1 / 2 * 2 / 3)
    assert check("S3", "- a\n- b", paragraphs=2, min_sentences=1).score == 0.0


@pytest.mark.parametrize(
    ("id", "params", "text", "places"),
    [
        ("S1", {"n": 2}, "Rain fell **hard** now.", ["hard", "now."]),
        ("S1", {"n": 6}, "Rain fell hard.", ["hard."]),
        ("S2", {"n": 1}, "Rain fell. Snow too.  Ice.", ["Snow too.", "Ice."]),
        ("S2", {"n": 9}, " Rain fell. Snow too.", ["Snow too."]),
        ("S3", {"paragraphs": 2, "min_sentences": 2}, "Go on. See it.\n\nTry it.\n\nRun.", ["Try it.", "Run."]),
        ("S4", {"n": 6}, "Rain **fell** hard", ["ell** hard"]),
        ("S4", {"n": 99}, "Rain.", ["."]),
        ("S5", {"n": 1}, "Rain\n\n  Snow", ["  Snow"]),
        ("S6", {"n": 4}, "Go on. See. Try. Run.", ["Go on.", "Run."]),
        ("S6", {"n": 2}, "Go. Look up. Run.", ["Run."]),
        ("S1", {"n": 3}, "Rain fell hard.", []),
    ],
)
def test_the_spans_show_what_is_wrong(id, params, text, places):
    assert marked(text, check(id, text, **params)) == places


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("Birds sing now. Rain. Birds sing now.", ("mirror_copies",)),
        ("Birds sing now. Rain. “birds sing NOW!”", ("mirror_copies",)),
        ("Birds sing now. Rain. Frogs sing now.", ()),
        ("Rain. Birds sing now. Birds sing now.", ()),
    ],
)
def test_copied_mirror_sentences_pass_and_are_flagged(text, flags):
    assert check("S6", text, n=3).flags == flags


@pytest.mark.parametrize(
    ("id", "params", "message"),
    [
        ("S1", {"n": 0}, "S1: n must be at least 1, got 0"),
        ("S1", {"n": True}, "S1: n must be a whole number, got True"),
        ("S1", {"n": 3.0}, "S1: n must be a whole number, got 3.0"),
        ("S1", {"n": 10**7}, "S1: n must be at most 1000000, got 10000000"),
        ("S1", {"m": 3}, "S1: parameter 'm' is not known; known: n"),
        ("S3", {"paragraphs": 2}, "S3: parameter min_sentences is missing"),
        ("S3", {"paragraphs": 2, "min_sentence": 2}, "'min_sentence' is not known; did you mean 'min_sentences'"),
        ("S6", {"n": 1}, "S6: n must be at least 2, got 1"),
    ],
)
def test_bad_parameters_say_what_is_wrong(id, params, message):
    with pytest.raises(ValueError, match=message):
        check(id, "Rain fell.", **params)


# ---------------------------------------------------------------------------------------------------------- mutations


def counts(rng) -> Iterator[Edit]:
    n = int(rng.integers(40, 61))
    text = " ".join(sentence(rng, k) for k in (n // 3, n // 3, n - 2 * (n // 3)))
    first, rest = text.split(" ", 1)
    yield Edit("S1", {"n": n}, text, True)
    yield Edit("S1", {"n": n}, rest, False)
    yield Edit("S1", {"n": n}, f"{first} {first} {rest}", False)
    yield Edit("S1", {"n": n}, f"{first}-{rest}", False)
    yield Edit("S1", {"n": n}, f"{first} - {rest}", True)
    yield Edit("S1", {"n": n}, f"**{first}**\n\n{rest}", True)


def sentences(rng) -> Iterator[Edit]:
    n = int(rng.integers(3, 7))
    all_ = [sentence(rng, int(rng.integers(3, 9))) for _ in range(n)]
    yield Edit("S2", {"n": n}, " ".join(all_), True)
    yield Edit("S2", {"n": n}, " ".join(all_[1:]), False)
    yield Edit("S2", {"n": n}, " ".join([*all_, "Yes."]), False)
    yield Edit("S2", {"n": n}, " ".join([*all_[:-2], all_[-2][:-1] + ", and then", all_[-1]]), False)
    yield Edit("S2", {"n": n}, " ".join(all_).replace(" ", ". ", 1).replace(". ", " e.g. ", 1), True)
    yield Edit("S2", {"n": n}, "# Title here. So.\n\n" + "\n\n".join(all_) + "\n\n- one. two.", True)
    yield Edit("S2", {"n": n}, " ".join(all_)[:-1] + "!?”", True)


def paragraphs(rng) -> Iterator[Edit]:
    n = int(rng.integers(2, 4))
    blocks = [prose(rng, int(rng.integers(2, 4))) for _ in range(n)]
    params = {"paragraphs": n, "min_sentences": 2}
    yield Edit("S3", params, "\n\n".join(blocks), True)
    yield Edit("S3", params, "\n \n\n***\n\n".join(blocks), True)
    yield Edit("S3", params, "## Head\n\n" + "\n\n".join(blocks) + "\n\n- item", True)
    yield Edit("S3", params, "\n".join(blocks), False)
    yield Edit("S3", params, "\n\n".join(blocks[1:]), False)
    yield Edit("S3", params, "\n\n".join([*blocks, prose(rng, 2)]), False)
    yield Edit("S3", params, "\n\n".join([*blocks[1:], sentence(rng, 5)]), False)


def characters(rng) -> Iterator[Edit]:
    text = prose(rng, int(rng.integers(5, 8)))
    params = {"n": len(text)}
    yield Edit("S4", params, text, True)
    yield Edit("S4", params, text[:-1], False)
    yield Edit("S4", params, text + "!", False)
    yield Edit("S4", params, text.replace(" ", "  ", 1), False)
    yield Edit("S4", params, f"  **{text}**\n", True)
    yield Edit("S4", params, text.replace(" ", "\r\n", 1), True)
    yield Edit("S4", params, text[:-2] + "e\u0301.", True)


def lines(rng) -> Iterator[Edit]:
    n = int(rng.integers(3, 11))
    all_ = [sentence(rng, 3) for _ in range(n)]
    yield Edit("S5", {"n": n}, "\n".join(all_), True)
    yield Edit("S5", {"n": n}, "\n \n\n".join(all_), True)
    yield Edit("S5", {"n": n}, "\r\n".join(all_), True)
    yield Edit("S5", {"n": n}, "\n".join(all_[1:]), False)
    yield Edit("S5", {"n": n}, "\n".join([*all_, "-"]), False)
    yield Edit("S5", {"n": n}, "\n".join([*all_[:-2], all_[-2] + " " + all_[-1]]), False)


def palindromes(rng) -> Iterator[Edit]:
    n = int(rng.choice([3, 5, 7]))
    half = [int(length) for length in rng.integers(2, 9, n // 2)]
    lengths = [*half, int(rng.integers(2, 9)), *half[::-1]]
    all_ = [sentence(rng, length) for length in lengths]
    longer = [*all_[:-1], sentence(rng, lengths[-1] + 1)]
    shorter = [sentence(rng, lengths[0] - 1), *all_[1:]]
    middle = [*all_[: n // 2], sentence(rng, 11), *all_[n // 2 + 1 :]]
    yield Edit("S6", {"n": n}, " ".join(all_), True)
    yield Edit("S6", {"n": n}, " ".join(middle), True)
    yield Edit("S6", {"n": n}, "\n\n".join(all_[::-1]), True)
    yield Edit("S6", {"n": n}, " ".join(longer), False)
    yield Edit("S6", {"n": n}, " ".join(shorter), False)
    yield Edit("S6", {"n": n}, " ".join([*all_[: n // 2], *all_[n // 2 + 1 :]]), False)
    yield Edit("S6", {"n": n}, " ".join([all_[0], *all_, all_[-1]]), False)


@pytest.mark.parametrize("edits", [counts, sentences, paragraphs, characters, lines, palindromes])
def test_every_edit_is_judged_as_the_rule_says(edits: Callable[..., Iterator[Edit]]):
    for number in range(60):
        for edit in edits(stream("structure", edits.__name__, number)):
            judge(edit)


# --------------------------------------------------------------------------------------------------- public bug reports


@pytest.mark.parametrize(
    ("text", "count"), [("Ana's dog won't.", 3), ("12:00\u202fAM now", 3), ("12:00\u202fAM\u200b now", 3)]
)
def test_B011_B012_apostrophes_and_invisible_characters_in_words(text, count):
    """notepad-plus-plus#8100; tgeczy/TGSpeechBox#76: U+202F is white space, U+200B is not."""
    assert check("S1", text, n=count).passed
    assert check("S1", text, n=count).detail.startswith(f"{count} words")


def test_B014_characters_are_code_points():
    """sinclairzx81/typebox#1648: a heart with its variation selector is two."""
    assert check("S4", "❤️", n=2).passed
    assert check("S4", "❤️", n=2).detail == "2 characters, 2 wanted"


def test_B018_blank_lines_in_a_row_are_no_paragraphs():
    """scitix/sieval#104."""
    text = "\n\nRain fell. Roads shone.\n\n\n\nSnow came. Ice held."
    verdict = check("S3", text, paragraphs=2, min_sentences=2)
    assert verdict.passed
    assert verdict.detail.startswith("2 paragraphs")


def test_B019_a_thematic_break_is_no_paragraph():
    """allenai/open-instruct#1765."""
    assert check("S3", "Rain fell.\n\n***\n\nSnow came.", paragraphs=2, min_sentences=1).passed


def test_B020_blank_lines_do_not_move_the_line_count():
    """scitix/sieval#105."""
    assert check("S5", "a\n\n\nb\n\n\n\nc\n", n=3).passed


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Use salt, e.g. sea salt. It helps.", 2),  # B024 nltk#2376
        ("Ask the Ph.D. student. She knows.", 2),  # B027 nltk#3370
        ("Wait... what happened? Nothing.", 2),  # B029 FreeLing#91
        ("Pi is 3.14 here. See docs.example.org now. Done.", 3),  # B030 natural#508
        ("He said “go now.” She went.", 2),  # B031 scitix/sieval#105
        ("The show ended. 1976 was hot.", 2),  # B032 rumdl#821
        ("1. Boil water. 2. Add tea.", 2),  # B033 neurosnap/sentences#30
        ("### 2. Method\nWe begin here.", 1),  # B034 yasbd-lib#306
    ],
)
def test_B024_to_B034_full_stops_that_end_no_sentence(text, count):
    assert check("S2", text, n=count).passed


def test_P146_code_holds_no_sentence():
    """arXiv:2608.12426, appendix Q, class 3."""
    assert check("S2", "See below.\n```\na = 1. b = 2.\n```", n=1).passed


def test_P152_copied_mirrors_pass_with_a_flag():
    """arXiv:2608.12426, appendix Q and S: the text says pass, figure 7 says 0.50."""
    verdict = check("S6", "Birds sing now. Rain. Birds sing now.", n=3)
    assert (verdict.passed, verdict.flags) == (True, ("mirror_copies",))
