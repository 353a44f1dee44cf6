"""The way of Spark's workers, without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from afa import Change, Punctuation
from punctuation.time import BEGINNING, FOREVER
from tests.corpus import Arrival, Case, is_arc, is_event
from tests.ways.way import PLACE, Way, lives_until, netted, present


class SparkBucket(Way):
    """What Spark's workers do with the rows of a bucket: arcs are lines of a log, the state is saved and restored each time."""

    engines = ("compiled",)  # what its keys hold is read off the compiled engine

    @classmethod
    def refuses_case(cls, case: Case) -> str:
        if set(case.options) > {"window", "order_by", "late", "longest"} & set(case.options):
            return "match() has no such option"
        return "rows wait before the operator only" if case.stage and case.stage["place"] == "after" else ""

    @classmethod
    def refuses(cls, case: Case, arrival: Arrival, now: int | None) -> str:
        if len(arrival.items) > 1 and arrival.error:
            return "a batch is refused as a whole"
        for item in arrival.items:
            if is_arc(item) and item.diff < 0 and item.le is not None:
                return "a line ends an arc, and never takes it out"
        return ""

    def make(self) -> Any:
        import pyarrow as pa

        from tests.spark.buckets import Buckets, job_of

        case = self.case
        events = [item for arrival in case.arrivals for item in arrival.items if is_event(item)]
        lifetimes = case.window is None or any(event.re is not None for event in events)
        options: dict[str, Any] = {"late": "report" if case.options.get("late") == "drop" else "raise", "lifetimes": lifetimes}
        options["longest"] = case.options.get("longest", False)
        if case.stage:
            options["speculation"] = _ticks(case.stage["cleanse"])
        self.job = job_of(
            case.automaton,
            "place",
            None if case.window is None else _ticks(case.window),
            case.options.get("order_by"),
            buckets=1,
            on_fault="report" if options["late"] == "report" else "raise",  # a retraction in vain is a fault here
            key_types=[pa.string()],
            **options,
        )
        self.buckets = Buckets(self.job)
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
        answer = self.buckets.answer(0, rows, lines, promised)
        self.promised = promised
        assert all("but got its retraction only" in fault.reason for fault in answer.faults)
        assert not answer.faults or self.job.late != "raise"
        self.taken += sum(abs(change.diff) for change in answer.late) + len(answer.faults)
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
