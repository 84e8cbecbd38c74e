"""A second name for what `cdct.text` has."""

from cdct.text import Numbered  # noqa: F401
