"""Slow second readings of R1-R4, F1-F4, M1-M3, N1-N4 and O1-O4, from the rules, with no parse in common.

A reference takes the reply and the parameters and gives the score as an exact fraction; 1 is a pass. Sentences, words
and the plain view come from `Plainly`, lists from `reference_lists`.
"""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

from reference_constraints import Plainly, form, near, part
from reference_lists import numbered, runner
from reference_views import LIST, closes, fence_end, fence_mark, normal, unquoted

# ----------------------------------------------------------------------------------------------------------- sentences


def few(score: Fraction, found: int, fewest: int) -> Fraction:
    return score if found >= fewest else score * Fraction(found, fewest)


@lru_cache(maxsize=8)
def plainly(reply: str) -> Plainly:
    return Plainly(reply)


def forms(reply: str) -> list[list[str]]:
    return [[form(word) for word in sentence] for sentence in plainly(reply).sentences]


def lengths(reply: str) -> list[int]:
    return [len(sentence) for sentence in plainly(reply).sentences]


def r4(reply: str) -> Fraction:
    sentences, right = forms(reply), 0
    for i in range(1, len(sentences)):
        right += sentences[i - 1][-1] == sentences[i][0]
    return part(right, len(sentences) - 1) if len(sentences) > 1 else Fraction(0)


def f4(reply: str) -> Fraction:
    last = sorted(sentence[-1] for sentence in forms(reply))
    different = sum(1 for i in range(len(last)) if i == 0 or last[i] != last[i - 1])
    return few(part(different, len(last)), len(last), 2)


def m1(reply: str, word: str) -> Fraction:
    initials = [sentence[-1][0] for sentence in forms(reply)]
    right = sum(one == other for one, other in zip(initials, word.lower(), strict=False))
    return part(right, max(len(initials), len(word)))


def o1(reply: str, direction: str) -> Fraction:
    found = lengths(reply)
    steps = [two - one for one, two in itertools.pairwise(found)]
    right = len([step for step in steps if (step > 0 if direction == "increasing" else step < 0)])
    return few(part(right, len(steps)), len(found), 3)


def letters(word: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKD", word) if unicodedata.category(char) != "Mn")


def o2(reply: str) -> Fraction:
    first = [letters(sentence[0]) for sentence in forms(reply)]
    right = sum(sorted([one, two]) == [one, two] for one, two in itertools.pairwise(first))
    return few(part(right, len(first) - 1) if len(first) > 1 else Fraction(0), len(first), 3)


def o3(reply: str, short: int, long: int) -> Fraction:
    found = lengths(reply)
    right = sum(length <= short for length in found[::2]) + sum(length >= long for length in found[1::2])
    return few(part(right, len(found)), len(found), 3)


def o4(reply: str, n: int) -> Fraction:
    found, best = lengths(reply), 0
    for start in range(len(found)):
        for end in range(start + 3, len(found) + 1):
            window = found[start:end]
            if all(window[i] > sum(window[i - 2 : i]) for i in range(2, len(window))):
                best = max(best, len(window) - 2)
    return min(Fraction(1), Fraction(best, n - 2))


# --------------------------------------------------------------------------------------------------------------- words


def m2(reply: str) -> Fraction:
    words = plainly(reply).words
    low = [word.casefold() for word in words]
    scores = []
    for i in range(len(words) - 5):
        if (
            form(words[i]) == "this"
            and low[i].endswith("this")
            and low[i + 1 : i + 4] == ["text", "contains", "exactly"]
        ):
            number, noun = words[i + 4], low[i + 5]
            if number.isascii() and number.isdigit() and noun.startswith("words") and not noun[5:6].isalnum():
                scores.append(near(len(words), int(number)) if int(number) else Fraction(0))
    return min(scores, default=Fraction(0))


def m3(reply: str, n: int) -> Fraction:
    count = len(plainly(reply).words)
    distance = next(d for d in range(n + 1) if (count + d) % n == 0 or (count - d >= n and (count - d) % n == 0))
    return max(Fraction(0), 1 - Fraction(2 * distance, n))


# ------------------------------------------------------------------------------------------------------------- numbers

SPACES = "\u00a0\u202f\u2009"
SIGNS = "-+\u2212"


def digit(text: str, i: int) -> bool:
    return 0 <= i < len(text) and text[i] in "0123456789"


@lru_cache(maxsize=8)
def integers(text: str) -> list[int]:
    """The integers by a walk over the characters, from one row of digits to the next."""
    found, i = [], 0
    while i < len(text):
        if not digit(text, i):
            i += 1
            continue
        start, rows, joints = i, [], []
        while True:
            end = i
            while digit(text, end):
                end += 1
            rows.append((i, end))
            if end < len(text) and text[end] in ".," + SPACES and digit(text, end + 1):
                joints.append(text[end])
                i = end + 1
            else:
                break
        i = rows[-1][1]
        parts = [text[a:b] for a, b in rows]
        grouped = len({*joints} - {"."}) == 1 and "." not in joints[:-1] and len(parts[0]) < 4 and parts[0][0] != "0"
        whole = parts[1:-1] if joints and joints[-1] == "." else parts[1:]
        if grouped and all(len(group) == 3 for group in whole):
            if "." not in joints:
                add(found, text, start, i)
            continue
        piece: list[tuple[int, int]] = []
        for row, joint in itertools.zip_longest(rows, joints, fillvalue=""):
            piece.append(row)
            if joint != ".":
                if len(piece) == 1:
                    add(found, text, *piece[0])
                piece = []
    return found


def add(found: list[int], text: str, start: int, end: int) -> None:
    before, earlier = text[max(0, start - 1) : start], text[max(0, start - 2) : max(0, start - 1)]
    if end - start > 300 or before.isalpha() or before == "_":
        return
    if before == "." and (not earlier or earlier.isspace() or earlier in "-+\u2212($€£"):
        return
    value = int("".join(char for char in text[start:end] if char in "0123456789"))
    if before and before in SIGNS and (not earlier or earlier.isspace() or earlier in "([{<>=,;:|\"'“‘*/~≈≤≥×÷·"):
        value = -value if before != "+" else value
    found.append(value)


def n1(text: str, count: int, total: int) -> Fraction:
    found = integers(text)
    return near(len(found), count) * near(sum(found), total)


def n2(text: str) -> Fraction:
    return 1 - part(len([char for char in text if char in "0123456789"]), len(text))


def n3(text: str, n: int) -> Fraction:
    return near(len(set(integers(text))), n)


GAPS = " \t" + SPACES


def number_left(text: str, i: int) -> tuple[int | None, int]:
    """The whole number that ends before i, groups of three joined, and where it starts, with its currency sign."""
    end = i
    while digit(text, i - 1):
        i -= 1
    first = i
    while text[first - 1 : first] in (",", *SPACES) and digit(text, first - 2):
        first -= 1
        while digit(text, first - 1):
            first -= 1
    value = text[first:end]
    groups = re.split(f"[,{SPACES}]", value)
    alike = len({char for char in value if char not in "0123456789"}) == 1
    three = len(groups[0]) < 4 and groups[0][:1] != "0" and all(len(group) == 3 for group in groups[1:])
    if len(groups) > 1 and not (alike and three):
        if len(groups[-1]) == 3:
            return None, i
        first, value = i, text[i:end]
    if not value or (first and text[first - 1] == "." and digit(text, first - 2)):
        return None, first
    if text[first - 1 : first] in ("$", "€", "£", "¥"):
        first -= 1 + (text[max(0, first - 2) : first - 1] == "\\")
    return int("".join(char for char in value if char in "0123456789")), first


def number_right(text: str, i: int) -> tuple[int | None, int]:
    """The whole number that starts at i, after a sign, and where it ends."""
    sign = -1 if text[i : i + 1] in ("-", "−") else 1
    i += text[i : i + 1] in ("-", "−", "+")
    i += re.match(r"(?:\\?[$€£¥])?", text[i : i + 2]).end()
    start = i
    while digit(text, i):
        i += 1
    if i == start:
        return None, i
    grouped = re.match(f"[1-9][0-9]{{0,2}}(?:(?:,[0-9]{{3}})+|(?:[{SPACES}][0-9]{{3}})+)(?![0-9])", text[start:])
    if grouped and not re.match(f"[,{SPACES}]?[0-9]", text[start + grouped.end() :]):
        i = start + grouped.end()
    if text[i : i + 1] == "." and digit(text, i + 1):
        return None, i
    return sign * int("".join(char for char in text[start:i] if char in "0123456789")), i


def back(text: str, i: int) -> int:
    while i and text[i - 1] in GAPS:
        i -= 1
    return i


def on(text: str, i: int) -> int:
    while i < len(text) and text[i] in GAPS:
        i += 1
    return i


@lru_cache(maxsize=8)
def sums(text: str) -> list[bool]:
    """Whether each "X + Y = Z" in whole numbers, and no part of a longer one, is true: read outwards from "="."""
    found = []
    for i, char in enumerate(text):
        if char != "=":
            continue
        right, start = number_left(text, back(text, i))
        if right is None:
            continue
        if text[start - 1 : start] in ("-", "−") and text[back(text, start - 1) - 1 : back(text, start - 1)] == "+":
            right, start = -right, start - 1
        plus = back(text, start)
        if text[plus - 1 : plus] != "+":
            continue
        left, first = number_left(text, back(text, plus - 1))
        result, end = number_right(text, on(text, i + 1))
        if left is None or result is None:
            continue
        if first and text[first - 1] in "-−" and (first == 1 or not text[first - 2].isalnum()):
            left, first = -left, first - 1
        before = text[max(0, back(text, first) - 1) : back(text, first)]
        after, following = text[on(text, end) : on(text, end) + 1], on(text, on(text, end) + 1)
        if first and (text[first - 1].isalpha() or text[first - 1] == "_"):
            continue
        operand = back(text, max(0, back(text, first) - 1)) - 1
        if before == "=" or (before and before in "+-−–*/×÷·^xX" and digit(text, operand)):
            continue
        if after == "=" or (after and after in "+-−–*/×÷·^xX" and digit(text, following)):
            continue
        found.append(left + right == result)
    return found


def n4(text: str, n: int) -> Fraction:
    found = sums(text)
    return near(len(found), n) * part(sum(found), len(found))


# -------------------------------------------------------------------------------------------------------------- blocks


@lru_cache(maxsize=8)
def fenced(text: str) -> tuple[list[tuple[str, bool, list[str]]], list[str | None]]:
    """The fences as (mark, closed, lines), and the lines with None for those in a fence; an item holds its fence."""
    lines, at = text.split("\n"), 0
    fences: list[tuple[str, bool, list[str]]] = []
    outside: list[str | None] = []
    while at < len(lines):
        line = lines[at]
        item = None if fence_mark(line) else re.match(r"\s*" + LIST, line)
        quoted = line.lstrip().startswith(">")
        mark = fence_mark(unquoted(line) if quoted else line[item.end() :] if item else line)
        if not mark:
            outside.append(line)
            at += 1
            continue
        end = fence_end(lines, at, mark, quoted, bool(item))
        own = [unquoted(one) if quoted else one for one in lines[at + 1 : end]]
        closed = bool(own) and closes(own[-1], mark)
        fences.append((mark, closed, own[:-1] if closed else own))
        outside += [" ".join([line, *own]) if item else None, *[None] * (end - at - 1)]
        at = end
    return fences, outside


def f3(text: str, n: int) -> Fraction:
    fences = [fence for fence in fenced(text)[0] if fence[0][0] == "`"]
    good = [1 for _, closed, inner in fences if closed and "".join(inner).strip()]
    return near(len(fences), n) * part(len(good), len(fences))


def bullet(line: str) -> bool:
    bare = line.strip()
    if not bare.startswith("-") or (len(bare) > 1 and not bare[1].isspace()):
        return False
    return not (bare.count("-") > 2 and not bare.replace("-", "").strip())


def f2(text: str, n: int) -> Fraction:
    lines = fenced(text)[1]
    tables = {number for table in table_lines(lines) for number in table}
    items = [i for i, line in enumerate(lines) if line is not None and i not in tables and bullet(line)]
    filled = 0
    for i in items:
        own = lines[i].strip()[1:]
        indent = len(lines[i].expandtabs(4)) - len(lines[i].expandtabs(4).lstrip())
        following = lines[i + 1] if i + 1 < len(lines) and lines[i + 1] else ""
        if following.strip() and len(following) - len(following.lstrip()) > indent and not bullet(following):
            own += following
        filled += any(unicodedata.category(char)[0] in "LN" for char in own)
    return near(len(items), n) * part(filled, len(items))


def cells(line: str) -> list[str]:
    found, cell, escaped = [], "", False
    for char in line.strip():
        if char == "|" and not escaped:
            found.append(cell)
            cell = ""
        else:
            cell += char
        escaped = char == "\\"
    found.append(cell)
    if not found[0].strip() and line.strip().startswith("|"):
        found.pop(0)
    if len(found) > 1 and not found[-1].strip() and line.strip().endswith("|"):
        found.pop()
    return found


def rule(line: str) -> bool:
    inner = [cell.strip() for cell in cells(line)]
    return "|" in line and all(
        cell.replace(":", "").strip("-") == "" and "-" in cell and ":" not in cell[1:-1] for cell in inner
    )


def table_lines(lines: list[str | None]) -> list[list[int]]:
    """The numbers of the lines of each table with a rule: header, rule, rows."""
    found, i = [], 0
    while i + 1 < len(lines):
        head, under = lines[i], lines[i + 1]
        if head and under and "|" in head and rule(under) and len(cells(head)) == len(cells(under)):
            rows, j = [i, i + 1], i + 2
            while j < len(lines) and lines[j] and "|" in lines[j] and not (bullet(lines[j]) or starts(lines[j])):
                rows.append(j)
                j += 1
            found.append(rows)
            i = j
        else:
            i += 1
    return found


def starts(line: str) -> bool:
    bare = line.lstrip()
    return bare[:2] in ("* ", "+ ") or bare[0] in "•◦▪‣" or (line[0] == "#" and line.lstrip("#")[:1] == " ")


def f1(text: str, columns: int, rows: int) -> Fraction:
    lines = fenced(text)[1]
    tables = table_lines(lines)
    if not tables:
        return Fraction(0)
    head, _, *data = tables[0]
    right = sum(len(cells(lines[number])) == columns for number in (head, *data))
    return near(len(data), rows) * part(right, len(data) + 1) / len(tables)


# ---------------------------------------------------------------------------------------------------- facts and lists


def objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects from the left, each read as far as the standard library's decoder goes, and all within them."""
    decoder, at = json.JSONDecoder(), 0
    while (at := text.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            at = max(at + 1, error.pos)  # one that is cut takes with it what it holds
            continue
        held = sorted(within(value, 0), key=lambda pair: pair[0])  # stable: by level, then from the left
        yield from (inner for _, inner in held)


def within(value: Any, level: int) -> Iterator[tuple[int, dict[str, Any]]]:
    if isinstance(value, dict):
        yield level, value
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from within(inner, level + 1)


def same(value: Any) -> Any:
    if isinstance(value, dict):
        return sorted((same(key), same(inner)) for key, inner in value.items())
    if isinstance(value, list | tuple):
        return [same(inner) for inner in value]
    return value.lower().strip().replace("color", "colour") if isinstance(value, str) else f"?{value}"


def r1(text: str, objects_: dict, relations: list) -> Fraction:
    for found in objects(text):
        if isinstance(found.get("objects"), dict) and isinstance(found.get("relations"), list):
            given = []
            for relation in found["relations"]:
                if isinstance(relation, list) and len(relation) == 3 and isinstance(relation[1], str):
                    left, middle, right = relation
                    relation = [left, middle[3:] if middle.lower().startswith("is ") else middle, right]
                given.append(same(relation))
            try:
                right = sorted(given) == sorted(map(same, relations)) and same(found["objects"]) == same(objects_)
            except TypeError:
                right = False
            return Fraction(right)
    return Fraction(0)


def r3(text: str, people: list, pets: list, colours: list, clues: list) -> Fraction:
    """Holds the reply's own assignment against every clue."""
    for found in objects(text):
        low = {key.lower(): value for key, value in found.items()}
        if all(isinstance(low.get(person.lower()), dict) for person in people):
            own = {}
            for person in people:
                pair = {key.lower().replace("color", "colour"): value for key, value in low[person.lower()].items()}
                own[person] = [str(pair.get("pet")).lower(), str(pair.get("colour")).lower()]
            complete = [sorted(pair[i] for pair in own.values()) for i in range(2)] == [sorted(pets), sorted(colours)]
            others = [v for k, v in low.items() if k not in map(str.lower, people) and isinstance(v, dict)]
            strange = any(same(key) in ("pet", "colour") for other in others for key in other)
            return Fraction(complete and not strange and all(map(kept(own), clues)))
    return Fraction(0)


def kept(own: dict[str, list[str]]) -> Callable[[list[str]], bool]:
    def keeps(clue: list[str]) -> bool:
        left, words, right = clue
        pair = own[left] if left in own else next(pair for pair in own.values() if pair[0] == left)
        return (right in pair) != ("not" in words.split())

    return keeps


def r2(text: str, comparisons: list, order: list) -> Fraction:
    """The first list that names each runner once, else the first of those with the most names in place."""
    wanted, most, score = [name.lower() for name in order], -1, Fraction(0)
    for items in numbered(text):
        read = [runner(item, wanted) for item in items]
        right = sum(a == b for a, b in zip(read, wanted, strict=False))
        own = part(right, max(len(read), len(wanted)))
        if sorted(read) == sorted(wanted):
            return own
        if right > most:
            most, score = right, own
    return score


REFERENCE_2: dict[str, Callable[..., Fraction]] = {
    "R1": lambda text, objects, relations: r1(text, objects, relations),
    "R2": r2,
    "R3": r3,
    "R4": r4,
    "F1": f1,
    "F2": f2,
    "F3": f3,
    "F4": f4,
    "M1": m1,
    "M2": m2,
    "M3": m3,
    "N1": n1,
    "N2": n2,
    "N3": n3,
    "N4": n4,
    "O1": o1,
    "O2": o2,
    "O3": o3,
    "O4": o4,
}


def reference_2(id: str, reply: str, params: dict) -> Fraction:
    """The score of a reply; without a letter or digit it is 0 but for F2 and F3, which count more than words."""
    text = plainly(reply).text if id[0] == "N" or id == "R2" else normal(reply)
    if id not in ("F2", "F3") and not any(unicodedata.category(char)[0] in "LN" for char in text):
        return Fraction(0)
    return REFERENCE_2[id](text, **params)
