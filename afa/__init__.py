"""Exact pattern matching over event streams that arrive late, out of order and get revised.

The net output (insertions minus retractions) after any prefix of the input is a function of the *set* of events and arcs that this
prefix leaves in force, never of the order in which they arrived.

Four shelves, each in an order to read. A file imports only what stands on lower floors, whatever its shelf: tests/test_layers.py.

Core: what matches

    change errors  the one record of input and output; the error base. schema: what fields may hold: int, float, bool, str, None
    model/         the program: arcs, a frozen automaton; what becomes of one partial match
    engine/        the protocol of an engine; where output is cut. engines: which one serves
    interpreted/   the readable engine, Algorithm 1 of the paper: begin with algorithm.py
    scan/          the readable engine of automata that choose (AFTER MATCH SKIP): begin with attempts.py
    operator/      Operator and Keyed: calls, promises, tables, snapshots, checkpoints
    expression/    fences and transfers taken apart: out of functions, text and JSON
    compiled/      the fast engine: the same as the readable one over arrays, arcs as machine code
    state/         the states of keys, as columns and as bytes
    rewrite/       arcs made of the user's, where an event's payload is not kept
    conditions/    promises about some events only
    lineage/       which events stand behind a match, derived backward
    io/            tables: events as columns, frames; what leaves, in the kind and with the times of what came
    arclog/        logs of arcs, for operators and for Spark: lines in files, what a set of them means
    chained        operators one after another, as one (above the package `speculation`)
    language/      queries as text, as Python and as SQL
    rules/         many rules in one operator, each match with its rule; what rules share, which events concern them
    journal html_tables   all or nothing; small tables for notebooks

Adapters: where events come from, and where matches go

    feeds/         messages of databases (Debezium and others) as changes, and changes as messages
    frames/        whole frames through operators
    replay/        find and backtest; stored history: what a pattern would have found there, and what late rows change
    spark/, cli/   on Spark; on the command line
    duckdb/        whole statements in SQL, around their matches by DuckDB

Explanation, explain/: why. The core imports none of it; `METHODS` below says what it gives to the core's classes

    explain_automaton  what becomes of each arc
    draw/          pictures of automata: SVG, Mermaid, DOT
    funnel/        why there is no match: what arcs were asked, where partial matches ended
    reasons/       why a match came, or went: a stage around an operator
    tracing/       a run as a page: events, partial matches, matches, what was withdrawn and why

Extra, extra/: patterns and pages on top, of which the core knows nothing; `ADDED` says what they give to adapters

    situations/    what lasts, how it overlaps: patterns over stretches of time, by Allen's relations
    uncertain/     uncertain times: matches with a confidence
    live/          the live page of a running job

The files situations and uncertain hold the public names of these two.

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

import importlib
from typing import TYPE_CHECKING, Any

from afa.change import Change, insert, retract
from afa.errors import (
    AfaError,
    AutomatonError,
    BudgetError,
    ChangeError,
    ClosureError,
    ExpressionError,
    Int64Error,
    LateEventError,
    QueryError,
    SnapshotError,
)
from afa.expression.spans import span
from afa.lineage.lineage import Lineage
from afa.model.arc import Arc
from afa.model.automaton import Automaton, NoRegister
from afa.operator.arc_input import ArcInput as _ArcInput
from afa.operator.gapless import Gapless
from afa.operator.matching import Matching as _Matching
from afa.operator.operator import Keyed, Operator
from afa.operator.options import Options
from afa.operator.speculated import StageMaker
from afa.operator.statistics import Statistics
from afa.schema import Date, Instant, Time
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER

if TYPE_CHECKING:
    from afa.arclog.arc_log import ArcLog
    from afa.chained import Chain
    from afa.explain.funnel.funnel import Funnel
    from afa.explain.reasons import Reasons
    from afa.explain.tracing.recorder import trace
    from afa.frames.prepared import prepared
    from afa.language.query import Query, query
    from afa.language.sql_query import sql
    from afa.operator.checkpoint import Checkpoint
    from afa.replay.backtest import backtest
    from afa.replay.find import find
    from afa.rules.rules import Rules
    from punctuation.late import SideOutput
    from punctuation.sources import BoundedDisorder
    from speculation.choose import Choose
    from speculation.cleanse import Cleanse

__version__ = "0.2.0"

__all__ = [
    "BEGINNING",
    "FOREVER",
    "AfaError",
    "Arc",
    "ArcLog",
    "Automaton",
    "AutomatonError",
    "BoundedDisorder",
    "BudgetError",
    "Chain",
    "Change",
    "ChangeError",
    "Checkpoint",
    "Choose",
    "Cleanse",
    "ClosureError",
    "Date",
    "ExpressionError",
    "Funnel",
    "Gapless",
    "Instant",
    "Int64Error",
    "Keyed",
    "LateEventError",
    "Lineage",
    "NoRegister",
    "Operator",
    "Options",
    "Punctuation",
    "Query",
    "QueryError",
    "Reasons",
    "Rules",
    "SideOutput",
    "SnapshotError",
    "Statistics",
    "Time",
    "backtest",
    "find",
    "insert",
    "prepared",
    "query",
    "retract",
    "span",
    "sql",
    "trace",
]


METHODS: dict[type, dict[str, str]] = {
    Automaton: {"draw": "afa.explain.draw.drawing", "explain": "afa.explain.explain_automaton"},
    _Matching: {
        "draw": "afa.explain.draw.operator_drawing",
        "_repr_html_": "afa.explain.draw.operator_drawing",
        "funnel": "afa.explain.funnel.counted",
    },
    _ArcInput: {"restore_log": "afa.arclog.log_state"},
    StageMaker: {"before": "speculation.layers", "restore": "speculation.layers"},
}
"""Methods of classes of the core, each with the module above that has it as a function of its name."""

LAZY = {
    "ArcLog": "afa.arclog.arc_log",
    "BoundedDisorder": "punctuation.sources",
    "Chain": "afa.chained",
    "Checkpoint": "afa.operator.checkpoint",
    "Choose": "speculation.choose",
    "Cleanse": "speculation.cleanse",
    "Funnel": "afa.explain.funnel.funnel",
    "Query": "afa.language.query",
    "Reasons": "afa.explain.reasons.explaining",
    "Rules": "afa.rules.rules",
    "SideOutput": "punctuation.late",
    "backtest": "afa.replay.backtest",
    "find": "afa.replay.find",
    "prepared": "afa.frames.prepared",
    "query": "afa.language.query",
    "sql": "afa.language.sql_query",
    "trace": "afa.explain.tracing.recorder",
}
"""Names of this package that are loaded when they are asked for, each with its module."""


ADDED = {
    "afa.cli": {"serve": "afa.extra.live.serve_command"},
    "afa.spark": {"Served": "afa.extra.live.live_query", "serve": "afa.extra.live.live_query"},
}
"""What extras add to adapters, commands and functions, each with its module; so an adapter names no extra."""


class _LazyMethod:
    """A method of `METHODS`: its module is loaded when it is first asked for. From then on it is a method like any other."""

    def __init__(self, owner: type, name: str, module: str) -> None:
        self._owner, self._name, self._module = owner, name, module

    def __get__(self, given: Any, kind: type | None = None) -> Any:
        method = getattr(importlib.import_module(self._module), self._name)
        setattr(self._owner, self._name, method)
        return method if given is None else method.__get__(given, kind)


for _owner, _methods in METHODS.items():
    for _method, _module in _methods.items():
        setattr(_owner, _method, _LazyMethod(_owner, _method, _module))


def __getattr__(name: str) -> Any:
    """Load a name of `LAZY`, or a package that stands above this one: `afa.spark` .."""
    if name in LAZY:
        return getattr(importlib.import_module(LAZY[name]), name)
    if name in ("duckdb", "explain", "feeds", "language", "replay", "situations", "spark", "uncertain"):
        return importlib.import_module(f"afa.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *LAZY})
