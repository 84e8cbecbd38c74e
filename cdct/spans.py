"""A second name for what `cdct.text` has."""

from cdct.text import Span, Unit  # noqa: F401
