"""Records: words that stand side by side in an array, each with a name. A class is a record, its fields are the words.

What kernels say of the record in the example of `Record`, and what `afa.compiled.kernel.named_fields` makes of it (m: an array;
point: where the record begins):

    point = Point(place)     point = place
    point.name               m[point]
    point.at[1]              m[point + 1 + 1]
    point.at                 point + 1            where the words begin
    Point.at                 1                    the offset, in kernels as in all other Python
    Point(w, place).name     w[place]             a record in another array; as a parameter: ``point: Annotated[Point, "w"]``
    Point.SIZE               3                    without words whose number only the program knows
    b.le[i]                  m[b + 26 + cap + i]  a column of a `Block`, as long as its header says (``cap``)
    rows.first, rows.count   rows >> 24, rows & COUNT   of a `Slice`; ``Slice(first, count)`` makes one

An array can be a record, too (``m: Memory``): then ``m.top`` is the word ``m[Memory.top]``. Of an array with two indices the
fields are its rows (``by="row"``: ``c.le[i]`` is ``c[Arrivals.le, i]``), the words of its first row (``by="one"``: ``c.le`` is
``c[0, TableWords.le]``), or its columns (``by="column"``: ``r.le[i]`` is ``r[i, RowPool.le]``, of `speculation.rows.row_layout`).
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, TypeVar

WORD, WORDS, COLUMN, NESTED = "word", "words", "column", "nested"
COUNT = (1 << 24) - 1  # of a slice: how many rows
Self = TypeVar("Self", bound="Record")


class WordField(NamedTuple):
    """A field as its record declares it; ``inner``: the record that a column's or row's words are, if they are one."""

    kind: str
    offset: int
    words: int
    what: str
    inner: Any = None


class WordRow(int):
    """Words by number, as a type checker sees them."""

    def __getitem__(self, i: Any) -> int:
        raise NotImplementedError

    def __setitem__(self, i: Any, word: int) -> None:
        raise NotImplementedError


class Slice(int):
    """Rows side by side, in one word: ``first << 24 | count``."""

    first: int
    count: int

    def __new__(cls, *parts: int) -> Any:
        raise TypeError("Slice has no objects: kernels that name it are lowered first")


class SliceRow(WordRow):
    """Slices by number, as a type checker sees them."""

    def __getitem__(self, i: Any) -> Slice:
        raise NotImplementedError


class Record(int):
    """A place in an array, or a whole array, whose words have names.

    Attributes
    ----------
    SIZE : int
        How many words a record has, without those at its end whose number is known when the program runs.
    COLUMNS : int
        How many columns stand behind it.
    FIELDS : dict of str to WordField
        In order.
    OF : str
        The name of the array in which records stand, where a kernel does not say; "": the record is an array.
    BY : str
        "": of an array with one index; see the module for others.

    Examples
    --------
    >>> class Point(Record, of="m"):
    ...     name = Record.word("number of its name")
    ...     at = Record.words("x, y", 2)
    ...     rest = Record.words("more coordinates, as many as there are")
    >>> Point.name, Point.at, Point.rest, Point.SIZE
    (0, 1, 3, 3)
    """

    SIZE: ClassVar[int]
    COLUMNS: ClassVar[int]
    FIELDS: ClassVar[dict[str, WordField]]
    OF: ClassVar[str]
    BY: ClassVar[str]

    def __init_subclass__(cls, of: str = "", by: str = "", first: int = 0) -> None:
        cls.OF, cls.BY, cls.FIELDS, cls.SIZE, cls.COLUMNS = of, by, dict(getattr(cls, "FIELDS", {})), first, 0
        for name, field in list(vars(cls).items()):
            if isinstance(field, WordField):
                offset = cls.COLUMNS if field.kind == COLUMN else cls.SIZE
                cls.FIELDS[name] = field._replace(offset=offset)
                cls.COLUMNS += field.kind == COLUMN
                cls.SIZE += field.words
                setattr(cls, name, offset)

    def __new__(cls, *place: int) -> Any:
        raise TypeError(f"{cls.__name__} has no objects: kernels that name it are lowered first")

    def __iadd__(self: Self, words: int) -> Self:
        raise NotImplementedError

    def __getitem__(self, i: Any) -> int:
        raise NotImplementedError

    def __setitem__(self, i: Any, word: int) -> None:
        raise NotImplementedError

    # -- how fields are declared --------------------------------------------------------------------------------------------

    @staticmethod
    def word(what: str) -> int:
        """Declare a word of a record."""
        return WordField(WORD, 0, 1, what)  # type: ignore[return-value]

    @staticmethod
    def words(what: str, number: int = 0) -> WordRow:
        """Declare some words of a record. 0: the record ends in them, their number is known when the program runs."""
        return WordField(WORDS, 0, number, what)  # type: ignore[return-value]

    @staticmethod
    def line(what: str) -> WordRow:
        """Declare a row of an array with two indices, or a column of it."""
        return WordField(WORD, 0, 1, what)  # type: ignore[return-value]

    @staticmethod
    def column(what: str) -> WordRow:
        """Declare a column behind a block's header, as long as the block says."""
        return WordField(COLUMN, 0, 0, what)  # type: ignore[return-value]

    @staticmethod
    def slices(what: str) -> SliceRow:
        """Declare a column of slices."""
        return WordField(COLUMN, 0, 0, what, Slice)  # type: ignore[return-value]

    @staticmethod
    def nested(record: type[Self], what: str) -> Self:
        """Declare a row of an array with two indices whose words have names of their own."""
        return WordField(NESTED, 0, 1, what, record)  # type: ignore[return-value]
