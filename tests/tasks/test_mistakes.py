"""Three mistakes that find nothing, each told in the one line with which `afa run` ends; without them there are matches."""

from __future__ import annotations

import json
import random
import re
from datetime import datetime, timedelta

import pytest

from tests.cli import call, write
from tests.cli import there as there  # the fixture of all tests here

PATTERN = """
from typing import NamedTuple

from afa import Arc, Automaton


class Pay(NamedTuple):
    card: str
    amount: float
    status: str


def large_after_declined(status="declined", limit=60):
    arcs = [
        Arc("start", "declined", lambda e, r: e.status == status, name="declined"),
        Arc("declined", "declined", lambda e, r: e.amount < 5, name="small"),
        Arc("declined", "large", lambda e, r: e.status == "approved" and e.amount > limit, name="large"),
    ]
    return Automaton(start="start", final={"large"}, arcs=arcs, event=Pay)


right, cents, misspelt = large_after_declined(), large_after_declined(limit=6000), large_after_declined(status="declind")
"""
MILLISECONDS = 600_000
SECONDS = 600


def payments(count: int) -> tuple[str, int]:
    """Return payments as lines of JSON, and how often a large one follows a declined one of the card, over small ones."""
    rng, at, lines, matches = random.Random(19), datetime(2026, 3, 1), [], 0
    waiting: dict[str, list[datetime]] = {}
    for _ in range(count):
        at += timedelta(milliseconds=rng.randrange(700, 2000))
        card, amount, status = f"c{rng.randrange(40)}", rng.randrange(100, 9900) / 100, rng.choice(["declined", "approved"])
        lines.append({"at": at.isoformat(timespec="milliseconds"), "card": card, "amount": amount, "status": status})
        alive = [begin for begin in waiting.get(card, []) if at - begin < timedelta(minutes=10)]
        if status == "approved" and amount > 60 and alive:
            matches += len(alive)
        waiting[card] = (alive if amount < 5 else []) + [at] * (status == "declined")
    return "".join(f"{json.dumps(line)}\n" for line in lines), matches


def said(pattern: str, window: int) -> tuple[int, str]:
    """Return how many matches there are, and the line about none."""
    write("pay.py", PATTERN)
    result = call(
        "run", f"pay.py:{pattern}", "pay.jsonl", "--time", "at", "--key", "card", "--window", str(window), "--matches", "0"
    )
    inserted = re.search(r"^matches inserted +([\d,]+)", result.stderr, re.MULTILINE)
    assert inserted is not None
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("afa: ")] or [""]
    return int(inserted[1].replace(",", "")), line


def test_what_is_right_says_nothing() -> None:
    text, matches = payments(3000)
    write("pay.jsonl", text)
    found, line = said("right", MILLISECONDS)
    assert line == ""
    assert found == matches > 100


@pytest.mark.parametrize(
    ("pattern", "window", "words", "others"),
    [
        (
            "right",
            SECONDS,
            ["`large` was never asked", "in `declined` ended by the window (600 ticks of 1 ms = 0.6 s", "median distance"],
            ["largest", "did you mean"],
        ),
        (
            "cents",
            MILLISECONDS,
            ["`large` was asked", "never true: the largest amount is 9", "not > 6000", "is the limit in the unit of the field?"],
            ["window", "did you"],
        ),
        (
            "misspelt",
            MILLISECONDS,
            ["`declined` was asked 3,000 times and never true", "no status is 'declind'", "did you mean 'declined'?"],
            ["largest", "window", "unit"],
        ),
    ],
)
def test_each_mistake_is_told(pattern: str, window: int, words: list[str], others: list[str]) -> None:
    write("pay.jsonl", payments(3000)[0])
    found, line = said(pattern, window)
    assert found == 0
    assert line.startswith("afa: no match: ")
    assert all(word in line for word in words), line
    assert not any(word in line for word in others), line
