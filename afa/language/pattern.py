"""The pattern tree: the one form behind SASE+ text, the Python builder and SQL.

    Component   one event, its type and predicates
    Seq         one after the other, with a gap between each two neighbours
    Either      one of several
    Repeat      low to high times, with a gap between two iterations
    Gap         what may be skipped between two neighbours, and what must be absent
    Tree        the query: pattern, key, order, window, what is returned

All are frozen and compared by structure: notations that mean the same give equal trees. Conjuncts stand where they are asked, in
the order in which they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from afa.expression.nodes import Expr

STRICT, PARTITION, NEXT, ANY = "strict", "partition", "next", "any"
EMPTY_MATCH, UNMATCHED = "(empty match)", "(unmatched row)"
"""Components without conditions, and of no name that a query can say, by which a scan shows the row at which a match is empty, or
which no match holds: as a match of this row, of which no variable has taken any."""
NO_ROW = (EMPTY_MATCH, UNMATCHED)


@dataclass(frozen=True, slots=True)
class Component:
    """A component: takes one event; within a `Repeat` one an iteration.

    ``where`` is asked of each event; ``first`` of the first one that the component takes, ``rest`` of all others; ``done``, of all
    events together, when the match goes on to another component or ends.
    """

    name: str
    type: str | None = None  # None: events of any type
    where: tuple[Expr, ...] = ()
    first: tuple[Expr, ...] = ()
    rest: tuple[Expr, ...] = ()
    done: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Gap:
    """What may lie between two neighbours of a match: events skipped by a strategy, none of which an absent component would take.

    strict      no event of the stream
    partition   no event of the key
    next        none that the component in which the match rests could take, by one more iteration if it repeats, else the next ones
    any         any
    """

    strategy: str = NEXT
    absent: tuple[Component, ...] = ()


@dataclass(frozen=True, slots=True)
class Seq:
    """One item after the other; ``gaps[i]`` lies between items i and i + 1."""

    items: tuple[Pattern, ...]
    gaps: tuple[Gap, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """One of the items; the left ones are preferred where one match is chosen."""

    items: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """The item low to high times (None: without bound); more are preferred if ``greedy``, where one match is chosen."""

    item: Pattern
    low: int = 1
    high: int | None = None
    gap: Gap = Gap()
    greedy: bool = True


Pattern = Component | Seq | Either | Repeat


class Computed(NamedTuple):
    """What is computed of each event as it comes."""

    event: type  # of the events that come
    values: tuple[tuple[str, Expr], ...]  # the fields that they get behind their own, with values over one event


@dataclass(frozen=True, slots=True)
class Tree:
    """A query, before it is lowered to an automaton."""

    pattern: Pattern
    event: type  # the event schema, a NamedTuple
    type_column: str | None = None  # the field that holds the type of an event; None: components have no types
    key: tuple[str, ...] = ()  # the fields of the partition; empty: one stream
    # The field that orders events of one instant (the operator's ``sequence``); None: they are alternatives.
    order: str | None = None
    window: int | None = None  # ticks: a match's last event lies before its first one + window
    # Absent before the first event (within the window that ends with the match), and after the last one (until the window's end).
    before: tuple[Component, ...] = ()
    after: tuple[Component, ...] = ()
    # Names and values of what a match shows; empty: the fields of each component that takes exactly one event; None: nothing.
    returns: tuple[tuple[str, Expr], ...] | None = ()
    payload: str = field(default="Match", compare=False)  # the name of the class of what is shown
    # Names for several components: a term that names one reads the events of all of them.
    subsets: tuple[tuple[str, tuple[str, ...]], ...] = ()
    time: str | None = None  # the field that holds the LE of an event, if one does
    # Which matches are shown, as AFTER MATCH SKIP says: "past last row", "to next row", "to first NAME", "to last NAME"; None: all.
    skip: str | None = None
    # Fields of neighbours that conditions and values read as those of an event: name, field ("": its LE), and how many events of
    # the key it stands behind, or before (below 0); see `neighbour_name`.
    neighbours: tuple[tuple[str, str, int], ...] = ()
    begins: tuple[Expr, ...] = ()  # conditions on the first event of a match, beside those of its component
    ends: tuple[Expr, ...] = ()  # on the last one
    # ALL ROWS PER MATCH: each row of a match shows what is returned, as of this row; but for rows of these components, by their
    # places in the pattern from left to right, which count and are not shown. None: a match shows it, as of its end.
    rows: tuple[int, ...] | None = None
    # Virtual fields of events: names, and values over one event (and `Classifier`), which terms read as those of other fields.
    virtual: tuple[tuple[str, Expr], ...] = ()
    # The events that come, where ``event`` has fields behind theirs that are computed of each one; None: they are of ``event``.
    computed: Computed | None = None
    # Of which events the query is: those of which it is true, over one event. The others are as if they had never come.
    where: Expr | None = None
    # The list by which `find` ranks rows, in place of LE and ``order`` (`afa.model.event_order`); None: LE is their time.
    rank: str | None = None
    ranked_by: str | None = None  # the list by which they are ranked, where LE is that rank
    asked: Expr | None = None  # SQL's WHERE over what a match, or a row of it, shows: it is shown where this is true
    distinct: bool = False  # SQL's SELECT DISTINCT: what matches show that agree in values, lifetime and key is one
    # What does not count where trees are compared:
    tick: str | None = field(default=None, compare=False)  # what one tick is, where a notation was told
    bare: bool = field(default=True, compare=False)  # whether the window was written as a bare number of ticks, without a unit
    ties: bool = field(default=True, compare=False)  # False: two events of one instant of a key and ``order`` are refused
    ordered: str | None = field(default=None, compare=False)  # the column that ORDER BY names, in small letters
    notes: tuple[str, ...] = field(default=(), compare=False)  # what `explain` says of the text, beside
    columns: tuple[str, ...] = field(default=(), compare=False)  # SQL's columns of the answer, those of the key first
    decimals: tuple[tuple[str, int], ...] = field(default=(), compare=False)  # scales of SQL's DECIMALs among what is shown


def neighbour_name(field: str, offset: int, taken: Collection[str]) -> str:
    """Return the name of the field of a neighbour, the same in all notations.

    >>> neighbour_name("price", -2, ["price"]), neighbour_name("", 1, ["next_1"])
    ('price_prev_2', 'next_1_')
    """
    found = f"{field}{'_' * bool(field)}{'prev' if offset < 0 else 'next'}_{abs(offset)}"
    while found in taken:
        found += "_"
    return found


def parts_of(pattern: Pattern) -> Iterator[Pattern]:
    """Yields a pattern and all within it, each before what it is made of, from left to right."""
    yield pattern
    if not isinstance(pattern, Component):
        for item in (pattern.item,) if isinstance(pattern, Repeat) else pattern.items:
            yield from parts_of(item)


def components_of(pattern: Pattern) -> list[Component]:
    """Returns the components that take events, from left to right."""
    return [part for part in parts_of(pattern) if isinstance(part, Component)]


def gaps_of(pattern: Pattern) -> Iterator[Gap]:
    """Yields the gaps that lie between two events; what comes once at most has none."""
    for part in parts_of(pattern):
        if isinstance(part, Seq):
            yield from part.gaps
        elif isinstance(part, Repeat) and part.high != 1:
            yield part.gap


def rebuilt(pattern: Pattern, component: Callable[[Component], Component], gap: Callable[[Gap], Gap] = lambda gap: gap) -> Pattern:
    """Returns a pattern with each component changed, from left to right, and each gap."""
    match pattern:
        case Component():
            return component(pattern)
        case Repeat(item):
            return replace(pattern, item=rebuilt(item, component, gap), gap=gap(pattern.gap))
        case Seq(items, gaps):
            return Seq(tuple(rebuilt(item, component, gap) for item in items), tuple(map(gap, gaps)))
    return Either(tuple(rebuilt(item, component, gap) for item in pattern.items))


def named_in(part: Pattern | Gap | tuple[Any, ...]) -> Iterator[Component]:
    """Yield the components of a part of a query, the absent ones too, from left to right."""
    match part:
        case Component():
            yield part
        case Repeat(item, _, _, gap):
            yield from named_in((item, gap))
        case Seq(items, gaps):
            yield from named_in((items[0], *(each for pair in zip(gaps, items[1:]) for each in pair)))
        case Gap(_, parts) | Either(parts) | (*parts,):
            for each in parts:
                yield from named_in(each)
