"""Cut a stream of bytes, as they come, into lines."""

from __future__ import annotations

from collections.abc import Iterator


def lines_of(chunks: Iterator[bytes | None]) -> Iterator[bytes | None]:
    """Yield the lines of a stream, the last one with or without its end; None: there are no more just now."""
    rest = b""
    for chunk in chunks:
        if chunk is None:
            yield None
            continue
        *lines, rest = (rest + chunk).split(b"\n") if chunk else [rest]
        for line in lines:
            yield line + b"\n"
    if rest:
        yield rest
