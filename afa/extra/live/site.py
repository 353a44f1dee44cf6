"""The server of the page: starlette on uvicorn, in a thread of its own."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import secrets
import threading
from pathlib import Path
from typing import Any, Protocol

from afa.cli.log import plain
from afa.cli.metrics_server import PATHS, listening, page_of
from afa.cli.run_metrics import RunMetrics
from afa.errors import AfaError
from afa.extra.live.board import Board, said_of
from afa.extra.live.gate import LONGEST, Gate
from afa.extra.live.picture import Picture

# Connections to the page that say nothing: they are ended after a while, and give way to those that ask.
# head        has to come within `HEAD` seconds, however slowly its bytes trickle
# an address  has at most `EACH` connections, all of them together at most `MOST`; beyond that the one that has waited longest goes
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


PAGE = Path(__file__).parent / "page"
FILES = {
    "/": ("index.html", "text/html"),
    "/page.js": ("page.js", "text/javascript"),
    "/page.css": ("page.css", "text/css"),
    "/charts.js": ("uPlot.iife.min.js", "text/javascript"),
    "/charts.css": ("uPlot.min.css", "text/css"),
}
WAIT = 5.0
"""So many seconds the server has to begin, and to end."""


class Watched(Protocol):
    """A job that runs, here or elsewhere. Its methods are called by threads of the server."""

    board: Board

    def about(self) -> dict[str, Any]:
        """Return what the page says of the job, as plain data.

        title, where  where: what it reads
        log           the folder that changes are written to, or None
        query         its text, or None
        constants     those of its text that can be tried: where each begins and ends, as it is written, its condition
        rules         of a set: of each rule what the page lists (`LiveRules`)
        controls      which of rules, swap, insert, end, query, try, sigma, speed it offers; hints: why one is not there
        at            the instant that a change of arcs holds from where the user says none, as text, or None
        sigma, speed  as they are
        unit          of the lag, "s" or "ticks"
        output        False where the output is not told
        """

    def picture(self) -> Picture:
        """Return its automaton as it is drawn now."""

    def change(self, data: dict[str, Any]) -> str | dict[str, Any]:
        """Carry out a change that the page has sent, and return what is said of it; of a trial with what was found.

        Refused (`AfaError`), nothing has changed.
        """


class Site:
    """The page of a job, served until `stop`; ``url`` is its address with the token that changes want.

    On any other host than loopback reading wants the token, too; nothing is encrypted. Port 0: any that is free. With ``metrics``
    it has their pages. An `AfaError` says that the extra ``serve`` is not installed, or that nothing can listen there.
    """

    def __init__(self, watched: Watched, *, host: str = "127.0.0.1", port: int = 0, metrics: RunMetrics | None = None) -> None:
        uvicorn = _uvicorn()
        self.token = secrets.token_urlsafe(24)
        self._socket = listening(host, port)
        self.port = int(self._socket.getsockname()[1])
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self.port}/#token={self.token}"
        app = Gate(_application(watched, metrics), self.token, host, _is_loopback(host))
        config = uvicorn.Config(
            app, log_config=None, lifespan="off", ws="none", http=protocol(), loop="asyncio", server_header=False, access_log=False,
            limit_concurrency=100, timeout_keep_alive=5, timeout_graceful_shutdown=1,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, name="afa-serve", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the server; no more than a few seconds. Can be repeated."""
        self._server.should_exit = True
        self._thread.join(WAIT)
        with contextlib.suppress(OSError):
            self._socket.close()

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def _uvicorn() -> Any:
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise AfaError(
            f'expected the packages of the live page but got none ({error}); pip install ".[serve]" in the folder of afa'
        ) from error
    return uvicorn


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _application(watched: Watched, metrics: RunMetrics | None) -> Any:
    """Return the routes: the page's files, what is shown, and changes; `PATHS` of a run that has metrics."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    def answer(data: Any, status: int = 200) -> Response:
        return Response(json.dumps(plain(data), allow_nan=False), status, media_type="application/json")

    def file(request: Request) -> Response:
        name, kind = FILES[request.scope["path"]]
        return Response((PAGE / name).read_bytes(), media_type=kind)

    def state(request: Request) -> Response:
        since, drawn = request.query_params.get("since", "0"), request.query_params.get("drawn")
        found = watched.board.since(int(since) if since.isdecimal() and len(since) < 19 else 0)
        picture = watched.picture()
        if picture.version != drawn:
            found["picture"] = picture._asdict()
        return answer({**found, "about": watched.about()})

    async def change(request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        body = await request.body()
        try:
            data = json.loads(body) if len(body) <= LONGEST else None
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            return answer({"error": "expected a change, a JSON object, but got something else"}, 422)
        try:
            found = await run_in_threadpool(watched.change, data)
            return answer(found if isinstance(found, dict) else {"said": found})
        except Exception as error:  # a function of the change may raise anything, and so may a disk
            watched.board.note("fault", said_of(error))
            return answer({"error": said_of(error)}, 422)

    def icon(request: Request) -> Response:
        return Response(status_code=204)

    def page(request: Request) -> Response:
        assert metrics is not None
        found = page_of(metrics, request.scope["path"])
        return Response(found.body, found.status, media_type=found.kind)

    routes = [Route(path, file) for path in FILES]
    routes += [] if metrics is None else [Route(path, page) for path in PATHS]
    routes += [Route("/favicon.ico", icon), Route("/state", state), Route("/change", change, methods=["POST"])]
    return Starlette(routes=routes)
