"""Pack states (`afa.state.states`) as plain data in few bytes, and unpack them. Unpacked data is accepted only if its forms fit.

[keys, ints (changes), ints (rows), ints (LE of covers), [state..], ints (start), ints (m), ints (state),
 [column of a register..], ints (LE), ints (RE - LE), ints (copies), [column of a payload..], [`afa.state.states.Pruned`..],
 numbers]

keys      [n, width, [kind..], [bits or null..], [column..]]: a column (width 0), or tuples of so many values, a column each; of
          what is there, which bits say, a bit each (null: all is)
          int: ints; float: bytes of float64; bool: bytes, a bit each; str: [ints (lengths), bytes]; any: [value..]
          in version 7 [n, width, [column..]], columns of ints, or [text..]; or [n, null, [key..]]
numbers   null; where numbers are gapless, [bytes, ints (numbers of covers), ints (RE of their events)]: a bit for each key with one
ints      [least, bytes]: what each is above the least, in 1, 2, 4 or 8 bytes, little endian; modulo 2^64
column    int, bool: ints; float: bytes of float64; str: [[text..], ints]; anything: a list
          of an optional field: [bytes, column], a bit each for those that are there
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from afa.errors import SnapshotError
from afa.model.automaton import Automaton
from afa.schema import Field, any_payload
from afa.state.canonical import ascends, newest
from afa.state.key_columns import KeyColumn, KeyColumns, floats_of, spans, texts_between
from afa.state.sound import short, summed, wanted
from afa.state.states import (
    CHANGES,
    COPIES,
    COVER,
    LE,
    NUMBER,
    OVER,
    RE,
    ROWS,
    START,
    STATE,
    Column,
    M,
    Pruned,
    States,
    fields,
)
from punctuation.time import as_time

_WIDTHS = (1, 2, 4, 8)
KINDS: dict[type | None, str] = {int: "int", float: "float", bool: "bool", str: "str", None: "any"}
_OF_NAME = {name: kind for kind, name in KINDS.items()}


def pack(automaton: Automaton, states: States) -> list[Any]:
    """Return states as plain data. O(state)."""
    heads, rows, changes = states.heads, states.rows, states.changes
    covers = heads[:, states.covered]
    numbers = [np.packbits(states.covered).tobytes(), pack_ints(covers[NUMBER]), pack_ints(covers[OVER])]
    return [
        pack_keys(states.keys),
        pack_ints(heads[CHANGES]),
        pack_ints(heads[ROWS]),
        pack_ints(covers[COVER]),
        states.names,
        *(pack_ints(rows[which]) for which in (START, M, STATE)),
        [_column(column, field) for column, field in zip(states.registers, fields(automaton.register_schema))],
        pack_ints(changes[LE]),
        pack_ints(changes[RE] - changes[LE]),
        pack_ints(changes[COPIES]),
        [_column(column, field) for column, field in zip(states.payloads, fields(automaton.event_schema))],
        [list(part) for part in states.pruned],
        numbers if heads[[NUMBER, OVER]].any() or (states.covered != (heads[ROWS] > 0)).any() else None,
    ]


def unpack(automaton: Automaton, data: Any, final: int) -> States:
    """Returns the states that plain data describes, saved at a punctuation. `afa.state.sound` checks whether they are sound.

    Raises SnapshotError, ValueError, TypeError or AfaError where the data has another form.
    """
    keys, counts, lengths, at, names, start, m, state, registers, le, re, copies, payloads, pruned, numbers = data
    found = read_keys(keys)
    wanted("a list of states", isinstance(names, list) and set(map(type, names)) <= {str}, names)
    heads = np.zeros((5, len(found)), np.int64)
    heads[CHANGES], heads[ROWS] = read_ints(counts, len(found)), read_ints(lengths, len(found))
    n, count = summed(heads[ROWS]), summed(heads[CHANGES])
    covered = heads[ROWS] > 0
    if numbers is not None:
        bits, of_cover, over = numbers
        covered = _bits(bits, len(found))
        wanted("a cover of each key with partial matches", covered[heads[ROWS] > 0].all(), bits)
        heads[NUMBER, covered], heads[OVER, covered] = (read_ints(part, int(covered.sum())) for part in (of_cover, over))
    heads[COVER, covered] = read_ints(at, int(covered.sum()))
    rows = np.stack([read_ints(part, n) for part in (start, m, state)])
    changes = np.stack([read_ints(part, count) for part in (le, re, copies)])
    changes[RE] += changes[LE]
    return States(
        found,
        final,
        heads,
        names,
        rows,
        _columns(registers, fields(automaton.register_schema), n),
        changes,
        _columns(payloads, fields(automaton.event_schema), count),
        _read_pruned(pruned, len(found)),
    )


def _read_pruned(data: Any, n: int) -> list[Pruned]:
    parts = [Pruned(*part) for part in data]
    keys = [part.key for part in parts]
    wanted("keys of steps, in order", all(type(key) is int and 0 <= key < n for key in keys), keys)
    wanted("keys of steps, in order", all(a < b for a, b in itertools.pairwise(keys)), keys)
    return parts


# -- keys --------------------------------------------------------------------------------------------------------------------


def pack_keys(keys: KeyColumns) -> list[Any]:
    """Return keys in their canonical order as plain data."""
    columns = [column.settled() for column in keys.columns]
    names = [KINDS[column.kind] for column in columns]
    bits = [None if column.present is None else np.packbits(column.present).tobytes() for column in columns]
    there = [column if column.present is None else column.take(np.flatnonzero(column.present)) for column in columns]
    return [len(keys), keys.width, names, bits, list(map(pack_column, there))]


def pack_column(column: KeyColumn) -> Any:
    """Return values, all of them there, as plain data."""
    values = column.values
    if column.kind is int:
        return pack_ints(values)
    if column.kind is str:
        places, data = spans(values)
        return [pack_ints(np.diff(places)), data[places[0] : places[-1]].tobytes()]
    if column.kind is bool:
        return np.packbits(values).tobytes()
    return list(values) if column.kind is None else values.astype("<f8").tobytes()


def read_keys(data: Any) -> KeyColumns:
    """Return the keys of plain data, all different."""
    found = _read_old_keys(*data) if len(data) == 3 else _read_columns(*data)
    if found.has_objects:
        keys = list(found)
        wanted(f"{len(keys)} different keys", len(set(keys)) == len(keys), keys)
    else:
        wanted("different keys in order", ascends(found) or (len(data) == 3 and newest([found])[0].all()), list(found[:7]))
    return found


def _read_columns(n: Any, width: Any, names: Any, bits: Any, columns: Any) -> KeyColumns:
    wanted("a number of keys", as_time(n, "n") >= 0, n)
    lists = (
        type(width) is int
        and width >= 0
        and all(isinstance(part, list) and len(part) == max(width, 1) for part in (names, bits, columns))
    )
    wanted("a column of keys for each part", lists, [width, names])
    wanted("kinds of keys", all(isinstance(name, str) and name in _OF_NAME for name in names), names)
    return KeyColumns(width, [_read_key_column(*parts, n) for parts in zip(names, bits, columns)])


def _read_key_column(name: Any, bits: Any, data: Any, n: int) -> KeyColumn:
    present, there = None, n
    if bits is not None:
        present = _bits(bits, n)
        there = int(present.sum())
    values = read_column(name, data, there)
    if present is None:
        return KeyColumn(_OF_NAME[name], values)
    wanted("keys of one kind, some of them None", 0 < there < n and name != "any", name)
    places = np.cumsum(present) - 1
    return KeyColumn(_OF_NAME[name], KeyColumn(_OF_NAME[name], values).take(np.maximum(places, 0)).values, present)


def read_column(name: Any, data: Any, n: int) -> Any:
    """Return so many values of a kind, by its name in `KINDS`, as `KeyColumn` has them."""
    if name == "int":
        return read_ints(data, n)
    if name == "float":
        return floats_of(_floats(data, n))
    if name == "bool":
        return _bits(data, n)
    if name == "str":
        return _read_texts(data, n)
    wanted(f"a list of {n} keys", isinstance(data, list) and len(data) == n, data)
    return [any_payload(key) for key in data]


def _read_texts(data: Any, n: int) -> Any:
    lengths, packed = data
    found = read_ints(lengths, n)
    wanted("texts side by side", isinstance(packed, bytes) and summed(found) == len(packed), packed)
    texts = texts_between(np.concatenate([[0], np.cumsum(found)]), packed)
    texts.validate(full=True)  # raises if this is no UTF-8
    return texts


def _read_old_keys(n: Any, width: Any, columns: Any) -> KeyColumns:
    """Return the keys of a snapshot of version 7."""
    if width is None:
        found = KeyColumns.of([any_payload(key) for key in columns])
    elif type(width) is int and isinstance(columns, list) and len(columns) == max(width, 1):
        found = KeyColumns(width, [_old_key_column(column, as_time(n, "n")) for column in columns])
    else:
        raise SnapshotError(f"expected a column of keys for each part but got width={short(width)}, {short(columns)}")
    wanted(f"{short(n)} keys", len(found) == n, list(found[:7]))
    return found


def _old_key_column(column: Any, n: int) -> KeyColumn:
    """Return a part of keys: texts, or ints unpacked."""
    wanted("keys", isinstance(column, list), column)
    if set(map(type, column)) == {str}:
        wanted(f"{n} keys", len(column) == n, column)
        return KeyColumn.of(column)
    return KeyColumn(int, read_ints(column, n))


# -- ints --------------------------------------------------------------------------------------------------------------------


def pack_ints(values: Any) -> list[Any]:
    """Return an array of ints as plain data."""
    if not len(values):
        return [0, b""]
    least, span = int(values.min()), int(values.max()) - int(values.min())
    width = next(width for width in _WIDTHS if span < 1 << 8 * width)
    above = values.astype(np.int64).view(np.uint64) - np.uint64(least % (1 << 64))
    return [least, above.astype(f"<u{width}").tobytes()]


def read_ints(data: Any, n: int) -> Any:
    """Return so many ints as an array."""
    least, packed = data
    if not isinstance(packed, bytes) or len(packed) != n * _width(packed, n):
        raise SnapshotError(f"expected {n} numbers but got {short(packed)}")
    above = np.frombuffer(packed, f"<u{_width(packed, n)}").astype(np.uint64)
    return (above + np.uint64(as_time(least, "least") % (1 << 64))).view(np.int64)


def _floats(data: Any, n: int) -> Any:
    wanted(f"{n} floats", isinstance(data, bytes) and len(data) == 8 * n, data)
    return np.frombuffer(data, "<f8")


def _bits(data: Any, n: int) -> Any:
    """Return bits as an array of bools."""
    wanted(f"{n} bits", isinstance(data, bytes) and len(data) == (n + 7) // 8, data)
    return np.unpackbits(np.frombuffer(data, np.uint8), count=n).view(np.bool_)


def _width(packed: bytes, n: int) -> int:
    width = len(packed) // n if n else 1
    return width if width in _WIDTHS else 1


# -- columns -----------------------------------------------------------------------------------------------------------------


def _column(column: Column, field: Field) -> Any:
    if isinstance(column.values, list):
        return column.values
    if column.present is not None:
        return [np.packbits(column.present).tobytes(), _column(column._replace(present=None), field)]
    if field.type is float:
        return column.values.astype("<f8").tobytes()
    return pack_ints(column.values) if column.texts is None else [column.texts, pack_ints(column.values)]


def _columns(data: Any, schema: Sequence[Field], n: int) -> list[Column]:
    wanted(f"{len(schema)} columns", isinstance(data, list) and len(data) == len(schema), data)
    return [_read(part, field, n) for part, field in zip(data, schema)]


def _read(data: Any, field: Field, n: int) -> Column:
    if field.type is None:
        wanted(f"a list of {n}", isinstance(data, list) and len(data) == n, data)
        return Column([any_payload(item) for item in data])
    if field.optional:
        bits, inner = data
        present = _bits(bits, n)
        found = _read(inner, field._replace(optional=False), n)
        found.values[~present] = 0
        return found._replace(present=present)
    if field.type is float:
        return Column(floats_of(_floats(data, n)))
    if field.type is str:
        texts, numbers = data
        wanted("texts", isinstance(texts, list) and set(map(type, texts)) <= {str}, texts)
        wanted("different texts", len(set(texts)) == len(texts), texts)
        values = read_ints(numbers, n)
        wanted("numbers of texts", not n or (values.min() >= 0 and values.max() < len(texts)), numbers)
        return Column(values, None, texts)
    values = read_ints(data, n)
    wanted("bools", field.type is not bool or not ((values < 0) | (values > 1)).any(), "other numbers")
    return Column(values)
