"""Small tools for starting, stopping and describing processes; used by everything else in this package."""

import contextlib
import fcntl
import importlib.util
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

CHILD = Path(__file__).with_name("child.py")

Say = Callable[[str], None]

STOPPING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
_started: list[subprocess.Popen[bytes]] = []


class StackError(Exception):
    """Something the launcher cannot repair. The message is a plain sentence with the remedy."""


def say(sentence: str) -> None:
    """Tells the person at the terminal; unbuffered, so that a log shows it when it happened."""
    print(sentence, file=sys.stderr, flush=True)


def spawn(
    command: Sequence[str],
    *,
    log: Path,
    environment: Mapping[str, str],
    folder: Path | None = None,
    death_signal: signal.Signals = signal.SIGTERM,
    user: tuple[int, int] | None = None,
    descriptors: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Starts `command` in a session of its own (a Ctrl-C at the terminal reaches only the launcher).

    `command[0]` is an absolute path or a name on PATH; `user` is (uid, gid). Output goes to the end of `log`;
    `descriptors` stay open in the child under the same numbers.
    """
    program = shutil.which(command[0])
    if program is None:
        raise StackError(f"The program {command[0]} was not found. Run `make setup` and try again.")
    identity = "-" if user is None else f"{user[0]}:{user[1]}"
    wrapper = [sys.executable, "-I", "-S", str(CHILD), str(os.getpid()), str(int(death_signal)), identity]
    with open_log(log) as output, _no_interruption():
        process = subprocess.Popen(
            [*wrapper, program, *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=folder,
            pass_fds=descriptors,
            start_new_session=True,
        )
        _started[:] = [*(other for other in _started if other.poll() is None), process]
    return process


@contextlib.contextmanager
def _no_interruption() -> Iterator[None]:
    """A handler that raises between the fork and the note of it would leave a process that nobody knows of.

    The child inherits the blocked signals; child.py lets them through again.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def kill_all() -> None:
    """The last resort of every exit path: kills what `spawn` started and nobody stopped."""
    for process in _started:
        if process.poll() is None:
            stop(process)
    _started.clear()


def open_log(log: Path) -> IO[bytes]:
    """Appends to a log that only its owner may read: programs write arguments and addresses into it."""
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600), "ab")


def rotate(log: Path) -> None:
    """Keeps the log of the run before as `<name>.1`."""
    if log.exists():
        log.replace(log.with_name(log.name + ".1"))


def last_lines(log: Path, count: int = 8) -> str:
    """The end of a log, for the sentence that explains a failed start."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 16_384))
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return "(it wrote nothing)"
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join(f"    {line}" for line in lines[-count:]) or "(it wrote nothing)"


def stop(process: subprocess.Popen[bytes], *steps: tuple[signal.Signals, float], whole_group: bool = True) -> int:
    """Ends a process by one signal after the other, each with its patience in seconds; then by SIGKILL.

    Answers the exit code. With `whole_group` the signals go to the process group that `spawn` gave it, so that
    grandchildren end as well.
    """
    if process.poll() is not None:
        # Its number may belong to somebody else by now.
        return process.returncode
    for number, patience in (*steps, (signal.SIGKILL, 10.0)):
        _send(process, number, whole_group)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
            break
    if whole_group:
        end_group(process.pid)
    return process.wait(10)


def end_group(leader: int) -> None:
    """Kills what is left of a group whose leader has just ended; nobody else would ever end it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _send(process: subprocess.Popen[bytes], number: signal.Signals, whole_group: bool) -> None:
    with contextlib.suppress(ProcessLookupError):
        if whole_group:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)


def write_private(path: Path, content: str | bytes) -> None:
    """Writes a file of mode 0600 in one step: a kill leaves the old file or the new one, never half of it."""
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)


def kept_secret(path: Path) -> str:
    """The password in `path`; generated and written (0600) when there is none yet. Safe inside a URL."""
    with contextlib.suppress(FileNotFoundError):
        if text := path.read_text().strip():
            return text
    text = secrets.token_urlsafe(24)
    write_private(path, text + "\n")
    return text


def hold(path: Path, refusal: str) -> IO[str]:
    """Takes the lock file `path` for as long as the answered file stays open; the kernel drops it with the process.

    `refusal` is the sentence when another process holds it; `{pid}` in it becomes that process's id.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = path.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        file.close()
        raise StackError(refusal.format(pid=holder)) from error
    file.seek(0)
    file.truncate()
    file.write(str(os.getpid()))
    file.flush()
    return file


def package_folder(name: str) -> Path:
    """Where an installed package lies, without importing it: some make folders and print warnings when imported."""
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise StackError(f"The package {name} is not installed. Run `make setup` and try again.")
    return Path(found.submodule_search_locations[0])


def free_port(host: str = "127.0.0.1") -> int:
    """A TCP port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
