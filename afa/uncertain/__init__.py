"""Uncertain time: matches with a confidence, where nobody knows which came first.

interval       when an event may have happened: `between`; shapes: how likely each instant is
"""

from afa.uncertain.interval import Between, between
from afa.uncertain.shapes import normal, triangular, weights

__all__ = ["Between", "between", "normal", "triangular", "weights"]
