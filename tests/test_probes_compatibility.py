"""Rules of compatibility on both sides of their limits, sound for texts of all kinds, and the hard sets they make."""

from __future__ import annotations

import json
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from easiest import easiest
from mutations import WORDS

from cdct.core import stream
from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.constraints.vocabulary import vocabulary
from cdct.saturation.probes.bounds import fewest_json_words, least_characters, least_lengths
from cdct.saturation.probes.compatibility import conflicts, ordinary
from cdct.saturation.probes.draws import draw
from cdct.saturation.probes.hard import HARD, HARD_PAIRS, HARD_SETS, LARGEST
from cdct.saturation.probes.rules import RULES, rule
from cdct.text import Text

Chosen = dict[str, dict[str, Any]]


class Case(NamedTuple):
    """Constraints that a rule rejects, near ones that it does not, and a reply that keeps those."""

    rule: str
    rejected: Chosen
    near: Chosen
    reply: str


SCENE: dict[str, Any] = {
    "objects": {
        "cup": {"colour": "black", "size": "small"},
        "box": {"colour": "gold", "size": "large"},
        "vase": {"colour": "pink", "size": "tiny"},
    },
    "relations": [["cup", "above", "box"], ["box", "behind", "vase"]],
}
GRID: dict[str, Any] = {
    "people": ["Ada", "Ben"],
    "pets": ["cat", "dog"],
    "colours": ["blue", "red"],
    "clues": [["Ada", "has", "cat"], ["cat", "owner likes", "red"]],
}
THREE: dict[str, Any] = {
    "people": ["Ada", "Ben", "Cleo"],
    "pets": ["cat", "dog", "hen"],
    "colours": ["blue", "gold", "red"],
    "clues": [["Ada", "has", "cat"], ["Ben", "has", "dog"], ["Ada", "likes", "red"], ["Ben", "likes", "blue"]],
}
RACE: dict[str, Any] = {
    "comparisons": [["Ada", "before", "Ben"], ["Ben", "before", "Cleo"]],
    "order": ["Ada", "Ben", "Cleo"],
}
SPACED = json.dumps(SCENE)
SOLVED = '{"Ada":{"pet":"cat","color":"red"},"Ben":{"pet":"dog","color":"blue"}}'
GLUED = (
    '{"objects": {"cup": {"color":"black", "size":"small"}, "box":{"color":"gold", "size":"large"}, "vase": '
    '{"color":"pink", "size":"tiny"}}, "relations": [["cup","above","box"], ["box","behind","vase"]]}'
)
SIX, TWELVE = "Six words stand in this one.", "Twelve words are not so many when a sentence has time to breathe."
TABLE = "| a | b |\n|---|---|\n| c | d |\n| e | f |"


def steps(n: int) -> Chosen:
    """S6 and O4 together."""
    return {"S6": {"n": n}, "O4": {"n": 4}}


CASES = [
    Case(
        "sentence count",
        {"S2": {"n": 4}, "L4": {"word": "sea"}},
        {"S2": {"n": 3}, "L4": {"word": "sea"}},
        "Sun sets. Even owls sleep. All rest.",
    ),
    Case(
        "sentence count",
        {"S6": {"n": 5}, "M1": {"word": "sea"}},
        {"S6": {"n": 3}, "M1": {"word": "sea"}},
        "We saw the sun. It was early. They saw an ant.",
    ),
    Case(
        "sentence minimum",
        {"S2": {"n": 3}, "S3": {"paragraphs": 2, "min_sentences": 2}},
        {"S2": {"n": 4}, "S3": {"paragraphs": 2, "min_sentences": 2}},
        "Rain fell. Roads shone.\n\nSnow came. Ice held.",
    ),
    Case(
        "sentence minimum",
        {"L4": {"word": "sea"}, "O4": {"n": 4}},
        {"L4": {"word": "sea"}, "O4": {"n": 3}},
        "Sun. Even. All of it rests.",
    ),
    Case(
        "sentence lengths",
        {"W3": {"n": 7}, "O3": {"short": 6, "long": 12}},
        {"W3": {"n": 6}, "O3": {"short": 6, "long": 12}},
        f"{SIX} {TWELVE} {SIX}",
    ),
    Case(
        "sentence lengths",
        {"O1": {"direction": "decreasing"}, "O4": {"n": 3}},
        {"O1": {"direction": "increasing"}, "O4": {"n": 3}},
        "Go. Go on. Go on to the sea.",
    ),
    Case(
        "sentence lengths",
        {"O3": {"short": 6, "long": 12}, "O4": {"n": 4}},
        {"O3": {"short": 6, "long": 12}, "O4": {"n": 3}},
        f"Go. {TWELVE} Go. {TWELVE[:-1]} in the long evening.",
    ),
    Case("sentence lengths", steps(5), steps(7), "Go. Go. Go on now. Go on and on now. Go on now. Go. Go."),
    Case(
        "sentence lengths",
        {"R4": {}, "F4": {}, "O3": {"short": 1, "long": 4}},
        {"R4": {}, "F4": {}, "O3": {"short": 2, "long": 4}},
        "Rain. Rain fell on roads. Roads shone.",
    ),
    Case(
        "sentence lengths",
        {"S6": {"n": 3}, "O1": {"direction": "increasing"}},
        {"S2": {"n": 3}, "O1": {"direction": "increasing"}},
        "Go. Go on. Go on now.",
    ),
    Case(
        "initials",
        {"L3": {"letter": "s"}, "L4": {"word": "sun"}},
        {"L3": {"letter": "s"}, "L4": {"word": "sss"}},
        "Sun sets. Snow falls. Sea rises.",
    ),
    Case(
        "initials",
        {"L4": {"word": "sea"}, "O2": {}},
        {"L4": {"word": "art"}, "O2": {}},
        "Ants dig. Rain fell. Time went.",
    ),
    Case(
        "initials",
        {"L3": {"letter": "s"}, "M1": {"word": "sun"}, "R4": {}},
        {"L3": {"letter": "s"}, "M1": {"word": "ssn"}, "R4": {}},
        "Sun and sea. Sea and snow. Snow at night.",
    ),
    Case(
        "initials",
        {"L4": {"word": "sun"}, "M1": {"word": "sea"}, "R4": {}},
        {"L4": {"word": "sea"}, "M1": {"word": "ear"}, "R4": {}},
        "So it was early. Early owls ate all. All rest.",
    ),
    Case(
        "initials",
        {"M1": {"word": "sea"}, "R4": {}, "O2": {}},
        {"M1": {"word": "art"}, "R4": {}, "O2": {}},
        "A fox saw ants. Ants love the rain. Rain takes time.",
    ),
    Case(
        "divisibility",
        {"S1": {"n": 6}, "M3": {"n": 4}},
        {"S1": {"n": 6}, "M3": {"n": 3}},
        "Rain fell all night, roads shone.",
    ),
    Case(
        "words",
        {"S1": {"n": 6}, "S2": {"n": 4}, "F2": {"n": 3}},
        {"S1": {"n": 7}, "S2": {"n": 4}, "F2": {"n": 3}},
        "Rain. Snow. Ice. Fog.\n\n- one\n- two\n- three",
    ),
    Case(
        "words",
        {"S1": {"n": 22}, "W2": {"low": 1, "high": 10}, "R1": SCENE},
        {"S1": {"n": 23}, "W2": {"low": 1, "high": 10}, "R1": SCENE},
        SPACED,
    ),
    Case(
        "words",
        {"S1": {"n": 2}, "F2": {"n": 3}, "R3": GRID},
        {"S1": {"n": 3}, "F2": {"n": 3}, "R3": GRID},
        f"- {SOLVED}\n- two\n- three",
    ),
    Case(
        "lines",
        {"S5": {"n": 4}, "W3": {"n": 5}, "F1": {"columns": 2, "rows": 2}},
        {"S5": {"n": 5}, "W3": {"n": 5}, "F1": {"columns": 2, "rows": 2}},
        f"Rain fell on all the roads.\n\n{TABLE}",
    ),
    Case(
        "lines",
        {"S5": {"n": 7}, "F1": {"columns": 2, "rows": 2}, "F3": {"n": 1}, "R1": SCENE, "S2": {"n": 1}},
        {"S5": {"n": 8}, "F1": {"columns": 2, "rows": 2}, "F3": {"n": 1}, "R1": SCENE, "S2": {"n": 1}},
        f"Rain.\n\n{TABLE}\n\n```\n{SPACED}\n```",
    ),
    Case(
        "lines",
        {"S5": {"n": 4}, "F2": {"n": 3}, "F3": {"n": 1}},
        {"S5": {"n": 5}, "F2": {"n": 3}, "F3": {"n": 1}},
        "- ```\n  x = 1\n  ```\n- two\n- three",
    ),
    Case("characters", {"S4": {"n": 4}, "S1": {"n": 3}}, {"S4": {"n": 5}, "S1": {"n": 3}}, "a b c"),
    Case(
        "characters",
        {"S4": {"n": len(SOLVED) - 2}, "R3": GRID},
        {"S4": {"n": len(SOLVED)}, "R3": GRID},
        SOLVED,
    ),
    Case(
        "characters",
        {"S4": {"n": 7}, "S1": {"n": 3}, "W2": {"low": 2, "high": 8}},
        {"S4": {"n": 8}, "S1": {"n": 3}, "W2": {"low": 2, "high": 8}},
        "ab cd ef",
    ),
    Case(
        "forbidden letter",
        {"L1": {"letter": "s"}, "L3": {"letter": "s"}},
        {"L1": {"letter": "r"}, "L3": {"letter": "s"}},
        "Sun sets. Snow falls.",
    ),
    Case(
        "forbidden letter",
        {"L1": {"letter": "n"}, "L4": {"word": "sun"}},
        {"L1": {"letter": "i"}, "L4": {"word": "sun"}},
        "Sun sets. Under here. Not now.",
    ),
    Case(
        "forbidden letter",
        {"L1": {"letter": "n"}, "M2": {}},
        {"L1": {"letter": "m"}, "M2": {}},
        "This text contains exactly 6 words.",
    ),
    Case(
        "forbidden letter",
        {"L1": {"letter": "l"}, "L2": {"words": ["salt"]}},
        {"L1": {"letter": "r"}, "L2": {"words": ["salt"]}},
        "Add salt.",
    ),
    Case(
        "forbidden letter",
        {"L1": {"letter": "c"}, "R3": GRID},
        {"L1": {"letter": "i"}, "R3": GRID},
        SOLVED,
    ),
    Case(
        "forbidden letter",
        {"L1": {"letter": "o"}, "R2": RACE},
        {"L1": {"letter": "u"}, "R2": RACE},
        "1. Ada\n2. Ben\n3. Cleo",
    ),
    Case("forbidden word", {"L5": {"word": "small"}, "R1": SCENE}, {"L5": {"word": "Colour"}, "R1": SCENE}, GLUED),
    Case(
        "forbidden word",
        {"L5": {"word": "words"}, "M2": {}},
        {"L5": {"word": "word"}, "M2": {}},
        "This text contains exactly 6 words.",
    ),
    Case(
        "forbidden word",
        {"L5": {"word": "salt"}, "L2": {"words": ["sea-salt"]}},
        {"L5": {"word": "sea"}, "L2": {"words": ["seas"]}},
        "The seas rise.",
    ),
    Case(
        "word lengths",
        {"W2": {"low": 1, "high": 8}, "R1": SCENE},
        {"W2": {"low": 1, "high": 9}, "R1": SCENE},
        SPACED,
    ),
    Case(
        "word lengths",
        {"W2": {"low": 1, "high": 8}, "L2": {"words": ["satellite"]}},
        {"W2": {"low": 1, "high": 9}, "L2": {"words": ["satellite"]}},
        "A satellite.",
    ),
    Case("unique links", {"W1": {}, "R4": {}}, {"W1": {}, "F4": {}}, "Rain fell. Roads shone."),
    Case(
        "unique keys",
        {"W1": {}, "W2": {"low": 1, "high": 10}, "R1": SCENE},
        {"W1": {}, "W2": {"low": 1, "high": 20}, "R1": SCENE},
        GLUED,
    ),
    Case(
        "unique answers",
        {"W1": {}, "W2": {"low": 1, "high": 8}, "N2": {}, "R3": THREE},
        {"W1": {}, "W2": {"low": 1, "high": 9}, "N2": {}, "R3": THREE},
        '{"Ada": {"pet": "cat", "color": "red"}, "Ben": {"a": "b","pet": "dog", "colour": "blue"}, '
        '"Cleo": {"c": "d","pet": '
        '"hen","e": "f","color": "gold"}}',
    ),
    Case(
        "unique answers",
        {"W1": {}, "W2": {"low": 1, "high": 7}, "R3": THREE},
        {"W1": {}, "W2": {"low": 1, "high": 8}, "R3": THREE},
        '{"Ada": {"pet": "cat", "color": "red"}, "Ben": {"a": "b","pet": "dog", "colour": "blue"}, '
        '"Cleo": {"c": "d","pet": '
        '"hen","e": 1,"color": "gold"}}',
    ),
    Case("digits", {"N2": {}, "M2": {}}, {"N2": {}, "R2": RACE}, "First Ada, second Ben, third Cleo."),
    Case("digits", {"N2": {}, "N3": {"n": 3}}, {"N2": {}, "R3": GRID}, SOLVED),
    Case(
        "number count",
        {"N1": {"count": 5, "total": 16}, "N4": {"n": 2}},
        {"N1": {"count": 6, "total": 16}, "N4": {"n": 2}},
        "1 + 2 = 3 and 2 + 3 = 5.",
    ),
    Case(
        "number count",
        {"N1": {"count": 6, "total": 26}, "N4": {"n": 2}, "M2": {}},
        {"N1": {"count": 7, "total": 26}, "N4": {"n": 2}, "M2": {}},
        "This text contains exactly 10 words, 1+2=3 and 2+3=5 too.",
    ),
    Case(
        "number count",
        {"N1": {"count": 3, "total": 10}, "N3": {"n": 4}},
        {"N1": {"count": 4, "total": 10}, "N3": {"n": 4}},
        "Count 1, 2, 3, 4.",
    ),
    Case(
        "number parity",
        {"N1": {"count": 6, "total": 17}, "N4": {"n": 2}},
        {"N1": {"count": 7, "total": 17}, "N4": {"n": 2}},
        "1 + 2 = 3 and 2 + 3 = 5, 1 too.",
    ),
    Case(
        "number parity",
        {"N1": {"count": 4, "total": 15}, "N4": {"n": 1}, "M2": {}, "S1": {"n": 8}},
        {"N1": {"count": 4, "total": 14}, "N4": {"n": 1}, "M2": {}, "S1": {"n": 8}},
        "This text contains exactly 8 words, 1+2=3 indeed.",
    ),
    Case(
        "number parity",
        {"N1": {"count": 4, "total": 15}, "N4": {"n": 1}, "M2": {}, "M3": {"n": 4}},
        {"N1": {"count": 4, "total": 15}, "N4": {"n": 1}, "M2": {}, "M3": {"n": 3}},
        "This text contains exactly 9 words, 1+2=3 it is.",
    ),
]


def pairs(chosen: Chosen) -> list[tuple[str, dict[str, Any]]]:
    return list(chosen.items())


@pytest.mark.parametrize("case", CASES, ids=[f"{case.rule} {'+'.join(case.rejected)}" for case in CASES])
def test_both_sides_of_each_limit(case: Case) -> None:
    found = {conflict.rule: conflict for conflict in conflicts(pairs(case.rejected))}
    assert case.rule in found
    assert set(found[case.rule].ids) <= set(case.rejected)
    assert found[case.rule].why
    assert conflicts(pairs(case.near)) == []
    assert ordinary(case.reply)
    for id, params in case.near.items():
        verdict = CONSTRAINTS[id].check(case.reply, **params)
        assert verdict.passed, f"{id}: {verdict.detail}"


def test_every_rule_has_a_case() -> None:
    assert {case.rule for case in CASES} == set(RULES)


def test_reasons_have_the_numbers_of_the_case() -> None:
    why = {case.rule: conflicts(pairs(case.rejected)) for case in CASES}
    assert why["divisibility"][0].why == "S1 wants 6 words, M3 a multiple of 4"
    (found,) = conflicts([("S5", {"n": 4}), ("W3", {"n": 5}), ("F1", {"columns": 2, "rows": 2})])
    assert found.why == "S5 wants 4 lines, needed are 1 prose + 4 table"
    (found,) = conflicts([("L1", {"letter": "n"}), ("M2", {})])
    assert found.why == 'L1 forbids "n", which is in M2\'s "contains"'


@pytest.mark.parametrize("name", RULES)
def test_rules_are_proved_and_know_their_types(name: str) -> None:
    one = RULES[name]
    assert one.condition.endswith(".")
    assert len(one.proof) > 40
    assert one.ids <= set(CONSTRAINTS)


def random_draws(n: int, k: int, *name: object) -> list[Chosen]:
    rng = stream("compatibility", k, *map(str, name))
    found = []
    for _ in range(n):
        ids = [list(CONSTRAINTS)[int(i)] for i in rng.permutation(len(CONSTRAINTS))[:k]]
        found.append(dict(zip(ids, draw(ids, rng, mode="independent"), strict=True)))
    return found


@pytest.mark.parametrize("chosen", random_draws(60, 14))
def test_rules_read_no_other_types_and_more_constraints_never_help(chosen: Chosen) -> None:
    read = {id: CONSTRAINTS[id].read(params) for id, params in chosen.items()}
    some = dict(list(read.items())[::2])
    for one in RULES.values():
        own = {id: params for id, params in read.items() if id in one.ids}
        assert bool(one.check(read)) == bool(one.check(own))
        assert one.check(read) or not one.check(some)
    for conflict in conflicts(pairs(chosen)):
        for id in conflict.ids:
            fewer = {other: read[other] for other in conflict.ids if other != id}
            assert not RULES[conflict.rule].check(fewer)


def test_conflicts_refuses_what_it_cannot_judge() -> None:
    with pytest.raises(ValueError, match="conflicts: at most one of each type, got S1, S1"):
        conflicts([("S1", {"n": 40}), ("S1", {"n": 40})])
    with pytest.raises(KeyError, match="S9"):
        conflicts([("S9", {})])
    with pytest.raises(ValueError, match="S1: parameter n is missing"):
        conflicts([("S1", {})])


def test_a_rule_without_a_proof_is_refused() -> None:
    def check(chosen: Any) -> str:
        """Only a condition."""
        return ""

    with pytest.raises(ValueError, match="rule 'x': the docstring must hold the condition"):
        rule("x", "S1")(check)


# ------------------------------------------------------------------------------------------------ what a reply is like


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Rain fell. “Roads” shone – all night…", True),
        (f'Here: {SOLVED}\n\n- one\n\n```\n{{"a": 1}}\n```', True),
        ("1. Boil it.\n2. Stir it.\n\n> Quoted words.", True),
        ("We know 1 + 2 = 3, 1,000 + 1 = 1,001.", True),
        ("Rain fell today\u3002Today we saw.", False),
        ('Rain fell on a sea.{"a":1} Sea rhymes.', False),
        ("It was ra{}in. Rain fell.", False),
        ("It is amp. &amp; fell.", False),
        ("Th\u0131s text conta\u0131ns exactly 6 words.", False),
        (r'{"obje\u0063ts": {}, "relations": []}', False),
        ('{"a": 1, "a": 2}', False),
        ('{"small_": "x"}', False),
        ("So .2 + 3 = 5", False),
        ("A \ufb01sh.", False),
    ],
)
def test_ordinary(reply: str, expected: bool) -> None:
    assert ordinary(reply) is expected


# ------------------------------------------------------------------------------------ soundness, on texts of all kinds


def some(rng: np.random.Generator, things: Any) -> Any:
    return things[int(rng.integers(len(things)))]


def a_text(rng: np.random.Generator) -> tuple[str, Chosen]:
    """A small reply with parts of all kinds, and the parameters of those that can't be read from it."""
    known: Chosen = {}
    blocks, names = [], list(vocabulary("names"))
    words = [*"abcdefghjklm", "an", "so", "12", "7", "2+3=5", "1+1=2", "sea-salt", *WORDS[:25]]
    low, high = some(rng, [(1, 2), (1, 4), (1, 4), (5, 8)])
    previous, repeat, count = "", rng.random() < 0.3, int(rng.integers(0, 7))
    sentences = []
    for _ in range(count):
        own = [some(rng, words) for _ in range(int(rng.integers(low, high + 1)))]
        own[0] = previous if repeat and previous else own[0]
        previous = own[-1]
        sentences.append(" ".join(own) + some(rng, ".!?"))
    if rng.random() < 0.3:
        sentences.sort(key=len)
    if rng.random() < 0.2:
        sentences.sort()
    if rng.random() < 0.2:
        sentences += sentences[::-1][1:]
    if sentences:
        blocks.append(some(rng, [" ", "\n", "\n\n"]).join(sentences))
    if rng.random() < 0.3:
        blocks.append(some(rng, ["This text contains exactly X words.", "- so this text contains exactly X words"]))
    objects = []
    for id in ("R1", "R3"):
        if rng.random() < 0.4:
            known[id] = CONSTRAINTS[id].sample(rng)
            objects.append(_solved(id, known[id]))
    if len(objects) == 2 and rng.random() < 0.5:
        one, other = objects if rng.random() < 0.5 else objects[::-1]
        objects = [some(rng, [one | other, one | {"": other}])]
    separators = some(rng, [None, (",", ":"), (", ", ":")])
    texts = [json.dumps(value, separators=separators) for value in objects]
    texts = [text.replace("colour", "color") for text in texts] if rng.random() < 0.5 else texts
    blocks += [some(rng, ["", "- ", "```\n"]) + text for text in texts]
    blocks = [f"{block}\n```" if block.startswith("```") else block for block in blocks]
    if rng.random() < 0.3:
        known["R2"] = CONSTRAINTS["R2"].sample(rng)
        order = known["R2"]["order"]
        ordinals = ["first", "second", "third", "fourth", "fifth", "sixth"]
        shapes = [
            "\n".join(f"{i}. {name}" for i, name in enumerate(order, 1)),
            "-".join(f"{word}:{name}" for word, name in zip(ordinals, order, strict=False)),
            ";".join(f"{i}.{name}" for i, name in enumerate(order, 1)),
        ]
        blocks.append(some(rng, shapes))
    if rng.random() < 0.3:
        cell = lambda: some(rng, ["", "", "a", some(rng, names), "3+4=7"])  # noqa: E731
        columns = int(rng.integers(2, 4))
        rows = ["|" + "|".join(cell() for _ in range(columns)) + "|" for _ in range(int(rng.integers(2, 4)))]
        blocks.append("\n".join([rows[0], "|".join("-" * columns), *rows[1:]]))
    if rng.random() < 0.3:
        held = some(rng, ["+", "b", "a b"])
        blocks.append(some(rng, ["- ```\n{}\n```", "- ```a\n{}\n```\n- b", "> ```\n> {}\n> ```"]).format(held))
    if rng.random() < 0.3:
        blocks.append("\n".join(f"- {some(rng, words)}" for _ in range(int(rng.integers(1, 4)))))
    blocks += [some(rng, ["```\n+\n```", "```a\nb\n```"])] * int(rng.integers(0, 2))
    order = rng.permutation(len(blocks))
    text = "\n\n".join(blocks[int(i)] for i in order) or "a"
    return text.replace(" X ", f" {len(Text(text).words)} "), known


def _solved(id: str, params: dict[str, Any]) -> dict[str, Any]:
    if id == "R1":
        return params
    from cdct.saturation.constraints.puzzles import solutions

    read = CONSTRAINTS["R3"].read(params)
    ((*groups,),) = solutions(read["people"], read["pets"], read["colours"], read["clues"])
    return {person: {"pet": pet, "colour": colour} for person, pet, colour in groups}


def kept(text: str, known: Chosen, rng: np.random.Generator) -> Chosen:
    """One constraint of each type that the reply keeps, the tightest where there is a choice."""
    parsed = Text(text)
    lengths = [len(words) for words in parsed.sentence_words]
    forms, letters = parsed.sentence_forms, "abcdefghijklmnopqrstuvwxyz"
    sizes = [len(word) for word in parsed.bare] or [1]
    numbers = [number.value for number in parsed.integers]
    tables = [table for table in parsed.tables if table.ruled]
    found: dict[str, list[dict[str, Any]]] = {id: [params] for id, params in known.items()}
    for id, count in (("S1", len(parsed.words)), ("S2", len(lengths)), ("S4", len(parsed.plain)), ("S6", len(lengths))):
        found[id] = [{"n": count}]
    found["S5"], found["W3"] = [{"n": len(parsed.lines)}], [{"n": min(lengths, default=1)}]
    own = [len(paragraph.sentences) for paragraph in parsed.paragraphs]
    found["S3"] = [{"paragraphs": len(own), "min_sentences": min(own, default=1)}]
    found["L1"] = [{"letter": letter} for letter in letters]
    found["L2"] = [{"words": sorted({some(rng, parsed.forms) for _ in range(3)})}] if parsed.forms else []
    found["L3"] = [{"letter": words[0][:1]} for words in forms[:1]]
    found["L4"] = [{"word": "".join(words[0][:1] for words in forms)}]
    found["M1"] = [{"word": "".join(words[-1][:1] for words in forms)}]
    found["L5"] = [{"word": word} for word in ("this", "red", "a", "small", "Ada", "sea", "objects", "pet")]
    found["W2"] = [{"low": min(sizes), "high": max(sizes)}]
    found["W5"] = [{"n": 2}, {"n": 1}]
    found["M3"] = [{"n": n} for n in range(2, 9)]
    found["N1"] = [{"count": len(numbers), "total": sum(numbers)}]
    found["N3"] = [{"n": len(set(numbers))}]
    found["N4"] = [{"n": len(parsed.equations)}]
    found["F1"] = [{"columns": table.columns, "rows": len(table.rows)} for table in tables]
    found["F2"] = [{"n": sum(bullet.marker == "-" for bullet in parsed.bullets)}]
    found["F3"] = [{"n": len(parsed.fences)}]
    found["O1"] = [{"direction": "increasing"}, {"direction": "decreasing"}]
    if len(lengths) > 1:
        found["O3"] = [{"short": max(lengths[::2]), "long": min(lengths[1::2])}]
    found["O4"] = [{"n": n} for n in (5, 4, 3)]
    for id in ("W1", "W4", "R4", "F4", "M2", "N2", "O2"):
        found[id] = [{}]
    keeps: Chosen = {}
    for id, choices in found.items():
        right = [params for params in choices if _passes(id, parsed, params)]
        if right:
            keeps[id] = some(rng, right) if id in ("L1", "L5", "M3") else right[0]
    return keeps


def _passes(id: str, text: Text, params: dict[str, Any]) -> bool:
    try:
        CONSTRAINTS[id].read(params)
    except ValueError:
        return False
    return bool(CONSTRAINTS[id].check(text, **params).passed)


@pytest.mark.parametrize("part", range(8))
def test_no_rule_rejects_what_a_text_keeps(part: int) -> None:
    """Whatever constraints an ordinary text keeps, none of them are in conflict: so every text tries all rules."""
    rng, tried, types = stream("soundness", part), 0, 0
    for _ in range(120):
        text, known = a_text(rng)
        chosen = kept(text, known, rng)
        if ordinary(text):
            tried, types = tried + 1, types + len(chosen)
            assert conflicts(pairs(chosen)) == [], text
    assert tried > 60
    assert types > 12 * tried


def test_shortcuts_that_are_not_ordinary_pass_the_verifiers() -> None:
    """Why the proofs speak of ordinary replies: each of these passes both verifiers of a pair that a rule rejects."""
    shortcuts = [
        ("It was ra{}in. Rain fell.", {"W1": {}, "R4": {}}),
        (r'{"Ada":{"p\u0065t":"cat","color":"red"},"Ben":{"pet":"dog","color":"blue"}}', {"R3": GRID}),
    ]
    for reply, chosen in shortcuts:
        assert all(CONSTRAINTS[id].check(reply, **params).passed for id, params in chosen.items())
        assert not ordinary(reply)


# -------------------------------------------------------------------------------------------------------------- bounds


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({"S2": {"n": 3}, "O1": {"direction": "increasing"}}, (1, 2, 3)),
        ({"S2": {"n": 3}, "O1": {"direction": "decreasing"}, "W3": {"n": 5}}, (7, 6, 5)),
        ({"S6": {"n": 5}, "O4": {"n": 3}}, (1, 1, 3, 1, 1)),
        ({"S6": {"n": 7}, "O3": {"short": 6, "long": 12}, "O4": {"n": 3}}, (1, 12, 1, 14, 1, 12, 1)),
        ({"O3": {"short": 6, "long": 12}, "O4": {"n": 3}}, (1, 12, 1, 14)),
        ({"O4": {"n": 5}, "W5": {"n": 2}}, (2, 2, 5, 8, 14)),
        ({"R4": {}, "F4": {}, "S2": {"n": 3}}, (1, 2, 2)),
        ({"S1": {"n": 40}}, ()),
        ({"S6": {"n": 4}, "O4": {"n": 3}}, (3, 1, 1, 3)),
        ({"S6": {"n": 3}, "O4": {"n": 3}}, None),
    ],
)
def test_least_lengths(chosen: Chosen, expected: tuple[int, ...] | None) -> None:
    assert least_lengths(chosen) == expected


def brute_lengths(count: int, most: int, chosen: Chosen) -> int | None:
    """The fewest words of `count` sentences of up to `most` words that keep the constraints, by the verifiers."""
    best = None
    for lengths in np.ndindex(*[most] * count):
        text = Text(" ".join(" ".join(["go"] * (n + 1)) + "." for n in lengths))
        total = sum(lengths) + count
        if (best is None or total < best) and all(
            CONSTRAINTS[id].check(text, **own).passed for id, own in chosen.items()
        ):
            best = total
    return best


@pytest.mark.parametrize("seed", range(12))
def test_least_lengths_are_those_of_exhaustive_search(seed: int) -> None:
    rng = stream("lengths", seed)
    choices: Chosen = {
        "O1": {"direction": some(rng, ["increasing", "decreasing"])},
        "O3": {"short": int(rng.integers(1, 3)), "long": int(rng.integers(3, 5))},
        "O4": {"n": 3},
        "W3": {"n": 2},
        "S6": {"n": 4},
    }
    chosen = {"S2": {"n": 4}} | {id: own for id, own in choices.items() if rng.random() < 0.4}
    least = least_lengths(chosen)
    found = brute_lengths(4, 6, chosen)
    assert found == (None if least is None or max(least) > 6 else sum(least))


def test_json_needs_fewest_words_when_short_neighbours_are_joined() -> None:
    puzzle = CONSTRAINTS["R3"].read(GRID)
    assert fewest_json_words({"R1": SCENE}) == 1
    assert fewest_json_words({"R1": SCENE, "W2": {"low": 1, "high": 10}}) == 23
    assert fewest_json_words({"R3": puzzle, "W2": {"low": 1, "high": 8}}) == 10
    assert fewest_json_words({"R3": puzzle, "W2": {"low": 1, "high": 9}}) == 8  # "pet":"cat" and "pet":"dog"
    assert fewest_json_words({"R3": puzzle, "W2": {"low": 1, "high": 10}}) == 7


def test_least_characters_add_up() -> None:
    puzzle = CONSTRAINTS["R3"].read(GRID)
    least = least_characters({"S1": {"n": 5}, "L2": {"words": ["salt", "yeast"]}, "F2": {"n": 2}, "R3": puzzle})
    assert least == {"JSON": len(SOLVED) - 1, "spelt words": 9, "spaces": 4, "bullets": 4}


# ----------------------------------------------------------------------------------------------------------- hard sets


def test_hard_sets_are_minimal_and_none_is_missing_among_pairs_and_triples() -> None:
    for ids in HARD_SETS:
        assert easiest(ids) is None
        assert all(easiest(ids - {id}) is not None for id in ids)
    for size in (2, 3):
        for ids in map(frozenset, combinations(CONSTRAINTS, size)):
            assert (easiest(ids) is None) == any(hard <= ids for hard in HARD_SETS), sorted(ids)
    assert {len(ids) for ids in HARD_PAIRS} == {2}
    assert max(map(len, HARD_SETS)) == LARGEST


def test_no_hard_set_about_sentences_is_missing() -> None:
    """All sets of up to seven types that judge the number, lengths and letters of sentences."""
    types = ["S2", "S3", "S6", "L3", "L4", "M1", "O1", "O2", "O3", "O4", "R4", "F4", "W3", "W5"]
    for size in range(4, 8):
        for ids in map(frozenset, combinations(types, size)):
            if not any(hard <= ids for hard in HARD_SETS):
                assert easiest(ids) is not None, sorted(ids)


@pytest.mark.parametrize("ids", HARD)
def test_every_draw_of_a_hard_set_breaks_a_named_rule(ids: str) -> None:
    rng = stream("hard", ids)
    for _ in range(25):
        drawn = draw(ids.split(), rng, mode="independent")
        found = {conflict.rule for conflict in conflicts(list(zip(ids.split(), drawn, strict=True)))}
        assert found & set(HARD[ids].split(", "))


def test_the_rules_named_for_a_hard_set_are_rules() -> None:
    assert {name for names in HARD.values() for name in names.split(", ")} <= set(RULES)
    assert all(
        list(CONSTRAINTS).index(a) < list(CONSTRAINTS).index(b) for ids in HARD for a, b in pairwise(ids.split()[:2])
    )
