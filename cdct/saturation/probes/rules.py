"""All rules of compatibility, by their names. A new one is one more block in the file of its kind."""

from __future__ import annotations

from cdct.core import Registry
from cdct.saturation.probes import rules_counts, rules_spelling
from cdct.saturation.probes.rule import Rule, rule

__all__ = ["RULES", "Rule", "rule"]

RULES = Registry("rule")
for _kind in (rules_counts, rules_spelling):
    for _thing in list(vars(_kind).values()):
        if isinstance(_thing, Rule):
            RULES.add(_thing.name, _thing)
