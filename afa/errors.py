"""Errors: one class for each thing that a caller handles differently. All leave the operator as it was."""

from __future__ import annotations

from punctuation.base_errors import AfaError, LateEventError

__all__ = [
    "AfaError",
    "AutomatonError",
    "ChangeError",
    "ClosureError",
    "ExpressionError",
    "Int64Error",
    "LateEventError",
    "SnapshotError",
    "blame",
]


class AutomatonError(AfaError):
    """An automaton or an arc that can't mean anything; raised when it is built or pushed."""


class ExpressionError(AutomatonError):
    """A fence, transfer or ``at`` written as text that is no expression; it shows the place."""


class ChangeError(AfaError):
    """An event, an arc or a row that does not fit: wrong type, no time, an empty lifetime, an unknown arc."""


class ClosureError(AfaError):
    """A closure over epsilon arcs that does not end."""


class Int64Error(AfaError, OverflowError):
    """A value that an int64 field cannot hold."""


class SnapshotError(AfaError):
    """A blob that is no snapshot, is damaged, or belongs to another automaton; or state that can't be saved."""


def blame(error: Exception, where: str) -> None:
    """Say in ``error`` which function, arc and event raised it; its type stays what the user's code raised.

    Python 3.10 has no notes: there the text is appended to the first argument.
    """
    if hasattr(error, "add_note"):
        error.add_note(where)
    elif error.args and isinstance(error.args[0], str):  # pragma: no cover (Python 3.10)
        error.args = (f"{error.args[0]}; {where}", *error.args[1:])
