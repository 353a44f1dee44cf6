"""AFA+O: the operator for streams whose events carry gapless numbers ([AFA10] Sec. 5.3), as a class of its own."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from afa.change import Change
from afa.errors import AfaError, SnapshotError
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.model.keys import Keys, take_key
from afa.operator import snapshot
from afa.operator.call import Core, Output
from afa.operator.gapless import Gapless, OnGap, Repeated
from afa.operator.matching import EngineName, KeyOf, Matching
from punctuation.durations import Duration
from punctuation.late import Policy
from punctuation.promise import Punctuation

_MISSING: Any = object()


class Ordered(Matching):
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
        As ``gapless`` of `Operator`.
    key : str, sequence of str, or callable, optional
        As of `Keyed`: each key has numbers of its own. None: one stream.
    window, engine, late, arc_punctuation, gaps, repeated, on_gap, tick
        As of `Operator`.

    Notes
    -----
    Source: [AFA10] Sec. 5.3. It is an `Operator`, or with ``key`` a `Keyed`, with ``gapless=number``.

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
        window: Duration | None = None,
        engine: EngineName = "auto",
        late: Policy = "raise",
        arc_punctuation: bool = False,
        repeated: Repeated = "raise",
        gaps: str = "break",
        on_gap: OnGap | None = None,
        tick: str | None = None,
    ) -> None:
        if not isinstance(automaton, Automaton):
            raise AfaError(f"expected an Automaton but got {automaton!r}")
        self._core = Core(
            automaton,
            window=window,
            tick=tick,
            engine=engine,
            sequence=None,
            late=late,
            arc_punctuation=arc_punctuation,
            keyed=key is not None,
            gapless=Gapless(automaton, number, gaps, repeated, on_gap, "number"),
        )
        self._core.keys = None if key is None else Keys(automaton, key, self._core.tick)

    def push(self, change: Change | Punctuation, *, key: Hashable = _MISSING) -> Output:
        """Take one event change or a promise of the event input. As `Keyed.push`, if there is a key, else as `Operator.push`.

        Raises
        ------
        ChangeError
            The number is in force, and ``repeated="raise"``; or numbers stand against their times.
        """
        keys = self._core.keys
        if keys is None and key is not _MISSING:
            raise AfaError(f"expected no key, as the operator was made without one, but got key={key!r}")
        if keys is None or not isinstance(change, Change):
            return self._core.push(change, None)
        return self._core.push(change, take_key(keys.of_change(change) if key is _MISSING else key))

    def snapshot(self) -> bytes:
        """Return the whole state as bytes; as `Operator.snapshot`, which it is one of."""
        return self._core.calls.call(snapshot.save, self._core)

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
        tick: str | None = None,
    ) -> Ordered:
        """Make the operator that `snapshot` saved. As `Operator.restore`, with the key given again."""
        core = snapshot.load(
            automaton, [blob], arcs, late, engine, keyed=key is not None, repeated=repeated, on_gap=on_gap, tick=tick
        )
        if core.gapless is None:
            raise SnapshotError("expected a snapshot of an Ordered but got one of an operator whose events have no numbers")
        op = cls.__new__(cls)
        op._core, core.keys = core, None if key is None else Keys(automaton, key, core.tick)
        return op
