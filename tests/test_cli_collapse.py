"""``afa run --collapse``: records of all paths in place of matches, in text, JSON lines and Parquet; ``--having``."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet

from tests.cli import call, fails, write
from tests.cli import there as there  # the fixture of all tests here

PATTERN = """
from typing import NamedTuple
import afa
class Log(NamedTuple):
    kind: str
    size: int
arcs = [
    afa.Arc("0", "try", "kind == 'try'"),
    afa.Arc("try", "try", "True", name="wait"),
    afa.Arc("try", "in", "kind == 'login'", select="login"),
]
tries = afa.Automaton(start="0", final={"in"}, event=Log, arcs=arcs)
def make(n):
    return tries
"""
QUERY = "PATTERN SEQ(try a, try+ b[], login c) WHERE skip_till_any_match(a, b[], c) { a.size > 0 } WITHIN 60 RETURN c.size AS size"


def logs() -> str:
    write("p.py", PATTERN)
    rows = "".join(f"{kind},{10 * le},{le}\n" for kind, le in zip(["try", "look", "login", "try"], [1, 2, 4, 3]))
    return write("logs.csv", f"kind,size,le\n{rows}")


def test_collapsed_output_in_text_and_files() -> None:
    some = ("run", "p.py:tries", logs(), "--window", "60", "--collapse")
    one = "+ [4, 61) paths=1.0 count=1.0 sum=10.0 min=10 max=10"
    two = "[4, 63) paths=2.0 count=2.0 sum=40.0 min=10 max=30"
    assert call(*some, "try.size", "--batch", "1").stdout.splitlines() == [one, one.replace("+", "-"), f"+ {two}"]
    assert call(*some, "try.size").stdout.splitlines() == [f"+ {two}"]
    call(*some, "*", "--output", "o.jsonl")
    with open("o.jsonl", encoding="utf-8") as file:
        assert [json.loads(line) for line in file] == [{"paths": 2.0, "le": 4, "re": 63, "diff": 1}]
    call(*some, "size", "--output", "o.parquet")
    (row,) = pyarrow.parquet.read_table("o.parquet").to_pylist()
    assert row == {"paths": 2.0, "count": 4.0, "sum": 120.0, "min": 10, "max": 40, "le": 4, "re": 63, "diff": 1}


def test_of_a_query() -> None:
    write("q.sase", QUERY)
    lines = call("run", "q.sase", logs(), "--type", "kind", "--collapse", "b.size").stdout.splitlines()
    assert lines == ["+ [4, 61) size=40 paths=1.0 count=1.0 sum=30.0 min=30 max=30"]


def test_matches_of_which_a_path_satisfies_a_condition() -> None:
    some = ("run", "p.py:tries", logs(), "--window", "60", "--having")
    assert call(*some, "sum(size) > 60").stdout.splitlines() == ["+ [4, 63)"]
    assert "expected comparisons of" in fails(*some, "max(size) > 60")
    more = ("run", "p.py:make", "logs.csv", "--window", "60", "--vary", "n=1,2", "--having", "count(login) > 1")
    assert "--vary can't be combined with --having because" in fails(*more)


def test_what_is_refused() -> None:
    table = logs()
    assert "expected one of the components 'login', 'try' before the dot but got collapse='in.size'" in fails(
        "run", "p.py:tries", table, "--window", "60", "--collapse", "in.size"
    )
    assert "expected a field of numbers" in fails("run", "p.py:tries", table, "--window", "60", "--collapse", "kind")
    assert "--vary can't be combined with --collapse because" in fails(
        "run", "p.py:make", table, "--window", "60", "--vary", "n=1,2", "--collapse", "size"
    )


def test_bounds_of_what_is_held() -> None:
    rows = logs()
    write("q.sase", QUERY)
    window = ("--window", "60")
    for some in (("run", "p.py:tries", rows, *window), ("run", "q.sase", rows, "--type", "kind")):
        call(*some, "--partial-matches", "0", "--max-bytes", "100000000")
        assert "expected at most 1 partial matches of one key at one step" in fails(*some, "--partial-matches", "1")
    assert "1 partial matches" in fails("run", "p.py:make", rows, *window, "--vary", "n=1,2", "--partial-matches", "1")
    table = pa.table({"kind": ["try", "try", "login"], "size": [1, 2, 3], "le": [1, 2, 3]})
    pyarrow.parquet.write_table(table, "logs.parquet")
    assert "1 partial matches" in fails("replay", "p.py:tries", "logs.parquet", *window, "--partial-matches", "1")
    assert "--max-bytes" in call("run", "p.py:tries", rows, "--max-bytes", "5", status=2).stderr
