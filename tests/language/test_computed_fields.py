"""Expressions in PARTITION BY and ORDER BY, and columns of a view there: as if the events had fields of their values."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import afa
from afa import AfaError, ChangeError, Punctuation, QueryError, SnapshotError, insert, retract
from afa.compiled import choices
from afa.language.query_text import another
from speculation.row_view import ComputedValue


class Reading(NamedTuple):
    sensor: str | None
    at: afa.Instant
    x: float | None


class Filled(NamedTuple):
    sensor: str | None
    at: afa.Instant
    x: float | None
    key_0: str | None
    key_1: int
    order_0: float | None


REST = "MEASURES a.x AS x, a.sensor AS of, COUNT(*) AS n AFTER MATCH SKIP TO NEXT ROW PATTERN (a b+) {} DEFINE b AS b.x > a.x"
COMPUTED = "PARTITION BY upper(sensor), at % 2 ORDER BY at, x * 2 DESC NULLS LAST"
PLAIN = "PARTITION BY key_0, key_1 ORDER BY at, order_0 DESC NULLS LAST"


def sql(clauses: str, of: str = "t", within: str = "", select: str = "*") -> str:
    return f"SELECT {select} FROM {of} MATCH_RECOGNIZE ({clauses} {REST.format(within)})"


def filled(row: Reading, le: int) -> Filled:
    return Filled(*row, row.sensor and row.sensor.upper(), le % 2, None if row.x is None else row.x * 2)


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
@pytest.mark.parametrize("within", ["", "WITHIN 20"])
def test_late_rows_and_retractions(engine: Any, within: str) -> None:
    """By call, one by one or together, restored in between: the changes are those of events that have the fields."""
    query = afa.sql(sql(COMPUTED, within=within), event=Reading)
    op: Any = query.operator(engine=engine)
    plain: Any = afa.sql(sql(PLAIN, within=within), event=Filled).operator(engine=engine)
    choose, t, force, retractions = random.Random(7), 0, dict[Any, tuple[Reading, int]](), 0
    for _ in range(250):
        batch: list[Any] = []
        for _ in range(choose.choice((1, 1, 4))):
            t += choose.randint(0, 2)
            if force and choose.random() < 0.3:
                row, le = force.pop(choose.choice([*force]))
                batch.append((retract, row, le))
                continue
            row, le = (
                Reading(choose.choice("aAbB"), None, choose.choice((None, 1.0, 2.0, 3.0))),
                max(0, t - choose.choice((0, 0, 9))),
            )
            place = str(row.sensor).upper(), row.x, le
            if place not in force:
                force[place] = row, le
                batch.append((insert, row, le))
        if choose.random() < 0.1:
            op = query.restore(op.snapshot(), engine=engine)
        found = [[make(row, le) for make, row, le in batch], [make(filled(row, le), le) for make, row, le in batch]]
        if len(batch) == 1:
            (mine,), (other,) = found
            out = op.push(mine), plain.push(other)
        else:
            out = op.push_many(found[0]), plain.push_many(found[1])
        assert [(tuple(each.payload), *each[1:]) for each in out[0]] == [(tuple(each.payload), *each[1:]) for each in out[1]]
        retractions += sum(each.diff < 0 for each in out[0])
    assert retractions > 10


HOURS = [datetime(2026, 1, 1) + timedelta(hours=h) for h in (1, 2, 3, 26, 27)]
FRAME = pa.table({"sensor": ["a", "A", "b", "a", None], "at": HOURS, "x": [1.0, 2.0, 3.0, 4.0, 5.0]})


def counted(clauses: str, measures: str = "", of: str = "t", select: str = "*") -> str:
    return f"SELECT {select} FROM {of} MATCH_RECOGNIZE ({clauses} MEASURES {measures}COUNT(*) AS n PATTERN (a+))"


STACKED = "(SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY sensor ORDER BY at {} AFTER MATCH SKIP TO NEXT ROW PATTERN (a)))"
MIDNIGHT, NEXT_DAY = datetime(2026, 1, 1), datetime(2026, 1, 2)
FRAMES = {
    "keys": (
        counted("PARTITION BY upper(sensor), CAST(at AS DATE) ORDER BY at, x * 2"),
        [("A", MIDNIGHT, 2), ("B", MIDNIGHT, 1), ("A", NEXT_DAY, 1), (None, NEXT_DAY, 1)],
    ),
    "a rank": (
        counted("PARTITION BY upper(sensor) ORDER BY -x", "FIRST(a.x) AS f, "),
        [("A", 4.0, 3), ("B", 3.0, 1), (None, 5.0, 1)],
    ),
    "a rank of ints": (
        counted("PARTITION BY upper(sensor) ORDER BY EXTRACT(DAY FROM at) DESC, at", "FIRST(a.x) AS f, "),
        [("A", 4.0, 3), ("B", 3.0, 1), (None, 5.0, 1)],
    ),
    "a rank of ints that ascend": (
        counted("ORDER BY EXTRACT(HOUR FROM at) + 100 * EXTRACT(DAY FROM at)", "FIRST(a.x) AS f, LAST(a.x) AS l, "),
        [(1.0, 5.0, 5)],
    ),
    "a rank of a column renamed": (
        counted("PARTITION BY sensor ORDER BY m", "FIRST(a.x) AS f, ", of="(SELECT sensor, x, x + 0 AS y, x AS m FROM t)"),
        [("a", 1.0, 2), ("A", 2.0, 1), ("b", 3.0, 1), (None, 5.0, 1)],
    ),
    "of a view": (
        counted("PARTITION BY k ORDER BY at", of="(SELECT at, x, lower(sensor) AS k FROM t)"),
        [("a", 3), ("b", 1), (None, 1)],
    ),
    "renamed": (
        counted("PARTITION BY k ORDER BY t0, y", of="(SELECT sensor AS k, at AS t0, x AS y FROM t)", select="k, n"),
        [("a", 2), ("A", 1), ("b", 1), (None, 1)],
    ),
    "called as another": (
        counted(
            "PARTITION BY sensor ORDER BY at, x", of="(SELECT at, lower(sensor) AS sensor, -x AS x FROM t)", select="sensor, n"
        ),
        [("a", "a", 3), ("b", "b", 1), (None, None, 1)],
    ),
    "all rows of that": (
        counted("PARTITION BY sensor ORDER BY at", of="(SELECT at, lower(sensor) AS sensor FROM t)").replace(
            "PATTERN", "ALL ROWS PER MATCH PATTERN"
        ),
        [
            ("a", HOURS[0], 1, "a"),
            ("a", HOURS[1], 2, "a"),
            ("b", HOURS[2], 1, "b"),
            ("a", HOURS[3], 3, "a"),
            (None, HOURS[4], 1, None),
        ],
    ),
    "over one another": (
        counted("PARTITION BY upper(sensor) ORDER BY t1, -x", of=STACKED.format("MEASURES LAST(a.at) AS t1, a.x AS x")),
        [("A", 3), ("B", 1), (None, 1)],
    ),
}


@pytest.mark.parametrize("name", FRAMES)
def test_frames_and_files(name: str, tmp_path: Path) -> None:
    text, expected = FRAMES[name]
    found = afa.find(text, FRAME)
    names = [each for each in found.column_names if each not in ("le", "re")]
    assert sorted(map(repr, zip(*(found[each].to_pylist() for each in names)))) == sorted(map(repr, expected))
    pq.write_table(FRAME, tmp_path / "t.parquet")
    assert afa.find(text, tmp_path / "t.parquet").equals(found)
    of_pandas = afa.find(text, FRAME.to_pandas())
    assert isinstance(of_pandas, pd.DataFrame)
    assert [*map(str, of_pandas["n"])] == [*map(str, found["n"].to_pylist())]
    of_dict = afa.find(text, {each: FRAME[each].to_pylist() for each in FRAME.column_names})
    assert of_dict["n"].tolist() == found["n"].to_pylist()
    if "rank" not in name:
        (of_operator,) = afa.sql(text, event=FRAME).operator().push_many([FRAME.slice(0, 2), FRAME.slice(2)], time="at")
        assert sorted(map(repr, of_operator.drop_columns("diff").to_pylist())) == sorted(map(repr, found.to_pylist()))


def test_all_rows_show_what_a_view_has() -> None:
    """The key first, then what orders rows, then the rest; fields that are computed of an expression are not shown."""
    text = (
        "SELECT * FROM (SELECT at AS t0, lower(sensor) AS k, x FROM t) MATCH_RECOGNIZE (PARTITION BY k, x > 2 ORDER BY t0, x + 1 "
        "MEASURES COUNT(*) AS n ALL ROWS PER MATCH PATTERN (a+))"
    )
    found = afa.find(text, FRAME)
    assert found.column_names == ["k", "key_0", "t0", "n", "x", "le", "re"]
    assert found["n"].to_pylist() == [1, 2, 1, 1, 1]


def test_dicts_ids_promises_and_neighbours() -> None:
    text = sql("PARTITION BY upper(sensor) ORDER BY at, x", within="WITHIN 9").replace("b.x > a.x", "b.x > PREV(b.x)")
    op: Any = afa.sql(text, event=Reading).operator()
    rows = [{"sensor": "a", "x": 1.0, "le": 1}, {"sensor": "A", "x": 2.0, "le": 2}, Punctuation(3)]
    assert [each.diff for each in op.push_many(rows) if isinstance(each, afa.Change)] == [1]
    op = afa.sql(sql("PARTITION BY upper(sensor) ORDER BY at, x"), event=Reading).operator(speculation=5)
    assert op.push_many([insert(Reading("a", None, 1.0), 1), insert(Reading("A", None, 2.0), 2)]) == []
    assert [each.diff for each in op.push_many([Punctuation(9)]) if isinstance(each, afa.Change)] == [1]


def test_what_is_refused() -> None:
    query = afa.sql(sql(COMPUTED), event=Reading)
    with pytest.raises(AfaError, match=r"expected members=<a field of Reading\(.*\)> but got members='key_1'"):
        query.operator(members="key_1")
    op: Any = query.operator()
    op.push(insert(Reading("a", None, 1.0), 1))
    other: Any = afa.sql(sql(COMPUTED.replace("% 2", "% 3")), event=Reading)
    with pytest.raises(SnapshotError, match=r"expected a snapshot of a query with key_0: .*, order_0: "):
        other.restore(op.snapshot())
    with pytest.raises(AfaError, match=r"expected a query of the same events, .* but got key_0: .* % 2, .* % 3, "):
        query.changes_to(other)
    with pytest.raises(ChangeError):
        op.push(insert(Reading(5, None, 1.0), 2))  # type: ignore[arg-type]
    assert op.push(insert(Reading("A", None, 2.0), 3))[0].payload.of == "a"  # a call that fails leaves nothing
    by_zero: Any = afa.sql(sql("PARTITION BY 1 / x ORDER BY at"), event=Reading, dialect="trino").operator()
    with pytest.raises(ZeroDivisionError, match=r"(?s)division.*in key_0, .*Reading"):
        by_zero.push(insert(Reading("a", None, 0.0), 1))
    with pytest.raises(QueryError, match="got PREV or NEXT"):
        afa.sql(sql("PARTITION BY PREV(x) ORDER BY at"), event=Reading)


def test_rows_that_a_view_leaves_out_are_not_computed() -> None:
    of = "(SELECT at, x, 1 / x AS k FROM t WHERE x > 0)"
    for clauses in ("PARTITION BY 1 / x ORDER BY at", "PARTITION BY k ORDER BY at", "PARTITION BY k ORDER BY at, 1 / x"):
        text, frame = counted(clauses, of=of), FRAME.set_column(2, "x", pa.array([0.0, 1.0, 1.0, 2.0, None]))
        assert afa.find(text, frame)["n"].to_pylist() == [2, 1]
        for rows in ([frame], [*frame.to_pylist()]):
            found: Any = afa.sql(text, event=frame).operator().push_many(rows, time="at")
            assert sum(len(each) if isinstance(each, pa.Table) else each.diff for each in found) == 2
    assert afa.find(counted("ORDER BY 1 / x, at", of=of), frame)["n"].to_pylist() == [3]


def test_a_constant_of_a_view() -> None:
    text = counted("PARTITION BY k, z ORDER BY at, k", of="(SELECT at, 1 AS k, NULLIF('z', 'z') AS z FROM t)")
    for frame in (FRAME, FRAME.slice(0, 0)):
        assert afa.find(text, frame)["n"].to_pylist() == [5][: len(frame)]
        (found,) = afa.sql(text, event=FRAME).operator().push_many([frame], time="at")
        assert found.select(["k", "z", "n"]).to_pylist() == [{"k": 1, "z": None, "n": 5}][: len(frame)]


def test_keys_said_twice_are_one() -> None:
    for clauses, of, names in (
        ("PARTITION BY upper(sensor), upper(sensor) ORDER BY at", "t", ["key_0", "n"]),
        ("PARTITION BY k, upper(sensor) ORDER BY at", "(SELECT *, upper(sensor) AS k FROM t)", ["k", "n"]),
        ("PARTITION BY sensor, sensor ORDER BY at", "t", ["sensor", "n"]),
    ):
        assert afa.find(counted(clauses, of=of), FRAME).column_names == [*names, "le", "re"]


def test_columns_of_a_view_whose_names_no_field_can_have() -> None:
    for name in ('"a b"', '"class"', "_k", "le", "diff"):
        of = f"(SELECT at, x, lower(sensor) AS {name} FROM t)"
        assert afa.find(counted(f"PARTITION BY {name} ORDER BY at, {name}", of=of, select="n"), FRAME)["n"].to_pylist() == [1, 3, 1]
        with pytest.raises(AfaError, match="expected a name"):
            afa.find(counted(f"PARTITION BY {name} ORDER BY at", of=of), FRAME)


def test_pickled_queries_and_ints_beyond_64_bits() -> None:
    query: Any = afa.sql(sql(COMPUTED), event=Reading)
    assert pickle.loads(pickle.dumps(query)) == query == afa.sql(sql(COMPUTED), event=Reading)
    assert query != afa.sql(sql(COMPUTED.replace("% 2", "% 3")), event=Reading)
    text = counted("PARTITION BY EXTRACT(DAY FROM at) * 9223372036854775807 ORDER BY at")
    for call in (lambda: afa.find(text, FRAME), lambda: afa.sql(text, event=FRAME).operator().push_many([FRAME], time="at")):
        with pytest.raises(afa.Int64Error, match=r"(?s)expected an int64 but got 18446744073709551614.*in key_0"):
            call()


def test_ids_name_events_as_they_come() -> None:
    """Also where rows of one time are in a calculated order, and of a snapshot."""
    query: Any = afa.sql(sql("PARTITION BY upper(sensor) ORDER BY at, x * 2 NULLS LAST", within="WITHIN 20"), event=Reading)
    op = query.operator(id="x")
    assert op.push(insert(Reading("a", None, 1.0), 1)) == []
    assert [each.diff for each in op.push(insert(Reading("A", None, 2.0), 2))] == [1]
    op = query.restore(op.snapshot(), id="x")
    assert [each.diff for each in op.push(retract({"x": 1.0}, 1))] == [-1]
    assert isinstance(afa.Operator.restore(query, op.snapshot(), id="x"), type(op))
    with pytest.raises(AfaError, match=r"expected a message with an id \('key_0'\) but got Reading\("):
        query.operator(id="key_0").push(insert(Reading("a", None, 1.0), 1))


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
def test_what_is_late_is_handed_over_as_it_came(engine: Any) -> None:
    query, late = (
        afa.sql(sql("PARTITION BY upper(sensor) ORDER BY at, x * 2 NULLS LAST", within="WITHIN 20"), event=Reading),
        list[Any](),
    )
    op: Any = query.operator(late=late.append, engine=engine)
    op.push(Punctuation(9))
    op.push(insert(Reading("a", None, 1.0), 5))
    op.push_many([pa.table({"sensor": ["b"], "x": [1.0], "at": [6]})], time="at")
    op.push_many([retract(Reading("c", None, 1.0), 12), Punctuation(20)])
    assert [(each.payload, each.le, each.diff) for each in late] == [
        (Reading("a", 5, 1.0), 5, 1),
        (Reading("b", 6, 1.0), 6, 1),
        (Reading("c", 12, 1.0), 12, -1),
    ]
    assert {type(each.payload) for each in late} == {Reading}
    query.operator().push_many(late[:2])


KEYS = "PARTITION BY upper(sensor), CAST(at AS DATE) ORDER BY at, x * 2 NULLS LAST"
CHOOSE = random.Random(3)
STARTS = datetime(2026, 1, 1)
MANY = pa.table(
    {
        "sensor": [CHOOSE.choice("aAbB") for _ in range(900)],
        "at": [STARTS + timedelta(minutes=i // 2) for i in range(900)],
        "x": [float(i % 2 + 2 * CHOOSE.randint(0, 9)) for i in range(900)],
    }
)
BESIDE = {
    "key_0": pc.utf8_upper(MANY["sensor"]),
    "key_1": pc.floor_temporal(MANY["at"], unit="day"),
    "order_0": pc.multiply(MANY["x"], 2),
}
"""What is computed of each row, as columns."""


def steps(n: int, keys: str = KEYS) -> str:
    return sql(keys, within="WITHIN INTERVAL '9' MINUTE").replace("b.x > a.x", f"b.x > a.x + {n}")


def rows_of(table: Any) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def test_all_doors_over_frames_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their matches are those over columns that hold what is computed."""
    whole, by_columns = MANY, "PARTITION BY key_0, key_1 ORDER BY at, order_0"
    for name, column in BESIDE.items():
        whole = whole.append_column(name, column)
    expected = {n: rows_of(afa.find(steps(n, by_columns), whole)) for n in (0, 5)}
    assert min(map(len, expected.values())) > 100
    queries = {n: afa.sql(steps(n), event=MANY) for n in (0, 5)}
    pq.write_table(MANY, tmp_path / "many.parquet", row_group_size=200)
    file, history = tmp_path / "many.parquet", afa.prepared(MANY)
    monkeypatch.setattr(choices, "LONG", 100)
    for frame in (MANY, history, history, file):
        for options in ({}, {"engine": "interpreted"}) if frame is not history else ({},):
            tested = afa.backtest(queries, frame, **options)
            assert (tested.by_operator == {}) is not bool(options)
            assert tested.table["matches"].to_pylist() == [*map(len, expected.values())]
            for n in queries:
                mine = tested.matches.filter(pc.equal(tested.matches["variant"], n)).drop_columns("variant")
                assert rows_of(mine) == expected[n] == rows_of(afa.find(queries[n], frame, **options))
    assert afa.backtest(queries, MANY, counts=True).table["matches"].to_pylist() == [*map(len, expected.values())]
    other_keys = {"one": queries[0], "other": afa.sql(steps(0, KEYS.replace("upper", "lower")), event=MANY)}
    assert afa.backtest(other_keys, MANY).table["matches"].to_pylist() == [len(expected[0])] * 2
    found = afa.replay.replay(queries[0], file)
    assert rows_of(found.matches) == expected[0]
    assert "keys, or an order of rows, are computed of them" in str(found.plan)
    swept = afa.replay.sweep(queries, file)
    assert {n: rows_of(table) for n, table in swept.matches.items()} == expected
    with pytest.raises(QueryError, match=r"expected columns in PARTITION BY and ORDER BY for afa.amend but got expr.* \(key_0"):
        afa.replay.amend(queries[0], file, MANY.slice(0, 1))


def test_one_query_as_any_other() -> None:
    """Drawn, explained, with members and lineage, with reasons, changed while it runs, in another text over its events."""
    query: Any = afa.sql(sql(COMPUTED, within="WITHIN 20"), event=Reading)
    assert "<svg" in query.draw()
    assert "a" in str(query.explain())
    assert "Query" in query._repr_html_()
    assert query.event is Reading
    assert query.key == ("key_0", "key_1")
    rows = [insert(Reading("a", None, 1.0), 1), insert(Reading("A", None, 2.0), 3), insert(Reading("A", None, 3.0), 5)]
    op = query.operator(members="x")
    match = op.push_many(rows)[0]
    assert match.members == {"a": (1.0,), "b": (2.0, 3.0)}
    assert match.key == ("A", 1)
    (first, *_) = op.lineage(match).events()["a"]
    assert first.payload == Reading("a", 1, 1.0)
    assert type(first.payload) is Reading
    frame = {"sensor": ["a", "A", "A"], "x": [1.0, 2.0, 3.0], "at": [1, 3, 5]}
    assert afa.find(query, frame, members="x")["members"].tolist() == [match.members, {"a": (2.0,), "b": (3.0,)}]
    (whole, _) = afa.find(query, frame, members=True)["members"].tolist()
    assert {type(each.payload) for each in whole["b"]} == {Reading}
    reasons = afa.Reasons(query.operator())
    (announced,) = reasons.push_many([rows[0], rows[2]])
    assert announced.because.text == "Announced: 'A, 3.0, 5' is its last event."
    gone, come = reasons.push(rows[1])[:2]
    assert (gone.diff, come.diff) == (-1, 1)
    assert "arrived late" in gone.because.text
    later = afa.sql(sql(COMPUTED, within="WITHIN 20").replace("b.x > a.x", "b.x > a.x + 1"), event=Reading)
    op = query.operator()
    op.push(rows[0])
    op.push_many([*query.changes_to(later).arcs])
    assert [each.diff for each in op.push_many([insert(Reading("a", None, 1.5), 7), insert(Reading("a", None, 3.0), 9)])] == [1]
    assert another(query, sql(COMPUTED, within="WITHIN 20")) == query


def test_a_field_is_computed_once_of_an_event_that_is_pushed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, of = list[str](), ComputedValue.of
    monkeypatch.setattr(ComputedValue, "of", lambda self, payload: [asked.append(self.field.name), of(self, payload)][1])
    op: Any = afa.sql(sql(COMPUTED, within="WITHIN 20"), event=Reading).operator()
    op.push(insert(Reading("a", None, 1.0), 1))
    assert sorted(asked) == ["key_0", "key_1", "order_0"]
    op.push_many([{"sensor": "a", "x": 1.0, "at": 3}])
    assert len(asked) == 6


@pytest.mark.parametrize("of", ["t", "(SELECT * FROM t WHERE x > 0)"])
@pytest.mark.parametrize("keys", ["sensor", "upper(sensor)"])
def test_rows_last_as_long_as_within_says(of: str, keys: str) -> None:
    """One rule, whatever stands in front of the operator."""
    for define in ("b.x > a.x", "b.x > PREV(b.x)"):
        text = sql(f"PARTITION BY {keys} ORDER BY at, x", of=of, within="WITHIN 20").replace("b.x > a.x", define)
        query: Any = afa.sql(text, event=Reading)
        frame = pa.table({"sensor": ["a", "a"], "x": [1.0, 2.0], "at": [1, 3], "until": [21, 23]})
        assert len(afa.find(query, frame, until="until")) == 1
        wrong = frame.set_column(3, "until", pa.array([21, 24]))
        with pytest.raises(ChangeError, match="expected rows that last as long as WITHIN says, 20 ticks, but got le=3, re=24"):
            afa.find(query, wrong, until="until")
        with pytest.raises(ChangeError, match="expected rows that last as long as WITHIN says, 20 ticks, but got le=3, re=24"):
            query.operator().push_many([wrong.rename_columns(["sensor", "x", "at", "re"])], time="at")


@pytest.mark.parametrize("of", ["t", "(SELECT * FROM t WHERE x > 0)"])
@pytest.mark.parametrize("define", ["a.x", "PREV(b.x)"])
def test_other_stages_beside_it(of: str, define: str) -> None:
    """Pushed one by one, restored in between, the net is that of one call."""
    text = sql("PARTITION BY upper(sensor) ORDER BY at, x * 2 NULLS LAST", of=of, within="WITHIN 20").replace(
        "> a.x", f"> {define}"
    )
    query: Any = afa.sql(text, event=Reading)
    rows = [("a", 1.0, 1), ("z", -1.0, 2), ("A", 2.0, 3), ("A", 3.0, 5)]
    items = [*(insert(Reading(sensor, None, x), le) for sensor, x, le in rows), Punctuation(50)]
    wanted = [each for each in query.operator().push_many(items) if isinstance(each, afa.Change)]
    assert len(wanted) == 2
    for options in ({"speculation": 3}, {"id": "x"}, {"speculation": 0, "id": "x"}, {"threads": 2}, {"lineage": True}):
        op, net = query.operator(**options), Counter[Any]()
        for item in items:
            for each in op.push(item):
                if isinstance(each, afa.Change):
                    net[each.payload, each.le, each.re, each.key] += each.diff
            op = query.restore(op.snapshot(), **({"id": "x"} if "id" in options else {}))
        assert +net == {(each.payload, each.le, each.re, each.key): 1 for each in wanted}
