"""NamedTuple classes made of names and types: registers and payloads of queries. They can be pickled, though no module holds them.

A class is known by what it is made of, in every process: the same name, fields and types are the same class.
"""

from __future__ import annotations

import copyreg
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from afa.schema import DECIMALS, HIDDEN, LEFT_OUT, Schema


class PayloadType(type):
    """The type of these classes, by which pickle and copy know what to do with one."""


def made(
    name: str,
    fields: tuple[tuple[str, type | None, bool], ...],
    times: tuple[str, ...] = (),
    dates: tuple[str, ...] = (),
    hidden: tuple[str, ...] = (),
    about: tuple[Any, ...] = (),
) -> Any:
    """Make a NamedTuple class of fields: name, scalar type, perhaps annotated (None: any value), whether it can be None.

    ``times`` are the int fields that hold times, ``dates`` those of them that leave as dates; see `afa.schema.Schema`.
    ``hidden`` are those that no user has written. ``about``: attributes of a class of a table's columns, each with its items.

    >>> Trend = made("Trend", (("low", int, False), ("top", float, True)))
    >>> Trend(1, None)
    Trend(low=1, top=None)
    >>> import pickle
    >>> pickle.loads(pickle.dumps(Trend)) is Trend
    True
    """
    return _made(name, fields, about, times, dates, hidden)


def extended(cls: Any, more: Sequence[tuple[str, Any, bool]], hidden: bool = False) -> Any:
    """Make a class of events with fields more behind those of another one, as `made`; ``hidden``: no user has written them."""
    given, names = Schema.of(cls, "event"), [name for name, _, _ in more if hidden]
    fields = [(f.name, f.type and given.annotation(f._replace(optional=False)), f.optional) for f in given.fields]
    about = tuple((name, tuple(getattr(cls, name).items())) for name in (LEFT_OUT, DECIMALS) if hasattr(cls, name))
    return made(cls.__name__, (*fields, *more), hidden=(*getattr(cls, HIDDEN, ()), *names), about=about)


@functools.cache
def _made(name: str, fields: tuple[tuple[str, type | None, bool], ...], about: Any, *marked: tuple[str, ...]) -> Any:
    types = [(field, (Any if kind is None else kind | None if optional else kind)) for field, kind, optional in fields]
    base = NamedTuple(name, types)  # type: ignore[misc]
    said = {"_made": (name, fields, *marked, about), **dict(zip(("_times", "_dates", HIDDEN), marked))}
    said |= {attribute: dict(items) for attribute, items in about}
    return PayloadType(name, (base,), {"__slots__": (), "__module__": __name__, "__annotations__": dict(types), **said})


def _reduced(cls: Any) -> tuple[Any, ...]:
    return made, cls._made


copyreg.pickle(PayloadType, _reduced)
