"""CCB on models whose every chance is known: intervals hold the planted numbers as often as they say.

Most worlds are score frames as `score` makes them, drawn at once; one is a model that writes texts, through `run`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from test_ceiling_score import of, reply
from test_stats_decay import none_falls_short, tell

from cdct import ceiling
from cdct.ceiling.fits import CELL, READABLE
from cdct.core import stream
from cdct.models import Model
from cdct.run import run
from cdct.stats.decay import by_depth, fit_many
from cdct.stats.survival import implied_p

RUNS = 400
SIZES = {"paper": (range(5, 51, 5), 40), "quick": (range(1, 6), 1)}
"""Depths, and trials at each, of the profiles full and quick."""


class World(NamedTuple):
    """The chances of a model. Those of lucky and recovered answers hold once its trace has gone wrong.

    A truncated reply ends after any number of whole steps below its depth, each with the same chance; an unreadable one
    has its whole trace and no answer. Both befall right and wrong trials alike.
    """

    size: str
    p: float
    lucky: float = 0.0
    recovered: float = 0.0
    unreadable: float = 0.1
    truncated: float = 0.1


def drawn(world: World) -> pd.DataFrame:
    """The score frames of 400 such models; in D3-churn, for which the paper has no counts to stand beside."""
    depths, trials = SIZES[world.size]
    rng = stream("test", "ceiling", *map(str, world))
    depth = np.tile(np.repeat(depths, trials), RUNS)
    n = len(depth)
    first, fate, after = rng.geometric(1 - world.p, n), rng.random(n), rng.random(n)
    reached = np.where(fate < world.truncated, rng.integers(depth), depth)  # steps that are there
    diverged, cut = first <= reached, fate < world.truncated
    unread = ~cut & (fate < world.truncated + world.unreadable)
    wrong_trace = first <= depth
    right = ~cut & ~unread & (~wrong_trace | (after < world.lucky + world.recovered))
    status = np.select([reached == 0, diverged, cut], ["absent", "diverged", "short"], "intact")
    k_star = np.select([reached == 0, diverged, cut], [np.nan, first, reached + 1.0], -1.0)
    return pd.DataFrame(
        {
            "arm": "baseline",
            "domain": "D3-churn",
            "model": np.repeat(np.arange(RUNS), n // RUNS),
            "item": np.tile(np.arange(n // RUNS), RUNS),
            "sample": 0,
            "last": True,
            "depth": depth,
            "outcome": np.select([cut, unread, right], ["truncation", "format", "correct"], "reasoning"),
            "correct": right.astype(float),
            "parsed": np.where(cut | unread, np.nan, right),
            "trace_status": status,
            "k_star": k_star,
            "tfbc": np.where(status == "absent", np.nan, right & (status != "intact")),
        }
    )


def truths(world: World) -> dict[str, float]:
    """What the estimates should be: sums over the depths that were asked."""
    depths = np.array(SIZES[world.size][0])
    wrong = 1 - world.p**depths
    still_right = wrong * (world.lucky + world.recovered)

    def seen(most: int) -> float:
        """The chance of a divergence up to that step which the reply still shows, summed over depths."""
        cut = [np.mean(1 - world.p ** np.minimum(np.arange(depth), most)) for depth in depths]
        whole = 1 - world.p ** np.minimum(depths, most)
        return float((world.truncated * np.array(cut) + (1 - world.truncated) * whole).sum())

    return {
        "p of answers": world.p,
        "p of traces": world.p,
        "TFBC": float(still_right.sum() / (world.p**depths + still_right).sum()),
        "early": seen(3) / seen(max(depths)),
        "success at the first depth": 1 - float(wrong[0] - still_right[0]),
    }


def estimated(rows: pd.DataFrame, answers: int = RUNS) -> dict[str, pd.DataFrame]:
    """The numbers of the notebooks, one row a model that has any; the fits of the answers for so many models."""
    cell, counted = ["domain", "model"], ceiling.with_published(rows)
    differs = counted["model"].isin(counted.loc[counted["counted"] == READABLE, "model"])
    readable = counted[(counted["counted"] == READABLE) | ~differs]  # without an unreadable reply all are readable
    phases = ceiling.divergences(rows, cell)
    tables = {
        "p of answers": fit_many(readable[readable["model"].isin(rows["model"].unique()[:answers])], CELL, draws=10),
        "p of traces": implied_p(ceiling.traced(rows), cell),
        "TFBC": ceiling.tfbc(rows, cell),
        "early": phases[phases["phase"] == "early"],
        "success at the first depth": by_depth(readable[readable["depth"] == readable["depth"].min()], CELL),
    }
    return {name: table.dropna(subset=["estimate"]) for name, table in tables.items()}


WORLDS = [
    World(size, p, *rates)
    for size, chances in (("paper", (0.65, 0.93, 0.987)), ("quick", (0.5, 0.9, 0.99)))
    for p in chances
    for rates in ((), (0.05, 0.1))
]


def test_intervals_hold_the_planted_numbers() -> None:
    """The p of answers is held to its truth only where none are lucky or recovered: those make another curve."""
    covered, off = {}, {}
    for world in WORLDS:
        truth = truths(world)
        for name, table in estimated(drawn(world), 40 if world.lucky else RUNS).items():
            hits = table["low"].le(truth[name] + 1e-12) & table["high"].ge(truth[name] - 1e-12)
            told = f"{name} ({truth[name]:.3f}), {world.size}, p {world.p}, lucky {world.lucky}"
            if name == "p of answers" and world.lucky:
                tell(f"coverage of {told}: {hits.mean():.4f}, mean {table['estimate'].mean():.4f}")
                off[world.size, world.p] = hits.mean(), table["estimate"].mean()
            else:
                covered[told] = hits.to_numpy()
    none_falls_short(covered)
    # the answers of a model that guesses look better than its steps are; its traces tell
    assert off["paper", 0.65][0] < 0.05
    assert all(mean > p for (_, p), (_, mean) in off.items() if p < 0.99)


def test_the_planted_rates_are_what_a_frame_holds() -> None:
    """The worlds themselves, counted by hand over all 400 models: a test of the tests."""
    world = World("paper", 0.93, 0.05, 0.1)
    rows, truth = drawn(world), truths(world)
    assert rows["outcome"].value_counts(normalize=True)["format"] == pytest.approx(0.1, abs=0.004)
    assert rows["outcome"].value_counts(normalize=True)["truncation"] == pytest.approx(0.1, abs=0.004)
    right = rows[rows["correct"] == 1]
    assert right["tfbc"].mean() == pytest.approx(truth["TFBC"], abs=0.01)
    assert (rows["k_star"] > rows["depth"]).sum() == 0
    assert set(rows[rows["trace_status"] == "short"]["outcome"]) == {"truncation"}


@pytest.mark.parametrize(("name", "world"), [("D2", World("text", 0.9)), ("D3-churn", World("text", 0.9, 0.1, 0.2))])
def test_a_model_that_writes_comes_out_as_it_was_planted(
    name: str, world: World, store_path: str, monkeypatch: Any
) -> None:
    """Texts, asked, recorded, read, scored: every trial has its fate, and the intervals hold the chances behind it.

    One draw, in which no interval misses its number by chance.
    """
    depths, trials = (4, 8, 12, 16), 40
    monkeypatch.setitem(SIZES, "text", (depths, trials))
    items = ceiling.generate(seed=47, domain=name, depths=depths, trials=trials)
    fates: dict[str, tuple[Any, ...]] = {}

    def other(state: Any) -> Any:
        if name == "D2":
            return state | {"A": state["B"], "B": state["A"]}
        pair = min(state)
        return state | {pair: {"ally": "rival", "rival": "ally"}[state[pair]]}

    def answer(request: Any, sample: int) -> str:
        item = of(request, items)
        rng, depth, states = stream("test", "writes", item.id), item.params["depth"], list(item.truth["states"])
        first, fate, after = int(rng.geometric(1 - world.p)), rng.random(), rng.random()
        good = first > depth or after < world.lucky + world.recovered
        until = depth - 1 if after < world.recovered and first < depth else depth
        states[first - 1 : until] = [other(state) for state in states[first - 1 : until]]
        final = item.truth["answer"] if good else other(item.truth["answer"])
        head, _, tail = reply(dict(enumerate(states, start=1)), final, item).rpartition("\n")
        if fate < world.truncated:
            reached = int(rng.integers(depth))
            fates[item.id] = "truncation", np.nan if not reached else first if first <= reached else reached + 1
            return "\n".join([*head.split("\n")[: reached + 1], f"Step {reached + 1}:"])
        unread = fate < world.truncated + world.unreadable
        fates[item.id] = "format" if unread else "correct" if good else None, first if first <= depth else -1
        return head + "\nThat is all." if unread else f"{head}\n{tail}"

    rows = ceiling.score(items, run(items, Model("planted", answer=answer), store=store_path, progress=False))
    for row in rows.to_dict("records"):
        outcome, k_star = fates[row["item"]]
        assert row["outcome"] in ({outcome} if outcome else {"reasoning", "constraint"})
        assert row["k_star"] == pytest.approx(k_star, nan_ok=True)
    truth = truths(world)
    for what, table in estimated(rows.assign(domain="D3-churn")).items():
        if what != "p of answers" or not world.lucky:
            found = table.iloc[0]
            tell(f"{what}: {truth[what]:.3f} in {found['low']:.3f} to {found['high']:.3f}, {name}")
            assert found["low"] <= truth[what] <= found["high"]
