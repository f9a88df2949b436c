"""Starts the reader: its store, the visits to its sources, the server, the browser."""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from plausible.errors import CallError
from plausible.web.hosts import is_loopback

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette

USUAL_PORT = 8765
TRIES = 20


def serve(
    store_path: str | os.PathLike[str],
    host: str = "127.0.0.1",
    port: int | None = None,
    open_browser: bool = True,
    *,
    say: Callable[[str], None] | None = None,
) -> None:
    """Show the reader of a store until it is stopped by Ctrl-C or SIGTERM.

    Parameters
    ----------
    store_path : path
        The file of the store; it is made if there is none.
    host : str
        Where to listen. Anyone who reaches another address than the usual one can read and rate: there is no password.
    port : int, optional
        Without one, the first of 8765 to 8784 that is free. 0 is any free one.
    open_browser : bool
        Whether to show the page in the browser.
    say : callable, optional
        Told where the reader is; without it, standard error is.

    Raises
    ------
    CallError
        If the port is taken, the host is none of this machine, or another process has the store open.
    DataError
        If the file is no store.
    """
    from plausible.collecting.rounds import Rounds
    from plausible.reader.reading import Reader
    from plausible.web.app import application

    say = say or (lambda line: print(line, file=sys.stderr, flush=True))
    with _listening(host, port) as listener, Reader(store_path) as reader, Rounds(reader) as rounds:
        address = _address(host, listener.getsockname()[1])
        server = _server(application(reader, rounds, host=host))
        with _stopped_by_signals(server):
            say(f"The reader is at {address} (stop it with Ctrl-C).")
            if not is_loopback(host):
                say("Anyone who can reach this machine can read and rate there: it has no password.")
            if open_browser:
                threading.Thread(target=_show, args=(address,), daemon=True).start()
            server.run(sockets=[listener])


def _listening(host: str, port: int | None) -> socket.socket:
    """A socket that listens; so a port that is taken is found before anything is opened."""
    ports = range(USUAL_PORT, USUAL_PORT + TRIES) if port is None else [port]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in ports:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, number))
            listener.listen(128)
        except (OSError, OverflowError) as error:
            listener.close()
            if getattr(error, "errno", None) == errno.EADDRINUSE:
                continue
            raise CallError(f"can't listen at {host}:{number}: {error}") from None
        return listener
    taken = f"port {ports[0]} is" if len(ports) == 1 else f"the ports {ports[0]} to {ports[-1]} are"
    raise CallError(f"{taken} taken; choose another with --port, or --port 0 for any that is free")


def _address(host: str, port: int) -> str:
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{name}:{port}/"


def _server(app: Starlette) -> uvicorn.Server:
    import uvicorn

    config = uvicorn.Config(
        app,
        lifespan="off",
        ws="none",
        loop="asyncio",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config)


@contextmanager
def _stopped_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the server in good order, and what it stands on is closed.

    The server takes them itself while it runs, and raises them again when it has ended.
    """

    def stop(_number: int, _frame: FrameType | None) -> None:
        server.should_exit = True

    kept = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _show(address: str) -> None:
    import webbrowser

    webbrowser.open(address)
