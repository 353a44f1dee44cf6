"""What an operator holds follows from the set of its events: not from their order, the calls, what came before, nor loaded code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import afa
from afa import Arc, Automaton, Operator
from afa.compiled import choices
from tests.compiled.test_warm_up import held_back
from tests.nojit import DISABLED

__all__ = ["held_back"]  # a fixture
WINDOW, N = (60, 150) if DISABLED else (300, 800)
SLACK = 40


class Signal(NamedTuple):
    what: int
    number: int
    key: int = 0


class Number(NamedTuple):
    a: int = 0


def query(pattern: str, names: str, where: str) -> Callable[[], Any]:
    text = f"PATTERN SEQ({pattern}) WHERE {names} {{ {where} }} WITHIN {WINDOW} RETURN a.number AS a, b.number AS b"
    return lambda: afa.query(text, event=Signal).operator(engine="compiled")


def looping() -> Any:
    """A register set by the first event, and one by a repetition that takes every third kind."""
    arcs = [
        Arc("0", "1", "what == 1", "(e.number,)"),
        Arc("1", "1", "what == 3", "(e.number,)", name="again"),
        Arc("1", "1", "what == 0", name="pass"),
        Arc("1", "2", "what == 2"),
    ]
    return Operator(Automaton(start="0", final={"2"}, event=Signal, register=Number(), arcs=arcs), window=WINDOW, engine="compiled")


BOTH = "a.what == 1 and b.what == 2"
PATTERNS = {
    "any": query("Signal a, Signal b", "skip_till_any_match(a, b)", BOTH),
    "next": query("Signal a, Signal b", "skip_till_next_match(a, b)", BOTH),
    "three, next": query("Signal a, Signal b, Signal c", "skip_till_next_match(a, b, c)", f"{BOTH} and c.what == 3"),
    "without": query("Signal a, ~(Signal n), Signal b", "skip_till_any_match(a, n, b)", f"{BOTH} and n.what == 3"),
    "keyed": query("Signal a, Signal b", "skip_till_any_match(a, b)", f"[key] and {BOTH}"),
    "loop": looping,
}
SHARES = {
    "dense": [0.4, 0.5, 0.05, 0.05],
    "short": [0.2, 0.4, 0.3, 0.1],
    "A waits": [0.5, 0.5, 0.0, 0.0],
    "few": [0.9, 0.08, 0.01, 0.01],
}


def signals(begin: str, then: str, seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    what = rng.choice(4, N, p=SHARES[begin])
    what[N // 8 :] = rng.choice(4, N - N // 8, p=SHARES[then])
    return {"what": what, "number": np.arange(N), "key": rng.integers(0, 3, N), "le": np.arange(N)}


def fed(op: Any, rows: dict[str, Any], order: Any, size: int) -> Any:
    for at in range(0, N, size):
        op.push_many({name: column[order[at : at + size]] for name, column in rows.items()})
    return op.statistics


def late(share: float) -> Any:
    rng = np.random.default_rng(3)
    return np.argsort(np.arange(N) + np.where(rng.random(N) < share, rng.integers(1, 150, N), 0), kind="stable")


def held(found: Any) -> tuple[int, int, int]:
    return found.partial_matches, found.intervals, found.state_size


def assert_no_more(found: Any, fresh: Any) -> None:
    for more, less in zip(held(found), held(fresh)):
        assert more <= 1.2 * less + SLACK, f"{held(found)} where a fresh operator holds {held(fresh)}"


WAYS = [(0.0, N), (0.0, 100), (0.0, 7), (0.05, N), (0.05, 100)]
"""Which share of the rows is late, and how many are a call."""


@pytest.mark.parametrize("then", ["A waits", "short", "few"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_more_is_held_than_by_a_fresh_operator(pattern: str, then: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever came in what order, and after a dense beginning, with the loops and without."""
    rows, ordered = signals("short", then), np.arange(N)
    fresh = fed(PATTERNS[pattern](), rows, ordered, N)
    for long in (0, choices.LONG):
        monkeypatch.setattr(choices, "LONG", long)
        for share, size in WAYS[long > 0 :]:
            assert_no_more(fed(PATTERNS[pattern](), rows, late(share) if share else ordered, size), fresh)


@pytest.mark.usefixtures("held_back")
@pytest.mark.parametrize("begin", ["short", "dense"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_same_is_held_with_the_loops_and_without(pattern: str, begin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, found = signals(begin, "short"), set()
    for long in (0, choices.LONG):
        monkeypatch.setattr(choices, "LONG", long)
        for size in (N, 100):
            found.add(held(fed(PATTERNS[pattern](), rows, np.arange(N), size)))
    assert len(found) == 1, found


def test_a_dense_beginning_does_not_stay() -> None:
    """First many Bs among the As, so that lists are short; then no B, and A after A waits."""
    sizes = []
    for begin in ("short", "A waits"):
        rows = signals(begin, "A waits")
        sizes.append(fed(PATTERNS["next"](), rows, np.arange(N), 100).partial_matches)
    assert sizes[0] <= 1.2 * sizes[1] + SLACK, sizes
