"""A Valkey of the test's own, to be killed, frozen and started again, with Django and Celery pointed at it."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from celery import Celery
from django.conf import settings
from django.test import override_settings

from config.stack.servers import Valkey, start_valkey


@contextlib.contextmanager
def own_broker(folder: Path) -> Iterator[tuple[Valkey, Celery]]:
    """A running Valkey and a Celery application that uses it; the channel layer of this process uses it too."""
    valkey = start_valkey(folder)
    app = Celery("clearance-test", set_as_current=False)
    app.conf.update({**settings.CELERY, "broker_url": valkey.url})
    layers = {
        "default": {**settings.CHANNEL_LAYERS["default"], "CONFIG": {"hosts": [valkey.url], "prefix": "clearance"}}
    }
    try:
        with override_settings(CHANNEL_LAYERS=layers):
            yield valkey, app
    finally:
        with contextlib.suppress(ProcessLookupError):
            thaw(valkey)
        valkey.stop()


def freeze(valkey: Valkey) -> None:
    """Connections stay open and nothing answers, like a hung machine."""
    os.kill(valkey.pid, signal.SIGSTOP)


def thaw(valkey: Valkey) -> None:
    """Goes on where it was stopped."""
    os.kill(valkey.pid, signal.SIGCONT)


def kill(valkey: Valkey) -> None:
    """Gone without a word."""
    os.kill(valkey.pid, signal.SIGKILL)
    valkey.process.wait()
