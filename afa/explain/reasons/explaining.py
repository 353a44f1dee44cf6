"""`Reasons`: a stage around an operator that tells of each match why it came, or went.

    change -> operator -> out
    change -> the operator as it was before the call -> lineages of what the change withdraws

The changes of a call are taken one by one by both, so that it is known which of them did it, and what the match consisted of when
it did. All of it is one call of the operator, in which the copy takes part: it is taken back in both, or in none.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from afa.arclog.arc_log import Poll
from afa.change import Change
from afa.errors import AfaError
from afa.explain.reasons.because import Because, Explained, with_reasons
from afa.explain.reasons.call_items import check_explainable, first_time, left, polled, push_item
from afa.explain.reasons.telling import SentenceWords, known_zone
from afa.explain.reasons.why_changed import WithdrawalFacts, is_arc, why_come, why_gone, why_promised
from afa.io.table_times import TimeType
from afa.model.arc import Arc
from afa.model.keys import take_key
from afa.model.renamed import time_of
from afa.operator.call import Output
from afa.operator.contract import OperatorLike
from afa.operator.event_input import as_it_came, come
from afa.operator.matching import Matching
from afa.operator.tables import CallInput, CallOutput, Item, answer, items_of, opened
from punctuation.promise import Punctuation
from punctuation.timestamps import is_time

_MISSING: Any = object()


class Reasons(Matching):
    """Tell of each match why it was announced, or withdrawn: by which change of the input, and how.

    It is used like the operator that it is given, which is its own from then on. Each change of a match that leaves has ``because``
    (`afa.explain.reasons.Because`): a kind, the change of the input, a sentence. Tables have a column ``because``.

    Parameters
    ----------
    operator : Operator, Keyed, or one with stages around it (`Query.operator`)
        Made with ``lineage=True``, all that it withdraws is told with its events; without, a match of which a promise has dropped
        the first events is told by the change alone.
    zone : str, optional
        In which sentences tell times. None: UTC. Instants are told as times where the input has some, else as ticks.

    Raises
    ------
    AfaError
        The operator tells something in place of matches (``collapse=``, ``having=``), or has ``tell=``, ``gapless=`` or a callback;
        there is no such zone.

    Notes
    -----
    Two operators are held, and each change is pushed into both; a table goes row by row. O(lineage) for each match that a change
    withdraws, and for each that a late one announces. Source: SEMANTICS.md, "Reasons".

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from afa import Arc, Automaton, Operator, insert
    >>> class Pay(NamedTuple):
    ...     kind: str
    >>> twice = Automaton(start="0", final={"2"}, event=Pay, arcs=[
    ...     Arc("0", "1", "kind == 'declined'"), Arc("1", "2", "kind == 'declined'"),
    ... ])
    >>> op = Reasons(Operator(twice, window=60))
    >>> for change in op.push_many([insert(Pay("declined"), le=1), insert(Pay("declined"), le=5)]):
    ...     print(change.diff, change.because.text)
    1 Announced: 'declined, 5' is its last event.
    >>> (withdrawn,) = op.push(insert(Pay("approved"), le=3))
    >>> for sentence in withdrawn.because.text.split(". "):
    ...     print(sentence)
    Withdrawn: 'approved, 3' arrived late and lies between two of its events, 'declined, 1' and 'declined, 5'
    In state '1' no arc takes it: the partial match ends there.
    """

    def __init__(self, operator: OperatorLike, *, zone: str | None = None) -> None:
        if not isinstance(operator, Matching) or isinstance(operator, Reasons):
            raise AfaError(f"expected an Operator or a Keyed but got {operator!r}")
        if zone is not None and (type(zone) is not str or known_zone(zone) is None):
            raise AfaError(f"expected the name of a zone, such as Europe/Berlin, or an offset as +01:00 but got zone={zone!r}")
        core = operator._core
        stages = operator._stages_around()
        for stage in stages:
            if stage.no_reasons is not None:
                raise AfaError(stage.no_reasons)
        check_explainable(core)
        self.operator: Any = operator
        self._before = copy.deepcopy(operator)
        self._named: dict[int, Change] = {}  # by item of the call: the event that an id names, the arc that a poll has brought
        scans = ["Choose"] * (core.automaton.choice is not None)  # AFTER MATCH SKIP, told in the same words
        self._stages = frozenset([*(type(stage).__name__ for stage in stages), *scans])
        keys = () if core.keys is None else core.keys.fields
        self._words = SentenceWords(core.taken, tuple(keys), core.tick, False, zone)

    @property
    def _core(self) -> Any:  # type: ignore[override]
        return self.operator._core

    def _chosen(self) -> Callable[[Change], list[Any]] | None:
        found: Callable[[Change], list[Any]] | None = self.operator._chosen()
        return found

    def tell_times(self, zone: str | None = None) -> None:
        """Tell instants as times of a zone (None: UTC) from now on, also where ticks come. The operator has to have a tick."""
        self._words = self._words._replace(times=True, zone=zone)

    # -- calls -----------------------------------------------------------------------------------------------------------------

    def push(self, change: Change | Punctuation, *, key: Hashable = _MISSING) -> Output:
        """Take one event change or a promise. As `Operator.push`; with ``key`` as `Keyed.push`."""
        return self._whole_call(self._push, change, key)  # type: ignore[no-any-return]

    def _push(self, change: Any, key: Hashable) -> Output:
        self._see_times([change], "le")
        core = self._core
        item = core.in_form(change)
        named = isinstance(item, Change) and key is not _MISSING
        return self._carry_out([("event", item, take_key(key) if named else None)], True, None)[0]

    def push_many(self, batch: Any, *, net: bool = True, arcs: Sequence[Arc] = (), time: str = "le", **old: str) -> Any:
        """Take a batch, as one call. As `Operator.push_many`; a table of changes has a column ``because``."""
        return self._whole_call(self._push_many, batch, net, arcs, time_of(time, old))

    def _push_many(self, batch: Any, net: bool, arcs: Sequence[Arc], time: str) -> Any:
        core = self._core
        come: CallInput = opened(core, batch, arcs, time)
        self._see_times(batch if come.listed else [batch if come.like is None else come.like], time)
        items = list(items_of(core, come, core.ids is not None))
        if come.like is None:
            return self._carry_out(items, net, None)[0]
        out, table = self._carry_out(items, net, lambda out: answer(CallOutput.of(out, core.shown), come, core, net))
        return with_reasons(table, out, come.like, TimeType.of(come.like, core.tick))

    def _see_times(self, parts: Any, le: str) -> None:
        """Tell times as times once some have come."""
        if not self._words.times and self._words.tick is not None:
            for part in parts:
                names = (le, "le", getattr(self._words.schema, "instant", None))
                if is_time(part.le if isinstance(part, Change) else first_time(part, names)):
                    self._words = self._words._replace(times=True)
                    return

    def _arc_input(self, item: Any) -> Output:
        return self._whole_call(self._carry_out, [("arc", item, None)], True, None)[0]  # type: ignore[no-any-return]

    @property
    def keys(self) -> list[Hashable]:
        """The keys that hold any state."""
        found: list[Hashable] = self.operator.keys
        return found

    def snapshot(self) -> bytes:
        """Return the operator's snapshot. To go on, restore the operator and put it into a `Reasons` again."""
        found: bytes = self.operator.snapshot()
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (self.operator, self._words.zone, self._words.times)

    def __copy__(self) -> Reasons:
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Reasons:
        with self._core.calls.lock:
            other = memo[id(self)] = Reasons(copy.deepcopy(self.operator, memo))
            other._words = self._words
            return other

    # -- one call --------------------------------------------------------------------------------------------------------------

    def _whole_call(self, work: Callable[..., Any], *args: Any) -> Any:
        """Do work as one call of the operator, with the copy and what is noted here: all of it, or nothing."""
        calls = self._core.calls
        found = calls.call(self._together, work, *args)
        calls.call(self._tidy)  # a call, too: another thread's may have begun
        return found

    def _together(self, work: Callable[..., Any], *args: Any) -> Any:
        self._tidy()  # where an interrupt came right behind the call before
        for member in (*self._before._core.calls.members, self):
            self._core.calls.include(member)
        return work(*args)

    def _tidy(self) -> None:
        """Let the copy forget how to take back what has worked. Can be repeated from the start."""
        for member in self._before._core.calls.members:
            member.call_worked()

    def call_begins(self) -> Any:
        """Return what `call_failed` needs. See `punctuation.calls.Member`."""
        return self._words

    def call_failed(self, before: Any) -> None:
        """Restore what was noted before a call."""
        self._words = before

    def _carry_out(self, items: list[Item], net: bool, write: Callable[[Output], Any] | None) -> tuple[Output, Any]:
        """Carry out items within a call. Returns its output, and what ``write`` makes of it without reasons, or it is refused."""
        outs, come = self._ahead(items)
        places = left(outs, net)
        written = write([outs[i][j] for i, j in places]) if write is not None else None
        reasons = come | self._behind(items, outs, places)
        found: Output = []
        for i, j in places:
            change = outs[i][j]
            found.append(change if isinstance(change, Punctuation) else Explained.because_of(change, reasons[i, j]))
        self._taken(items, places, found)
        return found, written

    def _announced(self, place: tuple[int, int], change: Any) -> None:
        """Take note of a match that the call has announced, in force now: its item, and its place in the output of that."""

    def _taken(self, items: list[Item], places: list[tuple[int, int]], out: Output) -> None:
        """Take note of what a call took and told; ``places``: of each record the item, and its place in the output of that."""

    def _ahead(self, items: list[Item]) -> tuple[list[Output], dict[tuple[int, int], Because]]:
        """Push all items. Returns the output of each, and the reasons of what each announces."""
        outs: list[Output] = []
        reasons = {}
        self._named = {}
        for i, item in enumerate(items):
            self._look_up(i, item)
            now, arcs = self._core.progress.now, self._core.arcs.table.events
            outs.append(push_item(self.operator, item))
            if type(item[1]) is Poll and (brought_by := polled(arcs, self._core.arcs.table.events)) is not None:
                self._named[i] = brought_by
            come = [j for j, change in enumerate(outs[i]) if isinstance(change, Change) and change.diff > 0]
            if come:
                asked = self._asked(self.operator, items, i, outs[i])
                for j in come:
                    reasons[i, j] = self._why_come(asked, outs[i][j], items[i], now)
                    self._announced((i, j), outs[i][j])
        return outs, reasons

    def _why_come(self, asked: WithdrawalFacts, match: Any, item: Item, now: int) -> Because:
        if isinstance(item[1], Punctuation):
            return why_promised(item[1], match, asked)
        newest = not is_arc(asked.change) and asked.change.le >= now  # type: ignore[operator]
        return why_come(asked, match, newest)

    def _behind(self, items: list[Item], outs: list[Output], places: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Because]:
        """Push all items into the operator that has stayed behind; return the reasons of what each withdraws."""
        wanted: dict[int, list[int]] = {}
        for i, j in places:
            change = outs[i][j]
            if isinstance(change, Change) and change.diff < 0:
                wanted.setdefault(i, []).append(j)
        reasons = {}
        for i, item in enumerate(items):
            for j in wanted.get(i, ()):
                if j == wanted[i][0]:
                    asked = self._asked(self._before, items, i, outs[i])
                reasons[i, j] = why_gone(asked, outs[i][j])  # type: ignore[arg-type]
            push_item(self._before, item)
        return reasons

    def _asked(self, operator: Any, items: list[Item], i: int, out: Output) -> WithdrawalFacts:
        """Return what a reason is told from. ``operator``: as it was before the item, or as it is after it."""
        after = None
        if i + 1 < len(items) and items[i + 1][2] == items[i][2]:
            after = self._whole(items, i + 1)
        matches = [change for change in out if isinstance(change, Change)]
        promised = items[i][1].t if isinstance(items[i][1], Punctuation) else None
        change = self._whole(items, i) or Change(None, promised, None, 0)
        return WithdrawalFacts(operator, change, matches, after, self._stages, self._words)

    def _look_up(self, i: int, item: Item) -> None:
        """Note which event an item retracts that names it by an id, while that is in force."""
        core, change = self._core, item[1]
        if core.ids is not None and isinstance(change, Change) and type(change.diff) is int and change.diff < 0:
            known = core.ids.whole_retraction(change)
            if known is not None:
                self._named[i] = known

    def _whole(self, items: list[Item], i: int) -> Change | None:
        """Return an event change in its whole form, or a change of an arc. None: neither."""
        port, change, key = items[i]
        core = self._core
        if i in self._named:
            return self._named[i]
        if type(change) is Poll:
            return None
        if port == "arc":
            return change if isinstance(change, Change) else Change(change, getattr(change, "at", None), None, 0)
        if not isinstance(change, Change) or (core.ids is not None and change.diff < 0):
            return None
        return as_it_came(core, come(core, change, key)) if core.ids is None else core.ids.content_of(change, key)


def _arrived(operator: Any, zone: str | None, times: bool) -> Reasons:
    """Make what was pickled: the operator, in a `Reasons` again."""
    found = Reasons(operator, zone=zone)
    found._words = found._words._replace(times=times)
    return found
