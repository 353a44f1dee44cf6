"""The answer of a bucket to a batch: changes, late rows, faults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from afa.change import Change
from afa.errors import AfaError


class Fault(NamedTuple):
    """A row or an arc that could not be taken, and why; its key and time, where they are known."""

    reason: str
    what: str
    key: tuple[Any, ...] | None = None
    le: int | None = None


class Answer(NamedTuple):
    """The answer of a bucket to a batch.

    Parameters
    ----------
    changes : list of pyarrow.Table
        Key columns, register fields, ``le``, ``re``, ``diff``; ticks.
    late : list of Change
        Rows and arcs behind the watermark.
    faults : list of Fault
    code : str, optional
        What was done because the job is another than that of the checkpoint.
    notes : sequence of str
        Of arcs that have come: which of their states nothing reaches or leaves yet.
    """

    changes: list[Any]
    late: list[Change]
    faults: list[Fault]
    code: str | None = None
    notes: Sequence[str] = ()

    def then(self, later: Answer) -> Answer:
        """Return this answer joined with a later one for the same batch."""
        code = "; ".join(filter(None, [self.code, later.code])) or None
        lists = self.changes + later.changes, self.late + later.late, self.faults + later.faults
        return Answer(*lists, code, [*self.notes, *later.notes])


def said(error: BaseException) -> str:
    """Return an exception with its notes, in one line."""
    notes = getattr(error, "__notes__", [])
    name = "" if isinstance(error, AfaError) else f"{type(error).__name__}: "
    return " ".join([name + str(error), *notes])


def shortened(text: str, most: int = 1000) -> str:
    """Return a text with its middle left out, if it is long: payloads may be."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]} .. {text[-half:]}"
