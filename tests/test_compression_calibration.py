"""Planted errors of judges come back; slopes and bands by hand; what a jury adds to rows, and what it can't add."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cdct.compression import compliance_score, concepts, generate, score
from cdct.compression.calibration import BANDS, calibration, errors_by_band, slope, with_jury
from cdct.core import KEYS, digest, stream
from cdct.jury import ballot_items, ballots, verdicts
from cdct.models import Model
from cdct.run import run

ITEMS = generate()


def replied(counts: list[int], **more: object) -> pd.DataFrame:
    """A reply of so many words to each item in turn; 0 is an empty one."""
    rows = []
    for number, (item, count) in enumerate(zip(ITEMS, counts, strict=False)):
        row = dict(zip(KEYS, ("cdct", "fixed", item.id, "subject", 0, 0), strict=True))
        text = " ".join([f"reply{number}"] + ["word"] * (count - 1)) if count else ""
        rows.append(row | {"text": text, "status": "ok" if count else "empty", "finish_reason": "stop"} | more)
    return pd.DataFrame(rows)


def marks(rows: pd.DataFrame, values: list[float], judge: str = "a", metric: str = "CC", shown: str = "hidden"):
    given = rows[KEYS].iloc[: len(values)].assign(judge=judge, shown=shown, metric=metric, score=values, status="ok")
    return given.assign(flags="", unscored=["" if value == value else "parse_error" for value in values])


# -------------------------------------------------------------------------------------------------------- planted truth

COUNTS = [int(n) for n in stream("counts").choice([35, 30, 45, 55, 60, 66, 75, 90, 12], size=len(ITEMS))]


def judged_by(answer, store: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    replies = replied(COUNTS)
    rows = score(ITEMS, replies)
    items = ballot_items(ITEMS, replies, rows)
    return ballots(items, run(items, Model("judge", answer=answer), arms=["shown"], store=store, progress=False)), rows


def test_a_planted_bias_and_slope_come_back(store_path) -> None:
    """A judge that reads the count, marks 0.6 of the counted points, is .15 too kind on average, and errs at random."""
    counted = np.mean([compliance_score(n) / 10 for n in COUNTS])
    assert counted < 0.375  # so that no mark has to be cut at 1

    def answer(request: dict, sample: int) -> str:
        told = int(re.search(r"The reply has (\d+) words", request["messages"][1]["content"])[1])  # type: ignore[index]
        noise = stream("noise", digest(request["messages"])).uniform(-0.1, 0.1)
        mark = 0.6 * compliance_score(told) / 10 + 0.15 + 0.4 * counted + noise
        return json.dumps({"CC": round(10 * mark, 2), "SA": 5, "FC": 5})

    found, rows = judged_by(answer, store_path)
    table = calibration(found, rows).set_index("measure")
    for measure, planted in (("bias", 0.15), ("slope", 0.6)):
        assert table.loc[measure, "low"] <= planted <= table.loc[measure, "high"]
        assert table.loc[measure, "high"] - table.loc[measure, "low"] < 0.2
    assert table.loc["bias", "low"] > 0
    assert table.loc["slope", "high"] < 1
    assert (table["n"].tolist(), table["n_unscored"].tolist()) == ([len(ITEMS)] * 3, [0] * 3)


def test_a_judge_that_counts_is_without_error(store_path) -> None:
    def answer(request: dict, sample: int) -> str:
        told = int(re.search(r"The reply has (\d+) words", request["messages"][1]["content"])[1])  # type: ignore[index]
        return json.dumps({"CC": compliance_score(told), "SA": 5, "FC": 5})

    found, rows = judged_by(answer, store_path)
    assert calibration(found, rows).set_index("measure")["estimate"].to_dict() == pytest.approx(
        {"bias": 0, "slope": 1, "error": 0}, abs=1e-12
    )
    bands = errors_by_band(found, rows)
    assert bands["estimate"].dropna().tolist() == pytest.approx([0] * bands["estimate"].count(), abs=1e-12)
    assert bands[bands["measure"] == "bias"].set_index("band")["n"].sum() == len(ITEMS)


def test_a_judge_that_ignores_the_count_has_no_slope(store_path) -> None:
    found, rows = judged_by(lambda *_: '{"CC": 9, "SA": 9, "FC": 9}', store_path)
    table = calibration(found, rows).set_index("measure")
    assert table.loc["slope", "estimate"] == pytest.approx(0, abs=1e-12)
    assert table.loc["bias", "estimate"] == pytest.approx(0.9 - rows["cc"].mean())


# --------------------------------------------------------------------------------------------------------------- slopes


def test_a_slope_and_its_jackknife_by_hand() -> None:
    """Points (0,0) (1,1) | (0,1) (1,1) | (0,0) (1,2): slope 4/3; without each pair in turn 3/2, 3/2... by formula."""
    x, y, names = [0, 1, 0, 1, 0, 1], [0, 1, 1, 1, 0, 2], list("aabbcc")
    found = slope(x, y, names)
    # with x 0 or 1 the slope is the difference of the means of y: 4/3 - 1/3 = 1
    # without a: 3/2 - 1/2 = 1; without b: 3/2 - 0 = 3/2; without c: 1 - 1/2 = 1/2
    se = math.sqrt(2 / 3 * (0 + 0.25 + 0.25))
    t = stats.t.ppf(0.975, 2)
    assert (found.estimate, found.low, found.high) == pytest.approx((1, 1 - t * se, 1 + t * se))
    assert (found.n, found.method) == (6, "jackknife, t, 3 clusters")


def test_the_slope_of_clusters_of_one_is_that_of_a_regression() -> None:
    rng = stream("slope")
    x = rng.random(200)
    y = 0.3 + 0.5 * x + rng.normal(0, 0.1, 200)
    found, usual = slope(x, y, range(200)), stats.linregress(x, y)
    assert found.estimate == pytest.approx(usual.slope)
    assert found.high - found.low == pytest.approx(2 * 1.97 * usual.stderr, rel=0.15)


def test_the_interval_of_a_slope_holds_the_truth() -> None:
    """8 concepts of 5 replies, a shift for each concept: at least 92 of 100 intervals hold the planted slope."""
    held = 0
    for draw in range(300):
        rng = stream("coverage", draw)
        x = rng.random((8, 5))
        y = 0.2 + 0.6 * x + rng.normal(0, 0.1, (8, 1)) + rng.normal(0, 0.05, (8, 5))
        found = slope(x.ravel(), y.ravel(), np.repeat(range(8), 5))
        held += found.low <= 0.6 <= found.high
    assert held / 300 > 0.92


@pytest.mark.parametrize(
    ("x", "y", "names", "method"),
    [
        ([], [], [], "no data"),
        ([1, 1, 1], [0, 1, 1], "abc", "x does not vary: no slope"),
        ([1], [1], "a", "x does not vary: no slope"),
    ],
)
def test_no_slope_without_spread(x: list, y: list, names: str, method: str) -> None:
    found = slope(x, y, list(names))
    assert math.isnan(found.estimate)
    assert (found.n, found.method) == (len(x), method)


def test_no_interval_of_a_slope_from_one_or_two_clusters() -> None:
    found = slope([0, 1, 0, 1], [0, 1, 0, 2], list("aabb"))
    assert (found.estimate, math.isnan(found.low), found.method) == (1.5, True, "2 clusters: no interval")


# ------------------------------------------------------------------------------------------------- judges against count


def test_bias_and_error_by_hand() -> None:
    rows = score(ITEMS, replied([35, 45, 35, 45, 35, 45]))  # 1 and 0.4714 in turn
    near = compliance_score(45) / 10
    given = pd.concat([marks(rows, [0.9, near + 0.3, 1, math.nan, 1, near]), marks(rows, [1, 0.5], "b")])
    table = calibration(given, rows).set_index(["judge", "measure"])
    assert table.loc[("a", "bias"), "estimate"] == pytest.approx((-0.1 + 0.3) / 5)
    assert table.loc[("a", "error"), "estimate"] == pytest.approx((0.1 + 0.3) / 5)
    assert table.loc[("a", "bias"), ["n", "n_unscored"]].tolist() == [5, 1]
    assert table.loc[("b", "bias"), "estimate"] == pytest.approx((0.5 - near) / 2)
    assert table.loc[("b", "slope"), "estimate"] == pytest.approx(0.5 / (1 - near))
    assert list(calibration(given, rows, by=["shown"])["n"]) == [7] * 3


def test_each_band_has_its_own_error() -> None:
    off = [0, -1, 3, -4, 7, 8, -15, 16, 40]
    rows = score(ITEMS, replied([35 + d for d in off]))
    given = marks(rows, [min(1.0, cc + 0.1 * (i % 2)) for i, cc in enumerate(rows["cc"])])
    table = errors_by_band(given, rows).set_index(["band", "measure"])
    assert table.xs("bias", level="measure")["n"].to_dict() == dict(zip(BANDS, [1, 2, 2, 2, 2], strict=True))
    assert table.loc[("1-3 words off", "bias"), "estimate"] == pytest.approx(0.05)
    none = errors_by_band(marks(rows.iloc[:1], [1.0]), rows).set_index(["band", "measure"])
    assert none["n"].tolist() == [1, 1] + [0] * 8
    assert none["estimate"].isna().sum() == 8


def test_a_reply_that_no_limit_binds_is_in_no_band_and_one_without_compliance_is_unscored() -> None:
    released = replied([30] * 5, arm="as-released")
    rows = score(ITEMS, released)
    table = errors_by_band(marks(rows, [0.5] * 5), rows)
    assert table[table["measure"] == "bias"]["n"].sum() == 3
    inside = replied([30] * 5, arm="inside")
    rows = score(ITEMS, inside)
    assert rows["unscored"].tolist() == ["limit absent", "", "", "", ""]
    assert calibration(marks(rows, [0.5] * 5), rows)["n_unscored"].tolist() == [1] * 3


def test_ballots_on_other_replies_are_an_error() -> None:
    rows = score(ITEMS, replied([35, 35]))
    with pytest.raises(ValueError, match=r"a judge judged \{.*\}, which is not in the rows"):
        calibration(marks(rows, [1, 1]), rows.iloc[:1])


# ------------------------------------------------------------------------------------------------------- rows with jury


def three(rows: pd.DataFrame, values: list[float], **more: str) -> pd.DataFrame:
    return pd.concat([marks(rows, values, metric=metric, **more) for metric in ("CC", "SA", "FC")])


def test_a_jury_adds_its_columns_to_the_rows() -> None:
    rows = score(ITEMS, replied([35, 0, 20, 10]))
    given = pd.concat([three(rows, [0.8, math.nan, math.nan]), three(rows, [0.6, math.nan, 0.5], judge="b")])
    given = given[given["item"] != rows["item"].iloc[1]]
    given.loc[(given["judge"] == "b") & (given["metric"] == "FC"), ["score", "unscored"]] = [math.nan, "missing"]
    found = with_jury(rows, verdicts(given))
    assert list(found.columns) == [*rows.columns, "sa", "fc", "cc_judged", "n_judges", "jury_unscored"]
    assert found["sa"].fillna(-1).tolist() == pytest.approx([0.7, 0, 0.5, -1])
    assert found["fc"].fillna(-1).tolist() == pytest.approx([0.8, 0, -1, -1])
    assert found["cc_judged"].fillna(-1).tolist() == pytest.approx([0.7, -1, 0.5, -1])
    assert found["n_judges"].tolist() == [1, 0, 0, 0]
    assert found["jury_unscored"].tolist() == ["", "no words", "parse_error missing", "not judged"]
    pd.testing.assert_frame_equal(found[rows.columns], rows)


def test_jury_columns_can_be_made_before_any_verdict() -> None:
    rows = score(ITEMS, replied([35]))
    found = with_jury(rows, verdicts(three(rows, [])))
    assert (found["sa"].isna().all(), found["jury_unscored"].tolist()) == (True, ["not judged"])


def test_what_can_not_be_joined_is_an_error() -> None:
    rows = score(ITEMS, replied([35, 30]))
    one = verdicts(three(rows, [0.8, 0.7]))
    with pytest.raises(ValueError, match=r"the verdicts mix shown \['hidden', 'shown'\]"):
        with_jury(rows, pd.concat([one, one.assign(shown="shown")]))
    with pytest.raises(ValueError, match="a reply has two verdicts on one metric"):
        with_jury(rows, pd.concat([one, one]))
    with pytest.raises(ValueError, match="which is not in the rows"):
        with_jury(rows.iloc[:1], one)


def test_the_concepts_are_the_clusters() -> None:
    """The levels of one concept share its texts: their errors are not eight or forty independent ones."""
    rows = score(ITEMS, replied([35] * len(ITEMS)))
    shift = {slug: 0.05 * n for n, slug in enumerate(concepts())}
    table = calibration(marks(rows, [1 - shift[slug] for slug in rows["concept"]]), rows).set_index("measure")
    errors = np.array(list(shift.values()))
    half = stats.t.ppf(0.975, len(errors) - 1) * errors.std(ddof=1) / math.sqrt(len(errors))
    assert table.loc["error", "high"] - table.loc["error", "estimate"] == pytest.approx(half)
    assert table.loc["slope", "method"] == "x does not vary: no slope"
