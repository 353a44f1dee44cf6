"""Where an operator is in an arc log: a value, part of the operator's state; each poll that finds something makes another one.

The log has the names that its lines name. What of such an arc was in force when the first of these lines came is where the log
begins; from then on only lines change it, until nothing of the name is left that a line could.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from afa.arclog.answers import LineAnswer
from afa.arclog.lines import NOW, digest, read_lines
from afa.arclog.log_folder import FolderReading, Mark, Raw
from afa.arclog.outcome import ONE_ID, LogStep, event_of, not_in_force, step_of
from afa.arclog.versions import INSERT, LineVersion, LogLine, Versions
from afa.engines import check_engine
from afa.errors import AfaError, AutomatonError
from afa.model.arc import Arc
from afa.model.arctable import ArcEvent, ArcTable
from afa.model.automaton import Automaton
from afa.model.instant_texts import in_words
from afa.operator.arc_input import ArcInput
from afa.rewrite.reduction import Reduction
from afa.state.sound import wanted
from punctuation.time import BEGINNING, FOREVER, as_time


class KeptLine(NamedTuple):
    text: str
    now: int  # the present when it was read
    file: str
    number: int


class LineNote(NamedTuple):
    """What a poll tells of a line.

    Parameters
    ----------
    kind : "fault", "late" or "note"
        A line that is none, or ends nothing; one behind the promise, not carried out; an arc in force that leads nowhere yet.
    reason : str
    file : str
        "" where it is about no single line.
    line : int
        Its number in the file, from 1.
    at : int, optional
        The instant of the line, in ticks, if it has one.
    """

    kind: str
    reason: str
    file: str = ""
    line: int = 0
    at: int | None = None

    def __str__(self) -> str:
        place = f" ({self.file}, line {self.line})" if self.line else f" ({self.file})" if self.file else ""
        return f"{self.reason}{place}"


class LogState(NamedTuple):
    """See the head of this file."""

    promised: int = BEGINNING
    begun: tuple[LineVersion, ...] = ()  # what the promise has left
    lines: tuple[LogLine, ...] = ()  # that are not final
    over: tuple[LogLine, ...] = ()  # the lines of other arcs that are still in the operator's table
    files: Mapping[str, Mark] = {}
    waits: int = FOREVER  # the earliest instant of a retraction that has ended nothing yet

    @property
    def names(self) -> set[str]:
        return {version.line.name for version in self.begun}.union(line.name for line in self.lines)

    @property
    def insertions(self) -> list[LogLine]:
        """The lines that have brought arcs, those that arcs of the operator stand for among them."""
        return [*(v.line for v in self.begun), *(line for line in self.lines if line.op == INSERT), *self.over]

    @property
    def arcs(self) -> list[Arc]:
        return [line.arc for line in self.insertions if line.source is not None]

    def versions(self) -> Versions:
        """Return the same, to be changed."""
        versions = Versions(self.begun, self.promised)
        versions.take(self.lines)
        return versions

    def saved(self, refs: Mapping[int, Any], automaton: Automaton) -> list[Any]:
        """Return it as plain data; ``refs``: how the operator's own arcs are written, those that have ended as JSON."""

        def source(line: LogLine) -> list[Any]:
            if line.source is not None:
                return list(line.source)
            ref = refs.get(id(line.arc))
            if ref is None and line.arc is not None:
                ref = _json_of(line.arc, automaton)
            return [line.identity, line.name, line.at, line.sequence, line.until, ref]

        begun = [[source(version.line), version.re] for version in self.begun]
        files = [[name, mark.size, mark.digest, list(mark.nows)] for name, mark in sorted(self.files.items())]
        lines = list({line.source or line.identity: source(line) for line in self.lines}.values())
        return [self.promised, begun, lines, [source(line) for line in self.over], files]

    def check_table(self, table: ArcTable, final: int) -> None:
        """Refuse (SnapshotError) a state in which an arc is in force that the operator does not have."""
        there = {(id(event.arc), event.le, event.re) for event in table.events}
        for version in self.versions().all():
            event = event_of(version)
            wanted(
                "an arc in force that the operator has",
                event.re <= final or (id(event.arc), event.le, event.re) in there,
                event[1:],
            )


def promised_to(core: Any) -> int:
    """Return the promise behind which a line is late. Without payloads, all behind the present is."""
    promise: int = core.progress.arc_promise
    return promise if core.engine.bits is None else max(promise, core.progress.now)


def fitted(core: Any, arc: Arc) -> Arc:
    """Return an arc of a line with its spans as ticks; refuse one that could not be put in force."""
    arc = core.binder.fitting(arc)
    reduction = None if core.engine.bits is None else Reduction(core.automaton, core.sequence)
    held = core.automaton if reduction is None else reduction.rewritten
    check_engine(core.options.engine, held, [arc if reduction is None else reduction.rewrite(arc)])
    return arc


class Followed(NamedTuple):
    state: LogState
    table: ArcTable
    gone: list[ArcEvent]
    come: list[ArcEvent]
    told: list[LineNote]
    answers: list[tuple[Raw, LineAnswer]]  # what became of each line


def followed(state: LogState, reading: FolderReading, core: Any) -> Followed:
    """Take what a folder has brought to an operator."""
    table, final = core.arcs.table, core.reads_from
    told: list[LineNote] = [LineNote("fault", reason, name) for name, reason in reading.faults]
    marks, answers = dict(reading.marks), list[tuple[Raw, LineAnswer]]()
    lines = _read(reading.lines, marks, core, told, answers)
    versions = state.versions()
    idle = versions.promise(max(promised_to(core), state.promised))
    versions = _with_arcs_in_force(versions, {line.name for line in lines}, table)
    beside = [event for event in table.events if event.arc.name not in versions.names]
    step = step_of(versions, idle, lines, core.automaton, beside)
    if any(event.arc is None for event in step.come):
        names = sorted({version.line.name for version in versions.all() if version.line.arc is None})
        raise AutomatonError(
            f"expected lines about arcs that the operator has but got one that brings {names[0]!r} back, which had ended before "
            f"the snapshot and can't be written as text; insert it by a line of its own"
        )
    table = _changed(table, step, final)
    answers += [(_raw(line), LineAnswer(line.at)) for line in lines]
    for kind, reason, line in _refused(step, core.tick):
        told.append(LineNote(kind, reason, line.source.file, line.source.number, line.at))
        answers.append((_raw(line), LineAnswer(None, reason)))
    told = list(dict.fromkeys([*told, *(LineNote("note", text) for text in step.notes)]))  # of a swap both lines tell the same
    waits = versions.waits
    begun, left = tuple(versions.begun()), tuple(versions.lines())
    kept, there = {id(line.arc) for line in (*(v.line for v in begun), *left)}, {id(event.arc) for event in table.events}
    over = (line for line in state.insertions if line.source is not None and id(line.arc) in there and id(line.arc) not in kept)
    found = LogState(versions.promised, begun, left, tuple(over), marks, FOREVER if waits is None else waits)
    return Followed(found, table, step.gone, step.come, told, answers)


def _read(
    raws: Sequence[Raw], marks: dict[str, Mark], core: Any, told: list[LineNote], answers: list[tuple[Raw, LineAnswer]]
) -> list[LogLine]:
    """Return lines that can be taken; one that holds from when it is read, and was read before, is left out."""
    found: list[LogLine] = []
    known = {identity for mark in marks.values() for identity in mark.nows}
    now = core.progress.now
    for raw in raws:
        try:
            lines = fitting_lines(raw.text, core.tick, now, lambda arc: fitted(core, arc))
        except AfaError as error:
            told.append(LineNote("fault", str(error)[:2000], raw.file, raw.number))
            answers.append((raw, LineAnswer(None, str(error))))
            continue
        if json.loads(raw.text)["at"] == NOW:
            identity = lines[-1].identity
            mark = marks[raw.file]
            marks[raw.file] = mark._replace(nows=(*mark.nows, *([] if identity in mark.nows else [identity])))
            if identity in known:
                continue
            known.add(identity)
        said = KeptLine(raw.text.decode(), now, raw.file, raw.number)
        found += [line._replace(source=said) for line in lines]
    return found


def fitting_lines(text: str | bytes, tick: str | None, now: int, fitting: Callable[[Arc], Arc]) -> list[LogLine]:
    """Read a line whose arc can be in force."""
    lines = read_lines(text, tick, now)
    return [line if line.arc is None else line._replace(arc=fitting(line.arc)) for line in lines]


def _with_arcs_in_force(versions: Versions, names: Iterable[str], table: ArcTable) -> Versions:
    """Return the versions with those of more names: the arcs of the operator that have them."""
    more = sorted(set(names) - versions.names)
    begun, lines, promised = versions.begun(), versions.lines(), versions.promised
    for name in more:
        there = sorted((event for event in table.events if event.arc.name == name), key=lambda event: event[1:])
        for n, event in enumerate(there):
            line = own_line(event, n)
            if event.le < promised:
                begun.append(LineVersion(line, event.le, event.re))
            else:
                lines.append(line)
    found = Versions(sorted(begun, key=lambda version: version.line[:5]), promised)  # the order in which they began
    found.take(lines)
    return found


def own_line(event: ArcEvent, n: int) -> LogLine:
    """Return the line that an arc of the operator stands for, the n-th of its name: those that begin together by their ends."""
    identity = digest(["own", event.arc.name, n, event.le, event.re])
    return LogLine(event.le, BEGINNING + n, INSERT, identity, identity, event.arc.name or "", event.re, event.arc)


def _changed(table: ArcTable, step: LogStep, final: int) -> ArcTable:
    for event in step.gone:
        if event.re > final:  # else it was dropped when the promise came; a line at that very instant may bring it back
            table = table.removed(event)
    for event in step.come:
        table = table.added(event)
    return table.cleaned(final)


def _refused(step: LogStep, tick: str | None) -> list[tuple[str, str, LogLine]]:
    """Return the lines that are not carried out, each with the kind of its fault and the reason."""
    idle = [("fault", not_in_force(line, step.names), line) for line in step.idle]
    clashes = [("fault", ONE_ID, line) for line in step.clashes]
    return [
        *idle,
        *clashes,
        *(("late", f"{LATE} but got at={in_words(line.at, tick)} for {line.name!r}", line) for line in step.late),
    ]


LATE = "expected at >= the promise"


def _raw(line: LogLine) -> Raw:
    said: KeptLine = line.source
    return Raw(said.text.encode(), said.file, said.number)


# -- from plain data --


def _json_of(arc: Arc, automaton: Automaton) -> str | None:
    """Return an arc that no line holds any more, though one may bring it back; None: it can't be written as text."""
    try:
        return json.dumps(arc.to_json(automaton))
    except AutomatonError:
        return None


def restore_log(self: ArcInput, core: Any, data: Any, arc_at: Callable[[Any], Arc]) -> None:
    """Put the state of an arc log in place that `LogState.saved` gave; the method of `ArcInput`."""
    self.log = loaded(data, core.tick, core.binder.fitting, arc_at)


def loaded(data: Any, tick: str | None, fitting: Callable[[Arc], Arc], arc_at: Callable[[Any], Arc]) -> LogState:
    """Return the state that `LogState.saved` gave, checked; ``arc_at``: the arc of a ref. Raises whatever fits what is wrong."""

    def lines_of(source: Any) -> list[LogLine]:
        if len(source) == 6:
            identity, name, at, sequence, until, ref = source
            wanted("the identity and the name of an arc", type(identity) is bytes and type(name) is str, source)
            arc = None if ref is None else fitting(Arc.from_json(ref)) if type(ref) is str else arc_at(ref)
            wanted("an arc of that name", arc is None or arc.name == name, source)
            order = as_time(at, "at"), as_time(sequence, "sequence")
            return [LogLine(*order, INSERT, identity, identity, name, as_time(until, "until"), arc)]
        text, now, file, number = source
        wanted("a line's place", type(text) is type(file) is str and type(number) is int, source)
        lines = fitting_lines(text, tick, as_time(now, "now"), fitting)
        return [line._replace(source=KeptLine(text, now, file, number)) for line in lines]

    promised, begun, left, over, files = data
    versions = []
    for source, re in begun:
        line = lines_of(source)[-1]
        wanted("the version of an arc", line.op == INSERT and line.at < as_time(re, "re") <= line.until, source)
        versions.append(LineVersion(line, line.at, re))
    wanted(
        "a digest, and lines known by one", all(type(each) is bytes for _, _, one, more in files for each in (one, *more)), files
    )
    marks = {name: Mark(as_time(size, "size"), one, tuple(more)) for name, size, one, more in files}
    wanted("files that have names", all(type(name) is str for name in marks), list(marks))
    lines = tuple(line for source in left for line in lines_of(source))
    wanted("lines that are not final", all(line.at >= promised for line in lines), promised)
    arcs = tuple(lines_of(source)[-1] for source in over)
    wanted("lines that bring arcs", all(line.op == INSERT and line.source is not None for line in arcs), over)
    found = LogState(as_time(promised, "promised"), tuple(versions), lines, arcs, marks)
    left = found.versions()
    return found._replace(lines=tuple(left.lines()), waits=FOREVER if left.waits is None else left.waits)
