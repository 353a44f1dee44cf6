"""``afa run --reasons``: a sentence below each match, a column in files; ``--report``: the page has the numbers of the summary."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet
import pytest

from afa import Arc, ArcLog, Automaton, Operator, insert
from afa.explain.reasons import Reasons
from tests.cli import call, fails, write
from tests.cli import there as there  # the fixture of all tests here

PATTERN = """
from typing import NamedTuple
import afa
from afa.language import one
class Pay(NamedTuple):
    at: afa.Instant
    card: str
    kind: str
def declined(n=1):
    a, b = (one(name, where=lambda e: e.kind == "declined") for name in "ab")
    return afa.query(a.next(b).by("card").within("10 minutes").returns(first=lambda m: m.a.at), event=Pay, tick="ms")
pattern = declined()
"""
ROWS = [("14:00:00", "declined"), ("14:05:00", "declined"), ("14:03:23", "approved")]
WITHDRAWN = (
    "Withdrawn: 'approved, 14:03:23' arrived late and lies between two of its events, 'declined, 14:00:00' and "
    "'declined, 14:05:00'. In state 'a' no arc takes it: the partial match ends there."
)


class Log(NamedTuple):
    kind: str


def pair() -> Automaton:
    arcs = [Arc("0", "1", "kind == 'a'"), Arc("1", "2", "kind == 'b'", name="second")]
    return Automaton(start="0", final={"2"}, event=Log, arcs=arcs)


@pytest.fixture
def pays(there: object) -> str:
    write("p.py", PATTERN)
    return write("pays.csv", "at,card,kind\n" + "".join(f"2026-01-01 {time},c1,{kind}\n" for time, kind in ROWS))


def test_a_sentence_below_each_match(pays: str) -> None:
    lines = call("run", "p.py:pattern", pays, "--reasons", "--batch", "1").stdout.splitlines()
    assert lines == [
        "+ [2026-01-01T14:05:00, 2026-01-01T14:10:00) card=c1 first=2026-01-01T14:00:00",
        "    Announced: 'declined, 14:05:00' is its last event.",
        "- [2026-01-01T14:05:00, 2026-01-01T14:10:00) card=c1 first=2026-01-01T14:00:00",
        f"    {WITHDRAWN}",
    ]
    done = call("run", "p.py:pattern", pays, "--reasons")
    assert done.stdout.splitlines() == lines  # row by row, unless it is said how many come at once
    assert "a second" not in done.stderr
    assert call("run", "p.py:pattern", pays, "--reasons", "--batch", "3").stdout == ""


def test_columns(pays: str) -> None:
    some = ("run", "p.py:pattern", pays, "--reasons", "--members", "kind", "--batch", "1", "--output")
    call(*some, "o.jsonl")
    with open("o.jsonl", encoding="utf-8") as file:
        come, gone = map(json.loads, file)
    assert come["members"] == {"a": ["declined"], "b": ["declined"]}
    assert gone["because"] == {"kind": "between", "key": "c1", "le": "2026-01-01T14:03:23", "diff": 1, "text": WITHDRAWN}
    call(*some, "o.parquet")
    found = pyarrow.parquet.read_table("o.parquet")
    assert str(found.schema.field("because").type.field("le").type).startswith("timestamp")
    assert found["because"].to_pylist()[1]["text"] == WITHDRAWN
    assert found["because"].to_pylist()[1]["le"].isoformat() == "2026-01-01T14:03:23"


def test_ticks_promises_and_arcs(there: object) -> None:
    write("p.py", PATTERN.replace(', tick="ms"', "").replace('"10 minutes"', "10"))
    rows = write("pays.csv", "at,card,kind\n1,c1,declined\n5,c1,declined\n3,c1,approved\n9,c2,declined\n")
    out = call("run", "p.py:pattern", rows, "--reasons", "--batch", "1", "--lateness", "4", "--matches", "-1").stdout
    assert "    Withdrawn: 'approved, 3' arrived late and lies between two of its events, 'declined, 1' and 'declined, 5'." in out


def test_what_an_arc_log_does(there: object) -> None:
    write(
        "p.py",
        """
from typing import NamedTuple
import afa
class Log(NamedTuple):
    kind: str
pair = afa.Automaton(start="0", final={"2"}, event=Log, arcs=[
    afa.Arc("0", "1", "kind == 'a'"), afa.Arc("1", "2", "kind == 'b'", name="second"),
])
""",
    )
    rows = write("logs.csv", "kind,le\na,1\nb,3\nc,20\n")
    call("run", "p.py:pair", rows, "--window", "9", "--arcs", "log")
    call("arcs", "log", "swap", "second", "--fence", "kind == 'c'", "--at", "2")
    out = call("run", "p.py:pair", rows, "--window", "9", "--arcs", "log", "--reasons", "--report", "run.html").stdout
    assert out == ""
    arcs = ArcLog("other", pair())
    op = Reasons(Operator(pair(), window=9))
    told = [op.push(insert(Log(kind), le)) for kind, le in [("a", 1), ("b", 3)]]
    assert len(told[1]) == 1
    arcs.swap("second", fence="kind == 'c'", at=2)
    (gone,) = arcs.poll(op)
    assert (gone.diff, gone.because.text) == (-1, "Withdrawn: the arc 'second' was swapped from 2 on.")
    (come,) = op.push(insert(Log("c"), 2))
    assert come.because.kind == "completes"
    arcs.retract("second", at=2)
    (gone,) = arcs.poll(op)
    assert gone.because.kind == "arc"
    assert gone.because.text.startswith("Withdrawn: the arc 'second' was taken out")
    assert arcs.poll(op) == []


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--collapse", "*"), "--reasons can't be combined with --collapse because"),
        (("--having", "count(a) > 0"), "--reasons can't be combined with --having because"),
    ],
)
def test_what_has_no_reasons(pays: str, options: tuple[str, ...], text: str) -> None:
    assert text in fails("run", "p.py:pattern", pays, "--reasons", *options)
    assert "--vary can't be combined with --reasons" in fails("run", "p.py:declined", pays, "--reasons", "--vary", "n=1:2:1")


# -- the report --------------------------------------------------------------------------------------------------------------------


def data_of(file: str) -> dict:  # type: ignore[type-arg]
    (text,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', Path(file).read_text("utf-8"), re.S)
    found: dict = json.loads(text)  # type: ignore[type-arg]
    return found


def test_a_report_of_rows_one_by_one(pays: str) -> None:
    done = call("run", "p.py:pattern", pays, "--report", "out.html")
    assert [line[0] for line in done.stdout.splitlines()] == ["+", "-"]
    assert "out.html shows the run" in done.stderr
    assert "because" not in done.stdout
    data = data_of("out.html")
    assert (data["counts"]["announced"], data["counts"]["withdrawn"], data["counts"]["events"]) == (1, 1, 3)
    assert data["matches"][0]["whyGone"]["text"] == WITHDRAWN
    assert data["matches"][0]["text"] == "first=14:00:00"
    assert data["time"]["zone"] == "UTC"
    assert data["title"] == f"p.py:pattern {pays}"


def test_a_report_in_batches_and_with_reasons(pays: str) -> None:
    call("run", "p.py:pattern", pays, "--report", "out.html", "--batch", "3", "--reasons", "--output", "o.parquet")
    assert data_of("out.html")["counts"]["announced"] == 0
    done = call("run", "p.py:pattern", pays, "--report", "out.html", "--reasons", "--quiet")
    assert done.stdout.count("Withdrawn: ") == 1
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--report", "no/where.html"), "can't write no/where.html: there is no folder no"),
        (("--report", "out.html", "--having", "count(a) > 0"), "--report can't be combined with --having because"),
        (("--report", "out.html", "--vary", "n=1:2:1"), "--vary can't be combined with --report because"),
    ],
)
def test_what_a_report_refuses(pays: str, options: tuple[str, ...], text: str) -> None:
    pattern = "p.py:declined" if "--vary" in options else "p.py:pattern"
    wrong = call("run", pattern, pays, "--report", "out.txt", status=2).stderr
    assert "expected a name that ends in .html but got 'out.txt'" in wrong
    assert text in " ".join(fails("run", pattern, pays, *options).split())
