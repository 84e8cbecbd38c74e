"""Agreement: published values, statsmodels and krippendorff on random data, cells that say little, planted truth."""

from __future__ import annotations

import math
from typing import Any

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa, fleiss_kappa
from statsmodels.stats.tests.test_inter_rater import diagnoses

from cdct.core import stream
from cdct.stats import resample
from cdct.stats.agreement import agreement, cut, pooling, reliability

BINARY = ["observed", "prevalence", "kappa", "ac1", "alpha"]


def of(frame: pd.DataFrame, measure: str) -> Any:
    return frame.set_index("measure").loc[measure]


# ------------------------------------------------------------------------------------------------------------------ cut


def test_a_rating_at_the_cut_is_high_whatever_its_last_bits() -> None:
    at_cut = [0.7, 0.1 * 7, 0.7000000001, 0.6999999999]
    assert cut([*at_cut, 0.71, 0.69, None, math.nan]).tolist()[:6] == [1, 1, 1, 1, 1, 0]
    assert cut([*at_cut, 0.71, 0.69], inclusive=False).tolist() == [0, 0, 0, 0, 1, 0]
    assert np.isnan(cut([None, math.nan])).all()
    assert cut([[4, 5], [6, math.nan]], at=5)[1, 0] == 1


# -------------------------------------------------------------------------------------------------------- known values


def test_B097_near_total_agreement_with_a_kappa_below_zero() -> None:
    """dkpro/dkpro-statistics#46: by hand D = 1/10 * 4/6, pi = 29/30."""
    found = agreement([3] * 9 + [2], 3)
    assert found["measure"].tolist() == BINARY
    assert found["estimate"].tolist() == pytest.approx([0.9333, 29 / 30, -0.0345, 0.9287, 0.0], abs=5e-5)
    # one item carries the rarer class, so that no resampling can say how far kappa might be from this
    assert of(found, "kappa")["method"] == "rarer class in 1 of 10 clusters: no interval"
    assert math.isnan(of(found, "kappa")["low"])
    assert of(found, "ac1")["low"] < 0.9287 < of(found, "ac1")["high"]


@pytest.mark.parametrize("counts", [[3, 3], [0, 0], [3] * 40], ids=["high", "low", "many"])
def test_B094_one_category_has_no_kappa(counts: list[int]) -> None:
    """statsmodels/statsmodels#4387: NaN or a crash where all raters use one category."""
    found = agreement(counts, 3)
    for measure in ("kappa", "alpha"):
        row = of(found, measure)
        assert all(math.isnan(row[name]) for name in ("estimate", "low", "high"))
        assert row["method"] == "undefined: one category used"
    assert of(found, "observed")["estimate"] == of(found, "ac1")["estimate"] == 1
    assert of(found, "observed")["low"] < 1


@pytest.mark.filterwarnings("error")
def test_B095_one_item_on_which_all_agree() -> None:
    """nltk/nltk#2940: division by zero on perfect agreement."""
    found = agreement([3], 3)
    assert math.isnan(of(found, "kappa")["estimate"])
    assert of(found, "observed")["estimate"] == of(found, "ac1")["estimate"] == 1
    assert found[["low", "high"]].isna().all(axis=None)


def test_the_example_of_fleiss() -> None:
    # Fleiss 1971: 30 patients, six raters, five diagnoses. Kappa over all categories, .4302 (R's irr, statsmodels), is
    # the mean of the kappas of each against the rest weighted by p(1-p), which are printed as .245 .245 .520 .471 .566
    kappas, weights = [], []
    for category in np.unique(diagnoses):
        found = agreement((diagnoses == category).sum(axis=1), 6)
        pi = of(found, "prevalence")["estimate"]
        kappas.append(of(found, "kappa")["estimate"])
        weights.append(pi * (1 - pi))
    assert kappas == pytest.approx([0.245, 0.245, 0.520, 0.471, 0.566], abs=5e-4)
    assert np.average(kappas, weights=weights) == pytest.approx(0.4302445, abs=1e-7)
    assert fleiss_kappa(aggregate_raters(diagnoses)[0]) == pytest.approx(0.4302445, abs=1e-7)


def test_two_raters_with_equal_shares_have_the_kappa_of_cohen() -> None:
    # 20 both high, 6 + 6 apart, 18 both low
    found = agreement([2] * 20 + [1] * 12 + [0] * 18, 2)
    expected = cohens_kappa([[20, 6], [6, 18]], return_results=False)
    assert of(found, "kappa")["estimate"] == pytest.approx(expected)


def random_counts(seed: int, n: int, raters: int) -> np.ndarray:
    rng = stream("test", "counts", seed)
    return rng.binomial(raters, rng.beta(1, 0.6, n))


@pytest.mark.parametrize("raters", [2, 3, 7])
def test_they_are_the_numbers_of_the_libraries(raters: int) -> None:
    for seed in range(10):
        high = random_counts(seed, 12, raters)
        found = agreement(high, raters, draws=2)
        assert of(found, "kappa")["estimate"] == pytest.approx(fleiss_kappa(np.stack([high, raters - high], axis=1)))
        table = np.array([[1.0] * h + [0.0] * (raters - h) for h in high]).T
        alpha = krippendorff.alpha(table, level_of_measurement="nominal")
        assert of(found, "alpha")["estimate"] == pytest.approx(alpha)


def test_three_raters_need_only_the_share_that_is_not_unanimous() -> None:
    high = random_counts(1, 40, 3)
    d, pi = np.mean((high > 0) & (high < 3)), high.mean() / 3
    assert of(agreement(high, 3), "kappa")["estimate"] == pytest.approx(1 - d / (3 * pi * (1 - pi)))


# ------------------------------------------------------------------------------------------------------------ intervals


def test_perfect_agreement_is_not_certain() -> None:
    # by hand: u = 1 - .025 ** (1/10) = .3085 of the items may be unlike; the worst for ac1 are items of one high and
    # two high in equal parts (D = 2u/3, pi = .5), ac1 = 1 - 4u/3
    found = agreement([0, 3] * 5, 3)
    for measure in ("kappa", "ac1", "alpha"):
        row = of(found, measure)
        assert (row["estimate"], row["method"]) == (1, "exact bound, no spread, 10 clusters")
        assert row["low"] < 0.65
        assert row["high"] == 1
    unlike = 1 - 0.025**0.1
    assert of(found, "ac1")["low"] == pytest.approx(1 - 4 * unlike / 3)
    # and for kappa items of one kind, one high of three: D = 2u/3, pi = .5 (1-u) + u/3
    pi = 0.5 * (1 - unlike) + unlike / 3
    assert of(found, "kappa")["low"] == pytest.approx(1 - 2 * unlike / 3 / (2 * pi * (1 - pi)))


def test_undefined_draws_are_left_out_and_counted() -> None:
    found = of(agreement([3] * 12 + [0, 1, 0], 3), "kappa")
    assert found["method"].startswith("cluster bootstrap, 15 clusters, ")
    left_out = int(found["method"].split(", ")[2].split(" of 2000 ")[0])
    # no draw of 15 holds one of the three with chance (12/15)^15 = .035; where only all three of the rare come, never
    assert left_out == pytest.approx(2000 * (12 / 15) ** 15, abs=5 * math.sqrt(70))
    assert found["low"] < found["estimate"] <= found["high"]


def test_items_of_one_cluster_are_not_independent() -> None:
    counts = np.repeat([3, 0, 3, 2, 3, 1], 10)
    alone, together = agreement(counts, 3), agreement(counts, 3, np.repeat(list("abcdef"), 10))
    width = [of(found, "kappa")["high"] - of(found, "kappa")["low"] for found in (alone, together)]
    assert width[1] > 2 * width[0]
    few = agreement(counts, 3, np.repeat(list("aabbcc"), 10))
    assert of(few, "kappa")["method"] == "3 clusters: no interval"


def test_no_interval_is_narrower_than_that_of_independent_items() -> None:
    # seven clusters of eleven items with one split each, one of ten: their means hardly differ, and that is chance
    counts, names = ([2] + [3] * 10) * 7 + [2] + [3] * 9, np.repeat(np.arange(8), [11] * 7 + [10])
    together, alone = agreement(counts, 3, names), agreement(counts, 3)
    for measure in BINARY:
        one, other = of(together, measure), of(alone, measure)
        assert one["high"] - one["low"] > 0.9 * (other["high"] - other["low"])
    # the agreement of three raters has two values, 1/3 and 1, and is a share of 87 items of which 8 are split
    share = resample.share(79, 87)
    assert of(alone, "observed")[["low", "high"]].tolist() == pytest.approx(
        [1 / 3 + 2 / 3 * share.low, 1 / 3 + 2 / 3 * share.high]
    )


def test_the_seed_decides() -> None:
    counts = random_counts(3, 30, 3)
    one, same, other = (agreement(counts, 3, seed=seed) for seed in (0, 0, 1))
    pd.testing.assert_frame_equal(one, same)
    assert of(one, "kappa")["low"] != of(other, "kappa")["low"]
    assert of(one, "kappa")["estimate"] == of(other, "kappa")["estimate"]


def test_the_interval_holds_the_truth() -> None:
    def draw(rng: np.random.Generator, clusters: int, each: int) -> np.ndarray:
        logit = rng.normal(0, 1, (clusters, 1)) + rng.normal(0, 2, (clusters, each))
        return rng.binomial(3, 1 / (1 + np.exp(-logit))).ravel()

    truth = {
        name: of(agreement(draw(stream("test", "truth"), 20_000, 9), 3, draws=2), name)["estimate"] for name in BINARY
    }
    names, hits = np.repeat(np.arange(12), 9), dict.fromkeys(BINARY, 0)
    for run in range(150):
        found = agreement(draw(stream("test", "agreement", run), 12, 9), 3, names, draws=500)
        for name in BINARY:
            hits[name] += of(found, name)["low"] <= truth[name] <= of(found, name)["high"]
    assert all(0.88 <= hit / 150 <= 0.99 for hit in hits.values()), hits


@given(st.integers(2, 5).flatmap(lambda r: st.tuples(st.just(r), st.lists(st.integers(0, r), max_size=12))))
def test_intervals_hold_their_estimate_or_say_why_there_is_none(data: tuple[int, list[int]]) -> None:
    raters, counts = data
    for row in agreement(counts, raters, draws=50).itertuples():
        assert row.n == len(counts)
        if math.isnan(row.low):
            assert any(word in row.method for word in ("no interval", "undefined", "no data"))
        else:
            assert row.low - 1e-9 <= row.high
            assert row.high - row.low > 1e-9
            assert row.high <= 1 + 1e-9


def test_what_agreement_refuses() -> None:
    with pytest.raises(ValueError, match=r"^agreement: agreement needs two raters or more, got 1$"):
        agreement([1], 1)
    for wrong in (4, -1, 1.5):
        with pytest.raises(
            ValueError, match=rf"^agreement: a count of high ratings must be one of 0\.\.3, got {wrong}$"
        ):
            agreement([1, wrong], 3)
    with pytest.raises(ValueError, match="got nan"):
        agreement([1, math.nan], 3)


# -------------------------------------------------------------------------------------------------------------- ballots


def ballots(seed: int = 0, missing: float = 0.0) -> pd.DataFrame:
    """Six models, eight concepts and three levels that differ much, scored by three judges in tenths."""
    rng, rows = stream("test", "ballots", seed), []
    for model in range(6):
        for concept in "abcdefgh":
            for level in (0.0, 0.5, 1.0):
                quality = rng.normal(0.4 + 0.4 * level, 0.2)
                for judge in "xyz":
                    score = round(float(np.clip(quality + rng.normal(0, 0.12), 0, 1)), 1)
                    rows.append((model, concept, level, judge, score if rng.random() >= missing else None))
    return pd.DataFrame(rows, columns=["model", "concept", "level", "judge", "score"])


UNIT = ["model", "concept"]


def test_a_cell_is_the_agreement_of_its_complete_juries() -> None:
    table = ballots(missing=0.1)
    found = reliability(table, UNIT, "level", cluster="concept")
    columns = ["level", "n", "n_unscored", "measure", "estimate", "low", "high", "method"]
    assert found.columns.tolist() == columns
    assert found["measure"].tolist() == [*BINARY, "alpha_interval"] * 3
    for level, cell in table.groupby("level"):
        wide = cell.assign(score=cell["score"].astype(float)).pivot_table(
            index=UNIT, columns="judge", values="score", dropna=False
        )
        whole = wide.dropna()
        expected = agreement((whole >= 0.7 - 1e-9).sum(axis=1), 3, whole.index.get_level_values("concept"))
        rows = found[found["level"] == level]
        got = rows[rows["measure"] != "alpha_interval"].reset_index(drop=True)
        pd.testing.assert_frame_equal(got[expected.columns], expected)
        assert set(got["n_unscored"]) == {48 - len(whole)}
        alpha = of(rows, "alpha_interval")
        assert alpha["estimate"] == pytest.approx(
            krippendorff.alpha(wide.T.to_numpy(), level_of_measurement="interval")
        )
        assert alpha["n"] == (wide.notna().sum(axis=1) > 1).sum() > len(whole)
        assert alpha["n"] + alpha["n_unscored"] == 48
        assert alpha["low"] < alpha["estimate"] < alpha["high"]


def test_order_and_names_do_not_matter() -> None:
    table = ballots(1)
    mixed = table.sample(frac=1, random_state=1)
    one = reliability(table, UNIT, ["level"])
    pd.testing.assert_frame_equal(one, reliability(mixed, UNIT, ["level"]))
    whole = reliability(table, [*UNIT, "level"])
    assert whole["n"].tolist() == [144] * 6
    assert "level" not in whole


def test_the_cut_can_be_open() -> None:
    table = pd.DataFrame(
        [(unit, judge, 0.1 * 7 if unit else 0.2) for unit in range(6) for judge in "xyz"],
        columns=["unit", "judge", "score"],
    )
    closed, opened = (reliability(table, "unit", inclusive=inclusive) for inclusive in (True, False))
    assert of(closed, "prevalence")["estimate"] == pytest.approx(5 / 6)
    assert of(opened, "prevalence")["estimate"] == 0
    assert of(opened, "kappa")["method"] == "undefined: one category used"


@pytest.mark.filterwarnings("error")
def test_cells_without_juries() -> None:
    table = ballots()
    alone = reliability(table[table["judge"] == "x"], UNIT, "level")
    assert set(alone["method"]) == {"fewer than two judges"}
    assert (set(alone["n"]), set(alone["n_unscored"])) == ({0}, {48})
    silent = reliability(table.assign(score=None), UNIT, "level")
    assert set(silent["method"]) == {"no data"}
    assert set(silent["n_unscored"]) == {48}
    assert len(reliability(table[:0], UNIT, "level")) == 0
    equal = reliability(table.assign(score=0.4), UNIT, "level")
    assert set(equal.loc[equal["measure"] == "alpha_interval", "method"]) == {"undefined: all scores are equal"}


def test_what_reliability_refuses() -> None:
    table = ballots()
    with pytest.raises(ValueError, match=r"no column 'metric'; they have model, concept, level, judge, score$"):
        reliability(table, UNIT, ["metric"])
    with pytest.raises(
        ValueError, match=r"^reliability: scores must lie in 0-1, got 7; divide by the scale's maximum$"
    ):
        reliability(table.assign(score=7), UNIT, "level")
    with pytest.raises(ValueError, match="has two scores in one cell; name more columns in unit or by"):
        reliability(table, UNIT)
    with pytest.raises(ValueError, match=r"^reliability: a unit lies in two values of 'judge'; each must lie in one$"):
        reliability(table, UNIT, "level", cluster="judge")


# -------------------------------------------------------------------------------------------------------------- pooling


def test_levels_that_differ_inflate_the_pooled_kappa() -> None:
    # by hand: where all is high but one rating in 30, kappa is -.0345, and the same for low; together D = 1/15, pi = .5
    rows = []
    for level, usual in (("short", 0.9), ("long", 0.1)):
        for unit in range(10):
            for judge in "xyz":
                rows.append((level, unit, judge, usual if (unit, judge) != (0, "x") else 1 - usual))
    table = pd.DataFrame(rows, columns=["level", "unit", "judge", "score"])
    strata, pooled = reliability(table, "unit", "level"), reliability(table, ["level", "unit"])
    assert of(pooled, "kappa")["estimate"] == pytest.approx(1 - 1 / 15 / 0.5)
    assert pooling(pooled, strata) == (
        "Pooling inflates kappa: over all strata it is 0.87, but it is -0.03 within strata "
        "(long: -0.03, short: -0.03); strata differ in prevalence."
    )
    # a level where all agree has no kappa, and is named
    table.loc[table["level"] == "long", "score"] = 0.1
    strata, pooled = reliability(table, "unit", "level"), reliability(table, ["level", "unit"])
    assert "(long: undefined, short: -0.03)" in pooling(pooled, strata)
    table["score"] = np.where(table["level"] == "long", 0.1, 0.9)
    strata, pooled = reliability(table, "unit", "level"), reliability(table, ["level", "unit"])
    assert pooling(pooled, strata).startswith(
        "Pooling inflates kappa: over all strata it is 1.00, but no stratum has a kappa (long: undefined, "
    )


def test_no_warning_where_strata_are_alike() -> None:
    table = ballots(2)
    table["half"] = np.where(table["model"] < 3, "a", "b")
    strata, pooled = reliability(table, [*UNIT, "level"], "half"), reliability(table, [*UNIT, "level"])
    assert pooling(pooled, strata) == ""
    assert pooling(pooled, reliability(table.assign(one=1), [*UNIT, "level"], "one")) == ""
    with pytest.raises(ValueError, match="one row of kappa, got 2; pass one cell"):
        pooling(strata, strata)
    with pytest.raises(ValueError, match="the frame of strata names none"):
        pooling(pooled, pooled)


@given(st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=8), min_size=2, max_size=4))
def test_pooling_the_same_ratings_never_lowers_kappa(strata: list[list[int]]) -> None:
    def differ(high: list[int]) -> float:
        return float(np.mean([h * (3 - h) / 3 for h in high]))

    def chance(high: list[int]) -> float:
        return 2 * np.mean(high) / 3 * (1 - np.mean(high) / 3)

    n = [len(high) for high in strata]
    within = np.dot(n, [chance(high) for high in strata])
    pooled = of(agreement([h for high in strata for h in high], 3, draws=2), "kappa")["estimate"]
    if within > 0:
        assert pooled >= 1 - np.dot(n, [differ(high) for high in strata]) / within - 1e-9
