"""A query in the place of another one, of which some states end and others begin: both engines tell the same.

The backtracking matcher knows no states that end; so `tests.language.sql_worlds` lets such changes be.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, NamedTuple

import pytest

import afa
from afa import AfaError, Arc, Change, Punctuation, insert, retract
from punctuation.time import BEGINNING

PATTERNS = ("A B C", "A B* C", "A (B | C)+ D", "A B{2,3} C?", "A B?? C", "A (B C)* D")
PLAIN, LOOK_BACK = ("v = 0", "v = 1", "v = 2", "v > 1"), ("v > PREV(v)", "v < PREV(v)")


class Reading(NamedTuple):
    v: int
    at: afa.Instant | None = None


def query(pattern: str, define: str, skip: str = "PAST LAST ROW", within: str = "") -> afa.Query:
    return afa.sql(
        f"""SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES FIRST(at) AS first, COUNT(*) AS n
        AFTER MATCH SKIP {skip} PATTERN ({pattern}) {within} DEFINE {define})""",
        event=Reading,
    )


def net(running: afa.Query, engine: str, calls: list[list[Any]]) -> Counter[Any]:
    """The net output of some calls."""
    operator, found = running.operator(engine=engine), Counter[Any]()
    for call in calls:
        for change in operator.push_many(call):
            if isinstance(change, Change):
                found[change[:3]] += change.diff
    operator._check()
    return +found


def test_random_queries() -> None:
    ended = 0
    for seed in range(150):
        rng = random.Random(seed)
        pattern, skip, within = rng.choice(PATTERNS), rng.choice(("PAST LAST ROW", "TO NEXT ROW")), rng.choice(("", "WITHIN 12"))
        names = [name for name in "BCD" if name in pattern]
        plain = [rng.choice(PLAIN) for _ in names]
        back = [rng.choice(LOOK_BACK) for _ in names]
        kinds = [[rng.choice(each) for each in zip(plain, back)] for _ in range(2)]  # so that both ask some alike
        try:
            one, other = (
                query(pattern, ", ".join(f"{name} AS {asked}" for name, asked in zip(names, kind)), skip, within) for kind in kinds
            )
            changes = one.changes_to(other)
        except AfaError:  # they read other values
            continue
        ended += bool(changes.goes)
        calls: list[list[Any]] = []
        held: list[Any] = []
        swap, promised = rng.randrange(24), rng.random() < 0.7
        for le in range(24):
            if le == swap:
                calls += [[Punctuation(2 * le)]] * promised + [[*changes.arcs]]
                held = [] if promised else held
            held.append(insert(Reading(rng.randrange(4)), 2 * le))
            calls.append([held[-1]])
            if rng.random() < 0.1:
                calls.append([retract(*held.pop(rng.randrange(len(held)))[:3])])
        assert net(one, "compiled", calls) == net(one, "interpreted", calls), f"seed {seed}: {one!r}, {changes}"
    assert ended > 20


@pytest.mark.parametrize("many", [10, 70])
def test_arcs_beyond_the_bits_of_a_word(many: int) -> None:
    """The register is the row before, however many arcs there are."""
    running = query(f"S B{{{many}}} C", "C AS v > PREV(v)")
    own = next(arc for arc in running.automaton.arcs if arc.src == "B3")
    rises = Arc("B3", "B4", "e.v >= r.match_v", own.transfer, select="B")
    calls = [
        [retract(own, BEGINNING), insert(rises, 0)],
        *([insert(Reading(9 if le > many + 1 else -5), le)] for le in range(1, many + 12)),
    ]
    found = net(running, "compiled", calls)
    assert found == net(running, "interpreted", calls)
    assert len(found) == 1


def test_two_states_of_one_place() -> None:
    """Of which each has an arc of its own in force."""
    running = query("A B C", "A AS v = 0, B AS v > PREV(v), C AS v = 2")
    arcs = [Arc("A", "B 2", "e.v == 7", "(e.v,)", select="B"), Arc("B 2", "F", "e.v == 8", "(e.v,)", select="C")]
    rows = [0, 7, 3, 0, 1, 2, 0, 7, 8, 0, 1, 8, 0, 7, 2]
    calls = [[insert(arc, 0)] for arc in arcs] + [[insert(Reading(v), le)] for le, v in enumerate(rows, 1)]
    assert net(running, "compiled", calls) == net(running, "interpreted", calls)
    assert [tuple(payload) for payload, *_ in net(running, "compiled", calls)] == [(4, 3), (7, 3), (13, 3)]
