"""Hosts: which one an address names, and who can reach it."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def host_of(address: str) -> str:
    """The host in a Host header or an address, without its port: `[::1]:80` is `::1`.

    >>> host_of("localhost:8000"), host_of("[::1]:8000"), host_of("http://127.0.0.1/x")
    ('localhost', '::1', '127.0.0.1')
    """
    try:
        return urlsplit(address if "//" in address else f"//{address}").hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens at `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_numeric(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
