"""Functions that raise, in buckets: told with key and bucket; arcs, watermark and all other keys go on."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from afa import Arc, Automaton
from afa.spark.held import stream_of, table_of
from afa.spark.job import Job
from afa.spark.packed_rows import written
from punctuation.time import BEGINNING, FOREVER
from tests import oracle
from tests.raising import matches
from tests.spark.buckets import Buckets, Row, Sum, job_of, net
from tests.strategies import Choices, Seeded

FENCES = ("10 // e.n > 2", "e.n % (r.n - 1) == 0", "12 // (e.n - 3) < 5", "e.n < 4", "True", "r.n // e.n < 9")
TRANSFERS = (None, "Sum(r.n + e.n)", "Sum(6 // (e.n - 1))", "Sum(2 ** 61 * e.n)")
AT = ("12 // r.n", "9 + r.n % 3", "30 // (r.n - 2)")


def made(choose: Choices, name: str) -> Arc:
    """An arc that raises on some events and registers."""
    src, dst = choose.one(["a", "b", "c"]), choose.one(["b", "c", "d"])
    if choose.chance(20):
        return Arc.timeout(src, dst, at=choose.one(AT), name=name)
    if choose.chance(15) and src != dst:
        return Arc.epsilon(src, dst, "7 // r.n > 1", name=name)
    fence = choose.one(FENCES)
    function: Any = fence if choose.chance(70) else eval(f"lambda e, r: [e, r] and {fence}")  # which only Python can run
    return Arc(src, dst, function if name.startswith("own") else fence, choose.one(TRANSFERS), name=name)


def job(automaton: Automaton, buckets: int, on_fault: str = "report") -> Job:
    return job_of(automaton, "who", "9 microseconds", None, buckets, on_fault, [pa.int64()])


class ToldBuckets(Buckets):
    """What buckets have told so far."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.told: list[pa.Table] = []

    @property
    def faults(self) -> list[dict[str, Any]]:
        return [row for out in self.told for row in out.to_pylist() if row["kind"] == "fault"]

    def take(self, rows: list[dict[str, Any]], lines: list[str], promised: int) -> None:
        answers = self.run(pa.Table.from_pylist(rows, self.job.schema), lines, promised)
        assert not any(answer.late for answer in answers)
        self.told += [table_of(stream_of(written(self.job, answer, []))) for answer in answers]


@pytest.mark.parametrize("worlds", [25, pytest.param(400, marks=pytest.mark.stress)])
def test_random_worlds_whose_functions_raise(worlds: int) -> None:
    """Arcs before, after or among the events; the outcome is that of arcs that are false where they raise."""
    faults = found = 0
    for number in range(worlds):
        choose = Seeded(f"raising buckets/{number}")
        arcs = [Arc("a", "b", "True", "Sum(e.n)", name="in"), *(made(choose, f"own{i}") for i in range(choose.number(0, 3)))]
        automaton = Automaton(start="a", final={"c", "d"}, register=Sum(), event=Row, arcs=[*arcs, Arc("b", "d", "False")])
        come = [(made(choose, f"x{i}"), choose.number(0, 25)) for i in range(choose.number(1, 4))]
        lines = [json.dumps({"op": "insert", "arc": arc.to_json(automaton), "at": at}) for arc, at in come]
        rows = [{"who": choose.number(0, 7), "n": choose.number(0, 4), "le": choose.number(0, 30)} for _ in range(30)]
        stream = [{**row, "re": row["le"] + 9, "diff": 1} for row in rows]
        order: list[Any] = [*stream, *lines] if choose.chance(30) else [*lines, *stream]
        if choose.chance(50):
            order.sort(key=lambda _: choose.number(0, 10**6))
        buckets = ToldBuckets(job(automaton, choose.number(1, 5)))
        while order:
            cut = choose.number(1, 12)
            batch, order = order[:cut], order[cut:]
            buckets.take([x for x in batch if isinstance(x, dict)], [x for x in batch if isinstance(x, str)], BEGINNING)
        end = choose.number(31, 60)
        buckets.take([], [], end)
        arcs_in_force = [*oracle.own_arcs(automaton), *((arc, at, FOREVER) for arc, at in come)]
        expected = set()
        for who in range(8):
            events = [(Row(row["n"]), row["le"], row["re"], 1) for row in stream if row["who"] == who]
            expected |= {(who, *z, le, re) for z, le, re in matches(automaton, events, arcs_in_force, end)}
        assert net(buckets.job, buckets.told) == expected, f"world {number}"
        faults, found = faults + len(buckets.faults), found + len(expected)
        assert all("raising" not in row["reason"] and "(in bucket " in row["reason"] for row in buckets.faults)
        assert all(row["who"] is not None and row["le"] is not None for row in buckets.faults)
    assert faults > 20 * worlds
    assert found > 12 * worlds


def test_an_arc_that_raises_on_a_past_event_is_in_force_in_all_buckets() -> None:
    automaton = Automaton(start="a", final={"c"}, register=Sum(), event=Row, arcs=[Arc("a", "c", "e.n > 99", name="own")])
    events = [{"who": who, "n": 0 if who == 5 and at == 1 else at, "le": at, "diff": 1} for who in range(8) for at in (1, 3)]
    line = json.dumps({"op": "insert", "arc": {"src": "a", "dst": "c", "fence": "10 // n > 2", "name": "x"}, "at": 0})
    for order in ([(events, []), ([], [line])], [([], [line]), (events, [])]):
        buckets = ToldBuckets(job(automaton, 4))
        for rows, lines in order:
            buckets.take(rows, lines, BEGINNING)
        expected = {(who, at) for who in range(8) for at in (1, 3)} - {(5, 1)}
        assert {(who, le) for who, *_, le, _ in net(buckets.job, buckets.told)} == expected
        (fault,) = buckets.faults
        assert (fault["who"], fault["le"]) == (5, 1)
        assert fault["reason"].startswith("ZeroDivisionError: ")
        assert "in the fence of arc 'x': a -> c on event Row(n=0) at le=1 with register Sum(n=0)" in fault["reason"]
    with pytest.raises(ZeroDivisionError):
        ToldBuckets(job(automaton, 4, "raise")).take(events, [line], BEGINNING)


def test_a_time_out_that_raises_does_not_hold_up_the_watermark() -> None:
    arcs = [Arc("a", "b", "True", "Sum(e.n)"), Arc.timeout("b", "c", at="r.n + 24 // r.n", name="wait")]
    buckets = ToldBuckets(job(Automaton(start="a", final={"c"}, register=Sum(), event=Row, arcs=arcs), 2))
    buckets.take([{"who": who, "n": who, "le": 7, "diff": 1} for who in range(5)], [], BEGINNING)
    buckets.take([], [], 16)
    assert {(who, le) for who, *_, le, _ in net(buckets.job, buckets.told)} == {(2, 14), (3, 11), (4, 10)}
    assert {(row["who"], row["le"]) for row in buckets.faults} == {(0, 7)}
    assert "at of arc 'wait': b -> c (timeout) at le=7" in buckets.faults[0]["reason"]


def test_a_new_arc_of_the_code_that_raises_is_in_force_in_all_buckets() -> None:
    def pattern(*arcs: Arc) -> Automaton:
        return Automaton(start="a", final={"c"}, register=Sum(), event=Row, arcs=[Arc("a", "c", "e.n > 99", name="own"), *arcs])

    buckets = ToldBuckets(job(pattern(), 4))
    buckets.take([{"who": who, "n": 1, "le": 5, "diff": 1} for who in range(8)], [], BEGINNING)
    buckets.job = job(pattern(Arc("a", "c", "10 // e.n > 2", name="new")), 4)
    buckets.take([{"who": who, "n": who % 2, "le": 1001, "diff": 1} for who in range(8)], [], BEGINNING)
    assert {(who, le) for who, *_, le, _ in net(buckets.job, buckets.told)} == {(who, 1001) for who in (1, 3, 5, 7)}
    assert {(row["who"], row["le"]) for row in buckets.faults} == {(who, 1001) for who in (0, 2, 4, 6)}
