"""M1-M3, properties of the reply that are defined by the reply itself: its last words and its own word count."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from cdct.core import Verdict
from cdct.saturation.constraints.base import (
    constraint,
    count_score,
    listed,
    number_of,
    quoted,
    share,
    spelling,
    whole,
)
from cdct.saturation.constraints.vocabulary import vocabulary
from cdct.text import Span, Text

_CLAIM = re.compile(
    r"\bthis\s++text\s++contains\s++exactly\s++([0-9]{1,9}+|[1-9][0-9]{0,2}+(?:,[0-9]{3}){1,2})\s++words\b",
    re.IGNORECASE,
)


@constraint("M1", "Terminal acrostic", {"word": spelling(lambda: vocabulary("acrostics"))}, version="2")
def terminal_acrostic(text: Text, word: str) -> Verdict:
    """The first letters of the last words of your sentences, read in order, must spell {word}: one sentence for each
    letter and no further ones. Capitals and small letters are alike. Headings, bullet items, tables, code blocks and
    JSON are no sentences; numbered lines are sentences only where they have an end mark, and their numbers are no
    words.

    Score: the share of letters in place among the letters or the sentences, whichever are more. Choice: common words of
    3 to 6 letters without one that few words begin with, the same as in L4.
    """
    found = "".join([words[-1][0] for words in text.sentence_forms])
    wrong = [i for i, initial in enumerate(found) if initial != word[i : i + 1]]
    shown = found[:24].upper() + ("…" if len(found) > 24 else "")
    detail = (
        f"the last words of {number_of(len(found), 'sentence')} spell {quoted(shown)}, {quoted(word.upper())} wanted"
    )
    score = share(len(found) - len(wrong), max(len(found), len(word)))
    if len(found) < len(word) and not wrong:
        wrong = list(range(len(found)))[-1:]
    return Verdict.of(score, detail, partial(_last_words, text, wrong))


def _last_words(text: Text, sentences: Sequence[int]) -> list[Span]:
    return [text.sentence_word_spans(i)[-1] for i in sentences]


terminal_acrostic.passes("We saw the sun. It shone on the **Old** oak. Then came night!", word="SON")
terminal_acrostic.passes("He said “stop.” I did (once).\n\n- not a sentence", word="so")
terminal_acrostic.fails("We saw the sun. It shone on the oak. Then came night. Rain fell.", word="SON")
terminal_acrostic.fails("Sun rises. Owls sleep.", word="so")


@constraint("M2", "Self-referential count", {}, version="2")
def self_referential_count(text: Text) -> Verdict:
    """Your reply must contain the phrase ‘This text contains exactly X words’, in which X stands for the number of
    words of your whole reply, the phrase included, written in digits. A word is whatever stands between two spaces or
    line breaks and has at least one letter or digit.

    Capitals, emphasis and line breaks in the phrase do not matter. Score: 1 - |words - X| / X, not below 0; 0 without
    the phrase. Where it occurs more than once, all must be right: the worst counts, so trying many numbers is no help.
    """
    claims = list(_CLAIM.finditer(text.plain)) if "exactly" in text.plain.lower() else []
    if not claims:
        return Verdict.of(0.0, "the phrase does not occur")
    found = len(text.words)
    stated = [int(claim[1].replace(",", "")) for claim in claims]
    score = min(count_score(found, number) if number else 0.0 for number in stated)
    detail = f"{number_of(found, 'word')}, {listed(stated)} stated"

    def wrong() -> list[Span]:
        pairs = zip(claims, stated, strict=True)
        return [text.plain_span(*claim.span(1)) for claim, number in pairs if number != found]

    return Verdict.of(score, detail, wrong)


self_referential_count.passes("This text contains exactly 6 words.")
self_referential_count.passes("Indeed - this text\ncontains exactly **7** words!")
self_referential_count.fails("This text contains exactly 7 words.")
self_referential_count.fails("This text contains exactly six words.")


@constraint("M3", "Word count divisibility", {"n": whole(range(3, 8))})
def word_count_divisibility(text: Text, n: int) -> Verdict:
    """The number of words of your whole reply must be divisible by {n}. A word is whatever stands between two spaces or
    line breaks and has at least one letter or digit: ‘state-of-the-art’ and ‘don’t’ are one word each, a dash by itself
    is none.

    Score: 1 - the distance to the nearest multiple of n / (n / 2), so that the farthest possible count scores 0. No
    part of the reply offends, so there are no spans. Range: 3 to 7, met by chance in one reply of three to seven.
    """
    found = len(text.words)
    rest = found % n
    far = min(rest, n - rest) if found > rest else n - rest  # no multiple below n: none is 0
    detail = f"{number_of(found, 'word')}, {number_of(rest, 'word')} over a multiple of {n}"
    return Verdict.of(max(0.0, (n - 2 * far) / n) if rest else 1.0, detail)


word_count_divisibility.passes("Rain fell all night - roads shone.", n=3)
word_count_divisibility.passes("A state-of-the-art tool, isn't it?", n=5)
word_count_divisibility.fails("Rain fell all night.", n=3)
word_count_divisibility.fails("Rain fell.", n=4)
