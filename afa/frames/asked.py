"""What a whole frame is asked for: a pattern, and the operators that answer it. Whatever makes operators may be a pattern."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from afa.errors import AfaError, QueryError
from afa.model.arc import CONSUME, EPSILON, TIMEOUT
from afa.model.automaton import Automaton
from afa.model.option_values import threads_of
from afa.model.reach import check_whole
from afa.operator.contract import Pattern
from afa.operator.matching import Matching
from afa.operator.members import Members
from afa.operator.operator import Keyed, Operator
from afa.operator.options import OF_FRAMES, Options, options_of
from afa.operator.patterns import pattern_of
from afa.operator.told_anew import ToldAnew
from afa.schema import Field, Schema
from speculation.around import Around, Front
from speculation.before_after import After
from speculation.match_numbers import NumberedMatches
from speculation.row_view import RowView, ViewInput

TAKES = OF_FRAMES
"""The options of an operator that say something of one which takes all rows by time."""
BACKTESTS = tuple(name for name in TAKES if name != "members")
SWEEPS = tuple(name for name in BACKTESTS if name not in ("collapse", "having"))


class OperatorPlan(NamedTuple):
    """A pattern that is bound to a tick."""

    make: Callable[[], Any]  # returns an operator that has taken nothing yet
    events: Schema  # the events that it takes
    shown: Schema  # what its matches show
    keys: tuple[str, ...]  # the columns that make the key
    order_by: str | None  # the field that orders events of one LE
    tick: str | None  # what one int of LE is
    waits: bool  # whether it has time-outs, which fire as the clock goes on
    # steady, ties: whether an event in order never withdraws a match; also where several have one LE
    steady: bool
    ties: bool
    native: bool  # whether it runs without Python, so that threads do side by side
    members: Members | None  # what comes with each match of the events behind it
    automaton: Automaton  # the automaton that serves, bound to the tick
    window: int | None  # how many ticks an event lives
    alone: bool  # whether no stage at the operator looks at events, or matches, before those of a match
    # how long matches last at most, and the columns that say when one begins, where slices of time may be taken side by side
    spanned: Any = None
    lanes: Any = None  # the core of an operator whose history may go in lanes (`afa.frames.lanes`); None: it may not
    numbers: bool = False  # whether a stage behind that makes of matches what leaves: the outermost one of what `make` returns
    where: RowView | None = None  # the stage in front of it that leaves rows out
    computed: RowView | None = None  # what computes those of its fields that no column of a frame holds

    def running(self, threads: bool) -> Any:
        """Return an operator that lets other threads run meanwhile, if there are any."""
        op = self.make()
        if threads:
            op._core.engine.let_threads_run()
        return op

    @property
    def fields(self) -> list[Field]:
        """The columns of events that a frame must have."""
        return [field for field in self.came.fields if field.name != self.came.instant]

    @property
    def came(self) -> Schema:
        """The events whose fields a frame holds."""
        return self.events if self.computed is None else self.computed.event_schema

    @property
    def made(self) -> dict[str, Field]:
        """By name the fields that no column of a frame holds."""
        return {} if self.computed is None else {field.name: field for field in self.computed.fields}

    @property
    def form(self) -> Any:
        """What of a frame it asks for: patterns of one form take the same rows."""
        computed = None if self.computed is None else self.computed.form
        return tuple(self.fields), self.events.instant, self.keys, self.order_by, self.tick, computed


def taken_options(said: Mapping[str, Any], door: str, takes: Collection[str], threads: Any) -> tuple[Options, int | None]:
    """Return the options among the keyword arguments of a function over frames, and the number of threads; None: one a core."""
    options = options_of(said, door, (*takes, "threads"))
    found = options.threads if threads is None and "threads" in options.said else threads
    return options.but(threads=1), None if found is None else threads_of(found)


def instant_of(pattern: Any) -> str | None:
    """Return the event's field that holds its LE."""
    event = pattern_of(pattern).event if isinstance(pattern, (Pattern, Matching)) else getattr(pattern, "event_schema", None)
    return None if event is None else Schema.of(event, "event").instant if isinstance(event, type) else event.instant


def asked(pattern: Any, options: Options, by: str | None = None) -> OperatorPlan:
    """Make operators of a pattern: an automaton with these options; any other says some of them itself.

    ``by``: the column within whose values it is matched, in place of the key that is said; one that no event has.
    """
    check_key(options.key)
    if isinstance(pattern, Automaton):
        if pattern.event_schema is None:
            fields = "a NamedTuple whose fields are columns of the frame"
            raise AfaError(f"expected an automaton with event=, {fields}, but got one without a schema")
        check_whole(pattern)
    maker, said = pattern_of(pattern).with_tick(options.tick), options.said
    computed, filled = computed_by(maker), maker.filled
    if by is not None:
        said.pop("key", None)

    def make() -> Any:
        made = filled.operator(**said) if by is None else filled.operator_by(by, **said)
        if computed is not None:
            made._core.tell_as(computed.event_schema)
        return made

    return _of(make, computed)


def computed_by(pattern: Pattern) -> RowView | None:
    """Return what computes fields of the rows that a pattern is of; None: columns hold them all."""
    view: RowView | None = pattern.view()
    return view if view is not None and view.values else None


def check_columns(computed: RowView | None, door: str) -> None:
    """Refuse a query that computes fields of rows where only columns will do."""
    if computed is not None:
        raise QueryError(
            f"expected columns in PARTITION BY and ORDER BY for {door} but got expressions ({', '.join(computed.said)}): let "
            f"the table have a column of each"
        )


def _of(make: Callable[[], Any], computed: RowView | None) -> OperatorPlan:
    first = make()
    if not isinstance(first, Matching):
        raise AfaError(
            f"expected a pattern of one operator and of certain times but got {first!r}: push_many of its operator takes a frame"
        )
    core, alone = first._core, [first]
    assert core.taken is not None
    kinds = {arc.kind for arc in core.automaton.arcs}
    steady = not isinstance(first, After) and core.automaton.choice is None
    bare, stages = first, dict[type, Any]()
    for kind in (NumberedMatches, ViewInput):
        if type(bare) is kind:
            bare, stages[kind] = bare.operator, bare.stage
    anew, front = isinstance(core.told, ToldAnew), _front(first)

    def again() -> Any:
        """Return the operator that was looked at, to the one who asks first, or another one."""
        try:
            return alone.pop()
        except IndexError:
            return make()

    return OperatorPlan(
        again,
        core.taken,
        core.shown,
        core.keys.names if core.keys else (),
        core.sequence,
        core.tick,
        waits=TIMEOUT in kinds or getattr(front, "waits", False),
        steady=steady,
        ties=steady and isinstance(first, (Operator, Keyed)) and kinds <= {CONSUME, EPSILON} and not (core.longest or anew),
        native=core.engine.native and core.members is None and not anew,
        members=core.members,
        automaton=core.automaton,
        window=core.window,
        alone=computed is None
        and front is None
        and not any(getattr(stage, "looks_back", False) for stage in first._stages_around()),
        spanned=getattr(front, "spanned", None),
        lanes=core if type(bare) in (Operator, Keyed) and _may_go_in_lanes(core) and not (stages and TIMEOUT in kinds) else None,
        numbers=NumberedMatches in stages,
        where=stages.get(ViewInput),
        computed=computed,
    )


def _may_go_in_lanes(core: Any) -> bool:
    """Return whether nothing of an operator asks for more than an automaton and a window."""
    said = core.options
    plain = said.engine == "auto" and said.keep_payloads and said.gapless is None
    ties = core.automaton.ties or core.automaton.choice is not None  # a scan leaves a lane with several rows of a step
    bounded = said.partial_matches == Options.partial_matches and said.max_bytes is None
    function = core.keys is not None and core.keys.function is not None
    return bool(plain and ties and bounded and core.told is None and core.kept is None and not function)


def _front(operator: Any) -> Any:
    """Return the stage at the input of an operator, if it has one."""
    while isinstance(operator, Around) and not isinstance(operator, Front):
        operator = operator.operator
    return operator.stage if isinstance(operator, Front) else None


def check_key(key: Any) -> None:
    listed = isinstance(key, (list, tuple)) and len(key) > 0 and all(isinstance(name, str) for name in key)
    if key is not None and not isinstance(key, str) and not listed:
        raise AfaError(f"expected the name of a column as the key, or several, but got key={key!r}")
