"""AFA+O: the operator for streams whose events carry gapless numbers ([AFA10] Sec. 5.3)."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple, cast

from afa.change import Change
from afa.errors import AfaError
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.model.keys import Keys, take_key
from afa.operator import tables as table
from afa.operator.call import Core
from afa.operator.keyed import KeyOf
from afa.operator.operator import EngineName
from afa.operator.single import Output
from afa.operator.twin import twin
from punctuation.late import Policy
from punctuation.promise import Punctuation
from speculation import ordered_state as ordered_saved
from speculation.barrier import Derived
from speculation.ordered_table import push_table
from speculation.sequences import OnGap, Repeated, Sequences

_MISSING: Any = object()


class OrderedStatistics(NamedTuple):
    """Numbers of one `Ordered`, over all its keys; the first twelve as of `afa.operator.statistics.Statistics`.

    Parameters
    ----------
    events : int
        Events held, the barriers among them.
    partial_matches, intervals, matches, pending, keys, state_size, changes, outputs, retractions, late, stale : int
    gaps : int
        Gaps that a punctuation made final so far.
    missing : int
        The numbers that were missing in them.
    repeated : int
        Events dropped or handed to the callback so far, as their number was in force.
    barriers : int
        Gaps that can still close.
    """

    events: int
    partial_matches: int
    intervals: int
    matches: int
    pending: int
    keys: int
    state_size: int
    changes: int
    outputs: int
    retractions: int
    late: int
    stale: int
    gaps: int
    missing: int
    repeated: int
    barriers: int

    @property
    def retraction_ratio(self) -> float:
        """Withdrawn matches for each inserted one; 0 if none was inserted."""
        return self.retractions / self.outputs if self.outputs else 0.0


class Ordered:
    """Match an automaton over events that are numbered without gaps: nothing is announced that a later event could withdraw.

    Each key's events carry the numbers n, n + 1, n + 2, .. in the order of their LEs. A computation goes from one event to the next
    only if their numbers are adjacent, so that an insertion never withdraws a match, and no punctuation is waited for. What has
    arrived far ahead of a gap is matched at once, as far as its numbers are adjacent; when the gap closes, only what spans it is
    left to do. Matches are withdrawn where events are retracted, and by arcs with a lifetime in the past.

    Parameters
    ----------
    automaton : Automaton
        With ``event=``.
    number : str
        The int field that numbers the events; it orders events of equal LE too.
    key : str, sequence of str, or callable, optional
        As of `Keyed`: each key has numbers of its own. None: one stream.
    window, engine, late, arc_punctuation
        As of `Operator`.
    repeated : "raise" or "drop" or callable
        What becomes of an insertion whose number is in force. ``"raise"``: the call is refused. ``"drop"``: left out and counted. A
        callable gets the change, once all else of its call has worked; what it raises rejects the call.
    gaps : "break" or "join"
        What becomes of a gap that can't close any more, as a punctuation has passed the event behind it. ``"break"``: no match
        spans it, ever. ``"join"``: the events beside it follow each other, so that the final output is that of the plain operator.
    on_gap : callable, optional
        ``on_gap(key, first, last)`` is told of each such gap, with its missing numbers, once all else of the call has worked.

    Notes
    -----
    Source: [AFA10] Sec. 5.3. A hash table on numbers decides what is adjacent, by looking up n - 1 and n + 1. Departs: beneath it
    stays the operator with its index by time, so that promises, arcs and retractions are the same; behind the last number before a
    gap lies a *barrier*, an event that no arc takes (see `speculation.barrier`), which goes when the gap closes. Time-outs fire up
    to where the promise has come, and not across a gap. A punctuation costs the keys and gaps that it concerns. Of many keys one
    is forgotten when its last event is final and over, its RE promised: a gap across such a silence may go untold.

    Examples
    --------
    >>> from afa import insert
    >>> class Tick(NamedTuple):
    ...     change: float
    ...     seq: int
    >>> falls = Automaton(
    ...     start="0", final={"2"}, event=Tick, arcs=[Arc("0", "1", "change < 0"), Arc("1", "2", "change < 0")])
    >>> op = Ordered(falls, number="seq", window=60)
    >>> op.push(insert(Tick(-1.0, 1), le=10)), op.push(insert(Tick(-1.0, 3), le=30))  # 2 is to come: nothing is said yet
    ([], [])
    >>> len(op.push(insert(Tick(-1.0, 4), le=40)))  # 3 and 4 are adjacent
    1
    >>> [(match.le, match.diff) for match in op.push(insert(Tick(-1.0, 2), le=20))]
    [(20, 1), (30, 1)]
    """

    def __init__(
        self,
        automaton: Automaton,
        *,
        number: str = "seq",
        key: KeyOf | None = None,
        window: int | None = None,
        engine: EngineName = "auto",
        late: Policy = "raise",
        arc_punctuation: bool = False,
        repeated: Repeated = "raise",
        gaps: str = "break",
        on_gap: OnGap | None = None,
    ) -> None:
        self._begin(automaton, number, key)
        options: dict[str, Any] = {"window": window, "engine": engine, "sequence": number, "arc_punctuation": arc_punctuation}
        core = Core(self._derived.automaton, late=self._policy(late), keyed=self._keys is not None, **options)
        self._sequences = Sequences(core, self._derived, repeated, gaps, on_gap)
        self._core = core

    def _begin(self, automaton: Automaton, number: str, key: KeyOf | None) -> None:
        if not isinstance(automaton, Automaton):
            raise AfaError(f"expected an Automaton but got {automaton!r}")
        self._automaton = automaton
        self._keys = None if key is None else Keys(automaton, key)
        self._derived = Derived(automaton, number, self._keys)

    def _policy(self, late: Any) -> Any:
        """The policy for what the operator beneath finds late: a callback gets the user's changes."""
        return (lambda change: late(self._derived.users(change))) if callable(late) else late

    @property
    def automaton(self) -> Automaton:
        """The automaton that the operator was made with; arcs pushed since are not in it."""
        return self._automaton

    def push(self, change: Change | Punctuation, *, key: Hashable = _MISSING) -> Output:
        """Take one event change or a promise of the event input; with ``key``, as `Keyed.push`.

        Returns and raises as `Operator.push`.

        Raises
        ------
        ChangeError
            The number is in force, and ``repeated="raise"``; or numbers stand against their times.
        """
        return self._core.calls.either(self._push_alone, self._push, change, key)

    def _push_alone(self, change: Any, key: Hashable) -> Output | None:
        return self._sequences.next_in_order(change, self._key_of(change, key)) if isinstance(change, Change) else None

    def _push(self, change: Any, key: Hashable) -> Output:
        return self._sequences.run([("event", change, self._key_of(change, key) if isinstance(change, Change) else None)])

    def _key_of(self, change: Change, key: Hashable) -> Hashable:
        if self._keys is None:
            if key is not _MISSING:
                raise AfaError(f"expected no key, as the operator was made without one, but got key={key!r}")
            return None
        found: Hashable = take_key(self._keys.of_change(change) if key is _MISSING else key)
        return found

    def push_arc(self, change: Change | Punctuation) -> Output:
        """Take an arc for all keys, its retraction, or a promise of the arc input. Returns and raises as `Operator.push_arc`."""
        return self._core.calls.call(self._sequences.run, [("arc", change, None)])

    def push_many(self, batch: Any, *, arcs: Sequence[Arc] = ()) -> Any:
        """Take a batch, as one call: all of it or nothing; takes and gives what `Operator.push_many` does.

        A table of insertions and punctuations goes through arrays, on the compiled engine: sorted by number, its blocks of adjacent
        numbers are what is looked at. All else goes row by row. The output is always net: what was withdrawn within the call is not
        in it.
        """
        return self._core.calls.call(self._push_many, batch, arcs)

    def _push_many(self, batch: Any, arcs: Sequence[Arc]) -> Any:
        done = push_table(self._sequences, self._keys, batch)
        if done is not None:
            return done
        rows = cast(Any, _Rows(self))
        come = table.opened(rows, batch, self._keys, arcs)
        out = rows.run(table.items_of(rows, come, self._keys), True)
        if come.like is None:
            return out
        return table.answer(table.Found.of(out, self.automaton), come, rows, self._keys, True)

    @property
    def statistics(self) -> OrderedStatistics:
        """The numbers of what the operator holds and has done so far, over all keys."""
        return self._core.calls.call(self._look)

    def _look(self) -> OrderedStatistics:
        of = self._sequences
        beneath = self._core.statistics()._replace(changes=of.changes)
        barriers = sum(len(numbers.blocks) - 1 for numbers in of.keys.values() if numbers.blocks)
        return OrderedStatistics(*beneath[:12], of.gap_count, of.missing, of.repeats, barriers)

    def snapshot(self) -> bytes:
        """The whole state as bytes, in the format of `speculation.ordered_state`: plain data, no code.

        Raises
        ------
        SnapshotError
            As of `Operator.snapshot`.
        """
        return self._core.calls.call(ordered_saved.save, self._sequences, self._keys is not None)

    @classmethod
    def restore(
        cls,
        automaton: Automaton,
        blob: bytes,
        *,
        key: KeyOf | None = None,
        arcs: Iterable[Arc] = (),
        late: Policy | None = None,
        engine: EngineName = "auto",
        repeated: Repeated | None = None,
        on_gap: OnGap | None = None,
    ) -> Ordered:
        """Make the operator that `snapshot` saved.

        Parameters
        ----------
        automaton : Automaton
            The automaton that the operator was made with.
        blob : bytes
        key, on_gap
            Given again.
        arcs, late, engine
            As of `Operator.restore`.
        repeated : policy, optional
            None: the policy that was saved. A callable is not saved, and must be given again.

        Raises
        ------
        SnapshotError, AutomatonError
            As of `Operator.restore`.
        """
        body = ordered_saved.unpacked(blob)
        op = cls.__new__(cls)
        op._begin(automaton, body.number, key)
        given = list(arcs)
        for arc in given:
            automaton.check_arc(arc)
        core = ordered_saved.core_of(body, op._derived, given, None if late is None else op._policy(late), engine, key is not None)
        op._sequences = Sequences(core, op._derived, ordered_saved.policy_of(body, repeated), body.gaps, on_gap)
        ordered_saved.fill(body, op._sequences)
        op._core = core
        return op

    def __copy__(self) -> Ordered:
        return copy.deepcopy(self)

    def __reduce__(self) -> tuple[Any, ...]:
        raise AfaError("expected an Operator or a Keyed to be pickled but got an Ordered: use snapshot() and restore()")

    def __deepcopy__(self, memo: dict[int, Any]) -> Ordered:
        return self._core.calls.call(twin, self, memo)  # type: ignore[no-any-return]

    def _check(self) -> None:
        """Assert the invariants of the operator beneath and of the numbers; for tests."""
        self._core.calls.call(self._core.check)
        self._core.calls.call(self._sequences.check)


class _Rows:
    """What `afa.operator.tables` asks of an operator's core, where all goes row by row."""

    engine = None

    def __init__(self, op: Ordered) -> None:
        self.automaton = op.automaton
        self._sequences = op._sequences

    def run(self, items: Any, net: bool) -> Output:
        """Carry out one call."""
        return self._sequences.run(items)
