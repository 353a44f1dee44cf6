"""Controllers of sigma: how far to speculate so that a stated bound holds.

The cost that each sigma *would* have had is known, whatever sigma was. A change comes to Cleanse when ``p`` is promised; under
sigma it leaves as soon as its LE is below a promise + sigma. So

    a match that is withdrawn at the promise p was seen under each sigma > LE - p, and cost two records; under other sigmas none
    a match that came at the promise p leaves at once under each sigma > LE - p, else as soon as LE - sigma is promised

and the best sigma for the last so many matches is an order statistic of these differences: no search, no model of the stream.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from sortedcontainers import SortedDict

from afa.journal import Journal
from afa.model.copies import as_plain, as_total
from punctuation.base_errors import AfaError
from punctuation.time import BEGINNING, FOREVER, as_time
from speculation.recent import Recent

LEAST = 20
"""How many changes must be known before sigma moves; until then it is 0."""


def ahead(le: int, promised: int) -> int:
    """Return how far an LE is ahead of a promise, as an int64. FOREVER: nothing is promised yet."""
    return max(min(le - promised, FOREVER), BEGINNING)


class Control:
    """The base of all controllers, which move the sigma of a Cleanse. What a controller does not need to know it does not count."""

    def __init__(self) -> None:
        self.journal = Journal()
        """Takes back what was counted in a call that fails; becomes the stage's."""

    @property
    def spent(self) -> bool:
        """Whether no more withdrawals are allowed for now."""
        return False

    def came(self, le: int, diff: int, promised: int) -> None:
        """Count a change that has come to Cleanse, with ``diff`` copies."""
        raise NotImplementedError

    def left(self, diff: int) -> None:
        """Count a change that has left Cleanse."""

    def answered(self, changes: Iterable[tuple[int, int]]) -> None:
        """Count the changes that the operator behind Cleanse has returned, by LE and diff."""

    def sigma(self, promised: int) -> int:
        """Return the sigma from this promise on."""
        raise NotImplementedError

    def state(self) -> list[Any]:
        """Return the controller's state as plain data."""
        raise NotImplementedError

    @classmethod
    def of(cls, state: list[Any]) -> Control:
        """Make a controller from what `state` returned."""
        raise NotImplementedError


class Spending(Control):
    """The base of `Chattiness` and `Feedback`: how many matches a bound on chattiness lets be withdrawn, and how many have been.

    ``bound`` is records out for each final match, at least 1. A final match costs one record, one that is seen and withdrawn two:
    of each final match ``each = (bound - 1) / 2`` may be withdrawn. ``finals`` and ``withdrawn`` count matches since the
    beginning: those that are final, and those that were seen to be withdrawn.

    >>> spending = Spending(1.5)
    >>> for le in range(8):
    ...     spending.in_force(le, 1)
    >>> spending.settle(promised=4), spending.finals, spending.spent
    (None, 4, False)
    >>> spending.withdraw(-1), spending.spent, spending.budget
    (None, True, Fraction(0, 1))
    """

    def __init__(self, bound: float) -> None:
        if isinstance(bound, bool) or not isinstance(bound, (int, float)) or not 1 <= bound < math.inf:
            raise AfaError(f"expected at least 1 record for each final match but got max_chattiness={bound!r}")
        super().__init__()
        self.bound = float(bound) if isinstance(bound, float) else bound  # a snapshot holds no float of numpy's
        self.each = (Fraction(str(bound)) - 1) / 2  # exact: (1.1 - 1) / 2 of 20 is 1; in floats it is 1.0000000000000004
        self.finals = self.withdrawn = 0
        self._open: SortedDict = SortedDict()  # LE -> matches in force, less those withdrawn

    @property
    def budget(self) -> Fraction:
        """How many matches may still be withdrawn. Below 0: more have been than the bound allows."""
        return self.each * self.finals - self.withdrawn

    @property
    def spent(self) -> bool:
        each = self.each
        return each.numerator * self.finals <= self.withdrawn * each.denominator  # `budget` <= 0, in ints: asked at each change

    def in_force(self, le: int, diff: int) -> None:
        """Count matches that come into force, or leave it."""
        self.journal.put(self._open, le, self._open.get(le, 0) + diff)

    def withdraw(self, diff: int) -> None:
        """Count a match whose withdrawal is seen."""
        if diff < 0:
            self.journal.set(self, "withdrawn", self.withdrawn - diff)

    def settle(self, promised: int) -> None:
        """Count the matches that lie below a promise as final."""
        finals = self.finals
        while self._open and self._open.peekitem(0)[0] < promised:
            le, n = self._open.peekitem(0)
            self.journal.drop(self._open, le)
            finals += n
        self.journal.set(self, "finals", finals)

    def counted(self) -> list[Any]:
        """Return the counters as plain data."""
        return [as_plain(self.finals), as_plain(self.withdrawn), [[le, as_plain(n)] for le, n in self._open.items()]]

    def put_counted(self, finals: Any, withdrawn: Any, in_force: Any) -> None:
        """Restore the counters that `counted` returned."""
        self.finals, self.withdrawn = as_total(finals, least=None), as_total(withdrawn)
        self._open.update((as_time(le, "le"), as_total(n, least=None)) for le, n in in_force)


class Chattiness(Spending):
    """A controller that keeps sigma as large as possible with at most ``bound`` records out for each final match.

    With a bound of 1 no match is ever withdrawn. The last ``memory`` final matches, and the matches withdrawn meanwhile, decide.
    While the F last matches became final, ``(bound - 1) / 2 * F`` might have been withdrawn in sight: sigma is the largest under
    which no more would have been. Where more have been seen since the beginning than the bound allows, the excess is taken off that
    number. As one late event may withdraw all that is announced, no more is in force below a promise + sigma than half of what may
    be withdrawn yet; and when nothing may, what is not final waits (``spent``). O(log n) a change, O(matches that are not final) a
    promise.

    >>> control = Chattiness(1.5, memory=100)
    >>> for t in range(100):  # every second match is withdrawn, 0..9 ticks ahead of the promise
    ...     control.came(t, 1, promised=t)
    ...     control.came(t + t % 10, 1, promised=t)
    ...     control.came(t + t % 10, -1, promised=t)
    >>> control.sigma(promised=100)
    2
    """

    def __init__(self, bound: float, memory: int = 1000) -> None:
        super().__init__(bound)
        if not isinstance(memory, int) or memory < LEAST:
            raise AfaError(f"expected a memory of at least {LEAST} matches but got memory={memory!r}")
        self.memory = memory
        self._seen = Recent()  # (finals then, LE - p, copies) of withdrawn matches

    def state(self) -> list[Any]:
        return [self.bound, self.memory, *self.counted(), [list(map(as_plain, seen)) for seen in self._seen]]

    @classmethod
    def of(cls, state: list[Any]) -> Chattiness:
        bound, memory, *counted, seen = state
        control = cls(bound, memory)
        control.put_counted(*counted)
        for then, le, n in seen:
            control._seen.add((as_total(then, least=None), as_time(le, "ahead"), as_total(n, least=1)), control.journal)
        control.journal.commit()
        return control

    def came(self, le: int, diff: int, promised: int) -> None:
        self.in_force(le, diff)
        if diff < 0:
            self._seen.add((self.finals, ahead(le, promised), -diff), self.journal)

    def left(self, diff: int) -> None:
        self.withdraw(diff)

    def sigma(self, promised: int) -> int:
        """Return the largest sigma that would have held the bound."""
        self.settle(promised)
        while self._seen and self._seen.oldest[0] < self.finals - self.memory:
            self._seen.drop(self.journal)
        known = min(self.finals, self.memory)
        if known < LEAST:
            return 0
        allowed = max(0, int(self.each * known + min(self.budget, Fraction(0))))
        return min(self._likely(allowed), self._covered(promised, math.floor(self.budget / 2)))

    def _likely(self, allowed: int) -> int:
        """Return the largest sigma under which at most so many of the withdrawn matches would have been seen."""
        for le, n in self._seen.counts.items():
            allowed -= n
            if allowed < 0:
                return max(0, int(le))
        return FOREVER

    def _covered(self, promised: int, left: int) -> int:
        """Return the sigma below which no more matches are in force than may be withdrawn."""
        for le, n in self._open.items():
            left -= n
            if left < 0:
                return max(0, int(le) - promised)
        return FOREVER


class Delay(Control):
    """A controller that keeps sigma as small as possible, so that at most a share of the changes waits longer than ``bound`` ticks.

    A change waits while the promise moves by these ticks. The last ``memory`` insertions decide.

    >>> control = Delay(3, share=0.1, memory=100)
    >>> for t in range(100):
    ...     control.came(t + t % 10, 1, promised=t)
    >>> control.sigma(promised=100)  # nine tenths come with an LE of at most promise + 8: they leave once LE - 6 is promised
    6
    """

    def __init__(self, bound: int, share: float = 0.05, memory: int = 1000) -> None:
        if not isinstance(bound, int) or isinstance(bound, bool) or bound < 0:
            raise AfaError(f"expected a delay of 0 ticks or more but got max_delay={bound!r}")
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share < 1:
            raise AfaError(f"expected a share of 0 or more and below 1 but got share={share!r}")
        if not isinstance(memory, int) or memory < LEAST:
            raise AfaError(f"expected a memory of at least {LEAST} changes but got memory={memory!r}")
        super().__init__()
        self.bound = bound
        self.share = float(share) if isinstance(share, float) else share  # a snapshot holds no float of numpy's
        self._exact = Fraction(str(share))
        self.memory = memory
        self._ahead = Recent()

    def state(self) -> list[Any]:
        return [self.bound, self.share, self.memory, [le for _, le, _ in self._ahead]]

    @classmethod
    def of(cls, state: list[Any]) -> Delay:
        bound, share, memory, ahead = state
        control = cls(bound, share, memory)
        control._ahead = Recent([(None, as_time(le, "ahead"), 1) for le in ahead])
        return control

    def came(self, le: int, diff: int, promised: int) -> None:
        if diff < 0:
            return
        self._ahead.add((None, ahead(le, promised), 1), self.journal)
        if len(self._ahead) > self.memory:
            self._ahead.drop(self.journal)

    def sigma(self, promised: int) -> int:
        """Return the smallest sigma that would have held the bound."""
        known = len(self._ahead)
        if known < LEAST:
            return 0
        larger = int(self._exact * known)
        for le in reversed(self._ahead.counts):
            larger -= self._ahead.counts[le]
            if larger < 0:
                return max(0, int(le) + 1 - self.bound)
        raise AssertionError("a share below 1 of them is larger")


class Feedback(Spending):
    """A controller for the input of an operator, where the cost of another sigma is not known. It halves sigma if the bound fails.

    ``bound`` is records out for each final match, at least 1. Additive increase, multiplicative decrease: after each promise by
    which at least `LEAST` matches have become final, sigma grows by a twentieth of how far events run ahead of the promise, or is
    halved. While more has been withdrawn since the beginning than the bound allows, it is halved with each promise. The bound
    holds in the long run.

    >>> control = Feedback(1.5)
    >>> for t in range(200):
    ...     control.came(t + 10, 1, promised=t)
    ...     control.answered([(t, 1)])
    ...     found = control.sigma(promised=t)
    >>> found
    9
    """

    def __init__(self, bound: float) -> None:
        super().__init__(bound)
        self._then = (0, 0)  # finals and withdrawn when sigma was last set
        self._reach = self._sigma = 0

    def state(self) -> list[Any]:
        return [self.bound, *self.counted(), list(map(as_plain, self._then)), self._reach, self._sigma]

    @classmethod
    def of(cls, state: list[Any]) -> Feedback:
        bound, *counted, then, reach, sigma = state
        control = cls(bound)
        control.put_counted(*counted)
        control._then = as_total(then[0], least=None), as_total(then[1])
        control._reach, control._sigma = as_time(reach, "reach"), as_time(sigma, "sigma")
        return control

    def came(self, le: int, diff: int, promised: int) -> None:
        if promised > BEGINNING:
            self.journal.set(self, "_reach", max(self._reach, ahead(le, promised)))

    def answered(self, changes: Iterable[tuple[int, int]]) -> None:
        for le, diff in changes:
            self.in_force(le, diff)
            self.withdraw(diff)

    def sigma(self, promised: int) -> int:
        self.settle(promised)
        sigma, finals, withdrawn = self._sigma, self.finals - self._then[0], self.withdrawn - self._then[1]
        if self.budget < 0:
            sigma //= 2
        if finals >= LEAST:
            if withdrawn > self.each * finals:
                sigma //= 2
            elif self.each:
                sigma = min(sigma + -(-self._reach // 20), FOREVER)
            self.journal.set(self, "_then", (self.finals, self.withdrawn))
            self.journal.set(self, "_reach", 0)
        self.journal.set(self, "_sigma", sigma)
        return sigma


CONTROLS: dict[str, type[Control]] = {kind.__name__: kind for kind in (Chattiness, Delay, Feedback)}
"""The controllers by their names in a snapshot."""
