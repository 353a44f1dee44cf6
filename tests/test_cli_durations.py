"""Durations on the command line: ``--window 10m``, ``--lateness 30s``, `afa.span` in a pattern file."""

from __future__ import annotations

import json

import pytest

from tests.cli import call, fails, write
from tests.cli import there as there  # the fixture of all tests here

PATTERN = """
from typing import NamedTuple
import afa
LIMIT = afa.span("10 minutes")
class Pay(NamedTuple):
    at: afa.Instant
    amount: int
class First(NamedTuple):
    at: int = 0
def pair(last):
    arcs = [afa.Arc("0", "1", "True", lambda e, r: First(e.at)), afa.Arc("1", "2", last)]
    return afa.Automaton(start="0", final={"2"}, event=Pay, register=First(), arcs=arcs)
quick = pair(lambda e, r: e.at - r.at < LIMIT)
text = pair("at - r.at < span('10 minutes')")
plain = pair("at - r.at < 7")
"""
SECONDS = [0, 599, 1199, 1300, 9000, 9001]
FOUND = ["599", "1300", "9001"]


def run(*arguments: str) -> list[str]:
    lines: list[str] = call("run", *arguments).stdout.splitlines()
    return lines


def in_time(seconds: int) -> str:
    return f"2026-03-29T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


@pytest.mark.parametrize("name", ["quick", "text"])
def test_one_pattern_file_under_each_tick(name: str) -> None:
    write("d.py", PATTERN)
    times = write("times.csv", "at,amount\n" + "".join(f"{in_time(t)},1\n" for t in SECONDS))
    lines = [f"[{in_time(t)}, " for t in (599, 1300, 9001)]
    for tick, scale in ((None, 1000), ("s", 1), ("ms", 1000), ("us", 10**6), ("ns", 10**9)):
        more = () if tick is None else ("--tick", tick)
        found = run(f"d.py:{name}", times, "--window", "1h", "--lateness", "90s", *more)
        assert [line.split()[1] + " " for line in found] == lines, tick
        ints = write("ints.csv", "le,amount\n" + "".join(f"{t * scale},1\n" for t in SECONDS))
        found = run(f"d.py:{name}", ints, "--window", "1h", "--tick", tick or "ms")
        assert [int(line.split("[")[1].split(",")[0]) // scale for line in found] == list(map(int, FOUND))
    run(f"d.py:{name}", times, "--window", "60 minutes", "--output", "o.jsonl")
    with open("o.jsonl", encoding="utf-8") as file:
        assert len([json.loads(line) for line in file]) == 3


def test_the_column_of_times_fills_an_instant() -> None:
    write("d.py", PATTERN)
    for header, options in (("at", ()), ("le", ()), ("t", ("--time", "t"))):
        assert run("d.py:plain", write("t.csv", f"{header},amount\n3,1\n6,1\n"), *options) == ["+ [6, forever) at=3"]


def test_what_has_no_tick_is_refused() -> None:
    write("d.py", PATTERN)
    ints = write("ints.csv", "le,amount\n1,1\n2,1\n")
    for option, value in (("--window", "10m"), ("--lateness", "30 s")):
        assert fails("run", "d.py:plain", ints, option, value) == (
            f"expected --tick, what an integer of column 'le' counts, beside {option} {value!r} but got none; "
            f"say --tick ms, for example, or {option} as a number of ticks"
        )
    assert fails("run", "d.py:quick", ints) == (
        "expected --tick, what one int of LE counts, for span('10 min') in the fence of arc 1 -> 2 but got none; "
        "give --tick ms, say, or write an int"
    )
    assert "expected a whole number of ticks but got --window='1500 ms' with tick='s'" in fails(
        "run", "d.py:plain", ints, "--window", "1500 ms", "--tick", "s"
    )
    assert run("d.py:plain", ints, "--window", "5") == ["+ [2, 6) at=1"]
    assert run("d.py:plain", ints, "--window", "5 ms", "--tick", "ms", "--lateness", "1") == ["+ [2, 6) at=1"]


@pytest.mark.parametrize("value", ["moon", "", "5 moons", "0", "-3", "1.5"])
def test_what_is_no_duration(value: str) -> None:
    write("d.py", PATTERN)
    ints = write("ints.csv", "le,amount\n1,1\n")
    assert "Invalid value for '--window': expected " in call("run", "d.py:plain", ints, "--window", value, status=2).stderr


def test_a_query_has_milliseconds_where_it_says_nothing() -> None:
    query = write("q.sase", "PATTERN SEQ(Pay a, Pay b) WHERE b.at - a.at < span('1 s') WITHIN 10 seconds RETURN a.amount AS n")
    ints = write("ints.csv", "le,at_most,amount\n0,1,1\n999,1,2\n1999,1,3\n")
    assert [line.split()[-1] for line in run(query, ints, "--lateness", "30s")] == ["n=1"]
