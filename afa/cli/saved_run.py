"""What `afa run --state` commits beside the snapshot of its operator: plain JSON, which is checked when it is read."""

from __future__ import annotations

from typing import Any, NamedTuple

from afa.cli.state_input import BEGIN, InputPlace
from afa.io.input_shape import InputShape, of_hex
from afa.io.table_times import TimeType
from afa.operator.checkpoint import Commit
from afa.operator.plain_data import reading

MOST = 2**63
"""From here on no int is one of ours."""


class SavedRun(NamedTuple):
    """Where a run is, and what its columns are."""

    place: InputPlace
    latest: int  # the largest timestamp
    counts: list[Any]  # of the summary
    promises: str | None  # the snapshot of the source of watermarks, in hex
    shape: list[Any]  # of the input: an `InputShape`
    first: str  # the schema of the first batch, in the operator's form
    times: str | None  # a schema with one field of the type of its times; None: ints
    size: int  # of a run that has ended: how many bytes of the file it has seen

    @classmethod
    def of(cls, commit: Commit) -> SavedRun:
        """Read it; what is not as it is written raises `SnapshotError`."""
        with reading("the state of a run"):
            saved = cls(**commit.input)
            place, (events, inserted, withdrawn, (les, diffs)) = saved.place, saved.counts
            numbers = [place[name] for name in BEGIN if name not in ("done", "file")]
            numbers += [events, inserted, withdrawn, saved.size, *place["done"].values()]
            if (
                any(type(n) is not int or not -MOST <= n < MOST for n in (*numbers, saved.latest, *les, *diffs))
                or min(numbers) < 0
                or len(les) != len(diffs)
            ):
                raise ValueError("counts")
            _ = commit.output["place"]
            if place["file"] is not None and not (place["file"] and type(place["mark"]) is str and "/" not in place["file"]):
                raise ValueError("the name of a file, and what it is known by")
            bytes.fromhex(saved.promises or "")
            _ = saved.schema, saved.input_shape, saved.type_of_times("s")
        return saved

    @property
    def schema(self) -> Any:
        return of_hex(self.first)

    @property
    def input_shape(self) -> InputShape:
        form, schema, full = self.shape
        of_hex(schema)
        return InputShape(form, schema, tuple(map(str, full)))

    def type_of_times(self, tick: str) -> TimeType | None:
        return None if self.times is None else TimeType.of_arrow(of_hex(self.times).types[0], tick)
