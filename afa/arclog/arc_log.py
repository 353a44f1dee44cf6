"""An arc log that an operator follows, without Spark: each poll takes what has been written since, as one call."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

from afa.arclog.answers import AnswerFile, LineAnswer, before_restart
from afa.arclog.log_folder import LogFolder, Raw
from afa.arclog.log_state import LineNote, LogState, followed, promised_to
from afa.arclog.log_writer import LogWriter
from afa.errors import AfaError, AutomatonError, LateEventError
from afa.model.automaton import Automaton
from afa.operator.arc_input import ArcInput, ArcSource
from punctuation.durations import unit_of

log = logging.getLogger("afa.arclog")
OPERATORS = 8
"""For so many operators of one `ArcLog` that live at a time answers are written."""


TOO_MANY = f"since when each line holds is written for {OPERATORS} operators of an ArcLog at a time, but there is one more"


class NumberedFile(NamedTuple):
    """Where the answers of an operator are written: the number of its name, and the file."""

    number: int
    file: AnswerFile


class Visit(NamedTuple):
    """An operator that a poll has come to: its arcs, which live as long, its tick, whether it had read lines, its answers."""

    arcs: ref[Any]
    tick: str | None
    before: bool
    answers: Sequence[tuple[Raw, LineAnswer]]


class Poll(ArcSource):
    """One poll, on its way through the stages around an operator; the folder is read once, for each operator that it comes to."""

    def __init__(self, arcs: ArcLog) -> None:
        self.log = arcs
        self.told: list[LineNote] = []
        self.reading: Any = None
        self.reached: list[Visit] = []

    def carried_out(self, arcs: ArcInput, core: Any) -> None:
        """Take what the folder has brought; see `afa.arclog.log_state`."""
        state = arcs.log or LogState()
        try:
            reading = self.log.folder.read(state.files) if self.reading is None else self.reading
        except OSError as error:
            raise AfaError(f"expected the folder of an arc log but got {self.log.path}: {error.strerror}") from error
        self.reading = reading
        if not reading.lines and not reading.faults and state.waits >= promised_to(core):
            self.reached.append(Visit(ref(arcs), core.tick, bool(state.files), ()))
            return  # nothing has come, and nothing waits in vain; what has ended is dropped later
        found = followed(state, reading, core)
        self.told = found.told
        self.reached.append(Visit(ref(arcs), core.tick, bool(state.files), found.answers))
        bad = next((told for told in found.told if told.kind != "note"), None) if self.log.on_fault == "raise" else None
        if bad is not None:
            self.log.folder.forget_faults()
            raise (LateEventError if bad.kind == "late" else AutomatonError)(str(bad))
        core.journal.set(arcs, "log", found.state)
        arcs.replace(core, found.table, found.gone, found.come)


class ArcLog(LogWriter):
    """An arc log in a folder: what changes an operator's arcs, written by other processes, or by this one.

    The lines, and what they mean, are those of an arc log on Spark (`afa.arclog.lines`, "Arc logs" in SEMANTICS.md). Any number of
    processes write the folder, any number of operators follow it. What an operator has taken of it is part of the operator's state,
    and of its snapshots: one that is restored goes on where it was, and needs no ``arcs=`` for arcs of the log.

    Parameters
    ----------
    path : str or Path
        A folder; it is made if it does not exist.
    automaton : Automaton
        The automaton for whose schemas the arcs' functions are written.
    tick : str, optional
        What an int is in the lines that are written here. None: what one int of LE counts for the operator that reads it.
    on_fault : "report" or "raise"
        What becomes of a line that is none, that ends nothing, or that is late. ``"report"``: it stands in ``told`` and in the log
        "afa.arclog"; all others are taken. ``"raise"``: the poll is refused, and so are the next ones while the line is there.
    job : str, optional
        How ``afa arcs FOLDER list`` calls this program, which writes back into the folder since when each line holds, or why it was
        refused. None: by the program's name.

    Attributes
    ----------
    told : list of Told
        What the last poll had to tell.

    Notes
    -----
    Written without ``at``, a line holds from when it is read: from one tick past all that the operator has seen then.

    Examples
    --------
    >>> import tempfile
    >>> from typing import NamedTuple
    >>> from afa import Arc, ArcLog, Automaton, Operator, insert
    >>> class Pay(NamedTuple):
    ...     amount: int
    >>> big = Automaton(start="a", final={"b"}, event=Pay, arcs=[Arc("a", "b", "amount > 500", name="above 500")])
    >>> op, arcs = Operator(big), ArcLog(tempfile.mkdtemp(), big)
    >>> arcs.swap("above 500", fence="amount > 300")  # in this process, or in another
    >>> arcs.poll(op)
    []
    >>> len(op.push(insert(Pay(400), le=1)))
    1
    """

    def __init__(
        self,
        path: str | Path,
        automaton: Automaton,
        *,
        tick: str | None = None,
        on_fault: str = "report",
        job: str | None = None,
    ) -> None:
        if on_fault not in ("report", "raise"):
            raise AfaError(f'expected on_fault="report" or "raise" but got on_fault={on_fault!r}')
        self._unit = None if tick is None else unit_of(tick, AfaError, "tick=")
        super().__init__(path, automaton)
        self.folder = LogFolder(self.path)
        self.on_fault = on_fault
        self.told: list[LineNote] = []
        self.job = os.path.basename(sys.argv[0]) or "python" if job is None else job
        self._mute = False  # whether answers can't be written
        self._begin_to_answer()

    def _begin_to_answer(self) -> None:
        self._files: MutableMapping[Any, NumberedFile | None] = WeakKeyDictionary()  # by an operator's arcs; None: of too many
        self._full = False  # whether it was told that there are too many

    def poll(self, operator: Any) -> list[Any]:
        """Take what the folder has brought since the operator's last poll, as one call: all of it or nothing.

        Parameters
        ----------
        operator : Operator or Keyed, perhaps with stages
            Arcs whose names stand in the log are changed by the log only, from the first such line on.

        Returns
        -------
        list of Change and Punctuation
            The minimal difference of the matches in force, as of `Operator.push_arc`.

        Raises
        ------
        AutomatonError, LateEventError
            With ``on_fault="raise"``: the first line that is none, ends nothing, or is late.
        AfaError
            The folder can't be read; or ``operator`` is none.
        """
        if not hasattr(operator, "_arc_input"):
            raise AfaError(f"expected an Operator or a Keyed, perhaps with a stage, but got {operator!r}")
        poll = Poll(self)
        out: list[Any] = operator._arc_input(poll)
        self.answer(poll)
        self.told = poll.told
        for told in poll.told:
            log.warning("%s", told)
        return out

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_files", "_full")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin_to_answer()  # a copy answers in files of its own

    def answer(self, poll: Poll) -> None:
        """Write back what has become of the lines of a poll, once it is taken. Where that can't be, ``told`` says so, once."""
        try:
            for reached in poll.reached if not self._mute else ():
                self._write_back(reached, poll)
        except OSError as error:
            self._mute = True
            why = f"since when each line holds can't be written into {self.path}: {error.strerror}"
            poll.told.append(LineNote("note", f"{why}; `afa arcs {self.path.name} list` does not tell it"))

    def _write_back(self, reached: Visit, poll: Poll) -> None:
        arcs = reached.arcs()
        if arcs is None:
            return  # the operator is gone
        found = self._file_of(arcs, reached)
        if found is not None:
            found.file.put(reached.answers)
        elif not self._full:
            self._full = True
            poll.told.append(LineNote("note", f"{TOO_MANY}; `afa arcs {self.path.name} list` does not tell it"))

    def _file_of(self, arcs: Any, reached: Visit) -> NumberedFile | None:
        """Return the file of an operator, which keeps its name as long as it lives; None: there were too many when it came."""
        if arcs not in self._files:
            taken = {each.number for each in self._files.values() if each is not None}
            n = next((n for n in range(OPERATORS) if n not in taken), None)
            self._files[arcs] = None if n is None else self._begun(n, reached)
        return self._files[arcs]

    def _begun(self, n: int, reached: Visit) -> NumberedFile:
        """Begin a file under a name that no operator which lives has, with what was answered under it before a restart."""
        name = f"{self.job} ({n + 1})" if n else self.job
        before = before_restart(self.path, name) if reached.before else {}
        return NumberedFile(n, AnswerFile(self.path, name, reached.tick, before))
