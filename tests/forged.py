"""Snapshots with a right checksum and something else than what was saved."""

from __future__ import annotations

from typing import Any

from tests.stress.mutate import opened, packed, sealed


def forged(blob: bytes, place: tuple[int, ...], value: Any) -> bytes:
    """The blob with something else at a place, which a callable makes of what is there."""

    def put(found: Any, place: tuple[int, ...]) -> Any:
        if not place:
            return value(found) if callable(value) else value
        found = list(found)
        found[place[0]] = put(found[place[0]], place[1:])
        return found

    return sealed(blob, packed(put(opened(blob), place)))
