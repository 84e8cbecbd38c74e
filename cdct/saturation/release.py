"""The frozen set of the saturation benchmark and its manifest: what was asked of whom stays the same for ever.

python -m cdct.saturation.release                        # writes data/items/cse-v1.jsonl.gz and its manifest
python -m cdct.saturation.release private.jsonl.gz SEED  # a set of your own, whose manifest shows hashes only
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdct.core import Item
from cdct.frozen import read_frozen, write_frozen
from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.items import KS, PER_K, VERSION, generated
from cdct.saturation.probes.impossible import impossible

if TYPE_CHECKING:
    import pandas as pd

FROZEN = f"data/items/{VERSION}.jsonl.gz"
RESERVE = 20
"""Reserve probes per k: the next ones in the same order, for whoever has to replace some."""


def impossible_items(seed: int | str = 0) -> list[Item]:
    """The impossible probes as items, each with its proof, in the order of `probes.impossible`."""
    items = []
    for index, probe in enumerate(impossible(seed)):
        constraints = [{"id": id, "params": dict(params)} for id, params in probe.chosen]
        params = {"k": len(constraints), "topic": probe.topic, "constraints": constraints, "seed": seed}
        proof = [{"rule": one.rule, "ids": list(one.ids), "why": one.why} for one in probe.proof]
        truth = {"kind": "impossible", "family": probe.family, "type": probe.type, "source": probe.source}
        truth |= {"core": list(probe.core), "proof": proof}
        name = f"{VERSION}/impossible/{index:03d}" + (f"-s{seed}" if seed else "")
        items.append(Item("cse", name, params, truth, {"set": "impossible", "index": index}))
    return items


def freeze(
    path: str | Path = FROZEN,
    seed: int | str = 0,
    per_k: int = PER_K,
    reserve: int = RESERVE,
    private: bool = False,
    processes: int = 2,
) -> None:
    """Write `per_k` primary and `reserve` further probes per k, the impossible ones, and the manifest beside them.

    The manifest has what `write_frozen` says, the verifiers' versions, how often each k had to try, and the drift of
    parameters over k. Of a `private` set it has neither the seed nor anything drawn, and a hash for each item.
    """
    found = generated(seed, KS, per_k + reserve, processes=processes)
    marked = [
        Item(one.benchmark, one.id, one.params, one.truth, {**one.meta, "set": "reserve"})
        if one.meta["index"] >= per_k
        else one
        for one in found.items
    ]
    items = [*marked, *impossible_items(seed)]
    if private:  # the ids would name the seed
        bare = [
            Item(one.benchmark, _unsigned(one.id, seed), {**one.params, "seed": None}, one.truth, one.meta)
            for one in items
        ]
        write_frozen(path, bare, {"versions": versions(), "sha256": [one.sha256 for one in bare]})
        return
    told = {"seed": seed, "versions": versions(), "tried": found.counts, "drift": drift(found.items).to_dict("records")}
    write_frozen(path, items, told)


def _unsigned(name: str, seed: int | str) -> str:
    return name.removesuffix(f"-s{seed}").replace(VERSION, f"{VERSION}-private", 1)


def frozen(path: str | Path = FROZEN, sets: Sequence[str] = ("primary",)) -> list[Item]:
    """The frozen items of these sets: primary, reserve, impossible. ValueError where the file is not its manifest's."""
    return [item for item in read_frozen(path) if item.meta["set"] in sets]


def versions() -> dict[str, str]:
    """The version of each verifier."""
    return {id: kind.version for id, kind in CONSTRAINTS.items()}


def drift(items: Sequence[Item], few: int = 3, many: int = 10) -> pd.DataFrame:
    """How far a type's numbers move with k: a row per type and parameter that is a number.

    Columns: constraint, parameter, mean_few and mean_many (over probes of at most `few` and of at least `many`
    constraints), n_few, n_many, rho (Spearman's correlation of the value with k over all probes that hold the type), n.
    Where parameters are drawn jointly, what else stands in a probe moves them, and more of it stands there at large k.
    """
    import pandas as pd
    from scipy.stats import spearmanr

    rows = [
        {"constraint": one["id"], "parameter": name, "k": item.params["k"], "value": float(value)}
        for item in items
        for one in item.params["constraints"]
        for name, value in one["params"].items()
        if isinstance(value, int | float)
    ]
    out: list[dict[str, Any]] = []
    for (id, name), cell in pd.DataFrame(rows, columns=["constraint", "parameter", "k", "value"]).groupby(
        ["constraint", "parameter"], sort=False
    ):
        low, high = cell[cell["k"] <= few]["value"], cell[cell["k"] >= many]["value"]
        moved = len(cell["value"].unique()) > 1 and len(cell["k"].unique()) > 1
        out.append(
            {"constraint": id, "parameter": name}
            | {
                "mean_few": round(low.mean(), 3),
                "mean_many": round(high.mean(), 3),
                "n_few": len(low),
                "n_many": len(high),
            }
            | {"rho": round(float(spearmanr(cell["k"], cell["value"]).statistic), 3) if moved else None, "n": len(cell)}
        )
    table = list(CONSTRAINTS)
    return pd.DataFrame(sorted(out, key=lambda row: table.index(row["constraint"])))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        freeze(sys.argv[1], sys.argv[2], private=True)
    else:
        freeze()
