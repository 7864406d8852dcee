"""The port of the web server: read from PORT, taken on every address that `localhost` means, or explained."""

import contextlib
import errno
import socket
from collections.abc import Mapping

from config.stack.process import StackError

DEFAULT = 8000
ADDRESSES = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))


def wanted_port(caller: Mapping[str, str]) -> int:
    """PORT, or 8000. Raises StackError for anything that is no port."""
    text = caller.get("PORT") or str(DEFAULT)
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65_536:
        raise StackError(f"PORT must be a number between 1 and 65535, not {text!r}. Try: make up PORT=8001")
    return int(text)


def listen(port: int) -> list[socket.socket]:
    """Listening sockets for `port` on loopback (IPv4, and IPv6 where there is any). Raises StackError when in use."""
    taken: list[socket.socket] = []
    try:
        for family, address in ADDRESSES:
            # On macOS a bind succeeds beside somebody who listens on all addresses; only asking shows that.
            with contextlib.suppress(OSError), socket.create_connection((address, port), timeout=1):
                raise StackError(in_use(port))
            try:
                door = socket.socket(family)
                taken.append(door)
                door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                door.bind((address, port))
                door.listen(2048)
            except OSError as error:
                if family == socket.AF_INET6 and error.errno in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
                    taken.pop().close()
                    continue
                raise StackError(_explain(port, error)) from error
    except BaseException:
        for door in taken:
            door.close()
        raise
    return taken


def in_use(port: int) -> str:
    other = port + 1 if port < 65_535 else port - 1
    return f"Port {port} is in use by another program. End that program, or choose another port: make up PORT={other}"


def _explain(port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return in_use(port)
    if error.errno == errno.EACCES:
        return f"This user may not listen on port {port}. Choose one above 1023: make up PORT={DEFAULT}"
    return f"Port {port} cannot be used: {error.strerror}. Choose another one: make up PORT={DEFAULT + 1}"
