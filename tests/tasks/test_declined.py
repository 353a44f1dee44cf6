"""Declined, declined, declined, approved on one card, from standard input; another process swaps the rule while the rows come."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta, timezone
from typing import Any

from tests.cli import process, write
from tests.cli import there as there  # the fixture of all tests here

PATTERN = """
from typing import NamedTuple
import afa
from afa import Arc, Automaton

class Pay(NamedTuple):
    card: str
    status: str
    cents: int
    at: afa.Instant

class Seen(NamedTuple):
    since: int = 0
    paid: int = 0

no = "status == 'declined'"
arcs = [Arc("start", "1", no, "(e.at, 0)", name="first"), Arc("1", "2", no, name="second"), Arc("2", "3", no, name="third")]
arcs += [Arc("3", "paid", "status == 'approved'", "(r.since, e.cents)", name="approved")]
rule = Automaton(start="start", final={"paid"}, register=Seen(), event=Pay, arcs=arcs)
"""
BEGIN = datetime(2026, 3, 1, tzinfo=timezone.utc)
Row = tuple[str, str, int, datetime]


def payments(rng: random.Random, count: int, begin: datetime) -> list[Row]:
    """Payments of a few cards over some hours, in no order."""
    seconds = rng.sample(range(4 * 3600), count)
    status = ["declined", "declined", "approved"]
    return [(f"card {rng.randrange(5)}", rng.choice(status), rng.randrange(1000), begin + timedelta(seconds=at)) for at in seconds]


def by_hand(rows: list[Row], swapped: datetime) -> set[tuple[str, datetime, int]]:
    """Card, time and cents of each match, in plain Python: from an instant on only payments of more than 400 cents count."""
    found = set()
    for card in {row[0] for row in rows}:
        mine = sorted((at, status, cents) for c, status, cents, at in rows if c == card)
        for four in zip(mine, mine[1:], mine[2:], mine[3:]):
            (since, *_), (at, _, cents) = four[0], four[3]
            in_time = at - since < timedelta(minutes=10)
            if [row[1] for row in four] == ["declined"] * 3 + ["approved"] and in_time and (at < swapped or cents > 400):
                found.add((card, at, cents))
    return found


def test_declined_three_times_then_approved_under_a_rule_that_changes() -> None:
    rng = random.Random(5)
    write("pay.py", PATTERN)
    last = BEGIN + timedelta(hours=4)
    mark = [("mark", "declined", 0, last - timedelta(seconds=3 - i)) for i in range(3)] + [("mark", "approved", 1, last)]
    before = [*payments(rng, 900, BEGIN), *mark]
    after = payments(rng, 100, BEGIN + timedelta(seconds=0.5)) + payments(rng, 900, last + timedelta(seconds=0.5))  # some are late
    rng.shuffle(after)
    arguments = [
        "run",
        "pay.py:rule",
        "-",
        "--format",
        "jsonl",
        "--time",
        "at",
        "--key",
        "card",
        "--window",
        "10m",
        "--arcs",
        "rules",
    ]
    with process(*arguments, "--output", "changes.jsonl", "--matches", "-1", "-q", stdin=-1) as job:
        assert job.stdin is not None
        assert job.stdout is not None

        def say(rows: list[Row]) -> None:
            for card, status, cents, at in rows:
                job.stdin.write(json.dumps({"card": card, "status": status, "cents": cents, "at": at.isoformat()}) + "\n")
            job.stdin.flush()

        say(before)
        while "card=mark" not in job.stdout.readline():
            pass
        fence = "status == 'approved' and cents > 400"
        with process("arcs", "rules", "swap", "approved", "--fence", fence, "--pattern", "pay.py:rule") as other:
            said, _ = other.communicate()
        assert said == "swapped 'approved' from when the job reads it on\n"
        say(after)
        _, told = job.communicate()
    assert (job.returncode, told) == (0, "afa: rules: an empty arc log was made there\n")
    expected = by_hand([*before, *after], swapped=last + timedelta(milliseconds=1))
    assert held() == expected
    old = by_hand([*before, *after], swapped=BEGIN + timedelta(days=9))
    assert len(old) > len(expected) > len(by_hand(before, BEGIN + timedelta(days=9))) > 20


def held() -> set[Any]:
    """What the changes come to."""
    net: dict[Any, int] = {}
    with open("changes.jsonl", encoding="utf-8") as file:
        for change in map(json.loads, file):
            match = change["card"], change["le"], change["paid"]
            net[match] = net.get(match, 0) + change["diff"]
    assert set(net.values()) <= {0, 1}
    return {(card, datetime.fromisoformat(le).replace(tzinfo=timezone.utc), paid) for (card, le, paid), n in net.items() if n}
