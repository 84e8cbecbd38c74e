"""The concepts and the items made of them: every file is on target, and a wrong one is refused in words that help."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdct.compression import COMPRESSORS, LEVELS, concepts, generate, messages
from cdct.compression.items import DOMAINS, PLACE, limit_words, read_concept, within_tolerance
from cdct.compression.prompts import HELPFUL
from cdct.core import items_hash, to_json
from cdct.text import WORD_RULE, word_form, words

CONCEPTS = concepts()
TARGETS = {0.0: 2, 0.25: 13, 0.5: 27, 0.75: 69, 1.0: 135}  # paper, section 3.3

# ----------------------------------------------------------------------------------------------------------- the files


def test_the_eight_concepts_of_the_paper_are_there() -> None:
    domains = {slug: concept.domain for slug, concept in CONCEPTS.items()}
    assert domains == {  # paper, section 3.2
        "derivative": "formal",
        "harm_principle": "applied",
        "impressionism": "applied",
        "modus_ponens": "formal",
        "natural_selection": "natural",
        "photosynthesis": "natural",
        "recursion": "formal",
        "theory_of_mind": "applied",
    }
    assert set(domains.values()) == set(DOMAINS)


@pytest.mark.parametrize("slug", CONCEPTS)
def test_every_text_is_exactly_on_target(slug: str) -> None:
    concept = CONCEPTS[slug]
    assert tuple(concept.levels) == LEVELS
    for c, (target, text) in concept.levels.items():
        assert target == TARGETS[c]
        assert len(words(text)) == len(text.split()) == target, (slug, c)


@pytest.mark.parametrize("slug", CONCEPTS)
def test_no_text_holds_a_limit_or_a_request(slug: str) -> None:
    """The limit stands outside the text: a number of words or an order inside it would be a second instruction."""
    for _, text in CONCEPTS[slug].levels.values():
        forms = {word_form(word) for word in words(text)}
        assert not forms & {"words", "word", "explain", "describe", "summarise", "summarize", "write", "35", "exactly"}


@pytest.mark.parametrize("slug", CONCEPTS)
@pytest.mark.parametrize("mode", ["exactly", "at most"])
def test_every_prompt_of_inside_is_on_target_with_the_limit_among_its_words(slug: str, mode: str) -> None:
    prompts = CONCEPTS[slug].inside
    assert tuple(prompts) == LEVELS
    for c, (target, text) in prompts.items():
        assert target == TARGETS[c]
        assert (PLACE in text) is (c > 0)  # two words have no room for it
        counted = len(words(text.replace(PLACE, limit_words(35, mode))))
        assert within_tolerance(counted, target), (c, counted)
        if mode == "exactly":
            assert counted == target
        # it names the concept and asks for an explanation, or at two words asks by a question mark
        assert "explain" in text.casefold() or text.endswith("?")


@pytest.mark.parametrize("slug", CONCEPTS)
def test_key_points_are_five_with_different_names(slug: str) -> None:
    points = CONCEPTS[slug].key_points
    assert len({point.id for point in points}) == len({point.text for point in points}) == len(points) == 5
    for point in points:
        assert len(set(point.any)) == len(point.any), f"{point.id} names an alternative twice"


@pytest.mark.parametrize(("n_words", "target", "right"), [(2, 2, True), (1, 2, False), (3, 2, False), (1, 1, True)])
def test_two_words_or_fewer_are_kept_to_the_word(n_words: int, target: int, right: bool) -> None:
    assert within_tolerance(n_words, target) is right


@pytest.mark.parametrize(
    ("target", "low", "high"),
    [(13, 12, 14), (27, 25, 29), (69, 63, 75), (135, 122, 148), (10, 9, 11), (20, 18, 22), (30, 27, 33)],
)
def test_longer_texts_may_miss_by_a_tenth(target: int, low: int, high: int) -> None:
    allowed = [n for n in range(2 * target) if within_tolerance(n, target)]
    assert (allowed[0], allowed[-1]) == (low, high)


# ------------------------------------------------------------------------------------------------------- a wrong file

GOOD: dict[str, Any] = {
    "name": "entropy",
    "domain": "natural",
    "field": "physics",
    "definition": "A measure of disorder.",
    "key_points": [{"id": "disorder", "text": "It measures disorder.", "any": [["disorder*"], ["many", "states"]]}],
    "levels": [
        {"c": 1, "words": 10, "text": "one two three four five six seven eight nine ten"},
        {"c": 0.0, "words": 2, "text": "  two words\n"},
        {"c": 0.5, "words": 5, "text": "one two three four five"},
    ],
}


def write_concept(folder: Path, data: Any, name: str = "entropy") -> Path:
    """The concept as a TOML file: JSON values are TOML values, and inline tables do for the rest."""

    def toml(value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(map(toml, value)) + "]"
        return json.dumps(value, ensure_ascii=False)

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_text("".join(f"{key} = {toml(value)}\n" for key, value in data.items()), encoding="utf-8")
    return path


def changed(path: str, value: Any) -> dict[str, Any]:
    """GOOD with one value replaced, or taken out where the value is `...`; the path is like `levels.0.words`."""
    data = copy.deepcopy(GOOD)
    place: Any = data
    *way, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    for key in way:
        place = place[key]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return data


def test_a_good_file_is_read_with_its_levels_in_order(tmp_path: Path) -> None:
    concept = read_concept(write_concept(tmp_path, GOOD))
    assert (concept.slug, concept.name, concept.domain, concept.field) == ("entropy", "entropy", "natural", "physics")
    assert list(concept.levels.items()) == [
        (0.0, (2, "two words")),
        (0.5, (5, "one two three four five")),
        (1.0, (10, "one two three four five six seven eight nine ten")),
    ]
    assert concept.key_points[0].any == (("disorder*",), ("many", "states"))


WRONG = [
    ("name", ..., "name is missing or empty"),
    ("name", "", "name is missing or empty"),
    ("name", 3, "name has a value of the wrong type: 3"),
    ("levels", [], "levels is missing or empty"),
    ("key_points", ["disorder"], "key point 1: must be a table with the fields id, text, any, got 'disorder'"),
    ("domian", "natural", "field 'domian' is not known; did you mean 'domain'?"),
    ("domain", "social", "domain must be one of formal, natural, applied, got 'social'"),
    ("key_points.0.id", ..., "key point 1: id is missing or empty"),
    ("key_points.0.text", ..., "key point 1: text is missing or empty"),
    ("key_points.0.any", ..., "key point 1: any is missing or empty"),
    ("key_points.0.any", [], "key point 1: any is missing or empty"),
    ("key_points.0.all", [["x"]], "key point 1: field 'all' is not known; known: id, text, any"),
    # a list of words in place of a list of lists: each letter would become a term
    (
        "key_points.0.any",
        ["disorder"],
        "key point 'disorder': `any` must hold lists of terms, none empty, got 'disorder'",
    ),
    ("key_points.0.any", [[]], "key point 'disorder': `any` must hold lists of terms, none empty, got []"),
    *(
        (
            "key_points.0.any",
            [[term]],
            "key point 'disorder': a term is one lower-case word, with * at its end for a prefix",
        )
        for term in ("Disorder", "two words", "", "*", "dis*order", "disorder.", "*order", 3)
    ),
    ("levels.0.c", ..., "level 1: c is missing or empty"),
    ("levels.1.c", "half", "level 2: c has a value of the wrong type: 'half'"),
    ("levels.0.words", 9.5, "level 1: words has a value of the wrong type: 9.5"),
    ("levels.0.words", True, "level 1: words has a value of the wrong type: True"),
    ("levels.0.c", 1.5, "level c must lie in 0..1 and differ from others by 0.01 or more, got 1.5"),
    ("levels.0.c", -0.5, "level c must lie in 0..1 and differ from others by 0.01 or more, got -0.5"),
    ("levels.0.c", 0.5, "level c must lie in 0..1 and differ from others by 0.01 or more, got 0.5"),
    (
        "levels.2.c",
        0.004,
        "level c must lie in 0..1 and differ from others by 0.01 or more, got 0.004",
    ),  # same id as c = 0
    ("levels.1.text", "three little words", "the text at c = 0 has 3 words, target 2"),
    ("levels.2.text", "one two three four", "the text at c = 0.5 has 4 words, target 5"),
]


@pytest.mark.parametrize(
    ("path", "value", "message"), WRONG, ids=[f"{path}={value!r}"[:50] for path, value, _ in WRONG]
)
def test_a_wrong_file_is_refused(tmp_path: Path, path: str, value: Any, message: str) -> None:
    file = write_concept(tmp_path / "concepts", changed(path, value))
    with pytest.raises(ValueError) as caught:
        read_concept(file)
    assert str(caught.value).startswith(f"concepts/entropy.toml: {message}")


INSIDE = [
    {"c": 0, "words": 2, "text": "Explain entropy"},
    {"c": 0.5, "words": 5, "text": "{limit_words}: explain entropy"},
    {"c": 1, "words": 10, "text": "In {limit_words}, explain entropy: one two three four."},
]


def test_prompts_with_the_limit_inside_are_read_with_the_limit_counted(tmp_path: Path) -> None:
    concept = read_concept(write_concept(tmp_path, GOOD | {"inside": INSIDE[::-1]}))
    assert {c: text for c, (_, text) in concept.inside.items()} == {one["c"]: one["text"] for one in INSIDE}
    assert list(concept.inside) == list(concept.levels)
    assert read_concept(write_concept(tmp_path, GOOD)).inside == {}


WRONG_INSIDE: list[tuple[Any, str]] = [
    ([], "inside is missing or empty"),
    ("Explain entropy", "inside has a value of the wrong type: 'Explain entropy'"),
    (["Explain entropy"], "inside: level 1: must be a table with the fields c, words, text, got 'Explain entropy'"),
    (INSIDE[:2], "inside must have the levels c, and words, of `levels`, got 0 (2), 0.5 (5)"),
    (
        [*INSIDE[:2], INSIDE[2] | {"c": 0.75}],
        "inside must have the levels c, and words, of `levels`, got 0 (2), 0.5 (5), 0.75 (10)",
    ),
    (
        [*INSIDE[:2], INSIDE[2] | {"words": 11}],
        "inside must have the levels c, and words, of `levels`, got 0 (2), 0.5 (5), 1 (11)",
    ),
    ([*INSIDE, INSIDE[0]], "inside: level c must lie in 0..1 and differ from others by 0.01 or more, got 0"),
    ([INSIDE[0], INSIDE[1] | {"words": 3}, INSIDE[2]], "inside: the text at c = 0.5 has 5 words, target 3"),
    (
        [INSIDE[0], INSIDE[1] | {"text": "In {limit_word} explain entropy now please."}, INSIDE[2]],
        "inside: the text at c = 0.5 has 6 words, target 5",
    ),
    (
        [INSIDE[0], INSIDE[1] | {"text": "In {limit_word} explain entropy now"}, INSIDE[2]],
        "inside: the text at c = 0.5: place '{limit_word}' is not known; did you mean '{limit_words}'?",
    ),
]


@pytest.mark.parametrize(("inside", "message"), WRONG_INSIDE)
def test_a_wrong_inside_is_refused(tmp_path: Path, inside: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        read_concept(write_concept(tmp_path / "concepts", GOOD | {"inside": inside}))
    assert str(caught.value) == f"concepts/entropy.toml: {message}"


def test_a_text_outside_holds_no_place_for_the_limit(tmp_path: Path) -> None:
    """Its readers would see the place itself: only `inside` fills it."""
    file = write_concept(tmp_path / "concepts", changed("levels.2.text", "keep to {limit_words}"))
    with pytest.raises(ValueError) as caught:
        read_concept(file)
    told = "concepts/entropy.toml: {limit_words} stands in the text at c = 0.5; its place is in [[inside]]"
    assert str(caught.value) == told


def test_a_key_point_stands_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="key point 'disorder' stands twice"):
        read_concept(write_concept(tmp_path, changed("key_points", GOOD["key_points"] * 2)))


@pytest.mark.parametrize("content", [b"name = ", b"\xff\xfe", b"a = 1\na = 2"])
def test_what_is_no_toml_is_told_with_the_file(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "bad.toml"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"/bad\.toml: not valid TOML: "):
        read_concept(file)


def test_a_concept_added_to_the_folder_is_found_and_a_changed_one_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data" / "concepts"
    monkeypatch.setenv("CDCT_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"^no concepts \(\*\.toml\) in data/concepts$"):
        concepts()
    write_concept(folder, GOOD, "b")
    assert list(concepts()) == ["b"]
    write_concept(folder, GOOD, "a")
    assert list(concepts()) == ["a", "b"]
    assert [item.id for item in generate()] == [f"cdct-v1/{slug}/c{c}" for slug in "ab" for c in ("000", "050", "100")]
    write_concept(folder, changed("definition", "Another."), "a")
    assert concepts()["a"].definition == "Another."
    concepts().clear()  # type: ignore[attr-defined]
    assert list(concepts()) == ["a", "b"]


# ---------------------------------------------------------------------------------------------------------- the items


def test_items_are_one_per_concept_and_level() -> None:
    items = generate()
    assert len(items) == len({item.id for item in items}) == 40
    assert [item.params["c"] for item in items[:5]] == list(LEVELS)
    assert items[2].id == "cdct-v1/derivative/c050"
    named = {"concept": "derivative", "c": 0.5, "level_words": 27, "limit": 35, "mode": "exactly"}
    assert items[2].params == named | {"compressor": "written"}
    assert set(items[2].truth) == {"limit", "mode", "key_points"}
    assert items[2].meta["domain"] == "formal"
    for item in items:
        assert json.loads(to_json(item.to_dict()))["id"] == item.id


def test_generating_is_pure() -> None:
    assert [item.sha256 for item in generate()] == [item.sha256 for item in generate(seed=1)]
    # the question asked, not the type of a number in a run file
    assert items_hash(generate(levels=[0, 1])) == items_hash(generate(levels=[1.0, np.float64(0.0), 1]))
    assert generate(concepts=["recursion", "derivative", "recursion"]) == generate(concepts=["recursion", "derivative"])
    assert generate(concepts=["recursion"])[0].params["concept"] == "recursion"


@pytest.mark.parametrize(
    ("limit", "mode", "end"),
    [(35, "exactly", "c050"), (60, "exactly", "c050-60"), (35, "at most", "c050-max35"), (1, "at most", "c050-max1")],
)
def test_another_limit_is_another_item(limit: int, mode: str, end: str) -> None:
    (item,) = generate(concepts=["recursion"], levels=[0.5], limit=limit, mode=mode)
    assert item.id == f"cdct-v1/recursion/{end}"
    assert item.params["limit"] == item.truth["limit"] == limit


@pytest.mark.parametrize("compressor", COMPRESSORS)
@pytest.mark.parametrize(("limit", "end"), [({}, ""), ({"limit": 60, "mode": "at most"}, "-max60")])
def test_another_compressor_is_another_item_with_another_text(compressor: str, limit: dict[str, Any], end: str) -> None:
    written, made = generate(**limit), generate(compressor=compressor, **limit)
    assert [item.id for item in made] == [f"{item.id}-{compressor}" for item in written]
    assert all(item.id.endswith(f"{end}-{compressor}") for item in made)
    for own, other in zip(made, written, strict=True):
        assert own.params == other.params | {"compressor": compressor}
        assert own.truth == other.truth
        if own.params["c"] > 0:  # the first two words of a text may be those that people chose
            assert (own.meta["context"] == other.meta["context"]) is (own.params["c"] == 1)
        assert (own.meta["inside"], own.meta["limit_inside"]) == (None, False)
        assert len(words(own.meta["context"])) == own.params["level_words"]


def test_texts_of_a_model_stand_below_the_whole_text_and_gaps_stay() -> None:
    texts = {("recursion", 0.25): "a short text", ("recursion", 0.5): None, ("recursion", 1.0): "not this"}
    items = generate(concepts=["recursion"], compressor="gpt-5", texts=texts)
    whole = CONCEPTS["recursion"].levels[1.0][1]
    assert [item.meta["context"] for item in items] == [None, "a short text", None, None, whole]
    assert [item.id for item in items][1] == "cdct-v1/recursion/c025-gpt-5"
    assert {item.params["compressor"] for item in items} == {"gpt-5"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"limit": 0}, "limit must be a whole number of at least 1 word, got 0"),
        ({"limit": 35.0}, "limit must be a whole number of at least 1 word, got 35.0"),
        ({"limit": True}, "limit must be a whole number of at least 1 word, got True"),
        ({"mode": "about"}, "mode must be one of 'exactly', 'at most', got 'about'"),
        ({"concepts": ["recusion"]}, "concept 'recusion' is not known; did you mean 'recursion'?"),
        ({"levels": [0.3]}, "concept derivative: level 0.3 is not known; known: 0.0, 0.25, 0.5, 0.75, 1.0"),
        (
            {"compressor": "lede"},
            "compressor 'lede' is not known; did you mean 'lead'?; a model's texts have to be given as `texts`",
        ),
        (
            {"compressor": "gpt-5"},
            "compressor 'gpt-5' is not known; known: written, lead, drop; a model's texts have to be given as `texts`",
        ),
        *(
            (
                {"compressor": name, "texts": {}},
                f"the texts of the compressor {name!r} are made here; name the model whose texts they are",
            )
            for name in ("written", "lead", "drop")
        ),
        ({"texts": {}}, "the texts of the compressor 'written' are made here; name the model whose texts they are"),
    ],
)
def test_a_wrong_wish_is_told(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        generate(**arguments)
    assert str(caught.value) == message


# -------------------------------------------------------------------------------------------------------- the messages


def test_the_baseline_differs_between_levels_in_the_context_alone() -> None:
    asked = [messages(item) for item in generate(concepts=["photosynthesis"])]
    frames = set()
    for item, turn in zip(generate(concepts=["photosynthesis"]), asked, strict=True):
        system, user = turn
        assert system == {"role": "system", "content": HELPFUL}
        assert user["content"].count(item.meta["context"]) >= 1
        frames.add(user["content"].replace(f"\n{item.meta['context']}\n", "\n...\n", 1))
    assert len(frames) == 1
    (frame,) = frames
    assert "Explain photosynthesis in exactly 35 words." in frame
    assert WORD_RULE in frame


def test_an_unknown_arm_is_told() -> None:
    with pytest.raises(ValueError, match=r"^cdct: arm 'fixd' is not known; did you mean 'fixed'\?$"):
        messages(generate()[0], "fixd")
