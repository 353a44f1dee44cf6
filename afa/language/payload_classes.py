"""NamedTuple classes made of names and types: registers and payloads of queries. They can be pickled, though no module holds them.

A class is known by what it is made of, in every process: the same name, fields and types are the same class.
"""

from __future__ import annotations

import copyreg
import functools
from typing import Any, NamedTuple

from afa.schema import DECIMALS, DIGITS, HIDDEN


class PayloadType(type):
    """The type of these classes, by which pickle and copy know what to do with one."""


def made(
    name: str,
    fields: tuple[tuple[str, type | None, bool], ...],
    times: tuple[str, ...] = (),
    dates: tuple[str, ...] = (),
    hidden: tuple[str, ...] = (),
    decimals: tuple[tuple[str, int], ...] = (),
) -> Any:
    """Make a NamedTuple class of fields: name, scalar type (None: any value), whether it can be None.

    ``times`` are the int fields that hold times, ``dates`` those of them that leave as dates; see `afa.schema.Schema`.
    ``hidden`` are those that no user has written, ``decimals`` the floats that stand for DECIMALs, with their scales.

    >>> Trend = made("Trend", (("low", int, False), ("top", float, True)))
    >>> Trend(1, None)
    Trend(low=1, top=None)
    >>> import pickle
    >>> pickle.loads(pickle.dumps(Trend)) is Trend
    True
    """
    return _made(name, fields, times, dates, hidden, decimals)


@functools.cache
def _made(name: str, fields: tuple[tuple[str, type | None, bool], ...], *marked: tuple[Any, ...]) -> Any:
    types = [(field, (Any if kind is None else kind | None if optional else kind)) for field, kind, optional in fields]
    base = NamedTuple(name, types)  # type: ignore[misc]
    *plain, decimals = marked
    scales = {each: (DIGITS, scale) for each, scale in decimals}
    said = {"_made": (name, fields, *marked), DECIMALS: scales, **dict(zip(("_times", "_dates", HIDDEN), plain))}
    return PayloadType(name, (base,), {"__slots__": (), "__module__": __name__, "__annotations__": dict(types), **said})


def _reduced(cls: Any) -> tuple[Any, ...]:
    return made, cls._made


copyreg.pickle(PayloadType, _reduced)
