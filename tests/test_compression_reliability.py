"""Agreement by level and pooled, from ballots and from counted votes; the card and the sentences of a judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest

from cdct.compression import (
    agreement_by_level,
    calibration,
    card,
    concepts,
    errors_by_band,
    generate,
    jury_card,
    jury_findings,
    pooling_notes,
    score,
    votes_by_level,
    with_jury,
)
from cdct.compression.public_summary import summary_tables
from cdct.compression.reliability import LEAST, POOLED
from cdct.core import KEYS
from cdct.jury import BALLOTS, verdicts
from cdct.stats.agreement import BINARY, agreement

NAN = math.nan
CONCEPTS = list(concepts())
BY = ["shown", "metric", "cut"]

Votes = Sequence[Sequence[float]]


def rated(levels: dict[float, Votes], judges: str = "abc", metric: str = "SA") -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows and ballots: for each level the scores of the judges, reply by reply, of the concepts in turn."""
    rows, ballots = [], []
    for c, replies in levels.items():
        for number, scores in enumerate(replies):
            concept = CONCEPTS[number % len(CONCEPTS)]
            names = ("cdct", "fixed", f"{concept}/{c:g}", "m", number // len(CONCEPTS), 0)
            keys = dict(zip(KEYS, names, strict=True))
            rows.append(keys | {"c": c, "concept": concept})
            for judge, value in zip(judges, scores, strict=True):
                said = {"judge": judge, "shown": "hidden", "metric": metric, "score": value, "flags": ""}
                status = "parse_error" if value != value else ""
                ballots.append(keys | said | {"status": status or "ok", "unscored": status})
    return pd.DataFrame(rows), pd.DataFrame(ballots)[BALLOTS]


HIGH, LOW, SPLIT, SPLIT_LOW = (0.9, 0.9, 0.9), (0.1, 0.1, 0.1), (0.9, 0.9, 0.1), (0.9, 0.1, 0.1)
APART = {0.0: [HIGH, HIGH, HIGH, SPLIT] * 4, 0.5: [LOW, LOW, LOW, SPLIT_LOW] * 4}
ALIKE = {0.0: [HIGH, LOW, HIGH, SPLIT] * 4, 0.5: [HIGH, LOW, HIGH, SPLIT] * 4}


def only(table: pd.DataFrame, **named: Any) -> dict[str, Any]:
    for name, value in named.items():
        table = table[table[name] == value]
    (row,) = table.to_dict("records")
    return row


# ----------------------------------------------------------------------------------------------------------- by level


def test_levels_and_all_of_them_by_hand() -> None:
    """Of 16 replies a level 4 are split: D = 2/3 * 1/4 = 1/6, and pi = 11/12 or 1/12: 2 pi(1-pi) = 22/144."""
    rows, ballots = rated(APART)
    table = agreement_by_level(ballots, rows)
    assert list(table) == [*BY, "c", "n", "n_unscored", "measure", "estimate", "low", "high", "method"]
    assert table["c"].unique().tolist() == ["0", "0.5", POOLED]
    for cut in (">=0.7", ">0.7"):
        for c in ("0", "0.5"):
            row = only(table, cut=cut, c=c, measure="kappa")
            assert row["estimate"] == pytest.approx(1 - (1 / 6) / (22 / 144))
            assert row["estimate"] < 0
            assert (row["n"], row["n_unscored"]) == (16, 0)
        # over all, half of the ratings are high: 2 pi(1-pi) = 1/2
        assert only(table, cut=cut, c=POOLED, measure="kappa")["estimate"] == pytest.approx(1 - (1 / 6) / (1 / 2))
        assert only(table, cut=cut, c=POOLED, measure="observed")["estimate"] == pytest.approx(5 / 6)
        assert only(table, cut=cut, c="0", measure="prevalence")["estimate"] == pytest.approx(11 / 12)


def test_seven_tenths_is_high_in_one_cut_and_not_in_the_other() -> None:
    rows, ballots = rated({0.0: [(0.7, 0.7, 0.9), (0.7, 0.8, 0.1)] * 8})
    found = (
        agreement_by_level(ballots, rows).query("measure == 'prevalence' and c == 'all'").set_index("cut")["estimate"]
    )
    assert found.to_dict() == pytest.approx({">=0.7": 5 / 6, ">0.7": 2 / 6})


def test_cells_are_those_of_agreement_with_concepts_as_clusters() -> None:
    first, second = [HIGH, SPLIT, LOW, HIGH, SPLIT_LOW, LOW, LOW, HIGH], [SPLIT, HIGH, SPLIT_LOW, LOW] * 2
    rows, ballots = rated({0.0: first * 2, 0.25: second * 2})
    table = agreement_by_level(ballots, rows, seed=3)
    counts = {"0": [3, 2, 0, 3, 1, 0, 0, 3] * 2, "0.25": [2, 3, 1, 0] * 4}
    for c, high in (counts | {POOLED: [*counts["0"], *counts["0.25"]]}).items():
        expected = agreement(high, 3, CONCEPTS * (len(high) // 8), seed=3)
        found = table[(table["c"] == c) & (table["cut"] == ">0.7") & table["measure"].isin(BINARY)]
        pd.testing.assert_frame_equal(
            found[list(expected)].reset_index(drop=True), expected, check_dtype=False, rtol=1e-12
        )
        assert only(found, measure="kappa")["method"].startswith("cluster bootstrap, 8 clusters")
    assert not agreement_by_level(ballots, rows, seed=4)["low"].equals(table["low"])
    pd.testing.assert_frame_equal(agreement_by_level(ballots, rows, seed=3), table)


def test_a_judge_that_is_missing_on_some_replies_takes_them_out_and_is_counted() -> None:
    whole = {0.0: [HIGH, SPLIT, LOW, HIGH] * 4, 0.5: [LOW, SPLIT, LOW, HIGH] * 4}
    hole = {0.0: whole[0.0], 0.5: [(*scores[:2], NAN) if n < 3 else scores for n, scores in enumerate(whole[0.5])]}
    rows, ballots = rated(hole)
    table = agreement_by_level(ballots, rows)
    for measure in BINARY:
        for c, n, lost in (("0", 16, 0), ("0.5", 13, 3), (POOLED, 29, 3)):
            row = only(table, cut=">=0.7", c=c, measure=measure)
            assert (row["n"], row["n_unscored"]) == (n, lost), (measure, c)
    # two judges are enough for this one
    assert only(table, cut=">=0.7", c="0.5", measure="alpha_interval")["n"] == 16
    kept, judged = rated({0.0: whole[0.0], 0.5: whole[0.5][3:]})
    assert only(table, cut=">0.7", c="0.5", measure="kappa")["estimate"] == pytest.approx(
        only(agreement_by_level(judged, kept), cut=">0.7", c="0.5", measure="kappa")["estimate"]
    )


def test_a_judge_without_any_ballot_leaves_no_complete_jury() -> None:
    rows, ballots = rated({0.0: [(0.9, 0.9, NAN), (0.9, 0.1, NAN)] * 8})
    row = only(agreement_by_level(ballots, rows), cut=">=0.7", c=POOLED, measure="kappa")
    assert (row["n"], row["n_unscored"], row["method"]) == (0, 16, "no data")
    assert math.isnan(row["estimate"])


def test_one_judge_agrees_with_nobody() -> None:
    rows, ballots = rated({0.0: [(0.9,), (0.1,)] * 8}, judges="a")
    table = agreement_by_level(ballots, rows)
    assert set(table["method"]) == {"fewer than two judges"}
    assert table["estimate"].isna().all()
    assert (table["n"] == 0).all()
    assert (table["n_unscored"] == 16).all()
    assert pooling_notes(table, BY).empty


def test_draws_of_one_judge_agree_like_a_jury() -> None:
    rows, ballots = rated(ALIKE)
    draws = ballots.replace({"judge": {"a": "m", "b": "m #2", "c": "m #3"}})
    pd.testing.assert_frame_equal(agreement_by_level(draws, rows), agreement_by_level(ballots, rows))


def test_no_ballot_is_an_empty_table_with_its_columns() -> None:
    rows, ballots = rated(ALIKE)
    table = agreement_by_level(ballots[:0], rows)
    assert list(table) == list(agreement_by_level(ballots, rows))
    assert table.empty
    notes = pooling_notes(table, BY)
    assert list(notes) == [*BY, "text"]
    assert notes.empty


def test_a_ballot_on_a_reply_that_is_not_in_the_rows_is_an_error() -> None:
    rows, ballots = rated(ALIKE)
    with pytest.raises(ValueError, match=r"^agreement_by_level: a ballot is on a reply that is not in the rows$"):
        agreement_by_level(ballots, rows[1:])


# --------------------------------------------------------------------------------------------------- from counted votes


def votes_of(levels: dict[float, Votes], judges: str = "abc") -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    rows, ballots = rated(levels, judges)
    more = {"told": "", "limit": NAN, "words": 3.0, "words_reported": 3, "cc": 0.5, "cc_published": 0.5}
    pairs = pd.DataFrame({"baseline": [0.5], "ablated": [1.0]})
    votes = summary_tables(rows.assign(**more), ballots, pairs)["cdct_public_votes"]
    return votes[votes["metric"] == "SA"], rows, ballots


def test_counted_votes_give_what_the_ballots_give() -> None:
    whole = {0.0: [HIGH, SPLIT, LOW, HIGH] * 4, 0.5: [(*LOW[:2], NAN), *([LOW, SPLIT_LOW, HIGH] * 5)]}
    votes, rows, ballots = votes_of(whole)
    found, expected = votes_by_level(votes), agreement_by_level(ballots, rows)
    assert list(found) == [
        "arm",
        "metric",
        "cut",
        "c",
        "n",
        "n_unscored",
        "measure",
        "estimate",
        "low",
        "high",
        "method",
    ]
    assert len(found) == 2 * 3 * len(BINARY)
    for row in found.to_dict("records"):
        twin = only(expected, cut=row["cut"], c=row["c"], measure=row["measure"])
        assert row["estimate"] == pytest.approx(twin["estimate"], abs=1e-12)
        assert (row["arm"], row["n"], row["n_unscored"]) == ("fixed", twin["n"], twin["n_unscored"])
    assert only(found, cut=">0.7", c="0.5", measure="kappa")["n_unscored"] == 1
    # of a single model nothing is known of others: its concepts are what votes are alike within
    method = only(found, cut=">0.7", c="0", measure="kappa")["method"]
    assert method.startswith("cluster bootstrap, 8 clusters")
    assert method.endswith("(concept)")


@pytest.mark.parametrize("judges", ["a", ""])
def test_votes_of_one_judge_or_none_are_no_agreement(judges: str) -> None:
    votes, *_ = votes_of({0.0: [(0.9,), (0.1,)] * 8, 0.5: [(0.9,)] * 8}, "a")
    if not judges:
        votes = votes.assign(judges=0, high=NAN)
    table = votes_by_level(votes)
    assert set(table["method"]) == {"fewer than two judges"}
    assert table["estimate"].isna().all()
    assert table.groupby("c")["n_unscored"].max().to_dict() == {"0": 16, "0.5": 8, POOLED: 24}
    assert pooling_notes(table, ["arm", "metric", "cut"]).empty


def test_juries_of_the_commonest_size_count_and_the_others_are_unscored() -> None:
    votes, *_ = votes_of({0.0: [HIGH, LOW, SPLIT, LOW] * 4})
    fewer = votes_of({0.0: [(0.9, 0.9)] * 5, 0.5: [(0.9, 0.1)] * 3}, "ab")[0]
    table = votes_by_level(pd.concat([votes, fewer]))
    row = only(table, cut=">0.7", c="0", measure="kappa")
    assert (row["n"], row["n_unscored"]) == (16, 5)
    assert row["estimate"] == only(votes_by_level(votes), cut=">0.7", c="0", measure="kappa")["estimate"]
    assert row["method"].endswith("; 5 juries of another size than 3 left out")
    alone = only(table, cut=">0.7", c="0.5", measure="kappa")
    assert (alone["n"], alone["n_unscored"], alone["method"][:8]) == (0, 3, "no data;")
    assert only(table, cut=">0.7", c=POOLED, measure="ac1")["n_unscored"] == 8
    turned = votes_by_level(pd.concat([votes, fewer, *[fewer] * 2]))
    assert only(turned, cut=">0.7", c="0", measure="kappa")["n"] == 15  # 24 pairs of judges against 16 trios


def test_no_votes_are_an_empty_table_with_its_columns() -> None:
    votes, *_ = votes_of(ALIKE)
    assert list(votes_by_level(votes[:0])) == list(votes_by_level(votes))
    assert votes_by_level(votes[:0]).empty


# -------------------------------------------------------------------------------------------------------------- pooling


def test_pooling_is_noted_where_levels_differ_alone() -> None:
    """Kappa is -1/11 at both levels and 2/3 over both; where levels are alike, all three are the same."""
    rows, ballots = rated(APART)
    notes = pooling_notes(agreement_by_level(ballots, rows), BY)
    assert notes["text"].tolist() == [
        f"hidden, SA, {cut}: Pooling inflates kappa: over all strata it is 0.67, but it is -0.09 within strata "
        "(c = 0: -0.09, c = 0.5: -0.09); strata differ in prevalence."
        for cut in (">0.7", ">=0.7")
    ]
    assert notes["cut"].tolist() == [">0.7", ">=0.7"]
    rows, ballots = rated(ALIKE)
    assert pooling_notes(agreement_by_level(ballots, rows), BY).empty


def test_pooling_of_a_level_where_all_agree_is_noted_as_undefined() -> None:
    rows, ballots = rated({0.0: [HIGH] * 8, 0.5: [LOW] * 8})
    texts = pooling_notes(agreement_by_level(ballots, rows), BY)["text"]
    assert len(texts) == 2
    assert texts.str.contains(r"no stratum has a kappa \(c = 0: undefined, c = 0\.5: undefined\)").all()


@pytest.mark.parametrize("more", [0, 8])
def test_few_complete_juries_are_no_ground_for_a_note(more: int) -> None:
    """`LEAST` a level are enough, fewer are not, however many incomplete ones there are besides."""
    incomplete = [(0.9, 0.9, NAN)] * more
    for each, noted in ((LEAST, True), (LEAST - 1, False)):
        rows, ballots = rated({0.0: [*([HIGH] * each), *incomplete], 0.5: [*([LOW] * each), *incomplete]})
        assert pooling_notes(agreement_by_level(ballots, rows), BY).empty is not noted


def test_one_level_is_not_pooled() -> None:
    rows, ballots = rated({0.5: [HIGH, LOW, SPLIT, LOW] * 4})
    assert pooling_notes(agreement_by_level(ballots, rows), BY).empty


# ------------------------------------------------------------------------------------------------ a judge, in sentences


def calibrated(**measures: tuple[float, float, float]) -> pd.DataFrame:
    """Rows of `calibration` of one judge: (estimate, low, high) by measure."""
    usual = {"bias": (0.2, 0.1, 0.3), "slope": (0.5, 0.3, 0.7), "error": (0.25, 0.2, 0.3)} | measures
    named = {"judge": "maker/j", "shown": "hidden", "n": 40, "n_unscored": 3, "method": "t, 8 clusters"}
    return pd.DataFrame(
        [
            named | {"measure": measure, "estimate": value, "low": low, "high": high}
            for measure, (value, low, high) in usual.items()
        ]
    )


LENIENT = "it is lenient: bias +0.20 of 1 [0.10, 0.30], mean error 0.25 (n = 40, 3 unscored)"
RISE = "its marks rise with the count (slope 0.50 [0.30, 0.70], 1 would follow it)"


NEITHER = "it is neither lenient nor strict for certain: bias"


@pytest.mark.parametrize(
    ("measures", "said"),
    [
        pytest.param({}, f"{LENIENT}; {RISE}.", id="lenient"),
        pytest.param({"bias": (-0.2, -0.3, -0.1)}, "it is strict: bias -0.20 of 1 [-0.30, -0.10], mean", id="strict"),
        pytest.param({"bias": (0.2, 0.0, 0.4)}, f"{NEITHER} +0.20 of 1 [0.00, 0.40]", id="an end at 0"),
        pytest.param({"bias": (-0.2, -0.4, 0.0)}, f"{NEITHER} -0.20 of 1 [-0.40, 0.00]", id="the other end at 0"),
        pytest.param({"bias": (0.2, -0.1, 0.5)}, f"{NEITHER} +0.20 of 1 [-0.10, 0.50]", id="around 0"),
        pytest.param({"bias": (0.2, NAN, NAN)}, f"{NEITHER} +0.20 of 1 (no interval)", id="no interval"),
        pytest.param(
            {"slope": (0.2, -0.1, 0.5)},
            "; its marks can't be told from ones that ignore the count (slope 0.20 [-0.10, 0.50]).",
            id="flat",
        ),
        pytest.param({"slope": (-0.5, -0.7, -0.3)}, "; they fall (slope -0.50 [-0.70, -0.30]).", id="falling"),
        pytest.param({"slope": (0.5, NAN, NAN)}, "; the slope can't be told.", id="a slope without an interval"),
        pytest.param({"slope": (NAN, NAN, NAN)}, "; the slope can't be told.", id="no slope"),
    ],
)
def test_a_judge_is_called_lenient_or_strict_only_where_the_interval_leaves_0(measures: dict, said: str) -> None:
    (found,) = jury_findings(calibrated(**measures)).to_dict("records")
    assert found["model"] == "maker/j"
    assert found["text"].startswith("As a judge of compliance with the count hidden it is ")
    assert said in found["text"]
    assert "nan" not in found["text"].casefold()


def test_a_judge_without_a_ballot_has_no_sentence() -> None:
    nothing = calibrated(bias=(NAN,) * 3, slope=(NAN,) * 3, error=(NAN,) * 3).assign(n=0)
    told = pd.concat([nothing, calibrated().assign(shown="shown")])
    assert jury_findings(told)["text"].str.contains("with the count shown").tolist() == [True]
    assert list(jury_findings(told[:0])) == ["model", "text"]
    assert jury_findings(told[:0]).empty


def test_the_card_of_a_judge_has_the_columns_of_the_other_cards() -> None:
    table = pd.concat([calibrated(), calibrated(slope=(NAN,) * 3).assign(shown="shown")])
    lines = jury_card(table)
    items = generate()
    keys = dict(zip(KEYS, ("cdct", "fixed", "", "m", 0, 0), strict=True)) | {"status": "ok", "finish_reason": "stop"}
    replies = pd.DataFrame([keys | {"item": item.id, "text": "word " * 36} for item in items])
    assert list(lines) == list(card(score(items, replies)))
    assert lines["model"].unique().tolist() == ["maker/j"]
    assert lines["group"].unique().tolist() == ["CDCT judge, count hidden", "CDCT judge, count shown"]
    assert lines["label"].tolist()[:3] == [
        "bias of judged compliance (0-1)",
        "slope of judged on counted compliance",
        "mean error of judged compliance (0-1)",
    ]
    # a slope is no share: it has its unit, so that no figure of shares shows it
    assert lines["unit"].tolist() == ["", "judged per counted", ""] * 2
    assert lines["published"].isna().all()
    kept = ["estimate", "low", "high", "n", "n_unscored", "method"]
    pd.testing.assert_frame_equal(lines[kept], table[kept])
    assert jury_card(table[:0]).empty
    assert list(jury_card(table[:0])) == list(lines)


def replied(counts: Sequence[int]) -> pd.DataFrame:
    items = generate()
    keys = {"benchmark": "cdct", "arm": "fixed", "model": "m", "sample": 0, "turn": 0}
    rows = [
        keys | {"item": item.id, "text": "word " * n, "status": "ok", "finish_reason": "stop"}
        for item, n in zip(items, counts, strict=False)
    ]
    return score(items, pd.DataFrame(rows))


@pytest.mark.parametrize(
    ("counts", "marks"),
    [
        pytest.param([36], [0.9], id="one reply"),
        pytest.param([36, 40, 45], [0.9, 0.9, 0.9], id="one concept"),
        pytest.param([36] * 40, [0.5] * 40, id="nothing varies"),
        pytest.param([36] * 40, [0.9] * 40, id="no error at all"),
        pytest.param([30 + n for n in range(40)], [NAN] * 39 + [1.0], id="one mark of many"),
        pytest.param([30 + n for n in range(40)], [NAN] * 40, id="no mark"),
    ],
)
def test_no_sentence_holds_a_nan_however_little_there_is(counts: list[int], marks: list[float]) -> None:
    rows = replied(counts)
    status = ["" if mark == mark else "parse_error" for mark in marks]
    said = {"judge": "j", "shown": "hidden", "metric": "CC", "flags": ""}
    ballots = rows[KEYS].assign(**said, score=marks, status=status, unscored=status)
    table = calibration(ballots, rows)
    assert len(table) == 3
    assert len(errors_by_band(ballots, rows)) == 10
    found = jury_findings(table)
    assert len(found) == (not all(map(math.isnan, marks)))
    assert not found["text"].str.contains("nan", case=False).any()
    assert len(jury_card(table)) == 3


def test_no_ballot_goes_through_all_of_it() -> None:
    rows = replied([36] * 40)
    none = pd.DataFrame(columns=BALLOTS)
    table = calibration(none, rows)
    assert table.empty
    assert errors_by_band(none, rows).empty
    assert jury_findings(table).empty
    assert jury_card(table).empty
    empty = verdicts(none)
    assert empty.empty
    joined = with_jury(rows, empty)
    assert joined[["sa", "fc", "cc_judged"]].isna().all(axis=None)
    assert set(joined["jury_unscored"]) == {"not judged"}
