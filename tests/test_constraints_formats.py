"""F1-F4 at their limits: tables, bullet items, code blocks, last words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from mutations import Edit, judge, prose, sentence, some_words

from cdct.core import stream
from cdct.saturation.constraints import CONSTRAINTS

TWO_BY_ONE = {"columns": 2, "rows": 1}


def check(id: str, text: str, **params):
    return CONSTRAINTS[id].check(text, **params)


def marked(text: str, verdict) -> list[str]:
    return [text[start:end] for start, end in verdict.spans]


@pytest.mark.parametrize(
    ("id", "params", "text", "score"),
    [
        ("F1", TWO_BY_ONE, "| a | b |\n|---|---|\n| 1 | 2 |", 1.0),
        ("F1", TWO_BY_ONE, "a|b\n-|-\n1|", 1 / 2),
        ("F1", TWO_BY_ONE, "|a|b|\n|:-|-:|\n||2|", 1.0),
        ("F1", TWO_BY_ONE, "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |", 0.0),
        ("F1", {"columns": 2, "rows": 2}, "| a | b |\n|---|---|\n| 1 | 2 |", 1 / 2),
        ("F1", {"columns": 3, "rows": 1}, "| a | b |\n|---|---|\n| 1 | 2 |", 0.0),
        ("F1", TWO_BY_ONE, "| a | b |\n|---|---|\n| 1 | 2 | 3 |", 1 / 2),
        ("F1", TWO_BY_ONE, "| a | b |\n|---|---|\n| 1 | 2 |\n\n| c |\n|---|\n| 3 |", 1 / 2),
        ("F1", TWO_BY_ONE, "| a | b |\n| 1 | 2 |", 0.0),
        ("F1", TWO_BY_ONE, "| a | b |\n|---|\n| 1 | 2 |", 0.0),
        ("F1", TWO_BY_ONE, "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```", 0.0),
        ("F1", TWO_BY_ONE, "| a | b |\n|---|---|\n| 1 | 2 |\n\n| x | y |\n| z | w |", 1.0),
        ("F2", {"n": 2}, "- a\n- b", 1.0),
        ("F2", {"n": 2}, "- a\n- b\n- c", 1 / 2),
        ("F2", {"n": 2}, "- a\n-\n", 1 / 2),
        ("F2", {"n": 2}, "- a\n- —", 1 / 2),
        ("F2", {"n": 2}, "- a\n  - b", 1.0),
        ("F2", {"n": 2}, "- a\n-b\n--- \n- - -\n* c\n+ d\n• e\n1. f", 1 / 2),
        ("F2", {"n": 1}, "- a\n```\n- b\n```", 1.0),
        ("F2", {"n": 1}, "A - b", 0.0),
        ("F3", {"n": 1}, "```\na\n```", 1.0),
        ("F3", {"n": 2}, "```\na\n```\nb\n```\nc\n```", 1.0),
        ("F3", {"n": 2}, "```\na\n```\nb", 1 / 2),
        ("F3", {"n": 2}, "```\na\n```\nb\n```\n \n```", 1 / 2),
        ("F3", {"n": 1}, "a\n```\nb", 0.0),
        ("F3", {"n": 1}, "Steps:\n\n- ```bash\n  ls\n  ```\n\nRain fell.", 1.0),
        ("F3", {"n": 1}, "> ```\n> ls\n> ```", 1.0),
        ("F1", TWO_BY_ONE, "> | a | b |\n> |---|---|\n> | 1 | 2 |", 0.0),
        ("F2", {"n": 1}, "> - a\n\n- b", 1.0),
        ("F3", {"n": 1}, "~~~\na\n~~~", 0.0),
        ("F3", {"n": 1}, "`a` ``b``", 0.0),
        ("F3", {"n": 1}, "  ```py title\na\n  ```", 1.0),
        ("F4", {}, "Rain fell. Snow fell. Ice came.", 2 / 3),
        ("F4", {}, "Rain fell. It’s it's. That is “IT’S”!", 2 / 3),
        ("F4", {}, "Rain fell.", 1 / 2),
        ("F4", {}, "Rain fell.\n\n- it came", 1 / 2),
        ("F4", {}, "- it came", 0.0),
    ],
)
def test_scores(id, params, text, score):
    assert check(id, text, **params).score == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize(
    ("id", "params", "text", "places"),
    [
        ("F1", TWO_BY_ONE, "So:\n| a | b |\n|---|---|\n\nEnd.", ["| a | b |\n|---|---|"]),
        ("F1", TWO_BY_ONE, "a|b\n-|-\n1|2\n\nc|d\n-|-\n3|4", ["c|d\n-|-\n3|4"]),
        ("F1", TWO_BY_ONE, "| a | b |\n| 1 | 2 |", ["| a | b |\n| 1 | 2 |"]),
        ("F1", TWO_BY_ONE, "No table.", []),
        ("F2", {"n": 1}, "- a\n- b\n-", ["- b", "-"]),
        ("F2", {"n": 3}, "- a\n- **b**", ["- **b**"]),
        ("F3", {"n": 2}, "```\n```\n```\na\n```", ["```\n```"]),
        ("F3", {"n": 1}, "```\na\n```\n```\nb\n```", ["```\nb\n```"]),
        ("F4", {}, "Rain **fell.** Snow “**fell**.”", ["“**fell**.”"]),
        ("F4", {}, "Rain fell.", ["fell."]),
    ],
)
def test_the_spans_show_what_is_wrong(id, params, text, places):
    assert marked(text, check(id, text, **params)) == places


@pytest.mark.parametrize(
    ("id", "params", "text", "flags"),
    [
        ("F2", {"n": 2}, "- a\n-", ("empty_items",)),
        ("F2", {"n": 1}, "- a\n-", ()),
        ("F2", {"n": 2}, "- 👍\n- —", ("empty_items",)),
        ("F3", {"n": 1}, "```\n```", ("empty_code_blocks",)),
        ("F3", {"n": 1}, "Text\n```\n\n```", ("empty_code_blocks",)),
        ("F3", {"n": 2}, "Text\n```\n\n```", ()),
        ("F3", {"n": 1}, "Text\n```\na", ()),
        ("F3", {"n": 1}, "Text\n```\na\n```", ()),
        ("F4", {}, "Rain fell.", ("too_few_sentences",)),
        ("F4", {}, "Rain fell. Snow fell.", ()),
    ],
)
def test_shortcuts_are_flagged_and_do_not_pass(id, params, text, flags):
    verdict = check(id, text, **params)
    assert verdict.flags == flags
    assert not (verdict.flags and verdict.passed)


# ---------------------------------------------------------------------------------------------------------- mutations


def tables(rng) -> Iterator[Edit]:
    columns, rows = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    params = {"columns": columns, "rows": rows}

    def line(cells: list[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    head, ruler = line(some_words(rng, columns)), line(["---"] * columns)
    data = [line(some_words(rng, columns)) for _ in range(rows)]
    table = "\n".join([head, ruler, *data])
    yield Edit("F1", params, f"{prose(rng, 2)}\n\n{table}\n\n{prose(rng, 2)}", True)
    yield Edit("F1", params, "\n".join(row[2:-2] for row in table.split("\n")), True)
    yield Edit("F1", params, table.replace("---", ":-:"), True)
    yield Edit("F1", params, table.replace(data[0], data[0].replace(" | ", " a\\|b | ", 1)), True)
    yield Edit("F1", params, "\n".join([head, ruler, *data, line(["x"] * columns)]), False)
    yield Edit("F1", params, "\n".join([head, ruler, *data[1:]]), False)
    yield Edit("F1", params, "\n".join([head, *data]), False)
    yield Edit("F1", params, "\n".join([head, ruler, *data[1:], data[0] + " x |"]), False)
    yield Edit("F1", params, "\n".join([head, ruler, *data[1:], data[0].replace(" | ", " ", 1)]), False)
    yield Edit("F1", params, "\n".join([head + " x |", ruler + " --- |", *(row + " x |" for row in data)]), False)
    yield Edit("F1", params, f"{table}\n\n{table}", False)
    yield Edit("F1", params, f"```\n{table}\n```", False)


def bullets(rng) -> Iterator[Edit]:
    n = int(rng.integers(3, 7))
    items = [f"- {' '.join(some_words(rng, 3))}" for _ in range(n)]
    yield Edit("F2", {"n": n}, "\n".join(items), True)
    yield Edit("F2", {"n": n}, f"{prose(rng, 2)}\n\n" + "\n\n".join(items) + "\n* star\n2. two", True)
    yield Edit("F2", {"n": n}, "\n".join([items[0], *("  " + item for item in items[1:])]), True)
    yield Edit("F2", {"n": n}, "\n".join([*items, "```", "- code", "```", "---"]), True)
    yield Edit("F2", {"n": n}, "\n".join(items[1:]), False)
    yield Edit("F2", {"n": n}, "\n".join([*items, "- one more"]), False)
    yield Edit("F2", {"n": n}, "\n".join([items[0].replace("- ", "* ", 1), *items[1:]]), False)
    yield Edit("F2", {"n": n}, "\n".join([items[0].replace("- ", "-", 1), *items[1:]]), False)
    yield Edit("F2", {"n": n}, "\n".join([items[0].replace("- ", "– ", 1), *items[1:]]), False)
    yield Edit("F2", {"n": n}, "\n".join(["- ", *items[1:]]), False)
    yield Edit("F2", {"n": n}, " ".join(items), False)


def fences(rng) -> Iterator[Edit]:
    n = int(rng.integers(1, 3))
    blocks = [f"```\n{' '.join(some_words(rng, 2))}\n```" for _ in range(n)]
    yield Edit("F3", {"n": n}, f"\n\n{sentence(rng, 4)}\n\n".join([*blocks, "End."]), True)
    yield Edit("F3", {"n": n}, "\n".join(blocks).replace("```\n", "```python\n", 1), True)
    yield Edit("F3", {"n": n}, "\n".join(["~~~\na\n~~~", "    code", *blocks]), True)
    yield Edit("F3", {"n": n}, "\n".join([*blocks, "```\nx\n```"]), False)
    yield Edit("F3", {"n": n}, "\n".join([*blocks[1:], "End."]), False)
    yield Edit("F3", {"n": n}, "\n".join([*blocks[1:], "```", " ", "```", "End."]), False)
    yield Edit("F3", {"n": n}, "\n".join(blocks)[:-4], False)
    yield Edit("F3", {"n": n}, "\n".join(["~~~\na\n~~~", *blocks[1:]]), False)


def closers(rng) -> Iterator[Edit]:
    words = some_words(rng, int(rng.integers(2, 8)))
    all_ = [f"See the big {word}." for word in words]
    yield Edit("F4", {}, " ".join(all_), True)
    yield Edit("F4", {}, " ".join(all_) + f"\n\n- a {words[0]}\n\n# The {words[0]}", True)
    yield Edit("F4", {}, " ".join([*all_, f"The {words[0]} is there!"]), True)
    yield Edit("F4", {}, " ".join([*all_, f"Is it a “{words[0].upper()}”?"]), False)
    yield Edit("F4", {}, "\n\n".join([f"The {words[-1]}…", *all_]), False)
    yield Edit("F4", {}, all_[0], False)


@pytest.mark.parametrize("edits", [tables, bullets, fences, closers])
def test_every_edit_is_judged_as_the_rule_says(edits: Callable[..., Iterator[Edit]]):
    for number in range(60):
        for edit in edits(stream("formats", edits.__name__, number)):
            judge(edit)


# --------------------------------------------------------------------------------------------------- public bug reports


def test_B023_an_empty_reply_has_no_unique_closers():
    """scitix/sieval#105."""
    assert not check("F4", "").passed


def test_B039_exactly_is_not_at_least():
    """thinking-machines-lab/tinker-cookbook#911."""
    verdict = check("F2", "- a\n- b\n- c\n- d", n=3)
    assert not verdict.passed
    assert verdict.detail == "4 bullet items with a hyphen, 3 wanted"


def test_B041_asterisks_are_no_dashes():
    """mlcommons/mobile_app_open#1093; arXiv:2608.12426, appendix Q, class 7."""
    verdict = check("F2", "* one\n* two", n=2)
    assert not verdict.passed
    assert verdict.detail == "0 bullet items with a hyphen, 2 wanted; 2 with another mark"


def test_B043_backticks_do_not_protect_pipes():
    """DavidAnson/markdownlint#1206."""
    verdict = check("F1", "| op | use |\n|---|---|\n| `a||b` | or |", columns=2, rows=1)
    assert not verdict.passed
    assert verdict.detail == "1 table, 1 wanted; 1 data row, 1 wanted; 1 of 2 rows with 2 cells, not 4"


def test_P151_empty_blocks_are_no_code_blocks():
    """arXiv:2608.12426, section on specification gaps: 82 % of the paper's passes."""
    assert check("F3", "```\n```", n=1).flags == ("empty_code_blocks",)
    verdict = check("F3", "See:\n```\n```", n=1)
    assert (verdict.passed, verdict.flags) == (False, ("empty_code_blocks",))
    assert verdict.detail == "1 code block, 1 wanted; 1 blank"
