"""Why a match came, and why it went: the one change of the input that did it, the way in which it did, a sentence.

because         `Because`, and a change of a match that has one; the same in a table
telling         events, instants and arcs as sentences have them
why_changed     a withdrawn match: its events before the change, and the change; what became of the partial match at an event
                that came between two of them; an announced match
explaining      `Reasons`: a stage around an operator, and its state before each call
call_items      the items of a call one by one, what of their records is left, and a lineage within it

SEMANTICS.md, "Reasons", says which change it is.
"""

from afa.explain.reasons.because import Because
from afa.explain.reasons.explaining import Reasons

__all__ = ["Because", "Reasons"]
