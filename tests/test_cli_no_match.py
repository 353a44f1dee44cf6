"""`afa run` that finds nothing ends with a line that says where computations ended, and tells mistakes apart."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from afa.cli import why
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
noted = Automaton(start="start", final={"two"}, event=Pay, register=Seen(), arcs=[
    Arc("start", "one", "status == 'declined'", name="first"),
    Arc("one", "two", lambda e, r: e.amount > 5 and len(e.status) > 99, name="long"),
    Arc.skip("one", "True"),
])


class Gap(NamedTuple):
    card: str
    amount: float | None
    status: str


over_none = Automaton(start="start", final={"two"}, event=Gap, arcs=[
    Arc("start", "one", "status == 'declined'", name="first"),
    Arc("one", "two", lambda e, r: e.amount > 5, name="more"),
])
"""


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    write("p.py", PATTERN)
    rows = [  # ninety payments of each of twenty cards
        f"{60_000 * i + card},c{card},{10 + i},{('declined', 'approved', 'declined')[(i + card) % 3]}"
        for i in range(90)
        for card in range(20)
    ]
    write("pay.csv", "\n".join(["at,card,amount,status", *rows, ""]))


def said(pattern: str, *options: str, file: str = "pay.csv") -> list[str]:
    result = call("run", f"p.py:{pattern}", file, "--time", "at", "--key", "card", *options)
    return [line for line in result.stderr.splitlines() if line.startswith("afa: ")]


def test_a_run_with_matches_says_nothing() -> None:
    assert said("right", "--window", "3600000") == []
    assert said("misspelt", "--window", "3600000", "--quiet") == []


MORE = "; `afa why` with the same options counts it all"
"""How each line ends but that of an input without events."""


@pytest.mark.parametrize(
    ("pattern", "window", "line"),
    [
        (
            "right",
            "3600",
            "`second` was never asked: 1,186 of 1,200 partial matches in `one` ended by the window (3,600 ticks; median "
            "distance of two events of a key: 60,000 ticks; what it takes comes after 120,000 ticks in the median); is the window "
            "in the unit of the times?",
        ),
        (
            "cents",
            "3600000",
            "`second` was asked 1,186 times and never true: the largest amount is 99.0, not > 9000; "
            "is the limit in the unit of the field?",
        ),
        (
            "misspelt",
            "3600000",
            "`first` was asked 1,800 times and never true: "
            "no status is 'declned', but 'declined', 'approved'; did you mean 'declined'?",
        ),
    ],
)
def test_units_and_values_that_are_wrong(pattern: str, window: str, line: str) -> None:
    assert said(pattern, "--window", window) == [f"afa: no match: {line}{MORE}"]


@pytest.mark.parametrize(
    ("pattern", "end"),
    [
        ("smallest", "never true: the smallest amount is 10.0, not < 0"),
        ("either", "never true: no status is 'x' or 'y', but 'declined', 'approved'"),
        ("starts", "never true: `e.status.startswith('re')` is true of no event"),
        ("mixed", "never true: `e.amount > r.first + 1000` stopped it 1,780 times, the nearest by 99.0 > 1098.0"),
    ],
)
def test_other_conditions(pattern: str, end: str) -> None:
    (line,) = said(pattern, "--window", "3600000")
    assert line.endswith(end + MORE)


def test_time_outs_that_come_too_late() -> None:
    (line,) = said("waits", "--window", "3600000", "--end", "forever")
    assert "`one -> late` would fire past the window (3,600,000 ticks) in 1,800 cases: give a longer window" in line


def test_an_input_without_events() -> None:
    write("none.csv", "at,card,amount,status\n")
    assert said("right", file="none.csv") == ["afa: no match: there is no event"]


def test_only_a_part_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(why, "ROWS", 1_000)
    rows = [{"at": i, "card": f"c{i % 500}", "amount": 1.0, "status": "ok"} for i in range(5_000)]
    write("many.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    (line,) = said("right", file="many.jsonl")
    counted = int(line.split()[4].replace(",", ""))
    assert 300 < counted <= 1_000
    assert line == (
        f"afa: no match: of {counted:,} events that were looked at: `first` was asked {counted:,} times and never true: "
        f"no status is 'declined', but 'ok'{MORE}"
    )


def test_retracted_events_are_none() -> None:
    write("taken.csv", "at,card,amount,status,diff\n1,a,60,declined,1\n2,a,60,declined,1\n2,a,60,declined,-1\n")
    (line,) = said("right", file="taken.csv")
    assert line == (
        "afa: no match: `second` was never asked: the one partial match in `one` waited to the end, as no event of the key came "
        f"behind{MORE}"
    )


def test_time_outs_that_are_open() -> None:
    write("one.csv", "at,card,amount,status\n1,a,60,declined\n")
    (line,) = said("waits", file="one.csv")
    assert line == (
        "afa: no match: 1 partial match in `one` still waits for `one -> late`: no promise has come up to where it fires; "
        f"--end forever promises that no event comes any more{MORE}"
    )
    (line,) = said("waits", "--end", "forever", "--window", "1000", file="one.csv")
    assert "in 1 case: give a longer window" in line


def test_standard_input() -> None:
    command = [sys.executable, "-m", "afa.cli", "run", "p.py:misspelt", "-", "--format", "csv", "--time", "at", "--key", "card"]
    found = subprocess.run(
        command, input=Path("pay.csv").read_text(), text=True, capture_output=True, check=True, env={"PYTHONPATH": str(ROOT)}
    )
    assert "afa: no match: `first` was asked 1,800 times and never true" in found.stderr


def test_a_query_says_it_too() -> None:
    write(
        "q.sase", "PATTERN SEQ(Pay a, Pay b) WHERE partition_contiguity(a, b) { [card] and a.status = 'declned' } WITHIN 100 hours"
    )
    result = call("run", "q.sase", "pay.csv", "--time", "at")
    assert "no status is 'declned', but 'declined', 'approved'; did you mean 'declined'?" in result.stderr
