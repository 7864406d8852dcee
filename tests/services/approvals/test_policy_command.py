"""`manage.py policy`: what a team that keeps its policy in git does, with the same result as the pages."""

import re

import pytest
from django.core.management import CommandError, call_command

from approvals.selectors.policies import policy_in_force
from approvals.selectors.policy_drafts import drafts_open
from approvals.services import policy_draft as drafts
from tests.support import factories
from tests.support.approvals import ALLOWING, POLICY, asking

TESTED = POLICY + (
    "tests:\n"
    "  - {name: small ones are asked, tool: refund_order, arguments: {order_id: ord_1, amount: 5}, state: {left: 9, "
    "currency: AUD}, expect: {effect: ask, rule: refund}}\n"
)
FAILING = TESTED.replace("effect: ask, rule: refund}}", "effect: allow}}")


@pytest.fixture
def policy(acme, capsys, tmp_path):
    """policy("test", text, …) runs a verb of the command on a file with that text; gives what it wrote."""

    def run(verb, *rest, by=None, who=True):
        arguments = []
        for at, one in enumerate(rest):
            if isinstance(one, str) and "\n" in one:
                path = tmp_path / f"file-{at}.yaml"
                path.write_bytes(one.encode())
                one = path
            arguments.append(str(one))
        capsys.readouterr()
        as_whom = ["--as", (by or acme.tenant.admin).email] if who else []
        call_command("policy", verb, *arguments, "--tenant", acme.tenant.slug, *as_whom)
        return capsys.readouterr().out

    return run


def test_tests_in_a_file_are_run_and_counted(policy):
    out = policy("test", TESTED)
    assert "passes  small ones are asked" in out
    assert "1 tests pass." in out
    assert "There are no tests in it." in policy("test", POLICY)


def test_failing_tests_are_told_and_end_with_an_error(policy, capsys):
    with pytest.raises(CommandError, match="1 of 1 tests fail"):
        policy("test", FAILING)
    assert "expected allow; got ask 1 of finance, by refund" in capsys.readouterr().out


def test_a_file_whose_tests_fail_is_not_published_and_the_answer_names_them(acme, policy):
    with pytest.raises(CommandError, match="small ones are asked: expected allow; got ask 1 of finance"):
        policy("publish", FAILING, "--based-on", 1)
    assert policy_in_force(acme.tenant.id).number == 1


def test_findings_of_a_check_name_their_lines(policy, capsys):
    with pytest.raises(CommandError):
        policy("check", asking(("nobody", 1)))
    assert capsys.readouterr().out.startswith("line 3, /rules/0/approvers/0/group: There is no group nobody.")


def test_a_file_and_a_browser_give_the_same_version(acme, policy, client):
    """The same text by both ways: the same digest, from a file with plain line ends and a form with a browser's."""
    policy("publish", TESTED, "--based-on", 1, "--reason", "Ticket 12.")
    by_file = policy_in_force(acme.tenant.id)
    admin = acme.tenant.admin
    assert client.post("/sign-in/", {"username": admin.email, "password": admin.password}).status_code == 302
    row = drafts.policy_draft_create(actor=admin.actor, name="The same")
    form = {"verb": "publish", "revision": 1, "name": row.name, "reason": "Ticket 12."}
    answer = client.post(f"/policies/draft/{row.id}/", form | {"source": TESTED.replace("\n", "\r\n")})
    assert answer.status_code == 302, answer.content
    by_browser = policy_in_force(acme.tenant.id)
    assert (by_file.number, by_browser.number) == (2, 3)
    assert (by_file.digest, by_file.source, by_file.reason) == (by_browser.digest, by_browser.source, by_browser.reason)


def test_a_second_admin_is_asked_from_a_file_and_publishes_the_same_file(acme, policy):
    drafts.policy_second_admin_set(actor=acme.tenant.admin.actor, needed=True)
    other = factories.person(acme.tenant, roles=["admin"])
    with pytest.raises(CommandError, match="second admin"):
        policy("publish", ALLOWING, "--based-on", 1)
    assert "waits for another admin" in policy("ask", ALLOWING, "--reason", "Trusted now.")
    with pytest.raises(CommandError, match="second admin"):
        policy("publish", ALLOWING, "--based-on", 1)
    assert "Version 2" in policy("publish", ALLOWING, "--based-on", 1, by=other)
    assert drafts_open(acme.tenant.id) == []


def test_going_back_is_a_new_version(acme, policy):
    acme.publish(ALLOWING)
    assert "Version 3 is in force, with the text of version 1" in policy("rollback", 1, "--reason", "Too loose.")
    assert policy_in_force(acme.tenant.id).source == POLICY
    with pytest.raises(CommandError, match="in force already"):
        policy("rollback", 3, "--reason", "Once more.")
    with pytest.raises(CommandError, match="published version 3"):
        policy("rollback", 1, "--based-on", 2, "--reason", "From an old page.")


def test_going_back_asks_the_second_admin_where_one_is_needed(acme, policy):
    acme.publish(ALLOWING)
    drafts.policy_second_admin_set(actor=acme.tenant.admin.actor, needed=True)
    assert "waits for another admin" in policy("rollback", 1, "--reason", "Too loose.")
    assert policy_in_force(acme.tenant.id).number == 2


def test_a_difference_is_told_and_ends_with_an_error_and_the_same_text_does_not(acme, policy, capsys):
    acme.publish(POLICY + "# theirs\n")
    with pytest.raises(CommandError, match="They differ"):
        policy("diff", 1, who=False)
    assert re.search(r"^\+# theirs$", capsys.readouterr().out, re.MULTILINE)
    assert policy("diff", 2, POLICY + "# theirs\n", who=False) == ""
    with pytest.raises(CommandError, match="no version 9"):
        policy("diff", 9, who=False)


@pytest.mark.parametrize("verb", ["test", "ask", "publish", "rollback"])
def test_only_an_admin_uses_the_verbs_that_need_one(acme, policy, verb):
    rest = [1] if verb == "rollback" else [ALLOWING]
    more = ["--reason", "x"] if verb in ("ask", "rollback") else []
    with pytest.raises(CommandError, match="Only an admin"):
        policy(verb, *rest, *more, by=acme.mara)
    assert policy_in_force(acme.tenant.id).number == 1


def test_what_does_not_keep_a_policy_from_being_published_is_told_by_checking_and_by_publishing(
    acme, policy, capsys, tmp_path
):
    signed = asking(("finance", 1)).replace("expires_in_s", "authentication: signed, expires_in_s")
    with pytest.raises(CommandError, match="1 findings"):
        policy("check", signed)
    assert "nobody in it has one that works" in capsys.readouterr().out
    arguments = ["--based-on", "1", "--tenant", acme.tenant.slug, "--as", acme.tenant.admin.email]
    path = tmp_path / "signed.yaml"
    path.write_text(signed)
    call_command("policy", "publish", str(path), *arguments)
    said = capsys.readouterr()
    assert "(PASSKEYS_MISSING)" in said.err
    assert "Version 2" in said.out
