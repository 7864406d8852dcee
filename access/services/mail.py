"""Trying out the mail set-up, and telling in words what came of it."""

from collections.abc import Mapping, Sequence
from functools import partial

from access.core.rights import require_admin
from access.core.throttle import MAIL_TEST, wait_words
from access.models import Tenant, User
from access.selectors.addressees import Addressee
from access.services.people import MemberRow
from access.store import mailer, throttle
from audit.core.actor import Actor
from audit.core.refusal import Refusal, TooMany, Unavailable
from audit.core.visible import as_line
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
                f"The mail was not sent: {mailer.error_words(error)}",
                code="MAIL_REFUSED",
                retry_after=None,
                retry_safe=False,
            )
    # The outcome is recorded after the fact: what was sent cannot be taken back when an entry fails.
    with audit_refusals(actor=actor, action="mail.tested", object_type="mail", object_id="", detail={"to": email}):
        if problem is not None:
            raise problem
        audit_record(actor=actor, action="mail.tested", object_type="mail", object_id="", detail={"to": email})
    return email


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


def waiting_send(*, to: Addressee, lines: Sequence[Mapping[str, str]], more: int) -> None:
    """One mail to one person about proposals that wait: for each its sentence, words, deadline and address. `more` are
    told as a number. Now, and outside any transaction; raises OSError as the mail server said it."""
    count = len(lines) + more
    mailer.send(
        to=to.email,
        subject=f"{count} call{'' if count == 1 else 's'} in Clearance {'needs' if count == 1 else 'need'} people",
        template="waiting",
        name=as_line(to.name),
        lines=lines,
        more=more,
    )
