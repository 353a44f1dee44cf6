"""The state of a source as bytes: versioned, checked, plain data only.

A blob of `punctuation.sealed` with the magic b"AFAP", version 1: [kind, options, state], each as the source writes it.
"""

from __future__ import annotations

from typing import Any

import msgpack

from punctuation.base_errors import AfaError
from punctuation.sealed import seal, unseal

MAGIC, VERSION = b"AFAP", 1


def pack(kind: str, options: list[Any], state: list[Any]) -> bytes:
    """Return a source's state as a blob.

    Raises
    ------
    AfaError
        Something in it is no plain data.

    Examples
    --------
    >>> unpack(pack("Clock", [5], [7, 1]), "Clock", [5])
    [7, 1]
    """
    try:
        packed: bytes = msgpack.packb([kind, options, state], strict_types=True)
    except (TypeError, ValueError, OverflowError) as error:
        raise AfaError(f"expected plain data (int, float, bool, str, None) in the state of a source but got: {error}") from error
    return seal(MAGIC, VERSION, packed)


def unpack(blob: Any, kind: str, options: list[Any]) -> list[Any]:
    """Return the state that `pack` wrote for a source of this kind with these options.

    Raises
    ------
    AfaError
        The bytes are no blob, are damaged, of another version, or of a source with another kind or options.
    """
    was, made, state = unseal(MAGIC, VERSION, blob, _read, "a source's snapshot")
    if (was, made) != (kind, options) or not isinstance(state, list):
        raise AfaError(f"expected a snapshot of {kind} with the options {options!r} but got one of {was} with {made!r}")
    return state


def _read(packed: bytes) -> tuple[Any, Any, Any]:
    was, made, state = msgpack.unpackb(packed, strict_map_key=False)
    return was, made, state
