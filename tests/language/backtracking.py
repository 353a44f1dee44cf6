"""A matcher of SQL's row patterns with backtracking, for `tests.language.sql_worlds`: slow, and obvious.

It goes through the rows of a partition as a database does: at each row it tries the ways of the pattern in the standard's order of
preference (ISO/IEC 19075-5), takes the first that fits, and goes on where AFTER MATCH SKIP says. It has a form of its own for a
query, of which the SQL text is written, and shares no code with the library, nor with `tests.language.oracle`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cmp_to_key, partial
from itertools import permutations
from types import MappingProxyType
from typing import Any, NamedTuple

import afa

FOREVER = 2**63 - 1


class Row(NamedTuple):
    """A row."""

    p: int | None
    sort: str
    v: int | None
    at: afa.Instant | None = None
    seq: int = 0
    f: float | None = None


class PlacedRow(Row):
    """A row among those of its partition; a row behind it counts within ``window``, if there is one."""

    own: list[PlacedRow]
    place: int
    window: int | None

    def beside(self, offset: int) -> PlacedRow | None:
        """The row so many behind it, or before it (below 0)."""
        place = self.place + offset
        found = self.own[place] if 0 <= place < len(self.own) else None
        far = found is not None and offset > 0 and self.window is not None and (found.at or 0) >= (self.at or 0) + self.window
        return None if far else found


def placed(rows: list[Row], window: int | None) -> list[PlacedRow]:
    """The rows of a partition, in order."""
    found = [PlacedRow(*row) for row in rows]
    for place, row in enumerate(found):
        row.own, row.place, row.window = found, place, window
    return found


Pick = tuple[str, Any, bool]
"""A variable, the row it took, and whether ``{- -}`` hides that."""
Picks = tuple[Pick, ...]
Node = tuple[Any, ...]
"""("var", name), ("seq", nodes), ("alt", nodes), ("permute", nodes), ("hide", node), ("times", node, low, high, greedy)."""
Term = tuple[str, Callable[..., Any]]
"""A value of SQL, and what it is behind the rows that a match has taken; with MATCH_NUMBER() of these and of that number."""


class Sql(NamedTuple):
    """A query in parts."""

    pattern: Node
    define: dict[str, tuple[str, Callable[[Picks], bool]]]
    measures: tuple[Term, ...]
    skip: str
    window: int | None
    all_rows: bool
    keyed: bool
    no_row: str = ""  # "OMIT EMPTY MATCHES", "SHOW EMPTY MATCHES", "WITH UNMATCHED ROWS" behind ALL ROWS PER MATCH
    anchors: str = ""  # "^" before the pattern, "$" behind it
    where: tuple[str, Callable[[tuple[Any, ...]], bool]] | None = None  # over the measures
    distinct: bool = False
    view: tuple[str, Callable[[Row], bool]] | None = None  # WHERE of an inline view in front
    later: tuple[int, dict[str, tuple[str, Callable[[Picks], bool]]]] | None = None  # from an instant on: other conditions
    order: tuple[str, ...] = ("seq",)  # columns of ORDER BY behind at, as they are written: of `ORDERS`

    def asks(self, shown: tuple[Any, ...]) -> bool:
        """Whether WHERE wants what a match, or a row of it, shows."""
        return self.where is None or self.where[1](shown)

    def holds(self, name: str, picks: Picks) -> bool:
        """Whether a variable may take the last one of these rows."""
        define = self.define if self.later is None or (picks[-1][1].at or 0) < self.later[0] else self.later[1]
        return name not in define or define[name][1](picks)

    def anchored(self, picks: Picks) -> bool:
        """Whether a match lies where its anchors want it."""
        begins = "^" not in self.anchors or picks[0][1].beside(-1) is None
        return begins and ("$" not in self.anchors or picks[-1][1].beside(1) is None)

    @property
    def text(self) -> str:
        shown = ", ".join(f"{term} AS m{i}" for i, (term, _) in enumerate(self.measures))
        define = ", ".join(f"{name} AS {condition}" for name, (condition, _) in self.define.items())
        parts = [
            "PARTITION BY p" if self.keyed else "",
            f"ORDER BY {', '.join(('at', *self.order))} MEASURES {shown}",
            f"{'ALL ROWS' if self.all_rows else 'ONE ROW'} PER MATCH {self.no_row} AFTER MATCH SKIP {self.skip}",
            f"PATTERN ({'^ ' * ('^' in self.anchors)}{written(self.pattern)}{' $' * ('$' in self.anchors)})",
            "" if self.window is None else f"WITHIN {self.window}",
            "SUBSET U = (a, b)" if "U.v" in shown else "",
            f"DEFINE {define}" if define else "",
        ]
        select, where = (
            "SELECT DISTINCT *" if self.distinct else "SELECT *",
            "" if self.where is None else f" WHERE {self.where[0]}",
        )
        table = "t" if self.view is None else f"(SELECT * FROM t WHERE {self.view[0]})"
        return f"{select} FROM {table} MATCH_RECOGNIZE ({' '.join(part for part in parts if part)}){where}"


ORDERS = (
    "seq", "seq DESC", "sort", "sort DESC", "v NULLS FIRST", "v", "v DESC NULLS FIRST", "v DESC NULLS LAST",
    "p NULLS FIRST", "p DESC NULLS LAST"
)  # fmt: skip


def before(one: Row, other: Row, order: tuple[str, ...]) -> int:
    """Negative where a row stands before another one, as ORDER BY at and these columns say."""
    if one.at != other.at:
        return (one.at or 0) - (other.at or 0)
    for column in order:
        name, *words = column.split()
        x, y = getattr(one, name), getattr(other, name)
        if x == y:
            continue
        if None in (x, y):
            return -1 if (x is None) == ("FIRST" in words) else 1
        return -1 if (x < y) != ("DESC" in words) else 1
    return 0


TIMES = {
    "?": (0, 1), "*": (0, None), "+": (1, None), "{2}": (2, 2), "{2,}": (2, None), "{1,2}": (1, 2), "{,2}": (0, 2), "{0,3}": (0, 3)
}  # fmt: skip


def written(node: Node) -> str:
    """A part of the pattern in SQL, in parentheses where it has several parts."""
    match node:
        case ("var", name):
            return str(name)
        case ("seq", nodes):
            return f"({' '.join(map(written, nodes))})"
        case ("alt", nodes):
            return f"({' | '.join(map(written, nodes))})"
        case ("permute", nodes):
            return f"PERMUTE({', '.join(map(written, nodes))})"
        case ("hide", inner):
            return f"{{- {written(inner)} -}}"
    _, inner, low, high, greedy = node
    text = next(text for text, bounds in TIMES.items() if bounds == (low, high))
    return f"({written(inner)}){text}{'' if greedy or low == high else '?'}"


# -- the matcher -----------------------------------------------------------------------------------------------------------------


def told(query: Sql, rows: list[Row], ends: Mapping[Any, int] = MappingProxyType({})) -> Counter[Any]:
    """What the query says of these rows: how often (key, values, le, re). ``ends``: REs of rows, by instant and ``seq``."""

    def end(rows: Iterable[Row]) -> int:
        return min((ends.get((row.at, row.seq), FOREVER) for row in rows), default=FOREVER)

    out = Counter[Any]()
    rows = [row for row in rows if query.view is None or query.view[1](row)]
    for key in {row.p for row in rows} if query.keyed else [None]:
        rows_of_key = (row for row in rows if not query.keyed or row.p == key)
        own = placed(sorted(rows_of_key, key=cmp_to_key(partial(before, order=query.order))), query.window)
        start = number = 0
        while start < len(own):
            until = end(own[start:])  # without WITHIN it bounds what is taken
            ways = take(query, query.pattern, (), [row for row in own[start:] if (row.at or 0) < until])
            found = next((picks for picks in ways if query.anchored(picks)), None)
            picks = found or ()
            number += found is not None
            if not picks and (query.no_row == "WITH UNMATCHED ROWS" or (found == () and query.no_row != "OMIT EMPTY MATCHES")):
                shown, row = tuple(valued(term, (), 0, number if found == () else None) for term in query.measures), own[start]
                shown = shown if found is not None else tuple(None for _ in shown)
                re = end([row]) if query.window is None else (row.at or 0) + query.window
                out[key, (shown, tuple(row)) if query.all_rows else shown, row.at, re] += query.asks(shown)
            for i in range(len(picks)) if query.all_rows else [len(picks) - 1] if picks else []:
                shown = tuple(valued(term, picks, i, number) for term in query.measures)
                row = picks[i][1]
                re = end(row for _, row, _ in picks) if query.window is None else (picks[0][1].at or 0) + query.window
                if not (query.all_rows and picks[i][2]):
                    out[key, (shown, tuple(row)) if query.all_rows else shown, row.at, re] += query.asks(shown)
            start += max(1, resumes(query.skip, picks)) if picks else 1
    return Counter(set(+out)) if query.distinct else out


def valued(term: Term, picks: Picks, i: int, number: int | None) -> Any:
    """A value as of a row of a match; of a row of none there is no number."""
    text, value = term
    seen = picks if text.startswith("FINAL") else picks[: i + 1]
    if "MATCH_NUMBER" not in text:
        return value(seen)
    return None if number is None else value(seen, number)


def resumes(skip: str, picks: Picks) -> int:
    """How many rows behind the first one of a match the next may begin."""
    if skip == "PAST LAST ROW":
        return len(picks)
    found = [i for i, (name, _, _) in enumerate(picks) if name == skip.split()[-1]]
    return (found[0] if "FIRST" in skip else found[-1]) if found else 1


def take(query: Sql, node: Node, picks: Picks, rows: Sequence[Row]) -> Iterator[Picks]:
    """The ways in which a part of the pattern takes rows behind those that are taken, the preferred one first."""
    match node:
        case ("var", name):
            if len(picks) < len(rows):
                row = rows[len(picks)]
                more = (*picks, (name, row, False))
                early = query.window is None or (row.at or 0) - (rows[0].at or 0) < query.window
                if early and query.holds(name, more):
                    yield more
        case ("seq", []):
            yield picks
        case ("seq", [first, *rest]):
            for more in take(query, first, picks, rows):
                yield from take(query, ("seq", rest), more, rows)
        case ("alt", nodes):
            for each in nodes:
                yield from take(query, each, picks, rows)
        case ("permute", nodes):
            for order in permutations(nodes):
                yield from take(query, ("seq", [*order]), picks, rows)
        case ("hide", inner):
            for more in take(query, inner, picks, rows):
                yield (*picks, *((name, row, True) for name, row, _ in more[len(picks) :]))
        case ("times", inner, low, high, greedy):
            if low == 0 and not greedy:
                yield picks
            if high != 0:
                rest = ("times", inner, max(low - 1, 0), None if high is None else high - 1, greedy)
                for more in take(query, inner, picks, rows):
                    if len(more) == len(picks) and low <= 1:  # it took nothing, and no more are demanded
                        yield more
                    else:
                        yield from take(query, rest, more, rows)
            if low == 0 and greedy:
                yield picks
