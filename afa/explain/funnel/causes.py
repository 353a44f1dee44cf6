"""Say in one sentence why there is no match: where partial matches got to, and what kept them from going on.

The state nearest to a final one that was reached is looked at, and the arcs out of it that lead on. What would stay in the way
whatever else were put right comes first:

    value, limit, none   no event at all has what an arc asks of it: a value that is misspelt, another unit, a field that is None
    raised               a fence raised of most events that got so far in it
    gap                  a number is missing behind what waits (gapless)
    key                  each key has one event
    waits, past          a time-out has not fired yet; it would fire past the window
    order                such events come, but never behind the ones before them
    window               they come when the window is over; unit: and the times are in another unit than the tick says
    between              they come in time, but another event comes between, which no arc takes, or which a negation forbids
    register             they were asked, and the comparison with what came before was false
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

from afa.errors import did_you_mean
from afa.explain.funnel.counting import Counting
from afa.explain.funnel.fence_parts import CountedFence
from afa.explain.funnel.labels import in_words, label_of, ticks_in_words, unit_hint
from afa.explain.funnel.negations import cut_in_words
from afa.expression.nodes import FLIPPED, Compare, Const, Expr, FieldRead, In, IsNone, Not, walk
from afa.model.arc import TIMEOUT

SHOWN = 3
"""How many values of a field are named."""
FEW = 0.1
"""Below this share of the partial matches that the window ended, each asked about, what would have come later does not count."""
MOSTLY = 0.9
"""From this share of the keys on it counts that they have one event each."""


class Cause(NamedTuple):
    """The reason why there is no match: its kind (see above, and ``empty``, ``late``, ``matched``, ``apart``), and in words."""

    kind: str
    text: str


class Facts(NamedTuple):
    """What is known beside the counts."""

    counting: Counting
    window: int | None
    tick: str | None
    keys: str = ""  # what the key is called; empty: there are no keys
    late: int = 0  # changes that came behind a promise and were dropped, since the beginning
    taken: int = 0  # those that were not
    promise: str = ""  # how a promise is made that lets time-outs fire
    dropped: bool = False  # whether a promise may have dropped events
    negation: str = ""  # which negation keeps the pattern from matching, in words; empty: none does
    when: Callable[[int], str] = str  # makes the text of an LE


def cause_of(facts: Facts) -> Cause:
    """Return why there is no match."""
    counting = facts.counting
    if facts.late and facts.late >= facts.taken:
        of = f"{facts.late:,} of {facts.late + facts.taken:,}" if facts.taken else f"all {facts.late:,}"
        return Cause("late", f"{of} changes came behind the promise and were dropped as late; promise later, or take more lateness")
    if not counting.events:
        return Cause("empty", "no event is held: a promise has dropped what has come" if facts.dropped else "there is no event")
    if counting.matches:
        return Cause("matched", _lost(facts))
    if counting.automaton.start not in counting.far:
        return Cause("apart", f"no arcs lead from `{counting.automaton.start}` to a final state")
    found = Cause("between", facts.negation) if facts.negation else _Frontier(facts).cause()
    if counting.ties:
        tied = f"{counting.alike:,} events share key and time with another, and no `order_by=` is given"
        found = found._replace(text=f"{found.text}; {tied}: of such events none comes behind the other")
    return found


def _lost(facts: Facts) -> str:
    """Say of a pattern that matches where most partial matches ended otherwise."""
    counting = facts.counting
    text = f"{counting.matches:,} match{'es' * (counting.matches != 1)}, from {_many(counting.began, 'beginning')}"
    state = max(counting.ended, key=lambda state: counting.ended[state].by_window + counting.ended[state].by_no_arc)
    ended = counting.ended[state]
    if ended.by_window + ended.by_no_arc:
        ends = [(ended.by_window, "by the window"), (ended.by_no_arc, "by no arc")]
        text += f"; most others ended in `{state}`: {', '.join(f'{n:,} {how}' for n, how in ends if n)}"
    return text


class _Frontier:
    """The state nearest to a final one that was reached, and the arcs that lead on from there."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.counting = facts, facts.counting
        counting = facts.counting
        reached = [state for state, ended in counting.ended.items() if ended.entered + ended.before and state in counting.far]
        self.state = min(
            reached or [counting.automaton.start], key=lambda state: (counting.far[state], -counting.ended[state].entered, state)
        )
        self.began = bool(reached)
        self.ended = counting.ended[self.state]
        self.total = self.ended.entered + self.ended.before
        ahead = [asked for asked in counting.asked.values() if asked.arc.src == self.state and asked.far]
        self.ahead = sorted(ahead, key=lambda asked: (not asked.arc.reads_event, -asked.asked))

    def cause(self) -> Cause:
        """Return the first reason that holds."""
        found = self.raised() or self.never() or self.single() or self.gap() or self.waits() or self.order() or self.window()
        return found or self.between() or self.stopped()

    def said(self, asked: CountedFence) -> str:
        """Say how often an arc was asked."""
        if not asked.asked:
            return f"`{label_of(asked.arc)}` was never asked"
        return f"`{label_of(asked.arc)}` was asked {_many(asked.asked, 'time')} and {'never' if not asked.true else 'rarely'} true"

    def all(self, n: int) -> str:
        """Say how many of the partial matches in the state."""
        of = _many(self.total, "partial match", "es")
        return (
            f"{'the one' if n == 1 else f'all {n:,}'} partial match{'es' * (n != 1)} in `{self.state}`"
            if n == self.total
            else (f"{n:,} of {of} in `{self.state}`")
        )

    # -- what no event has -----------------------------------------------------------------------------------------------------

    def never(self) -> Cause | None:
        """Events of which one is what an arc asks for are not there at all."""
        readers = [asked for asked in self.ahead if asked.arc.reads_event]
        found = None
        for asked in readers:
            missing = [i for i in asked.of_event if not asked.ever[i]]
            if not missing or len(readers) != len(self.ahead):
                return None
            found = found or (asked, missing[0])
        if found is None:
            return None
        asked, i = found
        kind, why = self._told(asked, i)
        return Cause(kind, f"{self.said(asked)}: {why}")

    def _told(self, asked: CountedFence, i: int) -> tuple[str, str]:
        """Say what the events have in place of what a conjunct asks for."""
        part = asked.parts[i]
        match part.expr:
            case Compare("==", FieldRead("e", name), Const(value)) | Compare("==", Const(value), FieldRead("e", name)):
                found = self._values(name, [value])
            case In(FieldRead("e", name), items):
                found = self._values(name, [item.value for item in items])
            case Compare(op, Const(value), FieldRead("e", name)) if op in FLIPPED:
                found = self._beyond(FLIPPED[op], name, value)
            case Compare(op, FieldRead("e", name), Const(value)):
                found = self._beyond(op, name, value)
            case Not(IsNone(FieldRead("e", name))):
                found = self._none(name)
            case _:
                found = None
        return found or self._nones(part.expr) or ("never", f"`{part.text}` is true of no event")

    def _nones(self, expr: Expr | None) -> tuple[str, str] | None:
        names = dict.fromkeys(node.name for node in walk(expr) if isinstance(node, FieldRead)) if expr is not None else ()
        return next((found for found in map(self._none, names) if found), None)

    def _none(self, name: str) -> tuple[str, str] | None:
        values = self.counting.values.get(name)
        if values is None or not values.none:
            return None
        of = (
            f"all {_many(values.events, 'event')}"
            if values.none == values.events
            else f"{values.none:,} of {values.events:,} events"
        )
        return "none", f"{name} is None in {of}"

    def _values(self, name: str, wanted: list[Any]) -> tuple[str, str] | None:
        values = self.counting.values.get(name)
        if values is None or values.none == values.events or not values.counts or any(value in values.counts for value in wanted):
            return None
        texts = [value for value in values.counts if isinstance(value, str)]
        near = did_you_mean(wanted[0], texts) if isinstance(wanted[0], str) else ""
        common = values.common(SHOWN)
        named = ", ".join(map(repr, common)) + (", .." if len(values.counts) > len(common) else "")
        return "value", f"no {name} is {' or '.join(map(repr, wanted))}, but {named}{near}"

    def _beyond(self, op: str, name: str, value: Any) -> tuple[str, str] | None:
        values = self.counting.values.get(name)
        if values is None or not isinstance(value, (int, float)):
            return None
        far = values.high if op in (">", ">=") else values.low
        if not isinstance(far, (int, float)):
            return None
        if op not in (">", ">=", "<", "<="):
            return None
        other = value * far > 0 and (abs(value) >= 10 * abs(far) or abs(far) >= 10 * abs(value))
        unit = "; is the limit in the unit of the field?" if other else ""
        return "limit", f"the {'largest' if op in ('>', '>=') else 'smallest'} {name} is {far!r}, not {op} {value!r}{unit}"

    def raised(self) -> Cause | None:
        """An arc was not true, and raised of most that got so far in its fence, where no event has what another conjunct asks."""
        for asked in self.ahead:
            missing = any(asked.stopped[i] and not asked.ever[i] for i in asked.of_event)
            if not asked.true and not missing and asked.raised > sum(asked.stopped[asked.broke :]):
                fields = [found for part in asked.parts if (found := self._nones(part.expr))]
                why = fields[0] if fields else ("raised", "an arc does not serve where it raises")
                guard = "; say `.. is not None and ..` first" if fields else ""
                text = f"{self.said(asked)}, as it raised {asked.error} {_many(asked.raised, 'time')}: {why[1]}{guard}"
                return Cause(why[0], text)
        return None

    # -- where they are ----------------------------------------------------------------------------------------------------------

    def single(self) -> Cause | None:
        """Each key has one event, so that nothing can come after it."""
        counting = self.counting
        if not self.facts.keys or counting.keys < 2 or counting.single < MOSTLY * counting.keys or not self.began or not self.ahead:
            return None
        if any(asked.arc.kind == TIMEOUT for asked in self.ahead):
            return None
        each = f"{'each' if counting.single == counting.keys else f'{counting.single:,}'} of the {counting.keys:,} keys"
        return Cause(
            "key",
            f"{self.said(self.ahead[0])}: {each} ({self.facts.keys}) has one event only; is this the key?",
        )

    def gap(self) -> Cause | None:
        """What waits stands in front of a gap."""
        ended = self.ended
        if not ended.at_gap or ended.at_gap < max(ended.by_window, ended.by_no_arc, ended.open - ended.at_gap) or not self.ahead:
            return None
        wait = f"{self.all(ended.at_gap)} wait{'s' * (ended.at_gap == 1)} in front of a gap, as the next number is missing"
        return Cause("gap", f"{self.said(self.ahead[0])}: {wait}")

    def waits(self) -> Cause | None:
        """Time-outs that have not fired, or never will."""
        waiting = [asked for asked in self.ahead if asked.arc.kind == TIMEOUT and not asked.true]
        if not waiting:
            return None
        asked = max(waiting, key=lambda asked: asked.past)
        name, ended = label_of(asked.arc), self.ended
        if asked.past and asked.past >= max(ended.by_no_arc, ended.open):
            window = "" if self.facts.window is None else f" ({ticks_in_words(self.facts.window, self.facts.tick)})"
            return Cause(
                "past", f"`{name}` would fire past the window{window} in {_many(asked.past, 'case')}: give a longer window"
            )
        if ended.open:
            text = f"{_many(ended.open, 'partial match', 'es')} in `{self.state}` still wait{'s' * (ended.open == 1)} for `{name}`"
            return Cause("waits", f"{text}: no promise has come up to where it fires{self.facts.promise}")
        return None

    def order(self) -> Cause | None:
        """The event that an arc could take never comes behind what waits for it."""
        readers = [asked for asked in self.ahead if asked.arc.reads_event]
        if not self.began or not readers or self.ended.could_wide or self.ended.could_later or self.ended.by_match:
            return None
        if any(sum(n for i, n in enumerate(asked.stopped) if i not in asked.of_event) or asked.raised for asked in readers):
            return None
        if not any(asked.asked for asked in self.ahead) and self.ended.open == self.total:
            of = " of the key" if self.facts.keys else ""
            return Cause("waits", f"{self.said(readers[0])}: {self.all(self.total)} waited to the end, as no event{of} came behind")
        asked = max(readers, key=lambda asked: self.counting.could[id(asked)])
        could = self.counting.could[id(asked)]
        if not could:
            texts = " and ".join(f"`{asked.parts[i].text}`" for i in asked.of_event)
            return Cause("never", f"{self.said(asked)}: no event satisfies {texts} at once")
        wanted = " and ".join(f"`{asked.parts[i].text}`" for i in asked.of_event) or "that it could take"
        of = " of the same key" if self.facts.keys else ""
        which = f"no event with {wanted}, of {could:,} there are, comes behind one{of} that led to `{self.state}`"
        return Cause("order", f"{self.said(asked)}: {which}, so the pattern's order never occurs")

    def window(self) -> Cause | None:
        """They were ended by the window."""
        ended = self.ended
        if self.facts.window is None and not ended.by_window:
            return None
        if not ended.by_window or ended.by_window < max(ended.by_no_arc, ended.open) or not self.ahead:
            return None
        asked, helped = max(asked.asked for asked in self.ahead), len(ended.could_wide)
        if (asked and not helped) or (asked >= ended.by_window and helped < FEW * ended.by_window):
            return None  # a longer one would hardly help, as far as the next few events tell
        tick, gaps = self.facts.tick, self.counting.gaps
        about = [] if self.facts.window is None else [ticks_in_words(self.facts.window, tick)]
        if gaps:
            of = " of a key" if self.facts.keys else ""
            about.append(f"median distance of two events{of}: {in_words(statistics.median_low(gaps), tick)}")
        if ended.could_wide:
            few = f", for {len(ended.could_wide):,} of them," if 2 * len(ended.could_wide) < ended.by_window else ""
            about.append(f"what it takes comes{few} after {in_words(statistics.median_low(ended.could_wide), tick)} in the median")
        text = f"{self.said(self.ahead[0])}: {self.all(ended.by_window)} ended by the window ({'; '.join(about)})"
        if self.facts.window is not None and tick is None and gaps and statistics.median_low(gaps) >= self.facts.window:
            return Cause("window", f"{text}; is the window in the unit of the times?")
        hint = unit_hint(self.counting.low, self.counting.high, tick)
        return Cause("unit", f"{text}; {hint}") if hint else Cause("window", text)

    def between(self) -> Cause | None:
        """Another event came between, which no arc takes."""
        ended = self.ended
        if not ended.could_later or not self.ahead:
            return None
        cuts = [cut for cut in self.counting.cuts.values() if cut.state == self.state]
        if cuts:
            cut = max(cuts, key=lambda cut: (cut.ended, cut.negation))
            said = cut_in_words(cut, self.counting, self.facts.keys, self.facts.when)
            return Cause("between", f"{self.said(self.ahead[0])}: {said}")
        text = f"{self.said(self.ahead[0])}: {self.all(ended.by_no_arc)} ended by an event"
        those = "it" if ended.by_no_arc == 1 else f"{ended.could_later:,} of them"
        later = f"though for {those} one that it takes came later within the window"
        return Cause("between", f"{text} that no arc took, {later}; an ignorable arc or a skip lets others pass")

    def stopped(self) -> Cause:
        """What stopped most of what was asked."""
        asked = max(
            (asked for asked in self.ahead if asked.arc.kind != TIMEOUT), key=lambda asked: sum(asked.stopped), default=None
        )
        if asked is None or not sum(asked.stopped):
            ended = self.ended
            ends = f"{ended.by_window:,} ended by the window, {ended.by_no_arc:,} by no arc, {ended.open:,} are open at the end"
            begun = self.said(self.ahead[0]) if self.ahead else f"no arc leads on from `{self.state}`"
            return Cause(
                "waits" if ended.open >= ended.by_window + ended.by_no_arc else "stopped",
                f"{begun}: of {_many(self.total, 'partial match', 'es')} in `{self.state}` {ends}",
            )
        i = max(range(len(asked.stopped)), key=lambda i: (not asked.parts[i].of_event and asked.stopped[i] > 0, asked.stopped[i]))
        most = f"`{asked.parts[i].text}` stopped it {_many(asked.stopped[i], 'time')}"
        near = next((_near(asked, miss) for miss in asked.misses if miss.part == i), "")
        of_register = asked.parts[i].expr is not None and not asked.parts[i].of_event
        return Cause("register" if of_register else "stopped", f"{self.said(asked)}: {most}{near}")


def _near(asked: CountedFence, miss: Any) -> str:
    """Say how near the nearest miss was: both sides of the comparison."""
    expr = asked.parts[miss.part].expr
    if not isinstance(expr, Compare) or miss.rank[1] == float("inf"):
        return ""
    from afa.expression.evaluation import evaluate

    left, right = (evaluate(side, miss.payload, miss.register) for side in (expr.left, expr.right))
    return f", the nearest by {left!r} {expr.op} {right!r}"


def _many(n: int, word: str, more: str = "s") -> str:
    return f"{n:,} {word}{more * (n != 1)}"
