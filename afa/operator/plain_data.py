"""Plain data as msgpack, and back: snapshots are made of it. A tuple is extension type 1, a msgpack list inside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgpack

from afa.errors import SnapshotError

TUPLE = 1
DEPTH = 32
"""How deep tuples may nest."""


def plain(body: list[Any]) -> bytes:
    """Return plain data as msgpack; `SnapshotError` if it is none."""
    try:
        packed: bytes = _packed(body, DEPTH)
    except (TypeError, ValueError, OverflowError) as error:
        raise SnapshotError(f"expected plain data (int, float, bool, str, None, tuples of them) but got {error}") from error
    return packed


@contextmanager
def reading(what: str, got: str = "something else") -> Iterator[None]:
    """Raise a `SnapshotError` for all that is wrong with what is read: what is none of ours may be wrong in any way."""
    try:
        yield
    except (SnapshotError, MemoryError):
        raise
    except Exception as error:
        raise SnapshotError(f"expected {what} but got {got}: {error}") from error


def _packed(data: Any, depth: int) -> bytes:
    """Return plain data with tuples as msgpack; tuples may nest ``depth`` levels."""

    def extended(value: Any) -> Any:
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            if not depth:
                raise ValueError(f"tuples more than {DEPTH} deep")
            return msgpack.ExtType(TUPLE, _packed(list(value), depth - 1))
        hint = ": give the Automaton event=" if isinstance(value, tuple) else ""
        raise SnapshotError(f"expected plain data (int, float, bool, str, None, tuples of them) but got {value!r}{hint}")

    found: bytes = msgpack.packb(data, default=extended, strict_types=True)
    return found


def unplain(packed: bytes, depth: int = DEPTH) -> Any:
    """Return the data that `plain` packed. Raises whatever msgpack raises.

    Each of the levels that tuples nest takes much of the process's stack, so that hundreds would crash it.
    """

    def tuple_of(code: int, data: bytes) -> tuple[Any, ...]:
        if code != TUPLE or not depth:
            raise ValueError(f"extension type {code}" if depth else f"tuples more than {DEPTH} deep")
        items = unplain(data, depth - 1)
        if not isinstance(items, list):
            raise ValueError("a tuple that holds no list")
        return tuple(items)

    return msgpack.unpackb(packed, ext_hook=tuple_of, strict_map_key=True)
