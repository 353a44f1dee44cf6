"""An operator without the states of its keys: the first seven fields of a snapshot, and a core made of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from afa.conditions.condition import Condition
from afa.errors import SnapshotError
from afa.model.arc import Arc
from afa.model.arctable import ArcEvent, ArcTable
from afa.model.automaton import Automaton
from afa.model.copies import as_plain, as_total
from afa.model.raised import Faults
from afa.operator.arc_input import ArcInput
from afa.operator.call import Core
from afa.operator.saved_options import SavedOptions, further_of, saved_numbers
from afa.state.sound import check_arcs, check_marks, wanted
from punctuation.durations import NANOSECONDS
from punctuation.progress import Marks
from punctuation.time import BEGINNING, as_time

MARKS = 6
"""How many numbers of a `Progress` stand among the marks."""


class SavedHead(NamedTuple):
    """All of a snapshot but the states of keys, and what it follows; of it only the tick is checked yet."""

    keyed: Any
    automaton: Any
    options: SavedOptions
    marks: Any
    arcs: Any
    pending: Any
    counters: Any

    @classmethod
    def of(cls, fields: Sequence[Any]) -> SavedHead:
        try:
            keyed, automaton, options, *rest = fields
            found = cls(keyed, automaton, SavedOptions(*options), *rest)
        except (TypeError, ValueError) as error:
            raise SnapshotError(f"expected a snapshot's fields but got something else: {error}") from error
        tick = found.options.tick
        wanted("a unit of time as the tick", tick is None or (isinstance(tick, str) and tick in NANOSECONDS), tick)
        return found

    def plain(self) -> list[Any]:
        return [*self._replace(options=self.options.plain())]  # type: ignore[arg-type]


def head_of(core: Core) -> SavedHead:
    """Return all of an operator but the states of its keys."""
    refs = {} if core.arcs.elsewhere else references(core.automaton, core.arcs)
    options = SavedOptions(
        window=core.window,
        sequence=core.sequence,
        arc_punctuation=core.progress.arc_punctuation,
        late=core.late.policy if isinstance(core.late.policy, str) else None,
        retractions=core.retractions,
        conditions=[[condition.text, t] for condition, t in core.conditions.all],
        numbers=None if core.gapless is None else saved_numbers(core.gapless),
        bits=core.engine.bits,
        tick=core.tick,
        log=None if core.arcs.log is None else core.arcs.log.saved(refs, core.automaton),
        further=further_of(core),
    )
    return SavedHead(
        keyed=core.keyed,
        automaton=fingerprint(core.automaton),
        options=options,
        marks=list(map(as_plain, core.progress.marks()[:MARKS])),
        arcs=None if core.arcs.elsewhere else [[refs[id(event.arc)], event.le, event.re] for event in core.arcs.table.events],
        pending=[[refs[id(event.arc)], event.le, event.re, n] for event, n in sorted(core.arcs.pending.items(), key=repr)],
        counters=list(map(as_plain, [core.changes, core.outputs, core.withdrawn, core.late.count])),
    )


def marks_of(head: SavedHead) -> Marks:
    """Return the promises of an operator, and its present."""
    events, arcs, final, now, stale, some = head.marks
    events, arcs, final, now, some = (as_time(t, "mark") for t in (events, arcs, final, now, some))
    marks = Marks(events, arcs, final, now, as_total(stale), some, final, final, 0)
    kept = head.options.more.get("lineage")
    if kept is None:
        return marks
    floor, answers, span, _ = kept
    marks = marks._replace(floor=as_time(floor, "floor"), answers=as_time(answers, "answers"), span=as_total(span))
    wanted("state kept from one lifetime before what is final", marks.floor <= marks.answers <= final and marks.span >= 0, kept)
    return marks


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
    if automaton.choice is not None:
        shape = (*shape, "choice", automaton.choice.said)
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
    saved = SavedHead.of(head)
    options = saved.options
    core = Core(automaton, options.options(said), keyed=saved.keyed, faults=faults)
    if core.gapless is not None:
        core.gapless.put_counters(options.counters)
    core.binder.know(arcs)
    core.conditions.all = tuple((Condition(text, automaton.event_schema), as_time(t, "t")) for text, t in options.conditions)
    marks = marks_of(saved)
    check_marks(marks, options.arc_punctuation, core.conditions.all, options.retractions)
    core.progress.restore(marks)
    if core.kept is not None:
        core.kept.look_at = as_total(options.more["lineage"][-1])
    wanted("arcs in the snapshot, or elsewhere", (saved.arcs is None) is (table is not None), saved.arcs)
    if options.log is not None:
        core.arcs.restore_log(core, options.log, lambda ref: arc_at(automaton, arcs, ref))
    lines = [] if core.arcs.log is None else core.arcs.log.arcs
    events = (
        ArcTable(arc_in(automaton, arcs, lines, *item) for item in saved.arcs) if table is None else table(_floor(automaton, marks))
    )
    waiting = [(arc_in(automaton, arcs, lines, ref, le, re), n) for ref, le, re, n in saved.pending]
    check_arcs(events.events, waiting, core.progress, _floor(automaton, marks))
    if core.arcs.log is not None:
        core.arcs.log.check_table(events, _floor(automaton, marks))
    core.arcs.pending, core.arcs.elsewhere = dict(waiting), saved.arcs is None
    core.changes, core.outputs, core.withdrawn, core.late.count = map(as_total, saved.counters)
    return core, events


def _floor(automaton: Automaton, marks: Marks) -> int:
    """Return up to where arcs may have been dropped; of a scan that depends on the rows that it holds."""
    return marks.floor if automaton.choice is None else BEGINNING


# -- arcs: those of the automaton by their places, others by their names, or by the line of a log --------------------------------


def references(automaton: Automaton, arcs: ArcInput) -> dict[int, Any]:
    """Return how each arc is written, by the arc's identity, as arcs of one name may do different things.

    A waiting retraction may refer to any equal arc.
    """
    refs: dict[int, Any] = {id(arc): i for i, arc in enumerate(automaton.arcs)}
    refs |= {id(arc): [i] for i, arc in enumerate(arcs.log.arcs if arcs.log is not None else ())}
    in_force = [event.arc for event in arcs.table.events]
    known = {arc: arc for arc in [*(event.arc for event in arcs.pending), *in_force, *automaton.arcs]}
    waiting = {id(event.arc): known[event.arc] for event in arcs.pending}
    later: dict[str, list[Arc]] = {}
    for arc in {id(arc): arc for arc in [*in_force, *waiting.values()] if id(arc) not in refs}.values():
        if arc.name is None:
            raise SnapshotError(f"expected a name but got {arc!r}, pushed after the automaton was built: give it name=")
        later.setdefault(arc.name, []).append(arc)
    refs.update({id(arc): [name, n, len(found)] for name, found in later.items() for n, arc in enumerate(found)})
    return {**refs, **{waiter: refs[id(arc)] for waiter, arc in waiting.items()}}


def arc_in(automaton: Automaton, arcs: list[Arc], lines: Sequence[Arc], ref: Any, le: Any, re: Any) -> ArcEvent:
    """Return an arc in force; ``arcs``: those that were given, ``lines``: those of a log."""
    if type(ref) is list and len(ref) == 1 and type(ref[0]) is int and ref[0] >= 0:
        return ArcEvent(lines[ref[0]], as_time(le, "le"), as_time(re, "re"))
    return ArcEvent(arc_at(automaton, arcs, ref), as_time(le, "le"), as_time(re, "re"))


def arc_at(automaton: Automaton, arcs: list[Arc], ref: Any) -> Arc:
    """Return an arc that no log has brought."""
    if type(ref) is int and ref >= 0:
        return automaton.arcs[ref]
    name, n, of = ref
    found: list[Arc] = list({id(arc): arc for arc in arcs if arc.name == name}.values())
    if len(found) != of:
        raise SnapshotError(
            f"expected arcs=[...] with {of} named {name!r}, pushed before the snapshot and still in force, "
            f"in the order in which they were pushed, but got {arcs!r}"
        )
    arc: Arc = found[n]
    return arc
