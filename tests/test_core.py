"""The shared words: registries, items, named random streams, canonical JSON, and tables that are stable to the byte."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cdct
from cdct.core import (
    BENCHMARKS,
    KEYS,
    Arm,
    Benchmark,
    Item,
    Registry,
    digest,
    items_hash,
    read_table,
    read_tables,
    resolve,
    root,
    save_tables,
    stream,
    to_json,
    unknown,
    write_text,
)

# ---------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("got", "known", "text"),
    [
        ("recusion", ["recursion", "derivative"], "concept 'recusion' is not known; did you mean 'recursion'?"),
        ("xyz", ["recursion", "derivative"], "concept 'xyz' is not known; known: recursion, derivative"),
        ("xyz", [], "concept 'xyz' is not known; known: none"),
        (3, ["1", "2"], "concept 3 is not known; known: 1, 2"),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest_or_all(got: object, known: list[str], text: str) -> None:
    assert unknown("concept", got, known) == text


def test_a_registry_keeps_the_order_and_takes_a_name_once() -> None:
    things = Registry("thing")
    assert things.add("b", 1) == 1
    things.add("a", 2)
    assert list(things) == ["b", "a"]
    assert len(things) == 2
    assert "a" in things
    assert "c" not in things
    with pytest.raises(ValueError, match=r"^thing 'a' is registered twice$"):
        things.add("a", 3)
    with pytest.raises(KeyError, match="thing 'bb' is not known"):
        things["bb"]
    assert things.get("c") is None


def test_a_registry_loads_when_it_is_first_read_and_once() -> None:
    loaded = []

    def load() -> None:
        loaded.append(1)
        things.add("a", 1)

    things = Registry("thing", load)
    assert loaded == []
    assert dict(things) == {"a": 1}
    assert things["a"] == 1
    assert loaded == [1]


def test_a_registry_whose_loading_failed_says_so_again_and_is_not_empty_in_silence() -> None:
    def load() -> None:
        raise ImportError("no such library")

    things = Registry("thing", load)
    for _ in range(2):
        with pytest.raises(ImportError, match="no such library"):
            "a" in things  # noqa: B015


def test_the_benchmarks_load_themselves() -> None:
    assert "cdct" in BENCHMARKS
    with pytest.raises(KeyError, match="did you mean 'cdct'"):
        BENCHMARKS["cdt"]


def test_an_arm_goes_by_its_name_or_as_the_baseline() -> None:
    arms = {name: Arm(name, "", lambda item, previous: None) for name in ("fixed", "inside")}
    bench = Benchmark("b", "B", arms, "fixed", {})
    assert bench.arm("baseline") is bench.arm("fixed") is arms["fixed"]
    with pytest.raises(ValueError, match=r"^b: arm 'insde' is not known; did you mean 'inside'\?$"):
        bench.arm("insde")
    with pytest.raises(ValueError, match=r"^b: arm 'zzz' is not known; known: baseline, fixed, inside$"):
        bench.arm("zzz")


def test_importing_cdct_imports_no_library() -> None:
    heavy = ("numpy", "pandas", "scipy", "httpx", "matplotlib", "aiohttp", "statsmodels", "yaml")
    code = f"import sys, cdct; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_public_names_are_there() -> None:
    assert cdct.KEYS is KEYS
    assert cdct.Item is Item
    assert {name: getattr(cdct, name) for name in cdct.__all__}
    with pytest.raises(AttributeError, match="module 'cdct' has no attribute 'nothing'"):
        _ = cdct.nothing


# ---------------------------------------------------------------------------------------------------------------- paths


def test_paths_are_below_the_root_unless_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert (root() / "cdct" / "core.py").is_file()
    monkeypatch.setenv("CDCT_HOME", str(tmp_path))
    assert root() == tmp_path
    assert resolve("data/x.csv") == tmp_path / "data" / "x.csv"
    assert resolve(tmp_path / "y") == tmp_path / "y"
    assert resolve("~/z") == Path.home() / "z"


# --------------------------------------------------------------------------------------------------------------- random


def test_a_stream_is_its_name() -> None:
    assert stream("a", 1).random(5).tolist() == stream("a", 1).random(5).tolist()
    # SHA-256 of '["cse", "items", "0"]' seeds PCG64: written down once, so that no release moves a drawn item
    assert stream("cse", "items", 0).integers(0, 2**32, 3).tolist() == [2824985488, 2156663542, 341476339]
    names = [("a",), ("b",), ("a", 1), ("a", 2), ("a1",), ("a", ""), ("", "a"), ("a", 1, 2), ("a", 12), ("a,1",)]
    assert len({stream(*name).random() for name in names}) == len(names)


def test_B072_a_stream_is_the_same_in_every_process() -> None:
    """ray-project/ray#59662: the built-in hash is salted for each process."""
    program = "from cdct.core import stream; print(stream('CSE', 4, 17).integers(0, 2**32, 3).tolist())"
    drawn = {
        subprocess.run(
            [sys.executable, "-c", program], env=os.environ | {"PYTHONHASHSEED": salt}, capture_output=True, check=True
        ).stdout
        for salt in ("1", "2")
    }
    assert drawn == {f"{stream('CSE', 4, 17).integers(0, 2**32, 3).tolist()}\n".encode()}


def test_a_draw_elsewhere_moves_nothing() -> None:
    alone = [stream("items", k).random() for k in range(3)]
    one = stream("items", 0)
    mixed = [one.random()]
    one.random(100)
    mixed += [stream("items", k).random() for k in (1, 2)]
    assert mixed == alone


def test_streams_of_neighbouring_names_are_uncorrelated() -> None:
    draws = np.array([stream("x", number).random(50) for number in range(200)])
    assert abs(draws.mean() - 0.5) < 0.01
    correlations = np.corrcoef(draws)[np.triu_indices(200, 1)]
    assert abs(correlations.mean()) < 0.005


# ----------------------------------------------------------------------------------------------------------------- json


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, "é"]}, '{"a":[true,null,"é"],"b":1}'),
        # lm-evaluation-harness #3885: numpy scalars were written as quoted strings
        ([np.bool_(True), np.float32(0.5), np.int64(3)], "[true,0.5,3]"),
        (np.arange(3), "[0,1,2]"),
        ((1, (2, 3)), "[1,[2,3]]"),
        ({"s": {"b", "a"}}, '{"s":["a","b"]}'),
        (Path("a/b"), '"a/b"'),
        (0.1 + 0.2, "0.30000000000000004"),
    ],
)
def test_json_is_canonical(value: object, text: str) -> None:
    assert to_json(value) == text


@pytest.mark.parametrize("value", [math.nan, math.inf, np.float64("nan"), np.float32("-inf"), np.array([np.nan])])
def test_json_refuses_what_is_no_number(value: object) -> None:
    with pytest.raises(ValueError, match="Out of range float values"):
        to_json({"x": value})


def test_json_refuses_what_it_does_not_know() -> None:
    with pytest.raises(TypeError, match=r"^object has no place in JSON: <object"):
        to_json([object()])


def test_digests_are_stable() -> None:
    # printf '{"a":1}' | sha256sum
    assert digest({"a": 1}) == "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest("\ud800") != digest("?")  # a lone surrogate, as models write them, has a hash too


def test_an_item_is_known_by_its_whole_content() -> None:
    item = Item("b", "b-v1/1", {"n": 1}, {"t": (1, 2)}, {"m": "x"})
    assert item.to_dict() == {
        "benchmark": "b",
        "id": "b-v1/1",
        "params": {"n": 1},
        "truth": {"t": (1, 2)},
        "meta": {"m": "x"},
    }
    assert item.sha256 == Item("b", "b-v1/1", {"n": np.int64(1)}, {"t": [1, 2]}, {"m": "x"}).sha256
    assert item.sha256 != Item("b", "b-v1/1", {"n": 1}, {"t": [1, 2]}, {"m": "y"}).sha256
    other = Item("b", "b-v1/2")
    assert items_hash([item, other]) == items_hash([other, item]) != items_hash([item])
    with pytest.raises(AttributeError):
        item.id = "else"  # type: ignore[misc]


# --------------------------------------------------------------------------------------------------------------- tables


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"
    write_text(path, "first\nsecond: é\n")
    assert path.read_bytes() == "first\nsecond: é\n".encode()
    assert path.stat().st_mode & 0o777 == 0o644
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "half \ud800")
    assert path.read_text(encoding="utf-8") == "first\nsecond: é\n"
    assert [file.name for file in path.parent.iterdir()] == ["a.txt"]


def test_a_failed_rename_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_text(tmp_path / "a.txt", "x")
    assert list(tmp_path.iterdir()) == []


def test_tables_are_the_same_byte_by_byte(tmp_path: Path) -> None:
    frame = pd.DataFrame({"model": ["é", 'a,"b"'], "x": [1 / 3, math.nan], "n": [1, 2], "p": [1e-12, 0.5]})
    save_tables(tmp_path, one=frame, two=frame.iloc[:0])
    assert (tmp_path / "one.csv").read_bytes() == ('model,x,n,p\né,0.3333333333,1,1e-12\n"a,""b""",,2,0.5\n'.encode())
    assert (tmp_path / "two.csv").read_bytes() == b"model,x,n,p\n"
    first = (tmp_path / "one.csv").read_bytes()
    save_tables(tmp_path, one=read_table(tmp_path / "one.csv"))
    assert (tmp_path / "one.csv").read_bytes() == first


def test_a_table_comes_back_as_it_was(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "model": ["None", "NA", "nan"],  # names, not gaps
            "unscored": ["", "failed", ""],
            "x": [0.5, math.nan, 1.0],
            "n": [1, 2, 3],
            "nothing": ["", "", ""],
        }
    )
    save_tables(tmp_path, t=frame)
    back = read_table(tmp_path / "t.csv")
    assert back["model"].tolist() == ["None", "NA", "nan"]
    assert back["unscored"].tolist() == ["", "failed", ""]
    assert back["x"].isna().tolist() == [False, True, False]
    assert back["n"].tolist() == [1, 2, 3]
    assert back["nothing"].isna().all()


def test_names_stay_text(tmp_path: Path) -> None:
    names = ["007", "1e5", "True"]
    frame = pd.DataFrame({"model": names, "item": names, "run": names, "concept": names, "sample": [0, 1, 2]})
    save_tables(tmp_path, t=frame, u=pd.DataFrame({"model": ["1"], "domain": [""]}))
    back = read_table(tmp_path / "t.csv")
    assert back.to_dict("list") == frame.to_dict("list")
    assert back["sample"].sum() == 3  # a number
    assert read_table(tmp_path / "u.csv")["domain"].isna().all()
    save_tables(tmp_path / "9", t=back)
    assert set(read_tables(tmp_path / "overview", "t")["run"]) == {"9"}


def test_only_runs_that_ended_well_are_stacked_where_a_report_made_any(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_tables(tmp_path / name, card=pd.DataFrame({"x": [name]}))
    assert read_tables(tmp_path / "overview", "card")["run"].tolist() == ["a", "b"]
    write_text(tmp_path / "b" / "stamp.json", "{}")
    assert read_tables(tmp_path / "overview", "card")["run"].tolist() == ["b"]


def test_the_tables_of_all_runs_are_stacked(tmp_path: Path) -> None:
    save_tables(tmp_path / "b", card=pd.DataFrame({"x": [2]}))
    save_tables(tmp_path / "a", card=pd.DataFrame({"x": [1], "y": ["t"]}), other=pd.DataFrame({"z": [0]}))
    save_tables(tmp_path / "c", card=pd.DataFrame({"x": []}))
    found = read_tables(tmp_path / "overview", "card")
    assert found["run"].tolist() == ["a", "b"]
    assert found["x"].tolist() == [1, 2]
    with pytest.raises(FileNotFoundError, match=r"no nothing\.csv in the folders beside .*overview; run another"):
        read_tables(tmp_path / "overview", "nothing")
