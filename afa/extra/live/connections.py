"""Connections to the page that say nothing: they are ended after a while, and give way to those that ask.

head        has to come within `HEAD` seconds, however slowly its bytes trickle
an address  has at most `EACH` connections, all of them together at most `MOST`; beyond that the one that has waited longest goes
"""

from __future__ import annotations

from typing import Any

HEAD = 10.0
"""The most seconds from a connection, or from the first byte of its next request, to the end of the request's head."""
EACH, MOST = 32, 80
"""How many connections one address, and all together, may have."""


def protocol() -> Any:
    """Return uvicorn's protocol with these bounds; a class of its own for each server."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    here: list[Any] = []  # from the oldest one on

    class BoundedProtocol(H11Protocol):
        head: Any = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            address = self.client[0] if self.client else ""
            beside = [one for one in here if one.address == address]
            self.address = address
            here.append(self)
            self._wait()
            for full, among in ((len(beside) >= EACH, beside), (len(here) > MOST, here)):
                if full:
                    next((one for one in among if one.silent), self).end()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self.end()
            super().connection_lost(exc)

        @property
        def silent(self) -> bool:
            """Whether it is in no request."""
            return self.cycle is None or bool(self.cycle.response_complete)

        def end(self) -> None:
            self._forget()
            if self in here:
                here.remove(self)
            self.transport.close()

        def _wait(self) -> None:
            """Let the time for a head run, from its beginning; none runs within a request."""
            if not self.silent:
                self._forget()
            elif self.head is None:
                self.head = self.loop.call_later(HEAD, self._late)

        def _late(self) -> None:
            self.head = None
            if self.silent:
                self.end()

        def _forget(self) -> None:
            if self.head is not None:
                self.head.cancel()
                self.head = None

    return BoundedProtocol
