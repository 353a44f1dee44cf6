"""The state of a source as bytes: versioned, checked, plain data only.

bytes 0..3    b"AFAP"
byte  4       version
bytes 5..8    CRC-32 of the rest, big endian
bytes 9..     msgpack: [kind, options, state], each as the source writes it
"""

from __future__ import annotations

import zlib
from typing import Any

import msgpack

from punctuation.errors import AfaError

MAGIC, VERSION = b"AFAP", 1
_HEAD = len(MAGIC) + 5


def pack(kind: str, options: list[Any], state: list[Any]) -> bytes:
    """A source's state as a blob.

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
    return MAGIC + bytes([VERSION]) + zlib.crc32(packed).to_bytes(4, "big") + packed


def unpack(blob: Any, kind: str, options: list[Any]) -> list[Any]:
    """The state that `pack` wrote for a source of this kind with these options.

    Raises
    ------
    AfaError
        The blob is none, is damaged, of another version, or of a source made otherwise.
    """
    if not isinstance(blob, (bytes, bytearray, memoryview)):
        raise AfaError(f"expected the bytes of a source's snapshot but got {type(blob).__name__}")
    blob = bytes(blob)
    if len(blob) < _HEAD or not blob.startswith(MAGIC):
        raise AfaError(f"expected a source's snapshot (it begins with {MAGIC!r}) but got {blob[:8]!r}")
    if blob[len(MAGIC)] != VERSION:
        raise AfaError(f"expected a source's snapshot of version {VERSION} but got version {blob[len(MAGIC)]}")
    packed = blob[_HEAD:]
    if zlib.crc32(packed) != int.from_bytes(blob[_HEAD - 4 : _HEAD], "big"):
        raise AfaError(f"expected a whole snapshot but got a damaged one: the checksum of its {len(packed)} bytes differs")
    try:
        was, made, state = msgpack.unpackb(packed, strict_map_key=False)
    except Exception as error:  # msgpack raises many kinds, none of them with state behind it
        raise AfaError(f"expected msgpack but got something else: {error}") from error
    if (was, made) != (kind, options) or not isinstance(state, list):
        raise AfaError(f"expected a snapshot of {kind} with the options {options!r} but got one of {was} with {made!r}")
    return state
