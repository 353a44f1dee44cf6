"""Look beside: each event learns of others of its key: when the last earlier one came that satisfies a condition, and what its
neighbours say. A stage before an operator.

A computation begins with an event and can't look back, so that what must *not* have come before is a field of the event. It is
a function of the set of events: one that comes late, or goes, revises the events behind it, up to the next one that satisfies the
condition. So is a field of the event k steps before, or behind: there k events are revised at most.

    events      10: a    12: b    15: b    17: a    18: b        condition: "a"
    last a       None     10       10       10       17
    a at 11      None     11       11       11       17          what lies behind the next a stays as it is

Events with one LE (and ``order_by``) are before nobody of each other. The events stand in rows of words (`speculation.last_rows`).
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from afa.change import Change
from afa.conditions.condition import condition_of
from afa.errors import AfaError, LateEventError
from afa.expression.spans import mentions_span
from afa.model.copies import as_plain, as_total
from afa.model.event_order import EventOrder, is_list
from afa.model.renamed import renamed
from afa.operator.contract import OperatorLike
from afa.operator.plain_data import reading
from afa.schema import Schema, as_ticks
from afa.state.sound import wanted
from punctuation.durations import Duration
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER, as_time
from speculation import stage_state as saved
from speculation.last_rows import LastRows
from speculation.look_back import LookBack
from speculation.stage import Output, Stage

L = TypeVar("L", bound="LastBefore")
Where = str | Callable[[Any], Any]
NOTHING: Mapping[str, Any] = MappingProxyType({})
FARTHEST = 64
"""So many steps a neighbour may be away."""


class LastBeforeStatistics(NamedTuple):
    """The numbers of one `LastBefore`.

    Parameters
    ----------
    held : int
        Different events that may still be revised, or are neighbours of such.
    revised : int
        Events that have left anew, as they look at other events; not those that an operator itself lets look at later ones.
    """

    held: int
    revised: int


class LastBefore(Stage):
    """Give each event the LE of the last earlier event of its key that satisfies a condition, and fields of its neighbours; None:
    there is none.

    Parameters
    ----------
    event : NamedTuple class
        Of the events that come.
    where : mapping of str to (str or callable), optional
        Names of fields, and the condition of each over the event, as of a `Punctuation`: ``{"alarm": "kind == 'alarm'"}``. An event
        on which a condition raises does not satisfy it.
    window : int (ticks), str or timedelta, optional
        How far to look back: an event sees those with an LE above its own LE - window. None: all. Of its neighbours it sees all
        before it, and of those behind it the ones with an LE below its own LE + window.
    neighbours : mapping of str to (str, int), optional
        Names of fields, and of each which field of which neighbour it is: ``{"before": ("price", -1)}`` of the one before,
        ``("price", 2)`` of the second one behind; ``("", -1)`` is its LE. Of neighbours at one LE (and ``order_by``) there is none.
    order_by : str, optional
        The field, or the list, that orders events of one LE, as ``order_by`` of `Operator`. Left out: they are before nobody.
    filled : NamedTuple class, optional
        Of the events that leave: the fields of ``event``, then, in any order, those of ``where`` (``int | None``) and of
        ``neighbours`` (each may be None), and perhaps an ``afa.Instant``. Left out: it is made.
    tick : str, optional
        What one int of LE counts, for durations here and in conditions; where the stage stands at an operator that one's.

    Attributes
    ----------
    filled : NamedTuple class

    Raises
    ------
    AfaError
        There is no condition and no neighbour, one can't be read, or the classes do not fit.

    Notes
    -----
    The changes of a call are merged into what is held of their key, from the first one on; O(log n) to find its place. An event
    leaves as a retraction of its old version and an insertion of the new one, in one call with the change that revises it. A
    promise passes as it is, since what is revised lies behind the change; with neighbours behind, up to the first event that one
    at or behind the promise may revise, of whatever key. Behind it only the last event of each key and condition is kept, for a
    window if there is one, and as many as neighbours look at.

    Examples
    --------
    >>> from afa import insert
    >>> class Tick(NamedTuple):
    ...     kind: str
    >>> stage = LastBefore(Tick, {"alarm": "kind == 'alarm'"})
    >>> [change.payload for change in stage.push_many([insert(Tick("stop"), 9), insert(Tick("alarm"), 4)])]
    [Tick(kind='alarm', alarm=None), Tick(kind='stop', alarm=4)]
    >>> [(change.diff, change.payload.alarm, change.le) for change in stage.push(insert(Tick("alarm"), 7))]
    [(-1, 4, 9), (1, 4, 7), (1, 7, 9)]
    >>> beside = LastBefore(Tick, neighbours={"before": ("kind", -1), "behind": ("kind", 1)})
    >>> [tuple(change.payload) for change in beside.push_many([insert(Tick("stop"), 9), insert(Tick("alarm"), 4)])]
    [('alarm', None, 'stop'), ('stop', 'alarm', None)]
    """

    by_keys = looks_back = True
    _numbers = ("_revised", "_promised", "passed")

    @renamed("order")
    def __init__(
        self,
        event: type,
        where: Mapping[str, Where] = NOTHING,
        *,
        neighbours: Mapping[str, tuple[str, int]] = NOTHING,
        window: Duration | None = None,
        order_by: str | None = None,
        filled: type | None = None,
        tick: str | None = None,
    ) -> None:
        super().__init__(tick)
        self.event_schema = Schema.of(event, "event")
        for said, given, of in (("where", where, "conditions"), ("neighbours", neighbours, "neighbours")):
            if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
                raise AfaError(f"expected names of fields with their {of} but got {said}={given!r}")
        if not (where or neighbours):
            raise AfaError("expected names of fields with conditions, where=, or with neighbours, neighbours=, but got none")
        fields = {field.name: field for field in self.event_schema.fields}
        self.ordered: list[tuple[str, bool, bool]] = []
        """The fields that order events of one LE: whether they descend, whether None stands first."""
        if is_list(order_by):
            listed = EventOrder.of(order_by, self.event_schema).columns
            self.ordered = [(column.field.name, column.descending, column.nulls_first) for column in listed]
        elif order_by is not None:
            if order_by not in fields or fields[order_by].type not in (int, float, str) or fields[order_by].optional:
                raise AfaError(
                    f"expected a field of int, float or str in {self.event_schema.describe()} but got order_by={order_by!r}"
                )
            self.ordered = [(order_by, False, False)]
        for name, beside in neighbours.items():
            field, offset = beside if isinstance(beside, tuple) and len(beside) == 2 else (None, None)
            known_field = isinstance(field, str) and field in {"", *fields}
            if not known_field or type(offset) is not int or not 0 < abs(offset) <= FARTHEST or name in where:
                known = f"a field of {self.event_schema.describe()} and an offset from 1 to {FARTHEST}, or below 0,"
                raise AfaError(f"expected {known} as neighbour {name} but got {beside!r}")
        for name in (*where, *neighbours):
            if name in fields or not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
                raise AfaError(f"expected a name for a field beside those of {self.event_schema.describe()} but got {name!r}")
        if self.tick is None and any(map(mentions_span, where.values())):
            self.wait("where", where)
        self.conditions = {name: condition_of(source, self.event_schema, self.tick or "ns") for name, source in where.items()}
        self.window, self.order, self.neighbours = self._window(window), order_by, dict(neighbours)
        self._following = any(offset > 0 for _, offset in self.neighbours.values())
        self.filled: Any = self._made_filled() if filled is None else filled
        self._extra = self._extra_of(Schema.of(self.filled, "event"))
        self.rows = LastRows(self)
        self._revised = 0
        self._promised = self.passed = BEGINNING

    def settle_duration(self, name: str, value: Any) -> None:
        """Take the window, or conditions with durations, of which the tick is known now."""
        if name == "where":
            self.conditions = {each: condition_of(source, self.event_schema, self.tick) for each, source in value.items()}
        else:
            super().settle_duration(name, value)
        self.rows = LastRows(self)

    def _made_filled(self) -> Any:
        schema = self.event_schema
        given = [(field.name, schema.annotation(field)) for field in schema.fields]
        make: Any = NamedTuple  # its fields are known at run time only
        more = [(name, Any if kind is None else kind | None) for name, kind in self._kinds().items()]
        return make(schema.cls.__name__, [*given, *more])

    def _kinds(self) -> dict[str, Any]:
        """Return the types of the fields that are added; each may be None."""
        kinds: dict[str, Any] = {field.name: field.type for field in self.event_schema.fields} | {"": int}
        return {**dict.fromkeys(self.conditions, int), **{name: kinds[field] for name, (field, _) in self.neighbours.items()}}

    def _extra_of(self, filled: Schema) -> list[int | None]:
        """Return for each field behind those of an event the number of its condition or neighbour; None: it takes the LE."""
        n, made = len(self.event_schema.fields), self._kinds()
        more, names = filled.fields[n:], list(made)
        instant = [filled.instant] if filled.instant is not None and self.event_schema.instant is None else []
        fit = filled.fields[:n] == self.event_schema.fields and sorted(f.name for f in more) == sorted([*names, *instant])
        if not fit or any(f.type != made[f.name] or not (f.optional or f.type is None) for f in more if f.name in made):
            added = "".join(f", {name}: {kind.__name__ if kind else 'Any'} | None" for name, kind in made.items())
            raise AfaError(f"expected {self.event_schema.describe()[:-1]}{added}) but got filled={filled.describe()}")
        return [None if field.name in instant else names.index(field.name) for field in more]

    def before(self, operator: OperatorLike) -> LookBack:
        """Put this stage at the input of an operator whose events are of the class ``filled``."""
        return LookBack(self, operator)

    @property
    def statistics(self) -> LastBeforeStatistics:
        """The numbers of events that are held, and of those revised so far."""
        return self._calls.call(self._look)

    def _look(self) -> LastBeforeStatistics:
        return LastBeforeStatistics(self.rows.held, self._revised)

    # -- one call --------------------------------------------------------------------------------------------------------------

    def take(self, item: Change | Punctuation, out: Output) -> None:
        """Take a checked item, within a call. `end` works out what it revises."""
        if not isinstance(item, Punctuation):
            payload = self.event_schema.take(self.event_schema.dated(item.payload, item.le))
            if item.le is not None and item.le < self._promised:
                raise LateEventError(f"expected le >= {self._promised} (promised) but got le={item.le} for {payload!r}")
            self.rows.see(item._replace(payload=payload))
        elif item.where is None:  # one with a condition says nothing of versions of events
            t = as_ticks(item.t, "t")
            if t > self._promised:
                self.end(out)
                for change in self.settled(t):
                    raise LateEventError(
                        f"expected the insertion of {change.payload!r} at le={change.le} before {t} (promised) "
                        f"but got its retraction only"
                    )
                if (passed := self.passes(t)) is not None:
                    out.append(passed)

    def passes(self, t: int) -> Punctuation | None:
        """Return the promise that goes on where one has come: below it nothing is revised any more. None: it has gone on."""
        passed = self._final_below(t)
        if passed <= self.passed:
            return None
        self.passed = passed
        return Punctuation(passed)

    def _final_below(self, t: int) -> int:
        """Return how far a promise goes on."""
        return self.rows.first_open(t) if self._following and t < FOREVER else t

    def end(self, out: Output) -> None:
        """Append what the changes so far lead to: retractions first, then insertions, each by LE."""
        left = self.rows.left()
        if left is not None:
            changes = self.rows.changes(left)
            changes.sort(key=lambda change: (change.diff > 0, change.le))
            out += changes

    def see(self, change: Change) -> None:
        """Take a change of an event in its form, at or above the promise. `LastRows.left` says what it leads to."""
        self.rows.see(change)

    def settled(self, t: int) -> list[Change]:
        """Forget what a promise makes final. Returns the retractions that have waited in vain."""
        self._promised = t
        return self.rows.settled(t)

    def call_begins(self) -> Any:
        """Return all state but the rows, which their memory restores."""
        self.rows.begins()
        return super().call_begins()

    def call_failed(self, before: Any) -> None:
        """Restore the state from before the call."""
        super().call_failed(before)
        self.rows.failed()

    def call_worked(self) -> None:
        """Forget how to restore it."""
        super().call_worked()
        self.rows.worked()

    # -- snapshots ---------------------------------------------------------------------------------------------------------------

    @classmethod
    def restore(cls: type[L], blob: bytes, *, like: LastBefore) -> L:  # type: ignore[override]  # conditions are no data
        """Make the stage that `snapshot` saved.

        Parameters
        ----------
        blob : bytes
        like : LastBefore
            A stage with the same parameters; it stays as it is.

        Raises
        ------
        SnapshotError
            The bytes are no snapshot of such a stage, or damaged, or it had other parameters.
        """
        found = saved.unseal(blob, cls.__name__)
        return cls.resumed(found.numbers, found.waiting, like)

    def numbers(self, keys: Iterable[Hashable] | None = None) -> list[Any]:
        """Return all but the events, as plain data; ``keys``: of these only."""
        floors = [[key, *lasts] for key, lasts in sorted(self.rows.floors(keys), key=lambda item: repr(item[0]))]
        return [self._said(), self._promised, as_plain(self._revised), floors, *([self.passed] if self._following else [])]

    def waiting(self, keys: Iterable[Hashable] | None = None) -> list[Change]:
        """Return the events that may still be revised, in an order that does not depend on how they came."""
        return sorted(self.rows.waiting(keys), key=lambda change: (repr(change.key), change.le, repr(change)))

    def clean(self) -> None:
        """Forget all that is final: of many keys not each promise does."""
        self._calls.call(self._look)

    @property
    def keys(self) -> Collection[Hashable]:
        """The keys of which anything is held."""
        return self.rows.keys

    @property
    def ages(self) -> bool:
        """Whether promises will let go of something that is held. What may be the neighbour of a row to come is held for good."""
        if self.window is None or not self.neighbours:
            return self.window is not None and bool(self.keys)
        return self.rows.latest > self._promised - self.window

    def _said(self) -> list[Any]:
        said = [self.window, self.order, [[name, condition.text] for name, condition in self.conditions.items()]]
        return [*said, [[name, *beside] for name, beside in self.neighbours.items()]] if self.neighbours else said

    @classmethod
    def resumed(cls: type[L], numbers: list[Any], waiting: Any, like: Any) -> L:
        """Make the stage of a snapshot."""
        if not isinstance(like, LastBefore):
            raise AfaError(f"expected like=<LastBefore with the parameters of the one saved> but got like={like!r}")
        conditions = {name: condition.text for name, condition in like.conditions.items()}
        options = {"window": like.window, "order_by": like.order, "filled": like.filled, "neighbours": like.neighbours}
        stage = cls(like.event_schema.cls, conditions, **options)
        stage.load(numbers, waiting)
        last = stage._final_below(stage._promised)
        wanted(f"a promise that has gone on to {last}, as far as the events allow", stage.passed == last, stage.passed)
        return stage

    def part(self, keys: Iterable[Hashable] | None = None) -> Any:
        """Return the events that may still be revised as plain data; ``keys``: of these only."""
        return self.rows.part(keys)

    def load(self, numbers: list[Any], part: Any, without: Collection[Hashable] = ()) -> None:
        """Take what a stage with the same parameters has saved, by `numbers` and `part`, of keys that this one does not hold.

        What this one holds follows the promise of the other, which is not smaller than its own. The keys in ``without`` are left
        out. Raises `SnapshotError` on anything else.
        """
        with reading("the numbers of a LastBefore"):
            said, promised, revised, floors, *more = numbers
            (passed,) = more if self._following else [promised, *more]
            wanted(f"the parameters {self._said()} of a LastBefore", said == self._said(), said)
            if as_time(promised, "promised") > self._promised:
                self.settled(promised)
            lasts = [(key, self._checked_floor(dict(found), promised)) for key, *found in floors if key not in without]
            self.rows.load_part(saved.rows(part, self.event_schema, True), lasts, promised, without)
            wanted(f"a promise up to {promised} that has gone on", as_time(passed, "passed") <= promised, passed)
            self._promised, self._revised, self.passed = promised, as_total(revised), passed

    def _checked_floor(self, floors: dict[int, int], promised: int) -> dict[int, int]:
        """Refuse what can't be the last events below the promise."""
        low, known = BEGINNING if self.window is None else promised - self.window + 1, range(len(self.conditions))
        fit = [type(number) is int and number in known and low <= as_time(le, "le") < promised for number, le in floors.items()]
        wanted("the last events below the promise", bool(fit) and all(fit), floors)
        return floors
