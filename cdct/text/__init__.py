"""One parse of a reply for all who read it: words, sentences, blocks and numbers, each with its place in the reply.

`Text` is the parse; what counts as what stands where it is read: words in `tokens`, sentences in `boundaries`, fences,
tables and bullets in `blocks`, JSON in `objects`, integers and equations in `numbers`, numbered lists in `lists`, the
plain and the prose view in `views` and `emphasis`, places in `spans`.
"""

from cdct.text.blocks import Bullet, Fence, Table
from cdct.text.lists import STYLES, Numbered
from cdct.text.numbers import Equation, Integer
from cdct.text.objects import Json, first_fitting
from cdct.text.parse import Paragraph, Text, sentences
from cdct.text.spans import Span, Unit
from cdct.text.tokens import WORD_RULE, folded, normalise, word_form, word_forms, words

__all__ = [
    "STYLES",
    "WORD_RULE",
    "Bullet",
    "Equation",
    "Fence",
    "Integer",
    "Json",
    "Numbered",
    "Paragraph",
    "Span",
    "Table",
    "Text",
    "Unit",
    "first_fitting",
    "folded",
    "normalise",
    "sentences",
    "word_form",
    "word_forms",
    "words",
]
