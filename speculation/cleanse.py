"""Cleanse: a stage that limits how far ahead of the last watermark changes leave ([AFA10] Sec. 5.3).

    below the bound        a change leaves at once
    at the bound or above  it waits; an insertion and its retraction that meet while one waits annihilate

The bound is the last watermark + sigma, and never goes back.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np

from afa.change import Change
from afa.errors import AfaError, SnapshotError
from afa.model.copies import as_plain, as_total
from afa.schema import as_ticks
from afa.state.sound import short, wanted
from punctuation.calls import whole
from punctuation.durations import Duration, ticks_of_duration
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER, as_time
from speculation.before_after import After, Before
from speculation.control import CONTROLS, Chattiness, Control, Delay, Feedback
from speculation.stage import Output, Stage, checked
from speculation.waiting import copies_of


class CleanseStatistics(NamedTuple):
    """The numbers of one `Cleanse`, in copies: a change with ``diff=2`` counts as two.

    Parameters
    ----------
    held : int
        Changes that wait now.
    peak_held : int
        The most changes that ever waited.
    passed : int
        Changes that left at once.
    released : int
        Changes that left after they had waited.
    annihilated : int
        Pairs of an insertion and its retraction that met while one of them waited.
    bound : int
        The bound: all changes that have left have an LE below it, and a change that comes with such an LE leaves at once.
    stale : int
        Watermarks that said nothing new.
    """

    held: int
    peak_held: int
    passed: int
    released: int
    annihilated: int
    bound: int
    stale: int


class Cleanse(Stage):
    """Let only those changes leave that are not too far ahead of the last watermark. The others wait, in order.

    Parameters
    ----------
    sigma : int (ticks), str or timedelta, optional
        The speculation factor: a change waits until its LE is below the last watermark + sigma. 0: all that leaves is
        in order and final. None or ``math.inf``: nothing waits, the maximum of speculation. ``sigma`` may be set while the stage
        runs; it then acts from the next watermark on.
    tick : str, optional
        What one int of LE counts, for ``Cleanse("5 s")``; where the stage stands at an operator that one's.

    Raises
    ------
    AfaError
        ``sigma`` is no duration, or below 0; or it has a unit, and there is no tick when the first change comes.

    Notes
    -----
    O(log n) for a change that waits, with n different LEs that wait; O(1) for one that does not. Without a sigma the bound is one
    past the largest LE that has left, so that a sigma set later has an effect. Source: [AFA10] Sec. 5.3, where events are never
    retracted.

    Examples
    --------
    >>> from afa import insert, retract, Punctuation
    >>> cleanse = Cleanse(sigma=2)
    >>> [len(cleanse.push(item)) for item in (insert("c", 7), insert("b", 5), insert("a", 4), retract("b", 5))]
    [0, 0, 0, 0]
    >>> for item in cleanse.push(Punctuation(3)):
    ...     print(item)
    Change(payload='a', le=4, re=None, diff=1, key=None)
    Punctuation(t=3)
    >>> cleanse.statistics
    CleanseStatistics(held=1, peak_held=3, passed=0, released=1, annihilated=1, bound=5, stale=0)
    >>> Cleanse(sigma=-1)
    Traceback (most recent call last):
    punctuation.base_errors.AfaError: expected ticks >= 0, or None for no bound, but got sigma=-1
    """

    _numbers = ("_sigma", "_last", "_bound", "_open", "_passed", "_released", "_annihilated", "_stale", "_peak")

    def __init__(self, sigma: float | Duration | None = None, *, tick: str | None = None) -> None:
        super().__init__(tick)
        self.sigma = self.ticks("sigma", sigma, 0)
        self._control: Control | None = None
        self._last = BEGINNING
        self._bound, self._open = self._reach(BEGINNING)
        self._passed = self._released = self._annihilated = self._stale = self._peak = 0

    @classmethod
    def auto(
        cls,
        *,
        max_chattiness: float | None = None,
        max_delay: Duration | None = None,
        share: float = 0.05,
        memory: int = 1000,
        tick: str | None = None,
    ) -> Cleanse:
        """Make a Cleanse that moves its sigma with each watermark, so that a stated bound holds.

        Parameters
        ----------
        max_chattiness : float
            The bound on records out for each final match, at least 1. sigma is as large as this allows.
        max_delay : int (ticks), str or timedelta
            The bound on how far the watermark moves while a change waits, for all but a ``share`` of the changes. sigma is
            as small as this allows.
        share : float
            With ``max_delay``: the share of the changes that may wait longer.
        memory : int
            How many of the last matches or changes decide about sigma.
        tick : str, optional
            As of `Cleanse`.

        Raises
        ------
        AfaError
            Not exactly one of the two bounds is given, or one is out of its range.

        Notes
        -----
        At the output the stage knows, for each withdrawn match, under which sigma it would have been seen, so that no search is
        needed (`speculation.control`); O(log memory) a change. At the input a bound on chattiness is held by feedback from the
        operator. Where no more withdrawals are allowed, what is not final waits for the next watermark, below the bound as well.
        Rows of tables go one by one. The paper leaves sigma to the user.

        Examples
        --------
        >>> Cleanse.auto(max_chattiness=1.2).sigma
        0
        """
        if (max_chattiness is None) == (max_delay is None):
            raise AfaError(f"expected one bound but got max_chattiness={max_chattiness!r}, max_delay={max_delay!r}")
        stage = cls(0, tick=tick)
        if max_delay is not None:
            return stage._steered(Delay(stage.ticks("max_delay", max_delay, 0), share, memory))
        assert max_chattiness is not None
        return stage._steered(Chattiness(max_chattiness, memory))

    def _steered(self, control: Control) -> Cleanse:
        """Let a controller move sigma. Its counters are undone with the stage's own state."""
        self._control, control.journal = control, self._journal
        return self

    @property
    def sigma(self) -> int | None:
        """The speculation factor; None: no bound."""
        return self._sigma

    @sigma.setter
    def sigma(self, sigma: float | Duration | None) -> None:
        if isinstance(sigma, (str, timedelta)):
            sigma = ticks_of_duration(sigma, self.tick, "sigma")
        if sigma is None or (isinstance(sigma, float) and sigma == math.inf):
            self._sigma: int | None = None
            return
        if isinstance(sigma, (bool, float)) or not hasattr(type(sigma), "__index__") or int(sigma) < 0:
            raise AfaError(f"expected ticks >= 0, or None for no bound, but got sigma={sigma!r}")
        self._sigma = int(sigma)

    def settle_duration(self, name: str, value: Any) -> None:
        """Take sigma, or the bound on the delay, of which the tick is known now."""
        ticks = ticks_of_duration(value, self.tick, name)
        if name == "sigma":
            self.sigma = ticks
            self._bound, self._open = self._reach(BEGINNING)
        elif isinstance(self._control, Delay):
            self._control.bound = ticks

    @property
    @whole
    def statistics(self) -> CleanseStatistics:
        """The numbers of changes that wait, and of those that have come and gone so far."""
        self._annihilated += self._waiting.settle()
        return CleanseStatistics(
            held=self._waiting.copies,
            peak_held=self._peak,
            passed=self._passed,
            released=self._released,
            annihilated=self._annihilated,
            bound=self._bound,
            stale=self._stale,
        )

    def push(self, item: Change | Punctuation) -> Output:
        """Take one change or watermark.

        Returns
        -------
        list of Change and Punctuation
            For a change: the change itself if it lies below the bound, else nothing. For a watermark: the changes that lie below
            the bound now, by LE, of one LE retractions first, then by arrival; then the watermark, unless it says nothing
            new. A watermark with a condition releases nothing; it leaves as far as it holds behind the stage.

        Raises
        ------
        ChangeError
            The item is neither, or has no time. The stage is unchanged.
        """
        if isinstance(item, Punctuation):
            return super().push(item)
        change = checked(item)
        return [change] if self._calls.call(self.passes, change) else []

    def before(self, operator: Any) -> Before:
        """Put this stage at the input of an operator: events that wait are not matched, so no match is withdrawn."""
        if isinstance(self._control, Chattiness):
            self._steered(Feedback(self._control.bound))
        return Before(self, operator)

    takes_singles = True

    @property
    def listens(self) -> bool:  # type: ignore[override]  # it depends on the controller
        """Whether the controller wants to know what the operator behind this stage says."""
        return isinstance(self._control, Feedback)

    def answered(self, out: Iterable[Any]) -> None:
        """Tell the controller which matches the operator behind this stage has returned."""
        if self._control is not None:
            self._control.answered((as_time(x.le, "le"), x.diff) for x in out if isinstance(x, Change))

    def after(self, operator: Any) -> After:
        """Put this stage at the output of an operator: all is computed, but a match that waits is not seen, nor its withdrawal."""
        return After(self, operator)

    # -- what the compositions use -----------------------------------------------------------------------------------------

    def take(self, item: Change | Punctuation, out: Output) -> None:
        """Take a checked item, within a call; what leaves goes to ``out``."""
        if isinstance(item, Punctuation) and item.where is not None:
            out.append(self.some(item))
        elif isinstance(item, Punctuation):
            released = self.punctuate(as_ticks(item.t, "t"))
            if released is not None:
                out += self._waiting.listed(released)
                out.append(item)
        elif self.passes(item):
            out.append(item)

    def passes(self, change: Change) -> bool:
        """Take a checked change. Returns whether it leaves at once; if not, it waits from here on.

        While no more withdrawals are allowed, only what is final leaves.
        """
        le: Any = change.le
        control = self._control
        if control is not None:
            control.came(le, change.diff, self._last)
        if (self._open or le < self._bound) and (control is None or le < self._last or not control.spent):
            self._leave(le)
            self._passed += int(abs(change.diff))
            if control is not None:
                control.left(change.diff)
            return True
        self._annihilated += self._waiting.add(change)
        if self._waiting.copies > self._peak:
            self._peak = self._waiting.copies
        return False

    def takes_rows(self, table: Any) -> bool:
        """Return whether rows can be taken as rows: no controller needs to see each, and they can wait as such."""
        return self._control is None and self._waiting.takes_rows(table)

    def pass_rows(self, table: Any) -> Any:
        """Take the rows of a table, at least one. Returns those that leave at once, in their order, or None; the others wait."""
        le = table.column("le").to_numpy()
        low = np.ones(len(le), np.bool_) if self._open else le < self._bound
        if not low.all():
            self._waiting.add_rows(table.filter(~low))
            self._peak = max(self._peak, self._waiting.copies)
            table, le = table.filter(low), le[low]
        if not len(table):
            return None
        self._leave(int(le.max()))
        self._passed += copies_of(table)
        return table

    def punctuate(self, t: int) -> Any:
        """Take a watermark. Returns what it releases, a list of changes or a table of rows; None if it is stale."""
        if not self._promise(t):
            return None
        control = self._control
        bound = self._last if control is not None and control.spent else None if self._open else self._bound
        released, last, copies, met = self._waiting.take(bound)
        self._annihilated += met
        self._released += copies
        if last is not None:
            self._leave(last)
            if control is not None:  # under which no rows wait
                for change in released:
                    control.left(change.diff)
        return released

    def some(self, item: Punctuation) -> Punctuation:
        """Return a watermark with a condition as far as it holds behind this stage: changes that wait may satisfy it."""
        t = as_ticks(item.t, "t")
        reach = self._last if self._control is not None else self._bound  # with a controller some may wait below the bound
        return item._replace(t=min(t, reach) if self._waiting.copies else t)

    def begin(self, promised: int) -> None:
        """Begin at an operator's watermark: an event below it is late as soon as it comes, not when it would leave."""
        if promised > self._last:
            self._promise(promised)
            self._journal.commit()

    def _promise(self, t: int) -> bool:
        """Move the bound with a watermark. Returns False, and counts the watermark, if it is stale."""
        if t <= self._last:
            self._stale += 1
            return False
        self._last = t
        if self._control is not None:
            self.sigma = self._control.sigma(t)
        reach, self._open = self._reach(t)
        self._bound = max(self._bound, reach)
        return True

    def _leave(self, le: int) -> None:
        """INVARIANT: all that has left lies below the bound."""
        if le >= self._bound:
            self._bound = min(le + 1, FOREVER)

    @property
    def rows(self) -> Any:
        """The rows of tables that wait, as one Arrow table; None: there are none."""
        return self._waiting.rows

    @property
    def first(self) -> int | None:
        """The smallest LE that waits."""
        return self._waiting.first

    @property
    def bound(self) -> int:
        """All that has left has an LE below the bound, and what comes with such an LE leaves at once."""
        return self._bound

    def go_on(self, rows: Any, bound: int) -> None:
        """Let rows wait that another stage with this bound has held."""
        self._waiting.add_rows(rows)
        self._bound = max(self._bound, bound)

    def _reach(self, t: int) -> tuple[int, bool]:
        """Return the bound that a watermark sets, and whether there is no bound."""
        reach = FOREVER if self._sigma is None else min(t + self._sigma, FOREVER)
        return (t, True) if reach == FOREVER else (reach, False)

    # -- snapshots: see `Stage.of` -------------------------------------------------------------------------------------------

    def numbers(self) -> list[Any]:
        """Return the stage's options and counters, as a snapshot has them."""
        control = None if self._control is None else [type(self._control).__name__, self._control.state()]
        return [*(as_plain(n) if type(n) is int else n for n in (getattr(self, name) for name in self._numbers)), control]

    @classmethod
    def _made(cls, numbers: list[Any]) -> Cleanse:
        sigma, last, bound, is_open, *counts, control = numbers
        stage = cls(None if sigma is None else as_total(sigma))
        if control is not None:
            stage._steered(CONTROLS[control[0]].of(control[1]))
        stage._last, stage._bound, stage._open = as_time(last, "last"), as_time(bound, "bound"), is_open
        wanted("a bound, and whether there is none", type(is_open) is bool and last <= bound, numbers)
        stage._passed, stage._released, stage._annihilated, stage._stale, stage._peak = map(as_total, counts)
        return stage

    def _check_waiting(self) -> None:
        waiting, control, first = self._waiting, self._control, self._waiting.first
        wanted("changes that wait, as a controller must see each,", control is None or not waiting.tables, "rows")
        if first is not None and (self._open or first < self._bound) and (control is None or first < self._last):
            what, found = ("rows", "others") if waiting.tables else ("changes", short(waiting.changes))
            raise SnapshotError(f"expected {what} at or above the bound {self._bound} but got {found}")
