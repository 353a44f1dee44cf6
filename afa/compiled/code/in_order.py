"""Rows in order through an automaton in one loop: what `afa.compiled.kernel.forward` does, for the rows that need nothing else.

    i64 loop(ptr x)

``x`` are the words `Loop` of `afa.compiled.kernel.layout`: where the columns of the batch are read, where events, steps and lists
are written, how far the loop may go. It ends with LOOP_STOP at a row that is late, at which other arcs are in force, or at the
limit, which is before the next row that is no event; with LOOP_LOOK at one whose list has to be looked at, for two rows that are
equal, more of them than Loop.budget, or matches of which it does not know that they differ or that there is room: its event and
list are written, its step is not; or with what `step_ir` of `afa.compiled.code.step_function` returns then. There are two of them:

    plain   each row is a step with a list of its own, written behind the list before it
    runs    a row that leaves the list as it is (`unchanged_ir`) is a step without nodes: those of the list before stand on, OPEN

Rows are written eight at a time, ahead of the one at work, and passed over where they leave the list as it is, or empty
(`afa.compiled.code.ahead`); where vectors can't tell that, those go through a loop of their own (`afa.compiled.code.still`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from afa.compiled.code.ahead import begin_ahead, looks_ahead, put_ahead, set_ends
from afa.compiled.code.columns import base_of, base_step, write_event, write_step
from afa.compiled.code.emit import Emitter
from afa.compiled.code.payload_layout import Layout
from afa.compiled.code.step_function import HEAD, START, SlotClass, put_step, put_unchanged, text_of, told
from afa.compiled.code.still import ask_ahead, line_of, put_still
from afa.compiled.kernel import layout as k

LOOP = "i64 @f(ptr noalias %x) nounwind"
MOVING = {"record": "i64", "event": "ptr", "latest": "i64"}
"""The variables that move on with each row."""
LIST = {"out": "ptr", "top": "i64", "src": "ptr", "n": "i64"}
"""The list before the row, and where the next one goes."""
RUN = {"wanted": "i64", "lowest": "i64", "highest": "i64", "reach": "i64", "open": "i64"}
"""When the list stays as it is, where its nodes begin, and whether they are OPEN already."""
STILL = {name: f"%{name}" for name in (*LIST, *RUN)} | {"nodes": "0", "found": "0", "open": "1"}
"""What becomes of all that where the list stays."""


def loop_key(classes: Sequence[SlotClass], width: int, payload: Layout, runs: bool, start: int = 0) -> str:
    kinds = ",".join(base_of(slot) + "?" * (slot.width - 1) for slot in payload.slots)
    return f"in order {'runs' if runs else 'plain'} {start} {width} {kinds} {text_of(classes)}"


def loop_ir(classes: Sequence[SlotClass], width: int, payload: Layout, runs: bool, start: int = 0) -> str:
    """Return one of the two loops, over classes in the order of the slots; computations begin in state ``start``."""
    e, stride = Emitter({}), 8 * (HEAD + width)
    moving = MOVING | LIST | (RUN if runs else {})
    e.line("%stays = alloca i64")
    ahead = looks_ahead(classes, start, payload)
    _read_words(e, payload, moving)
    _begin(e, classes, start, payload, moving, stride, runs, ahead)
    e.branch(e.let("icmp slt i64 %record, %high"), "read", "stop")
    e.place("read")
    ask_ahead(e, payload, "%record")
    _read_row(e)
    write_event(e, payload, re="%re_read")
    ways: dict[str, dict[str, str]] = {}  # by block: the list of the row, its slices of nodes and matches, and its LE
    if runs:
        ways["still"] = _stay(e, classes, start, stride)
    else:
        e.goto("busy")
    _take(e, runs, ahead)
    e.store("i64", "%le", "%begin", k.NodeRow.start)
    put_step(e, classes if runs else [c._replace(ignorable=False) for c in classes], width, start, runs)
    size = e.let(f"sub i64 {e.let('ptrtoint ptr %end to i64')}, {e.let('ptrtoint ptr %out to i64')}")
    count = e.let(f"sdiv exact i64 {size}, {stride}")
    if runs:
        ways["kept"] = _keep(e, count, stride)
    e.branch(e.let(f"icmp sgt i64 {count}, %budget"), "look", "within")
    e.place("within")
    nodes = e.let(f"or i64 {e.let('shl i64 %top, 24')}, {count}")
    above = e.let(f"add i64 %top, {count}")
    found = {"out": "%end", "top": above, "src": "%out", "n": count, "nodes": nodes, "le": "%le"}
    found |= _look(e, stride, runs)
    e.branch(e.let("icmp eq i64 %finals, 0"), "on", "accept")
    ways["made"] = found | {"found": "0"}
    _accept(e, stride)
    e.goto("on")
    ways["accepted"] = found | {"found": "%slice_of_matches"} | ({"wanted": "-1"} if runs else {})
    _go_on(e, ways, k.EventRow.payload + payload.width, runs)
    _leave(e, moving, count)
    return e.function(LOOP)


def _begin(
    e: Emitter,
    classes: Sequence[SlotClass],
    start: int,
    payload: Layout,
    moving: Mapping[str, str],
    stride: int,
    runs: bool,
    ahead: bool,
) -> None:
    """Begin with a row, in ``each``, and pass over rows that leave the list as it is: to ``written`` if the next one is."""
    if ahead:
        begin_ahead(e)
    e.goto("each")
    e.place("each")
    passed = MOVING | ({"open": "i64"} if runs and ahead else {})
    for name, type_ in moving.items():
        again = "" if not ahead else f", [%{name}_stays, %passed]" if name in passed else f", [%{name}, %passed]"
        e.line(f"%{name}{'_each' if name in passed else ''} = phi {type_} [%{name}0, %entry], [%{name}1, %on]{again}")
    if not ahead:
        put_still(e, classes, start, payload, MOVING, runs)
        return
    for name in ("filled", "base"):
        e.line(f"%{name}_each = phi i64 [0, %entry], [%{name}, %on], [0, %passed]")
    put_ahead(e, classes, start, payload, passed, runs, stride)
    e.branch(e.let("icmp slt i64 %record, %filled"), "written", "alone")
    e.place("alone")


def _read_words(e: Emitter, payload: Layout, moving: Mapping[str, str]) -> None:
    """The words of ``x``: those that move on with a 0 behind the name."""
    fixed = dict.fromkeys(("le_at", "re_at", "slots", "begin", "now", "last", "index_at"), "ptr")
    masks = ("re_mask", "le_mask", "index_mask", "plain_mask", "ahead")
    fixed |= dict.fromkeys(("high", "room", *masks, "bound", "cap", "most", "budget"), "i64")
    for name, type_ in (fixed | {f"{name}0": type_ for name, type_ in moving.items()}).items():
        e.line(f"%{name} = load {type_}, ptr {e.address('%x', getattr(k.Loop, name.rstrip('0')))}, align 8")
    base_step(e)
    for word in range(payload.width):
        e.line(f"%at{word} = load ptr, ptr {e.address('%x', k.Loop.payload + word)}, align 8")


def _read_row(e: Emitter) -> None:
    """The times of the row, ``%le_read`` and ``%re_read``; it leaves the loop if it is late, or of another time."""
    e.line(f"%line = add i64 {line_of(e, '%record')}, 0")
    e.line(f"%le_read = load i64, ptr {e.let('getelementptr i64, ptr %le_at, i64 %line')}, align 8")
    late = e.let("icmp sle i64 %le_read, %latest")
    later = e.let("icmp sge i64 %le_read, %bound")
    e.branch(e.let(f"or i1 {late}, {later}"), "stop", "taken")
    e.place("taken")
    own = e.load("i64", "%re_at", e.let("and i64 %line, %re_mask"))
    e.line(f"%re_read = add i64 {own}, {e.let('and i64 %le_read, %le_mask')}")


def _stay(e: Emitter, classes: Sequence[SlotClass], start: int, stride: int) -> dict[str, str]:
    """To ``still`` if the event alone lets the list stay as it is, by way of its nodes if they are not OPEN; else to ``busy``."""
    e.branch(e.let(f"icmp eq i64 {e.let(f'and i64 %wanted, {~told(classes)}')}, 0"), "able", "turns")
    e.place("able")
    soon = e.let("icmp slt i64 %le_read, %lowest")
    e.branch(e.let(f"and i1 {soon}, {e.let('icmp sge i64 %re_read, %highest')}"), "calm", "turns")
    e.place("calm")
    bits = e.let(f"and i64 {put_unchanged(e, classes, start)}, %wanted")
    e.branch(e.let(f"icmp eq i64 {bits}, %wanted"), "unchanged", "turns")
    e.place("unchanged")
    done = e.let("icmp ne i64 %open, 0")
    e.branch(e.let(f"or i1 {done}, {e.let('icmp eq i64 %n, 0')}"), "still", "open_nodes")
    set_ends(e, "open_nodes", str(k.OPEN), "still", stride)
    e.place("still")
    nearer = e.let("icmp slt i64 %le_read, %reach")
    e.line(f"%from = select i1 {nearer}, i64 %le_read, i64 %reach")
    e.goto("on")
    e.place("turns")
    e.goto("busy")
    return STILL | {"from": "%from", "le": "%le_read"}


def _take(e: Emitter, runs: bool, ahead: bool) -> None:
    """Go on with a row, just read, or written ahead: ``%le``, ``%re``, ``%ev``.

    With ``runs``, a list of Loop.most rows or more can only stay.
    """
    read = e.block
    if ahead:
        e.place("written")
        e.line(f"%le_written = add i64 {e.load('i64', '%column_le', '%record')}, 0")
        e.line(f"%re_written = add i64 {e.load('i64', '%re_at')}, {e.let('and i64 %le_written, %le_mask')}")
        e.goto("busy")
    e.place("busy")
    for name in ("le", "re"):
        e.line(f"%{name} = phi i64 [%{name}_read, %{read}]" + (f", [%{name}_written, %written]" if ahead else ""))
    e.line(f"%ev = getelementptr i64, ptr %event, i64 {k.EventRow.payload}")
    e.known, e.ask = {}, "ask"
    if not runs:
        return
    e.branch(e.let("icmp sge i64 %n, %most"), "stop", "free")
    e.place("free")
    e.store("i64", "0", "%stays")


def _keep(e: Emitter, count: str, stride: int) -> dict[str, str]:
    """To ``kept`` if all rows have stayed, as registers tell, and nothing has begun; else on, with nodes ended that are OPEN.

    Where one is in a final state (Loop.wanted -1) each step has its own: it stands for a match again.
    """
    stayed = e.load("i64", "%stays")
    both = e.let(f"and i1 {e.let(f'icmp eq i64 {count}, %n')}, {e.let(f'icmp eq i64 {stayed}, %n')}")
    both = e.let(f"and i1 {both}, {e.let('icmp ne i64 %wanted, -1')}")
    done = e.let("icmp ne i64 %open, 0")
    e.branch(both, "all_stay", "some_move")
    e.place("all_stay")
    e.branch(e.let(f"or i1 {done}, {e.let('icmp eq i64 %n, 0')}"), "kept", "open_kept")
    set_ends(e, "open_kept", str(k.OPEN), "kept", stride)
    e.place("kept")
    e.line(f"%from_kept = select i1 {e.let('icmp slt i64 %le, %reach')}, i64 %le, i64 %reach")
    e.goto("on")
    e.place("some_move")
    some = e.let(f"and i1 {done}, {e.let('icmp sgt i64 %n, 0')}")
    e.branch(some, "end_nodes", "moved")
    set_ends(e, "end_nodes", "%le", "moved", stride)
    e.place("moved")
    return STILL | {"from": "%from_kept", "le": "%le"}


def _look(e: Emitter, stride: int, runs: bool) -> dict[str, str]:
    """To ``look`` if a row is the same as one before it; else to ``made``: ``%finals`` says how many are in a state that is final.

    With ``runs`` it tells when the list stays as it is: RUN.
    """
    before = e.block
    e.branch(e.let("icmp eq ptr %out, %end"), "made", "each_row")
    e.place("each_row")
    e.line(f"%at = phi ptr [%out, %{before}], [%at_next, %next_row]")
    empty = {"finals": "0"} | ({"states": "0", "low": str(k.FOREVER), "high_m": str(k.BEGINNING)} if runs else {})
    for name, zero in empty.items():
        e.line(f"%{name}_seen = phi i64 [{zero}, %{before}], [%{name}_next, %next_row]")
    start, state = e.load("i64", "%at", k.NodeRow.start), e.load("i64", "%at", k.NodeRow.state)
    final = e.let(f"icmp ne i64 {e.load('i64', '%now', state)}, 0")
    final = e.let(f"zext i1 {final} to i64")
    e.line(f"%finals_next = add i64 %finals_seen, {final}")
    e.goto("twins")
    e.place("twins")
    e.line("%twin = phi ptr [%at, %each_row], [%twin_next, %other]")
    e.line(f"%twin_next = getelementptr i8, ptr %twin, i64 -{stride}")
    e.branch(e.let("icmp ult ptr %twin_next, %out"), "next_row", "of_list")
    e.place("of_list")
    e.branch(e.let(f"icmp eq i64 {e.load('i64', '%twin_next', k.NodeRow.start)}, {start}"), "same_start", "next_row")
    e.place("same_start")
    for word in (k.NodeRow.state, k.NodeRow.until, *range(k.NodeRow.register, stride // 8)):
        on = e.name()
        there = e.load("i64", "%twin_next", word)
        e.branch(e.let(f"icmp eq i64 {there}, {e.load('i64', '%at', word)}"), on, "other")
        e.place(on)
    e.goto("look")
    e.place("other")
    e.goto("twins")
    e.place("next_row")
    e.line(f"%at_next = getelementptr i8, ptr %at, i64 {stride}")
    if runs:
        bit, few = e.let(f"shl i64 1, {state}"), e.let(f"icmp ult i64 {state}, {START}")
        e.line(f"%states_next = or i64 %states_seen, {e.let(f'select i1 {few}, i64 {bit}, i64 -1')}")
        until = e.load("i64", "%at", k.NodeRow.until)
        e.line(f"%low_next = select i1 {e.let(f'icmp slt i64 {until}, %low_seen')}, i64 {until}, i64 %low_seen")
        e.line(f"%high_m_next = select i1 {e.let(f'icmp sgt i64 {until}, %high_m_seen')}, i64 {until}, i64 %high_m_seen")
    e.branch(e.let("icmp eq ptr %at_next, %end"), "made", "each_row")
    e.place("made")
    e.line(f"%finals = phi i64 [0, %{before}], [%finals_next, %next_row]")
    if not runs:
        return {}
    del empty["finals"]
    seen = {name: e.phi("i64", (zero, before), (f"%{name}_next", "next_row")) for name, zero in empty.items()}
    wanted = e.let(f"or i64 {seen['states']}, {1 << START}")
    return {"wanted": wanted, "lowest": seen["low"], "highest": seen["high_m"], "from": "%le", "reach": "%le", "open": "0"}


def _accept(e: Emitter, stride: int) -> None:
    """Write the matches that ``%finals`` rows stand for, and their entries of the output log, and go on in ``accepted``.

    To ``look`` if there is no room, if it is final by now what matches there are, or if lifetimes do not end in the order in which
    they began: two matches may be the same.
    """
    width = stride // 8 - HEAD
    sizes = {"match": k.MatchRow.register + width, "log": k.LogRow.register + width}
    e.place("accept")
    for name in ("match", "log", "match_last", "log_last", "mtop", "key", "final"):  # rarely read, so no registers hold them
        type_ = "i64" if name in ("mtop", "key", "final") else "ptr"
        e.line(f"%{name} = load {type_}, ptr {e.address('%x', getattr(k.Loop, name))}, align 8")
    for name, size in sizes.items():
        words = e.let(f"mul i64 %finals, {size}")
        e.line(f"%{name}_next = getelementptr i64, ptr %{name}, i64 {words}")
        e.line(f"%{name}_full = icmp ugt ptr %{name}_next, %{name}_last")
    full = e.let("or i1 %match_full, %log_full")
    e.branch(e.let(f"or i1 {full}, {e.let('icmp slt i64 %le, %final')}"), "look", "each_final")
    e.place("each_final")
    e.line("%row_m = phi ptr [%out, %accept], [%row_m_next, %next_final]")
    e.line("%past = phi i64 [%le, %accept], [%past_next, %next_final]")
    for name in sizes:
        e.line(f"%{name}_at = phi ptr [%{name}, %accept], [%{name}_at_next, %next_final]")
    state = e.load("i64", "%row_m", k.NodeRow.state)
    e.branch(e.let(f"icmp eq i64 {e.load('i64', '%now', state)}, 0"), "next_final", "is_final")
    e.place("is_final")
    until = e.load("i64", "%row_m", k.NodeRow.until)
    e.branch(e.let(f"icmp sgt i64 {until}, %past"), "differs", "look")
    e.place("differs")
    register = e.address("%row_m", HEAD)
    for word, ssa in ((k.LogRow.key, "%key"), (k.LogRow.sign, "1"), (k.LogRow.t, "%le"), (k.LogRow.re, until)):
        e.store("i64", ssa, "%log_at", word)
    for word, ssa in ((k.MatchRow.t, "%le"), (k.MatchRow.re, until)):
        e.store("i64", ssa, "%match_at", word)
    e.copy(register, e.address("%log_at", k.LogRow.register), width)
    e.copy(register, e.address("%match_at", k.MatchRow.register), width)
    for name, size in sizes.items():
        e.line(f"%{name}_at_more = getelementptr i64, ptr %{name}_at, i64 {size}")
    e.goto("next_final")
    e.place("next_final")
    e.line(f"%past_next = phi i64 [%past, %each_final], [{until}, %differs]")
    for name in sizes:
        e.line(f"%{name}_at_next = phi ptr [%{name}_at, %each_final], [%{name}_at_more, %differs]")
    e.line(f"%row_m_next = getelementptr i8, ptr %row_m, i64 {stride}")
    e.branch(e.let("icmp eq ptr %row_m_next, %end"), "accepted", "each_final")
    e.place("accepted")
    e.store("i64", e.let("add i64 %mtop, %finals"), "%x", k.Loop.mtop)
    for name in sizes:
        e.store("ptr", f"%{name}_next", "%x", getattr(k.Loop, name))
    e.line(f"%slice_of_matches = or i64 {e.let('shl i64 %mtop, 24')}, %finals")


def _go_on(e: Emitter, ways: Mapping[str, Mapping[str, str]], size: int, runs: bool) -> None:
    """Write the step of the row, and go to the next one."""
    e.place("on")
    for name, type_ in (LIST | (RUN if runs else {})).items():
        e.line(f"%{name}1 = phi {type_} " + ", ".join(f"[{way[name]}, %{block}]" for block, way in ways.items()))
    nodes, found, le = (e.phi("i64", *((way[name], block) for block, way in ways.items())) for name in ("nodes", "found", "le"))
    reach = e.phi("i64", *((way["from"], block) for block, way in ways.items())) if runs else le
    write_step(e, "%record", le, nodes, found, reach)
    e.line(f"%event1 = getelementptr i64, ptr %event, i64 {size}")
    e.line("%record1 = add i64 %record, 1")
    e.line(f"%latest1 = add i64 {le}, 0")
    e.goto("each")


def _leave(e: Emitter, moving: Mapping[str, str], count: str) -> None:
    """Write where the loop stands, and return why."""
    ways = {"stop": k.LOOP_STOP, "ask": -1, "full": -2, "look": k.LOOP_LOOK}
    for label in ways:
        e.place(label)
        if label == "look":
            e.store("i64", count, "%x", k.Loop.made)
        e.goto("leave")
    e.place("leave")
    status = e.phi("i64", *((str(code), label) for label, code in ways.items()))
    for name, type_ in moving.items():
        if name not in MOVING or name == "record":
            e.store(type_, f"%{name}", "%x", getattr(k.Loop, name))
    e.line(f"ret i64 {status}")
