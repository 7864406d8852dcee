"""Trying out the mail set-up, and telling in words what came of it."""

import smtplib
import socket
import ssl
from functools import partial

from access.core.rights import require_admin
from access.core.throttle import MAIL_TEST, wait_words
from access.models import Tenant, User
from access.services.people import MemberRow
from access.store import mailer, throttle
from audit.core.actor import Actor
from audit.core.refusal import Refusal, TooMany, Unavailable
from audit.services.record import audit_record, audit_refusals


def mail_test(*, actor: Actor) -> str:
    """Send a mail to the actor's own address; that address. An admin's right.

    Raises Forbidden, TooMany (MAIL_TEST_THROTTLED), Unavailable (MAIL_OFF, MAIL_REFUSED with the server's own words).
    """
    with audit_refusals(actor=actor, action="mail.tested", object_type="mail", object_id=""):
        require_admin(actor)
    taken = throttle.take(MAIL_TEST, actor.id)
    problem: Refusal | None = None
    email = User.objects.values_list("email", flat=True).get(id=actor.id)
    if taken.wait:
        problem = TooMany(
            f"You have sent several tests. Wait {wait_words(taken.wait)}.", code="MAIL_TEST_THROTTLED",
            retry_after=taken.wait,
        )  # fmt: skip
    elif not mailer.configured():
        problem = Unavailable(
            "Mail is not set up. Set CLEARANCE_EMAIL_URL and start Clearance again.", code="MAIL_OFF", retry_after=None,
            retry_safe=False,
        )  # fmt: skip
    else:
        try:
            # Outside any transaction: a mail server may take its time.
            mailer.send(to=email, subject="Test mail from Clearance", template="test", name=actor.name)
        except OSError as error:
            problem = Unavailable(
                f"The mail was not sent: {error_words(error)}", code="MAIL_REFUSED", retry_after=None, retry_safe=False
            )
    # The outcome is recorded after the fact: what was sent cannot be taken back when an entry fails.
    with audit_refusals(actor=actor, action="mail.tested", object_type="mail", object_id="", detail={"to": email}):
        if problem is not None:
            raise problem
        audit_record(actor=actor, action="mail.tested", object_type="mail", object_id="", detail={"to": email})
    return email


def mail_is_set_up() -> bool:
    """Whether anything that is sent reaches anybody or anything."""
    return mailer.configured()


def invitation_send(*, actor: Actor, row: MemberRow) -> bool:
    """Tell a person by mail of their new place, with the link of `row` if they have no password yet; by the mail
    thread, so that a slow server holds no page up. False if mail is not set up or too much of it waits."""
    if not mailer.configured():
        return False
    organisation = Tenant.objects.values_list("name", flat=True).get(id=actor.tenant_id)
    template = "invitation" if row.link else "added"
    return mailer.later(
        partial(
            mailer.send,
            to=row.email,
            subject=f"Your place in {organisation} at Clearance",
            template=template,
            name=row.name,
            by=actor.name,
            organisation=organisation,
            token=row.link,
        )
    )


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
