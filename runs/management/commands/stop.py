"""Stops at the command line: for whoever has the machine, also where no page answers. Needs the database alone."""

from typing import Any

from django.core.management import BaseCommand, CommandError
from django.core.management.base import CommandParser

from approvals.management.people import person, tenant
from audit.core.actor import SYSTEM, Actor
from audit.core.entry import utc_text
from audit.core.refusal import Refusal
from runs.selectors.stops import StopRow, stops_in_force
from runs.services.stop import StopSet, stop_lift, stop_set


class Command(BaseCommand):
    help = (
        "Stops a tool, an agent, all dispatch of an organisation, or with --all of the whole installation; lifts stops "
        "and lists them. A stop is in force at the next start; what was sent is finished."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--all", action="store_true", help="all dispatch of the whole installation")
        what.add_argument("--dispatch", action="store_true", help="all dispatch of the organisation of --tenant")
        what.add_argument("--tool", help="this tool of the organisation")
        what.add_argument("--agent", help="the agent of the organisation with this id")
        what.add_argument("--list", action="store_true", help="say what is stopped, and change nothing")
        parser.add_argument("--lift", action="store_true", help="let it go on instead")
        parser.add_argument("--reason", default="", help="why; people and agents are told")
        parser.add_argument("--tenant", help="the organisation's short name")
        parser.add_argument("--as", dest="email", help="the e-mail address of the operator or admin who does this")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["list"]:
            self._list(stops_in_force(tenant(options) if options["tenant"] else None))
            return
        kind, subject = _kind(options)
        actor = _actor(options, kind)
        try:
            if options["lift"]:
                self._lift(actor, kind, subject, options)
            else:
                self._say(stop_set(actor=actor, kind=kind, subject=subject, reason=options["reason"]), "stopped")
        except Refusal as refusal:
            raise CommandError(refusal.message) from None

    def _lift(self, actor: Actor, kind: str, subject: str, options: dict[str, Any]) -> None:
        found = [row for row in stops_in_force(actor.tenant_id or None) if (row.kind, row.subject) == (kind, subject)]
        if not found:
            raise CommandError("That is not stopped. --list says what is.")
        self._say(stop_lift(actor=actor, stop_id=found[0].id, reason=options["reason"]), "lifted")

    def _say(self, done: StopSet, word: str) -> None:
        by = done.stop.lifted_by_name if word == "lifted" else done.stop.set_by_name
        if done.repeated:
            self.stdout.write(f"{done.stop.what} was {word} before, by {by}. Nothing was changed.")
        else:
            self.stdout.write(f"{done.stop.what}: {word}.")
        if not done.settled:
            self.stderr.write("A worker was frozen in the middle of a start; it may still begin that one call.")

    def _list(self, rows: list[StopRow]) -> None:
        for row in rows:
            self.stdout.write(f"{row.what}: since {utc_text(row.set_at)}, by {row.set_by_name}: {row.reason}")
        if not rows:
            self.stdout.write("Nothing is stopped.")


def _kind(options: dict[str, Any]) -> tuple[str, str]:
    if options["all"]:
        return "installation", ""
    if options["tool"]:
        return "tool", options["tool"]
    return ("agent", options["agent"]) if options["agent"] else ("tenant", "")


def _actor(options: dict[str, Any], kind: str) -> Actor:
    if kind == "installation":
        if options["tenant"] or options["email"]:
            raise CommandError("--all is for the whole installation; leave --tenant and --as out.")
        return SYSTEM("the command line", "")
    if not options["tenant"] or not options["email"]:
        raise CommandError("Say which organisation, by --tenant, and who does this, by --as.")
    return person(options)
