"""CDCT: does a model keep a length limit, and the meaning, when the text that it works from is compressed?

`generate` items (concept x level), `messages` for an item in an arm, `score` replies, `summarise` the rows.
"""

from cdct.compression.analysis import (
    context_words,
    dip_summary,
    dips,
    examples,
    null_table,
    published_dips,
    published_means,
    summarise,
)
from cdct.compression.calibration import calibration, errors_by_band, with_jury
from cdct.compression.card import card, effect_card, effect_findings, findings
from cdct.compression.compressors import (
    COMPRESSORS,
    acceptance,
    accepted,
    accepted_texts,
    generate_by,
    protocol_items,
    text_rows,
)
from cdct.compression.contrasts import (
    arm_effects,
    changes,
    dip_variance,
    kept_flips,
    level_differences,
    orthogonality,
    published_tiers,
    tiers,
    troughs,
)
from cdct.compression.items import CONCEPT_FOLDER, LEVELS, LIMIT, MODES, concepts, generate
from cdct.compression.prompts import ARMS, BASELINE, EMPHASIS, SAMPLING, messages
from cdct.compression.public import find_folder, read_results, read_trials
from cdct.compression.public_summary import (
    high_counts,
    inside_shares,
    load_summary,
    public_findings,
    public_tables,
    summary_tables,
    trial_summary,
)
from cdct.compression.reliability import (
    agreement_by_level,
    jury_card,
    jury_findings,
    pooling_notes,
    votes_by_level,
)
from cdct.compression.score import VERSION, compliance_score, coverage, score
from cdct.core import BENCHMARKS, Benchmark

__all__ = [
    "ARMS",
    "COMPRESSORS",
    "CONCEPT_FOLDER",
    "EMPHASIS",
    "LEVELS",
    "LIMIT",
    "MODES",
    "VERSION",
    "acceptance",
    "accepted",
    "accepted_texts",
    "agreement_by_level",
    "arm_effects",
    "calibration",
    "card",
    "changes",
    "compliance_score",
    "concepts",
    "context_words",
    "coverage",
    "dip_summary",
    "dip_variance",
    "dips",
    "effect_card",
    "effect_findings",
    "errors_by_band",
    "examples",
    "find_folder",
    "findings",
    "generate",
    "generate_by",
    "high_counts",
    "inside_shares",
    "jury_card",
    "jury_findings",
    "kept_flips",
    "level_differences",
    "load_summary",
    "messages",
    "null_table",
    "orthogonality",
    "pooling_notes",
    "protocol_items",
    "public_findings",
    "public_tables",
    "published_dips",
    "published_means",
    "published_tiers",
    "read_results",
    "read_trials",
    "score",
    "summarise",
    "summary_tables",
    "text_rows",
    "tiers",
    "trial_summary",
    "troughs",
    "votes_by_level",
    "with_jury",
]

BENCHMARKS.add("cdct", Benchmark("cdct", "Compression (CDCT)", ARMS, BASELINE, SAMPLING, {"concepts": concepts}))
