"""The reader starts on this machine only, says where it is, and stops without losing anything."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from plausible.errors import CallError
from plausible.web.serving import serve
from tests.web.browsing import START, Served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    server = Served(tmp_path / "reader.db")
    yield server
    server.stop()


def fetch(address: str) -> str:
    with urllib.request.urlopen(address, timeout=10) as answer:
        text: str = answer.read().decode()
    return text


def test_it_listens_on_this_machine_only(served: Served) -> None:
    assert "Nothing to read yet" in fetch(served.address)
    listening = Path("/proc/net/tcp").read_text().splitlines()[1:]
    places = {line.split()[1] for line in listening if line.split()[3] == "0A"}
    port = f"{served.port:04X}"
    assert {place for place in places if place.endswith(f":{port}")} == {f"0100007F:{port}"}


def test_a_second_process_on_the_same_store_is_refused(served: Served) -> None:
    second = subprocess.run(
        [sys.executable, "-c", START, str(served.store), "0"], capture_output=True, text=True, timeout=30
    )
    assert second.returncode != 0
    assert "CallError" in second.stderr
    assert "Nothing to read yet" in fetch(served.address), "the first goes on"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_when_told_and_leaves_the_store_free(served: Served, number: int) -> None:
    assert served.stop(number) == 0
    assert "Traceback" not in served.said
    served.start()
    assert "Nothing to read yet" in fetch(served.address)


def test_a_port_that_is_taken_is_said_before_the_store_is_made(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(CallError, match=f"port {port} is taken; choose another"):
            serve(tmp_path / "reader.db", port=port, open_browser=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("host", "port"), [("203.0.113.7", 0), ("no.such.host.invalid", 0), ("127.0.0.1", 70000)])
def test_a_place_where_it_can_not_listen_is_an_error_of_the_call(tmp_path: Path, host: str, port: int) -> None:
    with pytest.raises(CallError, match="can't listen"):
        serve(tmp_path / "reader.db", host=host, port=port, open_browser=False)


def test_what_it_needs_is_loaded_late() -> None:
    heavy = "jinja2, starlette, uvicorn, nh3, feedparser, numpy, duckdb"
    code = f"import sys, plausible.web; print([name for name in '{heavy}'.split(', ') if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
