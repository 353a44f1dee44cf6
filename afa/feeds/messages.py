"""Messages of a change feed, whatever its format: one row a message, with what it says of a row of the table, and its version.

A decoder makes an *envelope* of each block: a table with the columns ``op``, ``before``, ``after``, ``key`` (structs), ``version``,
``time`` (when the message says that it happened), ``table`` and ``number`` (of its line). `MessageMaker` makes messages of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.errors import AfaError, ChangeError, did_you_mean
from afa.feeds.feed_times import Converter, TimeColumns
from afa.feeds.json_reader import OnFault
from afa.io.file_columns import timestamps_of_text
from punctuation.door import one_array

SIGNS = {"c": 1, "r": 1, "u": 1, "d": -1, "t": 0}
"""What Debezium's operations do: create, read in a snapshot, update; delete; truncate."""
OPS, SIGN_OF = pa.array(SIGNS), np.array([*SIGNS.values()], np.int8)
SILENT = pa.array(["m"])
"""Operations that say nothing of rows: a message that someone has written into the log."""
TABLE = re.compile(rb'"table"\s*:\s*"([^"\\]*)"')
ISO = r"^\d{4}-\d\d-\d\d[T ]\d\d:"
WIDE, LEAST = 40, -(1 << 63)
"""Letters of a part of a version in text: longer numbers are larger ones."""


class FeedOptions(NamedTuple):
    """What a feed is asked for."""

    key: tuple[str, ...] = ()
    time: str | None = None
    until: str | None = None
    version: tuple[str, ...] = ()
    table: str | None = None
    facts: Mapping[str, str] = {}

    @property
    def times(self) -> list[str]:
        """The columns that hold times which events have."""
        return list(dict.fromkeys([*filter(None, (self.time, self.until)), *self.facts.values()]))

    def wants(self, line: bytes) -> bool:
        """Return False of a line that names other tables only, whose columns may be of any type."""
        names, asked = () if self.table is None else TABLE.findall(line), f".{self.table}".encode()
        return not names or any(asked.endswith(b"." + name) for name in names)


class Messages(NamedTuple):
    """Messages of rows. Of a removal only the key counts, of a truncation (sign 0) only the version."""

    rows: pa.Table
    sign: Any
    version: pa.Array | None
    numbers: Any

    def where(self, mask: Any) -> Messages:
        chosen = pa.array(mask)
        version = None if self.version is None else self.version.filter(chosen)
        return Messages(self.rows.filter(chosen), self.sign[mask], version, self.numbers[mask])

    def and_then(self, *others: Messages) -> Messages:
        """Return these messages, and others behind them."""
        parts, version = (self, *others), None
        try:
            if self.version is not None:
                version = one_array(pa.chunked_array([part.version for part in parts]))
            rows = pa.concat_tables([part.rows for part in parts], promote_options="permissive")
        except (pa.ArrowException, TypeError) as error:
            raise ChangeError(f"expected columns of the types of the rows before but got others: {error}") from error
        return Messages(rows, np.concatenate([p.sign for p in parts]), version, np.concatenate([p.numbers for p in parts]))


def parts_of(column: Any) -> dict[str, pa.Array]:
    """Return the fields of a column of structs; none, if it holds nothing else than nulls."""
    column = one_array(column)
    return dict(zip([field.name for field in column.type], column.flatten())) if pa.types.is_struct(column.type) else {}


def path_in(fields: Mapping[str, pa.Array], path: str) -> pa.Array | None:
    """Return a field of fields: ``source.lsn``."""
    name, _, rest = path.partition(".")
    found = fields.get(name)
    return found if found is None or not rest else path_in(parts_of(found), rest)


def version_of(columns: Sequence[pa.Array], last: Any = None) -> pa.Array:
    """Return columns, the most significant one first, as one that orders: ints, or text by its code points. Null is the least.

    ``last``: 0 or 1 of each, the least significant part.

    >>> version_of([pa.array([7, None])]).to_pylist()
    [7, -9223372036854775808]
    >>> a, b = version_of([pa.array(["binlog.9", "binlog.10"]), pa.array([4, 3])]).to_pylist()
    >>> a < b
    True
    """
    if any(pa.types.is_floating(column.type) for column in columns):
        raise AfaError("expected ints or text as what orders messages but got floats")
    if len(columns) == 1 and pa.types.is_integer(columns[0].type) and columns[0].type != pa.uint64():
        found, low = columns[0].cast(pa.int64()), LEAST if last is None else LEAST // 2
        if last is None:
            return found.fill_null(low)
        least, largest = pc.min_max(found).as_py().values()
        if least is not None and not low < least <= largest < -low:
            raise AfaError(f"expected ints between {low} and {-low} as what orders messages but got {least} to {largest}")
        return pc.add(pc.multiply(found.fill_null(low), 2), pa.array(last))
    columns = [_in_ticks(column) for column in columns] + ([] if last is None else [pa.array(last)])
    texts = [pc.utf8_lpad(_ordered(column).fill_null(""), WIDE) for column in columns]
    return one_array(pc.binary_join_element_wise(*texts, " "))


def _ordered(column: pa.Array) -> pa.Array:
    """Return ints as texts of one length in their order; anything else as text."""
    texts = column.cast(pa.string())
    if not pa.types.is_integer(column.type):
        return texts
    negative = pc.starts_with(texts, "-")
    if pc.any(negative).as_py():
        below = pc.if_else(negative, column.cast(pa.int64()), -1)
        texts = pc.if_else(negative, pc.add(pc.add(below, -(LEAST + 1)), 1).cast(pa.string()), texts)
    return pc.binary_join_element_wise(pc.if_else(negative, "0", "1"), pc.utf8_lpad(texts, 20, "0"), "")


def _in_ticks(column: pa.Array) -> pa.Array:
    """Return text that is times of ISO 8601, of which longer ones are not later, as ints; anything else as it is."""
    if not (pa.types.is_string(column.type) and pc.all(pc.match_substring_regex(column, ISO)).as_py()):
        return column
    found = timestamps_of_text(column)
    return column if found is None else found.cast(pa.int64())


class MessageMaker:
    """Makes messages of envelopes; knows which types times had, and which tables there were, in the blocks before."""

    def __init__(self, asked: FeedOptions, told: OnFault) -> None:
        self.asked, self._told = asked, told
        self.key = asked.key
        self.times = TimeColumns(asked.times, told)
        self._table: str | None = None
        self._key_kinds: dict[str, pa.DataType] = {}

    def messages(self, envelope: pa.Table, converters: Mapping[str, Converter]) -> Messages:
        """Return what a block's envelopes say; ``converters``: what makes of columns the type that a schema says."""
        envelope = self._known_ops(self._of_table(envelope))
        n, (before, after, key) = len(envelope), (parts_of(envelope[name]) for name in ("before", "after", "key"))
        sign = SIGN_OF[pc.index_in(envelope["op"], OPS).to_numpy()]
        self.key = self.key or tuple(key)
        if not self.key and (sign != 0).any():
            raise AfaError("expected key=, the columns that tell one row of the table from another, but got none")
        numbers = envelope["number"].to_numpy()
        wrong = (sign > 0) & missing(envelope["after"])
        self.tell(numbers[wrong], "expected a row in 'after' but got none")
        for fields in (after, key, before):
            wrong |= self._of_other_types(fields, numbers, wrong)
        old = {name: _first(n, before.get(name), key.get(name), after.get(name)) for name in self.key}
        new = {name: _first(n, after.get(name), key.get(name)) for name in self.key}
        ids = {name: _chosen(sign > 0, new[name], old[name]) for name in self.key}
        rows = pa.table({**after, **ids})
        for name in self.key:
            none = (sign != 0) & ~wrong & missing(rows[name])
            self.tell(numbers[none], f"expected a value of the key {name!r} but got none")
            wrong |= none
        version = one_array(envelope["version"])
        time = envelope["time"] if "time" in envelope.column_names else None
        found = self.timed(Messages(rows, sign, version, numbers), wrong, time, converters)
        moved = (sign > 0) & ~wrong & _moved(before, after, self.key, n)  # to another key: two messages
        if not moved.any():
            return found
        gone = pa.table(old).filter(pa.array(moved))
        return found.and_then(Messages(gone, np.full(len(gone), -1, np.int8), version.filter(pa.array(moved)), numbers[moved]))

    def timed(self, given: Messages, wrong: Any, said: Any, converters: Mapping[str, Converter]) -> Messages:
        """Return messages but those that are ``wrong``, with ``le`` and ``re``; a row without a time is no event yet.

        ``said``: the times that the messages say themselves. Of signed rows, which have no version, those that go count as well.
        """
        asked, counts = self.asked, (given.sign > 0) | (given.version is None)
        rows, bad = self.times.converted(given.rows, given.numbers, counts, converters)
        there = rows.column_names
        for wanted in asked.times if counts.any() else ():  # before rows are taken
            if wanted not in there:
                raise AfaError(f"no column {wanted!r} among {', '.join(there)}{did_you_mean(wanted, there)}")
        for target, name in (("le", asked.time), ("re", asked.until), ("diff", None)):
            if target in rows.column_names and name != target:
                taken = counts & ~missing(rows[target])
                self.tell(
                    given.numbers[taken & ~wrong & ~bad], f"expected no {target!r} in a row, as changes have one, but got one"
                )
                rows, bad = rows.drop_columns([target]), bad | taken
            if name not in (None, target) and name in rows.column_names:
                rows = rows.append_column(target, rows[name])
        if asked.time is None and not asked.facts:
            if said is None:
                raise AfaError("expected time=, the column that says when a row happened, but got none")
            rows = rows.append_column("le", said)
        found = Messages(rows, given.sign, given.version, given.numbers)
        if "le" in rows.column_names:
            none = counts & missing(rows["le"])
            found = found._replace(sign=np.where(none, np.int8(-1), given.sign))
            bad |= none & (given.version is None)
        return found.where(~(wrong | bad))

    def _of_other_types(self, fields: dict[str, pa.Array], numbers: Any, wrong: Any) -> Any:
        """Return the messages whose key has another type than in those before; the values go."""
        found = np.zeros(len(numbers), np.bool_)
        for name in self.key:
            column = fields.get(name)
            if column is None or column.null_count == len(column):
                fields.pop(name, None)
            elif column.type != self._key_kinds.setdefault(name, column.type):
                there = ~missing(column)
                self.tell(numbers[there & ~wrong], f"expected {self._key_kinds[name]} in the key {name!r} but got {column.type}")
                found |= there
                del fields[name]
        return found

    def _of_table(self, envelope: pa.Table) -> pa.Table:
        """Return the messages of the table that is asked for; of the first one, if none is, and others are told."""
        if "table" not in envelope.column_names:
            return envelope
        names, asked = one_array(envelope["table"]), self.asked.table
        if asked is not None:
            last = pc.replace_substring_regex(names, r"^.*\.", "")
            return envelope.filter(pc.fill_null(pc.or_(pc.equal(names, asked), pc.equal(last, asked)), False))
        there = names.drop_null()
        self._table = self._table or (there[0].as_py() if len(there) else None)
        others = pc.fill_null(pc.not_equal(names, pa.scalar(self._table, pa.string())), False).to_numpy(zero_copy_only=False)
        for i in np.flatnonzero(others).tolist():
            said = f"expected table=, as messages are of {self._table!r} and {names[i].as_py()!r}, but got none"
            self._told(envelope["number"][i].as_py(), said)
        return envelope.filter(pa.array(~others)) if others.any() else envelope

    def _known_ops(self, envelope: pa.Table) -> pa.Table:
        """Return the messages with operations that are known and say something of rows; others are told by name."""
        ops = one_array(envelope["op"])
        known, silent = (pc.is_in(ops, words).to_numpy(zero_copy_only=False) for words in (OPS, SILENT))
        for i in np.flatnonzero(~(known | silent)).tolist():
            op = ops[i].as_py()
            said = "none" if op is None else repr(op[:40])
            self._told(envelope["number"][i].as_py(), f"expected an operation (op) of {', '.join(SIGNS)} but got {said}")
        return envelope if known.all() else envelope.filter(pa.array(known))

    def tell(self, numbers: Any, text: str) -> None:
        """Tell the same of several lines."""
        for number in numbers.tolist():
            self._told(number, text)


def missing(column: Any) -> Any:
    """Return which values are null."""
    return one_array(column).is_null().to_numpy(zero_copy_only=False)


def _first(n: int, *columns: pa.Array | None) -> pa.Array:
    """Return of each row the first value that is there."""
    there = [column for column in columns if column is not None and not pa.types.is_null(column.type)]
    return pc.coalesce(*there) if there else pa.nulls(n)


def _chosen(mask: Any, yes: pa.Array, no: pa.Array) -> pa.Array:
    """Return of each row the value of one of two columns, in the type of one whose values are known."""
    if pa.types.is_null(yes.type) or pa.types.is_null(no.type):
        yes, no = (pa.nulls(len(a), b.type) if pa.types.is_null(a.type) else a for a, b in ((yes, no), (no, yes)))
    return pc.if_else(pa.array(mask), yes, no)


def _moved(before: Mapping[str, pa.Array], after: Mapping[str, pa.Array], key: Sequence[str], n: int) -> Any:
    """Return which rows have another key than before; what is null before is not known."""
    found = np.zeros(n, np.bool_)
    for name in key:
        if name in before and name in after:
            found |= pc.fill_null(pc.not_equal(before[name], after[name]), False).to_numpy(zero_copy_only=False)
    return found
