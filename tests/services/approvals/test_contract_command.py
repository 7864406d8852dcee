"""`manage.py contract`: the same services as in the browser, for contracts kept in files."""

import json
import re

import pytest
from django.core.management import CommandError, call_command

from approvals.selectors.catalogue import active_contract
from tests.core.approvals.documents import refund_document

OTHER = {"/title": "Pay an order back", "/approval": "policy", "/expires_in_s": 9000}


@pytest.fixture
def manage(acme, capsys):
    """manage(verb, …) runs a verb as the organisation's admin and returns what it wrote."""

    def run(verb, *rest):
        who = [] if verb in ("diff", "show") else ["--as", acme.tenant.admin.email]
        capsys.readouterr()
        call_command("contract", verb, *map(str, rest), "--tenant", acme.tenant.slug, *who)
        return capsys.readouterr().out

    return run


@pytest.fixture
def file(tmp_path):
    """A file with the refund tool's contract, changed."""
    path = tmp_path / "contract.json"
    path.write_text(json.dumps(refund_document(OTHER), indent=2))
    return path


def in_force(acme):
    return active_contract(acme.tenant.id, "refund_order").number


def test_a_file_is_stored_accepted_and_gone_back_from(acme, manage, file):
    said = manage("store", file, "--reason", "Longer.")
    assert in_force(acme) == 1
    candidate = re.search(r"Candidate ([0-9a-f-]{36}) of refund_order waits", said).group(1)
    assert "version 2 is in force" in manage("accept", "refund_order", candidate)
    assert in_force(acme) == 2
    assert "version 1 is in force" in manage("return", "refund_order", 1, "--reason", "Too long.")
    assert in_force(acme) == 1
    assert "is retired" in manage("retire", "refund_order")
    assert active_contract(acme.tenant.id, "refund_order") is None


def test_what_waits_is_counted_where_a_candidate_is_accepted(acme, manage, file):
    acme.hold()
    candidate = re.search(r"Candidate (\S+) of", manage("store", file)).group(1)
    assert "1 waiting proposals are refused" in manage("accept", "refund_order", candidate)


def test_a_difference_is_told_and_a_looser_one_ends_with_an_error(manage, file, capsys):
    with pytest.raises(CommandError, match="1 looser than version 1") as caught:
        manage("diff", file)
    assert caught.value.returncode == 1
    out = capsys.readouterr().out
    assert "looser: time to decide (s): an approval holds longer [900 -> 9,000]" in out
    assert "other: title" in out
    file.write_text(json.dumps(refund_document()))
    assert "says the same as version 1" in manage("diff", file)


def test_yaml_is_taken_and_its_faults_have_lines(acme, manage, tmp_path):
    import yaml

    path = tmp_path / "contract.yaml"
    path.write_text("# ours\n" + yaml.safe_dump(refund_document(OTHER), sort_keys=False))
    assert "version 2 is in force" in manage("admit", path)
    path.write_text(path.read_text().replace("side_effect: irreversible", "side_effect: harmless"))
    with pytest.raises(CommandError, match=r"line \d+, /side_effect"):
        manage("store", path)
