"""What may still change: tools around the operator's speculative output ([AFA10] Sec. 2.4, 5.3).

consolidate   changes folded into the matches that they leave in force
ordered       Ordered: nothing speculative, where events are numbered without gaps
"""

from speculation.consolidate import consolidate
from speculation.ordered import Ordered

__all__ = ["Ordered", "consolidate"]
