"""Judges against the count: how far their marks for compliance are from what code counts, and what a jury adds to rows.

Compliance can be counted, so here a judge's error is known; for accuracy and completeness it is not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cdct.core import KEYS, scored
from cdct.stats import resample

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import ArrayLike

CLUSTER = "concept"
COLUMN = {"SA": "sa", "FC": "fc", "CC": "cc_judged"}
BANDS = {"exact": (0, 0), "1-3 words off": (1, 3), "4-7": (4, 7), "8-15": (8, 15), "16 or more": (16, math.inf)}
"""The bands of the rubric (paper, section 3.5.1), by words off the limit."""
_ESTIMATE = ["estimate", "low", "high", "n", "n_unscored", "method"]


def with_jury(rows: pd.DataFrame, verdicts: pd.DataFrame) -> pd.DataFrame:
    """The rows of `score` with what the jury says of them, from the rows of `jury.verdicts` of one `shown`.

    Added columns: sa, fc and cc_judged (0-1, NaN when unscored), n_judges (the fewest that scored any of the three) and
    jury_unscored ("" or why some of the three are missing). A reply without a word says nothing, which needs no judge:
    its sa and fc are 0, as its compliance is.
    """
    shown = list(verdicts["shown"].unique())
    if len(shown) > 1:
        raise ValueError(f"with_jury: the verdicts mix shown {shown}, which can't be averaged; take one of them")
    if verdicts.duplicated([*KEYS, "metric"]).any():
        raise ValueError("with_jury: a reply has two verdicts on one metric; give the verdicts of one jury")
    keys, out = list(rows[KEYS].itertuples(index=False, name=None)), rows.copy()
    known = set(keys)
    cells = {tuple(row[key] for key in [*KEYS, "metric"]): row for row in verdicts.to_dict("records")}
    strange = next((key[:-1] for key in cells if key[:-1] not in known), None)
    if strange:
        raise ValueError(
            f"with_jury: the jury judged {dict(zip(KEYS, strange, strict=True))}, which is not in the rows"
        )
    absent = {"score": math.nan, "n": 0, "unscored": "not judged"}
    found = {metric: [cells.get((*key, metric), absent) for key in keys] for metric in COLUMN}
    for metric, column in COLUMN.items():
        out[column] = [float(cell["score"]) for cell in found[metric]]
    out["n_judges"] = [min(cell["n"] for cell in three) for three in zip(*found.values(), strict=True)]
    out["jury_unscored"] = [
        " ".join(dict.fromkeys(f"{cell['unscored']}" for cell in three if cell["unscored"]))
        for three in zip(*found.values(), strict=True)
    ]
    empty = (out["words"] == 0).to_numpy()
    out.loc[empty, ["sa", "fc"]] = 0.0
    out.loc[empty, "jury_unscored"] = "no words"
    return out


def calibration(ballots: pd.DataFrame, rows: pd.DataFrame, by: Sequence[str] = ("judge", "shown")) -> pd.DataFrame:
    """How each judge's marks for compliance relate to the counted `cc`, both on 0-1, in each cell of `by`.

    Three rows per cell: `measure` is bias (mean of judged minus counted), slope (of judged on counted, least squares: 1
    follows the count, 0 ignores it) and error (mean absolute difference). Intervals rest on the spread between
    concepts: those of means as in `resample.mean`, that of the slope on the jackknife over concepts, Student's t with
    G-1 degrees of freedom. Columns: `by`, measure, estimate, low, high, n (ballots), n_unscored (ballots without a
    mark, or on a reply whose compliance can't be counted), method.
    """
    import pandas as pd

    out = []
    for names, cell, whole in _cells(ballots, rows, by):
        judged, counted, concept = whole["score"], whole["cc"], whole[CLUSTER]
        measures = {
            "bias": resample.mean(judged - counted, concept, (-1.0, 1.0)),
            "slope": slope(counted, judged, concept),
            "error": resample.mean((judged - counted).abs(), concept, (0.0, 1.0)),
        }
        unscored = {"n_unscored": len(cell) - len(whole)}
        out += [names | {"measure": measure} | found._asdict() | unscored for measure, found in measures.items()]
    return pd.DataFrame(out, columns=[*by, "measure", *_ESTIMATE])


def errors_by_band(ballots: pd.DataFrame, rows: pd.DataFrame, by: Sequence[str] = ("judge", "shown")) -> pd.DataFrame:
    """Bias and error of the marks for compliance by how many words a reply is off: where a judge can't tell.

    Columns: `by`, band (see `BANDS`; all of them, n = 0 where there is no reply), measure (bias or error), estimate,
    low, high, n, n_unscored, method. A reply that no limit binds stands in no band.
    """
    import pandas as pd

    out = []
    for names, cell, whole in _cells(ballots, rows, by):
        for band, ends in BANDS.items():
            all_in, found = (part[part["deviation"].abs().between(*ends)] for part in (cell, whole))
            off = found["score"] - found["cc"]
            measures = {
                "bias": resample.mean(off, found[CLUSTER], (-1.0, 1.0)),
                "error": resample.mean(off.abs(), found[CLUSTER], (0.0, 1.0)),
            }
            unscored = {"n_unscored": len(all_in) - len(found)}
            out += [names | {"band": band, "measure": m} | e._asdict() | unscored for m, e in measures.items()]
    return pd.DataFrame(out, columns=[*by, "band", "measure", *_ESTIMATE])


def _cells(
    ballots: pd.DataFrame, rows: pd.DataFrame, by: Sequence[str]
) -> Iterator[tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]]:
    """For each cell: its names, its ballots on compliance beside the count, and those of them that have both."""
    marks = ballots[ballots["metric"] == "CC"]
    pairs = marks.merge(rows[[*KEYS, CLUSTER, "cc", "deviation"]], on=KEYS, how="left", validate="many_to_one")
    if pairs[CLUSTER].isna().any():
        strange = pairs.loc[pairs[CLUSTER].isna(), KEYS].iloc[0].to_dict()
        raise ValueError(f"calibration: a judge judged {strange}, which is not in the rows")
    for names, cell in pairs.groupby(list(by), sort=True, observed=True):
        yield dict(zip(by, names, strict=True)), cell, scored(cell).dropna(subset=["score", "cc"])


def slope(x: ArrayLike, y: ArrayLike, clusters: ArrayLike, confidence: float = 0.95) -> resample.Estimate:
    """The least-squares slope of y on x, with the jackknife's interval over clusters; NaN where x does not vary.

    Leaving out one cluster at a time, the squared standard error is (G-1)/G times the sum of squared distances of these
    slopes from the whole one (Cameron and Miller, 2015, section VI.B: CV3), which holds up for few clusters.
    """
    import numpy as np
    from scipy import stats

    counted, judged, names = np.asarray(x, dtype=float), np.asarray(y, dtype=float), np.asarray(clusters)
    n, groups = len(counted), np.unique(names)
    whole = _slope(counted, judged)
    if n == 0 or math.isnan(whole):
        return resample.NOTHING._replace(n=n, method="no data" if n == 0 else "x does not vary: no slope")
    parts = np.array([_slope(counted[names != group], judged[names != group]) for group in groups])
    g = len(groups)
    if g < 3 or np.isnan(parts).any():
        return resample.Estimate(whole, math.nan, math.nan, n, f"{g} clusters: no interval")
    se = math.sqrt((g - 1) / g * float(np.sum((parts - whole) ** 2)))
    t = float(stats.t.ppf((1 + confidence) / 2, g - 1))
    return resample.Estimate(whole, whole - t * se, whole + t * se, n, f"jackknife, t, {g} clusters")


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    if len(x) < 2 or x.max() - x.min() < 1e-12:
        return math.nan
    centred = x - x.mean()
    return float((centred * y).sum() / (centred**2).sum())
