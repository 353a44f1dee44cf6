"""Count how many withdrawals a bound on chattiness still allows, by the matches that became final and those withdrawn."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from sortedcontainers import SortedDict

from afa.journal import Journal
from afa.model.copies import as_plain, as_total
from punctuation.base_errors import AfaError
from punctuation.time import as_time


class Spending:
    """The base of `Chattiness` and `Feedback`: how many matches a bound on chattiness lets be withdrawn, and how many have been.

    A final match costs one record, one that is seen and withdrawn two: of each final match ``(bound - 1) / 2`` may be withdrawn.

    Parameters
    ----------
    bound : float
        Records out for each final match, at least 1.

    Attributes
    ----------
    each : Fraction
        How many may be withdrawn for each final match.
    journal : Journal
        Takes back what is counted in a call that fails.
    finals, withdrawn : int
        Matches that are final, and those that were seen to be withdrawn, since the beginning.

    Examples
    --------
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
        self.bound = float(bound) if isinstance(bound, float) else bound  # a snapshot holds no float of numpy's
        self.journal = Journal()
        self.each = (Fraction(str(bound)) - 1) / 2  # exact: (1.1 - 1) / 2 of 20 is 1; in floats it is 1.0000000000000004
        self.finals = self.withdrawn = 0
        self._open: SortedDict = SortedDict()  # LE -> matches in force, less those withdrawn

    @property
    def budget(self) -> Fraction:
        """How many matches may still be withdrawn. Below 0: more have been than the bound allows."""
        return self.each * self.finals - self.withdrawn

    @property
    def spent(self) -> bool:
        """Whether as many matches have been withdrawn as the number of final matches allows."""
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
