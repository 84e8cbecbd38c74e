"""cdct measures how language models break: under compressed instructions, many constraints, and long state tracking.

    generate -> (run) -> reply -> extract -> verify | judge -> frame -> statistics -> plot -> notebook -> report

Every benchmark offers the same four verbs: `generate` items, `messages` for an item, `score` replies into rows and
`summarise` rows into estimates. Replies are asked for by `cdct.run.run` and recorded in one SQLite file, so nothing is
asked twice. Stages speak in tidy frames whose rows carry `KEYS`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cdct.core import BENCHMARKS, KEYS, Item, stream
    from cdct.models import Model, load_models

__version__ = "0.1.0"
__all__ = ["BENCHMARKS", "KEYS", "Item", "Model", "load_models", "stream"]


def __getattr__(name: str):
    # the public names load their modules when first used: `import cdct` itself stays under a third of a second
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module 'cdct' has no attribute {name!r}")
    return getattr(import_module("cdct.models" if name in {"Model", "load_models"} else "cdct.core"), name)
