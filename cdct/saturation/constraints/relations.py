"""R1-R4, what must agree with given facts or with the sentence before: a scene, a race, a puzzle, a chain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, zip_longest
from typing import Any

from cdct.core import Verdict
from cdct.saturation.constraints.base import Parameter, constraint, listed, number_of, share, spans_of
from cdct.saturation.constraints.ordering import in_order
from cdct.saturation.constraints.puzzles import (
    AFTER,
    BEFORE,
    CLUES,
    COLOUR,
    PET,
    Triple,
    grid,
    joined,
    named,
    proves,
    race,
    read_group,
    read_names,
    read_objects,
    scene,
    show_clues,
    show_comparisons,
    show_objects,
    show_relations,
    solutions,
    triples,
)
from cdct.text import Json, Text, first_fitting


def fold(value: object) -> str | None:
    """A word of a reply's JSON as it is compared: case, underscores and the spelling of "colour" do not matter."""
    if not isinstance(value, str):
        return None
    return " ".join(value.casefold().replace("_", " ").split()).replace("color", "colour")


def _relation(value: object) -> str | None:
    """The same without the verb: "is above" is "above" (paper, appendix Q, class 8)."""
    word = fold(value)
    return word and word.removeprefix("is ").removeprefix("are ")


# --------------------------------------------------------------------------------------------------------------- scene


def _scene_rule(objects: Mapping[str, Any], relations: Sequence[Triple]) -> str:
    strange = [name for left, _, right in relations for name in (left, right) if name not in objects]
    return f"relations must be between the objects, got {strange[0]!r}" if strange else ""


@constraint(
    "R1",
    "Scene graph output",
    {
        "objects": Parameter(None, read_objects, show_objects),
        "relations": Parameter(None, triples(), show_relations),
    },
    sample=scene,
    rule=_scene_rule,
    version="2",
)
def scene_graph_output(text: Text, objects: dict[str, dict[str, str]], relations: tuple[Triple, ...]) -> Verdict:
    """Your reply must contain a JSON object that describes this scene. There are {objects}; {relations}. Its key
    "objects" holds an object with the name of each thing as a key and an object with the thing's properties as the
    value. Its key "relations" holds a list with a list of three strings for each relation: first thing, relation,
    second thing. Leave nothing out and add nothing.

    The first complete JSON object with these two keys counts, also one within another, the outermost first. Its other
    keys do not, so that one object can hold another puzzle's answer as well. Order, case and underscores do not matter;
    "is above" is "above", "color" is "colour". Score: all or nothing; the detail has the share of facts. Range: three
    things with a colour and a size, two relations of one word, which hold in one direction only.
    """
    found, value = first_fitting(text.json_objects, _is_scene)
    if found is None:
        return Verdict.of(0.0, 'no JSON object with "objects" and "relations"', spans_of(text.json_objects[:1]))
    given = _scene_facts(value["objects"], value["relations"])
    return _facts(found, _scene_facts(objects, relations), given)


def _is_scene(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("objects"), dict) and isinstance(value.get("relations"), list)


def _scene_facts(objects: Mapping[str, Any], relations: Sequence[Any]) -> Counter[tuple[str | None, ...]]:
    """Each thing, each property and each relation; None stands for what is no word and so equals nothing given."""
    facts: Counter[tuple[str | None, ...]] = Counter()
    for name, properties in objects.items():
        facts[(fold(name),)] += 1
        if isinstance(properties, dict):
            facts.update((fold(name), fold(key), fold(value)) for key, value in properties.items())
        else:
            facts[(fold(name), None)] += 1
    for relation in relations:
        if isinstance(relation, list | tuple) and len(relation) == 3:
            left, middle, right = relation
            facts[(fold(left), _relation(middle), fold(right), "relation")] += 1
        else:
            facts[(None, None, None, "relation")] += 1
    return facts


def _facts(unit: Json, wanted: Counter[Any], found: Counter[Any]) -> Verdict:
    """The verdict on what a JSON object says: it must be these facts and no others."""
    right = (wanted & found).total()
    surplus = found.total() - right
    detail = f"{right} of {number_of(wanted.total(), 'fact')}"
    detail += f", {surplus} wrong or too many" if surplus else ""
    return Verdict.of(float(wanted == found), detail, () if wanted == found else spans_of([unit]))


_SCENE = {
    "objects": {"cup": {"colour": "red", "size": "small"}, "box": {"colour": "blue", "size": "large"}},
    "relations": [["cup", "above", "box"]],
}
scene_graph_output.passes(
    'Here:\n```json\n{"objects": {"cup": {"colour": "red", "size": "small"}, "box": {"size": "large", "colour": '
    '"blue"}},\n"relations": [["cup", "is above", "box"]]}\n```',
    **_SCENE,
)
scene_graph_output.passes(
    'For {cup}: {"a": 1} {"relations": [["Cup", "above", "Box"]], "note": "x", "objects": {"Cup": {"Color": "Red", '
    '"size": "small"}, "Box": {"color": "blue", "size": "large"}}} {"objects": {}, "relations": []}',
    **_SCENE,
)
scene_graph_output.fails(
    '{"objects": {"cup": {"colour": "red", "size": "small"}, "box": {"colour": "blue", "size": "large"}}, "relations": '
    '[["box", "above", "cup"]]}',
    **_SCENE,
)
scene_graph_output.fails(
    '{"objects": {"cup": {"colour": "red"}, "box": {"colour": "blue"}}, "relations": [["cup", "above", "box"]]}',
    **_SCENE,
)

# ---------------------------------------------------------------------------------------------------------------- race


def _race_rule(comparisons: tuple[Triple, ...], order: tuple[str, ...]) -> str:
    return "" if proves(comparisons, order) else f"comparisons must leave the order {', '.join(order)} and no other"


@constraint(
    "R2",
    "Transitive ordering",
    {
        "comparisons": Parameter(None, triples(BEFORE, AFTER), show_comparisons),
        "order": Parameter(None, read_names, hidden=True),
    },
    sample=race,
    rule=_race_rule,
    version="2",
)
def transitive_ordering(text: Text, comparisons: tuple[Triple, ...], order: tuple[str, ...]) -> Verdict:
    """Some people ran a race: {comparisons}. Your reply must contain a numbered list of all of them in the order in
    which they finished, from the first to the last, numbered from one, with one name and no other to each number. What
    you remark on a name must follow it in brackets or after a colon, a comma or a dash.

    Every shape of numbered list is read that `cdct.text.lists.numbered` knows, in words as well, as long as it starts
    at 1. An item stands for the name before its first such mark or its end, and for none where several stand there or
    at once behind the mark ("Eva and Ada", "Eva, Ada"), or where it says "not". The first list that names each runner
    once counts, or, if none does, the one with the most names in place. Score: the share of names in place among the
    names or the items, whichever are more. Range: five or six runners, all neighbours compared and nobody else, which
    leaves one order.
    """
    lists = [
        (unit, named([item.text for item in unit.items], order)) for unit in text.numbered if unit.items[0].number == 1
    ]
    if not lists:
        return Verdict.of(0.0, "no numbered list that starts at 1")
    whole_lists = [pair for pair in lists if len(pair[1]) == len(order) and set(pair[1]) == set(order)]
    unit, found = whole_lists[0] if whole_lists else max(lists, key=lambda pair: _right(pair[1], order))
    right = _right(found, order)
    detail = f"{right} of {number_of(len(order), 'name')} in place; read {listed([name or '?' for name in found])}"
    wrong = [item for item, name, wanted in zip_longest(unit.items, found, order) if item and name != wanted]
    score = share(right, max(len(order), len(found)))
    return Verdict.of(score, detail, spans_of(wrong or (unit.items[-1:] if score < 1 else [])))


def _right(found: Sequence[str | None], order: Sequence[str]) -> int:
    return sum(name == wanted for name, wanted in zip(found, order, strict=False))


_RACE = {
    "comparisons": [["Ben", "before", "Cleo"], ["Ben", "after", "Ada"]],
    "order": ["Ada", "Ben", "Cleo"],
}
transitive_ordering.passes("1. Ada\n2. **Ben** (before Cleo)\n3. Cleo", **_RACE)
transitive_ordering.passes("First Ada, second Ben, and finally Cleo. 1) Cleo 2) Ada", **_RACE)
transitive_ordering.fails("1. Ada\n2. Cleo\n3. Ben", **_RACE)
transitive_ordering.fails("Ada, Ben, Cleo", **_RACE)
transitive_ordering.fails("1. Ada\n2. Ben\n3. Cleo and Ada", **_RACE)

# ---------------------------------------------------------------------------------------------------------------- grid


@lru_cache(maxsize=1024)  # every reply to a puzzle asks for the same one
def _grid_rule(
    people: tuple[str, ...], pets: tuple[str, ...], colours: tuple[str, ...], clues: tuple[Triple, ...]
) -> str:
    groups = (people, pets, colours)
    if len({len(group) for group in groups}) > 1:
        return f"people, pets and colours must be equally many, got {', '.join(str(len(group)) for group in groups)}"
    if len({name.casefold() for group in groups for name in group}) < 3 * len(people):
        return "people, pets and colours must be different words"
    for left, relation, right in clues:
        one, other, _ = CLUES[relation]
        if left not in groups[one] or right not in groups[other]:
            kinds = ("a person", "a pet", "a colour")
            return f"clues must relate {kinds[one]} and {kinds[other]} with {relation!r}, got {left!r} and {right!r}"
    count = len(solutions(people, pets, colours, clues))
    return "" if count == 1 else f"clues must leave one solution, they leave {count}"


@constraint(
    "R3",
    "Logic grid puzzle",
    {
        "people": Parameter(None, read_group, joined),
        "pets": Parameter(None, read_group, joined),
        "colours": Parameter(None, read_group, joined),
        "clues": Parameter(None, triples(*CLUES), show_clues),
    },
    sample=grid,
    rule=_grid_rule,
    version="2",
)
def logic_grid_puzzle(
    text: Text, people: tuple[str, ...], pets: tuple[str, ...], colours: tuple[str, ...], clues: tuple[Triple, ...]
) -> Verdict:
    """Solve this puzzle. {people} each have one pet and like one colour; no two have the same pet or like the same
    colour. The pets: {pets}. The colours: {colours}. {clues} Your reply must contain the solution as a JSON object that
    has the name of each person as a key and, as the value, an object with the keys "pet" and "colour".

    Parameters that leave more or fewer solutions than one are refused. The first complete JSON object that has an
    object for each person counts, also one within another, the outermost first. Its other keys do not, so that one
    object can hold another puzzle's answer as well, unless they give a pet or a colour to somebody else. Case does not
    matter, and "color" is "colour". Score: all or nothing; the detail has the share of facts. Range: three people,
    clues none of which can be spared.
    """
    (groups,) = solutions(people, pets, colours, clues)
    names = {fold(person) for person in people}
    found, value = first_fitting(text.json_objects, lambda value: names <= _people(value).keys())
    if found is None:
        return Verdict.of(0.0, "no JSON object with all the people", spans_of(text.json_objects[:1]))
    wanted = {fold(person): {PET: pet, COLOUR: colour} for person, pet, colour in groups}
    given = {name: pair for name, pair in _people(value).items() if name in names or pair}
    return _facts(found, _grid_facts(wanted), _grid_facts(given))


def _people(value: Mapping[str, Any]) -> dict[str | None, dict[str, Any]]:
    """What the reply gives to each name: its pet and its colour; other keys of them are left out."""
    found: dict[str | None, dict[str, Any]] = {}
    for name, properties in value.items():
        if isinstance(properties, dict):
            folded = {fold(key): given for key, given in properties.items()}
            found[fold(name)] = {key: folded[key] for key in (PET, COLOUR) if key in folded}
    return found


def _grid_facts(groups: Mapping[str | None, Mapping[str, Any]]) -> Counter[tuple[str | None, ...]]:
    return Counter((name, key, fold(value)) for name, pair in groups.items() for key, value in pair.items())


_GRID = {
    "people": ["Ada", "Ben"],
    "pets": ["cat", "dog"],
    "colours": ["blue", "red"],
    "clues": [["Ada", "does not have", "dog"], ["cat", "owner likes", "red"]],
}
logic_grid_puzzle.passes(
    'So:\n{"Ada": {"pet": "cat", "colour": "red"},\n"Ben": {"pet": "dog", "colour": "blue"}}', **_GRID
)
logic_grid_puzzle.passes(
    'In {Ada}: {"a": []} {"Ben": {"Color": "Blue", "Pet": "Dog"}, "Ada": {"Pet": "Cat", "Color": "Red"}} {"Ada": {}}',
    **_GRID,
)
logic_grid_puzzle.fails('{"Ada": {"pet": "cat", "colour": "blue"}, "Ben": {"pet": "dog", "colour": "red"}}', **_GRID)
logic_grid_puzzle.fails('{"Ada": {"pet": "cat", "colour": "red"}} {"Ben": {"pet": "dog", "colour": "blue"}}', **_GRID)

# --------------------------------------------------------------------------------------------------------------- chain


@constraint("R4", "Cross-sentence bridge", {}, version="2")
def cross_sentence_bridge(text: Text) -> Verdict:
    """Write at least two sentences. The last word of each sentence must be the first word of the next one. Words are
    compared without regard to capitals and to the punctuation around them. Headings, bullet items, tables, code blocks
    and JSON are no sentences; numbered lines are sentences only where they have an end mark, and their numbers are no
    words.

    Score: the share of neighbours that are linked. A single sentence scores 0 and is flagged `too_few_sentences`, as
    the paper's rule would let it pass. The spans are the first words that should be another.
    """
    forms = text.sentence_forms
    wrong = [i for i, (one, two) in enumerate(pairwise(forms), 1) if one[-1] != two[0]]
    links = max(0, len(forms) - 1)
    detail = f"linked neighbours: {links - len(wrong)} of {links}"
    return in_order(text, wrong, links, detail, fewest=2, word=0)


cross_sentence_bridge.passes("Rain fell on the sea. “Sea” rhymes with tea! Tea?")
cross_sentence_bridge.passes("Go home. ... Home again.\n\n- a list item")
cross_sentence_bridge.fails("Rain fell on the sea. Seas rise.")
cross_sentence_bridge.fails("Rain fell.")
