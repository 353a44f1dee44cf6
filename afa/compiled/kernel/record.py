"""Records: words that stand side by side in an array, each with a name for its offset."""

from __future__ import annotations


class Record:
    """Numbers the words of a record: each call takes the next word, or the next few, and returns the offset of the first.

    So no two names of one record can stand for the same word, and a word more in its midst is one line more.

    Attributes
    ----------
    size : int
        The words taken so far.
    fields : list of (int, int, str)
        Of each call: the offset, how many words, what they hold.

    Examples
    --------
    >>> POINT = Record()
    >>> POINT_NAME = POINT("number of its name")
    >>> POINT_AT = POINT("x, y", words=2)
    >>> POINT_REST = POINT("more coordinates, as many as there are", words=0)
    >>> POINT_NAME, POINT_AT, POINT_REST, POINT.size
    (0, 1, 3, 3)
    """

    def __init__(self) -> None:
        self.size = 0
        self.fields: list[tuple[int, int, str]] = []

    def __call__(self, what: str, words: int = 1) -> int:
        """Take the next words. 0: the record ends in words whose number is known when the program runs."""
        offset = self.size
        self.fields.append((offset, words, what))
        self.size += words
        return offset
