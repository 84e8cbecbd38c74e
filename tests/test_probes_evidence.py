"""The evidence for the rules: no pair is left open, no rule is refuted, and what is planted wrong is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cdct.core import read_table, stream, to_json
from cdct.saturation import CONSTRAINTS
from cdct.saturation.probes import attack as attack_module
from cdct.saturation.probes import evidence
from cdct.saturation.probes.compatibility import RULES, Rule, conflicts
from cdct.saturation.probes.evidence import ATTACKS, PAIRS, attacked, main, pairs, refute
from cdct.saturation.probes.impossible import impossible

TYPES = ["S2", "S6", "N1", "N2", "O1", "W1"]


def planted(name: str, ids: str, check: Callable[[dict], str]) -> Rule:
    return Rule(name, frozenset(ids.split()), "planted", "none", check)


FALSE = [
    planted("phrase", "M2 W1", lambda own: "no" if {"M2", "W1"} <= own.keys() else ""),
    planted("growth", "O3 O4", lambda own: "no" if {"O3", "O4"} <= own.keys() and own["O4"]["n"] == 3 else ""),
    planted(
        "one line too many",
        "S5 F1",
        lambda own: "no" if {"S5", "F1"} <= own.keys() and own["S5"]["n"] < own["F1"]["rows"] + 3 else "",
    ),
]


# --------------------------------------------------------------------------------------------------------------- pairs


def test_every_pair_is_proven_or_witnessed() -> None:
    table = pairs(draws=2)
    assert list(table) == PAIRS
    assert len(table) == 36 * 35 // 2
    assert table["open"].sum() == 0, table[table["open"] > 0].to_string()
    assert (table["proven"] + table["witnessed"] == 2).all()
    assert ((table["rules"] != "") == (table["proven"] > 0)).all()
    row = table.set_index(["a", "b"]).loc[("N1", "N2")]
    assert row.to_list() == [2, 2, "digits", 0, 0]


def test_processes_change_nothing() -> None:
    assert pairs(2, ids=TYPES, processes=2).equals(pairs(2, ids=TYPES))


def test_another_seed_draws_other_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(evidence, "conflicts", lambda chosen: seen.append(to_json(chosen)) or conflicts(chosen))
    pairs(2, ids=TYPES)
    first = seen.copy()
    seen.clear()
    pairs(2, seed=1, ids=TYPES)
    assert len(first) == len(seen) == 2 * 15
    assert len(set(first) & set(seen)) < 10


def test_what_is_neither_proven_nor_found_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "witness", lambda *args: None)
    monkeypatch.setattr(evidence, "attack", lambda *args, **options: None)
    table = pairs(3, ids=TYPES).set_index(["a", "b"])
    assert table.loc[("W1", "O1"), ["proven", "witnessed", "open"]].to_list() == [0, 0, 3]
    assert table.loc[("N1", "N2"), ["proven", "witnessed", "open"]].to_list() == [3, 0, 0]


def test_a_text_that_is_not_ordinary_is_no_witness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "witness", lambda *args: "Odd words fell。Today too.")
    monkeypatch.setattr(evidence, "attack", lambda *args, **options: None)
    assert pairs(1, ids=["O1", "W1"])["open"].to_list() == [1]


# ------------------------------------------------------------------------------------------------------------- attacks


@pytest.mark.parametrize("name", RULES)
def test_no_rule_is_refuted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attack_module, "STEPS", 400)
    row = refute(name, attempts=2)
    assert list(row) == ATTACKS
    assert (row["builder"], row["search"]) == (0, 0)
    assert row["attempts"] == (2 if row["sets"] else 0)


@pytest.mark.parametrize("rule", FALSE, ids=lambda rule: rule.name)
def test_a_false_rule_is_refuted_by_both_searches(rule: Rule) -> None:
    row = refute(rule, attempts=3, tries=3)
    assert row["builder"] > 0
    assert row["search"] > 0


def test_a_satisfiable_set_called_impossible_is_found() -> None:
    found = attacked([("L1", {"letter": "w"}), ("L2", {"words": ["crab", "rock", "sand"]}), ("S2", {"n": 3})], tries=4)
    assert found.builder
    assert found.search
    probe = impossible(budget=0)[0]
    assert attacked(probe.chosen, probe.topic) == (False, False, False)


def test_sets_hold_the_rule_with_no_type_to_spare_and_near_misses_come_first() -> None:
    rule = RULES["lines"]
    sets = evidence._instances(rule, 30, stream("evidence test"))
    assert len({to_json(chosen) for chosen in sets}) == 30
    for chosen in sets:
        own = {id: CONSTRAINTS[id].read(params) for id, params in chosen}
        assert rule.check(own)
        assert not any(rule.check({other: own[other] for other in own if other != id}) for id in own)
    assert len({tuple(id for id, _ in chosen) for chosen in sets}) > 15
    assert sum(evidence._near(rule, chosen) for chosen in sets) > 25


@pytest.mark.parametrize(("lines", "near"), [(4, True), (3, False)])
def test_a_set_is_near_where_one_step_frees_it(lines: int, near: bool) -> None:
    chosen = [("S5", {"n": lines}), ("F1", {"columns": 2, "rows": 3})]
    assert RULES["lines"].check({id: CONSTRAINTS[id].read(params) for id, params in chosen})
    assert evidence._near(RULES["lines"], chosen) is near


def test_fewer_sets_than_attempts_are_attacked_from_other_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []
    monkeypatch.setattr(
        evidence,
        "attacked",
        lambda chosen, topic, seed, tries: seeds.append(seed) or evidence.Attacked(False, False, True),
    )
    row = refute("unique links", attempts=5, seed=7)
    assert row == dict(zip(ATTACKS, ["rule", "unique links", 1, 0, 5, 0, 0, 5], strict=True))
    assert seeds == [7, 8, 9, 10, 11]


def test_both_tables_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = impossible(budget=0)[::40]
    monkeypatch.setattr(attack_module, "STEPS", 300)
    monkeypatch.setattr(evidence, "impossible", lambda seed: few)
    monkeypatch.setattr(evidence, "RULES", {name: RULES[name] for name in ("digits", "lines")})
    monkeypatch.setattr(evidence, "pairs", lambda draws, processes: pairs(draws, ids=TYPES))
    main(["--draws", "2", "--attempts", "2", "--processes", "1", "--folder", str(tmp_path)])
    assert list(read_table(tmp_path / "cse-evidence.csv")) == PAIRS
    table = read_table(tmp_path / "cse-evidence-attacks.csv")
    assert list(table) == ATTACKS
    assert table["kind"].to_list() == ["rule"] * 2 + ["impossible"] * 3 + ["satisfiable"] * 3
    assert table.set_index("name").loc["k = 2", "builder"] == 2
    assert capsys.readouterr().out.startswith("15 pairs: 30 draws, ")
