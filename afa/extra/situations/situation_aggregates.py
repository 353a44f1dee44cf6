"""What a match tells of a situation beyond its times: ``avg(speeding.speed)``, ``count(speeding)``."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from afa.errors import QueryError, did_you_mean
from afa.language.sase_grammar import RefusedError, query_error
from afa.schema import Schema

FUNCTIONS = ("first", "last", "count", "sum", "avg", "min", "max")
NUMBERS = ("sum", "avg", "min", "max")
"""Those of numbers only; `first` and `last` are of any scalar, `count` of anything."""
TOKEN = re.compile(r"[^\W\d]\w*|\S")
SHAPES = "n(n)", "n(n.n)"
"""What an aggregate may be, by tokens: n for a name."""
FORM = "write 'avg(speeding.speed)', or 'count(speeding)' for the number of readings"


class SituationAggregate(NamedTuple):
    """An aggregate of the readings of a situation.

    ``name`` is the field of an instant that holds it, ``field`` that of the readings; None: `count` of the readings themselves.
    """

    name: str
    function: str
    definition: str
    field: str | None

    def __str__(self) -> str:
        return f"{self.function}({self.definition}{'' if self.field is None else f'.{self.field}'})"

    def type_of(self, event: Schema) -> type:
        """Return its type; it is None where an instant says nothing of the definition, and where no reading has a value."""
        return {"count": int, "avg": float}.get(self.function) or _type(event, self.field)

    def is_time(self, event: Schema) -> bool:
        """Whether it is the LE of a reading."""
        return self.field is not None and self.field == event.instant and self.function in ("first", "last", "min", "max")


def aggregates_of(returns: Any, definitions: Sequence[str], event: Schema) -> dict[str, SituationAggregate]:
    """Return what each name of ``returns`` asks for.

    QueryError: it is no such dict; an aggregate is none, or of what is no definition, no field, or no number.

    >>> class Car(NamedTuple):
    ...     speed: float
    ...     plate: str
    >>> car = Schema.of(Car, "event")
    >>> aggregates_of({"speed": "avg(fast.speed)"}, ["fast"], car)
    {'speed': SituationAggregate(name='avg_fast_speed', function='avg', definition='fast', field='speed')}
    >>> aggregates_of({"plate": "avg(fast.plate)"}, ["fast"], car)
    Traceback (most recent call last):
    afa.errors.QueryError: line 1, column 10: expected a number for avg but got 'plate', which is str in Car; first and las...
        avg(fast.plate)
                 ^
    """
    if returns is None:
        return {}
    if not isinstance(returns, Mapping):
        raise QueryError(f'expected a dict such as {{"speed": "avg(speeding.speed)"}} but got returns={returns!r}')
    return {_returned(name): _aggregate(name, text, definitions, event) for name, text in returns.items()}


def _returned(name: Any) -> str:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise QueryError(f"expected the name of a match's field, without an underscore in front, but got {name!r} in returns=")
    return name


def _aggregate(name: str, text: Any, definitions: Sequence[str], event: Schema) -> SituationAggregate:
    if not isinstance(text, str):
        raise QueryError(f"expected text for {name!r} in returns= but got {text!r}; {FORM}")
    tokens = list(TOKEN.finditer(text))
    shape = "".join("n" if each[0].isidentifier() else each[0] for each in tokens)
    try:
        if shape not in SHAPES:
            fits = max(n for n in range(len(SHAPES[1]) + 1) if any(each[:n] == shape[:n] for each in SHAPES))
            position = tokens[fits].start() if fits < len(tokens) else len(text)
            raise RefusedError(f"expected an aggregate for {name!r} but got {text!r}; {FORM}", position)
        return _checked([each for each in tokens if each[0].isidentifier()], definitions, event)
    except RefusedError as error:
        raise query_error(text, error) from None


def _checked(names: Sequence[re.Match[str]], definitions: Sequence[str], event: Schema) -> SituationAggregate:
    function, definition, *of = (name[0] for name in names)
    if function not in FUNCTIONS:
        hint = did_you_mean(function, FUNCTIONS) or f"; they are {', '.join(FUNCTIONS)}"
        raise RefusedError(f"expected a function of a situation's readings but got {function!r}{hint}", names[0].start())
    if definition not in definitions:
        hint = did_you_mean(definition, definitions)
        raise RefusedError(
            f"expected a definition but got {definition!r}; the definitions are {', '.join(definitions)}{hint}", names[1].start()
        )
    if not of:
        if function != "count":
            raise RefusedError(
                f"expected a field for {function} but got none; write '{function}({definition}.speed)'", names[1].end()
            )
        return SituationAggregate(f"count_{definition}", "count", definition, None)
    (field,), at = of, names[2].start()
    known = {each.name: each for each in event.fields}
    if field not in known:
        raise RefusedError(f"expected a field of {event.cls.__name__} but got {field!r}; {event.hint(field)}", at)
    kind = known[field].type
    if function in NUMBERS and kind not in (int, float):
        shown = "Any" if kind is None else kind.__name__
        raise RefusedError(
            f"expected a number for {function} but got {field!r}, which is {shown} in {event.cls.__name__}; "
            f"first and last take any scalar, count anything",
            at,
        )
    if function != "count" and kind is None:
        raise RefusedError(f"expected a scalar for {function} but got {field!r}, which is Any in {event.cls.__name__}", at)
    return SituationAggregate(f"{function}_{definition}_{field}", function, definition, field)


def _type(event: Schema, name: str | None) -> type:
    return next(field.type for field in event.fields if field.name == name and field.type is not None)
