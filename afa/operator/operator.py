"""The operator: one automaton over one stream."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from afa.change import Change
from afa.engine.budget import PARTIAL_MATCHES, SAVED, Budget
from afa.errors import AfaError
from afa.model.arc import Arc
from afa.model.option_values import threads_of
from afa.operator import snapshot
from afa.operator.call import Core, Output
from afa.operator.contract import OperatorMeta, Pattern, no_sequence, said_of
from afa.operator.gapless import OnGap, Repeated, gapless_of
from afa.operator.keyed import Keyed
from afa.operator.matching import EngineName, KeyOf, Matching
from punctuation.durations import Duration
from punctuation.late import Policy
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
        Match in each of many streams, told apart by it: a `Keyed`. A pattern with a key of its own takes no other one.
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
    threads : int
        As of `Keyed`, with a key.

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
        """Return with a key a `Keyed`; of a pattern that is no automaton the operator that it makes of itself; None: it is this."""
        if isinstance(automaton, Pattern):
            return automaton.operator(**options)
        return None if options.get("key") is None else Keyed(automaton, **options)

    def __init__(
        self,
        automaton: Any,
        *,
        key: KeyOf | None = None,
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
        threads: int = 1,
    ) -> None:
        _alone(threads)
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
        key: KeyOf | None = None,
        arcs: Iterable[Arc] = (),
        late: Policy | None = None,
        engine: EngineName = "auto",
        repeated: Repeated | None = None,
        on_gap: OnGap | None = None,
        tick: str | None = None,
        sequence: str | None = None,
        threads: int = 1,
        partial_matches: int | str | None = SAVED,
        max_bytes: int | str | None = SAVED,
    ) -> Operator:
        """Make the operator that `snapshot` saved.

        Parameters
        ----------
        automaton : Automaton
            The automaton, or other pattern, that the operator was made with.
        blob : bytes
        key, threads
            As of `Keyed.restore`, where the operator was made with a key.
        arcs : iterable of Arc
            The arcs that were pushed since, found by their names.
        late : policy, optional
            None: the policy that was saved. A callable is not saved, and must be given again.
        tick : str, optional
            What one int of LE counts, where the snapshot does not say it: it was made without ``tick=``.
        sequence : str, optional
            Of a temporal pattern, as the operator was made with it; all others say it, or their snapshots.
        partial_matches, max_bytes : int, None or "saved"
            As of `Operator`; ``"saved"``: as it was. What is held already stays.

        Raises
        ------
        SnapshotError
            The blob is no snapshot, is damaged, or belongs to another automaton. No code of the blob is run.
        AutomatonError
            A given arc is not valid for this automaton, or does not compile under ``engine="compiled"``.
        """
        said: dict[str, Any] = {"arcs": arcs, "engine": engine, "partial_matches": partial_matches, "max_bytes": max_bytes}
        said |= said_of(threads=threads, key=key, late=late, repeated=repeated, on_gap=on_gap, tick=tick, sequence=sequence)
        if isinstance(automaton, Pattern) or key is not None:
            restore: Any = automaton.restore if isinstance(automaton, Pattern) else partial(Keyed.restore, automaton)
            found: Operator = restore(blob, **said)
            return found
        no_sequence(sequence)
        _alone(threads)
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


def _alone(threads: Any) -> None:
    if threads_of(threads) != 1:
        raise AfaError(f"expected a key, as threads share out its values, but got threads={threads!r} without one")
