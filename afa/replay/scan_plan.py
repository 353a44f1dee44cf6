"""What a replay did, or would do, in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class ScanStep:
    """One scan: the witnesses that it decided, and what it met.

    Attributes
    ----------
    said : str
        The witnesses in words.
    columns : tuple of str
        The columns that were scanned.
    found : int
        How many candidates there are.
    scanned, groups : int
        In how many row groups it was looked, of how many.
    """

    said: str
    columns: tuple[str, ...]
    found: int
    scanned: int
    groups: int

    def __str__(self) -> str:
        rows = "row" if self.found == 1 else "rows"
        return f"{self.said}: {short(self.found)} {rows} in {self.scanned:,} of {self.groups:,} row groups"


@dataclass
class ReplayPlan:
    """What a replay did; ``print`` shows it.

    Attributes
    ----------
    witnesses : list of str
        What a match must contain, in order.
    steps : list of Step
        The scans, in the order in which they were made.
    reason : str or None
        Why all rows were replayed; None: they were not.
    groups, may_hold, read : int
        How many row groups there are; in how many a match may lie by their statistics; how many were read for the operator.
    rows, replayed : int
        How many rows there are, and how many went through the operator.
    spans : int
        How many spans of time, of keys, were replayed.
    opaque : list of str
        Arcs whose fence can't be read, so that it allows everything.
    expected : float or None
        How many rows were expected to be replayed when the last scan was decided on.
    ahead : list of str or None
        The columns that would be scanned first, of a plan that was not carried out.
    """

    witnesses: list[str]
    groups: int
    rows: int
    opaque: list[str] = field(default_factory=list)
    steps: list[ScanStep] = field(default_factory=list)
    reason: str | None = None
    may_hold: int = 0
    read: int = 0
    replayed: int = 0
    spans: int = 0
    expected: float | None = None
    ahead: list[str] | None = None

    @property
    def full(self) -> bool:
        """Whether all rows were replayed."""
        return self.reason is not None

    def __str__(self) -> str:
        if self.full:
            parts = [f"full run ({self.reason}): {short(self.rows)} rows in {self.groups:,} row groups"]
        else:
            parts = [str(step) for step in self.steps]
            if not parts:
                parts = [f"a match may lie in {self.may_hold:,} of {self.groups:,} row groups, by their statistics"]
            if self.ahead is None:
                parts.append(f"{short(self.replayed)} of {short(self.rows)} rows replayed")
            elif self.ahead:
                parts.append(f"there {', '.join(self.ahead)} would be scanned first")
        if self.opaque:
            parts.append(f"can't be read, so that they allow every event: {', '.join(self.opaque)}")
        return "; ".join(parts)


def short(number: float) -> str:
    """Return a number in a few characters.

    >>> [short(n) for n in (34, 9999, 43_210, 33_162_000, 4_000_000_000)]
    ['34', '9,999', '43 K', '33 M', '4 G']
    """
    for unit, size in (("G", 10**9), ("M", 10**6), ("K", 10**3)):
        if number >= 10 * size or (number >= size and size > 1000):
            shown = number / size
            return f"{shown:.1f} {unit}" if shown < 10 and round(shown, 1) != round(shown) else f"{shown:,.0f} {unit}"
    return f"{number:,.0f}"
