"""The operator: one automaton over one stream; and what it has in common with the one for many keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Literal, overload

from afa.arclog.lines import instant
from afa.change import Change
from afa.engine.budget import PARTIAL_MATCHES, SAVED, Budget
from afa.funnel.counted import MOST
from afa.funnel.funnel import Funnel
from afa.lineage import Lineage
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.operator import snapshot, tables
from afa.operator.call import Core, Output
from afa.operator.gapless import OnGap, Repeated, gapless_of
from afa.operator.maker import makes_operators, signed
from afa.operator.match_lineage import lineage_in
from afa.operator.named_swap import named_swap
from afa.operator.operator_funnel import funnel_in
from afa.operator.shipping import shipped
from afa.operator.shown import drawn_in_force, html_of
from afa.operator.statistics import Statistics, open_timeouts, statistics_of
from afa.operator.twins import twin
from afa.schema import as_ticks
from punctuation.durations import Duration
from punctuation.late import Policy
from punctuation.promise import Punctuation
from punctuation.timestamps import is_time, ticks_of_time

EngineName = Literal["auto", "compiled", "interpreted"]


class Matching:
    """What `Operator` and `Keyed` have in common: all that speaks of no key."""

    _core: Core

    @property
    def automaton(self) -> Automaton:
        """The automaton that the operator was made with; arcs pushed since are not in it."""
        return self._core.automaton

    def push_arc(self, change: Change | Punctuation) -> Output:
        """Take an arc, for all keys, or its retraction, or a promise of the arc input ([AFA10] Sec. 2.3, 5.2).

        ``insert(arc)`` and ``retract(arc)`` act from one tick past all that was seen. With ``le`` (and ``re``) the arc serves the
        events whose LE lies in that lifetime, past ones too. Returns and raises as `push`; an unknown arc is a `ChangeError`.
        """
        return self._arc_input(change)

    def swap(
        self,
        name: str,
        arc: Arc | None = None,
        *,
        fence: Callable[..., Any] | str | None = None,
        transfer: Callable[..., Any] | str | None = None,
        at: int | datetime | str | None = None,
    ) -> Output:
        """Put another arc in the place of the one in force that has this name, for all keys, as one call.

        Partial matches stay, and go on under the new arc. A swap that is refused leaves the arc in force as it was.

        Parameters
        ----------
        name : str
        arc : Arc, optional
            Without a name it gets ``name``. None: the arc in force, with another ``fence``, another ``transfer``, or both.
        fence, transfer : callable or str, optional
            As of `Arc`.
        at : int, datetime or str (ISO 8601), optional
            The old arc serves the events before this LE, the new one those from there on. An instant in the past revises matches.
            None: the present, one tick past all that was seen; as `push_arc` with a retraction and an insertion without lifetimes.
            A datetime, or text, needs ``tick``.

        Returns
        -------
        list of Change and Punctuation
            As of `push`.

        Raises
        ------
        ChangeError
            No arc of this name, or more than one, lasts beyond that instant; or another arc has the new one's name.
        AutomatonError
            The new arc does not fit the automaton.
        LateEventError
            ``at`` lies below the last punctuation of the arc input; whatever the policy for late changes is.

        Examples
        --------
        >>> from typing import NamedTuple
        >>> from afa import Automaton, insert
        >>> class Pay(NamedTuple):
        ...     amount: int
        >>> arcs = [Arc("a", "b", "amount > 500", name="above 500")]
        >>> op = Operator(Automaton(start="a", final={"b"}, event=Pay, arcs=arcs))
        >>> op.swap("above 500", fence="amount > 300")
        []
        >>> len(op.push(insert(Pay(400), le=1)))
        1
        """
        return self._arc_input(named_swap(name, arc, fence, transfer, self._at(at)))

    def _at(self, at: Any) -> int | None:
        """Return an instant in ticks."""
        if is_time(at):
            return ticks_of_time(at, self._core.tick, "at")
        return None if at is None else instant(at, "at", self._core.tick) if isinstance(at, str) else as_ticks(at, "at")

    def _arc_input(self, item: Any) -> Output:
        """Take one item of the arc input, as one call."""
        return self._core.calls.call(self._core.run, [("arc", item, None)], net=True)

    @overload
    def push_many(self, batch: list[Any], *, net: bool = True, arcs: Sequence[Arc] = (), le: str = "le") -> list[Any]: ...
    @overload
    def push_many(self, batch: Any, *, net: bool = True, arcs: Sequence[Arc] = (), le: str = "le") -> Any: ...
    def push_many(self, batch: Any, *, net: bool = True, arcs: Sequence[Arc] = (), le: str = "le") -> Any:
        """Take a batch, as one call: all of it or nothing.

        Parameters
        ----------
        batch : table (Arrow, pandas, polars, dict of columns, or what has ``__arrow_c_stream__``), or a list
            Columns: the event's fields, ``le``, optional ``re`` and ``diff``. A list holds tables, changes of events and arcs, and
            punctuations of the event input, in order of arrival; and rows: a dict, or an instance of a dataclass, with what a row
            of a table has. Where the operator has a tick, timestamps and dates stand for ints in ``le``, ``re`` and the event's int
            fields; ``le`` and ``re`` leave in the type in which ``le`` came, FOREVER as a missing one.
        net : bool
            True: the minimal difference over the whole batch. False: what the same changes, pushed one by one, would have given.
        arcs : sequence of Arc
            The arcs of a table whose column ``kind`` says of each row what it is: 0 an event; 1 an arc, whose number in ``arcs``
            stands in the column ``arc`` (``le`` BEGINNING: from one tick past all that was seen on); 2 a punctuation at ``le``. The
            output then has a column ``kind`` as well: 0 a match, 2 the punctuation, in the last row.
        le : str
            The name of the column that holds LE. Where there is no such one, the event's `afa.Instant` is looked for.

        Returns
        -------
        The same shape
            For a table: columns of the key, if there are keys, of the register's fields, ``le``, ``re``, ``diff``. For a list:
            ``[table]`` or ``[table, Punctuation]``, or a list of changes and a punctuation if no table came in. With ``net=False``
            there may be several of each.

        Raises
        ------
        ChangeError
            A column is missing or of the wrong type. Also all that `push` raises.
        """
        return self._core.calls.call(tables.push_many, self._core, batch, net, arcs, le)

    def lineage(self, match: Change) -> Lineage:
        """Return which events stand behind a match in force, as of now: `afa.lineage.Lineage`.

        Nothing is held for it before; so a match that began before a promise has none, unless the operator has ``lineage=True``.

        Parameters
        ----------
        match : Change
            As the operator has announced it; of a `Keyed` with its key.

        Raises
        ------
        ChangeError
            No such match is in force; the message names those that are near.
        AfaError
            Its first events came before a promise, which has dropped them (not with ``lineage=True``); or payloads are not kept
            (``keep_payloads=False``).

        Notes
        -----
        O(steps from where the match began, and the partial matches that began there); all else when the lineage is asked.

        Examples
        --------
        >>> from typing import NamedTuple
        >>> from afa import Automaton, insert
        >>> class Pay(NamedTuple):
        ...     amount: int
        >>> two = Automaton(start="0", final={"big"}, event=Pay, arcs=[
        ...     Arc("0", "small", "amount < 10"), Arc("small", "small", "True"), Arc("small", "big", "amount > 500"),
        ... ])
        >>> op = Operator(two, window=60)
        >>> (match,) = op.push_many([insert(Pay(1), le=1), insert(Pay(20), le=3), insert(Pay(900), le=4)])
        >>> op.lineage(match).events()["big"]
        [Change(payload=Pay(amount=900), le=4, re=64, diff=1, key=None)]
        """
        return self._core.calls.call(lineage_in, self._core, match)

    def collapsed(self, match: Change) -> Lineage:
        """Return which events stand behind a payload at an LE: the `lineage` of all matches in force that differ by their RE only.

        Under ``longest=True`` it is that of all matches that would be in force without it.

        Parameters
        ----------
        match : Change
            One of them; its RE does not count, and may be None.

        Raises
        ------
        ChangeError
            No such match is in force.
        AfaError
            One of them began before a promise, which has dropped its first events; or payloads are not kept.

        Notes
        -----
        As `lineage`, but over states and registers, not over the partial matches of each start (`afa.lineage.bounded`).

        Examples
        --------
        >>> from typing import NamedTuple
        >>> from afa import Automaton, insert
        >>> class Pay(NamedTuple):
        ...     amount: int
        >>> two = Automaton(start="0", final={"big"}, event=Pay, arcs=[
        ...     Arc("0", "small", "amount < 10"), Arc("small", "small", "True"), Arc("small", "big", "amount > 500"),
        ... ])
        >>> op = Operator(two, window=60)
        >>> out = op.push_many([insert(Pay(1), le=1), insert(Pay(2), le=3), insert(Pay(900), le=4)])
        >>> [(match.le, match.re) for match in out], op.collapsed(out[0]).aggregate("amount", "small")
        ([(4, 61), (4, 63)], Aggregates(paths=2, count=2, sum=3, min=1, max=2))
        """
        return self._core.calls.call(lineage_in, self._core, match, None, True)

    def funnel(self, *, most: int | None = MOST) -> Funnel:
        """Return what every arc was asked, where partial matches ended, and in one sentence why there is no match.

        What is held is counted: with what a promise has dropped it says nothing. Nothing is kept for it before. Matches are
        those of the arcs, before ``collapse=``, ``having=`` or a stage behind the operator; `why` says so of these two options.

        Parameters
        ----------
        most : int or None
            So many functions are asked at most; what is left out then, whole keys, is said. None: all is counted.

        Returns
        -------
        Funnel
            To print, as an Arrow table (`table`), as plain data (`to_json`); a notebook shows it.

        Raises
        ------
        AfaError
            Payloads are not kept (``keep_payloads=False``), or the automaton has a condition on paths (``having=``), as that of a
            query with conditions that wait for the match.

        Notes
        -----
        O(events * arcs), where the event alone decides for what waits; else O(what stands at each step).

        Examples
        --------
        >>> from typing import NamedTuple
        >>> from afa import Automaton, insert
        >>> class Pay(NamedTuple):
        ...     amount: int
        >>> two = Automaton(start="0", final={"big"}, event=Pay, arcs=[
        ...     Arc("0", "small", "amount < 10"), Arc("small", "big", "amount > 500"),
        ... ])
        >>> op = Operator(two, window=2)
        >>> _ = op.push_many([insert(Pay(1), le=1), insert(Pay(900), le=4)])
        >>> op.funnel().why.partition(" (")[0]
        '`small -> big` was never asked: the one partial match in `small` ended by the window'
        """
        return self._core.calls.call(funnel_in, self._core, most)

    @property
    def statistics(self) -> Statistics:
        """The numbers of what the operator holds and has done so far."""
        return self._core.calls.call(statistics_of, self._core)

    def draw(self, form: str = "svg", *, labels: str = "code") -> str:
        """Draw the arcs in force, each with its lifetimes, as `Automaton.draw` draws those of an automaton.

        An arc that has ended, and serves late events only, is pale. Where the operator has a tick, lifetimes in the years 1990 to
        2099 are told as times.
        """
        return self._core.calls.call(drawn_in_force, self._core, form, labels)

    def _repr_html_(self) -> str:
        """Return the drawing and what is held, for notebooks."""
        return self._core.calls.call(html_of, self._core, self._told_as())

    def _told_as(self) -> str:
        """Return what notebooks call it."""
        return type(self).__name__

    @property
    def partial_matches_by_state(self) -> dict[str, int]:
        """How many partial matches are stored in each state that has some; in all as many as `statistics` counts. O(what is held).

        One that stands at many steps by an ignorable run counts once. With ``keep_payloads=False`` as in `statistics`.

        Examples
        --------
        >>> from afa import Arc, Automaton, insert
        >>> arcs = [Arc("0", "1", lambda e, r: e == "a"), Arc("1", "2", lambda e, r: e == "b")]
        >>> op = Operator(Automaton(start="0", final={"2"}, arcs=arcs), window=10)
        >>> _ = op.push_many([insert("a", le=1), insert("a", le=2), insert("b", le=3)])
        >>> op.partial_matches_by_state == {"1": 2, "2": 1}
        True
        """
        return self._core.calls.call(lambda: self._core.engine.by_state())

    @property
    def open_timeouts(self) -> int:
        """How many matches time-outs would still bring if no event came any more. O(state), for automata with time-outs.

        Raises
        ------
        ClosureError
            The matches have no end.
        """
        return open_timeouts(self._core)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._core.calls.call(shipped, type(self), self._core)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self._core.calls.call(twin, self, memo)

    def __copy__(self) -> Any:
        return self._core.calls.call(twin, self, {})

    def _check(self) -> None:
        """Assert the invariants Content, Ordering, Completeness and Cleanup; for tests."""
        self._core.calls.call(self._core.check)


@signed
class Operator(Matching):
    """Match an automaton over a stream whose events come late, out of order and revised.

    The net output (insertions minus retractions) after any prefix of the input is a function of the *set* of events and arcs that
    this prefix leaves in force, never of the order in which they arrived.

    A call that raises, or is interrupted at any point, leaves no trace. Threads may share an operator: their calls wait for each
    other. A user's function that calls the operator which has called it is refused (`AfaError`).

    Parameters
    ----------
    automaton : Automaton
    window : int (ticks), str or timedelta, optional
        An event lives from its LE to ``RE = LE + window``, unless its RE is given. None: it lives for ever. ``"10 minutes"`` and a
        ``timedelta`` need ``tick``.
    engine : "auto", "compiled" or "interpreted"
        "auto": the compiled engine if all fields are scalars, else the interpreted one. An arc that does not compile runs in
        Python, and the log says so. "compiled" refuses such arcs (`AutomatonError`) and such automata (`AfaError`).
    sequence : str, optional
        The event's field that orders events of equal LE. None: events of equal LE are alternatives of one step, a multi-event.
    late : "raise" or "drop" or callable
        What becomes of a change with an LE below the last punctuation, and of a retraction that waited in vain;
        `punctuation.Late` says what each does. A `punctuation.SideOutput` is a callable that keeps them.
    arc_punctuation : bool
        Whether the arc input makes promises of its own (``push_arc(Punctuation(t))``). False: the event input's promises hold for
        arcs as well.
    retractions : bool
        Whether events may be retracted. False: a retraction is a `ChangeError`, and punctuations may carry a condition,
        ``Punctuation(t, where="floor <= 3")``, after which the operator drops all state that no event can touch any more ([AFA10]
        App. F.2).
    keep_payloads : bool
        False: the operator keeps of an event only its lifetime and its triggering set, an int with a bit for each event part of a
        fence that is true of it ([AFA10] App. F.1). Each fence must split into a part that reads the event and one that reads the
        register, no transfer may read the event, ``retractions=False`` is needed, and arcs can change from the present on only.
    gapless : str, optional
        The int field that numbers the events n, n + 1, n + 2, .. in the order of their LEs ([AFA10] Sec. 5.3, AFA+O); it is the
        ``sequence`` too. A computation goes from one event to the next only if their numbers are adjacent. So an insertion never
        withdraws a match, and no punctuation is waited for. Time-outs fire up to where the promise has come, not across a gap.
    gaps : "break" or "join"
        With ``gapless``, what becomes of a gap that can't close any more, as a punctuation has passed the event behind it.
        ``"break"``: no match spans it, ever. ``"join"``: the events beside it follow each other, so that the final output is that
        of the plain operator.
    repeated : "raise" or "drop" or callable
        What becomes of an insertion whose number is in force. ``"raise"``: the call is refused. ``"drop"``: left out and counted. A
        callable gets the change, once all else of its call has worked; what it raises rejects the call.
    on_gap : callable, optional
        ``on_gap(key, first, last)`` is told of each such gap, with its missing numbers, once all else of the call has worked.
    cancel : str, optional
        The event's field that names an event while it is in force, over all keys: ``retract({"id": 7})`` takes out the event with
        this id, whatever else the retraction says. Two events in force of one id are refused. A retraction whose event has not
        come waits for it until its own ``le``, or the present if it has none, is promised; then it is late.
    tick : "ns", "us", "ms", "s", "min", "h" or "d", optional
        What one int of LE counts; durations are turned into ticks by it.
    longest : bool
        True: of matches with equal payload and LE only the one with the largest RE is in force. So of the partial matches of one
        state and register only one is held, the one that lasts longest.
    members : str or True, optional
        A field of the event: each match that is announced comes with the values that the events in any of its paths have there
        (`lineage`), in order, as ``change.members``, which is no part of the change otherwise, and in tables as a column
        ``members`` of lists. A tuple; by component, where the automaton has an arc with ``select=``, as every query does: a dict of
        tuples (a struct of lists). ``"le"``, where no field has this name: the timestamps. True: the events, as changes. They are
        derived as of the end of the call, and cost it what `lineage` costs for each match. It implies ``lineage=True``.
    tell : "lineage", optional
        A match that stays while its events change is told again, with ``diff=0``, which leaves all sums as they are. It implies
        ``lineage=True``.
    collapse : str or True, optional
        In place of matches one record of each payload and LE, over all paths of all its matches (`collapsed`): the payload's
        fields, then ``paths``, how many there are; and of a field of the event ("price"; "b.price": only of events taken for the
        component b) ``count``, ``sum``, ``min`` and ``max``, as of `Lineage.aggregate`. ``paths``, ``count`` and ``sum`` are
        floats, correctly rounded, as they may be beyond int64. True or "*": ``paths`` only. RE is the largest one. A record that
        changes is retracted and told anew, also where only the paths of matches change. Implies ``lineage``; refused beside
        ``members`` and ``tell``. A call costs what `collapsed` costs for each record that it may touch, before it and behind it.
    having : str, or (str, int), optional
        Of the matches only those are told of which a path satisfies this condition, as of `Lineage.having`:
        ``"sum(b.price) > 100 and count(b) > 2"``. So a query need not carry sums in its registers, which under *any* take as many
        values as there are choices of events. Each match is decided within a budget of steps, 1,000,000 or the one that is given,
        or the call is refused (`afa.BudgetError`). Implies ``lineage``; refused beside ``members``, ``tell``, ``collapse``
        and ``longest``.
    lineage : bool
        Whether `lineage` answers for every match in force, also one that began before the last promise, and for those that the
        last call has announced, though it made them final. Then a promise drops state only so far back that no lifetime reaches
        from there to it: one lifetime (the window, or the longest that was given) is held beyond what is held else, and arcs that
        ended as long. Refused beside ``keep_payloads=False``, ``gapless=`` and promises with a condition.
    partial_matches : int, optional
        At most so many partial matches of one key may stand at one step (never the sum over the steps), or the call is refused
        (`BudgetError`), which tells what doubles. None: any number. A restored operator keeps it.
    max_bytes : int, optional
        At most so many bytes of state and of the work of a call, or the call is refused likewise. None: three quarters of what the
        machine, its cgroup or the limit of the process has free when the state grows beyond 256 MB. Keys, and the characters of
        texts, do not count. With threads at least 1,000,000 for each of them. A restored operator keeps it.

    Examples
    --------
    >>> from afa import Arc, Automaton, insert, retract
    >>> two = Automaton(start="0", final={"2"}, arcs=[Arc("0", "1", lambda e, r: e == "a"), Arc("1", "2", lambda e, r: e == "b")])
    >>> op = Operator(two, window=10)
    >>> op.push(insert("b", le=5))
    []
    >>> op.push(insert("a", le=3))  # late: the match is found all the same
    [Change(payload=NoRegister(), le=5, re=13, diff=1, key=None)]
    >>> op.push(insert("x", le=4))  # later still, and in between: the match is withdrawn
    [Change(payload=NoRegister(), le=5, re=13, diff=-1, key=None)]
    """

    def __new__(cls, automaton: Any = None, *args: Any, **options: Any) -> Any:
        """Make an operator; of a pattern that is no automaton (`TemporalPattern`) the one that it makes of itself."""
        return super().__new__(cls) if not makes_operators(automaton) else automaton.as_operator(False, options)

    def __init__(
        self,
        automaton: Any,
        *,
        window: Duration | None = None,
        engine: EngineName = "auto",
        sequence: str | None = None,
        late: Policy = "raise",
        arc_punctuation: bool = False,
        retractions: bool = True,
        keep_payloads: bool = True,
        gapless: str | None = None,
        gaps: str = "break",
        repeated: Repeated = "raise",
        on_gap: OnGap | None = None,
        tick: str | None = None,
        cancel: str | None = None,
        longest: bool = False,
        members: str | bool | None = None,
        tell: str | None = None,
        lineage: bool = False,
        collapse: str | bool | None = None,
        having: str | tuple[str, int] | None = None,
        partial_matches: int | None = PARTIAL_MATCHES,
        max_bytes: int | None = None,
    ) -> None:
        self._core = Core(
            automaton,
            window=window,
            tick=tick,
            cancel=cancel,
            longest=longest,
            members=members,
            collapse=collapse,
            having=having,
            tell=tell,
            lineage=lineage,
            engine=engine,
            sequence=sequence,
            late=late,
            arc_punctuation=arc_punctuation,
            retractions=retractions,
            keep_payloads=keep_payloads,
            gapless=gapless_of(automaton, gapless, gaps, repeated, on_gap),
            budget=Budget(partial_matches, max_bytes),
        )

    def push(self, change: Change | Punctuation) -> Output:
        """Take one event change or a promise of the event input.

        Parameters
        ----------
        change : Change or Punctuation, or a row: a dict, or an instance of a dataclass, of which `push_many` tells

        Returns
        -------
        list of Change and Punctuation
            The minimal difference of the matches in force: retractions first, then insertions, each by LE; then the effective
            punctuation, if it moved.

        Raises
        ------
        LateEventError
            The change is late, and ``late="raise"``.
        ChangeError
            The change does not fit the schema, or has no lifetime.
        Exception
            A fence or a transfer raised it; function, arc and event are named in its text. The operator is unchanged.

        Notes
        -----
        O(log r + m) for an event in order, with r steps held and m partial matches that end at one step; O(log r + d * m) for a
        late event that d steps within the window follow. Source: [AFA10] Algorithm 1, App. C.
        """
        return self._core.push(change, None)

    def snapshot(self) -> bytes:
        """Return the whole state as bytes, in the format of `afa.operator.snapshot`: plain data, no code.

        Raises
        ------
        SnapshotError
            A payload is no plain data, or an arc that the automaton does not have carries no name.
        """
        return self._core.calls.call(snapshot.save, self._core)

    @classmethod
    def restore(
        cls,
        automaton: Any,
        blob: bytes,
        *,
        arcs: Iterable[Arc] = (),
        late: Policy | None = None,
        engine: EngineName = "auto",
        repeated: Repeated | None = None,
        on_gap: OnGap | None = None,
        tick: str | None = None,
        partial_matches: int | str | None = SAVED,
        max_bytes: int | str | None = SAVED,
    ) -> Operator:
        """Make the operator that `snapshot` saved.

        Parameters
        ----------
        automaton : Automaton
            The automaton that the operator was made with.
        blob : bytes
        arcs : iterable of Arc
            The arcs that were pushed since, found by their names.
        late : policy, optional
            None: the policy that was saved. A callable is not saved, and must be given again.
        tick : str, optional
            What one int of LE counts, where the snapshot does not say it: it was made without ``tick=``.
        partial_matches, max_bytes : int, None or "saved"
            As of `Operator`; ``"saved"``: as it was. What is held already stays.

        Raises
        ------
        SnapshotError
            The blob is no snapshot, is damaged, or belongs to another automaton. No code of the blob is run.
        AutomatonError
            A given arc is not valid for this automaton, or does not compile under ``engine="compiled"``.
        """
        if makes_operators(automaton):
            given = {"repeated": repeated, "on_gap": on_gap, "tick": tick}
            said = {name: value for name, value in given.items() if value is not None}
            bounds = {"partial_matches": partial_matches, "max_bytes": max_bytes}
            found: Operator = automaton.restore(blob, arcs=arcs, late=late, engine=engine, **bounds, **said)
            return found
        budget = partial_matches, max_bytes
        return cls._of(
            snapshot.load(
                automaton, [blob], arcs, late, engine, keyed=False, repeated=repeated, on_gap=on_gap, tick=tick, bounds=budget
            )
        )

    @classmethod
    def _of(cls, core: Core) -> Operator:
        """Return the operator with this core."""
        op: Operator = cls.__new__(cls)
        op._core = core
        return op
