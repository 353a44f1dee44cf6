"""``afa run``: batches in, changes out, promises in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from afa import FOREVER, Keyed, LateEventError, Operator, Punctuation
from afa.automaton import Automaton
from afa.cli.columns import TYPES, Column, Place, choose, convert
from afa.cli.fault import CommandError, one_line
from afa.cli.load import load
from afa.cli.read import Source, batches, open_source
from afa.cli.screen import Screen, Summary
from afa.cli.write import writing
from afa.errors import AfaError, AutomatonError
from afa.reach import check_whole
from afa.tableout import as_arrow
from punctuation.sources import BoundedDisorder


class Job(NamedTuple):
    """What the user asked for."""

    pattern: str
    file: str
    form: str | None
    le: str | None
    re: str | None
    diff: str | None
    keys: tuple[str, ...]
    window: int | None
    tick: str
    lateness: int | None
    late: str
    sequence: str | None
    batch: int
    output: str | None
    matches: int
    quiet: bool
    engine: str = "local"


def run(job: Job) -> None:
    """Carry out ``afa run``.

    Raises
    ------
    CommandError
        The one line that says what is wrong.
    """
    automaton = load(job.pattern)
    try:
        check_whole(automaton)
    except AutomatonError as error:
        raise CommandError(f"{job.pattern}: {error}") from error
    if automaton.event_schema is None:
        raise CommandError(f"{job.pattern} has no event schema; `afa run` types the input by Automaton(..., event=...)")
    source = open_source(job.file, job.form)
    columns = choose(job.file, source.names, source.sparse, automaton.event_schema, job.le, job.re, job.diff, job.keys)
    operator = _operator(automaton, job)
    if job.engine == "spark":
        from afa.cli import spark

        spark.check()
    drive = _drive if job.engine == "local" else _drive_on_spark
    with Screen(job, source) as screen:
        summary = drive(operator, job, source, columns, screen)
        screen.finish(summary)


def _operator(automaton: Automaton, job: Job) -> Any:
    options: dict[str, Any] = {"window": job.window, "sequence": job.sequence, "late": job.late}
    if not job.keys:
        return Operator(automaton, **options)
    return Keyed(automaton, key=job.keys[0] if len(job.keys) == 1 else list(job.keys), **options)


def _drive(operator: Any, job: Job, source: Source, columns: list[Column], screen: Screen) -> Summary:
    """Push all batches and the promises between them; the last one makes everything final."""
    tables = _tables(job, source, columns, screen)
    table = next(tables)  # there is always one, if an empty one
    none: dict[str, list[Any]] = {name: [] for name in table.column_names}  # by it the operator answers in columns
    schema = _schema(operator.automaton, job.keys, table)
    summary = Summary(keyed=bool(job.keys))
    with writing(job.output, schema) as write:

        def push(*items: Any) -> None:
            out = _said(lambda: operator.push_many([none, *items]))
            for changes in (_typed(item, schema) for item in out if isinstance(item, dict)):
                summary.count(changes)
                screen.show(changes, summary)
                write(changes)

        promises = None if job.lateness is None else BoundedDisorder(job.lateness, kinds=False)
        while table is not None:
            push(table)
            summary.progress(len(table), operator.statistics)
            for promise in [] if promises is None else promises.push_many(table)[1:]:
                push(promise)
            screen.progress(source.done(), summary)
            table = next(tables, None)
        push(Punctuation(FOREVER))
    summary.late = operator.statistics.late
    return summary


def _drive_on_spark(operator: Any, job: Job, source: Source, columns: list[Column], screen: Screen) -> Summary:
    """The same through a query of Spark's; the operator here only checks the options."""
    from afa.cli import spark

    tables = _tables(job, source, columns, screen)
    table = next(tables)
    schema = _schema(operator.automaton, job.keys, table)
    summary = Summary(keyed=bool(job.keys), held=False)
    with writing(job.output, schema) as write:

        def take(changes: pa.Table) -> None:
            summary.count(changes)
            screen.show(changes, summary)
            write(changes)

        def took(rows: int, late: int) -> None:
            summary.events += rows
            summary.late += late
            screen.progress(source.done(), summary)

        spark.drive(operator.automaton, job, table, tables, schema, take, took)
    return summary


def _tables(job: Job, source: Source, columns: list[Column], screen: Screen) -> Iterator[pa.Table]:
    """The input in the operator's form; one table without rows if there are none."""
    row = None
    for row, table in batches(source, job.file, columns, job.batch):
        screen.times(table, columns)
        yield convert(table, columns, job.tick, Place(job.file, row))
    if row is None:
        empty = pa.table({column.source: pa.nulls(0) for column in columns})
        yield convert(empty, columns, job.tick, Place(job.file, source.first_row))


def _schema(automaton: Automaton, keys: tuple[str, ...], events: pa.Table) -> pa.Schema:
    """One schema for all changes: a key has its type in the input; a register field of any type is text."""
    types = [(key, events.schema.field(key).type) for key in keys]
    types += [(f.name, TYPES[f.type.__name__] if f.type else pa.string()) for f in automaton.register_schema.fields]
    return pa.schema(types + [(name, pa.int64()) for name in ("le", "re", "diff")])


def _typed(changes: dict[str, Any], schema: pa.Schema) -> pa.Table:
    """The changes in the one schema of the output."""
    columns = []
    for field in schema:
        column = list(changes[field.name])
        if pa.types.is_string(field.type):
            column = [None if item is None else str(item) for item in column]
        columns.append(as_arrow(column, field.type, field.name))
    return pa.table(columns, schema)


def _said(call: Callable[[], Any]) -> Any:
    """What an operator raises, in one line: a fault in the user's functions too."""
    try:
        return call()
    except LateEventError as error:
        text = one_line(error).replace(f"before {FOREVER} (promised)", "in the input")
        hint = "--late drop drops it" if "in the input" in text else "a larger --lateness takes it, --late drop drops it"
        raise CommandError(f"{text}; {hint}") from error
    except AfaError:
        raise
    except Exception as error:
        raise CommandError(one_line(error)) from error
