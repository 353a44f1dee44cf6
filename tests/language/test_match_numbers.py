"""MATCH_NUMBER: in order and behind late rows, frames, files, snapshots, lineage, what is refused. Random: `number_worlds`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import afa
from afa import FOREVER, AfaError, Change, ChangeError, Punctuation, SnapshotError, insert, retract
from speculation import match_numbers
from tests.forged import forged
from tests.language import number_worlds

ENGINES = ("interpreted", "compiled")


class Tick(NamedTuple):
    s: str
    p: float
    at: afa.Instant | None = None


def falls(measures: str = "MATCH_NUMBER() AS n, FIRST(p) AS top", within: str = "WITHIN 20", **more: str) -> afa.Query:
    """Falling prices."""
    said = {"select": "*", "rows": "ONE ROW", "skip": "PAST LAST ROW", "pattern": "a b+", "behind": "", **more}
    text = (
        f"SELECT {said['select']} FROM t MATCH_RECOGNIZE (PARTITION BY s ORDER BY at MEASURES {measures} {said['rows']} PER MATCH "
        f"AFTER MATCH SKIP {said['skip']} PATTERN ({said['pattern']}) {within} DEFINE b AS p < PREV(p)) {said['behind']}"
    )
    return afa.sql(text, event=Tick)


def ticks(prices: dict[int, float], key: str = "x") -> list[Change]:
    return [insert(Tick(key, p), at) for at, p in prices.items()]


def told(out: list[Any]) -> list[tuple[Any, ...]]:
    """Changes as (diff, LE, what is shown); promises as they are."""
    return [(c.diff, c.le, *c.payload) if isinstance(c, Change) else c for c in out]


TWO = {1: 5.0, 2: 4.0, 5: 9.0, 6: 8.0}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_late_row_renumbers_the_matches_behind_it(engine: Any) -> None:
    op = falls().operator(engine=engine)
    assert told(op.push_many(ticks(TWO))) == [(1, 2, 1, 5.0), (1, 6, 2, 9.0)]
    assert told(op.push_many(ticks({3: 7.0, 4: 6.0}))) == [(-1, 6, 2, 9.0), (1, 4, 2, 7.0), (1, 6, 3, 9.0)]
    assert told(op.push(retract(Tick("x", 4.0), 2))) == [
        *[(-1, 2, 1, 5.0), (-1, 4, 2, 7.0), (-1, 6, 3, 9.0)],
        *[(1, 4, 1, 7.0), (1, 6, 2, 9.0)],
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_match_that_moves_keeps_its_number(engine: Any) -> None:
    op = falls().operator(engine=engine)
    op.push_many(ticks(TWO))
    assert told(op.push_many(ticks({3: 3.0}))) == [(-1, 2, 1, 5.0), (1, 3, 1, 5.0)]


@pytest.mark.parametrize("engine", ENGINES)
def test_each_key_has_numbers_of_its_own_and_all_rows_of_a_match_one(engine: Any) -> None:
    op = falls("MATCH_NUMBER() AS n", rows="ALL ROWS", select="at, n").operator(engine=engine)
    out = op.push_many([*ticks(TWO), *ticks({1: 2.0, 3: 1.0}, "y")])
    assert sorted((c.key, c.payload.at, c.payload.n) for c in out) == [
        *[("x", 1, 1), ("x", 2, 1), ("x", 5, 2), ("x", 6, 2)],
        *[("y", 1, 1), ("y", 3, 1)],
    ]


def test_a_promise_makes_numbers_final_and_forgets_matches() -> None:
    op = falls().operator()
    assert told(op.push_many([*ticks(TWO), Punctuation(22)]))[-1] == Punctuation(3)  # 22 - 20 + 1
    assert [match.payload.top for match in op.stage.waiting()] == [9.0]
    assert told(op.push_many(ticks({23: 9.5, 24: 2.0}))) == [(1, 24, 3, 9.5)]
    assert op.push(Punctuation(FOREVER)) == [Punctuation(FOREVER)]
    assert op.stage.waiting() == []


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("within", ["WITHIN 20", ""])
def test_tables_in_order_are_numbered_as_columns(engine: Any, within: str, monkeypatch: Any) -> None:
    """Also a match that goes on in the next table keeps its number, without a step for each match."""
    rng = np.random.default_rng(1)
    n, query = 4000, falls("MATCH_NUMBER() AS n, FIRST(at) AS first", within)
    columns = {"s": rng.integers(0, 5, n).astype(str).tolist(), "p": rng.normal(size=n), "le": np.arange(n)}
    one = query.operator(engine=engine).push_many(
        [insert(Tick(s, p), le) for s, p, le in zip(columns["s"], columns["p"].tolist(), range(n))]
    )
    op, held = query.operator(engine=engine), set[Any]()
    monkeypatch.setattr(match_numbers.MatchNumbers, "_revise", None)  # what numbers matches one by one
    for i in range(0, n, 500):
        table = {name: column[i : i + 500] for name, column in columns.items()}
        found, *_ = op.push_many([table, Punctuation(i + 500)])
        for key, number, first, le, re, diff in zip(*(list(found[name]) for name in ("s", "n", "first", "le", "re", "diff"))):
            held ^= {(key, number, first, le, re)}
            assert ((key, number, first, le, re) in held) == (diff > 0)
    assert held == {(c.key, c.payload.n, c.payload.first, c.le, c.re) for c in one}
    assert len(held) > 500


def test_frames_and_files_say_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    n = 4000
    frame = pa.table(
        {"s": rng.integers(0, 3, n).astype(str), "p": np.where(rng.random(n) < 0.9, 5.0, rng.normal(size=n)), "at": np.arange(n)}
    )
    pq.write_table(frame, tmp_path / "t.parquet", row_group_size=100)
    query = falls("FIRST(at) AS first, MATCH_NUMBER() AS n", pattern="a b", within="WITHIN 9")
    found = [
        afa.find(query, source, time="at", **threads)
        for source in (frame, tmp_path / "t.parquet")
        for threads in ({}, {"threads": 2})
    ]
    rows = [sorted(zip(*(each.column(name).to_pylist() for name in ("s", "first", "n")))) for each in found]
    assert rows[0] == rows[1] == rows[2] == rows[3]
    for key in "012":
        assert [n for s, _, n in rows[0] if s == key] == list(range(1, 1 + sum(s == key for s, _, _ in rows[0])))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_snapshot_goes_on_numbering(engine: Any) -> None:
    query = falls()
    op = query.operator(engine=engine)
    op.push_many([*ticks(TWO), Punctuation(22)])
    again = query.restore(op.snapshot(), engine=engine)
    assert again.snapshot() == op.snapshot()
    more = [*ticks({22: 9.5, 23: 3.0}), Punctuation(50)]
    assert told(again.push_many(more)) == told(op.push_many(more)) == [(1, 23, 3, 9.5), Punctuation(31)]
    with pytest.raises(SnapshotError, match="expected a snapshot of"):
        falls("FIRST(p) AS top").restore(op.snapshot())
    with pytest.raises(SnapshotError):
        falls("MATCH_NUMBER() + 1 AS n, FIRST(p) AS top").restore(op.snapshot())


FORGED: list[tuple[tuple[int, ...], Any, str]] = [
    ((1, 1), 4, "expected a promise that the operator has made"),
    ((1, 1), "3", "expected the numbers of a MatchNumbers"),
    ((1, 2), [["x", 1], ["x", 1]], "expected how many matches of each key are final"),
    ((1, 2, 0, 1), 2**63 - 1, "expected how many matches of each key are final"),
    ((1, 2, 0, 1), True, "expected how many matches of each key are final"),
    ((1, 3), [], "expected the rows of DISTINCT, each for all matches that show it"),
    ((1, 3), lambda rows: [*rows, rows[0]], "expected the rows of DISTINCT, each for all matches that show it"),
    ((1, 3, 0, 4), "2", "expected the numbers of a MatchNumbers"),
    ((1, 3, 0, 4), -1, "expected rows that leave once"),
    ((1, 3, 0, 0, 1), "high", "expected the numbers of a MatchNumbers"),
    ((1, 3, 0, 1), "6", "expected the numbers of a MatchNumbers"),
    ((1, 3, 0, 1), 1, "expected rows that leave once"),
    ((2, 4, 0), -1, "expected matches that are not final"),
    ((2, 2, 0), "5", "expected the numbers of a MatchNumbers"),
    ((2, 3, 0), 21, "expected matches that are not final"),
    ((2, 3, 0), None, "expected matches with an end"),
    ((2, 3, 0), 10**6, "expected matches that start at their LE or before"),
    ((3,), b"rows", "expected no rows that wait there"),
]


@pytest.mark.parametrize(("place", "value", "message"), FORGED)
def test_a_snapshot_that_lies_is_refused(place: tuple[int, ...], value: Any, message: str) -> None:
    query = falls(select="DISTINCT n, top")
    op = query.operator()
    op.push_many([*ticks(TWO), Punctuation(22)])
    assert query.restore(forged(op.snapshot(), (), lambda body: body)).snapshot() == op.snapshot()
    with pytest.raises(SnapshotError, match=message):
        query.restore(forged(op.snapshot(), place, value))
    with pytest.raises(SnapshotError, match="expected rows that leave once"):
        falls().restore(forged(falls().operator().snapshot(), (1, 3), [[[1, 5.0], 2, 20, "x", 1]]))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_call_that_fails_leaves_the_numbers(engine: Any) -> None:
    op = falls().operator(engine=engine)
    op.push_many([*ticks(TWO), Punctuation(3)])
    before = op.snapshot()
    with pytest.raises(AfaError, match="promised"):
        op.push_many([*ticks({3: 7.0, 4: 6.0, 2: 1.0})])
    assert op.snapshot() == before
    assert told(op.push_many(ticks({3: 7.0, 4: 6.0}))) == [(-1, 6, 2, 9.0), (1, 4, 2, 7.0), (1, 6, 3, 9.0)]


def test_a_number_within_an_expression_and_what_is_equal_is_told_once() -> None:
    op = falls("MATCH_NUMBER() - COUNT(*) AS n").operator()
    out = op.push_many(ticks({1: 3.0, 2: 2.0, 5: 7.0, 6: 6.0, 7: 5.0}))
    assert told(out) == [(1, 2, -1), (1, 7, -1)]
    same = falls("MATCH_NUMBER() * 0 AS n", skip="TO NEXT ROW", pattern="a b", within="").operator()
    out = same.push_many(ticks({1: 3.0, 2: 2.0, 3: 1.0}))
    assert told(out) == [(1, 2, 0), (1, 3, 0)]


def test_a_lineage_is_that_of_the_match_with_this_number() -> None:
    op = falls().operator()
    first, second = op.push_many(ticks(TWO))
    assert [event.le for event in op.lineage(second).events()["a"]] == [5]
    assert op.lineage(second).match == second
    with pytest.raises(ChangeError, match="expected a match in force but got"):
        op.lineage(first._replace(payload=first.payload._replace(n=2)))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("select", "behind"), [("DISTINCT high", ""), ("DISTINCT high", "WHERE high > 1"), ("high", "WHERE high > 1")]
)
def test_a_lineage_of_what_no_number_tells_apart(select: str, behind: str, engine: Any) -> None:
    op = falls("FIRST(p) AS high", select=select, behind=behind).operator(engine=engine)
    _, second = op.push_many(ticks(TWO))
    assert [event.le for event in op.lineage(second).events()["a"]] == [5]


def test_promises_of_a_stage_in_front_and_single_steps() -> None:
    op = falls().operator(speculation=0)
    assert told(op.push_many([*ticks(TWO), Punctuation(10)])) == [(1, 2, 1, 5.0), (1, 6, 2, 9.0), Punctuation(-9)]
    one, many = falls().operator(), falls().operator()
    items = [*ticks(TWO), *ticks({3: 7.0, 4: 6.0}), Punctuation(7)]
    assert many.push_many(items, net=False) == [each for item in items for each in one.push(item)]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            {"measures": "MATCH_NUMBER() AS n", "rows": "ALL ROWS", "pattern": "{- a b+ -}"},
            "expected a pattern of which each match shows",
        ),
        ({"measures": "MATCH_NUMBER(p) AS n"}, "a match has its number once it is chosen"),
    ],
)
def test_what_is_refused(query: dict[str, str], message: str) -> None:
    with pytest.raises(AfaError, match=message):
        falls(**query)


def test_explain_says_what_numbers_cost() -> None:
    assert any(each.startswith("MATCH_NUMBER: a match that comes late") for each in falls().explain().warnings)
    assert any("each match is held for that" in each for each in falls(within="").explain().warnings)
    assert not any("MATCH_NUMBER" in each for each in falls("FIRST(p) AS top").explain().warnings)
    for within, until in (("WITHIN 20", "a"), ("", "the last")):
        warnings = falls("FIRST(p) AS high", within, select="DISTINCT high").explain().warnings
        assert f"DISTINCT: of each row it is held how many matches show it, until {until} watermark" in warnings
        assert not any("MATCH_NUMBER" in each for each in warnings)


def test_matches_that_can_not_be_told_apart_are_refused() -> None:
    class Bare(NamedTuple):
        p: float

    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY le MEASURES MATCH_NUMBER() AS n {} PATTERN (a b) DEFINE b AS p < PREV(p))"
    with pytest.raises(AfaError, match=r"expected WITHIN, or a field of the event annotated afa\.Instant"):
        afa.sql(text.format("AFTER MATCH SKIP TO NEXT ROW"), event=Bare)
    op = afa.sql(text.format(""), event=Bare).operator()
    assert told(op.push_many([insert(Bare(p), le) for le, p in enumerate((4.0, 3.0, 5.0, 1.0))])) == [(1, 1, 1), (1, 3, 2)]
    with pytest.raises(AfaError, match="members="):
        falls().operator(members=True)
    with pytest.raises(AfaError, match="expected a query that chooses and shows alike"):
        falls("MATCH_NUMBER() * 2 AS n").changes_to(falls("MATCH_NUMBER() * 3 AS n"))


def test_random_tables_are_numbered_as_the_scan_finds_matches(turns: str) -> None:
    seen = number_worlds.WORLDS.run("sample", range(25), turns, more_than={"came": 300})
    assert turns == "interpreted" or seen["looked at"] > 5, "tables of which the last rows look at the next ones"


# -- SELECT, WHERE and DISTINCT around it ------------------------------------------------------------------------------------------


SELECTED = [
    ("s, (high - low) / high AS fall, 'k' AS c", "", [(2, 0.2, "k"), (6, 1 / 9, "k")]),
    ("CASE WHEN low > 5 THEN 1 ELSE 0 END AS w, s AS name", "", [(2, 0, "x"), (6, 1, "x")]),
    ("*", "WHERE low > 5", [(6, 9.0, 8.0, 2)]),
    ("high", "AS m WHERE m.n >= 2 AND s = 'x'", [(6, 9.0)]),
    ("n * 2 AS m, low", "WHERE n < 2 OR low IS NULL", [(2, 2, 4.0)]),
    ("s", "WHERE low > 5", [(6,)]),
    ("DISTINCT high", "", [(2, 5.0), (6, 9.0)]),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("select", "behind", "shown"), SELECTED)
def test_expressions_over_measures(select: str, behind: str, shown: list[Any], engine: Any) -> None:
    query = falls("FIRST(p) AS high, LAST(p) AS low, MATCH_NUMBER() AS n", select=select, behind=behind)
    assert [row[1:] for row in told(query.operator(engine=engine).push_many(ticks(TWO)))] == shown
    table = {"s": ["x"] * 4, "p": list(TWO.values()), "le": list(TWO)}
    found = query.operator(engine=engine).push_many(table)
    names = [field.name for field in query.shown.fields]
    assert list(found) == ["s", *names, "le", "re", "diff"]
    assert list(zip(*(list(found[name]) for name in ("le", *names)))) == shown


def test_where_of_a_row_reads_its_columns_and_those_of_its_match() -> None:
    op = falls("FIRST(p) AS high", rows="ALL ROWS", select="at, high - p AS below", behind="WHERE p < high").operator()
    assert told(op.push_many(ticks(TWO))) == [(1, 2, 2, 1.0), (1, 6, 6, 1.0)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("as_table", [False, True])
@pytest.mark.parametrize(
    ("select", "behind", "shown"),
    [
        ("12.0 / (n - 1) AS r", "WHERE n > 1", [(6, 12.0), (9, 6.0)]),
        ("(n + 4) % (n - 1) AS r", "WHERE n > 1", [(6, 0), (9, 1)]),
        ("SQRT(n - 2) AS r, n", "WHERE n >= 2", [(6, 0.0, 2), (9, 1.0, 3)]),
        ("high / low AS r", "WHERE low <> 0", [(6, 1.125), (9, 15.0)]),
        ("high / low AS r", "WHERE n > 1", [(6, 1.125), (9, 15.0)]),
        ("SQRT(low - 1) AS r", "WHERE low >= 1", [(6, 7**0.5), (9, 0.0)]),
        ("12.0 / (n - 4) AS r", "", [(2, -4.0), (6, -6.0), (9, -12.0)]),
        ("n", "WHERE n > 1 AND 2.0 / (n - 1) > 1", [(6, 2)]),
        ("CASE WHEN n = 1 THEN 0.5 ELSE n END AS r", "", [(2, 0.5), (6, 2.0), (9, 3.0)]),
    ],
)
def test_no_value_is_asked_of_what_where_leaves_out(
    select: str, behind: str, shown: list[Any], engine: Any, as_table: bool
) -> None:
    """Nor with another number than that of the match; types are those of the values."""
    query = falls("FIRST(p) AS high, LAST(p) AS low, MATCH_NUMBER() AS n", select=select, behind=behind)
    prices = {1: 5.0, 2: 0.0, 5: 9.0, 6: 8.0, 8: 15.0, 9: 1.0}
    if as_table:
        found = query.operator(engine=engine).push_many({"s": ["x"] * 6, "p": list(prices.values()), "le": list(prices)})
        assert list(zip(*(list(found[field]) for field in ("le", *(f.name for f in query.shown.fields))))) == shown
        return
    op = query.operator(engine=engine)
    out = told(op.push_many(ticks(prices)))
    assert [row[1:] for row in out] == shown
    assert not any(field.optional for field in query.shown.fields)
    assert {tuple(map(type, row[2:])) for row in out} == {tuple(field.type for field in query.shown.fields)}
    late = query.operator(engine=engine)
    held = set[Any]()
    for each in [tick for change in reversed(ticks(prices)) for tick in late.push(change)]:
        held ^= {(each.le, *each.payload)}
    assert sorted(held) == shown


@pytest.mark.parametrize("engine", ENGINES)
def test_a_value_that_raises_says_where(engine: Any) -> None:
    op = falls("FIRST(p) AS high, MATCH_NUMBER() AS n", select="high / (n - 2) AS ratio").operator(engine=engine)
    before = op.snapshot()
    with pytest.raises(ZeroDivisionError) as error:
        op.push_many(ticks(TWO))
    notes = getattr(error.value, "__notes__", None)  # Python 3.10 has none
    assert notes in (None, ["ratio of match number 2", "in the match at le=6, of key 'x'"])
    assert op.snapshot() == before


def test_distinct_is_there_while_a_match_shows_it() -> None:
    op = falls("LAST(p) AS low", skip="TO NEXT ROW", within="", select="DISTINCT low").operator()
    assert told(op.push_many(ticks({1: 5.0, 2: 4.0, 3: 3.0}))) == [(1, 3, 3.0)]
    again = falls("LAST(p) AS low", skip="TO NEXT ROW", within="", select="DISTINCT low").restore(op.snapshot())
    for each in (op, again):
        assert told(each.push(retract(Tick("x", 5.0), 1))) == []
        assert told(each.push(retract(Tick("x", 4.0), 2))) == [(-1, 3, 3.0)]


def test_distinct_counts_many_rows_of_one_instant_in_linear_time() -> None:
    query = afa.sql(
        "SELECT DISTINCT p FROM t MATCH_RECOGNIZE (PARTITION BY s ORDER BY at MEASURES LAST(p) AS p PATTERN (a) WITHIN 9)",
        event=Tick,
    )
    op, n = query.operator(), 12_000
    table = {"s": [f"s{i}" for i in range(n)], "p": np.arange(n, dtype=float), "le": [1] * n}
    op.push_many({name: column[:10] for name, column in table.items()})
    began = time.process_time()
    assert len(op.push_many({name: column[10:] for name, column in table.items()})["p"]) == n - 10
    assert time.process_time() - began < 2  # a tenth of that; where each row copies those of its instant, seven
    assert told(op.push_many([retract(Tick("s0", 0.0), 1)])) == [(-1, 1, 0.0)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_call_that_fails_leaves_the_rows_of_distinct(engine: Any) -> None:
    op = falls("FIRST(p) AS high, MATCH_NUMBER() AS n", select="DISTINCT high / (n - 2) AS ratio").operator(engine=engine)
    op.push_many(ticks({1: 5.0, 2: 4.0}))
    before = op.snapshot()
    for key in ("x", "y"):
        gone = [retract(Tick("x", 5.0), 1)] if key == "y" else []
        with pytest.raises(ZeroDivisionError):
            op.push_many([*gone, *ticks({1: 6.0, 2: 4.0}, "y"), Punctuation(2), *ticks({5: 9.0, 6: 8.0}, key)])
        assert op.snapshot() == before
    assert told(op.push(retract(Tick("x", 5.0), 1))) == [(-1, 2, -5.0)]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_empty_match_that_is_not_shown_has_a_number(engine: Any) -> None:
    text = (
        "SELECT at, n FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES MATCH_NUMBER() AS n ALL ROWS PER MATCH {} EMPTY MATCHES "
        "PATTERN (b*) WITHIN 9 DEFINE b AS p < 3)"
    )
    prices = {1: 5.0, 2: 2.0, 3: 1.0, 4: 6.0, 5: 0.0}
    for which, shown in (("OMIT", [(2, 2), (3, 2), (5, 4)]), ("SHOW", [(1, 1), (2, 2), (3, 2), (4, 3), (5, 4)])):
        op = afa.sql(text.format(which), event=Tick).operator(engine=engine)
        assert sorted((c.payload.at, c.payload.n) for c in op.push_many(ticks(prices))) == shown


def test_rows_of_no_match_have_no_number() -> None:
    query = afa.sql(
        "SELECT at, n FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES MATCH_NUMBER() AS n ALL ROWS PER MATCH WITH UNMATCHED ROWS "
        "PATTERN (a b) WITHIN 9 DEFINE a AS p > 3, b AS p < 3)",
        event=Tick,
    )
    found = query.operator().push_many(ticks({1: 2.0, 2: 4.0, 3: 1.0, 4: 1.0, 5: 8.0, 6: 0.0}))
    assert sorted((c.payload.at, c.payload.n) for c in found) == [(1, None), (2, 1), (3, 1), (4, None), (5, 2), (6, 2)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("select", "behind", "shown"),
    [
        ("c, m, n", "", [(1, None, None, None), (2, 1, 9.0, 1), (3, 2, 9.0, 1), (4, None, None, None)]),
        ("c", "WHERE c IS NULL", [(1, None), (4, None)]),
        ("c + p AS s, c + 1 AS t", "", [(1, None, None), (2, 5.0, 2), (3, 3.0, 3), (4, None, None)]),
        ("c + 1 AS s", "WHERE p < 3", [(1, None), (3, 3), (4, None)]),
        ("COALESCE(c, 5) AS s, 7 AS k", "WHERE m IS NULL OR n = 1", [(1, 5, 7), (2, 1, 7), (3, 2, 7), (4, 5, 7)]),
        ("COALESCE(m, 5) AS s, n", "WHERE COALESCE(n, 4) > 1", [(1, 5.0, None), (4, 5.0, None)]),
        ("c > 0 AND c < 9 AS s", "", [(1, None), (2, True), (3, True), (4, None)]),
        ("CASE WHEN p < 1.5 THEN c + 1 ELSE 0 END AS s", "WHERE c IS NULL OR c > 1", [(1, 0), (3, 3), (4, None)]),
    ],
)
def test_measures_of_a_row_of_no_match_are_null_in_select_and_where(
    select: str, behind: str, shown: list[Any], engine: Any
) -> None:
    query = afa.sql(
        f"SELECT at, {select} FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES COUNT(*) AS c, "
        "COALESCE(FINAL LAST(b.p), 8) + 8 AS m, MATCH_NUMBER() AS n ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (a b) WITHIN 9 "
        f"DEFINE a AS p > 3, b AS p < 3) {behind}",
        event=Tick,
    )
    found = query.operator(engine=engine).push_many(ticks({1: 2.0, 2: 4.0, 3: 1.0, 4: 1.0}))
    assert sorted((tuple(c.payload) for c in found), key=lambda row: row[0]) == shown


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"select": "high - 1"}, "in SELECT but got 'high - 1'; give an expression a name, AS name"),
        ({"select": "SUM(high) AS x"}, r"but got SUM\(high\); that takes a relational engine"),
        ({"select": "FIRST(high) AS x"}, "FIRST"),
        ({"select": "MATCH_NUMBER() AS x"}, "name it in MEASURES"),
        ({"select": "nope + 1 AS x"}, "expected a column of the answer but got 'nope'; they are: s, high"),
        ({"behind": "WHERE nope > 1"}, "expected a column of the answer but got 'nope'"),
        ({"behind": "WHERE high + 1"}, r"expected a condition but got 'high \+ 1', a float"),
        ({"select": "DISTINCT ON (high) high"}, "expected DISTINCT alone but got ON"),
        ({"behind": "GROUP BY high"}, "GROUP BY"),
    ],
)
def test_what_is_no_expression_over_the_answer(more: dict[str, str], message: str) -> None:
    with pytest.raises(AfaError, match=message):
        falls("FIRST(p) AS high", **more)


# -- other orders ------------------------------------------------------------------------------------------------------------------


class Trade(NamedTuple):
    venue: str
    p: float
    size: int | None
    at: afa.Instant | None = None


LISTED = """SELECT venue, size, n FROM t MATCH_RECOGNIZE (ORDER BY {order} MEASURES MATCH_NUMBER() AS n ALL ROWS PER MATCH
    AFTER MATCH SKIP TO NEXT ROW PATTERN (a b) {within} DEFINE b AS b.p <= a.p)"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("within", ["WITHIN 9", ""])
def test_first_rows_of_one_instant_stand_as_a_list_orders_them(engine: Any, within: str) -> None:
    query = afa.sql(LISTED.format(order="at, size DESC NULLS FIRST, venue", within=within), event=Trade)
    rows = [("b", 1.0, 3), ("a", 2.0, 7), ("c", 3.0, None), ("d", 0.5, 3)]  # as they come; in order c a b d
    shown = [("a", 1), ("a", 2), ("b", 2), ("b", 3), ("c", 1), ("d", 3)]
    op = query.operator(engine=engine)
    out = [change for row in rows for change in op.push(insert(Trade(*row), 5))]
    held = [(c.payload.venue, c.payload.n) for c in out if c.diff > 0]
    for change in out:
        if change.diff < 0:
            held.remove((change.payload.venue, change.payload.n))
    assert sorted(held) == shown
    names = ("venue", "p", "size")
    found = query.operator(engine=engine).push_many({**dict(zip(names, map(list, zip(*rows)))), "le": [5] * 4})
    assert sorted(zip(found["venue"], found["n"])) == shown


@pytest.mark.parametrize("engine", ENGINES)
def test_matches_that_end_at_one_instant_stand_as_their_last_rows(engine: Any) -> None:
    """Without WITHIN, of events that do not hold their time: the first match begins earlier, but at a row of a larger id."""

    class Bare(NamedTuple):
        p: float
        id: int

    text = (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY le, id{} MEASURES MATCH_NUMBER() AS n, FIRST(id) AS first PATTERN (a b) "
        "DEFINE b AS p < PREV(p))"
    )
    rows = [(3, 5.0, 9), (5, 4.0, 1), (5, 5.0, 2), (5, 3.0, 3)]
    for down in ("", " DESC"):
        query = afa.sql(text.format(down), event=Bare)
        turned = [(le, p, -number if down else number) for le, p, number in rows]
        out = query.operator(engine=engine).push_many([insert(Bare(p, number), le) for le, p, number in turned])
        assert sorted((c.payload.n, abs(c.payload.first)) for c in out) == [(1, 9), (2, 2)]
        les, prices, ids = map(list, zip(*turned))
        found = query.operator(engine=engine).push_many({"p": prices, "id": ids, "le": les})
        assert sorted(zip(found["n"], np.abs(found["first"]))) == [(1, 9), (2, 2)]


def test_numbers_of_a_frame_that_a_rank_orders() -> None:
    frame = pa.table({"venue": ["b", "a", "c", "d"], "p": [1.0, 2.0, 3.0, 0.5], "size": [3, 7, 8, 2]})
    query = afa.sql(LISTED.format(order="size DESC", within=""), event=frame)
    found = afa.find(query, frame)
    assert sorted(zip(found["venue"].to_pylist(), found["n"].to_pylist())) == [
        ("a", 1),
        ("a", 2),
        ("b", 2),
        ("b", 3),
        ("c", 1),
        ("d", 3),
    ]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("measures", "select"),
    [("LAST(p) AS m, MATCH_NUMBER() AS n", "*"), ("LAST(p) AS m", "DISTINCT m"), ("COUNT(DISTINCT p) AS m", "*")],
)
def test_nan_of_tables_is_one_nan(measures: str, select: str, engine: Any) -> None:
    def table(times: list[int], diff: int) -> Any:
        return {"s": ["x"] * len(times), "p": np.full(len(times), np.nan), "le": times, "diff": [diff] * len(times)}

    text = f"SELECT {select} FROM t MATCH_RECOGNIZE (PARTITION BY s ORDER BY at MEASURES {measures} PATTERN (a b) WITHIN 2)"
    op = afa.sql(text, event=Tick).operator(engine=engine)
    calls = table([1, 2, 5, 6], 1), table([1, 2], -1), table([5, 6], -1)
    found = [sorted(zip(out["diff"], out["le"])) for out in map(op.push_many, calls)]
    moved = [(-1, 6), (1, 6)] if "MATCH_NUMBER" in measures else []
    assert found == [[(1, 2), (1, 6)], sorted([(-1, 2), *moved]), [(-1, 6)]]
    assert op.push_many(table([8, 9], 1))["m"].tolist() == ([1] if "COUNT" in measures else [pytest.approx(np.nan, nan_ok=True)])
