"""SQL's MATCH_RECOGNIZE -> tree. sqlglot reads the clauses, `row_pattern` the PATTERN; WITHIN and SUBSET are cut out before.

    SELECT * FROM ticks MATCH_RECOGNIZE (
      PARTITION BY symbol ORDER BY at
      MEASURES FIRST(down.price) AS top, LAST(down.price) AS low
      AFTER MATCH SKIP PAST LAST ROW
      PATTERN (start down+) WITHIN INTERVAL '1' HOUR
      DEFINE down AS price < PREV(price))

Untrusted text: its length is bounded, nothing in it is evaluated. Source: ISO/IEC TR 19075-5; manuals of Flink, Oracle, Trino.
"""

from __future__ import annotations

import re
from typing import Any

from afa.errors import QueryError
from afa.expression.nodes import Expr
from afa.language.first_row import at_first, positive, reads_before, with_last
from afa.language.pattern import Component, Pattern, Tree
from afa.language.row_pattern import read_pattern
from afa.language.row_places import least_of, places_of, times_of, with_components
from afa.language.sase_grammar import LONGEST, RefusedError, query_error
from afa.language.sql_expressions import Reader, Scope, Variable, conjuncts_of, place_of, with_finals
from afa.language.terms import Ref
from afa.language.three_values import FALSE, TRUE
from afa.schema import Schema
from punctuation.durations import ticks

DIALECT = "snowflake"
"""Of sqlglot's dialects the one that reads the most forms of MATCH_RECOGNIZE."""
SKIPS = re.compile(
    r"AFTER\s+MATCH\s+SKIP\s+(?:(PAST\s+LAST\s+ROW)|(?:TO\s+(NEXT\s+ROW|(FIRST|LAST)\s+(\S+)|(\S+))))$", re.IGNORECASE
)


def read(text: str, event: type, *, tick: str | None = None, order: str | None = None) -> Tree:
    """Read a query in SQL.

    Parameters
    ----------
    text : str
        ``SELECT * FROM name MATCH_RECOGNIZE (..)``. The first column of ORDER BY is LE, a second one orders events of one instant.
    event : type
        The event schema, a NamedTuple. Names are compared without case, if they are not quoted.
    tick : str or None
        The unit that one int of LE counts; needed where the text has an INTERVAL.
    order : str or None
        The field that orders events of one instant, if ORDER BY does not say it.

    Raises
    ------
    QueryError
        Line, column, what was expected, what came, and a way out.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Tick(NamedTuple):
    ...     price: float
    >>> tree = read('''SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY at MEASURES LAST(down.price) AS low
    ...     PATTERN (top down+) WITHIN 10 DEFINE down AS price < top.price)''', Tick)
    >>> tree.window, tree.skip, tree.returns
    (10, 'past last row', (('low', Ref(component='down', which='last', field='price', back=0)),))
    """
    if not isinstance(text, str):
        raise QueryError(f"expected a query as text (str) but got {text!r}")
    try:
        return _Text(text, Schema.of(event, "event"), tick, order).tree()
    except RefusedError as refused:
        raise query_error(text, refused) from None


class _Text:
    """One query."""

    def __init__(self, text: str, schema: Schema, tick: str | None, order: str | None) -> None:
        if len(text) > LONGEST:
            raise RefusedError(f"expected at most {LONGEST} characters but got {len(text)}; split the query", 0)
        self._text, self._schema, self._tick, self._order = text, schema, tick, order
        self._kinds = {field.name: field.type for field in schema.fields}
        self._required = frozenset(field.name for field in schema.fields if not field.optional)
        self._cut = with_finals(text)
        self._window: int | None = None
        self._bare = True
        self._subsets: list[tuple[str, int, list[tuple[str, int]]]] = []
        self._le = ""
        self._time: str | None = None
        self._order_column: str | None = None
        self._names: dict[str, str] = {}
        self._variables: dict[str, Variable] = {}

    def tree(self) -> Tree:
        """Return the tree."""
        self._cut_out()
        select, clauses = self._parsed()
        key = tuple(self._column(each.name, place_of(each)) for each in clauses.args.get("partition_by") or ())
        order = self._order_column = self._ordered(clauses.args.get("order"))
        every = self._every_row(clauses.args.get("rows"))
        hidden: list[int] = []
        pattern = self._pattern(clauses.args.get("pattern"), hidden)
        self._know(pattern)
        subsets = tuple(self._subset(*each) for each in self._subsets)
        pattern = self._defined(pattern, clauses.args.get("define") or ())
        measures = self._measures(clauses.args.get("measures") or (), every)
        returns = self._returns(select, measures, key, every)
        skip = self._skip(clauses.args.get("after"), pattern)
        return Tree(
            pattern,
            self._schema.cls,
            None,
            key,
            order,
            self._window,
            returns=returns,
            payload="Row" if every else "Match",
            subsets=subsets,
            time=self._time,
            skip=skip,
            rows=tuple(hidden) if every else None,
            bare=self._bare,
            ties=False,
        )

    def _every_row(self, clause: Any) -> bool:
        """Return whether each row of a match is shown."""
        rows = " ".join(str(clause.this).upper().split()) if clause is not None else "ONE ROW PER MATCH"
        if rows.startswith("ONE ROW PER MATCH"):
            return False
        if rows in ("ALL ROWS PER MATCH", "ALL ROWS PER MATCH SHOW EMPTY MATCHES", "ALL ROWS PER MATCH OMIT EMPTY MATCHES"):
            return True  # no match is empty
        raise RefusedError(
            f"expected ONE ROW PER MATCH or ALL ROWS PER MATCH but got {rows}; rows of no match are those of the input that are "
            f"none of the output",
            self._found(rows[:3]),
        )

    # -- the frame -------------------------------------------------------------------------------------------------------------

    def _cut_out(self) -> None:
        """Read WITHIN and SUBSET, which sqlglot does not know, and put blanks in their place."""
        within = re.search(r"\bWITHIN\b\s*(INTERVAL\s*'([^']*)'\s*([A-Za-z]+)?|(\d+))", self._cut, re.IGNORECASE)
        if within:
            self._window, self._bare = self._duration(within), bool(within[4])
            self._blank(within.start(), within.end())
        subset = re.search(r"\bSUBSET\b((?:\s*\w+\s*=\s*\([^()]*\)\s*,?)+)(?=\s*(?:DEFINE\b|\)))", self._cut, re.IGNORECASE)
        if subset:
            for each in re.finditer(r"(\w+)\s*=\s*\(([^()]*)\)", subset[1]):
                base = subset.start(1)
                members = [(m[0], base + each.start(2) + m.start()) for m in re.finditer(r"\w+", each[2])]
                self._subsets.append((each[1], base + each.start(1), members))
            self._blank(subset.start(), subset.end())

    def _duration(self, within: re.Match[str]) -> int:
        try:
            if within[4]:
                return ticks([(within[4], None)], self._tick, QueryError)
            parts = within[2].split()
            if within[3]:
                parts.append(within[3])
            if len(parts) != 2:
                raise QueryError(f"expected INTERVAL 'n' UNIT but got {within[1]}")
            return ticks([(parts[0], parts[1])], self._tick, QueryError)
        except QueryError as error:
            raise RefusedError(str(error), within.start(1)) from None

    def _blank(self, begin: int, end: int) -> None:
        blank = "".join(c if c == "\n" else " " for c in self._cut[begin:end])
        self._cut = self._cut[:begin] + blank + self._cut[end:]

    def _parsed(self) -> tuple[Any, Any]:
        import sqlglot
        from sqlglot import exp
        from sqlglot.errors import SqlglotError

        try:
            trees = sqlglot.parse(self._cut, dialect=DIALECT)
        except (SqlglotError, ValueError) as error:  # of an empty PATTERN it makes a ValueError
            told = (getattr(error, "errors", None) or [{}])[0]
            what = re.sub(r"<Token .*?text: ([^,]*),.*?>", r"'\1'", str(told.get("description") or str(error).split("\n")[0]))
            raise RefusedError(f"expected SQL but got what can't be read: {what}", self._at(told)) from None
        except RecursionError:
            raise RefusedError("expected less nesting; split the condition over several variables", 0) from None
        if len(trees) != 1 or not isinstance(trees[0], exp.Select):
            raise RefusedError("expected one SELECT .. FROM .. MATCH_RECOGNIZE (..) but got another statement", 0)
        clauses = list(trees[0].find_all(exp.MatchRecognize))
        if len(clauses) != 1:
            raise RefusedError(
                f"expected one MATCH_RECOGNIZE but got {len(clauses) or 'none'}; write SELECT * FROM name MATCH_RECOGNIZE (..)",
                0,
            )
        for clause in ("where", "group", "having", "joins", "limit", "order", "distinct", "with_", "qualify", "laterals"):
            if trees[0].args.get(clause):
                raise RefusedError(
                    f"expected SELECT .. FROM name MATCH_RECOGNIZE (..) alone but got {clause.upper()} beside it; filter "
                    f"rows before they come, or matches when they leave",
                    0,
                )
        return trees[0], clauses[0]

    def _at(self, told: dict[str, Any]) -> int:
        line, column = told.get("line") or 1, told.get("col") or 1
        begin = 0
        for _ in range(line - 1):
            begin = self._cut.find("\n", begin) + 1
        return max(begin + column - 1 - len(str(told.get("highlight") or " ")) + 1, 0)

    def _found(self, word: str) -> int:
        found = re.search(rf"\b{re.escape(word)}", self._text, re.IGNORECASE)
        return found.start() if found else 0

    def _ordered(self, clause: Any) -> str | None:
        columns = clause.expressions if clause is not None else []
        if not 1 <= len(columns) <= 2:
            raise RefusedError(
                f"expected a time in ORDER BY, and perhaps a column that orders rows of one instant, but got {len(columns)}",
                self._found("ORDER BY") if columns else self._found("MATCH_RECOGNIZE"),
            )
        for each in columns:
            if each.args.get("desc") or type(each.this).__name__ != "Column":
                raise RefusedError(f"expected a column, ascending, but got {each.sql()!r}", place_of(each))
        self._le = columns[0].this.name.lower()
        self._time = next((name for name in self._kinds if name.lower() == self._le), None)
        if len(columns) == 1:
            return self._order
        return self._column(columns[1].this.name, place_of(columns[1]))

    def _column(self, written: str, place: int) -> str:
        """Return the field that a column means."""
        if written in self._kinds:
            return written
        found = [name for name in self._kinds if name.lower().rstrip("_") == written.lower()]
        if len(found) == 1:
            return found[0]
        if written.lower() == self._le:
            way = f"a field {written} of {self._schema.cls.__name__}, annotated afa.Instant, makes the time a value"
        else:
            way = f"its fields: {', '.join(self._kinds)}"
        raise RefusedError(f"expected a field of {self._schema.cls.__name__} but got {written!r}; {way}", place)

    # -- the pattern -----------------------------------------------------------------------------------------------------------

    def _pattern(self, clause: Any, hidden: list[int]) -> Pattern:
        if clause is None:
            raise RefusedError("expected PATTERN (..) but got none", self._found("MATCH_RECOGNIZE"))
        text = str(clause.this)
        begin = re.search(r"\bPATTERN\s*\(", self._cut, re.IGNORECASE)
        base = self._cut.find(text, begin.end()) if begin else 0
        try:
            return read_pattern(text, self._name, hidden)
        except RefusedError as refused:
            raise RefusedError(refused.message, max(base, 0) + refused.position) from None

    def _name(self, written: str) -> str:
        """Return the name of a variable: as it is written first."""
        return self._names.setdefault(written.strip('"').lower(), written.strip('"'))

    def _know(self, pattern: Pattern) -> None:
        for name, (least, most) in places_of(pattern).items():
            self._variables[name] = Variable(frozenset([name]), times_of(pattern, name) == 1, least, most)
        if least_of(pattern) == 0:
            raise RefusedError(
                "expected a pattern of at least one row but got one that no row matches, too; write + for *, or another variable",
                self._found("PATTERN"),
            )

    def _subset(self, written: str, place: int, members: list[tuple[str, int]]) -> tuple[str, tuple[str, ...]]:
        known = [self._names.get(member.lower()) for member, _ in members]
        for (member, at), name in zip(members, known):
            if name is None or name not in self._variables or len(self._variables[name].members) > 1:
                raise RefusedError(f"expected variables of the pattern in SUBSET but got {member!r}", at)
        if written.lower() in self._names:
            raise RefusedError(f"expected a new name for a SUBSET but got {written!r}, which is a variable", place)
        name, names = self._name(written), tuple(name for name in known if name is not None)
        self._variables[name] = Variable(frozenset(names), False, 0, None)
        return name, names

    def _scope(self, defines: str | None, every: bool = False) -> Reader:
        def named(written: str) -> str | None:
            found = self._names.get(written.lower())
            return found if found in self._variables else None

        return Reader(Scope(self._variables, named, self._column, self._kinds, self._tick, defines, every))

    def _defined(self, pattern: Pattern, clauses: Any) -> Pattern:
        slots: dict[str, Component] = {}
        for each in clauses:
            written = each.args["alias"].name
            name = self._names.get(written.lower())
            if name is None or name not in self._variables or len(self._variables[name].members) > 1:
                raise RefusedError(
                    f"expected a variable of the pattern in DEFINE but got {written!r}; they are: "
                    f"{', '.join(n for n, v in self._variables.items() if v.members == {n})}",
                    place_of(each),
                )
            if name in slots:
                raise RefusedError(
                    f"expected one condition of a variable but got a second one of {written!r}; write AND", place_of(each)
                )
            try:
                slots[name] = self._component(name, self._scope(name).value(each.this))
            except QueryError as error:
                raise RefusedError(str(error), place_of(each)) from None
        return with_components(pattern, slots)

    def _component(self, name: str, condition: Expr) -> Component:
        where: list[Expr] = []
        first: list[Expr] = []
        rest: list[Expr] = []
        for each in conjuncts_of(condition):
            if not reads_before(each, name):
                where.append(each)
                continue
            start = positive(at_first(each, name))
            into = where if self._variables[name].one else first
            if start != TRUE:
                into += list(conjuncts_of(start))
            if not self._variables[name].one:
                rest += conjuncts_of(positive(with_last(each, name, self._required)))
        if FALSE in (*where, *first):
            never: list[Expr] = [FALSE]
            where, first = (never, first) if FALSE in where else (where, never)
        return Component(name, None, tuple(where), tuple(first), tuple(rest))

    # -- what is shown ---------------------------------------------------------------------------------------------------------

    def _measures(self, clauses: Any, every: bool) -> dict[str, Expr]:
        reader, found = self._scope(None, every), dict[str, Expr]()
        for each in clauses:
            alias = each.this
            if type(alias).__name__ != "Alias":
                raise RefusedError(f"expected a name, {alias.sql()} AS name, in MEASURES but got none", place_of(each))
            try:
                found[alias.alias] = reader.value(alias.this)
            except QueryError as error:
                raise RefusedError(str(error), place_of(each)) from None
            if every and str(each.args.get("window_frame") or "").upper() == "FINAL":  # `with_finals` has taken those of functions
                raise RefusedError(
                    f"expected FINAL before FIRST, LAST or an aggregate but got FINAL {alias.this.sql()}", place_of(each)
                )
            if every and alias.alias.lower() in {name.lower() for name in self._kinds}:
                raise RefusedError(f"expected a name that no column has in MEASURES but got {alias.alias!r}", place_of(each))
        return found

    def _returns(self, select: Any, measures: dict[str, Expr], key: tuple[str, ...], every: bool) -> tuple[tuple[str, Expr], ...]:
        """Return what is shown; where it is each row, the columns, too, in SQL's order: that of ORDER BY, measures, all others."""
        first, rest = self._columns(key) if every else ({}, {})
        found = {**first, **measures, **rest}
        if len(select.expressions) == 1 and type(select.expressions[0]).__name__ == "Star":
            return tuple(found.items())
        shown: list[tuple[str, Expr]] = []
        lower = {name.lower(): name for name in found}
        for each in select.expressions:
            inner, name = (each.this, each.alias) if type(each).__name__ == "Alias" else (each, each.alias_or_name)
            if type(inner).__name__ == "Column" and type(inner.this).__name__ == "Star":
                shown += found.items()
                continue
            value = lower.get(inner.name.lower()) if type(inner).__name__ == "Column" else None
            if value is None and type(inner).__name__ == "Column" and inner.name.lower() in {field.lower() for field in key}:
                continue  # the key comes with each match
            if value is None and every and type(inner).__name__ == "Column" and inner.name.lower() == self._le:
                continue  # as the LE of the row
            if value is None:
                raise RefusedError(
                    f"expected * or names of MEASURES{' and columns' * every} in SELECT but got {each.sql()!r}; they are: "
                    f"{', '.join(found) or 'none'}",
                    place_of(each),
                )
            shown.append((name, found[value]))
        return tuple(shown)

    def _columns(self, key: tuple[str, ...]) -> tuple[dict[str, Expr], dict[str, Expr]]:
        """Return the columns of ORDER BY, and all others but the key, which comes with each row."""
        names = [name for name in self._kinds if name not in key]
        values = {name: Ref("", "last", name) for name in names}
        ordered = [name for name in (self._time, self._order_column) if name is not None]
        return {name: values[name] for name in ordered if name in values}, {n: v for n, v in values.items() if n not in ordered}

    def _skip(self, clause: Any, pattern: Pattern) -> str:
        if clause is None:
            return "past last row"
        text = str(clause.this)
        found = SKIPS.match(text.strip())
        place = self._found("AFTER")
        if not found:
            raise RefusedError(
                f"expected AFTER MATCH SKIP PAST LAST ROW, TO NEXT ROW, TO FIRST v or TO LAST v but got {text}", place
            )
        if found[1]:
            return "past last row"
        if re.match(r"NEXT\s", found[2], re.IGNORECASE):
            return "to next row"
        which, written = (found[3] or "LAST").lower(), found[4] or found[5]
        name = self._names.get(written.strip('"').lower())
        if name is None or name not in self._variables:
            raise RefusedError(f"expected a variable of the pattern in AFTER MATCH SKIP but got {written!r}", place)
        if all(self._variables[each].least == 0 for each in self._variables[name].members) and (
            which == "first" or self._variables[name].one
        ):
            raise RefusedError(
                f"expected a variable that does not begin the match in AFTER MATCH SKIP but got {written!r}: the same match would "
                f"be found for ever; write SKIP TO NEXT ROW",
                place,
            )
        return f"to {which} {name}"
