"""The counts of a funnel by brute force, from the page "Funnel" of SEMANTICS.md; over sets of computations, one step at a time.

It shares no code with the engines, nor with `afa.explain.funnel`: closures are those of `tests/oracle.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from punctuation.time import BEGINNING, FOREVER
from tests.oracle import ArcEvent, Computation, Event, closure, in_force, is_final, one_nan, steps_of


class Standing(NamedTuple):
    """A partial match: where its run began, and the computation."""

    start: Any
    c: Computation


class Counts(NamedTuple):
    """What is counted: by arc ``(asked, true)``, and by state and how it ended."""

    arcs: Counter[tuple[int, str]]
    states: Counter[tuple[str, str]]
    began: int
    matches: int
    events: int


class _Count:
    """The counts of one key."""

    def __init__(self, automaton: Any, arcs: Iterable[tuple[Any, int, int]], longest: bool, floor: int) -> None:
        self.automaton, self.longest, self.floor = automaton, longest, floor
        self.lives = [ArcEvent(*arc) for arc in arcs]
        self.arcs: Counter[tuple[int, str]] = Counter()
        self.states: Counter[tuple[str, str]] = Counter()
        self.marks: dict[Standing, set[str]] = {}
        self.began = 0
        self.matches: set[Any] = set()
        self.counts = True  # whether the step counts, or was before the floor

    def serving(self, src: str, kind: str, le: int) -> list[Any]:
        return list({id(a): a for a, low, high in self.lives if a.src == src and a.kind == kind and low <= le < high}.values())

    def note(self, arc: Any, what: str) -> None:
        self.arcs[id(arc), what] += self.counts

    def ask(self, arc: Any, *values: Any) -> bool:
        self.note(arc, "asked")
        found = bool(arc.fence(*values))
        if found:
            self.note(arc, "true")
        return found

    def consumed(self, c: Computation, step: list[Event], skip: bool) -> tuple[set[Computation], set[Computation]]:
        """What one computation becomes by a step: what rests anew then, and what a skip leaves as it is, with its closure."""
        le, out, kept = step[0].le, set(), set()
        for arc in self.serving(c.state, "consume", le):
            for payload, _, re in step:
                if self.ask(arc, payload, c.register):
                    after = c.register if arc.transfer is None else arc.transfer(payload, c.register)
                    out.add(Computation(arc.dst, one_nan(after), min(c.m, re)))
        for arc in self.serving(c.state, "skip", le) if skip else []:
            self.note(arc, "asked")
            if all(arc.fence(payload, c.register) for payload, _, _ in step):
                self.note(arc, "true")
                after = c.register
                for payload, _, _ in step:
                    after = after if arc.transfer is None else arc.transfer(payload, after)
                passed = c._replace(register=one_nan(after))
                (kept if passed == c else out).add(passed)
        anew = {c for c, _ in closure({(c, le) for c in out if le < c.m}, self.lives, latest=le)}
        return anew, {c for c, _ in closure({(c, le) for c in kept if le < c.m}, self.lives, latest=None)}

    def ask_epsilon(self, found: Iterable[tuple[Computation, int]]) -> None:
        for c, t in found:
            for arc in self.serving(c.state, "epsilon", t):
                self.ask(arc, c.register)

    def end(self, p: Standing, how: str) -> None:
        marks = self.marks.pop(p)
        how = "by_match" if "accepted" in marks else "went_on" if "led" in marks else how
        self.states[p.c.state, how] += self.counts

    def stand(self, p: Standing, how: str = "entered") -> None:
        if p not in self.marks:
            self.marks[p] = set()
            self.states[p.c.state, how] += self.counts

    def accept(self, p: Standing, t: int) -> None:
        if is_final(p.c.state, t, self.automaton, self.lives):
            if self.counts:
                self.states[p.c.state, "matched"] += "accepted" not in self.marks[p]
                told = tuple(p.c.register)[: len(self.automaton.match_schema.fields)]
                self.matches.add((told, t) if self.longest else (told, t, p.c.m))
            self.marks[p].add("accepted")

    def take(self, steps: list[list[Event]], starts: list[Any], clock: int) -> None:
        for i, step in enumerate(steps):
            le = step[0].le
            self.counts = le >= self.floor
            for p in [p for p in self.marks if p.c.m <= le]:
                self.end(p, "by_window")
            became: dict[Standing, set[Standing]] = {}
            anew: set[Standing] = set()
            for p in list(self.marks):
                fresh, kept = self.consumed(p.c, step, True)
                became[p] = {Standing(p.start, c) for c in fresh | kept}
                anew |= {Standing(p.start, c) for c in fresh}
            start = Computation(self.automaton.start, one_nan(self.automaton.register), FOREVER)
            ready = closure({(start, le)}, self.lives, None)
            self.ask_epsilon(ready)
            begun = {Standing(starts[i], c) for source, _ in ready for c in self.consumed(source, step, False)[0]}
            anew |= begun
            self.began += bool(begun) and self.counts
            listed = set().union(begun, *became.values())
            listed = self.reduced(listed)
            for p, found in became.items():
                if found - {p}:
                    self.marks[p].add("led")
                if p not in listed:
                    if found:
                        self.marks[p].add("led")
                    self.end(p, "by_no_arc")
            for p in listed:
                self.stand(p)
            self.ask_epsilon((p.c, le) for p in listed)
            latest = steps[i + 1][0].le if i + 1 < len(steps) else max(le, clock)
            if le < self.floor and (i + 1 == len(steps) or latest >= self.floor):  # the cover
                self.wait(listed, anew, le, min(latest, self.floor - 1))
                self.begin_counting(le)
                self.wait(set(self.marks), set(), le, latest, self.floor)
            else:
                self.wait(listed, anew, le, latest)
        self.counts = True
        for p in [p for p in self.marks if steps and p.c.m <= max(steps[-1][0].le, clock) and p.c.m < FOREVER]:
            self.end(p, "by_window")
        for p in list(self.marks):
            self.end(p, "open")

    def reduced(self, listed: set[Standing]) -> set[Standing]:
        if not self.longest:
            return listed
        best: dict[Any, Standing] = {}
        for p in listed:
            known = best.setdefault((p.c.state, p.c.register), p)
            if (p.c.m, p.start) > (known.c.m, known.start):
                best[p.c.state, p.c.register] = p
        return set(best.values())

    def wait(self, listed: set[Standing], anew: set[Standing], le: int, latest: int, least: int = BEGINNING) -> None:
        """Accept what stands; let time-outs fire, each of them asked once for what waits since an instant."""
        for p in listed if least == BEGINNING else ():
            self.accept(p, le)
        fired: set[tuple[Any, Computation, int]] = set()
        for p in listed:
            found = self.fired(p.c, le, latest, max(least, le + 1))  # what fires at the step stands in the list
            at_once = [a.arc.dst for a in self.lives if p in anew and self.serves_at(a, p.c, le) and a.arc.at(p.c.register) <= le]
            if {c for c, _ in found} - {p.c} or {*at_once} - {p.c.state}:
                self.marks[p].add("led")
            fired |= {(p.start, c, t) for c, t in found}
        for start, c, t in {(p.start, p.c, le) for p in listed} | fired:
            rests = t == le and Standing(start, c) not in anew
            for arc in {id(a.arc): a.arc for a in self.lives if a.arc.kind == "timeout" and a.arc.src == c.state}.values():
                at = max(arc.at(c.register), t)
                self.note(arc, "asked")
                lives = [(a.le, a.re) for a in self.lives if a.arc is arc]
                if max(least, le + rests) <= at <= latest and at < c.m and any(low <= at < high for low, high in lives):
                    self.note(arc, "true")
        self.ask_epsilon((c, t) for _, c, t in fired)
        for start, c, t in sorted(fired, key=lambda item: item[2]):
            self.stand(Standing(start, c))
            self.accept(Standing(start, c), t)

    def serves_at(self, life: ArcEvent, c: Computation, t: int) -> bool:
        """Whether an arc is a time-out out of a computation's state, in force at an instant."""
        return life.arc.kind == "timeout" and life.arc.src == c.state and life.le <= t < life.re and t < c.m

    def fired(self, c: Computation, le: int, latest: int, least: int) -> set[tuple[Computation, int]]:
        """What time-outs make of a computation that waits since an instant, and what epsilon arcs and time-outs make of that."""
        found: set[tuple[Computation, int]] = set()
        todo = [(c, le)]
        while todo:
            source, since = todo.pop()
            for arc, low, high in self.lives:
                if arc.kind != "timeout" or arc.src != source.state:
                    continue
                at = max(arc.at(source.register), since)
                if at < source.m and low <= at < high and least <= at <= latest:
                    new = closure({(Computation(arc.dst, source.register, source.m), at)}, self.lives, None) - found
                    found |= new
                    todo += new
        return found

    def begin_counting(self, le: int) -> None:
        """What stands at the last step before the first one that counts stood there before."""
        self.counts = True
        held = [arc for arc in self.lives if arc.re > self.floor]  # others a promise has dropped
        standing, self.marks = list(self.marks), {}
        for p in dict.fromkeys(Standing((p.start[0], -1), p.c) for p in standing):
            if p.c.m <= self.floor:
                continue
            self.marks[p] = {"accepted"} if is_final(p.c.state, le, self.automaton, held) else set()
            self.states[p.c.state, "before"] += 1


def counts(
    automaton: Any,
    changes: Iterable[tuple[Any, int, int, int]],
    arcs: Iterable[tuple[Any, int, int]],
    clock: int = BEGINNING,
    sequence: str | None = None,
    longest: bool = False,
    floor: int = BEGINNING,
) -> Counts:
    """Return the counts of the events in force of one key."""
    steps = steps_of(in_force(changes), sequence)
    starts = [(step[0].le, i) for i, step in enumerate(steps)]
    count = _Count(automaton, arcs, longest, floor)
    count.take(steps, starts, clock)
    events = sum(len(step) for step in steps if step[0].le >= floor)
    return Counts(count.arcs, count.states, count.began, len(count.matches), events)
