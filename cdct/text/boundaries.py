"""Where sentences end: rules for what models write in English, and the paper's plain rule beside them."""

from __future__ import annotations

import re

from cdct.text.spans import Span
from cdct.text.tokens import WORDLIKE

_EMOJI = "\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff\ufe0f\u200d\u20e3"
_CLOSERS = rf"""["'”’»›)\]}}*_`~†‡¹²³⁰⁴-⁹{_EMOJI}]"""
_NOTES = r"(?:\[(?:\d[\d,;– -]{0,15}|\^[^\]\s]{1,20})\]|</?[A-Za-z][A-Za-z0-9]{0,9} ?/?>)*+"
"""Notes and tags of HTML behind an end mark: "[1]", "[2, 3]", "[^a]", "</p>"."""
_MARK = "[.!?…。！？]"
_END = re.compile(rf"{_MARK}(?<!{_MARK}.){_MARK}*+(?P<close>{_CLOSERS}*+{_NOTES})")  # a set comes first: faster
_WIDE = frozenset("。！？")
_PAPER = re.compile(r"(?<=[.!?])\s+")
_ENDING = re.compile(rf"{_MARK}{_CLOSERS}*+{_NOTES}\s*+\Z")
_NEXT = re.compile(r"""\s*+(?P<open>["'“‘«‹(\[{*_`¿¡~-]*+)(?P<first>.?)""", re.DOTALL)
_FIRST_WORD = re.compile(r"[A-Za-z’']{1,12}(?![A-Za-z])")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Never the end of a sentence.
_NEVER = _set("mr mrs ms messrs mme dr prof e.g i.e eg ie cf viz vs")
# The end only before a word that often starts a sentence, when written so: "one more rep." ends one.
_TITLES = _set("INT EXT Gen Lt Sgt Capt Cmdr Col Rev Hon Gov Sen Rep Pres Supt Maj")
# Not the end before a digit.
_NUMBERED = _set("no nos nr fig figs eq eqs sec secs ch chap vol vols pp p art ver v par pt approx ca c est")
_MONTHS = _set("Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec")
# The end only before a word that often starts a sentence.
_OFTEN = _set("st mt ft jr sr inc ltd co corp bros dept univ assn est ave blvd rd al approx ca eds gmbh plc llc phd")
# The end before any word that is not in lower case.
_ETC = _set("etc misc min max hr hrs oz lb lbs")
_SHORT = _NEVER | {word.lower() for word in _TITLES | _MONTHS} | _NUMBERED | _OFTEN | _ETC
# What a letter names: "vitamin D." ends a sentence, "Michael D." does not.
_LETTERED = _set(
    """vitamin plan grade type option class group team section part point letter hepatitis item column row appendix
    exhibit room gate block case category level set variable vertex node model step sample schedule table form side line
    zone unit series phase drug choice answer door box key note chord figure word question version stage"""
)
# What goes on with the time of a day: "at 5 p.m. Monday".
_TIMES = _set(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december jan feb mar apr jun jul aug sep sept oct nov dec et est edt ct cst cdt mt mst
    mdt pt pst pdt gmt utc bst cet eastern central pacific mountain"""
)
_STARTERS = _set(
    """a an the this that these those it he she they we you i in on at by for from with to of as and but or nor so yet
    if when while after before since because although though however therefore thus then there here what who where why
    how which each every some many most all both not now today tomorrow yesterday his her its their our my your one
    two three another other others such no yes it's i'm i'll he's she's they're we're let let's can could would should
    will may might do does did is are was were has have had please once until unless despite during under over also
    finally first next only even just still meanwhile instead moreover furthermore additionally"""
)


def split(text: str, start: int = 0, end: int | None = None) -> list[Span]:
    """The spans of the sentences of `text[start:end]`, one paragraph, without white space around them.

    A sentence ends at . ! ? … with the closing quotes, brackets, emphasis marks, emoji, note numbers and tags behind
    it, before white space. It does not end
    - after a title or another abbreviation that goes on ("Dr.", "e.g.", "vs.");
    - after one that a number completes, before a digit ("No. 5", "Fig. 2", "Jan. 3");
    - after initials and dotted abbreviations ("J. K.", "U.S.", "p.m.", "Ph.D.") or company forms ("Inc."), unless a
      word follows that often starts a sentence ("The", "In"); "I." ends one, and so do "etc." before a capital, "p.m."
      before anything but a day or zone, and a letter behind what it names ("vitamin D.");
    - at an ellipsis, a spaced full stop, or a mark with a closing quote or bracket, when a lower-case word follows
      (`"Why?" she asked.`);
    - at a factorial ("0! is 1"), which a number does not follow;
    - at one letter or number that starts the paragraph like a list marker ("a. Stir.").
    Chinese and Japanese end marks need no white space. What holds no letter or digit is no sentence. Linear time.
    """
    end = len(text) if end is None else end
    found: list[Span] = []
    for mark in _END.finditer(text, start, end):
        stop = mark.end()
        if stop < end and (
            (text[stop].isspace() and (_plainly_ends(text, start, mark, end) or _ends(text, start, mark, end)))
            or mark[0][0] in _WIDE
        ):
            _add(found, text, start, stop)
            start = stop
    _add(found, text, start, end)
    return found


def split_plainly(text: str) -> list[Span]:
    """The spans of the sentences by the paper's rule: a new one starts after . ! or ? and white space (appendix Q)."""
    found: list[Span] = []
    start = 0
    for gap in _PAPER.finditer(text):
        _add(found, text, start, gap.start())
        start = gap.end()
    _add(found, text, start, len(text))
    return found


def ends(text: str) -> bool:
    """Whether a line holds the end of a sentence, in it or at its end."""
    return _ENDING.search(text[-100:]) is not None or len(split(text)) > 1


def _add(found: list[Span], text: str, start: int, end: int) -> None:
    if WORDLIKE.search(text, start, end):
        piece = text[start:end]
        bare = piece.lstrip()
        start += len(piece) - len(bare)
        found.append((start, start + len(bare.rstrip())))


def _plainly_ends(text: str, start: int, mark: re.Match[str], end: int) -> bool:
    """Whether a sentence ends at this mark by the look of it: most do, and the rules below say the same."""
    place, stop = mark.span()
    if stop + 1 == end or text[stop] != " " or not text[stop + 1].isupper():
        return False
    if text[place:stop] != ".":
        return text[place] != "."
    token = text[text.rfind(" ", start, place) + 1 : place] or "."
    return token.isalpha() and len(token) > 1 and token.lower() not in _SHORT


def _ends(text: str, start: int, mark: re.Match[str], end: int) -> bool:
    """Whether the sentence that began at `start` ends at this mark."""
    following = _NEXT.match(text, mark.end(), end)
    first = following["first"] if following else ""
    run = mark[0][: len(mark[0]) - len(mark["close"])]
    lower = first.islower()
    if lower and mark["close"] and any(char in "\"'”’»›)]" for char in mark["close"][-3:]):
        return False
    if (
        run == "!"
        and not (first.isupper() or first.isdigit())
        and text[mark.start() - 1 : mark.start()].strip("0123456789)n") == ""
    ):
        return text[mark.start() - 1 : mark.start()] == "n" and text[mark.start() - 2 : mark.start() - 1].isalpha()
    if run != ".":
        return not (lower and ("…" in run or run.endswith("..")))
    place = mark.start()
    if first == "." and not following["open"]:
        return following.end() < end and not text[following.end()].isspace()
    before = text[max(start, place - 24) : place].rsplit(None, 1)
    if place > start and text[place - 1].isspace():
        return not lower
    token = before[-1].lstrip("\"'“‘«([{*_`~") if before else ""
    if not token or not first:
        return True
    last = token.rsplit("-", 1)[-1]
    if len(last) < len(token) and ("." in last or last.lower() in _SHORT):  # "non-U.S. firms"
        token = last
    short = token.lower()
    if short in _NEVER:
        return False
    if first.isdigit() and (short in _NUMBERED or token in _MONTHS):
        return False
    if len(token) == 1 or "." in token:
        return _ends_after_letters(text, start, place, token, following)
    if short in _OFTEN or token in _TITLES:
        return not lower and _starts(text, following)
    if short in _ETC:
        return not lower
    return True


def _ends_after_letters(text: str, start: int, place: int, token: str, following: re.Match[str]) -> bool:
    """The same after an initial, a dotted abbreviation or a one-letter marker."""
    first = following["first"]
    if "." not in token:
        if place - start < 8 and not WORDLIKE.search(text, start, place - 1):
            return False
        if token == "v":
            return _starts(text, following)
        if not token.isupper() or token == "I":
            return True
        named = text[max(start, place - 24) : place - 1].rsplit(None, 1)[-1:]
        if named and named[0].lower().lstrip("\"'“‘([*_`") in _LETTERED:
            return not first.islower()
        alone = text[following.end() : following.end() + 1].isspace()  # "Q. P is true."
        return first.isdigit() or (not first.islower() and (alone or _starts(text, following)))
    parts = token.split(".")
    if not all(part.isalpha() and len(part) <= 2 for part in parts):
        return True
    if token.lower() in ("a.m", "p.m"):
        word = _FIRST_WORD.match(text, following.start("first"))
        return not first.islower() and not (word and word[0].lower() in _TIMES)
    return not first.islower() and _starts(text, following)


def _starts(text: str, following: re.Match[str]) -> bool:
    """Whether the next word is one that often starts a sentence."""
    word = _FIRST_WORD.match(text, following.start("first"))
    return word is not None and word[0].lower().replace("’", "'") in _STARTERS
