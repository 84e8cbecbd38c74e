"""Simulated subjects and judges whose truth is known: what was planted comes back, inside its interval.

A subject knows where it stands from its request alone: by the digest of the messages. It writes as many words as a
wished compliance needs, between two numbers of words by chance, so that the wish is the mean of what it does. One world
goes the whole way, through `run` and its record; the coverage of many worlds is measured on frames written by hand.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cdct import compression, jury
from cdct.compression import compliance_score, generate, messages, score
from cdct.core import BENCHMARKS, KEYS, Item, digest, stream
from cdct.models import Model
from cdct.run import run
from cdct.text import words

ITEMS = generate()
ENDS_AND_MIDDLE = generate(levels=[0.0, 0.5, 1.0])
PLACES = {
    digest(messages(item, arm)): (arm, item.params["concept"], item.params["c"])
    for item in ITEMS
    for arm in ("fixed", "plain")
}
POINTS = np.array([compliance_score(35 + over) / 10 for over in range(36)])  # by words too many, from 1 down to 0
LEAST_COVERAGE = 0.85

Wish = Callable[[str, str, str, float, np.random.Generator], float]
"""The compliance (0-1) that model, arm, concept and level are to have on average; chance may move it."""


def subject(
    name: str, wish: Wish, world: int = 0, code: Callable[[str, float, np.random.Generator], str] | None = None
):
    """A model that complies as wished. Its reply begins with a word of its own and, where given, a code for judges."""

    def answer(request: Mapping[str, Any], sample: int) -> str:
        arm, concept, c = PLACES[digest(request["messages"])]
        rng = stream("planted", world, digest(request), sample)
        wished = wish(name, arm, concept, c, rng)
        if not 0 <= wished <= 1:
            raise ValueError(f"{name} at {concept}, {c:g}: the wish {wished:.3f} can't be a mean of compliance")
        over = int(np.searchsorted(-POINTS, -wished))  # the first place that does not comply more than wished
        if over and rng.random() < (wished - POINTS[over]) / (POINTS[over - 1] - POINTS[over]):
            over -= 1
        first = [f"reply{rng.integers(10**9)}", *([code(concept, c, rng)] if code else [])]
        return " ".join(first + ["word"] * (35 + over - len(first)))

    return Model(name, answer=answer)


def replies_of(items: Sequence[Item], models: Sequence[Model], arms: Sequence[str] = ("baseline",)) -> pd.DataFrame:
    """The replies as `run` would give them, without its record."""
    rows = []
    for model in models:
        for arm_name in arms:
            for item in items:
                arm = BENCHMARKS[item.benchmark].arm(arm_name)
                text = model.answer({"model": model.name, "messages": arm.messages(item, ())}, 0)  # type: ignore[misc]
                keys = dict(zip(KEYS, (item.benchmark, arm.name, item.id, model.name, 0, 0), strict=True))
                rows.append(keys | {"text": text, "status": "ok", "finish_reason": "stop"})
    return pd.DataFrame(rows)


@cache
def effect(*names: str | int | float) -> float:
    """A standard normal number of that name."""
    return float(stream("planted", "effect", *map(str, names)).normal())


def only(table: pd.DataFrame, **named: Any) -> dict[str, Any]:
    for name, value in named.items():
        table = table[table[name] == value]
    (row,) = table.to_dict("records")
    return row


def inside(row: Mapping[str, Any], truth: float) -> bool:
    return row["low"] <= truth <= row["high"]


def recovered(worlds: Sequence[Sequence[tuple[Mapping[str, Any], float]]], widest: float) -> None:
    """Over many worlds the intervals hold the truth, are no wider than is told, and the estimates are not biased."""
    found = [
        [(row["estimate"] - truth, row["high"] - row["low"], inside(row, truth)) for row, truth in one]
        for one in worlds
    ]
    off, width, held = np.array(found, dtype=float).transpose(2, 0, 1)
    assert held.mean() >= LEAST_COVERAGE
    assert width.mean() < widest
    by_world = off.mean(axis=1)  # rows of one world share its concepts
    assert abs(by_world.mean()) < 3 * by_world.std(ddof=1) / math.sqrt(len(worlds))


# ------------------------------------------------------------------------------------------------- dips and their place

ENDS, DEEP, HIGH = (2, 3), (7, 8, 15, 16), (0, 1)  # words too many
DIPPING = 0.85


def trough_of(world: int, concept: str) -> float:
    return 0.5 if stream("planted", "trough", world, concept).random() < DIPPING else 0.25


def curve(world: int) -> Wish:
    """Most curves are lowest in the middle, and dip; the others are a quarter before it, and their middle arches."""

    def wish(model: str, arm: str, concept: str, c: float, rng: np.random.Generator) -> float:
        return float(POINTS[rng.choice(ENDS if c in (0, 1) else DEEP if c == trough_of(world, concept) else HIGH)])

    return wish


def curve_truth() -> dict[str, float]:
    ends, deep, high = (POINTS[list(places)].mean() for places in (ENDS, DEEP, HIGH))
    assert min(POINTS[list(ENDS)]) > max(POINTS[list(DEEP)])
    assert max(POINTS[list(ENDS)]) < min(POINTS[list(HIGH)])
    magnitude = DIPPING * (ends - deep) + (1 - DIPPING) * (ends - high)
    return {"prevalence": DIPPING, "arches": 1 - DIPPING, "magnitude": magnitude}


SEVEN = 2
"""A world in which seven of eight curves dip."""


def test_planted_dips_come_back_with_their_place(store_path: str) -> None:
    truth = curve_truth()
    assert truth["magnitude"] == pytest.approx(0.85 * (0.825 - 0.45) + 0.15 * (0.825 - 0.95))
    rows = score(ITEMS, run(ITEMS, subject("m", curve(SEVEN)), store=store_path, progress=False))
    summary = compression.dip_summary(rows)
    for measure, planted in truth.items():
        row = only(summary, measure=measure)
        assert inside(row, planted), measure
        assert (row["n"], row["n_unscored"]) == (8, 0)
    dips = compression.dips(rows)
    places = dict(zip(dips["concept"], dips["trough"], strict=True))
    assert places == {concept: trough_of(SEVEN, concept) for concept in places}
    where = compression.troughs(dips)
    assert where[["c", "estimate"]].to_numpy().tolist() == [[0.25, 1 / 8], [0.5, 7 / 8]]
    assert inside(only(where, c=0.5), DIPPING)
    said = compression.findings(rows)["text"][0]
    assert said.startswith("Compliance dips at c = 0.5, by 0.")
    assert "7 of 8 curves dip" in said


def test_intervals_of_dips_and_troughs_hold_the_truth() -> None:
    truth, found = curve_truth(), {name: [] for name in ("prevalence", "magnitude", "trough")}
    for world in range(40):
        rows = score(ITEMS, replies_of(ITEMS, [subject("m", curve(world), world)]))
        summary, where = compression.dip_summary(rows), compression.troughs(compression.dips(rows))
        for measure in ("prevalence", "magnitude"):
            found[measure].append([(only(summary, measure=measure), truth[measure])])
        found["trough"].append([(only(where, c=0.5), DIPPING)])
    recovered(found["prevalence"], 0.65)  # eight curves say as much
    recovered(found["trough"], 0.65)
    recovered(found["magnitude"], 0.45)


# ------------------------------------------------------------------------------------------------------ arms and levels

BASE, GAIN = {0.0: 0.45, 0.5: 0.3, 1.0: 0.5}, 0.2
MODELS = ("a", "b", "c")


def of_model(world: int, model: str, arm: str) -> float:
    return 0.03 * effect(world, "model", arm, model)


def armed(world: int) -> Wish:
    """The arm plain adds `GAIN`; concepts differ in how they respond to arms and levels, models to arms."""

    def wish(model: str, arm: str, concept: str, c: float, rng: np.random.Generator) -> float:
        own = 0.04 * effect(world, "concept", arm, concept) + 0.03 * effect(world, "level", c, concept)
        return BASE[c] + GAIN * (arm == "plain") + of_model(world, model, arm) + own

    return wish


def arms_and_levels(world: int, rows: pd.DataFrame) -> dict[str, list[tuple[dict[str, Any], float]]]:
    """The effects found in one world, each with its truth."""

    def logit(p: float) -> float:
        return math.log(p / (1 - p))

    by_model, over_all = compression.arm_effects(rows), compression.arm_effects(rows, by=[])
    levels = compression.level_differences(rows[rows["arm"] == "fixed"])
    middle = float(np.mean(list(BASE.values())))
    means = {m: (middle + of_model(world, m, "fixed"), middle + GAIN + of_model(world, m, "plain")) for m in MODELS}
    gains = [(only(by_model, model=m, measure="difference"), plain - fixed) for m, (fixed, plain) in means.items()]
    odds = [
        (only(by_model, model=m, measure="log odds"), logit(plain) - logit(fixed))
        for m, (fixed, plain) in means.items()
    ]
    return {
        "difference": gains,
        "log odds": odds,
        "difference, all models": [(only(over_all, measure="difference"), GAIN)],
        "levels": [(only(levels, c=c), BASE[c] - BASE[0.5]) for c in (0.0, 1.0)],
    }


def test_a_planted_ablation_and_planted_levels_come_back(store_path: str) -> None:
    models = [subject(name, armed(0)) for name in MODELS]
    rows = score(ENDS_AND_MIDDLE, run(ENDS_AND_MIDDLE, models, ["fixed", "plain"], store=store_path, progress=False))
    assert len(rows) == 3 * 2 * 24
    for name, found in arms_and_levels(0, rows).items():
        for row, truth in found:
            assert inside(row, truth), (name, row, truth)
            assert row["low"] > 0
            assert row["n_unscored"] == 0
    said = compression.effect_findings(compression.arm_effects(rows))["text"]
    assert said.str.startswith("With plain instead of fixed compliance rises: +0.").all()
    assert len(said) == 3


def test_intervals_of_arms_and_levels_hold_the_truth() -> None:
    found: dict[str, list[Any]] = {}
    for world in range(40):
        models = [subject(name, armed(world), world) for name in MODELS]
        rows = score(ENDS_AND_MIDDLE, replies_of(ENDS_AND_MIDDLE, models, ["fixed", "plain"]))
        for name, one in arms_and_levels(world, rows).items():
            found.setdefault(name, []).append(one)
    recovered(found["difference"], 0.14)
    recovered(found["log odds"], 0.6)
    recovered(found["difference, all models"], 0.3)  # t with two degrees of freedom
    recovered(found["levels"], 0.25)


# ------------------------------------------------------------------------------------------ tiers, and what makes a dip

TIER = {f"r{number}": "reasoning" for number in range(3)} | {f"e{number}": "efficient" for number in range(3)}
SD = {"model": 0.01, "concept": 0.015, "rest": 0.025}
APART = 0.05
# between steps of .3 / 19 a wish is met by chance: the variance of that is a sixth of the squared step
VARIANCE = {name: sd**2 for name, sd in SD.items()} | {"rest": SD["rest"] ** 2 + (0.3 / 19) ** 2 / 6}


def grouped(world: int) -> Wish:
    """Reasoning models comply more at every level; in the middle, models, concepts and both together differ."""

    def wish(model: str, arm: str, concept: str, c: float, rng: np.random.Generator) -> float:
        more = APART * (TIER[model] == "reasoning")
        if c != 0.5:
            return 0.85 + more
        names = {"model": (model,), "concept": (concept,), "rest": (model, concept)}
        return 0.15 + more + sum(SD[kind] * effect(world, kind, *of) for kind, of in names.items())

    return wish


def shares(rows: pd.DataFrame) -> list[tuple[dict[str, Any], float]]:
    """Each component's row, and its planted share."""
    split = compression.dip_variance(rows)
    return [(only(split, component=name), variance / sum(VARIANCE.values())) for name, variance in VARIANCE.items()]


def test_planted_tiers_and_a_planted_split_of_variance_come_back(store_path: str) -> None:
    models = [subject(name, grouped(0)) for name in TIER]
    rows = score(ENDS_AND_MIDDLE, run(ENDS_AND_MIDDLE, models, store=store_path, progress=False))
    tiers = compression.tiers(rows, TIER)
    for c in ("all", "0.5"):
        row = only(tiers, c=c, measure="difference")
        assert inside(row, APART), c
        assert (row["n_reasoning"], row["n_efficient"], row["n_unscored"]) == (3, 3, 0)
    assert only(tiers, c="all", measure="difference")["low"] > 0
    # concepts are shared by both groups and cancel; the middle is one level of three
    spread = math.sqrt(VARIANCE["model"] + VARIANCE["rest"] / 8) / 3
    assert inside(only(tiers, c="all", measure="hedges g"), APART / spread)
    for row, truth in shares(rows):
        assert row["low"] <= truth <= row["high"], row
        assert row["n"] == 48


def test_intervals_of_tiers_and_shares_hold_the_truth() -> None:
    groups, parts = [], []
    for world in range(40):
        models = [subject(name, grouped(world), world) for name in TIER]
        rows = score(ENDS_AND_MIDDLE, replies_of(ENDS_AND_MIDDLE, models))
        tiers = compression.tiers(rows[rows["c"] == 0.5], TIER)
        groups.append([(only(tiers, c="all", measure="difference"), APART)])
        parts.append(shares(rows))
    recovered(groups, 0.15)
    for place, (name, variance) in enumerate(VARIANCE.items()):
        found = [one[place] for one in parts]
        assert np.mean([inside(row, truth) for row, truth in found]) >= LEAST_COVERAGE, name
        assert np.mean([row["high"] - row["low"] for row, _ in found]) < 0.8, name
        raw = np.array([row["raw"] for row, _ in found])  # no share is unbiased, but its variances are
        assert abs(raw.mean() - variance) < 3 * raw.std(ddof=1) / math.sqrt(len(raw)), name


# ------------------------------------------------------------------------------------------------------ judges' errors

SPREAD = dict(zip(compression.LEVELS, (0.1, 0.3, 0.5, 0.6, 0.7), strict=True))
BIAS, SLOPE = 0.15, 0.6
COUNTED = float(np.mean(list(SPREAD.values())))


def spread(model: str, arm: str, concept: str, c: float, rng: np.random.Generator) -> float:
    return SPREAD[c]


def between_the_marks(request: Mapping[str, Any]) -> tuple[str, str, bool]:
    """What a judge is given: the task, the reply, and whether it is told how many words there are."""
    text = request["messages"][1]["content"]
    found = re.search(r"^Task: (.*?)\n.*\n([0-9a-f]{8})\n(.*)\n\2\n(The reply has)?", text, re.DOTALL)
    assert found
    return found[1], found[3], bool(found[4])


def ballot(**marks: float) -> str:
    return json.dumps({metric: round(10 * mark, 4) for metric, mark in marks.items()})


def biased(world: int = 0) -> Model:
    """A judge that errs at random alone where it is told the count, and else is kind and follows the count by .6."""

    def answer(request: Mapping[str, Any], sample: int) -> str:
        task, reply, told = between_the_marks(request)
        counted = compliance_score(len(words(reply))) / 10
        mark = counted if told else SLOPE * counted + BIAS + (1 - SLOPE) * COUNTED
        noise = stream("planted", "judge", world, digest(request), sample).uniform(-0.05, 0.05)
        # a concept is judged more kindly than another; what is told to it leaves no room for that
        mark += noise + (0 if told else 0.02 * effect(world, "kind", task))
        return ballot(CC=abs(mark), SA=0.5, FC=0.5)

    return Model("judge", answer=answer)


CALIBRATED = {
    ("hidden", "bias"): BIAS,
    ("hidden", "slope"): SLOPE,
    ("shown", "bias"): 0.0,
    ("shown", "slope"): 1.0,
    ("shown", "error"): 0.025,
}


def test_a_planted_bias_and_slope_of_a_judge_come_back(store_path: str) -> None:
    replies = run(ITEMS, subject("m", spread), store=store_path, progress=False)
    rows = score(ITEMS, replies)
    asked = jury.ballot_items(ITEMS, replies, rows)
    judged = run(asked, biased(), ["hidden", "shown"], store=store_path, progress=False)
    ballots = jury.ballots(asked, judged)
    table = compression.calibration(ballots, rows)
    for (shown, measure), truth in CALIBRATED.items():
        row = only(table, shown=shown, measure=measure)
        assert inside(row, truth), (shown, measure)
        assert (row["n"], row["n_unscored"]) == (40, 0)
    hidden, shown = compression.jury_findings(table)["text"]
    assert "with the count hidden it is lenient: bias +0.1" in hidden
    assert "with the count shown it is neither lenient nor strict for certain" in shown
    verdicts = jury.verdicts(ballots)
    for shown, off in (("hidden", BIAS), ("shown", 0.0)):
        jury_rows = compression.with_jury(rows, verdicts[verdicts["shown"] == shown])
        assert (jury_rows["cc_judged"] - jury_rows["cc"]).mean() == pytest.approx(off, abs=0.04)
        assert (jury_rows["jury_unscored"] == "").all()


def test_intervals_of_bias_and_slope_hold_the_truth() -> None:
    found: dict[str, list[Any]] = {"hidden": [], "shown": []}
    slopes = []
    for world in range(40):
        replies = replies_of(ITEMS, [subject("m", spread, world)])
        rows = score(ITEMS, replies)
        asked = jury.ballot_items(ITEMS, replies, rows)
        table = compression.calibration(
            jury.ballots(asked, replies_of(asked, [biased(world)], ["hidden", "shown"])), rows
        )
        for shown, measures in found.items():
            measures.append([(only(table, shown=shown, measure="bias"), CALIBRATED[shown, "bias"])])
            slopes.append([(only(table, shown=shown, measure="slope"), CALIBRATED[shown, "slope"])])
    recovered(found["hidden"], 0.1)
    recovered(found["shown"], 0.03)
    recovered(slopes, 0.15)


# ------------------------------------------------------------------------------- agreement, and compliance with meaning

JUDGES, WRONG = ("x", "y", "z"), 0.1
TRUE = dict(zip(compression.LEVELS, (0.95, 0.9, 0.1, 0.9, 0.95), strict=True))
"""How often a reply is true, by level; it is complete .7 times in 1, at every level."""
COMPLETE = 0.7
OVER = dict(zip(compression.LEVELS, ((1, 2, 3), (4, 5, 6, 7), (16, 20, 24), (4, 5, 6, 7), (1, 2, 3)), strict=True))
TRIO = ("m", "n", "o")


def levelled(model: str, arm: str, concept: str, c: float, rng: np.random.Generator) -> float:
    return float(POINTS[rng.choice(OVER[c])])


def truthful(concept: str, c: float, rng: np.random.Generator) -> str:
    return f"true{int(rng.random() < TRUE[c])}complete{int(rng.random() < COMPLETE)}"


def voter(name: str) -> Model:
    """A judge that sees whether a reply is true and complete, and says the opposite with the chance `WRONG`.

    A complete reply is given 7 of 10, which is high or not by which side the cut has.
    """

    def answer(request: Mapping[str, Any], sample: int) -> str:
        _, reply, _ = between_the_marks(request)
        true, complete = (int(found) for found in re.search(r"true(\d)complete(\d)", reply).groups())  # type: ignore[union-attr]
        lies = stream("planted", "vote", name, digest(request), sample).random(2) < WRONG
        return ballot(CC=0.5, SA=0.9 if true ^ lies[0] else 0.4, FC=0.7 if complete ^ lies[1] else 0.4)

    return Model(name, answer=answer)


def agreed(high: float) -> dict[str, float]:
    """What three such judges show of replies of which this share is high: pairs differ 2e(1-e) of the time."""
    said = high * (1 - WRONG) + (1 - high) * WRONG
    differ, chance = 2 * WRONG * (1 - WRONG), 2 * said * (1 - said)
    kappa = 1 - differ / chance
    return {
        "observed": 1 - differ,
        "prevalence": said,
        "kappa": kappa,
        "ac1": 1 - differ / (1 - chance),
        "alpha": kappa,
    }


@pytest.fixture(scope="module")
def voted(tmp_path_factory: pytest.TempPathFactory) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of three subjects, two samples each, and the ballots of three judges on them."""
    store = str(tmp_path_factory.mktemp("voted") / "replies.sqlite")
    models = [subject(name, levelled, code=truthful) for name in TRIO]
    replies = run(ITEMS, models, samples=2, sampling={"temperature": 0.7}, store=store, progress=False)
    rows = score(ITEMS, replies)
    asked = jury.ballot_items(ITEMS, replies, rows)
    judges = [voter(name) for name in JUDGES]
    return rows, jury.ballots(asked, run(asked, judges, ["hidden"], store=store, progress=False, **jury.draws(judges)))


def test_a_planted_agreement_comes_back_at_every_level_and_over_all(voted: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    rows, ballots = voted
    assert (len(rows), len(ballots)) == (240, 3 * 3 * 240)
    table = compression.agreement_by_level(ballots, rows)
    at_least = table[table["cut"] == ">=0.7"]
    held = []
    for metric, high in (("SA", TRUE), ("FC", dict.fromkeys(TRUE, COMPLETE))):
        cells = {"all": float(np.mean(list(high.values())))} | {f"{c:g}": share for c, share in high.items()}
        for c, share in cells.items():
            for measure, truth in agreed(share).items():
                row = only(at_least, metric=metric, c=c, measure=measure)
                assert row["n"] == (240 if c == "all" else 48)
                held.append(inside(row, truth))
                assert held[-1] or c != "all", (metric, measure)
    assert np.mean(held) >= LEAST_COVERAGE
    # 7 of 10 is not above .7: by the other cut no reply is complete, and there is nothing to agree on
    above = table[(table["cut"] == ">0.7") & (table["metric"] == "FC")]
    assert above.loc[above["measure"] == "kappa", "estimate"].isna().all()
    assert set(above.loc[above["measure"] == "prevalence", "estimate"]) == {0.0}


def test_pooling_is_warned_of_where_levels_differ_and_not_where_they_are_alike(
    voted: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    rows, ballots = voted
    within = 1 - 2 * WRONG * (1 - WRONG) / np.mean([2 * q * (1 - q) for q in (0.86, 0.82, 0.18, 0.82, 0.86)])
    assert agreed(0.76)["kappa"] - within > 0.2
    notes = compression.pooling_notes(compression.agreement_by_level(ballots, rows), ["shown", "metric", "cut"])
    assert notes[["shown", "metric", "cut"]].to_numpy().tolist() == [
        ["hidden", "SA", ">0.7"],
        ["hidden", "SA", ">=0.7"],
    ]
    assert notes["text"].str.contains(r"over all strata it is 0\.\d\d, but it is 0\.\d\d within strata \(c = 0: ").all()


def pooled_r() -> float:
    """Pearson's r of compliance and judged accuracy over all levels, when it is 0 within each."""
    cc = {c: POINTS[list(OVER[c])] for c in OVER}
    high = {c: TRUE[c] * (1 - WRONG) + (1 - TRUE[c]) * WRONG for c in TRUE}
    accuracy = {c: 0.4 + 0.5 * share for c, share in high.items()}
    # a reply's mean of three judges varies by its truth, and by a third of the judges' own errors
    within = {c: 0.25 * ((1 - 2 * WRONG) ** 2 * TRUE[c] * (1 - TRUE[c]) + WRONG * (1 - WRONG) / 3) for c in TRUE}
    means = np.array([[cc[c].mean(), accuracy[c]] for c in OVER])
    spread = np.cov(means.T, ddof=0)
    total = [
        spread[0, 0] + np.mean([values.var() for values in cc.values()]),
        spread[1, 1] + np.mean(list(within.values())),
    ]
    return float(spread[0, 1] / math.sqrt(np.prod(total)))


def test_no_correlation_within_levels_that_move_both(voted: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    rows, ballots = voted
    table = compression.orthogonality(compression.with_jury(rows, jury.verdicts(ballots)), "sa")
    assert pooled_r() > 0.6
    assert inside(only(table, c="all"), pooled_r())
    for c in compression.LEVELS:
        row = only(table, c=f"{c:g}")
        assert (inside(row, 0.0), row["n"]) == (True, 48)
    assert only(table, c="all")["p"] < 0.05
    assert only(table, c="all")["low"] > 0


def test_intervals_of_correlations_hold_the_truth() -> None:
    """Accuracy by level, and chance alone within it; the mean of three judges is drawn and not voted."""
    found, pooled = [], []
    for world in range(25):
        rows = score(ITEMS, replies_of(ITEMS, [subject(name, levelled, world) for name in TRIO]))
        rng = stream("planted", "accuracy", world)
        true = rng.random(len(rows)) < rows["c"].map(TRUE)
        votes = true.to_numpy()[:, None] ^ (rng.random((len(rows), 3)) < WRONG)
        table = compression.orthogonality(rows.assign(sa=0.4 + 0.5 * votes.mean(axis=1)), "sa")
        found.append([(only(table, c=f"{c:g}"), 0.0) for c in compression.LEVELS])
        pooled.append([(only(table, c="all"), pooled_r())])
    recovered(pooled, 0.4)
    given = [one for world in found for one in world if one[0]["low"] == one[0]["low"]]  # some are too sparse for one
    assert len(given) > 2 * sum(map(len, found)) / 3
    assert np.mean([inside(*one) for one in given]) >= LEAST_COVERAGE
    widths = [row["high"] - row["low"] for world in found for row, _ in world]
    assert np.nanmean(widths) < 1.5
