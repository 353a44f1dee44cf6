"""The operator: one automaton over one stream, or over one stream for each key, under shared arcs and shared watermarks."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from afa.change import Change
from afa.errors import AfaError
from afa.model.arc import Arc
from afa.model.keys import UNSAID, Keys
from afa.model.option_values import threads_of
from afa.operator import snapshot
from afa.operator.call import Core, Output
from afa.operator.contract import OperatorMeta, Pattern
from afa.operator.matching import Matching
from afa.operator.options import (
    OperatorOptions,
    Unpack,
    check_alone,
    not_here,
    options_again,
    options_of,
    said_options,
    takes_options,
)
from afa.operator.speculated import restored, speculating
from punctuation.promise import Punctuation


class Operator(Matching, metaclass=OperatorMeta):
    """Match an automaton over a stream whose events come late, out of order and revised.

    The net output (insertions minus retractions) after any prefix of the input is a function of the *set* of events and arcs that
    this prefix leaves in force, never of the order in which they arrived.

    A call that raises, or is interrupted at any point, leaves no trace. Threads may share an operator: their calls wait for each
    other. A user's function that calls the operator which has called it is refused (`AfaError`).

    Parameters
    ----------
    automaton : Automaton
        Or another pattern, a query, the words that build one, a `TemporalPattern`: then it is the operator which that makes.
    key : str, sequence of str, or callable, optional
        The fields by which events are told apart into many streams, each with a state of its own: a `Keyed`. A pattern with a key
        of its own takes no other one.
    window : int (ticks), str or timedelta, optional
        How long an event lives, and so how far a match may reach: from its LE to ``RE = LE + window``, unless its RE is given.
        None: for ever. ``"10 minutes"`` and a ``timedelta`` need ``tick``.
    engine : "auto", "compiled" or "interpreted"
        Which engine serves. "auto": the compiled engine if all fields are scalars, else the interpreted one; an arc that does not
        compile runs in Python, and the log says so. "compiled" refuses such arcs (`AutomatonError`) and such automata
        (`AfaError`).
    order_by : str, optional
        The event's field that orders events of equal LE. None: events of equal LE are alternatives of one step, a multi-event. Or
        a list, ``"price desc nulls first, id"``, with ``*`` at its end for all other fields.
    late : "raise" or "drop" or callable
        What becomes of a change with an LE below the last watermark, and of a retraction that waited in vain.
        `punctuation.Late` says what each does. A `punctuation.SideOutput` is a callable that keeps them.
    arc_punctuation : bool
        Whether the arc input has watermarks of its own, ``push_arc(Punctuation(t))``. False: the event input's watermarks hold for
        arcs as well.
    retractions : bool
        Whether events may be retracted. False: a retraction is a `ChangeError`, and watermarks may carry a condition,
        ``Punctuation(t, where="floor <= 3")``, after which the operator drops all state that no event can touch any more ([AFA10]
        App. F.2).
    keep_payloads : bool
        Whether events are kept. False: of an event the operator keeps only its lifetime and its triggering set, an int with a bit
        for each event part of a fence that is true of it ([AFA10] App. F.1). Each fence must split into a part that reads the
        event and one that reads the register, no transfer may read the event, ``retractions=False`` is needed, and arcs can
        change from the present on only.
    gapless : str or Gapless, optional
        The int field that numbers the events n, n + 1, n + 2, .. in the order of their LEs. It is the ``order_by`` too ([AFA10]
        Sec. 5.3, AFA+O). A computation goes from one event to the next only if their numbers are adjacent. So an insertion never
        withdraws a match, and no watermark is waited for. Time-outs fire up to where the watermark has come, not across a gap.
        `Gapless` says what becomes of gaps and of repeated numbers.
    tick : "ns", "us", "ms", "s", "min", "h" or "d", optional
        What one int of LE counts. Durations are turned into ticks by it.
    id : str, or sequence of str, optional
        The field, or fields, that name an event, over all keys; or columns beside the event's. Then changes are messages, as an
        at-least-once feed has them: one that comes again counts once (``statistics.repeats``), one of the same id that says
        something else is told as a late one. ``retract({"order": 7})`` takes out the event with this id, whatever else it says, and
        waits for one that has not come.
    on_repeat : "update", optional
        A message of an id that is known is another version of its event. It wants ``version``.
    version : str, optional
        The field, or column beside, that orders versions: the largest is in force, in any order of arrival. Deletions carry one.
    remember : int (ticks), str or timedelta, optional
        How much longer an id is remembered than until the watermark has passed its event. What comes for a forgotten id is new.
    longest : bool
        Whether of matches with equal payload and LE only the one with the largest RE is in force. So of the partial matches of
        one state and register only one is held, the one that lasts longest.
    members : str or True, optional
        A field of the events that each announced match comes with. As ``change.members``, in order, which is no part of the
        change otherwise, and in tables as a column ``members`` of lists: the values that the events in any of its paths have
        there (`lineage`). A tuple; by component, where the automaton has an arc with ``select=``, as every query does: a dict of
        tuples (a struct of lists). ``"le"``, where no field has this name: the timestamps. True: the events, as changes. They are
        derived as of the end of the call, and cost it what `lineage` costs for each match. It implies ``lineage=True``.
    tell : "lineage", optional
        A match that stays while its events change is told again, with ``diff=0``. That leaves all sums as they are. It implies
        ``lineage=True``.
    lineage : bool
        Whether `lineage` answers for every match in force, also one that began before the last watermark. And for those that the
        last call has announced, though it made them final. Then a watermark drops state only so far back that no lifetime reaches
        from there to it: one lifetime (the window, or the longest that was given) is held beyond what is held else, and arcs that
        ended as long. Refused beside watermarks with a condition.
    collapse : str or True, optional
        In place of matches one record of each payload and LE, over all paths of all its matches (`collapsed`). The payload's
        fields, then ``paths``, how many there are; and of a field of the event ("price"; "b.price": only of events taken for the
        component b) ``count``, ``sum``, ``min`` and ``max``, as of `Lineage.aggregate`. ``paths``, ``count`` and ``sum`` are
        floats, correctly rounded, as they may be beyond int64. True or "*": ``paths`` only. RE is the largest one. A record that
        changes is retracted and told anew, also where only the paths of matches change. Implies ``lineage``. A call costs what
        `collapsed` costs for each record that it may touch, before it and behind it.
    having : str, or (str, int), optional
        A condition on sums, averages and counts of a path, ``"sum(b.price) > 100 and count(b) > 2"``: matches without such a path
        are not told. As of `Lineage.having`; so a query need not carry sums in its registers, which under *any* take as many
        values as there are choices of events. Each match is decided within a budget of steps, 1,000,000 or the one that is given,
        or the call is refused (`afa.BudgetError`). Implies ``lineage``.
    partial_matches : int, optional
        At most so many partial matches of one key may stand at one step, or the call is refused (`BudgetError`). Never the sum
        over the steps. The error tells what doubles. None: any number. A restored operator keeps it.
    max_bytes : int, optional
        At most so many bytes of state and of the work of a call, or the call is refused likewise. None: three quarters of what
        the machine, its cgroup or the limit of the process has free when the state grows beyond 256 MB. Keys, and the characters
        of texts, do not count. With threads at least 1,000,000 for each of them. A restored operator keeps it.
    threads : int
        With a key: in how many threads a call is carried out, each for a part of the keys. Output, snapshots and errors are the
        same with any number. Memory grows by some megabytes a thread. One thread works where it is the engine in Python, where
        numbers are ``gapless``, where an arc runs in Python, and where there is little to do.
    speculation : int (ticks), str or timedelta, optional
        How far ahead of the last watermark an event may be that is matched; the others wait. A `speculation.Cleanse` in front of
        the operator, of which ``.stage`` is the one: 0: only final matches come, and none is withdrawn. None: no event waits.
    options : Options, optional
        All of these, or some, as one object.

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

    @staticmethod
    def _of_pattern(automaton: Any, options: dict[str, Any]) -> Any:
        """Return with a key a `Keyed`; of a pattern that is no automaton the operator that it makes; else this one's options."""
        if isinstance(automaton, Pattern):
            return automaton.operator(**options)
        options = said_options(options, "Operator")
        if options.get("key") is not None:
            return Keyed(automaton, **options)
        return speculating(Operator, automaton, options) or options

    @takes_options()
    def __init__(self, automaton: Any, **options: Unpack[OperatorOptions]) -> None:
        said = options_of(options)
        if said.key is not None:
            raise AfaError(f"expected a class that stands on Keyed, for operators with a key, but got key={said.key!r}")
        not_here(said)
        check_alone(said.threads)
        self._core = Core(automaton, said, bounded=True)

    def push(self, change: Change | Punctuation) -> Output:
        """Take one event change or a watermark (`Punctuation`) of the event input.

        Parameters
        ----------
        change : Change or Punctuation, or a row: a dict, or an instance of a dataclass, of which `push_many` tells

        Returns
        -------
        list of Change and Punctuation
            The minimal difference of the matches in force: retractions first, then insertions, each by LE; then the effective
            watermark, if it moved.

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
    @takes_options()
    def restore(
        cls, automaton: Any, blob: Any, *, arcs: Iterable[Arc] = (), stages: Iterable[Any] = (), **options: Unpack[OperatorOptions]
    ) -> Any:
        """Make the operator that `snapshot` saved, with the options that it was made with and the stages around it.

        What the snapshot says may be left out; said otherwise it is refused. From now on others may count: ``engine``, ``late``,
        ``threads``, ``partial_matches``, ``max_bytes``, and the policies of ``gapless``. A callable is not saved, and must be given
        again, and so must a key.

        Parameters
        ----------
        automaton : Automaton
            The automaton, or other pattern, that the operator was made with.
        blob : bytes, or sequence of bytes
            As of `Keyed.restore`, where the operator was made with a key.
        arcs : iterable of Arc
            The arcs that were pushed since, found by their names.
        stages : list of speculation.LastBefore
            Stages like those around it whose conditions are no data. All others come back by themselves.

        Raises
        ------
        SnapshotError
            The blob is no snapshot, is damaged, or belongs to another automaton, or to an operator of other options. No code of the
            blob is run.
        AutomatonError
            A given arc is not valid for this automaton, or does not compile under ``engine="compiled"``.

        Examples
        --------
        >>> from afa import Arc, Automaton
        >>> two = Automaton(start="0", final={"2"}, arcs=[Arc("0", "1", lambda e, r: True), Arc("1", "2", lambda e, r: True)])
        >>> blob = Operator(two, window=10).snapshot()
        >>> Operator.restore(two, blob, window=20)
        Traceback (most recent call last):
        ...
        afa.errors.SnapshotError: expected window=10, with which the operator was saved, but got window=20
        """
        said = options_again(options)
        if isinstance(automaton, Pattern):
            return automaton.restore(blob, arcs=arcs, **({"stages": stages} if stages else {}), **said)
        if said.get("key") is not None:
            return Keyed.restore(automaton, blob, arcs=arcs, stages=stages, **said)
        check_alone(said.get("threads", 1))
        return restored(blob, said, lambda part: cls._of(snapshot.load(automaton, [part], arcs, said, keyed=False)), stages)


WITHOUT = "expected key=, the column or columns that make the key, but got Keyed without one"


class Keyed(Matching, metaclass=OperatorMeta):
    """Match an automaton in each of many streams, told apart by a key. Calls, interrupts and threads: as of `Operator`.

    Parameters
    ----------
    automaton : Automaton, or another pattern
    key : str, sequence of str, or callable
        The event's field or fields that make the key, or a function of the event. Names that are no fields of the event are
        columns beside them in `push_many`, and given as ``push(change, key=...)``. One name makes a bare key, several a tuple.
        May be left out where the pattern says it.
    options
        As of `Operator`. An arc pushed without a lifetime begins one tick past all that was seen, over all keys.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from afa import Arc, Automaton
    >>> class Reading(NamedTuple):
    ...     sensor: str
    ...     hot: bool
    >>> twice = Automaton(
    ...     start="0", final={"2"}, event=Reading,
    ...     arcs=[Arc("0", "1", lambda e, r: e.hot), Arc("1", "2", lambda e, r: e.hot)],
    ... )
    >>> by_sensor = Keyed(twice, key="sensor", window=60)
    >>> out = by_sensor.push_many({"sensor": ["a", "b", "a"], "hot": [True, True, True], "le": [1, 2, 3]})
    >>> out["sensor"].tolist(), out["le"].tolist(), out["re"].tolist()
    (['a'], [3], [61])
    """

    @staticmethod
    def _of_pattern(automaton: Any, options: dict[str, Any]) -> Any:
        """Return of a pattern that is no automaton the operator that it makes of itself; else this one's options."""
        if isinstance(automaton, Pattern):
            _check_keyed(automaton, options.get("key") or getattr(options.get("options"), "key", None))
            return automaton.operator(**options)
        options = said_options(options, "Keyed")
        _check_keyed(automaton, options.get("key"))
        return speculating(Keyed, automaton, options) or options

    @takes_options()
    def __init__(self, automaton: Any, **options: Unpack[OperatorOptions]) -> None:
        said = options_of(options, "Keyed")
        not_here(said)
        _check_keyed(automaton, said.key)
        self._core = Core(automaton, said, keyed=True, bounded=True)
        self._core.keys = Keys(automaton, said.key, self._core.tick)

    def push(self, change: Change | Punctuation, *, key: Hashable = UNSAID) -> Output:
        """Take one event change of one key, or a watermark for all keys. Returns and raises as `Operator.push`.

        Parameters
        ----------
        key : hashable, optional
            Left out: the key is made from the event. An output change of another `Keyed` keeps its key if the event makes none.
        """
        core = self._core
        if type(change) is not Change or type(change.le) is not int or type(change.payload) is dict:
            change = core.in_form(change)
        return core.push(change, core.key_of(change, key))

    @property
    def keys(self) -> list[Hashable]:
        """The keys that hold any state."""
        return self._core.calls.call(self._core.engine.keys)

    def snapshot(self, *, incremental: bool = False) -> bytes:
        """Return the whole state as bytes, as `Operator.snapshot`. Keys must be plain data too.

        Parameters
        ----------
        incremental : bool
            True: save only the keys that have changed since the last snapshot (the first one has all keys). Such a snapshot is
            restored together with those before it. O(state of these keys), and some tens of nanoseconds for each other key.
        """
        return self._core.calls.call(snapshot.save, self._core, incremental)

    @classmethod
    @takes_options()
    def restore(
        cls,
        automaton: Any,
        blob: bytes | Sequence[bytes],
        *,
        arcs: Iterable[Arc] = (),
        stages: Iterable[Any] = (),
        **options: Unpack[OperatorOptions],
    ) -> Any:
        """Make the keyed operator that `snapshot` saved. As `Operator.restore`, with the key given again.

        Parameters
        ----------
        blob : bytes or sequence of bytes
            A snapshot; or a whole one and the incremental ones that were taken after it, in that order.
        """
        said = options_again(options)
        _check_keyed(automaton, said.get("key"))
        if isinstance(automaton, Pattern):
            return automaton.restore(blob, arcs=arcs, **({"stages": stages} if stages else {}), **said)
        threads_of(said.get("threads", 1))

        def alone(part: Any) -> Any:
            blobs = part if isinstance(part, (list, tuple)) else [part]
            return cls._of(snapshot.load(automaton, blobs, arcs, said, keyed=True), said["key"])

        return restored(blob, said, alone, stages)


def _check_keyed(pattern: Any, key: Any) -> None:
    if key is None and (not isinstance(pattern, Pattern) or pattern.key is None):
        raise AfaError(WITHOUT)
