"""`afa.states` as plain data in few bytes, and back; what comes back is believed only where it fits.

[keys, ints (changes), ints (rows), ints (LE of covers), [state..], ints (start), ints (m), ints (state),
 [column of a register..], ints (LE), ints (RE - LE), ints (copies), [column of a payload..], [`afa.states.Pruned`..]]

ints      [least, bytes]: what each is above the least, in 1, 2, 4 or 8 bytes, little endian; modulo 2^64
column    int, bool: ints; float: bytes of float64; str: [[text..], ints]; anything: a list
          of an optional field: [bytes, column], a bit each for those that are there
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from afa.automaton import Automaton
from afa.errors import SnapshotError
from afa.schema import NAN, Field, any_payload
from afa.states import CHANGES, COPIES, COVER, LE, RE, ROWS, START, STATE, Column, M, Pruned, States, fields
from punctuation.time import BEGINNING, as_time

_WIDTHS = (1, 2, 4, 8)


def pack(automaton: Automaton, states: States) -> list[Any]:
    """Plain data of states. O(state)."""
    heads, rows, changes = states.heads, states.rows, states.changes
    covers = heads[:, heads[ROWS] > 0]
    return [
        states.keys,
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
    ]


def unpack(automaton: Automaton, data: Any, final: int) -> States:
    """The states that plain data describes, saved at a punctuation.

    Raises
    ------
    SnapshotError, ValueError, TypeError, AfaError
        It does not fit.
    """
    keys, counts, lengths, at, names, start, m, state, registers, le, re, copies, payloads, pruned = data
    if not isinstance(keys, list) or len(set(keys)) < len(keys):
        raise SnapshotError(f"expected a list of different keys but got {keys!r}")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SnapshotError(f"expected a list of states but got {names!r}")
    heads = np.zeros((3, len(keys)), np.int64)
    heads[CHANGES], heads[ROWS] = _numbers(counts, len(keys)), _numbers(lengths, len(keys))
    covered = heads[ROWS] > 0
    heads[COVER, covered] = _numbers(at, int(covered.sum()))
    n, count = _total(heads[ROWS]), _total(heads[CHANGES])
    rows = np.stack([_numbers(part, n) for part in (start, m, state)])
    changes = np.stack([_numbers(part, count) for part in (le, re, copies)])
    changes[RE] += changes[LE]
    found = States(
        [any_payload(key) for key in keys],
        final,
        heads,
        names,
        rows,
        _columns(registers, fields(automaton.register_schema), n),
        changes,
        _columns(payloads, fields(automaton.event_schema), count),
        [Pruned(*part) for part in pruned],
    )
    _check(found)
    return found


def _check(states: States) -> None:
    """Refuse what no engine writes."""
    heads, rows, changes = states.heads, states.rows, states.changes
    of_row, of_change = (np.repeat(np.arange(len(states.keys)), heads[which]) for which in (ROWS, CHANGES))
    late = (heads[ROWS, of_change] > 0) & (changes[LE] <= heads[COVER, of_change])
    sound = [
        ("states that have names", ((rows[STATE] < 0) | (rows[STATE] >= len(states.names))).any()),
        ("partial matches by start", ((of_row[1:] == of_row[:-1]) & (rows[START, 1:] < rows[START, :-1])).any()),
        ("re > le", (changes[RE] <= changes[LE]).any()),
        ("copies", ((changes[COPIES] == 0) | (changes[COPIES] == BEGINNING)).any()),
        ("events after the cover", late.any()),
        ("keys of steps", not all(type(part.key) is int and 0 <= part.key < len(states.keys) for part in states.pruned)),
    ]
    for what, wrong in sound:
        if wrong:
            raise SnapshotError(f"expected {what} but got a state without")


def _total(counts: Any) -> int:
    if (counts < 0).any():
        raise SnapshotError("expected counts but got a negative one")
    return sum(counts.tolist())


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
        raise SnapshotError(f"expected {n} numbers but got {packed!r}")
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


def _columns(data: Any, wanted: Sequence[Field], n: int) -> list[Column]:
    if not isinstance(data, list) or len(data) != len(wanted):
        raise SnapshotError(f"expected {len(wanted)} columns but got {data!r}")
    return [_read(part, field, n) for part, field in zip(data, wanted)]


def _read(data: Any, field: Field, n: int) -> Column:
    if field.type is None:
        if not isinstance(data, list) or len(data) != n:
            raise SnapshotError(f"expected a list of {n} but got {data!r}")
        return Column([any_payload(item) for item in data])
    if field.optional:
        bits, inner = data
        if len(bits) != (n + 7) // 8:
            raise SnapshotError(f"expected {n} bits but got {bits!r}")
        present = np.unpackbits(np.frombuffer(bits, np.uint8), count=n).astype(np.bool_)
        found = _read(inner, field._replace(optional=False), n)
        found.values[~present] = 0
        return found._replace(present=present)
    if field.type is float:
        values = np.frombuffer(data, "<f8").astype(np.float64) + 0.0
        values[np.isnan(values)] = NAN
        if len(values) != n:
            raise SnapshotError(f"expected {n} floats but got {len(values)}")
        return Column(values)
    if field.type is str:
        texts, numbers = data
        values = _numbers(numbers, n)
        if not all(isinstance(text, str) for text in texts) or ((values < 0) | (values >= len(texts))).any():
            raise SnapshotError(f"expected numbers of texts but got {data!r}")
        return Column(values, None, texts)
    values = _numbers(data, n)
    if field.type is bool and ((values < 0) | (values > 1)).any():
        raise SnapshotError("expected bools but got other numbers")
    return Column(values)
