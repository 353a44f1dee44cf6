"""A query: a pattern tree with the automaton that it stands for, and what an operator of it needs."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from afa.errors import AfaError, QueryError, SnapshotError
from afa.expression.nodes import FieldRead
from afa.expression.text import text_of_expr
from afa.html_tables import pairs, titled
from afa.language.answer_rows import AnswerPlan, answer_plan
from afa.language.bare_numbers import nodes_of
from afa.language.changes import QueryChanges, changes, digests, held_for, renamed
from afa.language.explain_query import QueryExplanation, explained
from afa.language.looking_back import LookingBack
from afa.language.lowering import Lowered
from afa.language.path_conditions import Postponed
from afa.language.pattern import Tree
from afa.language.payload_classes import made
from afa.language.postponed import QueryPlan, served
from afa.language.registers import FRESH, Running
from afa.language.scanned_query import scanned
from afa.language.three_values import true
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.model.choice import differences
from afa.model.conflicts import ALL_ROWS, QUERY, SKIP, check
from afa.model.event_order import VALUES, fields_in
from afa.model.frozen import Frozen
from afa.model.option_values import tick_of
from afa.model.renamed import renamed as old_names
from afa.operator.contract import Pattern, own_key
from afa.operator.operator import Keyed, Operator
from afa.operator.options import IN_FRONT, OperatorOptions, Options, options_again, said_options, takes_options
from afa.operator.snapshot import belongs
from afa.schema import DECIMALS, DIGITS, HIDDEN, Schema
from punctuation.durations import in_units
from speculation.around import Around
from speculation.layers import Layer, build, in_front, parts_of, restore
from speculation.look_back import LookBack
from speculation.match_numbers import NumberedMatches
from speculation.row_view import RowView, ViewInput

if TYPE_CHECKING:
    from afa.operator.options import Unpack

LOGGER = logging.getLogger("afa.language")
TYPE = re.compile(r"\bSEQ\s*\(\s*~?\s*\(*\s*(\w+)")
"""The type of the first component: where no column holds types, all events are of it."""


class Query(Frozen, Pattern):
    """A query, frozen. `afa.query` reads one from SASE+ text, `afa.sql` from SQL; `afa.language` has the words to build one.

    Parameters
    ----------
    tree : Tree

    Attributes
    ----------
    automaton : Automaton
    key : str, tuple of str, or None
        The field or fields by which the stream is partitioned, as `Keyed` takes them.
    window : int or None
        Ticks that an event lives in the operator.
    components : tuple of str
        The components' names, in the order of the pattern.

    Raises
    ------
    AfaError
        The tree names what is not there, or asks for what no automaton does.
    """

    __slots__ = ("_answer", "_lowered", "_running", "tree")

    tree: Tree
    _answer: AnswerPlan | None
    _lowered: Lowered
    _running: Running

    def __init__(self, tree: Tree) -> None:
        self._fill(tree, FRESH)

    def _fill(self, tree: Tree, running: Running) -> None:
        if not isinstance(tree, Tree):
            raise AfaError(f"expected a pattern tree but got {tree!r}; afa.query reads text, afa.sql SQL")
        object.__setattr__(self, "tree", tree)
        if tree.rows is not None and tree.skip is None:
            raise AfaError("expected a query that chooses (AFTER MATCH SKIP) where each row of a match is shown but got skip=None")
        answer = answer_plan(tree)
        object.__setattr__(self, "_answer", answer)
        tree = tree if answer is None else answer.tree
        object.__setattr__(self, "_lowered", Lowered(tree, running) if tree.skip is None else scanned(tree, running))
        object.__setattr__(self, "_running", running)
        self.shown  # noqa: B018 - refuses what no match can show

    @property
    def automaton(self) -> Automaton:
        """The automaton that the query stands for; what a match shows are RETURN's values, in RETURN's order."""
        return self._lowered.automaton

    @property
    def key(self) -> str | tuple[str, ...] | None:
        """The field or fields that partition the stream, as `Keyed` takes them; None: there are none."""
        key = self.tree.key
        return None if not key else key[0] if len(key) == 1 else key

    @property
    def event(self) -> type:
        """The class of the events."""
        return self.tree.event if self.tree.computed is None else self.tree.computed.event

    @property
    def tick(self) -> str | None:
        """What one int of LE counts; None: the query does not say it."""
        return self.tree.tick

    @property
    def window(self) -> int | None:
        """How many ticks an event lives in the operator: the query's window, and one more where it asks what comes at its end."""
        window = self.tree.window
        return window if window is None or not self.tree.after else window + 1

    @property
    def ordered_by(self) -> str | None:
        """The field that orders events of one time."""
        return self.tree.order

    @property
    def ranked(self) -> Query | None:
        """The query over rows whose rank is their LE, where ORDER BY says none; the time is a value as any other. Else None."""
        tree = self.tree
        if tree.rank is None:
            return None
        computed = tree.computed and tree.computed._replace(event=_timeless(tree.computed.event))
        return Query(replace(tree, event=_timeless(tree.event), computed=computed, rank=None, ranked_by=tree.rank))

    def check_time(self) -> None:
        """Refuse a query whose ORDER BY is no order of a stream."""
        if self.tree.rank is not None:
            said = "no ORDER BY" if self.tree.rank == VALUES else f"ORDER BY {self.tree.rank}"
            said += f" (of {', '.join(self.computed)})" if self.computed else ""
            raise QueryError(
                f"expected ORDER BY with the time, or an int that is LE, first and ascending, as a stream is ordered by that, but "
                f"got {said}; afa.find(query, frame) takes it, of a whole frame"
            )

    @property
    def traits(self) -> list[str]:
        """What contradicts options: it is a query, chooses, tells rows."""
        more = {ALL_ROWS: self.tree.rows, SKIP: self.tree.skip}
        return [QUERY, *(name for name, there in more.items() if there is not None)]

    @property
    def components(self) -> tuple[str, ...]:
        """The names of the components, in the order of the pattern."""
        return self._lowered.components

    @property
    def looking_back(self) -> LookingBack | None:
        """What a negation at the start, and neighbours, ask of the stage in front of the operator; None: there is none."""
        return self._lowered.back

    @property
    def answers_behind(self) -> bool:
        """Whether a stage behind the operator makes what leaves of matches: their numbers, or WHERE."""
        return self._answer is not None

    @property
    def held(self) -> dict[str, str]:
        """For each state of the automaton a digest of what a match holds there; where two queries hold the same, matches go on."""
        return digests(self._lowered)

    @property
    def shown(self) -> Schema:
        """What a match shows, or each row of it: the names and types of RETURN."""
        matches = self.automaton.match_schema
        return matches if self._answer is None else self._answer.shown(matches)

    @takes_options()
    def operator(self, *, postpone: bool | None = None, **options: Unpack[OperatorOptions]) -> Keyed | Operator | Around:
        """Make an operator: a `Keyed` where the query has a key, else an `Operator`.

        In front of it stands a `LastBefore`, where the query begins with a negation, or asks for neighbours. With AFTER MATCH SKIP
        it is one that chooses.

        Parameters
        ----------
        postpone : bool, optional
            Whether conditions on sums and means of all of a component wait for the match, and are asked of its paths then
            (`explain` names them). True: or the query is refused. False: the automaton carries them, which takes a partial match
            for each choice of events under skip till any match. None: they wait, where that saves this and no option speaks against
            it. What a match means is the same. A match that can't be decided in 1,000,000 steps makes the call fail
            (`afa.BudgetError`).
        options
            As of `Operator`; the window and the order are the query's, and so is the key, if it has one.

        Raises
        ------
        AfaError
            An option is one that the query says; or it asks for threads, and the query has no key; or for the longest matches, and
            the query chooses.
        """
        said = said_options(options, "Query.operator")
        key = own_key(self, said)
        if key != self.key and self.tree.before:
            raise AfaError(f"expected a query that says its key, of which its negation at the start asks, but got key={key!r}")
        if key != self.key and self.tree.rows is not None:
            raise AfaError(f"expected ALL ROWS PER MATCH with PARTITION BY, by which rows show their key, but got key={key!r}")
        return self._operator(key, postpone, said)

    def operator_by(
        self, key: str, /, *, postpone: bool | None = None, **options: Unpack[OperatorOptions]
    ) -> Keyed | Operator | Around:
        """Make an operator that matches within the values of another column than the query's key, which events need not have.

        Each of its values stands for a part of what has one key: `afa.replay` numbers such parts. All else as of `operator`.
        """
        return self._operator(key, postpone, said_options(options, "Query.operator_by"))

    def _operator(self, key: Any, postpone: bool | None, options: dict[str, Any]) -> Keyed | Operator | Around:
        self.check_time()
        said = Options(**options).said
        check(said | dict.fromkeys(self.traits, True))
        automaton = self._served(postpone, said).automaton
        said |= {"window": self.window, "order_by": self.tree.order, "tick": self._own_tick(said.get("tick"))}
        front = in_front(said)
        made: Keyed | Operator | Around = build(Operator(automaton, key=key, **said), [*self.stages(), *front])
        return made

    def stages(self) -> list[Layer]:
        """Return the query's own stages around an operator, from the operator outwards."""
        found, back = [], self._lowered.back
        if back is not None:
            found.append(Layer("LastBefore", LookBack, lambda _: back.stage()))
        if self.tree.where is not None or self.tree.computed is not None:
            found.append(Layer("RowView", ViewInput, lambda _: self.view()))
        answer, matches = self._answer, self.automaton.match_schema
        if answer is not None:
            found.append(Layer("MatchNumbers", NumberedMatches, lambda _: answer.stage(matches)))
        return found

    @property
    def where(self) -> str | None:
        """The condition on events that the query is of, as text."""
        if self.tree.where is None:
            return None
        optional = {field.name for field in Schema.of(self.tree.event, "event").fields if field.optional}
        return text_of_expr(true(self.tree.where, lambda leaf: isinstance(leaf, FieldRead) and leaf.name in optional))

    @property
    def computed(self) -> list[str]:
        """The fields that are computed of each event as it comes, as text."""
        made = self.tree.computed
        return [] if made is None else [f"{name}: {text_of_expr(value)}" for name, value in made.values]

    def view(self) -> RowView:
        """Make the stage by which the query is of those events of which WHERE holds, with fields that are computed of each."""
        tree, made = self.tree, self.tree.computed
        return RowView(self.event, self.where, tree.event, () if made is None else made.values, tree.tick)

    @property
    def filled(self) -> Query:
        """The query over events that have the fields which it computes of each."""
        return self if self.tree.computed is None else Query(replace(self.tree, computed=None))

    def _own_tick(self, said: str | None) -> str | None:
        tick, own = tick_of(said), self.tree.tick
        if None not in (tick, own) and tick != own:
            raise AfaError(f"expected the query's own tick={own!r} but got tick={said!r}")
        return own if tick is None else tick

    def restore(
        self, blob: bytes, *, arcs: Iterable[Arc] = (), stages: Iterable[Any] = (), **options: Unpack[OperatorOptions]
    ) -> Keyed | Operator | Around:
        """Make the operator of this query that ``snapshot`` saved, with the stages around it.

        Parameters
        ----------
        blob : bytes
        arcs, stages, options
            As of `Operator.restore`.

        Raises
        ------
        SnapshotError
            The blob is no snapshot of an operator of this query, or is damaged.
        AfaError
            It asks for threads, and the query has no key.
        """
        self.check_time()
        said = options_again(options)
        key = own_key(self, said)
        around, alone = parts_of(blob)
        older = {"Choose", "AllRows", "ChosenMembers"} & {part.name for part in around}
        if older and self.automaton.choice is not None and not belongs(self.automaton, alone):
            raise SnapshotError(
                f"expected a snapshot of this query, whose operator chooses while it matches, but got one of another, or of an "
                f"older version, which chose behind it, by the stage {', '.join(sorted(older))}: make a new operator, and feed it "
                f"what the window still holds"
            )
        check({name: said[name] for name in ("window", "order_by") if name in said} | {QUERY: True})
        said["tick"] = self._own_tick(said.get("tick"))
        front = {name: said.pop(name) for name in IN_FRONT if name in said}

        def bare(part: bytes) -> Keyed | Operator:
            waits = self._served(None, {}).automaton
            automaton = waits if waits.having is not None and belongs(waits, part) else self.automaton
            made: Keyed | Operator = Operator.restore(automaton, part, arcs=arcs, **said, key=key)
            return made

        found: Keyed | Operator | Around = restore(blob, bare, self.stages(), stages, front)
        return found

    def _served(self, postpone: bool | None, options: Mapping[str, Any]) -> QueryPlan:
        """Returns the parts of an operator, with or without conditions that wait."""
        return served(self._lowered, postpone, options)

    def explain(self) -> QueryExplanation:
        """Explain what became of the query: states, the register, what a repetition costs, warnings; ``print`` shows it."""
        found, answer = explained(self._served(None, {})), self._answer
        return found if answer is None else found._replace(warnings=(*found.warnings, *answer.costs))

    def draw(self, form: str = "svg", *, labels: str = "code") -> str:
        """Draw the automaton that the query stands for; see `Automaton.draw`."""
        return self.automaton.draw(form, labels=labels)

    def _repr_html_(self) -> str:
        """Returns the query's clauses and its automaton, for notebooks."""
        returns = ", ".join(field.name for field in self.shown.fields)
        within = self.window and in_units(self.window, self.tree.tick)
        rows = [("components", ", ".join(self.components)), ("by", ", ".join(self.tree.key)), ("within", within)]
        known = [(name, value) for name, value in [*rows, ("returns", returns)] if value]
        return titled("Query", pairs(known), self.draw())

    def changes_to(self, other: Query, postpone: bool | None = None) -> QueryChanges:
        """Return the way of a running operator from this query to another one: arcs that go and come, states that stay.

        Parameters
        ----------
        other : Query
        postpone : bool, optional
            As the operator was made with it; False, too, where an option of it spoke against it (`operator`).

        Raises
        ------
        AfaError
            They differ in what an operator can't change while it runs: events, key, order, window, register, conditions that wait.
        """
        if not isinstance(other, Query):
            raise AfaError(f"expected a Query but got {other!r}")
        if (self.tree.where, self.tree.computed) != (other.tree.where, other.tree.computed):
            one, another = (", ".join(each.view().said) or "all events" for each in (self, other))
            raise AfaError(
                f"expected a query of the same events, for an operator that runs, but got {one} and {another}: "
                f"make a new operator of it, and feed it what the window still holds"
            )
        mine, its = self.shown_as, other.shown_as
        if mine != its:
            raise AfaError(
                f"expected a query that chooses and shows alike, for an operator that runs, but got another one "
                f"({differences(mine, its) if mine and its else 'one of both has no AFTER MATCH SKIP'}): make a new operator of "
                f"it, and feed it what the window still holds"
            )
        beside = [", ".join(name for name, *_ in query.tree.neighbours) or "none" for query in (self, other)]
        if self.tree.neighbours != other.tree.neighbours or self.tree.ends != other.tree.ends:
            raise AfaError(
                f"expected a query with the same neighbours for a running operator, {beside[0]}, but got {beside[1]}: make a new "
                f"operator of it, and feed it what the window still holds"
            )
        now, then, led = self._served(postpone, {}), other, other._served(postpone, {})
        if mine is not None and led.lowered.registers.slots != now.lowered.registers.slots:
            then = _query(other.tree, Running(other._running.names, held_for(now.lowered, led.lowered)))
            led = then._served(postpone, {})
        if now.waiting != led.waiting:
            raise AfaError(
                f"expected a query with the same conditions that wait for the match, as a running operator asks them, but got "
                f"{_words(now.waiting)} and {_words(led.waiting)}; try postpone=False here, if the operator was made with it"
            )
        while clash := renamed(now.lowered, led.lowered):
            then = _query(other.tree, Running(clash | then._running.names, then._running.fields))
            led = then._served(postpone, {})
        return changes(now.lowered, led.lowered)._replace(query=then)

    @property
    def shown_as(self) -> dict[str, Any] | None:
        """What a running operator can't change of what a query that chooses shows; None: it does not choose."""
        choice, answer = self.automaton.choice, self._answer
        return choice and choice.said | ({} if answer is None else {"SELECT or WHERE": answer.said})

    def __eq__(self, other: object) -> bool:
        return (self.tree, self._running) == (other.tree, other._running) if isinstance(other, Query) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.tree)

    def __reduce__(self) -> tuple[Any, ...]:
        return _query, (self.tree, self._running)

    def __repr__(self) -> str:
        by = f" by {', '.join(self.tree.key)}" if self.tree.key else ""
        within = "" if self.window is None else f" within {self.window}"
        return f"Query({' '.join(self.components)}{by}{within})"


def _query(tree: Tree, running: Any) -> Query:
    """Make a query that takes the place of another one. Used by pickle, of older versions with the names alone."""
    running = running if isinstance(running, Running) else Running(running)
    found = Query.__new__(Query)
    found._fill(tree, running)
    return found


def _timeless(event: type) -> type:
    """Return a class of events whose times are ints as any other."""
    fields = tuple((f.name, f.type, f.optional) for f in Schema.of(event, "event").fields)
    found: type = made(event.__name__, fields, hidden=tuple(getattr(event, HIDDEN, ())))
    return found


def _words(waiting: Postponed | None) -> str:
    return "none" if waiting is None else waiting.text


@old_names("order")
def query(text: Any, *, event: Any = None, tick: str | None = None, type: str | None = None, order_by: str | None = None) -> Query:
    """Make a query of SASE+ text, or of what the words of `afa.language` have put together.

    Parameters
    ----------
    text : str or afa.language.Builder
        ``PATTERN SEQ(..) WHERE .. WITHIN .. RETURN ..``
    event : NamedTuple class, table or pyarrow.Schema
        The event schema; a table of any library, or an Arrow schema: a field for each column that is a scalar.
    tick : str, optional
        What one tick of LE is ("us", "ms", "s" ..), for a WITHIN with units. None: the unit of the table's timestamps.
    type : str, optional
        The field that holds an event's type; left out: "type", if there is such a field.
    order_by : str, optional
        The field that orders events of one instant; left out, they are alternatives, of which a match takes one.

    Raises
    ------
    AfaError
        The text is no query of these events; the message names line and column, what was expected, and a way out.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Stock(NamedTuple):
    ...     symbol: str
    ...     price: int
    >>> rising = query("PATTERN SEQ(Stock+ a[]) WHERE skip_till_next_match(a[]) { [symbol] and a[i].price > a[i-1].price }"
    ...                " WITHIN 9 RETURN a[1].price, a.LEN", event=Stock)
    >>> rising
    Query(a by symbol within 9)
    >>> rising.operator().automaton.match_schema.describe()
    'Match(a_first_price: int, a_count: int)'
    """
    if hasattr(text, "query"):
        if event is None:
            return text.query(None, tick=tick, type=type, order_by=order_by)  # type: ignore[no-any-return]
        return over_events(event, tick, lambda cls, tick: text.query(cls, tick=tick, type=type, order_by=order_by))
    from afa.language.sase_reader import read_sase

    named = TYPE.search(text_given(text))

    def made(cls: Any, tick: str | None) -> Query:
        return Query(replace(read_sase(text, cls, tick=tick, type=type, order=order_by), tick=tick))

    return over_events(event, tick, made, named[1] if named else "Event")


def check_order(pattern: Any, time: str, columns: Iterable[str]) -> None:
    """Refuse a column of times where a query in SQL orders rows by another field or column. An `afa.Instant` is what the times are.

    Raises
    ------
    QueryError
    """
    tree = getattr(pattern, "tree", None)
    ordered = getattr(tree, "ordered", None)
    if isinstance(pattern, Query):
        pattern.check_time()
    if tree is None or ordered in (None, "le", time.lower()) or time == "le" or Schema.of(tree.event, "event").instant is not None:
        return
    if ordered in {name.lower() for name in (*tree.event._fields, *columns)}:
        raise QueryError(f"expected time={ordered!r}, the column of ORDER BY, but got time={time!r}")


def text_given(text: Any) -> str:
    if not isinstance(text, str):
        raise AfaError(f"expected the text of a query but got {text!r}")
    return text


def over_events(
    event: Any,
    tick: str | None,
    made: Callable[[type, str | None], Query],
    name: str = "Event",
    time: str | None = None,
    said: Collection[str] | None = None,
) -> Query:
    """Return the query that is made over a class of events, which may be given as a table, and the tick of these.

    ``said``: all names of columns in its text, in small letters; others are left out.
    """
    if event is None:
        raise AfaError("expected event=, the NamedTuple class of the events, or a table of them, but got event=None")
    if isinstance(event, type):
        return made(event, tick)
    from afa.io.event_class import events_of  # which loads pyarrow

    def read(without: Collection[str]) -> Query:
        cls, unit = events_of(event, name, time, tick, without)
        return made(cls, tick or unit)

    return over_named(read, said)


def over_named(read: Callable[[Collection[str]], Query], said: Collection[str] | None = None) -> Query:
    """Return the query that is read over a table's class without some columns: those of times that it does not name.

    Of these the values need be no ticks. ``said``: without any that is not among these names, unless rows stand in the order of
    all their values.
    """
    found = read(())
    tree, schema = found.tree, Schema.of(found.tree.event, "event")
    without = times_unread(found)
    if said is not None and not any(VALUES in order for order in (tree.order, tree.rank) if order is not None):
        kept = {tree.time, None if tree.rank else schema.instant}
        without = [field.name for field in schema.fields if field.name.lower() not in said and field.name not in kept]
    try:
        return read(without) if without else found
    except QueryError:  # the text names a column where no value of it is ever read, as LAST(x, 2) of one row
        return found


def times_unread(found: Query) -> list[str]:
    """Return the fields of times that a query does not name. Tells, once, of a DECIMAL that it reads as a float."""
    tree, schema = found.tree, Schema.of(found.tree.event, "event")
    orders = [order for order in (tree.order, tree.rank) if order is not None]
    named = {*(name for order in orders for name in fields_in(order)), tree.time, *tree.key}
    named |= {field for _, field, _ in tree.neighbours}
    ends, shown = (tree.before, tree.after, tree.begins, tree.ends), (tree.returns or (), tree.asked)
    for node, _ in nodes_of((tree.pattern, ends, shown, tree.virtual, tree.where, tree.computed and tree.computed.values), ""):
        named |= {getattr(node, "name", None), getattr(node, "field", None), getattr(node, "by", None)}
    for name, (precision, _) in getattr(tree.event, DECIMALS, {}).items():
        if name in named and (tree.ordered is None or precision > DIGITS):  # SQL calculates with shorter ones exactly
            _tell_of_decimals("x" if name.startswith("afa_by_") else name)  # of an expression that an engine computes
    return [name for name in schema.times if name not in named and name != schema.instant]


@functools.cache
def _tell_of_decimals(name: str) -> None:
    LOGGER.warning(
        f"a DECIMAL is taken as the nearest float, as of {name}, which in SQL is exact up to {DIGITS} digits, and in sums of other "
        f"queries is not; where that matters, let the column be an int of the smallest unit, CAST({name} * 100 AS BIGINT)"
    )
