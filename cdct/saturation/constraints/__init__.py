"""The 36 types of constraint of the paper's Table 7, in its order. Each is one block in its dimension's file."""

from cdct.core import Registry
from cdct.saturation.constraints import formats, lexical, meta, numbers, ordering, relations, structure, words
from cdct.saturation.constraints.base import DIMENSIONS, Constraint, Parameter, constraint

__all__ = ["CONSTRAINTS", "DIMENSIONS", "Constraint", "Parameter", "constraint"]

CONSTRAINTS = Registry("constraint")
for _dimension in (structure, lexical, words, relations, formats, meta, numbers, ordering):
    for _thing in list(vars(_dimension).values()):
        if isinstance(_thing, Constraint):
            CONSTRAINTS.add(_thing.id, _thing)
