"""Where each kind of random worlds is: a module's `WORLDS`, if no other name is said."""

from __future__ import annotations

from importlib import import_module

from tests.worlds.kind import Worlds

MODULES = {
    "stress": "tests.stress.worlds",
    "sizes": "tests.stress.sizes.worlds",
    "interrupts": "tests.stress.interrupts",
    "threads": "tests.stress.threads",
    "damage": "tests.stress.damage",
    "damaged-images": "tests.stress.damaged_images",
    "ids": "tests.id_worlds",
    "budget": "tests.test_budget",
    "long-lists": "tests.compiled.long_lists",
    "queries": "tests.language.worlds",
    "sql": "tests.language.sql_worlds",
    "sql-whole": "tests.language.whole_worlds",
    "sql-stacked": "tests.language.stacked_worlds",
    "sql-statements": "tests.language.statement_worlds",
    "numbers": "tests.language.number_worlds",
    "sql-in-buckets": "tests.spark.sql_in_buckets",
    "rows": "tests.language.row_worlds",
    "chosen-members": "tests.language.chosen_member_worlds",
    "lineage": "tests.lineage.worlds",
    "kept-lineage": "tests.lineage.worlds:KEPT",
    "lineage-of-queries": "tests.lineage.query_worlds",
    "collapsed": "tests.lineage.collapsed_worlds",
    "collapsed-of-queries": "tests.lineage.collapsed_worlds:QUERIES",
    "told": "tests.lineage.told_worlds",
    "collapsed-output": "tests.lineage.collapsed_output_worlds",
    "funnel": "tests.funnel.worlds",
    "patterns": "tests.situations.pattern_worlds",
    "readings": "tests.situations.reading_worlds",
    "sequence": "tests.uncertain.sequence_worlds",
    "possible": "tests.uncertain.possible_worlds",
    "history": "tests.replay.history_worlds",
    "feeds": "tests.feeds.worlds",
    "rules": "tests.rules.set_worlds",
    "rules-in-buckets": "tests.spark.rules_in_buckets",
}


def named(name: str) -> Worlds:
    """The kind of a name; `SystemExit` where there is none."""
    if name not in MODULES:
        raise SystemExit(f"expected one of {', '.join(MODULES)} but got {name}")
    module, _, attribute = MODULES[name].partition(":")
    found: Worlds = getattr(import_module(module), attribute or "WORLDS")
    return found


def about(name: str) -> str:
    """What the module of a kind says of it."""
    return str(import_module(MODULES[name].partition(":")[0]).__doc__)
