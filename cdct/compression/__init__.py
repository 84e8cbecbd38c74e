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
    two_lines,
)
from cdct.compression.calibration import calibration, errors_by_band, with_jury
from cdct.compression.card import card, effect_card, effect_findings, findings, told_effects
from cdct.compression.compressors import (
    COMPRESSORS,
    acceptance,
    accepted,
    accepted_texts,
    generate_by,
    protocol_items,
    text_rows,
    unaccepted,
)
from cdct.compression.contrasts import (
    arm_effects,
    changes,
    dip_variance,
    kept_flips,
    level_differences,
    orthogonality,
    troughs,
)
from cdct.compression.groups import published_tiers, tiers
from cdct.compression.items import CONCEPT_FOLDER, LEVELS, LIMIT, MODES, check_level, concepts, generate
from cdct.compression.prompts import ARMS, BASELINE, EMPHASIS, SAMPLING, messages
from cdct.compression.public import find_folder, read_results, read_trials
from cdct.compression.public_claims import trial_summary
from cdct.compression.public_findings import public_findings, public_kappas, public_warnings
from cdct.compression.public_summary import (
    dip_shares,
    high_counts,
    inside_shares,
    load_summary,
    public_tables,
    summary_tables,
)
from cdct.compression.reliability import (
    agreement_by_level,
    agreement_table,
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
    "agreement_table",
    "arm_effects",
    "calibration",
    "card",
    "changes",
    "check_level",
    "compliance_score",
    "concepts",
    "context_words",
    "coverage",
    "dip_shares",
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
    "public_kappas",
    "public_tables",
    "public_warnings",
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
    "told_effects",
    "trial_summary",
    "troughs",
    "two_lines",
    "unaccepted",
    "votes_by_level",
    "with_jury",
]

BENCHMARKS.add("cdct", Benchmark("cdct", "Compression (CDCT)", ARMS, BASELINE, SAMPLING, {"concepts": concepts}))
