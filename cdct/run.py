"""From items and models to recorded replies: `run` asks what is not recorded yet; `plan` says what that would cost.

Running the same thing again is how a run is resumed: whatever was answered is read from the store, whatever failed is
asked again. Every planned call has a row in the frame, whether it was answered or not.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from cdct.background import in_background
from cdct.budget import Budget, Ledger
from cdct.core import KEYS, Item, Messages, to_json
from cdct.models import Model
from cdct.plan import Models, Unit, checked, highest_price, key_of, next_messages, opened, plan, request_of, units_of
from cdct.store import DEFAULT, Store

if TYPE_CHECKING:
    import pandas as pd

    from cdct.answers import CallFailed, Reply
    from cdct.bars import Progress
    from cdct.client import Client, Retry

__all__ = ["COLUMNS", "plan", "run"]

IN_A_ROW = 50
"""So many calls in a row without an answer, each made as often as `Retry` allows, stop a model (at least three rounds
of its open calls): its server is gone, and thousands of further calls would only fail one after the other. So does
`Retry.total_s` without any answer: where nobody answers, these calls alone would take hours."""
RESTARTS = 2
"""So often a run starts the server of a GGUF file again that has died."""
COLUMNS = [
    *KEYS,
    *("text", "status", "finish_reason", "reasoning", "prompt_tokens", "completion_tokens", "reasoning_tokens"),
    *("cached_tokens", "latency_s", "cost", "cost_new", "cached", "served_model", "fingerprint", "provider"),
    *("endpoint", "parameters", "attempts", "error", "key"),
]
"""The columns of a replies frame. `status` is ok, truncated, refused, filtered or empty for a reply; failed for a call
that got no answer, skipped for one that was not made; for these two `text` is None and `error` says why. `cached` is
True for a reply that was recorded before; its latency and cost are the original ones, and its `cost_new` is 0."""
MAY_BE_NONE = (
    *("text", "finish_reason", "reasoning", "served_model", "fingerprint", "provider", "endpoint", "key", "error"),
)


def run(
    items: Sequence[Item],
    models: Models,
    arms: Sequence[str] = ("baseline",),
    samples: int = 1,
    store: str | Store = DEFAULT,
    concurrency: int = 8,
    budget: float | Mapping[str, Any] | Budget | None = None,
    sampling: Mapping[str, Any] | None = None,
    retry: Retry | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """The replies of the models to the items in the arms, `samples` times each: recorded ones, new ones for the rest.

    Args:
        items: what to ask, of one or more benchmarks.
        models: names in `data/models.toml`, or `Model`s.
        arms: names of conditions; "baseline" is each benchmark's own.
        samples: how often each is asked; raising it asks only for the further samples.
        store: file of the record, or an open `Store`.
        concurrency: most calls open at a time per endpoint, unless the model says otherwise.
        budget: the most to spend on new calls (dollars, {"usd": ..., "tokens": ...} or a `Budget`). A call is made only
            when its highest possible price still fits; the rest has the status "skipped".
        sampling: request parameters over the benchmark's and the arm's; None for one leaves it out.
        retry: rules for asking again.
        progress: show bars (in a report: tell the driver).

    Returns a frame with `COLUMNS`, one row per turn, in the order of models, arms, items and samples; its
    `attrs["notices"]` holds what a reader of the numbers must know. Works in a running event loop. After Ctrl-C or
    kill -9 everything that was answered is recorded, and the same call goes on from there.
    """
    from cdct.bars import Progress
    from cdct.client import Retry

    items, chosen = checked(items, models, arms, samples)
    units = list(units_of(items, arms, samples, sampling or {}))
    limit = Budget.of(budget)
    if concurrency < 1:
        raise ValueError(f"concurrency must be at least 1, got {concurrency}")
    with opened(store) as recorded, Progress(progress) as shown:
        job = _Job(units, chosen, recorded, concurrency, limit, retry or Retry(), shown)
        in_background(job.main, job.interrupted)
    return job.frame()


class _Job:
    """One `run` in progress: its workers, its ledger, and the rows that it has so far."""

    def __init__(
        self,
        units: list[Unit],
        models: list[Model],
        store: Store,
        concurrency: int,
        budget: Budget,
        retry: Retry,
        progress: Progress,
    ) -> None:
        self.units, self.models, self.store, self.progress = units, models, store, progress
        self.concurrency, self.budget, self.retry = concurrency, budget, retry
        self.rows: dict[tuple[int, int, int], tuple[Any, ...]] = {}
        self.notices: list[str] = []
        self.stopped: dict[str, str] = {}
        self.unanswered: Counter[str] = Counter()
        self.waiting_since: dict[str, float] = {}  # when the first call after a model's last answer was made
        self.deaths: Counter[str] = Counter()
        self.pending: dict[str, asyncio.Future[Any]] = {}
        self.urls: dict[str, asyncio.Future[tuple[str, ...]]] = {}
        self.compared: set[tuple[str, frozenset[str], str]] = set()
        self.new = 0

    def notice(self, text: str) -> None:
        if text not in self.notices:
            self.notices.append(text)
            self.progress.say(text)

    def interrupted(self) -> None:
        self.progress.say(f"stopped: {self.new} new replies are recorded; the same call goes on from there")

    def open_at_most(self, model: Model) -> int:
        return model.open_at_most(self.concurrency) * max(1, len(model.base_url))

    async def main(self) -> None:
        from cdct.client import Client

        self.ledger = Ledger(self.budget)
        async with Client(self.concurrency, self.retry, self.progress.say) as client:
            self.client: Client = client
            async with asyncio.TaskGroup() as group:
                for number, model in enumerate(self.models):
                    self.progress.start(model.name, len(self.units))
                    units = iter(self.units)  # shared by the model's workers: nothing is planned far ahead of its turn
                    for _ in range(min(self.open_at_most(model), len(self.units))):
                        group.create_task(self._work(number, model, units))

    async def _work(self, number: int, model: Model, units: Iterator[Unit]) -> None:
        since_pause = 0
        for unit in units:
            previous: list[str] = []
            outcome: dict[str, Any] = {}
            while (messages := next_messages(unit, previous)) is not None:
                turn = len(previous)
                outcome = await self._turn(model, unit, turn, messages)
                self.rows[number, unit.order, turn] = tuple(map(outcome.get, COLUMNS))  # smaller than a dict
                if outcome["text"] is None or outcome["status"] == "filtered":
                    break  # without an answer to this turn the conversation can't go on
                previous.append(outcome["text"])
            self.progress.step(model.name, outcome)
            waited = outcome.get("latency_s") is not None and not outcome["cached"]
            since_pause = 0 if waited else since_pause + 1
            if since_pause % 100 == 99:
                # recorded replies and skipped calls wait for nothing: let the others have a turn
                await asyncio.sleep(0)

    async def _turn(self, model: Model, unit: Unit, turn: int, messages: Messages) -> dict[str, Any]:
        names = (unit.item.benchmark, unit.arm_name, unit.item.id, model.name, unit.sample, turn)
        keys = dict(zip(KEYS, names, strict=True))
        request = request_of(model, messages, unit.sampling)
        try:
            key = key_of(model, request, unit.sample)
        except (OSError, ImportError) as error:  # its file is absent: without its digest no reply has a key
            self._stop(model, str(error))
            return {**_NO_REPLY, **keys, "status": "skipped", "error": str(error)}
        while (reply := self.store.get(key)) is None and key in self.pending:
            await asyncio.shield(self.pending[key])  # two arms can ask the same: once is enough
        if reply is not None:
            self._compare(model, request, reply["parameters"])
            return {**reply, **keys, "cached": True, "cost_new": 0.0, "error": None}
        if model.name in self.stopped:
            return {**_NO_REPLY, **keys, "key": key, "status": "skipped", "error": self.stopped[model.name]}
        self.pending[key] = asyncio.get_running_loop().create_future()
        try:
            return {**(await self._ask(model, request, key, keys)), **keys}
        finally:
            self.pending.pop(key).set_result(None)

    async def _ask(self, model: Model, request: dict[str, Any], key: str, keys: dict[str, Any]) -> dict[str, Any]:
        from cdct.answers import CallFailed

        usd, tokens = highest_price(model, request) if self.ledger.limited else (None, None)
        refusal = await self.ledger.reserve(usd, tokens) if self.ledger.limited else None
        if refusal:
            if not any(told.startswith(f"{model.name}: budget: ") for told in self.notices):  # once; rows say it each
                self.notice(f"{model.name}: {refusal}; calls that did not fit were not made")
            return {**_NO_REPLY, "key": key, "status": "skipped", "error": refusal}
        spent_usd, spent_tokens = 0.0, 0
        try:
            self.waiting_since.setdefault(model.name, monotonic())
            reply = await self._reply(model, request, key, keys["sample"])
            # without usage, a call may have cost as much as was set aside for it
            spent_usd = (usd or 0.0) if reply.cost is None else reply.cost
            counted = reply.prompt_tokens is not None and reply.completion_tokens is not None
            spent_tokens = reply.prompt_tokens + reply.completion_tokens if counted else tokens or 0
            row = {**vars(reply), "key": key, "request": to_json(request), **keys}
            if model.gguf:
                from cdct import local

                # the file and the build say what answered; the port that it was served on does not
                row |= {"endpoint": model.endpoint, "fingerprint": local.build()}
            # once the answer is here, it is written down even if the run is stopped in this moment
            await asyncio.shield(asyncio.wrap_future(self.store.put(row)))
            self.new += 1
            self.unanswered[model.name] = 0
            self.waiting_since.pop(model.name, None)
            # another process may have been sooner with another answer: the recorded one is everybody's
            kept = self.store.get(key) or row
            self._compare(model, request, kept["parameters"])
            return {name: kept.get(name) for name in _READ} | {"cached": False, "cost_new": reply.cost, "error": None}
        except CallFailed as fault:
            self._consider_stopping(model, fault)
            return {**_NO_REPLY, "key": key, "status": "failed", "error": f"{fault.kind}: {fault}"}
        finally:
            if self.ledger.limited:
                await asyncio.shield(self.ledger.settle(usd, tokens, spent_usd, spent_tokens))

    async def _reply(self, model: Model, request: dict[str, Any], key: str, sample: int) -> Reply:
        """One reply of the model; where a GGUF file's server has died, of a new one."""
        from cdct.answers import CallFailed, simulated_reply

        if model.answer is not None:
            return simulated_reply(model.answer, model.endpoint, request, sample)
        again = True
        while True:
            urls = await self._urls(model)
            try:
                return await self.client.ask(
                    model, urls, request, lambda url, fault, wait: self._log_attempt(key, model, url, fault, wait)
                )
            except CallFailed as fault:
                if model.gguf is None or fault.kind != "connection":
                    raise
                self.urls.pop(model.name, None)  # the next call starts a server
                self.deaths[model.name] += 1
                fault.stops = self.deaths[model.name] > RESTARTS
                if fault.stops:
                    fault.args = (f"its server has died {self.deaths[model.name]} times: {fault}",)
                if fault.stops or not again:
                    raise
                again = False  # a second death at the same call may be its fault

    def _compare(self, model: Model, request: Mapping[str, Any], parameters: str) -> None:
        """Notice what a reply was asked without, be it new or recorded: a reader must know in either case."""
        asked = frozenset(request) - {"model", "messages"}
        if (model.name, asked, parameters) in self.compared:
            return
        self.compared.add((model.name, asked, parameters))
        missing = sorted(asked - set(json.loads(parameters)))
        if missing:
            self.notice(f"{model.name}: refuses {', '.join(missing)}: replies were made with {parameters}")

    def _consider_stopping(self, model: Model, fault: CallFailed) -> None:
        self.unanswered[model.name] += fault.retry
        row, now = self.unanswered[model.name], monotonic()
        if not fault.retry:
            self.waiting_since.pop(model.name, None)  # somebody was there and said no
        waited = now - self.waiting_since.get(model.name, now)
        if fault.stops:
            self._stop(model, str(fault))
        elif row >= max(IN_A_ROW, 3 * self.open_at_most(model)):
            self._stop(model, f"{row} calls in a row got no answer, the last one: {fault}")
        elif waited > self.retry.total_s:
            self._stop(model, f"nothing was answered for {waited:.0f} s, the last call: {fault}")

    def _stop(self, model: Model, reason: str) -> None:
        if model.name not in self.stopped:
            self.stopped[model.name] = reason
            self.notice(f"{model.name}: stopped: {reason}")

    async def _urls(self, model: Model) -> tuple[str, ...]:
        """The addresses of a model; a GGUF file's server is started when the first call needs it."""
        if model.base_url:
            return tuple(model.base_url)
        if model.name not in self.urls:
            from cdct import local
            from cdct.answers import CallFailed

            async def start() -> tuple[str, ...]:
                try:
                    return (await asyncio.to_thread(local.serve, model.gguf, model.sha256, model.model),)
                except (OSError, ImportError, RuntimeError, ValueError) as error:
                    raise CallFailed(str(error), "local server", stops=True) from error

            self.urls[model.name] = asyncio.ensure_future(start())
        return await asyncio.shield(self.urls[model.name])

    def _log_attempt(self, key: str, model: Model, endpoint: str, fault: CallFailed, wait: float | None) -> None:
        self.store.log_attempt(
            {"key": key, "model": model.name, "endpoint": endpoint, "kind": fault.kind}
            | {"http_status": fault.status, "error": str(fault), "wait_s": wait}
        )
        self.progress.trouble(model.name)

    def frame(self) -> pd.DataFrame:
        import pandas as pd

        rows = [self.rows[place] for place in sorted(self.rows)]
        frame = pd.DataFrame(rows, columns=COLUMNS)
        for name in MAY_BE_NONE:  # what pandas makes of None differs between its versions, and with the other rows
            frame[name] = pd.Series([row[COLUMNS.index(name)] for row in rows], dtype=object)
        for model in self.models:
            failed = int(((frame["model"] == model.name) & frame["status"].isin(["failed", "skipped"])).sum())
            if failed:
                self.notice(f"{model.name}: {failed} calls have no answer; running again asks only these")
        frame.attrs["notices"] = list(self.notices)
        return frame


_READ = [name for name in COLUMNS if name not in ("cached", "cost_new", "error")]
_NO_REPLY: dict[str, Any] = {**dict.fromkeys(COLUMNS), "cached": False, "cost_new": 0.0}
