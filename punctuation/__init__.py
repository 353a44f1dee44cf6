"""What is final: promises, the effective punctuation, late changes ([AFA10] Sec. 2.4, 5.4, App. C.1).

time       ticks, BEGINNING, FOREVER
promise    Punctuation(t): no later change of an event with LE < t
progress   both inputs' promises and the effective punctuation
late       the policy for what comes too late; a side output
deadlines  which keys a punctuation concerns
errors     AfaError, LateEventError
"""

from punctuation.deadlines import Deadlines
from punctuation.errors import AfaError, LateEventError
from punctuation.late import Late, SideOutput
from punctuation.progress import Marks, Progress
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER

__all__ = [
    "BEGINNING",
    "FOREVER",
    "AfaError",
    "Deadlines",
    "Late",
    "LateEventError",
    "Marks",
    "Progress",
    "Punctuation",
    "SideOutput",
]
