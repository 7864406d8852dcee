"""The page where a rule asks for more than an open session: what is asked stands there, and nothing typed is lost."""

import json

import pytest

from access.selectors.confirmation import means_of
from approvals.models import Decision
from tests.services.approvals.test_signed import policy
from tests.support import factories
from tests.support.approvals import world
from tests.support.passkeys import Device
from tests.web.test_proposal import text
from tests.web.test_security import add_passkey, confirm

HTMX = {"HX-Request": "true"}


@pytest.fixture
def acme(db):
    return world(policy("signed"))


def click(client, held, verdict="approve", **more):
    form = {"verdict": verdict, "digest": held.digest, "round": "1", **more}
    return client.post(f"/proposals/{held.id}/decide/", form)


def sign(client, held):
    return client.post(f"/proposals/{held.id}/sign/", {"digest": held.digest, "round": "1"})


def with_passkey(client, person):
    device = Device()
    confirm(client, person)
    add_passkey(client, device)
    return device


def test_what_approving_asks_for_stands_before_the_button(db, signed_in):
    acme = world(policy("fresh"))
    page = text(signed_in(acme.mara).get(f"/proposals/{acme.hold().id}/"))
    assert "Approving asks that you confirmed it is you within five minutes" in page
    assert "signature of your passkey" not in page
    plain = world()
    assert "Approving asks" not in text(signed_in(plain.mara).get(f"/proposals/{plain.hold().id}/"))


def test_a_refused_approval_keeps_the_reason_and_says_what_helps(db, signed_in):
    acme = world(policy("fresh"))
    held = acme.hold()
    client = signed_in(acme.mara)
    refused = click(client, held, reason="The lamp is broken.")
    assert refused.status_code == 403
    said = text(refused, 403)
    assert "needs that you confirm it is you" in said
    assert "What you typed is kept." in said
    assert "The lamp is broken." in text(client.get(f"/proposals/{held.id}/"))
    assert not Decision.objects.exists()


def test_confirming_first_leads_there_and_back_with_everything_typed(db, signed_in):
    acme = world(policy("fresh"))
    held = acme.hold()
    client = signed_in(acme.mara)
    there = f"/account/confirm/?next=%2Fproposals%2F{held.id}%2F"
    form = {"reason": "The lamp is broken."}
    assert client.post(f"/proposals/{held.id}/confirm/", form)["Location"] == there
    by_htmx = client.post(f"/proposals/{held.id}/confirm/", form, headers=HTMX)
    assert by_htmx["HX-Redirect"] == there
    back = confirm(client, acme.mara, next=f"/proposals/{held.id}/")["Location"]
    assert "The lamp is broken." in text(client.get(back))
    assert click(client, held, reason="The lamp is broken.").status_code == 302
    assert Decision.objects.get().reason == "The lamp is broken."


def test_a_signed_approval_by_the_page_and_its_document(acme, signed_in):
    held = acme.hold()
    client = signed_in(acme.mara)
    device = with_passkey(client, acme.mara)
    options = sign(client, held).json()
    assert options["publicKey"]["userVerification"] == "required"
    answer = click(client, held, nonce=options["nonce"], assertion=device.sign(options))
    assert answer.status_code == 302
    decision = Decision.objects.get()
    auditor = signed_in(factories.person(acme.tenant, roles=["auditor"]))
    assert f"/proposals/{held.id}/signatures/" in text(auditor.get(f"/proposals/{held.id}/"))
    page = text(auditor.get(f"/proposals/{held.id}/signatures/"))
    assert means_of(acme.mara.user_id).passkeys[0].fingerprint in page
    assert "holds" in page
    taken = auditor.get(f"/proposals/{held.id}/signatures/{decision.pk}/")
    assert taken["Content-Disposition"].startswith('attachment; filename="decision-')
    assert json.loads(taken.content)["signed"]["digest"] == held.digest
    assert client.get(f"/proposals/{held.id}/signatures/").status_code == 403


def test_what_is_wrong_with_a_signature_is_told_and_the_reason_stays(acme, signed_in):
    held = acme.hold()
    client = signed_in(acme.mara)
    device = with_passkey(client, acme.mara)
    assert click(client, held).status_code == 403
    options = sign(client, held).json()
    answer = click(
        client, held, reason="Broken.", nonce=options["nonce"], assertion=device.sign(options, challenge=b"x" * 32)
    )
    assert answer.status_code == 422
    said = text(answer, 422)
    assert "does not fit what was asked" in said
    assert "Broken." in said
    assert not Decision.objects.exists()


def test_the_scripts_question_is_refused_in_words(acme, signed_in):
    held = acme.hold()
    client = signed_in(acme.mara)
    refused = sign(client, held)
    assert (refused.status_code, refused.json()["code"]) == (403, "FRESH_REQUIRED")
    confirm(client, acme.mara)
    assert sign(client, held).json()["code"] == "PASSKEY_NONE"
    bad = client.post(f"/proposals/{held.id}/sign/", {"digest": held.digest, "round": "x"})
    assert bad.json()["code"] == "STALE"
