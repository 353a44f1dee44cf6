"""Who may ask the page's server, and who may change something.

    Host      an address, localhost, or the name that the server was given: no other name that is made to lead here
    Origin    of a change, where a browser says one: this very page
    token     of a change, in the header Authorization, compared in constant time; no cookie, so nothing is sent by itself

No answer allows another origin anything (CORS), and none may be shown in a frame. A page on loopback may be read without the
token; on any other address reading wants it as well.
"""

from __future__ import annotations

import ipaddress
import json
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

LONGEST = 262_144
"""The most bytes of a change."""
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Of each answer. Styles stand in the picture of the automaton, so they may be inline; scripts may not."""
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


class Gate:
    """Stands before an ASGI application and lets through what may pass; ``host`` is the name that the server was given."""

    def __init__(self, app: Any, token: str, host: str, open_to_read: bool) -> None:
        self._app, self._token, self._host, self._open = app, token.encode(), host.lower(), open_to_read

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Let a request through, or answer why not."""
        if scope["type"] != "http":
            return
        refused = self._refused(scope)
        if refused is not None:
            await _answer(send, *refused)
            return

        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start":
                kept = [(name, value) for name, value in message.get("headers", []) if name.decode().lower() not in HEADERS]
                message = {**message, "headers": [*kept, *_headers()]}
            await send(message)

        await self._app(scope, receive, sent)

    def _refused(self, scope: Any) -> tuple[int, str] | None:
        """Return the status and the words by which a request is refused; None: it may pass."""
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        hosts = headers.get("host", [])
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return 403, f"expected this server's own name in Host but got {hosts[0][:80] if hosts else None!r}"
        changes = scope["method"] not in ("GET", "HEAD")
        if changes:
            if any(origin not in (f"http://{hosts[0]}", f"https://{hosts[0]}") for origin in headers.get("origin", [])):
                return 403, f"expected a change from this page but got Origin={headers['origin'][0][:80]!r}"
            if any(site not in ("same-origin", "none") for site in headers.get("sec-fetch-site", [])):
                return 403, "expected a change from this page but got one from another site"
            if headers.get("content-type", [""])[0].split(";")[0].strip().lower() != "application/json":
                return 415, "expected JSON (Content-Type: application/json)"
            length = headers.get("content-length", [""])[0]
            if not length.isdecimal() or int(length) > LONGEST or "transfer-encoding" in headers:
                return 413, f"expected at most {LONGEST} bytes, and their number in Content-Length"
        page = scope["path"] in PUBLIC
        if (changes or not (self._open or page)) and not self._knows(headers.get("authorization", [])):
            return 401, "expected the token that the job printed at its start, as the end of the page's address (#token=..)"
        return None

    def _knows(self, given: list[str]) -> bool:
        said = given[0].removeprefix("Bearer ").encode("latin-1", "replace") if len(given) == 1 else b""
        return secrets.compare_digest(said, self._token)

    def _is_ours(self, host: str) -> bool:
        """Return whether a Host names this machine by an address, or by the name that the server was given."""
        name = host.rsplit(":", 1)[0] if not host.endswith("]") and ":" in host else host
        name = name.strip("[]").lower()
        if name in ("localhost", self._host):
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


PUBLIC = ("/", "/page.js", "/page.css", "/charts.js", "/charts.css", "/favicon.ico")
"""What says nothing of the job: the page itself, which then asks with its token."""


def _headers() -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in HEADERS.items()]


async def _answer(send: Send, status: int, text: str) -> None:
    body = json.dumps({"error": text}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *_headers()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
