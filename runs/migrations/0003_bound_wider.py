"""Whose run it is and what a call is measured by never change either: rights are read by these columns at dispatch (A5),
two effects on one order are kept apart by the resource (R9), and a history only grows (R1)."""

from django.db import migrations

FORWARD = """
DROP TRIGGER runs_call_bound ON runs_call;
CREATE TRIGGER runs_call_bound BEFORE UPDATE ON runs_call FOR EACH ROW
  WHEN (OLD.id IS DISTINCT FROM NEW.id OR OLD.canonical IS DISTINCT FROM NEW.canonical
    OR OLD.given IS DISTINCT FROM NEW.given OR OLD.digest IS DISTINCT FROM NEW.digest
    OR OLD.key IS DISTINCT FROM NEW.key OR OLD.tool IS DISTINCT FROM NEW.tool
    OR OLD.contract_version IS DISTINCT FROM NEW.contract_version OR OLD.tenant_id IS DISTINCT FROM NEW.tenant_id
    OR OLD.run_id IS DISTINCT FROM NEW.run_id OR OLD.call_id IS DISTINCT FROM NEW.call_id
    OR OLD.target IS DISTINCT FROM NEW.target OR OLD.resource IS DISTINCT FROM NEW.resource
    OR OLD.token_session_id IS DISTINCT FROM NEW.token_session_id OR OLD.scopes IS DISTINCT FROM NEW.scopes
    OR OLD.reason IS DISTINCT FROM NEW.reason OR OLD.deadline IS DISTINCT FROM NEW.deadline
    OR OLD.created_at IS DISTINCT FROM NEW.created_at)
  EXECUTE FUNCTION runs_call_bound();

CREATE FUNCTION runs_run_bound() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'whose run it is never changes, and its history only grows' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER runs_run_bound BEFORE UPDATE ON runs_run FOR EACH ROW
  WHEN (OLD.id IS DISTINCT FROM NEW.id OR OLD.tenant_id IS DISTINCT FROM NEW.tenant_id
    OR OLD.agent_id IS DISTINCT FROM NEW.agent_id OR OLD.acting_user_id IS DISTINCT FROM NEW.acting_user_id
    OR OLD.token_session_id IS DISTINCT FROM NEW.token_session_id OR OLD.client_ref IS DISTINCT FROM NEW.client_ref
    OR OLD.deadline IS DISTINCT FROM NEW.deadline OR OLD.created_at IS DISTINCT FROM NEW.created_at
    OR OLD.seq > NEW.seq)
  EXECUTE FUNCTION runs_run_bound();
"""
REVERSE = """
DROP TRIGGER runs_run_bound ON runs_run; DROP FUNCTION runs_run_bound();
DROP TRIGGER runs_call_bound ON runs_call;
CREATE TRIGGER runs_call_bound BEFORE UPDATE ON runs_call FOR EACH ROW
  WHEN (OLD.canonical IS DISTINCT FROM NEW.canonical OR OLD.given IS DISTINCT FROM NEW.given
    OR OLD.digest IS DISTINCT FROM NEW.digest OR OLD.key IS DISTINCT FROM NEW.key OR OLD.tool IS DISTINCT FROM NEW.tool
    OR OLD.contract_version IS DISTINCT FROM NEW.contract_version OR OLD.tenant_id IS DISTINCT FROM NEW.tenant_id
    OR OLD.run_id IS DISTINCT FROM NEW.run_id OR OLD.call_id IS DISTINCT FROM NEW.call_id)
  EXECUTE FUNCTION runs_call_bound();
"""


class Migration(migrations.Migration):
    dependencies = [("runs", "0002_append")]
    operations = [migrations.RunSQL(sql=FORWARD, reverse_sql=REVERSE)]
