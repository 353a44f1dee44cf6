"""The job of a bucket, which travels to the workers with the tasks: the pattern, how its columns are read. And its answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import pyarrow as pa

from afa.change import Change
from afa.engine.budget import PARTIAL_MATCHES, Budget
from afa.errors import AfaError, AutomatonError
from afa.expression.arc_functions import Readable, functions_of
from afa.expression.nodes import Const, walk
from afa.model.arc import Arc
from afa.model.automaton import Automaton, changed
from afa.model.binding import bound_arc
from afa.model.conflicts import SKIP, TEMPORAL, check
from afa.model.event_order import fields_in
from afa.model.option_values import names_of
from afa.model.renamed import warn_renamed
from afa.operator.members import MEMBERS, WHOLE, Members
from afa.operator.options import Options
from afa.schema import Field, Schema
from afa.spark.message_options import MessageOptions
from afa.spark.recipe import Recipe, recipe_of
from afa.spark.stages import NONE, PatternStages
from punctuation.durations import has_unit, nanoseconds_of

ARROW: dict[Any, pa.DataType] = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}
ARROW |= {list[kind]: pa.list_(column) for kind, column in ARROW.items()}  # type: ignore[valid-type]
RESERVED = ("le", "re", "diff", "id", "kind", "reason", "bucket", "bad")
"""Columns that are neither the key's nor the register's."""
POLICIES = ("raise", "drop", "report")
TAKEN = ("le", "re", "diff", "bucket", "bad")
"""Columns beside the event's fields."""


class Moved(NamedTuple):
    """Where the states of a checkpoint have moved; see `afa.spark.moved`."""

    tokens: dict[int, bytes]  # of each old bucket, by number: the state that was split is known by it
    files: dict[int, list[str]]  # the addresses of what each new bucket gets, by its number

    @property
    def buckets(self) -> int:
        """How many buckets there were."""
        return len(self.tokens)


class Job(NamedTuple):
    """A pattern over keyed rows."""

    automaton: Automaton  # with an event schema of scalars; arcs as text where they can be, so that workers need no source file
    keys: tuple[str, ...]  # columns
    window: int | None  # microseconds
    order_by: str | None
    speculation: int | None  # microseconds that events may be ahead of the watermark when they reach the operator; None: any
    buckets: int  # keys share an operator by a hash; so many of them
    on_fault: str  # whether a bad row, a bad arc or an exception in a user's function stops the query; else kind = fault
    late: str  # whether a row or an arc behind the watermark stops the query; else kind = late
    schema: pa.Schema  # of rows as a bucket takes them: keys, the event's fields, le, re where each event has its own, diff
    recipe: Recipe  # all that a state depends on, as plain data
    delay: int = 0  # milliseconds by which the watermark is behind the latest row: where a stream stands is known from it
    since: int = 0  # ticks, of whole milliseconds: where Spark's watermark begins, 1970 or earlier
    moved: Moved | None = None  # where the states of its checkpoint are, if that has another number of buckets
    asked: PatternStages = NONE  # what it asks for beside its operator
    longest: bool = False  # whether of matches with equal payload and time only the longest is told
    members: str | None = None  # the field of its events, or "le", that a match comes with
    partial_matches: int | None = PARTIAL_MATCHES  # of one key at one step; None: any number
    retracts: bool = True  # whether rows say that they may be retractions
    messages: MessageOptions | None = None  # what names the event of a row; None: rows are no messages

    @property
    def digest(self) -> bytes:
        """A digest by which a bucket knows that it has followed this job."""
        text = json.dumps([self.recipe, self.delay, self.speculation], sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).digest()

    @property
    def stop_on_fault(self) -> bool:
        """Whether a fault stops the query."""
        return self.on_fault == "raise"

    @property
    def dropped(self) -> list[str]:
        """The kinds of rows that are counted, and left out of what comes."""
        return [kind for kind, policy in (("late", self.late), ("fault", self.on_fault)) if policy == "drop"]

    @property
    def lifetimes(self) -> bool:
        """Whether each row says how long its event lives."""
        return "re" in self.schema.names

    @property
    def rows(self) -> pa.Schema:
        """The schema of rows as they come: messages have more columns than `schema`."""
        more = {} if self.messages is None else self.messages.beside
        return pa.schema([*((name, ARROW[kind]) for name, kind in more.items()), *self.schema])

    @property
    def key(self) -> str | tuple[str, ...]:
        """As `Keyed` takes it."""
        return self.keys[0] if len(self.keys) == 1 else self.keys

    def fitting_arc(self, arc: Arc) -> Arc:
        """Return an arc bound to microseconds; refuse one that does not fit, or with text that no output holds, in all buckets."""
        self.automaton.check_arc(arc)
        check_texts(arc, self.automaton)
        return bound_arc(arc, "us", self.automaton)

    @property
    def instant(self) -> str | None:
        """The event's field that is filled with its time."""
        return events_of(self.automaton, self.asked).instant

    @property
    def fields(self) -> tuple[Field, ...]:
        """The event's fields, as rows have them."""
        return events_of(self.automaton, self.asked).fields

    @property
    def shown(self) -> Schema:
        """What of a match leaves."""
        return shown_of(self.automaton, self.asked)


class Fault(NamedTuple):
    """A row or an arc that could not be taken, and why; its key and time, where they are known."""

    reason: str
    what: str
    key: tuple[Any, ...] | None = None
    le: int | None = None
    rule: str | None = None  # that is put aside, of a set


class BucketAnswer(NamedTuple):
    """The answer of a bucket to a batch."""

    changes: list[pa.Table]  # key columns, register fields, le, re, diff; ticks
    late: list[Change]  # rows and arcs behind the watermark
    faults: list[Fault]
    code: str | None = None  # what was done because the job is another than that of the checkpoint
    notes: Sequence[str] = ()  # of arcs that have come: which of their states nothing reaches or leaves yet
    by_rule: Sequence[dict[str, Any]] = ()  # of a set of rules: the numbers of each

    def then(self, later: BucketAnswer) -> BucketAnswer:
        """Return this answer joined with a later one for the same batch."""
        code = "; ".join(filter(None, [self.code, later.code])) or None
        lists = self.changes + later.changes, self.late + later.late, self.faults + later.faults
        return BucketAnswer(*lists, code, [*self.notes, *later.notes])


def job_of(
    automaton: Automaton,
    options: Options,
    *,
    buckets: int,
    on_fault: str,
    key_types: Sequence[pa.DataType],
    late: str = "report",
    lifetimes: bool = False,
    since: int = 0,
    asked: PatternStages = NONE,
    messages: MessageOptions | None = None,
) -> Job:
    """Returns the job that a user asks for, checked, on the driver."""
    if not isinstance(automaton, Automaton):
        raise AfaError(f"expected an Automaton but got {automaton!r}")
    schema = automaton.event_schema
    if schema is None or not schema.scalar or not automaton.register_schema.scalar:
        raise AfaError(f"expected an automaton with event= and scalar fields (Spark's columns have types) but got {automaton!r}")
    if not events_of(automaton, asked).scalar:
        raise AfaError(f"expected readings with scalar fields but got {events_of(automaton, asked).describe()}")
    automaton = automaton.bound("us")
    keys = names_of(options.key, "key")
    if not (keys or asked.own):
        raise AfaError(f"expected the names of key columns but got key={options.key!r}")
    members, order_by = options.members, options.order_by
    fields = events_of(automaton, asked).fields
    shown = shown_of(automaton, asked)
    names = [*keys, *(field.name for field in shown.fields)]
    reserved = RESERVED if members is None and shown.scalar else (*RESERVED, MEMBERS)  # by its name `current` knows it of arrays
    clash = [name for name in names if name in reserved or names.count(name) > 1]
    clash += [field.name for field in fields if field.name in TAKEN]
    if clash:
        raise AfaError(f"expected other names than {', '.join(reserved)}, and each once, but got {clash[0]!r}: rename the column")
    known = [field.name for field in fields]
    if any(name not in known for name in fields_in(order_by)):
        raise AfaError(f"expected the event's field that orders rows, of {', '.join(known)}, but got order_by={order_by!r}")
    if not isinstance(buckets, int) or buckets < 1:
        raise AfaError(f"expected at least one bucket but got buckets={buckets!r}")
    on_fault, late = policy_of("on_fault", on_fault), policy_of("late", late)
    check({**options.said, **({SKIP: True} if asked.chooses else {}), **({TEMPORAL: True} if asked.readings else {})})
    if members is not None:
        _check_members(automaton, asked, order_by, members)
    Budget(options.partial_matches)  # which checks it
    ticks = None if options.window is None else microseconds(options.window, "window")
    ahead = None if options.speculation is None else microseconds(options.speculation, "speculation", least=0)
    if asked.chooses and ticks is not None and lifetimes:
        raise AfaError(
            "expected no until= beside AFTER MATCH SKIP and WITHIN, which says how long each row lives, but got one: leave it out, "
            "or say no WITHIN"
        )
    columns = dict(zip(keys, key_types)) | {field.name: ARROW[field.type] for field in fields}
    times = [(name, pa.int64()) for name in ("le", "re", "diff") if lifetimes or name != "re"]
    rows = pa.schema([*columns.items(), *times])
    as_text = portable(automaton)
    for arc in as_text.arcs:
        check_texts(arc, as_text)
    for value in as_text.register:
        _check_text(value, f"the register {as_text.register!r}")
    typed = [f"{name} {kind}" for name, kind in zip(keys, key_types)]
    rest = {"lifetimes": lifetimes, "window": ticks, "buckets": buckets, "since": since, **asked.recipe}
    rest |= {"longest": True} if options.longest else {}
    if messages is not None:
        if asked.own is not None:
            raise AfaError(f"id={options.id!r} can't be combined with Worlds because of an event there may be several readings")
        clash += [name for name in messages.beside if name in TAKEN]
        if clash:
            raise AfaError(f"expected columns of id= and version= that are none of {', '.join(TAKEN)} but got {clash[0]!r}")
        rest["ids"] = messages.recipe
    if members is not None:
        by = any(arc.select for arc in automaton.arcs)
        rest["members"] = f"{members} by component" if by else members
    recipe = recipe_of(as_text, keys=typed, sequence=order_by, **rest)
    return Job(
        as_text,
        keys,
        ticks,
        order_by,
        ahead,
        buckets,
        on_fault,
        late,
        rows,
        recipe,
        since=since,
        asked=asked,
        longest=options.longest,
        members=None if members is None else str(members),
        partial_matches=options.partial_matches,
        messages=messages,
    )


def policy_of(name: str, value: Any) -> str:
    """Returns what becomes of late rows or of faults: "raise", "drop" or "report". AfaError: it is none of them."""
    if value == "stop":
        warn_renamed(f'{name}="stop"', f'{name}="raise"')
        return "raise"
    if value not in POLICIES:  # a callable stays on the machine where it was made
        raise AfaError(f'expected {name}="raise", "drop" or "report" on Spark but got {name}={value!r}')
    return str(value)


def _check_members(automaton: Automaton, asked: PatternStages, order_by: str | None, members: Any) -> None:
    if asked.chooses:
        raise AfaError(
            f"expected a query without AFTER MATCH SKIP but got members={members!r}: the rows of a match that is final need not be "
            f"held; ALL ROWS PER MATCH shows them"
        )
    if members in (True, WHOLE):
        raise AfaError(f'expected a field of the event or "le" but got members={members!r}: a column has one type')
    Members(automaton, events_of(automaton, asked), order_by, members)


def told_of(job: Job) -> Members:
    """Return what a job with ``members=`` tells of the events behind a match."""
    return Members(job.automaton, events_of(job.automaton, job.asked), job.order_by, job.members)


def events_of(automaton: Automaton, asked: PatternStages) -> Schema:
    """Return the schema of events as rows have them: a stage in front of the operator may add fields."""
    if asked.event is not None:
        return Schema.of(asked.event, "event")
    assert automaton.event_schema is not None
    return automaton.event_schema


def fields_of(automaton: Automaton, asked: PatternStages) -> tuple[Field, ...]:
    """Return the fields of events as rows have them; none of what `job_of` refuses."""
    there = asked.event is not None or automaton.event_schema is not None
    return events_of(automaton, asked).fields if there else ()


def shown_of(automaton: Automaton, asked: PatternStages) -> Schema:
    """Return what of a match leaves: what the automaton shows, or what a pattern makes in its place."""
    return automaton.match_schema if asked.shown is None else Schema.of(asked.shown, "match")


def check_texts(arc: Arc, automaton: Automaton) -> None:
    """Refuse an arc written as text with a constant that no UTF-8 holds: what it puts into a register could not be written."""
    for kind, function in functions_of(arc):
        if isinstance(function, Readable):
            for node in walk(function.expression(automaton.event_schema, automaton.register_schema)):
                if isinstance(node, Const) and type(node.value) is str:
                    _check_text(node.value, f"the {kind.role} of {arc!r}")


def _check_text(value: Any, where: str) -> None:
    try:
        if isinstance(value, str):
            value.encode()
    except UnicodeEncodeError:
        raise AutomatonError(f"expected text that UTF-8 can hold but got {value!r} in {where}") from None


def microseconds(value: Any, what: str, least: int = 1) -> int:
    """Return a duration in microseconds: as text (``"24 hours"``, ``"1h 30m"``) or as Python's.

    >>> microseconds("1 day 30 minutes", "window")
    88200000000
    """
    if not has_unit(value):
        raise AfaError(f'expected a duration such as "24 hours" but got {what}={value!r}')
    found = nanoseconds_of(value, what) / 1000
    if found.denominator != 1:
        raise AfaError(f"expected a duration of whole microseconds but got {what}={value!r}")
    if found < least:
        raise AfaError(f"expected a duration of {least} microseconds at least but got {what}={value!r}")
    return int(found)


def delay(value: str | timedelta) -> str:
    """Return the delay of a watermark in Spark's words, which know milliseconds: no less than the given one.

    >>> delay("1m 30s"), delay(timedelta(microseconds=1500)), delay("1 month")
    ('90000 milliseconds', '2 milliseconds', '1 month')
    """
    try:
        return f"{-(-microseconds(value, 'lateness', least=0) // 1000)} milliseconds"
    except AfaError:
        if isinstance(value, str) and value.strip():
            return value  # months are for Spark to read
        raise


def portable(automaton: Automaton) -> Automaton:
    """Return the same automaton with its arcs as text, but those that only Python can run."""

    def text(arc: Arc) -> Arc:
        try:
            return Arc.from_json(arc.to_json(automaton))
        except AutomatonError:
            return arc

    return changed(automaton, arcs=[text(arc) for arc in automaton.arcs])
