"""The ways into the library: how the arrivals of a case reach an operator. Each case goes through each of them, on each engine.

    Push            one by one             Restored        after each arrival a snapshot and a restore
    Listed          each arrival a list    Moved           the same, into the other engine
    Arrow           a mixed Arrow table    OneKey          a `Keyed` with one key
    Pandas          frames, without net    PayloadFree     keep_payloads=False
    Columns         dicts of columns       CleanseBefore   a `Cleanse` that holds nothing back before the operator
    SparkBucket     Spark's, without it    CleanseAfter    one after it
    Numbered        an `Ordered`

Where a way can't take an arrival it says why, and the case goes that way as far as that arrival. `python -m tests.ways` prints how
many arrivals go each way, and what the others are.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from afa import AfaError, Arc, Automaton, Change, Punctuation
from punctuation.time import BEGINNING, FOREVER
from speculation import Cleanse, Ordered
from tests.conftest import ENGINES
from tests.corpus import PATHS, Arrival, Case, is_arc, is_event
from tests.text import E, T

PLACE = "here"
"""The key, where there has to be one."""


class Reach(NamedTuple):
    """How many arrivals of a case go a way, and why no more do; "" where all of them do."""

    arrivals: int
    why: str = ""


class Way:
    """A case's operator, and one way to push to it.

    A subclass says how the operator is made (`make`), how an arrival reaches it (`push`), and which arrivals can't go its way
    (`refuses`).

    Attributes
    ----------
    engines : tuple of str
        Those that it can be asked of.
    raises : bool
        Whether the library itself refuses, with an `AfaError`, what `refuses` names; else there are no words for it.
    """

    engines: tuple[str, ...] = ENGINES
    raises = False

    def __init__(self, case: Case, engine: str) -> None:
        self.case, self.engine = case, engine
        self.operator = self.make()

    @classmethod
    def refuses_case(cls, case: Case) -> str:
        """Why no arrival of a case can go this way; "" if some can."""
        return ""

    @classmethod
    def refuses(cls, case: Case, arrival: Arrival, now: int | None) -> str:
        """Why an arrival can't, if those before it could; ``now`` is the largest LE or promise before it."""
        return ""

    @classmethod
    def reach(cls, case: Case) -> Reach:
        """How far a case goes this way."""
        why = cls.refuses_case(case)
        if why:
            return Reach(0, why)
        for number, (arrival, now) in enumerate(zip(case.arrivals, present(case))):
            why = cls.refuses(case, arrival, now)
            if why:
                return Reach(number, why)
        return Reach(len(case.arrivals))

    def make(self) -> Any:
        """The operator."""
        return self.case.operator(self.engine)

    def push(self, arrival: Arrival) -> Iterable[Any]:
        """Push an arrival; returns the changes and the punctuation that it emits."""
        return self.operator.push_arc(*arrival.items) if arrival.on_arcs else self.operator.push_many(arrival.items)

    def check(self) -> None:
        """Assert the operator's invariants."""
        self.operator._check()

    @property
    def late(self) -> int:
        """How many changes were late."""
        return int(self.operator.statistics.late)


def present(case: Case) -> Iterator[int | None]:
    """Before each arrival of a case, the largest LE of an event and the largest promise so far; None: nothing was seen."""
    now = None
    for arrival in case.arrivals:
        yield now
        if arrival.error is None:
            seen = [item.t if isinstance(item, Punctuation) else item.le for item in arrival.items if not is_arc(item)]
            now = max(seen if now is None else [now, *seen], default=now)


def netted(out: Iterable[Any]) -> list[Any]:
    """What several calls emit, as one call would have."""
    counts: Counter[Any] = Counter()
    promised: list[Punctuation] = []
    for item in out:
        if isinstance(item, Punctuation):
            promised = [item]
        else:
            counts[item._replace(diff=1)] += item.diff
    return [change._replace(diff=n) for change, n in counts.items() if n] + promised


# -- an operator -----------------------------------------------------------------------------------------------------------------


class Push(Way):
    """Each change and promise is a call of its own."""

    @classmethod
    def refuses(cls, case: Case, arrival: Arrival, now: int | None) -> str:
        return "a batch is refused as a whole" if arrival.error and len(arrival.items) > 1 else ""

    def push(self, arrival: Arrival) -> Iterable[Any]:
        outs = [self.push_one(item, arrival.on_arcs or is_arc(item)) for item in arrival.items]
        return outs[0] if len(outs) == 1 else netted(change for out in outs for change in out)

    def push_one(self, item: Any, on_arcs: bool) -> list[Any]:
        """Push one item."""
        found: list[Any] = self.operator.push_arc(item) if on_arcs else self.operator.push(item)
        return found


class Listed(Way):
    """Each arrival is a list."""


class Called(Push):
    """An arrival of one change or promise is pushed, one of several is a list."""

    @classmethod
    def refuses(cls, case: Case, arrival: Arrival, now: int | None) -> str:
        return ""

    def push(self, arrival: Arrival) -> Iterable[Any]:
        if len(arrival.items) > 1:
            return self.operator.push_many(arrival.items)
        return super().push(arrival)


class Restored(Listed):
    """The operator goes through a snapshot after every arrival."""

    def push(self, arrival: Arrival) -> Iterable[Any]:
        out = super().push(arrival)
        before = self.operator.snapshot()
        self.operator = self.case.restored(self.operator, self.next_engine())
        if self.same_engine:
            assert self.operator.snapshot() == before
        return out

    same_engine = True

    def next_engine(self) -> str:
        """The engine to go on with."""
        return self.engine


class Moved(Restored):
    """The same, and goes on with the other engine each time."""

    same_engine = False

    def next_engine(self) -> str:
        self.engine = ENGINES[1 - ENGINES.index(self.engine)]
        return self.engine


class OneKey(Called):
    """All events are of one key, which is no field of theirs."""

    def make(self) -> Any:
        return self.case.operator(self.engine, key=lambda event: PLACE)

    def push(self, arrival: Arrival) -> Iterable[Any]:
        out = list(super().push(arrival))
        assert {item.key for item in out if isinstance(item, Change)} <= {PLACE}
        return out


class PayloadFree(Listed):
    """Of an event that has come only its triggering set is kept."""

    raises = True

    @classmethod
    def refuses_case(cls, case: Case) -> str:
        if "gapless" in case.options:
            return "AFA+O keeps payloads"
        if case.options.get("arc_punctuation"):
            return "arcs make promises of their own"
        try:
            case.operator(ENGINES[0], retractions=False, keep_payloads=False)
        except AfaError:
            return "an arc does not split"
        return ""

    @classmethod
    def refuses(cls, case: Case, arrival: Arrival, now: int | None) -> str:
        if arrival.error:
            return ""
        for item in arrival.items:
            if is_event(item) and item.diff < 0:
                return "an event is retracted"
            if is_arc(item) and item.le is not None and now is not None and item.le <= now:
                return "an arc changes before the present"
        return ""

    def make(self) -> Any:
        return self.case.operator(self.engine, retractions=False, keep_payloads=False)


class CleanseBefore(Called):
    """A `Cleanse` that holds nothing back stands before the operator."""

    place = "before"

    @classmethod
    def refuses_case(cls, case: Case) -> str:
        return "it has a stage" if case.stage else ""

    def make(self) -> Any:
        return getattr(Cleanse(None), self.place)(self.case.operator(self.engine))


class CleanseAfter(CleanseBefore):
    """A `Cleanse` that holds nothing back stands after the operator."""

    place = "after"


class Numbered(Called):
    """Events that are numbered without gaps go into an `Ordered`."""

    @classmethod
    def refuses_case(cls, case: Case) -> str:
        return "" if "gapless" in case.options else "events have no numbers"

    def make(self) -> Any:
        options = dict(self.case.options)
        return Ordered(self.case.automaton, number=options.pop("gapless"), engine=self.engine, **options)


# -- tables ----------------------------------------------------------------------------------------------------------------------


class Columns(Way):
    """An arrival is a dict of columns; where something else comes than events, a list of such tables and these items."""

    net = True

    def push(self, arrival: Arrival) -> Iterable[Any]:
        if arrival.on_arcs:
            return list(self.operator.push_arc(*arrival.items))
        arcs = [item.payload for item in arrival.items if is_arc(item)]
        parts: list[Any] = []
        for in_row, group in groupby(arrival.items, self.is_row):
            items = list(group)
            parts += [self.table(items, arcs)] if in_row else items
        batch = parts[0] if len(parts) == 1 and self.is_row(arrival.items[0]) else [self.table([], arcs), *parts]
        out = self.operator.push_many(batch, net=self.net, arcs=arcs)
        changes = [change for part in (out if isinstance(out, list) else [out]) for change in self.changes(part)]
        return changes if self.net else netted(changes)

    def is_row(self, item: Any) -> bool:
        """Whether an item can be a row."""
        return is_event(item)

    def table(self, items: list[Any], arcs: list[Arc]) -> Any:
        """Items as rows of a table."""
        return self.columns(items, arcs)

    def columns(self, items: list[Any], arcs: list[Arc]) -> dict[str, list[Any]]:
        """Items as columns: the event's fields, ``le``, ``re``, ``diff``."""
        assert self.case.automaton.event_schema is not None
        names = [field.name for field in self.case.automaton.event_schema.fields]
        found: dict[str, list[Any]] = {name: [item.payload[i] for item in items] for i, name in enumerate(names)}
        found["le"] = [item.le for item in items]
        found["re"] = [lives_until(item, self.case.window) for item in items]
        found["diff"] = [item.diff for item in items]
        return found

    def changes(self, part: Any) -> Iterator[Any]:
        """The changes that a table of the output says."""
        if isinstance(part, Punctuation):
            yield part
            return
        columns = {name: self.values(part, name) for name in self.names(part)}
        schema = self.case.automaton.register_schema
        kinds = columns.get("kind", [0] * len(columns["le"])) if self.mixed else [0] * len(columns["le"])
        for i, kind in enumerate(kinds):
            register = schema.cls(*(columns[field.name][i] for field in schema.fields))
            le, re, diff = columns["le"][i], columns["re"][i], columns["diff"][i]
            yield Punctuation(le) if kind == 2 else Change(register, le, re, diff)

    mixed = False

    def names(self, part: Any) -> list[str]:
        """The columns' names."""
        return list(part)

    def values(self, part: Any, name: str) -> list[Any]:
        """A column's values."""
        found: list[Any] = part[name].tolist()
        return found


class Pandas(Columns):
    """An arrival is a frame of pandas; each row's changes are told, though the next ones take them back."""

    net = False

    def table(self, items: list[Any], arcs: list[Arc]) -> Any:
        import pandas as pd

        fields = self.case.automaton.event_schema.fields
        types = {field.name: field.type.__name__ for field in fields} | dict.fromkeys(("le", "re", "diff"), "int64")
        return pd.DataFrame(self.columns(items, arcs)).astype(types)


class Arrow(Columns):
    """An arrival is an Arrow table that says of each row what it is; arcs have come as JSON."""

    mixed = True

    def __init__(self, case: Case, engine: str) -> None:
        super().__init__(as_json(case), engine)

    def is_row(self, item: Any) -> bool:
        if isinstance(item, Punctuation):
            return item.where is None
        return not (is_arc(item) and item.le == BEGINNING)  # which in a row is the default mode

    def table(self, items: list[Any], arcs: list[Arc]) -> Any:
        import pyarrow as pa

        event: Any = self.case.automaton.event
        some = event(*(field.type() for field in self.case.automaton.event_schema.fields))
        rows = []
        for item in items:
            if isinstance(item, Punctuation):
                rows.append((Change(some, item.t, FOREVER), 2, 0))
            elif is_arc(item):
                le = BEGINNING if item.le is None else item.le
                number = next(i for i, arc in enumerate(arcs) if arc is item.payload)
                rows.append((Change(some, le, FOREVER if item.re is None else item.re, item.diff), 1, number))
            else:
                rows.append((item, 0, 0))
        columns = self.columns([item for item, _, _ in rows], arcs)
        columns |= {"kind": [kind for _, kind, _ in rows], "arc": [number for _, _, number in rows]}
        fields = self.case.automaton.event_schema.fields
        types = {field.name: {int: pa.int64(), float: pa.float64()}[field.type] for field in fields}
        return pa.table({name: pa.array(column, types.get(name, pa.int64())) for name, column in columns.items()})

    def names(self, part: Any) -> list[str]:
        found: list[str] = part.column_names
        return found

    def values(self, part: Any, name: str) -> list[Any]:
        found: list[Any] = part[name].to_pylist()
        return found


def lives_until(change: Change, window: int | None) -> int:
    """The RE of an event."""
    assert change.le is not None
    return change.re if change.re is not None else FOREVER if window is None else min(change.le + window, FOREVER)


def as_json(case: Case) -> Case:
    """A case whose arcs have been written as JSON and read again; an event's field ``kind`` is called ``sort`` (`T`, not `E`)."""
    automaton, event = case.automaton, T if case.automaton.event is E else case.automaton.event

    def renamed(text: str) -> str:
        return text.replace("e.kind", "e.sort") if event is T else text

    def again(arc: Arc) -> Arc:
        return Arc.from_json(renamed(json.dumps(arc.to_json(automaton))))

    def item_of(item: Any) -> Any:
        if isinstance(item, Punctuation):
            return item if item.where is None else Punctuation(item.t, renamed(item.where))
        payload = arcs[id(item.payload)] if is_arc(item) else event(*item.payload)
        return item._replace(payload=payload)

    arcs = {id(arc): again(arc) for arc in [*automaton.arcs, *case.arcs.values()]}
    own = [arcs[id(arc)] for arc in automaton.arcs]
    found = object.__new__(Case)
    found.__dict__ |= case.__dict__
    found.automaton = Automaton(start=automaton.start, final=automaton.final, arcs=own, register=automaton.register, event=event)
    found.arcs = {name: arcs[id(arc)] for name, arc in case.arcs.items()}
    found.arrivals = [arrival._replace(items=[item_of(item) for item in arrival.items]) for arrival in case.arrivals]
    return found


# -- Spark -----------------------------------------------------------------------------------------------------------------------


class SparkBucket(Way):
    """What Spark's workers do with the rows of a bucket: arcs are lines of a log, the state is saved and restored each time."""

    engines = ("compiled",)  # what its keys hold is read off the compiled engine

    @classmethod
    def refuses_case(cls, case: Case) -> str:
        if set(case.options) > {"window", "sequence", "late"} & set(case.options):
            return "match() has no such option"
        return "rows wait before the operator only" if case.stage and case.stage["place"] == "after" else ""

    @classmethod
    def refuses(cls, case: Case, arrival: Arrival, now: int | None) -> str:
        if len(arrival.items) > 1 and arrival.error:
            return "a batch is refused as a whole"
        if now == FOREVER:
            return "a stream that has ended is not saved"
        for item in arrival.items:
            if is_arc(item) and item.diff < 0 and item.le is not None:
                return "a line ends an arc, and never takes it out"
        return ""

    def make(self) -> Any:
        import pyarrow as pa

        from afa.spark.job import job_of

        case = self.case
        events = [item for arrival in case.arrivals for item in arrival.items if is_event(item)]
        lifetimes = case.window is None or any(event.re is not None for event in events)
        options: dict[str, Any] = {"late": "report" if case.options.get("late") == "drop" else "stop", "lifetimes": lifetimes}
        if case.stage:
            options["speculation"] = _ticks(case.stage["cleanse"])
        self.job = job_of(
            case.automaton,
            "place",
            None if case.window is None else _ticks(case.window),
            case.options.get("sequence"),
            buckets=1,
            on_fault="stop",
            key_types=[pa.string()],
            **options,
        )
        self.blobs: list[bytes] = []
        self.promised, self.taken, self.lines = BEGINNING, 0, 0
        self.present = list(present(case))
        return None

    def push(self, arrival: Arrival) -> Iterable[Any]:
        now = self.present[self.case.arrivals.index(arrival)]
        out: list[Any] = []
        for item in arrival.items:
            if isinstance(item, Punctuation):
                fresh = item.t > self.promised
                out += [*self.run(None, [], max(self.promised, item.t)), *([item] if fresh else [])]
            elif is_arc(item):
                out += self.run(None, [self.line(item, BEGINNING if now is None else now + 1)], self.promised)
            else:
                out += self.run(self.rows(item), [], self.promised)
        return netted(out)

    def run(self, rows: Any, lines: list[str], promised: int) -> Iterator[Any]:
        """One batch of Spark's, into the bucket that the last one has saved."""
        from afa.spark.bucket import Bucket

        bucket = Bucket(self.job, 0, self.blobs)
        answer = bucket.run(rows, lines, promised)
        self.promised = promised
        assert not answer.faults
        bucket._operator._check()
        self.taken += sum(abs(change.diff) for change in answer.late)
        self.blobs = [*self.blobs, bucket.save(True)] if self.blobs else [bucket.save(False)]
        schema = self.case.automaton.register_schema
        for table in answer.changes:
            for row in table.to_pylist():
                assert row["place"] == PLACE
                yield Change(schema.cls(*(row[field.name] for field in schema.fields)), row["le"], row["re"], row["diff"])

    def rows(self, change: Change) -> Any:
        """A row as a bucket takes it."""
        import pyarrow as pa

        row = {"place": PLACE, **change.payload._asdict(), "le": change.le, "re": lives_until(change, self.case.window)}
        row["diff"] = change.diff
        return pa.Table.from_pylist([{name: row[name] for name in self.job.schema.names}], self.job.schema)

    def line(self, change: Change, now: int) -> str:
        """A change of an arc as a line of an arc log."""
        self.lines += 1
        line = {"op": "insert", "at": now if change.le is None else change.le, "sequence": self.lines, "id": self.lines}
        if change.diff < 0:
            return json.dumps({**line, "op": "retract", "arc": {"name": change.payload.name}})
        until = {} if change.re in (None, FOREVER) else {"until": change.re}
        return json.dumps({**line, **until, "arc": change.payload.to_json(self.case.automaton)})

    def check(self) -> None:
        pass  # in each batch

    @property
    def late(self) -> int:
        return self.taken


def _ticks(number: int) -> Any:
    from datetime import timedelta

    return timedelta(microseconds=number)


WAYS: tuple[type[Way], ...] = (
    Push,
    Listed,
    Arrow,
    Pandas,
    Columns,
    OneKey,
    Restored,
    Moved,
    PayloadFree,
    CleanseBefore,
    CleanseAfter,
    Numbered,
    SparkBucket,
)


def main() -> None:
    """Print how far the cases go each way."""
    cases = [Case(path) for path in PATHS]
    total = sum(len(case.arrivals) for case in cases)
    for way in WAYS:
        reaches = [(way.reach(case), len(case.arrivals)) for case in cases]
        print(f"{way.__name__:<14} {sum(reach.arrivals for reach, _ in reaches):4} of {total} arrivals")
        left: Counter[str] = Counter()
        for reach, n in reaches:
            left[reach.why] += n - reach.arrivals
        for why, n in left.most_common():
            if why:
                print(f"{'':<14} {n:4} {why}")


if __name__ == "__main__":
    main()
