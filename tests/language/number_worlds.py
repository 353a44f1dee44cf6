"""Random SQL with MATCH_NUMBER, WHERE, DISTINCT, values over all rows and neighbours x rows that come as tables, mostly in order.

Matches that come in order are numbered as columns, others one by one (`speculation.match_numbers`). Rows that come in order get
their neighbours as columns (`speculation.rows.row_tails`); of streams of single instants most do, also where tables are small.
After every step the net output must be what the matcher of `tests.language.backtracking` finds among the rows in force.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any
from unittest import mock

import pyarrow as pa

import afa
from afa import FOREVER, AfaError, Punctuation
from afa.compiled import batches
from afa.compiled.encode import Encoded
from speculation import last_rows
from tests.language.backtracking import Row, Sql, Term, told
from tests.language.sql_worlds import OPS, Beside, names, patient, query, rows_of, shortest, shown
from tests.strategies import Choices, Seeded
from tests.worlds.kind import RefusedError, Seen, TooManyError, Worlds

KINDS = "xyz"
NAN = float("nan")
"""The one NaN, as NaN is equal to NaN here."""


def floats(picks: Any) -> list[float]:
    """The floats of the rows of a match."""
    return [row.f for _, row, _ in picks if row.f is not None]


FLOATS: tuple[Term, ...] = (
    ("LAST(f)", lambda picks: picks[-1][1].f if picks else None),
    ("FIRST(f)", lambda picks: picks[0][1].f if picks else None),
    ("COUNT(DISTINCT f)", lambda picks: len(set(floats(picks)))),
    ("ARRAY_AGG(f)", lambda picks: tuple(row.f for _, row, _ in picks) or None),
)


def numbered(choose: Choices) -> Sql:
    """A random query that mostly shows the number of its matches, and may have WHERE or DISTINCT."""
    found = query(choose)._replace(keyed=choose.chance(70))
    if choose.chance(80):
        found = found._replace(measures=(*found.measures, ("MATCH_NUMBER()", lambda picks, number: number)))
    if choose.chance(30):
        found = found._replace(measures=(*found.measures, choose.one(FLOATS)))
    kind = choose.one(("no", "no", "no", "null", "count", "number", "distinct"))
    places = [i for i, (text, _) in enumerate(found.measures) if text in ("COUNT(*)", "MATCH_NUMBER()")]
    if kind == "null":
        found = found._replace(where=("m0 IS NOT NULL", lambda shown: shown[0] is not None))
    elif kind == "distinct":
        found = found._replace(distinct=True)
    elif kind != "no" and places:
        i, n = choose.one(tuple(places)), choose.number(1, 4)
        found = found._replace(where=(f"m{i} <= {n}", lambda shown: shown[i] is not None and shown[i] <= n))
    return found


def ahead(choose: Choices, sql: Sql) -> Sql:
    """The query with values of rows behind as well: in MEASURES, in a condition, and by `$`."""
    used = [*dict.fromkeys(names(sql.pattern))]
    for _ in range(choose.number(1, 2)):
        if choose.chance(50):
            sql = sql._replace(measures=(*sql.measures, behind(choose, choose.one(FIELDS), [*used, ""])))
            continue
        name, field = choose.one(used), choose.one(FIELDS[:-1])
        op = choose.one(("=", "<>") if field == "sort" else tuple(OPS))
        text, value = behind(choose, field, [*used, "", ""])
        compared = f"{field} {op} {text}", partial(holds, field, OPS[op], value)
        sql = sql._replace(define={**sql.define, name: both(choose.chance(50), sql.define.get(name), compared)})
    return sql._replace(anchors="$") if choose.chance(15) and shortest(sql.pattern) else sql


FIELDS = ("v", "v", "seq", "sort", "at", "f")
"""Columns of rows behind; NaN is compared nowhere."""


def behind(choose: Choices, field: str, names: list[str]) -> Term:
    """A column of a row behind the one at hand, or behind one that a variable, or the match, has taken."""
    name, which, k = choose.one(names), choose.one(("", "LAST", "FIRST")), choose.one((1, 1, 2, 3))
    column = f"{name}.{field}" if name else field

    def value(picks: Any) -> Any:
        rows = rows_of(name, picks)
        row = rows[0 if which == "FIRST" else -1].beside(k) if rows else None
        return None if row is None else getattr(row, field)

    return f"NEXT({f'{which}({column})' if which else column}, {k})", value


def holds(field: str, op: Any, value: Any, picks: Any) -> bool:
    left, right = getattr(picks[-1][1], field), value(picks)
    return left is not None and right is not None and op(left, right)


def both(either: bool, one: Any, other: Any) -> Any:
    """Two conditions of a variable as one; of none the other."""
    if one is None:
        return other
    word, way = ("OR", any) if either else ("AND", all)
    return f"({one[0]}) {word} ({other[0]})", lambda picks: way(each[1](picks) for each in (one, other))


def table(rows: list[tuple[Row, int]], own: bool) -> Any:
    """Rows and their diffs as a table; ``own``: Arrow's, else a dict of columns."""
    columns = {name: [getattr(row, name) for row, _ in rows] for name in ("p", "sort", "v", "seq", "f")}
    columns |= {"le": [row.at for row, _ in rows], "diff": [diff for _, diff in rows]}
    kinds = {name: {"sort": pa.string(), "f": pa.float64()}.get(name, pa.int64()) for name in columns}
    return pa.table({name: pa.array(column, kinds[name]) for name, column in columns.items()}) if own else columns


def run(sql: Sql, choose: Choices, operator: Any, library: Any, engine: str) -> Seen:
    """Run a stream; what came. Of some each row has an instant of its own, there are more keys, and few rows come late."""
    force, held, now, promised, came = list[Row](), Counter[Any](), 1, 0, 0
    single = choose.chance(60)
    late_ones, seqs, keys = (2, 1, choose.one((0, 2, 30))) if single else (15, 3, 2)
    between = Beside(choose, library, engine)
    for _ in range(choose.number(3, 8)):
        batch: list[tuple[Row, int]] = []
        before = promised
        for _ in range(choose.one((0, 1, 3, 8, 15))):
            taken = {(row.at, row.seq) for row in force}
            late = [row for row in force if (row.at or 0) >= promised]
            if choose.chance(1 if single else 8) and late:
                gone = choose.one(tuple(late))
                force.remove(gone)
                batch.append((gone, -1))
                continue
            now += choose.one((1, 1, 2, 3) if single else (0, 1, 1, 2))
            at = max(choose.number(1, now) if choose.chance(late_ones) else now, promised, 1)
            free = [seq for seq in range(seqs) if (at, seq) not in taken]
            if free:
                v = None if choose.chance(20 if single else 5) else choose.number(0, 3)
                f = choose.one((None, NAN, NAN, 0.5, 1.5))
                row = Row(choose.number(0, keys), choose.one(tuple(KINDS)), v, at, choose.one(tuple(free)), f)
                force.append(row)
                batch.append((row, 1))
        parts: list[Any] = [table(batch, choose.chance(50))] if batch else []
        if choose.chance(40):
            promised = max(promised, now - choose.number(0, 6))
            parts.append(Punctuation(promised))
        operator, sql, out = between.step(operator, sql, parts, force, before)
        for part in out + (operator.push_many(parts, net=choose.chance(80)) if parts else []):
            for each in [] if isinstance(part, Punctuation) else changes(sql, part):
                held[each[:-1]] += each[-1]
                came += 1
        try:
            expected = told(patient(sql), force)
        except TooManyError:
            continue
        expected = +expected
        found = Counter({each: copies for each, copies in held.items() if copies})
        assert found == expected, f"missing {expected - found}, too much {found - expected}\n{sql.text}\n{force}"
    return Seen(came=came) + between.seen


def changes(sql: Sql, part: Any) -> list[Any]:
    """The changes of a table of output, or one of them."""
    if not isinstance(part, (dict, pa.Table)):
        return [(*one_nan(shown(sql, part)), part.diff)]
    columns = part.to_pydict() if isinstance(part, pa.Table) else {name: list(column) for name, column in part.items()}
    found = []
    for i in range(len(columns["le"])):
        row = {name: one_nan(column[i]) for name, column in columns.items()}
        key = row["p"] if sql.keyed else None
        values = tuple(row[f"m{j}"] for j in range(len(sql.measures)))
        of_row = tuple(row[name] for name in Row._fields) if sql.all_rows else None
        re = FOREVER if row["re"] is None else row["re"]
        found.append((key, (values, of_row) if sql.all_rows else values, row["le"], re, row["diff"]))
    return found


def one_nan(value: Any) -> Any:
    """A value in which every NaN is the one NaN, and arrays are tuples."""
    return tuple(map(one_nan, value)) if isinstance(value, (list, tuple)) else NAN if value != value else value


def made(seed: str, number: int) -> tuple[str, int]:
    return seed, number


def world(of: tuple[str, int], engine: str) -> Seen:
    """Run a world."""
    seed, number = of
    choose = Seeded(f"numbers/{seed}/{number}")
    sql = numbered(choose)
    sql = ahead(choose, sql) if choose.chance(70) else sql
    try:
        library = afa.sql(sql.text, event=Row)
        operator = library.operator(engine=engine)
    except AfaError as error:
        raise RefusedError(str(error)) from None
    looked, looked_at = Seen(), Encoded.looked_at

    def counted(rows: Encoded) -> Any:
        found = looked_at(rows)
        looked["looked at"] += found is not None
        return found

    few = choose.one((1, 1, 1, last_rows.MANY))
    with (
        mock.patch.object(Encoded, "looked_at", counted),
        mock.patch.object(last_rows, "MANY", few),
        mock.patch.object(batches, "MANY", few),
    ):
        return run(sql, choose, operator, library, engine) + looked


WORLDS = Worlds("numbers", made, world)
