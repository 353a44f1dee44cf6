"""Terms of predicates: the nodes of `afa.expression`, and two more that name events of the match.

A predicate is asked of one event, the *event under test*; its fields are ``Field("e", name)``. All else that it reads lies before
that event in the match:

    Ref("a", "one", "price")        a.price                 of a component that takes one event
    Ref("a", "first", "price")      a[1].price
    Ref("a", "last", "price")       a[i-1].price within a's own predicates, a[a.LEN].price elsewhere
    Ref("a", "last", "price", 2)    a[i-3].price; a[a.LEN-2].price
    Ref("", "last", "price")        of the event taken before, whichever component took it
    Aggregate("a", "avg", "price")  avg(a[..i-1].price) within a's own predicates, avg(a[].price) elsewhere
    Aggregate("a", "count")         i - 1 within a's own predicates, a.LEN elsewhere

A field may be a *virtual* one (`Tree.virtual`), an expression over one event: ``Ref("a", "first", "e.price * e.size")``.

In conditions of a whole component (`Component.done`) and in RETURN there is no event under test: all events of the match count.

What is not there (an optional component that took nothing, too few iterations, a field that is None) is None. **A comparison with
None holds of nothing**, and neither does its negation: predicates have SQL's three values, and one holds only if it is true;
``is None`` asks.
"""

from __future__ import annotations

from dataclasses import dataclass

from afa.expression.nodes import Const, Expr

AGGREGATES = ("min", "max", "sum", "count", "avg", "first", "last")
OF_ROW = "(row)"
"""In the place of a component: the row at hand, be it one of a match or not."""
NAMED = "CLASSIFIER()"
"""The virtual field that holds the name of the component that has taken the event."""


@dataclass(frozen=True, slots=True)
class Ref(Expr):
    """A field of one event of the match."""

    component: str
    which: str  # "one", "first", "last"
    field: str
    back: int = 0  # of "last": how many events before it; of "first": how many behind it


@dataclass(frozen=True, slots=True)
class Aggregate(Expr):
    """A value over the events that a component has taken: "min", "max", "sum", "count", "avg"; SQL's "any", "max_by", "min_by"."""

    component: str
    function: str
    field: str | None = None  # None: of "count" only
    now: bool = False  # whether the event under test counts as well (SQL's running aggregates)
    by: str | None = None  # of "max_by" and "min_by": the field whose first largest, or smallest, value says which event counts


@dataclass(frozen=True, slots=True)
class ListAggregate(Expr):
    """A value over all values of the rows that a component has taken, in their order: SQL's COUNT(DISTINCT), ARRAY_AGG, LISTAGG.

    In RETURN and `Tree.asked` of a query that chooses: it is made once the match is chosen (`afa.language.gathered`).
    """

    component: str
    function: str  # "distinct": how many different ones; "array"; "text": joined by a separator
    field: str
    skips: bool = True  # whether None is left out
    only: str | None = None  # the field that must be true of a row; None: all count
    separator: str = ""
    empty: bool = False  # whether that of no value is an empty array, or text; else it is None


@dataclass(frozen=True, slots=True)
class Classifier(Expr):
    """The name of the component that takes an event. In virtual fields only."""


@dataclass(frozen=True, slots=True)
class Beside(Expr):
    """A field, of the event under test or a `Ref`, but of the event so many steps behind that one, or before (below 0), whatever
    the match has taken. A tree has fields of neighbours in its place (`afa.language.neighbours`).
    """

    x: Expr
    offset: int


@dataclass(frozen=True, slots=True)
class Final(Expr):
    """A value as it is at the end of the match, where others are as of the row at hand. In what rows of a match show only."""

    x: Expr


@dataclass(frozen=True, slots=True)
class MatchNumber(Expr):
    """The rank of the match, from 1, among those of its key that are shown. In RETURN and `Tree.asked` of a query that chooses."""


@dataclass(frozen=True, slots=True)
class OfMatch(Expr):
    """A measure where rows show that no match holds: there it is None, and what is made of it is made of None."""

    x: Expr


class Unseen(Const):
    """In a value, in place of one that nobody sees: a constant, of the type of what the value is elsewhere."""

    __slots__ = ()
