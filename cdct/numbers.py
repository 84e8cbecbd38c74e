"""A second name for what `cdct.text` has."""

from cdct.text import Equation, Integer  # noqa: F401
