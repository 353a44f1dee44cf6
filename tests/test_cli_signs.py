"""`afa run --diff action --insert N --retract C --id id`: feeds that say by words what comes and what goes."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.cli import call, fails, write
from tests.cli import there as there  # the fixture of all tests here

PATTERN = """
from typing import NamedTuple
from afa import Arc, Automaton


class Order(NamedTuple):
    id: int
    user: str
    amount: float


class Sum(NamedTuple):
    first: int = 0


dip = Automaton(
    start="0", final={"2"}, event=Order, register=Sum(),
    arcs=[Arc("0", "1", "amount < 0", "(e.id,)"), Arc("1", "2", "amount > 0", "(r.first,)")],
)
"""
ROWS = [("N", 1, "u", -1.0, 10), ("N", 2, "u", 2.0, 12), ("N", 3, "v", -1.0, 13), ("A", 4, "v", 3.0, 14), ("C", 2, "u", 2.0, 12)]
NAMES = ("action", "id", "user", "amount", "le")
OPTIONS = ("--key", "user", "--window", "50", "--diff", "action", "--insert", "N", "--insert", "A", "--retract", "C")
FOUND = ["+ [14, 63) user=v first=3"]


def csv(rows: list[tuple[object, ...]]) -> str:
    lines = [",".join("" if item is None else str(item) for item in row) for row in rows]
    return write("orders.csv", "\n".join([",".join(NAMES), *lines, ""]))


def inputs(rows: list[tuple[object, ...]]) -> list[str]:
    records = [{name: value for name, value in zip(NAMES, row) if value is not None} for row in rows]
    pyarrow.parquet.write_table(pa.Table.from_pylist([dict(zip(NAMES, row)) for row in rows]), "orders.parquet")
    return [csv(rows), write("orders.jsonl", "".join(f"{json.dumps(record)}\n" for record in records)), "orders.parquet"]


@pytest.fixture(autouse=True)
def pattern(there: None) -> None:
    write("o.py", PATTERN)


def test_values_that_mean_insertion_and_retraction() -> None:
    for file in inputs(ROWS):
        assert run_of(file, *OPTIONS) == FOUND


def run_of(file: str, *options: str) -> list[str]:
    return call("run", "o.py:dip", file, *options).stdout.splitlines()


def test_a_row_of_a_retraction_needs_no_more_than_the_id() -> None:
    bare = [*ROWS[:4], ("C", 2, None, None, None), ("C", 9, None, None, None)]
    for file in inputs(bare):
        assert run_of(file, *OPTIONS, "--id", "id") == FOUND
        steps = run_of(file, *OPTIONS, "--id", "id", "--batch", "1")
        assert steps == ["+ [12, 60) user=u first=1", *FOUND, "- [12, 60) user=u first=1"]
        assert run_of(file, *OPTIONS, "--id", "id", "--lateness", "5", "--late", "drop") == FOUND


def test_numbers_may_be_the_values() -> None:
    rows = [(7 if action in "NA" else 8, *rest) for action, *rest in ROWS]
    for file in inputs(rows):
        assert run_of(file, *OPTIONS[:6], "--insert", "7", "--retract", "8") == FOUND


def test_a_query_takes_them() -> None:
    where = "partition_contiguity(a, b) { [user] and a.amount < 0 and b.amount > 0 }"
    write("dip.sase", f"PATTERN SEQ(x a, x b) WHERE {where} WITHIN 50 RETURN a.id AS first")
    for file in inputs([*ROWS[:4], ("C", 2, None, None, None)]):
        found = call("run", "dip.sase", file, *OPTIONS[4:], "--id", "id").stdout.splitlines()
        assert found == FOUND, file


def test_what_is_wrong_is_said() -> None:
    file = csv([*ROWS, ("X", 5, "u", 1.0, 20)])
    base = ("run", "o.py:dip", file, *OPTIONS[:6])
    assert fails("run", "o.py:dip", file, *OPTIONS) == (
        "orders.csv: row 7, column 'action': expected one of N, A, C (--insert, --retract) but got 'X'"
    )
    assert "--insert needs --retract because both say which values of the column" in fails(*base, "--insert", "N")
    assert "--retract needs --insert because" in fails(*base, "--retract", "C")
    assert "expected values that mean one thing but got 'N' as --insert and as --retract" in fails(
        *base, "--insert", "N", "--retract", "N"
    )
    assert "--insert needs --diff because it is the column that holds such values" in fails(
        "run", "o.py:dip", file, "--insert", "N", "--retract", "C"
    )
    assert "no column 'ident' (--id) among" in fails("run", "o.py:dip", file, *OPTIONS, "--id", "ident")
    assert "--version needs on_repeat=" in fails("run", "o.py:dip", file, *OPTIONS, "--id", "id", "--version", "user")
    assert "--on-repeat needs version=" in fails("run", "o.py:dip", file, *OPTIONS, "--id", "id", "--on-repeat", "update")
    assert "row 5, column 'amount': expected float (field amount of Order) but got no value" in fails(
        "run", "o.py:dip", inputs([*ROWS[:4], ("N", 5, "u", None, 20)])[1], *OPTIONS, "--id", "id"
    )
    write("v.py", PATTERN.replace("dip = ", "def make(x: float) -> Automaton:\n    return "))
    assert "--vary can't be combined with --id" in fails("run", "v.py:make", file, *OPTIONS, "--id", "id", "--vary", "x=1:2:1")
    pyarrow.parquet.write_table(pa.table({"action": [[1]], "id": [1], "user": ["u"], "amount": [1.0], "le": [1]}), "odd.parquet")
    assert "column 'action': expected text or integers (--diff, --insert, --retract) but got list<" in fails(
        "run", "o.py:dip", "odd.parquet", *OPTIONS
    )
