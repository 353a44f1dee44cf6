"""The loop of `afa.compiled.kernel.row_loop` for one automaton: its own `write_event` and `step` put into the holes.

    i64 loop(ptr x)     ``x``: the words `Loop` of `afa.compiled.kernel.layout`

With ``NUMBA_DISABLE_JIT=1`` the loop runs as the Python that it is, and calls the two by address.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from afa.compiled.code.arc_code import ends
from afa.compiled.code.arithmetic import canonical
from afa.compiled.code.emit import TYPES, ZEROS, Emitter, Value
from afa.compiled.code.payload_layout import FieldSlot, Layout
from afa.compiled.code.step_function import HEAD, SlotClass, put_step, put_unchanged, text_of, told
from afa.compiled.code.writer import WEIGHTS
from afa.compiled.kernel import layout as k
from afa.compiled.kernel import row_loop
from afa.compiled.kernel.named_fields import as_words
from afa.compiled.kernel.native_call import PLAIN, peek, poke
from afa.compiled.machine.kernel_ir import DECLARES, functions
from afa.compiled.machine.kernel_words import WORD, Signature
from afa.compiled.machine.native import FULL, digest_of, native

ENTRY = """
define i64 @f(ptr noalias %x) nounwind {
  %at = ptrtoint ptr %x to i64
  %status = call i64 @row_loop.loop(ptr %x, i64 0, i64 0, i64 %at)
  ret i64 %status
}
"""
HOLES = {"write_event": 5, "step": 9}
"""The functions, and how many words they take."""
CALLED = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
EFFORT = FULL._replace(lasting=False)
_kept: dict[str, Any] = {}
"""Loops that run as Python, by key: native code calls them."""


class LinkedLoop(NamedTuple):
    """What the code of a loop depends on; classes in the order of the slots, computations begin in state ``start``."""

    classes: tuple[SlotClass, ...]
    width: int
    payload: Layout
    runs: bool
    start: int = 0

    @property
    def key(self) -> str:
        kinds = ",".join(_base_of(slot) + "?" * (slot.width - 1) for slot in self.payload.slots)
        source = digest_of(__name__, row_loop.__name__)
        return f"row loop {source} {'runs' if self.runs else 'plain'} {self.start} {self.width} {kinds} {text_of(self.classes)}"

    def address(self, wanted: bool) -> int:
        """Return the address of the loop; not ``wanted``: 0 if no code of it is at hand."""
        if PLAIN:
            if wanted and self.key not in _kept:
                _kept[self.key] = CALLED(self._python())
            return ctypes.cast(_kept[self.key], ctypes.c_void_p).value or 0 if self.key in _kept else 0
        return native.function(self.key, self._ir if wanted else None, EFFORT)

    def _holes(self) -> dict[str, Any]:
        values = {slot.value for slot in self.payload.slots}  # of other words bytes tell whether a value is there
        return {
            "EVENT_WORDS": k.EventRow.payload + self.payload.width,
            "ROW_WORDS": HEAD + self.width,
            "WIDTH": self.width,
            "PAYLOAD": self.payload.width,
            "RUNS": int(self.runs),
            "BYTES": sum(1 << word for word in range(self.payload.width) if word not in values),
            "UNASKED": ~told(self.classes),
        }

    def _ir(self) -> str:
        known = {name: Signature(f"hole.{name}", (WORD,) * n, WORD) for name, n in HOLES.items()}
        made = {name: getattr(self, f"_{name}")() for name in HOLES}
        bodies = [e.body(f"internal i64 @hole.{name}({words}) alwaysinline nounwind") for name, (e, words) in made.items()]
        declared = set(DECLARES.strip().split("\n")).union(*(e.declared for e, _ in made.values()))
        loop = functions(row_loop.loop, self._holes() | known)
        return "\n".join([*sorted(declared), *bodies, loop, ENTRY, WEIGHTS, ""])

    def _python(self) -> Callable[[int], int]:
        """Return the loop as Python."""
        scope: dict[str, Any] = vars(row_loop) | self._holes()
        for name, n in HOLES.items():
            e, words = getattr(self, f"_{name}")()
            at = native.function(f"{name} of {self.key}", partial(e.function, f"i64 @f({words}) nounwind"))
            scope[name] = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * n)(at)
        for name, value in vars(row_loop).items():
            if hasattr(value, "is_kernel") and value.__module__ == row_loop.__name__:
                scope[name] = as_words(value, scope)
        return lambda x: int(scope["loop"](_Addressed(x), 0, x))

    # -- the holes -------------------------------------------------------------------------------------------------------------

    def _write_event(self) -> tuple[Emitter, str]:
        e = Emitter({})
        _pointers(e, "x", "event")
        words = {"slots": k.Loop.slots} | {f"at{word}": k.Loop.payload + word for word in range(self.payload.width)}
        for name, word in words.items():  # the same in all rows: LLVM reads them before the loop
            e.line(f"%{name} = load ptr, ptr {e.address('%x', word)}, align 8, !invariant.load !1")
        _put_event(e, self.payload)
        e.line(f"%ev = getelementptr i64, ptr %event, i64 {k.EventRow.payload}")
        e.branch(e.let("icmp ne i64 %asked, 0"), "asked.for", "done.with")
        e.place("asked.for")
        e.line(f"ret i64 {put_unchanged(e, self.classes, self.start) if self.runs else 0}")
        e.place("done.with")
        e.line("ret i64 0")
        return e, "i64 %x.word, i64 %event.word, i64 %line, i64 %re, i64 %asked"

    def _step(self) -> tuple[Emitter, str]:
        e, stride = Emitter({}), 8 * (HEAD + self.width)
        _pointers(e, "ev", "src", "begin", "out", "last", "slots")
        e.line("%stays = alloca i64")
        e.store("i64", "0", "%stays")
        classes = self.classes if self.runs else [c._replace(ignorable=False) for c in self.classes]
        put_step(e, classes, self.width, self.start, self.runs)
        size = e.let(f"sub i64 {e.let('ptrtoint ptr %end to i64')}, {e.let('ptrtoint ptr %out to i64')}")
        count = e.let(f"sdiv exact i64 {size}, {stride}")
        stayed = e.let(f"shl i64 {e.load('i64', '%stays')}, {row_loop.STAYED}")
        e.line(f"ret i64 {e.let(f'or i64 {stayed}, {count}')}")
        ends(e, ask=-1, full=-2)
        words = (
            "i64 %ev.word, i64 %re, i64 %le, i64 %src.word, i64 %n, i64 %begin.word, i64 %out.word, i64 %last.word, i64 %slots.word"
        )
        return e, words


def _pointers(e: Emitter, *names: str) -> None:
    for name in names:
        e.line(f"%{name} = inttoptr i64 %{name}.word to ptr")


class _Addressed:
    """Words at an address, as an array."""

    def __init__(self, at: int) -> None:
        self._at = at

    def __getitem__(self, i: int) -> int:
        return peek(self._at + 8 * i)

    def __setitem__(self, i: int, word: int) -> None:
        poke(self._at + 8 * i, word)


def _base_of(slot: FieldSlot) -> str:
    """Return the kind of a field, by the name that `afa.compiled.code.emit` has for it."""
    assert slot.field.type is not None
    return slot.field.type.__name__


def _put_event(e: Emitter, payload: Layout) -> None:
    """Write one event, of row ``%line`` of the columns ``%at0``, ``%at1``, ..: with one NaN, no -0.0, 0 for what is not there."""
    e.store("i64", "%re", "%event", k.EventRow.re)
    e.store("i64", "1", "%event", k.EventRow.copies)
    words = e.address("%event", k.EventRow.payload)
    for slot in payload.slots:
        base = _base_of(slot)
        type_, present = TYPES[base], None
        if slot.width == 2:
            byte = e.let(f"getelementptr i8, ptr %at{slot.offset}, i64 %line")
            present = e.let(f"icmp ne i8 {e.let(f'load i8, ptr {byte}')}, 0")
            e.store("i1", present, words, slot.offset)
        value = e.load(type_, f"%at{slot.value}", "%line")
        if base == "float":
            value = canonical(e, value)
        if present is not None:
            value = e.let(f"select i1 {present}, {type_} {value}, {type_} {ZEROS[type_]}")
        e.store(type_, value, words, slot.value)
        e.known["e", slot.offset, slot.width] = Value(base, value, present)
