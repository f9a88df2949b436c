"""Connections to servers that nobody vouches for: where they lead is checked, and they end.

A name is looked up once, every address that it has is checked, and the connection goes to an address that was
checked, so a name that changes its address in between gains nothing. Time and bytes are counted over the whole
connection, so a server that drips or never ends is left.
"""

from __future__ import annotations

import io
import socket
import ssl
import time
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any

from plausible.collecting.outcome import Limits, TooBig, Trouble

_NAT64 = IPv6Network("64:ff9b::/96")


class Budget:
    """The time and the bytes that are left of a visit."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._end = time.monotonic() + limits.seconds
        self._bytes = 0

    def seconds(self) -> float:
        """Seconds that are left; TimeoutError where there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def take(self, count: int) -> None:
        """Count bytes that came; Trouble where they are too many."""
        self._bytes += count
        if self._bytes > self.limits.size:
            raise too_big(self.limits)

    def next_answer(self) -> None:
        """Count the bytes of an answer from none."""
        self._bytes = 0


class Line(io.RawIOBase):
    """A connection whose reads and writes keep to a budget."""

    def __init__(self, connection: socket.socket, budget: Budget) -> None:
        self._connection = connection
        self.budget = budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(self.budget.seconds())
        count = self._connection.recv_into(buffer)
        self.budget.take(count)
        return count

    def send(self, data: bytes) -> None:
        self._connection.settimeout(self.budget.seconds())
        self._connection.sendall(data)

    def makefile(self, mode: str = "rb") -> io.BufferedReader:
        """The reader that `http.client.HTTPResponse` asks a socket for."""
        return io.BufferedReader(self)

    def close(self) -> None:
        self._connection.close()
        super().close()


def connect(host: str, port: int, budget: Budget, *, secure: bool, allow_private: bool) -> Line:
    """A connection to a checked address of `host`.

    Raises
    ------
    Trouble
        Where the host isn't known, doesn't answer, or any of its addresses is private and `allow_private` is not set.
    """
    addresses = _addresses(host, port, allow_private)
    failed: OSError = OSError("it has no address")
    for tried, (family, address) in enumerate(addresses):
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.settimeout(budget.seconds() / (len(addresses) - tried))
            connection.connect(address)
            connection.settimeout(budget.seconds())
            if secure:
                connection = ssl.create_default_context().wrap_socket(connection, server_hostname=host)
            return Line(connection, budget)
        except OSError as error:
            connection.close()
            if isinstance(error, ssl.SSLError):
                raise
            failed = error
    if isinstance(failed, TimeoutError):
        raise failed
    reason = (failed.strerror or str(failed)).lower()
    raise Trouble(f"{host} can't be reached on port {port} ({reason}); it may be down, and is tried again later")


def is_public(address: str) -> bool:
    """Whether an IP address lies in the open internet.

    Loopback, private, link-local, shared, multicast, reserved and documentation addresses do not, nor do IPv6
    addresses that stand for such an IPv4 address (mapped, 6to4, Teredo, NAT64).

    >>> [is_public(a) for a in ("93.184.216.34", "127.0.0.1", "::ffff:10.0.0.1", "fe80::1%eth0")]
    [True, False, False, False]
    """
    parsed = ip_address(address.partition("%")[0])
    inner = _embedded(parsed)
    if inner is not None:
        return all(is_public(str(one)) for one in inner)
    return (
        parsed.is_global
        and not parsed.is_multicast
        and not parsed.is_reserved
        and not (isinstance(parsed, IPv6Address) and parsed.is_site_local)
    )


def explained(error: OSError, host: str, limits: Limits) -> Trouble:
    """What a failure of a connection means for the user."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return Trouble(
            f"the certificate of {host} can't be trusted ({error.verify_message}); "
            "check the address, and the clock of this machine"
        )
    if isinstance(error, TimeoutError):
        return Trouble(f"{host} was not done within {limits.seconds:g} s; it may be slow, and is tried again later")
    reason = error.strerror or str(error) or type(error).__name__
    return Trouble(f"the connection to {host} broke off ({reason.lower()}); it is tried again later")


def too_big(limits: Limits) -> TooBig:
    return TooBig(
        f"it sends more than {limits.size / (1 << 20):g} MB and was left; is the address that of a feed or a newsgroup?"
    )


def _addresses(host: str, port: int, allow_private: bool) -> list[tuple[int, Any]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Trouble(f"there is no host {host!r} ({reason.lower()}); check the address, or the network") from None
    private = [address[0] for *_, address in found if not is_public(str(address[0]))]
    if private and not allow_private:
        raise Trouble(
            f"{host} lies on the private address {private[0]}, which a feed from outside must not reach; "
            "if it is yours, allow private addresses for this source"
        )
    return [(family, address) for family, _, _, _, address in found]


def _embedded(address: IPv4Address | IPv6Address) -> tuple[IPv4Address, ...] | None:
    """The IPv4 addresses that an IPv6 address stands for."""
    if isinstance(address, IPv4Address):
        return None
    if address.ipv4_mapped:
        return (address.ipv4_mapped,)
    if address.sixtofour:
        return (address.sixtofour,)
    if address.teredo:
        return address.teredo
    if address in _NAT64:
        return (IPv4Address(int(address) & 0xFFFFFFFF),)
    return None
