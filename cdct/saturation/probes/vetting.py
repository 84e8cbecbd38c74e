"""Vetting a type before it joins: what it conflicts with, what it reads, how it survives, how often it is kept alone.

The paper's appendix K in numbers (its stages 2 and 3).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any

from cdct.core import stream
from cdct.saturation.constraints import CONSTRAINTS, Constraint
from cdct.saturation.probes.compatibility import found_by
from cdct.saturation.probes.hard import HARD_SETS
from cdct.saturation.probes.rules import RULES, Rule
from cdct.saturation.probes.sampler import count_subsets
from cdct.stats.resample import NOTHING, Estimate, mean
from cdct.text import Text

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["constraint", "always", "share", "rules"]


@dataclass(frozen=True)
class Vetting:
    """What vetting a type found.

    `hard` are the sets of types that it can't complete, whatever the parameters. `others` has one row per other type
    that it can clash with: the share of draws in conflict, whether that is all, and the rules. `reads` names the views
    and units of a reply that its verifier reads. `graph` is the share of all sets of k types with it that hold no hard
    set, exactly; `survival` the share of such sets, with parameters drawn each from its range, in which no rule holds;
    `alone` the share of pilot replies that keep it.
    """

    id: str
    k: int
    hard: tuple[tuple[str, ...], ...]
    others: pd.DataFrame
    reads: tuple[str, ...]
    graph: float
    survival: Estimate
    alone: Estimate

    def table(self) -> pd.DataFrame:
        """One row per question of the paper's appendix K, in words and numbers."""
        import pandas as pd

        some = self.others[~self.others["always"].astype(bool)]
        shares = [f"{id} {share:.0%}" for id, share in zip(some["constraint"], some["share"], strict=True)]
        few = [" + ".join(ids) for ids in self.hard if len(ids) < 3]
        more = len(self.hard) - len(few)
        sets = ", ".join(few + ([f"{more} with 3 or more others"] if more else []))
        rows = [
            ("hard conflicts", len(self.hard), sets or "none"),
            ("conflicts by parameters", len(shares), ", ".join(shares) or "none"),
            ("output dimensions", len(self.reads), ", ".join(self.reads)),
            (f"sets of {self.k} without a hard set", round(self.graph, 3), "exact"),
            (f"sets of {self.k} that no rule rejects", *_shown(self.survival)),
            ("pass rate alone", *_shown(self.alone)),
        ]
        return pd.DataFrame(rows, columns=["question", "answer", "detail"], dtype=object)

    def _repr_html_(self) -> str:
        return f"<p><b>{self.id}</b></p>{self.table().to_html(index=False)}"


def _shown(estimate: Estimate) -> tuple[float, str]:
    low, high = estimate.low, estimate.high
    return round(estimate.estimate, 3), f"{low:.3f} to {high:.3f}, n = {estimate.n}" if estimate.n else estimate.method


def vet(
    constraint: Constraint,
    rules: Iterable[Rule] = (),
    replies: Sequence[tuple[str, Mapping[str, Any]]] = (),
    draws: int = 200,
    k: int = 12,
    seed: int = 0,
) -> Vetting:
    """How a type of constraint goes with the registered ones; it need not be one of them.

    Args:
        constraint: the type. One with the id of a registered type takes its place.
        rules: what is known of its conflicts (`probes.rules.rule`), besides the registered rules.
        replies: pilot replies to this constraint alone, with the parameters that were asked for.
        draws: how many draws of parameters stand behind each share.
        k: the size of the sets in which it has to survive.
        seed: of the draws.

    A clash in every draw counts as a hard pair; the registered hard sets with its id are kept only where it is the
    registered type itself. ValueError for a `k` beyond the number of types.
    """
    import pandas as pd

    if not 2 <= k <= len(CONSTRAINTS):
        raise ValueError(f"vet: k must be from 2 to {len(CONSTRAINTS)}, got {k}")
    id, every = constraint.id, [*RULES.values(), *rules]
    kinds = {other: CONSTRAINTS[other] for other in CONSTRAINTS if other != id}
    rng = stream("vet", id, seed)
    rows = []
    for other, kind in kinds.items():
        found = [found_by(every, _drawn((constraint, kind), rng)) for _ in range(draws)]
        if share := sum(map(bool, found)) / draws:
            names = dict.fromkeys(conflict.rule for conflicts in found for conflict in conflicts)
            rows.append((other, share == 1.0, share, ", ".join(names)))
    others = pd.DataFrame(rows, columns=COLUMNS)
    known = HARD_SETS if CONSTRAINTS.get(id) is constraint else [edge for edge in HARD_SETS if id not in edge]
    pairs = [{id, other} for other in others["constraint"][others["always"].astype(bool)]]
    hard = {frozenset(edge) for edge in known} | set(map(frozenset, pairs))
    own = sorted(
        (tuple(other for other in kinds if other in edge) for edge in hard if id in edge), key=lambda e: (len(e), e)
    )
    ids = [*kinds, id]
    without = count_subsets(k, list(kinds), hard) if k <= len(kinds) else 0
    graph = (count_subsets(k, ids, hard) - without) / comb(len(kinds), k - 1)
    survived = []
    for _ in range(draws):
        chosen = [kinds[ids[int(i)]] for i in rng.permutation(len(kinds))[: k - 1]]
        survived.append(not found_by(every, _drawn((constraint, *chosen), rng)))
    kept = [constraint.check(text, **params).passed for text, params in replies]
    return Vetting(
        id,
        k,
        tuple(own),
        others,
        _reads(constraint),
        graph,
        mean(survived, bounds=(0, 1)),
        mean(kept, bounds=(0, 1)) if kept else NOTHING,
    )


def _drawn(kinds: Iterable[Constraint], rng: Any) -> dict[str, Mapping[str, Any]]:
    return {kind.id: kind.read(kind.sample(rng)) for kind in kinds}


class _Watched(Text):
    """A text that remembers which of its views and units were asked for from outside."""

    def __init__(self, reply: str) -> None:
        super().__init__(reply)
        self._asked: dict[str, None] = {}
        self._inside = False

    def __getattribute__(self, name: str) -> Any:
        get = super().__getattribute__
        if name.startswith("_") or get("_inside"):
            return get(name)
        self._asked[name] = None
        self._inside = True
        try:
            return get(name)
        finally:
            self._inside = False


def _reads(constraint: Constraint) -> tuple[str, ...]:
    """The views and units of a reply that a verifier reads for its own examples, in the order of their names."""
    asked: set[str] = set()
    for text, params, _ in constraint.examples:
        watched = _Watched(text)
        constraint.verify(watched, **constraint.read(params))
        asked.update(watched._asked)
    return tuple(sorted(asked))
