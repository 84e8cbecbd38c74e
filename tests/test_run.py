"""A whole run against a real endpoint: what is asked, recorded and resumed, and what is left when it is broken off."""

from __future__ import annotations

import asyncio
import json
import random
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import CUT, Endpoint, completion, failure, in_turn

from cdct.client import Retry
from cdct.core import KEYS
from cdct.models import Model
from cdct.plan import MOST_TURNS
from cdct.run import COLUMNS, plan, run
from cdct.store import Store

QUICK = Retry(attempts=3, first_s=0)
KEY = "sk-test/abc+def=0123456789"


@pytest.fixture
def ask(store_path):
    """`run` with this test's store, quick retries and no bars."""

    def ask(items, models, **more):
        models = models if isinstance(models, list) else [models]
        return run(items, models, **{"store": store_path, "retry": QUICK, "progress": False} | more)

    return ask


def recorded(path: str) -> list[str]:
    """The prompts whose answers are in a store."""
    with Store(path) as store:
        return [json.loads(row["request"])["messages"][-1]["content"] for row in store.rows()]


def attempts(path: str) -> list[tuple[str, int | None]]:
    with Store(path) as store:
        table = store.frame("SELECT kind, http_status FROM attempts ORDER BY id")
    statuses = [None if status is None or status != status else int(status) for status in table["http_status"]]
    return list(zip(table["kind"], statuses, strict=True))


# ------------------------------------------------------------------------------------------------------------ the frame


def test_every_call_has_a_row_with_all_columns(toy, ask, endpoint):
    frame = ask(toy.items(2), endpoint.model(price={"input": 1e6, "output": 1e6}))
    assert list(frame.columns) == COLUMNS
    first = frame.iloc[0]
    assert first[KEYS].tolist() == ["toy", "baseline", "toy-v1/00000", "stub", 0, 0]
    assert (first["text"], first["status"], first["finish_reason"]) == ("fine: question toy-v1/00000", "ok", "stop")
    assert (first["prompt_tokens"], first["completion_tokens"], first["cost"], first["cost_new"]) == (10, 5, 15.0, 15.0)
    assert (first["served_model"], first["fingerprint"]) == ("stub-2026-01-01", "fp-1")
    assert json.loads(first["parameters"]) == {"temperature": 0, "max_tokens": 50}
    assert (first["cached"], first["attempts"], first["error"]) == (False, 1, None)
    assert first["endpoint"] == endpoint.url
    assert frame.attrs["notices"] == []


def test_rows_stand_in_the_order_of_models_arms_items_samples_and_turns(toy, ask, endpoint):
    """Whatever the order in which the answers come."""

    async def answer(request):
        await asyncio.sleep(random.random() / 200)
        return "fine"

    endpoint.answer = answer
    models = [endpoint.model("b", model="b"), endpoint.model("a", model="a")]
    items = toy.items(3)[::-1]
    frame = ask(items, models, arms=["talk", "baseline"], samples=2)
    expected = [
        (arm, item.id, model.name, sample, turn)
        for model in models
        for arm, turns in (("talk", 3), ("baseline", 1))
        for item in items
        for sample in range(2)
        for turn in range(turns)
    ]
    assert list(frame[["arm", "item", "model", "sample", "turn"]].itertuples(index=False, name=None)) == expected


def test_a_run_of_nothing_is_an_empty_frame(ask, endpoint):
    frame = ask([], endpoint.model())
    assert list(frame.columns) == COLUMNS
    assert len(frame) == 0


def test_an_open_store_can_be_given(toy, endpoint, store_path):
    with Store(store_path) as store:
        run(toy.items(1), [endpoint.model()], store=store, progress=False)
        assert store.frame("SELECT COUNT(*) AS n FROM replies")["n"].item() == 1


def test_concurrency_must_be_at_least_1(toy, ask, endpoint):
    with pytest.raises(ValueError, match=r"^concurrency must be at least 1, got 0$"):
        ask(toy.items(1), endpoint.model(), concurrency=0)


def test_no_more_calls_are_open_than_allowed(toy, ask, endpoint):
    async def answer(request):
        await asyncio.sleep(0.001)
        return "fine"

    endpoint.answer = answer
    ask(toy.items(60), endpoint.model(), concurrency=5)
    assert endpoint.most_open == 5


def test_what_an_arm_and_the_caller_set_is_sent(toy, ask, endpoint):
    ask(toy.items(1), endpoint.model(), arms=["hot"], sampling={"max_tokens": None, "seed": 7})
    sent = endpoint.requests[0].body
    assert {name: sent.get(name) for name in ("temperature", "max_tokens", "seed")} == {
        "temperature": 0.7,
        "max_tokens": None,
        "seed": 7,
    }


# -------------------------------------------------------------------------------------------------- resuming, recording


def test_what_was_answered_is_not_asked_again(toy, ask, endpoint):
    first = ask(toy.items(20), endpoint.model())
    again = ask(toy.items(20), endpoint.model())
    assert len(endpoint.requests) == 20
    assert again["cached"].all()
    same = [column for column in COLUMNS if column not in ("cached", "cost_new")]
    assert first[same].to_dict("records") == again[same].to_dict("records")


def test_a_larger_run_asks_only_what_is_new(toy, ask, endpoint):
    ask(toy.items(10), endpoint.model())
    frame = ask(toy.items(40), endpoint.model(), samples=2)
    assert len(endpoint.requests) == 10 + 70
    assert int(frame["cached"].sum()) == 10


def test_every_sample_is_kept(toy, ask, endpoint):
    endpoint.answer = in_turn("a", "b", "c")
    assert ask(toy.items(1), endpoint.model(), samples=3, concurrency=1)["text"].tolist() == ["a", "b", "c"]
    endpoint.close()
    assert ask(toy.items(1), endpoint.model(), samples=3)["text"].tolist() == ["a", "b", "c"]


ANSWERED = {
    "truncated": completion("half", finish="length"),
    "refused": completion(choices=[{"message": {"refusal": "I won't."}, "finish_reason": "stop"}]),
    "filtered": completion(None, finish="content_filter"),
    "empty": completion(""),
    "ok": completion("fine"),
}


@pytest.mark.parametrize(("status", "body"), ANSWERED.items(), ids=ANSWERED.keys())
def test_what_the_model_answered_is_never_asked_again(toy, ask, endpoint, status, body):
    endpoint.answer = lambda request: body
    for cached in (False, True):
        frame = ask(toy.items(1), endpoint.model())
        assert (frame["status"].item(), frame["cached"].item()) == (status, cached)
        assert isinstance(frame["text"].item(), str)
    assert len(endpoint.requests) == 1


def test_a_prompt_that_the_provider_filters_is_not_asked_again(toy, ask, endpoint):
    endpoint.answer = lambda request: (400, failure("filtered", "content_filter"))
    for cached in (False, True):
        frame = ask(toy.items(1), endpoint.model())
        assert (frame["status"].item(), frame["cached"].item()) == ("filtered", cached)
    assert len(endpoint.requests) == 1


def test_a_failed_call_is_logged_and_asked_again_next_time(toy, ask, endpoint, store_path):
    endpoint.answer = lambda request: (500, failure("down")) if request.prompt.endswith("1") else "fine"
    frame = ask(toy.items(3), endpoint.model())
    assert frame["status"].tolist() == ["ok", "failed", "ok"]
    failed = frame.iloc[1]
    assert (failed["text"], failed["error"], failed["cost_new"]) == (None, "server: HTTP 500: down", 0.0)
    assert frame.attrs["notices"] == ["stub: 1 calls have no answer; running again asks only these"]
    assert len(recorded(store_path)) == 2
    assert attempts(store_path) == [("server", 500)] * 3
    endpoint.answer = lambda request: "fine now"
    frame = ask(toy.items(3), endpoint.model())
    assert frame["status"].tolist() == ["ok"] * 3
    assert frame["cached"].tolist() == [True, False, True]
    assert frame.attrs["notices"] == []


def test_odd_texts_are_the_same_when_read_again(toy, ask, endpoint):
    texts = ["half \ud800 pair", "NUL \0", "👩‍🔬 \u202e", "word " * 200_000]
    endpoint.answer = lambda request: completion(texts[int(request.prompt[-1])])
    first = ask(toy.items(4), endpoint.model())["text"].tolist()
    assert first == ["half \\ud800 pair", *texts[1:]]
    assert ask(toy.items(4), endpoint.model())["text"].tolist() == first


def test_the_same_request_in_several_arms_is_asked_once(toy, ask, endpoint):
    async def answer(request):
        await asyncio.sleep(0.002)
        return "fine"

    endpoint.answer = answer
    frame = ask(toy.items(5), endpoint.model(), arms=["plain", "same", "also"], concurrency=32)
    assert len(endpoint.requests) == 5
    assert (frame["status"] == "ok").all()
    assert (frame["cost_new"].astype(bool) == ~frame["cached"]).all() or frame["cost_new"].sum() == 0


def test_a_request_of_several_arms_that_fails_is_tried_by_each_in_turn(toy, ask, endpoint):
    """Three wait for one answer, which fails: the second tries, the third still waits, and none asks beside another."""
    endpoint.answer = lambda request: (500, failure())
    frame = ask(toy.items(1), endpoint.model(), arms=["plain", "same", "also"], retry=Retry(attempts=1))
    assert frame["status"].tolist() == ["failed"] * 3
    assert endpoint.most_open == 1
    assert len(endpoint.requests) == 3
    endpoint.answer = in_turn((500, failure()), "fine")
    frame = ask(toy.items(1), endpoint.model(), arms=["plain", "same", "also"], retry=Retry(attempts=1))
    assert sorted(frame["status"]) == ["failed", "ok", "ok"]


def test_each_turn_of_a_conversation_is_recorded_and_it_resumes_in_the_middle(toy, ask, endpoint, store_path):
    endpoint.answer = lambda request: (
        (500, failure()) if request.prompt.startswith("turn 2") else request.prompt.upper()
    )
    frame = ask(toy.items(2), endpoint.model(), arms=["talk"])
    assert frame["turn"].tolist() == [0, 1, 2, 0, 1, 2]
    assert frame["status"].tolist() == ["ok", "ok", "failed"] * 2
    assert len(recorded(store_path)) == 4
    before = len(endpoint.requests)
    endpoint.answer = lambda request: request.prompt.upper()
    frame = ask(toy.items(2), endpoint.model(), arms=["talk"])
    assert len(endpoint.requests) == before + 2
    assert frame["cached"].tolist() == [True, True, False] * 2
    assert frame["text"].tolist()[:3] == ["QUESTION TOY-V1/00000", "TURN 1 OF TOY-V1/00000", "TURN 2 OF TOY-V1/00000"]
    last = endpoint.requests[-1].body["messages"]
    assert [message["role"] for message in last] == ["user", "assistant", "user", "assistant", "user"]
    assert last[1]["content"].startswith("QUESTION")


def test_a_conversation_ends_where_there_is_no_answer(toy, ask, endpoint):
    endpoint.answer = lambda request: completion(None, finish="content_filter")
    assert ask(toy.items(1), endpoint.model(), arms=["talk"])["status"].tolist() == ["filtered"]
    endpoint.answer = lambda request: completion("")
    assert ask(toy.items(1, first=1), endpoint.model(), arms=["talk"])["status"].tolist() == ["empty"] * 3


def test_effective_parameters_are_recorded_and_told_once(toy, ask, endpoint):
    def answer(request):
        for name in ("temperature", "max_tokens"):
            if name in request.body:
                return 400, failure(f"Unsupported parameter: '{name}'", "unsupported_parameter", param=name)
        return "fine"

    endpoint.answer = answer
    frame = ask(toy.items(20), endpoint.model())
    assert frame["parameters"].unique().tolist() == ['{"max_completion_tokens":50}']
    told = ['stub: refuses max_tokens, temperature: replies were made with {"max_completion_tokens":50}']
    assert frame.attrs["notices"] == told
    asked = len(endpoint.requests)
    again = ask(toy.items(20), endpoint.model())
    assert again["cached"].all()
    assert again.attrs["notices"] == told  # whoever reads recorded replies must know it too
    assert len(endpoint.requests) == asked


# --------------------------------------------------------------------------------------------------- what stops a model


@pytest.mark.parametrize(
    ("status", "hint"),
    [(401, "check the key"), (403, "check the key's rights"), (404, "check base_url and model"), (400, "no such")],
)
def test_a_hopeless_model_stops_with_one_message_and_the_others_go_on(
    toy, ask, endpoint, second_endpoint, status, hint
):
    endpoint.answer = lambda request: (status, failure("no such thing"))
    frame = ask(toy.items(40), [endpoint.model("bad"), second_endpoint.model("good")], concurrency=4)
    assert len(endpoint.requests) <= 4
    assert len(second_endpoint.requests) == 40
    assert (frame.loc[frame["model"] == "good", "status"] == "ok").all()
    bad = frame[frame["model"] == "bad"]
    assert set(bad["status"]) == {"failed", "skipped"}
    assert bad["error"].str.contains("no such thing").all()
    stopped, unanswered = frame.attrs["notices"]
    assert stopped.startswith(f"bad: stopped: HTTP {status}: no such thing")
    assert hint in stopped
    assert unanswered == "bad: 40 calls have no answer; running again asks only these"


def test_a_missing_key_stops_only_its_model(toy, ask, endpoint):
    frame = ask(toy.items(3), [Model("far", base_url="https://far.invalid/v1", key_env="NO_KEY"), endpoint.model()])
    assert (
        frame["status"].value_counts().to_dict() == {"ok": 3, "failed": 1, "skipped": 2}
        or (frame[frame["model"] == "stub"]["status"] == "ok").all()
    )
    assert "far: stopped: model far: no key: set the environment variable NO_KEY" in frame.attrs["notices"][0]


@pytest.mark.parametrize("sha256", ["0" * 64, None], ids=["with a digest", "without"])
@pytest.mark.parametrize(
    ("gguf", "told"),
    [
        ("/no/such.gguf", "gguf: no file '/no/such.gguf'; give a path"),
        ("no-such-weights", "gguf: the data package 'no-such-weights' is not installed; run `make model`"),
    ],
    ids=["file", "package"],
)
def test_a_missing_file_stops_only_its_model(toy, ask, endpoint, gguf, told, sha256):
    """Also where its digest, which is part of every key, can't be told without it."""
    frame = ask(toy.items(3), [Model("lost", gguf=gguf, sha256=sha256), endpoint.model()], arms=["talk"])
    assert (frame[frame["model"] == "stub"]["status"] == "ok").all()
    lost = frame[frame["model"] == "lost"]
    assert set(lost["status"]) <= {"failed", "skipped"}
    assert lost["error"].str.contains(told, regex=False).all()
    assert lost["text"].isna().all()
    stopped, unanswered = frame.attrs["notices"]
    assert stopped.startswith(f"lost: stopped: {told}")
    assert unanswered == "lost: 3 calls have no answer; running again asks only these"


def test_a_request_that_is_too_long_fails_alone(toy, ask, endpoint):
    endpoint.answer = lambda request: (
        (400, failure("maximum context length is 8")) if request.prompt.endswith("3") else "fine"
    )
    frame = ask(toy.items(10), endpoint.model(), concurrency=1)
    assert frame["status"].tolist() == ["ok"] * 3 + ["failed"] + ["ok"] * 6


def test_an_absurd_wait_stops_the_model_at_once(toy, ask, endpoint):
    endpoint.answer = in_turn("fine", "fine", (429, failure("come back tomorrow"), {"retry-after": "86400"}))
    frame = ask(toy.items(30), endpoint.model(), concurrency=4)
    assert int((frame["status"] == "ok").sum()) == 2
    assert frame.attrs["notices"][0] == (
        "stub: stopped: HTTP 429: come back tomorrow (asks to wait 86400 s; at most 900 s are waited)"
    )


def test_a_server_that_dies_stops_the_model_after_a_while(toy, ask, endpoint):
    """It is asked for 50 items, and not for all of them with all their retries."""
    ask(toy.items(5), endpoint.model())
    endpoint.answer = lambda request: CUT
    frame = ask(toy.items(300), endpoint.model(), concurrency=4, retry=Retry(attempts=2, first_s=0))
    assert int((frame["status"] == "ok").sum()) == 5
    assert 50 <= int((frame["status"] == "failed").sum()) <= 53  # three more are open when the 50th fails
    assert re.match(
        r"stub: stopped: 50 calls in a row got no answer, the last one: no connection to http://127",
        frame.attrs["notices"][0],
    )


def test_many_open_calls_have_three_rounds_before_they_stop_a_model(toy, ask, endpoint):
    endpoint.answer = lambda request: (500, failure("down"))
    frame = ask(toy.items(300), endpoint.model(), concurrency=20, retry=Retry(attempts=1))
    assert frame.attrs["notices"][0] == ("stub: stopped: 60 calls in a row got no answer, the last one: HTTP 500: down")
    assert 60 <= int((frame["status"] == "failed").sum()) <= 80


@pytest.fixture
def clock(monkeypatch):
    """The run's clock: a list of one number, the seconds that it shows."""
    now = [0.0]
    monkeypatch.setattr("cdct.run.monotonic", lambda: now[0])
    return now


def test_a_model_that_nobody_answers_for_is_stopped_in_time(toy, ask, endpoint, clock):
    """A call that fails takes 400 s here: after the third one nothing was answered for more than 900 s."""

    def answer(request):
        clock[0] += 400
        return 500, failure("down")

    endpoint.answer = answer
    frame = ask(toy.items(10), endpoint.model(), concurrency=1, retry=Retry(attempts=1))
    assert frame["status"].value_counts().to_dict() == {"failed": 3, "skipped": 7}
    assert frame.attrs["notices"][0] == (
        "stub: stopped: nothing was answered for 1200 s, the last call: HTTP 500: down"
    )


@pytest.mark.parametrize("sign", ["fine", (400, failure("maximum context length"))], ids=["an answer", "a refusal"])
def test_any_sign_of_life_starts_the_time_anew(toy, ask, endpoint, clock, sign):
    def answer(request):
        clock[0] += 400
        return (500, failure("down")) if len(endpoint.requests) % 3 else sign

    endpoint.answer = answer
    frame = ask(toy.items(12), endpoint.model(), concurrency=1, retry=Retry(attempts=1))
    assert "skipped" not in set(frame["status"])
    assert len(endpoint.requests) == 12


@pytest.fixture
def servers(monkeypatch):
    """Stands for `local.serve`: each start of the server is a new endpoint, which `script` answers for."""
    started: list[Endpoint] = []

    def serve(source, sha256, alias):
        started.append(Endpoint())
        started[-1].answer = lambda request: serve.script(len(started), request)
        return started[-1].url

    serve.started = started
    monkeypatch.setattr("cdct.local.serve", serve)
    monkeypatch.setattr("cdct.local.build", lambda: "build")
    yield serve
    for server in started:
        server.close()


def test_a_local_server_that_died_is_started_again_at_once(toy, ask, servers, store_path):
    servers.script = lambda start, request: CUT if (start, request.prompt[-1]) == (1, "2") else "fine"
    frame = ask(toy.items(5), Model("g", gguf="x.gguf", sha256="0" * 64), retry=Retry())
    assert (frame["status"] == "ok").all()
    assert [len(server.requests) for server in servers.started] == [3, 3]
    assert attempts(store_path) == [("connection", None)]  # one call was lost, and none waited for


def test_a_local_server_that_dies_again_and_again_stops_its_model(toy, ask, servers, endpoint):
    servers.script = lambda start, request: CUT
    frame = ask(toy.items(5), [Model("g", gguf="x.gguf", sha256="0" * 64), endpoint.model()], retry=Retry())
    assert frame["status"].tolist() == ["failed"] * 2 + ["skipped"] * 3 + ["ok"] * 5
    assert [len(server.requests) for server in servers.started] == [1, 1, 1]
    assert frame.attrs["notices"][0].startswith("g: stopped: its server has died 3 times: no connection to http://127")


def test_what_a_local_server_answers_with_an_error_is_no_death(toy, ask, servers):
    servers.script = lambda start, request: (503, failure("Loading model")) if request.prompt[-1] == "2" else "fine"
    frame = ask(toy.items(4), Model("g", gguf="x.gguf", sha256="0" * 64))
    assert frame["status"].tolist() == ["ok", "ok", "failed", "ok"]
    assert len(servers.started) == 1


def test_a_bad_spell_does_not_stop_the_model(toy, ask, endpoint):
    endpoint.answer = lambda request: "fine" if len(endpoint.requests) % 49 == 0 else (500, failure())
    frame = ask(toy.items(300), endpoint.model(), concurrency=1, retry=Retry(attempts=1))
    assert frame["status"].value_counts().to_dict() == {"failed": 294, "ok": 6}


def test_a_stopped_model_lets_the_others_have_their_turn(toy, ask, endpoint):
    """Its thousand skipped calls are gone through in slices, not in one piece that holds up whatever else is open."""
    turns: list[int] = []

    async def others() -> None:
        while True:
            turns.append(len(turns))
            await asyncio.sleep(0)

    def messages(item, previous):
        if item.id.endswith("00010"):
            running.append(asyncio.get_running_loop().create_task(others()))
        if item.id.endswith("00999"):
            seen.append(len(turns))
        return [{"role": "user", "content": item.id}]

    running: list[asyncio.Task] = []
    seen: list[int] = []
    object.__setattr__(toy.benchmark.arms["plain"], "messages", messages)
    endpoint.answer = lambda request: (401, failure("no"))
    ask(toy.items(1000), endpoint.model(), concurrency=1)
    assert seen[0] >= 9


# --------------------------------------------------------------------------------------------------------- other errors


def test_a_full_disk_ends_the_run_with_a_clear_error(toy, endpoint, store_path):
    with Store(store_path) as store:
        store._connection.execute("PRAGMA max_page_count = 20")
        with pytest.raises(OSError, match=r"^store .*: a row could not be written: database or disk is full$"):
            run(toy.items(200), [endpoint.model()], store=store, progress=False)
    kept = len(recorded(store_path))
    assert 0 < kept < 200
    assert run(toy.items(200), [endpoint.model()], store=store_path, progress=False)["cached"].sum() == kept


def test_an_error_in_a_benchmark_comes_out_as_it_is(toy, ask, endpoint):
    def broken(item, previous):
        raise ZeroDivisionError("in the benchmark")

    object.__setattr__(toy.benchmark.arms["plain"], "messages", broken)
    with pytest.raises(ZeroDivisionError, match="in the benchmark"):
        ask(toy.items(3), endpoint.model())


def test_a_key_is_in_no_file_frame_or_message(toy, ask, endpoint, store_path, tmp_path, monkeypatch, capfd):
    """The endpoint echoes it wherever it can, in replies as in errors."""
    monkeypatch.setenv("STUB_KEY", KEY)
    monkeypatch.setenv("CDCT_PROGRESS", str(tmp_path / "progress.json"))

    def answer(request):
        number = int(request.prompt[-1])
        key = request.headers["authorization"].removeprefix("Bearer ")
        encoded = key.replace("/", "%2F").replace("+", "%2B").replace("=", "%3D")
        return [
            completion(f"you sent {key}", model=key, provider=key, system_fingerprint=key),
            (500, failure(f"upstream with {key}")),
            (500, f"<html>{encoded}</html>"),
            (400, failure(f"maximum context length; key {key[:20]}...")),
            (200, json.dumps({"error": {"message": f"key {key}", "code": 502}}).replace("/", "\\/")),
            completion("a" * 100, finish="length"),
            (200, f"not JSON: {key}"),
            (429, failure(f"slow down, {key}"), {"retry-after-ms": "0"}),
            (400, failure(f"filtered for {key}", "content_filter")),
            (302, "", {"location": f"https://x/?key={key}"}),
        ][number]

    endpoint.answer = answer
    frame = ask(toy.items(10), endpoint.model(key_env="STUB_KEY"), concurrency=1, progress=True)
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"
    files = b"".join(path.read_bytes() for path in Path(store_path).parent.iterdir())
    assert b"question toy-v1/00009" in files or len(frame) == 10
    shown = "".join(capfd.readouterr())
    everything = files.decode("latin-1") + frame.to_csv() + str(frame.attrs) + shown
    for secret in ("0123456789", "abc+def", "abc%2Bdef", "test/abc", "test\\/abc"):
        assert secret not in everything
    assert frame["text"][0] == "you sent [key]"


@pytest.mark.parametrize("turns", [MOST_TURNS, MOST_TURNS + 1])
def test_an_arm_must_end(toy, ask, endpoint, store_path, turns):
    def talk(item, previous):
        return None if len(previous) == turns else [{"role": "user", "content": f"turn {len(previous)}"}]

    object.__setattr__(toy.benchmark.arms["talk"], "messages", talk)
    if turns == MOST_TURNS:
        assert plan(toy.items(1), endpoint.model(), ["talk"], store=store_path)["calls"].item() == turns
        assert len(ask(toy.items(1), endpoint.model(), arms=["talk"])) == turns
    else:
        told = r"^toy: arm 'talk' has not ended after 50 turns with item 'toy-v1/00000'; its `messages` must give None"
        with pytest.raises(ValueError, match=told):
            plan(toy.items(1), endpoint.model(), ["talk"], store=store_path)
        with pytest.raises(ValueError, match=told):
            ask(toy.items(1), endpoint.model(), arms=["talk"])


# --------------------------------------------------------------------------------------------------- simulated subjects


def test_a_simulated_subject_is_recorded_as_any_other(toy, ask):
    asked = []

    def answer(request, sample):
        asked.append((request["messages"][-1]["content"], sample))
        request.clear()  # its own copy: what is recorded is what was asked
        return "" if sample else "a fine answer"

    model = Model("norm", answer=answer)
    frame = ask(toy.items(2), model, samples=2, budget=0)
    assert asked == [(f"question toy-v1/0000{n}", sample) for n in (0, 1) for sample in (0, 1)]
    assert frame["text"].tolist() == ["a fine answer", ""] * 2
    assert frame["status"].tolist() == ["ok", "empty"] * 2
    first = frame.iloc[0]
    assert (first["provider"], first["endpoint"]) == ("simulated", "simulated:norm")
    assert (first["latency_s"], first["cost"], first["cost_new"], first["attempts"]) == (0, 0, 0, 1)
    assert frame[["prompt_tokens", "completion_tokens"]].isna().all(axis=None)
    assert json.loads(first["parameters"]) == {"temperature": 0, "max_tokens": 50}
    again = ask(toy.items(2), model, samples=2)
    assert again["cached"].all()
    assert again["text"].tolist() == frame["text"].tolist()
    assert len(asked) == 4


def test_a_simulated_subject_has_conversations_and_a_plan(toy, ask, store_path):
    model = Model("echo", answer=lambda request, sample: str(len(request["messages"])))
    assert plan(toy.items(1), model, ["talk"], store=store_path)["cost_most"].item() == 0
    assert ask(toy.items(1), model, arms=["talk"])["text"].tolist() == ["1", "3", "5"]
    assert plan(toy.items(1), model, ["talk"], store=store_path)["recorded"].item() == 3


def test_what_a_simulated_subject_raises_is_a_failed_call(toy, ask, store_path):
    def answer(request, sample):
        if request["messages"][0]["content"].endswith("1"):
            raise ZeroDivisionError("no words")
        return 7 if request["messages"][0]["content"].endswith("2") else "half \ud800 pair"

    frame = ask(toy.items(3), Model("odd", answer=answer))
    assert frame["status"].tolist() == ["ok", "failed", "failed"]
    assert frame["text"][0] == "half \\ud800 pair"
    assert frame["error"].tolist()[1:] == [
        "simulated: ZeroDivisionError: no words",
        "simulated: answered with int, not with a text",
    ]
    assert len(recorded(store_path)) == 1


# ------------------------------------------------------------------------------------------------------ loops, progress


def test_a_run_works_inside_a_running_event_loop(toy, ask, endpoint):
    async def main():
        return ask(toy.items(5), endpoint.model())

    assert (asyncio.run(main())["status"] == "ok").all()


def test_two_runs_can_share_a_store_at_once(toy, endpoint, store_path):
    frames = []

    def one(first: int) -> None:
        items = toy.items(40, first)
        frames.append(run(items, [endpoint.model()], store=store_path, progress=False))

    threads = [threading.Thread(target=one, args=(first,)) for first in (0, 20, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(frame) for frame in frames] == [40, 40, 40]
    assert len(set(recorded(store_path))) == 80


def test_two_runs_that_ask_the_same_at_once_return_what_is_recorded(toy, endpoint, store_path):
    """Both were answered, one of the answers was written down first: it is the only one that any table may show."""
    both = asyncio.Event()

    async def answer(request):
        number = len(endpoint.requests)
        if number == 2:
            both.set()
        await both.wait()
        return f"answer {number}"

    endpoint.answer = answer
    frames = []
    model = endpoint.model(price={"input": 1e6, "output": 1e6})

    def one() -> None:
        frames.append(run(toy.items(1), [model], store=store_path, progress=False))

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    with Store(store_path) as store:
        [kept] = store.rows()
    assert len(endpoint.requests) == 2
    assert [frame["text"].item() for frame in frames] == [kept["text"]] * 2
    assert [frame["latency_s"].item() for frame in frames] == [kept["latency_s"]] * 2
    assert [frame["cost_new"].item() for frame in frames] == [15.0] * 2  # each of them was paid for


def test_progress_goes_to_the_file_of_a_report(toy, ask, endpoint, tmp_path, monkeypatch, capfd):
    from cdct import bars

    bars._totals.clear()
    monkeypatch.setenv("CDCT_PROGRESS", str(tmp_path / "progress.json"))
    endpoint.answer = lambda request: (400, failure("maximum context length")) if request.prompt[-1] == "1" else "fine"
    ask(toy.items(3), endpoint.model(price={"input": 1e6, "output": 1e6}), progress=True)
    ask(toy.items(3), endpoint.model(price={"input": 1e6, "output": 1e6}), progress=True)
    told = json.loads((tmp_path / "progress.json").read_text(encoding="utf-8"))
    assert told == {
        "label": "stub",
        "done": 6,
        "total": 6,
        "cached": 2,
        "failed": 2,
        "skipped": 0,
        "retried": 2,
        "cost": 30.0,
    }
    assert "".join(capfd.readouterr()) == ""


def test_bars_are_shown_to_a_person_with_what_must_be_known(toy, ask, endpoint, capfd):
    endpoint.answer = lambda request: (401, failure("no"))
    ask(toy.items(3), endpoint.model(), progress=True)
    shown = capfd.readouterr().err
    assert "cdct: stub: stopped: HTTP 401: no (check the key)" in shown
    assert "3/3" in shown


# ----------------------------------------------------------------------------------------------------------- broken off

PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent that ignores it (nohup) hands that down
from cdct.compression import generate
from cdct.models import Model
from cdct.run import run
run(generate(), [Model("stub", base_url=sys.argv[1], model="stub")], samples=4, store=sys.argv[2], concurrency=8)
"""
UNITS = 8 * 5 * 4


def started(endpoint: Endpoint, path: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", PROGRAM, endpoint.url, path], stderr=subprocess.PIPE, text=True)


def until(condition, process: subprocess.Popen) -> None:
    limit = time.monotonic() + 30
    while not condition():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < limit
        time.sleep(0.002)


def test_kill_9_loses_nothing_and_repeats_nothing_that_was_committed(endpoint, store_path):
    """Killed at random moments: what was committed before a kill is never asked for again; at last all is answered."""

    async def answer(request):
        await asyncio.sleep(0.002)
        return f"fine {len(endpoint.requests)}"

    endpoint.answer = answer
    kept: dict[str, str] = {}
    rounds = 3
    for _ in range(rounds):
        before = len(endpoint.requests)
        process = started(endpoint, store_path)
        until(lambda before=before: len(endpoint.requests) > before + random.randrange(1, 40), process)
        process.kill()
        process.communicate()
        with Store(store_path) as store:
            now = {row["key"]: row["text"] for row in store.rows()}
        assert kept.items() <= now.items(), "something that was committed is gone"
        kept = now
    before = len(endpoint.requests)
    process = started(endpoint, store_path)
    assert process.communicate(timeout=60)[0] is None
    assert process.returncode == 0
    assert len(endpoint.requests) - before == UNITS - len(kept), "a committed reply was asked for again"
    with Store(store_path) as store:
        assert store.frame("SELECT COUNT(*) AS n FROM replies")["n"].item() == UNITS
    assert len(endpoint.requests) - UNITS <= rounds * 8, "more was repeated than was open when it was killed"


def test_ctrl_c_ends_soon_and_keeps_every_answer(endpoint, store_path):
    """The answers after the 40th never come; the run still ends, and only what was open is asked again."""
    endpoint.answer = lambda request: "fine" if len(endpoint.requests) <= 40 else asyncio.Event().wait()
    process = started(endpoint, store_path)
    until(lambda: len(endpoint.requests) >= 48, process)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=10)
    assert process.returncode != 0
    assert "stopped: 40 new replies are recorded; the same call goes on from there" in told
    assert "KeyboardInterrupt" in told
    assert len(recorded(store_path)) == 40
    endpoint.answer = lambda request: "fine"
    before = len(endpoint.requests)
    assert started(endpoint, store_path).wait(60) == 0
    assert len(endpoint.requests) - before == UNITS - 40


def test_ctrl_c_in_a_long_wait_ends_soon(endpoint, store_path):
    endpoint.answer = lambda request: (429, failure("slow down"), {"retry-after": "600"})
    process = started(endpoint, store_path)
    until(lambda: len(endpoint.requests) >= 8, process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode != 0


def test_a_network_that_breaks_and_comes_back(toy, ask, endpoint):
    """Each connection is cut a few times; with the usual number of attempts nothing is lost."""
    endpoint.answer = lambda request: CUT if len(endpoint.requests) % 3 else "fine"
    frame = ask(toy.items(40), endpoint.model(), retry=Retry(attempts=50, first_s=0))
    assert (frame["status"] == "ok").all()
    assert frame["attempts"].max() > 1


def test_an_endpoint_that_starts_later(toy, ask, endpoint):
    """As a server that is restarted while a run goes on: its port refuses at first."""
    from cdct.client import Client

    url = endpoint.url
    endpoint.close()
    later: list[Endpoint] = []
    post = Client._post

    async def slow_start(self, *args):
        try:
            return await post(self, *args)
        finally:
            if not later:
                later.append(Endpoint(int(url.split(":")[2].split("/")[0])))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "_post", slow_start)
        frame = ask(toy.items(3), Model("stub", base_url=url, model="stub"), concurrency=1)
    later[0].close()
    assert frame["status"].tolist() == ["ok"] * 3
    assert frame["attempts"].tolist() == [2, 1, 1]
