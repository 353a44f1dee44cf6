"""`afa run .. --output FILE.csv`: what JSON lines say, in CSV, which is read again."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from tests.cli import call, fails, json_lines, write
from tests.cli import there as there  # the fixture of all tests here

PATTERN = """
from typing import NamedTuple
from afa import Arc, Automaton


class Got(NamedTuple):
    value: float
    room: str
    note: str | None = None


class Low(NamedTuple):
    low: float = 0.0
    note: str | None = None
    all: object = None


fall = Automaton(
    start="a", final={"c"}, event=Got, register=Low(),
    arcs=[
        Arc("a", "b", lambda e, r: e.value > 1),
        Arc("b", "c", lambda e, r: e.value <= 1, lambda e, r: Low(e.value, e.note, (e.value, True))),
    ],
)


class Seen(NamedTuple):
    low: float
    room: str
    note: str


again = Automaton(
    start="a", final={"b"}, event=Seen, register=NamedTuple("Same", [("low", float), ("note", str)])(0.0, ""),
    arcs=[Arc("a", "b", lambda e, r: True, lambda e, r: r._replace(low=e.low, note=e.note))],
)
Price = NamedTuple("Price", [("price", float)])
large = Automaton(start="a", final={"b"}, event=Price, arcs=[Arc("a", "b", lambda e, r: e.price > 1e308)])
"""
TIMES = ["2013-01-01 00:00:00", "2013-01-01 00:00:01.5", "2013-01-01 00:00:01.25"]


@pytest.fixture(autouse=True)
def pattern(there: Path) -> None:
    write("c.py", PATTERN)


def rows_of(file: str) -> list[dict[str, str]]:
    with open(file, newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def both(file: str, *options: str) -> tuple[list[dict[str, str]], list[dict[str, Any]]]:
    """The changes in CSV, and as JSON lines."""
    for output in ("o.csv", "o.jsonl"):
        call("run", "c.py:fall", file, "--key", "room", *options, "--output", output, "--matches", "0")
    return rows_of("o.csv"), [json.loads(line) for line in Path("o.jsonl").read_text().splitlines()]


def said(value: Any) -> str:
    """A value in CSV, where a float that is whole stands without its point."""
    return "" if value is None else value if isinstance(value, str) else f"{value:g}"


def late(zone: str = "") -> str:
    """Times of a key, of which the last comes late, and withdraws a match."""
    rows = [f"{time}{zone},{value},a,n\n" for time, value in zip(TIMES, (2, 0.5, 1))]
    return write("t.csv", "when,value,room,note\n" + "".join(rows))


@pytest.mark.parametrize("zone", ["", "+02:00"])
def test_it_says_what_json_lines_say(zone: str) -> None:
    found, wanted = both(late(zone), "--time", "when", "--batch", "1")
    assert found == [{name: said(value) for name, value in row.items()} for row in wanted]
    assert list(found[0]) == ["room", "low", "note", "all", "le", "re", "diff"]
    assert [row["diff"] for row in found] == ["1", "-1", "1"]
    assert found[0]["le"] == ("2013-01-01T00:00:01.5" if not zone else "2012-12-31T22:00:01.5+00:00")


def test_what_is_missing_is_empty_and_text_is_itself() -> None:
    notes = [None, "", 'say "x", y', "NA", "null", "ä\r€"]
    values = [(value, note) for note in notes for value in (2, 0.5)]
    rows = [{"le": i, "value": value, "room": "", "note": note} for i, (value, note) in enumerate(values)]
    found, wanted = both(json_lines("n.jsonl", rows), "--window", "2")
    assert [row["note"] for row in found] == [note or "" for note in notes] == [row["note"] or "" for row in wanted]
    first = Path("o.csv").read_bytes().split(b"\n")[1:3]
    assert first == [b'"",0.5,,"(0.5, True)",1,2,1', b'"",0.5,"","(0.5, True)",3,4,1']


@pytest.mark.parametrize("kind", ["ints", "times", "zones", "days"])
def test_what_is_written_is_read_again(kind: str) -> None:
    """What is withdrawn is withdrawn again, and times are the same times."""
    file, options = late({"zones": "+01:00"}.get(kind, "")), ["--time", "when", "--window", "1d"]
    if kind == "ints":
        file, options = write("i.csv", "le,value,room,note\n5,2,a,n\n9,1,a,n\n7,1,a,n\n"), ["--window", "9"]
    if kind == "days":
        file = "day.parquet"
        days = {
            "when": pa.array([15706, 15709, 15708], pa.date32()),
            "value": [2.0, 0.5, 1.0],
            "room": ["a"] * 3,
            "note": ["n"] * 3,
        }
        pyarrow.parquet.write_table(pa.table(days), file)
        options = ["--time", "when", "--window", "9d"]
    call("run", "c.py:fall", file, *options, "--key", "room", "--batch", "1", "--output", "first.csv")
    call("run", "c.py:again", "first.csv", "--key", "room", "--batch", "1", "--output", "second.csv")
    first, second = rows_of("first.csv"), rows_of("second.csv")
    assert [row | {"all": ""} for row in second] == [row | {"all": ""} for row in first]
    assert [row["diff"] for row in first] == ["1", "-1", "1"]


def test_numbers_that_are_no_numbers() -> None:
    prices = ["inf", "-inf", "inf", "nan", "2"]
    write("n.csv", "le,price,change\n" + "".join(f"{le},{price},1\n" for le, price in enumerate(prices)))
    call("run", "p.py:price", "n.csv", "--output", "o.csv")
    assert [row["price"] for row in rows_of("o.csv")] == prices
    assert len(call("run", "c.py:large", "o.csv").stdout.splitlines()) == 2


@pytest.mark.parametrize(("option", "column"), [(("--members", "le"), "members"), (("--reasons",), "because")])
def test_lists_are_refused(option: tuple[str, ...], column: str) -> None:
    said = fails("run", "p.py:two_vees", "ticks.csv", "--window", "7", *option, "--output", "o.csv")
    assert said.startswith(f"can't write o.csv: CSV holds no lists, and column {column!r} is ")
    assert said.endswith("; write JSON lines (.jsonl) or Parquet (.parquet)")
    assert not Path("o.csv").exists()


def test_variants_and_stored_history_are_written_too() -> None:
    write("make.py", "import p\n\ndef make(n=1):\n    return p.every\n")
    pyarrow.parquet.write_table(pyarrow.csv.read_csv("ticks.csv"), "in.parquet")
    call("run", "make.py:make", "ticks.csv", "--window", "9", "--vary", "n=1:2:1", "--output", "v.csv")
    call("replay", "p.py:every", "in.parquet", "--time", "le", "--window", "9", "--output", "r.csv")
    assert len(rows_of("v.csv")) == 2 * len(rows_of("r.csv")) == 16
