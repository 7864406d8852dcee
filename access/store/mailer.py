"""Sending mail, and sending it later: a page that waits for a mail server would tell who has an account by its time.

Mail carries no secret but the single-use link that it is sent for.
"""

import logging
import queue
import smtplib
import threading
from collections.abc import Callable

from django.conf import settings
from django.core.mail import EmailMessage, mailers
from django.db import connections
from django.template.loader import render_to_string

logger = logging.getLogger(__name__)

_WAITING = 200
_jobs: "queue.Queue[Callable[[], None]]" = queue.Queue(_WAITING)
_start = threading.Lock()
_thread: threading.Thread | None = None


def configured() -> bool:
    """Whether CLEARANCE_EMAIL_URL names a way to send."""
    return settings.MAIL.kind != "off"


def send(*, to: str, subject: str, template: str, **context: object) -> None:
    """Send one mail of plain text, now. Raises OSError or smtplib.SMTPException (an OSError) as the server said it."""
    body = render_to_string(f"access/mail/{template}.txt", {"base_url": settings.BASE_URL, **context})
    message = EmailMessage(subject, body, settings.MAIL.sender, [to])
    if not mailers.default.send_messages([message]):
        raise smtplib.SMTPException("The mail was not taken.")


def later(job: Callable[[], None]) -> bool:
    """Run `job` in this process's mail thread; False if too many wait already (then it is not run and logged)."""
    global _thread
    with _start:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_work, name="mail", daemon=True)
            _thread.start()
    try:
        _jobs.put_nowait(job)
    except queue.Full:
        logger.error("Too many mails wait to be sent; one was dropped. Is the mail server slow?")
        return False
    return True


def _work() -> None:
    while True:
        job = _jobs.get()
        try:
            job()
        except Exception:
            # Without the mail itself: its link opens an account.
            logger.exception("A mail could not be sent")
        finally:
            connections.close_all()
            _jobs.task_done()


def wait_until_sent() -> None:
    """Return when nothing waits any more; for the end of a process and for tests."""
    _jobs.join()
