"""What every whole product of the tests begins with, made once and copied for each: secrets, orders and their charges
at the payment server, the demo's people, agent and tools, and a second reviewer.

The payment server's port stands in the contracts. So a ground is lent to one running product at a time, and whoever
comes while all are lent out makes another; a session needs two or three for its two dozen products.
"""

import contextlib
import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from config.stack import stripe
from config.stack.demo_orders import seed_orders
from config.stack.environment import ROOT, Layout, compose
from config.stack.process import StackError, free_port, last_lines
from config.stack.secrets import Secrets, ensure_secrets
from tests.support import databases
from tests.support.waiting import wait_until

SECOND = ("second@acme.example", "correct-horse-battery-staple")
"""Another member of acme's finance, Tove Brandt."""
PARTS = ("secrets", "reference", "stripe")


@dataclass(frozen=True, slots=True)
class Ground:
    """A ground that is lent out. `database` is a template; `port` the payment server's."""

    folder: Path
    database: str
    port: int

    def copy_to(self, home: Path) -> None:
        """Its files, with their modes, into the folder of an installation."""
        for part in PARTS:
            shutil.copytree(self.folder / part, home / part)


@contextlib.contextmanager
def lent_ground() -> Iterator[Ground]:
    """A ground that nobody else has until this is over. Raises StackError when it cannot be made."""
    home = Path(os.environ[databases.SESSION_DIR]) / "grounds"
    home.mkdir(exist_ok=True)
    number = 0
    while True:
        folder = home / str(number)
        with (home / f"{number}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                number += 1
                continue
            if not (folder / "port").exists():
                shutil.rmtree(folder, ignore_errors=True)
                _make(folder, f"clearance_ground_{number}")
            port = int((folder / "port").read_text())
            if _is_free(port):
                yield Ground(folder, f"clearance_ground_{number}", port)
                return
        number += 1  # somebody else's connection happens to have its port


def installation(home: Path, *, database: str, redis: str, port: int, payments_port: int) -> dict[str, str]:
    """The environment of the programs of the product that lives in the folder `home`."""
    layout = Layout(home)
    return compose(
        layout=layout,
        secrets=Secrets(layout.secrets),
        database=(
            databases.with_database(os.environ["DATABASE_URL"], database),
            databases.with_database(os.environ["DATABASE_OWNER_URL"], database),
        ),
        redis=redis,
        port=port,
        payments_url=f"http://127.0.0.1:{payments_port}",
        settings="config.settings.demo",
        # The suite's own CLEARANCE_… variables belong to its in-process tests.
        caller={k: v for k, v in os.environ.items() if not k.startswith(("CLEARANCE_", "DJANGO_"))},
    )


def manage(environment: dict[str, str], *arguments: str) -> str:
    """Runs `manage.py <arguments>` to its end and answers what it printed. Raises StackError with its words."""
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments], env=environment, cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        raise StackError(f"manage.py {arguments[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def until(ready: Callable[[], bool], log: Path, seconds: float = 40.0) -> None:
    """Wait for a program that writes `log`. Raises StackError with its last lines."""
    if not wait_until(ready, seconds=seconds, pause=0.05):
        raise StackError(f"{log.stem} did not answer; its last lines:\n{last_lines(log, 30)}")


def _is_free(port: int) -> bool:
    with contextlib.suppress(OSError), socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        return True
    return False


def _make(folder: Path, database: str) -> None:
    """What `make up` does at its first start; the port is noted last, as the sign that all is there."""
    secrets, port = ensure_secrets(Layout(folder).secrets), free_port()
    databases.superuser(f"drop database if exists {database} with (force)")  # what an interrupted attempt left
    databases.make_clone(database)
    payments = stripe.payment_server(folder / "stripe", folder / "payments.log", port)
    payments.restart()
    try:
        until(lambda: stripe.answers(port), folder / "payments.log")
        seed_orders(f"http://127.0.0.1:{port}", secrets.payments_key(), Layout(folder).reference)
        # No address in what is made here: the web server's stands in no row, and nothing asks Valkey.
        environment = installation(
            folder, database=database, redis=os.environ["REDIS_URL"], port=port, payments_port=port
        )
        manage(environment, "demo", "-v", "0", "--skip-checks")
        manage(environment, "shell", "-v", "0", "-c", _second_reviewer(secrets))
    finally:
        payments.stop()
    databases.forget_its_epoch(database)
    (folder / "port").write_text(str(port))


def _second_reviewer(secrets: Secrets) -> str:
    admin = json.loads((secrets.demo / "demo.json").read_text())["acme"]["people"]["admin"]
    return textwrap.dedent(f"""
        from access.selectors.actors import actor_for_session, tenant_id_of, user_id_of
        from access.services.people import group_add, member_add
        admin = actor_for_session(user_id_of({admin!r}), tenant_id_of("acme"))
        row = member_add(
            actor=admin, email={SECOND[0]!r}, name="Tove Brandt", roles=["reviewer"], password={SECOND[1]!r}
        )
        group_add(actor=admin, group="finance", user_id=row.user_id)
    """)
