"""Where the browser tests find their browser."""

import sys
from pathlib import Path

from config.stack import browser


def program(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_the_browser_that_the_caller_names_is_taken(tmp_path: Path) -> None:
    named = program(tmp_path / "mine", "echo Chromium 140.0")
    assert browser.find({"CLEARANCE_CHROMIUM": str(named), "PATH": ""}) == named


def test_a_named_browser_that_does_not_run_is_not_replaced_by_another_one(tmp_path: Path) -> None:
    program(tmp_path / "chromium", "echo Chromium 140.0")
    assert browser.find({"CLEARANCE_CHROMIUM": str(tmp_path / "gone"), "PATH": str(tmp_path)}) is None


def test_a_browser_on_the_path_is_found(tmp_path: Path) -> None:
    found = program(tmp_path / "chromium", "echo Chromium 140.0 built on Debian")
    assert browser.find({"PATH": str(tmp_path)}) == found


def test_a_script_that_only_tells_to_install_a_snap_is_no_browser(tmp_path: Path) -> None:
    script = program(tmp_path / "chromium-browser", "echo 'requires the chromium snap to be installed'; exit 1")
    assert not browser.runs(script)
    assert browser.runs(program(tmp_path / "google-chrome", "echo Google Chrome 140.0"))


def test_without_any_it_says_how_to_get_one(tmp_path: Path) -> None:
    said: list[str] = []
    assert browser.ensure({"CLEARANCE_CHROMIUM": str(tmp_path / "gone")}, said.append) is None
    (how,) = said
    assert "sudo apt-get install chromium" in how
    assert "skipped" in how


def test_python_is_no_browser() -> None:
    assert not browser.runs(Path(sys.executable))
