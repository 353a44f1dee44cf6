"""Check the invariants of [AFA10] Sec. 5.1 and App. C.1 in the compiled state, by recomputation; O(everything), for tests."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np

from afa.compiled.block import KeyBlock, head_words
from afa.compiled.compiled_states import sizes
from afa.compiled.image import check_heap
from afa.compiled.kernel import layout as k
from afa.compiled.scan_reading import ScanReading
from afa.compiled.store import Store
from afa.errors import SnapshotError
from afa.journal import Journal
from afa.model.pmatch import PMatch, Rest
from afa.model.raised import Faults
from afa.model.transitions import Transitions
from afa.scan.attempts import Row
from afa.scan.orbits import RowScan, ScanState


def check(store: Store) -> None:
    """Assert all invariants of all keys; the AssertionError says which does not hold, and where."""
    if store.scan is not None:
        check_scan(store)
        return
    totals: Counter[str] = Counter()
    transitions = Transitions(store.automaton, store.arcs.table, store.faults and Faults())
    for code in store.held().tolist():
        block = KeyBlock(store, code)
        if block.at:
            _check_key(store, transitions, block, totals)
            check_parts(store, block)
    held = sizes(store)
    found = {name: totals[name] for name in ("events", "partial_matches", "intervals", "matches", "keys")}
    assert found == {name: getattr(held, name) for name in found}, f"sizes: {held}, found {found}"
    _check_deadlines(store)
    _check_heap(store)
    w = store.memory.w
    assert w[k.Scratch.log_top] == 0, "a difference was left behind"
    assert w[k.Scratch.undo_top] == 0, "an undo log was left behind"


def _check_heap(store: Store) -> None:
    try:
        check_heap(store.memory.m, store.entries[:, k.KeyEntry.block], store.memory.keys)
    except SnapshotError as error:
        raise AssertionError(f"heap: {error}") from error


def _check_key(store: Store, transitions: Transitions, block: KeyBlock, totals: Counter[str]) -> None:
    event, register = store.payloads.record, store.registers.record
    times = [block.word(k.Block.le, step) for step in block.steps]
    assert times == sorted(times), f"order: {times}"
    final, ordered = store.progress.floor, bool(store.ordered)
    pruned, cleaned = block.head(k.Block.pruned), max(final, block.head(k.Block.cleaned))
    before: list[PMatch] = []
    nodes = [block.nodes(step) for step in block.steps]
    rest = Rest.behind(0)
    matches: Counter[Any] = Counter()
    totals["keys"] += 1
    for place, (step, rows) in enumerate(zip(block.steps, block.lists())):
        le, events, own = times[place], block.events(step), nodes[place]
        starts = [node[k.NodeRow.start] for node in own]
        assert starts == sorted(starts), f"Ordering at {le}: {starts}"
        layer = [PMatch(start, m, store.arcs.states[state], register(words)) for start, m, state, _, *words in rows]
        assert len(layer) == len(set(layer)), f"Content at {le}: a partial match twice in {layer}"
        assert all(p.start <= le < p.re for p in layer), f"Content at {le}: a lifetime that has ended, or begins later, in {layer}"
        reach = block.word(k.Block.reach, step)
        far = [times[at] for at in range(place) for node in nodes[at] if node[k.NodeRow.end] > le]
        assert min([*far, le]) >= min(reach, le) or reach < times[0], f"reach at {le}: {reach}, {far}"
        here = Rest(le, le + 1 if events or le >= cleaned else max(le + 1, block.head(k.Block.since)))
        horizon = times[place + 1] if place + 1 < len(times) else max(le, store.progress.events)
        if place and not block.linked(place):
            before = []
        if place + 1 < len(times) and not block.linked(place + 1):
            horizon = min(horizon, max(le, store.progress.events))
        if events:
            assert le >= max(final, block.head(k.Block.cleaned)), f"Cleanup: events before {final} at {le}"
            payloads = {(event(words), re): copies for re, copies, *words in events}
            assert all(copies > 0 for copies in payloads.values()), f"event counts at {le}"
            totals["events"] += sum(payloads.values())
            words = {store.sequence_word(payload) for payload, _ in payloads}
            assert words == {block.word(k.Block.seq, step)} or not ordered, f"sequence at {le}: {words}"
            if pruned == k.BEGINNING or (place and times[place - 1] > pruned):
                expected = _derived(transitions, before, rest, le, payloads)
                expected = _best(expected) if store.longest else expected
                assert set(layer) == expected, f"Content at {le}: stored {layer}, derived {expected}"
        elif le >= cleaned:
            assert le <= pruned, f"a step without events at {le}"
        else:
            assert place == 0, f"a step without events at {le}"
            assert le < max(final, store.progress.some), f"cover at {le}, promised {final}"
            assert all(p.re > final for p in layer), f"Cleanup: partial matches that can't go on at {le}"
        claimed = _claimed(transitions, layer, here, horizon, final, bool(events) or le >= cleaned)
        totals["events"] += not events and not own and not store.gaps
        if store.longest:
            claimed = _longest(store, claimed)
        stored = Counter((t, m, register(words)) for t, m, *words in block.matches(step))
        assert stored == Counter(claimed), f"matches at {le}: stored {stored}, derived {claimed}"
        matches.update(claimed)
        totals["partial_matches"] += len(own)
        totals["intervals"] += sum(node[k.NodeRow.end] != k.ALONE for node in own)
        before, rest = layer, here
    _check_numbers(store, block, times)
    assert ordered or len(times) == len(set(times)), f"two steps of one LE: {times}"
    told = {(t, register) for t, _, register in matches} if store.longest else matches
    totals["matches"] += sum(t >= store.progress.final for t, *_ in told)
    assert all(copies > 0 for _, _, copies, *_ in block.pending()), "pending counts"


def check_parts(store: Store, block: KeyBlock) -> None:
    """Assert that parts which outlast the call are the list of the last step; see `afa.compiled.kernel.kept_parts`."""
    w, nodes, kept = store.memory.w, block.head(k.Block.nodes), []
    if w[k.Scratch.parts_of] != block.at:
        return
    for state in w[w[k.Scratch.held] :][: w[k.Scratch.holds]].tolist():
        chain = w[w[k.Scratch.chains] + state * k.StateChain.SIZE :]
        low, high, part = chain[k.StateChain.low], chain[k.StateChain.high], int(chain[k.StateChain.first])
        while part != k.NOWHERE:
            for number in range(w[part + k.PartRow.first], w[part + k.PartRow.end]):
                node = block.m[nodes + number * store.memory.row :][: store.memory.row].tolist()
                end = node[k.NodeRow.end]
                if node[k.NodeRow.state] == state and (end == k.OPEN or (end == k.ALONE and number >= w[k.Scratch.fresh])):
                    assert low <= node[k.NodeRow.until] <= high, f"bounds of state {state} in parts: {low}, {high}, {node}"
                    kept.append(node)
            part = int(w[part + k.PartRow.next])
    *_, last = block.lists()
    assert sorted(kept) == sorted(last), f"parts {sorted(kept)}, the last list {sorted(last)}"
    assert w[k.Scratch.standing] == len(kept), f"{w[k.Scratch.standing]} rows in parts, found {len(kept)}"


def _check_deadlines(store: Store) -> None:
    m = store.memory.m
    for code in range(int(m[k.Memory.keys])):
        at, *deadlines = m[m[k.Memory.dir] + code * k.KeyEntry.SIZE :][: k.KeyEntry.clean + 1].tolist()
        minimum = int(m[k.Memory.minima]) + (code >> k.LEVEL) * k.DeadlineRow.SIZE
        above = int(m[k.Memory.above]) + (code >> 2 * k.LEVEL) * k.DeadlineRow.SIZE
        for name, deadline in enumerate(deadlines if at else []):
            assert m[above + name] <= m[minimum + name] <= deadline, f"minima over the deadlines of key {code}: {deadlines}"
    waiting = int(head_words(store, np.arange(int(m[k.Memory.keys])), k.Block.pending_top).sum())
    assert waiting == m[k.Memory.waiting], f"retractions that wait: {m[k.Memory.waiting]}, found {waiting}"


def _check_numbers(store: Store, block: KeyBlock, times: list[int]) -> None:
    if not store.gaps:
        return
    numbers = [block.word(k.Block.seq, step) for step in block.steps]
    assert all(a < b for a, b in itertools.pairwise(numbers)), f"numbers against times: {numbers}"
    told, gap = block.head(k.Block.told), block.head(k.Block.gap)
    ends = [le for (a, b), le in zip(itertools.pairwise(numbers), times[1:]) if a + 1 != b and le >= told]
    assert not ends or ends[0] >= gap, f"a gap at {ends[0]} before {gap}"


def _derived(transitions: Transitions, before: list[PMatch], rest: Rest, le: int, events: Any) -> set[PMatch]:
    found: set[PMatch] = set()
    for p in before:
        new, stays = transitions.derive(p, rest, le, events)
        found.update(new)
        if stays:
            found.add(p)
    found.update(transitions.begin(le, le, events))
    return found


def _best(found: set[PMatch]) -> set[PMatch]:
    """Return, for each state and register, the partial match with the largest ``m``; of several the one that began last."""
    best: dict[Any, PMatch] = {}
    for p in found:
        known = best.setdefault((p.state, p.register), p)
        if (p.re, p.start) > (known.re, known.start):
            best[p.state, p.register] = p
    return set(best.values())


def _longest(store: Store, claimed: set[Any]) -> set[Any]:
    """Return, for each T and payload, the match with the largest RE; words of its register that it does not show are 0."""
    record, told = store.registers, store.matches.layout.width
    ends: dict[Any, int] = {}
    for t, m, register in claimed:
        words = record.words(register)
        payload = record.record([*words[:told], *[0] * (len(words) - told)])
        ends[t, payload] = max(m, ends.get((t, payload), m))
    return {(t, m, payload) for (t, payload), m in ends.items()}


def _claimed(transitions: Transitions, layer: list[PMatch], rest: Rest, horizon: int, final: int, events: bool) -> set[Any]:
    found = set()
    for p in layer:
        instants = [(rest.le, p)] if events else []
        instants += transitions.fired(p, rest, horizon)
        found |= {(t, q.re, q.register) for t, q in instants if t >= final and transitions.final(q.state, t)}
    return found


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
