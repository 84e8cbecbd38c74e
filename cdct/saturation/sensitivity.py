"""How much verdicts hang on how a reply is read: where sentences end, which part is the answer, what marks are.

Each constraint is checked on each reply as it is scored, and again under each of `READINGS`, with the same parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan
from typing import TYPE_CHECKING

from cdct.core import Verdict, stream, to_json, unknown
from cdct.extract import extract_answer, extract_text
from cdct.saturation.constraints import CONSTRAINTS
from cdct.stats.resample import mean
from cdct.text import Text
from cdct.text.views import Prose, unstructured

if TYPE_CHECKING:
    import pandas as pd

READINGS = {
    "sentences: the paper's splitter": "a sentence ends at . ! ? before white space and nowhere else",
    "answer: first tag": "the answer stands between the first <answer> and the next </answer>, or is the whole reply",
    "answer: whole text": "the answer is the whole reply but its reasoning, whatever tags stand in it",
    "Markdown: marks kept": "marks of emphasis and headings are characters of words and sentences",
    "Markdown: raw text": "so are they, and tables, lists, code and JSON are read as sentences as well",
}
"""What is read otherwise than it is scored, one thing at a time."""

ROW_COLUMNS = [
    *("reply", "constraint", "dimension", "reading", "differs", "changed", "passed", "other_passed", "score"),
    *("other_score", "params", "detail", "other_detail", "unscored"),
]


class Marked(Text):
    """A reply whose views keep the marks of emphasis and the hashes of headings; blocks are found all the same."""

    _holes = ()


class Raw(Marked):
    """A reply that is read as if it knew no Markdown: all of it is prose. Blocks are found where they are asked for."""

    @property
    def _prose(self) -> Prose:
        return unstructured(self._clean)


def first_tagged(reply: str) -> str:
    """What a search for the first pair of answer tags finds outside of reasoning, or else the whole reply."""
    whole = extract_text(reply).answer
    _, opened, rest = whole.partition("<answer>")
    inside, closed, _ = rest.partition("</answer>")
    return inside.strip() if opened and closed else whole


def _read(reply: str, finish_reason: str | None) -> tuple[Text, list[tuple[Text, bool]]]:
    """The reply as it is scored, and under each of `READINGS` with whether that finds anything else in it."""
    answer = extract_answer(reply, finish_reason).answer
    others = [first_tagged(reply), extract_text(reply, finish_reason).answer]
    scored, paper, first, whole = Text(answer), Text(answer, "paper"), *map(Text, others)
    found = _units(scored)
    return scored, [
        (paper, _units(paper) != found),
        (first, first.raw != answer),
        (whole, whole.raw != answer),
        *((text, _units(text) != found) for text in (Marked(answer), Raw(answer))),
    ]


def _units(text: Text) -> tuple[str, list[str], list[int]]:
    """What every verdict rests on but for blocks, which no reading changes."""
    return text.plain, [one.text for one in text.sentences], [len(one.sentences) for one in text.paragraphs]


def or_examples(replies: pd.DataFrame) -> pd.DataFrame:
    """The replies, or, where there are none, the registry's own example texts, whose `source` says so."""
    import pandas as pd

    if len(replies):
        return replies
    texts = dict.fromkeys(text for kind in CONSTRAINTS.values() for text, _, _ in kind.examples)
    source = "no replies: example texts of the constraints"
    return pd.DataFrame({"source": source, "text": list(texts), "finish_reason": None})


def readings(replies: pd.DataFrame, constraints: Sequence[str] = (), most: int = 0, seed: int = 0) -> pd.DataFrame:
    """One row per reply, constraint and reading, with `ROW_COLUMNS`: the verdict as scored, and the other one.

    Parameters are drawn for each reply and constraint from a stream of their own, and are the same for all readings.
    `differs` says that the reading finds other words or sentences in the reply; where it is False the verdict can't
    change. `changed` is 1 where the verdict is another one and 0 where not. A reply without a text is NaN in all of
    them, with a reason in `unscored`.

    Args:
        replies: text, and finish_reason where there is one. Rows are named by their place, from 0.
        constraints: ids; empty: all.
        most: so many of the replies, drawn by the seed; 0: all.
    """
    import pandas as pd

    for id in constraints:
        if id not in CONSTRAINTS:
            raise ValueError(f"readings: {unknown('constraint', id, CONSTRAINTS)}")
    reasons = replies["finish_reason"] if "finish_reason" in replies else [None] * len(replies)
    numbered = list(enumerate(zip(replies["text"], reasons, strict=True)))
    if 0 < most < len(numbered):
        drawn = stream("cse", "sensitivity", seed, "replies").choice(len(numbered), most, replace=False)
        numbered = [numbered[place] for place in sorted(drawn.tolist())]
    rows = []
    for number, (reply, reason) in numbered:
        read = _read(reply, reason if isinstance(reason, str) else None) if isinstance(reply, str) else None
        for id in constraints or CONSTRAINTS:
            rows += _rows(number, id, read, seed)
    return pd.DataFrame(rows, columns=ROW_COLUMNS)


def _rows(
    number: int, id: str, read: tuple[Text, list[tuple[Text, bool]]] | None, seed: int
) -> list[tuple[object, ...]]:
    kind, nothing = CONSTRAINTS[id], float("nan")
    head = (number, id, kind.dimension)
    if read is None:
        empty = (nothing, nothing, None, None, nothing, nothing, "", "", "", "no text")
        return [(*head, name, *empty) for name in READINGS]
    params = kind.sample(stream("cse", "sensitivity", seed, id, number))
    scored, others = read
    verdict = kind.check(scored, **params)
    rows = []
    for name, (text, differs) in zip(READINGS, others, strict=True):
        other: Verdict = kind.check(text, **params) if differs else verdict
        changed = (float(differs), float(other.passed != verdict.passed), verdict.passed, other.passed)
        scores = (verdict.score, other.score, to_json(params), verdict.detail, other.detail, "")
        rows.append((*head, name, *changed, *scores))
    return rows


def sensitivity(rows: pd.DataFrame, by: Sequence[str] = ("constraint", "reading")) -> pd.DataFrame:
    """The share of verdicts that change with the reading, in each cell of `by`, in the order of the rows.

    Columns: `by`, estimate, low, high, n, n_unscored, n_differ (checks whose reading found other words or sentences),
    to_pass, to_fail (verdicts that change, by what they become), scores_changed (the share of scores that do), method.
    Where no reading finds anything else (n_differ is 0) there is no estimate: NaN. The interval is exact where a reply
    stands once in a cell; else it rests on the spread between replies. Replies to one prompt, or of one model, are
    taken as independent: it speaks of replies like these, in this mixture.
    """
    import pandas as pd

    out = []
    for names, cell in rows.groupby(list(by), sort=False, observed=True):
        found = cell[cell["changed"].notna()]
        share = mean(found["changed"].to_numpy(dtype=float), found["reply"].to_numpy(), (0.0, 1.0))
        if not found["differs"].any():  # nothing was tried, so that no change says nothing
            share = share._replace(estimate=nan, low=nan, high=nan, method="the reading finds nothing else")
        moved = found[found["changed"] == 1]
        moves = float((found["score"] != found["other_score"]).mean())
        to_pass = int(moved["other_passed"].astype(bool).sum())
        out.append(
            dict(zip(by, names, strict=True))
            | {"estimate": share.estimate, "low": share.low, "high": share.high}
            | {"n": share.n, "n_unscored": len(cell) - len(found), "n_differ": int(found["differs"].sum())}
            | {"to_pass": to_pass, "to_fail": len(moved) - to_pass}
            | {"scores_changed": nan if isnan(share.estimate) else moves, "method": share.method}
        )
    columns = ["estimate", "low", "high", "n", "n_unscored", "n_differ", "to_pass", "to_fail", "scores_changed"]
    return pd.DataFrame(out, columns=[*by, *columns, "method"])
