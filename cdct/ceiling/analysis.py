"""What the CCB rows say: shares with exact intervals, outcomes, traces, paired arms, tokens. Frame in, frame out.

Curves over the depth are `cdct.stats.decay` on these rows, survival of the trace `cdct.stats.survival` on `traced`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cdct.ceiling.score import METRICS, OUTCOMES
from cdct.core import KEYS, Item, unknown
from cdct.stats import resample

if TYPE_CHECKING:
    import pandas as pd

SUCCESSES = ("faithful", "recovered", "lucky", "short", "untraced")
"""Kinds of right answers by their traces; see `cdct.ceiling.score.score`."""
ESTIMATE = ["estimate", "low", "high", "n", "n_unscored", "method"]
TRIAL = [key for key in KEYS if key != "turn"]


def final(rows: pd.DataFrame, by: Sequence[str] = ("arm",)) -> pd.DataFrame:
    """One row per trial, its last turn. ValueError where a cell of `by` would mix arms: these are never averaged."""
    arms = rows["arm"].unique()
    if "arm" not in by and len(arms) > 1:
        mixed = ", ".join(map(repr, arms))
        raise ValueError(f"the rows mix the arms {mixed}, which can't be averaged; add 'arm' to `by`, or take one")
    return rows[rows["last"].astype(bool)]


def _cells(rows: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    rows = final(rows, by)
    if not by:
        yield {}, rows
        return
    for names, cell in rows.groupby(list(by), sort=True, observed=True):
        yield dict(zip(by, names, strict=True)), cell


def _share(values: pd.Series, cell: pd.DataFrame) -> dict[str, Any]:
    """The share of 1 among 0 and 1; NaN could not be scored. Exact binomial, or clustered where an item comes twice."""
    known = values.notna().to_numpy()
    found, items = values[known].astype(float), cell["item"][known]
    if items.duplicated().any():
        estimate = resample.mean(found, items, (0.0, 1.0))
    else:
        estimate = resample.share(int(found.sum()), len(found))
    return estimate._asdict() | {"n_unscored": len(values) - len(found)}


def summarise(
    rows: pd.DataFrame, by: Sequence[str] = ("model", "domain", "depth"), metric: str = "correct"
) -> pd.DataFrame:
    """The share of trials with a metric (see `METRICS`) in each cell of `by`, over both denominators.

    Columns: `by`, metric, estimate, low, high, n, n_unscored, estimate_parsed, low_parsed, high_parsed, n_parsed,
    estimate_all, method. The estimate counts format failures as failures and replies that were cut before their answer
    as missing, which the paper's numbers need; the columns `_parsed` count both as missing, as its text says;
    `estimate_all` counts both, and each trial without a reply, as failures. Intervals are exact (Clopper and Pearson),
    clustered by item where a cell holds an item more than once. ValueError when a cell would mix arms.
    """
    import pandas as pd

    if metric not in METRICS:
        raise ValueError(unknown("metric", metric, METRICS))
    out = []
    for names, cell in _cells(rows, by):
        share, parsed = _share(cell[metric], cell), _share(cell[metric].where(cell["parsed"].notna()), cell)
        method = share.pop("method")
        out.append(
            names
            | {"metric": metric, **share}
            | {f"{name}_parsed": parsed[name] for name in ("estimate", "low", "high", "n")}
            | {"estimate_all": float(cell[metric].sum()) / len(cell), "method": method}
        )
    parsed = [f"{name}_parsed" for name in ("estimate", "low", "high", "n")]
    return pd.DataFrame(out, columns=[*by, "metric", *ESTIMATE[:-1], *parsed, "estimate_all", "method"])


def _shares(rows: pd.DataFrame, by: Sequence[str], column: str, kinds: Sequence[str], of: str | None) -> pd.DataFrame:
    """How often each kind stands in a column, among the trials where `of` is 1 (None: all that have a kind)."""
    import pandas as pd

    out = []
    for names, cell in _cells(rows, by):
        inside = cell if of is None else cell[cell[of].isna() | (cell[of] == 1)]
        known = inside[column].isin(kinds)
        for kind in kinds:
            values = (inside[column] == kind).astype(float).where(known)
            out.append(names | {column: kind, "count": int(values.sum())} | _share(values, inside))
    return pd.DataFrame(out, columns=[*by, column, "count", *ESTIMATE])


def outcomes(rows: pd.DataFrame, by: Sequence[str] = ("model", "domain")) -> pd.DataFrame:
    """The share of each outcome among all trials that were asked, six rows per cell.

    Columns: `by`, outcome, count, estimate, low, high, n, n_unscored (calls not made, or filtered), method. Each
    interval is that of one share by itself.
    """
    return _shares(rows, by, "outcome", OUTCOMES, None)


def successes(rows: pd.DataFrame, by: Sequence[str] = ("model", "domain")) -> pd.DataFrame:
    """The kinds of traces that right answers have: faithful, recovered, lucky, short, untraced; five rows per cell.

    Columns: `by`, success, count, estimate (share of right answers), low, high, n, n_unscored, method.
    """
    return _shares(rows, by, "success", SUCCESSES, "correct")


def tfbc(rows: pd.DataFrame, by: Sequence[str] = ("model", "domain")) -> pd.DataFrame:
    """The share of right answers whose trace is not intact (TFBC), a row per cell; those without a trace are unscored.

    Columns: `by`, estimate, low, high, n (right answers with a trace), n_unscored, method.
    """
    import pandas as pd

    out = []
    for names, cell in _cells(rows, by):
        right = cell[cell["correct"] == 1]
        out.append(names | _share(right["tfbc"], right))
    return pd.DataFrame(out, columns=[*by, *ESTIMATE])


def traced(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows for `cdct.stats.survival`: of a reply that was cut in a right trace, only the steps that it got to.

    Their `depth` is then the last step before the cut and k_star -1: the token limit ended them, not an error. One that
    was cut before its first step has k_star NaN, as have all trials without a trace. One row per trial.
    """
    rows = final(rows, ["arm"])
    cut = (rows["outcome"] == "truncation") & (rows["trace_status"] == "short")
    reached = rows["k_star"] - 1
    return rows.assign(
        depth=rows["depth"].where(~(cut & (reached > 0)), reached),
        k_star=rows["k_star"].mask(cut & (reached > 0), -1).mask(cut & (reached == 0)),
    )


def divergences(rows: pd.DataFrame, by: Sequence[str] = ("model", "domain")) -> pd.DataFrame:
    """When traces first diverge, three rows per cell: early (k* <= 3), middle, late (k* > 10). See survival.phases."""
    from cdct.stats import survival

    final(rows, by)
    return survival.phases(traced(rows), by)


def by_operation(rows: pd.DataFrame, items: Sequence[Item], by: Sequence[str] = ("model", "domain")) -> pd.DataFrame:
    """The chance that a trace, right so far, goes wrong at an operation, by its kind and whether it changes the state.

    Columns: `by`, operation, changed, estimate, low, high, n (operations of that kind met by traces right so far),
    diverged, n_unscored (trials of the cell without a trace), method. Traces are those of `traced`. Intervals are
    clustered by item: a trace meets many operations. ValueError for rows of none of the items.
    """
    import pandas as pd

    known = {item.id: item for item in items}
    out = []
    for names, cell in _cells(rows, by):
        trials = traced(cell)
        met = []
        for trial in trials[trials["k_star"].notna()].to_dict("records"):
            if trial["item"] not in known:
                raise ValueError(f"by_operation: {trial['item']!r} is none of the {len(known)} items given")
            truth, k = known[trial["item"]].truth, int(trial["k_star"])
            for step in range(1, (k if k > 0 else int(trial["depth"])) + 1):
                operation, changed = truth["operations"][step - 1]["kind"], truth["changed"][step - 1]
                met.append((trial["item"], operation, changed, float(step == k)))
        table = pd.DataFrame(met, columns=["item", "operation", "changed", "diverged"])
        for (operation, changed), part in table.groupby(["operation", "changed"]):
            found = resample.mean(part["diverged"], part["item"], (0.0, 1.0))
            out.append(
                names
                | {"operation": operation, "changed": changed, **found._asdict()}
                | {"diverged": int(part["diverged"].sum()), "n_unscored": int(trials["k_star"].isna().sum())}
            )
    columns = ["operation", "changed", "estimate", "low", "high", "n", "diverged", "n_unscored", "method"]
    return pd.DataFrame(out, columns=[*by, *columns])


def paired(
    rows: pd.DataFrame,
    arms: Sequence[str],
    control: str = "trace",
    by: Sequence[str] = ("model", "domain", "depth"),
    metric: str = "correct",
) -> pd.DataFrame:
    """Arms against a control on the same items, one row per cell and arm, with the exact McNemar test.

    Columns: `by`, arm, control, metric, both, only_arm, only_control, neither (trials by who has the metric), estimate
    (difference of the shares), n (pairs), n_unscored (trials of the arm that make no scored pair), p, odds_ratio,
    low, high (of the odds ratio), note ("no information" where no pair is discordant; a warning where an item comes
    more than once: its pairs are not independent). A pair is one item, model and sample. p is that of one comparison.
    """
    import pandas as pd

    from cdct.stats.association import mcnemar

    if metric not in METRICS:
        raise ValueError(unknown("metric", metric, METRICS))
    for arm in (*arms, control):
        if arm not in set(rows["arm"]):
            raise ValueError(f"paired: {unknown('arm', arm, rows['arm'].unique())}")
    key = [name for name in TRIAL if name != "arm"]
    base = final(rows[rows["arm"] == control]).set_index(key)[metric]
    out = []
    for arm in arms:
        for names, cell in _cells(rows[rows["arm"] == arm], by):
            mine = cell.set_index(key)[metric]
            pairs = pd.concat({"arm": mine, "control": base.reindex(mine.index)}, axis=1).dropna()
            a, c = pairs["arm"] == 1, pairs["control"] == 1
            only_arm, only_control = int((a & ~c).sum()), int((~a & c).sum())
            found, n = mcnemar(only_arm, only_control), len(pairs)
            if not found.note and pairs.index.get_level_values("item").duplicated().any():
                found = found._replace(note="an item comes more than once: p is too small")
            out.append(
                names
                | {"arm": arm, "control": control, "metric": metric, "both": int((a & c).sum())}
                | {"only_arm": only_arm, "only_control": only_control, "neither": int((~a & ~c).sum())}
                | {"estimate": (only_arm - only_control) / n if n else float("nan"), "n": n}
                | {"n_unscored": len(mine) - n, **found._asdict()}
            )
    counts = ["both", "only_arm", "only_control", "neither", "estimate", "n", "n_unscored"]
    columns = [*by, "arm", "control", "metric", *counts, "p", "odds_ratio", "low", "high", "note"]
    return pd.DataFrame(out, columns=columns)


def tokens(
    rows: pd.DataFrame, by: Sequence[str] = ("model", "domain", "depth"), column: str = "completion_tokens"
) -> pd.DataFrame:
    """The mean number of tokens of a trial, all its turns together, with a t interval.

    Columns: `by`, column, estimate, low, high, n, n_unscored (trials of which a turn has no count), method.
    """
    import pandas as pd

    counted = pd.to_numeric(rows[column]).astype(float)
    sums = counted.groupby([rows[name] for name in TRIAL]).agg(lambda turns: turns.sum(skipna=False))
    out = []
    for names, cell in _cells(rows, by):
        found = sums.reindex(pd.MultiIndex.from_frame(cell[TRIAL])).to_numpy(dtype=float)
        known = found == found
        estimate = resample.mean(found[known], cell["item"].to_numpy()[known])
        out.append(names | {"column": column} | estimate._asdict() | {"n_unscored": int((~known).sum())})
    return pd.DataFrame(out, columns=[*by, "column", *ESTIMATE])
