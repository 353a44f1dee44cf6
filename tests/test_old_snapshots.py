"""Snapshots that earlier versions of the library have made are read for ever: `old_snapshots.json` has some, by their version.

``python -m tests.test_old_snapshots`` adds those of the present version.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Hashable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from afa import Arc, Automaton, Keyed, Operator, Punctuation, SnapshotError, insert, retract
from afa.operator import snapshot
from afa.operator.snapshot import VERSION
from punctuation import sealed
from tests.automata import Tick, two_vees
from tests.text import E

FILE = Path(__file__).parent / "old_snapshots.json"
SAVED: dict[str, dict[str, list[str]]] = json.loads(FILE.read_text(encoding="ascii"))

KEYS: dict[str, list[Any]] = {
    "ints": [5, -3, 2**40, 7],
    "texts": ["b", "", "a long text, of more than one word", "ü", "a"],
    "pairs": [("b", 1), ("a", 2), ("a", 1)],
    "missing": [("a", None), (None, 1), ("b", 2)],
    "floats": [0.5, -2.25, 1e300],
    "bools": [True, False],
    "mixed": [1, "a", (2, "b"), 2**63],
}


def run(keys: list[Hashable]) -> tuple[Keyed, list[bytes]]:
    """An operator with these keys; a snapshot, and two incremental ones."""
    op = Keyed(two_vees, key=lambda e: e, window=20)
    for le, move in enumerate([-1.0, -1.0, 1.0, 1.0, -1.0]):
        for i, key in enumerate(keys):
            op.push(insert(Tick(9.0 + i, move), le + i), key=key)
    blobs = [op.snapshot()]
    op.push(insert(Tick(1.0, 1.0), 12), key=keys[0])
    op.push(retract(Tick(1.0, 1.0), 13), key=keys[1])
    blobs.append(op.snapshot(incremental=True))
    op.push(Punctuation(5))
    op.push(insert(Tick(2.0, -1.0), 14), key=keys[0])
    return op, [*blobs, op.snapshot(incremental=True)]


@pytest.mark.parametrize("version", sorted(SAVED))
@pytest.mark.parametrize("kind", sorted(KEYS))
def test_a_snapshot_of_an_earlier_version_is_what_was_saved(version: str, kind: str, engine: Any) -> None:
    now, _ = run(KEYS[kind])
    blobs = list(map(base64.b64decode, SAVED[version][kind]))
    assert {blob[4] for blob in blobs} == {int(version)}
    then = Keyed.restore(two_vees, blobs, key=lambda e: e, engine=engine)
    assert sorted(map(repr, then.keys)) == sorted(map(repr, now.keys))
    assert then.snapshot() == now.snapshot()


class Seen(NamedTuple):
    """What is waited for."""

    at: int = 0


def waiting(fence: str = "kind != 1", made: bool = False) -> Automaton:
    """A wait beside a skip; ``made``: an epsilon arc leads into it."""
    arcs = [Arc("a", "b", "kind == 0", "(e.seq,)"), Arc.skip("b", fence), Arc.timeout("b", "c", "r.at + 10", name="late")]
    if made:
        arcs += [Arc.epsilon("b", "w"), Arc.timeout("w", "c", "r.at + 10", name="other")]
        del arcs[2]
    return Automaton(start="a", final={"c"}, register=Seen(), event=E, arcs=arcs)


def as_version(blob: bytes, version: int) -> bytes:
    """The same state as a blob of an earlier version, of the same format."""
    return sealed.seal(snapshot.MAGIC, version, snapshot.plain(snapshot.unseal(snapshot.MAGIC, VERSION, blob)))


@pytest.mark.parametrize("made", [False, True])
def test_matches_of_time_outs_that_fired_again_are_not_left_behind(engine: str, made: bool) -> None:
    """Up to version 8 the time-out told a match at 20 too, which a restored operator would never withdraw."""
    automaton = waiting(made=made)
    op = Keyed(automaton, key="seq", window=100, engine=engine)
    op.push_many([insert(E(0, 0), 0), insert(E(2, 0), 20)])
    with pytest.raises(SnapshotError, match=r"fired again at each event that a skip passed, .* of key 0 at le=20, which would"):
        Keyed.restore(automaton, as_version(op.snapshot(), 8), key="seq", engine=engine)
    op.push(Punctuation(40))  # what has been told is final
    again = Keyed.restore(automaton, as_version(op.snapshot(), 8), key="seq", engine=engine)
    assert again.push(insert(E(2, 0), 50)) == op.push(insert(E(2, 0), 50)) == []
    again._check()


def test_without_payloads_waits_are_looked_at_too(engine: str) -> None:
    arcs = [Arc("a", "b", "kind == 0"), Arc.skip("b", "kind != 1"), Arc.timeout("b", "c", "10")]
    automaton = Automaton(start="a", final={"c"}, event=E, arcs=arcs)
    op = Operator(automaton, window=100, engine=engine, retractions=False, keep_payloads=False)
    op.push_many([insert(E(0), 0), insert(E(2), 5)])
    again = Operator.restore(automaton, as_version(op.snapshot(), 8), engine=engine)
    assert again.push(insert(E(2), 20)) == op.push(insert(E(2), 20)) != []
    with pytest.raises(SnapshotError, match=r"fired again at each event that a skip passed, .* at le=20"):
        Operator.restore(automaton, as_version(op.snapshot(), 8), engine=engine)
    assert Operator.restore(automaton, op.snapshot(), engine=engine).push(insert(E(2), 30)) == []


def test_waits_of_earlier_versions_that_fired_once_go_on(engine: str) -> None:
    for automaton, les in ((waiting(), [5]), (waiting("kind != 1 and seq < 9"), [5, 20])):
        op = Operator(automaton, window=100, engine=engine)
        op.push_many([insert(E(0, 0), 0), *(insert(E(2, 2 * (le % 10)), le) for le in les)])
        again = Operator.restore(automaton, as_version(op.snapshot(), 8), engine=engine)
        assert again.push_many([insert(E(2, 9), 30), Punctuation(60)]) == op.push_many([insert(E(2, 9), 30), Punctuation(60)])
        later = op.snapshot(), as_version(op.snapshot(), 8)
        assert Operator.restore(automaton, later[0], engine=engine).snapshot() == op.snapshot()


def test_a_time_out_behind_an_epsilon_arc_that_no_skip_has_passed_is_no_matter(engine: str) -> None:
    arcs = [
        Arc("a", "m", "kind == 0", "(e.seq,)"),
        Arc.epsilon("m", "w"),
        Arc.timeout("w", "c", "r.at"),
        Arc("m", "n", "kind == 5"),
    ]
    for skipped in ("a", "n"):
        automaton = Automaton(
            start="a",
            final={"c"},
            register=Seen(),
            event=E,
            arcs=[*arcs, Arc.skip(skipped, "kind == 9"), Arc("n", "a", "kind == 7")],
        )
        op = Operator(automaton, window=100, engine=engine)
        assert len(op.push_many([insert(E(0, 5), 20), insert(E(5, 5), 30), insert(E(0, 6), 40)])) == 2
        again = Operator.restore(automaton, as_version(op.snapshot(), 8), engine=engine)
        assert again.push(retract(E(0, 6), 40)) == op.push(retract(E(0, 6), 40)) != []


def test_waits_that_came_behind_an_earlier_version_are_those_of_this_one(engine: str) -> None:
    """Of a snapshot and an incremental one behind it only the first is of an earlier version."""
    automaton = waiting()
    op = Keyed(automaton, key="seq", window=100, engine=engine)
    op.push(insert(E(0, 0), 0))
    then = as_version(op.snapshot(), 8)
    op = Keyed.restore(automaton, then, key="seq", engine=engine)
    op.push(insert(E(2, 0), 20))
    again = Keyed.restore(automaton, [then, op.snapshot(incremental=True)], key="seq", engine=engine)
    assert [(match.le, match.diff) for match in again.push(insert(E(1, 0), 9))] == [(10, -1)]


if __name__ == "__main__":
    SAVED[str(VERSION)] = {kind: [base64.b64encode(blob).decode() for blob in run(keys)[1]] for kind, keys in KEYS.items()}
    FILE.write_text(json.dumps(SAVED, indent=1, sort_keys=True) + "\n", encoding="ascii")
