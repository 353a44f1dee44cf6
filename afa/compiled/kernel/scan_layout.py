"""The records of a scan in a block, in the place of nodes, and what rows of all keys share; see `afa.compiled.kernel.scan_rows`.

StepClasses   of a step: ClassHead ..  Thread ..  ClassLink ..  took        its own rows of nodes, or in `SharedClasses`
RowFold       of 16, 256 .. steps side by side                              rows of nodes, by Block.folds
KeptPath      how the last long match begins                                rows of nodes, Block.kept
"""

from __future__ import annotations

from afa.compiled.kernel.record import Record


class StepClasses(Record, of="m"):
    """What stands in the place of nodes where a scan chooses: the classes behind a step, and links to them. See `scan_rows`."""

    classes = Record.word("how many classes")
    threads = Record.word("how many threads they have, all in all")
    sources = Record.word("how many classes there are before the step, and one more: the attempt that begins with it")
    size = Record.word("how many words all is")
    same = Record.word("where the first classes equal to these begin in the block that rows share; NOWHERE: it has none such")
    rest = Record.words("by class a `ClassHead`; `Thread`s; by source a `ClassLink`; the words of ClassLink.took")


class ClassHead(Record, of="m"):
    """A class of attempts."""

    end = Record.word("one past its last thread")
    until = Record.word("it is over from this LE on: of each of its attempts the smallest RE of its rows, of these the largest")


class SharedClasses(Record, of="m"):
    """A block: what becomes of classes by the arcs that take a row, in the place of classes of its own. See `scan_shared`."""

    size_class = Record.word("size class")
    top = Record.word("how many words are used")
    used = Record.word("how many entries are")
    table = Record.words("entries: `SharedEntry`", 3 << 11)
    rest = Record.words("`StepClasses`")


class SharedEntry(Record, of="m"):
    """An entry of a table of hashes."""

    before = Record.word("StepClasses.same of the classes before the row; 0: there are none")
    ways = Record.word("the arcs that take the row, as bits")
    at = Record.word("where the classes behind it begin; 0: the entry is free")


SHARED_BITS, SHARED_WORDS = 11, 1 << 15


class Thread(Record, of="m"):
    """A thread of an attempt."""

    state = Record.word("number of its state")
    register = Record.words("words of the register")


class ClassLink(Record, of="m"):
    """What a step makes of a class."""

    to = Record.word("the class behind the step; NOWHERE: it is over")
    thread = Record.word("the thread that ends a match here; NOWHERE: none does")
    place = Record.word("the place of the pattern that took the event then")
    took = Record.word("where its words begin in StepClasses: for each thread of `to` the thread before << PLACE_BITS | place")


PLACE_BITS = 16


class RowFold(Record, of="m"):
    """What becomes of attempts by rows side by side, see `scan_folds`. A start is the place of a row; FOREVER: there is none."""

    sources = Record.word("how many classes there are before the rows")
    exits = Record.word("how many there are behind them")
    until = Record.word("the smallest RE of the rows")
    le = Record.word("LE of the last one")
    matched = Record.word("the first start that ends a match among them")
    rest = Record.words("by source the class behind, the place of its last end; by exit the first start that ended none, the first")


class KeptPath(Record, of="m"):
    """How a long match begins, all but its last rows, so that one that goes on behind it need not be read from its first row."""

    start = Record.word("the step of its first row")
    end = Record.word("the step behind what is kept")
    thread = Record.word("the thread of its attempt before that step")
    until = Record.word("the smallest RE of the rows that are kept")
    state = Record.word("the state of the measures behind them")
    register = Record.words("their register")
