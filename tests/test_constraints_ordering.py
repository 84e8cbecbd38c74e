"""O1-O4 at their limits: orders of lengths and of first words, and what too few sentences are worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from mutations import Edit, judge, sentence, some_words

from cdct.core import stream
from cdct.saturation.constraints import CONSTRAINTS

UP, DOWN = {"direction": "increasing"}, {"direction": "decreasing"}


def check(id: str, text: str, **params):
    return CONSTRAINTS[id].check(text, **params)


def marked(text: str, verdict) -> list[str]:
    return [text[start:end] for start, end in verdict.spans]


@pytest.mark.parametrize(
    ("id", "params", "text", "score"),
    [
        ("O1", UP, "Go. Go on. Go on now.", 1.0),
        ("O1", UP, "Go. Go on. See it. Go on now.", 2 / 3),
        ("O1", DOWN, "Go. Go on. Go on now.", 0.0),
        ("O1", DOWN, "Go on now - then. Go on. Go.", 1.0),
        ("O1", UP, "Go. Go on.", 2 / 3),
        ("O1", UP, "Go.", 0.0),
        ("O1", UP, "Go. Go on.\n\n- Go on now.\n\n| Go |\n|---|\n\n```\nGo. Go on now. So.\n```", 2 / 3),
        ("O2", {}, "Ants. ants. ANTS!", 1.0),
        ("O2", {}, "Zebras. élan. Echo.", 0.0),
        ("O2", {}, "Echo. Élan. Zebras.", 1.0),
        ("O2", {}, "1984 was cold. Ants. “Bees.” (Cats.)", 1.0),
        ("O2", {}, "An. Ants. Bees. Ants.", 2 / 3),
        ("O2", {}, "Ants dig. Bees fly.", 2 / 3),
        ("O2", {}, "Ants dig.", 0.0),
        ("O3", {"short": 1, "long": 2}, "Go. Go on. Go.", 1.0),
        ("O3", {"short": 1, "long": 2}, "Go on. Go. Go.", 1 / 3),
        ("O3", {"short": 1, "long": 2}, "Go. Go on. Go. Go.", 3 / 4),
        ("O3", {"short": 1, "long": 2}, "Go. Go on.", 2 / 3),
        ("O3", {"short": 1, "long": 2}, "Go.", 1 / 3),
        ("O4", {"n": 3}, "Go. Go. Go on now.", 1.0),
        ("O4", {"n": 3}, "Go. Go. Go on.", 0.0),
        ("O4", {"n": 3}, "Go on then now. Go. Go. Go on now. Go.", 1.0),
        ("O4", {"n": 4}, "Go. Go. Go on now. Go on now.", 1 / 2),
        ("O4", {"n": 5}, "Go. Go. Go on now. Go. Go on then, five words.", 1 / 3),
        ("O4", {"n": 3}, "Go. Go.", 0.0),
    ],
)
def test_scores(id, params, text, score):
    assert check(id, text, **params).score == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize(
    ("id", "params", "text", "places"),
    [
        ("O1", UP, "Go. Go on.  See it. Go on now.", ["See it."]),
        ("O1", UP, "Go. Go on.", ["Go on."]),
        ("O1", UP, "**Go.** Go on. Go on now.", []),
        ("O2", {}, "Cats doze. **Bees** fly. “Ants” dig.", ["Bees", "“Ants”"]),
        ("O2", {}, "Ants dig. Bees fly.", ["Bees"]),
        ("O3", {"short": 1, "long": 2}, "Go on. Go. Go.", ["Go on.", "Go."]),
        ("O4", {"n": 4}, "Go. Go. Go on now. Run. See it.", ["Run."]),
        ("O4", {"n": 3}, "Go. See. Run on. End.", ["Run on."]),
        ("O4", {"n": 3}, "Go. See.", ["See."]),
        ("O4", {"n": 3}, "- go", []),
    ],
)
def test_the_spans_show_what_is_wrong(id, params, text, places):
    assert marked(text, check(id, text, **params)) == places


@pytest.mark.parametrize(
    ("id", "params", "text", "flags"),
    [
        ("O1", UP, "Go. Go on.", ("too_few_sentences",)),
        ("O1", UP, "Go.", ("too_few_sentences",)),
        ("O1", DOWN, "Go. Go on.", ()),
        ("O1", UP, "Go. Go on. Go on now.", ()),
        ("O1", UP, "- go", ()),
        ("O2", {}, "Ants. Bees.", ("too_few_sentences",)),
        ("O2", {}, "Bees. Ants.", ()),
        ("O3", {"short": 1, "long": 2}, "Go. Go on.", ("too_few_sentences",)),
        ("O3", {"short": 1, "long": 2}, "Go on.", ()),
    ],
)
def test_what_passes_only_for_want_of_sentences_is_flagged(id, params, text, flags):
    """Two sentences met O1 and O3 at once in the paper's figure 4."""
    verdict = check(id, text, **params)
    assert verdict.flags == flags
    assert not (verdict.flags and verdict.passed)


@pytest.mark.parametrize(
    ("id", "params", "message"),
    [
        ("O1", {"direction": "up"}, 'O1: direction must be one of "increasing", "decreasing", got \'up\''),
        ("O3", {"short": 9, "long": 9}, "O3: short must be below long, got 9 and 9"),
        ("O4", {"n": 2}, "O4: n must be at least 3, got 2"),
    ],
)
def test_errors_say_what_is_wrong(id, params, message):
    with pytest.raises(ValueError, match=message):
        check(id, "Go.", **params)


# ---------------------------------------------------------------------------------------------------------- mutations


def monotone(rng) -> Iterator[Edit]:
    count = int(rng.integers(3, 7))
    lengths = sorted(int(i) + 2 for i in rng.permutation(14)[:count])
    all_ = [sentence(rng, length) for length in lengths]
    swapped = int(rng.integers(count - 1))
    mixed = [*all_]
    mixed[swapped : swapped + 2] = mixed[swapped : swapped + 2][::-1]
    yield Edit("O1", UP, " ".join(all_), True)
    yield Edit("O1", DOWN, "\n\n".join(all_[::-1]), True)
    yield Edit("O1", UP, "# Go. On.\n\n" + " ".join(all_) + "\n\n- one. two. three.", True)
    yield Edit("O1", UP, " ".join([*all_, sentence(rng, lengths[-1] + 1)]), True)
    yield Edit("O1", UP, " ".join([*all_, sentence(rng, lengths[-1])]), False)
    yield Edit("O1", DOWN, " ".join([sentence(rng, lengths[-1]), *all_[::-1]]), False)
    yield Edit("O1", UP, " ".join(mixed), False)
    yield Edit("O1", DOWN, " ".join(all_), False)
    yield Edit("O1", UP, " ".join(all_[:2]), False)


def alphabetical(rng) -> Iterator[Edit]:
    words = sorted(some_words(rng, int(rng.integers(3, 8))))
    all_ = [f"{word.capitalize()} {sentence(rng, 3).lower()}" for word in words]
    place = int(rng.integers(len(words)))
    yield Edit("O2", {}, " ".join(all_), True)
    yield Edit("O2", {}, "\n".join(f"{i}. {one}" for i, one in enumerate(all_, 1)), True)
    yield Edit("O2", {}, " ".join([*all_[:place], all_[place], *all_[place:]]), True)
    yield Edit("O2", {}, " ".join([*all_, "“Zz” is last."]), True)
    yield Edit("O2", {}, " ".join(["The zoo is here.", *all_][::-1]), False)
    yield Edit("O2", {}, " ".join([*all_, f"{words[-1][:-1]} is shorter.".capitalize()]), False)
    yield Edit("O2", {}, " ".join([f"{words[0]}s is longer.".capitalize(), *all_]), False)
    yield Edit("O2", {}, " ".join(all_[:2]), False)


def alternating(rng) -> Iterator[Edit]:
    params = {"short": int(rng.integers(6, 9)), "long": int(rng.integers(12, 16))}
    short, long = params["short"], params["long"]
    all_ = [sentence(rng, long if i % 2 else short) for i in range(int(rng.integers(3, 7)))]
    yield Edit("O3", params, " ".join(all_), True)
    yield Edit("O3", params, " ".join([sentence(rng, short - 1), sentence(rng, long + 1), *all_]), True)
    yield Edit("O3", params, " ".join(all_).replace(" ", " - ", 1), True)
    yield Edit("O3", params, " ".join([sentence(rng, short + 1), *all_[1:]]), False)
    yield Edit("O3", params, " ".join([all_[0], sentence(rng, long - 1), *all_[2:]]), False)
    yield Edit("O3", params, " ".join(all_[1:]), False)
    yield Edit("O3", params, " ".join(all_[:2]), False)
    yield Edit("O3", params, " ".join([all_[0], all_[1].replace(" ", ". ", 1), *all_[2:]]), False)


def growth(rng) -> Iterator[Edit]:
    n = int(rng.integers(3, 5))
    lengths = [int(i) for i in rng.integers(1, 5, 2)]
    while len(lengths) < n:
        lengths.append(lengths[-1] + lengths[-2] + 1)
    all_ = [sentence(rng, length) for length in lengths]
    wrong = [*all_[:-1], sentence(rng, lengths[-1] - 1)]
    yield Edit("O4", {"n": n}, " ".join(all_), True)
    yield Edit("O4", {"n": n}, " ".join([sentence(rng, 9), *all_, sentence(rng, 2)]), True)
    yield Edit("O4", {"n": n}, " ".join([*all_[:-1], sentence(rng, lengths[-1] + 3)]), True)
    yield Edit("O4", {"n": n}, " ".join(wrong), False)
    yield Edit("O4", {"n": n}, " ".join(all_[1:]), False)
    yield Edit("O4", {"n": n}, " ".join([*all_[:-1], "Yes.", all_[-1][:1] + "."]), False)
    yield Edit("O4", {"n": n}, " ".join(all_[:-1]) + "\n\n- " + all_[-1], False)


@pytest.mark.parametrize("edits", [monotone, alphabetical, alternating, growth])
def test_every_edit_is_judged_as_the_rule_says(edits: Callable[..., Iterator[Edit]]):
    for number in range(60):
        for edit in edits(stream("ordering", edits.__name__, number)):
            judge(edit)


# --------------------------------------------------------------------------------------------------- public bug reports


def test_B022_one_sentence_is_in_no_order():
    """scitix/sieval#105."""
    verdict = check("O1", "Only one sentence here.", **UP)
    assert not verdict.passed
    assert verdict.detail.endswith("1 sentence, at least 3 wanted")
    assert not check("O3", "Only one sentence here.", short=9, long=12).passed
    assert not check("O4", "Only one sentence here.", n=3).passed


def test_B033_list_numbers_are_no_first_words():
    """neurosnap/sentences#30."""
    verdict = check("O2", "1. Boil water. 2. Add tea.")
    assert verdict.detail.startswith('neighbours in order: 0 of 1; first words: "boil", "add"')
    assert check("O2", "1. Add tea. 2. Boil water. 3. Cool it.").passed


def test_P154_no_reply_is_monotone_and_alternates():
    """arXiv:2608.12426, figure 4c: two sentences of 5 and 32 words passed both."""
    text = "Optics trick our eager brains. " + " ".join(["word"] * 32) + "."
    assert not check("O1", text, **UP).passed
    assert not check("O3", text, short=8, long=12).passed
