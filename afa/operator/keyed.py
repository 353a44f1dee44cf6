"""One operator state per key, under shared arcs and shared promises."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from afa.change import Change
from afa.engine.budget import PARTIAL_MATCHES, SAVED, Budget
from afa.errors import AfaError
from afa.model.arc import Arc
from afa.model.keys import Keys, take_key
from afa.model.option_values import threads_of
from afa.operator import snapshot
from afa.operator.call import Core, Output
from afa.operator.contract import OperatorMeta, Pattern, no_sequence, said_of
from afa.operator.gapless import OnGap, Repeated, gapless_of
from afa.operator.matching import EngineName, KeyOf, Matching
from punctuation.durations import Duration
from punctuation.late import Policy
from punctuation.promise import Punctuation

_MISSING: Any = object()
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
    window, engine, sequence, late, arc_punctuation, retractions, keep_payloads, gapless, gaps, repeated, on_gap, tick, cancel
        As of `Operator`, and so are ``longest``, ``members``, ``tell``, ``lineage``, ``collapse`` and ``having``. An arc pushed
        without a lifetime begins one tick past all that was seen, over all keys.
    threads : int
        In how many threads a call is carried out, each for a part of the keys. Output, snapshots and errors are the same with any
        number. Memory grows by some megabytes a thread. One thread works where it is the engine in Python, where numbers are
        ``gapless``, where an arc runs in Python, and where there is little to do.

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
        """Return of a pattern that is no automaton the operator that it makes of itself; None: it is this."""
        if not isinstance(automaton, Pattern):
            return None
        _check_keyed(automaton, options.get("key"))
        return automaton.operator(**options)

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
        _check_keyed(automaton, key)
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
            threads=threads,
            engine=engine,
            sequence=sequence,
            late=late,
            arc_punctuation=arc_punctuation,
            retractions=retractions,
            keep_payloads=keep_payloads,
            keyed=True,
            gapless=gapless_of(automaton, gapless, gaps, repeated, on_gap),
            budget=Budget(partial_matches, max_bytes, threads),
        )
        self._core.keys = Keys(automaton, key, self._core.tick)

    def push(self, change: Change | Punctuation, *, key: Hashable = _MISSING) -> Output:
        """Take one event change of one key, or a promise for all keys. Returns and raises as `Operator.push`.

        Parameters
        ----------
        key : hashable, optional
            Left out: the key is made from the event. An output change of another `Keyed` keeps its key if the event makes none.
        """
        if type(change) is not Change or type(change.le) is not int or type(change.payload) is dict:
            change = self._core.in_form(change)
            if not isinstance(change, Change):
                return self._core.push(change, None)
        if key is _MISSING:
            if self._core.named is not None:  # of a retraction only the id may be known
                return self._core.push(change, None)
            assert self._core.keys is not None
            key = self._core.keys.of_change(change)
        return self._core.push(change, take_key(key))

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
    def restore(
        cls,
        automaton: Any,
        blob: bytes | Sequence[bytes],
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
    ) -> Keyed:
        """Make the keyed operator that `snapshot` saved. As `Operator.restore`, with the key given again.

        Parameters
        ----------
        blob : bytes or sequence of bytes
            A snapshot; or a whole one and the incremental ones that were taken after it, in that order.
        threads : int
            As of `Keyed`; it is no matter how many there were when the snapshot was taken.
        """
        _check_keyed(automaton, key)
        threads_of(threads)
        if isinstance(automaton, Pattern):
            said = said_of(key=key, late=late, repeated=repeated, on_gap=on_gap, tick=tick, sequence=sequence)
            bounds = {"partial_matches": partial_matches, "max_bytes": max_bytes, "threads": threads}
            found: Keyed = automaton.restore(blob, arcs=arcs, engine=engine, **bounds, **said)
            return found
        no_sequence(sequence)
        blobs: Any = [blob] if isinstance(blob, (bytes, bytearray, memoryview, str)) else blob
        core = snapshot.load(
            automaton, blobs, arcs, late, engine, True, None, None, repeated, on_gap, tick, threads, (partial_matches, max_bytes)
        )
        return cls._of(core, key)  # type: ignore[arg-type]  # there is one

    @classmethod
    def _of(cls, core: Core, key: KeyOf) -> Keyed:
        """Return the keyed operator with this core."""
        keyed: Keyed = cls.__new__(cls)
        keyed._core = core
        core.keys = Keys(core.automaton, key, core.tick)
        return keyed


def _check_keyed(pattern: Any, key: Any) -> None:
    if key is None and (not isinstance(pattern, Pattern) or pattern.key is None):
        raise AfaError(WITHOUT)
