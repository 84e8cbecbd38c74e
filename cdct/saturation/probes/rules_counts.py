"""Rules about what is counted: sentences and their lengths, words, lines, characters and numbers."""

from __future__ import annotations

from cdct.saturation.probes.bounds import (
    Chosen,
    counts,
    least_characters,
    least_lengths,
    least_lines,
    least_sentences,
    least_words,
    minima,
)
from cdct.saturation.probes.rule import rule


def _parts(parts: dict[str, int]) -> str:
    return " + ".join(f"{count} {part}" for part, count in parts.items())


# ----------------------------------------------------------------------------------------------------------- sentences


@rule("sentence count", "S2 S6 L4 M1")
def sentence_count(chosen: Chosen) -> str:
    """Two of S2, S6, L4 and M1 want different numbers of sentences.

    S2 and S6 say the number; L4 and M1 want one sentence for each letter of their word. A reply has one number.
    """
    wanted = counts(chosen)
    if len(set(wanted.values())) < 2:
        return ""
    return "different numbers of sentences: " + ", ".join(f"{id} wants {n}" for id, n in wanted.items())


@rule("sentence minimum", "S2 S6 L4 M1 S3 O1 O2 O3 O4 R4 F4")
def sentence_minimum(chosen: Chosen) -> str:
    """S2, S6, L4 or M1 fix fewer sentences than another type needs.

    S3 needs paragraphs * min_sentences, O4 needs n, O1, O2 and O3 need three, R4 and F4 two; all count the same
    sentences as S2, S6, L4 and M1.
    """
    wanted, needed = counts(chosen), minima(chosen)
    if not wanted or not needed or min(wanted.values()) >= max(needed.values()):
        return ""
    fewest, most = min(wanted, key=wanted.__getitem__), max(needed, key=needed.__getitem__)
    return f"{fewest} wants {wanted[fewest]} sentences, {most} at least {needed[most]}"


@rule("sentence lengths", "S2 S3 S6 L4 M1 O1 O2 O3 O4 R4 F4 W3 W5")
def sentence_lengths(chosen: Chosen) -> str:
    """No numbers of words by sentence keep O1, O3, O4, S6, W3, W5 and R4 with F4.

    O1, O4, S6, W3, W5 and O3's long sentences say how long a sentence is at least, given others; so does R4 with F4,
    where a sentence of one word would end like the one before. Raised until all hold, lengths never stop to grow, or
    the least ones break O3's limit for short sentences (`bounds.least_lengths`).
    """
    if least_lengths(chosen) is not None:
        return ""
    return f"no lengths of {least_sentences(chosen)} sentences" + (" or more" if not counts(chosen) else "") + " fit"


# ----------------------------------------------------------------------------------------------------- words, in number


@rule("divisibility", "S1 M3")
def divisibility(chosen: Chosen) -> str:
    """S1's number of words is no multiple of M3's n.

    S1 fixes the number of words of the reply, M3 wants a multiple of n of them.
    """
    if "S1" not in chosen or "M3" not in chosen or chosen["S1"]["n"] % chosen["M3"]["n"] == 0:
        return ""
    return f"S1 wants {chosen['S1']['n']} words, M3 a multiple of {chosen['M3']['n']}"


@rule("words", "S1 S2 S3 S6 L3 L4 M1 O1 O2 O3 O4 R4 F4 W2 W3 W4 W5 F2 R1 R3")
def words(chosen: Chosen) -> str:
    """Sentences, bullet items and JSON need more words than S1 allows.

    The least sentences (`bounds.least_lengths`), the bullet items and the JSON share no word, but for one item for each
    JSON object, which may stand in it. W2 parts the JSON of R1 and R3 into words of at most `high` characters.
    """
    if "S1" not in chosen or sum((least := least_words(chosen)).values()) <= chosen["S1"]["n"]:
        return ""
    return f"S1 wants {chosen['S1']['n']} words, needed are {_parts(least)}"


@rule("lines", "S5 S2 S3 S6 L3 L4 M1 O1 O2 O3 O4 R4 F4 W3 W4 W5 F1 F2 F3")
def lines(chosen: Chosen) -> str:
    """Paragraphs, table, bullet items and code blocks need more lines than S5 allows.

    A line belongs to one of them: sentences need one line, or one for each of S3's paragraphs, the table its rows and
    two more, an item one, a code block three, of which the first may be an item's. JSON, lists of names and numbers can
    stand on these.
    """
    if "S5" not in chosen or sum((least := least_lines(chosen)).values()) <= chosen["S5"]["n"]:
        return ""
    return f"S5 wants {chosen['S5']['n']} lines, needed are {_parts(least)}"


@rule("characters", "S4 S1 S2 S3 S6 L2 L3 L4 M1 M2 O1 O2 O3 O4 R1 R2 R3 R4 F1 F2 F3 F4 W2 W3 W4 W5")
def characters(chosen: Chosen) -> str:
    """Words, spaces, JSON and blocks need more characters than S4 allows.

    What is forced to be spelt out has its letters, every other word W2's low or one, and white space parts any two
    words; JSON without blanks, table pipes, bullets and fences come on top of that (`bounds.least_characters`).
    """
    if "S4" not in chosen or sum((least := least_characters(chosen)).values()) <= chosen["S4"]["n"]:
        return ""
    return f"S4 wants {chosen['S4']['n']} characters, needed are {_parts(least)}"


# ------------------------------------------------------------------------------------------------------------- numbers


@rule("digits", "N2 N1 N3 N4 M2")
def digits(chosen: Chosen) -> str:
    """N2 with N1, N3, N4 or M2.

    N1, N3 and N4 want whole numbers and M2 a numeral, all in the digits 0 to 9; N2 allows none of these.
    """
    wants = [id for id in ("N1", "N3", "N4", "M2") if id in chosen]
    return f"{', '.join(wants)}: digits are wanted, N2 allows none" if wants and "N2" in chosen else ""


@rule("number count", "N1 N3 N4 M2")
def number_count(chosen: Chosen) -> str:
    """N1 wants fewer numbers than N3 wants different ones, or than N4's equations and M2's numeral have.

    Different numbers are numbers. An equation has three, none of which is in another equation; M2's numeral stands
    between two words and so is in no equation. N1 counts them all.
    """
    if "N1" not in chosen:
        return ""
    count, forced = chosen["N1"]["count"], _forced(chosen)
    if "N3" in chosen and chosen["N3"]["n"] > count:
        return f"N1 wants {count} numbers, N3 {chosen['N3']['n']} different ones"
    return f"N1 wants {count} numbers, N4 and M2 have {forced}" if forced > count else ""


def _forced(chosen: Chosen) -> int:
    return 3 * (chosen["N4"]["n"] if "N4" in chosen else 0) + ("M2" in chosen)


@rule("number parity", "N1 N4 M2 S1 M3")
def number_parity(chosen: Chosen) -> str:
    """N4's equations and M2's numeral are all the numbers that N1 allows, and their sum can't have its parity.

    X + Y + Z with X + Y = Z is 2 Z, an even number. M2's numeral is the number of words, which S1 fixes, and which is
    even where M3's n is even.
    """
    if not {"N1", "N4"} <= chosen.keys() or chosen["N1"]["count"] != _forced(chosen):
        return ""
    total, why = chosen["N1"]["total"], f"N1 wants the sum {chosen['N1']['total']}; equations add an even number"
    if "M2" not in chosen:
        return why if total % 2 else ""
    if "S1" in chosen and (total - chosen["S1"]["n"]) % 2:
        return f"{why}, M2's numeral adds S1's {chosen['S1']['n']}"
    if "M3" in chosen and chosen["M3"]["n"] % 2 == 0 and total % 2:
        return f"{why}, M2's numeral a multiple of M3's {chosen['M3']['n']}"
    return ""
