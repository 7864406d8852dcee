"""Backend credentials: written by admins, readable with the right key and in their own place only (E5)."""

import pytest
from cryptography.fernet import Fernet
from django.db import connection

from access.services.credentials import credential_reveal, credential_store
from audit.core.refusal import Forbidden, Invalid, Unavailable
from audit.selectors.entries import EntryFilters, entries_page
from tests.support import factories

SECRET = "sk_test_51Hxyz0123456789"


@pytest.fixture
def acme(db):
    return factories.tenant()


def code_of(tenant_id: str, name: str = "payments") -> str:
    with pytest.raises(Unavailable) as refusal:
        credential_reveal(tenant_id=tenant_id, name=name)
    assert SECRET not in str(refusal.value.as_dict())
    return refusal.value.code


def test_what_an_admin_stores_the_worker_reads(acme):
    assert credential_store(actor=acme.admin.actor, name="payments", secret=SECRET)
    assert credential_reveal(tenant_id=acme.id, name="payments") == SECRET
    assert not credential_store(actor=acme.admin.actor, name="payments", secret="another")
    assert credential_reveal(tenant_id=acme.id, name="payments") == "another"


def test_neither_the_row_nor_the_log_shows_it(acme):
    credential_store(actor=acme.admin.actor, name="payments", secret=SECRET)
    with connection.cursor() as cursor:
        cursor.execute("SELECT encode(ciphertext, 'escape') FROM access_backendcredential")
        assert SECRET not in cursor.fetchone()[0]
    (entry,) = entries_page(acme.id, EntryFilters(action="credential.stored"))
    assert entry.object_id == "payments"
    assert SECRET not in str(entry)


def test_a_name_that_nobody_stored_and_another_organisations_are_missing(acme):
    other = factories.tenant()
    credential_store(actor=other.admin.actor, name="payments", secret=SECRET)
    assert code_of(acme.id) == "CREDENTIAL_MISSING"


def test_the_wrong_key_opens_nothing(acme, settings, tmp_path):
    credential_store(actor=acme.admin.actor, name="payments", secret=SECRET)
    settings.CREDENTIAL_KEY_FILE = str(tmp_path / "key")
    (tmp_path / "key").write_bytes(Fernet.generate_key())
    assert code_of(acme.id) == "CREDENTIAL_UNREADABLE"


@pytest.mark.parametrize("content", ["", "not a key", None])
def test_without_a_key_nothing_is_kept_and_nothing_opened(acme, settings, tmp_path, content):
    credential_store(actor=acme.admin.actor, name="payments", secret=SECRET)
    settings.CREDENTIAL_KEY_FILE = str(tmp_path / "key")
    if content is not None:
        (tmp_path / "key").write_text(content)
    assert code_of(acme.id) == "CREDENTIAL_KEY"
    with pytest.raises(Unavailable):
        credential_store(actor=acme.admin.actor, name="other", secret=SECRET)


def test_a_key_is_rotated_by_putting_the_new_one_first(acme, settings, tmp_path):
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    for number, lines in enumerate((old, f"{new}\n{old}\n", new)):
        (tmp_path / str(number)).write_text(lines)
    settings.CREDENTIAL_KEY_FILE = str(tmp_path / "0")
    credential_store(actor=acme.admin.actor, name="payments", secret=SECRET)
    settings.CREDENTIAL_KEY_FILE = str(tmp_path / "1")
    assert credential_reveal(tenant_id=acme.id, name="payments") == SECRET
    credential_store(actor=acme.admin.actor, name="payments", secret=SECRET)
    settings.CREDENTIAL_KEY_FILE = str(tmp_path / "2")
    assert credential_reveal(tenant_id=acme.id, name="payments") == SECRET


def test_a_row_moved_to_another_place_opens_no_more(acme):
    """Whoever writes to the database must not be able to have one backend's secret sent to another."""
    other = factories.tenant()
    credential_store(actor=acme.admin.actor, name="bank", secret=SECRET)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE access_backendcredential SET name = 'mail'")
    assert code_of(acme.id, "mail") == "CREDENTIAL_UNREADABLE"
    with connection.cursor() as cursor:
        cursor.execute("UPDATE access_backendcredential SET name = 'bank', tenant_id = %s", [other.id])
    assert code_of(other.id, "bank") == "CREDENTIAL_UNREADABLE"


def test_a_changed_ciphertext_opens_no_more(acme):
    credential_store(actor=acme.admin.actor, name="payments", secret=SECRET)
    with connection.cursor() as cursor:
        # Another letter than the one that stands there, whatever that is.
        other = "CASE get_byte(ciphertext, 40) WHEN 65 THEN 66 ELSE 65 END"
        cursor.execute(f"UPDATE access_backendcredential SET ciphertext = set_byte(ciphertext, 40, {other})")
    assert code_of(acme.id) == "CREDENTIAL_UNREADABLE"


@pytest.mark.parametrize("secret", ["", "a\nb", "a\r\nX-Other: 1", "a\0b", "ä", "x" * 20_000])
def test_what_would_split_a_header_is_not_kept(acme, secret):
    with pytest.raises(Invalid) as refusal:
        credential_store(actor=acme.admin.actor, name="payments", secret=secret)
    assert refusal.value.code == "SECRET_INVALID"


def test_only_an_admin_stores_one(acme):
    for actor in (factories.person(acme, ["operator", "auditor"]).actor, factories.agent(acme).actor()):
        with pytest.raises(Forbidden):
            credential_store(actor=actor, name="payments", secret=SECRET)
    assert len(entries_page(acme.id, EntryFilters(action="credential.stored", verdict="refused"))) == 2
