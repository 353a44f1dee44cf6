"""Versions of messages as words that order: ints, floats, times; texts as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from afa.errors import ChangeError
from afa.model.event_order import sortable_floats
from afa.schema import as_ticks
from punctuation.door import scalar_of
from punctuation.timestamps import is_time


class VersionKind:
    """Of which kind the versions are, which the first one says: "int", "float", "text" or "time".

    >>> kind = VersionKind()
    >>> kind.word(2.5) < kind.word(2.75), kind.said
    (True, 'float')
    """

    def __init__(self, said: str | None = None) -> None:
        self.said = said

    def word(self, version: Any) -> Any:
        """Return one version as a word, or a text as it is. Raises `ChangeError`."""
        if version is None or version != version:
            raise ChangeError(f"expected a version of each message but got {version!r}")
        if type(version) is int and not -(2**63) <= version < 2**63:
            raise ChangeError(f"expected an int64 as a version but got {version!r}")
        if is_time(version):
            self._check("time", version)
            return as_ticks(version, "version", "ns")
        if isinstance(version, np.generic):
            version = version.item()
        kind = {int: "int", float: "float", str: "text"}.get(type(version))
        if kind is None:
            raise ChangeError(f"expected an int, float, text or time as a version but got {version!r}")
        self._check(kind, version)
        return int(sortable_floats(np.array([version]))[0]) if kind == "float" else version

    def words(self, column: Any) -> Any:
        """Return a column of versions as words, texts as a list. Raises `ChangeError`."""
        import pyarrow as pa

        array = column if isinstance(column, (pa.Array, pa.ChunkedArray)) else pa.array(column, from_pandas=True)
        if array.null_count:
            raise ChangeError("expected a version of each message but got none in some rows")
        if pa.types.is_timestamp(array.type) or pa.types.is_date(array.type):
            self._check("time", array.type)
            try:
                return np.array(array.cast(pa.timestamp("ns", getattr(array.type, "tz", None))).cast(pa.int64()))
            except pa.ArrowException as error:
                raise ChangeError(f"expected versions that are times between 1678 and 2261 but got others: {error}") from error
        kind = {int: "int", float: "float", str: "text"}.get(scalar_of(array.type))  # type: ignore[arg-type]
        if kind is None:
            raise ChangeError(f"expected ints, floats, texts or times as versions but got a column of {array.type}")
        if len(array):
            self._check(kind, array.type)
        if kind == "text":
            return array.to_pylist()
        try:
            found = np.array(array.cast(pa.int64() if kind == "int" else pa.float64()))
        except pa.ArrowException as error:
            raise ChangeError(f"expected versions within int64 but got others: {error}") from error
        if kind == "float":
            if np.isnan(found).any():
                raise ChangeError("expected a version of each message but got nan")
            return sortable_floats(found)
        return found

    def _check(self, kind: str, got: Any) -> None:
        if self.said is None:
            self.said = kind
        elif self.said != kind:
            raise ChangeError(f"expected a version that is a {self.said}, as those before, but got {got}")
