"""`make up`: starts the whole stack, says how to use it, keeps it running until INT, TERM or HUP.

python -m config.stack.up            PORT=8001 for another port, CLEARANCE_HOME for another folder than var/
"""

import os
import sys
import time
from pathlib import Path

from config.stack import process as tools
from config.stack.children import Stopped, ignore_signals, stop_on_signals
from config.stack.environment import ROOT, Layout
from config.stack.make_parent import watch_make
from config.stack.port import wanted_port
from config.stack.process import StackError, say
from config.stack.whole import Stack, demo_note

NEXT_STEPS = """\
What to do next
  1. Open {address} and sign in as the reviewer. The demo agent keeps asking for refunds.
  2. Open a proposal, read what it would change, approve or reject it. The run shows the receipt.
  3. Ask the payment server itself ({payments}) what it has refunded
     (curl -u "$(cat {key}):" {payments}/v1/refunds).

Stop everything with Ctrl-C. `make up` continues with the same data. Logs: {logs}
{mail}"""


def main() -> int:
    started = time.monotonic()
    stack: Stack | None = None
    stop_on_signals()
    make = watch_make()  # before anything can be signalled: what counts is what changes from now on
    try:
        home = Path(os.environ.get("CLEARANCE_HOME") or ROOT / "var").absolute()
        stack = Stack(Layout(home), wanted_port(os.environ))
        stack.start()
        print(welcome(stack, time.monotonic() - started), flush=True)
        stack.supervisor.watch(make)
    except StackError as error:
        say(str(error))
        return 1
    except Stopped as reason:
        say(f"Stopping ({reason}).")
        return 0
    finally:
        ignore_signals()
        if stack is not None:
            stack.stop()
        tools.kill_all()


def welcome(stack: Stack, seconds: float) -> str:
    """What a newcomer needs: address, one person per role with a password, the next steps."""
    lines = ["", f"Clearance is ready at {stack.address} ({seconds:.1f} s).", ""]
    for role, email in demo_note(stack.secrets)["acme"]["people"].items():
        lines.append(f"  {role:<10}{email:<30}{stack.secrets.password(role)}")
    text = NEXT_STEPS.format(
        address=stack.address,
        payments=stack.payments_url,
        key=stack.secrets.demo / "payments.key",
        logs=stack.layout.logs,
        mail=mail_words(stack.environment["CLEARANCE_EMAIL_URL"], stack.layout),
    )
    return "\n".join([*lines, "", text])


def mail_words(url: str, layout: Layout) -> str:
    """Where mail goes; the address may hold a password and is not shown."""
    if url != layout.mail.absolute().as_uri():
        return "Mail goes where CLEARANCE_EMAIL_URL says."
    return f"Mail is not sent: each one becomes a file in {layout.mail}. CLEARANCE_EMAIL_URL names a mail server."


if __name__ == "__main__":
    sys.exit(main())
