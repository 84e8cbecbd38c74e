"""CSE: how many constraints can a model keep at once, when each is checked by a rule and none by a judge?

`CONSTRAINTS` are the 36 types; `check_all` judges a reply by a list of them, `gallery` and `shown` show how they judge,
`readings` and `sensitivity` how much of it hangs on how a reply is read.
"""

from cdct.saturation.checks import check_all
from cdct.saturation.constraints import CONSTRAINTS, DIMENSIONS, Constraint, Parameter, constraint
from cdct.saturation.gallery import gallery, marked, shown, type_table
from cdct.saturation.sensitivity import READINGS, or_examples, readings, sensitivity

__all__ = [
    "CONSTRAINTS",
    "DIMENSIONS",
    "READINGS",
    "Constraint",
    "Parameter",
    "check_all",
    "constraint",
    "gallery",
    "marked",
    "or_examples",
    "readings",
    "sensitivity",
    "shown",
    "type_table",
]
