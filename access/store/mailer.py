"""Sending mail, and sending it later: a page that waits for a mail server would tell who has an account by its time.

Mail carries no secret but the single-use link that it is sent for.
"""

import logging
import queue
import smtplib
import socket
import ssl
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


def error_words(error: OSError) -> str:
    """What went wrong at the mail server, in a sentence, with the server's own words where it said any."""
    match error:
        case smtplib.SMTPAuthenticationError():
            return f"the server does not take the user name and password ({_said(error)})."
        case smtplib.SMTPRecipientsRefused():
            said = next(iter(error.recipients.values()), (0, b""))
            return f"the server does not take the recipient ({said[0]} {_text(said[1])})."
        case smtplib.SMTPSenderRefused():
            return f"the server does not take the sender {error.sender} ({_said(error)}). See CLEARANCE_EMAIL_FROM."
        case smtplib.SMTPNotSupportedError():
            return f"the server cannot do what was asked: {error}"
        case smtplib.SMTPResponseException():
            return f"the server answered {_said(error)}."
        case smtplib.SMTPServerDisconnected():
            return f"the server hung up: {error}."
        case ssl.SSLError():
            reason = getattr(error, "reason", "") or error
            return f"the encrypted connection failed: {reason}. Do scheme and port fit together?"
        case socket.gaierror():
            return "the server's name is not known. Check the host in CLEARANCE_EMAIL_URL."
        case TimeoutError():
            return "the server did not answer in time. Check host, port and firewall."
        case ConnectionRefusedError():
            return "nobody listens there. Check host and port in CLEARANCE_EMAIL_URL."
    return f"{error.strerror or error}."


def _said(error: smtplib.SMTPResponseException) -> str:
    return f"{error.smtp_code} {_text(error.smtp_error)}"


def _text(raw: bytes | str) -> str:
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    return " ".join(text.split())[:300]
