"""W1-W5, rules that every word, every pair of words or every sentence must keep."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any

from cdct.core import Verdict
from cdct.saturation.constraints.base import constraint, listed, number_of, quoted, share, spans_of, whole
from cdct.text import Span, Text

CONSONANTS = "bcdfghjklmnpqrstvwxz"
_KINDS = bytes(ord("c" if chr(i) in CONSONANTS else " " if i == 32 else "v") for i in range(256))
_CLUSTER = re.compile(rb"ccc[^ ]*+")
"""Three consonants in a row, and the rest of the word: a word counts once."""


def _sentences(text: Text, wrong: Sequence[int]) -> Callable[[], list[Span]]:
    return spans_of([text.sentences[i] for i in wrong])


@constraint("W1", "Unique words", {}, version="2")
def unique_words(text: Text) -> Verdict:
    """No word may occur twice in your whole reply. Words are compared without regard to capitals and to the punctuation
    around them; a word is whatever stands between two spaces or line breaks and has at least one letter or digit.

    Score: distinct words over all words. Escapes such as \\u0061 or &#97; are read as what they stand for before
    words are compared; a reply that is unique only because of them is flagged `escape_sequences` (paper, appendix Q).
    """
    forms = text.decoded_forms
    times = Counter(forms)
    detail = f"distinct words: {len(times)} of {len(forms)}"
    if len(times) == len(forms) > 0:
        return Verdict.of(1.0, detail)
    detail += f", repeated {listed(_repeated(times), quoted)}" if forms else ""
    disguised = forms is not text.forms and len(set(text.forms)) == len(text.forms)
    flags = ("escape_sequences",) if disguised else ()
    return Verdict.of(share(len(times), len(forms)), detail, partial(_again, text), flags)


def _repeated(times: Counter[Any]) -> list[Any]:
    """What occurs more than once, in the order of the reply."""
    return [thing for thing, count in times.items() if count > 1]


def _again(text: Text) -> list[Span]:
    """The spans of the words that stood before."""
    found, seen = [], set()
    escapes = text.decoded_forms is not text.forms
    for word, form, span in zip(text.words, text.forms, text.word_spans, strict=True):
        forms = Text(word).decoded_forms if escapes else [form]
        if not seen.isdisjoint(forms) or len(set(forms)) < len(forms):
            found.append(span)
        seen.update(forms)
    return found


unique_words.passes("Blue sky, calm sea.")
unique_words.passes("A state-of-the-art idea; an art | - |")
unique_words.fails("Blue sky, BLUE sea.")
unique_words.fails(r"It was w\u0061s.")


@constraint(
    "W2",
    "Word length range",
    {"low": whole(range(1, 3)), "high": whole(range(8, 11))},
    rule=lambda low, high: "" if low <= high else f"low must not be above high, got {low} and {high}",
    version="2",
)
def word_length_range(text: Text, low: int, high: int) -> Verdict:
    """Every word of your reply must have at least {low:character} and at most {high:character}. Punctuation around a
    word is not counted, hyphens and apostrophes inside it are.

    Score: the share of words in the range. Range: from 1 or 2 to 8, 9 or 10, as in the paper's example; a lower bound
    of 3 forbids most function words.
    """
    words = text.bare
    wrong = [word for word in words if not low <= len(word) <= high]
    detail = f"words of {low} to {high} characters: {len(words) - len(wrong)} of {len(words)}"
    detail += f", not {listed(wrong, quoted)}" if wrong else ""

    def spans() -> list[Span]:
        return [span for word, span in zip(words, text.word_spans, strict=True) if not low <= len(word) <= high]

    return Verdict.of(share(len(words) - len(wrong), len(words)), detail, spans)


word_length_range.passes("Rain (heavy) fell, I think...", low=1, high=5)
word_length_range.passes("Well-kept roads shone.", low=5, high=9)
word_length_range.fails("Well-kept roads shone.", low=5, high=8)
word_length_range.fails("I think so.", low=2, high=8)


@constraint("W3", "Minimum sentence words", {"n": whole(range(5, 9))}, version="2")
def minimum_sentence_words(text: Text, n: int) -> Verdict:
    """Every sentence of your reply must have at least {n:word}. A word is whatever stands between two spaces or line
    breaks and has at least one letter or digit. Headings, bullet items, tables, code blocks and JSON are no sentences;
    numbered lines are sentences only where they have an end mark, and their numbers are no words.

    Score: the share of sentences that do. Range: 5 to 8; more would clash with the short sentences of O3 and with W1.
    """
    lengths = text.sentence_lengths
    wrong = [i for i, length in enumerate(lengths) if length < n]
    detail = f"sentences of at least {number_of(n, 'word')}: {len(lengths) - len(wrong)} of {len(lengths)}"
    return Verdict.of(share(len(lengths) - len(wrong), len(lengths)), detail, _sentences(text, wrong))


minimum_sentence_words.passes("Rain fell on the roofs. All the roads shone brightly.", n=5)
minimum_sentence_words.passes("Dr. Li saw it - twice. It was a cat.\n\n- one", n=4)
minimum_sentence_words.fails("Rain fell on the roofs. The roads shone brightly.", n=5)
minimum_sentence_words.fails("- Rain fell on the roofs.", n=3)


@constraint("W4", "No repeated bigrams", {}, version="2")
def no_repeated_bigrams(text: Text) -> Verdict:
    """No two words may stand next to each other, in the same order, more than once. Pairs lie within one sentence;
    words are compared without regard to capitals and to the punctuation around them. Headings, bullet items, tables,
    code blocks and JSON are no sentences; numbered lines are sentences only where they have an end mark, and their
    numbers are no words.

    Score: distinct pairs over all pairs of the sentences; a reply without a pair scores 0.
    """
    times = Counter(chain.from_iterable(map(pairwise, text.sentence_forms)))
    distinct, pairs = len(times), times.total()
    detail = f"distinct pairs: {distinct} of {pairs}"
    if distinct < pairs:
        detail += f", repeated {listed(_repeated(times), lambda pair: quoted(' '.join(pair)))}"
    return Verdict.of(share(distinct, pairs), detail, partial(_pairs_again, text))


def _pairs_again(text: Text) -> list[Span]:
    """The spans of the pairs that stood before."""
    found, seen = [], set()
    for i, words in enumerate(text.sentence_forms):
        pairs = list(pairwise(words))
        spans = text.sentence_word_spans(i) if pairs else []
        for j, pair in enumerate(pairs):
            if pair in seen:
                found.append((spans[j][0], spans[j + 1][1]))
            seen.add(pair)
    return found


no_repeated_bigrams.passes("Rain came. Came rain. Rain. Came snow?")
no_repeated_bigrams.passes("We go home. Home we stay.\n\n- we go home")
no_repeated_bigrams.fails("The sun sets. At noon, THE SUN burns.")
no_repeated_bigrams.fails("Rain.")


@constraint("W5", "Consonant cluster density", {"n": whole(range(1, 3))}, version="2")
def consonant_cluster_density(text: Text, n: int) -> Verdict:
    """Every sentence of your reply must have at least {n:word} with three or more consonants in a row, as in ‘strong’,
    ‘branch’ or ‘simple’. The vowels are a, e, i, o, u and, here, y; two consonants in a row are not enough. Headings,
    bullet items, tables, code blocks and JSON are no sentences; numbered lines are sentences only where they have an
    end mark, and their numbers are no words.

    Score: the share of sentences that do. Only the letters from a to z count. Range: 1 or 2, which about 7 and 4 of 10
    sentences of unconstrained model prose have; one in 50 has 6, the number of the paper's figure 4.
    """
    kinds = [" ".join(words).encode("ascii", "replace").translate(_KINDS) for words in text.sentence_forms]
    counts = [len(_CLUSTER.findall(sentence)) for sentence in kinds]
    wrong = [i for i, count in enumerate(counts) if count < n]
    detail = f"sentences with at least {number_of(n, 'such word')}: {len(counts) - len(wrong)} of {len(counts)}"
    detail += f"; such words by sentence: {listed(counts)}" if counts else ""
    return Verdict.of(share(len(counts) - len(wrong), len(counts)), detail, _sentences(text, wrong))


consonant_cluster_density.passes("Strong winds blow. The BRANCH fell.", n=1)
consonant_cluster_density.passes("A simple branch, a strong string.", n=4)
consonant_cluster_density.fails("Strong winds blow. A hand felt it.", n=1)
consonant_cluster_density.fails("A rhyme in my style. Type it.", n=1)
