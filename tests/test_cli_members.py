"""``afa run --members``: a column of lists, by component where there are some, in text, JSON lines and Parquet."""

from __future__ import annotations

import json

import pyarrow.parquet
import pytest

from tests.cli import call, fails, write
from tests.cli import there as there  # the fixture of all tests here

PATTERN = """
from typing import Any, NamedTuple
import afa
class Log(NamedTuple):
    kind: str
    id: int
def tries(select, register=None):
    arcs = [
        afa.Arc("0", "try", "kind == 'try'"),
        afa.Arc("try", "try", "True", name="wait"),
        afa.Arc("try", "in", "kind == 'login'", select=select),
    ]
    return afa.Automaton(start="0", final={"in"}, event=Log, register=register, arcs=arcs)
class Seen(NamedTuple):
    last: Any = None
plain, named, odd = tries(None), tries("login"), tries("login", Seen())
def make(n):
    return tries("login")
"""
KINDS = ["try", "look", "login", "try"]
SECONDS = [1, 2, 4, 3]


@pytest.fixture
def logs(there: object) -> str:
    write("p.py", PATTERN)
    return write("logs.csv", "kind,id,le\n" + "".join(f"{kind},{10 * le},{le}\n" for kind, le in zip(KINDS, SECONDS)))


@pytest.mark.parametrize("batch", ["1", "10"])
def test_members_in_text_and_files(logs: str, batch: str) -> None:
    some = ("--window", "60", "--batch", batch, "--members")
    lines = call("run", "p.py:plain", logs, *some, "id").stdout.splitlines()
    assert lines == ["+ [4, 61) members=[10,40]", "+ [4, 63) members=[30,40]"]
    call("run", "p.py:named", logs, *some, "kind", "--output", "o.jsonl")
    with open("o.jsonl", encoding="utf-8") as file:
        assert [json.loads(line)["members"] for line in file] == [{"try": ["try"], "login": ["login"]}] * 2
    call("run", "p.py:named", logs, *some, "le", "--output", "o.parquet")
    found = pyarrow.parquet.read_table("o.parquet")["members"]
    assert found.to_pylist() == [{"try": [1], "login": [4]}, {"try": [3], "login": [4]}]
    call("run", "p.py:odd", logs, *some, "id", "--output", "o.parquet")
    assert pyarrow.parquet.read_table("o.parquet")["members"].to_pylist()[0] == {"try": [10], "login": [40]}


def test_times_leave_as_times() -> None:
    write("p.py", PATTERN)
    rows = "".join(f"{kind},1,2024-01-01 10:00:0{s}\n" for kind, s in zip(KINDS, SECONDS))
    logs = write("at.csv", f"kind,id,at\n{rows}")
    lines = call("run", "p.py:named", logs, "--time", "at", "--window", "1m", "--members", "le").stdout.splitlines()
    assert lines[0].endswith('members={"try":["2024-01-01T10:00:01"],"login":["2024-01-01T10:00:04"]}')
    call("run", "p.py:plain", logs, "--time", "at", "--window", "1m", "--members", "le", "--output", "o.jsonl")
    with open("o.jsonl", encoding="utf-8") as file:
        assert json.loads(file.readline())["members"] == ["2024-01-01T10:00:01", "2024-01-01T10:00:04"]


def test_a_withdrawn_match_has_none(logs: str) -> None:
    rows = "kind,id,le,diff\ntry,1,1,1\nlogin,2,4,1\nlogin,2,4,-1\n"
    lines = call("run", "p.py:plain", write("gone.csv", rows), "--window", "9", "--batch", "1", "--members", "id").stdout
    assert lines.splitlines() == ["+ [4, 10) members=[1,2]", "- [4, 10)"]


def test_a_query_has_members_by_component(logs: str) -> None:
    write("q.sase", "PATTERN SEQ(try a, login b) WHERE skip_till_next_match(a, b) { } WITHIN 60 RETURN b.id")
    lines = call("run", "q.sase", logs, "--type", "kind", "--members", "id").stdout.splitlines()
    assert [line.partition("members=")[2] for line in lines] == ['{"a":[10],"b":[40]}', '{"a":[30],"b":[40]}']


def test_wrong_names_and_sweeps_are_refused(logs: str) -> None:
    assert "but got members='ids'; fields: kind, id" in fails("run", "p.py:plain", logs, "--members", "ids")
    assert "--vary can't be combined with --members" in fails("run", "p.py:make", logs, "--members", "id", "--vary", "n=1,2")


def test_rows_and_members_of_a_query_in_sql(there: object) -> None:
    """One row a match, with its members; or each row of it."""
    text = """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES LAST(b.id) AS last {}
        PATTERN (a b+) WITHIN 9 DEFINE b AS id > PREV(id))"""
    rows = write("rows.csv", "id,at\n1,1\n2,2\n3,3\n")
    one, every = write("one.sql", text.format("")), write("every.sql", text.format("ALL ROWS PER MATCH"))
    lines = call("run", one, rows, "--time", "at", "--members", "id").stdout.splitlines()
    assert lines == ['+ [3, 10) last=3 members={"a":[1],"b":[2,3]}']
    lines = call("run", every, rows, "--time", "at").stdout.splitlines()
    assert [line.replace(" at=", " ").split() for line in lines][1] == ["+", "[2,", "10)", "2", "last=2", "id=2"]
    assert len(lines) == 3
