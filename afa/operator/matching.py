"""What operators have in common: arcs, swaps, tables, lineage; all that speaks of no key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, overload

from afa.change import Change
from afa.errors import AfaError
from afa.lineage import Lineage
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.model.instant_texts import instant
from afa.model.keys import Keys
from afa.model.renamed import time_of
from afa.operator import snapshot, tables
from afa.operator.call import Core, Output
from afa.operator.match_lineage import lineage_in
from afa.operator.named_swap import named_swap
from afa.operator.shipping import shipped
from afa.operator.statistics import Statistics, open_timeouts, statistics_of
from afa.operator.twins import twin
from afa.schema import as_ticks
from punctuation.promise import Punctuation
from punctuation.timestamps import is_time, ticks_of_time


class Matching:
    """What `Operator` and `Keyed` have in common: all that speaks of no key."""

    _core: Core

    if TYPE_CHECKING:  # methods that other packages give it: see `afa.METHODS`

        def draw(self, form: str = "svg", *, labels: str = "code") -> str:
            """Draw the arcs in force."""

        def funnel(self, *, most: int | None = ...) -> Any:
            """Say why there is no match: an `afa.Funnel`."""

    @property
    def automaton(self) -> Automaton:
        """The automaton that the operator was made with; arcs pushed since are not in it."""
        return self._core.automaton

    def push_arc(self, change: Change | Punctuation) -> Output:
        """Take an arc, for all keys, or its retraction, or a watermark of the arc input ([AFA10] Sec. 2.3, 5.2).

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
            ``at`` lies below the last watermark of the arc input; whatever the policy for late changes is.

        Examples
        --------
        >>> from typing import NamedTuple
        >>> from afa import Automaton, Operator, insert
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
        if is_time(at):
            return ticks_of_time(at, self._core.tick, "at")
        return None if at is None else instant(at, "at", self._core.tick) if isinstance(at, str) else as_ticks(at, "at")

    def _arc_input(self, item: Any) -> Output:
        """Take one item of the arc input, as one call."""
        return self._core.calls.call(self._run, tables.CallInput([("arc", item, None)]), True)

    @overload
    def push_many(self, batch: list[Any], *, net: bool = True, arcs: Sequence[Arc] = (), time: str = "le") -> list[Any]: ...
    @overload
    def push_many(self, batch: Any, *, net: bool = True, arcs: Sequence[Arc] = (), time: str = "le") -> Any: ...
    def push_many(self, batch: Any, *, net: bool = True, arcs: Sequence[Arc] = (), time: str = "le", **old: str) -> Any:
        """Take a batch, as one call: all of it or nothing.

        Parameters
        ----------
        batch : table (Arrow, pandas, polars, dict of columns, or what has ``__arrow_c_stream__``), or a list
            Columns: the event's fields, ``le``, optional ``re`` and ``diff``. A list holds tables, changes of events and arcs, and
            watermarks of the event input, in order of arrival; and rows: a dict, or an instance of a dataclass, with what a row
            of a table has. Where the operator has a tick, timestamps and dates stand for ints in ``le``, ``re`` and the event's int
            fields; ``le`` and ``re`` leave in the type in which ``le`` came, FOREVER as a missing one.
        net : bool
            True: the minimal difference over the whole batch. False: what the same changes, pushed one by one, would have given.
        arcs : sequence of Arc
            The arcs of a table whose column ``kind`` says of each row what it is: 0 an event; 1 an arc, whose number in ``arcs``
            stands in the column ``arc`` (``le`` BEGINNING: from one tick past all that was seen on); 2 a watermark at ``le``. The
            output then has a column ``kind`` as well: 0 a match, 2 the watermark, in the last row.
        time : str
            The name of the column that holds LE. Where there is no such one, the event's `afa.Instant` is looked for.

        Returns
        -------
        The same shape
            For a table: columns of the key, if there are keys, of the register's fields, ``le``, ``re``, ``diff``. For a list:
            ``[table]`` or ``[table, Punctuation]``, or a list of changes and a watermark if no table came in. With ``net=False``
            there may be several of each.

        Raises
        ------
        ChangeError
            A column is missing or of the wrong type. Also all that `push` raises.
        """
        return self._core.calls.call(self._push_many, batch, net, arcs, time_of(time, old) if old else time)

    def _push_many(self, batch: Any, net: bool, arcs: Sequence[Arc], time: str) -> Any:
        """Carry out `push_many`. Output that can't be written fails the call, which leaves no trace."""
        come = tables.opened(self._core, batch, arcs, time)
        if come.like is None:
            return self._run(come, net)
        return tables.answer(self._found(come, net), come, self._core, net)

    def lineage(self, match: Change) -> Lineage:
        """Return which events stand behind a match in force, as of now: `afa.lineage.Lineage`. Of SQL, of a match that is shown.

        Nothing is held for it before; so a match that began before the last watermark has none, unless the operator has
        ``lineage=True``.

        Parameters
        ----------
        match : Change
            As the operator has announced it; of a `Keyed` with its key.

        Raises
        ------
        ChangeError
            No such match is in force; the message names those that are near.
        AfaError
            Its first events lie below the watermark, which has dropped them (not with ``lineage=True``); or payloads are not kept
            (``keep_payloads=False``).

        Notes
        -----
        O(steps from where the match began, and the partial matches that began there); all else when the lineage is asked.

        Examples
        --------
        >>> from typing import NamedTuple
        >>> from afa import Automaton, Operator, insert
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
        return self._core.calls.call(lineage_in, self._core, match, self._chosen())

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
            One of them began before the last watermark, which has dropped its first events; or payloads are not kept.

        Notes
        -----
        As `lineage`, but over states and registers, not over the partial matches of each start (`afa.lineage.bounded`).

        Examples
        --------
        >>> from typing import NamedTuple
        >>> from afa import Automaton, Operator, insert
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
        return self._core.calls.call(lineage_in, self._core, match, self._chosen(), True)

    @property
    def statistics(self) -> Statistics:
        """The numbers of what the operator holds and has done so far."""
        return self._core.calls.call(statistics_of, self._core)

    def _told_as(self) -> str:
        """Return what notebooks call it."""
        return type(self).__name__

    @property
    def partial_matches_by_state(self) -> dict[str, int]:
        """How many partial matches are stored in each state that has some; in all as many as `statistics` counts. O(what is held).

        One that stands at many steps by an ignorable run counts once. With ``keep_payloads=False`` as in `statistics`.

        Examples
        --------
        >>> from afa import Arc, Automaton, Operator, insert
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

    # -- within a call: what stages, chains and the reasons of matches ask of an operator, whatever stands around it ------------

    def _run(self, come: tables.CallInput, net: bool) -> Output:
        """Carry out what one call brings. Returns changes and punctuations, as `Core.run`."""
        if come.like is None:
            return self._core.run(come.parts, net)
        core = self._core
        return core.run(tables.items_of(core, come) if not net or core.by_rows(net) else tables.steps(core, come), net)

    def _found(self, come: tables.CallInput, net: bool) -> tables.CallOutput:
        """Carry out what a call with tables brings. Returns the output, as columns if nothing need look at it."""
        return tables.found_of(self._core, come, net)

    def _redefine(self, name: str, condition: Any, le: Any, re: Any) -> Output:
        """Put another condition of a definition in force, where a stage has definitions."""
        raise AfaError(f"expected an operator of situations, whose definitions may change, but got {self!r}")

    def _chosen(self) -> Callable[[Change], list[Any]] | None:
        """Return the function that tells which matches are meant by one that is shown; None: itself."""
        return None

    def _stages_around(self) -> list[Any]:
        """Return the stages around the operator, from the outermost one on."""
        return []

    def _snapshot(self) -> bytes:
        return snapshot.save(self._core)

    @classmethod
    def _of(cls, core: Core, key: Any = None) -> Any:
        """Make the operator of a core, by a key if there is one."""
        made = cls.__new__(cls)
        made._core, core.keys = core, None if key is None else Keys(core.automaton, key, core.tick)
        return made

    def as_pattern(self) -> Any:
        """Return what makes more operators like this one; None: it is made by its pattern."""
        return None

    def __reduce__(self) -> tuple[Any, ...]:
        return self._core.calls.call(shipped, type(self), self._core)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self._core.calls.call(twin, self, memo)

    def __copy__(self) -> Any:
        return self._core.calls.call(twin, self, {})

    def _check(self) -> None:
        """Assert the invariants Content, Ordering, Completeness and Cleanup; for tests."""
        self._core.calls.call(self._core.check)
