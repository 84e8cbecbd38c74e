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
from cdct.compression.card import card, findings
from cdct.compression.compressors import COMPRESSORS, accepted, accepted_texts, protocol_items
from cdct.compression.items import CONCEPT_FOLDER, LEVELS, LIMIT, MODES, concepts, generate
from cdct.compression.prompts import ARMS, BASELINE, EMPHASIS, SAMPLING, messages
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
    "accepted",
    "accepted_texts",
    "card",
    "compliance_score",
    "concepts",
    "context_words",
    "coverage",
    "dip_summary",
    "dips",
    "examples",
    "findings",
    "generate",
    "messages",
    "null_table",
    "protocol_items",
    "published_dips",
    "published_means",
    "score",
    "summarise",
]

BENCHMARKS.add("cdct", Benchmark("cdct", "Compression (CDCT)", ARMS, BASELINE, SAMPLING, {"concepts": concepts}))
