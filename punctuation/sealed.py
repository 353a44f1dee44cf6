"""Sealed blobs: bytes with a magic, a version and a checksum before their content. Sources, operators and stages share the format.

bytes 0..3    magic
byte  4       version
bytes 5..8    CRC-32 of the rest, big endian
bytes 9..     msgpack: plain data
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection
from typing import Any

from punctuation.base_errors import AfaError

MAGIC = 4
_HEAD = MAGIC + 5


def seal(magic: bytes, version: int, packed: bytes) -> bytes:
    """Return packed data as a blob.

    >>> blob = seal(b"AFAX", 1, b"packed")
    >>> blob[:5], len(blob), unseal(b"AFAX", 1, blob, bytes.decode)
    (b'AFAX\\x01', 15, 'packed')
    """
    assert len(magic) == MAGIC
    return magic + bytes([version]) + zlib.crc32(packed).to_bytes(4, "big") + packed


def unseal(
    magic: bytes,
    version: int,
    blob: Any,
    read: Callable[[bytes], Any],
    what: str = "a snapshot",
    error: type[AfaError] = AfaError,
    older: Collection[int] = (),
) -> Any:
    """Return the content of a blob, once magic, version and checksum have been found right.

    ``read`` turns packed bytes into the content, and may raise anything; messages call the blob ``what``; ``error`` is raised;
    ``older`` are versions that it reads as well.
    """
    if not isinstance(blob, (bytes, bytearray, memoryview)):
        raise error(f"expected the bytes of {what} but got {type(blob).__name__}")
    blob = bytes(blob)
    if len(blob) < _HEAD or not blob.startswith(magic):
        raise error(f"expected {what} (it begins with {magic!r}) but got {blob[:8]!r}")
    if blob[MAGIC] != version and blob[MAGIC] not in older:
        raise error(f"expected {what} of version {version} but got version {blob[MAGIC]}")
    packed = blob[_HEAD:]
    if zlib.crc32(packed) != int.from_bytes(blob[_HEAD - 4 : _HEAD], "big"):
        raise error(f"expected a whole snapshot but got a damaged one: the checksum of its {len(packed)} bytes differs")
    try:
        return read(packed)
    except Exception as wrong:  # msgpack raises many kinds, none of them with state behind it
        raise error(f"expected msgpack but got something else: {wrong}") from wrong
