"""A wrong installation is told before it starts."""

import pytest
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from django.core.checks import run_checks
from django.core.checks.registry import registry

from access import checks


def pem(key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def write(path, content: bytes, mode: int = 0o600) -> None:
    path.write_bytes(content)
    path.chmod(mode)


def ids(found) -> list[str]:
    assert all(message.hint for message in found), "every finding says what to do"
    return [message.id for message in found]


def test_the_checks_run_with_djangos():
    found = {message.id for message in run_checks()}
    assert not {"access.E001", "access.E002", "access.E003", "access.E004"} & found
    registered = registry.get_checks()
    assert all(check in registered for check in (checks.token_keys, checks.credential_key, checks.base_url))


@pytest.mark.parametrize("exists", [True, False])
def test_a_folder_without_keys_is_an_error(tmp_path, settings, exists):
    settings.TOKEN_KEYS_DIR = str(tmp_path if exists else tmp_path / "away")
    assert ids(checks.token_keys()) == ["access.E001"]


def test_good_keys_are_no_finding(tmp_path, settings):
    settings.TOKEN_KEYS_DIR = str(tmp_path)
    write(tmp_path / "a.pem", pem(ed25519.Ed25519PrivateKey.generate()))
    (tmp_path / "README").write_text("not a key and no *.pem")
    assert checks.token_keys() == []


def test_a_wrong_key_beside_a_good_one_is_an_error_that_names_it(tmp_path, settings):
    settings.TOKEN_KEYS_DIR = str(tmp_path)
    write(tmp_path / "a.pem", pem(ed25519.Ed25519PrivateKey.generate()))
    write(tmp_path / "b.pem", pem(ec.generate_private_key(ec.SECP256R1())))
    (found,) = checks.token_keys()
    assert found.id == "access.E004"
    assert "b.pem" in found.msg


def test_a_key_that_everybody_can_read_is_a_warning(tmp_path, settings):
    settings.TOKEN_KEYS_DIR = str(tmp_path)
    write(tmp_path / "a.pem", pem(ed25519.Ed25519PrivateKey.generate()), 0o644)
    assert ids(checks.token_keys()) == ["access.W001"]


@pytest.mark.parametrize("content", [None, b"", b"nonsense", b"A" * 43 + b"=\nnonsense\n"])
def test_a_wrong_credential_key_is_an_error(tmp_path, settings, content):
    settings.CREDENTIAL_KEY_FILE = str(tmp_path / "key")
    if content is not None:
        write(tmp_path / "key", content)
    assert ids(checks.credential_key()) == ["access.E002"]


def test_a_credential_key_is_no_finding_unless_everybody_can_read_it(tmp_path, settings):
    settings.CREDENTIAL_KEY_FILE = str(tmp_path / "key")
    write(tmp_path / "key", Fernet.generate_key())
    assert checks.credential_key() == []
    (tmp_path / "key").chmod(0o604)
    assert ids(checks.credential_key()) == ["access.W002"]


@pytest.mark.parametrize("url", ["http://localhost:8000", "https://clearance.example.org"])
def test_a_site_is_a_good_base(settings, url):
    settings.BASE_URL = url
    assert checks.base_url() == []


@pytest.mark.parametrize(
    "url", ["localhost:8000", "https://clearance.example.org/", "ftp://x", "https://x/y", "https:///"]
)
def test_what_is_no_site_is_an_error(settings, url):
    settings.BASE_URL = url
    assert ids(checks.base_url()) == ["access.E003"]


@pytest.mark.parametrize(
    ("url", "proxies", "found"),
    [("https://c.example", 0, ["access.W003"]), ("https://c.example", 1, []), ("http://localhost:8000", 0, [])],
)
def test_a_site_behind_a_proxy_that_nobody_declared_is_a_warning(settings, url, proxies, found):
    settings.BASE_URL, settings.TRUSTED_PROXIES = url, proxies
    assert ids(checks.behind_a_proxy()) == found


@pytest.mark.parametrize(
    ("url", "kind", "found"),
    [
        ("https://c.example", "off", ["access.W004"]),
        ("https://c.example", "file", ["access.W004"]),
        ("https://c.example", "smtp", []),
        ("http://localhost:8000", "off", []),
    ],
)
def test_a_site_that_sends_no_mail_is_a_warning(settings, url, kind, found):
    from config.env import Mail

    settings.BASE_URL, settings.MAIL = url, Mail(kind, "Mail is not set up.", "a@b.example", {})
    assert ids(checks.mail_set_up()) == found
