"""Matches of a `Choose` as rows of words: columns of the compiled operator in, columns out (`speculation.rows`).

The same answers as the plain way (`speculation.choose_plain`), at about the operator's pace. Payloads are of the match schema.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from afa.change import Change
from afa.engine import Logged
from afa.errors import ChangeError
from afa.operator.tables import CallOutput
from afa.schema import Schema
from punctuation.time import BEGINNING, FOREVER
from speculation.rows import row_layout as k
from speculation.rows.row_held import RowHeld
from speculation.rows.row_memory import RowMemory
from speculation.stage import Output


class RowWay(RowHeld):
    """The matches of a `Choose`, in rows, and which of them are chosen."""

    def __init__(self, stage: Any, schema: Schema, keyed: bool) -> None:
        super().__init__(schema)
        self._stage, self._keyed = stage, keyed
        fields = schema.fields if stage.shown is None else schema.fields[: len(stage.shown._fields)]
        self._make: Any = schema.cls if stage.shown is None else stage.shown
        self._shows = len(fields)
        self._counted = bool(stage.opens)  # else no two chosen matches of a key show the same
        self._leaving: dict[bytes, int] = {}  # how many chosen matches stand for one that is shown
        self._memory = RowMemory(self._words.width, self._spec())
        self._coming: list[Change] = []

    @staticmethod
    def fits(stage: Any, schema: Schema) -> bool:
        """Return whether matches can be held so: fields are scalars, those of one point of one type, and of a start never None."""
        fields = {field.name: field for field in schema.fields}
        named = [*stage.opens, *stage.closes, *(name.removeprefix("-") for name in stage.prefer), *stage.to]
        if not schema.scalar or not all(name in fields for name in named):
            return False
        if 2 * (len(fields) + len(stage.prefer)) + len(stage.opens) + len(stage.closes) + 3 > k.PAIRS:  # words that order rows
            return False
        if any(fields[name].optional for name in (*stage.opens, *stage.closes)):  # None is refused there, beside another value
            return False
        kinds = {name: int if field.type is bool else field.type for name, field in fields.items()}
        opens = [*([int] if stage.window is not None else []), *(kinds[name] for name in stage.opens)]
        closes, to = [int, *(kinds[name] for name in stage.closes)], [kinds[name] for name in stage.to]
        return opens == closes and to in ([], opens)

    def _spec(self) -> Any:
        """Return how the kernels compare rows, see S_*."""
        stage, places = self._stage, self._words.places
        start = stage.by == "start"
        opens = [(k.RowPool.start, int), *((places[n].value, places[n].kind) for n in stage.opens)][stage.window is None :]
        closes = [(k.RowPool.le, int), *((places[n].value, places[n].kind) for n in stage.closes)]
        group, other = (opens, closes) if start else (closes, opens)
        prefer = [pair for name in stage.prefer for pair in self._preferred(name)]
        last = [(column, _down(kind)) for column, kind in other]
        rest = [pair for place in places.values() for pair in _both(place, _up(place.kind))]
        order = [*((column, _up(kind)) for column, kind in group), *([*prefer, *last] if start else [*last, *prefer]), *rest]
        order.append((k.RowPool.re, k.UP))
        spec = np.zeros(k.RowSpec.order + 2 * len(order), np.int64)
        to = [places[name] for name in stage.to]
        shown = [column for place in list(places.values())[: self._shows] for column, _ in _both(place, 0)]
        shown += [k.RowPool.le, k.RowPool.re]
        self._shown = [k.RowPool.key, *shown]
        wait = 0 if stage.window is None else stage.window if start else 1
        mode = k.TO if to else k.PAST if stage.skip == "past last row" else k.NEXT
        texts = any(kind is str for _, kind in opens)
        spec[: k.RowSpec.log_n + 1] = (
            len(order), len(group), len(opens), mode, group[0][0], wait, start, self._counted, len(shown),
            stage.window or 0, texts, 0, 0, 2
        )  # fmt: skip
        for at, words in (
            (k.RowSpec.order, [word for pair in order for word in pair]),
            (k.RowSpec.opens, [word for column, kind in opens for word in (column, _up(kind))]),
            (k.RowSpec.closes, [column for column, _ in closes]),
            (k.RowSpec.to, [place.value for place in to]),
            (k.RowSpec.missing, [k.NOTHING if place.missing is None else place.missing for place in to]),
            (k.RowSpec.shown, shown),
        ):
            spec[at : at + len(words)] = words
        return spec

    def _preferred(self, name: str) -> list[tuple[int, int]]:
        place = self._words.places[name.removeprefix("-")]
        return _both(place, _down(place.kind) if name.startswith("-") else _up(place.kind))

    # -- one call --------------------------------------------------------------------------------------------------------------

    def begins(self) -> None:
        self._coming = []
        super().begins()

    def take(self, item: Change) -> None:
        if item.re is None and self._stage.window is not None:
            raise ChangeError(f"expected a match with its RE but got re=None for {item.payload!r}")
        self._coming.append(item)

    def end(self, out: Output) -> None:
        coming, self._coming = self._coming, []
        if coming:
            self._take(_logged(coming))
            out += self._changes(*self._difference())

    def pass_found(self, found: CallOutput) -> CallOutput:
        """Take an operator's output, and return what leaves."""
        low, count, parts, promises = 0, 0, [], []
        for high, t in [*found.promises, (len(found.rows.le), None)]:
            if low < high:
                self._take(found.rows if high - low == len(found.rows.le) else found.rows.part(low, high))
                parts.append(self._difference())
                count += len(parts[-1][0])
            low = high
            promised = None if t is None else self._stage.settle(t)
            if promised is not None:
                promises.append((count, promised))
        rows, signs = parts[0] if len(parts) == 1 else _joined(parts, self._words.width)
        names = self._keys.all
        keys = [names[number] for number in rows[:, k.RowPool.key].tolist()] if self._keyed else []
        fields = self._words.columns(rows, self._shows)
        return CallOutput(Logged(fields, rows[:, k.RowPool.le], rows[:, k.RowPool.re], signs, keys), promises)

    def _take(self, came: Logged) -> None:
        n, stage = len(came.le), self._stage
        rows = np.empty((n, self._words.width), np.int64)
        rows[:, k.RowPool.key] = self._keys.numbers_of(came.keys) if self._keyed else self._keys.number(None)
        rows[:, k.RowPool.diff], rows[:, k.RowPool.le], rows[:, k.RowPool.re] = came.diff, came.le, came.re
        rows[:, k.RowPool.start] = came.re
        if stage.window is not None:
            rows[:, k.RowPool.start] = np.maximum(rows[:, k.RowPool.start], BEGINNING + stage.window) - stage.window
        self._words.fill(rows, came.fields)
        row = self._put(rows)
        if row is not None:
            (payload,) = self._words.records(row)
            le, diff = int(row[0, k.RowPool.le]), int(row[0, k.RowPool.diff])
            raise ChangeError(f"expected a match that comes once, then goes, but got diff={diff} for {payload!r} at le={le}")
        stage._drawn += self._drawn()

    def _difference(self) -> tuple[Any, Any]:
        """Return rows that leave, in order, with their signs."""
        logged = self._memory.logged()
        rows, signs = self._memory.r[logged[:, 0]], logged[:, 1]
        if self._counted and len(rows):
            rows, signs = self._net(rows, signs)
        if len(rows) > 1:
            order = np.lexsort([rows[:, k.RowPool.le], signs > 0])
            rows, signs = rows[order], signs[order]
        return rows, signs

    def _net(self, rows: Any, signs: Any) -> tuple[Any, Any]:
        """Count chosen matches that show the same, and return those that come or go."""
        shown: dict[bytes, list[int]] = {}
        for i, (match, sign) in enumerate(zip(self._told(rows), signs.tolist())):
            entry = shown.setdefault(match, [i, 0])
            entry[1] += sign
        places, found = [], []
        for match, (i, diff) in shown.items():
            before = self._leaving.get(match, 0)
            if diff:
                self._leave(match, before + diff)
                if not before or not before + diff:
                    places.append(i)
                    found.append(1 if diff > 0 else -1)
        return rows[places], np.array(found, np.int64)

    def _told(self, rows: Any) -> list[bytes]:
        """Return what each row shows, as bytes."""
        words = np.ascontiguousarray(rows[:, self._shown])
        size, whole = words.shape[1] * 8, words.tobytes()
        return [whole[i : i + size] for i in range(0, len(whole), size)]

    def _leave(self, match: bytes, count: int) -> None:
        if count:
            self._stage._journal.put(self._leaving, match, count)
        else:
            self._stage._journal.drop(self._leaving, match)

    def _changes(self, rows: Any, signs: Any) -> list[Change]:
        return self._listed(rows, signs, self._words.records(rows, self._make, self._shows))

    # -- what is final ---------------------------------------------------------------------------------------------------------

    def settle(self, t: int, group: int, least: int, force: bool = False) -> None:
        """Forget what is final behind a promise ``t``; of many keys not at each one. ``force``: all that may go goes."""
        memory = self._memory
        if not self._settle(t, group, least, t == FOREVER, force):
            return
        if self._counted:
            rows = memory.r[memory.logged()[:, 0]]
            for match in self._told(rows):  # all that show the same are final, or none
                self._leave(match, self._leaving[match] - 1)

    def _settle_all(self) -> None:
        """Forget all that is final, within a call."""
        stage = self._stage
        group = stage._promised
        if group == FOREVER:
            self.settle(FOREVER, FOREVER, FOREVER, True)
        elif group > BEGINNING:
            t = group if stage.by == "end" else group + stage.window - 1
            self.settle(t, group, max(t - stage.window + 1, BEGINNING), True)

    # -- what is held ----------------------------------------------------------------------------------------------------------

    def look(self) -> tuple[int, int]:
        self._settle_all()
        _, marked = self._memory.held()
        return len(marked), int(marked.sum())

    def matches(self) -> list[Change]:
        self._settle_all()
        rows = self._memory.r[self._memory.held()[0]]
        return self._listed(rows, np.ones(len(rows), np.int64))

    def chosen(self, key: Hashable) -> list[Change]:
        rows, marked = self._memory.held(self._keys.known_of([key]))
        found = self._memory.r[rows[marked != 0]]
        return self._listed(found, np.ones(len(found), np.int64))

    def load(self, matches: Sequence[Change]) -> None:
        """Take the matches of another way, whose output has left already."""
        if matches:
            drawn = self._stage._drawn
            self._take(_logged(matches))
            self._difference()
            self._stage._drawn = drawn
        self._stage._journal.commit()
        self._memory.commit()


def _logged(changes: Sequence[Change]) -> Logged:
    payloads, le, re, diff, keys = zip(*changes)
    if None in re:
        re = tuple(BEGINNING if each is None else each for each in re)
    return Logged(list(zip(*payloads)), np.array(le, np.int64), np.array(re, np.int64), np.array(diff, np.int64), list(keys))


def _joined(parts: list[tuple[Any, Any]], width: int) -> tuple[Any, Any]:
    if not parts:
        return np.empty((0, width), np.int64), np.empty(0, np.int64)
    return np.concatenate([rows for rows, _ in parts]), np.concatenate([signs for _, signs in parts])


def _both(place: Any, kind: int) -> list[tuple[int, int]]:
    """Return how a field is compared: what is missing stands last."""
    value = (place.value, kind)
    return [value] if place.missing is None else [(place.missing, k.UP), value]


def _up(kind: Any) -> int:
    return k.TEXT if kind is str else k.UP


def _down(kind: Any) -> int:
    return k.TEXT_DOWN if kind is str else k.DOWN_FLOAT if kind is float else k.DOWN
