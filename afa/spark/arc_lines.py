"""A folder of lines of an arc log, or of a log of rules, as a stream. The lines: `afa.arclog.lines`, `afa.rules.rule_lines`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from afa.arclog.log_writer import LineWriter, LogWriter
from afa.errors import AfaError
from afa.model.instant_texts import instant
from afa.rules.rule_log import RuleAbout, RuleWriter, put_rules
from afa.rules.rules import Rules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkLines(LineWriter):
    """Lines of a log in a folder, one in each file, of instants that all readers share."""

    _unit = "us"

    def read(self, spark: SparkSession) -> DataFrame:
        """Return the log as a stream, for ``match(arcs=...)``."""
        return spark.readStream.schema("value string").text(str(self.path))

    def _instant(self, at: Any, what: str, now: int) -> Any:
        return now if at is None else instant(at, what)


class SparkArcLog(SparkLines, LogWriter):
    """An arc log in a folder: one line in each file. Any number of processes may write it, any number of streams read it.

    Parameters
    ----------
    path : str or Path
        A folder; it is made if it does not exist.
    automaton : Automaton
        The automaton for whose schemas the arcs' functions are written.

    Examples
    --------
    >>> import tempfile
    >>> from typing import NamedTuple
    >>> from afa import Arc, Automaton
    >>> class Tick(NamedTuple):
    ...     change: float
    >>> down = Automaton(start="a", final={"b"}, event=Tick, arcs=[Arc("a", "b", lambda e, r: e.change < 0, name="down")])
    >>> log = SparkArcLog(tempfile.mkdtemp(), down)
    >>> log.insert(Arc("a", "b", lambda e, r: e.change < -2, name="far down"), at="2026-01-01T00:00:00")
    >>> log.retract("down", at="2026-01-01T00:00:00")
    """


class SparkRuleLog(SparkLines, RuleWriter):
    """A log of rules in a folder: one line in each file. Any number of processes may write it, any number of streams read it.

    Parameters
    ----------
    path : str or Path
        A folder; it is made if it does not exist.
    rules : Rules
        The set that the job begins with, of whose events each text must be; it may be empty.

    Examples
    --------
    >>> import tempfile
    >>> from typing import NamedTuple
    >>> import afa
    >>> class Pay(NamedTuple):
    ...     card: str
    ...     amount: int
    >>> rules = afa.Rules({}, event=Pay, key="card", tick="us")
    >>> log = SparkRuleLog(tempfile.mkdtemp(), rules)
    >>> log.add("large", "PATTERN SEQ(Pay a) WHERE a.amount > 900 WITHIN 1 hour RETURN a.amount", at="2026-01-01T00:00:00")
    >>> log.remove("large", at="2026-02-01T00:00:00")
    """

    def __init__(self, path: str | Path, rules: Rules) -> None:
        if not isinstance(rules, Rules):
            raise AfaError(f"expected Rules but got {rules!r}")
        super().__init__(path, RuleAbout(rules, {name: rule.text for name, rule in rules.rules.items()}, "us"), "us")
        put_rules(self.path, rules, "us")
