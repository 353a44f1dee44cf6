"""Which events stand behind a match: its paths, derived backward from the lists that an engine holds. Nothing is kept forward.

match_ends      the partial matches, and the steps, at which a match ends; what is refused: not in force, or its past is dropped
components      which component an arc takes an event for; picks: events taken for a component
derivation      backward: what leads to a match by which picks, where the engine does not find it itself, in machine code
bounded         the same over states and registers, by the events that live to a bound: where starts do not matter
walked          these ways, backward: sets of partial matches, and the picks that lead to them
graph           its nodes; each walk through them from the end is a path, no two are the same
aggregates      count, sum, min and max of a field over all paths, in one pass of the graph
having          of the paths those whose sums satisfy a condition, with early cuts and a budget
satisfying      the graph of those that satisfy a condition, folded forward, maybe a function
lineage         `Lineage`: paths, count, events, aggregates; the graph as an Arrow table

SEMANTICS.md, "Lineage", says what a path is. How the graph comes about, for ``a, b+ (any), c`` over a1 b2 b3 c4:

    step        1          2          3            4                     walked from the end
    event       a1         b2         b3           c4                    (c, 4) -> (b, 3) -> (b, 2) -> (a, 1)
    list        p:a        p:a q:b    p:a q:b      p:a q:b f:final                          or -> (a, 1)
                                                                                or -> (b, 2) -> (a, 1)

f at 4 was made of q by c4. At 3, q was made of q and of p by b3, or rests, as b3 was skipped; and so on down to the start. A node
is a step and a *set* of partial matches: where several computations have the same picks, they are walked together, so that a path
comes once.
"""

from afa.errors import BudgetError
from afa.lineage.having import Having
from afa.lineage.lineage import Lineage

__all__ = ["BudgetError", "Having", "Lineage"]
