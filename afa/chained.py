"""Operators one after another, used as one: what one announces and withdraws, the next takes as events.

    events -> operator -> matches, as events -> operator -> matches

A match keeps its lifetime, and its key where the next operator's events make none. A call is all or nothing over all of them, and
gives the minimal difference of the last one's matches: what pushing each output by hand into the next would leave.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from afa.change import Change
from afa.engine import Logged
from afa.errors import AfaError, SnapshotError
from afa.model.arc import Arc
from afa.model.keys import UNSAID
from afa.model.renamed import time_of, warn_renamed
from afa.operator import snapshot as saving
from afa.operator.call import Core, Output
from afa.operator.contract import Pattern
from afa.operator.operator import Keyed, Operator
from afa.operator.patterns import pattern_of
from afa.operator.tables import CallInput, CallOutput, answer, assemble, items_of, opened, shape_of
from afa.operator.twins import Twins
from afa.state.sound import short
from punctuation import sealed
from punctuation.door import Table, table_of
from punctuation.promise import Punctuation
from punctuation.timestamps import Timed
from speculation.around import Around

MAGIC, VERSION = b"AFAL", 1


class _Within:
    """Calls of an operator within a call of its chain, which makes them all or nothing."""

    def call(self, work: Any, *args: Any, **options: Any) -> Any:
        return work(*args, **options)

    def either(self, alone: Any, work: Any, *args: Any) -> Any:
        return work(*args)


class Chain(Twins):
    """Operators one after another.

    Parameters
    ----------
    links : Operator, Keyed, or one of these with stages (of a query, a `TemporalPattern`, a `Cleanse`)
        At least two. The fields of the events of each are among those that the matches of the one before show. All have taken
        nothing yet but through this chain, and are used through it from now on.

    Attributes
    ----------
    links : tuple

    Raises
    ------
    AfaError
        One is no operator, or stands in the chain twice; the events of one have fields that the matches before don't have, or of
        other types; ticks differ.

    Notes
    -----
    A promise goes through all: each operator promises what is final of its matches. Tables go as columns where they fit. On Spark,
    put one `afa.spark.match` after the other in one query.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from afa import Automaton, insert
    >>> class Tick(NamedTuple):
    ...     x: int
    >>> class Rise(NamedTuple):
    ...     by: int = 0
    >>> rises = Automaton(
    ...     start="0", final={"2"}, event=Tick, register=Rise(),
    ...     arcs=[Arc("0", "1", "True", "Rise(x)"), Arc("1", "2", "x > r.by", "Rise(x - r.by)")],
    ... )
    >>> twice = Automaton(start="0", final={"2"}, event=Rise, arcs=[Arc("0", "1", "by > 1"), Arc("1", "2", "by > 1")])
    >>> op = Chain(Operator(rises, window=9), Operator(twice, window=9))
    >>> [(match.le, match.diff) for match in op.push_many([insert(Tick(x), le) for le, x in ((1, 1), (2, 5), (4, 9))])]
    [(4, 1)]
    >>> [(match.le, match.diff) for match in op.push(insert(Tick(7), 3))]  # late
    [(4, -1), (3, 1), (4, 1)]
    """

    links: tuple[Any, ...]
    _keeps_ends = True
    """Whether a match ends as an event where it ends itself."""

    def __init__(self, *links: Any) -> None:
        self._hold(links)
        if any(link._core.changes for link in links):
            raise AfaError("expected operators that have taken nothing yet but got one that has")

    def _hold(self, links: Sequence[Any]) -> None:
        for link in links:
            if not isinstance(link, (Operator, Keyed, Around)):
                hint = f"; write {type(link).__name__}.operator()" if isinstance(link, Pattern) else ""
                raise AfaError(f"expected operators but got {link!r}{hint}")
        if len(links) < 2 or len({id(link._core) for link in links}) < len(links):
            raise AfaError(f"expected two operators or more, each once, but got {len(links)}")
        for one, other in itertools.pairwise(links):
            _check_fit(one._core, other._core)
        self.links = tuple(links)
        self._calls = links[0]._core.calls
        for link in links[1:]:
            for member in link._core.calls.members:
                self._calls.join(member)
                if hasattr(member, "_calls"):  # a stage
                    member._calls = self._calls
            link._core.calls = self._calls

    # -- calls -----------------------------------------------------------------------------------------------------------------

    def push(self, change: Change | Punctuation, *, key: Hashable = UNSAID) -> Output:
        """Take one event change of the first operator, or a promise. As its ``push``."""
        found: Output = self._calls.call(self._push, change, key)
        return found

    def _push(self, change: Any, key: Hashable) -> Output:
        core = self.links[0]._core
        change = core.in_form(change)
        return self._through(CallInput([("event", change, core.key_of(change, key))]))

    def push_many(self, batch: Any, *, net: bool = True, arcs: Sequence[Arc] = (), time: str = "le", **old: str) -> Any:
        """Take a batch of the first operator, as one call. As its ``push_many``; ``arcs`` are those of the first operator."""
        return self._calls.call(self._push_many, batch, net, arcs, time_of(time, old))

    def _push_many(self, batch: Any, net: bool, arcs: Sequence[Arc], time: str) -> Any:
        core, last = self.links[0]._core, self.links[-1]._core
        come = opened(core, batch, arcs, time)
        if come.like is None:
            return self._through(come) if net else self._one_by_one(come)
        if not net:
            found, like = CallOutput.of(self._one_by_one(come), last.shown), self._empty(come.like)
        else:
            found, like = self._found(come)
        if come.listed:
            return answer(found, come._replace(like=like), last, net)
        mixed = shape_of(core, come.like).mixed
        return assemble(found.rows, like, last, mixed, max((t for _, t in found.promises), default=None))

    def _through(self, come: CallInput) -> Output:
        """Carry out a net call of single items."""
        return self._on(0, self.links[0]._run(come, True))

    def _on(self, place: int, out: Output) -> Output:
        """Take what one operator gives through those behind it."""
        for before, link in itertools.pairwise(self.links[place:]):
            found = [_event(link._core, item, before._core.keys) for item in out]
            if not self._keeps_ends:
                found = [(port, item._replace(re=None) if isinstance(item, Change) else item, key) for port, item, key in found]
            out = link._run(CallInput(found), True)
        return out

    def through(self, place: int, change: Callable[[Any], Output]) -> Output:
        """Change one of the operators, as a call of the chain: what it gives goes through those behind it.

        Parameters
        ----------
        place : int
            Which of ``links``.
        change : callable
            Is called with the operator, and returns what it gives: ``lambda op: op.push_arc(insert(arc))``,
            ``lambda op: op.redefine("hot", "x > 9")``.

        Returns
        -------
        list of Change and Punctuation
            Of the last operator.
        """
        found: Output = self._calls.call(self._through_one, place, change)
        return found

    def _through_one(self, place: int, change: Callable[[Any], Output]) -> Output:
        core = self.links[place]._core
        core.calls = _Within()
        try:
            out = change(self.links[place])
        finally:
            core.calls = self._calls
        return self._on(place, out)

    def _found(self, come: CallInput) -> tuple[CallOutput, Table]:
        """Carry out a net call that brings tables. Returns its output, and the table that came to the last operator."""
        like = come.like
        assert like is not None
        for i, link in enumerate(self.links):
            core = link._core
            found = link._found(come, True)
            if i + 1 < len(self.links):
                parts = [part if isinstance(part, Punctuation) else self._come(part, like, core) for part in found.parts()]
                come = opened(self.links[i + 1]._core, [self._come(found.rows.part(0, 0), like, core), *parts])
                assert come.like is not None
                like = _timed(come.like, like)
        return found, like

    def _one_by_one(self, come: CallInput) -> Output:
        core = self.links[0]._core
        return [item for each in items_of(core, come, core.ids is not None) for item in self._through(CallInput([each]))]

    def _empty(self, like: Table) -> Table:
        """Return an empty table like those that come to the last operator."""
        for one, other in itertools.pairwise(self.links):
            core = one._core
            none = self._come(CallOutput.of([], core.shown).rows, like, core)
            found = opened(other._core, [none]).like
            assert found is not None
            like = _timed(found, like)
        return like

    def _come(self, rows: Logged, like: Table, core: Core) -> Any:
        """Return the matches of an operator as a table of events."""
        table = assemble(rows, like, core)
        events = None if self._keeps_ends else table_of(table)
        return table if events is None else like.made({name: events.column(name) for name in events.names if name != "re"})

    # -- what is held ------------------------------------------------------------------------------------------------------------

    @property
    def automaton(self) -> Any:
        """The automaton of the last operator, whose matches leave."""
        return self.links[-1].automaton

    @property
    def statistics(self) -> tuple[Any, ...]:
        """The statistics of each operator, in order."""
        return tuple(link.statistics for link in self.links)

    @property
    def keys(self) -> list[Hashable]:
        """The keys for which any operator holds state, each once."""
        return list(dict.fromkeys(key for link in self.links if link._core.keyed for key in link.keys))

    def _check(self) -> None:
        for link in self.links:
            link._check()

    # -- snapshots -----------------------------------------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """Return all operators as bytes: plain data."""
        found: bytes = self._calls.call(self._snapshot)
        return found

    def _snapshot(self) -> bytes:
        return sealed.seal(MAGIC, VERSION, saving.plain([link._snapshot() for link in self.links]))

    @classmethod
    def restore(cls, links: Any, blob: Any, *functions: Any) -> Chain:
        """Make the chain that `snapshot` saved: ``Chain.restore([pattern, other], blob)``.

        Parameters
        ----------
        links : list
            For each operator its pattern, as of `Operator.restore`; or, where it takes options, such as a key, a function that
            restores it from its part of the blob: ``lambda part: Operator.restore(automaton, part, key="id")``.
        blob : bytes

        Raises
        ------
        SnapshotError
            The blob is no snapshot of a chain of so many operators, or is damaged. Also what restoring the operators raises.
        """
        if isinstance(links, (bytes, bytearray, memoryview)):
            warn_renamed("Chain.restore(blob, *functions)", "Chain.restore(links, blob)")
            links, blob = [blob, *functions], links
        elif functions or not isinstance(links, (list, tuple)):
            raise AfaError(f"expected a list of patterns or functions, one for each operator, and a blob but got {links!r}")
        parts = saving.unseal(MAGIC, VERSION, blob)
        if not isinstance(parts, list) or len(parts) != len(links) or not all(isinstance(part, bytes) for part in parts):
            raise SnapshotError(f"expected the snapshots of {len(links)} operators but got {short(parts)}")
        found = cls.__new__(cls)
        found._hold([_restored(link, part) for link, part in zip(links, parts)])
        return found

    def __repr__(self) -> str:
        return f"Chain({', '.join(type(link).__name__ for link in self.links)})"


class RowChain(Chain):
    """Operators of SQL one after another: a match is a row that stays, so that it lives as long as the next window says."""

    _keeps_ends = False


def _restored(link: Any, part: bytes) -> Any:
    if callable(link) and not isinstance(link, Pattern):
        return link(part)
    return pattern_of(link, "a pattern, or a function that restores an operator,").restore(part)


def _timed(found: Table, like: Table) -> Table:
    """Return a table whose times are of the type of another one's: a list without rows does not show it."""
    times = like.times if isinstance(like, Timed) else None
    return found if times is None or (isinstance(found, Timed) and found.times) else Timed(found, {}, times)


def _check_fit(one: Core, other: Core) -> None:
    """Refuse an operator whose events the matches of another one can't be."""
    if one.tick is not None and other.tick is not None and one.tick != other.tick:
        raise AfaError(f"expected operators of one tick but got {one.tick!r} and {other.tick!r}")
    if other.taken is None:
        return
    shown = {field.name: field.type for field in one.shown.fields} | dict.fromkeys(one.keys.names if one.keys else (), None)
    needed = [field for field in other.taken.fields if field.name != other.taken.instant]
    for field in needed:
        kind = shown.get(field.name, UNSAID)
        fits = kind is None or field.type in (kind, None) or (kind is int and field.type is float)
        if not fits:
            what = "the field" if kind is UNSAID else "another type of the field"
            raise AfaError(
                f"expected matches that are events {other.taken.describe()} but got {one.shown.describe()}; {what} {field.name!r} "
                f"is missing"
            )


def _event(core: Core, item: Any, keys: Any = None) -> tuple[str, Any, Hashable]:
    """Return what an operator gives as an event of the next; ``keys``: how its own keys are made."""
    if not isinstance(item, Change):
        return "event", item, None
    schema = core.taken
    if schema is not None:
        named = dict(zip(item.payload._fields, item.payload)) if hasattr(item.payload, "_fields") else {}
        named = dict(zip(keys.names, keys.parts(item.key))) | named if keys is not None else named
        item = item._replace(payload=schema.record({name: named[name] for name, *_ in schema.fields if name in named}))
    return "event", item, core.key_of(item)
