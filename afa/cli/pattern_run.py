"""A pattern over an input, as a command runs it: the columns it reads, and the options that it leaves to the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from afa.cli.fault import CommandError
from afa.cli.load import is_query, is_set, load, load_query, load_rules
from afa.cli.request import CommandRequest
from afa.io.file_columns import TICKS
from afa.io.text_files import FileSource
from afa.model.automaton import Automaton
from afa.model.conflicts import QUERY, TEMPORAL
from afa.model.option_values import names_of
from afa.operator.contract import Pattern
from afa.schema import Schema

SETS = ("run", "serve")
"""The commands that take a folder of rules."""


class PatternRun(NamedTuple):
    """A pattern over an input; ``job`` has its durations in ticks, and what the pattern itself says of key, order and tick."""

    job: CommandRequest
    pattern: Pattern
    source: FileSource

    @classmethod
    def of(cls, job: CommandRequest, given: Pattern | None, source: FileSource, command: str = "run") -> PatternRun:
        """Bind the pattern of a job to its source; ``given``: the result of `given_pattern`."""
        if given is None and is_set(job.pattern) and command in SETS:
            rules, job = load_rules(job, source)
            return cls(job, rules, source)
        if job.rules is not None:
            raise CommandError(f"--rules needs a folder of rules in place of {job.pattern}")
        if given is None or QUERY in given.traits:
            query, job = load_query(job, source, given)
            return cls(job, query, source)
        if given.event is None:
            raise CommandError(f"{job.pattern} has no event schema; `afa {command}` types the input by Automaton(..., event=...)")
        return cls(job_of(job, given, source.kinds()), given, source)

    @property
    def events(self) -> Schema:
        assert self.pattern.events is not None
        return self.pattern.events

    @property
    def automaton(self) -> Automaton:
        return self.pattern.automaton

    def options(self, *names: str) -> dict[str, Any]:
        """Return these options of the job, as the pattern's operator takes them; not what the pattern says itself."""
        job = self.job if self.pattern.ordered_by is None else self.job._replace(order_by=None)
        return job.options(*names)

    def operator(self, *names: str, own_arcs: bool = False, **more: Any) -> Any:
        """Make the operator, with these options of the job; ``own_arcs``: no condition of a query waits behind its arcs."""
        if own_arcs and QUERY in self.pattern.traits and self.automaton:  # AfaError: there are several
            more["postpone"] = False
        return self.pattern.operator(**self.options(*names), late=self.job.on_late, **more)


def given_pattern(pattern: str, takes_none: str | None = None) -> Pattern | None:
    """Return the pattern of that name; None: the file of a query, or a folder of rules, to be read with the columns of the input.

    ``takes_none``: why the command takes no temporal pattern, which is refused then.
    """
    found = None if is_query(pattern) or is_set(pattern) else load(pattern)
    if takes_none is not None and found is not None and TEMPORAL in found.traits:
        raise CommandError(f"expected an automaton or a query but got {pattern}, a temporal pattern: {takes_none}")
    return found


def job_of(job: CommandRequest, pattern: Pattern, kinds: Mapping[str, Any]) -> CommandRequest:
    """Return the job that an automaton or a temporal pattern asks for over columns of these types."""
    job.check(*pattern.traits)
    if None not in (pattern.window, job.window):
        raise CommandError(f"--window can't be combined with {TEMPORAL} because it says that itself (within=)")
    own = names_of(pattern.key, "key")
    if own and job.keys and own != job.keys:
        raise CommandError(f"expected no --key beside {job.pattern}, whose key is {', '.join(own)}, but got {', '.join(job.keys)}")
    if None not in (pattern.tick, job.tick) and pattern.tick != job.tick:
        raise CommandError(f"{job.pattern}: expected --tick {pattern.tick}, as the pattern says, but got {job.tick}; leave it out")
    job = job._replace(keys=job.keys or own, tick=job.tick or pattern.tick)
    if job.tick not in (None, *TICKS) and job._replace(tick=None).in_ticks(kinds, pattern.event).tick is not None:
        units = ", ".join(TICKS)
        raise CommandError(f"{job.pattern}: expected tick= as one of {units}, as times are timestamps, but got {job.tick!r}")
    return job.in_ticks(kinds, pattern.event)
