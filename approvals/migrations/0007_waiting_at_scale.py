"""A hundred thousand waiting proposals are listed, counted, searched and watched without reading their rows."""

from django.db import migrations, models

# Part of a sentence, tool, agent's name or run's title, in any case (selectors/words.py writes the same expression).
# pg_trgm comes with PostgreSQL and may be made by the owner of a database.
SEARCH = """
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE INDEX approvals_proposal_words ON approvals_proposal
  USING gin (upper(sentence || E'\\n' || tool || E'\\n' || agent_name || E'\\n' || run_title) gin_trgm_ops)
  WHERE status = 'pending';
-- The history is added to and hardly changed: cleaned by its share it would be years before an index alone can answer
-- for the rows that were written last.
ALTER TABLE approvals_proposal SET (
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 5000,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.02);
"""
UNDO = """
ALTER TABLE approvals_proposal RESET (
  autovacuum_vacuum_insert_scale_factor, autovacuum_vacuum_insert_threshold,
  autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold, autovacuum_analyze_scale_factor);
DROP INDEX approvals_proposal_words;
"""


class Migration(migrations.Migration):
    dependencies = [("approvals", "0006_saved_view")]
    operations = [
        migrations.AddIndex(
            model_name="proposal",
            index=models.Index(
                fields=["tenant_id", "expires_at", "id"],
                include=[
                    "version",
                    "round",
                    "requires",
                    "acting_user_id",
                    "agent_owner_id",
                    "tool",
                    "agent_id",
                    "currency",
                    "amount_minor",
                ],
                condition=models.Q(status="pending"),
                name="approvals_proposal_waiting",
            ),
        ),
        migrations.RemoveIndex(model_name="proposal", name="approvals_proposal_pending"),
        migrations.RunSQL(sql=SEARCH, reverse_sql=UNDO),
    ]
