"""The paths that lead to a match, as the kernels find them: `afa.engine.Engine.ways` of one key."""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.compiled.code.arc_code import ArcCode
from afa.compiled.code.payload_layout import FieldSlot
from afa.compiled.kernel import layout as k
from afa.compiled.kernel import path_layout as y
from afa.compiled.kernel.path_sums import BITS, MAGNITUDE
from afa.compiled.memory import WordArray
from afa.compiled.path_table import KnownArcs, PathTable
from afa.compiled.record_words import bits
from afa.compiled.store import Store
from afa.engine import PathTotals, Picks, SoughtMatch, Ways
from afa.lineage.components import Pick, component_of, in_order

KEPT, MOST = 1 << 15, 1 << 22
"""The columns that a table keeps from one question to the next; and those that it has at most."""


class WrittenPaths(NamedTuple):
    """The output of the kernel: the table, the words of PathRows.asked, the names of components."""

    words: Any
    told: list[int]
    components: list[str]


def match_paths(store: Store, code: int, sought: SoughtMatch) -> Ways | None:
    """Return all paths to a match of a key that has a state; see `afa.engine.Engine.ways`."""
    found = find_paths(store, code, sought)
    return None if found is None or found.told[y.PathQuestion.told] != y.FOUND else _read(store, *found)


def match_picks(store: Store, code: int, soughts: Sequence[SoughtMatch]) -> Picks:
    """Return the events behind matches of a key that holds something; see `afa.engine.Engine.picks`."""
    places: dict[int, int] = {}  # where events stand, and their numbers
    times: list[int] = []  # by number, the event's LE
    of: list[list[tuple[str, int]] | None] = []
    tied: list[tuple[list[tuple[str, int]], list[int]]] = []  # of them those in which events share a step; and the steps
    for sought in soughts:
        found = find_paths(store, code, sought)
        if found is None or found.told[y.PathQuestion.told] != y.FOUND:
            of.append(None)
            continue
        picks, steps = _picked(found, places, times)
        of.append(picks)
        if len(set(steps)) < len(steps):
            tied.append((picks, steps))
    rows = _event_rows(store, places)
    form = store.payloads.layout.schema.cls
    payloads = [form(*fields) for fields in store.payloads.fields(rows[:, k.EventRow.payload :])]
    events = list(zip(payloads, times, rows[:, k.EventRow.re].tolist()))
    for picks, steps in tied:
        orders = [in_order(Pick(component, events[number][0], events[number][2])) for component, number in picks]
        picks[:] = [picks[n] for n in sorted(range(len(picks)), key=list(zip(steps, orders)).__getitem__)]
    return Picks(of, events)


def _picked(found: WrittenPaths, places: dict[int, int], times: list[int]) -> tuple[list[tuple[str, int]], list[int]]:
    """Return the components and numbers of a match's events, in order of steps, and the steps.

    Events that are new get a number.
    """
    words, told, components = found
    steps, _, events, of = words[y.PathRows.place : y.PathRows.component_of_group + 1, : told[y.PathQuestion.groups]].tolist()
    le = words[y.PathRows.le, : told[y.PathQuestion.steps]].tolist()
    picked = {(event, component): step for step, event, component in zip(steps, events, of) if event >= 0}
    for (event, _), step in picked.items():
        if event not in places:
            places[event] = len(times)
            times.append(le[step])
    return [(components[component], places[event]) for event, component in picked], list(picked.values())


def find_paths(store: Store, code: int, sought: SoughtMatch, summed: Mapping[int, int] | None = None) -> WrittenPaths | None:
    """Find the paths to a match by the kernel; ``told`` is its answer. None: no such match, or a function raised.

    ``summed``: the sum over all paths, words by fields of `PathQuestion`; then ``limbs`` and the rows behind it have the
    result.
    """
    choices = [found for payload in sought.payloads if (found := _first_words(store, payload)) is not None]
    if not choices:
        return None
    table = _table_of(store)
    arcs = known_arcs(store)
    wanted = [word for found in choices for word in found]
    if table.batch.n < max(len(wanted), arcs.many, y.PathQuestion.SIZE):
        table.grow(max(len(wanted), arcs.many, y.PathQuestion.SIZE))
    asked = [0] * y.PathQuestion.SIZE
    asked[y.PathQuestion.le], asked[y.PathQuestion.re], asked[y.PathQuestion.since] = sought.le, sought.re or 0, sought.since
    if sought.least is not None:
        asked[y.PathQuestion.bounded], asked[y.PathQuestion.least] = y.ANY if sought.re is None else y.EXACT, sought.least
        asked[y.PathQuestion.every] = int(store.memory.m[k.Memory.longest])
    asked[y.PathQuestion.width], asked[y.PathQuestion.choices], asked[y.PathQuestion.takes] = (
        len(choices[0]),
        len(choices),
        arcs.takes,
    )
    for name, word in (summed or {}).items():
        asked[name] = word
    while True:
        words = table.batch.words
        asked[y.PathQuestion.size] = table.batch.n
        words[y.PathRows.asked, : y.PathQuestion.SIZE] = asked
        words[y.PathRows.wanted, : len(wanted)] = wanted
        if table.told is not arcs:
            words[y.PathRows.component, : arcs.many] = arcs.numbers
            words[y.PathRows.form, : arcs.many] = arcs.forms
            table.told = arcs
        words[y.PathRows.seen, : arcs.many] = k.NOWHERE
        if not _carried_out(store, code, table.batch):
            return None
        told = words[y.PathRows.asked, : y.PathQuestion.SIZE].tolist()
        if told[y.PathQuestion.told] != y.TOO_SMALL or table.batch.n >= MOST:
            break
        table.grow()
    if table.batch.n > KEPT:
        store.path_table = None
    return WrittenPaths(words, told, arcs.components)


def _carried_out(store: Store, code: int, batch: WordArray) -> bool:
    """Call the kernel. Returns whether no function of the user's raised: else `steps` is to tell, which says where."""
    faults, asked = store.callback.faults, int(store.memory.m[k.Memory.asked])
    store.callback.faults = None
    try:
        store.call(k.PATHS_TO, code, 0, batch)
    except Exception:  # whatever it was: it comes again
        return False
    finally:
        store.callback.faults = faults
        store.memory.m[k.Memory.asked] = asked
    return True


def _first_words(store: Store, payload: tuple[Any, ...]) -> list[int] | None:
    """Return the words of the first fields of a match. None: no match has them, as one is a str that nothing holds."""
    found: list[int] = []
    for item, slot in zip(payload, store.matches.layout.slots):
        if slot.width == 2:
            found.append(int(item is not None))
        word: int | None = 0
        if item is not None:
            kind = slot.field.type
            word = bits(item) if kind is float else store.strings.known(item) if kind is str else int(item)
        if word is None:
            return None
        found.append(word)
    return found


def _table_of(store: Store) -> PathTable:
    """Return the table of an engine."""
    if store.path_table is None:
        store.path_table = PathTable()
    return store.path_table


def known_arcs(store: Store) -> KnownArcs:
    """Return the components for which the arcs in force take their events; made once for a program."""
    table = _table_of(store)
    table.arcs = _known_arcs(store, table.arcs)
    return table.arcs


def _known_arcs(store: Store, known: KnownArcs | None) -> KnownArcs:
    """Return the components for which the arcs in force take their events; ``known``: the last answer."""
    program = store.arcs.program
    if known is not None and known.program is program and known.many == len(program.arcs):
        return known
    numbers = [component_of(arc) for arc in program.arcs]
    components = list(dict.fromkeys(name for name in numbers if name is not None))
    places: dict[str | None, int] = {name: n for n, name in enumerate(components)}
    states = {state: n for n, state in enumerate(store.arcs.states)}
    takes = 0
    for arc, name in zip(program.arcs, numbers):
        if arc.ignorable and name is not None and states[arc.src] < k.STATES:
            takes |= 1 << states[arc.src]
    forms = [_form(arc.code) for arc in program.compiled]
    return KnownArcs(program, len(program.arcs), components, [places.get(name, k.NOWHERE) for name in numbers], forms, takes)


def _form(code: ArcCode | None) -> int:
    if code is None:
        return 0
    by_event = code.fence is None or "r" not in code.fence.reads
    return (y.BY_EVENT if by_event else 0) | (y.KEEPS if code.transfer is None else 0)


def _read(store: Store, words: Any, told: Sequence[int], components: list[str]) -> Ways:
    """Return the paths that the kernel has written."""
    groups: list[list[int]] = words[y.PathRows.place : y.PathRows.component_of_group + 1, : told[y.PathQuestion.groups]].tolist()
    edges = words[y.PathRows.group_of : y.PathRows.source + 1, : told[y.PathQuestion.edges]].copy()
    ends: list[list[int]] = words[y.PathRows.end : y.PathRows.last + 1, : told[y.PathQuestion.ends]].tolist()
    places = dict.fromkeys(groups[2])
    places.pop(k.NOWHERE, None)
    rows = _event_rows(store, places)
    events = list(zip(store.payloads.fields(rows[:, k.EventRow.payload :]), rows[:, k.EventRow.re].tolist()))
    numbers = {place: number for number, place in enumerate(places)}
    numbers[k.NOWHERE] = k.NOWHERE
    groups[2] = [numbers[place] for place in groups[2]]
    times: list[int] = words[y.PathRows.le, : told[y.PathQuestion.steps]].tolist()
    form = store.payloads.layout.schema.cls
    return Ways(times, groups, edges, ends[::-1], events, form, components, told[y.PathQuestion.numbers], told[y.PathQuestion.re])


def _event_rows(store: Store, places: Collection[int]) -> Any:
    """Return the rows of events that stand at places of the memory."""
    width = k.EventRow.payload + store.payloads.layout.width
    return store.memory.m[np.add.outer(np.fromiter(places, np.int64, len(places)), np.arange(width))]


_TO_BITS, _FROM_BITS = struct.Struct("<q"), struct.Struct("<d")


def match_totals(store: Store, code: int, sought: SoughtMatch, field: str | None, component: str | None) -> PathTotals | None:
    """Return aggregates over all paths of a match of a key that holds something; see `afa.engine.Engine.totals`."""
    slot = None if field is None else store.payloads.layout.slot(field)
    components, table = known_arcs(store).components, store.path_table
    assert table is not None
    if component is not None and component not in components:
        return None
    kind = y.PATHS if slot is None else y.FLOATS if slot.field.type is float else y.WORDS
    found = find_paths(
        store,
        code,
        sought,
        {
            y.PathQuestion.sum: kind,
            y.PathQuestion.field: 0 if slot is None else slot.value,
            y.PathQuestion.known: slot.offset if slot is not None and slot.width == 2 else k.NOWHERE,
            y.PathQuestion.only: k.NOWHERE if component is None else components.index(component),
            y.PathQuestion.limbs: table.limbs,
        },
    )
    if found is None:
        return None
    words, told, _ = found
    if told[y.PathQuestion.told] != y.FOUND:
        return PathTotals(0, 0, 0, None, None, None) if told[y.PathQuestion.told] == y.NO_MATCH else None
    n = table.limbs = told[y.PathQuestion.limbs]
    limbs: list[int] = words[y.PathRows.limbs, : 3 * n].tolist()
    paths, count, total = (sum(limb << BITS * i for i, limb in enumerate(limbs[at : at + n])) for at in (0, n, 2 * n))
    if slot is None or not count:
        return PathTotals(told[y.PathQuestion.re], paths, count, None, None, None)
    ranks = words[y.PathRows.least, y.BEGUN_ANEW], words[y.PathRows.most, y.BEGUN_ANEW]
    least, most = (_value(int(rank), slot) for rank in ranks)
    return PathTotals(
        told[y.PathQuestion.re], paths, count, total if kind == y.WORDS else _scaled(total, told[y.PathQuestion.scale]), least, most
    )


def _scaled(total: int, scale: int) -> float:
    """Return ``total * 2 ** scale``, correctly rounded; infinite, where it is beyond all floats.

    >>> _scaled(3, -1), _scaled(-1, 5000), _scaled(1 << 2000, -2001)
    (1.5, -inf, 0.5)
    """
    try:
        return total / (1 << -scale) if scale < 0 else float(total << scale)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def _value(rank: int, slot: FieldSlot) -> Any:
    """Return the value of a field that the kernels order by a number."""
    if slot.field.type is float:
        return _FROM_BITS.unpack(_TO_BITS.pack(rank if rank >= 0 else -rank - MAGNITUDE - 1))[0]
    return bool(rank) if slot.field.type is bool else rank
