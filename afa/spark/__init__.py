"""afa on Spark: one operator per key inside Structured Streaming.

    events.transform(afa.spark.match(automaton, key="tail", time="at", window="24 hours"))

plan            `match`
job             what every worker must know: pattern, keys, columns
bucket          the work of one bucket of keys, without Spark; held: rows that wait; windows: a window that has changed
answer          what a bucket answers
arc_lines       the arc log: one line; log: the log as a folder of files; versions: what all lines come to
logged          the arcs of a bucket; ledger: worked out once for all buckets of a process
recipe          the automaton beside the state, for code that changes; functions: a digest of what a function does
moved           keys that move to another number of buckets; hashing: which bucket a key belongs to
fields          columns as fields of an event; typed: all of them, and what is refused of a table
packed_rows     rows on their way to a bucket and back; ipc: as bytes
processor       the adapter to the stateful operator, and the state
shared          operators in shared memory between batches; operator_image: one as a file; owner: whose they are
settled         what a worker has imported, out of garbage collection
metrics         what each bucket tells of each batch
watermark       a stream's watermark: its own, ours, one before 1970
shipped         what workers are sent, and what they say if they lack a module
current         changes folded into the matches in force; table_folder: where `keep_current` keeps them
session         Spark in this process, and what `match` wants of any; java: a runtime for it; console: what it says
"""

from __future__ import annotations

from afa.spark.current import current, keep_current
from afa.spark.log import ArcLog as arc_log  # noqa: N813  (it is called like a function: afa.spark.arc_log(path, automaton))
from afa.spark.metrics import line, listener, metrics
from afa.spark.plan import match
from afa.spark.session import NEEDED, local_session

__all__ = ["NEEDED", "arc_log", "current", "keep_current", "line", "listener", "local_session", "match", "metrics"]
