"""The automaton: the program, which is frozen. All that changes while it runs is in an engine's state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from afa.errors import AutomatonError, ChangeError, Int64Error
from afa.model.arc import Arc, check_arc, check_written
from afa.model.binding import bound_arc
from afa.model.choice import Choice
from afa.model.frozen import Frozen
from afa.model.unmatchable import check_all, check_servable
from afa.schema import Schema


class NoRegister(NamedTuple):
    """The register of an automaton that carries no values."""


class Automaton(Frozen):
    """An augmented finite automaton: states, arcs, start, final states, initial register ([AFA10] Definition 1).

    Parameters
    ----------
    start : str
        The start state.
    final : iterable of str
        The final states. More can come with arcs that carry ``final=True``.
    arcs : iterable of Arc
        Several arcs between two states are allowed. There may be no arcs at all, and states that no arc reaches or leaves: arcs may
        come to the running operator (`Operator.push_arc`) and bring states of their own. `explain` lists such states.
    register : NamedTuple instance, optional
        The initial register ``Z``; its class is the register schema. Left out: no values.
    event : NamedTuple class, optional
        The event schema. Left out: any hashable payload is taken, and only the interpreted engine serves.
    shown : NamedTuple class, optional
        What a match shows: the first fields of the register. Left out: all of it. In a final state the others are to have their
        initial values, so that matches which differ show it.
    ties : bool
        False: two events of one instant (and sequence) of a key are refused, by a `ChangeError`; else they are alternatives.
    having : callable, or (callable, int), optional
        Of the matches only those are in force of which a path satisfies ``having(path)``; a path is a tuple of ``(component,
        event)`` in order, the event as a `Change`. Paths are tried one by one, at most so many steps a match, 1,000,000 or the
        number given, or the call is refused (`afa.BudgetError`). An operator then keeps what lineages need. Conditions of
        a query that wait for the match stand here (`Query.operator`).
    choice : Choice, optional
        Which matches are shown, and what of them: AFTER MATCH SKIP. `afa.sql` makes it.

    Raises
    ------
    AutomatonError
        The message names what is wrong: a state that is no name, no final state, a register that does not fit its schema, a field
        that is no scalar, two arcs of one name, a function of the wrong arity, text that is no expression, an epsilon self-loop
        that can't end, a field that an event or the register does not have, a fence that no value satisfies.

    Examples
    --------
    >>> class Tick(NamedTuple):
    ...     change: float
    >>> two_downs = Automaton(
    ...     start="start",
    ...     final={"done"},
    ...     event=Tick,
    ...     arcs=[Arc("start", "down", lambda e, r: e.change < 0), Arc("down", "done", lambda e, r: e.change < 0)],
    ... )
    >>> two_downs.states
    ('start', 'down', 'done')
    """

    __slots__ = (
        "arcs", "choice", "event", "event_schema", "final", "having", "match_schema", "register", "register_schema", "shown",
        "start", "states", "ties",
    )  # fmt: skip
    _instead = "; push an arc to a running operator instead"

    arcs: tuple[Arc, ...]
    choice: Choice | None
    event: type | None
    event_schema: Schema | None
    final: frozenset[str]
    having: Any
    match_schema: Schema
    register: Any
    register_schema: Schema
    shown: type | None
    start: str
    states: tuple[str, ...]
    ties: bool

    def __init__(
        self,
        *,
        start: str,
        final: Iterable[str],
        arcs: Iterable[Arc],
        register: Any = None,
        event: type | None = None,
        shown: type | None = None,
        ties: bool = True,
        having: Any = None,
        choice: Choice | None = None,
    ) -> None:
        fields: dict[str, Any] = {"start": start, "arcs": tuple(arcs), "event": event, "shown": shown, "ties": ties}
        fields |= {"having": having, "choice": choice}
        for arc in fields["arcs"]:
            check_arc(arc)
        _check_names(fields["arcs"])
        _check_having(having)
        if isinstance(final, str):
            raise AutomatonError(f"expected a set of states but got final={final!r}; write {{{final!r}}}")
        fields["final"] = frozenset(final)
        _check_states(start, fields["final"], fields["arcs"])
        fields["states"] = _states(start, fields["arcs"], fields["final"])
        fields["event_schema"] = None if event is None else Schema.of(event, "event")
        fields["register_schema"], fields["register"] = _initial(register)
        fields["match_schema"] = _match_schema(shown, fields["register_schema"]) if choice is None else choice.schema
        for arc in fields["arcs"]:
            check_written(arc, fields["event_schema"], fields["register_schema"])
        finals = fields["final"].union(arc.dst for arc in fields["arcs"] if arc.final)
        check_all(fields["arcs"], start, finals, fields["event_schema"], fields["register_schema"])
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    def match(self, register: Any) -> Any:
        """Return what a match with this register shows."""
        if self.choice is not None:
            raise AutomatonError(
                "expected an automaton whose matches show their registers but got one that chooses (AFTER MATCH SKIP), whose "
                "matches show its measures: see what its operator tells"
            )
        return register if self.shown is None else self.shown(*register[: len(self.match_schema.fields)])

    def check_arc(self, arc: Any) -> None:
        """Refuse an arc that can't mean anything here (`AutomatonError`), by a message that names it."""
        check_arc(arc)
        check_written(arc, self.event_schema, self.register_schema)
        check_servable(arc, self.event_schema, self.register_schema)
        if self.choice is not None:
            self.choice.check_arc(arc, self.arcs)

    def bound(self, tick: str | None) -> Automaton:
        """Return the automaton with each `afa.span` in its arcs as the ticks that it lasts; this very one if there are none.

        An operator does so with its own ``tick``. Arcs stay equal, and keep their names.

        Parameters
        ----------
        tick : "ns", "us", "ms", "s", "min", "h", "d" or None
            What one int of LE counts.

        Raises
        ------
        AutomatonError
            There is no ``tick``, or a span is no whole number of ticks; or a function that can't be taken apart reads a span.

        Examples
        --------
        >>> class Tick(NamedTuple):
        ...     age: int
        >>> young = Automaton(start="a", final={"b"}, event=Tick, arcs=[Arc("a", "b", "age < span('10 minutes')")])
        >>> [young.bound(tick).explain()[0].texts["fence"] for tick in ("s", "ms")]
        ['e.age < 600', 'e.age < 600000']
        """
        arcs = tuple(bound_arc(arc, tick, self) for arc in self.arcs)
        choice = None if self.choice is None else self.choice.bound(tick)
        if all(arc is own for arc, own in zip(arcs, self.arcs)) and (choice is None or choice == self.choice):
            return self
        return changed(self, arcs=arcs, choice=choice)

    if TYPE_CHECKING:  # methods that packages above give it: see `afa.METHODS`

        def draw(self, form: str = "svg", *, labels: str = "code") -> str:
            """Draw states and arcs."""

        def explain(self) -> Any:
            """Explain each arc: an `afa.explain.Explanation`."""

    def _repr_svg_(self) -> str:
        """Return the drawing, for notebooks."""
        return self.draw()

    def __reduce__(self) -> tuple[Any, ...]:
        return _automaton, tuple(_said(self).values())

    def __repr__(self) -> str:
        return f"Automaton({self.start!r} -> {sorted(self.final)}, {len(self.states)} states, {len(self.arcs)} arcs)"


def _automaton(
    start: str,
    final: frozenset[str],
    arcs: tuple[Arc, ...],
    register: Any,
    event: type | None,
    shown: type | None = None,
    ties: bool = True,
    having: Any = None,
    choice: Choice | None = None,
) -> Automaton:  # for pickle
    parts: dict[str, Any] = {"start": start, "final": final, "arcs": arcs, "register": register, "event": event, "shown": shown}
    return Automaton(**parts, ties=ties, having=having, choice=choice)


def _said(automaton: Automaton) -> dict[str, Any]:
    """Returns the arguments of an automaton, in the order of `_automaton`."""
    names = ("start", "final", "arcs", "register", "event", "shown", "ties", "having", "choice")
    return {name: getattr(automaton, name) for name in names}


def changed(automaton: Automaton, **other: Any) -> Automaton:
    """Returns the same automaton with other arguments."""
    return Automaton(**_said(automaton) | other)


def _states(start: str, arcs: tuple[Arc, ...], final: frozenset[str]) -> tuple[str, ...]:
    ends = [state for arc in arcs for state in (arc.src, arc.dst)]
    return tuple(dict.fromkeys([start, *ends, *sorted(final)]))


def _check_names(arcs: tuple[Arc, ...]) -> None:
    seen: dict[Arc, Arc] = {}
    for arc in arcs:
        if arc in seen:
            raise AutomatonError(f"expected one arc of a name but got {arc!r} beside {seen[arc]!r}")
        seen[arc] = arc


def _check_having(having: Any) -> None:
    function, budget = having if isinstance(having, tuple) and len(having) == 2 else (having, 1)
    of_query = hasattr(having, "plus")  # a condition that waits
    if having is not None and not of_query and (not callable(function) or type(budget) is not int or budget < 1):
        raise AutomatonError(f"expected a function of a path, or one with a budget of steps, but got having={having!r}")


def _check_states(start: Any, final: frozenset[Any], arcs: tuple[Arc, ...]) -> None:
    for name, state in [("start", start), *(("final state", state) for state in final)]:
        if not isinstance(state, str) or not state:
            raise AutomatonError(f"expected a state name (str) but got {name}={state!r}")
    if not final and not any(arc.final for arc in arcs):
        raise AutomatonError("expected at least one final state but got final=set()")


def _initial(register: Any) -> tuple[Schema, Any]:
    if register is None:
        register = NoRegister()
    if isinstance(register, type):
        raise AutomatonError(f"expected an initial register (an instance) but got the class {register.__name__}; call it")
    if not (isinstance(register, tuple) and hasattr(register, "_fields")):
        raise AutomatonError(f"expected a NamedTuple as the register but got register={register!r}")
    schema = Schema.of(type(register), "register")
    try:
        return schema, schema.take(register)
    except (ChangeError, Int64Error) as error:
        raise AutomatonError(f"expected an initial register that fits its schema: {error}") from error


def _match_schema(shown: type | None, register_schema: Schema) -> Schema:
    if shown is None:
        return register_schema
    schema = Schema.of(shown, "shown")
    if schema.fields != register_schema.fields[: len(schema.fields)]:
        raise AutomatonError(f"expected shown= to be the first fields of {register_schema.describe()} but got {schema.describe()}")
    return schema
