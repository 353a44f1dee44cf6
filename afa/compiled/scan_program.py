"""What a scan adds to the program of the kernels: ranks of arcs, and the arcs of the measures, which are always in force."""

from __future__ import annotations

from typing import NamedTuple

from afa.compiled.code.native_arc import CompiledArc, compiled_arc
from afa.compiled.code.payload_layout import Layout
from afa.compiled.code.strings import Strings
from afa.compiled.kernel import layout as k
from afa.compiled.record_words import RecordForms
from afa.model.arc import Arc
from afa.model.choice import FIRST, LAST, NEXT, PAST, Choice, Way

SKIPS = {PAST: k.SCAN_PAST, NEXT: k.SCAN_NEXT, FIRST: k.SCAN_FIRST, LAST: k.SCAN_LAST}
HEAD = 3
"""How many words of a register the kernels need for how a match ends."""
BITS = 60
"""How many arcs a word has bits for."""


class ScanProgram(NamedTuple):
    """A choice, as words."""

    choice: Choice
    registers: RecordForms  # of measures
    arcs: tuple[CompiledArc, ...]  # of measures, and behind them that of Rows.finish
    table: tuple[tuple[int, int], ...]  # `Measure`; arcs by their numbers here
    begin: tuple[int, ...]  # words of the first register
    lands: tuple[int, ...]  # by place
    hidden: tuple[int, ...]  # by place
    before: tuple[int, ...] | None  # by word of a register of the automaton: the word of the payload of the row before, or NOWHERE
    ahead: tuple[tuple[int, ...], ...]  # `LookAhead`
    bits: dict[Way, int]  # of arcs, by their states and what they select: whatever arcs come later, these stay

    @property
    def finishes(self) -> bool:
        """Whether the last arc is that of `Rows.finish`."""
        return self.choice.rows is not None and self.choice.rows.finish is not None

    def constants(self) -> list[str]:
        """Return the strings that the measures name."""
        codes = [arc.code for arc in self.arcs if arc.code is not None]
        return [param.value for code in codes for param in code.params if param.kind == "str"]

    def bit(self, arc: Arc) -> int:
        """Return the bit of an arc that says whether it takes a row; NOWHERE: there is none left for it."""
        bit = self.bits.setdefault((arc.src, arc.dst, arc.select or ""), len(self.bits))
        return bit if bit < BITS else k.NOWHERE

    @classmethod
    def of(cls, choice: Choice, event: Layout, register: Layout, strings: Strings) -> ScanProgram:
        """Compile the measures of a choice."""
        measures, places = choice.measures, range(len(choice.components))
        registers = RecordForms(Layout.of(measures.register_schema), strings)
        states = {state: i for i, state in enumerate(dict.fromkeys([measures.start, *measures.states]))}
        arcs = {id(arc): arc for arc in choice.steps.values()}
        numbers = {at: i for i, at in enumerate(arcs)}
        finish = None if choice.rows is None else choice.rows.finish
        last = () if finish is None else (compiled_arc(finish, registers.layout, registers.layout),)
        found = [choice.steps.get((state, place, ends)) for state in states for place in places for ends in (False, True)]
        return cls(
            choice,
            registers,
            tuple(compiled_arc(arc, event, registers.layout) for arc in arcs.values()) + last,
            tuple((k.NOWHERE, 0) if arc is None else (numbers[id(arc)], states[arc.dst]) for arc in found),
            tuple(registers.words(measures.register)),
            tuple(int(component in choice.to) for component in choice.components),
            tuple(int(choice.rows is not None and place in choice.rows.hidden) for place in places),
            _before(choice, event, register),
            tuple(_ahead(event, name, *beside) for name, beside in choice.beside.items() if beside[1] > 0),
            {},
        )


def _before(choice: Choice, event: Layout, register: Layout) -> tuple[int, ...] | None:
    """Return for each word of a register the word of the payload of the row before that it is; NOWHERE: 1. None: it is more."""
    if choice.before is None:
        return None
    found: list[int] = []
    for name, slot in zip(choice.before, register.slots):
        source = event.slot(name)
        found += [source.offset if source.width == 2 else k.NOWHERE] if slot.width == 2 else []
        found.append(source.value)
    return tuple(found)


def _ahead(event: Layout, name: str, field: str, offset: int) -> tuple[int, ...]:
    """Return a `LookAhead`: the field of an event that says what another field of the row so many steps behind is, "" its LE."""
    own, source = event.slot(name), event.slot(field) if field else None
    missing = source.offset if source is not None and source.width == 2 else k.NOWHERE
    return offset, own.offset, own.value, k.NOWHERE if source is None else source.value, missing
