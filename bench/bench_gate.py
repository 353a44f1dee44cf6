"""What does a gate before an operator save or cost, by how rare its witnesses are, and by what an event costs behind it?

Quotes at LE 0, 1, ..; a large rise begins a match, a crash ends it; W = 500. One rise: the next quotes are passed over. Any rises:
each further one may count, the first and the last one in the register: a hundred partial matches. One quote in a hundred, .., in a
hundred thousand is a crash, which the gate is told. Tables of 20,000 rows, a promise behind each; changes one by one, a promise
behind 500; the operator in Python. Beside the same operator without a gate, in turns; the matches are the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from afa import Arc, Automaton, Operator, Punctuation, insert
from afa.replay import Gate
from bench.drive import Outcome, settled
from bench.measure import Options, Row, interleaved, rates, ratio
from bench.workloads import Stream, changes, take

WINDOW, BATCH, CRASH = 500, 20_000, -100.0
SHARES = (1e-2, 1e-3, 1e-4, 1e-5)


class Quote(NamedTuple):
    change: float
    number: int


class Seen(NamedTuple):
    first: int = 0
    last: int = 0


class Case(NamedTuple):
    """What is asked, in which form events come, by which engine, and how many there are."""

    said: str
    any_rises: bool
    tables: bool
    engine: str
    events: int


def cases(o: Options) -> list[Case]:
    """Return the cases: those in Python, and events one by one, are fewer."""
    return [
        Case("one rise", False, True, o.engine, o.size(2_000_000, 1500)),
        Case("any rises", True, True, o.engine, o.size(400_000, 1500)),
        Case("any rises, one by one", True, False, o.engine, o.size(50_000, 1500)),
        Case("one rise, one by one", False, False, o.engine, o.size(50_000, 1500)),
        Case("one rise, in Python", False, True, "interpreted", o.size(30_000, 1500)),
    ]


def measure(o: Options) -> list[Row]:
    return [_row(case, share, o) for case in cases(o) for share in o.some(SHARES)]


def crash(any_rises: bool) -> Automaton:
    """A rise, then a crash; quotes between them are passed over, of any rises some."""
    rises = [Arc("0", "1", "change > 1.2", "r._replace(first=e.number)")]
    if any_rises:
        rises.append(Arc("1", "1", "change > 1.2", "r._replace(last=e.number)"))
    return Automaton(
        start="0",
        final={"2"},
        register=Seen(),
        event=Quote,
        arcs=[*rises, Arc("1", "1", "change > -100"), Arc("1", "2", "change <= -100")],
    )


def share_of(change: Any, box: Any) -> float:
    """Return the share of events that a condition allows."""
    allowed = dict(box.fields)["change"]
    return float(((change >= allowed.low) & (change <= allowed.high)).mean())


def _row(case: Case, share: float, o: Options) -> Row:
    stream = quotes(case.events, share)
    parts = list(_parts(stream, case))
    automaton = crash(case.any_rises)
    gates: list[Any] = []

    def make(gated: bool) -> Any:
        op = Operator(automaton, window=WINDOW, engine=case.engine)  # type: ignore[arg-type]
        if not gated:
            return op
        gates[:] = [Gate(automaton, share=partial(share_of, stream["change"])).before(op)]
        return gates[0]

    ways = {way: partial(_run, partial(make, way == "gate"), parts, case) for way in ("plain", "gate")}
    columns = interleaved(ways, o.rounds)
    seen = gates[0].stage.statistics
    row: Row = {"case": case.said, "crashes": share, "events": case.events, "matches": columns["plain"][0].final}
    row |= {"gate, M events/s": rates(columns["gate"]), "without, M events/s": rates(columns["plain"])}
    return {
        **row,
        "gate / without": ratio(columns["gate"], columns["plain"]),
        "let go, %": 100 * (seen.passed + seen.released) / case.events,
    }


def quotes(n: int, share: float) -> Stream:
    """Return quotes of which a share are crashes, one at least."""
    change = changes(n)
    where = np.random.default_rng(2).random(n) < share
    where[n // 2] = True  # a run without matches would be refused
    return {"change": np.where(where, CRASH, np.maximum(change, CRASH / 2)), "number": np.arange(n), "le": np.arange(n)}


def _parts(stream: Stream, case: Case) -> Iterator[tuple[Any, int]]:
    """Yield tables, or changes, and what is promised behind each of them."""
    size = BATCH if case.tables else WINDOW
    for low in range(0, case.events, size):
        part = take(stream, slice(low, low + size))
        then = int(part["le"][-1]) + 1
        yield part if case.tables else [insert(Quote(*row), le) for *row, le in zip(*(part[name].tolist() for name in part))], then


def _run(make: Callable[[], Any], parts: list[tuple[Any, int]], case: Case) -> Outcome:
    """Give all of it to a fresh operator. The first quarter is not timed: there the state grows to its size."""
    op, seconds, timed = make(), 0.0, 0
    found: list[Any] = []
    for i, (part, then) in enumerate(parts):
        clock = time.thread_time()
        output = [op.push_many(part)] if case.tables else [change for each in part for change in op.push(each)]
        op.push(Punctuation(then))
        if i >= len(parts) // 4:
            seconds += time.thread_time() - clock
            timed += len(part["le"]) if case.tables else len(part)
        found += output if case.tables else [_table(output)]
    return Outcome(*settled(found), seconds, timed)


def _table(output: list[Any]) -> dict[str, Any]:
    changes_ = [change for change in output if not isinstance(change, Punctuation)]
    columns = {name: np.array([getattr(change, name) for change in changes_], np.int64) for name in ("le", "re", "diff")}
    return columns | {name: np.array([getattr(change.payload, name) for change in changes_], np.int64) for name in Seen._fields}
