"""A web server for the tests, in a process of its own: feeds as they are, and servers as they should not be.

`python feed_server.py FOLDER` prints its port and serves the files of FOLDER under /files/. A file NAME.headers beside
a file holds its headers, a line each; a query such as `?status=503&Retry-After=90` sets status and headers too.
Every request is a line in FOLDER/requests.
"""

from __future__ import annotations

import gzip
import sys
import time
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit
from zlib import compressobj

FOLDER = Path(sys.argv[1])
RSS = b"<rss version='2.0'><channel><title>Odd</title>"
PATIENCE = 20


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        with (FOLDER / "requests").open("a") as log:
            conditions = [f"{name}: {self.headers[name]}" for name in self.headers if name.startswith("If-")]
            log.write(f"{self.path} {'; '.join(conditions)}\n")
        parts = urlsplit(self.path)
        name = parts.path.strip("/").split("/")[0]
        try:
            getattr(self, name)(unquote(parts.path.partition("/files/")[2]), dict(parse_qsl(parts.query)))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def files(self, name: str, query: dict[str, str]) -> None:
        """A file, conditionally."""
        body = (FOLDER / name).read_bytes()
        extra = FOLDER / f"{name}.headers"
        lines = extra.read_text().splitlines() if extra.exists() else ["Content-Type: application/xml"]
        headers = dict(line.split(": ", 1) for line in lines)
        status = int(query.pop("status", 200))
        headers |= query
        headers.setdefault("ETag", f'"{sha256(body).hexdigest()[:8]}"')
        if self.headers["If-None-Match"] == headers["ETag"]:
            status, body = 304, b""
        self.answer(status, headers, body)

    def dated(self, name: str, query: dict[str, str]) -> None:
        """A file without an entity tag, by date."""
        moment = "Tue, 01 Sep 2026 00:00:00 GMT"
        unchanged = self.headers["If-Modified-Since"] == moment
        body = b"" if unchanged else (FOLDER / name).read_bytes()
        self.answer(304 if unchanged else 200, {"Last-Modified": moment}, body)

    def redirect(self, name: str, query: dict[str, str]) -> None:
        self.answer(302, {"Location": query["to"]}, b"over there")

    def loop(self, name: str, query: dict[str, str]) -> None:
        self.answer(301, {"Location": "/loop"}, b"")

    def drip(self, name: str, query: dict[str, str]) -> None:
        """A body that comes a byte at a time."""
        self.start({"Content-Length": "1000000"})
        for _ in range(PATIENCE * 10):
            self.wfile.write(b" ")
            time.sleep(0.1)

    def drip_headers(self, name: str, query: dict[str, str]) -> None:
        """Headers that come a byte at a time."""
        for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * PATIENCE * 10:
            self.wfile.write(bytes([byte]))
            time.sleep(0.1)

    def silent(self, name: str, query: dict[str, str]) -> None:
        time.sleep(PATIENCE)

    def endless(self, name: str, query: dict[str, str]) -> None:
        self.start({"Connection": "close"})
        self.wfile.write(RSS)
        for _ in range(1000):
            self.wfile.write(b"<item><title>more</title></item>" * 4096)

    def endless_headers(self, name: str, query: dict[str, str]) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for _ in range(1000):
            self.wfile.write(b"X-More: and more\r\n" * 4096)

    def bomb(self, name: str, query: dict[str, str]) -> None:
        """100 MB in 100 kB."""
        packer = compressobj(9, wbits={"gzip": 31, "deflate": 15}[query["coding"]])
        packed = b"".join(packer.compress(b" " * (1 << 20)) for _ in range(100)) + packer.flush()
        self.answer(200, {"Content-Encoding": query["coding"]}, packed)

    def packed(self, name: str, query: dict[str, str]) -> None:
        body = (FOLDER / name).read_bytes()
        if query["coding"] == "gzip":
            half = len(body) // 2
            packed = gzip.compress(body[:half]) + gzip.compress(body[half:])
        else:
            packer = compressobj(wbits={"zlib": 15, "bare": -15}[query["coding"]])
            packed = packer.compress(body) + packer.flush()
        coding = {"gzip": "gzip"}.get(query["coding"], "deflate")
        self.answer(200, {"Content-Encoding": coding}, packed[: int(query.get("cut", len(packed)))])

    def chunked(self, name: str, query: dict[str, str]) -> None:
        self.start({"Transfer-Encoding": "chunked"})
        body = (FOLDER / name).read_bytes()
        for start in range(0, len(body), 100):
            piece = body[start : start + 100]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if "cut" not in query:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def short(self, name: str, query: dict[str, str]) -> None:
        self.start({"Content-Length": "1000"})
        self.wfile.write(RSS)
        self.close_connection = True

    def garbage(self, name: str, query: dict[str, str]) -> None:
        self.wfile.write(b"220 this is no web server\r\n")
        self.close_connection = True

    def raw(self, name: str, query: dict[str, str]) -> None:
        """The bytes of a file, as all that is sent."""
        self.wfile.write((FOLDER / name).read_bytes())
        self.close_connection = True

    def start(self, headers: dict[str, str], status: int = 200) -> None:
        self.send_response(status)
        for header, value in headers.items():
            self.send_header(header, value)
        self.end_headers()

    def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.start(headers | {"Content-Length": str(len(body))}, status)
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()
