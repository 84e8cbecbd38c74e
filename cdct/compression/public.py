"""Result files of the CDCT paper's public code, and of a lab's own runs of it, as rows and ballots.

That code told models and judges different things. Models, by c: under 20 words below .2, 2 to 3 sentences below .5,
from .5 on that they may elaborate; in its ablation 2 to 3 sentences at every level. Judges: under 20 words below .3,
under 50 below .6, no limit above, with the number of words beside it. None of it is the paper's "exactly 35 words"
(section 3.1). The files carry no licence and are not in this repository; counts of them are, see `public_summary`.
"""

from __future__ import annotations

import json
import math
import os
import reprlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdct.core import KEYS, resolve, unknown
from cdct.text import words

if TYPE_CHECKING:
    import pandas as pd

METRICS = ("CC", "SA", "FC")
STRATEGY = "compression_aware"
"""The prompt strategy whose instructions `told` knows; the code's other ones name no length."""
ARMS = {"": "as-released", "no_helpfulness": "as-released-short"}
"""The files' type of ablation ("" for none) -> arm."""
ROW_COLUMNS = [
    *KEYS,
    *("concept", "domain", "c", "context_words", "words", "words_reported", "limit", "inside", "told"),
    *("cc", "sa", "fc", "cc_published", "n_judges", "status", "unscored", "flags"),
]
BALLOT_COLUMNS = [*KEYS, "judge", "shown", "metric", "score", "status", "flags", "unscored"]
TRIAL_COLUMNS = ["concept", "model", "baseline", "ablated", "difference", "percent", "flags", "unscored"]


def find_folder(folder: str | None = None) -> Path | None:
    """The folder of the public files: the one given, else that in the environment variable CDCT_PUBLIC, else None.

    A relative one lies below the workbench's folder. FileNotFoundError when the one that is named is not there.
    """
    named = folder or os.environ.get("CDCT_PUBLIC")
    if not named:
        return None
    if not resolve(named).is_dir():
        source = "`folder`" if folder else "the environment variable CDCT_PUBLIC"
        raise FileNotFoundError(f"the public CDCT files: {source} names {named}, which is no folder")
    return resolve(named)


def told(c: float, arm: str) -> str:
    """What the public code asked of the length of a model's reply at level c."""
    if arm == ARMS["no_helpfulness"] or 0.2 <= c < 0.5:
        return "2 to 3 sentences"
    return "under 20 words" if c < 0.2 else "may elaborate"


def judged_limit(c: float) -> float:
    """The words that a reply at level c must stay below, as the judges were told; NaN where there was no limit."""
    return 20.0 if c < 0.3 else 50.0 if c < 0.6 else math.nan


def score_of(value: Any) -> tuple[float, str]:
    """A score on 0-1 and "", or NaN and the reason why it is none. Nothing is clamped, and 0 is a score like others."""
    if value is None:
        return math.nan, "no score"
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return math.nan, f"not a number: {reprlib.repr(value)}"
    return (float(value), "") if 0 <= value <= 1 else (math.nan, f"not within 0 to 1: {reprlib.repr(value)}")


def read_results(folder: str | os.PathLike[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows and ballots of all result files (*.json) in a folder and its results_jury and results_jury_ablation.

    A row is a reply or a level that failed; columns: `ROW_COLUMNS`. `context_words` and `words_reported` are the file's
    counts, by blanks, `words` is ours; `inside`: fewer words than the judges' `limit` (None where there is none); `cc`,
    `sa`, `fc`: plain means on 0-1 over the judges who gave one, `n_judges` of them a CC; `cc_published`: the file's own
    weighted mean; flags like "cc_2_of_3" where judges are missing. A row without a reply or a CC is `unscored`, with
    the reason. One ballot per row, judge and metric: of the judges named for the file and of those who voted; every
    judge saw the number of words ("shown"). Status of a ballot: ok, failed (no score), skipped (not asked).

    FileNotFoundError when there is no such file; ValueError with file, field and value for a broken one, and for a
    level that stands twice.
    """
    import pandas as pd

    places = [resolve(folder) / place for place in ("", "results_jury", "results_jury_ablation")]
    loaded = {path: _load(path) for place in places for path in sorted(place.glob("*.json"))}
    files = {path: data for path, data in loaded.items() if "comparisons" not in data}  # those are for `read_trials`
    if not files:
        raise FileNotFoundError(
            f"no CDCT result files (*.json) in {folder} or its folders results_jury, results_jury_ablation"
        )
    rows, ballots, seen = [], [], {}
    for path, data in files.items():
        for row, votes in _levels(_name(path), data):
            key = (row["model"], row["item"], row["arm"])
            if key in seen:
                raise ValueError(f"{', '.join(key)}: stands in {seen[key]} and in {_name(path)}; keep one of them")
            seen[key] = _name(path)
            rows.append(row)
            ballots += votes
    return pd.DataFrame(rows, columns=ROW_COLUMNS), pd.DataFrame(ballots, columns=BALLOT_COLUMNS)


def read_trials(path: str | os.PathLike[str]) -> pd.DataFrame:
    """The trials of the paper's ablation at c = 0.5, one row each, from its file ablation_comparison.json.

    Columns: concept, model, baseline and ablated (CC on 0-1), difference, percent (of the baseline), flags
    ("baseline_0": percent is infinite, or NaN where nothing was gained), unscored ("" or which score is missing and
    why). The gains that the file gives are not used. ValueError with file, field and value for a broken file, and for a
    trial that stands twice.
    """
    import pandas as pd

    where = _name(resolve(path))
    trials: dict[tuple[str, str], dict[str, Any]] = {}
    for number, entry in enumerate(_field(where, _load(resolve(path)), "comparisons", list), start=1):
        concept, model = (_field(f"{where}: trial {number}", entry, name, str) for name in ("concept", "model"))
        if (concept, model) in trials:
            raise ValueError(f"{where}: the trial of {model} on {concept} stands twice; keep one of them")
        (baseline, no_baseline), (ablated, no_ablated) = (
            score_of(entry.get("baseline_cc")),
            score_of(entry.get("ablated_cc")),
        )
        reasons = {"baseline": no_baseline, "ablated": no_ablated}
        trials[concept, model] = {
            **{"concept": concept, "model": model, "baseline": baseline, "ablated": ablated},
            "flags": "baseline_0" if baseline == 0 else "",
            "unscored": "; ".join(f"{name}: {reason}" for name, reason in reasons.items() if reason),
        }
    return gains(
        pd.DataFrame(trials.values(), columns=[name for name in TRIAL_COLUMNS if name not in ("difference", "percent")])
    )[TRIAL_COLUMNS]


def gains(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials with `difference` (ablated minus baseline) and `percent` (the same in percent of the baseline)."""
    difference = trials["ablated"].astype(float) - trials["baseline"]
    return trials.assign(difference=difference, percent=100 * difference / trials["baseline"])


# ---------------------------------------------------------------------------------------------------------- one file


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _load(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # broken JSON or UTF-8; nested too deep
        raise ValueError(f"{_name(path)}: not valid JSON: {error}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{_name(path)}: must hold a JSON object, got {reprlib.repr(data)}")
    return data


def _field(where: str, data: Any, name: str, kind: type, missing: Any = None) -> Any:
    """A field of a JSON object; `missing`, where that is given, for null and for no field. No name may be empty."""
    kinds = {str: "a text", list: "a list", dict: "an object", float: "a number from 0 to 1", int: "a whole number"}
    if not isinstance(data, dict):
        raise ValueError(f"{where}: must be a JSON object, got {reprlib.repr(data)}")
    value = data.get(name)
    if value is None and missing is not None:
        return missing
    fits = not score_of(value)[1] if kind is float else isinstance(value, kind) and not isinstance(value, bool)
    if not fits or (value == "" and missing is None):
        raise ValueError(f"{where}: {name} must be {kinds[kind]}, got {reprlib.repr(value)}")
    return value


def _levels(where: str, data: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The row and the ballots of each level of a result file."""
    concept, domain, model = (_field(where, data, name, str) for name in ("concept", "domain", "subject_model"))
    ablation, strategy = _field(where, data, "ablation_type", str, ""), _field(where, data, "prompt_strategy", str)
    if ablation not in ARMS:
        raise ValueError(f"{where}: {unknown('ablation_type', ablation, filter(None, ARMS))}")
    if strategy != STRATEGY:
        raise ValueError(f"{where}: {unknown('prompt_strategy', strategy, [STRATEGY])}")
    answered, failures = _field(where, data, "performance", list), _field(where, data, "failed_levels", list, [])
    if not answered and not failures:
        raise ValueError(f"{where}: performance and failed_levels are both empty")
    judges = _field(where, data, "jury_models", list, [])
    arm = ARMS[ablation]
    for entry in [*answered, *failures]:
        c = float(_field(where, entry, "compression_level", float))
        here = f"{where}: level {c:g}"
        item = f"cdct-public/{concept}/c{round(100 * c):03d}"
        keys = dict(zip(KEYS, ("cdct", arm, item, model, 0, 0), strict=True))
        text, error = _field(here, entry, "response", str, ""), _field(here, entry, "error", str, "")
        # a text that begins so is how that code hands on a call that failed
        failed = entry.get("response") is None or text.lstrip().startswith("Error:")
        jury = _field(here, entry, "jury_evaluation", dict, {})
        ballots = _ballots(here, keys, judges, jury, failed)
        given = {metric: [vote["score"] for vote in ballots if vote["metric"] == metric] for metric in METRICS}
        votes = {metric: [score for score in scores if score == score] for metric, scores in given.items()}
        n_judges = len(votes["CC"])
        flags = [f"{m.lower()}_{len(votes[m])}_of_{len(given[m])}" for m in METRICS if len(votes[m]) < len(given[m])]
        published, reason = score_of(_field(here, jury, "consensus", dict, {}).get("CC"))
        flags += ["cc_published_unreadable"] if reason not in ("", "no score") else []
        why = (text.strip() or error or "no reply")[:200]
        limit, count = judged_limit(c), math.nan if failed else len(words(text))
        yield (
            keys
            | {"concept": concept, "domain": domain, "c": c, "told": told(c, arm), "limit": limit, "words": count}
            | {"context_words": _field(here, entry, "context_length", int, math.nan)}
            | {"words_reported": _field(here, entry, "response_length", int, math.nan)}
            | {"inside": None if failed or math.isnan(limit) else count < limit}
            | {m.lower(): sum(scores) / len(scores) if scores else math.nan for m, scores in votes.items()}
            | {"cc_published": math.nan if failed else published, "n_judges": n_judges, "flags": " ".join(flags)}
            | {"status": "failed" if failed else "ok" if text.strip() else "empty"}
            | {"unscored": why if failed else "" if n_judges else "no judge gave a CC"},
            ballots,
        )


def _ballots(
    here: str, keys: dict[str, Any], named: list[Any], jury: dict[str, Any], failed: bool
) -> list[dict[str, Any]]:
    """A ballot per judge and metric."""
    verdicts = _field(here, jury, "judges", dict, {})
    out = []
    for judge in dict.fromkeys([*map(str, named), *verdicts]):
        verdict = _field(f"{here}: judges", verdicts, judge, dict, {})
        for metric in METRICS:
            score, reason = score_of(verdict.get(metric))
            status = "failed" if reason else "ok"
            if failed or not verdict:
                score, status, reason = math.nan, "skipped", "no reply to judge" if failed else "no ballot"
            elif reason == "no score" and verdict.get("error"):
                reason = f"no score: {verdict['error']}"[:200]
            ballot = {"judge": judge, "shown": "shown", "metric": metric, "score": score, "status": status}
            out.append(keys | ballot | {"flags": "", "unscored": reason})
    return out
