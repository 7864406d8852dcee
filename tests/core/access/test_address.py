"""Whose address counts."""

import pytest

from access.core.address import address_of, throttled_as


@pytest.mark.parametrize(
    ("remote", "forwarded", "proxies", "address"),
    [
        ("192.0.2.7", "", 0, "192.0.2.7"),
        ("192.0.2.7", "203.0.113.9", 0, "192.0.2.7"),  # nobody is believed without a proxy of ours
        ("10.0.0.1", "203.0.113.9", 1, "203.0.113.9"),
        ("10.0.0.1", "198.51.100.66, 203.0.113.9", 1, "203.0.113.9"),  # the caller's own words stand further left
        ("10.0.0.1", "203.0.113.9, 10.0.0.2", 2, "203.0.113.9"),
        ("10.0.0.1", "203.0.113.9", 2, "10.0.0.1"),  # fewer entries than proxies: somebody came past one of them
        ("10.0.0.1", "nonsense", 1, ""),
        ("", "", 0, ""),
        ("2001:DB8::0001", "", 0, "2001:db8::1"),
        ("::ffff:192.0.2.7", "", 0, "192.0.2.7"),
    ],
)  # fmt: skip
def test_the_address_is_the_one_that_the_outermost_trusted_proxy_saw(remote, forwarded, proxies, address):
    assert address_of(remote, forwarded, proxies) == address


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:bbbb::9", "2001:db8:1:2::/64"),
        ("", ""),
        ("nonsense", ""),
    ],
)
def test_a_network_in_which_a_host_moves_freely_is_one_caller(address, counted):
    assert throttled_as(address) == counted
