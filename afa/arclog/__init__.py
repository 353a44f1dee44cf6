"""Arc logs: arcs as a second stream, one JSON object a line, in files of a folder or in the values of a topic.

lines        one line: read, checked, known by its id
versions     what a set of lines means; outcome: what a few more of them change
log_folder   the files of a folder, read as they come and grow
log_writer   lines written into a folder, checked before
log_state    where one operator is in a log: part of its state, and of its snapshots
arc_log      ArcLog, which an operator follows by polls
answers      what jobs answer: since when a line holds, or why it was refused
listing      what a folder says of each arc, where no operator is; about: what a job says of itself there

The buckets of a Spark job follow a log by `afa.spark.ledger`. What a log means stands in SEMANTICS.md.
"""

from afa.arclog.arc_log import ArcLog
from afa.arclog.log_state import LineNote

__all__ = ["ArcLog", "LineNote"]
