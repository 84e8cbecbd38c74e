"""Lists of relations as replies write them: `AB:ally, AC:rival` and whatever else means the same.

Nothing is repaired, and nothing that looks like a relation is passed over: then there is no reading.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby, pairwise

from cdct.ceiling.domains import BORDER, OR, Reading, runs, stands_alone, undecided, without_marks

Relations = dict[str, str]
"""Pairs of agents, letters in order, with their relation; those without one are left out."""
ALLY, RIVAL = "ally", "rival"


def pair_of(a: str, b: str) -> str:
    """The name of a pair: its letters in order."""
    return min(a, b) + max(a, b)


def render(state: Relations) -> str:
    """`AB:ally, AC:rival, BC:rival`; `none` where no pair has a relation."""
    return ", ".join(f"{pair}:{state[pair]}" for pair in sorted(state)) or "none"


_FORMS = {"ally": ALLY, "allies": ALLY, "allied": ALLY, "rival": RIVAL, "rivals": RIVAL}
_WORD = rf"(?i:{'|'.join(_FORMS)})(?![^\W_])"
_FORMS |= dict.fromkeys(("none", "undetermined", "unknown"), "none")
_FORM = rf"(?i:{'|'.join(_FORMS)})(?![^\W_])"
_PART = re.compile(
    r"(?<![^\W_])([A-Z])(?:[ \t\"'`*_]{0,4}(?:[-–,&/|]|and\b)[\s\"'`*_]{0,4}|[ \t\"'`*_]{0,4})([A-Z])(?![^\W_])"
    r"[\s\"'`*_,|()\[\]]{0,8}"
    r"(?:[:=][\s\"'`*_|(\[]{0,6}(\w{0,20})|"
    rf"(?:(->|→|are\b(?:\snow\b)?)[\s\"'`*_|(\[]{{0,6}}|(?<=[\W_]))({_FORM}))",
    re.ASCII,
)
"""Two agents and a relation: after a colon any word, so that a value that is none is not passed over."""
_CHANGED = re.compile(rf"[\s\"'`*_]{{0,6}}(?:->|→|=)[\s\"'`*_]{{0,6}}{_FORM}")
_OR = re.compile(rf"(?:{OR}|[\"'`*_]?[ \t]?\|[ \t]?[\"'`*_]?){_FORM}|[\s\"'`*_)]{{0,6}}\?")
_BARE = re.compile(r"(?<![^\W_])[A-Z]{2,10}[\s,;&|\"'`*\])}]{1,9}(?:and\s)?\Z")
"""Agents before the first pair without a relation of their own: one value for several pairs."""
_MORE = re.compile(
    r"[\s,;&|/\"'`*\])}–-]{0,9}(?:and\s)?[A-J]{1,2}(?=[ \t\"'`*_]{0,4}(?:[,;&|)\]}\n]|\Z|:\s{0,4}\Z))", re.ASCII
)
"""Agents after the last pair without a relation."""
_UNDER = re.compile(rf"(?<![^\W_]){_WORD}[ \t,;|(\[\"'`*_-]{{1,9}}\Z")
"""A relation before the first pair, which may be meant as a heading."""
_LOOSE = re.compile(
    rf"(?:[|:=,;(\[{{>\"'→]|(?<![^\W_])[A-Z](?=\s))[\s\"'`*_(\[|]{{0,6}}(?:is\s)?{_WORD}"
    r"(?=[\s\"'`*_]{0,6}(?:[|,;.)\]}\"'`]|\n|\Z))",
    re.ASCII,
)
"""A relation as the value of anything: a pair, one agent, three, a cell of a table."""
_MENTION = re.compile(r"(?<![^\W_])([A-J])(?: and |: (?:allies|rivals) )?([A-J])(?![^\W_])", re.ASCII)
"""A pair that is named, be it without a relation."""
_OVER = re.compile(r"[ \t\"'`*_]{0,4}(?:[.:;\n→)\]]|->)|[\"']\s?,")
"""The end of a sentence, of a remark in brackets or of a field of JSON."""
_HEADING = re.compile(
    rf"(?<![^\W_])({_WORD})(?: pairs?\b)?[\"'`*_]{{0,4}}[ \t]?[:=]|"
    rf"^[ \t#>*_|•\"'`-]{{0,9}}({_WORD})(?: pairs?\b)?[ \t\"'`*_]{{0,4}}(?:\||(?=[(\[\n])|[-–] )",
    re.ASCII | re.MULTILINE,
)
_MEMBER = re.compile(
    r"(?<![^\W_])([A-Z])(?: ?[-–&/] ?| and )?([A-Z])(?![^\W_])|"
    r"[(\[]\s?[\"']?([A-Z])[\"']?,\s?[\"']?([A-Z])[\"']?\s?[)\]]|"
    r"(?<![^\W_])(?i:none)(?![^\W_])|\[\s?\]|\(\s?\)|\{\s?\}",
    re.ASCII,
)
"""A pair under a heading that says its relation, or a sign that there is none."""
_SLOT = re.compile(r"\bP[ \t]?(\d{1,2})\b[ \t]?[:=]?")
_BRACKETS = re.compile(r"[\])}][^\[({\])}]*[\[({]")
_BORDERS = (
    *(re.compile(r"\n[ \t>]*\n"), re.compile(r"\n"), _BRACKETS),
    *(re.compile(r"/"), re.compile(r";"), re.compile(r"-"), re.compile(r"\band\b"), re.compile(r"\|")),
)
"""What can part two lists, the clearest first."""
_REMARK = re.compile(rf"\b(?!{_FORM})(?!and\b|are\b)[^\W\d_]*[a-z]{{2}}")
_AROUND = " \t\r\n\"'`*_[](){}."


def _grouped(body: str) -> str | None:
    """A text with each pair under a heading ("Allies: AB, CD") given its relation; None where a heading has no pair."""
    headings = list(_HEADING.finditer(body))
    words = {heading.start(heading.lastindex or 0) for heading in headings}

    def has_its_own(at: int) -> bool:
        part = _PART.match(body, at)
        return part is not None and (part[3] is not None or _is_sentence(part) or part.start(5) not in words)

    out, done = [], 0
    for place, heading in enumerate(headings):
        begin, until = heading.end(), headings[place + 1].start() if place + 1 < len(headings) else len(body)
        members = next(iter(runs(_MEMBER, body[begin:until])), [])
        if not members or any(map(str.isalnum, body[begin : begin + members[0].start()])):
            return None
        own = [has_its_own(begin + member.start()) for member in members]
        if own[0]:
            continue  # the pairs have relations of their own: a title
        pairs = ["".join(filter(None, member.groups())) for member in members]
        if any(own) or ("" in pairs and len(pairs) > 1):
            return None
        kind = _FORMS[(heading[1] or heading[2]).lower()]
        out += [body[done : heading.start()], ", ".join(f"{pair}:{kind}" for pair in pairs if pair)]
        done = begin + members[-1].end()
    return "".join([*out, body[done:]])


def _is_sentence(part: re.Match[str]) -> bool:
    return (part[4] or "").startswith("are")


def _without_slots(text: str) -> tuple[str, bool]:
    """A text without the numbers of slots, a border where they begin anew; whether it had any."""
    last = 0

    def mark(match: re.Match[str]) -> str:
        nonlocal last
        before, last = last, int(match[1])
        return " " if last > before else BORDER

    whole = _SLOT.sub(mark, text)
    return whole, last > 0


def _lists(run: Sequence[re.Match[str]], body: str, slots: bool) -> list[list[re.Match[str]]]:
    """A run cut into the lists that it holds, such as a state before and one after.

    One cell of a row is one list, and so is a bracket where one of them holds several pairs. Where a pair comes again
    beyond any other border, that border parts lists, too; but not with another relation: that is a contradiction.
    """
    gaps = [body[one.end() : two.start()] for one, two in pairwise(run)]
    cuts = {place for place, gap in enumerate(gaps, start=1) if "|" in gap and "\n" not in gap}
    closed = [place for place, gap in enumerate(gaps, start=1) if _BRACKETS.search(gap)]
    if not slots and closed and len(closed) < len(gaps):
        cuts |= set(closed)
    out = []
    for begin, end in pairwise([0, *sorted(cuts), len(run)]):
        borders: list[int] = []
        seen: dict[str, int] = {}
        for place in range(begin, end):
            before = seen.setdefault(pair_of(run[place][1], run[place][2]), place)
            if before < place and run[before].group(3, 5) == run[place].group(3, 5):
                kind = next((kind for kind in _BORDERS if any(map(kind.search, gaps[before:place]))), None)
                borders = [at + 1 for at in range(begin, end - 1) if kind and kind.search(gaps[at])]
                break
        out += [list(run[one:two]) for one, two in pairwise([begin, *borders, end])]
    return out


def _restates(run: Sequence[re.Match[str]], body: str) -> bool:
    """Whether among sentences one is an operation that the others leave out: then none of them says if it is in force.

    The first or the last one, told apart from the others by the word "now", or all on the line of a label.
    """
    if len(run) < 2 or not _is_sentence(run[0]):
        return False
    now = ["now" in part[4] for part in run]
    for place, other in ((0, 1), (-1, -2)):
        one, two = sorted((run[place], run[other]), key=re.Match.start)
        gap = body[one.end() : two.start()]
        apart = "\n" in gap if place or now[other] else _OVER.match(gap)
        if now[place] and apart and not (now[other] and (place or "\n" in body[: one.start()])):
            others = run[1:] if place == 0 else run[:-1]
            if pair_of(*run[place].group(1, 2)) not in {pair_of(*part.group(1, 2)) for part in others}:
                return True
    return False


def _is_told(run: Sequence[re.Match[str]], one: Relations | str, state: Relations) -> bool:
    """Whether a run is one operation whose relation a later list has, too."""
    told = len(run) == 1 and "now" in (run[0][4] or "")
    return told and not isinstance(one, str) and one.items() <= state.items()


def _relations(run: Sequence[re.Match[str]], body: str) -> Relations | str:
    """The relations that a run of pairs states, undetermined ones as "none", or the reason why there are none."""
    before = max(0, run[0].start() - 25), run[0].start()
    own = run[0][3] is not None or run[0][4]
    if _BARE.search(body, *before) or _MORE.match(body, run[-1].end()) or (not own and _UNDER.search(body, *before)):
        return "shape"
    if _restates(run, body):
        return "ambiguous"
    stated: Relations = {}
    for part in run:
        kind = _FORMS.get((part[3] or part[5] or "").lower())
        if kind is None:
            return "shape"
        if stated.setdefault(pair_of(part[1], part[2]), kind) != kind:
            return "conflict"
    return stated


def _elsewhere(found: Sequence[Sequence[re.Match[str]]], text: str) -> set[str]:
    """The pairs that a text names beside its last list; not that of the one operation that is told before a list."""
    parts = list(_PART.finditer(text))
    told = [
        pair_of(part[1], part[2]) for part in parts[:-1] if "now" in (part[4] or "") and _OVER.match(text, part.end())
    ]
    named = {pair_of(part[1], part[2]) for run in found[:-1] for part in run}
    named |= {pair_of(*match.groups()) for match in _MENTION.finditer(text)}
    return named - set(told) if len(told) == 1 else named


def read(text: str) -> Reading:
    """The list of relations in a text, or the pairs under "Allies" and "Rivals"; "none" or empty brackets alone are {}.

    A list has no fixed length: of several the last one is taken, and only if it has every pair that the text names, but
    for an operation told before it; else a shorter one could be the state, or a remark about what has changed. Other
    letters are read as agents.
    """
    core = text.strip(_AROUND)
    if core.lower() == "none" or (not core and ("[" in text or "{" in text)):
        return Reading({}, () if text.strip() == render({}) else ("layout",))
    whole, slots = _without_slots(text)
    bare, remarks = without_marks(whole, _REMARK)
    body = _grouped(bare)
    if body is None:
        return Reading(None, ("shape",))
    found = [
        parts
        for run in runs(_PART, body)
        for _, alike in groupby(run, key=_is_sentence)  # a sentence before a list is none of it
        for parts in _lists(list(alike), body, slots)
    ]
    ends = {part.end() for run in found for part in run}
    if any(match.end() not in ends for match in _LOOSE.finditer(body)):
        return Reading(None, ("shape",))
    if not found:
        named = [match[0] for match in _MENTION.finditer(whole)]
        if body == bare:
            return Reading(None, ("shape" if ":" in "".join(named) else "absent",))
        return Reading(None, ("ambiguous",)) if named else Reading({}, ("layout",))
    if any(way.match(body, run[-1].end()) for run in found for way in (_CHANGED, _OR)):
        return Reading(None, ("shape",))
    lists = [_relations(run, body) for run in found]
    run, stated = found[-1], lists[-1]
    if isinstance(stated, str):
        return Reading(None, (stated,))
    if any(undecided(one, run, body) for one, state in zip(found[-2:-1], lists[-2:-1], strict=True) if state != stated):
        return Reading(None, ("ambiguous",))
    others = [one for parts, one in zip(found[:-1], lists, strict=False) if not _is_told(parts, one, stated)]
    if _elsewhere(found, whole) - set(stated) or (_is_sentence(run[0]) and any(one != stated for one in others)):
        return Reading(None, ("ambiguous",))
    state = {pair: kind for pair, kind in sorted(stated.items()) if kind != "none"}
    flags = ["layout"] if text.strip() != render(state) else []
    if [*stated] != sorted(stated) or any(part[1] > part[2] for part in run):
        flags.append("order")
    if any((part[3] or part[5]) not in (ALLY, RIVAL) for part in run):
        flags.append("wording")
    if len(run) == 1 and "now" in (run[0][4] or ""):
        flags.append("told")
    if len(run) > len(stated):
        flags.append("repeated")
    if remarks or not stands_alone(run, body):
        flags.append("prose")
    if any(other != stated for other in lists):
        flags.append("several")
    return Reading(state, tuple(flags))
