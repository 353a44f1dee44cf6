"""Place conjuncts: each at its last component, in the slot in which it is asked.

A notation says terms of a conjunct as `FieldTerm` and `AggregateTerm`; `place` finds the event under test and makes of them
``FieldRead("e", ..)``, `Ref` and `Aggregate`:

    where    asked of each event that the component takes              a.x, a[i].x
    first    of the first one                                          a[1].x, beside nothing else of a
    rest     of all others                                             a[i-1].x, a[..i-1], and a[i].x or a[1].x beside them
    done     of all events together                                    a[a.LEN].x, a.LEN, a[]

A conjunct that reads ``a[i-k]`` is asked from iteration k + 1 on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from afa.expression.nodes import Compare, Const, Expr, FieldRead, Or, changed, walk
from afa.language.later import UnorderedError, bound
from afa.language.pattern import Component, Either, Gap, Pattern, Repeat, Seq, rebuilt
from afa.language.terms import Aggregate, Ref


@dataclass(frozen=True, slots=True)
class FieldTerm(Expr):
    """A field of one event of a component, as a notation says it.

    ``which``: "one" a.x; "first" a[1].x; "this" a[i].x; "before" a[i-1-back].x; "last" a[a.LEN-back].x.
    """

    component: str
    which: str
    field: str
    back: int = 0


@dataclass(frozen=True, slots=True)
class AggregateTerm(Expr):
    """An aggregate as a notation says it. ``span``: "before" a[..i-1]; "now" a[..i]; "all" a[]."""

    component: str
    function: str
    field: str | None
    span: str


class PatternPlace(NamedTuple):
    """Where a component stands in the pattern."""

    order: int  # its number in the order of writing
    loops: tuple[int, ...]  # the repeats around it that can take it more than once, the outermost first
    alone: bool  # whether the innermost of them repeats nothing else, and is the only one
    absent: bool

    @property
    def many(self) -> bool:
        """Whether the component can take several events."""
        return bool(self.loops) and not self.absent


SLOTS = ("where", "first", "rest", "done")


class SlotPredicate(NamedTuple):
    """A predicate: of which component, in which slot."""

    component: str
    slot: str
    expr: Expr


class MisplacedError(Exception):
    """A term stands where it has no meaning, or one that can't be known in time."""

    def __init__(self, expected: str, got: str, hint: str, term: Expr | None) -> None:
        super().__init__(f"expected {expected} but got {got}; {hint}")
        self.expected, self.got, self.hint, self.term = expected, got, hint, term


def places(pattern: Pattern, before: Iterable[Component] = (), after: Iterable[Component] = ()) -> dict[str, PatternPlace]:
    """Return where each component stands, absent ones among them."""
    found: dict[str, PatternPlace] = {}

    def add(component: Component, loops: tuple[int, ...] = (), alone: bool = False, absent: bool = True) -> None:
        found[component.name] = PatternPlace(len(found), loops, alone, absent)

    def visit(item: Pattern, loops: tuple[int, ...], alone: bool) -> None:
        match item:
            case Component():
                add(item, loops, alone, absent=False)
            case Repeat(inner, _, high, gap):
                within = loops if high == 1 else (*loops, len(found))
                visit(inner, within, len(within) == 1 and high != 1 and isinstance(inner, Component))
                gaps(gap, within)
            case Either(items):
                for each in items:
                    visit(each, loops, False)
            case Seq(items, between):
                for i, each in enumerate(items):
                    visit(each, loops, False)
                    if i < len(between):
                        gaps(between[i], loops)

    def gaps(gap: Gap, loops: tuple[int, ...]) -> None:
        for component in gap.absent:
            add(component, loops)

    for component in before:
        add(component)
    visit(pattern, (), False)
    for component in after:
        add(component)
    return found


def place(expr: Expr, where: Mapping[str, PatternPlace]) -> SlotPredicate:
    """Returns a conjunct at its last component, its terms as `FieldRead`, `Ref` and `Aggregate`.

    >>> where = places(Repeat(Component("a")))
    >>> place(Compare(">", FieldTerm("a", "this", "price"), AggregateTerm("a", "avg", "price", "before")), where)[:2]
    ('a', 'rest')
    """
    terms = [node for node in walk(expr) if isinstance(node, FieldTerm | AggregateTerm)]
    if not terms:
        raise MisplacedError("a condition on a component", "one that names none", "name a field of a component", None)
    last = _last(terms, where)
    slot = _slot(last, terms, where)
    placed = changed(expr, lambda node: _term(node, last, slot, where) if isinstance(node, FieldTerm | AggregateTerm) else None)
    later = [term for term in terms if where[last].absent and where[term.component].order > where[last].order]
    if later:
        _check_order(placed, last, later)
    enough = [_needed(term, last, where) for term in terms]
    for component, count in sorted({pair for pair in enough if pair[1] > 1}):
        placed = Or((Compare("<", Aggregate(component, "count"), Const(count)), placed))
    return SlotPredicate(last, slot, placed)


def _check_order(expr: Expr, absent: str, later: list[FieldTerm | AggregateTerm]) -> None:
    """Refuse a condition of an absent component that names later ones otherwise than by order."""
    try:
        bound(expr, absent, {term.component for term in later})
    except UnorderedError as error:
        what = f"a condition of the absent {absent} on {later[0].component}, which comes after it, by order (<, <=, >, >=)"
        raise MisplacedError(what, error.got, error.hint, later[0]) from None


def same(attribute: str, pattern: Pattern, where: Mapping[str, PatternPlace]) -> list[SlotPredicate]:
    """Returns the predicates by which all events of a match have one value of a field: that of the first event.

    Raises MisplacedError where several components can take the first event.
    """
    first = _opening(pattern)
    if first is None:
        hint = "write the comparisons out, or begin with a component that is always there"
        raise MisplacedError("one component that takes the first event", "several", hint, None)
    many = where[first.name].many
    equal = Compare("==", FieldRead("e", attribute), Ref(first.name, "first" if many else "one", attribute))
    return [
        SlotPredicate(name, "rest" if name == first.name else "where", equal)
        for name, place in where.items()
        if (many or name != first.name) and place.order >= where[first.name].order
    ]


def returned(expr: Expr, where: Mapping[str, PatternPlace]) -> Expr:
    """Returns a value of the whole match, its terms as `Ref` and `Aggregate`."""
    return changed(expr, lambda node: _of_match(node, where) if isinstance(node, FieldTerm | AggregateTerm) else None)


def filled(pattern: Pattern, placed: Iterable[SlotPredicate]) -> Pattern:
    """Returns the pattern with predicates added to its components, in the order given."""
    slots: dict[str, list[SlotPredicate]] = {}
    for each in placed:
        slots.setdefault(each.component, []).append(each)

    def component(found: Component) -> Component:
        return filled_component(found, slots.get(found.name, ()))

    return rebuilt(pattern, component, lambda gap: replace(gap, absent=tuple(map(component, gap.absent))))


def filled_component(component: Component, placed: Iterable[SlotPredicate]) -> Component:
    """Returns a component with its predicates added."""
    for name, slot, expr in placed:
        if name == component.name:
            added: dict[str, Any] = {slot: (*getattr(component, slot), expr)}
            component = replace(component, **added)
    return component


def _last(terms: list[FieldTerm | AggregateTerm], where: Mapping[str, PatternPlace]) -> str:
    """Return the component whose event is the last one that a conjunct reads; of an absent one, that one."""
    now = {term.component for term in terms if _moment(term) in ("this", "now")}
    earlier = {term.component for term in terms} - {term.component for term in terms if _moment(term) != "before"}
    passed = {
        name
        for name in earlier  # b[i-1] beside a[i] of one group: the iteration before
        if any(_together(where[name], where[other]) and where[other].order < where[name].order for other in now)
    }
    named = [term for term in terms if term.component not in passed]
    last = max(named, key=lambda term: where[term.component].order).component
    absent = next((term for term in terms if where[term.component].absent and term.component != last), None)
    if absent is None:
        return last
    for term in terms:
        _check_later(absent, term, where)
    return absent.component


def _check_later(absent: FieldTerm | AggregateTerm, term: FieldTerm | AggregateTerm, where: Mapping[str, PatternPlace]) -> None:
    """Refuse a term that a condition of an absent component can't name though it comes later."""
    name, here, other = absent.component, where[absent.component], where[term.component]
    if term.component == name:
        return
    what = f"a condition of the absent {name} on what comes before it"
    if other.absent:
        raise MisplacedError(what, f"one on {term.component}, which is absent, too", "name a component that takes an event", term)
    if other.order > here.order and (_share(here, other) or all(p.absent or p.order > here.order for p in where.values())):
        hint = f"compare {name} with an earlier component, or with a constant"
        if _share(here, other):
            hint = f"both repeat together, so that there are several {term.component}; {hint}"
        else:
            hint = f"what {term.component} will be is not known when an event of {name} comes; {hint}"
        raise MisplacedError(what, f"{term.component}, which comes after it", hint, absent)


def _slot(last: str, terms: list[FieldTerm | AggregateTerm], where: Mapping[str, PatternPlace]) -> str:
    """Return the slot of a conjunct of the component ``last``."""
    if where[last].absent:
        return "where"
    own = {_moment(term): term for term in terms if term.component == last}
    earlier = any(_moment(term) == "before" for term in terms)
    if "all" in own:
        if own.keys() - {"all", "first"}:
            hint = f"ask it of the extreme: max({last}[].x) or min({last}[].x) in place of {last}[i].x; or use {last}[..i-1]"
            raise MisplacedError(f"{last}[i] or all of {last}[]", "both in one condition", hint, own["all"])
        if not where[last].alone:
            hint = f"ask it of a component behind the group, or repeat {last} alone"
            raise MisplacedError(
                f"a component that is repeated alone for {last}[] and {last}.LEN", "one of a group", hint, own["all"]
            )
        return "done"
    if own.keys() & {"this", "now", "one"}:
        return "rest" if earlier or own.keys() & {"first"} else "where"
    moving = next((term for term in terms if _moment(term) in ("this", "now")), None)
    if not earlier and moving is not None:
        hint = f"write {last}[i] and {moving.component}[i], or {last}[1] and {moving.component}[1]"
        raise MisplacedError(f"{last}[i] beside {moving.component}[i]", f"{last}[1], which is one event", hint, moving)
    return "rest" if earlier else "first"


def _moment(term: FieldTerm | AggregateTerm) -> str:
    """Return when a term is known: "one", "first", "this", "before", "now" or "all"."""
    if isinstance(term, AggregateTerm):
        return term.span
    return "all" if term.which == "last" else term.which


def _share(one: PatternPlace, other: PatternPlace) -> bool:
    """Return whether one iteration of a repeat can hold events of both components."""
    return bool(set(one.loops) & set(other.loops))


def _together(one: PatternPlace, other: PatternPlace) -> bool:
    """Return whether both components stand in the same repeats, so that i means the same iteration of both."""
    return bool(one.loops) and one.loops == other.loops


def _term(term: FieldTerm | AggregateTerm, last: str, slot: str, where: Mapping[str, PatternPlace]) -> Expr:
    """Return a term of a conjunct that is asked of ``last``."""
    if term.component == last:
        return _own(term, slot)
    if _moment(term) not in ("this", "before", "now"):
        if _moment(term) == "all" and _share(where[term.component], where[last]):
            hint = f"how many iterations follow is not known yet; write {term.component}[i] or {term.component}[..i-1]"
            raise MisplacedError(f"{term.component}[i] within the group that it repeats with", "all of its events", hint, term)
        return _of_match(term, where)
    if not _together(where[term.component], where[last]):
        name = term.component
        hint = f"for all of {name} write max({name}[].x) or min({name}[].x), for its last event {name}[{name}.LEN].x"
        if _share(where[name], where[last]):
            hint = f"{name} and {last} have different repetitions around them, so that i would be two numbers"
        raise MisplacedError(f"{name}[i] in a condition of {name} itself or of its group", f"one of {last}", hint, term)
    later = where[term.component].order > where[last].order  # not yet taken in this iteration
    if isinstance(term, FieldTerm):
        back = term.back if later or term.which == "this" else term.back + 1
        return Ref(term.component, "last", term.field, back)
    if not later and term.span == "before":
        hint = f"{term.component}[i] has been taken when {last} is asked: write {term.component}[..i]"
        raise MisplacedError(f"{term.component}[..i] in a condition of {last}", f"{term.component}[..i-1]", hint, term)
    return Aggregate(term.component, term.function, term.field)


def _own(term: FieldTerm | AggregateTerm, slot: str) -> Expr:
    """Return a term of the component that is asked."""
    if slot == "done":
        return _of_match(term, {})
    if isinstance(term, AggregateTerm):
        return Aggregate(term.component, term.function, term.field, term.span == "now")
    if term.which == "before":
        return Ref(term.component, "last", term.field, term.back)
    if term.which == "first" and slot == "rest":
        return Ref(term.component, "first", term.field)
    return FieldRead("e", term.field)


def _of_match(term: FieldTerm | AggregateTerm, where: Mapping[str, PatternPlace]) -> Expr:
    """Return a term of a component that has taken all its events."""
    name = term.component
    if name in where and where[name].absent:
        raise MisplacedError("a component that takes an event", f"{name}, which is absent", "name another component", term)
    if _moment(term) in ("this", "before", "now"):
        hint = f"write {name}[1].x, {name}[{name}.LEN].x or an aggregate: max({name}[].x)"
        raise MisplacedError(f"a value of all of {name}", f"{name}[i], which means one iteration", hint, term)
    if isinstance(term, AggregateTerm):
        return Aggregate(name, term.function, term.field)
    return Ref(name, term.which, term.field, term.back)


def _needed(term: FieldTerm | AggregateTerm, last: str, where: Mapping[str, PatternPlace]) -> tuple[str, int]:
    """Return how many events of a component must have been taken before a term has a value."""
    if not isinstance(term, FieldTerm) or term.which != "before":
        return term.component, 0
    behind = where[term.component].order < where[last].order
    return term.component, term.back + (2 if behind else 1)


def _opening(pattern: Pattern) -> Component | None:
    """Return the component that takes the first event; None if several can."""
    match pattern:
        case Component():
            return pattern
        case Seq(items, _):
            return _opening(items[0])
        case Repeat(item, low, _, _) if low > 0:
            return _opening(item)
    return None
