"""Ways of tables: dicts of columns, frames of pandas, mixed Arrow tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from afa import Arc, Automaton, Change, Punctuation
from punctuation.time import BEGINNING, FOREVER
from tests.corpus import Arrival, Case, is_arc, is_event
from tests.text import E, T
from tests.ways.way import Way, lives_until, netted


class Columns(Way):
    """An arrival is a dict of columns; where something else comes than events, a list of such tables and these items."""

    net = True

    def push(self, arrival: Arrival) -> Iterable[Any]:
        if arrival.on_arcs:
            return list(self.operator.push_arc(*arrival.items))
        arcs = [item.payload for item in arrival.items if is_arc(item)]
        parts: list[Any] = []
        for in_row, group in groupby(arrival.items, self.is_row):
            items = list(group)
            parts += [self.table(items, arcs)] if in_row else items
        batch = parts[0] if len(parts) == 1 and self.is_row(arrival.items[0]) else [self.table([], arcs), *parts]
        out = self.operator.push_many(batch, net=self.net, arcs=arcs)
        changes = [change for part in (out if isinstance(out, list) else [out]) for change in self.changes(part)]
        return changes if self.net else netted(changes)

    def is_row(self, item: Any) -> bool:
        """Whether an item can be a row."""
        return is_event(item)

    def table(self, items: list[Any], arcs: list[Arc]) -> Any:
        """Items as rows of a table."""
        return self.columns(items, arcs)

    def columns(self, items: list[Any], arcs: list[Arc]) -> dict[str, list[Any]]:
        """Items as columns: the event's fields, ``le``, ``re``, ``diff``."""
        assert self.case.automaton.event_schema is not None
        names = [field.name for field in self.case.automaton.event_schema.fields]
        found: dict[str, list[Any]] = {name: [item.payload[i] for item in items] for i, name in enumerate(names)}
        found["le"] = [item.le for item in items]
        found["re"] = [lives_until(item, self.case.window) for item in items]
        found["diff"] = [item.diff for item in items]
        return found

    def changes(self, part: Any) -> Iterator[Any]:
        """The changes that a table of the output says."""
        if isinstance(part, Punctuation):
            yield part
            return
        columns = {name: self.values(part, name) for name in self.names(part)}
        schema = self.case.automaton.register_schema
        kinds = columns.get("kind", [0] * len(columns["le"])) if self.mixed else [0] * len(columns["le"])
        for i, kind in enumerate(kinds):
            register = schema.cls(*(columns[field.name][i] for field in schema.fields))
            le, re, diff = columns["le"][i], columns["re"][i], columns["diff"][i]
            yield Punctuation(le) if kind == 2 else Change(register, le, re, diff)

    mixed = False

    def names(self, part: Any) -> list[str]:
        """The columns' names."""
        return list(part)

    def values(self, part: Any, name: str) -> list[Any]:
        """A column's values."""
        found: list[Any] = part[name].tolist()
        return found


class Pandas(Columns):
    """An arrival is a frame of pandas; each row's changes are told, though the next ones take them back."""

    net = False

    def table(self, items: list[Any], arcs: list[Arc]) -> Any:
        import pandas as pd

        fields = self.case.automaton.event_schema.fields
        types = {field.name: field.type.__name__ for field in fields} | dict.fromkeys(("le", "re", "diff"), "int64")
        return pd.DataFrame(self.columns(items, arcs)).astype(types)


class Arrow(Columns):
    """An arrival is an Arrow table that says of each row what it is; arcs have come as JSON."""

    mixed = True

    def __init__(self, case: Case, engine: str) -> None:
        super().__init__(as_json(case), engine)

    def is_row(self, item: Any) -> bool:
        if isinstance(item, Punctuation):
            return item.where is None
        return not (is_arc(item) and item.le == BEGINNING)  # which in a row is the default mode

    def table(self, items: list[Any], arcs: list[Arc]) -> Any:
        import pyarrow as pa

        event: Any = self.case.automaton.event
        some = event(*(field.type() for field in self.case.automaton.event_schema.fields))
        rows = []
        for item in items:
            if isinstance(item, Punctuation):
                rows.append((Change(some, item.t, FOREVER), 2, 0))
            elif is_arc(item):
                le = BEGINNING if item.le is None else item.le
                number = next(i for i, arc in enumerate(arcs) if arc is item.payload)
                rows.append((Change(some, le, FOREVER if item.re is None else item.re, item.diff), 1, number))
            else:
                rows.append((item, 0, 0))
        columns = self.columns([item for item, _, _ in rows], arcs)
        columns |= {"kind": [kind for _, kind, _ in rows], "arc": [number for _, _, number in rows]}
        fields = self.case.automaton.event_schema.fields
        types = {field.name: {int: pa.int64(), float: pa.float64()}[field.type] for field in fields}
        return pa.table({name: pa.array(column, types.get(name, pa.int64())) for name, column in columns.items()})

    def names(self, part: Any) -> list[str]:
        found: list[str] = part.column_names
        return found

    def values(self, part: Any, name: str) -> list[Any]:
        found: list[Any] = part[name].to_pylist()
        return found


def as_json(case: Case) -> Case:
    """A case whose arcs have been written as JSON and read again; an event's field ``kind`` is called ``sort`` (`T`, not `E`)."""
    automaton, event = case.automaton, T if case.automaton.event is E else case.automaton.event

    def renamed(text: str) -> str:
        return text.replace("e.kind", "e.sort") if event is T else text

    def again(arc: Arc) -> Arc:
        return Arc.from_json(renamed(json.dumps(arc.to_json(automaton))))

    def item_of(item: Any) -> Any:
        if isinstance(item, Punctuation):
            return item if item.where is None else Punctuation(item.t, renamed(item.where))
        payload = arcs[id(item.payload)] if is_arc(item) else event(*item.payload)
        return item._replace(payload=payload)

    arcs = {id(arc): again(arc) for arc in [*automaton.arcs, *case.arcs.values()]}
    own = [arcs[id(arc)] for arc in automaton.arcs]
    found = object.__new__(Case)
    found.__dict__ |= case.__dict__
    found.automaton = Automaton(start=automaton.start, final=automaton.final, arcs=own, register=automaton.register, event=event)
    found.arcs = {name: arcs[id(arc)] for name, arc in case.arcs.items()}
    found.arrivals = [arrival._replace(items=[item_of(item) for item in arrival.items]) for arrival in case.arrivals]
    return found
