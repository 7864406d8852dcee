"""A key is revoked while something that it signed is being admitted: the admission sees it."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections, transaction

from approvals.selectors.contract_signatures import in_force_signed
from approvals.services.candidate import candidate_admit, candidate_store
from approvals.services.contract import Seen
from approvals.services.publisher import publisher_key_add, publisher_key_revoke
from audit.core.refusal import Conflict
from tests.core.approvals.documents import refund_document
from tests.support.publishers import Publisher


def test_an_admission_that_waits_for_a_revoked_key_is_refused(acme, owner_sql):
    admin, team = acme.tenant.admin.actor, Publisher()
    key = publisher_key_add(actor=admin, publisher=team.name, public_key=team.public, at_console=True)
    document = refund_document({"/description": "Another text."})
    candidate = candidate_store(actor=admin, source=json.dumps(document), signature=team.signed(document))

    def admit():
        try:
            return candidate_admit(actor=admin, candidate_id=candidate.id, seen=Seen(in_force=1, waiting=0))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            publisher_key_revoke(actor=admin, key_id=key.id, because="Leaked.")
            admission = pool.submit(admit)
            until = time.monotonic() + 60
            while owner_sql("SELECT count(*) FROM pg_locks WHERE NOT granted") == [(0,)]:
                assert time.monotonic() < until, "the admission did not wait for the revocation"
                assert not admission.done(), admission.exception()
                time.sleep(0.02)
        with pytest.raises(Conflict) as caught:
            admission.result(60)
    assert caught.value.code == "SIGNATURE_REVOKED"
    assert {one.tool: one.number for one in in_force_signed(acme.tenant.id)}["refund_order"] == 1
