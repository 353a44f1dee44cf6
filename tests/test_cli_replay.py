"""`afa replay`: the matches of stored history on standard output, the plan on standard error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from afa.replay.stored import Stored
from tests.cli import call, fails, on_a_terminal, write
from tests.cli import there as there  # the fixture of all tests here

SPIKE = """
from typing import NamedTuple
import afa
from afa import Arc, Automaton


class Trade(NamedTuple):
    price: float
    n: int


class Seen(NamedTuple):
    n: int = 0


spike = Automaton(
    start="0", final={"2"}, event=Trade, register=Seen(),
    arcs=[Arc("0", "1", "price > 90", "r._replace(n=e.n)"), Arc("1", "2", "price < 50")],
)
two = Automaton(start="0", final={"2"}, event=Trade, register=Seen(), arcs=[Arc("0", "1", "True"), Arc("1", "2", "True")])
odd = Automaton(
    start="0", final={"2"}, event=Trade, register=Seen(),
    arcs=[Arc("0", "1", lambda e, r: hash(e) != 5), Arc("1", "2", "price < 50")],
)
"""


def trades() -> pa.Table:
    price = np.full(200, 60.0)
    price[[20, 90, 150]] = 95.5
    price[[21, 91, 152]] = 40.0
    return pa.table({"at": np.arange(200) * 10, "price": price, "n": np.arange(200), "k": ["a", "b"] * 100})


@pytest.fixture(autouse=True)
def stored(there: Path) -> None:
    (there / "s.py").write_text(SPIKE)
    (there / "trades").mkdir()
    pq.write_table(trades().slice(0, 100), there / "trades/a.parquet", row_group_size=10)
    pq.write_table(trades().slice(100), there / "trades/b.parquet", row_group_size=10)


SAID = ("--time", "at", "--window", "100")


def test_matches_and_the_plan() -> None:
    result = call("replay", "s.py:spike", "trades", *SAID)
    assert result.stdout == "[210, 300) n=20\n[910, 1000) n=90\n"
    said = result.stderr.splitlines()
    assert said[0] == "2 matches"
    assert said[1].endswith("rows replayed") or said[1].startswith("full run (")
    assert len(said) == 2
    assert call("replay", "s.py:spike", "trades", *SAID, "-q").stderr == ""
    both = call("replay", "s.py:spike", "trades/a.parquet", "trades/b.parquet", *SAID)
    assert both.stdout == result.stdout


def test_few_matches_are_printed() -> None:
    result = call("replay", "s.py:two", "trades", *SAID, "--matches", "2")
    assert result.stdout == "[10, 100) n=0\n[20, 110) n=0\n"
    assert "197 more matches (--matches N prints more, --output FILE writes all)" in result.stderr
    assert "full run (every event may be part of a match): 200 rows in 20 row groups" in result.stderr
    assert len(call("replay", "s.py:two", "trades", *SAID, "--matches", "-1").stdout.splitlines()) == 199
    assert call("replay", "s.py:two", "trades", *SAID, "--matches", "0").stdout == ""


def test_explain_reads_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: Any) -> Any:
        raise AssertionError("a row is read")

    monkeypatch.setattr(Stored, "read", read)
    monkeypatch.setattr(Stored, "sample", read)
    result = call("replay", "s.py:spike", "trades", *SAID, "--explain")
    assert result.stdout.splitlines()[:2] == ["1. price > 90 (0 -> 1)", "2. price < 50 (1 -> 2)"]
    assert result.stdout.splitlines()[2].startswith("a match may lie in 3 of 20 row groups, by their statistics")
    assert "full run (every event may be part of a match)" in call("replay", "s.py:two", "trades", *SAID, "--explain").stdout
    assert "can't be read" in call("replay", "s.py:odd", "trades", *SAID, "--explain").stdout


def test_a_full_run_may_be_refused() -> None:
    said = fails("replay", "s.py:two", "trades", *SAID, "--require")
    assert said == (
        "expected a pattern that needs some rare event, with require=True, but got a full run: every event may be part of a match"
    )
    assert "without a window" in fails("replay", "s.py:spike", "trades", "--time", "at", "--require")


def test_matches_are_written() -> None:
    call("replay", "s.py:spike", "trades", *SAID, "--output", "found.parquet", "--key", "k")
    assert pq.read_table("found.parquet").column_names == ["k", "n", "le", "re"]
    assert call("replay", "s.py:spike", "trades", *SAID, "--output", "found.jsonl").stdout.splitlines()[0] == "[210, 300) n=20"
    want = [{"n": 20, "le": 210, "re": 300}, {"n": 90, "le": 910, "re": 1000}]
    assert [json.loads(line) for line in Path("found.jsonl").read_text().splitlines()] == want
    stream = call("replay", "s.py:spike", "trades", *SAID, "--output", "-")
    assert [json.loads(line) for line in stream.stdout.splitlines()] == want
    assert "2 matches" in stream.stderr
    assert ".parquet" in call("replay", "s.py:spike", "trades", *SAID, "--output", "found.txt", status=2).output


def test_times(there: Path) -> None:
    table = trades()
    stamped = table.set_column(0, "when", pa.array(range(0, 2000 * 10**6, 10 * 10**6), pa.timestamp("us", "UTC")))
    pq.write_table(stamped, there / "stamped.parquet", row_group_size=10)
    result = call("replay", "s.py:spike", "stamped.parquet", "--window", "100s")
    begins = [line.split(",")[0] for line in result.stdout.splitlines()]
    assert begins == ["[1970-01-01T00:03:30+00:00", "[1970-01-01T00:15:10+00:00"]
    assert "2 matches" in result.stderr
    until = table.append_column("to", pa.array([None if n % 2 else 10 * n + 15 for n in range(200)]))
    pq.write_table(until, there / "until.parquet", row_group_size=10)
    assert call("replay", "s.py:spike", "until.parquet", *SAID, "--until", "to").stdout == "[210, 215) n=20\n[910, 915) n=90\n"


def test_a_query_over_a_folder() -> None:
    table = trades().append_column("type", pa.array(["Trade"] * 200))
    pq.write_table(table, "trades/a.parquet", row_group_size=10)
    Path("trades/b.parquet").unlink()
    text = "PATTERN SEQ(Trade a, Trade b) WHERE strict_contiguity(a, b) {a.price > 90 and b.price < 50} WITHIN 100 RETURN a.n\n"
    write("q.sase", text)
    result = call("replay", "q.sase", "trades", "--time", "at")
    lines = result.stdout.splitlines()
    assert [line.split(")")[0] for line in lines] == ["[210, 300", "[910, 1000"]
    write("bad.sase", text.replace("price < 50", "prize < 50"))
    assert "prize" in call("replay", "bad.sase", "trades", "--time", "at", status=1).stderr
    sql = """SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES a.n AS first AFTER MATCH SKIP PAST LAST ROW
             PATTERN (a b) WITHIN 100 DEFINE a AS price > 90, b AS n > 0)"""
    write("q.sql", sql)
    assert [line.split()[-1] for line in call("replay", "q.sql", "trades").stdout.splitlines()] == [
        "first=20",
        "first=90",
        "first=150",
    ]


def test_what_is_refused() -> None:
    said = fails("replay", "s.py:spike", "trades", "--time", "att", "--window", "100")
    assert said.startswith("expected a column 'att' (time) but got the columns at, price, n, k; did you mean 'at'?")
    assert "spikes" in fails("replay", "s.py:spikes", "trades", *SAID)
    assert "none.py" in fails("replay", "none.py:spike", "trades", *SAID)
    assert "ticks.csv" in fails("replay", "s.py:spike", "ticks.csv", *SAID)
    whole = Path("trades/b.parquet").read_bytes()
    Path("trades/b.parquet").write_bytes(whole[:-200])
    assert "trades/b.parquet" in fails("replay", "s.py:spike", "trades", *SAID)
    Path("trades/b.parquet").write_bytes(b"PAR1" + b"\xff" * 900 + whole[904:])
    assert "trades/b.parquet" in fails("replay", "s.py:two", "trades", *SAID)
    assert "WINDOW" in call("replay", "s.py:spike", "trades", "--time", "at", "--window", "soon", status=2).output.upper()
    assert call("replay", "s.py:spike", status=2).exit_code == 2


def test_a_terminal_sees_a_bar() -> None:
    out, shown = on_a_terminal("replay", "s.py:two", "trades", *SAID)
    assert out.startswith("[10, 100) n=0")
    assert "199 matches" in shown
