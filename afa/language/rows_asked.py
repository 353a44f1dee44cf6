"""What the rows of a match show (ALL ROWS PER MATCH): values as of each row, with what the match has taken up to there.

    FIRST(a.x)     of what a has taken so far; SUM(a.x), COUNT(*), LAST(a.x) likewise; x alone is the row's
    FINAL SUM(x)   as it is at the end of the match

The measures tell all but the last kind as if the match ended with each row. For a value with FINAL they tell its terms, and another
arc makes it of those of the last row and those of the row. Source: ISO/IEC 19075-5, 4.4 (running and final semantics).
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from afa.expression.nodes import Binary, Const, Expr, FieldRead, If, IsNone, Make, changed, walk
from afa.expression.text import text_of_expr
from afa.expression.types import types_of
from afa.language.items import ZEROS, of_one_type
from afa.language.lowering import Lowered, take_arc, times_among
from afa.language.pattern import UNMATCHED, Component, Pattern, Tree, rebuilt
from afa.language.payload_classes import made
from afa.language.positions import Positions
from afa.language.terms import OF_ROW, Aggregate, Classifier, Final, OfMatch, Ref
from afa.language.three_values import missing, nullable
from afa.model.choice import Rows
from afa.schema import Schema


def rows_shown(tree: Tree, lowered: Lowered) -> tuple[Lowered, Rows]:
    """Returns the measures of the rows of a query's matches, lowered, and what these show."""
    returned = tree.returns or ()
    for _, value in returned:
        lowered.reader.read(value)  # refuses names that are none
    values = {label: changed(value, _divided) for label, value in returned}
    final = {label: value for label, value in values.items() if any(isinstance(node, Final) for node in walk(value))}
    of_none = UNMATCHED in lowered.reader.groups
    counted = [Aggregate("", "count")] if of_none else []
    read_by = [node for value in values.values() for node in walk(value) if isinstance(node, TERMS)]
    terms = list(dict.fromkeys([*read_by, *counted]))
    kinds = lowered.reader.types
    names = {
        term: next(f"t{i}{'_' * n}" for n in itertools.count() if f"t{i}{'_' * n}" not in values) for i, term in enumerate(terms)
    }
    row = OF_ROW if OF_ROW in lowered.reader.groups else ""
    types = tuple((name, _type_of(term, kinds), _absent(term, kinds, row, of_none)) for term, name in names.items())
    schema = Schema.of(made("Terms", types), "register")
    fields: dict[Expr, Expr] = {term: FieldRead("r", name) for term, name in names.items()}
    fields |= {Final(term): FieldRead("e", names[term]) for term in terms}
    absent = {FieldRead(side, name) for name, _, optional in types if optional for side in "er"}.__contains__

    def of_terms(node: Expr) -> Expr | None:
        if not isinstance(node, OfMatch):
            return fields.get(node)
        return If(IsNone(fields[counted[0]]), Const(None), changed(node.x, of_terms))  # which is None where no match holds the row

    optional, made_last, returns = [], {}, []
    for label, value in values.items():
        told = changed(value, of_terms)
        kind, told = of_one_type(told, types_of(told, schema, schema))
        optional += [label] if missing(told, absent) is not None else []
        if label in final:
            made_last[label] = nullable(told, absent)
        returns.append((label, value if label not in final else Const(ZEROS.get(kind))))
    read = {node.x if isinstance(node, Final) else node for value in final.values() for node in walk(value)}
    read |= set(counted if final else ())
    returns += [(names[term], term) for term in terms if term in read]
    optional += [names[term] for term in terms if term in read and _absent(term, kinds, row, of_none)]
    bare = replace(tree, skip=None, rows=None, returns=tuple(returns))
    measures = Lowered(bare, asks=False, each_row=optional)
    slots = measures.registers.slots
    items = tuple(made_last.get(slot.name, FieldRead("r", slot.name)) for slot in slots)
    finish = take_arc("row", "row", "True", text_of_expr(Make(items), measures.registers.schema), "") if final else None
    times = times_among(returned, tree, lowered.event)
    shown = made(tree.payload, tuple((s.name, s.type, s.optional) for s in slots[: len(values)]), *times)
    hidden = [i for i, component in enumerate(_components(tree.pattern)) if component in (tree.rows or ())]
    return measures, Rows(Schema.of(shown, "row"), frozenset(hidden), repr(_alike(tree)), finish)


TERMS = Ref | Aggregate | Classifier


def _type_of(term: Expr, kinds: dict[str, Any]) -> type | None:
    match term:
        case Classifier():
            return str
        case Aggregate(_, "count"):
            return int
        case Aggregate(_, "sum", str(field)) if kinds[field].type is bool:
            return int
    found: type | None = kinds[term.field].type  # type: ignore[attr-defined]
    return found


def _absent(term: Expr, kinds: dict[str, Any], row: str, of_none: bool) -> bool:
    """Return whether a term may be None in some row; ``row``: the component that has taken each, ``of_none``: or no match has."""
    match term:
        case Aggregate(_, "count"):
            return of_none
        case Classifier():
            return row != ""
        case Ref(component, _, field, 0) | Aggregate(component, _, str(field), by=None) if component == row:
            found: bool = kinds[field].optional
            return found
    return True


def _divided(expr: Expr) -> Expr | None:
    """Return an average as a quotient."""
    inner = expr.x if isinstance(expr, Final) else expr
    if not isinstance(inner, Aggregate) or inner.function != "avg":
        return None
    parts = [Aggregate(inner.component, function, inner.field) for function in ("sum", "count")]
    return Binary("/", *(Final(part) if isinstance(expr, Final) else part for part in parts))


def _components(pattern: Pattern) -> list[int]:
    """Returns which component of a pattern each of its positions is, as a repetition writes out copies."""
    number = itertools.count()
    numbered = rebuilt(pattern, lambda _: Component(str(next(number))))
    return [int(each.name) for each in Positions.of(numbered).components]


def _alike(tree: Tree) -> Any:
    """Returns the parts of a query that a running operator can't change: the values of rows, the pattern without conditions."""
    bare = rebuilt(tree.pattern, lambda component: Component(component.name))
    return tree.rows, tree.returns, tree.subsets, bare
