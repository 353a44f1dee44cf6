"""Arc logs without Spark: what a folder's lines come to on an operator, against a slow replay and the oracle; files and faults."""

from __future__ import annotations

import copy
import json
import logging
import os
import pickle
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import afa
from afa import (
    BEGINNING,
    FOREVER,
    AfaError,
    Arc,
    ArcLog,
    Automaton,
    Keyed,
    LateEventError,
    Operator,
    Punctuation,
    insert,
    retract,
)
from afa.arclog.lines import read_lines
from afa.errors import AutomatonError, ChangeError, ExpressionError, SnapshotError
from speculation import Cleanse, Consolidate, LastBefore
from tests.arclogs import PAYMENTS, Pay, pay, shown
from tests.forged import forged
from tests.interrupts import at_line
from tests.stress.mutate import opened


def big(limit: int, name: str | None = "above 500") -> Arc:
    return Arc("a", "b", f"amount > {limit}", "(r.total + e.amount,)", name=name)


def write(folder: Path, name: str, *lines: Any, end: str = "\n") -> Path:
    path = folder / name
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + end)
    return path


def inserted(limit: int, at: Any, **more: Any) -> dict[str, Any]:
    arc = {"src": "a", "dst": "b", "fence": f"amount > {limit}", "transfer": "(r.total + e.amount,)", "name": "above 500"}
    return {"op": "insert", "arc": arc, "at": at, **more}


def ended(at: Any, **more: Any) -> dict[str, Any]:
    return {"op": "retract", "arc": {"name": "above 500"}, "at": at, **more}


def swapped(limit: int, at: Any, **more: Any) -> dict[str, Any]:
    return {**inserted(limit, at, **more), "op": "swap", "name": "above 500"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "arcs"


@pytest.fixture
def log(folder: Path) -> ArcLog:
    return ArcLog(folder, PAYMENTS)


@pytest.fixture
def op(engine: str) -> Operator:
    found = Operator(PAYMENTS, window=10, engine=engine)
    found.push(pay(400, 1))
    return found


def told(log: ArcLog) -> list[str]:
    return [str(each) for each in log.told]


def test_a_swap_from_another_process_holds_from_when_it_is_read(op: Operator, log: ArcLog, folder: Path) -> None:
    assert log.poll(op) == []
    ArcLog(folder, PAYMENTS).swap("above 500", fence="amount > 300")
    assert op.push(pay(400, 2)) == []
    assert log.poll(op) == []
    assert shown(op.push(pay(400, 3))) == [(400, 3, 1)]
    assert op.push(pay(400, 2)) == []
    ArcLog(folder, PAYMENTS).retract("above 500")
    assert log.poll(op) == []
    assert shown(op.push(pay(400, 3))) == []
    assert op.push(pay(900, 5)) == []
    ArcLog(folder, PAYMENTS).insert(big(800), until=8)
    assert log.poll(op) == []
    assert [shown(op.push(pay(900, le))) for le in (5, 6, 8)] == [[], [(900, 6, 1)], []]
    assert log.told == []


def test_the_lines_of_a_poll_are_one_call(op: Operator, log: ArcLog, folder: Path) -> None:
    write(folder, "b", ended(5))
    write(folder, "a", swapped(300, 1, id=1), swapped(400, 1, id=2, sequence=1))
    assert log.poll(op) == []
    assert [(event.le, event.re) for event in op._core.arcs.table.events if event.arc.name == "above 500"] == [
        (BEGINNING, 1),
        (1, 5),
    ]


def test_files_come_in_parts_and_under_other_names(op: Operator, log: ArcLog, folder: Path) -> None:
    line = json.dumps(inserted(300, 1, id="x"))
    write(folder, ".hidden", line)
    write(folder, "_started", line)
    (folder / "sub").mkdir()
    path = write(folder, "grows", line[:20], end="")
    assert log.poll(op) == []
    assert (log.told, op._core.arcs.log) == ([], None)
    path.write_text(line[:60])
    assert log.poll(op) == []
    path.write_text(line)
    assert shown(log.poll(op)) == [(400, 1, 1)], "it is whole, though no newline ends it"
    path.write_text(f"{line}\n\n{json.dumps(ended(9, id='y'))}\r\n{line[:9]}")
    assert log.poll(op) == []
    os.replace(path, folder / "another")
    write(folder, "copy", line, json.dumps(ended(9, id="y")))
    assert log.poll(op) == []
    assert log.told == []
    with (folder / "another").open("a") as file:
        file.write(" nothing\n")
    log.poll(op)
    assert len(told(log)) == 1
    assert told(log)[0].startswith('expected a line of an arc log (JSON) but got \'{"op": "i nothing\': Unterminated string')
    assert told(log)[0].endswith("(another, line 4)")


def test_a_file_of_the_same_length_in_the_place_of_another_is_read(op: Operator, log: ArcLog, folder: Path) -> None:
    write(folder, "x", swapped(300, 1, id=1))
    log.poll(op)
    restored = Operator.restore(PAYMENTS, op.snapshot())
    write(folder, "new", swapped(450, 1, id=2, sequence=1))
    os.replace(folder / "new", folder / "x")
    assert shown(log.poll(op)) == [(400, 1, -1)]
    assert shown(ArcLog(folder, PAYMENTS).poll(restored)) == [(400, 1, -1)]


def test_what_holds_from_when_it_is_read_is_read_once(op: Operator, log: ArcLog, folder: Path) -> None:
    write(folder, "x", swapped(300, "now", id=1))
    log.poll(op)
    op.push(pay(350, 5))
    before = op._core.arcs.table.events
    write(folder, "x", swapped(300, "now", id=1), "")
    write(folder, "copy", swapped(300, "now", id=1))
    (folder / "x").write_text("\n" + (folder / "x").read_text())
    log.poll(op)
    assert (op._core.arcs.table.events, log.told) == (before, [])


FAULTS: dict[str, tuple[Any, str]] = {
    "no JSON": ("{broken}", r"expected a line of an arc log \(JSON\) but got '\{broken\}'.* \(x, line 1\)"),
    "no object": ("[1, 2]", r'expected \{"op": "insert" or "retract" or "swap", "arc"'),
    "no name": ({"op": "retract", "arc": {}, "at": 1}, r"expected an arc with a name"),
    "a swap of nothing": ({**inserted(3, 1), "op": "swap"}, r'expected a swap with the "name" of the arc that goes'),
    "a key": ({**ended(5), "nmae": 1}, r"expected the keys op, name, arc, at, until, tick, sequence, id but got 'nmae'"),
    "a name beside": ({**ended(5), "name": "x"}, r"but got 'name' in a line of an arc log"),
    "a field": ({**inserted(3, 1), "arc": {"src": "a", "dst": "b", "fence": "amout > 3", "name": "n"}}, r"amout"),
    "text": ({**inserted(3, 1), "arc": {"src": "a", "dst": "b", "fence": "1 +", "name": "n"}}, r"in arc 'n': a -> b \(x, line 1\)"),
    "a time": (
        ended("2024-01-01"),
        r"a number of ticks, but got at='2024-01-01' \(us\): the operator has no tick=",
    ),
    "a unit": ({**ended(5), "tick": "ms"}, r"expected an int, a number of ticks, but got at=5 \(ms\): the operator has no tick="),
    "no unit": ({**ended(5), "tick": "moon"}, r"expected a unit of time but got tick='moon'"),
    "no time": (ended("soon"), r"expected an instant \(ticks or ISO 8601\) but got at='soon'"),
    "a float": (ended(2.5), r"expected an int \(ticks\) but got at=2\.5"),
    "an empty lifetime": (inserted(3, 5, until=5), r"expected until > at but got at=5, until=5"),
    "bytes": ("\udcff", r"expected a line of an arc log \(JSON in UTF-8\) but got other bytes"),
    "an id twice": ([inserted(3, 5, id=1), inserted(4, 6, id=1)], r"expected one line of an id but got two that differ"),
    "late": (ended(-7), r"expected at >= the promise but got at=-7 for 'above 500' \(x, line 1\)"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_faults_are_told_and_other_lines_taken(op: Operator, log: ArcLog, folder: Path, case: str, caplog: Any) -> None:
    op.push(Punctuation(0))
    lines, text = FAULTS[case]
    lines = lines if isinstance(lines, list) else [lines]
    text_of = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in [*lines, swapped(300, 1)])
    (folder / "x").write_bytes(text_of.encode("utf-8", "surrogateescape"))
    strict = ArcLog(folder, PAYMENTS, on_fault="raise")
    before = op.snapshot()
    for _ in range(2):
        with pytest.raises(LateEventError if case == "late" else AutomatonError, match=text):
            strict.poll(op)
        assert op.snapshot() == before
    with caplog.at_level(logging.WARNING, "afa.arclog"):
        assert shown(log.poll(op)) == [(400, 1, 1)]
    assert len(log.told) == 1
    assert pytest.raises(AssertionError, match=text).matches(AssertionError(told(log)[0]))
    assert caplog.messages == told(log)
    assert log.told[0].kind == ("late" if case == "late" else "fault")
    log.poll(op)
    assert log.told == []


def test_a_retraction_waits_and_then_is_a_fault(op: Operator, log: ArcLog, folder: Path) -> None:
    write(folder, "x", {**ended(5), "arc": {"name": "later"}}, {**ended(7), "arc": {"name": "never"}})
    log.poll(op)
    write(folder, "y", {**inserted(0, 3), "arc": {"src": "a", "dst": "b", "fence": "True", "name": "later"}})
    log.poll(op)
    assert log.told == []
    assert shown(op.push(pay(20, 4))) == [(0, 4, 1)]
    op.push(Punctuation(7))
    log.poll(op)
    assert log.told == []
    op.push(Punctuation(8))
    op = Operator.restore(PAYMENTS, op.snapshot())
    log.poll(op)
    assert told(log) == ["expected an arc in force but got 'never'; in force: above 500, small (x, line 2)"]
    log.poll(op)
    assert log.told == []


def test_what_leads_nowhere_is_told(op: Operator, log: ArcLog) -> None:
    log.insert(Arc("a", "typo", "True", name="x"))
    log.poll(op)
    assert [(each.kind, each.file) for each in log.told] == [("note", "")]
    assert told(log) == ["arc 'x': a -> typo leads to no match yet: no arc leaves 'typo', and it is not final"]


def test_an_operator_without_payloads_takes_no_line_of_the_past(folder: Path, engine: str) -> None:
    one = Automaton(start="a", final={"b"}, event=Pay, arcs=[Arc("a", "b", "amount > 500", name="above 500")])
    op = Operator(one, window=10, engine=engine, retractions=False, keep_payloads=False)
    log = ArcLog(folder, one)
    op.push(pay(400, 4))
    log.append({**ended(3), "id": 1})
    log.append({"op": "insert", "at": 9, "arc": {"src": "a", "dst": "b", "fence": "amount > 1", "name": "n"}})
    log.append({"op": "swap", "name": "n", "at": 10, "arc": {"src": "a", "dst": "b", "fence": "amount > 7"}})
    assert log.poll(op) == []
    assert told(log)[0].startswith("expected at >= the promise but got at=3 for 'above 500'")
    assert [bool(op.push(pay(5, le))) for le in (8, 9, 10)] == [False, True, False]


def test_ticks_times_and_units(folder: Path, engine: str) -> None:
    op = Operator(PAYMENTS, window="10 s", tick="ms", engine=engine)
    log = ArcLog(folder, PAYMENTS, tick="s")
    log.insert(big(1, "x"), at=5, until=datetime(1970, 1, 1, 0, 0, 7, 500_000, tzinfo=timezone.utc))
    log.insert(big(2, "y"), at="1970-01-01T00:00:09Z", until="1970-01-01 01:00:10.25+01:00")
    write(folder, "z", {**inserted(3, 11_000), "until": 12_000})
    log.poll(op)
    assert log.told == []
    assert sorted((e.arc.name, e.le, e.re) for e in op._core.arcs.table.events)[2:] == [
        ("small", BEGINNING, FOREVER), ("x", 5000, 7500), ("y", 9000, 10_250)
    ]  # fmt: skip
    write(folder, "us", {**ended(1_500), "tick": "us"})
    log.poll(op)
    assert told(log) == ["expected a whole number of ticks (ms) but got at=1500 (us) (us, line 1)"]


def test_text_of_nanoseconds_is_not_cut_to_microseconds() -> None:
    def at(text: str, tick: str) -> int:
        (line,) = read_lines(json.dumps(ended(text)), tick)
        return line.at

    assert at("1970-01-01T00:00:01.000000789Z", "ns") == 10**9 + 789
    assert at("1969-12-31T23:59:59.9999999+00:00", "ns") == -100
    assert at("1970-01-01T01:00:01,000001000+01:00", "us") == 1_000_001
    with pytest.raises(
        AutomatonError, match=r"expected a whole number of ticks \(us\) but got at='1970-01-01T00:00:01.000000789Z' \(ns\)"
    ):
        at("1970-01-01T00:00:01.000000789Z", "us")
    with pytest.raises(AutomatonError, match="expected an instant of whole nanoseconds but got at='1970"):
        at("1970-01-01T00:00:01.0000000001", "ns")


def test_writers_check_before_they_write(log: ArcLog, folder: Path) -> None:
    cases: list[tuple[Callable[[], None], type[AfaError], str]] = [
        (lambda: log.insert(big(3, None)), AfaError, r"expected an arc with a name but got arc a -> b"),
        (lambda: log.insert("x"), AfaError, r"expected an arc with a name but got 'x'"),  # type: ignore[arg-type]
        (lambda: log.insert(Arc("a", "b", "amout > 3", name="x")), ExpressionError, r"amout"),
        (lambda: log.insert(big(3), at=5, until=4), AutomatonError, r"expected until > at but got at=5, until=4"),
        (lambda: log.insert(big(3), at=2.5), AutomatonError, r"expected an int \(ticks\) but got at=2\.5"),  # type: ignore[arg-type]
        (lambda: log.insert(big(3), id=2.5), AutomatonError, r"expected a str or an int but got id=2\.5"),  # type: ignore[arg-type]
        (lambda: log.retract(7), AfaError, r"expected the name of an arc but got 7"),  # type: ignore[arg-type]
        (
            lambda: log.retract("x", at="soon"),
            AutomatonError,
            r"expected an instant \(microseconds or ISO 8601\) but got at='soon'",
        ),
        (
            lambda: log.swap("abov 500", big(3)),
            ChangeError,
            r"expected the name of an arc but got 'abov 500'; did you mean 'above 500'\?; there are: 'above 500', 'small'",
        ),
        (
            lambda: log.swap("above 500"),
            AfaError,
            r"expected an arc, or fence= and transfer= for the arc 'above 500', but got none",
        ),
        (lambda: log.swap("above 500", big(3), fence="True"), AfaError, r"for the arc 'above 500', but got both"),
        (lambda: log.swap("above 500", "True"), AfaError, r"expected an Arc but got 'True'"),  # type: ignore[arg-type]
        (lambda: log.swap("above 500", fence="amount >"), ExpressionError, r"in arc 'above 500'"),
        (lambda: log.write([insert(big(3), le=1), retract(big(3, None))]), AfaError, r"of an arc with a name but got Change"),
        (lambda: log.write([insert(big(3)), insert(Arc("a", "b", "amout > 3", name="x"))]), ExpressionError, r"amout"),
        (lambda: log.append("{"), AutomatonError, r"expected a line of an arc log \(JSON\) but got '\{'"),
        (lambda: log.append({**inserted(3, 1), "at": None}), AutomatonError, r"expected an int \(ticks\) but got at=None"),
    ]
    for work, error, text in cases:
        with pytest.raises(error, match=text):
            work()
    assert os.listdir(folder) == []


def test_arcs_that_go_and_come_at_once_are_one_file(op: Operator, log: ArcLog, folder: Path) -> None:
    log.write([])
    log.write([retract(PAYMENTS.arcs[0]), insert(big(3, "other"))], at=4)
    (file,) = os.listdir(folder)
    assert [json.loads(line)["at"] for line in (folder / file).read_text().splitlines()] == [4, 4]
    log.poll(op)
    assert log.told == []
    assert sorted(str(event.arc.name) for event in op._core.arcs.table.events if event.re == FOREVER) == ["other", "small"]


def test_what_is_no_log_or_no_operator(folder: Path, log: ArcLog) -> None:
    with pytest.raises(AfaError, match=r"expected an Automaton but got 7"):
        ArcLog(folder, 7)  # type: ignore[arg-type]
    with pytest.raises(AfaError, match=r'expected on_fault="report" or "raise" but got on_fault=\'stop\''):
        ArcLog(folder, PAYMENTS, on_fault="stop")
    with pytest.raises(AfaError, match=r"expected an Operator or a Keyed, perhaps with a stage, but got 7"):
        log.poll(7)
    (folder / "file").write_text("")
    for place in (folder / "file", folder / "file" / "below"):
        with pytest.raises(AfaError, match=r"expected the folder of an arc log but .*file.* can't be one: .*(exists|directory)"):
            ArcLog(place, PAYMENTS)
    (folder / "file").unlink()
    folder.rmdir()
    op = Operator(PAYMENTS)
    with pytest.raises(AfaError, match=r"expected the folder of an arc log but got .*arcs: No such file or directory"):
        log.poll(op)
    op.push(pay(600, 1))


def test_a_file_that_can_not_be_read_is_told_once(op: Operator, log: ArcLog, folder: Path, monkeypatch: Any) -> None:
    write(folder, "x", swapped(300, 1))
    monkeypatch.setattr(Path, "read_bytes", lambda path: (_ for _ in ()).throw(PermissionError(13, "no")))
    for expected in ([f"expected a file that can be read but got {os.strerror(13)} (x)"], []):
        log.poll(op)
        assert told(log) == expected


def test_a_link_to_itself_is_a_file_that_can_not_be_read(op: Operator, log: ArcLog, folder: Path) -> None:
    (folder / "loop").symlink_to("loop")
    write(folder, "x", swapped(300, 1))
    strict = ArcLog(folder, PAYMENTS, on_fault="raise")
    for _ in range(2):
        with pytest.raises(AutomatonError, match=r"expected a file that can be read but got .* \(loop\)"):
            strict.poll(op)
    for many in (1, 0):
        assert (len(log.poll(op)), len(log.told)) == (many, many)


def test_a_line_is_read_once_though_its_file_can_not_be_read_for_a_while(
    op: Operator, log: ArcLog, folder: Path, monkeypatch: Any
) -> None:
    line = {"op": "insert", "at": "now", "arc": {"src": "a", "dst": "b", "fence": "amount > 5", "name": "n"}}
    write(folder, "x", line)
    log.poll(op)
    op.push(pay(1, 10))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", lambda path: (_ for _ in ()).throw(PermissionError(13, "no")))
        ArcLog(folder, PAYMENTS).poll(op)
    log = ArcLog(folder, PAYMENTS)
    write(folder, "y", ended(0, id="late"))
    log.poll(op)
    assert sum(event.arc.name == "n" for event in op._core.arcs.table.events) == 1
    assert not [text for text in told(log) if "one line of an id" in text]


def test_what_the_log_has_is_changed_by_the_log_only(op: Operator, log: ArcLog) -> None:
    op.swap("above 500", fence="amount > 600")
    log.swap("above 500", fence="amount > 300")
    log.poll(op)
    before = op.snapshot()
    for work in (lambda: op.swap("above 500", big(3)), lambda: op.swap("small", big(3)), lambda: op.push_arc(retract(big(500)))):
        with pytest.raises(ChangeError, match=r"expected changes of the arc 'above 500' from the arc log, which has lines of this"):
            work()
    rows = {"who": ["x"], "amount": [0], "le": [BEGINNING], "kind": [1], "arc": [0], "diff": [-1]}
    with pytest.raises(ChangeError, match=r"expected changes of the arc 'above 500' from the arc log"):
        op.push_many(rows, arcs=[big(500)])
    assert op.snapshot() == before
    op.swap("small", fence="amount < 5")
    op.push_arc(insert(big(1, "other")))
    log.swap("small", fence="amount < 3")
    assert log.poll(op) == []
    assert shown(op.push(pay(350, 2))) == [(350, 2, 1)]


def test_an_operator_is_restored_copied_and_sent_with_what_it_took(op: Operator, log: ArcLog, folder: Path) -> None:
    log.swap("above 500", fence="amount > 300", at=1)
    log.insert(big(700, "x"), at=5, until=9)
    log.retract("small", at=7)
    log.poll(op)
    op.push_arc(insert(big(9999, "by hand")))
    for other in (
        Operator.restore(PAYMENTS, op.snapshot(), arcs=[big(9999, "by hand")]),
        copy.deepcopy(op),
        pickle.loads(pickle.dumps(op)),  # the user's own
    ):
        assert other.snapshot() == op.snapshot()
        other._check()
        again = ArcLog(folder, PAYMENTS)
        assert (again.poll(other), again.told) == ([], [])
        assert len(other.push(pay(400, 2))) == 1
        with pytest.raises(ChangeError, match=r"from the arc log"):
            other.swap("x", big(3))


def test_which_of_two_arcs_of_one_instant_a_retraction_ends(op: Operator, log: ArcLog, folder: Path) -> None:
    """The one of the later sequence, also after another name has come to the log; of the operator's own the longer one."""

    def ends(name: str) -> list[tuple[int, int]]:
        return sorted((e.le, e.re) for e in op._core.arcs.table.events if e.arc.name == name and e.le > BEGINNING)

    write(folder, "x", inserted(900, 5, until=16, sequence=1), inserted(901, 5))
    log.poll(op)
    op.push_many([insert(big(902, "own"), 5, 9), insert(big(903, "own"), 5, 20)])
    op.push(Punctuation(6))
    write(folder, "y", {**ended(30), "arc": {"name": "small"}})
    log.poll(op)
    op = Operator.restore(PAYMENTS, op.snapshot(), arcs=[big(902, "own"), big(903, "own")])
    write(folder, "z", ended(12), {**ended(8), "arc": {"name": "own"}})
    log.poll(op)
    assert (ends("above 500"), ends("own")) == ([(5, 12), (5, FOREVER)], [(5, 8), (5, 9)])


def test_incremental_snapshots_say_what_was_taken(log: ArcLog, folder: Path, engine: str) -> None:
    op = Keyed(PAYMENTS, key="who", window=10, engine=engine)
    op.push_many([pay(400, 1), insert(Pay("y", 400), 1)])
    blobs = [op.snapshot(incremental=True)]
    for limit, at in ((300, 1), (450, 2)):
        log.swap("above 500", fence=f"amount > {limit}", at=at)
        log.poll(op)
        op.push(pay(420, 2))
        blobs.append(op.snapshot(incremental=True))
        again = Keyed.restore(PAYMENTS, blobs, key="who", engine=engine)
        assert [e[1:] for e in again._core.arcs.table.events] == [e[1:] for e in op._core.arcs.table.events]
        assert (ArcLog(folder, PAYMENTS).poll(again), again.statistics) == ([], op.statistics)


def test_operators_follow_one_log_in_threads(log: ArcLog) -> None:
    ops = [Keyed(PAYMENTS, key="who", window=10, engine="interpreted") for _ in range(4)]

    def follow(op: Any) -> list[int]:
        return [len(log.poll(op)) + len(op.push(pay(400, n))) for n in range(60)]

    with ThreadPoolExecutor() as threads:
        log.swap("above 500", fence="amount > 300", at=50)
        found = [threads.submit(follow, op) for op in ops]
        for n in range(30):
            log.insert(big(9999, f"n{n}"), at=n)
        assert {sum(each.result()) for each in found} == {10}


def test_stages_see_what_a_log_brings(log: ArcLog, folder: Path, engine: str) -> None:
    after = Consolidate(per="call").after(Keyed(PAYMENTS, key="who", window=10, engine=engine))
    after.push(pay(400, 1))
    write(folder, "x", swapped(300, 0))
    assert shown(log.poll(after)) == [(400, 1, 1)]
    before = Cleanse(0).before(Operator(PAYMENTS, window=10, engine=engine))
    before.push(pay(400, 1))
    assert log.poll(before) == []
    again = Operator.restore(PAYMENTS, before.snapshot(), engine=engine)
    assert log.poll(again) == []
    assert shown(again.push(Punctuation(5))) == [(400, 1, 1)]
    stage = LastBefore(Pay, {"last": "amount > 100"}, window=5)
    arc = Arc("0", "1", "amount == 1 and last is None", name="above 500")
    calm = Automaton(start="0", final={"1"}, event=stage.filled, arcs=[arc])
    back = stage.before(Operator(calm, window=9, engine=engine))
    back.push_many([pay(200, 1), pay(1, 3)])
    arcs = ArcLog(folder / "calm", calm)
    arcs.swap("above 500", fence="amount == 1 and last == 2", at=0)
    assert [(c.le, c.diff) for c in arcs.poll(back)] == []
    assert len(back.push(pay(101, 1))) == 0
    assert [(c.le, c.diff) for c in back.push(retract(Pay("x", 200), 1))] == []


def test_a_query_s_arcs_are_swapped(folder: Path) -> None:
    query = afa.query("PATTERN SEQ(Pay a, Pay b) WHERE skip_till_next_match(a, b) { b.amount > a.amount }", event=Pay)
    op, log = query.operator(), ArcLog(folder, query)  # type: ignore[arg-type]
    name = next(arc.name for arc in query.automaton.arcs if arc.dst in query.automaton.final)
    assert name is not None
    log.swap(name, fence="amount > 100")
    op.push(pay(5, 1))
    log.poll(op)
    assert [op.push(pay(amount, le)) != [] for amount, le in ((50, 2), (200, 3))] == [False, True]


def test_a_poll_that_finds_nothing_reads_nothing(op: Operator, log: ArcLog, folder: Path, monkeypatch: Any) -> None:
    for at in range(20):
        log.insert(big(at, f"n{at}"), at=at)
    log.poll(op)
    time.sleep(0.01)
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail(f"{path} was read"))
    log.poll(op)
    (folder / os.listdir(folder)[0]).unlink()
    log.poll(op)


# -- interrupts, damage ------------------------------------------------------------------------------------------------------------


def test_a_poll_is_interrupted_at_some_of_its_lines(engine: str, tmp_path: Path) -> None:
    folder = tmp_path / "arcs"
    arcs = ArcLog(folder, PAYMENTS)
    arcs.swap("above 500", fence="amount > 300", at=0)
    arcs.retract("later", at=3)
    write(folder, "x", "{}", inserted(1, 5))

    def made() -> Operator:
        op = Operator(PAYMENTS, window=10, engine=engine)
        op.push_many([pay(400, 1), pay(450, 2)])
        return op

    def state(op: Operator) -> Any:
        return op.statistics, op.snapshot(), op._core.arcs.table.events, op._core.arcs.log

    twin, before, counted = made(), state(made()), 0
    done = at_line(lambda: arcs.poll(twin), None)
    after = state(twin)
    for stop in range(1, done.lines, 1 + done.lines // 60):
        op = made()
        ended = at_line(lambda op=op: ArcLog(folder, PAYMENTS).poll(op), stop)  # type: ignore[misc]
        counted += ended.interrupted
        found = state(op)
        assert found in (before, after), ended.out
        op._check()
        again = ArcLog(folder, PAYMENTS)
        if found == before:
            assert again.poll(op) == done.out
        assert (again.poll(op), state(op)) == ([], after)
    assert counted > 30


def test_a_state_that_does_not_fit_is_refused(op: Operator, log: ArcLog, folder: Path) -> None:
    log.swap("above 500", fence="amount > 300", at=1)
    log.retract("later", at=30)
    log.poll(op)
    blob = op.snapshot()
    state = opened(blob)[2][9]
    assert len(state) == 5
    line = next(place for place, source in enumerate(state[2]) if len(source) == 4)

    def refused(*places: int, value: Any) -> None:
        with pytest.raises(SnapshotError):
            Operator.restore(PAYMENTS, forged(blob, (2, 9, *places), value))

    odd: list[Any] = [None, 7, "x", [[]], [1, 2], 2.5, b"x", [None] * 5]
    for value in odd:
        for places in ((1,), (2,), (3,), (4,), (2, 0), (4, 0), (4, 0, 3)):
            refused(*places, value=value)
    for places, values in {
        (0,): (None, "x", 31),
        (2, line, 0): (None, 7, "{}", json.dumps(inserted(3, 5)), json.dumps(swapped(3, "now")), b"x"),
        (2, line, 1): (None, "x", 2.5),
        (2, line, 2): (None, 7),
        (2, line, 3): (None, "x"),
        (4, 0, 0): (None, 7),
        (4, 0, 1): (None, "x", 2.5),
    }.items():
        for value in values:
            refused(*places, value=value)


@pytest.mark.parametrize("fence", ["amount > 50", lambda e, r: print is e])
def test_an_arc_that_had_ended_before_a_snapshot_may_come_back(log: ArcLog, folder: Path, fence: Any, engine: str) -> None:
    op = Operator(PAYMENTS, window=1000, engine="interpreted" if callable(fence) else engine)  # type: ignore[arg-type]
    op.push_arc(insert(Arc("a", "b", fence, name="own"), 100))
    write(folder, "x", {**ended(100), "arc": {"name": "own"}, "sequence": 5})
    log.poll(op)
    op = Operator.restore(PAYMENTS, op.snapshot(), engine="interpreted" if callable(fence) else engine)  # type: ignore[arg-type]
    assert op.push(pay(60, 150)) == []
    write(folder, "y", {**inserted(0, 100), "arc": {"src": "a", "dst": "b", "fence": "amount > 70", "name": "own"}, "sequence": 3})
    before = op.snapshot()
    if callable(fence):
        with pytest.raises(AutomatonError, match="brings 'own' back, which had ended before the snapshot"):
            log.poll(op)
        assert op.snapshot() == before
    else:
        assert len(log.poll(op)) == 1
        op._check()
