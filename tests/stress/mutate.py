"""A blob with one thing in it that is not as it was saved, sealed again with a right checksum.

What is packed is taken apart as what it is: numbers become others (boundaries, off by one, those of a neighbour), lists lose, gain,
swap, repeat; packed numbers and bits, and sealed blobs within a blob, are taken apart too.
"""

from __future__ import annotations

import reprlib
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import msgpack

from tests.strategies import Choices

HEAD = 9
NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    255,
    2**24,
    2**24 + 1,
    2**31,
    2**40,
    2**60,
    2**62,
    2**63 - 2,
    2**63 - 1,
    -(2**63),
    -(2**63) + 1,
    2**64 - 1,
)
OTHERS: tuple[Any, ...] = (
    None,
    True,
    False,
    1.5,
    float("nan"),
    "x",
    "",
    b"",
    b"\0\0",
    [],
    [[]],
    {},
    {"a": 1},
    -5,
    [0, b""],
    "a",
    "who < 3",
)
Path = tuple[int, ...]


def mutated(choose: Choices, blob: bytes) -> tuple[bytes, str]:
    """The blob, changed somewhere, and what was done to it."""
    if choose.chance(3):
        return sealed(blob, raw(choose, blob[HEAD:])), "raw bytes"
    body = opened(blob)
    said, place = "", ()
    for _ in range(choose.one([1, 1, 1, 2, 3])):
        places = list(paths(body, ()))
        place = choose.one(places)
        new = change(choose, at(body, place), body, places)
        body, said = put(body, place, new), reprlib.repr(new)
    return sealed(blob, packed(body)), f"{said} at {place}"


def opened(blob: bytes) -> Any:
    """What a blob holds."""
    return msgpack.unpackb(blob[HEAD:], strict_map_key=False, timestamp=0, unicode_errors="surrogatepass")


def sealed(blob: bytes, body: bytes) -> bytes:
    """With the head of a blob."""
    return blob[: HEAD - 4] + zlib.crc32(body).to_bytes(4, "big") + body


def packed(body: Any) -> bytes:
    """As msgpack, surrogates and all."""
    found: bytes = msgpack.packb(body, unicode_errors="surrogatepass")
    return found


def paths(value: Any, path: Path) -> Iterator[Path]:
    """Where there is something."""
    yield path
    if isinstance(value, list):
        for i, inner in enumerate(value):
            yield from paths(inner, (*path, i))


def put(body: Any, path: Path, new: Any) -> Any:
    """The body with something else at a place."""
    if not path:
        return new
    return [*body[: path[0]], put(body[path[0]], path[1:], new), *body[path[0] + 1 :]]


def change(choose: Choices, value: Any, body: Any, places: list[Path]) -> Any:
    """Something else in place of a value."""
    if choose.chance(8):
        return choose.one(OTHERS)
    if choose.chance(3):
        return deep(choose)
    if choose.chance(6):
        return at(body, choose.one(places))
    if isinstance(value, bool) or value is None:
        return choose.one([True, False, None, 0, 1, *NUMBERS])
    if isinstance(value, int):
        return number(choose, value)
    if isinstance(value, float):
        return choose.one([0.0, -0.0, float("nan"), float("inf"), -1.0, 1e308, value + 1, 3])
    if isinstance(value, str):
        return choose.one(["", "x", value + "x", value[::-1], "a", "b", "c", "\ud800", "\0", "1 // 0", value * 1000])
    if isinstance(value, bytes):
        return in_bytes(choose, value)
    if isinstance(value, list):
        return in_list(choose, value)
    return choose.one(OTHERS)


def at(body: Any, path: Path) -> Any:
    """What stands at a place."""
    for i in path:
        body = body[i]
    return body


def number(choose: Choices, value: int) -> int:
    """Another number."""
    other = choose.one([value + 1, value - 1, -value, value + choose.number(-20, 20), choose.one(NUMBERS), choose.one(NUMBERS)])
    return max(min(other, 2**64 - 1), -(2**63))


def deep(choose: Choices) -> Any:
    """Lists or tuples in one another."""
    found: Any = 1
    levels = choose.one([2, 40, 400])  # the packer has a limit of its own
    if choose.chance(50):
        for _ in range(levels):
            found = [found]
        return found
    for _ in range(min(levels, 60)):
        found = msgpack.ExtType(choose.one([1, 1, 1, 2]), msgpack.packb([found]))
    return found


def in_list(choose: Choices, value: list[Any]) -> Any:
    """A list with one item changed, missing, twice or elsewhere."""
    found = list(value)
    i, j = (choose.number(0, max(len(found) - 1, 0)) for _ in range(2))
    what = choose.number(0, 8)
    if not found:
        return choose.one([[0], [[]], [None], [1, 2]])
    if what == 0:
        del found[i]
    elif what == 1:
        found.insert(j, found[i])
    elif what == 2:
        found[i], found[j] = found[j], found[i]
    elif what == 3:
        found.reverse()
    elif what == 4:
        found = found[:i]
    elif what == 5:
        found += found
    elif what == 6:
        found.append(choose.one(OTHERS))
    elif what == 7:
        found[i] = found[j]
    else:
        return tuple(found) if choose.chance(50) else []
    return found


def in_bytes(choose: Choices, value: bytes) -> bytes:
    """Bytes as a blob, as numbers of a width, or as they are."""
    if value[:3] == b"AFA" and len(value) > HEAD and not choose.chance(5):
        return mutated(choose, value)[0]
    widths = [width for width in (1, 2, 4, 8) if len(value) >= width and len(value) % width == 0]
    if not widths or choose.chance(10):
        return raw(choose, value)
    width = choose.one(widths)
    form = f"<{len(value) // width}{'BHIQ'[(1, 2, 4, 8).index(width)]}"
    items: list[Any] = list(struct.unpack(form, value))
    if choose.chance(60):
        i, top = choose.number(0, len(items) - 1), 1 << 8 * width
        items[i] = choose.one(
            [items[i] + 1, items[i] - 1, items[i] ^ 1 << choose.number(0, 8 * width - 1), choose.one(items), 0, -1]
        )
        items[i] %= top
    else:
        items = [item for item in in_list(choose, items) if isinstance(item, int) and 0 <= item < 1 << 8 * width]
    return struct.pack(f"<{len(items)}{form[-1]}", *items)


def raw(choose: Choices, value: bytes) -> bytes:
    """Bytes with some of them changed, missing or more."""
    if not value:
        return choose.one([b"\0", b"x" * 7])
    i, what = choose.number(0, len(value) - 1), choose.number(0, 4)
    if what == 0:
        return value[:i]
    if what == 1:
        return value[:i] + value[i + choose.number(1, 8) :]
    if what == 2:
        return value[:i] + value[: choose.number(1, 8)] + value[i:]
    return value[:i] + bytes([value[i] ^ 1 << choose.number(0, 7)]) + value[i + 1 :]
