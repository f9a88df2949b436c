"""A real news server for the tests: INN from Debian's packages, set up in a temporary folder on a free port."""

from __future__ import annotations

import getpass
import grp
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

INN = Path(__file__).parents[2] / "build" / "inn"
PROGRAMS = INN / "usr" / "lib" / "news" / "bin"
GROUPS = ("control", "control.cancel", "junk", "test.words", "test.many", "test.odd", "test.empty")
CONFIGURATION = """\
mta: "/bin/true %s"
mailcmd: /bin/true
organization: plausible
ovmethod: tradindexed
hismethod: hisv6
pathhost: news.example.org
domain: example.org
server: 127.0.0.1
pathnews: {inn}/usr/lib/news
pathbin: {inn}/usr/lib/news/bin
pathcontrol: {inn}/usr/lib/news/bin/control
pathdb: {home}/db
pathetc: {home}/etc
pathfilter: {home}/filter
pathhttp: {home}/http
pathlog: {home}/log
pathrun: {home}/run
pathspool: {home}/spool
patharticles: {home}/spool/articles
pathoverview: {home}/spool/overview
pathincoming: {home}/spool/incoming
pathoutgoing: {home}/spool/outgoing
patharchive: {home}/spool/archive
pathtmp: {home}/spool/incoming/tmp
runasuser: {user}
runasgroup: {group}
bindaddress: 127.0.0.1
bindaddress6: "::1"
port: {port}
doinnwatch: false
docnfsstat: false
pgpverify: false
nnrpdloadlimit: 0
"""
FILES = {
    "storage.conf": "method tradspool {\n newsgroups: *\n class: 0\n}\n",
    "readers.conf": 'auth all {\n hosts: "*"\n default: "<r>"\n}\naccess all {\n users: "<r>"\n newsgroups: "*"\n}\n',
    "incoming.conf": 'peer ME {\n hostname: "192.0.2.1"\n}\n',
    "newsfeeds": "ME:*::\n",
    "expire.ctl": "/remember/:11\n*:A:1:10:never\n",
    "control.ctl": "all:*:*:drop\n",
    **dict.fromkeys(("moderators", "distrib.pats", "passwd.nntp", "distributions", "subscriptions"), ""),
    **dict.fromkeys(("nntpsend.ctl", "inn-secrets.conf", "localgroups"), ""),
}


@dataclass(frozen=True)
class NewsServer:
    port: int
    home: Path

    def address(self, group: str) -> str:
        return f"nntp://127.0.0.1:{self.port}/{group}"

    def post(self, article: bytes) -> None:
        """Post an article, its lines ending in a line feed, as a news reader does."""
        with socket.create_connection(("127.0.0.1", self.port), 10) as connection, connection.makefile("rwb") as talk:
            self._expect(talk.readline(), b"20")
            for command, answer in ((b"MODE READER", b"20"), (b"POST", b"340")):
                talk.write(command + b"\r\n")
                talk.flush()
                self._expect(talk.readline(), answer)
            for line in article.removesuffix(b"\n").split(b"\n"):
                talk.write((b"." if line.startswith(b".") else b"") + line + b"\r\n")
            talk.write(b".\r\n")
            talk.flush()
            self._expect(talk.readline(), b"240")

    def cancel(self, group: str, number: int) -> None:
        """Take an article out of the spool, as expiry does."""
        (self.home / "spool" / "articles" / group.replace(".", "/") / str(number)).unlink()

    @staticmethod
    def _expect(line: bytes, start: bytes) -> None:
        assert line.startswith(start), line


def installed() -> None:
    """Skip, or in CI fail, where there is no INN."""
    if not (PROGRAMS / "innd").exists():
        why = "needs the news server INN in build/inn; sh tests/collecting/services.sh lays it there"
        if os.environ.get("CI") == "true":
            pytest.fail(why + "; CI runs every test")
        pytest.skip(why)


@contextmanager
def running() -> Iterator[NewsServer]:
    """INN in a temporary folder, stopped and removed at the end. It refuses to run as root, who becomes `news`."""
    root = os.geteuid() == 0
    user, group = ("news", "news") if root else (getpass.getuser(), grp.getgrgid(os.getgid()).gr_name)
    home, programs = Path(tempfile.mkdtemp(prefix="inn-")), Path(tempfile.mkdtemp(prefix="inn-"))
    try:
        shutil.copytree(INN, programs / "inn", symlinks=True)
        port = _free_port()
        _configure(home, programs / "inn", port, user, group)
        if root:
            programs.chmod(0o755)
            for path in (home, *home.rglob("*")):
                shutil.chown(path, user, group)
        server = _start(
            home, programs / "inn", port, {"user": user, "group": group, "extra_groups": []} if root else {}
        )
        try:
            yield NewsServer(port, home)
        finally:
            server.kill()
            server.communicate()
    finally:
        shutil.rmtree(home)
        shutil.rmtree(programs)


def _configure(home: Path, inn: Path, port: int, user: str, group: str) -> None:
    spool = ("articles", "overview", "incoming/tmp", "incoming/bad", "outgoing", "archive")
    for folder in ("db", "etc", "filter", "log", "run", "http", *(f"spool/{part}" for part in spool)):
        (home / folder).mkdir(parents=True)
    for name, text in FILES.items():
        (home / "etc" / name).write_text(text)
    text = CONFIGURATION.format(inn=inn, home=home, port=port, user=user, group=group)
    (home / "etc" / "inn.conf").write_text(text)
    may_post = {name: "y" if name.startswith("test") else "n" for name in GROUPS}
    (home / "db" / "active").write_text("".join(f"{name} 0000000000 0000000001 {may_post[name]}\n" for name in GROUPS))
    for name in ("newsgroups", "active.times", "history"):
        (home / "db" / name).touch()


def _start(home: Path, inn: Path, port: int, who: dict[str, object]) -> subprocess.Popen[bytes]:
    programs = inn / "usr" / "lib" / "news" / "bin"
    environment = {
        **os.environ,
        "INNCONF": str(home / "etc" / "inn.conf"),
        "LD_LIBRARY_PATH": ":".join(map(str, (inn / "usr/lib/news", *(inn / "usr/lib").glob("*-linux-gnu")))),
        "PERL5LIB": str(inn / "usr/share/perl5"),
    }
    base = [programs / "makedbz", "-i", "-o", "-s", "1000"]
    subprocess.run(base, env=environment, cwd=home / "db", check=True, **who)  # type: ignore[call-overload]
    command = [programs / "innd", "-d", "-P", str(port)]
    server = subprocess.Popen(
        command, env=environment, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **who
    )  # type: ignore[call-overload]
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return server
        except OSError:
            time.sleep(0.05)
    server.kill()
    raise RuntimeError(f"INN did not start: {server.communicate()[1]!r}")


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])
