"""The job: the pattern, and how its columns are read. It travels to the workers with the tasks, once a batch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

import pyarrow as pa

from afa.errors import AfaError, AutomatonError
from afa.expression.arc_functions import Readable, functions_of
from afa.expression.nodes import Const, walk
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.schema import Field
from afa.spark.recipe import Recipe, recipe_of
from punctuation.door import Table

ARROW: dict[type | None, pa.DataType] = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}
RESERVED = ("le", "re", "diff", "id", "kind", "reason", "bucket", "bad")
"""Columns that are neither the key's nor the register's."""
TAKEN = ("le", "re", "diff", "bucket", "bad")
"""Columns beside the event's fields."""


class Moved(NamedTuple):
    """Where the states of a checkpoint have moved; see `afa.spark.moved`.

    Parameters
    ----------
    tokens : dict
        Of each old bucket, by number: the state that was split is known by it.
    files : dict
        The addresses of what each new bucket gets, by its number.
    """

    tokens: dict[int, bytes]
    files: dict[int, list[str]]

    @property
    def buckets(self) -> int:
        """How many there were."""
        return len(self.tokens)


class Job(NamedTuple):
    """A pattern over keyed rows.

    Parameters
    ----------
    automaton : Automaton
        With an event schema of scalars; its arcs as text wherever they can be, so that a worker needs no source file.
    keys : tuple of str
        Columns.
    window : int or None
        Microseconds.
    sequence : str or None
    speculation : int or None
        Microseconds that events may be ahead of the watermark when they reach the operator; None: any.
    buckets : int
        Keys share an operator by a hash; so many of them.
    stop_on_fault : bool
        Whether a bad row, a bad arc or an exception in a user's function stops the query; else it comes out as ``kind = fault``.
    stop_on_late : bool
        Whether a row or an arc behind the watermark stops the query; else it comes out as ``kind = late``.
    schema : pyarrow.Schema
        Of the rows that a bucket takes: key columns, the event's fields, ``le``, ``re`` where each event has its own, ``diff``.
    recipe : Recipe
        All that a state depends on, as plain data.
    delay : int
        Milliseconds by which the watermark is behind the latest row: where a stream stands is known from it.
    since : int
        Ticks, of whole milliseconds: where Spark's watermark begins, 1970 or earlier.
    moved : Moved, optional
        Where the states of its checkpoint are, if that has another number of buckets.
    """

    automaton: Automaton
    keys: tuple[str, ...]
    window: int | None
    sequence: str | None
    speculation: int | None
    buckets: int
    stop_on_fault: bool
    stop_on_late: bool
    schema: pa.Schema
    recipe: Recipe
    delay: int = 0
    since: int = 0
    moved: Moved | None = None

    @property
    def digest(self) -> bytes:
        """By which a bucket knows that it has followed this job."""
        text = json.dumps([self.recipe, self.delay, self.speculation], sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).digest()

    @property
    def empty(self) -> Table:
        """No rows."""
        return Table("arrow", None, self.schema.empty_table())

    @property
    def lifetimes(self) -> bool:
        """Whether each row says how long its event lives."""
        return "re" in self.schema.names

    @property
    def key(self) -> str | tuple[str, ...]:
        """As `Keyed` takes it."""
        return self.keys[0] if len(self.keys) == 1 else self.keys

    def check_arc(self, arc: Arc) -> None:
        """Refuse an arc that can't be in force here, in all buckets alike.

        Raises
        ------
        AutomatonError
            It does not fit the automaton, or has text that no output can hold.
        """
        self.automaton.check_arc(arc)
        check_texts(arc, self.automaton)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The event's fields."""
        assert self.automaton.event_schema is not None
        return self.automaton.event_schema.fields


def job_of(
    automaton: Automaton,
    key: str | Sequence[str],
    window: str | timedelta | None,
    sequence: str | None,
    buckets: int,
    on_fault: str,
    key_types: Sequence[pa.DataType],
    late: str = "report",
    speculation: str | timedelta | None = None,
    lifetimes: bool = False,
    delay: int = 0,
    since: int = 0,
) -> Job:
    """Check what a user gives, on the driver.

    Raises
    ------
    AfaError
        Something is not what it must be.
    """
    if not isinstance(automaton, Automaton):
        raise AfaError(f"expected an Automaton but got {automaton!r}")
    schema = automaton.event_schema
    if schema is None or not schema.scalar or not automaton.register_schema.scalar:
        raise AfaError(f"expected an automaton with event= and scalar fields (Spark's columns have types) but got {automaton!r}")
    keys = (key,) if isinstance(key, str) else tuple(key)
    if not keys or not all(isinstance(name, str) for name in keys):
        raise AfaError(f"expected the names of key columns but got key={key!r}")
    names = [*keys, *(field.name for field in automaton.register_schema.fields)]
    clash = [name for name in names if name in RESERVED or names.count(name) > 1]
    clash += [field.name for field in schema.fields if field.name in TAKEN]
    if clash:
        raise AfaError(f"expected other names than {', '.join(RESERVED)}, and each once, but got {clash[0]!r}")
    if not isinstance(buckets, int) or buckets < 1:
        raise AfaError(f"expected at least one bucket but got buckets={buckets!r}")
    if on_fault not in ("report", "stop"):
        raise AfaError(f'expected on_fault="report" or "stop" but got on_fault={on_fault!r}')
    if late not in ("report", "stop"):
        raise AfaError(f'expected late="report" or "stop" but got late={late!r}')
    ticks = None if window is None else microseconds(window, "window")
    ahead = None if speculation is None else microseconds(speculation, "speculation", least=0)
    columns = dict(zip(keys, key_types)) | {field.name: ARROW[field.type] for field in schema.fields}
    times = [(name, pa.int64()) for name in ("le", "re", "diff") if lifetimes or name != "re"]
    rows = pa.schema([*columns.items(), *times])
    portable = _portable(automaton)
    for arc in portable.arcs:
        check_texts(arc, portable)
    lone = [value for value in portable.register if isinstance(value, str) and not _is_text(value)]
    if lone:
        raise AutomatonError(f"expected text that UTF-8 can hold but got {lone[0]!r} in the register {portable.register!r}")
    typed = [f"{name} {kind}" for name, kind in zip(keys, key_types)]
    recipe = recipe_of(portable, typed, sequence, lifetimes, ticks, buckets, since)
    stops = on_fault == "stop", late == "stop"
    return Job(portable, keys, ticks, sequence, ahead, buckets, *stops, rows, recipe, delay, since)


def check_texts(arc: Arc, automaton: Automaton) -> None:
    """Refuse an arc written as text with a constant that no UTF-8 holds: what it puts into a register could not be written.

    Raises
    ------
    AutomatonError
    """
    for kind, function in functions_of(arc):
        if isinstance(function, Readable):
            for node in walk(function.expression(automaton.event_schema, automaton.register_schema)):
                value = node.value if isinstance(node, Const) else None
                if isinstance(value, str) and not _is_text(value):
                    raise AutomatonError(f"expected text that UTF-8 can hold but got {value!r} in the {kind.role} of {arc!r}")


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def microseconds(value: str | timedelta, what: str, least: int = 1) -> int:
    """Return a duration in Spark's words (``"24 hours"``) or Python's.

    Examples
    --------
    >>> microseconds("1 day 30 minutes", "window")
    88200000000
    """
    if isinstance(value, timedelta):
        found = value // timedelta(microseconds=1)  # exactly, and of any length
    else:
        import pandas as pd

        try:
            if isinstance(value, (int, float)):
                raise TypeError("it has no unit")
            found = int(pd.Timedelta(value) // pd.Timedelta(microseconds=1))
        except (ValueError, TypeError) as error:
            raise AfaError(f'expected a duration such as "24 hours" but got {what}={value!r}') from error
    if found < least:
        raise AfaError(f"expected a duration of {least} microseconds at least but got {what}={value!r}")
    return found


def delay(value: str | timedelta) -> str:
    """Return the delay of a watermark in Spark's words, which know milliseconds: no less than the given one.

    Examples
    --------
    >>> delay("30 minutes"), delay(timedelta(microseconds=1500))
    ('30 minutes', '2 milliseconds')
    """
    if isinstance(value, str) and value.strip():
        return value  # months, and more than 292 years, are for Spark to read
    return f"{-(-microseconds(value, 'lateness', least=0) // 1000)} milliseconds"


def _portable(automaton: Automaton) -> Automaton:
    """Return the same automaton with its arcs as text, but those that only Python can run."""

    def text(arc: Arc) -> Arc:
        try:
            return Arc.from_json(arc.to_json(automaton))
        except AutomatonError:
            return arc

    return Automaton(
        start=automaton.start,
        final=automaton.final,
        arcs=[text(arc) for arc in automaton.arcs],
        register=automaton.register,
        event=automaton.event,
    )
