"""CCB: for how many steps does a model keep track of a state, and where does it first go wrong?

`generate` items (domain x depth), `messages` for an item in an arm. The domains are in `DOMAINS`.
"""

from cdct.ceiling.domains import DOMAINS
from cdct.ceiling.items import DEPTHS, RELATIONAL, TRIALS, frozen, generate
from cdct.ceiling.prompts import ARMS, BASELINE, EVERYWHERE, SAMPLING, applies, messages, rendered, right_replies
from cdct.core import BENCHMARKS, Benchmark

__all__ = [
    "ARMS",
    "DEPTHS",
    "DOMAINS",
    "EVERYWHERE",
    "RELATIONAL",
    "TRIALS",
    "applies",
    "frozen",
    "generate",
    "messages",
    "rendered",
    "right_replies",
]

BENCHMARKS.add("ccb", Benchmark("ccb", "Ceiling (CCB)", ARMS, BASELINE, SAMPLING, {"domains": lambda: DOMAINS}))
