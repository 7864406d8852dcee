"""The one way to add to a history (data rule 1), and the triggers that keep it as it was written."""

from django.db import migrations

FORWARD = """
CREATE SEQUENCE runs_fence AS bigint;

-- Appends p_events (a JSON array of {kind, schema, actor, body, at}) behind sequence p_expected and moves the head.
-- `at` is what the caller folded the event with (read from the database clock after it locked the head), so that a
-- replay gives the very state that was computed; left out, it is now.
-- Returns the new sequence; -1: another append came first; -2: the worker's fence or lease no longer holds.
-- A worker names its dispatch and fence; an event from outside (API, decision, verb) appends by sequence alone.
-- The head is locked first and the lease judged in a later statement: judged in the statement that waits for the
-- lock it would be judged by an old clock (data rules 2 and 11).
CREATE FUNCTION runs_append(p_run uuid, p_expected bigint, p_events jsonb, p_dispatch uuid, p_fence bigint,
                            p_status text, p_detail text, p_finished boolean) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_seq bigint; v_now timestamptz; v_count bigint := jsonb_array_length(p_events);
BEGIN
  SELECT seq INTO v_seq FROM runs_run WHERE id = p_run FOR UPDATE;
  IF v_seq IS NULL OR v_seq <> p_expected THEN RETURN -1; END IF;
  v_now := clearance_now();
  IF p_dispatch IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM runs_dispatch WHERE id = p_dispatch AND run_id = p_run AND fence = p_fence
      AND status IN ('claimed', 'started') AND lease_until > v_now)
  THEN RETURN -2; END IF;
  INSERT INTO runs_event (run_id, seq, kind, schema, actor, body, at)
    SELECT p_run, v_seq + o, e->>'kind', COALESCE((e->>'schema')::int, 1), e->'actor', e->'body',
           COALESCE((e->>'at')::timestamptz, v_now)
    FROM jsonb_array_elements(p_events) WITH ORDINALITY t(e, o);
  UPDATE runs_run SET seq = v_seq + v_count, status = p_status, detail = p_detail, updated_at = v_now,
    finished_at = CASE WHEN p_finished THEN COALESCE(finished_at, v_now) END WHERE id = p_run;
  RETURN v_seq + v_count;
END $$;

CREATE TRIGGER runs_event_append_only BEFORE UPDATE OR DELETE ON runs_event
  FOR EACH ROW EXECUTE FUNCTION clearance_refuse_change();
CREATE TRIGGER runs_event_no_truncate BEFORE TRUNCATE ON runs_event
  FOR EACH STATEMENT EXECUTE FUNCTION clearance_refuse_change();

CREATE FUNCTION runs_call_bound() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'what a call asks for never changes' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER runs_call_bound BEFORE UPDATE ON runs_call FOR EACH ROW
  WHEN (OLD.canonical IS DISTINCT FROM NEW.canonical OR OLD.given IS DISTINCT FROM NEW.given
    OR OLD.digest IS DISTINCT FROM NEW.digest OR OLD.key IS DISTINCT FROM NEW.key OR OLD.tool IS DISTINCT FROM NEW.tool
    OR OLD.contract_version IS DISTINCT FROM NEW.contract_version OR OLD.tenant_id IS DISTINCT FROM NEW.tenant_id
    OR OLD.run_id IS DISTINCT FROM NEW.run_id OR OLD.call_id IS DISTINCT FROM NEW.call_id)
  EXECUTE FUNCTION runs_call_bound();
"""
REVERSE = """
DROP TRIGGER runs_call_bound ON runs_call; DROP FUNCTION runs_call_bound();
DROP TRIGGER runs_event_no_truncate ON runs_event; DROP TRIGGER runs_event_append_only ON runs_event;
DROP FUNCTION runs_append(uuid, bigint, jsonb, uuid, bigint, text, text, boolean); DROP SEQUENCE runs_fence;
"""


class Migration(migrations.Migration):
    dependencies = [("runs", "0001_initial"), ("audit", "0001_clock")]
    operations = [migrations.RunSQL(sql=FORWARD, reverse_sql=REVERSE)]
