"""Matches of hundreds of rows that go on row by row, come late, and are cut: by folds and by what is kept of the last one.

Worlds have few rows. Here the compiled engine takes call by call, the interpreted one eight at a time.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, NamedTuple

import pytest

import afa
from afa import Change, Punctuation, insert, retract

PATTERNS = {
    "A B*": "A AS v = 0, B AS v > 0",
    "A+ B+ C+ D": "D AS v = 0",
    "A B*? C": "B AS v > 0, C AS v >= PREV(v)",
    "(A | B)+ C": "A AS v > 1, B AS v > FIRST(v) - 9, C AS v <= 1",
    "A+ B{20} C": "C AS v <= 1",
}


class Reading(NamedTuple):
    v: int
    at: afa.Instant | None = None


def query(pattern: str, skip: str, within: str = "") -> afa.Query:
    return afa.sql(
        f"""SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at
        MEASURES FIRST(at) AS first, SUM(A.v) AS total, LAST(B.v) AS last, COUNT(*) AS n
        AFTER MATCH SKIP {skip} PATTERN ({pattern}) {within} DEFINE {PATTERNS[pattern]})""",
        event=Reading,
    )


def steps(seed: int, n: int) -> list[list[Change | Punctuation]]:
    """Calls of few rows: most follow the last one, some lie before it or are taken back."""
    rng, held, calls, now, promised = random.Random(seed), dict[int, Change](), list[list[Any]](), 0, 0
    while now < n:
        call: list[Any] = []
        for _ in range(rng.choice((1, 1, 1, 2, 40))):
            if rng.random() < 0.04 and held:
                call.append(retract(*held.pop(rng.choice(list(held)))[:3]))
                continue
            late = rng.random() < 0.08
            le = rng.randrange(max(promised, now - 90), now + 1) if late else now
            now += not late
            if le not in held:
                held[le] = insert(Reading(0 if rng.random() < 0.01 else rng.randrange(1, 5)), le)
                call.append(held[le])
        if rng.random() < 0.02:
            promised = max(promised, now - 120)
            call.append(Punctuation(promised))
            held = {le: row for le, row in held.items() if le >= promised}
        calls.append(call)
    return calls


@pytest.mark.parametrize("skip", ["PAST LAST ROW", "TO NEXT ROW"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_engines_agree(pattern: str, skip: str) -> None:
    for seed, within in enumerate(("", "WITHIN 70")):
        made = query(pattern, skip, within)
        rare, often = made.operator(engine="interpreted"), made.operator(engine="compiled")
        there: Counter[Any] = Counter()
        here: Counter[Any] = Counter()
        waiting: list[Change | Punctuation] = []
        for i, call in enumerate(steps(seed, 120 if skip == "TO NEXT ROW" else 180)):
            add(here, often.push_many(call))
            waiting += call
            if i % 8 == 7:
                add(there, rare.push_many(waiting))
                waiting = []
                assert here == there, f"seed {seed}, at {call}"
        often._check()


def add(net: Counter[Any], changes: Any) -> None:
    """Add changes to a net output."""
    for change in changes:
        net[change[:3]] += change.diff
        if not net[change[:3]]:
            del net[change[:3]]
