"""Queries in Python: components joined by ``next``, ``followed_by`` and ``followed_by_any``, with lambdas of ``e`` and ``m``.

    one("a", "shelf").absent("b", "register").followed_by(one("c", "exit"))
        .by("tag_id").within(hours=12).returns(lambda m: Theft(m.a.place))

What is built is a pattern tree whose predicates are lambdas until the event class is known: by ``one("a", Tick)``, ``.of(Tick)`` or
``afa.query(.., event=Tick)``. Then they are read (`afa.language.lambdas`), and the lowering makes an automaton of the tree.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from afa.errors import QueryError
from afa.expression.nodes import Expr
from afa.language.building import UNSAID, BuilderWords, Unread, read_tree
from afa.language.changes import QueryChanges
from afa.language.explain_query import QueryExplanation
from afa.language.pattern import ANY, NEXT, STRICT, Component, Either, Gap, Pattern, Repeat, Seq, Tree, components_of
from afa.language.query import Query
from afa.model.automaton import Automaton
from afa.model.conflicts import QUERY
from afa.model.option_values import tick_of
from afa.model.renamed import renamed, warn_renamed
from afa.operator import contract
from afa.operator.operator import Keyed, Operator
from afa.schema import Schema
from speculation.around import Around


@dataclass(frozen=True, eq=False)
class Builder(BuilderWords, contract.Pattern):
    """A query in the making. Each method returns a new one.

    Made by `one`, `many`, `optional`, `times`, `either` and `absent`. As soon as it is known of which events it speaks, it is the
    query as well: `automaton`, `key`, `window`, `components`, `operator`, `explain` and `changes_to` are those of `query`.
    """

    # -- what follows ------------------------------------------------------------------------------------------------------------

    def next(self, pattern: Builder) -> Builder:
        """Go on with the very next event (of the key, where there is one)."""
        return self._join(pattern, STRICT)

    def followed_by(self, pattern: Builder) -> Builder:
        """Go on with a later event; what this could not take is skipped in between."""
        return self._join(pattern, NEXT)

    def followed_by_any(self, pattern: Builder) -> Builder:
        """Go on with any later event; anything is skipped in between."""
        return self._join(pattern, ANY)

    def absent(self, name: str, *of: Any, where: Callable[..., Any] | None = None) -> Builder:
        """Forbid such an event between the last one and the next; at the end, until the window is over."""
        component, event = _component("absent", name, of, where=where)
        return replace(self, pending=(*self.pending, component), event=_one_event(self.event, event))

    # -- repetitions -------------------------------------------------------------------------------------------------------------

    def times(self, low: int, high: int | None = -1, /) -> Builder:
        """Repeat all that stands here: ``times(2)`` twice, ``times(2, 4)`` two to four times, ``times(2, None)`` twice or more.

        ``many("a").times(3)`` is three events; to repeat what repeats itself, write ``times(3, 3, many("a"))``.
        """
        found = self._repeated(low, low if high == -1 else high)
        repeat, there = found.pattern, self.pattern
        if isinstance(repeat, Repeat) and isinstance(there, Repeat) and _is_many(there):
            return replace(self, pattern=replace(there, low=repeat.low, high=repeat.high))
        return found

    def optional(self) -> Builder:
        """Let all that stands here be missing."""
        return self._repeated(0, 1)

    def any(self) -> Builder:
        """Skip any events between two iterations (Flink: allowCombinations)."""
        return self._between(ANY)

    def relaxed(self) -> Builder:
        """Skip between two iterations what one more could not take. So it is unless the repetition is joined by ``next``."""
        return self._between(NEXT)

    def consecutive(self) -> Builder:
        """Skip no event between two iterations."""
        return self._between(STRICT)

    def absent_between(self, name: str, *of: Any, where: Callable[..., Any] | None = None) -> Builder:
        """Forbid such an event between two iterations."""
        repeat = self._repeat("absent_between()")
        component, event = _component("absent_between", name, of, where=where)
        gap = replace(repeat.gap, absent=(*repeat.gap.absent, component))
        return replace(self, pattern=replace(repeat, gap=gap), event=_one_event(self.event, event))

    def reluctant(self) -> Builder:
        """Prefer fewer iterations, where one match is chosen."""
        repeat = self._repeat("reluctant()")
        return replace(self, pattern=replace(repeat, greedy=False))

    # -- the query ---------------------------------------------------------------------------------------------------------------

    def by(self, *fields: str) -> Builder:
        """Match the events of each value of these fields by themselves."""
        if not fields or not all(isinstance(field, str) for field in fields):
            raise QueryError(f'expected names of fields, .by("symbol"), but got {fields!r}')
        return replace(self, fields=fields)

    def within(self, duration: int | str | None = None, /, **units: int | float) -> Builder:
        """Let a match last less than this: ``within(hours=1)``, ``within("90 minutes")``, or a number of ticks."""
        if (duration is None) == (not units):
            raise QueryError(f'expected within(hours=1), within("1 hour") or ticks but got {duration!r} and {units!r}')
        return replace(self, duration=_parts(duration) if units == {} else tuple((n, unit) for unit, n in units.items()))

    def order_by(self, field: str) -> Builder:
        """Order the events of one instant by this field; else they are alternatives, of which a match takes one."""
        if not isinstance(field, str):
            raise QueryError(f'expected the name of a field, .order_by("attempt"), but got {field!r}')
        return replace(self, order_field=field)

    def order(self, field: str) -> Builder:
        """As `order_by`, which it is called now."""
        warn_renamed(".order(..)", ".order_by(..)")
        return self.order_by(field)

    def returns(self, function: Callable[..., Any] | None = None, /, **values: Callable[..., Any]) -> Builder:
        """Say what a match shows.

        A lambda of m returns a NamedTuple, whose fields name the values (``lambda m: Trend(m.a.first.price, m.a.count)``), or a
        tuple; or each value has a name and a lambda (``returns(price=lambda m: m.a.first.price)``).
        """
        if (function is None) == (not values):
            raise QueryError(f"expected one function of m, or functions by name, but got {function!r} and {sorted(values)}")
        shows = ((None, function),) if function is not None else tuple(values.items())
        for name, each in shows:
            if not callable(each):
                raise QueryError(f"expected a function of m but got {each!r} as returns{f' {name}=' if name else ''}")
        return replace(self, shows=shows)

    def of(self, event: type, *, tick: str | None = None, type: str | None = None) -> Builder:
        """Say the event class, what one tick of LE is ("ms", "s" ..), and the field that holds an event's type."""
        known = _one_event(self.event, _event_class(event))
        return replace(self, event=known, tick=tick or self.tick, type_column=type or self.type_column)

    # -- what it stands for ------------------------------------------------------------------------------------------------------

    @renamed("order")
    def query(
        self, event: type | None = None, *, tick: str | None = None, type: str | None = None, order_by: str | None = None
    ) -> Query:
        """Return the query, frozen; what is left out is what `of` and `order_by` said.

        Raises
        ------
        QueryError
            The event class is not known, a predicate can't be read, or names what is not there.
        """
        said = self if order_by is None else self.order_by(order_by)
        said = said if event is None else said.of(event)
        said = replace(said, tick=tick or said.tick, type_column=type or said.type_column)
        return Query(replace(said.tree(), tick=said.tick))

    def tree(self) -> Tree:
        """Return the pattern tree."""
        return read_tree(self)

    @functools.cached_property
    def _query(self) -> Query:
        return self.query()

    @property
    def automaton(self) -> Automaton:
        """The automaton that the query stands for."""
        return self._query.automaton

    @property
    def key(self) -> str | tuple[str, ...] | None:
        """The fields by which the stream is partitioned."""
        return None if not self.fields else self.fields[0] if len(self.fields) == 1 else self.fields

    @property
    def window(self) -> int | None:
        """Ticks that an event lives in the operator."""
        return self._query.window

    @property
    def components(self) -> tuple[str, ...]:
        """The components' names."""
        return self._query.components

    def operator(self, **options: Any) -> Keyed | Operator | Around:
        """Make an operator; see `Query.operator`."""
        return self.with_tick(options.get("tick")).operator(**options)

    def operator_by(self, key: str, **options: Any) -> Keyed | Operator | Around:
        """Make an operator within the values of another column; see `Query.operator_by`."""
        return self.with_tick(options.get("tick")).operator_by(key, **options)

    def restore(self, blob: bytes, **options: Any) -> Keyed | Operator | Around:
        """Make the operator that ``snapshot`` saved; see `Query.restore`."""
        return self.with_tick(options.get("tick")).restore(blob, **options)

    def with_tick(self, tick: str | None) -> Query:
        """Return the query where one int of LE counts ``tick``, if it was not said."""
        return self._query if self.tick or tick is None else self.query(tick=tick_of(tick))

    @property
    def traits(self) -> tuple[str, ...]:
        """What contradicts options: it is a query."""
        return (QUERY,)

    @property
    def shown(self) -> Schema:
        """What a match shows."""
        return self._query.shown

    def over(self, event: Callable[[], type], *, tick: str | None, type: str | None, order_by: str | None) -> Query:
        """Return the query over the events of a class, with its tick, if the words do not name theirs."""
        if self.event is not None:
            return self.query(type=type, order_by=order_by)
        return self.query(event(), tick=self.tick or tick, type=type, order_by=order_by)

    def explain(self) -> QueryExplanation:
        """Explain what became of the query; see `Query.explain`."""
        return self._query.explain()

    def changes_to(self, other: Query | Builder, postpone: bool | None = None) -> QueryChanges:
        """Return the way of a running operator to another query; see `Query.changes_to`."""
        return self._query.changes_to(other.query() if isinstance(other, Builder) else other, postpone)

    # -- joints ------------------------------------------------------------------------------------------------------------------

    def _join(self, other: Builder, strategy: str) -> Builder:
        if not isinstance(other, Builder) or other.pattern is None:
            raise QueryError(f'expected a pattern, one("b") say, but got {other!r} after {self!r}')
        _only_pattern(other)
        event = _one_event(self.event, other.event)
        pattern = _contiguous(other.pattern) if strategy == STRICT else other.pattern
        gap = Gap(strategy, (*self.pending, *other.before))
        if self.pattern is None:
            return replace(self, pattern=other.pattern, before=gap.absent, pending=other.pending, event=event)
        joined = Seq((self.pattern, pattern), (gap,))
        if isinstance(self.pattern, Seq):
            joined = Seq((*self.pattern.items, pattern), (*self.pattern.gaps, gap))
        return replace(self, pattern=joined, pending=other.pending, event=event)

    def _repeated(self, low: int, high: int | None) -> Builder:
        counts = [low] if high is None else [low, high]
        if not all(type(n) is int and n >= 0 for n in counts) or (high is not None and not low <= high) or high == 0:
            raise QueryError(f"expected how often as 0 <= low <= high, high at least 1, but got {low!r} to {high!r}")
        return replace(self, pattern=Repeat(_whole(self, "what repeats"), low, high, Gap(UNSAID)))

    def _between(self, strategy: str) -> Builder:
        repeat = self._repeat(f"a strategy between iterations ({strategy})")
        return replace(self, pattern=replace(repeat, gap=replace(repeat.gap, strategy=strategy)))

    def _repeat(self, what: str) -> Repeat:
        if not isinstance(self.pattern, Repeat):
            raise QueryError(f"expected {what} of a repetition, many(..) or times(..), but got {self!r}")
        return self.pattern

    def __repr__(self) -> str:
        names = [] if self.pattern is None else [component.name for component in components_of(self.pattern)]
        return f"query of {', '.join(names) or 'nothing'}"


# -- words -----------------------------------------------------------------------------------------------------------------------


def one(
    name: str,
    *of: Any,
    where: Callable[..., Any] | None = None,
    first: Callable[..., Any] | None = None,
    rest: Callable[..., Any] | None = None,
    done: Callable[..., Any] | None = None,
) -> Builder:
    """Take one event; within what repeats, one an iteration.

    Parameters
    ----------
    name : str
    of : str, type or callable
        The event's type, the event class, and the predicate, a lambda of e, or of e and m; any of them may be left out.
    where : callable, optional
        The predicate by name.
    first, rest, done : callable, optional
        As of `many`.

    Examples
    --------
    >>> one("a", "shelf").followed_by(one("b", lambda e, m: e.price > m.a.price))
    query of a, b
    """
    component, event = _component("one", name, of, where=where, first=first, rest=rest, done=done)
    return Builder(component, event=event)


def many(
    name: str | Builder,
    *of: Any,
    where: Callable[..., Any] | None = None,
    first: Callable[..., Any] | None = None,
    rest: Callable[..., Any] | None = None,
    done: Callable[..., Any] | None = None,
) -> Builder:
    """Take one event or more; of a pattern: repeat it.

    Parameters
    ----------
    name : str or Builder
    of : str, type or callable
        As of `one`.
    where : callable, optional
        Asked of each event; what of it reads the component itself (``m.a.last``) of all but the first.
    first, rest : callable, optional
        Asked of the first event only, of all others only.
    done : callable, optional
        A lambda of m, asked of all events together when the match goes on or ends.
    """
    if isinstance(name, Builder):
        _no_predicates("many", of, (where, first, rest, done))
        return name._repeated(1, None)
    component, event = _component("many", name, of, where=where, first=first, rest=rest, done=done)
    return Builder(Repeat(component, 1, None, Gap(UNSAID)), event=event)


def optional(name: str | Builder, *of: Any, where: Callable[..., Any] | None = None) -> Builder:
    """Take one event or none; of a pattern: let it be missing. Of what took nothing all fields are None."""
    if isinstance(name, Builder):
        _no_predicates("optional", of, (where,))
        return name.optional()
    return one(name, *of, where=where).optional()


def times(low: int, high: int | None, name: str | Builder, *of: Any, **predicates: Any) -> Builder:
    """Take low to high events (None: without bound); of a pattern: repeat it so often. Predicates as of `many`."""
    repeated = many(name, *of, **predicates)
    assert isinstance(repeated.pattern, Repeat)
    return replace(repeated, pattern=repeated.pattern.item)._repeated(low, high)


def either(*patterns: Builder) -> Builder:
    """Take one of several patterns; the left ones are preferred where one match is chosen."""
    if len(patterns) < 2 or not all(isinstance(pattern, Builder) for pattern in patterns):
        raise QueryError(f'expected two patterns or more, either(one("a"), one("b")), but got {patterns!r}')
    items = tuple(_whole(pattern, "an alternative") for pattern in patterns)
    for pattern in patterns:
        _only_pattern(pattern)
    return Builder(Either(items), event=functools.reduce(_one_event, (pattern.event for pattern in patterns)))


def absent(name: str, *of: Any, where: Callable[..., Any] | None = None) -> Builder:
    """Begin with what must not come before the first event, within the window that ends with the match."""
    return Builder().absent(name, *of, where=where)


def _is_many(repeat: Repeat) -> bool:
    """Whether a repetition is ``many("a")``, whose bounds nobody has said."""
    return isinstance(repeat.item, Component) and (repeat.low, repeat.high) == (1, None)


# -- components ------------------------------------------------------------------------------------------------------------------


def _component(word: str, name: Any, of: tuple[Any, ...], **predicates: Callable[..., Any] | None) -> tuple[Component, type | None]:
    """Return the component of a word with its functions, and the event class if it is said."""
    if not isinstance(name, str) or not name.isidentifier():
        raise QueryError(f'expected the name of a component, {word}("a"), but got {name!r}')
    kind: str | None = None
    event: type | None = None
    for item in of:
        if isinstance(item, str) and kind is None:
            kind = item
        elif isinstance(item, type) and event is None:
            event = _event_class(item)
        elif callable(item) and not isinstance(item, type) and predicates["where"] is None:
            predicates["where"] = item
        else:
            raise QueryError(f"expected a type, an event class or one predicate of {word}({name!r}) but got {item!r}")
    slots: dict[str, tuple[Expr, ...]] = {slot: (Unread(each),) for slot, each in predicates.items() if each is not None}
    return Component(name, kind, **slots), event


def _no_predicates(word: str, of: tuple[Any, ...], predicates: tuple[Any, ...]) -> None:
    if of or any(each is not None for each in predicates):
        raise QueryError(f"expected predicates within the pattern that {word}() repeats but got them beside it")


def _whole(builder: Builder, what: str) -> Pattern:
    """Return the pattern of a group."""
    if builder.pattern is None or builder.before or builder.pending:
        raise QueryError(f"expected {what} to begin and end with what it takes but got {builder!r} with what is absent at an end")
    return builder.pattern


def _only_pattern(builder: Builder) -> None:
    """Refuse by(), within() and their like on a part of the query."""
    said = {"by": builder.fields, "within": builder.duration, "order_by": builder.order_field, "returns": builder.shows}
    for word, value in said.items():
        if value:
            raise QueryError(f"expected {word}() on the query as a whole but got it on its part {builder!r}")


def _event_class(event: Any) -> type:
    if not (isinstance(event, type) and issubclass(event, tuple) and hasattr(event, "_fields")):
        raise QueryError(f"expected a NamedTuple as the event class but got {event!r}")
    return event


def _one_event(known: type | None, other: type | None) -> type | None:
    """Return the event class of a query."""
    if known is not None and other is not None and known is not other:
        hint = "a stream has one; tell events apart by a field, type="
        raise QueryError(f"expected one event class but got {known.__name__} and {other.__name__}; {hint}")
    return known or other


def _contiguous(pattern: Pattern) -> Pattern:
    """Return a pattern that is joined by ``next``: its repetitions are consecutive where they don't say otherwise."""
    match pattern:
        case Repeat(item, _, _, gap):
            gap = replace(gap, strategy=STRICT) if gap.strategy == UNSAID else gap
            return replace(pattern, item=_contiguous(item), gap=gap)
        case Either(items):
            return Either(tuple(_contiguous(item) for item in items))
    return pattern


def _parts(duration: Any) -> tuple[tuple[int | float | str, str | None], ...]:
    """Return "1 hour 30 minutes", or ticks, as numbers with units."""
    if type(duration) is int:
        return ((duration, None),)
    words = duration.split() if isinstance(duration, str) else []
    if len(words) % 2 or not words:
        raise QueryError(f'expected a duration, "1 hour 30 minutes" or a number of ticks, but got {duration!r}')
    return tuple((words[i], words[i + 1]) for i in range(0, len(words), 2))
