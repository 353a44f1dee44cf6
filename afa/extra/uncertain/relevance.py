"""Which events can change anything: no arc may take the others, and every state passes over them.

    arcs     0 -A-> 1 -B-> 2      1: skip "kind != B"          C: no arc takes it, 1 passes over it; so it is left out

What is left out is kept beside the worlds, once and not in each of them, as an arc that comes later may take it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from afa.expression.arc_functions import expression_of
from afa.expression.kinds import FENCE, Unreadable
from afa.expression.nodes import Expr, FieldRead, walk
from afa.expression.splitting import split
from afa.extra.uncertain.uncertain_rows import UncertainEvents
from afa.model.arc import CONSUME, SKIP, TIMEOUT, Arc
from afa.model.arctable import ArcEvent
from afa.rewrite.vectors import vector_of
from afa.schema import Schema
from punctuation.calls import Member
from punctuation.time import BEGINNING, FOREVER

Truth = Callable[[Any], Any]


def relevance(events: Iterable[ArcEvent], start: str, event: Schema, register: Schema, known: Iterable[str]) -> Truth | None:
    """Returns a function of the columns of events: which of them can change anything. None: perhaps all.

    ``events``: the arcs that are in force at some time; ``known``: the fields that are columns.
    """
    names = set(known)
    passes: dict[str, list[Expr]] = {}
    moves: list[Expr] = []
    left, back = dict[str, None](), False
    for arc, le, re in events:
        if arc.kind == TIMEOUT:
            return None  # it waits for the clock, which events move
        left[arc.src] = None
        back = back or arc.dst == start
        if not arc.reads_event:
            continue
        try:
            fence = expression_of(arc.fence, FENCE, event, register)
        except Unreadable:
            return None
        if arc.kind == SKIP and arc.transfer is None:
            if (le, re) == (BEGINNING, FOREVER) and not any(
                isinstance(node, FieldRead) and node.side == "r" for node in walk(fence)
            ):
                passes.setdefault(arc.src, []).append(fence)
            continue
        part = split(fence, event, register).event
        if part is None or arc.kind != CONSUME:
            return None
        moves.append(part)
    if not back:
        left.pop(start, None)  # no run stays there: each begins anew
    stays = [[_vector(each, event, register, names) for each in passes.get(state, [])] for state in left]
    takes = [_vector(each, event, register, names) for each in moves]
    if any(each is None for each in (*takes, *(each for of in stays for each in of))) or not all(stays):
        return None

    def relevant(columns: Any) -> Any:
        found = np.bool_(False)
        for take in takes:
            found = found | take(columns)  # type: ignore[misc]
        for of in stays:
            passed = np.bool_(False)
            for each in of:
                passed = passed | each(columns)  # type: ignore[misc]
            found = found | ~passed
        return found

    return relevant


def _vector(expr: Expr, event: Schema, register: Schema, names: set[str]) -> Truth | None:
    if not {node.name for node in walk(expr) if isinstance(node, FieldRead)} <= names:
        return None
    return vector_of(expr, event, register)


class LeftOut(Member):
    """The events that were left out, and may still change or be asked for; and the user's arcs with names, as they came last."""

    def __init__(self, named: Mapping[str, Arc]) -> None:
        self.rows: list[UncertainEvents] = []  # in a call only appended to, or replaced
        self.named = dict(named)

    def take(self, rows: UncertainEvents) -> None:
        if len(rows.lower):
            self.rows.append(rows)

    def all(self) -> Iterator[UncertainEvents]:
        """Yields all events that were left out, and forgets them."""
        found, self.rows = self.rows, []
        yield from found

    def know(self, arc: Arc) -> None:
        if arc.name is not None:
            self.named = {**self.named, arc.name: arc}

    def settle(self, t: int) -> None:
        """Forget those that lie below a promise: no arc can take them any more."""
        if self.rows and t > BEGINNING:
            self.rows = [each for each in self.rows if int(each.upper.max()) >= t]

    # -- calls: see `punctuation.calls.Member` ---------------------------------------------------------------------------------

    def call_begins(self) -> Any:
        return self.rows, len(self.rows), self.named

    def call_failed(self, before: Any) -> None:
        self.rows, n, self.named = before
        del self.rows[n:]
