"""`afa run` that finds nothing ends with a line that says where computations ended, and tells mistakes apart."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from afa.cli import diagnosis
from tests.cli import ROOT, call, write

PATTERN = """
from typing import NamedTuple

import afa
from afa import Arc, Automaton


class Pay(NamedTuple):
    card: str
    amount: float
    status: str


class Seen(NamedTuple):
    first: float = 0.0
    since: int = 0


def doubled(status="declined", limit=50.0, more=()):
    arcs = [
        Arc("start", "one", f"status == {status!r}", "r._replace(first=amount)", name="first"),
        Arc("one", "two", f"status == {status!r} and amount > {limit}", name="second"),
        *more,
    ]
    return Automaton(start="start", final={"two"}, arcs=arcs, event=Pay, register=Seen())


right = doubled()
misspelt = doubled(status="declned")
cents = doubled(limit=9000)
smallest = Automaton(start="start", final={"one"}, arcs=[Arc("start", "one", "amount < 0 and status == 'approved'")], event=Pay)
either = Automaton(start="start", final={"one"}, arcs=[Arc("start", "one", "status in ('x', 'y')")], event=Pay)
starts = Automaton(start="start", final={"one"}, arcs=[Arc("start", "one", "status.startswith('re')")], event=Pay)
mixed = Automaton(
    start="start",
    final={"two"},
    arcs=[Arc("start", "one", "True", "r._replace(first=amount)"), Arc("one", "two", "amount > r.first + 1000", name="more")],
    event=Pay,
    register=Seen(),
)
waits = Automaton(
    start="start",
    final={"late"},
    arcs=[Arc("start", "one", "True", "r._replace(since=int(amount))"), Arc.timeout("one", "late", "r.since + 10_000_000")],
    event=Pay,
    register=Seen(),
)
"""


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    write("p.py", PATTERN)
    rows = [
        f"{60_000 * i + card},c{card},{10 + i},{('declined', 'approved', 'declined')[(i + card) % 3]}"
        for i in range(90)
        for card in range(20)
    ]
    write("pay.csv", "\n".join(["at,card,amount,status", *rows, ""]))


def said(pattern: str, *options: str, file: str = "pay.csv") -> list[str]:
    result = call("run", f"p.py:{pattern}", file, "--le", "at", "--key", "card", *options)
    return [line for line in result.stderr.splitlines() if line.startswith("afa: ")]


def test_a_run_with_matches_says_nothing() -> None:
    assert said("right", "--window", "3600000") == []
    assert said("misspelt", "--window", "3600000", "--quiet") == []


def test_a_window_in_another_unit() -> None:
    (line,) = said("right", "--window", "3600")
    assert line == (
        "afa: no match: 1,200 events began a partial match, of which the furthest came to 'one': 1,186 ended by the window, "
        "14 open at the end; "
        "the window of 3,600 ended 1,186 in all, where two events of a key are 60,000 apart in the median; "
        "is the window in the unit of the times?"
    )
    assert "largest" not in line


def test_a_limit_in_another_unit() -> None:
    (line,) = said("cents", "--window", "3600000")
    assert "furthest came to 'one'" in line
    assert "ended by an event that no arc took" in line
    assert "arc 'second': one -> two was asked " in line
    assert line.endswith("times and never taken: the largest amount is 99.0, not > 9000")
    assert "unit of the times" not in line


def test_a_value_that_is_misspelt() -> None:
    (line,) = said("misspelt", "--window", "3600000")
    assert line == (
        "afa: no match: no event began a partial match; arc 'first': start -> one was asked 1,800 times and never taken: "
        "no status is 'declned', but 'declined', 'approved'; did you mean 'declined'?"
    )


@pytest.mark.parametrize(
    ("pattern", "end"),
    [
        ("smallest", "never taken: the smallest amount is 10.0, not < 0"),
        ("either", "never taken: no status is 'x' or 'y', but 'declined', 'approved'"),
        ("starts", "never taken: e.status.startswith('re') is true of no event"),
        ("mixed", "times and never taken"),
    ],
)
def test_other_conditions(pattern: str, end: str) -> None:
    (line,) = said(pattern, "--window", "3600000")
    assert line.endswith(end)


def test_time_outs_that_come_too_late() -> None:
    (line,) = said("waits", "--window", "3600000", "--end", "forever")
    assert "arc one -> late (timeout) would fire past the window in " in line
    assert "give a longer --window" in line


def test_an_input_without_events() -> None:
    write("none.csv", "at,card,amount,status\n")
    assert said("right", file="none.csv") == ["afa: no match: there is no event"]


def test_only_a_part_is_looked_at() -> None:
    rows = [{"at": i, "card": f"c{i % 500}", "amount": 1.0, "status": "ok"} for i in range(5_000)]
    write("many.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    (line,) = said("right", file="many.jsonl")
    assert line.startswith("afa: no match: of 1,000 events that were looked at none began a partial match; arc 'first'")
    assert line.endswith("no status is 'declined', but 'ok'")


def test_retracted_events_are_none() -> None:
    write("taken.csv", "at,card,amount,status,diff\n1,a,60,declined,1\n2,a,60,declined,1\n2,a,60,declined,-1\n")
    (line,) = said("right", file="taken.csv")
    assert "of 1 events that were looked at 1 began a partial match, of which the furthest came to 'one': 1 open at the end" in line


def test_columns_are_looked_at_as_far_as_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "LOOKED", 500)
    (line,) = said("misspelt", "--window", "3600000", "--batch", "300")
    assert line.endswith("no status is 'declned', but 'declined', 'approved' in the first 600 events; did you mean 'declined'?")
    (line,) = said("smallest", "--window", "3600000", "--batch", "300")
    assert line.endswith("the smallest amount in the first 600 events is 10.0, not < 0")


def test_time_outs_that_are_open() -> None:
    write("one.csv", "at,card,amount,status\n1,a,60,declined\n")
    (line,) = said("waits", file="one.csv")
    assert line.endswith("1 open at the end; --end forever lets time-outs fire that are open at the end")
    (line,) = said("waits", "--end", "forever", "--window", "1000", file="one.csv")
    assert line.endswith("in 1 cases: give a longer --window")


def test_standard_input() -> None:
    command = [sys.executable, "-m", "afa.cli", "run", "p.py:misspelt", "-", "--format", "csv", "--le", "at", "--key", "card"]
    found = subprocess.run(
        command, input=Path("pay.csv").read_text(), text=True, capture_output=True, check=True, env={"PYTHONPATH": str(ROOT)}
    )
    assert "afa: no match: no event began a partial match; arc 'first'" in found.stderr


def test_a_query_says_it_too() -> None:
    write(
        "q.sase", "PATTERN SEQ(Pay a, Pay b) WHERE partition_contiguity(a, b) { [card] and a.status = 'declned' } WITHIN 100 hours"
    )
    result = call("run", "q.sase", "pay.csv", "--le", "at")
    assert "no status is 'declned', but 'declined', 'approved'; did you mean 'declined'?" in result.stderr
