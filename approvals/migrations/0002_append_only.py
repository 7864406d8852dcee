"""What was decided, admitted or published stays as it was (R10, A4, A8); a proposal's bound facts too (A1, S84)."""

from django.db import migrations

FORWARD = """
CREATE TRIGGER approvals_decision_append_only BEFORE UPDATE OR DELETE ON approvals_decision
  FOR EACH ROW EXECUTE FUNCTION clearance_refuse_change();
CREATE TRIGGER approvals_toolversion_append_only BEFORE UPDATE OR DELETE ON approvals_toolversion
  FOR EACH ROW EXECUTE FUNCTION clearance_refuse_change();
CREATE TRIGGER approvals_policyversion_append_only BEFORE UPDATE OR DELETE ON approvals_policyversion
  FOR EACH ROW EXECUTE FUNCTION clearance_refuse_change();
-- The application may move a proposal's status, round and snapshot, never what it asks for.
CREATE FUNCTION approvals_proposal_bound() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the call that a proposal is bound to never changes' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER approvals_proposal_bound BEFORE UPDATE ON approvals_proposal FOR EACH ROW
  WHEN (OLD.canonical IS DISTINCT FROM NEW.canonical OR OLD.given IS DISTINCT FROM NEW.given
    OR OLD.digest IS DISTINCT FROM NEW.digest OR OLD.tenant_id IS DISTINCT FROM NEW.tenant_id
    OR OLD.run_id IS DISTINCT FROM NEW.run_id OR OLD.call_id IS DISTINCT FROM NEW.call_id
    OR OLD.key IS DISTINCT FROM NEW.key OR OLD.agent_id IS DISTINCT FROM NEW.agent_id
    OR OLD.acting_user_id IS DISTINCT FROM NEW.acting_user_id OR OLD.expires_at < NEW.expires_at)
  EXECUTE FUNCTION approvals_proposal_bound();
"""
REVERSE = """
DROP TRIGGER approvals_proposal_bound ON approvals_proposal; DROP FUNCTION approvals_proposal_bound();
DROP TRIGGER approvals_policyversion_append_only ON approvals_policyversion;
DROP TRIGGER approvals_toolversion_append_only ON approvals_toolversion;
DROP TRIGGER approvals_decision_append_only ON approvals_decision;
"""


class Migration(migrations.Migration):
    dependencies = [("approvals", "0001_initial"), ("audit", "0001_clock")]
    operations = [migrations.RunSQL(sql=FORWARD, reverse_sql=REVERSE)]
