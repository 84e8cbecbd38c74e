"""What a blind search can't hit upon by edits: JSON, lists of names, tables, code, equations and a phrase."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.constraints.puzzles import solutions

if TYPE_CHECKING:
    import numpy as np

Chosen = Sequence[tuple[str, Mapping[str, Any]]]
"""The constraints of a probe: (id, parameters)."""
ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
ROMANS = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X"]
SAME = {"i": "ı", "s": "ſ", "k": "K"}
"""Letters that a pattern without regard to capitals takes for others."""
Write = Callable[[int | None], str]


class Block(str):
    """A piece of text that edits leave whole; `write` gives the same content in another form.

    What `write` takes is the number of words that a block which states one should state.
    """

    write: Write

    @classmethod
    def of(cls, write: Write, count: int | None = None) -> Block:
        block = cls(write(count))
        block.write = write
        return block

    def again(self, count: int | None = None) -> Block:
        """The block drawn anew."""
        return Block.of(self.write, count)


class Blocks:
    """The pieces that a set of constraints calls for, in forms drawn at random; with `odd`, also odd ones."""

    def __init__(self, chosen: Chosen, rng: np.random.Generator, word: Callable[[], str], odd: bool) -> None:
        self._params = {id: CONSTRAINTS[id].read(params) for id, params in chosen}
        self._rng, self._word, self._odd = rng, word, odd
        letter = self._params.get("L1", {}).get("letter", "")
        self._avoided = letter + self._params.get("L5", {}).get("word", "")[:1]

    def draw(self) -> tuple[list[Block], list[str]]:
        """Blocks that stay whole, and texts whose words may be edited one by one."""
        whole: list[Write] = []
        loose: list[str] = []
        for id, params in self._params.items():
            if id == "F1":
                loose.append(self._table(**params))
            elif id == "F2":
                loose += [f"- {self._words(0.3)}" for _ in range(params["n"])]
            elif id == "F3":
                whole += [self._code] * params["n"]
            elif id == "R2":
                loose.append(self._ranking(params["order"]))
            elif id == "M2":
                whole.append(self._claim)
            elif id == "N4":
                whole += [self._equation] * params["n"]
        found = [self._scene() if id == "R1" else self._grid() for id in ("R1", "R3") if id in self._params]
        if len(found) == 2 and self._chance(0.5):
            found = [found[0] | found[1]]
        whole += [self._json(value) for value in found]
        return [Block.of(write) for write in whole], loose

    # ------------------------------------------------------------------------------------------------------------ draws

    def _chance(self, share: float) -> bool:
        return self._rng.random() < share

    def _below(self, most: int) -> int:
        return int(self._rng.random() * most)

    def _pick(self, things: Sequence[Any]) -> Any:
        return things[self._below(len(things))]

    def _words(self, more: float) -> str:
        words = [self._word()]
        while self._chance(more) and len(words) < 8:
            words.append(self._word())
        return " ".join(words)

    # ----------------------------------------------------------------------------------------------------------- blocks

    def _table(self, columns: int, rows: int) -> str:
        empty, gap = self._pick((0.0, 0.0, 0.5, 1.0)), self._pick((" ", " ", ""))
        outer = "|" if empty else self._pick(("|", "|", ""))  # an empty cell at the end needs its pipe

        def row(cells: list[str]) -> str:
            return outer + gap + f"{gap}|{gap}".join(cells) + gap + outer

        lines = [row(["" if self._chance(empty) else self._word() for _ in range(columns)]) for _ in range(rows + 1)]
        return "\n".join([lines[0], f"{outer}{'|'.join(['-'] * columns)}{outer}" if columns > 1 else "|-|", *lines[1:]])

    def _code(self, count: int | None = None) -> str:
        lines = [self._words(0.2) if self._chance(0.8) else self._pick((")", "1", "-"))]
        if self._chance(0.1):
            lines.append(self._word())
        return "\n".join(["```", *lines, "```"])

    def _ranking(self, order: Sequence[str]) -> str:
        count, end = len(order), self._pick(("", "", "", ".", ","))
        shapes = (
            ("1. {}\n", "1) {}\n", "- 1. {}\n", "1.{}\n", "I. {}\n", "(1) {}\n"),
            ("1) {} ", "(1) {} ", "1.{} ", "first {} ", "first-{}-", "1:{} ", "1){}, "),
        )[self._chance(0.5)]
        shape = self._pick(shapes)
        marks = [
            shape.replace("1", str(i + 1)).replace("I", ROMANS[i]).replace("first", ORDINALS[i]) for i in range(count)
        ]
        text = "".join(mark.replace("{}", name + end) for mark, name in zip(marks, order, strict=True))
        lead = self._pick(("", "", "- ", "# ")) if "\n" not in shape else ""
        return lead + text.rstrip(" -\n")

    def _claim(self, count: int | None = None) -> str:
        phrase = "This text contains exactly {} words"
        if self._odd and self._chance(0.2):
            letter = self._pick(tuple(SAME))
            phrase = phrase.replace(letter, SAME[letter])
        return phrase.format(max(1, count) if count is not None else 1 + self._below(80))

    def _equation(self, count: int | None = None) -> str:
        one, other = (self._pick((self._below(10), self._below(40), -self._below(40))) for _ in range(2))
        gap = self._pick((" ", " ", ""))
        return f"{one}{gap}+{gap}{other}{gap}={gap}{one + other}"

    def _scene(self) -> dict[str, Any]:
        given = self._params["R1"]
        return {"objects": given["objects"], "relations": [list(relation) for relation in given["relations"]]}

    def _grid(self) -> dict[str, Any]:
        ((*groups,),) = solutions(*self._params["R3"].values())
        return {person: {"pet": pet, "colour": colour} for person, pet, colour in groups}

    def _json(self, value: dict[str, Any]) -> Write:
        def write(count: int | None = None) -> str:
            spaced, american = self._pick((0.0, 0.0, 0.2, 0.5, 1.0)), self._pick((0.0, 0.0, 0.5, 1.0))
            text = self._object(value, spaced, american)
            if self._odd and self._chance(0.5):
                for letter in self._avoided:
                    text = text.replace(letter, f"\\u{ord(letter):04x}")
            return f"```\n{text}\n```" if "F3" in self._params and self._chance(0.3) else text

        return write

    def _object(self, value: Any, spaced: float, american: float) -> str:
        """JSON that says the same in any order, with white space in a share of its gaps and some words respelt."""

        def gap() -> str:
            return self._pick((" ", " ", "\n")) if self._chance(spaced) else ""

        if isinstance(value, str):
            return json.dumps(value.replace("colour", "color") if self._chance(american) else value, ensure_ascii=False)
        if isinstance(value, dict):
            pairs = [(self._object(key, spaced, american), self._object(value[key], spaced, american)) for key in value]
            inner = self._shuffled([f"{key}{gap()}:{gap()}{text}" for key, text in pairs])
        else:
            inner = [self._object(one, spaced, american) for one in value]
            inner = inner if isinstance(value[0], str) else self._shuffled(inner)
        left, right = "{}" if isinstance(value, dict) else "[]"
        return left + gap() + f"{gap()},{gap()}".join(inner) + gap() + right

    def _shuffled(self, things: list[str]) -> list[str]:
        return [things[int(i)] for i in self._rng.permutation(len(things))]
