"""Exact tests by turning signs: what differences would show if each cluster's were as likely to point the other way."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike

MOST_CLUSTERS = 16
"""Up to so many clusters all 2^G turns are looked at (65,536); beyond, 20,000 are drawn."""
DRAWS = 20_000


def sign_flip(differences: ArrayLike, clusters: ArrayLike, seed: int = 0) -> float:
    """The two-sided p of a mean difference of 0, by turning the signs of whole clusters (Fisher's randomisation test).

    The differences of one cluster are turned together, since they are not independent. Exact, so that G clusters give
    no p below 2 / 2^G; with more than `MOST_CLUSTERS` a seeded sample of turns, the observed one among them. Sums that
    differ by less than rounding count as equal to the observed one. NaN without differences.
    """
    x = np.asarray(differences, dtype=float)
    if np.isnan(x).any():
        raise ValueError("sign_flip: a difference is NaN; take missing pairs out and count them as unscored")
    if len(x) == 0:
        return math.nan
    _, groups = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.bincount(groups, weights=x)
    if len(sums) <= MOST_CLUSTERS:
        turns = np.array(list(itertools.product((1.0, -1.0), repeat=len(sums))))
    else:
        from cdct.core import stream

        turns = stream("stats", "sign_flip", seed, len(sums)).choice((1.0, -1.0), size=(DRAWS, len(sums)))
        turns[0] = 1.0
    totals = np.abs(turns @ sums)
    return float(np.mean(totals >= abs(sums.sum()) - 1e-9 * np.abs(sums).sum()))
