"""Rows in order through an automaton in one loop: what `afa.compiled.kernel.forward` does, for the rows that need nothing else.

    i64 ahead(ptr x)

``x`` are the words X_* of `afa.compiled.kernel.names`: where the columns of the batch are read, where events, steps and lists
are written, how far the loop may go. It ends with AHEAD_STOP at a row that is no event, that is late, at which other arcs are in
force, or at the limit; with AHEAD_LOOK at one whose list has to be looked at, for a match or for two rows that may be equal: its
event and list are written, its step is not; or with what `step_ir` of `afa.compiled.steps` returns then. There are two of them:

    step    each row is a step with a list of its own, written behind the list before it
    pass    each row leaves all lists as they are (`afa.compiled.steps.quiet_ir`); the loop ends at one that does not
"""

from __future__ import annotations

from collections.abc import Sequence

from afa.compiled.emit import TYPES, Emitter, Value
from afa.compiled.kernel import names as k
from afa.compiled.layout import Layout, Slot
from afa.compiled.steps import HEAD, SlotClass, put_quiet, put_step, text_of

AHEAD = "i64 @f(ptr noalias %x) nounwind"
NAN = "0x7FF8000000000000"


def ahead_key(classes: Sequence[SlotClass], width: int, payload: Layout, steps: bool, start: int = 0) -> str:
    """What the code of `ahead_ir` is kept by."""
    kinds = ",".join(_base(slot) for slot in payload.slots)
    return f"ahead {'step' if steps else 'pass'} {start} {width} {kinds} {text_of(classes)}"


def ahead_ir(classes: Sequence[SlotClass], width: int, payload: Layout, steps: bool, start: int = 0) -> str:
    """One of the two loops.

    Parameters
    ----------
    classes : sequence of SlotClass
        In the order of the slots.
    width : int
        Words of a register.
    payload : Layout
        Of the events; fields of one word each.
    steps : bool
        Which of the two.
    start : int
        The state in which computations begin.
    """
    e = Emitter({})
    _read_words(e, payload, steps)
    e.goto("each")
    e.place("each")
    moving = _Moving(e, payload, steps)
    e.branch(e.let("icmp slt i64 %record, %high"), "read", "stop")
    e.place("read")
    _read_row(e)
    _write_event(e, payload)
    count, nodes, reach = "0", "0", "%le"
    if steps:
        e.store("i64", "%le", "%begin", k.N_START)
        put_step(e, classes, width, start)
        count = _count(e, width)
        nodes = e.let(f"or i64 {e.let('shl i64 %top, 24')}, {count}")
        _look(e, 8 * (HEAD + width))
    else:
        e.branch(e.let("icmp sge i64 %re, %highest"), "long", "stop")
        e.place("long")
        bits = e.let(f"and i64 {put_quiet(e, classes, start)}, %wanted")
        nearer = e.let("icmp slt i64 %le, %reach")
        reach = e.let(f"select i1 {nearer}, i64 %le, i64 %reach")
        e.branch(e.let(f"icmp eq i64 {bits}, %wanted"), "keep", "stop")
    e.place("keep")
    moving.write(nodes, reach)
    moving.go_on(count)
    _leave(e, moving, count, steps)
    return e.function(AHEAD)


def _base(slot: Slot) -> str:
    """The kind of a field, by the name that `afa.compiled.emit` has for it."""
    assert slot.field.type is not None
    return slot.field.type.__name__


def _read_words(e: Emitter, payload: Layout, steps: bool) -> None:
    """The words that stay as they are."""
    pointers = ["le_at", "re_at", "kind_at", "order0", "times0", "event0", "slots"]
    pointers += ["out0", "src0", "begin", "now", "last"] if steps else []
    numbers = ["record0", "high", "re_mask", "le_mask", "kind_mask", "latest0", "bound", "cap", "step0", "slice0"]
    numbers += ["n0", "top0"] if steps else ["wanted", "highest", "reach"]
    for names, type_ in ((pointers, "ptr"), (numbers, "i64")):
        for name in names:
            word = getattr(k, f"X_{name.rstrip('0').upper()}")
            e.line(f"%{name} = load {type_}, ptr {e.address('%x', word)}, align 8")
    for column in ("EV", "ND", "MT", "REACH"):
        e.line(f"%to_{column} = mul i64 %cap, {getattr(k, column) - k.LE}")
    for slot in payload.slots:
        e.line(f"%at{slot.offset} = load ptr, ptr {e.address('%x', k.X_WORDS + slot.offset)}, align 8")


class _Moving:
    """What moves on from row to row."""

    def __init__(self, e: Emitter, payload: Layout, steps: bool) -> None:
        self._e, self._size = e, k.E_WORDS + payload.width
        self._names = {
            "record": "i64",
            "order": "ptr",
            "times": "ptr",
            "event": "ptr",
            "slice": "i64",
            "step": "i64",
            "latest": "i64",
        }
        self._names.update({"out": "ptr", "src": "ptr", "n": "i64", "top": "i64"} if steps else {})
        for name, type_ in self._names.items():
            e.line(f"%{name} = phi {type_} [%{name}0, %entry], [%{name}1, %keep]")

    def write(self, nodes: str, reach: str) -> None:
        """Write the step of the row, with its slice of nodes."""
        e = self._e
        e.store("i64", "%step", "%order")
        e.store("i64", "%le", "%times")
        for column, value in (("EV", "%slice"), ("ND", nodes), ("MT", "0"), ("REACH", reach)):
            e.store("i64", value, "%times", f"%to_{column}")

    def go_on(self, count: str) -> None:
        """To the next row; ``count`` rows are its list."""
        e = self._e
        for name in ("order", "times"):
            e.line(f"%{name}1 = getelementptr i64, ptr %{name}, i64 1")
        e.line(f"%event1 = getelementptr i64, ptr %event, i64 {self._size}")
        for name, by in (("record", 1), ("step", 1), ("slice", 1 << 24)):
            e.line(f"%{name}1 = add i64 %{name}, {by}")
        e.line("%latest1 = add i64 %le, 0")
        if "out" in self._names:
            e.line("%out1 = getelementptr i8, ptr %end, i64 0")
            e.line("%src1 = getelementptr i8, ptr %out, i64 0")
            e.line(f"%n1 = add i64 {count}, 0")
            e.line(f"%top1 = add i64 %top, {count}")
        e.goto("each")

    def save(self) -> None:
        """Write where the loop stands."""
        for name in self._names:
            if name in ("record", "out", "src", "n", "top"):
                self._e.store(self._names[name], f"%{name}", "%x", getattr(k, f"X_{name.upper()}"))


def _read_row(e: Emitter) -> None:
    """The times of the row; it leaves the loop if it is no event, late, or of another time."""

    def masked(pointer: str, mask: str) -> str:
        at = e.let(f"getelementptr i64, ptr {pointer}, i64 {e.let(f'and i64 %record, {mask}')}")
        return e.let(f"load i64, ptr {at}, align 8")

    e.line(f"%le = load i64, ptr {e.let('getelementptr i64, ptr %le_at, i64 %record')}, align 8")
    other = e.let(f"icmp ne i64 {masked('%kind_at', '%kind_mask')}, {k.EVENT}")
    late = e.let("icmp sle i64 %le, %latest")
    later = e.let("icmp sge i64 %le, %bound")
    e.branch(e.let(f"or i1 {other}, {e.let(f'or i1 {late}, {later}')}"), "stop", "taken")
    e.place("taken")
    e.line(f"%re = add i64 {masked('%re_at', '%re_mask')}, {e.let('and i64 %le, %le_mask')}")


def _write_event(e: Emitter, payload: Layout) -> None:
    """The event's words in their one form: one NaN, no -0.0."""
    e.store("i64", "%re", "%event", k.E_RE)
    e.store("i64", "1", "%event", k.E_COPIES)
    e.line(f"%ev = getelementptr i64, ptr %event, i64 {k.E_WORDS}")
    for slot in payload.slots:
        base = _base(slot)
        type_ = TYPES[base]
        value = e.let(f"load {type_}, ptr {e.let(f'getelementptr i64, ptr %at{slot.offset}, i64 %record')}, align 8")
        if base == "float":
            value = e.let(f"fadd double {value}, 0.0")
            value = e.let(f"select i1 {e.let(f'fcmp uno double {value}, {value}')}, double {NAN}, double {value}")
        e.store(type_, value, "%ev", slot.offset)
        e.known["e", slot.offset, 1] = Value(base, value)


def _count(e: Emitter, width: int) -> str:
    """How many rows the step has made."""
    size = e.let(f"sub i64 {e.let('ptrtoint ptr %end to i64')}, {e.let('ptrtoint ptr %out to i64')}")
    return e.let(f"sdiv exact i64 {size}, {8 * (HEAD + width)}")


def _slice(e: Emitter, count: str) -> str:
    return e.let(f"or i64 {e.let('shl i64 %top, 24')}, {count}")


def _look(e: Emitter, stride: int) -> None:
    """To ``look`` if a row is in a state that is final now, or has start and state of one before it; else to ``keep``."""

    def word(pointer: str, number: int) -> str:
        return e.load("i64", pointer, number)

    before = e.block
    e.branch(e.let("icmp eq ptr %out, %end"), "keep", "each_row")
    e.place("each_row")
    e.line(f"%at = phi ptr [%out, %{before}], [%at_next, %next_row]")
    start, state = word("%at", k.N_START), word("%at", k.N_STATE)
    final = word("%now", state)  # type: ignore[arg-type]
    e.branch(e.let(f"icmp eq i64 {final}, 0"), "twins", "look")
    e.place("twins")
    e.line("%twin = phi ptr [%at, %each_row], [%twin_next, %other]")
    e.line(f"%twin_next = getelementptr i8, ptr %twin, i64 -{stride}")
    e.branch(e.let("icmp ult ptr %twin_next, %out"), "next_row", "of_list")
    e.place("of_list")
    e.branch(e.let(f"icmp eq i64 {word('%twin_next', k.N_START)}, {start}"), "same_start", "next_row")
    e.place("same_start")
    e.branch(e.let(f"icmp eq i64 {word('%twin_next', k.N_STATE)}, {state}"), "look", "other")
    e.place("other")
    e.goto("twins")
    e.place("next_row")
    e.line(f"%at_next = getelementptr i8, ptr %at, i64 {stride}")
    e.branch(e.let("icmp eq ptr %at_next, %end"), "keep", "each_row")


def _leave(e: Emitter, moving: _Moving, count: str, steps: bool) -> None:
    """Write where the loop stands, and return why."""
    ways = {"stop": k.AHEAD_STOP, "ask": -1} | ({"look": k.AHEAD_LOOK, "full": -2} if steps else {})
    for label in ways:
        e.place(label)
        if label == "look":
            e.store("i64", count, "%x", k.X_MADE)
        e.goto("leave")
    e.place("leave")
    status = e.phi("i64", *((str(code), label) for label, code in ways.items()))
    moving.save()
    e.line(f"ret i64 {status}")
