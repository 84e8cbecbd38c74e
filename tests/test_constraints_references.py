"""The verifiers agree with slow second readings, on replies made of prose and Markdown and on those of real models."""

from __future__ import annotations

import json
import os
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from mutations import WORDS, some_words
from reference_constraints import REFERENCE, Plainly, clustered, form, reference
from reference_constraints_2 import REFERENCE_2, integers, reference_2, sums
from reference_lists import numbered

import cdct
from cdct.core import stream
from cdct.saturation.constraints import CONSTRAINTS
from cdct.text import Text

ALL = [*REFERENCE, *REFERENCE_2]
PUZZLES = ("R1", "R3")
"""Types about JSON that no reply to another task holds; test_constraints_meta has replies written for them."""
BY_DESIGN = ("R4", "M2")
"""Types that no reply keeps by accident: those for them are made below."""
ODD = """
state-of-the-art don't it’s Strengths naïve cafe\u0301 STRASSE straße (so) “yes” a I the The in well-known 42 3, one;
mid–way - — solar wind time CO2 -7 1,250 3.5 Dr. e.g. U.S. Weiß İs
"""
TOKENS = [*WORDS, *ODD.split()]
BLOCKS = [
    "# Title of it",
    "## 2. *Second* title ##",
    "- one item. of prose.\n- **two**\n  goes on.\n  - three",
    "* star\n* star two",
    "1. Boil the water.\n2. Add tea\n3. Drink it. Now.",
    "(1) Go on.\n(2) Stop",
    "Steps: 1. Go on. 2. Stop here.",
    "The first is 1. The second is 2. Good.",
    "| a | b. |\n|---|---|\n| c. d. | 4 |",
    "a | b\n--|--\n1 | 2",
    "```py\nx = 1. y = _2_.\n```",
    "- ```\n  x. y.\n  ```",
    "> quoted words. more of them.\n> - an item. here.",
    "> ```\n> a. b.\n> ```",
    '{"a": {"b": ["x. y.", 3]}}',
    'See {"a": "**b**"} here. Then go.',
    "***",
    "**Bold line**\nThen text. It goes on.",
    "**All bold.** And *some* _of_ it `co*d*e` here.",
    "2 + 3 = 5 and **4 + 4 = 9**.",
    "\\$2 + \\$3 = \\$5. It was 5 p.m. Rain fell.[^1] Roads shone.",
    "This text contains exactly 20 words.",
    "1. Ada\n2. Ben (before Cleo)\n3. Cleo",
]


def made(number: int) -> str:
    """Sentences from few words and blocks of all kinds, in rows, with lines and blanks of all kinds between them."""
    rng = stream("references", number)
    pool = [TOKENS[int(i)] for i in rng.integers(len(TOKENS), size=int(rng.integers(3, 40)))]
    parts = []
    for _ in range(int(rng.integers(1, 7))):
        if rng.random() < 0.3:
            joint = "\n" if rng.random() < 0.2 else "\n\n"
            parts.append(joint + BLOCKS[int(rng.integers(len(BLOCKS)))] + "\n" * int(rng.integers(1, 3)))
            continue
        words = [pool[int(i)] for i in rng.integers(len(pool), size=int(rng.integers(1, 12)))]
        if rng.random() < 0.3:
            place = int(rng.integers(len(words)))
            words[place] = ["**{}**", "*{}*", "_{}_", "`{}`", "__{}__"][int(rng.integers(5))].format(words[place])
        parts.append(" ".join(["A" + words[0] if rng.random() < 0.2 else "Nothing", *words]))
        parts.append(" " + ["mmm.", "mmm!", "mmm?", "mmm.”", "mmm…"][int(rng.integers(5))])
        parts.append([" ", " ", "\n", "\r\n", "\n\n", "\n \n\n", "  "][int(rng.integers(7))])
    return "".join(parts)


def near(id: str, reply: Plainly, rng: np.random.Generator) -> dict:
    """Parameters where the reply stands, or one beside it, so that both sides of each limit are met."""
    params = CONSTRAINTS[id].sample(rng)
    off = int(rng.integers(-1, 2)) if rng.random() < 0.5 else 0
    sentences, lengths = reply.sentences, [len(sentence) for sentence in reply.sentences] or [1]
    counts = {
        "S1": lambda: len(reply.words),
        "S2": lambda: len(sentences),
        "S4": lambda: len(reply.text),
        "S5": lambda: sum(bool(line.strip()) for line in reply.text.split("\n")),
        "S6": lambda: max(2, len(sentences)),
        "W3": lambda: min(lengths),
        "W5": lambda: min((sum(map(clustered, sentence)) for sentence in sentences), default=1),
        "M3": lambda: min(7, len(reply.words)),
        "N3": lambda: len(set(integers(reply.text))),
        "N4": lambda: len(sums(reply.text)),
    }
    if id in counts:
        return {"n": max(2 if id == "S6" else 1, counts[id]() + off)}
    if id in ("F2", "F3"):
        scores = {n: reference_2(id, reply.raw, {"n": n}) for n in range(1, 12)}
        return {"n": max(1, max(scores, key=lambda n: scores[n]) + off)}
    if id == "F1":
        both = [{"columns": c, "rows": r} for c in range(1, 6) for r in range(1, 9)]
        return max(both, key=lambda one: reference_2(id, reply.raw, one)) if off == 0 else params
    if id == "S3":
        fewest = min(map(len, reply.paragraphs), default=1)
        return {
            "paragraphs": max(1, len(reply.paragraphs) + off),
            "min_sentences": max(1, fewest + (rng.random() < 0.2)),
        }
    if id == "L1":
        absent = [letter for letter in "abcdefghijklmnopqrstuvwxyz" if letter not in reply.text.casefold()]
        return {"letter": absent[int(rng.integers(len(absent)))]} if absent and off == 0 else params
    if id in ("L2", "L5"):
        known = list(dict.fromkeys(one for one in reply.forms if one)) or ["x"]
        some = [known[int(i)] for i in rng.permutation(len(known))[:3]]
        if id == "L2":
            return {"words": some if off == 0 else [*some[:1], "zebra-x"]}
        return {"word": some[0] if off == 0 else some[0][:-1] or "x"} if wordy(some[0][:-1]) else {"word": some[0]}
    if id == "L3":
        return {"letter": initials(sentences, 0)[:1]} if off == 0 and spells(initials(sentences, 0)[:1]) else params
    if id in ("L4", "M1"):
        word = initials(sentences, -(id == "M1"))
        return {"word": word} if off == 0 and spells(word) else params
    if id == "L6":
        score = {
            low: reference(id, reply, {"low": low, "high": low + 0.15}) for low in (0.4, 0.5, 0.55, 0.6, 0.65, 0.7)
        }
        low = max(score, key=lambda one: score[one])
        return {"low": low, "high": round(low + 0.15, 2)} if off == 0 else params
    if id == "W2":
        longest = max(map(len, reply.forms), default=1)
        return {"low": 1, "high": max(1, longest + off)}
    if id == "N1":
        found = integers(reply.text)
        return {"count": max(1, len(found) + off), "total": min(10**6, max(1, sum(found)))}
    if id == "O1":
        return {"direction": "increasing" if lengths[0] < lengths[-1] else "decreasing"}
    if id == "O3":
        short, long = max(lengths[::2]), min(lengths[1::2], default=99)
        return {"short": short, "long": long} if short < long and off == 0 else params
    if id == "O4":
        return {"n": 3}
    if id == "R2":
        return race(reply, off) or params
    return params


def wordy(word: str) -> bool:
    return any(map(str.isalnum, word))


def initials(sentences: list[list[str]], word: int) -> str:
    return "".join(form(sentence[word])[0] for sentence in sentences)


def spells(word: str) -> bool:
    return word.isascii() and word.isalpha()


def race(reply: Plainly, off: int) -> dict | None:
    """A race whose runners are the first words of a list in the reply."""
    for items in numbered(reply.text):
        names = [form(item.split()[0]) if wordy("".join(item.split()[:1])) else "" for item in items[: 5 + off]]
        if 2 <= len(names) == len(set(names)) and all(names) and not any('"' in name for name in names):
            return {"comparisons": [[one, "before", two] for one, two in pairwise(names)], "order": names}
    return None


def agrees(id: str, text: Text, reply: Plainly, params: dict) -> tuple[bool, bool, str]:
    """Whether verdict and score are those of the reference; whether it passes; what to say if not."""
    verdict = CONSTRAINTS[id].check(text, **params)
    score = reference(id, reply, params) if id in REFERENCE else reference_2(id, reply.raw, params)
    right = verdict.passed == (score == 1) and abs(verdict.score - float(score)) < 1e-9
    say = f"{id} {params}: {verdict.detail}, score {verdict.score}, reference {float(score)}\n{text.raw[:1500]}"
    return right, score == 1, say


def test_the_verifiers_agree_with_slow_references_on_generated_replies():
    passed: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for number in range(1200):
        raw = made(number)
        text, reply = Text(raw), Plainly(raw)
        assert text.plain == reply.text
        for id in ALL:
            if id in PUZZLES:
                continue
            for again in range(2):
                right, passes, say = agrees(id, text, reply, near(id, reply, stream("near", id, number, again)))
                assert right, say
                (passed if passes else failed)[id] += 1
    assert passed.total() + failed.total() == 1200 * 2 * 34
    few = {id: (passed[id], failed[id]) for id in ALL if min(passed[id], failed[id]) < 20}
    assert few.keys() == {*PUZZLES, *BY_DESIGN}, few


REAL = Path(
    os.environ.get("CDCT_REPLIES")
    or Path(cdct.__file__).resolve().parents[2] / "shared" / "data" / "real_replies.jsonl"
)


def part(raw: str, rng: np.random.Generator) -> str:
    """The reply, or a beginning of it, so that what few whole replies keep (unique words, say) is kept by some."""
    cut = int(rng.integers(20, 400))
    return raw if rng.random() < 0.4 or cut >= len(raw) else raw[:cut]


@pytest.mark.skipif(
    not REAL.exists(), reason="the replies of real models are not here; they have no licence to be copied"
)
def test_the_verifiers_agree_with_slow_references_on_real_replies():
    passed: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for number, line in enumerate(REAL.read_text(encoding="utf-8").splitlines()):
        raw = part(json.loads(line)["text"], stream("part", number))
        text, reply = Text(raw), Plainly(raw)
        assert text.plain == reply.text, raw
        for id in ALL:
            right, passes, say = agrees(id, text, reply, near(id, reply, stream("real", id, number)))
            assert right, say
            (passed if passes else failed)[id] += 1
    few = {id: (passed[id], failed[id]) for id in ALL if id not in (*PUZZLES, "M2") and min(passed[id], failed[id]) < 1}
    assert not few


@pytest.mark.parametrize("number", range(50))
def test_the_phrase_about_the_reply_itself_is_read_alike(number):
    """M2, which no reply to another task keeps: the phrase between words and blocks, with right and wrong numbers."""
    rng = stream("phrase", number)
    rest = made(number) + "\n\nSo: **this text\ncontains** exactly {} words. " + " ".join(some_words(rng, 3)) + "."
    count = len(Plainly(rest.replace("{}", "1")).words) if "{}" in rest else 0
    for stated in (count, count + 1, count - 1):
        raw = rest.replace("{}", str(stated))
        right, passes, say = agrees("M2", Text(raw), Plainly(raw), {})
        assert right, say
        assert passes == (stated == count and raw.count("exactly") == 1)


@pytest.mark.parametrize("number", range(60))
def test_chains_between_blocks_are_read_alike(number):
    """R4: sentences that link, with blocks between them that hold none, and with one link broken."""
    rng = stream("chain", number)
    words = some_words(rng, int(rng.integers(3, 7)))
    without = [block for block in BLOCKS if not Plainly(block).sentences]
    parts = [f"{one.capitalize()} goes *to* the **{two}**." for one, two in pairwise(words)]
    joints = ["\n\n" + without[int(i)] + "\n\n" for i in rng.integers(len(without), size=len(parts))]
    whole = "".join(part + joint for part, joint in zip(parts, joints, strict=True))
    for raw, linked in ((whole, True), (whole.replace(words[1], "zebra", 1), False), (whole + "Then.", False)):
        right, passes, say = agrees("R4", Text(raw), Plainly(raw), {})
        assert right, say
        assert passes is linked
