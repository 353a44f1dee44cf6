"""Sets of rules on Spark: in buckets that are lost after each batch; what is refused; as a stream with restarts, and as a table."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import afa
from afa import AfaError, Arc, Automaton, Change, Rules
from afa.errors import ChangeError, SnapshotError
from afa.operator.options import Options
from afa.spark import match
from afa.spark.bucket import bucket_of_job
from afa.spark.job import Job, job_of
from afa.spark.pattern_said import said_of
from punctuation.time import BEGINNING
from tests.spark.rules_in_buckets import WORLDS
from tests.spark.streams import micros
from tests.spark.test_stream import Files, run


class Pay(NamedTuple):
    card: str
    shop: str
    amount: int


LARGE = "PATTERN SEQ(Pay p) WHERE p.amount > 800 WITHIN 60 seconds RETURN p.amount"
TWO = """PATTERN SEQ(Pay a, Pay b) WHERE skip_till_next_match(a, b) { [card, shop] and a.amount < 100 and b.amount > 500 }
    WITHIN 60 seconds RETURN a.amount, b.amount"""
QUIET = """PATTERN SEQ(Timed a, ~(Timed n)) WHERE skip_till_any_match(a) { [card] and a.amount > 900 and n.amount > 0 }
    WITHIN 20 seconds RETURN a.amount"""
BY_SHOP = (
    "PATTERN SEQ(Pay a, Pay b) WHERE skip_till_any_match(a, b) { [shop] and a.amount < b.amount } WITHIN 9 seconds RETURN a.amount"
)


class Shown(NamedTuple):
    """The columns of all rules that may come."""

    shop: str | None
    p_amount: int | None
    a_amount: int | None
    b_amount: int | None


def rules(given: Any, **more: Any) -> Rules:
    return Rules(given, event=Pay, **{"key": "card", "tick": "us", **more})


def job(given: Rules, **more: Any) -> Job:
    said = said_of(given, Options(key="card"), time="at", columns=Shown)
    options: Any = {"buckets": 1, "on_fault": "report", "key_types": [pa.string()], "asked": said.asked, **more}
    return job_of(said.automaton, said.options, **options)


def rows(*some: tuple[Any, ...]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(("card", "shop", "amount", "le", "diff"), (*row, 1)[:5])) for row in some])


def found(answer: Any) -> list[Any]:
    return [(row["rule"], row["le"], row["diff"]) for table in answer.changes for row in table.to_pylist()]


def test_random_worlds() -> None:
    WORLDS.run("sample", range(6), more_than={"matches": 100, "late": 5, "restart": 3, "parts": 3})


def raising(limit: int) -> Automaton:
    """One that only Python can run, which raises on a payment of an amount."""
    arcs = [Arc("0", "1", lambda e, r: 8 // (e.amount - limit) > -9, name="any")]
    return Automaton(start="0", final={"1"}, event=Pay, arcs=arcs)


def test_a_rule_that_raises_is_put_aside_in_its_bucket_and_told_once() -> None:
    given = rules({"large": LARGE, "odd": raising(7)})
    bucket = bucket_of_job(job(given), 0)
    assert found(bucket.run(rows(("x", "s", 950, 1)), (), BEGINNING)) == [("large", 1, 1), ("odd", 1, 1)]
    answer = bucket.run(rows(("x", "s", 7, 2), ("x", "s", 990, 3)), (), BEGINNING)
    assert found(answer) == [("large", 3, 1)]
    [fault] = answer.faults
    assert (fault.rule, fault.what) == ("odd", "bucket 0")
    assert fault.reason.startswith("the rule is put aside: ZeroDivisionError: integer division or modulo by zero")
    bucket = bucket_of_job(job(given), 0, [bucket.save(False)])
    answer = bucket.run(rows(("x", "s", 970, 4)), (), BEGINNING)
    assert (found(answer), answer.faults) == ([("large", 4, 1)], [])
    with pytest.raises(AfaError, match="rule 'odd': ZeroDivisionError"):
        bucket_of_job(job(given, on_fault="raise"), 0).run(rows(("x", "s", 7, 2)), (), BEGINNING)


def test_what_a_restart_may_change_of_rules() -> None:
    """Texts, at the present; not what is no text, the columns, or while a stream is ahead."""
    given = rules({"large": LARGE, "odd": raising(7)})
    first = bucket_of_job(job(given), 0)
    first.run(rows(("x", "s", 950, 1)), (), BEGINNING)
    state = first.save(False)
    answer = bucket_of_job(
        job(rules({"large": LARGE.replace("800", "960"), "two": TWO, "odd": given.rules["odd"].pattern})), 0, [state]
    )
    answer = answer.run(rows(("x", "s", 950, 900), ("x", "s", 950, 1100)), (), BEGINNING)
    assert answer.code == "rules that begin: 'two'; rules that are others: 'large', from 1970-01-01 00:00:00.001000 on"
    assert found(answer) == [("large", 900, 1), ("odd", 900, 1), ("odd", 1100, 1)]
    for changed in ({"large": LARGE}, {"large": LARGE, "odd": raising(8)}):
        with pytest.raises(SnapshotError, match="expected the rule 'odd', which was not given as text, as the checkpoint was made"):
            bucket_of_job(job(rules(changed)), 0, [state])
    other = said_of(given, Options(key="card"), time="at")
    other = job_of(other.automaton, other.options, buckets=1, on_fault="report", key_types=[pa.string()], asked=other.asked)
    with pytest.raises(SnapshotError, match=r"expected the set of rules \(its columns, key and options\) that the checkpoint was"):
        bucket_of_job(other, 0, [state])
    first.run(rows(("x", "s", 1, 5000)), (), BEGINNING)
    ahead = bucket_of_job(job(rules({"large": LARGE, "two": TWO, "odd": given.rules["odd"].pattern})), 0, [first.save(False)])
    with pytest.raises(
        SnapshotError, match=r"expected all rows so far before 1000, .* but got one at 5000: a stream of this query"
    ):
        ahead.run(None, (), BEGINNING)
    for damaged in (state[:-3], b"", first.save(False)[5:]):
        if damaged:
            with pytest.raises(SnapshotError):
                bucket_of_job(job(given), 0, [damaged])


def test_retractions_without_their_rows_are_told() -> None:
    bucket = bucket_of_job(job(rules({"large": LARGE})), 0)
    vain = rows(("x", "s", 950, 1, -1))
    assert bucket.run(vain, (), BEGINNING).faults == []
    [fault] = bucket.run(None, (), 10).faults
    assert (fault.key, fault.le) == (("x",), 1)
    assert fault.reason.startswith(
        "expected the insertion of Pay(card='x', shop='s', amount=950) before 1970-01-01 00:00:00.000010"
    )
    [fault] = bucket_of_job(job(rules({"large": LARGE})), 0).history(vain, (), None).faults
    assert (fault.key, fault.le) == (("x",), 1)
    with pytest.raises(ChangeError, match="but got its retraction only of key 'x'"):
        bucket_of_job(job(rules({"large": LARGE}), on_fault="raise"), 0).history(vain, (), None)


@pytest.mark.parametrize(
    ("given", "more", "said"),
    [
        (
            rules({"large": LARGE, "by shop": BY_SHOP}),
            {},
            "rule 'large': expected a key that holds the columns by which Spark deals",
        ),
        (
            rules({"two": TWO}),
            {"key": "amount"},
            "rule 'two': expected a key that holds the columns .*, amount, but got card, shop",
        ),
        (rules({"large": LARGE}, key=None), {}, "rule 'large': expected a key that holds the columns .*, none, but got none"),
        (rules({}, key=None), {}, "expected rules with a key, or key="),
        (rules({}, tick=None), {}, r"expected Rules\(.., tick='us'\), as times are microseconds on Spark, but got tick=None"),
        (
            rules({"a": LARGE.replace("p.amount\n", "").replace("RETURN p.amount", "RETURN p.card AS card")}),
            {},
            "rule 'a': expected a m",
        ),
        (
            rules({"large": LARGE}),
            {"columns": Pay},
            "expected columns=Pay.* with the columns of all rules, p_amount, .*got 'p_amount'",
        ),
        (rules({"large": LARGE}), {"members": "amount"}, "members='amount' can't be combined with a set of rules on Spark because"),
        (rules({"large": LARGE}), {"id": "amount"}, "id='amount' can't be combined with a set of rules on Spark because messages"),
        (rules({"large": LARGE}), {"speculation": "1 s"}, "speculation='1 s' can't be combined with a set of rules on Spark"),
        (
            raising(1),
            {"key": "card", "columns": Shown},
            "expected columns= beside a set of rules, of which later ones may have others",
        ),
    ],
)
def test_what_is_refused(given: Any, more: dict[str, Any], said: str) -> None:
    with pytest.raises(AfaError, match=said):
        match(given, time="at", **more)


# -- through Spark ---------------------------------------------------------------------------------------------------------

ZERO = datetime(2026, 3, 1, tzinfo=timezone.utc)
SCHEMA = "card string, shop string, amount bigint, at timestamp, diff int"


def payments(n: int) -> list[tuple[Any, ...]]:
    """Of eight cards; some late, some retracted."""
    rng = random.Random("payments")
    some: list[tuple[Any, ...]] = []
    for i in range(n):
        if some and rng.random() < 0.1 and some[-1][-1] > 0:
            some.append((*some[-1][:-1], -1))
            continue
        second = max(0, i - (rng.randint(1, 9) if rng.random() < 0.2 else 0))
        some.append((f"c{rng.randint(0, 7)}", rng.choice("st"), rng.randint(1, 1000), second, 1))
    return some


def in_lines(some: list[tuple[Any, ...]]) -> list[str]:
    return [
        json.dumps({"card": c, "shop": s, "amount": a, "at": (ZERO + timedelta(seconds=t)).isoformat(), "diff": d})
        for c, s, a, t, d in some
    ]


def by_one_operator(given: Rules, some: list[tuple[Any, ...]], changes: Any = lambda op: []) -> Counter[Any]:
    """What one set over all keys has in force after these rows; ``changes`` are made behind them."""
    op: Any = afa.Operator(given)
    net = Counter[Any]()
    ticks = int(ZERO.timestamp() * 1e6)
    batch = [Change(Pay(*row[:3]), ticks + row[3] * 1_000_000, None, row[4]) for row in some]
    changes(op)
    for change in op.push_many(batch):
        net[change.rule, change.payload, change.le, change.re] += change.diff
    return +net


def in_force(table: Any) -> Counter[Any]:
    names = ("p_amount", "a_amount", "b_amount")
    found = Counter[Any]()
    for row in table.collect():
        shown = tuple(row[name] for name in names if row[name] is not None)
        found[row["rule"], shown, micros(row["le"]), micros(row["re"])] += 1
    return found


def test_a_stream_with_other_rules_in_other_buckets_and_its_history(spark: Any, tmp_path: Path) -> None:
    some, events = payments(150), Files(tmp_path / "in")
    before, after = (
        {"large": LARGE, "two": TWO},
        {"large": LARGE.replace("800", "900"), "two": TWO, "more": TWO.replace("500", "400")},
    )
    given: Any = {"time": "at", "diff": "diff", "key": "card", "lateness": "10 seconds", "columns": Shown, "metrics": True}
    for part, (rules_now, buckets) in enumerate([(before, 2), (after, 3)]):
        for at in (0, 40):
            events.put(in_lines(some[part * 75 + at : part * 75 + min(at + 40, 75)]))
        stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(events.path))
        pattern = match(rules(rules_now), buckets=buckets, checkpoint=str(tmp_path / "checkpoint"), **given)
        query = run(stream.transform(pattern), tmp_path)
    changes = spark.read.parquet(str(tmp_path / "changes"))
    names = ["rule", "card", "shop", "p_amount", "a_amount", "b_amount", "le", "re", "diff", "id", "kind", "reason"]
    assert changes.columns == names
    present = int(ZERO.timestamp() * 1e6) + max(row[3] for row in some[:75]) * 1_000_000 + 1000

    def change(op: Any) -> None:
        op.replace("large", after["large"], at=present)
        op.add("more", after["more"], le=present)

    current = afa.spark.current(changes)
    assert in_force(current) == {key(of): n for of, n in by_one_operator(rules(before), some, change).items()}
    assert {row.rule for row in current.collect()} == {"large", "two", "more"}
    told = {row.reason.partition(", from")[0] for row in changes.where("kind = 'code'").collect()}
    assert told == {"the buckets were 2, are 3: keys have moved; rules that begin: 'more'; rules that are others: 'large'"}
    assert changes.where("kind not in ('match', 'code', 'metrics')").count() == 0
    by_rule = afa.spark.metrics(changes).where("rule is not null")
    assert {row.rule for row in by_rule.collect()} >= {"large", "two"}
    observed = [row for progress in query.recentProgress for row in progress.observedMetrics.values()]
    assert sum(row["events"] or 0 for row in observed) == 75
    history = spark.read.schema(SCHEMA).json(str(events.path)).transform(match(rules(after), time="at", diff="diff", columns=Shown))
    assert history.columns == names
    assert in_force(history) == {key(of): n for of, n in by_one_operator(rules(after), some).items()}


def key(of: Any) -> Any:
    rule, payload, le, re = of
    return rule, tuple(payload), le, re


def test_a_stream_follows_a_log_of_rules_and_so_does_its_history(spark: Any, tmp_path: Path) -> None:
    """Lines that bring, replace and end rules, in the past of the rows that are there; one is refused and told once."""
    some, events, begun = payments(120), Files(tmp_path / "in"), rules({"large": LARGE})
    log = afa.spark.rule_log(tmp_path / "rules", begun)
    moments = {name: ZERO + timedelta(seconds=t) for name, t in {"two": 20, "large": 60, "end": 100}.items()}
    given: Any = {"time": "at", "diff": "diff", "key": "card", "lateness": "1 hour", "columns": Shown, "buckets": 3}

    def go_on(rows: list[tuple[Any, ...]]) -> None:
        events.put(in_lines(rows))
        stream = spark.readStream.schema(SCHEMA).json(str(events.path))
        run(stream.transform(match(begun, arcs=log.read(spark), **given)), tmp_path)

    go_on(some[:80])
    log.add("two", TWO, at=moments["two"])
    log.replace("large", LARGE.replace("800", "900"), at=moments["large"])
    log.add("other", LARGE.replace("RETURN p.amount", "RETURN p.amount AS other"), at=moments["two"])
    go_on(some[80:])
    log.remove("two", at=moments["end"])
    go_on(some[:1])
    ticks = {name: micros(at) for name, at in moments.items()}

    def change(op: Any) -> None:
        op.add("two", TWO, le=ticks["two"])
        op.replace("large", LARGE.replace("800", "900"), at=ticks["large"])
        op.remove("two", at=ticks["end"])

    want = {key(of): n for of, n in by_one_operator(begun, [*some, some[0]], change).items()}
    assert {of[0] for of in want} == {"large", "two"}
    changes = spark.read.parquet(str(tmp_path / "changes"))
    assert in_force(afa.spark.current(changes)) == want
    told = Counter(
        (row.kind, row.rule, re.split(r" at 2026| \(in", row.reason)[0]) for row in changes.where("kind <> 'match'").collect()
    )
    columns = "shop, p_amount, a_amount, b_amount, but got 'other': say columns= of match"
    refused = f"rule 'other': expected the columns that the job was started with, {columns}"
    notes = ("rule 'two' begins", "rule 'large' is replaced", "rule 'two' ends")
    assert told == {("fault", "other", refused): 1} | {("note", None, note): 1 for note in notes}
    lines = spark.read.text(str(log.path))
    history = spark.read.schema(SCHEMA).json(str(events.path)).transform(match(begun, arcs=lines, **given | {"lateness": None}))
    assert in_force(history.where("kind = 'match'")) == want


def test_lines_that_say_nothing_are_told_by_one_bucket() -> None:
    begun = rules({"large": LARGE})
    for number in (0, 1):
        bucket = bucket_of_job(job(begun, buckets=2), number)
        line = {"op": "retract", "rule": {"name": "none"}, "at": 7}
        answer = bucket.run(None, ["nonsense", json.dumps(line), json.dumps(line | {"at": "now"})], BEGINNING)
        assert (
            sorted(fault.reason for fault in answer.faults)
            == [
                "expected a line of a log of rules (JSON) but got 'nonsense': Expecting value: line 1 column 1 (char 0)",
                "expected one rule 'none' in force at 7 and beyond but got none",
                'expected the instant from which on a line holds but got at="now": the readers share no present',
            ][: 0 if number else 3]
        )
        assert bucket.save(False)
    with pytest.raises(AfaError, match="expected one rule 'none' in force"):
        bucket_of_job(job(begun, on_fault="raise"), 0).run(None, [json.dumps(line)], BEGINNING)


def test_a_rule_that_a_line_brings_may_raise_in_one_bucket_only() -> None:
    divides = LARGE.replace("p.amount > 800", "8 // (p.amount - 7) > 0")
    line = json.dumps({"op": "insert", "rule": {"name": "odd", "text": divides}, "at": 1})
    for amount, faults in ((7, ["ZeroDivisionError: integer division or modulo by zero"]), (8, [])):
        bucket = bucket_of_job(job(rules({"large": LARGE}), buckets=2), 1)
        bucket.run(rows(("x", "s", amount, 1)), (), BEGINNING)
        answer = bucket.run(None, [line], BEGINNING)
        assert [fault.reason[: len(said)] for fault, said in zip(answer.faults, faults)] == faults
        assert (len(answer.faults), found(answer)) == (len(faults), [] if faults else [("odd", 1, 1)])


class Timed(NamedTuple):
    card: str
    amount: int
    at: afa.Instant | None = None


def test_time_outs_of_a_table(spark: Any) -> None:
    """Those that are due by its latest time fire, of all keys alike; a column of times is one."""
    ticks = int(ZERO.timestamp() * 1e6)
    some = [("x", 950, ZERO), ("y", 990, ZERO + timedelta(seconds=30))]
    table = spark.createDataFrame(some, "card string, amount bigint, at timestamp")
    when = LARGE.replace("Pay", "Timed").replace("RETURN", "RETURN p.at,")
    given = Rules({"quiet": QUIET, "when": when}, event=Timed, key="card", tick="us")
    found = table.transform(match(given, time="at", buckets=3)).collect()
    assert sorted((row.rule, row.card, micros(row.le) - ticks) for row in found) == [
        ("quiet", "x", 20_000_000),
        ("when", "x", 0),
        ("when", "y", 30_000_000),
    ]
    assert {row.p_at == row.le for row in found if row.rule == "when"} == {True}
