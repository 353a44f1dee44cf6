"""Lower a pattern tree to an automaton.

tree -> positions -> conditions, states -> steps -> registers -> arcs, as text

Each step is an arc; a state that skips has one more, from itself to itself. No epsilon arcs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping

from afa.errors import AutomatonError
from afa.expression.arc_functions import Derived, SkipText
from afa.expression.nodes import Binary, Const, Expr, If, Ticks
from afa.expression.nodes import FieldRead as Named
from afa.expression.splitting import clauses
from afa.expression.text import text_of_expr
from afa.language.items import ItemReader
from afa.language.looking_back import LookingBack
from afa.language.match_states import FINAL, START, WAIT, WAITS, MatchState, Predicates
from afa.language.pattern import NO_ROW, STRICT, Tree
from afa.language.positions import Positions
from afa.language.presence import Presence
from afa.language.registers import FRESH, Registers, Running
from afa.language.row_places import counts_of
from afa.language.steps import StateGraph, StateStep
from afa.language.terms import OF_ROW, Aggregate, Final, OfMatch, Ref
from afa.language.three_values import FALSE, TRUE
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.schema import Schema


class Lowered:
    """A tree, lowered, as ``running`` allows.

    Its ``returns`` (what a match shows) are over terms; ``back`` is what a negation at the start asks of a stage in front.
    ``shows``: whether a register holds what they read. ``asks``: whether arcs ask their conditions; else they take any event.
    ``each_row``: a match may end with each of its rows, and these of the values that it shows then may be None.
    """

    def __init__(
        self,
        tree: Tree,
        running: Running = FRESH,
        *,
        shows: bool = True,
        asks: bool = True,
        each_row: Collection[str] | None = None,
    ) -> None:
        self.running, self._asks = running, asks
        self.tree = tree
        self.back = LookingBack.of(tree)
        self.event = Schema.of(tree.event if self.back is None else self.back.event, "event")
        self.positions = Positions.of(tree.pattern)
        names = list(dict.fromkeys(component.name for component in self.positions.components))
        self.components = tuple(name for name in names if name not in NO_ROW)
        groups = {"": self.components, **{name: (name,) for name in names}, **dict(tree.subsets)}
        groups |= {OF_ROW: tuple(names)} if len(self.components) < len(names) else {}
        known = {name: frozenset(members) for name, members in groups.items()}
        most = taken_at_most(self.positions, known)
        self.reader = ItemReader(self.event, known, most, Presence(self.positions.components, most), tree.virtual)
        self.returns = (tree.returns or self._default_returns()) if shows and tree.returns is not None else ()
        values = tuple((name, self.reader.read(value)) for name, value in self.returns)
        self._check()
        ended = [] if self.back is None else [self.reader.read(expr) for expr in self.back.ended]
        self.conditions = Predicates(tree, self.positions, self.reader, [value for _, value in values], ended, asks)
        self.steps = StateGraph(self.conditions, self.reader, everywhere=each_row is not None)
        payload = tree.payload, *times_among(self.returns, tree, self.event)
        self.registers = Registers(self.steps, values, payload, asks, each_row or (), running.fields)
        self.names = self._names()
        self.arc_of: dict[StateStep, Arc] = {}  # where a step is an arc
        self.automaton = Automaton(
            start=self.names[self.steps.states[0]],
            final={self.final},
            arcs=self._arcs(),
            register=self.registers.initial,
            event=self.event.cls,
            shown=self.registers.shown,
            ties=tree.ties,
        )

    def _default_returns(self) -> tuple[tuple[str, Expr], ...]:
        """Returns the values that a match shows without RETURN: the fields of each component that takes exactly one event."""
        single = [name for name, count in counts_of(self.tree.pattern).items() if count == (1, 1)]
        fields = Schema.of(self.tree.event, "event").fields
        return tuple((f"{name}_{field.name}", Ref(name, "one", field.name)) for name in single for field in fields)

    def _check(self) -> None:
        strict = any(edge.gap.strategy == STRICT for edges in self.positions.edges for edge in edges)
        if strict and self.tree.key:
            raise AutomatonError(
                f"expected no strict contiguity in a query by {', '.join(self.tree.key)}, whose keys are streams of their own: "
                f"say partition contiguity"
            )

    def _names(self) -> dict[MatchState, str]:
        """Return a name for each state: of its position, and where a position has several, of what tells them apart."""
        labels, names = self.positions.labels(), {self.steps.states[0]: free(START, self.components)}
        self.final = free(FINAL, self.components)
        for state in self.steps.states[1:]:
            name = free(WAIT, self.components) if state.position == WAITS else labels[state.position]
            if name in names.values():
                absent = self.conditions.ways(state)[0].gap.absent
                name += "".join(f"~{c.name}" for c in absent) or f" {state.skip.strategy if state.skip else STRICT}"
            number, base = 1, name
            while name in names.values() or name in self.running.names:
                number += 1
                name = f"{base} {number}"
            names[state] = name
        return names

    def _arcs(self) -> list[Arc]:
        arcs = [*self._takes(), *self._skips(), *self._waits()]
        return list({str(arc.name): arc for arc in arcs}.values())

    def _takes(self) -> Iterator[Arc]:
        registers = self.registers
        for step in self.steps.steps:
            fence = registers.written(registers.fences[step]) if self._asks else TRUE
            if fence == FALSE:
                continue
            after = registers.after(step)
            same = all(item == Named("r", slot.name) for slot, item in zip(registers.slots, after.items))
            transfer = None if same else text_of_expr(after, registers.schema)
            end = step.dst or self.steps.wait
            src, dst = self.names[step.src], self.final if end is None else self.names[end]
            arc = take_arc(src, dst, text_of_expr(fence), transfer, self.steps.names[step.to])
            self.arc_of[step] = arc
            yield arc

    def _skips(self) -> Iterator[Arc]:
        for state, fence in self.registers.skips.items():
            if fence is not None and fence != FALSE:
                noted = self.registers.noted(state)
                transfer = None if noted is None else text_of_expr(noted, self.registers.schema)
                text = SkipText(text_of_expr(self.registers.written(fence)), tuple(self._bars(state)))
                yield skip_arc(self.names[state], text, transfer)

    def _bars(self, state: MatchState) -> Iterator[tuple[str, str]]:
        """Yields the conjuncts of a state's skipping fence that stand for negations, each with the negation as the query has it."""
        found = self.tree.after if state.position == WAITS else self.conditions.ways(state)[0].gap.absent
        absent = [each for each in found if each not in self.conditions.notes]
        for each, expr in zip(absent, () if state.skip is None else state.skip.absent):
            words = f"~({each.type or self.tree.event.__name__} {each.name})"
            for clause in clauses(self.registers.written(self.steps.not_true(state, expr))):
                yield text_of_expr(clause), words

    def _waits(self) -> Iterator[Arc]:
        """Yield the arcs by which a match that waits for its window's end gets there."""
        if self.steps.wait is None:
            return
        at = Derived(text_of_expr(Binary("+", self.registers.written(self.registers.deadline), Const(self.tree.window))))
        src, reset = self.names[self.steps.wait], self.registers.reset()
        if reset is None:
            yield Arc.timeout(src, self.final, at, name=_name(f"end: {src} -> {self.final}", at))
            return
        over, transfer = free("over", self.components), text_of_expr(reset, self.registers.schema)
        yield Arc.timeout(src, over, at, name=_name(f"end: {src} -> {over}", at))
        yield Arc.epsilon(over, self.final, transfer=transfer, name=_name(f"end: {over} -> {self.final}", transfer))


def take_arc(src: str, dst: str, fence: str, transfer: str | None, component: str) -> Arc:
    """Make the arc by which a component takes an event. Its name says what it does: equal arcs of two queries have one name."""
    name = _name(f"{component}: {src} -> {dst}", fence, transfer or "")
    return Arc(src, dst, Derived(fence), transfer, name=name, select=component)


def skip_arc(state: str, fence: str, transfer: str | None = None) -> Arc:
    """Make the arc by which a state skips events, and takes note of them."""
    texts = (fence,) if transfer is None else (fence, transfer)
    return Arc.skip(state, fence if isinstance(fence, Derived) else Derived(fence), transfer, name=_name(f"skip: {state}", *texts))


def _name(what: str, *texts: str) -> str:
    return f"{what} #{hashlib.blake2b(repr(texts).encode(), digest_size=4).hexdigest()}"


def taken_at_most(positions: Positions, groups: Mapping[str, frozenset[str]]) -> dict[str, int]:
    """Return how many events the components of each name take at most, 2 for more than one."""
    reached = [positions.behind([p]) for p in range(len(positions.components))]
    names = [component.name for component in positions.components]
    most = dict.fromkeys(groups, 1)
    for group, members in groups.items():
        if any(names[p] in members and any(names[q] in members for q in later) for p, later in enumerate(reached)):
            most[group] = 2
    return most


def times_among(values: Iterable[tuple[str, Expr]], tree: Tree, event: Schema) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which of the values that are shown are times, and which of them dates."""
    values, found = tuple(values), []
    for names in (event.times, event.dates):
        fields = {*names, *(name for name, value in tree.virtual if _is_time(value, names, False))}
        found.append(tuple(name for name, value in values if _is_time(value, fields, names is event.times)))
    return found[0], found[1]


def _is_time(value: Expr, fields: Collection[str], moves: bool) -> bool:
    """Return whether a value is one of some fields of an event; ``moves``: also that time, a duration before or behind it."""
    match value:
        case (
            Ref(_, _, field) | Named(_, field) | Aggregate(_, "min" | "max" | "any" | "min_by" | "max_by" | "first" | "last", field)
        ):
            return field in fields
        case Final(x) | OfMatch(x):
            return _is_time(x, fields, moves)
        case Binary("+" | "-", x, Ticks()):
            return moves and _is_time(x, fields, moves)
        case If(_, then, other):
            both = [each for each in (then, other) if each != Const(None)]
            return bool(both) and all(_is_time(each, fields, moves) for each in both)
    return False


def free(name: str, taken: tuple[str, ...]) -> str:
    """Return a name for a state that no component has."""
    while name in taken:
        name += "_"
    return name
