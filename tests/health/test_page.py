"""The Health page, its API and the banner: who sees them, what they count, what they say."""

import pytest
from django.db import connection

from config.health import report
from config.health.looking import Looking, Seen
from config.health.parts import Part
from config.health.words import MEANINGS
from runs.services import sending
from runs.services.restore import database_restored
from tests.api.client import browser
from tests.support import factories
from tests.support.world import row

IMPAIRED = {"broker": Part("impaired", "It does not answer (ConnectionError)."), "database": Part("ok", "It answers.")}
FINE = {"database": Part("ok", "It answers.")}


@pytest.fixture
def found(monkeypatch):
    """found(parts) is what the looks of this process find."""

    def find(what):
        looking = Looking({"database": lambda: what})
        monkeypatch.setattr(report, "looking", looking)
        looking.now()

    find(FINE)
    return find


@pytest.fixture
def operator(acme, signed_in):
    return signed_in(factories.person(acme, roles=["operator"], name="Ola Brandt"))


@pytest.mark.parametrize("role", ["operator", "admin"])
def test_operators_and_admins_read_what_is_impaired_and_what_still_works(acme, signed_in, found, role):
    found(IMPAIRED)
    html = signed_in(factories.person(acme, roles=[role])).get("/health/").content.decode()
    assert "Impaired: Valkey." in html
    assert MEANINGS["broker"].works in html
    assert "Does not: news at once." in html
    assert "1 impaired · Health" in html


@pytest.mark.parametrize("role", ["reviewer", "auditor"])
def test_others_are_refused_in_words_and_have_no_entry_in_the_navigation(acme, signed_in, found, role):
    client = signed_in(factories.person(acme, roles=[role]))
    answer = client.get("/health/")
    assert answer.status_code == 403
    assert "operators and admins" in answer.content.decode()
    assert "/health/" not in client.get("/").content.decode()
    assert client.get("/api/v1/health").json()["error"]["code"] == "ROLE_MISSING"


def test_an_agent_is_refused(acme, found):
    agent = factories.agent(acme)
    answer = browser().get("/api/v1/health", headers={"Authorization": f"Bearer {agent.token()}"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "PERSON_REQUIRED")


def test_nobody_is_sent_to_sign_in(db, found):
    assert browser().get("/health/").status_code == 302


def test_where_nothing_is_impaired_the_page_says_so_and_no_page_has_a_banner(operator, found):
    assert "Nothing is impaired." in operator.get("/health/").content.decode()
    assert "What still works" not in operator.get("/runs/").content.decode()


def test_operators_have_a_banner_on_every_page_while_something_is_impaired(operator, acme, signed_in, found):
    found(IMPAIRED)
    html = operator.get("/runs/").content.decode()
    assert "Impaired:</b> Valkey" in html
    assert 'href="/health/"' in html
    reviewer = signed_in(factories.person(acme, roles=["reviewer"]))
    assert "Impaired:" not in reviewer.get("/").content.decode()


def test_the_banner_waits_for_nothing(operator, monkeypatch):
    looking = Looking({"database": lambda: FINE})
    begun = []
    monkeypatch.setattr(looking, "refresh", lambda: begun.append(1))
    monkeypatch.setattr(looking, "now", lambda: pytest.fail("a page waited for a look"))
    monkeypatch.setattr(report, "looking", looking)
    assert operator.get("/runs/").status_code == 200
    assert begun == [1]


def test_what_was_found_long_ago_is_not_told(operator, monkeypatch):
    looking = Looking({})
    looking._seen = Seen(IMPAIRED, at=-1000.0)
    monkeypatch.setattr(looking, "refresh", lambda: None)
    monkeypatch.setattr(report, "looking", looking)
    assert "Impaired:" not in operator.get("/runs/").content.decode()


def test_htmx_gets_the_body_alone(operator, found):
    html = operator.get("/health/", headers={"HX-Request": "true"}).content.decode()
    assert html.lstrip().startswith('<div class="stack" id="health"')
    assert "<html" not in html


def test_the_queues_are_counted_with_their_oldest_age_and_for_the_own_organisation_alone(world, found):
    waits = world.held()
    world.decide(world.held())  # approved, not taken up
    run = world.run()
    world.refund(run, world.order())  # to be evaluated
    other = factories.tenant("other-place")
    theirs = browser(factories.person(other, roles=["operator"])).get("/api/v1/health").json()
    assert {each["count"] for each in theirs["waiting"]} == {0}

    said = browser(world.tenant.admin).get("/api/v1/health").json()
    counts = {each["queue"]: each["count"] for each in said["waiting"]}
    assert counts == {
        "ready": 1, "claimed": 0, "started": 0, "unknown": 0, "pending": 1, "resolutions": 1, "owed": 0,
    }  # fmt: skip
    ages = {each["queue"]: each["oldest_s"] for each in said["waiting"]}
    assert ages["pending"] > 0
    assert ages["claimed"] is None
    assert waits.state == "waiting"


def test_an_unknown_outcome_and_a_request_under_way_are_counted(world, found, owner_sql):
    call = world.held()
    world.decide(call)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sending, "dispatch_send", lambda **_: (_ for _ in ()).throw(SystemExit))
        with pytest.raises(SystemExit):
            world.work(call)
    assert counted(world)["started"] == 1
    database_restored(always=True)
    assert row(call).state == "unknown"
    assert (counted(world)["started"], counted(world)["unknown"]) == (0, 1)


def counted(world):
    said = browser(world.tenant.admin).get("/api/v1/health").json()
    return {each["queue"]: each["count"] for each in said["waiting"]}


def test_entries_that_are_owed_are_counted_for_their_organisation(acme, found, owner_sql):
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO audit_owed (at, entry, reason) "
            "VALUES (clearance_now(), jsonb_build_object('tenant_id', %s), '')",
            [acme.id],
        )
    client = browser(factories.person(acme, roles=["operator"]))
    counts = {each["queue"]: each["count"] for each in client.get("/api/v1/health").json()["waiting"]}
    assert counts["owed"] == 1
