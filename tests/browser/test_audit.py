"""An auditor at a real browser: finds a call in the log, reads its path, takes the entries along as a file."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

WITH_OTHERS = True

WIDTHS = [(360, 740), (1440, 900)]


@pytest.fixture(scope="module")
def asked(acting):
    """A refund that Tove Brandt rejected, asked with a hidden character in its reason."""
    asked = acting.refund(1250, title="close ticket 5512", reason="arrived bro\u200bken")
    acting.decide(asked, "reject", "=1+1 is not our parcel")
    acting.agent.get_call(asked.run_id, asked.call_id, wait=5)
    return asked


def entries(page):
    return page.locator("table.log tbody tr:not(.day)")


def test_from_the_log_to_the_path_of_a_call_and_its_entry(acting, open_page, asked):
    page = open_page(timezone_id="Australia/Sydney")
    acting.sign_in(page, "auditor")
    page.get_by_role("link", name="Audit", exact=True).click()
    expect(page.get_by_role("heading", name="Audit log")).to_be_visible()
    page.get_by_text("More filters").click()
    page.get_by_label("Run", exact=True).fill(asked.run_id)
    page.get_by_label("What").select_option("proposal.decided")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile(f"run={asked.run_id}"))  # an address that can be kept
    expect(entries(page)).to_have_count(1)
    expect(entries(page)).to_contain_text("A proposal was rejected")
    expect(entries(page)).to_contain_text("=1+1 is not our parcel")
    expect(page.get_by_label("Run", exact=True)).to_have_value(asked.run_id)
    page.get_by_role("link", name="path of step-1").click()
    steps = page.locator("ol.path > li b")
    expect(steps.first).to_have_text("Asked")
    expect(page.locator("ol.path")).to_contain_text("Rejected by Tove Brandt")
    expect(page.locator("ol.path")).to_contain_text("=1+1 is not our parcel")
    page.locator("ol.path .when a").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("A call was asked for")
    expect(page.locator("main")).to_contain_text(asked.digest)


def test_the_filtered_rows_are_downloaded_whole(acting, open_page, asked):
    page = open_page(accept_downloads=True)
    acting.sign_in(page, "auditor", f"/audit/?run={asked.run_id}")
    shown = entries(page).count()
    for name, end in (("CSV", ".csv"), ("JSON Lines", ".jsonl")):
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        assert download.value.suggested_filename.endswith(end)
        raw = Path(download.value.path()).read_bytes()
        if end == ".csv":
            rows = list(csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline="")))
            manifest = json.loads(rows[-1][1])
            assert len(rows) == manifest["count"] + 2
        else:
            lines = [json.loads(line) for line in raw.splitlines()]
            manifest = lines[-1]["manifest"]
            assert {line["run_id"] for line in lines[:-1]} == {asked.run_id}
        assert manifest["count"] == shown
        assert manifest["complete"] is True


def test_a_wrong_filter_keeps_what_was_typed(acting, open_page):
    page = open_page()
    acting.sign_in(page, "auditor", "/audit/?since=yesterday&tool=refund_order")
    expect(page.locator("#problem")).to_contain_text("From is not a time.")
    expect(page.get_by_label("From")).to_have_value("yesterday")
    expect(page.get_by_label("Tool")).to_have_value("refund_order")


def test_a_reviewer_finds_no_door_and_is_told_why(acting, open_page):
    page = open_page()
    acting.sign_in(page, "reviewer", "/")
    expect(page.get_by_role("link", name="Audit", exact=True)).to_have_count(0)
    page.goto(acting.url("/audit/"))
    expect(page.locator("main")).to_contain_text("open to auditors and admins")


@pytest.mark.parametrize(("width", "height"), WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_of_the_log_scrolls_sideways(acting, open_page, asked, width, height, scheme):
    page = open_page(width, height, color_scheme=scheme)
    acting.sign_in(page, "auditor", "/audit/")
    entry = page.locator("table.log a").first.get_attribute("href")
    for path in ("/audit/", "/audit/?tool=" + "x" * 300, "/audit/?tool=none", entry,
                 f"/audit/path/?run={asked.run_id}&call={asked.call_id}"):  # fmt: skip
        page.goto(acting.url(path))
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
