"""`manage.py policy` and `manage.py contract`."""

import json

import pytest
from django.core.management import CommandError, call_command

from approvals.selectors.catalogue import active_contract
from approvals.selectors.policies import policy_in_force
from tests.core.approvals.documents import refund_document
from tests.support import factories
from tests.support.approvals import POLICY, asking


@pytest.fixture
def manage(acme, capsys):
    """manage("policy", "show", …) runs a command in the tenant and returns what it wrote to standard output."""

    def run(command, verb, *rest, by=None):
        who = ["--as", (by or acme.tenant.admin).email] if verb in ("publish", "check", "admit") else []
        capsys.readouterr()
        call_command(command, verb, *map(str, rest), "--tenant", acme.tenant.slug, *who)
        return capsys.readouterr().out

    return run


@pytest.fixture
def file(tmp_path):
    """file(text) is a file with that text."""

    def write(text, name="file"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_a_policy_is_published_from_a_file_and_shown_as_written(acme, manage, file):
    source = POLICY + "# more\n"
    assert "Version 2" in manage("policy", "publish", file(source), "--based-on", 1)
    assert manage("policy", "show") == source
    assert manage("policy", "show", "--number", 1) == POLICY


def test_a_file_made_from_an_older_version_is_refused_with_the_difference(acme, manage, file):
    manage("policy", "publish", file(POLICY + "# theirs\n"), "--based-on", 1)
    with pytest.raises(CommandError) as caught:
        manage("policy", "publish", file(POLICY + "# mine\n"), "--based-on", 1)
    assert acme.tenant.admin.name in str(caught.value)
    assert "\n+# theirs" in str(caught.value)
    assert policy_in_force(acme.tenant.id).number == 2


def test_a_policy_with_faults_is_refused_with_the_line_of_each(manage, file):
    with pytest.raises(CommandError, match=r"\n  3: "):
        manage("policy", "publish", file("version: 1\nrules:\n  - {id: a, tool: get_order, effect: maybe}\n"))


def test_a_check_says_what_stands_against_a_file_and_publishes_nothing(acme, manage, file):
    assert "Nothing stands against it" in manage("policy", "check", file(POLICY))
    with pytest.raises(CommandError, match="1 findings"):
        manage("policy", "check", file(asking(("nobody", 1))))
    assert policy_in_force(acme.tenant.id).number == 1


def test_a_contract_is_admitted_from_a_file_and_shown(acme, manage, file):
    document = refund_document({"/title": "Pay back"})
    assert "refund_order version 2 is in force." in manage("contract", "admit", file(json.dumps(document)))
    assert "admitted before" in manage("contract", "admit", file(json.dumps(document)))
    assert json.loads(manage("contract", "show", "refund_order")) == document
    assert json.loads(manage("contract", "show", "refund_order", "--number", 1)) == refund_document()


def test_a_contract_with_faults_is_refused_with_the_place_of_each(acme, manage, file):
    with pytest.raises(CommandError, match=r"\n  line 1, /approval: "):
        manage("contract", "admit", file(json.dumps(refund_document({"/approval": "never"}))))
    assert active_contract(acme.tenant.id, "refund_order").number == 1


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"a": 1, "a": 2}', b"\xff"])
def test_a_file_that_is_no_json_object_is_refused(manage, file, body):
    with pytest.raises(CommandError):
        manage("contract", "admit", file(body))


def test_only_an_admin_of_the_organisation_may(acme, manage, file):
    reviewer = acme.mara
    stranger = factories.tenant().admin
    for person, words in ((reviewer, "Only an admin"), (stranger, "no active member")):
        with pytest.raises(CommandError, match=words):
            manage("policy", "publish", file(POLICY + "# x\n"), by=person)
        with pytest.raises(CommandError, match=words):
            manage("contract", "admit", file(json.dumps(refund_document())), by=person)


def test_what_is_not_there_is_said(acme, manage, file, tmp_path):
    for words, call in (
        ("cannot be read", ("policy", "publish", tmp_path / "none")),
        ("cannot be read", ("contract", "admit", tmp_path / "none")),
        ("not UTF-8", ("policy", "check", file(b"\xff\xfe"))),
        ("no such version", ("policy", "show", "--number", 9)),
        ("no such version", ("contract", "show", "send_mail")),
    ):
        with pytest.raises(CommandError, match=words):
            manage(*call)
    with pytest.raises(CommandError, match="no organisation nowhere"):
        call_command("policy", "show", "--tenant", "nowhere")
    with pytest.raises(CommandError, match="nothing is allowed"):
        call_command("policy", "show", "--tenant", factories.tenant().slug)
