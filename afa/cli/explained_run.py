"""`afa run --reasons`: the operator with a stage that tells why matches come and go."""

from __future__ import annotations

from typing import Any

from afa.cli.fault import CommandError
from afa.cli.request import Job
from afa.reasons import Reasons


def with_lineage(options: dict[str, Any], job: Job) -> dict[str, Any]:
    """Return the options of an operator, with what reasons need."""
    return {**options, "lineage": True} if job.reasons else options


def explaining(operator: Any, job: Job) -> Any:
    """Return the operator, with the stage around it where reasons are asked.

    Raises
    ------
    CommandError
        Beside an option with which matches have no reasons.
    """
    if not job.reasons:
        return operator
    for name, said in (("--arcs", job.arcs), ("--collapse", job.collapse), ("--having", job.having)):
        if said is not None:
            raise CommandError(f"expected no {name} beside --reasons: reasons are told of matches, under arcs that stay")
    return Reasons(operator)


def told_as_times(operator: Any, kind: Any) -> None:
    """Let sentences tell times where the input has some; ``kind``: their type, None: they are ints."""
    if isinstance(operator, Reasons) and kind is not None:
        operator.tell_times(getattr(kind, "tz", None))
