"""Becomes another program that must not outlive the launcher, and that may have to run as somebody else.

Run as a script: `python -I -S child.py PARENT SIGNAL USER COMMAND…`

- PARENT: process id of the launcher. On Linux the kernel sends SIGNAL to this process when the *thread* that
  started it ends, also after a kill -9, which no handler of the launcher could answer. Start children from a
  thread that lives as long as the launcher does.
- SIGNAL: a number, for example 2.
- USER: `uid:gid`, or `-` to stay who we are. PostgreSQL refuses to run as root.

A wrapper instead of `preexec_fn`: Python code between fork and exec can deadlock in a program that has threads.
"""

import ctypes
import os
import signal
import sys


def end_with_parent(parent: int, number: int) -> None:
    """Asks the kernel for SIGNAL when the parent is gone. Elsewhere than on Linux the pid files have to do."""
    if not sys.platform.startswith("linux"):
        return
    set_parent_death_signal = 1
    if ctypes.CDLL(None, use_errno=True).prctl(set_parent_death_signal, number, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    # The parent may have died before the line above: then nobody will ever send the signal.
    if os.getppid() != parent:
        sys.exit(1)


def main(arguments: list[str]) -> None:
    parent, death_signal, user, *command = arguments
    if user != "-":
        uid, gid = (int(part) for part in user.split(":"))
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    # After the change of user, which clears the setting.
    end_with_parent(int(parent), int(death_signal))
    # Blocked by the launcher while it notes our process id.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    # An ignored signal stays ignored across exec: Python ignores the first two, a shell the third for what it
    # runs in the background.
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    os.execv(command[0], command)  # noqa: S606 - no shell is the point


if __name__ == "__main__":
    main(sys.argv[1:])
