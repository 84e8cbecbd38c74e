"""Public bug reports of other projects as small cases. The number stands in our list, the source beside it."""

from __future__ import annotations

import asyncio
import email.utils
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import completion, failure, in_turn
from test_store import row

from cdct.answers import fault_of
from cdct.client import Client, Retry
from cdct.compression import generate, score
from cdct.core import KEYS, to_json
from cdct.jsonl import append_jsonl, read_jsonl
from cdct.models import Model, Price
from cdct.plan import key_of, request_of
from cdct.run import run
from cdct.stats.resample import clustered_se, rate
from cdct.store import Store

STUB = Model("stub", base_url="http://127.0.0.1:9/v1")
ROOT = Path(__file__).parents[1]


# ----------------------------------------------------------------------------------------------------------- statistics


@pytest.mark.parametrize(("cluster", "expected"), [(None, 0.189), ("aaaabbbb", 0.5)], ids=["naive", "clustered"])
def test_B101_levels_of_one_concept_are_not_independent(cluster, expected):
    """UKGovernmentBEIS/inspect_ai#1251."""
    found = clustered_se([1, 1, 1, 1, 0, 0, 0, 0], None if cluster is None else list(cluster))
    assert round(found, 3) == expected


def test_B102_errors_do_not_vanish_from_the_denominator():
    """UKGovernmentBEIS/inspect_ai#2914: of 8, 2 are right, 4 wrong, 2 could not be scored."""
    found = rate([True] * 2 + [False] * 4 + [None] * 2)
    assert (round(found.all.estimate, 4), round(found.scored.estimate, 4), found.n_unscored) == (0.25, 0.3333, 2)


# ------------------------------------------------------------------------------------------------ the record of replies

WRITER = """
import sys, threading
sys.path.insert(0, {tests!r})
from test_store import row
from cdct.store import Store
process, errors = sys.argv[2], []
with Store(sys.argv[1]) as store:
    def write(thread):
        try:
            for number in range({each}):
                store.put(row(f"{{process}}-{{thread}}-{{number}}")).result(60)
                store.get(f"{{process}}-{{thread}}-{{number}}")["text"]
        except Exception as error:
            errors.append(repr(error))
    threads = [threading.Thread(target=write, args=(thread,)) for thread in range({threads})]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
sys.exit(", ".join(errors) or 0)
"""


def test_B105_a_shared_store_is_never_locked(store_path):
    """stanford-crfm/helm#1914: 2 processes of 8 threads with 200 writes each."""
    program = WRITER.format(tests=str(Path(__file__).parent), threads=8, each=200)
    writers = [
        subprocess.Popen([sys.executable, "-c", program, store_path, str(number)], stderr=subprocess.PIPE, text=True)
        for number in range(2)
    ]
    for writer in writers:
        assert writer.communicate(timeout=60)[1] == ""
        assert writer.returncode == 0
    with Store(store_path) as store:
        assert store.frame("SELECT COUNT(*) AS n FROM replies")["n"].item() == 3200


def test_B107_every_sample_is_replayed(toy, endpoint, store_path):
    """UKGovernmentBEIS/inspect_ai#2580: only the last of many samples was kept."""
    endpoint.answer = in_turn("a", "b", "c")
    options = {"samples": 3, "store": store_path, "concurrency": 1, "progress": False}
    for _ in range(2):
        assert run(toy.items(1), [endpoint.model()], **options)["text"].tolist() == ["a", "b", "c"]
    assert len(endpoint.requests) == 3


@pytest.mark.parametrize(
    ("case", "calls"),
    [
        ("Continuum-AI-Corp/OrcaRouter-Lite#84", [{"max_tokens": 16}, {"max_tokens": 4000}]),
        ("openclaw/lobster#130", [{"temperature": None}, {"temperature": 0}]),
    ],
    ids=["B109", "B110"],
)
def test_another_request_has_another_key(case, calls):
    messages = [{"role": "user", "content": "p"}]
    assert len({key_of(STUB, request_of(STUB, messages, call), 0) for call in calls}) == 2


def test_B110_the_key_has_a_version(monkeypatch):
    """openclaw/lobster#130."""
    before = key_of(STUB, {}, 0)
    monkeypatch.setattr("cdct.plan.KEY_VERSION", 99)
    assert key_of(STUB, {}, 0) != before


def test_B111_a_full_run_after_a_short_one_asks_the_rest(toy, endpoint, store_path):
    """huggingface/lighteval#1040: the record of 10 items stood for all 40."""
    run(toy.items(10), [endpoint.model()], store=store_path, progress=False)
    before = len(endpoint.requests)
    frame = run(toy.items(40), [endpoint.model()], store=store_path, progress=False)
    assert len(endpoint.requests) - before == 30
    assert len(frame) == 40


def test_B112_a_changed_rule_scores_again_without_asking_again(endpoint, store_path, monkeypatch):
    """modelscope/evalscope#1676: scores were kept across a change of the rule. Here no score is ever kept."""
    items = generate(levels=[0.5])
    first = score(items, run(items, [endpoint.model()], store=store_path, progress=False))
    asked = len(endpoint.requests)
    monkeypatch.setattr(sys.modules["cdct.compression.score"], "compliance_score", lambda *_: 7.0)
    again = score(items, run(items, [endpoint.model()], store=store_path, progress=False))
    assert (again["compliance"] == 7.0).all()
    assert not (first["compliance"] == 7.0).any()
    assert len(endpoint.requests) == asked


def test_B113_an_unusable_reply_stays_and_a_new_sample_is_asked_on_request(toy, endpoint, store_path):
    """Daily-Nerd/daimon#311."""
    endpoint.answer = in_turn("{broken", '{"ok": 1}')
    for samples, texts in ((1, ["{broken"]), (1, ["{broken"]), (2, ["{broken", '{"ok": 1}'])):
        frame = run(toy.items(1), [endpoint.model()], samples=samples, store=store_path, progress=False)
        assert frame["text"].tolist() == texts
    assert len(endpoint.requests) == 2


def test_B114_a_recorded_reply_keeps_its_latency_and_costs_nothing_new(toy, endpoint, store_path):
    """promptfoo/promptfoo#980."""
    item = toy.items(1)[0]
    request = request_of(endpoint.model(), toy.benchmark.arms["plain"].messages(item, []), toy.benchmark.sampling)
    key = key_of(endpoint.model(), request, 0)
    with Store(store_path) as store:
        store.put(row(key, latency_s=4.2, cost=0.5)).result()
    found = run([item], [endpoint.model()], store=store_path, progress=False).iloc[0]
    assert (found["latency_s"], found["cached"], found["cost"], found["cost_new"]) == (4.2, True, 0.5, 0)
    assert endpoint.requests == []


def test_B116_scoring_can_crash_and_nothing_is_asked_again(endpoint, store_path):
    """EleutherAI/lm-evaluation-harness#2140: with nothing left to ask, resuming crashed."""
    items = generate(levels=[0.0, 1.0])[:10]
    frame = run(items, [endpoint.model()], store=store_path, progress=False)
    with pytest.raises(ValueError, match="belongs to none of the 9 items"):
        score(items[1:], frame)
    asked = len(endpoint.requests)
    again = score(items, run(items, [endpoint.model()], store=store_path, progress=False))
    assert len(endpoint.requests) == asked == 10
    assert (len(again), (again["unscored"] == "").all()) == (10, True)


TORN = b'{"id":1}\n{"id":2,"te'


def test_B117_a_torn_last_line_costs_only_itself(tmp_path):
    """sipyourdrink-ltd/bernstein#5919."""
    file = tmp_path / "replies.jsonl"
    file.write_bytes(TORN)
    with pytest.warns(UserWarning, match=r"replies\.jsonl: 1 line\(s\) are not whole and were passed over"):
        assert list(read_jsonl(file)) == [{"id": 1}]


def test_B118_nothing_is_glued_to_a_torn_line(tmp_path):
    """NousResearch/hermes-agent#112575."""
    file = tmp_path / "replies.jsonl"
    file.write_bytes(TORN)
    assert append_jsonl(file, [{"id": 3}]) == 1
    with pytest.warns(UserWarning, match="1 line"):
        assert list(read_jsonl(file)) == [{"id": 1}, {"id": 3}]


KILLED = """
import os, signal, sys, threading
sys.path.insert(0, {tests!r})
from conftest import Toy
from cdct.core import BENCHMARKS
from cdct.models import Model
from cdct.run import run
toy = Toy()
BENCHMARKS._entries["toy"] = toy.benchmark
run(toy.items(40), [Model("stub", base_url=sys.argv[1], model="stub")], store=sys.argv[2], concurrency=1)
"""


def test_B120_a_run_that_was_killed_can_be_resumed(toy, endpoint, store_path):
    """UKGovernmentBEIS/inspect_ai#913: killed for its memory, hence with no word of goodbye."""
    program = KILLED.format(tests=str(Path(__file__).parent))
    process = subprocess.Popen([sys.executable, "-c", program, endpoint.url, store_path])

    def answer(request):
        if len(endpoint.requests) > 20:
            process.kill()
        return "fine"

    endpoint.answer = answer
    assert process.wait(60) == -9
    endpoint.answer = lambda request: "fine"
    before = len(endpoint.requests)
    frame = run(toy.items(40), [endpoint.model()], store=store_path, progress=False)
    assert (frame["status"] == "ok").all()
    assert int(frame["cached"].sum()) in (20, 21)
    assert len(endpoint.requests) - before == 40 - int(frame["cached"].sum())


def test_B121_what_was_answered_before_a_crash_is_saved(toy, endpoint, store_path):
    """datenlabor-bmz/evals-for-every-language#32: the 60th of 100 raises; 59 replies are there."""

    def broken(item, previous):
        if item.id.endswith("059"):
            raise ZeroDivisionError
        return None if previous else [{"role": "user", "content": item.id}]

    object.__setattr__(toy.benchmark.arms["plain"], "messages", broken)
    with pytest.raises(ZeroDivisionError):
        run(toy.items(100), [endpoint.model()], store=store_path, concurrency=1, progress=False)
    with Store(store_path) as store:
        assert store.frame("SELECT COUNT(*) AS n FROM replies")["n"].item() == 59


# -------------------------------------------------------------------------------------------------------- the interface


@pytest.mark.parametrize(
    "value", ["7", email.utils.formatdate(7 + 1e9, usegmt=True)], ids=["B122-seconds", "B122-date"]
)
def test_retry_after_is_the_least_wait(value, monkeypatch):
    """MemTensor/MemOS#1620."""
    monkeypatch.setattr("time.time", lambda: 1e9)
    fault = fault_of(429, {"retry-after": value}, json.dumps(failure("slow down")))
    assert Client(1, Retry())._wait(fault, 1, 0.0) >= 7


def test_B124_a_refused_temperature_is_dropped_and_recorded(toy, endpoint, store_path):
    """danny-avila/LibreChat#10737."""
    endpoint.answer = lambda request: (
        (400, failure("Unsupported parameter: 'temperature'", param="temperature"))
        if "temperature" in request.body
        else "fine"
    )
    frame = run(toy.items(3), [endpoint.model()], store=store_path, progress=False)
    assert [json.loads(sent).get("temperature") for sent in frame["parameters"]] == [None] * 3
    assert frame.attrs["notices"] == [
        f"stub: refuses temperature: replies were made with {frame['parameters'].iloc[0]}"
    ]


def test_B126_cached_tokens_are_billed_once(toy, endpoint, store_path):
    """BerriAI/litellm#14849: 200 x $2 + 800 x $0.50 + 500 x $8 a million."""
    usage = {"prompt_tokens": 1000, "completion_tokens": 500, "prompt_tokens_details": {"cached_tokens": 800}}
    endpoint.answer = lambda request: completion(usage=usage)
    model = endpoint.model(price=Price(input=2.0, output=8.0, cached=0.5))
    cost = run(toy.items(1), [model], store=store_path, progress=False)["cost"].item()
    assert cost == pytest.approx(0.0048, abs=1e-12)


def test_B137_a_run_works_in_a_running_event_loop(toy, endpoint, store_path):
    """jupyter/notebook#4312."""

    async def cell():
        return run(toy.items(3), [endpoint.model()], store=store_path, progress=False)

    assert (asyncio.run(cell())["status"] == "ok").all()
    assert "nest_asyncio" not in sys.modules


# --------------------------------------------------------------------------------------------------------- surroundings


def test_B139_numpy_values_are_plain_json():
    """EleutherAI/lm-evaluation-harness#3885."""
    assert to_json([np.bool_(True), np.float32(0.5)]) == "[true,0.5]"


LOCALE = r"""
import locale, sys
assert locale.getpreferredencoding(False).upper() not in ("UTF-8", "UTF8"), locale.getpreferredencoding(False)
from cdct.compression import concepts
from cdct.models import load_models
text = concepts()["odd"].name
assert "\u2019" in text, ascii(text)
assert load_models()["odd"].family == "Maker\u2019s"
"""


def test_B140_files_are_read_as_utf_8_in_any_locale(tmp_path):
    """allenai/IFBench#29."""
    concept = (ROOT / "data" / "concepts" / "photosynthesis.toml").read_text(encoding="utf-8")
    folder = tmp_path / "data" / "concepts"
    folder.mkdir(parents=True)
    (folder / "odd.toml").write_text(concept.replace('name = "', 'name = "A plant\u2019s ', 1), "utf-8")
    (tmp_path / "data" / "models.toml").write_text(
        '["odd"]\nbase_url = "http://x/v1"\nfamily = "Maker\u2019s"', "utf-8"
    )
    environment = os.environ | {"CDCT_HOME": str(tmp_path), "PYTHONUTF8": "0", "LC_ALL": "POSIX"}
    environment |= {"PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-c", LOCALE], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def cdct_replies(n: int) -> tuple[list, pd.DataFrame]:
    """Items, and n replies to each of them."""
    items = generate(concepts=["photosynthesis", "recursion"])
    rows = [
        dict(zip(KEYS, ("cdct", "baseline", item.id, "stub", sample, 0), strict=True))
        | {"text": f"Plants turn light into sugar number {sample}. " * sample, "status": "ok", "finish_reason": "stop"}
        for item in items
        for sample in range(n)
    ]
    return items, pd.DataFrame(rows)


def test_B141_scoring_needs_no_network(monkeypatch):
    """EleutherAI/lm-evaluation-harness#2266."""

    def refuse(*_):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    items, replies = cdct_replies(3)
    assert (score(items, replies)["unscored"] == "").all()


def test_B143_fifty_threads_can_score_at_once():
    """modelscope/evalscope#394: something that was loaded when first used was not safe for threads."""
    items, replies = cdct_replies(2)
    expected = score(items, replies)
    begin, failed = threading.Barrier(50), []

    def work() -> None:
        begin.wait()
        try:
            pd.testing.assert_frame_equal(score(items, replies), expected)
        except Exception as error:  # noqa: BLE001 - any of them is a failure of this test
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
