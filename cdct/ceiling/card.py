"""What a report says of the CCB rows: the lines of each model's card, and findings as sentences made by rule."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cdct.ceiling.analysis import summarise, tfbc, traced
from cdct.ceiling.items import DEPTHS
from cdct.ceiling.prompts import BASELINE
from cdct.ceiling.published import published_cells
from cdct.stats import decay, rivals, survival
from cdct.stats.association import holm

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05
"""That p^N does not hold is said where its bootstrap p, Holm-corrected for the cells of the table, is below this."""
CELL = ["model", "domain"]
FORM_WORDS = {"geometric": "p^N", "stretched": "p^(N^gamma)", "lapse": "a p^N", "linear": "1 - lambda N"}


def condition(arm: str) -> str:
    """What sets an arm apart from the baseline, "" for the baseline itself."""
    return "" if arm in ("baseline", BASELINE) else arm


def card(rows: pd.DataFrame) -> pd.DataFrame:
    """The lines of each model's card, one set per domain and arm: p per step, H_0.5, accuracy, what traces say.

    Columns: model, group, label, unit, estimate, low, high, n, n_unscored, method, published, published_label. Format
    failures count as failures, replies that were cut before their answer as unscored. p per step lies on [.5, 1] as in
    the paper unless a bound would hold it there, its interval on [0, 1]; `method` then says so. Beside the baseline's p
    stands the best of the paper's five models in that domain; beside accuracy too, where the depths are the paper's.
    """
    import pandas as pd

    lines: list[dict[str, Any]] = []
    for names, cell in _cells(rows):
        told = condition(names["arm"])
        group = f"CCB {names['domain']}{f': {told}' if told else ''}"
        for line in _lines(cell):
            line |= {} if not told else {"published": None, "published_label": ""}
            lines.append({"model": names["model"], "group": group} | line)
    columns = ["model", "group", "label", "unit", "estimate", "low", "high", "n", "n_unscored", "method"]
    return pd.DataFrame(lines, columns=[*columns, "published", "published_label"])


def _cells(rows: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The trials of every model, domain and arm: the last turn of each."""
    for names, cell in rows[rows["last"].astype(bool)].groupby(["model", "domain", "arm"], sort=False):
        yield dict(zip(("model", "domain", "arm"), names, strict=True)), cell


def _depths(cell: pd.DataFrame) -> str:
    depths = sorted(cell["depth"].unique())
    return f"N = {depths[0]:g}" if len(depths) == 1 else f"N = {depths[0]:g} to {depths[-1]:g}"


def _lines(cell: pd.DataFrame) -> Iterator[dict[str, Any]]:
    domain, depths = cell["domain"].iloc[0], _depths(cell)
    paper = published_cells()
    paper = paper[paper["domain"] == domain]
    best = paper.loc[paper["estimate"].idxmax()] if len(paper) else None
    same = sorted(cell["depth"].unique()) == list(DEPTHS)
    fit = decay.fit_many(cell, CELL)
    if fit["bound"].iloc[0] == "lower":
        fit["method"] += "; on [.5, 1], as the paper has it, p lies on its lower bound"
        fit["estimate"] = fit["p_free"]
    half = decay.horizons(fit, (0.5,))
    half["method"] += "" if half["within"].iloc[0] else "; outside the depths asked"
    traces = survival.implied_p(traced(cell), CELL)
    accuracy = summarise(cell, CELL)
    tables = (
        ("p per step (from answers)", "share", fit, None if best is None else best["estimate"]),
        ("p per step (from traces)", "share", traces, None),
        ("H_0.5, depth at which half the answers are right", "steps", half, None),
        (f"right answers, {depths}", "share", accuracy, None if best is None or not same else paper["accuracy"].max()),
        (f"right answers on a trace that is not intact, {depths}", "share", tfbc(cell, CELL), None),
    )
    for label, unit, table, published in tables:
        row = table.iloc[0]
        source = "" if published is None else f"CCB paper, best of five models, depths {DEPTHS[0]} to {DEPTHS[-1]}"
        yield (
            {"label": label, "unit": unit}
            | {name: row[name] for name in ("estimate", "low", "high", "n", "n_unscored", "method")}
            | {"published": published, "published_label": source}
        )


# ------------------------------------------------------------------------------------------------------------- findings


def findings(rows: pd.DataFrame) -> pd.DataFrame:
    """Sentences on every model, domain and arm: columns model, text.

    The first says what answers say of decay. That p^N does not hold is said where the deviance says so after Holm's
    correction for the cells of the table; that success falls more slowly or faster where the interval of gamma leaves
    out 1: why it does, answers can't tell (a few lucky ones make gamma small), only the hazards of traces can.
    Where fewer than three depths have successes no form is spoken of, and without any success there is an upper limit
    alone. The second says on what traces right answers stand, and what p the traces imply.
    """
    import pandas as pd

    cells = list(_cells(rows))
    fits = [decay.fit_many(cell, CELL).iloc[0] for _, cell in cells]
    corrected = holm([fit["p_value"] if fit["identifiable"] else math.nan for fit in fits])
    tests = sum(p == p for p in corrected)
    out = []
    for (names, cell), fit, p in zip(cells, fits, corrected, strict=True):
        told = condition(names["arm"])
        where = f"{names['domain']}{f' ({told})' if told else ''}, {_depths(cell)}"
        for text in (_answers(cell, fit, p, tests), _traces(cell)):
            if text:
                out.append({"model": names["model"], "text": f"{where}: {text}."})
    return pd.DataFrame(out, columns=["model", "text"])


def _answers(cell: pd.DataFrame, fit: Mapping[str, Any], p: float, tests: int) -> str:
    n, right = int(fit["n"]), int(cell["correct"].sum())
    if not n:
        return "no reply could be scored"
    counted = f"{right} of {n} answers are right"
    if not right:
        return f"{counted}; p per step is at most {_cut(fit['high'])}, and no form of decay can be told"
    if right == n:
        return f"{counted}; p per step is at least {_cut(fit['low'])}, and no form of decay can be told"
    if not fit["identifiable"]:
        kept = "on its lower bound" if fit["bound"] == "lower" else f"{_cut(fit['estimate'])}"
        return f"{counted}, at fewer than three depths: p per step, {kept} {_interval(fit)}, rests on too little"
    forms = rivals.compare_forms(cell, CELL)
    best = forms.loc[forms["preferred"], "form"].item()
    other = f"; by AIC {FORM_WORDS[best]} describes it better" if best != "geometric" else ""
    tested = f"deviance {fit['deviance']:.1f} on {fit['df']} degrees of freedom, {_p(p, tests)}"
    if not p < ALPHA:
        half = decay.horizons(fit.to_frame().T, (0.5,)).iloc[0]
        far = "" if half["within"] else ", outside the depths asked"
        return (
            f"{counted}; p per step is {_cut(fit['estimate'])} {_interval(fit)}, so that half the answers would "
            f"be right at depth {half['estimate']:.1f} {_interval(half, '.1f')}{far}; p^N is not rejected ({tested})"
            f"{other}"
        )
    gamma = rivals.fit_gamma(cell, CELL).iloc[0]
    slower = "falls more slowly than any p^N, as rarer errors at depth, lucky answers or recovered states would have it"
    faster = "falls faster than any p^N, as errors that grow with depth would have it"
    way = slower if gamma["high"] < 1 else faster if gamma["low"] > 1 else ""
    turn = f"; success {way}, gamma {gamma['estimate']:.2f} {_interval(gamma)}" if way else ""
    return (
        f"{counted}, but not as p^N has it ({tested}, dispersion {fit['dispersion']:.1f}): p per step, "
        f"{_cut(fit['estimate'])}, and what follows from it describe this cell badly{other}{turn}"
    )


def _traces(cell: pd.DataFrame) -> str:
    traces = survival.implied_p(traced(cell), CELL).iloc[0]
    if not traces["n"]:
        return "no trace could be read" if cell["correct"].notna().any() else ""
    steps = f"{int(traces['steps'])} step{'s' if traces['steps'] != 1 else ''}"
    text = (
        f"{int(traces['diverged'])} of {int(traces['n'])} traces left the truth, in {steps}; if "
        f"every step were alike, p per step would be {_cut(traces['estimate'])} {_interval(traces)}"
    )
    lucky = tfbc(cell, CELL).iloc[0]
    if lucky["n"]:
        wrong = round(lucky["estimate"] * lucky["n"])
        text += f"; {wrong} of {int(lucky['n'])} right answers {'stands' if wrong == 1 else 'stand'} on a trace that "
        text += f"is not intact, a share of {lucky['estimate']:.2f} {_interval(lucky)}"
    return text


def _cut(p: float) -> str:
    """A probability near 1 with as many digits as tell it from 1."""
    return f"{p:.2f}" if p < 0.9 else f"{p:.3f}" if p < 0.99 else f"{p:.4f}"


def _interval(row: Any, form: str = ".3f") -> str:
    return "(no interval)" if row["low"] != row["low"] else f"[{row['low']:{form}}, {row['high']:{form}}]"


def _p(value: float, tests: int) -> str:
    return f"bootstrap p = {value:.2g}" + (f", Holm-corrected for {tests} cells" if tests > 1 else "")
