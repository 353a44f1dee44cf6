"""Rows ahead of the one at work, eight at a time: their events and steps are written, and which states they leave as they are.

    row      0    1    2    3    4    5    6    7    8 ..
    event, order, LE, ..  written, as of steps without nodes
    state 1  .    stay stay stay .    stay stay stay stay        a bit of a mask a row, as `unchanged_ir` tells of each
    start    stay stay stay stay .    stay stay stay stay        no event part lets a computation begin

Then the loop passes over all rows up to the first one that does not leave the list as it is, by a few operations however many they
are; that one it takes by itself, and finds its event written. Rows that have an RE of their own, and the last few of a part
of a batch, the loop takes one by one.

Why: one by one a row that stays takes 95 instructions, of which 45 are fences; eight at a time 16 each. Why up to 64 ahead: where
each eight rows wait for the search through those before, they take 80 cycles, not 30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from afa.compiled.code.eight_rows import I64, read_eight, write_events, write_steps
from afa.compiled.code.emit import Emitter
from afa.compiled.code.lanes import MANY, NEVER, Lanes, as_bits, both, either, opposite, splat, store_eight, tells, vector
from afa.compiled.code.payload_layout import Layout
from afa.compiled.code.step_function import START, SlotClass, active, may_pass
from afa.compiled.kernel import layout as k

STATES = 8
"""Of so many states it is noted at most: each search asks all of them."""
WIDE = 14
"""Words of a payload that is not written eight rows at a time: words of so many columns are brought together one by one."""
FIRST, MOST = 2, 8
"""How many times eight rows are written ahead at first; twice as many each time, but not more than MOST."""


def noted(classes: Sequence[SlotClass]) -> list[int]:
    """Return the states of which it is noted whether a row leaves them as they are."""
    return sorted({c.state for c in classes if c.state < START and may_pass(c)})


def looks_ahead(classes: Sequence[SlotClass], start: int, payload: Layout) -> bool:
    """Return whether it pays, and vectors can tell all that `unchanged_ir` tells of these arcs."""
    states = noted(classes)
    asked = [c for c in classes if c.state in (*states, start)]
    fences = all(c.code.fence is None or tells(c.code.fence) for c in asked)
    return fences and all(c.code.transfer is None for c in asked if may_pass(c)) and len(states) <= STATES and payload.width <= WIDE


def put_ahead(
    e: Emitter, classes: Sequence[SlotClass], start: int, payload: Layout, moving: Mapping[str, str], runs: bool, stride: int
) -> None:
    """Go on in ``go_on`` with the variables ``moving``, which were ``%record_each`` and so on, by their own names, or in ``each``.

    Rows before ``%filled`` are written; the next one, if there is any, is then not one that stays. With ``runs``, rows stay whose
    list does; ``%open`` is then one of ``moving``. Without, those of an empty list.
    """
    size = k.EventRow.payload + payload.width
    if not runs:
        classes = [c._replace(ignorable=False) for c in classes]
    states = [*noted(classes), START]
    e.branch(e.let("icmp slt i64 %record_each, %filled_each"), "search", "fresh")
    _fill(e, classes, states, start, payload, size)
    e.place("search")
    for name in ("filled", "base"):
        e.line(f"%{name}_here = phi i64 [%{name}_each, %each], [%{name}_new, %fill_end]")
    count = _search(e, states, runs)
    e.place("stay")
    if runs:
        closed = e.let("icmp eq i64 %open_each, 0")
        e.branch(e.let(f"and i1 {closed}, {e.let('icmp sgt i64 %n, 0')}"), "open_ahead", "opened")
        set_ends(e, "open_ahead", str(k.OPEN), "opened", stride)
        e.place("opened")
        e.line("%open_stays = add i64 0, 1")
        own = e.let(f"and i1 {e.let('icmp eq i64 %n, 0')}, {e.let('icmp ne i64 %most, 0')}")
        e.branch(e.let(f"or i1 {own}, {e.let('icmp sle i64 %le_first, %reach')}"), "passed", "reaching")  # the list is empty
        e.place("reaching")
        _set_reaches(e)
    else:
        e.goto("passed")
        e.place("passed")
    e.line(f"%event_stays = getelementptr i64, ptr %event_each, i64 {e.let(f'mul i64 {count}, {size}')}")
    e.line("%record_stays = add i64 %record_each, %count")
    e.line("%latest_stays = add i64 %le_last, 0")
    e.branch(e.let("icmp eq i64 %record_stays, %filled_here"), "each", "go_on")
    e.place("go_on")
    for name, type_ in moving.items():
        ways = ", ".join(f"[%{name}_each, %{block}]" for block in ("fresh", "fill_end", "search_end"))
        e.line(f"%{name} = phi {type_} {ways}, [%{name}_stays, %passed]")
    for name in ("filled", "base"):
        e.line(f"%{name} = phi i64 [0, %fresh], [0, %fill_end], [%{name}_here, %search_end], [%{name}_here, %passed]")


def begin_ahead(e: Emitter) -> None:
    """In the first block of the loop."""
    e.line(f"%masks = alloca [{STATES + 1} x i64]")
    e.line("%times = alloca i64")
    e.store("i64", str(FIRST), "%times")


def _fill(e: Emitter, classes: Sequence[SlotClass], states: Sequence[int], start: int, payload: Layout, size: int) -> None:
    """Write rows ahead: ``%base_new`` to ``%filled_new``. To ``search``, or to ``go_on`` if the next row can't be."""
    e.place("fresh")
    most = e.load("i64", "%times")
    room = e.let(f"sub i64 %room, {MANY}")  # REACH is written beyond the last row that stays
    room = e.let(f"select i1 {e.let(f'icmp slt i64 {room}, %high')}, i64 {room}, i64 %high")
    there = e.let(f"ashr i64 {e.let(f'sub i64 {room}, %record_each')}, 3")
    e.line(f"%groups = select i1 {e.let(f'icmp slt i64 {there}, {most}')}, i64 {there}, i64 {most}")
    able = e.let("icmp eq i64 %re_mask, 0")
    e.branch(e.let(f"and i1 {able}, {e.let('icmp sgt i64 %groups, 0')}"), "fill_first", "go_on")
    e.place("fill_first")
    more = e.let(f"shl i64 {most}, 1")
    e.store("i64", e.let(f"select i1 {e.let(f'icmp slt i64 {more}, {MOST}')}, i64 {more}, i64 {MOST}"), "%times")
    latest, bound = splat(e, "i64", "%latest_each"), splat(e, "i64", "%bound")
    window, mask = splat(e, "i64", e.load("i64", "%re_at")), splat(e, "i64", "%le_mask")
    e.goto("fill")
    e.place("fill")
    e.line("%group = phi i64 [0, %fill_first], [%group_next, %fill_next]")
    for place in range(len(states)):
        e.line(f"%mask{place} = phi i64 [0, %fill_first], [%mask{place}_next, %fill_next]")
    e.line(f"%le_before = phi {I64} [{latest}, %fill_first], [%le_eight, %fill_next]")
    e.line(f"%these = add i64 %record_each, {e.let('shl i64 %group, 3')}")
    columns = read_eight(e, payload)
    e.line(f"%le_eight = add {I64} zeroinitializer, {columns['%le_at']}")
    places = ", ".join(f"i32 {place}" for place in range(MANY - 1, 2 * MANY - 1))
    before = e.let(f"shufflevector {I64} %le_before, {I64} %le_eight, {vector('i32')} <{places}>")
    late, later = e.let(f"icmp sle {I64} %le_eight, {before}"), e.let(f"icmp sge {I64} %le_eight, {bound}")
    e.branch(e.let(f"icmp eq i{MANY} {as_bits(e, either(e, late, later))}, 0"), "fill_rows", "fill_end")
    e.place("fill_rows")
    write_steps(e)
    fields = write_events(e, payload, columns, e.let(f"add {I64} {window}, {e.let(f'and {I64} %le_eight, {mask}')}"), size)
    lanes, past = Lanes(e, fields), e.let("shl i64 %group, 3")
    for place, state in enumerate(states):
        kept = _kept(e, lanes, classes, start if state == START else state, state == START)
        rows = e.let(f"zext i{MANY} {as_bits(e, kept)} to i64")
        e.line(f"%mask{place}_next = or i64 %mask{place}, {e.let(f'shl i64 {rows}, {past}')}")
    e.goto("fill_next")
    e.place("fill_next")
    e.line("%group_next = add i64 %group, 1")
    e.branch(e.let("icmp slt i64 %group_next, %groups"), "fill", "fill_end")
    e.place("fill_end")
    e.line("%groups_done = phi i64 [%group, %read_eight], [%group_next, %fill_next]")
    masks = [e.phi("i64", (f"%mask{place}", "read_eight"), (f"%mask{place}_next", "fill_next")) for place in range(len(states))]
    for place, mask in enumerate(masks):  # not by bytes: of eight bytes just written no word can be read at once
        e.store("i64", mask, "%masks", place)
    e.line("%base_new = add i64 %record_each, 0")
    e.line(f"%filled_new = add i64 %record_each, {e.let('shl i64 %groups_done, 3')}")
    e.branch(e.let("icmp eq i64 %groups_done, 0"), "go_on", "search")


def _search(e: Emitter, states: Sequence[int], runs: bool) -> str:
    """To ``stay`` if the next row leaves the list as it is, else to ``go_on``. Returns ``%count``: how many rows do."""
    wanted = "%wanted" if runs else e.let(f"select i1 {e.let('icmp eq i64 %n, 0')}, i64 {1 << START}, i64 -1")
    past, left = e.let("sub i64 %record_each, %base_here"), e.let("sub i64 %filled_here, %record_each")
    others = e.let(f"and i64 {wanted}, {~sum(1 << state for state in states)}")
    found = e.let(f"sext i1 {e.let(f'icmp eq i64 {others}, 0')} to i64")
    for place, state in enumerate(states):
        mask = e.load("i64", "%masks", place)
        if runs:
            asked = e.let(f"and i64 {e.let(f'lshr i64 {wanted}, {state}')}, 1")
            mask = e.let(f"or i64 {mask}, {e.let(f'sub i64 {asked}, 1')}")
        found = e.let(f"and i64 {found}, {mask}")
    found = e.let(f"xor i64 {e.let(f'lshr i64 {found}, {past}')}, -1")
    rows = e.call("i64", "llvm.cttz.i64", f"i64 {found}", "i1 false")
    e.line(f"%rows = select i1 {e.let(f'icmp slt i64 {rows}, {left}')}, i64 {rows}, i64 {left}")
    e.branch(e.let("icmp eq i64 %rows, 0"), "search_end", "some")
    e.place("some")
    last = e.load("i64", "%column_le", e.let(f"add i64 {e.let('add i64 %record_each, %rows')}, -1"))
    if not runs:
        e.line("%count = add i64 %rows, 0")
        e.line(f"%le_last = add i64 {last}, 0")
        e.goto("stay")
        e.place("search_end")
        e.goto("go_on")
        return "%count"
    e.line("%le_first = load i64, ptr " + e.let("getelementptr i64, ptr %column_le, i64 %record_each"))
    re = e.let(f"add i64 {e.load('i64', '%re_at')}, {e.let('and i64 %le_first, %le_mask')}")  # those behind it have a larger one
    fits = e.let(f"and i1 {e.let(f'icmp sge i64 {re}, %highest')}, {e.let('icmp slt i64 %le_first, %lowest')}")
    e.branch(fits, "fits", "search_end")
    e.place("fits")
    e.branch(e.let(f"icmp slt i64 {last}, %lowest"), "stay_all", "until_over")
    e.place("until_over")  # a partial match is over before the last of them
    e.line("%k = phi i64 [1, %fits], [%k_next, %not_over]")
    le = e.load("i64", "%column_le", e.let("add i64 %record_each, %k"))
    e.branch(e.let(f"icmp slt i64 {le}, %lowest"), "not_over", "over")
    e.place("not_over")
    e.line("%k_next = add i64 %k, 1")
    e.goto("until_over")
    e.place("over")
    before = e.load("i64", "%column_le", e.let(f"add i64 {e.let('add i64 %record_each, %k')}, -1"))
    e.goto("stay_all")
    e.place("stay_all")
    e.line("%count = phi i64 [%rows, %fits], [%k, %over]")
    e.line(f"%le_last = phi i64 [{last}, %fits], [{before}, %over]")
    e.goto("stay")
    e.place("search_end")
    e.goto("go_on")
    return "%count"


def _set_reaches(e: Emitter) -> None:
    """Write REACH of the rows that stay, eight at a time."""
    many = splat(e, "i64", "%reach")
    e.goto("reaches")
    e.place("reaches")
    e.line("%reached = phi i64 [0, %reaching], [%reached_next, %reaches]")
    store_eight(e, many, "%column_reach", e.let("add i64 %record_each, %reached"))
    e.line(f"%reached_next = add i64 %reached, {MANY}")
    e.branch(e.let("icmp slt i64 %reached_next, %count"), "reaches", "passed")
    e.place("passed")


def _kept(e: Emitter, lanes: Lanes, classes: Sequence[SlotClass], state: int, begins: bool) -> str:
    """Return which events leave a state as it is: exactly one arc may hold, one that lets rows stay, and does; or begin nothing."""
    stays, moves = NEVER, NEVER
    for slot, c in enumerate(classes):
        if c.state != state:
            continue
        off, on, before = e.name(), e.name(), (stays, moves)
        active(e, slot, c.code, off)
        holds, fails = ("splat (i1 true)", NEVER) if c.code.fence is None else lanes.told(c.code.fence)
        other = opposite(e, fails)  # it holds, or the register tells
        if not begins and may_pass(c):
            other = either(e, both(e, holds, stays), both(e, other, opposite(e, holds)))
            stays = either(e, stays, holds)
        moves, there = either(e, moves, other), e.block
        e.goto(on)
        e.place(off)
        e.goto(on)
        e.place(on)
        stays, moves = (e.phi(vector("i1"), (new, there), (old, off)) for new, old in zip((stays, moves), before))
    return opposite(e, moves) if begins else both(e, stays, opposite(e, moves))


def set_ends(e: Emitter, label: str, end: str, then: str, stride: int) -> None:
    """Let all nodes of the list before the row, of which there is one at least, have this end."""
    before = e.block
    e.place(label)
    e.line(f"%{label}_i = phi i64 [0, %{before}], [%{label}_more, %{label}]")
    e.line(f"%{label}_at = getelementptr i8, ptr %src, i64 {e.let(f'mul i64 %{label}_i, {stride}')}")
    e.store("i64", end, f"%{label}_at", k.NodeRow.end)
    e.line(f"%{label}_more = add i64 %{label}_i, 1")
    e.branch(e.let(f"icmp slt i64 %{label}_more, %n"), label, then)
