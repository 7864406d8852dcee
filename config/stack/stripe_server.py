"""The payment server of the demo: localstripe (a program of its own under GPL-3, used in development only).

    python -m config.stack.stripe_server PORT STATE_FILE

Its own command binds every address of the machine and shares one state file among all its users; this binds
loopback only and keeps the state where it is told.
"""

import os
import pickle
import sys
from pathlib import Path
from typing import Any

from aiohttp import web
from localstripe import resources, server


def keep_in(state: Path) -> None:
    """Loads `state` and writes it after each request that changed something, before the answer goes out."""

    def dump_to_disk(store: dict[str, Any]) -> None:
        aside = state.with_name(state.name + ".new")
        aside.write_bytes(pickle.dumps(dict(store), protocol=5))
        aside.replace(state)  # a kill leaves the old file or the new one

    # Its middleware dumps at the end of every POST and DELETE. Dumping at each assignment as well would write the
    # whole file half a dozen times for one refund.
    resources.Store.__setitem__ = dict.__setitem__
    resources.Store.__delitem__ = dict.__delitem__
    resources.Store.dump_to_disk = dump_to_disk
    if state.exists():
        resources.store.update(pickle.loads(state.read_bytes()))  # noqa: S301 - our own file, mode 0600


def main(port: int, state: Path) -> None:
    os.umask(0o077)
    keep_in(state)
    web.run_app(server.app, host="127.0.0.1", port=port, print=lambda _line: None, shutdown_timeout=1.0)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
