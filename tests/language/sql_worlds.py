"""Random SQL x rows against a matcher with backtracking.

After every step, in any order of arrival, with rows taken back, the net output must be what the matcher of
`tests.language.backtracking` finds among the rows in force. Two rows may share an instant; ``seq`` says which is first. Between
steps an operator may be restored from its snapshot, another condition put in force from an instant on, a call refused.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice, product
from math import factorial, prod
from statistics import fmean
from typing import Any

import pytest

import afa
from afa import BEGINNING, FOREVER, AfaError, Punctuation, insert, retract
from tests.language.backtracking import ORDERS, TIMES, Node, Picks, Row, Sql, Term, take, told
from tests.strategies import Choices, Seeded
from tests.worlds.kind import RefusedError, Seen, TooManyError, Worlds

PATIENCE = 20_000
"""So often a row is tried for a variable, before a step of a stream is given up."""

Condition = Callable[[Picks], bool | None]

# -- random queries --------------------------------------------------------------------------------------------------------------

NAMES = ("a", "b", "c", "d")
OPS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda x, y: x < y, ">": lambda x, y: x > y, "=": lambda x, y: x == y, "<=": lambda x, y: x <= y, "<>": lambda x, y: x != y
}  # fmt: skip


def query(choose: Choices) -> Sql:
    """A random query. Variables stand at several places; most of them take rows of several kinds."""
    pattern, all_rows = node(choose, choose.one((1, 1, 2, 2, 2, 3))), choose.chance(50)
    while size(pattern) > 50 or explodes(pattern):
        pattern = node(choose, 2)
    pattern = ("seq", [pattern, node(choose, 1)]) if choose.chance(40) else pattern
    if all_rows and choose.chance(25):
        pattern = ("seq", [pattern, ("hide", node(choose, 1))])
    if not shortest(pattern) and choose.chance(50):
        pattern = ("seq", [("var", choose.one(NAMES)), pattern])
    before: dict[str, int] = {}
    for name, n in sorted(preceded(pattern)):
        before.setdefault(name, n)
    used = list(before)
    behind = [name for name in used if before[name]]  # of the others the same match would come again
    to = [f"TO {which} {choose.one(behind)}" for which in ("FIRST", "LAST")] if behind else []
    skip = choose.one(("PAST LAST ROW", "PAST LAST ROW", "TO NEXT ROW", *to))
    define = {name: condition(choose, used, name, before[name]) for name in used if choose.chance(65)}
    measures = tuple(measure(choose, used, all_rows) for _ in range(choose.number(1, 3)))
    no_row = choose.one(("", "", "SHOW EMPTY MATCHES", "OMIT EMPTY MATCHES", "WITH UNMATCHED ROWS")) if all_rows else ""
    if no_row == "WITH UNMATCHED ROWS" and (skip != "PAST LAST ROW" or "hide" in str(pattern)):
        no_row = ""
    anchors = choose.one(("^", "$", "^$")) if choose.chance(6) and shortest(pattern) else ""
    found = Sql(pattern, define, measures, skip, choose.one((None, 3, 6, 20)), all_rows, choose.chance(40), no_row, anchors)
    return found._replace(order=order(choose)) if choose.chance(40) else found


def order(choose: Choices) -> tuple[str, ...]:
    """Columns behind the time, of which seq tells rows of one instant apart."""
    columns = {each.split()[0]: each for each in (choose.one(ORDERS) for _ in range(3)) if not each.startswith("seq")}
    return (*columns.values(), choose.one(("seq", "seq DESC")))


def node(choose: Choices, deep: int) -> Node:
    kind = choose.number(0, 99) if deep else 0
    if kind < 25:
        made: Node = ("var", choose.one(NAMES))
    elif kind < 55:
        made = ("seq", [node(choose, deep - 1) for _ in range(choose.number(2, 3))])
    elif kind < 75:
        made = ("alt", [node(choose, deep - 1) for _ in range(choose.number(2, 3))])
    elif kind < 90:
        made = ("permute", [node(choose, choose.one((0, 0, 1))) for _ in range(choose.one((2, 2, 2, 3)))])
    else:
        made = ("times", node(choose, deep - 1), 0, 1, True)
    return ("times", made, *TIMES[choose.one(tuple(TIMES))], choose.chance(50)) if choose.chance(45) else made


def names(node: Node) -> Iterator[str]:
    if node[0] == "var":
        yield node[1]
    for inner in node[1] if isinstance(node[1], list) else [node[1]] if isinstance(node[1], tuple) else []:
        yield from names(inner)


def size(node: Node) -> int:
    """How many places a part of the pattern has, written out."""
    if node[0] == "var":
        return 1
    if node[0] == "times":
        return size(node[1]) * (node[3] or max(node[2], 1))
    inner = node[1] if isinstance(node[1], list) else [node[1]]
    return sum(map(size, inner)) * (factorial(len(inner)) if node[0] == "permute" else 1)


def choices_in(node: Node) -> int:
    """About how many ways there are through a part of the pattern, where what has no bound goes on twice."""
    if node[0] == "var":
        return 1
    if node[0] == "times":
        _, inner, low, high, _ = node
        return sum(choices_in(inner) ** n for n in range(low, (high or low + 2) + 1))
    inner = [choices_in(each) for each in (node[1] if isinstance(node[1], list) else [node[1]])]
    return sum(inner) if node[0] == "alt" else prod(inner) * (factorial(len(inner)) if node[0] == "permute" else 1)


def explodes(node: Node) -> bool:
    """Whether a pattern has many ways to take eight rows: each is a partial match of its own; and many to take none."""
    if choices_in(node) > 20_000:
        return True
    ways = take(Sql(node, {}, (), "", None, False, False), node, (), [Row(0, "x", 1, i) for i in range(8)])
    return sum(1 for _ in islice(ways, 1001)) > 1000


def shortest(node: Node) -> int:
    """How many rows a part of the pattern takes at least."""
    match node:
        case ("times", inner, low, _, _):
            return int(low * shortest(inner))
        case ("seq" | "permute", nodes):
            return sum(map(shortest, nodes))
        case ("alt", nodes):
            return min(map(shortest, nodes))
        case ("hide", inner):
            return shortest(inner)
    return 1


def preceded(node: Node, n: int = 0) -> Iterator[tuple[str, int]]:
    """The variables, each with how many rows a match has at least in front of a row of it, where the part has ``n``."""
    if node[0] == "var":
        yield node[1], n
    for inner in node[1] if isinstance(node[1], list) else [node[1]] if isinstance(node[1], tuple) else []:
        yield from preceded(inner, n)
        n += shortest(inner) if node[0] == "seq" else 0


def rows_of(name: str, picks: Picks) -> list[Row]:
    return [row for taken, row, _ in picks if taken in {"U": "ab", "": taken}.get(name, name)]


def term(choose: Choices, name: str, texts: bool = True) -> Term:
    """A value over the rows of a variable; of no name: over those of the match; ``texts``: or the name of one."""
    field = f"{name}.v" if name else "v"

    def values(picks: Picks) -> list[int]:
        return [row.v for row in rows_of(name, picks) if row.v is not None]

    kind = choose.one(("last", "last", "first", "sum", "max", "min", "avg", "count", "last but one", *MORE_TERMS))
    kind = "expression" if kind == "classifier" and not texts else kind
    if kind in MORE_TERMS:
        return more_terms(kind, name, choose.number(1, 2))
    if kind == "last but one":
        return f"LAST({field}, 1)", lambda picks: rows_of(name, picks)[-2].v if len(rows_of(name, picks)) > 1 else None
    if kind in ("first", "last"):
        i = 0 if kind == "first" else -1
        return f"{kind.upper()}({field})", lambda picks: rows_of(name, picks)[i].v if rows_of(name, picks) else None
    if kind == "count":
        return f"COUNT({field})", lambda picks: len(values(picks))
    of: Any = {"sum": sum, "max": max, "min": min, "avg": fmean}[kind]
    return f"{kind.upper()}({field})", lambda picks: of(values(picks)) if values(picks) else None


MORE_TERMS = ("first but k", "of a row", "filter", "by", "classifier", "any", "expression")


def more_terms(kind: str, name: str, k: int) -> Term:
    """Terms over the rows of a variable that are more than a column."""
    of = f"{name}." if name else ""

    def there(picks: Picks) -> list[Row]:
        return [row for row in rows_of(name, picks) if row.v is not None]

    def total(values: list[Any]) -> Any:
        return sum(values) if values else None

    def names(picks: Picks) -> list[str]:
        return [taken for taken, row, _ in picks if row in rows_of(name, picks)]

    match kind:
        case "first but k":
            return f"FIRST({of}v, {k})", lambda picks: rows_of(name, picks)[k].v if len(rows_of(name, picks)) > k else None
        case "of a row":
            return f"SUM({of}v * {of}seq + {k})", lambda picks: total([(row.v or 0) * row.seq + k for row in there(picks)])
        case "filter":
            text = f"COUNT({of}v + 1) FILTER (WHERE {of}seq < {k} AND {of}v < 3)"
            return text, lambda picks: len([row for row in there(picks) if row.seq < k and (row.v or 0) < 3])
        case "by":
            text = f"MAX_BY({of}seq, {of}v)"
            return text, lambda picks: max(there(picks), key=lambda row: row.v or 0).seq if there(picks) else None
        case "classifier":
            return f"LAST(CLASSIFIER({name}), {k})", lambda picks: names(picks)[-1 - k] if len(names(picks)) > k else None
        case "any":
            return f"ANY_VALUE({of}v)", lambda picks: there(picks)[0].v if there(picks) else None
    text = f"LAST({of}v + {k})"
    return text, lambda picks: None if not rows_of(name, picks) or (v := rows_of(name, picks)[-1].v) is None else v + k


def beside(choose: Choices, names: list[str]) -> Term:
    """A value of a neighbour: of the row at hand, or of one that a variable, or the match, has taken before."""
    function, offset = choose.one((("PREV", -1), ("PREV", -2), ("NEXT", 1), ("NEXT", 2), ("LAG", -1), ("LEAD", 1)))
    name, which = choose.one(names), choose.one(("", "LAST", "FIRST", "LAST but one"))
    field = f"{name}.v" if name else "v"
    inner = {"": field, "LAST but one": f"LAST({field}, 1)"}.get(which, f"{which}({field})")

    def value(picks: Picks) -> Any:
        rows = rows_of(name, picks)
        i = {"FIRST": 0, "LAST but one": -2}.get(which, -1)
        row = rows[i].beside(offset) if len(rows) > (i == -2) else None
        return None if row is None else row.v

    return f"{function}({inner}, {abs(offset)})" if abs(offset) > 1 or choose.chance(30) else f"{function}({inner})", value


def of_kinds(choose: Choices) -> tuple[str, Condition]:
    kinds = choose.one(("x", "y", "xy", "yz"))
    return f"sort IN ({', '.join(map(repr, kinds))})", lambda picks: picks[-1][1].sort in kinds


def condition(choose: Choices, used: list[str], name: str, before: int) -> tuple[str, Callable[[Picks], bool]]:
    """A condition of a variable, in front of whose rows a match has so many."""
    text, holds = comparison(choose, used, name, before)
    if choose.chance(15):
        more, also = comparison(choose, used, name, before)
        word = choose.one(("AND", "OR"))
        decides = word == "OR"  # what one of both is, whatever the other is
        text = f"({text}) {word} ({more})"
        return text, lambda picks: both(holds(picks), also(picks), decides) is True
    if choose.chance(8):
        return f"NOT ({text})", lambda picks: holds(picks) is False
    return text, lambda picks: holds(picks) is True


def both(one: bool | None, other: bool | None, decides: bool) -> bool | None:
    """SQL's AND and OR of what may be unknown."""
    if decides in (one, other):
        return decides
    return None if None in (one, other) else not decides


def comparison(choose: Choices, used: list[str], name: str, before: int) -> tuple[str, Condition]:
    """True, false, or unknown where a value is NULL."""
    kind = choose.number(0, 99)
    if kind < 40:
        return of_kinds(choose)
    if kind < 43:
        return "v IS NULL", lambda picks: picks[-1][1].v is None
    number = choose.number(0, 3)
    text, right = (str(number), lambda picks: number) if kind < 60 else term(choose, choose.one((name, *used, "")), False)
    if kind > 75 and before:
        back = choose.number(1, min(before, 2))
        text, right = f"PREV(v, {back})" if back > 1 else "PREV(v)", lambda picks: picks[-1 - back][1].v
    elif choose.chance(15):
        text, right = beside(choose, [name, *used, "", ""])
    op = choose.one(tuple(OPS))

    def holds(picks: Picks) -> bool | None:
        left, other = picks[-1][1].v, right(picks)
        return None if left is None or other is None else OPS[op](left, other)

    def of_tenths(picks: Picks) -> bool | None:
        left, other = picks[-1][1].v, right(picks)
        return None if left is None or other is None else OPS[op]((left * 15 + 20 + 5) // 10, other)

    if "AVG" not in text and choose.chance(10):
        return f"CAST(v * 0.15 + 0.2 AS DECIMAL(5, 1)) {op} ({text}) * 0.1", of_tenths
    return f"v {op} {text}", holds


def measure(choose: Choices, used: list[str], all_rows: bool) -> Term:
    kind = choose.number(0, 99)
    if kind < 10:
        return "MATCH_NUMBER()", lambda picks, number: number
    if kind < 13:
        return "MATCH_NUMBER() * 2 - COUNT(*)", lambda picks, number: number * 2 - len(picks)
    if kind < 40:
        return "CLASSIFIER()", lambda picks: picks[-1][0] if picks else None
    if kind < 55:
        return "COUNT(*)", len
    if kind < 70:
        return "FIRST(at)", lambda picks: picks[0][1].at if picks else None
    if choose.chance(15):
        return beside(choose, [*used, ""])
    text, value = term(choose, choose.one((*used, "U", "") if {"a", "b"} <= {*used} else (*used, "")))
    return f"FINAL {text}" if all_rows and choose.chance(30) else text, value


# -- runs ------------------------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4)
def made(seed: str, family: int) -> tuple[Sql, Any]:
    """The query of a family of worlds, and what the library makes of it."""
    found = query(Seeded(f"back/{seed}/query {family}"))
    return found, afa.sql(found.text, event=Row)


def run(query: Sql, choose: Choices, operator: Any, beside: Beside | None = None) -> int:
    """Run a random stream; returns how many matches or rows came. ``beside``: what happens between its steps.

    Some streams are long, have more keys, and rows of a kind that no condition names. Without WITHIN a row may have an own RE.
    """
    long = choose.chance(15)
    most, instants, kinds, keys = (60, 40, "xyzn", 2) if long else (8, 10, "xyz", 1)
    own = beside is not None and query.window is None and choose.chance(85)
    force, ends, held, came = list[Row](), dict[Any, int](), Counter[Any](), 0
    history: list[Any] = []
    promised, final = 0, -FOREVER
    steps = choose.number(6, 12 if long else 18)
    for step in range(steps):
        taken = {(row.at, row.seq) for row in force}
        free = [place for place in product(range(max(promised, 1), instants + 1), range(2)) if place not in taken]
        late = [row for row in force if (row.at or 0) >= promised]
        batch: list[Any] = []
        before = promised
        for _ in range(choose.number(20, 50) if long and not step else choose.one((1, 1, 1, 2, 4))):
            if late and (len(force) > most - 1 or choose.chance(10 if long and not step else 30)):
                row = late.pop(choose.number(0, len(late) - 1))
                force.remove(row)
                batch.append(retract(row._replace(at=None), row.at, ends.get((row.at, row.seq))))
                if choose.chance(40):  # another row comes in its place
                    row = row._replace(v=choose.number(0, 3), sort=choose.one(kinds))
                    force.append(row)
                    batch.append(insert(row._replace(at=None), row.at or 0, ends.get((row.at, row.seq))))
            elif free and len(force) < most:
                le, seq = free.pop(choose.number(0, len(free) - 1))
                v = None if choose.chance(8) else choose.number(0, 3)
                key = None if query.keyed and choose.chance(15) else choose.number(0, keys)
                row = Row(key, choose.one(kinds), v, le, seq)
                force.append(row)
                ends.pop((le, seq), None)
                if own and choose.chance(40):
                    ends[le, seq] = le + choose.one((1, 2, 5, 20))
                batch.append(insert(row._replace(at=None), le, ends.get((le, seq))))
        if choose.chance(6):
            promised = max(promised, choose.number(0, instants + 1))
            batch.append(Punctuation(promised))
        elif step == steps - 1 and choose.chance(10):
            promised = FOREVER
            batch.append(Punctuation(promised))
        out: list[Any] = []
        if beside is not None:
            operator, query, out = beside.step(operator, query, batch, force, before)
        history += [beside.last, batch] if beside else [batch]
        for change in out + operator.push_many(batch):
            if isinstance(change, Punctuation):
                final = change.t
                most = FOREVER if promised == FOREVER else promised - (query.window or 0) + 1
                waits = promised < FOREVER and any(word in query.text for word in ("NEXT(", "LEAD(", " $)"))
                assert most - (query.window or 0) * waits <= final <= most
                assert waits or final == most
            else:
                assert change.le >= final, f"{change} was final: {final}"
                each = shown(query, change)
                held[each] += change.diff
                assert change.diff, f"{change} says nothing"
                assert held[each] >= 0, f"{change} does not fit what is in force"
                came += max(change.diff, 0)
        try:
            expected = told(patient(query), force, ends)
        except TooManyError:
            if beside is not None:
                beside.seen["not compared"] += 1
            continue
        held = +held
        assert held == expected, f"missing {expected - held}, too much {held - expected}\n{query.text}\n{history}"
        if beside is not None:
            beside.seen["compared"] += 1
            beside.seen["compared, several show the same"] += held.total() > len(held)
            beside.seen["compared, more than 20 rows"] += len(force) > 20
            beside.seen["compared, rows with an RE"] += any((row.at, row.seq) in ends for row in force)
    return came


def patient(query: Sql) -> Sql:
    """The query with conditions that raise `TooManyError` where rows are tried again and again."""
    tries = iter(range(PATIENCE))

    def counted(define: Any) -> Any:
        def holds(name: str, picks: Picks) -> bool:
            if next(tries, None) is None:
                raise TooManyError
            return name not in define or define[name][1](picks)

        return {name: ("", functools.partial(holds, name)) for name in names(query.pattern)}

    later = query.later and (query.later[0], counted(query.later[1]))
    return query._replace(define=counted(query.define), later=later)


class Beside:
    """What happens between the steps of a stream: snapshots, another condition in force from an instant on, calls that are refused.

    ``seen``: how often.
    """

    def __init__(self, choose: Choices, library: Any, engine: str) -> None:
        self._choose, self._library, self._engine = choose, library, engine
        self._arcs: list[Any] = []
        self.seen, self.last = Seen(), ""

    def step(self, operator: Any, query: Sql, batch: list[Any], force: list[Row], promised: int) -> tuple[Any, Sql, list[Any]]:
        """Do something, or nothing, in front of a batch. Returns the operator, the query and what changes."""
        choose, out = self._choose, list[Any]()
        self.last = ""
        if choose.chance(15):
            other = "interpreted" if self._engine == "compiled" else "compiled"
            engine = other if choose.chance(25) else self._engine
            operator = self._library.restore(operator.snapshot(), arcs=self._arcs, engine=engine)
            operator._check()
            self.seen["snapshots"] += 1
            self.last += "snapshot "
        if query.later is None and choose.chance(15):
            query = self._swap(operator, query, out)
        if force and choose.chance(15) and (promised or not any(each.startswith("sort") for each in query.order)):
            saved, row = operator.snapshot(), choose.one(tuple(force))
            bad = insert(row._replace(at=None), promised - 1) if promised else insert(row._replace(at=None, sort="?"), row.at)
            with pytest.raises(AfaError, match=r"promised|ORDER BY tells apart"):
                operator.push_many([*(each for each in batch if not isinstance(each, Punctuation)), bad])
            assert operator.snapshot() == saved
            operator._check()
            self.seen["refused calls"] += 1
            self.last += "refused "
        return operator, query, out

    def _swap(self, operator: Any, query: Sql, out: list[Any]) -> Sql:
        """Put another condition of a variable in force from an instant on, which reads no more; append what changes."""
        at = self._choose.number(1, 9)
        if not query.define:
            return query
        name = self._choose.one(tuple(query.define))
        later = {**query.define, name: of_kinds(self._choose)}
        less = re.search(r"\bv\b|NEXT\(| OR ", query.define[name][0]) is not None  # OR is lowered to other states
        try:
            changes = self._library.changes_to(afa.sql(query._replace(define=later).text, event=Row))
        except AfaError as error:  # the condition says that v is there, or not, which measures or other conditions read
            if not less or not re.search("are not missing|values shown|read no more of a match|same neighbours", str(error)):
                raise
            return query
        if changes.goes:  # states that tell what only this condition reads: matches that rest there end
            assert less
            return query
        self.seen["reads less"] += less
        self._arcs += [change.payload for change in changes.arcs if change.diff > 0]
        gone = [change.payload for change in changes.arcs if change.diff < 0]
        if operator._core.progress.arc_promise > BEGINNING:  # arcs with a lifetime in the past are late
            at = operator._core.progress.now
            out += operator.push_many([*changes.arcs])
        else:
            ends = [each for arc in gone for each in (retract(arc, BEGINNING), insert(arc, BEGINNING, at))]
            out += operator.push_many([*ends, *(insert(arc, at) for arc in self._arcs)])
        self.seen["swaps"] += bool(gone)
        self.last += f"swap {later} at {at} "
        return query._replace(later=(at, later))


def shown(query: Sql, change: Any) -> Any:
    values = tuple(getattr(change.payload, f"m{i}") for i in range(len(query.measures)))
    row = tuple(getattr(change.payload, name, change.key) for name in Row._fields) if query.all_rows else None
    return change.key, (values, row) if query.all_rows else values, change.le, change.re


def numbered(seed: str, number: int) -> tuple[str, int]:
    """The world of a number; four share a query."""
    return seed, number


def world(of: tuple[str, int], engine: str) -> Seen:
    """Run a world; what came. `RefusedError` where the library refuses the query."""
    seed, number = of
    try:
        query, library = made(seed, number // 4)
        operator = library.operator(engine=engine)
    except AfaError as error:
        raise RefusedError(str(error)) from None
    choose = Seeded(f"back/{seed}/{number}")
    beside = Beside(choose, library, engine)
    return Seen(came=run(query, choose, operator, beside)) + beside.seen


WORLDS = Worlds("sql", numbered, world)
