"""Snapshots: an operator's state as bytes. Versioned, checked, plain data only; reading one runs no code of the blob.

Format, version 9
-----------------
    a blob of `punctuation.sealed` with the magic b"AFAS": a list
        [ keyed, automaton, options, marks, arcs, pending arcs, counters, follows, states ]
    keyed         bool
    automaton     16 bytes: digest of states, arcs' names and ends, schemas (functions can't be compared)
    options       [window, sequence, arc_punctuation, late policy or None, retractions, [[condition, promise]..], numbers, bits],
                  and the tick, if there is one or a log; then where the operator is in an arc log (`afa.arclog.log_state`);
                  then null; in older ones [the field that names events, [[id, [until..]]..]], see `speculation.ids_input.aged`;
                  then of further options that are on [[name, value]..], by name: ["collapse", "price"], ["having",
                  ["sum(b.price) > 1", the budget]], ["longest", true],
                  ["max_bytes", how many], ["members", "id"], ["partial_matches", null or how many], ["tell", "lineage"],
                  ["lineage", [floor, from where on matches have their lineage, the longest lifetime, after how many changes it is
                  looked again how far back the floor must be]]; in the code `SavedOptions`
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
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from afa.change import Change
from afa.engines import check_engine
from afa.errors import AfaError, SnapshotError
from afa.model.arc import Arc
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.binding import bound_arc
from afa.model.raised import Faults
from afa.operator.call import Core
from afa.operator.old_waits import FIRES_AGAIN, check_waits
from afa.operator.plain_data import plain, reading, unplain
from afa.operator.saved_core import SavedHead, fingerprint, head_of, marks_of, without_states
from afa.operator.saved_options import ANEW, check_said
from afa.rewrite.reduction import Reduction
from afa.state.canonical import newest
from afa.state.packed import pack, unpack
from afa.state.sound import check_follows, check_states, wanted
from afa.state.states import CHANGES, States, records
from punctuation import sealed
from punctuation.sealed import seal

__all__ = ["ANEW", "MAGIC", "VERSION", "belongs", "blob_of", "blob_with", "fingerprint", "head", "load", "plain", "save", "seal"]
__all__ += ["unplain", "unseal", "with_states_of", "without_states"]

MAGIC, VERSION = b"AFAS", 9
OLD = (7, 8)
"""Versions that are read, too."""


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
    return seal(MAGIC, VERSION, plain([*head_of(core).plain(), follows, pack(core.engine.automaton, states)]))


def with_states_of(cores: Sequence[Core], faults: Faults | None) -> Core:
    """Return the first of several cores with the states and counters of all. They share arcs and promises, and no key."""
    first = cores[0]
    late: Any = first.late.policy
    fields = head_of(first)._replace(arcs=None)  # arcs are given
    core, table = without_states(first.automaton, fields, [], {"late": late}, faults, lambda _: first.arcs.table)
    core.arcs.elsewhere = first.arcs.elsewhere
    marks = [each.progress.marks() for each in cores]
    core.progress.now = max(each.now for each in marks)
    if core.kept is not None:  # of one that has seen no event yet, nothing is kept
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
    return head_of(core).plain()


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

    SnapshotError: a blob is no snapshot, is damaged, of a newer version, of another automaton, or does not follow the one before;
    or an arc is missing. AutomatonError: a given arc is not valid for this automaton, or does not compile under
    ``engine="compiled"``; or payloads were not kept, and an arc does not split. AfaError: the argument is no automaton, or one that
    the engine can't serve.
    """
    if not isinstance(automaton, Automaton):
        raise AfaError(f"expected an Automaton but got {automaton!r}")
    given = list(arcs)
    for arc in given:
        automaton.check_arc(arc)
    blobs = list(blobs)
    bodies = [unseal(MAGIC, VERSION, blob) for blob in blobs]
    _check_chain(automaton, blobs, bodies, keyed)
    head = SavedHead.of(bodies[-1][:7])
    head = head._replace(options=head.options.ticking(said.get("tick")))
    options = head.options
    automaton = automaton.bound(options.tick)
    once = {id(arc): bound_arc(arc, options.tick, automaton) for arc in given}
    given = [once[id(arc)] for arc in given]
    rewritten = options.bits is not None and automaton.event_schema is not None
    reduction = Reduction(automaton, options.sequence) if rewritten else None
    held = automaton if reduction is None else reduction.rewritten
    later = given if reduction is None else map(reduction.rewrite, given)
    check_engine(said.get("engine", "auto"), held, [*held.arcs, *later])
    with reading("a snapshot's fields"):
        core, in_force = without_states(automaton, head, given, said, faults, table)
        states = _states(core, held, bodies)
        core.put_table(in_force, options.bits)
        for part in states:
            core.engine.load(part)
        if options.named is not None:
            core.old_ids = options.named, [change for part in states for change in _events_of(part, held)]
        core.call_worked()
        old = [part for part, blob in zip(states, reversed(blobs)) if blob[len(MAGIC)] <= FIRES_AGAIN]
        check_waits(core.engine, core.automaton, core.arcs.table, core.faults is not None, old)
    core.bound(options.budget(said))
    check_said(core, said)
    core.saved = _digest(blobs[-1])
    return core


def _events_of(states: States, automaton: Automaton) -> list[Change]:
    """Return the events of some keys' states."""
    payloads = records(states.payloads, automaton.event_schema, states.changes.shape[1])
    keys = states.keys.take(states.key_places(CHANGES))
    return [Change(*each) for each in zip(payloads, *states.changes.tolist(), keys)]


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
            choice = (
                "" if automaton.choice is None else ", or one that chooses or shows otherwise (PATTERN, AFTER MATCH SKIP, MEASURES)"
            )
            raise SnapshotError(
                f"expected a snapshot of {automaton!r} but got one of an automaton with other states, arcs or schemas{choice}"
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
        marks = marks_of(SavedHead.of(body[:7]))
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
            core.automaton.choice is not None,
        )
    return found


def _digest(blob: bytes) -> bytes:
    """Return what identifies a blob: a digest of checksum, size, head and end. One of all bytes would take a third of the time."""
    return hashlib.blake2b(b"%d" % len(blob) + blob[:4096] + blob[-4096:], digest_size=16).digest()


def belongs(automaton: Automaton, blob: bytes) -> bool:
    """Return whether a blob, sound or not, says that its operator was of an automaton."""
    try:
        return bool(unseal(MAGIC, VERSION, blob)[1] == fingerprint(automaton))
    except (SnapshotError, TypeError, IndexError, KeyError):
        return False
