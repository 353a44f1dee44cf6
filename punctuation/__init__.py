"""What is final: watermarks (`Punctuation` in code, the paper's word), late changes ([AFA10] Sec. 2.4, 5.4, App. C.1).

time       ticks, BEGINNING, FOREVER
timestamps columns of timestamps and dates, and datetimes, as ticks, and ticks as times of a type
durations  "10 minutes", a timedelta, as ticks
calls      one call after the other, each all or nothing, interrupted anywhere
promise    Punctuation(t): no later change of an event with LE < t
progress   both inputs' watermarks and the effective one
late       the policy for what comes too late; a side output
source     what sources of watermarks share: a stream goes in, and comes out with watermarks; its state as bytes
sources    watermarks from the events: a known bound on disorder, an observed one
union      one watermark for several streams; idle ones hold no other back
door       what comes in as a table, of any kind, opened
reading    what a source reads of items and batches
sealed     blobs with a magic, a version and a checksum
deadlines  which keys a watermark concerns
base_errors  AfaError, LateEventError
"""

from punctuation.base_errors import AfaError, LateEventError
from punctuation.deadlines import Deadlines
from punctuation.late import Late, SideOutput
from punctuation.progress import Marks, Progress
from punctuation.promise import Punctuation
from punctuation.source import Source
from punctuation.sources import BoundedDisorder, ObservedLateness
from punctuation.time import BEGINNING, FOREVER
from punctuation.union import Union

__all__ = [
    "BEGINNING",
    "FOREVER",
    "AfaError",
    "BoundedDisorder",
    "Deadlines",
    "Late",
    "LateEventError",
    "Marks",
    "ObservedLateness",
    "Progress",
    "Punctuation",
    "SideOutput",
    "Source",
    "Union",
]
