"""What may still change: tools around the operator's speculative output ([AFA10] Sec. 2.4, 5.3).

consolidate   changes folded into the matches that they leave in force
"""

from speculation.consolidate import consolidate

__all__ = ["consolidate"]
