"""Budgets: how many partial matches of a key may stand at one step, how many bytes there may be; what a refused call leaves.

What must be refused is worked out on an interpreted twin without a bound: a call after which a step of it holds more. Random
automata in tiny worlds, pushed one by one (in any order, with retractions) and as tables in order, on both engines.
"""

from __future__ import annotations

import copy
import json
import pickle
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from afa import (
    AfaError,
    Arc,
    Automaton,
    BudgetError,
    Instant,
    Keyed,
    Operator,
    Punctuation,
    SnapshotError,
    backtest,
    find,
    insert,
    retract,
    sql,
)
from afa.compiled import choices, memory
from afa.engine import budget
from afa.replay import amend, replay, sweep
from afa.situations import Situation, TemporalPattern
from afa.uncertain import Worlds, between
from tests.automata import Count
from tests.strategies import Choices, Seeded, automaton, lifetime, payload
from tests.text import E, T, automaton_of
from tests.worlds.kind import Seen
from tests.worlds.kind import Worlds as RandomWorlds

ENGINES = ("interpreted", "compiled")


def longest_list(op: Any) -> int:
    """The most partial matches that stand at any step of any key of an interpreted operator."""
    return max((len(s.layer(y)) for s in op._core.engine.states.values() for y in s.index.values()), default=0)


def push_all(op: Any, rows: Any) -> None:
    for row in rows:
        op.push(row)


def by_changes(choose: Choices, engine: str, singly: bool) -> int:
    """One world of single pushes, or of lists of changes in which events also move. Returns how many calls were refused."""
    made = automaton_of({**automaton(choose), "event": "E"})
    bound = choose.number(1, 6)
    options: dict[str, Any] = {"window": choose.number(2, 9), "longest": choose.chance(30)}
    op = Operator(made, engine=engine, partial_matches=bound, **options)
    free = Operator(made, engine="interpreted", partial_matches=None, **options)
    refused, held = 0, list[Any]()
    for _ in range(25 if singly else 12):
        then, part = list(held), list[Any]()
        for _ in range(1 if singly else choose.number(1, 5)):
            event, le, re = payload(choose), *lifetime(choose, choose.one(["window", "mixed"]))
            goes = then and choose.chance(25 if singly else 60)
            if goes:
                event, *old = then.pop(choose.number(0, len(then) - 1))
                part.append(retract(E(*event), old[0], re=old[1]))
            if not goes or (not singly and choose.chance(80)):
                part.append(insert(E(*event), le, re=re))
                then.append((event, le, re))

        def push(one: Any, part: list[Any] = part) -> None:
            one.push(part[0]) if singly else one.push_many(part)

        twin, before = copy.deepcopy(free), op.snapshot()
        push(twin)
        if longest_list(twin) > bound:  # what stands at the end of a call counts
            with pytest.raises(BudgetError, match=f"at most {bound:,} partial matches of one key at one step"):
                push(op)
            assert op.snapshot() == before, "a refused call has left something"
            refused += 1
        else:
            push(op)
            free, held = twin, then
        op._check()
    return refused


def in_order(choose: Choices, engine: str) -> int:
    """One world of rows in order, in tables of the same size. Returns 1 if one was refused, with all of its rows."""
    spec = json.loads(json.dumps({**automaton(choose), "event": "T"}).replace("e.kind", "e.sort"))
    bound, keyed, n = choose.number(1, 8), choose.chance(30), choose.number(10, 60)
    options: dict[str, Any] = {"window": choose.number(2, 40), "longest": choose.chance(30)}
    if keyed:
        options["key"] = "seq"
    kind: Any = Keyed if keyed else Operator
    made = automaton_of(spec)
    op = kind(made, engine=engine, partial_matches=bound, **options)
    free = kind(made, engine="interpreted", partial_matches=None, **options)
    rows, size = [(*payload(choose), le) for le in range(n)], choose.one([1, 7, n])
    for at in range(0, n, size):
        part, over = rows[at : at + size], False
        for sort, seq, le in part:
            free.push(insert(T(sort, seq), le))
            over = over or longest_list(free) > bound
        table = dict(zip(("sort", "seq", "le"), map(list, zip(*part))))
        before = op.snapshot()
        if over:
            with pytest.raises(BudgetError):
                op.push_many(table)
            assert op.snapshot() == before
            return 1
        op.push_many(table)
        op._check()
    return 0


KINDS = {"one by one": partial(by_changes, singly=True), "in order": in_order, "in lists": partial(by_changes, singly=False)}


def run(kind: str, engine: str, seed: str, first: int, worlds: int) -> int:
    """Run worlds of a kind. Returns how many calls were refused."""
    return sum(KINDS[kind](Seeded(f"{seed} {number}"), engine) for number in range(first, first + worlds))


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the loops over rows in order, and lists in parts, begin with the first rows."""
    monkeypatch.setattr(choices, "PARTS", 3)
    for name in ("WARM", "AGAIN", "LONG"):
        if hasattr(choices, name):
            monkeypatch.setattr(choices, name, 0)


@pytest.mark.usefixtures("early")
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_refused_is_what_would_hold_more(kind: str, engine: str) -> None:
    assert run(kind, engine, "1", 0, 20 if kind == "in order" else 10) > 2


class V(NamedTuple):
    v: int


def doubling() -> Automaton:
    """Each event doubles what there is: it is taken by one arc or the other."""
    arcs = [
        Arc("0", "a", "v > 0", "(1,)"),
        Arc("a", "a", "v > 0", "(2 * r.n,)"),
        Arc("a", "a", "v > 0", "(2 * r.n + 1,)"),
        Arc("a", "b", "v < 0"),
    ]
    return Automaton(start="0", final={"b"}, event=V, register=Count(), arcs=arcs)


def test_the_error_says_what_doubles(engine: str) -> None:
    op = Keyed(doubling(), key="v", window=100, engine=engine, partial_matches=1000)
    with pytest.raises(BudgetError) as caught:
        push_all(op, [insert(V(7), le) for le in range(20)])
    text = str(caught.value)
    assert (
        "expected at most 1,000 partial matches of one key at one step (partial_matches=1000) but got 1,023 at le=9 of key 7"
        in text
    )
    assert ": 1,023 in state 'a'; one event may do several things in state 'a' (goes on by a -> a, 2 arcs); let" in text
    assert "let conditions exclude each other" in text
    assert op.statistics.events == 9
    op.push(insert(V(-1), 9), key=7)  # it fits: what it leaves is less
    assert op.statistics.matches == 511


class K(NamedTuple):
    k: int
    v: int


@pytest.mark.parametrize("le", [300, 305])
def test_state_that_is_pruned_has_the_same_bound(engine: str, le: int) -> None:
    arcs = [
        Arc("0", "a", "k == 0", "(v,)"),
        Arc("a", "b", "k == 1"),
        Arc("b", "c", "k == 2"),
        *(Arc("0", "z", "k == 9", f"(v + {i},)") for i in range(4)),
        Arc("z", "c", "k == 8"),
    ]
    made = Automaton(start="0", final={"c"}, event=K, register=Count(), arcs=arcs)
    op = Operator(made, window=10_000, engine=engine, retractions=False, partial_matches=2)
    push_all(op, [insert(K(0, 0), t) for t in range(100, 2100, 10)])
    push_all(op, [Punctuation(t, "k == 1") for t in range(350, 4100, 10)])
    with pytest.raises(BudgetError, match=f"at most 2 .* but got [45] at le={le}"):
        op.push(insert(K(9, 1), le))
    op._check()


def test_the_error_leaves_out_what_excludes_each_other(engine: str) -> None:
    arcs = [Arc("0", "a", "v > 0"), Arc("0", "a", "v == 3", "(v,)"), Arc("a", "b", "v > 5"), Arc("a", "c", "v < 5")]
    op = Operator(Automaton(start="0", final={"b"}, event=V, register=Count(), arcs=arcs), engine=engine, partial_matches=1)
    with pytest.raises(
        BudgetError, match=r"2 in state 'a'; one event may do several things in state '0' \(goes on by 0 -> a, 2 arcs\); let"
    ):
        op.push(insert(V(3), 1))


def test_the_error_calls_arcs_of_a_query_by_their_components(engine: str) -> None:
    rows = "ORDER BY at MEASURES COUNT(*) AS n PATTERN (a+ b) WITHIN 100 DEFINE a AS v >= FIRST(v), b AS v > 1"
    op = sql(f"SELECT * FROM t MATCH_RECOGNIZE ({rows})", event=Row).operator(engine=engine, partial_matches=3)
    with pytest.raises(BudgetError, match=r"goes on by a, goes on by b") as caught:
        push_all(op, [insert(Row(le), le) for le in range(9)])
    assert "#" not in str(caught.value)


def test_the_default_is_a_million_and_none_is_no_bound(engine: str) -> None:
    assert Operator(doubling(), engine=engine)._core.budget.partial_matches == 1_000_000
    free = Operator(doubling(), window=100, engine=engine, partial_matches=None)
    free.push_many([insert(V(1), le) for le in range(11)])
    assert free.statistics.partial_matches > 2_000


def test_bytes_are_refused_before_they_are_taken(engine: str) -> None:
    op = Operator(doubling(), window=100, engine=engine, partial_matches=None, max_bytes=8_000_000)
    message = r"expected at most 8,000,000 bytes of state \(max_bytes=8,000,000\) but got a call that needs"
    with pytest.raises(BudgetError, match=message):
        push_all(op, [insert(V(1), le) for le in range(30)])
    before = op.snapshot()
    with pytest.raises(BudgetError, match=message):
        op.push(insert(V(1), 30))
    assert op.snapshot() == before
    assert op._core.budget.claimed <= 8_000_000
    assert 5 < op.statistics.events < 18
    op.push(Punctuation(1000))
    op.push(insert(V(1), 2000))  # it goes on
    assert op.statistics.partial_matches == 1


@pytest.mark.parametrize("sign", [1, -1])
def test_events_that_lead_nowhere_take_bytes(engine: str, sign: int) -> None:
    """And so do retractions that wait."""
    op = Operator(doubling(), engine=engine, max_bytes=1_000_000)
    with pytest.raises(BudgetError, match="expected at most 1,000,000 bytes of state"):
        push_all(op, [insert(V(-1), le)._replace(diff=sign) for le in range(60_000)])
    assert op.statistics.events + op.statistics.pending < 20_000


def growing() -> Automaton:
    """Each event is in every partial match that there is within the window."""
    arcs = [Arc("0", "a", "v > 0", "(v,)"), Arc("a", "a", "v > 0", "(r.n,)"), Arc("a", "b", "v > 5", "(r.n,)")]
    return Automaton(start="0", final={"b"}, event=V, register=Count(), arcs=arcs)


@pytest.mark.parametrize(("threads", "most"), [(0, None), (1, None), (2, None), (0, 85)])
@pytest.mark.parametrize("max_bytes", [4_000_000, 10_000_000])
def test_a_refused_call_takes_no_bytes_from_later_ones(max_bytes: int, threads: int, most: int | None) -> None:
    kind: Any = Keyed if threads else Operator
    options: dict[str, Any] = {"key": "v", "threads": threads} if threads else {}
    op = kind(growing(), window=40, engine="compiled", max_bytes=max_bytes, partial_matches=most, **options)
    choose, base, taken = Seeded(f"bytes {max_bytes}"), 0, 0
    for _ in range(10):
        n = choose.one([10, 50, 100, 300])
        large = n + 40 if most else 20_000
        les = [*range(base, base + large), *[base + large] * (50 * (most is not None))]  # 50 partial matches, or many bytes
        assert not does(op, {"v": [7] * large + list(range(50 * bool(most))), "le": les})
        more = {"v": [7 + i % 3 * bool(threads) for i in range(n * 3 // 2)], "le": list(range(base, base + n * 3 // 2))}
        fresh = kind.restore(growing(), op.snapshot(), engine="compiled", max_bytes=max_bytes, **options)
        if does(fresh, more):
            assert does(op, {name: column[:n] for name, column in more.items()}), (
                f"{n} rows are refused, where a new operator takes half as many again"
            )
            base, taken = base + n, taken + 1
            op.push(Punctuation(base - 5))
        op._check()
    assert taken > 3


def test_what_the_system_does_not_give_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    op = Operator(growing(), window=40, engine="compiled")
    op.push_many({"v": [7] * 9, "le": list(range(9))})
    claimed = op._core.budget.claimed

    def none(*_: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(memory.EngineMemory, "_resize", none)
        with pytest.raises(MemoryError):
            op._core.engine.store.memory.grow("rows")
    op._core.engine.rollback()
    assert op._core.budget.claimed == claimed


def test_a_log_grows_by_less_where_there_is_not_more() -> None:
    op = Operator(growing(), engine="compiled", max_bytes=1_000_000)
    found, arrays = op._core.budget, op._core.engine.store.memory
    found.hold("another", 980_000 - found.claimed)
    arrays.grow("undo")
    assert arrays.sizes["undo"] == 2 * memory.SIZES["undo"]
    assert found.claimed == 980_000 + memory.SIZES["undo"] * 8


def does(op: Any, table: Any) -> bool:
    """Return whether an operator takes a table."""
    try:
        op.push_many(table)
    except BudgetError:
        return False
    return True


def test_without_a_number_bytes_are_what_the_machine_has_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "free_memory", lambda: 40_000_000)
    monkeypatch.setattr(budget, "UNASKED", 1 << 22)
    op = Operator(doubling(), window=100, engine="compiled", partial_matches=None)
    with pytest.raises(BudgetError, match="bytes of state \\(three quarters of what was free\\)"):
        push_all(op, [insert(V(1), le) for le in range(30)])


def test_what_is_free_is_a_number() -> None:
    assert budget.free_memory() > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partial_matches": 0}, "expected partial_matches of at least 1, or None, but got partial_matches=0"),
        ({"partial_matches": True}, "expected partial_matches of at least 1, or None, but got partial_matches=True"),
        ({"partial_matches": 2.5}, "expected partial_matches of at least 1, or None, but got partial_matches=2.5"),
        ({"max_bytes": 5}, "expected max_bytes of at least 1,000,000, or None, but got max_bytes=5"),
    ],
)
def test_bounds_that_are_none(options: dict[str, Any], message: str) -> None:
    with pytest.raises(AfaError, match=message):
        Operator(doubling(), **options)


def test_a_restore_refuses_the_same_bounds_as_arguments() -> None:
    blob = Operator(doubling()).snapshot()
    for options in ({"max_bytes": 5}, {"partial_matches": 0}):
        name, value = next(iter(options.items()))
        with pytest.raises(AfaError, match=f"^expected {name} of at least .*, or None, but got {name}={value}$") as caught:
            Operator.restore(doubling(), blob, **options)  # type: ignore[arg-type]
        assert type(caught.value) is AfaError, "it is reported as a fault of the snapshot"


def test_the_largest_bounds_are_those_of_int64(engine: str) -> None:
    op = Operator(doubling(), engine=engine, partial_matches=2**70, max_bytes=2**70)
    op.push(insert(V(1), 1))
    again = Operator.restore(doubling(), op.snapshot(), engine=engine)
    again.push(insert(V(1), 2))
    assert again._core.budget.partial_matches == 2**63 - 1
    saved = blob_with_bound(op, 2**63)
    with pytest.raises(SnapshotError, match="partial_matches"):
        Operator.restore(doubling(), saved, engine=engine)


def blob_with_bound(op: Any, most: int) -> bytes:
    op._core.budget.partial_matches = most
    return op.snapshot()  # type: ignore[no-any-return]


def test_a_bound_is_kept_by_copies_pickles_and_snapshots(engine: str) -> None:
    op = Operator(doubling(), window=100, engine=engine, partial_matches=100)
    op.push_many([insert(V(1), le) for le in range(6)])
    others = [
        copy.deepcopy(op),
        copy.copy(op),
        pickle.loads(pickle.dumps(op)),
        Operator.restore(doubling(), op.snapshot(), engine=engine),
    ]
    for other in others:
        with pytest.raises(BudgetError, match="at most 100 partial matches"):
            other.push(insert(V(1), 6))
    larger = Operator.restore(doubling(), op.snapshot(), engine=engine, partial_matches=200)
    larger.push(insert(V(1), 6))
    smaller = Operator.restore(doubling(), op.snapshot(), engine=engine, partial_matches=1)  # what is held stays
    assert smaller.statistics.partial_matches == op.statistics.partial_matches
    with pytest.raises(BudgetError, match="at most 1 partial"):
        smaller.push(insert(V(1), 6))


def test_bytes_that_were_said_are_restored_and_others_can_be_said() -> None:
    query = sql("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at PATTERN (a b) WITHIN 100 DEFINE a AS v > 0, b AS v < 0)", event=Row)
    pattern = TemporalPattern(event=Row, a=Situation("v > 0"), b=Situation("v < 0"), where="a before b", within=9)
    keyed = {"key": "v", "window": 9}
    ways: list[tuple[Any, Any]] = [
        (lambda **said: Operator(doubling(), window=9, **said), lambda blob, **said: Operator.restore(doubling(), blob, **said)),
        (lambda **said: Keyed(doubling(), **keyed, **said), lambda blob, **said: Keyed.restore(doubling(), blob, key="v", **said)),
        (query.operator, query.restore),
        (pattern.operator, lambda blob, **said: Operator.restore(pattern, blob, **said)),
        (lambda **said: Keyed(pattern, key="v", **said), lambda blob, **said: Keyed.restore(pattern, blob, key="v", **said)),
    ]
    for made, restored in ways:

        def bounds(op: Any) -> tuple[Any, Any]:
            return op._core.budget.partial_matches, op._core.budget.max_bytes

        op = made(partial_matches=7, max_bytes=8_000_000)
        blob = op.snapshot()
        assert bounds(restored(blob)) == (7, 8_000_000)
        assert bounds(restored(blob, partial_matches=9, max_bytes=9_000_000)) == (9, 9_000_000)
        assert bounds(restored(blob, max_bytes=None)) == (7, None)
        assert bounds(restored(made().snapshot())) == (1_000_000, None)
    assert bounds(pickle.loads(pickle.dumps(Operator(doubling(), max_bytes=8_000_000)))) == (1_000_000, 8_000_000)


@pytest.mark.parametrize("threads", [1, 2])
def test_keys_in_threads_share_a_budget(threads: int) -> None:
    op = Keyed(doubling(), key="v", window=10_000, threads=threads, partial_matches=None, max_bytes=30_000_000)
    with pytest.raises(BudgetError, match="bytes of state"):
        op.push_many({"v": [k % 50 + 1 for k in range(900)], "le": list(range(900))})
    assert op.statistics.events == 0


@pytest.mark.parametrize("threads", [4, 40])
def test_threads_have_enough_of_the_least_bytes_there_may_be(threads: int) -> None:
    options: dict[str, Any] = {"key": "v", "window": 9, "threads": threads}
    op = Keyed(doubling(), max_bytes=threads * 1_000_000, **options)
    op.push_many({"v": [i % 60 + 1 for i in range(300)], "le": list(range(300))})
    message = f"expected max_bytes of at least {threads},000,000, or None, but got max_bytes=1000000 with threads={threads}"
    with pytest.raises(AfaError, match=message):
        Keyed(doubling(), max_bytes=1_000_000, **options)
    with pytest.raises(AfaError, match="at least 1, but got threads='x'"):
        Keyed(doubling(), key="v", max_bytes=1_000_000, threads="x")  # type: ignore[arg-type]


class Row(NamedTuple):
    v: int
    at: Instant | None = None


def test_queries_frames_and_patterns_have_the_same_bounds() -> None:
    rows = "ORDER BY at MEASURES COUNT(*) AS n PATTERN ((a | x)+ b) WITHIN 100 DEFINE a AS v >= FIRST(v), b AS v < 0"
    query = sql(f"SELECT * FROM t MATCH_RECOGNIZE ({rows})", event=Row)
    frame = {"v": [*range(90), -1], "at": list(range(91))}  # attempts that begin with different values are told apart
    with pytest.raises(BudgetError, match="at most 100 partial matches of one key at one step"):
        find(query, frame, time="at", partial_matches=100)
    with pytest.raises(BudgetError, match="bytes of state"):
        find(query, frame, time="at", partial_matches=None, max_bytes=1_000_000)
    with pytest.raises(BudgetError, match="at most 100 partial"):
        backtest({"q": query}, frame, time="at", partial_matches=100)
    for engine in ENGINES:
        op = query.operator(engine=engine, partial_matches=100)
        with pytest.raises(BudgetError, match="one event may do several things in state"):
            push_all(op, [insert(Row(le), le) for le in range(90)])
        op.push(insert(Row(1), 300))  # WITHIN has ended all others
        assert [change.payload.n for change in op.push(insert(Row(-1), 301))] == [2]
    assert find(query, {"v": [1, -1], "at": [0, 1]}, time="at", window=None)["n"].tolist() == [2]
    with pytest.raises(BudgetError, match="at most 3 partial"):
        find(doubling(), {"v": [1] * 9, "le": list(range(9))}, window=1_000_000, partial_matches=3)


def test_stored_history_has_the_same_bounds(tmp_path: Path) -> None:
    rows = {"v": [1] * 9 + [-1], "le": list(range(10))}
    pq.write_table(pa.table(rows), tmp_path / "rows.parquet")
    options: dict[str, Any] = {"time": "le", "window": 1_000}
    late = {"v": [1], "le": [4]}
    ways: list[Any] = [
        lambda **said: replay(doubling(), tmp_path, **options, **said),
        lambda **said: sweep({"one": doubling()}, tmp_path, **options, **said),
        lambda **said: amend(doubling(), tmp_path, late, applied=False, **options, **said),
    ]
    for way in ways:
        way()
        with pytest.raises(BudgetError, match="at most 30 partial matches"):
            way(partial_matches=30)
        with pytest.raises(AfaError, match="expected max_bytes of at least 1,000,000"):
            way(max_bytes=5)


def test_worlds_have_the_same_bounds_and_name_no_world(engine: Any) -> None:
    def pushed(op: Worlds, le: int) -> None:
        for t in range(le, le + 5):
            op.push(insert(V(1), between(10 * t, 10 * t + 1)))

    op = Worlds(doubling(), 20, window=10_000, engine=engine, partial_matches=20, max_bytes=50_000_000)
    with pytest.raises(BudgetError, match=r"at most 20 partial matches of one key at one step .* at le=\d+: 31 in state"):
        pushed(copy.deepcopy(op), 0)
    with pytest.raises(BudgetError, match="at most 20 partial matches"):
        pushed(op.restore(op.snapshot()), 0)
    budget = Worlds(doubling(), **op.options)._core.budget
    assert budget is not None
    assert (budget.partial_matches, budget.max_bytes) == (20, 50_000_000)
    pushed(Worlds(doubling(), 20, window=10_000, engine=engine, partial_matches=31), 0)
    of_key = Worlds(doubling(), 20, window=10_000, engine=engine, key="v", partial_matches=20)
    with pytest.raises(BudgetError, match="of key 1: "):
        pushed(of_key, 0)


def all_kinds(seed: str, engine: str) -> Seen:
    """Run the worlds of a seed, of each kind; which calls were refused."""
    with mock.patch.object(choices, "PARTS", 3):
        return Seen({f"{kind} refused": each(Seeded(seed), engine) for kind, each in KINDS.items()})


WORLDS = RandomWorlds("budget", lambda seed, number: f"{seed} {number}", all_kinds)
