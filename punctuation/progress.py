"""The watermarks of both inputs, and which output they make final ([AFA10] Sec. 5.4, App. C.1).

events'   t_e   no later change of an event with LE < t_e
arcs'     t_a   no later change of an arc with LE < t_a; by default what t_e is, or a watermark with a condition, if that is larger
effective t_p = min(t_e, t_a): output below t_p is final; t_p leaves as the output's own watermark
output    t_o   t_p; where an automaton chooses among matches WITHIN a window, t_p - window + 1, which leaves in its place
floor     t_f   state below t_f is dropped: t_p; where lineages are kept, a lifetime before what was final when the call began
answers         the matches that end from here on have their lineage: t_p; where lineages are kept, t_p when the call began
now             one tick past the largest event LE or watermark so far: arcs pushed without a lifetime begin there
"""

from __future__ import annotations

from typing import NamedTuple

from punctuation.time import BEGINNING, FOREVER


class Marks(NamedTuple):
    """The numbers of a `Progress`, to save and to put back."""

    events: int
    arcs: int
    final: int
    now: int
    stale: int
    some: int
    floor: int
    answers: int
    span: int


class Progress:
    """The watermarks of both inputs, shared by all keys of an operator; with ``arc_punctuation`` the arc input has its own.

    >>> progress = Progress(arc_punctuation=True)
    >>> progress.promise_events(9), progress.promise_arcs(5)
    (True, True)
    >>> progress.effective, progress.advance(), progress.final
    (5, True, 5)
    >>> progress.promise_events(7), progress.stale
    (False, 1)
    """

    __slots__ = ("answers", "arc_punctuation", "arcs", "events", "final", "floor", "lags", "later", "now", "some", "span", "stale")

    def __init__(self, arc_punctuation: bool = False) -> None:
        self.arc_punctuation = arc_punctuation
        self.lags = False  # whether state is dropped by `let_go` only
        self.later: int | None = 0  # how many ticks later than state output is final; None: only by the last watermark
        self.restore(Marks(BEGINNING, BEGINNING, BEGINNING, BEGINNING, 0, BEGINNING, BEGINNING, BEGINNING, 0))

    def marks(self) -> Marks:
        """Return the numbers as they are now."""
        return Marks(self.events, self.arcs, self.final, self.now, self.stale, self.some, self.floor, self.answers, self.span)

    def restore(self, marks: Marks) -> None:
        """Put earlier numbers back."""
        self.events, self.arcs, self.final, self.now, self.stale, self.some, self.floor, self.answers, self.span = marks

    def see(self, le: int) -> None:
        """Take note of an event's LE, so that ``now`` lies past it."""
        if le >= self.now:
            self.now = min(le + 1, FOREVER)

    @property
    def arc_promise(self) -> int:
        """The watermark of the arc input: a change of an arc with an LE below it is late."""
        return self.arcs if self.arc_punctuation else max(self.events, self.some)

    @property
    def effective(self) -> int:
        """``min(events', arcs')``."""
        return min(self.events, self.arc_promise)

    @property
    def output(self) -> int:
        """The output's own watermark: no later change of output with an LE below it.

        >>> progress = Progress()
        >>> progress.later = 9
        >>> progress.promise_events(30), progress.advance(), progress.output
        (True, True, 21)
        """
        if self.final in (BEGINNING, FOREVER) or not self.later:
            return BEGINNING if self.later is None and self.final < FOREVER else self.final
        return max(self.final - self.later, BEGINNING)

    def promise_events(self, t: int) -> bool:
        """Take a watermark of the event input. Returns whether it says something new; if not, counts it as stale."""
        if t <= self.events:
            self.stale += 1
            return False
        self.events = t
        self.see(t)
        return True

    def promise_some(self, t: int) -> None:
        """Take a watermark with a condition: from now on a change of an arc with an LE below ``t`` is late.

        The state that such an arc would need may be gone.
        """
        self.some = max(self.some, t)
        self.see(t)

    def promise_arcs(self, t: int) -> bool:
        """Take a watermark of the arc input, which has an effect only with ``arc_punctuation=True``. Returns whether it moved."""
        if not self.arc_punctuation or t <= self.arcs:
            self.stale += 1
            return False
        self.arcs = t
        self.see(t)
        return True

    def advance(self) -> bool:
        """Make all output below the effective watermark final. Returns whether the effective watermark moved."""
        if self.effective <= self.final:
            return False
        self.final = self.effective
        if not self.lags:
            self.floor = self.answers = self.final
        return True

    def let_go(self, begun: int = BEGINNING) -> bool:
        """Let state be dropped but for a lifetime before what is final, or but for what began from ``begun`` on.

        Returns whether the floor moved.

        >>> progress = Progress()
        >>> progress.lags, progress.span = True, 10
        >>> progress.promise_events(25), progress.advance(), progress.floor == BEGINNING
        (True, True, True)
        >>> progress.let_go(), progress.floor, progress.answers
        (True, 15, 25)
        >>> progress.promise_events(30), progress.advance(), progress.let_go(begun=23), progress.floor
        (True, True, True, 23)
        """
        floor, self.answers = max(self.final - self.span, min(begun, self.final), self.floor), self.final
        if floor == self.floor:
            return False
        self.floor = floor
        return True
