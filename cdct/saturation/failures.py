"""How replies fail: by refusing, outside of the tags, for want of tokens, at a forbidden letter, or by a shortcut.

Functions take the checks frame; those that look into texts take the replies as well. Sources: the paper's sections 3.3,
4 and G, and its limitations for the shortcuts.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cdct.core import KEYS, scored, unknown
from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.rates import RATE_COLUMNS, cells, final, rate_row, rate_table
from cdct.saturation.score import UNTAGGED, answer_of, probes, texts
from cdct.text import Text

if TYPE_CHECKING:
    import pandas as pd

TAGS = {
    "tag_ok": "one pair of answer tags, as asked for",
    "tag_odd": "a pair, with something odd about it: repeated, nested, misspelt, stray ones beside it",
    "tag_unclosed": "opened and never closed",
    "no_tag": "no usable tag: the whole reply was scored",
}
L1_CLASSES = {
    "genuine": "the letter stands in the text itself",
    "meta": "the reply speaks of its task, and uses the letter there",
    "refusal": "the reply says that it can't be done",
    "case": "the letter stands as a capital alone",
    "empty": "there is no word",
}
SHORTCUTS = {
    "empty_code_blocks": "code blocks in the right number that hold nothing",
    "empty_items": "bullet items in the right number that hold nothing",
    "too_few_sentences": "a rule on several sentences, met by having too few",
    "escape_sequences": "words that differ only because letters are written as escapes",
    "mirror_copies": "mirrored sentences that are copies",
}
"""Flags of verdicts: ways to keep the letter of a constraint. All but the last are failed here and passed in the paper;
copies pass in both."""
READINGS = {"as scored": "", "allowed": "every shortcut passes", "refused": "every shortcut fails"}


def _kinds(rows: pd.DataFrame, by: Sequence[str], column: str, kinds: Sequence[str]) -> pd.DataFrame:
    """The share of each kind among the rows of each cell that have one; the others are unscored."""
    import pandas as pd

    known, tables = rows[column].isin(kinds), []
    for kind in kinds:
        values = rows[list(dict.fromkeys([*by, "item", "model"]))].assign(_is=(rows[column] == kind) * 1.0)
        tables.append(rate_table(values.assign(_is=values["_is"].where(known)), by, "_is").assign(**{column: kind}))
    table = pd.concat(tables, ignore_index=True)
    table["count"] = (table["estimate"].fillna(0) * table["n"]).round().astype(int)
    table = table.sort_values(list(by), kind="stable", ignore_index=True) if by else table
    return table[[*by, column, "count", *RATE_COLUMNS]]


def refusals(checks: pd.DataFrame, by: Sequence[str] = ("model",)) -> pd.DataFrame:
    """The share of replies that refuse in words, of all replies and of those that fail; two rows per cell of `by`.

    Columns: `by`, of ("all replies", "failed probes"; no row where none fails), count (refusals), those of an estimate.
    The paper counts of failed probes (section 6). A refusal that happens to pass, as one can at small k, is none of a
    failed probe.
    """
    import pandas as pd

    rows = probes(final(checks, by))
    said = (rows["answer_status"] == "refused").map({True: "refused", False: "answered"})
    rows["refused"] = said.where(rows["passed_all"].notna())
    parts = {"all replies": rows, "failed probes": rows[rows["passed_all"] != 1]}
    tables = [_kinds(part, by, "refused", ["refused", "answered"]).assign(of=name) for name, part in parts.items()]
    table = pd.concat(tables, ignore_index=True)
    table = table[table["refused"] == "refused"].sort_values([*by, "of"], ignore_index=True)
    return table[[*by, "of", "count", *RATE_COLUMNS]]


def tag_use(checks: pd.DataFrame, by: Sequence[str] = ("model",)) -> pd.DataFrame:
    """How replies use the answer tags, four rows per cell of `by`, one for each of `TAGS`; the first is compliance.

    Columns: `by`, tag, count, those of an estimate, mCSR (of the checks of such replies: what stands outside the tags
    of others is scored with them, and often fails). ValueError for arms that ask for no tags.
    """
    rows = final(checks, by)
    if untagged := sorted(set(rows["arm"]) & set(UNTAGGED)):
        raise ValueError(f"tag_use: the arm {untagged[0]!r} asks for no tags")
    named = texts(rows["answer_flags"]).str.extract(rf"\b({'|'.join(TAGS)})\b", expand=False)
    rows = rows.assign(tag=named)
    rates = rows.groupby([*by, "tag"], observed=True)["passed"].mean().rename("mCSR").reset_index()
    of_replies = rows.drop_duplicates(KEYS)
    return _kinds(of_replies, by, "tag", list(TAGS)).merge(rates, on=[*by, "tag"], how="left")


def budget_use(checks: pd.DataFrame, by: Sequence[str] = ("model", "k")) -> pd.DataFrame:
    """The share of replies that hit their token limit, in the answer or before it began; three rows per cell of `by`.

    Columns: `by`, end ("complete", "cut in the answer", "cut before the answer"), count, those of an estimate, tokens
    (mean of such replies). Where no tags are asked for, or used, nothing tells where the answer begins: what is cut
    counts as cut before it if there is no tag, and as cut in it in arms without tags.
    """
    rows = scored(final(checks, by)).drop_duplicates(KEYS)
    cut = rows["answer_status"] == "truncated"
    before = cut & texts(rows["answer_flags"]).str.contains(r"\bno_tag\b")
    end = before.map({True: "cut before the answer", False: "cut in the answer"}).where(cut, "complete")
    rows = rows.assign(end=end, completion_tokens=rows["completion_tokens"].astype(float))
    tokens = rows.groupby([*by, "end"], observed=True)["completion_tokens"].mean().rename("tokens").reset_index()
    ends = ["complete", "cut in the answer", "cut before the answer"]
    return _kinds(rows, by, "end", ends).merge(tokens, on=[*by, "end"], how="left")


# ------------------------------------------------------------------------------------------------------ first violation

BEGINNING, NEAR = 150, 60
"""A violation is one of speaking of the task only so many characters from the start, and so near to words that do
(paper, section G)."""
_ECHO = re.compile(
    r"\b(?:constraint|instruction|requirement|lipogram)s?\b"
    r"|\b(?:no|not|without|avoid(?:ing|s|ed)?|omit(?:ting|s|ted)?|exclud(?:e|es|ed|ing)|forbid(?:s|den|ding)?)"
    r"(?:\W{1,3}\w{1,12}){0,3}\W{1,3}letters?\b"
    r"|\bletters?\W{1,4}[a-z]\b",
    re.IGNORECASE,
)


def violations(checks: pd.DataFrame, replies: pd.DataFrame, constraint: str = "L1") -> pd.DataFrame:
    """Every failed check of a constraint, with where in the answer it is first broken. One row per check.

    Columns: KEYS, position, k, constraint, class (of L1: a key of `L1_CLASSES`; of others: genuine, refusal, empty), at
    (offset in the answer), place (that over the length of the answer: 0 is its start; NaN where no place offends), near
    (the characters around it). An L1 failure is of the first class that fits, in the order empty, refusal, meta, case,
    genuine; meta needs words about the task near the violation and close to the start.

    ValueError where a reply is missing, or a check does not fail when it is made again (another version).
    """
    import pandas as pd

    if constraint not in CONSTRAINTS:
        raise ValueError(unknown("constraint", constraint, CONSTRAINTS))
    kind = CONSTRAINTS[constraint]
    rows = final(checks)
    failed = rows[(rows["constraint"] == constraint) & (rows["passed"] == 0)]
    columns = [replies[name].tolist() for name in (*KEYS, "text", "finish_reason")]
    texts = {tuple(row[:-2]): row[-2:] for row in zip(*columns, strict=True)}
    out = []
    for row in failed[[*KEYS, "position", "k", "constraint", "params", "answer_status"]].to_dict("records"):
        key = tuple(row[name] for name in KEYS)
        if key not in texts:
            raise ValueError(f"violations: the reply of {row['model']} to {row['item']} is not among the replies")
        text, reason = texts[key]
        answer = answer_of(text, reason, row["arm"]).answer
        verdict = kind.check(Text(answer), **json.loads(row.pop("params")))
        if verdict.passed:
            raise ValueError(f"violations: {row['item']}: {constraint} passes when it is checked again; score first")
        starts = [start for start, _ in verdict.spans]
        at = min(starts) if starts else math.nan
        row |= {"at": at, "place": at / len(answer) if starts else math.nan, "near": ""}
        if starts:
            row["near"] = answer[max(0, at - NEAR) : at + NEAR]
        row["class"] = _class(answer, row.pop("answer_status"), at, [answer[s:e] for s, e in verdict.spans], constraint)
        out.append(row)
    return pd.DataFrame(out, columns=[*KEYS, "position", "k", "constraint", "class", "at", "place", "near"])


def _class(answer: str, status: str, at: float, hits: Sequence[str], constraint: str) -> str:
    if not any(map(str.isalnum, answer)):
        return "empty"
    if status == "refused":
        return "refusal"
    if constraint == "L1" and hits:
        echo = _ECHO.search(answer[max(0, int(at) - NEAR) : int(at) + NEAR])
        if at < BEGINNING and echo:
            return "meta"
        if all(hit.isupper() for hit in hits):
            return "case"
    return "genuine"


def failure_classes(found: pd.DataFrame, by: Sequence[str] = ("model",)) -> pd.DataFrame:
    """The share of each class among the failed checks of `violations`, five rows per cell of `by`.

    Columns: `by`, class, count, those of an estimate (n: failed checks).
    """
    return _kinds(found, by, "class", list(L1_CLASSES))


def first_violation(found: pd.DataFrame, by: Sequence[str] = ("model",), fifth: float = 0.2) -> pd.DataFrame:
    """Where genuine failures are first broken: the median place and the share in the first fifth, two rows per cell.

    Columns: `by`, measure ("median", "first fifth"), estimate, low, high, n, n_unscored (no place offends), n_probes,
    few, method. The median's interval is that of order statistics, exact for any distribution; with fewer than six
    failures it is the whole of 0-1.
    """
    import pandas as pd

    genuine = found[found["class"] == "genuine"]
    early = (genuine["place"] < fifth).astype(float).where(genuine["place"].notna())
    table = rate_table(genuine.assign(early=early), by, "early").assign(measure="first fifth")
    medians = [_median(cell["place"].dropna().sort_values().to_numpy()) for _, cell in cells(genuine, by)]
    both = pd.concat([table.assign(measure="median"), table], ignore_index=True)
    for name in ("estimate", "low", "high", "method"):
        both.loc[range(len(table)), name] = [one[name] for one in medians]
    both = both.sort_values(list(by), kind="stable", ignore_index=True) if by else both
    return both[[*by, "measure", *(name for name in RATE_COLUMNS if name != "estimate_all")]]


def _median(places: Any) -> dict[str, Any]:
    import numpy as np
    from scipy import stats

    n = len(places)
    if not n:
        return {"estimate": math.nan, "low": math.nan, "high": math.nan, "method": "no data"}
    rank = int(stats.binom.ppf(0.025, n, 0.5))
    low, high = (float(places[rank - 1]), float(places[n - rank])) if rank else (0.0, 1.0)
    return {"estimate": float(np.median(places)), "low": low, "high": high, "method": "order statistics"}


# ------------------------------------------------------------------------------------------------------------ shortcuts


def reread(checks: pd.DataFrame, reading: str) -> pd.DataFrame:
    """The checks under another reading of the shortcuts (`READINGS`), for any statistic of checks.

    allowed: a check that fails for a shortcut alone passes, with score 1. refused: one that passes by a shortcut fails;
    its score is NaN, since nothing says what it should be.
    """
    if reading not in READINGS:
        raise ValueError(unknown("reading", reading, READINGS))
    if reading == "as scored":
        return checks
    flags = texts(checks["flags"])
    flagged = flags.str.contains(rf"\b(?:{'|'.join(SHORTCUTS)})\b")
    if reading == "refused":
        moved = flagged & (checks["passed"] == 1)
        return checks.assign(passed=checks["passed"].mask(moved, 0.0), score=checks["score"].mask(moved))
    moved = flagged & ~flags.str.contains(r"\bmirror_copies\b") & (checks["passed"] == 0)
    return checks.assign(passed=checks["passed"].mask(moved, 1.0), score=checks["score"].mask(moved, 1.0))


def shortcuts(checks: pd.DataFrame, by: Sequence[str] = ("model",)) -> pd.DataFrame:
    """How often each shortcut is used, and the pass rate of its constraint under both readings.

    A row per cell of `by`, constraint and shortcut that occurs: `by`, constraint, shortcut, count, those of an estimate
    (share of the constraint's checks), passed (as scored), passed_allowed, passed_refused (pass rates), of_passes (the
    share that the shortcut has among what passes when it is allowed; the paper's 82.4 % of F3 and 19.4 % of S6).
    """
    import pandas as pd

    rows = final(checks, by)
    readings = {name: reread(rows, name)["passed"] for name in READINGS}
    rows = rows.assign(allowed=readings["allowed"], refused=readings["refused"])
    out = []
    for names, cell in cells(rows, [*by, "constraint"]):
        flags = texts(cell["flags"]).str.split()
        for name in sorted({flag for some in flags for flag in some} & set(SHORTCUTS), key=list(SHORTCUTS).index):
            used = flags.map(lambda some, name=name: name in some)
            row = {"shortcut": name, "count": int(used.sum())}
            row |= rate_row(used.astype(float).where(cell["passed"].notna()), cell)
            row |= {"passed": cell["passed"].mean(), "passed_allowed": cell["allowed"].mean()}
            passes = cell["allowed"] == 1
            row |= {
                "passed_refused": cell["refused"].mean(),
                "of_passes": used[passes].mean() if passes.any() else math.nan,
            }
            out.append(names | row)
    columns = [
        "constraint",
        "shortcut",
        "count",
        *RATE_COLUMNS,
        "passed",
        "passed_allowed",
        "passed_refused",
        "of_passes",
    ]
    return pd.DataFrame(out, columns=[*by, *columns])
