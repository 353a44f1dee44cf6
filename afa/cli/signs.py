"""What of the column of ``--diff`` means an insertion, what a retraction; rows that name an event by its id (``--id``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.cli.fault import CommandError
from afa.cli.request import CommandRequest
from afa.io.file_columns import ANY, TIME, FileColumn, Place
from punctuation.door import one_array


def with_signs(columns: Sequence[FileColumn], job: CommandRequest) -> list[FileColumn]:
    """Return the columns to read: ``--diff`` as it is, where its values have a meaning; what ``--id`` lets miss as optional.

    Raises
    ------
    CommandError
        ``--insert``, ``--retract`` and ``--diff``, or ``--id`` and ``--diff``, do not go together.
    """
    twice = set(job.insert) & set(job.retract)
    if twice:
        raise CommandError(f"expected values that mean one thing but got {min(twice)!r} as --insert and as --retract")
    targets = [column.target for column in columns]
    if job.id is not None and "diff" not in targets:
        raise CommandError("expected a column of --diff beside --id, which says what is a retraction, but got none")
    found = [column._replace(kind=ANY) if column.target == "diff" and job.insert else column for column in columns]
    if job.id is None:
        return found
    return [column if column.target in ("diff", job.id) else column._replace(optional=True) for column in found]


def signed(table: pa.Table, columns: Sequence[FileColumn], job: CommandRequest, place: Place, latest: int) -> pa.Table:
    """Return a batch in which ``diff`` is 1 or -1, and where nothing misses but in retractions by an id.

    Parameters
    ----------
    columns : sequence of Column
        As they were before `with_signs`.
    latest : int
        The largest timestamp so far: that of retractions without one.

    Raises
    ------
    CommandError
        A value means neither, or one misses; the first such row is named.
    """
    if job.insert:
        column = next(column for column in columns if column.target == "diff")
        at = table.column_names.index("diff")
        table = table.set_column(at, "diff", pa.array(_signs(table.column(at), job, column, place)))
    if job.id is None:
        return table
    gone = table["diff"].to_numpy() < 0
    for column in columns:
        missing = table[column.target].is_null().to_numpy()
        wrong = missing & ~gone
        if not column.optional and wrong.any():
            raise place.fault(column, int(np.argmax(wrong)), f"expected {column.kind} ({column.role}) but got no value")
        if column.kind == TIME and column.target == "le" and missing.any():
            le = table["le"].fill_null(latest).to_numpy()
            seen = np.maximum(np.maximum.accumulate(np.where(missing, latest, le)), latest)
            table = table.set_column(table.column_names.index("le"), "le", pa.array(np.where(missing, seen, le)))
    return table


def _signs(values: Any, job: CommandRequest, column: FileColumn, place: Place) -> Any:
    """Return 1 and -1 for a column's values."""
    values = one_array(values)
    values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    try:
        texts = values.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise place.whole(column, f"expected text or integers (--diff, --insert, --retract) but got {values.type}") from None
    come, gone = (pc.is_in(texts, pa.array(said, pa.string())).to_numpy(zero_copy_only=False) for said in (job.insert, job.retract))
    wrong = ~(come | gone)
    if wrong.any():
        i = int(np.argmax(wrong))
        wanted = ", ".join([*job.insert, *job.retract])
        raise place.fault(column, i, f"expected one of {wanted} (--insert, --retract) but got {texts[i].as_py()!r}")
    return np.where(come, 1, -1)
