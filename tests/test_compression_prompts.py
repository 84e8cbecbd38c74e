"""The arms of CDCT as contracts: what each tells, what it leaves alone, and by which limit its replies are judged."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from cdct.compression import ARMS, BASELINE, EMPHASIS, LEVELS, concepts, dips, generate, messages, public, score
from cdct.compression.prompts import HELPFUL, PLAIN, Limit, limit_of, limit_sentence, told_and_judged
from cdct.core import Item, digest
from cdct.models import Model
from cdct.plan import MOST_TURNS
from cdct.run import run
from cdct.text import WORD_RULE, word_form, words

LIMITS = [{}, {"limit": 42, "mode": "at most"}]
ASIDE = ("inside", "as-released", "as-released-short")
"""The arms that tell other limits, or in other places."""
SAME = [arm for arm in ARMS if arm not in ASIDE]


def user(item: Item, arm: str) -> str:
    asked = messages(item, arm)
    assert asked is not None
    return asked[-1]["content"]


def at(c: float, concept: str = "photosynthesis", **more: Any) -> Item:
    (item,) = generate(concepts=[concept], levels=[c], **more)
    return item


def moved(c: float) -> Item:
    """An item at a level that no concept has."""
    item = at(0.5)
    return replace(item, params={**item.params, "c": c})


# ---------------------------------------------------------------------------------------------------------- contracts


def test_the_arms_are_named_as_their_keys_and_say_what_they_are() -> None:
    assert [arm.name for arm in ARMS.values()] == list(ARMS)
    assert BASELINE in ARMS
    assert set(EMPHASIS) == set(SAME) - {"fixed", "plain"}
    assert len({arm.summary for arm in ARMS.values()}) == len(ARMS)
    assert not any(arm.sampling for arm in ARMS.values())  # an arm that sampled otherwise would differ in two things


@pytest.mark.parametrize("arm", ARMS)
def test_an_arm_asks_once(arm: str) -> None:
    for item in generate():
        asked = messages(item, arm)
        assert [message["role"] for message in asked] == ["system", "user"]
        assert asked[0]["content"] == (PLAIN if arm == "plain" else HELPFUL)
        assert messages(item, arm) == asked  # pure
        for turns in (1, 2, MOST_TURNS):
            assert messages(item, arm, ["a reply"] * turns) is None


@pytest.mark.parametrize("arm", ARMS)
def test_an_item_without_a_text_is_not_asked(arm: str) -> None:
    item = at(0.5, compressor="some-model", texts={})
    assert item.meta["context"] is None
    assert messages(item, arm) is None


@pytest.mark.parametrize("arm", ARMS)
def test_every_item_is_asked_something_else(arm: str) -> None:
    """The same request is the same reply: two items that ask the same would share one."""
    asked = [digest(messages(item, arm)) for item in generate()]
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("arm", [arm for arm in ARMS if arm != "inside"])
def test_the_background_is_the_text_itself(arm: str) -> None:
    for item in generate():
        assert user(item, arm).count(f"Background:\n{item.meta['context']}") == 1


# ------------------------------------------------------------------------------------------------------ frozen messages

FROZEN = {  # of photosynthesis at c = 0.5, "exactly 35 words"
    "fixed": "7b28d4ffff2f0245029234b793cb788745e52cdc2b7dac95e6900b7773e61eff",
    "plain": "85096d779b0700dd",
    "capitals": "9cb69f203462b752",
    "bold": "3e56ed939431fd6e",
    "repeated": "ed5f660d8070acb5",
    "first": "b0edfa2d8793aa27",
    "last": "5c93542581ddf41a",
    "inside": "a7d78b53872fee71",
    "as-released": "0c4b93a6e89d7b9c",
    "as-released-short": "38148390564aae3d",
}


@pytest.mark.parametrize("arm", ARMS)
def test_messages_stay_as_they_were_recorded(arm: str) -> None:
    """Recorded replies are found by what was asked: whoever changes a word of it asks everything anew."""
    assert digest(messages(at(0.5), arm)).startswith(FROZEN[arm])


def test_another_limit_stays_as_it_was_recorded() -> None:
    asked = digest(messages(at(0.5, limit=60, mode="at most")))
    assert asked == "aa18b12934ac5557f80fd61021099e8c33eabcd00736cd9212fa2c5a7b6506f5"


def test_the_baseline_word_by_word() -> None:
    item = at(0.0)
    assert messages(item) == [
        {
            "role": "system",
            "content": "You are a helpful assistant. Your explanations are comprehensive and detailed.",
        },
        {
            "role": "user",
            "content": f"Background:\n{item.meta['context']}\n\nExplain photosynthesis in exactly 35 words. "
            "Words are separated by spaces. Reply with the explanation alone.",
        },
    ]


# ------------------------------------------------------------------------------------------------ how the limit is told


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("arm", SAME)
def test_an_arm_tells_the_limit_in_the_same_words_at_every_level(arm: str, limit: Mapping[str, Any]) -> None:
    frames = set()
    for item in generate(**limit):
        asked = user(item, arm)
        own = limit_of(item)
        assert own == ("at most 42 words" if limit else "exactly 35 words")
        form = {"capitals": own.upper(), "bold": f"**{own}**"}.get(arm, own)
        assert asked.count(form) == (3 if arm == "repeated" else 1)
        assert asked.casefold().count(own) == asked.count(form)  # and in no other form
        assert own not in item.meta["context"].casefold()
        assert asked.count(WORD_RULE) == 1
        assert asked.count("Reply with the explanation alone.") == 1
        frames.add(asked.replace(item.meta["context"], "...").replace(item.meta["name"], "NAME"))
        assert told_and_judged(arm, item) == (Limit(*own_limit(item)), Limit(*own_limit(item)))
    assert len(frames) == 1


def own_limit(item: Item) -> tuple[int, str]:
    return item.params["limit"], item.params["mode"]


ADDED = {  # what an arm says beyond the words of `fixed`, and what it leaves out
    "capitals": ("", ""),
    "bold": ("", ""),
    "first": ("", ""),
    "repeated": ("The limit is exactly 35 words. Keep to it: exactly 35 words.", ""),
    "last": ("Use", "in"),
}


@pytest.mark.parametrize("arm", EMPHASIS)
def test_emphasis_is_all_that_differs(arm: str) -> None:
    def bag(text: str) -> Counter[str]:
        return Counter(map(word_form, words(text)))

    for item in generate():
        emphasised, fixed = messages(item, arm), messages(item, "fixed")
        assert emphasised[0] == fixed[0]
        assert emphasised[1] != fixed[1]
        more, less = (bag(text) for text in ADDED[arm])
        assert bag(emphasised[1]["content"]) - bag(fixed[1]["content"]) == more
        assert bag(fixed[1]["content"]) - bag(emphasised[1]["content"]) == less


def test_each_emphasis_is_the_one_that_its_name_says() -> None:
    for item in generate(**LIMITS[1]):
        fixed, own = user(item, "fixed"), limit_of(item)
        assert user(item, "capitals") == fixed.replace(own, own.upper())
        assert user(item, "bold") == fixed.replace(own, f"**{own}**")
        assert user(item, "repeated").startswith(f"{fixed} ")
        assert user(item, "last").endswith(f" {own}.")
        task, background = user(item, "first").split("\n\n", 1)
        assert f"{background}\n\n{task}" == fixed
        assert task == limit_sentence(item)


def test_plain_differs_in_the_system_prompt_alone() -> None:
    for item in generate():
        plain, fixed = messages(item, "plain"), messages(item, "fixed")
        assert plain[1:] == fixed[1:]
        assert plain[0] == {"role": "system", "content": "You explain concepts."}
    assert not {"helpful", "helpfulness", "comprehensive", "detailed"} & set(map(word_form, words(PLAIN)))


def test_arms_that_ask_the_same_share_their_replies_and_these_do_not() -> None:
    """At c = 0 `as-released-short` and the others still differ: no arm is another one in disguise at any level."""
    for item in generate():
        assert len({digest(messages(item, arm)) for arm in ARMS}) == len(ARMS)


# --------------------------------------------------------------------------------------------------------------- inside


@pytest.mark.parametrize("slug", concepts())
@pytest.mark.parametrize("limit", LIMITS)
def test_the_limit_stands_only_inside_the_prompt(slug: str, limit: Mapping[str, Any]) -> None:
    for item in generate(concepts=[slug], **limit):
        asked, own = user(item, "inside"), limit_of(item)
        assert "{" not in asked
        assert asked == item.meta["inside"]
        assert (own in asked) is item.meta["limit_inside"] is (item.params["c"] > 0)
        if item.params["c"] == 0:
            assert not re.search(r"\d|word", asked)
            assert told_and_judged("inside", item) == (None, None)
        else:
            assert told_and_judged("inside", item) == (Limit(*own_limit(item)),) * 2


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (at(0.5, compressor="lead"), "the compressor 'written'"),
        (at(0.5, compressor="some-model", texts={("photosynthesis", 0.5): "a text"}), "the compressor 'written'"),
        (replace(at(0.5), meta={**at(0.5).meta, "inside": None}), "[[inside]] in data/concepts/photosynthesis.toml"),
    ],
)
def test_a_prompt_that_is_not_there_is_told(item: Item, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        messages(item, "inside")
    told = str(caught.value)
    assert told.startswith(f"{item.id}: arm `inside` needs a prompt of its own at each level: ")
    assert reason in told


# ---------------------------------------------------------------------------------------------------------- as released

NONE = Limit(None)
SHORT, MIDDLE = Limit(19, wording="under 20 words"), Limit(49, wording="under 50 words")
RELEASED = [
    (0.0, "fewer than 20 words", SHORT, SHORT),
    (0.19, "fewer than 20 words", SHORT, SHORT),
    (0.2, "2 to 3 sentences", None, SHORT),
    (0.25, "2 to 3 sentences", None, SHORT),
    (0.29, "2 to 3 sentences", None, SHORT),
    (0.3, "2 to 3 sentences", None, MIDDLE),
    (0.49, "2 to 3 sentences", None, MIDDLE),
    (0.5, "may elaborate", NONE, MIDDLE),
    (0.59, "may elaborate", NONE, MIDDLE),
    (0.6, "may elaborate", NONE, NONE),
    (0.75, "may elaborate", NONE, NONE),
    (1.0, "may elaborate", NONE, NONE),
]


@pytest.mark.parametrize(("c", "words_of_it", "told", "judged"), RELEASED)
def test_as_released_tells_and_judges_by_level(
    c: float, words_of_it: str, told: Limit | None, judged: Limit | None
) -> None:
    item = moved(c)
    asked = user(item, "as-released")
    every = {"fewer than 20 words", "2 to 3 sentences", "may elaborate"}
    assert {form for form in every if form in asked} == {words_of_it}
    assert "35" not in asked
    assert told_and_judged("as-released", item) == (told, judged)
    short = user(item, "as-released-short")
    assert {form for form in every if form in short} == {"2 to 3 sentences"}
    assert told_and_judged("as-released-short", item) == (None, judged)


@pytest.mark.parametrize("arm", ["as-released", "as-released-short"])
def test_the_public_files_are_read_by_the_same_limits(arm: str) -> None:
    """Two modules say what that code told and judged: they must say the same at every level."""
    forms = {"under 20 words": SHORT, "2 to 3 sentences": None, "may elaborate": NONE}
    for hundredths in range(101):
        c = hundredths / 100
        told, judged = told_and_judged(arm, moved(c))
        assert forms[public.told(c, arm)] == told
        least = public.judged_limit(c)  # a reply must stay under it
        assert (judged.words is None) if math.isnan(least) else (judged.words == least - 1)


def test_a_limit_is_named_in_words() -> None:
    assert [str(limit) for limit in (SHORT, NONE, Limit(35, "exactly"), Limit(60))] == [
        "under 20 words",
        "none",
        "exactly 35 words",
        "at most 60 words",
    ]


def test_the_baseline_has_two_names_and_one_limit() -> None:
    assert told_and_judged("baseline", at(0.5)) == told_and_judged("fixed", at(0.5))


def obedient(request: Mapping[str, Any], sample: int) -> str:
    """Does to the letter what it is told: so many words, fewer than so many, two sentences, or as much as it likes."""
    asked = request["messages"][-1]["content"]
    if exactly := re.search(r"exactly (\d+) words", asked):
        return "word " * int(exactly[1])
    if fewer := re.search(r"fewer than (\d+) words", asked):
        return "word " * (int(fewer[1]) - 1)
    return (
        "Two sentences of twelve words each have twenty-four words in all, yes. " * 2
        if "2 to 3" in asked
        else ("word " * 200)
    )


def test_a_subject_that_obeys_shows_a_u_as_released_and_none_with_a_fixed_limit(store_path: str) -> None:
    """The dip is made by what is told and what is judged, and by nothing that the subject does."""
    items = generate()
    arms = ["fixed", "as-released", "as-released-short", "inside"]
    replies = run(items, [Model("obedient", answer=obedient)], arms, store=store_path, progress=False)
    rows = score(items, replies)
    curves = rows.groupby(["arm", "c"])["cc"].agg(["min", "max"])
    assert (curves["min"].eq(curves["max"]) | curves["min"].isna()).all()
    cc = {arm: [curves.loc[(arm, c), "min"] for c in LEVELS] for arm in arms}
    # 24 words are 5 above "under 20": 7 - 1/3 points; 200 words are far above "under 50"; above .6 nothing is judged
    assert cc["as-released"] == pytest.approx([1, (7 - 1 / 3) / 10, 0, 1, 1])
    assert cc["as-released-short"] == pytest.approx([(7 - 1 / 3) / 10, (7 - 1 / 3) / 10, 1, 1, 1])
    assert cc["fixed"] == [1] * 5
    assert cc["inside"][1:] == [1] * 4
    assert pd.isna(cc["inside"][0])
    table = dips(rows).groupby("arm")
    assert table["dips"].apply(list).to_dict() == {
        "as-released": [True] * 8,
        "as-released-short": [False] * 8,
        "fixed": [False] * 8,
        "inside": [None] * 8,
    }
    assert table["magnitude"].mean()["as-released"] == 1
    # by what it was told it fails nowhere
    assert rows["cc_told"].dropna().eq(1).all()
