"""Policies from files, for teams that keep them in git: the same services as the pages, and the same result.

Exit codes: 0 done, or nothing stands against it; 1 refused, findings, failing tests, or (diff) a difference; 2 the
command itself was not understood.
"""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError
from django.core.management.base import CommandParser

from approvals.core.contract_types import Finding
from approvals.core.policy_texts import difference
from approvals.management.people import add_as, add_tenant, person, tenant
from approvals.management.replaying import replay_file, replay_lines
from approvals.selectors.policies import PolicyRow, policy_in_force, policy_version
from approvals.services.policy import policy_check, policy_publish, policy_test
from approvals.services.policy_draft import policy_draft_ask, policy_draft_create, policy_roll_back
from audit.core.refusal import Refusal


class Command(BaseCommand):
    help = "Checks, tests, compares and publishes policies from files, shows one, or goes back to an older one."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        publish = verbs.add_parser("publish", help="publish FILE as the next version")
        publish.add_argument("file", type=Path)
        publish.add_argument("--based-on", type=int, help="the number of the version that FILE was made from")
        publish.add_argument("--reason", default="", help="why; the history and the log keep it")
        add_tenant(publish)
        add_as(publish)
        show = verbs.add_parser("show", help="print the version in force, or another one")
        show.add_argument("--number", type=int)
        add_tenant(show)
        check = verbs.add_parser("check", help="say what stands against FILE; publishes nothing")
        check.add_argument("file", type=Path)
        add_tenant(check)
        add_as(check)
        test = verbs.add_parser("test", help="run the tests that stand in FILE; publishes nothing")
        test.add_argument("file", type=Path)
        add_tenant(test)
        add_as(test)
        ask = verbs.add_parser("ask", help="keep FILE as a draft and ask a second admin to publish it")
        ask.add_argument("file", type=Path)
        ask.add_argument("--name", default="", help="what the draft is called; the file's name if it is not given")
        ask.add_argument("--reason", required=True)
        add_tenant(ask)
        add_as(ask)
        rollback = verbs.add_parser("rollback", help="publish the text of an older version as a new one")
        rollback.add_argument("number", type=int, help="the version to go back to")
        rollback.add_argument("--based-on", type=int, help="the version in force as you know it; today's if not given")
        rollback.add_argument("--reason", required=True)
        add_tenant(rollback)
        add_as(rollback)
        replay = verbs.add_parser("replay", help="what FILE would have said of past calls; calls no tool")
        replay.add_argument("file", type=Path)
        replay.add_argument("--days", type=int, default=30, help="how far back; 30 if it is not given")
        add_tenant(replay)
        add_as(replay)
        diff = verbs.add_parser(
            "diff", help="what differs between two versions or files; exits with 1 if anything does"
        )
        diff.add_argument("left", help="a version's number or a file")
        diff.add_argument("right", nargs="?", help="the same; the version in force if it is not given")
        add_tenant(diff)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, f"_{options['verb']}")(options)
        except Refusal as refusal:
            raise CommandError(_words(refusal)) from None

    def _publish(self, options: dict[str, Any]) -> None:
        actor, source = person(options), _text(options["file"])
        row = policy_publish(actor=actor, source=source, based_on=options["based_on"], reason=options["reason"])
        # What does not keep it from being published is told all the same, as the page does.
        for finding in policy_check(actor=actor, source=source):
            self.stderr.write(_found(finding))
        self.stdout.write(f"Version {row.number} of the policy of {options['tenant']} is in force.")

    def _show(self, options: dict[str, Any]) -> None:
        tenant_id, number = tenant(options), options["number"]
        row = policy_in_force(tenant_id) if number is None else policy_version(tenant_id, number)
        if row is None:
            raise CommandError(
                "There is no such version." if number else "No policy was published: nothing is allowed."
            )
        self.stderr.write(f"Version {row.number}, by {row.published_by} at {row.published_at:%Y-%m-%d %H:%M:%S} UTC")
        self.stdout.write(row.source, ending="" if row.source.endswith("\n") else "\n")

    def _check(self, options: dict[str, Any]) -> None:
        found = policy_check(actor=person(options), source=_text(options["file"]))
        for finding in found:
            self.stdout.write(_found(finding))
        if found:
            raise CommandError(f"{len(found)} findings. Nothing was published.")
        self.stdout.write("Nothing stands against it. Nothing was published.")

    def _test(self, options: dict[str, Any]) -> None:
        results = policy_test(actor=person(options), source=_text(options["file"]))
        for result in results:
            self.stdout.write(f"{'passes' if result.passed else 'FAILS '}  {result.name}")
            if not result.passed:
                self.stdout.write(f"        expected {result.expected}; got {result.got}: {result.message}")
        failed = sum(1 for result in results if not result.passed)
        if failed:
            raise CommandError(f"{failed} of {len(results)} tests fail.")
        self.stdout.write(f"{len(results)} tests pass." if results else "There are no tests in it.")

    def _replay(self, options: dict[str, Any]) -> None:
        row = replay_file(
            actor=person(options), source=_text(options["file"]), days=options["days"], tell=self.stderr.write
        )
        if row.status != "done":
            raise CommandError(f"The replay was {row.status}. {row.said}")
        for line in replay_lines(row):
            self.stdout.write(line)

    def _ask(self, options: dict[str, Any]) -> None:
        actor, path = person(options), options["file"]
        row = policy_draft_create(actor=actor, name=options["name"] or path.stem, source=_text(path))
        row = policy_draft_ask(actor=actor, draft_id=row.id, revision=row.revision, reason=options["reason"])
        self.stdout.write(f"The draft {row.name} ({row.id}) waits for another admin to publish it.")

    def _rollback(self, options: dict[str, Any]) -> None:
        actor, number, based_on = person(options), options["number"], options["based_on"]
        if based_on is None:
            active = policy_in_force(actor.tenant_id)
            based_on = active.number if active else 0
        done = policy_roll_back(actor=actor, number=number, based_on=based_on, reason=options["reason"])
        if isinstance(done, PolicyRow):
            self.stdout.write(f"Version {done.number} is in force, with the text of version {number}.")
        else:
            self.stdout.write(f"The draft {done.name} ({done.id}) waits for another admin to publish it.")

    def _diff(self, options: dict[str, Any]) -> None:
        tenant_id = tenant(options)
        active = policy_in_force(tenant_id)
        right = options["right"] or (str(active.number) if active else "0")
        names = [f"version {side}" if side.isdecimal() else side for side in (options["left"], right)]
        lines = difference(_side(tenant_id, options["left"]), _side(tenant_id, right), *names)
        for line in lines:
            self.stdout.write(line)
        if lines:
            raise CommandError("They differ.")


def _found(finding: Finding) -> str:
    where = f"line {finding.line}, {finding.path}" if finding.line else finding.path
    return f"{where}: {finding.message} ({finding.code})"


def _side(tenant_id: str, side: str) -> str:
    """The text of a version by its number (0 is before the first), or of a file."""
    if not side.isdecimal():
        return _text(Path(side))
    row = policy_version(tenant_id, int(side))
    if row is None and side != "0":
        raise CommandError(f"There is no version {side}.")
    return row.source if row else ""


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise CommandError(f"{path} is not UTF-8 text.") from None


def _words(refusal: Refusal) -> str:
    """The refusal with its findings, or with what another admin has changed meanwhile."""
    lines = [refusal.message]
    findings: Any = refusal.detail.get("findings", [])
    lines += [f"  {finding.get('line') or finding['path']}: {finding['message']}" for finding in findings]
    tests: Any = refusal.detail.get("tests", [])
    lines += [f"  {test['name']}: expected {test['expected']}; got {test['got']}" for test in tests]
    difference: Any = refusal.detail.get("diff", [])
    return "\n".join([*lines, *difference])
