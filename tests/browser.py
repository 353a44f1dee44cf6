"""A real browser in tests: headless Chromium through chromedriver, by the W3C WebDriver protocol, without a further package."""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync "
    "--disable-component-update --hide-scrollbars --disable-dev-shm-usage"
)
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"

browser_there = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no chromium and chromedriver here")


class Browser:
    """A browser window of a ``size`` in pixels, within a ``with`` block; ``dark``: pages are asked for their dark colours."""

    def __init__(self, dark: bool = False, size: tuple[int, int] = (1360, 1000)) -> None:
        self._dark, self._size = dark, size

    def __enter__(self) -> Browser:
        with contextlib.closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._profile = tempfile.mkdtemp(prefix="afa-browser-")
        self._driver = subprocess.Popen([str(DRIVER), f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._base = f"http://127.0.0.1:{port}"
        try:
            self._wait_for_driver()
            flags = [*FLAGS.split(), f"--user-data-dir={self._profile}", "--window-size={},{}".format(*self._size)]
            if self._dark:
                flags.append("--blink-settings=preferredColorScheme=0")
            options = {"binary": CHROMIUM, "args": flags}
            wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self._base += f"/session/{made['sessionId']}"
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with contextlib.suppress(Exception):
            self._call("DELETE", "")
        self._driver.terminate()
        self._driver.wait(10)
        shutil.rmtree(self._profile, ignore_errors=True)

    def _wait_for_driver(self) -> None:
        for _ in range(800):
            with contextlib.suppress(OSError):
                if self._call("GET", "/status")["ready"]:
                    return
            time.sleep(0.05)
        raise RuntimeError("chromedriver does not answer")

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from None

    def open(self, url: str | Path) -> None:
        """Go to a page: an address, or a file."""
        self._call("POST", "/url", {"url": url if isinstance(url, str) else url.resolve().as_uri()})

    def run(self, script: str, *values: Any) -> Any:
        """Return what a script returns; ``values`` are its ``arguments``."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(values)})

    def wait(self, script: str, seconds: float = 40.0) -> Any:
        """Return what a script returns once it is neither false nor nothing."""
        until = time.monotonic() + seconds
        while not (found := self.run(script)):
            assert time.monotonic() < until, f"expected {script} within {seconds} s"
            time.sleep(0.05)
        return found

    def element(self, css: str) -> str:
        """Return the first element that a selector finds."""
        found: str = self._call("POST", "/element", {"using": "css selector", "value": css})[ELEMENT]
        return found

    def click(self, css: str) -> None:
        """Click an element, as a person does: it has to be seen."""
        self._call("POST", f"/element/{self.element(css)}/click", {})

    def type(self, css: str, text: str) -> None:
        """Press keys while an element has the focus."""
        self._call("POST", f"/element/{self.element(css)}/value", {"text": text})

    def text(self, css: str) -> str:
        """Return the text of an element, as it is seen."""
        found: str = self._call("GET", f"/element/{self.element(css)}/text")
        return found

    def png(self, file: str | Path) -> None:
        """Write a picture of the window."""
        Path(file).write_bytes(base64.b64decode(self._call("GET", "/screenshot")))

    def errors(self) -> list[str]:
        """Return what the page has complained of since the last time."""
        return [entry["message"] for entry in self._call("POST", "/se/log", {"type": "browser"}) if entry["level"] == "SEVERE"]
