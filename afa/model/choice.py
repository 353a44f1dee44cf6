"""Which matches of an automaton are shown: AFTER MATCH SKIP of SQL, over arcs that have an order of preference.

    rows of a key   1  2  3  4  5  6        each begins an attempt, a scan with backtracking tries them from the left
    shown           [1     3]  [4  5]       and behind a match goes on where AFTER MATCH SKIP says

An attempt takes the arcs of a state in order; behind one that ends a match, none is tried. So the match of an attempt is its last
end. Source: ISO/IEC 19075-5, AFTER MATCH SKIP and the order of preference.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from afa.errors import AutomatonError
from afa.model.arc import CONSUME, Arc
from afa.schema import Schema

PAST, NEXT, FIRST, LAST = "past last row", "to next row", "to first", "to last"
Way = tuple[str, str, str]
"""The places where an arc begins and ends (`place_of` its states), and the component for which it takes a row."""


class Ranked(NamedTuple):
    """An arc among those of its state."""

    rank: int  # the smaller one is tried first
    place: int  # of the pattern, from left to right: where its component stands


class Rows(NamedTuple):
    """ALL ROWS PER MATCH."""

    schema: Schema  # the first fields of the register of measures
    hidden: frozenset[int]  # the places of components whose rows are not shown
    said: str  # all that decides what rows show, as text
    finish: Arc | None
    """Makes of the register of the last row, as an event, and that of a row what it shows; None: the latter is it."""


class Choice(NamedTuple):
    """How a scan chooses among the matches of an automaton, and what they show."""

    skip: str
    to: frozenset[str]  # of FIRST and LAST the components at whose row the scan goes on
    window: int | None  # ticks
    ways: Mapping[Way, Ranked]  # arcs that it does not name are never taken
    components: tuple[str, ...]  # by place
    measures: Any  # an `Automaton`: what a match shows is its register behind the last row; or, if it ended there, behind each
    steps: Mapping[tuple[str, int, bool], Arc]  # its arcs: by state, place, and whether the match ends
    rows: Rows | None
    before: tuple[str, ...] | None  # the fields of the row before, if a register holds these alone, whatever an arc writes
    beside: Mapping[str, tuple[str, int]]  # fields of a row: which field of the row so many steps behind it each of them is

    @property
    def schema(self) -> Schema:
        """What is shown."""
        return self.measures.match_schema if self.rows is None else self.rows.schema

    @property
    def later(self) -> int | None:
        """How many ticks later than without a choice a match is final; None: by the last watermark only."""
        return None if self.window is None else self.window - 1

    @property
    def said(self) -> Any:
        """All that a snapshot must have in common with it, as plain data."""
        ways = sorted((*way, *ranked) for way, ranked in self.ways.items())
        measures = [str(arc.name) for arc in self.measures.arcs]
        return {
            "AFTER MATCH SKIP": " ".join([self.skip, *sorted(self.to)]),
            "WITHIN": self.window,
            "PATTERN": [list(way) for way in ways],
            "MEASURES, or which of their values conditions say are not missing": [*measures, self.rows and self.rows.said],
            "values shown": self.schema.describe(),
        }

    @staticmethod
    def way_of(arc: Arc) -> Way:
        """Return the way that an arc goes."""
        return place_of(arc.src), place_of(arc.dst), arc.select or ""

    def of(self, arc: Arc) -> Ranked | None:
        """Return where an arc stands among those of its state; None: it is never taken."""
        return self.ways.get(self.way_of(arc))

    def check_arc(self, arc: Arc, own: Sequence[Arc]) -> None:
        """Refuse an arc that a scan can't take in an order of preference, in the place of one of its own (`AutomatonError`)."""
        if arc.kind != CONSUME or arc.final or self.of(arc) is None:
            raise AutomatonError(
                f"expected an arc between places that follow each other in the pattern, of an automaton that chooses (AFTER MATCH "
                f"SKIP), but got {arc!r}; an arc in place of one of its own has the same ends and select="
            )
        known = {part for each in own for part in _parts(each)}
        if self.before is not None and not _parts(arc) <= known | {f"e.{name}" for name in self.before}:
            raise AutomatonError(
                f"expected a transfer that writes {', '.join(f'e.{name}' for name in self.before)}, as the register is "
                f"that of the row before, but got {arc!r} with transfer={getattr(arc.transfer, 'text', arc.transfer)!r}"
            )

    def held(self, payload: Any, register: Any) -> Any:
        """Return the register behind a row, of which ``register`` was written: where it is that of the row before, the row's."""
        return register if self.before is None else type(register)(*(getattr(payload, name) for name in self.before))

    def bound(self, tick: str | None) -> Choice:
        """Return the choice with each `afa.span` in the arcs of its measures as ticks."""
        measures = self.measures.bound(tick)
        named = {arc.name: arc for arc in measures.arcs}
        return self._replace(measures=measures, steps={way: named[arc.name] for way, arc in self.steps.items()})

    def shown(self, places: Sequence[int], payloads: Sequence[Any]) -> list[tuple[int, Any]]:
        """Return what a match shows: the numbers of its rows, each with a record. O(rows)."""
        state, register, last = self.measures.start, self.measures.register, len(places) - 1
        rows, ended = list[tuple[int, Any]](), None
        for i, (place, payload) in enumerate(zip(places, payloads)):
            shows = i == last if self.rows is None else place not in self.rows.hidden
            if shows or i == last:
                ended = self._moved(self.steps[state, place, True], payload, register)
            rows += [(i, ended)] if shows else []
            if i < last:
                arc = self.steps[state, place, False]
                state, register = arc.dst, self._moved(arc, payload, register)
        if self.rows is not None and self.rows.finish is not None:
            rows = [(i, self._moved(self.rows.finish, ended, row)) for i, row in rows]
        return [(i, self.schema.cls(*row[: len(self.schema.fields)])) for i, row in rows]

    def _moved(self, arc: Arc, event: Any, register: Any) -> Any:
        return register if arc.transfer is None else self.measures.register_schema.take(arc.transfer(event, register))


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return in words how two choices differ, as `Choice.said` tells them."""
    both = {name: (one.get(name), other.get(name)) for name in {**one, **other}}
    found = [(name, *each) for name, each in both.items() if each[0] != each[1]]
    return "; ".join(f"other {name}" if isinstance(was, list) else f"{name} {was} and {now}" for name, was, now in found)


def _parts(arc: Arc) -> set[Any]:
    """Return what the transfer of an arc writes; not what stays, nor constants, where nobody reads it."""
    text = getattr(arc.transfer, "text", None)
    if text is None:
        return set() if arc.transfer is None else {arc.transfer}
    made = ast.parse(text, mode="eval").body
    parts = made.elts if isinstance(made, ast.Tuple) else [made]
    kept = ast.Constant | ast.Attribute
    return {ast.unparse(part) for part in parts if not isinstance(part, kept) or ast.unparse(part).startswith("e.")}


def place_of(state: str) -> str:
    """Return the place of the pattern where a state of a query rests. One may have several, told apart by what follows its name.

    >>> place_of("b+"), place_of("b+ 2")
    ('b+', 'b+')
    """
    return state.partition(" ")[0]
