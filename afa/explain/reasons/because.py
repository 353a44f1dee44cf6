"""The reason for which a match came or went."""

from __future__ import annotations

from typing import Any, NamedTuple

from afa.change import Announced, Change


class Because(NamedTuple):
    """The change of the input that announced or withdrew a match, and how.

    Parameters
    ----------
    kind : str
        Of a withdrawn match ``"between"`` (an event lies between two of its events), ``"instant"`` (it came at the instant of one),
        ``"absence"`` (it came before a time-out), ``"before"`` (before the first), ``"retracted"`` (one of its events went),
        ``"passed"`` (one that it passed over went), ``"clock"`` (time is not there any more), ``"lifetime"`` (it lasts for another
        time), ``"choice"`` (AFTER MATCH SKIP chooses another), ``"arc"``, ``"promise"`` (a stage had held it back), else
        ``"changed"``. Of an announced one ``"completes"`` (the event is its last one), ``"part"``, ``"cleared"`` (what stood in its
        way went), ``"passed"``, ``"promise"``, ``"clock"``, ``"lifetime"``, ``"choice"``, ``"arc"``, ``"changed"``.
    change : Change
        Of an event, as it came: key, LE and the sign of ``diff`` are those of the input; or of an arc. Of a promise: an event None
        with the promise as LE and a ``diff`` of 0.
    text : str
        A sentence.
    events : tuple of Change
        Events of the match that the sentence is about: those between which the change lies, the one that was retracted.
    """

    kind: str
    change: Change
    text: str
    events: tuple[Change, ...] = ()


class Explained(Announced):
    """A change of a match with its reason, which is no part of it: equal to the change without, and unpacked as that one."""

    @classmethod
    def because_of(cls, change: Change, because: Because) -> Explained:
        """Return a change with its reason, and with the members that it has."""
        made = cls._make(change)
        made.__dict__["_members"] = change.members
        made.__dict__["_because"] = because
        return made

    @property
    def because(self) -> Any:
        """The reason for which the match came or went."""
        return self.__dict__["_because"]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self))
        return f"Change({fields}, because={self.because.text!r})"
