"""Starts the Stripe-compatible payment server of the demo on a loopback port that it keeps over restarts."""

import contextlib
import os
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from config.stack import process as tools
from config.stack.children import Child
from config.stack.environment import KEPT, ROOT


def kept_port(folder: Path) -> int:
    """The port of the starts before when it is free, else another one; noted in `folder`/port.

    Kept because it stands in the contracts of the demo's tools: another port means another version of each.
    """
    note = folder / "port"
    with contextlib.suppress(FileNotFoundError, ValueError):
        port = int(note.read_text())
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port
    port = tools.free_port()
    tools.write_private(note, f"{port}\n")
    return port


def payment_server(folder: Path, log: Path, port: int, caller: Mapping[str, str] | None = None) -> Child:
    """The server as a child to start: state in `folder`/state, loopback only. It is given no secret of ours."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    given = os.environ if caller is None else caller
    return Child(
        command=[sys.executable, "-m", "config.stack.stripe_server", str(port), str(folder / "state")],
        log=log,
        environment={name: value for name, value in given.items() if name in KEPT},
        folder=ROOT,
        needed_by_others=True,
    )


def answers(port: int) -> bool:
    """Whether the payment server answers at all; without a key it says 401, and that is an answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/charges?limit=1", timeout=2):
            return True
    except urllib.error.HTTPError as error:
        return error.code == 401
    except OSError:
        return False
