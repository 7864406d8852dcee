"""Where an adapter may connect."""

import socket
import threading
import time

import pytest

from audit.store import addresses
from runs.tools.addresses import AddressRefused, permitted_endpoints


def permitted(host: str, port: int, *allowed: str, seconds: float = 2.0) -> list[tuple[str, int]]:
    found = permitted_endpoints(host, port, allowed=allowed, default_port=443, deadline=time.monotonic() + seconds)
    return [endpoint.sockaddr for endpoint in found]


def resolving(monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
    """Let the resolver, which belongs to the machine and not to us, give these answers for every name."""

    def getaddrinfo(host: str, port: int, **_: object) -> list[tuple[int, int, int, str, tuple[object, ...]]]:
        families = ((socket.AF_INET6 if ":" in answer else socket.AF_INET, answer) for answer in answers)
        return [(family, socket.SOCK_STREAM, 6, "", (answer, port)) for family, answer in families]

    monkeypatch.setattr(addresses.socket, "getaddrinfo", getaddrinfo)


@pytest.mark.parametrize(
    ("host", "port", "allowed"),
    [
        ("127.0.0.1", 80, ()),
        ("127.0.0.1", 80, ("127.0.0.1:81",)),
        ("127.0.0.1", 80, ("127.0.0.1",)),
        ("127.0.0.1", 80, ("::1:80", "http://127.0.0.1:80", "")),
        ("127.0.0.1", 80, ("localhost:80",)),
        ("127.0.0.2", 80, ("127.0.0.1:80",)),
        ("api.example.com", 443, ("example.com:443", "*.example.com:443", "api.example.com.evil:443")),
        ("api.example.com", 443, ("api.example.com:http",)),
    ],
)
def test_what_is_not_listed_by_host_and_port_is_refused(host: str, port: int, allowed: tuple[str, ...]) -> None:
    with pytest.raises(AddressRefused) as refused:
        permitted(host, port, *allowed)
    assert refused.value.code == "HOST_NOT_ALLOWED"
    assert "allowed_hosts" in refused.value.message


def test_a_listed_address_is_permitted_and_its_spelling_does_not_matter() -> None:
    assert permitted("127.0.0.1", 80, "127.0.0.1:80") == [("127.0.0.1", 80)]
    assert permitted("127.0.0.1", 443, "127.0.0.1") == [("127.0.0.1", 443)]
    assert permitted("::1", 80, "[0:0:0:0:0:0:0:1]:80") == [("::1", 80)]
    assert permitted("::ffff:127.0.0.1", 80, "[::ffff:127.0.0.1]:80") == [("127.0.0.1", 80)]


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.5",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "0.0.0.0",
        "100.64.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "fe80::1",
        "fd00::1",
        "::ffff:10.0.0.5",
        "::ffff:0:10.0.0.5",
        "::10.0.0.5",
        "64:ff9b::10.0.0.5",
        "64:ff9b::169.254.169.254",
        "2002:a00:5::",
        "fec0::1",
        "ff02::1",
    ],
)
def test_a_listed_name_that_resolves_into_a_private_place_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for answers in ((address,), ("93.184.215.14", address)):
        resolving(monkeypatch, *answers)
        with pytest.raises(AddressRefused) as refused:
            permitted("api.example.com", 443, "api.example.com:443")
        assert refused.value.code == "ADDRESS_NOT_ALLOWED"


def test_a_private_address_is_permitted_when_it_is_listed_beside_the_name_with_the_same_port(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolving(monkeypatch, "10.0.0.5")
    assert permitted("payments.internal", 8443, "payments.internal:8443", "10.0.0.5:8443") == [("10.0.0.5", 8443)]
    with pytest.raises(AddressRefused):
        permitted("payments.internal", 8443, "payments.internal:8443", "10.0.0.5:443")


def test_public_addresses_are_permitted_in_the_resolvers_order_without_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, "2606:4700::1111", "93.184.215.14", "2606:4700::1111")
    assert permitted("API.Example.com", 443, "api.example.com:443") == [
        ("2606:4700::1111", 443),
        ("93.184.215.14", 443),
    ]


def test_localhost_may_be_the_loopback_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(address in ("127.0.0.1", "::1") for address, _ in permitted("localhost", 80, "localhost:80"))
    resolving(monkeypatch, "10.0.0.5")
    with pytest.raises(AddressRefused):
        permitted("localhost", 80, "localhost:80")


def test_a_name_without_an_address_is_refused_with_a_sentence() -> None:
    with pytest.raises(AddressRefused) as refused:
        permitted("nowhere.invalid", 443, "nowhere.invalid:443")
    assert refused.value.code == "DNS_FAILED"


def test_a_resolver_that_hangs_does_not_outlast_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    def hang(*_: object, **__: object) -> list[object]:
        released.wait(5)
        return []

    monkeypatch.setattr(addresses.socket, "getaddrinfo", hang)
    started = time.monotonic()
    with pytest.raises(AddressRefused) as refused:
        permitted("slow.example.com", 443, "slow.example.com:443", seconds=0.2)
    released.set()
    assert refused.value.code == "DNS_FAILED"
    assert time.monotonic() - started < 1
