"""Orders that are not shipped within two days, from a file of JSON lines: which are late, and which are only open at the end."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta, timezone

from tests.cli import call, write
from tests.cli import there as there  # the fixture of all tests here

QUERY = """
PATTERN SEQ(order o, ~(shipment s))
WHERE skip_till_next_match(o, s) { [id] }
WITHIN 2 days
RETURN o.at AS placed
"""
BEGIN = datetime(2026, 3, 1, tzinfo=timezone.utc)
TWO_DAYS = timedelta(days=2)


def rows_of(rng: random.Random, count: int) -> list[tuple[datetime, str, int]]:
    """Orders over four weeks; two of three are shipped, most of these in time. Rows come in any order."""
    rows = []
    for number in range(count):
        placed = BEGIN + timedelta(seconds=rng.randrange(28 * 86_400))
        rows.append((placed, "order", number))
        if rng.random() < 0.67:
            rows.append((placed + timedelta(seconds=rng.randrange(1, 60 * 3600)), "shipment", number))
    rows = [row for row in rows if row[0] < BEGIN + timedelta(days=28)]  # when the file was written
    rng.shuffle(rows)
    return rows


def late(rows: list[tuple[datetime, str, int]], by: datetime) -> set[int]:
    """The orders that were not shipped within two days of which the last had passed by an instant, in plain Python."""
    shipped = {number: at for at, kind, number in rows if kind == "shipment"}
    ends = {number: at + TWO_DAYS for at, kind, number in rows if kind == "order"}
    return {number for number, end in ends.items() if end <= by and not (number in shipped and shipped[number] < end)}


def test_orders_without_shipment() -> None:
    rows = rows_of(random.Random(7), 1500)
    write("rows.jsonl", "\n".join(json.dumps({"type": kind, "id": number, "at": at.isoformat()}) for at, kind, number in rows))
    write("late.sase", QUERY)
    latest = max(at for at, _, _ in rows)
    never = datetime.max.replace(tzinfo=timezone.utc)
    for end, by in (("latest", latest), ("forever", never)):
        call("run", "late.sase", "rows.jsonl", "--time", "at", "--end", end, "--output", "changes.jsonl", "--quiet")
        with open("changes.jsonl", encoding="utf-8") as file:
            changes = [json.loads(line) for line in file]
        net: dict[int, int] = {}
        for change in changes:
            net[change["id"]] = net.get(change["id"], 0) + change["diff"]
        assert {number for number, held in net.items() if held} == late(rows, by)
        assert set(net.values()) <= {0, 1}
    assert len(late(rows, latest)) > 300
    assert len(late(rows, never) - late(rows, latest)) > 30  # only open at the end
