"""Check restored state as if an enemy had sealed it: counts, orders, lifetimes and references, before an engine relies on them.

Long data is checked as columns; steps that come with their lists (`afa.state.states.Pruned`) are checked one by one.
"""

from __future__ import annotations

import itertools
import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from afa.errors import SnapshotError
from afa.model.arctable import ArcEvent
from afa.model.copies import total
from afa.model.event_order import EventOrder, is_list
from afa.schema import Schema
from afa.state.states import CHANGES, COPIES, COVER, LE, NUMBER, OVER, RE, ROWS, START, STATE, M, Pruned, States, same
from punctuation.progress import Marks, Progress
from punctuation.time import BEGINNING, FOREVER, as_count, as_time

short = reprlib.repr
"""How much messages show of plain data that may be large or deep."""
MOST = (1 << 24) - 1
"""The most partial matches of one step."""


def wanted(what: str, sound: Any, got: Any = "one without") -> None:
    """Raise `SnapshotError` unless a condition holds."""
    if not sound:
        raise SnapshotError(f"expected {what} but got {got if isinstance(got, str) else short(got)}")


def check_marks(marks: Marks, arc_punctuation: bool, conditions: Sequence[tuple[Any, int]], retractions: bool) -> None:
    """Check the numbers of a `Progress`."""
    progress = Progress(arc_punctuation)
    progress.restore(marks)
    wanted("what is final to be what is promised", progress.final == progress.effective, marks)
    wanted("promises of the arc input of an operator with arc_punctuation=True", arc_punctuation or marks.arcs == BEGINNING, marks)
    reached = max(marks.events, marks.arcs, marks.some)
    wanted("a present past all promises", marks.now > reached or reached == BEGINNING or marks.now == FOREVER, marks)
    wanted("retractions=False with promises that have a condition", not retractions or (marks.some == BEGINNING and not conditions))
    wanted("promises with a condition up to the largest", all(BEGINNING < t <= marks.some for _, t in conditions), marks)
    wanted("different conditions", len({condition for condition, _ in conditions}) == len(conditions))


def check_follows(before: Marks, after: Marks) -> None:
    """Check the numbers of a `Progress` in a snapshot against those in the incremental snapshot after it."""
    wanted(
        "promises that do not go back from one snapshot to the next", all(a <= b for a, b in zip(before, after)), [before, after]
    )


def check_arcs(events: Sequence[ArcEvent], pending: Sequence[tuple[ArcEvent, int]], progress: Progress, floor: int) -> None:
    """Check the arcs in force, and the retractions of arcs that wait. ``floor``: those that ended before it were dropped.

    A retraction may wait although its arc is in force: a later change without a lifetime can have given the arc this very lifetime.
    """
    for event in (*events, *(event for event, _ in pending)):
        if not event.le < event.re:
            wanted(f"re > le of {event.arc!r}", False, event[1:])
    for event in events:
        if not event.re > floor:
            wanted(f"an end of {event.arc!r} behind {floor}, which is final", False, event[1:])
    wanted("different retractions of arcs that wait", len(dict(pending)) == len(pending), [event[1:] for event, _ in pending])
    for event, copies in pending:
        wanted(f"a retraction of {event.arc!r} that is not overdue", event.le >= progress.arc_promise, event[1:])
        as_count(copies)


def check_states(
    states: States,
    promised: int,
    marks: Marks,
    schema: Schema | None,
    keyed: bool,
    retractions: bool,
    sequence: str | None,
    gapless: bool = False,
    longest: bool = False,
    scans: bool = False,
) -> None:
    """Check the states of keys that were saved with these marks, for an operator with these options and present promise.

    ``scans``: all is derived from rows, of which some are held that are final.
    """
    heads, rows, changes = states.heads, states.rows, states.changes
    known = states.keys
    wanted("no key", keyed or len(known) == 0 or known == [None], list(known[:7]))
    _check_pruned(states, marks, sequence, retractions)
    bound = np.full(len(states.keys), states.final, np.int64)  # below it a key has its cover only
    for part in states.pruned:
        bound[part.key] = max(part.promised, states.final)
    covered = states.covered
    if scans:
        wanted("no partial matches", not (covered.any() or len(states.pruned) or states.rows.size), "some")
        bound[:] = BEGINNING
    wanted("fewer partial matches in a list", (heads[ROWS] <= MOST).all())
    wanted("a cover before what is final", (heads[COVER, covered] < bound[covered]).all())
    of_row, of_change = states.key_places(ROWS), states.key_places(CHANGES)
    wanted("different states", len(set(states.names)) == len(states.names), states.names)
    wanted("states that have names", ((rows[STATE] >= 0) & (rows[STATE] < len(states.names))).all())
    wanted("partial matches that began by their cover", (rows[START] <= heads[COVER, of_row]).all())
    wanted("partial matches that can go on", (rows[M] > bound[of_row]).all())
    wanted("re > le", (changes[RE] > changes[LE]).all())
    wanted("numbers of copies", ((changes[COPIES] != 0) & (changes[COPIES] != BEGINNING)).all())
    there = changes[COPIES] > 0
    wanted("events that are not final", (changes[LE] >= bound[of_change])[there].all())
    wanted("retractions that are not overdue", (changes[LE, ~there] >= promised).all())
    wanted("no retractions (retractions=False)", retractions or there.all())
    wanted("events before the present", (changes[LE] < marks.now).all() and (heads[COVER, covered] < marks.now).all(), marks)
    wanted("rows in order, each of them once", states.in_order)
    _check_sequence(states, schema, sequence)
    _check_numbers(states, schema, sequence if gapless else None)
    if longest:
        _check_longest(states)


def _check_sequence(states: States, schema: Schema | None, sequence: str | None) -> None:
    """Check that sequence numbers are in the order of their events."""
    if sequence is None:
        return
    if is_list(sequence):
        wanted(f"a number as {sequence}", not EventOrder.of(sequence, schema).has_nan(states.payloads), "nan")
        return
    if schema is None:
        found = [getattr(payload, sequence, None) for payload in states.payloads[0].values]
        wanted(f"a number as {sequence}", all(type(number) in (int, float) and number == number for number in found), found)
        return
    (column,) = [column for column, field in zip(states.payloads, schema.fields) if field.name == sequence]
    wanted(f"a number as {sequence}", (column.values == column.values).all(), "nan")


def _check_numbers(states: States, schema: Schema | None, number: str | None) -> None:
    """Numbers without gaps ascend with time, each once; a cover has one."""
    heads, rows, changes, covered = states.heads, states.rows, states.changes, states.covered
    if number is None or schema is None:
        wanted("no numbers of covers", not (heads[OVER].any() or heads[NUMBER].any()), "some")
        return
    wanted("a cover with the end of its event", (heads[OVER] > heads[COVER])[covered].all())
    wanted("partial matches that end with their cover", (rows[M] <= heads[OVER, states.key_places(ROWS)]).all())
    (column,) = [column for column, field in zip(states.payloads, schema.fields) if field.name == number]
    there = changes[COPIES] > 0
    wanted("each number once", (changes[COPIES, there] == 1).all())
    covers = np.flatnonzero(covered)
    of = np.concatenate([covers, states.key_places(CHANGES)[there]])
    les = np.concatenate([heads[COVER, covers], changes[LE, there]])
    numbers = np.concatenate([heads[NUMBER, covers], column.values[there]])
    order = np.lexsort((numbers, les, of))
    of, numbers = of[order], numbers[order]
    wanted("numbers that ascend with their times", (numbers[1:] > numbers[:-1])[of[1:] == of[:-1]].all())


def _check_longest(states: States) -> None:
    """Of partial matches of one state and register only one is held; steps that are given with their lists are never made."""
    wanted("no steps that are given", not states.pruned, states.pruned)
    arrays = [states.key_places(ROWS), states.rows[STATE], *(array for column in states.registers for array in column.sort_keys)]
    order = np.lexsort(arrays[::-1])
    wanted("one partial match of a state and register", not same([array[order] for array in arrays]).any(), "several")


# -- steps that are given with their lists -------------------------------------------------------------------------------------


def _check_pruned(states: States, marks: Marks, sequence: str | None, retractions: bool) -> None:
    parts = states.pruned
    if not parts:
        return
    wanted("retractions=False with promises for a key", not retractions)
    wanted("no sequence with steps that are given", sequence is None or not any(part.steps for part in parts), sequence)
    first = np.concatenate([[0], np.cumsum(states.heads[CHANGES])])
    for part in parts:
        promised = as_time(part.promised, "promised")
        wanted(f"a promise of at most {marks.some} for a key", promised <= marks.some, promised)
        wanted("a list of steps", isinstance(part.steps, list) and (part.last is None) is not bool(part.steps), part)
        if not part.steps:
            wanted(f"a promise past {states.final}", promised > states.final, promised)
            continue
        wanted("no cover of a key whose steps are given", not states.heads[ROWS, part.key], part)
        after = states.changes[LE, first[part.key] : first[part.key + 1]]
        _check_steps(part, max(promised, states.final), marks, int(after.min()) if len(after) else None)


def _check_steps(part: Pruned, bound: int, marks: Marks, after: int | None) -> None:
    """Check the steps of a key. ``after`` is the LE of the first step behind them."""
    times = [as_time(le, "le") for le, _, _ in part.steps]
    last = as_time(part.last, "last")
    wanted("steps in order", all(a < b for a, b in itertools.pairwise(times)), times)
    wanted("steps before the present", times[-1] < marks.now, times)
    wanted("steps before those that are not given", after is None or times[-1] < after, [times[-1], after])
    wanted("all steps but one up to the last that is thinned out", all(le <= last for le in times[:-1]), [last, times])
    wanted("one step more than those that are thinned out", times[-1] > last or after is None, [last, times])
    wanted("steps that were thinned out by a promise", marks.some > BEGINNING and last < marks.now, [last, marks])
    known = set(times)
    standing: dict[str, int | None] = {}
    for le, rows, events in part.steps:
        standing = {text: until for text, until in standing.items() if until is None or until > le}
        for start, m, _, _, until in rows:
            wanted("a partial match that began by then", as_time(start, "start") <= le, start)
            wanted("a later step as the end of a partial match", until is None or (until in known and until > le), until)
            stands = times[-1] if until is None else times[times.index(until) - 1]  # the last step at which it does
            wanted("a partial match that can go on", as_time(m, "m") > (bound if stands < bound else stands), m)
        wanted("partial matches by start", all(a[0] <= b[0] for a, b in itertools.pairwise(sorted(rows, key=_start))), rows)
        for row in rows:
            text = repr(row[:4])
            wanted("each partial match once", text not in standing, row)
            standing[text] = row[4]
        for re, copies, _ in events:
            wanted("re > le", as_time(re, "re") > le, re)
            as_count(copies)
        wanted("each event once", len({repr([re, payload]) for re, _, payload in events}) == len(events), events)
        wanted("no events before what is final", not events or le >= bound, le)


def _start(row: Sequence[Any]) -> Any:
    return row[0]


def summed(counts: Any) -> int:
    """Return the sum of an array of counts."""
    wanted("counts", (counts >= 0).all(), counts)
    return total(counts)
