"""AFA+O: the operator for streams whose events carry gapless numbers ([AFA10] Sec. 5.3), as a class of its own."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from afa.change import Change
from afa.errors import AfaError, SnapshotError
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.operator import snapshot
from afa.operator.call import Core, Output
from afa.operator.gapless import Gapless, OnGap, Repeated
from afa.operator.keyed import Keyed, KeyOf
from afa.operator.operator import EngineName, Operator
from afa.operator.statistics import Statistics
from punctuation.late import Policy
from punctuation.promise import Punctuation

_MISSING: Any = object()


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
    window, engine, late, arc_punctuation, repeated, gaps, on_gap
        As of `Operator`.

    Notes
    -----
    Source: [AFA10] Sec. 5.3. It is an `Operator`, or with ``key`` a `Keyed`, with ``gapless=number``; SEMANTICS.md says what that
    means.

    Examples
    --------
    >>> from typing import NamedTuple
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
        if not isinstance(automaton, Automaton):
            raise AfaError(f"expected an Automaton but got {automaton!r}")
        options: dict[str, Any] = {"window": window, "engine": engine, "late": late, "arc_punctuation": arc_punctuation}
        numbers = Gapless(automaton, number, gaps, repeated, on_gap, "number")
        self._hold(Core(automaton, sequence=None, keyed=key is not None, gapless=numbers, **options), key)

    def _hold(self, core: Core, key: KeyOf | None) -> None:
        self._core = core
        self._op: Any = Operator._of(core) if key is None else Keyed._of(core, key)

    @property
    def automaton(self) -> Automaton:
        """The automaton that the operator was made with; arcs pushed since are not in it."""
        return self._core.automaton

    def push(self, change: Change | Punctuation, *, key: Hashable = _MISSING) -> Output:
        """Take one event change or a promise of the event input; with ``key``, as `Keyed.push`.

        Returns and raises as `Operator.push`.

        Raises
        ------
        ChangeError
            The number is in force, and ``repeated="raise"``; or numbers stand against their times.
        """
        if key is _MISSING:
            return self._op.push(change)  # type: ignore[no-any-return]
        if not self._core.keyed:
            raise AfaError(f"expected no key, as the operator was made without one, but got key={key!r}")
        return self._op.push(change, key=key)  # type: ignore[no-any-return]

    def push_arc(self, change: Change | Punctuation) -> Output:
        """Take an arc for all keys, its retraction, or a promise of the arc input; as `Operator.push_arc`."""
        return self._op.push_arc(change)  # type: ignore[no-any-return]

    def push_many(self, batch: Any, *, arcs: Sequence[Arc] = ()) -> Any:
        """Take a batch, as one call: all of it or nothing; takes and gives what `Operator.push_many` does, with ``net``."""
        return self._op.push_many(batch, arcs=arcs)

    @property
    def statistics(self) -> Statistics:
        """What is held and what was done so far, over all keys."""
        return self._op.statistics  # type: ignore[no-any-return]

    def snapshot(self) -> bytes:
        """The whole state as bytes; as `Operator.snapshot`, which it is one of."""
        return self._op.snapshot()  # type: ignore[no-any-return]

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
        """The operator that `snapshot` saved.

        Parameters
        ----------
        automaton : Automaton
            The one it was made with.
        blob : bytes
        key, on_gap
            Given again.
        arcs, late, engine
            As of `Operator.restore`.
        repeated : policy, optional
            None: the one that was saved; a callable must be given again.

        Raises
        ------
        SnapshotError, AutomatonError
            As of `Operator.restore`.
        """
        core = snapshot.load(automaton, [blob], arcs, late, engine, keyed=key is not None, repeated=repeated, on_gap=on_gap)
        if core.gapless is None:
            raise SnapshotError("expected a snapshot of an Ordered but got one of an operator whose events have no numbers")
        op = cls.__new__(cls)
        op._hold(core, key)
        return op

    def __copy__(self) -> Ordered:
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Ordered:
        other = memo[id(self)] = object.__new__(type(self))
        other._op = copy.deepcopy(self._op, memo)
        other._core = other._op._core
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        raise AfaError("expected an Operator or a Keyed to be pickled but got an Ordered: use snapshot() and restore()")

    def _check(self) -> None:
        """Assert the invariants; for tests."""
        self._op._check()
