"""What a push costs where its output follows from paths: `collapse=`, `having=`, beside the plain way over a few such pushes.

``SEQ(A, B+, C)`` under skip-till-any-match, a record of each value of a that still has a match; 5 % a, 20 % b, 5 % c among others.
One event a call, in order and 1 to 100 places late. The plain way derives in Python what the kernels sum up; both say the same.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from afa import insert, query
from afa.compiled.compiled_engine import CompiledEngine
from bench.measure import Options, Row, but_first, spent

WINDOW, FORMS = (
    200,
    {
        "collapse=": {"collapse": "b.price"},
        "collapse=, longest=": {"collapse": "b.price", "longest": True},
        "having=": {"having": "sum(b.price) > 5000"},
    },
)
LATE = 100


class Ev(NamedTuple):
    type: str
    val: int
    price: float


def collapsed_rows(o: Options) -> list[Row]:
    return [_row(o, name, options, late) for name, options in FORMS.items() for late in (False, True)]


def _row(o: Options, name: str, options: dict[str, Any], late: bool) -> Row:
    n = o.size(1000, least=40) // (5 if late else 1)
    few = max(n // (100 if late else 20), 2)
    fast, plain = [], []
    for _ in range(o.rounds):
        found, took = _pushed(o, options, n, late)
        with _plainly():
            same, slow = _pushed(o, options, few, late)
        assert found[:few] == same, "expected the same from both"
        fast.append(n / took)
        plain.append(few / slow)
    return {
        "output": name,
        "pushes": "late" if late else "in order",
        "records": sum(map(len, found)),
        "pushes/s": but_first(fast),
        "times the plain way": but_first([a / b for a, b in zip(fast, plain)]),
    }


def _pushed(o: Options, options: dict[str, Any], n: int, late: bool) -> tuple[list[Any], float]:
    text = "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_any_match(a, b[], c) { b[i].val >= b[i-1].val }"
    op = query(f"{text} WITHIN {WINDOW} RETURN a.val", event=Ev).operator(engine=o.engine, **options)  # type: ignore[arg-type]
    choose, first = random.Random(1), o.size(3 * WINDOW, least=LATE)
    events = [
        Ev(choose.choices("ABCX", (5, 20, 5, 70))[0], choose.randint(1, 1000), choose.randint(1, 99999) / 100)
        for _ in range(first + n)
    ]
    op.push_many([insert(event, le) for le, event in enumerate(events[:first])])
    choose = random.Random(2)
    rows = [insert(event, first - choose.randint(1, LATE) if late else le) for le, event in enumerate(events[first:], first)]
    return spent(lambda: [op.push(row) for row in rows], time.thread_time)


@contextmanager
def _plainly() -> Iterator[None]:
    """Let what follows from paths be derived from steps, in Python."""
    names = ("ways", "totals", "matches")
    kept = {name: getattr(CompiledEngine, name) for name in names}
    for name in names:
        setattr(CompiledEngine, name, lambda *_: None)
    try:
        yield
    finally:
        for name, method in kept.items():
            setattr(CompiledEngine, name, method)
