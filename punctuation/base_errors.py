"""The base of all errors, and the error for late changes.

They stand here because imports point one way (``punctuation`` <- ``afa`` <- ``speculation``); users import them from ``afa``.
"""

from __future__ import annotations


class AfaError(Exception):
    """The base of all errors of this library. A call that raises one leaves the state as it was."""


class LateEventError(AfaError):
    """A change came behind the watermark, which says that none comes there any more (policy ``late="raise"``)."""
