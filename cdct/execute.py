"""One worker process per notebook: starts it, ends it and its kernel, and is it.

Workers are forked from a server process that has papermill loaded and no threads. A pool would break as a whole when
one worker is killed, plain fork would copy a driver that has bars, and spawn would import papermill each time.
This module imports nothing heavy: the driver uses it too, and a report without work never loads papermill.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING

from cdct.core import root
from cdct.results import Job

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

# nbformat's schema checker compiles the grammar of international addresses at import (1.7 s in each process), which no
# notebook schema uses; it goes without when the module can't be imported
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

START_TIMEOUT_S = 60


def start(job: Job, environment: Mapping[str, str], log: Path) -> BaseProcess:
    """A running worker that executes the job's prepared notebook in place; its exit code is 0 if nothing was raised."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["cdct.execute", "papermill"])
    notebook = job.notebook("partial").relative_to(root()).as_posix()
    worker = context.Process(target=_work, args=(str(root()), notebook, dict(environment), str(log)), name=job.name)
    worker.start()
    return worker


def stop(worker: BaseProcess) -> None:
    """End a worker and its kernel at once."""
    import psutil

    if worker.is_alive():
        try:
            os.kill(worker.pid, signal.SIGSTOP)  # it must not start a kernel while its kernels are listed
            _end_kernels(worker.pid)
        except (ProcessLookupError, psutil.NoSuchProcess):
            pass  # it has ended by itself meanwhile
        worker.kill()
    worker.join()


def _end_kernels(pid: int) -> None:
    # A kernel leads its own process group. What it started in another session (the embedded model's server) is shared
    # by all kernels and ends with the driver.
    import psutil

    for kernel in psutil.Process(pid).children():
        try:
            os.killpg(kernel.pid, signal.SIGKILL) if os.getpgid(kernel.pid) == kernel.pid else kernel.kill()
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue  # it ended by itself


def _work(home: str, notebook: str, environment: Mapping[str, str], log: str) -> None:
    os.setsid()  # Ctrl-C in the terminal reaches the driver alone, which then ends its workers
    sink = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for stream in (1, 2):
        os.dup2(sink, stream)
    os.environ.update(environment)
    tempfile.tempdir = environment["TMPDIR"]  # the server that this process was forked from may have settled on another
    os.chdir(home)
    threading.Thread(target=_follow_driver, daemon=True).start()
    import papermill
    from traitlets.config import Config

    papermill.execute_notebook(
        notebook,
        notebook,
        cwd="notebooks",
        kernel_name="python3",
        progress_bar=False,
        log_output=False,
        request_save_on_cell_execute=True,  # when the kernel or the worker is killed, the file shows how far it came
        start_timeout=START_TIMEOUT_S,
        iopub_timeout=120,  # the default of 4 s fails where a busy machine and much output meet
        coalesce_streams=True,
        extra_arguments=["--IPKernelApp.extra_extensions=['cdct.execute']"],
        config=Config(KernelManager={"transport_encryption": "auto"}),  # else each kernel warns of plain TCP
    )


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Make the kernel wait when its output is not taken fast enough.

    By default it then drops messages, the one that says "done" among them, and the notebook fails after a long wait.
    """
    import zmq

    thread = shell.kernel.iopub_thread
    thread.schedule(lambda: thread.socket.setsockopt(zmq.XPUB_NODROP, 1))


def _follow_driver() -> None:
    parent = multiprocessing.parent_process()
    wait([parent.sentinel])
    _end_kernels(os.getpid())
    os._exit(1)
