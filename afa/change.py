"""Changes: the one record of input and output alike, so that the output of an operator can be the input of another."""

from __future__ import annotations

import itertools
from datetime import date
from typing import Any, NamedTuple

Time = int | date
"""A time of a change: ticks; or a datetime or a date, without a zone of UTC, where the operator has ``tick=``."""


class Change(NamedTuple):
    """An event, an arc or a match that enters (``diff`` > 0) or leaves (``diff`` < 0).

    Parameters
    ----------
    payload
        An event, an `Arc`, or the register of a match.
    le : int or None
        Ticks. None: for an arc only, which then acts from one tick past all that was seen ([AFA10] Sec. 2.3).
    re : int or None
        Ticks, exclusive. None: ``le + window`` for events, ``FOREVER`` for arcs.
    diff : int
        How many copies enter or leave; matches come with 1 or -1, those of AFTER MATCH SKIP that show the same together.
    key
        The key that an output of `Keyed` belongs to; None elsewhere.
    """

    payload: Any
    le: int | None
    re: int | None = None
    diff: int = 1
    key: Any = None

    @property
    def members(self) -> Any:
        """What an operator with ``members=`` tells of the events behind a match. None: nothing."""
        return None

    @property
    def rule(self) -> str | None:
        """The rule of a set (`afa.Rules`) whose match it is. None: it is of no set."""
        return None

    @property
    def because(self) -> Any:
        """Why the match came or went, as `afa.Reasons` tells it (`afa.explain.reasons.Because`). None: it was not asked."""
        return None

    def _repr_html_(self) -> str:
        """Return the change as a table, for notebooks."""
        from afa.html_tables import fields, pairs, titled  # when it is shown, not before

        sort = "comes" if self.diff > 0 else "goes" if self.diff < 0 else "stays"
        why = None if self.because is None else self.because.text
        rest = [("RE", self.re), ("diff", self.diff), ("key", self.key), ("members", self.members), ("because", why)]
        known = [*fields(self.payload), ("LE", self.le), *((name, value) for name, value in rest if value is not None)]
        return titled(f"{type(self.payload).__name__} {sort}", pairs(known))


class Announced(Change):
    """A change of a match with its members, which are no part of it: equal to the change without, and unpacked as that one."""

    @classmethod
    def of(cls, change: Change, members: Any) -> Announced:
        """Return a change with members."""
        made = cls._make(change)
        made.__dict__["_members"] = members
        return made

    @property
    def members(self) -> Any:
        """What was told of the events behind the match when it was announced."""
        return self.__dict__.get("_members")

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self))
        return f"Change({fields}, members={self.members!r})"


class RuleChange(Change):
    """A change of a match of one rule of a set. The rule is part of what the match is: equal changes are of one rule."""

    @classmethod
    def of(cls, change: Change, rule: str, members: Any = None) -> RuleChange:
        """Return a change as one of a rule."""
        made = cls._make(change)
        made.__dict__.update(_rule=rule, _members=members)
        return made

    @property
    def rule(self) -> str:
        """The name of the rule."""
        found: str = self.__dict__["_rule"]
        return found

    @property
    def members(self) -> Any:
        """What was told of the events behind the match when it was announced."""
        return self.__dict__["_members"]

    def _replace(self, /, **fields: Any) -> RuleChange:
        return RuleChange.of(Change(*self)._replace(**fields), self.rule, self.members)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuleChange) and self.rule == other.rule and tuple(self) == tuple(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.rule, tuple(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return RuleChange.of, (Change(*self), self.rule, self.members)

    def __repr__(self) -> str:
        told = {"rule": self.rule} | ({} if self.members is None else {"members": self.members})
        fields = ", ".join(f"{name}={value!r}" for name, value in (*zip(self._fields, self), *told.items()))
        return f"Change({fields})"


def insert(payload: Any, le: Time | None = None, re: Time | None = None, *, key: Any = None) -> Change:
    """Make an insertion of an event (``le`` required) or of an arc.

    An event of a schema may be a dict, or an instance of a dataclass, with its fields. ``le`` and ``re`` may be datetimes for an
    operator with ``tick=`` (without a zone: UTC). ``key`` is for a `Keyed` whose key the event itself does not make.

    Examples
    --------
    >>> insert("tick", le=1, re=8)
    Change(payload='tick', le=1, re=8, diff=1, key=None)
    """
    return Change(payload, le, re, 1, key)  # type: ignore[arg-type]  # times become ints where they come in


def retract(payload: Any, le: Time | None = None, re: Time | None = None, *, key: Any = None) -> Change:
    """Make a retraction of one earlier insertion: same payload, same lifetime. Parameters: as of `insert`.

    Examples
    --------
    >>> retract("tick", le=1).diff
    -1
    """
    return Change(payload, le, re, -1, key)  # type: ignore[arg-type]


def put_in_order(changes: list[Change]) -> None:
    """Sort output: retractions first, then insertions, each by LE; ties by what does not depend on arrival either."""
    changes.sort(key=lambda change: (change.diff > 0, change.diff == 0, change.le, change.re))
    if any(a[1:3] == b[1:3] for a, b in itertools.pairwise(changes)):
        changes.sort(
            key=lambda change: (change.diff > 0, change.diff == 0, change.le, change.re, repr(change.key), repr(change.payload))
        )
