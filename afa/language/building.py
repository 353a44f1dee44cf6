"""From what the builder's words have put together to a pattern tree: lambdas are read, strategies and names settled.

Each conjunct of ``where`` stands where text would put it: one that reads the component itself holds from its second event on, one
of ``m.a.prev(3)`` from the fourth. ``m.prev`` becomes a term of the component that comes before, where there is one only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from afa.errors import QueryError
from afa.expression.nodes import Compare, Const, Expr, Or, walk
from afa.expression.spans import in_ticks
from afa.language.conjuncts import SLOTS, PatternPlace, places
from afa.language.lambdas import PREVIOUS, Match, read_done, read_predicate, read_values
from afa.language.later import UnorderedError, bound, names_later
from afa.language.neighbours import with_neighbours
from afa.language.pattern import NEXT, PARTITION, STRICT, Component, Either, Gap, Pattern, Repeat, Seq, Tree, named_in
from afa.language.previous import with_known_previous
from afa.language.return_names import named
from afa.language.terms import Aggregate, Ref
from afa.schema import Schema
from punctuation.durations import ticks

UNSAID = ""
"""The strategy between two iterations, as long as nothing is said about it."""


@dataclass(frozen=True, slots=True)
class Unread(Expr):
    """A predicate that is a function still."""

    function: Callable[..., Any]


@dataclass(frozen=True, eq=False)
class BuilderWords:
    """What the words of the builder have said so far."""

    pattern: Pattern | None = None
    before: tuple[Component, ...] = ()
    pending: tuple[Component, ...] = ()  # absent behind the last item
    event: type | None = None
    tick: str | None = None
    type_column: str | None = None
    fields: tuple[str, ...] = ()
    order_field: str | None = None
    duration: tuple[tuple[int | float | str, str | None], ...] = ()
    shows: tuple[tuple[str | None, Callable[..., Any]], ...] = ()


def read_tree(said: BuilderWords) -> Tree:
    """Returns the tree of a query that was built in Python."""
    if said.pattern is None:
        raise QueryError('expected a pattern but got nothing that takes an event; begin with one("a") or many("a")')
    if said.event is None:
        hint = 'give .of(Tick), one("a", Tick) or afa.query(.., event=Tick)'
        raise QueryError(f"expected the event class, a NamedTuple, but got none; {hint}")
    fields = _fields(said)
    maker = _TreeMaker(said, Schema.of(said.event, "event"), _type_column(said, fields))
    pattern = with_known_previous(maker.pattern(said.pattern))
    shown = maker.returns()
    tree = Tree(
        pattern,
        said.event,
        maker.type_column,
        key=said.fields,
        order=said.order_field,
        window=ticks(said.duration, said.tick, QueryError) if said.duration else None,
        before=tuple(maker.component(each) for each in said.before),
        after=tuple(maker.component(each) for each in said.pending),
        returns=shown[1],
        payload=shown[0],
        tick=said.tick,
        bare=any(unit is None for _, unit in said.duration),
    )
    return with_neighbours(tree)


class _TreeMaker:
    """One tree in the making."""

    def __init__(self, said: BuilderWords, event: Schema, type_column: str | None) -> None:
        assert said.pattern is not None
        self.said, self.event, self.type_column = said, event, type_column
        self.places = _places(said)
        types = {component.type for component in named_in((*said.before, said.pattern, *said.pending))}
        self.any_event = {None} if types - {None, event.cls.__name__} else {None, event.cls.__name__}

    def pattern(self, pattern: Any) -> Pattern:
        """Return a part of the pattern with its predicates read."""
        match pattern:
            case Component():
                return self.component(pattern)
            case Repeat(item, _, high, gap):
                return replace(pattern, item=self.pattern(item), gap=Gap() if high == 1 else self.gap(gap))
            case Seq(items, gaps):
                return Seq(tuple(self.pattern(item) for item in items), tuple(self.gap(gap) for gap in gaps))
            case Either(items):
                return Either(tuple(self.pattern(item) for item in items))
        raise AssertionError(pattern)

    def gap(self, gap: Gap) -> Gap:
        """Return a gap with its strategy, and what is absent read."""
        strategy = PARTITION if gap.strategy == STRICT and self.said.fields else gap.strategy or NEXT
        return Gap(strategy, tuple(self.component(each) for each in gap.absent))

    def component(self, component: Component) -> Component:
        """Return a component with its functions read, each conjunct in its slot."""
        name = component.name
        slots: dict[str, list[Expr]] = {slot: [] for slot in SLOTS}
        for slot in SLOTS:
            for unread in getattr(component, slot):
                of = f"{slot} of component {name!r}"
                if slot == "done":
                    slots[slot] += [self.ticks(x, of) for x in read_done(unread.function, of, self.event, self.match(name, True))]
                    continue
                for expr in read_predicate(unread.function, of, self.event, self.match(name, slot != "first")):
                    for place, conjunct in self.placed(name, slot, self.ticks(expr, of)):
                        slots[place].append(conjunct)
        asked: dict[str, Any] = {slot: tuple(found) for slot, found in slots.items()}
        if self.places[name].absent:
            self.check_later(name, asked["where"])
        return Component(name, self.type(component), **asked)

    def check_later(self, name: str, asked: tuple[Expr, ...]) -> None:
        """Refuse conditions of an absent component that name later ones otherwise than by order."""
        later = {other for other, place in self.places.items() if place.order > self.places[name].order}
        for expr in asked:
            named = names_later(expr, later)
            try:
                if named:
                    bound(expr, name, later)
            except UnorderedError as error:
                of = getattr(named[0], "component", "")
                raise QueryError(
                    f"expected conditions of the absent {name} on {of}, which comes after it, by order (<, <=, >, >=) "
                    f"but got {error.got}; {error.hint}"
                ) from None

    def placed(self, name: str, slot: str, expr: Expr) -> list[tuple[str, Expr]]:
        """Return a conjunct in the slots in which it is asked."""
        if slot != "where":
            return [(slot, expr)]
        terms = [term for term in walk(expr) if isinstance(term, Ref | Aggregate) and term.component == name]
        own = [term for term in terms if not (isinstance(term, Aggregate) and term.now)]
        if not own or not self.places[name].many:
            return [(slot, expr)]
        needed = max((term.back + 1 for term in own if isinstance(term, Ref) and term.which == "last"), default=1)
        enough = Compare("<", Aggregate(name, "count"), Const(needed))
        return [("rest", Or((enough, expr)) if needed > 1 else expr)]

    def ticks(self, expr: Expr, of: str) -> Expr:
        """Return an expression with durations (`afa.span`) as ticks."""
        return in_ticks(expr, self.said.tick, of, QueryError)

    def match(self, name: str, own: bool) -> Match:
        """Returns what m shows to a component: those before it; itself, if it repeats; to an absent one also those behind it."""
        here = self.places[name]
        taking = {other: place for other, place in self.places.items() if not place.absent}
        later = {other for other, place in taking.items() if place.order > here.order}
        if here.absent and len(later) < len(taking):
            later = {other for other in later if set(taking[other].loops) & set(here.loops)}
        shown = {
            other: place.many for other, place in taking.items() if other not in later and (other != name or (own and place.many))
        }
        return Match(shown, frozenset(later), name)

    def type(self, component: Component) -> str | None:
        """Return the type that is asked for; None: of events of any type."""
        name = self.event.cls.__name__
        if component.type in self.any_event:
            return None
        if self.type_column is None:
            hint = f"give .of({name}, type=..), or leave it out"
            raise QueryError(
                f"expected a field that holds the type of events but {name} has no field type, "
                f"for type {component.type!r} of component {component.name!r}; {hint}"
            )
        return component.type

    def returns(self) -> tuple[str, tuple[tuple[str, Expr], ...]]:
        """Returns the name of the class that a match shows, and each value with its name."""
        match = Match({name: place.many for name, place in self.places.items() if not place.absent})
        if len(self.said.shows) == 1 and self.said.shows[0][0] is None:
            values = read_values(self.said.shows[0][1], "returns", self.event, match)
            items = [(name, self.ticks(value, "returns")) for name, value in values.items]
            return values.cls.__name__ if values.cls else "Match", tuple(named(items))
        found = [(name, read_values(each, f"returns {name}=", self.event, match)) for name, each in self.said.shows]
        for name, values in found:
            if len(values.items) != 1:
                raise QueryError(f"expected one value but got {len(values.items)} as returns {name}=; give each a name of its own")
        return "Match", tuple(named((name, self.ticks(values.items[0][1], f"returns {name}=")) for name, values in found))


def _places(said: BuilderWords) -> Mapping[str, PatternPlace]:
    """Return where each component stands; no two have one name."""
    names = [component.name for component in named_in((*said.before, said.pattern, *said.pending))]
    for name in names:
        if names.count(name) > 1:
            raise QueryError(f"expected a name of its own for each component but got {name!r} twice")
        if name == PREVIOUS:
            raise QueryError(f"expected another name for a component but got {name!r}; m.prev is the event before")
    assert said.pattern is not None
    return places(said.pattern, said.before, said.pending)


def _fields(said: BuilderWords) -> list[str]:
    """Return the names of the event's fields; refuse others that the query names."""
    names: list[str] = list(getattr(said.event, "_fields", ()))
    for word, fields in (("by", said.fields), ("order", (said.order_field,)), ("type", (said.type_column,))):
        for field in fields:
            if field is not None and field not in names:
                assert said.event is not None
                hint = Schema.of(said.event, "event").hint(field)
                raise QueryError(f"expected a field of {said.event.__name__} but got {word} {field!r}; {hint}")
    return names


def _type_column(said: BuilderWords, fields: list[str]) -> str | None:
    """Return the field that holds the type of an event."""
    return said.type_column or ("type" if "type" in fields else None)
