"""One operator state per key, under shared arcs and shared promises."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, overload

from afa.change import Change
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.model.keys import Keys, take_key
from afa.operator import snapshot
from afa.operator import tables as table
from afa.operator.call import Core
from afa.operator.gapless import OnGap, Repeated, gapless_of
from afa.operator.open_timeouts import open_timeouts
from afa.operator.operator import EngineName
from afa.operator.shipping import shipped
from afa.operator.single import Output
from afa.operator.statistics import Statistics
from afa.operator.twin import twin
from punctuation.late import Policy
from punctuation.promise import Punctuation

KeyOf = str | Sequence[str] | Callable[[Any], Hashable]
_MISSING: Any = object()


class Keyed:
    """Match an automaton in each of many streams, told apart by a key. Calls, interrupts and threads: as of `Operator`.

    Parameters
    ----------
    automaton : Automaton
    key : str, sequence of str, or callable
        The event's field or fields that make the key, or a function of the event. Names that are no fields of the event are
        columns beside them in `push_many`, and given as ``push(change, key=...)``. One name makes a bare key, several a tuple.
    window, engine, sequence, late, arc_punctuation, retractions, keep_payloads, gapless, gaps, repeated, on_gap
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

    def __init__(
        self,
        automaton: Automaton,
        *,
        key: KeyOf,
        window: int | None = None,
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
    ) -> None:
        options: dict[str, Any] = {"window": window, "engine": engine, "sequence": sequence, "arc_punctuation": arc_punctuation}
        options |= {"retractions": retractions, "keep_payloads": keep_payloads}
        options["gapless"] = gapless_of(automaton, gapless, gaps, repeated, on_gap)
        self._core = Core(automaton, late=late, keyed=True, **options)
        self._key = Keys(self._core.automaton, key)
        self._core.key_fields = self._key.fields

    @property
    def automaton(self) -> Automaton:
        """The automaton that the operator was made with; arcs pushed since are not in it."""
        return self._core.automaton

    def push(self, change: Change | Punctuation, *, key: Hashable = _MISSING) -> Output:
        """Take one event change of one key, or a promise for all keys. Returns and raises as `Operator.push`.

        Parameters
        ----------
        key : hashable, optional
            Left out: the key is made from the event. An output change of another `Keyed` keeps its key if the event makes none.
        """
        if not isinstance(change, Change):
            return self._core.push(change, None)
        if key is _MISSING:
            key = self._key.of_change(change)
        return self._core.push(change, take_key(key))

    def push_arc(self, change: Change | Punctuation) -> Output:
        """Take an arc for all keys, its retraction, or a promise of the arc input. Returns and raises as `Operator.push_arc`."""
        return self._core.calls.call(self._core.run, [("arc", change, None)], net=True)

    @overload
    def push_many(self, batch: list[Any], *, net: bool = True, arcs: Sequence[Arc] = ()) -> list[Any]: ...
    @overload
    def push_many(self, batch: Any, *, net: bool = True, arcs: Sequence[Arc] = ()) -> Any: ...
    def push_many(self, batch: Any, *, net: bool = True, arcs: Sequence[Arc] = ()) -> Any:
        """Take a batch, as one call. As `Operator.push_many`; the output has the key's columns before the register's."""
        return self._core.calls.call(table.push_many, self._core, batch, self._key, net, arcs)

    @property
    def keys(self) -> list[Hashable]:
        """The keys that hold any state."""
        return self._core.calls.call(self._core.engine.keys)

    @property
    def statistics(self) -> Statistics:
        """The numbers of what the operator holds and has done so far, over all keys."""
        return self._core.calls.call(self._core.statistics)

    @property
    def open_timeouts(self) -> int:
        """How many matches time-outs would still bring if no event came any more. O(state), for automata with time-outs.

        Raises
        ------
        ClosureError
            The matches have no end.
        """
        return open_timeouts(self._core)

    def snapshot(self, *, incremental: bool = False) -> bytes:
        """Return the whole state as bytes, as `Operator.snapshot`. Keys must be plain data too.

        Parameters
        ----------
        incremental : bool
            True: save only the keys that have changed since the last snapshot (the first one has all keys). Such a snapshot is
            restored together with those before it. O(state of these keys), and some tens of nanoseconds for each other key.
        """
        return self._core.calls.call(snapshot.save, self._core, keyed=True, incremental=incremental)

    @classmethod
    def restore(
        cls,
        automaton: Automaton,
        blob: bytes | Sequence[bytes],
        *,
        key: KeyOf,
        arcs: Iterable[Arc] = (),
        late: Policy | None = None,
        engine: EngineName = "auto",
        repeated: Repeated | None = None,
        on_gap: OnGap | None = None,
    ) -> Keyed:
        """Make the keyed operator that `snapshot` saved. As `Operator.restore`, with the key given again.

        Parameters
        ----------
        blob : bytes or sequence of bytes
            A snapshot; or a whole one and the incremental ones that were taken after it, in that order.
        """
        blobs: Any = [blob] if isinstance(blob, (bytes, bytearray, memoryview, str)) else blob
        core = snapshot.load(automaton, blobs, arcs, late, engine, keyed=True, repeated=repeated, on_gap=on_gap)
        return cls._of(core, key)

    @classmethod
    def _of(cls, core: Core, key: KeyOf) -> Keyed:
        """Return the keyed operator with this core."""
        keyed = cls.__new__(cls)
        keyed._core, keyed._key = core, Keys(core.automaton, key)
        core.key_fields = keyed._key.fields
        return keyed

    def __reduce__(self) -> tuple[Any, ...]:
        return self._core.calls.call(shipped, type(self), self._core, self._key)

    def __deepcopy__(self, memo: dict[int, Any]) -> Keyed:
        return self._core.calls.call(twin, self, memo)  # type: ignore[no-any-return]

    def __copy__(self) -> Keyed:
        return self._core.calls.call(twin, self, {})  # type: ignore[no-any-return]

    def _check(self) -> None:
        """Assert the invariants of every key; for tests."""
        self._core.calls.call(self._core.check)
