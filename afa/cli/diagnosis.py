"""Say in one line where computations ended, if ``afa run`` has found no match.

The file is read once more: the values of its columns as a whole, and the events of a few keys, which are taken through the
automaton slowly (`afa.cli.trace`). The mistakes that find nothing are told apart:

    the window in another unit than the times     all were ended by the window; how far two events of a key are apart
    a limit that no value comes to                the arc was never taken; the largest value of the column
    a value that is misspelt                      the arc was never taken; which values the column has
"""

from __future__ import annotations

import statistics
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import typer

from afa.cli.request import Job
from afa.cli.trace import Event, Trace
from afa.errors import did_you_mean
from afa.expression.arc_functions import expression_of
from afa.expression.evaluation import callable_of
from afa.expression.intervals import FLIPPED
from afa.expression.kinds import CONDITION, FENCE, Unreadable
from afa.expression.nodes import And, Compare, Const, Expr, Field, In, sides
from afa.expression.text import text_of_expr
from afa.model.arc import TIMEOUT, Arc
from afa.model.automaton import Automaton
from punctuation.time import FOREVER

ROWS, KEYS, VALUES, SHOWN = 10_000, 100, 1000, 3
"""How many events and keys the sample has; how many values of a column are kept, and shown."""
LOOKED = 1_000_000
"""Of how many events the columns are looked at."""


class Column:
    """The values of one column: the least and the largest, and which there are, as far as they are few."""

    def __init__(self) -> None:
        self.low: Any = None
        self.high: Any = None
        self.values: Counter[Any] | None = Counter()

    def look(self, column: Any) -> None:
        """Look at a batch of the column."""
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        bounds = pc.min_max(column).as_py() if not pa.types.is_boolean(column.type) else {"min": None, "max": None}
        if bounds["min"] is not None:
            self.low = bounds["min"] if self.low is None else min(self.low, bounds["min"])
            self.high = bounds["max"] if self.high is None else max(self.high, bounds["max"])
        if self.values is not None:
            for entry in pc.value_counts(column).to_pylist():
                self.values[entry["values"]] += entry["counts"]
            self.values = self.values if len(self.values) <= VALUES else None


class Sample:
    """The columns of an input, and the events of a few keys."""

    def __init__(self, automaton: Automaton, keys: Sequence[str], window: int | None, sequence: str | None) -> None:
        assert automaton.event_schema is not None
        self._schema, self._keys, self._window, self._sequence = automaton.event_schema, keys, window, sequence
        self._known: dict[Any, None] = {}
        self._net: Counter[Event] = Counter()
        self.rows = 0
        self.cut = ""  # what to say of the columns if there are more events
        self.columns = {field.name: Column() for field in automaton.event_schema.fields if field.type is not None}

    def look(self, table: pa.Table) -> None:
        """Look at a batch."""
        self.rows += len(table)
        for name, column in self.columns.items():
            column.look(table["le" if name == self._schema.instant else name].combine_chunks())
        if len(self._net) < ROWS:
            for row in table.to_pylist():
                self._take(row)

    def _take(self, row: dict[str, Any]) -> None:
        key = tuple(row[name] for name in self._keys)
        if len(self._net) >= ROWS or (key not in self._known and len(self._known) >= KEYS):
            return
        self._known[key] = None
        le = row["le"]
        items = [le if field.name == self._schema.instant else row[field.name] for field in self._schema.fields]
        payload = self._schema.take(self._schema.cls(*items))
        re = row.get("re")
        if re is None:
            re = FOREVER if self._window is None else min(le + self._window, FOREVER)
        place = (le,) if self._sequence is None else (le, getattr(payload, self._sequence))
        self._net[Event(key, place, le, re, payload)] += row.get("diff", 1) or 1

    @property
    def events(self) -> list[Event]:
        """The events that were not retracted."""
        return [event for event, copies in self._net.items() if copies > 0]


def tell_why(operator: Any, tables: Iterable[pa.Table], job: Job) -> None:
    """Say on standard error where the computations of a run without matches ended; nothing, where that can't be found out."""
    core: Any = getattr(operator, "_core", None)
    if core is None or core.taken is None or core.taken.cls is not core.automaton.event:  # a stage fills fields in
        return
    try:
        text = diagnose(core.automaton, tables, job, core.window, core.tick)
    except Exception:
        return
    typer.echo(f"afa: {text}", err=True)


def diagnose(automaton: Automaton, tables: Iterable[pa.Table], job: Job, window: int | None, tick: str | None) -> str:
    """Return where the computations of an input without matches ended, in one line."""
    sample = Sample(automaton, job.keys, window, job.sequence)
    for table in tables:
        if sample.rows >= LOOKED:
            sample.cut = f" in the first {sample.rows:,} events"
            break
        sample.look(table)
    if not sample.rows:
        return "no match: there is no event"
    trace = Trace(automaton, sample.events)
    hint = "" if job.end == "forever" else "--end forever lets time-outs fire that are open at the end"
    return f"no match: {_Words(automaton, sample, trace, window, tick).text(hint)}"


class _Words:
    """What a trace says, in words."""

    def __init__(self, automaton: Automaton, sample: Sample, trace: Trace, window: int | None, tick: str | None) -> None:
        self._automaton, self._sample, self._trace, self._window = automaton, sample, trace, window
        self._tick = f" {tick}" if tick else ""

    def text(self, for_waits: str) -> str:
        """Return all that there is to say; ``for_waits``: what to say of time-outs that are open at the end."""
        trace = self._trace
        of = "" if trace.events >= self._sample.rows else f"of {trace.events:,} events that were looked at "
        if not trace.began:
            blocked = self._blocked([self._automaton.start])
            return f"{of}{'none' if of else 'no event'} began a partial match" + (f"; {blocked}" if blocked else "")
        state, left = self._furthest()
        numbers = {
            "ended by the window": trace.by_window[state],
            "ended by an event that no arc took": trace.by_no_arc[state],
            "open at the end": trace.open[state],
        }
        ends = ", ".join(f"{count:,} {how}" for how, count in numbers.items() if count)
        began = f"{of}{trace.began:,}" if of else f"{trace.began:,} event{'s' * (trace.began != 1)}"
        parts = [f"{began} began a partial match, of which the furthest came to {state!r}" + (f": {ends}" if ends else "")]
        parts += [hint for hint in (self._too_late(), self._window_hint(state), self._blocked(left)) if hint]
        if self._trace.open[state] and any(arc.src == state and arc.kind == TIMEOUT for arc in self._automaton.arcs):
            parts.append(for_waits)
        return "; ".join(part for part in parts if part)

    def _furthest(self) -> tuple[str, list[str]]:
        """Return the state nearest to a final one that was reached, and the states that have to be left."""
        arcs = self._automaton.arcs
        final = self._automaton.final.union(arc.dst for arc in arcs if arc.final)
        far = dict.fromkeys(final, 0)
        ahead = deque(final)
        while ahead:
            state = ahead.popleft()
            for arc in arcs:
                if arc.dst == state and arc.src not in far:
                    far[arc.src] = far[state] + 1
                    ahead.append(arc.src)
        state = min(self._trace.reached, key=lambda state: (far.get(state, len(far) + 1), -self._trace.reached[state], state))
        return state, [state]

    def _too_late(self) -> str | None:
        """Time-outs that the window cuts off."""
        if not self._trace.past:
            return None
        arc, count = self._trace.past.most_common(1)[0]
        return f"{arc!r} would fire past the window in {count:,} cases: give a longer --window"

    def _window_hint(self, state: str) -> str | None:
        trace, window = self._trace, self._window
        ended = sum(trace.by_window.values())
        if window is None or not trace.gaps or trace.by_window[state] <= trace.by_no_arc[state]:
            return None
        median = statistics.median_low(trace.gaps)
        of_key = "two events" if not self._sample_has_keys() else "two events of a key"
        hint = "; is the window in the unit of the times?" if median >= window else ""
        return (
            f"the window of {window:,}{self._tick} ended {ended:,} in all, where {of_key} are {median:,}{self._tick} apart "
            f"in the median{hint}"
        )

    def _sample_has_keys(self) -> bool:
        return any(event.key for event in self._sample.events[:1])

    def _blocked(self, states: Sequence[str]) -> str | None:
        """Say of the arcs that lead on why none of them was ever taken."""
        arcs = [arc for arc in self._automaton.arcs if arc.src in states and arc.dst != arc.src and arc.reads_event]
        asked = [arc for arc in arcs if not self._trace.served.get(arc)]
        said = []
        for arc in asked:
            why = next(self._why(arc), None)
            count = self._trace.asked.get(arc, 0)
            if count:
                said.append(f"{arc!r} was asked {count:,} times and never taken" + (f": {why}" if why else ""))
            elif why is not None:
                said.append(f"{arc!r} can't be taken: {why}")
        return "; ".join(said[:SHOWN]) or None

    def _why(self, arc: Arc) -> Iterator[str]:
        """Yield the conditions of a fence that no event of the sample satisfies, in words."""
        automaton = self._automaton
        try:
            fence = expression_of(arc.fence, FENCE, automaton.event_schema, automaton.register_schema)
        except Unreadable:
            return
        for part in fence.items if isinstance(fence, And) else (fence,):
            if sides(part) == {"e"} and not self._ever(part):
                yield self._told(part) or f"{text_of_expr(part)} is true of no event"

    def _ever(self, part: Expr) -> bool:
        """Return whether a condition on the event is true of any event of the sample."""
        ask = callable_of(part, CONDITION, self._automaton.register_schema)
        for event in self._sample.events:
            try:
                if ask(event.payload, None):
                    return True
            except Exception:
                continue
        return False

    def _told(self, part: Expr) -> str | None:
        """Say what a column has in place of what a condition asks for; None: it has it, or the condition is of another kind."""
        match part:
            case Compare("==", Field("e", name), Const(value)) | Compare("==", Const(value), Field("e", name)):
                return self._never(name, [value])
            case In(Field("e", name), items):
                return self._never(name, [item.value for item in items])
            case Compare(op, Const(value), Field("e", name)) if op in FLIPPED:
                return self._beyond(FLIPPED[op], name, value)
            case Compare(op, Field("e", name), Const(value)):
                return self._beyond(op, name, value)
        return None

    def _never(self, name: str, wanted: Sequence[Any]) -> str | None:
        column = self._sample.columns.get(name)
        if column is None or column.values is None or any(value in column.values for value in wanted):
            return None
        there = [value for value, _ in column.values.most_common()]
        near = did_you_mean(wanted[0], [value for value in there if isinstance(value, str)]) if isinstance(wanted[0], str) else ""
        named = ", ".join(map(repr, there[:SHOWN])) + (", .." if len(there) > SHOWN else "")
        return f"no {name} is {' or '.join(map(repr, wanted))}, but {named}{self._sample.cut}{near}"

    def _beyond(self, op: str, name: str, value: Any) -> str | None:
        column = self._sample.columns.get(name)
        if column is None or column.low is None or isinstance(value, str) or isinstance(column.low, str):
            return None
        if op in (">", ">=") and (column.high < value or (op == ">" and column.high == value)):
            return f"the largest {name}{self._sample.cut} is {column.high!r}, not {op} {value!r}"
        if op in ("<", "<=") and (column.low > value or (op == "<" and column.low == value)):
            return f"the smallest {name}{self._sample.cut} is {column.low!r}, not {op} {value!r}"
        return None
