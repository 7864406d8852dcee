"""Set-up: from nothing, from half, from done. No index is asked; a wheel made here stands for the packages."""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from config.stack import setup
from tests.stack.support import ROOT, clean_environment, mode

pytestmark = pytest.mark.stack


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip installs from, by PIP_* variables as a private index would be set up."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


def make_wheel(folder: Path, name: str, version: str = "1.0") -> str:
    """A package with one module; answers its requirement line with the hash."""
    wheel, info = folder / f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"VERSION = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},\n"
        for path, text in files.items()
    )
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in (files | {f"{info}/RECORD": record}).items():
            archive.writestr(path, text)
    return f"{name}=={version} \\\n    --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"


@pytest.fixture
def requirements(tmp_path: Path, wheels: Path) -> Path:
    folder = tmp_path / "requirements"
    folder.mkdir()
    small, more = make_wheel(wheels, "small_one"), make_wheel(wheels, "one_more")
    (folder / "run.txt").write_text(small)
    (folder / "demo.txt").write_text(small + more)
    return folder


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with pip and nothing else, as set-up makes it (shown once, from nothing); to be copied."""
    venv = tmp_path_factory.mktemp("empty") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    return venv


@pytest.fixture
def venv(tmp_path: Path, empty: Path) -> Path:
    """An environment with pip in which nothing counts as installed."""
    return shutil.copytree(empty, tmp_path / "venv", symlinks=True)


def installed(venv: Path, module: str) -> str:
    code = f"import {module}; print({module}.VERSION)"
    done = subprocess.run([venv / "bin" / "python", "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def test_from_nothing_it_makes_the_environment_and_a_second_time_does_nothing(tmp_path: Path, requirements) -> None:
    venv = tmp_path / "venv"
    assert setup.prepare("run", venv, requirements)
    assert installed(venv, "small_one") == "1.0"
    assert not setup.prepare("run", venv, requirements)


def test_a_larger_set_counts_for_the_smaller_one(venv: Path, requirements: Path) -> None:
    assert setup.prepare("demo", venv, requirements)
    assert not setup.prepare("run", venv, requirements)


def test_a_changed_requirement_file_is_installed(venv: Path, requirements: Path, wheels: Path) -> None:
    setup.prepare("demo", venv, requirements)
    (requirements / "run.txt").write_text(make_wheel(wheels, "small_one", "2.0"))
    assert setup.prepare("run", venv, requirements)
    assert installed(venv, "small_one") == "2.0"
    # The larger set was just changed under its feet and must be installed again.
    assert setup.prepare("demo", venv, requirements)
    assert installed(venv, "small_one") == "1.0"


def test_an_environment_that_a_kill_left_half_made_is_completed(tmp_path: Path, requirements: Path) -> None:
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").write_text("not a program")
    (venv / "bin" / "python").chmod(0o755)
    assert setup.prepare("run", venv, requirements)
    assert installed(venv, "small_one") == "1.0"


def test_an_environment_without_pip_gets_one(tmp_path: Path, requirements: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    marker = venv / "kept"
    marker.touch()
    assert setup.prepare("run", venv, requirements)
    assert installed(venv, "small_one") == "1.0"
    assert marker.exists()


def test_a_wrong_hash_is_refused_and_nothing_counts_as_installed(venv: Path, requirements: Path) -> None:
    text = (requirements / "run.txt").read_text()
    (requirements / "run.txt").write_text(text[: text.rindex(":") + 1] + "0" * 64 + "\n")
    with pytest.raises(setup.SetupError, match="pip could not install the packages"):
        setup.prepare("run", venv, requirements)
    (requirements / "run.txt").write_text(text)
    assert setup.prepare("run", venv, requirements)


def test_an_unreachable_index_is_a_sentence_and_a_later_run_goes_on(
    tmp_path: Path, venv: Path, requirements: Path, monkeypatch: pytest.MonkeyPatch, wheels: Path
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nowhere"))
    with pytest.raises(setup.SetupError, match=r"PIP_INDEX_URL .*run the command again"):
        setup.prepare("run", venv, requirements)
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    assert setup.prepare("run", venv, requirements)


def test_an_old_python_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(setup, "OLDEST", (3, 99))
    with pytest.raises(setup.SetupError, match=r"needs Python 3.12 or newer; this is 3\..* Install one"):
        setup.prepare("run", tmp_path / "venv")


def shim(folder: Path, name: str, body: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


def python_sh(path: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = clean_environment() | {"PATH": f"{path}:/usr/bin:/bin"} | more
    for name in ("python3", "python3.12", "python3.13", "python3.14"):
        if not (path / name).exists():
            shim(path, name, "exit 127")  # hides what this machine has
    command = ["sh", str(ROOT / "config/stack/python.sh"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_the_shell_part_takes_the_first_python_that_runs_and_is_new_enough(tmp_path: Path) -> None:
    shim(tmp_path / "bin", "python3.13", f'exec {sys.executable} "$@"')
    done = python_sh(tmp_path / "bin", "-c", "print('found')")
    assert (done.stdout, done.returncode) == ("found\n", 0)


def test_the_shell_part_says_what_to_install_when_there_is_none(tmp_path: Path) -> None:
    done = python_sh(tmp_path / "bin", "-c", "print('found')")
    assert done.returncode == 1
    assert "needs Python 3.12 or newer (found none)" in done.stderr
    assert "apt-get install python3 python3-venv" in done.stderr


def test_the_shell_part_refuses_a_chosen_python_that_is_too_old(tmp_path: Path) -> None:
    shim(tmp_path / "bin", "old", "exit 1")
    done = python_sh(tmp_path / "bin", "-c", "1", PYTHON=str(tmp_path / "bin" / "old"))
    assert done.returncode == 1
    assert "is not a Python of version 3.12 or newer" in done.stderr


def test_the_shell_part_can_be_run() -> None:
    assert mode(ROOT / "config/stack/python.sh") == "0o755"
