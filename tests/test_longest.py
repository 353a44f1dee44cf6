"""``longest=True``: of matches with equal payload and LE only the one with the largest RE is in force."""

from typing import NamedTuple

import pytest

import afa
from afa import AfaError, Arc, Automaton, Keyed, Operator, SnapshotError, insert, retract
from afa.operator.saved_options import SavedOptions
from speculation import Choose, Cleanse
from tests.automata import Count
from tests.forged import forged

TICK = SavedOptions._fields.index("tick")


class Event(NamedTuple):
    kind: str
    n: int = 0
    key: str = "k"


ANY = Automaton(
    start="start",
    final={"end"},
    event=Event,
    register=Count(),
    arcs=[
        Arc("start", "a", "e.kind == 'a'", "Count(e.n)"),
        Arc.skip("a", "True"),
        Arc("a", "end", "e.kind == 'b'"),
    ],
)  # fmt: skip


def a(n: int = 0) -> Event:
    return Event("a", n)


B = Event("b")


def told(changes: list) -> list:
    return [(change.payload.n, change.le, change.re, change.diff) for change in changes]


def test_one_partial_match_of_a_state_and_register() -> None:
    op, plain = (Operator(ANY, window=100, engine="interpreted", longest=longest) for longest in (True, False))
    for le in range(50):
        op.push(insert(a(le % 2), le))
        plain.push(insert(a(le % 2), le))
    assert len(op._core.engine.states[None].index[49].nodes) == 2
    assert len(plain._core.engine.states[None].layer(plain._core.engine.states[None].index[49])) == 50


class Held(NamedTuple):
    n: int = 0
    rest: int = 0


def test_of_registers_that_show_the_same_one_match_is_in_force(engine: str) -> None:
    arcs = [Arc("start", "a", "e.kind == 'a'", "Held(1, e.n)"), Arc.skip("a", "True"), Arc("a", "end", "e.kind == 'b'")]
    op = Operator(
        Automaton(start="start", final={"end"}, event=Event, register=Held(), shown=Count, arcs=arcs),
        window=10,
        longest=True,
        engine=engine,
    )
    assert told(op.push_many([insert(a(5), 1), insert(a(6), 2), insert(B, 4)])) == [(1, 4, 12, 1)]
    assert told(op.push(retract(a(6), 2))) == [(1, 4, 12, -1), (1, 4, 11, 1)]
    op._check()


def test_a_promise_keeps_the_longest_only(engine: str) -> None:
    op = Operator(ANY, window=10, longest=True, engine=engine)
    op.push_many([insert(a(), 1), insert(a(), 3), afa.Punctuation(5)])
    assert op.statistics.partial_matches == 1
    assert told(op.push(insert(B, 5))) == [(0, 5, 13, 1)]
    op._check()


def test_snapshots_say_it() -> None:
    op = Operator(ANY, window=10, longest=True)
    op.push_many([insert(a(), 1), insert(a(), 3)])
    blob = op.snapshot()
    again = Operator.restore(ANY, blob)
    assert again.snapshot() == blob
    assert told(again.push(insert(B, 5))) == told(op.push(insert(B, 5))) == [(0, 5, 13, 1)]
    plain = Operator(ANY, window=10)
    plain.push_many([insert(a(), 1), insert(a(), 3), afa.Punctuation(5)])
    with pytest.raises(SnapshotError, match="expected one partial match of a state and register but got several"):
        Operator.restore(ANY, _with_further(plain.snapshot(), [["longest", True]]))
    with pytest.raises(SnapshotError, match="expected further options that are known but got"):
        Operator.restore(ANY, _with_further(blob, [["longest", 1]]))
    with pytest.raises(SnapshotError, match="expected further options, once each, by name but got"):
        Operator.restore(ANY, _with_further(blob, [["longest", True], ["longest", True]]))


def _with_further(blob: bytes, further: list) -> bytes:
    return forged(blob, (2,), lambda said: [*said[:TICK], None, None, None, further])


def test_incremental_snapshots() -> None:
    op = Keyed(ANY, key="key", window=10, longest=True)
    op.push(insert(a(), 1))
    first = op.snapshot(incremental=True)
    op.push(insert(a(), 3))
    again = Keyed.restore(ANY, [first, op.snapshot(incremental=True)], key="key")
    assert told(again.push(insert(B, 5))) == [(0, 5, 13, 1)]


def test_queries() -> None:
    text = """
        PATTERN SEQ(Event a, Event b) WHERE skip_till_any_match(a, b) { [key] and a.kind == 'a' and b.kind == 'b' }
        WITHIN 10 RETURN b.n AS n
    """
    op = afa.query(text, event=Event).operator(longest=True)
    assert told(op.push_many([insert(a(), 1), insert(a(), 3), insert(Event("b", 8), 5)])) == [(8, 5, 13, 1)]


def test_a_choice_is_made_among_all_matches() -> None:
    chosen = afa.sql(
        """SELECT * FROM Event MATCH_RECOGNIZE (PARTITION BY key ORDER BY le MEASURES B.n AS n AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A B) WITHIN INTERVAL '10' SECOND DEFINE A AS kind = 'a', B AS kind = 'b')""",
        event=Event,
        tick="s",
    )
    with pytest.raises(AfaError, match="longest=True can't be combined with AFTER MATCH SKIP because it chooses among all matches"):
        chosen.operator(longest=True)
    with pytest.raises(AfaError, match="expected an operator of all matches for a Choose behind it but got longest=True"):
        Choose(window=10).after(Operator(ANY, window=10, longest=True))
    held = Cleanse(0).after(Operator(ANY, window=10, longest=True))
    assert held.push_many([insert(a(), 1), insert(a(), 3), insert(B, 5)]) == []
    assert told(held.push(afa.Punctuation(9))[:-1]) == [(0, 5, 13, 1)]


def test_find_and_backtest() -> None:
    frame = {"kind": ["b", "a", "a"], "n": [0, 0, 0], "key": ["k"] * 3, "le": [5, 1, 3]}
    for engine in ("auto", "interpreted"):
        found = afa.find(ANY, frame, window=10, longest=True, engine=engine)
        assert (found["le"].tolist(), found["re"].tolist()) == ([5], [13])
    tested = afa.backtest({"any": ANY}, frame, window=10, longest=True)
    assert (tested.table["matches"].tolist(), tested.table["withdrawn"].tolist()) == ([1], [1])
    ties = {"kind": ["a", "b", "b"], "n": [0] * 3, "key": ["k"] * 3, "le": [1, 5, 5], "re": [50, 7, 9]}
    tested = afa.backtest({"any": ANY}, ties, until="re", longest=True)
    assert (tested.table["matches"].tolist(), tested.table["withdrawn"].tolist()) == ([1], [1])


def test_threads_change_nothing() -> None:
    rows = 4000
    numbers = [(31 * i * i + 7 * i) % 1009 for i in range(rows)]
    table = {
        "kind": ["aab"[n % 3] for n in numbers],
        "n": [n % 5 for n in numbers],
        "key": [f"k{n % 83}" for n in numbers],
        "le": [i // 4 + n % 40 for i, n in enumerate(numbers)],
    }
    found = []
    for options in ({"threads": 1}, {"threads": 3}, {"engine": "interpreted"}):
        op = Keyed(ANY, key="key", window=60, longest=True, **options)
        outs = [op.push_many({name: column[low : low + 1000] for name, column in table.items()}) for low in range(0, rows, 1000)]
        op._check()
        columns = [out[name].tolist() for out in outs for name in ("key", "n", "le", "re", "diff")]
        found.append((columns, op.snapshot()))
    assert found[0] == found[1]
    assert [sorted(zip(*columns[i : i + 5])) for columns, _ in (found[0],) for i in range(0, 20, 5)] == [
        sorted(zip(*columns[i : i + 5])) for columns, _ in (found[2],) for i in range(0, 20, 5)
    ]
    assert len(found[0][0][0]) > 100
