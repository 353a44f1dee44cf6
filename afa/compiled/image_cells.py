"""Check the records of keys at rest in an image, and the desk on which they are opened (`afa.compiled.kernel.rest`, `desk`)."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from afa.compiled.kernel import names as k
from afa.compiled.kernel.desk import desk_rooms
from afa.compiled.mapped_heap import FileHeap
from afa.compiled.memory import WordArray
from afa.compiled.store import Store
from afa.state.sound import wanted


def check_cells(m: Any, held: Any, top: int) -> None:
    """Check that there is a desk for records, and that they lie within ``top`` words. ``held``: D_BLOCK of all keys."""
    desk, draft = int(m[k.C_DESK]), int(m[k.C_DRAFT])
    wanted("words of a record", 0 <= m[k.C_REST] <= k.MOST, m[k.C_REST])
    records = -held[held < 0]
    wanted("records in the memory", ((records >= k.CONTROL) & (records < top - k.S_WORDS)).all())
    wanted("a desk for records", not len(records) or (desk and draft), [desk, draft])
    if desk:
        wanted("a desk in the memory", k.CONTROL < desk <= top - k.HEAD and k.CONTROL < draft <= top - 3 * k.MOST, [desk, draft])
        caps = [int(m[desk + name]) for name in (k.H_CAP, k.H_EVENT_CAP, k.H_NODE_CAP, k.H_MATCH_CAP, k.H_PENDING_CAP)]
        wanted("a desk with room", all(n >= least for n, least in zip(caps, desk_rooms(int(m[k.C_V]), int(m[k.C_R])))), caps)
    words = m[records] & k.HEAD_MASK
    wanted("records of some words", ((words > 0) & (words <= k.MOST) & (words <= top - records)).all())


def check_records(store: Store, words: Any, file: FileHeap, keys: int) -> None:
    """Check that the records of ``keys`` keys can be read, by the kernels that read them."""
    memory = copy.copy(store.memory)
    memory._use(m=words, file=file)
    strings = len(store.strings) if store.ordered == 2 else k.FOREVER
    batch = WordArray(np.stack([np.arange(keys), np.full(keys, strings)])) if keys else None
    if batch is not None:
        store._main(memory, store.arcs.program, batch, k.SOUND, len(store.arcs.states), keys)
        wanted("records that can be read", not batch.words[1].any())
