"""A situation, as a pattern defines it: a condition that lasts, and how long it has to."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from afa.conditions.condition import Condition, condition_of
from afa.errors import AutomatonError, QueryError
from afa.schema import Schema
from punctuation.durations import Duration, has_unit, nanoseconds_of, ticks_of_duration


@dataclass(frozen=True)
class Situation:
    """A maximal stretch of time in which what holds of a key satisfies a condition.

    Parameters
    ----------
    condition : str or callable
        Over the fields of a reading: ``"speed > 70"``, or ``lambda e: e.speed > 70``, one that can be taken apart.
    at_least, at_most : int, str or timedelta, optional
        How long it lasts, both ends included: ticks, ``"10 minutes"``, ``timedelta(minutes=10)``. The last two wait for a tick. One
        that goes on is known to last `at_least` as soon as it does, and to last `at_most` only when it ends.

    Raises
    ------
    AfaError, QueryError
        A duration is none; or no situation can last so long.

    Examples
    --------
    >>> Situation("speed > 70", at_least=4, at_most=30)
    Situation(condition='speed > 70', at_least=4, at_most=30)
    >>> Situation("speed > 70", at_least=4, at_most=3)
    Traceback (most recent call last):
    afa.errors.QueryError: expected at_most not below at_least=4 but got at_most=3: no situation lasts so long
    """

    condition: str | Callable[[Any], Any]
    at_least: Duration | None = None
    at_most: Duration | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.condition, str) and not callable(self.condition):
            raise QueryError(f"expected a condition, text or a function of a reading, but got condition={self.condition!r}")
        for name, value in (("at_least", self.at_least), ("at_most", self.at_most)):
            if has_unit(value):
                nanoseconds_of(value, name)
            elif value is not None:
                ticks_of_duration(value, None, name)
        check_durations(self.at_least, self.at_most)


class Definition(NamedTuple):
    """A situation of a pattern: its name, its condition over the event, and how long it lasts, in ticks once these are known.

    ``fails`` says whether its end may show that it did not last as it should, ``lasts`` whether the pattern waits for it to last.
    """

    name: str
    condition: Condition
    at_least: Duration | None
    at_most: Duration | None

    @property
    def fails(self) -> bool:
        """Whether a situation can end with a duration that is not allowed."""
        return self.at_least is not None or self.at_most is not None

    @property
    def lasts(self) -> bool:
        """Whether one that goes on is known to be as long as it should: where there is ``at_most``, only its end tells."""
        return self.at_least is not None and self.at_most is None

    def bound(self, tick: str | None) -> Definition:
        """Return the definition with its durations in ticks."""
        at_least, at_most = (
            None if value is None else ticks_of_duration(value, tick, name)
            for name, value in ((f"{self.name}: at_least", self.at_least), (f"{self.name}: at_most", self.at_most))
        )
        check_durations(at_least, at_most, f" for {self.name}")
        return self._replace(at_least=at_least, at_most=at_most)


def check_durations(at_least: Duration | None, at_most: Duration | None, where: str = "") -> None:
    """Refuse durations that no situation can have; where only one of two is in ticks, it can't be said yet.

    Raises
    ------
    QueryError
    """
    for name, value in (("at_least", at_least), ("at_most", at_most)):
        if value is not None and length(value, name) < 1:
            raise QueryError(
                f"expected {name} of at least one tick{where} but got {name}={value!r}: every situation lasts that long"
            )
    if at_least is None or at_most is None or has_unit(at_least) != has_unit(at_most):
        return
    if length(at_most, "at_most") < length(at_least, "at_least"):
        raise QueryError(
            f"expected at_most not below at_least={at_least!r}{where} but got at_most={at_most!r}: no situation lasts so long"
        )


def bare_durations(definitions: Mapping[str, Any]) -> list[str]:
    """Return the durations of situations that are bare numbers, as they are written."""
    said = [(name, word, getattr(each, word)) for name, each in definitions.items() for word in ("at_least", "at_most")]
    return [f"{word}={value} of {name}" for name, word, value in said if not (value is None or has_unit(value))]


def length(value: Duration, name: str) -> Any:
    """Return how long a duration is: in ticks, or in nanoseconds where it is text or a timedelta."""
    return nanoseconds_of(value, name) if has_unit(value) else ticks_of_duration(value, None, name)


def definition_of(name: str, given: Any, event: Schema, tick: str | None) -> Definition:
    """Return a definition of a pattern: the condition is read over the fields of the event.

    QueryError: it is no situation, or its name is none. AutomatonError: the condition can't be read over the event; see
    `Condition`.
    """
    if not isinstance(given, Situation):
        hint = f'; write {name}=Situation("..")' if isinstance(given, str) or callable(given) else ""
        raise QueryError(f"expected a Situation for {name!r} but got {name}={given!r}{hint}")
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise QueryError(
            f"expected a definition's name to be a Python name without an underscore in front but got {name!r}; "
            f"fields of matches begin with it"
        )
    try:
        condition = condition_of(given.condition, event, tick)
    except AutomatonError as error:
        raise type(error)(
            f"{error}\nin the situation {name!r}; a condition reads one reading: no register, and no other situation or aggregate "
            f"of one, which matches tell (returns=)"
        ) from None
    found = Definition(name, condition, given.at_least, given.at_most)
    waits = tick is None and (has_unit(given.at_least) or has_unit(given.at_most))
    return found if waits else found.bound(tick)
