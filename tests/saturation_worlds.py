"""Checks frames of subjects whose every chance is known, drawn at once: the oracle of the CSE statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from cdct.core import stream
from cdct.saturation import CONSTRAINTS

IDS = np.array(list(CONSTRAINTS))
SCORE_OF_FAILED = 2 / 3
"""Mean score of a failed check: Beta(4, 2)."""


def rates(of: Callable[[str, int], float], ks: Sequence[int]) -> np.ndarray:
    """The chance of each constraint (row) at each k (column), from a function of id and k."""
    return np.array([[of(id, k) for k in ks] for id in IDS])


def world(
    name: str,
    chances: Sequence[np.ndarray],
    ks: Sequence[int],
    probes: int,
    runs: int = 1,
    shift: float = 0.0,
    ids: Sequence[str] = tuple(IDS),
    keep: int = 36,
) -> pd.DataFrame:
    """The checks of models with these chances (constraints x k, one array a model), `probes` of each k, `runs` times.

    A chance of three dimensions has one for each run first. All models of a run answer the same probes. A probe is
    easier or harder than its constraints by `shift` times the smaller of p and 1 - p, up or down with one half each, so
    that checks of a probe fail together and means stay. Of each probe so many checks are kept, the first ones.
    """
    rng = stream("test", "saturation", name)
    pool = np.flatnonzero(np.isin(IDS, ids))
    parts = []
    for place, k in enumerate(ks):
        n, size = runs * probes, min(k, keep)
        run = np.arange(n) // probes
        drawn = pool[rng.random((n, len(pool))).argsort(axis=1)[:, :size]]
        easier = np.where(rng.random((n, 1)) < 0.5, shift, -shift)
        names = np.array([f"cse-v1/k{k:02d}/{one:06d}" for one in range(n)])
        for number, chance in enumerate(chances):
            p = chance[drawn, place] if chance.ndim == 2 else chance[run[:, None], drawn, place]
            passed = rng.random((n, size)) < p + easier * np.minimum(p, 1 - p)
            score = np.where(passed, 1.0, rng.beta(4, 2, (n, size)))
            columns = {"run": np.repeat(run, size), "item": np.repeat(names, size), "model": f"m{number}", "k": k}
            columns |= {"position": np.tile(np.arange(1, size + 1), n), "constraint": IDS[drawn].ravel()}
            parts.append(pd.DataFrame(columns | {"passed": passed.ravel() * 1.0, "score": score.ravel()}))
    table = pd.concat(parts, ignore_index=True)
    table["dimension"] = table["constraint"].map({id: CONSTRAINTS[id].dimension for id in IDS})
    return filled(table)


def filled(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the other columns of a checks frame, where it lacks them."""
    usual = {"benchmark": "cse", "arm": "direct", "sample": 0, "turn": 0, "last": True, "topic": "owls"}
    usual |= {"kind": "satisfiable", "family": "", "params": "{}", "detail": "", "flags": "", "version": "1"}
    usual |= {
        "status": "ok",
        "answer_status": "ok",
        "answer_flags": "tag_ok",
        "unscored": "",
        "completion_tokens": 50.0,
    }
    return table.assign(**{name: value for name, value in usual.items() if name not in table})
