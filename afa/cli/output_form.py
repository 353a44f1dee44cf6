"""The form in which changes are written: each with its sign, as Debezium's messages, as rows that take the place of others."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from afa.cli.fault import CommandError
from afa.cli.request import CommandRequest
from afa.feeds import to_debezium, upserts

Shape = Callable[[pa.Table], pa.Table]


def form_of_changes(job: CommandRequest, schema: pa.Schema) -> Shape:
    """Return what makes of a table of changes the one that is written."""
    ids = list(job.output_id)
    if job.output_format == "changes":
        if job.output_id:
            raise CommandError("expected --output-format debezium or upsert beside --output-id")
        return lambda changes: changes
    if job.output is None:
        raise CommandError(f"--output-format {job.output_format} needs --output FILE, or - for standard output")
    if not ids and job.output_format == "upsert":
        raise CommandError("expected --output-id, the columns that identify a match, beside --output-format upsert")
    made: Shape = (
        (lambda changes: to_debezium(changes, ids or None))
        if job.output_format == "debezium"
        else (lambda changes: upserts(changes, ids))
    )
    made(schema.empty_table())  # which says what is wrong with the ids
    return made
