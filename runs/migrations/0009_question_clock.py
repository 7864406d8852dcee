"""A deadline moves on in one more case: a question to the agent stops the clock (approvals/services/question.py).

What counts is the deadline without the stopped time: that never moves on. How much time may be stopped in all is bound
by the column's own check.
"""

from django.db import migrations

TRIGGER = """
DROP TRIGGER approvals_proposal_bound ON approvals_proposal;
CREATE TRIGGER approvals_proposal_bound BEFORE UPDATE ON approvals_proposal FOR EACH ROW
  WHEN (OLD.id IS DISTINCT FROM NEW.id OR OLD.canonical IS DISTINCT FROM NEW.canonical
    OR OLD.given IS DISTINCT FROM NEW.given OR OLD.digest IS DISTINCT FROM NEW.digest
    OR OLD.tenant_id IS DISTINCT FROM NEW.tenant_id OR OLD.run_id IS DISTINCT FROM NEW.run_id
    OR OLD.call_id IS DISTINCT FROM NEW.call_id OR OLD.key IS DISTINCT FROM NEW.key
    OR OLD.tool IS DISTINCT FROM NEW.tool OR OLD.tool_version_id IS DISTINCT FROM NEW.tool_version_id
    OR OLD.target IS DISTINCT FROM NEW.target OR OLD.resource IS DISTINCT FROM NEW.resource
    OR OLD.agent_id IS DISTINCT FROM NEW.agent_id OR OLD.agent_owner_id IS DISTINCT FROM NEW.agent_owner_id
    OR OLD.acting_user_id IS DISTINCT FROM NEW.acting_user_id
    OR OLD.token_session_id IS DISTINCT FROM NEW.token_session_id OR OLD.scopes IS DISTINCT FROM NEW.scopes
    OR OLD.reason IS DISTINCT FROM NEW.reason OR OLD.created_at IS DISTINCT FROM NEW.created_at
    {more}
    AND NOT (OLD.outcome = 'unknown' AND NEW.round = OLD.round + 1 AND NEW.status = 'pending')))
  EXECUTE FUNCTION approvals_proposal_bound();
"""
BEFORE = "OR (OLD.expires_at < NEW.expires_at"
NOW = """OR OLD.revision_number IS DISTINCT FROM NEW.revision_number
    OR (OLD.expires_at - OLD.stopped < NEW.expires_at - NEW.stopped"""


class Migration(migrations.Migration):
    dependencies = [("runs", "0008_past_calls"), ("approvals", "0012_handling")]
    operations = [
        migrations.RunSQL(sql=TRIGGER.format(more=NOW), reverse_sql=TRIGGER.format(more=BEFORE)),
    ]
