"""History in lanes gives what operators give, to the bit and in the same order: random automata and queries over random frames."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pytest

import afa
from afa import AfaError, Arc, Automaton
from afa.compiled import choices, lane_program
from afa.frames import lanes, slicing
from afa.language.query import Query
from tests.frames.test_find_worlds import changes
from tests.frames.test_find_worlds import frame as columns_of
from tests.lanes import sample
from tests.language import sql_worlds
from tests.language.number_worlds import numbered
from tests.language.trees import Allowed, tree
from tests.language.worlds import world
from tests.strategies import Seeded

WAYS: list[dict[str, Any]] = [{"engine": "compiled"}, {"engine": "auto"}]
"""Options of `find` that give the same; `test_device` has one more."""
Frame = dict[str, list[Any]]


class Row(NamedTuple):
    n: int
    x: float
    b: bool
    s: str
    m: int | None
    y: float | None


class Reg(NamedTuple):
    n: int = 0
    x: float = 0.0
    s: str = ""
    m: int | None = None


FENCES = [
    *("True", "e.n > 0", "e.n < r.n", "e.x > r.x", "e.x < 0", "e.b", "e.s == r.s", "e.s == 'b'", "e.m is None", "not e.b"),
    *("e.m is not None and e.m > 0", "e.n == r.n", "e.n % 2 == 0", "e.x != e.x", "e.n // 2 > r.n - 2"),
    *("e.m is not None and r.m is not None and e.m <= r.m", "e.y is None or e.y > 0.5", "10 // e.n > 3"),
]
TRANSFERS = [
    *(None, "(e.n, e.x, e.s, e.m)", "(r.n + e.n, r.x, r.s, r.m)", "(r.n + 1, r.x + e.x, e.s, r.m)", "(r.n % 3, r.x, r.s, None)"),
    *("(r.n, e.x if e.x > r.x else r.x, r.s, e.m)", "(r.n * e.n + 7, r.x, r.s, r.m)"),
]


def automaton(choose: Any) -> Automaton:
    """A random automaton; some arcs ask Python of some events: a division by zero, an int beyond 64 bits."""
    count = choose.number(2, 5)
    states = [str(i) for i in range(count)]
    arcs, wild = [], choose.chance(15)
    fences = FENCES if wild else FENCES[:-1]
    transfers = TRANSFERS if wild else TRANSFERS[:-1]
    for number in range(choose.number(count - 1, 2 * count + 1)):
        src = states[number] if number < count - 1 else choose.one(states)
        dst = states[number + 1] if number < count - 1 else choose.one(states)
        kind = choose.number(0, 9)
        if src == dst and kind < 4:
            arcs.append(Arc(src, dst, choose.one(fences), name=str(number)))
        elif src == dst and kind < 6 and src != "0":
            arcs.append(Arc.skip(src, choose.one(fences), name=str(number)))
        else:
            arcs.append(Arc(src, dst, choose.one(fences), choose.one(transfers), name=str(number)))
    if choose.chance(15):  # a state that passes events by one skip or another
        arcs += [Arc.skip(states[-2], choose.one(fences), name=f"or {number}") for number in range(2) if states[-2] != "0"]
    final = {states[-1], *([choose.one(states)] if choose.chance(20) else [])}
    for number in range(choose.number(0, 2) if choose.chance(30) else 0):
        at, src = choose.one(["r.n + 9", "r.n * 7", "r.n * r.n"]), choose.one(states[1:])
        arcs.append(Arc.timeout(src, "over" if number else "w", at, name=f"{src} {number}"))
        arcs += [Arc.epsilon("over", "w", "r.n < 3", "(r.n, 0.5, r.s, None)", name="over")] if number else []
        final |= {"w"}
    return Automaton(start="0", final=final, arcs=arcs, event=Row, register=Reg())


def frame(choose: Any, keys: str) -> Frame:
    """Rows of many ties, some out of order, with values at the edges of their types."""
    n, span = choose.number(0, 60), choose.number(1, 80)
    floats = [0.0, -0.0, 1.5, -2.25, float("nan"), float("inf"), 0.1, 0.2]
    many = choose.number(1, 6)
    found: Frame = {
        "n": [choose.one([0, 1, 2, 3, -1, -7, 2**62, 2**63 - 1]) if choose.chance(10) else choose.number(-2, 3) for _ in range(n)],
        "x": [choose.one(floats) for _ in range(n)],
        "b": [choose.chance(50) for _ in range(n)],
        "s": [choose.one(["", "a", "b", "ä"]) for _ in range(n)],
        "m": [choose.one([None, 0, 1, -1]) for _ in range(n)],
        "y": [choose.one([None, *floats]) for _ in range(n)],
        "at": sorted(choose.number(-5, span) for _ in range(n)),
    }
    if choose.chance(30) and n:
        for name in found:
            found[name] = found[name][n // 3 :] + found[name][: n // 3]
    texts = ["b", "a", None, "é", "", "z"]
    kinds: dict[str, Any] = {"int": range(many), "coded": range(many), "text": texts[:many], "float": floats[:many]}
    if keys != "none":
        found["key"] = [choose.one(kinds["int" if keys == "two" else keys]) for _ in range(n)]
    if keys == "coded":  # a dictionary in which values stand twice, or not at all
        codes = pa.array(found["key"], pa.int64())
        found["key"] = pa.DictionaryArray.from_arrays(codes, ["b", "a", "b", None, "z", "a"])  # type: ignore[assignment]
    if keys == "two":
        found["other"] = [choose.one(["u", "v", None]) for _ in range(n)]
    return found


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lanes for the smallest frame, slices of a few rows, no room at first; how many lanes were taken, and left to operators."""
    monkeypatch.setattr(choices, "LONG", 0)
    for name, size in (("SLICE", 3), ("MOST", 3), ("KEYS", 1), ("SAMPLE", 2)):
        monkeypatch.setattr(slicing, name, size)
    monkeypatch.setattr(lanes, "SLICE", 4)
    for name, size in (("MATCHES", 1), ("ROWS", 7), ("LIST", 40)):
        monkeypatch.setattr(lane_program, name, size)
    counts, run = [0, 0], lanes.run

    def counted(*given: Any) -> Any:
        found = run(*given)
        counts[0], counts[1] = counts[0] + len(found.counts), counts[1] + len(found.left)
        return found

    monkeypatch.setattr(lanes, "run", counted)
    return counts


def same(pattern: Any, rows: Frame, **given: Any) -> int:
    """Check that lanes and operators find the same, or raise the same; how many matches there are."""
    found: list[Any] = []
    for way in WAYS:
        try:
            result = afa.find(pattern, rows, time="at", **way, **given)
            found.append({name: _known(column) for name, column in result.items()})
        except (AfaError, ArithmeticError) as error:
            found.append(type(error))
    for other in found[1:]:
        assert found[0] == other, (pattern, rows, given)
    return 0 if isinstance(found[0], type) else max(len(found[0]["le"]) - 1, 0)


def _known(column: Any) -> list[str]:
    """A column's type, which says nothing where it is empty, and its values."""
    return [str(column.dtype), *map(repr, column.tolist())] if len(column) else []


KEYS, WINDOWS = ("none", "int", "text", "coded", "float", "two"), (None, 1, 9, 40)


def automata(seed: str, count: int, some: int | None = None) -> int:
    """Check random automata, each over frames with every kind of key and of window, or with ``some`` of these."""
    matches = 0
    for number in range(count):
        choose = Seeded(f"{seed} {number}")
        pattern = automaton(choose)
        both = itertools.product(KEYS, WINDOWS) if some is None else [(choose.one(KEYS), choose.one(WINDOWS)) for _ in range(some)]
        for keys, window in both:
            rows = frame(choose, keys)
            given: dict[str, Any] = {"window": window, "threads": choose.number(1, 3), "end": choose.one(["latest", "forever"])}
            if keys != "none":
                given["key"] = ["key", "other"] if keys == "two" else "key"
            if choose.chance(25):
                given["until"] = "to"
                rows["to"] = [le + choose.number(1, 12) if choose.chance(80) else None for le in rows["at"]]
            if choose.chance(25):
                given["order_by"] = choose.one(["n", "x", "s", "n desc, *"])
            matches += same(pattern, rows, longest=choose.chance(30), **given)
    return matches


@sample(4, 8)
@pytest.mark.parametrize("part", range(3))
def test_automata(part: int, numbers: range, taken: list[int]) -> None:
    assert automata(f"lanes {part}", len(numbers)) > 12 * len(numbers)
    assert taken[0] > 40 * len(numbers)
    assert taken[1] < taken[0] / 2


KINDS = {
    "plain": Allowed(),
    "negated": Allowed(start=True),
    "sums": Allowed(sums=True),
    "beside": Allowed(start=True, beside=True),
    "ends": Allowed(start=True, end=True),
    "later": Allowed(end=True, later=True),
}


def queries(kind: str, seed: str, count: int) -> int:
    """Check random queries over rows of their events, repeated some times, without retractions."""
    matches = 0
    for number in range(count):
        choose = Seeded(f"{seed} {kind} {number}")
        here = world(choose, KINDS[kind], tree(choose, KINDS[kind]))
        try:
            query = Query(here.tree)
        except AfaError:
            continue
        items = [item for item in changes(here) if item[0] == "+"]
        items = [("+", event._replace(le=event.le + 7 * turn)) for turn in range(choose.number(1, 4)) for _, event in items]
        columns = columns_of(items)
        columns["at"] = columns.pop("when")
        del columns["diff"], columns["until"]
        if items:
            given: dict[str, Any] = {"threads": choose.number(1, 3), "end": choose.one(["latest", "forever"])}
            matches += same(query, columns, **given)
            if choose.chance(20):
                same(query, columns, longest=True, **given)
    return matches


COUNTS = [(kind, 16 if kind == "sums" else 30) for kind in KINDS]  # sums take as long as all the others


@pytest.mark.parametrize(("kind", "count"), [*COUNTS, pytest.param("sums", 30, marks=pytest.mark.stress)])
def test_queries(kind: str, count: int, taken: list[int]) -> None:
    assert queries(kind, "lanes", count) > 3 * count
    assert taken[0] > count // 2
    assert taken[1] < taken[0] / 2


class At(NamedTuple):
    at: afa.Instant
    x: int


class Plain(NamedTuple):
    at: int
    x: int


class Keyed(NamedTuple):
    k: float
    x: int


class Bare(NamedTuple):
    x: int


class Named(NamedTuple):
    k: int = 0


class Low(NamedTuple):
    low: int = 0


class Ends(NamedTuple):
    re: int


def one(fence: str, event: type, **more: Any) -> Automaton:
    """One event."""
    return Automaton(start="0", final={"1"}, event=event, arcs=[Arc("0", "1", fence)], **more)


def test_events_of_other_fields_read_the_columns_of_one_frame_in_their_own_way(taken: list[int]) -> None:
    rows = {"t": [1, 2, 3], "at": [200, 5, 300], "x": [1, 2, 3]}
    patterns = {"instant": one("at > 100", At), "field": one("at > 100", Plain)}
    assert afa.backtest(patterns, rows, time="t", window=9).table["matches"].tolist() == [0, 2]
    with afa.prepared(rows, time="t") as held:
        assert [len(afa.find(pattern, held, window=9)["le"]) for pattern in patterns.values()] == [0, 2]
    rows = {"k": [1, 2, 1], "x": [1, 2, 3], "at": [1, 2, 3]}
    with afa.prepared(rows, key="k", time="at") as held:
        found = [afa.find(one("x > 0", event), held, window=9)["k"].tolist() for event in (Keyed, Bare, Keyed)]
    assert list(map(repr, found)) == ["[1.0, 2.0, 1.0]", "[1, 2, 1]", "[1.0, 2.0, 1.0]"]


def test_what_the_operator_refuses_is_refused(taken: list[int]) -> None:
    rows = {"k": [1, 1], "x": [1, 2], "at": [1, 1], "re": [7, 9]}
    for pattern, options, said in (
        (one("x > 0", Bare, ties=False), {}, "ORDER BY tells apart"),
        (one("x > 0", Bare, register=Named()), {"key": "k"}, "rename the field of Named"),
        (one("re > 0", Ends), {}, "without a field 're'"),
    ):
        with pytest.raises(AfaError, match=said):
            afa.find(pattern, rows, time="at", window=100, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "Int64", "boolean", "category", "string", "object", "float64"])
def test_keys_of_pandas_leave_in_their_type(dtype: str, taken: list[int]) -> None:
    values = [1.0, None, 1.0] if dtype == "float64" else ["a", "b", "a"] if dtype in ("category", "string", "object") else [1, 0, 1]
    rows = pd.DataFrame({"key": pd.Series(values, dtype=dtype), "x": [1, 2, 3], "at": [1, 2, 3]})
    found, expected = (afa.find(one("x > 0", Bare), rows, key="key", time="at", engine=e) for e in ("auto", "compiled"))  # type: ignore[arg-type]
    pd.testing.assert_frame_equal(found, expected)
    assert taken[0]


def test_of_the_longest_one_of_each_payload(taken: list[int]) -> None:
    """Two states and registers that show the same at one time; a row that outlives another one of its state; rows of one time."""
    arcs = [Arc("0", "1", "x < 3"), Arc.skip("1", "True"), Arc("1", "2", "x == 3"), Arc("1", "3", "x > 2", "(1,)")]
    pattern = Automaton(start="0", final={"2", "3"}, event=Bare, register=Named(1), arcs=arcs)
    rows = {"at": [1, 2, 3, 5, 5, 6], "to": [30, 9, 40, 20, 50, 60], "x": [1, 1, 2, 3, 3, 4], "k": [7] * 6}
    for given in ({}, {"key": "other"}, {"order_by": "x"}):
        rows["other"] = [1, 1, 1, 1, 1, 2]
        assert same(pattern, rows, until="to", longest=True, **given) > 0
        whole, counted = (
            afa.backtest({"it": pattern}, rows, time="at", until="to", longest=True, counts=each, **given)  # type: ignore[arg-type]
            for each in (False, True)
        )
        assert whole.table["matches"].tolist() == counted.table["matches"].tolist() == [len(whole.matches["le"])]
    assert taken[0] > 0 == taken[1]


def test_a_row_that_stays_by_a_skip_and_by_another_arc_has_taken_the_event(taken: list[int]) -> None:
    """So its time-out fires behind the event. The arcs' code is in any order."""
    for fences in itertools.permutations(["x % 2 == 0", "x == 0"]):
        loops = [Arc("1", "1", fences[0]), Arc.skip("1", fences[1])]
        arcs = [Arc("0", "1", "x == 1"), *loops, Arc.timeout("1", "w", "r.k")]
        pattern = Automaton(start="0", final={"w"}, event=Bare, register=Named(), arcs=arcs)
        assert same(pattern, {"at": [1, 3], "x": [1, 0]}) == 2
    assert taken == [2, 0]


def test_what_operators_took_is_told(taken: list[int]) -> None:
    rows = {"k": [1, 2, 3], "x": [0, 1, 2**62], "at": [1, 2, 3]}
    python = Automaton(start="0", final={"1"}, event=Bare, arcs=[Arc("0", "1", lambda e, r: taken is not e)])
    patterns = {"fast": one("x > 0", Bare), "some": one("x * 4 > 3", Bare), "python": python}
    tested = afa.backtest(patterns, rows, key="k", time="at", window=9)
    assert tested.by_operator is not None
    assert list(tested.by_operator) == ["some", "python"]
    assert tested.by_operator["some"] == "lanes have left 1 of 3 keys (long lists, large ints)"
    assert "runs in Python" in tested.by_operator["python"]
    assert tested.table["matches"].tolist() == [2, 2, 3]
    chosen = afa.backtest({"fast": patterns["fast"]}, rows, key="k", time="at", window=9, engine="compiled")
    assert chosen.by_operator == {"fast": "an option or a stage asks for it"}
    above = Automaton(start="0", final={"2"}, event=Bare, register=Low(), arcs=[
        Arc("0", "1", "x < 3", "(e.x,)"), Arc.skip("1", "True"), Arc("1", "2", "x > r.low"),
    ])  # fmt: skip
    for longest, why in ((False, {}), (True, {"above": "only the longest count, in lists that grow"})):
        assert afa.backtest({"above": above}, rows, time="at", longest=longest).by_operator == why


def rows_of_sql(choose: Any) -> Frame:
    """Rows of which `seq` tells those of one instant apart, but for some that come twice."""
    span, of_one = choose.number(1, 60), choose.one((0, 0, 2))
    places = sorted({(choose.number(1, span), choose.number(0, of_one)) for _ in range(choose.number(0, 60))})
    places += places[-1:] if choose.chance(5) else []
    kinds, many = choose.one(("xyz", "xyzn", "xxy")), choose.number(0, 3)
    return {
        "p": [choose.number(0, many) for _ in places],
        "sort": [choose.one(kinds) for _ in places],
        "v": [None if choose.chance(8) else choose.number(0, 3) for _ in places],
        "at": [at for at, _ in places],
        "seq": [seq for _, seq in places],
        "f": [None for _ in places],
    }


def sql(seed: str, count: int) -> int:
    """Check random SQL that shows one row a match over random rows."""
    matches, number = 0, 0
    while count:
        number += 1
        choose = Seeded(f"{seed} {number}")
        query = choose.one((sql_worlds.query, numbered))(choose)
        if choose.chance(25):
            query = query._replace(view=(choose.one(("v > 0", "sort <> 'y'")), lambda _: True))
        if query.all_rows:
            continue
        count -= 1
        pattern = afa.sql(query.text, event=sql_worlds.Row)
        matches += sum(same(pattern, rows_of_sql(choose), threads=choose.number(1, 2)) for _ in range(2))
    return matches


@sample(15, 30)
@pytest.mark.parametrize("part", range(2))
def test_sql(part: int, numbers: range, taken: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLICE", "MOST", "KEYS"):  # columns of operators that find nothing are of no type
        monkeypatch.setattr(slicing, name, 1 << 20)
    assert sql(f"lanes of SQL {part}", len(numbers)) > 3 * len(numbers)
    assert taken[0] > len(numbers)
    assert taken[1] < taken[0] / 4


def scanned(skip: str, pattern: str, define: str, rows: Frame) -> None:
    """Check that lanes and operators find the same, and something, by a scan."""
    measures = "COUNT(*) AS n, SUM(v) AS total, MAX(v) AS most, FIRST(at) AS first"
    text = f"(ORDER BY at MEASURES {measures} AFTER MATCH SKIP {skip} PATTERN ({pattern} DEFINE {define})"
    assert same(afa.sql(f"SELECT * FROM t MATCH_RECOGNIZE {text}"), rows) > 0


def test_a_thread_that_stands_for_a_later_attempt(taken: list[int]) -> None:
    """Of two attempts in one state the list has the first; its lifetime ends, and the scan goes back to try the second."""
    rows: Frame = {"at": [0, 1, 2, 3, 10, 11, 12], "v": [1, 1, 1, 1, 2, 1, 2]}
    for skip in ("PAST LAST ROW", "TO NEXT ROW", "TO LAST b"):
        scanned(skip, "a b* c) WITHIN 9", "a AS v = 1, b AS v = 1, c AS v = 2", rows)
    assert taken == [3, 0]


def test_an_overflow_leaves_the_lane(taken: list[int]) -> None:
    """Native code can't tell a sum of an attempt that comes to nothing, which nobody would ask for: the operator takes the lane."""
    rows: Frame = {"at": list(range(5)), "v": [1, 2**62, 2**62, 1, 5]}
    scanned("PAST LAST ROW", "a b* c)", "a AS v = 1, b AS v > 5, c AS v = 5", rows)
    assert taken == [1, 1]


def test_many_threads_leave_the_lane(taken: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each attempt holds a value of its own: more threads than a list has room for, or than a row may look at."""
    rows: Frame = {"at": list(range(300)), "v": [*range(300, 1, -1), 900]}
    for at, size in (("lane_program.LIST", 40), ("kernel.lane_scan.SHORT", 64)):
        monkeypatch.setattr(f"afa.compiled.{at}", size)
        scanned("PAST LAST ROW", "a b* c)", "b AS v < a.v, c AS v > a.v + 700", rows)
    assert taken[1] > 0


@pytest.mark.parametrize("skip", ["PAST LAST ROW", "TO NEXT ROW"])
def test_equal_matches_are_as_many(skip: str, taken: list[int]) -> None:
    """Rows of one time, told apart by another column: matches that agree in all that they show are several."""
    text = f"""SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at, k MEASURES MAX(v) AS most ONE ROW PER MATCH
        AFTER MATCH SKIP {skip} PATTERN (a b) DEFINE b AS v >= a.v)"""
    rows: Frame = {"at": [1, 1, 1, 1, 1, 1], "k": [1, 2, 3, 4, 5, 6], "v": [7, 7, 7, 7, 7, 7]}
    assert same(afa.sql(text), rows) == (3 if "PAST" in skip else 5)
    assert len(afa.find(afa.sql(text), rows, time="at")["le"]) == (3 if "PAST" in skip else 5)  # type: ignore[call-overload]
    assert taken[1] == 0 < taken[0]
