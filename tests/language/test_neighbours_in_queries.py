"""PREV, NEXT, LAG, LEAD and anchors in SQL: each construct over rows by hand, in disorder, and what goes on beside."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise, permutations
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import afa
from afa import AfaError, Punctuation, insert, retract
from afa.compiled import encode
from afa.language import many, next_, one, prev
from afa.language.builder_printer import builder_text
from afa.language.sase_printer import sase_text
from speculation.rows import row_tails


class Tick(NamedTuple):
    p: int
    s: str = "x"
    at: afa.Instant | None = None


SPAN = "FIRST(at) AS a, LAST(at) AS z"


def sql(pattern: str, define: str = "", measures: str = SPAN, rows: str = "", more: str = "") -> afa.Query:
    define = f"DEFINE {define}" if define else ""
    clauses = f"ORDER BY at MEASURES {measures} {rows} AFTER MATCH SKIP PAST LAST ROW PATTERN ({pattern}) {more} {define}"
    return afa.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({clauses})", event=Tick)


def told(query: afa.Query, prices: list[int], engine: str) -> list[Any]:
    """What is in force, in whatever order five rows come, or all in one table."""
    rows = [insert(Tick(p), le) for le, p in enumerate(prices)]
    found = []
    for order in [rows, rows[::-1], *list(permutations(rows))[7::37]]:
        held: dict[Any, int] = {}
        op: Any = query.operator(engine=engine)  # type: ignore[arg-type]
        for row in order:
            for change in op.push(row):
                key = change.le, tuple(change.payload)
                held[key] = held.get(key, 0) + change.diff
        found.append(sorted(key for key, n in held.items() if n))
    table: Any = {"p": prices, "s": ["x"] * len(prices), "le": list(range(len(prices)))}
    table = query.operator(engine=engine).push_many(table)  # type: ignore[arg-type]
    names = query.shown.cls._fields  # type: ignore[attr-defined]
    values = zip(*(table[name] for name in names))
    found.append(sorted((int(le), tuple(each)) for le, each in zip(table["le"], values)))
    assert all(each == found[0] for each in found)
    return [values for _, values in found[0]]


@pytest.mark.parametrize(
    ("query", "prices", "expected"),
    [
        (sql("d+", "d AS p < PREV(p)"), [5, 4, 3, 6, 2], [(1, 2), (4, 4)]),
        (sql("d", "d AS p > PREV(p, 2)"), [5, 4, 6, 3, 7], [(2, 2), (4, 4)]),
        (sql("d+", "d AS p < LAG(p)"), [5, 4, 3, 6, 2], [(1, 2), (4, 4)]),
        (sql("d+", "d AS p < NEXT(p)"), [5, 4, 5, 6, 2], [(1, 2)]),
        (sql("d+", "d AS p < LEAD(d.p, 2)"), [1, 4, 5, 6, 2], [(0, 1)]),
        (sql("d+", "d AS NEXT(p) IS NULL"), [1, 4, 5], [(2, 2)]),
        (sql("d+", "d AS p + PREV(p + 1, 0) > 9 AND PREV(p * 2) > 4"), [2, 4, 5, 6], [(2, 3)]),
        (sql("a b", "b AS p > NEXT(a.p, 1) - 1 AND b.p > PREV(FIRST(a.p))"), [1, 2, 3, 1, 4], [(1, 2), (3, 4)]),
        (sql("a b+", "b AS p > PREV(LAST(b.p, 1), 1)"), [1, 2, 3, 4], []),
        (sql("a+ b", "a AS p < 5, b AS p > 4", "PREV(a.p) AS w, NEXT(a.p) AS x, PREV(FIRST(a.p)) AS y, NEXT(p) AS z"),
         [9, 1, 2, 7, 3], [(1, 7, 9, 3)]),
        (sql("a+ b", "a AS p < 5, b AS p > 4", "PREV(a.p) AS w, NEXT(LAST(a.p, 1), 2) AS x, PREV(p) AS y, NEXT(FIRST(p), 2) AS z",
             "ALL ROWS PER MATCH"),
         [9, 1, 2, 7, 3], [(1, 9, None, 9, 7, 1, "x"), (2, 1, 7, 1, 7, 2, "x"), (3, 1, 7, 2, 7, 7, "x")]),
        (sql("d", "d AS p > 1", "PREV(at) AS a, LEAD(at) AS z"), [2, 0, 2], [(None, 1), (1, None)]),
        (sql("^ a+", "a AS p > 1"), [2, 2, 0, 2], [(0, 1)]),
        (sql("a+ $", "a AS p > 1"), [2, 2, 0, 2], [(3, 3)]),
        (sql("^ a+ $", "a AS p > 1"), [2, 2, 3], [(0, 2)]),
        (sql("a b+? c*? $", "b AS p > 1", "COUNT(b.*) AS b, COUNT(c.*) AS c"), [0, 2, 2, 3], [(1, 2)]),
        (sql("a (b | c)?? $", "b AS p > 1"), [0, 2, 3], [(1, 2)]),
        (sql("^ a+ $", "a AS p > 1"), [2, 2, 0], []),
        (sql("(^ a | b) c", "a AS p > 1, b AS p = 1"), [2, 2, 0, 1, 4], [(0, 1), (3, 4)]),
        (sql("(a $ | a b)", "b AS p = 0"), [2, 2, 0, 3], [(1, 2), (3, 3)]),
        (sql("a ^ b"), [2, 2, 0, 3], []),
        (sql("a $ b"), [2, 2, 0, 3], []),
        (sql("a {- b $ -}", rows="ALL ROWS PER MATCH", measures="CLASSIFIER() AS c"), [2, 2, 0], [(1, "a", 2, "x")]),
        (sql("PERMUTE(a $, b)", "a AS p > 1"), [2, 0, 3], [(1, 2)]),
    ],
    ids=lambda each: None if isinstance(each, list) else str(each.tree.pattern)[:20],
)  # fmt: skip
def test_each_construct(query: afa.Query, prices: list[int], expected: list[Any], engine: str) -> None:
    assert sorted(map(repr, told(query, prices, engine))) == sorted(map(repr, expected))


def test_a_row_behind_counts_up_to_the_window(engine: str) -> None:
    query = sql("d $", "d AS NEXT(p) IS NULL", more="WITHIN 10")
    op: Any = query.operator(engine=engine)  # type: ignore[arg-type]
    assert [change.le for change in op.push_many([insert(Tick(1), 0), insert(Tick(2), 10), insert(Tick(3), 19)])] == [0, 19]
    assert op.push(Punctuation(25)) == [Punctuation(19 - 9)]  # the row at 19 may still be revised
    assert [(change.diff, change.le) for change in op.push(insert(Tick(3), 28))] == [(-1, 19), (1, 28)]
    assert op.push(Punctuation(38)) == [Punctuation(29)]


def test_queries_are_equal_and_change_where_their_neighbours_are() -> None:
    falls = sql("a+", "a AS p < PREV(p)")
    assert falls == sql("a+", "a AS p < LAG(a.p)")
    assert falls.tree.neighbours == (("p_prev_1", "p", -1),)
    op: Any = falls.operator()
    held = [insert(Tick(5), 0), insert(Tick(4), 1), insert(Tick(3), 2)]
    op.push_many(held)
    changes = falls.changes_to(sql("a+", "a AS p + 1 < PREV(p)"))
    assert [(change.diff, change.le) for change in op.push_many([*changes.arcs])] == []
    assert [(change.diff, change.le) for change in op.push_many([insert(Tick(2), 3), insert(Tick(0), 4)])] == [(1, 4)]
    for other in (sql("a+", "a AS p < PREV(p, 2)"), sql("a+", "a AS p < 3")):
        with pytest.raises(AfaError, match="expected a query with the same neighbours for a running operator, p_prev_1, but got"):
            falls.changes_to(other)
    said = str(falls.explain())
    assert "the stage LastBefore says in p_prev_1 p of the event before; a late event revises up to 1 behind it" in said
    assert "before it" not in said
    ahead = str(sql("a", "a AS p < NEXT(p, 2)", more="WITHIN 5").explain())
    assert "p_next_2 p of the 2nd event behind; a late event revises up to 2 before it, each new one" in ahead
    both = str(sql("a", "a AS p < NEXT(p) AND p > PREV(p, 3)", more="WITHIN 5").explain())
    assert "of the 3rd event before; a late event revises up to 3 behind it and up to 1 before it, each new one" in both
    assert "until it has come they are not final, for 5 ticks at most" in ahead


def test_find_and_restored(engine: str) -> None:
    query = afa.sql(
        "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY s ORDER BY at MEASURES FIRST(at) AS a, NEXT(p) AS n PATTERN (d+) "
        "DEFINE d AS p < PREV(p))",
        event=Tick,
    )
    columns = {"s": ["x", "y"] * 4, "p": [4, 1, 3, 0, 2, 5, 6, 4], "at": list(range(8))}
    pandas = pytest.importorskip("pandas")
    found = afa.find(query, pandas.DataFrame(columns), time="at")
    assert sorted(zip(found["s"], found["a"], found["n"].astype("float").fillna(-1))) == [("x", 2, 6), ("y", 3, 5), ("y", 7, -1)]
    op: Any = query.operator(engine=engine)  # type: ignore[arg-type]
    op.push_many([insert(Tick(4, "x"), 0), insert(Tick(3, "x"), 2), Punctuation(1)])
    op = query.restore(op.snapshot())
    assert [(change.diff, tuple(change.payload)) for change in op.push(insert(Tick(9, "x"), 4))] == [(-1, (2, None)), (1, (2, 9))]
    assert [(change.diff, tuple(change.payload)) for change in op.push(retract(Tick(9, "x"), 4))] == [(-1, (2, 9)), (1, (2, None))]


def test_the_builder_asks_for_neighbours(engine: str) -> None:
    rise = one("u", lambda e, m: e.p > next_(m.d.first.p) and next_(e.p, k=2) == 9)
    falls = many("d", where=lambda e: e.p < prev(e.p)).next(rise)
    query = falls.returns(a=lambda m: prev(m.d.first.p), z=lambda m: next_(m.u.p)).query(Tick)
    assert query.tree.neighbours == (("p_next_1", "p", 1), ("p_next_2", "p", 2), ("p_prev_1", "p", -1))
    assert afa.query(sase_text(query.tree), event=Tick) == query
    assert ".returns(a=lambda m: prev(m.d.first.p), z=lambda m: next_(m.u.p))" in builder_text(query.tree)
    op: Any = query.operator(engine=engine)
    prices = [5, 4, 3, 7, 8, 9]
    held: dict[Any, int] = {}
    for le in (2, 5, 0, 1, 4, 3):
        for change in op.push(insert(Tick(prices[le]), le)):
            held[tuple(change.payload)] = held.get(tuple(change.payload), 0) + change.diff
    assert [key for key, n in held.items() if n] == [(5, 8)]
    for wrong, message in (
        (lambda e: e.p < prev(e.p + 1), r"prev\(...\) of another thing than a field is asked|of another thing than a field"),
        (lambda e: e.p < prev(e.p, 65), "of another thing than a field"),
        (lambda e: e.p < prev(e.p, 1, 2), "of another thing than a field"),
    ):
        with pytest.raises(AfaError, match=message):
            one("a", wrong).query(Tick)
    for word in (prev, next_):
        with pytest.raises(AfaError, match=r"in a function of a query but got a call of it"):
            word(3)


class Quote(NamedTuple):
    k: int
    p: float | None
    s: str
    at: afa.Instant | None = None


@pytest.mark.parametrize("call", ["NEXT", "PREV"])
def test_many_keys_in_tables_are_as_row_by_row(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of tables of many keys the last rows look at the next table, as its rows are taken: what is told is net, too."""
    looked, looked_at = 0, encode.Encoded.looked_at

    def counted(rows: encode.Encoded) -> Any:
        nonlocal looked
        found = looked_at(rows)
        looked += found is not None
        return found

    monkeypatch.setattr(encode.Encoded, "looked_at", counted)
    choose = random.Random(f"many keys {call}")
    n = 3000
    rows = [Quote(choose.randrange(60), choose.choice([None, 1.0, 2.0, -0.0, 4.0]), choose.choice("abc")) for _ in range(n)]
    query = afa.sql(
        "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES FIRST(at) AS first, COUNT(*) AS n, a.s AS s "
        "ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (a b*) "
        f"DEFINE a AS {call}(p) < 2 AND {call}(s) <> 'c', b AS {call}(p, 2) > 0 OR {call}(s) = 'b')",
        event=Quote,
    )
    cuts = sorted({0, n, *(choose.randrange(n) for _ in range(6))})
    found = []
    for by_tables in (True, False):
        held = Counter[Any]()
        op: Any = query.operator(engine="compiled")
        for low, high in pairwise(cuts):
            columns = dict(zip(Quote._fields, zip(*rows[low:high]))) | {"at": range(low, high)}
            table = pa.table({name: list(column) for name, column in columns.items()})
            given = [table] if by_tables else [insert(row._replace(at=le), le) for le, row in enumerate(rows[low:high], low)]
            for out in op.push_many([*given, *([Punctuation(high)] if low % 2 else [])]):
                if isinstance(out, pa.Table):
                    assert len(out) == len(set(map(tuple, zip(*out.drop(["diff"]).to_pydict().values()))))  # net
                    for row in out.to_pylist():
                        held[row["k"], row["first"], row["n"], row["s"]] += row["diff"]
                elif not isinstance(out, Punctuation):
                    held[(out.key, *out.payload)] += out.diff
        found.append(+held)
    assert found[0] == found[1]
    assert len(found[0]) > 300
    assert (looked > 2) == (call == "NEXT")


def test_text_asks_for_neighbours(engine: str) -> None:
    """As the builder does, and as SQL answers it; of what a match takes, and what it skips."""
    text = """
        PATTERN SEQ(Tick a, Tick+ b[]) WHERE strict_contiguity(a, b[]) { a.p > PREV(a.p) and b[1].p = 4 and b[i].p < next(b[i].p) }
        RETURN prev(a.p), next(b[b.LEN].p, 2), b.LEN
    """
    query, prices = afa.query(text, event=Tick), [1, 7, 4, 5, 6]
    many_b = many("b", first=lambda e: e.p == 4, where=lambda e: e.p < next_(e.p))
    built = one("a", lambda e: e.p > prev(e.p)).next(many_b)
    assert built.returns(lambda m: (prev(m.a.p), next_(m.b.last.p, 2), m.b.count)).query(Tick) == query
    assert query.shown.cls._fields == ("a_p_prev_1", "b_last_p_next_2", "b_count")  # type: ignore[attr-defined]
    assert told(query, prices, engine) == [(1, 6, 1), (1, None, 2)]
    chosen = sql("a b+", "a AS p > PREV(p), b AS p < NEXT(p)", "PREV(a.p) AS x, NEXT(p, 2) AS y, COUNT(b.*) AS n")
    assert told(chosen, prices, engine) == [(1, None, 2)]
    skips = afa.query("PATTERN SEQ(Tick a, Tick b) WHERE b.p < prev(a.p) AND next(b.p) is None RETURN a.p", event=Tick)
    assert told(skips, [5, 4, 6, 9, 3], engine) == [(4,), (6,), (9,)]


def test_what_reads_a_neighbour_does_not_wait(engine: str) -> None:
    """Paths of a match tell of its events what came, which is not what stands beside them."""
    text = "PATTERN Tick+ a[] WHERE skip_till_any_match(a) { next(a[a.LEN].p) <= sum(a[].p) } RETURN a.LEN"
    assert told(afa.query(text, event=Tick), [3, 2, 9, 1], engine) == [(1,), (1,), (2,), (3,)]


def test_what_is_absent_at_the_start_reads_no_neighbour() -> None:
    with pytest.raises(AfaError, match=r"expected ~n at the start to read fields of its own event .* got a neighbour's p: each is"):
        afa.query("PATTERN SEQ(~(Tick n), Tick a) WHERE n.p > prev(n.p) WITHIN 9", event=Tick).operator()


def test_a_table_after_one_of_more_copies_than_columns_hold_sees_its_last_row() -> None:
    query = afa.sql(
        "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY s ORDER BY at MEASURES PREV(LAST(p)) AS m PATTERN (a) WITHIN 10000 "
        "DEFINE a AS p > PREV(p))",
        event=Tick,
    )
    op: Any = query.operator(engine="compiled")
    for low, copies in ((0, 2**62 + 2**14), (300, 1)):
        times, diff = list(range(low, low + 300)), [1] * 299 + [copies]
        found = op.push_many({"p": times, "s": ["x"] * 300, "le": times, "diff": diff})
    assert found["m"].tolist() == list(range(299, 599))


@pytest.mark.parametrize("call", ["PREV", "NEXT"])
def test_a_row_whose_clock_is_ahead_keeps_few_tables(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_tails, "FEW", 3000)
    query = afa.sql(
        f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY s ORDER BY at MEASURES LAST(p) AS m, LAST(at) AS z PATTERN (a) WITHIN 10 "
        f"DEFINE a AS p > {call}(p))",
        event=Tick,
    )
    choose, held, found = random.Random(f"ahead {call}"), list[int](), list[Any]()
    ops: list[Any] = [query.operator(engine=engine) for engine in ("compiled", "interpreted")]
    tails = ops[0].stage.rows._tails
    for i in range(60):
        times, keys = list(range(300 * i, 300 * i + 300)), ["x"] * 300
        if i % 25 == 1:
            times, keys = [*times, 10**6 + i], [*keys, "far"]
        table = {"p": [choose.randrange(9) for _ in times], "s": keys, "le": times}
        out = [op.push_many([table, Punctuation(300 * i + 290)]) for op in ops]
        found.append([sorted(zip(*(rows[name] for name in ("le", "m", "diff")))) for rows, *_ in out])
        held.append(sum(len(waiting.piece.key) for waiting in tails.waiting))
    assert all(one == other for one, other in found)
    assert sum(len(one) for one, _ in found) > 3000
    assert max(held) < 4500
