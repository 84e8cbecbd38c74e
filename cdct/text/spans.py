"""Where a piece of a reply stands. A view is a text cut out of another; a unit knows its text and its place.

Offsets are code points, half open, and always lead back to the reply as it came.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from cdct.text.tokens import normalise, overloaded

Span = tuple[int, int]


class Clean:
    """A reply in normal form (NFC, line feeds, no outer white space) that finds its characters in the reply again."""

    __slots__ = ("_places", "raw", "text")

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.text = normalise(raw)
        self._places: int | tuple[list[int], list[int]] | None = None

    def span(self, start: int, end: int) -> Span:
        """The span of `text[start:end]` in the reply; a composed character stands for all that went into it."""
        if self._places is None:
            self._places = _places(self.raw, self.text)
        if isinstance(self._places, int):
            return start + self._places, end + self._places
        starts, ends = self._places
        return starts[start], max(starts[start], ends[end - 1]) if end > start else starts[start]


def _places(raw: str, text: str) -> int | tuple[list[int], list[int]]:
    """The shift between both texts where nothing else changed, else for each character where it starts and ends."""
    if "\r" not in raw and unicodedata.is_normalized("NFC", raw):
        return raw.find(text)
    composed: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for place, cluster in _clusters(raw):
        new = "\n" if cluster in ("\r", "\r\n") else cluster if overloaded(cluster) else _nfc(cluster)
        composed.append(new)
        starts += [place] * len(new) if len(new) != len(cluster) else range(place, place + len(new))
        end = place + len(cluster)
        ends += [end] * len(new) if len(new) != len(cluster) else range(place + 1, end + 1)
    lead = "".join(composed).find(text)
    starts, ends = starts[lead : lead + len(text)], ends[lead : lead + len(text)]
    return [*starts, ends[-1] if ends else 0], ends


def _nfc(cluster: str) -> str:
    return unicodedata.normalize("NFC", cluster)


def _clusters(raw: str) -> Iterable[tuple[int, str]]:
    """The shortest stretches that NFC changes each by itself, with their offsets; a token left as it is comes whole."""
    for token in re.finditer(r"\r\n|\s|\S+", raw):
        word, place = token[0], token.start()
        if len(word) == 1 or word == "\r\n" or overloaded(word) or unicodedata.is_normalized("NFC", word):
            yield place, word
            continue
        start, form = 0, ""
        for at, char in enumerate(word):
            joined = _nfc(form + char)
            if at > start and not unicodedata.combining(char) and joined == form + _nfc(char):
                yield place + start, word[start:at]
                start, joined = at, _nfc(char)
            form = joined
        yield place + start, word[start:]


class View:
    """A text put together from pieces of a clean one, which is a view as well: the one that keeps everything."""

    __slots__ = ("_origins", "_source", "_starts", "text")

    def __init__(self, source: Clean, text: str, starts: list[int], origins: list[int]) -> None:
        self.text = text
        self._source, self._starts, self._origins = source, starts, origins

    @classmethod
    def of(cls, source: Clean, kept: Iterable[Span], joints: dict[int, str] | None = None) -> View:
        """The view of `source` that keeps these stretches in order; `joints` has what is put in before some of them."""
        parts: list[str] = []
        starts, origins, length = [], [], 0
        for start, end in kept:
            if joints and start in joints:
                parts.append(joints[start])
                length += len(joints[start])
            starts.append(length)
            origins.append(start)
            parts.append(source.text[start:end])
            length += end - start
        return cls(source, "".join(parts), starts or [0], origins or [0])

    def span(self, start: int, end: int) -> Span:
        """The span of `text[start:end]` in the reply."""
        first = self._at(start)
        return self._source.span(first, max(first, self._at(end - 1) + 1) if end > start else first)

    def _at(self, place: int) -> int:
        piece = bisect_right(self._starts, place) - 1
        return min(self._origins[piece] + place - self._starts[piece], len(self._source.text))


class Spans(Sequence[Span]):
    """The spans in the reply of places in a view, each found when it is asked for."""

    __slots__ = ("_places", "_view")

    def __init__(self, view: Clean | View, places: list[Span]) -> None:
        self._view, self._places = view, places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, slice):
            return Spans(self._view, self._places[which])
        return self._view.span(*self._places[which])


class Unit:
    """A piece of a reply: `text`, and `start`, `end`, `span` in the reply as it came."""

    __slots__ = ("_end", "_start", "_view", "text")

    def __init__(self, view: Clean | View, start: int, end: int, text: str | None = None) -> None:
        self._view, self._start, self._end = view, start, end
        self.text = view.text[start:end] if text is None else text

    @property
    def place(self) -> Span:
        """The span in the view from which the unit was read."""
        return self._start, self._end

    @property
    def span(self) -> Span:
        return self._view.span(self._start, self._end)

    @property
    def start(self) -> int:
        return self.span[0]

    @property
    def end(self) -> int:
        return self.span[1]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text!r}, {self.start}, {self.end})"
