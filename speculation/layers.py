"""The stages of a pattern around its operator: put together, and restored, in one place.

in_front  options   -> the stages that they put in front of an operator, the last one outermost
build     operator  -> the first layer at it, the next one at that ..
restore   blob      -> each stage that it holds around the operator, the innermost first: those of the pattern as it makes them,
                       those that the user has put there as the blob says, or like the ones that are given
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from afa.errors import AfaError, SnapshotError
from afa.operator.options import OF_IDS
from speculation.around import AROUND, MOST, Around
from speculation.before_after import Before
from speculation.cleanse import Cleanse
from speculation.ids import Ids
from speculation.ids_input import IdsInput, aged
from speculation.stage import STAGES, Stage
from speculation.stage_state import MAGIC, SavedStage, in_words, opened


class Layer(NamedTuple):
    """A stage of a pattern: its name as snapshots have it, what stands around the operator with it, and what makes it.

    ``stage`` makes it, taking nothing yet, for the operator at which it stands.
    """

    name: str
    around: type[Around]
    stage: Callable[[Any], Any]


def in_front(said: dict[str, Any]) -> list[Layer]:
    """Return the stages that options put in front of an operator; take these out of ``said``."""
    sigma, ids = said.pop("speculation", None), {name: said.pop(name) for name in OF_IDS if name in said}
    found = [] if sigma is None else [Layer("Cleanse", Before, lambda _: Cleanse(sigma))]
    return [*found, Layer("Ids", IdsInput, lambda _: Ids(**ids))] if ids.get("id") is not None else found


def before(said: dict[str, Any], operator: Any) -> Any:
    """Put the stages that options say in front of an operator."""
    return build(operator, in_front(said))


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
    front: dict[str, Any] | None = None,
) -> Any:
    """Make an operator with the stages that stood around it.

    ``blob`` is as of `Keyed.restore`; ``operator`` restores the operator from its own part. The snapshot must have all ``layers``,
    those of the pattern, in that order. ``stages``: those that the user has put there and whose conditions are no data
    (`LastBefore`), with the same parameters. ``front``: what is said of stages in front by options: ``speculation`` stands in
    place of that of the `Cleanse` there, what is said of an `Ids` must be as it was saved.

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
    found = operator(alone)
    held = {}
    for part, make in zip(parts, makers):
        found = make(found)
        held[part.name, part.place] = found.stage
    if found._core.old_ids is not None:
        found = aged(found)
        held["Ids", "before"] = found.stage
    front = front or {}
    for name, value in front.items():
        stage: Any = held.get(("Cleanse" if name == "speculation" else "Ids", "before"))
        if stage is None and value is not None:
            option = "speculation" if name == "speculation" else "id"
            raise SnapshotError(f"expected a snapshot of an operator with {option}= but got one without, and {name}={value!r}")
        if name == "speculation" and value is not None:
            stage.sigma = value
        elif stage is not None and name != "speculation":
            stage.check_said(name, value)
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
