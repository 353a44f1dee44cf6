"""The transitions of one partial match: arcs, epsilon closure, time-outs (the next-ID relation of [AFA10] Sec. 2.2 and 2.3).

They are a pure function of the partial match, the step and the table of arcs, so that an engine can remove what it has added by
evaluating the function a second time.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from afa.errors import AfaError, ChangeError, ClosureError, blame
from afa.model.arc import Arc
from afa.model.arctable import ArcTable, ByState
from afa.model.automaton import Automaton
from afa.model.pmatch import PMatch, Rest
from afa.model.raised import Faults, Raised, in_words
from punctuation.time import FOREVER, as_time

NO_ARCS: ByState = {}
CLOSURE_LIMIT = 10_000
"""How many steps of one closure count as endless."""


class Transitions:
    """The next-ID relation of an automaton under a table of arcs.

    ``table``: the arcs in force, set anew when arcs change. ``faults`` collects what users' functions raise, and the arc does not
    serve there; None: it is raised. ``key``: the key whose state is being changed, for `faults`.
    """

    __slots__ = ("_start", "_static_final", "_take", "automaton", "faults", "key", "table")

    def __init__(self, automaton: Automaton, table: ArcTable, faults: Faults | None = None) -> None:
        self.automaton = automaton
        self._start = (automaton.start, automaton.register)
        self._static_final = automaton.final
        self._take = automaton.register_schema.take
        self.table = table
        self.faults = faults
        self.key: Hashable = None

    def final(self, state: str, t: int) -> bool:
        """Return whether a computation that is in ``state`` at ``t`` is accepted."""
        return state in self._static_final or (bool(self.table.marks) and self.table.final(state, t))

    def begin(self, key: Any, le: int, events: Mapping[tuple[Any, int], int]) -> list[PMatch]:
        """Return the partial matches that begin at a step (Algorithm 1, line 5), one for each way that leads to them."""
        found: list[PMatch] = []
        for source in self.ready(key, le):
            arcs = self.table.consuming.get(source.state, ())
            for arc, begin, end in arcs:
                if begin <= le < end:
                    for payload, re in events:
                        register = self.consume(arc, payload, source.register, le)
                        if register is not None:
                            found += self.closure(PMatch(key, re, arc.dst, register), le, self.table.timeouts)
        return found

    def ready(self, key: Any, le: int) -> list[PMatch]:
        """Return the computations that may consume the first event of a run, at a step at ``le``."""
        start = PMatch(key, le, *self._start)
        return self.closure(start, le) if self.table.epsilon else [start]

    def derive(self, p: PMatch, rest: Rest, le: int, events: Mapping[tuple[Any, int], int]) -> tuple[list[PMatch], bool]:
        """Return what a partial match ``p``, which rests since ``rest``, becomes by a step at ``le``, once for each way there.

        The bool tells whether ``p`` also stays as it is, by an ignorable arc (App. D). If the lifetime of ``p`` ends before the
        step, ``p`` becomes nothing. O(arcs * events of the step).
        """
        found: list[PMatch] = []
        stays = False
        if p.re <= le:
            return found, stays
        ready = [p] if p.state not in self.table.timeouts else [p, *self.fired_values(p, rest, le)]
        for source in ready:
            for arc, begin, end in self.table.consuming.get(source.state, ()):
                if not begin <= le < end:
                    continue
                for payload, re in events:
                    register = self.consume(arc, payload, source.register, le)
                    if register is None:
                        continue
                    if arc.ignorable and source is p and p.re <= re:
                        stays = True
                        if self.table.epsilon or self.table.timeouts:
                            found += self.closure(p, le, self.table.timeouts)[1:]
                    else:
                        found += self.closure(PMatch(p.start, min(p.re, re), arc.dst, register), le, self.table.timeouts)
            for passed in self.passed(source, le, events) if self.table.skips else ():
                if source is p and passed.register == p.register:
                    stays = True
                    found += self.closure(p, le)[1:]
                else:
                    found += self.closure_passed(source, passed, le)
        return found, stays

    def passed(self, p: PMatch, le: int, events: Mapping[tuple[Any, int], int]) -> list[PMatch]:
        """Return what becomes of ``p`` by arcs that let it pass all events of a step at ``le``, each once."""
        found: dict[Any, None] = {}
        for arc, begin, end in self.table.skips.get(p.state, ()):
            register = p.register if begin <= le < end else None
            for payload, _ in events:
                if register is None:
                    break
                register = self.consume(arc, payload, register, le)
            if register is not None:
                found[register] = None
        return [PMatch(p.start, p.re, p.state, register) for register in found]

    def closure_passed(self, p: PMatch, passed: PMatch, le: int) -> list[PMatch]:
        """Return the closure of what a skip at ``le`` has made of ``p``: where that is ``p``, no time-out fires anew."""
        return self.closure(passed, le, NO_ARCS if passed.register == p.register else self.table.timeouts)

    def closure(self, p: PMatch, t: int, timeouts: ByState = NO_ARCS) -> list[PMatch]:
        """Return ``p`` and all partial matches that epsilon arcs in force at ``t`` make of it, each once.

        With ``timeouts`` also by those that need not wait: ``at(r) <= t``. `ClosureError`: more than 10,000 steps.
        """
        if p.state not in self.table.epsilon and p.state not in timeouts:
            return [p]
        reached = {(p.state, p.register): p}
        todo = [p]
        steps = 0
        while todo:
            source = todo.pop()
            ways = [
                (arc, register)
                for arc, begin, end in self.table.epsilon.get(source.state, ())
                if begin <= t < end and (register := self.pass_on(arc, source.register, t)) is not None
            ]
            ways += [
                (arc, source.register)
                for arc, begin, end in timeouts.get(source.state, ())
                if begin <= t < end and self.instant(arc, source.register, t) <= t
            ]
            for arc, register in ways:
                steps += 1
                if steps > CLOSURE_LIMIT:
                    self.endless(_endless(reached, t), t)
                    return [p]
                if (arc.dst, register) not in reached:
                    target = PMatch(p.start, p.re, arc.dst, register)
                    reached[(arc.dst, register)] = target
                    todo.append(target)
        return list(reached.values())

    def fired(self, p: PMatch, rest: Rest, horizon: int) -> list[tuple[int, PMatch]]:
        """Return what time-outs make of ``p`` from ``rest.since`` until ``horizon`` ([AFA10] App. E).

        Each instant ``T = at(r) <= horizon``, ``T < m``, comes with the partial match reached at it. Included are those that
        epsilon arcs and further time-outs reach from there. What fires at ``rest.le`` stands in the list: see `closure`.
        """
        reached: dict[tuple[int, PMatch], None] = {}
        todo = [(rest.le, p)]
        steps = 0
        while todo:
            waits_since, source = todo.pop()
            for arc, begin, end in self.table.timeouts.get(source.state, ()):
                t = max(waits_since, self.instant(arc, source.register, waits_since))
                if not rest.since <= t <= horizon or t >= p.re or not begin <= t < end:
                    continue
                for target in self.closure(PMatch(p.start, p.re, arc.dst, source.register), t):
                    steps += 1
                    if steps > CLOSURE_LIMIT:
                        self.endless(_endless({(q.state, q.register): q for _, q in reached}, t), t)
                        return []
                    if (t, target) not in reached:
                        reached[(t, target)] = None
                        todo.append((t, target))
        return list(reached)

    def waits(self, p: PMatch, since: int) -> list[int]:
        """Return the instants at which the time-outs of ``p``, which rests since ``since``, fire if nothing ends the wait."""
        return [
            t
            for arc, begin, end in self.table.timeouts.get(p.state, ())
            if begin <= (t := max(since, self.instant(arc, p.register, since))) < end and t < p.re
        ]

    def fired_values(self, p: PMatch, rest: Rest, le: int) -> list[PMatch]:
        """Return what time-outs make of ``p``, which rests since ``rest``, before a step at ``le``: each once, but ``p`` itself."""
        return list(dict.fromkeys(target for _, target in self.fired(p, rest, le) if target != p))

    def consume(self, arc: Arc, payload: Any, register: Any, le: int) -> Any:
        """Return the register after an arc, or None if the fence is false."""
        role = "fence"
        try:
            if not arc.fence(payload, register):
                return None
            if arc.transfer is None:
                return register
            role = "transfer"
            found = self._take(arc.transfer(payload, register))
            if self.faults is not None:
                self.faults.check(found)
            return found
        except ChangeError as error:
            told = ChangeError(f"{error}, returned by the transfer of {arc!r} on event {payload!r} at le={le}")
            self._go_on(told, arc, role, le, payload, cause=error)
        except Exception as error:
            where = f"in the {role} of {arc!r} on event {payload!r} at le={le} with register {register!r}"
            self._go_on(error, arc, role, le, payload, where)
        return None

    def pass_on(self, arc: Arc, register: Any, t: int) -> Any:
        """Return the register after an epsilon arc, or None if the fence is false."""
        role = "fence"
        try:
            if not arc.fence(register):
                return None
            if arc.transfer is None:
                return register
            role = "transfer"
            value = arc.transfer(register)
        except Exception as error:
            self._go_on(error, arc, role, t, None, f"in the {role} of {arc!r} at le={t} with register {register!r}")
            return None
        try:
            found = self._take(value)
            if self.faults is not None:
                self.faults.check(found)
            return found
        except (AfaError, UnicodeError) as error:
            self._go_on(error, arc, role, t, None, f"returned by the transfer of {arc!r} at le={t}")
            return None

    def instant(self, arc: Arc, register: Any, since: int) -> int:
        """Return the instant that a time-out's ``at`` returns. FOREVER, at which none fires: ``at`` raised, which `faults` took."""
        what = "in the at of {} at le={}"
        try:
            value = arc.at(register)
            what = "returned by at(r) of {}"
            return as_time(value, "at")
        except Exception as error:
            self._go_on(error, arc, "at", since, None, what.format(repr(arc), since) + f" with register {register!r}")
        return FOREVER

    def _go_on(
        self, error: Exception, arc: Arc, role: str, le: int, payload: Any, where: str = "", cause: Exception | None = None
    ) -> None:
        """Let `faults` take an exception, so that the arc does not serve; else raise it, with its place or its cause."""
        if self.faults is not None and not isinstance(error, MemoryError):
            self.faults.take(Raised(self.key, le, payload, repr(arc), role, in_words(error)), where)
        elif cause is not None:
            raise error from cause
        else:
            blame(error, where)
            raise error

    def endless(self, error: ClosureError, t: int) -> None:
        """Let `faults` take a closure without an end, so that no epsilon arc and no time-out serves there; else raise it."""
        if self.faults is None:
            raise error
        self.faults.take(Raised(self.key, t, None, "", "closure", in_words(error)), "")


def _endless(reached: Mapping[tuple[str, Any], PMatch], t: int) -> ClosureError:
    states = ", ".join(dict.fromkeys(state for state, _ in reached))
    return ClosureError(
        f"expected a closure of at most {CLOSURE_LIMIT} steps but got one that goes on, at le={t} through the states {states}; "
        f"let the fence of an epsilon arc end the cycle"
    )
