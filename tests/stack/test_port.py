"""The port: taken on every address of localhost, or explained with the remedy."""

import os
import socket

import pytest

from config.stack.port import listen, wanted_port
from config.stack.process import StackError, free_port


def close(doors: list[socket.socket]) -> None:
    for door in doors:
        door.close()


def test_without_port_it_is_8000() -> None:
    assert wanted_port({}) == wanted_port({"PORT": ""}) == 8000
    assert wanted_port({"PORT": "8001"}) == 8001


@pytest.mark.parametrize("text", ["web", "0", "65536", "-1", "80 00", "８０００"])
def test_what_is_no_port_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(StackError, match=r"PORT must be a number between 1 and 65535, .* make up PORT=8001"):
        wanted_port({"PORT": text})


def test_it_listens_on_localhost_whatever_that_resolves_to() -> None:
    port = free_port()
    doors = listen(port)
    for family, address in {info[::4] for info in socket.getaddrinfo("localhost", port, type=socket.SOCK_STREAM)}:
        if family == socket.AF_INET6 and len(doors) == 1:
            continue  # this machine has no IPv6 on loopback
        socket.create_connection(address[:2], timeout=5).close()
    assert {door.getsockname()[0] for door in doors} <= {"127.0.0.1", "::1"}
    close(doors)


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
def test_a_port_in_use_is_named_with_the_remedy(address: str) -> None:
    with socket.create_server((address, 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(StackError, match=f"Port {port} is in use by another program. .* make up PORT={port + 1}"):
            listen(port)


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_a_port_in_use_on_ipv6_alone_counts_and_the_other_door_is_closed_again() -> None:
    try:
        other = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6 on loopback")
    port = other.getsockname()[1]
    with pytest.raises(StackError, match="is in use by another program"):
        listen(port)
    other.close()
    close(listen(port))


def test_a_port_that_was_used_a_moment_ago_can_be_used_again() -> None:
    port = free_port()
    doors = listen(port)
    client = socket.create_connection(("127.0.0.1", port))
    served, _ = doors[0].accept()
    served.close()
    close(doors)
    client.close()
    close(listen(port))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may listen anywhere")
def test_a_port_for_root_is_explained() -> None:
    with pytest.raises(StackError, match="may not listen on port 80"):
        listen(80)
