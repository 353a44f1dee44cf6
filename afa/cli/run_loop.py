"""Push an input through an operator, batch by batch, with the promises that it earns; what leaves is counted, shown and written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from afa import ClosureError, LateEventError, Punctuation
from afa.cli.batches_in import Input
from afa.cli.fault import CommandError, one_line
from afa.cli.follow import Follow, RuleFollow
from afa.cli.output_form import form_of_changes
from afa.cli.output_table import OutputTable
from afa.cli.pattern_run import PatternRun
from afa.cli.rule_output import RuleOutput
from afa.cli.screen import Screen, Summary
from afa.errors import AfaError
from afa.io.settled_order import in_settled_order
from afa.model.arc import TIMEOUT
from afa.rules.rules import Rules
from punctuation.sources import BoundedDisorder


class RunLoop:
    """The loop of a run; whoever runs it says where changes are written: ``write``. ``settled``: in `in_settled_order`."""

    write: Callable[[Any], None]
    follow: Follow | None = None
    """What brings arcs from an arc log, before each batch."""
    rules: RuleFollow | None = None
    """What brings rules from a log of rules, likewise."""

    def __init__(
        self,
        made: PatternRun,
        operator: Any,
        batches_in: Input,
        first: Any,
        summary: Summary,
        screen: Screen,
        settled: bool = False,
    ) -> None:
        self.operator, self.summary, self._batches, self._screen = operator, summary, batches_in, screen
        self._job, self._settled = made.job, settled
        job = made.job
        self.links = getattr(operator, "links", (operator,))
        self.form = output_of(made, operator, first, batches_in.times)
        self.formed = form_of_changes(job, self.form.schema)
        self.schema = self.formed(self.form.schema.empty_table()).schema
        self.promises = None if job.lateness is None else BoundedDisorder(int(job.lateness), kinds=False)
        explained = job.reasons or job.report is not None
        self._net = not explained or job.batch is not None  # reasons are told of each row as it came

    def take(self, table: Any) -> None:
        """Take a batch."""
        self.push(*([table] if self.promises is None else self.promises.push_many(table)))
        self.summary.progress(len(table), self.operator)
        self._screen.progress(self._batches.done, self.summary)

    def push(self, *items: Any) -> None:
        """Carry out a call."""
        batch = [self.form.none, *items]
        if self.follow is not None:
            batch.insert(1, self.follow.poll())
        for part in () if self.rules is None else said(self.rules.brought, self._batches.end):
            self._tell(part)
        for part in said(lambda: self.operator.push_many(batch, net=self._net), self._batches.end):
            if not isinstance(part, Punctuation):
                self._tell(part)
        if self.follow is not None:
            self.follow.tell()

    def _tell(self, part: Any) -> None:
        """Count, show and write changes."""
        found = self.form.in_schema(part)
        found = in_settled_order(found) if self._settled else found
        self.summary.count(self.form.les(found), found["diff"].to_numpy(), self._batches.latest)
        self._screen.show(found, self.summary)
        self.write(self.formed(found))

    def finish(self) -> None:
        """Say how the run has ended."""
        self.summary.finish(self.links[0].statistics, self._batches.end)
        automata = () if isinstance(self.form, RuleOutput) else (link._core.automaton for link in self.links)
        if not self._job.quiet and any(arc.kind == TIMEOUT for automaton in automata for arc in automaton.arcs):
            self.summary.open = _still_open(self.links[-1])
        self._screen.finish(self.summary)


def output_of(made: PatternRun, operator: Any, first: Any, times: Any) -> OutputTable | RuleOutput:
    """Return the form of what leaves an operator; ``first``: the first batch of the input, ``times``: the type of its times."""
    job, pattern = made.job, made.pattern
    if isinstance(pattern, Rules):
        return RuleOutput(operator, pattern, first, times, fixed=job.output is not None)
    shown = pattern.shown if job.collapse is None else operator._core.shown
    return OutputTable(getattr(operator, "links", (operator,))[-1], shown, job.keys, first, times, job.reasons)


def _still_open(operator: Any) -> int | str:
    """Return how many matches open time-outs would bring."""
    try:
        found: int = operator.open_timeouts
    except ClosureError:
        return "no end"
    return found


def said(call: Callable[[], Any], end: int) -> Any:
    """Turn errors of an operator into one line, those of the user's functions too. ``end``: the promise at the input's end."""
    try:
        return call()
    except LateEventError as error:
        text = one_line(error).replace(f"before {end} (promised)", "in the input")
        hint = (
            "--late drop drops it"
            if "in the input" in text or text.startswith("expected one ")
            else "a larger --lateness takes it, --late drop drops it"
        )
        raise CommandError(f"{text}; {hint}") from error
    except AfaError:
        raise
    except Exception as error:
        raise CommandError(one_line(error)) from error
