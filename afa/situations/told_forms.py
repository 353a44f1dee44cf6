"""What is told of situations: an event for each instant at which something happens (of a pattern), or a record for each situation.

instants    t: speeding begins, braking ends      one for each key and time, LE = t
records     speeding [20, 31)                      LE = ts; te is None, while it goes on
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from afa.situations.key_standing import BEGINS, ENDS, FAILS, LASTS, Going, Happens, Kind, LastingSituations, told
from afa.situations.readings import Form
from punctuation.time import FOREVER


class Telling(NamedTuple):
    """A form, and how what it tells becomes an event: payload, LE and RE; of instants the field that holds LE, and their span."""

    form: Form
    payload: Any
    times: Any
    instant: str | None
    span: int
    aggregates: Sequence[str] = ()


def instants(kinds: Sequence[Kind], cls: Any, span: int) -> Telling:
    """Tell an event for each instant; ``span``: how long it lives."""

    def happens(found: Happens) -> Iterator[Any]:
        if any(found.marks):
            yield found.t, tuple(_flags(kinds, found)), tuple(_aggregates(kinds, found.of))

    def payload(each: Any) -> Any:
        t, flags, aggregates = each
        return cls(*flags, *aggregates, t)

    return Telling(
        Form(kinds, happens, lambda standing: (), lambda each: each[0]),
        payload,
        lambda each: (each[0], min(each[0] + span, FOREVER)),
        "at" if not hasattr(cls, "_fields") else cls._fields[-1],
        span,
        cls._fields[-1 - sum(len(kind.folds) for kind in kinds) : -1] if hasattr(cls, "_fields") else (),
    )


def flag_names(names: Sequence[str], kinds: Sequence[Kind]) -> Iterator[tuple[str, int]]:
    """Yield the fields that say what an instant is to each definition, with their marks, in order."""
    for name, kind in zip(names, kinds):
        yield f"{name}_begins", BEGINS
        yield f"{name}_ends", ENDS
        if kind.at_least is not None:
            yield f"{name}_lasts", LASTS
        if kind.at_least is not None or kind.at_most is not None:
            yield f"{name}_fails", FAILS


def _flags(kinds: Sequence[Kind], found: Happens) -> Iterator[bool]:
    for mark, kind in zip(found.marks, kinds):
        yield mark == BEGINS
        yield mark == ENDS
        if kind.at_least is not None:
            yield mark == LASTS
        if kind.at_least is not None or kind.at_most is not None:
            yield mark == FAILS


def _aggregates(kinds: Sequence[Kind], of: Sequence[Going | None]) -> Iterator[Any]:
    for kind, going in zip(kinds, of):
        for i, fold in enumerate(kind.folds):
            yield None if going is None else _told(fold, going.held[i])


def _told(fold: str, held: Any) -> Any:
    """Return an aggregate; a count of no value is 0."""
    return 0 if held is None and fold == "count" else told(fold, held)


def records(kinds: Sequence[Kind], names: Sequence[str], cls: Any, width: int) -> Telling:
    """Tell a record for each situation; ``width``: how many aggregates it has, those of all definitions one after the other."""
    starts = [sum(len(kind.folds) for kind in kinds[:number]) for number in range(len(kinds))]

    def record(number: int, going: Going, te: int | None) -> Any:
        its = list(map(_told, kinds[number].folds, going.held))
        low = starts[number]
        return number, going.ts, te, (*[None] * low, *its, *[None] * (width - low - len(its)))

    def happens(found: Happens) -> Iterator[Any]:
        for number, (mark, going) in enumerate(zip(found.marks, found.of)):
            if mark == ENDS and going is not None:
                yield record(number, going, found.t)

    def open_(standing: LastingSituations) -> Iterator[Any]:
        for number, (going, kind) in enumerate(zip(standing.going, kinds)):
            if going is not None and going.lasted and kind.at_most is None:
                yield record(number, going, None)

    def payload(each: Any) -> Any:
        number, ts, te, aggregates = each
        return cls(names[number], ts, te, *aggregates)

    return Telling(
        Form(kinds, happens, open_, lambda each: FOREVER if each[2] is None else each[2]),
        payload,
        lambda each: (each[1], FOREVER if each[2] is None else each[2]),
        None,
        0,
    )
