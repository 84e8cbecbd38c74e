"""S1-S6, the shape of the whole reply: words, sentences, paragraphs, characters, lines and mirrored lengths."""

from __future__ import annotations

from cdct.core import Verdict
from cdct.saturation.constraints.base import (
    constraint,
    count_score,
    counted,
    listed,
    number_of,
    off_count,
    share,
    spans_of,
    whole,
)
from cdct.text import Span, Text


@constraint("S1", "Exact word count", {"n": whole(range(40, 61))})
def exact_word_count(text: Text, n: int) -> Verdict:
    """Your whole reply must contain exactly {n:word}. A word is whatever stands between two spaces or line breaks and
    has at least one letter or digit: ‘state-of-the-art’ and ‘don’t’ are one word each, a dash by itself is none.

    Score: 1 - |words - n| / n, not below 0. Range: the paper's 40 to 60 (section 3.2), one short paragraph.
    """
    detail = f"{number_of(len(text.words), 'word')}, {n} wanted"
    return Verdict.of(count_score(len(text.words), n), detail, lambda: off_count(text.word_spans, n))


exact_word_count.passes("Rain fell all night - roads shone.", n=6)
exact_word_count.passes("A state-of-the-art tool, isn't it?", n=5)
exact_word_count.fails("Rain fell all night.", n=5)
exact_word_count.fails("Rain fell all through the night.", n=5)


@constraint("S2", "Exact sentence count", {"n": whole(range(3, 7))}, version="2")
def exact_sentence_count(text: Text, n: int) -> Verdict:
    """Your reply must contain exactly {n:sentence}. A sentence ends at a full stop, question mark or exclamation mark,
    or with its paragraph. Headings, bullet items, tables, code blocks and JSON are no sentences; numbered lines are
    sentences only where they have an end mark, and their numbers are no words.

    Score: 1 - |sentences - n| / n, not below 0. Range: 3 to 6; the other types that fix a number of sentences (S6, L4,
    M1) draw from 3 to 7, so that they can meet in one probe.
    """
    return counted(text.sentences, n, "sentence")


exact_sentence_count.passes("Rain fell. Roads shone! Why?", n=3)
exact_sentence_count.passes("Mix in, e.g., salt. It helps.\n\n- one. two.\n- three.", n=2)
exact_sentence_count.fails("Rain fell. Roads shone.", n=3)
exact_sentence_count.fails("Rain fell. Roads shone. Snow came. Ice held.", n=3)


@constraint(
    "S3", "Paragraph structure", {"paragraphs": whole(range(2, 4)), "min_sentences": whole(range(2, 3))}, version="2"
)
def paragraph_structure(text: Text, paragraphs: int, min_sentences: int) -> Verdict:
    """Write exactly {paragraphs:paragraph}, with a blank line between one and the next. Each must have at least
    {min_sentences:sentence}. Headings, bullet items, tables, code blocks and JSON are no sentences; numbered lines are
    sentences only where they have an end mark, and their numbers are no words. What holds no sentence is no paragraph.

    Score: 1 - |found - wanted| / wanted, not below 0, times the share of paragraphs with enough sentences. Range: 2 or
    3 paragraphs of 2 sentences, so that at least 4 to 6 sentences stand; three of 3 would rule out most sentence
    counts.
    """
    found = text.paragraphs
    short = [paragraph for paragraph in found if len(paragraph.sentences) < min_sentences]
    score = count_score(len(found), paragraphs) * share(len(found) - len(short), len(found))
    detail = f"{number_of(len(found), 'paragraph')}, {paragraphs} wanted; {len(short)} with fewer than "
    detail += number_of(min_sentences, "sentence")
    wrong = {id(unit): unit for unit in [*short, *off_count(found, paragraphs)]}
    return Verdict.of(score, detail, spans_of(list(wrong.values())))


paragraph_structure.passes("Rain fell. Roads shone.\n\nSnow came. Ice held.", paragraphs=2, min_sentences=2)
paragraph_structure.passes("# Weather\n\nRain fell.\n\n***\n\n\nSnow came. Ice held.", paragraphs=2, min_sentences=1)
paragraph_structure.fails("Rain fell. Roads shone.\n\nSnow came.", paragraphs=2, min_sentences=2)
paragraph_structure.fails("Rain fell. Roads shone.\nSnow came. Ice held.", paragraphs=2, min_sentences=2)


@constraint("S4", "Exact character count", {"n": whole(range(200, 401))}, wordless=True, version="2")
def exact_character_count(text: Text, n: int) -> Verdict:
    """Your reply must be exactly {n:character} long. Spaces, punctuation and line breaks count, one each; asterisks,
    underscores and backticks that only mark emphasis, number signs of headings with the blank behind them, and white
    space around the reply do not.

    Characters are Unicode code points in form NFC. Score: 1 - |characters - n| / n, not below 0. Range: 200 to 400,
    what 40 to 60 words need, with room for a table or JSON.
    """
    found = text.characters

    def wrong() -> list[Span]:
        return [text.plain_span(min(n, found - 1), found)] if found != n else []

    return Verdict.of(count_score(found, n), f"{number_of(found, 'character')}, {n} wanted", wrong)


exact_character_count.passes("Rain **fell**.\n", n=10)
exact_character_count.passes("Nai\u0308f.\r\nYes", n=9)
exact_character_count.fails("Rain fell.", n=9)
exact_character_count.fails("Rain fell.", n=11)


@constraint("S5", "Exact line count", {"n": whole(range(3, 11))}, wordless=True, version="2")
def exact_line_count(text: Text, n: int) -> Verdict:
    """Your reply must have exactly {n:line} that are not empty. Lines of lists, tables and code blocks count as well,
    the ones that open and close a code block too; a line of nothing but the number signs of a heading is empty.

    Score: 1 - |lines - n| / n, not below 0. Range: 3 to 10, from a few sentences on lines of their own to a table
    with a list.
    """
    return counted(text.lines, n, "line")


exact_line_count.passes("Rain\n\n\nSnow\n \nIce", n=3)
exact_line_count.passes("Code:\n```\nx = 1\n```", n=4)
exact_line_count.fails("Rain\nSnow", n=3)
exact_line_count.fails("Rain\nSnow\nIce\nFog", n=3)


@constraint("S6", "Palindromic sentence structure", {"n": whole((3, 5, 7), least=2)}, version="2")
def palindromic_sentence_structure(text: Text, n: int) -> Verdict:
    """Write exactly {n:sentence} whose lengths read the same forwards and backwards: the first sentence has as many
    words as the last, the second as many as the last but one, and so on towards the middle. A word is whatever stands
    between two spaces or line breaks and has at least one letter or digit. Headings, bullet items, tables, code blocks
    and JSON are no sentences; numbered lines are sentences only where they have an end mark, and their numbers are no
    words.

    Score: the share of mirrored pairs with equal lengths (the paper's case study: one of three is 0.33), times 1 -
    |sentences - n| / n, not below 0. Pairs are those of the sentences that there are. A pair that is a copy passes, as
    the rule is written, and is flagged `mirror_copies` (paper, section S). Range: 3, 5, 7, odd as in the paper.
    """
    lengths = text.sentence_lengths
    found, pairs = len(lengths), len(lengths) // 2
    unequal = [i for i in range(pairs) if lengths[i] != lengths[-1 - i]]
    forms = text.sentence_forms
    copies = any(forms[i] == forms[-1 - i] for i in range(pairs))
    detail = f"{number_of(found, 'sentence')}, {n} wanted, of {listed(lengths)} words; {pairs - len(unequal)} of "
    detail += f"{number_of(pairs, 'pair')} equal"

    def wrong() -> list[Span]:
        places = {*unequal, *(found - 1 - i for i in unequal), *off_count(range(found), n)}
        return [text.sentences[i].span for i in sorted(places)]

    score = share(pairs - len(unequal), pairs) * count_score(found, n)
    return Verdict.of(score, detail, wrong, ("mirror_copies",) if copies else ())


palindromic_sentence_structure.passes("Birds sing now. Rain. Frogs croak too.", n=3)
palindromic_sentence_structure.passes("Go. Stay here. Now wait a bit. Rest there. Sleep.", n=5)
palindromic_sentence_structure.fails("Birds sing now. Rain. Frogs croak.", n=3)
palindromic_sentence_structure.fails("Birds sing. Frogs croak.", n=3)
