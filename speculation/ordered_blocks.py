"""What a batch makes of the blocks of its keys, and which barriers come and go with that: arrays over blocks, for all keys at once.

    blocks that there are + blocks of the batch -> by key and number -> adjacent ones as one -> gaps -> barriers

Within a block nothing is to be decided, so that all here costs O(blocks log blocks); of one stream in order that is one block.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from punctuation.time import BEGINNING
from speculation.numbers import Block, Gap
from speculation.ordered_batch import Arrivals
from speculation.ordered_columns import Unusual
from speculation.sequences import Sequences


class Barriers(NamedTuple):
    """Barriers, as arrays.

    Parameters
    ----------
    key : numpy array
        Which of the batch's keys.
    number, le : numpy array
    diff : numpy array
        1: it comes, -1: it goes.
    place : numpy array
        Before which of the arrivals it stands, if it comes before one.
    """

    key: Any
    number: Any
    le: Any
    diff: Any
    place: Any

    def some(self, which: Any) -> Barriers:
        """Some of them."""
        return Barriers._make(column[which] for column in self)


class Coming(NamedTuple):
    """What a batch makes of the numbers of its keys.

    Parameters
    ----------
    keys : list
        In the order of the arrivals.
    lows : numpy array
        Where the arrivals of each begin; behind them, how many there are.
    blocks : list of list of Block
        Of each key, as they will be.
    behind : numpy array
        The arrivals that fall among the numbers that there are, in order.
    moved : Barriers
        Those that go, and those that come among the numbers that there are or right behind them.
    new : Barriers
        Those that come after them, in order.
    passed : list of (key, Gap)
        The gaps that can't close any more.
    """

    keys: list[Hashable]
    lows: Any
    blocks: list[list[Block]]
    behind: Any
    moved: Barriers
    new: Barriers
    passed: list[tuple[Hashable, Gap]]


class Blocks(NamedTuple):
    """Blocks of several keys, by key and number, as arrays.

    Parameters
    ----------
    key : numpy array
        Which of the batch's keys.
    first, last, begins, ends : numpy array
        As of `Block`.
    row : numpy array
        Where among the arrivals it begins; -1: it was there.
    """

    key: Any
    first: Any
    last: Any
    begins: Any
    ends: Any
    row: Any


def coming_of(sequences: Sequences, arrivals: Arrivals) -> Coming:
    """What a batch makes of the numbers of its keys; nothing is changed yet.

    Raises
    ------
    Unusual
        Retractions wait, a number is in force, or numbers stand against their times.
    """
    coming = _one_block(sequences, arrivals)
    if coming is not None:
        return coming
    begins, n = arrivals.begins, len(arrivals.rows)
    codes = np.zeros(len(begins), np.int64) if arrivals.code is None else arrivals.code[begins]
    starts = np.append(True, codes[1:] != codes[:-1])
    keys, lows = [arrivals.keys[code] for code in codes[starts].tolist()], np.append(begins[starts], n)
    ends = np.append(begins[1:], n) - 1
    come = Blocks(
        np.cumsum(starts) - 1, arrivals.first, arrivals.first + (ends - begins), arrivals.le[begins], arrivals.le[ends], begins
    )
    there = _there(sequences, keys)
    blocks = merged(there, come)
    of_key = _split(blocks, len(keys))
    largest = np.full(len(keys), BEGINNING)
    tails = np.append(there.key[1:] != there.key[:-1], True)[: len(there.key)]
    largest[there.key[tails]] = there.last[tails]
    among = come.first < largest[come.key]
    behind = _ranges(begins[among], ends[among] - begins[among] + 1) if among.any() else begins[:0]
    if len(blocks.key) == len(keys) and tails.all():  # no gap was there, and none is
        none = _no_barriers()
        return Coming(keys, lows, of_key, behind, none, none, [])
    passed, new = _after(blocks, arrivals.promised, keys, sequences.gaps)
    gone = _barriers(there, sequences.core.progress.events, -1)
    after = new.number > largest[new.key] + 1
    moved = _difference(gone, new.some(~after))
    return Coming(keys, lows, of_key, behind, moved, new.some(after), passed)


def _one_block(sequences: Sequences, arrivals: Arrivals) -> Coming | None:
    """The same of one stream in order, all of which is one block; None: it is not so."""
    numbers = sequences.keys.get(None)
    if arrivals.code is not None or len(arrivals.begins) > 1 or numbers is None or numbers.waiting or len(numbers.blocks) != 1:
        return None
    block, n, begin, end = numbers.blocks[0], len(arrivals.rows), int(arrivals.le[0]), int(arrivals.le[-1])
    if int(arrivals.first[0]) != block.last + 1 or begin < block.ends:
        return None
    none = _no_barriers()
    return Coming([None], np.array([0, n]), [[block._replace(last=block.last + n, ends=end)]], none.le, none, none, [])


def _there(sequences: Sequences, keys: list[Hashable]) -> Blocks:
    """The blocks that there are."""
    held, counts = list[list[Block]](), []
    for key in keys:
        numbers = sequences.keys.get(key)
        if numbers is not None and numbers.waiting:
            raise Unusual
        held.append(numbers.blocks if numbers is not None else [])
        counts.append(len(held[-1]))
    flat = np.fromiter(chain.from_iterable(chain.from_iterable(held)), np.int64, 4 * sum(counts)).reshape(-1, 4)
    first, last, begins, ends = flat.T
    return Blocks(np.repeat(np.arange(len(keys)), counts), first, last, begins, ends, np.full(len(flat), -1))


def merged(there: Blocks, come: Blocks) -> Blocks:
    """The blocks of two lists as one.

    Raises
    ------
    Unusual
        Numbers are in both, or stand against their times.

    Examples
    --------
    >>> def blocks(*rows):
    ...     return Blocks(*np.array(rows).T)
    >>> found = merged(blocks((0, 1, 3, 10, 30, -1), (0, 7, 9, 70, 90, -1)), blocks((0, 4, 5, 40, 50, 0), (1, 6, 6, 5, 5, 2)))
    >>> [column.tolist() for column in found[:5]]
    [[0, 0, 1], [1, 7, 6], [5, 9, 6], [10, 70, 5], [50, 90, 5]]
    >>> merged(blocks((0, 1, 3, 10, 30, -1)), blocks((0, 3, 4, 30, 40, 0)))
    Traceback (most recent call last):
        ...
    speculation.ordered_columns.Unusual
    """
    both = [np.concatenate(columns) for columns in zip(there, come)]
    order = np.lexsort((both[1], both[0]))
    key, first, last, begins, ends, row = (column[order] for column in both)
    same = key[1:] == key[:-1]
    if (same & ((first[1:] <= last[:-1]) | (begins[1:] < ends[:-1]))).any():
        raise Unusual
    apart = ~same | (first[1:] - 1 != last[:-1])
    heads, tails = np.append(True, apart), np.append(apart, True)
    return Blocks(key[heads], first[heads], last[tails], begins[heads], ends[tails], row[heads])


def _split(blocks: Blocks, keys: int) -> list[list[Block]]:
    """The blocks of each key."""
    found = list(map(Block, *(column.tolist() for column in blocks[1:5])))
    if keys == 1:
        return [found]
    at = blocks.key.searchsorted(np.arange(keys + 1)).tolist()
    return [found[low:high] for low, high in pairwise(at)]


def _ranges(begins: Any, counts: Any) -> Any:
    """The numbers from each beginning on, so many of them."""
    return np.arange(counts.sum()) + np.repeat(begins - (np.cumsum(counts) - counts), counts)


# -- barriers ----------------------------------------------------------------------------------------------------------------------


def _no_barriers() -> Barriers:
    return Barriers._make(np.empty(0, np.int64) for _ in Barriers._fields)


def _barriers(blocks: Blocks, promised: int, diff: int) -> Barriers:
    """The barriers of the gaps between blocks, see `Gap.barrier`."""
    right = np.flatnonzero(blocks.key[1:] == blocks.key[:-1]) + 1
    le = np.minimum(np.maximum(blocks.ends[right - 1], promised), blocks.begins[right])
    return Barriers(blocks.key[right], blocks.last[right - 1] + 1, le, np.full(len(right), diff), blocks.row[right])


def _after(blocks: Blocks, promised: int, keys: list[Hashable], gaps: str) -> tuple[list[tuple[Hashable, Gap]], Barriers]:
    """The gaps that can't close any more, and the barriers there are behind a promise."""
    right = np.flatnonzero(blocks.key[1:] == blocks.key[:-1]) + 1
    over = right[blocks.begins[right] < promised]
    columns = (blocks.key[over], blocks.last[over - 1] + 1, blocks.first[over] - 1, blocks.ends[over - 1], blocks.begins[over])
    passed = [(keys[key], Gap(*gap)) for key, *gap in zip(*(column.tolist() for column in columns))]
    barriers = _barriers(blocks, promised, 1)
    return passed, barriers if gaps == "break" or not passed else barriers.some(blocks.begins[right] >= promised)


def _difference(gone: Barriers, come: Barriers) -> Barriers:
    """Both, without those that go and come."""
    if not len(gone.le) or not len(come.le):
        return gone if len(gone.le) else come
    both = Barriers._make(map(np.concatenate, zip(gone, come)))
    order = np.lexsort((both.le, both.number, both.key))
    both = both.some(order)
    twin = np.ones(max(len(order) - 1, 0), np.bool_)
    for column in both[:3]:
        twin &= column[1:] == column[:-1]
    alone = ~(np.append(twin, False) | np.append(False, twin))
    return both if alone.all() else both.some(alone)
