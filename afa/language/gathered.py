"""COUNT(DISTINCT), ARRAY_AGG and LISTAGG of SQL: values over all rows of a match, made where it leaves.

the automaton    shows each row of a match, with the terms that values read, as of it, and what aggregates gather of it
`GatheredRows`   makes of the rows of a match what leaves: one row, or each with its values

So no register holds what grows with a match.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from afa.errors import AfaError, BudgetError
from afa.expression.evaluation import evaluate
from afa.expression.nodes import Const, Expr, FieldRead, If, IsNone, changed, walk
from afa.expression.types import NONE, types_of
from afa.language.items import of_one_type
from afa.language.lowering import times_among
from afa.language.pattern import Tree
from afa.language.payload_classes import made
from afa.language.terms import Aggregate, Classifier, Final, ListAggregate, MatchNumber, OfMatch, Ref
from afa.language.three_values import missing, nullable, true
from afa.schema import Schema

MOST = 10_000_000
"""So many values all rows of a match (ALL ROWS) may show in one array or text at the most."""
ROWS = Aggregate("", "count")
"""How many rows a match has taken."""
Row = tuple[Any, int, int]
"""The payload of a row of a match, LE and RE."""


def nodes_in(tree: Tree) -> list[Expr]:
    """Return all parts of what a tree shows, and asks of it."""
    values = [value for _, value in tree.returns or ()] + ([] if tree.asked is None else [tree.asked])
    return list(dict.fromkeys(node for value in values for node in walk(value)))


class GatheredTerms(NamedTuple):
    """What leaves of a query whose values are made of all rows of a match."""

    tree: Tree  # the query
    gathered: tuple[ListAggregate, ...]
    lacks: bool  # whether some rows are of no match

    @property
    def said(self) -> str:
        """The aggregates, in words."""
        words = {"distinct": "COUNT(DISTINCT ..)", "array": "ARRAY_AGG", "text": "LISTAGG"}
        return ", ".join(dict.fromkeys(words[each.function] for each in self.gathered))

    def asked(self) -> list[Expr]:
        """Return the terms that the automaton shows of each row."""
        found: list[Expr] = [ROWS]
        found += [Classifier()] if any(each.component for each in self.gathered) else []
        for each in self.gathered:
            found += [Ref(each.component, "last", field) for field in (each.field, each.only) if field is not None]
        return list(
            dict.fromkeys([*found, *(node for node in nodes_in(self.tree) if isinstance(node, Ref | Aggregate | Classifier))])
        )


class GatheredRows:
    """Makes of the rows of a match what leaves."""

    def __init__(self, of: GatheredTerms, fields: Mapping[Expr, str], matches: Schema) -> None:
        tree, self._gathered, self._every = of.tree, of.gathered, of.tree.rows is not None
        place = {field.name: i for i, field in enumerate(matches.fields)}
        self._place = {term: place[name] for term, name in fields.items() if name in place}
        groups = {name: frozenset(members) for name, members in tree.subsets}
        self._members = {each: groups.get(each.component, frozenset([each.component])) for each in of.gathered}
        types = {field.name: field.type for field in matches.fields}
        kinds: dict[Expr, Any] = {MatchNumber(): int}
        for each in of.gathered:
            name = fields[Ref(each.component, "last", each.field)]
            if each.function == "array" and name in matches.times:
                raise AfaError(
                    f"expected values that are no times in ARRAY_AGG but got {each.field}: no column holds arrays of them"
                )
            item = types[name]
            kinds[each] = {"distinct": int, "text": str, "array": item and list[item]}[each.function]  # type: ignore[valid-type]
        names = {term: f"made_{i}" for i, term in enumerate(kinds)}
        more = tuple((names[term], kind, True) for term, kind in kinds.items())
        self._terms = made("Terms", (*((f.name, f.type, f.optional) for f in matches.fields), *more))
        schema = Schema.of(self._terms, "match")
        named = {**fields, **names}
        reads: dict[Expr, Expr] = {term: FieldRead("r", name) for term, name in named.items()}
        reads |= {Final(term): FieldRead("e", name) for term, name in named.items()}
        sure = {names[each] for each in kinds if each == MatchNumber() or (isinstance(each, ListAggregate) and _counts(each))}
        lacks = {field.name for field in schema.fields if field.optional} - (set() if of.lacks else sure)

        def absent(leaf: Expr) -> bool:
            return isinstance(leaf, FieldRead) and leaf.name in lacks

        def of_terms(node: Expr) -> Expr | None:
            if not isinstance(node, OfMatch):
                return reads.get(node)
            return If(IsNone(reads[MatchNumber()]), Const(None), changed(node.x, of_terms))  # of a row that no match holds

        self._values, shown = list[tuple[str, Expr]](), list[tuple[str, Any, bool]]()
        for label, value in tree.returns or ():
            read = changed(value, of_terms)
            found = types_of(read, schema, schema) - {NONE}
            kind, read = of_one_type(read, found)
            kind = kind if kind is not None or len(found) != 1 else next(iter(found))
            shown.append((label, kind, missing(read, absent) is not None))
            self._values.append((label, nullable(read, absent)))
        self._where = None if tree.asked is None else true(changed(tree.asked, of_terms), absent)
        self.shown = made(tree.payload, tuple(shown), *times_among(self._values, tree, matches))
        self._take = Schema.of(self.shown, "match").take
        asked = [value for _, value in self._values] + ([] if self._where is None else [self._where])
        running = {node.name for value in asked for node in walk(value) if isinstance(node, FieldRead) and node.side == "r"}
        self._last = frozenset(each for each in of.gathered if not self._every or names[each] not in running)

    def of(self, rows: Sequence[Row], number: int | None) -> Iterator[tuple[Row, Any]]:
        """Yield the rows of a match that leave, and what each shows; ``number``: of the match, None of a row that none holds."""
        rows = sorted(rows, key=lambda row: row[0][self._place[ROWS]])
        payloads = [row[0] for row in rows]
        columns = [self._column(each, payloads, number) for each in self._gathered]
        last = self._terms(*payloads[-1], number, *(column[-1] for column in columns))
        first = 0 if self._every else len(rows) - 1
        for i in range(first, len(rows)):
            row = self._terms(*payloads[i], number, *(column[i] for column in columns))
            if self._where is None or evaluate(self._where, last, row):
                yield rows[i], self._take(self.shown(*(evaluate(value, last, row) for _, value in self._values)))

    def _column(self, of: ListAggregate, payloads: Sequence[Any], number: int | None) -> list[Any]:
        """Return a value as of each row; only as of the last one, where no other is asked."""
        if number is None:
            return [None] * len(payloads)
        count, name = self._place[ROWS], self._place.get(Classifier(), 0)
        field = self._place[Ref(of.component, "last", of.field)]
        only = None if of.only is None else self._place[Ref(of.component, "last", of.only)]
        members, once, size, found = self._members[of], of in self._last, 0, list[Any]()
        values: set[Any] | list[Any] = set() if of.function == "distinct" else []
        add = values.add if isinstance(values, set) else values.append
        for payload in payloads:
            taken = payload[count] and (not of.component or payload[name] in members)
            value = payload[field]
            if taken and (value is not None or not of.skips) and (only is None or payload[only]):
                add(value)
            if not once:
                size += len(values)
                self._bounded(of, size, len(payloads))
                found.append(_told(of, values))
        self._bounded(of, len(values) * len(payloads) if once and self._every else 0, len(payloads))
        return [*[None] * (len(payloads) - 1), _told(of, values)] if once else found

    def _bounded(self, of: ListAggregate, size: int, rows: int) -> None:
        if size > MOST and of.function != "distinct":
            raise BudgetError(
                f"expected at most {MOST:,} values in what the rows of a match show of ARRAY_AGG or LISTAGG but got more, "
                f"of one of {rows:,} rows; ONE ROW PER MATCH shows them once"
            )


def _counts(of: ListAggregate) -> bool:
    return of.function == "distinct" or of.empty


def _told(of: ListAggregate, values: Any) -> Any:
    if of.function == "distinct":
        return len(values)
    if not values and not of.empty:
        return None
    return tuple(values) if of.function == "array" else of.separator.join(values)
