"""What an operator is told of tools and rules that cannot work: `manage.py check --database default` (S8, S84)."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import DatabaseError

from approvals.selectors.health import Problem, problems

_KINDS: dict[str, tuple[type[Error] | type[Warning], str, str]] = {
    "contract_altered": (Error, "approvals.E001", "Admit the right contract again: manage.py contract admit."),
    "policy_altered": (Error, "approvals.E002", "Publish the right policy again: manage.py policy publish."),
    "group_too_small": (
        Warning,
        "approvals.W001",
        "Add reviewers to it, or publish a policy that asks others.",
    ),
    "no_policy": (Warning, "approvals.W002", "Publish one: manage.py policy publish."),
}


@register(Tags.database)
def tools_and_rules(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """approvals.E001 an edited contract; E002 an edited policy; W001 a group that cannot decide; W002 no policy."""
    if "default" not in (databases or ()):
        return []
    try:
        return [_message(problem) for problem in problems()]
    except DatabaseError:
        # No tables yet, or no server: that is said by whoever needs them, and migrating must stay possible.
        return []


def _message(problem: Problem) -> CheckMessage:
    kind, check_id, hint = _KINDS[problem.kind]
    where = f"{problem.tenant}, {problem.subject}" if problem.subject else problem.tenant
    return kind(f"{where}: {problem.message}", hint=hint, id=check_id)
