"""Carry out ``afa why``: take the input without any promise, so that nothing is dropped, count its funnel, and show it.

``afa run`` says its sentence where it has found no match, over a part of the input where it is large.

The events of an automaton are held by an operator without arcs, as no matches are wanted, and a fence that raises is to be counted;
those of a query by its own operator, as a stage before it may fill fields in. All rows are counted, as long as they are few enough;
else those of some keys, chosen by their hash. What came behind a promise (``--lateness``) is left out and counted, as
``afa run --late drop`` does.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.text import Text

from afa import BEGINNING, FOREVER, Operator, Punctuation
from afa.cli.arcs_work import instant_said
from afa.cli.batches_in import Input
from afa.cli.console import Terminal, plain_table
from afa.cli.fault import CommandError, one_line
from afa.cli.opened_input import opened
from afa.cli.pattern_run import PatternRun, given_pattern
from afa.cli.request import CommandRequest
from afa.errors import AfaError
from afa.explain.funnel.counted import FunnelSource, funnel_of
from afa.explain.funnel.funnel import ARC_COLUMNS, STATE_COLUMNS, Funnel
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.conflicts import QUERY
from afa.model.instant_texts import instant
from afa.state.plain import distinct
from punctuation.sources import BoundedDisorder


class RowChoice(NamedTuple):
    """Which rows are looked at: of some values of columns, and (else None) before an instant, no further than a window."""

    of: tuple[tuple[str, str], ...] = ()
    at: int | None = None
    window: int | None = None

    def __str__(self) -> str:
        return ", ".join([*(f"{name}={value}" for name, value in self.of), *([] if self.at is None else ["--at"])])

    def rows(self, table: pa.Table) -> pa.Table:
        """Return those of a table. Raises `CommandError`: it has no such column."""
        for name, value in self.of:
            if name not in table.column_names:
                there = ", ".join(each for each in table.column_names if each not in ("le", "re", "diff"))
                raise CommandError(f"expected --of COLUMN=VALUE with a column of {there} but got {name!r}")
            table = table.filter(pc.equal(pc.cast(table[name], pa.string()), value))
        if self.at is None:
            return table
        table = table.filter(pc.less_equal(table["le"], self.at))
        return table if self.window is None else table.filter(pc.greater(table["le"], self.at - self.window))


class KeptRows:
    """Rows in the operator's form."""

    def __init__(self, job: CommandRequest, most: int, choice: RowChoice | None = None) -> None:
        self._keys, self._most, self._choice = job.keys, most, choice
        self._promises = None if job.lateness is None else BoundedDisorder(int(job.lateness), kinds=False)
        self._promised = BEGINNING
        self._size = 0
        self.tables: list[pa.Table] = []
        self.share = 1  # one key of so many is kept
        self.cut = False  # whether the rows behind the first ``most`` ones were left out, as there are no keys to choose among
        self.rows = self.late = 0  # how many rows came, and how many of them behind the promise
        self.latest = BEGINNING  # the largest timestamp

    def take(self, tables: Iterable[pa.Table]) -> KeptRows:
        """Take a whole input; less where there are no keys and it is too large."""
        for table in tables:
            if self.cut:
                break
            self._take(table)
        return self

    def _take(self, table: pa.Table) -> None:
        table = table if self._choice is None else self._choice.rows(table)
        self.rows += len(table)
        if len(table):
            self.latest = max(self.latest, pc.max(table["le"]).as_py())
        parts = [table] if self._promises is None else self._promises.push_many(table)
        for part in parts:
            if isinstance(part, Punctuation):
                self._promised = max(self._promised, int(part.t))
            else:
                self._keep(self._in_time(part))

    def _in_time(self, table: pa.Table) -> pa.Table:
        if self._promised == BEGINNING:
            return table
        found = table.filter(pc.greater_equal(table["le"], self._promised))
        self.late += len(table) - len(found)
        return found

    def _keep(self, table: pa.Table) -> None:
        table = self._of_share(table)
        self.tables.append(table)
        self._size += len(table)
        if self._size > self._most and not self._keys:
            self.tables[-1] = table.slice(0, max(self._most - (self._size - len(table)), 0))
            self.cut = True
        while self._size > self._most and self._keys and self.share < 1 << 20:
            self.share *= 2
            self.tables = [self._of_share(each) for each in self.tables]
            self._size = sum(map(len, self.tables))

    def _of_share(self, table: pa.Table) -> pa.Table:
        if self.share == 1:
            return table
        return table.filter(pa.array(hashes(table, self._keys) % self.share == 0))


def hashes(table: pa.Table, keys: Iterable[str]) -> Any:
    """Return a number for the key of each row, the same in each run."""
    found = np.zeros(len(table), np.int64)
    for name in keys:
        places, values = distinct(table[name], nulls=True)
        numbers = np.array([zlib.crc32(repr(value).encode()) for value in values] or [0], np.int64)
        found = found * 31 + numbers[places]
    return found


WHY = "its arcs ask instants at which situations begin or end, and no rows; afa show tells when each relation is decided"
ROWS = 20_000
"""How many events are looked at behind a run without matches: half a second."""
NUMBERS = {"asked", "true", "last true", "times", "entered", "went on", "matched", "by window", "by no arc", "open"}


def why(job: CommandRequest, most: int, of: Sequence[str] = (), at: str | None = None) -> Funnel:
    """Return the funnel of a pattern over an input. A `CommandError` is the one line that says what is wrong.

    ``of``: COLUMN=VALUE, of the rows that are looked at; ``at``: up to when, from as long before as the window is.
    """
    job.check()
    given = given_pattern(job.pattern, WHY)
    made = PatternRun.of(job, given, opened(job), "why")
    job, automaton = made.job, made.automaton
    operator = (
        made.operator("tick", "id", "on_repeat", "version", own_arcs=True)
        if QUERY in made.pattern.traits
        else holding(automaton, job)
    )
    if not of and at is None:
        return funnel_over(job, operator, automaton, KeptRows(job, most).take(Input(job, made.source, made.events)))
    choice = RowChoice(tuple(map(_value, of)), None if at is None else _instant(at, job), operator._core.window)
    kept = KeptRows(job, most, choice).take(Input(job, made.source, made.events))
    if not kept.rows:
        raise CommandError(f"expected rows of {choice} but got none")
    kept.latest = kept.latest if choice.at is None else choice.at
    return funnel_over(job, operator, automaton, kept)


def _value(said: str) -> tuple[str, str]:
    name, sign, value = said.partition("=")
    if not (name and sign):
        raise CommandError(f"expected --of COLUMN=VALUE but got {said!r}")
    return name, value


def _instant(said: str, job: CommandRequest) -> int:
    try:
        return instant(instant_said(said), "--at", job.tick or "ms")
    except AfaError as error:
        raise CommandError(str(error)) from None


def holding(automaton: Automaton, job: CommandRequest) -> Any:
    """Return an operator that holds the events of an automaton, and asks none of its arcs."""
    assert automaton.event_schema is not None
    none = Automaton(start=automaton.start, final={automaton.start}, arcs=[], event=automaton.event_schema.cls)
    said = job.options("key", "window", "order_by", "tick", "id", "on_repeat", "version")
    return Operator(none, **{name: value for name, value in said.items() if name not in job.bounds})


def funnel_over(job: CommandRequest, operator: Any, automaton: Automaton, kept: KeptRows) -> Funnel:
    """Return the funnel of the rows that are kept: of this automaton, over what the operator holds."""
    core = operator._core
    try:
        for table in filter(len, kept.tables):  # without a promise
            operator.push_many(table)
        automaton = automaton.bound(core.tick)
        source = FunnelSource(
            engine=core.engine,
            automaton=automaton,
            table=ArcTable.of(automaton.arcs),
            clock=FOREVER if job.end == "forever" else kept.latest,
            window=core.window,
            tick=core.tick,
            keys=", ".join(job.keys),
            late=kept.late,
            taken=kept.rows - kept.late,
            share=kept.share,
            cut=kept.cut,
            promise="" if job.end == "forever" else "; --end forever promises that no event comes any more",
        )
        return core.calls.call(funnel_of, source)  # type: ignore[no-any-return]
    except AfaError:
        raise
    except Exception as error:
        raise CommandError(one_line(error)) from error


def why_none(operator: Any, tables: Iterable[pa.Table], job: CommandRequest) -> str:
    """Say why a run without matches has none; empty where that can't be found out."""
    core: Any = getattr(operator, "_core", None)
    if core is None or core.taken is None or core.taken.cls is not core.automaton.event:  # a stage fills fields in
        return ""
    try:
        return diagnose(core, tables, job)
    except Exception:
        return ""


def diagnose(core: Any, tables: Iterable[pa.Table], job: CommandRequest) -> str:
    automaton = core.automaton
    job = job._replace(window=core.window, tick=core.tick)
    funnel = funnel_over(job, holding(automaton, job), automaton, KeptRows(job, ROWS).take(tables))
    some = "" if not funnel.part else f"of {funnel.events:,} events that were looked at: "
    return f"{some}{funnel.why}" + ("" if funnel.cause == "empty" else "; `afa why` with the same options counts it all")


def show_funnel(funnel: Funnel, console: Terminal) -> None:
    """Print the sentence, then the counts of arcs and states, then the nearest misses."""
    console.print(Text(funnel.why, style="bold"), soft_wrap=True)
    console.print(Text(funnel.scope, style="dim"), soft_wrap=True)
    console.print()
    console.print(plain_table(ARC_COLUMNS, funnel.rows_of_arcs(), NUMBERS))
    console.print()
    console.print(plain_table(STATE_COLUMNS, funnel.rows_of_states(), NUMBERS))
    if funnel.misses:
        console.print("\nnearest misses", style="bold", highlight=False)
        for line in funnel.misses_in_words():
            console.print(Text(f"  {line}"), soft_wrap=True)
