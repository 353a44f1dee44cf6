"""Check an image before it is used: its offsets must lie within it, so that a short, old or torn file can't crash the process.

O(keys): the header of each block; what rows say is not looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from afa.compiled.kernel import names as k
from afa.state.sound import wanted

SECTIONS = (k.H_EVENTS, k.H_NODES, k.H_MATCHES, k.H_PENDING)
CAPS = (k.H_EVENT_CAP, k.H_NODE_CAP, k.H_MATCH_CAP, k.H_PENDING_CAP)
TOPS = (k.H_EVENT_TOP, k.H_NODE_TOP, k.H_MATCH_TOP, k.H_PENDING_TOP)
MOST = 1 << 40
"""A number of words, rows or keys that no memory holds."""


def check_sizes(sizes: Any, known: dict[str, int]) -> None:
    """Check the sizes of scratch.

    Raises
    ------
    SnapshotError
    """
    wanted("sizes of scratch", isinstance(sizes, dict) and sizes.keys() == known.keys(), sizes)
    wanted("sizes of scratch", all(type(size) is int and 0 < size < MOST for size in sizes.values()), sizes)


def check_words(m: Any, top: int, room: int, keys: int, fixed: dict[int, int]) -> None:
    """Check the words of a heap, of which ``top`` are in use, with room for so many keys.

    Parameters
    ----------
    fixed : dict
        Control words that must be these.

    Raises
    ------
    SnapshotError
    """
    control = m[: k.CONTROL].tolist()
    directory = control[k.C_DIR]
    wanted("as many words as are in use", control[k.C_TOP] == top, [control[k.C_TOP], top])
    wanted("a name for each key", control[k.C_KEYS] == keys <= room < MOST, [control[k.C_KEYS], keys, room])
    wanted("a directory in the memory", k.CONTROL <= directory <= top - room * k.D_SIZE, directory)
    for name, value in fixed.items():
        wanted(f"{value} as control word {name}", control[name] == value, control[name])
    free = m[k.C_FREE : k.CONTROL]
    wanted("free blocks in the memory", ((free == 0) | ((free >= k.CONTROL) & (free < top))).all())
    blocks = m[directory : directory + keys * k.D_SIZE].reshape(keys, k.D_SIZE)[:, k.D_BLOCK]
    blocks = blocks[blocks != 0]
    wanted("blocks in the memory", ((blocks >= k.CONTROL) & (blocks <= top - k.HEAD)).all())
    _check_headers(m, blocks, top, control[k.C_V], control[k.C_R])


def _check_headers(m: Any, blocks: Any, top: int, v: int, r: int) -> None:
    """Sections follow on each other, within the memory, and are full up to their room at most."""
    head = {name: m[blocks + name] for name in (k.H_CAP, k.H_FIRST, k.H_LAST, k.H_STEPS, *SECTIONS, *CAPS, *TOPS)}
    cap, caps = head[k.H_CAP], [head[name] for name in CAPS]
    wanted("room in blocks", all(((size >= 0) & (size < MOST)).all() for size in (cap, *caps)))
    at = k.HEAD + k.COLUMNS * cap
    for section, room, width in zip(SECTIONS, caps, (k.E_WORDS + v, k.N_REG + r, k.M_REG + r, k.Q_WORDS + v)):
        wanted("sections of blocks beside each other", (head[section] == at).all())
        at = at + width * room
    wanted("blocks that end in the memory", (at <= top - blocks).all())
    first, last, steps = (head[name] for name in (k.H_FIRST, k.H_LAST, k.H_STEPS))
    wanted("steps of blocks", ((first >= 0) & (first <= last) & (last <= steps) & (steps <= cap)).all())
    wanted("rows of blocks", all(((head[name] >= 0) & (head[name] <= room)).all() for name, room in zip(TOPS, caps)))
    order = m[np.repeat(blocks + k.HEAD + first, last - first) + _counted(last - first)]
    wanted("steps in the order of blocks", ((order >= 0) & (order < np.repeat(steps, last - first))).all())


def _counted(lengths: Any) -> Any:
    """0, 1, .. for each of the lengths."""
    ends = np.cumsum(lengths)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths, lengths)
