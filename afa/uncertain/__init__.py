"""Uncertain time: matches with a confidence, where nobody knows which came first.

interval       when an event may have happened: `between`; distributions: how likely each instant is
"""

from afa.uncertain.distributions import normal, triangular, weights
from afa.uncertain.interval import Between, between

__all__ = ["Between", "between", "normal", "triangular", "weights"]
