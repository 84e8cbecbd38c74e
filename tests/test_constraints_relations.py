"""R1-R4 at their limits: JSON that fits, lists in all shapes, links between sentences, parameters that make sense."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from mutations import Edit, judge, prose, some_words
from test_constraints_meta import solved

from cdct.core import stream
from cdct.saturation.constraints import CONSTRAINTS

SCENE = {
    "objects": {"cup": {"colour": "red", "size": "tiny"}, "box": {"colour": "blue", "size": "huge"}},
    "relations": [["cup", "above", "box"], ["box", "behind", "cup"]],
}
RACE = {
    "comparisons": [["Rome", "before", "Bern"], ["Rome", "after", "Oslo"]],
    "order": ["Oslo", "Rome", "Bern"],
}
GRID = {
    "people": ["Ann", "Bob"],
    "pets": ["cat", "dog"],
    "colours": ["blue", "red"],
    "clues": [["Ann", "has", "cat"], ["dog", "owner does not like", "red"]],
}
SOLUTION = {"Ann": {"pet": "cat", "colour": "red"}, "Bob": {"pet": "dog", "colour": "blue"}}


def check(id: str, text: str, **params):
    return CONSTRAINTS[id].check(text, **params)


def marked(text: str, verdict) -> list[str]:
    return [text[start:end] for start, end in verdict.spans]


@pytest.mark.parametrize(
    ("scene", "passes", "detail"),
    [
        (SCENE, True, "8 of 8 facts"),
        (SCENE | {"relations": SCENE["relations"][::-1]}, True, "8 of 8 facts"),
        (SCENE | {"relations": [["cup", "IS Above", " box "], ["box", "are_behind", "cup"]]}, True, "8 of 8 facts"),
        (SCENE | {"relations": SCENE["relations"][:1]}, False, "7 of 8 facts"),
        (
            SCENE | {"relations": [*SCENE["relations"], ["box", "below", "cup"]]},
            False,
            "8 of 8 facts, 1 wrong or too many",
        ),
        (
            SCENE | {"relations": [*SCENE["relations"], SCENE["relations"][0]]},
            False,
            "8 of 8 facts, 1 wrong or too many",
        ),
        (SCENE | {"relations": [["cup", "above", "box", "x"], "x"]}, False, "6 of 8 facts, 2 wrong or too many"),
        (SCENE | {"objects": {"cup": {}, "box": ["blue"]}}, False, "4 of 8 facts, 1 wrong or too many"),
        (SCENE | {"objects": SCENE["objects"] | {"hat": {}}}, False, "8 of 8 facts, 1 wrong or too many"),
        (SCENE | {"objects": {"cup": {"colour": 3, "size": ["tiny"]}}}, False, "3 of 8 facts, 2 wrong or too many"),
        (SCENE | {"objects": []}, False, 'no JSON object with "objects" and "relations"'),
        ({"scene": SCENE}, True, "8 of 8 facts"),
        ({"note": [1, {"scene": SCENE}], "objects": 1}, True, "8 of 8 facts"),
        (SCENE | {"first": {"objects": {}, "relations": []}}, True, "8 of 8 facts"),
        ({"a": {"x": {"objects": {}, "relations": []}}, "b": SCENE}, True, "8 of 8 facts"),
        ({"a": {"objects": {}, "relations": []}, "b": SCENE}, False, "0 of 8 facts"),
        ({"scene": {"objects": SCENE["objects"]}}, False, 'no JSON object with "objects" and "relations"'),
    ],
)
def test_a_scene_must_hold_all_facts_and_no_others(scene, passes, detail):
    verdict = check("R1", json.dumps(scene), **SCENE)
    assert (verdict.passed, verdict.score, verdict.detail) == (passes, float(passes), detail)


@pytest.mark.parametrize(
    ("answer", "passes", "detail"),
    [
        (SOLUTION, True, "4 of 4 facts"),
        ({"ann": {"Color": "RED", "Pet": "cat"}, "BOB": {"colour": "blue", "pet": "dog"}}, True, "4 of 4 facts"),
        ({"solution": SOLUTION}, True, "4 of 4 facts"),
        ({"steps": ["x"], "answers": [{"solution": SOLUTION}]}, True, "4 of 4 facts"),
        (SOLUTION | {"wrong": {"Ann": {}, "Bob": {}}}, True, "4 of 4 facts"),
        (SOLUTION | {"objects": {"cup": {}}, "relations": []}, True, "4 of 4 facts"),
        (SOLUTION | {"Bob": {"pet": "dog", "colour": "blue", "age": 9}}, True, "4 of 4 facts"),
        (SOLUTION | {"Bob": {"pet": "dog", "colour": "red"}}, False, "3 of 4 facts, 1 wrong or too many"),
        (SOLUTION | {"Bob": {"pet": "dog"}}, False, "3 of 4 facts"),
        (SOLUTION | {"Cid": {"pet": "dog"}}, False, "4 of 4 facts, 1 wrong or too many"),
        (SOLUTION | {"Bob": ["dog", "blue"]}, False, "no JSON object with all the people"),
        ({"Ann": SOLUTION["Ann"]}, False, "no JSON object with all the people"),
    ],
)
def test_a_puzzle_is_solved_or_not(answer, passes, detail):
    verdict = check("R3", json.dumps(answer), **GRID)
    assert (verdict.passed, verdict.score, verdict.detail) == (passes, float(passes), detail)


SHAPES = [
    "{}1. Oslo\n2. Rome\n3. Bern",
    "{}1) Oslo\n\n2) Rome\n\n3) Bern",
    "{}**1.** Oslo\n**2.** Rome\n**3.** Bern",
    "{}1. **Oslo** (before Rome)\n2. *Rome*: before Bern\n3. BERN.",
    "{}- 1: Oslo\n- 2: Rome\n- 3: Bern",
    "{}1 Oslo\n2 Rome\n3 Bern",
    "{}(1) Oslo (2) Rome (3) Bern",
    "{}1. Oslo 2. Rome 3. Bern",
    "{}1. Oslo, 2. Rome, and 3. Bern.",
    "{}1st: Oslo\n2nd: Rome\n3rd: Bern",
    "{}one. Oslo, two. Rome, three. Bern",
    "{}First Oslo, second Rome, and finally Bern.",
    "{}```\n1. Oslo\n2. Rome\n3. Bern\n```",
    "1. Compare them.\n2. Put them in order.\n\n{}1. Oslo\n2. Rome\n3. Bern",
    "{}1. Oslo\n2. Rome\n3. Bern\n\n1. Bern\n2. Rome\n3. Oslo",
]


@pytest.mark.parametrize("shape", SHAPES)
def test_numbered_lists_in_all_shapes(shape):
    assert check("R2", shape.format("In order: \n"), **RACE).passed
    swapped = shape.replace("Oslo", "?").replace("Rome", "Oslo").replace("?", "Rome").format("In order: \n")
    assert not check("R2", swapped, **RACE).passed


@pytest.mark.parametrize(
    ("text", "score", "places"),
    [
        ("1. Rome\n2. Oslo\n3. Bern", 1 / 3, ["1. Rome", "2. Oslo"]),
        ("1. Oslo\n2. Rome", 2 / 3, ["2. Rome"]),
        ("1. Oslo\n2. Rome\n3. Bern\n4. Paris", 3 / 4, ["4. Paris"]),
        ("1. Oslo\n2. Rome\n3. Bernadette", 2 / 3, ["3. Bernadette"]),
        ("1. Rome\n2. Bern\n3. Oslo\n\nor (1) Oslo (2) Bern", 0.0, ["1. Rome", "2. Bern", "3. Oslo"]),
        ("2. Oslo\n3. Rome\n4. Bern", 0.0, []),
        ("0. Oslo\n1. Rome\n2. Bern", 0.0, []),
        ("0. Oslo\n1. Oslo\n2. Rome\n3. Bern", 0.0, []),
        ("1. Oslo\n2. Rome\n3. Bern and Oslo", 2 / 3, ["3. Bern and Oslo"]),
        ("1. Oslo\n2. Rome\n3. Bern, Oslo", 2 / 3, ["3. Bern, Oslo"]),
        ("1. Oslo\n2. Rome\n3. Bern (and Oslo)", 2 / 3, ["3. Bern (and Oslo)"]),
        ("1. Oslo\n2. Rome\n3. Bern / Oslo", 2 / 3, ["3. Bern / Oslo"]),
        ("1. Oslo\n2. Rome\n3. Bern - Oslo", 2 / 3, ["3. Bern - Oslo"]),
        ("1. Not Rome but Oslo\n2. Rome\n3. Bern", 2 / 3, ["1. Not Rome but Oslo"]),
        ("1. Not Rome, but Oslo\n2. Rome\n3. Bern", 2 / 3, ["1. Not Rome, but Oslo"]),
        ("1. It isn’t Oslo\n2. Rome\n3. Bern", 2 / 3, ["1. It isn’t Oslo"]),
        ("1. Oslo finished first\n2. Rome - before Bern\n3. The last one: Bern. Oslo won", 1.0, []),
        ("1\\. Oslo\n2\\. Rome\n3\\. Bern", 1.0, []),
        ("First Oslo, second Rome, finally Bern and Oslo.", 2 / 3, ["finally Bern and Oslo."]),
        ("Oslo, Rome, Bern", 0.0, []),
    ],
)
def test_names_in_place(text, score, places):
    verdict = check("R2", text, **RACE)
    assert verdict.score == pytest.approx(score, abs=1e-12)
    assert marked(text, verdict) == places


@pytest.mark.parametrize(
    ("text", "score", "places", "flags"),
    [
        ("Go up. Up we go. Go!", 1.0, [], ()),
        ("Go up. “Up” he went (so). SO what?", 1.0, [], ()),
        ("Go up. We go. Go!", 1 / 2, ["We"], ()),
        ("Go.\n\n- Up\n\nGo.", 1.0, [], ()),
        ("Go up.", 0.0, ["Go"], ("too_few_sentences",)),
        ("- go\n- go", 0.0, [], ()),
        ("Café. cafe\u0301.", 1.0, [], ()),
        ("ʼ. ʼ.", 0.0, [], ()),
    ],
)
def test_links_between_sentences(text, score, places, flags):
    verdict = check("R4", text)
    assert verdict.score == pytest.approx(score, abs=1e-12)
    assert (marked(text, verdict), verdict.flags) == (places, flags)


@pytest.mark.parametrize(
    ("id", "params", "message"),
    [
        (
            "R1",
            SCENE | {"relations": [["cup", "above", "hat"]]},
            "R1: relations must be between the objects, got 'hat'",
        ),
        (
            "R1",
            SCENE | {"relations": [["cup", "above"]]},
            r"R1: relations must hold lists of three words, got \['cup', ",
        ),
        ("R1", SCENE | {"objects": {"cup": ["red"]}}, "R1: objects must map names to their properties, got"),
        ("R1", SCENE | {"objects": {"cup": {"colour": '"'}}}, "R1: objects must hold words without quotation marks"),
        (
            "R2",
            RACE | {"order": ["Rome", "Oslo", "Bern"]},
            "R2: comparisons must leave the order Rome, Oslo, Bern and no",
        ),
        ("R2", RACE | {"comparisons": RACE["comparisons"][:1]}, "R2: comparisons must leave the order"),
        ("R2", RACE | {"comparisons": [["a", "near", "b"]]}, 'must relate with one of "before", "after", got \'near\''),
        ("R2", RACE | {"comparisons": [[["a"], "before", "b"]]}, "R2: comparisons must hold lists of three words"),
        ("R2", RACE | {"order": ["Oslo", "oslo"]}, "R2: order must be different words"),
        (
            "R3",
            GRID | {"pets": ["cat", "dog", "hen"]},
            "R3: people, pets and colours must be equally many, got 2, 3, 2",
        ),
        ("R3", GRID | {"pets": ["cat", "red"]}, "R3: people, pets and colours must be different words"),
        ("R3", GRID | {"clues": GRID["clues"][:1]}, "R3: clues must leave one solution, they leave 2"),
        (
            "R3",
            GRID | {"clues": [*GRID["clues"], ["Ann", "has", "dog"]]},
            "R3: clues must leave one solution, they leave 0",
        ),
        (
            "R3",
            GRID | {"clues": [["cat", "has", "Ann"]]},
            "must relate a person and a pet with 'has', got 'cat' and 'Ann'",
        ),
        ("R3", GRID | {"people": ["Ann"]}, "R3: people must be 2 to 4 words, got 1"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(id, params, message):
    with pytest.raises(ValueError, match=message):
        check(id, "Go.", **params)


def test_the_instructions_tell_every_fact():
    assert (
        "the cup (colour red, size tiny) and the box (colour blue, size huge); the cup is above the box and the box is"
        in (CONSTRAINTS["R1"].instruction(**SCENE))
    )
    assert "a race: Rome finished before Bern; Rome finished after Oslo." in CONSTRAINTS["R2"].instruction(**RACE)
    assert "Ann has the cat. The dog’s owner does not like red. Your" in CONSTRAINTS["R3"].instruction(**GRID)


# ---------------------------------------------------------------------------------------------------------- mutations


def scenes(rng) -> Iterator[Edit]:
    params = CONSTRAINTS["R1"].sample(rng)

    def edited(change: Callable[[dict], object], around: str = "%s") -> str:
        scene = json.loads(json.dumps(params))
        change(scene)
        return around % json.dumps(scene)

    first = next(iter(params["objects"]))
    relation = params["relations"][0]

    def same(scene: dict) -> None:
        """No change."""

    yield Edit("R1", params, edited(same, "%s"), True)
    yield Edit("R1", params, edited(same, "For {this}:\n\n```json\n%s\n```\n" + prose(rng, 1)), True)
    yield Edit("R1", params, edited(lambda scene: scene["relations"].reverse()), True)
    yield Edit("R1", params, edited(lambda scene: scene["relations"][0].__setitem__(1, "is " + relation[1])), True)
    yield Edit("R1", params, edited(same, '%s {"objects": {}, "relations": []}'), True)
    yield Edit("R1", params, edited(same, '{"objects": {}, "relations": []} %s'), False)
    yield Edit("R1", params, edited(same)[:-1], False)
    yield Edit("R1", params, edited(lambda scene: scene["relations"][0].reverse()), False)
    yield Edit("R1", params, edited(lambda scene: scene["relations"].pop()), False)
    yield Edit("R1", params, edited(lambda scene: scene["relations"].append(relation[::-1])), False)
    yield Edit("R1", params, edited(lambda scene: scene["objects"].pop(first)), False)
    yield Edit("R1", params, edited(lambda scene: scene["objects"][first].pop("size")), False)
    yield Edit("R1", params, edited(lambda scene: scene["objects"][first].update(colour="grey")), False)
    yield Edit("R1", params, edited(lambda scene: scene["objects"].update(egg={"colour": "red"})), False)
    yield Edit("R1", params, edited(same).replace('"', "'"), False)


def races(rng) -> Iterator[Edit]:
    params = CONSTRAINTS["R2"].sample(rng)
    order = params["order"]
    place = int(rng.integers(len(order) - 1))
    swapped = [*order[:place], order[place + 1], order[place], *order[place + 2 :]]

    def listed(names: list[str], shape: str = "{}. {}\n") -> str:
        return "".join(shape.format(i, name) for i, name in enumerate(names, 1))

    for shape in ("{}. {}\n", "{}) {}\n", "({}) {} ", "{}. {}, ", "{} {}\n", "- {}: **{}**\n"):
        yield Edit("R2", params, listed(order, shape), True)
        yield Edit("R2", params, listed(swapped, shape), False)
    yield Edit("R2", params, f"{prose(rng, 2)}\n\n{listed(order)}\n{prose(rng, 1)}", True)
    yield Edit("R2", params, listed(order[:-1]), False)
    yield Edit("R2", params, listed([*order, "Zed"]), False)
    yield Edit("R2", params, listed([*order, order[0]]), False)
    yield Edit("R2", params, ", ".join(order), False)


def grids(rng) -> Iterator[Edit]:
    params = CONSTRAINTS["R3"].sample(rng)
    right = solved(params)
    one, two, _ = right
    shifted = right | {one: right[one] | {"pet": right[two]["pet"]}, two: right[two] | {"pet": right[one]["pet"]}}
    yield Edit("R3", params, json.dumps(right), True)
    yield Edit("R3", params, f"So {{x}}:\n```\n{json.dumps(right, indent=1)}\n```\nor {json.dumps(shifted)}", True)
    yield Edit("R3", params, f'{{"a": 1}} {json.dumps(dict(reversed(right.items())))}', True)
    yield Edit("R3", params, json.dumps(right).upper(), True)
    yield Edit("R3", params, json.dumps(shifted), False)
    yield Edit("R3", params, f"{json.dumps(shifted)} or {json.dumps(right)}", False)
    yield Edit("R3", params, json.dumps({name: right[name] for name in (one, two)}), False)
    yield Edit("R3", params, json.dumps(right | {one: {"pet": right[one]["pet"]}}), False)
    yield Edit("R3", params, json.dumps(right | {one: right[one] | {"colour": right[two]["colour"]}}), False)
    yield Edit("R3", params, json.dumps(right)[:-1], False)
    yield Edit("R3", params, json.dumps([*right.values()]), False)


def bridges(rng) -> Iterator[Edit]:
    words = some_words(rng, int(rng.integers(3, 9)))
    pairs = list(pairwise(words))
    all_ = [f"{one.capitalize()} goes with the {two}." for one, two in pairs]
    yield Edit("R4", {}, " ".join(all_), True)
    yield Edit("R4", {}, "\n\n".join(f"“{one.upper()}”" for one in all_), True)
    yield Edit("R4", {}, all_[0] + "\n\n- a list\n\n" + " ".join(all_[1:]), True)
    yield Edit("R4", {}, " ".join([*all_, f"{words[-1]}s go."]), False)
    yield Edit("R4", {}, " ".join(["Yes.", *all_]), False)
    yield Edit("R4", {}, " ".join([*all_[:-1], "The " + all_[-1]]), False)
    yield Edit("R4", {}, " ".join([all_[0][:-1] + " now.", *all_[1:]]), False)
    yield Edit("R4", {}, all_[0], False)


@pytest.mark.parametrize("edits", [scenes, races, grids, bridges])
def test_every_edit_is_judged_as_the_rule_says(edits: Callable[..., Iterator[Edit]]):
    for number in range(60):
        for edit in edits(stream("relations", edits.__name__, number)):
            judge(edit)


# --------------------------------------------------------------------------------------------------- public bug reports


def test_B036_a_segment_without_a_word_breaks_no_bridge():
    """allenai/IFBench#11."""
    assert check("R4", "Go home. ... Home again.").passed


def test_B022_one_sentence_is_no_bridge():
    """scitix/sieval#105."""
    assert not check("R4", "Only one sentence here.").passed


def test_B044_braces_in_prose_open_no_object():
    """remyxai/outrider#111."""
    assert check("R3", f"Fill {{name}} first: {json.dumps(SOLUTION)}", **GRID).passed


def test_B045_the_first_complete_object_that_fits_counts():
    """OpenNSWM-Lab/FAROS#70; the same fault cost the paper 19 % of its failures of R3 (appendix Q)."""
    wrong = {"Ann": SOLUTION["Ann"] | {"pet": "dog"}, "Bob": SOLUTION["Bob"] | {"pet": "cat"}}
    assert check("R3", f"{json.dumps(SOLUTION)} or maybe {json.dumps(wrong)}", **GRID).passed
    assert not check("R3", f"{json.dumps(wrong)} or maybe {json.dumps(SOLUTION)}", **GRID).passed


def test_B046_a_bracket_within_ends_no_object():
    """PCIRCLE-AI/memesh#72."""
    scene = {
        "relations": [["a", "above", "b"], ["b", "left of", "c"]],
        "objects": {name: {"size": "x"} for name in "abc"},
    }
    assert check("R1", json.dumps(scene) + " [end]", **scene).passed


def test_B049_what_is_inside_a_cut_object_is_no_answer():
    """guardrails-ai/guardrails#548."""
    text = '{"scene": ' + json.dumps(SCENE)
    assert check("R1", text, **SCENE).detail == 'no JSON object with "objects" and "relations"'
    assert not check("R1", text, **SCENE).passed


@pytest.mark.parametrize(
    "before", ['Keys look like {"name": and so on.\n', json.dumps(SCENE)[:-1] + "\nI forgot a brace. "]
)
def test_a_brace_that_is_never_closed_hides_nothing_behind_it(before):
    assert check("R1", before + json.dumps(SCENE), **SCENE).passed


def test_B050_fenced_json_is_read():
    """mlcommons/mobile_app_open#1093."""
    assert check("R1", f"```json\n{json.dumps(SCENE)}\n```", **SCENE).passed
    empty = check("R1", '```json\n{"objects":{},"relations":[]}\n```', **SCENE)
    assert (empty.passed, empty.detail) == (False, "0 of 8 facts")


def test_P147_a_puzzle_with_two_solutions_is_refused():
    """arXiv:2608.12426, appendix Q, class 5."""
    with pytest.raises(ValueError, match="R3: clues must leave one solution, they leave 2"):
        CONSTRAINTS["R3"].instruction(**GRID | {"clues": [["Ann", "has", "cat"]]})


def test_P149_is_above_is_above():
    """arXiv:2608.12426, appendix Q, class 8."""
    scene = {"objects": {"A": {"size": "x"}, "B": {"size": "y"}}, "relations": [["A", "above", "B"]]}
    assert check("R1", json.dumps(scene | {"relations": [["A", "is above", "B"]]}), **scene).passed


def test_P150_inline_lists_are_read():
    """arXiv:2608.12426, appendix Q, left open by its authors."""
    assert check("R2", "(1) Oslo (2) Rome (3) Bern", **RACE).passed


def test_the_paper_s_class_6_lists_in_words_are_read():
    """arXiv:2608.12426, appendix Q, class 6: N2 forbids the digits of R2's list."""
    text = "one. Oslo, two. Rome, three. Bern"
    assert check("R2", text, **RACE).passed
    assert check("N2", text).passed
