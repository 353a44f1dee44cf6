"""Uncertain time: matches with a confidence, where nobody knows which came first.

The public names of `afa.extra.uncertain`.
"""

from afa.extra.uncertain import Between, Clock, Sequence, Worlds, between, normal, triangular, weights

__all__ = ["Between", "Clock", "Sequence", "Worlds", "between", "normal", "triangular", "weights"]
