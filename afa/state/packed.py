"""Pack states (`afa.state.states`) as plain data in few bytes, and unpack them. Unpacked data is accepted only if its forms fit.

[keys, ints (changes), ints (rows), ints (LE of covers), [state..], ints (start), ints (m), ints (state),
 [column of a register..], ints (LE), ints (RE - LE), ints (copies), [column of a payload..], [`afa.state.states.Pruned`..],
 numbers]

keys      [n, width, [column..]]: all of them ints, strings (width 0), or tuples of so many of these: a column a part
          [n, null, [key..]]: others
          column: ints; or [text..]
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
from afa.schema import NAN, Field, any_payload
from afa.state.canonical import Parts, parts_of
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
    ascends,
    fields,
)
from punctuation.time import as_time

_WIDTHS = (1, 2, 4, 8)


def pack(automaton: Automaton, states: States) -> list[Any]:
    """Return states as plain data. O(state)."""
    heads, rows, changes = states.heads, states.rows, states.changes
    covers = heads[:, states.covered]
    numbers = [np.packbits(states.covered).tobytes(), _ints(covers[NUMBER]), _ints(covers[OVER])]
    return [
        _keys(states.keys, states.parts or parts_of(states.keys)),
        _ints(heads[CHANGES]),
        _ints(heads[ROWS]),
        _ints(covers[COVER]),
        states.names,
        *(_ints(rows[which]) for which in (START, M, STATE)),
        [_column(column, field) for column, field in zip(states.registers, fields(automaton.register_schema))],
        _ints(changes[LE]),
        _ints(changes[RE] - changes[LE]),
        _ints(changes[COPIES]),
        [_column(column, field) for column, field in zip(states.payloads, fields(automaton.event_schema))],
        [list(part) for part in states.pruned],
        numbers if heads[[NUMBER, OVER]].any() or (states.covered != (heads[ROWS] > 0)).any() else None,
    ]


def unpack(automaton: Automaton, data: Any, final: int) -> States:
    """Return the states that plain data describes, saved at a punctuation. `afa.state.sound` checks whether they are sound.

    Raises
    ------
    SnapshotError, ValueError, TypeError, AfaError
        The data has another form.
    """
    keys, counts, lengths, at, names, start, m, state, registers, le, re, copies, payloads, pruned, numbers = data
    found = _read_keys(keys)
    wanted("a list of states", isinstance(names, list) and set(map(type, names)) <= {str}, names)
    heads = np.zeros((5, len(found)), np.int64)
    heads[CHANGES], heads[ROWS] = _numbers(counts, len(found)), _numbers(lengths, len(found))
    n, count = summed(heads[ROWS]), summed(heads[CHANGES])
    covered = heads[ROWS] > 0
    if numbers is not None:
        bits, of_cover, over = numbers
        wanted(f"{len(found)} bits", isinstance(bits, bytes) and len(bits) == (len(found) + 7) // 8, bits)
        covered = np.unpackbits(np.frombuffer(bits, np.uint8), count=len(found)).astype(np.bool_)
        wanted("a cover of each key with partial matches", covered[heads[ROWS] > 0].all(), bits)
        heads[NUMBER, covered], heads[OVER, covered] = (_numbers(part, int(covered.sum())) for part in (of_cover, over))
    heads[COVER, covered] = _numbers(at, int(covered.sum()))
    rows = np.stack([_numbers(part, n) for part in (start, m, state)])
    changes = np.stack([_numbers(part, count) for part in (le, re, copies)])
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


def _keys(keys: Sequence[Any], parts: Parts | None) -> list[Any]:
    if parts is None:
        return [len(keys), None, list(keys)]
    return [len(keys), parts.width, [_ints(part) if isinstance(part, np.ndarray) else part for part in parts.columns]]


def _read_keys(data: Any) -> list[Any]:
    n, width, columns = data
    if width is None:
        found = [any_payload(key) for key in columns]
    elif type(width) is int and isinstance(columns, list) and len(columns) == max(width, 1):
        parts = [_key_part(column, as_time(n, "n")) for column in columns]
        lists = [part.tolist() if isinstance(part, np.ndarray) else part for part in parts]
        found = lists[0] if width == 0 else list(zip(*lists))
        if all(isinstance(part, np.ndarray) for part in parts):  # without a look at each
            wanted("keys in order", ascends(parts), parts)
            return found
    else:
        raise SnapshotError(f"expected a column of keys for each part but got width={short(width)}, {short(columns)}")
    wanted(f"{short(n)} different keys", len(found) == n == len(set(found)), found)
    return found


def _key_part(column: Any, n: int) -> Any:
    """Return a part of keys: texts as they are, or ints unpacked."""
    wanted("keys", isinstance(column, list), column)
    if set(map(type, column)) == {str}:
        wanted(f"{n} keys", len(column) == n, column)
        return column
    return _numbers(column, n)


# -- ints --------------------------------------------------------------------------------------------------------------------


def _ints(values: Any) -> list[Any]:
    if not len(values):
        return [0, b""]
    least, span = int(values.min()), int(values.max()) - int(values.min())
    width = next(width for width in _WIDTHS if span < 1 << 8 * width)
    above = values.astype(np.int64).view(np.uint64) - np.uint64(least % (1 << 64))
    return [least, above.astype(f"<u{width}").tobytes()]


def _numbers(data: Any, n: int) -> Any:
    least, packed = data
    if not isinstance(packed, bytes) or len(packed) != n * _width(packed, n):
        raise SnapshotError(f"expected {n} numbers but got {short(packed)}")
    above = np.frombuffer(packed, f"<u{_width(packed, n)}").astype(np.uint64)
    return (above + np.uint64(as_time(least, "least") % (1 << 64))).view(np.int64)


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
    return _ints(column.values) if column.texts is None else [column.texts, _ints(column.values)]


def _columns(data: Any, schema: Sequence[Field], n: int) -> list[Column]:
    wanted(f"{len(schema)} columns", isinstance(data, list) and len(data) == len(schema), data)
    return [_read(part, field, n) for part, field in zip(data, schema)]


def _read(data: Any, field: Field, n: int) -> Column:
    if field.type is None:
        wanted(f"a list of {n}", isinstance(data, list) and len(data) == n, data)
        return Column([any_payload(item) for item in data])
    if field.optional:
        bits, inner = data
        wanted(f"{n} bits", isinstance(bits, bytes) and len(bits) == (n + 7) // 8, bits)
        present = np.unpackbits(np.frombuffer(bits, np.uint8), count=n).astype(np.bool_)
        found = _read(inner, field._replace(optional=False), n)
        found.values[~present] = 0
        return found._replace(present=present)
    if field.type is float:
        wanted(f"{n} floats", isinstance(data, bytes) and len(data) == 8 * n, data)
        values = np.frombuffer(data, "<f8").astype(np.float64)
        values[np.isnan(values)] = NAN  # before any arithmetic: one that signals would warn
        values += 0.0
        return Column(values)
    if field.type is str:
        texts, numbers = data
        wanted("different texts", isinstance(texts, list) and set(map(type, texts)) <= {str} and _differ(texts), texts)
        values = _numbers(numbers, n)
        wanted("numbers of texts", not n or (values.min() >= 0 and values.max() < len(texts)), numbers)
        return Column(values, None, texts)
    values = _numbers(data, n)
    wanted("bools", field.type is not bool or not ((values < 0) | (values > 1)).any(), "other numbers")
    return Column(values)


def _differ(texts: list[str]) -> bool:
    return len(set(texts)) == len(texts)
