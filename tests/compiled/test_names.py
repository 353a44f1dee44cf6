"""The kernels' records: each word has one name, each name is used, and a name that no record has is refused."""

from __future__ import annotations

import ast
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import afa.compiled
import afa.extra.situations
import speculation
from afa.compiled.kernel import key_layout, lane_loop, lane_scan, layout, path_layout, radix_sort, scan_layout
from afa.compiled.kernel.named_fields import lowered
from afa.compiled.kernel.record import COLUMN, Record
from afa.compiled.machine import kernel_ir
from afa.compiled.machine.kernel_words import WORD, Signature
from afa.extra.situations import reading_kernel, reading_layout
from speculation.rows import row_entry, row_layout

LAYOUTS = (layout, key_layout, path_layout, scan_layout, row_layout, reading_layout)
RECORDS = {
    name: record
    for module in LAYOUTS
    for name, record in vars(module).items()
    if isinstance(record, type) and issubclass(record, Record) and record is not Record and record.__module__ == module.__name__
}


@pytest.mark.parametrize("name", RECORDS)
def test_no_two_fields_stand_for_one_word(name: str) -> None:
    record = RECORDS[name]
    own = [field for name, field in record.FIELDS.items() if name in vars(record)]
    words = [field for field in own if field.kind != COLUMN]
    first = words[0].offset
    assert [word for field in words for word in range(field.offset, field.offset + field.words)] == list(range(first, record.SIZE))
    assert [field.offset for field in own if field.kind == COLUMN] == list(range(record.COLUMNS))
    assert all(field.words for field in words[:-1]), "only the last words may be of any number"
    assert all(field.what for field in own)


def test_each_number_of_a_kind_is_told_apart() -> None:
    statuses = [value for name, value in vars(layout).items() if name.startswith("NEED_")]
    statuses += [layout.DONE, layout.FAULT, layout.ENDLESS, layout.CROWDED, layout.LATE]
    assert len(set(statuses)) == len(statuses)


class Told(dict[str, Any]):
    """The fields of a record, and which of them somebody has asked for."""

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.asked.add(name)
        return super().__getitem__(name)


def test_each_field_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a kernel, as all of them are translated; or by name: ``Block.cap``, ``%cap`` in code that is printed."""
    source = sources()
    said = set(re.findall(r"%\w+|\"\w+(?=\")", source))
    said |= {".".join(pair) for chain in re.findall(r"\w+(?:\.\w+)+", source) for pair in pairwise(chain.split("."))}
    for record in RECORDS.values():
        monkeypatch.setattr(record, "FIELDS", Told(record.FIELDS))
    kernel_ir.kernels()
    kernel_ir.functions(row_entry.main)
    kernel_ir.functions(reading_kernel.main)
    holes = {name: Signature(name, (WORD,) * n, WORD) for name, n in (("write_event", 5), ("step", 9))}
    kernel_ir.functions(lane_loop.lanes, {**holes, "WAITS": 1})
    kernel_ir.functions(lane_scan.chosen, holes)
    kernel_ir.functions(radix_sort.sort)
    for name, record in RECORDS.items():
        for field in (field for field in record.FIELDS if field in vars(record)):
            printed = name == "Loop" and not said.isdisjoint({f"%{field}", f'"{field}', f'"{field}0'})
            told = field in record.FIELDS.asked  # type: ignore[attr-defined]
            assert told or printed or f"{name}.{field}" in said or "not used" in record.FIELDS[field].what, f"{name}.{field}"


def test_each_name_is_used() -> None:
    said = Counter(re.findall(r"\w+", sources()))
    for name in vars(layout):
        if re.fullmatch(r"[A-Z]+(_[A-Z]+)*", name):
            assert said[name] > 1, name


def sources() -> str:
    folders = [Path(package.__file__).parent for package in (afa.compiled, speculation, afa.extra.situations)]
    return "\n".join(path.read_text(encoding="utf-8") for folder in folders for path in sorted(folder.rglob("*.py")))


def test_kernels_name_fields_and_not_offsets() -> None:
    """What `Record` says in place of ``m[b + Block.cap]`` is said so in all kernels."""
    package = Path(layout.__file__).parent
    others = [*Path(row_layout.__file__).parent.glob("row_*.py"), Path(reading_kernel.__file__)]
    for path in sorted([*package.glob("*.py"), *others]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in "mwpcrdou":
                last = node.slice.right if isinstance(node.slice, ast.BinOp) else node.slice
                named = isinstance(last, ast.Attribute) and isinstance(last.value, ast.Name) and last.value.id in RECORDS
                assert not named, f"{path.name}:{node.lineno}"


# -- what kernels may say of a record, and what is left of it ----------------------------------------------------------------------


class Heap(Record):
    top = Record.word("its top")
    free = Record.words("free blocks by class", 4)


class Key(Record, of="m"):
    cap = Record.word("how long columns are")
    rows = Record.word("where rows begin")
    le = Record.column("LE")
    seq = Record.column("sequence")
    rows_of = Record.slices("rows of a step")


class Row(Record, of="m"):
    start = Record.word("where it starts")
    register = Record.words("its register")


class Asked(Record):
    least = Record.word("the bound")
    rest = Record.words("more of it")


class Table(Record, by="row"):
    asked = Record.nested(Asked, "what is asked")
    le = Record.word("LE")
    payload = Record.words("its words")


class Columns(Record, by="one"):
    le = Record.word("address of LE")
    payload = Record.words("addresses of words")


class Part(Record, of="c", by="one"):
    kind = Record.word("its kind")
    at = Record.word("its address")


class Pool(Record, by="column"):
    key = Record.word("its key")
    payload = Record.words("its words")


HEAD = "m: Heap, w: Any, b: Key, c: Table, t: Columns, r: Pool, rows: Slice, i: int"


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("m.top += b.cap", "m[0] += m[b]"),
        ("m.free[i] = i", "m[1 + i] = i"),
        ("i = b.seq[i] + b.le[i + 1]", "i = m[b + 2 + 1 * m[b] + i] + m[b + 2 + (i + 1)]"),
        ("le = b.le\n    i = le[i - 1]", "le = b + 2\n    i = m[le + (i - 1)]"),
        ("i = b.rows_of[i].first + rows.count", "i = (m[b + 2 + 2 * m[b] + i] >> 24) + (rows & 16777215)"),
        ("s = b.rows_of[i]\n    rows = Slice(s.first, 1)", "s = m[b + 2 + 2 * m[b] + i]\n    rows = s >> 24 << 24 | 1"),
        ("row = Row(w, i)\n    row += 2\n    row.start = row.register[i]", "row = i\n    row += 2\n    w[row] = w[row + 1 + i]"),
        ("i = Row(b + b.rows).start", "i = m[b + m[b + 1]]"),
        ("copy(m, Row(i).register, Row.register, Row.SIZE)", "copy(m, i + 1, 1, 1)"),
        ("c.le[i] = c.asked.least + c.asked.rest[i]", "c[1, i] = c[0, 0] + c[0, 1 + i]"),
        ("c.payload[2, i] = t.le + t.payload[2 * i]", "c[2 + 2, i] = t[0, 0] + t[0, 1 + 2 * i]"),
        ("part = Part(i + 3)\n    i = part.at", "part = i + 3\n    i = c[0, part + 1]"),
        ("r.key[i] = r.payload[i, 4]", "r[i, 0] = r[i, 1 + 4]"),
    ],
)
def test_what_is_left_of_names(said: str, left: str) -> None:
    assert ast.unparse(of_kernel(said)).partition("\n    ")[2] == left


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("i = b.size", r"expected a field of Key in a kernel but got b\.size \(line 2\)"),
        ("i = m.free", None),
        ("i = m.top[3]", r"expected words by number, which top is not, in a kernel but got m\.top\[3\]"),
        ("i = rows.last", "expected first or count of a slice in a kernel but got rows.last"),
        ("i = Key.size", "expected a field of Key in a kernel but got Key.size"),
        ("row = Row(i)\n    row = Key(i)", "expected one kind of record in 'row' in a kernel but got Key"),
    ],
)
def test_a_field_that_no_record_has_is_refused(said: str, message: str | None) -> None:
    if message is None:
        of_kernel(said)
        return
    with pytest.raises(SyntaxError, match=message):
        of_kernel(said)


def test_a_record_has_no_objects() -> None:
    with pytest.raises(TypeError, match="Key has no objects: kernels that name it are lowered first"):
        Key(3)


def of_kernel(said: str) -> ast.FunctionDef:
    (tree,) = ast.parse(f"def kernel({HEAD}) -> int:\n    {said}\n").body
    assert isinstance(tree, ast.FunctionDef)
    names: dict[str, Any] = {**globals(), "Slice": layout.Slice}
    return lowered(tree, names.get)
