"""Makes the private virtual environment var/venv and installs one set of hashed requirements into it.

    python3 -m config.stack.setup {run|demo|dev}

Standard library only: it runs before anything is installed. Does nothing when the set is already there, and goes
on from whatever an interrupted attempt left. All PIP_* variables and pip's own configuration apply.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SETS = ("run", "demo", "dev")
OLDEST = (3, 12)


class SetupError(Exception):
    """The message is a plain sentence with the remedy."""


def say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def pins(requirements: Path) -> set[str]:
    """`name==version` of every requirement in the file."""
    return set(re.findall(r"^[A-Za-z0-9._-]+==[^\s;\\]+", requirements.read_text(), re.MULTILINE))


def digest(requirements: Path, version: str) -> str:
    """Changes when the requirement file or the Python changes."""
    return hashlib.sha256(version.encode() + b"\0" + requirements.read_bytes()).hexdigest()


def prepare(name: str, venv: Path, requirements: Path = ROOT / "requirements") -> bool:
    """Makes sure that set `name` is installed in `venv`; answers whether anything had to be done."""
    if sys.version_info < OLDEST:
        raise SetupError(
            f"Clearance needs Python 3.12 or newer; this is {sys.version.split()[0]} ({sys.executable}). "
            "Install one, then PYTHON=/path/to/python3.13 make up."
        )
    version = "{}.{}".format(*sys.version_info[:2])
    wanted = digest(requirements / f"{name}.txt", version)
    if _stamps(venv).get(name) == wanted:
        return False
    with _alone(venv.with_name(venv.name + ".lock")):
        if _stamps(venv).get(name) == wanted:  # another one did it while we waited
            return False
        python = _environment(venv)
        file = requirements / f"{name}.txt"
        say(f"Installing {len(pins(file))} packages into {venv} (only the first time; about a minute).")
        _install(python, file)
        stamps = _stamps(venv)
        for smaller in SETS:
            other = requirements / f"{smaller}.txt"
            if smaller == name or (other.exists() and pins(other) <= pins(file)):
                stamps[smaller] = digest(other, version)
            else:
                stamps.pop(smaller, None)  # other versions of the same packages may just have replaced its own
        _write_stamps(venv, stamps)
    return True


@contextlib.contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Two commands started together must not install into the same folder at once."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say("Another set-up is running; waiting for it.")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _stamps(venv: Path) -> dict[str, str]:
    """Set → digest of what was installed completely. Empty for a virtual environment whose Python is gone."""
    try:
        stamps = json.loads((venv / "clearance-installed.json").read_text())
    except (OSError, ValueError):
        return {}
    usable = isinstance(stamps, dict) and os.access(venv / "bin" / "python", os.X_OK)
    return stamps if usable else {}


def _write_stamps(venv: Path, stamps: dict[str, str]) -> None:
    aside = venv / "clearance-installed.new"
    aside.write_text(json.dumps(stamps))
    aside.replace(venv / "clearance-installed.json")


def _environment(venv: Path) -> Path:
    """Python of the virtual environment, made anew when there is none, or it does not run, or has another version."""
    python = venv / "bin" / "python"
    ask = "import sys; print('{}.{}'.format(*sys.version_info[:2]))"
    if _answer(python, ask) == "{}.{}".format(*sys.version_info[:2]):
        if _answer(python, "import pip; print('yes')") == "yes":
            return python
        if subprocess.run([python, "-m", "ensurepip"], capture_output=True, check=False).returncode == 0:
            return python
    try:
        import ensurepip  # noqa: F401 - Debian and Ubuntu ship it in a package of its own
        import venv as _venv  # noqa: F401
    except ImportError:
        version = "{}.{}".format(*sys.version_info[:2])
        raise SetupError(
            f"This Python has no venv module. Debian and Ubuntu: sudo apt-get install python{version}-venv "
            "(or python3-venv), then run the command again."
        ) from None
    done = subprocess.run(
        [sys.executable, "-m", "venv", "--clear", str(venv)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        shutil.rmtree(venv, ignore_errors=True)
        raise SetupError(f"The virtual environment {venv} could not be made: {(done.stderr or done.stdout).strip()}")
    return python


def _answer(python: Path, code: str) -> str:
    """What `python -c code` prints; empty when it does not run."""
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _install(python: Path, requirements: Path) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--require-hashes", "--requirement", str(requirements)]
    # A group of its own, so that whatever pip starts ends with us.
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, process_group=0) as pip:
        try:
            exit_code = pip.wait()
        except BaseException:
            os.killpg(pip.pid, signal.SIGKILL)
            raise
    if exit_code != 0:
        raise SetupError(
            "pip could not install the packages; its reason stands above. It needs a package index: behind a proxy "
            "or with a private index, set PIP_PROXY, PIP_INDEX_URL or PIP_CERT, then run the command again. "
            "What is installed so far is kept."
        )


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0] not in SETS:
        say(f"usage: python3 -m config.stack.setup {{{'|'.join(SETS)}}}")
        return 2
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        prepare(arguments[0], ROOT / "var" / "venv")
    except SetupError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("Set-up was interrupted. Run the command again; it goes on from here.")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
