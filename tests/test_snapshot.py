"""Snapshots: what comes back is what was saved, and nothing else is believed."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgpack
import pytest

from afa import Arc, Automaton, Keyed, LateEventError, Operator, Punctuation, SnapshotError, insert, retract
from afa.model.automaton import NoRegister
from tests.automata import Tick, skipping_pair, two_vees
from tests.conftest import ENGINES
from tests.forged import forged
from tests.text import E


class Note(NamedTuple):
    text: str | None
    weight: float


def words(arcs: tuple[Arc, ...] = (), event: type | None = Note) -> Automaton:
    return Automaton(
        start="a",
        final={"b"},
        event=event,
        arcs=[Arc("a", "a", lambda e, r: True), Arc("a", "b", lambda e, r: e.text == "go", name="go"), *arcs],
    )


def fed() -> Operator:
    op = Operator(two_vees, window=7)
    for le, change in [(1, -1.0), (2, -1.0), (3, -1.0), (4, 1.0), (5, 1.0), (7, 1.0), (8, -1.0)]:
        op.push(insert(Tick(99.0, change), le))
    op.push(retract(Tick(1.0, 1.0), le=9))
    op.push(Punctuation(3))
    return op


def test_none_nan_and_keys_come_back() -> None:
    first = Keyed(words(), key=lambda e: (e.text, 1), window=9)
    first.push_many([insert(Note(None, float("nan")), 1), insert(Note("go", 1.0), 2)])
    second = Keyed.restore(words(), first.snapshot(), key=lambda e: (e.text, 1))
    assert set(second.keys) == {(None, 1), ("go", 1)}
    assert second.push(retract(Note("go", 1.0), 2)) == first.push(retract(Note("go", 1.0), 2))
    second.push(retract(Note(None, float("nan")), 1))
    assert second.statistics.pending == 0


def test_later_arcs_are_found_by_name() -> None:
    late = Arc("b", "c", lambda e, r: True, name="late", final=True)
    op = Operator(words(), window=9)
    op.push_arc(insert(late))
    op.push(insert(Note("go", 1.0), 1))
    blob = op.snapshot()
    with pytest.raises(SnapshotError, match=r"arcs=\[\.\.\.\] with 1 named 'late'"):
        Operator.restore(words(), blob)
    again = Operator.restore(words(), blob, arcs=[late])
    assert again.push(insert(Note("x", 1.0), 2)) == op.push(insert(Note("x", 1.0), 2)) != []


def test_an_arc_without_a_name_is_refused_when_saving() -> None:
    op = Operator(words(), window=9)
    op.push_arc(insert(Arc("b", "c", lambda e, r: True)))
    with pytest.raises(SnapshotError, match=r"expected a name but got arc b -> c.*give it name="):
        op.snapshot()


def test_an_automaton_s_own_arc_comes_back_after_a_swap() -> None:
    automaton = words()
    op = Operator(automaton, window=9)
    op.push(insert(Note("x", 0.0), 1))
    op.push_arc(retract(automaton.arcs[1]))
    again = Operator.restore(automaton, op.snapshot())
    assert again.push(insert(Note("go", 1.0), 2)) == []
    again.push_arc(insert(automaton.arcs[1]))
    assert len(again.push(insert(Note("go", 1.0), 3))) == 3


@pytest.mark.parametrize("name", ENGINES)
def test_a_retraction_may_wait_for_an_arc_that_the_default_mode_has_put_there(name: str) -> None:
    own = skipping_pair.arcs[0]
    op = Operator(skipping_pair, window=9, engine=name)
    op.push_arc(retract(own, 9))
    op.push(insert(E(2), 8))
    op.push_arc(insert(own))  # in force from 9 on, as the retraction says; it came first, and waits on
    again = Operator.restore(skipping_pair, op.snapshot(), engine=name)
    assert again.statistics == op.statistics
    assert again.statistics.pending == 1
    for side in (op, again):
        side.push_arc(insert(own, 9))
        assert side.statistics.pending == 0
        assert side.push_many([insert(E(0), 9), insert(E(1), 10)]) == [insert(NoRegister(), 10, 18)]
        side._check()


def test_policies_come_back_and_callbacks_must_be_given_again() -> None:
    lates: list[Any] = []
    assert Operator.restore(words(), Operator(words(), late="drop").snapshot())._core.late.policy == "drop"
    blob = Operator(words(), late=lates.append).snapshot()
    with pytest.raises(SnapshotError, match=r"expected late=<callable>"):
        Operator.restore(words(), blob)
    op = Operator.restore(words(), blob, late=lates.append)
    op.push(Punctuation(5))
    op.push(insert(Note("go", 1.0), 4, 9))
    assert [change.le for change in lates] == [4]


def test_payloads_that_are_no_plain_data_are_refused() -> None:
    op = Operator(Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", lambda e, r: True)]))
    op.push(insert(frozenset({1}), 1))
    with pytest.raises(SnapshotError, match=r"expected plain data .* but got frozenset\(\{1\}\)"):
        op.snapshot()
    op.push(retract(frozenset({1}), 1))
    op.push(insert(Note("go", 1.0), 1))
    with pytest.raises(SnapshotError, match=r"give the Automaton event="):
        op.snapshot()
    op.push(retract(Note("go", 1.0), 1))
    op.push(insert(("go", (1, None)), 1))
    assert Operator.restore(op.automaton, op.snapshot()).statistics == op.statistics


def test_every_damaged_byte_is_noticed() -> None:
    blob = fed().snapshot()
    for i in range(len(blob)):
        with pytest.raises(SnapshotError):
            Operator.restore(two_vees, blob[:i] + bytes([blob[i] ^ 0x41]) + blob[i + 1 :])
    for n in range(0, len(blob), 7):
        with pytest.raises(SnapshotError):
            Operator.restore(two_vees, blob[:n])


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        (b"", r"expected a snapshot \(it begins with b'AFAS'\) but got b''"),
        (b"\x80\x04\x95pickle", r"expected a snapshot"),
        (b"AFAS\x0a" + bytes(20), r"version 9 but got version 10"),
        ("AFAS", r"expected the bytes of a snapshot but got str"),
    ],
)
def test_foreign_blobs_are_refused(blob: Any, message: str) -> None:
    with pytest.raises(SnapshotError, match=message):
        Operator.restore(two_vees, blob)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ((), None),
        ((), []),
        ((), lambda body: [*body, 1]),
        ((1,), b"x"),
        ((2, 0), -7),
        ((2, 1), "no_field"),
        ((3, 0), "now"),
        ((4, 0, 0), 99),
        ((4, 0, 0), "unknown"),
        ((4, 0, 0), None),
        ((5,), [[0, 1, 2, "many"]]),
        ((6,), [1, 2]),
        ((7,), 5),
        ((7,), b"0"),
        ((8,), 5),
        ((8, 0), [1, None, [[]]]),
        ((8, 0), [2, None, [None, None]]),
        ((8, 1), [2**62, b"\0"]),
        ((8, 1), [-6, b"\0"]),
        ((8, 2, 1), b"\0\0\0"),
        ((8, 3, 0), "le"),
        ((8, 3, 0), 3),
        ((3, 2), None),
        ((8, 4), ["fall"]),
        ((8, 4, 1), 7),
        ((8, 5, 1), b"\1\0\0"),
        ((8, 8), [[0, b"\0\0\0"]]),
        ((8, 8, 0), b"\0" * 24),
        ((8, 9, 1), "\0\1\2\4\5\6"),
        ((8, 10, 0), 0),
        ((8, 10, 0), -(2**63)),
        ((8, 11, 0), -2),
        ((8, 12, 0), [1.0] * 6),
        ((8, 12, 1), b"\0" * 40),
        ((8,), lambda found: found[:-1]),
        ((2, 5), [["pric < 3", 7]]),
        ((2, 5), [["price < 3", "late"]]),
        ((8, 13), [[0, 1, None]]),
        ((8, 13), [[7, 1, None, []]]),
        ((8, 13), [[0, 1, 3, [[1, [], [[9, 1, [2.0]]]]]]]),
        ((8, 13), [[0, 1, 3, [[1, [[0, 9, "fall", [1, 2, 3], 1]], []]]]]),
        ((0,), msgpack.ExtType(7, b"import os")),
    ],
)
def test_forged_blobs_are_refused(place: tuple[int, ...], value: Any) -> None:
    blob = fed().snapshot()
    assert Operator.restore(two_vees, forged(blob, place, lambda found: found)).statistics == fed().statistics
    with pytest.raises(SnapshotError):
        Operator.restore(two_vees, forged(blob, place, value))


def test_a_snapshot_of_another_automaton_or_kind_is_refused() -> None:
    with pytest.raises(SnapshotError, match=r"one of an automaton with other states, arcs or schemas"):
        Operator.restore(words(), fed().snapshot())
    with pytest.raises(SnapshotError, match=r"one of Operator: use Operator.restore"):
        Keyed.restore(two_vees, fed().snapshot(), key="price")


def test_arcs_of_one_name_come_back_as_what_they_were() -> None:
    automaton = words()
    newer, newest = (Arc("a", "b", lambda e, r, x=x: e.weight > x, name="go") for x in (10, 20))
    op = Operator(automaton, window=9)
    for old, new in [(automaton.arcs[1], newer), (newer, newest)]:
        op.push(insert(Note("go", 15.0), op._core.progress.now if op.statistics.events else 1))
        op.push_arc(retract(old))
        op.push_arc(insert(new))
    blob = op.snapshot()
    for arcs in ([], [newest], [newer]):
        with pytest.raises(SnapshotError, match=r"with 2 named 'go'"):
            Operator.restore(automaton, blob, arcs=arcs)
    again = Operator.restore(automaton, blob, arcs=[newer, newest])
    for weight, le in [(15.0, 1), (15.0, 2), (15.0, 3), (25.0, 4)]:
        change = insert(Note("x", weight), le)
        assert again.push(change) == op.push(change), le


def test_a_snapshot_is_the_same_for_the_same_state() -> None:
    blob = fed().snapshot()
    assert Operator.restore(two_vees, blob).snapshot() == blob
    op = Operator(two_vees, window=7)
    for le in (5, 4):
        op.push(retract(Tick(1.0, 1.0), le))
    before = op.snapshot()
    with pytest.raises(LateEventError):
        op.push_many([insert(Tick(1.0, 1.0), 5), Punctuation(5)])
    assert op.snapshot() == before
