"""What each arm says: operations with right examples, a layout that its own right reply keeps, and turns that end."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from test_ceiling_domains import SOLVERS

from cdct.ceiling import ARMS, BASELINE, DOMAINS, RELATIONAL, SAMPLING, applies, generate, messages, rendered
from cdct.ceiling.domains import Definition, Domain, Reading
from cdct.ceiling.items import example
from cdct.ceiling.prompts import MOST_TURNS, right_replies
from cdct.core import BENCHMARKS, Item
from cdct.models import Model
from cdct.plan import MOST_TURNS as CORE_TURNS
from cdct.run import plan, run

PAIRS = [(arm, domain) for arm in ARMS for domain in DOMAINS if applies(arm, domain)]
each_pair = pytest.mark.parametrize(("arm", "domain"), PAIRS)


def one(domain: str, depth: int = 4) -> Item:
    return generate(seed=21, domain=domain, depths=[depth], trials=1)[0]


def said(item: Item, arm: str = "baseline", previous: tuple[str, ...] = ()) -> list[str]:
    asked = messages(item, arm, previous)
    assert asked is not None
    return [message["content"] for message in asked]


# ----------------------------------------------------------------------------------------------------------------- arms


def test_the_benchmark_and_its_arms_are_registered() -> None:
    bench = BENCHMARKS["ccb"]
    assert (bench.name, bench.baseline, bench.sampling) == ("ccb", "trace", SAMPLING)
    assert list(bench.arms) == ["trace", "scratchpad", "verbose", "schema", "slots", "mapping", "query"]
    assert all(arm.name == name and arm.summary for name, arm in bench.arms.items())
    assert [list(names()) for names in bench.choices.values()] == [list(DOMAINS)]
    assert messages(one("D1")) == messages(one("D1"), BASELINE)


def test_which_arms_hold_for_which_domains() -> None:
    assert len(PAIRS) == 2 * 4 + 5 * 2
    assert applies("baseline", "D1")
    for domain in ("D1", "D2"):
        assert [arm for arm in ARMS if applies(arm, domain)] == ["trace", "scratchpad"]
    for domain in RELATIONAL:
        assert all(applies(arm, domain) for arm in ARMS)


def test_an_arm_that_does_not_apply_is_an_error() -> None:
    with pytest.raises(ValueError) as error:
        messages(one("D1"), "slots")
    assert str(error.value) == "ccb-v1/D1/n04/000-s21: arm 'slots' is for items of the domains D3, D3-churn, not of D1"
    with pytest.raises(ValueError, match=r"^ccb: arm 'solts' is not known; did you mean 'slots'\?$"):
        messages(one("D3"), "solts")


@each_pair
def test_a_prompt_has_rules_a_turn_that_went_well_and_the_task(arm: str, domain: str) -> None:
    item = one(domain)
    asked = messages(item, arm)
    assert asked is not None
    assert [message["role"] for message in asked] == ["system", "user", "assistant", "user"]
    system, shown, reply, task = said(item, arm)
    assert DOMAINS[domain].task in system
    assert all(rule in system for rule in DOMAINS[domain].rules)
    assert reply == right_replies(example(DOMAINS[domain]), arm)[0]
    assert rendered(domain, arm, item.truth["start"]) in task
    assert shown.splitlines()[-1] == task.splitlines()[-1]  # both are told the same
    for text in (system, shown, reply, task):
        assert not re.search(r"[<>]|\bNone\b|  |\{\}(?!\n)", text), text
        assert text == text.strip()


@each_pair
def test_no_prompt_gives_the_answer_away(arm: str, domain: str) -> None:
    item = one(domain, 12)
    assert rendered(domain, arm, item.truth["answer"]) not in "".join(said(item, arm))


@each_pair
def test_the_next_prompt_is_the_same_for_the_same_item(arm: str, domain: str) -> None:
    assert messages(one(domain), arm) == messages(one(domain), arm)
    assert messages(one(domain, 60 if arm != "scratchpad" else 50), arm) is not None


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_operation_that_is_drawn_is_defined(domain: str) -> None:
    def form(words: str) -> str:
        """The words without what varies."""
        return re.sub(r"\b([1-3](?= (?:left|right|up|down))|[A-J]|\d|(?:top|bottom)-(?:left|right))\b", "_", words)

    def apart(words: str) -> str:  # a digit and a variable are two definitions
        return re.sub(r"plus \d", "plus a digit", words)

    defined = {form(apart(DOMAINS[domain].describe(shown.operation))) for shown in DOMAINS[domain].definitions}
    drawn = {form(apart(words)) for item in generate(domain=domain, depths=[50]) for words in item.meta["operations"]}
    assert drawn == defined


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_example_is_right(domain: str) -> None:
    read, solve = DOMAINS[domain].read, SOLVERS[domain]
    found = re.findall(r"^- (.+?): .*Example: (.+) becomes (.+)$", said(one(domain))[0], re.MULTILINE)
    assert len(found) == len(DOMAINS[domain].definitions)
    for words, before, after in found:
        assert read(before).flags == read(after).flags == ()
        assert solve(read(before).state, words) == read(after).state, words
    shown = example(DOMAINS[domain])
    state = shown.truth["start"]
    for words, after in zip(shown.meta["operations"], shown.truth["states"], strict=True):
        state = solve(state, words)
        assert state == after


def test_the_operations_stand_in_order_with_their_numbers() -> None:
    item = one("D2", 30)
    task = said(item)[-1]
    assert task.startswith(f"Start: {item.meta['start']}\n\nOperations, in this order:\n1. ")
    listed = re.findall(r"^(\d+)\. (.*)$", task, re.MULTILINE)
    assert listed == [(str(number), words) for number, words in enumerate(item.meta["operations"], start=1)]


def test_what_sets_the_arms_apart() -> None:
    plain, churn = one("D3"), one("D3-churn")
    base = said(plain)
    assert said(plain, "verbose")[0] == base[0]
    assert "after EVERY single operation" in said(plain, "verbose")[-1]
    assert "rival and rival: the two are allies" in said(plain, "mapping")[0]
    assert said(plain, "mapping")[1:] == base[1:]
    assert "contradicts: strike out" in said(churn, "mapping")[0]
    assert "contradict" not in "".join(said(plain, "mapping"))
    assert (
        "P01[AB:ally AC:rival] P02[BC:rival] P03[] P04[] P05[] P06[] P07[] P08[] P09[] P10[]" in said(plain, "slots")[0]
    )
    assert '{"AB":"ally","AC":"rival","BC":"rival"}' in said(plain, "schema")[0]
    a, b = plain.truth["query"]["pair"]
    assert f"are {a} and {b} allies or rivals after the last operation?" in said(plain, "query")[-1]
    assert "a mere guess is right in 50 % of cases" in said(plain, "query")[-1]


# -------------------------------------------------------------------------------------------------------- right replies


@pytest.mark.parametrize(
    ("arm", "domain"), [pair for pair in PAIRS if pair[0] not in ("schema", "scratchpad", "query")]
)
@pytest.mark.parametrize("depth", [1, 2, 3, 25])
def test_a_right_reply_has_every_state_by_its_number(arm: str, domain: str, depth: int) -> None:
    item = one(domain, depth)
    (reply,) = right_replies(item, arm)
    first, *steps, answer = [line for line in reply.splitlines() if not line.startswith("Agents ")]
    assert first == "TRACE"
    assert [step.split(": ", 1)[0] for step in steps] == [f"Step {number}" for number in range(1, depth + 1)]
    read = DOMAINS[domain].read
    assert [read(step.split(": ", 1)[1]).state for step in steps] == item.truth["states"]
    assert answer.startswith("ANSWER: ")
    assert read(answer.removeprefix("ANSWER: ")).state == item.truth["answer"]
    assert reply.count("Agents ") == (depth if arm == "verbose" else 0)


def test_the_right_replies_of_the_other_arms() -> None:
    item = one("D3-churn", 3)
    steps = {f"Step {number}": state for number, state in enumerate(item.truth["states"], start=1)}
    assert json.loads(right_replies(item, "schema")[0]) == {"TRACE": steps, "ANSWER": item.truth["answer"]}
    query = item.truth["query"]
    assert right_replies(item, "query")[0].endswith(f"\nANSWER: {query['pair']}:{query['relation']}")
    assert right_replies(item, "query")[0].splitlines()[:-1] == right_replies(item)[0].splitlines()[:-1]
    assert right_replies(item, "scratchpad") == [DOMAINS["D3-churn"].render(state) for state in item.truth["states"]]
    agents = [line for line in right_replies(item, "verbose")[0].splitlines() if line.startswith("Agents 1: ")]
    assert len(agents) == 1
    assert agents[0].count("; ") == 9


def test_the_agents_are_told_apart_in_words() -> None:
    item = example(DOMAINS["D3"])  # A and B allies; D and C rivals; B and D rivals
    assert (
        "Agents 3: A: allies B C, rivals D; B: allies A C, rivals D; C: allies A B, rivals D; D: allies none, "
        in (right_replies(item, "verbose")[0])
    )


# ----------------------------------------------------------------------------------------------------------- scratchpad


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_scratchpad_gives_the_own_state_back_and_ends(domain: str) -> None:
    item = one(domain, 5)
    states = [item.meta["start"], *right_replies(item, "scratchpad")]
    seen, previous = [], []
    for turn in range(5):
        task = said(item, "scratchpad", tuple(previous))[-1]
        assert task.splitlines()[:3] == [
            f"Operation {turn + 1} of 5.",
            f"State before it: {states[turn]}",
            f"Operation: {item.meta['operations'][turn]}",
        ]
        seen.append(task)
        previous.append(f"<think>hm</think>The state is:\n**{states[turn + 1]}**")
    assert messages(item, "scratchpad", previous) is None
    assert len(set(seen)) == 5


def test_a_wrong_state_is_given_back_as_it_is_and_a_reply_without_one_as_it_stands() -> None:
    item = one("D2", 5)
    wrong = "A:1, B:1, C:1, D:1, E:1, F:1, G:12"
    assert f"State before it: {wrong}\n" in said(item, "scratchpad", ("x", wrong.replace(", ", "\n")))[-1]
    assert "State before it: I don't know.\n" in said(item, "scratchpad", ("I don't know.",))[-1]
    long = said(item, "scratchpad", ("a" * 5000 + "z",))[-1]
    assert f"State before it: {'a' * 1999}z\n" in long


def test_no_two_turns_are_the_same_even_when_nothing_changes() -> None:
    item = one("D3", 50)
    assert len({said(item, "scratchpad", ("AB:ally",) * turn)[-1] for turn in range(1, 50)}) == 49


def test_the_scratchpad_reaches_as_deep_as_a_conversation_may_be_long() -> None:
    assert MOST_TURNS == CORE_TURNS == 50
    assert messages(one("D1", 50), "scratchpad", [""] * 49) is not None
    assert messages(one("D1", 50), "scratchpad", [""] * 50) is None
    with pytest.raises(ValueError) as error:
        messages(one("D1", 51), "scratchpad")
    assert str(error.value) == (
        "ccb-v1/D1/n51/000-s21: arm 'scratchpad' asks one operation a turn, and a conversation has at most 50 turns; "
        "choose items of depth 50 or less"
    )


# -------------------------------------------------------------------------------------------------------------- running


def test_a_subject_is_asked_through_the_record_turn_by_turn(tmp_path: Path) -> None:
    """A subject that knows the operations, and nothing but what the last message says, walks through all its turns."""

    def answer(request: dict, sample: int) -> str:
        before, words = re.search(r"before it: (.*)\nOperation: (.*)\n", request["messages"][-1]["content"]).groups()  # type: ignore[union-attr]
        return DOMAINS["D2"].render(SOLVERS["D2"](DOMAINS["D2"].read(before).state, words))

    items = generate(domain="D2", depths=[1, 6], trials=2)
    subject = Model(name="simulated/tracker", answer=answer)
    expected = plan(items, [subject], ["scratchpad"], store=str(tmp_path / "r.sqlite"))
    assert expected["calls"].tolist() == [2 * (1 + 6)]
    replies = run(items, [subject], ["scratchpad"], store=str(tmp_path / "r.sqlite"), progress=False)
    assert replies["turn"].tolist() == [0, 0, *range(6), *range(6)]
    for item in items:
        assert replies.loc[replies["item"] == item.id, "text"].tolist() == right_replies(item, "scratchpad")


def test_a_domain_of_ones_own_has_items_and_both_general_arms(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(text: str) -> Reading:
        numbers = re.findall(r"\d{1,9}", text)
        return Reading(int(numbers[-1])) if numbers else Reading(None, ("absent",))

    counter = Domain(
        name="X1",
        title="Counter",
        task="You track one number.",
        rules=("Each operation works on the number that the one before it left.",),
        layout="A number is written in digits: 7.",
        definitions=(Definition("add the number.", 5, {"kind": "add", "n": 2}),),
        example=(0, ({"kind": "add", "n": 3}, {"kind": "add", "n": 4})),
        start=lambda rng: 0,
        draw=lambda state, rng: {"kind": "add", "n": int(rng.integers(1, 10))},
        apply=lambda state, operation: state + operation["n"],
        describe=lambda operation: f"add {operation['n']}",
        render=str,
        read=read,
        integrity=lambda state: [],
    )
    assert "D1" in DOMAINS  # read once, so that what is added below is taken back
    monkeypatch.setitem(DOMAINS._entries, "X1", counter)
    item = one("X1", 3)
    system, _, reply, task = said(item)
    assert "- add 2: add the number. Example: 5 becomes 7" in system
    assert reply == "TRACE\nStep 1: 3\nStep 2: 7\nANSWER: 7"
    assert task.startswith("Start: 0\n")
    assert right_replies(item)[0].endswith(f"ANSWER: {item.truth['answer']}")
    assert "State before it: 12\n" in said(item, "scratchpad", ("It is 12",))[-1]
    assert [arm for arm in ARMS if applies(arm, "X1")] == ["trace", "scratchpad"]
