"""The skeleton of a text: its fixed parts, sentences and lines put together, with gaps for the words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from cdct.saturation.probes.blocks import GAP, forms, word_count
from cdct.saturation.probes.needs import Needs


@dataclass
class Gap:
    """A word to be found: in which sentence it stands (-1: in none) and where in it."""

    sentence: int = -1
    first: bool = False
    last: bool = False


@dataclass
class Skeleton:
    """A text with gaps for words. `sentences` holds the words of each, a gap being its number; `odd` what is odd."""

    text: str
    gaps: list[Gap]
    sentences: list[list[int | str]]
    odd: list[str] = field(default_factory=list)
    empty: int = 0
    """How many cells and code blocks could hold a word more."""

    @property
    def letters(self) -> int:
        """How many characters there are without the words to be found; number signs of headings do not count."""
        return len(self.text) - len(self.gaps) - 2 * self.text.count("# ")


class Frame(NamedTuple):
    """The fixed pieces by place, and the words that must stand in sentences."""

    own: list[str]
    headings: list[str]
    fences: list[list[str]]
    bullets: list[str]
    cells: list[str]
    phrases: list[str]
    tails: list[str]

    @property
    def words(self) -> int:
        """The words outside sentences; cells and code blocks with nothing but a gap can do without."""
        pieces = [*self.own, *self.headings, *self.bullets, *self.tails]
        pieces += [line for fence in self.fences for line in fence if line != GAP]
        pieces += [cell for cell in self.cells if cell != GAP]
        return sum(map(word_count, pieces))

    @property
    def spare(self) -> int:
        """How many cells and code blocks can do without a word."""
        return self.cells.count(GAP) + self.fences.count([GAP])


def assemble(
    needs: Needs,
    frame: Frame,
    lengths: Sequence[int],
    inside: Sequence[Sequence[str]],
    empty: int,
    tight: bool,
    odd: Sequence[str],
) -> Skeleton | None:
    """The skeleton with sentences of these lengths and phrases; None where the lines do not work out.

    So many of the cells and code blocks that can stay `empty` do. `tight` spares blank lines and spaces.
    """
    odd, bare = list(odd), empty
    cells, fences = list(frame.cells), [list(fence) for fence in frame.fences]
    for i in range(len(cells) - 1, -1, -1):
        if empty and cells[i] == GAP:
            cells[i], empty = "", empty - 1
    if "" in cells:
        odd.append("empty cells")
    if empty:
        odd.append("code without a word")
        for fence in fences[-empty:] if [GAP] in fences else ():
            if fence == [GAP]:
                fence[0] = "="
    blocks = _blocks(needs, frame, cells, fences, tight)
    head = [f"# {heading}" for heading in frame.headings]
    sentences = [_sentence(length, phrases) for length, phrases in zip(lengths, inside, strict=True)]
    paragraphs = _paragraphs(needs, sentences)
    if frame.tails:
        if not paragraphs:
            return None
        paragraphs[-1].append([" ".join(frame.tails)])
    breaks = 0
    if needs.lines is not None:
        fixed = sum(block.count("\n") + 1 for block in [*head, *blocks])
        breaks = needs.lines - fixed - len(paragraphs)
    prose = _prose(paragraphs, breaks)
    if prose is None:
        return None
    joint = "\n" if tight else "\n\n"
    text = joint.join([*head, "\n\n".join(prose), *blocks] if prose else [*head, *blocks])
    skeleton = _with_gaps(text, head, sentences, odd)
    skeleton.empty = bare
    return skeleton


def _blocks(
    needs: Needs, frame: Frame, cells: Sequence[str], fences: Sequence[Sequence[str]], tight: bool
) -> list[str]:
    """The table, the lines that stand by themselves, the bullet items and the code blocks."""
    blocks: list[str] = []
    if needs.table:
        columns, rows = needs.table
        lines = [_row(cells[row * columns : (row + 1) * columns], tight) for row in range(rows + 1)]
        lines.insert(1, "-|" * (columns - 1) + "-" if tight else "|" + "---|" * columns)
        blocks.append("\n".join(lines))
    if frame.own:
        blocks.append("\n".join(frame.own))
    if frame.bullets:
        blocks.append("\n".join(f"- {item}" for item in frame.bullets))
    blocks += ["\n".join(["```", *fence, "```"]) for fence in fences]
    return blocks


def _row(cells: Sequence[str], tight: bool) -> str:
    """A row of the table; a tight one has no outer pipes, or nothing else."""
    if tight and all(cells):
        return " | ".join(cells)
    return "|" * (len(cells) + 1) if tight and not any(cells) else f"| {' | '.join(cells)} |"


def _sentence(length: int, phrases: Sequence[str]) -> list[str]:
    """The words of a sentence: a gap at each end, and the phrases among the other gaps."""
    free = length - sum(map(word_count, phrases)) - 2
    if free < 0:
        return [GAP] * length
    words = [GAP]
    shares = len(phrases) + 1
    for number, phrase in enumerate(phrases):
        words += [GAP] * (free * (number + 1) // shares - free * number // shares)
        words += phrase.split()
        joined = number + 1 < len(phrases) and free * (number + 2) // shares == free * (number + 1) // shares
        words[-1] += "," if joined else ""
    return words + [GAP] * (length - sum(map(word_count, words)))


def _paragraphs(needs: Needs, sentences: Sequence[list[str]]) -> list[list[list[str]]]:
    if not sentences:
        return []
    count = needs.paragraphs[0] if needs.paragraphs else 1
    ends = [len(sentences) * number // count for number in range(count + 1)]
    return [list(sentences[start:end]) for start, end in pairwise(ends)]


def _prose(paragraphs: Sequence[Sequence[list[str]]], breaks: int) -> list[str] | None:
    """The paragraphs with so many line breaks in them, between sentences first; None where they have no room."""
    if breaks < 0:
        return None
    outer = [(i, j, 0) for i, own in enumerate(paragraphs) for j in range(1, len(own))]
    inner = [
        (i, j, k)
        for i, own in enumerate(paragraphs)
        for j, words in enumerate(own)
        for k in range(1, len(words))
        if words[k] == GAP and (words[k - 1] == GAP or words[k - 1][-1].isalnum())
    ]
    if breaks > len(outer) + len(inner):
        return None
    chosen = set(_spread(outer, min(breaks, len(outer))) + _spread(inner, max(0, breaks - len(outer))))
    prose = []
    for i, own in enumerate(paragraphs):
        text = ""
        for j, words in enumerate(own):
            for k, word in enumerate(words):
                text += ("\n" if (i, j, k) in chosen else " ") if text else ""
                text += word
            text += "." if GAP in words else ""
        prose.append(text)
    return prose


def _spread(places: Sequence[tuple[int, int, int]], count: int) -> list[tuple[int, int, int]]:
    """`count` of the places, evenly spread."""
    return [places[(2 * number + 1) * len(places) // (2 * count)] for number in range(count)]


def _with_gaps(text: str, head: Sequence[str], sentences: Sequence[list[str]], odd: list[str]) -> Skeleton:
    """The skeleton with what is known of each gap, in the order of the text."""
    gaps = [Gap() for piece in head for _ in range(piece.count(GAP))]
    rows: list[list[int | str]] = []
    for number, words in enumerate(sentences):
        row: list[int | str] = []
        for place, word in enumerate(words):
            if word == GAP:
                row.append(len(gaps))
                gaps.append(Gap(number, place == 0, place == len(words) - 1))
            else:
                row += forms(word)
        rows.append(row)
    gaps += [Gap() for _ in range(text.count(GAP) - len(gaps))]
    return Skeleton(text, gaps, rows, odd)
