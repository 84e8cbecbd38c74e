"""W1-W5 at their limits, their scores and places."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from mutations import Edit, judge, sentence, some_words

from cdct.core import stream
from cdct.saturation.constraints import CONSTRAINTS


def check(id: str, text: str, **params):
    return CONSTRAINTS[id].check(text, **params)


def marked(text: str, verdict) -> list[str]:
    return [text[start:end] for start, end in verdict.spans]


@pytest.mark.parametrize(
    ("id", "params", "text", "score"),
    [
        ("W1", {}, "One.", 1.0),
        ("W1", {}, "it’s It's IT’S", 1 / 3),
        ("W1", {}, "well-known well known", 1.0),
        ("W1", {}, "| a | b |\n|---|---|\n| a | - |", 2 / 3),
        ("W1", {}, "café cafe\u0301 CAFÉ.", 1 / 3),
        ("W2", {"low": 2, "high": 3}, "a ab abc abcd (abc)... “ab”", 4 / 6),
        ("W2", {"low": 3, "high": 3}, "e\u0301a\u0301o\u0301", 1.0),
        ("W3", {"n": 2}, "Go. Go on. Go on now – now.", 2 / 3),
        ("W4", {}, "The sun sets. The sun.", 2 / 3),
        ("W4", {}, "So so so.", 1 / 2),
        ("W4", {}, "Go. Go. Go.", 0.0),
        ("W4", {}, "One two.\n\nThree four.", 1.0),
        ("W5", {"n": 1}, "Strong. Stone. Length.", 2 / 3),
        ("W5", {"n": 2}, "Strengths strand.", 1.0),
        ("W5", {"n": 2}, "Strengthslymphstrand.", 0.0),
        ("W5", {"n": 1}, "SCHLOSS.", 1.0),
        ("W5", {"n": 1}, "Rhyme? Well-known. Can’t.", 0.0),
        ("W5", {"n": 1}, "bc-d b1cd bécd.", 0.0),
    ],
)
def test_scores(id, params, text, score):
    assert check(id, text, **params).score == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize(
    ("id", "params", "text", "places"),
    [
        ("W1", {}, "Sea, **sea** and SEA!", ["sea", "SEA!"]),
        ("W1", {}, "was w&#97;s, \\u0077as", ["w&#97;s,", "\\u0077as"]),
        ("W2", {"low": 2, "high": 4}, "A _longer_ word (so).", ["A", "longer"]),
        ("W3", {"n": 2}, "Go on. Stop! See it.", ["Stop!"]),
        ("W4", {}, "The sun. **The** sun, the SUN.", ["The** sun,", "the SUN."]),
        ("W5", {"n": 1}, "Strong. A tree stands. Go.", ["Go."]),
    ],
)
def test_the_spans_show_what_offends(id, params, text, places):
    assert marked(text, check(id, text, **params)) == places


@pytest.mark.parametrize(
    ("text", "passed", "flags"),
    [
        (r"was w\u0061s", False, ("escape_sequences",)),
        ("was w&#97;s", False, ("escape_sequences",)),
        (r"was w\x61s", False, ("escape_sequences",)),
        (r"was was w\u0061s", False, ()),
        (r"was w\u0061sp", True, ()),
        ("was w\\u", True, ()),
    ],
)
def test_escapes_are_read_before_words_are_compared(text, passed, flags):
    """Appendix Q: a word written with an escape is the same word; without the escapes the reply would have passed."""
    verdict = check("W1", text)
    assert (verdict.passed, verdict.flags) == (passed, flags)


@pytest.mark.parametrize(
    ("id", "params", "message"),
    [
        ("W2", {"low": 9, "high": 8}, "W2: low must not be above high, got 9 and 8"),
        ("W2", {"low": 0, "high": 8}, "W2: low must be at least 1, got 0"),
        ("W3", {"n": 2.5}, "W3: n must be a whole number, got 2.5"),
        ("W5", {"n": 0}, "W5: n must be at least 1, got 0"),
    ],
)
def test_bad_parameters_say_what_is_wrong(id, params, message):
    with pytest.raises(ValueError, match=message):
        check(id, "Rain fell.", **params)


# ----------------------------------------------------------------------------------------------------------- mutations


def unique(rng) -> Iterator[Edit]:
    words = some_words(rng, 30)
    again = words[int(rng.integers(30))]
    text = " ".join(words)
    yield Edit("W1", {}, text, True)
    yield Edit("W1", {}, "- " + "\n- ".join(words), True)
    yield Edit("W1", {}, f"{text} {again}x", True)
    yield Edit("W1", {}, f"{text} {again}-{again}", True)
    yield Edit("W1", {}, f"{text} {again}", False)
    yield Edit("W1", {}, f"“{again.upper()}!” {text}", False)
    yield Edit("W1", {}, f"{text}\n\n| **{again}** |", False)
    yield Edit("W1", {}, f"{text} \\u{ord(again[0]):04x}{again[1:]}", False)


def lengths(rng) -> Iterator[Edit]:
    low, high = int(rng.integers(1, 3)), int(rng.integers(8, 11))
    params = {"low": low, "high": high}
    words = [word for word in some_words(rng, 20) if low <= len(word) <= high]
    text = " ".join([*words, "a" * low, "b" * high])
    yield Edit("W2", params, text, True)
    yield Edit("W2", params, f"(“{text}”)...", True)
    yield Edit("W2", params, f"{text} --------------- **{'c' * high}**", True)
    yield Edit("W2", params, f"{text} {'c' * (high + 1)}", False)
    yield Edit("W2", params, f"{text} {'c' * (high - 1)}-c", False)
    if low > 1:
        yield Edit("W2", params, f"{'c' * (low - 1)}! {text}", False)


def minima(rng) -> Iterator[Edit]:
    n = int(rng.integers(5, 9))
    all_ = [sentence(rng, n + int(rng.integers(0, 3))) for _ in range(int(rng.integers(3, 6)))]
    exact = sentence(rng, n)
    yield Edit("W3", {"n": n}, " ".join([*all_, exact]), True)
    yield Edit("W3", {"n": n}, " ".join([*all_, exact]) + "\n\n- item", True)
    yield Edit("W3", {"n": n}, " ".join([exact.split(" ", 1)[1], *all_]), False)
    yield Edit("W3", {"n": n}, " ".join([exact.replace(" ", "-", 1), *all_]), False)
    yield Edit("W3", {"n": n}, " ".join([*all_, exact.replace(" ", " - ", 1)]), True)
    yield Edit("W3", {"n": n}, " ".join([*all_, "Yes."]), False)


def bigrams(rng) -> Iterator[Edit]:
    words = some_words(rng, 24)
    halves = " ".join(words[:12]).capitalize() + ".", " ".join(words[12:]).capitalize() + "."
    first, second = words[3], words[4]
    yield Edit("W4", {}, " ".join(halves), True)
    yield Edit("W4", {}, f"{' '.join(halves)} {second} {first}.", True)
    yield Edit("W4", {}, f"{' '.join(halves)} The {first}. {second.capitalize()} came.", True)
    yield Edit("W4", {}, f"{' '.join(halves)}\n\n- {first} {second}", True)
    yield Edit("W4", {}, f"{' '.join(halves)} {first} {second}.", False)
    yield Edit("W4", {}, f"({first.upper()}, “{second}”)\n\n{' '.join(halves)}", False)


def clusters(rng) -> Iterator[Edit]:
    n = int(rng.integers(1, 3))
    with_cluster, without = ["strong", "branch", "Simple", "length", "ANGRY"], ["stone", "any", "hand", "rhyme", "type"]
    pick = lambda words, k: [words[int(i)] for i in rng.permutation(len(words))[:k]]  # noqa: E731

    def made(k: int) -> str:
        words = pick(with_cluster, k) + pick(without, 4)
        return " ".join(words[int(i)] for i in rng.permutation(len(words))) + "."

    others = ["Then " + made(n + 1) for _ in range(3)]
    yield Edit("W5", {"n": n}, " ".join([*others, "Then " + made(n)]), True)
    yield Edit("W5", {"n": n}, " ".join([*others, "Then " + made(n)]) + "\n\n- a list", True)
    yield Edit("W5", {"n": n}, " ".join([*others, "Then " + made(n - 1)]), False)
    yield Edit("W5", {"n": n}, " ".join(["Now " + made(n - 1), *others]), False)
    yield Edit("W5", {"n": n}, " ".join([*others, "So be it."]), False)


@pytest.mark.parametrize("edits", [unique, lengths, minima, bigrams, clusters])
def test_every_edit_is_judged_as_the_rule_says(edits: Callable[..., Iterator[Edit]]):
    for number in range(60):
        for edit in edits(stream("words", edits.__name__, number)):
            judge(edit)


# --------------------------------------------------------------------------------------------------- public bug reports


def test_B016_unique_words_are_compared_without_case_and_punctuation():
    """modelscope/evalscope#1675."""
    verdict = check("W1", "Blue sky, BLUE sea.")
    assert (verdict.passed, verdict.score) == (False, 0.75)
    assert verdict.detail == 'distinct words: 3 of 4, repeated "blue"'


def test_B022_a_pair_rule_needs_a_pair():
    """scitix/sieval#105, for W4 and S6."""
    assert not check("W4", "Rain.").passed
    assert not check("S6", "Only one sentence here.", n=3).passed
