"""The error base, and the one error that progress itself raises.

They stand here because imports point one way (``punctuation`` <- ``afa`` <- ``speculation``); users take them from ``afa``.
"""

from __future__ import annotations


class AfaError(Exception):
    """Base of all errors of this library; state is as it was before the call that raised it."""


class LateEventError(AfaError):
    """A change came after a punctuation had promised that it would not (policy ``late="raise"``)."""
