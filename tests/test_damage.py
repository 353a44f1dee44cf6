"""Snapshots with a right checksum and something wrong in them are refused in words, or as good as any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgpack
import pytest

from afa import BEGINNING, FOREVER, AfaError, Arc, Automaton, Keyed, Operator, Punctuation, SnapshotError, insert, retract
from punctuation import BoundedDisorder, Union
from speculation import Cleanse, Ordered
from tests.automata import Tick, arc, pair, silence, small, two_vees
from tests.forged import forged
from tests.stress import damage
from tests.stress.mutate import opened, packed, sealed
from tests.text import E, T
from tests.worlds.apart import Apart


def test_a_sample() -> None:
    ends = replace(damage.WORLDS, apart=Apart(20.0, 3 << 30)).run("sample", range(700))
    assert set(ends) == {"refused", "taken"}
    assert min(ends.values()) > 80, ends


def test_a_hang_and_a_crash_are_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(found: Any, blobs: Any, engine: str) -> str:
        while engine == "compiled":
            pass
        raise ValueError("no error of ours")

    monkeypatch.setattr(damage, "judge", judge)
    worlds = replace(damage.WORLDS, apart=Apart(0.2, 3 << 30))
    wrong, hang, also = worlds.outcomes("sample", ((number, None) for number in range(3)))
    assert hang == "(1, None): hang: it took more than 0.2 s"
    assert all("ValueError: 'no error of ours'" in str(each) for each in (wrong, also))


# -- one by one ----------------------------------------------------------------------------------------------------------------


def promised() -> Operator:
    """A cover, events, a retraction that waits, an arc with a lifetime, a retraction of one that waits."""
    op = Operator(pair, window=9)
    for change in [
        insert(E(2, 1), 1),
        insert(E(0, 1), 3),
        Punctuation(4),
        insert(E(0, 2), 5),
        insert(E(2, 3), 6),
        retract(E(1, 1), 7),
    ]:
        op.push(change)
    op.push_arc(insert(pair.arcs[0], 8, 20))
    op.push_arc(retract(pair.arcs[0], 9, 30))
    return op


WRONG: list[tuple[tuple[int, ...], Any, str]] = [
    ((2, 2), 0, r"expected yes or no as options but got \[9, None, 0, 'raise', "),
    ((3, 2), 3, r"expected what is final to be what is promised but got Marks\("),
    ((3, 1), 2, r"expected promises of the arc input of an operator with arc_punctuation=True but got"),
    ((3, 3), 4, r"expected a present past all promises but got Marks"),
    ((3, 3), 6, r"expected events before the present but got Marks"),
    ((3, 5), 3, r"expected retractions=False with promises that have a condition"),
    ((3, 4), -1, r"expected a count of at least 0 but got -1"),
    ((4, -1, 2), 8, r"expected re > le of arc 'a-b'.* but got \(8, 8\)"),
    ((4, -1, 2), 3, r"expected re > le of arc 'a-b'.* but got \(8, 3\)"),
    ((4, 0, 2), 4, r"expected an end of arc 'a-b'.* behind 4, which is final but got"),
    ((5, 0, 1), 3, r"expected a retraction of arc 'a-b'.* that is not overdue but got \(3, 30\)"),
    ((5, 0, 3), 0, r"expected a count of at least 1 but got 0"),
    ((5,), lambda found: [*found, *found], r"expected different retractions of arcs that wait"),
    ((6, 0), -1, r"expected a count of at least 0 but got -1"),
    ((8, 0), [1, None, [5]], r"expected no key but got \[5\]"),
    ((8, 0), [2, None, [None, None]], r"expected 2 different keys but got \[None, None\]"),
    ((8, 0), [2**60, 0, [[0, b"\0"]]], r"expected 1152921504606846976 numbers but got b'\\x00'"),
    ((8, 1), [2**60, b"\0"], r"expected 1152921504606846976 numbers but got"),
    ((8, 1), [-3, b"\0"], r"expected counts but got array"),
    ((8, 3, 0), 4, r"expected a cover before what is final but got one without"),
    ((8, 4), ["b", "b"], r"expected different states but got \['b', 'b'\]"),
    ((8, 5, 0), 4, r"expected partial matches that began by their cover"),
    ((8, 6, 0), 4, r"expected partial matches that can go on"),
    ((8, 7, 0), 1, r"expected states that have names"),
    ((8, 9, 0), 3, r"expected events that are not final"),
    ((8, 10, 0), 0, r"expected re > le"),
    ((8, 11, 0), 0, r"expected numbers of copies"),
    ((8, 11, 0), BEGINNING, r"expected numbers of copies"),
]


@pytest.mark.parametrize(("place", "value", "message"), WRONG)
def test_what_is_wrong_is_told(place: tuple[int, ...], value: Any, message: str, engine: Any) -> None:
    blob = promised().snapshot()
    assert Operator.restore(pair, blob, engine=engine).snapshot() == blob
    with pytest.raises(SnapshotError, match=message):
        Operator.restore(pair, forged(blob, place, value), engine=engine)


KEYS: dict[str, list[Any]] = {
    "ints": [5, -3, 2**40],
    "texts": ["b", "ü", "a long text", ""],
    "floats": [0.5, -2.25],
    "bools": [True, False],
    "missing": [("a", 1), ("b", None), ("c", 2)],
    "any": [1, "a", (2, "b")],
}
WRONG_KEYS: list[tuple[str, tuple[int, ...], Any, str]] = [
    ("ints", (0,), 4, r"expected 4 numbers but got b'"),
    ("ints", (0,), -1, r"expected a number of keys but got -1"),
    ("ints", (0,), 2**62, r"expected 4611686018427387904 numbers but got b'"),
    ("ints", (1,), 2, r"expected a column of keys for each part but got \[2, \['int'\]\]"),
    ("ints", (1,), -1, r"expected a column of keys for each part but got \[-1, \['int'\]\]"),
    ("ints", (2,), ["object"], r"expected kinds of keys but got \['object'\]"),
    ("ints", (2,), [["int"]], r"expected kinds of keys but got \[\['int'\]\]"),
    ("ints", (3,), None, r"expected a column of keys for each part"),
    ("ints", (3, 0), b"\xe0", r"expected keys of one kind, some of them None but got int"),
    ("ints", (4, 0, 1), lambda found: found[8:] + found[:8], r"expected different keys in order but got \["),
    ("ints", (4, 0, 1), lambda found: found[:8] * 3, r"expected different keys in order but got \[-3, -3, -3\]"),
    ("texts", (4, 0, 0, 1), lambda found: bytes(4), r"expected texts side by side but got"),
    ("texts", (4, 0, 0, 0), -1, r"expected counts but got array"),
    ("texts", (4, 0, 0), [2**62, bytes(4)], r"texts side by side but got|expected counts"),
    ("texts", (4, 0, 1), lambda found: found[:-1] + b"\xff", r"(?i)invalid UTF8|expected different keys in order"),
    ("texts", (4, 0, 1), lambda found: found[::-1], r"(?i)invalid UTF8|expected different keys in order"),
    ("texts", (4, 0, 1), "text", r"expected texts side by side but got text"),
    ("texts", (4, 0), [], r"expected a snapshot's fields but got something else"),
    ("floats", (4, 0), lambda found: found[:-1], r"expected 2 floats but got b'"),
    ("floats", (4, 0), lambda found: found[8:] + found[:8], r"expected different keys in order but got"),
    ("floats", (4, 0), b"\0\0\0\0\0\0\xf8\x7f\1\0\0\0\0\0\xf8\x7f", r"expected different keys in order but got \[nan, nan\]"),
    ("floats", (4, 0), b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80", r"expected different keys in order but got \[0.0, 0.0\]"),
    ("bools", (4, 0), b"\xc0", r"expected different keys in order but got \[True, True\]"),
    ("bools", (4, 0), b"", r"expected 2 bits but got b''"),
    ("missing", (3, 1), b"\0", r"expected 0 numbers but got|keys of one kind, some of them None"),
    ("missing", (3, 1), b"\xe0", r"expected 3 numbers but got"),
    ("missing", (3, 1), 5, r"expected 3 bits but got 5"),
    ("any", (4, 0), [1, True, 1.0], r"expected 3 different keys but got \[1, True, 1.0\]"),
    ("any", (4, 0), [1, [2], 3], r"expected a hashable payload but got \[2\]"),
    ("any", (3, 0), b"\xa0", r"expected a list of 2 keys|expected keys of one kind, some of them None but got any"),
]


@pytest.mark.parametrize(("kind", "place", "value", "message"), WRONG_KEYS)
def test_what_is_wrong_with_keys_is_told(kind: str, place: tuple[int, ...], value: Any, message: str, engine: Any) -> None:
    op = Keyed(pair, key=lambda e: e, window=9, engine=engine)
    for key in KEYS[kind]:
        op.push(insert(E(2, 1), 1), key=key)
    blob = op.snapshot()
    again = Keyed.restore(pair, blob, key=lambda e: e, engine=engine)
    assert again.snapshot() == blob
    assert sorted(map(repr, again.keys)) == sorted(map(repr, KEYS[kind]))
    with pytest.raises(SnapshotError, match=message):
        Keyed.restore(pair, forged(blob, (8, 0, *place), value), key=lambda e: e, engine=engine)


def test_events_twice_are_refused(engine: Any) -> None:
    op = Operator(pair, window=9)
    op.push_many([insert(E(0, 1), 1), insert(E(0, 2), 1)])
    blob = op.snapshot()
    with pytest.raises(SnapshotError, match=r"expected rows in order, each of them once"):
        Operator.restore(pair, forged(blob, (8, 12, 1), [1, b"\0\0"]), engine=engine)


def test_a_sequence_that_is_no_number_is_refused(engine: Any) -> None:
    op = Operator(two_vees, window=9, order_by="price", engine=engine)
    op.push(insert(Tick(7.0, 1.0), 1))
    blob = forged(op.snapshot(), (8, 12, 0), b"\0\0\0\0\0\0\xf8\x7f")
    with pytest.raises(SnapshotError, match=r"expected a number as price but got nan"):
        Operator.restore(two_vees, blob, engine=engine)


def test_a_retraction_that_the_operator_does_not_take_is_refused(engine: Any) -> None:
    op = Operator(pair, window=9, retractions=False, engine=engine)
    op.push(insert(E(0, 1), 1))
    with pytest.raises(SnapshotError, match=r"expected no retractions \(retractions=False\)"):
        Operator.restore(pair, forged(op.snapshot(), (8, 11, 0), -1), engine=engine)


def nested(depth: int) -> bytes:
    """A tuple in tuples, as msgpack."""
    found = msgpack.packb([1])
    for _ in range(depth):
        found = msgpack.packb([msgpack.ExtType(1, found)])
    return found


def test_tuples_may_not_lie_deep_in_one_another() -> None:
    """Each level takes kilobytes of the stack: four hundred of them, in 2,000 bytes, ended the process."""
    op = Operator(Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", lambda e, r: True)]))
    deep: Any = 1
    for _ in range(30):
        deep = (deep,)
    op.push(insert(deep, 1))
    assert Operator.restore(op.automaton, op.snapshot()).statistics.events == 1
    for _ in range(5):
        deep = (deep,)
    op.push(insert(deep, 2))
    with pytest.raises(SnapshotError, match=r"tuples more than 32 deep"):
        op.snapshot()
    for depth in (33, 400, 5000):
        with pytest.raises(SnapshotError, match=r"tuples more than 32 deep"):
            Operator.restore(op.automaton, sealed(promised().snapshot(), nested(depth)))


def test_lists_that_lie_deep_in_one_another_are_refused() -> None:
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    for place in [(0,), (1,), (2, 1), (2, 5), (4, 0, 0), (6, 0), (8,), (8, 0), (8, 4), (8, 13)]:
        with pytest.raises(SnapshotError):
            Operator.restore(pair, forged(promised().snapshot(), place, deep))


def test_what_a_function_raises_on_what_none_has_sent_is_a_snapshot_s_fault(engine: Any) -> None:
    program = Automaton(start="a", final={"b"}, event=E, arcs=[Arc("a", "b", lambda e, r: 6 // e.kind > 1)])
    op = Operator(program, window=5, engine=engine)
    op.push(insert(E(2, 1), 1))
    with pytest.raises(SnapshotError, match=r"got something else: .*zero"):
        Operator.restore(program, forged(op.snapshot(), (8, 12, 0), [0, b"\0"]), engine=engine)


# -- steps that are given ------------------------------------------------------------------------------------------------------


def thinned(engine: Any) -> Keyed:
    """A key whose steps promises with conditions have thinned out."""
    program = small("a", "c", arc("a", "b", "e.sort == 0"), arc("b", "b", "e.sort != 0"), arc("b", "c", "e.sort == 1"), event="T")
    op = Keyed(program, key="seq", window=90, retractions=False, engine=engine)
    for le in range(1, 12):
        op.push(insert(T(le % 3, 7), le))
    op.push(Punctuation(9, "sort == 0"))
    op.push(Punctuation(7, "sort == 2"))
    return op


def other(step: int, *place: int) -> Callable[[Any], Callable[[Any], Any]]:
    """Something else in a given step."""

    def make(value: Any) -> Callable[[Any], Any]:
        def change(found: Any) -> Any:
            inner = found[0][3][step]
            for i in place[:-1]:
                inner = inner[i]
            inner[place[-1]] = value(inner[place[-1]]) if callable(value) else value
            return found

        return change

    return make


GIVEN: list[tuple[Any, str]] = [
    (lambda found: [*found, *found], r"expected keys of steps, in order but got \[0, 0\]"),
    (lambda found: [[1, *found[0][1:]]], r"expected keys of steps, in order but got \[1\]"),
    (lambda found: [[0, 10, *found[0][2:]]], r"expected a promise of at most 9 for a key but got 10"),
    (lambda found: [[*found[0][:2], None, found[0][3]]], r"expected a list of steps but got"),
    (lambda found: [[*found[0][:3], found[0][3][::-1]]], r"expected steps in order but got \["),
    (lambda found: [[*found[0][:2], 1, found[0][3]]], r"expected all steps but one up to the last that is thinned out"),
    (
        lambda found: [[*found[0][:2], 9, found[0][3]]],
        r"expected one step more than those that are thinned out",
    ),
    (other(-1, 0)(99), r"expected steps before the present but got"),
    (other(3, 1, 0, 0)(99), r"expected a partial match that began by then but got 99"),
    (other(3, 1, 0, 1)(-5), r"expected a partial match that can go on but got -5"),
    (other(3, 1, 0, 4)(2**40), r"expected a later step as the end of a partial match but got 1099511627776"),
    (other(3, 1)(lambda rows: [*rows, rows[0]]), r"expected each partial match once"),
    (other(-1, 2, 0, 0)(1), r"expected re > le but got 1"),
    (other(-1, 2, 0, 1)(0), r"expected a count of at least 1 but got 0"),
    (other(-1, 2)(lambda events: events * 2), r"expected each event once"),
]


@pytest.mark.parametrize(("change", "message"), GIVEN)
def test_given_steps_are_looked_at_one_by_one(change: Any, message: str, engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("afa.conditions.promised.ROOM", 0)
    op = thinned(engine)
    blob = op.snapshot()
    assert opened(blob)[8][13][0][3], "nothing was thinned out"
    again = Keyed.restore(op.automaton, blob, key="seq", engine=engine)
    again._check()
    with pytest.raises(SnapshotError, match=message):
        Keyed.restore(op.automaton, forged(blob, (8, 13), change), key="seq", engine=engine)


# -- chains, stages, sources ---------------------------------------------------------------------------------------------------


def test_promises_do_not_go_back_in_a_chain(engine: Any) -> None:
    op = Keyed(pair, key="seq", window=9, engine=engine)
    op.push(insert(E(0, 1), 5))
    first = op.snapshot(incremental=True)
    op.push(Punctuation(3))
    second = op.snapshot(incremental=True)
    ahead = forged(forged(first, (3, 0), 4), (3, 2), 4)
    body = opened(second)
    body[7] = opened(second)[7]
    with pytest.raises(SnapshotError, match=r"expected as snapshot number 2 of 2 the incremental one"):
        Keyed.restore(pair, [ahead, second], key="seq", engine=engine)
    from afa.operator import snapshot

    body[7] = snapshot._digest(ahead)
    with pytest.raises(SnapshotError, match=r"expected promises that do not go back from one snapshot to the next"):
        Keyed.restore(pair, [ahead, sealed(second, packed(body))], key="seq", engine=engine)


ORDERED: list[tuple[tuple[int, ...], Any, str]] = [
    ((8, 11, 1), bytes([3, 2, 0]), r"expected each number once"),
    ((8, 12, 1, 1), bytes([1, 0, 7]), r"expected numbers that ascend with their times"),
    ((8, 14, 1, 0), 2, r"expected numbers that ascend with their times"),
    ((8, 14, 2, 0), 2, r"expected a cover with the end of its event"),
    ((8, 14, 2, 0), 21, r"expected partial matches that end with their cover"),
    ((8, 14, 0), b"", r"expected 1 bits"),
    ((8, 14, 0), bytes(1), r"expected a cover of each key with partial matches"),
    ((8, 14), None, r"expected a cover with the end of its event"),
    ((2, 6), None, r"expected no numbers of covers"),
    ((2, 6, 0), "kind", r"expected the field 'kind', which numbers the events, or none but got order_by='seq'"),
    ((2, 6, 0), "kind2", r"expected a field of E"),
    ((2, 6, 1), "close", r'expected gaps="break" or "join"'),
    ((2, 6, 2), "keep", r'expected repeated="raise", "drop" or a callable'),
    ((2, 6, 3), [0, 1], r"expected a snapshot's fields"),
    ((2, 6, 3), [1], r"expected a snapshot's fields"),
    ((2, 6, 3), [-1, 0, 0], r"expected"),
]


@pytest.mark.parametrize(("place", "value", "message"), ORDERED)
def test_numbers_are_looked_at(place: tuple[int, ...], value: Any, message: str) -> None:
    op = Ordered(pair, number="seq", window=20)
    for item in [insert(E(0, 1), 2), Punctuation(4), insert(E(0, 2), 5), insert(E(1, 3), 6), retract(E(0, 9), 9)]:
        op.push(item)
    blob = op.snapshot()
    Ordered.restore(pair, blob)._check()
    with pytest.raises(SnapshotError, match=message):
        Ordered.restore(pair, forged(blob, place, value))


@pytest.mark.parametrize("place", ["before", "after"])
def test_what_waits_at_an_operator_without_keys_has_none(place: str, engine: Any) -> None:
    around: Any = getattr(Cleanse(4), place)(Operator(pair, window=9, engine=engine))
    around.push(Punctuation(-9))
    around.push_many([insert(E(0, 1), 1), insert(E(1, 1), 2)])
    blob = around.snapshot()
    Operator.restore(pair, blob, engine=engine)._check()
    with pytest.raises(SnapshotError, match=r"expected no keys of what waits but got \["):
        Operator.restore(pair, forged(blob, (2, 1, 0), 5), engine=engine)


def test_a_union_s_silence_is_a_time() -> None:
    union = Union({"a": BoundedDisorder(1)}, idle_after=5)
    blob = union.snapshot()
    for silence_ in (-1.0, float("nan"), float("inf"), "nan", None, True):
        with pytest.raises(AfaError, match=r"expected a count, and how long each has been silent, but got 0 and"):
            union.restore(forged(blob, (2, 1, 0), silence_))


def test_what_lies_at_both_ends_of_time_comes_back(engine: Any) -> None:
    op = Operator(silence, engine=engine)
    op.push_many([insert(E(0, 1), BEGINNING), insert(E(0, 2), FOREVER - 1), insert(E(2, 2), 0, FOREVER)])
    blob = op.snapshot()
    again = Operator.restore(silence, blob, engine=engine)
    assert again.snapshot() == blob
    assert again.push(Punctuation(FOREVER)) == op.push(Punctuation(FOREVER))
