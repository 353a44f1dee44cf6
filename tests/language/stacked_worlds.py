"""Random statements of several MATCH_RECOGNIZE over one another x streams of rows, against brute force applied to its own answer.

Each level is a random statement of `whole_queries`, over rows that a SELECT over the level below makes of its matches. Streams are
those of `whole_worlds`: rows that come late, are taken back, come again, promises, snapshots, the other engine. Where rows of an
outer level tie, the call must be refused, unless `ties="value"` orders them.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pprint import pformat
from typing import Any, NamedTuple

import pytest

import afa
from afa import FOREVER, AfaError, Punctuation
from tests.language.row_matcher import Scan
from tests.language.row_values import OPS, TableRow, known, over, reach
from tests.language.whole_queries import COLUMNS, DECIMALS, Row, Said, Statement, column, features, query
from tests.language.whole_worlds import change, floats, plain, steps
from tests.strategies import Choices, Seeded
from tests.worlds.kind import RefusedError, Seen, TooManyError, Worlds

PATIENCE = 60_000
BESIDE = frozenset({"SELECT expressions", "DISTINCT", "WHERE"})
"""Features that stand at the place of the SELECT between two levels."""


class TiedError(Exception):
    """Rows of a level tie."""


class World(NamedTuple):
    """A world: the statements of a seed and a number, ties, then steps as of `whole_worlds`."""

    seed: str
    family: int
    levels: int
    ties: str | None
    steps: tuple[tuple[str, Any], ...]
    ends: bool = True  # whether rows may have an RE of their own


class Level(NamedTuple):
    """A statement over rows."""

    statement: Statement

    def rows(self, table: list[TableRow], ties: bool) -> list[TableRow]:
        """The rows that the level above is over."""
        found = []
        for (key, values, le, _), n in self.answer(table, ties).items():
            of, more = (None, values) if self.statement.clauses.rows == "one" else values
            if of is None:
                kind, v, d, f, n_, seq, at, *keys = more
                row = Row(key if self.statement.texts["key"] else keys[0], kind, v, f, d, n_, seq, at)
            else:
                row = of._replace(kind=more[0], v=more[1], d=more[2])
            assert row.at == le, f"{row} at {le}"
            found += [TableRow(row, le, FOREVER)] * n
        return found

    def answer(self, table: list[TableRow], ties: bool) -> Counter[Any]:
        """What is shown of rows."""
        statement, order = self.statement, self.statement.clauses.order
        rows = [row for row in table if statement.keeps is None or statement.keeps(row.of, None) is True]
        partition = statement.clauses.partition
        if not ties and len({(partition(row.of), order(row)) for row in rows}) < len(rows):
            raise TiedError
        clauses = replace(statement.clauses, order=lambda row: (order(row), [(each is None, each) for each in row.of]))
        found: Counter[Any] = replace(statement, clauses=clauses).answer(table, PATIENCE)
        return found

    def shows(self, table: list[TableRow], inner: bool) -> int:
        """How many different things it shows of rows, up to some; below 0: too much, or an inner one a match that has no time."""
        clauses = self.statement.clauses
        empty = next(Scan(clauses, [], itertools.count(), 1000).ways(clauses.pattern, 0, ()), None)
        if inner and clauses.rows == "one" and empty is not None:
            return -1
        try:
            return min(len(self.answer(table, True)), 6)
        except TooManyError:
            return -1


def between(statement: Statement, choose: Choices) -> Statement:
    """The statement of an inner level, which shows the columns of a row."""
    one = statement.clauses.rows == "one"
    number = choose.one(
        (
            Said("FIRST([v])", reach(column("v"), first=True)),
            Said("LAST([v])", reach(column("v"))),
            Said("COUNT(*)", over("count", lambda row, took: 1)),
            Said("MAX([v])", over("max", column("v"))),
        )
    )
    kind = choose.one((Said("LAST([kind])", reach(column("kind"))), Said("FIRST([kind])", reach(column("kind"), first=True))))
    decimal = choose.one(
        (
            Said("LAST([d])", reach(column("d"))),
            Said("FIRST([d]) - .50", known(OPS["-"], reach(column("d"), first=True), lambda seen: Decimal("0.50"))),
            Said("SUM([d])", over("sum", column("d"))),
            Said("MAX([d])", over("max", column("d"))),
        )
    )
    said = [kind, number, decimal]
    if one:
        said += [Said(f"LAST([{name}])", reach(column(name))) for name in ("f", "n", "seq", "at")]
        said += [] if statement.texts["key"] else [Said("LAST([key])", reach(column("key")))]
    names = [f"[m{i}] AS [{name}]" for i, name in zip(range(len(said)), ("kind", "v", "d", "f", "n", "seq", "at", "key"))]
    if one:
        select = ", ".join([*names[7:], *names[:7]] if names[7:] else ["[key]", *names])
    else:
        select = ", ".join(["[key]", *names, "[f]", "[n]", "[seq]", "[at]"])
    texts, where = {**statement.texts, "select": select}, None
    if choose.chance(30):
        bound = choose.number(1, 3)
        texts["tail"] = f"WHERE [m1] < {bound}"
        where = known(OPS["<"], lambda values: (values if one else values[1])[1], lambda values: bound)
    clauses = replace(statement.clauses, measures=tuple(each.value for each in said))
    return replace(statement, clauses=clauses, texts=texts, measures=tuple(each.text for each in said), where=where)


class Stack(NamedTuple):
    """The levels of a statement, its text, and what the library makes of it."""

    levels: tuple[Level, ...]
    text: str
    library: Any


def shows(level: Level, rows: list[TableRow]) -> int:
    """How many different things a level shows of rows, up to some."""
    try:
        return min(len(level.answer(rows, True)), 6)
    except TooManyError:
        return -1


@functools.lru_cache(maxsize=16)
def levels_of(seed: str, family: int, count: int) -> tuple[Level, ...]:
    """The levels of a family of worlds: of several drafts of each the one that shows most of some rows."""
    choose, has = Seeded(f"between/{seed}/{family}"), features() - {"INTERVAL", "computed"}
    levels, rows = list[Level](), [TableRow(row, row.at or 0, FOREVER) for row in sample(choose)]
    for i in range(count):
        inner = i < count - 1
        drafts = [query(f"{seed}/{i}/{k}", family, has - (BESIDE if inner else frozenset()))[0] for k in range(3 + 3 * i)]
        made = [Level(between(each, choose) if inner else each) for each in drafts]
        levels.append(max(made, key=lambda one: one.shows(rows, inner)))
        rows = levels[-1].rows(rows, True) if inner else rows
    return tuple(levels)


def sample(choose: Choices) -> list[Row]:
    """Some rows."""
    values = ((choose.one("kl"), choose.one("xyz"), choose.number(0, 3), choose.one(DECIMALS), le) for le in range(1, 17))
    return [Row(key, kind, v, v / 2, d, 2 * le, 0, le) for key, kind, v, d, le in values]


def stack(of: World) -> Stack:
    """The statement of a world."""
    levels = levels_of(of.seed, of.family, of.levels)
    text = levels[0].statement.text
    for level in levels[1:]:
        assert level.statement.text.count("FROM t ") == 1, level.statement.text
        text = level.statement.text.replace("FROM t ", f"FROM ({text}) t ")
    return Stack(levels, text, library_of(text, of.ties))


@functools.lru_cache(maxsize=16)
def library_of(text: str, ties: Any) -> Any:
    """What the library makes of a text: once, as each time it makes a class of events."""
    return afa.sql(text, event=COLUMNS, tick="us", ties=ties)


def numbered(seed: str, number: int, *, family: int = 4) -> World:
    """The world of a number; so many share a statement."""
    choose = Seeded(f"stacked/{seed}/{number // family}")
    levels, ties = choose.one((2, 2, 3)), choose.one(("value", "value", None))
    choose = Seeded(f"stacked/{seed}/{number}/steps")
    return World(seed, number // family, levels, ties, tuple(steps(choose, features(), choose.one((None, 9)))))


def world(of: World, engine: str) -> Seen:
    """Run a world; what came."""

    def again(operator: Any, other: bool) -> Any:
        nonlocal engine
        engine = ("interpreted" if engine == "compiled" else "compiled") if other else engine
        try:
            return library.restore(operator.snapshot(), engine=engine)
        except AfaError as error:
            if "its machine code has" in str(error):
                raise RefusedError(str(error)) from None
            raise

    try:
        library = stack(of).library
        operator = library.operator(engine=engine)
    except AfaError as error:
        raise RefusedError(str(error)) from None
    return judged(of, operator, again)


def judged(of: World, operator: Any, again: Callable[[Any, bool], Any]) -> Seen:
    """Run a world on an operator; ``again`` restores it, by choice on the other engine."""
    seen, (levels, text, library) = Seen(), stack(of)
    last, own, valued = levels[-1].statement, library.links[0].window is None and of.ends, of.ties == "value"
    force: dict[Row, int] = {}
    held, final = Counter[Any](), -FOREVER
    for i, (kind, what) in enumerate(of.steps):
        if kind == "restore":
            operator = again(operator, bool(what))
            seen["snapshots"] += 1
            continue
        what = [each if isinstance(each, int) else (each[0], each[1], each[2] if own else None) for each in what]
        batch = [Punctuation(each) if isinstance(each, int) else change(library.event, *each) for each in what]
        for each in what:
            if not isinstance(each, int):
                force.update({each[1]: FOREVER if each[2] is None else each[2]}) if each[0] > 0 else force.pop(each[1])
        try:
            rows = [TableRow(row, row.at or 0, re) for row, re in force.items()]
            for level in levels[:-1]:
                rows = level.rows(rows, valued)
            expected = Counter({floats(each): n for each, n in levels[-1].answer(rows, valued).items()})
        except TooManyError:
            seen["not compared"] += 1
            expected = None
        except TiedError:
            saved = operator.snapshot()
            with pytest.raises(AfaError, match="tells apart"):
                operator.push_many(batch)
            assert operator.snapshot() == saved, f"step {i}: expected a call that is refused to change nothing\n{text}"
            seen["ties refused"] += 1
            break
        try:
            alone = kind == "each" and valued  # else rows may tie in between
            out = [each for one in batch for each in operator.push(one)] if alone else operator.push_many(batch)
        except AfaError as error:
            if expected is None and "tells apart" in str(error):
                break
            raise AssertionError(f"step {i}: {error}\n{text}") from error
        for each in out:
            if isinstance(each, Punctuation):
                final = max(final, each.t)
                continue
            assert each.le >= final, f"{each} was final: {final}"
            held[shown(last, each)] += each.diff
            seen["retractions"] += each.diff < 0
            seen["several at once"] += abs(each.diff) > 1
        operator._check()
        held = Counter({each: n for each, n in held.items() if n})
        if expected is None:
            continue
        assert held == expected, f"step {i}: missing {expected - held}, too much {held - expected}\n{text}"
        seen["compared"] += 1
        seen["compared, three levels"] += of.levels == 3
        seen["shown"] += sum(expected.values())
        seen["shown by three levels"] += sum(expected.values()) * (of.levels == 3)
        seen["rows between"] += len(rows)
    return seen


def shown(statement: Statement, each: Any) -> Any:
    """What a change shows, as the matcher has it."""
    names = statement.names or tuple(f"m{i}" for i in range(len(statement.measures)))
    values = tuple(plain(getattr(each.payload, name)) for name in names)
    if statement.clauses.rows != "one":
        values = (Row(*(getattr(each.payload, name, each.key) for name in Row._fields)), values)
    return (each.key, values, each.le, each.re)


def smaller(of: World) -> Iterator[World]:
    """Worlds with a step less, a change less."""
    for i in range(len(of.steps)):
        yield of._replace(steps=(*of.steps[:i], *of.steps[i + 1 :]))
    for i, (kind, what) in enumerate(of.steps):
        for k in range(len(what)) if kind != "restore" else ():
            yield of._replace(steps=(*of.steps[:i], (kind, (*what[:k], *what[k + 1 :])), *of.steps[i + 1 :]))


def words(of: World) -> str:
    """A world as text to paste."""
    return f"  # {stack(of).text}\n{pformat(of, width=130, sort_dicts=False)}"


WORLDS = Worlds("sql-stacked", numbered, world, smaller, words)
