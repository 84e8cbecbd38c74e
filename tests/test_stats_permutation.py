"""The sign-flip test: by hand, against plain enumeration and scipy, at its floor, with ties, and drawn."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cdct.stats.permutation import DRAWS, MOST_CLUSTERS, sign_flip


@pytest.mark.parametrize(
    ("differences", "clusters", "p"),
    [
        # sums 3, 1, 1 can be turned to +-5, +-3 (twice), +-1: two of eight reach 5
        ([3, 1, 1], "abc", 2 / 8),
        ([1, 2, 1, 1], "aabc", 2 / 8),  # the same sums, since the two of a turn together
        ([3, 1, -1], "abc", 6 / 8),
        ([-3, -1, 1], "abc", 6 / 8),
        ([1, -1], "aa", 1),  # a cluster that cancels itself
        ([5], "a", 1),  # of one cluster nothing can be told
        ([5, 5], "aa", 1),
        ([5, 1], "ab", 2 / 4),
        ([0, 0, 0], "abc", 1),
        ([0, 0, 2], "abc", 1),  # zero has no sign to turn: only one cluster is left
    ],
)
def test_the_p_by_hand(differences: list[float], clusters: str, p: float) -> None:
    assert sign_flip(differences, list(clusters)) == p
    assert sign_flip(np.negative(differences), list(clusters)) == p


@pytest.mark.parametrize("g", [1, 2, 5, 8, MOST_CLUSTERS])
def test_the_smallest_p_is_that_of_the_number_of_clusters(g: int) -> None:
    assert sign_flip(np.arange(1, g + 1), range(g)) == 2 / 2**g
    # nine models on the same concepts are no more evidence than one
    assert sign_flip(np.ones(9 * g), np.repeat(range(g), 9)) == 2 / 2**g


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-20, 20), st.sampled_from("abcdef")), min_size=1, max_size=20))
def test_whole_numbers_against_plain_enumeration(pairs: list[tuple[int, str]]) -> None:
    sums: dict[str, int] = defaultdict(int)
    for value, cluster in pairs:
        sums[cluster] += value
    observed = abs(sum(sums.values()))
    totals = [
        abs(sum(sign * value for sign, value in zip(signs, sums.values(), strict=True)))
        for signs in itertools.product((1, -1), repeat=len(sums))
    ]
    p = sum(total >= observed for total in totals) / len(totals)
    values, clusters = zip(*pairs, strict=True)
    assert sign_flip(values, clusters) == p
    # tenths can't be written exactly in binary, and their sums tie all the same
    assert sign_flip(np.array(values) / 10, clusters) == p
    assert sign_flip(np.array(values) / 10**6, clusters) == p


def test_against_scipy() -> None:
    values = np.random.default_rng(1).normal(0.4, 1, 10)
    oracle = stats.permutation_test((values,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip(values, range(10)) == pytest.approx(oracle.pvalue, abs=1e-12)


def test_the_order_and_the_names_of_clusters_do_not_matter() -> None:
    values, clusters = np.array([0.5, -0.1, 0.3, 0.2, 0.4]), np.array(["b", "a", "b", "c", "d"])
    order = [3, 1, 4, 0, 2]
    assert (
        sign_flip(values[order], clusters[order]) == sign_flip(values, clusters) == sign_flip(values, [7, 1, 7, 2, 9])
    )


def test_without_differences_there_is_no_p() -> None:
    assert math.isnan(sign_flip([], []))


def test_a_missing_difference_is_told() -> None:
    with pytest.raises(ValueError) as caught:
        sign_flip([0.1, math.nan], ["a", "b"])
    assert str(caught.value) == "sign_flip: a difference is NaN; take missing pairs out and count them as unscored"


def test_many_clusters_are_drawn_with_a_seed() -> None:
    g = MOST_CLUSTERS + 1
    values = np.where(np.arange(g) < 12, 1, -1)  # 12 of 17 up: a sum of 7
    exact = stats.binomtest(12, g).pvalue
    drawn = sign_flip(values, range(g))
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / DRAWS))
    assert sign_flip(values, range(g)) == drawn
    assert sign_flip(values, range(g), seed=1) != drawn
    # the observed turn is among those drawn, so no p is 0
    assert 1 / DRAWS <= sign_flip(np.arange(1, 61), range(60)) < 0.001


def test_the_test_keeps_its_size() -> None:
    """Under no difference p <= .05 comes up at most once in twenty, though the values of a cluster go together."""
    rng = np.random.default_rng(2)
    clusters = np.repeat(range(8), 3)
    shares = np.mean([sign_flip(rng.normal(size=8)[clusters], clusters) <= 0.05 for _ in range(400)])
    assert shares == pytest.approx(12 / 256, abs=4 * math.sqrt(0.047 * 0.953 / 400))
