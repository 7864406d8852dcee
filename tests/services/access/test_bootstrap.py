"""The first organisation and its admin, as a service and as the command an operator types."""

import io

import pytest
from django.contrib.auth import authenticate
from django.core.management import CommandError, call_command
from django.db import DatabaseError

from access.selectors.actors import memberships_of, tenant_id_of, user_id_of
from access.services.bootstrap import tenant_bootstrap
from audit.core.refusal import Conflict, Invalid
from audit.selectors.entries import entries_page

GIVEN = {"slug": "acme", "name": "Acme", "email": "ida@acme.example", "admin_name": "Ida"}
OPTIONS = {"tenant": "acme", "email": "ida@acme.example", "tenant_name": "Acme", "name": "Ida"}


def run(monkeypatch, *, stdin: str = "", **options) -> str:
    out = io.StringIO()
    monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
    call_command("bootstrap", stdout=out, **{**OPTIONS, **options})
    return out.getvalue()


@pytest.mark.django_db
def test_the_first_organisation_comes_with_its_admin_and_a_password():
    tenant, admin = tenant_bootstrap(**GIVEN)
    assert admin.roles == ("admin",)
    assert authenticate(username="ida@acme.example", password=admin.password)
    assert [row.tenant_slug for row in memberships_of(admin.user_id)] == ["acme"]
    assert [row.action for row in entries_page(tenant.id)] == ["member.added", "tenant.created"]


@pytest.mark.django_db
def test_a_second_time_is_refused_unless_another_one_is_meant():
    tenant_bootstrap(**GIVEN)
    again = {**GIVEN, "slug": "globex", "email": "gus@globex.example"}
    with pytest.raises(Conflict) as refusal:
        tenant_bootstrap(**again)
    assert refusal.value.code == "ALREADY_BOOTSTRAPPED"
    assert tenant_id_of("globex") is None
    assert tenant_bootstrap(**again, additional=True)
    assert tenant_id_of("globex")


def test_all_or_nothing(committed_db, owner_sql):
    with pytest.raises(Invalid):
        tenant_bootstrap(**{**GIVEN, "email": "nonsense"})
    owner_sql("REVOKE INSERT ON audit_entry FROM clr_app")
    with pytest.raises(DatabaseError):
        tenant_bootstrap(**GIVEN)
    assert owner_sql("SELECT (SELECT count(*) FROM access_tenant), (SELECT count(*) FROM access_user)") == [(0, 0)]


def test_ten_at_once_make_one(committed_db, race):
    results = race(lambda i: tenant_bootstrap(**{**GIVEN, "slug": f"acme-{i}"}), 10)
    assert sum(isinstance(result, Conflict) for result in results) == 9, results


@pytest.mark.django_db
def test_the_command_prints_a_generated_password_once(monkeypatch):
    printed = run(monkeypatch, generate=True)
    password = printed.strip().rsplit(" ", 1)[1]
    assert authenticate(username="ida@acme.example", password=password)
    assert "Acme (acme) is ready" in printed


@pytest.mark.django_db
def test_the_command_takes_a_password_from_standard_input_and_prints_none(monkeypatch):
    printed = run(monkeypatch, password_stdin=True, stdin="a-long-and-good-one\n")
    assert "a-long-and-good-one" not in printed
    assert "shown only now" not in printed
    assert authenticate(username="ida@acme.example", password="a-long-and-good-one")


@pytest.mark.django_db
def test_the_command_takes_a_password_from_the_environment(monkeypatch):
    monkeypatch.setenv("CLEARANCE_BOOTSTRAP_PASSWORD", "a-long-and-good-one")
    assert "a-long-and-good-one" not in run(monkeypatch)
    assert authenticate(username="ida@acme.example", password="a-long-and-good-one")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"password_stdin": True, "stdin": "short\n"}, "too short"),
        ({"email": "nonsense"}, "not an e-mail address"),
        ({"tenant": "No Slug"}, "short name"),
    ],
)
def test_the_command_says_in_a_sentence_what_is_wrong(monkeypatch, options, sentence):
    with pytest.raises(CommandError, match=sentence):
        run(monkeypatch, **options)


@pytest.mark.django_db
def test_the_command_refuses_a_second_time_and_adds_another_when_asked(monkeypatch):
    run(monkeypatch, generate=True)
    with pytest.raises(CommandError, match="--additional"):
        run(monkeypatch, generate=True, tenant="globex")
    printed = run(monkeypatch, generate=True, tenant="globex", additional=True)
    assert "had an account already" in printed
    user_id = user_id_of("ida@acme.example")
    assert user_id
    assert {row.tenant_slug for row in memberships_of(user_id)} == {"acme", "globex"}
