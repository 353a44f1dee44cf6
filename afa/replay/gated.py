"""Gate: a stage that lets an operator see only what may be in a match: events within a window of a witness.

    every accepted run has a witness     an event of its pattern that is rare (`afa.replay.witness`)
    a run is shorter than a window       so all its events lie in the span (LE of the witness - window, LE of the witness + window)

Of each key the gate holds events until a witness comes; then it lets go what it holds in the span around it, and what comes there
later passes. What a promise has left a window behind can't be needed any more, and is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from afa.errors import AfaError
from afa.model.automaton import Automaton
from afa.model.option_values import yes_or_no
from afa.replay.awaited import asked, obstacle, said, without_witness
from afa.replay.gated_operator import Gated
from afa.replay.holding_back import GateStatistics, HoldsBack
from afa.replay.witness import Serving, Witness, necessary
from afa.replay.witness.witnesses import Share, guessed
from afa.state.sound import wanted
from punctuation.durations import Duration
from speculation.stage import Output

__all__ = ["Gate", "GateStatistics"]


class Gate(HoldsBack):
    """A stage before an operator that holds events back until a rare necessary one lies within the window of them.

    Every match needs a *witness*: an event of which the automaton alone tells that each accepted run has one
    (`afa.replay.witness`). A run is shorter than the window, so all its events lie less than a window before or behind its witness.
    Of each key the operator gets the events in these open spans only: late, when the witness comes; what comes into such a span
    later passes at once, whatever its LE. All others are dropped once a promise has left them a window behind.

    **What it means.** The net output of the operator behind a gate is that of the operator alone, after every prefix of the input,
    where the automaton has no time-outs: a match in force has its witness, all that its runs have seen lies in the witness's span.
    Time-outs wait for the clock, which events that are held do not move: what fires by them fires later, nothing fires that would
    not fire without the gate. All that lies below what has been promised behind the gate is the same; after a promise of FOREVER
    all is.

    A promise t leaves as ``min(t, the least LE that is still held)``, so at most a window late: what is held may still be let go.

    **What is not looked at is not refused.** A function that would raise on an event, two events that would tie, are found when the
    event is let go, or never. Where a retraction is let go before its event has come, it is late when the operator's promise
    passes it, which is behind the gate's.

    Parameters
    ----------
    automaton : Automaton
        That of the operator. Also a query: then it is not compared.
    window : int (ticks), str or timedelta, optional
        The operator's; needed if that has none, and events bring an RE of their own. No event may last longer.
    share : callable, optional
        ``share(box)`` says how rare the events of a `Box` are; of several witnesses the rarest is taken. None: a guess from the
        form of the condition.
    require : bool
        What becomes of all with which no gate can stand. False: it *opens*, for good: it lets go what it holds, makes good its
        promise, passes on all that comes from there on, and `reason` says why. True: it is refused.
    tick : str, optional
        What one int of LE counts; the operator's, unless said.

    Attributes
    ----------
    reason : str or None
        Why the gate is open. It is from the beginning where there is no witness or no window, and with ``gapless=``, ``id=`` or
        ``arc_punctuation=True``; and from then on where an arc changes, an event lasts longer than the window, or a promise
        comes with a condition.
    witness : Witness or None
        For what it waits.

    Raises
    ------
    AfaError
        By ``before``, where ``require=True`` and one of these stands against it; the operator has another automaton or window, or
        has taken something already.

    Notes
    -----
    O(log n) for each event that comes alone, with n held of its key or, where it is the first one at its LE, of all. Rows of a
    table are sorted by key and LE, and wait as rows: O(n log n) a table, O(log n) for each span and table held. Rows that are late,
    retractions, or last longer than the window, and tables with a column ``kind``, go one by one. Held is what lies
    above the promise - window.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from afa import Arc, Automaton, Operator, Punctuation, insert
    >>> class Order(NamedTuple):
    ...     kind: str
    ...     size: int
    >>> alarm = Automaton(
    ...     start="0", final={"2"}, event=Order,
    ...     arcs=[
    ...         Arc("0", "1", "kind == 'placed'"), Arc("1", "1", "kind == 'placed'"),
    ...         Arc("1", "2", "kind == 'cancelled' and size > 1000000"),
    ...     ],
    ... )
    >>> op = Gate(alarm).before(Operator(alarm, window=10))
    >>> op.stage.witness.text(alarm.event_schema)
    "kind = 'cancelled' and size > 1000000 (1 -> 2)"
    >>> op.push_many([insert(Order("placed", 5), le) for le in (1, 12, 15)])
    []
    >>> [(match.le, match.re) for match in op.push(insert(Order("cancelled", 2_000_000), le=20))]  # 12 and 15 are let go
    [(20, 22), (20, 25)]
    >>> [(match.le, match.re, match.diff) for match in op.push(insert(Order("placed", 5), le=11))]  # late, and passes
    [(20, 21, 1)]
    >>> op.push(Punctuation(30)), op.statistics.changes
    ([Punctuation(t=30)], 4)
    >>> op.stage.statistics
    GateStatistics(held=0, peak_held=3, passed=2, released=2, dropped=1, annihilated=0, witnesses=1, spans=0, stale=0)
    """

    _automaton: Automaton | None = None

    def __init__(
        self,
        automaton: Any,
        window: Duration | None = None,
        *,
        share: Share | None = None,
        require: bool = False,
        tick: str | None = None,
    ) -> None:
        if not isinstance(automaton, Automaton) and not isinstance(getattr(automaton, "automaton", None), Automaton):
            raise AfaError(f"expected an Automaton, or a query, but got {automaton!r}")
        yes_or_no(require=require)
        self._begin(window, require, tick)
        self._automaton = automaton if isinstance(automaton, Automaton) else None
        self._share = share or guessed

    def before(self, operator: Any) -> Gated:
        """Put this stage at the input of an `Operator` or a `Keyed` that has taken nothing yet."""
        return Gated(self, operator)

    def take(self, item: Any, out: Output) -> None:
        """Refuse to stand alone: the operator knows the form of events."""
        raise AfaError("expected a Gate before an operator but got one alone: Gate(automaton).before(operator)")

    @classmethod
    def restore(  # type: ignore[override]  # a gate alone is none
        cls, blob: bytes, operator: Callable[[bytes], Any]
    ) -> Gated:
        """Make the gate and the operator that `snapshot` of both saved.

        Parameters
        ----------
        blob : bytes
        operator : callable
            Restores the operator from its part of the blob: ``lambda blob: Operator.restore(automaton, blob)``.

        Raises
        ------
        SnapshotError
            The blob is no snapshot of a Gate before an operator, or is damaged; or the operator's automaton has not the witness for
            which the gate waited.
        """
        return Gated.restore(blob, operator)  # type: ignore[no-any-return]

    # -- the operator --------------------------------------------------------------------------------------------------------------

    def follow(self, core: Any) -> None:
        """Take note of the operator, and find the witness."""
        self._fit(core)
        self._events = core.automaton.event_schema
        servings = [Serving(event.arc, event.le, event.re) for event in core.arcs.table.events]
        if self.reason is None:
            self.reason = obstacle(core, self.window)
        if self.reason is None and self._restored:
            known = set(self.boxes)
            found = necessary(core.automaton, servings, lambda box: 1e-9 if box in known else 0.5)
            self.witness = next((each for each in found.witnesses if set(each.boxes) <= known), None)
            wanted("an operator that has the Gate's witness", self.witness, self.boxes)
        elif self.reason is None:
            found = necessary(core.automaton, servings, self._share)
            self.witness = min(found.witnesses, key=self._rarity, default=None)
            self.reason = None if self.witness else without_witness(found)
            self.boxes = self.witness.boxes if self.witness else ()
        if self.reason is not None and self.require:
            raise AfaError(f"expected an operator before which a Gate can stand but got one where {self.reason}")
        if self.reason is None:
            self._asked = asked(self.boxes, self._events)

    def _fit(self, core: Any) -> None:
        """Refuse an operator with another window or automaton."""
        if self.window is None:
            self.window = core.window
        elif core.window is not None and core.window != self.window:
            raise AfaError(f"expected a Gate with the operator's window={core.window} but got window={self.window}")
        mine = None if self._automaton is None else self._automaton.bound(core.tick)
        if mine is not None and said(mine) != said(core.automaton):
            raise AfaError("expected a Gate with the operator's automaton but got another one")
        names = () if core.keys is None else core.keys.names
        wanted("rows of the operator's keys", not self._waiting.tables or self._waiting.key_names == names, self._waiting.key_names)
        self._waiting.key_names = names

    def _rarity(self, witness: Witness) -> float:
        return sum(self._share(box) for box in witness.boxes)

    @property
    def stands(self) -> bool:
        """Whether the stage stands before an operator."""
        return self.witness is not None or self.reason is not None
