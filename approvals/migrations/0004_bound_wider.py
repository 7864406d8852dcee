"""What a proposal, a permit and a resolution say beside their bytes is bound too: who asked decides who may approve
(A9), the contract decides what is sent, and an authority that was used up or taken back does not come back by itself."""

from django.db import migrations

FORWARD = """
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
    OR OLD.expires_at < NEW.expires_at)
  EXECUTE FUNCTION approvals_proposal_bound();

CREATE FUNCTION approvals_permit_bound() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a permit is for one call and round, and one that is void or used does not become another'
    USING ERRCODE = 'insufficient_privilege';
END $$;
-- Redeemed becomes ready again only where it was proven that nothing happened (permit_settle: retry).
CREATE TRIGGER approvals_permit_bound BEFORE UPDATE ON approvals_permit FOR EACH ROW
  WHEN (OLD.id IS DISTINCT FROM NEW.id OR OLD.proposal_id IS DISTINCT FROM NEW.proposal_id
    OR OLD.round IS DISTINCT FROM NEW.round OR OLD.digest IS DISTINCT FROM NEW.digest
    OR OLD.granted_at IS DISTINCT FROM NEW.granted_at
    OR (OLD.status = 'void' AND NEW.status <> 'void') OR (OLD.status = 'redeemed' AND NEW.status = 'void'))
  EXECUTE FUNCTION approvals_permit_bound();

CREATE FUNCTION approvals_resolution_bound() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a resolution is of one round, and one that was taken up stays as it was'
    USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER approvals_resolution_bound BEFORE UPDATE ON approvals_resolution FOR EACH ROW
  WHEN (OLD.proposal_id IS DISTINCT FROM NEW.proposal_id OR OLD.round IS DISTINCT FROM NEW.round
    OR OLD.consumed_at IS NOT NULL)
  EXECUTE FUNCTION approvals_resolution_bound();
"""
REVERSE = """
DROP TRIGGER approvals_resolution_bound ON approvals_resolution; DROP FUNCTION approvals_resolution_bound();
DROP TRIGGER approvals_permit_bound ON approvals_permit; DROP FUNCTION approvals_permit_bound();
DROP TRIGGER approvals_proposal_bound ON approvals_proposal;
CREATE TRIGGER approvals_proposal_bound BEFORE UPDATE ON approvals_proposal FOR EACH ROW
  WHEN (OLD.canonical IS DISTINCT FROM NEW.canonical OR OLD.given IS DISTINCT FROM NEW.given
    OR OLD.digest IS DISTINCT FROM NEW.digest OR OLD.tenant_id IS DISTINCT FROM NEW.tenant_id
    OR OLD.run_id IS DISTINCT FROM NEW.run_id OR OLD.call_id IS DISTINCT FROM NEW.call_id
    OR OLD.key IS DISTINCT FROM NEW.key OR OLD.agent_id IS DISTINCT FROM NEW.agent_id
    OR OLD.acting_user_id IS DISTINCT FROM NEW.acting_user_id OR OLD.expires_at < NEW.expires_at)
  EXECUTE FUNCTION approvals_proposal_bound();
"""


class Migration(migrations.Migration):
    dependencies = [("approvals", "0003_intact")]
    operations = [migrations.RunSQL(sql=FORWARD, reverse_sql=REVERSE)]
