"""AFA+O: the operator for streams whose events carry gapless numbers ([AFA10] Sec. 5.3), as a class of its own."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from afa.change import Change
from afa.errors import AfaError, SnapshotError
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.model.keys import UNSAID, Keys
from afa.operator import snapshot
from afa.operator.call import Core, Output
from afa.operator.gapless import Gapless, OnGap, Repeated
from afa.operator.matching import Matching
from afa.operator.options import OperatorOptions, Unpack, options_again, options_of, takes_options
from punctuation.promise import Punctuation

TAKES = ("key", "window", "engine", "late", "arc_punctuation", "tick")


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
    gaps, repeated, on_gap
        As of `afa.Gapless`.
    options
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

    @takes_options(*TAKES)
    def __init__(
        self,
        automaton: Automaton,
        *,
        number: str = "seq",
        gaps: str = "break",
        repeated: Repeated = "raise",
        on_gap: OnGap | None = None,
        **options: Unpack[OperatorOptions],
    ) -> None:
        said = options_of(options, "Ordered", TAKES).but(gapless=Gapless(number, gaps=gaps, repeated=repeated, on_gap=on_gap))
        self._core = Core(automaton, said, keyed=said.key is not None)
        self._core.keys = None if said.key is None else Keys(automaton, said.key, self._core.tick)

    def push(self, change: Change | Punctuation, *, key: Hashable = UNSAID) -> Output:
        """Take one event change or a promise of the event input. As `Keyed.push`, if there is a key, else as `Operator.push`.

        Raises
        ------
        ChangeError
            The number is in force, and ``repeated="raise"``; or numbers stand against their times.
        """
        core = self._core
        if core.keys is None and key is not UNSAID:
            raise AfaError(f"expected no key, as the operator was made without one, but got key={key!r}")
        change = change if type(change) is Change else core.in_form(change)
        return core.push(change, core.key_of(change, key))

    def snapshot(self) -> bytes:
        """Return the whole state as bytes; as `Operator.snapshot`, which it is one of."""
        return self._core.calls.call(snapshot.save, self._core)

    @classmethod
    @takes_options(*TAKES)
    def restore(
        cls,
        automaton: Automaton,
        blob: bytes,
        *,
        arcs: Iterable[Arc] = (),
        repeated: Repeated | None = None,
        on_gap: OnGap | None = None,
        **options: Unpack[OperatorOptions],
    ) -> Ordered:
        """Make the operator that `snapshot` saved. As `Operator.restore`, with the key given again."""
        said = options_again(options)
        key = said.get("key")
        said["gapless"] = {name: policy for name, policy in (("repeated", repeated), ("on_gap", on_gap)) if policy is not None}
        core = snapshot.load(automaton, [blob], arcs, said, keyed=key is not None)
        if core.gapless is None:
            raise SnapshotError("expected a snapshot of an Ordered but got one of an operator whose events have no numbers")
        return cls._of(core, key)  # type: ignore[no-any-return]
