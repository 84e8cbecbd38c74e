"""The project's environment: .venv, exactly as requirements.lock says, or a plain reason why it cannot be made.

The Makefile runs this file with whatever interpreter it is given. So it needs the standard library alone, and its
syntax stays readable by Python 3.6: an interpreter that is too old has to get as far as printing its own refusal.
"""

import contextlib
import ctypes
import hashlib
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from typing import Dict, Iterator, List, Optional, Tuple

try:
    import fcntl
except ImportError:  # Windows, which is refused below
    fcntl = None

# The bounds of the lock: every pinned package has a wheel for all of this and for nothing beyond it.
# `environments` in pyproject.toml says the same to the resolver.
OLDEST = (3, 11)
NEWEST = (3, 14)
MACHINES = {"Linux": ("x86_64", "aarch64"), "Darwin": ("arm64",)}
GLIBC = (2, 28)
MACOS = (13, 0)

STAMP = "cdct-environment.json"
NETWORK = re.compile(
    r"NewConnectionError|ConnectTimeout|ReadTimeout|ProxyError|SSLError|Temporary failure in name resolution"
    r"|Name or service not known|Network is unreachable|Max retries exceeded|Could not find a version|HTTP error",
)


class Refused(Exception):
    """The environment cannot be made; the text says who, what was found and what to do."""


def dotted(version: Tuple[int, ...]) -> str:
    return ".".join(str(part) for part in version)


def check_version(version: Tuple[int, ...]) -> Optional[str]:
    """None where the lock holds for this version of Python, else the refusal."""
    if OLDEST <= tuple(version[:2]) <= NEWEST:
        return None
    return (
        "Python must be {} to {}, got {}; install one of them and name it, for instance make test PYTHON=python{} "
        "(or, once for a shell: export PYTHON=python{})".format(
            dotted(OLDEST), dotted(NEWEST), dotted(version), dotted(NEWEST), dotted(NEWEST)
        )
    )


def check_interpreter(name: str, free_threaded: bool = False) -> Optional[str]:
    """None for an ordinary CPython, else the refusal: the pinned wheels are built for nothing else."""
    if name != "cpython":
        return "Python must be CPython, got {}; name a CPython, for instance make test PYTHON=python3".format(name)
    if free_threaded:
        return (
            "Python must be an ordinary build of CPython, got a free-threaded one; name the ordinary one, for instance "
            "make test PYTHON=python{}".format(dotted(NEWEST))
        )
    return None


def check_platform(system: str, machine: str, bits: int, libc: str, macos: str) -> Optional[str]:
    """None where the lock has wheels, else the refusal.

    `libc` is what the C library says of itself ("glibc 2.36"; "" for any other library), `macos` the system's version.
    """
    advice = "use a Linux machine or container with glibc {} or newer, x86_64 or aarch64".format(dotted(GLIBC))
    if system not in MACHINES:
        advice += " (on Windows: WSL)" if system == "Windows" else ""
        return "the operating system must be Linux or macOS, got {}; {}".format(system or "an unknown one", advice)
    if bits != 64:
        return "Python must be a 64-bit build, got {} bits; install a 64-bit Python".format(bits)
    if machine not in MACHINES[system]:
        return "the processor must be {} on {}, got {}; {}".format(
            " or ".join(MACHINES[system]), system, machine or "an unknown one", advice
        )
    if system == "Linux":
        name, _, version = libc.partition(" ")
        if name != "glibc":
            return "the C library must be glibc, got another one (musl, as on Alpine?); {}".format(advice)
        if numbers(version) < GLIBC:
            return "glibc must be {} or newer, got {}; {}".format(dotted(GLIBC), version, advice)
    elif numbers(macos) < MACOS:
        return "macOS must be {} or newer, got {}; update it, or {}".format(dotted(MACOS), macos, advice)
    return None


def check_modules(present: Dict[str, bool], version: Tuple[int, ...]) -> Optional[str]:
    """None where the standard library can make environments, else the refusal: some systems package that part apart."""
    missing = [name for name in sorted(present) if not present[name]]
    if not missing:
        return None
    return (
        "Python {} cannot make environments, it lacks {}; on Debian and Ubuntu: apt install python3-venv, or "
        "python{}-venv where this is not the system's own python3; elsewhere install a complete Python".format(
            dotted(version), " and ".join(missing), dotted(version[:2])
        )
    )


def check_openmp(system: str, loads: bool) -> Optional[str]:
    """None where the embedded model's runtime finds the shared library that it does not bring along, else a note."""
    if system != "Linux" or loads:
        return None
    return (
        "the embedded model will not start before libgomp.so.1 is installed; on Debian and Ubuntu: apt install "
        "libgomp1, on Fedora: dnf install libgomp. Hosted models and everything else work without it"
    )


def numbers(version: str) -> Tuple[int, ...]:
    """The leading two numbers of a version, (0, 0) where there are none."""
    found = [int(number) for number in re.findall(r"\d+", version)[:2]]
    return tuple(found + [0] * (2 - len(found)))


def c_library() -> str:
    with contextlib.suppress(AttributeError, ValueError, OSError):
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    return ""


def loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def check_machine() -> Optional[str]:
    """The first refusal that this interpreter on this machine earns, or None."""
    return (
        check_version(tuple(sys.version_info[:3]))
        or check_interpreter(sys.implementation.name, bool(sysconfig.get_config_var("Py_GIL_DISABLED")))
        or check_platform(
            platform.system(),
            platform.machine(),
            64 if sys.maxsize > 2**32 else 32,
            c_library(),
            platform.mac_ver()[0],
        )
    )


def advice(output: str) -> str:
    """What to do about a failed installation, judged by what pip printed."""
    if "DO NOT MATCH THE HASHES" in output:
        return (
            "a package differs from the one that was locked: the package index or a cache served another file. Try "
            "again after '.venv/bin/python -m pip cache purge'; if it stays so, do not trust that index"
        )
    if "No space left" in output:
        return "the disk is full; the environment needs about 1.2 GB"
    if NETWORK.search(output):
        return (
            "the package index was not reached, or has not all of the lock. Check the network, the proxy (HTTPS_PROXY) "
            "and pip's own configuration ('.venv/bin/python -m pip config list'), then run make again"
        )
    return "the lines above say why; run make again once their cause is gone"


def fingerprint(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def wanted(root: str, version: Tuple[int, ...]) -> Dict[str, str]:
    """What a finished environment's stamp has to say. The folder counts, as no environment survives being moved."""
    return {
        "python": dotted(version[:2]),
        "root": root,
        "lock": fingerprint(os.path.join(root, "requirements.lock")),
        "pyproject": fingerprint(os.path.join(root, "pyproject.toml")),
    }


def found(venv: str) -> Dict[str, str]:
    """The stamp of the environment that is there; empty where it was never finished or its interpreter is gone."""
    if not os.path.exists(os.path.join(venv, "bin", "python")):
        return {}
    try:
        with open(os.path.join(venv, STAMP), encoding="utf-8") as file:
            stamp = json.load(file)
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def leave_stamp(venv: str, stamp: Dict[str, str]) -> None:
    draft = os.path.join(venv, STAMP + ".draft")
    with open(draft, "w", encoding="utf-8") as file:
        json.dump(stamp, file, indent=1)
    os.replace(draft, os.path.join(venv, STAMP))


def outstanding(have: Dict[str, str], want: Dict[str, str]) -> str:
    """What is left to do: "nothing", "package" (the lock is installed, cdct itself is not) or "everything"."""
    if have == want:
        return "nothing"
    return "package" if dict(have, pyproject="") == dict(want, pyproject="") else "everything"


@contextlib.contextmanager
def alone(root: str) -> Iterator[None]:
    """Holds off a second make in the same folder, which would otherwise remove what this one is installing."""
    handle = os.open(root, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Waiting for another make that is busy with .venv ...", flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError:  # a file system without locks: go on unguarded
            pass
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def stage(label: str) -> Iterator[None]:
    print(label, "...", end=" ", flush=True)
    start = time.monotonic()
    try:
        yield
    except BaseException:
        print("stopped after {:.0f} s".format(time.monotonic() - start), flush=True)
        raise
    print("{:.0f} s".format(time.monotonic() - start), flush=True)


def call(command: List[str], root: str) -> Tuple[int, str]:
    """Exit code and output of a command, run without the settings that would leave .venv uncompiled or elsewhere."""
    settings = dict(os.environ, PIP_USER="0")
    for name in ("PYTHONDONTWRITEBYTECODE", "SOURCE_DATE_EPOCH", "PYTHONHOME", "__PYVENV_LAUNCHER__"):
        settings.pop(name, None)
    done = subprocess.run(
        command,
        cwd=root,
        env=settings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
        errors="replace",
    )
    return done.returncode, done.stdout


def must(command: List[str], root: str) -> None:
    code, output = call(command, root)
    if code:
        tail = "\n".join("    " + line for line in output.rstrip().splitlines()[-15:])
        raise Refused("{} failed with exit code {}\n{}\n{}".format(command[2], code, tail, advice(output)))


def base_interpreter(venv: str) -> str:
    """The interpreter to make .venv with: the one running, or its base where it runs from the .venv to be replaced."""
    if os.path.realpath(sys.prefix) == os.path.realpath(venv):
        return getattr(sys, "_base_executable", None) or os.path.realpath(sys.executable)
    return sys.executable


def make_venv(root: str, venv: str) -> None:
    present = {name: importlib.util.find_spec(name) is not None for name in ("ensurepip", "venv")}
    refusal = check_modules(present, tuple(sys.version_info[:3]))
    if refusal:
        raise Refused(refusal)
    interpreter = base_interpreter(venv)
    if os.path.islink(venv) or os.path.isfile(venv):
        os.remove(venv)
    elif os.path.isdir(venv):
        with contextlib.suppress(FileNotFoundError):  # first, so that half an environment never looks like a whole one
            os.remove(os.path.join(venv, STAMP))
        shutil.rmtree(venv)
    must([interpreter, "-m", "venv", "--prompt", "cdct", venv], root)


def make(root: str) -> None:
    """Brings .venv in line with requirements.lock, pyproject.toml and this interpreter, where it is not yet."""
    refusal = check_machine()
    if refusal:
        raise Refused(refusal)
    venv = os.path.join(root, ".venv")
    want = wanted(root, tuple(sys.version_info))
    if outstanding(found(venv), want) == "nothing":
        return
    with alone(root):
        left = outstanding(found(venv), want)
        if left == "nothing":
            return
        python = os.path.join(venv, "bin", "python")
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"]
        if left == "everything":
            with stage("Making .venv with Python {}".format(dotted(tuple(sys.version_info[:3])))):
                make_venv(root, venv)
            lock = os.path.join(root, "requirements.lock")
            with open(lock, encoding="utf-8") as file:
                count = sum(1 for line in file if re.match(r"\w\S*==", line))
            with stage("Installing {} packages from requirements.lock (about a minute)".format(count)):
                must([*pip, "--no-compile", "--require-hashes", "--only-binary", ":all:", "-r", lock], root)
            with stage("Compiling them once"):
                # Its exit code says only that some package carries a file for another Python.
                call([python, "-m", "compileall", "-q", "-j0", os.path.join(venv, "lib")], root)
            leave_stamp(venv, dict(want, pyproject=""))
        with stage("Installing cdct itself, editable"):
            must([*pip, "--no-build-isolation", "-e", "."], root)
        leave_stamp(venv, want)
        note = check_openmp(platform.system(), loads("libgomp.so.1"))
        if note:
            print("environment: note: {}".format(note), flush=True)


def main() -> int:
    try:
        make(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    except Refused as refused:
        print("environment: {}".format(refused), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("environment: interrupted; the next make starts it again", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
