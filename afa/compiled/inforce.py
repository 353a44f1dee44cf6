"""Turn the arcs in force into the kernels' program, and decide when to compile a step function for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from afa.compiled import choices
from afa.compiled.code.native_arc import CompiledArc, compiled_arc
from afa.compiled.fit import admitted
from afa.compiled.kernel import layout as k
from afa.compiled.machine.native import native
from afa.compiled.memory import CHUNK, EngineMemory
from afa.compiled.program import ArcProgram, ProgramForm
from afa.compiled.record_words import RecordForms
from afa.compiled.scan_program import ScanProgram
from afa.compiled.slots import Class, Slots, TooLong, at_once, class_of, slots
from afa.errors import ClosureError
from afa.model.arc import Arc
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from punctuation.progress import Progress

FORMS = 4
"""How many programs are kept of a table that several engines share."""
ROOM, LITTLE = 2 * CHUNK, 64
"""For how many changes of arcs a program has room where they come in batches; and else at least."""


class KnownProgram(NamedTuple):
    """A program that no kernel has touched, and the classes of its arcs."""

    program: ArcProgram
    wanted: Counter[Class]


class Shared:
    """The program that engines share with a table: the buckets of a worker have the same arcs in force."""

    def __init__(self, key: Any, known: dict[int, CompiledArc]) -> None:
        self.key, self.known = key, known
        self.ignorable = any(arc.arc.may_stay for arc in known.values())
        self.slots: dict[Any, Slots] = {}
        self._programs: list[tuple[ProgramForm, KnownProgram]] = []

    def program(self, form: ProgramForm) -> KnownProgram | None:
        return next((known for other, known in self._programs if other == form), None)

    def keep(self, form: ProgramForm, known: KnownProgram) -> None:
        self._programs = [(form, known), *self._programs[: FORMS - 1]]


class RunningProgram:
    """The program of the kernels. ``callback``: address at which native code asks Python; ``strict``: refuse arcs that would."""

    def __init__(
        self,
        automaton: Automaton,
        table: ArcTable,
        payloads: RecordForms,
        registers: RecordForms,
        memory: EngineMemory,
        progress: Progress,
        callback: int,
        strict: bool,
        scan: ScanProgram | None = None,
    ) -> None:
        self._scan = scan
        self.states = list(dict.fromkeys([automaton.start, *automaton.states, *automaton.final]))  # by their numbers
        self._numbers = {state: i for i, state in enumerate(self.states)}
        self._automaton, self._payloads, self._registers = automaton, payloads, registers
        self._memory, self._progress, self._callback, self._strict = memory, progress, callback, strict
        self._ordered = bool(memory.m[k.Memory.ordered])
        self._known: dict[int, CompiledArc] = {}
        self.native = True  # whether every arc in force has machine code
        self._shared: Shared | None = None
        self._slots: Slots | None = None
        self._too_long: Counter[Class] | None = None  # classes of arcs for which a step function would be
        self._rows = 0  # of batches since the step function was made
        self._looped = False  # whether its loops were compiled, where they can be
        self._pool: Sequence[Arc] = ()  # arcs of the present batch
        self._with_runs = False  # whether any arc was ignorable so far
        # See p.counted, so far. BY_TIMEOUTS where the loops can't tell the sequence's words: they take nothing then.
        self._counted = 0 if not self._ordered else k.OF_ONE_LE if memory.m[k.Memory.seq] != k.NOWHERE else k.BY_TIMEOUTS
        self._tables = 0  # how many strings the program's tables know
        self._warm = self._long = False  # whether the process that wrote this image had a step function, and loops, compiled
        self.lacking = True  # whether a step function is to be made: there is none, or one without a place for an arc in force
        self._made: ArcProgram | None = None  # the program, unless making the next one was interrupted
        self.install(table)

    def install(self, table: ArcTable) -> None:
        self.table = table  # the kernels may have changed arcs since
        self._shared = self._shared_of(table)
        known = self._admitted_all(table) if self._shared is None else self._shared.known
        for state in (*table.states, *(state for arc in self._pool for state in (arc.src, arc.dst))):
            self._number(state)
        self._known = known
        self.native = all(arc.code is not None for arc in known.values())
        self._counted = k.BY_TIMEOUTS if table.timeouts else self._counted
        ignorable = any(arc.arc.may_stay for arc in known.values()) if self._shared is None else self._shared.ignorable
        self._with_runs = self._with_runs or (not self._ordered and ignorable)
        self._make_program()

    def follow(self, table: ArcTable) -> None:
        """Take over the changes of the kernels to the table: it has no arc that the program has not."""
        self.table, self._shared = table, None

    def _shared_of(self, table: ArcTable) -> Shared | None:
        """Return the work of engines with the same layouts over the very same table; None: the table is this engine's own."""
        if table.made is None or self._pool:
            return None
        key = self._payloads.layout, self._registers.layout, self._strict
        found = next((shared for shared in table.made if shared.key == key), None)
        if found is None:
            found = Shared(key, self._admitted_all(table))
            table.made.append(found)
        return found

    def _admitted_all(self, table: ArcTable) -> dict[int, CompiledArc]:
        arcs = {id(arc): arc for arc in [*table.arcs, *self._pool]}
        return {at: self._known.get(at) or self._admitted(arc) for at, arc in arcs.items()}

    def use(self, arcs: Sequence[Arc]) -> None:
        """Prepare for arcs that come in the midst of a batch."""
        before, self._pool = self._pool, arcs
        known = arcs is before or not any(id(arc) not in self.program.codes for arc in arcs)
        if self.program.words[k.Program.spill] or not known:
            try:
                self.install(self.table)
            except BaseException:  # one of them is refused, most likely
                self._pool = before
                raise
        if self.lacking:
            self._compile_step()
        elif self.program.room < ROOM:
            self._make_program()

    def ready(self, n: int, coming: int) -> None:
        """Make a step function if there is much to do: ``n`` records now, ``coming`` in the batch."""
        general, again = int(self._memory.m[k.Memory.general]), self._slots is not None
        if self.lacking and choices.step_pays(max(n, coming), general, again):
            self._compile_step()
        self._rows = 0 if self._looped else self._rows + coming
        self.warm_up()

    def warm_up(self) -> bool:
        """Compile the loops if enough was done without them, in whatever calls. Returns whether it has."""
        if not self.is_cold or not self._much:
            return False
        self._compile_step()
        return True

    @property
    def is_cold(self) -> bool:
        """Whether loops could be compiled, and were not."""
        return not self._looped and self._slots is not None

    @property
    def looks(self) -> int:
        """How many partial matches were looked at without the loops."""
        return int(self._memory.m[k.Memory.looks])

    def next_part(self, part: int, looks: int) -> int:
        """Return how many rows to carry out until the loops may be due, after ``part`` rows, before which there were ``looks``."""
        return choices.rows_before_loops(self._rows, self.looks, part, (self.looks - looks) // part)

    @property
    def _much(self) -> bool:
        return choices.loops_pay(self._rows, self.looks)

    def know_strings(self) -> None:
        """Complete the program's tables of strings."""
        strings = self._payloads.strings
        if strings.asked and self._tables != len(strings):
            self._tables = len(strings)
            self.program.address()

    def recover(self, anew: bool) -> None:
        """Repair the program after a failed call. ``anew``: the kernels have changed the program."""
        del self.states[len(self._numbers) :]
        if anew or self.program is not self._made:
            self.install(self.table)
        self._tables = -1  # of strings

    def endless(self) -> ClosureError:
        """Return the error of a closure that goes on for ever; the kernels say which one."""
        memory = self._memory
        m, w, s = memory.m, memory.w, memory.row
        rows, n = int(m[k.Memory.endless]), int(m[k.Memory.endless_rows])
        states = dict.fromkeys(self.states[int(state)] for state in w[rows : rows + n * s].reshape(n, s)[:, k.NodeRow.state])
        return ClosureError(
            f"expected a closure of at most {k.CLOSURE_LIMIT} steps but got one that goes on, at le={m[k.Memory.instant]} through "
            f"the states {', '.join(states)}; let the fence of an epsilon arc end the cycle"
        )

    def test(self, arc: Arc) -> tuple[int, int]:
        """Return the code that tells whether an event could take an arc, for all that its fields say, and its constants: addresses.

        0, 0: any event could.
        """
        known = self._known.get(id(arc))
        code = None if known is None else known.code
        if code is None or not code.event_part:
            return 0, 0
        at = int(self.program.words[k.Program.codes]) + self.program.codes[id(arc)] * k.ArcWords.SIZE
        return native.function(code.test_key, lambda: code.test_ir), int(self.program.words[at + k.ArcWords.constants])

    def constants(self) -> list[str]:
        codes = [arc.code for arc in self._known.values() if arc.code is not None]
        return [param.value for code in codes for param in code.params if param.kind == "str"]

    def state_number(self, state: str) -> int:
        """Return the number of a state; that an arc led to it which is gone may be all that is known of it."""
        if state not in self._numbers:
            self._number(state)
            self._make_program()
        return self._numbers[state]

    def numbers(self) -> list[Any]:
        return [self.states, self._with_runs, self._counted, self._slots is not None, self._looped]

    def take_numbers(self, found: list[Any]) -> None:
        """Give states the numbers that they had, for the table that is put in force next."""
        self.states, self._with_runs, self._counted, self._warm, self._long = found
        self._numbers = {state: i for i, state in enumerate(self.states)}

    def installed(self) -> None:
        """Compile at once all code that the memory's last process had compiled, as the memory has come as a whole."""
        if self._warm:
            self._rows = choices.LONG if self._long else 0
            self._compile_step()

    def _number(self, state: str) -> None:
        if state not in self._numbers:
            self.states.append(state)
            self._numbers[state] = len(self.states) - 1

    def _admitted(self, arc: Arc) -> CompiledArc:
        return admitted(compiled_arc(arc, self._payloads.layout, self._registers.layout), self._strict)

    def _make_program(self) -> None:
        self._made = None
        initial = tuple(self._registers.words(self._automaton.register))
        form = ProgramForm(tuple(self.states), self._with_runs, self._counted, self._slots, initial, self._scan)
        known = None if self._shared is None else self._shared.program(form)
        wanted = self._wanted() if known is None else known.wanted
        lacking = self._slots is None or any(self._slots.place(key)[1] < n for key, n in wanted.items())
        self.lacking = lacking and not (self._too_long is not None and self._too_long <= wanted)
        strings = self._payloads.strings
        if known is None:
            made = ArcProgram(
                form,
                self.table.events,
                self._known,
                self._automaton.final,
                self._callback,
                strings,
                self._pool,
                ROOM if self._pool else max(LITTLE, len(self.table.events)),
                self._progress.now,
            )
            known = KnownProgram(made, wanted)
            if self._shared is not None:
                self._shared.keep(form, known)
        self.program = known.program.twin(self._callback, strings, self._progress.now)
        self._made = self.program

    def _wanted(self) -> Counter[Class]:
        known, numbers = self._known.items(), self._numbers
        return at_once(self.table.events, {at: class_of(arc, numbers[arc.arc.src], self._with_runs) for at, arc in known})

    def _compile_step(self) -> None:
        unchanged = self._with_runs and not self.table.timeouts
        register, payload = self._registers.layout, self._payloads.layout
        loops = self._much
        form = tuple(self.states), self._with_runs, unchanged, loops, bool(self._memory.m[k.Memory.longest])
        known = {} if self._shared is None else self._shared.slots
        try:
            if form not in known:
                known[form] = slots(self._known.values(), self._numbers, self._wanted(), register, payload, *form[1:])
            self._slots = known[form]
        except TooLong:
            self._too_long = self._wanted()
        self._looped = loops
        self._rows = 0
        self._memory.m[k.Memory.general] = self._memory.m[k.Memory.looks] = 0
        self._make_program()
