"""The public result files of CDCT: read without losing or inventing a score, and the paper's numbers out of them."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import fleiss_kappa

import cdct
from cdct.compression.public import (
    BALLOT_COLUMNS,
    ROW_COLUMNS,
    TRIAL_COLUMNS,
    find_folder,
    gains,
    judged_limit,
    read_results,
    read_trials,
    score_of,
    told,
)
from cdct.compression.public_summary import (
    CLAIM_COLUMNS,
    PRINTED,
    TABLES,
    high_counts,
    load_summary,
    summary_tables,
    trial_summary,
)
from cdct.core import KEYS, read_table, save_tables
from cdct.stats.agreement import agreement
from cdct.stats.association import log_odds, mean_two_way

PUBLIC = Path(
    os.environ.get("CDCT_PUBLIC") or Path(cdct.__file__).resolve().parents[2] / "shared" / "data" / "cdct_public"
)
needs_files = pytest.mark.skipif(
    not PUBLIC.is_dir(), reason="the public CDCT result files are absent; CDCT_PUBLIC names their folder"
)


def level(c: float, text: Any = "three short words", votes: Any = None, **more: Any) -> dict[str, Any]:
    """A level that was answered; `votes` are the judges' verdicts."""
    judges = {name: {"CC": 0.5, "SA": 0.9, "FC": 1} for name in "ABC"} if votes is None else votes
    jury = {"judges": judges, "consensus": {"CC": 0.55, "SA": 0.9, "FC": 1.0, "judge_count": 3}}
    return {
        **{"compression_level": c, "context_length": 7, "response_length": 4, "response": text},
        **{"jury_evaluation": jury, "score": 0.4},
    } | more


def result(*levels: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        **{"concept": "tides", "domain": "physics", "subject_model": "m", "jury_models": ["A", "B", "C"]},
        **{"evaluation_system": "jury", "prompt_strategy": "compression_aware", "ablation_type": None},
        **{"performance": list(levels), "failed_levels": []},
    } | more


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes files named by keyword (`__` parts folder and file) and gives their folder."""

    def files(**contents: Any) -> Path:
        for name, content in contents.items():
            path = tmp_path / f"{name.replace('__', '/')}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return tmp_path

    return files


def one(write: Callable[..., Path], *levels: dict[str, Any], **more: Any) -> tuple[dict[str, Any], pd.DataFrame]:
    rows, ballots = read_results(write(a=result(*levels, **more)))
    assert len(rows) == 1
    return rows.iloc[0].to_dict(), ballots


# ----------------------------------------------------------------------------------------------------- what was asked


@pytest.mark.parametrize(
    ("c", "model", "judges"),
    [
        (0.0, "under 20 words", 20),
        (0.19, "under 20 words", 20),
        (0.2, "2 to 3 sentences", 20),
        (0.25, "2 to 3 sentences", 20),
        (0.3, "2 to 3 sentences", 50),
        (0.49, "2 to 3 sentences", 50),
        (0.5, "may elaborate", 50),
        (0.59, "may elaborate", 50),
        (0.6, "may elaborate", math.nan),
        (1.0, "may elaborate", math.nan),
    ],
)
def test_models_and_judges_were_told_different_things(c: float, model: str, judges: float) -> None:
    assert told(c, "as-released") == model
    assert told(c, "as-released-short") == "2 to 3 sentences"
    assert judged_limit(c) == pytest.approx(judges, nan_ok=True)


# ------------------------------------------------------------------------------------------------------- result files


def test_a_level_is_a_row_and_nine_ballots(write: Callable[..., Path]) -> None:
    votes = {
        "A": {"CC": 0.2, "SA": 1.0, "FC": 0},
        "B": {"CC": 0.4, "SA": 1.0, "FC": 0},
        "C": {"CC": 0.9, "SA": 1, "FC": 1},
    }
    row, ballots = one(write, level(0.25, "Two words - here", votes))
    expected = {
        **{"benchmark": "cdct", "arm": "as-released", "item": "cdct-public/tides/c025", "model": "m"},
        **{"sample": 0, "turn": 0, "concept": "tides", "domain": "physics", "c": 0.25, "context_words": 7},
        # the lone mark is a word by blanks, and none by ours
        **{"words": 3, "words_reported": 4, "limit": 20.0, "inside": True, "told": "2 to 3 sentences"},
        **{"cc": pytest.approx(0.5), "sa": 1.0, "fc": pytest.approx(1 / 3), "cc_published": 0.55, "n_judges": 3},
        **{"status": "ok", "unscored": "", "flags": ""},
    }
    assert row == expected
    assert list(row) == ROW_COLUMNS
    assert list(ballots) == BALLOT_COLUMNS
    assert [tuple(line) for line in ballots[["judge", "metric", "score"]].to_numpy()] == [
        (judge, metric, votes[judge][metric]) for judge in "ABC" for metric in ("CC", "SA", "FC")
    ]
    assert (ballots[KEYS] == [row[key] for key in KEYS]).all().all()
    assert set(map(tuple, ballots[["shown", "status", "flags", "unscored"]].to_numpy())) == {("shown", "ok", "", "")}


@pytest.mark.parametrize(
    ("c", "n", "inside"), [(0.0, 19, True), (0.0, 20, False), (0.5, 49, True), (0.5, 50, False), (0.75, 9, None)]
)
def test_inside_is_under_the_limit(write: Callable[..., Path], c: float, n: int, inside: bool | None) -> None:
    row, _ = one(write, level(c, "word " * n))
    assert row["inside"] is inside
    assert row["words"] == n


def test_the_ablation_is_an_arm_of_its_own(write: Callable[..., Path]) -> None:
    rows, _ = read_results(
        write(
            results_jury__a=result(level(0.0), level(1.0)),
            results_jury_ablation__a=result(level(0.0), level(1.0), ablation_type="no_helpfulness"),
            other__a=result(level(0.0)),
            trials={"comparisons": []},
        )
    )
    assert rows["arm"].tolist() == ["as-released"] * 2 + ["as-released-short"] * 2
    assert rows["told"].tolist() == ["under 20 words", "may elaborate"] + ["2 to 3 sentences"] * 2


NO_REPLY = "Model returned a None response"


@pytest.mark.parametrize(
    ("given", "unscored"),
    [
        ({"performance": [level(0.5, "Error: 429")]}, "Error: 429"),
        ({"performance": [level(0.5, " Error: timed out")]}, "Error: timed out"),
        ({"performance": [level(0.5, "Error: " + "x" * 10**6)]}, "Error: " + "x" * 193),
        ({"performance": [level(0.5, None)]}, "no reply"),
        ({"performance": [level(0.5, None, error="cut off")]}, "cut off"),
        (
            {"performance": [], "failed_levels": [{"compression_level": 0.5, "context_length": 7, "error": NO_REPLY}]},
            NO_REPLY,
        ),
        ({"performance": [], "failed_levels": [{"compression_level": 0.5}]}, "no reply"),
    ],
)
def test_a_failed_level_is_an_unscored_row(write: Callable[..., Path], given: dict[str, Any], unscored: str) -> None:
    """Also where the file has votes on an error's text: they judge no reply."""
    row, ballots = one(write, **given)
    assert (row["status"], row["unscored"], row["inside"], row["n_judges"]) == ("failed", unscored, None, 0)
    assert all(math.isnan(row[name]) for name in ("words", "cc", "sa", "fc", "cc_published"))
    assert len(ballots) == 9
    assert ballots["score"].isna().all()
    assert set(ballots["status"]) == {"skipped"}
    assert set(ballots["unscored"]) == {"no reply to judge"}


@pytest.mark.parametrize("jury", [None, {}, {"judges": None}, {"judges": {}, "consensus": None}])
def test_a_reply_without_a_jury_keeps_its_words(write: Callable[..., Path], jury: Any) -> None:
    row, ballots = one(write, level(0.5, jury_evaluation=jury))
    assert (row["status"], row["words"], row["inside"]) == ("ok", 3, True)
    assert (row["unscored"], row["n_judges"], row["flags"]) == (
        "no judge gave a CC",
        0,
        "cc_0_of_3 sa_0_of_3 fc_0_of_3",
    )
    assert math.isnan(row["cc"])
    assert math.isnan(row["cc_published"])
    assert set(ballots["unscored"]) == {"no ballot"}


@pytest.mark.parametrize(
    ("verdict", "status", "unscored"),
    [
        ({"CC": None, "SA": 0.9, "FC": 1}, "failed", "no score"),
        ({"CC": None, "SA": 0.9, "FC": 1, "error": "Parse error: x"}, "failed", "no score: Parse error: x"),
        ({"SA": 0.9, "FC": 1}, "failed", "no score"),
        ({"CC": 1.2, "SA": 0.9, "FC": 1}, "failed", "not within 0 to 1: 1.2"),
        ({"CC": -0.1, "SA": 0.9, "FC": 1}, "failed", "not within 0 to 1: -0.1"),
        ({"CC": 7, "SA": 0.9, "FC": 1}, "failed", "not within 0 to 1: 7"),
        ({"CC": math.nan, "SA": 0.9, "FC": 1}, "failed", "not a number: nan"),
        ({"CC": math.inf, "SA": 0.9, "FC": 1}, "failed", "not within 0 to 1: inf"),
        ({"CC": True, "SA": 0.9, "FC": 1}, "failed", "not a number: True"),
        ({"CC": "0.8", "SA": 0.9, "FC": 1}, "failed", "not a number: '0.8'"),
        ({"CC": [0.8], "SA": 0.9, "FC": 1}, "failed", "not a number: [0.8]"),
        (None, "skipped", "no ballot"),
        ({}, "skipped", "no ballot"),
    ],
)
def test_a_missing_vote_is_named_and_never_made_up(
    write: Callable[..., Path], verdict: Any, status: str, unscored: str
) -> None:
    good = {"CC": 0.5, "SA": 0.9, "FC": 1}
    row, ballots = one(write, level(0.5, votes={"A": good, "B": good | {"CC": 0.1}, "C": verdict}))
    ballot = ballots[(ballots["judge"] == "C") & (ballots["metric"] == "CC")].iloc[0]
    assert (ballot["status"], ballot["unscored"]) == (status, unscored)
    assert math.isnan(ballot["score"])
    assert (row["cc"], row["n_judges"], row["unscored"]) == (pytest.approx(0.3), 2, "")
    assert row["flags"] == ("cc_2_of_3" if verdict else "cc_2_of_3 sa_2_of_3 fc_2_of_3")


def test_a_compliance_of_zero_is_a_score(write: Callable[..., Path]) -> None:
    zero = {"CC": 0.0, "SA": 0, "FC": 0.0}
    row, ballots = one(write, level(0.5, votes=dict.fromkeys("ABC", zero)))
    assert (row["cc"], row["sa"], row["fc"], row["unscored"], row["n_judges"]) == (0, 0, 0, "", 3)
    assert ballots["score"].tolist() == [0.0] * 9


def test_an_empty_reply_that_was_judged_is_a_reply(write: Callable[..., Path]) -> None:
    row, _ = one(write, level(0.0, "  "))
    assert (row["status"], row["words"], row["cc"], row["inside"]) == ("empty", 0, 0.5, True)


def test_judges_who_are_not_named_for_the_file_count_too(write: Callable[..., Path]) -> None:
    row, ballots = one(write, level(0.0), jury_models=["D"])
    assert ballots["judge"].unique().tolist() == ["D", "A", "B", "C"]
    assert (row["n_judges"], row["flags"]) == (3, "cc_3_of_4 sa_3_of_4 fc_3_of_4")


def test_a_file_mean_that_is_none_is_flagged(write: Callable[..., Path]) -> None:
    jury = level(0.0)["jury_evaluation"] | {"consensus": {"CC": "high"}}
    row, _ = one(write, level(0.0, jury_evaluation=jury))
    assert math.isnan(row["cc_published"])
    assert (row["flags"], row["cc"]) == ("cc_published_unreadable", 0.5)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("[1]", "must hold a JSON object, got [1]"),
        ({}, "concept must be a text, got None"),
        (result(level(0.5), concept=""), "concept must be a text, got ''"),
        (result(level(0.5), subject_model=7), "subject_model must be a text, got 7"),
        (result(level(0.5), performance="x"), "performance must be a list, got 'x'"),
        (result(level(0.5), failed_levels={}), "failed_levels must be a list, got {}"),
        (result(), "performance and failed_levels are both empty"),
        (result(1), "must be a JSON object, got 1"),  # type: ignore[arg-type]
        (
            result(level(0.5), ablation_type="no_help"),
            "ablation_type 'no_help' is not known; did you mean 'no_helpfulness'?",
        ),
        (
            result(level(0.5), prompt_strategy="simple"),
            "prompt_strategy 'simple' is not known; known: compression_aware",
        ),
        (result(level(2)), "compression_level must be a number from 0 to 1, got 2"),
        (result(level(True)), "compression_level must be a number from 0 to 1, got True"),
        (result(level(math.nan)), "compression_level must be a number from 0 to 1, got nan"),
        (result(level(0.5, ["x"])), "level 0.5: response must be a text, got ['x']"),
        (result(level(0.5, response_length="3")), "level 0.5: response_length must be a whole number, got '3'"),
        (result(level(0.5, jury_evaluation=[])), "level 0.5: jury_evaluation must be an object, got []"),
        (result(level(0.5, votes=[])), "level 0.5: judges must be an object, got []"),
        (result(level(0.5, votes={"A": 0.5})), "level 0.5: judges: A must be an object, got 0.5"),
    ],
)
def test_a_broken_file_is_named(write: Callable[..., Path], content: Any, message: str) -> None:
    folder = write(bad=content)
    with pytest.raises(ValueError) as caught:
        read_results(folder)
    assert str(caught.value) == f"{folder.name}/bad.json: {message}"


def test_what_a_message_shows_of_a_value_is_short(write: Callable[..., Path]) -> None:
    with pytest.raises(ValueError) as caught:
        read_results(write(bad=result(level(0.5, ["x" * 10**6]))))
    assert len(str(caught.value)) < 200


def test_deep_nesting_is_a_broken_file(write: Callable[..., Path]) -> None:
    with pytest.raises(ValueError, match="not valid JSON"):
        read_results(write(bad="[" * 10**6))


def test_a_long_reply_is_counted(write: Callable[..., Path]) -> None:
    row, _ = one(write, level(1.0, "a- " * 350_000))
    assert row["words"] == 350_000


def test_a_level_stands_once(write: Callable[..., Path]) -> None:
    folder = write(a=result(level(0.0), level(0.5)), results_jury__b=result(level(0.5)))
    with pytest.raises(ValueError) as caught:
        read_results(folder)
    assert str(caught.value) == (
        f"m, cdct-public/tides/c050, as-released: stands in {folder.name}/a.json and in results_jury/b.json; "
        "keep one of them"
    )
    failed = [{"compression_level": 0.5, "error": NO_REPLY}]
    with pytest.raises(ValueError, match=r"stands in .*/a\.json and in .*/a\.json"):
        read_results(write(a=result(level(0.5), failed_levels=failed)))


def test_a_folder_without_result_files_is_an_error(write: Callable[..., Path]) -> None:
    for folder in (write(trials={"comparisons": []}), write() / "absent"):
        with pytest.raises(FileNotFoundError) as caught:
            read_results(folder)
        assert str(caught.value) == (
            f"no CDCT result files (*.json) in {folder} or its folders results_jury, results_jury_ablation"
        )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["CC", "SA", "A"]), inner, max_size=3),
    max_leaves=5,
)


@given(JSON)
def test_a_score_is_in_range_or_has_a_reason(value: Any) -> None:
    score, reason = score_of(value)
    assert (0 <= score <= 1) == (reason == "")


@given(st.sampled_from(["response", "jury_evaluation", "compression_level", "error", "response_length"]), JSON, JSON)
def test_whatever_a_file_holds_it_is_read_or_refused(name: str, value: Any, votes: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.json").write_text(
            json.dumps(result(level(0.5, votes=votes, **{name: value}))), encoding="utf-8"
        )
        try:
            rows, ballots = read_results(folder)
        except ValueError as error:
            assert "/a.json: " in str(error)  # noqa: PT017 - most values are refused, some are read
            return
    row = rows.iloc[0]
    assert (row["unscored"] == "") == (0 <= row["cc"] <= 1)
    assert ((ballots["unscored"] == "") == ballots["score"].between(0, 1)).all()


# --------------------------------------------------------------------------------------------------------- the folder


def test_the_folder_is_the_one_given_or_in_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert find_folder() is None
    assert find_folder("") is None
    assert find_folder(str(tmp_path)) == tmp_path
    assert find_folder("data/published") == Path(cdct.__file__).resolve().parents[1] / "data" / "published"
    monkeypatch.setenv("CDCT_PUBLIC", str(tmp_path))
    assert find_folder() == tmp_path
    assert find_folder("data") != tmp_path
    monkeypatch.setenv("CDCT_PUBLIC", "nowhere")
    with pytest.raises(FileNotFoundError) as caught:
        find_folder()
    assert str(caught.value) == (
        "the public CDCT files: the environment variable CDCT_PUBLIC names nowhere, which is no folder"
    )
    with pytest.raises(FileNotFoundError, match=r"^the public CDCT files: `folder` names absent, which is no folder$"):
        find_folder("absent")


# ------------------------------------------------------------------------------------------------------------- trials


def trial(concept: str, model: str, baseline: Any, ablated: Any) -> dict[str, Any]:
    return {"concept": concept, "model": model, "baseline_cc": baseline, "ablated_cc": ablated, "improvement_pct": 1e9}


def test_trials_have_their_gains_computed_again(write: Callable[..., Path]) -> None:
    given = [
        *(trial("a", "m", 0.25, 0.75), trial("b", "m", 0.5, 0.5), trial("c", "m", 0, 0.5), trial("d", "m", 0.0, 0.0)),
        *(trial("e", "m", None, 0.5), trial("f", "m", 0.5, 1.5)),
        trial("a", "k", "0.5", 0.5),
    ]
    table = read_trials(write(t={"comparisons": given}) / "t.json")
    assert list(table) == TRIAL_COLUMNS
    nan = math.nan
    assert table["difference"].tolist() == pytest.approx([0.5, 0, 0.5, 0, nan, nan, nan], nan_ok=True)
    assert table["percent"].tolist() == pytest.approx([200, 0, math.inf, nan, nan, nan, nan], nan_ok=True)
    assert table["flags"].tolist() == ["", "", "baseline_0", "baseline_0", "", "", ""]
    reasons = ["baseline: no score", "ablated: not within 0 to 1: 1.5", "baseline: not a number: '0.5'"]
    assert table["unscored"].tolist() == [""] * 4 + reasons
    claims = trial_summary(table).set_index(["claim", "model"])
    assert claims.loc[("mean percent", ""), ["estimate", "n", "n_unscored"]].tolist() == [100, 2, 5]
    assert claims.loc[("positive", ""), ["estimate", "n", "n_unscored"]].tolist() == [2, 4, 3]
    assert claims.loc[("difference", "m"), ["estimate", "n", "n_unscored"]].tolist() == [0.25, 4, 2]
    assert claims.loc[("difference", "k"), ["n", "n_unscored"]].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "comparisons must be a list, got None"),
        ({"comparisons": [[]]}, "trial 1: must be a JSON object, got []"),
        ({"comparisons": [trial("a", "", 0, 1)]}, "trial 1: model must be a text, got ''"),
        (
            {"comparisons": [trial("a", "m", 0, 1), trial("b", "m", 0, 1), trial("a", "m", 0, 0.5)]},
            "the trial of m on a stands twice; keep one of them",
        ),
    ],
)
def test_a_broken_file_of_trials_is_named(write: Callable[..., Path], content: Any, message: str) -> None:
    folder = write(t=content)
    with pytest.raises(ValueError) as caught:
        read_trials(folder / "t.json")
    assert str(caught.value) == f"{folder.name}/t.json: {message}"


def test_claims_of_four_trials_by_hand(write: Callable[..., Path]) -> None:
    """The scores sum to 1 and to 3 of 4, with half a success and half a failure: odds of 1.5 / 3.5 and 3.5 / 1.5."""
    given = [trial("a", "m", 0.2, 1.0), trial("b", "m", 0.3, 0.5), trial("a", "k", 0.1, 0.7), trial("b", "k", 0.4, 0.8)]
    table = trial_summary(read_trials(write(t={"comparisons": given}) / "t.json"))
    assert list(table) == CLAIM_COLUMNS
    claims = table.set_index(["claim", "model"])["estimate"]
    assert claims["mean percent", ""] == pytest.approx((400 + 200 / 3 + 600 + 100) / 4)
    assert claims["median percent", ""] == pytest.approx(250)
    assert (claims["positive", ""], claims["perfect", ""]) == (4, 1)
    assert claims["baseline", ""] == pytest.approx(0.25)
    assert claims["ablated", ""] == pytest.approx(0.75)
    assert claims["difference", ""] == pytest.approx(0.5)
    assert claims["log odds", ""] == pytest.approx(2 * math.log(3.5 / 1.5))
    assert claims["difference", "m"] == pytest.approx(0.5)
    assert claims["ablated", "k"] == pytest.approx(0.75)


def test_intervals_respect_models_and_concepts() -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame([(f"c{i}", f"m{j}") for i in range(8) for j in range(9)], columns=["concept", "model"])
    table = table.assign(baseline=rng.uniform(0, 1, 72), ablated=rng.uniform(0, 1, 72))
    claims = trial_summary(table)
    claims = claims[claims["model"] == ""].set_index("claim")
    assert claims.loc["difference", "low"] < 0 < claims.loc["difference", "high"]
    assert claims.loc["log odds", "low"] < 0 < claims.loc["log odds", "high"]
    difference = table["ablated"] - table["baseline"]
    expected = mean_two_way(difference, table["model"], table["concept"], (-1.0, 1.0))
    columns = ["estimate", "low", "high", "n", "method"]
    assert tuple(claims.loc["difference", columns]) == expected
    ends = [log_odds(table["ablated"], table["baseline"], table[name]) for name in ("model", "concept")]
    assert claims.loc["log odds", "high"] - claims.loc["log odds", "low"] == max(end.high - end.low for end in ends)
    # nothing is known of how others differ from a single model
    alone = trial_summary(table[table["model"] == "m0"])
    assert alone.set_index(["claim", "model"]).loc[("log odds", ""), "method"].endswith("(concept)")


# ------------------------------------------------------------------------------------------------------------- counts


def test_counts_of_two_small_files_by_hand(write: Callable[..., Path], tmp_path: Path) -> None:
    def votes(*scores: float | None) -> dict[str, Any]:
        return {judge: {"CC": score, "SA": 0.7, "FC": 0.1} for judge, score in zip("ABC", scores, strict=True)}

    first = result(
        level(0.0, "a " * 35, votes(0.8, 0.9, 1), response_length=36),
        level(0.5, "a " * 49, votes(0.7, 0.1, 0.71), response_length=50),
        level(1.0, "a " * 99, votes(0.7, 0.7, 0.7)),
    )
    second = result(
        level(0.0, "a " * 15, votes(0.7, 0.7, 0.8), response_length=16),
        level(0.5, "a " * 51, votes(0.7, None, 0.8), response_length=52),
        subject_model="k",
        failed_levels=[{"compression_level": 1.0}],
    )
    rows, ballots = read_results(write(a=first, b=second))
    tables = summary_tables(
        rows, ballots, gains(pd.DataFrame({"baseline": [0.5, 0.2, 0.5], "ablated": [1.0, 0.5, 1.0]}))
    )
    assert tuple(tables) == TABLES
    levels, counted, dips, pairs = tables.values()
    assert levels["n"].tolist() == [2, 2, 1]
    assert levels["n_unscored"].tolist() == [0, 0, 1]
    assert levels["mean_words"].tolist() == [25, 50, 99]
    assert levels["mean_words_reported"].tolist() == [26, 51, 4]
    assert levels["n_inside"].tolist()[:2] == [1, 1]
    assert math.isnan(levels["n_inside"][2])
    assert levels["n_35"].tolist() == [1, 0, 0]
    assert levels["n_cc"].tolist() == [2, 2, 1]

    def cell(c: float, metric: str, cut: str) -> dict[Any, int]:
        found = counted[(counted["c"] == c) & (counted["metric"] == metric) & (counted["cut"] == cut)]
        assert found["judges"].unique().tolist() == [3]
        return dict(zip(found["high"].fillna(-1), found["n"], strict=True))

    assert cell(0.0, "CC", ">=0.7") == {3: 2}
    assert cell(0.0, "CC", ">0.7") == {3: 1, 1: 1}
    assert cell(0.5, "CC", ">=0.7") == {2: 1, -1: 1}
    assert cell(0.5, "CC", ">0.7") == {1: 1, -1: 1}
    assert cell(1.0, "CC", ">=0.7") == {3: 1, -1: 1}
    assert cell(0.5, "SA", ">=0.7") == {3: 2}
    assert cell(0.5, "SA", ">0.7") == {0: 2}
    assert counted.groupby(["metric", "cut"])["n"].sum().unique().tolist() == [6]
    # the curve of m is .9, .503, .7; that of k has a hole
    assert dips[dips["metric"] == "cc"][["dips", "n", "n_unscored"]].to_numpy().tolist() == [[1, 1, 1]]
    assert pairs.to_numpy().tolist() == [[0.2, 0.5, 1], [0.5, 1.0, 2]]

    save_tables(tmp_path / "out", **tables)
    for name, table in load_summary(tmp_path / "out").items():
        pd.testing.assert_frame_equal(table, tables[name], check_dtype=False, rtol=1e-9)


def test_a_level_without_any_ballot_is_counted_as_an_incomplete_jury(write: Callable[..., Path]) -> None:
    rows, ballots = read_results(write(a=result(level(0.5, jury_evaluation=None), jury_models=[])))
    assert ballots.empty
    votes = summary_tables(rows, ballots, gains(pd.DataFrame({"baseline": [0.5], "ablated": [1.0]})))[TABLES[1]]
    assert votes["n"].tolist() == [1] * 6
    assert votes["high"].isna().all()


def test_counts_of_votes_are_never_mixed() -> None:
    votes = load_summary()["cdct_public_votes"]
    with pytest.raises(ValueError, match=r"^high_counts: the lines mix metric CC, FC, SA; take one$"):
        high_counts(votes)
    with pytest.raises(ValueError, match=r"^high_counts: the lines mix cut >0.7, >=0.7; take one$"):
        high_counts(votes[votes["metric"] == "CC"])


# ------------------------------------------------------------------------------------- the paper's numbers, from counts


def test_the_committed_trials_give_the_ablation_of_the_paper() -> None:
    """Paper, section 4.6: 598 % on average, 525 % in the median, 71 of 72 with a gain, 57 of 72 perfect."""
    claims = trial_summary(load_summary()["cdct_public_trials"]).set_index("claim")
    assert claims["n"].unique().tolist() == [72]
    assert claims.loc["mean percent", "estimate"] == pytest.approx(598.195, abs=5e-4)
    assert claims.loc["median percent", "estimate"] == pytest.approx(525, abs=1e-9)
    assert (claims.loc["positive", "estimate"], claims.loc["perfect", "estimate"]) == (71, 57)
    assert claims["published"].dropna().to_dict() == {
        **{"mean percent": 598, "median percent": 525, "positive": 71, "perfect": 57}
    }
    assert claims.loc["difference", "estimate"] == pytest.approx(0.8066, abs=5e-5)
    assert claims["low"].isna().all()  # no names, no clusters


def test_the_committed_levels_show_that_models_were_told_otherwise_than_judges() -> None:
    levels = load_summary()["cdct_public_levels"].set_index(["arm", "c"])
    assert (levels["n"].tolist(), levels["n_unscored"].sum()) == ([88] * 10, 0)
    reported = levels["mean_words_reported"].round().astype(int)
    assert reported["as-released"].tolist() == [5, 22, 528, 703, 781]
    assert reported["as-released-short"].tolist() == [19, 23, 30, 52, 67]
    ours = levels["mean_words"].round().astype(int)  # without lone marks, of which tables and formulas are full
    assert ours["as-released"].tolist() == [5, 21, 518, 679, 747]
    assert ours["as-released-short"].tolist() == [19, 23, 30, 52, 67]
    cc = levels["mean_cc_published"].round(3)
    assert cc["as-released"].tolist() == [0.935, 0.741, 0.187, 0.914, 0.942]
    assert cc["as-released-short"].tolist() == [0.751, 0.727, 0.977, 0.755, 0.654]
    middle = levels.xs(0.5, level="c")
    assert middle["limit"].tolist() == [50, 50]
    assert middle["told"].tolist() == ["may elaborate", "2 to 3 sentences"]
    assert middle["n_inside"].tolist() == [0, 87]
    assert levels["n_35"].sum() == 10


def test_the_committed_dips() -> None:
    dips = load_summary()["cdct_public_dips"].set_index(["arm", "metric"])
    assert dips["n"].unique().tolist() == [88]
    assert dips["dips"].to_dict() == {
        ("as-released", "cc"): 87,
        ("as-released", "cc_published"): 87,
        ("as-released-short", "cc"): 0,
        ("as-released-short", "cc_published"): 1,
    }


def kappas(high: np.ndarray) -> tuple[float, float]:
    """Fleiss' kappa of three judges by statsmodels and by ours."""
    with np.errstate(invalid="ignore"):
        oracle = float(fleiss_kappa(np.column_stack([3 - high, high])))
    ours = agreement(high, 3, draws=2).set_index("measure").loc["kappa", "estimate"]
    return oracle, float(ours)


@pytest.mark.parametrize(
    ("metric", "cut", "pooled", "by_level"),
    [
        ("CC", ">=0.7", 0.7697, [0.1351, 0.4181, math.nan, 0.1681, 0.0977]),
        ("CC", ">0.7", 0.7941, [0.1493, 0.5090, math.nan, 0.5143, 0.1948]),
        ("SA", ">=0.7", 0.2010, [0.0397, -0.0076, 0.0573, 0.1948, 0.4803]),
        ("SA", ">0.7", 0.3303, [0.1614, -0.0211, 0.2862, 0.3639, 0.4803]),
        ("FC", ">=0.7", 0.4380, [-0.0208, 0.1473, 0.4926, -0.0312, 0.0977]),
        ("FC", ">0.7", 0.4431, [0.4854, 0.0020, 0.1354, -0.0312, 0.0977]),
    ],
)
def test_pooled_kappa_of_compliance_measures_levels_and_not_judges(
    metric: str, cut: str, pooled: float, by_level: list[float]
) -> None:
    votes = load_summary()["cdct_public_votes"]
    votes = votes[(votes["arm"] == "as-released") & (votes["metric"] == metric) & (votes["cut"] == cut)]
    high = high_counts(votes)
    assert len(high) == {"CC": 437, "SA": 439, "FC": 440}[metric]
    assert kappas(high) == pytest.approx((pooled, pooled), abs=5.1e-5)
    for (_, level_votes), expected in zip(votes.groupby("c"), by_level, strict=True):
        assert kappas(high_counts(level_votes)) == pytest.approx((expected, expected), abs=5.1e-5, nan_ok=True)


# ----------------------------------------------------------------------------------------------------- the public files


@pytest.fixture(scope="module")
def public() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    return *read_results(PUBLIC), read_trials(PUBLIC / "ablation_comparison.json")


@needs_files
def test_the_committed_counts_are_those_of_the_files(public: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]) -> None:
    for (name, made), committed in zip(summary_tables(*public).items(), load_summary().values(), strict=True):
        pd.testing.assert_frame_equal(committed, made, check_dtype=False, rtol=1e-9, obj=name)


@needs_files
def test_no_reply_and_no_vote_of_the_files_is_lost(public: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]) -> None:
    rows, ballots, _ = public
    assert (len(rows), len(ballots)) == (880, 7920)
    assert (rows["unscored"] == "").all()
    assert ballots["score"].isna().sum() == (ballots["unscored"] != "").sum() == 8
    assert (rows["flags"] != "").sum() == 8
    # a truthiness test would take these for missing
    assert (ballots[ballots["metric"] == "CC"]["score"] == 0).sum() == 63
    assert (rows["words_reported"] == 35).sum() == (rows["words"] == 35).sum() == 10
    means = rows.groupby("c")["context_words"].mean().round(1)
    assert means.tolist() == [2.4, 5.0, 26.0, 61.9, 136.4]


@needs_files
def test_the_mean_over_judges_is_near_the_weighted_one_of_the_files(
    public: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame],
) -> None:
    """With weights of 1/2, 1/4, 1/4 a mean of scores on 0-1 moves by 1/6 at most."""
    whole = public[0][public[0]["flags"] == ""]
    off = (whole["cc"] - whole["cc_published"]).abs()
    assert off.max() <= 1 / 6 + 1e-4  # theirs is rounded to four digits
    assert off.mean() < 0.03


@needs_files
def test_the_trials_give_table_3(public: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]) -> None:
    trials = public[2]
    assert (len(trials), trials["concept"].nunique(), trials["model"].nunique()) == (72, 8, 9)
    assert (trials["unscored"] == "").all()
    theirs = json.loads((PUBLIC / "ablation_comparison.json").read_text(encoding="utf-8"))
    assert trials["percent"].tolist() == pytest.approx([entry["improvement_pct"] for entry in theirs["comparisons"]])
    table = trial_summary(trials)
    printed = read_table("data/published/cdct_t3_ablation.csv")
    by_model = table[(table["model"] != "") & (table["claim"] != "difference")]
    assert len(by_model) == 2 * len(printed) == 18
    assert set(by_model["model"].replace(PRINTED)) == set(printed["model"])
    assert (by_model["estimate"] - by_model["published"]).abs().max() <= 0.005
    whole = table[table["model"] == ""].set_index("claim")
    assert whole.loc["difference", "estimate"] == pytest.approx(0.8066, abs=5e-5)
    assert 0.7 < whole.loc["difference", "low"] < 0.8066 < whole.loc["difference", "high"] < 0.9
    assert whole.loc["log odds", "estimate"] == pytest.approx(5.4383, abs=5e-5)
    assert 4 < whole.loc["log odds", "low"] < 5 < 6 < whole.loc["log odds", "high"] < 7


@needs_files
def test_the_gain_of_the_later_runs_rests_on_leaving_out_baselines_of_zero(
    public: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame],
) -> None:
    """583 % over the 80 of 88 pairs whose baseline is not 0; as a difference all 88 count."""
    rows = public[0]
    pairs = rows[rows["c"] == 0.5].pivot_table("cc_published", ["model", "concept"], "arm")
    table = gains(pairs.set_axis(["baseline", "ablated"], axis=1).reset_index())
    claims = trial_summary(table).set_index(["claim", "model"])
    assert claims.loc[("mean percent", ""), "estimate"] == pytest.approx(582.576, abs=5e-4)
    assert claims.loc[("mean percent", ""), ["n", "n_unscored"]].tolist() == [80, 8]
    assert claims.loc[("difference", ""), ["estimate", "n"]].tolist() == [pytest.approx(0.78996, abs=5e-6), 88]
