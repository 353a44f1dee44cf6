"""Snapshots: an operator's state as bytes. Versioned, checked, plain data only; reading one runs no code of the blob.

Format, version 9
-----------------
    a blob of `punctuation.sealed` with the magic b"AFAS": a list
        [ keyed, automaton, options, marks, arcs, pending arcs, counters, follows, states ]
    keyed         bool
    automaton     16 bytes: digest of states, arcs' names and ends, schemas (functions can't be compared)
    options       [window, sequence, arc_punctuation, late policy or None, retractions, [[condition, promise]..], numbers, bits],
                  and the tick, if there is one or a log; then where the operator is in an arc log (`afa.arclog.log_state`);
                  then [the field that names events, [[id, until..]..]] (`afa.operator.named_events`);
                  then of further options that are on [[name, value]..], by name: ["collapse", "price"], ["having",
                  ["sum(b.price) > 1", the budget]], ["longest", true],
                  ["max_bytes", how many], ["members", "id"], ["partial_matches", null or how many], ["tell", "lineage"],
                  ["lineage", [floor, from where on matches have their lineage, the longest lifetime, after how many changes it is
                  looked again how far back the floor must be]]
    numbers       null; or of gapless numbers [field, "break" or "join", repeated policy or null, [gaps, missing, repeated]]
    bits          null: payloads are kept; or of each arc the number of its bit in a triggering set, null: none (`afa.rewrite`)
    marks         [events', arcs', final, now, stale punctuations, the largest promise with a condition]
    arcs          null: the owner of the operator keeps them, and passes them to the restore
    arc           [index in the automaton, [name, n, of] for the n-th of the later arcs of that name, or [n] for the n-th of those
                  that lines of the log have brought; le; re], then a count for pending ones
    counters      [changes, outputs, retractions, late]; as text beyond int64, stale punctuations too
    follows       null; in an incremental snapshot 16 bytes that identify the blob that must be restored before it
    states        see `afa.state.packed`; in an incremental snapshot those of the keys that changed; a key without state is gone
A tuple in a payload, key or place is extension type 1, a msgpack list inside; nothing else is extended.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import msgpack
import numpy as np

from afa.arclog import log_state
from afa.change import Change
from afa.conditions.condition import Condition
from afa.engine.budget import LEAST_BYTES, PARTIAL_MATCHES, Budget
from afa.engines import check_engine
from afa.errors import AfaError, SnapshotError
from afa.model.arc import Arc
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.binding import bound_arc
from afa.model.copies import as_plain, as_total
from afa.model.raised import Faults
from afa.operator.call import Core
from afa.operator.gapless import EventNumbers, Gapless
from afa.operator.members import WHOLE
from afa.operator.old_waits import FIRES_AGAIN, check_waits
from afa.operator.options import Options
from afa.operator.postponed_output import as_postponed, is_postponed
from afa.operator.saved_arcs import arc_at, arc_in, references
from afa.rewrite.reduction import Reduction
from afa.state.canonical import newest
from afa.state.packed import pack, unpack
from afa.state.sound import check_arcs, check_follows, check_marks, check_states, wanted
from afa.state.states import CHANGES, States, records
from punctuation import sealed
from punctuation.durations import NANOSECONDS, ticks_of_duration, unit_of
from punctuation.progress import Marks
from punctuation.sealed import seal
from punctuation.time import FOREVER, as_time

MAGIC, VERSION, TUPLE = b"AFAS", 9, 1
OLD = (7, 8)
"""Versions that are read, too."""
BITS = 7
"""Where the bits stand in the options."""
FURTHER: dict[str, Callable[[Any], bool]] = {
    "having": is_postponed,
    "collapse": lambda value: isinstance(value, str) and value != "",
    "lineage": lambda value: isinstance(value, list) and len(value) == 4,
    "longest": lambda value: value is True,
    "max_bytes": lambda value: type(value) is int and LEAST_BYTES <= value <= FOREVER,
    "members": lambda value: isinstance(value, str),
    "partial_matches": lambda value: value is None or (type(value) is int and 0 < value <= FOREVER),
    "tell": lambda value: value == "lineage",
}
"""What each further option may say."""
ANEW = ("key", "engine", "late", "gapless", "tick", "threads", "partial_matches", "max_bytes", "speculation")
"""The options of a restored operator that may differ from those that it was saved with, or that are looked at elsewhere."""
TEXTS = ("members", "collapse")
BOUNDS = {"partial_matches": PARTIAL_MATCHES, "max_bytes": None}
"""Those that make the `Budget`, and what they say where a snapshot says nothing."""
MARKS = 6
"""How many numbers of a `Progress` stand among the marks."""
DEPTH = 32
"""How deep tuples may nest."""


def save(core: Core, incremental: bool = False) -> bytes:
    """Return the state of an operator as a blob. O(state); an incremental one O(state of the keys that changed)."""
    blob = blob_of(core, core.saved if incremental else None)
    core.journal.set(core, "saved", _digest(blob))
    core.engine.saved()
    return blob


def blob_of(core: Core, follows: bytes | None = None) -> bytes:
    """Return a blob as `save` does, without noting that a snapshot was taken. ``follows`` identifies the last snapshot."""
    return blob_with(core, core.engine.save(changed=follows is not None), follows)


def blob_with(core: Core, states: States, follows: bytes | None = None) -> bytes:
    """Return a snapshot of an operator that has these states."""
    return seal(MAGIC, VERSION, plain([*head(core), follows, pack(core.engine.automaton, states)]))


def with_states_of(cores: Sequence[Core], faults: Faults | None) -> Core:
    """Return the first of several cores with the states and counters of all. They share arcs and promises, and no key."""
    first = cores[0]
    fields = head(first)
    fields[4] = None  # arcs are given
    late: Any = first.late.policy
    core, table = without_states(first.automaton, fields, [], {"late": late}, faults, lambda _: first.arcs.table)
    core.arcs.elsewhere = first.arcs.elsewhere
    marks = [each.progress.marks() for each in cores]
    core.progress.now = max(each.now for each in marks)
    if core.lineage:  # of one that has seen no event yet, nothing is kept
        core.progress.floor, core.progress.span = min(each.floor for each in marks), max(each.span for each in marks)
        core.progress.answers = max(each.answers for each in marks)
    core.put_table(table)
    for each in cores:
        core.engine.load(each.engine.save())
    counted = [(each.changes, each.outputs, each.withdrawn, each.late.count) for each in cores]
    core.changes, core.outputs, core.withdrawn, core.late.count = map(sum, zip(*counted))
    core.call_worked()
    return core


def head(core: Core) -> list[Any]:
    """Return all but the states of keys: the first seven fields of the format."""
    late = core.late.policy if isinstance(core.late.policy, str) else None
    refs = {} if core.arcs.elsewhere else references(core.automaton, core.arcs)
    log = None if core.arcs.log is None else log_state.saved(core.arcs.log, refs, core.automaton)
    return [
        core.keyed,
        fingerprint(core.automaton),
        [
            core.window,
            core.sequence,
            core.progress.arc_punctuation,
            late,
            core.retractions,
            [[condition.text, t] for condition, t in core.conditions.all],
            None if core.gapless is None else _numbers(core.gapless),
            core.engine.bits,
            *_tail([core.tick, log, None if core.named is None else core.named.saved(), core.further or None]),
        ],
        list(map(as_plain, core.progress.marks()[:MARKS])),
        None if core.arcs.elsewhere else [[refs[id(event.arc)], event.le, event.re] for event in core.arcs.table.events],
        [[refs[id(event.arc)], event.le, event.re, n] for event, n in sorted(core.arcs.pending.items(), key=repr)],
        list(map(as_plain, [core.changes, core.outputs, core.withdrawn, core.late.count])),
    ]


def _tail(options: list[Any]) -> list[Any]:
    """Return options without those at the end that are None."""
    while options and options[-1] is None:
        options.pop()
    return options


def plain(body: list[Any]) -> bytes:
    """Return plain data as msgpack; `SnapshotError` if it is none."""
    try:
        packed: bytes = _packed(body, DEPTH)
    except (TypeError, ValueError, OverflowError) as error:
        raise SnapshotError(f"expected plain data (int, float, bool, str, None, tuples of them) but got {error}") from error
    return packed


def unplain(packed: bytes) -> Any:
    """Return the data that `plain` packed. Raises whatever msgpack raises."""
    return _unpacked(packed, DEPTH)


def unseal(magic: bytes, version: int, blob: bytes) -> Any:
    """Return the plain data in a blob. Raises `SnapshotError` if the blob has another magic or version, or is damaged."""
    return sealed.unseal(magic, version, blob, unplain, error=SnapshotError, older=OLD if magic == MAGIC else ())


def load(
    automaton: Automaton,
    blobs: Iterable[bytes],
    arcs: Iterable[Arc],
    said: Mapping[str, Any],
    *,
    keyed: bool,
    faults: Faults | None = None,
    table: Callable[[int], ArcTable] | None = None,
) -> Core:
    """Make an operator's core from a snapshot and the incremental ones that follow it.

    ``said``: options of `Operator`, by name. Those of `ANEW` count from now on, in place of what was saved; ``tick`` also where a
    snapshot has none; all others must be as they were saved. ``table`` returns the arcs in force for what is final, if these are
    kept elsewhere.

    Raises
    ------
    SnapshotError
        A blob is no snapshot, is damaged, of a newer version, of another automaton, or does not follow the one before; or an arc is
        missing.
    AutomatonError
        A given arc is not valid for this automaton, or does not compile under ``engine="compiled"``; or payloads were not kept, and
        an arc does not split.
    AfaError
        The argument is no automaton, or one that the engine can't serve.
    """
    if not isinstance(automaton, Automaton):
        raise AfaError(f"expected an Automaton but got {automaton!r}")
    given = list(arcs)
    for arc in given:
        automaton.check_arc(arc)
    blobs = list(blobs)
    bodies = [unseal(MAGIC, VERSION, blob) for blob in blobs]
    tick, engine, threads = _tick_of(bodies, said.get("tick")), said.get("engine", "auto"), said.get("threads", 1)
    automaton = automaton.bound(tick)
    once = {id(arc): bound_arc(arc, tick, automaton) for arc in given}
    given = [once[id(arc)] for arc in given]
    reduction = _reduction(automaton, bodies)
    held = automaton if reduction is None else reduction.rewritten
    check_engine(engine, held, [*held.arcs, *(given if reduction is None else map(reduction.rewrite, given))])
    try:
        _check_chain(automaton, blobs, bodies, keyed)
        core, in_force = without_states(automaton, bodies[-1][:7], given, said, faults, table)
        states = _states(core, held, bodies)
        core.put_table(in_force, bodies[-1][2][BITS])
        for part in states:
            core.engine.load(part)
            if core.named is not None:
                core.named.load(_events_of(part, held), core.progress.events)
        core.call_worked()
        old = [part for part, blob in zip(states, reversed(blobs)) if blob[len(MAGIC)] <= FIRES_AGAIN]
        check_waits(core.engine, core.automaton, core.arcs.table, core.faults is not None, old)
        saved = BOUNDS | _further(bodies[-1][2][BITS + 4] if len(bodies[-1][2]) > BITS + 4 else None)
    except (SnapshotError, MemoryError):
        raise
    except Exception as error:  # a user's function may raise anything on a payload that none has sent
        raise SnapshotError(f"expected a snapshot's fields but got something else: {error}") from error
    if saved["max_bytes"] is not None:
        saved["max_bytes"] = max(saved["max_bytes"], LEAST_BYTES * threads)  # there may be more threads now
    most, most_bytes = (said.get(name, saved[name]) for name in BOUNDS)
    core.bound(Budget(most, most_bytes, threads))
    _check_said(core, said)
    core.saved = _digest(blobs[-1])
    return core


def _events_of(states: States, automaton: Automaton) -> list[Change]:
    """Return the events of some keys' states."""
    les, res, copies = states.changes.tolist()
    payloads = records(states.payloads, automaton.event_schema, len(les))
    keys = states.keys.take(states.key_places(CHANGES))
    return [Change(*each) for each in zip(payloads, les, res, copies, keys)]


def _reduction(automaton: Automaton, bodies: list[Any]) -> Reduction | None:
    """Return how the automaton was rewritten. None: payloads were kept, or the data is malformed, which its reader reports."""
    try:
        _, sequence, *_ = bodies[-1][2]
        bits = bodies[-1][2][BITS]
    except (TypeError, ValueError, LookupError):
        return None
    return None if bits is None or automaton.event_schema is None else Reduction(automaton, sequence)


def _tick_of(bodies: list[Any], asked: str | None) -> str | None:
    """Return the tick of an operator: what was saved; what is asked for, if none was. Malformed data is its reader's to report."""
    asked = None if asked is None else unit_of(asked, SnapshotError, "tick=")
    options = bodies[-1][2] if bodies and isinstance(bodies[-1], list) and len(bodies[-1]) > 2 else None
    if not isinstance(options, list) or len(options) <= BITS:
        return asked
    saved = options[BITS + 1] if len(options) > BITS + 1 else None
    if saved is None:
        options[BITS + 1 : BITS + 2] = [asked]
        return asked
    if not isinstance(saved, str) or saved not in NANOSECONDS:
        return None
    if asked not in (None, saved):
        raise SnapshotError(f"expected tick={saved!r}, with which the operator was saved, but got tick={asked!r}")
    return saved


def _check_chain(automaton: Automaton, blobs: list[bytes], bodies: list[Any], keyed: bool) -> None:
    """Check that each blob follows the one before, and belongs to such an operator."""
    before = None
    for n, (blob, body) in enumerate(zip(blobs, bodies)):
        wanted("the nine fields of a snapshot", isinstance(body, list) and len(body) == 9, body)
        was_keyed, digest, *_, follows, _ = body
        if was_keyed is not keyed:
            made, use = ("Keyed", "Keyed.restore") if was_keyed else ("Operator", "Operator.restore")
            raise SnapshotError(f"expected a snapshot of another kind but got one of {made}: use {use}")
        if digest != fingerprint(automaton):
            raise SnapshotError(
                f"expected a snapshot of {automaton!r} but got one of an automaton with other states, arcs or schemas"
            )
        if follows != before:
            start = "one that is not incremental" if before is None else "the incremental one that was taken next"
            raise SnapshotError(f"expected as snapshot number {n + 1} of {len(blobs)} {start} but got another")
        before = _digest(blob)
    if before is None:
        raise SnapshotError("expected a snapshot but got none")


def _states(core: Core, held: Automaton, bodies: list[Any]) -> list[States]:
    """Return each key's states from the last blob that has them. ``held`` is the automaton that the state belongs to."""
    parts, all_marks = [], []
    after = core.progress.marks()
    for body in reversed(bodies):
        marks = _marks(body)
        check_follows(marks, after)
        parts.append(unpack(held, body[8], marks.floor))
        all_marks.append(marks)
        after = marks
    found, gapless = [], core.gapless is not None
    last = [np.True_] if len(parts) == 1 else newest([part.keys for part in parts])
    for part, marks, there in zip(parts, all_marks, last):
        found.append(part.only(part.held & there))
        check_states(
            found[-1],
            core.progress.events,
            marks,
            held.event_schema,
            core.keyed,
            core.retractions,
            core.sequence,
            gapless,
            core.longest,
        )
    return found


def _marks(body: Sequence[Any]) -> Marks:
    events, arcs, final, now, stale, some = body[3]
    events, arcs, final, now, some = (as_time(t, "mark") for t in (events, arcs, final, now, some))
    marks = Marks(events, arcs, final, now, as_total(stale), some, final, final, 0)
    kept = _further(body[2][BITS + 4] if len(body[2]) > BITS + 4 else None).get("lineage")
    if kept is None:
        return marks
    floor, answers, span, _ = kept
    marks = marks._replace(floor=as_time(floor, "floor"), answers=as_time(answers, "answers"), span=as_total(span))
    wanted("state kept from one lifetime before what is final", marks.floor <= marks.answers <= final and marks.span >= 0, kept)
    return marks


def _digest(blob: bytes) -> bytes:
    """Return what identifies a blob: a digest of checksum, size, head and end. One of all bytes would take a third of the time."""
    return hashlib.blake2b(b"%d" % len(blob) + blob[:4096] + blob[-4096:], digest_size=16).digest()


def belongs(automaton: Automaton, blob: bytes) -> bool:
    """Return whether a blob, sound or not, says that its operator was of an automaton."""
    try:
        return bool(unseal(MAGIC, VERSION, blob)[1] == fingerprint(automaton))
    except (SnapshotError, TypeError, IndexError, KeyError):
        return False


def fingerprint(automaton: Automaton) -> bytes:
    """Return 16 bytes that the saved and the restored automaton must have in common."""
    event = automaton.event_schema.describe() if automaton.event_schema else None
    arcs = [(arc.kind, arc.src, arc.dst, arc.name, arc.final, arc.transfer is None) for arc in automaton.arcs]
    shape: tuple[object, ...] = (automaton.start, sorted(automaton.final), automaton.register_schema.describe(), event, arcs)
    if automaton.shown is not None:
        shape = (*shape, automaton.match_schema.describe())
    if not automaton.ties:
        shape = (*shape, "no ties")
    if automaton.having is not None:
        shape = (*shape, "having", getattr(automaton.having, "text", None))  # a function can't be compared
    return hashlib.blake2b(repr(shape).encode(), digest_size=16).digest()


def without_states(
    automaton: Automaton,
    head: Sequence[Any],
    arcs: list[Arc],
    said: Mapping[str, Any],
    faults: Faults | None = None,
    table: Callable[[int], ArcTable] | None = None,
) -> tuple[Core, ArcTable]:
    """Make a core from a `head`, and return it with its arcs in force. ``table`` returns arcs kept elsewhere, for what is final."""
    keyed, _, options, _, in_force, pending, counters = head
    window, sequence, arc_punctuation, policy, retractions, conditions, numbers, bits, *more = options
    tick, log, named, further = (*more, None, None, None, None)[:4]
    if policy is None and said.get("late") is None:
        raise SnapshotError("expected late=<callable>: the operator was saved with a callback, which no snapshot holds")
    wanted("yes or no as options", all(type(option) is bool for option in (arc_punctuation, retractions)), options)
    counters_of, numbered = _gapless(numbers, said.get("gapless"))
    given = Options(
        window=None if window is None else as_time(window, "window"),
        engine=said.get("engine", "auto"),
        order_by=sequence,
        late=policy if said.get("late") is None else said["late"],
        arc_punctuation=arc_punctuation,
        retractions=retractions,
        keep_payloads=bits is None,
        gapless=numbered,
        tick=_tick(tick),
        id=None if named is None else named[0],
        threads=said.get("threads", 1),
        **_asked(further),
    )
    core = Core(automaton, given, keyed=keyed, faults=faults)
    if core.gapless is not None:
        core.gapless.put_counters(counters_of)
    core.binder.know(arcs)
    if core.named is not None:
        core.named.waiting = _waiting(named[1])
    core.conditions.all = tuple((Condition(text, automaton.event_schema), as_time(t, "t")) for text, t in conditions)
    marks = _marks(head)
    check_marks(marks, arc_punctuation, core.conditions.all, retractions)
    core.progress.restore(marks)
    if core.lineage:
        core.look_at = as_total(_further(further)["lineage"][-1])
    wanted("arcs in the snapshot, or elsewhere", (in_force is None) is (table is not None), in_force)
    if log is not None:
        core.arcs.log = log_state.loaded(log, core.tick, core.binder.fitting, lambda ref: arc_at(automaton, arcs, ref))
    lines = [] if core.arcs.log is None else core.arcs.log.arcs
    events = ArcTable(arc_in(automaton, arcs, lines, *item) for item in in_force) if table is None else table(marks.floor)
    waiting = [(arc_in(automaton, arcs, lines, ref, le, re), n) for ref, le, re, n in pending]
    check_arcs(events.events, waiting, core.progress)
    if core.arcs.log is not None:
        log_state.check_table(core.arcs.log, events, marks.floor)
    core.arcs.pending, core.arcs.elsewhere = dict(waiting), in_force is None
    core.changes, core.outputs, core.withdrawn, core.late.count = map(as_total, counters)
    return core, events


def _further(further: Any) -> dict[str, Any]:
    """Return what further options say."""
    if further is None:
        return {}
    said = dict(further)
    wanted("further options, once each, by name", further and sorted(said) == [name for name, _ in further], further)
    wanted("further options that are known", all(name in FURTHER and FURTHER[name](said[name]) for name in said), further)
    return said


def _asked(further: Any) -> dict[str, Any]:
    """Return further options as a core takes them; what else they hold stands in `_marks`."""
    found = _further(further)
    return {name: True if name == "lineage" else value for name, value in found.items() if name not in BOUNDS}


def _waiting(waiting: Any) -> dict[Hashable, tuple[int, ...]]:
    """Return the retractions that wait for an event of their id."""
    found = {name: tuple(as_time(until, "until") for until in times) for name, times in waiting}
    wanted("retractions that wait for an id", len(found) == len(waiting) and all(found.values()), waiting)
    return found


def _tick(tick: Any) -> str | None:
    wanted("a unit of time as the tick", tick is None or tick in NANOSECONDS, tick)
    return tick  # type: ignore[no-any-return]


def _numbers(gapless: EventNumbers) -> list[Any]:
    repeated = gapless.repeated if isinstance(gapless.repeated, str) else None
    return [gapless.field, gapless.gaps, repeated, list(map(as_plain, gapless.counters))]


def _gapless(numbers: Any, said: Gapless | Mapping[str, Any] | str | None) -> tuple[Any, Gapless | None]:
    """Return what a snapshot says of events' numbers: the counters, and how they are numbered.

    ``said``: how it is said to be from now on; or only which policies are others.
    """
    if numbers is None:
        if said:
            raise SnapshotError(f"expected no gapless=, without which the operator was saved, but got {said!r}")
        return (0, 0, 0), None
    field, gaps, saved, counters = numbers
    policies = {"repeated": said.repeated, "on_gap": said.on_gap} if isinstance(said, Gapless) else {}
    policies = dict(said) if isinstance(said, Mapping) else policies
    if saved is None and "repeated" not in policies:
        raise SnapshotError("expected repeated=<callable>: the operator was saved with a callback, which no snapshot holds")
    named = said.field if isinstance(said, Gapless) else said
    if isinstance(named, str) and (named, gaps) != (field, said.gaps if isinstance(said, Gapless) else gaps):
        raise SnapshotError(
            f"expected Gapless({field!r}, gaps={gaps!r}), with which the operator was saved, but got gapless={said!r}"
        )
    gap_count, missing, repeats = map(as_total, counters)
    return (gap_count, missing, repeats), Gapless(field, gaps=gaps, **{"repeated": saved, **policies})


def _check_said(core: Core, said: Mapping[str, Any]) -> None:
    """Refuse an option that says otherwise than what was saved."""
    for name, value in said.items():
        if name in ANEW or (name == "lineage" and not value and core.told is not None):  # which implies it
            continue
        saved = core.lineage if name == "lineage" else getattr(core.options, name)
        if name in TEXTS and type(value) is bool:
            value = WHOLE if value else None
        if name == "window" and value is not None:
            value = ticks_of_duration(value, core.tick, "window")
        if name == "having" and saved is not None:
            value, saved = as_postponed(value), as_postponed(saved)
        if value != saved:
            raise SnapshotError(f"expected {name}={saved!r}, with which the operator was saved, but got {name}={value!r}")


def _packed(data: Any, depth: int) -> bytes:
    """Return plain data with tuples as msgpack; tuples may nest ``depth`` levels."""

    def extended(value: Any) -> Any:
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            if not depth:
                raise ValueError(f"tuples more than {DEPTH} deep")
            return msgpack.ExtType(TUPLE, _packed(list(value), depth - 1))
        hint = ": give the Automaton event=" if isinstance(value, tuple) else ""
        raise SnapshotError(f"expected plain data (int, float, bool, str, None, tuples of them) but got {value!r}{hint}")

    found: bytes = msgpack.packb(data, default=extended, strict_types=True)
    return found


def _unpacked(packed: bytes, depth: int) -> Any:
    """Return what `_packed` packed. Each level takes much of the process's stack, so that hundreds of levels would crash it."""

    def tuple_of(code: int, data: bytes) -> tuple[Any, ...]:
        if code != TUPLE or not depth:
            raise ValueError(f"extension type {code}" if depth else f"tuples more than {DEPTH} deep")
        items = _unpacked(data, depth - 1)
        if not isinstance(items, list):
            raise ValueError("a tuple that holds no list")
        return tuple(items)

    return msgpack.unpackb(packed, ext_hook=tuple_of, strict_map_key=True)
