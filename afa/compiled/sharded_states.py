"""Put the states of keys together that several memories hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from afa.state.canonical import order_of_keys
from afa.state.key_columns import KeyColumns
from afa.state.states import CHANGES, ROWS, STATE, Column, States, sorted_texts


def joined(parts: Sequence[States]) -> States:
    """Return the states of all parts as one, in the order that the keys and the state alone decide. No key is in two parts."""
    keys = KeyColumns.concat(part.keys for part in parts).normal()
    order = order_of_keys(keys)
    heads = np.concatenate([part.heads for part in parts], axis=1)
    names = sorted({name for part in parts for name in part.names})
    rows = np.concatenate([_renamed(part, names) for part in parts], axis=1)
    changes = np.concatenate([part.changes for part in parts], axis=1)
    of_rows, of_changes = (_places(heads[which], order) for which in (ROWS, CHANGES))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    begins = np.cumsum([0, *(len(part.keys) for part in parts)]).tolist()
    pruned = [one._replace(key=int(place[begin + one.key])) for begin, part in zip(begins, parts) for one in part.pruned]
    return States(
        keys.take(order),
        parts[0].final,
        heads[:, order],
        names,
        rows[:, of_rows],
        [_joined(columns).take(of_rows) for columns in zip(*(part.registers for part in parts))],
        changes[:, of_changes],
        [_joined(columns).take(of_changes) for columns in zip(*(part.payloads for part in parts))],
        sorted(pruned, key=lambda one: one.key),
    ).arranged()


def _renamed(part: States, names: list[str]) -> Any:
    """Return a part's rows with states by their numbers among ``names``."""
    numbers = np.array([names.index(name) for name in part.names], np.int64)
    rows = part.rows.copy()
    rows[STATE] = numbers[rows[STATE]]
    return rows


def _places(counts: Any, order: Any) -> Any:
    """Return where the rows of keys stand, of so many each, when the keys are brought into an order."""
    begins = np.cumsum(counts) - counts
    lengths = counts[order]
    ends = np.cumsum(lengths)
    return np.repeat(begins[order] - (ends - lengths), lengths) + np.arange(int(ends[-1]) if len(ends) else 0)


def _joined(columns: Sequence[Column]) -> Column:
    present = None if columns[0].present is None else np.concatenate([column.present for column in columns])
    if columns[0].texts is None:
        return Column(np.concatenate([column.values for column in columns]), present)
    texts: list[str] = []
    values = []
    for column in columns:
        values.append(column.values + len(texts))
        texts += column.texts or []
    once = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    numbers = np.array([once[text] for text in texts], np.int64)
    found, kept = sorted_texts(numbers[np.concatenate(values)] if texts else np.concatenate(values), list(once))
    return Column(found, present, kept)
