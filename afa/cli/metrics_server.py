"""The pages that services ask of a run: /metrics for Prometheus, /healthz for what restarts it; `--metrics` serves them alone."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from afa.cli.fault import CommandError, one_line, tell
from afa.cli.run_metrics import RunMetrics
from afa.errors import AfaError

PATHS = ("/metrics", "/healthz")
NOT_TAKING = ("failed", "ended")
"""In which status a run takes no rows."""
WAIT = 5.0
"""The most seconds that the server waits for the next bytes of a request."""
MOST = 16
"""The most requests that are answered side by side."""


class ServicePage(NamedTuple):
    """An answer."""

    status: int
    kind: str
    body: bytes


def page_of(run: RunMetrics, path: str) -> ServicePage:
    """Return the page of a run at one of `PATHS`; at any other path one that says so."""
    if path == "/healthz":
        status = run.status
        return _said(503 if status in NOT_TAKING else 200, status)
    if path != "/metrics":
        return _said(404, f"expected {' or '.join(PATHS)}")
    from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

    try:
        return ServicePage(200, CONTENT_TYPE_LATEST, generate_latest(run.registry))
    except Exception as error:  # the run goes on
        return _said(500, one_line(error))


def _said(status: int, text: str) -> ServicePage:
    return ServicePage(status, "text/plain; charset=utf-8", f"{text}\n".encode())


class PageRequest(BaseHTTPRequestHandler):
    """A request, of which nothing is read but that it is GET, and for which page."""

    timeout = WAIT
    server: PageServer

    def do_GET(self) -> None:
        page = page_of(self.server.run, self.path.partition("?")[0])
        self.send_response(page.status)
        self.send_header("content-type", page.kind)
        self.send_header("content-length", str(len(page.body)))
        self.send_header("x-content-type-options", "nosniff")
        self.end_headers()
        self.wfile.write(page.body)

    def version_string(self) -> str:
        return "afa"

    def log_message(self, *said: Any) -> None:
        """Say nothing: a request is no event of the run."""


class PageServer(ThreadingHTTPServer):
    """Serves `PATHS`, each request in a thread of its own; `MOST` of them."""

    daemon_threads = True

    def __init__(self, host: str, port: int, run: RunMetrics) -> None:
        super().__init__((host, port), PageRequest, bind_and_activate=False)
        self.socket.close()
        self.socket, self.run, self._room = listening(host, port), run, threading.Semaphore(MOST)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        return self._room.acquire(blocking=False)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of who has asked and gone away."""


@contextlib.contextmanager
def served(address: str | None) -> Iterator[RunMetrics | None]:
    """Serve the pages of a run at ``PORT`` or ``HOST:PORT`` until it is over; None: of none."""
    if address is None:
        yield None
        return
    host, _, port = address.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65_535:
        raise CommandError(f"expected --metrics PORT or HOST:PORT but got {address}")
    run = RunMetrics()
    server = PageServer(host, int(port), run)
    where = f"http://{f'[{host}]' if ':' in host else host}:{server.socket.getsockname()[1]}"
    threading.Thread(target=server.serve_forever, args=(0.1,), name="afa-metrics", daemon=True).start()
    url = f"{where}/metrics"
    tell(f"{url} tells the run's numbers, {where}/healthz whether it takes rows", "metrics", "info", url=url)
    try:
        yield run
    finally:
        server.shutdown()
        server.server_close()


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens there; port 0: at any that is free."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, proto)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(address)
            found.listen(128)
        except OSError:
            found.close()
            raise
    except (OSError, OverflowError) as error:
        raise AfaError(f"expected an address to listen on but got host={host!r}, port={port}: {error}") from None
    return found
