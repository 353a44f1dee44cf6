"""How likely each instant of an interval is, computed and drawn; intervals that are none."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from afa import AfaError
from afa.extra.uncertain.distributions import UNIFORM, data_of, shape_in, shape_of
from afa.extra.uncertain.interval import interval_of
from afa.uncertain import between, normal, triangular, weights

SHAPES = [
    UNIFORM,
    triangular(),
    triangular(0.0),
    triangular(1.0),
    triangular(0.3),
    normal(),
    normal(0.01),
    normal(3),
    weights([0.5, 0, 0.25, 0, 0.25, 0, 0]),
    weights([1 / 7] * 7),
]


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_what_is_drawn_is_what_is_computed(shape: Any) -> None:
    """Draws at equal distances give each instant its probability, to one draw; an instant of none is never drawn."""
    n, draws = 7, 100_000
    probabilities = shape.probabilities(n)
    assert probabilities.shape == (n,)
    assert probabilities.min() >= 0
    assert math.isclose(probabilities.sum(), 1, abs_tol=1e-12)
    counts = np.bincount(shape.drawn(np.arange(draws) / draws, np.full(draws, n)), minlength=n)
    assert np.abs(counts - probabilities * draws).max() <= 2
    assert not counts[probabilities == 0].any()


@pytest.mark.parametrize("shape", SHAPES[:-2], ids=repr)
def test_instants_of_any_number(shape: Any) -> None:
    for n in (1, 2, 1_000):
        found = shape.drawn(np.array([0.0, 0.5, 1 - 2**-53]), np.full(3, n))
        assert found.min() >= 0
        assert found.max() < n
        assert math.isclose(shape.probabilities(n).sum(), 1, abs_tol=1e-12)


def test_a_triangle_is_what_its_formula_says() -> None:
    assert triangular().probabilities(4).tolist() == pytest.approx([0.125, 0.375, 0.375, 0.125])
    assert triangular(1.0).probabilities(2).tolist() == pytest.approx([0.25, 0.75])
    assert triangular(0.0).probabilities(2).tolist() == pytest.approx([0.75, 0.25])


def test_a_normal_distribution_is_close_to_its_curve() -> None:
    def below(x: float) -> float:
        return (math.erf((x - 0.5) / 0.25 / math.sqrt(2)) + math.erf(2 / math.sqrt(2))) / (2 * math.erf(2 / math.sqrt(2)))

    wanted = [below((k + 1) / 10) - below(k / 10) for k in range(10)]
    assert normal().probabilities(10).tolist() == pytest.approx(wanted, abs=1e-7)


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_plain_data(shape: Any) -> None:
    assert shape_in(data_of(shape)) == shape
    assert hash(shape_in(data_of(shape))) == hash(shape)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: between(5, 4), "expected lower <= upper but got lower=5, upper=4"),
        (lambda: between(float("nan"), 4), "expected a time, in ticks or as a datetime, but got lower=nan"),  # type: ignore[arg-type]
        (lambda: between(3, True), "expected a time, in ticks or as a datetime, but got upper=True"),
        (lambda: between(3, 2**63 - 1), "expected a time below the end of time"),
        (lambda: between(3, 3, "triangular"), "expected an interval for the distribution triangular"),
        (lambda: between(3, 9, "uniforn"), "expected one of uniform, triangular, normal but got shape='uniforn'; did you mean"),
        (lambda: between(3, 9, 7), "expected a distribution or a table of weights but got 7"),
        (lambda: between(3, 4, [0.5, 0.25, 0.25]), "expected a weight for each of 2 instants but got 3 weights"),
        (lambda: weights([0.5, 0.4]), r"expected weights that sum to 1 but got 0\.9"),
        (lambda: weights([]), "expected weights that sum to 1 but got 0"),
        (lambda: weights([1.5, -0.5]), r"expected a number of 0 to inf but got a weight=-0\.5"),
        (lambda: weights([1.0, float("nan")]), "expected a number of 0 to inf but got a weight=nan"),
        (lambda: weights(np.full(1_000_001, 1 / 1_000_001)), "expected at most 1,000,000 instants in a table of weights"),
        (lambda: triangular(1.5), r"expected a number of 0 to 1 but got peak=1\.5"),
        (lambda: normal(0.001), "expected a standard deviation of 0.01 to 100 intervals"),
    ],
)
def test_bad_times(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(AfaError, match=said):
        make()


def test_times_become_ticks() -> None:
    day = [datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)]
    assert interval_of(between(*day, "normal"), "s")[:2] == (1767225600, 1767312000)
    assert interval_of(day[0], "s")[:2] == (1767225600, 1767225600)
    assert interval_of(9, None)[:2] == (9, 9)
    with pytest.raises(AfaError, match="expected lower <= upper"):
        interval_of(between(day[1], day[0]), "s")


def test_random_weights_are_drawn_as_they_are() -> None:
    rng = random.Random(5)
    for _ in range(50):
        raw = [rng.choice([0.0, rng.random()]) for _ in range(rng.randint(1, 30))]
        raw[rng.randrange(len(raw))] = 1.0
        shape = shape_of([each / sum(raw) for each in raw])
        n = len(raw)
        found = shape.drawn(np.array([rng.random() for _ in range(1_000)]), np.full(1_000, n))
        assert all(shape.probabilities(n)[k] > 0 for k in found.tolist())
