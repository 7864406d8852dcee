"""A user that PostgreSQL agrees to run as when the launcher itself runs as root (containers, mostly)."""

import os
import pwd
import shutil
import stat
import subprocess
import time
from pathlib import Path

from config.stack.process import Say, StackError

NAME = "clearance-db"


def database_user(data: Path) -> tuple[int, int] | None:
    """(uid, gid) to run the database as, or None to run it as ourselves.

    Data that belongs to an ordinary user (an earlier start without sudo) goes on as that user.
    """
    if os.geteuid() != 0:
        return None
    if data.exists() and data.stat().st_uid != 0:
        found = data.stat()
        return found.st_uid, found.st_gid
    entry = _entry() or _create()
    return entry.pw_uid, entry.pw_gid


def _entry() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(NAME)
    except KeyError:
        return None


def _create() -> pwd.struct_passwd:
    program = shutil.which("useradd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None:
        raise StackError(
            f"PostgreSQL refuses to run as root, and this machine has no `useradd` to create the user {NAME}. "
            "Run the command as an ordinary user instead."
        )
    command = [program, "--system", "--no-create-home", "--home-dir", "/nonexistent"]
    command += ["--shell", "/usr/sbin/nologin", NAME]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # Two test processes may do this at once; one of them finds the file locked or the user already there.
    for _ in range(50):
        if entry := _entry():
            return entry
        time.sleep(0.1)
    raise StackError(
        f"PostgreSQL refuses to run as root, and the user {NAME} could not be created: {done.stderr.strip()} "
        "Run the command as an ordinary user instead."
    )


def let_pass(user: tuple[int, int] | None, *paths: Path, say: Say) -> None:
    """Lets `user` pass through the folders above `paths`: only the right to pass, only where it is missing."""
    if user is None:
        return
    for path in paths:
        for folder in reversed(path.resolve().parents):
            found = folder.stat()
            if found.st_mode & stat.S_IXOTH or (found.st_uid == user[0] and found.st_mode & stat.S_IXUSR):
                continue
            folder.chmod(stat.S_IMODE(found.st_mode) | stat.S_IXOTH)
            say(
                f"Other users may now pass through {folder} (not list it): PostgreSQL refuses to run as root and "
                "has to reach its files as another user."
            )


def let_read(user: tuple[int, int] | None, program: Path, *folders: Path) -> None:
    """Lets `user` read installed program files; needed where root's umask hides what pip installs."""
    if user is None or program.stat().st_mode & stat.S_IXOTH:
        return
    for folder in folders:
        for path in [folder, *folder.rglob("*")]:
            mode = stat.S_IMODE(path.stat().st_mode)
            needed = stat.S_IROTH | (stat.S_IXOTH if mode & stat.S_IXUSR else 0)
            path.chmod(mode | needed)
