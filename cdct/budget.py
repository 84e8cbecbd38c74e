"""Keeping a run within what it may spend: the highest price of a call is set aside before the call is made."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cdct.core import unknown


@dataclass(frozen=True)
class Budget:
    """The most that one `run` may spend on new calls, in US dollars, in tokens, or both.

    A reply without usage counts as its highest price. What a provider bills for a call that it did not answer is not
    known, and not counted.
    """

    usd: float | None = None
    tokens: int | None = None

    @classmethod
    def of(cls, value: float | Mapping[str, Any] | Budget | None) -> Budget:
        """A budget from a number (dollars), a mapping {"usd": ..., "tokens": ...}, a Budget, or None (no limit)."""
        if isinstance(value, Budget):
            return value
        limits = dict(value) if isinstance(value, Mapping) else {"usd": value}
        for name, limit in limits.items():
            if name not in ("usd", "tokens"):
                raise ValueError(f"budget: {unknown('limit', name, ['usd', 'tokens'])}")
            number = isinstance(limit, int | float) and not isinstance(limit, bool)
            if limit is not None and not (number and limit >= 0):
                raise ValueError(f"budget: {name} must be a number from 0, or None for no limit, got {limit!r}")
        return cls(**limits)


@dataclass
class Ledger:
    """What a run has spent, and what its open calls could still cost at most."""

    budget: Budget
    usd: float = 0.0
    tokens: int = 0
    open_usd: float = 0.0
    open_tokens: int = 0
    open_calls: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def limited(self) -> bool:
        """Whether there is a budget to keep."""
        return self.budget.usd is not None or self.budget.tokens is not None

    async def reserve(self, usd: float | None, tokens: int | None) -> str | None:
        """Set a call's highest price aside; waits while open calls may still free enough. Else: why it does not fit."""
        if tokens is None and (self.budget.tokens is not None or usd != 0):
            return "budget: the request sets no max_tokens, so that its price has no upper bound"
        if self.budget.usd is not None and usd is None:
            return "budget: no price is known, so that a budget in dollars can't be kept; set price in data/models.toml"
        async with self.changed:
            while True:
                over_usd = self.budget.usd is not None and self.usd + self.open_usd + (usd or 0) > self.budget.usd
                over_tokens = self.budget.tokens is not None and (
                    self.tokens + self.open_tokens + (tokens or 0) > self.budget.tokens
                )
                if not over_usd and not over_tokens:
                    self.open_usd += usd or 0.0
                    self.open_tokens += tokens or 0
                    self.open_calls += 1
                    return None
                if self.open_calls == 0:
                    if over_usd:
                        return (
                            f"budget: ${self.usd:.4f} of ${self.budget.usd:.4f} spent, the call could cost ${usd:.4f}"
                        )
                    return f"budget: {self.tokens} of {self.budget.tokens} tokens spent, the call could take {tokens}"
                await self.changed.wait()

    async def settle(self, usd: float | None, tokens: int | None, spent_usd: float, spent_tokens: int) -> None:
        """Turn what was set aside for a call into what it cost."""
        async with self.changed:
            self.open_calls -= 1
            self.open_usd = self.open_usd - (usd or 0.0) if self.open_calls else 0.0  # no rounding is left over
            self.open_tokens -= tokens or 0
            self.usd += spent_usd
            self.tokens += spent_tokens
            self.changed.notify_all()
