"""Codes of an app, recovery codes, and the second step at the sign-in."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from access.core.confirm import session_name
from access.core.throttle import CODE_ACCOUNT
from access.models import RecoveryCode, SecondFactor
from access.selectors.confirmation import fresh_end, means_of
from access.services import confirm, passkey, second_step, signin
from access.store import codes
from audit.core.refusal import Conflict, Invalid, NotFound, TooMany, Unauthenticated
from audit.selectors.entries import EntryFilters, entries_page
from tests.services.access.test_confirm import HERE, T, added, confirmed, session
from tests.support import factories


@pytest.fixture
def anna(db):
    return factories.person(factories.tenant(), name="Anna")


def app_code(person, at=None):
    row = SecondFactor.objects.get(user_id=person.user_id)
    secret = codes.unseal(row.user_id, row.ciphertext or row.pending)
    return codes.HOTP(secret, 6, codes.SHA1()).generate(int((at or T).timestamp()) // 30).decode()


def with_app(person, stand_at):
    stand_at(T)
    actor = confirmed(person)
    second_step.app_begin(actor=actor)
    return actor, second_step.app_finish(actor=actor, code=app_code(person))


# -- codes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "code"), [(59, "287082"), (1111111109, "081804"), (1234567890, "005924"), (2000000000, "279037")]
)
def test_codes_are_those_of_rfc_6238(at, code):
    moment = datetime.fromtimestamp(at, UTC)
    assert codes.matching_step(b"12345678901234567890", code, moment, 0) == at // 30
    assert codes.matching_step(b"12345678901234567890", code, moment, at // 30) is None, "none is good twice"
    assert codes.matching_step(b"12345678901234567890", code, moment + timedelta(seconds=90), 0) is None


def test_an_apps_code_confirms_once(anna, stand_at):
    actor, _ = with_app(anna, stand_at)
    stand_at(T + timedelta(minutes=10))
    code = app_code(anna, T + timedelta(minutes=10))
    confirm.confirm_code(actor=actor, code=f" {code[:3]} {code[3:]} ", address=HERE)
    assert fresh_end(actor) == T + timedelta(minutes=15)
    with pytest.raises(Invalid) as refused:
        confirm.confirm_code(actor=actor, code=code, address=HERE)
    assert refused.value.code == "CODE_WRONG"


def test_wrong_codes_are_counted_by_account_and_a_right_password_does_not_clear_them(anna, stand_at):
    actor, _ = with_app(anna, stand_at)
    for _ in range(CODE_ACCOUNT.burst):
        with pytest.raises(Invalid):
            confirm.confirm_code(actor=actor, code="000000", address=HERE)
    confirm.confirm_password(actor=actor, password=anna.password, address=HERE)
    with pytest.raises(TooMany):
        confirm.confirm_code(actor=actor, code=app_code(anna, T + timedelta(seconds=30)), address=HERE)


def test_a_recovery_code_is_good_once_and_only_its_hash_is_kept(anna, stand_at):
    actor, made = with_app(anna, stand_at)
    assert len(made) == 10
    assert all(re.fullmatch(r"[2-9a-z]{4}(-[2-9a-z]{4}){3}", code) for code in made)
    assert not RecoveryCode.objects.filter(code_hash__in=made).exists()
    confirm.confirm_code(actor=actor, code=made[0].upper(), address=HERE)
    assert means_of(anna.user_id).codes_left == 9
    with pytest.raises(Invalid):
        confirm.confirm_code(actor=actor, code=made[0], address=HERE)
    again = second_step.recovery_renew(actor=actor)
    with pytest.raises(Invalid):
        confirm.confirm_code(actor=actor, code=made[1], address=HERE)
    confirm.confirm_code(actor=actor, code=again[0], address=HERE)


def test_an_app_counts_once_its_first_code_was_seen_in_time(anna, stand_at):
    stand_at(T)
    actor = confirmed(anna)
    shown = second_step.app_begin(actor=actor)
    assert f"secret={shown.text}" in shown.address
    assert means_of(anna.user_id).app_since is None
    with pytest.raises(Invalid):
        second_step.app_finish(actor=actor, code="000000")
    stand_at(T + timedelta(minutes=15))
    actor = confirmed(anna)
    with pytest.raises(Conflict) as refused:
        second_step.app_finish(actor=actor, code=app_code(anna, T + timedelta(minutes=15)))
    assert refused.value.code == "APP_NOT_BEGUN"


def test_the_apps_secret_is_sealed_for_its_person(anna, stand_at):
    with_app(anna, stand_at)
    row = SecondFactor.objects.get(user_id=anna.user_id)
    ben = factories.person(factories.tenant())
    assert codes.text_of(codes.unseal(row.user_id, row.ciphertext)).encode() not in bytes(row.ciphertext)
    with pytest.raises(Exception, match="cannot be read"):
        codes.unseal(ben.user_id, row.ciphertext)


# -- the second step at the sign-in ------------------------------------------------------------------------------------


def come_in(person):
    return signin.person_sign_in(email=person.email, password=person.password, address=HERE)


def step(person, waiting, **given):
    sent = {"code": "", "response": ""} | given
    return signin.second_step_take(waiting=waiting, session_id=session_name("door"), address=HERE, **sent)


def test_a_second_step_is_asked_for_where_it_was_switched_on(anna, stand_at):
    actor, _ = with_app(anna, stand_at)
    assert come_in(anna).waits is None
    second_step.second_step_set(actor=actor, on=True)
    waiting = come_in(anna).waits
    assert waiting is not None
    with pytest.raises(Invalid):
        step(anna, waiting, code="000000")
    assert step(anna, waiting, code=app_code(anna, T + timedelta(seconds=30))).actor.id == anna.user_id


def test_a_passkey_is_a_second_step_in_the_session_that_it_was_asked_for(anna):
    device = added(anna)
    second_step.second_step_set(actor=session(anna), on=True)
    waiting = come_in(anna).waits
    elsewhere = signin.second_step_options(waiting=waiting, session_id=session_name("another"))
    with pytest.raises(Conflict, match="CHALLENGE_GONE"):
        step(anna, waiting, response=device.sign(elsewhere))
    options = signin.second_step_options(waiting=waiting, session_id=session_name("door"))
    assert step(anna, waiting, response=device.sign(options)).actor.id == anna.user_id


def test_a_right_password_waits_five_minutes_for_its_second_step_and_not_for_another_password(anna, stand_at):
    actor, made = with_app(anna, stand_at)
    second_step.second_step_set(actor=actor, on=True)
    waiting = come_in(anna).waits
    with pytest.raises(Unauthenticated, match="SECOND_STEP_OVER"):
        step(anna, replace(waiting, mark="of another password"), code=made[0])
    stand_at(T + timedelta(minutes=5))
    with pytest.raises(Unauthenticated, match="SECOND_STEP_OVER"):
        step(anna, waiting, code=made[0])


def test_with_the_last_device_the_second_step_ends_so_that_nobody_is_locked_out(anna):
    with pytest.raises(Conflict, match="NO_SECOND"):
        second_step.second_step_set(actor=confirmed(anna), on=True)
    added(anna)
    second_step.second_step_set(actor=session(anna), on=True)
    [row] = means_of(anna.user_id).passkeys
    passkey.passkey_remove(actor=session(anna), passkey_id=str(row.id))
    assert come_in(anna).waits is None


def test_an_operator_ends_the_second_step_of_who_lost_everything(anna):
    added(anna)
    second_step.second_step_set(actor=session(anna), on=True)
    assert second_step.second_step_end(email=anna.email.upper()) == "Anna"
    assert come_in(anna).waits is None
    entry = entries_page(anna.tenant_id, EntryFilters(action="factor.step_set"))[0]
    assert entry.detail == {"on": False, "by": "an operator at the command line"}
    with pytest.raises(NotFound):
        second_step.second_step_end(email=anna.email)
