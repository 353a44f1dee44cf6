"""The stages of a pattern around its operator: put together, and restored, in one place.

before    operator  -> the stage of its option ``speculation=`` in front of it
build     operator  -> the first layer at it, the next one at that ..
restore   blob      -> each stage that it holds around the operator, the innermost first: those of the pattern as it makes them,
                       those that the user has put there as the blob says, or like the ones that are given
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from afa.errors import AfaError, SnapshotError
from speculation.around import AROUND, MOST, Around
from speculation.cleanse import Cleanse
from speculation.stage import STAGES, Stage
from speculation.stage_state import MAGIC, SavedStage, in_words, opened


class Layer(NamedTuple):
    """A stage of a pattern: its name as snapshots have it, what stands around the operator with it, and what makes it.

    ``stage`` makes it, taking nothing yet, for the operator at which it stands.
    """

    name: str
    around: type[Around]
    stage: Callable[[Any], Any]


def before(sigma: Any, operator: Any) -> Any:
    """Put a `Cleanse` in front of an operator, for its option ``speculation=``."""
    return Cleanse(sigma).before(operator)


def build(operator: Any, layers: Iterable[Layer], restored: bool = False) -> Any:
    """Put the stages of a pattern around its operator, the first one innermost; ``restored``: with what they hold already."""
    for layer in layers:
        put = layer.around.joined if restored else layer.around
        operator = put(layer.stage(operator), operator)
    return operator


def parts_of(blob: Any) -> tuple[list[SavedStage], Any]:
    """Return the stages that a snapshot holds, from the operator outwards, and the operator's own part.

    That is all where no stage is in it, be it a snapshot with the incremental ones that follow it.
    """
    found: list[SavedStage] = []
    if isinstance(blob, (list, tuple)) and len(blob) == 1:
        (blob,) = blob
    while isinstance(blob, (bytes, bytearray, memoryview)) and bytes(blob[: len(MAGIC)]) == MAGIC:
        if len(found) == MOST:
            raise SnapshotError(f"expected a snapshot of at most {MOST} stages around an operator but got one of more")
        part = opened(bytes(blob))
        if part.place is None:
            raise SnapshotError(f"expected a snapshot of an operator but got one of {part.said}")
        found.append(part)
        blob = part.operator
    return found[::-1], blob


def restore(
    blob: Any,
    operator: Callable[[bytes], Any],
    layers: Sequence[Layer] = (),
    stages: Iterable[Any] = (),
    sigma: Any = None,
) -> Any:
    """Make an operator with the stages that stood around it.

    ``blob`` is as of `Keyed.restore`; ``operator`` restores the operator from its own part. The snapshot must have all ``layers``,
    those of the pattern, in that order. ``stages``: those that the user has put there and whose conditions are no data
    (`LastBefore`), with the same parameters. ``sigma`` stands in place of that of the `Cleanse` at the input.

    Raises `SnapshotError` where the blob is damaged or of an operator with other stages, `AfaError` where ``stages`` are none, or
    come back by themselves.
    """
    parts, alone = parts_of(blob)
    own, given, makers = list(layers), _given(stages), list[Callable[[Any], Any]]()
    for part in parts:
        its_own = own and (own[0].name, own[0].around.place) == (part.name, part.place)
        makers.append(_of_pattern(part, own.pop(0)) if its_own else _of_user(part, given))
    if own or given:
        wanted = " and ".join(in_words([layer.name], layer.around.place) for layer in own) or f"stages like {given}"
        there = ", ".join(part.said for part in parts) or "none"
        raise SnapshotError(f"expected a snapshot of {wanted} but got one of {there}")
    found, held = operator(alone), None
    for part, make in zip(parts, makers):
        found = make(found)
        held = found.stage if (part.name, part.place) == ("Cleanse", "before") else held
    if sigma is not None:
        if held is None:
            raise SnapshotError(
                f"expected a snapshot of an operator with speculation= but got one without, and speculation={sigma!r}"
            )
        held.sigma = sigma
    return found


def _given(stages: Any) -> list[Any]:
    """Return stages that a snapshot does not say all of."""
    if not isinstance(stages, (list, tuple)):
        raise AfaError(f"expected a list of stages but got stages={stages!r}")
    alone = {name for (name, _), around in AROUND.items() if around.by_itself}
    for stage in stages:
        if not isinstance(stage, Stage) or type(stage).__name__ in alone:
            raise AfaError(f"expected stages whose conditions are no data, LastBefore, but got {stage!r}")
    return list(stages)


def _of_pattern(part: SavedStage, layer: Layer) -> Callable[[Any], Any]:
    """Return what puts a stage of the pattern at its operator."""

    def put(operator: Any) -> Any:
        try:
            like = layer.stage(operator)
        except AfaError as error:  # options that the blob says
            raise SnapshotError(f"expected {part.said} of this pattern but got another one: {error}") from error
        return layer.around.loaded(part, operator, like)

    return put


def _of_user(part: SavedStage, given: list[Any]) -> Callable[[Any], Any]:
    """Return what puts a stage that is none of the pattern's at its operator; take the one that it is like out of those given."""
    around = AROUND.get((part.name, part.place or ""))
    like = next((stage for stage in given if type(stage) is STAGES.get(part.name)), None)
    if around is None or (like is None and not around.by_itself):
        known = " or ".join(in_words([name], place) for (name, place), each in AROUND.items() if each.by_itself)
        raise SnapshotError(
            f"expected a snapshot of {known}, or of one that the pattern or stages= has, but got one of {part.said}"
        )
    if like is not None:
        given.remove(like)
    return lambda operator: around.loaded(part, operator, like)
