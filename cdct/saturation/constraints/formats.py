"""F1-F4, the form of the reply: a table, bullet items, code blocks, and how sentences close."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from cdct.core import Verdict
from cdct.saturation.constraints.base import (
    constraint,
    count_score,
    listed,
    number_of,
    off_count,
    quoted,
    share,
    spans_of,
    whole,
)
from cdct.saturation.constraints.ordering import in_order
from cdct.text import Text, Unit


@constraint("F1", "Markdown table", {"columns": whole(range(2, 5)), "rows": whole(range(2, 5))}, version="2")
def markdown_table(text: Text, columns: int, rows: int) -> Verdict:
    """Your reply must contain exactly one Markdown table, with {columns:column} and {rows:data row}. Its header and the
    line of dashes under it are no data rows, and every row must have a cell for each column. A pipe inside a cell needs
    a backslash before it; a table in a code block or in a quotation is none.

    Score: (1 - |found rows - rows| / rows, not below 0) times the share of lines, the header among them, that have the
    right number of cells, divided by the number of tables; the first table counts. Without a line of dashes that fits
    its header there is no table. Range: 2 to 4 by 2 to 4, what a short text can hold.
    """
    tables = [table for table in text.tables if table.ruled]
    if not tables:
        return Verdict.of(0.0, "no table", spans_of(text.tables[:1]))
    first = tables[0]
    lines = [first.header, *first.rows]
    uneven = [len(cells) for cells in lines if len(cells) != columns]
    score = count_score(len(first.rows), rows) * share(len(lines) - len(uneven), len(lines))
    detail = f"{number_of(len(tables), 'table')}, 1 wanted; {number_of(len(first.rows), 'data row')}, {rows} wanted"
    detail += f"; {len(lines) - len(uneven)} of {number_of(len(lines), 'row')} with {number_of(columns, 'cell')}"
    detail += f", not {listed(uneven)}" if uneven else ""
    return Verdict.of(score / len(tables), detail, spans_of(tables[1:] if score == 1 else tables))


markdown_table.passes("Owls:\n\n| name | size |\n|---|:-:|\n| barn | big |\n| elf | |\n\nDone.", columns=2, rows=2)
markdown_table.passes("op | use\n--|--\na\\|b | or", columns=2, rows=1)
markdown_table.fails("| op | use |\n|---|---|\n| `a||b` | or |", columns=2, rows=1)
markdown_table.fails("| a | b |\n|---|---|\n| 1 | 2 |\n\n| c | d |\n|---|---|\n| 3 | 4 |", columns=2, rows=1)


@constraint("F2", "Bullet list", {"n": whole(range(3, 7))}, version="2", wordless=True)
def bullet_list(text: Text, n: int) -> Verdict:
    """Your reply must contain exactly {n:bullet item}. Each starts on a line of its own with a hyphen and a space and
    has at least one letter or digit. Indented items count as well; lines with an asterisk, a dot or a number in place
    of the hyphen, and lines in code blocks, tables and quotations, do not.

    Score: 1 - |items - n| / n, not below 0, times the share of items with a letter or digit; empty ones in the right
    number are flagged `empty_items`. Range: 3 to 6, the usual length of a list.
    """
    items = [bullet for bullet in text.bullets if bullet.marker == "-"]
    empty = [bullet for bullet in items if not any(map(str.isalnum, bullet.text))]
    others = len(text.bullets) - len(items)
    detail = f"{number_of(len(items), 'bullet item')} with a hyphen, {n} wanted"
    detail += f"; {len(empty)} empty" if empty else ""
    detail += f"; {others} with another mark" if others else ""
    return _filled(items, empty, n, detail, "empty_items")


def _filled(units: Sequence[Unit], bad: Sequence[Unit], wanted: int, detail: str, flag: str) -> Verdict:
    """The verdict where exactly `wanted` units must stand and none may be bad; `flag` if they fail for that alone."""
    score = count_score(len(units), wanted) * share(len(units) - len(bad), len(units))
    wrong = {unit.place: unit for unit in [*bad, *off_count(units, wanted)]}
    flags = (flag,) if flag and bad and len(units) == wanted else ()
    return Verdict.of(score, detail, spans_of([wrong[place] for place in sorted(wrong)]), flags)


bullet_list.passes("Owls:\n- barn\n- **elf**\n  - small ones\n\n```\n- code\n```", n=3)
bullet_list.passes("- barn\n\n- elf\n* hawk\n1. lark", n=2)
bullet_list.fails("- a\n- b\n- c\n- d", n=3)
bullet_list.fails("* one\n* two", n=2)


@constraint("F3", "Fenced code blocks", {"n": whole(range(1, 3))}, version="2", wordless=True)
def fenced_code_blocks(text: Text, n: int) -> Verdict:
    """Your reply must contain exactly {n:fenced code block}: a line that begins with three backticks, at least one
    line that is not blank, and a line of three backticks again. It may stand behind a list marker or in a quotation.

    Score: 1 - |blocks - n| / n, not below 0, times the share of blocks that are closed and not blank. Blank ones in
    the right number, which the paper's check let pass (figure 4), are flagged `empty_code_blocks`; tildes make no
    block here. Range: 1 or 2, as in the paper's example.
    """
    blocks = [fence for fence in text.fences if fence.text.lstrip().startswith("`")]
    bad = [fence for fence in blocks if fence.blank or not fence.closed]
    blank = sum(fence.closed for fence in bad)
    detail = f"{number_of(len(blocks), 'code block')}, {n} wanted"
    detail += f"; {blank} blank" if blank else ""
    detail += f"; {len(bad) - blank} not closed" if len(bad) > blank else ""
    return _filled(blocks, bad, n, detail, "empty_code_blocks" if blank == len(bad) else "")


fenced_code_blocks.passes("Run this:\n```python\nx = 1\n```\nDone.", n=1)
fenced_code_blocks.passes("```\na\n\n```\n\n````\n```\n````", n=2)
fenced_code_blocks.fails("```\n```\nText.", n=1)
fenced_code_blocks.fails("    indented = 1\n\n```\nx", n=1)


@constraint("F4", "Unique sentence closers", {}, version="2")
def unique_sentence_closers(text: Text) -> Verdict:
    """Write at least two sentences, and end each of them with a different word. Words are compared without regard to
    capitals and to the punctuation around them. Headings, bullet items, tables, code blocks and JSON are no sentences;
    numbered lines are sentences only where they have an end mark, and their numbers are no words.

    Score: different last words over sentences, halved for a single sentence, which alone passes nothing; it is flagged
    `too_few_sentences`, as the paper's rule would let it pass.
    """
    last = [words[-1] for words in text.sentence_forms]
    seen: set[str] = set()
    again = [i for i, word in enumerate(last) if word in seen or seen.add(word)]
    detail = f"different last words: {len(seen)} of {len(last)}"
    if again:
        detail += f", repeated {listed(list(Counter(last[i] for i in again)), quoted)}"
    return in_order(text, again, len(last), detail, fewest=2, word=-1)


unique_sentence_closers.passes("Rain fell. Roads shone! Why?")
unique_sentence_closers.passes("He left at noon (alone). She stayed “all one.”\n\n- alone")
unique_sentence_closers.fails("Rain fell. Then SNOW fell!")
unique_sentence_closers.fails("Rain fell.")
