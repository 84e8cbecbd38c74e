"""The blocks of a reply in Markdown: fences, tables, bullets, headings, breaks, numbered lines, and JSON objects.

Every line belongs to one kind of block. Read are the forms in which models write, more of them than CommonMark allows.
"""

from __future__ import annotations

import re

from cdct.text.boundaries import ends
from cdct.text.spans import Clean, Unit

TEXT, BLANK, FENCE, TABLE, HEADING, BREAK, BULLET, NUMBERED = range(8)
"""The kinds of lines."""

_FENCE = re.compile(r"[ \t]*+(`{3,}+|~{3,}+)[ \t]*+(.*)")
_HEADING = re.compile(r" {0,3}(#{1,6}(?:[ \t]++|$))(.*?)([ \t]++#++)?[ \t]*$")
_BREAK = re.compile(r"[ \t]*+(?:(?:-[ \t]*+){3,}+|(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+|={3,}+[ \t]*+)$")
_BULLET = re.compile(r"([ \t]*+)(?:([-*+])(?:[ \t]++|$)|([•◦▪‣])[ \t]*+)")
_NUMBERED = re.compile(
    r"[ \t]*+(?:\*\*)?(?:\((?P<paren>\d{1,3})\)|(?:(?P<number>\d{1,3})|[IVX]{1,5})\\?[.)]{1,2})(?:\*\*)?(?:[ \t]++|$)"
)
_RULE_CELL = re.compile(r"[ \t]*+:?+-++:?+[ \t]*+")
_BOLD_LINE = re.compile(r"[ \t]*+(\*\*|__)(?=\S)(.+)")
_QUOTE = re.compile(r"(?:[ \t]*+>)++[ \t]?")
_PIPE = re.compile(r"(?<!\\)\|")


class Bullet(Unit):
    """A bullet item: its text, its `marker` and its `level`, 0 being the outermost. An empty item has an empty text."""

    __slots__ = ("level", "marker")


class Table(Unit):
    """A pipe table: `header` and data `rows` of stripped cells, each row with as many as were written.

    `ruled` says that a row of dashes with as many cells follows the header. Without one, two or more lines in a row
    that start and end with a pipe still make a table, of which the first line counts as header; it is not `ruled`.
    """

    __slots__ = ("header", "rows", "ruled")

    @property
    def columns(self) -> int:
        return len(self.header)


class Fence(Unit):
    """A fenced block: its `code`, the `info` after the opening marks, and whether it is `closed` and `blank`."""

    __slots__ = ("blank", "closed", "code", "info")


class Line:
    """One line of a reply: where it stands, what it is, and for a numbered line or heading where its content starts."""

    __slots__ = ("body", "end", "kind", "start", "tail", "text")

    def __init__(self, start: int, text: str) -> None:
        self.text, self.kind = text, TEXT
        self.start = self.body = start
        self.end = self.tail = start + len(text)


class Blocks:
    """The lines of a reply with their kinds, and its fences, tables and bullets. Linear time."""

    def __init__(self, clean: Clean) -> None:
        self._clean, self._text = clean, clean.text
        self.lines: list[Line] = []
        self.fences: list[Fence] = []
        self.tables: list[Table] = []
        self.bullets: list[Bullet] = []
        self._indents: list[int] = []
        self._number = 0  # of the numbered line before
        self._unclosed: dict[str, int] = {}  # marks of this length or longer close no fence from here on
        start = 0
        for line in self._text.split("\n"):
            self.lines.append(Line(start, line))
            start += len(line) + 1
        number = 0
        while number < len(self.lines):
            number = self._read(number)

    def _read(self, number: int) -> int:
        """Decides what line `number` is and returns the first line after what it belongs to."""
        line = self.lines[number]
        text = line.text
        bare = text.lstrip()
        if not bare:
            line.kind = BLANK
            return number + 1
        prose = bare[0].isalpha() and bare[0] not in "IVX"  # no mark is a letter, but for a Roman number
        if bare is text and (prose or not _BULLET.match(text)):
            self._indents.clear()
        if prose and "|" not in text:
            return number + 1
        if bare[0] in "`~" and (fence := _FENCE.match(text)) and (bare[0] == "~" or "`" not in fence[2]):
            return self._fence(number, fence)
        elif bare[0] == ">":
            return self._quote(number)
        elif "|" in text and (after := self._table(number)):
            return after
        elif bare[0] == "#" and (heading := _HEADING.match(text)):
            line.kind = HEADING
            line.body = line.start + heading.end(1)
            line.tail = line.start + heading.end(2)
        elif bare[0] in "-*_=" and _BREAK.match(text):
            line.kind = BREAK
            self._underline(number)
        elif bullet := _BULLET.match(text):
            return self._bullet(number, bullet)
        elif (numbered := _NUMBERED.match(text)) and not self._wraps(number, numbered):
            if after := self._item_fence(number, numbered.end()):
                return after
            line.kind, line.body = NUMBERED, line.start + numbered.end()
        elif bare[0] in "*_" and self._is_title(number, text):
            line.kind = HEADING
        return number + 1

    def _fence(self, first: int, opening: re.Match[str], last: int | None = None) -> int:
        """A fence from line `first` on; if it is not closed it goes up to line `last`, by default to the end."""
        mark, lines = opening[1], self.lines
        after, closed = self._close(first + 1, mark)
        if not closed and last is not None:
            after = last
        for line in lines[first:after]:
            line.kind = FENCE
        fence = Fence(self._clean, lines[first].start + opening.start(), lines[after - 1].end)
        inner = lines[first + 1 : after - 1] if closed else lines[first + 1 : after]
        fence.code = self._text[inner[0].start : inner[-1].end] if inner else ""
        fence.info, fence.closed, fence.blank = opening[2].strip(), closed, not fence.code.strip()
        self.fences.append(fence)
        return after

    def _close(self, number: int, mark: str) -> tuple[int, bool]:
        """The first line after the one that closes a fence with this mark, from line `number` on; whether one does."""
        if len(mark) < self._unclosed.get(mark[0], len(mark) + 1):
            while number < len(self.lines):
                text = self.lines[number].text.strip()
                number += 1
                if text.startswith(mark) and not text.strip(mark[0]):
                    return number, True
            self._unclosed[mark[0]] = len(mark)
        return len(self.lines), False

    def _item_fence(self, number: int, place: int) -> int | None:
        """The first line after a fence that opens behind the marker of a list item; unclosed, it ends with the item."""
        fence = _FENCE.match(self.lines[number].text, place)
        if not fence or (fence[1][0] == "`" and "`" in fence[2]):
            return None
        last = number + 1
        while last < len(self.lines) and (not (text := self.lines[last].text).strip() or text[0] in " \t"):
            last += 1
        return self._fence(number, fence, last)

    def _quote(self, number: int) -> int:
        """A quoted line: what it holds is no block of the reply's own, but code and lists in it are no prose either."""
        text = self.lines[number].text
        start = _QUOTE.match(text).end()
        line, held = self.lines[number], text[start:]
        if (fence := _FENCE.match(text, start)) and not (fence[1][0] == "`" and "`" in fence[2]):
            return self._quoted_fence(number, fence)
        if (held[:1] == held[-1:] == "|" and len(held) > 1) or _HEADING.match(held) or _BULLET.match(held):
            line.kind = BULLET
        elif numbered := _NUMBERED.match(text, start):
            line.kind, line.body = NUMBERED, line.start + numbered.end()
        return number + 1

    def _quoted_fence(self, first: int, opening: re.Match[str]) -> int:
        mark, last, closed, inner = opening[1], first + 1, False, []
        while last < len(self.lines) and not closed and (quote := _QUOTE.match(self.lines[last].text)):
            inner.append(self.lines[last].text[quote.end() :])
            closed = inner[-1].startswith(mark) and not inner[-1].strip().strip(mark[0])
            last += 1
        for line in self.lines[first:last]:
            line.kind = FENCE
        fence = Fence(self._clean, self.lines[first].start + opening.start(), self.lines[last - 1].end)
        fence.code = "\n".join(inner[:-1] if closed else inner)
        fence.info, fence.closed, fence.blank = opening[2].strip(), closed, not fence.code.strip()
        self.fences.append(fence)
        return last

    def _table(self, first: int) -> int | None:
        rows = [cells(self.lines[first].text)]
        last = first + 1
        ruled = self._is_rule(last, len(rows[0]))
        if ruled:
            last += 1
            while last < len(self.lines) and "|" in (text := self.lines[last].text) and not self._starts(text):
                rows.append(cells(text))
                last += 1
        else:
            while (
                self._is_row(last - 1)
                and self._is_row(last)
                and not self._is_rule(last + 1, len(cells(self.lines[last].text)))
            ):
                rows.append(cells(self.lines[last].text))
                last += 1
            if len(rows) < 2:
                return None
        for line in self.lines[first:last]:
            line.kind = TABLE
        table = Table(self._clean, self.lines[first].start, self.lines[last - 1].end)
        table.header, table.rows, table.ruled = rows[0], rows[1:], ruled
        self.tables.append(table)
        return last

    def _is_rule(self, number: int, columns: int) -> bool:
        if number >= len(self.lines):
            return False
        text = self.lines[number].text
        if "-" not in text or "|" not in text:
            return False
        found = cells(text)
        return len(found) == columns and all(map(_RULE_CELL.fullmatch, found))

    def _is_row(self, number: int) -> bool:
        text = self.lines[number].text.strip() if number < len(self.lines) else ""
        return len(text) > 1 and text[0] == "|" == text[-1]

    def _starts(self, text: str) -> bool:
        """Whether a line starts a block of its own, which ends a table."""
        return bool(_FENCE.match(text) or _HEADING.match(text) or _BULLET.match(text))

    def _bullet(self, number: int, found: re.Match[str]) -> int:
        line, indent = self.lines[number], len(found[1].expandtabs(4))
        last = self._item_fence(number, found.end())
        if last is None:
            last = number + 1
            while last < len(self.lines) and self._continues(last, indent):
                last += 1
            for own in self.lines[number:last]:
                own.kind = BULLET
        while self._indents and self._indents[-1] >= indent:
            self._indents.pop()
        line.body = line.start + found.end()
        bullet = Bullet(self._clean, line.start + len(found[1]), self.lines[last - 1].end)
        bullet.text = self._text[line.body : self.lines[last - 1].end]
        bullet.marker = found[2] or found[3]
        bullet.level = len(self._indents)
        self._indents.append(indent)
        self.bullets.append(bullet)
        return last

    def _continues(self, number: int, indent: int) -> bool:
        """Whether a line is indented text that goes on with the item above."""
        text = self.lines[number].text
        bare = text.lstrip()
        if not bare or len(text) - len(bare) <= indent:
            return False
        return not (_FENCE.match(text) or _BULLET.match(text) or _NUMBERED.match(text) or "|" in text)

    def _wraps(self, number: int, found: re.Match[str]) -> bool:
        """Whether a number at the start of a line only ends the sentence above ("We won" above "2. They won").

        As in CommonMark, only 1 starts a list under a line of text. Others must follow the number before, an end mark
        or a colon.
        """
        own, last = int(found["number"] or found["paren"] or 0), self._number
        above = self.lines[number - 1].text if number and self.lines[number - 1].kind == TEXT else ""
        if own not in (0, 1, last + 1) and above and above.rstrip(" \t*_\"'”’)")[-1:] not in tuple(".!?…:;。！？：；"):
            return True
        self._number = own
        return False

    def _underline(self, number: int) -> None:
        """A line of text alone above this rule is a heading, unless it ends like a sentence."""
        if number and self.lines[number - 1].kind == TEXT and self._text[self.lines[number].start] in "=-":
            alone = number == 1 or self.lines[number - 2].kind != TEXT
            if alone and not ends(self.lines[number - 1].text):
                self.lines[number - 1].kind = HEADING

    def _is_title(self, number: int, text: str) -> bool:
        """Whether a line all in bold, first in its block and without an end mark, stands above other text."""
        found = _BOLD_LINE.match(text)
        if not found or (number and self.lines[number - 1].kind == TEXT):
            return False
        inner = found[2].rstrip(" \t:")
        bold = inner.endswith(found[1]) and inner.count(found[1]) == 1
        return bold and not ends(inner) and self.lines[number].end < len(self._text)


def cells(row: str) -> list[str]:
    r"""The stripped cells of a table row. A pipe after a backslash is text; outer pipes are optional."""
    row = row.strip().removeprefix("|")
    if row.endswith("|") and not row.endswith("\\|"):
        row = row[:-1]
    if "\\" in row:
        return [cell.strip().replace("\\|", "|") for cell in _PIPE.split(row)]
    return [cell.strip() for cell in row.split("|")]
