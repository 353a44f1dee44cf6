"""Schemas: which values the fields of an event or of a register may hold. A schema also brings values into one form.

A schema is a ``NamedTuple``. Its fields are scalars (int, float, bool, str), each optional if wanted, so that every engine can hold
them. A field annotated ``Any`` holds any hashable value; only the interpreted engine serves it.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
import sys
import types
import typing
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

from afa.errors import AfaError, AutomatonError, ChangeError, Int64Error, did_you_mean
from punctuation.time import BEGINNING, FOREVER, as_time
from punctuation.timestamps import WITHOUT_TICK, is_time, ticks_of_time

SCALARS: tuple[type, ...] = (int, float, bool, str)
NAN = math.nan
"""The one NaN that payloads carry, so that NaN equals itself in every comparison of payloads."""


LEFT_OUT = "_left_out"
"""The attribute of a class that is made of a table's columns: why a column is no field."""
DECIMALS = "_decimals"
"""The attribute of such a class that has the fields in which a DECIMAL is the nearest float, with its precision and scale."""
HIDDEN = "_hidden"
"""The attribute of a class that has the names of fields that its user has not written."""
DIGITS = sys.float_info.dig
"""So many digits decimals may have that floats tell apart."""
NEAR = 4
"""How many letters a name must have so that one near to it is suggested: a shorter one is near to many."""
ODD = (ValueError, TypeError, OverflowError, NotImplementedError)
"""What Arrow, numpy and pandas raise for values that they can't convert: an instant beyond Python's, text that is no UTF-8."""


class _FilledWithLe:
    """Marks the field of an event that is filled with its LE."""


Instant = Annotated[int, _FilledWithLe]
"""The type of a field of the event class that is filled with the event's LE, in ticks, on every way in. None, the field's default,
or the right value may be given; tables need no such column."""


class _OfTime:
    """Marks a field that holds a time."""


class _OfDate(_OfTime):
    """Marks a field that holds a date."""


Time = Annotated[int, _OfTime]
"""The type of a field that holds a time, in ticks since 1970: a timestamp or a date on every way in; it leaves as LE does."""
Date = Annotated[int, _OfDate]
"""The type of a field that holds a day: the time at which it begins (UTC), in ticks; it leaves as a date."""


_USUAL = {"Instant": Instant, "Time": Time, "Date": Date, "Any": Any, "typing": typing}
_USUAL |= {"afa": types.SimpleNamespace(Instant=Instant, Time=Time, Date=Date)}
"""What names in annotations usually mean."""


class Field(NamedTuple):
    """One field of a schema: its scalar type, or list[int] .. of what a match shows (None: any hashable value); may it be None?"""

    name: str
    type: type | None
    optional: bool


class Schema(NamedTuple):
    """The fields of a ``NamedTuple`` class; ``instant``: the one that is filled with the event's LE.

    ``tick`` is what one int of LE counts, if that is said: then datetimes stand for ints. ``times``: the fields that hold times,
    the LE of an event among them, so that they leave as times where times came; ``dates``: those of them that leave as dates.

    >>> class Tick(NamedTuple):
    ...     price: float
    ...     size: int | None = None
    >>> Schema.of(Tick, "event").fields
    (Field(name='price', type=<class 'float'>, optional=False), Field(name='size', type=<class 'int'>, optional=True))
    >>> Schema.of(Tick, "event").take(Tick(1, None))
    Tick(price=1.0, size=None)
    """

    cls: type
    fields: tuple[Field, ...]
    instant: str | None = None
    tick: str | None = None
    times: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()

    @classmethod
    def of(cls, schema: Any, what: str) -> Schema:
        """Make the schema of a ``NamedTuple`` class. AutomatonError: the class is no NamedTuple, or a field is no scalar."""
        if not (isinstance(schema, type) and issubclass(schema, tuple) and hasattr(schema, "_fields")):
            raise AutomatonError(f"expected a NamedTuple as the {what} schema but got {what}={schema!r}")
        return _schema_of(schema, what)

    @property
    def scalar(self) -> bool:
        """Whether every field is a scalar, so that every engine can hold it."""
        return all(field.type in SCALARS for field in self.fields)

    @property
    def typed(self) -> bool:
        """Whether every field is a scalar or an array of scalars, so that Arrow has a type for it."""
        return all(field.type is not None for field in self.fields)

    @property
    def left_out(self) -> Mapping[str, str]:
        """Why columns of the table that the class is made of are no fields."""
        return getattr(self.cls, LEFT_OUT, {})

    def take(self, value: Any) -> Any:
        """Return ``value`` with its fields in this schema's form (ints as int, NaN as the one NaN).

        ChangeError, Int64Error: a field has another type, or an int is no int64. O(fields).
        """
        if type(value) is not self.cls:
            value = self.record(value) if is_record(value) else value
            foreign = hasattr(value, "_fields") and not isinstance(value, self.cls)
            if not isinstance(value, tuple) or len(value) != len(self.fields) or foreign:
                other = foreign and type(value).__name__ == self.cls.__name__
                hint = (
                    ", of another class of the same name: make it of the one that the automaton was given (event=)" if other else ""
                )
                raise ChangeError(f"expected {self.describe()} but got {value!r}{hint}")
            value = self.cls(*value)
        changed = None
        for i, (item, field) in enumerate(zip(value, self.fields)):
            kind = type(item)
            if kind is field.type:
                if kind is int:
                    if BEGINNING <= item <= FOREVER:
                        continue
                elif kind is not float or (item == item and item):
                    continue
            elif item is None and field.optional:
                continue
            new = _coerce(item, field, self)
            if new is not item:
                changed = list(value) if changed is None else changed
                changed[i] = new
        return value if changed is None else self.cls(*changed)

    def take_field(self, field: Field, value: Any) -> Any:
        """Return the value of one field in this schema's form. Raises as `take`."""
        return value if type(value) is field.type is not float else _coerce(value, field, self)

    def record(self, value: Any) -> Any:
        """Return a dict, or an instance of a dataclass, as an event. What may be None, or has a default, may be left out.

        ChangeError: a field is missing, or there is one more.
        """
        given = value if isinstance(value, Mapping) else {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        defaults = {field.name: None for field in self.fields if field.optional or field.name == self.instant}
        defaults |= self.cls._field_defaults  # type: ignore[attr-defined]
        names = [field.name for field in self.fields]
        extra = [name for name in given if name not in names]
        missing = [name for name in names if name not in given and name not in defaults]
        if extra or missing:
            wanted = f"a field {missing[0]!r}" if missing else f"no field {extra[0]!r}"
            hint = did_you_mean(str(extra[0]), missing or names) if extra else ""
            raise ChangeError(f"expected {wanted} for {self.describe()} but got {value!r}{hint}")
        return self.cls(*(given[name] if name in given else defaults[name] for name in names))

    def annotation(self, field: Field) -> Any:
        """Return the type of one of the fields, as an annotation that makes a field of another class alike."""
        if field.name == self.instant:
            return Instant
        kind: Any = Date if field.name in self.dates else Time if field.name in self.times else field.type
        return Any if kind is None else kind | None if field.optional else kind

    def dated(self, value: Any, le: Any) -> Any:
        """Return an event with its LE in the field for it, if there is one. What is no such event, or no time, stays as it is.

        ChangeError: the field holds another time.
        """
        le = as_ticks(le, "le", self.tick) if self.instant is not None and is_time(le) else le
        if self.instant is None or type(le) is not int:
            return value
        value = self.record(value) if is_record(value) else value
        if not isinstance(value, tuple) or len(value) != len(self.fields):
            return value
        place = next(i for i, field in enumerate(self.fields) if field.name == self.instant)
        given = as_ticks(value[place], self.instant, self.tick) if is_time(value[place]) else value[place]
        if given is not None and given != le and given != self.cls._field_defaults.get(self.instant):  # type: ignore[attr-defined]
            raise ChangeError(
                f"expected {self.instant}={le}, the event's LE, or None but got {self.instant}={given!r} in {self.cls.__name__}"
            )
        items = [*value[:place], le, *value[place + 1 :]]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)

    def hint(self, name: str) -> str:
        """Return what to say about a name that is no field: ``its fields: price, size; did you mean 'price'?``."""
        if name in self.left_out:
            return self.left_out[name]
        names = [field.name for field in self.fields]
        return f"its fields: {', '.join(names) or 'none'}" + (did_you_mean(name, names) if len(name) >= NEAR else "")

    def describe(self) -> str:
        """Return the schema as text: ``Tick(price: float, size: int | None)``."""
        inner = ", ".join(
            f"{f.name}: {getattr(f.type, '__name__', '') if f.type in SCALARS else f.type or 'Any'}"
            f"{' | None' if f.optional and f.type else ''}"
            for f in self.fields
        )
        return f"{self.cls.__name__}({inner})"


def as_ticks(value: Any, what: str, tick: str | None = None) -> int:
    """Return a time of a change or a punctuation as ticks, or refuse it; a datetime needs ``tick``, what one tick is.

    ChangeError: the value is no int64; or a datetime that is no whole number of ticks, or where nothing says what one is.
    """
    if type(value) is int and BEGINNING <= value <= FOREVER:
        return value
    try:
        ticks: int = ticks_of_time(value, tick, what) if is_time(value) else as_time(value, what)
    except AfaError as error:
        raise ChangeError(str(error)) from None
    return ticks


def any_payload(value: Any) -> Any:
    """Return a hashable payload in which every NaN, at any depth of tuples, is the one NaN.

    ChangeError: the value is not hashable.
    """
    try:
        hash(value)
    except TypeError as error:
        raise ChangeError(f"expected a hashable payload but got {value!r}") from error
    return _one_nan(value)


def is_record(value: Any) -> bool:
    """Return whether a value is a dict or an instance of a dataclass, which may stand for an event."""
    return not isinstance(value, tuple) and (
        isinstance(value, Mapping) or (dataclasses.is_dataclass(value) and not isinstance(value, type))
    )


def taker(schema: Schema | None) -> Callable[[Any], Any]:
    """Return the function that brings a payload into its form."""
    return any_payload if schema is None else schema.take


def _one_nan(value: Any) -> Any:
    if isinstance(value, tuple):
        items = [_one_nan(item) for item in value]
        if all(new is old for new, old in zip(items, value)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if type(value).__module__ == "numpy" and getattr(value, "dtype", None) is not None and value.dtype.kind in "biuf":
        value = value.item()
    return _one_float(value) if isinstance(value, float) else value


def _one_float(value: float) -> float:
    """Return a float with one object for NaN and one zero, as equal payloads must be one payload."""
    return NAN if value != value else value or 0.0


def _coerce(item: Any, field: Field, schema: Schema) -> Any:
    """Do the slow part of `Schema.take`: convert numpy scalars, ints for floats, NaN and times, and refuse what is wrong."""
    if field.type not in SCALARS:
        return any_payload(item)
    if field.type is int and (number := _index(item)) is not None:
        if not BEGINNING <= number <= FOREVER:
            raise Int64Error(f"expected an int64 but got {field.name}={item!r} in {schema.cls.__name__} (int64 overflow)")
        return number
    timed = field.type is int and is_time(item)
    if timed and schema.tick is not None:
        return as_ticks(item, field.name, schema.tick)
    if field.type is float and (isinstance(item, float) or type(item).__name__.startswith("float")):  # numpy.float32, too
        return _one_float(float(item))
    if field.type is float and isinstance(item, Decimal):
        return _one_float(float(item))
    if field.type is float and (number := _index(item)) is not None:
        return _whole(number, field, schema)
    if field.type is bool and type(item).__name__ in ("bool", "bool_"):
        return bool(item)
    if field.type is str and isinstance(item, str):
        return str.__str__(item)
    raise ChangeError(
        f"expected {field.name}: {field.type.__name__}{' | None' if field.optional else ''} "
        f"but got {field.name}={item!r} in {schema.cls.__name__}{WITHOUT_TICK if timed else ''}"
    )


def _index(item: Any) -> int | None:
    """Return a value as an int, if it is one (numpy's too), else None."""
    try:
        return int(operator.index(item))
    except TypeError:
        return None


def _whole(item: int, field: Field, schema: Schema) -> float:
    """Return an int as a float, if a float holds it exactly."""
    try:
        number = float(item)
    except OverflowError:
        number = math.inf
    if number != item:
        raise ChangeError(f"expected a float but got {field.name}={item!r} in {schema.cls.__name__}, which no float equals")
    return _one_float(number)


def _hints(schema: type, what: str, extras: bool = False) -> dict[str, Any]:
    try:
        try:
            return typing.get_type_hints(schema, include_extras=extras)
        except NameError:  # of a class that has travelled without its module's names
            return typing.get_type_hints(schema, localns=_USUAL, include_extras=extras)
    except Exception as error:
        raise AutomatonError(f"expected annotations that resolve but got {error} in the {what} schema {schema.__name__}") from error


@functools.lru_cache(maxsize=256)
def _schema_of(schema: Any, what: str) -> Schema:
    """Return the schema of a class, which each operator asks for a dozen times: to read annotations takes 0.1 ms."""
    hints, instant = _hints(schema, what), _instant(schema, what)
    fields = tuple(_field(name, int if name == instant else hints.get(name, Any), schema, what) for name in schema._fields)
    times, dates = _marked(schema, what, _FilledWithLe, _OfTime, _OfDate), _marked(schema, what, _OfDate)
    made = getattr(schema, "_times", ()), getattr(schema, "_dates", ())
    return Schema(schema, fields, instant, times=(*times, *made[0]), dates=(*dates, *made[1]))


def _instant(schema: Any, what: str) -> str | None:
    """Return the field that is filled with LE."""
    found = _marked(schema, what, _FilledWithLe)
    if found and what != "event":
        raise AutomatonError(f"expected afa.Instant in the event schema only but got {found[0]!r} in the {what} {schema.__name__}")
    if len(found) > 1:
        raise AutomatonError(f"expected one afa.Instant but got {found[0]!r} and {found[1]!r} in {schema.__name__}")
    return found[0] if found else None


def shown_text(event: Any) -> str:
    """Return an event as its user knows it, without fields that nobody has written."""
    hidden = getattr(type(event), HIDDEN, ())
    fields = [f"{name}={value!r}" for name, value in zip(event._fields, event) if name not in hidden] if hidden else []
    return f"{type(event).__name__}({', '.join(fields)})" if hidden else repr(event)


def _marked(schema: Any, what: str, *marks: type) -> tuple[str, ...]:
    """Return the fields whose annotation has one of some marks."""
    found = []
    for name, hint in _hints(schema, what, extras=True).items():
        options = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
        said = {mark for option in options for mark in getattr(option, "__metadata__", ()) if isinstance(mark, type)}
        found += [name] if name in schema._fields and not said.isdisjoint(marks) else []
    return tuple(found)


def _field(name: str, hint: Any, schema: type, what: str) -> Field:
    options = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    kinds = [option for option in options if option is not type(None)]
    if hint is Any or hint is object:
        return Field(name, None, True)
    array = what == "match" and len(kinds) == 1 and typing.get_origin(kinds[0]) is list and typing.get_args(kinds[0])[0] in SCALARS
    if len(kinds) == 1 and (kinds[0] in SCALARS or array):
        return Field(name, kinds[0], len(options) > 1)
    raise AutomatonError(
        f"expected a scalar field (int, float, bool, str, or one of them | None) but got {name}: {hint!r} "
        f"in the {what} schema {schema.__name__}; annotate it Any to keep it for the interpreted engine only"
    )
