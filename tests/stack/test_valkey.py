"""The embedded Valkey: loopback, with a password, at one address for its whole life."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.stack.process import StackError
from config.stack.servers import Valkey, start_valkey
from tests.stack.support import alive, mode

pytestmark = pytest.mark.stack


@pytest.fixture
def valkey(folder: Path) -> Iterator[Valkey]:
    server = start_valkey(folder / "vk")
    yield server
    server.stop()


def test_it_answers_with_the_password(valkey: Valkey) -> None:
    assert redis.Redis.from_url(valkey.url).ping()


def test_it_refuses_without_the_password(valkey: Valkey) -> None:
    for password in (None, "guess"):
        client = redis.Redis(port=valkey.port, password=password, retry=Retry(NoBackoff(), 0))
        with pytest.raises(redis.AuthenticationError):
            client.ping()


def test_it_listens_on_loopback_only(valkey: Valkey) -> None:
    assert redis.Redis.from_url(valkey.url).config_get("bind") == {"bind": "127.0.0.1"}


def test_the_password_lies_in_private_files_only(valkey: Valkey, folder: Path) -> None:
    assert mode(folder / "vk" / "valkey.conf") == mode(folder / "vk" / "passwords" / "default") == "0o600"
    if os.path.exists("/proc/self/cmdline"):
        assert valkey.password not in Path(f"/proc/{valkey.pid}/cmdline").read_text()


def test_after_a_kill_it_starts_again_at_the_same_address(valkey: Valkey) -> None:
    address = valkey.url
    valkey.process.send_signal(signal.SIGKILL)
    valkey.process.wait(10)
    valkey.restart()
    assert valkey.url == address
    assert redis.Redis.from_url(address).ping()


def test_stop_ends_it_and_a_second_stop_does_no_harm(folder: Path) -> None:
    server = start_valkey(folder / "vk")
    server.stop()
    server.stop()
    assert not alive(server.pid)


def test_a_second_one_on_the_same_folder_is_refused(valkey: Valkey, folder: Path) -> None:
    with pytest.raises(StackError, match=f"already run by process {os.getpid()}"):
        start_valkey(folder / "vk")


def test_a_port_that_somebody_else_took_is_not_mistaken_for_ours(valkey: Valkey) -> None:
    valkey.stop()
    with socket.create_server(("127.0.0.1", valkey.port)):
        with pytest.raises(StackError, match="Valkey did not start; its last lines"):
            valkey.restart()
