"""The style sheets of every page come as one file, made of its parts as they are."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.test import Client

from config.bundles import BUNDLES, BundleFinder

CSS = Path(settings.BASE_DIR) / "static/css"


@pytest.fixture
def copied(tmp_path: Path, settings: Any) -> Path:
    """The parts in a folder of the test's own, and what is made of them in another one."""
    folder = tmp_path / "static/css"
    folder.mkdir(parents=True)
    for name in BUNDLES["css/shared.css"]:
        (folder / name).write_bytes((CSS / name).read_bytes())
    settings.BASE_DIR, settings.BUNDLES_DIR = tmp_path, tmp_path / "bundles"
    return folder


async def whole(answer: Any) -> bytes:
    return b"".join([chunk async for chunk in answer.streaming_content])


def test_a_page_asks_for_one_sheet_that_holds_every_part_in_order(client: Client, db: None) -> None:
    page = client.get("/sign-in/").content.decode()
    sheets = re.findall(r'<link rel="stylesheet" href="/static/(css/[a-z-]+\.css)">', page)
    assert sheets[0] == "css/shared.css"
    assert not {f"css/{name}" for name in BUNDLES["css/shared.css"]} & set(sheets)
    answer = client.get("/static/css/shared.css")
    served = async_to_sync(whole)(answer)
    assert served == b"\n".join((CSS / name).read_bytes() for name in BUNDLES["css/shared.css"])


def test_an_edited_part_shows_at_the_next_look_even_if_its_file_is_older(copied: Path) -> None:
    found = Path(BundleFinder().find("css/shared.css"))
    assert b"--edited" not in found.read_bytes()
    (copied / "parts.css").write_text(":root { --edited: 1 }\n")
    os.utime(copied / "parts.css", (1, 1))
    assert b"--edited" in Path(BundleFinder().find("css/shared.css")).read_bytes()


def test_what_did_not_change_is_not_written_again(copied: Path) -> None:
    finder = BundleFinder()
    before = Path(finder.find("css/shared.css")).stat()
    after = Path(finder.find("css/shared.css")).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_other_paths_are_not_its_business() -> None:
    assert BundleFinder().find("css/inbox.css") == []
    assert BundleFinder().find("../secrets") == []
    assert finders.find("css/shared.css") == BundleFinder().find("css/shared.css", find_all=True)[0]


def test_an_installation_collects_it(tmp_path: Path, settings: Any) -> None:
    settings.STATIC_ROOT = tmp_path / "collected"
    call_command("collectstatic", interactive=False, verbosity=0)
    assert (tmp_path / "collected/css/shared.css").read_bytes() == Path(finders.find("css/shared.css")).read_bytes()  # type: ignore[arg-type]
