"""Whether constraints that share something fail together more than others: phi within groups of types and across them.

A type stands in as many pairs as there are other types, so that pairs are not independent, and a rank test that takes
them to be is too sure. Here the labels are dealt anew among the types, which keeps what each type is like. Source of
the question: the CSE paper, section 4 and appendix M (dimensions; output features), with Mann and Whitney's test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cdct.core import stream
from cdct.stats.association import holm
from cdct.stats.cofailure import K_MIN, LEAST, Tables, pairs_of, tables
from cdct.stats.counts import answered

if TYPE_CHECKING:
    import pandas as pd

FOLDS = 20
"""With fewer than three models the noise is that between so many parts of the items."""
Groups = Mapping[str, str | Collection[str]]
"""A type's label, or labels: two types are of one group if they have a label in common."""


def within_across(
    checks: pd.DataFrame,
    groups: Groups,
    k_min: int = K_MIN,
    least: int = LEAST,
    seed: int = 0,
    draws: int = 10_000,
    bootstraps: int = 400,
) -> pd.DataFrame:
    """phi (given k; the median over models where there are several) within groups, across them, and in each group.

    checks: as in `cdct.stats.cofailure.tables`. groups: a label or labels for each type. Rows: "within", "across",
    "within - across", and one for each label that two types or more have, against all pairs across. Columns: group,
    estimate (mean phi), low, high, mean_abs (mean |phi|, the paper's number; noise makes it larger than 0 where nothing
    goes together), n (pairs), n_left_out (pairs with too few replies in common, or without variation), p, p_holm (over
    the labels), p_mann_whitney (the paper's test on |phi|, of the difference; it takes pairs for independent), method.

    p: two-sided, the share of `draws` deals of the labels among the types with a mean within, less that across, as far
    from the mean over deals. It asks whether these groups are special among groups of these sizes. Intervals: Student's
    t; over models by a bootstrap of models, with fewer than three by leaving out one of twenty parts of the items at a
    time. They say how far off the means are for these types, not for other types.

    ValueError for a type without a label.
    """
    import pandas as pd

    checks = answered(checks[checks["k"] >= k_min], ["model"], "within_across")
    names = np.unique(checks["constraint"].to_numpy(dtype=object).astype(str))
    if missing := [name for name in names if name not in groups]:
        raise ValueError(f"within_across: no label for {', '.join(missing)}; groups must name each type")
    by = ["model"] if "model" in checks else []
    found = tables(checks, by, list(names))
    labels = _labels(names, groups)
    first, second = np.triu_indices(len(names), 1)
    shared = labels @ labels.T > 0
    alone = {label: np.outer(column, column) > 0 for label, column in _shown(names, groups, labels)}
    masks = {"within": shared[first, second], "across": ~shared[first, second]}
    masks |= {label: mask[first, second] for label, mask in alone.items()}

    def means(phi: np.ndarray) -> np.ndarray:
        """The mean phi of each mask, the difference of the first two, and of each label from across."""
        values = np.array([_mean(phi[mask]) for mask in masks.values()])
        return np.concatenate([values, [values[0] - values[1]]])

    per_model = pairs_of(found, least).estimate
    phi = _median(per_model)
    at = means(phi)
    error, freedom, how = _noise(checks, found, per_model, means, least, seed, bootstraps)
    half = _t(freedom) * error
    p = _deals(phi, shared, alone, first, second, seed, draws)
    there = ~np.isnan(phi)
    out: list[dict[str, Any]] = []
    for place, (name, mask) in enumerate([*masks.items(), ("within - across", np.ones(len(phi), dtype=bool))]):
        row = {"group": name, "estimate": at[place], "low": at[place] - half[place], "high": at[place] + half[place]}
        row |= {"mean_abs": _mean(np.abs(phi[mask])), "n": int((mask & there).sum()), "p": p.get(name, math.nan)}
        out.append(row | {"n_left_out": int((mask & ~there).sum()), "method": how})
    table = pd.DataFrame(out)
    ones = table["group"].isin(list(alone))
    table.loc[ones, "p_holm"] = holm(table.loc[ones, "p"].to_numpy(dtype=float))
    difference = table["group"] == "within - across"
    inside, outside = (np.abs(phi[masks[name] & there]) for name in ("within", "across"))
    table.loc[difference, "mean_abs"] = _mean(inside) - _mean(outside)
    table.loc[difference, "p_mann_whitney"] = _mann_whitney(inside, outside)
    order = ["within", "across", "within - across", *alone]
    table = table.set_index("group").loc[order].reset_index()
    columns = ["group", "estimate", "low", "high", "mean_abs", "n", "n_left_out", "p", "p_holm", "p_mann_whitney"]
    return table[[*columns, "method"]]


def _labels(names: Sequence[str], groups: Groups) -> np.ndarray:
    """Which labels each type has, (types, labels)."""
    sets = [_set(groups[name]) for name in names]
    every = sorted(set().union(*sets))
    return np.array([[label in one for label in every] for one in sets], dtype=float).reshape(len(names), len(every))


def _set(label: str | Collection[str]) -> set[str]:
    return {label} if isinstance(label, str) else set(label)


def _shown(names: Sequence[str], groups: Groups, labels: np.ndarray) -> list[tuple[str, np.ndarray]]:
    every = sorted(set().union(*(_set(groups[name]) for name in names)))
    return [(label, labels[:, place]) for place, label in enumerate(every) if labels[:, place].sum() > 1]


def _mean(values: np.ndarray) -> float:
    return float(np.nanmean(values)) if (~np.isnan(values)).any() else math.nan


def _median(per_model: np.ndarray) -> np.ndarray:
    out = np.full(per_model.shape[-1], np.nan)
    some = ~np.isnan(per_model).all(axis=0)
    out[some] = np.nanmedian(per_model[:, some], axis=0)
    return out


def _t(freedom: int) -> float:
    from scipy import stats

    return float(stats.t.ppf(0.975, freedom)) if freedom > 0 else math.nan


def _mann_whitney(inside: np.ndarray, outside: np.ndarray) -> float:
    from scipy import stats

    return float(stats.mannwhitneyu(inside, outside).pvalue) if len(inside) and len(outside) else math.nan


def _noise(
    checks: pd.DataFrame,
    found: Tables,
    per_model: np.ndarray,
    means: Callable[[np.ndarray], np.ndarray],
    least: int,
    seed: int,
    bootstraps: int,
) -> tuple[np.ndarray, int, str]:
    """The standard errors of `means`, their degrees of freedom, and how they came about."""
    m = len(per_model)
    if m > 2:
        rng = stream("stats", "cofailure", seed)
        drawn = np.stack([means(_median(per_model[rng.integers(0, m, m)])) for _ in range(bootstraps)])
        return np.nanstd(drawn, axis=0, ddof=1) * math.sqrt(m / (m - 1)), m - 1, f"median over {m} models, bootstrap, t"
    items, item = np.unique(checks["item"].to_numpy(dtype=object).astype(str), return_inverse=True)
    fold = stream("stats", "cofailure", "folds", seed).permutation(len(items))[item] % FOLDS
    parts = []
    for number in np.unique(fold):
        by = ["model"] if "model" in checks else []
        left = tables(checks[fold == number], by, list(found.types))
        place = [found.cells.index[(found.cells == row).all(axis=1)][0] for row in left.cells.to_numpy()] if by else [0]
        rest = [part.copy() for part in (found.n, found.a, found.b, found.both)]
        where = np.ix_(place, np.searchsorted(found.ks, left.ks))
        for part, less in zip(rest, (left.n, left.a, left.b, left.both), strict=True):
            part[where] -= less
        parts.append(
            means(_median(pairs_of(found._replace(n=rest[0], a=rest[1], b=rest[2], both=rest[3]), least).estimate))
        )
    g = len(parts)
    if g < 2:
        return np.full(len(parts[0]) if parts else 0, np.nan), 0, "one item: no interval"
    drawn = np.stack(parts)
    error = np.sqrt((g - 1) / g * ((drawn - drawn.mean(axis=0)) ** 2).sum(axis=0))
    return (
        error,
        g - 1,
        f"{'median over 2 models' if m == 2 else 'one model'}, jackknife over {g} parts of the items, t",
    )


def _deals(
    phi: np.ndarray,
    shared: np.ndarray,
    alone: Mapping[str, np.ndarray],
    first: np.ndarray,
    second: np.ndarray,
    seed: int,
    draws: int,
) -> dict[str, float]:
    """The p of the difference and of each label, from deals of the labels among the types."""
    size = len(shared)
    rng = stream("stats", "cofailure", "labels", seed)
    deals = rng.permuted(np.broadcast_to(np.arange(size), (draws, size)), axis=1)
    value, there = np.nan_to_num(phi), (~np.isnan(phi)).astype(float)

    def difference(mask: np.ndarray, out: np.ndarray) -> np.ndarray:
        """The mean over a mask less that over another, (deals,)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return (mask @ value) / (mask @ there) - (out @ value) / (out @ there)

    across = ~shared
    dealt_first, dealt_second = deals[:, first], deals[:, second]
    found = {}
    for name, mask in {"within - across": shared, **alone}.items():
        seen = difference(mask[first, second][None], across[first, second][None])[0]
        if np.isnan(seen):
            continue
        drawn = difference(mask[dealt_first, dealt_second], across[dealt_first, dealt_second])
        drawn = drawn[~np.isnan(drawn)]
        off = np.abs(drawn - drawn.mean())
        found[name] = float((1 + (off >= abs(seen - drawn.mean()) - 1e-12).sum()) / (1 + len(drawn)))
    return found
