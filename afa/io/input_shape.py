"""What the first rows of an input say of its columns, as plain JSON: all later files, and later runs, are read as the first one."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

from afa.io.file_bytes import File, Stdin
from afa.io.files import FORMS
from afa.io.placed_file import in_memory
from afa.io.text_files import FileSource


class InputShape(NamedTuple):
    """The columns of an input: its form, the guessed types as an Arrow schema in hex, which columns have a value in every row."""

    form: str
    schema: str
    full: tuple[str, ...]

    @classmethod
    def of(cls, source: FileSource, form: str, one: bool) -> InputShape:
        """Return the shape that a source shows; ``one``: no other file comes behind it, in which a value may miss."""
        return cls(form, in_hex(source.guessed()), tuple(sorted(source.full)) if one else ())

    def opened(self, file: File | Stdin) -> FileSource:
        """Open a file as one of this shape."""
        source = FORMS[self.form](file)
        source.as_guessed(of_hex(self.schema))
        source.full = frozenset(self.full)
        return source

    def empty(self, name: str) -> FileSource:
        """Return an input of this shape without rows: what a pattern is bound to, in the first run and in all that follow."""
        schema = of_hex(self.schema)
        if self.form == "parquet":
            out = pa.BufferOutputStream()
            pyarrow.parquet.write_table(schema.empty_table(), out)
            return self.opened(in_memory(out.getvalue().to_pybytes(), name))
        text = pa.BufferOutputStream()
        if self.form == "csv":
            pyarrow.csv.write_csv(pa.table({field: pa.nulls(0, pa.string()) for field in schema.names}), text)
        return self.opened(in_memory(text.getvalue().to_pybytes(), name))


def in_hex(schema: Any) -> str:
    found: str = schema.serialize().to_pybytes().hex()
    return found


def type_in_hex(kind: Any) -> str:
    """Return a type as a schema with one field."""
    return in_hex(pa.schema({"le": kind}))


def of_hex(text: str) -> Any:
    return pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(text)))
