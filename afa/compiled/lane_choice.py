"""An automaton that chooses (AFTER MATCH SKIP), as lanes take it: its arcs and those of its measures as one, in order.

    automaton   b+ -> b+   b: e.change < r.low     r.low = ..         what conditions read
    measures    b+ -> b+   b                       r.n = r.n + 1      what a match shows; where it ends, b+ -> F in its place
    both        b+ -> b+   e.change < r.low        n + 1, low, rows since the one at which the scan goes on

So a thread knows what its match would show, and no path is read back: `afa.compiled.kernel.lane_scan`.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

import numpy as np

from afa.compiled.code.arc_code import ArcCode, arc_code
from afa.compiled.code.casts import NotCompilable
from afa.compiled.code.payload_layout import Layout
from afa.compiled.code.step_function import SlotClass
from afa.compiled.code.strings import Strings
from afa.compiled.kernel import layout as k
from afa.compiled.lane_program import LaneProgram, NoLanes
from afa.compiled.linked_loop import linked_scan
from afa.compiled.record_words import RecordForms
from afa.compiled.scan_program import SKIPS
from afa.expression.arc_functions import expression_of
from afa.expression.kinds import FENCE, TRANSFER, FunctionKind, Unreadable
from afa.expression.nodes import Binary, Compare, Const, Expr, FieldRead, If, Make, renamed
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.model.choice import FIRST, Ranked
from afa.schema import Field, Schema

OWN = "own "
"""What stands before the names of the automaton's own fields."""
SINCE = FieldRead("r", "rows since")
State = tuple[str, str]
"""A state of the automaton, and one of its measures."""


class LaneChoice(LaneProgram):
    """The code of an automaton that chooses. Raises `NoLanes` where arcs run in Python, or rows of matches are shown."""

    bags = True

    def __init__(self, automaton: Automaton, strings: Strings) -> None:
        choice = automaton.choice
        assert choice is not None
        if automaton.event_schema is None or any(field.type is None for field in automaton.event_schema.fields):
            raise NoLanes("its events hold any values")
        if choice.rows is not None or automaton.start in automaton.final:
            raise NoLanes("each row of a match, or an empty one, is shown")
        self._automaton, self._choice, self.lands = automaton, choice, SKIPS[choice.skip]
        self._start: State = (automaton.start, choice.measures.start)
        shows = choice.measures.register_schema.fields
        own = [field._replace(name=OWN + field.name) for field in automaton.register_schema.fields]
        since = [Field(SINCE.name, int, False)] if self.lands > k.SCAN_NEXT else []
        register = self._register = Layout.of(Schema(tuple, (*shows, *own, *since)))
        self.strings, self.payload = strings, Layout.of(automaton.event_schema)
        self.matches = RecordForms(Layout.of(choice.schema), strings)
        self.row, self.entry = k.NodeRow.register + register.width, k.LogRow.register + self.matches.layout.width
        try:
            arcs = list(self._arcs())
        except (Unreadable, NotCompilable) as error:
            raise NoLanes(f"an arc runs in Python: {error.reason}") from None
        states = dict.fromkeys([self._start, *(dst for _, dst, _ in arcs)])
        numbers, threads = ({state: i for i, state in enumerate(each)} for each in (states, dict.fromkeys(a for a, _ in states)))
        self.now = np.array([-1 if state in automaton.final else threads[state] for state, _ in states], np.int64)
        record = (*choice.measures.register, *automaton.register, *[-1 for _ in since])
        self._begin = [0, k.FOREVER, 0, k.ALONE, *RecordForms(register, strings).words(record)]
        self._codes, self._places = [code for _, _, code in arcs], list(range(len(arcs)))
        self._slots = np.full(2 * len(arcs), -1, np.int64)
        self._slots[::2] = [numbers[dst] for _, dst, _ in arcs]
        self.states, self.waits = len(states), []
        measured = Layout.of(Schema(tuple, shows)).width
        words = {"SHOWN": self.matches.layout.width, "OWN": measured, "BEHIND": register.width - len(since), "LANDS": self.lands}
        self._classes, self._width = [SlotClass(numbers[src], code) for src, _, code in arcs], register.width
        self._loop = linked_scan(self._classes, register.width, words, self.payload)

    def _arcs(self) -> Iterator[tuple[State, State, ArcCode]]:
        """Yield the arcs on from the start, those of a state in the order of preference."""
        by_state: dict[str, list[tuple[Ranked, Arc]]] = {}
        for arc in dict.fromkeys(self._automaton.arcs):
            ranked = self._choice.of(arc)
            if ranked is not None:
                by_state.setdefault(arc.src, []).append((ranked, arc))
        todo, known = [self._start], {self._start}
        while todo:
            src = todo.pop()
            for ranked, arc in sorted(by_state.get(src[0], ()), key=itemgetter(0)):
                step = self._choice.steps[src[1], ranked.place, arc.dst in self._automaton.final]
                dst = arc.dst, step.dst
                if dst not in known:
                    known.add(dst)
                    todo.append(dst)
                yield src, dst, self._code(arc, step, ranked.place)

    def _code(self, arc: Arc, step: Arc, place: int) -> ArcCode:
        fence = _read(arc.fence, FENCE, self._automaton)
        items = [*_items(step, self._choice.measures)]
        if self._choice.before is None:
            items += map(_own, _items(arc, self._automaton))
        else:
            items += [FieldRead("e", name) for name in self._choice.before]
        if self.lands > k.SCAN_NEXT:
            lands = self._choice.components[place] in self._choice.to
            other = Const(0 if lands else -1)
            more = If(Compare(">=", SINCE, Const(0)), Binary("+", SINCE, Const(1)), other)
            items.append(more if self._choice.skip == FIRST or not lands else other)
        return arc_code(arc.kind, _own(fence), Make(tuple(items)), None, False, self.payload, self._register)


def lane_program(automaton: Automaton, strings: Strings, longest: bool = False) -> LaneProgram:
    """Return the code of an automaton over lanes; ``longest``: as an option of the operator. Raises `NoLanes`."""
    return LaneChoice(automaton, strings) if automaton.choice is not None else LaneProgram(automaton, strings, longest)


def why_no_lanes(automaton: Automaton) -> str | None:
    """Return why an automaton has no lanes; None: it has."""
    try:
        lane_program(automaton.bound("ns"), Strings())  # durations are ints of some tick then
    except NoLanes as why:
        return str(why)
    return None


def _read(function: object, kind: FunctionKind, automaton: Automaton) -> Expr:
    return expression_of(function, kind, automaton.event_schema, automaton.register_schema)


def _items(arc: Arc, automaton: Automaton) -> tuple[Expr, ...]:
    """Return what the transfer of an arc makes of each field."""
    if arc.transfer is None:
        return tuple(FieldRead("r", field.name) for field in automaton.register_schema.fields)
    made = _read(arc.transfer, TRANSFER, automaton)
    assert isinstance(made, Make)
    return made.items


def _own(expr: Expr) -> Expr:
    return renamed(expr, lambda read: FieldRead("r", OWN + read.name) if read.side == "r" else read)
