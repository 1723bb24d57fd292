"""Who is let in: hosts, origins, tokens. What a hostile page in the operator's own browser tries is refused.

A page of another origin can make the browser send requests here, and a name that it controls can be made to
point at this machine (DNS rebinding). So every request must name a host that is this machine's, everything
that changes something must come from a page of this server, and beyond loopback a token is demanded.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import ipaddress
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import urlsplit

from bondloop.errors import InputError

COOKIE = "bondloop-dashboard"


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's alone.

    Parameters
    ----------
    host
        Name or address.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def shown_name(name: str, badge: str) -> str:
    """Return the name by which a browser goes, with a mark of its badge: nobody passes for another.

    Parameters
    ----------
    name
        That it wishes.
    badge
        Its secret.

    Examples
    --------
    >>> shown_name("ada", "0123456789abcdef")
    'ada (9f9f)'
    """
    mark = hashlib.sha256(badge.encode(errors="replace")).hexdigest()[:4]
    plain = "".join(c for c in name if c.isprintable()).strip().encode()[:24].decode(errors="ignore")
    return f"{plain or 'browser'} ({mark})"


@dataclass(frozen=True)
class Refusal:
    """Why a request is not let in.

    Parameters
    ----------
    words
        The reason, as the answer says it.
    status
        Of the answer: 401 where a token would open the door, else 403.
    followed_link
        Whether it is only that a page of another site leads here, as a link does.
    """

    words: str
    status: int = 403
    followed_link: bool = False


@dataclass(frozen=True)
class Access:
    """What a request must show to be let in.

    Parameters
    ----------
    host, port
        Where the server listens.
    token
        Demanded from everybody, where it is not empty.
    secure
        Whether the server speaks TLS.
    page_port
        Where the pages are served that may send requests, if not on this very port.

    Examples
    --------
    >>> access = Access("127.0.0.1", 8750)
    >>> access.refusal({"host": "127.0.0.1:8750"}, {})
    ''
    >>> access.refusal({"host": "rebound.example:8750"}, {})
    'the host of the request is not this server'
    """

    shortest: ClassVar[int] = 16

    host: str
    port: int
    token: str = ""
    secure: bool = False
    page_port: int = 0

    def __post_init__(self) -> None:
        if not is_loopback(self.host) and not self.token:
            raise InputError(
                f"--host {self.host} can be reached from elsewhere, so a token is demanded: write one of "
                f"{self.shortest} characters or more into a file that only you can read; give --token-file"
            )
        if self.token and len(self.token) < self.shortest:
            raise InputError(
                f"the token has {len(self.token)} characters; at least {self.shortest} are expected, such as "
                'those of `python -c "import secrets; print(secrets.token_urlsafe())"`'
            )

    @property
    def pass_word(self) -> str:
        """What the cookie holds: derived from the token, so that it outlives a restart of the server."""
        return hmac.new(self.token.encode(), b"bondloop dashboard", hashlib.sha256).hexdigest()

    def is_token(self, text: str) -> bool:
        """Whether a text is the token, found out in a time that does not tell how nearly."""
        return hmac.compare_digest(text.encode(), self.token.encode())

    def refusal(self, headers: Mapping[str, str], cookies: Mapping[str, str], *, acts: bool = False) -> str:
        """Return why a request is refused, in words; nothing where it is let in.

        Parameters
        ----------
        headers, cookies
            Of the request, with names in lower case.
        acts
            Whether it changes something or opens a WebSocket: then it must name its origin.
        """
        why = self.stranger(headers, acts=acts) or self.unknown(headers, cookies)
        return "" if why is None else why.words

    def stranger(self, headers: Mapping[str, str], *, acts: bool) -> Refusal | None:
        """Return why a request does not come from a page of this server; arguments as in `refusal`."""
        if not self._is_ours(headers.get("host", "")):
            return Refusal("the host of the request is not this server")
        near = ("same-origin", "none", *(("same-site",) if self.page_port else ()))
        if headers.get("sec-fetch-site", "none") not in near:
            return Refusal("the request comes from a page of another site", followed_link=True)
        origin = headers.get("origin")
        if origin is None:
            return Refusal("the request names no origin") if acts else None
        if self._is_page(origin, headers["host"]):
            return None
        return Refusal("the request comes from another origin")

    def _is_page(self, origin: str, host: str) -> bool:
        """Whether an Origin header names a page of this server, by the name that the request has for it."""
        scheme, usual = ("https", 443) if self.secure else ("http", 80)
        try:
            page, named = urlsplit(origin), urlsplit(f"//{host}")
            found = page.scheme, page.hostname, page.port or usual
        except ValueError:
            return False
        return (
            found == (scheme, named.hostname, self.page_port or self.port)
            and origin == f"{scheme}://{page.netloc}"
        )

    def unknown(self, headers: Mapping[str, str], cookies: Mapping[str, str]) -> Refusal | None:
        """Return why a request does not have the token; arguments as in `refusal`."""
        if not self.token:
            return None
        word, _, bearer = headers.get("authorization", "").partition(" ")
        if word.lower() == "bearer" and self.is_token(bearer.strip()):
            return None
        shown = cookies.get(COOKIE, "")
        known = hmac.compare_digest(shown.encode(), self.pass_word.encode())
        return None if known else Refusal("the token is missing or wrong", 401)

    def _is_ours(self, host: str) -> bool:
        """Whether a Host header names this server: an address, which nobody can rebind, or a name of ours."""
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname or "", parts.port
        except ValueError:
            return False
        if (port or (443 if self.secure else 80)) != self.port:
            return False
        if is_loopback(self.host):
            return is_loopback(name)
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in {"localhost", self.host.lower(), socket.gethostname().lower()}
        return True


class Allowance:
    """A bucket of tokens: so many messages a second on average, and a burst of them at once.

    Parameters
    ----------
    rate
        Messages a second.
    burst
        Messages at once.
    clock
        Seconds that only increase.

    Examples
    --------
    >>> now = [0.0]
    >>> allowance = Allowance(10.0, 2, lambda: now[0])
    >>> [allowance.take() for _ in range(3)]
    [True, True, False]
    >>> now[0] = 0.1
    >>> allowance.take()
    True
    """

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left, self._at = float(burst), clock()

    def take(self) -> bool:
        """Whether one more message is allowed now."""
        now = self._clock()
        self._left = min(self._burst, self._left + self._rate * (now - self._at))
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


@contextlib.contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Listen, and end that.

    Parameters
    ----------
    host, port
        Where; port 0: any that is free.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InputError(f"--host {host}: {error.strerror or error}") from error
    with listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen(64)  # who opens the page before the server is ready waits
        except OSError as error:
            raise InputError(
                f"cannot listen at {host}:{port}: {error.strerror}; is another page served there? "
                "--port 0 takes any port"
            ) from error
        yield listener
