"""`afa run FOLDER INPUT`: a folder as a set of rules, and a log of rules that it follows; what both refuse, by name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow.parquet as pq
import pytest

import afa
from afa.arclog.answers import LineAnswer, answered
from afa.arclog.listing import sequence_of
from afa.arclog.log_folder import LogFolder
from afa.cli.batches_in import Input
from afa.cli.load import load_rules
from afa.cli.request import CommandRequest
from afa.cli.rule_output import RuleOutput
from afa.io.files import open_source
from afa.rules.rule_log import RuleLog, RuleWriter
from examples.fraud_rules import Payment
from punctuation.time import FOREVER
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


# -- a log of rules ------------------------------------------------------------------------------------------------------------

DEAR = "PATTERN SEQ(Pay a) WHERE a.amount > 25 WITHIN 9 RETURN a.amount AS dear"


class Pay(NamedTuple):
    who: str
    amount: int


def log_of(op: Any, rules: afa.Rules, **more: Any) -> RuleLog:
    return RuleLog("log", rules, op, job="test", **more)


def answers_of(log: RuleLog) -> dict[str, Any]:
    """By rule what was answered to its last line."""
    (job,), faults = answered(log.writer.path)
    assert not faults
    lines = sorted(LogFolder(log.writer.path).read({}).lines, key=sequence_of)
    return {json.loads(raw.text)["rule"]["name"]: job.of(raw.text) for raw in lines}


def test_lines_are_calls_of_the_set() -> None:
    rules = afa.Rules({"large": LARGE}, event=Pay)
    op, writer = afa.Operator(rules), RuleWriter("log")
    log = log_of(op, rules)
    op.push(afa.insert(Pay("x", 30), 5))
    writer.add("dear", DEAR, at=3)
    writer.add("later", DEAR)
    (step,) = [step for step in log.poll() if step.changes]
    assert [(change.rule, change.payload.dear, change.le) for change in step.changes] == [("dear", 30, 5)]
    writer.remove("later")
    writer.replace("dear", DEAR.replace("25", "40"), at=4)
    removed, old, new = log.poll()
    assert (removed.changes, new.changes) == ([], [])
    assert [(change.rule, change.diff) for change in old.changes] == [("dear", -1)]
    standing = [(each.name, each.le, each.re) for each in op.rules if each.name != "large"]
    assert standing == [("dear", 3, 4), ("dear", 4, FOREVER)]
    assert answers_of(log) == {"dear": LineAnswer(4), "later": LineAnswer(6)}
    assert log.poll() == []


def test_what_the_set_refuses_is_written_back() -> None:
    rules = afa.Rules({"large": LARGE}, event=Pay)
    op, writer = afa.Operator(rules), RuleWriter("log")
    log = log_of(op, rules)
    op.push_many([afa.insert(Pay("x", 30), 5), afa.Punctuation(10)])
    writer.add("late", DEAR, at=3)
    writer.add("clash", "PATTERN SEQ(Pay a) WITHIN 9 RETURN a.who AS a_amount")
    writer.add("unread", "PATTERN SEQ(Pay a) WHERE a.amont > 3 WITHIN 9 RETURN a.who")
    writer.add("large", LARGE)
    writer.add("deep", f"PATTERN SEQ(Pay a) WHERE {'(' * 3000}a.amount > 3{')' * 3000} WITHIN 9 RETURN a.who")
    assert log.poll() == []
    assert [each.name for each in op.rules] == ["large"]
    reasons = {name: answer.refused for name, answer in answers_of(log).items()}
    assert reasons["late"] == "rule 'late': expected le >= 10, from where on events are held, but got le=3"
    assert reasons["clash"].startswith("rule 'clash': ")
    assert "expected one type of the column 'a_amount' in all rules but got int and str" in reasons["clash"]
    assert "amont, which is no field of Pay" in reasons["unread"]
    assert reasons["large"].startswith("rule 'large': expected no rule 'large' in [11, ")
    assert "rule 'deep': " in reasons["deep"]
    assert [told.split(":")[0] for told in log.told] == [f"rule {name!r}" for name in reasons]


def test_a_rule_that_is_put_aside_later_is_answered_again(caplog: pytest.LogCaptureFixture) -> None:
    rules = afa.Rules({"large": LARGE}, event=Pay)
    op, writer = afa.Operator(rules), RuleWriter("log")
    log = log_of(op, rules)
    writer.add("divides", "PATTERN SEQ(Pay a) WHERE 1 // (a.amount - 7) >= 0 WITHIN 9 RETURN a.who")
    log.poll()
    assert answers_of(log)["divides"].since is not None
    op.push(afa.insert(Pay("x", 7), 5))
    log.poll()
    assert answers_of(log)["divides"].refused.startswith("rule 'divides' is put aside: ZeroDivisionError")
    assert "rule 'divides' is put aside" in caplog.text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"op": "insert", "rule": {"name": "a"}, "at": 3}, 'expected a rule, {"name": .., "text": ..}'),
        ({"op": "insert", "rule": {"name": "a", "text": DEAR, "python": "x"}, "at": 3}, "expected a rule"),
        ({"op": "insert", "rule": {"name": "a", "text": "x" * 10_001}, "at": 3}, "in 1 to 10000 characters but got 10001"),
        ({"op": "insert", "arc": {"name": "a"}, "at": 3}, '"rule": {..}'),
        ({"op": "insert", "rule": {"name": "a", "text": DEAR}, "at": 3, "file": "x"}, "but got 'file' in a line of a log of rules"),
        ({"op": "swap", "name": "large", "rule": {"name": "b", "text": DEAR}, "at": 3}, "the name that it replaces, 'large'"),
        ({"op": "retract", "rule": {"name": "none"}, "at": 3}, "expected one rule 'none' in force at 3 and beyond but got none"),
    ],
)
def test_lines_that_are_none_are_refused(line: dict[str, Any], message: str) -> None:
    rules = afa.Rules({"large": LARGE}, event=Pay)
    log = log_of(afa.Operator(rules), rules)
    write("log/1-a.json", json.dumps(line) + "\n")
    assert log.poll() == []
    assert message in log.told[0]


def test_a_run_follows_its_log(there: Path) -> None:
    write("dear.sase", DEAR)
    call("rules", "log", "add", "dear", "dear.sase", "--at", "2", "--until", "4")
    call("rules", "log", "add", "gone", "dear.sase", "--at", "1")
    call("rules", "log", "remove", "gone", "--at", "2")
    write("rules/run.sql", RUN)
    result = call("run", "rules", "pays.jsonl", "--key", "who", "--rules", "log", "-q")
    found = [line for line in result.stdout.splitlines() if "rule=dear" in line or "rule=gone" in line]
    assert found == ["+ [2, 11) rule=dear who=y dear=30", "+ [3, 12) rule=dear who=x dear=200"]
    listed = call("rules", "log", "list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["name", "dear", "gone", "large", "run", "two"]
    assert "dear   1970-01-01T00:00:00.002  1970-01-01T00:00:00.004  PATTERN SEQ(Pay a) WHERE a.amount > 25" in listed[1]
    assert "the beginning" in listed[3]
    refused = call("rules", "log", "add", "large", "dear.sase").stdout
    assert refused.startswith("added 'large' from when the job reads it on")
    again = call("run", "rules", "pays.jsonl", "--key", "who", "--rules", "log", "-q")
    assert "log: rule 'large': expected no rule 'large' in [" in again.stderr
    assert "expected no rule 'large'" in call("rules", "log", "list").stderr


def test_a_file_has_the_columns_of_the_first_rules() -> None:
    write("dear.sase", DEAR)
    call("rules", "log", "add", "dear", "dear.sase")
    result = call("run", "rules", "pays.jsonl", "--key", "who", "--rules", "log", "-q", "--output", "out.csv", "--matches", "0")
    assert (
        "rule 'dear': expected columns of the file that is written, who, a_amount, low, b_amount, but got 'dear'" in result.stderr
    )
    write("other.sase", DEAR.replace("AS dear", ""))
    call("rules", "log", "add", "other", "other.sase", "--at", "1")
    call("run", "rules", "pays.jsonl", "--key", "who", "--rules", "log", "-q", "--output", "out.csv", "--matches", "0")
    assert pd.read_csv("out.csv").groupby("rule")["diff"].sum().to_dict() == {**FOUND, "other": 2}


def test_a_log_begins_with_no_rule(there: Path) -> None:
    shutil.rmtree("rules")
    Path("rules").mkdir()
    write("dear.sase", "PATTERN SEQ(Event a) WHERE a.amount > 25 WITHIN 9 RETURN a.amount")
    call("rules", "log", "add", "dear", "dear.sase")
    found = call("run", "rules", "pays.jsonl", "--time", "at", "--rules", "log", "-q").stdout.splitlines()
    assert found == ["+ [2, 11) rule=dear a_amount=30", "+ [3, 12) rule=dear a_amount=200"]


def test_what_can_not_be_written_is_not() -> None:
    write("dear.sase", DEAR)
    write("wrong.sase", DEAR.replace("amount > 25", "amont > 25"))
    call("run", "rules", "pays.jsonl", "--rules", "log", "-q")
    assert "rule 'x': line 1" in fails("rules", "log", "add", "x", "wrong.sase")
    assert "expected the name of a rule but got 'larg'; did you mean 'large'?" in fails("rules", "log", "remove", "larg")
    assert fails("rules", "log", "add", "x", "p.py") == "expected the text of a rule, file.sase or file.sql, but got p.py"
    assert fails("rules", "none", "list") == "none: no such folder"
    assert "expected until > at" in fails("rules", "log", "add", "x", "dear.sase", "--at", "9", "--until", "3")
    assert sorted(path.suffix for path in Path("log").iterdir() if not path.name.startswith(".")) == []
    followed = ("run", "rules", "pays.jsonl", "--rules", "log")
    assert "--state can't be combined with --rules" in fails(*followed, "--state", "s", "--output", "o.jsonl")


def test_what_a_line_brings_has_the_columns_of_the_table(there: Path) -> None:
    """A rule from the beginning, and one that a line brings behind all rows, tell the same."""
    text = "PATTERN SEQ(Pay a, Pay b) WHERE skip_till_any_match(a, b) { [who] } WITHIN 9 s"
    text += " RETURN b.who AS who, a.at AS begin, b.amount AS n"
    json_lines("timed.jsonl", [{**row, "at": f"2026-01-01T00:00:0{row['at']}"} for row in ROWS])
    for path in Path("rules").iterdir():
        path.unlink()
    write("rules/first.sase", text)
    rules, job = load_rules(CommandRequest("rules", "timed.jsonl", time="at"), open_source("timed.jsonl", None))
    batches = Input(job, open_source("timed.jsonl", None), rules.events)
    (table,) = batches
    op = rules.operator()
    form = RuleOutput(op, rules, table, batches.times, fixed=True)
    (out,) = op.push_many([form.none, table])
    told = form.in_schema(out)
    again = form.in_schema(form.of_changes(op.add("second", text, le=0), op.lasting("second", 0)[0].form))
    assert told.schema == again.schema == form.schema
    assert len(told) == 4
    assert told.drop_columns("rule").equals(again.drop_columns("rule"))


def test_types_in_a_column() -> None:
    for path in Path("rules").iterdir():
        path.unlink()
    write("rules/pair.sase", "PATTERN SEQ(Come a, Go b) WHERE skip_till_next_match(a, b) { [who] } WITHIN 9 RETURN b.at AS left_at")
    rows = [{"who": "x", "what": what, "at": at} for what, at in (("Come", 1), ("Come", 2), ("Go", 3))]
    json_lines("moves.jsonl", rows)
    assert by_rule(changes("--type", "what", "--time", "at", file="moves.jsonl")) == {"pair": 2}
    assert "rule 'pair': " in fails("run", "rules", "moves.jsonl", "--time", "at")
