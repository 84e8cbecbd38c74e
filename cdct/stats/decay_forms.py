"""Which form of decay over k the counts prefer: multiplicative, with a floor, or linear, by AIC."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cdct.stats.counts import answered, counts
from cdct.stats.rivals import MARGIN

if TYPE_CHECKING:
    import pandas as pd

Form = Callable[[np.ndarray, np.ndarray], np.ndarray]
FORMS: dict[str, tuple[int, Form]] = {
    "multiplicative": (2, lambda x, at: at[0] * at[1] ** x),
    "floor": (3, lambda x, at: at[2] + (1 - at[2]) * at[0] * at[1] ** x),
    "linear": (2, lambda x, at: at[0] + (at[1] - at[0]) * x / x[-1]),
}
"""a r^x, a r^x + c and a line, each with the number of its parameters; x is k less the first k. The numbers lie on
[0, 1], and so do the rates that they give."""
LEAST = 1e-9
"""No rate is taken to be nearer to 0 or 1, so that one check that a form rules out does not forbid the form."""
FEWEST = 4


def compare_decays(rows: pd.DataFrame, by: Sequence[str] = ("model",), value: str = "passed_all") -> pd.DataFrame:
    """The fit of each form to each cell of `by` by maximum likelihood, one row per cell and form.

    rows: checks or probes as in `cdct.stats.counts.curves`; a table of rates without counts has no likelihood. Columns:
    `by`, form, log_likelihood (binomial, without coefficients), parameters, dispersion, aic, preferred, n (probes),
    n_unscored, method.

    Replies to different probes are independent: `passed_all` of one reply each is binomial, and dispersion is 1. Checks
    of one reply are not; the log-likelihood is then divided by the dispersion between probes of one k (Pearson's
    statistic over its degrees of freedom, around each k's own rate, at least 1), and aic is the quasi-AIC. Preferred is
    the multiplicative form unless another's AIC is lower by more than `cdct.stats.rivals.MARGIN`, then the form with
    the least; none where fewer than four k have rates.
    """
    import pandas as pd

    found = counts(answered(rows, by, "compare_decays"), by, value)
    passed, n, probes = found.sums(found.passed), found.sums(found.n), found.sums(np.ones(len(found.n)))
    out = []
    for cell in range(len(found.cells)):
        there = n[cell] > 0
        k, c, m = found.ks[there], passed[cell, there], n[cell, there]
        mine = found.cell == cell
        binary = bool((found.n[mine] == 1).all())
        spread = 1.0 if binary else _dispersion(found.passed[mine], found.n[mine], found.size[mine])
        counted = {"n": int(probes[cell].sum()), "n_unscored": int(found.n_unscored[cell])}
        fits = []
        for form, (parameters, curve) in FORMS.items():
            known = len(k) >= FEWEST
            best = _maximum(curve, parameters, k - k[0], c, m) if known else math.nan
            best = max(best, fits[0]["log_likelihood"]) if form == "floor" else best  # a floor of 0 is one too
            fit = {"form": form, "log_likelihood": best, "parameters": parameters, "dispersion": spread}
            told = f"binomial ML, {'AIC' if binary else 'quasi-AIC'}" if known else f"fewer than {FEWEST} k: no fit"
            fits.append(fit | {"aic": 2 * parameters - 2 * best / spread} | counted | {"method": told, "cell": cell})
        aic = np.array([fit["aic"] for fit in fits])
        beaten = (aic < aic[0] - MARGIN).any()
        out += [
            fit | {"preferred": bool(aic[0] == aic[0]) and place == (aic.argmin() if beaten else 0)}
            for place, fit in enumerate(fits)
        ]
    columns = ["form", "log_likelihood", "parameters", "dispersion", "aic", "preferred", "n", "n_unscored", "method"]
    table = pd.DataFrame(out, columns=["cell", *columns])
    cells = found.cells.iloc[table["cell"]].reset_index(drop=True)
    return pd.concat([cells, table[columns]], axis=1)


def _dispersion(passed: np.ndarray, n: np.ndarray, size: np.ndarray) -> float:
    """Pearson's statistic of the probes of one cell around the rates of their sizes, per degree of freedom."""
    rates = np.bincount(size, passed) / np.maximum(np.bincount(size, n), 1)
    p = rates[size]
    varied = (p > 0) & (p < 1)
    freedom = varied.sum() - len(np.unique(size[varied]))
    if freedom < 1:
        return 1.0
    p, passed, n = p[varied], passed[varied], n[varied]
    return max(1.0, float(((passed - n * p) ** 2 / (n * p * (1 - p))).sum() / freedom))


def _maximum(curve: Form, parameters: int, x: np.ndarray, passed: np.ndarray, n: np.ndarray) -> float:
    """The largest binomial log-likelihood of a form, from the best of a grid of starts."""
    from scipy import optimize
    from scipy.special import xlogy

    def lost(at: np.ndarray) -> float:
        q = np.clip(curve(x, at), LEAST, 1 - LEAST)
        return -float((xlogy(passed, q) + xlogy(n - passed, 1 - q)).sum())

    starts = sorted(
        itertools.product((0.02, 0.3, 0.6, 0.9, 0.99), repeat=parameters), key=lambda at: lost(np.array(at))
    )
    bounds = [(0.0, 1.0)] * parameters
    return max(-float(optimize.minimize(lost, start, method="L-BFGS-B", bounds=bounds).fun) for start in starts[:3])
