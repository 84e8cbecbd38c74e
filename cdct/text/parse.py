"""The parse of a reply: every view and unit, read when it is first asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from cdct.text.blocks import Blocks, Bullet, Fence, Table
from cdct.text.boundaries import split, split_plainly
from cdct.text.lists import Numbered, numbered
from cdct.text.numbers import Equation, Integer, equations, integers
from cdct.text.objects import Json, json_objects
from cdct.text.spans import Clean, Span, Spans, Unit, View
from cdct.text.tokens import WORDLIKE, bare_forms, folded, has_digit, split_words, word_forms
from cdct.text.views import Prose, plain_holes, plain_view, prose, unstructured

_MARKS = "*_`#|{~>"
_LINE_MARK = re.compile(r"\n[ \t]*+(?:[-+=•◦▪‣]|\(?[0-9]|[IVX]{1,5}[.)])")
_LIST_NUMBER = re.compile(r"[0-9][.)]\s")
_ESCAPE = re.compile(
    r"\\(?:u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2}))|&#?\w{1,31};"
)
_TOKEN = re.compile(r"\S+")
SPLITTERS = ("rules", "paper")


class _once:
    """An attribute that is computed when it is first read: what `functools.cached_property` does with a slow lock."""

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self._compute, self._name, self.__doc__ = compute, compute.__name__, compute.__doc__

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self
        return owner.__dict__.setdefault(self._name, self._compute(owner))


class Paragraph(Unit):
    """A paragraph of prose with its `sentences`."""

    __slots__ = ("sentences",)


class Text:
    """A reply, and everything that can be counted in it. Each attribute is read once, when it is first asked for.

    Strings: `raw` is the reply; `clean` has normal form (NFC, line feeds, no outer white space); `plain` lacks
    emphasis marks and heading hashes as well; `prose` is `plain` without fences, tables, JSON objects, bullet items,
    headings, thematic breaks, list numbers and numbered lines that hold no end of a sentence.

    A unit (`cdct.text.spans.Unit`) has a `text` and, computed when asked, its `span` in the reply: half-open code-point
    offsets. With `splitter="paper"` sentences end at . ! ? before white space and nowhere else (paper, appendix Q),
    to measure what the choice changes. All of it takes linear time, never raises, and depends on nothing but the
    reply.
    """

    def __init__(self, reply: str, splitter: str = "rules") -> None:
        if splitter not in SPLITTERS:
            raise ValueError(f'Text: splitter must be "rules" or "paper", got {splitter!r}')
        self.raw = reply
        self.splitter = splitter

    @classmethod
    def of(cls, reply: str | Text, splitter: str = "rules") -> Text:
        """The parse of a reply; one that is already parsed is passed on as it is."""
        return reply if isinstance(reply, Text) else cls(reply, splitter)

    # ------------------------------------------------------------------------------------------------------------ views

    @_once
    def _clean(self) -> Clean:
        return Clean(self.raw)

    @_once
    def _blocks(self) -> Blocks | None:
        """The blocks, or None where there is nothing that could make one."""
        text = self._clean.text
        structured = any(map(text.__contains__, _MARKS)) or _LINE_MARK.search("\n" + text)
        structured = structured or (has_digit(text) and _LIST_NUMBER.search(text))
        return Blocks(self._clean) if structured else None

    @_once
    def _holes(self) -> list[Span]:
        return plain_holes(self._clean, self._blocks, self.json_objects) if self._blocks else []

    @_once
    def _plain(self) -> Clean | View:
        return plain_view(self._clean, self._holes)

    @_once
    def _prose(self) -> Prose:
        if not self._blocks:
            return unstructured(self._clean)
        return prose(self._clean, self._blocks, self.json_objects, self._holes)

    @_once
    def clean(self) -> str:
        return self._clean.text

    @_once
    def plain(self) -> str:
        return self._plain.text

    @_once
    def prose(self) -> str:
        return self._prose.view.text

    @_once
    def folded(self) -> str:
        """The plain view as letters and words are compared in it. A few characters become two or three."""
        return folded(self.plain)

    @_once
    def characters(self) -> int:
        """The number of code points of the plain view."""
        return len(self.plain)

    def plain_span(self, start: int, end: int) -> Span:
        """The span of `plain[start:end]` in the reply."""
        return self._plain.span(start, end)

    def prose_span(self, start: int, end: int) -> Span:
        """The span of `prose[start:end]` in the reply."""
        return self._prose.view.span(start, end)

    # ------------------------------------------------------------------------------------------------------------ words

    @_once
    def has_word(self) -> bool:
        """Whether the plain view has a letter or digit."""
        return any(map(str.isalnum, self.plain))

    @_once
    def _words(self) -> tuple[list[str], list[str]]:
        return split_words(self.plain)

    @_once
    def words(self) -> list[str]:
        """The words of the plain view with the punctuation that touches them."""
        return self._words[0]

    @_once
    def bare(self) -> list[str]:
        """The words without outer punctuation, in their own case."""
        return self._words[1]

    @_once
    def forms(self) -> list[str]:
        """The words as they are compared."""
        return bare_forms(self.bare)

    @_once
    def decoded_forms(self) -> list[str]:
        r"""The compared forms of the words, escapes like \u0070, \x70, &#112; and &amp; read as what they stand for."""
        plain = self.plain
        if "\\" not in plain and "&" not in plain:
            return self.forms
        decoded = _ESCAPE.sub(_decoded, plain)
        return self.forms if decoded == plain else word_forms(decoded)

    @_once
    def word_spans(self) -> Sequence[Span]:
        """The spans of the words in the reply."""
        return _spans(self._plain, 0, len(self.plain))

    # -------------------------------------------------------------------------------------------------------- sentences

    @_once
    def paragraphs(self) -> list[Paragraph]:
        """The paragraphs of prose that hold a word, each with its sentences."""
        view, found = self._prose.view, []
        own_sentences: dict[int, list[Unit]] = {}
        starts = [start for start, _ in self._prose.paragraphs]
        number = 0
        for sentence in self.sentences:
            while number + 1 < len(starts) and starts[number + 1] <= sentence.place[0]:
                number += 1
            own_sentences.setdefault(number, []).append(sentence)
        for number, own in own_sentences.items():
            paragraph = Paragraph(view, *self._prose.paragraphs[number])
            paragraph.sentences = own
            found.append(paragraph)
        return found

    @_once
    def sentences(self) -> list[Unit]:
        """The sentences of the prose view."""
        view, paragraphs, breaks = self._prose
        if self.splitter == "paper":
            return [Unit(view, start, end) for start, end in split_plainly(view.text)]
        found: list[Unit] = []
        due = 0
        for start, end in paragraphs:
            while due < len(breaks) and breaks[due] < end:
                if breaks[due] > start:
                    found += [Unit(view, *span) for span in split(view.text, start, breaks[due])]
                    start = breaks[due]
                due += 1
            found += [Unit(view, *span) for span in split(view.text, start, end)]
        return found

    @_once
    def _sentence_words(self) -> tuple[list[list[str]], list[list[str]]]:
        words = [sentence.text.split() for sentence in self.sentences]
        if self.prose == self.plain and sum(map(len, words)) == len(self.words):  # all of the reply and nothing else
            ends = accumulate(map(len, words))
            return words, [self.forms[end - len(own) : end] for end, own in zip(ends, words, strict=True)]
        both = [split_words(sentence.text) for sentence in self.sentences]
        return [words for words, _ in both], [bare_forms(bare) for _, bare in both]

    @_once
    def sentence_words(self) -> list[list[str]]:
        """The words of each sentence."""
        return self._sentence_words[0]

    @_once
    def sentence_forms(self) -> list[list[str]]:
        """The compared forms of the words of each sentence."""
        return self._sentence_words[1]

    @_once
    def sentence_lengths(self) -> list[int]:
        """The number of words of each sentence."""
        return list(map(len, self.sentence_words))

    def sentence_word_spans(self, number: int) -> Sequence[Span]:
        """The spans in the reply of the words of sentence `number`, from 0."""
        return _spans(self._prose.view, *self.sentences[number].place)

    # ----------------------------------------------------------------------------------------------------------- blocks

    @_once
    def lines(self) -> list[Unit]:
        """The lines of the plain view that are not empty, those in fences and tables among them."""
        found, start = [], 0
        for line in self.plain.split("\n"):
            if line and not line.isspace():
                found.append(Unit(self._plain, start, start + len(line)))
            start += len(line) + 1
        return found

    @_once
    def bullets(self) -> list[Bullet]:
        """The bullet items with their `marker` and `level`, outside fences."""
        return self._blocks.bullets if self._blocks else []

    @_once
    def tables(self) -> list[Table]:
        """The pipe tables outside fences, `ruled` or not."""
        return self._blocks.tables if self._blocks else []

    @_once
    def fences(self) -> list[Fence]:
        """The fenced blocks."""
        return self._blocks.fences if self._blocks else []

    @_once
    def json_objects(self) -> list[Json]:
        """The outermost complete JSON objects, in fences as well."""
        return json_objects(self._clean)

    # ---------------------------------------------------------------------------------------------------------- numbers

    @_once
    def integers(self) -> list[Integer]:
        """The integers of the plain view; see `cdct.text.numbers.integers` for what counts."""
        return integers(self._plain)

    @_once
    def equations(self) -> list[Equation]:
        """The equations of the plain view; see `cdct.text.numbers.equations`."""
        return equations(self._plain)

    @_once
    def numbered(self) -> list[Numbered]:
        """The numbered lists of the plain view; see `cdct.text.lists.numbered`."""
        return numbered(self._plain, self.folded)


def sentences(text: str, splitter: str = "rules") -> list[str]:
    """The sentences of a text, in order; `cdct.text.boundaries.split` has the rules."""
    return [sentence.text for sentence in Text(text, splitter).sentences]


def _spans(view: Clean | View, start: int, end: int) -> Sequence[Span]:
    tokens = _TOKEN.finditer(view.text, start, end)
    return Spans(view, [token.span() for token in tokens if WORDLIKE.search(token[0])])


def _decoded(escape: re.Match[str]) -> str:
    import html

    code = escape[1] or escape[2] or escape[3] or escape[4]
    if code is None:
        return html.unescape(escape[0])
    point = int(code, 16)
    return chr(point) if point < 0x110000 and not 0xD800 <= point < 0xE000 else escape[0]
