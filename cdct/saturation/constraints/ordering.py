"""O1-O4, the lengths and the first words of sentences in their order."""

from __future__ import annotations

import operator
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

from cdct.core import Verdict
from cdct.saturation.constraints.base import constraint, listed, number_of, one_of, quoted, share, whole
from cdct.text import Span, Text

FEWEST = 3
"""Two sentences are in every order but one, and both increase and alternate (paper, figure 4)."""


def in_order(
    text: Text, wrong: Sequence[int], of: int, detail: str, fewest: int = FEWEST, word: int | None = None
) -> Verdict:
    """The verdict on `of` places, of which those at the sentences with the numbers `wrong` are not as they should be.

    The score is the share of right places. Where there are fewer sentences than `fewest` it is cut in proportion, and
    a reply that would have passed without that rule is flagged `too_few_sentences`. The spans are the wrong sentences,
    or only their words with the number `word`.
    """
    found = len(text.sentences)
    score = share(of - len(wrong), of) * min(found, fewest) / fewest
    flags = ("too_few_sentences",) if 0 < found < fewest and not wrong else ()
    if found < fewest:
        detail += f"; {number_of(found, 'sentence')}, at least {fewest} wanted"
        wrong = wrong or range(max(0, found - 1), found)
    if word is None:
        return Verdict.of(score, detail, lambda: [text.sentences[i].span for i in wrong], flags)
    return Verdict.of(score, detail, lambda: [text.sentence_word_spans(i)[word] for i in wrong], flags)


@constraint("O1", "Monotonic sentence lengths", {"direction": one_of(("increasing", "decreasing"))}, version="2")
def monotonic_sentence_lengths(text: Text, direction: str) -> Verdict:
    """Write at least three sentences whose lengths in words are strictly {direction}: no sentence may be as long as the
    one before it, and all changes go the same way. A word is whatever stands between two spaces or line breaks and has
    at least one letter or digit. Headings, bullet items, tables, code blocks and JSON are no sentences; numbered lines
    are sentences only where they have an end mark, and their numbers are no words.

    Score: the share of neighbours in order, cut to one or two thirds for one or two sentences, which alone pass
    nothing; they are flagged `too_few_sentences` where the paper's rule would let them pass. Both directions are drawn.
    """
    lengths = text.sentence_lengths
    right = operator.lt if direction == "increasing" else operator.gt
    wrong = [i for i, (one, two) in enumerate(pairwise(lengths), 1) if not right(one, two)]
    pairs = max(0, len(lengths) - 1)
    detail = f"{direction} neighbours: {pairs - len(wrong)} of {pairs}; words by sentence: {listed(lengths) or 'none'}"
    return in_order(text, wrong, pairs, detail)


monotonic_sentence_lengths.passes("Go. Go on. Go on now.", direction="increasing")
monotonic_sentence_lengths.passes("Rain fell all day. Dr. Li slept.\n\n- one\n\nSnow came.", direction="decreasing")
monotonic_sentence_lengths.fails("Go. Go on. See it.", direction="increasing")
monotonic_sentence_lengths.fails("Go. Go on.", direction="increasing")


@constraint("O2", "Alphabetical sentences", {}, version="2")
def alphabetical_sentences(text: Text) -> Verdict:
    """Write at least three sentences whose first words stand in alphabetical order, from A to Z. Equal first words may
    follow each other; capitals, accents and the punctuation around a word do not matter. Headings, bullet items,
    tables, code blocks and JSON are no sentences; numbered lines are sentences only where they have an end mark, and
    their numbers are no words.

    Score: the share of neighbours in order, cut to one or two thirds for one or two sentences, which alone pass
    nothing; they are flagged `too_few_sentences` where the paper's rule would let them pass. A digit comes before every
    letter.
    """
    first = [words[0] for words in text.sentence_forms]
    keys = [word if word.isascii() else _unaccented(word) for word in first]
    wrong = [i for i, (one, two) in enumerate(pairwise(keys), 1) if one > two]
    pairs = max(0, len(keys) - 1)
    detail = f"neighbours in order: {pairs - len(wrong)} of {pairs}; first words: {listed(first, quoted) or 'none'}"
    return in_order(text, wrong, pairs, detail, word=0)


def _unaccented(word: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFD", word) if not unicodedata.combining(char))


alphabetical_sentences.passes("Ants dig. “Bees” fly. Bees sting. Cats doze.")
alphabetical_sentences.passes("1. Boil water.\n2. Élan helps.\n3. Fill it up.")
alphabetical_sentences.fails("Ants dig. Cats doze. Bees fly.")
alphabetical_sentences.fails("Ants dig. Bees fly.")


@constraint(
    "O3",
    "Alternating length",
    {"short": whole(range(6, 9)), "long": whole(range(12, 16))},
    rule=lambda short, long: "" if short < long else f"short must be below long, got {short} and {long}",
    version="2",
)
def alternating_length(text: Text, short: int, long: int) -> Verdict:
    """Write at least three sentences, short and long ones in turn: the first, the third and so on with at most
    {short:word}, the second, the fourth and so on with at least {long:word}. A word is whatever stands between two
    spaces or line breaks and has at least one letter or digit. Headings, bullet items, tables, code blocks and JSON are
    no sentences; numbered lines are sentences only where they have an end mark, and their numbers are no words.

    Score: the share of sentences in place, cut to one or two thirds for one or two sentences, which alone pass nothing;
    they are flagged `too_few_sentences` where the paper's rule would let them pass. Range: at most 6 to 8 and at least
    12 to 15 words, either side of the usual sentence; a shorter limit would rule out W3.
    """
    lengths = text.sentence_lengths
    wrong = [i for i, length in enumerate(lengths) if (length < long if i % 2 else length > short)]
    detail = f"sentences in place: {len(lengths) - len(wrong)} of {len(lengths)}"
    detail += f"; words by sentence: {listed(lengths) or 'none'}"
    return in_order(text, wrong, len(lengths), detail)


alternating_length.passes("Go on. Take the long way home. Rest.", short=2, long=5)
alternating_length.passes("Go. Take it all the way. Rest. Then try - once more.\n\n# The end of it", short=1, long=4)
alternating_length.fails("Take the long way home. Rest. Take the short way back.", short=2, long=5)
alternating_length.fails("Go on. Take the long way home.", short=2, long=5)


@constraint("O4", "Fibonacci-style growth", {"n": whole(range(3, 5), least=3)}, version="2")
def fibonacci_style_growth(text: Text, n: int) -> Verdict:
    """Somewhere in your reply there must be {n:sentence} in a row of which each, from the third one on, has more words
    than the two before it have together. A word is whatever stands between two spaces or line breaks and has at least
    one letter or digit. Headings, bullet items, tables, code blocks and JSON are no sentences; numbered lines are
    sentences only where they have an end mark, and their numbers are no words.

    Score: the sentences in a row that outgrow the two before them, at best, over the n - 2 wanted; so two sentences
    score 0. The span is the sentence that ends the longest such row. Range: 3 or 4; a row of five has at least 7 words
    in its fourth and 12 in its fifth sentence, which rules out most other orders of lengths.
    """
    lengths = text.sentence_lengths
    best = row = last = 0
    for i in range(2, len(lengths)):
        row = row + 1 if lengths[i] > lengths[i - 1] + lengths[i - 2] else 0
        if row > best:
            best, last = row, i
    detail = f"{number_of(best, 'sentence')} in a row longer than the two before, {n - 2} wanted"
    detail += f"; words by sentence: {listed(lengths) or 'none'}"

    def wrong() -> list[Span]:
        if best >= n - 2 or not lengths:
            return []
        return [text.sentences[min(max(last, 1) + 1, len(lengths) - 1)].span]

    return Verdict.of(min(1.0, best / (n - 2)), detail, wrong)


fibonacci_style_growth.passes("Go. Go. Go on now.", n=3)
fibonacci_style_growth.passes("Rain fell all day. Go. Go. Go on now. Then take the long way home. Rest.", n=4)
fibonacci_style_growth.fails("Go. Go. Go on.", n=3)
fibonacci_style_growth.fails("Go. Go. Go on now. Then take it home.", n=4)
