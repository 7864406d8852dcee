"""Secrets: made once, private, never replaced."""

from pathlib import Path

from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from config.stack.secrets import ROLES, ensure_secrets
from tests.stack.support import mode


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_every_file_is_private_and_so_is_every_folder(tmp_path: Path) -> None:
    found = ensure_secrets(tmp_path / "secrets")
    files = [file for file in found.folder.rglob("*") if file.is_file()]
    assert len(files) == 3 + len(ROLES) + 1
    assert {mode(file) for file in files} == {"0o600"}
    assert {mode(folder) for folder in (found.folder, found.token_keys, found.demo)} == {"0o700"}


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    found = ensure_secrets(tmp_path / "secrets")
    before = contents(found.folder)
    ensure_secrets(tmp_path / "secrets")
    assert contents(found.folder) == before


def test_files_that_others_could_read_are_closed(tmp_path: Path) -> None:
    found = ensure_secrets(tmp_path / "secrets")
    found.django_key.chmod(0o644)
    found.demo.chmod(0o755)
    ensure_secrets(tmp_path / "secrets")
    assert (mode(found.django_key), mode(found.demo)) == ("0o600", "0o700")


def test_what_is_missing_after_an_interrupted_start_is_made_and_the_rest_kept(tmp_path: Path) -> None:
    found = ensure_secrets(tmp_path / "secrets")
    before = contents(found.folder)
    found.credential_key.unlink()
    ensure_secrets(tmp_path / "secrets")
    after = contents(found.folder)
    assert after.keys() == before.keys()
    assert [name for name in after if after[name] != before[name]] == [str(found.credential_key)]


def test_an_empty_file_left_by_a_full_disk_is_filled(tmp_path: Path) -> None:
    found = ensure_secrets(tmp_path / "secrets")
    found.django_key.write_text("")
    ensure_secrets(tmp_path / "secrets")
    assert len(found.django_key.read_text().strip()) >= 32


def test_the_keys_are_of_the_kinds_that_the_product_reads(tmp_path: Path) -> None:
    found = ensure_secrets(tmp_path / "secrets")
    Fernet(found.credential_key.read_text().strip())
    (pem,) = found.token_keys.glob("*.pem")
    assert isinstance(load_pem_private_key(pem.read_bytes(), None), Ed25519PrivateKey)
    assert found.payments_key().startswith("sk_test_")


def test_each_role_has_a_password_of_its_own(tmp_path: Path) -> None:
    found = ensure_secrets(tmp_path / "secrets")
    assert len({found.password(role) for role in ROLES}) == 4
    assert all(len(found.password(role)) >= 24 for role in ROLES)
