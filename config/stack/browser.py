"""Finds a Chromium for the browser tests; installs Debian's where that is possible; otherwise says how.

python -m config.stack.browser        prints the path; exits 1 when there is none
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from config.stack.process import Say, say

VARIABLE = "CLEARANCE_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
MACOS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
HOW = """\
No Chromium was found: the browser tests are skipped and counted as skipped. To run them too:
  Debian:  sudo apt-get install chromium
  Ubuntu:  sudo snap install chromium
  macOS:   brew install --cask chromium
  or name any Chromium yourself: CLEARANCE_CHROMIUM=/path/to/chromium make test"""


def find(caller: Mapping[str, str]) -> Path | None:
    """The browser that the caller names, one on PATH, or one where macOS keeps them. None when none runs."""
    if named := caller.get(VARIABLE):
        return Path(named) if runs(Path(named)) else None
    found = [shutil.which(name, path=caller.get("PATH")) for name in NAMES]
    for candidate in [*(Path(path) for path in found if path), *map(Path, MACOS)]:
        if runs(candidate):
            return candidate
    return None


def runs(program: Path) -> bool:
    """Whether it tells its version. Ubuntu's chromium-browser package without snap is a script that only complains."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and "chrom" in done.stdout.lower()


def install(tell: Say = say) -> bool:
    """Installs Debian's package when we are root on a Debian. Ubuntu's package of that name only fetches a snap."""
    try:
        release = Path("/etc/os-release").read_text()
    except OSError:
        return False
    if os.geteuid() != 0 or "ID=debian" not in release.splitlines() or shutil.which("apt-get") is None:
        return False
    tell("Installing Debian's chromium for the browser tests (apt-get install chromium).")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    # With fonts: without any, words have no width and the tests of the layout measure nothing.
    packages = ["chromium", "fonts-dejavu-core", "fonts-liberation"]
    for arguments in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *packages]):
        done = subprocess.run(["apt-get", *arguments], env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        tell(f"apt-get could not install it: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
    return done.returncode == 0


def ensure(caller: Mapping[str, str], tell: Say = say) -> Path | None:
    """A browser that runs, installed when necessary and possible; else None, after saying how to get one."""
    found = find(caller)
    if found is None and VARIABLE not in caller and install(tell):
        found = find(caller)
    if found is None:
        tell(HOW)
    return found


if __name__ == "__main__":
    browser = ensure(os.environ)
    if browser is None:
        sys.exit(1)
    print(browser)
