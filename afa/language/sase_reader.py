"""SASE+ text -> tree. Untrusted text: its length and nesting are bounded, nothing in it is evaluated.

    PATTERN SEQ(Shelf a, ~(Register n), Exit c)
    WHERE skip_till_next_match(a, n, c) { [tag_id] and c.place != a.place }
    WITHIN 12 hours
    RETURN a.place, c.place AS exit

Source: Agrawal, Diao, Gyllstrom, Immerman, SIGMOD 2008, and Zhang, Diao, Immerman, SIGMOD 2014.
"""

from __future__ import annotations

import keyword
from typing import Any, NamedTuple

from afa.errors import QueryError
from afa.expression.functions import FUNCTIONS
from afa.expression.nodes import Expr
from afa.expression.translate import BUILTINS
from afa.language.conjuncts import MisplacedError, SlotPredicate, filled, filled_component, place, places, returned, same
from afa.language.neighbours import with_neighbours
from afa.language.pattern import ANY, NEXT, PARTITION, STRICT, Component, Pattern, Tree, gaps_of
from afa.language.return_names import named
from afa.language.sase_expressions import BESIDE, Attributes, SaseExpressionReader, WrittenExpression
from afa.language.sase_grammar import RefusedError, query_error, read_frame
from afa.language.sase_pattern import PatternReader, TypeNames
from afa.language.sase_returns import is_call, name_and_value, several, split
from afa.language.terms import AGGREGATES
from afa.schema import Schema
from punctuation.durations import ticks

STRATEGIES = {
    "strict_contiguity": STRICT, "partition_contiguity": PARTITION, "skip_till_next_match": NEXT, "skip_till_any_match": ANY,
}  # fmt: skip


def read_sase(text: str, event: type, *, tick: str | None = None, type: str | None = None, order: str | None = None) -> Tree:
    """Read a query in SASE+; `afa.language.query.query` says what each of these means.

    ``tick`` is needed where the text names units of time; ``type`` None is the field ``type``, if there is one. A QueryError has
    line, column, what was expected, what came, and a way out.

    >>> from typing import NamedTuple
    >>> class Stock(NamedTuple):
    ...     price: float
    >>> tree = read_sase("PATTERN SEQ(Stock a, Stock b) WHERE b.price > 2 * a.price WITHIN 10", Stock)
    >>> tree.window, tree.pattern.items[1].where
    (10, (Compare(op='>', left=FieldRead(side='e', name='price'), right=Binary(op='*', left=Const(value=2), \
right=Ref(component='a', which='one', field='price', back=0))),))
    """
    if not isinstance(text, str):
        raise QueryError(f"expected a query as text (str) but got {text!r}")
    schema = Schema.of(event, "event")
    column = _column("type", type, schema, str) or ("type" if type is None and _text_field(schema, "type") else None)
    try:
        return _SaseText(text, schema, column, tick, _column("order", order, schema, None)).tree()
    except RefusedError as refused:
        raise query_error(text, refused) from None


def _column(what: str, name: str | None, schema: Schema, kind: type | None) -> str | None:
    """Return the name of a field that a parameter names."""
    found = next((field for field in schema.fields if field.name == name), None)
    if name is not None and (found is None or (kind is not None and found.type is not kind)):
        known = ", ".join(field.name for field in schema.fields if kind is None or field.type is kind) or "none"
        kind_ = "a field" if kind is None else f"a {kind.__name__} field"
        raise QueryError(f"expected {kind_} of {schema.cls.__name__} but got {what}={name!r}; such fields: {known}")
    return name


def _text_field(schema: Schema, name: str) -> bool:
    return any(field.name == name and field.type is str for field in schema.fields)


class _Clause(NamedTuple):
    """WHERE: the strategy, where it stands, the components it names, the conditions."""

    strategy: str
    position: int
    names: list[Any]
    tokens: list[Any]


class _SaseText:
    """One reading of one text."""

    def __init__(self, text: str, schema: Schema, column: str | None, tick: str | None, order: str | None) -> None:
        self.text, self.schema, self.column, self.tick, self.order = text, schema, column, tick, order

    def tree(self) -> Tree:
        """Return the tree."""
        frame: Any = read_frame(self.text)
        parts = [each for each in frame.children if hasattr(each, "data")]
        clauses = {each.data: each.children[1:] for each in parts}
        elements = [each for each in parts if each.data in ("component", "negation", "group")]
        clause = self.where(_tokens(clauses.get("where", [])))
        pattern_reader = PatternReader(TypeNames(self.schema.cls.__name__, self.column), clause.strategy)
        pattern, before, after = pattern_reader.read(elements)
        self.places = places(pattern, before, after)
        self.check_names(pattern_reader, clause)
        self.reader = SaseExpressionReader(self.schema, self.places, self.tick)
        placed, key = self.conditions(clause, pattern, before, after, pattern_reader.arrows)
        payload, returns = self.returns(_tokens(clauses.get("returns", [])))
        tree = Tree(
            filled(pattern, placed),
            self.schema.cls,
            self.column,
            key,
            self.order,
            self.window(clauses.get("within")),
            tuple(filled_component(each, placed) for each in before),
            tuple(filled_component(each, placed) for each in after),
            returns,
            payload,
            bare=None in (clauses.get("within") or [])[1::2],
        )
        return with_neighbours(tree)

    # -- WHERE ---------------------------------------------------------------------------------------------------------------

    def where(self, tokens: list[Any]) -> _Clause:
        """Take the strategy off the conditions."""
        if not tokens:
            return _Clause(NEXT, 0, [], [])
        first = tokens[0]
        called = len(tokens) > 1 and tokens[1].type == "LPAR"
        close = next((i for i, token in enumerate(tokens) if token.type == "RPAR"), 0) if called else 0
        braced = close + 1 < len(tokens) and tokens[close + 1].type == "LBRACE"
        strategy = STRATEGIES.get(str(first).lower())
        if first.type == "LBRACE":
            return _Clause(NEXT, 0, [], self.braces(tokens, first))
        if strategy is None and (first.type == "STRATEGY" or (first.type == "NAME" and braced and (called or close == 0))):
            raise RefusedError(f"expected a strategy but got {str(first)!r}; strategies: {', '.join(STRATEGIES)}", first.start_pos)
        if strategy is None:
            return _Clause(NEXT, 0, [], tokens)
        if not braced:
            hint = f"write {first}(a, b[]) {{ .. }}"
            raise RefusedError(f"expected conditions in braces behind the strategy but got none; {hint}", first.start_pos)
        names = [token for token in tokens[2:close] if token.type not in ("COMMA", "EMPTY")]
        for token in names:
            if token.type != "NAME":
                raise RefusedError(f"expected names of components but got {str(token)!r}; write {first}(a, b[])", token.start_pos)
        return _Clause(strategy, first.start_pos, names, self.braces(tokens[close + 1 :], first))

    @staticmethod
    def braces(tokens: list[Any], first: Any) -> list[Any]:
        """Returns the tokens between the first brace and the last."""
        depth = 0
        for i, token in enumerate(tokens):
            depth += {"LBRACE": 1, "RBRACE": -1}.get(token.type, 0)
            if depth == 0 and i + 1 < len(tokens):
                hint = "all conditions stand within the braces"
                raise RefusedError(
                    f"expected WITHIN, RETURN or the end behind }} but got {str(tokens[i + 1])!r}; {hint}", tokens[i + 1].start_pos
                )
        if depth:
            raise RefusedError("expected '}' but got the end of the conditions; close the brace", tokens[0].start_pos)
        return tokens[1:-1]

    def check_names(self, pattern: PatternReader, clause: _Clause) -> None:
        """Refuse [] behind a component that takes one event, and a strategy of other components than the pattern's."""
        for name, position in pattern.brackets.items():
            if not self.places[name].many:
                hint = f"write Type+ {name}[], or {name}"
                raise RefusedError(f"expected '{name}' but got '{name}[]', as it takes at most one event; {hint}", position)
        known = ", ".join(self.places)
        for token in clause.names:
            if str(token) not in self.places:
                raise RefusedError(f"expected a component but got {str(token)!r}; the components: {known}", token.start_pos)
        missing = [name for name, place in self.places.items() if not place.absent and name not in map(str, clause.names)]
        if clause.names and missing:
            hint = "a strategy between two neighbours alone is written in PATTERN: A a =>any B b"
            raise RefusedError(f"expected all components in the strategy but got none for {missing[0]}; {hint}", clause.position)

    def conditions(
        self, clause: _Clause, pattern: Pattern, before: tuple[Component, ...], after: tuple[Component, ...], arrows: dict[str, int]
    ) -> tuple[list[SlotPredicate], tuple[str, ...]]:
        """Return the predicates, each at its component, and the key."""
        strategies = {gap.strategy for gap in gaps_of(pattern)} or {clause.strategy}
        placed: list[SlotPredicate] = []
        key: list[str] = []
        found = self.reader.conjuncts(clause.tokens) if clause.tokens else []
        for conjunct in found:
            if isinstance(conjunct, WrittenExpression):
                placed.append(self.placed(conjunct))
            elif STRICT not in strategies:
                key += [name for name in conjunct.names if name not in key]
            elif PARTITION in strategies:
                hint = f"strict means the whole stream, partition that of one {conjunct.names[0]}; write =>partition"
                raise RefusedError(
                    f"expected one contiguity but got strict and partition; {hint}", arrows.get(STRICT, clause.position)
                )
            else:
                placed += self.equal(conjunct, pattern, before)
        if PARTITION in strategies and not key:
            hint = "write what the partitions are: [symbol], or strict_contiguity"
            raise RefusedError(
                f"expected [..] with partition contiguity but got none; {hint}", arrows.get(PARTITION, clause.position)
            )
        return placed, tuple(key)

    def placed(self, written: WrittenExpression) -> SlotPredicate:
        """Place one conjunct."""
        try:
            return place(written.expr, self.places)
        except MisplacedError as error:
            raise _placed_wrong(error, written) from None

    def equal(self, attributes: Attributes, pattern: Pattern, before: tuple[Component, ...]) -> list[SlotPredicate]:
        """``[attr]`` under strict contiguity: a condition like others."""
        if before:
            message = f"expected no negation at the start with [..] and strict contiguity but got {before[0].name}"
            raise RefusedError(f"{message}; use partition_contiguity", attributes.position)
        try:
            return [each for name in attributes.names for each in same(name, pattern, self.places)]
        except MisplacedError as error:
            raise RefusedError(str(error), attributes.position) from None

    # -- WITHIN, RETURN ------------------------------------------------------------------------------------------------------

    def window(self, tokens: list[Any] | None) -> int | None:
        """Return the window in ticks."""
        if tokens is None:
            return None
        pairs: list[tuple[str, str | None]] = []
        for number, unit in zip(tokens[::2], tokens[1::2]):
            pairs.append((str(number), None if unit is None else str(unit)))
        try:
            return ticks(pairs, self.tick, QueryError)
        except QueryError as error:
            wrong = next((unit for unit in tokens[1::2] if unit is not None and repr(str(unit)) in str(error)), tokens[0])
            raise RefusedError(str(error), wrong.start_pos) from None

    def returns(self, tokens: list[Any]) -> tuple[str, tuple[tuple[str, Expr], ...]]:
        """Return the name of the payload, and names and values of RETURN."""
        payload = "Match"
        if is_call(tokens) and not self.is_function(str(tokens[0])):
            payload, tokens = str(tokens[0]), tokens[2:-1]
            if payload.startswith("_") or keyword.iskeyword(payload):
                raise RefusedError(f"expected a name of what is returned but got {payload!r}; choose another", tokens[0].start_pos)
        items: list[tuple[str | None, Expr, int]] = []
        for item in split(tokens):
            name, value = name_and_value(item)
            for each in several(value):
                written = self.reader.value_of(each)
                try:
                    found = returned(written.expr, self.places)
                except MisplacedError as error:
                    raise _placed_wrong(error, written) from None
                items.append((None if name is None else str(name), found, (name if name is not None else each[0]).start_pos))
        given = named([(name, expr) for name, expr, _ in items])
        for k, (name, _) in enumerate(given):
            if name in [earlier for earlier, _ in given[:k]]:
                hint = "tell them apart: AS name"
                raise RefusedError(f"expected a name of its own for each value but got {name!r} twice; {hint}", items[k][2])
            if name.startswith("_") or keyword.iskeyword(name):
                hint = "choose one that begins with a letter and is no Python keyword"
                raise RefusedError(f"expected a name for a value but got {name!r}; {hint}", items[k][2])
        return payload, tuple(given)

    def is_function(self, name: str) -> bool:
        """Return whether a name in front of a parenthesis is a function of values."""
        return name in FUNCTIONS or name.lower() in (*BUILTINS, *AGGREGATES, *BESIDE, "lag")


def _placed_wrong(error: MisplacedError, written: WrittenExpression) -> RefusedError:
    """Return the error at the term that has no meaning where it stands."""
    return RefusedError(str(error), written.position if error.term is None else written.terms.get(error.term, written.position))


def _tokens(children: list[Any]) -> list[Any]:
    """Return tokens in a row, those of ``.name`` among them."""
    found: list[Any] = []
    for child in children:
        found.extend(getattr(child, "children", [child]))
    return found
