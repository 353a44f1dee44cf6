"""Stored history: find what a pattern would have found without reading it all, and put right what came too late.

witness/         what events a match must contain, from the automaton alone
stored           a stored table: files of row groups, and what their statistics say
sidecar          `index`: an index beside a file: blocks of rows, their times, and bounds and sums of their columns
sidecar_file     how it is written and checked
key_spans        spans of time of keys: joined, met, looked up; around candidates of several witnesses, in order
known_blocks     row groups, or blocks of them, where an index tells more; their rows, in batches
holding          which rows, and which row groups, may satisfy a condition
shares           how many rows satisfy each condition: from statistics and a sample
question         what is asked of a stored table: a pattern bound to its columns, and when each row group was
seen_keys        keys as numbers
scanning         a column is scanned where it may hold, small row groups together; the next one where this leaves something
costs            what a scan costs, and what it saves
scan_plan        what was done, in words
finding_spans    by statistics, then by scans, each inside what the one before has left
through_spans    rows of intervals, by interval, through an operator, one key for each interval; all rows, row group by row group
find, backtest   `afa.find`, `afa.backtest`: a pattern, or many, in a frame or in files
table_answer     MATCH_RECOGNIZE over an Arrow table, with SQL's columns
replaying        `replay`
amending         `amend`: the difference that late rows and arcs of the past make, and the spans that they concern
changed_rows     the changes that `amend` is given
sweeping         `sweep`: several automata that differ in constants, candidates found once
windowed         `windows`: windowed aggregates, from the sidecar; slices: of time or of rows, combined
slice_work       slices from blocks that lie in one, and from rows
column_totals    columns as numbers; counts, sums and bounds of them, in blocks and slices
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from afa.replay.amending import amend
    from afa.replay.replaying import Replayed, explain, replay
    from afa.replay.sidecar import index
    from afa.replay.sweeping import Swept, sweep
    from afa.replay.windowed import windows

_ROOMS = {
    "Replayed": "replaying",
    "Swept": "sweeping",
    "amend": "amending",
    "explain": "replaying",
    "index": "sidecar",
    "replay": "replaying",
    "sweep": "sweeping",
    "windows": "windowed",
}

__all__ = ["Replayed", "Swept", "amend", "explain", "index", "replay", "sweep", "windows"]


def __getattr__(name: str) -> Any:
    """Load what is asked for, and pyarrow with it; `afa.explain` reads `witness` alone."""
    if name in _ROOMS:
        import importlib

        return getattr(importlib.import_module(f"afa.replay.{_ROOMS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS})
