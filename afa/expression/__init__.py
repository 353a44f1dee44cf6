"""Expressions: the one form of fences and transfers, out of lambdas, defs and text.

nodes            the tree
functions        what is called in it beside Python's builtins: sqrt, sin, like ..
kinds            what each function of an arc, and a condition, sees and returns; Unreadable: why one can't be taken apart
from_functions   a function in Python -> expression; what can't be taken apart is Unreadable, with a reason and a hint
from_text        text -> expression
translate        the allow-list over ast that both share; values: what stands in between, events and registers
function_source  the node of a function in its file, proven by its code
live             what a function finds outside itself
unknown_fields   a field that a function reads, and that there is not
spans            durations, `afa.span`: constants once the tick is known
types            which types a value can have; what may raise
text             expression -> text, which from_text reads back
evaluation       the slow, obvious meaning, by closures
splitting        event part, register part, rest
intervals        the values that a fence allows
arc_functions    the expressions of an arc, also of one given as text; wire: as JSON
"""

from afa.expression.evaluation import callable_of, evaluate
from afa.expression.from_functions import read
from afa.expression.from_text import parse
from afa.expression.intervals import ValueRange, ranges
from afa.expression.kinds import AT, CONDITION, EPSILON_FENCE, EPSILON_TRANSFER, FENCE, TRANSFER, FunctionKind, Unreadable
from afa.expression.splitting import Split, split
from afa.expression.text import text_of_expr
from afa.expression.types import may_raise, types_of

__all__ = [
    "AT",
    "CONDITION",
    "EPSILON_FENCE",
    "EPSILON_TRANSFER",
    "FENCE",
    "TRANSFER",
    "FunctionKind",
    "Split",
    "Unreadable",
    "ValueRange",
    "callable_of",
    "evaluate",
    "may_raise",
    "parse",
    "ranges",
    "read",
    "split",
    "text_of_expr",
    "types_of",
]
