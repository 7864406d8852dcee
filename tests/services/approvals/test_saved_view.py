"""approvals/services/saved_view.py: a person's own views of the list, and nobody else's."""

import unicodedata

import pytest

from approvals.core.narrowing import Narrowing
from approvals.selectors.saved import saved_views
from approvals.services.saved_view import LIMIT, saved_view_delete, saved_view_rename, saved_view_save
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from tests.support import factories

LARGE = Narrowing(low="50", currency="AUD")


def names(person):
    return [row.name for row in saved_views(person.actor)]


def test_a_view_is_kept_with_its_filters_under_its_name(acme):
    id_ = saved_view_save(actor=acme.mara.actor, name="  Large   ones ", view="all", narrowing=LARGE)
    [row] = saved_views(acme.mara.actor)
    assert (row.id, row.name, row.view, row.narrowing) == (id_, "Large ones", "all", LARGE)


def test_it_is_renamed_and_forgotten(acme):
    id_ = saved_view_save(actor=acme.mara.actor, name="Large", view="mine", narrowing=LARGE)
    saved_view_rename(actor=acme.mara.actor, view_id=id_, name="Very large")
    assert names(acme.mara) == ["Very large"]
    saved_view_delete(actor=acme.mara.actor, view_id=id_)
    assert names(acme.mara) == []


def test_nobody_sees_or_touches_the_view_of_somebody_else(acme):
    id_ = saved_view_save(actor=acme.mara.actor, name="Large", view="mine", narrowing=LARGE)
    stranger = factories.person(factories.tenant())
    for person in (acme.noor, stranger):
        assert names(person) == []
        with pytest.raises(NotFound):
            saved_view_rename(actor=person.actor, view_id=id_, name="Mine now")
        with pytest.raises(NotFound):
            saved_view_delete(actor=person.actor, view_id=id_)
    assert names(acme.mara) == ["Large"]


def test_a_name_is_used_once_by_each_person(acme):
    saved_view_save(actor=acme.mara.actor, name="Large", view="mine", narrowing=LARGE)
    saved_view_save(actor=acme.noor.actor, name="Large", view="mine", narrowing=LARGE)
    other = saved_view_save(actor=acme.mara.actor, name="Other", view="mine", narrowing=LARGE)
    with pytest.raises(Conflict, match="already"):
        saved_view_save(actor=acme.mara.actor, name="LARGE", view="all", narrowing=LARGE)
    with pytest.raises(Conflict, match="already"):
        saved_view_rename(actor=acme.mara.actor, view_id=other, name="large")
    assert names(acme.mara) == ["Large", "Other"]


@pytest.mark.parametrize("name", ["", "   ", "x" * 61, "a\u202eb", "a\u200bb", "a\0b", "\ud800"])
def test_a_name_that_cannot_be_read_is_refused(acme, name):
    with pytest.raises(Invalid, match="visible characters"):
        saved_view_save(actor=acme.mara.actor, name=name, view="mine", narrowing=LARGE)
    assert names(acme.mara) == []


def test_a_name_is_kept_in_one_form(acme):
    saved_view_save(actor=acme.mara.actor, name=unicodedata.normalize("NFD", "Größe"), view="mine", narrowing=LARGE)
    assert names(acme.mara) == ["Größe"]


def test_a_view_without_a_filter_is_none(acme):
    with pytest.raises(Invalid, match="no filter to keep"):
        saved_view_save(actor=acme.mara.actor, name="All", view="all", narrowing=Narrowing())


def test_there_is_an_end_to_how_many_are_kept(acme):
    for number in range(LIMIT):
        saved_view_save(actor=acme.mara.actor, name=f"View {number}", view="mine", narrowing=LARGE)
    with pytest.raises(Invalid, match="Forget one first"):
        saved_view_save(actor=acme.mara.actor, name="One more", view="mine", narrowing=LARGE)


def test_an_agent_keeps_no_views(acme):
    with pytest.raises(Forbidden):
        saved_view_save(actor=acme.actor, name="Large", view="mine", narrowing=LARGE)
    assert saved_views(acme.actor) == []
