"""A second name for what `cdct.text` has."""

from cdct.text import Json  # noqa: F401
