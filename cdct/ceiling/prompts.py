"""What a model is told in each arm of the ceiling benchmark. An arm is one entry of `ARMS`.

Operations, rules and layouts come from the domain, with examples that it computes itself: a new domain has the arms
`trace` and `scratchpad` at once. The other arms vary D3's prompt (CCB paper, section 4) in words of our own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cdct.ceiling.domains import DOMAINS, Domain, State, alliances
from cdct.ceiling.items import RELATIONAL, example
from cdct.core import Arm, Benchmark, Item, Messages, to_json
from cdct.extract import strip_reasoning

BASELINE = "trace"
SAMPLING = {"temperature": 0, "max_tokens": 16_000}
"""Request defaults. A limit holds for all items of an arm, so it fits the longest right reply: at depth 50, one of D3
has some 9,700 tokens in the arm `trace`, 10,300 in `slots` and 10,000 in `schema`; D1 has 1,300 and D2 1,700 (the
embedded model's tokenizer). `verbose` would need 17,000 there and fits up to depth 45: many hosted models allow no more
than 16,384. A model that thinks first needs more. For D1 and D2 alone 4,000 are enough, and make a budget's worst case
smaller. A reply that was cut says so by its `finish_reason`."""
EVERYWHERE = ("trace", "scratchpad")
"""The arms that ask items of every domain. The others ask those of `items.RELATIONAL` alone."""
MOST_TURNS = 50
"""As many turns as a conversation may have (see `cdct.core.Arm`), so the deepest item that `scratchpad` can ask."""
GIVEN_BACK = 2_000
"""So many characters, the last ones, of a reply without a readable state are given back as they stand."""


def _system(domain: Domain, layout: str, write: Callable[[State], str], more: Sequence[str] = ()) -> str:
    """What is tracked, by which rules, every operation with an example, and how a state is written."""
    operations = [
        f"{domain.describe(shown.operation)}: {shown.text} Example: {write(shown.before)} becomes "
        f"{write(domain.apply(shown.before, shown.operation))}"
        for shown in domain.definitions
    ]
    rules = "\n".join(["Rules:", *(f"- {rule}" for rule in domain.rules)])
    defined = "\n".join(["Operations:", *(f"- {operation}" for operation in operations)])
    return "\n\n".join([domain.task, rules, *more, defined, layout])


def _agents(state: Mapping[str, str]) -> str:
    """All allies and all rivals of each agent: what the arm `verbose` has a model say before each state."""

    def of(agent: str, kind: str) -> str:
        others = [pair.replace(agent, "") for pair in sorted(state) if agent in pair and state[pair] == kind]
        return " ".join(others) or "none"

    return "; ".join(
        f"{agent}: allies {of(agent, alliances.ALLY)}, rivals {of(agent, alliances.RIVAL)}"
        for agent in alliances.AGENTS
    )


def right_replies(item: Item, arm: str = "baseline") -> list[str]:
    """What a model that makes no mistake answers in an arm, exactly as it is asked to: one text for each turn."""
    arm, domain, states = _benchmark().arm(arm).name, item.params["domain"], item.truth["states"]
    written = [rendered(domain, arm, state) for state in states]
    if arm == "scratchpad":
        return written
    if arm == "schema":
        steps = ",\n".join(f'"Step {number}": {state}' for number, state in enumerate(written, start=1))
        return [f'{{"TRACE": {{\n{steps}\n}},\n"ANSWER": {written[-1]}}}']
    lines = ["TRACE"]
    for number, state in enumerate(written, start=1):
        if arm == "verbose":
            lines.append(f"Agents {number}: {_agents(states[number - 1])}")
        lines.append(f"Step {number}: {state}")
    query = item.truth.get("query", {})
    answer = f"{query['pair']}:{query['relation']}" if arm == "query" else written[-1]
    return ["\n".join([*lines, f"ANSWER: {answer}"])]


_TRACE = (
    "Reply with the line TRACE, then one line for each operation, Step 1, Step 2 and so on, with the state after it, "
    "then the line ANSWER with the state after the last operation. Write nothing else."
)
_VERBOSE = (
    "This matters most: after EVERY single operation, before you go on to the next one, say again of each of the ten "
    "agents who its allies and its rivals are. Leave no agent out, and never refer to an earlier line.\n\n"
    "Reply with the line TRACE, then two lines for each operation: Agents 1, Agents 2 and so on with the allies and "
    "the rivals of every agent after it, and Step 1, Step 2 and so on with the state after it; then the line ANSWER "
    "with the state after the last operation. Write nothing else."
)
_SCHEMA = (
    "Reply with one JSON object and nothing else. It has the keys TRACE and ANSWER and no others. TRACE has one key "
    "for each operation, Step 1, Step 2 and so on, with the state after it; ANSWER has the state after the last one. "
    "No comments, no code fence, no trailing commas."
)


def _query(item: Item) -> str:
    a, b = item.truth["query"]["pair"]
    return (
        f"The question: are {a} and {b} allies or rivals after the last operation? They are one of the two, so that a "
        "mere guess is right in 50 % of cases.\n\nReply with the line TRACE, then one line for each operation, Step 1, "
        "Step 2 and so on, with the state after it, then the line ANSWER with this one pair. Write nothing else."
    )


def rendered(domain: str, arm: str, state: State) -> str:
    """A state as an arm asks for it: pairs in slots, a JSON object, or the domain's canonical layout."""
    write = {"slots": alliances.render_slots, "schema": to_json}.get(arm, DOMAINS[domain].render)
    return write(state)


_SCHEMA_LAYOUT = (
    "The relations are a JSON object with one entry for each pair that has one: "
    '{"AB":"ally","AC":"rival","BC":"rival"}. A key is two capital letters in alphabetical order, a value is "ally" or '
    '"rival". Pairs without a relation are left out.'
)
_SLOT_LAYOUT = (
    "The relations are written in ten numbered slots that always stand in this order: P01 for A, P02 for B, P03 for C, "
    "P04 for D, P05 for E, P06 for F, P07 for G, P08 for H, P09 for I, P10 for J. The slot of an agent holds its pairs "
    "with the agents later in the alphabet; a slot without one stays empty, as P10 always does. Example: "
    + alliances.render_slots({"AB": "ally", "AC": "rival", "BC": "rival"})
)
_MAPPING = (
    "How a pair's relation follows from the relations of both agents to a third one:\n"
    "- ally and ally: the two are allies\n"
    "- ally and rival: the two are rivals\n"
    "- rival and ally: the two are rivals\n"
    "- rival and rival: the two are allies\n"
    "How to carry out an operation on X and Y, who had no relation: take X with all agents that have a relation to X, "
    "and Y with all that have one to Y. For each agent of the first group and each of the second, go from the one over "
    "X and Y to the other and count the rivals on the way: with an even number the two are allies, with an odd number "
    "rivals. Pairs within a group keep what they have."
)
_MAPPING_CHURN = (
    "How to carry out an operation that contradicts: strike out every pair with the agent named first; then join it, "
    "now alone, with the group of the other agent in the same way."
)


def _mapping(domain: str) -> Sequence[str]:
    return (_MAPPING, _MAPPING_CHURN) if domain == "D3-churn" else (_MAPPING,)


def _arm(
    name: str,
    summary: str,
    ask: str | Callable[[Item], str] = _TRACE,
    layout: str = "",
    more: Callable[[str], Sequence[str]] = lambda domain: (),
) -> Arm:
    def task(item: Item) -> str:
        start = rendered(item.params["domain"], name, item.truth["start"])
        operations = [f"{number}. {words}" for number, words in enumerate(item.meta["operations"], start=1)]
        asked = ask if isinstance(ask, str) else ask(item)
        return "\n".join([f"Start: {start}", "", "Operations, in this order:", *operations, "", asked])

    def messages(item: Item, previous: Sequence[str]) -> Messages | None:
        domain: Domain = DOMAINS[item.params["domain"]]
        if not _holds(name, domain.name):
            known = ", ".join(RELATIONAL)
            raise ValueError(f"{item.id}: arm {name!r} is for items of the domains {known}, not of {domain.name}")
        if previous:
            return None
        told = _system(
            domain, layout or domain.layout, lambda state: rendered(domain.name, name, state), more(domain.name)
        )
        shown = example(domain)
        return _chat(told, task(shown), right_replies(shown, name)[0], task(item))

    return Arm(name, summary, messages)


def _chat(system: str, shown: str, reply: str, task: str) -> Messages:
    """The rules, the example as a turn that went well, and the task: its layout is then clear to small models, too."""
    roles = ("system", "user", "assistant", "user")
    return [{"role": role, "content": text} for role, text in zip(roles, (system, shown, reply, task), strict=True)]


def _holds(arm: str, domain: str) -> bool:
    return arm in EVERYWHERE or domain in RELATIONAL


def _turn(item: Item, turn: int, state: str) -> str:
    return (
        f"Operation {turn + 1} of {item.params['depth']}.\nState before it: {state}\n"
        f"Operation: {item.meta['operations'][turn]}\n\n"
        "Reply with the state after this operation, written in the same way, and nothing else."
    )


def _scratchpad(item: Item, previous: Sequence[str]) -> Messages | None:
    depth, turn = item.params["depth"], len(previous)
    if depth > MOST_TURNS:
        raise ValueError(
            f"{item.id}: arm 'scratchpad' asks one operation a turn, and a conversation has at most {MOST_TURNS} "
            f"turns; choose items of depth {MOST_TURNS} or less"
        )
    if turn >= depth:
        return None
    domain: Domain = DOMAINS[item.params["domain"]]
    state = item.meta["start"]
    if previous:
        last, _ = strip_reasoning(previous[-1])
        read = domain.read(last).state
        state = last[-GIVEN_BACK:] if read is None else domain.render(read)
    shown = example(domain)
    told = _system(domain, domain.layout, domain.render)
    return _chat(
        told, _turn(shown, 0, shown.meta["start"]), right_replies(shown, "scratchpad")[0], _turn(item, turn, state)
    )


ARMS = {
    arm.name: arm
    for arm in (
        _arm("trace", "the state after every operation, then the answer"),
        Arm(
            "scratchpad",
            "one operation a turn, each time with the model's own last state and without the earlier turns",
            _scratchpad,
            {"max_tokens": 2_000},  # a state of D3 has at most 45 pairs, some 200 tokens
        ),
        _arm("verbose", "as `trace`, and all relations of each agent said again after every operation", _VERBOSE),
        _arm("schema", "one JSON object by a strict schema", _SCHEMA, _SCHEMA_LAYOUT),
        _arm("slots", "as `trace`, a state in ten numbered slots, one for each agent", layout=_SLOT_LAYOUT),
        _arm("mapping", "as `trace`, the rules also as a table and as a procedure", more=_mapping),
        _arm("query", "as `trace`, but one pair as the answer, with the level of chance stated", _query),
    )
}


def applies(arm: str, domain: str) -> bool:
    """Whether an arm can ask items of a domain (asking others is an error); "baseline" can ask all."""
    return _holds(_benchmark().arm(arm).name, domain)


def messages(item: Item, arm: str = "baseline", previous: Sequence[str] = ()) -> Messages | None:
    """The next chat messages for an item in an arm, or None when the arm has no further turn."""
    return _benchmark().arm(arm).messages(item, previous)


def _benchmark() -> Benchmark:
    from cdct.core import BENCHMARKS

    return BENCHMARKS["ccb"]
