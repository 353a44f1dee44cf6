"""The state of many rules: one operator for each shape, over pairs of an event and a rule that it concerns.

events -> columns, once -> pairs (`RuleIndex`) -> for each shape: bits, values, constants, RE by the rule's window
                                                 -> operator, by (rule, key) -> changes, with the rule's own names
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from afa.errors import AfaError, SnapshotError
from afa.expression.arc_functions import Derived
from afa.expression.text import text_of_expr
from afa.language.payload_classes import made
from afa.model.arc import CONSUME, Arc
from afa.model.automaton import Automaton
from afa.operator.operator import Keyed
from afa.operator.tables import answer, carry_out, opened, steps
from afa.rules.index import RuleIndex
from afa.rules.shape import RuleParts, Shape, value_name
from afa.schema import Field, Schema
from afa.state.plain import field_columns, ints
from afa.state.states import Column
from punctuation.calls import Calls, Member
from punctuation.door import arrow_type
from punctuation.promise import Punctuation
from punctuation.sealed import seal, unseal
from punctuation.time import BEGINNING, FOREVER

MAGIC, VERSION = b"AFAI", 1
SPREAD = np.uint64(0x9E3779B97F4A7C15)


class StoredRule(NamedTuple):
    """A rule in force: its number, its parts, its lifetime."""

    number: int
    name: str
    parts: RuleParts
    le: int
    re: int


class RuleStatistics(NamedTuple):
    """What a rule costs: events that it was asked of, matches in force that it has told, less those withdrawn."""

    events: int
    matches: int


class ShapeGroup:
    """The rules of one shape, and their operator."""

    def __init__(self, shape: Shape, operator: Keyed) -> None:
        self.shape, self.operator = shape, operator


class ShapeStore(Member):
    """Rules that have shapes, over one stream of events. A call is all or nothing over all of them.

    Parameters
    ----------
    event : NamedTuple class
        Of the events; their times are ticks.
    options
        Of the operators: ``engine``, ``late``, ``threads``, ``partial_matches``, ``max_bytes``.
    """

    def __init__(self, event: type, **options: Any) -> None:
        self.event, self._options = Schema.of(event, "event"), options
        self.index = RuleIndex(self.event)
        self.rules: dict[str, StoredRule] = {}
        self._by_number: dict[int, StoredRule] = {}  # also of rules that have ended
        self.groups: dict[Shape, ShapeGroup] = {}
        self._group_of: dict[int, ShapeGroup] = {}
        self._asked: dict[int, int] = {}
        self._told: dict[int, int] = {}
        self.seen = BEGINNING  # one past the largest LE or promise
        self._next = 0
        self._columns: dict[str, tuple[Any, str]] = {}  # that matches show: type, and the rule which was the first
        self._calls = Calls(self)

    # -- calls -----------------------------------------------------------------------------------------------------------------

    def call_begins(self) -> Any:
        return self.seen, dict(self._asked), dict(self._told)

    def call_failed(self, before: Any) -> None:
        self.seen, self._asked, self._told = before[0], dict(before[1]), dict(before[2])

    # -- rules -----------------------------------------------------------------------------------------------------------------

    def add(self, name: str, parts: RuleParts, le: int | None = None, re: int = FOREVER) -> None:
        """Let a rule serve events with LEs in ``[le, re)``; None: from one tick past all that was seen on.

        Events that came before are not told again: `push` takes them for this rule alone.
        """
        if name in self.rules:
            raise AfaError(f"expected a name that no rule in force has but got {name!r}")
        if parts.event != self.event:
            raise AfaError(f"expected a rule of {self.event.describe()} but got {name!r} of {parts.event.describe()}")
        labels = ["rule", *parts.shape.key, *parts.names, "le", "re", "diff"]
        if twice := [label for label in labels if labels.count(label) > 1]:
            raise AfaError(f"expected columns of different names in the output of rule {name!r} but got {twice[0]!r} twice")
        self._check_columns(name, parts)
        self._put(StoredRule(self._next, name, parts, self.seen if le is None else le, re))

    def _check_columns(self, name: str, parts: RuleParts) -> None:
        """Refuse a rule that shows a column of a name which another rule shows as another type."""
        shown = _columns_of(parts)
        for column, kind in shown:
            known = self._columns.get(column, (kind, name))
            if known[0] is not kind:
                raise AfaError(
                    f"expected {column} of rule {name!r} as {known[0].__name__}, as rule {known[1]!r} shows it, but got "
                    f"{kind.__name__}: give it another name"
                )
        self._columns = {column: (kind, name) for column, kind in shown} | self._columns

    def _put(self, rule: StoredRule) -> None:
        group = self.groups.get(rule.parts.shape)
        if group is None:
            group = self._group(rule.parts.shape)
        self.rules[rule.name] = self._by_number[rule.number] = rule
        self._group_of[rule.number] = group
        self._next = max(self._next, rule.number + 1)
        self.index.add(rule.number, rule.parts.bits, rule.le, rule.re)

    def _group(self, shape: Shape, blob: bytes | None = None) -> ShapeGroup:
        automaton, key = automaton_of(shape), ("rule", *(f"k{i}" for i in range(len(shape.key))))
        operator = Keyed(automaton, key=key, **self._options) if blob is None else None
        operator = operator or Keyed.restore(automaton, blob or b"", key=key, **self._options)
        operator._core.calls = self._calls
        self._calls.join(operator._core)
        group = self.groups[shape] = ShapeGroup(shape, operator)
        if blob is None and self.seen > BEGINNING and self._promised > BEGINNING:
            self._calls.call(operator._core.run, [("event", Punctuation(self._promised), None)], True)
        return group

    _promised = BEGINNING

    def remove(self, name: str, le: int | None = None) -> None:
        """Let a rule serve events with LEs below ``le`` only; None: one tick past all that was seen.

        Of events behind ``le`` that it has taken `push` must be told retractions, for this rule alone, before.
        """
        rule = self.rules.pop(name, None)
        if rule is None:
            raise AfaError(f"expected the name of a rule in force but got {name!r}")
        self.index.end(rule.number, self.seen if le is None else le)

    # -- events ----------------------------------------------------------------------------------------------------------------

    def push(self, table: Any = None, promise: int | None = None, only: Collection[str] | None = None) -> pa.Table:
        """Take events, as one call: an Arrow table, or a dict of columns, with ``le``, perhaps ``re`` and ``diff``; then a promise.

        ``only``: for these rules alone. Returns the minimal difference: ``rule``, the columns of keys, those that matches of
        the rules show, null where a rule has none, ``le``, ``re``, ``diff``.
        """
        return self._calls.call(self._push, table, promise, only)

    def _push(self, table: Any, promise: int | None, only: Collection[str] | None) -> pa.Table:
        tables = {} if table is None else self._pairs(table, only)
        found = []
        for group in self.groups.values():
            pairs = tables.get(id(group))
            parts: list[Any] = [] if pairs is None else [pairs]
            parts += [] if promise is None else [Punctuation(promise)]
            if parts:
                found.append((group, self._taken(group.operator, parts)))
        if promise is not None:
            self.seen, self._promised = max(self.seen, promise + 1), max(self._promised, promise)
        return self._told_of(found)

    def _taken(self, operator: Keyed, parts: list[Any]) -> Any:
        core = operator._core
        come = opened(core, parts)
        out = carry_out(core, steps(core, come), True)
        if come.like is None:
            return None
        return next((part for part in answer(out, come, core, True) if isinstance(part, pa.Table)), None)

    def _pairs(self, table: Any, only: Collection[str] | None) -> dict[int, pa.Table]:
        """Returns for each group of rules the pairs that some rows make, as a table for its operator."""
        given = {name: table.column(name) for name in table.column_names} if isinstance(table, pa.Table) else dict(table)
        le, diff = ints([given["le"], given.get("diff")])
        n = len(le)
        if self.event.instant is not None:
            given.setdefault(self.event.instant, le)
        fields = self.event.fields
        columns = dict(zip((field.name for field in fields), field_columns([given[f.name] for f in fields], fields, n)))
        re = None if given.get("re") is None else field_columns([given["re"]], [Field("re", int, True)], n)[0]
        if n:
            self.seen = max(self.seen, int(le.max()) + 1)
        row, rule, bits = self.index.pairs(columns, le)
        if only is not None:
            kept = np.isin(rule, [self.rules[name].number for name in only])
            row, rule, bits = row[kept], rule[kept], bits[kept]
        if not len(row):
            return {}
        numbers, places = np.unique(rule, return_inverse=True)
        for number, count in zip(numbers.tolist(), np.bincount(places).tolist()):
            self._asked[number] = self._asked.get(number, 0) + count
        groups = [self._group_of[number] for number in numbers.tolist()]
        ids = {id(group): group for group in groups}
        order = {key: i for i, key in enumerate(ids)}
        of_row = np.array([order[id(group)] for group in groups])[places]
        windows = np.array([self._by_number[number].parts.window or FOREVER for number in numbers.tolist()])[places]
        ends = np.where(le[row] > FOREVER - windows, FOREVER, le[row] + windows)
        ends[windows == FOREVER] = FOREVER
        if re is not None:
            there = np.ones(n, np.bool_) if re.present is None else re.present
            ends = np.where(there[row], re.values[row], ends)
        digest = digests([columns[field.name] for field in fields])
        made_of = {}
        for key, group in ids.items():
            here = np.flatnonzero(of_row == order[key])
            at, mine = row[here], places[here]
            shape = group.shape
            pair: dict[str, Any] = {"b": bits[here], "h": digest[at]}
            pair |= {value_name(field.name): arrow_of(columns[field.name].moved(at), field) for field in shape.values}
            own = [
                self._by_number[number].parts.constants if self._group_of[number] is group else () for number in numbers.tolist()
            ]
            for i, kind in enumerate(shape.constants):
                values = np.array([constants[i] if constants else 0 for constants in own], np.int64 if kind is int else np.float64)
                pair[f"c{i}"] = values[mine]
            known = {field.name: field for field in fields}
            pair |= {f"k{i}": arrow_of(columns[name].moved(at), known[name]) for i, name in enumerate(shape.key)}
            pair |= {"rule": rule[here], "le": le[at], "re": ends[here]}
            if diff is not None:
                pair["diff"] = diff[at]
            made_of[key] = pa.table(pair)
        return made_of

    # -- matches ---------------------------------------------------------------------------------------------------------------

    def _told_of(self, found: list[tuple[ShapeGroup, Any]]) -> pa.Table:
        """Returns the changes of all groups with the rules' names, and their columns by the names that each rule gives them."""
        parts = [self._empty()]
        for group, table in found:
            if table is None or not len(table):
                continue
            rule, diff = (table.column(name).to_numpy() for name in ("rule", "diff"))
            numbers, places = np.unique(rule, return_inverse=True)
            sums = np.zeros(len(numbers), np.int64)
            np.add.at(sums, places, diff)
            for number, told in zip(numbers.tolist(), sums.tolist()):
                self._told[number] = self._told.get(number, 0) + told
            naming: dict[tuple[str, ...], list[int]] = {}
            for number in numbers.tolist():
                naming.setdefault(self._by_number[number].parts.names, []).append(number)
            for names, of_names in naming.items():
                some = table if len(naming) == 1 else table.filter(pa.array(np.isin(rule, of_names)))
                rules = [self._by_number[number].name for number in some.column("rule").to_pylist()]
                columns = {"rule": pa.array(rules, pa.string())}
                columns |= {name: some.column(f"k{i}") for i, name in enumerate(group.shape.key)}
                columns |= {name: some.column(f"r{i}") for i, name in enumerate(names)}
                columns |= {name: some.column(name) for name in ("le", "re", "diff")}
                parts.append(pa.table(columns))
        if len(parts) == 1:
            return parts[0]
        whole = pa.concat_tables(parts, promote_options="default")
        times = [name for name in whole.column_names if name not in ("le", "re", "diff")]
        whole = whole.select([*times, "le", "re", "diff"])
        order = np.lexsort((whole.column("le").to_numpy(), whole.column("diff").to_numpy() > 0))
        return whole.take(pa.array(order))

    def _empty(self) -> pa.Table:
        return pa.table({"rule": pa.array([], pa.string())} | {name: pa.array([], pa.int64()) for name in ("le", "re", "diff")})

    # -- what is held ----------------------------------------------------------------------------------------------------------

    def statistics(self, name: str) -> RuleStatistics:
        """Returns the numbers of a rule in force."""
        number = self.rules[name].number
        return RuleStatistics(self._asked.get(number, 0), self._told.get(number, 0))

    def partial_matches(self) -> int:
        """Returns how many partial matches all rules hold."""
        return sum(group.operator.statistics.partial_matches for group in self.groups.values())

    def snapshot(self) -> bytes:
        """Returns the whole state; rules are in it by name, number and lifetime."""
        groups = list(self.groups.values())
        places = {id(group): i for i, group in enumerate(groups)}
        rules = [
            [rule.number, rule.name, rule.le, rule.re, rule.parts.window, places[id(self._group_of[rule.number])]]
            for rule in self.rules.values()
        ]
        blobs = [group.operator.snapshot() for group in groups]
        counts = [[number, self._asked.get(number, 0), self._told.get(number, 0)] for number in self._group_of]
        head = {"rules": rules, "seen": self.seen, "promised": self._promised, "next": self._next, "counts": counts}
        line = json.dumps(head | {"sizes": list(map(len, blobs))}).encode()
        return seal(MAGIC, VERSION, line + b"\n" + b"".join(blobs))

    @classmethod
    def restore(cls, event: type, blob: bytes, rules: Mapping[str, RuleParts], **options: Any) -> ShapeStore:
        """Makes the store that was saved, with those of its rules that are given.

        Raises `SnapshotError` where a rule has another window or shape than the saved one, or the blob is damaged.
        """
        line, rest = unseal(MAGIC, VERSION, blob, _parted, error=SnapshotError)
        head, store = json.loads(line), cls(event, **options)
        store.seen, store._promised = head["seen"], head["promised"]
        parts, at = [], 0
        shapes: dict[int, Shape] = {}
        for size in head["sizes"]:
            parts.append(rest[at : at + size])
            at += size
        for number, name, le, re, window, place in head["rules"]:
            found = rules.get(name)
            if found is None:
                continue
            if found.window != window:
                raise SnapshotError(f"expected rule {name!r} with a window of {window} but got {found.window}")
            if shapes.setdefault(place, found.shape) != found.shape:
                raise SnapshotError(f"expected rule {name!r} with the shape that it was saved with but got another one")
            if found.shape not in store.groups:
                store._group(found.shape, parts[place])
            store._check_columns(name, found)
            store._put(StoredRule(number, name, found, le, re))
        store._next = head["next"]
        store._asked, store._told = ({line[0]: line[i] for line in head["counts"]} for i in (1, 2))
        return store


def _columns_of(parts: RuleParts) -> list[tuple[str, Any]]:
    """Returns the names and types of the columns of a rule's matches."""
    fields = {field.name: field.type for field in parts.event.fields}
    of_key = [(name, fields[name]) for name in parts.shape.key]
    return [*of_key, *((name, slot.type) for name, slot in zip(parts.names, parts.shape.register))]


def _parted(packed: bytes) -> tuple[bytes, bytes]:
    line, _, rest = packed.partition(b"\n")
    return line, rest


def automaton_of(shape: Shape) -> Automaton:
    """Returns the automaton of a shape, over pairs: bits, a digest of the event, values, the rule's constants."""
    values = [(value_name(field.name), field.type, field.optional) for field in shape.values]
    constants = [(f"c{i}", kind, False) for i, kind in enumerate(shape.constants)]
    event = made("Pair", (("b", int, False), ("h", int, False), *values, *constants))
    slots = tuple((field.name, field.type, field.optional) for field in shape.register)
    register = made("Values", slots)(*(const.value for const in shape.initial))
    schema = Schema.of(type(register), "register")
    shown = None if shape.shown == len(slots) else made("Shown", slots[: shape.shown])
    arcs = []
    for i, arc in enumerate(shape.arcs):
        src, dst, fence = f"s{arc.src}", f"s{arc.dst}", Derived(text_of_expr(arc.fence))
        transfer = None if arc.transfer is None else Derived(text_of_expr(arc.transfer, schema))
        of_arc = f"arc {i}"
        arcs.append(Arc(src, dst, fence, transfer, name=of_arc) if arc.kind == CONSUME else Arc.skip(src, fence, name=of_arc))
    return Automaton(start="s0", final={f"s{i}" for i in shape.final}, arcs=arcs, register=register, event=event, shown=shown)


def arrow_of(column: Column, field: Field) -> Any:
    """Returns a column as Arrow has it."""
    values, present, texts = column
    mask = None if present is None else ~present
    if texts is not None:
        places = pa.array(values.astype(np.int32), mask=mask)
        return pa.DictionaryArray.from_arrays(places, pa.array(texts, pa.string())).dictionary_decode()
    return pa.array(values.astype(np.bool_) if field.type is bool else values, arrow_type(field.type), mask=mask)


def digests(columns: list[Column]) -> Any:
    """Returns a word of each event, so that a retraction which waits meets no other event that looks alike to a rule."""
    found = np.zeros(len(columns[0].values) if columns else 0, np.uint64)
    for column in columns:
        values = column.values
        if column.texts is not None:
            words = np.array([text_word(text) for text in column.texts] or [0], np.uint64)[values]
        elif values.dtype == np.float64:
            words = np.where(np.isnan(values), 0.5, values + 0.0).view(np.uint64) ^ np.where(np.isnan(values), 1, 0).astype(
                np.uint64
            )
        else:
            words = values.astype(np.int64).view(np.uint64)
        if column.present is not None:
            words = np.where(column.present, words, SPREAD)
        found = (found ^ words) * SPREAD
        found ^= found >> np.uint64(29)
    return found.view(np.int64)


def text_word(text: str) -> int:
    """Returns 64 bits of a text, the same in every process."""
    import hashlib

    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "little")
