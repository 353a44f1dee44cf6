"""What leaves in place of the matches that an automaton shows: with their numbers (MATCH_NUMBER), and those of which WHERE holds.

measures     what the automaton shows: the values of the query that read no number of the match, where WHERE holds; behind them,
             hidden, what the stage asks of a match: where it starts, whether WHERE holds, the terms of all other values
MatchNumbers puts the numbers and what reads them in their places, leaves out what WHERE does not want, drops the hidden values
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from afa.errors import AfaError, blame
from afa.expression.evaluation import evaluate
from afa.expression.nodes import Compare, Const, Expr, FieldRead, If, IsNone, changed, walk
from afa.language.gathered import GatheredRows, GatheredTerms, nodes_in
from afa.language.items import of_match
from afa.language.pattern import NO_ROW, UNMATCHED, Component, Either, Pattern, Seq, Tree, components_of
from afa.language.payload_classes import made
from afa.language.terms import OF_ROW, Aggregate, Classifier, Final, ListAggregate, MatchNumber, OfMatch, Ref, Unseen
from afa.language.three_values import nullable, true
from afa.model.choice import PAST
from afa.model.event_order import EventOrder, OrderColumn, is_list
from afa.schema import Schema
from speculation.match_numbers import MatchNumbers, ShownMatches

NUMBER = FieldRead("e", "number")


class _Numbered(NamedTuple):
    """What values that read the number of a match read it of."""

    number: int | None  # None: of a row that no match holds


class AnswerPlan(NamedTuple):
    """What a tree asks of an automaton, and of the stage behind its operator."""

    tree: Tree  # what the automaton shows
    size: int  # the first values of it leave
    start: str | None  # the hidden value that holds the LE of the first row of a match; None: its lifetime tells it
    order: tuple[str, ...]  # those that hold what orders first rows of one LE; last rows where the LE of a match orders it
    columns: tuple[OrderColumn, ...]  # how they order, where these are a list
    asked: str | None  # the one that says whether WHERE holds
    numbers: tuple[int, ...]  # the values that are the number of the match
    late: tuple[tuple[int, Expr], ...] = ()  # values that read it, or stand beside a WHERE that does, over it and hidden values
    where: Expr | None = None  # WHERE, where that reads it
    distinct: bool = False  # whether rows that agree in all that leaves are one
    counted: str | None = None  # the hidden value that is 0 of rows that no match holds; None: there are none such
    gathered: GatheredTerms | None = None  # what leaves is made of all rows of a match, which the automaton shows
    hidden: tuple[tuple[Expr, str], ...] = ()  # for that, the values that hold terms

    @property
    def said(self) -> str:
        """All that decides what leaves, beside what the automaton shows."""
        whole = None if self.gathered is None else (self.gathered.tree.returns, self.gathered.tree.asked, self.gathered.tree.rows)
        return repr((self.size, self.numbers, self.late, self.where, self.distinct, *([whole] if whole else ())))

    @property
    def costs(self) -> tuple[str, ...]:
        """Return what numbers, DISTINCT and values over all rows cost, in words; nothing where there are none."""
        never = self.tree.window is None
        held = "; without WITHIN each match is held for that, until the last watermark" if never else ""
        renumbers = "MATCH_NUMBER: a match that comes late, goes or moves renumbers those of its key behind it, which leave again"
        kept = f"DISTINCT: of each row it is held how many matches show it, until {'the last' if never else 'a'} watermark"
        found = [renumbers + held] if self.reads_numbers else []
        if self.gathered is not None:
            again = "; each row by which a match grows makes its values anew, from all of its rows"
            found.append(f"{self.gathered.said}: all rows of a match are held behind the operator until it is final{again}{held}")
        return (*found, *([kept] if self.distinct else []))

    @property
    def reads_numbers(self) -> bool:
        """Whether values, or WHERE, read the number of a match."""
        if self.gathered is not None:
            return MatchNumber() in nodes_in(self.gathered.tree)
        return bool(self.numbers or self.late or self.where)

    def shown(self, matches: Schema) -> Schema:
        """Return what leaves, of what the automaton shows."""
        if self.gathered is not None:
            return Schema.of(GatheredRows(self.gathered, dict(self.hidden), matches).shown, "match")
        fields = matches.fields[: self.size]
        times = tuple(name for name in matches.times if name in {field.name for field in fields})
        cls = made(self.tree.payload, tuple((field.name, field.type, field.optional) for field in fields), times)
        return Schema.of(cls, "match")

    def stage(self, matches: Schema) -> MatchNumbers:
        """Make the stage, which has taken nothing yet."""
        places: dict[str | None, int] = {field.name: i for i, field in enumerate(matches.fields)}
        shown = self.shown(matches).cls
        numbered = self.late or self.where is not None or (self.counted and self.gathered is None)
        late = _Late(self, matches, shown).of if numbered else None
        whole = None if self.gathered is None else GatheredRows(self.gathered, dict(self.hidden), matches).of
        order = tuple(places[name] for name in self.order)
        start, asked, counted = (places.get(name) for name in (self.start, self.asked, self.counted))
        of = ShownMatches(
            shown,
            self.numbers,
            self.tree.window,
            start,
            order,
            tuple(column.piece for column in self.columns),
            self.tree.ranked_by is not None,
            asked,
            counted,
            late,
            self.distinct,
            self.said,
            whole,
            self.reads_numbers,
        )
        return MatchNumbers(of, matches)


class _Late:
    """What leaves of a match where values, or WHERE, read its number."""

    def __init__(self, plan: AnswerPlan, matches: Schema, shown: Any) -> None:
        optional: set[Expr] = {FieldRead("r", field.name) for field in matches.fields if field.optional}
        optional |= {NUMBER} if plan.counted else set()
        self._size, self._shown = plan.size, shown
        self._values: list[tuple[int, Expr, Any]] = [(place, NUMBER, None) for place in plan.numbers]
        self._values += [(place, nullable(value, optional.__contains__), matches.fields[place].type) for place, value in plan.late]
        self._where = None if plan.where is None else true(plan.where, optional.__contains__)

    def of(self, payload: Any, number: int | None) -> Any:
        numbered = _Numbered(number)
        if self._where is not None and not self._evaluated("WHERE", self._where, numbered, payload):
            return None
        items = list(payload[: self._size])
        for place, value, kind in self._values:
            found = self._evaluated(self._shown._fields[place], value, numbered, payload)
            items[place] = found if found is None or kind is None else kind(found)
        return self._shown(*items)

    def _evaluated(self, name: str, value: Expr, numbered: _Numbered, payload: Any) -> Any:
        try:
            return evaluate(value, numbered, payload)
        except Exception as error:
            blame(error, f"{name} of match number {numbered.number}")
            raise


def answer_plan(tree: Tree) -> AnswerPlan | None:
    """Return what a tree asks of a stage behind the operator; None: what its automaton shows leaves.

    Raises `AfaError` where it numbers matches, and these can't be told apart.
    """
    shown = tree.returns or ()
    numbers = tuple(i for i, (_, value) in enumerate(shown) if value == MatchNumber())
    where = tree.asked if tree.asked is not None and _reads_number(tree.asked) else None
    composed = {i: value for i, (_, value) in enumerate(shown) if not isinstance(of_match(value), TERMS | Const | MatchNumber)}
    late = {i: value for i, value in composed.items() if where is not None or _reads_number(value)}
    gathered = tuple(node for node in nodes_in(tree) if isinstance(node, ListAggregate))
    if tree.asked is None and not tree.distinct and not numbers and not late and not gathered:
        return None
    shows_rows = tree if not gathered else replace(tree, rows=())  # of which the stage makes what leaves
    names = _free_names({name for name, _ in shown})
    hidden: dict[Expr, str] = {}
    start = asked = counted = None
    order: tuple[str, ...] = ()
    columns: tuple[OrderColumn, ...] = ()
    if numbers or late or where is not None or gathered:
        _check(shows_rows, tree)
        ranked = tree.rank or tree.ranked_by
        time = None if tree.window is not None or ranked is not None else _time_of(shows_rows)
        said = ranked or tree.order
        columns = EventOrder.of(said, Schema.of(tree.event, "event")).columns if is_list(said) else ()
        fields = [column.field.name for column in columns] or ([] if said is None else [said])
        end = "last" if tree.window is None and ranked is None and time is None else "first"  # of a match whose own LE orders it
        first = {name: hidden.setdefault(_of_row(tree, end, name), next(names)) for name in ([time] if time else []) + fields}
        start, order = first.get(time or ""), tuple(first[name] for name in fields)
        if any(component.name == UNMATCHED for component in components_of(tree.pattern)):
            counted = hidden.setdefault(ROWS, next(names))
    if gathered:
        terms_of = GatheredTerms(tree, gathered, counted is not None)
        for term in terms_of.asked():
            hidden.get(term) or hidden.setdefault(term, next(names))
        shows = replace(shows_rows, asked=None, distinct=False, returns=tuple((name, value) for value, name in hidden.items()))
        plan = AnswerPlan(shows, 0, start, order, columns, None, (), distinct=tree.distinct, counted=counted)
        return plan._replace(gathered=terms_of, hidden=tuple(hidden.items()))
    if tree.asked is not None and where is None:
        asked = hidden.setdefault(If(tree.asked, Const(True), Const(False)), next(names))
    terms = (node for value in (*late.values(), *([] if where is None else [where])) for node in _terms(value))
    for term in terms:
        hidden.get(term) or hidden.setdefault(term, next(names))

    def read(node: Expr) -> Expr | None:
        if isinstance(node, OfMatch):  # a row has no number where no match holds it
            return If(IsNone(NUMBER), Const(None), changed(node.x, read))
        return NUMBER if node == MatchNumber() else FieldRead("r", hidden[node]) if isinstance(node, TERMS) else None

    number = Const(1) if counted is None else If(Compare("==", ROWS, Const(0)), Const(None), Const(1))

    def value_of(i: int, value: Expr) -> Expr:
        """Return a value as the automaton shows it: only where it is seen, and without what reads the number of the match."""
        if i in late or i in numbers:
            found = changed(value, lambda node: number if isinstance(node, MatchNumber) else None)
            return If(Compare("<", ROWS, Const(0)), found, Unseen(None)) if i in late else found
        return value if tree.asked is None or where is not None or i not in composed else If(tree.asked, value, Unseen(None))

    returns = tuple((name, value_of(i, value)) for i, (name, value) in enumerate(shown))
    whole = (*returns, *((name, value) for value, name in hidden.items()))
    inner = replace(tree, asked=None, distinct=False, returns=whole or tree.returns)
    over = tuple((i, changed(value, read)) for i, value in late.items())
    where = None if where is None else changed(where, read)
    return AnswerPlan(inner, len(returns), start, order, columns, asked, numbers, over, where, tree.distinct, counted)


TERMS = Ref | Aggregate | Classifier | Final
ROWS = Aggregate("", "count")
"""How many rows a match has taken."""


def _reads_number(value: Expr) -> bool:
    return any(isinstance(node, MatchNumber) for node in walk(value))


def _terms(value: Expr) -> Iterator[Expr]:
    """Yield the terms of a value, those with FINAL as they are."""
    found: list[Expr] = []
    changed(value, lambda node: found.append(node) or node if isinstance(node, TERMS) else None)  # type: ignore[func-returns-value]
    yield from found


def _free_names(taken: Iterable[str]) -> Iterator[str]:
    known = set(taken)
    return (name for i in itertools.count() for name in (f"hidden_{i}",) if name not in known)


def _of_row(tree: Tree, end: str, field: str) -> Expr:
    """Return a field of the first or the last row of a match; of one that has taken none of its row."""
    found = Ref("", end, field)
    if not any(component.name in NO_ROW for component in components_of(tree.pattern)):
        return found
    return If(Compare("==", ROWS, Const(0)), Ref(OF_ROW, "last", field), found)


def own_places(tree: Tree, known: Sequence[str] = ()) -> tuple[tuple[str, Expr], ...]:
    """Return values, by names, that tell the matches of a key and their rows apart: what tells first rows apart, and each row.

    ``known``: the fields that tell rows apart; none: the time and the order do. `AfaError`: no field holds the time.
    """
    if tree.time is None and tree.rank is None:
        raise AfaError(
            f"expected a field of {tree.event.__name__} with the time, annotated afa.Instant, in front of another "
            f"MATCH_RECOGNIZE, as it tells matches apart, but got none"
        )
    said = tree.rank or tree.order
    order = EventOrder.of(said, Schema.of(tree.event, "event")).columns if is_list(said) else ()
    fields = known or dict.fromkeys([tree.time, *(column.field.name for column in order), None if order else said])
    ends = ["first"] * (tree.rows is None or tree.skip != PAST) + ["last"] * (tree.rows is not None)
    places = [_of_row(tree, end, field) for end in ends for field in fields if field is not None]
    return tuple(zip(_free_names({*tree.columns, *tree.key}), places))


def _time_of(tree: Tree) -> str | None:
    """Return the field of an event that holds its LE. None: matches do not overlap, so that their last rows order them."""
    found = Schema.of(tree.event, "event").instant or tree.time
    if found is None and (tree.skip != "past last row" or tree.rows is not None):
        raise AfaError(
            "expected WITHIN, or a field of the event annotated afa.Instant, beside COUNT(DISTINCT ..), ARRAY_AGG and LISTAGG, and "
            "beside MATCH_NUMBER() and a scan that goes on within a match, or ALL ROWS PER MATCH, as a match is told apart by the "
            "time of its first row, but got neither"
        )
    return found


def _check(tree: Tree, whole: Tree) -> None:
    """Refuse what can't be numbered, or gathered: ``tree`` has each row of a match."""
    if tree.skip is None:
        raise AfaError(
            "expected a query that chooses (AFTER MATCH SKIP) with MATCH_NUMBER(), COUNT(DISTINCT ..), ARRAY_AGG and LISTAGG but "
            "got skip=None"
        )
    places = itertools.count()
    if whole.rows and tree is not whole:
        raise AfaError("expected a pattern without {- -} beside COUNT(DISTINCT ..), ARRAY_AGG and LISTAGG of all rows but got one")
    if tree.rows and not _least_shown(tree.pattern, places, tree.rows):
        raise AfaError(
            "expected a pattern of which each match shows a row, with MATCH_NUMBER(), but got one with {- -} around all rows that "
            "a match may take"
        )


def _least_shown(pattern: Pattern, places: Iterator[int], hidden: Sequence[int]) -> int:
    """Return how many rows a match shows at least; ``places`` counts the components from left to right."""
    if isinstance(pattern, Component):
        return int(next(places) not in hidden)
    if isinstance(pattern, Seq | Either):
        sizes = [_least_shown(item, places, hidden) for item in pattern.items]
        return sum(sizes) if isinstance(pattern, Seq) else min(sizes)
    return _least_shown(pattern.item, places, hidden) * pattern.low
