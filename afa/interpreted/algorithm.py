"""Algorithm 1 of [AFA10], with deletion (App. C), ignorable arcs (App. D), arc events (Sec. 5.2) and time-outs (App. E).

A change at one step gives it a new list. What follows from that is the same for an insertion, a deletion and an arc: some partial
matches are *gone* from the list that the next step continues, some are *new* in it; so

    propagate:  for each later step, while anything is gone or new
                    RemoveInvalidatedSequences: take away what the gone ones had become by this step
                    PropagateInsert:            add what the new ones become by it
                    settle:                     what has no way left that leads to it is gone, what had none is new

The paper removes all that spans the change, then derives anew (lines 2 and 8). Here both go step by step side by side, over lists
with counts, so that the walk ends as soon as the derived lists equal the stored ones; and a partial match that passes the inserted
event on an ignorable arc is neither gone nor new, so that nothing behind it is touched (App. D, steps 2 and 3).

Where events are numbered without gaps (AFA+O, Sec. 5.3), a step continues the list before it only if their numbers are adjacent:
`Algorithm.linked`. Everywhere else every step does.

Departs from the paper: a count in place of next pointers; removal evaluates fences again instead of storing pointers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from afa.engine import Budget
from afa.interpreted.state import Entry, State, by_start, joined
from afa.model.pmatch import PMatch, Rest
from afa.model.transitions import Transitions
from punctuation.progress import Progress

NOTHING: Mapping[PMatch, Any] = {}
LOOSE = 16
"""On the way to the lists that stand after a call, of which some steps are not changed yet, they may be so many times as long."""
LOOK = 50_000
"""After so many partial matches and events, at the latest, it is looked at how many bytes there are."""


class Algorithm:
    """Insertion and deletion of events in the state of one key.

    Parameters
    ----------
    transitions : Transitions
        The automaton under the arcs in force.
    progress : Progress
        The clock of time-outs, and what is final.
    gaps : "break" or "join", optional
        Keys are numbered without gaps, and what becomes of gaps that can't close any more. None: they are not.
    """

    __slots__ = ("budget", "coming", "every", "gaps", "long", "look", "made", "progress", "transitions")

    def __init__(self, transitions: Transitions, progress: Progress, gaps: str | None = None) -> None:
        self.transitions = transitions
        self.progress = progress
        self.gaps = gaps
        self.budget: Budget | None = None  # what may stand at a step
        self.coming: Any = None  # the next step that the call changes: from there on lists are not what they will be
        self.long: dict[Any, Entry] = {}  # those of them that are longer than the budget allows
        self.look: Callable[[], None] = lambda: None  # at how many bytes there are
        self.every = LOOK  # after how many this is done
        self.made = 0  # partial matches that were written to lists since, and changes of events

    # -- numbers (Sec. 5.3) -----------------------------------------------------------------------------------------------

    def linked(self, x: Entry | None, y: Entry | None) -> bool:
        """Return whether ``y``, the step after ``x``, continues its list."""
        if x is None or y is None:
            return False
        return self.gaps is None or x.key[1] + 1 == y.key[1] or (self.gaps == "join" and y.le < self.progress.events)

    def source(self, s: State, x: Entry | None, y: Entry | None) -> Mapping[PMatch, Any]:
        """Return the list that ``y``, the step after ``x``, continues."""
        return s.layer(x) if x is not None and self.linked(x, y) else NOTHING

    def until(self, x: Entry, z: Entry | None) -> int:
        """Return until when the time-outs of ``x`` fire: the next step; behind the last one and in a gap, the clock."""
        if z is not None and self.linked(x, z):
            return z.le
        reached = max(x.le, self.progress.events)
        return reached if z is None else min(z.le, reached)

    def note_gap(self, s: State, x: Entry | None, z: Entry | None) -> None:
        """Note whether there is a gap between neighbours that can still close."""
        if self.gaps is None or z is None:
            return
        if x is not None and x.key[1] + 1 != z.key[1] and z.le >= self.progress.events:
            s.journal.put(s.gaps, z.key, None)
        elif z.key in s.gaps:
            s.journal.drop(s.gaps, z.key)

    def pass_gaps(self, s: State) -> list[tuple[int, int]]:
        """Let the gaps be final that the promise has come past; the first and the last number that is missing in each."""
        t = self.progress.events
        passed = [s.index[key] for key in s.gaps.irange(maximum=s.place(t), inclusive=(True, False))]
        pairs = [(s.before(z.key), z) for z in passed]
        if s.gaps and len(passed) < len(s.gaps):  # the clock has come into the next one
            z = s.index[s.gaps.keys()[len(passed)]]
            pairs.append((s.before(z.key), z))
        for x, z in reversed(pairs):  # the last one first, so that what a join brings goes on through those behind it
            assert x is not None
            self.set_horizon(s, x, self.until(x, z))
            if z.le < t:
                s.journal.drop(s.gaps, z.key)
                if self.gaps == "join":
                    self._propagate(s, x, [], x.rest, list(s.layer(x)), x.rest)
        return [(x.key[1] + 1, z.key[1] - 1) for x, z in pairs if x is not None and z.le < t]

    # -- events ---------------------------------------------------------------------------------------------------------

    def change_step(self, s: State, key: Any, le: int, diffs: Mapping[tuple[Any, int], int]) -> None:
        """Carry out InsertEvent and deletion (App. C): so many copies of events enter or leave one step.

        O(log r + m) in order, O(log r + d * m) when d steps follow within the window.
        """
        y = s.index.get(key)
        events = dict(y.events) if y else {}
        for event, diff in diffs.items():
            events[event] = events.get(event, 0) + diff
        events = {event: copies for event, copies in events.items() if copies}
        if y is None:
            y = Entry(key, le, s.journal.serial)
            y.events = events
            self._insert_step(s, y)
            return
        s.keep(y)
        same = events.keys() == y.events.keys()
        y.events = events
        if not events:
            self._delete_step(s, y)
        elif not same:
            self._rederive(s, y)

    def _insert_step(self, s: State, y: Entry) -> None:
        """InsertEvent: the list of ``y`` from the one before it; behind it, what went on past ``y`` is invalid."""
        x, z = s.before(y.key), s.after(y.key)
        was = self.source(s, x, z)
        if x:
            self.set_horizon(s, x, self.until(x, y))
        y.nodes, stays = self._make_transitions(self.source(s, x, y), (x or y).rest, y)
        s.journal.put(s.index, y.key, y)
        self.note_gap(s, x, y)
        self.note_gap(s, y, z)
        self._set_runs(s, x, y, z, stays)
        target = joined(y.nodes, stays)
        self.within(s, y, target)
        y.horizon = self.until(y, z)
        for p in target:
            self.emit(s, y, p, 1)
        if z:
            now = target if self.linked(y, z) else NOTHING
            self._propagate(s, y, self._differs(was, now), (x or y).rest, self._differs(now, was), y.rest)

    def _delete_step(self, s: State, y: Entry) -> None:
        """The list before goes on where the list of ``y`` did (App. C)."""
        x, z = s.before(y.key), s.after(y.key)
        source = s.layer(y)
        for p in source:
            self.emit(s, y, p, -1)
        was = source if z is None or self.linked(y, z) else NOTHING
        target = s.layer(x) if x and (z is None or self.linked(x, z)) else NOTHING
        gone, new = self._differs(was, target), self._differs(target, was)
        s.journal.drop(s.index, y.key)
        if y.key in s.gaps:
            s.journal.drop(s.gaps, y.key)
        self.note_gap(s, x, z)
        if x:
            self.set_horizon(s, x, self.until(x, z))
        if not z or not self.linked(x, z):  # runs cover no step any more: nothing would say when they can be forgotten
            for p in source if z else gone:
                s.runs.uncover(p, s.runs.after(x.key) if x else s.place(y.le), s.runs.after(y.key) if z else s.runs.end)
        self._propagate(s, y, gone, y.rest, new, (x or y).rest)

    def _rederive(self, s: State, y: Entry) -> None:
        """Other alternatives at a step: its list anew, then what follows from it."""
        old = dict(s.layer(y))
        for p in old:
            self.emit(s, y, p, -1)
        self.derive_again(s, y)
        new = s.layer(y)
        for p in new:
            self.emit(s, y, p, 1)
        if self.linked(y, s.after(y.key)):
            self._propagate(s, y, [p for p in old if p not in new], y.rest, [p for p in new if p not in old], y.rest)

    def derive_again(self, s: State, y: Entry) -> None:
        """Derive the whole list of a step from the list before it."""
        x, z = s.before(y.key), s.after(y.key)
        s.keep(y)
        y.nodes, stays = self._make_transitions(self.source(s, x, y), (x or y).rest, y)
        self._set_runs(s, x, y, z, stays)
        self.within(s, y, joined(y.nodes, stays))

    def kept(self, found: Mapping[PMatch, Any]) -> dict[PMatch, int]:
        """Return those of a list's partial matches that are held."""
        return dict.fromkeys(found, 1)

    def derive_from_cover(self, s: State, z: Entry) -> None:
        """Derive the list behind cover again, which holds what time-outs have made by now: the same, with other ways to it."""
        self.derive_again(s, z)

    # -- MakeTransitions, RemoveInvalidatedSequences, PropagateInsert -------------------------------------------------------

    def _make_transitions(self, source: Mapping[PMatch, Any], rest: Rest, y: Entry) -> tuple[dict[PMatch, int], dict[PMatch, int]]:
        """Algorithm 1, lines 4 and 5: the list of ``y`` with its counts, and what stays by ignorable arcs."""
        nodes: dict[PMatch, int] = {}
        stays: dict[PMatch, int] = {}
        self._derive_all(source, rest, y, 1, nodes, stays)
        for q in self.transitions.begin(y.key, y.le, y.events):
            nodes[q] = nodes.get(q, 0) + 1
        return nodes, stays

    def _derive_all(
        self, source: Iterable[PMatch], rest: Rest, z: Entry, sign: int, counts: dict[PMatch, int], stays: dict[PMatch, int]
    ) -> None:
        """Count one way more (one fewer, where ``sign`` is -1) to all that ``source`` becomes by ``z``."""
        derive = self.transitions.derive
        for p in source:
            found, stay = derive(p, rest, z.le, z.events)
            for q in found:
                counts[q] = counts.get(q, 0) + sign
            if stay:
                stays[p] = stays.get(p, 0) + sign

    def _propagate(self, s: State, y: Entry, gone: list[PMatch], gone_rest: Rest, new: list[PMatch], new_rest: Rest) -> None:
        """Carry a difference in the list that the step after ``y`` continues through the later steps, until there is none left."""
        if not (gone or new):
            return
        edits: dict[PMatch, tuple[int, Any]] = {}  # how the runs change: (+1 or -1, the place where it begins)
        last = y
        for z in s.steps(y.key, inclusive=False):
            if last is not y and not self.linked(last, z):
                break
            counts: dict[PMatch, int] = {}
            stays: dict[PMatch, int] = {}
            self._derive_all(gone, gone_rest, z, -1, counts, stays)  # RemoveInvalidatedSequences, lines 10-19
            self._derive_all(new, new_rest, z, 1, counts, stays)  # PropagateInsert, lines 20-26
            self._edit_runs(s, edits, stays, s.runs.after(last.key))
            gone, new = self._settle(s, z, counts, stays)
            gone_rest = new_rest = z.rest
            last = z
            if not (gone or new):
                break
        whole = s.after(last.key) is None
        self._edit_runs(s, edits, {}, s.runs.end if whole else s.runs.after(last.key))

    def _settle(self, s: State, z: Entry, counts: dict[PMatch, int], stays: dict[PMatch, int]) -> tuple[list[PMatch], list[PMatch]]:
        """Apply count changes to a list; what is gone from it and what is new in it, by start."""
        s.keep(z)
        gone, new, stored = [], [], False
        for p in {**counts, **stays}:
            more, stay = counts.get(p, 0), stays.get(p, 0)
            if not (more or stay):
                continue
            old = z.nodes.get(p, 0)
            if old + more:
                z.nodes[p] = old + more
                stored = stored or not old
            elif old:
                del z.nodes[p]
            covered = stay < 0 or (stay == 0 and s.runs.covers(p, z.key))
            was, now = old > 0 or covered, old + more > 0 or stay > 0 or (covered and stay == 0)
            if was and not now:
                gone.append(p)
                self.emit(s, z, p, -1)
            elif now and not was:
                new.append(p)
                self.emit(s, z, p, 1)
        if stored:
            z.nodes = dict(sorted(z.nodes.items(), key=lambda node: node[0].start))  # INVARIANT: Ordering
        if new and self.budget is not None:
            if len(z.nodes) + len(s.runs) + len(stays) > self.budget.most:
                covered_now = [p for p in s.runs.at(z.key) if stays.get(p, 0) == 0]  # runs that change are written where they end
                self.within(s, z, joined(z.nodes, [*covered_now, *(p for p, stay in stays.items() if stay > 0)]))
            self.grown(len(new))
        new.sort(key=by_start)
        return gone, new

    def within(self, s: State, y: Entry, found: Mapping[PMatch, Any]) -> None:
        """Refuse a list that is longer than the budget allows; where that may change yet, note it."""
        if self.budget is not None:
            if len(found) > self.budget.most:
                if self.coming is None or y.key < self.coming or len(found) > LOOSE * self.budget.most:
                    automaton, table = self.transitions.automaton, self.transitions.table
                    raise self.budget.crowded(automaton, table, s.key, y.le, len(found), Counter(p.state for p in found))
                self.long[y.key] = y
            self.grown(len(y.nodes))

    def begin_steps(self) -> None:
        """Begin to change steps, each behind the one before."""
        self.coming, self.long = None, {}

    def end_steps(self, s: State) -> None:
        """Refuse lists that are too long now that all steps are changed."""
        for key, y in self.long.items():
            if s.index.get(key) is y:
                self.within(s, y, s.layer(y))

    def grown(self, n: int) -> None:
        """Take note of ``n`` more partial matches, or events; now and then the engine looks at how many bytes all of them are."""
        self.made += n
        if self.made >= self.every:
            self.look()  # where it refuses, it is looked at the next one, too
            self.made = 0

    def _differs(self, here: Mapping[PMatch, Any], there: Mapping[PMatch, Any]) -> list[PMatch]:
        """Return what stands here and not there; also what waits for a time-out, as it waits since another instant."""
        timeouts = self.transitions.table.timeouts
        return [p for p in here if p not in there or p.state in timeouts]

    # -- ignorable runs (App. D) ------------------------------------------------------------------------------------------

    @staticmethod
    def _set_runs(s: State, x: Entry | None, y: Entry, z: Entry | None, stays: Mapping[PMatch, Any]) -> None:
        """Let exactly ``stays`` be covered at ``y``; a run at the end of the stream is open."""
        covered = s.runs.at(y.key)
        if not (stays or covered):
            return
        begin = s.runs.after(x.key) if x else s.place(y.le)
        end = s.runs.after(y.key) if z else s.runs.end
        for p in covered:
            if p not in stays:
                s.runs.uncover(p, begin, end)
        had = set(covered)
        for p in stays:
            if p not in had:
                s.runs.cover(p, begin, end)

    @staticmethod
    def _edit_runs(s: State, edits: dict[PMatch, tuple[int, Any]], stays: Mapping[PMatch, int], place: Any) -> None:
        """Note where runs begin to change, and write each change once, where it ends."""
        for p in [p for p, (sign, _) in edits.items() if stays.get(p, 0) != sign]:
            sign, begin = edits.pop(p)
            (s.runs.cover if sign > 0 else s.runs.uncover)(p, begin, place)
        for p, sign in stays.items():
            if sign and p not in edits:
                edits[p] = (sign, place)

    # -- output -----------------------------------------------------------------------------------------------------------

    def emit(self, s: State, y: Entry, p: PMatch, sign: int) -> None:
        """Count the matches that ``p`` at ``y`` stands for: its own, and those of time-outs that have fired."""
        transitions = self.transitions
        final = self.final(s)
        if y.le >= final and transitions.final(p.state, y.le):  # INVARIANT: what is final is never touched
            s.touch(y.le, p.re, p.register, sign)
        if p.state in transitions.table.timeouts:
            for t, q in transitions.fired(p, y.rest, y.horizon):
                if t >= final and transitions.final(q.state, t):
                    s.touch(t, q.re, q.register, sign)

    def final(self, s: State) -> int:
        """Return what is dropped of a key, as it is final: what the floor says, or what all of its events are promised."""
        return max(self.progress.floor, s.promised)

    def set_horizon(self, s: State, y: Entry, horizon: int) -> None:
        """Let the time-outs of a list fire until ``horizon``: the next step's LE, or the clock at the last step."""
        if y.horizon == horizon:
            return
        timeouts = self.transitions.table.timeouts
        resting = [p for p in s.layer(y) if p.state in timeouts] if timeouts else []
        s.journal.note(setattr, y, "horizon", y.horizon)
        for p in resting:
            self.emit(s, y, p, -1)
        y.horizon = horizon
        for p in resting:
            self.emit(s, y, p, 1)

    # -- arcs (Sec. 5.2) -----------------------------------------------------------------------------------------------------

    def affected(self, s: State, le: int, re: int) -> tuple[Entry | None, list[Entry]]:
        """Return the steps that an arc with lifetime ``[le, re)`` serves, with the one before them.

        One step past the lifetime belongs to them: time-outs that fire within it feed that step.
        """
        steps: list[Entry] = []
        for y in s.steps(s.place(le)):
            steps.append(y)
            if y.le >= re:
                break
        return s.before(s.place(le)), steps

    def leave_arcs(self, s: State, le: int, re: int) -> None:
        """Before arcs change in ``[le, re)``: take back the matches that the lists there stand for under the old arcs."""
        x, steps = self.affected(s, le, re)
        for y in ([x] if x else []) + steps:
            for p in s.layer(y):
                self.emit(s, y, p, -1)

    def enter_arcs(self, s: State, le: int, re: int) -> None:
        """After arcs have changed in ``[le, re)``: derive the lists there anew, then what follows from the last of them."""
        x, steps = self.affected(s, le, re)
        old: dict[PMatch, Any] = {}
        for y in steps:
            old = dict(s.layer(y))
            self.derive_again(s, y)
        for y in ([x] if x else []) + steps:
            for p in s.layer(y):
                self.emit(s, y, p, 1)
        if steps:
            y = steps[-1]
            new = s.layer(y)
            if not self.linked(y, s.after(y.key)):
                return
            gone = [p for p in old if p not in new]
            self._propagate(s, y, gone, y.rest, [p for p in new if p not in old], y.rest)
