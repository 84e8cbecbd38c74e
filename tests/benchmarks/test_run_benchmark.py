"""What asking through `run` costs beside bare httpx over the same transport, and how soon a finished run is resumed.

    pytest -o addopts= --benchmark-only tests/benchmarks

The endpoint answers after 20 ms and shares the machine's cores; 64 calls are open. `extra_info` holds calls a second,
and the share of the bare client's that `run` reaches (goal: 0.7).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import resource
import subprocess
import sys
import time

import httpx
import httpx_aiohttp
import pytest

from cdct.core import to_json
from cdct.models import Model
from cdct.plan import key_of, request_of
from cdct.run import run
from cdct.store import Store

OPEN = 64
CALLS = 6_000
RECORDED = 20_000
SERVER = """
import asyncio, json
from aiohttp import web
text = "A plant turns light into sugar. " * 8
body = json.dumps({"model": "stub", "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
                   "usage": {"prompt_tokens": 80, "completion_tokens": 40}}).encode()
async def answer(request):
    await request.read()
    await asyncio.sleep(0.02)
    return web.Response(body=body, content_type="application/json")
async def main():
    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.fixture(scope="module")
def url():
    """An endpoint in a process of its own, as any real one is."""
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
    finally:
        server.kill()
        server.communicate()


def bare(url: str, calls: int) -> None:
    """The same calls with httpx over its aiohttp transport and nothing else."""
    messages = [{"role": "user", "content": "question toy-v1/00000"}]
    content = json.dumps({"model": "stub", "messages": messages, "temperature": 0, "max_tokens": 50}).encode()

    async def main() -> None:
        limits = httpx.Limits(max_connections=0, max_keepalive_connections=None, keepalive_expiry=30)
        transport = httpx_aiohttp.AiohttpTransport(limits=limits)
        async with httpx.AsyncClient(transport=transport, timeout=60) as client:
            left = iter(range(calls))

            async def work() -> None:
                for _ in left:
                    headers = {"content-type": "application/json"}
                    (await client.post(f"{url}/chat/completions", content=content, headers=headers)).json()

            await asyncio.gather(*(work() for _ in range(OPEN)))

    asyncio.run(main())


def test_run_beside_bare_httpx(benchmark, toy, url, tmp_path):
    model = Model("stub", base_url=url)
    items = toy.items(CALLS)
    bare(url, 500)
    began = time.perf_counter()
    bare(url, CALLS)
    bare_rate = CALLS / (time.perf_counter() - began)
    number = itertools.count()

    def whole_run():
        return run(items, [model], store=str(tmp_path / f"{next(number)}.sqlite"), concurrency=OPEN, progress=False)

    frame = benchmark.pedantic(whole_run, rounds=3, warmup_rounds=1)
    assert (frame["status"] == "ok").all()
    rate = CALLS / benchmark.stats.stats.median
    benchmark.extra_info |= {"calls_per_s": rate, "bare_calls_per_s": bare_rate, "ratio": rate / bare_rate}
    benchmark.extra_info["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def test_resuming_a_finished_run(benchmark, toy, tmp_path):
    """20,000 recorded replies are read; nothing is asked (the address answers nobody)."""
    model = Model("stub", base_url="http://127.0.0.1:9/v1")
    items = toy.items(RECORDED)
    path = str(tmp_path / "replies.sqlite")
    arm, sampling = toy.benchmark.arm("baseline"), toy.benchmark.sampling
    with Store(path) as store:
        for item in items:
            request = request_of(model, arm.messages(item, []), sampling)
            row = {"key": key_of(model, request, 0), "benchmark": "toy", "arm": "baseline", "item": item.id}
            row |= {"model": "stub", "sample": 0, "turn": 0, "request": to_json(request), "text": "word " * 60}
            row |= {"status": "ok", "latency_s": 1.0, "endpoint": model.endpoint, "parameters": "{}", "attempts": 1}
            store.put(row | {"raw": "x" * 500})
    frame = benchmark.pedantic(lambda: run(items, [model], store=path, progress=False), rounds=3, warmup_rounds=1)
    assert frame["cached"].all()
    benchmark.extra_info["replies_per_s"] = RECORDED / benchmark.stats.stats.median
