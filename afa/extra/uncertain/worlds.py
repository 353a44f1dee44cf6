"""Possible worlds as keys of an operator: in how many of them a match is in force is its confidence.

event, interval  ->  its time in each of 400 worlds  ->  Keyed, by world  ->  matches of worlds  ->  how many worlds have each
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from afa.change import Change, put_in_order
from afa.engine.budget import PARTIAL_MATCHES
from afa.errors import AfaError, ChangeError, SnapshotError
from afa.extra.uncertain.bounded_automaton import bounded
from afa.extra.uncertain.clock import Clock
from afa.extra.uncertain.confidences import Confidences, Difference, least_of
from afa.extra.uncertain.distributions import data_of, shape_in, shape_of
from afa.extra.uncertain.drawn_events import Drawing
from afa.extra.uncertain.known_events import KnownEvents
from afa.extra.uncertain.relevance import LeftOut
from afa.extra.uncertain.told_tables import match_class, table_of_matches
from afa.extra.uncertain.uncertain_rows import EventReader
from afa.extra.uncertain.worlds_options import (
    WorldsBudget,
    check_times,
    check_worlds,
    fields_named,
    of_query,
    worlds_in_parts,
)
from afa.language.query import Query
from afa.model.arc import TIMEOUT, Arc
from afa.model.automaton import Automaton
from afa.model.keys import Keys, take_key
from afa.model.option_values import names_of
from afa.model.renamed import warn_renamed
from afa.operator import snapshot as saving
from afa.operator.contract import Pattern, PatternInParts
from afa.operator.named_swap import named_swap
from afa.operator.operator import Keyed
from afa.operator.options import OperatorOptions, Unpack, options_again, options_of, takes_options
from afa.operator.plain_data import reading
from afa.operator.tables import carry_out
from afa.operator.twins import Twins
from afa.schema import Schema, as_ticks
from afa.state.sound import wanted
from punctuation import sealed
from punctuation.calls import whole
from punctuation.door import is_row, table_of
from punctuation.promise import Punctuation

MAGIC, VERSION = b"AFAW", 1
OWN = ("worlds", "lower", "upper", "time", "clock", "shape", "identity", "threshold", "seed")
TAKES = ("key", "window", "engine", "order_by", "late", "tick", "threads", "partial_matches", "max_bytes")
UNBOUNDED = 1 << 61
"""The window of the worlds' operator where the user gave none: a match's RE tells when it began."""
WORLD = "possible world"
_MISSING: Any = object()
Output = list[Change | Punctuation]


class WorldsStatistics(NamedTuple):
    """The numbers of one `Worlds`.

    Parameters
    ----------
    events : int
        Events that may still change, in copies; with ``identity`` only, else 0.
    matches : int
        Matches that some world has, and which are not final.
    outputs, retractions : int
        Changes that have left so far; those among them that took a match back, for another confidence or for none.
    late : int
        Late changes dropped or handed to the callback so far.
    operator : Statistics
        Those of the operator of the worlds, over all of them.
    """

    events: int
    matches: int
    outputs: int
    retractions: int
    late: int
    operator: Any

    @property
    def told(self) -> int:
        """Matches with a confidence told so far."""
        return self.outputs - self.retractions

    @property
    def withdrawn(self) -> int:
        """Those of them that were withdrawn again."""
        return self.retractions


class Worlds(Twins, Pattern):
    """Match an automaton where times are uncertain, in so many possible worlds; each match with its confidence.

    A world gives each event one time of its interval, by its distribution: a pure function of ``seed``, the world and the event's
    identity. The confidence of a match is the share of the worlds that have it in force. Matches are told apart by what they show;
    put identities into the register if each choice of events is to count.

    Parameters
    ----------
    automaton : Automaton or Query
        With an event schema. A query says key, window and order itself. In a world no event of an instant is before another one of
        it: an ignorable arc passes over an instant if its fence holds of all events there.
    worlds : int
        At least 20. A confidence p is off by sqrt(p (1 - p) / worlds), one standard error.
    lower, upper : str, optional
        The columns (or fields of the event) that hold the first and the last instant that are possible.
    time : str
        The column with the times, where they are certain, or with those that a ``clock`` said.
    clock : Clock, optional
        How wrong clocks may be, of times or of intervals.
    shape : str, Shape or sequence of float
        How the instants of an interval are distributed; see `between`.
    identity : str or sequence of str, optional
        The fields of the event, or columns of the key, that tell events apart. Left out: all that an event holds, and its interval.
    key : str or sequence of str, optional
        As of `Keyed`: fields of the event, or columns beside them.
    threshold : float, optional
        Matches with a lower confidence are not told. At least 1 / worlds.
    seed : int
    window, engine, order_by, late, tick, threads, partial_matches, max_bytes
        As of `Operator`. ``late`` decides about an event whose lower end lies below the watermark; the last two are the most
        partial matches of a key in one world, and bytes of all worlds together.

    Raises
    ------
    AfaError
        An option is none; also what `Keyed` raises.

    Notes
    -----
    A push costs what `Keyed` takes for an event in each world; state is that of ``worlds`` operators. A match's LE is its last
    possible time, so that all below the watermark is final: that of t says that no event with ``lower < t`` changes any more. With
    time-outs it is the end of its window, which alone bounds when they fire.

    Source: Zhang, Diao, Immerman, *Recognizing Patterns in Streams with Imprecise Timestamps*, PVLDB 3(1), 2010, Sec. 3.3, by
    sampling.

    Examples
    --------
    >>> from afa import Arc, Automaton, insert
    >>> from afa.uncertain import between
    >>> class Tick(NamedTuple):
    ...     venue: str
    >>> class First(NamedTuple):
    ...     venue: str = ""
    >>> first = Automaton(
    ...     start="0", final={"2"}, event=Tick, register=First(),
    ...     arcs=[Arc("0", "1", "True", "First(venue)"), Arc("1", "2", "venue != r.venue")],
    ... )
    >>> op = Worlds(first, worlds=400, window=10)
    >>> _ = op.push(insert(Tick("A"), between(1, 4)))
    >>> for change in op.push(insert(Tick("B"), between(3, 6))):
    ...     print(change.payload)  # of 16 pairs of times A is first in 13, B in 1
    First(venue='B', confidence=0.085, first=3, last=4)
    First(venue='A', confidence=0.7775, first=1, last=6)
    """

    @takes_options(*TAKES)
    def __init__(
        self,
        automaton: Any,
        worlds: int = 400,
        *,
        lower: str | None = None,
        upper: str | None = None,
        time: str = "le",
        clock: Clock | None = None,
        shape: Any = "uniform",
        identity: str | Sequence[str] | None = None,
        threshold: float | None = None,
        seed: int = 0,
        **options: Unpack[OperatorOptions],
    ) -> None:
        own = {name: value for name, value in locals().items() if name in OWN}
        given = options_of(options, "Worlds", TAKES)
        self.query = automaton if isinstance(automaton, Query) else None
        if isinstance(automaton, Query):
            automaton, given = of_query(automaton, given)
        key, window = given.key, given.window
        said = own | {name: getattr(given, name) for name in TAKES}
        self._said, self._given = said, automaton
        if not isinstance(automaton, Automaton):
            raise AfaError(f"expected an Automaton or a query but got {automaton!r}")
        check_worlds(worlds, threshold, seed)
        check_times(lower, upper, clock, shape)
        self._bounded = bounded(automaton, given.tick)
        if self._waits and window is None:
            raise AfaError("expected window= for an automaton with time-outs, as it alone says by when they have fired")
        if not isinstance(time, str):
            raise AfaError(f"expected the name of a column but got time={time!r}")
        names = names_of(key, "key")
        lives = UNBOUNDED if window is None else window  # and what bounds it counts worlds
        inner = given.but(key=[WORLD, *names], window=lives, partial_matches=PARTIAL_MATCHES, max_bytes=None)
        self._take_operator(Keyed(self._bounded.automaton, options=inner))

    def _take_operator(self, keyed: Keyed) -> None:
        said, given = self._said, self._bounded.given
        key, worlds, identity = said["key"], said["worlds"], said["identity"]
        assert given.event_schema is not None
        self._keyed, self._core, self._calls = keyed, keyed._core, keyed._core.calls
        self._core.bound(WorldsBudget(said["partial_matches"], said["max_bytes"], said["threads"]))
        names = names_of(key, "key")
        self._key = None if key is None else Keys(given, key, self._core.tick)
        event = given.event_schema._replace(tick=self._core.tick)
        of = fields_named(identity, "identity", [*(field.name for field in event.fields), *names]) if identity is not None else None
        clock = said["clock"]
        if clock is not None:
            fields_named(clock.by, "by", [*(field.name for field in event.fields), *names])
        self._reading = EventReader(
            event, names, said["lower"], said["upper"], said["time"], clock, of, shape_of(said["shape"]), self._core.tick,
            said["seed"], worlds,
        )  # fmt: skip
        window = self._core.window
        assert window is not None
        least, fields = least_of(said["threshold"], worlds), given.match_schema.fields
        self._found = Confidences(worlds, least, window, said["window"] is not None, self._waits, len(fields))
        self._events, self._left_out = KnownEvents(), LeftOut({arc.name: arc for arc in given.arcs if arc.name is not None})
        for member in (self._found, self._events, self._left_out):
            self._core.calls.join(member)
        self._drawing = Drawing(self._core, self._bounded, self._reading, self._events, self._left_out, worlds)
        self._shown: Schema = Schema.of(match_class(given.match_schema), "match")

    # -- calls -----------------------------------------------------------------------------------------------------------------

    @whole
    def push(self, change: Change | Punctuation, *, key: Hashable = _MISSING) -> Output:
        """Take one event change, whose ``le`` may be `between` two instants, or a watermark. As `Operator.push`.

        Raises
        ------
        ChangeError
            The event does not fit, an identity comes twice with different content, or a retraction names another interval than its
            insertion. LateEventError: its lower end lies below the watermark. The operator is unchanged.
        """
        return self._push_list([change], key)

    @whole
    def push_many(self, batch: Any) -> Any:
        """Take a table of events, or a list of tables, changes and watermarks, as one call: one minimal difference.

        Parameters
        ----------
        batch : dict of columns, Arrow table, frame, or list

        Returns
        -------
        A table of the same kind: the key's columns, what matches show, ``confidence``, ``first``, ``last``, ``le``, ``re``,
        ``diff``; for a list a list of changes and watermarks.
        """
        if isinstance(batch, (list, tuple)) and not hasattr(batch, "_fields"):
            return self._push_list(batch, _MISSING)
        table = table_of(batch)
        if table is None:
            raise ChangeError(f"expected an Arrow table, a frame, a dict of columns or a list but got {type(batch)!r}")
        table = self._reading.opened(table)
        difference, _ = self._run([self._reading.rows(table)])
        return table_of_matches(difference, self._shown, self._key, table, self._core, self._found)

    @whole
    def push_arc(self, change: Change | Punctuation) -> Output:
        """Take an arc, for all worlds, or its retraction, or a watermark of the arc input. As `Operator.push_arc`."""
        return self._out_of([("arc", self._bounded_arc(change), None)])

    @whole
    def swap(
        self,
        name: str,
        arc: Arc | None = None,
        *,
        fence: Callable[..., Any] | str | None = None,
        transfer: Callable[..., Any] | str | None = None,
        at: int | datetime | str | None = None,
    ) -> Output:
        """Put another arc in the place of the one in force that has this name, in all worlds. As `Operator.swap`."""
        asked = named_swap(name, arc, fence, transfer, self._keyed._at(at))
        old = self._left_out.named.get(name)
        if arc is not None or old is not None:  # else it is refused where arcs in force are looked up
            new = asked.replacement(old)  # type: ignore[arg-type]
            self._left_out.know(new)
            asked = asked._replace(arc=self._bounded.arc(new), fence=None, transfer=None)
        return self._out_of([("arc", asked, None)])

    @property
    def _waits(self) -> bool:
        """Whether time-outs match."""
        return any(arc.kind == TIMEOUT for arc in self._bounded.given.arcs)

    def _bounded_arc(self, change: Any) -> Any:
        if not isinstance(change, Change) or not isinstance(change.payload, Arc):
            return change
        if change.payload.kind == TIMEOUT and not self._waits:
            raise ChangeError(f"expected an arc of no other kind than the automaton has but got a time-out, {change.payload!r}")
        if change.diff > 0:
            self._left_out.know(change.payload)
        return change._replace(payload=self._bounded.arc(change.payload))

    def _push_list(self, items: Iterable[Any], key: Hashable) -> Output:
        return self._out_of(self._parts(items, key))

    def _out_of(self, parts: Iterable[Any]) -> Output:
        difference, promised = self._run(parts)
        found: Output = list(self._changes(difference))
        put_in_order(found)  # type: ignore[arg-type]  # no promise yet
        return found if promised is None else [*found, Punctuation(promised)]

    def _parts(self, items: Iterable[Any], key: Hashable) -> Iterator[Any]:
        """Yield what comes: rows of events together; watermarks; arcs."""
        waiting: list[Any] = []
        single = self._key is not None and self._key.single
        for item in items:
            if isinstance(item, Change) and not isinstance(item.payload, Arc):
                waiting.append(self._reading.change(item, self._key_of(item, key)))
                continue
            yield from self._reading.rows_of(waiting, single)
            waiting = []
            if isinstance(item, Punctuation):
                if item.where is not None:
                    raise ChangeError(f"expected a promise of all events but got one with a condition, {item!r}")
                yield "event", item._replace(t=as_ticks(item.t, "t", self._core.tick)), None
            elif isinstance(item, Change):
                yield "arc", self._bounded_arc(item), None
            elif not is_row(item) and (table := table_of(item)) is not None:
                yield self._reading.rows(self._reading.opened(table))
            else:
                raise ChangeError(f"expected a change (insert, retract), a Punctuation or a table but got {item!r}")
        yield from self._reading.rows_of(waiting, single)

    def _key_of(self, change: Change, key: Hashable) -> Hashable:
        if self._key is None:
            if key is not _MISSING:
                raise ChangeError(f"expected a key for Worlds(.., key=..) only but got key={key!r}")
            return None
        found: Hashable = take_key(self._key.of_change(change._replace(le=0)) if key is _MISSING else key)
        return found

    # -- one call --------------------------------------------------------------------------------------------------------------

    def _run(self, parts: Iterable[Any]) -> tuple[Difference, int | None]:
        """Carry out one call. Returns what changes by it, and the watermark of the output."""
        core = self._core
        before = core.progress.events
        found = carry_out(core, self._drawing.steps(parts), True)
        difference = self._found.take(found.rows)
        promised = max((t for _, t in found.promises), default=None)
        if promised is not None:
            self._found.settle(promised)
        if core.progress.events > before:
            self._events.settle(core.progress.events)
            self._left_out.settle(core.progress.events)
        return difference, promised

    def _changes(self, difference: Difference) -> Iterator[Change]:
        cls: Any = self._shown.cls
        n = len(self._bounded.given.match_schema.fields)
        single = self._key is not None and self._key.single
        for diff, part in ((-1, difference.gone), (1, difference.come)):
            _, *times = (each.tolist() for each in part.told)
            for (key, shown, *_), share, first, last, le, re in zip(part.names, self._found.shares(part).tolist(), *times):
                yield Change(cls(*shown[:n], share, first, last), le, re, diff, key[0] if single else key)

    # -- what is held ------------------------------------------------------------------------------------------------------------

    @property
    def event(self) -> type | None:
        """The class of the events."""
        schema = self._bounded.given.event_schema
        return None if schema is None else schema.cls

    @property
    def key(self) -> Any:
        """The fields of its key; None: it has none."""
        return self._said["key"]

    @property
    def tick(self) -> str | None:
        """What one int of LE counts; None: that was not said."""
        return self._core.tick

    @property
    def automaton(self) -> Automaton:
        """The automaton that all worlds match."""
        return self._bounded.given

    @property
    def options(self) -> dict[str, Any]:
        """The options that it was made with: ``Worlds(op.automaton, **op.options)`` is another one, which has taken nothing."""
        return dict(self._said)

    @property
    def statistics(self) -> WorldsStatistics:
        """The numbers of what is held, and was told so far. O(keys of all worlds)."""
        operator = self._keyed.statistics
        found = self._found
        return WorldsStatistics(
            self._events.copies, len(found.records), found.told + found.withdrawn, found.withdrawn, operator.late, operator
        )

    # -- snapshots -------------------------------------------------------------------------------------------------------------

    @whole
    def snapshot(self) -> bytes:
        """Return the whole state as bytes: plain data, without the options."""
        events = [[of, *known[:3], data_of(known[3]), known[4]] for of, known in self._events.events.items()]
        left_out = [self._reading.data(rows) for rows in self._left_out.rows]
        body = [self._spoken(), saving.save(self._core), self._found.data(), sorted(events, key=repr), left_out]
        return sealed.seal(MAGIC, VERSION, saving.plain(body))

    def _spoken(self) -> list[Any]:
        """Returns the options by which worlds are drawn and matches told, as plain data."""
        said = self._said
        names = ("worlds", "seed", "threshold", "lower", "upper", "time")
        return [
            *(said[name] for name in names), repr(said["clock"]), data_of(shape_of(said["shape"])), self._core.window,
            list(self._reading.identity or ()), list(self._reading.keys),
        ]  # fmt: skip

    def operator(self, **options: Any) -> Worlds:
        """Make another one of these options, which has taken nothing.

        Raises
        ------
        AfaError
            An option says otherwise than this one.
        """
        self._check_said(options_of(options, "Worlds.operator").said)
        return self._like({})

    def _check_said(self, said: Mapping[str, Any]) -> None:
        for name, value in said.items():
            if value != self._said.get(name):
                raise AfaError(f"expected {name}={self._said.get(name)!r}, as Worlds say it, but got {name}={value!r}")

    def _like(self, anew: Mapping[str, Any]) -> Worlds:
        made = Worlds(self.automaton, **{**self._said, **anew})
        made.query = self.query
        return made

    def in_parts(self, said: Mapping[str, Any]) -> PatternInParts:
        """Return what makes others of these options on workers of Spark."""
        return worlds_in_parts(self, said)

    def operator_by(self, key: str, **options: Any) -> Any:
        """Refuse to match within the values of another column: worlds are drawn by the key."""
        raise AfaError(f"expected a pattern without imprecise times but got Worlds, by {key!r}: give operators of them rows")

    def restore(self, blob: bytes, *, arcs: Iterable[Arc] = (), **options: Any) -> Worlds:
        """Make the operator that ``snapshot`` of one with these options has saved; this one stays as it is.

        Parameters
        ----------
        blob : bytes
        arcs : iterable of Arc
            Those pushed before the snapshot and still in force then, in that order. As of `Operator.restore`.

        Raises
        ------
        SnapshotError
            The blob is none of such an operator, is damaged, or its options differ.
        """
        said = options_again(options)
        anew = {name: said.pop(name) for name in saving.ANEW if name in said and name in TAKES and name not in ("key", "tick")}
        self._check_said(said)
        made = self._like(anew)
        made._load(blob, list(arcs))
        return made

    def _load(self, blob: bytes, come: Sequence[Arc]) -> None:
        body = saving.unseal(MAGIC, VERSION, blob)
        try:
            spoken, inner, matches, events, left_out = body
            wanted("the snapshot of an operator", isinstance(inner, bytes), inner)
        except (TypeError, ValueError):
            raise SnapshotError("expected the snapshot of Worlds but got something else") from None
        if spoken != self._spoken():
            raise SnapshotError(f"expected the snapshot of Worlds with {self._spoken()!r} but got {spoken!r}")
        options = {name: self._said[name] for name in ("engine", "late", "tick", "threads")}
        given = [self._bounded.arc(arc) for arc in come]
        keyed = Keyed.restore(self._bounded.automaton, inner, arcs=given, key=[WORLD, *self._reading.keys], **options)
        self._take_operator(keyed)
        for arc in come:
            self._left_out.know(arc)
        with reading("what Worlds hold"):
            self._found.load(matches, self._bounded.given.match_schema, len(self._reading.keys))
            self._events.load([(of, (*times, shape_in(shape), n)) for of, *times, shape, n in events])
            self._left_out.rows = [self._reading.loaded(data) for data in left_out]

    def resumed(self, blob: bytes, *, arcs: Iterable[Arc] = ()) -> Worlds:
        """As `restore`, which it is called now."""
        warn_renamed("resumed(..)", "restore(..)")
        return self.restore(blob, arcs=arcs)

    def __repr__(self) -> str:
        return f"Worlds({self._given!r}, worlds={self._found.worlds})"
