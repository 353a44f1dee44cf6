"""Items of a world as what an operator takes, with keys in columns of every width and encoding; its outputs as changes again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from afa import Arc, Change, Punctuation, insert, retract
from punctuation.time import BEGINNING, FOREVER
from tests import oracle
from tests.strategies import Choices
from tests.stress.sizes.families import COLUMNS, Family, key_of, part_of_key
from tests.stress.sizes.generate import Spec

EVENT, ARC, PROMISE = 0, 1, 2
INTS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
TEXTS = (
    *(pa.string(), pa.large_string(), pa.string_view()),
    *(pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.large_string())),
)


class Form:
    """How a world's items are given to an operator."""

    def __init__(self, spec: Spec) -> None:
        self.family, self.options = Family.of(spec["family"]), spec["options"]
        self.names: tuple[str, ...] = tuple(self.options["key"])
        self.fields = self.family.event._fields
        self.beside = [name for name in self.names if name not in self.fields]
        self.register = self.family.automaton.match_schema.cls
        keys = self.options["keys"]
        self.numbers = {said(key_of(self.names, n)): n for n in range(keys)}
        assert len(self.numbers) == keys, "two numbers for one key"

    @property
    def key(self) -> Any:
        """The key as `Keyed` takes it."""
        return self.names[0] if len(self.names) == 1 else self.names

    def item(self, item: Any, model: bool = False) -> Any:
        """One item as a change or a promise; for a model without its key, which is its field ``who``."""
        if item[0] == "p":
            return Punctuation(item[1]) if item[2] is None else Punctuation(item[1], where=item[2])
        if item[0] == "a":
            return (insert if item[1] > 0 else retract)(self.family.pool[item[2]], item[3], item[4])
        _, number, payload, le, re, diff = item
        return Change(self.family.event(*payload), le, re, diff, key_of(self.names, number) if self.beside and not model else None)

    # -- in ----------------------------------------------------------------------------------------------------------------------

    def push(self, operator: Any, form: str, net: bool, items: list[Any], choose: Choices) -> list[Any]:
        """One call, or with "single" one for each item; the changes that come out, with numbers for keys."""
        if form == "single":
            out = []
            for item in items:
                change = self.item(item)
                if item[0] == "e" and self.beside:
                    out += operator.push(change._replace(key=None), key=change.key)
                else:
                    out += (operator.push_arc if item[0] == "a" else operator.push)(change)
            return self.changes(out)
        if form == "list" or (form == "kinds" and "kind" in self.fields):
            return self.changes(operator.push_many([self.item(item) for item in items], net=net))
        if form == "tables":
            return self.changes(operator.push_many(self.tables(items, choose), net=net))
        table, arcs = self.table(items, choose, form)
        return self.changes(operator.push_many(table, net=net, **({"arcs": arcs} if arcs else {})))

    def tables(self, items: list[Any], choose: Choices) -> list[Any]:
        """Items as a list of tables and changes."""
        batch, low = [], 0
        while low < len(items):
            high = low + choose.number(1, 9)
            batch += [self.table(items[low:high], choose, "dict")[0]] if choose.chance(80) else map(self.item, items[low:high])
            low = high
        return batch

    def table(self, items: list[Any], choose: Choices, form: str) -> tuple[Any, list[Arc]]:
        """Items as a table, and the arcs among them."""
        arcs: list[Arc] = []
        filling = next((item for item in items if item[0] == "e"), None)
        payload, number = (filling[2], filling[1]) if filling else (self._filling(), 0)
        rows, numbers, payloads = [], [], []
        for item in items:
            if item[0] == "e":
                re = item[4] if item[4] is not None else min(item[3] + (self.options["window"] or FOREVER), FOREVER)
                rows.append((EVENT, 0, item[3], re, item[5]))
                payload, number = item[2], item[1]
            elif item[0] == "a":
                le, re = BEGINNING if item[3] is None else item[3], FOREVER if item[4] is None else item[4]
                rows.append((ARC, len(arcs), le, re, item[1]))
                arcs.append(self.family.pool[item[2]])
            else:
                rows.append((PROMISE, 0, item[1], FOREVER, 1))
            payloads.append(payload)
            numbers.append(number)
        columns = dict(zip(("kind", "arc", "le", "re", "diff"), np.array(rows, np.int64).reshape(-1, 5).T.copy()))
        if not columns["kind"].any():
            del columns["kind"], columns["arc"]
            if all(item[4] is None for item in items):
                del columns["re"]
            if all(item[5] == 1 for item in items) and choose.chance(80):
                del columns["diff"]
        arrow = form == "arrow"
        found: dict[str, Any] = {name: _plain(name, [values[i] for values in payloads], form) for i, name in enumerate(self.fields)}
        for name in self.beside:
            found[name] = encoded(choose, COLUMNS[name][0], [part_of_key(name, n) for n in numbers], form)
        if form == "pandas" and any(part_of_key(name, n) != part_of_key(name, n) for name in self.beside for n in numbers):
            form = "dict"  # in a frame NaN is nothing
        assert not columns.keys() & found.keys(), "a field has the name of a column"
        found = columns | found
        if arrow:
            return pa.table(found), arcs
        return pd.DataFrame(found) if form == "pandas" else found, arcs

    def _filling(self) -> Any:
        kinds = {float: 0.0, str: "", bool: False, int: 0}
        return tuple(kinds.get(field.type, 0) for field in self.family.automaton.event_schema.fields)

    # -- out ---------------------------------------------------------------------------------------------------------------------

    def changes(self, out: Any) -> list[Any]:
        """The changes that an output says, without promises."""
        if isinstance(out, list):
            return [change for part in out if not isinstance(part, Punctuation) for change in self._part(part)]
        return self._table(out)

    def _part(self, part: Any) -> list[Any]:
        if not isinstance(part, Change):
            return self._table(part)
        return [part._replace(payload=oracle.one_nan(part.payload), key=self.numbers[said(part.key)])]

    def _table(self, out: Any) -> list[Any]:
        names = out.column_names if isinstance(out, pa.Table) else list(out)
        listed = {name: out[name].to_pylist() if isinstance(out, pa.Table) else list(out[name]) for name in names}
        found = []
        for i, (le, re, diff) in enumerate(zip(listed["le"], listed["re"], listed["diff"])):
            if "kind" in listed and listed["kind"][i] == PROMISE:
                continue
            match = self.register(*(_missing(listed[name][i], name) for name in self.register._fields))
            parts = tuple(_missing(listed[name][i], name) for name in self.names)
            key = parts if len(parts) > 1 else parts[0]
            found.append(Change(oracle.one_nan(match), int(le), int(re), int(diff), self.numbers[said(key)]))
        return found


def said(key: Any) -> str:
    """A key as text that is the same for equal keys: one NaN, one zero, no numpy scalars."""
    if isinstance(key, tuple):
        return " ".join(map(said, key))
    if hasattr(key, "item"):
        key = key.item()
    return "0.0" if isinstance(key, float) and key == 0 else repr(key)


def _missing(value: Any, name: str) -> Any:
    """A value with None for what a table has as missing."""
    kind = int if name == "last" else COLUMNS[name][0] if name in COLUMNS else None
    value = value.item() if hasattr(value, "item") else value
    if value is None or value is pd.NA or (kind in (int, str) and value != value):
        return None
    return int(value) if kind is int else value  # pandas makes floats of ints that may be missing


def _plain(name: str, values: list[Any], form: str) -> Any:
    """A column of a field of the event."""
    if name == "extra":
        column = pa.array(values, pa.int64())
        return pd.Series(column, dtype=pd.ArrowDtype(column.type)) if form == "pandas" else column
    kinds = {"size": np.float64, "name": object, "flag": np.bool_}
    return np.array(values, kinds.get(name, np.int64))


def encoded(choose: Choices, kind: type, values: list[Any], form: str) -> Any:
    """A column of a key in some encoding that a form of table may hold."""
    arrow = form == "arrow"
    if any(value is None for value in values):
        column = pa.array(values, choose.one(TEXTS[:3] if kind is str else [pa.int64()]))
        if form == "pandas":
            return choose.one([_objects(values), pd.Series(column, dtype=pd.ArrowDtype(column.type))])
        return column if arrow or choose.chance(50) else _objects(values)
    if kind is str:
        return (
            pa.array(values).cast(choose.one(TEXTS if len(values) < 128 else TEXTS[:3]))
            if arrow
            else choose.one([list, _objects, np.array])(values)
        )
    if kind is bool:
        return pa.array(values) if arrow else np.array(values, np.bool_)
    if kind is float:
        fits = all(np.float32(value) == value for value in values)
        return np.array(values, choose.one([np.float64, np.float32]) if fits else np.float64)
    fitting = [width for width in INTS if np.iinfo(width).min <= min(values) and max(values) <= np.iinfo(width).max]
    column = np.array(values, choose.one(fitting))
    if arrow:
        return pa.array(column).dictionary_encode() if choose.chance(25) else pa.array(column)
    return values if choose.chance(20) else column


def _objects(values: list[Any]) -> Any:
    return np.array(values, object)
