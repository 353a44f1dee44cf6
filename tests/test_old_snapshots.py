"""Snapshots that earlier versions of the library have made are read for ever: `old_snapshots.json` has some, by their version.

``python -m tests.test_old_snapshots`` adds those of the present version.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import pytest

from afa import Keyed, Punctuation, insert, retract
from afa.operator.snapshot import VERSION
from tests.automata import Tick, two_vees

FILE = Path(__file__).parent / "old_snapshots.json"
SAVED: dict[str, dict[str, list[str]]] = json.loads(FILE.read_text(encoding="ascii"))

KEYS: dict[str, list[Any]] = {
    "ints": [5, -3, 2**40, 7],
    "texts": ["b", "", "a long text, of more than one word", "ü", "a"],
    "pairs": [("b", 1), ("a", 2), ("a", 1)],
    "missing": [("a", None), (None, 1), ("b", 2)],
    "floats": [0.5, -2.25, 1e300],
    "bools": [True, False],
    "mixed": [1, "a", (2, "b"), 2**63],
}


def run(keys: list[Hashable]) -> tuple[Keyed, list[bytes]]:
    """An operator with these keys; a snapshot, and two incremental ones."""
    op = Keyed(two_vees, key=lambda e: e, window=20)
    for le, move in enumerate([-1.0, -1.0, 1.0, 1.0, -1.0]):
        for i, key in enumerate(keys):
            op.push(insert(Tick(9.0 + i, move), le + i), key=key)
    blobs = [op.snapshot()]
    op.push(insert(Tick(1.0, 1.0), 12), key=keys[0])
    op.push(retract(Tick(1.0, 1.0), 13), key=keys[1])
    blobs.append(op.snapshot(incremental=True))
    op.push(Punctuation(5))
    op.push(insert(Tick(2.0, -1.0), 14), key=keys[0])
    return op, [*blobs, op.snapshot(incremental=True)]


@pytest.mark.parametrize("version", sorted(SAVED))
@pytest.mark.parametrize("kind", sorted(KEYS))
def test_a_snapshot_of_an_earlier_version_is_what_was_saved(version: str, kind: str, engine: Any) -> None:
    now, _ = run(KEYS[kind])
    blobs = list(map(base64.b64decode, SAVED[version][kind]))
    assert {blob[4] for blob in blobs} == {int(version)}
    then = Keyed.restore(two_vees, blobs, key=lambda e: e, engine=engine)
    assert sorted(map(repr, then.keys)) == sorted(map(repr, now.keys))
    assert then.snapshot() == now.snapshot()


if __name__ == "__main__":
    SAVED[str(VERSION)] = {kind: [base64.b64encode(blob).decode() for blob in run(keys)[1]] for kind, keys in KEYS.items()}
    FILE.write_text(json.dumps(SAVED, indent=1, sort_keys=True) + "\n", encoding="ascii")
