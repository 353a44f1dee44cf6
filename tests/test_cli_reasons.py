"""``afa run --reasons``: a sentence below each match, a column in files."""

from __future__ import annotations

import json

import pyarrow.parquet
import pytest

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
    assert call("run", "p.py:pattern", pays, "--reasons").stdout == ""  # in one batch nothing has come


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


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--arcs", "log"), "expected no --arcs beside --reasons"),
        (("--collapse", "*"), "expected no --collapse beside --reasons"),
        (("--having", "count(a) > 0"), "expected no --having beside --reasons"),
    ],
)
def test_what_has_no_reasons(pays: str, options: tuple[str, ...], text: str) -> None:
    assert text in fails("run", "p.py:pattern", pays, "--reasons", *options)
    assert "expected no --reasons beside --vary" in fails("run", "p.py:declined", pays, "--reasons", "--vary", "n=1:2:1")
