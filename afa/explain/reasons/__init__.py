"""Why a match came, and why it went: the one change of the input that did it, the way in which it did, a sentence.

because         `Because`, and a change of a match that has one
telling         events, instants and arcs as sentences have them
why_gone        a withdrawn match: its events before the change, and the change
broken_run      what became of the partial match at an event that came between two of its events
why_come        an announced match
explaining      `Reasons`: a stage around an operator, and its state before each call
explainable     operators whose matches have reasons
one_item        one item of a call, and a lineage within it
left_records    of what the changes of a call tell one by one, what is left when it is netted
because_column  the same in a table

SEMANTICS.md, "Reasons", says which change it is.
"""

from afa.explain.reasons.because import Because
from afa.explain.reasons.explaining import Reasons

__all__ = ["Because", "Reasons"]
