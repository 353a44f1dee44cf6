"""Random statements of SQL with all clauses x streams of rows, against a matcher that tries everything.

After every step the net output must be what `row_matcher` shows of the rows in force, each row as often as SQL has it: of rows that
come late, are taken back, come again; behind watermarks; on operators restored from snapshots, on the other engine, too. In some
worlds most rows come in order, as tables: then the stage of neighbours takes them by columns (`speculation.rows.row_tails`).
``--only NAME,NAME`` leaves out all features of `whole_queries.PROBES` but these.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import groupby
from pprint import pformat
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

import pyarrow as pa

from afa import FOREVER, AfaError, Change, Punctuation, insert, retract
from afa.compiled import batches
from speculation import last_rows
from tests.language.row_values import TableRow
from tests.language.whole_queries import DECIMALS, KINDS, Row, Statement, features, query
from tests.strategies import Seeded
from tests.worlds.kind import RefusedError, Seen, TooManyError, Worlds

PATIENCE = 60_000
"""So many steps the matcher goes for one answer, before a step of a stream is not compared."""
SHAPES = ((8, 6), (8, 6), (16, 12), (30, 18), (60, 30), (60, 70))
"""How many rows are in force at most, over how many instants of two places each."""


class World(NamedTuple):
    """A world: the query of a seed, a number and features, without some of its parts; then steps.

    A step is ("many", "each" or "table", changes), a change a time to promise or (diff, row, RE); or ("restore", on the other
    engine?).
    """

    seed: str
    family: int
    has: tuple[str, ...]
    drop: tuple[Any, ...]
    steps: tuple[tuple[str, Any], ...]


def numbered(seed: str, number: int, *, family: int = 4, only: str = "*") -> World:
    """The world of a number; so many share a query."""
    has = features() if only == "*" else features() & set(only.split(","))
    choose = Seeded(f"whole/{seed}/{number}")
    try:
        window = query(seed, number // family, has)[0].clauses.window
    except AfaError as error:
        raise RefusedError(str(error)) from None
    return World(seed, number // family, tuple(sorted(has)), (), tuple(steps(choose, has, window)))


def steps(choose: Seeded, has: frozenset[str], window: int | None) -> Iterator[tuple[str, Any]]:
    """Random steps: dense rows of up to three keys, most out of order; or most in order, an instant for each."""
    in_order = choose.chance(30)
    most, instants = (60, 120) if in_order else choose.one(SHAPES)
    keys = ("k", "l", "m")[: choose.number(1, 2)] + ((None,) if "NULL key" in has and choose.chance(40) else ())
    kinds, own = choose.one(("xy", "xyz", "xyzn")), window is None and choose.chance(40)
    places = [(le, seq) for le in range(1, instants + 1) for seq in range(2)]
    force: dict[tuple[int, int], tuple[Row, int | None]] = {}
    promised = 0
    bursts = choose.number(5, 12)
    for step in range(bursts):
        changes: list[Any] = []
        first = not in_order and (step == 0 or choose.chance(10))
        for _ in range(choose.number(most // 3, most) if first else choose.one((1, 1, 2, 4, most // 4))):
            late = [place for place in force if place[0] >= promised]
            if late and (len(force) >= most or choose.chance(2 if in_order else 28)):
                place = choose.one(late)
                row, re = force.pop(place)
                changes.append((-1, row, re))
                if choose.chance(60):
                    continue
            else:
                free = [place for place in places if place not in force]
                if in_order and not choose.chance(2):
                    free = [place for place in free if place > max(force, default=(0, 0)) and place[1] == 0][:2]
                place = choose.one(free or [(0, 0)])
            if place[0] < max(promised, 1):
                continue
            le, seq = place
            v = None if choose.chance(8) else choose.number(0, 3)
            kind = None if choose.chance(3) else choose.one(kinds)
            d = None if choose.chance(8) else choose.one(DECIMALS)
            row = Row(choose.one(keys), kind, v, v and v / 2, d, 2 * le + seq, seq, le)
            re = le + choose.one((1, 3, 9, 40)) if own and choose.chance(30) else None
            force[place] = row, re
            changes.append((1, row, re))
        if choose.chance(10):
            promised = max(promised, choose.number(0, instants + 1))
            changes.append(promised)
        elif step == bursts - 1 and choose.chance(12):
            changes.append(FOREVER)
        if choose.chance(15):
            yield "restore", choose.chance(40)
        yield choose.one(("table", "table", "many") if in_order else ("many", "many", "each", "table")), tuple(changes)


# -- what a world does -----------------------------------------------------------------------------------------------------------


def world(of: World, engine: str) -> Seen:
    """Run a world; what came."""
    seen = Seen()
    try:
        statement, library, refused = query(of.seed, of.family, frozenset(of.has), of.drop)
        operator = library.operator(engine=engine)
    except AfaError as error:
        raise RefusedError(str(error)) from None
    seen["refused statements"] += refused
    force: dict[Row, int] = {}
    held, final = Counter[Any](), -FOREVER
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 10_000))
    try:
        for i, (kind, what) in enumerate(of.steps):
            out: list[Any] = []
            if kind == "restore":
                other = "interpreted" if engine == "compiled" else "compiled"
                engine = other if what else engine
                operator = library.restore(operator.snapshot(), engine=engine)
                seen["snapshots"] += 1
            else:
                batch = [Punctuation(each) if isinstance(each, int) else change(library.event, *each) for each in what]
                if kind == "each":
                    out = [each for one in batch for each in operator.push(one)]
                else:
                    parts = [*tables(what)] if kind == "table" else batch
                    out = [each for part in operator.push_many(parts) for each in changes_of(part, library.key)]
                for each in what:
                    if not isinstance(each, int):
                        force.update({each[1]: FOREVER if each[2] is None else each[2]}) if each[0] > 0 else force.pop(each[1])
            for each in out:
                if isinstance(each, Punctuation):
                    final = max(final, each.t)
                    continue
                assert each.le >= final, f"{each} was final: {final}"
                held[shown(statement, each)] += each.diff
                seen["retractions"] += each.diff < 0
            operator._check()
            held = Counter({each: n for each, n in held.items() if n})
            try:
                expected = statement.answer([TableRow(row, row.at or 0, re) for row, re in force.items()], PATIENCE)
            except TooManyError:
                seen["not compared"] += 1
                continue
            expected = Counter({floats(each): n for each, n in expected.items()})
            assert held == expected, f"step {i}: missing {expected - held}, too much {held - expected}\n{statement.text}"
            seen["compared"] += 1
            seen["compared, more than 20 rows"] += len(force) > 20
            seen["shown"] += sum(expected.values())
    finally:
        sys.setrecursionlimit(limit)
    for name in sorted(words_of(statement)):
        seen[name] += 1
    return seen


def change(event: Any, diff: int, row: Row, re: int | None) -> Any:
    assert row.at is not None
    return (insert if diff > 0 else retract)(event(*row._replace(at=None)), row.at, re)


def tables(what: Iterable[Any]) -> Iterator[Any]:
    """Changes as tables, and the promises between them."""
    for promise, some in groupby(what, key=lambda each: isinstance(each, int)):
        if promise:
            yield from map(Punctuation, some)
            continue
        diffs, rows, ends = zip(*some)
        columns = {name: pa.array([getattr(row, name) for row in rows], kind) for name, kind in KINDS.items() if name != "at"}
        own = {"re": pa.array([FOREVER if re is None else re for re in ends])} if any(ends) else {}
        yield pa.table({**columns, "le": pa.array([row.at for row in rows]), "diff": pa.array(diffs), **own})


def changes_of(part: Any, key: Any) -> list[Any]:
    """The changes of a table of output, or one of them."""
    if not isinstance(part, (dict, pa.Table)):
        return [part]
    columns = part.to_pydict() if isinstance(part, pa.Table) else {name: list(column) for name, column in part.items()}
    found = []
    for i in range(len(columns["le"])):
        row = {name: column[i] for name, column in columns.items()}
        re = FOREVER if row["re"] is None else row["re"]
        own = tuple(row[name] for name in key) if isinstance(key, tuple) else key and row[key]
        found.append(Change(SimpleNamespace(**row), row["le"], re, row["diff"], own))
    return found


def shown(statement: Statement, each: Any) -> Any:
    """What a change shows, as the matcher has it."""
    names = statement.names or tuple(f"m{i}" for i in range(len(statement.measures)))
    values = tuple(plain(getattr(each.payload, name)) for name in names)
    if statement.clauses.rows != "one":
        key = each.key[0] if isinstance(each.key, tuple) else each.key  # beside an expression
        values = (Row(*(getattr(each.payload, name, key) for name in Row._fields)), values)
    return (each.key, values, each.le, each.re)


def plain(value: Any) -> Any:
    """A value that can be counted."""
    return tuple(value) if isinstance(value, list) else value


def floats(value: Any) -> Any:
    """A value, at any depth of tuples, with the float next to each decimal in its place."""
    if isinstance(value, tuple):
        return (Row if isinstance(value, Row) else lambda *items: items)(*map(floats, value))
    return float(value) if isinstance(value, Decimal) else value


def words_of(statement: Statement) -> set[str]:
    """What of SQL a statement has, to be counted."""
    text = statement.text
    words = ("MATCH_NUMBER", "NEXT(", "LEAD(", "LAG(", "PREV(", "FINAL", "UNMATCHED", "PERMUTE", "{-", "^", "$", "FILTER", "MAX_BY")
    words += (
        "ARRAY_AGG",
        "COUNT(DISTINCT",
        "LISTAGG",
        "STRING_AGG",
        "WITHIN GROUP",
        "SELECT DISTINCT",
        "SUBSET",
        "WHERE",
        "WITH u",
    )
    words += ("PARTITION BY UPPER", "% ", "* 2 + 1", "CASE", "CLASSIFIER(", "ALL ROWS", "WITHIN", "0.", "1.1")
    return {f"has {word}" for word in words if word in text}


def smaller(of: World) -> Iterator[World]:
    """Worlds with a step less, a change less, a value of the query less."""
    for i in range(len(of.steps)):
        yield of._replace(steps=(*of.steps[:i], *of.steps[i + 1 :]))
    for i, (kind, what) in enumerate(of.steps):
        for k in range(len(what)) if kind != "restore" else ():
            yield of._replace(steps=(*of.steps[:i], (kind, (*what[:k], *what[k + 1 :])), *of.steps[i + 1 :]))
    statement = query(of.seed, of.family, frozenset(of.has), of.drop)[0]
    for part in (*range(len(statement.measures)), *statement.define):
        if part not in of.drop:
            yield of._replace(drop=(*of.drop, part))


def words(of: World) -> str:
    """A world as text to paste."""
    text = query(of.seed, of.family, frozenset(of.has), of.drop)[0].text
    return f"  # {text}\n{pformat(of, width=130, sort_dicts=False)}"


def by_columns(of: World, engine: str) -> Seen:
    """Run a world in which small tables are taken by columns, too."""
    with mock.patch.object(last_rows, "MANY", 1), mock.patch.object(batches, "MANY", 1):
        return world(of, engine)


WORLDS = Worlds("sql-whole", numbered, by_columns, smaller, words)
