"""A blind search for texts that keep constraints: edits of a text, judged by nothing but the verifiers' scores.

It plans nothing and knows no rule, so that it can't share an error with the witness builder or with the rules of
compatibility. With `odd` it also tries what no instruction means: sentences that end within a word, escapes in JSON,
spaces that part no words or thousands, letters that pass for others.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import exp, inf, log, log1p
from typing import TYPE_CHECKING

from cdct.core import Verdict, stream, to_json
from cdct.saturation.constraints import CONSTRAINTS
from cdct.saturation.probes.attack_blocks import Chosen
from cdct.saturation.probes.attack_edits import Edits, Tokens, written
from cdct.text import Text

if TYPE_CHECKING:
    import numpy as np

TRIES = 12
STEPS = 1500
"""Edits in one try."""
HOT, COLD = 0.03, 0.01
"""The temperatures at which a try begins and ends; a constraint without any credit costs 1."""
PATIENCE = 80
"""After so many edits without a gain, what is not kept weighs more."""
HEAVIER = 1.5
LONG = 50
"""Tokens beyond which a text costs more, so that it does not grow where no verifier minds."""


def attack(
    chosen: Chosen,
    topic: str | None = None,
    seed: int = 0,
    tries: int = TRIES,
    odd: bool = False,
    accept: Callable[[Text], bool] | None = None,
) -> str | None:
    """A text that keeps all these constraints, or None where `tries` searches of `STEPS` edits each find none.

    `accept` is asked of every text that would do, and where it says no the search goes on. The same arguments give the
    same text. None proves nothing.
    """
    name = ("attack", seed, to_json([[id, params] for id, params in chosen]), topic or "", odd)
    for number in range(tries):
        found = _Search(chosen, topic, stream(*name, number), odd, accept).run()
        if found is not None:
            return found
    return None


class _Search:
    """One try: a text drawn at random, then edits that are kept where the cost falls, or rises by little."""

    def __init__(
        self,
        chosen: Chosen,
        topic: str | None,
        rng: np.random.Generator,
        odd: bool,
        accept: Callable[[Text], bool] | None,
    ) -> None:
        self._rng, self._accept = rng, accept
        self._kinds = [(CONSTRAINTS[id], params) for id, params in chosen]
        self._weights = [1.0] * len(self._kinds)
        self._edits = Edits(chosen, topic, rng, odd)

    def run(self) -> str | None:
        """The text found, or None."""
        tokens = self._edits.start()
        cost, verdicts = self._judge(tokens)
        best, since = cost, 0
        for step in range(STEPS):
            if not any(verdict.score < 1 for verdict in verdicts):
                return written(tokens).strip()
            new_tokens = self._edits.edited(tokens, [self._place(tokens, verdicts) for _ in range(self._edits.depth())])
            heat = HOT * exp(step / STEPS * log(COLD / HOT))
            allowed = cost - heat * log(1 - self._rng.random())
            new_cost, new_verdicts = self._judge(new_tokens, allowed)
            since += 1
            if new_cost <= allowed:
                tokens, cost, verdicts = new_tokens, new_cost, new_verdicts
                if cost < best:
                    best, since = cost, 0
            if since > PATIENCE:
                passed = [verdict.score == 1 for verdict in verdicts]
                self._weights = [w * (1 if own else HEAVIER) for w, own in zip(self._weights, passed, strict=False)]
                cost, verdicts = self._judge(tokens)
                best, since = cost, 0
        return None

    def _judge(self, tokens: Tokens, most: float = inf) -> tuple[float, list[Verdict]]:
        """The cost of a text and the verdicts on it; both are cut short where the cost passes `most`."""
        text, verdicts = Text(written(tokens)), []
        cost = 0.005 * max(0, len(tokens) - LONG)
        for (kind, params), weight in zip(self._kinds, self._weights, strict=True):
            verdict = kind.check(text, **params)
            verdicts.append(verdict)
            if not verdict.passed:
                cost += weight * (0.1 + 0.9 * log1p(100 * (1 - verdict.score)) / log(101))
                if cost > most:
                    return cost, verdicts
        if self._accept and all(verdict.passed for verdict in verdicts) and not self._accept(text):
            cost += 0.5
            verdicts.append(Verdict.of(0.0, "not accepted"))
        return cost, verdicts

    def _place(self, tokens: Tokens, verdicts: Sequence[Verdict]) -> int:
        """The number of a token, more often than not one that a verifier points at."""
        failed = [verdict for verdict in verdicts if not verdict.passed]
        if failed and self._rng.random() < 0.6:
            spans = failed[int(self._rng.random() * len(failed))].spans
            if spans:
                start, end = spans[int(self._rng.random() * len(spans))]
                at = start + int(self._rng.random() * (end - start + 1))
                ends = list(accumulate(len(token) + len(gap) for token, gap in tokens))
                return min(bisect_right(ends, at), len(tokens) - 1)
        return int(self._rng.random() * len(tokens))
