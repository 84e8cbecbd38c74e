"""Sets of types that no reply can keep, whatever their parameters: minimal ones, with the rules that prove each.

All sets of up to `LARGEST` types within the ranges from which parameters are drawn. Larger ones are sums of many parts
that S4 or S1 can't hold; they are met when parameters are drawn. Where several rules are named, every draw breaks one
of them: with S6, L4 and O2, say, only words of three letters are in order, and S3 needs four sentences.
"""

from __future__ import annotations

LARGEST = 8
_COUNT = "sentence count, sentence minimum"

HARD = {
    "N1 N2": "digits",
    "N2 N3": "digits",
    "N2 N4": "digits",
    "M2 N2": "digits",
    "W1 R4": "unique links",
    "W1 W2 R1": "unique keys",
    "L3 L4": "initials",
    "L3 R4 M1": "initials",
    "L4 R4 M1": "initials",
    "S6 O1": "sentence lengths",
    "O1 O3": "sentence lengths",
    "S2 S6 O3 O4": f"{_COUNT}, sentence lengths",
    "S6 L4 O3 O4": f"{_COUNT}, sentence lengths",
    "S6 M1 O3 O4": f"{_COUNT}, sentence lengths",
    "S3 S6 L4 O2": f"{_COUNT}, initials",
    "S6 L4 O2 O4": f"{_COUNT}, initials, sentence lengths",
    "S3 S5 F1 F2 F3": "lines",
    "S1 S6 W3 O3 O4": "words, sentence minimum, sentence lengths",
    "S1 S6 W2 R1 O3 O4": "words, sentence minimum, sentence lengths, word lengths",
    "S1 S3 W2 W3 R1 R3 O3": "words, sentence lengths, word lengths",
    "S1 S6 W2 W3 R1 R3 O4": "words, sentence minimum, sentence lengths, word lengths",
    "S1 W2 W3 R1 R3 O3 O4": "words, sentence lengths, word lengths",
    "S1 W2 W3 R1 F2 O3 O4": "words, sentence lengths, word lengths",
    "S1 S3 S6 W2 W3 R1 F2 O3": "words, sentence minimum, sentence lengths, word lengths",
    "S1 S3 W2 W3 R1 R3 O1 O4": "words, sentence lengths, word lengths",
    "S4 S6 W3 R1 R3 O3 O4": "characters, sentence minimum, sentence lengths",
    "S3 S4 W2 W3 R1 R3 M2 O3": "characters, sentence lengths, word lengths",
    "S4 W2 W3 R1 R3 M2 O3 O4": "characters, sentence lengths, word lengths",
    **{
        f"S4 S6 W2 R1 R3 O3 O4 {id}": "characters, sentence minimum, sentence lengths, word lengths"
        for id in ("L2", "F1", "F2", "F3", "M2")
    },
}
"""The sets, and for each the rules of which every draw of their parameters breaks one."""

HARD_SETS = frozenset(frozenset(ids.split()) for ids in HARD)
HARD_PAIRS = frozenset(ids for ids in HARD_SETS if len(ids) == 2)
