"""Eight rows of a batch as vectors, and their events and steps, as `afa.compiled.code.columns` writes those of one.

    price       p0 p1 p2 .. p7                a column: side by side, or brought together by the numbers of the rows
    change      c0 c1 c2 .. c7
    events      RE 1 p0 c0  RE 1 p1 c1 ..     words of one row after those of another: eight a store

Rows are those from ``%these`` on, of group ``%group``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from afa.compiled.code.arithmetic import NAN
from afa.compiled.code.columns import base_of
from afa.compiled.code.emit import TYPES, Emitter
from afa.compiled.code.lanes import MANY, NEVER, Lane, splat, store_eight, vector
from afa.compiled.code.payload_layout import Layout
from afa.compiled.kernel import layout as k

I64 = vector("i64")
FETCHED = 256
"""So many rows ahead columns are asked for: what a processor fetches by itself ends with the page. 1 ns a row of a cold batch."""
BEYOND = 1024
"""The same of rows that are taken by their numbers: late ones among them come from so far behind. 2 ns a row where 5 % are late."""


def read_eight(e: Emitter, payload: Layout) -> dict[str, str]:
    """Return eight words of each column, by the name of its address; bytes, where they tell which values are there."""
    types = {"%le_at": "i64"}
    for slot in payload.slots:
        types |= {f"%at{slot.offset}": "i8"} if slot.width == 2 else {}
        types[f"%at{slot.value}"] = "double" if TYPES[base_of(slot)] == "double" else "i64"
    e.branch(e.let("icmp eq i64 %index_mask, 0"), "side_by_side", "by_number")
    e.place("side_by_side")
    far = e.let(f"add i64 %these, {FETCHED}")
    near = {}
    for at, type_ in types.items():
        near[at] = e.let(f"load {vector(type_)}, ptr {e.let(f'getelementptr {type_}, ptr {at}, i64 %these')}, align 1")
        fetch(e, type_, at, far)
    e.goto("read_eight")
    e.place("by_number")
    apart = dict.fromkeys(types, "poison")
    for i in range(MANY):
        line = e.load("i64", "%index_at", e.let(f"add i64 %these, {i}"))
        for at, type_ in types.items():
            value = e.let(f"load {type_}, ptr {e.let(f'getelementptr {type_}, ptr {at}, i64 {line}')}")
            apart[at] = e.let(f"insertelement {vector(type_)} {apart[at]}, {type_} {value}, i64 {i}")
    e.branch(e.let(f"icmp ne i64 %ahead, {k.FAR}"), "not_far", "far_apart")
    e.place("far_apart")
    for i in range(MANY, 2 * MANY):
        row = e.let(f"add i64 %these, {i}")
        row = e.let(f"select i1 {e.let(f'icmp slt i64 {row}, %high')}, i64 {row}, i64 %these")
        line = e.load("i64", "%index_at", row)
        for at, type_ in types.items():
            fetch(e, type_, at, line)
    e.goto("brought")
    e.place("not_far")
    beyond = e.let(f"add i64 {e.load('i64', '%index_at', '%these')}, {BEYOND}")
    for at, type_ in types.items():
        fetch(e, type_, at, beyond)
    e.goto("brought")
    e.place("brought")
    e.goto("read_eight")
    e.place("read_eight")
    return {at: e.phi(vector(type_), (near[at], "side_by_side"), (apart[at], "brought")) for at, type_ in types.items()}


def fetch(e: Emitter, type_: str, column: str, line: str) -> None:
    """Ask for the memory of a row that comes later."""
    e.declared.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    there = e.let(f"getelementptr {type_}, ptr {column}, i64 {line}")
    e.line(f"call void @llvm.prefetch.p0(ptr {there}, i32 0, i32 3, i32 1)")


def write_steps(e: Emitter) -> None:
    """Write eight steps, with REACH as of an empty list."""
    for first, by, column in (("%steps", 1, "%orders"), ("%slices", 1 << 24, "%column_events_of")):
        one = e.let(f"add i64 {first}, {e.let(f'mul i64 %these, {by}')}")
        each = ", ".join(f"i64 {by * i}" for i in range(MANY))
        store_eight(e, e.let(f"add {I64} {splat(e, 'i64', one)}, <{each}>"), column, "%these")
    for column, value in (("le", "%le_eight"), ("nodes_of", NEVER), ("matches_of", NEVER), ("reach", "%le_eight")):
        store_eight(e, value, f"%column_{column}", "%these")


def write_events(e: Emitter, payload: Layout, columns: Mapping[str, str], re: str, size: int) -> dict[tuple[str, int, int], Lane]:
    """Write eight events of these columns. Returns their fields."""
    words, fields = [re, "splat (i64 1)"], {}
    for slot in payload.slots:
        base = base_of(slot)
        type_, present = TYPES[base], None
        if slot.width == 2:
            present = e.let(f"icmp ne {vector('i8')} {columns[f'%at{slot.offset}']}, zeroinitializer")
            words.append(e.let(f"zext {vector('i1')} {present} to {I64}"))
        value = columns[f"%at{slot.value}"]
        if type_ == "i1":
            value = e.let(f"icmp ne {I64} {value}, zeroinitializer")
        if base == "float":
            value = e.let(f"fadd {vector('double')} {value}, zeroinitializer")
            wrong = e.let(f"fcmp uno {vector('double')} {value}, {value}")
            value = e.let(f"select {vector('i1')} {wrong}, {vector('double')} splat (double {NAN}), {vector('double')} {value}")
        if present is not None:
            value = e.let(f"select {vector('i1')} {present}, {vector(type_)} {value}, {vector(type_)} zeroinitializer")
        fields["e", slot.offset, slot.width] = Lane(base, value, present)
        words.append(_as_words(e, type_, value))
    event = e.let(f"getelementptr i64, ptr %event_each, i64 {e.let(f'mul i64 %group, {MANY * size}')}")
    for first in range(0, MANY * size, MANY):  # eight words that stand side by side
        store_eight(e, _gathered(e, words, size, first), event, first)
    return fields


def _as_words(e: Emitter, type_: str, ssa: str) -> str:
    if type_ == "i1":
        return e.let(f"zext {vector('i1')} {ssa} to {I64}")
    return ssa if type_ == "i64" else e.let(f"bitcast {vector(type_)} {ssa} to {I64}")


def _gathered(e: Emitter, words: Sequence[str], size: int, first: int) -> str:
    """Return eight words of events of ``size`` words, from word ``first`` on: word ``at`` is of row ``at // size``."""
    found, places = "poison", [divmod(at, size) for at in range(first, first + MANY)]
    for column in dict.fromkeys(word for _, word in places):
        mask = ", ".join(f"i32 {MANY + row if word == column else i}" for i, (row, word) in enumerate(places))
        found = e.let(f"shufflevector {I64} {found}, {I64} {words[column]}, {vector('i32')} <{mask}>")
    return found
