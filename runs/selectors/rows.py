"""What the doors see of runs and calls: frozen values, so that nothing above a service can save a row."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from runs.core.answers import sound
from runs.core.kinds import FINAL_CALLS
from runs.models import Call, Run


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run's head. `status` and `detail` are `runs.core.status`'s words. `repeated`: it was open before."""

    id: UUID
    tenant_id: UUID
    title: str
    agent_id: UUID
    agent_name: str
    agent_version: str
    acting_user_id: UUID | None
    acting_user_name: str
    client_ref: str
    seq: int
    status: str
    detail: str
    deadline: datetime | None
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class CallRow:
    """A call as the agent named it, and what it is told.

    `answer` is None until there is something to tell; its form is `runs.core.answers`. `version` rises with every
    visible change. `repeated`: this request named a call that was there already; nothing was changed.
    """

    id: UUID
    run_id: UUID
    tenant_id: UUID
    call_id: str
    message_id: str
    tool: str
    contract_version: int
    digest: str
    key: str
    target: str
    reason: str
    state: str
    proposal_id: UUID | None
    answer: Mapping[str, Any] | None
    deadline: datetime | None
    created_at: datetime
    settled_at: datetime | None
    version: int
    repeated: bool = False

    @property
    def final(self) -> bool:
        """Whether this call will never change again (a late result is kept beside it)."""
        return self.state in FINAL_CALLS

    @property
    def told(self) -> bool:
        """Whether a verdict is there: it waits for people, it ended, or nobody knows whether it happened."""
        return self.final or self.state in ("waiting", "unknown")


def run_row(run: Run, *, repeated: bool = False) -> RunRow:
    """The value of a head."""
    return RunRow(
        run.id,
        run.tenant_id,
        run.title,
        run.agent_id,
        run.agent_name,
        run.agent_version,
        run.acting_user_id,
        run.acting_user_name,
        run.client_ref,
        run.seq,
        run.status,
        run.detail,
        run.deadline,
        run.created_at,
        run.updated_at,
        run.finished_at,
        repeated,
    )


def call_row_of(call: Call, *, repeated: bool = False) -> CallRow:
    """The value of a call's row."""
    return CallRow(
        call.id,
        call.run_id,
        call.tenant_id,
        call.call_id,
        call.message_id,
        call.tool,
        call.contract_version,
        call.digest,
        call.key,
        call.target,
        call.reason,
        call.state,
        call.proposal_id,
        sound(call.answer),
        call.deadline,
        call.created_at,
        call.settled_at,
        call.version,
        repeated,
    )
