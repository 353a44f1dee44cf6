"""`afa run FOLDER INPUT`: the files of a folder as one set of rules, each change with its rule; what a set refuses, by name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

import afa
from examples.fraud_rules import Payment
from tests.cli import ROOT, call, fails, json_lines, write
from tests.cli import there as there  # the fixture of all tests here

LARGE = "PATTERN SEQ(Pay a) WHERE a.amount > 100 WITHIN 9 RETURN a.amount"
TWO = "PATTERN SEQ(Pay a, Pay b) WHERE skip_till_next_match(a, b) { [who] and a.amount < b.amount } WITHIN 9 RETURN b.amount"
RUN = """SELECT * FROM pays MATCH_RECOGNIZE (PARTITION BY who ORDER BY at MEASURES LAST(d.amount) AS low
    AFTER MATCH SKIP PAST LAST ROW PATTERN (u d) DEFINE d AS d.amount < u.amount)"""
AUTOMATON = """
from typing import NamedTuple
from afa import Arc, Automaton

class Pay(NamedTuple):
    who: str
    amount: int

small = Automaton(start="0", final={"1"}, event=Pay, arcs=[Arc("0", "1", "amount < 20")])
"""
ROWS = [
    {"who": who, "amount": amount, "at": at}
    for who, amount, at in (("x", 10, 1), ("y", 30, 2), ("x", 200, 3), ("y", 15, 4), ("x", 5, 5))
]
FOUND = {"large": 1, "two": 1, "run": 2}


@pytest.fixture(autouse=True)
def rules(there: Path) -> None:
    (there / "rules").mkdir()
    for name, text in (("large.sase", LARGE), ("two.sase", TWO), ("run.sql", RUN)):
        (there / "rules" / name).write_text(text)
    json_lines("pays.jsonl", ROWS)


def changes(*options: str, file: str = "pays.jsonl", folder: str = "rules") -> list[dict[str, Any]]:
    """What is written to standard output."""
    return [json.loads(line) for line in call("run", folder, file, *options, "--output", "-", "-q").stdout.splitlines()]


def by_rule(rows: list[dict[str, Any]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows:
        found[row["rule"]] = found.get(row["rule"], 0) + row["diff"]
    return found


def test_each_change_says_its_rule() -> None:
    out = changes("--key", "who")
    assert by_rule(out) == FOUND
    assert list(out[0]) == ["rule", "who", "a_amount", "low", "b_amount", "le", "re", "diff"]
    large = next(row for row in out if row["rule"] == "large")
    assert (large["a_amount"], large["b_amount"], large["who"], large["le"]) == (200, None, "x", 3)
    printed = call("run", "rules", "pays.jsonl", "--key", "who", "-q").stdout.splitlines()
    assert "+ [3, 12) rule=large who=x a_amount=200" in printed
    assert "+ [3, 10) rule=two who=x b_amount=200" in printed


def test_the_twenty_rules_find_what_find_does() -> None:
    frame = pd.read_csv(ROOT / "examples/payments.csv")
    rules = afa.Rules.of_folder(ROOT / "examples/rules", event=Payment, key="card", tick="ms")
    found = afa.find(rules, frame, time="at").sort_values(["rule", "le", "re"], ignore_index=True)
    call("run", str(ROOT / "examples/rules"), str(ROOT / "examples/payments.csv"), "--key", "card", "-q", "--output", "out.parquet")
    table = pq.read_table("out.parquet").to_pandas().sort_values(["rule", "le", "re"], ignore_index=True)
    assert len(found) == 499
    assert (table["diff"] == 1).all()
    for name in ("rule", "le", "re"):
        assert table[name].tolist() == found[name].tolist()


def test_rows_that_come_late_withdraw_matches_of_their_rules() -> None:
    json_lines("late.jsonl", [*ROWS, {"who": "x", "amount": 50, "at": 2}])
    out = changes("--batch", "1", file="late.jsonl")
    assert by_rule(out) == by_rule(changes(file="late.jsonl"))
    assert any(row["diff"] < 0 for row in out)
    assert "--late drop drops it" in fails("run", "rules", "late.jsonl", "--batch", "1", "--lateness", "0", "-q", "--matches", "0")
    assert by_rule(changes("--batch", "1", "--lateness", "0", "--late", "drop", file="late.jsonl")) == FOUND


def test_files_of_python_say_what_events_are() -> None:
    write("rules/small.py", AUTOMATON)
    assert by_rule(changes("--time", "at", "--window", "9")) == {**FOUND, "small": 3}
    write("rules/none.py", "x = 1\n")
    assert fails("run", "rules", "pays.jsonl") == "rule 'none': expected one pattern in none.py but got none"
    write("rules/none.py", "x = 1\n1 / 0\n")
    assert fails("run", "rules", "pays.jsonl") == "rule 'none': none.py:2: ZeroDivisionError: division by zero"
    write("rules/none.py", AUTOMATON)
    said = fails("run", "rules", "pays.jsonl", "--time", "at")
    assert said.startswith(
        "rules: rule 'small': expected a pattern of the class of the events, Pay(who: str, amount: int), but got"
    )
    assert said.endswith("another class of this name: let all import one")


def test_words_of_python_are_of_the_events_of_the_input() -> None:
    write("rules/words.py", "from afa.language import one\nmatch = one('a', where=lambda e: e.amount > 20).within(9)\n")
    assert by_rule(changes()) == {**FOUND, "words": 2}


def test_times_of_the_input() -> None:
    json_lines("timed.jsonl", [{**row, "at": f"2026-01-01T00:00:0{row['at']}"} for row in ROWS])
    for name, text in (("large", LARGE), ("two", TWO)):
        write(f"rules/{name}.sase", text.replace("WITHIN 9", "WITHIN 9 s"))
    out = changes("--key", "who", file="timed.jsonl")
    assert by_rule(out) == FOUND
    assert next(row for row in out if row["rule"] == "large")["le"] == "2026-01-01T00:00:03"
    write("rules/large.sase", LARGE)
    assert "--tick" in fails("run", "rules", "timed.jsonl")


def test_a_state_goes_on(there: Path) -> None:
    json_lines("some.jsonl", ROWS[:3])
    run = ("run", "rules", "some.jsonl", "--key", "who", "-q", "--matches", "0", "--state", "state", "--output", "out.jsonl")
    call(*run)
    json_lines("some.jsonl", ROWS)
    call(*run)
    rows = [json.loads(line) for line in (there / "out.jsonl").read_text().splitlines()]
    assert by_rule(rows) == FOUND
    write("rules/large.sase", LARGE.replace("100", "200"))
    assert "state" in fails(*run)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--threads", "2"), "--threads can't be combined with rules, a folder of rules, because a set runs in one"),
        (
            ("--members", "at"),
            "--members can't be combined with rules, a folder of rules, because it is told of the matches of one",
        ),
        (("--id", "who"), "--id can't be combined with rules, a folder of rules, because a set does not know its events by ids"),
        (("--arcs", "log"), "--arcs can't be combined with rules, a folder of rules, because its arcs are those of many patterns"),
        (("--reasons",), "--reasons can't be combined with rules"),
        (("--order-by", "who"), "--order-by can't be combined with rules, a folder of rules, because each rule says how it orders"),
        (("--window", "9"), "--window can't be combined with rules because each rule says it itself"),
        (("--key", "whom"), "expected fields of Pay(who: str | None, amount: int | None, at: int) as key but got 'whom'"),
        (("--output", "rules/out.jsonl"), "can't write rules/out.jsonl: it is in rules, where each file is a rule"),
    ],
)
def test_what_a_set_does_not_take_is_said(options: tuple[str, ...], message: str) -> None:
    assert message in fails("run", "rules", "pays.jsonl", *options)


def test_other_commands_take_no_set() -> None:
    pd.DataFrame(ROWS).to_parquet("pays.parquet")
    for command in ("show", "why", "replay"):
        assert "a folder of rules" in fails(command, "rules", "pays.parquet")
    assert (
        fails("run", "rules/two.sase", "pays.jsonl", "--rules", "log")
        == "--rules needs a folder of rules in place of rules/two.sase"
    )


def test_files_that_are_no_rules_are_named() -> None:
    write("rules/two.sql", RUN)
    assert fails("run", "rules", "pays.jsonl") == "expected one file of each name but got two rules 'two' in rules"
    Path("rules/two.sql").unlink()
    write("rules/wrong.sase", LARGE.replace("amount > 100", "amont > 100"))
    assert fails("run", "rules", "pays.jsonl").startswith("rules: rule 'wrong': line 1")
    shutil.rmtree("rules")
    Path("rules").mkdir()
    assert fails("run", "rules", "pays.jsonl") == "expected rules in 'rules' but got an empty folder"
