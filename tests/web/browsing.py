"""Real things for the tests in the browser: Chromium, the reader in a process of its own, a web server with feeds."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from html import escape
from pathlib import Path
from typing import Any

import pytest

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
FEEDS = Path(__file__).parents[1] / "collecting" / "feed_server.py"
START = "import sys; from plausible.web import serve; serve(sys.argv[1], port=int(sys.argv[2]), open_browser=False)"


def absent(what: str) -> None:
    """Skip the test for want of something; in CI it fails."""
    why = f"needs {what}; `make test` installs it"
    if os.environ.get("CI") == "true":
        pytest.fail(why + "; CI runs every test")
    pytest.skip(why)


@contextmanager
def chromium() -> Iterator[Any]:
    """Debian's Chromium, with nothing in its profile."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        absent("playwright (dependency group test)")
    path = shutil.which("chromium")
    if path is None:
        absent("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


class FeedServer:
    """A web server in a process of its own, that serves a folder of feeds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process = subprocess.Popen([sys.executable, FEEDS, folder], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def put(self, name: str, title: str, items: list[tuple[str, str]]) -> str:
        """Serve a feed of items, each a title and HTML, the newest first; its address."""
        entries = "".join(
            f"<item><title>{escape(head)}</title><guid>{name}-{place}</guid>"
            f"<link>http://127.0.0.1:{self.port}/files/{name}-{place}.html</link>"
            f"<pubDate>{format_datetime(datetime.now(UTC) - timedelta(minutes=3 * place + 1))}</pubDate>"
            f"<description>{escape(body)}</description></item>"
            for place, (head, body) in enumerate(items)
        )
        head = f"<title>{escape(title)}</title><language>en</language>"
        (self.folder / name).write_text(f'<rss version="2.0"><channel>{head}{entries}</channel></rss>')
        return f"http://127.0.0.1:{self.port}/files/{name}"

    def requests(self) -> list[str]:
        log = self.folder / "requests"
        return log.read_text().splitlines() if log.exists() else []

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()


class Served:
    """The reader in a process of its own, which can be stopped, killed and started anew on the same store and port."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.port = 0
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, str(self.store), str(self.port)], stderr=subprocess.PIPE, text=True
        )
        assert self._process.stderr is not None
        line = self._process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        assert found, line + self._process.stderr.read()
        self.port = int(found[1])
        self.address = found[0].rstrip("/")

    def stop(self, number: int = signal.SIGTERM) -> int:
        if self._process.poll() is None:
            self._process.send_signal(number)
        status = self._process.wait(20)
        if self._process.stderr and not self._process.stderr.closed:
            self.said = self._process.stderr.read()
            self._process.stderr.close()
        return status
