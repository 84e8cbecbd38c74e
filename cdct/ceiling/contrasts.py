"""What another prompt changes: arms against a control on the same items, with intervals, a card and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cdct.ceiling.analysis import paired
from cdct.stats.association import holm
from cdct.stats.resample import share

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05
HALF = 0.975
"""Two intervals of this confidence hold both truths in 95 cases of 100."""
GUESSED = {"query": "a guess is right in 50 % of cases"}
"""Arms whose answer is so much easier to guess that a change against another arm is no effect of the prompt."""


def arm_effects(
    rows: pd.DataFrame, control: str = "trace", by: Sequence[str] = ("model", "domain"), metric: str = "correct"
) -> pd.DataFrame:
    """What each other arm changes against the control on the same items, one row per cell of `by` and arm.

    Columns: `by`, arm, control, metric, baseline, treated (shares over pairs), estimate (their difference), low, high,
    both, only_arm, only_control, neither, p (exact McNemar), p_holm (for all rows of the table), note ("no information"
    where no pair differs), n (pairs), n_unscored, method. Pairs are those of `cdct.ceiling.analysis.paired`.

    The difference is the share of pairs that differ, times twice the share of these that favour the arm minus 1. Its
    interval comes from the exact intervals of both at 97.5 %: it holds the truth at least 95 times in 100, leaves out 0
    only where p is below .025, and has a width where no pair differs.
    """
    import pandas as pd

    arms = [arm for arm in dict.fromkeys(rows["arm"]) if arm != control]
    table = paired(rows, arms, control, by, metric)
    out: list[dict[str, Any]] = []
    for row in table.to_dict("records"):
        n, differ = row["n"], row["only_arm"] + row["only_control"]
        low, high = _difference_ends(row["only_arm"], differ, n) if n else (float("nan"), float("nan"))
        means = {"baseline": row["both"] + row["only_control"], "treated": row["both"] + row["only_arm"]}
        out.append(
            {name: row[name] for name in (*by, "arm", "control", "metric")}
            | {name: count / n if n else float("nan") for name, count in means.items()}
            | {"estimate": row["estimate"], "low": low, "high": high}
            | {name: row[name] for name in ("both", "only_arm", "only_control", "neither")}
            | {"p": row["p"] if n else float("nan"), "note": row["note"], "n": n, "n_unscored": row["n_unscored"]}
            | {"method": "exact intervals of two shares" if n else "no data"}
        )
    columns = ["arm", "control", "metric", "baseline", "treated", "estimate", "low", "high", "both", "only_arm"]
    columns = [*by, *columns, "only_control", "neither", "p", "note", "n", "n_unscored", "method"]
    effects = pd.DataFrame(out, columns=columns)
    effects.insert(effects.columns.get_loc("note"), "p_holm", holm(effects["p"].to_numpy(dtype=float)))
    return effects


def _difference_ends(only_arm: int, differ: int, n: int) -> tuple[float, float]:
    theta, favour = share(differ, n, HALF), share(only_arm, differ, HALF)
    low, high = (favour.low, favour.high) if differ else (0.0, 1.0)
    ends = [size * (2 * way - 1) for size in (theta.low, theta.high) for way in (low, high)]
    return min(ends), max(ends)


def _guessed(row: Mapping[str, Any]) -> str:
    """What must stand beside a change where one of the two arms can be guessed, "" where none can."""
    arm = next((arm for arm in (row["arm"], row["control"]) if arm in GUESSED), "")
    return f" (in {arm} {GUESSED[arm]})" if arm else ""


def effect_card(effects: pd.DataFrame) -> pd.DataFrame:
    """A line for each row of `arm_effects`, with the columns of `cdct.ceiling.card.card`."""
    import pandas as pd

    lines = []
    for row in effects.to_dict("records"):
        group = f"CCB {row.get('domain', '')}: {row['arm']} against {row['control']}".replace(" :", ":")
        where = f", N = {row['depth']:g}" if "depth" in row else ""
        lines.append(
            {
                "model": row["model"],
                "group": group,
                "label": f"change of right answers{where}{_guessed(row)}",
                "unit": "points",
            }
            | {name: row[name] for name in ("estimate", "low", "high", "n", "n_unscored", "method")}
            | {"published": None, "published_label": ""}
        )
    columns = ["model", "group", "label", "unit", "estimate", "low", "high", "n", "n_unscored", "method"]
    return pd.DataFrame(lines, columns=[*columns, "published", "published_label"])


def effect_findings(effects: pd.DataFrame) -> pd.DataFrame:
    """Sentences on the rows of `arm_effects`: columns model, text.

    That an arm changes something is said where the exact p, corrected for all rows of the table, and the interval both
    say so, and not of an arm that can be guessed (`GUESSED`). Where no pair differs the sentence says that nothing was
    learned, which is not that nothing changes.
    """
    import pandas as pd

    tests = int(effects["p"].notna().sum())
    corrected = f", Holm-corrected for {tests} comparisons" if tests > 1 else ""
    out = []
    for row in effects.to_dict("records"):
        where = "".join(f"{name}, " for name in [row.get("domain")] if name)
        where += f"N = {row['depth']:g}, " if "depth" in row else ""
        ends = f"[{row['low']:+.2f}, {row['high']:+.2f}]"
        pairs = f"{row['n']} pair{'s' if row['n'] != 1 else ''}"
        counts = f"right in {row['arm']} alone {row['only_arm']} times, in {row['control']} alone {row['only_control']}"
        size = f"{row['estimate']:+.2f} {ends} (exact McNemar p = {row['p_holm']:.2g}{corrected}; of {pairs} {counts})"
        if not row["n"]:
            said = "nothing is known: no pair of replies could be scored"
        elif not row["only_arm"] + row["only_control"]:
            alike = "right" if row["both"] == row["n"] else "wrong" if row["neither"] == row["n"] else "alike"
            said = f"no information: all {pairs} are {alike} in both arms, and a change of {ends} is possible"
        elif _guessed(row):
            said = f"no effect of the prompt can be told, since{_guessed(row).replace(' (', ' ').rstrip(')')}: {size}"
        elif row["p_holm"] < ALPHA and (row["low"] > 0 or row["high"] < 0):
            said = f"right answers {'rise' if row['estimate'] > 0 else 'fall'} by {size}"
        else:
            said = f"no change of right answers can be told from chance: {size}"
        note = f" ({row['note']})" if row["note"] not in ("", "no information") else ""
        out.append({"model": row["model"], "text": f"{where}{row['arm']} instead of {row['control']}: {said}{note}."})
    return pd.DataFrame(out, columns=["model", "text"])
