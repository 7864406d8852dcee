"""Indexes for the log's filters. Each ends in (at, id), the order of the log, so that a page is a walk along one of them.

An index of the partitioned table is made in every partition, and in those that are attached later.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("audit", "0002_entries")]
    operations = [
        migrations.AddIndex(
            "entry", models.Index(fields=["tenant_id", "at", "id"], name="audit_entry_log")
        ),
        migrations.RemoveIndex("entry", "audit_entry_tenant_at"),
        # The id first: it finds a thing whose type nobody names, too.
        migrations.AddIndex(
            "entry", models.Index(fields=["tenant_id", "object_id", "object_type", "at"], name="audit_entry_thing")
        ),
        migrations.RemoveIndex("entry", "audit_entry_object"),
        migrations.AddIndex("entry", models.Index(fields=["id"], name="audit_entry_number")),
        migrations.AddIndex(
            "entry", models.Index(fields=["tenant_id", "actor_id", "at", "id"], name="audit_entry_actor")
        ),
        migrations.AddIndex(
            "entry", models.Index(fields=["tenant_id", "action", "at", "id"], name="audit_entry_action")
        ),
        migrations.AddIndex(
            "entry",
            models.Index(
                fields=["tenant_id", "on_behalf_of", "at", "id"],
                name="audit_entry_for",
                condition=~models.Q(on_behalf_of=""),
            ),
        ),
        migrations.AddIndex(
            "entry",
            models.Index(
                fields=["tenant_id", "call_id", "at", "id"], name="audit_entry_call", condition=~models.Q(call_id="")
            ),
        ),
        migrations.AddIndex(
            "entry",
            models.Index(fields=["tenant_id", "tool", "at", "id"], name="audit_entry_tool", condition=~models.Q(tool="")),
        ),
        # Nearly every entry says ok; whoever looks for another word looks for few.
        migrations.AddIndex(
            "entry",
            models.Index(
                fields=["tenant_id", "verdict", "at", "id"],
                name="audit_entry_verdict",
                condition=~models.Q(verdict="ok"),
            ),
        ),
    ]
