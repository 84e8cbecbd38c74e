r"""A slow second reading of a reply's views, line by line, from the rules in words and with no parse in common.

JSON objects are cut out first (one character stands for each), then every line is given a kind, then marks are taken
off, then lines become paragraphs and tokens sentences. Which words are abbreviations, and which often start a sentence,
is a list and no rule: it is the package's own.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache

from cdct.text.boundaries import _ETC as LOWER_GOES_ON
from cdct.text.boundaries import _LETTERED as LETTERED
from cdct.text.boundaries import _MONTHS as MONTHS
from cdct.text.boundaries import _NEVER as ALWAYS
from cdct.text.boundaries import _NUMBERED as BEFORE_DIGITS
from cdct.text.boundaries import _OFTEN as OFTEN
from cdct.text.boundaries import _SHORT as KNOWN
from cdct.text.boundaries import _STARTERS as STARTERS
from cdct.text.boundaries import _TIMES as TIMES
from cdct.text.boundaries import _TITLES as TITLES

HOLD = 0xF0000
"""The first of the characters that stand for JSON objects."""
ENDS = ".!?…。！？"
CLOSERS = "\"'”’»›)]}*_`~†‡¹²³⁰⁴⁵⁶⁷⁸⁹"


def normal(reply: str) -> str:
    return unicodedata.normalize("NFC", reply).replace("\r\n", "\n").replace("\r", "\n").strip()


@lru_cache(maxsize=10_000)
def alphanumeric(char: str) -> bool:
    return unicodedata.category(char)[0] in "LN" and char != "\u02bc"


@lru_cache(maxsize=100_000)
def wordlike(text: str) -> bool:
    return any(map(alphanumeric, text))


def held(char: str) -> bool:
    return HOLD <= ord(char) < HOLD + 0xFFFE


# -------------------------------------------------------------------------------------------------------------- objects


def without_objects(text: str) -> tuple[str, list[str]]:
    """The text with one character for each outermost JSON object, and the objects."""
    decoder, at, parts, found = json.JSONDecoder(), 0, [], []
    while (brace := text.find("{", at)) >= 0:
        parts.append(text[at:brace])
        try:
            _, end = decoder.raw_decode(text, brace)
        except json.JSONDecodeError as error:
            end = max(brace + 1, error.pos) if re.match(r'\{\s*"[^"\n]*"\s*:', text[brace:]) else brace + 1
            parts.append(text[brace:end])
        else:
            parts.append(chr(HOLD + len(found)))
            found.append(text[brace:end])
        at = end
    return "".join([*parts, text[at:]]), found


# ---------------------------------------------------------------------------------------------------------------- lines

LIST = r"(?:[-*+][ \t]+|[•◦▪‣][ \t]*|(?:\*\*)?(?:\(\d{1,3}\)|\d{1,3}\\?[.)])(?:\*\*)?[ \t]+)"
BULLET = re.compile(r"\s*(?:[-*+](?:\s|$)|[•◦▪‣])")
NUMBER = re.compile(r"\s*(?:\*\*)?(?:\((\d{1,3})\)|(?:(\d{1,3})|[IVX]{1,5})\\?[.)]{1,2})(?:\*\*)?(?:\s+|$)")


def unquoted(line: str) -> str:
    while line.lstrip().startswith(">"):
        line = line.lstrip()[1:]
    return line


def fence_mark(line: str) -> str:
    """The row of backticks or tildes with which a line opens a fence, or ""."""
    bare = line.strip()
    run = len(bare) - len(bare.lstrip(bare[:1])) if bare else 0
    opens = run >= 3 and (bare[0] == "~" or (bare[0] == "`" and "`" not in bare[run:]))
    return bare[:run] if opens else ""


def closes(line: str, mark: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(mark) and bare == mark[0] * len(bare)


def cells(line: str) -> int:
    """How many cells a row has: the pipes that have no backslash before them part them."""
    bare = line.strip()
    pipes = [i for i, char in enumerate(bare) if char == "|" and bare[max(0, i - 1) : i] != "\\"]
    outer = bare.startswith("|") + (len(bare) > 1 and bare.endswith("|") and not bare.endswith("\\|"))
    return len(pipes) + 1 - outer


def ruler(line: str) -> bool:
    inner = [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
    return "|" in line and all(re.fullmatch(r":?-+:?", cell) for cell in inner)


def row(line: str) -> bool:
    bare = line.strip()
    return len(bare) > 1 and bare[0] == bare[-1] == "|"


def heading(line: str) -> bool:
    return re.match(r" {0,3}#{1,6}(\s|$)", line) is not None


def breaks(line: str) -> bool:
    bare = re.sub(r"\s", "", line)
    return len(bare) >= 3 and len(set(bare)) == 1 and bare[0] in "-*_=" and (bare[0] != "=" or line.split() == [bare])


def kinds(lines: list[str]) -> list[str]:
    """The kind of each line: blank, fence, table, heading, break, bullet, numbered, json or text."""
    found = [""] * len(lines)
    at, last = 0, 0
    while at < len(lines):
        line, end = lines[at], at + 1
        item = re.match(r"\s*" + LIST, line)
        quoted = line.lstrip().startswith(">")
        inner = unquoted(line) if quoted else line[item.end() :] if item and not fence_mark(line) else line
        above = found[at - 1] if at else ""
        if not line.strip():
            found[at] = "blank"
        elif mark := fence_mark(inner):
            found[at] = "bullet" if item and BULLET.match(line) and not quoted and not fence_mark(line) else "fence"
            end = fence_end(lines, at, mark, quoted, bool(item) and not fence_mark(line))
            found[at:end] = ["fence"] * (end - at)
        elif not quoted and (size := table_size(lines, at)):
            end = at + size
            found[at:end] = ["table"] * size
        elif all(map(held, re.sub(r"[\s]", "", line))):
            found[at] = "json"
        elif not quoted and heading(line):
            found[at] = "heading"
        elif not quoted and breaks(line):
            found[at] = "break"
            lone = above == "text" and (at < 2 or found[at - 2] != "text")
            if lone and line.strip()[0] in "-=" and line[0] in "-=" and not has_end(lines[at - 1]):
                found[at - 1] = "heading"
        elif BULLET.match(inner if quoted else line) or (quoted and (row(inner) or heading(inner.lstrip()))):
            found[at] = "bullet"
            if not quoted:
                end = item_end(lines, at)
                found[at:end] = ["bullet"] * (end - at)
        elif (number := NUMBER.match(inner if quoted else line)) and (
            quoted or not wraps(number, last, above, lines, at)
        ):
            found[at] = "numbered"
            last = last if quoted else int(number[1] or number[2] or 0)
        else:
            found[at] = "heading" if not quoted and title(line, above, at + 1 == len(lines)) else "text"
        at = end
    return found


def fence_end(lines: list[str], at: int, mark: str, quoted: bool, item: bool) -> int:
    for end in range(at + 1, len(lines)):
        if quoted and not lines[end].lstrip().startswith(">"):
            return end
        if closes(unquoted(lines[end]) if quoted else lines[end], mark):
            return end + 1
    outside = [end for end in range(at + 1, len(lines)) if lines[end].strip() and not lines[end][0].isspace()]
    return outside[0] if item and outside else len(lines)


def table_size(lines: list[str], at: int) -> int:
    """How many lines the table has that starts here; 0: none."""
    rest, size = lines[at + 1 :], 1
    if "|" in lines[at] and rest and ruler(rest[0]) and cells(rest[0]) == cells(lines[at]):
        size = 2
        while size <= len(rest) and "|" in rest[size - 1]:
            if BULLET.match(rest[size - 1]) or heading(rest[size - 1]):
                break
            size += 1
        return size
    while row(lines[at + size - 1]) and size <= len(rest) and row(rest[size - 1]):
        if size < len(rest) and ruler(rest[size]) and cells(rest[size]) == cells(rest[size - 1]):
            break
        size += 1
    return size if size > 1 else 0


def item_end(lines: list[str], at: int) -> int:
    indent = len(lines[at].expandtabs(4)) - len(lines[at].expandtabs(4).lstrip())
    for end in range(at + 1, len(lines)):
        line = lines[end]
        own = len(line) - len(line.lstrip())
        if not line.strip() or own <= indent or "|" in line:
            return end
        if BULLET.match(line) or NUMBER.match(line) or line.strip()[:3] in ("```", "~~~"):
            return end
    return len(lines)


def wraps(number: re.Match[str], last: int, above: str, lines: list[str], at: int) -> bool:
    own = int(number[1] or number[2] or 0)
    ended = not at or lines[at - 1].rstrip(" \t*_\"'”’)")[-1:] in (*ENDS, ":", ";", "：", "；", "")
    return above == "text" and own not in (0, 1, last + 1) and not ended


def title(line: str, above: str, last: bool) -> bool:
    bare = line.strip()
    inner = bare.rstrip(" \t:")
    for mark in ("**", "__"):
        if bare.startswith(mark) and inner.endswith(mark) and inner.count(mark) == 2 and len(inner) > 4:
            return above != "text" and not last and not has_end(inner) and not bare[2].isspace()
    return False


def has_end(text: str) -> bool:
    """Whether a sentence ends in it."""
    found = sentences(text.split())
    tail = re.sub(r"(\[[^\]\s]*\]|<[^<>]*>)+$", "", text.rstrip()).rstrip(CLOSERS)
    return len(found) > 1 or (tail[-1:] in tuple(ENDS) and tail != "")


# ---------------------------------------------------------------------------------------------------------------- marks


def unmarked(text: str) -> str:
    """Without the emphasis marks and ticks that come in pairs: ticks from the left, then the innermost pairs."""
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(found[2])
        return chr(0xE000 + len(kept) - 1)

    text = re.sub(r"(?<![`\\])(`+)(?!`)(.*?)(?<!`)\1(?!`)", keep, text, flags=re.DOTALL)
    star = r"(?<![*\\])(\*{1,3})(?![*\s])([^*]+?)(?<![*\s])\1(?!\*)"
    line = r"(?<![\w\\])(_{1,3})(?![_\s])([^_]+?|[^_]+?(?:\w_+\w[^_]*?)+)(?<![_\s])\1(?!\w)"
    text = re.sub(r"(?<!\*)\*{3}(?!\s)([^*]+)\*([^*]+)\*\*(?!\*)", r"\1\2", text)
    text = re.sub(r"(?<!\*)\*\*(?!\s)([^*]+)\*([^*]+)\*{3}(?!\*)", r"\1\2", text)
    loose = r"(?<![*\\])(\*{2})(?![*\s])(.+?)(?<![*\s])\1(?!\*)"
    for pattern in (star, line, star, loose):
        before = ""
        while before != text:
            before = text
            text = re.sub(pattern, lambda found: times(found) or found[2], text, flags=re.DOTALL)
    text = re.sub(r"(?<![*\\])\*\*(?![\s*])([^*]+)(?<!\s)\*(?!\*)", r"*\1", text)  # the longer row keeps a star
    text = re.sub(r"(?<![*\\])\*(?![\s*])([^*]+)(?<!\s)\*\*(?!\*)", r"\1*", text)
    return "".join(kept[ord(char) - 0xE000] if 0xE000 <= ord(char) < 0xE000 + len(kept) else char for char in text)


def times(found: re.Match[str]) -> str:
    """The whole match where its stars stand between digits."""
    text, start, end = found.string, found.start(), found.end()
    inner = found[2][:1].isdigit() and text[max(0, start - 1) : start].isdigit()
    outer = found[2][-1:].isdigit() and text[end : end + 1].isdigit()
    return found[0] if found[1][0] == "*" and (inner or outer) else ""


class Views:
    """The plain view, and the paragraphs of the prose: for each its sentences, for each of these its tokens."""

    def __init__(self, reply: str) -> None:
        self.clean = normal(reply)
        text, self.objects = without_objects(self.clean)
        lines = text.split("\n")
        self.kinds = kinds(lines)
        self._bare = self._without_marks(lines)
        restored = "\n".join(self._bare)
        for i, found in enumerate(self.objects):
            restored = restored.replace(chr(HOLD + i), found)
        self.plain = restored
        self.paragraphs = [found for block in self._blocks() if (found := self._sentences(block))]

    def _without_marks(self, lines: list[str]) -> list[str]:
        """The lines as they stand in the plain view."""
        done, at = [], 0
        while at < len(lines):
            end = at + 1
            if self.kinds[at] in ("fence", "break", "blank"):
                done.append(lines[at])
            elif self.kinds[at] == "heading" and heading(lines[at]):
                done.append(unmarked(re.sub(r"(^|\s+)#+\s*$", "", re.sub(r"^ {0,3}#{1,6}(\s+|$)", "", lines[at]))))
            else:
                while self.kinds[at] == "text" and end < len(lines) and self.kinds[end] == "text":
                    end += 1
                pieces = re.split(f"([{chr(HOLD)}-{chr(HOLD + 0xFFFD)}])", "\n".join(lines[at:end]))
                done += "".join(map(unmarked, pieces)).split("\n")
            at = end
        return done

    def _blocks(self) -> list[list[tuple[str, str]]]:
        """Rows of neighbouring lines of prose with their kinds."""
        found: list[list[tuple[str, str]]] = [[]]
        for line, kind in zip(self._bare, self.kinds, strict=True):
            content = "".join(char for char in line if not held(char))
            if kind == "numbered" and not item_ends(unquoted(content)):
                kind = "item"
            if kind in ("text", "numbered") and unquoted(content).strip():
                found[-1].append((kind, unquoted(line)))
            else:
                found.append([])
        return found

    def _sentences(self, block: list[tuple[str, str]]) -> list[list[str]]:
        found: list[list[str]] = []
        tokens: list[str] = []
        for kind, line in block:
            if kind == "numbered":
                found += sentences(tokens)
                tokens = []
            for piece in without_numbers(line, kind == "numbered"):
                tokens += re.sub("([。！？]+)", r"\1 ", "".join(char for char in piece if not held(char))).split()
                if piece.endswith("\n"):
                    found += sentences(tokens)
                    tokens = []
            tail = line.rstrip(" \t.,;")
            if tail and held(tail[-1]):
                found += sentences(tokens)
                tokens = []
        return found + sentences(tokens)


def item_ends(line: str) -> bool:
    """Whether a numbered line holds the end of a sentence, its numbers left out."""
    number = NUMBER.match(line)
    content = line[number.end() :] if number else line
    following = int(number[1] or number[2] or 0) + 1 if number else 0
    while following > 1 and (found := re.search(rf"(?<=\s){following}[.)](?=\s)", content)):
        if not has_end(content[: found.start()].rstrip() + " x") and not has_end(content[: found.start()]):
            content = content[: found.start()] + content[found.end() :]
            following += 1
        else:
            break
    return has_end(content)


def without_numbers(line: str, numbered: bool) -> list[str]:
    """The line in pieces without list numbers; a piece after which a sentence must end has a line feed at its end."""
    tokens = re.findall(r"\s*\S+", line)
    marks: list[tuple[int, int, str]] = []
    for i, token in enumerate(tokens):
        shape = re.fullmatch(r"(\()?(\d{1,3})\\?([.)])", token.strip().strip("*"))
        if shape and (bool(shape[1]) <= (shape[3] == ")")) and i + 1 < len(tokens):
            marks.append((i, int(shape[2]), (shape[1] or "") + shape[3]))
    lists: list[list[tuple[int, int, str]]] = []
    roman = numbered and not any(place == 0 for place, _, _ in marks)
    for place, number, shape in [] if roman else marks:
        before = re.sub(r"[\"'”’)*_\]]+$", "", tokens[place - 1].strip()) if place else ""
        last = before[-1:] or (")" if place and tokens[place - 1].strip()[-1:] in ")]" else "")
        joined = place > 1 and tokens[place - 1].strip() in ("and", "or", "then")
        comma = joined and tokens[place - 2].strip()[-1:] in ",;"
        bracket = place > 0 and tokens[place - 1].strip().rstrip("*")[-1:] in (")", "]")
        current = lists[-1] if lists else []
        if current and current[-1][1:] == (number - 1, shape) and (last in tuple(".!?…,;") or comma or bracket):
            if wordlike("".join(tokens[current[-1][0] + 1 : place])):
                current.append((place, number, shape))
                continue
        elif (place == 0 and numbered) or (number == 1 and (place == 0 or last in tuple(".!?…:;"))):
            lists.append([(place, number, shape)])
    gone = {place for found in lists if len(found) > 1 for place, _, _ in found} | ({0} if numbered else set())
    pieces, start = [], 0
    for place in sorted(gone):
        ended = place > 0 and has_end(tokens[place - 1])
        pieces.append("".join(tokens[start:place]) + ("\n" if ended else ""))
        start = place + 1
    return [*pieces, "".join(tokens[start:])]


# ------------------------------------------------------------------------------------------------------------ sentences


def sentences(tokens: list[str]) -> list[list[str]]:
    """The tokens of each sentence that has a word; what has none belongs to no sentence."""
    found, current = [], []
    for i, token in enumerate(tokens):
        current.append(token)
        if i + 1 == len(tokens) or ends_after(current, tokens[i + 1 :]):
            found.append([one for one in current if wordlike(one)])
            current = []
    return [sentence for sentence in found if sentence]


def ends_after(before: list[str], after: list[str]) -> bool:
    token = re.sub(r"(\[[\d^][^\]\s]*\]|</?[A-Za-z]\w*/?>)+$", "", before[-1])
    core = "".join(char for char in token if unicodedata.category(char) not in ("So", "Sk", "Cf", "Mn"))
    core, closers = core.rstrip(CLOSERS), core[len(core.rstrip(CLOSERS)) :]
    if core[-1:] not in tuple(ENDS) or not core:
        return False
    opening = after[0].lstrip("\"'“‘«‹([{*_`¿¡~-")
    first = opening[:1] or "x"
    word = re.match(r"[A-Za-z’']*", opening)[0].lower().replace("’", "'")
    run = core[len(core.rstrip(ENDS)) :]
    stem = core[: len(core) - len(run)].lstrip("\"'“‘«([{*_`~")
    if first.islower() and any(char in "\"'”’»›)]" for char in closers):
        return False
    if run == "!" and not (first.isupper() or first.isdigit()) and (stem[-1:].isdigit() or stem[-1:] in (")", "n")):
        return stem[-1:] == "n" and stem[-2:-1].isalpha()
    if run != ".":
        return not (first.islower() and (run.endswith("..") or "…" in run))
    if opening[:1] == "." and opening == after[0]:  # a spaced row of full stops
        return opening.lstrip(".") != "" and len(opening) > 1
    if not stem:
        return not first.islower()
    piece = stem.rsplit("-", 1)[-1]
    stem = piece if "." in piece or piece.lower() in KNOWN else stem
    low = stem.lower()
    if low in ALWAYS or (first.isdigit() and (low in BEFORE_DIGITS or stem in MONTHS)):
        return False
    if re.fullmatch(r"[A-Za-z]{1,2}(\.[A-Za-z]{1,2})+", stem):
        if low in ("a.m", "p.m"):
            return not first.islower() and word not in TIMES
        return not first.islower() and word in STARTERS
    if len(stem) == 1:
        if not any(map(wordlike, before[:-1])):
            return False
        if not stem.isupper() or stem == "I":
            return stem != "v" or word in STARTERS
        if before[-2].lower().strip(CLOSERS + "(\"“'") in LETTERED:
            return not first.islower()
        alone = len(opening) == 1
        return first.isdigit() or (not first.islower() and (alone or word in STARTERS))
    if low in OFTEN or stem in TITLES:
        return not first.islower() and word in STARTERS
    return not (low in LOWER_GOES_ON and first.islower())
