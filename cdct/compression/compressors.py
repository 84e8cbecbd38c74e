"""Compressors of a concept's whole text: two plain ones, and any model, by the protocol of the paper (section 3.3).

A model's texts are made through `run` like any replies: `protocol_items` are the questions, `accepted` judges the
answers, and `accepted_texts` is what `generate` takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from cdct.compression.items import LIMIT, MODES, WRITTEN, Concept, concepts, generate, within_tolerance
from cdct.core import BENCHMARKS, KEYS, Arm, Benchmark, Item, Messages, unknown
from cdct.extract import extract_text
from cdct.stats import resample
from cdct.text import WORD_RULE, word_form, word_forms, words

if TYPE_CHECKING:
    import pandas as pd

ATTEMPTS = 5
"""So often a model is asked for one text, each time told how many words its last one had."""


def lead(text: str, n_words: int) -> str:
    """The first `n_words` words of a text."""
    return " ".join(words(text)[:n_words])


def drop(text: str, n_words: int) -> str:
    """The `n_words` words of a text that say most, in their order.

    A word says the more the rarer its form is in the committed whole texts of other concepts: the idea of Selective
    Context (Li et al. 2023), self-information, with the plainest of language models. Of equally rare ones, a form that
    has not stood in the text yet comes before one that has, and the earlier before the later.
    """
    tokens = words(text)
    others = (whole_text(concept) for concept in concepts().values())
    common = Counter(form for other in others if other != text for form in word_forms(other))
    seen: Counter[str] = Counter()
    ranks = []
    for place, form in enumerate(map(word_form, tokens)):
        ranks.append((common[form], seen[form], place))
        seen[form] += 1
    return " ".join(tokens[place] for place in sorted(place for _, _, place in sorted(ranks)[:n_words]))


COMPRESSORS: Mapping[str, Callable[[str, int], str]] = {"lead": lead, "drop": drop}


def whole_text(concept: Concept) -> str:
    """The text of a concept at its highest level, which all others are compressions of."""
    return concept.levels[max(concept.levels)][1]


def protocol_items(slugs: Sequence[str] | None = None, levels: Sequence[float] | None = None) -> list[Item]:
    """One item of the benchmark "cdct-texts" per concept and level below the highest: a text to be compressed."""
    known = concepts()
    items = []
    for slug in known if slugs is None else dict.fromkeys(slugs):
        if slug not in known:
            raise ValueError(unknown("concept", slug, known))
        concept = known[slug]
        for c, (target, _) in concept.levels.items():
            if c == max(concept.levels) or (levels is not None and c not in levels):
                continue
            params = {"concept": slug, "c": c, "level_words": target}
            meta = {"name": concept.name, "whole": whole_text(concept)}
            items.append(Item("cdct-texts", f"cdct-texts-v1/{slug}/c{round(c * 100):03d}", params, {}, meta))
    return items


def _within(item: Item, reply: str) -> tuple[int, bool]:
    count = len(words(extract_text(reply).answer))
    return count, within_tolerance(count, item.params["level_words"])


def _protocol(item: Item, previous: Sequence[str]) -> Messages | None:
    target = item.params["level_words"]
    if len(previous) >= ATTEMPTS or (previous and _within(item, previous[-1])[1]):
        return None
    task = (
        f"Shorten the text below to {target} words. Keep what matters most for explaining {item.meta['name']}, "
        f"leave out examples and detail first, and add nothing. {WORD_RULE} Reply with the shortened text alone."
    )
    messages: Messages = [{"role": "user", "content": f"{task}\n\nText:\n{item.meta['whole']}"}]
    for number, reply in enumerate(previous, start=1):
        count, _ = _within(item, reply)
        again = (
            f"That has {count} words; it must have {target}. Attempt {number + 1}: reply with the shortened text alone."
        )
        messages += [{"role": "assistant", "content": reply}, {"role": "user", "content": again}]
    return messages


def accepted(items: Sequence[Item], replies: pd.DataFrame) -> pd.DataFrame:
    """One row per model and text: whether an attempt had the right length, 2 words exactly or within a tenth of more.

    A reply that was cut, filtered or flagged as a refusal is no text, whatever its length.

    Columns: model, concept, c, target, attempts, words (of the last attempt; NaN without any), accepted, text ("" where
    none was accepted), reason ("" or why there is none).
    """
    import pandas as pd

    known = {item.id: item for item in items}
    rows = []
    for (model, name), turns in replies[replies["sample"] == 0].groupby(["model", "item"], sort=False):
        if name not in known:
            raise ValueError(f"accepted: the reply to {name!r} belongs to none of the {len(known)} items given")
        last = turns.sort_values("turn").iloc[-1]
        item, text = known[name], last["text"] if isinstance(last["text"], str) else None
        count, fits = (float("nan"), False) if text is None else _within(item, text)
        target = item.params["level_words"]
        reason = f"{count} words instead of {target}"
        if text is None or last["status"] != "ok":
            fits, reason = False, f"{last['status']}: no text"
        rows.append(
            {"model": model, "concept": item.params["concept"], "c": item.params["c"], "target": target}
            | {"attempts": len(turns), "words": count, "accepted": fits}
            | {"text": extract_text(text).answer if fits else "", "reason": "" if fits else reason}
        )
    columns = ["model", "concept", "c", "target", "attempts", "words", "accepted", "text", "reason"]
    return pd.DataFrame(rows, columns=columns)


def accepted_texts(table: pd.DataFrame, model: str) -> dict[tuple[str, float], str | None]:
    """(concept, c) -> the text that a model made, None where none was accepted: what `generate` takes as `texts`."""
    if model not in set(table["model"]):
        raise ValueError(unknown("model", model, dict.fromkeys(table["model"])))
    own = table[table["model"] == model]
    return {(row.concept, float(row.c)): row.text if row.accepted else None for row in own.itertuples()}


def acceptance(table: pd.DataFrame) -> pd.DataFrame:
    """The share of the texts of `accepted` that have the right length, for each model and level.

    Columns: model, c, target, estimate, low, high, n, attempts and words (means, words of the last attempts), method.
    """
    import pandas as pd

    out = []
    for (model, c), cell in table.groupby(["model", "c"], sort=True):
        share = resample.mean(cell["accepted"].astype(float), cell["concept"], (0.0, 1.0))
        means = {name: cell[name].mean() for name in ("target", "attempts", "words")}
        out.append({"model": model, "c": c} | means | share._asdict())
    columns = ["model", "c", "target", "estimate", "low", "high", "n", "attempts", "words", "method"]
    return pd.DataFrame(out, columns=columns)


def generate_by(
    compressors: Sequence[str],
    table: pd.DataFrame,
    concepts: Sequence[str] | None = None,
    levels: Sequence[float] | None = None,
    limit: int = LIMIT,
    mode: str = MODES[0],
) -> list[Item]:
    """The items of several compressors, one set after the other: those made here, and models by their texts in `table`.

    `table` is that of `accepted`, the rest as for `generate`.
    """
    items = []
    for name in compressors:
        texts = None if name in (WRITTEN, *COMPRESSORS) else accepted_texts(table, name)
        items += generate(0, concepts, levels, limit, mode, name, texts)
    return items


def text_rows(items: Sequence[Item]) -> pd.DataFrame:
    """The compressed texts themselves, scored as if they were replies: their words and the key points that they cover.

    The columns of `score` and text, with the model "texts"; a text that was not made has a row without numbers.
    """
    import pandas as pd

    from cdct.compression.score import score

    texts = {item.id: item.meta["context"] for item in items}
    keys = {"benchmark": "cdct", "arm": "baseline", "model": "texts", "sample": 0, "turn": 0}
    made = [{**keys, "item": name, "text": text} for name, text in texts.items() if text is not None]
    replies = pd.DataFrame(made, columns=[*KEYS, "text"]).assign(status="ok", finish_reason="stop")
    rows = score(items, replies)
    return rows.assign(text=rows["item"].map(texts))


_ARM = Arm("protocol", f"compressed to a number of words, in {ATTEMPTS} attempts at most", _protocol)
BENCHMARKS.add(
    "cdct-texts",
    Benchmark(
        "cdct-texts",
        "Compression of texts (CDCT)",
        {"protocol": _ARM},
        "protocol",
        {"temperature": 0, "max_tokens": 300},
    ),
)
