"""Situations: what lasts, how it overlaps, told at the earliest instant and taken back when readings change.

The public names of `afa.extra.situations`.
"""

from afa.extra.situations import Derive, Situation, TemporalPattern

__all__ = ["Derive", "Situation", "TemporalPattern"]
