"""CCB: for how many steps does a model keep track of a state, and where does it first go wrong?

`generate` items (domain x depth), `messages` for an item in an arm, `score` for the replies. The domains are in
`DOMAINS`.
"""

from cdct.ceiling.analysis import (
    SUCCESSES,
    by_operation,
    divergences,
    outcomes,
    paired,
    successes,
    summarise,
    tfbc,
    tokens,
    traced,
)
from cdct.ceiling.card import card, findings
from cdct.ceiling.contrasts import arm_effects, effect_card, effect_findings
from cdct.ceiling.domains import DOMAINS
from cdct.ceiling.fits import (
    ALL,
    CELL,
    PAPER,
    RUN,
    both_depths,
    effective_depths,
    k_stars,
    marked,
    model_sizes,
    residuals,
    tokens_with_published,
    with_published,
)
from cdct.ceiling.flags import FLAGS
from cdct.ceiling.items import DEPTHS, RELATIONAL, TRIALS, frozen, generate
from cdct.ceiling.prompts import ARMS, BASELINE, EVERYWHERE, SAMPLING, applies, messages, rendered, right_replies
from cdct.ceiling.published import published_arms, published_cells, published_counts, published_tokens
from cdct.ceiling.score import METRICS, OUTCOMES, TraceVerdict, score, score_trial
from cdct.ceiling.trace import ReplyTrace, read_reply
from cdct.core import BENCHMARKS, Benchmark

__all__ = [
    "ALL",
    "ARMS",
    "CELL",
    "DEPTHS",
    "DOMAINS",
    "EVERYWHERE",
    "METRICS",
    "OUTCOMES",
    "PAPER",
    "RELATIONAL",
    "RUN",
    "SUCCESSES",
    "TRIALS",
    "ReplyTrace",
    "TraceVerdict",
    "applies",
    "arm_effects",
    "both_depths",
    "by_operation",
    "card",
    "divergences",
    "effect_card",
    "effect_findings",
    "effective_depths",
    "findings",
    "frozen",
    "generate",
    "k_stars",
    "marked",
    "messages",
    "model_sizes",
    "outcomes",
    "paired",
    "published_arms",
    "published_cells",
    "published_counts",
    "published_tokens",
    "read_reply",
    "rendered",
    "residuals",
    "right_replies",
    "score",
    "score_trial",
    "successes",
    "summarise",
    "tfbc",
    "tokens",
    "tokens_with_published",
    "traced",
    "with_published",
]

BENCHMARKS.add("ccb", Benchmark("ccb", "Ceiling (CCB)", ARMS, BASELINE, SAMPLING, {"domains": lambda: DOMAINS}, FLAGS))
