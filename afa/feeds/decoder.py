"""What the decoders of all formats have: lines in, messages out."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from afa.feeds.json_reader import NumberedLines, OnFault
from afa.feeds.messages import FeedOptions, MessageMaker, Messages


class Decoder:
    """Makes messages of the blocks of one feed, in order; it knows what the blocks before have said."""

    known = pa.schema([])
    """The types that are known before the first line."""

    def __init__(self, asked: FeedOptions, told: OnFault) -> None:
        self._asked, self._told = asked, told
        self._maker = MessageMaker(asked, told)

    @property
    def learning(self) -> tuple[Any, ...]:
        """Whatever knows what the blocks before have said."""
        return self, self._maker, self._maker.times

    @property
    def key(self) -> tuple[str, ...]:
        """The columns of the key, as said, or as the messages have said."""
        return self._maker.key

    @property
    def exact(self) -> tuple[str, ...]:
        """The paths of fields that hold no float."""
        return self.key

    def lines(self, given: NumberedLines) -> NumberedLines:
        """Return the lines that say something."""
        return given.where([bool(line.strip()) for line in given.lines])

    def types(self) -> pa.Schema:
        """Return the types of a line's fields that the lines have said themselves."""
        return pa.schema([])

    def messages(self, table: pa.Table, numbers: Any) -> Messages:
        """Return what a block says; ``numbers``: of its lines."""
        raise NotImplementedError
