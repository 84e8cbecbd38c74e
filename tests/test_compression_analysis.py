"""What CDCT rows say: against plain pandas and statsmodels, on planted curves, and against the paper's own numbers."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

from cdct.compression import (
    card,
    compliance_score,
    concepts,
    context_words,
    dip_summary,
    dips,
    examples,
    generate,
    null_table,
    published_dips,
    published_means,
    score,
    summarise,
)
from cdct.compression.card import condition, findings
from cdct.core import Item, read_table, save_tables, stream
from cdct.stats.resample import share

ITEMS = generate()
Length = Callable[[str, str, float], int]
SHAPES: dict[str, list[int]] = {
    "dip": [35, 38, 60, 38, 36],
    "arch": [70, 50, 35, 50, 70],
    "rise": [60, 55, 50, 45, 40],
    "keep": [35, 35, 35, 35, 35],
}


def planted(shapes: dict[str, str], noise: int = 0, samples: int = 1, arm: str = "baseline") -> pd.DataFrame:
    """Replies of models whose word counts follow a shape over the levels, and a few words more or fewer."""
    rows = []
    for model, shape in shapes.items():
        for item in ITEMS:
            for sample in range(samples):
                rng = stream("test", model, item.id, sample, noise)
                n = SHAPES[shape][round(4 * item.params["c"])] + int(rng.integers(-noise, noise + 1))
                keys = {"benchmark": "cdct", "arm": arm, "item": item.id, "model": model, "sample": sample, "turn": 0}
                rows.append(keys | {"text": "word " * n, "status": "ok", "finish_reason": "stop"})
    return pd.DataFrame(rows)


def rows_of(
    shapes: dict[str, str], noise: int = 0, samples: int = 1, lost: str = "", arm: str = "baseline"
) -> pd.DataFrame:
    """Scored rows; the replies whose `model item` matches the pattern `lost` failed."""
    replies = planted(shapes, noise, samples, arm)
    if lost:
        gone = (replies["model"] + " " + replies["item"]).str.contains(lost)
        replies.loc[gone, ["status", "text"]] = ["failed", None]
    return score(ITEMS, replies)


def in_arm(arm: str, length: Callable[[Item], int], lost: str = "", **wishes: Any) -> pd.DataFrame:
    """Scored rows of the model m in an arm, its words a function of the item; replies to `lost` items failed."""
    items = generate(**wishes)
    keys = {"benchmark": "cdct", "arm": arm, "model": "m", "sample": 0, "turn": 0, "finish_reason": "stop"}
    replies = [keys | {"item": item.id, "text": "word " * length(item), "status": "ok"} for item in items]
    for reply in replies:
        if lost and re.search(lost, reply["item"]):
            reply |= {"text": None, "status": "failed"}
    return score(items, pd.DataFrame(replies))


# ----------------------------------------------------------------------------------------------------------- summarise


@pytest.mark.parametrize("by", [("model", "c"), ("model",), ("domain",)])
@pytest.mark.parametrize("metric", ["cc", "words"])
def test_a_summary_is_that_of_pandas_and_statsmodels(by: tuple[str, ...], metric: str) -> None:
    rows = rows_of({"a": "dip", "b": "arch"}, noise=6, samples=2, lost="a .*recursion/c025|b .*theory.*/c100")
    found = summarise(rows, by, metric).set_index(list(by))
    scored = rows[rows["unscored"] == ""]
    assert found["estimate"].to_dict() == pytest.approx(scored.groupby(list(by))[metric].mean().to_dict())
    assert found["n"].to_dict() == scored.groupby(list(by)).size().to_dict()
    assert (found["n"] + found["n_unscored"]).to_dict() == rows.groupby(list(by)).size().to_dict()
    assert found["n_unscored"].sum() == 4
    for names, cell in scored.groupby(list(by)):
        codes = pd.factorize(cell["concept"])[0]
        fit = sm.OLS(cell[metric].to_numpy(float), np.ones(len(cell))).fit(
            cov_type="cluster", cov_kwds={"groups": codes}, use_t=True
        )
        row = found.loc[names if len(by) > 1 else names[0]]
        low, high = fit.conf_int()[0]
        bound = (0.0, 1.0) if metric == "cc" else (-math.inf, math.inf)
        assert row["method"] == f"t, {cell['concept'].nunique()} clusters"
        assert (row["low"], row["high"]) == pytest.approx((max(low, bound[0]), min(high, bound[1])))


def test_a_summary_has_both_denominators() -> None:
    rows = rows_of({"a": "keep"}, lost="/c050")
    whole = summarise(rows, ["model"]).iloc[0]
    assert (whole["n"], whole["n_unscored"], whole["estimate"], whole["estimate_all"]) == (32, 8, 1.0, 0.8)
    at = summarise(rows).set_index("c")
    assert (at.loc[0.5, "n"], at.loc[0.5, "n_unscored"], at.loc[0.5, "estimate_all"]) == (0, 8, 0)
    assert math.isnan(at.loc[0.5, "estimate"])
    assert at.loc[0.5, "method"] == "no data"
    assert math.isnan(summarise(rows, ["model"], "words").iloc[0]["estimate_all"])


def test_a_share_of_replies_is_exact_where_concepts_stand_alone() -> None:
    rows = rows_of({"a": "keep"}, noise=1)
    cell = summarise(rows, metric="exact").iloc[0]
    kept = int(rows[rows["c"] == 0]["exact"].sum())
    assert (cell["estimate"], cell["low"], cell["high"]) == pytest.approx(share(kept, 8)[:3])
    assert cell["method"] == "exact binomial"
    assert summarise(rows, ["model"], "exact").iloc[0]["method"].startswith("binomial, ")


def test_what_is_missing_is_counted_for_each_metric_by_itself() -> None:
    """Words are counted where no limit is, and a limit on sentences is none on words."""
    inside = summarise(in_arm("inside", lambda item: 35), metric="cc").set_index("c")
    assert inside[["n", "n_unscored"]].to_numpy().tolist() == [[0, 8], *[[8, 0]] * 4]
    assert summarise(in_arm("inside", lambda item: 35), metric="words")["n"].tolist() == [8] * 5
    released = in_arm("as-released", lambda item: 19)
    assert summarise(released, metric="cc_told")[["n", "n_unscored"]].to_numpy().tolist() == [
        [8, 0],
        [0, 8],
        *[[8, 0]] * 3,
    ]
    assert summarise(released, metric="cc")["n_unscored"].tolist() == [0] * 5
    short = summarise(in_arm("as-released-short", lambda item: 19), ["model"], "cc_told").iloc[0]
    assert short[["n", "n_unscored", "estimate_all"]].tolist() == [0, 40, 0]
    assert math.isnan(short["estimate"])


def test_a_curve_without_a_limit_at_its_end_has_a_hole_there() -> None:
    rows = in_arm("inside", lambda item: 35)
    assert dips(rows)["unscored"].tolist() == ["no scored reply at c = 0"] * 8
    assert dips(rows, "words")["unscored"].tolist() == [""] * 8
    assert dips(rows, "words")[["n", "n_unscored"]].to_numpy().tolist() == [[5, 0]] * 8
    assert dips(rows)[["n", "n_unscored"]].to_numpy().tolist() == [[4, 1]] * 8
    assert dip_summary(rows).set_index("measure").loc["prevalence", ["n", "n_unscored"]].tolist() == [0, 8]
    told = dips(in_arm("as-released", lambda item: 19), "cc_told")
    assert told["unscored"].tolist() == ["no scored reply at c = 0.25"] * 8


def test_what_a_jury_gives_is_averaged_where_it_is_there() -> None:
    rows = rows_of({"m": "keep"})
    for function in (summarise, dips, dip_summary):
        with pytest.raises(ValueError) as caught:
            function(rows, metric="sa")
        assert str(caught.value) == "the rows have no 'sa'; what a jury gives is added by `with_jury`"
    judged = rows.assign(sa=np.where(rows["c"] == 0, np.nan, 0.75))
    table = summarise(judged, metric="sa")
    assert table["n_unscored"].tolist() == [8, 0, 0, 0, 0]
    assert table["estimate"].tolist()[1:] == [0.75] * 4
    assert (table["high"][1:] < 1).all()


def test_cut_replies_are_counted() -> None:
    replies = planted({"a": "keep"})
    replies.loc[:2, "finish_reason"] = "length"
    rows = score(ITEMS, replies)
    assert summarise(rows, ["model"])["n_truncated"].tolist() == [3]


@pytest.mark.parametrize("function", [summarise, dips, dip_summary])
def test_an_unknown_metric_is_told(function: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=r"^metric 'wrds' is not known; did you mean 'words'\?$"):
        function(rows_of({"a": "keep"}), metric="wrds")


def test_no_rows_give_empty_tables_with_their_columns() -> None:
    rows = rows_of({"a": "keep"}).iloc[:0]
    assert list(summarise(rows).columns[:4]) == ["model", "c", "metric", "estimate"]
    assert list(dip_summary(rows).columns[:4]) == ["model", "metric", "measure", "estimate"]
    assert list(dips(rows).columns[:6]) == ["model", "arm", "mode", "limit", "compressor", "concept"]
    assert list(examples(rows, planted({"a": "keep"})).columns[:3]) == ["model", "c", "which"]
    assert findings(rows).columns.tolist() == ["model", "text"]
    assert list(null_table(rows).columns) == ["model", "dips", "chance", "observed", "n"]
    assert [len(table) for table in (summarise(rows), dip_summary(rows), dips(rows), null_table(rows))] == [0] * 4


@pytest.mark.parametrize("lost", ["", "recursion/c025", "."])
def test_rows_read_from_their_table_say_the_same(tmp_path: Path, lost: str) -> None:
    rows = rows_of({"a": "dip", "b": "arch"}, noise=4, lost=lost)
    save_tables(tmp_path, rows=rows)
    back = read_table(tmp_path / "rows.csv")
    for function in (summarise, dip_summary, null_table):
        pd.testing.assert_frame_equal(function(back), function(rows), check_dtype=False)


# ----------------------------------------------------------------------------------------------------------------- dips


def test_planted_curves_are_seen_for_what_they_are() -> None:
    table = dips(rows_of({"d": "dip", "a": "arch", "r": "rise", "k": "keep"}))
    assert len(table) == 32
    assert table.groupby("model")["dips"].sum().to_dict() == {"d": 8, "a": 0, "r": 0, "k": 0}
    depth = {}
    for shape in ("dip", "arch", "rise", "keep"):
        cc = [compliance_score(n) / 10 for n in SHAPES[shape]]
        depth[shape[0]] = (cc[0] + cc[4]) / 2 - cc[2]
    assert table.groupby("model")["magnitude"].mean().to_dict() == pytest.approx(depth)
    by_model = table.set_index("model")
    assert by_model.loc["d", "trough"].unique().tolist() == [0.5]
    assert by_model.loc["r", "trough"].unique().tolist() == [0.0]
    assert by_model.loc["k", "trough"].isna().all()  # flat: no level is the lowest
    assert by_model.loc["a", "trough"].isna().all()  # both ends equally low
    assert (table["levels"] == 5).all()
    assert (table["n"] == 5).all()
    assert table["domain"].tolist()[:2] == ["formal", "applied"]


def test_a_curve_with_a_hole_has_no_dip_and_says_where() -> None:
    table = dips(rows_of({"d": "dip"}, lost=r"recursion/c0[02]|derivative/c050")).set_index("concept")
    assert table.loc["recursion", "dips"] is None
    assert table.loc["recursion", "unscored"] == "no scored reply at c = 0, 0.25"
    assert table.loc["derivative", "unscored"] == "no scored reply at c = 0.5"
    assert math.isnan(table.loc["recursion", "magnitude"])
    assert (table.loc["recursion", "n"], table.loc["recursion", "n_unscored"]) == (3, 2)
    assert table.loc["photosynthesis", "dips"]
    assert table.loc["photosynthesis", "unscored"] == ""


@pytest.mark.parametrize(
    ("levels", "unscored"),
    [
        ([0.0, 0.5, 1.0], ""),
        ([0.0, 1.0], "2 levels: a dip needs an odd number, three or more"),
        ([0.5], "1 levels: a dip needs an odd number, three or more"),
        ([0.0, 0.25, 0.75, 1.0], "4 levels: a dip needs an odd number, three or more"),
    ],
)
def test_a_dip_needs_a_middle(levels: list[float], unscored: str) -> None:
    rows = rows_of({"d": "dip"})
    table = dips(rows[rows["c"].isin(levels)])
    assert table["unscored"].unique().tolist() == [unscored]
    assert table["dips"].tolist() == [True if not unscored else None] * 8
    summary = dip_summary(rows[rows["c"].isin(levels)]).set_index("measure")
    assert summary.loc["prevalence", "n"] == (0 if unscored else 8)
    assert summary.loc["prevalence", "n_unscored"] == (8 if unscored else 0)


def test_samples_are_averaged_before_a_curve_is_judged() -> None:
    rows = rows_of({"d": "dip"}, noise=5, samples=3)
    curve = rows[rows["concept"] == "recursion"].groupby("c")["cc"].mean()
    row = dips(rows).set_index("concept").loc["recursion"]
    assert row["magnitude"] == pytest.approx((curve[0.0] + curve[1.0]) / 2 - curve[0.5])
    assert row["n"] == 15


def test_equal_samples_in_another_order_are_no_dip() -> None:
    """0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last bit: a strict order must not rest on that."""
    rows = rows_of({"k": "keep"}, samples=3)
    rows["cc"] = 0.0
    for c, values in ((0.0, [0.1, 0.2, 0.3]), (0.5, [0.3, 0.1, 0.2]), (1.0, [0.1, 0.2, 0.3])):
        for sample, value in enumerate(values):
            rows.loc[(rows["c"] == c) & (rows["sample"] == sample), "cc"] = value
    table = dips(rows)
    assert not table["dips"].any()
    assert (table["magnitude"] == 0).all()


def test_a_summary_of_dips_on_planted_curves() -> None:
    summary = dip_summary(rows_of({"d": "dip", "a": "arch", "k": "keep"})).set_index(["model", "measure"])
    all_dip, arch, keep = (summary.loc[(model, "prevalence")] for model in "dak")
    assert (all_dip["estimate"], all_dip["n"], all_dip["n_unscored"]) == (1.0, 8, 0)
    exact, exact_none = (stats.binomtest(k, 8).proportion_ci(method="exact") for k in (8, 0))
    assert (all_dip["low"], all_dip["high"]) == pytest.approx((exact.low, exact.high))
    assert all_dip["method"] == "exact binomial"
    # 35, 38, 60, 38, 36 words: 10, 8, 1.6, 8, 9 points. Of the 60 ordered triples of levels the middle one is strictly
    # the lowest in 12 with 60 words there, 4 with a 38 (10 and 9 at the ends; the other 38 ties), 0 with the rest
    assert all_dip["null"] == pytest.approx(16 / 60)
    assert all_dip["p_more"] == pytest.approx((16 / 60) ** 8)
    assert all_dip["p_less"] == pytest.approx(1)
    assert (arch["estimate"], arch["p_more"]) == (0.0, pytest.approx(1))
    assert (keep["estimate"], keep["null"], keep["p_more"], keep["p_less"]) == (0.0, 0.0, 1.0, 1.0)
    depth = summary.loc[("a", "magnitude")]
    assert depth["null"] == 0
    assert depth["p_less"] < 0.001 < depth["p_more"]
    assert (depth["estimate"], depth["low"]) == (-1, -1)
    assert depth["high"] == pytest.approx(-1 + 2 * exact_none.high)  # all at the bound, as no dip in eight is
    assert depth["method"] == "exact binomial"


def test_a_steady_rise_is_told_from_an_arch() -> None:
    """Neither dips, and only the arch has a small p_less of the magnitude."""
    summary = dip_summary(rows_of({"r": "rise", "a": "arch"}, noise=1)).set_index(["model", "measure"])
    assert summary.loc[("r", "prevalence"), "p_less"] < 0.05
    assert summary.loc[("a", "magnitude"), "p_less"] < 0.001
    assert summary.loc[("r", "magnitude"), "p_less"] > 0.05


def test_holes_are_counted_and_left_out_of_estimate_and_null() -> None:
    rows = rows_of({"d": "dip"}, lost="recursion/c025")
    prevalence = dip_summary(rows).set_index("measure").loc["prevalence"]
    assert (prevalence["n"], prevalence["n_unscored"], prevalence["estimate"]) == (7, 1, 1)
    assert prevalence["p_more"] == pytest.approx((16 / 60) ** 7)
    null = null_table(rows)
    assert null["n"].tolist() == [7] * 8
    assert null["observed"].tolist() == [False] * 7 + [True]
    nothing = dip_summary(rows_of({"d": "dip"}, lost="/c050")).set_index("measure").loc["magnitude"]
    assert (nothing["n"], nothing["n_unscored"], nothing["method"]) == (0, 8, "no data")
    assert all(math.isnan(nothing[name]) for name in ("estimate", "low", "high", "p_more"))
    assert len(null_table(rows_of({"d": "dip"}, lost="/c050"))) == 0


def test_a_level_less_in_one_concept_leaves_its_curve_in_estimate_and_null() -> None:
    rows = rows_of({"d": "dip"})
    rows = rows[~((rows["concept"] == "recursion") & rows["c"].isin([0.25, 0.75]))]
    prevalence = dip_summary(rows).set_index("measure").loc["prevalence"]
    assert (prevalence["n"], prevalence["n_unscored"]) == (8, 0)
    assert prevalence["p_more"] == pytest.approx((16 / 60) ** 7 / 3)
    assert null_table(rows)["n"].unique().tolist() == [8]


def test_models_on_the_same_texts_are_no_independent_evidence() -> None:
    rows = rows_of({f"m{number}": "dip" for number in range(9)})
    pooled = dip_summary(rows, ["arm"]).set_index("measure")
    alone = dip_summary(rows[rows["model"] == "m0"]).set_index("measure")
    assert (pooled.loc["prevalence", "n"], alone.loc["prevalence", "n"]) == (72, 8)
    for measure in ("prevalence", "magnitude"):
        assert pooled.loc[measure, "p_more"] == pytest.approx(alone.loc[measure, "p_more"], rel=1e-6)
        assert (pooled.loc[measure, "low"], pooled.loc[measure, "high"]) == pytest.approx(
            (alone.loc[measure, "low"], alone.loc[measure, "high"])
        )


def test_the_null_table_is_a_distribution_with_what_was_seen() -> None:
    table = null_table(rows_of({"d": "dip", "a": "arch"}, noise=3))
    for _, part in table.groupby("model"):
        assert part["dips"].tolist() == list(range(9))
        assert part["chance"].sum() == pytest.approx(1)
        assert part["observed"].sum() == 1
    assert table[table["observed"]].set_index("model")["dips"]["d"] >= 7


def test_dips_of_words_are_judged_too() -> None:
    summary = dip_summary(rows_of({"d": "dip"}, noise=2), metric="words").set_index("measure")
    assert summary.loc["prevalence", "estimate"] == 0  # more words in the middle
    assert summary.loc["magnitude", "estimate"] == pytest.approx(35.5 - 60, abs=2)
    assert summary.loc["magnitude", "p_less"] < 0.001


# ---------------------------------------------------------------------------------------------- the paper's own numbers


def test_the_published_means_are_the_papers() -> None:
    table = published_means()  # section 4.1, on 0-10: 8.12 [7.91, 8.33], 6.54 [6.28, 6.80], 8.03 [7.81, 8.25]
    assert table[["c", "estimate", "low", "high"]].to_numpy().tolist() == [
        pytest.approx([0.0, 0.812, 0.791, 0.833]),
        pytest.approx([0.5, 0.654, 0.628, 0.680]),
        pytest.approx([1.0, 0.803, 0.781, 0.825]),
    ]


def test_the_papers_means_do_not_give_its_magnitude() -> None:
    means = published_means().set_index("c")["estimate"]
    assert 10 * ((means[0.0] + means[1.0]) / 2 - means[0.5]) == pytest.approx(1.535)
    assert published_dips() == pytest.approx(
        {"prevalence": 0.972, "magnitude": 0.381, "magnitude of its means": (means[0.0] + means[1.0]) / 2 - means[0.5]}
    )


# --------------------------------------------------------------------------------------------------------- the findings


def told(rows: pd.DataFrame) -> list[str]:
    return findings(rows)["text"].tolist()


@pytest.mark.parametrize(
    ("shape", "start"),
    [
        ("dip", "Compliance dips at c = 0.5, by 0.79 of 1 ["),
        ("arch", "Compliance does not dip at c = 0.5 but arches, by 1.00 of 1 ["),
        ("keep", "No dip and no arch can be told from chance at c = 0.5: magnitude +0.00 ["),
        ("rise", "No dip and no arch can be told from chance at c = 0.5: magnitude +0.01 ["),
    ],
)
def test_what_is_found_is_said_in_a_sentence(shape: str, start: str) -> None:
    first, second = told(rows_of({"m": shape}))
    assert first.startswith(start)
    assert second.startswith("Asked for exactly 35 words it writes ")
    assert first.endswith(".")
    assert second.endswith(".")


def test_a_sentence_holds_the_numbers_that_it_rests_on() -> None:
    first, second = told(rows_of({"m": "dip"}))
    depth = dip_summary(rows_of({"m": "dip"})).set_index("measure").loc["magnitude"]
    assert (
        f"[{depth['low']:.2f}, {depth['high']:.2f}] against the mean of the ends (exact two-sided p < 1e-10); " in first
    )
    assert first.endswith("; 8 of 8 curves dip, 2.1 would by chance.")
    assert second.endswith("; of 40 replies 8 keep the limit, and 32 come within 3 words.")


def test_depth_without_dips_is_no_dip() -> None:
    """Flat at the floor with a good last level: a magnitude beyond chance, and not one curve dips."""
    rows = rows_of({"m": "keep"})
    rows["cc"] = np.where(rows["c"] == 1.0, 0.9, 0.01 * np.round(4 * rows["c"]) * (rows["c"] < 0.5))
    assert dip_summary(rows).set_index("measure").loc["magnitude", "p_more"] < 0.01
    assert told(rows)[0].startswith("The middle, c = 0.5, lies below the mean of the ends by 0.45 of 1 [")
    assert "0 of 8 curves dip" in told(rows)[0]
    assert told(rows)[0].endswith("that is a rise or a fall, not a dip.")


def test_a_rise_that_ends_at_the_middle_is_no_arch() -> None:
    """Low at c = 0 and level from then on: far above the mean of the ends, and above both in not one curve."""
    rows = rows_of({"m": "keep"})
    rows["cc"] = np.where(rows["c"] == 0.0, 0.1, 0.9)
    summary = dip_summary(rows).set_index("measure")
    assert summary.loc["magnitude", "p_less"] < 0.01
    assert summary.loc["arches", ["estimate", "p_more"]].tolist() == [0.0, 1.0]
    assert told(rows)[0].startswith("The middle, c = 0.5, lies above the mean of the ends by 0.40 of 1 ")
    assert told(rows)[0].endswith("0 of 8 curves arch, 0.0 would by chance; that is a rise or a fall, not an arch.")


def test_arches_are_the_dips_of_curves_turned_over() -> None:
    rows = rows_of({"m": "arch"}, noise=4)
    over = dip_summary(rows.assign(cc=1 - rows["cc"])).set_index("measure")
    found = dip_summary(rows).set_index("measure")
    columns = ["estimate", "low", "high", "n", "null", "p_more", "p_less"]
    pd.testing.assert_series_equal(
        found.loc["arches", columns], over.loc["prevalence", columns], check_names=False, check_exact=False
    )


def test_a_claim_needs_the_two_sided_p(monkeypatch: pytest.MonkeyPatch) -> None:
    """One tail of .03 is .06 in both directions: nothing is claimed of it, in neither direction."""
    rows = rows_of({"m": "dip"})
    for tail in ("p_more", "p_less"):
        summary = dip_summary(rows).assign(**{"p_more": 1.0, "p_less": 1.0, tail: 0.03})
        monkeypatch.setattr(sys.modules["cdct.compression.card"], "dip_summary", lambda cell, summary=summary: summary)
        assert told(rows)[0].startswith("No dip and no arch can be told from chance")
        assert "exact two-sided p = 0.06;" in told(rows)[0]


# ------------------------------------------------------------------------------------------------ turns and conditions


def test_of_a_conversation_the_last_turn_counts() -> None:
    item = next(item for item in generate() if item.params["c"] == 0.5)
    keys = {"benchmark": "cdct", "arm": "talk", "item": item.id, "model": "m", "sample": 0}
    replies = [
        keys | {"turn": turn, "text": "word " * n, "status": "ok", "finish_reason": "stop"}
        for turn, n in enumerate((70, 35))
    ]
    rows = score([item], pd.DataFrame(replies))
    assert rows["last"].tolist() == [False, True]
    assert summarise(rows, ["model"])[["estimate", "n"]].iloc[0].tolist() == [1.0, 1]
    assert summarise(rows, ["model", "turn"])["estimate"].tolist() == [0.0, 1.0]
    replies[1] |= {"text": None, "status": "failed"}
    rows = score([item], pd.DataFrame(replies))
    assert summarise(rows, ["model"])[["n", "n_unscored"]].iloc[0].tolist() == [0, 1]  # not the turn before it


@pytest.mark.parametrize(
    ("name", "value"), [("arm", "plain"), ("mode", "at most"), ("limit", 60), ("compressor", "lead")]
)
def test_conditions_are_never_averaged(name: str, value: object) -> None:
    rows = rows_of({"m": "dip"})
    both = pd.concat([rows, rows.assign(**{name: value})])
    for function in (summarise, dip_summary, null_table):
        with pytest.raises(ValueError, match=f"the rows mix {name} .*; add '{name}' to `by`, or take one"):
            function(both)
    with pytest.raises(ValueError, match=f"the rows mix {name} "):
        examples(both, planted({"m": "dip"}))
    assert len(summarise(both, ["model", "c", name])) == 10
    assert len(dip_summary(both, ["model", name])) == 6
    assert len(dips(both)) == 16


def test_nothing_is_said_of_what_was_not_seen() -> None:
    assert told(rows_of({"m": "dip"}, lost=".")) == []
    assert [text[:9] for text in told(rows_of({"m": "dip"}, lost="/c050"))] == ["Asked for"]
    one = rows_of({"m": "dip"})
    one = one[one["concept"] == "recursion"]
    assert all("(no interval)" in text and "nan" not in text for text in told(one))


@pytest.mark.parametrize(
    ("arm", "levels", "wishes", "starts", "ends"),
    [
        (
            "inside",
            None,
            {},
            ["Told other limits at other levels, it writes 35 words on average "],
            ["; of 32 replies 32 keep the limit, and 32 come within 3 words (inside)."],
        ),
        (
            "inside",
            None,
            {"limit": 60, "mode": "at most", "compressor": "written"},
            ["Told other limits at other levels, it writes 35 words on average "],
            ["; of 32 replies 32 keep the limit, and 32 come within 3 words (inside, at most 60 words)."],
        ),
        (
            "inside",
            [0.0],
            {},
            ["Told no number of words, it writes 35 words on average "],
            ["(no interval) (inside)."],
        ),
        (
            "as-released",
            None,
            {},
            [
                "The middle, c = 0.5, lies above the mean of the ends by 0.35 of 1 [",
                "Told other limits at other levels, it writes 35 words",
            ],
            [
                "that is a rise or a fall, not an arch (as-released).",
                "; of 40 replies 24 keep the limit that they are judged by, and 24 come within 3 words (as-released).",
            ],
        ),
        (
            "as-released-short",
            None,
            {},
            [
                "The middle, c = 0.5, lies above the mean of the ends by 0.35 of 1 [",
                "Told no number of words, it writes 35 words on av",
            ],
            [
                "that is a rise or a fall, not an arch (as-released-short).",
                "; of 40 replies 24 keep the limit that they are judged by, and 24 come within 3 words "
                "(as-released-short).",
            ],
        ),
        (
            "as-released",
            [0.0],
            {},
            ["Asked for under 20 words it writes 35 words on average "],
            ["; of 8 replies 0 keep the limit, and 0 come within 3 words (as-released)."],
        ),
        (
            "plain",
            None,
            {"limit": 42, "mode": "at most", "compressor": "lead"},
            ["No dip and no arch", "Asked for at most 42 words it writes 35 words on average "],
            [
                " (plain, at most 42 words, texts by lead).",
                "; of 40 replies 40 keep the limit, and 40 come within 3 words (plain, texts by lead).",
            ],
        ),
    ],
)
def test_sentences_of_other_conditions_name_them(
    arm: str, levels: list[float] | None, wishes: dict[str, Any], starts: list[str], ends: list[str]
) -> None:
    texts = told(in_arm(arm, lambda item: 35, levels=levels, **wishes))
    assert len(texts) == len(starts)
    for text, start, end in zip(texts, starts, ends, strict=True):
        assert text.startswith(start)
        assert text.endswith(end)
        assert not re.search(r"\bnan\b|none|None|  ", text)


def test_texts_that_were_not_made_are_no_words_of_a_sentence() -> None:
    gaps = {(concept, c): "two words" for concept in concepts() for c in (0.0, 0.5) if concept != "recursion"}
    items = generate(compressor="maker", texts=gaps, levels=[0.0, 0.5, 1.0])
    keys = {"benchmark": "cdct", "arm": "fixed", "model": "m", "sample": 0, "turn": 0, "finish_reason": "stop"}
    asked = [item for item in items if item.meta["context"] is not None]
    replies = pd.DataFrame([keys | {"item": i.id, "text": "word " * 35, "status": "ok"} for i in asked])
    rows = score(items, replies)
    assert len(rows) == 24
    first, second = told(rows)
    assert "0 of 7 curves dip" in first
    assert first.endswith(" (texts by maker).")
    assert second.startswith("Asked for exactly 35 words it writes 35 words on average ")
    assert second.endswith("; of 22 replies 22 keep the limit, and 22 come within 3 words (texts by maker).")
    assert context_words(items).to_dict() == {0.0: 2, 0.5: 2, 1.0: 135}
    assert set(examples(rows, replies)["concept"]) <= set(concepts())
    lines = card(rows).set_index("label")
    assert set(lines["group"]) == {"CDCT: texts by maker"}
    assert lines.loc["curves that dip", ["n", "n_unscored"]].tolist() == [7, 1]
    assert lines.loc["words written", ["n", "n_unscored"]].tolist() == [22, 2]


# ------------------------------------------------------------------------------------------------------------- the card


def test_a_card_has_a_line_for_each_model_and_number() -> None:
    table = card(rows_of({"d": "dip", "a": "arch"}, lost="a .*/c100"))
    assert list(table.columns) == [
        *("model", "group", "label", "unit", "estimate", "low", "high", "n", "n_unscored", "method"),
        *("published", "published_label"),
    ]
    assert set(table["group"]) == {"CDCT"}
    assert set(table["unit"]) == {"share", "", "words"}
    assert table.groupby("model").size().to_dict() == {"a": 6, "d": 6}
    lines = table[table["model"] == "d"].set_index("label")
    assert lines.loc["curves that dip", ["estimate", "published"]].tolist() == [1.0, 0.972]
    assert lines.loc["compliance at c = 0.5 (0-1)", "published"] == pytest.approx(0.654)
    assert lines.loc["words written", "estimate"] == pytest.approx(np.mean(SHAPES["dip"]))
    assert lines.loc["replies that keep the limit", "estimate"] == pytest.approx(0.2)
    arch = table[table["model"] == "a"].set_index("label")
    assert arch.loc["curves that dip", ["n", "n_unscored"]].tolist() == [0, 8]
    assert arch.loc["words written", ["n", "n_unscored"]].tolist() == [32, 8]
    named = table["published"].notna()
    assert (table.loc[named, "published_label"] != "").all()
    assert (table.loc[~named, "published_label"] == "").all()


def test_a_card_of_other_levels_names_no_published_value_at_its_middle() -> None:
    rows = rows_of({"d": "dip"})
    lines = card(rows[rows["c"] < 0.75]).set_index("label")
    assert "compliance at c = 0.25 (0-1)" in lines.index
    assert lines.loc["compliance at c = 0.25 (0-1)", "published_label"] == ""
    assert pd.isna(lines.loc["compliance at c = 0.25 (0-1)", "published"])


def test_an_ablation_has_lines_of_its_own_and_no_published_values() -> None:
    rows = rows_of({"d": "dip"})
    at_most = in_arm("baseline", lambda item: SHAPES["dip"][round(4 * item.params["c"])], mode="at most")
    both = pd.concat([rows, at_most.assign(model="d")])
    table = card(both)
    assert table.groupby("group").size().to_dict() == {"CDCT": 6, "CDCT: at most 35 words": 6}
    assert table.loc[table["group"] != "CDCT", "published"].isna().all()
    assert [text.endswith(" (at most 35 words).") for text in told(both)] == [True, False, False, False]


def test_a_card_counts_what_each_of_its_lines_lacks() -> None:
    lines = card(in_arm("inside", lambda item: 35, lost="recursion/c050")).set_index("label")
    assert set(lines["group"]) == {"CDCT: inside"}
    found = lines[["n", "n_unscored"]].T.to_dict("list")
    assert found == {
        "curves that dip": [0, 8],
        "dip magnitude (0-1)": [0, 8],
        "compliance at c = 0.5 (0-1)": [7, 1],
        "replies that keep the limit": [31, 9],
        "words written": [39, 1],
        "key points covered": [39, 1],
    }
    assert lines["published"].isna().all()
    assert lines.loc["curves that dip", ["estimate", "low", "high"]].isna().all()


def test_conditions_stand_beside_each_other_in_card_and_findings() -> None:
    rows = pd.concat(
        [in_arm("fixed", lambda item: 35), in_arm("plain", lambda item: 36), in_arm("inside", lambda i: 9)]
    )
    assert list(dict.fromkeys(card(rows)["group"])) == ["CDCT", "CDCT: plain", "CDCT: inside"]
    texts = told(rows)
    assert [re.search(r"\(([a-z]+)\)\.$", text)[1] if text.endswith(").") else "" for text in texts] == [
        *("", ""),
        "inside",
        *("plain", "plain"),
    ]


def test_a_condition_is_named_by_what_sets_it_apart() -> None:
    assert [condition(*names) for names in (("baseline", "exactly", 35), ("fixed", "exactly", 35))] == ["", ""]
    assert condition("fixed", "at most", 35) == "at most 35 words"
    assert condition("plain", "exactly", 60) == "plain, exactly 60 words"
    assert condition("fixed", "exactly", 35, "written") == ""
    assert condition("fixed", "exactly", 35, "lead") == "texts by lead"
    assert condition("bold", "at most", 35, "gpt-5") == "bold, at most 35 words, texts by gpt-5"


# --------------------------------------------------------------------------------------------------- texts and examples


def test_the_words_of_the_contexts_are_counted_in_the_texts() -> None:
    assert context_words(ITEMS).to_dict() == {0.0: 2, 0.25: 13, 0.5: 27, 0.75: 69, 1.0: 135}
    gaps = generate(compressor="maker", texts={("recursion", 0.5): "three little words"})
    assert context_words(gaps).to_dict() == {0.5: 3, 1.0: 135}
    assert len(context_words(generate(levels=[0.5], compressor="maker", texts={}))) == 0


def test_examples_keep_the_text_as_it_is() -> None:
    replies = planted({"a": "keep"})
    hostile = "<script>alert(1)</script> & <b>bold</b>\n\n| a | b |"
    replies.loc[0, "text"] = hostile
    table = examples(score(ITEMS, replies), replies)
    assert list(table.columns) == ["model", "c", "which", "concept", "words", "cc", "coverage", "text"]
    assert table["which"].tolist() == ["nearest", "farthest"] * 5
    assert table["text"].tolist()[1] == hostile  # escaped by what shows it, which pandas does:
    assert "<script>" not in table.to_html()


def test_examples_are_the_nearest_and_the_farthest() -> None:
    replies = planted({"a": "keep"})
    for concept, n in zip(concepts(), (80, 75, 0, 71, 100, 400, 90, 85), strict=True):
        replies.loc[replies["item"] == f"cdct-v1/{concept}/c050", "text"] = "word " * n
    rows = score(ITEMS, replies)
    at = examples(rows, replies).query("c == 0.5").set_index("which")
    assert at.loc["nearest", "words"] == 0  # 35 off, where 71 words are 36 off; both comply 0
    assert at.loc["farthest", "words"] == 400
    lost = rows.assign(unscored="failed")
    assert len(examples(lost, replies)) == 0


def test_a_reply_that_no_limit_binds_is_no_example() -> None:
    replies = planted({"a": "keep"}, arm="as-released")
    assert examples(score(ITEMS, replies), replies)["c"].unique().tolist() == [0.0, 0.25, 0.5]
    replies = planted({"a": "keep"}, arm="inside")
    assert examples(score(ITEMS, replies), replies)["c"].unique().tolist() == [0.25, 0.5, 0.75, 1.0]
