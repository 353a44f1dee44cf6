"""The protocol of an engine. The operator keeps promises, arcs and the order of output; an engine keeps the state of all keys.

A call of the operator is all or nothing. It gives the engine some of

    apply, push, run_columns     events
    swap                         arcs
    overdue, tick, clean, prune  punctuations

then asks for the difference, by `collect` or `log`, and ends with `commit`, or with `rollback` if anything raised.

An engine is made with the operator's `Progress` and `Journal` (see `Setup`). The operator moves the progress before it calls the
engine, which reads it: ``events`` is the promise of the event input, ``final`` the effective punctuation, ``now`` one past all that
was seen. The operator undoes what the engine has noted in the journal right before `rollback`, and forgets it right before
`commit`. The smallest engine is in tests/oracle_engine.py.

engine_values   what an engine is made with, and what it tells of its state
logged          output as columns, and where that of a call is cut
budget          what an operator may hold at most
protocol        `Engine`; `Host`: what it may ask of the operator in the midst of a batch
by_rows         what follows for engines that take events one by one
"""

from afa.engine.budget import Budget
from afa.engine.by_rows import ByRows
from afa.engine.engine_values import Ends, GivenColumns, Living, PathTotals, Picks, Setup, Sizes, SoughtMatch, Step, Ways
from afa.engine.logged import Logged
from afa.engine.protocol import Batch, Engine, Host, NumberedEngine

__all__ = [
    "Batch",
    "Budget",
    "ByRows",
    "Ends",
    "Engine",
    "GivenColumns",
    "Host",
    "Living",
    "Logged",
    "NumberedEngine",
    "PathTotals",
    "Picks",
    "Setup",
    "Sizes",
    "SoughtMatch",
    "Step",
    "Ways",
]
