"""`Worlds`: the papers' examples, clocks, tables, what is refused."""

from __future__ import annotations

import math
import pickle
import random
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import afa
from afa import AfaError, Arc, Automaton, ChangeError, Instant, LateEventError, Punctuation, SnapshotError, insert, retract
from afa.uncertain import Clock, Worlds, between, weights
from tests.uncertain import possible_worlds


class E(NamedTuple):
    kind: str
    id: int


class M(NamedTuple):
    a: int = -1
    b: int = -1
    c: int = -1


def sequence(strategy: str) -> Automaton:
    """A, then B, then C."""

    def stay(state: str, kind: str) -> Arc:
        return Arc(state, state, "True" if strategy == "any" else f"kind != '{kind}'", name=f"stay {state}")

    arcs = [
        Arc("0", "1", "kind == 'A'", "r._replace(a=e.id)", name="A"),
        stay("1", "B"),
        Arc("1", "2", "kind == 'B'", "r._replace(b=e.id)", name="B"),
        stay("2", "C"),
        Arc("2", "3", "kind == 'C'", "r._replace(c=e.id)", name="C"),
    ]
    return Automaton(start="0", final={"3"}, event=E, register=M(), arcs=arcs)


FIGURE = [("A", 1, 1, 5), ("C", 2, 3, 5), ("B", 3, 3, 7), ("C", 4, 4, 6)]


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
@pytest.mark.parametrize(("strategy", "wanted"), [("any", (15, 24)), ("next", (14, 22))])
def test_figure_1(strategy: str, wanted: tuple[int, int], engine: Any) -> None:
    """Of PVLDB 2010, with b3 = [3, 7] and c4 = [4, 6], as its text has them exchanged in length."""
    op = Worlds(sequence(strategy), worlds=2000 if engine == "compiled" else 400, identity="id", window=4, engine=engine)
    found = {c.payload[:3]: c for c in op.push_many([insert(E(kind, i), between(lo, hi)) for kind, i, lo, hi in FIGURE])}
    assert {name: (c.payload.first, c.payload.last, c.le, c.re) for name, c in found.items()} == {
        (1, 3, 2): (1, 5, 5, 9),
        (1, 3, 4): (1, 6, 6, 9),
    }
    for name, cases in zip([(1, 3, 2), (1, 3, 4)], wanted):
        p = cases / 225
        assert abs(found[name].payload.confidence - p) < 4 * math.sqrt(p * (1 - p) / op._found.worlds)


def test_an_event_of_the_same_instant_stands_in_for_none() -> None:
    """B and another event at 3: the arc that passes over what is no B does not pass over the instant."""
    op = Worlds(sequence("next"), worlds=20, identity="id", window=9)
    events = [("A", 1), ("B", 3), ("X", 3), ("B", 5), ("C", 6)]
    out = op.push_many([insert(E(kind, i), le) for i, (kind, le) in enumerate(events)])
    assert [c.payload[:3] for c in out] == [(0, 1, 4)]


def test_a_late_competitor_lowers_a_confidence() -> None:
    op = Worlds(sequence("next"), worlds=400, identity="id", window=20)
    (old,) = op.push_many([insert(E("A", 0), 1), insert(E("B", 1), between(5, 8)), insert(E("C", 2), 9)])
    gone, *come = op.push(insert(E("B", 3), between(2, 8)))
    assert gone == old._replace(diff=-1)
    assert {c.payload[:3]: c.payload.confidence for c in come} == pytest.approx({(0, 1, 2): 10 / 28, (0, 3, 2): 5.5 / 7}, abs=0.1)
    back = op.push(retract(E("B", 3), between(2, 8)))
    assert [c for c in back if c.diff > 0] == [old]
    assert len(back) == 3


def test_matches_that_show_the_same_are_one() -> None:
    """What a register has beside what is shown tells no matches apart; nor does the sign of zero."""

    class Hidden(NamedTuple):
        n: float = 0.0
        by: int = 0

    class Shown(NamedTuple):
        n: float = 0.0

    arcs = [
        Arc("0", "1", "kind == 'A'", "Hidden(0.0 if id == 1 else -0.0, id)"),
        Arc("1", "1", "True"),
        Arc("1", "2", "kind == 'B'", "Hidden(r.n, 0)"),
    ]
    given = Automaton(start="0", final={"2"}, event=E, register=Hidden(), shown=Shown, arcs=arcs)
    op = Worlds(given, worlds=20, window=100)
    (found,) = op.push_many([insert(E("A", 1), 0), insert(E("A", 2), 1), insert(E("B", 3), between(2, 4))])
    assert (found.payload, found.le, found.re) == ((0.0, 1.0, 0, 4), 4, 101)
    assert op.restore(op.snapshot()).snapshot() == op.snapshot()


# -- clocks ------------------------------------------------------------------------------------------------------------------------


class Line(NamedTuple):
    host: str
    word: str


class Nothing(NamedTuple):
    pass


def before(one: str, other: str) -> Automaton:
    arcs = [Arc("0", "1", f"word == '{one}'"), Arc("1", "1", "True"), Arc("1", "2", f"word == '{other}'")]
    return Automaton(start="0", final={"2"}, event=Line, arcs=arcs)


@pytest.mark.parametrize(("clock", "p"), [(Clock(by="host", skew=500), 1.0), (Clock(by="host", own=500), 0.595)])
def test_one_clock_of_a_host(clock: Clock, p: float) -> None:
    """Two events of one host, 100 ms apart, +-500 ms: in order for certain under one skew."""
    op = Worlds(before("up", "ready"), worlds=4000, clock=clock, window=10_000)
    table = {"host": ["a", "a"], "word": ["up", "ready"], "le": [10_000, 10_100]}
    out = op.push_many(table)
    assert out["confidence"].sum() == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / 4000) + 1e-9)


def test_two_hosts_have_two_clocks() -> None:
    op = Worlds(before("up", "ready"), worlds=4000, clock=Clock(by="host", skew="500 ms"), window="1 min", tick="ms")
    found = []
    for hosts in (("a", "b"), ("c", "c")):
        out = op.push_many(
            [insert(Line(host, word), 10**6 * len(found) + le) for host, word, le in zip(hosts, ("up", "ready"), (0, 100))]
        )
        found.append(sum(c.payload.confidence for c in out))
    assert found[0] == pytest.approx(0.595, abs=0.03)
    assert found[1] == 1.0


def test_a_clock_beside_intervals() -> None:
    """Samples of a host are known to 15 s, in its clock; its own log lines by that clock: the skew moves both."""
    kinds = {"lower": "lo", "upper": "hi", "worlds": 2000, "window": 10_000, "seed": 3}
    table = {"host": ["a", "a"], "word": ["up", "ready"], "lo": [1000, 1010], "hi": [1014, 1024]}
    alone = Worlds(before("up", "ready"), **kinds).push_many(table)
    skewed = Worlds(before("up", "ready"), **kinds, clock=Clock(by="host", skew=500)).push_many(table)
    assert skewed["confidence"].tolist() == alone["confidence"].tolist()
    assert (alone["le"].tolist(), skewed["le"].tolist()) == ([1024], [1524])
    op = Worlds(before("up", "ready"), worlds=2000, window=10_000, seed=3, clock=Clock(by="host", skew=500))
    changes = [insert(Line("a", "up"), between(1000, 1014)), insert(Line("a", "ready"), between(1010, 1024))]
    assert [(c.payload.confidence, c.le) for c in op.push_many(changes)] == [(alone["confidence"][0], 1524)]
    other = Worlds(before("up", "ready"), **kinds, clock=Clock(by="host", skew=500)).push_many({**table, "host": ["a", "b"]})
    assert other["confidence"][0] == pytest.approx(0.5, abs=0.06)


def test_granularity() -> None:
    """Dated by the day, one after the other on the same day: each may be first."""
    op = Worlds(before("up", "ready"), worlds=1000, clock=Clock(by="host", granularity=1000), window=10_000)
    op.push(insert(Line("a", "up"), 5000))
    out = op.push(insert(Line("b", "ready"), 5000))
    assert sum(c.payload.confidence for c in out) == pytest.approx(0.4995, abs=0.07)
    assert all(5000 <= c.payload.first < c.payload.last < 6000 for c in out)


# -- forms -------------------------------------------------------------------------------------------------------------------------


def _table() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    n, lo = 60, np.sort(rng.integers(0, 90, 60))
    return {
        "kind": rng.choice(np.array(list("ABCX"), object), n),
        "id": np.arange(n),
        "host": rng.choice(np.array(["h1", "h2"], object), n),
        "lo": lo,
        "hi": lo + rng.integers(0, 6, n),
    }


@pytest.mark.parametrize("keyed", [False, True])
def test_every_way_in_says_the_same(keyed: bool) -> None:
    table, options = _table(), {"worlds": 50, "lower": "lo", "upper": "hi", "identity": "id", "window": 20}
    key: dict[str, Any] = {"key": "host"} if keyed else {}
    whole = Worlds(sequence("next"), **options, **key).push_many(table)
    rows = sorted(zip(*(np.asarray(column).tolist() for column in whole.values())))
    assert len(rows) > 10
    assert list(whole) == [*(["host"] if keyed else []), "a", "b", "c", "confidence", "first", "last", "le", "re", "diff"]
    for form in (pa.table, pd.DataFrame):
        out = Worlds(sequence("next"), **options, **key).push_many(form(table))
        assert type(out) is type(form(table))
        columns = out.to_pydict() if isinstance(out, pa.Table) else {name: out[name].tolist() for name in out}
        assert sorted(zip(*columns.values())) == rows
    order = random.Random(3).sample(range(60), 60)
    op = Worlds(sequence("next"), worlds=50, identity="id", window=20, engine="interpreted", **key)
    changes = []
    for i in order:
        host = {"key": table["host"][i]} if keyed else {}
        changes += op.push(
            insert(E(table["kind"][i], int(table["id"][i])), between(int(table["lo"][i]), int(table["hi"][i]))), **host
        )
    net: dict[Any, int] = {}
    for c in changes:
        row = (*([c.key] if keyed else []), *c.payload, c.le, c.re)
        net[row] = net.get(row, 0) + c.diff
    assert sorted((*row, 1) for row, copies in net.items() if copies) == rows


def test_times_as_timestamps() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [("A", 0, 0, 2), ("B", 1, 1, 4), ("C", 2, 6, 6)]
    frame = pd.DataFrame(
        {
            "kind": [kind for kind, *_ in rows],
            "id": [i for _, i, *_ in rows],
            "lo": pd.to_datetime([start + timedelta(seconds=lo) for *_, lo, _ in rows]),
            "hi": pd.to_datetime([start + timedelta(seconds=hi) for *_, hi in rows]),
        }
    )
    op = Worlds(sequence("any"), worlds=100, lower="lo", upper="hi", window="1 min", tick="s")
    out = op.push_many(frame)
    assert out["last"].tolist() == [pd.Timestamp(start + timedelta(seconds=6))]
    alone = Worlds(sequence("any"), worlds=100, window="1 min", tick="s")
    changes = [
        insert(E(kind, i), between(start + timedelta(seconds=lo), start + timedelta(seconds=hi))) for kind, i, lo, hi in rows
    ]
    (found,) = alone.push_many(changes)
    assert out["confidence"].tolist() == [found.payload.confidence]


def test_a_list_of_tables_and_promises() -> None:
    table = _table()
    op = Worlds(sequence("next"), worlds=50, lower="lo", upper="hi", identity="id", window=20)
    out = op.push_many([table, Punctuation(50), Punctuation(70)])
    assert out[-1] == Punctuation(70)
    assert op.statistics.events == sum(lo >= 70 for lo in table["lo"].tolist()) or op.statistics.events == 60
    with pytest.raises(LateEventError, match=r"expected lower >= 70 \(promised\) but got \[69, 75\]"):
        op.push(insert(E("A", 99), between(69, 75)))
    dropping = Worlds(sequence("next"), worlds=50, late="drop")
    dropping.push(Punctuation(70))
    assert dropping.push_many([insert(E("A", 99), between(69, 75)), insert(E("A", 100), 71)]) == []
    assert dropping.statistics.late == 1


def test_an_event_that_is_filled_with_its_time() -> None:
    class Dated(NamedTuple):
        kind: str
        at: Instant

    class Gap(NamedTuple):
        at: int = 0
        gap: int = 0

    arcs = [
        Arc("0", "1", "kind == 'A'", "Gap(at, 0)"),
        Arc("1", "1", "True"),
        Arc("1", "2", "kind == 'B'", "Gap(r.at, e.at - r.at)"),
    ]
    op = Worlds(Automaton(start="0", final={"2"}, event=Dated, register=Gap(), arcs=arcs), worlds=100, window=20)
    out = op.push_many([insert({"kind": "A"}, 1), insert({"kind": "B"}, between(4, 5))])
    assert sorted((c.payload.gap, c.le) for c in out) == [(3, 5), (4, 5)]
    assert sum(c.payload.confidence for c in out) == 1


def test_swaps_in_all_worlds() -> None:
    op = Worlds(sequence("next"), worlds=100, identity="id", window=20)
    op.push_many([insert(E("A", 0), between(1, 3)), insert(E("X", 1), between(5, 7))])
    assert op.swap("B", fence="kind == 'X'", at=4) == []
    (found,) = op.push(insert(E("C", 2), 9))
    assert found.payload[:4] == (0, 1, 2, 1.0)
    (gone,) = op.swap("C", Arc("2", "3", "kind == 'D'"), at=8)
    assert gone == found._replace(diff=-1)
    with pytest.raises(AfaError, match="expected the name of an arc in force but got 'D'"):
        op.swap("D", fence="True")
    extra = Arc("1", "3", "kind == 'E'", "r._replace(c=e.id)", name="E")
    assert op.push_arc(insert(extra, 2)) == []
    (found,) = op.push(insert(E("E", 5), between(8, 9)))
    assert found.payload[:4] == (0, -1, 5, 1.0)
    assert op.push_arc(retract(extra, 2)) == [found._replace(diff=-1)]


def test_a_confidence_below_the_threshold_is_not_told() -> None:
    op = Worlds(sequence("any"), worlds=200, identity="id", window=20, threshold=0.5)
    assert (
        op.push_many([insert(E("A", 0), between(1, 4)), insert(E("B", 1), between(2, 5)), insert(E("C", 2), between(3, 5))]) == []
    )
    assert op.push(retract(E("C", 2), between(3, 5))) == []
    (found,) = op.push(insert(E("C", 2), between(6, 7)))
    assert found.payload.confidence >= 0.5


class Seen(NamedTuple):
    type: str
    host: str
    load: float


QUERY = """
    PATTERN SEQ(Start a, Load b, End c)
    WHERE skip_till_next_match(a, b, c) { [host] AND b.load > 0.9 }
    WITHIN 1 minute
    RETURN Found(b.load AS load)
"""


def test_a_query() -> None:
    """Of a host: the load was high between start and end, if the sample lies between them."""
    query = afa.query(QUERY, event=Seen, tick="s")
    op = Worlds(query, worlds=500)
    rows = [("Start", 0.0, 10), ("Load", 0.95, between(8, 22)), ("End", 0.0, 20), ("Load", 0.5, between(0, 5))]
    (found,) = op.push_many([insert(Seen(kind, "a", load), at) for kind, load, at in rows])
    assert (found.key, found.payload.load, found.le, found.re) == ("a", 0.95, 20, 70)
    assert found.payload.confidence == pytest.approx(9 / 15, abs=0.1)
    with pytest.raises(AfaError, match="window=9 can't be combined with a query because the query says it"):
        Worlds(query, window=9)
    choosing = QUERY.replace("SEQ(Start a,", "SEQ(~Stop x, Start a,").replace(
        "skip_till_next_match(a,", "skip_till_next_match(x, a,"
    )
    with pytest.raises(AfaError, match="expected a query of one automaton but got one with a LastBefore around it"):
        Worlds(afa.query(choosing, event=Seen, tick="s"))
    chosen = "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY host ORDER BY at MEASURES LAST(b.load) AS load PATTERN (a b) WITHIN 9)"
    with pytest.raises(AfaError, match=r"expected a query of which all matches leave but got .*chooses some \(AFTER MATCH SKIP\)"):
        Worlds(afa.sql(chosen, event=Seen, tick="s"))


# -- what is refused ---------------------------------------------------------------------------------------------------------------


def _worlds(**options: Any) -> Worlds:
    return Worlds(sequence("any"), **options)


class Anything(NamedTuple):
    what: Any


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Worlds("A B C"), "expected an Automaton or a query but got 'A B C'"),
        (lambda: _worlds(worlds=19), "expected at least 20 worlds but got worlds=19"),
        (
            lambda: _worlds(worlds=100, threshold=0.001),
            "expected at least 1,000 worlds for threshold=0.001, one of which",
        ),
        (lambda: _worlds(threshold=0), "expected a confidence above 0, at most 1, but got threshold=0"),
        (lambda: _worlds(threshold=1.5), r"expected a confidence above 0, at most 1, but got threshold=1\.5"),
        (lambda: _worlds(seed="x"), "expected an int but got seed='x'"),
        (lambda: _worlds(lower="lo"), "expected both ends of intervals but got lower='lo', upper=None"),
        (lambda: _worlds(clock="host"), "expected a Clock but got clock='host'"),
        (
            lambda: _worlds(clock=Clock(by="host", own=5)),
            "expected by= as fields of the event or columns of the key",
        ),
        (lambda: _worlds(clock=Clock(by="kind")), "but got a clock that is right"),
        (lambda: Clock(by=5, own=3), "expected the field or fields that tell clocks apart but got by=5"),  # type: ignore[arg-type]
        (lambda: Clock(by="host", own=3, shape=[1.0]), "expected a distribution of any length for a clock"),
        (lambda: _worlds(clock=Clock(by="kind", own=-5)), "expected a number of ticks, at least 0, but got own=-5"),
        (lambda: _worlds(clock=Clock(by="kind", own="5 ms")), "expected tick=, what one int of LE counts, beside own='5 ms'"),
        (lambda: _worlds(shape="normal"), "expected intervals, lower= and upper=, for a distribution but got shape='normal'"),
        (
            lambda: _worlds(identity="name"),
            "expected identity= as fields of the event or columns of the key",
        ),
        (
            lambda: Worlds(Automaton(start="0", final={"1"}, arcs=[Arc("0", "1", lambda e, r: True)])),
            "expected an automaton with an event schema",
        ),
        (
            lambda: Worlds(Automaton(start="0", final={"1"}, event=Anything, arcs=[Arc("0", "1", "True")])),
            "expected an event of ints, floats, bools and strs, which are columns, but got Anything",
        ),
        (
            lambda: Worlds(Automaton(start="0", final={"1"}, event=E, arcs=[Arc("0", "1", "True"), Arc.timeout("0", "1", "5")])),
            "expected window= for an automaton with time-outs",
        ),
    ],
)
def test_options_that_are_none(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(AfaError, match=said):
        make()


def test_fields_that_stand_for_bounds() -> None:
    class Latest(NamedTuple):
        latest: int

    class Confident(NamedTuple):
        confidence: float = 0.0

    for event, register, name in ((Latest, M(), "latest"), (E, Confident(), "confidence")):
        with pytest.raises(AfaError, match=f"without the field '{name}'"):
            Worlds(Automaton(start="0", final={"1"}, event=event, register=register, arcs=[Arc("0", "1", "True")]))


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (insert(E("A", 0)), r"expected an event with a time, insert\(event, between\(lower, upper\)\), but got le=None"),
        (insert(E("A", 0), 5, 9), "expected an event without RE, which its time and the window give, but got"),
        (insert(E("A", 7), between(3, 5)), r"expected an identity under one interval, \[3, 6\] uniform, but got \[3, 5\]"),
        (
            retract(E("A", 7), between(3, 5)),
            r"expected a retraction under the interval of its insertion, \[3, 6\] uniform, but",
        ),
        (
            retract(E("A", 7), between(3, 6, "normal")),
            r"expected a retraction under the interval of its insertion, \[3, 6\] uniform",
        ),
        (insert(E("B", 7), between(3, 6)), "expected an identity of one event but got 7 with different content"),
        (Punctuation(5, where="id < 3"), "expected a promise of all events but got one with a condition"),
        ("x", "expected a change .* but got 'x'"),
        ({"kind": ["A"], "id": [1], "lo": [3]}, "expected a column 'hi' but got the columns kind, id, lo"),
        ({"kind": ["A"], "id": [1], "lo": [3], "hi": [2]}, "expected lower <= upper but got lower=3, upper=2 in row 0"),
        (
            {"kind": ["A"], "id": ["1"], "lo": [3], "hi": [3]},
            "expected columns of kind: str, id: int and of ints for lo, hi",
        ),
        (
            {"kind": ["A"], "id": [1], "lo": [3.5], "hi": [4]},
            "expected columns of kind: str, id: int and of ints for lo, hi",
        ),
        (insert(Arc.timeout("1", "3", "5")), "expected an arc of no other kind than the automaton has but got a time-out"),
    ],
)
def test_what_is_refused_changes_nothing(item: Any, said: str) -> None:
    op = Worlds(sequence("next"), worlds=20, identity="id", lower="lo", upper="hi", window=20)
    op.push(insert(E("A", 7), between(3, 6)))
    before_it, blob = op.statistics, op.snapshot()
    with pytest.raises(AfaError, match=said):
        op.push_many([insert(E("B", 8), between(4, 9)), item])
    assert op.statistics == before_it
    assert op.snapshot() == blob


def test_weights_of_another_length() -> None:
    op = Worlds(sequence("any"), worlds=20, lower="lo", upper="hi", shape=[0.5, 0.5])
    assert len(op.push_many({"kind": ["A"], "id": [1], "lo": [3], "hi": [4]})["le"]) == 0
    with pytest.raises(AfaError, match="expected a weight for each of 3 instants but got 2 weights"):
        op.push_many({"kind": ["A"], "id": [2], "lo": [3], "hi": [5]})
    assert weights([0.5, 0.5]) == op._reading.shape


def test_a_key_where_none_is() -> None:
    with pytest.raises(ChangeError, match=r"expected a key for Worlds\(\.\., key=\.\.\) only but got key='h1'"):
        Worlds(sequence("any"), worlds=20).push(insert(E("A", 0), 1), key="h1")


# -- snapshots ---------------------------------------------------------------------------------------------------------------------


def test_snapshots() -> None:
    table = _table()
    op = Worlds(sequence("next"), worlds=50, lower="lo", upper="hi", identity="id", window=20)
    op.push_many([{name: column[:40] for name, column in table.items()}, Punctuation(20)])
    blob = op.snapshot()
    again = op.restore(blob)
    assert again.snapshot() == blob
    rest = {name: column[40:] for name, column in table.items()}
    one, other = op.push_many(rest), again.push_many(rest)
    assert {name: column.tolist() for name, column in one.items()} == {name: column.tolist() for name, column in other.items()}
    assert op.statistics[:5] == again.statistics[:5]
    with pytest.raises(SnapshotError, match="expected the snapshot of Worlds with"):
        Worlds(sequence("next"), worlds=50, lower="lo", upper="hi", identity="id", window=20, seed=1).restore(blob)
    with pytest.raises(SnapshotError):
        op.restore(blob[:-9])
    with pytest.raises(SnapshotError):
        op.restore(op._keyed.snapshot())


def test_damaged_snapshots() -> None:
    from afa.operator import snapshot as saving
    from punctuation import sealed

    op = Worlds(sequence("next"), worlds=50, lower="lo", upper="hi", identity="id", window=20)
    op.push_many({name: column[:40] for name, column in _table().items()})
    body = saving.unseal(b"AFAW", 1, op.snapshot())
    rng, refused = random.Random(7), 0
    for _ in range(150):
        damaged = _damaged(body, rng)
        try:
            found = op.restore(sealed.seal(b"AFAW", 1, saving.plain(damaged)))
        except SnapshotError:
            refused += 1
            continue
        found.push_many([insert(E("B", 900), between(95, 99)), Punctuation(99)])
    assert refused > 60


def _damaged(value: Any, rng: random.Random) -> Any:
    """Plain data with one part of it changed."""
    if isinstance(value, list) and value and rng.random() < 0.9:
        i = rng.randrange(len(value))
        return [*value[:i], _damaged(value[i], rng), *value[i + 1 :]]
    return rng.choice([None, -1, 5, "x", [], 2**62, 0.5, b"", True])


# -- at random ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(24))
def test_each_world_on_its_own(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert possible_worlds.run(900 + seed, "compiled" if seed % 3 else "interpreted")["steps"]


def test_an_interval_longer_than_the_window_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    op = Worlds(sequence("any"), worlds=20, window=4)
    for i in range(3):
        op.push(insert(E("A", i), between(3, 7)))
    (record,) = caplog.records
    assert "within [3, 7], which is longer than the window of 4 ticks" in record.getMessage()


def test_what_is_said_of_a_pickle_is_there() -> None:
    with pytest.raises(AfaError, match=r"but got Worlds: use snapshot\(\) and restore\(\), as of all others"):
        pickle.dumps(Worlds(sequence("next"), worlds=20, window=9))
