"""`afa run PATTERN INPUT --vary name=values`: a function that makes patterns, over an input that is read once."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow.parquet as pq
import pytest

import afa
from afa.cli.fault import CommandError
from afa.cli.load import load_factory
from afa.cli.vary import grid, values_of
from tests.cli import call, fails, write
from tests.cli import there as there  # the fixture of all tests here

FACTORY = """
from typing import NamedTuple
import afa
from afa import Arc, Automaton
from afa.language import one

class Trade(NamedTuple):
    price: float

class Low(NamedTuple):
    low: float = 0.0

def make(rise: float, below: float = 3.0):
    return Automaton(
        start="0", final={"2"}, register=Low(), event=Trade,
        arcs=[
            Arc("0", "1", lambda e, r: e.price < below, lambda e, r: Low(e.price)),
            Arc("1", "2", lambda e, r: e.price > r.low + rise),
        ],
    )

def words(ticks: int):
    return one("a", where=lambda e: e.price < 3).next(one("b")).by("symbol").within(ticks).returns(price=lambda m: m.b.price)

def wrong(rise):
    return 1 / rise if rise < 2 else make(rise)

def either(rise):
    return make(rise) if rise < 2 else words(5)

def clash(low):
    return make(low)

def bare(rise):
    return Automaton(start="0", final={"1"}, arcs=[Arc("0", "1", lambda e, r: e > rise)])

def divides(rise):
    return Automaton(start="0", final={"1"}, event=Trade, arcs=[Arc("0", "1", lambda e, r: 1 / (e.price - rise) > 0)])
"""
ROWS = [("A", 2.0, 0), ("B", 1.0, 1), ("A", 4.0, 2), ("B", 5.0, 3), ("A", 2.5, 4), ("A", 2.0, 9), ("A", 9.0, 7), ("A", 2.2, 1)]


@pytest.fixture(autouse=True)
def _files(there: object) -> None:
    write("f.py", FACTORY)
    write("rows.csv", "\n".join(["symbol,price,le", *(f"{symbol},{price},{le}" for symbol, price, le in ROWS), ""]))


def table(*options: str) -> list[list[str]]:
    out = call("run", *options).stdout.splitlines()
    return [line.split() for line in out]


def test_one_parameter() -> None:
    found = table("f.py:make", "rows.csv", "--key", "symbol", "--window", "9", "--vary", "rise=1:4:1")
    assert found[0] == ["rise", "matches", "withdrawn"]
    assert [row[0] for row in found[1:]] == ["1", "2", "3", "4"]
    assert [int(row[1]) for row in found[1:]] == [3, 2, 2, 1]


def test_a_grid_and_its_matches() -> None:
    out = call(
        "run", "f.py:make", "rows.csv", "--key", "symbol", "--window", "9", "--vary", "rise=1.5,3", "--vary", "below=2.5:3.0:0.5",
        "--output", "found.parquet",
    )  # fmt: skip
    lines = [line.split() for line in out.stdout.splitlines()]
    assert lines[:2] == [["rise", "below", "matches", "withdrawn"], ["1.5", "2.5", "2", "1"]]
    assert "4 variants over 8 rows in" in out.stderr
    assert "matches in found.parquet" in out.stderr
    found = pq.read_table("found.parquet")
    assert found.column_names == ["rise", "below", "symbol", "low", "le", "re"]
    assert found.slice(0, 1).to_pylist() == [{"rise": 1.5, "below": 2.5, "symbol": "A", "low": 2.2, "le": 2, "re": 10}]


def test_json_lines_to_standard_output() -> None:
    out = call("run", "f.py:make", "rows.csv", "--key", "symbol", "--window", "9", "--vary", "rise=3", "--output", "-", "-q")
    rows = [json.loads(line) for line in out.stdout.splitlines()]
    assert [row["rise"] for row in rows] == [3] * len(rows)
    assert out.stderr == ""


def test_queries_and_an_empty_input() -> None:
    found = table("f.py:words", "rows.csv", "--vary", "ticks=2:4")
    assert [row[0] for row in found[1:]] == ["2", "3", "4"]
    write("none.csv", "symbol,price,le\n")
    assert [row[1:] for row in table("f.py:make", "none.csv", "--key", "symbol", "--vary", "rise=1,2")[1:]] == [["0", "0"]] * 2


def test_rows_that_come_late_withdraw() -> None:
    said = ("f.py:make", "rows.csv", "--key", "symbol", "--window", "9", "--vary", "rise=1")
    assert table(*said)[1][2] != "0"
    assert table(*said, "--batch", "100")[1][2] == "0"


def test_values() -> None:
    assert values_of("0.5:1.5:0.1", "") == [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5]
    assert values_of("2:8:3", "") == [2, 5, 8]
    assert values_of("1:2", "") == [1, 2]
    assert values_of("10 minutes, 1 hour", "") == ["10 minutes", "1 hour"]
    assert values_of("a:b", "") == ["a:b"]
    assert values_of("-1e-3", "") == [-0.001]
    assert list(grid(["a=1,2", "b=x"])) == ["a", "b"]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (["rise"], r"expected --vary name=low:high:step or name=a,b,c but got 'rise'"),
        (["rise=1", "rise=2"], r"expected each name once but got --vary rise twice"),
        (["rise=1:2:0"], r"expected a step that leads from low to high but got --vary rise=1:2:0"),
        (["rise=1:2:-1"], r"expected a step that leads from low to high"),
        (["rise=1,,2"], r"expected values between the commas but got --vary rise=1,,2"),
        (["rise=1:1e9:1"], r"expected at most 10,000 variants but got 1,000,000,000 by --vary rise=1:1e9:1"),
        (["a=1:200", "b=1:200"], r"expected at most 10,000 variants but got 40,000"),
    ],
)
def test_values_that_are_refused(said: list[str], text: str) -> None:
    with pytest.raises(CommandError, match=text):
        grid(said)


@pytest.mark.parametrize(
    ("pattern", "options", "text"),
    [
        (
            "make",
            ["--vary", "rice=1"],
            "expected a parameter of f.py:make(rise: float, below: float = 3.0) but got --vary rice; did you",
        ),
        ("make", ["--vary", "below=1"], "expected --vary for each parameter without default of f.py:make(rise"),
        (
            "make",
            ["--vary", "rise=1", "--lateness", "5"],
            "--vary can't be combined with --lateness because what",
        ),
        (
            "make",
            ["--vary", "rise=1", "--arcs", "log"],
            "--vary can't be combined with --arcs because each variant has the arcs that the function",
        ),
        ("Low", ["--vary", "low=1"], "low=1: expected an automaton or a query but got Low"),
        ("wrong", ["--vary", "rise=0"], "rise=0: ZeroDivisionError: division by zero"),
        ("either", ["--vary", "rise=1,2"], "expected automata or queries but got both from f.py:either"),
        (
            "clash",
            ["--vary", "low=1"],
            "expected a name for what varies that no column of the matches has but got 'low'",
        ),
        ("bare", ["--vary", "rise=1"], "f.py:bare has no event schema"),
        ("divides", ["--vary", "rise=9"], "ZeroDivisionError"),
        (
            "words",
            ["--vary", "ticks=1", "--key", "symbol"],
            "--key can't be combined with f.py:words because the query",
        ),
        ("make", [], "expected an automaton or a query but got f.py:make, which is function; --vary calls it with values"),
    ],
)
def test_refused(pattern: str, options: list[str], text: str) -> None:
    assert text in fails("run", f"f.py:{pattern}", "rows.csv", *options)


def test_an_automaton_is_no_factory() -> None:
    assert "expected a function that returns an automaton or a query, for --vary, but got p.py:every" in fails(
        "run", "p.py:every", "ticks.csv", "--vary", "rise=1"
    )


def test_as_find() -> None:
    """The counts of the table are those of `find`."""
    found = table("f.py:make", "rows.csv", "--key", "symbol", "--window", "9", "--vary", "rise=0.5:4.5:0.5")
    make, frame = load_factory("f.py:make"), pd.DataFrame(ROWS, columns=["symbol", "price", "le"])
    for rise, count, _ in found[1:]:
        assert len(afa.find(make(float(rise)), frame, key="symbol", window=9)) == int(count)


def test_times_leave_as_they_came() -> None:
    stamps = pd.to_datetime([le for _, _, le in ROWS], unit="s")
    pd.DataFrame(ROWS, columns=["symbol", "price", "at"]).assign(at=stamps).to_parquet("rows.parquet")
    said = ("run", "f.py:make", "rows.parquet", "--time", "at", "--key", "symbol", "--window", "9s", "--vary", "rise=4")
    call(*said, "--output", "found.parquet")
    assert pq.read_table("found.parquet").to_pandas()["re"].tolist() == [pd.Timestamp(13, unit="s")]
    row = json.loads(call(*said, "--output", "-").stdout)
    assert (row["le"], row["re"]) == ("1970-01-01T00:00:07", "1970-01-01T00:00:13")
