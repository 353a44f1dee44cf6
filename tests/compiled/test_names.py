"""The kernels' names of places: no two of one kind stand for the same word."""

from __future__ import annotations

from collections import Counter

import pytest

from afa.compiled.kernel import names


@pytest.mark.parametrize("kind", ["A_", "C_", "D_", "F_", "H_", "K_", "R_", "W_", "X_"])
def test_no_two_names_stand_for_one_word(kind: str) -> None:
    values = Counter(value for name, value in vars(names).items() if name.startswith(kind))
    assert len(values) > 2
    assert max(values.values()) == 1, [name for name, value in vars(names).items() if name.startswith(kind) and values[value] > 1]
