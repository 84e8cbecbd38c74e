"""Rules about letters and words: first letters, what is forbidden, what must be spelt out, what may not be repeated."""

from __future__ import annotations

from cdct.saturation.constraints.base import listed, quoted
from cdct.saturation.constraints.lexical import occurrences
from cdct.saturation.probes.bounds import Chosen, forms, spelt
from cdct.saturation.probes.rule import rule
from cdct.text import folded


@rule("initials", "L3 L4 M1 O2 R4")
def initials(chosen: Chosen) -> str:
    """The first letters that L3, L4 and R4 with M1 give to sentences differ, or are not in O2's order.

    L3 and L4 give first letters. M1 gives the first letters of last words, and R4 makes each last word the first of the
    next sentence. O2 wants first words in alphabetical order, so their first letters may not go back.
    """
    places: dict[int, set[str]] = {}
    if "L4" in chosen:
        for place, letter in enumerate(chosen["L4"]["word"].lower()):
            places.setdefault(place, set()).add(letter)
    if "M1" in chosen and "R4" in chosen:
        for place, letter in enumerate(chosen["M1"]["word"].lower()[:-1], 1):
            places.setdefault(place, set()).add(letter)
    if "L3" in chosen:
        for letters in places.values():
            letters.add(chosen["L3"]["letter"].lower())
    for place, letters in sorted(places.items()):
        if len(letters) > 1:
            return f"sentence {place + 1} would have to begin with {listed(sorted(letters), quoted)}"
        after = places.get(place + 1, letters)
        if "O2" in chosen and max(after) < min(letters):
            return f"sentence {place + 1} begins with {quoted(min(letters))}, the next with {quoted(max(after))}"
    return ""


@rule("forbidden letter", "L1 L2 L3 L4 M1 M2 R1 R2 R3")
def forbidden_letter(chosen: Chosen) -> str:
    """L1's letter begins a word of L3, L4 or M1, or is in a word that L2, M2, R1, R2 or R3 force.

    The word must stand in the reply, the letter with it. R1 and R3 read "color" as "colour", so its u is not forced.
    """
    if "L1" not in chosen:
        return ""
    letter = chosen["L1"]["letter"].lower()
    found = [f"L3's {quoted(letter)}"] if "L3" in chosen and chosen["L3"]["letter"].lower() == letter else []
    acrostics = {id: chosen[id]["word"].lower() for id in ("L4", "M1") if id in chosen}
    found += [f"{id}'s {quoted(word)}" for id, word in acrostics.items() if letter in word]
    found += [f"{id}'s {quoted(word)}" for id, known in spelt(chosen).items() for word in known if letter in word]
    return f"L1 forbids {quoted(letter)}, which is in {listed(found)}" if found else ""


@rule("forbidden word", "L5 L2 M2 R1 R2 R3")
def forbidden_word(chosen: Chosen) -> str:
    """L5's word is a word that L2, M2, R1, R2 or R3 force, or part of a hyphenated one.

    The forced word stands in the reply as a whole, and L5 counts every whole occurrence, those in JSON too. ("colour"
    and "color" stand for each other and are left out.)
    """
    if "L5" not in chosen:
        return ""
    needle = folded(chosen["L5"]["word"])
    known = [(id, word) for id, own in spelt(chosen).items() for word in own if "color" not in word]
    found = [
        f"{id}'s {quoted(word)}" for id, word in known if next(occurrences(needle, folded(word)), None) is not None
    ]
    return f"L5 forbids {quoted(needle)}, which is in {listed(found)}" if found else ""


@rule("word lengths", "W2 L2 M2 R1 R2 R3")
def word_lengths(chosen: Chosen) -> str:
    """A word that L2, M2, R1, R2 or R3 force is longer than W2 allows.

    A forced word stands within one word of the reply, which is at least as long.
    """
    if "W2" not in chosen:
        return ""
    high = chosen["W2"]["high"]
    known = [(id, word) for id, own in spelt(chosen).items() for word in forms(own) if len(word) > high]
    return f"W2 allows {high} characters; too long: {listed([f'{id} {word}' for id, word in known])}" if known else ""


@rule("unique links", "W1 R4")
def unique_links(chosen: Chosen) -> str:
    """W1 with R4.

    R4 wants two sentences or more, and the last word of one again as the first of the next; W1 allows no word twice.
    """
    return "R4 repeats a word, W1 allows no repetition" if "W1" in chosen and "R4" in chosen else ""


@rule("unique keys", "W1 W2 R1")
def unique_keys(chosen: Chosen) -> str:
    """R1 has a property more often than W1 allows, and W2 is too narrow to join its key with a neighbour.

    Between a key and the strings around it stand three marks or more, so a word that holds the key and another string
    is longer than W2's high. Then the key is a word by itself once for each thing, in one spelling ("colour": two).
    """
    if not {"W1", "W2", "R1"} <= chosen.keys():
        return ""
    high, objects = chosen["W2"]["high"], chosen["R1"]["objects"]
    shortest = min(map(len, spelt({"R1": chosen["R1"]})["R1"]))
    for key in dict.fromkeys(key for own in objects.values() for key in own):
        own, spellings = key.replace("colour", "color"), 2 if "colour" in key or "color" in key else 1
        times = sum(key in properties for properties in objects.values())
        if times > spellings and len(own) + 3 + shortest > high:
            return f"R1 has the key {quoted(key)} {times} times, each a word by itself below W2's {high} characters"
    return ""


@rule("unique answers", "W1 W2 R3 N2")
def unique_answers(chosen: Chosen) -> str:
    """R3 has more people than W1 allows a key, and W2 is too narrow to join it with a further letter or digit.

    R3 allows further keys, so a key can be joined with a value before it: with a letter, three marks between, or with
    a digit, two marks between, which N2 forbids. What follows a key is a name of three letters or more, and more marks.
    Then "pet" is a word by itself for each person, and "colour", which has two spellings.
    """
    if not {"W1", "W2", "R3"} <= chosen.keys():
        return ""
    high, people = chosen["W2"]["high"], len(chosen["R3"]["people"])
    for key, spellings in (("pet", 1), ("color", 2)):
        if people > spellings and len(key) + (4 if "N2" in chosen else 3) > high:
            return f"R3 has the key {quoted(key)} {people} times, each a word by itself below W2's {high} characters"
    return ""
