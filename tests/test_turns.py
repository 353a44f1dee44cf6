"""Turns of speech that stand in a reader's way have ceilings, which only fall: whoever rewrites a text lowers them.

`python -m tests.turns` counts; `python -m tests.turns pages "of which"` shows each place. The aim: none in pages and errors, 20 in
docstrings.
"""

from __future__ import annotations

import pytest

from tests.turns import LONG, TURNS, counts, found, sentences

CEILINGS = {
    "pages": {
        "what is": 40,
        "of which": 1,
        "none": 2,
        "behind": 1,
        "beside": 2,
        "tells": 12,
        "goes on": 4,
        "return what": 0,
        "conflict": 0,
        "long": 153,
    },
    "contract": {
        "what is": 26,
        "of which": 13,
        "none": 11,
        "behind": 66,
        "beside": 13,
        "tells": 57,
        "goes on": 34,
        "return what": 0,
        "conflict": 0,
        "long": 105,
    },
    "errors": {
        "what is": 12,
        "of which": 15,
        "none": 7,
        "behind": 29,
        "beside": 48,
        "tells": 24,
        "goes on": 5,
        "return what": 0,
        "conflict": 43,
        "long": 21,
    },
    "docstrings": {
        "what is": 391,
        "of which": 180,
        "none": 153,
        "behind": 446,
        "beside": 101,
        "tells": 403,
        "goes on": 157,
        "return what": 219,
        "conflict": 1,
        "long": 388,
    },
}


@pytest.mark.parametrize("place", CEILINGS)
def test_no_turn_is_more_frequent(place: str) -> None:
    for turn, most in CEILINGS[place].items():
        places = found(place, turn)
        assert len(places) <= most, f'python -m tests.turns {place} "{turn}"\n' + "\n".join(places[-20:])


def test_a_ceiling_is_no_higher_than_must_be() -> None:
    """Whoever has rewritten a text lowers it, so that it does not rise again."""
    assert {place: {turn: most - CEILINGS[place][turn] for turn, most in each.items()} for place, each in counts().items()} == {
        place: dict.fromkeys([*TURNS, "long"], 0) for place in CEILINGS
    }


def test_sentences() -> None:
    assert sentences("One. Two (three.) Four: `five`. e.g. six.") == [
        "One.",
        "Two (three.",
        "Four: `five`. e.g. six.",
    ]
    assert LONG == 35
