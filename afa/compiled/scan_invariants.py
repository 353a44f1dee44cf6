"""The invariants of a scan's blocks, checked against the engine in Python; for tests, O(everything)."""

from __future__ import annotations

from typing import Any

import numpy as np

from afa.compiled.block import KeyBlock
from afa.compiled.kernel import layout as k
from afa.compiled.scan_reading import ScanReading
from afa.compiled.store import Store
from afa.journal import Journal
from afa.model.transitions import Transitions
from afa.scan.attempts import Row
from afa.scan.orbits import RowScan, ScanState


def check_scan(store: Store) -> None:
    """Assert that the classes of each row, and what is shown, follow from the rows that are held."""
    assert store.scan is not None
    transitions = Transitions(store.automaton, store.arcs.table, store.faults)
    scan = RowScan(transitions, store.progress, store.scan.choice)
    for entry in np.flatnonzero(store.entries[:, k.KeyEntry.block]).tolist():
        block, reading = KeyBlock(store, entry), ScanReading(store, entry)
        fresh, rows = ScanState(None, Journal(), ordered=False), {}
        for at, step in enumerate(block.steps):
            rows[step] = row = Row(at, block.word(k.Block.le, step), 0)
            row.events = {(store.payloads.record(words), re): copies for re, copies, *words in block.events(step)}
            fresh.index[at] = row
        if rows:
            scan.derive_all(fresh)
        for step, row in rows.items():
            here: Any = reading.classes(step)
            there: Any = row.nodes
            if store.scan.before is not None:  # a register follows from the row before, and what is over may stand there still
                there = {tuple(state for state, _ in threads): 0 for threads in there}
                found_states = {tuple(state for state, _ in threads): 0 for threads in here}
                here = {states: 0 for states in found_states if states in there}
            assert here == there, f"classes at le={row.le}: {here} against {there}"
        found = {
            (rows[block.steps[match.first]].key, rows[block.steps[match.last]].key): match.shown for match in reading.matches()
        }
        wanted = {(match.rows[0], match.rows[-1]): match.shown for match in scan.all_shown(fresh)}
        assert found == wanted, f"shown: {found} against {wanted}"
