"""Views of the list of proposals that people keep for themselves."""

import uuid

from django.db import models
from django.db.models.functions import Lower


class SavedView(models.Model):
    """A view with its filters under a name of its owner's. It holds no authority: it is an address with a name."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant_id = models.UUIDField()
    user_id = models.UUIDField()
    name = models.TextField()
    # As in the address of the list: view=all&tool=refund_order. Read with care each time, like any other address.
    query = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            # Also the index that a person's views are found by.
            models.UniqueConstraint("tenant_id", "user_id", Lower("name"), name="approvals_saved_view_name_once"),
        ]
