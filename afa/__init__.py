"""Exact pattern matching over event streams that arrive late, out of order and get revised.

The net output (insertions minus retractions) after any prefix of the input is a function of the *set* of events and arcs that this
prefix leaves in force, never of the order in which they arrived.

    automaton   the program: states, arcs, start, final states, initial register (frozen)
    arc         fence, transfer, epsilon arcs, time-outs
    reach       states that nothing reaches or leaves yet
    copies      how many copies of an event there may be
    schema      what fields may hold: int, float, bool, str, None
    expression/  fences and transfers taken apart: out of functions, text and JSON; explain
    change      the one record of input and output: insert, retract
    operator    Operator: push, push_arc, push_many, snapshot, restore
    keyed       Keyed: one state per key under shared arcs and promises
    shipping    operators pickled; twin: copied
    keys        how the key of an event is made
    core        what both share: promises, arcs in force, all-or-nothing calls; single, events one by one
    arcinput    arcs as the second input
    arctable    arcs in force, by state
    conditions  conditions over events, for promises about some of them
    implied     what such promises say about a fence
    promises    and about arcs, states and events
    reduction   arcs rewritten into ones over triggering sets: what is kept of an event where its payload is not
    triggers    such arcs in force, and the sets; reduced: an engine over them
    engine      the protocol of an engine
    interpreted/  the readable engine: Algorithm 1 of the paper
    compiled/     the fast one: the same over arrays, arcs as machine code
    table       batches as Arrow, pandas or columns; tablecall: a call that holds some; tableout: output like them
    cuts        where such output is cut, if it is not to be one difference
    snapshot    state as bytes, without pickle; states, packed, canonical: of keys, in columns, in an order that only they decide
    sound       what is restored is checked as if an enemy had sealed it
    statistics  what is held and was done; timeouts: what time-outs may still bring
    errors      AfaError and what is under it
    draw/, cli/ pictures, command line

[AFA10] is Chandramouli, Goldstein, Maier, *High-Performance Dynamic Pattern Matching over Disordered Streams*, PVLDB 3(1), 2010.

Examples
--------
>>> from typing import NamedTuple
>>> from afa import Arc, Automaton, Operator, insert, retract
>>> class Tick(NamedTuple):
...     change: float
>>> class Falls(NamedTuple):
...     total: float = 0.0
>>> add = lambda e, r: Falls(r.total + e.change)
>>> rebound = Automaton(
...     start="start", final={"rebound"}, register=Falls(), event=Tick,
...     arcs=[
...         Arc("start", "falling", lambda e, r: e.change < 0, add),
...         Arc("falling", "falling", lambda e, r: e.change < 0, add),
...         Arc("falling", "rebound", lambda e, r: e.change > 0 and r.total < -2),
...     ],
... )
>>> op = Operator(rebound, window=60)
>>> [op.push(insert(Tick(c), le)) for le, c in [(1, -1.5), (2, -1.5), (4, 2.0)]][-1]
[Change(payload=Falls(total=-3.0), le=4, re=61, diff=1, key=None)]
>>> for change in op.push(insert(Tick(0.5), le=3)):  # a late event: the match is withdrawn, one that ends at 3 is found
...     print(change)
Change(payload=Falls(total=-3.0), le=4, re=61, diff=-1, key=None)
Change(payload=Falls(total=-3.0), le=3, re=61, diff=1, key=None)
"""

from afa.arc import Arc
from afa.automaton import Automaton, NoRegister
from afa.change import Change, insert, retract
from afa.errors import (
    AfaError,
    AutomatonError,
    ChangeError,
    ClosureError,
    ExpressionError,
    Int64Error,
    LateEventError,
    SnapshotError,
)
from afa.keyed import Keyed
from afa.operator import Operator
from afa.statistics import Statistics
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER

__version__ = "0.1.0"

__all__ = [
    "BEGINNING",
    "FOREVER",
    "AfaError",
    "Arc",
    "Automaton",
    "AutomatonError",
    "Change",
    "ChangeError",
    "ClosureError",
    "ExpressionError",
    "Int64Error",
    "Keyed",
    "LateEventError",
    "NoRegister",
    "Operator",
    "Punctuation",
    "SnapshotError",
    "Statistics",
    "insert",
    "retract",
]
