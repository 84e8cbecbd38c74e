"""Where sentences end: a table of cases, the bug reports of other projects, and what holds for every text."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cdct
from cdct.text import Text, sentences
from cdct.text.boundaries import ends

SHARED = Path(cdct.__file__).resolve().parents[2] / "shared"
REPLIES = Path(os.environ.get("CDCT_REPLIES") or SHARED / "data" / "real_replies.jsonl")

# A bar stands where a new sentence starts.
CASES = {
    "plain": "Rain fell. |Roads shone! |Who knew? |Nobody…",
    "title": "Dr. Elias met Mrs. Poe and Prof. Lind. |They left.",
    "capitals for titles only": "He did one more rep. |Then he met Gen. Lee.",
    "Latin": "Use salt, e.g. sea salt, i.e. salt vs. Sugar. |It helps.",
    "initials": "J. K. Rowling and J.R.R. Tolkien met Michael C. Hall. |They ate.",
    "a letter at the end": "Take vitamin C. |It helps. |Follow plan B. |Then rest.",
    "the pronoun": "So do I. |Bears do too.",
    "logic": "If P then Q. |P is true.",
    "dotted, lower case": "The U.S. policy began at 5 p.m. and failed.",
    "dotted, capital": "The U.S. Army met at 5 p.m. Monday.",
    "dotted at the end": "He lives in the U.S. |The weather is fine.",
    "dotted behind a hyphen": "The law covers non-U.S. firms and the Japan-U.S. Security pact. |It holds.",
    "time of day": "It is 3 p.m. |Rain fell. |It was 3 a.m. EST and 5 p.m. Friday then.",
    "a letter behind its noun": "Use vitamin D. |Eat fish. |Take (Plan B. |Fish rots). |Ask for D. Poe.",
    "degree": "Ask the Ph.D. student. |She knows.",
    "company": "Acme Inc. and Bolt Ltd. Holdings merged. |It was Acme Inc. |The end.",
    "etc": "Pens, ink, etc. are here. |Bring pens, etc. |Nobody else will.",
    "et al": "Ito et al. (2020) agree with Poe et al. |The rest do not.",
    "numbered abbreviations": "See No. 5, Fig. 2 and p. 7 of Vol. 3. |No. |She left.",
    "month": "On Jan. 5 it snowed. |It went on until Feb. |Ice held.",
    "street": "St. Helier lies there. |He lives on Main St. |The house is red.",
    "versus": "They cite Roe v. Wade often.",
    "decimal": "Pi is 3.14 here. |Version 2.0.1 came out. |It cost $5. |10 people paid.",
    "host": "See docs.example.org now, or https://a.b/?q=1 or me@b.org. |Done.",
    "file": "Open Node.js or main.py. |Then run it.",
    "ellipsis": "Wait... what happened? |Well… nothing. |Hm... |Then it fell. |So . . . what now?",
    "quotes": 'He said “go now.” |She went. |"Stop!" |Nobody did.',
    "reported speech": "\"Why?\" she asked. |'Go!' he cried.",
    "brackets": "It rained (a lot). |(It always does.) |It fell (at last!) and stopped.",
    "interrobang": "What?! |Really!! |The mark (!?) marks it.",
    "lower case starts": "The tide turns. |whisper the truth. |so it goes.",
    "emoji": "Great! 🎉 |Well done!🎉 |Next one.",
    "note numbers": "It is so.[1] |Others differ.[2][3] |More.[4, 5] |End.",
    "notes": "Rain fell.[^1] |Roads shone.[^note] |It ended.¹ |The start.",
    "tags": "<p>A b.</p> |<p>C d.</p> |Rain.<br> |Snow.<br/> |Ice.",
    "factorial": "We know 0! is 1 and (n-1)! and n! are large. |Great! |We sold 100! |50 remain.",
    "letter marker": "a. Stir the pot well.",
    "Japanese": "太陽は地球を回っている。|水は冷たい！|本当？",
    "screenplay": "INT. KITCHEN - DAY",
    "a line end is none": "Rain\nfell on\nthe roof. |Roads\nshone.",
    "no space, no end": "Rain fell.Roads shone.",
    "bold": "**Rain fell.** |_Roads shone._ |Ice *held*.",
    "wordless": "Go home. |... |Home again. |--- |?!",
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_where_sentences_end(text: str) -> None:
    parts = [part.strip() for part in text.replace("**", "").replace("_", "").split("|")]
    expected = [re.sub(r" 🎉$", "", part) for part in parts if re.search(r"\w", part)]
    found = [sentence.removeprefix("🎉 ") for sentence in sentences(text.replace("|", ""))]
    assert found == [part.replace("*held*", "held") for part in expected]


BUGS = [
    ("B024", "nltk/nltk#2376", "Use salt, e.g. sea salt. It helps.", 2),
    ("B027", "nltk/nltk#3370", "Ask the Ph.D. student. She knows.", 2),
    ("B029", "TALP-UPC/FreeLing#91", "Wait... what happened? Nothing.", 2),
    ("B030", "NaturalNode/natural#508", "Pi is 3.14 here. See docs.example.org now. Done.", 3),
    ("B031", "scitix/sieval#105", "He said “go now.” She went.", 2),
    ("B032", "rvben/rumdl#821", "The show ended. 1976 was hot.", 2),
    ("B034", "speedyk-005/yasbd-lib#306", "### 2. Method\nWe begin here.", 1),
    ("P146", "arXiv:2608.12426 App.Q class 3", "See below.\n```\na = 1. b = 2.\n```", 1),
]


@pytest.mark.parametrize(("case", "source", "text", "count"), BUGS, ids=[f"{bug[0]}-{bug[1]}" for bug in BUGS])
def test_counts_of_public_bug_reports(case: str, source: str, text: str, count: int) -> None:
    assert len(sentences(text)) == count


def test_B033_list_numbers_are_no_sentences() -> None:
    """neurosnap/sentences#30."""
    assert sentences("1. Boil water. 2. Add tea.") == ["Boil water.", "Add tea."]
    assert sentences("1. Boil water.\n2. Add tea.") == ["Boil water.", "Add tea."]
    assert sentences("1) Boil water. 2) Add tea.") == ["Boil water.", "Add tea."]
    assert sentences("Steps: (1) Boil water. (2) Add tea.") == ["Steps: Boil water.", "Add tea."]


def test_B036_a_segment_without_a_word_is_no_sentence() -> None:
    """allenai/IFBench#11."""
    text = Text("Go home. ... Home again.")
    assert text.sentence_forms == [["go", "home"], ["home", "again"]]


def test_B038_a_sentence_may_begin_with_a_quote_or_a_bracket() -> None:
    """allenai/open-instruct#1778."""
    text = Text("“Winds rise,” he says. (Waves fall.)")
    assert [words[0] for words in text.sentence_forms] == ["winds", "waves"]


def test_P145_bold_letters_are_letters() -> None:
    """arXiv:2608.12426, appendix Q, class 2."""
    text = Text("**S**un rises. **O**wls sleep.")
    assert [words[0][0] for words in text.sentence_words] == ["S", "O"]


def test_list_items_are_prose_only_if_they_hold_the_end_of_a_sentence() -> None:
    assert sentences("Buy this:\n1. Tea\n2. Dr. Lind's bread\n3. Milk is needed.\nThat is all.") == [
        "Buy this:",
        "Milk is needed.",
        "That is all.",
    ]
    assert sentences("1. Oslo 2. Rome 3. Bern") == []
    assert sentences("I. Oslo\nII. Rome\nIII. Bern is a town.") == ["Bern is a town."]


NUMBERS = {
    "prose": "The first number is 1. |The second number is 2. |The third number is 3.",
    "scores": "We scored 1. |They both scored 2. |Nobody else here scored 3.",
    "sums": "We know that 0 + 1 = 1. |We know that 1 + 1 = 2. |Good.",
    "references": "Use step (1) first. |Use step (2) next.",
    "one colon after another": "Result: 1. |Next result: 2. |Good.",
    "bold": "We scored **1.** |They scored **2.** |Good.",
    "across lines": "We had\n2. |They had\n3. |Good.",
    "brackets": "We saw (all 1) of them. |They saw (all 2) of them.",
}


@pytest.mark.parametrize("text", NUMBERS.values(), ids=NUMBERS)
def test_a_number_at_the_end_of_a_sentence_is_no_list_number(text: str) -> None:
    assert sentences(text.replace("|", "")) == [part.strip() for part in text.replace("**", "").split("|")]


LISTS = [
    ("Steps: 1. Go. 2. Stop.", ["Steps: Go.", "Stop."]),
    ("Steps: 1. go, 2. run, and 3. rest.", ["Steps: go, run, and rest."]),
    ("As follows: 1. P (it rains) 2. Q (it pours)", ["As follows: P (it rains) Q (it pours)"]),
    ("Do this. **1.** Boil it. **2.** Add it.", ["Do this.", "Boil it.", "Add it."]),
    ("First: 1. Go. 2. Run. Then: 1. Sit. 2. Eat.", ["First: Go.", "Run.", "Then: Sit.", "Eat."]),
    ("> 1. Boil. 2. Add.", ["Boil.", "Add."]),
    ("3. There were 4. We ate 5. Then we left.", ["There were 4.", "We ate 5.", "Then we left."]),
    ("1) The team (all 2) left.", ["The team (all 2) left."]),
    ("1. We won 1. They won 2.", ["We won 1.", "They won 2."]),
    ("1. Get home by 5. Then rest", ["Get home by 5.", "Then rest"]),
    ("1. Oslo 2. Rome 3. Bern", []),
    ("1. Oslo\nis cold\n2. Rome is warm.", ["is cold", "Rome is warm."]),
    ("1\\. Boil.\n2\\. Add.", ["Boil.", "Add."]),
]


@pytest.mark.parametrize(("text", "expected"), LISTS)
def test_list_numbers_stand_where_an_item_starts(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_the_plain_rule_of_the_paper_differs_where_the_rules_help() -> None:
    text = "Dr. Elias ate 3.5 pies. “Go.” She went.\n\nA title\n\nThe end"
    assert sentences(text, "paper") == ["Dr.", "Elias ate 3.5 pies.", "“Go.” She went.", "A title\n\nThe end"]
    assert sentences(text) == ["Dr. Elias ate 3.5 pies.", "“Go.”", "She went.", "A title", "The end"]


def test_a_splitter_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match='Text: splitter must be "rules" or "paper", got \'nltk\''):
        Text("Rain.", "nltk")


@pytest.mark.parametrize(
    ("line", "ended"),
    [
        ("Boil water.", True),
        ("Boil water. Add tea", True),
        ("Mr. Lind", False),
        ("Why?**", True),
        ("Tea:", False),
        ("", False),
    ],
)
def test_whether_a_line_holds_an_end(line: str, ended: bool) -> None:
    assert ends(line) is ended


PIECES = st.sampled_from(
    [
        *"aB1. !?…\n\"'”()*_`|-#>,:;",
        "e.g.",
        "Dr.",
        "No.",
        "U.S.",
        "...",
        "\n\n",
        "1. ",
        "- ",
        " 🎉",
        "。",
        "\r\n",
        "e\u0301",
    ]
)
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=60).map("".join))


@given(TEXTS)
def test_sentences_hold_all_words_of_the_prose_in_order(text: str) -> None:
    parsed = Text(text)
    assert [word for words in parsed.sentence_words for word in words] == [
        word for word in parsed.prose.split() if any(map(str.isalnum, word))
    ] or any(mark in text for mark in "。！？")
    assert all(parsed.sentence_words)
    assert [len(words) for words in parsed.sentence_words] == [len(forms) for forms in parsed.sentence_forms]
    assert [s.text for p in parsed.paragraphs for s in p.sentences] == [s.text for s in parsed.sentences]


@given(st.lists(st.sampled_from(["Rain fell.", "Who knew?", "Stop!", "Dr. Lind left at 5 p.m. sharp."]), min_size=1))
def test_sentences_add_up(parts: list[str]) -> None:
    assert sentences(" ".join(parts)) == parts
    assert sentences("\n\n".join(parts)) == parts


@pytest.mark.skipif(not REPLIES.exists(), reason="the real replies are not here")
def test_real_replies_lose_no_word_between_sentences() -> None:
    for line in REPLIES.read_text(encoding="utf-8").splitlines()[::7]:
        text = Text(json.loads(line)["text"] or "")
        assert sum(map(len, text.sentence_words)) <= len(text.words)
        assert all(text.prose_span(*s.place) == s.span for s in text.sentences)
