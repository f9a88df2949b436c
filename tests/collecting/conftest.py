"""The servers that the tests of collecting visit, each in a process of its own on 127.0.0.1."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from plausible.reader.items import Source
from tests.collecting.news_server import NewsServer, installed, running

NOW = datetime(2026, 10, 7, 12, 30, tzinfo=UTC)


class FeedServer(NamedTuple):
    """The web server: its port and the folder that it serves."""

    port: int
    folder: Path

    def address(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    def put(self, name: str, body: str | bytes, *headers: str) -> str:
        """Have a file served, and get its address."""
        (self.folder / name).write_bytes(body if isinstance(body, bytes) else body.encode())
        if headers:
            (self.folder / f"{name}.headers").write_text("\n".join(headers))
        return self.address(f"files/{name}")

    def requests(self) -> list[str]:
        log = self.folder / "requests"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture(scope="session")
def feed_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FeedServer]:
    folder = tmp_path_factory.mktemp("feeds")
    script = Path(__file__).with_name("feed_server.py")
    server = subprocess.Popen([sys.executable, script, folder], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    yield FeedServer(int(server.stdout.readline()), folder)
    server.kill()
    server.wait()
    server.stdout.close()


@pytest.fixture(scope="session")
def news_server() -> Iterator[NewsServer]:
    """INN; without it a test is skipped, and in CI it fails."""
    installed()
    with running() as server:
        yield server


def feed(address: str, **said: object) -> Source:
    """A feed on this machine that the user has allowed."""
    return Source(None, "feed", address, "", **{"allow_private": True, **said})  # type: ignore[arg-type]
