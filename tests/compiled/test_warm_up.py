"""The loops are compiled once enough was done without them: rows, or partial matches looked at, in one call or in many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import afa
from afa.compiled import choices
from afa.compiled.linked import Linked
from tests.nojit import DISABLED


class Signal(NamedTuple):
    what: int
    key: int = 0


WAIT = """PATTERN SEQ(Signal a, Signal b) WHERE skip_till_any_match(a, b) {{ {} a.what == 1 and b.what == 2 }}
WITHIN 100000 RETURN b.what AS b"""
ROWS = 400 if DISABLED else 3_000


@pytest.fixture
def held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no loop be at hand that was not asked for, as where the folder of code is new."""
    address = Linked.address
    monkeypatch.setattr(Linked, "address", lambda self, wanted=True: address(self, wanted) if wanted else 0)


def operator(keyed: bool = False) -> Any:
    return afa.query(WAIT.format("[key] and" if keyed else ""), event=Signal).operator(engine="compiled")


def arcs_of(op: Any) -> Any:
    return op._core.engine.store.arcs


def signals(n: int, every: int = 1) -> dict[str, Any]:
    """Of ``every`` rows the first is an A: that many wait in the end."""
    return {"what": (np.arange(n) % every == 0).astype(np.int64), "key": np.zeros(n, np.int64), "le": np.arange(n)}


def in_one_call(op: Any, rows: dict[str, Any]) -> None:
    op.push_many(rows)


def in_calls_of_100(op: Any, rows: dict[str, Any]) -> None:
    for at in range(0, len(rows["le"]), 100):
        op.push_many({name: column[at : at + 100] for name, column in rows.items()})


def one_by_one(op: Any, rows: dict[str, Any]) -> None:
    op.push_many({name: column[: choices.WARM] for name, column in rows.items()})  # the step function
    for what, le in zip(rows["what"][choices.WARM :].tolist(), rows["le"][choices.WARM :].tolist()):
        op.push(afa.insert(Signal(what), le))


def test_parts_are_short_where_lists_are_long() -> None:
    long = choices.PARTS
    assert choices.rows_before_loops(0, 0, 10, long - 1) == choices.COLD
    assert choices.rows_before_loops(0, 0, choices.COLD, long - 1) == 2 * choices.COLD, "lists are short"
    assert choices.rows_before_loops(0, 0, choices.COLD, long) == choices.COLD
    assert choices.rows_before_loops(0, 0, choices.COLD, 10**6) == choices.LEAST
    left = 500 * 2 * 1000
    assert choices.rows_before_loops(0, choices.LONG * choices.LOOKS - left, choices.COLD, 1000) == 500
    assert choices.rows_before_loops(choices.LONG + 1, 0, choices.COLD, 1000) == choices.LEAST


@pytest.mark.usefixtures("held_back")
@pytest.mark.parametrize(
    ("way", "keyed"),
    [(in_one_call, False), (in_one_call, True), (in_calls_of_100, False), (in_calls_of_100, True), (one_by_one, False)],
)
def test_the_loops_come_by_partial_matches_looked_at(
    way: Callable[[Any, dict[str, Any]], None], keyed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all rows wait, far fewer rows than where few do."""
    monkeypatch.setattr(choices, "COLD", 100)
    monkeypatch.setattr(choices, "PARTS", 10 * ROWS)  # a list that is taken in parts is looked at far less
    looks = ROWS * ROWS // 8
    monkeypatch.setattr(choices, "LONG", max(ROWS + 1, looks // choices.LOOKS))
    many, few = operator(keyed), operator(keyed)
    way(many, signals(ROWS))
    way(few, signals(ROWS, 100))
    for op in (many, few):  # no push goes through the loops, but what it looked at counts
        op.push_many({name: column + ROWS for name, column in signals(1).items()} | {"key": np.zeros(1, np.int64)})
    assert arcs_of(many).program.loops
    assert not arcs_of(few).program.loops
    assert int(arcs_of(few)._memory.m[choices.k.Memory.looks]) < looks
