"""Sets of rules in Spark's buckets that are lost after each batch, beside an operator of its own for each rule, made anew.

``python -m tests.worlds rules-in-buckets``: rows late, retracted and waited for, Spark's watermark, restarts with other rules, keys
that move to other buckets, lines of a log of rules, of the past too, some twice and some to be refused. After every step the net
output, by rule, is that of SEMANTICS.md, Rules.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from afa import Change, Instant
from afa.model.option_values import names_of
from afa.operator.options import Options
from afa.rules.rules import Rules
from afa.spark.bucket import bucket_of_job
from afa.spark.hashing import bucket_numbers
from afa.spark.job import BucketAnswer, Job, job_of
from afa.spark.moved import joined
from afa.spark.pattern_said import said_of
from afa.spark.rules_bucket import split
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER
from tests.worlds.kind import Worlds

UNIT = 1000
"""Ticks of a step in time: Spark's watermark is in milliseconds."""
KEYS = ("[card] and ", "[card, shop] and ", "")


class Pay(NamedTuple):
    card: str
    shop: str
    amount: int
    at: Instant | None = None


def text_of(rng: random.Random, own_ends: bool) -> str:
    """A rule: one of many shapes, its constants at random; SQL refuses events with an RE of their own."""
    low, high, window = rng.randint(0, 4), rng.randint(3, 7), UNIT * rng.choice((3, 5, 9, 14))
    key = rng.choice(KEYS)
    strategy = rng.choice(("skip_till_any_match", "skip_till_next_match", "partition_contiguity" if key else "strict_contiguity"))
    two = f"{strategy}(a, b) {{ {key}a.amount > {low} and b.amount < {high} }}"
    shapes = [
        f"PATTERN SEQ(Pay a) WHERE a.amount > {high} WITHIN {window} RETURN a.amount",
        f"PATTERN SEQ(Pay a, Pay b) WHERE {two} WITHIN {window} RETURN a.amount, b.amount",
        f"PATTERN SEQ(Pay a, Pay b) WHERE {two} WITHIN {window} RETURN b.amount",
        f"PATTERN SEQ(Pay a, ~(Pay n), Pay b) WHERE skip_till_any_match(a, b) {{ {key}a.amount > {low} and n.amount = {high}"
        f" and b.amount < {high} }} WITHIN {window} RETURN a.amount, b.amount",
        f"PATTERN SEQ(Pay a, ~(Pay n)) WHERE skip_till_any_match(a) {{ {key}a.amount > {low} and n.amount < {low} }}"
        f" WITHIN {window} RETURN a.amount",
        f"PATTERN SEQ(Pay+ a[], Pay b) WHERE skip_till_next_match(a[], b) {{ {key}a[i].amount > {low} and b.amount < {low} }}"
        f" WITHIN {window} RETURN a.LEN, b.amount",
        "SELECT * FROM pays MATCH_RECOGNIZE (PARTITION BY card ORDER BY at, amount, shop MEASURES A.amount AS first, LAST(B.amount)"
        f" AS last AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+) WITHIN {window} DEFINE A AS amount > {low}, B AS amount < {high})",
    ]
    return rng.choice(shapes[:-1] if own_ends else shapes)


class ExpectedSet:
    """What the set should hold, by the definition: events, rules with lifetimes, the watermark."""

    def __init__(self, world: dict[str, Any], engine: str) -> None:
        self.key, self.engine = world["key"], engine
        self.given = world["rules"]
        self.rules = [(name, text, BEGINNING, FOREVER) for name, text in world["rules"].items()]
        self.events: list[Change] = []
        self.promised, self.now = BEGINNING, BEGINNING
        self.final: Counter[Any] = Counter()

    def matches(self) -> Counter[Any]:
        """The matches of each rule, each of an operator that is made anew and takes all events that it sees in order of LE."""
        found: Counter[Any] = Counter()
        for name, text, le, re in self.rules:
            op: Any = Rules({name: text}, event=Pay, key=self.key).rules[name].pattern
            options = {"key": self.key} if op.key is None and self.key else {}
            labels = names_of(op.key or "card", "key")
            op = op.operator(engine=self.engine, late="drop", **options)
            seen = sorted((event for event in self.events if le <= event.le < re), key=lambda event: event.le)
            promise = [Punctuation(self.promised)] if self.promised > BEGINNING else []
            for item in op.push_many([*seen, *promise]):
                if isinstance(item, Change) and item.le < re:
                    key = dict(zip(labels, item.key if len(labels) > 1 else (item.key,)))
                    found[_match(item.payload._asdict() | key | {"rule": name, "le": item.le, "re": item.re})] += item.diff
        return +found

    def line(self, line: dict[str, Any]) -> bool:
        """Do what a line says. Returns whether it is taken."""
        at, until, name = line["at"], line.get("until", FOREVER), line["rule"]["name"]
        begun = self.promised > 0
        others = [rule for rule in self.rules if rule[0] == name and rule[3] > at]
        ahead = any("MATCH_RECOGNIZE" in text for text in self.given.values())
        if "MATCH_RECOGNIZE" in line["rule"].get("text", "") and not ahead:  # its matches may change behind the watermark
            return False
        if line["op"] == "insert":
            if (begun and at < self.promised) or any(le < until for *_, le, _ in others):
                return False
            self.rules.append((name, line["rule"]["text"], at, until))
            return True
        if len(others) != 1 or others[0][2] > at or (begun and at <= self.promised):
            return False
        self.rules.remove(others[0])
        if others[0][2] < at:
            self.rules.append((*others[0][:3], at))
        if line["op"] == "swap":
            self.rules.append((name, line["rule"]["text"], at, FOREVER))
        return True


class Columns(NamedTuple):
    """What rules of these worlds show."""

    shop: str | None
    a_amount: int | None
    b_amount: int | None
    a_count: int | None
    first: int | None
    last: int | None


def generate(seed: str, number: int) -> dict[str, Any]:
    rng = random.Random(f"rules in buckets {seed} {number}")
    names = ["r0", "r1", "r2", "r3"]
    ends = rng.random() < 0.3
    rules = lambda: {name: text_of(rng, ends) for name in names if rng.random() < 0.6}  # noqa: E731
    steps: list[tuple[Any, ...]] = []
    events: list[tuple[Any, ...]] = []
    lines: list[dict[str, Any]] = []
    time, delay = 0, rng.choice((0, 1, 4, 9))
    for _ in range(rng.randint(4, 16)):
        kind = rng.random()
        if kind < 0.7:
            rows = []
            for _ in range(rng.choice((1, 2, 5, 12))):
                if events and rng.random() < 0.2:
                    rows.append((*rng.choice(events)[:-1], -1))
                else:
                    time += rng.randint(0, 2)
                    le = time if rng.random() < 0.7 else rng.randint(max(time - delay - 1, 0), time)
                    re = None if not ends or rng.random() < 0.7 else (le + rng.randint(1, 9)) * UNIT
                    events.append((rng.choice("wxyz"), rng.choice("st"), rng.randint(0, 8), le * UNIT, re, 1))
                    rows.append(events[-1])
            steps.append(("batch", rows))
        elif kind < 0.78:
            steps.append(("batch", []))
        elif kind < 0.86:
            steps.append(("restart", rules()))
        elif kind < 0.94:
            lines += [_line(rng, time, ends, [*names, "l0", "l1"], len(lines) + i) for i in range(rng.choice((1, 1, 2, 4)))]
            again = [rng.choice(lines)] if rng.random() < 0.3 else []
            steps.append(("lines", [*lines[-rng.randint(1, 3) :], *again]))
        else:
            steps.append(("move", rng.randint(1, 4)))
    return {"rules": rules(), "delay": delay, "ends": ends, "buckets": rng.randint(1, 3), "steps": steps}


def _line(rng: random.Random, time: int, ends: bool, names: list[str], sequence: int) -> dict[str, Any]:
    op, name, at = rng.choice(("insert", "insert", "retract", "swap")), rng.choice(names), UNIT * (time + rng.randint(-6, 3))
    line = {"op": op, "at": at, "sequence": sequence, "rule": {"name": name}}
    if op != "retract":
        line["rule"]["text"] = text_of(rng, ends)
        line |= {"name": name} if op == "swap" else {"until": at + UNIT * rng.randint(1, 20)} if rng.random() < 0.4 else {}
    return line


class RuleBuckets:
    """The buckets of a set, each saved and lost after each batch."""

    def __init__(self, world: dict[str, Any]) -> None:
        self.world = world
        self.job, self.blobs = self.made(world["rules"], world["buckets"]), dict[int, list[bytes]]()

    def made(self, rules: dict[str, str], buckets: int) -> Job:
        given = Rules(rules, event=Pay, key="card", tick="us")
        said = said_of(given, Options(key="card"), time="at", columns=Columns, **({"until": "end"} if self.world["ends"] else {}))
        options: Any = {"on_fault": "report", "key_types": [pa.string()], "lifetimes": self.world["ends"], "asked": said.asked}
        return job_of(said.automaton, said.options, buckets=buckets, **options)._replace(delay=self.world["delay"])

    def run(self, rows: list[tuple[Any, ...]], promised: int, lines: Sequence[str] = ()) -> list[BucketAnswer]:
        names = ["card", "shop", "amount", "le", "re", "diff"]
        schema = pa.schema([self.job.schema.field(name) for name in names if name in self.job.schema.names])
        table = pa.Table.from_pylist([dict(zip(names, row)) for row in rows], schema)
        numbers, found = bucket_numbers([table["card"]], self.job.buckets), []
        for number in range(self.job.buckets):
            mine = table.filter(pa.array(numbers == number))
            if len(rows) % 3 == 1:  # a batch that is lost, and comes again
                bucket_of_job(self.job, number, self.blobs.get(number, [])).run(mine if len(mine) else None, lines, promised)
            bucket = bucket_of_job(self.job, number, self.blobs.get(number, []))
            found.append(bucket.run(mine if len(mine) else None, lines, promised))
            self.blobs[number] = [bucket.save(False)]
        return found

    def move(self, buckets: int, promised: int) -> list[BucketAnswer]:
        before, self.job = self.job.buckets, self.job._replace(buckets=buckets, recipe={**self.job.recipe, "buckets": buckets})
        parts = [list(split(self.blobs[number], before, number, buckets)) for number in range(before)]
        found = [joined(self.job, number, [part[number] for part in parts], promised) for number in range(buckets)]
        self.blobs = {number: [bucket.save(False)] for number, (bucket, _) in enumerate(found)}
        return [answer for _, answer in found]


def check(world: dict[str, Any], engine: None) -> Counter[str]:
    met: Counter[str] = Counter()
    buckets, want, net = RuleBuckets(world), ExpectedSet({"rules": world["rules"], "key": "card"}, "compiled"), Counter[Any]()
    latest, told, taken_lines = BEGINNING, set[Any](), list[dict[str, Any]]()
    saved = BEGINNING
    for kind, given in world["steps"]:
        want.promised = max(want.promised, 0 if latest == BEGINNING else (latest // UNIT - world["delay"]) * UNIT)
        promised = BEGINNING if want.promised <= 0 else want.promised
        want.promised = max(want.promised, 0)
        present = max(promised, 0) + UNIT * (world["delay"] + 1)
        if kind == "batch":
            answers = buckets.run(given, promised)
            taken = [Change(Pay(*row[:3]), row[3], row[4], row[5]) for row in given if row[3] >= promised]
            assert sum(abs(change.diff) for answer in answers for change in answer.late) == len(given) - len(taken)
            met["late"] += len(given) - len(taken)
            want.events += taken
            latest = max([latest, *(row[3] for row in given)])
        elif kind == "restart":
            _restart(want, given, present if buckets.blobs else BEGINNING)
            buckets.job = buckets.made(given, buckets.job.buckets)
            answers = buckets.run([], promised)
        elif kind == "lines":
            answers = buckets.run([], promised, [json.dumps(line) for line in given])
            taken_lines = [line for line in taken_lines if line["at"] >= saved]
            fresh = {json.dumps(line): line for line in given if line not in taken_lines}
            taken_lines += fresh.values()
            done = [want.line(line) for line in sorted(fresh.values(), key=lambda line: line["sequence"])]
            refused = [fault for answer in answers for fault in answer.faults if "retraction only" not in fault.reason]
            assert (len(refused), sum(len(answer.notes) for answer in answers)) == (done.count(False), done.count(True)), refused
            met["lines"] += done.count(True)
            met["lines refused"] += done.count(False)
            for answer in answers:
                answer.faults[:] = [fault for fault in answer.faults if fault not in refused]
        elif buckets.blobs:
            answers = buckets.move(given, promised)
            met["parts"] += sum(len(bucket_of_job(buckets.job, n, blobs)._parts) > 1 for n, blobs in buckets.blobs.items())
        else:
            continue
        met[kind] += 1
        for answer in answers:
            for fault in answer.faults:
                assert "but got its retraction only" in fault.reason, fault
                assert (fault.reason, fault.key) not in told
                told.add((fault.reason, fault.key))
            for table in answer.changes:
                for row in table.to_pylist():
                    net[_match(row)] += row["diff"]
        saved = promised
        met["vain"] += sum(len(answer.faults) for answer in answers)
        found = want.matches()
        assert min(net.values(), default=0) >= 0, (kind, given, net)
        assert +net == found, (kind, given, "too many", +net - found, "missing", found - net)
        met["matches"] += len(found)
    return met


def _restart(want: ExpectedSet, given: dict[str, str], present: int) -> None:
    """Let rules end at the present that are given no more, or are others than were given, and begin those that are given now."""
    others = {name for name in {*want.given, *given} if want.given.get(name) != given.get(name)}
    standing = [(*each[:3], present) if each[3] > present and each[0] in others else each for each in want.rules]
    want.rules = [each for each in standing if each[2] < each[3]]
    want.rules += [(name, text, present, FOREVER) for name, text in given.items() if name in others]
    want.given = given


def _match(row: dict[str, Any]) -> Any:
    """A match as all tell it; what its rule does not show is null."""
    return frozenset((name, value) for name, value in row.items() if value is not None and name != "diff")


def smaller(world: dict[str, Any]) -> Iterator[dict[str, Any]]:
    steps = world["steps"]
    for i, (kind, given) in enumerate(steps):
        yield world | {"steps": steps[:i] + steps[i + 1 :]}
        if kind != "move":
            for j in given if kind == "restart" else range(len(given)):
                less = given[:j] + given[j + 1 :] if kind != "restart" else {n: text for n, text in given.items() if n != j}
                yield world | {"steps": [*steps[:i], (kind, less), *steps[i + 1 :]]}
    for name in world["rules"]:
        yield world | {"rules": {other: text for other, text in world["rules"].items() if other != name}}


WORLDS = Worlds("rules-in-buckets", generate=generate, check=check, smaller=smaller, engines=(None,))
