"""Reference tables: a tenant's own file, and nothing beside it."""

import json
from pathlib import Path

import pytest

from audit.core.refusal import NotFound, Unavailable
from runs.tools.reference import look_up_row


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for tenant, charge in (("acme", "ch_acme"), ("globex", "ch_globex")):
        (tmp_path / tenant).mkdir()
        (tmp_path / tenant / "orders.json").write_text(json.dumps({"ord_1": {"charge": charge, "items": ["Lamp"]}}))
    return tmp_path


def test_each_tenant_reads_its_own_table(folder: Path) -> None:
    assert look_up_row(folder, "acme", "orders", "ord_1") == {"charge": "ch_acme", "items": ["Lamp"]}
    assert look_up_row(folder, "globex", "orders", "ord_1")["charge"] == "ch_globex"


def test_an_unknown_key_is_not_found_in_plain_words(folder: Path) -> None:
    with pytest.raises(NotFound) as refused:
        look_up_row(folder, "acme", "orders", "ord_2")
    assert refused.value.code == "NOT_FOUND"
    assert refused.value.message == "There is no order ord_2 here. Check the number."
    assert refused.value.outcome == "none"


def test_a_very_long_key_is_not_repeated_in_full(folder: Path) -> None:
    with pytest.raises(NotFound) as refused:
        look_up_row(folder, "acme", "orders", "x" * 10_000)
    assert len(refused.value.message) < 200


def test_a_table_that_is_changed_counts_from_the_next_call_on(folder: Path) -> None:
    assert look_up_row(folder, "acme", "orders", "ord_1")["charge"] == "ch_acme"
    aside = folder / "acme" / "orders.new"
    aside.write_text(json.dumps({"ord_1": {"charge": "ch_next"}}))
    aside.replace(folder / "acme" / "orders.json")
    assert look_up_row(folder, "acme", "orders", "ord_1")["charge"] == "ch_next"


def test_what_a_caller_does_to_its_row_does_not_reach_the_next_caller(folder: Path) -> None:
    look_up_row(folder, "acme", "orders", "ord_1")["charge"] = "ch_evil"
    assert look_up_row(folder, "acme", "orders", "ord_1")["charge"] == "ch_acme"


@pytest.mark.parametrize(
    ("tenant", "table"),
    [
        ("..", "orders"),
        ("acme/../globex", "orders"),
        ("", "orders"),
        ("/etc", "orders"),
        ("acme", "../globex/orders"),
        ("acme", ".orders"),
        ("acme", "orders.json"),
        ("acme", ""),
        ("acme", "Orders"),
        ("acme\n", "orders"),
    ],
)
def test_a_name_outside_the_narrow_alphabet_is_refused(folder: Path, tenant: str, table: str) -> None:
    with pytest.raises(Unavailable) as refused:
        look_up_row(folder, tenant, table, "ord_1")
    assert refused.value.code == "REFERENCE_UNAVAILABLE"
    assert "its name" in refused.value.message


def test_a_link_into_another_tenants_folder_is_refused(folder: Path) -> None:
    (folder / "acme" / "stolen.json").symlink_to(folder / "globex" / "orders.json")
    (folder / "evil").symlink_to(folder / "globex")
    for tenant, table in (("acme", "stolen"), ("evil", "orders")):
        with pytest.raises(Unavailable, match="link"):
            look_up_row(folder, tenant, table, "ord_1")


@pytest.mark.parametrize("text", ["", "[]", '{"ord_1": 1}', '{"a": {}, "a": {}}', "{"])
def test_a_table_that_is_missing_or_no_table_is_unavailable_and_not_an_unknown_order(folder: Path, text: str) -> None:
    table = folder / "acme" / "orders.json"
    table.write_text(text)
    with pytest.raises(Unavailable):
        look_up_row(folder, "acme", "orders", "ord_1")
    table.unlink()
    with pytest.raises(Unavailable, match="no such file"):
        look_up_row(folder, "acme", "orders", "ord_1")
