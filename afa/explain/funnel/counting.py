"""Go through the events of each key in order, and count what every arc was asked and what became of every partial match.

Lists are derived anew, forward, from the events and arcs in force, by state and register (`afa.explain.funnel.standing`): so what
is counted is a function of both sets, and the same for each engine. Where the event alone decides for all that stands in a state,
it is counted at once: thousands of partial matches that wait for a rare event cost what one costs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from afa.engine import Step
from afa.explain.funnel.fence_parts import RAISED, TRUE, CountedFence
from afa.explain.funnel.standing import ACCEPTED, LED, StandingMatches
from afa.explain.funnel.tally import Tally
from afa.model.arc import CONSUME, EPSILON, SKIP, TIMEOUT
from afa.model.arctable import ByState
from afa.model.pmatch import PMatch, Rest
from afa.model.transitions import NO_ARCS
from punctuation.time import FOREVER

Targets = list[tuple[str, Any, int | None]]
"""What partial matches become: state, register, and what their ``m`` is cut at."""


class Counting(Tally):
    """The counts of an automaton under a table of arcs, over the keys that are taken. Parameters: as of `Tally`."""

    # -- one key -----------------------------------------------------------------------------------------------------------

    def take(self, key: Hashable, steps: Sequence[Step]) -> None:
        """Count one key: all steps of it that are held, in order; only those without events need their partial matches."""
        self.keys += 1
        self.transitions.key = self.misses.key = key
        self.misses.number = self.keys
        self.look(steps)
        self._told: dict[int, set[Any]] = {}
        self._tied: list[Any] = []  # the events of a step with several, while it is derived
        self._anew: set[PMatch] = set()  # what waits for time-outs in the list of the step and has not rested before it
        standing, before = StandingMatches(), None
        for y in steps:
            if self.enough:
                self.until = y.le if self.until is None else self.until
                break
            horizon = y.le
            if before is not None:
                horizon = y.le if y.follows else min(y.le, max(before, self.clock))
                self._fire(standing, before, horizon)
            if before is None or not y.follows:
                self.leave(standing, at_gap=True)
                standing = StandingMatches()
            for gone in standing.expired(y.le):
                self.over(gone, y.le, False, True)
            (self._derive if y.events else self._given)(standing, y)
            self._tied = []
            self._forget(before)
            if y.events:
                self._match(standing, y.le)
            before = y.le
        if before is not None:
            self._end(standing, before)

    def _end(self, standing: StandingMatches, before: int) -> None:
        """Behind the last step: time-outs up to the clock; what still stands is open, unless its lifetime is over by then."""
        clock = max(before, self.clock)
        if not self.enough:
            self._fire(standing, before, clock)
            for gone in standing.expired(clock):
                self.over(gone, clock, False, True)
        self.leave(standing)
        self._forget(None)

    def _stand(self, standing: StandingMatches, p: PMatch, le: int) -> None:
        """Let a partial match stand, and count it where it did not."""
        if standing.add(p):
            self.ended[p.state].entered += 1
            self.ties += bool(self._tied) and self.could_go_on(p, self._tied)
            for asked in self.in_force(TIMEOUT, p.state, le):
                at = self.transitions.instant(asked.arc, p.register, le)
                asked.past += p.re <= max(at, le) < FOREVER

    def _bar(self, asked: CountedFence, outcome: int, events: Sequence[Any], state: str, register: Any) -> None:
        """Note the event that a negation does not let pass; ``register`` None: whatever it is."""
        if outcome in asked.bars:
            ask = asked.leading if outcome < asked.lead else lambda payload: asked.outcome(payload, register)
            found = next((payload for payload, _ in events if ask(payload) == outcome), events[0][0])
            self._barred[state, register if outcome >= asked.lead else None] = asked.bars[outcome], found

    def _given(self, standing: StandingMatches, y: Step) -> None:
        """Take the list of a step that has no events any more as it is."""
        first = not standing.groups
        self._anew = set()
        listed = set(y.partial)
        for p in [p for p in standing.all() if p not in listed]:
            gone = standing.drop(p.state, p.register, p.start, p.re)
            assert gone is not None
            self.over(gone, y.le, False, False)
        for p in y.partial:
            if standing.add(p):
                ended = self.ended[p.state]
                if first:
                    ended.before += 1
                else:
                    ended.entered += 1
                if self.transitions.final(p.state, y.le):
                    standing.mark(p, ACCEPTED)

    # -- one step --------------------------------------------------------------------------------------------------------------

    def _derive(self, standing: StandingMatches, y: Step) -> None:
        """Carry what stands past a step, and begin what begins there."""
        come: dict[tuple[str, Any], dict[tuple[Any, int], None]] = {}
        gone: list[tuple[str, Any, bool]] = []
        events = list(y.events)
        self._leads: dict[int, list[int]] = {}
        self._barred: dict[tuple[str, Any], tuple[str, Any]] = {}
        self._tied = [payload for payload, _ in events] if len(events) > 1 else []
        self._anew = set()
        for state in [state for state, n in standing.count.items() if n]:
            self._carry(standing, state, y, events, come, gone)
        self._begin(y, events, come)
        self._settle(standing, y.le, come, gone)
        for state in self.epsilon:
            self._ask_epsilon(state, standing.groups.get(state, {}), y.le)

    def _lead(self, asked: CountedFence, events: Sequence[Any]) -> list[int]:
        found = self._leads.get(id(asked))
        if found is None:
            found = self._leads[id(asked)] = [asked.leading(payload) for payload, _ in events]
            self.cost += len(events)
        return found

    def _carry(self, standing: StandingMatches, state: str, y: Step, events: list[Any], come: Any, gone: list[Any]) -> None:
        """Ask the arcs out of one state: at once, as far as the event decides alone; what is left, of each register."""
        n, le, stays, takes = standing.count[state], y.le, False, False
        left: list[tuple[CountedFence, list[Any]]] = []
        for asked in self.in_force(CONSUME, state, le):
            some = []
            for event, lead in zip(events, self._lead(asked, events)):
                stay = lead == TRUE and asked.whole and asked.arc.ignorable and event[1] >= standing.top[state]
                if lead == TRUE and not stay:
                    some.append(event)
                    continue
                asked.count(lead, n, le)
                stays = takes = takes or stay
                if lead >= 0:
                    self.misses.look(asked, lead, event[0], y, standing, state)
            if some:
                left.append((asked, some))
        skips = []
        for asked in self.in_force(SKIP, state, le):
            first = _first_of(self._lead(asked, events))
            self._bar(asked, first, events, state, None)
            if first == TRUE and not (asked.whole and asked.arc.transfer is None):
                skips.append(asked)
                continue
            asked.count(first, n, le)
            stays = stays or first == TRUE
        leads_on = stays and (state in self.epsilon or (takes and state in self.table.timeouts))
        if left or skips or leads_on:
            for register, members in standing.groups[state].items():
                anew, found = self._of_group(register, members, left, skips, y)
                if leads_on:
                    closed = self._closed(state, register, le, None if takes else NO_ARCS)
                    (anew if takes else found).extend((q.state, q.register, None) for q in closed)
                found += anew
                for target in found:
                    into = come.setdefault(target[:2], {})
                    cap = target[2]
                    into.update(dict.fromkeys(members if cap is None else ((start, min(m, cap)) for start, m in members)))
                for to, after, cap in anew if self.table.timeouts else ():
                    if to in self.table.timeouts:
                        self._anew |= {PMatch(start, m if cap is None else min(m, cap), to, after) for start, m in members}
                if found:
                    self._led(standing, state, register, found)
                if not stays:
                    gone.append((state, register, bool(found)))
        elif not stays:
            gone += [(state, register, False) for register in standing.groups[state]]

    @staticmethod
    def _led(standing: StandingMatches, state: str, register: Any, found: Sequence[tuple[str, Any, int | None]]) -> None:
        """Mark those of a register that stay of which something else has come."""
        others = any(target[:2] != (state, register) for target in found)
        caps = [cap for *place, cap in found if tuple(place) == (state, register) and cap is not None]
        for start, m in list(standing.groups[state][register]):
            if others or any(cap < m for cap in caps):
                standing.mark(PMatch(start, m, state, register), LED)

    def _of_group(self, register: Any, members: Any, left: Any, skips: Any, y: Step) -> tuple[Targets, Targets]:
        """Return what the partial matches of one register become: what rests anew then, and what a skip leaves as it is."""
        le, n = y.le, len(members)
        anew: Targets = []
        found: Targets = []
        state = ""
        for asked, events in left:
            state = asked.arc.src
            for payload, re in events:
                outcome, after = self._taken(asked, payload, register)
                asked.count(outcome, n, le)
                if outcome == TRUE:
                    anew += [(q.state, q.register, re) for q in self._closed(asked.arc.dst, after, le)]
                elif outcome >= 0:
                    self.misses.look_at(asked, outcome, payload, y, (register, members))
        for asked in skips:
            state = asked.arc.src
            outcome, after = self._passed(asked, y, register)
            self._bar(asked, outcome, list(y.events), state, register)
            asked.count(outcome, n, le)
            if outcome == TRUE:
                same = after == register
                closed = self._closed(state, after, le, NO_ARCS if same else None)
                (found if same else anew).extend((q.state, q.register, None) for q in closed)
        return anew, found

    def _taken(self, asked: CountedFence, payload: Any, register: Any) -> tuple[int, Any]:
        self.cost += 1
        outcome = asked.outcome(payload, register)
        if outcome != TRUE:
            return outcome, None
        after = asked.after(payload, register)
        return (TRUE, after) if after is not None else (RAISED, None)

    def _passed(self, asked: CountedFence, y: Step, register: Any) -> tuple[int, Any]:
        """Return how a skip answers for all events of a step, and the register behind it."""
        self.cost += len(y.events)
        first = _first_of([asked.outcome(payload, register) for payload, _ in y.events])
        after = register
        for payload, _ in y.events if first == TRUE else ():
            if _first_of([asked.leading(payload), asked.outcome(payload, after)]) != TRUE:
                return len(asked.parts) - 1, None
            after = asked.after(payload, after)
            if after is None:
                return RAISED, None
        return first, after

    def _closed(self, state: str, register: Any, le: int, timeouts: ByState | None = None) -> list[PMatch]:
        return self.transitions.closure(PMatch(0, 0, state, register), le, self.table.timeouts if timeouts is None else timeouts)

    def _begin(self, y: Step, events: list[Any], come: dict[Any, Any]) -> None:
        """Begin what begins at a step."""
        begun: dict[PMatch, None] = {}
        ready = self.transitions.ready(y.start, y.le)
        for source in ready:
            if source.state in self.epsilon:
                self._ask_epsilon(source.state, {source.register: (None,)}, y.le)
            for asked in self.in_force(CONSUME, source.state, y.le):
                for (payload, re), lead in zip(events, self._lead(asked, events)):
                    outcome, after = self._taken(asked, payload, source.register) if lead == TRUE else (lead, None)
                    asked.count(outcome, 1, y.le)
                    if outcome == TRUE:
                        begun |= dict.fromkeys(
                            PMatch(y.start, re, q.state, q.register) for q in self._closed(asked.arc.dst, after, y.le)
                        )
                    elif outcome >= 0:
                        self.misses.look_at(asked, outcome, payload, y, None)
        self.began += bool(begun)
        for p in begun:
            come.setdefault((p.state, p.register), {})[p.start, p.re] = None
        if self.table.timeouts:
            self._anew |= begun.keys()

    def _settle(self, standing: StandingMatches, le: int, come: dict[Any, Any], gone: list[Any]) -> None:
        """Let what has come stand, and count what does not any more."""
        if self.longest:
            self._keep_longest(standing, come, gone)
        for state, register, went in gone:
            stays = come.get((state, register), {})
            for start, m in [member for member in standing.groups[state].get(register, ()) if member not in stays]:
                dropped = standing.drop(state, register, start, m)
                assert dropped is not None
                self.over(dropped, le, went, False)
                barred = None if went or dropped.marks else self._barred.get((state, register), self._barred.get((state, None)))
                if barred is not None:
                    negation, payload = barred
                    self.cut(state, negation, payload, le)
        for (state, register), members in come.items():
            for start, m in members:
                self._stand(standing, PMatch(start, m, state, register), le)

    def _keep_longest(self, standing: StandingMatches, come: dict[Any, Any], gone: list[Any]) -> None:
        """Keep of each state and register the one with the largest ``m``; what it outlives goes on in it."""
        left = {(state, register) for state, register, _ in gone}
        for state, register in self._wide - left:
            if register in standing.groups.get(state, {}):
                come.setdefault((state, register), {})
        self._wide = set()
        for place, members in come.items():
            state, register = place
            if place not in left:  # what stays counts too
                held = standing.groups.get(state, {}).get(register)
                if held:
                    members.update(dict.fromkeys(held))
                    gone.append((state, register, True))
            if not members:
                continue
            best = max(members, key=lambda member: (member[1], member[0]))
            come[place] = {best: None}

    def _ask_epsilon(self, state: str, groups: Any, le: int) -> None:
        """Count how the epsilon arcs out of a state answer, once for each partial match that stands there at a step."""
        for asked in self.in_force(EPSILON, state, le):
            for register, members in groups.items():
                self.cost += 1
                outcome = _first_of([asked.leading(None), asked.outcome(None, register)])
                if outcome == TRUE and asked.after(None, register) is None:
                    outcome = RAISED
                asked.count(outcome, len(members), le)

    # -- time-outs and matches ---------------------------------------------------------------------------------------------

    def _fire(self, standing: StandingMatches, since: int, horizon: int) -> None:
        """Let the time-outs of all that stands fire up to an instant; a promise has let those below ``since`` fire before."""
        if not self.table.timeouts:
            return
        least = max(since + 1, self.since)
        waiting = [(since, p) for state in self.table.timeouts if standing.holds(state) for p in standing.in_state(state)]
        fired: dict[tuple[int, PMatch], None] = {}
        for _, p in waiting:
            self.cost += 1
            found = self.transitions.fired(p, Rest(since, least), horizon)
            fired |= dict.fromkeys(found)
            if any(q != p for _, q in found):
                standing.mark(p, LED)
            if self._ask_timeouts(p, since, horizon, p in self._anew):
                standing.mark(p, LED)
        for t, q in fired:
            self._ask_timeouts(q, t, horizon, True)
        for t, q in sorted(fired, key=lambda item: item[0]):
            if q.state in self.epsilon:
                self._ask_epsilon(q.state, {q.register: (None,)}, t)
            self._stand(standing, q, t)
            if self.longest:
                self._wide.add((q.state, q.register))
            if self.transitions.final(q.state, t):
                self._accept(standing, q, t)

    def _ask_timeouts(self, p: PMatch, since: int, horizon: int, anew: bool) -> bool:
        """Ask the time-outs of what waits since an instant; if it rests ``anew``, they may fire at it. Whether one led away so."""
        led = False
        for asked in self._by_state.get((TIMEOUT, p.state), ()):
            t = max(since, self.transitions.instant(asked.arc, p.register, since))
            fires = max(since, self.since) <= t <= horizon and t < p.re and asked.serves(t) and (anew or t > since)
            asked.asked += 1
            asked.true += fires
            led = led or (fires and t == since and asked.arc.dst != p.state)
            if fires and (asked.last is None or t > asked.last):
                asked.last = t
        return led

    def _match(self, standing: StandingMatches, le: int) -> None:
        """Count the matches at a step."""
        for state, n in standing.count.items():
            if n and self.transitions.final(state, le):
                for register, members in standing.groups[state].items():
                    for start, m in members:
                        self._accept(standing, PMatch(start, m, state, register), le)

    def _accept(self, standing: StandingMatches, p: PMatch, t: int) -> None:
        self.ended[p.state].matched += standing.mark(p, ACCEPTED)
        shown: Any = tuple(p.register if self.automaton.choice is not None else self.automaton.match(p.register))
        self._told.setdefault(t, set()).add(shown if self.longest else (shown, p.re))

    def _forget(self, before: int | None) -> None:
        """Count the matches of instants to which none can come any more."""
        for t in [t for t in self._told if before is None or t < before]:
            self.matches += len(self._told.pop(t))


def _first_of(outcomes: Iterable[int]) -> int:
    """Return the answer of a fence that must hold of all: what raised, else the first conjunct that is false, else `TRUE`."""
    found = list(outcomes)
    if RAISED in found:
        return RAISED
    return min((outcome for outcome in found if outcome >= 0), default=TRUE)
