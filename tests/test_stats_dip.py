"""The dip and its exact null: against enumeration by force, against simulation, and on shapes with a known answer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cdct.core import stream
from cdct.stats.dip import TwoLines, dip, exact_null, two_lines

# ------------------------------------------------------------------------------------------------------------ one curve


@pytest.mark.parametrize(
    ("values", "dips", "magnitude", "trough"),
    [
        ([1, 0, 1], True, 1, 1),
        ([0, 1, 0], False, -1, None),
        ([0.812, 0.7, 0.654, 0.7, 0.803], True, 0.1535, 2),  # paper, section 4.1, with made-up values between
        ([3, 0, 1, 0, 3], True, 2, None),  # dips, but is lowest beside the middle, and twice
        ([3, 0, 1, 2, 3], True, 2, 1),
        ([1, 1, 1], False, 0, None),
        ([1, 1, 2], False, 0.5, None),  # the middle is not below both ends
        ([1, 0.5, 0.5], False, 0.25, None),
        ([1, 2, 3, 4, 5], False, 0, 0),
        ([5, 4, 3, 2, 1], False, 0, 4),
        ([0, 0, 0, 0, 1], False, 0.5, None),  # rises at one end: a positive magnitude without a dip
    ],
)
def test_a_curve(values: list[float], dips: bool, magnitude: float, trough: int | None) -> None:
    found = dip(values)
    assert found.dips is dips
    assert found.magnitude == pytest.approx(magnitude)
    assert found.trough == trough


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2], "dip: a curve needs an odd number of levels, three or more, got 2"),
        ([1], "dip: a curve needs an odd number of levels, three or more, got 1"),
        ([], "dip: a curve needs an odd number of levels, three or more, got 0"),
        ([1, 2, 3, 4], "dip: a curve needs an odd number of levels, three or more, got 4"),
        ([1, math.nan, 2], "dip: a level is missing; a curve with a hole has no dip"),
    ],
)
def test_what_is_no_curve_is_refused(values: list[float], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        dip(values)
    assert str(caught.value) == message
    with pytest.raises(ValueError):
        exact_null([[1, 0, 1], values])


# ------------------------------------------------------------------------------------------------------------- the null


def by_force(curves: Sequence[Sequence[int]], together: bool = False) -> dict[str, Fraction | list[Fraction]]:
    """Every order of every curve (or the same order for all), counted one by one in whole numbers."""

    def outcome(chosen: Sequence[Sequence[int]]) -> tuple[int, int]:
        dips = sum(min(c[0], c[-1]) > c[len(c) // 2] for c in chosen)
        return dips, sum(c[0] + c[-1] - 2 * c[len(c) // 2] for c in chosen)

    if together:
        orders = [[[c[i] for i in order] for c in curves] for order in itertools.permutations(range(len(curves[0])))]
    else:
        orders = list(itertools.product(*(list(itertools.permutations(c)) for c in curves)))
    found = [outcome(chosen) for chosen in orders]
    dips, depth = outcome(curves)
    return {
        "expected_share": Fraction(sum(d for d, _ in found), len(found) * len(curves)),
        "p_share": Fraction(sum(d >= dips for d, _ in found), len(found)),
        "p_share_less": Fraction(sum(d <= dips for d, _ in found), len(found)),
        "p_magnitude": Fraction(sum(m >= depth for _, m in found), len(found)),
        "p_magnitude_less": Fraction(sum(m <= depth for _, m in found), len(found)),
        "shares": [Fraction(sum(d == k for d, _ in found), len(found)) for k in range(len(curves) + 1)],
    }


CURVES = {
    "one dip of three levels": [[5, 1, 4]],
    "one arch of five levels": [[0, 3, 9, 2, 1]],
    "ties": [[1, 1, 0, 1, 1], [0, 0, 1, 0, 0]],
    "flat": [[2, 2, 2], [3, 3, 3, 3, 3]],
    "dip and arch": [[5, 3, 1, 4, 6], [0, 3, 9]],
    "rising": [[1, 2, 3, 4, 5], [2, 3, 4]],
    "floor": [[0, 0, 0, 0, 7], [0, 5, 0, 0, 0]],
    "three curves of three": [[5, 1, 4], [2, 2, 9], [8, 3, 3]],
    "three curves, mixed": [[5, 1, 4], [2, 2, 9, 0, 4], [8, 3, 3]],
}


@pytest.mark.parametrize("curves", CURVES.values(), ids=list(CURVES))
def test_the_null_is_that_of_every_order(curves: list[list[int]]) -> None:
    found, expected = exact_null(curves), by_force(curves)
    for name, value in expected.items():
        wanted = [float(v) for v in value] if isinstance(value, list) else float(value)
        assert getattr(found, name) == pytest.approx(wanted, abs=1e-12), name


@pytest.mark.parametrize(
    "curves",
    [[[5, 1, 4], [6, 2, 7]], [[5, 3, 1, 4, 6], [5, 3, 1, 4, 6], [9, 1, 2, 2, 3]], [[0, 3, 9, 2, 1], [5, 3, 1, 4, 6]]],
)
def test_the_null_of_curves_on_the_same_texts_moves_them_together(curves: list[list[int]]) -> None:
    found, expected = exact_null(curves, ["a"] * len(curves)), by_force(curves, together=True)
    for name, value in expected.items():
        wanted = [float(v) for v in value] if isinstance(value, list) else float(value)
        assert getattr(found, name) == pytest.approx(wanted, abs=1e-12), name


def test_copies_of_a_curve_are_no_new_evidence() -> None:
    curve = [5, 3, 1, 4, 6]
    one, nine = exact_null([curve]), exact_null([curve] * 9, ["recursion"] * 9)
    assert nine.p_share == pytest.approx(one.p_share)
    assert nine.p_magnitude == pytest.approx(one.p_magnitude)
    assert exact_null([curve] * 9).p_share < 1e-3  # as if nine models had failed by nine separate chances


small = st.lists(st.integers(0, 4), min_size=3, max_size=3)


@settings(max_examples=60)
@given(st.lists(small, min_size=1, max_size=3))
def test_small_nulls_by_force(curves: list[list[int]]) -> None:
    found, expected = exact_null(curves), by_force(curves)
    assert found.p_share == pytest.approx(float(expected["p_share"]), abs=1e-12)  # type: ignore[arg-type]
    assert found.p_magnitude == pytest.approx(float(expected["p_magnitude"]), abs=1e-12)  # type: ignore[arg-type]


@given(st.lists(st.lists(st.integers(0, 10), min_size=5, max_size=5), min_size=1, max_size=6))
def test_turning_curves_round_or_over_and_the_tails(curves: list[list[int]]) -> None:
    found = exact_null(curves)
    turned = exact_null([curve[::-1] for curve in curves])  # c = 0 and c = 1 play the same part
    assert turned[:5] == pytest.approx(found[:5], abs=1e-9)
    over = exact_null([[-value for value in curve] for curve in curves])  # what arches now dips
    assert over.p_magnitude == pytest.approx(found.p_magnitude_less, abs=1e-9)
    assert over.p_magnitude_less == pytest.approx(found.p_magnitude, abs=1e-9)
    assert found.p_share + found.p_share_less >= 1 - 1e-12
    assert found.p_magnitude + found.p_magnitude_less >= 1 - 1e-12
    assert found.shares.sum() == pytest.approx(1)
    scaled = exact_null([[1000 * value + 7 for value in curve] for curve in curves])  # words as well as shares
    assert scaled[:5] == pytest.approx(found[:5], abs=1e-9)


def test_a_third_of_untied_curves_dips_by_chance() -> None:
    curves = stream("test", "untied").random((8, 5)).tolist()
    found = exact_null(curves)
    assert found.expected_share == pytest.approx(1 / 3)
    assert found.shares == pytest.approx(stats.binom.pmf(range(9), 8, 1 / 3))


@pytest.mark.parametrize(
    ("shape", "small", "large"),
    [
        ([9, 7, 1, 6, 8], {"p_share", "p_magnitude"}, {"p_share_less", "p_magnitude_less"}),
        ([1, 3, 9, 4, 2], {"p_magnitude_less", "p_share_less"}, {"p_share", "p_magnitude"}),
        # a steady rise has no depth either way, and still fewer dips than chance: p_share_less alone says no arch
        ([1, 3, 5, 7, 9], {"p_share_less"}, {"p_share"}),
        # flat with a rise at one end has depth, and not one dip
        ([1, 1.2, 1.1, 1.3, 9], {"p_magnitude"}, {"p_magnitude_less"}),
    ],
)
def test_eight_curves_of_one_shape(shape: list[float], small: set[str], large: set[str]) -> None:
    curves = [[value + 0.01 * k for value in shape] for k in range(8)]
    found = exact_null(curves)
    for name in small:
        assert getattr(found, name) < 0.05, name
    for name in large:
        assert getattr(found, name) > 0.95, name


def test_coarse_values_are_judged_with_their_ties() -> None:
    # values on the bands of the rubric: many equal magnitudes, which all count as "at least as much"
    curves = [[0.9, 0.5, 0.4, 0.5, 0.9], [1.0, 0.4, 0.4, 0.4, 1.0], [0.0, 0.0, 0.0]]
    scaled = [[round(10 * value) for value in curve] for curve in curves]
    found, expected = exact_null(curves), by_force(scaled)
    assert found.p_magnitude == pytest.approx(float(expected["p_magnitude"]), abs=1e-12)  # type: ignore[arg-type]
    assert found.p_share == pytest.approx(float(expected["p_share"]), abs=1e-12)  # type: ignore[arg-type]


@pytest.mark.parametrize("blocks", [None, [f"concept {k % 8}" for k in range(72)]])
def test_seventy_two_curves_agree_with_simulation(blocks: list[str] | None) -> None:
    rng = stream("test", "null", 72)
    curves = np.round(rng.random((72, 5)) + np.array([0.06, 0, 0, 0, 0.06]), 3)
    found = exact_null(curves.tolist(), blocks)
    draws = 4000
    depth, count = np.zeros(draws), np.zeros(draws)
    for label in sorted(set(blocks)) if blocks else range(72):
        rows = [k for k in range(72) if blocks[k] == label] if blocks else [label]
        orders = rng.permuted(np.tile(np.arange(5), (draws, 1)), axis=1)
        start, middle, end = (curves[rows][:, orders[:, place]] for place in (0, 2, 4))
        depth += ((start + end) / 2 - middle).sum(axis=0)
        count += (np.minimum(start, end) > middle).sum(axis=0)
    seen = [dip(curve) for curve in curves.tolist()]
    total, dips = sum(one.magnitude for one in seen), sum(one.dips for one in seen)
    for exact, simulated in (
        (found.p_magnitude, (depth >= total - 1e-9).mean()),
        (found.p_magnitude_less, (depth <= total + 1e-9).mean()),
        (found.p_share, (count >= dips).mean()),
        (found.p_share_less, (count <= dips).mean()),
    ):
        assert exact == pytest.approx(simulated, abs=4 * math.sqrt(0.25 / draws))
    assert found.expected_share == pytest.approx(count.mean() / 72, abs=0.01)


def test_p_values_of_noise_are_spread_evenly() -> None:
    """Under the null a p below a level comes about as often as the level says, and not more."""
    draws = (stream("test", "uniform", run).random((8, 5)).round(2).tolist() for run in range(200))
    values = [exact_null(curves).p_magnitude for curves in draws]
    for level in (0.05, 0.2, 0.5):
        assert np.mean(np.array(values) <= level) == pytest.approx(level, abs=4 * math.sqrt(level * (1 - level) / 200))


RUBRIC = {
    0: Fraction(10),
    **{d: 9 - Fraction(d - 1, 2) for d in (1, 2, 3)},
    **{d: 7 - Fraction(d - 4, 3) for d in (4, 5, 6, 7)},
    **{d: 5 - Fraction(d - 8, 7) for d in range(8, 16)},
    **{d: 3 - Fraction(3 * (d - 16), 19) for d in range(16, 36)},
}
"""Compliance in the paper's bands by deviation, as fractions: halves, thirds, sevenths and nineteenths."""


def test_sums_that_are_equal_in_fractions_are_ties() -> None:
    """Scores with thirds and sevenths have no decimal form, so equal sums differ in their last bits."""
    rng = stream("test", "fractions")
    for _ in range(60):
        exact = [[RUBRIC[d] / 10 for d in rng.integers(0, 20, 5).tolist()] for _ in range(int(rng.integers(2, 4)))]
        found = exact_null([[float(value) for value in curve] for curve in exact])
        chances = {Fraction(0): 1.0}
        for curve in exact:
            steps = [(start + end) / 2 - middle for start, middle, end in itertools.permutations(curve, 3)]
            added: dict[Fraction, float] = {}
            for total, chance in chances.items():
                for step in steps:
                    added[total + step] = added.get(total + step, 0.0) + chance / len(steps)
            chances = added
        seen = sum((curve[0] + curve[4]) / 2 - curve[2] for curve in exact)
        assert found.p_magnitude == pytest.approx(sum(p for x, p in chances.items() if x >= seen), abs=1e-12)
        assert found.p_magnitude_less == pytest.approx(sum(p for x, p in chances.items() if x <= seen), abs=1e-12)


def test_where_there_are_too_many_sums_no_p_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    curves = stream("test", "sums").random((6, 5)).round(2).tolist()
    exact = exact_null(curves)
    monkeypatch.setattr("cdct.stats.dip.MOST_SUMS", 300)
    rounded = exact_null(curves)
    for name in ("p_magnitude", "p_magnitude_less"):
        assert getattr(exact, name) <= getattr(rounded, name) + 1e-12
        assert getattr(rounded, name) == pytest.approx(getattr(exact, name), abs=0.05)


def test_no_curves_no_null() -> None:
    found = exact_null([])
    assert all(math.isnan(value) for value in found[:5])
    assert len(found.shares) == 0


def test_blocks_must_fit() -> None:
    with pytest.raises(ValueError, match=r"^exact_null: the curves of block 'a' have different numbers of levels$"):
        exact_null([[1, 0, 1], [1, 1, 0, 1, 1]], ["a", "a"])
    with pytest.raises(ValueError, match="argument 2 is"):
        exact_null([[1, 0, 1], [1, 0, 1]], ["a"])


# ------------------------------------------------------------------------------------------------------------ two lines

LEVELS = np.linspace(0, 1, 9)


def lines(seed: int, curve: np.ndarray, noise: float = 0.3, concepts: int = 8, each: int = 3) -> TwoLines:
    """The test of curves of this shape: concepts that differ in height and slope, a few models on each."""
    rng = stream("test", "two lines", seed)
    names = np.repeat(np.arange(concepts), each * len(curve))
    x = np.tile(np.linspace(0, 1, len(curve)), concepts * each)
    y = np.tile(curve, concepts * each) + 0.3 * rng.normal(size=concepts)[names]
    return two_lines(x, y + 0.1 * rng.normal(size=concepts)[names] * x + noise * rng.normal(size=len(x)), names)


def test_a_planted_u_is_found_with_its_break_and_slopes() -> None:
    for low in (2, 4, 6):
        found = lines(low, np.abs(LEVELS - LEVELS[low]) * 2, noise=0.05)
        assert found.u
        assert found.at == LEVELS[low]
        assert (found.first.estimate, found.second.estimate) == pytest.approx((-2, 2), abs=0.15)
        assert found.first.n + found.second.n == 8 * 3 * (9 + 1)  # the level of the break is in both
    assert not lines(1, -np.abs(LEVELS - 0.5), noise=0.05).u


def test_the_lines_are_those_of_statsmodels() -> None:
    rng = stream("test", "statsmodels")
    names, x = np.repeat(np.arange(8), 9), np.tile(LEVELS, 8)
    y = np.abs(x - 0.5) + 0.2 * rng.normal(size=72) + 0.5 * rng.normal(size=8)[names]
    found = two_lines(x, y, names)
    for rows, line, p in ((x <= found.at, found.first, found.p_first), (x >= found.at, found.second, found.p_second)):
        # statsmodels' factor is G/(G-1) (N-1)/(N-2), ours G/(G-1)
        fit = sm.OLS(y[rows], sm.add_constant(x[rows])).fit(cov_type="cluster", cov_kwds={"groups": names[rows]})
        se, half = fit.bse[1] * math.sqrt((rows.sum() - 2) / (rows.sum() - 1)), stats.t.ppf(0.975, 7)
        assert line.estimate == pytest.approx(fit.params[1])
        assert (line.low, line.high) == pytest.approx((line.estimate - half * se, line.estimate + half * se))
        assert p == pytest.approx(2 * stats.t.sf(abs(line.estimate) / se, 7))


@pytest.mark.parametrize(
    "curve",
    [0 * LEVELS, -LEVELS, LEVELS, -np.minimum(LEVELS, 0.5), np.maximum(LEVELS - 0.5, 0), -1.0 * (LEVELS > 0.5)],
    ids=["flat", "falls", "rises", "falls and stays", "stays and rises", "step"],
)
def test_no_u_is_claimed_where_there_is_none(curve: np.ndarray) -> None:
    # .05 is the limit; 150 sets, so that .05 shows as less than .1 nearly always
    assert np.mean([lines(1000 + run, curve).u for run in range(150)]) <= 0.1


def test_a_shallow_u_is_found_most_of_the_time() -> None:
    assert np.mean([lines(2000 + run, 0.5 * np.abs(LEVELS - 0.5)).u for run in range(100)]) > 0.6


def test_few_levels_and_few_clusters() -> None:
    with pytest.raises(ValueError, match=r"^two_lines: needs more than five levels, got 5; use dip and exact_null$"):
        two_lines([0, 1, 2, 3, 4] * 4, [1, 0, 0, 0, 1] * 4, np.repeat(range(4), 5))
    with pytest.raises(ValueError, match=r"^two_lines: a value is NaN; take missing values out"):
        two_lines(range(6), [1, 0, 0, 0, 1, math.nan], range(6))
    few = lines(1, np.abs(LEVELS - 0.5), concepts=2)
    assert (few.u, few.first.method) == (False, "2 clusters: no interval")
    assert math.isnan(few.p_first)
    exact = two_lines(np.tile(LEVELS, 4), np.tile(np.abs(LEVELS - 0.5), 4), np.repeat(range(4), 9))
    assert (exact.u, exact.at, exact.second.method) == (False, 0.5, "no spread: no interval")
