"""Errors: one class for each case that a caller handles differently. A call that raises one leaves the operator as it was."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from punctuation.base_errors import AfaError, LateEventError

__all__ = [
    "AfaError",
    "AutomatonError",
    "BudgetError",
    "ChangeError",
    "ClosureError",
    "DeviceError",
    "ExpressionError",
    "Int64Error",
    "LateEventError",
    "QueryError",
    "SnapshotError",
    "blame",
    "did_you_mean",
    "line_of",
]


class AutomatonError(AfaError):
    """An automaton or an arc is not valid. Raised when it is built or pushed."""


class ExpressionError(AutomatonError):
    """A fence, transfer or ``at`` was given as text that is no valid expression. The message shows the place."""


class QueryError(AutomatonError):
    """A query is not valid: SASE+ text, SQL or what was built in Python. For text the message shows the place."""


class ChangeError(AfaError):
    """An event, an arc or a row does not fit: wrong type, no time, an empty lifetime, an unknown arc."""


class ClosureError(AfaError):
    """A closure over epsilon arcs does not end."""


class BudgetError(AfaError):
    """A call would cost more than it may: partial matches of a key at one step, bytes of state, steps to decide a match."""


class DeviceError(AfaError):
    """There is no such device, its package is not installed, or it does not compile, or run, the code of a pattern."""


class Int64Error(AfaError, OverflowError):
    """An int64 field can't hold a value."""


class SnapshotError(AfaError):
    """A blob is no snapshot, is damaged or belongs to another automaton; or state can't be saved."""


def blame(error: Exception, where: str) -> None:
    """Add to ``error`` which function, arc and event raised it. Its type stays.

    Python 3.10 has no notes, so the text is appended to the first argument there.
    """
    if hasattr(error, "add_note"):
        error.add_note(where)
    elif error.args and isinstance(error.args[0], str):  # pragma: no cover (Python 3.10)
        error.args = (f"{error.args[0]}; {where}", *error.args[1:])


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the known name that is closest to it, or nothing.

    >>> did_you_mean("amout", ["amount", "kind"])
    "; did you mean 'amount'?"
    >>> did_you_mean("OK", ["ko", "ok"]), did_you_mean("x", ["amount", "kind"])
    ("; did you mean 'ok'?", '')
    """
    names = list(known)
    close = [other for other in names if other.casefold() == name.casefold()] or difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def line_of(error: BaseException) -> str:
    """Return an error with its notes as one line, with its type where that is not one of ours.

    >>> line_of(ZeroDivisionError("division by zero"))
    'ZeroDivisionError: division by zero'
    >>> line_of(AfaError("no column 'le';\\n  it has: a, b"))
    "no column 'le'; it has: a, b"
    """
    notes = getattr(error, "__notes__", [])
    text = "; ".join(" ".join(str(part).split()) for part in (error, *notes) if str(part).strip())
    if isinstance(error, AfaError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
