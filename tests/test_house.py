"""Who may import whom, how long a module may be, and what must stand nowhere in the repository."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import cdct

PACKAGE = Path(cdct.__file__).resolve().parent
HOME = PACKAGE.parent
MODULES = {
    ".".join(path.relative_to(HOME).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
BENCHMARKS = [name for name in ("compression", "saturation", "ceiling") if (PACKAGE / name).is_dir()]
REGISTERED = [name for name in BENCHMARKS if "BENCHMARKS.add(" in (PACKAGE / name / "__init__.py").read_text("utf-8")]
"""Those that can be run; a room in the making is bound by all rules but the four verbs."""
REPORT = {
    f"cdct.{name}"
    for name in (
        "report",
        "page",
        "page_body",
        "execute",
        "results",
        "runfile",
        "board",
        "leftovers",
        "page_numbers",
    )
}
SHARED = (
    "cdct.core",
    "cdct.text",
    "cdct.extract",
    "cdct.stats",
    "cdct.models",
    "cdct.store",
    "cdct.background",
    "cdct.redact",
    "cdct.plan",
    "cdct.answers",
    "cdct.client",
    "cdct.run",
    "cdct.jury",
    "cdct.ballot",
    "cdct.verdict",
    "cdct.replies",
)
MOST_LINES = 320
LONGER = {"cdct.environment": 350}  # one file, since it runs before anything is installed
FEW_LINES = 300
MOST_IN_A_FOLDER = 5000
LARGER = {"cdct": 7000}
"""Lines of the modules of one package, those of packages in it not among them: small is a feature."""

each_module = pytest.mark.parametrize("module", MODULES)


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, anywhere in it, by its full name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: imports are absolute"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(name: str, rooms: tuple[str, ...] | list[str] | set[str]) -> bool:
    return any(name == room or name.startswith(f"{room}.") for room in rooms)


# ------------------------------------------------------------------------------------------------------- who knows whom


@each_module
def test_nothing_but_the_report_knows_the_report(module: str) -> None:
    if module not in REPORT:
        assert not [name for name in imports(MODULES[module]) if within(name, REPORT)]


@each_module
def test_the_shared_rooms_know_no_benchmark(module: str) -> None:
    if within(module, SHARED):
        known = [name for name in imports(MODULES[module]) if within(name, [f"cdct.{room}" for room in BENCHMARKS])]
        # the registry loads the benchmarks by name when it is first read: the one place where a new one is added
        assert known == [] or (module == "cdct.core" and set(known) == {f"cdct.{room}" for room in REGISTERED})


@each_module
def test_benchmarks_do_not_know_each_other(module: str) -> None:
    for room in BENCHMARKS:
        if within(module, [f"cdct.{room}"]):
            others = [f"cdct.{other}" for other in BENCHMARKS if other != room]
            assert not [name for name in imports(MODULES[module]) if within(name, others)]


PICTURES = [
    name for name in MODULES if within(name, [f"cdct.{room}" for room in BENCHMARKS]) and name.endswith("plots")
]


@each_module
def test_numbers_know_no_pictures_and_no_models(module: str) -> None:
    rooms = [f"cdct.{room}" for room in BENCHMARKS] + ["cdct.stats", "cdct.text", "cdct.extract"]
    if within(module, rooms) and not module.endswith("plots"):
        away = {
            "matplotlib",
            "seaborn",
            "httpx",
            "aiohttp",
            "cdct.plots",
            *PICTURES,
            "cdct.run",
            "cdct.client",
            "cdct.store",
        }
        assert not [name for name in imports(MODULES[module]) if within(name, away)]


# ----------------------------------------------------------------------------------------------------------------- size


@each_module
def test_a_module_is_short(module: str) -> None:
    """About 300 lines; a longer one is two ideas."""
    assert len(MODULES[module].read_text(encoding="utf-8").splitlines()) <= LONGER.get(module, MOST_LINES)


def test_most_modules_are_well_below_the_limit() -> None:
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in MODULES.items()}
    folders: Counter[str] = Counter()
    for name, path in MODULES.items():
        folders[".".join(["cdct", *path.relative_to(PACKAGE).parent.parts])] += lengths[name]
    assert {name: n for name, n in folders.items() if n > LARGER.get(name, MOST_IN_A_FOLDER)} == {}
    assert sum(length > FEW_LINES for length in lengths.values()) <= len(lengths) / 5


@each_module
def test_no_file_is_called_by_what_it_is_not(module: str) -> None:
    assert not set(module.split(".")) & {"utils", "util", "helpers", "common", "misc", "manager"}


# ---------------------------------------------------------------------------------------------------------------- words


def public_functions(module: str) -> Iterator[tuple[str, ast.AST]]:
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, node


@each_module
def test_every_module_function_and_class_says_what_it_is(module: str) -> None:
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "the module has no docstring"
    for name, node in public_functions(module):
        # `main` is a module's command line, and nobody imports what runs before anything is installed
        if name != "main" and module != "cdct.environment":
            assert ast.get_docstring(node), f"{name} has no docstring"  # type: ignore[arg-type]


@each_module
def test_every_public_function_has_types(module: str) -> None:
    for name, node in public_functions(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            assert all(argument.annotation for argument in arguments), f"{name}: an argument has no type"
            assert node.returns is not None, f"{name}: no type of the result"
            assert node.args.kwarg is None or module.startswith("cdct.core"), f"{name}: no **options"


def test_what_a_benchmark_offers_has_the_four_verbs() -> None:
    for room in REGISTERED:
        offered = import_module(f"cdct.{room}")
        for verb in ("generate", "messages", "score", "summarise"):
            assert callable(getattr(offered, verb))
            assert verb in offered.__all__
        assert "seed" in inspect.signature(offered.generate).parameters


def test_what_a_benchmark_offers_is_there() -> None:
    for room in BENCHMARKS:
        offered = import_module(f"cdct.{room}")
        assert all(hasattr(offered, name) for name in offered.__all__)


# -------------------------------------------------------------------------------------------------- what stands nowhere

TEXT = {".py", ".md", ".toml", ".yaml", ".yml", ".ipynb", ".j2", ".css", ".js", ".csv", ".txt", ".html"}
SKIPPED = {
    ".venv",
    ".git",
    "executed",
    "report",
    "tables",
    "__pycache__",
    ".pytest_cache",
    ".ruff_cache",
    ".hypothesis",
}
FILES = [
    path
    for path in sorted(HOME.rglob("*"))
    if (path.suffix in TEXT or path.name in ("Makefile", "LICENSE"))
    and path.is_file()
    and not SKIPPED & set(path.relative_to(HOME).parts[:-1])
]
# in pieces, so that this file holds none of them
NOWHERE = {
    "a machine's path": re.compile(r"(?<![\w.~])/(?:" + "ro" + "ot|wo" + "rk|ho" + "me/[a-z]+)/"),
    "a package registry": re.compile(
        "pypi" + r"\.org|files\.python" + r"hosted|regis" + r"try\.npmjs|conda\." + "anaconda"
    ),
    "a thing to be done later": re.compile(r"\b(?:TO" + "DO|FIX" + "ME|XX" + r"X)\b"),
    "fonts or code from elsewhere": re.compile("fonts\\.(?:google" + "apis|gstatic)|cdn" + r"\.|unp" + r"kg\.com"),
    "a key": re.compile(r"\bsk-" + r"[A-Za-z0-9_-]{20,}"),
}
HISTORY = re.compile(r"\b(?:this|the|per|see) (?:iss" + r"ue|sess" + r"ion|brief|ticket)\b", re.IGNORECASE)


@pytest.mark.parametrize("what", NOWHERE)
def test_what_must_stand_nowhere(what: str) -> None:
    found = []
    for path in FILES:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if NOWHERE[what].search(line):
                found.append(f"{path.relative_to(HOME)}:{number}: {line.strip()[:100]}")
    assert found == []


def test_no_page_speaks_of_how_it_came_to_be() -> None:
    found = [
        f"{path.relative_to(HOME)}: {match[0]}"
        for path in FILES
        if path.suffix in {".md", ".ipynb", ".toml", ".yaml", ".j2"} or PACKAGE in path.parents
        for match in HISTORY.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_files_are_clean_text() -> None:
    for path in FILES:
        data = path.read_bytes()
        assert b"\r\n" not in data, path
        assert data == b"" or data.endswith(b"\n"), path
        data.decode("utf-8")


def test_tables_published_are_read_as_tables() -> None:
    from cdct.core import read_table

    for path in sorted((HOME / "data" / "published").glob("*.csv")):
        table = read_table(path)
        assert len(table)
        assert not [name for name in table.columns if name.startswith("Unnamed")]
