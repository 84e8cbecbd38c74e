"""Running a coroutine on an event loop of its own thread: the caller's, as in a notebook, may be running already."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any


def in_background(main: Callable[[], Coroutine[Any, Any, None]], on_interrupt: Callable[[], None]) -> None:
    """Run `main()` to its end; what it raises is raised here. Ctrl-C ends it at once, and `on_interrupt` is told."""
    failure: list[BaseException] = []
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []
    ready = threading.Event()

    async def work() -> None:
        task = asyncio.current_task()
        assert task is not None  # for the type: this is one
        running.append((asyncio.get_running_loop(), task))
        ready.set()
        await main()

    def loop() -> None:
        try:
            asyncio.run(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            failure.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=loop, name="cdct-run", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.2)  # in slices, so that Ctrl-C is heard
    except KeyboardInterrupt:
        ready.wait()
        if running and thread.is_alive():
            running[0][0].call_soon_threadsafe(running[0][1].cancel)
        thread.join()
        on_interrupt()
        raise
    if failure:
        # one broken worker ends all; what it raised is what the caller should see
        first = failure[0]
        raise first.exceptions[0] if isinstance(first, BaseExceptionGroup) else first
