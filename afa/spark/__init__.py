"""afa on Spark: one operator per key inside Structured Streaming.

    events.transform(afa.spark.match(automaton, key="tail", time="at", window="24 hours"))

job         what every worker must know: pattern, keys, columns
bucket      the work of one bucket of keys; knows nothing of Spark
logged      its arcs; answer: what it has to say
versions    what the lines of an arc log come to; ledger: once for all buckets of a process; arcs: a line
recipe      the automaton beside the state, for code that changes
fields      columns as fields of an event; typed: all of them, and what is refused of a table
rows        rows on their way to a bucket and back
processor   the adapter to the stateful operator, and the state
shared      operators in shared memory between batches
settled     what a worker has imported, out of garbage collection
metrics     what each bucket tells of each batch
watermark   a stream's watermark: its own, ours, one before 1970
plan        `match`
shipped     what workers are sent, and what they say if they lack a module
log         the arc log as a folder of files
current     changes folded into the matches in force; tables: the folder where `keep_current` keeps them
session     Spark in this process, and what `match` wants of any; java: a runtime for it; console: what it says
"""

from __future__ import annotations

from afa.spark.current import current, keep_current
from afa.spark.log import ArcLog as arc_log  # noqa: N813  (it is called like a function: afa.spark.arc_log(path, automaton))
from afa.spark.metrics import line, listener, metrics
from afa.spark.plan import match
from afa.spark.session import NEEDED, local_session

__all__ = ["NEEDED", "arc_log", "current", "keep_current", "line", "listener", "local_session", "match", "metrics"]
